"""The curves hold the numbers of the history, and the best epoch is marked."""

import pytest

from tinytorch.support.curves import plot_learning_curve, plot_rate_range

HISTORY = {
    "loss": [3.0, 2.0, 1.5],
    "validation loss": [3.5, 2.5, 2.75],
    "accuracy": [0.25, 0.5, 0.75],
}


@pytest.fixture(autouse=True)
def no_window():
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    yield
    matplotlib.pyplot.close("all")


def texts(figure):
    return [text.get_text().strip() for text in figure.axes[0].texts]


def test_training_and_validation_curves_are_drawn_and_the_best_epoch_is_marked():
    figure = plot_learning_curve(HISTORY)
    training, validation, best, *_ = figure.axes[0].lines
    assert training.get_ydata().tolist() == [3.0, 2.0, 1.5]
    assert validation.get_ydata().tolist() == [3.5, 2.5, 2.75]
    assert best.get_xydata().tolist() == [[2.0, 2.5]]
    assert texts(figure) == ["best epoch: 2", "training", "validation"]


def test_the_epochs_of_patience_are_shaded():
    figure = plot_learning_curve(HISTORY, patience=1)
    assert any("1 epochs\nof patience" in text for text in texts(figure))
    assert len(figure.axes[0].patches) == 1


def test_a_metric_without_a_validation_set_is_one_curve():
    figure = plot_learning_curve(HISTORY, "accuracy")
    assert len(figure.axes[0].lines) == 1 and texts(figure) == ["training"]


def test_losses_that_are_all_nan_have_no_best_epoch():
    nan = float("nan")
    figure = plot_learning_curve({"loss": [1.0, 1.0], "validation loss": [nan, nan]})
    assert not any("best" in text for text in texts(figure))


def test_a_range_test_shows_rates_losses_and_the_suggestion():
    figure = plot_rate_range([0.1, 1.0], [2.0, 5.0], suggestion=0.01)
    assert figure.axes[0].lines[0].get_xydata().tolist() == [[0.1, 2.0], [1.0, 5.0]]
    assert texts(figure) == ["suggested: 0.01"]
