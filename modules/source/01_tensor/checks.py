# The checks of lesson 01, by exercise. `check("strides")` in the chapter runs the visible ones.

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
    assert found == wanted, (
        f"{shapes} should broadcast to {wanted}, yours is {found}{because(cause)}"
    )


def has_product_shape(a, b, wanted, cause=""):
    """Assert that matmul_shape finds this shape, a tuple."""
    found = result_or_error(matmul_shape, a, b)
    assert isinstance(found, (tuple, str)), (
        f"{a} @ {b} has as its shape the tuple {wanted}, yours is {found!r}"
    )
    assert found == wanted, f"{a} @ {b} has shape {wanted}, yours is {found}{because(cause)}"


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
        )
        assert all(isinstance(step, int) for step in found), (
            f"shape {shape} has strides {wanted}, each a Python int; yours are {found!r} "
            "(np.prod of nothing is 1.0)"
        )
        assert found == wanted, (
            f"shape {shape} has strides {wanted}, yours are {found}: one step along an "
            "axis passes all elements of the later axes, so multiply their lengths"
        )


def test_strides_lead_to_every_element():
    array = np.arange(30).reshape(5, 2, 3)
    row, steps = array.ravel(), strides_of((5, 2, 3))
    assert [isinstance(step, int) for step in steps] == [True] * 3, (
        f"shape (5, 2, 3) has three strides, each a Python int; yours are {steps!r}"
    )
    for index in np.ndindex(5, 2, 3):
        place = sum(i * step for i, step in zip(index, steps))
        assert place < 30 and row[place] == array[index], (
            f"in shape (5, 2, 3), the element at {index} is at position {array[index]} in "
            f"memory; your strides {steps} lead to {place}"
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
        found = strides_of(shape)
        # One byte an element: bytes count elements.
        equal(found, np.zeros(shape, "int8").strides, f"the strides of {shape}")
        assert all(isinstance(step, int) for step in found), f"ints wanted, got {found!r}"
    equal(strides_of(shape=(8, 10**6, 10**7)), (10**13, 10**7, 1), "the strides")


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
        ([(0, 3), (1, 3)], (0, 3)),
        ([(1,), (0,)], (0,)),
        ([(2, 1, 1), (3, 1), (4,)], (2, 3, 4)),
    ]:
        cause = "a length of 1 gives way to any other length, also to 0"
        has_common_shape(shapes, wanted, cause)


def test_shapes_that_do_not_broadcast_are_refused():
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
                f"{shapes} do not broadcast, yours gives {found}: lengths that differ are "
                "allowed only when one of them is 1"
            )
    equal(broadcast_shape((2, 3), (3,)), (2, 3), "the common shape of (2, 3) and (3,)")


# %% broadcast hidden points=1
def test_other_shapes_broadcast_as_in_numpy():
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
        wanted = np.broadcast_shapes(*shapes)
        equal(broadcast_shape(*shapes), wanted, f"the common shape of {shapes}")
    for shapes in [
        ((4,), (5,)),
        ((2,), (0,)),
        ((6, 1, 3), (2, 1, 4)),
        ((1,), (2,), (3,)),
        ((2, 2), (3, 2), (1,)),
        ((3, 1, 2), (4, 1, 2)),
        ((7, 5), (5, 7, 1, 4, 5)),
    ]:
        refused(lambda: broadcast_shape(*shapes), f"{shapes}", contains=shapes)


# %% learner-side
def data_after_writing(mine, number, requires_grad=False):
    """Tensor(mine, requires_grad).data, read after `number` was written over all of `mine`."""
    kept = Tensor(mine, requires_grad)
    (mine.data if isinstance(mine, Tensor) else mine)[...] = number
    return kept.data


# %% init points=4
def test_the_numbers_are_kept_in_an_array():
    for data, wanted in [
        ([[1.0, 0.5], [2.0, 4.0]], [[1, 0.5], [2, 4]]),
        ([3, 5, 8], [3, 5, 8]),
        (-2.5, -2.5),
        (np.array([[7, 9, 1]], "uint8"), [[7, 9, 1]]),
        ([], []),
    ]:
        kept = Tensor(data).data
        assert isinstance(kept, np.ndarray), (
            f"Tensor({data!r}).data should be an ndarray, made by as_array; yours is {kept!r}"
        )
        expect(kept, wanted, f"Tensor({data!r}).data")
    kept = Tensor(np.array([0.5, 2.0])).data.dtype.name
    assert kept == "float64", f"a float64 ndarray keeps its dtype, yours became {kept}"
    kept = Tensor([0.5, 2.0]).data.dtype.name
    equal(kept, "float32", "the dtype of the list [0.5, 2.0], made by as_array,")


def test_the_array_is_a_copy():
    for mine, name in [
        (np.array([[1, 2, 3]], "float32"), "ndarray"),
        (np.array([[1, 2, 3]], "int64"), "ndarray of integers"),
        (Tensor([[1.0, 2.0, 3.0]]), "Tensor"),
    ]:
        case = f"I wrote 50 over the {name} from which I had made a Tensor; the Tensor"
        expect(data_after_writing(mine, 50), [[1, 2, 3]], case, "it should have a copy")


