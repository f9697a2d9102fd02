# The checks of lesson 02, by exercise. `check("relu")` in the chapter runs the visible ones.

# %% setup
import math

import numpy as np

from tinytorch.core.tensor import Tensor


def tensor(out, call):
    """`out`, which should be a Tensor, as `call` promises."""
    assert out is not None, f"{call} returned None: is `return` missing?"
    assert hasattr(out, "requires_grad"), (
        f"{call} should return a Tensor, yours returned {type(out).__name__}: {out}"
    )
    return out


# %% learner-side
def replayed(out, x, numbers):
    """`out` computed again from its recorded operations, with the array `numbers` in place of
    the Tensor `x`."""
    if out is x:
        return numbers
    if not isinstance(out, Tensor):
        return out
    if out.creator is None:
        return out.data
    node = out.creator
    return node.op(*[replayed(part, x, numbers) for part in node.inputs], **node.options)


def recorded_derivative(out, x):
    """The derivative of `out`, an elementwise function of the Tensor `x`, by the chain rule
    over its recorded operations; at kinks with the conventions of this library and PyTorch.
    """
    if out is x:
        return np.ones(x.shape)
    if not isinstance(out, Tensor) or out.creator is None:
        return np.zeros(np.shape(out))
    node = out.creator
    arrays = [np.asarray(part, "float64") for part in node.inputs]
    parts = [recorded_derivative(part, x) for part in node.inputs]
    name, a = getattr(node.op, "__name__", ""), arrays[0]
    if name in ("maximum", "minimum"):
        share = np.where(a == arrays[1], 0.5, (a > arrays[1]) == (name == "maximum"))
        return share * parts[0] + (1 - share) * parts[1]
    if name == "absolute":
        return np.sign(a) * parts[0]
    if name == "relu_forward":
        return (a > 0) * parts[0]
    if name == "clip_forward":
        return (out.data == a) * parts[0]
    if name == "where":
        return np.where(a != 0, parts[1], parts[2])
    h = 1e-5  # every other operation is smooth
    up, down = [
        node.op(*[a + h * sign * part for a, part in zip(arrays, parts)], **node.options)
        for sign in (1, -1)
    ]
    return (up - down) / (2 * h)


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
        try:
            w, b = collapse_linear(Tensor(w1), Tensor(b1), Tensor(w2), Tensor(b2))
        except ValueError as error:
            assert False, (
                f"{sizes}: {error}. x meets w1 first, and b1 still has to go through w2."
            )
        assert w.shape == (inputs, outputs) and b.shape == (outputs,), (
            f"{sizes}: w has shape {(inputs, outputs)} and b {(outputs,)}, yours {w.shape} and "
            f"{b.shape}"
        )
        assert np.allclose(w.data, w1 @ w2, rtol=1e-9), (
            f"{sizes}: w should be\n{w1 @ w2}, yours is\n{w.data}"
        )
        two = (x @ w1 + b1) @ w2 + b2
        assert np.allclose(x @ w.data + b.data, two, rtol=1e-9), (
            f"{sizes}: w is right, b is not. It should be {b1 @ w2 + b2}, yours is {b.data}: "
            "both biases count, and b1 goes through the second layer."
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
        given = [
            Tensor(part, requires_grad=number == wanting) for number, part in enumerate(numbers)
        ]
        w, b = collapse_linear(*given)
        assert np.array_equal(w.data, [[8], [-7]]) and np.array_equal(b.data, [2]), (
            f"w should be [[8], [-7]] and b [2], yours {w.data} and {b.data}"
        )
        assert w.dtype.name == "float32" and b.dtype.name == "float32", (
            f"float32 went in, {w.dtype} and {b.dtype} came out"
        )
        for result, out, needed in (("w", w, reached[0]), ("b", b, reached[1])):
            assert out.requires_grad or not needed, (
                f"{result} is computed from {name}, which has requires_grad=True, and has not "
                "requires_grad=True itself: compute with tensors, not with .data"
            )
        for part, after in zip(numbers, given):
            assert np.array_equal(after.data, part), (
                f"{part} went in and was changed to {after.data}"
            )


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
        given = f"{inputs} inputs, {hidden} hidden, {outputs} outputs in {dtype}"
        tolerance = 1e-4 if dtype == "float32" else 1e-9
        for name, out, wanted in [("w", w, w1 @ w2), ("b", b, b1 @ w2 + b2)]:
            assert out.shape == wanted.shape and out.dtype.name == dtype, (
                f"{given}: {name} should be {dtype} of shape {wanted.shape}, got {out.dtype} of"
                f" {out.shape}"
            )
            assert np.allclose(out.data, wanted, rtol=tolerance, atol=tolerance * 100), (
                f"{given}: {name} should be {wanted}, got {out.data}"
            )
        for name, before, after in zip(("w1", "b1", "w2", "b2"), numbers, mine):
            assert np.array_equal(after.data, before), f"{given}: {name} was changed"
    numbers = [
        np.array([[2.0, -1.0]]),
        np.array([0.5, 4.0]),
        np.array([[3.0], [-2.0]]),
        np.array([10.0]),
    ]
    for number, other, wanted in [
        (0, [[5.0, 1.0]], [[13], [3.5]]),
        (1, [1.0, -1.0], [[8], [15]]),
        (2, [[1.0], [2.0]], [[0], [18.5]]),
        (3, [-3.0], [[8], [-9.5]]),
    ]:
        mine = [Tensor(part, requires_grad=n == number) for n, part in enumerate(numbers)]
        found = [replayed(out, mine[number], np.array(other)) for out in collapse_linear(*mine)]
        assert np.array_equal(np.ravel(found[0]), wanted[0]) and np.array_equal(
            found[1], wanted[1]
        ), (
            f"recorded operations with {other} as input {number} should give {wanted}, got "
            f"{found}"
        )


# %% relu points=5
def test_relu_keeps_the_positive_and_zeroes_the_rest():
    for numbers in (
        [-2.0, 0.0, 3.0],
        [[-0.25, 7.0, -1e-6], [1e-6, -30.0, 0.5]],
        [[[4.5]], [[-4.5]]],
        -1.5,
        2.5,
    ):
        given, wanted = (
            np.array(numbers),
            np.array([n if n > 0 else 0.0 for n in np.ravel(numbers)]),
        )
        out = tensor(relu(Tensor(given)), "relu(x)")
        assert out.shape == given.shape, (
            f"relu is elementwise: the shape {given.shape} stays, yours is {out.shape}"
        )
        assert np.array_equal(np.ravel(out.data), wanted), (
            f"relu of {numbers} should be {wanted}, yours is {out.data}"
        )


def test_relu_of_infinities_is_not_nan():
    found = relu(Tensor([-math.inf, -1e30, 1e30, math.inf])).data
    wanted = np.array([0, 0, 1e30, math.inf], "float32")
    assert np.array_equal(found, wanted), (
        f"relu of [-inf, -1e30, 1e30, inf] should be {wanted}, yours is {found}: inf * 0 and "
        "inf - inf are nan"
    )
    lost = relu(Tensor([math.nan, 1.0])).data
    assert np.isnan(lost[0]), (
        f"relu of nan should stay nan, yours hides it as {lost[0]}: a mistake should stay "
        "visible"
    )


def test_relu_keeps_the_dtype_and_leaves_its_input_alone():
    for dtype in ("float32", "float64", "int64"):
        mine = Tensor(np.array([[-3, 2, -1]], dtype))
        out = relu(mine)
        assert out.dtype.name == dtype, (
            f"relu of {dtype} should be {dtype}, yours is {out.dtype}"
        )
        assert np.array_equal(out.data, [[0, 2, 0]]), (
            f"relu of [-3, 2, -1] should be [0, 2, 0], yours is {out}"
        )
        assert np.array_equal(mine.data, [[-3, 2, -1]]), (
            f"relu changed its input [-3, 2, -1] to {mine.data}: make a new tensor, do not "
            "write into x"
        )


def test_the_derivative_of_relu_at_0_is_0():
    x = Tensor(np.array([-2.0, 0.0, -0.0, 3.0]), requires_grad=True)
    found = recorded_derivative(tensor(relu(x), "relu(x)"), x)
    assert not np.array_equal(found, [0, 0.5, 0.5, 1]), (
        "the operations that you recorded have the derivative 1/2 at 0, where it should be 0, "
        "as in PyTorch: maximum shares it between equal numbers. Use where"
    )
    assert np.array_equal(found, [0, 0, 0, 1]), (
        f"the derivative at -2, 0, -0, 3 should be 0, 0, 0, 1, that of the operations that you "
        f"recorded is {found}: at 0 the constant should be chosen, not x"
    )


def test_relu_is_recorded():
    x = Tensor([-2.0, 3.0, 0.5], requires_grad=True)
    out = relu(x)
    assert out.requires_grad, (
        "x has requires_grad=True, relu(x) has not: compute with x, not with x.data"
    )
    again = replayed(out, x, np.array([-4.0, 5.0, 0.25], "float32"))
    assert np.array_equal(again, [0, 5, 0.25]), (
        f"for [-4, 5, 0.25] your recorded operations give {again}, not [0, 5, 0.25]: some "
        f"operation used "
        "x.data"
    )


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
        wanted = np.where(given > 0, given, np.zeros((), dtype))
        mine = Tensor(given)
        out = relu(mine)
        assert out.shape == shape and out.dtype.name == dtype, (
            f"relu of {dtype} of shape {shape} should keep both, got {out.dtype} of {out.shape}"
        )
        assert np.array_equal(out.data, wanted), (
            f"relu of {given} should be {wanted}, got {out.data}"
        )
        assert np.array_equal(mine.data, given), (
            f"relu changed its input {given} to {mine.data}"
        )
    given = np.array([[math.inf, -1e-300, math.nan], [1e-300, -math.inf, -1e300]])
    found = relu(Tensor(given)).data
    assert np.array_equal(found, [[math.inf, 0, math.nan], [1e-300, 0, 0]], equal_nan=True), (
        f"relu of {given} keeps what is positive, and nan; got {found}"
    )
    x = Tensor([[-2.0], [3.0], [-0.5]], requires_grad=True)
    again = replayed(relu(x), x, np.array([[-7.0], [0.125], [-1e5]], "float32"))
    assert np.array_equal(again, [[0], [0.125], [0]]), (
        f"recorded operations for -7, 0.125, -1e5 give {again}"
    )


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
            f"XOR of {corner} is {wanted}, yours is {found:g}: after relu the hidden units are "
            f"{hidden}"
        )


