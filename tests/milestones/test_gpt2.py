"""`tito milestone run gpt2`, with a small GPT-2 of random weights."""

import io
import sys
from pathlib import Path

import numpy as np
import pytest
from gpt2_folder import write_gpt2
from programs import program

from tinytorch.core import generation
from tinytorch.data import download
from tinytorch.data.gpt2_files import GPT2_FILES

gpt2 = program("13_2019_gpt2")


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "files"
    made.mkdir()
    write_gpt2(made)
    return made


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def published(folder, tmp_path, monkeypatch):
    """The small files in place of the published ones; returns what was downloaded."""
    found, kept = [], tmp_path / "data" / "gpt2"

    def fetch(url, sha256, size, where):
        name = url.rpartition("/")[2]
        found.append(name)
        where.mkdir(parents=True, exist_ok=True)
        (where / name).write_bytes((folder / name).read_bytes())
        return where / name

    monkeypatch.setenv("TINYTORCH_DATA", str(kept.parent))
    monkeypatch.setattr("tinytorch.data.gpt2_files.fetch", fetch)
    return found


def test_it_writes_and_is_measured(folder, capsys):
    measured, figure = gpt2.run(0, ["--folder", str(folder)])
    said = capsys.readouterr().out
    assert all(f"\n{prompt}" in said for prompt in gpt2.PROMPTS) and figure is None
    assert measured["logits with and without the cache, difference"] < 1e-4
    assert measured["tokens per second"] > 1 and f" from {folder}, in 2 blocks" in said
    rows = [line.split() for line in said.splitlines() if " bits  " in line]
    assert [row[0] for row in rows] == ["32", "8", "4"]
    exact, eight, four = (float(row[-1]) for row in rows)
    assert exact == pytest.approx(measured["bits per character of a novel"], abs=1e-3)
    assert abs(eight - exact) < abs(four - exact) < 1
    assert "/files --prompt TEXT" in said


def test_a_cache_that_forgets_is_measured(folder, monkeypatch, capsys):
    append = generation.KVCache.append

    def forgets(self, layer, k, v):
        keys, values = append(self, layer, k, v)
        keys.data[:, :, 0] = 0
        return keys, values

    monkeypatch.setattr(generation.KVCache, "append", forgets)
    measured, _ = gpt2.run(0, ["--folder", str(folder)])
    assert measured["logits with and without the cache, difference"] > 1e-3  # 10 times the other


