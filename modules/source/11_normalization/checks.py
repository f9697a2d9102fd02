# The checks of lesson 11, by exercise. `check("running")` in the chapter runs the visible ones.

# %% setup
import numpy as np

from checking import equal, expect, gradient_by_differences, refused, result_of
from tinytorch.core.convolutions import Conv2d
from tinytorch.core.layers import Dense, Sequential
from tinytorch.core.tensor import Tensor, Variable


def close(found, wanted, case, cause="", near=1e-5):
    """`expect` for results of floating-point arithmetic."""
    expect(found, wanted, case, cause, near)


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


def gradients_by_differences(f, arrays, g):
    """The gradient of (f(*arrays) * g).sum() with respect to each array."""
    return [
        gradient_by_differences(lambda a, n=n: f(*arrays[:n], a, *arrays[n + 1 :]), array, g)
        for n, array in enumerate(arrays)
    ]


def dense(weights, bias=None):
    """A fully connected layer with these weights."""
    layer = Dense(*np.shape(weights), bias=bias is not None)
    layer.load_state_dict({"weights": weights} | ({} if bias is None else {"bias": bias}))
    return layer


def has_length(gradients, names):
    """Assert that a rule returned one gradient for each of these names."""
    assert len(gradients) == len(names), (
        f"the rule should return {len(names)} gradients, of {' and '.join(names)}; yours has "
        f"{len(gradients)}"
    )


FAR = "Compute the deviations first, then the mean of their squares. The mean of x² minus the "
FAR += "squared mean is a difference of two large numbers: in float32 it loses digits"
OVER_N = "Normalize with the variance over n, but update the running variance with the "
OVER_N += "variance over n - 1"
RECORD = "Compute with the Tensor x, not with x.data, so that the operations are recorded"
KEEPDIMS = "Reduced axes must stay as axes of length 1, so that they broadcast: keepdims=True"


def set_norm(norm, weight, bias, mean, var):
    """Give a batch norm these numbers."""
    state = {"weight": weight, "bias": bias, "running_mean": mean, "running_var": var}
    norm.load_state_dict({name: np.float32(state[name]) for name in norm.state_dict()})
    return norm.eval()


# %% learner-side
def gradients_of(function, g, *arrays, **options):
    """The result of a function of Tensors, and the gradient of each for the upstream gradient
    `g`."""
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
    equal(len(found), 2, "the number of standard deviations for two layers")
    first, second = [[2.0, 0.0], [6.0, 0.0]], [[0.0, 10.0], [0.0, 30.0]]
    causes = {
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
    }
    case = f"the outputs are {first} and {second}; their standard deviations"
    close(found, [np.std(first), np.std(second)], case, causes)


def test_every_layer_counts():
    net = Sequential(dense([[-3.0]]), Tensor.relu, dense([[4.0]]))
    case = "the standard deviations after three layers (times -3, relu, times 4) on [[-1], [1]]"
    cause = "An activation function is also a layer"
    close(spread(net, Tensor([[-1.0], [1.0]])), [3.0, 1.5, 6.0], case, cause)


def test_measuring_records_no_graph():
    seen, afterwards = watched_spread(np.array([[1.0, 2.0], [3.0, 5.0]]))
    assert seen == [False, False], (
        "while spread runs the layers, no computation graph should be recorded: use no_grad"
    )
    assert afterwards, "after spread, operations should be recorded again"


# %% spread hidden points=1
def test_the_spread_of_other_networks():
    rng = np.random.default_rng(1)
    layers = [dense(rng.normal(size=size)) for size in [(4, 3), (3, 7), (7, 2)]]
    yield spread(layers, Tensor(rng.normal(size=(6, 4)).astype("float32")))
    yield spread(Sequential(), Tensor([1.0]))


# %% normalized points=6
def test_the_axes_decide_what_is_normalized():
    x = [[1.0, 2.0], [3.0, 8.0]]
    rows, columns = [[-1.0, 1.0], [-1.0, 1.0]], [[-1.0, -1.0], [1.0, 1.0]]
    mixed, by_rows = np.array(x) - [1.5, 5.5], np.array(x) - [[1.5], [5.5]]
    causes = {
        "You normalized over axis 0": columns,
        "The means of the rows were subtracted from the columns: use keepdims": mixed
        / [[0.5], [2.5]],
        "The statistics of the rows were used for the columns: use keepdims": mixed
        / [0.5, 2.5],
        "You divided by the sample deviation: the variance is over n": hat(x, 1, 0) / 2**0.5,
        "You divided by the variance instead of its root": by_rows / [[0.25], [6.25]],
        "Mean and variance were taken over all axes": hat(x, (0, 1), 0),
        "`eps` has no effect: 1e-12 was given": hat(x, 1),
    }
    case = f"{x} normalized over axis 1"
    found = result_of(lambda: normalized(Tensor(x), axes=1, eps=1e-12), case, KEEPDIMS)
    close(found, rows, case, causes)
    found = normalized(Tensor(x), axes=0, eps=1e-12)
    close(found, columns, f"{x} normalized over axis 0", {"You normalized over axis 1": rows})


def test_eps_is_added_to_the_variance():
    case = "the row [0, 0.001] has variance 0.00000025, less than eps = 0.00001; the result"
    causes = {
        "eps belongs under the root: sqrt(variance + eps)": [[-0.9804, 0.9804]],
        "Is eps added at all?": [[-1.0, 1.0]],
    }
    found = normalized(Tensor([[0.0, 0.001]]), axes=1)
    close(found, [[-0.1562, 0.1562]], case, causes, near=2e-4)
    case = "[1, 3] has variance 1; with eps=3 the divisor is sqrt(1 + 3) = 2 and the result"
    found = normalized(Tensor([[1.0, 3.0]]), axes=1, eps=3.0)
    close(found, [[-0.5, 0.5]], case, "Is the argument eps used?")
    found = normalized(Tensor([[0.0, 0.001]]), axes=1, eps=0)
    close(found, [[-1, 1]], "[0, 0.001] with eps=0", "0 is a value, too", near=1e-4)


def test_a_constant_row_becomes_zero():
    x, case = Tensor(np.full((2, 3), 7.0, "float32")), "two rows of 7, 7, 7 normalized"
    found = np.asarray(result_of(lambda: normalized(x, axes=1), case, KEEPDIMS))
    assert not np.isnan(found).any(), (
        "a constant row gives nan: 0 / 0. eps, added to the variance, has to prevent that"
    )
    close(found, np.zeros((2, 3)), case)