def test_a_tensor_of_a_tensor_takes_its_numbers_only():
    first = Tensor([0.5, 2.0], requires_grad=True)
    second = Tensor(first)
    assert isinstance(second.data, np.ndarray) and np.array_equal(second.data, [0.5, 2]), (
        f"Tensor(x) should hold the numbers of x, [0.5, 2], yours holds {second.data!r}"
    )
    assert not second.requires_grad, (
        "x requires a gradient, and nobody asked for one of Tensor(x): its requires_grad is "
        "what was given, False"
    )
    kept = Tensor(Tensor(np.array([0.5, 2.0]))).data.dtype.name
    assert kept == "float64", (
        f"a Tensor of a float64 Tensor should be float64, yours is {kept}: as_array keeps the "
        "dtype of an ndarray, so give it the array inside the Tensor"
    )
    whole = Tensor(Tensor([1, 2]), requires_grad=True)
    assert whole.data.dtype.name == "float32" and whole.requires_grad, (
        "Tensor(Tensor([1, 2]), requires_grad=True) should be float32 and require a gradient, "
        f"yours is {whole.data.dtype}, requires_grad={whole.requires_grad}"
    )


def test_the_other_attributes_are_set():
    for given in (False, True):
        x = Tensor([1, 2, 4], requires_grad=given)
        for name in ("grad", "requires_grad", "creator"):
            assert hasattr(x, name), f"a new Tensor should have .{name}, yours has not"
        assert x.requires_grad is given, (
            f"Tensor(..., requires_grad={given}).requires_grad should be {given}, "
            f"yours is {x.requires_grad!r}"
        )
        assert x.grad is None and x.creator is None, (
            "a new Tensor has grad None and creator None: no gradient was computed, and no "
            f"operation made it. Yours: grad {x.grad!r}, creator {x.creator!r}"
        )
    x = Tensor([1, 2, 4], requires_grad=True)
    assert x.data.dtype.name == "float32", (
        "integers become float32 where a gradient is wanted, yours stay "
        f"{x.data.dtype}: give requires_grad to as_array, too"
    )


# %% init hidden points=1
def test_the_constructor_keeps_its_contract_for_other_data():
    for data, dtype in [
        (7, "float32"),
        (np.float64(0.25), "float32"),
        ([[True], [False]], "bool"),
        (np.zeros((0, 3), "int16"), "int16"),
        (np.array(-4.5, "float16"), "float16"),
        ([[1, 2.5]], "float32"),
        (Tensor(np.array([[3.5], [4.5]])), "float64"),
    ]:
        plain = np.asarray(data.data if isinstance(data, Tensor) else data)
        x, y = Tensor(data), Tensor(data=data, requires_grad=True)
        expect(x.data, plain, f"Tensor({data!r}).data", dtype=dtype)
        wanted = dtype if "float" in dtype else "float32"
        assert y.data.dtype.name == wanted and y.requires_grad is True, (
            f"Tensor({data!r}, requires_grad=True) should be {wanted}, got {y.data.dtype}"
        )
        assert x.grad is None and y.grad is None and y.creator is None, "grad and creator: None"
    for dtype in ("float16", "float64", "uint8", "bool"):
        for required in (False, True):
            kept = data_after_writing(np.array([[0, 1], [1, 0]], dtype), 1, required)
            expect(kept, [[0, 1], [1, 0]], f"a copy of {dtype}, requires_grad={required},")
    for data in ([[1, 2], [3]], "seven", None, [1, None]):
        refused(lambda: Tensor(data), f"Tensor({data!r})", (ValueError, TypeError))


# %% learner-side
def read_after_writing(out, x, number):
    """The numbers in the Tensor `out`, read after `number` was written over all those in the
    Tensor `x`."""
    x.data[...] = number
    return out.data


def recorded_while_off():
    """Whether apply records an operation while recording is switched off."""
    recording.on = False
    try:
        out = apply(np.multiply, Tensor([2.0], requires_grad=True), 3.0)
    finally:
        recording.on = True
    return out.creator is not None or out.requires_grad


# %% apply points=14
def test_apply_computes_with_the_arrays_inside():
    a = np.array([[1, 2, 3], [4, 5, 9]], "float32")
    b = np.array([[2, 0, 7], [1, 3, 5]], "float32")
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
        expect(out.data, np.subtract(*plain), f"subtract of {plain}")
    expect(a, [[1, 2, 3], [4, 5, 9]], "after apply, its input")


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


def test_apply_records_how_a_result_was_computed():
    x, y = Tensor([[0.5, 2.0, 3.0]], requires_grad=True), Tensor([[4.0], [7.0]])
    out = apply(np.multiply, y, x)
    assert out.requires_grad, (
        "an input requires a gradient, so its result does, too: set out.requires_grad"
    )
    node = out.creator
    assert node is not None, (
        "an input requires a gradient, so the result should have a Creator(op, inputs, arrays, "
        "options), yours has creator None"
    )
    try:
        required = [t.requires_grad for t in node.inputs]
    except AttributeError:
        required = "something else"
    assert required == [False, True], (
        "creator.inputs should be the two tensors as given, whose requires_grad are [False, "
        f"True]; yours: {required}. Is the order Creator(op, inputs, arrays, options)?"
    )
    kinds = [isinstance(a, np.ndarray) for a in node.arrays]
    assert kinds == [True, True], (
        f"creator.arrays should hold the arrays inside the inputs, yours holds {node.arrays}"
    )
    assert np.array_equal(node.arrays[0], [[4], [7]]), (
        f"the first array should be that of the first input, yours is {node.arrays[0]}"
    )
    total = apply(np.sum, out, axis=1)
    assert total.creator is not None and total.creator.options == {"axis": 1}, (
        "the sum of a recorded result, with axis=1, should be recorded with the options "
        "{'axis': 1}; yours has "
        f"{'no creator' if total.creator is None else total.creator.options}"
    )
    assert total.creator.created > node.created, "a later result has a larger creator.created"


