"""Write with a trained GPT: type the beginning of a text, and the model continues it.

The program only needs the lessons that the GPT itself needs: it draws the tokens itself, and
computes the whole context again for each one. Lesson 16 does the same faster, with a cache, and
milestone 13 writes with it.
"""

import argparse
import codecs
import contextlib
import itertools
import json
import os
import shutil
import sys
import textwrap
from pathlib import Path

import numpy as np

from gpt_attention import look, looked
from gpt_page import serve
from gpt_screen import WIDEST, say
from gpt_training import place
from tito.safe_text import spelled
from tinytorch.core.training import predict
from tinytorch.data.gpt_files import load_gpt
from tinytorch.support.checkpoints import CheckpointError

OTHERS = 3  # other likely tokens that the page shows
COLOURS = {"34": 0.5, "36": 0.1, "33": 0.02, "31": 0.0}  # {ANSI colour: its least probability}
HELP = {
    "/temperature 0.8": "below 1: more often the likely tokens, at 0 only those; above 1: more "
    "surprises",
    "/top-p 0.95": "draw only from the likeliest tokens, which together have this probability",
    "/tokens 100": "how many tokens to write",
    "/seed 0": "begin the random numbers again",
    "/look TEXT": "where each attention head looks in this text, as a picture",
    "/help": "this text",
}


def show_help():
    """Print what can be typed, with lines as long as the terminal is wide."""
    say("Type the beginning of a text and press Enter. Ctrl-C stops the model; Ctrl-D ends.")
    width = max(40, min(shutil.get_terminal_size().columns - 1, WIDEST))
    for command, text in HELP.items():
        print(
            textwrap.fill(
                text, width, initial_indent=f"  {command:19}", subsequent_indent=" " * 21
            )
        )


class Options(argparse.ArgumentParser):
    """A parser whose errors are one sentence."""

    def error(self, message):
        sys.exit(message)


def options(name="the GPT that you trained"):
    """A parser of the options with which `tito milestone run gpt` writes.

    name  of the model; only one that you trained can be another file
    """
    parser = Options(
        usage=argparse.SUPPRESS,
        description=f"Write with {name}:",
        add_help=False,
    )
    if "trained" in name:
        parser.add_argument("--model", metavar="FILE", help="default: the GPT of the milestone")
    parser.add_argument("--prompt", metavar="TEXT", help="continue this text once, and end")
    parser.add_argument("--page", action="store_true", help="write on a page in the browser")
    for name, kind, default, letter, words in [
        (
            "--temperature",
            float,
            0.8,
            "T",
            "below 1: more often the likely tokens; 0: only those",
        ),
        ("--top-p", float, 0.95, "P", "draw from the likeliest tokens with this probability"),
        ("--tokens", int, 100, "N", "how many tokens to write"),
    ]:
        words = f"{words} (default: {default})"
        parser.add_argument(name, type=kind, default=default, metavar=letter, help=words)
    parser.add_argument(  # read by tito, and only described here
        "--seed", type=int, default=argparse.SUPPRESS, metavar="S",
        help="of the random numbers (default: 0)",
    )  # fmt: skip
    parser.add_argument(
        "--json", action="store_true", help="print the tokens and their probabilities as JSON"
    )
    return parser


def parsed(words, seed):
    parser = options()
    chosen = parser.parse_args(words, argparse.Namespace(seed=seed))
    for name in ("temperature", "top_p", "tokens", "seed"):
        if problem := out_of_range(name, getattr(chosen, name)):
            parser.error(problem)
    return chosen


def out_of_range(name, value):
    """What is wrong with a setting, as a sentence; "" if nothing is."""
    low, high = {
        "temperature": (0, 10),
        "top_p": (0.01, 1),
        "tokens": (1, 10_000),
        "seed": (0, 2**32),
    }[name]
    if low <= value <= high:
        return ""
    said = f"{value:g}" if isinstance(value, float) else value  # an int may be too large for g
    return f"{name.replace('_', '-')} is a number from {low:,} to {high:,}, not {said}"


def probabilities(logits, temperature, top_p):
    """The distribution from which a token is drawn.

    logits       (V,)
    temperature  divides the logits; at 0 only the likeliest token is left
    top_p        keep only the likeliest tokens: the fewest whose probabilities add up to this

    >>> probabilities(np.log([0.5, 0.3, 0.2]), 1.0, 0.7).round(3).tolist()
    [0.625, 0.375, 0.0]
    """
    if temperature == 0:
        return np.eye(len(logits))[np.argmax(logits)]
    logits = np.asarray(logits, np.float64) / temperature
    p = np.exp(logits - logits.max())
    p /= p.sum()
    order = np.argsort(-p)
    before = np.cumsum(p[order]) - p[order]  # the probability of the likelier tokens
    p[order[before >= top_p]] = 0
    return p / p.sum()


def tokens_after(model, ids, chosen, rng):
    """Draw `chosen.tokens` tokens after `ids`; yields (id, its probability in the model, the
    likeliest other ids with theirs).
    """
    ids = [*ids]
    for _ in range(chosen.tokens):
        logits = predict(model, np.array([ids[-model.context :]]))[0, -1]
        p = probabilities(logits, chosen.temperature, chosen.top_p)
        id = int(rng.choice(len(p), p=p))
        p = probabilities(logits, 1.0, 1.0)
        others = [int(other) for other in np.argsort(-p)[: OTHERS + 1] if other != id]
        yield id, float(p[id]), [(other, float(p[other])) for other in others[:OTHERS]]
        ids.append(id)