# %% numerical-derivative points=4
def test_derivatives_of_known_functions():
    x = np.array([[-1.5, 0.25, 2.0], [0.5, -0.75, 3.0]])
    cases = [
        ("x * x * x", lambda t: t * t * t, 3 * x**2),
        ("5 * x - 7", lambda t: 5 * t - 7, 5 + 0 * x),
        ("exp", lambda t: t.exp(), np.exp(x)),
        ("sin", lambda t: t.sin(), np.cos(x)),
    ]
    for name, f, wanted in cases:
        out = tensor(numerical_derivative(f, Tensor(x)), "numerical_derivative(f, x)")
        assert out.shape == (2, 3), (
            f"one derivative for each element: shape (2, 3), yours is {out.shape}"
        )
        assert np.allclose(out.data, wanted, rtol=0, atol=1e-6), (
            f"the derivative of {name} at\n{x} is\n{wanted}, yours is\n{out.data}\n(a central "
            "difference goes h to both sides; divide by the distance of the two inputs)"
        )


def test_derivatives_are_computed_in_float64():
    for given in (
        Tensor([2.0, 0.5]),
        np.array([2.0, 0.5], "float32"),
        [2.0, 0.5],
        Tensor([2.0, 0.5], requires_grad=True),
    ):
        out = numerical_derivative(lambda t: t.sin(), given)
        wrong = abs(np.asarray(out) - np.cos([2.0, 0.5])).max()
        assert wrong < 1e-7, f"the derivative of sin is off by {wrong:.0e}: " + (
            "divide by (2 * h); / 2 * h multiplies by h"
            if wrong > 1e-3
            else "float32 rounds the difference away, compute in float64"
        )
        assert out.dtype.name == "float64", (
            f"the result should be float64, yours is {out.dtype}"
        )
    single = numerical_derivative(lambda t: t * t, 3)
    assert single.shape == () and abs(float(single) - 6) < 1e-7, (
        f"the derivative of x * x at 3 is 6, yours is {single}: make a Tensor of a float64 "
        "array first, then add h"
    )


