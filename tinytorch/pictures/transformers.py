"""What lesson 15 draws: predicting the next token, the residual stream of a transformer, and a
recorded run of a GPT on the novels.
"""

import numpy as np

from tinytorch.pictures.drawing import label_ends, panel
from tinytorch.pictures.embeddings import COMPRESSORS
from tinytorch.support.svg import WIDTH, Drawing

# A recorded run

# Bits per character of `load_text("test")`, by programs that know `load_text("train")`; the 6-gram
# is NGram(6) of lesson 13 on characters.
LEVELS = {**COMPRESSORS, "6-gram": 1.73}
# GPT(1024, context=64, embed_dim=128, layers=3, num_heads=4) on `load_text("train")`, with 1,024
# tokens of lesson 12: 2,600 steps of 8 windows, AdamW with learning rate 1.5e-3, betas (0.9, 0.99)
# and decay_groups(model, 0.1), clipped to norm 1, warm-up of 130 steps, cosine to 2 %; seed 0, one
# thread. (seconds of processor time, `held_out_bits` of `load_text("test")`):
RUN = [
    (0, 3.4),
    (3, 2.94),
    (6, 2.66),
    (12, 2.3),
    (18, 2.16),
    (24, 2.1),
    (35, 2.03),
    (47, 1.98),
    (60, 1.93),
    (74, 1.86),
    (89, 1.8),
    (103, 1.77),
    (117, 1.73),
    (132, 1.72),
    (147, 1.71),
    (153, 1.71),
]
# What the model wrote after so many seconds, continuing "Emma was ", at temperature 0.8, unedited.
SAMPLES = {
    6: "Emma was ast;,, which shall would must soined with\n"
    " S. Sheer other of to ha, aityarchsunt wishriight Iow; had atoned "
    "theyineds",
    24: 'Emma was illibactly Jane to acadies on, there, "I soon fortle, and '
    '"tation;ished opinently pyryed; and pointed',
    60: "Emma was Your'Harriet has been perfect for.\"\n"
    "Ificiately geting, heal promis morning!--The extres good deal of too "
    "longer",
    153: "Emma was ill.\n"
    '"You seems much in love with, how a great marriage; and I sitze to you'
    " ask indeed. Donw none of her with _me_",
}
# Its bits per token at each position, a mean over 3,200 windows of `load_text("test")`.
BY_POSITION = [
    float(bits)
    for bits in """
    5.95 5.35 5.15 5.13 5.08 5.06 5.07 5.11 5.21 5.10 5.10 5.09 5.03 5.09 5.05 4.97 5.02 5.02
    5.03 5.02 5.05 5.05 5.13 5.02 5.00 5.06 4.95 5.05 4.96 5.04 4.99 5.07 5.07 5.09 5.07 4.93
    5.00 5.07 5.04 4.99 4.98 4.98 4.90 5.00 4.99 4.99 5.05 5.09 5.03 5.08 5.08 4.97 5.10 5.06
    5.02 4.99 5.02 5.01 5.01 5.03 5.06 5.06 5.05 5.12
""".split()
]


def compressed_bits(module, train, test):
    """The bits per character that a compressor needs for `test`, given `train`.

    module   bz2, zlib or lzma

    >>> import zlib
    >>> compressed_bits(zlib, "ab" * 500, "ab" * 500) < 0.1
    True
    """
    sizes = [len(module.compress(text.encode(), 9)) for text in (train, train + test)]
    return 8 * (sizes[1] - sizes[0]) / len(test)


def plot_run(run, levels):
    """Held-out bits per character over seconds, with level lines.

    run      list of (seconds, bits per character)
    levels   {name: bits per character}
    returns  a matplotlib figure
    """
    figure, axes = panel(xlabel="seconds of processor time", ylabel="bits per character, held out")
    seconds, bits = zip(*run)
    for level in levels.values():
        axes.axhline(level, color="C3", linewidth=1, linestyle="--")
    axes.plot(seconds, bits, "C0")
    axes.set_ylim(min(bits) - 0.15, max(bits) + 0.05)
    axes.set_xlim(0, seconds[-1])
    ends = [(seconds[-1], level, f"{name} {level:.2f}", "C3") for name, level in levels.items()]
    label_ends(axes, [*ends, (seconds[-1], bits[-1], f"GPT {bits[-1]:.2f}", "C0")])
    return figure


