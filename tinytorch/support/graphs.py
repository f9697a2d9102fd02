"""Pictures of computation graphs: boxes and arrows, as text, in the DOT language and as SVG.

A `Graph` takes boxes and arrows and knows nothing of what they stand for; `graph_of` fills one
from what tensors remember of their origin. Graphviz makes the picture where its program `dot` is
installed. Elsewhere the boxes are laid out here, in columns from left to right.
"""

import graphlib
import html
import shutil
import subprocess
from pathlib import Path

SHAPES = {"operation": "box", "leaf": "ellipse", "constant": "plaintext"}  # in the DOT language
LOOKS = {
    "operation": 'fill="white" stroke="black"',
    "leaf": 'fill="#cde" stroke="black" rx="13"',
    "constant": 'fill="none"',
}  # in SVG
CHARACTER, LINE, MARGIN = 7, 15, 8  # pixels: a character's width, a line's height, around a text
BETWEEN = 55  # pixels from one column to the next: room for the text of an arrow
TIP = (
    '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="8" refY="4" orient="auto">'
    '<path d="M0,0 L8,4 L0,8" fill="none" stroke="gray"/></marker></defs>'
)


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
        lines  its text; empty lines are left out
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
        lines = ["digraph {", "  rankdir=LR;", "  node [shape=box];"]
        for key, text in self.boxes.items():
            kind = self.kinds[key]
            shape = "" if kind == "operation" else f", shape={SHAPES[kind]}"
            lines.append(f'  {name[key]} [label="{quoted(text)}"{shape}];')
        for start, end, text in self.arrows:
            label = f' [label="{quoted([text])}"]' if text else ""
            lines.append(f"  {name[start]} -> {name[end]}{label};")
        return "\n".join([*lines, "}"])

    def svg(self):
        """The picture as SVG text: by Graphviz where it is installed, else in columns."""
        picture = graphviz(self.source, "svg")
        return picture.decode() if picture else self.svg_in_columns()

    def render(self, filename="graph", format="svg"):
        """Write the picture to a file.

        filename  path, with or without the ending
        format    "svg", or with Graphviz "png", "pdf" and others; RuntimeError without it
        returns   the Path of the file
        """
        path = Path(filename)
        if path.suffix != f".{format}":
            path = path.with_name(f"{path.name}.{format}")
        picture = graphviz(self.source, format)
        if not picture and format != "svg":
            raise RuntimeError(
                f"{format} pictures need Graphviz, its program `dot`; svg works without"
            )
        path.write_bytes(picture or self.svg_in_columns().encode())
        return path

    def _repr_svg_(self):
        return self.svg()

    def columns(self):
        """Lists of keys, left to right: each box left of those that it leads to, and near them."""
        before, after = {key: [] for key in self.boxes}, {key: [] for key in self.boxes}
        for start, end, _ in self.arrows:
            before[end].append(start)
            after[start].append(end)
        column = dict.fromkeys(self.boxes, 0)  # counted from the right
        for key in reversed(list(graphlib.TopologicalSorter(before).static_order())):
            for start in before[key]:
                column[start] = max(column[start], column[key] + 1)
        columns = [[] for _ in range(max(column.values(), default=-1) + 1)]
        for key, n in column.items():
            columns[n].append(key)
        # Near the boxes that it leads to, so that few arrows cross. Heights count from the middle.
        height = {}
        for keys in columns:
            keys.sort(
                key=lambda key: sum(height[end] for end in after[key]) / max(1, len(after[key]))
            )
            height.update({key: i - (len(keys) - 1) / 2 for i, key in enumerate(keys)})
        return columns[::-1]

    def svg_in_columns(self):
        """The picture as SVG text, made without Graphviz: one column per step, boxes centered."""
        columns = self.columns()
        tallest = max(map(len, columns), default=0)
        high = 2 * MARGIN + LINE * max(map(len, self.boxes.values()), default=0)
        down = high + 20  # from one box to the next
        place, left = {}, 20
        for keys in columns:
            longest = max(len(line) for key in keys for line in [*self.boxes[key], "  "])
            wide = 2 * MARGIN + CHARACTER * longest
            for i, key in enumerate(keys):
                place[key] = left, 20 + down * (i + (tallest - len(keys)) / 2), wide
            left += wide + BETWEEN
        parts = [TIP]
        for start, end, text in self.arrows:
            (x1, y1, wide), (x2, y2, _) = place[start], place[end]
            x1, y1, y2 = x1 + wide, y1 + high / 2, y2 + high / 2
            parts.append(
                f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="gray" '
                'marker-end="url(#tip)"/>'
            )
            if text:
                parts.append(svg_text((x1 + x2) / 2, (y1 + y2) / 2 - 4, text, 'fill="gray"'))
        for key, lines in self.boxes.items():
            x, y, wide = place[key]
            look = LOOKS[self.kinds[key]]
            parts.append(f'<rect x="{x}" y="{y}" width="{wide}" height="{high}" {look}/>')
            top = y + high / 2 - LINE * (len(lines) - 1) / 2 + 4
            parts += [svg_text(x + wide / 2, top + LINE * n, line) for n, line in enumerate(lines)]
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{left - BETWEEN + 20}" '
            f'height="{20 + down * tallest}" font-family="monospace" font-size="11" '
            'text-anchor="middle" style="background: white">'
        )
        return "\n".join([head, *parts, "</svg>"])


