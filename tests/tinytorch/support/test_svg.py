"""Drawings of cells, arrows and texts, and of computation graphs."""

import re
import stat
import subprocess
import sys
import xml.dom.minidom
import xml.etree.ElementTree as tree
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tinytorch.support.derivatives import FREED
from tinytorch.support.scalars import unknown_derivatives
from tinytorch.support.svg import COLOURS, FILLS, Drawing, Graph, draw_graph, graph_of_values

ROOT = Path(__file__).resolve().parents[3]
SVG = "{http://www.w3.org/2000/svg}"


def parse(drawing):
    return tree.fromstring(drawing.svg())


def contrast(one, other):
    """The contrast ratio of two colours "#rrggbb", as WCAG 2.1 defines it."""

    def luminance(colour):
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted([luminance(one), luminance(other)], reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [0, 1], ids=["light", "dark"])
def test_every_colour_can_be_read_on_the_page_and_in_every_cell(dark):
    grounds = [COLOURS["page"][dark], *(pair[dark] for pair in FILLS.values())]
    for ink, pair in COLOURS.items():
        for ground in grounds:
            assert ink == "page" or contrast(pair[dark], ground) >= 4.5, (ink, ground)


def test_a_grid_has_one_cell_and_one_text_for_each_number():
    drawing = Drawing("a grid", height=100)
    drawing.cells(0, 0, [[1, 2.5], [3, 4]], kind=lambda i, j: "wrong" if i == j else "value")
    root = parse(drawing)
    cells = [r for r in root.iter(SVG + "rect") if "cell" in r.get("class", "")]
    assert [cell.get("class") for cell in cells] == [
        "cell wrong hatched",
        "cell value",
        "cell value",
        "cell wrong hatched",
    ]
    assert [text.text for text in root.iter(SVG + "text")] == ["1", "2.5", "3", "4"]


def test_two_drawings_on_one_page_share_no_id():
    drawing = Drawing("an arrow")
    drawing.arrow((0, 0), (10, 10), "gradient")
    one, other = parse(drawing), parse(drawing)
    ids = [{e.get("id") for e in root.iter() if e.get("id")} for root in (one, other)]
    assert not ids[0] & ids[1]
    (path,) = [e for e in one.iter(SVG + "path") if e.get("marker-end")]
    assert path.get("marker-end")[5:-1] in ids[0]


def test_texts_are_escaped_and_the_title_is_told():
    drawing = Drawing("a < b", "b & c")
    drawing.text(0, 10, "x < y")
    root = parse(drawing)
    assert root.find(SVG + "title").text == "a < b" and root.find(SVG + "desc").text == "b & c"
    assert [text.text for text in root.iter(SVG + "text")] == ["x < y"]


@pytest.fixture
def no_graphviz(monkeypatch):
    monkeypatch.setenv("PATH", "")


@pytest.fixture
def fake_dot(tmp_path, monkeypatch):
    """A `dot` that answers with its option and its input."""
    program = tmp_path / "bin" / "dot"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$1"\nwhile read line; do echo "$line"; done\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(program.parent))
    return program


def chain(length):
    graph = Graph()
    for i in range(length):
        graph.box(i, f"step {i}")
    for i in range(1, length):
        graph.arrow(i - 1, i)
    return graph


def diamond():
    """x is used by a long way and by a short one."""
    graph = Graph()
    for key in ("x", "a", "b", "c", "sum"):
        graph.box(key, key, kind="leaf" if key == "x" else "operation")
    for start, end in (("x", "a"), ("a", "b"), ("b", "sum"), ("c", "sum"), ("x", "sum")):
        graph.arrow(start, end, f"{start}{end}")
    return graph


def rectangles(svg):
    """(x, y, width, height) of every box of a picture."""
    rects = xml.dom.minidom.parseString(svg).getElementsByTagName("rect")
    return [
        tuple(float(r.getAttribute(n)) for n in ("x", "y", "width", "height"))
        for r in rects
        if r.getAttribute("class").startswith("cell")
    ]


def segments(svg):
    """((x1, y1), (x2, y2)) of every straight piece of every arrow of a picture."""
    document, pieces = xml.dom.minidom.parseString(svg), []
    for line in document.getElementsByTagName("polyline"):
        points = [tuple(map(float, p.split(","))) for p in line.getAttribute("points").split()]
        pieces += zip(points, points[1:])
    for path in document.getElementsByTagName("path"):
        if path.getAttribute("marker-end"):
            numbers = [float(n) for n in re.findall(r"-?[\d.]+", path.getAttribute("d"))]
            pieces.append((tuple(numbers[:2]), tuple(numbers[-2:])))
    return pieces


def same(svg):
    """The picture without its number, which differs between any two."""
    return re.sub(r"drawing\d+", "drawing", svg)


def inside(box, point):
    (x, y, width, height), (a, b) = box, point
    return x + 0.5 < a < x + width - 0.5 and y + 0.5 < b < y + height - 0.5


def test_the_text_has_a_line_for_each_box_without_its_empty_lines():
    graph = Graph()
    graph.box("a", "", "data 2", "grad 0")
    graph.box("b", "tanh", "")
    assert str(graph) == "data 2  grad 0\ntanh"


