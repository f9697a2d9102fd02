"""The drawings of attention: what they say, that everything stays on the page, and that the picture
of a trained layer is that of one."""

import re

import numpy as np
import pytest

from tinytorch.support.attention_maps import (
    LEARNED,
    draw_lookup,
    draw_map,
    draw_masks,
    draw_positions,
    draw_rotation,
    draw_split,
    draw_weights,
)
from tinytorch.support.drawing import WIDTH
from tinytorch.support.repeat_task import HALF


@pytest.mark.parametrize(
    "drawing",
    [
        draw_lookup(["east", "north", "west"], [2.0, 1.5, -2.0], [0.0, 0.0, 1.0], [1, 2, 3]),
        draw_masks({"one": np.tri(4), "another: wrong": np.tri(2, 7)}),
        draw_split(3, 4, 2),
        draw_split(2, 6, 2),
    ],
    ids=["lookup", "masks", "two heads", "wide heads"],
)
def test_every_box_is_on_the_page(drawing):
    boxes = re.findall(
        r'<rect class="cell[^"]*" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"',
        drawing.svg(),
    )
    assert boxes
    for x, y, width, height in (map(float, box) for box in boxes):
        assert x + width <= WIDTH and y + height <= drawing.height
    for x in re.findall(r'<text class="[a-z]+" x="([\d.]+)"', drawing.svg()):
        assert 0 <= float(x) <= WIDTH


def test_a_map_shows_the_weights_it_is_given():
    weights = np.array([[1.0, 0.0], [0.25, 0.75]])
    (image,) = draw_map(weights, "ab", ["one", "two"]).axes[0].images
    assert np.array_equal(image.get_array(), weights)
    (image,) = draw_positions(weights).axes[0].images
    assert np.array_equal(image.get_array(), weights)


def test_weights_are_sorted():
    (line,) = draw_weights([[0.1, 0.6, 0.3]], ["1"]).axes[0].lines
    assert line.get_ydata().tolist() == [0.6, 0.3, 0.1]


def test_the_first_picture_shows_letters_of_the_repeat_task():
    letters, weights = LEARNED
    assert len(letters) == 2 * HALF - 1 and letters[:11] == letters[12:]
    assert weights.shape == (12, 23) and np.allclose(weights.sum(axis=1), 1, atol=0.03)
    assert (weights.argmax(axis=1) == np.arange(12)).all()


def test_what_a_reshape_moves_is_hatched():
    # the two numbers of head 0 at position 0, and those of head 1 at the last one, stay in place
    assert draw_split(3, 4, 2).svg().count('class="cell wrong') == 8
    assert draw_split(1, 4, 2).svg().count('class="cell wrong') == 0


def test_rotating_both_by_as_much_changes_no_dot_product():
    drawing = draw_rotation([1.0, 0.3], [0.8, 0.6], 0.5, [(3, 1), (7, 5)])
    products = re.findall(r"dot product ([-\d.]+)", drawing.description)
    z = complex(1, 0.3) * np.exp(1j) * complex(0.8, -0.6)
    assert products == [f"{z.real:.2f}"] * 2
    moved = draw_rotation([1.0, 0.3], [0.8, 0.6], 0.5, [(3, 1), (7, 4)])
    assert len(set(re.findall(r"dot product ([-\d.]+)", moved.description))) == 2
    for x in re.findall(r'<text class="[a-z]+" x="([\d.]+)"', drawing.svg()):
        assert 0 < float(x) < WIDTH
