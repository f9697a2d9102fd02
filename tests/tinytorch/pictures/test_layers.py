"""The pictures of lesson 04."""

import numpy as np
import pytest

from tinytorch.core.layers import Dense, Module, Sequential
from tinytorch.core.tensor import Tensor
from tinytorch.pictures.layers import (
    draw_fully_connected,
    draw_histograms,
    draw_module_tree,
    draw_small_network,
    layer_outputs,
    relative_distance,
    tree_rows,
)


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


class Net(Module):
    def __init__(self):
        self.body = Sequential(Dense(3, 2), Tensor.tanh)
        self.heads = {"left": [Dense(2, 1, bias=False)]}
        self.mean = Tensor(np.zeros(3))
        self.tied = self.body[0].weights
        self.whole = self


def test_the_names_agree_with_the_state_dict():
    net = Net()
    rows = list(tree_rows(net, "", "Net", 0, {}))
    tensors = {path: kind for _, path, _, kind in rows if kind in ("parameter", "tensor")}
    assert list(tensors) == list(net.state_dict())
    learned = [path for path, kind in tensors.items() if kind == "parameter"]
    assert learned == [name for name, _ in net.named_parameters()]
    assert [text for _, _, text, kind in rows if kind == "shared"] == [".tied (3, 2)"]


def test_every_row_is_drawn():
    text = draw_module_tree(Net()).svg()
    for words in ("Net", ".body = Sequential", "heads.left.0.weights", "= body.0.weights"):
        assert f">{words}</text>" in text


def test_every_weight_and_bias_is_written():
    drawing = draw_small_network(
        [([[3, 4], [5, 6]], [7, 8]), ([[-9], [0.5]], [11])], [["a", "b"], ["c", "d"], ["e"]]
    )
    text = drawing.svg()
    for number in ("3", "4", "5", "6", "-9", "0.5", "bias 7", "bias 8", "bias 11"):
        assert text.count(f">{number}</text>") == 1
    assert drawing.description == "c = 3·a + 5·b + 7; d = 4·a + 6·b + 8; e = -9·c + 0.5·d + 11"


def test_layers_of_any_width_fit_into_the_drawing():
    names = [["x"], ["p", "q", "r"], ["y", "z"]]
    drawing = draw_small_network(
        [([[1, 2, 3]], [0, 0, 0]), ([[1, 2], [3, 4], [5, 6]], [0, 0])], names
    )
    assert sum("<rect" in part for part in drawing.parts) == 6
    assert sum("<path" in part for part in drawing.parts) == 9
    assert drawing.height > 2 * 96
