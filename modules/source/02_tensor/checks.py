# The checks of lesson 02, by exercise. `check("strides")` in the chapter runs the visible ones.

# %% setup
import itertools
import math

import numpy as np

from checking import because, equal, expect, refused, result_of


def result_or_error(function, *given):
    """What a function returns, or words about the error that it raises."""
    try:
        return function(*given)
    except NotImplementedError:
        raise
    except (ValueError, IndexError, TypeError) as error:
        return f"an error ({type(error).__name__}: {error})"


def has_common_shape(shapes, wanted, cause=""):
    """Assert that broadcast_shape finds this shape, a tuple."""
    found = result_or_error(broadcast_shape, *shapes)
    assert isinstance(found, (tuple, str)), (
        f"{shapes} should broadcast to the tuple {wanted}, yours is {found!r}"
    )
    if isinstance(found, tuple) and len(found) < len(wanted):
        cause = (
            f"the longest shape has {len(wanted)} axes, and so has the result "
            "(zip() would stop at the end of the shortest one)"
        )
    assert found == wanted, (
        f"{shapes} should broadcast to {wanted}, yours is {found}{because(cause)}"
    )


def inverse(axes, found, shape):
    """Words about a shape whose axes were permuted the other way round, else nothing."""
    moved = tuple(shape[i] for i in np.argsort([axis % len(shape) for axis in axes]))
    return ": axis i of the result is axis axes[i] of x, yours moves axis i to axes[i]" * (
        found == moved
    )


def divisors(squares, count, everything, correction=0):
    """Likely causes of a wrong variance, for the sums of squares: {cause: the numbers}."""
    kept = "is the divisor the count minus the correction?"
    return {
        "the mean is missing: that is the sum of the squares": squares,
        "count the elements along the axis, not all elements of x": squares / everything,
        kept: squares / (count - 1),
        f"{kept} ": squares / count,
        "that is the standard deviation, its square root": (squares / count) ** 0.5,
    }


# %% strides points=2
def test_strides_count_elements_for_every_rank():
    for shape, wanted in [
        ((5,), (1,)),
        ((2, 3), (3, 1)),
        ((2, 3, 4), (12, 4, 1)),
        ((7, 1, 2, 3), (6, 6, 3, 1)),
        ((), ()),
    ]:
        found = strides_of(shape)
        assert isinstance(found, tuple), (
            f"the strides of {shape} should be the tuple {wanted}, yours are {found!r}"
            + ". `list.reverse` and `list.sort` work in place and return None" * (found is None)
        )
        cause = (
            "one step along an axis passes all elements of the later axes, so multiply their "
        )
        cause += "lengths"
        if found == wanted[::-1]:
            cause = "these are the right numbers in reverse order"
        assert found == wanted, (
            f"the strides of {shape} should be {wanted}, yours are {found}: {cause}"
        )


def test_strides_lead_to_every_element():
    array = np.arange(30).reshape(5, 2, 3)
    row, steps = array.ravel(), strides_of((5, 2, 3))
    assert len(steps) == 3, f"shape (5, 2, 3) has three strides, yours are {steps!r}"
    for index in np.ndindex(5, 2, 3):
        place = int(sum(i * step for i, step in zip(index, steps)))
        assert place < 30 and row[place] == array[index], (
            f"in shape (5, 2, 3), the element at {index} is at position {array[index]} in "
            f"memory; your strides {steps} lead to {place}"
        )


# %% strides polish points=0
def test_strides_are_python_ints():
    for shape, wanted in [((2, 3, 4), (12, 4, 1)), ((7,), (1,))]:
        found = strides_of(shape)
        assert all(isinstance(step, int) for step in found), (
            f"the strides of {shape} should be Python ints, yours are {found!r}: their values "
            "are right, but np.prod returns NumPy numbers. math.prod returns ints"
        )
        equal(found, wanted, f"the strides of {shape}")


# %% strides hidden points=1
def test_strides_of_other_shapes():
    for shape in [(9,), (1,), (4, 6), (6, 4), (1, 5), (5, 1), (11, 7, 2), (3, 1, 4, 1, 5)]:
        yield strides_of(shape)
    for shape in [(2, 2, 2, 2, 2, 2), (1000, 1, 900), (8, 10**6, 10**7)]:
        found = strides_of(shape=shape)
        yield type(found).__name__, found


