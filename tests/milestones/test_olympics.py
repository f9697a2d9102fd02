"""The milestone olympics: what its referee finds, and the board of a made-up class."""

import csv
import io
import os
import stat
import zipfile

import numpy as np
import pytest
from programs import program

from tinytorch.data.olympics import given_entries, quantized

milestone = program("11_2026_olympics")
import olympics_class as board  # noqa: E402  the program has put its folder on the path


def npz(compress=False, **arrays):
    file = io.BytesIO()
    (np.savez_compressed if compress else np.savez)(file, **arrays)
    return file.getvalue()


def toml(build="mlp", **sizes):
    lines = ['lesson = "olympics"', f'build = "{build}"']
    return "\n".join(lines + [f"{key} = {value}" for key, value in sizes.items()]).encode()


GIVEN = {name: weights for name, (_, weights) in given_entries().items()}
MLP = npz(**GIVEN["MLP, 8 bits"]), toml(hidden=32)
CNN = npz(**GIVEN["CNN, 4 bits"]), toml("cnn", first=12, second=24)


def hand_in(folder, learner, files, zipped=False):
    """A submission: a folder, or a zip."""
    if zipped:
        with zipfile.ZipFile(folder / f"{learner}.zip", "w") as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        return
    for name, data in files.items():
        place = folder / learner / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


def judged(folder, **options):
    """(what judge_class returns, the rows of board.csv)"""
    measured = board.judge_class(folder, report=lambda *words, **options: None, **options)
    return measured, list(csv.DictReader(io.StringIO((folder / "board.csv").read_text())))


class Program:
    def __reduce__(self):
        return os.mkdir, ("opened-by-an-entry",)


@pytest.mark.slow
def test_the_referee_finds_every_cheat_and_rejects_nothing_true():
    pytest.importorskip("matplotlib").use("Agg")
    for seed in (0, 1):
        measured, figure = milestone.run(seed)
        assert measured["cheats that were found"] == 1
        assert measured["true results that verification rejects"] == 0
        ahead, behind = [number for name, number in measured.items() if "the CNN" in name]
        assert ahead == 5 and behind >= 9  # on 20 fresh tests: 9 to 29
        assert measured["honest entries with the sign of a leak"] == 0
    assert len(figure.axes) == 2


