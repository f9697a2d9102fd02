"""What users give by mistake is refused in two lines, and described in a few words."""

import math

import numpy as np
import pytest

from tinytorch.core.data import DataLoader, Dataset, TensorDataset
from tinytorch.core.normalization import BatchNorm1d, BatchNorm2d
from tinytorch.core.optimizers import SGD
from tinytorch.core.tensor import Tensor, Variable
from tinytorch.support.arguments import (
    Described,
    as_shape,
    brief,
    channel_axes,
    check_causal,
    check_fit,
    check_heads,
    check_loader,
    check_number,
    check_parameters,
    check_positions,
    checked_batches,
    checked_rank,
    described,
    input_batches,
    joined_axes,
    running_arrays,
)


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


X, Y = np.ones((4, 2), "float32"), np.arange(4)


@pytest.mark.parametrize("epochs", [0, 1, np.int64(3), math.inf])
def test_epochs_may_be_endless(epochs):
    check_fit([(X, Y)], epochs, None, None)


@pytest.mark.parametrize(
    "batches",
    [
        [(X, Y)],
        [[X, Y]],
        [(X, Y.tolist())],
        [({"words": X}, Tensor(Y))],
        DataLoader(TensorDataset(X, Y), 2),
        ((x, y) for x, y in [(X, Y)]),
    ],
)
def test_pairs_of_any_kind_are_batches(batches):
    assert all(len(batch) == 2 for batch in checked_batches(batches))


def test_a_batch_is_read_when_it_is_asked_for():
    read = []

    def batches():
        for n in range(3):
            read.append(n)
            yield X, Y

    first = checked_batches(batches())
    next(first)
    assert read == [0]


def test_inputs_come_alone_or_first():
    for batches in (X, Tensor(X), [X], [(X, Y)], [[X]], DataLoader(TensorDataset(X, Y), 4)):
        (inputs,) = input_batches(batches)
        assert np.array_equal(np.asarray(inputs), X)


@pytest.mark.parametrize(
    "dataset", [TensorDataset(X, Y), [1.0, 2.0], [X, X], [(X[0], 1), (X[1], 2)], X, range(5)]
)
def test_whatever_has_a_length_and_examples_is_a_data_set(dataset):
    check_loader(dataset, np.int64(2), False, None, 0)


def test_a_sampler_makes_a_length_unnecessary():
    check_loader(type("Endless", (), {"__getitem__": lambda self, i: i})(), 2, False, [1], 0)


def test_parameters_of_a_generator_are_read_once():
    w = Tensor([1.0])
    assert check_parameters(p for p in [w]) == [w]
    assert check_parameters([{"params": [w]}])[0]["params"] == [w]
    assert check_parameters([]) == []  # param_groups of lesson 07 refuses it, with its own words


def test_numbers_of_numpy_are_numbers_and_truth_values_are_not():
    check_number("T_max", np.float32(2.5))
    for wrong in (True, None, [1]):
        with pytest.raises(TypeError, match="n is .*\nit should be a number, such as n=1"):
            check_number("n", wrong)


@pytest.mark.parametrize("given", [3, (3,), [3], np.int64(3), np.array([3])], ids=str)
def test_a_shape_is_an_int_or_ints(given):
    assert as_shape(given) == (3,)


@pytest.mark.parametrize("given", [0, (), (3, 0), 2.5, "3", [[3]], None], ids=str)
def test_other_shapes_are_refused(given):
    with pytest.raises(ValueError) as told:
        as_shape(given)
    assert str(told.value).startswith(f"normalized_shape is {given!r}")


def test_one_axis_is_passed_on_as_it_is():
    x, weight = Tensor(np.ones((2, 3))), Variable(np.ones(3))
    assert joined_axes(x, 3, weight)[:2] == (x, weight)


def test_defaults_have_the_dtype_of_x():
    for dtype in ("float32", "float64"):
        _, weight, bias = joined_axes(Tensor(np.ones((2, 3), dtype)), (2, 3))
        assert weight.dtype == bias.dtype == dtype and weight.shape == bias.shape == (6,)
        assert weight.all() and not bias.any()


