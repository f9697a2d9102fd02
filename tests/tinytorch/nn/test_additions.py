"""Containers of modules, and dropout as a function."""

import numpy as np
import pytest

from tinytorch import Variable, manual_seed
from tinytorch.core.activations import ReLU
from tinytorch.core.layers import Linear, Module
from tinytorch.nn import functional as F
from tinytorch.nn.additions import ModuleDict, ModuleList, Parameter


class Net(Module):
    def __init__(self):
        self.layers = ModuleList([Linear(2, 3), Linear(3, 1)])
        self.heads = ModuleDict({"left": Linear(1, 1)})
        self.scale = Parameter([1.0])


def test_parameters_inside_are_found_under_the_names_that_pytorch_gives():
    assert [name for name, _ in Net().named_parameters()] == [
        "layers.0.weights",
        "layers.0.bias",
        "layers.1.weights",
        "layers.1.bias",
        "heads.left.weights",
        "heads.left.bias",
        "scale",
    ]


def test_a_state_goes_from_one_network_to_another():
    one, other = Net(), Net()
    other.load_state_dict(one.state_dict())
    assert (other.heads["left"].weights.data == one.heads["left"].weights.data).all()


def test_modes_reach_modules_inside():
    net = Net().eval()
    assert not net.layers[1].training and not net.heads["left"].training


def test_a_list_of_modules_is_used_like_a_list():
    first, second, third = Linear(1, 1), Linear(1, 2), Linear(1, 3)
    layers = ModuleList([first])
    layers.append(second)
    layers.extend([third])
    assert list(layers) == [first, second, third] and len(layers) == 3
    assert layers[-1] is third and list(layers[:2]) == [first, second]
    layers[-1] = first
    assert list(layers) == [first, second, first]
    assert repr(ModuleList([first])) == f"ModuleList({first!r})"
    with pytest.raises(IndexError):
        layers[3] = first


def test_two_lists_of_modules_make_a_third():
    both = ModuleList([Linear(2, 3)]) + ModuleList([Linear(3, 1)])
    assert type(both) is ModuleList and len(both) == 2


def test_a_dict_of_modules_is_used_like_a_dict():
    one, two = Linear(1, 1), Linear(1, 2)
    modules = ModuleDict({"one": one})
    modules["two"] = two
    assert list(modules) == modules.keys() == ["one", "two"] and len(modules) == 2
    assert modules.values() == [one, two] and modules.items() == [("one", one), ("two", two)]
    assert "two" in modules and "three" not in modules and "training" not in modules
    assert repr(ModuleDict({"one": one})).splitlines()[1] == f"  (one): {one!r}  # 2 parameters"


@pytest.mark.parametrize("make", [lambda x: ModuleList([x]), lambda x: ModuleDict({"a": x})])
def test_a_value_that_is_not_a_module_is_refused(make):
    with pytest.raises(TypeError, match="a type is no module.*A class must be called"):
        make(Linear)


def test_a_name_of_dict_is_refused_and_a_missing_name_is_reported():
    with pytest.raises(KeyError, match="cannot be called 'items'"):
        ModuleDict({"items": Linear(1, 1)})
    with pytest.raises(KeyError, match="no module 'b'; there are a"):
        ModuleDict({"a": Linear(1, 1)})["b"]


def test_a_module_instead_of_a_list_is_explained():
    with pytest.raises(TypeError, match=r"takes one list of modules, not Linear\(1, 1\): Mod"):
        ModuleList(Linear(1, 1))
    assert len(ModuleList(ModuleList([Linear(1, 1)]))) == 1 and len(ModuleList()) == 0


def test_activations_are_modules():
    layers = ModuleList([Linear(1, 1), ReLU()])
    assert len(layers) == 2 and type(ModuleDict({"act": ReLU()})["act"]) is ReLU


def test_it_drops_and_scales_in_training_only():
    x = Variable(np.ones(10_000, "float32"))
    out = F.dropout(x, 0.25)
    assert np.isin(out.data, np.float32([0, 4 / 3])).all()
    assert 0.73 < np.count_nonzero(out.data) / x.size < 0.77
    out.sum().backward()
    assert np.array_equal(x.grad, out.data)
    assert F.dropout(x, 0.25, training=False) is x


def test_a_seed_repeats_the_masks_and_calls_differ():
    x = Variable(np.ones(50, "float32"))
    runs = []
    for _ in range(2):
        manual_seed(3)
        runs.append([F.dropout(x).data.tolist() for _ in range(2)])
    assert runs[0] == runs[1] and runs[0][0] != runs[0][1]
