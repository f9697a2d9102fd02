"""2018: a transformer learns to write. It was called GPT, generative pre-trained transformer.

It has one task: to predict the next token of a text. To do this well, it has to learn spelling,
names and grammar. Here, three blocks with 128 numbers per token learn from two novels by Jane
Austen, cut into tokens by byte-pair encoding. The last 5 % of the text are held out. The score
is the number of bits that the model needs for one character of the held-out text; lower is
better. It is compared with compressors and with n-gram counts, which also know the rest of the
text.

A run takes some minutes. You may interrupt it: started again, it continues from the last epoch
that it has saved, and ends with the same weights. The model and its tokenizer are saved in one
file, which `tinytorch.text.load_gpt` loads and `tito milestone run gpt` then writes with.
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
# options = true
# plays = ["--model", "--prompt", "--page", "--temperature", "--top-p", "--tokens"]
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
import os
import re
import sys
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
from gpt_attention import attention_weights, heads_of
from gpt_pictures import draw_gpts
from gpt_play import Options, options, play  # noqa: F401  tito calls `play`
from gpt_screen import Screen, say
from gpt_training import (
    BITS,
    TRIED,
    Settings,
    best_first,
    character_counts,
    check_texts,
    going_on_with,
    known_words,
    place,
    sample_lines,
    settings_for,
    split_text,
    train,
)

from tinytorch.core.embeddings import NGram
from tinytorch.core.losses import cross_entropy
from tinytorch.core.tokenization import CharTokenizer
from tinytorch.core.training import evaluation_mode
from tinytorch.core.transformers import causality_leak, held_out_bits
from tinytorch.data.gpt_files import load_gpt, save_gpt
from tinytorch.data.texts import load_text

BRIEF = 6  # epochs of the model for comparison
SAMPLES = 6  # of a model's text, while it learns
LINES = 10  # that a model writes in the end
SENTENCE = '"My dear Emma," said Mr. Knightley, "I am very happy," and he smiled'
ENOUGH = 300_000  # characters of a text, from which a model learns more than to recite
NEAR = 2  # tokens of the short context


def learn(name, settings, seed, levels, kept=None):
    """Train a model, and show its progress; returns (Trainer, Corpus).

    levels  {name: bits per character}, what it is compared with
    kept    the name of the file in which the run is saved; None to save nothing
    """
    screen = Screen(settings.epochs * settings.steps, levels)
    between = max(1, settings.epochs // SAMPLES)  # epochs between two samples

    def report(trainer, text):
        if trainer.epoch % between == 0:
            prompt, rng = opening(text.test), np.random.default_rng(seed)
            lines = sample_lines(trainer.model, text.tokenizer, 8, 32, rng, prompt=prompt)
            screen.print(f"{trainer.epoch * settings.steps:6,}: {max(lines, key=len)}")
        screen.show(trainer.epoch * settings.steps, trainer.history[BITS][-1])

    what = "Tokens" if name in ("byte pairs", "characters") else "Model"
    print()
    say(
        f"{what}: {name}. It continues the same words after every {between * settings.steps} "
        f"steps; shown is the longest of 8 lines. Its score on a sample of the text, {TRIED:,} "
        f"characters at most, follows every {settings.steps} steps:"
    )
    trainer, text = train(settings, place(kept) if kept else None, seed, report)
    if trainer.epoch < settings.epochs:
        best = settings.steps * (1 + int(np.argmin(trainer.history[BITS])))
        screen.print(f"The score has not fallen since step {best:,}:")
        screen.print("the model has begun to recite. The weights of that step are kept.")
    return trainer, text


def opening(text):
    """The first three words of the first whole line of 8 words or more, or of the longest line.

    >>> opening("the end of a text\\nCHAPTER XV\\nThis letter must make its way to her ears.")
    'This letter must'
    """
    lines = text.split("\n")[1:] or [text]
    paragraphs = [line for line in lines if len(line.split()) >= 8] or [max(lines, key=len)]
    return " ".join(paragraphs[0].split()[:3]) or "\n"


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
    entropies = []
    for weights in attention_weights(model, windows[:, :-1]):
        last = weights[:, :, -1]  # the weights of the last token
        entropy = -(last * np.log(last + 1e-12)).sum(-1).mean()
        entropies.append(entropy / math.log(model.context))
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
    parser = Options(
        prog="tito milestone run gpt",
        description=__doc__.split("\n\n")[0],
        epilog=options().format_help(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--text",
        action="extend",
        nargs="+",
        default=[],
        metavar="FILE",
        help="learn from these texts, in UTF-8, instead of the novels",
    )
    parser.add_argument(
        "--from",
        dest="start",
        metavar="MODEL",
        help="go on with this GPT, such as modules/milestones/gpt.npz, instead of a new one",
    )
    parser.add_argument(
        "--characters", action="store_true", help="one token for each character"
    )
    parser.add_argument(
        "--without",
        choices=["norm", "residual", "positions", "mask"],
        default="",
        help="leave out a part of the model",
    )
    chosen = parser.parse_args(words)
    if problem := check_texts(chosen.text):
        parser.error(problem)
    if chosen.start and (chosen.characters or chosen.without or not chosen.text):
        parser.error("--from needs --text, and no other option: the model is as it was made")
    return chosen


def run(seed=0, words=()):
    """Train with byte pairs and, more briefly, with characters; returns (measured, figure)."""
    chosen = parsed(words)
    parts = split_text(chosen.text)
    settings, name = Settings(), "characters" if chosen.characters else "byte pairs"
    other, others = "characters", replace(settings, vocab_size=0, epochs=BRIEF)
    if chosen.text:
        settings, other = settings_for(chosen.text, sum(map(len, parts))), name
    if chosen.start:
        settings, before = opened(chosen.start, settings, parts)
    if chosen.characters:
        settings = replace(settings, vocab_size=0)
    if chosen.without:
        name, other = f"without {chosen.without}", "complete"
        others = replace(settings, epochs=BRIEF)
        settings = replace(others, without=chosen.without)
    known, words = levels(*parts), re.findall(r"\w+", " ".join(words))
    if chosen.text:
        expect(settings, sum(map(len, parts)))
    introduce(known)

    kept, rng = "_".join(["05_2018_gpt", *words])[:80], np.random.default_rng(seed)
    trainer, text = learn(name, settings, seed, known, kept)
    model, tokenizer = trainer.model, text.tokenizer
    file = place("_".join(["gpt", *words])[:80])
    save_gpt(file, model, tokenizer)
    samples = {name: best_first(sample_lines(model, tokenizer, LINES, 100, rng), text.train)}
    curves = {name: curve(trainer, settings)}
    measured = {
        BITS: held_out_bits(model, text.test_ids, text.characters),
        "causality leak": causality_leak(model, text.test_ids[: settings.context]),
        "sampled words that occur in the text": known_words(samples[name], text.train),
    }
    measured |= probes(model, text.test_ids)
    if name != other:
        trainer, text = learn(other, others, seed, known)
        curves[other] = curve(trainer, others)
        lines = sample_lines(trainer.model, text.tokenizer, LINES, 100, rng)
        samples[other] = best_first(lines, text.train)

    print()
    say(
        f"Each model now writes {LINES} lines. First come those that close their quotation "
        "marks, and of these the ones with the most words that occur in the text."
    )
    for name, lines in samples.items():
        print(f"\nIt writes, with {name}:", *lines, sep="\n", flush=True)
    if chosen.start:
        compare(before, state_of(model, tokenizer, parts))
    if not chosen.text:
        show_clearest_head(model, tokenizer)
    conclude(measured[BITS], known, file)
    return measured, draw_gpts(curves, known, samples)


def show_clearest_head(model, tokenizer):
    """Print what the head with the clearest pattern looks at."""
    places, (block, head), _, _ = heads_of(model, tokenizer, SENTENCE)
    share, where = places[block, head]
    print(f"\nIn the text {SENTENCE}")
    print(f"layer {block}, head {head} puts {share:.0%} of its attention on {where}.")


def opened(path, settings, parts):
    """(the settings to go on with the GPT in a file, its state before); ends the program with a
    sentence when that cannot be done.
    """
    try:
        return going_on_with(path, settings), state_of(*load_gpt(path), parts)
    except (OSError, ValueError) as error:
        sys.exit(f"--from {path}: {error}")


def state_of(model, tokenizer, parts):
    """What fine-tuning changes: the bits per character of the new text and of the novels, and
    how the model continues a prompt.
    """
    characters = character_counts(tokenizer)
    bits = {}
    for name, text in (("your text", parts[1]), ("the novels", load_text("test")[:TRIED])):
        bits[name] = held_out_bits(model, tokenizer.encode(text), characters)
    prompt, rng = opening(parts[1]), np.random.default_rng(0)
    return bits, sample_lines(model, tokenizer, 1, 32, rng, prompt=prompt)[0]


def compare(before, after):
    """Print the states of a model before and after it learned from another text."""
    print("\nbits per character   before   after")
    for name in before[0]:
        print(f"  {name:18} {before[0][name]:6.3f}  {after[0][name]:6.3f}")
    print(f"before: {before[1]}\nafter:  {after[1]}", flush=True)


def expect(settings, characters):
    """Print what a text of this length will do."""
    what = "enough for the model to learn more than to recite."
    if characters < ENOUGH:
        what = f"the model will recite parts of them. {ENOUGH:,} or more are better."
    steps = settings.epochs * settings.steps
    say(f"{characters:,} characters: {steps:,} steps at most, and {what}")
    print()


def introduce(known):
    """Print what the score is, and what others reach."""
    figures = ", ".join(f"{name} {bits:.2f}" for name, bits in known.items())
    say(
        "The score: how many bits the model needs for one character of the last 5 % of the "
        "text, which it never sees in training. Fewer is better. Others, which know the rest "
        f"of the text, need: {figures}."
    )


def conclude(bits, known, file):
    """Print what the model is better than, and what to do with it."""
    file = os.path.relpath(file)
    beaten = [f"{name} ({level:.2f})" for name, level in known.items() if bits < level]
    better = f"better than {', '.join(beaten)}" if beaten else "no better than the compressors"
    print()
    say(f"{bits:.3f} bits per character of the whole held-out text: {better}.")
    say(f"The model is saved in {file}.")
    model = "" if Path(file).stem == "gpt" else f" --model {file}"
    say(f"Write with it, and see where its heads look: tito milestone run gpt{model}")


if __name__ == "__main__":
    measured, figure = run(words=sys.argv[1:])
    print(measured)
    figure.savefig(Path(__file__).with_suffix(".png"))
