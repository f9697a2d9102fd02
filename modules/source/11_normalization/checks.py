# The checks of lesson 11, by exercise. `check("running")` in the chapter runs the visible ones.

# %% setup
import numpy as np

from tinytorch.core.convolutions import Conv2d
from tinytorch.core.layers import Dense, Sequential
from tinytorch.core.tensor import Tensor, Variable


def plain(numbers):
    """Numbers as short nested lists, for messages."""
    return np.round(np.asarray(numbers, "float64"), 4).tolist()


def expect(found, wanted, case, cause="", near=1e-5):
    """Assert that `found` has the shape and the numbers of `wanted`.

    cause  the likely cause if it does not, or {cause: what one gets by it}
    """
    wanted = np.asarray(wanted)
    assert found is not None, f"{case}: yours is None. Is `return` missing?"
    found = np.asarray(found)
    if isinstance(cause, dict):
        likely = ""
        for text, wrong in cause.items():
            wrong = np.asarray(wrong)
            if not likely and wrong.shape == found.shape:
                likely = text if np.allclose(found, wrong, near, near, equal_nan=True) else ""
        cause = likely
    assert found.shape == wanted.shape, (
        f"{case}: the shape should be {wanted.shape}, yours is {found.shape}. {cause}"
    )
    assert np.allclose(found, wanted, near, near), (
        f"{case}: should be {plain(wanted)}, yours is {plain(found)}. {cause}"
    )


def hat(x, axes, eps=1e-5):
    """x with mean 0 and variance 1 over `axes`, in float64."""
    x = np.asarray(x, "float64")
    n = np.prod([x.shape[axis] for axis in np.atleast_1d(axes)])
    centered = x - np.add.reduce(x, axes, keepdims=True) / n
    return centered * (np.add.reduce(centered**2, axes, keepdims=True) / n + eps) ** -0.5


def kept(x, eps, center=True):
    """What a forward function is to keep for its rule: x̂ and 1 / sqrt(variance + eps)."""
    centered = x - np.average(x, axis=-1)[..., None] * center
    scale = (np.average(centered**2, axis=-1) + eps)[..., None] ** -0.5
    return {"normalized": centered * scale, "scale": scale}


def differences(f, x, g, step=1e-5):
    """The gradient of (f(x) * g).sum() with respect to x, by central differences."""
    gradient = np.zeros(x.shape)
    for at in np.ndindex(*x.shape):
        up, down = x.copy(), x.copy()
        up[at] += step
        down[at] -= step
        gradient[at] = ((f(up) - f(down)) * g).sum() / (2 * step)
    return gradient


def dense(weights, bias=None):
    """A fully connected layer with these weights."""
    layer = Dense(*np.shape(weights), bias=bias is not None)
    state = {"weights": weights} | ({} if bias is None else {"bias": bias})
    layer.load_state_dict(state)
    return layer


KEEPDIMS = "Reduced axes must stay as axes of length 1, so that they broadcast: keepdims=True"


def result_of(call, cause=KEEPDIMS):
    """What `call` returns; a complaint about shapes becomes a message with its likely cause."""
    try:
        return call()
    except (ValueError, IndexError, TypeError) as error:
        assert False, f"{type(error).__name__}: {str(error).strip()}. {cause}"


def set_norm(norm, weight, bias, mean, var):
    """Give a batch norm these numbers."""
    state = {"weight": weight, "bias": bias, "running_mean": mean, "running_var": var}
    norm.load_state_dict({name: np.float32(state[name]) for name in norm.state_dict()})
    return norm.eval()


# %% learner-side
def refusal(action, *given, **named):
    """The name of the error that a call raises, and its message, or two empty texts."""
    try:
        action(*given, **named)
    except Exception as error:
        return type(error).__name__, str(error)
    return "", ""


def gradients_of(function, g, *arrays, **options):
    """The result of a function of Tensors, and the gradient of each when `g` is that of the
    result."""
    leaves = [Variable(array) for array in arrays]
    out = function(*leaves, **options)
    out.backward(g)
    return out.data, [leaf.grad for leaf in leaves]


def watched_spread(x):
    """Whether a graph was recorded in the layers while spread ran, and is recorded
    afterwards."""
    leaf, seen = Variable(np.ones((2, 2))), []

    def layer(x):
        y = x * leaf
        seen.append(bool(y.requires_grad))
        return y

    spread([layer, layer], Tensor(x))
    return seen, bool((leaf * leaf).requires_grad)


# %% spread points=3
def test_the_spread_of_each_layer():
    net = Sequential(dense([[2.0, 0.0], [0.0, 0.0]]), dense([[0.0, 5.0], [0.0, 0.0]]))
    x = Tensor([[1.0, 7.0], [3.0, -2.0]])
    found = spread(net, x)
    assert isinstance(found, list) and all(isinstance(std, float) for std in found), (
        f"spread should return a list of floats, yours returns {found!r:.80}"
    )
    assert len(found) == 2, f"two layers should give 2 numbers, yours gives {len(found)}"
    first, second = [[2.0, 0.0], [6.0, 0.0]], [[0.0, 10.0], [0.0, 30.0]]
    expect(
        found,
        [np.std(first), np.std(second)],
        f"the outputs are {first} and {second}; their standard deviations",
        {
            "This is the sample standard deviation: divide by n, not by n - 1": [
                np.std(first, ddof=1),
                np.std(second, ddof=1),
            ],
            "Each layer gets the output of the layer before it, not x": [
                np.std(first),
                np.std([[0.0, 5.0], [0.0, 15.0]]),
            ],
            "This is the input of each layer, not its output": [np.std(x.data), np.std(first)],
            "This is the mean of the deviations of the columns; take all numbers together": [
                np.std(first, axis=0).mean(),
                np.std(second, axis=0).mean(),
            ],
            "This is the variance": [np.var(first), np.var(second)],
        },
    )


def test_every_layer_counts():
    net = Sequential(dense([[-3.0]]), Tensor.relu, dense([[4.0]]))
    found = spread(net, Tensor([[-1.0], [1.0]]))
    expect(
        found,
        [3.0, 1.5, 6.0],
        "three layers (times -3, relu, times 4) on [[-1], [1]]",
        "An activation function is a layer, too",
    )


def test_measuring_records_no_graph():
    seen, afterwards = watched_spread(np.array([[1.0, 2.0], [3.0, 5.0]]))
    assert seen == [False, False], (
        "while spread runs the layers, no computation graph should be recorded: use no_grad"
    )
    assert afterwards, "after spread, operations should be recorded again"


# %% spread hidden points=1
def test_the_spread_of_other_networks():
    rng = np.random.default_rng(1)
    arrays = [rng.normal(size=size) for size in [(4, 3), (3, 7), (7, 2)]]
    x = rng.normal(size=(6, 4)).astype("float32")
    found, y, wanted = spread([dense(w) for w in arrays], Tensor(x)), x, []
    for w in arrays:
        y = y @ w
        wanted.append(float(np.sqrt(((y - y.mean()) ** 2).mean())))
    expect(found, wanted, "a network of 4, 3, 7, 2", near=1e-4)
    assert spread(Sequential(), Tensor(x)) == []
    assert np.array_equal(x, x.copy())


