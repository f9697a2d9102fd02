"""What lesson 23 draws and measures: grids of integers, errors, sizes and times; and the texts of a
GPT whose weights are rounded.
"""

import copy
import re
from time import perf_counter, process_time

import numpy as np

from tinytorch.data.texts import load_text
from tinytorch.pictures.drawing import panel
from tinytorch.pictures.tokenization import draw_boxes
from tinytorch.support.svg import Drawing

# A text from a rounded model, before the lesson's own functions are written


def rounded_texts(prompt, widths, tokens=40, seed=2, model=None):
    """How the small GPT continues a prompt when its matrices are rounded.

    widths  list of bits per weight; each matrix has one scale. 32: the weights stay as they are
    seed    of the draws, which are the same for each text
    model   a GPT whose weights are used as they are, in place of the small GPT
    returns {bits: text, without line breaks}
    """
    from tinytorch.data.gpt_files import load_small_gpt  # late: needs lessons of the course

    small, tokenizer = load_small_gpt()
    start = tokenizer.encode(prompt)[None]
    return {
        bits: continued(model or rounded_copy(small, bits), tokenizer, start, tokens, seed)
        for bits in widths
    }


def rounded_copy(model, bits):
    """A copy of a model whose matrices are rounded, with one scale for each; itself for 32 bits."""
    if bits == 32:
        return model
    model = copy.deepcopy(model)
    for p in model.parameters():
        if p.ndim == 2:
            scale = np.abs(p.data).max() / (2 ** (bits - 1) - 1)
            p.data = np.float32(np.rint(p.data / scale) * scale)
    return model


def continued(model, tokenizer, ids, tokens, seed, temperature=0.7):
    """The text `ids` of shape (1, T) and `tokens` more tokens, drawn from the model."""
    from tinytorch.core.training import evaluation_mode

    rng = np.random.default_rng(seed)
    with evaluation_mode(model):
        for _ in range(tokens):
            logits = model(ids[:, -model.context :]).data[0, -1] / temperature
            p = np.exp(logits - logits.max())
            new = np.searchsorted(p.cumsum(), rng.random() * p.sum())
            ids = np.append(ids, [[new]], axis=1)
    text = " ".join(tokenizer.decode(ids[0]).split())
    return text.encode("ascii", "replace").decode()  # bytes that are no text become "?"


def draw_texts(texts):
    """Texts of a model, each word in a box: hatched when the word is in neither novel.

    texts    {heading: text}
    returns  a Drawing

    >>> draw_texts({"2 bits": "She ??"}).description
    '2 bits: 1 of 2 words are in neither novel'
    """
    known = set(words_of(load_text("train") + load_text("test")))
    rows, counts = {}, []
    for label, text in texts.items():
        rows[label], wrong = [], 0
        for word in text.split():
            right = known.issuperset(words_of(word) or [""])
            wrong += not right
            word = "".join(c if c.isprintable() else "?" for c in word)
            short = word if len(word) <= 16 else word[:15] + "…"
            rows[label].append((short, "value" if right else "wrong"))
        counts.append(f"{label}: {wrong} of {len(rows[label])} words are in neither novel")
    return draw_boxes("generated texts, word by word", rows, "; ".join(counts))


def words_of(text):
    """The words of a text, in lower case."""
    return re.findall("[a-z]+", text.lower())


# Times


def milliseconds(calls, rounds=7, least=0.01):
    """The median CPU time of each of several calls, in milliseconds.

    calls   list of functions without arguments; each round calls all of them, one after the other
    least   seconds: a shorter call is repeated so often that it takes about this long, because the
            clock of the CPU time can be coarse
    """
    repeats = []
    for call in calls:
        call()  # the first call is slower: memory is new, caches are cold
        start = perf_counter()
        call()
        repeats.append(1 + min(1000, int(least / max(perf_counter() - start, 1e-6))))
    times = np.zeros((rounds, len(calls)))
    for row in times:
        for i, (call, repeat) in enumerate(zip(calls, repeats)):
            start = process_time()
            for _ in range(repeat):
                call()
            row[i] = 1000 * (process_time() - start) / repeat
    return np.maximum(np.median(times, axis=0), 1e-6).tolist()


# Pictures


def bits_saved(curve, reference):
    """How many bits per weight fewer a curve needs than another one with the same loss.

    curve, reference  lists of (real bits per weight, bits per character lost > 0). The logarithm
                      of the reference's loss is interpolated between its points
    returns           list of float, one for each point of the curve, with two decimals
    """
    bits, losses = np.array(sorted(reference)).T
    real, lost = np.array(curve).T
    same = np.interp(-np.log(lost), -np.log(losses), bits)
    return (same - real).round(2).tolist()