def test_apply_records_nothing_that_nobody_needs():
    plain = apply(np.multiply, Tensor([4.0, 7.0]), 2.0)
    assert plain.creator is None and not plain.requires_grad, (
        "no input requires a gradient, so nothing is recorded; yours has "
        f"requires_grad={plain.requires_grad} and a creator: {plain.creator is not None}"
    )
    flags = apply(np.less, Tensor([4.0, 7.0], requires_grad=True), 5.0)
    assert np.array_equal(flags.data, [True, False]), (
        f"[4, 7] < 5 is [True, False], yours {flags}"
    )
    assert flags.creator is None and not flags.requires_grad, (
        'True and False have no derivative: record only results whose dtype.kind is "f"'
    )
    assert not recorded_while_off(), (
        "recording.on was False, and the operation was recorded nevertheless"
    )


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
            f"{mine}; so all that users of + read is: {error}"
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


# %% apply hidden points=2
def test_apply_runs_any_function_on_other_inputs():
    wide, small = np.array([[-2.5, 1e6], [3e-5, 8.0]]), np.array([[0.5], [4.0]], "float16")
    cube, flags = np.arange(12, dtype="float32").reshape(2, 3, 2), np.array([True, False])
    four, nothing = np.array([4.0, 5.0], "float32"), np.zeros((0, 3), "float32")

    def scaled(a, b, c, d, scale):
        return (a - b) * c / d * scale

    for op, plain, tensors, options, dtype in [
        (np.maximum, (wide, -1), [0], {}, "float64"),
        (np.where, (flags, wide.astype("float32"), 0.0), [0, 1], {}, "float32"),
        (np.sum, (cube,), [0], {"axis": (0, 2), "keepdims": True}, "float32"),
        (np.sum, (np.array([3, -8], "int64"),), [0], {}, "int64"),
        (np.multiply, (small, 3), [0], {}, "float16"),
        (np.greater, (small, np.array([1, 2])), [1], {}, "bool"),
        (np.sqrt, (np.array([4, 25]),), [0], {}, "float32"),
        (np.negative, (nothing,), [0], {}, "float32"),
        (scaled, (2.0, wide, wide, four), [1, 3], {"scale": 3}, "float64"),
    ]:
        wanted = np.asarray(op(*plain, **options)).astype(dtype)
        inputs = [Tensor(part) if n in tensors else part for n, part in enumerate(plain)]
        out, case = apply(op, *inputs, **options), f"{op.__name__} of {plain}, {options}"
        assert isinstance(out, Tensor), f"{case}: apply should return a Tensor, got {out!r}"
        expect(out.data, wanted, case, dtype=dtype)
    expect(wide, [[-2.5, 1e6], [3e-5, 8.0]], "after apply, its input")


