"""The pictures of lesson 00."""

import pytest

from tinytorch.core.descent import network, predict, train
from tinytorch.pictures import descent

LINE = [([0.0], 1.0), ([1.0], 3.0), ([2.0], 5.0)]


@pytest.fixture
def figures():
    pytest.importorskip("matplotlib")
    import matplotlib.pyplot as plt

    with plt.rc_context():
        yield
        plt.close("all")


def test_the_lines_go_from_the_start_to_the_end_of_training(figures):
    history = [[step / 50, 1.0] for step in range(101)]
    figure = descent.draw_line(predict, history, LINE)
    points, *lines = figure.axes[0].lines
    assert points.get_xydata().tolist() == [[0, 1], [1, 3], [2, 5]]
    slopes = [(line.get_ydata()[1] - 1.0) / line.get_xdata()[1] for line in lines]
    assert slopes == pytest.approx([step / 50 for step in (0, 3, 6, 16, 40, 100)])
    opacities = [line.get_alpha() for line in lines]
    assert opacities == sorted(opacities) and opacities[-1] == 1.0
    assert [text.get_text() for text in figure.axes[0].texts] == [" step 0", " step 100"]


def test_one_line_before_training_has_no_step(figures):
    axes = descent.draw_line(predict, [[0.0, 2.0]], LINE).axes[0]
    assert len(axes.lines) == 2 and list(axes.lines[1].get_ydata()) == [2.0, 2.0] and not axes.texts


def test_the_tangent_has_the_slope_of_the_loss(figures):
    axes = descent.draw_slope(lambda weight: (weight - 1) ** 2, at=0.5).axes[0]
    curve, tangent, place = axes.lines
    (x1, x2), (y1, y2) = tangent.get_data()
    assert (y2 - y1) / (x2 - x1) == pytest.approx(-1.0)
    assert place.get_xydata().tolist() == [[0.5, 0.25]] and len(curve.get_xdata()) == 101
    assert axes.texts[0].get_text() == "slope -1.0"


def test_following_a_gradient_is_what_train_does():
    def loss(p):
        return (p[0] - 3) ** 2 + p[0] * p[1] + p[1] ** 2

    def gradient_of(f, p):
        assert f is loss
        return [2 * (p[0] - 3) + p[1], p[0] + 2 * p[1]]

    start = [1.0, -2.0]
    history = descent.follow(loss, gradient_of, start, 0.1, 20)
    assert start == [1.0, -2.0] and history[0] == start
    for point, wanted in zip(history, train(loss, start, 0.1, 20), strict=True):
        assert point == pytest.approx(wanted, abs=1e-6)


def test_each_panel_shows_the_network_after_its_step(figures):
    examples = descent.ring_examples()
    circle = [[0.0] * 25, *[[0.3] * 25] * 100]
    asked = []

    def model(parameters, inputs):
        asked.append(parameters[0])
        return network(parameters, inputs) + 0.01

    figure = descent.draw_learning(model, circle, examples)
    assert [axes.get_title() for axes in figure.axes] == [f"step {n}" for n in (0, 20, 50, 100)]
    assert [len(axes.lines) for axes in figure.axes] == [26] * 4
    quarter = len(asked) // 4
    assert set(asked[:quarter]) == {0.0} and set(asked[quarter:]) == {0.3}


def test_the_examples_are_ten_points_inside_sixteen():
    examples = descent.ring_examples()
    assert [target for _, target in examples] == [1.0] * 10 + [-1.0] * 16
    assert all(len(inputs) == 2 for inputs, _ in examples)


def test_the_goal_separates_the_examples(figures):
    (axes,) = descent.draw_goal().axes
    assert len(axes.collections) >= 3 and axes.get_title() == "25 parameters, 100 steps"
