"""2018: a transformer learns to write. It was called GPT, generative pre-trained transformer.

It has one task: to predict the next token of a text. To do this well, it has to learn spelling,
names and grammar. Here, three blocks with 128 numbers per token learn from two novels by Jane
Austen, cut into tokens by byte-pair encoding. The last 5 % of the text are held out. The score
is the number of bits that the model needs for one character of the held-out text; lower is
better. It is compared with compressors and with n-gram counts, which also know the rest of the
text.

A run takes some minutes. You may interrupt it: started again, it continues from the last epoch
that it has saved, and ends with the same weights.
"""

# /// milestone
# title = "A GPT learns to write"
# needs = [
#     "tensor", "activations", "layers", "losses", "autograd", "optimizers", "training",
#     "normalization", "tokenization", "embeddings", "attention", "transformers",
# ]
# seconds = 3600
# alt = """Bits per character of held-out text fall with the training steps, first below zlib, \
#     then xz, bz2 and 6-grams, for a GPT with byte pairs as tokens; one with characters as \
#     tokens learns more slowly. Below, some lines that each of them has written."""
# options = ["--characters", "--without norm|residual|positions|mask", "--text FILE"]
# [goal]
# "sampled words that occur in the text" = 0.85
# "gain from context beyond 2 tokens" = 0.02
# "gain from the order of tokens" = 0.02
# [at_most]
# "held-out bits per character" = 1.65
# "causality leak" = 0
# "entropy of attention / log T" = 0.95
# ///

import argparse
import bz2
import lzma
import math
import re
import sys
import time
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
from gpt_pictures import draw_gpts
from gpt_training import BITS, Settings, place, sample_lines, train

from tinytorch.core.embeddings import NGram
from tinytorch.core.losses import cross_entropy
from tinytorch.core.tokenization import CharTokenizer
from tinytorch.core.training import evaluation_mode
from tinytorch.core.transformers import causality_leak, held_out_bits

BRIEF = 6  # epochs of the model for comparison
NEAR = 2  # tokens of the short context
SHORTEST = 10_000  # characters of a text, so that the 5 % held out fill a window


def learn(name, settings, seed, kept=None):
    """Train a model, and print its progress; returns (Trainer, Corpus)."""

    def report(trainer, text):
        bits, epoch = trainer.history[BITS][-1], trainer.epoch
        print(
            f"{name}, step {epoch * settings.steps:,} of {settings.epochs * settings.steps:,}: "
            f"{bits:.3f} bits per character, {time.process_time():.0f} CPU s",
            flush=True,
        )
        if epoch % 5 == 0:
            rng = np.random.default_rng(seed)
            (line,) = sample_lines(trainer.model, text.tokenizer, 1, 32, rng)
            print(f"    it writes: {line}", flush=True)

    return train(settings, place(kept) if kept else None, seed, report)


def levels(train, test):
    """{name: bits per character of `test`}, for compressors and n-grams that know `train`."""
    before, both = train.encode(), (train + test).encode()
    compressors = {
        "zlib": lambda data: zlib.compress(data, 9),
        "xz": lambda data: lzma.compress(data, preset=9 | lzma.PRESET_EXTREME),
        "bz2": lambda data: bz2.compress(data, 9),
    }
    found = {
        name: 8 * (len(compress(both)) - len(compress(before))) / len(test)
        for name, compress in compressors.items()
    }
    tokenizer = CharTokenizer(train + test)
    order = min(6, int(62 / math.log2(tokenizer.vocab_size)))  # an n-gram has to fit an int64
    counts = NGram(order).fit(tokenizer.encode(train), tokenizer.vocab_size)
    nats = -counts.log_probability(tokenizer.encode(test)).mean()
    return found | {f"{order}-grams": nats / math.log(2)}


def known_words(lines, text):
    """The share of the words in `lines` that occur in `text`."""
    words = [re.findall(r"[^\W\d_]+", part.lower()) for part in (" ".join(lines), text)]
    return float(np.isin(words[0], list(set(words[1]))).mean())


def bits_of_next(model, windows):
    """The mean bits of the last token of each window, given the tokens before it."""
    with evaluation_mode(model):
        logits = model(windows[:, :-1])[:, -1]
        return cross_entropy(logits, windows[:, -1]).item() / math.log(2)