# %% normalized points=5
def test_the_axes_decide_what_is_normalized():
    x = [[1.0, 2.0], [3.0, 8.0]]
    rows, columns = [[-1.0, 1.0], [-1.0, 1.0]], [[-1.0, -1.0], [1.0, 1.0]]
    mixed = np.array(x) - [1.5, 5.5]
    found = result_of(lambda: normalized(Tensor(x), axes=1, eps=1e-12))
    expect(
        found,
        rows,
        f"{x} normalized over axis 1",
        {
            "You normalized over axis 0": columns,
            "The means of the rows were subtracted from the columns: use keepdims": mixed
            / [[0.5], [2.5]],
            "The statistics of the rows were used for the columns: use keepdims": mixed
            / [0.5, 2.5],
            "You divided by the sample deviation: the variance is over n": hat(x, 1, 0)
            / 2**0.5,
            "You divided by the variance instead of its root": (np.array(x) - [[1.5], [5.5]])
            / [[0.25], [6.25]],
            "Mean and variance were taken over all axes": hat(x, (0, 1), 0),
        },
    )
    expect(
        normalized(Tensor(x), axes=0, eps=1e-12),
        columns,
        f"{x} normalized over axis 0",
        {"You normalized over axis 1": rows},
    )


def test_eps_is_added_to_the_variance():
    found = normalized(Tensor([[0.0, 0.001]]), axes=1)
    expect(
        found,
        [[-0.1562, 0.1562]],
        "the row [0, 0.001] has variance 0.00000025, less than eps = 0.00001; normalized it",
        {
            "eps belongs under the root: sqrt(variance + eps)": [[-0.9804, 0.9804]],
            "Is eps added at all?": [[-1.0, 1.0]],
        },
        near=2e-4,
    )
    expect(
        normalized(Tensor([[1.0, 3.0]]), axes=1, eps=3.0),
        [[-0.5, 0.5]],
        "[1, 3] has variance 1; with eps=3 the divisor is sqrt(1 + 3) = 2 and the result",
        "Is the argument eps used?",
    )


def test_a_constant_row_becomes_zero():
    x = Tensor(np.full((2, 3), 7.0, "float32"))
    found = np.asarray(result_of(lambda: normalized(x, axes=1)))
    assert not np.isnan(found).any(), (
        "a constant row gives nan: 0 / 0. eps, added to the variance, has to prevent that"
    )
    expect(found, np.zeros((2, 3)), "two rows of 7, 7, 7 normalized")


def test_several_axes_are_normalized_together():
    x = np.random.default_rng(2).normal(3, 2, size=(2, 3, 2, 2)).astype("float32")
    for axes in [(0, 2, 3), (1, 2, 3), (2, 3)]:
        case = f"an array of shape {x.shape} normalized over the axes {axes}"
        found = result_of(lambda axes=axes: normalized(Tensor(x), axes))
        expect(found, hat(x, axes), case, "One mean and one variance over all of these axes")
        assert found.dtype == np.float32, f"{case}: float32 became {found.dtype}"


def test_mean_and_variance_depend_on_x_for_gradients_too():
    x, g = np.array([[1.0, 2.0, 4.0]]), np.array([[1.0, 0.0, 0.0]])
    leaf = Variable(x)
    out = normalized(leaf, 1, 0)
    assert out.requires_grad, (
        "the result does not require a gradient: compute with the Tensor x, not with x.data"
    )
    out.backward(g)
    expect(
        leaf.grad,
        [[0.22908, -0.34362, 0.11454]],
        "the gradient of x = [1, 2, 4] for the upstream gradient [1, 0, 0]",
        {
            "Mean and deviation are functions of x as well: compute them with Tensors": [
                [0.80178, 0, 0]
            ],
            "The variance is a function of x as well: compute it with Tensors": [
                [0.53452, -0.26726, -0.26726]
            ],
        },
        near=1e-4,
    )


# %% normalized hidden points=1
def test_other_numbers_are_normalized():
    rng = np.random.default_rng(3)
    for shape, axes, eps in [((5,), 0, 0.1), ((4, 3), -1, 1e-3), ((2, 3, 4), (0, 1), 2.0)]:
        x = rng.normal(5, 3, size=shape)
        kept_x = x.copy()
        g = rng.normal(size=shape)
        out, (gradient,) = gradients_of(normalized, g, x, axes=axes, eps=eps)
        expect(out, hat(x, axes, eps), f"{shape}, {axes}", near=1e-9)
        wanted = differences(lambda x, axes=axes, eps=eps: hat(x, axes, eps), x, g)
        expect(gradient, wanted, f"gradient, {shape}, {axes}", near=1e-6)
        assert np.array_equal(x, kept_x), "x was changed"
    expect(normalized(Tensor([4.0, 4.0]), 0), [0, 0], "constant")


# %% learner-side
def layer_norm_with_saved(x, weight, bias, eps):
    """The output of layer_norm_forward, what it saved, and whether it changed an input."""
    given, saved = [x.copy(), weight.copy(), bias.copy()], {}
    out = layer_norm_forward(*given, eps, saved)
    changed = [
        name
        for name, now, then in zip(("x", "weight", "bias"), given, (x, weight, bias))
        if not np.array_equal(now, then)
    ]
    return out, {str(name): np.asarray(saved[name]) for name in saved}, changed


# %% layer-norm-forward points=3
def test_each_row_is_normalized_then_scaled_and_shifted():
    x = np.array([[1.0, 5.0], [8.0, 12.0]])
    weight, bias = np.array([1.0, 10.0]), np.array([0.0, 3.0])
    out, _, changed = result_of(lambda: layer_norm_with_saved(x, weight, bias, 0))
    expect(
        out,
        [[-1.0, 13.0]] * 2,
        f"rows {x.tolist()}, weight {weight.tolist()}, bias {bias.tolist()}, eps 0",
        {
            "You normalized over axis 0, the batch": [[-1, -7], [1, 13]],
            "Weight and bias are missing": [[-1, 1]] * 2,
            "The bias is missing": [[-1, 10]] * 2,
            "The weight is missing": [[-1, 4]] * 2,
            "The bias is added before the multiplication with the weight": [[-1, 40]] * 2,
        },
    )
    assert not changed, f"layer_norm_forward changed its input {' and '.join(changed)}"


def test_what_the_rule_needs_is_saved():
    x = np.array([[[1.0, 2.0, 6.0], [-4.0, 0.0, 1.0]]] * 2)
    weight, bias, eps = np.array([2.0, -1.0, 0.5]), np.array([1.0, 2.0, 3.0]), 0.5
    _, saved, _ = result_of(lambda: layer_norm_with_saved(x, weight, bias, eps))
    for name in ("normalized", "scale"):
        assert name in saved, (
            f'saved should have the key "{name}", yours has {sorted(saved) or "no key"}'
        )
    wanted = kept(x, eps)
    scaled = wanted["normalized"] * weight
    expect(
        saved["normalized"],
        wanted["normalized"],
        'saved["normalized"]',
        {
            "This is the output: keep x̂, without weight and bias": scaled + bias,
            "This is x̂ * weight: keep x̂ alone": scaled,
        },
    )
    expect(
        saved["scale"],
        wanted["scale"],
        'saved["scale"]',
        {
            "This is the deviation: keep 1 divided by it": 1 / wanted["scale"],
            "This is 1 / (variance + eps): the root is missing": wanted["scale"] ** 2,
        },
    )