def test_a_creator_is_enough_to_repeat_an_operation():
    x = Tensor([[2.0, -1.0, 0.5]], requires_grad=True)
    out = apply(np.where, np.array([[True], [False]]), x, 4.0)
    total = apply(np.sum, out, axis=0, keepdims=True)
    power, keep = apply(np.power, 2.0, total), {"axis": 0, "keepdims": True}
    for name, made, kinds, options, wanted in [
        ("where", out.creator, [False, True, False], {}, [[2, -1, 0.5], [4, 4, 4]]),
        ("sum", total.creator, [True], keep, [[6, 3, 4.5]]),
        ("power", power.creator, [False, True], {}, [[64, 8, 2**4.5]]),
    ]:
        found = [isinstance(part, Tensor) for part in made.inputs]
        equal(found, kinds, f"{name}: which of the creator's inputs are Tensors")
        equal(made.options, options, f"{name}: the creator's options")
        again = made.op(*made.arrays, **made.options)
        expect(again, wanted, f"{name}, repeated from its creator,", near=(1e-6, 1e-8))
    orders = [power.creator.inputs[1].creator.created, total.creator.inputs[0].creator.created]
    wanted = [total.creator.created, out.creator.created]
    assert orders == wanted and power.creator.created > wanted[0] > wanted[1], (
        f"the creators should hold the tensors themselves, created as numbers {wanted}, "
        f"got {orders}"
    )
    flags = apply(np.less, x, 1.0)
    assert flags.creator is None and not flags.requires_grad, (
        "True and False have no derivative, so less(x, 1) has no creator"
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
        case, cause = f"{name} for x = [1, 2, 4]", "the left operand is the first input"
        expect(out.data, wanted, case, cause, dtype="float32")


def test_an_array_on_the_left_gives_a_tensor():
    out = np.array([[8, 6, 4]], "float32") - Tensor([[1.0], [2.0]])
    assert isinstance(out, Tensor), (
        f"an array minus a Tensor should be a Tensor, yours is {out!r}"
    )
    expect(out.data, [[7, 5, 3], [6, 4, 2]], "[[8, 6, 4]] - [[1], [2]]")
    out = np.array([[1, 2, 3]]) @ Tensor([[1, 4], [0, 5], [2, 6]])
    expect(out.data, [[7, 32]], "[[1, 2, 3]] @ [[1, 4], [0, 5], [2, 6]]")


def test_reflected_results_are_recorded():
    x = Tensor([[1.0, 2.0]], requires_grad=True)
    out = reflected(np.divide, x, 8.0)
    assert out.requires_grad, "x requires a gradient, so 8 / x must be recorded: call apply"
    required = [isinstance(part, Tensor) for part in out.creator.inputs]
    assert required == [False, True], "the creator of 8 / x should list the inputs as 8, then x"


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
            wanted = op(np.asarray(left), column)
            near = (1e-5, 1e-8)
            expect(op(left, x).data, wanted, f"{left} {sign} x", near=near, dtype=dtype)
    stack = np.arange(24, dtype="float32").reshape(4, 2, 3)
    expect((stack @ x).data, stack @ column, "(4, 2, 3) @ (3, 1)")
    out = reflected(op=np.arctan2, x=Tensor([1.0, 2.0], requires_grad=True), other=-3.0)
    wanted = [math.atan2(-3, 1), math.atan2(-3, 2)]
    expect(out.data, wanted, "arctan2 of -3 and [1, 2]", near=(1e-6, 1e-8))
    assert out.creator.arrays[0] == -3, (
        f"the creator should hold -3 first, got {out.creator.arrays}"
    )


# %% learner-side
def chosen_dtype(name, arrays):
    """The name of result_dtype(np.dtype(name), arrays); None if it returns None."""
    try:
        found = result_dtype(np.dtype(name), arrays)
    except AttributeError as error:
        return (
            f"an error: {error}. `arrays` holds Python numbers, too; only ndarrays have a dtype"
        )
    return None if found is None else np.dtype(found).name


# %% dtype points=3
def test_a_float_that_went_in_may_come_out():
    whole = np.ones(3, "int64")
    for name in ("float64", "float16", "float32"):
        for arrays in [
            (np.ones(2, name),),
            (np.ones(2, name), 3),
            (2.5, whole, np.ones(2, name)),
        ]:
            found = chosen_dtype(name, arrays)
            assert found is not None, "result_dtype returned None: is `return` missing?"
            assert found == name, (
                f"an array of {name} went in, so {name} stays {name}; yours gives {found}"
            )
    found = chosen_dtype("float64", (whole, 2.5))
    assert found == "float32", (
        f"float64 from an int64 array and 2.5 should become float32; yours gives {found}"
    )


def test_other_results_that_widen_become_float32():
    single, whole = np.ones(2, "float32"), np.ones(2, "int64")
    for case, arrays in [
        ("int64 / int64", (whole, whole)),
        ("exp of int64", (whole,)),
        ("float32 * int64", (single, whole)),
        ("float32 + 2.5", (single, 2.5)),
        ("exp of the number 2.0", (2.0,)),
    ]:
        found = chosen_dtype("float64", arrays)
        assert found == "float32", (
            f"{case}: NumPy chose float64, no float64 array went in, so float32 is right; "
            f"yours gives {found}"
        )
    for out in (Tensor([1, 2, 3]) / Tensor([2, 4, 8]), Tensor([1, 2, 3]).exp()):
        assert out.dtype.name == "float32", f"results then are float32, not {out.dtype}"
    wide = Tensor(np.array([0.5])) + 1
    assert wide.dtype.name == "float64", (
        f"a float64 array plus 1 should stay float64, yours is {wide.dtype}"
    )


def test_dtypes_that_are_no_floats_stay():
    for name in ("int64", "int32", "uint8", "bool"):
        for arrays in [(np.ones(2, name), 3), (np.ones(2, "float32"),), (2.5, 1.5)]:
            found = chosen_dtype(name, arrays)
            assert found == name, (
                f"{name} is no floating-point dtype, so it stays as NumPy chose it; yours "
                f"gives {found}"
            )
    found = chosen_dtype("float64", (np.ones(2, "bool"),))
    assert found == "float32", (
        f"float64 from an array of bools should become float32; yours gives {found}"
    )


# %% dtype hidden points=1
def test_dtypes_of_other_results():
    for dtype, inputs, wanted in [
        ("float64", ["uint8", "float16"], "float32"),
        ("float64", ["bool", "int64", "float64"], "float64"),
        ("float16", ["uint8"], "float32"),
        ("float16", ["float16"], "float16"),
        ("float32", ["int16"], "float32"),
        ("int64", ["float64"], "int64"),
        ("float64", [], "float32"),
    ]:
        arrays = tuple(np.zeros((2, 1), name) for name in inputs)
        for extra in [(), (7,), (0.5, True)]:
            found = chosen_dtype(dtype, extra + arrays)
            equal(found, wanted, f"{dtype} from {inputs} and {extra}")
    x = Tensor(np.array([3, 200], "uint8"))
    for name, out, wanted in [
        ("x / 255", x / 255, "float32"),
        ("x * 2", x * 2, "uint8"),
        ("sqrt of x", x.sqrt(), "float32"),
        ("x > 5", apply(np.greater, x, 5), "bool"),
        ("float16 * 2.5", Tensor(np.ones(2, "float16")) * 2.5, "float16"),
    ]:
        equal(out.dtype.name, wanted, f"the dtype of {name}")


# %% count points=2
def test_the_count_is_of_the_reduced_axes():
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
            f"along axis {axis} of shape (2, 3, 5), {wanted} elements go into each result, you "
            f"count {found}"
        )
        assert isinstance(found, int), (
            f"along axis {axis} the count is right, but should be a Python int, not {found!r}"
        )
    assert count_along(Tensor(4.0)) == 1, (
        f"a single number is a mean of 1 number, you count {count_along(Tensor(4.0))}"
    )
    found = count_along(Tensor(np.ones((0, 4))), 1)
    equal(found, 4, "the count of the elements of a row of 4, also when there is no row,")
    for axis in (3, -4, (0, 5)):
        case = f"shape (2, 3, 5) has no axis {axis}, which axes_of refuses; it"
        refused(lambda: count_along(x, axis), case, (IndexError, ValueError))