def test_the_distance_h_can_be_chosen():
    usual = float(numerical_derivative(lambda t: t * t * t, 2.0)) - 12
    assert abs(usual - 1e-8) < 1e-9, (
        "with the default h = 1e-4, the central difference of x * x * x at 2 is 12 + 1e-8, "
        f"yours is 12 + {usual:.0e}"
    )
    for h in (0.5, 0.25):
        found = float(numerical_derivative(lambda t: t * t * t, 2.0, h))
        assert abs(found - (12 + h**2)) < 1e-9, (
            f"with h = {h}, the central difference of x * x * x at 2 is {12 + h**2}, yours is "
            f"{found}"
        )


def test_numerical_derivative_leaves_its_input_alone():
    mine = np.array([2.0, 0.5])
    x = Tensor(mine)
    numerical_derivative(lambda t: t * t, mine)
    numerical_derivative(lambda t: t * t, x)
    assert np.array_equal(mine, [2.0, 0.5]) and np.array_equal(x.data, [2.0, 0.5]), (
        f"numerical_derivative changed its input [2, 0.5] to {mine} or {x.data}"
    )
    assert np.array_equal(numerical_derivative(lambda t: t * t, x).data.round(6), [4, 1]), (
        "the derivative of x * x at [2, 0.5] is [4, 1]"
    )


# %% numerical-derivative hidden points=1
def test_derivatives_of_other_functions():
    x = np.array([[[-2.0, 0.3], [1.7, -0.6]]])
    for name, f, wanted in [
        ("cos", lambda t: t.cos(), -np.sin(x)),
        ("tanh", lambda t: t.tanh(), 1 - np.tanh(x) ** 2),
        ("x**4 - 2x", lambda t: t**4 - 2 * t, 4 * x**3 - 2),
        ("7", lambda t: 0 * t + 7, 0 * x),
        ("1 / x", lambda t: 1 / t, -1 / x**2),
        ("abs", abs, np.sign(x)),
    ]:
        for given in (Tensor(x), x, Tensor(x, requires_grad=True)):
            out = tensor(numerical_derivative(f, given), "numerical_derivative(f, x)")
            assert out.shape == x.shape and out.dtype.name == "float64", (
                f"the derivative of {name} should be float64 of shape {x.shape}, got "
                f"{out.dtype} of "
                f"{out.shape}"
            )
            assert np.allclose(out.data, wanted, rtol=0, atol=1e-5), (
                f"the derivative of {name} at {x} is {wanted}, got {out.data}"
            )
    for h in (2.0, 1e-3):
        found = np.asarray(
            numerical_derivative(x=Tensor([-1, 0, 3]), f=lambda t: t**3 + t * t, h=h)
        )
        wanted = np.array([1, 0, 33]) + h**2
        assert np.allclose(found, wanted, rtol=0, atol=1e-9), (
            f"the derivative of x**3 + x*x at -1, 0, 3 with h = {h} is {wanted}, got {found}"
        )
    found = np.asarray(
        numerical_derivative(lambda t: t * t, np.array([1000.0, -4e3], "float32"))
    )
    assert np.allclose(found, [2000, -8000], rtol=1e-8), (
        f"the derivative of x*x at 1000, -4000 is 2000, -8000, got {found}"
    )
    for shape in [(), (0,), (3, 0), (1, 1, 1)]:
        out = numerical_derivative(lambda t: 3 * t, np.ones(shape))
        assert out.shape == shape and np.allclose(out.data, np.full(shape, 3)), (
            f"the derivative of 3x in shape {shape} is 3, got {out.data}"
        )


# %% sigmoid points=8
def test_sigmoid_is_between_0_and_1():
    for dtype, tolerance in (("float64", 1e-14), ("float32", 1e-6)):
        given = np.array([[-3.0, 0.0, 0.5], [2.0, -0.125, 7.0]], dtype)
        wanted = np.array([[1 / (1 + math.exp(-v)) for v in row] for row in given.tolist()])
        out = tensor(sigmoid(Tensor(given)), "sigmoid(x)")
        assert out.shape == (2, 3), (
            f"sigmoid is elementwise: the shape (2, 3) stays, yours is {out.shape}"
        )
        assert np.allclose(out.data, wanted, rtol=tolerance, atol=0), (
            f"sigmoid of {given.tolist()} should be\n{wanted}, yours is\n{out.data}\n"
            "(sigmoid(0) is 0.5; Python divides before it adds)"
        )
        assert out.dtype.name == dtype, (
            f"sigmoid of {dtype} should stay {dtype}, yours is {out.dtype}"
        )
    whole = sigmoid(Tensor([[-1, 2, 0]]))
    assert np.allclose(whole.data, [[0.26894142, 0.88079708, 0.5]], rtol=1e-6, atol=0), (
        f"sigmoid of integers -1, 2, 0 is 0.2689, 0.8808, 0.5, yours is {whole.data}"
    )
    assert whole.dtype.name == "float32", (
        f"sigmoid of integers is float32, yours is {whole.dtype}"
    )


def test_no_operation_of_sigmoid_overflows():
    for dtype in ("float32", "float64"):
        x = Tensor(np.array([-1000.0, 1000.0, -750.0, 750.0], dtype), requires_grad=True)
        out = sigmoid(x)
        assert np.array_equal(out.data, [0, 1, 0, 1]), (
            f"sigmoid of [-1000, 1000, -750, 750] should be [0, 1, 0, 1], yours is {out.data}"
        )
        nodes = [out]
        for node in nodes:  # grows meanwhile: from each result to its inputs
            assert np.isfinite(np.asarray(node)).all(), (
                "an intermediate result of sigmoid([-1000, 1000, -750, 750]) is "
                f"{np.asarray(node)}: exp overflowed, and derivatives will be nan. Give exp "
                "only numbers that are not above 0."
            )
            nodes += [
                part for part in getattr(node.creator, "inputs", ()) if isinstance(part, Tensor)
            ]


