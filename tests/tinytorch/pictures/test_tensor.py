"""The pictures of lesson 02."""

import re

import numpy as np
import pytest
from svg_contents import cells

from tinytorch.pictures.tensor import (
    draw_broadcasting,
    draw_channels,
    draw_digits,
    draw_matmul,
    draw_strides,
    load_network,
)


@pytest.fixture(scope="module")
def network():
    return load_network()


def test_the_network_reads_digits_that_it_was_not_fitted_to(network):
    images, labels, (W1, b1, W2, b2) = network
    scores = np.maximum(images @ W1 + b1, 0) @ W2 + b2
    assert scores.shape == (359, 10) and scores.dtype == "float32"
    assert (scores.argmax(axis=1) == labels).mean() > 0.94


def test_the_network_is_the_same_each_time(network):
    again = load_network()
    assert all(np.array_equal(a, b) for a, b in zip(network[2], again[2]))


def test_a_wrong_answer_stands_above_its_image_in_red(network):
    images, labels, _ = network
    answers = labels[:7].copy()
    answers[2] = (answers[2] + 1) % 10
    texts = draw_digits(images[:7], answers, labels[:7]).axes[0].texts
    assert [text.get_text() for text in texts] == [
        f"{a} (is {b})" if a != b else str(a) for a, b in zip(answers, labels)
    ]
    assert len({text.get_color() for text in texts}) == 2


X = np.array([[10, 11, 12], [20, 21, 22]])


@pytest.mark.parametrize(
    "array, index, sentence",
    [
        (X, (1, 2), "x[1, 2] is at position 1 · 3 + 2 · 1 = 5"),
        (X.T, (2, 1), "x[2, 1] is at position 2 · 1 + 1 · 3 = 5"),
        (X, (0, 0), "x[0, 0] is at position 0 · 3 + 0 · 1 = 0"),
    ],
)
def test_the_marked_cell_of_memory_holds_the_element(array, index, sentence):
    drawing = draw_strides(array, index)
    svg = drawing.svg()
    assert sentence in svg
    numbers = [cell.text for cell in cells(drawing)]
    assert numbers[:6] == ["10", "11", "12", "20", "21", "22"]  # memory stays
    assert numbers[6:] == [str(n) for n in array.ravel()]
    assert [cell.text for cell in cells(drawing, "value")] == [str(array[index])] * 2
    assert svg.count("marker-end") == sum(index)  # an arrow for each step


def test_the_drawing_follows_the_given_strides():
    assert draw_strides(X, (1, 1), strides=(3, 1)).svg().count("21</text>") == 2
    wrong = draw_strides(X, (1, 1), strides=(1, 2)).svg()
    assert "x[1, 1] is at position 1 · 1 + 1 · 2 = 3" in wrong and "strides (1, 2)" in wrong


@pytest.mark.parametrize(
    "a, b, operator",
    [
        ([[1, 2, 3], [4, 5, 6]], [10, 20, 30], "+"),
        ([[0.5], [2.0], [4.0]], [0.5, 2.0, 4.0], "-"),
        ([1, 2, 3], 5, "*"),
        ([[1, 2]], [[3], [4]], "+"),
    ],
)
def test_a_drawing_shows_the_operands_and_the_result(a, b, operator):
    a, b = np.array(a), np.array(b)
    result = {"+": a + b, "-": a - b, "*": a * b}[operator]
    rank, n = result.ndim, result.size
    contents = cells(draw_broadcasting(a, b, operator))
    shapes, grids = contents[: 3 * rank], contents[3 * rank :]
    assert [cell.text for cell in shapes[2 * rank :]] == [str(m) for m in result.shape]
    assert sum(cell.dashed for cell in shapes) == 2 * rank - a.ndim - b.ndim
    assert len(grids) == 3 * n
    assert [float(cell.text) for cell in grids[2 * n :]] == result.ravel().tolist()
    for part, grid in ((a, grids[:n]), (b, grids[n : 2 * n])):
        repeated = np.broadcast_to(part, result.shape)
        assert [float(cell.text) for cell in grid] == repeated.ravel().tolist()
        assert sum(not cell.dashed for cell in grid) == part.size


def test_unwanted_elements_are_hatched():
    result = cells(draw_broadcasting([[1], [2]], [1, 2], "-", wrong=[(0, 1), (1, 0)]))[-4:]
    assert [cell.kind for cell in result] == ["value", "wrong", "wrong", "value"]


def test_lengths_that_do_not_fit_are_marked():
    drawing = draw_broadcasting(np.ones((2, 3)), np.ones(2))
    assert [cell.kind for cell in cells(drawing)] == ["value", "wrong", "value", "wrong"]
    assert "ValueError" in drawing.svg()


@pytest.mark.parametrize("shape", [(1, 2, 3), (1, 3, 3), (3, 1, 2)])
def test_each_element_has_the_colour_of_its_channel(shape):
    picture = np.arange(np.prod(shape)).reshape(shape)
    svg = draw_channels(picture).svg()
    cells = re.findall(r'<rect class="cell (\w+)".*?/><text.*?>(\d+)</text>', svg)
    n = picture.size
    colour = dict(zip(picture.ravel().tolist(), n * ["value", "gradient", "muted"][: shape[2]]))
    assert all(kind == colour[int(text)] for kind, text in cells)
    grids = [[int(text) for _, text in cells[i : i + n]] for i in (0, n, 2 * n)]
    assert grids[0] == grids[1] == picture.ravel().tolist()  # reshape moves no element
    assert grids[2] == picture.transpose(2, 0, 1).ravel().tolist()
    assert "channels are mixed" in svg and "a row is a channel" in svg


@pytest.mark.parametrize("i, j, sentence", [(0, 0, "1·1 + 2·0 + 3·2 = 7"), (1, 1, "= -1")])
def test_row_and_column_of_an_element_are_marked(i, j, sentence):
    a, b = np.array([[1, 2, 3], [4, 5, 6]]), np.array([[1, 0], [0, 1], [2, -1]])
    drawing = draw_matmul(a, b, i, j)
    assert sentence in drawing.svg()
    found = re.findall(r'class="cell (\w+)".*?<text.*?>(-?\d+)</text>', drawing.svg())
    assert [int(n) for _, n in found] == [*b.ravel(), *a.ravel(), *(a @ b).ravel()]
    marked = [int(n) for kind, n in found if kind == "value"]
    assert marked == [*b[:, j], *a[i], (a @ b)[i, j]]
