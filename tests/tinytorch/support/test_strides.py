import re

import numpy as np
import pytest

from tinytorch.support.strides import draw_strides

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
    svg = draw_strides(array, index).svg()
    assert sentence in svg
    cells = re.findall(r'<rect class="cell (\w+)".*?/><text.*?>(\d+)</text>', svg)
    assert [n for _, n in cells[:6]] == ["10", "11", "12", "20", "21", "22"]  # memory stays
    assert [n for _, n in cells[6:]] == [str(n) for n in array.ravel()]
    marked = [n for kind, n in cells if kind == "value"]
    assert marked == [str(array[index])] * 2
    assert svg.count("marker-end") == sum(index)  # an arrow for each step


def test_strides_that_somebody_else_computed_lead_where_they_say():
    assert draw_strides(X, (1, 1), strides=(3, 1)).svg().count("21</text>") == 2
    wrong = draw_strides(X, (1, 1), strides=(1, 2)).svg()
    assert "x[1, 1] is at position 1 · 1 + 1 · 2 = 3" in wrong and "strides (1, 2)" in wrong
