"""What becomes an array, what is refused, and in which words."""

import doctest

import numpy as np
import pytest

from tinytorch.support import arrays
from tinytorch.support.arrays import copy_of, explained, fresh, row_lengths


def refusal(op, *inputs, common_shape=None, **options):
    """The explanation of the error that op(*inputs, **options) raises."""
    with pytest.raises((IndexError, ValueError, TypeError)) as info:
        op(*inputs, **options)
    return explained(info.value, op, inputs, options, common_shape)


@pytest.mark.parametrize("data", [3, 0.5, True, [1, 2], [[0.5], [2]], [], np.ones((2, 0), "uint8")])
def test_a_copy_holds_the_same_numbers_in_numpys_dtype(data):
    out = copy_of(data)
    assert np.array_equal(out, data) and out.dtype == np.asarray(data).dtype


def test_a_copy_shares_no_memory():
    given = np.arange(3)
    assert not np.shares_memory(copy_of(given), given)


@pytest.mark.parametrize("part", [[2, 0], [True, False, True], np.array([1, 1]), [], [[]]], ids=str)
def test_a_fresh_index_picks_the_same_and_follows_nothing(part):
    x = np.arange(12).reshape(3, 2, 2)
    index = fresh(part)
    assert np.array_equal(x[index], x[part]) and not np.shares_memory(index, part)


@pytest.mark.parametrize(
    "data, lengths",
    [
        ([[1, 2], [3]], "2 and 1"),
        ([1, [2, 3]], "none and 2"),
        ([[1], [[2]]], "none and 1"),
        ([[[1], [2, 3]], [[4], [5]]], "1 and 2"),
        ([[], [1]], "0 and 1"),
        ([np.ones(2), [1]], "2 and 1"),
    ],
)
def test_ragged_rows_are_refused_with_their_lengths(data, lengths):
    assert row_lengths(data) == lengths
    with pytest.raises(ValueError, match=f"rows of length {lengths} meet"):
        copy_of(data)


@pytest.mark.parametrize("data", ["abc", ["a"], None, [1, None], 1j, {"a": 1}, object()])
def test_what_is_no_real_number_is_refused(data):
    with pytest.raises(TypeError, match="real numbers"):
        copy_of(data)


def test_a_missing_axis_is_explained_with_the_axes_that_are_there():
    error = refusal(np.sum, np.ones((2, 3)), axis=5)
    assert isinstance(error, IndexError) and isinstance(error, ValueError)
    assert str(error) == ("there is no axis 5 in shape (2, 3): its axes are 0 to 1, or -2 to -1")
    assert str(refusal(np.max, np.float32(1), axis=1)).endswith("shape (): it has no axes")


def test_shapes_that_do_not_broadcast_are_explained_by_the_given_rule():
    def rule(*shapes):
        raise ValueError(f"the rule refuses {shapes}")

    for op in (np.add, np.matmul):
        error = refusal(op, np.ones((2, 3)), np.ones((2, 4)), common_shape=rule)
        assert str(error) == "the rule refuses ((2, 3), (2, 4))"


def test_a_rule_that_finds_nothing_wrong_leaves_numpys_words():
    error = refusal(np.add, np.ones(2), np.ones(3), common_shape=lambda *shapes: ())
    assert str(error).startswith("add refused shapes (2,), (3,): operands could not be broadcast")


@pytest.mark.parametrize(
    "op, inputs, kind, words",
    [
        (lambda x: x[5], (np.ones(3),), IndexError, r"refused shape \(3,\): index 5"),
        (np.concatenate, (np.ones((0, 2)),), ValueError, r"concatenate refused shape \(0, 2\)"),
        (np.exp, (np.array(["a"]),), TypeError, r"exp refused shape \(1,\)"),
    ],
)
def test_other_errors_keep_their_kind_and_name_the_operation(op, inputs, kind, words):
    with pytest.raises(kind, match=words):
        raise refusal(op, *inputs)


def test_the_name_of_a_forward_function_is_the_operations():
    def take_forward(x):
        return x[9]

    assert str(refusal(take_forward, np.ones(2))).startswith("take refused shape (2,)")


def test_arrays_that_came_one_by_one_are_explained_as_a_wrong_call():
    error = explained(TypeError("x"), np.subtract, np.ones(3), np.ones(3), None)
    assert isinstance(error, TypeError)
    assert "one tuple of arrays and one dictionary" in str(error)


def test_the_examples_are_true():
    result = doctest.testmod(arrays)
    assert result.failed == 0 and result.attempted >= 4