def test_numbers_far_from_0_keep_their_digits():
    x = np.array([[10000.0, 10002.0, 10001.0, 10001.0]], "float32")
    found = normalized(Tensor(x), axes=1, eps=0.5)
    close(found, [[-1, 1, 0, 0]], f"{x.tolist()} normalized with eps=0.5", FAR)


def test_several_axes_are_normalized_together():
    x = np.random.default_rng(2).normal(3, 2, size=(2, 3, 2, 2)).astype("float32")
    for axes in [(0, 2, 3), (1, 2, 3), (2, 3)]:
        case = f"an array of shape {x.shape} normalized over the axes {axes}"
        found = result_of(lambda: normalized(Tensor(x), axes), case, KEEPDIMS)
        close(found, hat(x, axes), case, "One mean and one variance over all of these axes")
        assert found.dtype == np.float32, f"{case}: float32 became {found.dtype}"


def test_mean_and_variance_depend_on_x_for_gradients_too():
    leaf, g = Variable(np.array([[1.0, 2.0, 4.0]])), np.array([[1.0, 0.0, 0.0]])
    out = normalized(leaf, 1, 0)
    assert out.requires_grad, (
        "the result does not require a gradient: compute with the Tensor x, not with x.data"
    )
    out.backward(g)
    constants = "Mean and deviation depend on x: compute them with Tensors"
    constant = "The variance depends on x: compute it with Tensors"
    causes = {constants: [[0.80178, 0, 0]], constant: [[0.53452, -0.26726, -0.26726]]}
    case = "the gradient of x = [1, 2, 4] for the upstream gradient [1, 0, 0]"
    close(leaf.grad, [[0.22908, -0.34362, 0.11454]], case, causes, near=1e-4)


# %% normalized hidden points=1
def test_other_numbers_are_normalized():
    rng = np.random.default_rng(3)
    for shape, axes, eps in [((5,), 0, 0.1), ((4, 3), -1, 1e-3), ((2, 3, 4), (0, 1), 2.0)]:
        x, g = rng.normal(5, 3, size=shape), rng.normal(size=shape)
        yield gradients_of(normalized, g, x, axes=axes, eps=eps)
    yield normalized(Tensor([4.0, 4.0]), 0)


# %% learner-side
def layer_norm_with_saved(x, weight, bias, eps):
    """The output of layer_norm_forward, what it saved, and whether it changed an input."""
    given, saved = [x.copy(), weight.copy(), bias.copy()], {}
    layer_norm_forward(x[..., ::-1] + 1, weight, bias, eps, saved)  # what it stored is old
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
    case = f"the output for rows {x.tolist()}, weight {weight.tolist()}, bias {bias.tolist()}, "
    case += "eps 0"
    call = lambda: layer_norm_with_saved(x, weight, bias, 0)
    out, _, changed = result_of(call, case, KEEPDIMS)
    causes = {
        "You normalized over axis 0, the batch": [[-1, -7], [1, 13]],
        "Weight and bias are missing": [[-1, 1]] * 2,
        "The bias is missing": [[-1, 10]] * 2,
        "The weight is missing": [[-1, 4]] * 2,
        "The bias is added before the multiplication with the weight": [[-1, 40]] * 2,
    }
    close(out, [[-1.0, 13.0]] * 2, case, causes)
    x, one, zero = np.array([[0.0, 1.0]]), np.ones(2), np.zeros(2)
    out, _, _ = layer_norm_with_saved(x, one, zero, 0)
    close(out, [[-1, 1]], "the output for the row [0, 1]", "Its mean is 0.5: did // round it?")
    assert not changed, f"layer_norm_forward changed its input {' and '.join(changed)}"


def test_what_the_rule_needs_is_saved():
    x = np.array([[[1.0, 2.0, 6.0], [-4.0, 0.0, 1.0]]] * 2)
    weight, bias, eps = np.array([2.0, -1.0, 0.5]), np.array([1.0, 2.0, 3.0]), 0.5
    call = lambda: layer_norm_with_saved(x, weight, bias, eps)
    _, saved, _ = result_of(call, "layer_norm_forward", KEEPDIMS)
    for name in ("normalized", "scale"):
        assert name in saved, (
            f'saved should have the key "{name}", yours has {sorted(saved) or "no key"}'
        )
    wanted = kept(x, eps)
    scaled, scale = wanted["normalized"] * weight, wanted["scale"]
    causes = {
        "This is the output: keep x̂, without weight and bias": scaled + bias,
        "This is x̂ * weight: keep x̂ alone": scaled,
        "This is from an earlier call with the same dict": wanted["normalized"][..., ::-1],
    }
    close(saved["normalized"], wanted["normalized"], 'saved["normalized"]', causes)
    causes = {
        "This is the deviation: keep 1 divided by it": 1 / scale,
        "This is 1 / (variance + eps): the root is missing": scale**2,
    }
    close(saved["scale"], scale, 'saved["scale"]', causes)


def test_float32_stays_float32_and_constant_rows_are_finite():
    far = np.array([[10000.0, 10002.0, 10001.0, 10001.0]], "float32")
    one, zero = np.ones(4, "float32"), np.zeros(4, "float32")
    case = f"the output for {far.tolist()} in float32, weight 1, bias 0, eps 0.5"
    call = lambda: layer_norm_with_saved(far, one, zero, 0.5)
    out, _, _ = result_of(call, case, KEEPDIMS)
    close(out, [[-1, 1, 0, 0]], case, FAR)
    x, case = np.ones((3, 4), "float32"), "constant rows with the bias [0, 1, 2, 3]"
    weight, bias = np.ones(4, "float32"), np.arange(4, dtype="float32")
    call = lambda: layer_norm_with_saved(x, weight, bias, 1e-5)
    out, _, _ = result_of(call, case, KEEPDIMS)
    assert out.dtype == np.float32, f"float32 inputs should give float32, yours is {out.dtype}"
    close(out, [[0, 1, 2, 3]] * 3, f"the output for {case}")


# %% layer-norm-forward hidden points=1
def test_other_rows_are_normalized():
    rng = np.random.default_rng(4)
    for shape, eps in [((6,), 1e-5), ((5, 5), 0.1), ((2, 3, 4), 3.0), ((2, 1, 3, 2), 0)]:
        x, weight, bias = (rng.normal(size=s) for s in (shape, shape[-1:], shape[-1:]))
        out, saved, changed = layer_norm_with_saved(x, weight, bias, eps)
        yield out, saved["normalized"], saved["scale"]
        assert not changed, f"the inputs should not change: {changed}"


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
    return after_rule(layer_norm_rule, np.array(given[0]), *given[1:])