def test_the_source_is_what_graphviz_reads():
    graph = Graph()
    graph.box("w", "w", kind="leaf")
    graph.box(3, "3", kind="constant")
    graph.box(None, "*", 'a "quote" and a \\')
    graph.arrow("w", None, "3.0")
    graph.arrow(3, None)
    assert graph.source.splitlines() == [
        "digraph {",
        "  node [shape=box];",
        '  n0 [label="w", shape=ellipse];',
        '  n1 [label="3", shape=plaintext];',
        r'  n2 [label="*\na \"quote\" and a \\"];',
        '  n0 -> n2 [label="3.0"];',
        "  n1 -> n2;",
        "}",
    ]


def boxes_of(graph):
    rows, _ = graph.rows()
    return [[key for key in keys if key in graph.boxes] for keys in rows]


def test_a_box_stands_above_those_it_leads_to_and_near_them():
    assert boxes_of(diamond()) == [["x"], ["a"], ["b", "c"], ["sum"]]


def test_the_order_in_which_boxes_are_added_changes_no_row():
    backwards = diamond()
    backwards.boxes = dict(reversed(backwards.boxes.items()))
    rows = [sorted(keys) for keys in boxes_of(backwards)]
    assert rows == [["x"], ["a"], ["b", "c"], ["sum"]]


def test_no_arrow_passes_behind_a_box():
    graph = diamond()
    for key in "pqr":
        graph.box(key, f"a box called {key}")
        graph.arrow("x", key)
        graph.arrow(key, "sum")
        graph.arrow("b", key)
    svg = graph.svg()
    pieces, boxes = segments(svg), rectangles(svg)
    assert len(pieces) >= len(graph.arrows)
    for (x1, y1), (x2, y2) in pieces:
        for t in np.linspace(0, 1, 50):
            point = (x1 + t * (x2 - x1), y1 + t * (y2 - y1))
            assert not any(inside(box, point) for box in boxes)


def test_arrows_between_the_same_two_boxes_are_drawn_side_by_side():
    graph = Graph()
    graph.box("x", "x")
    graph.box("y", "mul")
    graph.arrow("x", "y", "3")
    graph.arrow("x", "y", "3")
    first, second = segments(graph.svg())
    assert first[0] != second[0] and first[1] != second[1]


def test_kinds_have_the_colours_of_drawings_and_gradients_their_own():
    graph = Graph()
    graph.box("x", "x = 3", "grad 7.0", kind="leaf")
    graph.box("two", "2", kind="constant")
    graph.box("y", "mul")
    svg = graph.svg()
    for part in ('class="cell value"', 'class="cell muted"', "stroke-dasharray"):
        assert part in svg
    assert re.search(r'<text class="gradient"[^>]*>grad 7.0', svg)


