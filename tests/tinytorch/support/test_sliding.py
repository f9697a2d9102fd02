"""Drawings of a sliding kernel show the numbers that the operations compute."""

import xml.etree.ElementTree as tree

import numpy as np
import pytest

from tinytorch.support.drawing import WIDTH
from tinytorch.support.sliding import (
    draw_col2im,
    draw_im2col,
    draw_max_pool,
    draw_product,
    draw_receptive_field,
    draw_sliding,
)

SVG = "{http://www.w3.org/2000/svg}"
PICTURE = np.arange(16).reshape(4, 4)
DRAWINGS = {
    "sliding": lambda: draw_sliding([0, 0, 0, 5, 5, 5, 5], [-1, 0, 1], stride=2, padding=1),
    "product": lambda: draw_product(PICTURE, [[-1, 0, 1]] * 3, (1, 0)),
    "window": lambda: draw_im2col(PICTURE, (3, 3), window=1),
    "weight": lambda: draw_im2col(PICTURE, (3, 3), weight=(0, 0)),
    "col2im": lambda: draw_col2im((4, 4), (3, 3), (1, 1)),
    "pool": lambda: draw_max_pool(PICTURE, (2, 2), [[10, 20], [30, 40]]),
    "field": lambda: draw_receptive_field([(3, 2), (3, 1)], 0),
}


def cells(drawing):
    """(kind, x, y, text) of every cell that holds a text, in the order in which they were drawn."""
    found, last = [], None
    for element in tree.fromstring(drawing.svg()):
        if element.tag == SVG + "rect" and "cell" in element.get("class"):
            last = element
        elif element.tag == SVG + "text" and last is not None:
            x, y = float(last.get("x")), float(last.get("y"))
            found.append((last.get("class").split()[1], x, y, element.text))
            last = None
    return found


def marked(drawing, kind):
    return [text for k, _, _, text in cells(drawing) if k == kind]


@pytest.mark.parametrize("name", DRAWINGS)
def test_nothing_lies_outside_of_the_drawing(name):
    drawing = DRAWINGS[name]()
    assert drawing.width == WIDTH
    for element in tree.fromstring(drawing.svg()).iter():
        if element.tag == SVG + "rect" and "cell" in element.get("class", ""):
            x, y, width, height = (float(element.get(k)) for k in ("x", "y", "width", "height"))
            assert 0 <= x <= WIDTH - width and 0 <= y <= drawing.height - height
        elif element.tag == SVG + "text":
            x, y, reach = float(element.get("x")), float(element.get("y")), 7.3 * len(element.text)
            anchor = element.get("text-anchor")
            left = {"start": x, "middle": x - reach / 2, "end": x - reach}[anchor]
            assert 0 <= left and left + reach <= WIDTH and y <= drawing.height, element.text


def test_every_position_of_the_kernel_is_drawn_with_its_output():
    drawn = cells(DRAWINGS["sliding"]())
    assert [text for kind, x, _, text in drawn if kind == "value" and x > 300] == [
        "0",
        "5",
        "0",
        "-5",
    ]
    assert [text for kind, *_, text in drawn if kind == "muted"] == ["-1", "0", "1"] * 4


def test_a_product_marks_its_window_and_adds_up():
    drawing = DRAWINGS["product"]()
    assert marked(drawing, "value")[:9] == ["4", "5", "6", "8", "9", "10", "12", "13", "14"]
    assert "14·1 = 6" in drawing.svg() and "4·(-1) + 5·0 + 6·1 +" in drawing.svg()


def test_a_window_is_a_column_and_a_weight_is_a_row():
    window = ["1", "2", "3", "5", "6", "7", "9", "10", "11"]
    assert marked(DRAWINGS["window"](), "value") == window * 2
    assert marked(DRAWINGS["weight"](), "value") == ["0", "1", "4", "5"] * 2


def test_col2im_adds_up_as_often_as_a_pixel_was_copied():
    drawn = cells(DRAWINGS["col2im"]())
    sums = [text for *_, text in drawn[:16]]
    assert sums == list("1221244224421221")
    assert [kind for kind, *_ in drawn[16:]].count("gradient") == 4


def test_only_the_largest_of_a_window_gets_a_gradient():
    drawn = cells(DRAWINGS["pool"]())
    assert [text for kind, *_, text in drawn[:20] if kind == "value"] == [
        *("5", "7", "13", "15"),
        *("5", "7", "13", "15"),
    ]
    gradient = [int(text) for *_, text in drawn[20:36]]
    assert np.flatnonzero(gradient).tolist() == [5, 7, 13, 15]
    assert [gradient[n] for n in (5, 7, 13, 15)] == [10, 20, 30, 40]


def test_a_receptive_field_marks_the_pixels_that_a_number_depends_on():
    for layers, number, marks in [
        ([(3, 2), (3, 1)], 0, [1, 3, 7]),
        ([(2, 1), (2, 2), (3, 1)], 1, [1, 3, 6, 7]),
        ([(1, 2), (3, 1)], 0, [1, 3, 3]),
    ]:
        svg = tree.fromstring(draw_receptive_field(layers, number).svg())
        rows = {}
        for element in svg:
            if element.tag == SVG + "rect" and "cell value" in element.get("class"):
                rows[float(element.get("y"))] = rows.get(float(element.get("y")), 0) + 1
        assert [rows[y] for y in sorted(rows)] == marks
