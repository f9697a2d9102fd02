"""The layers of a network while it runs, and the table of them."""

import numpy as np
import pytest

from tinytorch.core.activations import ReLU
from tinytorch.core.embeddings import Embedding
from tinytorch.core.layers import Dense, Module, Sequential
from tinytorch.core.tensor import Tensor, Variable
from tinytorch.nn.additions import ModuleList
from tinytorch.support.layer_watch import layer_name, summary, watch_layers


class Twice(Module):
    """A layer used twice, with a function in an attribute between."""

    def __init__(self):
        self.layer, self.squash = Dense(2, 2, rng=0), Tensor.tanh

    def forward(self, x):
        return self.layer(self.squash(self.layer(x)))


def attributes_of(network):
    return {id(part): dict(vars(part)) for part in network.modules()}


def test_layers_are_named_in_the_order_in_which_they_end():
    network = Sequential(Twice(), Tensor.relu)
    with watch_layers(network) as layers:
        network(Tensor(np.ones((3, 2), "float32")))
    assert [name for name, *_ in layers] == [
        "0.layer Dense",
        "0.squash tanh",
        "0.layer Dense",
        "0 Twice",
        "1 relu",
        "the model, Sequential",
    ]


def test_inputs_parameters_and_outputs_are_those_of_the_layer():
    network, x = Sequential(Dense(2, 3, rng=0), Tensor.exp), np.array([[1.0, -2.0]], "float32")
    with watch_layers(network) as layers:
        out = network(Tensor(x))
    (_, dense_in, parameters, dense_out), (_, exp_in, nothing, exp_out), whole = layers
    weights, bias = network[0].weights.data, network[0].bias.data
    assert np.array_equal(dense_in, [x]) and set(parameters) == {"weights", "bias"}
    assert parameters["weights"] is weights and parameters["bias"] is bias
    np.testing.assert_allclose(dense_out, x @ weights + bias, rtol=1e-6)
    assert exp_in[0] is dense_out and nothing == {} and exp_out is out.data
    assert set(whole[2]) == {"0.weights", "0.bias"}


def test_afterwards_the_network_is_as_before_even_after_an_error():
    network = Sequential(Twice(), Tensor.relu)
    before = attributes_of(network)
    with pytest.raises(ZeroDivisionError), watch_layers(network) as layers:
        network(Tensor(np.ones((3, 2), "float32")))
        raise ZeroDivisionError
    assert attributes_of(network) == before and len(layers) == 6
    network(Tensor(np.ones((3, 2), "float32")))
    assert len(layers) == 6


class Block(Module):
    """A layer, an activation, a gain, a mean that is not registered, and a layer left out."""

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
    assert layer_name(np.tanh) == "tanh" and layer_name(Dense(2, 3)) == "Dense(2, 3)"
    assert layer_name(Block()) == "Block"


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


def test_a_batch_stands_for_its_shape():
    network, x = Sequential(Dense(2, 3, rng=0)), np.ones((4, 2), "float32")
    assert summary(network, x) == summary(network, Tensor(x)) == summary(network, (4, 2))


def test_a_model_of_token_ids_gets_ids():
    model = Sequential(Embedding(5, 2, rng=0), Dense(2, 3, rng=0))
    ids = np.zeros((1, 4), np.int64)
    assert summary(model, (1, 4)) == summary(model, ids) == summary(model, (1, 4), np.int64)
    with pytest.raises(TypeError, match="token ids are integers"):
        summary(model, np.zeros((1, 4)))