def probes(model, ids):
    """How a model uses its context: three shares, by name.

    A gain is the share of the bits per token that a model saves when it gets whole windows of
    the held-out text: compared with only the last 2 tokens of each window, and compared with
    windows in which all tokens but the last are shuffled. The entropy of attention is divided
    by its largest value, log T, which it has when all T weights are equal.
    """
    starts = np.linspace(0, len(ids) - model.context - 1, 200).astype(int)
    windows = ids[starts[:, None] + np.arange(model.context + 1)]
    mixed = windows.copy()
    np.random.default_rng(0).permuted(windows[:, :-2], axis=1, out=mixed[:, :-2])
    bits = bits_of_next(model, windows)
    x, entropies = windows[:, :-1], []
    with evaluation_mode(model):
        stream = model.embedding(x)
        if model.positions is not None:
            stream = stream + model.positions.weight[: model.context]
        for block in model.blocks:
            weights = block.attention.attention_weights(block.norm1(stream))
            last = weights[:, :, -1]  # the weights of the last token
            entropy = -(last * np.log(last + 1e-12)).sum(-1).mean()
            entropies.append(entropy / math.log(model.context))
            stream = block(stream)
    near = bits_of_next(model, windows[:, -NEAR - 1 :])
    return {
        "gain from context beyond 2 tokens": 1 - bits / near,
        "gain from the order of tokens": 1 - bits / bits_of_next(model, mixed),
        "entropy of attention / log T": float(np.mean(entropies)),
    }


def curve(trainer, settings):
    """The steps after which the model was scored, and its bits per character."""
    bits = trainer.history[BITS]
    return [settings.steps * (n + 1) for n in range(len(bits))], bits


def parsed(words):
    """The options of an experiment."""
    parser = argparse.ArgumentParser(prog="gpt", description="Train a GPT.")
    parser.add_argument("--characters", action="store_true", help="characters as tokens")
    parser.add_argument(
        "--without", choices=["norm", "residual", "positions", "mask"], default=""
    )
    parser.add_argument("--text", type=text_path, metavar="FILE", help="learn from this text")
    return parser.parse_args(words)


def text_path(path):
    """The absolute path of a text that can be read and is long enough."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise argparse.ArgumentTypeError(f"{path} cannot be read: {error}") from None
    if len(text) < SHORTEST:
        number = f"{len(text):,} characters, and a run needs {SHORTEST:,}"
        raise argparse.ArgumentTypeError(f"{path} is too short: it has {number}")
    if "\n" not in text:
        raise argparse.ArgumentTypeError(f"{path} has no line break, after which samples begin")
    return str(Path(path).resolve())


def run(seed=0, words=()):
    """Train with byte pairs and, more briefly, with characters; returns (measured, figure)."""
    chosen = parsed(words)
    settings = Settings(text=chosen.text or "")
    if chosen.characters:
        settings = replace(settings, vocab_size=0)
    name = "characters" if chosen.characters else "byte pairs"
    other, others = "characters", replace(settings, vocab_size=0, epochs=BRIEF)
    if chosen.without:
        settings, others = replace(settings, epochs=BRIEF), replace(settings, epochs=BRIEF)
        name, settings = f"without {chosen.without}", replace(settings, without=chosen.without)
        other = "complete"

    kept = "_".join(["05_2018_gpt", *re.findall(r"\w+", " ".join(words))])[:80]
    trainer, text = learn(name, settings, seed, kept)
    model = trainer.model
    measured = {BITS: held_out_bits(model, text.test_ids, text.characters)}
    measured["causality leak"] = causality_leak(model, text.test_ids[: settings.context])
    rng = np.random.default_rng(seed)
    lines = sample_lines(model, text.tokenizer, 8, 100, rng)
    measured["sampled words that occur in the text"] = known_words(lines, text.train)
    measured |= probes(model, text.test_ids)
    curves, samples = {name: curve(trainer, settings)}, {name: lines}
    if name != other:
        trainer, text = learn(other, others, seed)
        curves[other] = curve(trainer, others)
        samples[other] = sample_lines(trainer.model, text.tokenizer, 8, 100, rng)
    for name, lines in samples.items():
        print(f"\n{name}:", *lines, sep="\n", flush=True)
    return measured, draw_gpts(curves, levels(text.train, text.test), samples)


if __name__ == "__main__":
    measured, figure = run(words=sys.argv[1:])
    print(measured)
    figure.savefig(Path(__file__).with_suffix(".png"))
