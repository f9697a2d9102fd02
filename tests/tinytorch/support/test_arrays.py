"""Arrays, shapes, and who holds an array."""

import tracemalloc

import numpy as np
import pytest

from tinytorch.support.arrays import (
    as_array,
    as_index_array,
    as_tuple,
    axes_of,
    copy_of,
    explain_error,
    flattened_shape,
    is_exclusive,
    keep_freed_memory,
    pad_pairs,
    row_lengths,
    squeezed_shape,
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


def test_several_ints_and_one_tuple_are_the_same_shape():
    assert as_tuple((2, 3)) == as_tuple(((2, 3),)) == as_tuple(([2, 3],)) == (2, 3)
    assert as_tuple((5,)) == as_tuple(((5,),)) == (5,)
    assert as_tuple(()) == as_tuple(((),)) == ()


@pytest.mark.parametrize(
    "axis, ndim, wanted",
    [
        (None, 3, (0, 1, 2)),
        (None, 0, ()),
        (1, 3, (1,)),
        (-1, 3, (2,)),
        ((-1, 0), 3, (2, 0)),
        ([0, -2], 2, (0, 0)),
        ((), 2, ()),
    ],
)
def test_axes_are_numbers_from_0(axis, ndim, wanted):
    assert axes_of(axis, ndim) == wanted


@pytest.mark.parametrize("axis, ndim", [(2, 2), (-3, 2), ((0, 5), 2), (0, 0)])
def test_an_axis_that_is_not_there_is_refused(axis, ndim):
    with pytest.raises(IndexError, match=f"no axis .* in {ndim} axes"):
        axes_of(axis, ndim)


@pytest.mark.parametrize("shape", [(2, 3, 4), (5,), (2, 0, 3), (1, 1, 2)])
def test_all_axes_flatten_into_the_number_of_numbers(shape):
    assert flattened_shape(shape) == np.zeros(shape).ravel().shape
    assert flattened_shape(shape, -1) == shape


def test_flattening_some_axes():
    assert flattened_shape((2, 3, 4), 0, 1) == (6, 4) and flattened_shape((2, 3, 4), 1, 1) == (
        2,
        3,
        4,
    )
    assert flattened_shape(()) == (1,)
    with pytest.raises(ValueError, match=r"from 1 to 0 in shape \(2, 3\)"):
        flattened_shape((2, 3), 1, 0)


@pytest.mark.parametrize(
    "shape, axis",
    [((1, 2, 1), None), ((1, 2, 1), 0), ((1, 2, 1), -1), ((1, 2, 1), (0, 2)), ((), None)],
)
def test_squeezed_shapes_are_numpys(shape, axis):
    assert squeezed_shape(shape, axis) == np.squeeze(np.zeros(shape), axis).shape


def test_a_longer_axis_is_not_squeezed():
    with pytest.raises(ValueError, match=r"not axis 1 of shape \(1, 2\)"):
        squeezed_shape((1, 2), 1)


@pytest.mark.parametrize("width", [0, 2, (1, 2), [(1, 0), (0, 3)], ((4,), (5,))], ids=str)
def test_widths_are_read_as_numpy_pad_reads_them(width):
    pairs = pad_pairs(width, (3, 4))
    padded = np.pad(np.ones((3, 4)), width)
    assert tuple(before + n + after for n, (before, after) in zip((3, 4), pairs)) == padded.shape
    assert np.argwhere(padded)[0].tolist() == [before for before, _ in pairs]


@pytest.mark.parametrize("width, words", [((1, 2, 3), r"shape \(3, 4\)"), (-1, "negative")])
def test_widths_that_fit_no_shape(width, words):
    with pytest.raises(ValueError, match=words):
        pad_pairs(width, (3, 4))


def test_an_array_in_one_variable_is_exclusive():
    def alone():
        array = np.ones(3)
        return is_exclusive(array)

    assert alone()


def test_an_array_that_a_list_refers_to_is_not_exclusive():
    def with_a_list():
        array = np.ones(3)
        others = [array]
        return is_exclusive(array), others

    assert not with_a_list()[0]


def test_views_and_numbers_are_not_exclusive():
    g = np.ones(3)
    view = g[:]
    assert not is_exclusive(view) and not is_exclusive(np.float32(1)) and not is_exclusive(1.0)


def test_an_array_whose_memory_a_view_uses_is_not_exclusive():
    def with_a_view():
        array = np.ones(3)
        view = array[1:]
        return is_exclusive(array), view

    assert not with_a_view()[0]


def test_the_block_is_just_below_the_limit_of_glibc_and_freed_at_once():
    tracemalloc.start()
    try:
        keep_freed_memory()
        left, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    largest = 4 * 1024 * 1024 * 8  # DEFAULT_MMAP_THRESHOLD_MAX of glibc, 64 bits: 32 MiB
    assert 0.9 * largest < peak < largest and left < 100_000
