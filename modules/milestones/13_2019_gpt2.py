"""2019: GPT-2 writes, on the library that you built.

OpenAI published GPT-2 in this year: a transformer of 124 million weights, trained on 40 GB of
text from the web. The GPT of lesson 15 has the same architecture: layer normalization before
attention and before the feed-forward network, GELU in its tanh form, learned positions, and a
head that shares the weights of the embedding. So the published weights fit into your `GPT`, and
the published merges into your `Tokenizer`. Nothing is converted but the names.

It writes token by token with the key-value cache of lesson 16. Then the program measures how
many bits GPT-2 needs for one character of a novel, and, once lesson 23 is done, how many with
weights of 8 and 4 bits. GPT-2 may have read parts of the novel when it was trained. The paper
reports 1.16 and 1.17 bits per character of an encyclopedia.

`--folder FOLDER` uses files that you have: config.json, model.safetensors, vocab.json and
merges.txt, as Hugging Face publishes them, of a GPT-2 of any size.

Unlike the other milestones, this one uses all free processors: each token needs all 124
million weights once, and several processors read them faster.

Source: Radford et al., Language models are unsupervised multitask learners (2019), table 3.
"""

# /// milestone
# title = "GPT-2 runs on your code"
# needs = [
#     "tensor", "activations", "layers", "losses", "autograd", "optimizers", "training",
#     "normalization", "tokenization", "embeddings", "attention", "transformers", "generation",
# ]
# seconds = 3600
# options = true
# plays = ["--prompt", "--page", "--temperature", "--top-p", "--tokens"]
# downloads = "GPT-2, 550 MB, after it has asked"
# threads = true
# [goal]
# [at_most]
# "bits per character of a novel" = 1.5
# "logits with and without the cache, difference" = 0.05
# ///

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

import numpy as np
from gpt_play import OTHERS, Options, in_lines, out_of_range, probabilities, texts, write
from gpt_play import options as play_options

from tinytorch.core.embeddings import bits_per_character
from tinytorch.core.generation import KVCache, cached_logits, step
from tinytorch.core.losses import cross_entropy
from tinytorch.core.training import evaluation_mode
from tinytorch.data.download import data_folder
from tinytorch.data.gpt2_files import (
    GPT2_FILES,
    GPT2_LICENCE,
    GPT2_URL,
    download_gpt2,
    load_gpt2,
)
from tinytorch.data.texts import load_text
from tinytorch.support.checkpoints import CheckpointError

PROMPTS = (
    "It is a truth universally acknowledged, that a single man in possession of a good fortune",
    "The most important thing to know about a neural network is that",
    "def fibonacci(n):\n",
)
TOKENS = 60  # that are written after each prompt
CHUNK = 256  # tokens that are scored at once: more need more memory
TABLES = ("embedding", "positions")
GROUP = 32  # weights that share a scale in 4 bits