def test_small_results_of_sigmoid_keep_their_digits():
    for dtype, tolerance in (("float32", 1e-5), ("float64", 1e-13)):
        given = np.array([-20.0, -50.0, -80.0], dtype)
        found, wanted = (
            sigmoid(Tensor(given)).data,
            [math.exp(v) / (1 + math.exp(v)) for v in given.tolist()],
        )
        assert np.allclose(found, wanted, rtol=tolerance, atol=0), (
            f"sigmoid of [-20, -50, -80] in {dtype} should be {wanted}, yours is {found}: their"
            " digits were lost when a tiny number was added to a large one, or subtracted"
        )


def test_sigmoid_is_recorded_and_leaves_its_input_alone():
    x = Tensor([-2.0, 0.5, 3.0], requires_grad=True)
    out = sigmoid(x)
    assert out.requires_grad, (
        "x has requires_grad=True, sigmoid(x) has not: compute with x, not with x.data"
    )
    numbers = np.array([-2.5, 0.75, 2.0], "float32")
    again, wanted = replayed(out, x, numbers), np.asarray(sigmoid(Tensor(numbers)))
    assert np.allclose(again, wanted, rtol=1e-6, atol=0), (
        f"for {numbers} your recorded operations give {again}, not {wanted}: some operation "
        "used x.data"
    )
    for places in ([0.0, 0.0], [-3.0, 2.0]):
        at = Tensor(np.array(places), requires_grad=True)
        found, p = recorded_derivative(sigmoid(at), at), 1 / (1 + np.exp(-np.array(places)))
        assert np.allclose(found, p * (1 - p), rtol=1e-4), (
            f"at x = {places} the operations that you recorded have the derivative {found}, "
            f"not {p * (1 - p)}: some operation used x.data, or has a kink at 0 that does not "
            "cancel (do not choose by the sign of x)"
        )
    assert np.array_equal(x.data, [-2.0, 0.5, 3.0]), (
        f"sigmoid changed its input [-2, 0.5, 3] to {x.data}"
    )


# %% sigmoid hidden points=1
def test_sigmoid_of_other_numbers():
    grid = np.linspace(-36, 36, 145).reshape(5, 1, 29)
    for dtype, tolerance in (("float64", 1e-13), ("float32", 1e-5)):
        for given in (
            grid,
            grid[0, 0, 3],
            grid[:0],
            np.array([[1000.0, -1000.0], [0.25, -300.0]]),
        ):
            numbers = np.array(given, dtype)
            mine = Tensor(numbers)
            wanted = [
                math.exp(v) / (1 + math.exp(v)) if v < 700 else 1.0
                for v in numbers.ravel().tolist()
            ]
            wanted = np.array(wanted, dtype)
            out = sigmoid(mine)
            assert out.shape == given.shape and out.dtype.name == dtype, (
                f"sigmoid of {dtype} of shape {given.shape} should keep both, got {out.dtype} "
                f"of {out.shape}"
            )
            assert np.allclose(out.data.ravel(), wanted, rtol=tolerance, atol=0), (
                f"sigmoid of {given} in {dtype} should be {wanted}, got {out.data}"
            )
            assert np.array_equal(mine.data, numbers), f"sigmoid changed its input {given}"
    whole = sigmoid(Tensor([[1000], [-3], [-1000]]))
    assert whole.dtype.name == "float32" and np.allclose(
        whole.data, [[1], [0.04742587], [0]], rtol=1e-5, atol=0
    ), f"sigmoid of integers 1000, -3, -1000 is 1, 0.0474, 0 in float32, got {whole.data}"
    x = Tensor([[-1.0, 0.0], [4.0, -30.0]], requires_grad=True)
    again = replayed(sigmoid(x), x, np.array([[-4.0, 0.0], [1.0, -20.0]], "float32"))
    assert np.allclose(
        again, [[0.01798621, 0.5], [0.7310586, 2.0611537e-9]], rtol=1e-5, atol=0
    ), f"recorded operations for [[-4, 0], [1, -20]] give {again}"


# %% tanh points=6
def test_tanh_is_between_minus_1_and_1():
    for dtype, tolerance in (("float64", 1e-14), ("float32", 5e-7)):
        given = np.array([[-3.0, 0.0, 0.5], [2.0, -0.125, 1.5]], dtype)
        wanted = np.array([[math.tanh(v) for v in row] for row in given.tolist()])
        out = tensor(tanh(Tensor(given)), "tanh(x)")
        assert out.shape == (2, 3), (
            f"tanh is elementwise: the shape (2, 3) stays, yours is {out.shape}"
        )
        assert np.allclose(out.data, wanted, rtol=0, atol=tolerance), (
            f"tanh of {given.tolist()} should be\n{wanted}, yours is\n{out.data}\n"
            "(scale both the input and the output of sigmoid)"
        )
        assert out.dtype.name == dtype, (
            f"tanh of {dtype} should stay {dtype}, yours is {out.dtype}"
        )
    whole = tanh(Tensor([[-1, 2, 0]]))
    assert np.allclose(whole.data, [[-0.7615942, 0.9640276, 0]], rtol=0, atol=5e-7), (
        f"tanh of integers -1, 2, 0 is -0.7616, 0.9640, 0, yours is {whole.data}"
    )
    assert whole.dtype.name == "float32", f"tanh of integers is float32, yours is {whole.dtype}"


def test_no_operation_of_tanh_overflows():
    for dtype in ("float32", "float64"):
        x = Tensor(np.array([-1000.0, 1000.0, 400.0, -400.0], dtype), requires_grad=True)
        out = tanh(x)
        assert np.array_equal(out.data, [-1, 1, 1, -1]), (
            f"tanh of [-1000, 1000, 400, -400] should be [-1, 1, 1, -1], yours is {out.data}: "
            + (
                "exp(2 * 400) is too large"
                if np.isnan(out.data).any()
                else "is the formula right?"
            )
        )
        nodes = [out]
        for node in nodes:  # grows meanwhile: from each result to its inputs
            assert np.isfinite(np.asarray(node)).all(), (
                "an intermediate result of tanh([-1000, 1000, 400, -400]) is "
                f"{np.asarray(node)}: exp overflowed, and derivatives will be nan"
            )
            nodes += [
                part for part in getattr(node.creator, "inputs", ()) if isinstance(part, Tensor)
            ]


