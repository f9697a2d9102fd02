"""The curves hold the numbers of the history, and the best epoch is marked."""

import numpy as np
import pytest

from tinytorch.support.curves import label_ends, plot_learning_curve, plot_rate_range, spread

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


@pytest.mark.parametrize("values", [[1, 2, 3], [0, 0, 0], [0, 5, 5.1, 5.2, 9], [3, 3.9, 4.8], []])
def test_numbers_are_spread_as_little_as_possible(values):
    places = np.array(spread(values, 1.0))
    assert (np.diff(places) >= 1 - 1e-12).all()
    assert sum(places) == pytest.approx(sum(values))  # both sides give way, not one alone
    if all(b - a >= 1 for a, b in zip(values, values[1:])):
        assert list(places) == values


def test_a_name_that_had_to_move_is_led_to_from_its_curve():
    from matplotlib.figure import Figure

    for levels, lines in [((0.1, 0.9), False), ((0.5, 0.52), True)]:
        axes = Figure().subplots()
        label_ends(axes, [(level, f"level {level}", "C0") for level in levels], 1)
        for text, level in zip(axes.texts, levels):
            assert text.xy == (1, level) and (text.arrow_patch is not None) == lines
