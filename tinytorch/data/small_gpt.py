"""Train the small GPT that comes with the package anew, on the novels, with lessons 02 to 15:
`python -m tinytorch.data.small_gpt FILE`, in about three CPU minutes.
"""

import sys

import numpy as np

from tinytorch.data.gpt_files import save_gpt

__all__ = ["SETTINGS", "train_small_gpt"]

VOCABULARY = 512  # tokens of its tokenizer
SETTINGS = {"context": 64, "embed_dim": 64, "layers": 2, "num_heads": 4}  # of the GPT


def train_small_gpt(steps=8000, batch=8, lr=3e-3, report=print):
    """Train the model on the training part of the novels.

    report   is called with a line of text now and then
    returns  (GPT, Tokenizer)
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
    return model, tokenizer


if __name__ == "__main__":
    save_gpt(sys.argv[1], *train_small_gpt(), np.float16)
