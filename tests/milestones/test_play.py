"""`tito milestone run gpt`, once it is trained: a GPT continues what is typed."""

import io
import json
import sys

import numpy as np
import pytest
from programs import TEXT, program

from tinytorch.core.layers import manual_seed
from tinytorch.core.tokenization import CharTokenizer, Tokenizer, train_bpe_fast
from tinytorch.core.transformers import GPT
from tinytorch.text import save_gpt

program("05_2018_gpt")
import gpt_attention  # noqa: E402  beside the program
import gpt_play  # noqa: E402


@pytest.fixture
def file(tmp_path):
    """A GPT that has learned nothing."""
    manual_seed(0)
    tokenizer = Tokenizer(train_bpe_fast(TEXT, 270))
    path = tmp_path / "gpt.npz"
    save_gpt(path, GPT(270, 8, 16, 1, 2), tokenizer)
    return str(path)


def test_it_continues_a_prompt_and_gives_the_probability_of_each_token(file, capsys):
    words = ["--model", file, "--prompt", "Emma was", "--tokens", "20", "--json"]
    gpt_play.play(words)
    found = json.loads(capsys.readouterr().out)
    assert found["text"] == "Emma was" + "".join(token["text"] for token in found["tokens"])
    assert all(0 < token["probability"] < 1 for token in found["tokens"][:-1])
    gpt_play.play(words[:-1])
    assert capsys.readouterr().out == found["text"] + "\n", "the seed is the same"
    gpt_play.play(words, seed=1)
    assert json.loads(capsys.readouterr().out)["text"] != found["text"]


def test_without_a_terminal_it_continues_what_it_reads(file, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("Emma\n"))
    gpt_play.play(["--model", file, "--tokens", "3"])
    assert capsys.readouterr().out.startswith("Emma")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def typed(monkeypatch):
    """A list for what is typed: lines, and exceptions that come instead of a line."""
    lines = []

    def next_line(prompt):
        line = lines.pop(0) if lines else EOFError()
        if isinstance(line, str):
            return line
        raise line

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr("builtins.input", next_line)
    return lines


def test_settings_change_between_two_prompts(file, capsys, typed):
    typed += ["/tokens 2", "Emma", "/tokens many", f"/tokens {10**400}", "/top-p 7", "/what"]
    typed += ["/seed 0", "", "Emma", "/temperature 0"]
    gpt_play.play(["--model", file])
    said = capsys.readouterr().out
    assert "tokens 2\n" in said and "temperature 0\n" in said
    assert "/tokens needs a number, such as /tokens 1" in said
    assert "top-p is a number from 0.01 to 1, not 7" in said
    answers = [line for line in said.splitlines() if line.startswith("Emma")]
    assert (
        len(answers) == 2 and answers[0] == answers[1] and said.count("Ctrl-C stops the model") == 2
    )


def test_ctrl_c_stops_the_model_and_goes_on(file, capsys, monkeypatch, typed):
    typed += ["Emma", KeyboardInterrupt(), "Jane"]

    def one_token(model, ids, chosen, rng):
        yield 33, 0.5, []
        raise KeyboardInterrupt

    monkeypatch.setattr(gpt_play, "tokens_after", one_token)
    gpt_play.play(["--model", file])
    assert "Emma!\nJane!\n" in capsys.readouterr().out


def test_a_character_of_several_tokens_is_shown_when_it_is_complete():
    tokenizer = Tokenizer({})
    drawn = [(byte, 0.5, [(97, 0.25)]) for byte in "aé".encode()] + [(0xC3, 0.5, [])]
    shown = list(gpt_play.texts(tokenizer, drawn))
    parts = [text for text, _, _ in shown]
    assert shown[0] == ("a", 0.5, [("a", 0.25)])
    assert parts == ["a", "", "é", "", "\N{REPLACEMENT CHARACTER}"]