# %% layer-norm-rule points=8
def test_the_gradient_of_x_by_hand():
    x, one, zero = np.array([[1.0, 2.0, 4.0]]), np.ones(3), np.zeros(3)
    g, saved = np.array([[1.0, 0.0, 0.0]]), kept(x, 0)
    (dx, *_), _ = layer_rule(g, x, [one, zero], 0, saved)
    causes = {
        "Mean and deviation depend on x; this treats both as constants": [[0.80178, 0, 0]],
        "The deviation depends on x: the term with x̂ is missing": [
            [0.53452, -0.26726, -0.26726]
        ],
        "The mean depends on x: the mean of h is missing": [[0.49635, -0.07636, 0.38181]],
        "The factor scale is missing": np.array([[0.28571, -0.42857, 0.14286]]),
        "This is divided by scale instead of multiplied": [[0.35635, -0.53452, 0.17817]],
    }
    case = "x = [1, 2, 4], g = [1, 0, 0], weight 1: the gradient of x"
    close(dx, [[0.22908, -0.34362, 0.11454]], case, causes, near=1e-4)


def test_the_gradient_of_x_uses_the_weight():
    x, g, weight = (
        np.array([[row]]) for row in ([1.0, 2.0, 4.0], [1.0, 0.0, 2.0], [2.0, -1.0, 3.0])
    )
    (right,) = gradients_by_differences(lambda x: hat(x, -1, 0.5) * weight, [x], g)
    (without,) = gradients_by_differences(lambda x: hat(x, -1, 0.5), [x], g)
    (dx, *_), _ = layer_rule(g, x, [weight[0, 0], np.zeros(3)], 0.5, kept(x, 0.5))
    causes = {
        'The variance is computed again, without eps: use saved["scale"]': right
        * (1 + 0.5 / x.var()) ** 0.5,
        "The factor weight is missing: h = g * weight": without,
        "The weight belongs into h = g * weight, before the means are taken": without * weight,
    }
    case = "x = [[[1, 2, 4]]], g = [[[1, 0, 2]]], weight [2, -1, 3], eps 0.5: the gradient of x"
    close(dx, right, case, causes, near=1e-4)


def test_shifting_and_scaling_x_change_nothing():
    rng = np.random.default_rng(5)
    x, weight, g = rng.normal(size=(4, 6)), rng.normal(size=6), rng.normal(size=(4, 6))
    saved = kept(x, 0)
    (dx, *_), _ = layer_rule(g, x, [weight, np.zeros(6)], 0, saved)
    case = "adding a number to a row of x does not change the output, so each row of its "
    case += "gradient should add up to 0; the sums"
    cause = "Is the mean of h over the last axis subtracted?"
    close(dx.sum(-1), np.zeros(4), case, cause)
    case = "scaling a row of x does not change the output, so each row of its gradient times "
    case += "x̂ should add up to 0; the sums"
    cause = "Is the part along x̂ subtracted, with the mean of h * x̂ over the last axis?"
    close((dx * saved["normalized"]).sum(-1), np.zeros(4), case, cause)


def test_the_gradients_of_weight_and_bias_add_up_over_all_rows():
    x = np.array([[[1.0, 5.0], [8.0, 2.0]], [[0.0, 2.0], [3.0, 1.0]]])
    g = np.array([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]])
    given = kept(x, 0.5)
    gradients, _ = layer_rule(g, x, [np.array([3.0, 4.0]), np.zeros(2)], 0.5, given)
    has_length(gradients, ("x", "weight", "bias"))
    products = g * given["normalized"]
    right = products.reshape(-1, 2).sum(0)
    causes = {
        "Every row uses the weight: add up over all axes but the last": products.sum(0),
        "It is g * x̂, summed: x̂ is multiplied by g, not by g * weight": right * [3.0, 4.0],
        "This is the mean over the rows: gradients are added up": right / 4,
        "The weight multiplies x̂, not x": (g * x).reshape(-1, 2).sum(0),
        "This is the gradient of the bias": [16.0, 20.0],
    }
    case = "the gradient of the weight for an input of shape (2, 2, 2)"
    close(gradients[1], right, case, causes)
    causes = {
        "Every row uses the bias: add up over all axes but the last": g.sum(0),
        "This is the mean over the rows: gradients are added up": [4.0, 5.0],
        "This is the gradient of the weight": right,
    }
    case = "the gradient of the bias for an input of shape (2, 2, 2)"
    close(gradients[2], [16.0, 20.0], case, causes)
    one = {name: array[0, 0] for name, array in given.items()}
    single, _ = layer_rule(g[0, 0], x[0, 0], [np.array([3.0, 4.0]), np.zeros(2)], 0.5, one)
    case = "for a single row, of shape (2,), there is nothing to add up: the gradient of the "
    close(single[1], products[0, 0], f"{case}weight")
    close(single[2], g[0, 0], f"{case}bias")


def test_the_rule_changes_nothing():
    rng = np.random.default_rng(6)
    x, g = rng.normal(size=(2, 3)).astype("float32"), rng.normal(size=(2, 3)).astype("float32")
    parameters = [rng.normal(size=3).astype("float32") for _ in range(2)]
    gradients, changed = layer_rule(g, x, parameters, 1e-5, kept(x, np.float32(1e-5)))
    assert not changed, (
        "layer_norm_rule changed g, an input or a saved array, which are still needed: "
        "make new arrays"
    )
    has_length(gradients, ("x", "weight", "bias"))
    close(gradients[2], g.sum(0), "the gradient of the bias")
    dtypes = [part.dtype.name for part in gradients]
    equal(dtypes, ["float32"] * 3, "the dtypes of the gradients for float32")


# %% layer-norm-rule hidden points=2
def test_the_rule_agrees_with_central_differences():
    rng = np.random.default_rng(7)
    for shape, eps in [((4,), 0.5), ((3, 3), 1e-3), ((2, 2, 5), 2.0)]:
        sizes = shape, shape[-1:], shape[-1:], shape
        x, weight, bias, g = (rng.normal(size=size) for size in sizes)
        found, changed = layer_rule(g, x, [weight, bias], eps, kept(x, eps))
        yield list(found)
        assert not changed