def test_no_two_boxes_overlap_whatever_the_length_of_their_texts():
    graph = Graph()
    for i in range(12):
        graph.box(i, *["word " * (i % 5 + 1)] * (i % 3 + 1))
        for j in range(i // 2, i):
            graph.arrow(j, i)
    boxes = rectangles(graph.svg())
    assert len(boxes) == 12
    for n, (x, y, wide, high) in enumerate(boxes):
        for u, v, w, h in boxes[:n]:
            assert x >= u + w or u >= x + wide or y >= v + h or v >= y + high


def test_the_picture_holds_every_box_and_arrow():
    graph = diamond()
    document = xml.dom.minidom.parseString(graph.svg())
    size = [float(document.documentElement.getAttribute(n)) for n in ("width", "height")]
    arrows = document.getElementsByTagName("path")
    assert sum(1 for path in arrows if path.getAttribute("marker-end")) == 5
    assert all(x + w <= size[0] and y + h <= size[1] for x, y, w, h in rectangles(graph.svg()))


def test_texts_are_escaped_in_the_picture(no_graphviz):
    graph = Graph()
    graph.box("a", '<b> & "c"')
    document = xml.dom.minidom.parseString(graph.svg())
    (text,) = document.getElementsByTagName("text")
    assert text.firstChild.data == '<b> & "c"'


def test_an_empty_graph_has_an_empty_picture(no_graphviz):
    assert rectangles(Graph().svg()) == [] and Graph().source.startswith("digraph {")


def test_a_graph_can_be_thousands_of_steps_deep(no_graphviz):
    assert chain(5_000).svg().count('<rect class="cell') == 5_000


def test_a_notebook_shows_the_same_picture(no_graphviz):
    graph = diamond()
    assert same(graph._repr_svg_()) == same(graph.svg())


@pytest.mark.parametrize("name", ["picture", "picture.svg", "of.dots"])
def test_render_writes_the_file_and_says_where(name, no_graphviz, tmp_path):
    path = diamond().render(tmp_path / name)
    assert path == tmp_path / (name.removesuffix(".svg") + ".svg")
    assert same(path.read_text(encoding="utf-8")) == same(diamond().svg())


def test_other_formats_need_graphviz(no_graphviz, tmp_path):
    with pytest.raises(RuntimeError, match="png pictures need Graphviz"):
        diamond().render(tmp_path / "picture", format="png")


def test_graphviz_draws_where_it_is_installed(fake_dot, tmp_path):
    path = diamond().render(tmp_path / "picture", format="png")
    assert path.name == "picture.png" and path.read_text().startswith("-Tpng\ndigraph {")
    assert "-Tsvg" not in diamond().render(tmp_path / "picture").read_text()  # that is ours


def test_a_graphviz_that_fails_is_as_good_as_none(fake_dot, tmp_path):
    fake_dot.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(RuntimeError, match="png pictures need Graphviz"):
        diamond().render(tmp_path / "picture", format="png")


def test_a_graph_with_many_long_arrows_is_drawn_all_the_same():
    graph = chain(1_000)
    for i in range(2, 1_000):
        graph.arrow(0, i)
    assert graph.svg().count("marker-end") == 1_997


class Made:
    """What draw_graph asks of a creator."""

    count = 0

    def __init__(self, op, inputs):
        self.op, self.inputs, self.arrays, self.options = op, inputs, inputs, {}
        Made.count += 1
        self.created = Made.count


class Box:
    """What draw_graph asks of a tensor."""

    def __init__(self, data, op=None, inputs=(), requires_grad=True):
        self.data, self.requires_grad, self.grad = np.asarray(data), requires_grad, None
        self.creator = Made(op, inputs) if op else None
        self.shape, self.ndim, self.item = self.data.shape, self.data.ndim, self.data.item


def test_the_graph_of_a_tensor_has_a_box_for_each_tensor_and_each_number():
    x, given = Box([1.0, 2.0]), Box([[0.5]], requires_grad=False)
    twice = Box([2.0, 4.0], np.multiply, (2.0, x))
    total = Box(12.34567, np.add, (twice, x, 2.0, given, np.zeros(3)))
    graph = draw_graph(total, x=x)
    assert list(graph.boxes.values()) == [
        ["2"],
        ["x (2,)", "grad None"],
        ["mul (2,)"],
        ["2"],
        ["constant (1, 1)"],
        ["constant (3,)"],
        ["add = 12.35"],
    ]
    assert list(graph.kinds.values()) == [
        "constant",
        "leaf",
        "operation",
        "constant",
        "constant",
        "constant",
        "operation",
    ]
    texts = [
        (graph.boxes[start][0], graph.boxes[end][0])
        for start, end, _ in graph.arrows
        if start in (x, twice, given)
    ]
    assert texts == [
        ("x (2,)", "mul (2,)"),
        ("mul (2,)", "add = 12.35"),
        ("x (2,)", "add = 12.35"),
        ("constant (1, 1)", "add = 12.35"),
    ]
    assert len(graph.arrows) == 7


def test_gradients_stand_in_the_boxes():
    x, w = Box([[1.0, 2.0]]), Box(np.zeros((3, 4)))
    x.grad, w.grad = np.array([[1 / 3, -2.0]], "float32"), np.zeros((3, 4))
    out = Box(1.5, np.matmul, (x, w))
    out.grad = np.array(1e-9)
    assert str(draw_graph(out)).split("\n") == [
        "leaf (1, 2)  grad [[0.333, -2.0]]",
        "leaf (3, 4)  grad (3, 4)",
        "matmul = 1.5  grad 1e-09",
    ]


def test_a_freed_graph_cannot_be_drawn():
    inner = Box([1.0, 4.0], np.power, (Box([1.0, 2.0]), 2))
    outer = Box(5.0, np.add, (inner, np.ones(2)))
    inner.creator = FREED
    with pytest.raises(RuntimeError, match="retain_graph=True to go through it twice or to draw"):
        draw_graph(outer)


def test_a_tensor_that_was_not_computed_is_one_box():
    assert str(draw_graph(Box(3.0))) == "leaf = 3  grad None"


@pytest.mark.parametrize("stranger", [3.0, Box(1.0)])
def test_a_name_for_what_is_not_in_the_graph_is_refused(stranger):
    with pytest.raises(ValueError, match="y is no tensor of this graph"):
        draw_graph(Box(3.0), y=stranger)


def test_drawing_needs_no_numpy_until_there_are_tensors():
    code = "import sys; from tinytorch.support.svg import Graph; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_the_graph_of_values_has_their_labels_and_local_gradients():
    def node(data, op="", inputs=(), local_gradients=(), label=""):
        return SimpleNamespace(
            data=data, grad=0.0, label=label, _op=op, _prev=inputs, _local_gradients=local_gradients
        )

    class Node(SimpleNamespace):
        __hash__ = object.__hash__

    x = Node(**vars(node(2.0, label="x")))
    y = Node(**vars(node(6.0, "triple", (x,), (3.0,))))
    z = Node(**vars(node(1.0, "unknown", (y,), unknown_derivatives)))
    graph = graph_of_values([z, y, x])
    assert str(graph).splitlines()[1:] == ["triple  data 6  grad 0", "x  data 2  grad 0"]
    assert [text for _, _, text in graph.arrows] == ["?", "3"]
    assert list(graph.kinds.values()) == ["operation", "operation", "leaf"]
