# The checks of lesson 01, by exercise. `check("array")` in the chapter runs the visible ones.

# %% setup
import itertools
import math

import numpy as np


# %% learner-side
def kept_after_writing(mine, number, requires_grad=False):
    """as_array(mine, requires_grad), read after `number` was written over all of `mine`."""
    kept = as_array(mine, requires_grad)
    mine[...] = number
    return kept


# %% array points=5
def test_numbers_written_by_hand_choose_their_dtype():
    cases = [
        (3, "float32"),
        (-0.5, "float32"),
        ([1, 0.5], "float32"),
        ([[0.5], [2.0]], "float32"),
        (np.float64(2.5), "float32"),
        ([2, 4, 8], "int64"),
        ([[1, 2, 3]], "int64"),
        (True, "bool"),
        ([True, False, True], "bool"),
    ]
    for data, wanted in cases:
        array = as_array(data)
        assert array is not None, f"as_array({data!r}) returned None: is `return` missing?"
        assert array.dtype.name == wanted, (
            f"as_array({data!r}) should be {wanted}, yours is {array.dtype}"
        )
        assert np.array_equal(array, np.array(data)), (
            f"as_array({data!r}) changed the numbers: {array}"
        )


def test_arrays_keep_their_dtype():
    for dtype in ("float64", "float32", "float16", "int64", "uint8", "bool"):
        for shape in ((2, 3), (4,), ()):
            found = as_array(np.ones(shape, dtype)).dtype.name
            assert found == dtype, (
                f"a NumPy array of {dtype}, shape {shape}, should stay {dtype}, yours became "
                f"{found}"
            )
    found = as_array([[1, 0.5]]).dtype.name
    assert found == "float32", (
        f"only arrays do: the list [[1, 0.5]] should be float32, yours is {found}"
    )


def test_wanting_a_gradient_makes_whole_numbers_fractions():
    for data, wanted in [
        ([2, 4, 8], "float32"),
        (3, "float32"),
        ([True, False], "float32"),
        ([0.5], "float32"),
        (np.ones((2, 3), "uint8"), "float32"),
        (np.ones((2, 3), "float64"), "float64"),
        (np.ones((2, 3), "float16"), "float16"),
    ]:
        given = (
            f"np.ones((2, 3), '{data.dtype}')" if isinstance(data, np.ndarray) else repr(data)
        )
        array = as_array(data, requires_grad=True)
        assert array.dtype.name == wanted, (
            f"as_array({given}, requires_grad=True) should be {wanted}, yours is {array.dtype}"
        )
        assert np.array_equal(array, data), (
            f"as_array({given}, requires_grad=True) changed the numbers: {array}"
        )


def test_the_array_is_a_copy():
    for dtype in ("float32", "float64", "int64"):
        kept = kept_after_writing(np.array([[1, 2, 3]], dtype), 50)
        assert np.array_equal(kept, [[1, 2, 3]]), (
            f"writing 50 into my {dtype} array of 1, 2, 3 changed yours: {kept}. Copy it, do "
            "not share it."
        )


def test_what_is_no_grid_of_numbers_is_refused():
    for data, words in [
        ("seven", "a tensor holds real numbers"),
        ([["a", "b"]], "a tensor holds real numbers"),
        ([1, None], "a tensor holds real numbers"),
        ([[1, 2], [3]], "rows of length 2 and 1 meet"),
    ]:
        try:
            array = as_array(data)
        except (ValueError, TypeError) as error:
            assert words in str(error), (
                f'as_array({data!r}) should be refused in the words of copy_of, "{words}"; '
                f"yours: {error}"
            )
        else:
            assert False, (
                f"{data!r} is no grid of numbers, and copy_of refuses it; yours gives {array!r}"
            )


# %% array hidden points=1
def test_as_array_keeps_its_contract_for_other_data():
    for data, usual in [
        (-7, "float32"),
        (2**40, "float32"),
        ([0, -0.125], "float32"),
        ([[[1e-30, 3e20]], [[-2, 5]]], "float32"),
        (np.float16(0.5), "float32"),
        (np.int64(-9), "float32"),
        (np.bool_(True), "bool"),
        (False, "bool"),
        ([[True], [False]], "bool"),
        ([[[0], [-3]]], "int64"),
        ([[2**40, -1]], "int64"),
        (np.zeros((0, 3), "int16"), "int16"),
        (np.array(-4, "int32"), "int32"),
        (np.array(0.1), "float64"),
        (np.array([[[2]], [[65000]]], "uint16"), "uint16"),
    ]:
        chosen = isinstance(data, np.ndarray) and data.dtype.kind == "f"
        for wants, wanted in [(False, usual), (True, usual if chosen else "float32")]:
            array = as_array(data, requires_grad=wants)
            given = f"as_array({data!r}, requires_grad={wants})"
            assert array.dtype.name == wanted, f"{given} should be {wanted}, got {array.dtype}"
            assert np.array_equal(array, np.array(data).astype(wanted)), (
                f"{given} changed the numbers: {array!r}"
            )
    for dtype in ("float16", "float64", "uint8", "bool"):
        for wants in (False, True):
            kept = kept_after_writing(np.array([[0, 1], [1, 0]], dtype), 1, wants)
            assert np.array_equal(kept, [[0, 1], [1, 0]]), (
                f"as_array of [[0, 1], [1, 0]] in {dtype}, requires_grad={wants}, shares "
                f"memory: it became {kept}"
            )
    for data in ([[[1, 2], [3]], [[4, 5], [6]]], ["1", 2], {"a": 1}, [0.5, [1]], None):
        try:
            array = as_array(data)
        except (ValueError, TypeError):
            continue
        assert False, f"as_array({data!r}) should be refused, got {array!r}"


# %% text points=3
def test_a_tensor_prints_its_numbers():
    for data, wanted in [
        ([0.5, -2.0], "Tensor([ 0.5, -2. ])"),
        ([1, 2, 3], "Tensor([1, 2, 3])"),
        (0.5, "Tensor(0.5)"),
        ([], "Tensor([])"),
        ([True, False], "Tensor([ True, False])"),
    ]:
        found = as_text(Tensor(data))
        assert found is not None, (
            f"as_text of Tensor({data}) returned None: is `return` missing?"
        )
        assert found == wanted, f"Tensor({data}) should print {wanted}, yours prints {found}"


def test_rows_stand_under_each_other():
    found = as_text(Tensor([[1, 20, 300], [4, 5, 6]]))
    wanted = "Tensor([[  1,  20, 300],\n        [  4,   5,   6]])"
    assert found == wanted, (
        f"the second row belongs under the first:\n{wanted}\nYours prints\n{found}"
    )


def test_what_is_unusual_is_named():
    for x, wanted in [
        (Tensor(np.array([0.5])), "Tensor([0.5], dtype=float64)"),
        (Tensor(np.array([7], "uint8")), "Tensor([7], dtype=uint8)"),
        (Tensor([0.5], requires_grad=True), "Tensor([0.5], requires_grad=True)"),
        (
            Tensor(np.array([0.5]), requires_grad=True),
            "Tensor([0.5], dtype=float64, requires_grad=True)",
        ),
    ]:
        assert as_text(x) == wanted, (
            f"a reader needs to see {wanted}, yours prints {as_text(x)}"
        )


