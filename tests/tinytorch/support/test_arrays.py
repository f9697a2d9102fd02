"""What becomes an array, what is refused, and in which words."""

import numpy as np
import pytest

from tinytorch.support.arrays import (
    as_array,
    as_index_array,
    copy_of,
    explain_error,
    row_lengths,
)


def refusal(op, *inputs, common_shape=None, **options):
    """The explanation of the error that op(*inputs, **options) raises."""
    with pytest.raises((IndexError, ValueError, TypeError)) as info:
        op(*inputs, **options)
    return explain_error(info.value, op, inputs, options, common_shape)


@pytest.mark.parametrize("data", [3, 0.5, True, [1, 2], [[0.5], [2]], [], np.ones((2, 0), "uint8")])
def test_a_copy_holds_the_same_numbers_in_numpys_dtype(data):
    out = copy_of(data)
    assert np.array_equal(out, data) and out.dtype == np.asarray(data).dtype


@pytest.mark.parametrize(
    "data, dtype",
    [
        (3, "float32"),
        (-0.5, "float32"),
        (2**40, "float32"),
        (np.float64(2.5), "float32"),
        (np.float16(0.5), "float32"),
        ([1, 0.5], "float32"),
        ([[0.5], [2.0]], "float32"),
        ([], "float32"),
        ([2, 4, 8], np.dtype(int)),  # int64, or int32 on a 32-bit machine
        ([[0], [-3]], np.dtype(int)),
        (True, "bool"),
        ([True, False], "bool"),
        (np.bool_(True), "bool"),
        (np.ones((2, 3)), "float64"),
        (np.array(0.1), "float64"),
        (np.ones(4, "float16"), "float16"),
        (np.array(-4, "int32"), "int32"),
        (np.zeros((0, 3), "uint8"), "uint8"),
    ],
)
def test_the_dtype_of_an_array_for_a_tensor(data, dtype):
    plain, differentiable = as_array(data), as_array(data, requires_grad=True)
    assert plain.dtype == dtype and np.array_equal(plain, np.array(data).astype(dtype))
    assert differentiable.dtype == (dtype if plain.dtype.kind == "f" else "float32")
    assert not np.shares_memory(plain, data) and not np.shares_memory(differentiable, data)


def test_a_copy_shares_no_memory():
    given = np.arange(3)
    assert not np.shares_memory(copy_of(given), given)


@pytest.mark.parametrize("part", [[2, 0], [True, False, True], np.array([1, 1]), [], [[]]], ids=str)
def test_an_index_array_selects_the_same_and_is_a_copy(part):
    x = np.arange(12).reshape(3, 2, 2)
    index = as_index_array(part)
    assert np.array_equal(x[index], x[part]) and not np.shares_memory(index, part)


@pytest.mark.parametrize(
    "data, lengths",
    [
        ([[1, 2], [3]], "rows of length 2 and 1"),
        ([1, [2, 3]], "a number and a row of length 2"),
        ([[1], [[2]]], "a number and a row of length 1"),
        ([[[1], [2, 3]], [[4], [5]]], "rows of length 1 and 2"),
        ([[], [1]], "rows of length 0 and 1"),
        ([np.ones(2), [1]], "rows of length 2 and 1"),
    ],
)
def test_ragged_rows_are_refused_with_their_lengths(data, lengths):
    assert row_lengths(data) == lengths
    with pytest.raises(ValueError, match=f"here are {lengths}"):
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
    error = explain_error(TypeError("x"), np.subtract, np.ones(3), np.ones(3), None)
    assert isinstance(error, TypeError)
    assert "one tuple of arrays and one dictionary" in str(error)