def texts(tokenizer, drawn):
    """(text, probability, other texts with theirs) of each token; a character of several tokens
    comes with the last. A model may be another person's, so what would move the cursor is shown
    as an escape.
    """

    def alone(id):
        return spelled(tokenizer.token(id).decode("utf-8", "replace"))

    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for id, p, others in drawn:
        likely = [(alone(other), share) for other, share in others]
        yield spelled(decoder.decode(tokenizer.token(id))), p, likely
    if rest := decoder.decode(b"", final=True):
        yield rest, 1.0, []


def continuation(model, tokenizer, prompt, chosen, rng, draw=None):
    """What `texts` yields of each token after a prompt, as they are drawn.

    draw  what draws the tokens, in place of `tokens_after`

    Raises ValueError for a character that the tokenizer does not know.
    """
    ids = tokenizer.encode(prompt or "\n")
    return texts(tokenizer, (draw or tokens_after)(model, ids, chosen, rng))


def in_lines(drawn, column, width):
    """(text, probability) of each token, with line ends so that a terminal breaks no word. The
    tokens of a word come when the word is complete.

    column  where the first token will stand
    width   of the terminal, in characters

    >>> "".join(text for text, _ in in_lines([(" some", 1), (" wo", 1), ("rds", 1)], 2, 10))
    ' some\\nwords'
    """
    word = []
    for text, p in itertools.chain(drawn, [(" ", 1.0)]):  # what ends the last word
        if word and text[:1].isspace():
            whole = "".join(part for part, _ in word)
            if whole.startswith(" ") and column + len(whole.rstrip()) > width:
                word[0] = ("\n" + word[0][0][1:], word[0][1])
                whole = "\n" + whole[1:]
            yield from word
            _, line_end, last = whole.rpartition("\n")
            column = len(last) if line_end else column + len(whole)
            word = []
        word.append((text, p))


def shaded(text, p):
    """A token in the colour of its probability."""
    colour = next(colour for colour, least in COLOURS.items() if p >= least)
    return f"\x1b[{colour}m{text}\x1b[0m"


def play(words=(), seed=0):
    """Load the model, and write: once with `--prompt`, else after each line that is typed."""
    chosen = parsed(words, seed)
    path = Path(chosen.model) if chosen.model else place("gpt")
    try:
        model, tokenizer = load_gpt(path)
    except OSError:
        how = "" if chosen.model else ": train one with tito milestone run gpt --again"
        sys.exit(f"there is no model {path}{how}")
    except CheckpointError as error:
        sys.exit(str(error))
    write(model, tokenizer, chosen, path)


def write(model, tokenizer, chosen, path, draw=None):
    """Continue one prompt, or those that are typed here or on a page.

    path  of the model's file or folder, beside which a picture is saved
    draw  see `continuation`
    """

    def continued(prompt, chosen, rng):
        return continuation(model, tokenizer, prompt, chosen, rng, draw)

    if chosen.page:
        serve(continued, chosen, out_of_range, lambda text: looked(model, tokenizer, text))
        return
    rng = np.random.default_rng(chosen.seed)
    if chosen.prompt is not None or chosen.json or not sys.stdin.isatty():
        prompt = sys.stdin.read() if chosen.prompt is None else chosen.prompt
        answer(continued, prompt.rstrip("\n"), chosen, rng)
        return
    with contextlib.suppress(ImportError):  # Windows has none
        import readline  # noqa: F401  gives `input` a history

    colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    name, size = os.path.relpath(path), tokenizer.vocab_size
    say(f"{name}: {size:,} tokens, {model.context} of context.")
    show_help()
    if colours:
        parts = [shaded(f"from {least:.0%}", least) for least in COLOURS.values()]
        print(f"The colour of a token is its probability:\n{', '.join(parts)}.")
    while True:
        try:
            line = input("\n> ")
        except KeyboardInterrupt:
            continue
        except EOFError:
            print()
            return
        if line.startswith("/look"):
            picture = os.path.relpath(path.with_name(f"{path.stem}_attention.png"))
            look(model, tokenizer, line.removeprefix("/look").strip(), picture)
        elif line.startswith("/"):
            rng = change(line, chosen, rng)
        elif line:
            answer(continued, line, chosen, rng, colours)


def change(line, chosen, rng):
    """Carry out a line such as "/top-p 0.9"; returns the generator to go on with."""
    name, _, value = line[1:].partition(" ")
    name = name.replace("-", "_")
    if name not in ("temperature", "top_p", "tokens", "seed"):
        show_help()
        return rng
    try:
        number = (int if name in ("tokens", "seed") else float)(value)
        problem = out_of_range(name, number)
    except ValueError:
        problem = f"{line.split()[0]} needs a number, such as {line.split()[0]} 1"
    if problem:
        print(problem)
        return rng
    setattr(chosen, name, number)
    print(name.replace("_", "-"), value)
    return np.random.default_rng(number) if name == "seed" else rng


def answer(continued, prompt, chosen, rng, colours=False):
    """Continue a prompt, and print each token as it is drawn; Ctrl-C stops."""
    try:
        drawn = continued(prompt, chosen, rng)
    except ValueError as error:  # a character that this tokenizer does not know
        print(error)
        return
    if chosen.json:
        tokens = [{"text": text, "probability": round(p, 6)} for text, p, _ in drawn]
        text = prompt + "".join(token["text"] for token in tokens)
        value = {"prompt": prompt, "text": text, "tokens": tokens}
        print(json.dumps(value, ensure_ascii=False))
        return
    print(prompt, end="", flush=True)
    drawn = ((text, p) for text, p, _ in drawn)
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
        drawn = in_lines(drawn, len(prompt.rpartition("\n")[2]) % width, width)
    try:
        for text, p in drawn:
            print(shaded(text, p) if colours else text, end="", flush=True)
    except KeyboardInterrupt:
        pass
    print()