# %% text hidden points=1
def test_other_tensors_print_alike():
    for x, wanted in [
        (Tensor(7), "Tensor(7.)"),
        (Tensor(np.array(-3)), "Tensor(-3)"),
        (
            Tensor([[True, False], [False, True]]),
            "Tensor([[ True, False],\n        [False,  True]])",
        ),
        (
            Tensor([[-1.5, 20.0], [3.25, 4.0]]),
            "Tensor([[-1.5 , 20.  ],\n        [ 3.25,  4.  ]])",
        ),
        (
            Tensor(np.array([[1], [-10], [3]], "int16")),
            "Tensor([[  1],\n        [-10],\n        [  3]], dtype=int16)",
        ),
        (
            Tensor(np.array([[0.5, 2.0]], "float16"), True),
            "Tensor([[0.5, 2. ]], dtype=float16, requires_grad=True)",
        ),
        (Tensor([[4], [5]], True), "Tensor([[4.],\n        [5.]], requires_grad=True)"),
    ]:
        found = as_text(x)
        assert found == wanted, f"as_text should give {wanted!r}, got {found!r}"


# %% strides points=2
def test_strides_count_numbers_for_every_rank():
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
        )
        assert all(isinstance(step, int) for step in found), (
            f"shape {shape} has strides {wanted}, each an int; yours are {found!r} (np.prod of "
            "nothing is 1.0)"
        )
        assert found == wanted, (
            f"shape {shape} has strides {wanted}, yours are {found}: multiply the lengths of "
            "all later axes"
        )


def test_strides_lead_to_every_number():
    array = np.arange(30).reshape(5, 2, 3)
    row, steps = array.ravel(), strides_of((5, 2, 3))
    assert [isinstance(step, int) for step in steps] == [True] * 3, (
        f"three strides, each an int; yours are {steps!r}"
    )
    for index in np.ndindex(5, 2, 3):
        place = sum(i * step for i, step in zip(index, steps))
        assert place < 30 and row[place] == array[index], (
            f"x[{index}] is at {array[index]} in memory, your strides {steps} lead to {place}"
        )


# %% strides hidden points=1
def test_strides_of_other_shapes():
    for shape in [
        (9,),
        (1,),
        (4, 6),
        (6, 4),
        (1, 5),
        (5, 1),
        (11, 7, 2),
        (3, 1, 4, 1, 5),
        (2, 2, 2, 2, 2, 2),
        (1000, 1, 900),
    ]:
        found, wanted = (
            strides_of(shape),
            np.zeros(shape, "int8").strides,
        )  # one byte a number: bytes count numbers
        assert isinstance(found, tuple) and all(isinstance(step, int) for step in found), (
            f"strides of {shape} should be a tuple of ints, got {found!r}"
        )
        assert found == wanted, f"strides of {shape} should be {wanted}, got {found}"
    found = strides_of(shape=(8, 10**6, 10**7))
    assert found == (10**13, 10**7, 1), (
        f"strides of (8, 10**6, 10**7) should be (10**13, 10**7, 1), got {found}"
    )


# %% learner-side
def read_after_writing(out, x, number):
    """The numbers in the Tensor `out`, read after `number` was written over all those in the
    Tensor `x`."""
    x.data[...] = number
    return out.data


# %% apply points=12
def test_apply_computes_with_the_arrays_inside():
    a, b = (
        np.array([[1, 2, 3], [4, 5, 9]], "float32"),
        np.array([[2, 0, 7], [1, 3, 5]], "float32"),
    )
    for inputs, plain in [
        ((Tensor(a), Tensor(b)), (a, b)),
        ((Tensor(a), b), (a, b)),
        ((a, Tensor(b)), (a, b)),
        ((Tensor(a), 2.5), (a, 2.5)),
        ((3, Tensor(b)), (3, b)),
    ]:
        out = apply(np.subtract, *inputs)
        assert out is not None, "apply returned None: is `return` missing?"
        assert isinstance(out, Tensor), (
            f"apply should return a Tensor: use wrap. Yours returns\n{out!r}"
        )
        wanted = np.subtract(*plain)
        assert out.shape == wanted.shape and np.array_equal(out.data, wanted), (
            f"subtract of {plain} gives {wanted}, yours {out}"
        )
    assert np.array_equal(a[1], [4, 5, 9]), f"apply changed its input to {a}"


def test_apply_passes_the_options_on():
    x = Tensor(np.arange(24, dtype="float32").reshape(2, 3, 4))
    try:
        out = apply(np.swapaxes, x, axis1=0, axis2=2)
    except TypeError as error:
        assert False, (
            "apply(np.swapaxes, x, axis1=0, axis2=2) should hand both options on to run, "
            f"yours: {error}"
        )
    assert out.shape == (4, 3, 2), (
        f"swapaxes of (2, 3, 4) with axis1=0, axis2=2 has shape (4, 3, 2), yours {out.shape}"
    )
    total = apply(np.sum, Tensor([[1.5, 2.0, 4.0]]), axis=1)
    assert np.array_equal(total.data, [7.5]), (
        f"1.5 + 2 + 4 along axis 1 is [7.5], yours is {total}"
    )


def test_apply_copies_no_numbers():
    x = Tensor([[1, 2, 3], [4, 5, 9]])
    found = read_after_writing(apply(np.transpose, x), x, 7)
    assert np.array_equal(found, np.full((3, 2), 7)), (
        "np.transpose moves no number, so its result should share memory with x; yours is a "
        "copy: operand hands over the array itself, wrap puts a Tensor around it. After x"
        f" became all 7, yours holds {found}"
    )


def test_apply_refuses_what_is_no_number():
    for inputs in [(Tensor([0.5]), "2"), (None, Tensor([0.5]))]:
        try:
            out = apply(np.add, *inputs)
        except TypeError as error:
            assert "cannot compute with" in str(error), (
                f'operand refuses {inputs} with "cannot compute with ...": give every input to '
                f"it. Yours: {error}"
            )
        else:
            assert False, f"one of {inputs} is nothing to compute with, yours gives {out!r}"


def test_apply_never_widens_to_float64():
    whole = Tensor([1, 2, 3])
    for out in (
        apply(np.divide, whole, Tensor([2, 4, 8])),
        apply(np.exp, whole),
        apply(np.multiply, whole, Tensor([0.5, 1.0, 2.0])),
        apply(np.add, Tensor([0.5]), np.sqrt(64)),
        apply(np.multiply, 0.1, whole),
    ):
        assert out.dtype.name == "float32", (
            f"no float64 went in, so float32 should come out, not {out.dtype}: pass it "
            "through run"
        )
    wide = apply(np.add, Tensor(np.array([0.5])), 1)
    assert wide.dtype.name == "float64", (
        f"a float64 array went in, so float64 should come out, not {wide.dtype}"
    )


def test_apply_notes_how_a_result_was_made():
    x, y = Tensor([[0.5, 2.0, 3.0]], requires_grad=True), Tensor([[4.0], [7.0]])
    out = apply(np.multiply, y, x)
    assert out.requires_grad, (
        "an input wants a gradient, so the result must too: is note called, and in the order "
        "(out, op, inputs, arrays, options)?"
    )
    made = out.creator
    wants = [t.requires_grad for t in made.inputs]
    assert wants == [False, True], (
        "creator.inputs should be the two tensors as given, their requires_grad [False, True], "
        f"not {wants}"
    )
    kinds = [isinstance(a, np.ndarray) for a in made.arrays]
    assert kinds == [True, True], (
        f"creator.arrays should hold the arrays inside the inputs, yours holds {made.arrays}"
    )
    assert np.array_equal(made.arrays[0], [[4], [7]]), (
        f"the first array should be that of the first input, yours is {made.arrays[0]}"
    )
    total = apply(np.sum, out, axis=1)
    assert total.creator.options == {"axis": 1}, (
        f"the note should keep the options {{'axis': 1}}, yours keeps {total.creator.options}"
    )
    assert total.creator.created > made.created, "a later result should have a larger order"
    silent = apply(np.multiply, y, 2.0)
    assert silent.creator is None and not silent.requires_grad, (
        f"no input wants a gradient, so no note: yours is {silent.creator}"
    )