# %% broadcast points=3
def test_shapes_are_aligned_at_the_right():
    for shapes, wanted in [
        ([(2, 3), (3,)], (2, 3)),
        ([(3,), (2, 3)], (2, 3)),
        ([(5, 2, 3), (2, 3)], (5, 2, 3)),
        ([(4, 3), ()], (4, 3)),
        ([(7,)], (7,)),
        ([(), ()], ()),
    ]:
        ranks = {len(shape) for shape in shapes}
        has_common_shape(
            shapes, wanted, "align the shapes at their right ends" * (len(ranks) > 1)
        )


def test_a_length_of_1_is_repeated():
    for shapes, wanted in [
        ([(3, 1), (3,)], (3, 3)),
        ([(2, 1, 4), (3, 1)], (2, 3, 4)),
        ([(1, 1), (5, 1)], (5, 1)),
        ([(1, 3), (4, 3)], (4, 3)),
        ([(2, 1, 1), (3, 1), (4,)], (2, 3, 4)),
    ]:
        cause = "an axis of length 1 is repeated, so the other length is the result"
        has_common_shape(shapes, wanted, cause)


def test_shapes_that_do_not_broadcast_are_refused():
    for shapes in [
        ((2, 3), (2,)),
        ((4, 3), (3, 4)),
        ((5, 2, 3), (5, 1, 4)),
        ((2, 1), (3,), (4,)),
        ((2,), (1,), (3,)),
    ]:
        try:
            found = broadcast_shape(*shapes)
        except ValueError:
            continue
        assert False, (
            f"{shapes} do not broadcast, yours gives {found}: two lengths on one axis may "
            "differ only if one of them is 1"
        )
    equal(broadcast_shape((2, 3), (3,)), (2, 3), "the common shape of (2, 3) and (3,)")


# %% broadcast polish points=0
def test_lengths_of_0_broadcast():
    cause = "when one length is 1, the other one is the result, also when it is 0"
    for shapes, wanted in [([(0, 3), (1, 3)], (0, 3)), ([(1,), (0,)], (0,))]:
        has_common_shape(shapes, wanted, cause)
    found = result_or_error(broadcast_shape, (3,), (0,))
    assert isinstance(found, str), f"(3,) and (0,) do not broadcast, yours gives {found}"


def test_the_error_names_every_shape():
    for shapes in [((2, 3), (2,)), ((2, 1), (3,), (4,))]:
        error = str(refused(lambda: broadcast_shape(*shapes), f"{shapes}"))
        missing = [str(s) for s in shapes if str(s) not in error]
        assert not missing, (
            f"the error should name every shape; {', '.join(missing)} is missing in: {error}"
        )
    equal(broadcast_shape((2, 1), (3,)), (2, 3), "the common shape of (2, 1) and (3,)")


# %% broadcast hidden points=1
def test_other_shapes_broadcast_as_in_numpy():
    random = np.random.default_rng(11)
    for _ in range(40):
        common, shapes = random.integers(1, 6, size=random.integers(0, 6)).tolist(), []
        for _ in range(random.integers(1, 5)):
            shape = [1 if random.random() < 0.4 else n for n in common]
            shapes.append(tuple(shape[random.integers(0, len(common) + 1) :]))
        found = broadcast_shape(*shapes)
        yield type(found).__name__, found
    for shapes in [
        ((4,), (5,)),
        ((2,), (7,)),
        ((6, 1, 3), (2, 1, 4)),
        ((1,), (2,), (3,)),
        ((2, 2), (3, 2), (1,)),
        ((3, 1, 2), (4, 1, 2)),
        ((7, 5), (5, 7, 1, 4, 5)),
    ]:
        refused(lambda: broadcast_shape(*shapes), f"{shapes}")


# %% learner-side
def read_after_writing(out, x, number):
    """The numbers in the Tensor `out`, read after `number` was written over all those in the
    Tensor `x`."""
    x.data[...] = number
    return out.data


