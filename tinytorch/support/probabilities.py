"""Drawings of probabilities as bars: how softmax makes them from logits, and how a temperature
changes them.
"""

import numpy as np

from tinytorch.support.drawing import WIDTH, Drawing, short

__all__ = ["bars", "draw_softmax", "draw_temperatures"]

ROW = 112  # pixels from one row of bars to the next
BAR = 62  # pixels: the height of a row's longest bar


def draw_softmax(logits, shift=False):
    """The steps of softmax as rows of bars, computed in float32: the logits, their exponentials,
    and the probabilities.

    logits   one number per class, at most five
    shift    subtract the largest logit before the exponential, in a row of its own
    returns  a `Drawing`; what is not finite is hatched

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
    numbers = ", ".join(_number(p) for p in steps[-1][1])
    return _rows(
        steps,
        f"softmax of {', '.join(_number(z) for z in logits)}",
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
        steps.append((f"temperature {_number(temperature)}", powers / powers.sum()))
    return _rows(
        steps,
        f"softmax of {', '.join(_number(z) for z in logits)} at several temperatures",
        "a low temperature gives the largest logit nearly all the probability",
        tallest=1.0,
    )


def bars(drawing, top, label, values, tallest=None, kind="value"):
    """Draw one row of bars, each with its number, below its label.

    top      pixels: where the row begins; it is `ROW` high
    values   one finite or infinite number per bar, or nan
    tallest  the value of a bar of full height; without it the row's largest
    returns  (left edge, width) of each bar, in pixels
    """
    values = [float(v) for v in values]
    finite = [v for v in values if np.isfinite(v)]
    tallest = tallest or max([abs(v) for v in finite] + [1e-30])
    # negative bars hang down from the axis, which then is at the top
    negative = bool(finite) and min(finite) < 0 and max(finite) <= 0
    drawing.text(12, top + 16, label, anchor="start", bold=True)
    axis = top + 44 if negative else top + 40 + BAR
    width = (WIDTH - 24) / len(values)
    places = []
    for number, value in enumerate(values):
        left, wide = 12 + number * width + 8, width - 16
        share = min(1.0, abs(value) / tallest) if np.isfinite(value) else 1.0
        high = max(1.0, share * (BAR - 10))
        y = axis if negative else axis - high
        drawing.cell(left, y, "", kind if np.isfinite(value) else "wrong", wide, high)
        drawing.text(left + wide / 2, y - 6, _number(value))
        places.append((left, wide))
    drawing.line((12, axis), (WIDTH - 12, axis))
    return places


def _number(value):
    return short(float(value)) if np.isfinite(value) else f"{value:g}"


def _rows(steps, title, description, tallest=None):
    drawing = Drawing(title, description, height=ROW * len(steps))
    for number, (label, values) in enumerate(steps):
        bars(drawing, number * ROW, label, values, tallest)
    return drawing