# %% apply hidden points=2
def test_apply_runs_any_function_on_other_inputs():
    wide, small = np.array([[-2.5, 1e6], [3e-5, 8.0]]), np.array([[0.5], [4.0]], "float16")
    cube, flags = np.arange(12, dtype="float32").reshape(2, 3, 2), np.array([True, False])
    for name, op, plain, tensors, options, dtype in [
        ("maximum", np.maximum, (wide, -1), [0], {}, "float64"),
        ("where", np.where, (flags, wide.astype("float32"), 0.0), [0, 1], {}, "float32"),
        (
            "sum along (0, 2)",
            np.sum,
            (cube,),
            [0],
            {"axis": (0, 2), "keepdims": True},
            "float32",
        ),
        ("sum of all", np.sum, (np.array([3, -8]),), [0], {}, "int64"),
        ("multiply float16", np.multiply, (small, 3), [0], {}, "float16"),
        ("greater", np.greater, (small, np.array([1, 2])), [1], {}, "bool"),
        ("sqrt of ints", np.sqrt, (np.array([4, 25]),), [0], {}, "float32"),
        (
            "negative of nothing",
            np.negative,
            (np.zeros((0, 3), "float32"),),
            [0],
            {},
            "float32",
        ),
        (
            "a function of four",
            lambda a, b, c, d, scale: (a - b) * c / d * scale,
            (2.0, wide, wide, np.array([4.0, 5.0], "float32")),
            [1, 3],
            {"scale": 3},
            "float64",
        ),
    ]:
        wanted = np.asarray(op(*plain, **options)).astype(dtype)
        out = apply(
            op,
            *[Tensor(part) if place in tensors else part for place, part in enumerate(plain)],
            **options,
        )
        assert isinstance(out, Tensor), f"{name}: apply should return a Tensor, got {out!r}"
        assert out.shape == wanted.shape and out.dtype.name == dtype, (
            f"{name}: should be {dtype} of shape {wanted.shape}, got {out.dtype} of {out.shape}"
        )
        assert np.array_equal(out.data, wanted), f"{name}: should be {wanted}, got {out.data}"
    assert np.array_equal(wide, [[-2.5, 1e6], [3e-5, 8.0]]), (
        f"apply changed its input to {wide}"
    )


def test_a_note_is_enough_to_repeat_an_operation():
    x = Tensor([[2.0, -1.0, 0.5]], requires_grad=True)
    out = apply(np.where, np.array([[True], [False]]), x, 4.0)
    total = apply(np.sum, out, axis=0, keepdims=True)
    power = apply(np.power, 2.0, total)
    for name, made, kinds, options, wanted in [
        (
            "where(array, x, 4)",
            out.creator,
            [False, True, False],
            {},
            [[2, -1, 0.5], [4, 4, 4]],
        ),
        (
            "sum(y, axis=0, keepdims=True)",
            total.creator,
            [True],
            {"axis": 0, "keepdims": True},
            [[6, 3, 4.5]],
        ),
        ("power(2, z)", power.creator, [False, True], {}, [[64, 8, 2**4.5]]),
    ]:
        found = [isinstance(part, Tensor) for part in made.inputs]
        assert found == kinds, (
            f"{name}: the note's inputs should be Tensors at {kinds}, got {found}"
        )
        assert made.options == options, (
            f"{name}: the note's options should be {options}, got {made.options}"
        )
        again = np.asarray(made.op(*made.arrays, **made.options))
        assert np.allclose(again, wanted, rtol=1e-6), (
            f"{name}: repeated from its note gives {again}, not {wanted}"
        )
    orders = [power.creator.inputs[1].creator.created, total.creator.inputs[0].creator.created]
    wanted = [total.creator.created, out.creator.created]
    assert orders == wanted and power.creator.created > wanted[0] > wanted[1], (
        f"the notes should hold the tensors themselves, made as numbers {wanted}, got {orders}"
    )
    flags = apply(np.less, x, 1.0)
    assert flags.creator is None and not flags.requires_grad, (
        "True and False have no slope, so less(x, 1) has no note"
    )


# %% reflected points=3
def test_a_number_on_the_left_stays_on_the_left():
    x = Tensor([1.0, 2.0, 4.0])
    for name, out, wanted in [
        ("5 - x", 5 - x, [4, 3, 1]),
        ("8 / x", 8 / x, [8, 4, 2]),
        ("3 ** x", 3**x, [3, 9, 81]),
        ("5 + x", 5 + x, [6, 7, 9]),
        ("5 * x", 5 * x, [5, 10, 20]),
    ]:
        assert isinstance(out, Tensor), f"{name} should be a Tensor, yours is {out!r}"
        assert np.array_equal(out.data, wanted), (
            f"{name} should be {wanted} for x = [1, 2, 4], yours is {out.data}: what stands "
            "left goes first"
        )
        assert out.dtype.name == "float32", f"{name} should stay float32, yours is {out.dtype}"


def test_an_array_on_the_left_gives_a_tensor():
    left = np.array([[8, 6, 4]], "float32")
    out = left - Tensor([[1.0], [2.0]])
    assert isinstance(out, Tensor), (
        f"an array minus a Tensor should be a Tensor, yours is {out!r}"
    )
    assert np.array_equal(np.asarray(out), [[7, 5, 3], [6, 4, 2]]), (
        f"[[8, 6, 4]] - [[1], [2]] is [[7, 5, 3], [6, 4, 2]], yours {out}"
    )
    out = np.array([[1, 2, 3]]) @ Tensor([[1, 4], [0, 5], [2, 6]])
    assert out.shape == (1, 2), f"(1, 3) @ (3, 2) has shape (1, 2), yours {out.shape}"
    assert np.array_equal(np.asarray(out), [[7, 32]]), (
        f"[1, 2, 3] @ [[1, 4], [0, 5], [2, 6]] is [7, 32], yours {out}"
    )


def test_reflected_results_are_noted():
    x = Tensor([[1.0, 2.0]], requires_grad=True)
    out = reflected(np.divide, x, 8.0)
    assert out.requires_grad, "x wants a gradient, so 8 / x must be noted: go through apply"
    wants = [isinstance(part, Tensor) for part in out.creator.inputs]
    assert wants == [False, True], "the note on 8 / x should list the inputs as 8, then x"