# %% layer-norm points=3
def test_weight_and_bias_are_parameters():
    layer = LayerNorm((2, 3))
    parameters = [
        (name, tuple(part.shape), part.dtype.name) for name, part in layer.named_parameters()
    ]
    wanted = [("weight", (2, 3), "float32"), ("bias", (2, 3), "float32")]
    equal(parameters, wanted, "the parameters of LayerNorm((2, 3))", "Are both Variables?")
    close(layer.weight, np.ones((2, 3)), "at first, the weight")
    close(layer.bias, np.zeros((2, 3)), "at first, the bias")


def test_weight_and_bias_can_be_left_out():
    for options, wanted in [
        ({"bias": False}, ["weight"]),
        ({"elementwise_affine": False}, []),
        ({"elementwise_affine": False, "bias": True}, []),
    ]:
        layer = LayerNorm(4, **options)
        names = [name for name, _ in layer.named_parameters()]
        assert names == wanted, (
            f"LayerNorm(4, {', '.join(f'{k}={v}' for k, v in options.items())}) should have "
            f"the parameters {wanted}, yours has {names}"
        )
        out = layer(Tensor([[1.0, 2.0, 3.0, 4.0]]))
        close(out, hat([[1.0, 2.0, 3.0, 4.0]], 1), "its output for [1, 2, 3, 4]", near=1e-4)


def test_the_layer_normalizes_the_last_axes_of_each_example():
    x = np.array([[[1.0, 2.0], [3.0, 8.0]], [[0.0, 0.0], [-5.0, 1.0]]], "float32")
    weight, bias = np.array([[1, 2], [3, 4]]), np.array([[0, 10], [20, 30]])
    layer, right = LayerNorm((2, 2), eps=0.25), hat(x, (1, 2), 0.25)
    layer.load_state_dict({"weight": weight, "bias": bias})
    out = layer(Tensor(x))
    causes = {
        "Is eps passed on?": hat(x, (1, 2)) * weight + bias,
        "Are weight and bias passed on?": right,
        "Is the bias passed on?": right * weight,
        "Is the whole normalized_shape passed on?": hat(x, 2, 0.25) * weight + bias,
    }
    case = "the output of LayerNorm((2, 2), eps=0.25) with other weights and biases"
    close(out, right * weight + bias, case, causes, near=1e-4)
    out.backward(np.ones(out.shape, "float32"))
    assert layer.weight.grad is not None and layer.bias.grad is not None, (
        "after backward(), weight and bias should have a gradient; yours have none: call "
        "layer_norm with the Variables themselves"
    )
    close(layer.bias.grad, [[2, 2], [2, 2]], "the gradient of the bias for two examples")


# %% layer-norm hidden points=1
def test_other_layer_norms():
    rng = np.random.default_rng(8)
    for shape, size in [((3, 5), 5), ((2, 3, 4), (3, 4)), ((7,), [7])]:
        layer = LayerNorm(normalized_shape=size, eps=0.1)
        yield layer(Tensor(rng.normal(2, 3, size=shape).astype("float32")))
        yield sorted(layer.state_dict())
    x, weight, bias, g = (rng.normal(size=size) for size in [(2, 5), 5, 5, (2, 5)])
    options = {"normalized_shape": 5, "weight": weight, "bias": bias, "eps": 0.1}
    yield gradients_of(layer_norm, g, x, **options)
    layer, again = LayerNorm(3), LayerNorm(3)
    assert layer.weight is not again.weight and layer.bias is not layer.weight
    yield layer(Tensor(np.array([[1.0, 2.0, 6.0]]))).dtype.name
    refused(lambda: LayerNorm(3)(Tensor(np.ones((2, 4), "float32"))), "shape (2, 4)")


# %% running points=2
def test_momentum_is_the_share_of_the_new_value():
    causes = {
        "This is 0.9 * new: in PyTorch's batch norm, momentum belongs to the new value": 9.0,
        "This is a sum, not an average: the old value counts 1 - momentum": 10.0,
    }
    case = "an average of 0 and the new value 10, with momentum 0.1"
    close(running(0.0, 10.0, momentum=0.1), 1.0, case, causes)
    causes = {
        "In PyTorch's batch norm, momentum is the share of the new value": 8.5,
        "The old value counts 1 - momentum": 6.5,
    }
    case = "an average of 4 and the new value 10, with momentum 0.25"
    close(running(4.0, 10.0, momentum=0.25), 5.5, case, causes)


def test_averages_of_arrays():
    old, new = np.array([1.0, -2.0]), np.array([3.0, 8.0])
    assert running_keeps(old, new), "running changed one of its arguments: return a new array"
    for momentum, wanted in [(0.5, [2.0, 3.0]), (0, [1.0, -2.0]), (1, [3.0, 8.0])]:
        case = f"the average of [1, -2] and [3, 8] with momentum {momentum}"
        close(running(old, new, momentum), wanted, case)


# %% learner-side
def running_keeps(old, new):
    """Whether `running` leaves its arguments as they are."""
    one, two = old.copy(), new.copy()
    running(one, two, 0.5)
    return bool(np.array_equal(one, old) and np.array_equal(two, new))


# %% running hidden points=1
def test_other_averages():
    value = 7.0
    for _ in range(50):
        value = running(value, 2.0, 0.2)
    close(value, 2 + 5 * 0.8**50, "the average after 50 steps", near=1e-9)
    case = "the average of the float32 arrays [1, 2] and [5, 10] with momentum 0.75"
    close(running(np.float32([1, 2]), np.float32([5, 10]), 0.75), [4, 8], case)


# %% learner-side
def batch_normed(x, mean, var, **options):
    """The output of batch_norm, and the running statistics afterwards."""
    mean, var = mean.copy(), var.copy()
    out = batch_norm(Tensor(x), mean, var, **options)
    return out.data, mean, var


# %% batch-norm points=6
def test_training_normalizes_each_channel_over_the_batch():
    x = np.array([[1.0, 2.0], [3.0, 8.0], [8.0, 2.0]])
    mean, var, options = np.array([100.0, 100.0]), np.ones(2), {"training": True, "eps": 0.5}
    case = f"the output in training for {x.tolist()} (3 examples, 2 channels), eps 0.5,"
    out, *_ = result_of(lambda: batch_normed(x, mean, var, **options), case, KEEPDIMS)
    causes = {
        "These are the running statistics: in training, use the batch's own": (x - 100)
        / 1.5**0.5,
        "You normalized each example; batch norm normalizes each channel": hat(x, 1, 0.5),
        "Is eps used?": hat(x, 0),
    }
    close(out, hat(x, 0, 0.5), case, causes)
    options |= {"weight": Tensor([2.0, 3.0]), "bias": Tensor([10.0, 20.0])}
    out, *_ = batch_normed(x, mean, var, **options)
    causes = {
        "Neither is used: the given last lines apply them to `out`": hat(x, 0, 0.5),
        "The bias is missing": hat(x, 0, 0.5) * [2, 3],
        "The weight is missing": hat(x, 0, 0.5) + [10, 20],
    }
    case += " weight [2, 3] and bias [10, 20],"
    close(out, hat(x, 0, 0.5) * [2, 3] + [10, 20], case, causes)


