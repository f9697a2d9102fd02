"""Drawings as SVG: cells of numbers, arrows, texts and lines; and computation graphs, also as text
and in the DOT language.

Each colour has one meaning, in every lesson: values are blue, gradients orange, errors red and
hatched; what does not matter is grey. A drawing has its own background, light or dark as the
reader's system is, so that it can be read on any page. It is never scaled down: `WIDTH` pixels fit
on a phone, and no text is smaller than 13.

A `Graph` takes boxes and arrows and knows nothing of their meaning; `draw_graph` fills one with
what tensors have recorded, `graph_of_values` with what numbers of the scalar engine have. It is
laid out in rows from top to bottom. Other formats than SVG need Graphviz, its program `dot`.
"""

import graphlib
import itertools
import shutil
import subprocess
from pathlib import Path

from tinytorch.support.scalars import unknown_derivatives

WIDTH = 358  # pixels: what a phone's page has for a picture
TEXT = 13  # pixels: the height of a drawing's text

# meaning: (on a light page, on a dark page)
COLOURS = {
    "value": ("#1b69aa", "#6cb4ee"),
    "gradient": ("#a55100", "#ffa94d"),
    "wrong": ("#c62828", "#ff8a80"),
    "muted": ("#5f6673", "#9ca3af"),
    "text": ("#111827", "#e5e7eb"),
    "page": ("#ffffff", "#14181e"),
}
FILLS = {
    "value": ("#dcebf8", "#16324a"),
    "gradient": ("#fdebd3", "#4a2f10"),
    "wrong": ("#fbe3e1", "#4d1f1f"),
    "muted": ("#f3f4f6", "#232a33"),
}

numbers = itertools.count()  # ids must differ on a page that holds several drawings


class Drawing:
    """A picture of lines, boxes and texts, made step by step; a notebook shows it.

    title        what it shows, in words
    description  what a reader is to learn from it
    width        pixels
    height       pixels

    Every place is in pixels from the upper left corner. `kind` is a key of `COLOURS`: a meaning.

    >>> drawing = Drawing("two numbers", "one cell holds 1, the other 2", height=60)
    >>> drawing.cells(10, 10, [[1, 2]])
    >>> drawing.svg().count("<rect class=")  # the border, the page and two cells
    4
    """

    def __init__(self, title, description="", width=WIDTH, height=200):
        self.title, self.description = title, description
        self.width, self.height, self.parts = width, height, []

    def cell(self, x, y, text="", kind="value", width=40, height=34, dashed=False):
        """A box with a text in its middle; dashed if it does not exist in memory."""
        style = ' stroke-dasharray="4 3"' if dashed else ""
        hatched = " hatched" if kind == "wrong" else ""
        self.parts.append(
            f'<rect class="cell {kind}{hatched}" x="{x:g}" y="{y:g}" width="{width:g}" '
            f'height="{height:g}" rx="3"{style}/>'
        )
        if text != "":
            self.text(x + width / 2, y + height / 2 + 4.5, text, "text" if not dashed else "muted")

    def cells(self, x, y, rows, kind="value", width=40, height=34, dashed=False):
        """A grid of cells, one for each number of `rows`, a list of lists or a 2-D array.

        kind     a meaning, or a function (i, j) -> meaning
        dashed   whether, or a function (i, j) -> whether, the cell is dashed
        """
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                self.cell(
                    x + j * width,
                    y + i * height,
                    short(value),
                    kind(i, j) if callable(kind) else kind,
                    width,
                    height,
                    dashed(i, j) if callable(dashed) else dashed,
                )

    def text(self, x, y, text, kind="text", anchor="middle", bold=False):
        """A text whose baseline is at `y`; anchor is "start", "middle" or "end"."""
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(
            f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}"{weight}>'
            f"{escape(text)}</text>"
        )

    def line(self, *points, kind="muted", width=1.5, dashed=False):
        """A line through two or more points (x, y)."""
        style = ' stroke-dasharray="4 3"' if dashed else ""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        self.parts.append(
            f'<polyline class="line {kind}" points="{path}" stroke-width="{width:g}"{style}/>'
        )

    def arrow(self, start, end, kind="muted", bend=0):
        """An arrow from one point (x, y) to another.

        bend  how far its middle lies off the straight line, in pixels, to the left of the way
        """
        (x1, y1), (x2, y2) = start, end
        length = max(1.0, ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5)
        control = (
            (x1 + x2) / 2 + 2 * bend * (y2 - y1) / length,
            (y1 + y2) / 2 - 2 * bend * (x2 - x1) / length,
        )
        self.parts.append(
            f'<path class="line {kind}" d="M{x1:g},{y1:g} Q{control[0]:g},{control[1]:g} '
            f'{x2:g},{y2:g}" stroke-width="1.5" marker-end="url(#{{id}}-{kind})"/>'
        )

    def dot(self, x, y, kind="value", radius=4):
        """A filled circle."""
        self.parts.append(f'<circle class="dot {kind}" cx="{x:g}" cy="{y:g}" r="{radius:g}"/>')

    def svg(self):
        """The picture as SVG text."""
        name = f"drawing{next(numbers)}"
        tips = "".join(
            f'<marker id="{name}-{kind}" markerWidth="8" markerHeight="8" refX="7" refY="4" '
            f'orient="auto"><path class="line {kind}" d="M1,1 L7,4 L1,7"/></marker>'
            for kind in COLOURS
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" id="{name}" role="img" '
            f'aria-labelledby="{name}-title {name}-desc" width="{self.width}" '
            f'height="{self.height}" viewBox="0 0 {self.width} {self.height}">'
            f'<title id="{name}-title">{escape(self.title)}</title>'
            f'<desc id="{name}-desc">{escape(self.description)}</desc>'
            f"<style>{style(name)}</style>"
            f'<defs>{tips}<pattern id="{name}-hatch" width="6" height="6" '
            'patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
            '<rect class="hatch" width="6" height="6"/><path class="line wrong" d="M0,0 V6"/>'
            f'</pattern></defs><rect class="page" width="{self.width}" height="{self.height}"/>'
            + "".join(self.parts).replace("{id}", name)
            + "</svg>"
        )

    def _repr_svg_(self):
        return self.svg()