@pytest.mark.parametrize(
    "shape, normalized, part",
    [
        ((2, 3), 2, "normalized_shape (2,) needs inputs of shape (..., 2), not (2, 3)"),
        ((3,), (3, 3), "needs inputs of shape (..., 3, 3), not (3,)"),
        ((), 1, "not ()"),
        ((3, 2), (2, 3), "not (3, 2)"),
    ],
    ids=str,
)
def test_shapes_that_do_not_fit(shape, normalized, part):
    with pytest.raises(ValueError) as told:
        joined_axes(Tensor(np.ones(shape)), normalized)
    assert part in str(told.value)


def test_a_weight_of_another_shape_is_refused():
    x = Tensor(np.ones((2, 3)))
    for options, name in [({"weight": np.ones(2)}, "weight"), ({"bias": np.ones((1, 3))}, "bias")]:
        with pytest.raises(ValueError) as told:
            joined_axes(x, 3, **options)
        assert f"the {name} should have the shape (3,)" in str(told.value)


def test_channels_are_axis_1():
    assert channel_axes(3) == ((0, 2), (1, -1, 1))
    with pytest.raises(ValueError) as told:
        channel_axes(1)
    assert "of rank 1" in str(told.value)


def test_running_statistics_are_the_arrays_themselves():
    mean, var = np.zeros(3), Tensor(np.ones(3))
    assert [a is b for a, b in zip(running_arrays(mean, var, (5, 3), False), (mean, var.data))] == [
        True,
        True,
    ]
    with pytest.raises(ValueError) as told:
        running_arrays(mean, np.ones(2), (5, 3), True)
    assert "running_var has the shape (2,): it should be (3,)" in str(told.value)
    with pytest.raises(ValueError) as told:
        running_arrays(None, None, (5, 3), False)
    assert "use training=True" in str(told.value)
    assert [a.shape for a in running_arrays(None, None, (5, 3), True)] == [(3,), (3,)]


@pytest.mark.parametrize(
    "norm, shape, wanted",
    [
        (BatchNorm1d(3), (2, 3, 4, 4), "(B, 3) or (B, 3, L), not (2, 3, 4, 4)"),
        (BatchNorm1d(3), (2, 4), "(B, 3) or (B, 3, L), not (2, 4)"),
        (BatchNorm2d(3), (2, 3), "(B, 3, H, W), not (2, 3)"),
        (BatchNorm2d(3), (3,), "not (3,)"),
    ],
    ids=str,
)
def test_a_layer_names_the_inputs_it_takes(norm, shape, wanted):
    with pytest.raises(ValueError) as told:
        checked_rank(np.ones(shape), norm.ranks, norm)
    assert f"{norm} takes inputs of shape" in str(told.value) and wanted in str(told.value)


def test_no_heads_are_refused():
    with pytest.raises(ValueError, match="0 heads"):
        check_heads(4, 0)


def test_positions_may_be_a_list_and_must_be_one_row():
    check_positions(np.zeros((5, 2, 4)), [1, 2])
    with pytest.raises(ValueError, match=r"shape \(1, 2\)"):
        check_positions(np.zeros((5, 2, 4)), [[1, 2]])


def test_a_mask_of_false_is_a_mask():
    with pytest.raises(ValueError, match="two masks"):
        check_causal(np.zeros((1, 2)), np.zeros((1, 2)), np.zeros((1, 1), bool))


def test_how_to_combine_two_masks_depends_on_their_kind():
    x = np.zeros((3, 2))
    with pytest.raises(ValueError, match=r"attn_mask & causal_mask\(3, 3\)"):
        check_causal(x, x, np.ones((3, 3), bool))
    with pytest.raises(ValueError, match=r"where\(causal_mask\(3, 3\), attn_mask, -np.inf\)"):
        check_causal(x, x, np.zeros((3, 3)))
