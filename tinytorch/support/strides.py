"""A drawing of strides: where one element of an array lies in memory, and the steps that lead
there."""

from tinytorch.support.drawing import WIDTH, Drawing

__all__ = ["draw_strides"]

CELL, ROW = 48, 34  # pixels
TOP = 64  # pixels: where the row of memory begins; the arcs stand above it


def draw_strides(array, index, name="x", strides=None):
    """The memory of an array of two axes, the array as a grid, and how to find one element.

    array    ndarray of rank 2, or a view such as a transpose; its memory holds at most 7 elements
    index    (i, j)
    name     what the array is called
    strides  one int per axis, in elements; None for NumPy's own
    returns  a Drawing

    >>> import numpy as np
    >>> "x[1, 2]" in draw_strides(np.arange(6).reshape(2, 3), (1, 2)).svg()
    True
    """
    memory = array
    while memory.base is not None:
        memory = memory.base
    memory = memory.ravel()
    steps = strides or [stride // array.itemsize for stride in array.strides]
    position = sum(i * step for i, step in zip(index, steps))
    rows, columns = array.shape
    where = f"{name}[{', '.join(map(str, index))}]"
    path = " + ".join(f"{i} · {step}" for i, step in zip(index, steps))
    drawing = Drawing(
        f"shape {array.shape} and strides {tuple(steps)} over one row of memory",
        f"{where} lies at position {path} = {position}",
        height=TOP + ROW + 80 + rows * ROW + 38,
    )
    left = (WIDTH - CELL * memory.size) / 2

    def middle(place):
        return left + (place + 0.5) * CELL

    place = 0
    for count, step in zip(index, steps):
        begin = middle(place)
        for _ in range(count):
            target = place + step
            drawing.arrow(
                (middle(place) + 4, TOP - 4), (middle(target) - 4, TOP - 4), "value", 7 + 5 * step
            )
            place = target
        if count:
            high = TOP - 18 - 7 * step
            drawing.text((begin + middle(place)) / 2, high, f"{count} · {step}", "value", bold=True)
    drawing.text(left, TOP - 44, "memory", "muted", "start")
    drawing.cells(
        left, TOP, [memory], lambda i, j: "value" if j == position else "muted", CELL, ROW
    )
    for place in range(memory.size):
        drawing.text(middle(place), TOP + ROW + 17, place, "muted")

    x, y = (WIDTH - CELL * columns) / 2, TOP + ROW + 70
    drawing.text(WIDTH / 2, y - 16, f"{name}: shape {array.shape}, strides {tuple(steps)}")
    drawing.cells(x, y, array, lambda i, j: "value" if (i, j) == index else "muted", CELL, ROW)
    for number in range(rows):
        drawing.text(x - 8, y + number * ROW + 22, number, "muted", "end")
    drawing.text(
        WIDTH / 2, y + rows * ROW + 26, f"{where} is at position {path} = {position}", bold=True
    )
    return drawing