# %% apply points=5
def test_apply_computes_with_the_arrays_inside():
    a = np.array([[1, 2, 3], [4, 5, 9]], "float32")
    b = np.array([[2, 0, 7], [1, 3, 5]], "float32")
    for inputs, plain in [
        ((Tensor(a), Tensor(b)), (a, b)),
        ((Tensor(a), b), (a, b)),
        ((a, Tensor(b)), (a, b)),
        ((Tensor(a), 2.5), (a, 2.5)),
        ((3, Tensor(b)), (3, b)),
        ((Tensor(a), [1, 2, 5]), (a, [1, 2, 5])),
    ]:
        out = apply(np.subtract, *inputs)
        assert out is not None, "apply returned None: is `return` missing?"
        assert isinstance(out, Tensor), (
            f"apply should return a Tensor: put wrap around the array. Yours returns {out!r}"
        )
        expect(out.data, np.subtract(*plain), f"subtract of {plain}")
    expect(a, [[1, 2, 3], [4, 5, 9]], "the input, after apply,")


def test_apply_passes_the_options_on():
    x = Tensor(np.arange(24, dtype="float32").reshape(2, 3, 4))
    case = "apply(np.swapaxes, x, axis1=0, axis2=2) should pass both options to run"
    out = result_of(lambda: apply(np.swapaxes, x, axis1=0, axis2=2), case, kind=TypeError)
    equal(out.shape, (4, 3, 2), "the shape of (2, 3, 4) after swapaxes with axis1=0, axis2=2")
    total = apply(np.sum, Tensor([[1.5, 2.0, 4.0]]), axis=1)
    expect(total.data, [7.5], "the sum of [[1.5, 2, 4]] along axis 1")


def test_apply_copies_no_numbers():
    x = Tensor([[1, 2, 3], [4, 5, 9]])
    found = read_after_writing(apply(np.transpose, x), x, 7)
    assert np.array_equal(found, np.full((3, 2), 7)), (
        "np.transpose returns a view, so the result should share memory with x; yours is a "
        "copy: operand returns the array itself, wrap puts a Tensor around the result. After x "
        f"became all 7, yours holds {found}"
    )


def test_apply_records_how_its_result_was_computed():
    x = Tensor([1.0, 4.0], requires_grad=True)
    out = apply(np.multiply, x, [3.0, 5.0])
    assert out.requires_grad and out.creator is not None, (
        "x has requires_grad=True, so the result of apply(np.multiply, x, [3, 5]) should have "
        f"it, too, and a creator; yours has requires_grad={out.requires_grad} and "
        f"creator={out.creator}. The given last line, `return record(...)`, sets both"
    )
    for reading in ("first", "second"):
        count = len([x for x in out.creator.arrays])
        assert count == 2, (
            f"the {reading} reading of creator.arrays should find 2 arrays, yours finds "
            f"{count}: a generator can be read once, make a tuple"
        )


# %% apply polish points=0
def test_apply_refuses_what_is_no_number():
    for inputs in [(Tensor([0.5]), "2"), (None, Tensor([0.5]))]:
        try:
            out = apply(np.add, *inputs)
        except TypeError as error:
            assert "cannot compute with" in str(error), (
                f'operand refuses {inputs} with "cannot compute with ...": send every input '
                f"through it. Yours: {error}"
            )
        else:
            assert False, (
                f"apply(np.add, *{inputs}) should raise TypeError; yours gives {out!r}"
            )
    out = apply(np.add, Tensor([0.5]), 2)
    expect(out.data, [2.5], "apply(np.add, [0.5], 2)")


def test_errors_of_operators_name_the_shapes():
    try:
        mine, refused = f"the shape {broadcast_shape((2, 3), (2,))}", False
    except ValueError as error:
        mine, refused = str(error), True
    try:
        out = Tensor(np.ones((2, 3), "float32")) + Tensor(np.ones(2, "float32"))
    except ValueError as error:
        assert refused, (
            "broadcast_shape((2, 3), (2,)) should raise ValueError, yours gives "
            f"{mine}; so users of + read only: {error}"
        )
        assert "operands" not in str(error), (
            "(2, 3) + (2,) raises NumPy's own message, not that of broadcast_shape: apply did "
            f"not call `run`, which replaces it. Call run(op, arrays, options). + says: {error}"
        )
        assert str(error) == mine and "(2, 3)" in mine and "(2,)" in mine, (
            "the error of + should be the one of broadcast_shape, with (2, 3) and (2,) in it; "
            f"+ says {error!r}, broadcast_shape {mine!r}"
        )
    else:
        assert False, f"(2, 3) + (2,) should raise ValueError, yours gives {out}"
    out = apply(np.add, Tensor([[1.0], [2.0]]), Tensor([3.0, 5.0]))
    expect(out.data, [[4, 6], [5, 7]], "[[1], [2]] + [3, 5]")


