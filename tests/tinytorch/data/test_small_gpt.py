"""The small GPT that comes with the package."""

import numpy as np
import pytest

from tinytorch.core.transformers import held_out_bits
from tinytorch.data import small_gpt
from tinytorch.data.gpt_files import load_gpt, load_small_gpt, save_gpt
from tinytorch.data.texts import load_text


def test_it_predicts_the_novels():
    model, tokenizer = load_small_gpt()
    assert not model.training and model.context == small_gpt.SETTINGS["context"]
    assert tokenizer.vocab_size == 512
    characters = np.array([len(tokenizer.token(id)) for id in range(512)])
    bits = held_out_bits(model, tokenizer.encode(load_text("test"))[:2000], characters)
    assert 1.5 < bits < 1.8


@pytest.mark.slow
def test_it_can_be_trained_anew(monkeypatch, tmp_path):
    lines = []
    monkeypatch.setattr(small_gpt, "SETTINGS", small_gpt.SETTINGS | {"layers": 1, "embed_dim": 16})
    model, tokenizer = small_gpt.train_small_gpt(steps=16, report=lines.append)
    assert len(tokenizer.merges) == 256 and len(lines) == 8
    save_gpt(tmp_path / "gpt.npz", model, tokenizer, np.float16)
    again, _ = load_gpt(tmp_path / "gpt.npz")
    assert again.embedding.weight.shape == (512, 16)
