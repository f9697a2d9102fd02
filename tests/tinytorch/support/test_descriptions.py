"""Few words, one line, always."""

import numpy as np
import pytest

from tinytorch.core.data import Dataset
from tinytorch.core.optimizers import SGD
from tinytorch.core.tensor import Tensor
from tinytorch.support.descriptions import Described, brief, described


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        (Tensor([1.0, 2.0]), "a Tensor of shape (2,)"),
        (np.ones(2), "an ndarray of shape (2,)"),
        (SGD([Tensor([1.0])]), "an SGD"),
        (SGD, "the class SGD"),
        (None, "None"),
        (np.float32(0.5), "0.5"),
        ("mse", "the text 'mse'"),
        (["a", 1], "the list ['a', 1]"),
        ((np.ones(2), np.ones(2)), "a tuple of length 2"),
        ({"a": 1}, "a dict of length 1"),
        (len, "the function len"),
        (SGD([Tensor([1.0])]).step, "the method step, without brackets"),
    ],
)
def test_what_was_given_in_a_few_words(thing, text):
    assert described(thing) == text


class Photographs(Dataset):
    def __init__(self):
        self.files, self.pixels = [f"{n}.png" for n in range(1000)], np.zeros((1000, 8, 8))

    def __len__(self):
        return len(self.files)


def test_a_learners_own_data_set_prints_its_attributes():
    text = "Photographs(1,000 examples, files=a list of length 1000, pixels=float64 (1000, 8, 8))"
    assert repr(Photographs()) == text


def test_what_is_not_finished_prints_all_the_same():
    assert repr(Dataset()) == "Dataset(no length)"
    assert repr(object.__new__(Photographs)) == "Photographs(no length)"


class Hidden(Described):
    hidden = ("secret",)

    def __init__(self):
        self.secret, self.rng, self.text = 1, np.random.default_rng(0), object()


def test_hidden_attributes_and_generators_are_left_out_and_addresses_too():
    assert repr(Hidden()) == "Hidden(text=object)"


def test_what_prints_several_lines_is_cut_to_the_first():
    assert "\n" not in brief({"a": 1}) + brief(type("T", (), {"__repr__": lambda s: "a\nb"})())