def test_tanh_is_recorded_and_leaves_its_input_alone():
    x = Tensor([-2.0, 0.5, 3.0], requires_grad=True)
    out = tanh(x)
    assert out.requires_grad, (
        "x has requires_grad=True, tanh(x) has not: compute with x, not with x.data"
    )
    numbers = np.array([-2.5, 0.75, 2.0], "float32")
    again, wanted = replayed(out, x, numbers), np.asarray(tanh(Tensor(numbers)))
    assert np.allclose(again, wanted, rtol=0, atol=5e-7), (
        f"for {numbers} your recorded operations give {again}, not {wanted}: some operation "
        "used x.data"
    )
    assert np.allclose(again, np.tanh(numbers), rtol=0, atol=1e-6), (
        f"tanh of {numbers} should be {np.tanh(numbers)}, yours is {again}"
    )
    assert np.array_equal(x.data, [-2.0, 0.5, 3.0]), (
        f"tanh changed its input [-2, 0.5, 3] to {x.data}"
    )


# %% tanh hidden points=1
def test_tanh_of_other_numbers():
    grid = np.linspace(-20, 20, 81).reshape(3, 27, 1)
    for dtype, tolerance in (("float64", 1e-14), ("float32", 5e-7)):
        for given in (
            grid,
            grid[0, 0, 0],
            grid[:0],
            np.array([[1000.0, -0.75], [-1000.0, 0.75]]),
        ):
            numbers = np.array(given, dtype)
            mine = Tensor(numbers)
            wanted = [math.tanh(v) for v in numbers.ravel().tolist()]
            out = tanh(mine)
            assert out.shape == given.shape and out.dtype.name == dtype, (
                f"tanh of {dtype} of shape {given.shape} should keep both, got {out.dtype} of "
                f"{out.shape}"
            )
            assert np.allclose(out.data.ravel(), wanted, rtol=0, atol=tolerance), (
                f"tanh of {given} in {dtype} should be {wanted}, got {out.data}"
            )
            assert np.array_equal(mine.data, numbers), f"tanh changed its input {given}"
    whole = tanh(Tensor([[1000], [1], [-1000]]))
    assert whole.dtype.name == "float32" and np.allclose(
        whole.data, [[1], [0.7615942], [-1]], rtol=0, atol=5e-7
    ), f"tanh of integers 1000, 1, -1000 is 1, 0.7616, -1 in float32, got {whole.data}"
    x = Tensor([[-1.0, 0.0], [4.0, -30.0]], requires_grad=True)
    numbers = np.array([[-0.25, 0.0], [1.0, -2.0]], "float32")
    again = replayed(tanh(x), x, numbers)
    assert np.allclose(again, np.tanh(numbers), rtol=0, atol=5e-7), (
        f"recorded operations for {numbers} give {again}"
    )


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
        wanted = np.array(
            [
                [
                    v / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3)))
                    for v in row
                ]
                for row in given.tolist()
            ]
        )
        out = tensor(gelu(Tensor(given)), "gelu(x)")
        assert out.shape == (2, 3), (
            f"gelu is elementwise: the shape (2, 3) stays, yours is {out.shape}"
        )
        assert np.allclose(out.data, wanted, rtol=0, atol=tolerance), (
            f"gelu of {given.tolist()} should be\n{wanted}, yours is\n{out.data}"
        )
        assert out.dtype.name == dtype, (
            f"gelu of {dtype} should stay {dtype}, yours is {out.dtype}"
        )
    whole = gelu(Tensor([[-1, 2, 0]]))
    assert np.allclose(whole.data, [[-0.158808, 1.954598, 0]], rtol=0, atol=1e-6), (
        f"gelu of integers -1, 2, 0 is -0.1588, 1.9546, 0, yours is {whole.data}"
    )
    far = gelu(Tensor([-1000.0, 1000.0, -50.0])).data
    assert np.array_equal(far, [0, 1000, 0]), (
        f"gelu of [-1000, 1000, -50] should be [0, 1000, 0], yours is {far}"
    )


def test_gelu_is_recorded_and_leaves_its_input_alone():
    x = Tensor([-2.0, 0.5, 1.25], requires_grad=True)
    out = gelu(x)
    assert out.requires_grad, (
        "x has requires_grad=True, gelu(x) has not: compute with x, not with x.data"
    )
    numbers = np.array([-2.5, 0.75, 1.5], "float32")
    again, wanted = replayed(out, x, numbers), np.asarray(gelu(Tensor(numbers)))
    assert np.allclose(again, wanted, rtol=0, atol=1e-6), (
        f"for {numbers} your recorded operations give {again}, not {wanted}: some operation "
        "used x.data"
    )
    assert np.allclose(again, [-0.0150843, 0.5799606, 1.3995716], rtol=0, atol=1e-6), (
        f"gelu of {numbers} should be {[-0.0150843, 0.5799606, 1.3995716]}, yours is {again}"
    )
    assert np.array_equal(x.data, [-2.0, 0.5, 1.25]), (
        f"gelu changed its input [-2, 0.5, 1.25] to {x.data}"
    )


# %% gelu hidden points=1
def test_gelu_of_other_numbers():
    grid = np.linspace(-6, 6, 73)[:72].reshape(4, 3, 6)
    root = math.sqrt(2 / math.pi)
    for dtype, tolerance in (("float64", 1e-12), ("float32", 2e-6)):
        for given in (
            grid,
            grid[1, 1, 1],
            grid[:, :0],
            np.array([[300.0], [-40.0], [0.75], [-0.75]]),
        ):
            numbers = np.array(given, dtype)
            mine = Tensor(numbers)
            wanted = [
                v / 2 * (1 + math.tanh(root * (v + 0.044715 * v**3)))
                for v in numbers.ravel().tolist()
            ]
            out = gelu(mine)
            assert out.shape == given.shape and out.dtype.name == dtype, (
                f"gelu of {dtype} of shape {given.shape} should keep both, got {out.dtype} of "
                f"{out.shape}"
            )
            assert np.allclose(out.data.ravel(), wanted, rtol=0, atol=tolerance), (
                f"gelu of {given} in {dtype} should be {wanted}, got {out.data}"
            )
            assert np.array_equal(mine.data, numbers), f"gelu changed its input {given}"
    whole = gelu(Tensor([[-2], [1], [30]]))
    wanted = [[-0.04540231], [0.841192], [30]]
    assert whole.dtype.name == "float32" and np.allclose(
        whole.data, wanted, rtol=0, atol=2e-6
    ), f"gelu of integers -2, 1, 30 is -0.0454, 0.8412, 30 in float32, got {whole.data}"
    x = Tensor([[-1.0, 0.0], [4.0, -3.0]], requires_grad=True)
    again = replayed(gelu(x), x, np.array([[2.0, 1.0], [-1.0, 30.0]], "float32"))
    assert np.allclose(again, [[1.9545977, 0.841192], [-0.158808, 30]], rtol=0, atol=2e-6), (
        f"recorded operations for [[2, 1], [-1, 30]] give {again}"
    )


