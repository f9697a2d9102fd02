"""What lesson 18 draws: maps of patching and ablation, attention patterns, the logit lens, and
features in superposition; and the text that its probe reads.
"""

import numpy as np

from tinytorch.pictures.drawing import panel
from tinytorch.support.svg import WIDTH, Drawing

STREAMS = ("before layer 0", "after layer 0", "after layer 1")
# What patching the model of lesson 18 gives, rounded to two digits. A test trains a similar one.
MEASURED = np.zeros((3, 30))
MEASURED[[0, 1, 2], [9, 10, 29]] = 1


def draw_patches(patched):
    """A patch map: a row for each stream, a column for each position, the darker the more of the
    answer comes back. Cells of at least 0.1 hold their number.

    patched  array of shape (3, T)
    returns  a matplotlib Figure

    >>> [text.get_text() for text in draw_patches(MEASURED).axes[0].texts]
    ['1.00', '1.00', '1.00']
    """
    patched = np.asarray(patched)
    figure, axes = panel("", "position", "", width=6.2, height=1.9)
    axes.imshow(patched, cmap="Blues", vmin=0, vmax=1.2, aspect="auto")
    axes.set_yticks(range(len(patched)), STREAMS[: len(patched)])
    axes.set_xticks(range(0, patched.shape[1], 5))
    axes.set_xticks(np.arange(patched.shape[1] + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(len(patched) + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="#cccccc", linewidth=0.5)
    axes.tick_params(which="both", length=0)
    for row, t in np.argwhere(np.abs(patched) >= 0.1):
        axes.text(t, row, f"{patched[row, t]:.2f}", ha="center", va="center", rotation=90,
                  color="white" if patched[row, t] > 0.6 else "black", fontsize=9)  # fmt: skip
    return figure


def draw_stripes(weights):
    """Attention weights of whole sequences, a map for each name, one below the other.

    weights  {title: array of shape (T, T), [query, key]}
    returns  a matplotlib Figure
    """
    figure, axes = panel("", "", "", height=3.9 * len(weights))
    axes.remove()
    for n, (title, map) in enumerate(weights.items()):
        axes = figure.add_subplot(len(weights), 1, n + 1)
        axes.imshow(np.asarray(map), cmap="Blues", vmin=0, vmax=1)
        axes.set(title=title, xlabel="key", ylabel="query")
    return figure


def draw_ablation(rises, unit):
    """How much each head matters: a cell for each head, with the rise of the loss without it. A
    cell is filled if its rise is at least a tenth of the largest.

    rises    array of shape (layers, heads)
    unit     of the numbers
    returns  a Drawing

    >>> draw_ablation([[0.5, 3.0]], "nats").description
    'layer 0: head 0 +0.50 nats, head 1 +3.00 nats'
    """
    rises = np.asarray(rises)
    description = "; ".join(
        f"layer {n}: " + ", ".join(f"head {h} {rise:+.2f} {unit}" for h, rise in enumerate(row))
        for n, row in enumerate(rises)
    )
    drawing = Drawing("ablated heads", description, height=60 + 46 * len(rises))
    left, width = 76, min(110, (WIDTH - 92) / rises.shape[1])
    drawing.text(8, 20, f"rise of the loss in {unit}, without head", "text", "start")
    for h in range(rises.shape[1]):
        drawing.text(left + (h + 0.5) * width, 44, h, "muted")
    for n, row in enumerate(rises):
        y = 52 + 46 * n
        drawing.text(8, y + 25, f"layer {n}", "muted", "start")
        for h, rise in enumerate(row):
            kind = "value" if rise >= 0.1 * rises.max() else "muted"
            drawing.cell(left + h * width + 3, y, f"{rise:+.2f}", kind, width - 6, 38)
    return drawing


def draw_lens(logits, ids, tokenizer):
    """The logit lens on a text: a row for each token, with the best guess for the next token after
    0, 1, ... layers, and the token that really follows.

    logits     array of shape (L + 1, T, V)
    ids        int array of shape (T + 1,): the tokens read and the one after them. The colour of
               a guess is the probability of the token that follows: dark means probable
    tokenizer  of the ids; spaces are drawn as dots
    returns    a matplotlib Figure
    """

    def name(id):
        return tokenizer.token(int(id)).decode(errors="replace").replace(" ", "·")

    logits = np.asarray(logits, "float64")
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares = powers / powers.sum(axis=-1, keepdims=True)
    right = shares[:, np.arange(len(ids) - 1), ids[1:]].T
    rows, columns = right.shape
    figure, axes = panel("", "", "", height=0.31 * rows + 0.5)
    around = np.zeros((rows, 1))
    table = np.hstack([around, right, around])
    axes.imshow(table, cmap="Blues", vmin=0, vmax=1.1, aspect="auto")
    guesses = ["0 layers", "1 layer", *(f"{n} layers" for n in range(2, columns))][:columns]
    axes.set_xticks(range(columns + 2), ["read", *guesses, "follows"])
    axes.xaxis.tick_top()
    axes.set_yticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    for column, tokens in enumerate([ids[:-1], *logits.argmax(axis=-1), ids[1:]]):
        for row, id in enumerate(tokens):
            dark = table[row, column] > 0.6
            axes.text(column, row, name(id), ha="center", va="center",
                      color="white" if dark else "black",
                      weight="bold" if column in (0, columns + 1) else "normal")  # fmt: skip
    return figure


def draw_stars(weights):
    """Features as arrows in two dimensions, a star for each sparsity. An arrow of at least 0.5 has
    the number of its feature.

    weights  {sparsity: array of shape (features, 2)}
    returns  a matplotlib Figure
    """
    figure, axes = panel("", "", "", width=6.2, height=4.4)
    axes.remove()
    for n, (sparsity, arrows) in enumerate(weights.items()):
        axes = figure.add_subplot(2, 3, n + 1)
        for feature, (x, y) in enumerate(np.asarray(arrows)):
            axes.plot([0, x], [0, y], color=f"C{min(feature, 3)}")
            axes.plot(x, y, "o", color=f"C{min(feature, 3)}", markersize=5)
            if np.hypot(x, y) >= 0.5:
                axes.text(1.2 * x, 1.2 * y, feature, ha="center", va="center", fontsize=9)
        axes.set(title=f"sparsity {sparsity:g}", xlim=(-1.6, 1.6), ylim=(-1.6, 1.6), aspect="equal",
                 xticks=[], yticks=[])  # fmt: skip
    return figure


def quoted_windows(tokenizer, split, count, length=64, seed=0):
    """Windows of the novels, and which of their tokens are inside quotation marks.

    tokenizer  one whose tokens are ASCII
    split      "train" (its first 400,000 characters) or "test"
    count      int: how many windows
    returns    (ids, inside), arrays of shape (count, length), of ints and of bools. A quotation
               begins after its first mark and ends with the paragraph at the latest
    """
    from tinytorch.data.texts import load_text

    text, ids, inside, is_open = load_text(split)[:400_000], [], [], False
    for character in text:
        is_open = character != "\n" and is_open != (character == '"')
        inside.append(is_open)
    ids = tokenizer.encode(text)
    ends = np.cumsum([len(tokenizer.token(int(id))) for id in ids])
    starts = np.random.default_rng(seed).integers(0, len(ids) - length, count)
    at = starts[:, None] + np.arange(length)
    return ids[at], np.array(inside)[ends - 1][at]