def test_images_have_one_mean_per_channel():
    x, case = np.random.default_rng(9).normal(2, 3, size=(2, 3, 2, 2)), "images (2, 3, 2, 2)"
    options = {"training": True, "momentum": 1.0}
    call = lambda: batch_normed(x, np.zeros(3), np.ones(3), **options)
    out, mean, var = result_of(call, case, KEEPDIMS)
    not_channels = "The mean is over the batch and both axes of the image, not over channels"
    causes = {
        "The mean is over the batch and over both axes of the image": hat(x, 0),
        not_channels: hat(x, (1, 2, 3)),
    }
    close(out, hat(x, (0, 2, 3)), f"the output for {case}", causes)
    case = f"after training on {case} with momentum 1, the running"
    close(mean, x.mean((0, 2, 3)), f"{case} mean")
    causes = {
        OVER_N: x.var((0, 2, 3)),
        "Divide by n - 1: n is 8, the numbers of a channel, not 2, the images": 2
        * x.var((0, 2, 3)),
    }
    close(var, x.var((0, 2, 3), ddof=1), f"{case} variance", causes)


def test_training_updates_the_running_statistics():
    x, options = np.array([[0.0], [2.0], [4.0], [6.0]]), {"training": True, "momentum": 0.1}
    _, mean, var = batch_normed(x, np.array([10.0]), np.array([1.0]), **options)
    case = "the running mean was 10, the batch mean is 3, momentum is 0.1: the new running mean"
    causes = {
        "It did not change. Write into the array: mean[...] = ...": [10.0],
        "The running mean moves by the share momentum towards the batch": [3.7],
    }
    close(mean, [9.3], case, causes)
    case = "the running variance was 1, momentum is 0.1, the squared deviations of the 4 "
    case += "numbers add up to 20: the new running variance, 0.9 * 1 + 0.1 * 20 / 3,"
    causes = {
        OVER_N: [0.9 + 20 / 40],
        "It did not change. Write into the array: var[...] = ...": [1.0],
        "Update the running variance without eps": [0.9 + 20 / 30 + 1e-6],
    }
    close(var, [0.9 + 20 / 30], case, causes, near=1e-9)
    far, options = (x + 10000).astype("float32"), {"training": True, "momentum": 1.0}
    _, _, var = batch_normed(far, np.zeros(1), np.ones(1), **options)
    case = "the running variance with momentum 1 of 10000, 10002, 10004, 10006 in float32"
    close(var, [20 / 3], case, FAR, near=1e-4)


def test_evaluation_uses_the_running_statistics():
    x = np.array([[5.0, 1.0], [5.0, 1.0], [8.0, 4.0]])
    mean, var = np.array([5.0, 0.0]), np.array([4.0, 0.25])
    case = f"in evaluation, running mean {mean.tolist()}, running variance {var.tolist()}, for "
    case += str(x.tolist())
    call = lambda: batch_normed(x, mean, var, eps=0)
    out, mean_after, var_after = result_of(call, case, KEEPDIMS)
    wanted = [[0.0, 2.0], [0.0, 2.0], [1.5, 8.0]]
    of_the_batch = "These are the statistics of the batch: then the output for one example "
    of_the_batch += "depends on its neighbours"
    no_root = "The running variance is not a deviation: divide by its root"
    moved = "In evaluation no statistics move; these moved before they were used"
    new = (x - (0.9 * mean + 0.1 * x.mean(0))) / np.sqrt(0.9 * var + 0.1 * x.var(0, ddof=1))
    only_mean = (x - (0.9 * mean + 0.1 * x.mean(0))) / np.sqrt(var)
    causes = {of_the_batch: hat(x, 0, 0), no_root: [[0, 4], [0, 4], [0.75, 16]]}
    causes |= {moved: new, f"{moved}.": only_mean}
    close(out, wanted, f"{case} the output", causes)
    expect(mean_after, mean, "in evaluation the running statistics should stay: the mean")
    expect(var_after, var, "in evaluation the running statistics should stay: the variance")
    case = "in evaluation one example is enough"
    result_of(lambda: batch_norm(Tensor(x[2:]), mean, var), case, kind=Exception)
    alone, *_ = batch_normed(x[2:], mean, var, eps=0)
    close(alone, wanted[2:], "the output for the last example alone")
    given = [array.astype("float32") for array in (x, mean, var)]
    equal(batch_normed(*given)[0].dtype.name, "float32", "the dtype for float32 in evaluation")
    images = np.arange(8.0).reshape(1, 2, 2, 2)
    case = "the output in evaluation for an image of two channels"
    out, *_ = result_of(lambda: batch_normed(images, mean, var, eps=0), case, KEEPDIMS)
    cause = "Statistics of shape (C,) need the shape (1, C, 1, 1) to align with the channels"
    close(out, (images - mean[:, None, None]) / [[[2]], [[0.5]]], case, cause)


def test_gradients_go_through_the_statistics_of_the_batch():
    x, g = np.array([[1.0], [2.0], [4.0]]), np.array([[1.0], [0.0], [0.0]])
    options = {"running_mean": None, "running_var": None, "training": True, "eps": 0}
    _, (gradient,) = gradients_of(batch_norm, g, x, **options)
    cause = "Mean and variance of the batch are functions of x: compute with Tensors"
    case = "the gradient of x = [[1], [2], [4]] for the upstream gradient [[1], [0], [0]]"
    causes = {cause: [[0.80178], [0], [0]]}
    close(gradient, [[0.22908], [-0.34362], [0.11454]], case, causes, near=1e-4)
    options = {"running_mean": np.array([5.0]), "running_var": np.array([3.0]), "eps": 1.0}
    case = "in evaluation, running variance 3, eps 1, upstream gradient [[1], [0], [0]]: the "
    case += "gradient of x"
    call = lambda: gradients_of(batch_norm, g, x, **options)
    _, (gradient,) = result_of(call, case, RECORD, RuntimeError)
    close(gradient, [[0.5], [0], [0]], case, "The running statistics are constants here")