def test_float32_stays_float32_and_constant_rows_are_finite():
    x = np.ones((3, 4), "float32")
    weight, bias = np.ones(4, "float32"), np.arange(4, dtype="float32")
    out, _, _ = result_of(lambda: layer_norm_with_saved(x, weight, bias, 1e-5))
    assert out.dtype == np.float32, f"float32 inputs should give float32, yours is {out.dtype}"
    expect(out, [[0, 1, 2, 3]] * 3, "constant rows with the bias [0, 1, 2, 3]")


# %% layer-norm-forward hidden points=1
def test_other_rows_are_normalized():
    rng = np.random.default_rng(4)
    for shape, eps in [((6,), 1e-5), ((5, 5), 0.1), ((2, 3, 4), 3.0), ((2, 1, 3, 2), 0)]:
        x, weight, bias = (rng.normal(size=s) for s in (shape, shape[-1:], shape[-1:]))
        out, saved, changed = layer_norm_with_saved(x, weight, bias, eps)
        expect(out, hat(x, -1, eps) * weight + bias, f"{shape}", near=1e-9)
        expect(saved["normalized"], hat(x, -1, eps), f"x̂ {shape}", near=1e-9)
        expect(saved["scale"], kept(x, eps)["scale"], f"scale {shape}", near=1e-9)
        assert not changed, f"changed {changed}"


# %% learner-side
def after_rule(rule, g, x, parameters, eps, saved):
    """The gradients that a rule returns, and whether it changed an argument."""
    before = [array.copy() for array in (g, x, *parameters, *saved.values())]
    gradients = rule(g, None, x, *parameters, eps, saved)
    after = [g, x, *parameters, *saved.values()]
    changed = any(not np.array_equal(one, two) for one, two in zip(before, after))
    return [np.asarray(part) for part in gradients], changed


def layer_rule(*given):
    """What layer_norm_rule returns, and whether it changed an argument."""
    return after_rule(layer_norm_rule, *given)


# %% layer-norm-rule points=8
def test_the_gradient_of_x_by_hand():
    x, one, zero = np.array([[1.0, 2.0, 4.0]]), np.ones(3), np.zeros(3)
    g, saved = np.array([[1.0, 0.0, 0.0]]), kept(x, 0)
    (dx, *_), _ = layer_rule(g, x, [one, zero], 0, saved)
    expect(
        dx,
        [[0.22908, -0.34362, 0.11454]],
        "x = [1, 2, 4], g = [1, 0, 0], weight 1: the gradient of x",
        {
            "Mean and deviation are functions of x, too; this treats both as constants": [
                [0.80178, 0, 0]
            ],
            "The deviation is a function of x, too: the term with x̂ is missing": [
                [0.53452, -0.26726, -0.26726]
            ],
            "The mean is a function of x, too: the mean of h is missing": [
                [0.49635, -0.07636, 0.38181]
            ],
            "The factor scale is missing": np.array([[0.28571, -0.42857, 0.14286]]),
            "This is divided by scale instead of multiplied": [[0.35635, -0.53452, 0.17817]],
        },
        near=1e-4,
    )


def test_shifting_and_scaling_x_change_nothing():
    rng = np.random.default_rng(5)
    x, weight, g = rng.normal(size=(4, 6)), rng.normal(size=6), rng.normal(size=(4, 6))
    saved = kept(x, 0)
    (dx, *_), _ = layer_rule(g, x, [weight, np.zeros(6)], 0, saved)
    expect(
        dx.sum(-1),
        np.zeros(4),
        "adding a number to a row of x does not change the output, so each row of its gradient "
        "should add up to 0; the sums",
        "Is h = g * weight used everywhere, and its mean over the last axis subtracted?",
    )
    expect(
        (dx * saved["normalized"]).sum(-1),
        np.zeros(4),
        "scaling a row of x does not change the output, so each row of its gradient times x̂ "
        "should add up to 0; the sums",
        "Is the part along x̂ subtracted, with the mean of h * x̂ over the last axis?",
    )


def test_the_gradients_of_weight_and_bias_add_up_over_all_rows():
    x = np.array([[[1.0, 5.0], [8.0, 2.0]], [[0.0, 2.0], [3.0, 1.0]]])
    g = np.array([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]])
    given = kept(x, 0)
    gradients, _ = layer_rule(g, x, [np.array([3.0, 4.0]), np.zeros(2)], 0, given)
    assert len(gradients) == 3, (
        f"the rule should return 3 gradients, of x, weight and bias; yours has {len(gradients)}"
    )
    products = (g * given["normalized"]).reshape(-1, 2)
    expect(
        gradients[1],
        products.sum(0),
        "the gradient of the weight for an input of shape (2, 2, 2)",
        {
            "Every row uses the weight: add up over all axes but the last": (
                g * given["normalized"]
            ).sum(0),
            "This is the mean over the rows: gradients are added up": products.mean(0),
            "The weight multiplies x̂, not x": (g * x).reshape(-1, 2).sum(0),
            "This is the gradient of the bias": [16.0, 20.0],
        },
    )
    expect(
        gradients[2],
        [16.0, 20.0],
        "the gradient of the bias for an input of shape (2, 2, 2)",
        {
            "Every row uses the bias: add up over all axes but the last": g.sum(0),
            "This is the mean over the rows: gradients are added up": [4.0, 5.0],
            "This is the gradient of the weight": products.sum(0),
        },
    )


def test_the_rule_changes_nothing():
    rng = np.random.default_rng(6)
    x, g = rng.normal(size=(2, 3)).astype("float32"), rng.normal(size=(2, 3)).astype("float32")
    parameters = [rng.normal(size=3).astype("float32") for _ in range(2)]
    gradients, changed = layer_rule(g, x, parameters, 1e-5, kept(x, np.float32(1e-5)))
    assert not changed, (
        "layer_norm_rule changed g, an input or what was saved; others still need them: "
        "make new arrays"
    )
    assert len(gradients) == 3, (
        f"the rule should return 3 gradients, yours has {len(gradients)}"
    )
    expect(gradients[2], g.sum(0), "the gradient of the bias")
    assert all(part.dtype == np.float32 for part in gradients), (
        f"float32 should stay float32, yours are {[str(part.dtype) for part in gradients]}"
    )


# %% layer-norm-rule hidden points=2
def test_the_rule_agrees_with_central_differences():
    rng = np.random.default_rng(7)
    for shape, eps in [((4,), 0.5), ((3, 3), 1e-3), ((2, 2, 5), 2.0)]:
        x, weight, bias, g = (
            rng.normal(size=s) for s in (shape, shape[-1:], shape[-1:], shape)
        )
        found, changed = layer_rule(g, x, [weight, bias], eps, kept(x, eps))
        wanted = [
            differences(lambda a: hat(a, -1, eps) * weight + bias, x, g),
            differences(lambda a: hat(x, -1, eps) * a + bias, weight, g),
            differences(lambda a: hat(x, -1, eps) * weight + a, bias, g),
        ]
        for one, two in zip(found, wanted):
            expect(one, two, f"{shape}", near=1e-5)
        assert not changed


