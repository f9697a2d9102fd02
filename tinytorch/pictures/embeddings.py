"""What lesson 13 draws: language models as counts, windows, lookups and recurrence, and how well
they predict; and batches of first names.
"""

import numpy as np

from tinytorch.pictures.drawing import label_ends, panel
from tinytorch.support.svg import WIDTH, Drawing

# First names


def padded_batch(names, end=0):
    """Names of unequal length as arrays with a row for each name.

    names    list of int arrays, without the id `end`
    returns  x, y, mask of shape (names, 1 + longest): x begins with `end`, y is x one place
             later; mask is 1 (float32) where y is part of the name or its end, 0 behind it

    >>> padded_batch([[5, 6], [7]])[1]
    array([[5, 6, 0],
           [7, 0, 0]])
    """
    longest = 1 + max(map(len, names))
    x = np.full((len(names), longest + 1), end, np.int64)
    mask = np.zeros((len(names), longest), np.float32)
    for row, name in enumerate(names):
        x[row, 1 : len(name) + 1] = name
        mask[row, : len(name) + 1] = 1
    return x[:, :-1], x[:, 1:], mask


def sample_name(logits_after, rng, end=0, longest=20):
    """Token ids drawn one after the other from a model, until it draws `end`.

    logits_after  function of the list of ids so far, `end` at first; returns logits (V,)
    rng           a NumPy Generator
    longest       stop after so many
    returns       list of int, without `end`

    >>> sample_name(lambda ids: [0.0, 99.0] if len(ids) < 4 else [99.0, 0.0],
    ...             np.random.default_rng(0))
    [1, 1, 1]
    """
    ids = [end]
    while len(ids) <= longest:
        p = np.asarray(logits_after(ids), np.float64)
        p = np.exp(p - p.max())
        ids.append(int(rng.choice(len(p), p=p / p.sum())))
        if ids[-1] == end:
            return ids[1:-1]
    return ids[1:]


# Language models

MARGIN = 10  # pixels at each side
# What the models of lesson 13 reach on names that they have not seen, in bits per character, and
# names that they made up. A test trains them again.
MODELS = [
    ("all letters alike", 4.75, "wfukdvg, qjzqxbn, ayb"),
    ("bigrams", 3.41, "sha, cesa, weashar"),
    ("window of 4 letters", 3.01, "luona, brida, lorelta"),
    ("recurrent network", 2.93, "jandira, bracy, tamina"),
    ("4-grams, interpolated", 2.86, "hora, nia, howana"),
]
# Bits per character of the end of the novels, when a compressor is given the rest: how many bytes
# longer the compressed text becomes. A test compresses them again (xz is lzma with
# preset=9 | PRESET_EXTREME).
COMPRESSORS = {"zlib": 2.84, "xz": 2.10, "bz2": 1.85}


def draw_models(models):
    """A bar for each model, and names that it made up.

    models   list of (label, bits per character, text)
    returns  a Drawing

    >>> draw_models([("counts", 3.5, "ann, bo")]).description
    'counts: 3.50 bits per character; ann, bo'
    """
    drawing = Drawing(
        "language models of names",
        ". ".join(
            f"{label}: {bits:.2f} bits per character; {text}" for label, bits, text in models
        ),
        height=66 * len(models) + 8,
    )
    unit = (WIDTH - 2 * MARGIN - 44) / max(bits for _, bits, _ in models)
    for k, (label, bits, text) in enumerate(models):
        y = 66 * k + 20
        drawing.text(MARGIN, y, label, "text", "start", bold=True)
        drawing.text(WIDTH - MARGIN, y, text, "muted", "end")
        drawing.cell(MARGIN, y + 8, "", "value", unit * bits, 20)
        drawing.text(MARGIN + unit * bits + 6, y + 23, f"{bits:.2f}", "text", "start")
    return drawing


def draw_bigrams(counts, characters):
    """A table of bigram counts as an image: darker squares are more frequent.

    counts      int array (V, V), a row for the character before
    characters  str of V characters; "\\n" is written as a dot
    returns     a matplotlib Figure

    >>> figure = draw_bigrams([[0, 2], [5, 0]], "ab")
    >>> [label.get_text() for label in figure.axes[0].get_xticklabels()]
    ['a', 'b']
    """
    shown = [character.replace("\n", "·") for character in characters]
    figure, axes = panel("", "after", "before", height=5.6)
    axes.imshow(np.log1p(counts), cmap="Blues", aspect="auto")
    axes.set_xticks(range(len(shown)), shown)
    axes.set_yticks(range(len(shown)), shown)
    axes.tick_params(length=0, labelsize=13)
    return figure


