"""Plots of a lesson that is done on its page of the book, where there is no matplotlib: what such a
lesson uses of `tinytorch/pictures/drawing.py`, drawn as SVG. It takes that module's place there.
"""

import html
import math

from tinytorch.support.svg import COLOURS

CYCLE = {"C0": "value", "C1": "gradient", "C2": "wrong", "C3": "muted"}  # matplotlib's "C0", ...
LEFT, RIGHT, TOP, BOTTOM = 52, 84, 24, 40  # pixels around a plot, for numbers and names
PIXELS = 72  # an inch, in which matplotlib counts
LINE = 16  # pixels from one line of words to the next

figures = []  # all that were made; whoever runs a cell takes them away


def panel(title="", xlabel="", ylabel="", width=5.0, height=3.2):
    """One plot. width, height: inches. Returns (figure, axes)."""
    figure = Figure(width * PIXELS, height * PIXELS)
    figures.append(figure)
    axes = figure.subplots(1, 1).flat[0]
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
    return figure, axes


def plot_lines(curves, xlabel, ylabel, top=None):
    """Curves in one panel, each with its name at its end: {name: (xs, ys)}. A curve ends at its
    first y that is not finite or above `top`."""
    figure, axes = panel("", xlabel, ylabel)
    for (name, (xs, ys)), colour in zip(curves.items(), ("C2", "C0", "C1", "C3")):
        bad = [not math.isfinite(y) or (top is not None and y > top) for y in ys]
        count = bad.index(True) if True in bad else len(bad)
        axes.plot(list(xs)[:count], list(ys)[:count], colour)
        axes.text(xs[count - 1], ys[count - 1], f" {name}", color=colour, va="center")
    if top is not None:
        axes.set_ylim(None, top)
    return figure


def shade_above(axes, model, xs, ys, level):
    """Shade the part of a plane where the output of `model`, a function from a list of points to
    as many numbers, is above `level`, and draw the boundary."""
    rows = [list(map(float, model([(x, y) for x in xs]))) for y in ys]
    axes.areas.append((xs, ys, [[output > level for output in row] for row in rows]))
    axes.include((xs[0], xs[-1]), (ys[0], ys[-1]), margin=0)


class Figure:
    """A picture with plots in rows and columns."""

    def __init__(self, width, height):
        self.width, self.height = width, height

    def subplots(self, rows, columns):
        """New plots, in place of those that were there."""
        wide, high = self.width / columns, self.height / rows
        places = [(c * wide, r * high) for r in range(rows) for c in range(columns)]
        self.flat = [Axes(*place, wide, high) for place in places]
        return self

    def svg(self, alt):
        """The picture as SVG; `alt` is what is seen in it, for those who cannot see it."""
        inside = "".join(axes.svg(len(self.flat) > 1) for axes in self.flat)
        return (
            f'<svg viewBox="0 0 {self.width:g} {self.height:g}" role="img" '
            f'aria-label="{html.escape(alt)}" font-size="13" fill="currentColor">{inside}</svg>'
        )