# %% layer-norm points=3
def test_weight_and_bias_are_parameters():
    layer = LayerNorm((2, 3))
    found = [
        (name, tuple(part.shape), part.dtype.name) for name, part in layer.named_parameters()
    ]
    wanted = [("weight", (2, 3), "float32"), ("bias", (2, 3), "float32")]
    assert found == wanted, (
        f"the parameters of LayerNorm((2, 3)) should be {wanted}, yours are {found}. Are both "
        "Variables?"
    )
    expect(layer.weight, np.ones((2, 3)), "at first, the weight")
    expect(layer.bias, np.zeros((2, 3)), "at first, the bias")


def test_weight_and_bias_can_be_left_out():
    for options, wanted in [
        ({"bias": False}, ["weight"]),
        ({"elementwise_affine": False}, []),
        ({"elementwise_affine": False, "bias": True}, []),
    ]:
        layer = LayerNorm(4, **options)
        found = [name for name, _ in layer.named_parameters()]
        assert found == wanted, (
            f"LayerNorm(4, {', '.join(f'{k}={v}' for k, v in options.items())}) should have "
            f"the parameters {wanted}, yours has {found}"
        )
        out = layer(Tensor([[1.0, 2.0, 3.0, 4.0]]))
        expect(out, hat([[1.0, 2.0, 3.0, 4.0]], 1), "its output for [1, 2, 3, 4]", near=1e-4)


def test_the_layer_normalizes_the_last_axes_of_each_example():
    x = np.array([[[1.0, 2.0], [3.0, 8.0]], [[0.0, 0.0], [-5.0, 1.0]]], "float32")
    layer = LayerNorm((2, 2), eps=0.25)
    layer.load_state_dict({"weight": [[1, 2], [3, 4]], "bias": [[0, 10], [20, 30]]})
    wanted = hat(x, (1, 2), 0.25) * [[1, 2], [3, 4]] + [[0, 10], [20, 30]]
    found = layer(Tensor(x))
    expect(
        found,
        wanted,
        "LayerNorm((2, 2), eps=0.25) with other weights and biases",
        {
            "Is eps passed on?": hat(x, (1, 2)) * [[1, 2], [3, 4]] + [[0, 10], [20, 30]],
            "Are weight and bias passed on?": hat(x, (1, 2), 0.25),
            "Is the bias passed on?": hat(x, (1, 2), 0.25) * [[1, 2], [3, 4]],
            "Is the whole normalized_shape passed on?": hat(x, 2, 0.25) * [[1, 2], [3, 4]]
            + [[0, 10], [20, 30]],
        },
        near=1e-4,
    )
    found.backward(np.ones(found.shape, "float32"))
    assert layer.weight.grad is not None and layer.bias.grad is not None, (
        "after backward(), weight and bias should have a gradient; yours have none: call "
        "layer_norm with the Variables themselves"
    )
    expect(layer.bias.grad, [[2, 2], [2, 2]], "the gradient of the bias for two examples")


# %% layer-norm hidden points=1
def test_other_layer_norms():
    rng = np.random.default_rng(8)
    for shape, size in [((3, 5), 5), ((2, 3, 4), (3, 4)), ((7,), [7])]:
        layer = LayerNorm(normalized_shape=size, eps=0.1)
        x = rng.normal(2, 3, size=shape).astype("float32")
        axes = tuple(range(len(shape) - len(np.atleast_1d(size)), len(shape)))
        expect(layer(Tensor(x)), hat(x, axes, 0.1), f"{shape}, {size}", near=1e-4)
        state = layer.state_dict()
        assert sorted(state) == ["bias", "weight"]
    x, weight, bias, g = (rng.normal(size=size) for size in [(2, 5), 5, 5, (2, 5)])
    _, (gradient,) = gradients_of(
        layer_norm, g, x, normalized_shape=5, weight=weight, bias=bias, eps=0.1
    )
    wanted = differences(lambda a: hat(a, 1, 0.1) * weight + bias, x, g)
    expect(gradient, wanted, "the gradient of x, in the engine", near=1e-5)
    layer = LayerNorm(3)
    again = LayerNorm(3)
    assert layer.weight is not again.weight and layer.bias is not layer.weight
    out = layer(Tensor(np.array([[1.0, 2.0, 6.0]])))
    assert out.dtype == np.float32, f"float64 data in a float32 layer: {out.dtype}"
    assert refusal(LayerNorm(3), Tensor(np.ones((2, 4), "float32")))[0] == "ValueError"


# %% running points=2
def test_momentum_is_the_share_of_the_new_value():
    expect(
        running(0.0, 10.0, momentum=0.1),
        1.0,
        "an average of 0 and the new value 10, with momentum 0.1",
        {
            "This is 0.9 * new: in PyTorch's batch norm, momentum is the share of the new": 9.0,
            "This is a sum, not an average: the old value counts 1 - momentum": 10.0,
        },
    )
    expect(
        running(4.0, 10.0, momentum=0.25),
        5.5,
        "an average of 4 and the new value 10, with momentum 0.25",
        {
            "In PyTorch's batch norm, momentum is the share of the new value": 8.5,
            "The old value counts 1 - momentum": 6.5,
        },
    )


def test_averages_of_arrays():
    old, new = np.array([1.0, -2.0]), np.array([3.0, 8.0])
    assert running_keeps(old, new), "running changed one of its arguments: return a new array"
    expect(running(old, new, 0.5), [2.0, 3.0], "[1, -2] and [3, 8] with momentum 0.5")
    expect(running(old, new, 0), [1.0, -2.0], "[1, -2] and [3, 8] with momentum 0")
    expect(running(old, new, 1), [3.0, 8.0], "[1, -2] and [3, 8] with momentum 1")


# %% learner-side
def running_keeps(old, new):
    """Whether `running` leaves its arguments as they are."""
    one, two = old.copy(), new.copy()
    running(one, two, 0.5)
    return bool(np.array_equal(one, old) and np.array_equal(two, new))


# %% running hidden points=1
def test_other_averages():
    value = 7.0
    for step in range(50):
        value = running(value, 2.0, 0.2)
    expect(value, 2 + 5 * 0.8**50, "50 steps", near=1e-9)
    expect(running(np.float32([1, 2]), np.float32([5, 10]), 0.75), [4, 8], "float32")


# %% learner-side
def batch_normed(x, mean, var, **options):
    """The output of batch_norm, and the running statistics afterwards."""
    mean, var = mean.copy(), var.copy()
    out = batch_norm(Tensor(x), mean, var, **options)
    return out.data, mean, var


# %% batch-norm points=6
def test_training_normalizes_each_channel_over_the_batch():
    x = np.array([[1.0, 2.0], [3.0, 8.0], [8.0, 2.0]])
    out, *_ = result_of(
        lambda: batch_normed(x, np.array([100.0, 100.0]), np.ones(2), training=True, eps=0.5)
    )
    expect(
        out,
        hat(x, 0, 0.5),
        f"in training, {x.tolist()} with 3 examples of 2 channels, eps 0.5",
        {
            "These are the running statistics: in training, use those of the batch": (x - 100)
            / 1.5**0.5,
            "You normalized each example; batch norm normalizes each channel": hat(x, 1, 0.5),
            "Is eps used?": hat(x, 0),
        },
    )


