"""GPTs in files: the sizes and weights of a model together with its tokenizer."""

from importlib.resources import files

import numpy as np

from tinytorch.support.checkpoints import CheckpointError, load_state, save_state

__all__ = ["load_gpt", "load_small_gpt", "save_gpt"]

KIND = "GPT with its tokenizer"


def save_gpt(path, model, tokenizer, dtype=np.float32):
    """Write a GPT of lesson 15 and its tokenizer of lesson 12 to a file.

    path       of the file, such as "gpt.npz"
    model      GPT
    tokenizer  Tokenizer or CharTokenizer: the one that made the ids the model was trained on
    dtype      of the weights in the file; np.float16 halves its size

    ValueError when the numbers of tokens of the two differ.
    """
    if model.vocab_size != tokenizer.vocab_size:
        raise ValueError(
            f"the model has {model.vocab_size} tokens, the tokenizer {tokenizer.vocab_size}"
        )
    weights = {name: array.astype(dtype) for name, array in model.state_dict().items()}
    if hasattr(tokenizer, "merges"):
        parts = {"merges": tokenizer.merges, "special_tokens": tokenizer.special_tokens}
    else:
        parts = {"characters": tokenizer.characters}
    save_state(path, {"kind": KIND, "sizes": sizes(model), "tokenizer": parts, "weights": weights})


def load_gpt(path):
    """The GPT and the tokenizer in a file that `save_gpt` or `tito milestone run gpt` wrote.

    returns  (GPT in evaluation mode, Tokenizer or CharTokenizer)

    Raises CheckpointError when the file holds something else, and FileNotFoundError without it.

    >>> model, tokenizer = load_gpt(files("tinytorch") / "data" / "small_gpt.npz")
    >>> model.context, tokenizer.vocab_size
    (64, 512)
    """
    from tinytorch.core.tokenization import CharTokenizer, Tokenizer
    from tinytorch.core.transformers import GPT

    state = load_state(path)
    if not isinstance(state, dict) or state.get("kind") != KIND:
        raise CheckpointError(f"{path} is a checkpoint, but holds no GPT with its tokenizer")
    parts = state["tokenizer"]
    if "characters" in parts:
        tokenizer = CharTokenizer(parts["characters"])
    else:
        tokenizer = Tokenizer(**parts)
    model = GPT(**state["sizes"])
    model.load_state_dict({n: array.astype(np.float32) for n, array in state["weights"].items()})
    return model.eval(), tokenizer


def load_small_gpt():
    """The small GPT that comes with the package, trained on two novels, and its tokenizer.

    returns  (GPT in evaluation mode, Tokenizer)

    `tinytorch/data/SOURCES.md` says how it was trained.
    """
    return load_gpt(files("tinytorch") / "data" / "small_gpt.npz")


def sizes(model):
    """The arguments that make a GPT of the same sizes."""
    return {
        "vocab_size": model.vocab_size,
        "context": model.context,
        "embed_dim": model.embedding.weight.shape[1],
        "layers": len(model.blocks),
        "num_heads": model.blocks[0].attention.num_heads,
        "tie": model.head is None,
        "rotary": model.positions is None,
    }