# %% apply hidden points=2
def test_apply_runs_any_function_on_other_inputs():
    wide, small = np.array([[-2.5, 1e6], [3e-5, 8.0]]), np.array([[0.5], [4.0]], "float16")
    cube, flags = np.arange(12, dtype="float32").reshape(2, 3, 2), np.array([True, False])
    four, nothing = np.array([4.0, 5.0], "float32"), np.zeros((0, 3), "float32")

    def scaled(a, b, c, d, scale):
        return (a - b) * c / d * scale

    for op, inputs, options in [
        (np.maximum, (Tensor(wide), -1), {}),
        (np.where, (Tensor(flags), Tensor(wide.astype("float32")), 0.0), {}),
        (np.sum, (Tensor(cube),), {"axis": (0, 2), "keepdims": True}),
        (np.sum, (Tensor(np.array([3, -8], "int64")),), {}),
        (np.multiply, (Tensor(small), 3), {}),
        (np.greater, (small, Tensor(np.array([1, 2]))), {}),
        (np.sqrt, (Tensor(np.array([4, 25])),), {}),
        (np.negative, (Tensor(nothing),), {}),
        (scaled, (2.0, Tensor(wide), wide, Tensor(four)), {"scale": 3}),
    ]:
        out = apply(op, *inputs, **options)
        yield out, np.asarray(out.data).tolist()
    yield wide.tolist()


# %% var points=4
def test_the_variance_is_taken_along_the_axis():
    array = np.array(
        [
            [[1, 2, 6], [0, 4, 5]],
            [[3, 10, -4], [7, 7, 1]],
            [[2, 8, 8], [9, 1, 0]],
            [[5, 5, 3], [1, 6, -2]],
        ],
        "float32",
    )
    for axis in (None, 0, 1, 2, -1, (0, 2), (-1, 1)):
        for keepdims in (False, True):
            wanted = np.var(array, axis, keepdims=keepdims)
            out = result_of(
                lambda: var(Tensor(array), axis, keepdims),
                f"var along {axis}, keepdims={keepdims}",
                "Each row needs its own mean, on an axis of length 1: keepdims=True.",
                ValueError,
            )
            assert isinstance(out, Tensor), (
                f"var should return a Tensor, yours returns {out!r}: compute with the methods "
                "of Tensor, not with x.data"
            )
            assert out.shape == wanted.shape, (
                f"the shape of var along {axis}, keepdims={keepdims}, should be "
                f"{wanted.shape}, yours is {out.shape}"
            )
            count = array.size // wanted.size
            causes = divisors(wanted * count, count, array.size)
            far = ((array - array.mean()) ** 2).mean(axis, keepdims=keepdims)
            causes["The distances are from the mean of all numbers; is axis 0 missing?"] = far
            expect(out.data, wanted, f"var along {axis}", causes, near=(1e-5, 0))


def test_the_correction_makes_the_divisor_smaller():
    x = Tensor([[1.0, 2.0, 6.0, 7.0], [0.0, 4.0, 5.0, -3.0]])
    for correction, wanted in [(0, [6.5, 10.25]), (1, [26 / 3, 41 / 3]), (2, [13.0, 20.5])]:
        found = var(x, 1, correction=correction).data
        causes = divisors(np.array([26.0, 41.0]), 4, 8, correction)
        expect(found, wanted, f"var with correction={correction}", causes, near=(1e-5, 0))


def test_large_numbers_do_not_cancel():
    x = Tensor([[8000.0, 8008.0, 8016.0], [3.0, 3.5, 4.5]])
    found = var(x, axis=1).data
    assert found.shape == (2,), (
        f"the shape of var of shape (2, 3) along axis 1 should be (2,), yours is {found.shape}"
    )
    assert abs(found[1] * 18 / 7 - 1) < 1e-4, (
        f"var of 3, 3.5, 4.5 should be 0.3889, yours is {found[1]:.4g}: how many elements does "
        "one row have?"
    )
    assert abs(found[0] * 3 / 128 - 1) < 1e-4, (
        f"var of 8000, 8008, 8016 should be 42.667, yours is {found[0]:.4g}: subtract the mean "
        "before squaring"
    )