# %% softmax points=10
def test_softmax_gives_probabilities_along_any_axis():
    given = np.random.default_rng(5).normal(size=(2, 3, 4)) * 3
    for axis in (-1, 0, 1, 2, -2, (0, 2)):
        powers = np.exp(given)
        wanted = powers / powers.sum(axis=axis, keepdims=True)
        try:
            out = tensor(softmax(Tensor(given), axis), "softmax(x, axis)")
        except ValueError as error:
            assert False, (
                f"softmax of shape (2, 3, 4) along axis {axis}: {error}. Keep the axes of "
                "maximum and sum."
            )
        assert out.shape == (2, 3, 4), (
            f"softmax keeps the shape (2, 3, 4), yours is {out.shape}"
        )
        sums = out.data.sum(axis=axis)
        assert np.allclose(sums, 1, rtol=1e-12), (
            f"along axis {axis} probabilities should sum to 1, yours sum to {sums.ravel()[:4]}"
        )
        assert np.allclose(out.data, wanted, rtol=1e-12, atol=0), (
            f"softmax along axis {axis} should be\n{wanted}, yours is\n{out.data}"
        )
    found = softmax(Tensor(given)).data.sum(axis=-1)
    assert np.allclose(found, 1, rtol=1e-12), (
        f"by default softmax works along the last axis; the sums there are {found}"
    )


def test_softmax_of_logits_computed_by_hand():
    for logits, wanted in [
        ([0.0, math.log(3.0)], [0.25, 0.75]),
        ([[7.0]], [[1.0]]),
        ([[2.0], [5.0]], [[1.0], [1.0]]),
        ([1, 1, 1, 1], [0.25] * 4),
        ([0.0, -math.inf, 0.0], [0.5, 0.0, 0.5]),
    ]:
        out = softmax(Tensor(logits))
        assert out.shape == np.shape(wanted), (
            f"softmax of {logits} has shape {np.shape(wanted)}, yours is {out.shape}"
        )
        assert np.allclose(out.data, wanted, rtol=1e-6, atol=0), (
            f"softmax of {logits} is {wanted}, yours is {out.data}"
        )
        assert out.dtype.name == "float32", (
            f"softmax of {logits} should be float32, yours is {out.dtype}"
        )


def test_softmax_of_huge_logits_is_finite():
    for logits, wanted in [
        ([1000.0, 1000.0], [0.5, 0.5]),
        ([-1000.0, -1000.0], [0.5, 0.5]),
        ([-1000.0, 0.0, 1000.0], [0.0, 0.0, 1.0]),
        ([-10000.0, -10001.0], [0.7310586, 0.2689414]),
    ]:
        found = softmax(Tensor(logits)).data
        assert not np.isnan(found).any(), (
            f"softmax of {logits} should be {wanted}, yours is {found}: every exponential is "
            "0 or inf. Subtract the largest logit first, also when it is negative."
        )
        assert np.allclose(found, wanted, rtol=1e-6, atol=0), (
            f"softmax of {logits} is {wanted}, yours is {found}"
        )


def test_each_slice_of_softmax_has_its_own_largest_logit():
    x = Tensor([[0.0, 0.0, -1.0], [1000.0, 1000.0, 999.0], [-1000.0, -1000.0, -1001.0]])
    row = np.array([0.4223188, 0.4223188, 0.1553624])  # 1, 1 and 1/e, over their sum
    found = softmax(x).data
    assert np.allclose(found, [row] * 3, rtol=1e-6, atol=0), (
        f"rows [0, 0, -1], [1000, 1000, 999] and [-1000, -1000, -1001] all give {row}, yours "
        f"give\n{found}\n(subtract the largest logit of each row, not of the whole batch)"
    )
    found = softmax(x.T, axis=0).data
    assert np.allclose(found, np.array([row] * 3).T, rtol=1e-6, atol=0), (
        f"the same logits as columns, with axis=0, should give {row} in each column, yours "
        f"give\n{found}"
    )


def test_softmax_is_recorded_and_leaves_its_input_alone():
    x = Tensor([[-2.0, 0.5, 3.0], [1.0, 4.0, 2.0]], requires_grad=True)
    out = softmax(x, axis=0)
    assert out.requires_grad, (
        "x has requires_grad=True, softmax(x) has not: compute with x, not with x.data"
    )
    numbers = np.array([[-1.0, 0.25, 2.0], [1.5, 5.0, 2.5]], "float32")
    wanted = np.exp(numbers) / np.exp(numbers).sum(axis=0)
    again = replayed(out, x, numbers)
    assert np.allclose(again, wanted, rtol=1e-5, atol=0), (
        f"for {numbers.tolist()} your recorded operations give\n{again}, not\n{wanted}: some "
        f"operation used "
        ".data"
    )
    assert np.array_equal(x.data, [[-2.0, 0.5, 3.0], [1.0, 4.0, 2.0]]), (
        f"softmax changed its input to {x.data}"
    )


