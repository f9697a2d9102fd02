"""Pictures of graphs: their text, their DOT source, their layout, with Graphviz and without."""

import doctest
import stat
import xml.dom.minidom

import pytest

from tinytorch.support import graphs
from tinytorch.support.graphs import Graph


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
        graph.box(key, key, kind="leaf" if key == "x" else "made")
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
    graph.box(3, "3", kind="given")
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