# %% reflected hidden points=1
def test_other_operands_on_the_left_stay_there():
    column = np.array([[2.0], [0.5], [8.0]], "float32")
    x = Tensor(column)
    minus, over, power = lambda a, b: a - b, lambda a, b: a / b, lambda a, b: a**b
    for left, dtype in [
        (-2.5, "float32"),
        (7, "float32"),
        (np.array([[1, 6, 9, 2]], "float32"), "float32"),
        (np.array([3.0, 5.0]), "float64"),
        ([4, 0.25], "float32"),
    ]:
        for sign, op in [("-", minus), ("/", over), ("**", power)]:
            if sign == "**" and np.min(left) < 0:
                continue
            out, wanted = op(left, x), op(np.asarray(left), column)
            assert out.shape == wanted.shape and out.dtype.name == dtype, (
                f"{left} {sign} x should be {dtype} of shape {wanted.shape}, got {out.dtype} of"
                f" {out.shape}"
            )
            assert np.allclose(out.data, wanted, rtol=1e-5), (
                f"{left} {sign} x should be {wanted}, got {out.data}"
            )
    stack = np.arange(24, dtype="float32").reshape(4, 2, 3)
    out = stack @ x
    assert np.array_equal(np.asarray(out), stack @ column), (
        f"(4, 2, 3) @ (3, 1) should be {stack @ column}, got {out}"
    )
    out = reflected(op=np.arctan2, x=Tensor([1.0, 2.0], requires_grad=True), other=-3.0)
    assert np.allclose(out.data, [math.atan2(-3, 1), math.atan2(-3, 2)], rtol=1e-6), (
        f"arctan2 of -3 and [1, 2] should be [-1.249, -0.983], got {out.data}"
    )
    assert out.creator.arrays[0] == -3, (
        f"the note should hold -3 first, got {out.creator.arrays}"
    )


# %% broadcast points=4
def test_shapes_are_lined_up_at_the_right():
    for shapes, wanted in [
        ([(2, 3), (3,)], (2, 3)),
        ([(3,), (2, 3)], (2, 3)),
        ([(5, 2, 3), (2, 3)], (5, 2, 3)),
        ([(4, 3), ()], (4, 3)),
        ([(7,)], (7,)),
        ([(), ()], ()),
    ]:
        try:
            found = broadcast_shape(*shapes)
        except ValueError as error:
            found = f"an error ({error})"
        assert isinstance(found, (tuple, str)), (
            f"{shapes} should meet in the tuple {wanted}, yours is {found!r}"
        )
        cause = (
            ": line up the right ends"
            if len({len(s) for s in shapes}) > 1
            else ", though all are of one rank"
        )
        assert found == wanted, f"{shapes} should meet in {wanted}, yours is {found}{cause}"


def test_a_length_of_one_stretches():
    for shapes, wanted in [
        ([(3, 1), (3,)], (3, 3)),
        ([(2, 1, 4), (3, 1)], (2, 3, 4)),
        ([(1, 1), (5, 1)], (5, 1)),
        ([(0, 3), (1, 3)], (0, 3)),
        ([(1,), (0,)], (0,)),
        ([(2, 1, 1), (3, 1), (4,)], (2, 3, 4)),
    ]:
        try:
            found = broadcast_shape(*shapes)
        except ValueError as error:
            found = f"an error ({error})"
        assert isinstance(found, (tuple, str)), (
            f"{shapes} should meet in the tuple {wanted}, yours is {found!r}"
        )
        assert found == wanted, (
            f"{shapes} should meet in {wanted}, yours is {found}: 1 gives way to any other "
            "length, also to 0"
        )


def test_shapes_that_cannot_meet_are_refused():
    for shapes in [
        ((2, 3), (2,)),
        ((4, 3), (3, 4)),
        ((3,), (0,)),
        ((5, 2, 3), (5, 1, 4)),
        ((2, 1), (3,), (4,)),
    ]:
        try:
            found = broadcast_shape(*shapes)
        except ValueError as error:
            missing = [str(s) for s in shapes if str(s) not in str(error)]
            assert not missing, (
                f"the error should name every shape, {', '.join(missing)} is missing in: "
                f"{error}"
            )
        else:
            assert False, (
                f"{shapes} cannot meet, yours gives {found}: lengths that differ are fine only "
                "when one of them is 1"
            )
    found = broadcast_shape((2, 3), (3,))
    assert found == (2, 3), f"(2, 3) and (3,) do meet, in (2, 3), yours gives {found}"


def test_operators_explain_shapes_that_cannot_meet():
    try:
        out = Tensor([[1, 2, 3], [4, 5, 6]]) + Tensor([1, 2])
    except ValueError as error:
        assert "(2, 3)" in str(error) and "(2,)" in str(error), (
            f"the error of + should name (2, 3) and (2,), yours: {error}"
        )
        assert "NumPy" not in str(error) and "operands" not in str(error), (
            f"that is NumPy's message, not yours: {error}"
        )
    else:
        assert False, f"(2, 3) + (2,) should raise ValueError, yours gives {out}"


# %% broadcast hidden points=1
def test_other_shapes_meet_as_in_numpy():
    random = np.random.default_rng(11)
    for _ in range(40):
        common = random.integers(0, 5, size=random.integers(0, 6)).tolist()
        shapes = [
            tuple(
                [1 if random.random() < 0.4 else n for n in common][
                    random.integers(0, len(common) + 1) :
                ]
            )
            for _ in range(random.integers(1, 5))
        ]
        found, wanted = broadcast_shape(*shapes), np.broadcast_shapes(*shapes)
        assert isinstance(found, tuple) and found == wanted, (
            f"{shapes} should meet in {wanted}, got {found!r}"
        )
    for shapes in [
        ((4,), (5,)),
        ((2,), (0,)),
        ((6, 1, 3), (2, 1, 4)),
        ((1,), (2,), (3,)),
        ((2, 2), (3, 2), (1,)),
        ((3, 1, 2), (4, 1, 2)),
        ((7, 5), (5, 7, 1, 4, 5)),
    ]:
        try:
            found = broadcast_shape(*shapes)
        except ValueError as error:
            missing = [s for s in shapes if str(s) not in str(error)]
            assert not missing, f"the error for {shapes} should name {missing}, got: {error}"
        else:
            assert False, f"{shapes} cannot meet, got {found}"


# %% count points=2
def test_the_count_is_of_the_axes_that_go():
    x = Tensor(np.ones((2, 3, 5), "float32"))
    for axis, wanted in [
        (0, 2),
        (1, 3),
        (2, 5),
        (-1, 5),
        (-2, 3),
        ((0, 2), 10),
        ((-1, 1), 15),
        ((1,), 3),
        (None, 30),
        ((), 1),
    ]:
        found = count_along(x, axis)
        assert found == wanted, (
            f"along axis {axis} of shape (2, 3, 5), {wanted} numbers go into each result, you "
            f"count {found}"
        )
        assert isinstance(found, int), (
            f"along axis {axis} the count is right, but should be an int, not {found!r}"
        )
    assert count_along(Tensor(4.0)) == 1, (
        f"a single number is a mean of 1 number, you count {count_along(Tensor(4.0))}"
    )
    assert count_along(Tensor(np.ones((0, 4))), 1) == 4, (
        "rows of 4 numbers have 4 numbers each, also when there is no row"
    )


def test_means_divide_by_your_count():
    array = np.array([[[1, 2, 6]], [[3, 10, -4]]], "float32")
    for axis, keepdims in [(None, False), (0, False), (1, True), (-1, True), ((0, 2), False)]:
        out = Tensor(array).mean(axis, keepdims)
        wanted = array.mean(axis, keepdims=keepdims)
        assert out.shape == wanted.shape, (
            f"mean along {axis}, keepdims={keepdims} has shape {wanted.shape}, "
            f"yours {out.shape}"
        )
        assert np.allclose(out.data, wanted, rtol=1e-6, atol=0), (
            f"mean along {axis} should be {wanted}, yours is {out.data}"
        )
    whole = Tensor([1, 2]).mean()
    assert whole.dtype.name == "float32" and float(whole) == 1.5, (
        f"the mean of 1 and 2 is 1.5 in float32, yours is {whole}"
    )


