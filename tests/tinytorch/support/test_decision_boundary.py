import numpy as np
import pytest

from tinytorch.support.decision_boundary import draw_decision_boundary

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


def test_the_boundary_is_where_the_output_is_one_half():
    figure = draw_decision_boundary(
        lambda x: x[:, 0] - x[:, 1], [[0, 0], [2, 1]], [0, 1], names=("a", "b")
    )
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("a", "b")
    assert [text.get_text() for text in axes.texts] == ["0", "1"]
    lines = [c.get_paths()[0].vertices for c in axes.collections if len(c.get_paths()) == 1]
    boundary = max(lines, key=len)
    assert len(boundary) > 100
    np.testing.assert_allclose(boundary[:, 0] - boundary[:, 1], 0.5, atol=1e-9)
    matplotlib.pyplot.close(figure)


def test_a_constant_model_has_no_boundary():
    figure = draw_decision_boundary(lambda x: 0 * x[:, 0], [[0, 0], [1, 1]], [0, 1])
    assert figure.axes[0].get_title() == ""
    matplotlib.pyplot.close(figure)
