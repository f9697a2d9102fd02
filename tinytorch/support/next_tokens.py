"""Drawings about predicting the next token: inputs and targets, the windows that are scored, and
which predictions depend on which tokens.
"""

import numpy as np

from tinytorch.support.drawing import WIDTH, Drawing

__all__ = ["draw_dependence", "draw_scored", "draw_shifted"]

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
