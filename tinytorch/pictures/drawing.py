"""What several chapters draw with: plots in the colours of the drawings, and rows of bars."""

import math

import numpy as np

from tinytorch.support.svg import COLOURS, FILLS, TEXT, WIDTH, short

BAR_ROW = 112  # pixels from one row of bars to the next
BAR = 62  # pixels: the height of a row's longest bar


def panel(title="", xlabel="", ylabel="", width=5.0, height=3.2, **subplot):
    """One plot, as wide as a phone's page and with text that can be read there.

    width, height  inches, of 72 pixels; two plots are two panels, one below the other
    subplot        further options of `Figure.add_subplot`, such as xscale="log"
    returns        (figure, axes) of matplotlib; its colours are those of drawings: "C0" value,
                   "C1" gradient, "C2" wrong, "C3" muted
    """
    import matplotlib.pyplot as plt
    from cycler import cycler

    colours = [COLOURS[kind][0] for kind in ("value", "gradient", "wrong", "muted")]
    look = {
        "axes.prop_cycle": cycler(color=colours),
        "axes.spines.top": False,
        "axes.spines.right": False,
        "font.size": TEXT,
        "lines.linewidth": 2,
        "axes.titlesize": TEXT,
        "legend.frameon": False,
    }
    plt.rcParams.update(look)  # "C1" is looked up when a line is drawn, so this has to stay
    figure, axes = plt.subplots(figsize=(width, height), layout="constrained", subplot_kw=subplot)
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
    return figure, axes


def plot_lines(curves, xlabel, ylabel, top=None, **axes_options):
    """Curves in one panel, each with its name at its end.

    curves        dict {name: ys, or a pair (xs, ys)}; without xs they are 1, 2, 3, ...
    top           a curve ends at its first y that is not finite or above `top`
    axes_options  of matplotlib's `add_subplot`, such as xscale="log"
    returns       a matplotlib figure

    The first curve is red, the others are blue, orange and grey.
    """
    figure, axes = panel("", xlabel, ylabel, **axes_options)
    ends = []
    for (name, curve), colour in zip(curves.items(), ("C2", "C0", "C1", "C3")):
        xs, ys = curve if isinstance(curve, tuple) else (range(1, len(curve) + 1), curve)
        xs, ys = finite_part(xs, ys, top)
        axes.plot(xs, ys, colour)
        ends.append((xs[-1], ys[-1], name, colour))
    if top is not None:
        axes.set_ylim(top=top)
    label_ends(axes, ends)
    return figure


def finite_part(xs, ys, top=None):
    """The points of a curve up to the first y that is not finite or above `top`.

    >>> finite_part([1, 2, 3], [0.5, 9.0, 0.25], top=5)
    ([1], [0.5])
    """
    bad = [not math.isfinite(y) or (top is not None and y > top) for y in ys]
    n = int(np.argmax(bad)) if any(bad) else len(bad)
    return list(xs)[:n], list(ys)[:n]


def plot_stds(curves, title):
    """The standard deviation of the activations after each layer, on a logarithmic axis.

    curves   dict {label: list with one float for each layer}; the labels are at the line ends
    title    of the plot

    A line is blue when its last value is between half and twice its first, and red otherwise.
    """
    _, axes = panel(title, "layer", "standard deviation", yscale="log")
    ends = []
    for label, stds in curves.items():
        colour = "C0" if 0.5 <= stds[-1] / stds[0] <= 2 else "C2"
        axes.plot(range(1, len(stds) + 1), stds, colour)
        ends.append((len(stds), stds[-1], f"{label}: {stds[-1]:.2g}", colour))
    axes.set(xticks=(1, 5, 10, 15, 20))
    label_ends(axes, ends)


def label_ends(axes, ends, gap=0.09):
    """Write each curve's name at its end.

    ends  list of (x, y, name, colour): where the curves end. A y outside of the axes counts as the
          nearest one inside. Names at the same x that would overlap are moved apart, and thin lines
          lead to them
    gap   the smallest distance of two names, as a share of the height of the axes
    """
    axes.autoscale_view()  # otherwise the limits are not known before the figure is drawn
    to_axes = axes.transData + axes.transAxes.inverted()
    columns = {}
    for x, y, name, colour in ends:
        height = float(np.clip(np.nan_to_num(to_axes.transform((x, y))[1], nan=1.0), 0, 1))
        columns.setdefault(x, []).append((height, name, colour))
    for x, column in columns.items():
        column.sort(key=lambda end: end[0])
        places = spread([height for height, *_ in column], gap)
        moved = any(abs(place - end[0]) > gap / 5 for place, end in zip(places, column))
        for place, (height, name, colour) in zip(places, column):
            leader = {"arrowstyle": "-", "color": colour, "lw": 0.8, "shrinkA": 0, "shrinkB": 0}
            axes.annotate(
                name,
                (x, height),
                xycoords=("data", "axes fraction"),
                xytext=(14 if moved else 5, place),
                textcoords=("offset points", "axes fraction"),
                arrowprops={**leader, "relpos": (0, 0.5)} if moved else None,
                color=colour,
                va="center",
                annotation_clip=False,
                fontsize=TEXT,
            )


def spread(values, gap):
    """Numbers in ascending order, moved as little as possible so that they are `gap` apart.

    >>> spread([0, 5, 5, 9], 2)
    [0.0, 4.0, 6.0, 9.0]
    """
    groups = []  # of numbers that push each other: their sum, each without its gaps, and how many
    for n, value in enumerate(values):
        groups.append((value - n * gap, 1))
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] >= groups[-1][0] / groups[-1][1]:
            groups[-2:] = [tuple(map(sum, zip(*groups[-2:])))]
    starts = [total / count for total, count in groups for _ in range(count)]
    return [start + n * gap for n, start in enumerate(starts)]


def shade_above(axes, model, xs, ys, level):
    """Shade the part of a plane where the output of `model` is above `level`, and draw the line
    where it is exactly that: the decision boundary.

    model   function from an array (n, 2) to n outputs, an array or Tensor of any shape
    xs, ys  arrays: the coordinates at which it is computed
    """
    across, up = np.meshgrid(xs, ys)
    outputs = np.asarray(model(np.column_stack([across.ravel(), up.ravel()])), "float64")
    outputs = outputs.reshape(across.shape)
    fills = [FILLS["muted"][0], FILLS["value"][0]]
    axes.contourf(across, up, outputs > level, levels=[-0.5, 0.5, 1.5], colors=fills)
    if outputs.min() < level < outputs.max():
        axes.contour(across, up, outputs, levels=[level], colors=[COLOURS["text"][0]])


def draw_bars(drawing, top, label, values, tallest=None, kind="value"):
    """Draw one row of bars, each with its number, below its label; negative ones hang down.

    top      pixels: where the row begins; it is `BAR_ROW` high, and 14 more with negative bars
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
        drawing.text(left + wide / 2, text if above else axis + high + 15, as_text(value))
        places.append((left, wide))
    drawing.line((12, axis), (WIDTH - 12, axis))
    return places


def as_text(*values):
    """Numbers as short texts with commas between them; they need not be finite.

    >>> as_text(0.5, np.inf)
    '0.5, inf'
    """
    return ", ".join(short(float(v)) if np.isfinite(v) else f"{v:g}" for v in values)


def as_factor(number):
    """A number as it is written in a product or a sum: negative ones in brackets.

    >>> as_factor(2), as_factor(-1)
    ('2', '(-1)')
    """
    return f"({short(number)})" if number < 0 else short(number)
