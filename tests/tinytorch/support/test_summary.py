import numpy as np

from tinytorch.core.activations import ReLU
from tinytorch.core.layers import Dense, Module, Sequential
from tinytorch.core.tensor import Tensor, Variable
from tinytorch.support.containers import ModuleList
from tinytorch.support.summary import name_of, summary


class Block(Module):
    """A layer, an activation, a gain, a mean that nobody registered, and a layer left out."""

    def __init__(self):
        self.inner = ModuleList([Dense(3, 4), ReLU()])
        self.gain = Variable(np.ones(4, "float32"))
        self.mean = Tensor(np.zeros(3, "float32"))
        self.count = Tensor([0])
        self.spare = Dense(3, 3)
        self.register_buffer("running", np.zeros(2))

    def forward(self, x):
        for layer in self.inner:
            x = layer(x)
        return x * self.gain


def test_names_of_functions_and_layers():
    assert name_of(np.tanh) == "tanh" and name_of(Dense(2, 3)) == "Dense(2, 3)"
    assert name_of(Block()) == "Block"


def test_a_function_has_no_parameters():
    class Net(Module):
        def forward(self, x):
            return x + 1

    lines = summary(Sequential(Net(), Tensor.exp), (2, 3)).splitlines()
    assert [line.split()[-1] for line in lines[2:]] == ["0", "0", "0"]


def test_an_own_module_opens_as_a_tree():
    lines = summary(Sequential(Block(), Dense(4, 1)), (2, 3)).splitlines()
    assert [line.rstrip() for line in lines] == [
        "layer                             output      parameters",
        "input                             (2, 3)",
        "0 Block                           (2, 4)",
        "  0.inner ModuleList",
        "    0.inner.0 Dense(3, 4)         (2, 4)              16",
        "    0.inner.1 ReLU()              (2, 4)               0",
        "  0.gain Parameter of shape (4,)                       4",
        "  0.mean Tensor of shape (3,)                          0",
        "  0.count Tensor of shape (1,)                         0",
        "  0.spare Dense(3, 3)             not called          12",
        "  0.running buffer of shape (2,)                       0",
        "1 Dense(4, 1)                     (2, 1)               5",
        "total                                                 37",
        "0.mean (3,): not learned. nn.Parameter makes it a parameter, register_buffer a buffer",
    ]


def test_an_own_module_at_the_top_has_the_first_row():
    lines = summary(Block(), (2, 3)).splitlines()
    assert lines[2].split() == ["Block", "(2,", "4)"]
    assert lines[4].startswith("    inner.0 Dense(3, 4)")


def test_what_is_there_twice_is_counted_once_and_cycles_end():
    class Net(Module):
        def __init__(self):
            self.first = Dense(2, 2)
            self.again = self.first
            self.tied = self.first.weights
            self.parts = [self]
            self.parts.append(self.parts)

        def forward(self, x):
            return self.again(self.first(x))

    lines = summary(Net(), (5, 2)).splitlines()
    assert [line.strip().split("  ")[0] for line in lines[3:7]] == [
        "first Dense(2, 2)",
        "again Dense(2, 2), which is first",
        "tied Parameter of shape (2, 2), which is first.weights",
        "parts.0 Net, which is the model",
    ]
    assert "(5, 2)" in lines[3] and "(5, 2)" in lines[4]
    assert [line.split()[-1] for line in lines[3:]] == ["6", "0", "0", "0", "6"]


def test_frozen_parameters_are_no_mistake():
    net = Block()
    net.register_buffer("fixed", np.zeros(1))
    net.mean.requires_grad = True
    net.requires_grad_(False)
    assert "not learned" not in summary(net, (2, 3))


def test_outputs_that_are_no_tensors_have_no_shape():
    class Heads(Module):
        def __init__(self):
            self.heads = [Dense(2, 1), Dense(2, 3)]

        def forward(self, x):
            return [head(x) for head in self.heads]

    lines = summary(Heads(), (4, 2)).splitlines()
    assert lines[2].split() == ["Heads"] and "(4, 1)" in lines[3] and "(4, 3)" in lines[4]
