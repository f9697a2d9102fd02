"""A plot of several curves, each with its name at its end."""

import math

import numpy as np

__all__ = ["plot_lines"]

GAP = 18  # points from one name to the next


def plot_lines(curves, xlabel, ylabel, top=None, **axes_options):
    """Curves in one panel.

    curves        dict {name: ys, or a pair (xs, ys)}; without xs they are 1, 2, 3, ...
    top           a curve ends at its first y that is not finite or above `top`
    axes_options  of matplotlib's `add_subplot`, such as xscale="log"
    returns       a matplotlib figure

    The first curve is red, the others are blue, orange and grey.
    """
    from tinytorch.support.drawing import panel

    figure, axes = panel("", xlabel, ylabel, **axes_options)
    ends = []
    for (name, curve), colour in zip(curves.items(), ("C2", "C0", "C1", "C3")):
        xs, ys = curve if isinstance(curve, tuple) else (range(1, len(curve) + 1), curve)
        xs, ys = shown(xs, ys, top)
        axes.plot(xs, ys, colour)
        ends.append((name, xs[-1], ys[-1], colour))
    if top is not None:
        axes.set_ylim(top=top)
    figure.draw_without_rendering()  # only now is it known where the points of the plot are
    right = max(x for _, x, *_ in ends)
    below = -math.inf
    for name, x, y, colour in sorted(ends, key=lambda end: end[2]):
        height = axes.transData.transform((x, y))[1] * 72 / figure.dpi
        place = max(height, below + GAP) if x == right else height
        axes.annotate(
            name,
            (x, y),
            xytext=(6, place - height),
            textcoords="offset points",
            va="center",
            color=colour,
            annotation_clip=False,
        )
        below = place if x == right else below
    return figure


def shown(xs, ys, top=None):
    """The points of a curve up to the first y that is not finite or above `top`.

    >>> shown([1, 2, 3], [0.5, 9.0, 0.25], top=5)
    ([1], [0.5])
    """
    bad = [not math.isfinite(y) or (top is not None and y > top) for y in ys]
    n = int(np.argmax(bad)) if any(bad) else len(bad)
    return list(xs)[:n], list(ys)[:n]
