"""Pictures of graphs: their text, their DOT source, their layout, with Graphviz and without."""

import doctest
import stat
import subprocess
import sys
import xml.dom.minidom
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tinytorch.support import graphs
from tinytorch.support.graphs import Graph, graph_of

ROOT = Path(__file__).resolve().parents[3]


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
    found = xml.dom.minidom.parseString(svg).getElementsByTagName("rect")
    return [tuple(float(r.getAttribute(n)) for n in ("x", "y", "width", "height")) for r in found]


def test_the_examples_are_true():
    assert doctest.testmod(graphs).failed == 0


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
    graph.arrow("w", None, "slope 3")
    graph.arrow(3, None)
    assert graph.source.splitlines() == [
        "digraph {",
        "  rankdir=LR;",
        "  node [shape=box];",
        '  n0 [label="w", shape=ellipse];',
        '  n1 [label="3", shape=plaintext];',
        r'  n2 [label="*\na \"quote\" and a \\"];',
        '  n0 -> n2 [label="slope 3"];',
        "  n1 -> n2;",
        "}",
    ]


def test_a_box_stands_left_of_those_it_leads_to_and_near_them():
    assert diamond().columns() == [["x"], ["a"], ["b", "c"], ["sum"]]


def test_the_order_in_which_boxes_are_added_changes_no_column():
    backwards = diamond()
    backwards.boxes = dict(reversed(backwards.boxes.items()))
    assert [sorted(keys) for keys in backwards.columns()] == [["x"], ["a"], ["b", "c"], ["sum"]]


def test_no_two_boxes_overlap_whatever_the_length_of_their_texts(no_graphviz):
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


def test_the_picture_holds_every_box_and_arrow(no_graphviz):
    graph = diamond()
    document = xml.dom.minidom.parseString(graph.svg())
    size = [float(document.documentElement.getAttribute(n)) for n in ("width", "height")]
    assert len(document.getElementsByTagName("line")) == 5
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
    assert chain(5_000).svg().count("<rect") == 5_000


def test_a_notebook_shows_the_same_picture(no_graphviz):
    graph = diamond()
    assert graph._repr_svg_() == graph.svg()


@pytest.mark.parametrize("name", ["picture", "picture.svg", "of.dots"])
def test_render_writes_the_file_and_says_where(name, no_graphviz, tmp_path):
    path = diamond().render(tmp_path / name)
    assert path == tmp_path / (name.removesuffix(".svg") + ".svg")
    assert path.read_text(encoding="utf-8") == diamond().svg()


def test_other_formats_need_graphviz(no_graphviz, tmp_path):
    with pytest.raises(RuntimeError, match="png pictures need Graphviz"):
        diamond().render(tmp_path / "picture", format="png")


def test_graphviz_draws_where_it_is_installed(fake_dot, tmp_path):
    assert diamond().svg().splitlines()[:2] == ["-Tsvg", "digraph {"]
    path = diamond().render(tmp_path / "picture", format="png")
    assert path.name == "picture.png" and path.read_text().startswith("-Tpng\ndigraph {")


def test_a_graphviz_that_fails_is_done_without(fake_dot):
    fake_dot.write_text("#!/bin/sh\nexit 1\n")
    assert len(rectangles(diamond().svg())) == 5


class Box:
    """What graph_of asks of a tensor."""

    def __init__(self, data, op=None, inputs=(), requires_grad=True):
        self.data, self.requires_grad = np.asarray(data), requires_grad
        self.creator = SimpleNamespace(op=op, inputs=inputs) if op else None
        self.shape, self.ndim, self.item = self.data.shape, self.data.ndim, self.data.item


def test_the_graph_of_a_tensor_has_a_box_for_each_tensor_and_each_number():
    x, given = Box([1.0, 2.0]), Box([[0.5]], requires_grad=False)
    twice = Box([2.0, 4.0], np.multiply, (2.0, x))
    total = Box(12.34567, np.add, (twice, x, 2.0, given, np.zeros(3)))
    graph = graph_of([twice, total], {"x": x})
    assert list(graph.boxes.values()) == [
        ["2"],
        ["x (2,)"],
        ["multiply (2,)"],
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
        ("x (2,)", "multiply (2,)"),
        ("multiply (2,)", "add = 12.35"),
        ("x (2,)", "add = 12.35"),
        ("constant (1, 1)", "add = 12.35"),
    ]
    assert len(graph.arrows) == 7


def test_a_tensor_that_nothing_made_is_one_box():
    assert str(graph_of([Box(3.0)], {})) == "leaf = 3"


@pytest.mark.parametrize("stranger", [3.0, Box(1.0)])
def test_a_name_for_what_is_not_in_the_graph_is_refused(stranger):
    with pytest.raises(ValueError, match="y is no tensor of this graph"):
        graph_of([Box(3.0)], {"y": stranger})


def test_drawing_needs_no_numpy_until_there_are_tensors():
    code = (
        "import sys; from tinytorch.support.graphs import Graph; sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
