import numpy as np

from tinytorch.core.layers import Dense, Module, Sequential
from tinytorch.core.tensor import Tensor
from tinytorch.support.summary import is_plain_sequential, name_of, summary


class Doubled(Sequential):
    def forward(self, x):
        return super().forward(x) * 2


def test_a_sequential_is_known_by_its_forward():
    assert is_plain_sequential(Sequential()) and is_plain_sequential(type("S", (Sequential,), {})())
    assert not is_plain_sequential(Doubled()) and not is_plain_sequential(np.tanh)


def test_names_of_functions_and_layers():
    assert name_of(np.tanh) == "tanh" and name_of(Dense(2, 3)) == "Dense(2, 3)"


def test_a_function_has_no_parameters():
    class Net(Module):
        def forward(self, x):
            return x + 1

    lines = summary(Sequential(Net(), Tensor.exp), (2, 3)).splitlines()
    assert [line.split()[-1] for line in lines[2:]] == ["0", "0", "0"]
