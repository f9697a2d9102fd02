import numpy as np
import pytest

from tinytorch.support.fully_connected import draw_fully_connected

X, W, B = np.array([[1.0, 2], [0, -1], [3, 0.5]]), np.arange(8.0).reshape(2, 4), np.arange(4.0)


def test_the_drawing_holds_every_number_and_one_output_as_a_sum():
    text = draw_fully_connected(X, W, B, example=1, output=2).svg()
    assert "y[1, 2] = 0·2 + (-1)·6 + 2 = -4" in text
    for number in (X @ W + B).ravel():
        assert f">{number:g}</text>" in text
    for label in ("x (3, 2)", "W (2, 4)", "y (3, 4)", "b (4,)"):
        assert label in text


@pytest.mark.parametrize(("example", "output"), [(0, 0), (2, 3)])
def test_only_what_the_output_depends_on_is_in_colour(example, output):
    drawing = draw_fully_connected(X, W, B, example, output)
    coloured = sum('class="cell value"' in part for part in drawing.parts)
    assert coloured == 2 + 2 + 1 + 1  # a row of x, a column of W, one element of b, one output