def draw_windows(text, context, end="·"):
    """The windows of a text, one in each row, with the character that follows.

    text     str
    context  int: characters in a window
    end      what is drawn before and behind the text
    returns  a Drawing

    >>> draw_windows("ab", 2).description
    '·· before a; ·a before b; ab before ·'
    """
    padded = end * context + text + end
    rows = [(padded[i : i + context], padded[i + context]) for i in range(len(text) + 1)]
    drawing = Drawing(
        f"the windows of {text}",
        "; ".join(f"{window} before {target}" for window, target in rows),
        height=40 * len(rows) + 34,
    )
    x = (WIDTH - 36 * context - 100) / 2
    drawing.text(x + 18 * context, 18, "window", "muted")
    drawing.text(x + 36 * context + 82, 18, "next", "muted")
    for k, (window, target) in enumerate(rows):
        y = 40 * k + 28
        for i, character in enumerate(window):
            kind = "muted" if character == end else "value"
            drawing.cell(x + 36 * i, y, character, kind, 36, 32)
        drawing.arrow((x + 36 * context + 8, y + 16), (x + 36 * context + 56, y + 16))
        drawing.cell(x + 36 * context + 64, y, target, "value", 36, 32)
    return drawing


def draw_one_hot(ids, right, gradient=False):
    """A product of the one-hot rows of `ids` and a table; or of the transposed rows and gradients.

    ids       list of int
    right     rows of numbers: the table (V, D); for a gradient, the upstream gradient (n, D)
    gradient  draw the transposed product; the table then has as many rows as ids need
    returns   a Drawing

    >>> draw_one_hot([1, 1], [[2.0, 3.0], [4.0, 5.0]], gradient=True).description
    'the result is [[0, 0], [6, 8]]'
    """
    right = np.asarray(right, float)
    count = max(ids) + 1 if gradient else len(right)
    left = np.eye(count)[ids]
    left = left.T if gradient else left
    out = left @ right
    rows = max(len(left), len(right))
    drawing = Drawing(
        "a one-hot product",
        f"the result is {[[int(v) for v in row] for row in out]}",
        height=34 * rows + 46,
    )
    wide = 36 if right.shape[1] < 3 else 30
    x = MARGIN + 18
    names = range(count) if gradient else ids
    kind = "gradient" if gradient else "value"
    top = [28 + 17 * (rows - len(part)) for part in (left, right, out)]
    for k, name in enumerate(names):
        drawing.text(MARGIN + 6, top[0] + 34 * k + 22, name, "muted")
    drawing.cells(x, top[0], left, lambda i, j: "value" if left[i, j] else "muted", 28, 34)
    drawing.text(x + 14 * left.shape[1], top[0] - 10, "one-hot" + " transposed" * gradient, "muted")
    x += 28 * left.shape[1] + 24
    drawing.text(x - 12, 28 + 17 * rows + 4, "@", "text")
    drawing.cells(x, top[1], right, kind, wide, 34)
    drawing.text(x + wide * right.shape[1] / 2, top[1] - 10, "g" if gradient else "table", "muted")
    x += wide * right.shape[1] + 24
    drawing.text(x - 12, 28 + 17 * rows + 4, "=", "text")
    drawing.cells(x, top[2], out, kind, wide, 34)
    return drawing


def draw_recurrence(text, end="·"):
    """A recurrent network over a text, one column for each step.

    text     str of at most five characters
    end      what is drawn before and behind it
    returns  a Drawing

    >>> draw_recurrence("ab").description
    'step 1 reads · and predicts a; step 2 reads a and predicts b; step 3 reads b and predicts ·'
    """
    inputs, targets = end + text, text + end
    drawing = Drawing(
        f"a recurrent network that reads {text}",
        "; ".join(
            f"step {t + 1} reads {a} and predicts {b}"
            for t, (a, b) in enumerate(zip(inputs, targets))
        ),
        height=206,
    )
    step = (WIDTH - 2 * MARGIN) / (len(inputs) + 0.3)
    for t, (before, after) in enumerate(zip(inputs, targets)):
        x = MARGIN + step * (t + 0.3)
        middle = x + 17
        drawing.cell(x, 8, after, "value", 34, 32)
        drawing.arrow((middle, 84), (middle, 44))
        drawing.cell(x, 86, "h", "muted", 34, 32)
        drawing.arrow((x - step + 36 if t else MARGIN - 6, 102), (x - 3, 102))
        drawing.text((2 * x - step + 34) / 2 if t else MARGIN + 4, 95, "u", "text")
        drawing.arrow((middle, 162), (middle, 122))
        drawing.text(middle + 12, 146, "w", "text")
        drawing.cell(x, 164, before, "value", 34, 32)
    return drawing


