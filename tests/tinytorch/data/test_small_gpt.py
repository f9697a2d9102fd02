"""The small GPT that comes with the package."""

import numpy as np
import pytest

from tinytorch.core.transformers import held_out_bits
from tinytorch.data import small_gpt
from tinytorch.data.small_gpt import SETTINGS, load_small_gpt, train_small_gpt
from tinytorch.data.texts import load_text


def test_it_predicts_the_novels():
    model, tokenizer = load_small_gpt()
    assert not model.training and model.context == SETTINGS["context"]
    assert tokenizer.vocab_size == 512
    characters = np.array([len(tokenizer.token(id)) for id in range(512)])
    bits = held_out_bits(model, tokenizer.encode(load_text("test"))[:2000], characters)
    assert 1.5 < bits < 1.8


@pytest.mark.slow
def test_it_can_be_trained_anew(monkeypatch):
    lines = []
    monkeypatch.setattr(small_gpt, "SETTINGS", SETTINGS | {"layers": 1, "embed_dim": 16})
    arrays = train_small_gpt(steps=16, report=lines.append)
    assert arrays["merges"].shape == (256, 2) and len(lines) == 8
    assert arrays["embedding.weight"].shape == (512, 16)
    assert arrays["embedding.weight"].dtype == np.float16
