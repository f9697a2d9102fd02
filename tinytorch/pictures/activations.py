"""What lesson 03 draws: decision boundaries, and probabilities as bars."""

import numpy as np

from tinytorch.pictures.drawing import BAR_ROW, as_text, draw_bars, panel, shade_above
from tinytorch.support.svg import COLOURS, Drawing


def draw_decision_boundary(model, points, labels, title="", names=("x1", "x2"), margin=0.6):
    """Shade where the output of `model` is above 1/2, and draw the examples as their labels.

    model    function from an array of shape (n, 2) to n outputs, an array or Tensor of any shape
    points   array of shape (examples, 2)
    labels   `examples` numbers, 0 or 1
    names    the labels of the two axes
    margin   how far the picture goes beyond the points, in their unit
    returns  a matplotlib figure; its line is where the output is exactly 1/2
    """
    points = np.asarray(points, "float64")
    low, high = points.min(axis=0) - margin, points.max(axis=0) + margin
    figure, axes = panel(title, *names)
    shade_above(axes, model, *[np.linspace(a, b, 201) for a, b in zip(low, high)], level=0.5)
    for point, label in zip(points, labels):
        kind, marker = ("value", "s") if label > 0.5 else ("muted", "o")
        axes.scatter(*point, s=260, c=COLOURS[kind][0], marker=marker, zorder=3)
        axes.text(*point, f"{label:g}", color="white", ha="center", va="center", zorder=4)
    return figure


def draw_softmax(logits, shift=False):
    """The steps of softmax as rows of bars, computed in float32: the logits, their exponentials,
    and the probabilities.

    logits   one number per class, at most five
    shift    subtract the largest logit before the exponential, in a separate row
    returns  a `Drawing`; bars of numbers that are not finite are hatched

    >>> draw_softmax([1.0, 2.0, 4.0]).height
    336
    """
    logits = np.asarray(logits, "float32")
    steps = [("logits z", logits)]
    if shift:
        steps.append(("z minus the largest logit", logits - logits.max()))
    with np.errstate(all="ignore"):
        powers = np.exp(steps[-1][1])
        steps += [("exp", powers), ("probabilities: divided by the sum", powers / powers.sum())]
    numbers = as_text(*steps[-1][1])
    return rows_of_bars(
        steps,
        f"softmax of {as_text(*logits)}",
        f"from logits to the probabilities {numbers}",
    )


def draw_temperatures(logits, temperatures):
    """One row of bars for each temperature T: the probabilities softmax(logits / T).

    logits        one number per class, at most five
    temperatures  positive numbers
    returns       a `Drawing`

    >>> draw_temperatures([1.0, 2.0, 4.0], [2.0, 1.0]).height
    224
    """
    logits, steps = np.asarray(logits, "float64"), []
    for temperature in temperatures:
        powers = np.exp((logits - logits.max()) / temperature)
        steps.append((f"temperature {as_text(temperature)}", powers / powers.sum()))
    return rows_of_bars(
        steps,
        f"softmax of {as_text(*logits)} at several temperatures",
        "a low temperature gives the largest logit nearly all the probability",
        tallest=1.0,
    )


def rows_of_bars(steps, title, description, tallest=None):
    """A Drawing with a row of bars for each step, (label, values)."""
    drawing = Drawing(title, description, height=BAR_ROW * len(steps))
    for number, (label, values) in enumerate(steps):
        draw_bars(drawing, number * BAR_ROW, label, values, tallest)
    return drawing