# %% count hidden points=1
def test_counts_and_means_of_other_shapes():
    array = np.random.default_rng(12).normal(size=(4, 1, 6, 2)) * 100
    x = Tensor(array)
    for axis, wanted in [
        (0, 4),
        (-4, 4),
        (1, 1),
        (-2, 6),
        ((3, 0), 8),
        ((-1, -2, 1), 12),
        ((0, 1, 2, 3), 48),
        (None, 48),
        ((-3,), 1),
        ((), 1),
    ]:
        found = count_along(x, axis=axis)
        assert isinstance(found, int) and found == wanted, (
            f"count_along axis {axis} of shape (4, 1, 6, 2) should be the int {wanted}, got "
            f"{found!r}"
        )
        for keepdims in (False, True):
            out, wanted_mean = mean(x, axis, keepdims), array.mean(axis, keepdims=keepdims)
            assert out.shape == wanted_mean.shape and np.allclose(
                out.data, wanted_mean, rtol=1e-9
            ), (
                f"mean along {axis}, keepdims={keepdims}, should be {wanted_mean}, got "
                f"{out.data}"
            )
    for shape, axis, wanted in [
        ((3, 0, 2), None, 0),
        ((3, 0, 2), 1, 0),
        ((3, 0, 2), (0, -1), 6),
        ((), (), 1),
        ((5,), -1, 5),
    ]:
        found = count_along(Tensor(np.zeros(shape)), axis)
        assert found == wanted, (
            f"count_along axis {axis} of shape {shape} should be {wanted}, got {found!r}"
        )


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
            try:
                out = var(Tensor(array), axis, keepdims)
            except ValueError as error:
                assert False, (
                    f"var along {axis}, keepdims={keepdims}: {error}. Inside, each row needs "
                    "its own mean, in an axis of length 1."
                )
            assert out.shape == wanted.shape, (
                f"var along {axis}, keepdims={keepdims} has shape {wanted.shape}, yours "
                f"{out.shape}"
            )
            assert np.allclose(out.data, wanted, rtol=1e-5, atol=0), (
                f"var along {axis} should be {wanted}, yours is {out.data}"
            )


def test_the_correction_makes_the_divisor_smaller():
    x = Tensor([[1.0, 2.0, 6.0, 7.0], [0.0, 4.0, 5.0, -3.0]])
    for correction, wanted in [(0, [6.5, 10.25]), (1, [26 / 3, 41 / 3]), (2, [13.0, 20.5])]:
        found = var(x, 1, correction=correction).data
        assert found.shape == (2,), (
            f"var of shape (2, 4) along axis 1 has shape (2,), yours {found.shape}"
        )
        assert np.allclose(found, wanted, rtol=1e-5, atol=0), (
            f"with correction={correction} var should be {wanted}, yours is {found}"
        )


def test_large_numbers_do_not_cancel():
    x = Tensor([[8000.0, 8008.0, 8016.0], [3.0, 3.5, 4.5]])
    found = var(x, axis=1).data
    assert found.shape == (2,), (
        f"var of shape (2, 3) along axis 1 has shape (2,), yours {found.shape}"
    )
    assert abs(found[1] * 18 / 7 - 1) < 1e-4, (
        f"var of 3, 3.5, 4.5 should be 0.3889, yours is {found[1]:.4g}: how many numbers does "
        "one row have?"
    )
    assert abs(found[0] * 3 / 128 - 1) < 1e-4, (
        f"var of 8000, 8008, 8016 should be 42.667, yours is {found[0]:.4g}: subtract the mean "
        "before squaring"
    )


def test_the_variance_of_whole_numbers_is_noted_and_narrow():
    out = var(Tensor([1, 2, 6]))
    assert out.dtype.name == "float32" and abs(float(out) - 14 / 3) < 1e-5, (
        f"var of 1, 2, 6 is 4.6667 in float32, yours {out!r} in {out.dtype}"
    )
    x = Tensor([1.0, 2.0, 6.0], requires_grad=True)
    assert var(x).requires_grad, (
        "x wants a gradient and var lost it: compute with tensors, not with x.data"
    )
    assert np.array_equal(x.data, [1, 2, 6]), f"var changed its input to {x.data}"


# %% var hidden points=1
def test_the_variance_of_other_numbers():
    array = np.random.default_rng(13).normal(size=(3, 1, 4, 2)) * [1, 1e3] + [0, 5e4]
    x = Tensor(array)
    for axis, count in [
        (None, 24),
        (0, 3),
        (-2, 4),
        (1, 1),
        ((0, -1), 6),
        ((1, 2, 3), 8),
        ((-2,), 4),
    ]:
        for keepdims in (False, True):
            for correction in range(min(count, 4)):
                wanted = np.var(array, axis, keepdims=keepdims, ddof=correction)
                out = var(x, correction=correction, keepdims=keepdims, axis=axis)
                given = f"var along {axis}, keepdims={keepdims}, correction={correction}"
                assert out.shape == wanted.shape and out.dtype.name == "float64", (
                    f"{given} should be float64 of shape {wanted.shape}, got {out.dtype} of "
                    f"{out.shape}"
                )
                assert np.allclose(out.data, wanted, rtol=1e-9, atol=1e-12), (
                    f"{given} should be {wanted}, got {out.data}"
                )
    assert np.array_equal(x.data, array), "var changed its input"
    found = var(Tensor([[20000.0, 20004.0, 20012.0, 20008.0]]), 1, True, 1)
    assert found.shape == (1, 1) and abs(float(found) * 3 / 80 - 1) < 1e-3, (
        f"var of 20000, 20004, 20012, 20008 with correction 1 is 26.667, got {found.data}"
    )
    found = var(Tensor(np.array([[1, 5], [3, 9]])), 0, False, 1)
    assert found.dtype.name == "float32" and np.array_equal(found.data, [2, 8]), (
        "var of whole numbers [[1, 5], [3, 9]] along 0 with correction 1 is [2, 8] in float32, "
        f"got {found.data}"
    )
    assert var(Tensor([[1.0, 4.0]], requires_grad=True), 1, correction=1).requires_grad, (
        "var lost the gradient"
    )


# %% infer-shape points=3
def test_minus_one_is_filled_in():
    for shape, size, wanted in [
        ((-1,), 6, (6,)),
        ((2, -1, 2), 12, (2, 3, 2)),
        ((-1, 5), 15, (3, 5)),
        ((4, -1), 0, (4, 0)),
        ((1, -1, 1), 7, (1, 7, 1)),
    ]:
        try:
            found = infer_shape(shape, size)
        except ValueError as error:
            found = f"an error ({error})"
        assert found == wanted, (
            f"{size} numbers in shape {shape} make {wanted}, yours is {found}"
        )


def test_a_full_shape_stays():
    for shape, size in [((2, 3), 6), ((), 1), ((0, 4), 0), ((7,), 7)]:
        try:
            found = infer_shape(shape, size)
        except ValueError as error:
            found = f"an error ({error})"
        assert found == shape, f"shape {shape} fits {size} numbers as it is, yours is {found}"
    found = infer_shape((3, -1), 6)
    assert found == (3, 2), (
        f"only a full shape does: (3, -1) with 6 numbers is (3, 2), yours is {found}"
    )


