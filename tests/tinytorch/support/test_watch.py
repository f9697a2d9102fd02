"""Every layer is seen once per use, inner ones first, and nothing stays behind."""

import numpy as np
import pytest

from tinytorch.core.layers import Dense, Module, Sequential
from tinytorch.core.tensor import Tensor
from tinytorch.support.watch import watch_layers


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
