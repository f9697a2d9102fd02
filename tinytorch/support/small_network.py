"""A small network as neurons and arrows, with every weight and bias written at its place."""

import numpy as np

from tinytorch.support.drawing import Drawing, short

__all__ = ["draw_small_network"]


def draw_small_network(layers, names):
    """Fully connected layers as columns of boxes; an arrow is a weight, each box has its bias.

    layers   list of (weights, bias) of shapes (in, out) and (out,)
    names    a list with the names of the boxes, one list for each column, the inputs included
    returns  a Drawing

    >>> draw_small_network([([[2.0]], [1.0])], [["x"], ["y"]]).description
    'y = 2·x + 1'
    """
    layers = [(np.asarray(weights), np.asarray(bias)) for weights, bias in layers]
    wide, high, row, top = 68, 42, 96, 20
    tallest = max(len(column) for column in names)
    terms = [
        " + ".join(f"{short(w)}·{name}" for w, name in zip(weights[:, j], inputs))
        + f" + {short(bias[j])}"
        for (weights, bias), inputs, outputs in zip(layers, names, names[1:])
        for j in range(len(outputs))
    ]
    outputs = [name for column in names[1:] for name in column]
    drawing = Drawing(
        "A small network",
        "; ".join(f"{name} = {term}" for name, term in zip(outputs, terms)),
        height=top + (tallest - 1) * row + high + 18,
    )
    step = (drawing.width - 16 - wide) / (len(names) - 1)

    def corner(column, index):
        above = (tallest - len(names[column])) * row / 2
        return 8 + column * step, top + above + index * row

    for column, (weights, _) in enumerate(layers):
        for (i, j), weight in np.ndenumerate(weights):
            (x, y), (x2, y2) = corner(column, i), corner(column + 1, j)
            start, end = (x + wide, y + high / 2), (x2, y2 + high / 2)
            drawing.arrow(start, end, "value")
            across = start[0] + 0.3 * (end[0] - start[0])  # where crossing arrows are apart
            down = start[1] + 0.3 * (end[1] - start[1])
            side = 12 if y2 > y else 0
            drawing.text(across + side, down - 7, short(weight), "value", bold=True)
    for column, texts in enumerate(names):
        for index, name in enumerate(texts):
            x, y = corner(column, index)
            drawing.cell(x, y, "" if column else name, "muted", wide, high)
            if column:
                drawing.text(x + wide / 2, y + 17, name)
                bias = f"bias {short(layers[column - 1][1][index])}"
                drawing.text(x + wide / 2, y + 34, bias, "value", bold=True)
    return drawing
