"""A curve with its tangent at a point, and the chords whose slopes estimate the derivative."""

from tinytorch.support.drawing import panel

__all__ = ["chord_slopes", "draw_tangent"]


def chord_slopes(f, x, step):
    """The slopes of two chords of the curve of `f` at x: (one-sided, central).

    one-sided  through x and x + step            central  through x - step and x + step

    >>> chord_slopes(lambda x: x**2, 3.0, 1.0)
    (7.0, 6.0)
    """
    low, here, high = f(x - step), f(x), f(x + step)
    return (high - here) / step, (high - low) / (2 * step)


def draw_tangent(f, x, step, names=("x", "f(x)"), reach=1.6):
    """Draw the curve of `f` around x, its tangent at x, and a one-sided and a central chord.

    f        function of one float, smooth around x
    step     how far the ends of the chords lie from x; large, so that they can be seen
    names    of the two axes
    reach    how many steps the picture shows on each side of x
    returns  a matplotlib figure; each line has its slope at its end, the chords are drawn through
    """
    slopes = {"tangent": chord_slopes(f, x, 1e-5 * step)[1]}
    slopes["one-sided"], slopes["central"] = chord_slopes(f, x, step)
    left, right = x - reach * step, x + reach * step
    figure, axes = panel("", *names, height=4.2)
    across = [left + (right - left) * i / 100 for i in range(101)]
    axes.plot(across, [f(a) for a in across], "C0")
    for name, through, look in [
        ("tangent", x, "C1"),
        ("one-sided", x + step, "C2--"),
        ("central", x - step, "C3--"),
    ]:
        heights = [f(through) + slopes[name] * (a - through) for a in (left, right)]
        axes.plot([left, right], heights, look, linewidth=1.5)
        words = f"{name}: {slopes[name]:.3g} "
        axes.text(left, heights[0], words, color=look[:2], ha="right", va="center")
    axes.plot([x - step, x, x + step], [f(x - step), f(x), f(x + step)], "C0o")
    axes.text(left, f(left), f"the curve {names[1]} ", color="C0", ha="right", va="center")
    axes.set_xlim(left - 1.7 * step, right + 0.1 * step)
    return figure
