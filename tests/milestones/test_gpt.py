"""Milestone 05, with a GPT so small that it learns nothing: runs are kept and continued, parts are
left out, and what is measured is what its name says."""

import importlib.util
import math
import re
import signal
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from programs import FOLDER, SMALL, TEXT, program, small

from tinytorch.core.tokenization import Tokenizer
from tinytorch.core.transformers import GPT, causality_leak
from tinytorch.support.checkpoints import load_state
from tinytorch.text import load_gpt, save_gpt

milestone = program("05_2018_gpt")
import gpt_training as training  # noqa: E402  beside the program
from gpt_pictures import draw_gpts  # noqa: E402

CHILD = """
import os, signal, sys
sys.path.insert(0, {folder!r})
import gpt_training
from pathlib import Path

def kill(trainer, text):
    if trainer.epoch == 2:
        os.kill(os.getpid(), signal.SIGKILL)

gpt_training.load_text = lambda split: {text!r}
gpt_training.train(gpt_training.Settings(**{settings!r}), Path({path!r}), 5, kill)
"""


@pytest.fixture
def settings(monkeypatch):
    monkeypatch.setattr(training, "load_text", lambda split: TEXT)
    return training.Settings(**SMALL)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_run_that_was_killed_ends_with_the_same_weights(settings, tmp_path, capsys):
    whole, _ = training.train(settings, None, 5)
    path = tmp_path / "run.npz"
    child = CHILD.format(folder=str(FOLDER), text=TEXT, settings=SMALL, path=str(path))
    done = subprocess.run([sys.executable, "-c", child], cwd=FOLDER.parents[1])
    assert done.returncode == -signal.SIGKILL and load_state(path)["run"]["epoch"] == 2
    resumed, _ = training.train(settings, path, 5)
    assert "the run continues after epoch 2" in capsys.readouterr().out
    assert resumed.history == whole.history and resumed.epoch == 3
    weights = whole.model.state_dict()
    assert all((weights[name] == x).all() for name, x in resumed.model.state_dict().items())


def test_a_finished_run_starts_again_or_is_used_as_it_is(settings, tmp_path, capsys):
    path, epochs = tmp_path / "run.npz", []
    for again in (True, True, False):
        trainer, _ = training.train(
            settings, path, 5, lambda trainer, text: epochs.append(trainer.epoch), again=again
        )
    assert epochs == [1, 2, 3, 1, 2, 3] and trainer.epoch == 3 and training.kept_seed(path) == 5
    assert "continues" not in capsys.readouterr().out


def test_a_run_of_another_seed_text_or_size_is_not_continued(
    settings, tmp_path, capsys, monkeypatch
):
    path = tmp_path / "run.npz"
    training.train(settings, path, 5)
    origin = training.origin(training.corpus(settings))
    about = {"seed": 5, "settings": vars(settings), "origin": origin}
    monkeypatch.setattr(training, "restore", lambda *run: pytest.fail("it was continued"))
    for changed in ({"seed": 6}, {"settings": {}}, {"origin": "another"}):
        training.resume(None, path, about | changed, 9)
        assert "the run starts again" in capsys.readouterr().out
    path.write_bytes(b"damaged")
    training.resume(None, path, about, 9)
    assert "cannot be read" in capsys.readouterr().out


@pytest.mark.parametrize("part", ["", "norm", "residual", "positions", "mask"])
def test_a_part_that_is_left_out_is_missing(part):
    model = training.build(training.Settings(**SMALL, without=part), 30)
    names = set(GPT(30, 16, 16, 2, 2).state_dict()) - set(model.state_dict())
    left_out = {"norm": "norm", "positions": "positions"}.get(part, " ")
    assert names == {name for name in GPT(30, 16, 16, 2, 2).state_dict() if left_out in name}
    leak = causality_leak(model, np.arange(10))
    assert leak > 0 if part == "mask" else leak == 0
    block = model.blocks[0]
    for p in block.parameters():
        p.data[...] = 0
    x = np.ones((1, 3, 16), "float32")
    assert (block(x).data == x).all() != (part == "residual")


