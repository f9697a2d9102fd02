"""The curves hold the numbers of the history."""

import pytest

from tinytorch.support.curves import plot_history

HISTORY = {
    "loss": [3.0, 2.0, 1.5],
    "validation loss": [3.5, 2.5, 2.75],
    "accuracy": [0.25, 0.5, 0.75],
    "rate": [0.1, 0.1, 0.1],
}


def drawn(figure):
    """{panel: {label: [(epoch, value), ...]}}"""
    return {
        axis.get_ylabel(): {
            line.get_label(): [tuple(point) for point in line.get_xydata()] for line in axis.lines
        }
        for axis in figure.axes
    }


@pytest.fixture(autouse=True)
def no_window():
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    yield
    matplotlib.pyplot.close("all")


def test_training_and_validation_share_a_panel():
    assert drawn(plot_history(HISTORY)) == {
        "loss": {
            "training": [(1, 3.0), (2, 2.0), (3, 1.5)],
            "validation": [(1, 3.5), (2, 2.5), (3, 2.75)],
        },
        "accuracy": {"training": [(1, 0.25), (2, 0.5), (3, 0.75)]},
    }


def test_other_names_can_be_asked_for_and_missing_ones_are_left_out():
    figure = plot_history(HISTORY, names=("rate", "speed"))
    assert drawn(figure) == {"rate": {"training": [(1, 0.1), (2, 0.1), (3, 0.1)]}}