def escape(text):
    """`text` as SVG has it: with &lt; for <, and so on."""
    import html  # late: its table of characters takes 0.3 MB, and most programs draw nothing

    return html.escape(str(text))


def style(name):
    """The style sheet of the drawing with the id `name`, for light and for dark pages."""

    def rules(dark):
        lines = [f"#{name} .page{{fill:{COLOURS['page'][dark]}}}"]
        for kind, colours in COLOURS.items():
            lines += [
                f"#{name} text.{kind},#{name} .dot.{kind}{{fill:{colours[dark]}}}",
                f"#{name} .line.{kind}{{stroke:{colours[dark]};fill:none}}",
            ]
        for kind, colours in FILLS.items():
            lines.append(
                f"#{name} .cell.{kind}{{fill:{colours[dark]};stroke:{COLOURS[kind][dark]}}}"
            )
        return "".join([*lines, f"#{name} .hatch{{fill:{FILLS['wrong'][dark]}}}"])

    return (
        f"#{name} text{{font-family:system-ui,sans-serif;font-size:{TEXT}px}}"
        f"{rules(0)}#{name} .cell.hatched{{fill:url(#{name}-hatch)}}"
        f"@media(prefers-color-scheme:dark){{{rules(1)}"
        f"#{name} .cell.hatched{{fill:url(#{name}-hatch)}}}}"
    )


def short(value):
    """A number in at most about six characters: whole numbers as they are, others to 3 digits.

    >>> short(2.0), short(-0.7546), short(8.9e-21), short("a")
    ('2', '-0.755', '8.9e-21', 'a')
    """
    if isinstance(value, str):
        return value
    return str(int(value)) if value == int(value) and abs(value) < 1e6 else f"{value:.3g}"


# computation graphs