def test_before_lesson_23_the_smaller_ones_wait_for_it(folder, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tinytorch.core.quantization", None)
    gpt2.run(0, ["--folder", str(folder)])
    assert "8 and 4 bits: with lesson 23, quantization" in capsys.readouterr().out


def test_the_tokens_are_those_of_the_whole_model_beyond_the_context_too(folder):
    import gpt_play

    model, _ = gpt2.load_gpt2(folder)
    chosen = gpt2.parsed(["--tokens", "80", "--temperature", "0"], 0)
    model.vocab_size += 1  # so that no token ends the text
    drawn = [
        [token[:2] for token in one(model, [1, 2, 3], chosen, np.random.default_rng(0))]
        for one in (gpt2.tokens_after, gpt_play.tokens_after)
    ]
    assert [id for id, _ in drawn[0]] == [id for id, _ in drawn[1]] and len(drawn[0]) == 80
    np.testing.assert_allclose(*[[p for _, p in one] for one in drawn], rtol=1e-4)


def test_the_text_ends_where_the_model_ends_it(folder):
    model, tokenizer = gpt2.load_gpt2(folder)
    model.norm.weight.data[...] = 0
    model.norm.bias.data[...] = 10 * model.embedding.weight.data[-1]  # always <|endoftext|>
    chosen = gpt2.parsed(["--temperature", "0"], 0)
    assert not list(gpt2.tokens_after(model, [1], chosen, np.random.default_rng(0)))


def test_it_asks_before_it_downloads(published, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", Terminal("no\n"))
    monkeypatch.setattr("builtins.input", lambda prompt: "no")
    with pytest.raises(SystemExit, match="nothing was downloaded"):
        gpt2.run()
    said = capsys.readouterr().out
    assert "550 MB will be downloaded" in said and "the MIT licence" in said and not published
    assert "huggingface.co/openai-community/gpt2" in said
    monkeypatch.setattr("builtins.input", lambda prompt: "y")
    gpt2.run()
    assert sorted(published) == sorted(GPT2_FILES)
    assert "This is the end of the road" in capsys.readouterr().out
    monkeypatch.setattr("builtins.input", None)  # it is there: nothing is asked
    gpt2.run()


def test_ctrl_c_while_it_asks_or_downloads_is_one_sentence(published, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr("builtins.input", interrupted)
    for words in ([], ["--download"]):
        with pytest.raises(SystemExit, match="the next run goes on where this one stopped"):
            gpt2.run(0, words)
        monkeypatch.setattr(gpt2, "download_gpt2", interrupted)


def test_without_a_terminal_it_says_how(published, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(SystemExit, match="tito milestone run gpt2 --download"):
        gpt2.run()
    gpt2.play(["--download", "--prompt", "the", "--tokens", "2"])
    assert sorted(published) == sorted(GPT2_FILES)


def test_without_a_network_it_says_where_the_files_can_be_put(tmp_path, monkeypatch):
    monkeypatch.setenv("TINYTORCH_DATA", str(tmp_path))
    monkeypatch.setattr(gpt2, "download_gpt2", lambda: _offline())
    with pytest.raises(SystemExit) as ended:
        gpt2.run(0, ["--download"])
    assert "by hand" in ended.value.code and str(tmp_path / "gpt2") in ended.value.code


def _offline():
    return download.fetch("http://127.0.0.1:9/config.json", "0" * 64, 9, _place(), attempts=1)


def _place():
    return download.data_folder() / "gpt2"


def test_a_full_disk_is_found_before_the_download(published, monkeypatch):
    usage = type(gpt2.shutil.disk_usage("."))
    monkeypatch.setattr(gpt2.shutil, "disk_usage", lambda place: usage(10**9, 10**9, 10**6))
    with pytest.raises(SystemExit, match="has room for 1 MB only"):
        gpt2.run(0, ["--download"])
    assert not published


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--folder", "nowhere"], "--folder nowhere: there is no such folder"),
        (["--folder", "."], "has no config.json"),
        (["--tokens", "0"], "tokens is a number from 1"),
        (["--loud"], "unrecognized arguments: --loud"),
        (["--model", "gpt.npz"], "unrecognized arguments: --model"),
    ],
)
def test_what_it_cannot_do_is_one_sentence(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        gpt2.run(0, words)
    assert said in ended.value.code


def test_damaged_files_are_named(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(SystemExit) as ended:
        gpt2.run(0, ["--folder", str(folder)])
    assert "is it complete?" in ended.value.code and str(path) in ended.value.code


def test_one_can_type(folder, monkeypatch, capsys):
    lines = ["/tokens 3", "the cat", "/look the cat is this"]
    monkeypatch.setattr(sys, "stdin", Terminal())

    def typed(prompt):
        if lines:
            return lines.pop(0)
        raise EOFError

    monkeypatch.setattr("builtins.input", typed)
    pytest.importorskip("matplotlib").use("Agg")
    gpt2.play(["--folder", str(folder)])
    said = capsys.readouterr().out
    assert "261 tokens, 64 of context" in " ".join(said.split()) and "\nthe cat" in said
    assert "layer 1, head 2" in said and Path(folder.parent, "files_attention.png").exists()


def test_the_heads_of_a_large_model_are_a_list_of_the_clearest(tmp_path, capsys, monkeypatch):
    import gpt_attention

    write_gpt2(tmp_path)
    monkeypatch.setattr(gpt_attention, "HEADS", 4)
    gpt_attention.look(*gpt2.load_gpt2(tmp_path), "the cat is this the", tmp_path / "p.png")
    said = capsys.readouterr().out.splitlines()
    assert "of 6 heads look at the first token" in said[0] and len(said) <= 5
    assert not (tmp_path / "p.png").exists()
