"""The pictures of lesson 01."""

import math
import random

import numpy as np
import pytest
from svg_contents import assert_on_page, cells, elements, texts

from tinytorch.core.backprop import Value
from tinytorch.pictures.backprop import (
    draw,
    draw_boundary,
    evaluate,
    make_rings,
    seconds_per_gradient,
    train_in_numpy,
)


def test_one_class_lies_inside_the_other():
    points, targets = make_rings(inner=5, outer=9, generator=random.Random(3))
    radius = [math.hypot(*point) for point in points]
    assert targets == [1.0] * 5 + [-1.0] * 9
    assert max(radius[:5]) < 0.6 and min(radius[5:]) > 0.8
    assert make_rings() == make_rings()


def test_training_lowers_the_loss_and_separates_the_classes():
    points, targets = make_rings()

    def loss(steps):
        outputs = train_in_numpy(points, targets, [6, 1], learning_rate=0.01, steps=steps)(points)
        return ((outputs - targets) ** 2).sum(), (np.sign(outputs) == targets).all()

    (before, _), (after, separated) = loss(0), loss(100)
    assert after < 4 < before and separated


def test_the_picture_has_a_boundary_and_every_point():
    points, targets = make_rings()
    figure = draw_boundary(lambda x: 0.7 - np.hypot(*x.T), points, targets, "a circle")
    (axes,) = figure.axes
    drawn = [c.get_offsets() for c in axes.collections if len(c.get_offsets()) > 1]
    assert sorted(map(len, drawn)) == [10, 16] and axes.get_title() == "a circle"


def test_central_differences_take_longer_with_more_parameters():
    calls = []

    def numerical_gradient(f, numbers):
        calls.append((len(numbers), f(numbers)))

    count, central, backward = seconds_per_gradient(3, Value, numerical_gradient)
    assert count == 13 and [n for n, _ in calls] == [13] and calls[0][1] > 1
    assert central > 0 and backward > 0


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
    assert len(cells(drawing)) == 16
    assert_on_page(drawing)


def test_an_input_that_is_used_twice_has_two_edges():
    drawing = draw({"x": 2.0}, {"y": ("x", "*", "x")}, {"x": (0, 0), "y": (0, 1)}, {"x": 4, "y": 1})
    paths = [path for path in elements(drawing, "path") if path.get("marker-end")]
    assert len({p.get("d") for p in paths}) == 2
    assert texts(drawing).count("\N{MULTIPLICATION SIGN}2") == 2