def test_images_have_one_mean_per_channel():
    x = np.random.default_rng(9).normal(2, 3, size=(2, 3, 2, 2))
    out, mean, var = result_of(
        lambda: batch_normed(x, np.zeros(3), np.ones(3), training=True, momentum=1.0)
    )
    expect(
        out,
        hat(x, (0, 2, 3)),
        "images of shape (2, 3, 2, 2)",
        {
            "The mean is over the batch and over both axes of the image": hat(x, 0),
            "The mean is over the batch and both axes of the image, not over channels": hat(
                x, (1, 2, 3)
            ),
        },
    )
    expect(mean, x.mean((0, 2, 3)), "their running mean, with momentum 1")
    expect(var, x.var((0, 2, 3), ddof=1), "their running variance, with momentum 1")


def test_training_updates_the_running_statistics():
    x = np.array([[0.0], [2.0], [4.0], [6.0]])
    _, mean, var = batch_normed(
        x, np.array([10.0]), np.array([1.0]), training=True, momentum=0.1
    )
    expect(
        mean,
        [9.3],
        "the running mean was 10, the mean of the batch is 3, momentum is 0.1; afterwards it",
        {
            "It is as before. Write into the array: mean[...] = ...": [10.0],
            "The running mean moves by the share momentum towards the batch": [3.7],
        },
    )
    expect(
        var,
        [0.9 + 20 / 30],
        "the running variance was 1, the squared deviations of the 4 numbers add up to 20, "
        "momentum is 0.1; afterwards it",
        {
            "This is the variance over n. The running variance estimates that of all data: "
            "divide by n - 1": [1.4],
            "It is as before. Write into the array: var[...] = ...": [1.0],
            "The running variance is the one before eps is added": [0.9 + 20 / 30 + 1e-6],
        },
        near=1e-9,
    )


def test_evaluation_uses_the_running_statistics():
    x = np.array([[5.0, 1.0], [5.0, 1.0], [8.0, 4.0]])
    mean, var = np.array([5.0, 0.0]), np.array([4.0, 0.25])
    out, mean_after, var_after = result_of(lambda: batch_normed(x, mean, var, eps=0))
    wanted = [[0.0, 2.0], [0.0, 2.0], [1.5, 8.0]]
    expect(
        out,
        wanted,
        f"in evaluation, running mean {mean.tolist()}, running variance {var.tolist()}, for "
        f"{x.tolist()}",
        {
            "These are the statistics of the batch: then the output for one example depends on "
            "its neighbours": hat(x, 0, 0),
            "The running variance is no deviation: divide by its root": [
                [0, 4],
                [0, 4],
                [0.75, 16],
            ],
        },
    )
    assert np.array_equal(mean, mean_after) and np.array_equal(var, var_after), (
        f"in evaluation the running statistics should stay {mean.tolist()} and {var.tolist()}, "
        f"yours became {mean_after.tolist()} and {var_after.tolist()}"
    )
    kind, message = refusal(batch_norm, Tensor(x[2:]), mean, var)
    assert not kind, f"in evaluation one example is enough; yours raises {kind}: {message}"
    alone, *_ = batch_normed(x[2:], mean, var, eps=0)
    expect(alone, wanted[2:], "the last example alone")
    images = np.arange(8.0).reshape(1, 2, 2, 2)
    out, *_ = result_of(lambda: batch_normed(images, mean, var, eps=0))
    expect(
        out,
        (images - mean[:, None, None]) / [[[2]], [[0.5]]],
        "in evaluation, an image with two channels",
        "Statistics of shape (C,) need the shape (1, C, 1, 1) to align with the channels",
    )


def test_one_number_per_channel_is_refused_in_training():
    for shape in [(1, 3), (1, 2, 1, 1)]:
        x = Tensor(np.ones(shape, "float32"))
        stats = [np.zeros(shape[1]), np.ones(shape[1])]
        kind, message = refusal(batch_norm, x, *stats, training=True)
        assert kind == "ValueError", (
            f"an input of shape {shape} has one number per channel, so n - 1 is 0: training "
            f"should raise a ValueError, yours raises {kind or 'nothing'}"
        )
        assert str(shape) in message, (
            f"the error should contain the shape {shape}, yours says: {message}"
        )
    kind, message = refusal(
        batch_norm, Tensor(np.ones((1, 2, 1, 2))), np.zeros(2), np.ones(2), training=True
    )
    assert not kind, (
        "one image of shape (1, 2, 1, 2) has two numbers per channel, enough to train with; "
        f"yours raises {kind}: {message}"
    )
    out, *_ = batch_normed(np.ones((1, 2, 1, 2)), np.zeros(2), np.ones(2), training=True)
    expect(out, np.zeros((1, 2, 1, 2)), "one image with two numbers per channel")


def test_gradients_go_through_the_statistics_of_the_batch():
    x = np.array([[1.0], [2.0], [4.0]])
    _, (gradient,) = gradients_of(
        batch_norm,
        np.array([[1.0], [0.0], [0.0]]),
        x,
        running_mean=None,
        running_var=None,
        training=True,
        eps=0,
    )
    expect(
        gradient,
        [[0.22908], [-0.34362], [0.11454]],
        "the gradient of x = [[1], [2], [4]] for the upstream gradient [[1], [0], [0]]",
        {
            "Mean and variance of the batch are functions of x: compute with Tensors": [
                [0.80178],
                [0],
                [0],
            ]
        },
        near=1e-4,
    )


# %% batch-norm hidden points=2
def test_other_batches():
    rng = np.random.default_rng(10)
    for shape in [(5, 3), (3, 3), (2, 4, 3), (3, 2, 2, 5)]:
        x, axes = rng.normal(1, 2, size=shape), (0, *range(2, len(shape)))
        line = (1, -1, *[1] * (len(shape) - 2))
        weight, bias, mean, var = rng.uniform(0.5, 2, size=(4, shape[1]))
        g = rng.normal(size=shape)

        def wanted(x, weight=weight, bias=bias, axes=axes, line=line):
            return hat(x, axes, 0.1) * weight.reshape(line) + bias.reshape(line)

        def call(x, weight, bias):
            return batch_norm(x, None, None, weight, bias, True, 0.3, 0.1)

        out, gradients = gradients_of(call, g, x, weight, bias)
        expect(out, wanted(x), f"{shape}", near=1e-8)
        expect(gradients[0], differences(wanted, x, g), f"{shape}, gradient", near=1e-5)
        options = {"weight": weight, "bias": bias, "momentum": 0.3, "eps": 0.1}
        out, m, v = batch_normed(x, mean, var, training=True, **options)
        expect(out, wanted(x), f"{shape}", near=1e-8)
        expect(m, 0.7 * mean + 0.3 * x.mean(axes), f"{shape}, mean", near=1e-9)
        expect(v, 0.7 * var + 0.3 * x.var(axes, ddof=1), f"{shape}, variance", near=1e-9)
        out, m, v = batch_normed(x, mean, var, **options)
        right = (x - mean.reshape(line)) / (var.reshape(line) + 0.1) ** 0.5
        expect(out, right * weight.reshape(line) + bias.reshape(line), f"{shape}", near=1e-8)
        assert np.array_equal(m, mean) and np.array_equal(v, var)


