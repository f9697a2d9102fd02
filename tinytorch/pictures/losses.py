"""What lesson 05 draws: the gradient of cross-entropy."""

import numpy as np

from tinytorch.pictures.drawing import BAR, BAR_ROW, as_text, draw_bars
from tinytorch.support.svg import WIDTH, Drawing


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
        f"probabilities {as_text(*probabilities)}, target {as_text(*target)}, gradient "
        f"{as_text(*gradient)}",
        height=3 * BAR_ROW + 64,
    )
    places = draw_bars(drawing, 0, "probabilities; dashed: targets", probabilities, tallest=1.0)
    for (left, wide), wanted in zip(places, target):
        high = wanted * (BAR - 10)
        drawing.line(
            (left - 5, BAR_ROW - 10),
            (left - 5, BAR_ROW - 10 - high),
            (left + wide + 5, BAR_ROW - 10 - high),
            (left + wide + 5, BAR_ROW - 10),
            kind="text",
            dashed=True,
        )
    draw_bars(drawing, BAR_ROW, "gradient: probability minus target", gradient, kind="gradient")
    drawing.text(
        WIDTH - 12, BAR_ROW + 16, f"sum {as_text(abs(gradient.sum().round(9)))}", "gradient", "end"
    )
    top = 2 * BAR_ROW + 26
    draw_bars(drawing, top, "logits after one step of size 1", after)
    drawing.text(
        WIDTH / 2, drawing.height - 8, f"loss {as_text(before)} before, {as_text(behind)} after"
    )
    return drawing
