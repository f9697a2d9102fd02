import re

import numpy as np
import pytest

from tinytorch.support.matrix_product import draw_matmul


@pytest.mark.parametrize("i, j, sentence", [(0, 0, "1·1 + 2·0 + 3·2 = 7"), (1, 1, "= -1")])
def test_row_and_column_of_an_element_are_marked(i, j, sentence):
    a, b = np.array([[1, 2, 3], [4, 5, 6]]), np.array([[1, 0], [0, 1], [2, -1]])
    drawing = draw_matmul(a, b, i, j)
    assert sentence in drawing.svg()
    found = re.findall(r'class="cell (\w+)".*?<text.*?>(-?\d+)</text>', drawing.svg())
    assert [int(n) for _, n in found] == [*b.ravel(), *a.ravel(), *(a @ b).ravel()]
    marked = [int(n) for kind, n in found if kind == "value"]
    assert marked == [*b[:, j], *a[i], (a @ b)[i, j]]
