"""The milestone olympics: what its referee finds, and the board of a made-up class."""

import csv
import io
import os
import re
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


HOSTILE = [
    "\x1b[31mred\x07",
    " =1+1",
    "=1",
    "-1+2",
    "\u202eada",
    "a\nb",
    "<script>",
    "[red]",
    "x" * 250,
]


@pytest.fixture
def instant(tmp_path, monkeypatch):
    """A judge that needs no time: an entry may name its process's end."""
    fake = tmp_path / ".judge.py"
    fake.write_text(FAKE_JUDGE)
    monkeypatch.setattr(board, "JUDGE", fake)


FAKE_JUDGE = """
import json, os, sys, time
request = json.load(open(sys.argv[1]))
for word in request["toml"].split():
    if word == "abort": os.abort()
    if word == "sleep": time.sleep(60)
    if word == "spin":
        while time.process_time() < 1.1: pass
row = dict(valid=True, reason="", interval=[.1, .2], bytes=1, flops=1, digest=request["name"])
json.dump({"rows": {"smallest": row | {"right": 1, "n": 2}}}, open(sys.argv[2], "w"))
"""


@pytest.mark.skipif(os.name == "nt", reason="names that Windows does not have")
def test_names_are_safe_on_the_terminal_on_the_page_and_in_the_table(tmp_path, instant):
    (tmp_path / "zips").mkdir()
    for number, name in enumerate(HOSTILE):
        pair = {f"{name}.npz": b"", f"{name}.toml": b""}
        hand_in(tmp_path / "zips", f"zip{number}", pair, zipped=True)
        hand_in(tmp_path / "zips", name, {"e.npz": b"", "e.toml": b""})
    learner = os.fsencode(tmp_path / "zips") + b"/\xff"
    os.mkdir(learner)
    for end in (b"npz", b"toml"):
        with open(learner + b"/\xfe." + end, "wb") as file:
            file.write(b"")
    said = []
    board.judge_class(tmp_path / "zips", report=lambda text, **options: said.append(text))
    page, table = (
        (tmp_path / "zips" / f"board.{end}").read_bytes().decode() for end in ("html", "csv")
    )
    for text in (*said, page, table):
        assert not set(text) & set("\x1b\x07\u202e\udcff\udcfe")
    assert all(line.count("\n") == 0 for line in said) and len(said) == 2 * len(HOSTILE) + 2
    assert "<script" not in page and "&lt;script" in page
    assert all(r"\udcff" in text and r"\udcfe" in text for text in ("\n".join(said), page, table))
    rows = list(csv.DictReader(io.StringIO(table)))
    assert len(rows) == 2 * len(HOSTILE) + 1
    assert not [c for row in rows for c in row.values() if re.match(r"\s*[=+@-]\D", c)]


@pytest.mark.slow
def test_a_slow_or_broken_submission_costs_its_own_time_and_the_board_grows(
    tmp_path, instant, monkeypatch
):
    monkeypatch.setattr(board, "SECONDS", 1)
    monkeypatch.setattr(board, "SLOWER", 8)
    monkeypatch.setattr(board, "MOST_WRITING", 1e9)  # the board is written each time
    folder = tmp_path / "class"
    for learner, words in {
        "ada": "ok",
        "mal": "abort ok sleep ok",
        "spin": "spin ok",
        "zoe": "ok",
    }.items():
        for number, word in enumerate(words.split()):
            hand_in(folder, learner, {f"{number}.npz": b"", f"{number}.toml": word.encode()})
    learners = []

    def report(text, **options):
        if (folder / "board.csv").exists():
            rows = csv.DictReader(io.StringIO((folder / "board.csv").read_text()))
            learners.append({row["learner"] for row in rows})

    board.judge_class(folder, report=report)
    assert {"ada"} in learners and learners[-1] == {"ada", "mal", "spin", "zoe"}
    rows = list(csv.DictReader(io.StringIO((folder / "board.csv").read_text())))
    ranked = {(row["learner"], row["entry"]) for row in rows if row["rank"]}
    assert ranked == {("ada", "0"), ("mal", "1"), ("spin", "0"), ("zoe", "0")}
    reasons = {(row["learner"], row["entry"]): row["reason"] for row in rows if not row["rank"]}
    assert "its process ended" in reasons["mal", "0"] and "1 seconds" in reasons["mal", "2"]
    assert all("entries before it" in reasons[key] for key in (("mal", "3"), ("spin", "1")))


def test_entries_and_learners_of_one_name_are_all_on_the_board(tmp_path, instant):
    pair = {"npz": b"", "toml": b""}
    files = {f"{place}/e.{end}": data for place in "ab" for end, data in pair.items()}
    for zipped in (False, True):
        hand_in(tmp_path / "class", "ada", files, zipped)
    _, rows = judged(tmp_path / "class")
    assert [row["learner"] for row in rows] == ["ada"] * 4


def test_a_board_that_cannot_be_written_leaves_the_old_one(tmp_path, instant, monkeypatch):
    hand_in(tmp_path / "class", "ada", {"e.npz": b"", "e.toml": b""})
    (tmp_path / "class" / "board.csv").write_text("the old one")
    monkeypatch.setattr(board.csv_tables, "line", lambda row: "\ud800")
    with pytest.raises(UnicodeError):
        board.judge_class(tmp_path / "class", report=lambda *words, **options: None)
    assert (tmp_path / "class" / "board.csv").read_text() == "the old one"