def draw_plane(weight, characters, marked="aeiouy"):
    """Characters at the places that their vectors of two numbers give them.

    weight      array (V, 2)
    characters  str of V characters; "\\n" is written as "end"
    marked      the characters to draw in blue
    returns     a matplotlib Figure

    >>> figure = draw_plane(np.eye(2), "ab")
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['a', 'b']
    """
    weight = np.asarray(weight)
    figure, axes = panel("", "first number", "second number", height=4.0)
    axes.scatter(*weight.T, s=0)
    for (x, y), character in zip(weight, characters):
        colour = "C0" if character in marked else "C3"
        bold = "bold" if character in marked else "normal"
        name = "end" if character == "\n" else character
        axes.text(x, y, name, color=colour, weight=bold, ha="center", va="center")
    axes.margins(0.08)
    return figure


def draw_gradient_norms(norms):
    """Norms of gradients over the distance into the past, a line for each label, logarithmic.

    norms    {label: list of floats, for the distances 0, 1, ...}
    returns  a matplotlib Figure

    >>> figure = draw_gradient_norms({"a": [1.0, 0.5]})
    >>> figure.axes[0].get_yscale()
    'log'
    """
    figure, axes = panel("", "steps into the past", "norm of the gradient")
    axes.set_yscale("log")
    ends = []
    for label, values in norms.items():
        (line,) = axes.plot(range(len(values)), values)
        ends.append((len(values) - 1, values[-1], label, line.get_color()))
    longest = max(map(len, norms.values()))
    axes.set_xlim(0, 1.36 * (longest - 1))
    label_ends(axes, ends)
    return figure


def draw_sizes(counted, networks):
    """Bits per character over the numbers that a model stores.

    counted   list of (order, numbers, bits per character): n-gram models, joined by a line
    networks  list of (label, numbers, bits per character)
    returns   a matplotlib Figure

    >>> figure = draw_sizes([(1, 27, 4.0), (2, 475, 3.4)], [("window", 4000, 3.0)])
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['order 1', '2', 'window']
    """
    figure, axes = panel("", "numbers stored", "bits per character", height=4.0, xscale="log")
    _, numbers, bits = zip(*counted)
    axes.plot(numbers, bits, "o-", color="C0", lw=1)
    for order, x, y in counted:
        label = f"order {order}" if order == counted[0][0] else order
        place = {"xytext": (6, 6), "textcoords": "offset points", "color": "C0"}
        axes.annotate(label, (x, y), **place)
    for label, x, y in networks:
        axes.plot(x, y, "o", color="C1")
        place = {"xytext": (-8, -5), "textcoords": "offset points", "color": "C1"}
        axes.annotate(label, (x, y), ha="right", va="center", **place)
    axes.set_xlim(min(numbers) / 2, 2 * max(numbers))
    return figure


def draw_orders(orders, curves, levels):
    """Bits per character over the order of n-gram models, with levels to compare.

    orders   list of int
    curves   {label: list of floats, one for each order}
    levels   {label: float}: drawn as dashed lines
    returns  a matplotlib Figure

    >>> figure = draw_orders([1, 2], {"test": [4.0, 3.0]}, {"zip": 2.8})
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['zip', 'test']
    """
    figure, axes = panel("", "order of the n-gram model", "bits per character", height=4.4)
    ends = []
    for label, values in curves.items():
        (line,) = axes.plot(orders, values, marker="o", markersize=4)
        ends.append((orders[-1], values[-1], label, line.get_color()))
    for label, value in levels.items():
        axes.axhline(value, color="C3", lw=1, ls="--")
        axes.text(orders[0], value, label, color="C3", va="bottom")
    axes.set_xlim(orders[0] - 0.1, orders[-1] + 0.28 * (orders[-1] - orders[0]))
    axes.set_ylim(1, None)
    axes.set_xticks(orders)
    label_ends(axes, ends)
    return figure