def test_means_divide_by_your_count():
    array = np.array([[[1, 2, 6]], [[3, 10, -4]]], "float32")
    for axis, keepdims in [(None, False), (0, False), (1, True), (-1, True), ((0, 2), False)]:
        out = Tensor(array).mean(axis, keepdims)
        wanted = array.mean(axis, keepdims=keepdims)
        expect(out.data, wanted, f"mean along {axis}, keepdims={keepdims},", near=(1e-6, 0))
    expect(Tensor([1, 2]).mean(), 1.5, "the mean of 1 and 2", dtype="float32")


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
            out, mean = x.mean(axis, keepdims), array.mean(axis, keepdims=keepdims)
            expect(out.data, mean, f"mean along {axis}, keepdims={keepdims}", near=(1e-9, 1e-8))
    for shape, axis, wanted in [
        ((3, 0, 2), None, 0),
        ((3, 0, 2), 1, 0),
        ((3, 0, 2), (0, -1), 6),
        ((), (), 1),
        ((5,), -1, 5),
    ]:
        found = count_along(Tensor(np.zeros(shape)), axis)
        equal(found, wanted, f"count_along axis {axis} of shape {shape}")


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
                f"var along {axis}, keepdims={keepdims} has shape {wanted.shape}, yours "
                f"{out.shape}"
            )
            expect(out.data, wanted, f"var along {axis}", near=(1e-5, 0))


def test_the_correction_makes_the_divisor_smaller():
    x = Tensor([[1.0, 2.0, 6.0, 7.0], [0.0, 4.0, 5.0, -3.0]])
    for correction, wanted in [(0, [6.5, 10.25]), (1, [26 / 3, 41 / 3]), (2, [13.0, 20.5])]:
        found = var(x, 1, correction=correction).data
        expect(found, wanted, f"with correction={correction} var", near=(1e-5, 0))


def test_large_numbers_do_not_cancel():
    x = Tensor([[8000.0, 8008.0, 8016.0], [3.0, 3.5, 4.5]])
    found = var(x, axis=1).data
    assert found.shape == (2,), (
        f"var of shape (2, 3) along axis 1 has shape (2,), yours {found.shape}"
    )
    assert abs(found[1] * 18 / 7 - 1) < 1e-4, (
        f"var of 3, 3.5, 4.5 should be 0.3889, yours is {found[1]:.4g}: how many elements does "
        "one row have?"
    )
    assert abs(found[0] * 3 / 128 - 1) < 1e-4, (
        f"var of 8000, 8008, 8016 should be 42.667, yours is {found[0]:.4g}: subtract the mean "
        "before squaring"
    )