def test_shapes_that_do_not_fit_are_refused():
    for shape, size, why in [
        ((2, 3), 7, "2 * 3 is 6, not 7"),
        ((2, 4), 7, "2 * 4 is 8, not 7"),
        ((4, -1), 13, "4 does not divide 13"),
        ((-1, -1), 4, "only one length may be left open"),
        ((-1, -1), 1, "only one length may be left open"),
        ((0, -1), 0, "for 0 rows any length would do"),
        ((0, -1), 6, "0 rows hold no numbers, whatever their length"),
        ((-2, 3), 6, "no length is -2"),
        ((-2, -3), 6, "no length is -2"),
        ((), 2, "a shape without axes holds one number"),
    ]:
        try:
            found = infer_shape(shape, size)
        except ValueError as error:
            named = str(shape) in str(error) and str(size) in str(error)
            assert named, (
                f"the error should name the shape {shape} and the size {size}, yours: {error}"
            )
        else:
            assert False, (
                f"infer_shape({shape}, {size}) should be refused, because {why}; yours gives "
                f"{found}"
            )
    found = infer_shape((-1, 3), 6)
    assert found == (2, 3), f"(-1, 3) fits 6 numbers as (2, 3), yours gives {found}"


# %% infer-shape hidden points=1
def test_other_shapes_are_filled_in_or_refused():
    random = np.random.default_rng(14)
    refused = [
        ((5, -1, 0), 0),
        ((-1, 2, -1), 8),
        ((-3, -1), 6),
        ((-1, -2, 3), 6),
        ((1, 1, 1), 2),
        ((), 0),
        ((10**6, -1), 10**6 + 1),
    ]
    for _ in range(40):
        shape = tuple(random.integers(1, 6, size=random.integers(1, 5)).tolist())
        size, place = math.prod(shape), random.integers(0, len(shape))
        left_open = shape[:place] + (-1,) + shape[place + 1 :]
        for given in (shape, left_open):
            found = infer_shape(shape=given, size=size)
            assert isinstance(found, tuple) and found == shape, (
                f"{size} numbers in shape {given} make {shape}, got {found!r}"
            )
        refused += [(shape, size + 1), (shape, size * 2)]
        if size > shape[place]:
            refused.append((left_open, size + 1))
    for shape, size, wanted in [
        ((-1, 7), 0, (0, 7)),
        ((0, 5), 0, (0, 5)),
        ((3, 10**6, -1), 6 * 10**6, (3, 10**6, 2)),
        ((1, 1, -1), 1, (1, 1, 1)),
    ]:
        found = infer_shape(shape, size)
        assert found == wanted, f"{size} numbers in shape {shape} make {wanted}, got {found}"
    for shape, size in refused:
        try:
            found = infer_shape(shape, size)
        except ValueError as error:
            named = str(shape) in str(error) and str(size) in str(error)
            assert named, f"the error should name {shape} and {size}, got: {error}"
        else:
            assert False, f"infer_shape({shape}, {size}) should be refused, got {found}"


# %% transpose points=5
def test_axes_go_where_they_are_sent():
    array = np.arange(24, dtype="float32").reshape(2, 3, 4)
    x = Tensor(array)
    for axes in [(2, 0, 1), (1, 2, 0), (0, 2, 1), (-1, 0, 1), (0, 1, 2)]:
        out, wanted = transpose(x, *axes), np.transpose(array, axes)
        assert out.shape == wanted.shape, (
            f"(2, 3, 4) with axes {axes} has shape {wanted.shape}, yours {out.shape}"
        )
        assert np.array_equal(out.data, wanted), (
            f"axes {axes}: the shape is right, the numbers are not: move axes, do not reshape"
        )
        assert np.array_equal(transpose(x, axes).data, wanted), (
            f"one tuple {axes} should do the same as several ints"
        )
    assert np.array_equal(x.data, array), "transpose changed its input"


def test_without_axes_the_order_is_reversed():
    for shape in [(2, 3), (2, 3, 4), (5,), ()]:
        array = np.arange(math.prod(shape), dtype="float32").reshape(shape)
        out = transpose(Tensor(array))
        assert out.shape == shape[::-1], (
            f"shape {shape} reversed is {shape[::-1]}, yours is {out.shape}"
        )
        assert np.array_equal(out.data, array.T), (
            f"the transpose of\n{array}\nis\n{array.T}\nyours is\n{out.data}"
        )


def test_each_axis_is_named_once():
    for axes in [(0, 0, 1), (0, 1), (1,), (0, 1, 2, 0), (2, 1, -1)]:
        try:
            out = transpose(Tensor(np.ones((2, 3, 4), "float32")), *axes)
        except ValueError as error:
            assert "(2, 3, 4)" in str(error), (
                f"the error should name the shape (2, 3, 4), yours: {error}"
            )
        else:
            assert False, (
                f"axes {axes} do not name each of three axes once, "
                f"yours gives shape {out.shape}"
            )


def test_no_number_moves():
    for axes in [(), (2, 0, 1), (0, 1, 2)]:
        x = Tensor(np.ones((2, 3, 4), "float32"))
        out = transpose(x, *axes)
        found = read_after_writing(out, x, 7)
        assert np.array_equal(found, np.full(np.ones((2, 3, 4)).transpose(*axes).shape, 7)), (
            f"transpose(x{''.join(f', {a}' for a in axes)}) should share memory with x, yours "
            f"is a copy: after x became all 7, yours holds {found}"
        )


def test_a_transpose_is_noted():
    x = Tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    for out in (transpose(x), transpose(x, 1, 0)):
        assert out.requires_grad, (
            "x wants a gradient and its transpose lost it: go through apply"
        )
    options = transpose(
        Tensor(np.ones((2, 3, 4)), requires_grad=True), -1, 0, 1
    ).creator.options
    assert options == {"axes": (2, 0, 1)}, (
        "the note should say axes (2, 0, 1) for -1, 0, 1, so that it can be undone; yours says "
        f"{options}"
    )


# %% transpose hidden points=1
def test_four_axes_go_where_they_are_sent():
    array = np.random.default_rng(15).normal(size=(2, 1, 3, 5)).astype("float32")
    x = Tensor(array, requires_grad=True)
    for axes in itertools.permutations(range(4)):
        mixed = [a - 4 if a % 2 else a for a in axes]
        wanted = np.transpose(array, axes)
        for given in (axes, (axes,), mixed, (tuple(mixed),)):
            out = transpose(x, *given)
            assert out.shape == wanted.shape and np.array_equal(out.data, wanted), (
                f"(2, 1, 3, 5) with axes {given} has shape {wanted.shape}, got shape "
                f"{out.shape} or other numbers"
            )
            noted = tuple(out.creator.options["axes"])
            assert noted == axes, f"the note for axes {given} should say {axes}, got {noted}"
    out = transpose(x)
    noted = tuple(out.creator.options["axes"])
    assert np.array_equal(out.data, array.T) and noted == (3, 2, 1, 0), (
        f"without axes, four are reversed and noted as (3, 2, 1, 0), got shape {out.shape} and "
        f"{noted}"
    )
    for shape, axes in [((4,), (-1,)), ((0, 4), ()), ((0, 4), (1, 0)), ((3, 1, 2), (2, 0, 1))]:
        plain = np.ones(shape)
        x = Tensor(plain)
        out, wanted = transpose(x, *axes), np.transpose(plain, axes or None)
        assert out.shape == wanted.shape, (
            f"shape {shape} with axes {axes} has shape {wanted.shape}, got {out.shape}"
        )
        found = read_after_writing(out, x, -2.5)
        assert np.array_equal(found, np.full(wanted.shape, -2.5)), (
            f"transpose of {shape} with axes {axes} is a copy"
        )
    for axes in [(0, 1, 2, 2), (0, 1, 2), (3,), (-1, 3, 0, 1), (0, 1, 2, 3, 0)]:
        try:
            out = transpose(Tensor(array), *axes)
        except ValueError as error:
            assert "(2, 1, 3, 5)" in str(error), (
                f"the error for axes {axes} should name (2, 1, 3, 5): {error}"
            )
        else:
            assert False, (
                f"axes {axes} of shape (2, 1, 3, 5) should be refused, got shape {out.shape}"
            )


