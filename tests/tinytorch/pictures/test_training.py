"""The pictures of lesson 08."""

import numpy as np
from svg_contents import cells, texts

from tinytorch.pictures.training import (
    COUNTS,
    draw_confusion_matrix,
    draw_training_loop,
    example_history,
    noisy_spirals,
    plot_double_descent,
    plot_learning_curve,
    plot_rate_range,
    plot_regions,
    random_feature_errors,
)

HISTORY = {
    "loss": [3.0, 2.0, 1.5],
    "validation loss": [3.5, 2.5, 2.75],
    "accuracy": [0.25, 0.5, 0.75],
}


def names(figure):
    return [text.get_text().strip() for text in figure.axes[0].texts]


def test_training_and_validation_curves_are_drawn_and_the_best_epoch_is_marked():
    figure = plot_learning_curve(HISTORY)
    training, validation, best, *_ = figure.axes[0].lines
    assert training.get_ydata().tolist() == [3.0, 2.0, 1.5]
    assert validation.get_ydata().tolist() == [3.5, 2.5, 2.75]
    assert best.get_xydata().tolist() == [[2.0, 2.5]]
    assert names(figure) == ["best epoch: 2", "training", "validation"]


def test_the_epochs_of_patience_are_shaded():
    figure = plot_learning_curve(HISTORY, patience=1)
    assert any("1 epochs\nof patience" in text for text in names(figure))
    assert len(figure.axes[0].patches) == 1


def test_a_metric_without_a_validation_set_is_one_curve():
    figure = plot_learning_curve(HISTORY, "accuracy")
    assert len(figure.axes[0].lines) == 1 and names(figure) == ["training"]


def test_losses_that_are_all_nan_have_no_best_epoch():
    nan = float("nan")
    figure = plot_learning_curve({"loss": [1.0, 1.0], "validation loss": [nan, nan]})
    assert not any("best" in text for text in names(figure))


def test_a_range_test_shows_rates_losses_and_the_suggestion():
    figure = plot_rate_range([0.1, 1.0], [2.0, 5.0], suggestion=0.01)
    assert figure.axes[0].lines[0].get_xydata().tolist() == [[0.1, 2.0], [1.0, 5.0]]
    assert names(figure) == ["suggested: 0.01"]


def test_the_points_are_reproducible_and_have_three_classes():
    points, labels = noisy_spirals(50, seed=3)
    again, _ = noisy_spirals(50, seed=3)
    assert points.shape == (50, 2) and points.dtype == "float32" and set(labels) == {0, 1, 2}
    assert np.array_equal(points, again)


def test_the_network_overfits():
    history = example_history()
    losses = history["validation loss"]
    best = int(np.argmin(losses))
    assert 10 < best < 45 and losses[-1] > 1.4 * losses[best]
    assert history["loss"][-1] < 0.3 * history["loss"][best]


def test_a_region_belongs_to_the_class_with_the_largest_score():
    points, labels = noisy_spirals(20, seed=0)
    grids = []

    def predict(grid):
        grids.append(grid)
        return np.stack([grid[:, 0] * 0, grid[:, 0], -grid[:, 0]], 1)

    figure = plot_regions(predict, points, labels, "title")
    (axes,) = figure.axes
    assert grids[0].shape == (8100, 2) and axes.get_title() == "title"
    shown = sum(len(c.get_offsets()) for c in axes.collections if len(c.get_offsets()) > 1)
    assert shown == 20


def test_where_another_model_differs_is_hatched():
    points, labels = noisy_spirals(20, seed=0)

    def predict(grid):
        return np.stack([grid[:, 0] * 0, grid[:, 0], -grid[:, 0]], 1)

    def other(grid):
        return predict(np.where(grid[:, 1:] > 2, -grid, grid))

    figures = [plot_regions(predict, points, labels, other=model) for model in (None, other)]
    hatched = [
        [c for c in figure.axes[0].collections if any(getattr(c, "hatches", None) or [])]
        for figure in figures
    ]
    assert not hatched[0] and len(hatched[1]) == 1
    corners = hatched[1][0].get_paths()[0].vertices
    assert 1.9 < corners[:, 1].min() < 2.1


def test_the_numbers_given_are_in_the_diagram():
    numbers = texts(draw_training_loop(batches=7, epochs=40))
    assert "one epoch: 7 batches, 7 steps" in numbers and "40 epochs, or should_stop?" in numbers


def test_every_count_is_shown_and_mistakes_are_hatched():
    drawing = draw_confusion_matrix(np.array([[5, 1], [0, 4]]), ["cat", "dog"])
    assert [cell.kind for cell in cells(drawing)] == ["value", "wrong", "muted", "value"]
    assert [cell.hatched for cell in cells(drawing)] == [False, True, False, False]
    assert texts(drawing)[-4:] == ["5", "1", "0", "4"] and texts(drawing).count("cat") == 2


def test_the_error_descends_twice():
    train, test = random_feature_errors()
    peak, first = COUNTS.index(40), min(test[: COUNTS.index(25)])
    assert np.argmax(test) == peak and test[peak] > 10 * first and test[-1] < first
    assert np.all(train[peak + 1 :] < 1e-9) and np.all(np.diff(train[: peak + 1]) < 0)


def test_the_plot_shows_the_test_errors():
    figure = plot_double_descent((2, 4, 8, 16), np.ones(4), np.array([3.0, 2.0, 1.0, 4.0]))
    assert figure.axes[0].lines[1].get_ydata().tolist() == [3.0, 2.0, 1.0, 4.0]