# %% batch-norm hidden points=2
def test_other_batches():
    rng = np.random.default_rng(10)
    for shape in [(5, 3), (3, 3), (2, 4, 3), (3, 2, 2, 5)]:
        x, g = rng.normal(1, 2, size=shape), rng.normal(size=shape)
        weight, bias, mean, var = rng.uniform(0.5, 2, size=(4, shape[1]))

        def call(x, weight, bias):
            return batch_norm(x, None, None, weight, bias, True, 0.3, 0.1)

        yield gradients_of(call, g, x, weight, bias)
        options = {"weight": weight, "bias": bias, "momentum": 0.3, "eps": 0.1}
        yield batch_normed(x, mean, var, training=True, **options)
        yield batch_normed(x, mean, var, **options)


# %% batch-norm-layer points=5
def test_a_batch_norm_has_two_parameters_and_two_buffers():
    norm = BatchNorm1d(3)
    names = [name for name, _ in norm.named_parameters()]
    cause = "statistics are not learned, weight and bias are"
    equal(names, ["weight", "bias"], "the names of the parameters of BatchNorm1d(3)", cause)
    for name, value in [("weight", 1), ("bias", 0), ("running_mean", 0), ("running_var", 1)]:
        close(getattr(norm, name), np.full(3, value), f"at first, .{name}")
        dtype = np.asarray(getattr(norm, name)).dtype.name
        equal(dtype, "float32", f"the dtype of .{name}")
    names = sorted(norm.state_dict())
    assert names == ["bias", "running_mean", "running_var", "weight"], (
        "a state dict without the running statistics cannot restore the network: it should "
        f"hold bias, running_mean, running_var and weight, yours holds {names}. Use "
        "register_buffer"
    )


def test_training_and_evaluation_are_two_functions():
    norm, x = BatchNorm1d(1, momentum=1.0, eps=1e-9), np.array([[2.0], [4.0], [9.0]], "float32")
    case = "in training mode, the output for [[2], [4], [9]]"
    close(norm(Tensor(x)), hat(x, 0), case, near=1e-4)
    close(norm.running_mean, [5.0], "the running mean after one batch, momentum 1")
    close(norm.running_var, [13.0], "the running variance after one batch, momentum 1")
    norm.eval()
    case = "in evaluation mode, after training on numbers of mean 5, the output for [[5], [5]]"
    causes = {"The running statistics are still 0 and 1: the input came back": [[5.0], [5.0]]}
    close(norm(Tensor([[5.0], [5.0]])), [[0.0], [0.0]], case, causes, near=1e-4)
    case = "in evaluation mode, with mean 5 and variance 13, the output for [[5], [18]]"
    causes = {"These are the statistics of the batch: pass self.training": [[-1.0], [1.0]]}
    close(norm(Tensor([[5.0], [18.0]])), [[0.0], [13**0.5]], case, causes, near=1e-4)


def test_running_statistics_are_no_part_of_the_graph():
    norm, x = BatchNorm1d(2), Variable(np.array([[1.0, 2.0], [3.0, 5.0]], "float32"))
    for _ in range(2):
        norm(x).sum().backward()
    mean = norm.running_mean
    recorded = getattr(mean, "creator", None) is not None
    assert not recorded and not getattr(mean, "requires_grad", False), (
        "the running statistics were recorded: each step would lengthen the computation graph, "
        "and the memory would grow. Keep numbers only"
    )
    assert norm.weight.grad is not None and norm.bias.grad is not None, (
        "after backward(), weight and bias should have a gradient; yours have none"
    )
    close(norm.bias.grad, [4.0, 4.0], "the gradient of the bias after two batches of 2 rows")


def test_a_saved_network_evaluates_as_before():
    rng = np.random.default_rng(11)
    first, second = BatchNorm2d(2, eps=0.5), BatchNorm2d(2, eps=0.5)
    mean, var, weight, bias = np.zeros(2), np.ones(2), np.array([2, -1]), np.array([3, 0.5])
    first.load_state_dict({**first.state_dict(), "weight": weight, "bias": bias})
    for _ in range(3):
        images = rng.normal(4, 3, size=(3, 2, 2, 2)).astype("float32")
        first(Tensor(images))
        mean = 0.9 * mean + 0.1 * images.mean((0, 2, 3))
        var = 0.9 * var + 0.1 * images.var((0, 2, 3), ddof=1)
    second.load_state_dict(first.state_dict())
    x = rng.normal(size=(2, 2, 2, 2)).astype("float32")
    mean, var, weight, bias = [a[:, None, None] for a in (mean, var, weight, bias)]
    right = (x - mean) / (var + 0.5) ** 0.5
    causes = {
        "Are weight and bias passed on in evaluation?": right,
        "Is eps passed on in evaluation?": (x - mean) / (var + 1e-5) ** 0.5 * weight + bias,
        "Are the statistics in the state dict?": x / 1.5**0.5 * weight + bias,
    }
    for layer, case in [
        (first, "a layer trained on three batches, eps 0.5, in evaluation mode"),
        (second, "another layer with its saved state, in evaluation mode"),
    ]:
        wanted = right * weight + bias
        close(layer.eval()(Tensor(x)), wanted, f"the output of {case}", causes, 1e-4)


def test_options_of_batch_norm_layers():
    norm = BatchNorm1d(2, affine=False)
    for name in ("weight", "bias"):
        equal(getattr(norm, name), None, f"with affine=False, .{name}")
    norm = BatchNorm1d(2, track_running_stats=False)
    for name in ("running_mean", "running_var"):
        equal(getattr(norm, name), None, f"with track_running_stats=False, .{name}")
    x = [[1.0, 2.0], [3.0, 8.0]]
    case = "without running statistics, evaluation mode also uses the batch's mean and variance"
    out = result_of(lambda: norm.eval()(Tensor(x)), case, kind=Exception)
    close(out, hat(x, 0), f"{case}: the output", near=1e-4)
    norm = BatchNorm1d(2, eps=3.0, momentum=0.5)
    close(norm(Tensor(x)), hat(x, 0, 3.0), "the output with eps=3", "Is eps passed on?")
    close(
        norm.running_mean,
        [1.0, 2.5],
        "the running mean with momentum=0.5",
        "Is momentum passed on?",
    )