# %% matmul-by-broadcasting points=3
def test_rows_meet_columns():
    a = np.array([[1, 2, 3], [0, -1, 4]], "float32")
    b = np.array([[2, 0, 1, 5], [1, 3, -2, 0], [4, 1, 0, 7]], "float32")
    try:
        out = matmul_by_broadcasting(Tensor(a), Tensor(b))
    except ValueError as error:
        assert False, (
            f"(2, 3) times (3, 4): {error}. Does k, which both have, stand on the same axis in "
            "both?"
        )
    wanted = [[sum(a[i, k] * b[k, j] for k in range(3)) for j in range(4)] for i in range(2)]
    assert out.shape == (2, 4), f"(2, 3) times (3, 4) has shape (2, 4), yours {out.shape}"
    assert np.array_equal(out.data, wanted), (
        f"the product should be {wanted}, yours is\n{out.data}"
    )


def test_thin_and_empty_matrices_multiply():
    for i, k, j in [(1, 5, 2), (4, 1, 3), (3, 2, 1), (0, 2, 3), (2, 0, 3)]:
        a = np.arange(i * k, dtype="float32").reshape(i, k) - 2
        b = np.arange(k * j, dtype="float32").reshape(k, j) + 1
        out = matmul_by_broadcasting(Tensor(a), Tensor(b))
        assert out.shape == (i, j), (
            f"({i}, {k}) times ({k}, {j}) has shape ({i}, {j}), yours {out.shape}"
        )
        assert np.array_equal(out.data, a @ b), (
            f"({i}, {k}) times ({k}, {j}) should be {a @ b}, yours is {out.data}"
        )


def test_the_product_is_noted():
    for wants in (True, False):
        a, b = Tensor([[1.0, 2.0, 3.0]], wants), Tensor([[1.0], [0.5], [4.0]], not wants)
        out = matmul_by_broadcasting(a, b)
        assert out.requires_grad, (
            f"{'ab'[not wants]} wants a gradient and the product lost it: compute with tensors,"
            " not with .data"
        )
        made = out.creator.op.__name__
        assert made != "matmul", (
            "the product was made by NumPy's matmul, which is `@`: do it by `*` and a sum"
        )


# %% matmul-by-broadcasting hidden points=1
def test_other_matrices_multiply():
    random = np.random.default_rng(16)
    for i, k, j in [
        (7, 5, 6),
        (1, 1, 1),
        (1, 8, 1),
        (9, 1, 9),
        (4, 4, 4),
        (3, 2, 0),
        (0, 0, 0),
        (2, 30, 3),
    ]:
        for dtype, tolerance in (("float64", 1e-12), ("float32", 1e-5), ("int64", 0)):
            a, b = [
                (random.normal(size=shape) * 30).astype(dtype) for shape in ((i, k), (k, j))
            ]
            given, wanted = f"({i}, {k}) times ({k}, {j}) in {dtype}", a @ b
            out = matmul_by_broadcasting(a=Tensor(a), b=Tensor(b))
            assert out.shape == (i, j) and out.dtype.name == dtype, (
                f"{given} should have shape {(i, j)}, got {out.dtype} of shape {out.shape}"
            )
            assert np.allclose(out.data, wanted, rtol=tolerance, atol=tolerance * 3000), (
                f"{given} should be {wanted}, got {out.data}"
            )
    out = matmul_by_broadcasting(Tensor([[1.0], [2.0]], True), Tensor([[3.0, 5.0]], True))
    made = out.creator.op.__name__
    assert made != "matmul" and np.array_equal(out.data, [[3, 5], [6, 10]]), (
        f"[[1], [2]] times [[3, 5]] is [[3, 5], [6, 10]] by * and a sum, got {out.data} by "
        f"{made}"
    )


# %% matmul-shape points=4
def test_matrices_and_stacks_of_them():
    for a, b, wanted in [
        ((2, 3), (3, 4), (2, 4)),
        ((5, 1, 2, 3), (4, 3, 7), (5, 4, 2, 7)),
        ((6, 2, 3), (3, 4), (6, 2, 4)),
        ((2, 3), (6, 3, 4), (6, 2, 4)),
        ((0, 3), (3, 2), (0, 2)),
        ((2, 0), (0, 3), (2, 3)),
        ((8, 5, 4, 2), (8, 5, 2, 3), (8, 5, 4, 3)),
    ]:
        try:
            found = matmul_shape(a, b)
        except ValueError as error:
            found = f"an error ({error})"
        assert isinstance(found, (tuple, str)), (
            f"{a} @ {b} has as its shape the tuple {wanted}, yours is {found!r}"
        )
        assert found == wanted, f"{a} @ {b} has shape {wanted}, yours is {found}"


def test_one_axis_joins_and_goes():
    for a, b, wanted in [
        ((3,), (3,), ()),
        ((3,), (3, 4), (4,)),
        ((2, 3), (3,), (2,)),
        ((3,), (4, 3, 7), (4, 7)),
        ((6, 2, 3), (3,), (6, 2)),
    ]:
        try:
            found = matmul_shape(a, b)
        except ValueError as error:
            found = f"an error ({error})"
        assert isinstance(found, (tuple, str)), (
            f"{a} @ {b} has as its shape the tuple {wanted}, yours is {found!r}"
        )
        assert found == wanted, (
            f"{a} @ {b} has shape {wanted}, yours is {found}: an axis that joined for the "
            "product goes again"
        )


def test_shapes_that_do_not_multiply_are_refused():
    for a, b in [
        ((2, 3), (2, 3)),
        ((3,), (4,)),
        ((2, 3), (4,)),
        ((4,), (3, 4)),
        ((5, 2, 3), (4, 3, 7)),
        ((), (3,)),
        ((2, 3), ()),
        ((4, 1), (3, 2)),
    ]:
        try:
            found = matmul_shape(a, b)
        except ValueError as error:
            assert str(a) in str(error) and str(b) in str(error), (
                f"the error should name {a} and {b}, yours: {error}"
            )
        else:
            assert False, f"{a} @ {b} has no result, yours has shape {found}"
    found = matmul_shape((2, 3), (3, 4))
    assert found == (2, 4), f"(2, 3) @ (3, 4) has shape (2, 4), yours {found}"


def test_matmul_tells_both_shapes():
    try:
        out = Tensor(np.ones((2, 3), "float32")) @ Tensor(np.ones((2, 5), "float32"))
    except ValueError as error:
        assert "(2, 3)" in str(error) and "(2, 5)" in str(error), (
            f"the error of @ should name (2, 3) and (2, 5), yours: {error}"
        )
    else:
        assert False, f"(2, 3) @ (2, 5) should raise ValueError, yours has shape {out.shape}"