# %% batch-norm-layer points=5
def test_a_batch_norm_has_two_parameters_and_two_buffers():
    norm = BatchNorm1d(3)
    found = [name for name, _ in norm.named_parameters()]
    assert found == ["weight", "bias"], (
        f"the parameters of BatchNorm1d(3) should be weight and bias, yours are {found}: "
        "statistics are not learned, weight and bias are"
    )
    for name, value in [("weight", 1), ("bias", 0), ("running_mean", 0), ("running_var", 1)]:
        expect(getattr(norm, name), np.full(3, value), f"at first, .{name}")
    found = sorted(norm.state_dict())
    assert found == ["bias", "running_mean", "running_var", "weight"], (
        "a state dict without the running statistics cannot restore the network: it should "
        f"hold bias, running_mean, running_var and weight, yours holds {found}. Use "
        "register_buffer"
    )


def test_training_and_evaluation_are_two_functions():
    norm, x = BatchNorm1d(1, momentum=1.0, eps=1e-9), np.array([[2.0], [4.0], [9.0]], "float32")
    expect(norm(Tensor(x)), hat(x, 0), "in training mode, [[2], [4], [9]]", near=1e-4)
    expect(norm.running_mean, [5.0], "the running mean after one batch, momentum 1")
    expect(norm.running_var, [13.0], "the running variance after one batch, momentum 1")
    norm.eval()
    expect(
        norm(Tensor([[5.0], [5.0]])),
        [[0.0], [0.0]],
        "in evaluation mode, after training on numbers with mean 5, [[5], [5]]",
        {"The running statistics are still 0 and 1: the input came back": [[5.0], [5.0]]},
        near=1e-4,
    )
    expect(
        norm(Tensor([[5.0], [18.0]])),
        [[0.0], [13**0.5]],
        "in evaluation mode, mean 5 and variance 13, [[5], [18]]",
        {"These are the statistics of the batch: pass self.training": [[-1.0], [1.0]]},
        near=1e-4,
    )


def test_running_statistics_are_no_part_of_the_graph():
    norm, x = BatchNorm1d(2), Variable(np.array([[1.0, 2.0], [3.0, 5.0]], "float32"))
    for _ in range(2):
        norm(x).sum().backward()
    mean = norm.running_mean
    recorded = getattr(mean, "creator", None) is not None or getattr(
        mean, "requires_grad", False
    )
    assert not recorded, (
        "the running statistics were recorded: each step would lengthen the computation graph, "
        "and the memory would grow. Keep numbers only"
    )
    assert norm.weight.grad is not None and norm.bias.grad is not None, (
        "after backward(), weight and bias should have a gradient; yours have none"
    )
    expect(norm.bias.grad, [4.0, 4.0], "the gradient of the bias after two batches of 2 rows")


def test_a_saved_network_evaluates_as_before():
    rng = np.random.default_rng(11)
    first, second = BatchNorm2d(2), BatchNorm2d(2)
    mean, var = np.zeros(2), np.ones(2)
    for _ in range(3):
        images = rng.normal(4, 3, size=(3, 2, 2, 2)).astype("float32")
        first(Tensor(images))
        mean = 0.9 * mean + 0.1 * images.mean((0, 2, 3))
        var = 0.9 * var + 0.1 * images.var((0, 2, 3), ddof=1)
    second.load_state_dict(first.state_dict())
    x = rng.normal(size=(2, 2, 2, 2)).astype("float32")
    wanted = (x - mean[:, None, None]) / (var[:, None, None] + 1e-5) ** 0.5
    for layer, case in [
        (first, "a layer trained on three batches, in evaluation mode"),
        (second, "another layer with its saved state, in evaluation mode"),
    ]:
        expect(
            layer.eval()(Tensor(x)), wanted, case, "Are the statistics in the state dict?", 1e-4
        )


def test_options_of_batch_norm_layers():
    norm = BatchNorm1d(2, affine=False)
    assert norm.weight is None and norm.bias is None, (
        f"with affine=False, weight and bias should be None, yours are {norm.weight} and "
        f"{norm.bias}"
    )
    norm = BatchNorm1d(2, track_running_stats=False)
    assert norm.running_mean is None and norm.running_var is None, (
        "with track_running_stats=False there should be no running statistics, yours are "
        f"{norm.running_mean} and {norm.running_var}"
    )
    x = [[1.0, 2.0], [3.0, 8.0]]
    kind, message = refusal(norm.eval(), Tensor(x))
    assert not kind, (
        "without running statistics, a batch is normalized with its own in evaluation mode, "
        f"too; yours raises {kind}: {message}"
    )
    expect(norm(Tensor(x)), hat(x, 0), "the same layer in evaluation mode", near=1e-4)
    norm = BatchNorm1d(2, eps=3.0, momentum=0.5)
    expect(norm(Tensor(x)), hat(x, 0, 3.0), "BatchNorm1d(2, eps=3)", "Is eps passed on?")
    expect(norm.running_mean, [1.0, 2.5], "momentum=0.5", "Is momentum passed on?")


# %% batch-norm-layer hidden points=1
def test_other_batch_norm_layers():
    rng = np.random.default_rng(12)
    for kind, shape in [
        (BatchNorm1d, (4, 3)),
        (BatchNorm1d, (4, 3, 2)),
        (BatchNorm2d, (2, 3, 2, 2)),
    ]:
        norm = kind(num_features=3, eps=0.1, momentum=0.2)
        state = {name: rng.uniform(1, 2, size=3) for name in norm.state_dict()}
        norm.load_state_dict(state)
        x, axes = rng.normal(size=shape).astype("float32"), (0, *range(2, len(shape)))
        line = (1, -1, *[1] * (len(shape) - 2))
        weight, bias = state["weight"].reshape(line), state["bias"].reshape(line)
        expect(norm(Tensor(x)), hat(x, axes, 0.1) * weight + bias, f"{shape}", near=1e-4)
        mean = 0.8 * state["running_mean"] + 0.2 * x.mean(axes)
        var = 0.8 * state["running_var"] + 0.2 * x.var(axes, ddof=1)
        expect(norm.running_mean, mean, "mean", near=1e-5)
        expect(norm.running_var, var, "var", near=1e-5)
        norm.eval()
        right = (x - mean.reshape(line)) / (var.reshape(line) + 0.1) ** 0.5 * weight + bias
        expect(norm(Tensor(x)), right, f"{shape}", near=1e-4)
        expect(norm.running_mean, mean, "evaluation changes nothing", near=1e-5)
    assert refusal(BatchNorm2d(3), Tensor(np.ones((4, 3), "float32")))[0] == "ValueError"
    assert refusal(BatchNorm1d(3), Tensor(np.ones((4, 2), "float32")))[0] == "ValueError"
    one, two = BatchNorm1d(2), BatchNorm1d(2)
    one(Tensor(np.array([[1.0, 2.0], [3.0, 4.0]], "float32")))
    expect(two.running_mean, [0, 0], "another layer has statistics of its own")
    expect(one.bias, [0, 0], "the bias shares no memory with the running mean")
    out = two(Tensor(np.array([[1.0, 2.0], [3.0, 4.0]])))
    assert out.dtype == np.float32, f"float64 data in a float32 layer: {out.dtype}"
    plain_norm = BatchNorm1d(2, affine=False)
    assert sorted(plain_norm.state_dict()) == ["running_mean", "running_var"]


