# The checks of lesson 03, by exercise. `check("relu")` in the chapter runs the visible ones.

# %% setup
import math

import numpy as np

from tinytorch.core.tensor import Tensor


from checking import equal, expect, result_of, tensor

INTEGERS = "integers become float32"


def gelu_by_formula(v):
    return v / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3)))


def softmax_of(logits, axis):
    powers = np.exp(logits - logits.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def log_softmax_of(logits, axis):
    shifted = logits - logits.max(axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


def elementwise(name, f, given, truth, near, cause=""):
    """Assert that `f` computes `truth` of each number of an array and keeps shape and dtype.
    Returns the input as it is afterwards."""
    x = Tensor(given)
    out = tensor(f(x), f"{name}(x)")
    wanted = np.array([truth(v) for v in given.ravel().tolist()]).reshape(given.shape)
    expect(out.data, wanted, f"{name} of {given.tolist()}", cause, near, given.dtype.name)
    return x.data


def is_recorded(name, f, given, truth, cause="some operation used x.data"):
    """Assert that the recorded operations of f(given) have the derivative of `truth` in some
    direction. Returns the input as it is afterwards."""
    x = Tensor(given, requires_grad=True)
    out = f(x)
    assert out.requires_grad, (
        f"x has requires_grad=True, but {name}(x) does not: compute with x, not with x.data"
    )
    direction = np.random.default_rng(26).normal(size=given.shape)
    up, down = truth(given + 1e-5 * direction), truth(given - 1e-5 * direction)
    found, wanted = recorded_derivative(out, x, direction), (up - down) / 2e-5
    if np.shape(found) == given.shape:
        wrong = ~np.isclose(found, wanted, 1e-4, 1e-6)
        if wrong.any() and not given[wrong].any():
            cause = "the formula changes at 0, as abs(x) does: do not choose by the sign of x"
    up, down = [f(Tensor(given + step * direction)).data for step in (1e-5, -1e-5)]
    if np.allclose(found, (up - down) / 2e-5, 1e-4, 1e-6):
        cause = f"your operations are recorded, and they do not compute {name}"
    expect(
        found,
        wanted,
        f"the derivative of {name} at x = {given.tolist()} in the direction "
        f"{direction.round(3).tolist()}, computed from your recorded operations,",
        cause,
        (1e-4, 1e-6),
    )
    return x.data


def every_operation_is_finite(out, call, cause):
    """Assert that all results from which `out` was computed are finite."""
    results = [out]
    for result in results:  # grows meanwhile: from each result to its inputs
        assert np.isfinite(np.asarray(result)).all(), (
            f"an intermediate result of {call} is {np.asarray(result)}: {cause}"
        )
        inputs = getattr(result.creator, "inputs", ())
        results += [part for part in inputs if isinstance(part, Tensor)]


def computed_by_hand(name, f, cases):
    """Assert the results of [(logits, result)], in float32."""
    for logits, wanted in cases:
        case = f"{name} of {logits}"
        out = result_of(lambda: f(Tensor(logits)), case)
        expect(out.data, wanted, case, near=(1e-6, 0), dtype="float32")


def other_logits(name, f, truth, near):
    """Assert the results of softmax or log_softmax, of which `truth(logits, axis)` is the true
    one, for many axes and for logits of any size."""
    given = np.random.default_rng(25).normal(size=(3, 2, 1, 5)) * 20
    for axis in (0, 1, 2, 3, -3, (1, 3), (-1, 0), (0, 1, 2, 3)):
        for shift in (0, 1000, -1000):
            x, case = Tensor(given + shift), f"{name} along {axis} of logits near {shift}"
            expect(f(x, axis=axis).data, truth(given, axis), case, near=near, dtype="float64")
            expect(x.data, given + shift, f"the logits, after {case},")
    far = np.array([1000.0, -1000.0, 0.0]).reshape(3, 1, 1, 1)  # one for each row
    found = f(Tensor(given + far), (1, 2, 3)).data
    case = f"{name} of logits near 1000, -1000 and 0"
    expect(found, truth(given, (1, 2, 3)), case, near=near)
    empty = f(Tensor(np.zeros((0, 4), "float32")))
    equal(empty.shape, (0, 4), f"the shape of {name} of shape (0, 4)")
    is_recorded(name, lambda x: f(x, (1, -1)), given, lambda x: truth(x, (1, -1)))


# %% learner-side
from checking import recorded_derivative


# %% collapse-linear points=2
def test_one_affine_map_equals_two():
    random = np.random.default_rng(3)
    for inputs, hidden, outputs in [(4, 2, 3), (1, 5, 2), (3, 4, 1)]:
        w1, b1, w2, b2 = [
            random.normal(size=shape)
            for shape in ((inputs, hidden), hidden, (hidden, outputs), outputs)
        ]
        x = random.normal(size=(6, inputs))
        sizes = f"for {inputs} inputs, {hidden} hidden and {outputs} outputs"
        w, b = result_of(
            lambda: collapse_linear(Tensor(w1), Tensor(b1), Tensor(w2), Tensor(b2)),
            sizes,
            "x is multiplied by w1 first, and b1 is also multiplied by w2.",
            ValueError,
        )
        expect(w.data, w1 @ w2, f"{sizes}: w", near=(1e-9, 1e-8))
        equal(b.shape, (outputs,), f"{sizes}: the shape of b")
        two = (x @ w1 + b1) @ w2 + b2
        assert np.allclose(x @ w.data + b.data, two, rtol=1e-9), (
            f"{sizes}: w is right, but b should be {b1 @ w2 + b2}, yours is {b.data}: both "
            "biases count, and b1 goes through the second layer."
        )


def test_collapse_linear_is_recorded_and_keeps_dtype_and_inputs():
    numbers = [
        [[1.0, 2.0, 4.0], [0.5, -1.0, 3.0]],
        [3.0, -2.0, 1.0],
        [[2.0], [5.0], [-1.0]],
        [7.0],
    ]
    for wanting, name, reached in [
        (0, "w1", [True, False]),
        (1, "b1", [False, True]),
        (2, "w2", [True, True]),
        (3, "b2", [False, True]),
    ]:
        given = [Tensor(part, requires_grad=n == wanting) for n, part in enumerate(numbers)]
        w, b = collapse_linear(*given)
        expect(w.data, [[8], [-7]], "w", dtype="float32")
        expect(b.data, [2], "b", dtype="float32")
        for result, out, needed in (("w", w, reached[0]), ("b", b, reached[1])):
            assert out.requires_grad or not needed, (
                f"{result} is computed from {name}, which has requires_grad=True, but {result} "
                "does not have it: compute with tensors, not with .data"
            )
        for part, after in zip(numbers, given):
            expect(after.data, part, "an input, after collapse_linear,")


# %% collapse-linear hidden points=1
def test_collapse_linear_of_other_sizes():
    random = np.random.default_rng(21)
    for inputs, hidden, outputs, dtype in [
        (7, 3, 2, "float64"),
        (1, 1, 1, "float64"),
        (2, 9, 5, "float32"),
        (5, 1, 4, "float64"),
    ]:
        numbers = [
            (random.normal(size=shape) * 20).astype(dtype)
            for shape in ((inputs, hidden), hidden, (hidden, outputs), outputs)
        ]
        w1, b1, w2, b2 = numbers
        mine = [Tensor(part) for part in numbers]
        w, b = collapse_linear(w1=mine[0], b1=mine[1], w2=mine[2], b2=mine[3])
        case = f"for {inputs} inputs, {hidden} hidden, {outputs} outputs in {dtype}"
        near = (1e-4, 1e-2) if dtype == "float32" else (1e-9, 1e-7)
        expect(w.data, w1 @ w2, f"{case}: w", near=near, dtype=dtype)
        expect(b.data, b1 @ w2 + b2, f"{case}: b", near=near, dtype=dtype)
        for before, after in zip(numbers, mine):
            expect(after.data, before, f"{case}: an input, after collapse_linear,")
    numbers = [
        np.array([[2.0, -1.0]]),
        np.array([0.5, 4.0]),
        np.array([[3.0], [-2.0]]),
        np.array([10.0]),
    ]
    for number, direction, w, b in [
        (0, [[5.0, 1.0]], [[13]], [0]),
        (1, [1.0, -1.0], [[0]], [5]),
        (2, [[1.0], [2.0]], [[0]], [8.5]),
        (3, [-3.0], [[0]], [-3]),
    ]:
        mine = [Tensor(part, requires_grad=n == number) for n, part in enumerate(numbers)]
        w_out, b_out = collapse_linear(*mine)
        for name, out, wanted in (("w", w_out, w), ("b", b_out, b)):
            change = recorded_derivative(out, mine[number], np.array(direction))
            moved = ("w1", "b1", "w2", "b2")[number]
            case = f"when {moved} changes by {direction}, the change of {name}, computed from "
            case += "your recorded operations,"
            expect(change, wanted, case, near=(1e-6, 1e-6))


# %% relu points=5
def test_relu_keeps_the_positive_and_zeroes_the_rest():
    for numbers in (
        [-2.0, 0.0, 3.0],
        [[-0.25, 7.0, -1e-6], [1e-6, -30.0, 0.5]],
        [[[4.5]], [[-4.5]]],
        -1.5,
        2.5,
    ):
        given = np.array(numbers)
        wanted = [n if n > 0 else 0.0 for n in np.ravel(numbers)]
        out = tensor(relu(Tensor(given)), "relu(x)")
        assert out.shape == given.shape, (
            f"the shape of relu of shape {given.shape} should be {given.shape}, yours is "
            f"{out.shape}: relu is elementwise"
        )
        expect(np.ravel(out.data), wanted, f"relu of {numbers}")


def test_relu_of_infinities_is_not_nan():
    found = relu(Tensor([-math.inf, -1e30, 1e30, math.inf])).data
    wanted = np.array([0, 0, 1e30, math.inf], "float32")
    cause = "inf * 0 and inf - inf are nan" if np.isnan(found).any() else ""
    expect(found, wanted, "relu of [-inf, -1e30, 1e30, inf]", cause)
    lost = relu(Tensor([math.nan, 1.0])).data
    assert np.isnan(lost[0]), (
        f"relu of nan should be nan, yours is {lost[0]}: a mistake should stay visible. Every "
        "comparison with nan is False, and `where` then chooses its last argument, 0"
    )


def test_relu_keeps_the_dtype_and_leaves_its_input_alone():
    for dtype in ("float32", "float64", "int64"):
        mine = Tensor(np.array([[-3, 2, -1]], dtype))
        expect(relu(mine).data, [[0, 2, 0]], f"relu of {dtype} [[-3, 2, -1]]", dtype=dtype)
        cause = "make a new tensor, do not write into x"
        expect(mine.data, [[-3, 2, -1]], "the input, after relu,", cause)


def test_the_derivative_of_relu_at_0_is_0():
    x = Tensor(np.array([-2.0, 0.0, -0.0, 3.0]), requires_grad=True)
    found = recorded_derivative(tensor(relu(x), "relu(x)"), x)
    assert not np.array_equal(found, [0, 0.5, 0.5, 1]), (
        "the derivative of relu at 0, computed from your recorded operations, should be 0, "
        "yours is 1/2: maximum gives each of two equal numbers half. Use where"
    )
    assert np.array_equal(found, [0, 0, 0, 1]), (
        "the derivative of relu at -2, 0, -0, 3, computed from your recorded operations, "
        f"should be 0, 0, 0, 1, yours is {found}: at 0, `where` should choose the constant, "
        "not x"
    )


def test_relu_is_recorded():
    is_recorded("relu", relu, np.array([-2.0, 3.0, 0.5]), lambda x: np.maximum(x, 0))


# %% relu hidden points=1
def test_relu_of_other_numbers():
    random = np.random.default_rng(22)
    for shape, dtype in [
        ((2, 3, 4), "float64"),
        ((5, 1), "float32"),
        ((0, 3), "float32"),
        ((), "float64"),
        ((7,), "float16"),
        ((4, 2), "int32"),
        ((1, 1, 6), "int8"),
    ]:
        given = np.array(random.normal(size=shape) * 40, dtype)
        after = elementwise("relu", relu, given, lambda v: v if v > 0 else 0, 0)
        expect(after, given, "the input, after relu,")
    given = np.array([[math.inf, -1e-300, math.nan], [1e-300, -math.inf, -1e300]])
    wanted = [[math.inf, 0, math.nan], [1e-300, 0, 0]]
    expect(relu(Tensor(given)).data, wanted, f"relu of {given.tolist()}")
    is_recorded("relu", relu, np.array([[-2.0], [3.0], [-0.5]]), lambda x: np.maximum(x, 0))


# %% xor points=2
def test_two_hidden_units_compute_xor():
    w1, b1, w2, b2 = xor_weights()
    shapes = [w1.shape, b1.shape, w2.shape, b2.shape]
    assert shapes == [(2, 2), (2,), (2, 1), (1,)], (
        f"the shapes should be (2, 2), (2,), (2, 1), (1,), yours are {shapes}"
    )
    w1, b1, w2, b2 = [np.asarray(t, "float64") for t in (w1, b1, w2, b2)]
    for corner, wanted in [((0, 0), 0), ((0, 1), 1), ((1, 0), 1), ((1, 1), 0)]:
        sums = corner @ w1 + b1
        hidden = np.where(sums > 0, sums, 0)
        found = (hidden @ w2 + b2)[0]
        assert abs(found - wanted) < 1e-5, (
            f"XOR of {corner} should be {wanted}, yours is {found:g}: after relu, the hidden "
            f"units are {hidden}"
        )


# %% sigmoid points=8
def test_sigmoid_is_between_0_and_1():
    for dtype, tolerance in (("float64", 1e-14), ("float32", 1e-6)):
        given = np.array([[-3.0, 0.0, 0.5], [2.0, -0.125, 7.0]], dtype)
        cause = "is there a parenthesis around the denominator? Python divides before it adds"
        truth = lambda v: 1 / (1 + math.exp(-v))
        elementwise("sigmoid", sigmoid, given, truth, (tolerance, 0), cause)
    out, wanted = sigmoid(Tensor([[-1, 2, 0]])), [[0.26894142, 0.88079708, 0.5]]
    expect(out.data, wanted, "sigmoid of [[-1, 2, 0]]", INTEGERS, (1e-6, 0), "float32")


def test_no_operation_of_sigmoid_overflows():
    for dtype in ("float32", "float64"):
        x = Tensor(np.array([-1000.0, 1000.0, -750.0, 750.0], dtype), requires_grad=True)
        out = sigmoid(x)
        expect(out.data, [0, 1, 0, 1], "sigmoid of [-1000, 1000, -750, 750]")
        every_operation_is_finite(
            out,
            "sigmoid([-1000, 1000, -750, 750])",
            "exp overflowed, and derivatives will be nan. Give exp only numbers that are not "
            "above 0.",
        )


def test_small_results_of_sigmoid_keep_their_digits():
    for dtype, tolerance in (("float32", 1e-5), ("float64", 1e-13)):
        found = sigmoid(Tensor(np.array([-20.0, -50.0, -80.0], dtype))).data
        wanted = [math.exp(v) / (1 + math.exp(v)) for v in (-20.0, -50.0, -80.0)]
        cause = "your code adds a tiny number to a large one, or subtracts it, and its digits "
        cause += "are lost"
        expect(found, wanted, f"sigmoid of {dtype} -20, -50, -80", cause, (tolerance, 0))


def test_sigmoid_is_recorded_and_leaves_its_input_alone():
    given = np.array([-2.0, 0.5, 3.0])
    after = is_recorded("sigmoid", sigmoid, given, lambda x: 1 / (1 + np.exp(-x)))
    expect(after, given, "the input, after sigmoid,")
    for places in ([0.0, 0.0], [-3.0, 2.0]):
        at = Tensor(np.array(places), requires_grad=True)
        found, p = recorded_derivative(sigmoid(at), at), 1 / (1 + np.exp(-np.array(places)))
        cause = "the formula changes at 0, as abs(x) does: do not choose by the sign of x"
        case = f"the derivative of sigmoid at {places}, computed from your recorded operations,"
        expect(found, p * (1 - p), case, cause * (0.0 in places), (1e-4, 0))


# %% sigmoid hidden points=1
def test_sigmoid_of_other_numbers():
    grid = np.linspace(-36, 36, 145).reshape(5, 1, 29)
    large = np.array([[1000.0, -1000.0], [0.25, -300.0]])
    for dtype, tolerance in (("float64", 1e-13), ("float32", 1e-5)):
        for given in (grid, grid[0, 0, 3], grid[:0], large):
            numbers = np.array(given, dtype)
            truth = lambda v: numbers.dtype.type(
                math.exp(v) / (1 + math.exp(v)) if v < 700 else 1.0
            )
            after = elementwise("sigmoid", sigmoid, numbers, truth, (tolerance, 0))
            expect(after, numbers, "the input, after sigmoid,")
    out, wanted = sigmoid(Tensor([[1000], [-3], [-1000]])), [[1], [0.04742587], [0]]
    expect(
        out.data, wanted, "sigmoid of [[1000], [-3], [-1000]]", INTEGERS, (1e-5, 0), "float32"
    )
    given = np.array([[-1.0, 0.25], [4.0, -30.0]])
    is_recorded("sigmoid", sigmoid, given, lambda x: 1 / (1 + np.exp(-x)))


# %% tanh points=6
def test_tanh_is_between_minus_1_and_1():
    for dtype, tolerance in (("float64", 1e-14), ("float32", 5e-7)):
        given = np.array([[-3.0, 0.0, 0.5], [2.0, -0.125, 1.5]], dtype)
        s, s2 = 1 / (1 + np.exp(-given)), 1 / (1 + np.exp(-2 * given))
        causes = {
            "the input of sigmoid should be 2 * x": 2 * s - 1,
            "sigmoid(2 * x) lies between 0 and 1: double it and subtract 1": s2,
            "subtract 1 from 2 * sigmoid(2 * x)": 2 * s2,
            "double the output of sigmoid, too": s2 - 1,
        }
        elementwise("tanh", tanh, given, math.tanh, (0, tolerance), causes)
    out, wanted = tanh(Tensor([[-1, 2, 0]])), [[-0.7615942, 0.9640276, 0]]
    expect(out.data, wanted, "tanh of [[-1, 2, 0]]", INTEGERS, (0, 5e-7), "float32")


def test_no_operation_of_tanh_overflows():
    for dtype in ("float32", "float64"):
        x = Tensor(np.array([-1000.0, 1000.0, 400.0, -400.0], dtype), requires_grad=True)
        out = tanh(x)
        nans = np.isnan(out.data).any()
        cause = "exp(2 * 400) is too large" if nans else "is the formula right?"
        expect(out.data, [-1, 1, 1, -1], "tanh of [-1000, 1000, 400, -400]", cause)
        every_operation_is_finite(
            out,
            "tanh([-1000, 1000, 400, -400])",
            "exp overflowed, and derivatives will be nan",
        )


def test_tanh_is_recorded_and_leaves_its_input_alone():
    given = np.array([-2.0, 0.0, 0.5, 3.0])
    after = is_recorded("tanh", tanh, given, np.tanh)
    expect(after, given, "the input, after tanh,")


# %% tanh hidden points=1
def test_tanh_of_other_numbers():
    grid = np.linspace(-20, 20, 81).reshape(3, 27, 1)
    large = np.array([[1000.0, -0.75], [-1000.0, 0.75]])
    for dtype, tolerance in (("float64", 1e-14), ("float32", 5e-7)):
        for given in (grid, grid[0, 0, 0], grid[:0], large):
            numbers = np.array(given, dtype)
            after = elementwise("tanh", tanh, numbers, math.tanh, (0, tolerance))
            expect(after, numbers, "the input, after tanh,")
    out, wanted = tanh(Tensor([[1000], [1], [-1000]])), [[1], [0.7615942], [-1]]
    expect(out.data, wanted, "tanh of [[1000], [1], [-1000]]", INTEGERS, (0, 5e-7), "float32")
    is_recorded("tanh", tanh, np.array([[-1.0, 0.0], [4.0, -30.0]]), np.tanh)


# %% gelu points=6
def test_gelu_is_the_tanh_approximation():
    found = gelu(Tensor(np.array([1.0, -1.0, 2.5]))).data
    wanted = [
        0.8411919906082768,
        -0.1588080093917232,
        2.484915733910001,
    ]  # from the formula, with 40 digits
    others = {
        "0.841345: that is the exact form, with erf": 0.8413447,
        "0.845796: that is x * sigmoid(1.702 x)": 0.8457958,
    }
    for name, value in others.items():
        assert abs(found[0] - value) > 1e-6, f"gelu(1) should be 0.841192, yours is {name}"
    assert np.allclose(found, wanted, rtol=1e-12, atol=0), (
        f"gelu of [1, -1, 2.5] should be {wanted}, yours is {found}: compare constants and "
        "parentheses with the formula"
    )


def test_gelu_is_elementwise_in_every_dtype():
    for dtype, tolerance in (("float64", 1e-12), ("float32", 1e-6)):
        given = np.array([[-3.0, 0.0, 0.5], [2.0, -0.125, 7.0]], dtype)
        elementwise("gelu", gelu, given, gelu_by_formula, (0, tolerance))
    out, wanted = gelu(Tensor([[-1, 2, 0]])), [[-0.158808, 1.954598, 0]]
    expect(out.data, wanted, "gelu of [[-1, 2, 0]]", INTEGERS, (0, 1e-6), "float32")
    far = gelu(Tensor([-1000.0, 1000.0, -50.0])).data
    expect(far, [0, 1000, 0], "gelu of [-1000, 1000, -50]")


def test_gelu_is_recorded_and_leaves_its_input_alone():
    given = np.array([-2.0, 0.5, 1.25])
    after = is_recorded("gelu", gelu, given, np.vectorize(gelu_by_formula))
    expect(after, given, "the input, after gelu,")


# %% gelu hidden points=1
def test_gelu_of_other_numbers():
    grid = np.linspace(-6, 6, 73)[:72].reshape(4, 3, 6)
    large = np.array([[300.0], [-40.0], [0.75], [-0.75]])
    for dtype, tolerance in (("float64", 1e-12), ("float32", 2e-6)):
        for given in (grid, grid[1, 1, 1], grid[:, :0], large):
            numbers = np.array(given, dtype)
            after = elementwise("gelu", gelu, numbers, gelu_by_formula, (0, tolerance))
            expect(after, numbers, "the input, after gelu,")
    out, wanted = gelu(Tensor([[-2], [1], [30]])), [[-0.04540231], [0.841192], [30]]
    expect(out.data, wanted, "gelu of [[-2], [1], [30]]", INTEGERS, (0, 2e-6), "float32")
    given = np.array([[-1.0, 0.25], [4.0, -3.0]])
    is_recorded("gelu", gelu, given, np.vectorize(gelu_by_formula))


# %% softmax points=10
def test_softmax_gives_probabilities_along_any_axis():
    given = np.random.default_rng(5).normal(size=(2, 3, 4)) * 3
    for axis in (-1, 0, 1, 2, -2, (0, 2)):
        out = result_of(
            lambda: tensor(softmax(Tensor(given), axis), "softmax(x, axis)"),
            f"softmax of shape (2, 3, 4) along axis {axis}",
            "Do max and sum keep the reduced axes? Give both keepdims=True.",
            ValueError,
        )
        equal(out.shape, (2, 3, 4), "the shape of softmax of shape (2, 3, 4)")
        sums = out.data.sum(axis=axis)
        assert np.allclose(sums, 1, rtol=1e-12), (
            f"along axis {axis} probabilities should sum to 1, yours sum to {sums.ravel()[:4]}"
        )
        case = f"softmax along axis {axis}"
        expect(out.data, softmax_of(given, axis), case, near=(1e-12, 0))
    found = softmax(Tensor(given)).data.sum(axis=-1)
    assert np.allclose(found, 1, rtol=1e-12), (
        "by default softmax works along the last axis, so the sums there should be 1; yours "
        f"are {found}"
    )


def test_softmax_of_logits_computed_by_hand():
    cases = [
        ([0.0, math.log(3.0)], [0.25, 0.75]),
        ([[7.0]], [[1.0]]),
        ([[2.0], [5.0]], [[1.0], [1.0]]),
        ([1, 1, 1, 1], [0.25] * 4),
        ([0.0, -math.inf, 0.0], [0.5, 0.0, 0.5]),
        ([-math.inf, -math.inf], [math.nan, math.nan]),
    ]
    computed_by_hand("softmax", softmax, cases)


def test_softmax_of_huge_logits_is_finite():
    for logits, wanted in [
        ([1000.0, 1000.0], [0.5, 0.5]),
        ([-1000.0, -1000.0], [0.5, 0.5]),
        ([-1000.0, 0.0, 1000.0], [0.0, 0.0, 1.0]),
        ([-10000.0, -10001.0], [0.7310586, 0.2689414]),
    ]:
        found = softmax(Tensor(logits)).data
        cause = "every exponential is 0 or inf. Subtract the largest logit first, also if it "
        cause = cause + "is negative." if np.isnan(found).any() else ""
        expect(found, wanted, f"softmax of {logits}", cause, near=(1e-6, 0))


def test_each_slice_of_softmax_has_its_own_largest_logit():
    x = Tensor([[0.0, 0.0, -1.0], [1000.0, 1000.0, 999.0], [-1000.0, -1000.0, -1001.0]])
    row = np.array([0.4223188, 0.4223188, 0.1553624])  # 1, 1 and 1/e, over their sum
    case = "softmax of the rows [0, 0, -1], [1000, 1000, 999] and [-1000, -1000, -1001]"
    cause = "subtract the largest logit of each row, not of the whole batch"
    expect(softmax(x).data, [row] * 3, case, cause, near=(1e-6, 0))
    wanted, case = np.array([row] * 3).T, "softmax of the same logits as columns, with axis=0,"
    expect(softmax(x.T, axis=0).data, wanted, case, near=(1e-6, 0))


def test_softmax_is_recorded_and_leaves_its_input_alone():
    given = np.array([[-2.0, 0.5, 3.0], [1.0, 4.0, 2.0]])
    f, truth = lambda x: softmax(x, axis=0), lambda x: softmax_of(x, 0)
    after = is_recorded("softmax", f, given, truth, "some operation used .data")
    expect(after, given, "the input, after softmax,")


# %% softmax hidden points=1
def test_softmax_of_other_logits():
    other_logits("softmax", softmax, softmax_of, (1e-9, 0))
    inf = math.inf
    rows = [
        [-inf, -inf, -inf],
        [-inf, 3.0, -inf],
        [1000.0, -inf, 1000.0],
        [-1000.0, -999.0, -inf],
    ]
    found, nan = softmax(Tensor(rows)).data, math.nan
    wanted = [[nan] * 3, [0, 1, 0], [0.5, 0, 0.5], [0.26894142, 0.7310586, 0]]
    expect(found, wanted, f"softmax of {rows}", near=(1e-5, 0))
    found = softmax(Tensor([[0, 3], [1000, -1000]]), 0)
    case = "softmax of integers [[0, 3], [1000, -1000]] along 0"
    expect(found.data, [[0, 1], [1, 0]], case, dtype="float32")


# %% log-softmax points=8
def test_log_softmax_is_the_logarithm_of_softmax_along_any_axis():
    given = np.random.default_rng(6).normal(size=(2, 3, 4)) * 3
    for axis in (-1, 0, 1, 2, -2, (0, 2)):
        out = result_of(
            lambda: tensor(log_softmax(Tensor(given), axis), "log_softmax(x, axis)"),
            f"log_softmax of shape (2, 3, 4) along axis {axis}",
            "Do max and sum keep the reduced axes? Give both keepdims=True.",
            ValueError,
        )
        wanted, case = log_softmax_of(given, axis), f"log_softmax along axis {axis}"
        expect(out.data, wanted, case, near=(1e-11, 1e-14))
    found = np.exp(log_softmax(Tensor(given)).data).sum(axis=-1)
    assert np.allclose(found, 1, rtol=1e-12), (
        "by default log_softmax works along the last axis, so exp of the results should sum to "
        f"1 there; yours sums to {found}"
    )


def test_log_softmax_of_logits_computed_by_hand():
    cases = [
        ([0.0, math.log(3.0)], [math.log(0.25), math.log(0.75)]),
        ([[7.0]], [[0.0]]),
        ([1, 1, 1, 1], [-math.log(4)] * 4),
        ([0.0, -math.inf, 0.0], [-math.log(2), -math.inf, -math.log(2)]),
    ]
    computed_by_hand("log_softmax", log_softmax, cases)


def test_log_softmax_keeps_the_digits_of_tiny_probabilities():
    third = -math.log(3)
    logits = [
        [0.0, -1000.0, -2000.0],
        [1000.0, 1000.0, 1000.0],
        [-1000.0, -1000.0, -1000.0],
        [-90.0, 60.0, -110.0],
    ]
    wanted = [[0, -1000, -2000], [third] * 3, [third] * 3, [-150, 0, -170]]
    for axis, given, right in (
        (1, logits, np.array(wanted)),
        (0, np.transpose(logits), np.transpose(wanted)),
    ):
        found = log_softmax(Tensor(np.array(given, "float32")), axis).data
        cause = "a probability was rounded to 0 before its logarithm, or exp overflowed. "
        cause += (
            "Subtract the largest logit of each row, and take the logarithm of the sum only."
        )
        cause = "" if np.isfinite(found).all() else cause
        expect(found, right, f"log_softmax along axis {axis}", cause, near=(1e-6, 1e-4))
    found = log_softmax(Tensor(np.array([10000.0, 10001.0, 10002.0], "float32"))).data
    wanted = np.array([-2.4076059, -1.4076059, -0.4076059])
    cause = "digits are lost when the largest logit is added to the logarithm. Subtract the "
    cause += "logarithm from the shifted logits"
    cause *= np.allclose(found, wanted, rtol=0, atol=2e-3)
    case = "log_softmax of float32 10000, 10001, 10002"
    expect(found, wanted, case, cause, near=(1e-5, 0))


def test_log_softmax_is_recorded_and_leaves_its_input_alone():
    given = np.array([[-2.0, 0.5, 3.0], [1.0, 4.0, 2.0]])
    f, truth = lambda x: log_softmax(x, axis=0), lambda x: log_softmax_of(x, 0)
    after = is_recorded("log_softmax", f, given, truth, "some operation used .data")
    expect(after, given, "the input, after log_softmax,")


# %% log-softmax hidden points=1
def test_log_softmax_of_other_logits():
    other_logits("log_softmax", log_softmax, log_softmax_of, (1e-9, 1e-11))
    inf = math.inf
    rows = [[-inf, 3.0, -inf], [1000.0, -inf, 1000.0], [-5000.0, -4000.0, -inf]]
    wanted = [[-inf, 0, -inf], [-math.log(2), -inf, -math.log(2)], [-1000, 0, -inf]]
    found = log_softmax(Tensor(rows)).data
    expect(found, wanted, f"log_softmax of {rows}", near=(1e-6, 1e-4))
    found = log_softmax(Tensor([[0, 300], [200, -100]]), 0).data
    case = "log_softmax of integers [[0, 300], [200, -100]] along 0"
    expect(found, [[-200, 0], [0, -400]], case, near=1e-6, dtype="float32")


# %% modules points=3
def test_modules_compute_what_their_functions_do():
    given = np.array([[-2.0, 0.5, 3.0], [1.0, 4.0, -0.25]])
    columns, rows, x = softmax_of(given, 0), softmax_of(given, 1), Tensor(given)
    cause = "does it use its own function and its own axis?"
    for name, make, wanted in [
        ("ReLU()", lambda: ReLU(), np.where(given > 0, given, 0)),
        ("Softmax()", lambda: Softmax(), rows),
        ("Softmax(0)", lambda: Softmax(0), columns),
        ("Softmax(axis=1)", lambda: Softmax(axis=1), rows),
        ("Softmax(-2)", lambda: Softmax(-2), columns),
    ]:
        for call, out in [(f"{name}(x)", make()(x)), (f"{name}.forward(x)", make().forward(x))]:
            expect(tensor(out, call).data, wanted, call, cause, near=(1e-5, 1e-8))
    kink = Tensor(np.array([-1.0, 0.0, 2.0]), requires_grad=True)
    found = recorded_derivative(ReLU()(kink), kink)
    assert np.array_equal(found, [0, 0, 1]), (
        "the derivative of ReLU() at -1, 0, 2, computed from your recorded operations, should "
        f"be 0, 0, 1, yours is {found}: use relu(x) or x.relu()"
    )
    assert Softmax()(kink).requires_grad, (
        "x has requires_grad=True, but Softmax()(x) does not: use x, not x.data"
    )


def test_two_modules_keep_their_own_axis():
    x = Tensor(np.array([[0.0, 1.0], [3.0, 0.0]]))
    columns, rows = Softmax(axis=0), Softmax(axis=1)
    for name, module, axis in [("Softmax(axis=0)", columns, 0), ("Softmax(axis=1)", rows, 1)]:
        assert module.axis == axis, (
            f"{name}.axis should be {axis}, yours is {module.axis}: each module has its own "
            "axis, so store it in self"
        )
        sums = module(x).data.sum(axis=axis)
        assert np.allclose(sums, 1), (
            f"the results of {name} should sum to 1 along axis {axis}, yours sum to {sums}"
        )


def test_modules_print_their_settings_and_have_no_parameters():
    for name, module in [
        ("ReLU()", ReLU()),
        ("Softmax(axis=-1)", Softmax()),
        ("Softmax(axis=2)", Softmax(2)),
    ]:
        cause = "store nothing in self but the setting `axis`"
        equal(repr(module), name, f"the text of {name}", cause)
        equal(list(module.parameters()), [], f"{name}.parameters()")


# %% modules hidden points=1
def test_modules_are_recorded_and_keep_other_axes():
    given = np.random.default_rng(27).normal(size=(2, 3, 4))
    x = Tensor(given, requires_grad=True)
    for module, wanted in [
        (ReLU(), np.where(given > 0, given, 0)),
        (Softmax(1), softmax_of(given, 1)),
        (Softmax((0, 2)), softmax_of(given, (0, 2))),
    ]:
        out = module(x)
        assert out.requires_grad, (
            f"{module!r}(x) should be recorded, yours is not: use x, not x.data"
        )
        case = f"{module!r} of an array of shape (2, 3, 4)"
        expect(out.data, wanted, case, near=(1e-5, 1e-8))
