"""Drawings of probabilities as bars: how softmax makes them from logits, how a temperature
changes them, and the gradient of cross-entropy.
"""

import numpy as np

from tinytorch.support.drawing import WIDTH, Drawing, short

__all__ = ["bars", "draw_cross_entropy_gradient", "draw_softmax", "draw_temperatures"]

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
    numbers = _numbers(steps[-1][1])
    return _rows(
        steps,
        f"softmax of {_numbers(logits)}",
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
        f"softmax of {_numbers(logits)} at several temperatures",
        "a low temperature gives the largest logit nearly all the probability",
        tallest=1.0,
    )


def draw_cross_entropy_gradient(logits, label, smoothing=0.0):
    """The gradient of cross-entropy with respect to the logits, softmax minus target, as bars;
    and what one step of size 1 against it does.

    logits     one number per class, at most five
    label      the true class
    smoothing  the share of the target spread evenly over all classes
    returns    a `Drawing`: probabilities with the targets as dashed outlines, the gradient, and
               the logits after the step

    >>> draw_cross_entropy_gradient([2.0, 1.0, 0.0], 1).height
    400
    """
    logits = np.asarray(logits, "float64")
    target = np.full(logits.size, smoothing / logits.size)
    target[label] += 1 - smoothing

    def softmax(z):
        powers = np.exp(z - z.max())
        return powers / powers.sum()

    probabilities = softmax(logits)
    gradient = probabilities - target
    after = logits - gradient
    before, behind = [-(target * np.log(softmax(z))).sum() for z in (logits, after)]
    drawing = Drawing(
        "the gradient of cross-entropy is softmax minus target",
        f"probabilities {_numbers(probabilities)}, target {_numbers(target)}, gradient "
        f"{_numbers(gradient)}",
        height=3 * ROW + 64,
    )
    places = bars(drawing, 0, "probabilities; dashed: targets", probabilities, tallest=1.0)
    for (left, wide), wanted in zip(places, target):
        high = wanted * (BAR - 10)
        drawing.line(
            (left - 5, ROW - 10),
            (left - 5, ROW - 10 - high),
            (left + wide + 5, ROW - 10 - high),
            (left + wide + 5, ROW - 10),
            kind="text",
            dashed=True,
        )
    bars(drawing, ROW, "gradient: probability minus target", gradient, kind="gradient")
    drawing.text(
        WIDTH - 12, ROW + 16, f"sum {_number(abs(gradient.sum().round(9)))}", "gradient", "end"
    )
    top = 2 * ROW + 26
    bars(drawing, top, "logits after one step of size 1", after)
    drawing.text(
        WIDTH / 2, drawing.height - 8, f"loss {_number(before)} before, {_number(behind)} after"
    )
    return drawing


def bars(drawing, top, label, values, tallest=None, kind="value"):
    """Draw one row of bars, each with its number, below its label; negative ones hang down.

    top      pixels: where the row begins; it is `ROW` high, and 14 more with negative bars
    values   one finite or infinite number per bar, or nan
    tallest  the value of a bar of full height; without it the row's largest
    returns  (left edge, width) of each bar, in pixels
    """
    values = [float(v) for v in values]
    finite = [v for v in values if np.isfinite(v)] or [1.0]
    above, below = max(0.0, *finite), max(0.0, *(-v for v in finite))
    scale = (BAR - 10) / (tallest or above + below or 1.0)
    drawing.text(12, top + 16, label, anchor="start", bold=True)
    axis = top + 102 - scale * below if above else top + 28
    width = (WIDTH - 24) / len(values)
    places = []
    for number, value in enumerate(values):
        left, wide = 12 + number * width + 8, width - 16
        high = max(1.0, abs(value) * scale) if np.isfinite(value) else BAR - 10
        y = axis if value < 0 else axis - high
        drawing.cell(left, y, "", kind if np.isfinite(value) else "wrong", wide, high)
        text = y + high + 15 if value < 0 else y - 6
        drawing.text(left + wide / 2, text if above else axis + high + 15, _number(value))
        places.append((left, wide))
    drawing.line((12, axis), (WIDTH - 12, axis))
    return places


def _number(value):
    return short(float(value)) if np.isfinite(value) else f"{value:g}"


def _numbers(values):
    return ", ".join(_number(v) for v in values)


def _rows(steps, title, description, tallest=None):
    drawing = Drawing(title, description, height=ROW * len(steps))
    for number, (label, values) in enumerate(steps):
        bars(drawing, number * ROW, label, values, tallest)
    return drawing
