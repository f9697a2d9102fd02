"""GPTs in files, with their tokenizers."""

import numpy as np
import pytest

from tinytorch.core.layers import manual_seed
from tinytorch.core.tokenization import CharTokenizer, Tokenizer, train_bpe_fast
from tinytorch.core.transformers import GPT
from tinytorch.support.checkpoints import CheckpointError, save_state
from tinytorch.text import load_gpt, save_gpt

TEXT = "Größe: the cat sat on the mat, the cat sat"


@pytest.mark.parametrize(
    "tokenizer",
    [Tokenizer(train_bpe_fast(TEXT, 260), {"<end>": 260}), CharTokenizer(TEXT)],
    ids=["byte pairs", "characters"],
)
@pytest.mark.parametrize("options", [{}, {"tie": False}, {"rotary": True}], ids=str)
def test_what_is_loaded_writes_the_same_text(tmp_path, tokenizer, options):
    manual_seed(1)
    model = GPT(tokenizer.vocab_size, 12, 8, layers=2, num_heads=2, **options)
    save_gpt(tmp_path / "gpt.npz", model, tokenizer)
    again, words = load_gpt(tmp_path / "gpt.npz")
    ids = words.encode("the cat")[None]
    assert not again.training and words.decode(ids[0]) == "the cat"
    written = [one.generate(ids, 5, rng=0) for one in (model.eval(), again)]
    np.testing.assert_array_equal(*written)


def test_float16_halves_the_file_and_is_read_as_float32(tmp_path):
    tokenizer = CharTokenizer(TEXT)
    model = GPT(tokenizer.vocab_size, 8, 64, layers=1, num_heads=2)
    for dtype in (np.float32, np.float16):
        save_gpt(tmp_path / f"{dtype.__name__}.npz", model, tokenizer, dtype)
    large, small = ((tmp_path / f"float{n}.npz").stat().st_size for n in (32, 16))
    assert small < 0.6 * large
    weights = load_gpt(tmp_path / "float16.npz")[0].state_dict()
    for name, array in model.state_dict().items():
        assert weights[name].dtype == np.float32
        np.testing.assert_allclose(weights[name], array, atol=1e-3)


def test_another_checkpoint_and_another_tokenizer_are_refused(tmp_path):
    save_state(tmp_path / "other.npz", {"weights": 1})
    with pytest.raises(CheckpointError, match="holds no GPT with its tokenizer"):
        load_gpt(tmp_path / "other.npz")
    with pytest.raises(ValueError, match="9 tokens, the tokenizer 2"):
        save_gpt(tmp_path / "gpt.npz", GPT(9, 4, 8, 1, 2), CharTokenizer("ab"))
    with pytest.raises(FileNotFoundError):
        load_gpt(tmp_path / "nothing.npz")