def draw_grid(numbers, scale, largest):
    """A histogram of numbers, and the numbers that integers from -largest to largest stand for."""
    figure, axes = panel("", "weight", "weights")
    counts, _, _ = axes.hist(numbers, 32, color="C0")
    grid = np.arange(-largest, largest + 1)
    low = -0.12 * counts.max()
    axes.plot(grid * scale, np.full(len(grid), low), "|", color="C1", markersize=16, mew=2)
    for q in grid[:: max(1, largest // 7)]:
        axes.annotate(str(q), (q * scale, low), (0, -11), color="C1", ha="center", va="top",
                      textcoords="offset points", fontsize=11)  # fmt: skip
    axes.set_ylim(bottom=2.6 * low)
    axes.set_yticks([tick for tick in axes.get_yticks() if 0 <= tick <= counts.max()])
    return figure


def draw_byte(pair):
    """Two integers from -8 to 7 in the two halves of a byte; the first one is in the right half."""
    nibbles = [q & 15 for q in pair]
    drawing = Drawing(
        "two numbers in a byte",
        f"{pair[1]} in the upper four bits, {pair[0]} in the lower four bits",
        height=150,
    )
    for half, (q, nibble) in enumerate(zip(pair, nibbles)):
        left = 30 + 160 * (1 - half)
        kind = "value" if half == 0 else "gradient"
        for i, bit in enumerate(f"{nibble:04b}"):
            drawing.cell(left + 36 * i, 44, bit, kind, 36, 36)
        name = f"q[{half}] = {q}"
        note = f"written as {nibble}"
        drawing.text(left + 72, 30, name, kind)
        drawing.text(left + 72, 104, note, "muted")
    drawing.text(
        182, 138, f"byte: {nibbles[1]} · 16 + {nibbles[0]} = {nibbles[1] * 16 + nibbles[0]}"
    )
    return drawing


def draw_sensitivity(losses):
    """Bits per character lost when one matrix is quantized, as bars.

    losses  {path: float}
    """
    figure, axes = panel("", "bits per character lost", "", height=0.8 + 0.34 * len(losses))
    values = list(losses.values())
    axes.barh(range(len(values)), values, 0.7, color="C0")
    for place, value in enumerate(values):
        axes.annotate(f" {round(value, 3) + 0.0:.3f}", (max(value, 0), place), va="center")
    axes.set_yticks(range(len(values)), list(losses))
    axes.set_xlim(0, 1.25 * max(values))
    axes.invert_yaxis()
    return figure


def draw_errors(ratios):
    """Two ratios of errors for each matrix, GPTQ to plain rounding: of the weights and the outputs.

    ratios  {path: (ratio of the weights' errors, ratio of the outputs' errors)}
    """
    figure, axes = panel("", "squared error, GPTQ / rounding", "", xscale="log",
                         height=1.0 + 0.42 * len(ratios))  # fmt: skip
    weights, outputs = zip(*ratios.values())
    places = np.arange(len(ratios))
    axes.hlines(places, outputs, weights, color="C3", linewidth=1)
    axes.plot(outputs, places, "o", color="C0", markersize=8)
    axes.plot(weights, places, "o", color="C1", markersize=8)
    axes.axvline(1, color="C3", linestyle=":")
    for values, name, side in ((outputs, "outputs", "right"), (weights, "weights", "left")):
        colour = "C0" if side == "right" else "C1"
        axes.annotate(name, (values[0], 0), (0, 9), color=colour, ha=side,
                      textcoords="offset points")  # fmt: skip
    axes.set_yticks(places, list(ratios))
    ticks = [0.3, 0.5, 1, 2, 5, 10]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlim(left=0.2)  # room for the word "outputs"
    axes.set_ylim(len(ratios) - 0.5, -0.9)
    return figure


def draw_tradeoff(curves):
    """Bits per character lost against real bits per weight.

    curves  {name: list of (real bits per weight, bits per character lost)}; losses below 0.001 are
            drawn as 0.001
    """
    figure, axes = panel("", "real bits per weight", "bits per character lost", yscale="log",
                         height=3.8)  # fmt: skip
    for (name, points), colour in zip(curves.items(), ("C3", "C2", "C0", "C1")):
        bits, losses = zip(*points)
        losses = np.maximum(losses, 1e-3)
        axes.plot(bits, losses, colour, marker="o", markersize=5)
    axes.legend(list(curves), loc="upper right", labelcolor="linecolor",
                handlelength=1)  # fmt: skip
    return figure


def draw_triangle(versions):
    """Size, quality and time of several versions of a model, as bars.

    versions  {name: (kilobytes, bits per character, milliseconds)}
    """
    figure, axes = panel("", "", "", height=3.4)
    kinds = ["kilobytes", "bits per\ncharacter", "milliseconds"]
    names, rows = list(versions), np.array(list(versions.values()))
    width = 0.8 / len(names)
    for i, (name, colour) in enumerate(zip(names, ("C3", "C0", "C1"))):
        places = np.arange(3) + (i - (len(names) - 1) / 2) * width
        axes.bar(places, rows[i] / rows.max(axis=0), 0.9 * width, color=colour, label=name)
        for place, value, share in zip(places, rows[i], rows[i] / rows.max(axis=0)):
            axes.annotate(f"{value:.3g}", (place, share), (0, 3), ha="center", color=colour,
                          textcoords="offset points", fontsize=11)  # fmt: skip
    axes.set_xticks(range(3), kinds)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_ylim(0, 1.35)
    axes.legend(ncols=len(names), loc="upper center", labelcolor="linecolor", handlelength=1)
    return figure


def draw_straight_through(scale, largest):
    """Rounding as a staircase, and the function whose derivative the gradient uses."""
    figure, axes = panel("", "x", "rounded x")
    reach = scale * (largest + 1.5)
    x = np.linspace(-reach, reach, 1001)
    axes.plot(x, np.clip(np.rint(x / scale), -largest, largest) * scale, "C0")
    edge = scale * (largest + 0.5)
    axes.plot(x, np.clip(x, -edge, edge), "C1--")
    axes.annotate("rounding:\nderivative 0", (scale * 0.5, -scale * 0.15), color="C0", va="top")
    axes.annotate(
        "straight through:\nderivative 1, 0 outside", (-reach, edge), color="C1", va="top"
    )
    return figure
