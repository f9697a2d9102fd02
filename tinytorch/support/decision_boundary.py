"""The decision boundary of a model with two inputs, with the examples that it should separate."""

import numpy as np

from tinytorch.support.drawing import COLOURS, FILLS, panel

__all__ = ["draw_decision_boundary"]


def draw_decision_boundary(model, points, labels, title="", names=("x1", "x2"), margin=0.6):
    """Shade where the output of `model` is above 1/2, and draw the examples as their labels.

    model    function from an array of shape (n, 2) to n outputs, an array or Tensor of any shape
    points   array of shape (examples, 2)
    labels   `examples` numbers, 0 or 1
    names    what stands at the two axes
    margin   how far the picture goes beyond the points, in their unit
    returns  a matplotlib figure; its line is where the output is exactly 1/2
    """
    points = np.asarray(points, "float64")
    low, high = points.min(axis=0) - margin, points.max(axis=0) + margin
    across, up = np.meshgrid(*[np.linspace(a, b, 201) for a, b in zip(low, high)])
    inputs = np.column_stack([across.ravel(), up.ravel()])
    outputs = np.asarray(model(inputs), "float64").reshape(across.shape)
    figure, axes = panel(title, *names)
    fills = [FILLS["muted"][0], FILLS["value"][0]]
    axes.contourf(across, up, outputs > 0.5, levels=[-0.5, 0.5, 1.5], colors=fills)
    if outputs.min() < 0.5 < outputs.max():
        axes.contour(across, up, outputs, levels=[0.5], colors=[COLOURS["text"][0]])
    for point, label in zip(points, labels):
        kind, marker = ("value", "s") if label > 0.5 else ("muted", "o")
        axes.scatter(*point, s=260, c=COLOURS[kind][0], marker=marker, zorder=3)
        axes.text(*point, f"{label:g}", color="white", ha="center", va="center", zorder=4)
    return figure