def test_the_variance_of_integers_is_float32_and_has_a_gradient():
    out = var(Tensor([1, 2, 6]))
    assert out.dtype.name == "float32" and abs(float(out) - 14 / 3) < 1e-5, (
        f"var of 1, 2, 6 should be 4.6667 in float32, yours is {out!r} in {out.dtype}"
    )
    x = Tensor([1.0, 2.0, 6.0], requires_grad=True)
    assert var(x).requires_grad, (
        "var of a tensor with requires_grad=True should have it, yours does not: compute with "
        "tensors, not with x.data"
    )
    assert np.array_equal(x.data, [1, 2, 6]), f"var changed its input to {x.data}"


# %% var hidden points=1
def test_the_variance_of_other_numbers():
    array = np.random.default_rng(13).normal(size=(3, 1, 4, 2)) * [1, 1e3] + [0, 5e4]
    x, axes = Tensor(array), (None, 0, -2, 1, (0, -1), (1, 2, 3), (-2,))
    for axis, count in zip(axes, (24, 3, 4, 1, 6, 8, 4)):
        for keepdims in (False, True):
            for correction in range(min(count, 4)):
                out = var(x, correction=correction, keepdims=keepdims, axis=axis)
                yield out, np.asarray(out.data).tolist()
    yield x
    yield var(Tensor([[20000.0, 20004.0, 20012.0, 20008.0]]), 1, True, 1)
    yield var(Tensor(np.array([[1, 5], [3, 9]])), 0, False, 1)
    yield var(Tensor([[1.0, 4.0]], requires_grad=True), 1, correction=1)


# %% transpose points=4
def test_axes_are_permuted():
    array = np.arange(24, dtype="float32").reshape(2, 3, 4)
    x = Tensor(array)
    for axes in [(2, 0, 1), (1, 2, 0), (0, 2, 1), (-1, 0, 1), (0, 1, 2)]:
        out, wanted = transpose(x, *axes), np.transpose(array, axes)
        assert isinstance(out, Tensor), (
            f"transpose should return a Tensor, yours returns {out!r}: call apply"
        )
        assert out.shape == wanted.shape, (
            f"transpose(x, *{axes}) of shape (2, 3, 4) should have shape {wanted.shape}, yours "
            f"has {out.shape}{inverse(axes, out.shape, (2, 3, 4))}"
        )
        assert np.array_equal(out.data, wanted), (
            f"with axes {axes}, the shape is right but the numbers are not: move axes, do not "
            "reshape"
        )
        expect(transpose(x, axes).data, wanted, f"transpose(x, {axes}), with one tuple,")
    expect(x.data, array, "the input, after transpose,")


def test_without_axes_the_order_is_reversed():
    for shape in [(2, 3), (2, 3, 4), (1, 3), (5,), ()]:
        array = np.arange(math.prod(shape), dtype="float32").reshape(shape)
        case = f"transpose(x) of shape {shape}"
        cause = "Without axes, `axes` is (): reverse the order"
        out = result_of(lambda: transpose(Tensor(array)), case, cause, (TypeError, ValueError))
        assert out.shape == shape[::-1], (
            f"transpose(x) of shape {shape} should have shape {shape[::-1]}, yours has "
            f"{out.shape}"
        )
        expect(out.data, array.T, f"the transpose of {array.tolist()}")


def test_the_result_is_a_view():
    for axes in [(), (2, 0, 1), (0, 1, 2)]:
        x = Tensor(np.ones((2, 3, 4), "float32"))
        out = transpose(x, *axes)
        found = read_after_writing(out, x, 7)
        call = f"transpose(x{''.join(f', {a}' for a in axes)})"
        wanted = np.ones((2, 3, 4)).transpose(*axes).shape
        assert np.shape(found) == wanted, (
            f"{call} of shape (2, 3, 4) should have shape {wanted}, yours has {np.shape(found)}"
        )
        assert np.all(found == 7), (
            f"{call} should share memory with x, yours is a copy: after x became all 7, yours "
            f"holds {found}"
        )


def test_the_axes_are_an_option_of_apply():
    x = Tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    for out in (transpose(x), transpose(x, 1, 0)):
        assert out.requires_grad, (
            "the transpose of a tensor with requires_grad=True should have it, yours does not: "
            "call apply"
        )
    x = Tensor(np.ones((2, 3, 4)), requires_grad=True)
    for axes, wanted in [((-1, 0, 1), (2, 0, 1)), ((), (2, 1, 0))]:
        options = transpose(x, *axes).creator.options
        assert options == {"axes": wanted}, (
            f"transpose(x, *{axes}) should call apply(np.transpose, x, axes={wanted}), with a "
            f"tuple of axes; your options are {options}"
        )


