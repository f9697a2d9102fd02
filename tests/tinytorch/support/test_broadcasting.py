import xml.etree.ElementTree as tree

import numpy as np
import pytest

from tinytorch.support.broadcasting import draw_broadcasting


def cells(drawing):
    """(kind, whether dashed, text) of each cell, in the order in which they were drawn."""
    parts = list(tree.fromstring(drawing.svg()))
    return [
        (rect.get("class").split()[1], rect.get("stroke-dasharray") is not None, text.text)
        for rect, text in zip(parts, parts[1:])
        if rect.get("class", "").startswith("cell")
    ]


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
    found = cells(draw_broadcasting(a, b, operator))
    shapes, grids = found[: 3 * rank], found[3 * rank :]
    assert [t for _, _, t in shapes[2 * rank :]] == [str(m) for m in result.shape]
    assert sum(dashed for _, dashed, _ in shapes) == 2 * rank - a.ndim - b.ndim
    assert len(grids) == 3 * n
    assert [float(t) for _, _, t in grids[2 * n :]] == result.ravel().tolist()
    for part, grid in ((a, grids[:n]), (b, grids[n : 2 * n])):
        repeated = np.broadcast_to(part, result.shape)
        assert [float(t) for _, _, t in grid] == repeated.ravel().tolist()
        assert sum(not dashed for _, dashed, _ in grid) == part.size


def test_unwanted_elements_are_hatched():
    found = cells(draw_broadcasting([[1], [2]], [1, 2], "-", wrong=[(0, 1), (1, 0)]))
    assert [kind for kind, _, _ in found[-4:]] == ["value", "wrong", "wrong", "value"]


def test_lengths_that_do_not_fit_are_marked():
    drawing = draw_broadcasting(np.ones((2, 3)), np.ones(2))
    assert [kind for kind, _, _ in cells(drawing)] == ["value", "wrong", "value", "wrong"]
    assert "ValueError" in drawing.svg()