class Axes:
    """One plot: lines, markers, words and areas at places of the data."""

    def __init__(self, left, top, width, height):
        self.place, self.lines, self.words, self.areas = (left, top, width, height), [], [], []
        self.limits = {"x": None, "y": None}
        self.options = {"title": "", "xlabel": "", "ylabel": "", "xticks": None, "yticks": None}
        self.bottom = self.ceiling = None

    def remove(self):
        """As matplotlib's; a figure's next `subplots` replaces this plot anyway."""

    def set(self, **options):
        self.options |= options

    def set_ylim(self, bottom=None, top=None):
        self.bottom, self.ceiling = bottom, top

    def include(self, xs, ys, margin=0.05):
        """Let the plot be large enough for these numbers."""
        for axis, numbers in (("x", xs), ("y", ys)):
            low, high = min(numbers), max(numbers)
            if before := self.limits[axis]:
                low, high, margin = min(low, before[0]), max(high, before[1]), before[2]
            self.limits[axis] = (low, high, margin)

    def plot(self, xs, ys, look="", color=None, alpha=1.0, markersize=6):
        """A line, or with a look such as "o" or "C1s" markers."""
        xs, ys = (list(n) if hasattr(n, "__iter__") else [n] for n in (xs, ys))
        if xs:
            marker = look.removeprefix(look[:2] if look[:1] == "C" else "")
            colour = colour_of(color or (look[:2] if look[:1] == "C" else "C0"))
            self.lines.append((xs, ys, marker, colour, alpha, markersize))
            self.include(xs, ys)

    def text(self, x, y, words, color="C3", va="center"):
        self.words.append((x, y, words, colour_of(color), va))

    def svg(self, small):
        """The plot as SVG. small: without the space for names at the ends of lines."""
        left, top, width, height = self.place
        sides = (34, 8, 22, 22) if small else (LEFT, RIGHT, TOP, BOTTOM)
        box = (left + sides[0], top + sides[2], left + width - sides[1], top + height - sides[3])
        across, up = self.scale("x", box[0], box[2]), self.scale("y", box[3], box[1])
        parts = [self.shading(across, up), *self.frame(box, across, up)]
        for xs, ys, marker, colour, alpha, size in self.lines:
            places = [(across(x), min(max(up(y), box[1]), box[3])) for x, y in zip(xs, ys)]
            if marker:
                parts += [mark(marker, *place, colour, size / 2 + 0.5) for place in places]
            else:
                points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
                parts.append(
                    f'<polyline points="{points}" fill="none" stroke-width="2" '
                    f'opacity="{alpha:.2f}" style="stroke:{colour}"/>'
                )
        last = {}  # {x: where the lowest words stand there}
        for x, y, words, colour, va in sorted(self.words, key=lambda one: -one[1]):
            place = min(max(up(y), box[1]), box[3]) + {"center": 4, "bottom": -3}[va]
            last[x] = place = max(place, last.get(x, 0) + LINE)
            parts.append(label(across(x), place, words, "start", f' style="fill:{colour}"'))
        return "".join(parts)

    def scale(self, axis, start, end):
        """The function from the data to pixels."""
        low, high, margin = self.limits[axis] or (0.0, 1.0, 0)
        room = (high - low or 1.0) * margin
        low, high = low - room, high + room
        if axis == "y":
            low = low if self.bottom is None else self.bottom
            high = high if self.ceiling is None else self.ceiling
        scale = (end - start) / (high - low)

        def place(number):
            return start + (number - low) * scale

        place.low, place.high = low, high
        return place

    def frame(self, box, across, up):
        """The two axes with their numbers and names."""
        left, top, right, bottom = box
        yield f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="currentColor"/>'
        for x in self.options["xticks"] or ticks(across.low, across.high):
            yield label(across(x), bottom + 16, f"{x:g}")
        for y in self.options["yticks"] or ticks(up.low, up.high):
            yield label(left - 6, up(y) + 4, f"{y:g}", "end")
        middle = (left + right) / 2
        for words, place in (("title", top - 8), ("xlabel", bottom + 34)):
            if self.options[words]:
                yield label(middle, place, self.options[words])
        if self.options["ylabel"]:
            turned = f' transform="rotate(-90 {left - 38} {(top + bottom) / 2})"'
            yield label(left - 38, (top + bottom) / 2, self.options["ylabel"], "middle", turned)

    def shading(self, across, up):
        """The areas above the level, and the boundary around them."""
        shaded, edges = [], []
        for xs, ys, above in self.areas:
            wide, high = (across(xs[1]) - across(xs[0])), (up(ys[0]) - up(ys[1]))
            for j, row in enumerate(above):
                for i, inside in enumerate(row):
                    x, y = across(xs[i]) - wide / 2, up(ys[j]) - high / 2
                    if inside:
                        shaded.append(f"M{x:.1f} {y:.1f}h{wide:.2f}v{high:.2f}h-{wide:.2f}z")
                    if i + 1 < len(row) and inside != row[i + 1]:
                        edges.append(f"M{x + wide:.1f} {y:.1f}v{high:.2f}")
                    if j + 1 < len(above) and inside != above[j + 1][i]:
                        edges.append(f"M{x:.1f} {y:.1f}h{wide:.2f}")
        fill = colour_of("C0")
        return (
            f'<path d="{"".join(shaded)}" opacity=".18" style="fill:{fill}"/>'
            f'<path d="{"".join(edges)}" stroke="currentColor" stroke-width="1.5"/>'
        )


def colour_of(name):
    """A colour of matplotlib's cycle, or one of the drawings' colours for a light page: as that,
    and as the one for a dark page.
    """
    kind = CYCLE.get(name) or next(kind for kind in COLOURS if COLOURS[kind][0] == name)
    return "light-dark({}, {})".format(*COLOURS[kind])


def label(x, y, words, anchor="middle", more=""):
    """Words at a place."""
    words = html.escape(str(words))
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{words}</text>'


def mark(kind, x, y, colour, size):
    """A round or square marker."""
    if kind == "s":
        side = 2 * size
        place = f'x="{x - size:.1f}" y="{y - size:.1f}" width="{side:g}" height="{side:g}"'
        return f'<rect {place} style="fill:{colour}"/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:g}" style="fill:{colour}"/>'


def ticks(low, high):
    """Three to seven round numbers from `low` to `high`.

    >>> ticks(0.0, 10.0), ticks(-0.2, 0.5)
    ([0, 2, 4, 6, 8, 10], [-0.2, 0.0, 0.2, 0.4])
    """
    power = 10 ** math.floor(math.log10((high - low) / 3))
    step = max(factor * power for factor in (1, 2, 5) if factor * power <= (high - low) / 3)
    first = math.ceil(low / step - 1e-9)
    return [round(n * step, 10) for n in range(first, math.floor(high / step + 1e-9) + 1)]