# %% batch-norm-layer hidden points=1
def test_other_batch_norm_layers():
    rng = np.random.default_rng(12)
    for kind, shape in [
        (BatchNorm1d, (4, 3)),
        (BatchNorm1d, (4, 3, 2)),
        (BatchNorm2d, (2, 3, 2, 2)),
    ]:
        norm = kind(num_features=3, eps=0.1, momentum=0.2)
        norm.load_state_dict({name: rng.uniform(1, 2, size=3) for name in norm.state_dict()})
        x = Tensor(rng.normal(size=shape).astype("float32"))
        yield norm(x)
        yield norm.running_mean, norm.running_var
        norm.eval()
        yield norm(x)
        yield norm.running_mean, norm.running_var
    for kind, shape in [(BatchNorm2d, (4, 3)), (BatchNorm1d, (4, 2))]:
        refused(lambda: kind(3)(Tensor(np.ones(shape, "float32"))), f"shape {shape}")
    one, two = BatchNorm1d(2), BatchNorm1d(2)
    one(Tensor(np.array([[1.0, 2.0], [3.0, 4.0]], "float32")))
    yield two.running_mean, one.bias
    yield two(Tensor(np.array([[1.0, 2.0], [3.0, 4.0]]))).dtype.name
    yield sorted(BatchNorm1d(2, affine=False).state_dict())


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
    case = "[[1, 7], [-3, 3]] has the mean squares 25 and 9; with weight [1, 10] the output"
    call = lambda: rms_norm_with_saved(x, weight, 0)
    out, saved, changed = result_of(call, case, KEEPDIMS)
    causes = {
        "Nothing is subtracted: RMS normalization does not center": [[-1, 10], [-1, 10]],
        "Is the weight missing?": [[0.2, 1.4], [-1, 1]],
        "Each row has its own mean square, yours is one for all rows": x * weight / 17**0.5,
        "This is divided by the sum of the squares, not by their mean": [
            [0.14142, 9.89949],
            [-0.70711, 7.07107],
        ],
        "This is divided by the standard deviation: take the root of the mean of x * x": [
            [1 / 3, 70 / 3],
            [-1, 10],
        ],
    }
    close(out, [[0.2, 14.0], [-1.0, 10.0]], case, causes, near=1e-4)
    assert not changed, "rms_norm_forward changed an input"
    x, weight = np.array([[[1.0, 2.0, 2.0]], [[0.0, 0.0, 0.0]]]), np.array([1.0, 1.0, 4.0])
    case = "the output for [1, 2, 2], mean square 3, eps 1, weight [1, 1, 4]"
    out, saved, _ = result_of(lambda: rms_norm_with_saved(x, weight, 1.0), case, KEEPDIMS)
    wanted = kept(x, 1.0, center=False)
    close(out, [[[0.5, 1, 4]], [[0, 0, 0]]], case)
    for name in ("normalized", "scale"):
        assert name in saved, f'saved should have the key "{name}", yours has {sorted(saved)}'
        close(saved[name], wanted[name], f'saved["{name}"]', "As in layer_norm_forward")
    out, *_ = rms_norm_with_saved(x.astype("float32"), weight.astype("float32"), 1.0)
    equal(out.dtype.name, "float32", "the dtype of the output for float32 inputs")


def test_the_gradients_of_rms_norm():
    x, g, weight = np.array([[1.0, 7.0]]), np.array([[1.0, 0.0]]), np.array([3.0, 1.0])
    gradients, changed = rms_rule(g, x, [weight], 0, kept(x, 0, center=False))
    has_length(gradients, ("x", "weight"))
    causes = {
        "The root of the mean square depends on x": [[0.6, 0]],
        "Nothing is centered here: subtract no mean of h": [[0.288, -0.384]],
        "Multiply g with the weight first": [[0.196, -0.028]],
    }
    case = "x = [1, 7], g = [1, 0], weight [3, 1]: the gradient of x"
    close(gradients[0], [[0.588, -0.084]], case, causes, near=1e-4)
    causes = {
        "It is g * x̂, summed: x̂ is multiplied by g, not by g * weight": [0.6, 0],
        "The weight multiplies x̂, not x": [1.0, 0.0],
        "This is the gradient of a bias: multiply g by x̂": [1.0, 0.0],
        "Here only g is multiplied by the weight: multiply g by x̂": [3.0, 0.0],
    }
    case = "x = [1, 7], g = [1, 0], weight [3, 1]: the gradient of the weight"
    close(gradients[1], [0.2, 0.0], case, causes)
    x, g = np.array([[[1.0, 7.0]], [[-3.0, 3.0]]]), np.array([[[1.0, 2.0]], [[3.0, 4.0]]])
    rows, _ = rms_rule(g, x, [weight], 0, kept(x, 0, center=False))
    case = "the gradient of the weight for an input of shape (2, 1, 2)"
    cause = "Every row uses the weight: add up over all axes but the last"
    close(rows[1], [-2.8, 6.8], case, cause)
    assert not changed, "rms_norm_rule changed one of its arguments: make new arrays"


def test_rms_norm_agrees_with_its_composed_form():
    rng = np.random.default_rng(13)
    x, weight, g = (rng.normal(size=size) for size in [(2, 3, 4), 4, (2, 3, 4)])

    def composed(x, weight):
        return x / ((x * x).mean(-1, keepdims=True) + 0.1).sqrt() * weight

    out, gradients = gradients_of(lambda x, weight: rms_norm(x, 4, weight, 0.1), g, x, weight)
    wanted, right = gradients_of(composed, g, x, weight)
    close(out, wanted, "the output of rms_norm, as of its Tensor operations,", near=1e-8)
    for name, one, two in zip(("x", "weight"), gradients, right):
        close(one, two, f"the gradient of {name} for an input of shape (2, 3, 4)", near=1e-8)


# %% rms-norm hidden points=1
def test_other_rms_norms():
    rng = np.random.default_rng(14)
    for shape, eps in [((5,), 0.3), ((3, 3), 1e-6), ((2, 2, 3), 1.5)]:
        x, weight, g = (rng.normal(size=s) for s in (shape, shape[-1:], shape))
        out, _, changed = rms_norm_with_saved(x, weight, eps)
        yield out
        assert not changed
        found, changed = rms_rule(g, x, [weight], eps, kept(x, eps, center=False))
        yield list(found)
        assert not changed
    x = np.ones((2, 3), "float32")
    yield rms_norm_with_saved(x, x[0], 1e-6)[0]
    yield RMSNorm(3, eps=0)(Tensor([[3.0, -3.0, 3.0]]))


