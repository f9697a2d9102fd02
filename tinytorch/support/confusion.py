"""A confusion matrix as a grid of cells."""

from tinytorch.support.drawing import Drawing


def draw_confusion_matrix(counts, names):
    """A picture of a confusion matrix: correct answers on the diagonal, mistakes hatched.

    counts   array of ints of shape (classes, classes): the row is the true class, the column the
             predicted one
    names    one text per class; at most 4 classes fit
    returns  a `Drawing`
    """
    left, top, width, height = 92, 62, min(80, (350 - 92) // len(names)), 44
    drawing = Drawing(
        "confusion matrix",
        f"rows are true classes, columns predicted ones: {counts.tolist()}",
        height=top + height * len(names) + 14,
    )
    drawing.text(left + width * len(names) / 2, 20, "predicted class", "muted")
    drawing.text(8, top - 14, "true class", "muted", anchor="start")
    for place, name in enumerate(names):
        drawing.text(left + (place + 0.5) * width, top - 14, name)
        drawing.text(left - 10, top + (place + 0.5) * height + 5, name, anchor="end")

    def kind(i, j):
        return "value" if i == j else "wrong" if counts[i][j] else "muted"

    drawing.cells(left, top, counts.tolist(), kind, width, height)
    return drawing