SHAPES = {"operation": "box", "leaf": "ellipse", "constant": "plaintext"}  # in the DOT language
BOX_COLOURS = {"operation": "muted", "leaf": "value", "constant": "muted"}  # in drawings
CHARACTER, LINE, MARGIN = 7.5, 18, 9  # pixels: a character's width, a line's height, around a text
BESIDE, BETWEEN = 18, 46  # pixels between two boxes of a row, and between two rows
LANE = 12  # pixels of a row that an arrow takes which passes through it
LANES = 20_000  # with more of them than this, long arrows are drawn straight


class Graph:
    """A drawing of boxes and arrows; a notebook shows it as a picture.

    str(graph)  one line of text per box, in the order in which they were added
    .source     the graph in the DOT language of Graphviz
    .svg()      the picture, as text           .render()  the picture, as a file

    >>> graph = Graph()
    >>> graph.box("x", "x = 3", kind="leaf")
    >>> graph.box("y", "square", "9")
    >>> graph.arrow("x", "y", "6")
    >>> print(graph)
    x = 3
    square  9
    """

    def __init__(self):
        self.boxes, self.kinds, self.arrows = {}, {}, []

    def box(self, key, *lines, kind="operation"):
        """Add a box, or replace it.

        key    what arrows call it; anything that can be a key
        lines  its text; empty lines are left out, a line that begins with "grad" has the colour
               of gradients
        kind   "operation" for a result, "leaf" for an input, "constant" for a constant
        """
        self.boxes[key], self.kinds[key] = [line for line in lines if line], kind

    def arrow(self, start, end, text=""):
        """Add an arrow from one box to another, both by their keys, with a text beside it."""
        self.arrows.append((start, end, text))

    def __str__(self):
        return "\n".join("  ".join(lines) for lines in self.boxes.values())

    @property
    def source(self):
        """The graph in the DOT language of Graphviz, boxes named n0, n1, ... as they were added."""
        name = {key: f"n{i}" for i, key in enumerate(self.boxes)}
        lines = ["digraph {", "  node [shape=box];"]
        for key, text in self.boxes.items():
            kind = self.kinds[key]
            shape = "" if kind == "operation" else f", shape={SHAPES[kind]}"
            lines.append(f'  {name[key]} [label="{quoted(text)}"{shape}];')
        for start, end, text in self.arrows:
            label = f' [label="{quoted([text])}"]' if text else ""
            lines.append(f"  {name[start]} -> {name[end]}{label};")
        return "\n".join([*lines, "}"])

    def render(self, filename="graph", format="svg"):
        """Write the picture to a file.

        filename  path, with or without the ending
        format    "svg", or with Graphviz "png", "pdf" and others; RuntimeError without it
        returns   the Path of the file
        """
        path = Path(filename)
        if path.suffix != f".{format}":
            path = path.with_name(f"{path.name}.{format}")
        picture = self.svg().encode() if format == "svg" else graphviz(self.source, format)
        if not picture:
            raise RuntimeError(
                f"{format} pictures need Graphviz, its program `dot`; svg works without"
            )
        path.write_bytes(picture)
        return path

    def _repr_svg_(self):
        return self.svg()

    def rows(self):
        """Lists of keys, top to bottom: each box above those that it leads to, and near them; and
        for each arrow the keys that it passes, both ends included.

        Where an arrow passes through a row, a lane is kept free for it there: a key of the form
        (number of the arrow, row), in its place among the boxes.
        """
        row = self.heights()
        long = sum(row[start] - row[end] - 1 for start, end, _ in self.arrows)
        rows = [[] for _ in range(max(row.values(), default=-1) + 1)]  # counted from the bottom
        for key in sorted(row, key=row.get):
            rows[row[key]].append(key)
        paths, below = [], {}
        for n, (start, end, _) in enumerate(self.arrows):
            lanes = range(row[start] - 1, row[end], -1) if long <= LANES else ()
            path = [start, *[Lane((n, r)) for r in lanes], end]
            for key, r in zip(path[1:-1], lanes):
                rows[r].append(key)
            for upper, lower in zip(path, path[1:]):
                below.setdefault(upper, []).append(lower)
            paths.append(path)
        # Near the boxes below, so that few arrows cross. Places count from the middle.
        place = {}
        for keys in rows:
            wanted = {
                key: sum(place[end] for end in ends) / len(ends) if ends else 0
                for key, ends in ((key, below.get(key, ())) for key in keys)
            }
            keys.sort(key=wanted.get)
            place.update({key: i - (len(keys) - 1) / 2 for i, key in enumerate(keys)})
        return rows[::-1], paths

    def heights(self):
        """{key: number of its row, counted from the bottom}."""
        before = {key: [] for key in self.boxes}
        for start, end, _ in self.arrows:
            before[end].append(start)
        row = dict.fromkeys(self.boxes, 0)
        for key in reversed(list(graphlib.TopologicalSorter(before).static_order())):
            for start in before[key]:
                row[start] = max(row[start], row[key] + 1)
        return row

    def svg(self):
        """The picture as SVG text: one row per step, inputs at the top; no arrow passes behind a
        box."""
        rows, paths = self.rows()
        wide = {
            key: 2 * MARGIN + CHARACTER * max(map(len, [*lines, "    "]))
            for key, lines in self.boxes.items()
        }
        widths = [sum(wide.get(k, LANE) + BESIDE for k in keys) - BESIDE for keys in rows]
        aside = 12 + max((CHARACTER * len(text) for _, _, text in self.arrows), default=0)
        width = max(widths, default=0) + 2 * aside
        place, y = {}, 12  # key: left, top, width, height
        for keys, row_width in zip(rows, widths):
            x = (width - row_width) / 2
            high = max([2 * MARGIN + LINE * len(self.boxes.get(key, ())) for key in keys])
            for key in keys:
                place[key] = x, y, wide.get(key, LANE), high
                x += wide.get(key, LANE) + BESIDE
            y += high + BETWEEN
        drawing = Drawing(
            "A computation graph", f"From top to bottom: {self}", width, max(24, y - BETWEEN + 12)
        )
        self.draw_arrows(drawing, place, paths)
        for key, lines in self.boxes.items():
            x, y, width, high = place[key]
            kind = self.kinds[key]
            drawing.cell(x, y, "", BOX_COLOURS[kind], width, high, dashed=kind == "constant")
            top = y + high / 2 - LINE * (len(lines) - 1) / 2 + 4.5
            for n, line in enumerate(lines):
                colour = "gradient" if line.startswith("grad") else "text"
                drawing.text(x + width / 2, top + LINE * n, line, colour)
        return drawing.svg()

    def draw_arrows(self, drawing, place, paths):
        """Draw every arrow from the bottom of a box to the top of another, and its text beside it,
        on the side where no arrow of the same box is."""
        middle = {key: x + width / 2 for key, (x, _, width, _) in place.items()}
        leaves, arrives = {}, {}  # box: its arrows, in the order of where they lead
        for n, path in enumerate(paths):
            leaves.setdefault(path[0], []).append((middle[path[1]], n))
            arrives.setdefault(path[-1], []).append((middle[path[-2]], n))

        def port(arrows, n, key):
            x, _, width, _ = place[key]
            numbers = [m for _, m in arrows]
            return x + width * (numbers.index(n) + 1) / (len(numbers) + 1)

        for arrows in (*leaves.values(), *arrives.values()):
            arrows.sort()
        firsts = {}
        for n, path in enumerate(paths):
            points = [(port(leaves[path[0]], n, path[0]), sum(place[path[0]][1::2]))]
            for key in path[1:-1]:
                _, top, _, high = place[key]
                points += [(middle[key], top), (middle[key], top + high)]
            points.append((port(arrives[path[-1]], n, path[-1]), place[path[-1]][1] - 1))
            drawing.line(*points[:-1]) if len(points) > 2 else None
            drawing.arrow(*points[-2:])
            firsts[n] = [(a + b) / 2 for a, b in zip(points[0], points[1])]
        for n, (start, end, text) in enumerate(self.arrows):
            if text:
                near = [firsts[m][0] for _, m in (*leaves[start], *arrives[end])]
                left = firsts[n][0] < sum(near) / len(near) - 1e-6
                x, y = firsts[n][0] + (-7 if left else 7), firsts[n][1] + 4.5
                drawing.text(x, y, text, anchor="end" if left else "start")