def graph_of(nodes, names):
    """The Graph of how a tensor was made: a box per tensor and per number, an arrow per input.

    nodes    tensors, each after those that it was made from; a tensor is anything with `creator`,
             whose `op` and `inputs` say how it was made, or None
    names    {name: tensor}: what is shown by its name instead of its operation. ValueError for
             what is not part of the graph
    returns  a Graph, whose boxes have their tensors as keys
    """
    graph, name_for = Graph(), {id(x): name for name, x in names.items()}

    def box(x):
        if not hasattr(x, "creator"):
            key = object()  # each number has a box of its own
            graph.box(key, label_of(x), kind="constant")
            return key
        if x not in graph.boxes:
            kind = (
                "operation" if x.creator is not None else "leaf" if x.requires_grad else "constant"
            )
            graph.box(x, label_of(x, name_for.get(id(x))), kind=kind)
        return x

    for node in nodes:
        inputs = [box(x) for x in node.creator.inputs] if node.creator is not None else []
        for start in inputs:
            graph.arrow(start, box(node))
        box(node)
    for name, x in names.items():
        if not any(x is key for key in graph.boxes):
            raise ValueError(
                f"{name} is no tensor of this graph: name what the result was made from, as in x=x"
            )
    return graph


def label_of(x, name=None):
    """The text of the box of a tensor, a number or an array: name or operation, shape or number."""
    import numpy as np  # late: the graphs of lesson 05 need no NumPy

    from tinytorch.support.validation import name_of

    if not hasattr(x, "creator"):
        return f"{x:.4g}" if isinstance(x, (int, float)) else f"constant {np.shape(x)}"
    if not name and x.creator is not None:
        name = name_of(x.creator.op)
    name = name or ("leaf" if x.requires_grad else "constant")
    return f"{name} {x.shape}" if x.ndim else f"{name} = {x.item():.4g}"


def graphviz(source, format):
    """The bytes of the picture that Graphviz makes; None where it is not installed or refuses.

    source  the graph in the DOT language
    format  "svg", "png", "pdf", ...
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
    """Lines of text as they stand between quotes in the DOT language."""
    return "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)


def svg_text(x, y, text, style=""):
    """An SVG element: `text` around the place (x, y), in pixels."""
    return f'<text x="{x}" y="{y}" {style}>{html.escape(text)}</text>'