# %% learner-side
def rms_norm_with_saved(x, weight, eps):
    """The output of rms_norm_forward, what it saved, and whether it changed an input."""
    given, saved = [x.copy(), weight.copy()], {}
    out = rms_norm_forward(*given, eps, saved)
    changed = not (np.array_equal(given[0], x) and np.array_equal(given[1], weight))
    return out, {str(name): np.asarray(saved[name]) for name in saved}, changed


def rms_rule(*given):
    """What rms_norm_rule returns, and whether it changed an argument."""
    return after_rule(rms_norm_rule, *given)


# %% rms-norm points=6
def test_rows_are_divided_by_their_root_mean_square():
    x, weight = np.array([[1.0, 7.0], [-3.0, 3.0]]), np.array([1.0, 10.0])
    out, saved, changed = result_of(lambda: rms_norm_with_saved(x, weight, 0))
    expect(
        out,
        [[0.2, 14.0], [-1.0, 10.0]],
        "[[1, 7], [-3, 3]] has the mean squares 25 and 9; with weight [1, 10]",
        {
            "Nothing is subtracted: RMS normalization does not center": [[-1, 10], [-1, 10]],
            "Is the weight missing?": [[0.2, 1.4], [-1, 1]],
            "This is divided by the sum of the squares, not by their mean": [
                [0.14142, 9.89949],
                [-0.70711, 7.07107],
            ],
            "This is divided by the standard deviation: take the root of the mean of x * x": [
                [1 / 3, 70 / 3],
                [-1, 10],
            ],
        },
        near=1e-4,
    )
    assert not changed, "rms_norm_forward changed an input"
    x = np.array([[[1.0, 2.0, 2.0]], [[0.0, 0.0, 0.0]]])
    out, saved, _ = result_of(lambda: rms_norm_with_saved(x, np.array([1.0, 1.0, 4.0]), 1.0))
    wanted = kept(x, 1.0, center=False)
    expect(
        out, [[[0.5, 1, 4]], [[0, 0, 0]]], "[1, 2, 2], mean square 3, eps 1, weight [1, 1, 4]"
    )
    for name in ("normalized", "scale"):
        assert name in saved, f'saved should have the key "{name}", yours has {sorted(saved)}'
        expect(saved[name], wanted[name], f'saved["{name}"]', "As in layer_norm_forward")


def test_the_gradients_of_rms_norm():
    x, g, weight = np.array([[1.0, 7.0]]), np.array([[1.0, 0.0]]), np.array([3.0, 1.0])
    gradients, changed = rms_rule(g, x, [weight], 0, kept(x, 0, center=False))
    assert len(gradients) == 2, (
        f"the rule should return 2 gradients, of x and weight; yours has {len(gradients)}"
    )
    expect(
        gradients[0],
        [[0.588, -0.084]],
        "x = [1, 7], g = [1, 0], weight [3, 1]: the gradient of x",
        {
            "The root of the mean square is a function of x, too": [[0.6, 0]],
            "Nothing is centered here: subtract no mean of h": [[0.288, -0.384]],
            "Multiply g with the weight first": [[0.196, -0.028]],
        },
        near=1e-4,
    )
    expect(gradients[1], [0.2, 0.0], "the gradient of the weight")
    x, g = np.array([[[1.0, 7.0]], [[-3.0, 3.0]]]), np.array([[[1.0, 2.0]], [[3.0, 4.0]]])
    rows, _ = rms_rule(g, x, [weight], 0, kept(x, 0, center=False))
    expect(
        rows[1],
        [-2.8, 6.8],
        "the gradient of the weight for an input of shape (2, 1, 2)",
        "Every row uses the weight: add up over all axes but the last",
    )
    assert not changed, "rms_norm_rule changed one of its arguments: make new arrays"


def test_rms_norm_agrees_with_its_composed_form():
    rng = np.random.default_rng(13)
    x, weight, g = (rng.normal(size=size) for size in [(2, 3, 4), 4, (2, 3, 4)])

    def composed(x, weight):
        return x / ((x * x).mean(-1, keepdims=True) + 0.1).sqrt() * weight

    def fused(x, weight):
        return rms_norm(x, 4, weight, 0.1)

    out, gradients = gradients_of(fused, g, x, weight)
    wanted, right = gradients_of(composed, g, x, weight)
    expect(out, wanted, "rms_norm and the same from Tensor operations", near=1e-8)
    for name, one, two in zip(("x", "weight"), gradients, right):
        expect(one, two, f"the gradient of {name} for an input of shape (2, 3, 4)", near=1e-8)


# %% rms-norm hidden points=1
def test_other_rms_norms():
    rng = np.random.default_rng(14)
    for shape, eps in [((5,), 0.3), ((3, 3), 1e-6), ((2, 2, 3), 1.5)]:
        x, weight, g = (rng.normal(size=s) for s in (shape, shape[-1:], shape))

        def wanted(x, weight=weight, eps=eps):
            return x * ((x**2).mean(-1, keepdims=True) + eps) ** -0.5 * weight

        out, saved, changed = rms_norm_with_saved(x, weight, eps)
        expect(out, wanted(x), f"{shape}", near=1e-9)
        assert not changed
        found, changed = rms_rule(g, x, [weight], eps, kept(x, eps, center=False))
        expect(found[0], differences(wanted, x, g), f"{shape}", near=1e-5)
        expect(
            found[1], differences(lambda w, x=x: wanted(x, w), weight, g), f"{shape}", near=1e-5
        )
        assert not changed
    x = np.ones((2, 3), "float32")
    out, *_ = rms_norm_with_saved(x, x[0], 1e-6)
    assert out.dtype == np.float32
    layer = RMSNorm(3, eps=0)
    expect(layer(Tensor([[3.0, -3.0, 3.0]])), [[1, -1, 1]], "the layer")


# %% folded points=6
def test_a_dense_layer_and_its_batch_norm_become_one():
    layer = dense([[1.0, 2.0], [3.0, 4.0]], [5.0, 6.0])
    norm = set_norm(BatchNorm1d(2, eps=0), [3, 5], [10, 20], [1, 2], [9, 25])
    weights, bias = result_of(lambda: folded(layer, norm))
    expect(
        weights,
        [[1.0, 2.0], [3.0, 4.0]],
        "weight [3, 5] over the deviations [3, 5] is the factor [1, 1]; the folded weights",
        {"The factor needs the root of the running variance": [[1 / 3, 0.4], [1, 0.8]]},
    )
    expect(
        bias,
        [14.0, 24.0],
        "bias [5, 6], running mean [1, 2], factor [1, 1], bias of the norm [10, 20]; the "
        "folded bias",
        {
            "The running mean is subtracted from the bias of the layer": [15.0, 26.0],
            "Was the bias of the norm forgotten?": [4.0, 4.0],
            "Was the bias of the layer forgotten?": [9.0, 18.0],
        },
    )


