"""The residual stream of a transformer: drawings of a block and of a GPT, and plots of how large
the stream is after each block.
"""

from tinytorch.support.drawing import WIDTH, Drawing, panel

__all__ = ["draw_block", "draw_gpt", "plot_depths", "plot_stream"]

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

    curves   {name: list of the standard deviations, that of the input first}
    returns  a matplotlib figure
    """
    figure, axes = panel(xlabel="blocks", ylabel="standard deviation")
    for n, (name, stds) in enumerate(curves.items()):
        axes.plot(range(len(stds)), stds, f"C{n}", marker="o", markersize=4)
        axes.annotate(
            f" {name}",
            (len(stds) - 1, stds[-1]),
            color=f"C{n}",
            va="center",
            annotation_clip=False,
        )
    axes.set_ylim(0)
    axes.set_xticks(range(0, max(map(len, curves.values())), 2))
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