# %% folded points=6
def test_a_dense_layer_and_its_batch_norm_become_one():
    layer = dense([[1.0, 2.0], [3.0, 4.0]], [5.0, 6.0])
    norm = set_norm(BatchNorm1d(2, eps=0), [3, 5], [10, 20], [1, 2], [9, 25])
    case = (
        "the factor is weight / standard deviation, [3, 5] / [3, 5] = [1, 1]: the new weights"
    )
    weights, bias = result_of(lambda: folded(layer, norm), case, KEEPDIMS)
    causes = {"The factor needs the root of the running variance": [[1 / 3, 0.4], [1, 0.8]]}
    close(weights, [[1.0, 2.0], [3.0, 4.0]], case, causes)
    causes = {
        "The running mean is subtracted from the bias of the layer": [15.0, 26.0],
        "Was the bias of the norm forgotten?": [4.0, 4.0],
        "Was the bias of the layer forgotten?": [9.0, 18.0],
    }
    case = "bias [5, 6], running mean [1, 2], factor [1, 1], bias of the norm [10, 20]; the "
    close(bias, [14.0, 24.0], case + "folded bias", causes)
    for array, name in ((weights, "weights"), (bias, "bias")):
        expect(array, array, f"the folded {name} of float32 layers", dtype="float32")


def test_the_folded_layer_computes_the_same():
    rng = np.random.default_rng(15)
    cause = "Which axis of the weights is the output? The last of a Dense, the first of a "
    cause += "Conv2d. And does the factor also multiply the bias?"
    for layer, norm, x in [
        (Dense(3, 2, rng=1), BatchNorm1d(2, eps=0.1), rng.normal(size=(4, 3))),
        (Dense(3, 3, rng=1), BatchNorm1d(3, eps=0.1), rng.normal(size=(4, 3))),
        (Dense(3, 2, bias=False, rng=1), BatchNorm1d(2), rng.normal(size=(4, 3))),
        (Dense(3, 2, rng=1), BatchNorm1d(2, affine=False), rng.normal(size=(4, 3))),
        (Conv2d(2, 3, 2, rng=1), BatchNorm2d(3), rng.normal(size=(2, 2, 4, 4))),
        (Conv2d(2, 2, 2, rng=1), BatchNorm2d(2), rng.normal(size=(2, 2, 4, 4))),
    ]:
        n = norm.num_features
        numbers = rng.uniform(1, 3, size=(5, n))
        if layer.bias is not None:
            layer.load_state_dict(layer.state_dict() | {"bias": numbers[4]})
        set_norm(norm, *numbers[:4])
        x = Tensor(x.astype("float32"))
        wanted = np.asarray(norm(layer(x)))
        case = f"{layer} then {norm}: the folded"
        errors = {
            "'NoneType'": "The bias of the layer, and weight and bias of the norm, may be None"
        }
        errors[""] = cause
        weights, bias = result_of(lambda: folded(layer, norm), f"{case} layer", errors)
        equal(np.shape(weights), tuple(layer.weights.shape), f"{case} weights' shape")
        equal(np.shape(bias), (n,), f"{case} bias's shape")
        case = f"the output of the folded layer of {layer} and {norm}, on random inputs,"
        close(with_numbers(layer, weights, bias)(x), wanted, case, cause, near=1e-4)


def test_folding_changes_neither_layer():
    layer = dense([[1.0, 2.0]], [5.0, 6.0])
    norm = set_norm(BatchNorm1d(2, eps=0), [3, 10], [10, 20], [1, 2], [9, 25])
    before = [layer.state_dict(), norm.state_dict()]
    weights, bias = folded(layer, norm)
    close(weights, [[1.0, 4.0]], "the folded weights for the factors [1, 2]")
    close(bias, [14.0, 28.0], "the folded bias")
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
    yield folded(dense([[2.0, 3.0]]), norm)
    norm = set_norm(BatchNorm2d(1, eps=0), [2], [7], [3], [16])
    conv = Conv2d(1, 1, 1, bias=False)
    conv.load_state_dict({"weights": [[[[6]]]]})
    yield folded(conv, norm)


# %% residual points=3
def test_the_input_is_added():
    layer = Residual(dense([[0.0, 10.0], [20.0, 0.0]]))
    causes = {
        "This is inner(x) alone": [[40.0, 10.0]],
        "inner(x) was added twice": [[81.0, 22.0]],
        "This is inner(x + inner(x)) or similar": [[240.0, 410.0]],
    }
    found = layer(Tensor(np.array([[1.0, 2.0]], "float32")))
    case = "x = [1, 2] and inner(x) = [40, 10]; x + inner(x)"
    close(found, [[41.0, 12.0]], case, causes)
    calls = []
    Residual(lambda x: calls.append(1) or x)(Tensor([1.0]))
    equal(len(calls), 1, "how often one call calls inner", "its result is `change`")
    assert len(layer.parameters()) == 1, "the parameters of inner should be found in Residual"


def test_the_gradient_passes_unchanged_beside_inner():
    leaf, g = Variable(np.array([[1.0, 2.0]], "float32")), np.array([[3.0, 4.0]], "float32")
    out = Residual(dense([[0.0, 0.0], [0.0, 0.0]]))(leaf)
    assert out.requires_grad, "the result should be recorded: add Tensors, not arrays"
    out.backward(g)
    case = "the gradient of x for the upstream gradient [3, 4]"
    cause = "The sum passes the upstream gradient to x unchanged"
    close(leaf.grad, [[3.0, 4.0]], f"inner has only zeros as weights; {case}", cause)
    leaf = Variable(np.array([[1.0, 2.0]], "float32"))
    Residual(dense([[2.0, 0.0], [0.0, 5.0]]))(leaf).backward(g)
    cause = "Add the gradient past inner, [3, 4], and the gradient through inner, [6, 20]"
    close(leaf.grad, [[9.0, 24.0]], f"inner multiplies with [2, 5]; {case}", cause)


# %% learner-side
def residual_of_inplace():
    """x + inner(x), with an inner function that returns its argument, and whether x changed."""
    x = Tensor(np.array([1.0, 2.0]))
    out = Residual(lambda x: x)(x)
    return out.data, x.data


# %% residual hidden points=1
def test_other_residuals():
    out, x = residual_of_inplace()
    yield out
    yield x
    rng = np.random.default_rng(16)
    x = rng.normal(size=(2, 3)).astype("float32")
    w = rng.normal(size=(3, 3)).astype("float32")
    yield Sequential(Residual(dense(w)), Residual(Sequential(Tensor.tanh, dense(w))))(Tensor(x))