def test_the_folded_layer_computes_the_same():
    rng = np.random.default_rng(15)
    for kind, norm, x in [
        (Dense(3, 2, rng=1), BatchNorm1d(2, eps=0.1), rng.normal(size=(4, 3))),
        (Dense(3, 3, rng=1), BatchNorm1d(3, eps=0.1), rng.normal(size=(4, 3))),
        (Dense(3, 2, bias=False, rng=1), BatchNorm1d(2), rng.normal(size=(4, 3))),
        (Conv2d(2, 3, 2, rng=1), BatchNorm2d(3), rng.normal(size=(2, 2, 4, 4))),
        (Conv2d(2, 2, 2, rng=1), BatchNorm2d(2), rng.normal(size=(2, 2, 4, 4))),
    ]:
        n = norm.num_features
        numbers = rng.uniform(1, 3, size=(5, n))
        if kind.bias is not None:
            kind.bias.data[...] = numbers[4]
        set_norm(norm, *numbers[:4])
        x = Tensor(x.astype("float32"))
        wanted = np.asarray(norm(kind(x)))
        cause = (
            "Which axis of the weights is the output? The last of a Dense, the first of a "
            "Conv2d; and the factor multiplies the bias as well"
        )
        weights, bias = result_of(lambda kind=kind, norm=norm: folded(kind, norm), cause)
        assert np.shape(weights) == kind.weights.shape and np.shape(bias) == (n,), (
            f"{kind} then {norm}: the folded weights and bias should have the shapes "
            f"{kind.weights.shape} and ({n},), yours have {np.shape(weights)} and "
            f"{np.shape(bias)}"
        )
        one = with_numbers(kind, weights, bias)
        expect(
            one(x),
            wanted,
            f"the folded layer of {kind} and {norm}, on random inputs",
            cause,
            near=1e-4,
        )


def test_folding_changes_neither_layer():
    layer = dense([[1.0, 2.0]], [5.0, 6.0])
    norm = set_norm(BatchNorm1d(2, eps=0), [3, 10], [10, 20], [1, 2], [9, 25])
    before = [layer.state_dict(), norm.state_dict()]
    weights, bias = folded(layer, norm)
    expect(weights, [[1.0, 4.0]], "the folded weights for the factors [1, 2]")
    expect(bias, [14.0, 28.0], "the folded bias")
    for part, state in zip((layer, norm), before):
        for name, now in part.state_dict().items():
            assert np.array_equal(now, state[name]), f"folded changed the {name} of {part}"


# %% learner-side
def with_numbers(layer, weights, bias):
    """A layer like `layer` with these weights and this bias."""
    import copy

    layer = copy.deepcopy(layer)
    layer.weights = Variable(np.asarray(weights))
    layer.bias = Variable(np.asarray(bias))
    return layer


# %% folded hidden points=1
def test_folding_other_layers():
    norm = BatchNorm1d(2, eps=1.0, affine=False)
    set_norm(norm, None, None, [1, -2], [3, 8])
    weights, bias = folded(dense([[2.0, 3.0]]), norm)
    expect(weights, [[1.0, 1.0]], "affine=False")
    expect(bias, [-0.5, 2 / 3], "affine=False, no bias")
    norm = set_norm(BatchNorm2d(1, eps=0), [2], [7], [3], [16])
    conv = Conv2d(1, 1, 1, bias=False)
    conv.load_state_dict({"weights": [[[[6]]]]})
    weights, bias = folded(conv, norm)
    expect(weights, [[[[3.0]]]], "conv")
    expect(bias, [5.5], "conv without bias")


# %% residual points=3
def test_the_input_is_added():
    layer = Residual(dense([[0.0, 10.0], [20.0, 0.0]]))
    x = np.array([[1.0, 2.0]], "float32")
    found = layer(Tensor(x))
    expect(
        found,
        [[41.0, 12.0]],
        "x = [1, 2] and inner(x) = [40, 10]; x + inner(x)",
        {
            "This is inner(x) alone": [[40.0, 10.0]],
            "inner(x) was added twice": [[81.0, 22.0]],
            "This is inner(x + inner(x)) or similar": [[240.0, 410.0]],
        },
    )
    assert len(layer.parameters()) == 1, "the parameters of inner should be found in Residual"


def test_the_gradient_passes_unchanged_beside_inner():
    leaf = Variable(np.array([[1.0, 2.0]], "float32"))
    out = Residual(dense([[0.0, 0.0], [0.0, 0.0]]))(leaf)
    assert out.requires_grad, "the result should be recorded: add Tensors, not arrays"
    out.backward(np.array([[3.0, 4.0]], "float32"))
    expect(
        leaf.grad,
        [[3.0, 4.0]],
        "inner has only zeros as weights; the gradient of x for the upstream gradient [3, 4]",
        "The sum passes the upstream gradient to x as it is",
    )
    leaf = Variable(np.array([[1.0, 2.0]], "float32"))
    Residual(dense([[2.0, 0.0], [0.0, 5.0]]))(leaf).backward(np.array([[3.0, 4.0]], "float32"))
    expect(
        leaf.grad,
        [[9.0, 24.0]],
        "inner multiplies with [2, 5]; the gradient of x for the upstream gradient [3, 4]",
        "Add what comes around inner, [3, 4], and what comes through it, [6, 20]",
    )


def test_other_shapes_are_refused():
    for inner, shape in [(dense([[1.0, 2.0, 3.0]] * 2), (4, 3)), (dense([[1.0]] * 2), (4, 1))]:
        kind, message = refusal(Residual(inner), Tensor(np.ones((4, 2), "float32")))
        assert kind == "ValueError", (
            f"x has shape (4, 2) and inner(x) {shape}: this should raise a ValueError, yours "
            f"raises {kind or 'nothing: (4, 1) broadcasts, so compare the shapes'}"
        )
        assert "(4, 2)" in message and str(shape) in message, (
            f"the error should contain both shapes, (4, 2) and {shape}; yours says: {message}"
        )


# %% learner-side
def residual_of_inplace():
    """x + inner(x), with an inner function that returns its argument, and whether x changed."""
    x = Tensor(np.array([1.0, 2.0]))
    out = Residual(lambda x: x)(x)
    return out.data, x.data


# %% residual hidden points=1
def test_other_residuals():
    out, x = residual_of_inplace()
    expect(out, [2.0, 4.0], "x + x")
    expect(x, [1.0, 2.0], "x afterwards")
    rng = np.random.default_rng(16)
    x = rng.normal(size=(2, 3)).astype("float32")
    w = rng.normal(size=(3, 3)).astype("float32")
    stack = Sequential(Residual(dense(w)), Residual(Sequential(Tensor.tanh, dense(w))))
    y = x + x @ w
    expect(stack(Tensor(x)), y + np.tanh(y) @ w, "two residual layers", near=1e-4)
    kind, message = refusal(Residual(Tensor.sum), Tensor(x))
    assert kind == "ValueError" and "(2, 3)" in message and "()" in message