def parser():
    """A parser of the options of both: of a run, and of writing."""
    found = Options(
        prog="tito milestone run gpt2",
        description=__doc__.split("\n\n")[0],
        epilog=play_options("GPT-2").format_help(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument(
        "--folder", metavar="FOLDER", help="use the files of GPT-2 in this folder"
    )
    found.add_argument("--download", action="store_true", help="download them without asking")
    return found


def parsed(words, seed):
    """The options in words, and where the files are: a Path in `.folder`, None if they are not
    there.
    """
    chosen, rest = parser().parse_known_args(words)
    chosen.seed = seed
    chosen = play_options("GPT-2").parse_args(rest, chosen)
    for name in ("temperature", "top_p", "tokens", "seed"):
        if problem := out_of_range(name, getattr(chosen, name)):
            sys.exit(problem)
    if chosen.folder and not Path(chosen.folder).is_dir():
        sys.exit(f"--folder {chosen.folder}: there is no such folder")
    chosen.folder = chosen.folder and Path(chosen.folder)
    return chosen


def downloaded(is_agreed):
    """The folder with the published files, which are downloaded if the user agrees."""
    folder = data_folder() / "gpt2"
    missing = [name for name in GPT2_FILES if not (folder / name).is_file()]
    size = sum(GPT2_FILES[name][0] for name in missing)
    if missing:
        print(
            f"GPT-2 is not on this computer. {size / 1e6:.0f} MB will be downloaded:\n"
            f"  from  {GPT2_URL}\n  to    {folder}, for all your workspaces\n"
            f"  under {GPT2_LICENCE}. A download that is interrupted resumes.",
            flush=True,
        )
        existing = next(place for place in (folder, *folder.parents) if place.is_dir())
        if (free := shutil.disk_usage(existing).free) < size:
            sys.exit(f"{folder} has room for {free / 1e6:.0f} MB only")
        if not is_agreed and not sys.stdin.isatty():
            sys.exit("GPT-2 is not downloaded yet: tito milestone run gpt2 --download")
        if not is_agreed and input("Download it? [y/n] ").strip().lower() not in ("y", "yes"):
            sys.exit("nothing was downloaded; --folder uses files that you have")
    return download_gpt2()


def opened(chosen):
    """((model, tokenizer), folder); ends the program with a sentence when there is none."""
    try:
        folder = chosen.folder or downloaded(chosen.download)
        return load_gpt2(folder), folder
    except (OSError, CheckpointError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("stopped; the next run goes on where this one stopped")


def tokens_after(model, ids, chosen, rng):
    """As `gpt_play.tokens_after`, with the key-value cache of lesson 16."""
    ids = np.asarray(ids)[None, -model.context :]
    size = min(model.context, ids.shape[1] + chosen.tokens)
    attention = model.blocks[0].attention
    head = attention.embed_dim // attention.num_heads
    cache = KVCache(len(model.blocks), 1, attention.num_heads, size, head)
    for _ in range(chosen.tokens):
        with evaluation_mode(model):
            logits = cached_logits(model, ids, cache).data[0]
        p = probabilities(logits, chosen.temperature, chosen.top_p)
        id = int(rng.choice(len(p), p=p))
        if id == model.vocab_size - 1:  # <|endoftext|>
            return
        p = probabilities(logits, 1.0, 1.0)
        others = [int(other) for other in np.argpartition(-p, OTHERS)[: OTHERS + 1]]
        others = sorted((other for other in others if other != id), key=lambda other: -p[other])
        yield id, float(p[id]), [(other, float(p[other])) for other in others[:OTHERS]]
        ids = np.append(ids, [[id]], axis=1)


def memory():
    """The bytes of memory that this process uses, None where the system does not say."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.split("VmRSS:")[1].split()[0]) * 1024
    except (OSError, IndexError):
        return None


def demonstrate(model, tokenizer, chosen):
    """Continue each prompt; returns the tokens per second."""
    chosen.tokens, seconds = TOKENS, []
    width = min(shutil.get_terminal_size().columns, 100)
    for prompt in PROMPTS:
        rng, times = np.random.default_rng(chosen.seed), [time.perf_counter()]

        def drawn(prompt=prompt, rng=rng, times=times):
            ids = tokenizer.encode(prompt)
            for text, p, _ in texts(tokenizer, tokens_after(model, ids, chosen, rng)):
                times.append(time.perf_counter())
                yield text, p

        print(f"\n{prompt}", end="", flush=True)
        for text, _ in in_lines(drawn(), len(prompt.rpartition("\n")[2]) % width, width):
            print(text, end="", flush=True)
        print()
        seconds += np.diff(times)[1:].tolist()  # the first one reads the prompt
    weights = sum(p.data.nbytes for p in model.parameters())
    used, speed = memory(), float(1 / np.median(seconds)) if seconds else 0.0
    print(f"\n{speed:.1f} tokens per second; the weights are {weights / 1e6:.0f} MB", end="")
    print(f", the whole program uses {used / 1e6:.0f} MB of memory." if used else ".")
    return speed


def cache_difference(model, ids):
    """The largest difference of logits between `step`, with its cache, and the whole GPT."""
    ids, cache = np.asarray(ids)[None, :24], KVCache.for_model(model)
    with evaluation_mode(model):
        parts = [step(model, part, cache).data for part in np.array_split(ids, 3, axis=1)]
        return float(np.abs(np.concatenate(parts, axis=1) - model(ids).data).max())


def bits_of(model, tokenizer, text):
    """Bits per character of the beginning of a text, as long as the model's context."""
    ids = tokenizer.encode(text[: 9 * model.context])[: model.context]
    cache, nats = KVCache.for_model(model), 0.0
    with evaluation_mode(model):
        for start in range(0, len(ids) - 1, CHUNK):
            known, wanted = ids[start : start + CHUNK], ids[start + 1 : start + CHUNK + 1]
            logits = step(model, known[None, : len(wanted)], cache)[0]
            nats += cross_entropy(logits, wanted, reduction="sum").item()
    return bits_per_character(nats, len(tokenizer.decode(ids[1:])))


def rounded(model):
    """Yields (bits, model, its bytes) of the model with 8 and with 4 bits for a weight, made by
    lesson 23.
    """
    from tinytorch.core.quantization import quantize_model, size_of

    for bits in (8, 4):
        small = quantize_model(model, bits, skip=TABLES if bits == 4 else (), group=GROUP)
        small = quantize_model(small, 8) if bits == 4 else small
        yield bits, small, size_of(small)


def compare(model, tokenizer):
    """Print the bits per character with weights of 32 bits and fewer; returns the first."""
    text = load_text("test").partition("\n")[2]
    exact = bits_of(model, tokenizer, text)
    weights = sum(p.data.nbytes for p in model.parameters())
    print("\nBits per character of the last chapters of Emma:")
    print(f"  32 bits  {weights / 1e6:4.0f} MB  {exact:.3f}", flush=True)
    try:
        for bits, small, size in rounded(model):
            found = bits_of(small, tokenizer, text)
            print(f"  {bits:2} bits  {size / 1e6:4.0f} MB  {found:.3f}", flush=True)
    except (ImportError, NotImplementedError):
        print("   8 and 4 bits: with lesson 23, quantization, which is not done yet")
    return exact


def run(seed=0, words=()):
    """Write with GPT-2, and measure it; returns (measured, no figure)."""
    chosen = parsed(words, seed)
    (model, tokenizer), folder = opened(chosen)
    count = sum(p.size for p in model.parameters())
    print(f"{count:,} weights from {folder}, in {len(model.blocks)} blocks of your GPT.")
    speed = demonstrate(model, tokenizer, chosen)
    difference = cache_difference(model, tokenizer.encode(PROMPTS[0] + PROMPTS[1]))
    measured = {
        "bits per character of a novel": compare(model, tokenizer),
        "logits with and without the cache, difference": difference,
        "tokens per second": speed,
    }
    place = f" --folder {os.path.relpath(folder)}" * bool(chosen.folder)
    print(f"\nWrite with it: tito milestone run gpt2{place}{' --prompt TEXT' * bool(place)}")
    if not place:
        print(
            "This is the end of the road. It began with one number that learned from its\n"
            "derivative, and everything between that and this text is in your files."
        )
    return measured, None


def play(words=(), seed=0):
    """Write: once with `--prompt`, else after each line that is typed."""
    chosen = parsed(words, seed)
    (model, tokenizer), folder = opened(chosen)
    write(model, tokenizer, chosen, folder, tokens_after)


if __name__ == "__main__":
    print(run(words=sys.argv[1:])[0])
