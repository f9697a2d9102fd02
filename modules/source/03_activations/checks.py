# The checks of lesson 03, by exercise. `check("relu")` in the chapter runs the visible ones.

# %% setup
import math

import numpy as np

from tinytorch.core.tensor import Tensor


from checking import equal, expect, result_of, tensor


def softmax_of(logits, axis):
    powers = np.exp(logits - logits.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


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
        shapes = (inputs, hidden), hidden, (hidden, outputs), outputs
        mine = [Tensor((random.normal(size=shape) * 20).astype(dtype)) for shape in shapes]
        w1, b1, w2, b2 = mine
        yield collapse_linear(w1=w1, b1=b1, w2=w2, b2=b2), mine
    numbers = [[2.0, -1.0]], [0.5, 4.0], [[3.0], [-2.0]], [10.0]
    directions = [[5.0, 1.0]], [1.0, -1.0], [[1.0], [2.0]], [-3.0]
    for number, direction in enumerate(map(np.array, directions)):
        mine = [Tensor(np.array(part), n == number) for n, part in enumerate(numbers)]
        for out in collapse_linear(*mine):
            change = np.array(recorded_derivative(out, mine[number], direction), "float32")
            yield np.broadcast_to(change, out.shape)


# %% relu points=4
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


def test_relu_keeps_the_dtype_and_leaves_its_input_alone():
    for dtype in ("float32", "float64", "int64"):
        mine = Tensor(np.array([[-3, 2, -1]], dtype))
        expect(relu(mine).data, [[0, 2, 0]], f"relu of {dtype} [[-3, 2, -1]]", dtype=dtype)
        cause = "make a new tensor, do not write into x"
        expect(mine.data, [[-3, 2, -1]], "the input, after relu,", cause)


def test_the_derivative_of_relu_at_0_is_0():
    x = Tensor(np.array([-2.0, 0.0, -0.0, 3.0]), requires_grad=True)
    found = recorded_derivative(tensor(relu(x), "relu(x)"), x)
    assert not np.allclose(found, [0, 0.5, 0.5, 1]), (
        "the derivative of relu at 0, computed from your recorded operations, should be 0, "
        "yours is 1/2, the mean of both sides (maximum and abs give it). Use a comparison"
    )
    assert np.allclose(found, [0, 0, 0, 1]), (
        "the derivative of relu at -2, 0, -0, 3, computed from your recorded operations, "
        f"should be 0, 0, 0, 1, yours is {found}: at 0, the comparison should choose the "
        "constant, not x"
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
        x = Tensor(np.array(random.normal(size=shape) * 40, dtype))
        yield relu(x), x
    given = np.array([[-1e-300, 1e-300, -1e300]])
    expect(relu(Tensor(given)).data, [[0, 1e-300, 0]], f"relu of {given.tolist()}")
    is_recorded("relu", relu, np.array([[-2.0], [3.0], [-0.5]]), lambda x: np.maximum(x, 0))


# %% xor points=2
def test_two_hidden_units_compute_xor():
    weights = xor_weights()
    assert isinstance(weights, tuple) and len(weights) == 4, (
        f"xor_weights() should return (w1, b1, w2, b2), yours returns {weights!r}"
    )
    for name, part in zip(("w1", "b1", "w2", "b2"), weights):
        assert isinstance(part, Tensor), (
            f"{name} is a {type(part).__name__}: put Tensor(...) around it"
        )
    w1, b1, w2, b2 = weights
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
    for logits, wanted in cases:
        case = f"softmax of {logits}"
        out = result_of(lambda: softmax(Tensor(logits)), case)
        expect(out.data, wanted, case, near=(1e-6, 0), dtype="float32")


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
    given = np.random.default_rng(25).normal(size=(3, 2, 1, 5)) * 20
    for axis in (0, 1, 2, 3, -3, (1, 3), (-1, 0), (0, 1, 2, 3)):
        for shift in (0, 1000, -1000):
            x = Tensor(given + shift)
            yield np.log(softmax(x, axis=axis).data), x
    far = np.array([1000.0, -1000.0, 0.0]).reshape(3, 1, 1, 1)  # one for each row
    yield np.log(softmax(Tensor(given + far), (1, 2, 3)).data)
    yield softmax(Tensor(np.zeros((0, 4), "float32")))
    f, truth = lambda x: softmax(x, (1, -1)), lambda x: softmax_of(x, (1, -1))
    is_recorded("softmax", f, given, truth)
    inf = math.inf
    rows = (
        [-inf, -inf, -inf],
        [-inf, 3.0, -inf],
        [1000.0, -inf, 1000.0],
        [-1000.0, -999.0, -inf],
    )
    yield softmax(Tensor(rows)), softmax(Tensor([[0, 3], [1000, -1000]]), 0)