# %% softmax hidden points=1
def test_softmax_of_other_logits():
    given = np.random.default_rng(25).normal(size=(3, 2, 1, 5)) * 20
    for axis in (0, 1, 2, 3, -3, (1, 3), (-1, 0), (0, 1, 2, 3)):
        for shift in (0, 1000, -1000):
            powers = np.exp(given - given.max(axis, keepdims=True))
            mine = Tensor(given + shift)
            out, wanted = softmax(mine, axis=axis), powers / powers.sum(axis, keepdims=True)
            assert out.shape == given.shape and out.dtype.name == "float64", (
                f"softmax along {axis} should be float64 of shape (3, 2, 1, 5), got {out.dtype}"
                f" of {out.shape}"
            )
            assert np.allclose(out.data, wanted, rtol=1e-9, atol=0), (
                f"softmax along {axis} of logits near {shift} should be {wanted}, "
                f"got {out.data}"
            )
            assert np.array_equal(mine.data, given + shift), (
                f"softmax along {axis} changed its input"
            )
    far = np.array([1000.0, -1000.0, 0.0]).reshape(
        3, 1, 1, 1
    )  # a different one for each slice along (1, 2, 3)
    powers = np.exp(given)
    found, wanted = (
        softmax(Tensor(given + far), (1, 2, 3)).data,
        powers / powers.sum((1, 2, 3), keepdims=True),
    )
    assert np.allclose(found, wanted, rtol=1e-9, atol=0), (
        f"slices near 1000, -1000 and 0 give {wanted}, got {found}"
    )
    inf = math.inf
    rows = [
        [-inf, -inf, -inf],
        [-inf, 3.0, -inf],
        [1000.0, -inf, 1000.0],
        [-1000.0, -999.0, -inf],
    ]
    found = softmax(Tensor(rows)).data
    assert np.isnan(found[0]).all(), f"softmax of three -inf should be nan, got {found[0]}"
    wanted = [[0, 1, 0], [0.5, 0, 0.5], [0.26894142, 0.7310586, 0]]
    assert np.allclose(found[1:], wanted, rtol=1e-5, atol=0), (
        f"softmax of {rows[1:]} should be {wanted}, got {found[1:]}"
    )
    found = softmax(Tensor([[0, 3], [1000, -1000]]), 0)
    assert found.dtype.name == "float32" and np.array_equal(found.data, [[0, 1], [1, 0]]), (
        "softmax of integers [[0, 3], [1000, -1000]] along 0 is [[0, 1], [1, 0]], got "
        f"{found.data}"
    )
    found = softmax(Tensor(np.zeros((0, 4), "float32")))
    assert found.shape == (0, 4), f"softmax of no rows of 4 has shape (0, 4), got {found.shape}"
    x = Tensor(given, requires_grad=True)
    again = replayed(softmax(x, (1, -1)), x, given / 10)
    wanted = np.exp(given / 10) / np.exp(given / 10).sum((1, -1), keepdims=True)
    assert np.allclose(again, wanted, rtol=1e-9), (
        f"recorded operations along (1, -1) should give {wanted}, got {again}"
    )


# %% log-softmax points=8
def test_log_softmax_is_the_logarithm_of_softmax_along_any_axis():
    given = np.random.default_rng(6).normal(size=(2, 3, 4)) * 3
    for axis in (-1, 0, 1, 2, -2, (0, 2)):
        wanted = given - np.log(np.exp(given).sum(axis=axis, keepdims=True))
        try:
            out = tensor(log_softmax(Tensor(given), axis), "log_softmax(x, axis)")
        except ValueError as error:
            assert False, (
                f"log_softmax of shape (2, 3, 4) along axis {axis}: {error}. Keep the axes of "
                "maximum and sum."
            )
        assert out.shape == (2, 3, 4), (
            f"log_softmax keeps the shape (2, 3, 4), yours is {out.shape}"
        )
        assert np.allclose(out.data, wanted, rtol=1e-11, atol=1e-14), (
            f"log_softmax along axis {axis} should be\n{wanted}, yours is\n{out.data}"
        )
    found = np.exp(log_softmax(Tensor(given)).data).sum(axis=-1)
    assert np.allclose(found, 1, rtol=1e-12), (
        "by default log_softmax works along the last axis; exp of the results sums to "
        f"{found} there"
    )


def test_log_softmax_of_logits_computed_by_hand():
    for logits, wanted in [
        ([0.0, math.log(3.0)], [math.log(0.25), math.log(0.75)]),
        ([[7.0]], [[0.0]]),
        ([1, 1, 1, 1], [-math.log(4)] * 4),
        ([0.0, -math.inf, 0.0], [-math.log(2), -math.inf, -math.log(2)]),
    ]:
        out = log_softmax(Tensor(logits))
        assert out.shape == np.shape(wanted), (
            f"log_softmax of {logits} has shape {np.shape(wanted)}, yours is {out.shape}"
        )
        assert np.allclose(out.data, wanted, rtol=1e-6, atol=0), (
            f"log_softmax of {logits} is {wanted}, yours is {out.data}"
        )
        assert out.dtype.name == "float32", (
            f"log_softmax of {logits} should be float32, yours is {out.dtype}"
        )


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
        assert np.isfinite(found).all(), (
            f"log_softmax along axis {axis} should be\n{right}, yours is\n{found}: a "
            "probability was rounded to 0 before its logarithm, or exp overflowed. Shift by"
            " each slice's largest logit, and take the logarithm of the sum only."
        )
        assert np.allclose(found, right, rtol=1e-6, atol=1e-4), (
            f"log_softmax along axis {axis} should be\n{right}, yours is\n{found}"
        )


def test_log_softmax_is_recorded_and_leaves_its_input_alone():
    x = Tensor([[-2.0, 0.5, 3.0], [1.0, 4.0, 2.0]], requires_grad=True)
    out = log_softmax(x, axis=0)
    assert out.requires_grad, (
        "x has requires_grad=True, log_softmax(x) has not: compute with x, not with x.data"
    )
    numbers = np.array([[-1.0, 0.25, 2.0], [1.5, 5.0, 2.5]], "float32")
    wanted = numbers - np.log(np.exp(numbers).sum(axis=0))
    again = replayed(out, x, numbers)
    assert np.allclose(again, wanted, rtol=1e-5, atol=1e-6), (
        f"for {numbers.tolist()} your recorded operations give\n{again}, not\n{wanted}: some "
        f"operation used "
        ".data"
    )
    assert np.array_equal(x.data, [[-2.0, 0.5, 3.0], [1.0, 4.0, 2.0]]), (
        f"log_softmax changed its input to {x.data}"
    )