# %% matmul-shape hidden points=1
def test_other_shapes_multiply_as_in_numpy():
    random = np.random.default_rng(17)
    for _ in range(60):
        common = random.integers(1, 4, size=random.integers(0, 4)).tolist()
        i, k, j = random.integers(0, 5, size=3).tolist()
        front, behind = [
            [1 if random.random() < 0.3 else n for n in common][
                random.integers(0, len(common) + 1) :
            ]
            for _ in "ab"
        ]
        a = (k,) if random.random() < 0.2 else (*front, i, k)
        b = (k,) if random.random() < 0.2 else (*behind, k, j)
        found, wanted = matmul_shape(a, b), np.matmul(np.zeros(a), np.zeros(b)).shape
        assert isinstance(found, tuple) and found == wanted, (
            f"{a} @ {b} has shape {wanted}, got {found!r}"
        )
    for a, b in [
        ((2, 3), (4, 2)),
        ((3,), (4, 3)),
        ((6, 2, 3), (3, 3, 3, 3)),
        ((7, 2, 3), (2, 3, 4)),
        ((), ()),
        ((0,), (1,)),
        ((2, 0), (1, 2)),
        ((5, 1), (5,)),
        ((4, 3), ()),
        ((2, 1, 4, 4), (3, 3, 4, 4)),
    ]:
        try:
            found = matmul_shape(a, b)
        except ValueError as error:
            assert str(a) in str(error) and str(b) in str(error), (
                f"the error should name {a} and {b}: {error}"
            )
        else:
            assert False, f"{a} @ {b} should be refused, got shape {found}"


# %% learner-side
def index_after_writing(part, number):
    """The second part of plain_index((0, part)), as a list, read after `number` was written
    into `part`."""
    found = plain_index((0, part))[1]
    numbers = part.data if isinstance(part, Tensor) else part
    while isinstance(numbers[0], list):
        numbers = numbers[0]
    numbers[0] = number
    return np.asarray(found).tolist()


# %% index points=3
def test_every_kind_of_index_picks_what_numpy_picks():
    array = np.arange(24, dtype="float32").reshape(2, 3, 4)
    x = Tensor(array)
    for index in [
        1,
        -1,
        slice(None, None, -1),
        (1, 2),
        (0, slice(1, 3), -1),
        (Ellipsis, 0),
        (slice(None), None, 2),
        None,
        (),
        (1, 2, 3),
        [1, 0, 1],
        [],
        [[1], [0]],
        (slice(None), [2, 0]),
        (0, [True, False, True]),
        np.array([0, 1, 1]),
        array > 7,
        (1, array[1, :, 0] > 12),
    ]:
        out, wanted = x[index], array[index]
        assert out.shape == wanted.shape, (
            f"x[{index}] of shape (2, 3, 4) has shape {wanted.shape}, yours {out.shape}"
        )
        assert np.array_equal(out.data, wanted), (
            f"x[{index}] should be {wanted}, yours is {out.data}"
        )


def test_tensors_can_be_indices():
    array = np.array([[5, -1, 7], [-2, 8, -3]], "float32")
    x = Tensor(array)
    for name, index, wanted in [
        ("x[x > 0]", Tensor(array > 0), [5, 7, 8]),
        ("x[Tensor([1, 0, 1])]", Tensor([1, 0, 1]), array[[1, 0, 1]]),
        ("x[[0, 1], Tensor([2, 0])]", ([0, 1], Tensor([2, 0])), [7, -2]),
        ("x[Tensor([True, False]), 1]", (Tensor([True, False]), 1), [-1]),
    ]:
        parts = plain_index(index)
        assert isinstance(parts, tuple), (
            f"{name}: plain_index should return a tuple, also for one part; yours "
            f"returns\n{parts!r}"
        )
        left = [n for n, part in enumerate(parts) if isinstance(part, Tensor)]
        assert not left, (
            f"{name}: part {left} of your index is still a Tensor; look inside tuples too"
        )
        out = x[index]
        assert np.array_equal(out.data, wanted), (
            f"{name} should be {wanted}, yours is {out.data}"
        )


def test_an_index_in_a_note_stays_true():
    for name, part, wanted in [
        ("array", np.array([1, 0, 1]), [1, 0, 1]),
        ("tensor", Tensor([2, 0]), [2, 0]),
        ("list", [1, 0], [1, 0]),
        ("list of lists", [[1, 2], [0, 2]], [[1, 2], [0, 2]]),
    ]:
        found = index_after_writing(part, 5)
        assert found == wanted, (
            f"I wrote 5 into my {name} {wanted}, and your index became {found}. Copy arrays, "
            "tensors and lists."
        )


# %% index hidden points=1
def test_other_indices_pick_what_numpy_picks_and_stay_true():
    array = np.random.default_rng(18).normal(size=(3, 4, 2)).round(2)
    x, places, flags = (
        Tensor(array),
        np.array([[2, 0], [1, 1]]),
        np.array([True, False, True, True]),
    )
    cases = [
        (index, index)
        for index in [
            -3,
            (2, -1, 0),
            (slice(0, 3, 2), -1),
            (Ellipsis, slice(None, None, -1)),
            (None, 1, Ellipsis, None),
            ([0, 2], [1, 3]),
            ([[0], [2]], [1, 3]),
            places,
            (places, slice(1, 3)),
            array < 0,
            (slice(None), flags),
            (0, flags, 1),
            [True, False, True],
        ]
    ]
    cases += [
        (Tensor([2, 0, 2]), [2, 0, 2]),
        (Tensor(array < 0), array < 0),
        (Tensor(np.array(1)), 1),
        ((Ellipsis, Tensor([1, 0])), (Ellipsis, [1, 0])),
        ((2, Tensor(flags)), (2, flags)),
        ((Tensor([0, 1]), slice(1, 3), Tensor([1, 1])), ([0, 1], slice(1, 3), [1, 1])),
    ]
    for index, same in cases:
        parts = same if isinstance(same, tuple) else (same,)
        wanted = array[same]
        out, plain = x[index], plain_index(index)
        assert out.shape == wanted.shape and np.array_equal(out.data, wanted), (
            f"x[{index}] should be {wanted}, got {out.data}"
        )
        assert isinstance(plain, tuple) and len(plain) == len(parts), (
            f"plain_index({index}) should be a tuple of {len(parts)}, got {plain!r}"
        )
        left = [n for n, part in enumerate(plain) if isinstance(part, (Tensor, list))]
        assert not left, f"plain_index({index}): parts {left} are no arrays"
    for index, wanted in [(-2, (-2,)), ((1, None), (1, None)), ((), ())]:
        found = plain_index(index)
        assert found == wanted, f"plain_index({index}) should be {wanted}, got {found}"
    for part, wanted in [
        (np.array([[2, 0], [1, 3]]), [[2, 0], [1, 3]]),
        (Tensor([[2, 0], [1, 3]]), [[2, 0], [1, 3]]),
        (Tensor([False, True]), [False, True]),
        (np.array([False, True]), [False, True]),
        ([False, True], [False, True]),
        ([[[2]], [[0]]], [[[2]], [[0]]]),
    ]:
        found = index_after_writing(part, 1)
        assert found == wanted, (
            f"an index of {wanted} changed with what it was made from: {found}"
        )