def test_a_referee_that_believes_rows_misses_forged_ones(monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.setattr(milestone, "verify", lambda report, entries, events: [])
    assert milestone.run(0)[0]["cheats that were found"] == 0.5


@pytest.mark.slow
def test_a_class_of_thirty_with_five_cheats(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "class"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number in range(24):  # honest entries: some noise on the given weights
        weights = {k: a.copy() for k, a in GIVEN["MLP"].items()}
        for a in weights.values():
            a += rng.normal(0, 0.02 * (number % 4), a.shape).astype("float32")
        data = npz(**(weights if number % 2 else quantized(weights, 8)))
        files = {"lesson/net.npz": data, "lesson/net.toml": toml(hidden=32), "notes.txt": b"hi"}
        hand_in(folder, f"learner{number:02}", files, zipped=number % 3 == 0)
    hand_in(folder, "=cmd()", {"<b>.npz": CNN[0], "<b>.toml": CNN[1]})
    nan = {k: a * np.float32("nan") for k, a in GIVEN["MLP"].items()}
    cheats = {
        "pickled": (npz(w=np.array([Program()], dtype=object)), toml(hidden=32), "allow_pickle"),
        "bomb": (npz(True, w=np.zeros(50_000_000, "int8")), toml(hidden=32), "unpacks to"),
        "spoiled": (npz(**nan), toml(hidden=32), "contains nan"),
        "labels": (npz(labels=np.arange(9.0), **GIVEN["MLP"]), toml(hidden=32), "labels"),
        "huge": (MLP[0], toml("cnn", first=99999, second=1), "from 1 to 2048"),
    }
    for name, (data, facts, _) in cheats.items():
        hand_in(folder, name, {"e.npz": data, "e.toml": facts})
    measured, rows = judged(folder, seed=3)
    assert measured == {"submissions": 30, "entries judged": 27, "refused": 3}, measured
    assert not (tmp_path / "opened-by-an-entry").exists()
    for name, (_, _, reason) in cheats.items():
        mine = [row for row in rows if row["learner"] == name]
        assert mine and all(reason in row["reason"] and not row["rank"] for row in mine), mine
    best = [row for row in rows if row["event"] == "best small" and row["rank"] == "1"]
    assert ("'=cmd()", "<b>") in [(row["learner"], row["entry"]) for row in best]
    assert {row["learner"].strip("'") for row in rows} == {
        path.name.removesuffix(".zip") for path in folder.iterdir() if path.name[:5] != "board"
    }
    page = (folder / "board.html").read_text()
    assert "&lt;b&gt;" in page and "<b>" not in page and "<script" not in page
    copies = [row["note"] for row in rows if row["learner"] == "learner00"]
    assert any("learner04" in note for note in copies)  # both without noise, in 8 bits


def test_damaged_and_hostile_submissions_each_get_a_row(tmp_path):
    hand_in(tmp_path, "up", {"../e.npz": MLP[0], "../e.toml": MLP[1]}, zipped=True)
    hand_in(tmp_path, "absolute", {"/e.npz": MLP[0]}, zipped=True)
    hand_in(tmp_path, "empty", {"notes.txt": b""})
    hand_in(tmp_path, "half", {"e.npz": MLP[0]})
    hand_in(tmp_path, "large", {"e.npz": b"0" * 1_600_000, "e.toml": MLP[1]})
    hand_in(tmp_path, "many", {f"{n}.txt": b"" for n in range(301)}, zipped=True)
    (tmp_path / "damaged.zip").write_bytes(b"PK\3\4 and then nothing")
    (tmp_path / "paper.pdf").write_bytes(b"%PDF")
    (tmp_path / "linked").symlink_to(tmp_path / "half")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "e.npz").symlink_to("/etc/passwd")
    with zipfile.ZipFile(tmp_path / "link.zip", "w") as archive:
        info = zipfile.ZipInfo("e.npz")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    _, rows = judged(tmp_path)
    reasons = {row["learner"]: row["reason"] for row in rows}
    for learner, words in {
        "up": "leaves the archive", "absolute": "leaves the archive", "empty": "no entry",
        "half": "e.toml is missing", "large": "the limit is", "many": "more than 300 files",
        "damaged": "zip", "paper.pdf": "neither", "linked": "link", "inner": "link",
        "link": "link",
    }.items():  # fmt: skip
        assert words in reasons.pop(learner), learner
    assert reasons == {}


@pytest.mark.slow
def test_files_that_a_judge_refuses(tmp_path):
    for name, facts in {
        "lesson": b'lesson = "tensor"\nbuild = "mlp"\nhidden = 32',
        "own": toml("own"),
        "toml": b"lesson = = 3",
        "event": toml(hidden=32) + b'\nevent = "nothing"',
        "bytes": b"\xff\xfe" + toml(hidden=32),
    }.items():
        hand_in(tmp_path, name, {"e.npz": MLP[0], "e.toml": facts})
    hand_in(tmp_path, "text", {"e.npz": npz(w=np.zeros(3)) + b"", "e.toml": toml(hidden=4)})
    hand_in(tmp_path, "good", {"e.NPZ": MLP[0], "e.toml": MLP[1] + b'\nevent = "best small"'})
    measured, rows = judged(tmp_path)
    assert measured["refused"] == 5
    assert [row["event"] for row in rows if row["learner"] == "good"] == ["best small"]
    assert measured["submissions"] == len({row["learner"] for row in rows}) == 7
    assert [row["learner"] for row in rows if row["valid" if "valid" in row else "rank"]] == [
        "good"
    ]


def test_a_judge_that_is_killed_leaves_a_row(tmp_path, monkeypatch):
    hand_in(tmp_path, "ada", {"e.npz": MLP[0], "e.toml": MLP[1]})
    hand_in(tmp_path, "bob", {"e.npz": MLP[0], "e.toml": MLP[1]})
    fake = tmp_path / ".judge.py"
    fake.write_text("import os, sys, time\nos.abort() if sys.argv[1] else time.sleep(9)")
    monkeypatch.setattr(board, "JUDGE", fake)
    measured, rows = judged(tmp_path)
    assert ["its process ended" in row["reason"] for row in rows] == [True, True]
    fake.write_text("import time\ntime.sleep(9)")
    monkeypatch.setattr(board, "SECONDS", 0.2)
    again, rows = judged(tmp_path)
    assert again == measured  # the board itself is no submission
    assert ["more than 0.2 seconds" in row["reason"] for row in rows] == [True, True]


@pytest.mark.slow
def test_a_gpt_is_scored_on_the_text_that_the_teacher_names(tmp_path):
    from tinytorch.data.gpt_files import load_small_gpt

    model, _ = load_small_gpt()
    weights = {k: a.astype("float16") for k, a in model.state_dict().items()}
    sizes = dict(vocab_size=512, context=64, embed_dim=64, layers=2, num_heads=4)
    folder, text = tmp_path / "class", tmp_path / "text.txt"
    hand_in(folder, "ada", {"e.npz": npz(**weights), "e.toml": toml("gpt", **sizes)})
    hand_in(
        folder, "bob", {"e.npz": npz(**weights), "e.toml": toml("gpt", **sizes | {"layers": 1})}
    )
    hand_in(
        folder,
        "eve",
        {"e.npz": npz(**weights), "e.toml": toml("gpt", **sizes | {"vocab_size": 99})},
    )
    text.write_text("It was a fine day, and Emma walked to Hartfield. " * 300)
    _, own = judged(folder, text=str(text))
    _, rows = judged(folder)
    mine = {row["event"]: row for row in rows if row["learner"] == "ada"}
    assert 1.5 < float(mine["text"]["bits"]) < 2.0 and mine["text"]["rank"] == "1"
    assert float(mine["text"]["low"]) < float(mine["text"]["bits"]) < float(mine["text"]["high"])
    other = next(row for row in own if row["event"] == "text")
    assert other["bits"] != mine["text"]["bits"]
    assert {row["learner"] for row in rows if row["event"] == "refused"} == {"bob", "eve"}


def test_options_without_a_class_are_refused(tmp_path):
    for words in (["--seed", "3"], ["--class", str(tmp_path / "nothing")]):
        with pytest.raises(SystemExit) as error:
            milestone.run(0, words)
        assert isinstance(error.value.code, str)


def test_the_board_has_no_formulas():
    assert [board.guarded(text) for text in ("=1", "+1", "-1", "@a", "\t=1", "a=1")] == [
        "'=1", "'+1", "'-1", "'@a", "'\t=1", "a=1",
    ]  # fmt: skip
