import numpy as np

from tinytorch.core.layers import Dense, Module, Sequential
from tinytorch.core.tensor import Tensor
from tinytorch.support.module_tree import draw_module_tree, tree_rows


class Net(Module):
    def __init__(self):
        self.body = Sequential(Dense(3, 2), Tensor.tanh)
        self.heads = {"left": [Dense(2, 1, bias=False)]}
        self.mean = Tensor(np.zeros(3))
        self.tied = self.body[0].weights
        self.whole = self


def test_the_names_are_those_of_the_state_dict():
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