def plot_positions(bits):
    """The mean loss at each position of a window.

    bits     list of bits per token, for positions 0, 1, 2, ...
    returns  a matplotlib figure; the second half of the window, which `held_out_bits` scores, is
             shaded
    """
    figure, axes = panel(xlabel="position in the window", ylabel="bits per token")
    axes.plot(range(len(bits)), bits)
    axes.axvspan(len(bits) / 2, len(bits) - 1, color="C3", alpha=0.15, linewidth=0)
    axes.annotate("scored", (0.75, 0.92), xycoords="axes fraction", color="C3", ha="center")
    return figure


def plot_losses(curves, smooth=1, top=None, levels=None):
    """Losses over steps, each a mean of several steps.

    curves   {name: list of losses}
    smooth   int: steps in each mean
    top      the highest loss that is shown; None for all
    levels   {name: loss}, dashed lines; or None
    returns  a matplotlib figure
    """
    figure, axes = panel(xlabel="step", ylabel="bits per character")
    last, ends = max(map(len, curves.values())), []
    for n, (name, losses) in enumerate(curves.items()):
        means = np.convolve(losses, np.ones(smooth) / smooth, "valid")
        axes.plot(np.arange(len(means)) + smooth, means, f"C{n}")
        ends.append((last, means[-1], name, f"C{n}"))
    for name, loss in (levels or {}).items():
        axes.axhline(loss, color="black", linewidth=1, linestyle="--")
        ends.append((last, loss, f"{name} {loss:.2f}", "black"))
    if top is not None:
        lowest = min(loss for _, loss, *_ in ends)
        axes.set_ylim(lowest - 0.1 * (top - lowest), top)
    axes.set_xlim(right=last)
    label_ends(axes, ends)
    return figure


def plot_shares(rows, parts):
    """Bars of equal length, each cut into the shares of its parts.

    rows     {name: list of one number per part}
    parts    names of the parts
    returns  a matplotlib figure; the names are above the bars, the parts below the first bar

    >>> figure = plot_shares({"all": [1, 3]}, ["a", "b"])
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['all', '25 %', '75 %', 'a', 'b']
    """
    figure, axes = panel(height=0.4 + 0.62 * len(rows))
    colours = ["C0", "C1", "C3"]
    for n, (name, numbers) in enumerate(rows.items()):
        axes.annotate(name, (0, n - 0.42), va="center")
        left = 0.0
        for number, colour in zip(numbers, colours):
            share = number / sum(numbers)
            axes.barh(n, share, left=left, color=colour, height=0.42)
            if share > 0.09:
                axes.annotate(
                    f"{share:.0%}".replace("%", " %"),
                    (left + share / 2, n),
                    color="white",
                    ha="center",
                    va="center",
                )
            left += share
    for place, part, colour in zip((0.0, 0.5, 1.0), parts, colours):
        ha = {0.0: "left", 0.5: "center", 1.0: "right"}[place]
        axes.annotate(part, (place, len(rows) - 0.5), color=colour, ha=ha, va="center")
    axes.set(xlim=(0, 1), ylim=(len(rows) - 0.3, -0.65))
    axes.axis("off")
    return figure


# Predicting the next token

MARGIN = 8  # pixels


def draw_shifted(tokens, start, context):
    """A text, and the inputs and targets of one window.

    tokens   list of str, at least start + context + 1
    start    the index of the first input
    context  tokens per window
    returns  a Drawing: the targets are the inputs, one place on

    >>> draw_shifted(["a", "b", "c"], 0, 2).description
    'x is a b, y is b c'
    """
    x, y = tokens[start : start + context], tokens[start + 1 : start + context + 1]
    drawing = Drawing(
        "inputs and targets",
        f"x is {' '.join(x)}, y is {' '.join(y)}",
        height=168,
    )
    size = (WIDTH - 2 * MARGIN - 36) / len(tokens)
    left = MARGIN + 36
    for row, (name, first, last, kind) in enumerate(
        [
            ("text", 0, len(tokens), "muted"),
            ("x", start, start + context, "value"),
            ("y", start + 1, start + context + 1, "gradient"),
        ]
    ):
        top = 14 + 52 * row
        drawing.text(MARGIN, top + 20, name, anchor="start", bold=True)
        for n in range(first, last):
            drawing.cell(left + n * size, top, tokens[n].strip() or "_", kind, size - 2, 30)
    for n in range(start, start + context):
        middle = left + (n + 0.5) * size
        drawing.arrow((middle, 97), (middle + size - 4, 117))
    return drawing


