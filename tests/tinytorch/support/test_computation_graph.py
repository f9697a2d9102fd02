"""Drawn computation graphs: their numbers, and that nothing overlaps or is cut off."""

import xml.etree.ElementTree as tree
from types import SimpleNamespace

import pytest

from tinytorch.support import computation_graph
from tinytorch.support.computation_graph import GRADIENT, VALUE, WIDE, draw, evaluate
from tinytorch.support.handmade import unknown_derivatives

SVG = "{http://www.w3.org/2000/svg}"
INPUTS = {"a": 2.0, "b": -3.0, "c": 10.0, "d": 5.0}
STEPS = {"e": ("a", "*", "b"), "f": ("e", "+", "c"), "g": ("a", "+", "d"), "L": ("f", "*", "g")}
PLACES = {
    "c": (0, 0),
    "b": (1, 0),
    "a": (2, 0),
    "d": (3, 0),
    "e": (1.3, 1),
    "f": (0.6, 2),
    "g": (2.5, 2),
    "L": (1.5, 3),
}
GRADIENTS = {"L": 1, "f": 7, "g": 4, "e": 7, "c": 7, "d": 4, "b": 14, "a": -17}


def texts(drawing):
    return [text.text for text in tree.fromstring(drawing.svg()).iter(SVG + "text")]


def test_values_and_local_gradients_are_computed():
    values, edges = evaluate(INPUTS, STEPS)
    assert values == INPUTS | {"e": -6.0, "f": 4.0, "g": 7.0, "L": 28.0}
    assert edges == {
        ("a", "e", 0): -3.0,
        ("b", "e", 1): 2.0,
        ("e", "f", 0): 1.0,
        ("c", "f", 1): 1.0,
        ("a", "g", 0): 1.0,
        ("d", "g", 1): 1.0,
        ("f", "L", 0): 7.0,
        ("g", "L", 1): 4.0,
    }


def test_without_gradients_their_places_are_empty():
    found = texts(draw(INPUTS, STEPS, PLACES))
    assert found.count("grad ?") == 8 and "L = f * g" in found and "28" in found
    assert not any("\N{MULTIPLICATION SIGN}" in text for text in found)


def test_with_gradients_boxes_and_edges_have_their_numbers():
    found = texts(draw(INPUTS, STEPS, PLACES, GRADIENTS))
    for gradient in GRADIENTS.values():
        assert f"grad {gradient}" in found
    factors = sorted(text[1:] for text in found if text[0] == "\N{MULTIPLICATION SIGN}")
    assert factors == ["-3", "1", "1", "1", "1", "2", "4", "7"]


@pytest.mark.parametrize("gradients", [None, GRADIENTS], ids=["empty", "filled"])
def test_boxes_do_not_overlap_and_stay_in_the_picture(gradients):
    drawing = draw(INPUTS, STEPS, PLACES, gradients)
    cells = [
        [float(r.get(name)) for name in ("x", "y", "width", "height")]
        for r in tree.fromstring(drawing.svg()).iter(SVG + "rect")
        if r.get("class", "").startswith("cell")
    ]
    boxes = [(x, y) for x, y, _, height in cells if height == VALUE]
    assert len(boxes) == 8 and len(cells) == 16
    for n, (x, y) in enumerate(boxes):
        assert 0 <= x <= drawing.width - WIDE and 0 <= y <= drawing.height - VALUE - GRADIENT
        for u, v in boxes[:n]:
            assert abs(x - u) >= WIDE or abs(y - v) > VALUE + GRADIENT


def test_an_input_that_is_used_twice_has_two_edges():
    drawing = draw({"x": 2.0}, {"y": ("x", "*", "x")}, {"x": (0, 0), "y": (0, 1)}, {"x": 4, "y": 1})
    paths = [p for p in tree.fromstring(drawing.svg()).iter(SVG + "path") if p.get("marker-end")]
    assert len({p.get("d") for p in paths}) == 2
    assert texts(drawing).count("\N{MULTIPLICATION SIGN}2") == 2


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
    graph = computation_graph.graph_of_values([z, y, x])
    assert str(graph).splitlines()[1:] == ["triple  data 6  grad 0", "x  data 2  grad 0"]
    assert [text for _, _, text in graph.arrows] == ["?", "3"]
    assert list(graph.kinds.values()) == ["operation", "operation", "leaf"]
