"""What lesson 07 draws: the contours of a loss with two weights, the paths that optimizers take
through them, and curves against the step.
"""

import numpy as np

from tinytorch.pictures.drawing import label_ends, panel
from tinytorch.support.svg import COLOURS

CONTOUR = "#d1d5db"
ORDER = ("C0", "C1", "C3")  # red, "C2", is for what is wrong


def linear_path(curvatures, start, lr, momentum=0.0, steps=50):
    """The path of gradient descent on the loss 1/2 sum(curvatures * w**2), computed without taking
    its steps: on such a loss a step is a linear map of (w, velocity), so `t` steps are its t-th
    power.

    curvatures, start  arrays of shape (n,)
    returns            ndarray of shape (steps + 1, n)

    >>> linear_path([1.0, 4.0], [10.0, 1.0], lr=0.5, steps=2).tolist()
    [[10.0, 1.0], [5.0, -1.0], [2.5, 1.0]]
    """
    columns = []
    for curvature, w in zip(curvatures, start):
        step = np.array(
            [[1 - lr * curvature, -lr * momentum], [curvature, momentum]]
        )  # v <- momentum v + curvature w;  w <- w - lr v
        powers = [np.linalg.matrix_power(step, t) for t in range(steps + 1)]
        columns.append([float((power @ [w, 0.0])[0]) for power in powers])
    return np.transpose(columns)


def contours(f, x=(-11.0, 2.0), y=(-2.6, 2.6), levels=12, height=2.3, equal=True):
    """The contour lines of a loss with two weights.

    f        function of an array of shape (2, ...): the loss at these weights
    x, y     (from, to) of the first and the second weight
    levels   the losses at which a line is drawn, or how many lines
    height   inches
    equal    draw both axes on the same scale, so that the gradient is perpendicular to the lines
    returns  (figure, axes) of matplotlib
    """
    figure, axes = panel("", "w0", "w1", height=height)
    grid = np.meshgrid(np.linspace(*x, 201), np.linspace(*y, 121))
    axes.contour(
        *grid, f(np.array(grid)), levels=levels, colors=CONTOUR, linewidths=1, linestyles="solid"
    )
    axes.set(xlim=x, ylim=y)
    if equal:
        axes.set_aspect("equal")
    return figure, axes


def draw_paths(f, paths, marks=((0, 0),), **options):
    """Paths through the contours of the loss `f`, with their names above the axes.

    paths    {name: ndarray of shape (steps, 2)}; each gets the next colour
    marks    points at which a cross is drawn, such as the minimum, or {name: point}
    options  as in `contours`
    """
    figure, axes = contours(f, **options)
    for colour, (name, points) in zip(ORDER, paths.items()):
        points = np.asarray(points)
        axes.plot(*points.T, color=colour, marker="o", markersize=4, lw=1.5, label=name)
    names = dict(marks) if isinstance(marks, dict) else {}
    points = [*names.values()] or marks
    axes.plot(*np.transpose(points), "k+", markersize=11, markeredgewidth=2)
    for name, point in names.items():
        axes.annotate(name, point, (9, 0), textcoords="offset points", va="center")
    figure.set_figheight(figure.get_figheight() + 0.3 * len(paths))
    figure.legend(loc="outside upper left", borderpad=0.2)
    figure.draw_without_rendering()  # the layout settles when it is computed a second time


def draw_directions(f, gradient, points, lr=1.0, **options):
    """The contours of the loss `f`, with an arrow at each point: one step of gradient descent, -lr
    times the gradient there.

    gradient  function of an array of shape (2,)
    points    list of (w0, w1)
    options   as in `contours`
    """
    _, axes = contours(f, **options)
    points = np.array(points, float)
    directions = np.array([-lr * gradient(point) for point in points])
    axes.quiver(
        *points.T,
        *directions.T,
        color=COLOURS["gradient"][0],
        angles="xy",
        scale_units="xy",
        scale=1,
        width=0.008,
        zorder=3,  # above the contours
    )
    axes.plot(*points.T, "o", color=COLOURS["value"][0], markersize=5)


def draw_curves(curves, xlabel, ylabel, colours=ORDER, height=3.2, limits=None, **scales):
    """One panel with a line for each list of numbers, named at its right end.

    curves   {name: list of numbers}
    colours  one for each line
    limits   (lowest, highest) y that is shown; lines may leave the panel
    scales   such as yscale="log"
    """
    figure, axes = panel("", xlabel, ylabel, height=height, **scales)
    ends = []
    for colour, (name, values) in zip(colours, curves.items(), strict=len(curves) > len(colours)):
        axes.plot(values, color=colour)
        ends.append((len(values) - 1, values[-1], name, colour))
    if limits:
        axes.set_ylim(limits)
    label_ends(axes, ends)
    figure.get_layout_engine().set(h_pad=0.12)  # inches: room for half a number at the top
    figure.draw_without_rendering()
