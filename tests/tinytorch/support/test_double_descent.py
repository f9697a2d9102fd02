"""The test error has its peak where the model can just fit its training set, and falls twice."""

import numpy as np
import pytest

from tinytorch.support.double_descent import COUNTS, plot_double_descent, random_feature_errors


def test_the_error_descends_twice():
    train, test = random_feature_errors()
    peak, first = COUNTS.index(40), min(test[: COUNTS.index(25)])
    assert np.argmax(test) == peak and test[peak] > 10 * first and test[-1] < first
    assert np.all(train[peak + 1 :] < 1e-9) and np.all(np.diff(train[: peak + 1]) < 0)


def test_the_plot_shows_the_test_errors():
    pytest.importorskip("matplotlib").use("Agg")
    figure = plot_double_descent((2, 4, 8, 16), np.ones(4), np.array([3.0, 2.0, 1.0, 4.0]))
    assert figure.axes[0].lines[1].get_ydata().tolist() == [3.0, 2.0, 1.0, 4.0]