# %% log-softmax hidden points=1
def test_log_softmax_of_other_logits():
    given = np.random.default_rng(26).normal(size=(3, 2, 1, 5)) * 20
    for axis in (0, 1, 2, 3, -3, (1, 3), (-1, 0), (0, 1, 2, 3)):
        for shift in (0, 1000, -1000):
            shifted = given - given.max(axis, keepdims=True)
            mine = Tensor(given + shift)
            out, wanted = (
                log_softmax(mine, axis=axis),
                shifted - np.log(np.exp(shifted).sum(axis, keepdims=True)),
            )
            assert out.shape == given.shape and out.dtype.name == "float64", (
                f"log_softmax along {axis} should be float64 of shape (3, 2, 1, 5), got "
                f"{out.dtype} of {out.shape}"
            )
            assert np.allclose(out.data, wanted, rtol=1e-9, atol=1e-11), (
                f"log_softmax along {axis} of logits near {shift} should be {wanted}, got "
                f"{out.data}"
            )
            assert np.array_equal(mine.data, given + shift), (
                f"log_softmax along {axis} changed its input"
            )
    far = np.array([1000.0, -1000.0, 0.0]).reshape(
        3, 1, 1, 1
    )  # a different one for each slice along (1, 2, 3)
    found = log_softmax(Tensor(given + far), (1, 2, 3)).data
    wanted = given - np.log(np.exp(given).sum((1, 2, 3), keepdims=True))
    assert np.allclose(found, wanted, rtol=1e-9), (
        f"slices near 1000, -1000 and 0 give {wanted}, got {found}"
    )
    inf = math.inf
    rows = [[-inf, 3.0, -inf], [1000.0, -inf, 1000.0], [-5000.0, -4000.0, -inf]]
    found = log_softmax(Tensor(rows)).data
    wanted = [[-inf, 0, -inf], [-math.log(2), -inf, -math.log(2)], [-1000, 0, -inf]]
    assert np.allclose(found, wanted, rtol=1e-6, atol=1e-4), (
        f"log_softmax of {rows} should be {wanted}, got {found}"
    )
    found = log_softmax(Tensor([[0, 300], [200, -100]]), 0)
    assert found.dtype.name == "float32" and np.allclose(
        found.data, [[-200, 0], [0, -400]], rtol=1e-6, atol=1e-6
    ), (
        "log_softmax of integers [[0, 300], [200, -100]] along 0 is [[-200, 0], [0, "
        f"-400]], got {found.data}"
    )
    found = log_softmax(Tensor(np.zeros((0, 4), "float32")))
    assert found.shape == (0, 4), (
        f"log_softmax of no rows of 4 has shape (0, 4), got {found.shape}"
    )
    x = Tensor(given, requires_grad=True)
    again = replayed(log_softmax(x, (1, -1)), x, given / 10)
    wanted = given / 10 - np.log(np.exp(given / 10).sum((1, -1), keepdims=True))
    assert np.allclose(again, wanted, rtol=1e-9), (
        f"recorded operations along (1, -1) should give {wanted}, got {again}"
    )


# %% modules points=3
def test_modules_compute_what_their_functions_do():
    given = np.array([[-2.0, 0.5, 3.0], [1.0, 4.0, -0.25]])
    x, powers = Tensor(given), np.exp(given)
    columns, rows = powers / powers.sum(0), powers / powers.sum(1, keepdims=True)
    for name, make, wanted in [
        ("ReLU()", lambda: ReLU(), np.where(given > 0, given, 0)),
        ("Softmax()", lambda: Softmax(), rows),
        ("Softmax(0)", lambda: Softmax(0), columns),
        ("Softmax(axis=1)", lambda: Softmax(axis=1), rows),
        ("Softmax(-2)", lambda: Softmax(-2), columns),
    ]:
        for call, out in [(f"{name}(x)", make()(x)), (f"{name}.forward(x)", make().forward(x))]:
            tensor(out, call)
            assert out.shape == wanted.shape and np.allclose(out.data, wanted), (
                f"{call} should be\n{wanted}, yours is\n{out.data}: does it use its own "
                "function and its own axis?"
            )
    kink = Tensor(np.array([-1.0, 0.0, 2.0]), requires_grad=True)
    found = recorded_derivative(ReLU()(kink), kink)
    assert np.array_equal(found, [0, 0, 1]), (
        f"the derivative of ReLU() at -1, 0, 2 should be 0, 0, 1, that of the operations which "
        f"you recorded is {found}: use relu(x) or x.relu()"
    )


def test_two_modules_keep_their_own_axis():
    x = Tensor(np.array([[0.0, 1.0], [3.0, 0.0]]))
    columns, rows = Softmax(axis=0), Softmax(axis=1)
    for name, module, axis in [("Softmax(axis=0)", columns, 0), ("Softmax(axis=1)", rows, 1)]:
        assert module.axis == axis, (
            f"{name}.axis should be {axis}, yours is {module.axis}: two modules were made, and "
            "each has its own axis: keep it in self"
        )
        sums = module(x).data.sum(axis=axis)
        assert np.allclose(sums, 1), (
            f"{name} should sum to 1 along axis {axis}, yours sums to {sums}"
        )


def test_modules_print_their_settings_and_have_no_parameters():
    for name, module in [
        ("ReLU()", ReLU()),
        ("Softmax(axis=-1)", Softmax()),
        ("Softmax(axis=2)", Softmax(2)),
    ]:
        assert repr(module) == name, (
            f"{name} should print as {name}, yours prints as {module!r}: its attributes are "
            f"its "
            "settings"
        )
        assert list(module.parameters()) == [], (
            f"{name}.parameters() should be an empty list, yours is {module.parameters()}"
        )


# %% modules hidden points=1
def test_modules_are_recorded_and_keep_other_axes():
    given = np.random.default_rng(27).normal(size=(2, 3, 4))
    x, powers = Tensor(given, requires_grad=True), np.exp(given)
    for module, wanted in [
        (ReLU(), np.where(given > 0, given, 0)),
        (Softmax(1), powers / powers.sum(1, keepdims=True)),
        (Softmax((0, 2)), powers / powers.sum((0, 2), keepdims=True)),
    ]:
        out = module(x)
        assert out.requires_grad and np.allclose(out.data, wanted), (
            f"{module!r} of an array of shape (2, 3, 4) should be {wanted} and recorded, "
            f"got {out.data}"
        )
