import numpy as np
import pytest

from tinytorch.support.drawing import COLOURS
from tinytorch.support.signals import draw_histograms, layer_outputs, plot_stds, relative_distance


def test_the_signal_vanishes_stays_or_saturates():
    last = {std: layer_outputs(std)[-1] for std in (0.03, 0.1, 0.3)}
    assert last[0.03].std() < 1e-9 and 0.1 < last[0.1].std() < 0.3
    assert (np.abs(last[0.3]) > 0.9).mean() > 0.5


def test_large_weights_drive_similar_signals_apart():
    assert relative_distance(0.1, 0) == 0.01
    assert relative_distance(0.1) < 0.03 and relative_distance(0.3) > 1


def test_there_is_one_histogram_for_each_layer_of_each_network():
    drawing = draw_histograms((0.05, 0.1), layers=7)
    assert sum("<polygon" in part for part in drawing.parts) == 14
    assert f"layer 7: std {layer_outputs(0.1, 7)[-1].std():.2g}" in drawing.svg()


def test_each_curve_is_labelled_at_its_end_and_labels_do_not_overlap():
    matplotlib, plt = map(pytest.importorskip, ("matplotlib", "matplotlib.pyplot"))
    with plt.rc_context():
        plot_stds({"a": [1, 0.9], "b": [1, 0.8], "c": [1, 1e-9]}, "title")
        axes = plt.gca()
        axes.figure.canvas.draw()
        boxes = [text.get_window_extent() for text in axes.texts]
        assert [text.get_text() for text in axes.texts] == ["a: 0.9", "b: 0.8", "c: 1e-09"]
        assert all(a.y0 >= b.y1 for a, b in zip(boxes, boxes[1:]))
        level, wrong = COLOURS["value"][0], COLOURS["wrong"][0]
        colours = [matplotlib.colors.to_hex(line.get_color()) for line in axes.lines]
        assert colours == [level, level, wrong]
        plt.close(axes.figure)