def test_the_variance_of_integers_is_float32_and_is_recorded():
    out = var(Tensor([1, 2, 6]))
    assert out.dtype.name == "float32" and abs(float(out) - 14 / 3) < 1e-5, (
        f"var of 1, 2, 6 is 4.6667 in float32, yours {out!r} in {out.dtype}"
    )
    x = Tensor([1.0, 2.0, 6.0], requires_grad=True)
    assert var(x).requires_grad, (
        "x requires a gradient and its var does not: compute with tensors, not with x.data"
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
                case = f"var along {axis}, keepdims={keepdims}, correction={correction}"
                expect(out.data, wanted, case, near=(1e-9, 1e-12), dtype="float64")
    expect(x.data, array, "after var, its input")
    found = var(Tensor([[20000.0, 20004.0, 20012.0, 20008.0]]), 1, True, 1)
    case = "var of 20000, 20004, 20012, 20008 with correction 1"
    expect(found, [[80 / 3]], case, near=(1e-3, 0))
    found = var(Tensor(np.array([[1, 5], [3, 9]])), 0, False, 1)
    case = "var of integers [[1, 5], [3, 9]] along 0 with correction 1"
    expect(found.data, [2, 8], case, dtype="float32")
    assert var(Tensor([[1.0, 4.0]], requires_grad=True), 1, correction=1).requires_grad, (
        "the var of a tensor that requires a gradient should require one, too"
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
        found = result_or_error(infer_shape, shape, size)
        assert found == wanted, (
            f"{size} elements in shape {shape} make {wanted}, yours is {found}"
        )


def test_a_full_shape_stays():
    for shape, size in [((2, 3), 6), ((), 1), ((0, 4), 0), ((7,), 7)]:
        found = result_or_error(infer_shape, shape, size)
        assert found == shape, f"shape {shape} fits {size} elements as it is, yours is {found}"
    equal(infer_shape((3, -1), 6), (3, 2), "only a full shape does: (3, -1) with 6 elements")


def test_shapes_that_do_not_fit_are_refused():
    for shape, size, why in [
        ((2, 3), 7, "2 * 3 is 6, not 7"),
        ((2, 4), 7, "2 * 4 is 8, not 7"),
        ((4, -1), 13, "4 does not divide 13"),
        ((-1, -1), 4, "only one length may be -1"),
        ((-1, -1), 1, "only one length may be -1"),
        ((0, -1), 0, "for 0 rows any length would do"),
        ((0, -1), 6, "0 rows hold no elements, whatever their length"),
        ((-2, 3), 6, "no length is -2"),
        ((-2, -3), 6, "no length is -2"),
        ((), 2, "a shape without axes holds one element"),
    ]:
        try:
            found = infer_shape(shape, size)
        except ZeroDivisionError as error:
            assert False, (
                f"infer_shape({shape}, {size}) should raise ValueError, because {why}; yours "
                f"raises ZeroDivisionError: {error}"
            )
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
    equal(infer_shape((-1, 3), 6), (2, 3), "(-1, 3) fits 6 elements, the shape")


# %% infer-shape hidden points=1
def test_other_shapes_are_filled_in_or_refused():
    random = np.random.default_rng(14)
    wrong = [
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
            equal(infer_shape(shape=given, size=size), shape, f"{size} elements in {given}")
        wrong += [(shape, size + 1), (shape, size * 2)]
        if size > shape[place]:
            wrong.append((left_open, size + 1))
    for shape, size, wanted in [
        ((-1, 7), 0, (0, 7)),
        ((0, 5), 0, (0, 5)),
        ((3, 10**6, -1), 6 * 10**6, (3, 10**6, 2)),
        ((1, 1, -1), 1, (1, 1, 1)),
    ]:
        equal(infer_shape(shape, size), wanted, f"{size} elements in shape {shape}")
    for shape, size in wrong:
        case = f"infer_shape({shape}, {size})"
        refused(lambda: infer_shape(shape, size), case, contains=(shape, size))


# %% transpose points=5
def test_axes_are_permuted():
    array = np.arange(24, dtype="float32").reshape(2, 3, 4)
    x = Tensor(array)
    for axes in [(2, 0, 1), (1, 2, 0), (0, 2, 1), (-1, 0, 1), (0, 1, 2)]:
        out, wanted = transpose(x, *axes), np.transpose(array, axes)
        assert isinstance(out, Tensor), (
            f"transpose should return a Tensor, yours returns {out!r}: call apply"
        )
        assert out.shape == wanted.shape, (
            f"(2, 3, 4) with axes {axes} has shape {wanted.shape}, yours {out.shape}"
        )
        assert np.array_equal(out.data, wanted), (
            f"axes {axes}: the shape is right, the numbers are not: move axes, do not reshape"
        )
        case = f"transpose(x, {axes}), one tuple, should do the same as several ints"
        cause = "as_tuple makes both alike"
        out = result_of(lambda: transpose(x, axes), case, cause, (TypeError, ValueError))
        expect(out.data, wanted, f"{case}. It")
    expect(x.data, array, "after transpose, its input")


def test_without_axes_the_order_is_reversed():
    for shape in [(2, 3), (2, 3, 4), (5,), ()]:
        array = np.arange(math.prod(shape), dtype="float32").reshape(shape)
        out = transpose(Tensor(array))
        assert out.shape == shape[::-1], (
            f"shape {shape} reversed is {shape[::-1]}, yours is {out.shape}"
        )
        expect(out.data, array.T, f"the transpose of {array.tolist()}")


def test_each_axis_is_named_once():
    for axes in [(0, 0, 1), (0, 1), (1,), (0, 1, 2, 0), (2, 1, -1), (0, 1, 5), (-4, 1, 0)]:
        try:
            out = transpose(Tensor(np.ones((2, 3, 4), "float32")), *axes)
        except ValueError as error:
            assert "(2, 3, 4)" in str(error), (
                f"axes {axes} are refused, but the error should name the shape (2, 3, 4), "
                f"yours: {error}"
            )
        else:
            assert False, (
                f"axes {axes} do not name each of the axes 0, 1, 2 of shape (2, 3, 4) once, "
                f"yours gives shape {out.shape}. (Adding ndim to a negative axis is right; "
                "taking every axis modulo ndim accepts axes that do not exist.)"
            )


def test_the_result_is_a_view():
    for axes in [(), (2, 0, 1), (0, 1, 2)]:
        x = Tensor(np.ones((2, 3, 4), "float32"))
        out = transpose(x, *axes)
        found = read_after_writing(out, x, 7)
        assert np.array_equal(found, np.full(np.ones((2, 3, 4)).transpose(*axes).shape, 7)), (
            f"transpose(x{''.join(f', {a}' for a in axes)}) should share memory with x, yours "
            f"is a copy: after x became all 7, yours holds {found}"
        )


def test_a_transpose_is_recorded():
    x = Tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    for out in (transpose(x), transpose(x, 1, 0)):
        assert out.requires_grad, "x requires a gradient and its transpose does not: call apply"
    options = transpose(
        Tensor(np.ones((2, 3, 4)), requires_grad=True), -1, 0, 1
    ).creator.options
    assert options == {"axes": (2, 0, 1)}, (
        "the creator's options should be {'axes': (2, 0, 1)} for -1, 0, 1, ints from 0, from "
        f"which the order can be undone; yours are {options}"
    )


# %% transpose hidden points=1
def test_four_axes_are_permuted():
    array = np.random.default_rng(15).normal(size=(2, 1, 3, 5)).astype("float32")
    x = Tensor(array, requires_grad=True)
    for axes in itertools.permutations(range(4)):
        mixed = [a - 4 if a % 2 else a for a in axes]
        wanted = np.transpose(array, axes)
        for given in (axes, (axes,), mixed, (tuple(mixed),)):
            out, case = transpose(x, *given), f"(2, 1, 3, 5) with axes {given}"
            expect(out.data, wanted, case)
            equal(tuple(out.creator.options["axes"]), axes, f"{case}: the recorded axes")
    out = transpose(x)
    expect(out.data, array.T, "(2, 1, 3, 5), without axes,")
    equal(tuple(out.creator.options["axes"]), (3, 2, 1, 0), "the recorded axes")
    for shape, axes in [((4,), (-1,)), ((0, 4), ()), ((0, 4), (1, 0)), ((3, 1, 2), (2, 0, 1))]:
        x, case = Tensor(np.ones(shape)), f"the transpose of {shape} with axes {axes}"
        out, wanted = transpose(x, *axes), np.transpose(np.ones(shape), axes or None)
        equal(out.shape, wanted.shape, f"the shape of {case}")
        found = read_after_writing(out, x, -2.5)
        expect(found, np.full(wanted.shape, -2.5), f"{case} shares its memory: it")
    for axes in [(0, 1, 2, 2), (0, 1, 2), (3,), (-1, 3, 0, 1), (0, 1, 2, 3, 0), (0, 1, 2, 7)]:
        case = f"axes {axes} of shape (2, 1, 3, 5)"
        refused(lambda: transpose(Tensor(array), *axes), case, contains=["(2, 1, 3, 5)"])


# %% matmul-by-broadcasting points=3
def test_each_element_is_a_row_times_a_column():
    a = np.array([[1, 2, 3], [0, -1, 4]], "float32")
    b = np.array([[2, 0, 1, 5], [1, 3, -2, 0], [4, 1, 0, 7]], "float32")
    out = result_of(
        lambda: matmul_by_broadcasting(Tensor(a), Tensor(b)),
        "(2, 3) times (3, 4)",
        "Is the inner dimension k on the same axis of both, and the other axis of length 1?",
        ValueError,
    )
    assert isinstance(out, Tensor), (
        f"the product of two Tensors should be a Tensor, yours is {out!r}: compute with "
        "tensors, not with .data"
    )
    wanted = [[sum(a[i, k] * b[k, j] for k in range(3)) for j in range(4)] for i in range(2)]
    assert out.shape == (2, 4), f"(2, 3) times (3, 4) has shape (2, 4), yours {out.shape}"
    expect(out.data, wanted, f"the product of {a.tolist()} and {b.tolist()}")


def test_thin_and_empty_matrices_multiply():
    for i, k, j in [(1, 5, 2), (4, 1, 3), (3, 2, 1), (0, 2, 3), (2, 0, 3)]:
        a = np.arange(i * k, dtype="float32").reshape(i, k) - 2
        b = np.arange(k * j, dtype="float32").reshape(k, j) + 1
        out = matmul_by_broadcasting(Tensor(a), Tensor(b))
        expect(out.data, a @ b, f"({i}, {k}) times ({k}, {j})")


def test_the_product_is_recorded():
    for required in (True, False):
        a, b = Tensor([[1.0, 2.0, 3.0]], required), Tensor([[1.0], [0.5], [4.0]], not required)
        out = matmul_by_broadcasting(a, b)
        assert out.requires_grad, (
            f"{'ab'[not required]} requires a gradient and the product does not: compute with "
            "tensors, not with .data"
        )
        made = out.creator.op.__name__
        assert made != "matmul", (
            "the product was computed by NumPy's matmul, which is `@`: use `*` and a sum"
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
            out = matmul_by_broadcasting(a=Tensor(a), b=Tensor(b))
            near = (tolerance, tolerance * 3000)
            expect(out.data, a @ b, f"({i}, {k}) times ({k}, {j})", near=near, dtype=dtype)
    out = matmul_by_broadcasting(Tensor([[1.0], [2.0]], True), Tensor([[3.0, 5.0]], True))
    expect(out.data, [[3, 5], [6, 10]], "[[1], [2]] times [[3, 5]]")
    assert out.creator.op.__name__ != "matmul", "computed by matmul, not by * and a sum"


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
        has_product_shape(a, b, wanted)


def test_a_vector_takes_part_as_row_or_column():
    for a, b, wanted in [
        ((3,), (3,), ()),
        ((3,), (3, 4), (4,)),
        ((2, 3), (3,), (2,)),
        ((3,), (4, 3, 7), (4, 7)),
        ((6, 2, 3), (3,), (6, 2)),
    ]:
        cause = "the axis of a tensor of rank 1 is summed over, so it is missing in the result"
        has_product_shape(a, b, wanted, cause)


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
        except (IndexError, TypeError) as error:
            assert False, (
                f"matmul_shape({a}, {b}) should raise ValueError, yours raises "
                f"{type(error).__name__}: {error}. A shape can have fewer than two lengths."
            )
        except ValueError as error:
            assert str(a) in str(error) and str(b) in str(error), (
                f"the error should name {a} and {b}, yours: {error}"
            )
        else:
            assert False, f"{a} @ {b} cannot be multiplied, yours has shape {found}"
    equal(matmul_shape((2, 3), (3, 4)), (2, 4), "the shape of (2, 3) @ (3, 4)")


def test_matmul_raises_your_error():
    for a, b in [((2, 3), (2, 5)), ((4, 2, 3), (5, 3, 2))]:
        mine = refused(lambda: matmul_shape(a, b), f"the shapes of {a} @ {b}", contains=(a, b))
        left, right = Tensor(np.ones(a, "float32")), Tensor(np.ones(b, "float32"))
        error = refused(lambda: left @ right, f"{a} @ {b}")
        equal(error, mine, f"the error of {a} @ {b}, that of matmul_shape,")
    out = Tensor(np.ones((2, 3), "float32")) @ Tensor(np.ones((3, 5), "float32"))
    equal(matmul_shape((2, 3), (3, 5)), out.shape, "the shape of (2, 3) @ (3, 5)")


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
        wanted = np.matmul(np.zeros(a), np.zeros(b)).shape
        equal(matmul_shape(a, b), wanted, f"the shape of {a} @ {b}")
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
        refused(lambda: matmul_shape(a, b), f"{a} @ {b}", contains=(a, b))


# %% learner-side
def index_after_writing(part, number):
    """The second part of copy_index((0, part)), as a list, read after `number` was written
    into `part`."""
    found = copy_index((0, part))[1]
    numbers = part.data if isinstance(part, Tensor) else part
    while isinstance(numbers[0], list):
        numbers = numbers[0]
    numbers[0] = number
    return np.asarray(found).tolist()


# %% index points=3
def test_every_kind_of_index_selects_what_numpy_selects():
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
        try:
            parts = copy_index(index)
        except (TypeError, AttributeError) as error:
            assert False, (
                f"copy_index({index}) raises {type(error).__name__}: {error}. Only x[a, b] "
                "gives a tuple; a single part is not in one: begin with (index,) then"
            )
        try:
            out, wanted = x[index], array[index]
        except (IndexError, TypeError) as error:
            assert False, (
                f"x[{index}] of shape (2, 3, 4) has shape {array[index].shape}, yours raises "
                f"{type(error).__name__}: {error}. copy_index({index}) is {parts}"
            )
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
        parts = copy_index(index)
        assert isinstance(parts, tuple), (
            f"{name}: copy_index should return a tuple, also for one part; yours "
            f"returns\n{parts!r}"
        )
        left = [n for n, part in enumerate(parts) if isinstance(part, Tensor)]
        assert not left, (
            f"{name}: part {left} of your index is still a Tensor; look inside tuples, too"
        )
        expect(x[index].data, wanted, name)


def test_a_recorded_index_is_a_copy():
    for name, part, wanted in [
        ("array", np.array([1, 0, 1]), [1, 0, 1]),
        ("tensor", Tensor([2, 0]), [2, 0]),
        ("list", [1, 0], [1, 0]),
        ("list of lists", [[1, 2], [0, 2]], [[1, 2], [0, 2]]),
    ]:
        found = index_after_writing(part, 5)
        assert found == wanted, (
            f"I wrote 5 into my {name} {wanted}, and your index became {found}. Copy arrays, "
            "tensors and lists, with as_index_array."
        )


# %% index hidden points=1
def test_other_indices_select_what_numpy_selects_and_are_copies():
    array = np.random.default_rng(18).normal(size=(3, 4, 2)).round(2)
    x, places = Tensor(array), np.array([[2, 0], [1, 1]])
    flags = np.array([True, False, True, True])
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
        expect(x[index].data, array[same], f"x[{index}]")
        plain = copy_index(index)
        assert isinstance(plain, tuple) and len(plain) == len(parts), (
            f"copy_index({index}) should be a tuple of {len(parts)}, got {plain!r}"
        )
        left = [n for n, part in enumerate(plain) if isinstance(part, (Tensor, list))]
        assert not left, f"copy_index({index}): parts {left} are no arrays"
    for index, wanted in [(-2, (-2,)), ((1, None), (1, None)), ((), ())]:
        equal(copy_index(index), wanted, f"copy_index({index})")
    for part, wanted in [
        (np.array([[2, 0], [1, 3]]), [[2, 0], [1, 3]]),
        (Tensor([[2, 0], [1, 3]]), [[2, 0], [1, 3]]),
        (Tensor([False, True]), [False, True]),
        (np.array([False, True]), [False, True]),
        ([False, True], [False, True]),
        ([[[2]], [[0]]], [[[2]], [[0]]]),
    ]:
        equal(index_after_writing(part, 1), wanted, "a copy of what the index was made from")