def draw_scored(count, context, stride):
    """The windows of a text in `held_out_bits`, and their scored targets.

    count    int: tokens of the text
    context  int: inputs per window
    stride   int: from one window to the next
    returns  a Drawing with a row per window; its targets are cells, and those scored are blue

    >>> draw_scored(7, 4, 2).description
    'window 0 scores targets 3 and 4; window 1 scores targets 5 and 6'
    """
    scored = min(stride, context - context // 2)
    starts = list(range(0, count - context, stride))
    texts = [
        f"window {n} scores targets "
        + " and ".join(str(s + context - k) for k in reversed(range(scored)))
        for n, s in enumerate(starts)
    ]
    drawing = Drawing("scored targets", "; ".join(texts), height=62 + 42 * len(starts))
    size = (WIDTH - 2 * MARGIN) / count
    for n in range(count):
        drawing.cell(MARGIN + n * size, 8, str(n), "muted", size - 2, 26)
    for row, start in enumerate(starts):
        top = 50 + 42 * row
        for n in range(start, start + context):
            kind = "value" if n + 1 > start + context - scored else "muted"
            place = MARGIN + (n + 1) * size
            drawing.cell(place, top, str(n + 1), kind, size - 2, 26, dashed=kind == "muted")
        drawing.text(MARGIN + (start + 0.5) * size - 1, top + 18, str(start), "muted")
    return drawing


def draw_dependence(changes, tokens):
    """Which predictions change when one token changes.

    changes  array (T, T): the change of the logits at position i when token j is changed
    tokens   list of T str
    returns  a Drawing: a row for each position, a column for each token. Blue: the prediction
             depends on the token, grey: it does not, red: it depends on a later token

    >>> draw_dependence([[1, 2], [1, 1]], ["a", "b"]).description
    '1 of 4 cells show a prediction that depends on a later token'
    """
    changes, count = np.asarray(changes), len(tokens)
    leaks = int((np.triu(changes, 1) > 0).sum())
    drawing = Drawing(
        "what each prediction depends on",
        f"{leaks} of {changes.size} cells show a prediction that depends on a later token",
        height=int(66 + count * 30),
    )
    left, size = 96, (WIDTH - MARGIN - 96) / count
    drawing.text(left + count * size / 2, 18, "the token that is changed")
    for j, token in enumerate(tokens):
        drawing.text(left + (j + 0.5) * size, 42, token, "muted")
        drawing.text(left - 8, 68 + j * 30, f"after {token}", "muted", "end")

    def meaning(i, j):
        if changes[i, j] == 0:
            return "muted"
        return "wrong" if j > i else "value"

    for i, j in np.ndindex(count, count):
        drawing.cell(left + j * size, 50 + i * 30, "", meaning(i, j), size - 2, 28)
    return drawing


# The residual stream

STREAM = 64  # pixels from the left: where the stream runs
BOX = 30  # pixels: the height of a box


def draw_block(embed_dim, hidden):
    """A pre-norm transformer block: the residual stream, and two branches that add to it.

    embed_dim  numbers per token in the stream
    hidden     numbers per token inside the feed-forward network
    returns    a Drawing; the stream runs from top to bottom

    >>> draw_block(8, 32).title
    'a transformer block'
    """
    drawing = Drawing(
        "a transformer block",
        f"A stream of {embed_dim} numbers per token; attention and a feed-forward network each "
        "read the normalized stream and add their result to it.",
        height=356,
    )
    drawing.text(STREAM, 20, "x", bold=True)
    branches = [
        ("norm1", "attention", ["mixes the tokens:", "each reads itself", "and those before"]),
        ("norm2", "mlp", ["each token alone:", f"{embed_dim} to {hidden} to {embed_dim}"]),
    ]
    y = 30
    for norm, layer, words in branches:
        drawing.line((STREAM, y), (STREAM, y + 130), kind="value", width=3)
        drawing.arrow((STREAM, y + 26), (114, y + 26))
        drawing.cell(116, y + 11, norm, "muted", 90, BOX)
        drawing.arrow((161, y + 41), (161, y + 61))
        drawing.cell(116, y + 62, layer, "value", 90, BOX)
        drawing.line((161, y + 92), (161, y + 130))
        drawing.arrow((161, y + 130), (STREAM + 13, y + 130))
        for n, line in enumerate(words):
            drawing.text(218, y + 66 + 17 * n, line, "muted", "start")
        plus(drawing, STREAM, y + 130)
        y += 142
    drawing.arrow((STREAM, y), (STREAM, y + 22), kind="value")
    drawing.text(8, y + 38, "the block's output", "text", "start")
    drawing.text(STREAM - 14, 90, "the", "value", "end")
    drawing.text(STREAM - 14, 106, "stream", "value", "end")
    return drawing


def plus(drawing, x, y):
    """A plus sign in a circle: two values are added."""
    drawing.dot(x, y, "value", 12)
    drawing.dot(x, y, "page", 10)
    drawing.line((x - 6, y), (x + 6, y), kind="value")
    drawing.line((x, y - 6), (x, y + 6), kind="value")


def draw_gpt(vocab_size, context, embed_dim, layers):
    """A GPT with a tied head, from token ids to logits, with the shapes in between.

    returns  a Drawing; an array of weights that is used twice is joined by a dashed line

    >>> "6 logits per position" in draw_gpt(6, 3, 8, 2).description
    True
    """
    drawing = Drawing(
        "a GPT",
        f"Token ids become rows of a table of {vocab_size} by {embed_dim} numbers; positions are "
        f"added, {layers} blocks follow, a norm, and a product with the same table: {vocab_size} "
        "logits per position.",
        height=392,
    )
    rows = [
        ("embedding", "a row of W per id", "value"),
        ("+ positions", f"a row of P ({context}, {embed_dim})", "value"),
        *[(f"block {n}", "", "value") for n in ("1", "...", layers)],
        ("norm", "", "muted"),
        ("head", "times W, transposed", "value"),
    ]
    left, width = 40, 104
    drawing.text(left + width / 2, 20, "token ids (B, T)", bold=True)
    y = 30
    for n, (name, words, kind) in enumerate(rows):
        name = "..." if "..." in name else name
        drawing.arrow((left + width / 2, y - 4), (left + width / 2, y + 13))
        drawing.cell(left, y + 14, name, kind, width, BOX)
        drawing.text(left + width + 10, y + 34, words, "muted", "start")
        y += 47
    drawing.arrow((left + width / 2, y - 4), (left + width / 2, y + 13))
    drawing.text(left + width / 2, y + 29, f"logits (B, T, {vocab_size:,})", bold=True)
    top, bottom = 30 + 14 + BOX / 2, y - 47 + 14 + BOX / 2
    right = WIDTH - 12
    drawing.line(
        (276, top), (right, top), (right, bottom), (296, bottom), kind="value", dashed=True
    )
    for n, line in enumerate((f"W ({vocab_size:,}, {embed_dim}):", "one table,", "used twice")):
        drawing.text(right - 8, top + 90 + 17 * n, line, "value", "end")
    return drawing


def plot_stream(curves):
    """The standard deviation of the stream after each block.

    curves   {name: list of standard deviations, the input's first}
    returns  a matplotlib figure
    """
    figure, axes = panel(xlabel="blocks", ylabel="standard deviation")
    ends = []
    for n, (name, stds) in enumerate(curves.items()):
        axes.plot(range(len(stds)), stds, f"C{n}", marker="o", markersize=4)
        ends.append((len(stds) - 1, stds[-1], name, f"C{n}"))
    axes.set_ylim(0)
    axes.set_xticks(range(0, max(map(len, curves.values())), 2))
    label_ends(axes, ends)
    return figure


def plot_depths(depths, curves):
    """A number against the number of blocks, whose axis is logarithmic.

    depths   list of int
    curves   {name: list of one number per depth}
    returns  a matplotlib figure
    """
    figure, axes = panel(
        xlabel="blocks",
        ylabel="deviation after the last block",
        xscale="log",
    )
    for n, (name, numbers) in enumerate(curves.items()):
        colour = ("C2", "C0")[n % 2]
        axes.plot(depths, numbers, colour, marker="o", markersize=4)
        axes.annotate(
            name,
            (depths[-1], numbers[-1]),
            xytext=(0, 8),
            textcoords="offset points",
            color=colour,
            ha="right",
        )
    axes.set_xticks(depths, [str(depth) for depth in depths])
    axes.minorticks_off()
    axes.set_ylim(0)
    return figure
