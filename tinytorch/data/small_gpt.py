"""A small GPT that has been trained on the novels, ready-made: what lesson 16 generates with.

The weights are in `tinytorch/data/small_gpt.npz`. `python -m tinytorch.data.small_gpt FILE`
trains such a model anew, with lessons 01 to 15, in about three CPU minutes.
"""

import sys
from importlib.resources import files

import numpy as np

__all__ = ["SETTINGS", "load_small_gpt", "train_small_gpt"]

VOCABULARY = 512  # tokens of its tokenizer
SETTINGS = {"context": 64, "embed_dim": 64, "layers": 2, "num_heads": 4}  # of the GPT


def load_small_gpt():
    """The model and its tokenizer, made of the classes of lessons 12 and 15.

    returns  (a GPT in evaluation mode, a Tokenizer)
    """
    from tinytorch.core.tokenization import Tokenizer
    from tinytorch.core.transformers import GPT

    with np.load(files("tinytorch") / "data" / "small_gpt.npz") as arrays:
        pairs = map(tuple, arrays["merges"].tolist())
        weights = {
            name: arrays[name].astype(np.float32) for name in arrays.files if name != "merges"
        }
    model = GPT(VOCABULARY, **SETTINGS)
    model.load_state_dict(weights)
    return model.eval(), Tokenizer({pair: 256 + rank for rank, pair in enumerate(pairs)})


def train_small_gpt(steps=8000, batch=8, lr=3e-3, report=print):
    """Train the model on the training part of the novels.

    report   is called with a line of text now and then
    returns  {"merges": int array (merges, 2)} and the weights as float16 arrays
    """
    from tinytorch.core.layers import manual_seed
    from tinytorch.core.optimizers import AdamW, clip_grad_norm_, warmup_cosine
    from tinytorch.core.tokenization import Tokenizer, train_bpe_fast
    from tinytorch.core.transformers import GPT, decay_groups, held_out_bits, lm_loss, text_batch
    from tinytorch.data.texts import load_text

    manual_seed(0)
    rng, merges = np.random.default_rng(0), train_bpe_fast(load_text("train"), VOCABULARY)
    tokenizer, model = Tokenizer(merges), GPT(VOCABULARY, **SETTINGS)
    train, test = (tokenizer.encode(load_text(part)) for part in ("train", "test"))
    characters = np.array([len(tokenizer.token(id)) for id in range(VOCABULARY)])  # all ASCII
    optimizer = AdamW(decay_groups(model, 0.1), lr=lr, betas=(0.9, 0.99))
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = lr * warmup_cosine(step, steps // 20, steps, 0.02)
        loss = lm_loss(model, *text_batch(train, batch, SETTINGS["context"], rng))
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if (step + 1) % (steps // 8) == 0:
            bits = held_out_bits(model, test[:8000], characters)
            report(f"{step + 1} steps: {bits:.3f} bits per character")
    weights = {name: array.astype(np.float16) for name, array in model.state_dict().items()}
    return {"merges": np.array(list(merges), dtype=np.int16), **weights}


if __name__ == "__main__":
    np.savez_compressed(sys.argv[1], **train_small_gpt())