class Lane(tuple):
    """The key of a place that an arrow passes: (number of the arrow, row)."""


def draw_graph(tensor, /, **names):
    """Draw the computation graph of a tensor: a box per tensor and per number, an arrow per input.

    tensor   anything with `creator`, whose `op` and `inputs` say how it was computed, or None.
             RuntimeError when backward() has freed its graph: retain_graph=True keeps it
    names    tensors to be shown by name, as in draw_graph(loss, x=x, w=w). ValueError for what is
             not part of the graph
    returns  a Graph: `.source` in the DOT language, `.render()` to a file; a notebook shows it
    """
    graph, name_for = Graph(), {id(x): name for name, x in names.items()}
    results, stack = {}, [tensor]
    while stack:
        x = stack.pop()
        if getattr(x, "creator", None) is not None and x not in results:
            results[x] = x.creator
            stack.extend(x.creator.inputs)

    def box(x):
        key = x if hasattr(x, "creator") else object()  # each number has a separate box
        if key not in graph.boxes:
            leaf = "leaf" if getattr(x, "requires_grad", False) else "constant"
            kind = "operation" if key in results else leaf
            graph.box(key, *label_of(x, name_for.get(id(x))), kind=kind)
        return key

    for x in sorted(results, key=lambda x: x.creator.created):
        inputs = [box(part) for part in x.creator.inputs]
        for start in inputs:
            graph.arrow(start, box(x))
    box(tensor)
    for name, x in names.items():
        if not any(x is key for key in graph.boxes):
            raise ValueError(
                f"{name} is no tensor of this graph: name what the result was made from, as in x=x"
            )
    return graph