def test_characters_are_counted_for_any_tokens(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("naïve été\n" * 50, encoding="utf-8")
    for size in (0, 270):
        given = training.Settings(vocab_size=size, context=4, texts=(str(path),))
        text = training.corpus(given)
        assert text.characters[text.test_ids].sum() == len(text.test) == 25
        assert text.tokenizer.decode(text.test_ids) == text.test


def test_all_parts_of_the_held_out_text_are_scored_while_the_model_learns(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("".join(f"line {n}\n" for n in range(100_000)), encoding="utf-8")
    text = training.corpus(training.Settings(vocab_size=0, context=4, texts=(str(path),)))
    lines = text.tokenizer.decode(text.tried_ids).split("\n")
    assert len(text.tried_ids) == pytest.approx(training.TRIED, abs=10)
    tenths = {int(line[6:7]) for line in lines if len(line) == len("line 99999")}
    assert tenths == {5, 6, 7, 8, 9}, "of lines 95,000 to 99,999"


def test_level_lines_are_bits_per_character_given_the_rest():
    rng = np.random.default_rng(0)
    train = "".join(rng.choice([*"abcd"], 4000))
    known, new = milestone.levels(train, train[-1000:]), milestone.levels(train, train[1::4])
    assert set(known) == {"zlib", "xz", "bz2", "6-grams"}
    assert known["zlib"] < 0.2 and known["xz"] < 0.2
    assert all(1.9 < bits < 3 for bits in new.values())  # four letters, by chance: 2 bits


@pytest.mark.slow
def test_the_level_lines_of_the_novels_agree_with_the_text():
    found = milestone.levels(training.load_text("train"), training.load_text("test"))
    rounded = [round(float(found[name]), 2) for name in ("zlib", "xz", "bz2", "6-grams")]
    assert rounded == [2.84, 2.10, 1.85, 1.73]


def test_words_are_looked_up_in_the_text():
    assert milestone.known_words(["Emma was", "hapy. Emma!"], "emma WAS, not") == 0.75


class Copies(GPT):
    """Knows that the token two places back comes next, and nothing else."""

    def forward(self, ids):
        tokens = super().forward(ids)
        tokens.data[...] = 0
        last = np.roll(ids, 1, axis=1)
        np.put_along_axis(tokens.data, last[..., None], 5.0, axis=-1)
        return tokens


def test_the_probes_measure_how_a_model_uses_its_context():
    ids = np.tile([0, 1], 200)  # each token is that two places back
    blind = GPT(2, 16, 8, 1, 1)
    for p in blind.parameters():
        p.data[...] = 0
    found = milestone.probes(blind, ids)
    assert [round(share, 3) for share in found.values()] == [0, 0, 1]
    found = milestone.probes(Copies(2, 16, 8, 1, 1), ids)
    assert found["gain from context beyond 2 tokens"] == 0  # it looks no further back than two
    assert found["gain from the order of tokens"] > 0.9


@pytest.mark.slow
def test_a_run_measures_its_goals_and_draws(monkeypatch, tmp_path, capsys):
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.setattr(milestone, "BRIEF", 1)
    small(monkeypatch, tmp_path, milestone)
    measured, figure = milestone.run(3)
    assert measured["causality leak"] == 0 and all(map(math.isfinite, measured.values()))
    assert {path.name for path in tmp_path.iterdir()} == {"05_2018_gpt.npz", "gpt.npz"}
    said = capsys.readouterr().out
    assert "\nTokens: byte pairs. " in said and "\nstep 12 of 12  " in said
    assert "\nTokens: characters. " in said and "\nstep 4 of 4  " in said
    bits = f"\n{measured[milestone.BITS]:.3f} bits per character"
    assert f"{bits} of the whole held-out text: no better than" in said
    model, tokenizer = load_gpt(tmp_path / "gpt.npz")
    ids = tokenizer.encode("Emma was happy")
    assert tokenizer.decode(ids) == "Emma was happy" and model.vocab_size == 280
    shown = {text.get_text().split()[0] for text in figure.axes[0].texts}
    assert shown == {"byte", "characters", "zlib", "xz", "bz2", "6-grams"}


def test_sampled_characters_that_the_font_lacks_are_shown_as_squares():
    pytest.importorskip("matplotlib").use("Agg")
    samples = {"bytes": ["a\x00b\x1fc\x85 \N{REPLACEMENT CHARACTER}\u4e2d \u00e9"]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a glyph that is missing is a warning
        figure = draw_gpts({"bytes": ([1, 2], [3.0, 2.0])}, {"zlib": 2.5}, samples)
        figure.draw_without_rendering()
    (column,) = figure.subfigs[1].axes[0].texts
    assert column.get_text() == (
        "a\N{WHITE SQUARE}b\N{WHITE SQUARE}c\N{WHITE SQUARE} "
        "\N{REPLACEMENT CHARACTER}\N{WHITE SQUARE} \u00e9"
    )


def test_an_experiment_is_saved_in_a_separate_file(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.setattr(milestone, "BRIEF", 1)
    small(monkeypatch, tmp_path, milestone)
    measured, figure = milestone.run(3, ["--without", "mask"])
    assert measured["causality leak"] > 0
    assert {path.name for path in tmp_path.iterdir()} == {
        "05_2018_gpt_without_mask.npz",
        "gpt_without_mask.npz",
    }
    assert {"without", "complete"} <= {text.get_text().split()[0] for text in figure.axes[0].texts}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "there is no file"),
        (b"", "0 characters are too few: a text needs 20,000"),
        (b"Emma\n" * 3, "15 characters are too few"),
        (b"a" * 30_000, "has no line break"),
        (b"Emma\n\0" * 9000, "is no text"),
        ("é".encode("latin-1") * 30_000, "is not UTF-8 (byte 0)"),
    ],
)
def test_a_file_that_it_cannot_learn_from_is_refused_before_anything_starts(
    tmp_path, capsys, content, problem
):
    path = tmp_path / "own.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SystemExit) as stopped:
        milestone.run(0, ["--text", str(path)])
    assert problem in stopped.value.code and not capsys.readouterr().out


def test_a_text_of_only_a_few_tokens_is_refused(tmp_path):
    path = tmp_path / "own.txt"
    path.write_bytes((b"a" * 299 + b"\n") * 100)
    with pytest.raises(SystemExit, match="the text repeats itself: its last 5 % are 10 tokens"):
        milestone.run(0, ["--text", str(path)])


def test_several_texts_are_one(tmp_path):
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for path in paths:
        path.write_text("Ärger\n" * 3000, encoding="utf-8")
    assert training.check_texts(paths) == ""
    assert len("".join(training.split_text(paths))) == 36_001


def test_a_short_text_is_trained_with_dropout_and_patience_and_the_best_weights_stay(settings):
    found = training.settings_for(["own.txt"], 50_000)
    longer = training.settings_for(["own.txt"], 1_000_000)
    assert found.dropout > longer.dropout == 0 and found.epochs < longer.epochs == 30
    settings = replace(settings, lr=3.0, epochs=9, patience=2)  # it gets worse and worse
    trainer, text = training.train(settings, None, 5)
    bits = trainer.history[training.BITS]
    assert trainer.epoch < 9 and int(np.argmin(bits)) == trainer.epoch - 3
    again = training.held_out_bits(trainer.model, text.tried_ids, text.characters)
    assert again == pytest.approx(min(bits))
    assert text.tried_ids[:9].tolist() == text.choice_ids[:9].tolist(), "not of the final score"


@pytest.mark.slow
def test_a_gpt_goes_on_with_another_text(monkeypatch, tmp_path, capsys):
    pytest.importorskip("matplotlib").use("Agg")
    small(monkeypatch, tmp_path, milestone)
    monkeypatch.setattr(milestone, "BRIEF", 1)
    milestone.run(3)
    model = str(tmp_path / "gpt.npz")
    own = tmp_path / "own.txt"
    own.write_text("Im Anfang war das Wort.\nUnd so weiter.\n" * 600, encoding="utf-8")
    given = training.Settings(**SMALL | {"epochs": 2}, texts=(str(own),))
    monkeypatch.setattr(milestone, "settings_for", lambda paths, characters: given)
    capsys.readouterr()
    measured, _ = milestone.run(3, ["--text", str(own), "--from", model])
    said = capsys.readouterr().out
    rows = re.findall(r"^  (your text|the novels) +([\d.]+) +([\d.]+)$", said, re.M)
    assert [row[0] for row in rows] == ["your text", "the novels"]
    assert float(rows[0][2]) < float(rows[0][1]), "it knows the new text better"
    assert float(rows[0][2]) == pytest.approx(measured[milestone.BITS], abs=1e-3)
    assert re.search("^before: Im Anfang war.*\nafter:  Im Anfang war", said, re.M)


def test_going_on_needs_a_text_and_a_model_of_the_milestone(tmp_path):
    own = tmp_path / "own.txt"
    own.write_text("Emma\n" * 6000, encoding="utf-8")
    for words, problem in [
        (["--from", "x.npz"], "--from needs --text"),
        (["--from", "x.npz", "--text", str(own), "--characters"], "no other option"),
        (["--from", "x.npz", "--text", str(own)], "--from x.npz: "),
    ]:
        with pytest.raises(SystemExit) as stopped:
            milestone.run(0, words)
        assert problem in stopped.value.code
    save_gpt(tmp_path / "rotary.npz", GPT(256, 8, 8, 1, 2, rotary=True), Tokenizer({}))
    with pytest.raises(SystemExit, match="has rotary positions"):
        milestone.run(0, ["--from", str(tmp_path / "rotary.npz"), "--text", str(own)])


def test_options_that_it_does_not_know_are_named():
    with pytest.raises(SystemExit, match="everything"):
        milestone.run(0, ["--without", "everything"])


@pytest.mark.parametrize("columns", ["40", "60", "100", "160"])
def test_no_word_is_broken_on_a_narrow_or_a_wide_screen(monkeypatch, capsys, columns):
    import gpt_play
    import gpt_screen

    monkeypatch.setenv("COLUMNS", columns)
    milestone.introduce({"gzip": 2.84, "6-grams": 1.73})
    milestone.conclude(1.59, {"gzip": 2.84, "6-grams": 1.73}, "gpt.npz")
    gpt_play.show_help()
    screen = gpt_screen.Screen(10, {})
    screen.is_terminal = True
    screen.print("It is a truth universally acknowledged, that a single man must be in want of")
    said = capsys.readouterr().out.replace("\r", "\n").splitlines()
    assert max(len(line.rstrip()) for line in said) <= min(int(columns), 88)
    words = "It is a truth universally acknowledged, that a single man must be in want of".split()
    last = said[-1].removesuffix("...").split()
    assert last == words[: len(last)] and len(last) >= 5


def test_the_best_line_closes_its_quotation_marks_and_is_made_of_words():
    lines = ['"Emma was happy', "Emma bounek", "Emma was happy", '"Emma," said Mr. Knightley']
    lines.append('"My dear Emma," said Mr. Knightley')
    assert training.best_first(lines, TEXT) == [lines[n] for n in (2, 3, 4, 1, 0)]


def test_the_books_first_page_shows_the_best_lines(monkeypatch):
    place = FOLDER.parents[1] / "book" / "gpt.py"
    spec = importlib.util.spec_from_file_location("gpt_of_the_book", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    printed = (
        "It writes, with byte pairs:\nShe was very happy indeed.\nAnother line of a text.\n\n"
        "1.588 bits per character of the whole held-out\ntext: better than gzip (2.84),\nxz (2.10)."
        "\nThe model is saved in gpt.npz.\n"
    )
    page = module.figure(printed)
    assert "1.588 bits</strong>: better than gzip (2.84), xz (2.10)." in page
    assert "<p>She was very happy indeed.</p>" in page
