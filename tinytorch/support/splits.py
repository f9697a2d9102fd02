"""How a data set is divided: lengths of parts; drawings of parts, classes and batches."""

import math

import numpy as np

from tinytorch.support.descriptions import described
from tinytorch.support.drawing import WIDTH, Drawing

__all__ = ["draw_batches", "draw_class_counts", "draw_split", "split_lengths"]


def split_lengths(lengths, count):
    """How many of `count` examples each part of a split gets.

    lengths  integers that add up to `count`, or proportions that add up to 1: these are rounded
             down, and the examples that remain go to the first parts, one each
    returns  list of ints that add up to `count`

    ValueError when they add up to something else, with both numbers in its message.

    >>> split_lengths([0.75, 0.25], 10), split_lengths([4, 2], 6)
    ([8, 2], [4, 2])
    """
    if isinstance(lengths, str) or not hasattr(lengths, "__iter__"):
        raise TypeError(
            f"the lengths of the parts are {described(lengths)}, not a list\n"
            "give one for each part, such as [0.8, 0.2] or [1000, 200]"
        )
    if abs(sum(lengths) - 1) < 1e-6 and all(0 <= n <= 1 for n in lengths):
        # 0.29 * 100 is 28.999999999999996, hence the small number
        whole = [math.floor(count * proportion + 1e-9) for proportion in lengths]
        return [n + (part < count - sum(whole)) for part, n in enumerate(whole)]
    if sum(lengths) != count or any(n < 0 for n in lengths):
        raise ValueError(
            f"the lengths {list(lengths)} add up to {sum(lengths)}, there are {count} examples\n"
            "give lengths that add up to that, or proportions that add up to 1"
        )
    return [int(n) for n in lengths]


def draw_split(parts):
    """One bar for the data set, cut into parts as long as they are large.

    parts    list of (name, how many examples, what it is used for)
    returns  a Drawing

    >>> draw_split([("training", 8, "fit"), ("test", 2, "measure")]).height
    122
    """
    total, x = sum(count for _, count, _ in parts), 10
    names = ", ".join(f"{name} {count}" for name, count, _ in parts)
    drawing = Drawing("A data set, split", names, height=66 + 28 * len(parts))
    for k, (name, count, use) in enumerate(parts):
        width, kind = (WIDTH - 20) * count / total, ("value", "gradient", "muted")[k % 3]
        drawing.cell(x, 12, count, kind, width=width, height=36)
        y = 72 + 28 * k
        drawing.cell(10, y - 12, "", kind, width=16, height=16)
        drawing.text(34, y, name, anchor="start", bold=True)
        drawing.text(122, y, use, anchor="start")
        x += width
    return drawing


def draw_class_counts(rows, expected):
    """A table: how many examples of each class a part has; counts that are off by two or more
    are marked.

    rows      list of (name, array of shape (classes,): how many examples of each class)
    expected  how many there should be of each class: a number, or one per class
    returns   a Drawing

    >>> drawing = draw_class_counts([("random", [7, 13]), ("stratified", [10, 10])], 10)
    >>> drawing.svg().count("hatched")  # two cells, and the rule of the style sheet twice
    4
    """
    classes = len(rows[0][1])
    width, expected = (WIDTH - 20) / classes, np.broadcast_to(expected, classes)
    text = "; ".join(f"{name}: {', '.join(str(int(n)) for n in counts)}" for name, counts in rows)
    drawing = Drawing("Examples per class", text, height=34 + 66 * len(rows))
    for k in range(classes):
        drawing.text(10 + (k + 0.5) * width, 20, k, "muted")
    for row, (name, counts) in enumerate(rows):
        y = 44 + 66 * row
        drawing.text(10, y, name, anchor="start", bold=True)

        def kind(_, k, counts=counts):
            return "wrong" if abs(counts[k] - expected[k]) >= 2 else "value"

        drawing.cells(10, y + 8, [[int(n) for n in counts]], kind, width=width)
    return drawing


def draw_batches(orders, batch_size, batches=3):
    """The classes of the examples in the first batches, one batch per row.

    orders      list of (name, array of classes in the order in which they are used)
    batch_size  examples per batch
    batches     how many batches are drawn
    returns     a Drawing

    >>> draw_batches([("sorted", [0, 0, 1, 1])], batch_size=2, batches=2).height
    100
    """
    width = min(34, (WIDTH - 90) / batch_size)
    block = 40 + 30 * batches
    text = "; ".join(
        f"{name}: {', '.join(str(int(c)) for c in classes[: batches * batch_size])}"
        for name, classes in orders
    )
    drawing = Drawing("The classes in the first batches", text, height=block * len(orders))
    for number, (name, classes) in enumerate(orders):
        top = number * block
        drawing.text(10, top + 22, name, anchor="start", bold=True)
        for row in range(batches):
            y = top + 32 + 30 * row
            drawing.text(10, y + 18, f"batch {row}", "muted", anchor="start")
            part = classes[row * batch_size : (row + 1) * batch_size]
            shades = ["wrong" if len(set(part)) == 1 else "value"] * len(part)
            drawing.cells(
                74, y, [[int(c) for c in part]], lambda _, k, s=shades: s[k], width, height=26
            )
    return drawing