def test_no_word_is_broken_at_the_end_of_a_line():
    tokens = [" It", " was", " a", " tr", "uth", " uni", "vers", "ally", ".\n", "Em", "ma", " was"]
    drawn = gpt_play.in_lines([(token, 0.5) for token in tokens], 4, 12)
    lines = "".join(text for text, _ in drawn).split("\n")
    assert lines == [" It was", "a truth", "universally.", "Emma was"]


def test_top_p_keeps_the_fewest_likely_tokens():
    logits = np.log([0.1, 0.4, 0.2, 0.3])
    for top_p, kept in [(0.4, [1]), (0.41, [1, 3]), (0.75, [1, 2, 3]), (1.0, [0, 1, 2, 3])]:
        p = gpt_play.probabilities(logits, 1.0, top_p)
        assert np.flatnonzero(p).tolist() == kept and p.sum() == pytest.approx(1)
    cold = gpt_play.probabilities(logits, 0.01, 1.0)
    assert cold[1] > 0.999
    assert gpt_play.probabilities(logits, 0, 0.4).tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--model", "nothing.npz"], "there is no model nothing.npz"),
        (["--tokens", "0"], "tokens is a number from 1 to 10,000, not 0"),
        (["--temperature", "warm"], "invalid float value: 'warm'"),
        (["--loud"], "unrecognized arguments: --loud"),
    ],
)
def test_what_it_cannot_do_is_one_sentence(words, problem):
    with pytest.raises(SystemExit) as ended:
        gpt_play.play(words)
    assert problem in ended.value.code


def test_a_character_that_the_model_has_not_learned_is_named(tmp_path, capsys):
    tokenizer = CharTokenizer(TEXT)
    path = tmp_path / "gpt.npz"
    save_gpt(path, GPT(tokenizer.vocab_size, 8, 16, 1, 2), tokenizer)
    gpt_play.play(["--model", str(path), "--prompt", "Ω"])
    assert "'Ω'" in capsys.readouterr().out


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_the_tokens_of_another_persons_model_do_not_move_the_cursor(tmp_path, capsys, more):
    tokenizer = CharTokenizer("\x1b]0;[2J\x07\x9b\u202e")
    save_gpt(tmp_path / "gpt.npz", GPT(tokenizer.vocab_size, 8, 16, 1, 2), tokenizer)
    gpt_play.play(
        ["--model", str(tmp_path / "gpt.npz"), "--prompt", "[2J", "--tokens", "60", *more]
    )
    said = capsys.readouterr().out
    assert not set(said) & set("\x1b\x07\x9b\u202e") and "x1b" in said


def test_where_the_heads_look_is_told_and_drawn(file, capsys, typed, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    typed += ["/look", '/look "Emma," said']
    gpt_play.play(["--model", file])
    said = capsys.readouterr().out
    assert "Write a few words after /look" in said
    assert said.count("  layer 0, head ") == 2 and said.count("<- the clearest") == 1
    assert (tmp_path / "gpt_attention.png").stat().st_size > 1000


def test_the_pattern_of_a_head_is_found_by_its_weights():
    tokens = ['"', "a", "b", '"', "a", "b"]
    before = np.eye(6)[[0, 0, 1, 2, 3, 4]]
    quotes = np.eye(6)[[0, 0, 0, 0, 3, 3]]
    again = np.eye(6)[[0, 1, 2, 0, 1, 2]]
    for weights, place in [
        (before, "the token before"),
        (quotes, "the last quotation mark"),
        (again, "the same token, earlier"),
        (np.eye(6), "itself"),
    ]:
        found = gpt_attention.patterns(weights, tokens)
        assert max(found, key=found.get) == place and found[place] == pytest.approx(1)


def test_the_weights_of_each_head_are_a_distribution_over_the_past():
    manual_seed(0)
    ids = np.arange(12).reshape(2, 6)
    for weights in gpt_attention.attention_weights(GPT(20, 8, 16, 3, 2), ids):
        assert weights.shape == (2, 2, 6, 6)
        np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-5)
        assert np.triu(weights, 1).max() == 0