# %% transpose hidden points=1
def test_four_axes_are_permuted():
    array = np.random.default_rng(15).normal(size=(2, 1, 3, 5)).astype("float32")
    x = Tensor(array, requires_grad=True)
    for axes in itertools.permutations(range(4)):
        mixed = [a - 4 if a % 2 else a for a in axes]
        for given in (axes, (axes,), mixed, (tuple(mixed),)):
            out = transpose(x, *given)
            yield out, [int(axis) for axis in out.creator.options["axes"]]
    yield transpose(x), [int(axis) for axis in transpose(x).creator.options["axes"]]
    for shape, axes in [((4,), (-1,)), ((0, 4), ()), ((0, 4), (1, 0)), ((3, 1, 2), (2, 0, 1))]:
        x = Tensor(np.ones(shape))
        yield read_after_writing(transpose(x, *axes), x, -2.5)


# %% matmul-by-broadcasting points=3
def test_each_element_is_a_row_times_a_column():
    a = np.array([[1, 2, 3], [0, -1, 4]], "float32")
    b = np.array([[2, 0, 1, 5], [1, 3, -2, 0], [4, 1, 0, 7]], "float32")
    out = result_of(
        lambda: matmul_by_broadcasting(Tensor(a), Tensor(b)),
        "(2, 3) times (3, 4)",
        "a needs the shape (i, k, 1) and b the shape (1, k, j)",
        ValueError,
    )
    cause = "compute with tensors, not with .data"
    assert isinstance(out, Tensor), (
        f"the product of two Tensors should be a Tensor, yours is {out!r}: "
        f"{'is `return` missing?' if out is None else cause}"
    )
    wanted = [[sum(a[i, k] * b[k, j] for k in range(3)) for j in range(4)] for i in range(2)]
    assert out.shape == (2, 4), (
        f"the shape of (2, 3) times (3, 4) should be (2, 4), yours is {out.shape}: sum over "
        "axis 1, the one that both matrices have"
    )
    expect(out.data, wanted, f"the product of {a.tolist()} and {b.tolist()}")


def test_thin_matrices_multiply():
    for i, k, j in [(1, 5, 2), (4, 1, 3), (3, 2, 1)]:
        a = np.arange(i * k, dtype="float32").reshape(i, k) - 2
        b = np.arange(k * j, dtype="float32").reshape(k, j) + 1
        out = matmul_by_broadcasting(Tensor(a), Tensor(b))
        expect(out.data, a @ b, f"({i}, {k}) times ({k}, {j})")


def test_the_product_is_computed_with_tensors():
    for required in (True, False):
        a, b = Tensor([[1.0, 2.0, 3.0]], required), Tensor([[1.0], [0.5], [4.0]], not required)
        out = matmul_by_broadcasting(a, b)
        assert out.requires_grad, (
            f"{'ab'[not required]} has requires_grad=True, so the product should have "
            "it, yours does not: compute with tensors, not with .data"
        )
        made = out.creator.op.__name__
        assert made != "matmul", (
            "the product was computed by NumPy's matmul, which is `@`: use `*` and a sum"
        )


# %% matmul-by-broadcasting polish points=0
def test_empty_matrices_multiply():
    for i, k, j in [(0, 2, 3), (2, 0, 3)]:
        a, b = np.ones((i, k), "float32"), np.ones((k, j), "float32")
        out = matmul_by_broadcasting(Tensor(a), Tensor(b))
        expect(out.data, a @ b, f"({i}, {k}) times ({k}, {j})")


# %% matmul-by-broadcasting hidden points=1
def test_other_matrices_multiply():
    random = np.random.default_rng(16)
    for i, k, j in [(7, 5, 6), (1, 1, 1), (1, 8, 1), (9, 1, 9), (4, 4, 4), (2, 30, 3)]:
        for dtype in ("float64", "float32", "int64"):
            given = [random.normal(size=shape) * 30 for shape in ((i, k), (k, j))]
            a, b = [Tensor(array.astype(dtype)) for array in given]
            yield matmul_by_broadcasting(a=a, b=b)
    out = matmul_by_broadcasting(Tensor([[1.0], [2.0]], True), Tensor([[3.0, 5.0]], True))
    yield out, out.creator.op.__name__ == "matmul"