def label_of(x, name=None):
    """The lines of the box of a tensor, a number or an array: name or operation, with shape or
    number; and, where there can be one, its gradient."""
    import numpy as np  # late: the graphs of lesson 01 need no NumPy

    from tinytorch.support.forward import name_of

    if isinstance(x, (int, float)):
        return [f"{x:.4g}"]
    if not hasattr(x, "creator"):
        return [f"constant {np.shape(x)}"]
    is_leaf = x.creator is None and x.requires_grad
    if not name and x.creator is not None:
        name = name_of(x.creator.op)
    name = name or ("leaf" if is_leaf else "constant")
    lines = [f"{name} {x.shape}" if x.ndim else f"{name} = {x.item():.4g}"]
    grad = getattr(x, "grad", None)
    if grad is not None:
        numbers = np.vectorize(lambda number: float(f"{number:.3g}"), otypes=[float])(grad)
        lines.append(f"grad {numbers.tolist() if grad.size <= 4 else grad.shape}")
    elif is_leaf:
        lines.append("grad None")
    return lines


def graphviz(source, format):
    """The bytes of the picture that Graphviz makes; None where it is not installed or refuses.

    source  the graph in the DOT language
    format  "png", "pdf", ...
    """
    program = shutil.which("dot")
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, f"-T{format}"], input=source.encode(), capture_output=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout


def quoted(lines):
    """Lines of text as the DOT language writes them between quotes."""
    return "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)


def graph_of_values(nodes):
    """The Graph of how a Value was computed: a box per Value, an arrow per input.

    nodes    Values, anything with `data grad label _op _prev _local_gradients`; every input of one
             of them is among them, too
    returns  a Graph with label, operation, data and grad in each box, and on each arrow the local
             gradient ("?" where it is unknown)
    """
    graph = Graph()
    for node in nodes:
        kind = "operation" if node._prev else "leaf"
        title = f"{node.label} {node._op}".strip()
        graph.box(node, title, f"data {node.data:.5g}", f"grad {node.grad:.5g}", kind=kind)
        unknown = node._local_gradients is unknown_derivatives
        local_gradients = itertools.repeat("?") if unknown else node._local_gradients
        for x, local in zip(node._prev, local_gradients):
            graph.arrow(x, node, local if unknown else f"{local:.4g}")
    return graph
