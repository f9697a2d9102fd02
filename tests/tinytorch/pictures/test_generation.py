"""The pictures of lesson 16."""

import numpy as np
import pytest

from tinytorch.core.activations import softmax
from tinytorch.core.generation import generate
from tinytorch.data.gpt_files import load_small_gpt
from tinytorch.pictures.generation import (
    SAMPLES,
    draw_acceptance,
    draw_attention_rows,
    draw_choices,
    draw_entropies,
    draw_samples,
)


@pytest.mark.parametrize("temperature, seed", [(0, 0), (0.8, 3), (1.6, 3)])
def test_the_samples_are_what_the_small_gpt_writes(temperature, seed):
    model, tokenizer = load_small_gpt()
    row, prompt = SAMPLES[f"temperature {temperature}"], tokenizer.encode("It is a truth")
    ids = generate(model, prompt[None], len(row), temperature, rng=seed)
    new = ids[0, len(prompt) :]
    assert [tokenizer.token(id).decode() for id in new.tolist()] == [token for token, _ in row]
    p = softmax(model(ids[:, :-1])[0, len(prompt) - 1 :]).data
    assert np.allclose(p[np.arange(len(new)), new], [p for _, p in row], atol=6e-4)


def test_tokens_are_coloured_by_their_probability():
    svg = draw_samples({"one": [("a", 0.5), ("b", 0.01), ("c", 0.009)]}).svg()
    assert [svg.count(f'class="cell {kind}') for kind in ("muted", "value", "wrong")] == [1, 1, 1]


def test_tokens_are_coloured_by_the_entropy_before_them():
    svg = draw_entropies(["a", "b", "c", "d"], [1.9, 2.0, 4.0, 4.1]).svg()
    kinds = [svg.count(f'class="cell {kind}') for kind in ("muted", "value", "gradient")]
    assert kinds == [1, 2, 1]


def test_removed_choices_are_hatched():
    drawing = draw_choices({"x": [("a", 0.6, True), ("b", 0.4, False)]})
    assert drawing.svg().count("cell wrong hatched") == 1 and "b 0.40 (removed)" in drawing.svg()


def test_a_cache_saves_all_rows_but_the_last():
    svg = draw_attention_rows(["a", "b", "c", "d"]).svg()
    assert svg.count("cell wrong hatched") == 6 and svg.count('class="cell value"') == 8
    assert svg.count("stroke-dasharray") == 6


def test_rejected_probability_is_drawn_for_other_tokens():
    drawing = draw_acceptance(["a", "b", "c"], [0.6, 0.3, 0.1], [0.2, 0.3, 0.5])
    assert drawing.description == "accepted 0.60, rejected 0.40, drawn instead 0.40"
    assert drawing.svg().count("cell wrong hatched") == 1
    assert drawing.svg().count('class="cell gradient"') == 1
