# The checks of lesson 04, by exercise. `check("linear")` in the chapter runs the visible ones.

# %% setup
import math

import numpy as np

from tinytorch.core.tensor import Tensor, Variable

from checking import equal, expect, refused, result_of


def pairs_in(result, function):
    """The (name, object) pairs that this function returned, a list."""
    assert result is not None, f"{function} returned None: is `return` missing?"
    pairs = []
    for pair in result:
        try:
            name, part = pair
        except (TypeError, ValueError):
            assert False, f"{function} should return a list of pairs, {pair!r:.60} is no pair"
        pairs.append((name, part))
    return pairs


def likely_cause(variance, causes):
    """The text of the variance in `causes`, {variance: text}, that is near this one, or ""."""
    near = [text for value, text in causes.items() if abs(variance / value - 1) < 0.1]
    return f". {near[0]}" if near else ""


def draws_from_the_generator(init):
    """Assert that `init` draws from its argument rng."""
    for seed in (0, 5):
        first, again, other = [
            np.asarray(init(30, 20, rng=rng)) for rng in (seed, seed, seed + 1)
        ]
        assert np.array_equal(first, again), (
            f"two calls with rng={seed} should draw the same weights: draw from generator(rng)"
        )
        assert not np.array_equal(first, other), (
            f"rng={seed} and rng={seed + 1} drew the same weights: draw from generator(rng)"
        )
    takes_a_generator(init)


def follows_manual_seed(init):
    """Assert that `init` without rng draws from the shared generator."""
    manual_seed(3)
    first, second = np.asarray(init(30, 20)), np.asarray(init(30, 20))
    manual_seed(3)
    again = np.asarray(init(30, 20))
    assert np.array_equal(first, again), (
        "with rng=None, the weights drawn after manual_seed(3) should be the same each time: "
        "draw from generator(rng), which returns the shared generator for None"
    )
    assert not np.array_equal(first, second), (
        "with rng=None, two layers in a row got the same weights: do not seed in the function"
    )


def takes_a_generator(init):
    """Assert that `init` goes on drawing from a generator that it is given."""
    rng = generator(17)
    first, second = [np.asarray(init(6, 5, rng)) for _ in range(2)]
    again = np.asarray(init(6, 5, generator(17)))
    cause = "use the Generator itself: generator(rng) returns it"
    assert np.array_equal(first, again), (
        f"rng may be a Generator; two equal generators drew different weights: {cause}"
    )
    assert not np.array_equal(first, second), (
        f"rng may be a Generator; one generator drew the same weights twice: {cause}"
    )


def has_variance(init, variance, near, causes):
    """Assert that the weights of `init` have this variance and mean 0.

    variance, causes  functions of fan_in and fan_out: the variance and a formula for it, and
                      {another variance: its likely cause}
    """
    for fan_in, fan_out in [(300, 200), (40, 1000), (1200, 50), (1, 40000), (40000, 1)]:
        w = np.asarray(init(fan_in, fan_out, rng=7))
        equal(w.shape, (fan_in, fan_out), "the shape of the weights")
        (wanted, formula), var = variance(fan_in, fan_out), float(np.var(w, dtype="float64"))
        assert abs(var / wanted - 1) < near, (
            f"fan_in {fan_in}, fan_out {fan_out}: the variance should be {formula} = "
            f"{wanted:.3g}, yours is {var:.3g}, {var / wanted:.3g} times that"
            f"{likely_cause(var, causes(fan_in, fan_out))}"
        )
        assert abs(w.mean()) < 0.03 * math.sqrt(wanted), (
            f"the mean of the weights should be near 0, yours is {w.mean()}"
        )


# Of hidden checks: fan_in, fan_out and shape.
OTHER_FANS = [(90, 7, (400, 90)), (3, 8000, None), (2500, 1, (50, 7, 60)), (11, 30, (20000,))]


def is_unchanged(state, before, case):
    """Assert that a state has the same arrays as before."""
    for name, array in state.items():
        assert np.array_equal(array, before[name]), (
            f"{case}, but {name} had already been changed to {array}. Check and convert all "
            "arrays before you write into the first one"
        )


# %% linear points=5
def test_each_output_is_a_weighted_sum_of_all_inputs():
    x = np.array([[1, 2, -3], [0.5, 4, 10], [-2, 0, 7], [100, -50, 3], [0, 1, 0]], "float32")
    weights = np.array([[2, -1, 0.5, 3], [1, 5, -2, 0.25], [-4, 0, 1, 6]], "float32")
    bias = np.array([10, -20, 0.5, 3], "float32")
    products = [
        [sum(float(row[i]) * float(weights[i, j]) for i in range(3)) for j in range(4)]
        for row in x
    ]
    for given, added in [(Tensor(bias), bias), (None, [0, 0, 0, 0])]:
        out = linear(Tensor(x), Tensor(weights), given)
        assert isinstance(out, Tensor), f"linear should return a Tensor, not {out!r:.60}"
        assert out.shape == (5, 4), (
            "x of shape (5, 3), weights (3, 4): the result should have shape (5, 4), "
            f"yours has {out.shape}"
        )
        wanted, case = np.array(products) + added, f"with bias {given} the result"
        expect(out.data, wanted, case, near=1e-5, dtype="float32")
    out = linear(*[Tensor(array.astype("float64")) for array in (x, weights, bias)])
    equal(out.dtype.name, "float64", "the dtype of the result of float64 inputs")


def test_axes_before_the_last_are_kept():
    weights = np.array([[2, -1], [1, 5], [-4, 0.5]], "float32")
    bias = np.array([0.25, -3], "float32")
    for shape in [(3,), (1, 3), (0, 3), (2, 5, 3), (4, 1, 2, 3)]:
        x = (np.arange(np.prod(shape), dtype="float32") - 4).reshape(shape)
        out = linear(Tensor(x), Tensor(weights), Tensor(bias))
        wanted = np.tensordot(x, weights, 1) + bias
        has_fewer = out.data.ndim < wanted.ndim and out.data.size == wanted.size
        cause = "keep all axes before the last, also those of length 1" * has_fewer
        expect(out.data, wanted, f"x of shape {shape}: the result", cause, near=(1e-5, 1e-8))


def test_a_bias_of_zero_is_still_a_bias():
    x, weights = Tensor([[1.0, 2.0], [3.0, 5.0], [0.0, 1.0]]), Tensor([[1.0], [4.0]])
    assert linear(x, weights, Variable([1.0])).requires_grad, (
        "the bias [1.] requires a gradient, so the result must require one: compute with "
        "tensors, not .data"
    )
    out = linear(x, weights, Variable([0.0]))
    assert out.requires_grad, (
        "the bias [0.] was left out, so it would never be trained. `if bias:` tests its value; "
        "test `bias is None`"
    )
    expect(out.data, [[9], [23], [4]], "the result with the bias [0.]", near=(1e-5, 1e-8))


def test_the_operations_are_recorded():
    given = {
        "x": [[1.0, 2.0]],
        "weights": [[1.0, 4.0, 0.0], [2.0, 1.0, 3.0]],
        "bias": [0.5, 0.0, 1.0],
    }
    for learns in given:
        tensors = [Tensor(data, requires_grad=name == learns) for name, data in given.items()]
        out = linear(*tensors)
        assert out.requires_grad is True, (
            f"{learns} requires a gradient, so the result must require one: compute with "
            "tensors, not .data"
        )
        expect(out, [[5.5, 6.0, 7.0]], "x W + b")


def test_a_wrong_number_of_inputs_is_an_error():
    weights, bias = Tensor(np.ones((3, 4), "float32")), Tensor(np.ones(4, "float32"))
    for shape in [(5, 1), (5, 2), (5, 4), (2, 3, 1), (1,), (3, 5)]:
        run = lambda: linear(Tensor(np.ones(shape, "float32")), weights, bias)
        case = f"an input of shape {shape}, for weights of shape (3, 4),"
        cause = "the inner dimensions of a matrix product must be equal, not broadcast"
        refused(run, case, cause=cause)
        cause = "the error of `@` between Tensors names both shapes"
        refused(run, case, contains=(shape, "(3, 4)"), cause=cause)


# %% linear hidden points=1
def test_linear_on_other_ranks_sizes_and_magnitudes():
    random = np.random.default_rng(21)
    for shape, width, dtype in [
        ((7, 1), 4, "float32"),
        ((1,), 1, "float64"),
        ((3, 2, 1, 5), 1, "float32"),
        ((2, 0, 4), 3, "float64"),
        ((2, 1, 3, 1, 2), 6, "float64"),
    ]:
        size = 10.0 ** random.integers(-5, 6, shape[-1])
        x = random.normal(size=shape) * size
        weights = random.normal(size=(shape[-1], width)) / size[:, None]
        given = x, weights, random.normal(size=width)
        x, weights, bias = [Tensor(array.astype(dtype)) for array in given]
        for added in (None, bias):
            yield linear(weights=weights, x=x, bias=added), x, weights
    for sizes in [((5, 3), (1, 4)), ((6,), (2, 1)), ((2, 4, 2), (4, 2)), ((0, 2), (3, 2))]:
        x, weights = [Tensor(np.ones(size, "float32")) for size in sizes]
        refused(lambda: linear(x, weights), f"shapes {sizes}", contains=sizes)


# %% xavier points=5
def test_xavier_has_the_right_variance():
    def variance(fan_in, fan_out):
        return 2 / (fan_in + fan_out), f"2 / {fan_in + fan_out}"

    def causes(fan_in, fan_out):
        wanted, _ = variance(fan_in, fan_out)
        return {
            3 * wanted**2: "Your a is the variance times 3: take its square root",
            wanted / 3: "Your a is the standard deviation, but the uniform distribution "
            "between -a and a has variance a * a / 3",
            1 / fan_in: "Use fan_out too",
            1 / fan_out: "Use fan_in too",
            wanted / 4: "Draw between -a and a, not between 0 and a",
        }

    has_variance(xavier_uniform, variance, 0.03, causes)


def test_xavier_is_uniform_between_minus_a_and_a():
    a = math.sqrt(6 / 500)
    size = np.abs(np.asarray(xavier_uniform(300, 200, rng=11)))
    assert 0.999 * a < size.max() <= a * 1.000001, (
        f"a is sqrt(6 / 500) = {a:.4f}; your largest weight is {size.max():.4f}"
    )
    for part in (0.25, 0.5, 0.75):
        share = float((size < part * a).mean())
        assert abs(share - part) < 0.01, (
            f"{part:.0%} of the weights should lie between -{part} a and {part} a; of your "
            f"weights, {share:.1%} do: draw from the uniform distribution"
        )


def test_xavier_draws_from_the_generator_it_is_given():
    draws_from_the_generator(xavier_uniform)


def test_xavier_follows_manual_seed():
    follows_manual_seed(xavier_uniform)


def test_xavier_returns_float32_of_any_shape():
    w = np.asarray(xavier_uniform(27, 72, rng=1, shape=(8, 3, 3, 3)))
    assert w.shape == (8, 3, 3, 3), (
        f"shape=(8, 3, 3, 3) was asked for, yours has shape {w.shape}"
    )
    for w in (w, np.asarray(xavier_uniform(3, 4))):
        assert w.dtype.name == "float32", f"the weights should be float32, yours are {w.dtype}"
    assert np.abs(w).max() <= math.sqrt(6 / 7) * 1.000001, (
        f"fan_in 3, fan_out 4: a is {math.sqrt(6 / 7):.3f}, your largest weight is "
        f"{np.abs(w).max():.3f}"
    )


# %% xavier hidden points=1
def test_xavier_for_other_fans_shapes_and_generators():
    for fan_in, fan_out, shape in OTHER_FANS:
        w = np.asarray(xavier_uniform(rng=13, shape=shape, fan_out=fan_out, fan_in=fan_in))
        yield w.shape, w.dtype.name
        a = math.sqrt(6 / (fan_in + fan_out))
        ratio = float(np.var(w, dtype="float64")) * 3 / a**2
        yield abs(ratio - 1) < 0.04, 0.99 * a < np.abs(w).max() <= a * 1.000001
    takes_a_generator(xavier_uniform)


# %% he points=5
def test_he_has_the_right_variance():
    def variance(fan_in, fan_out):
        return 2 / fan_in, f"2 / {fan_in}"

    def causes(fan_in, fan_out):
        return {
            (2 / fan_in) ** 2: "NumPy's normal takes the standard deviation, the square root "
            "of the variance",
            2 / fan_out: "Divide by fan_in, not by fan_out",
            1 / fan_in: "The factor 2 is missing",
            2 / (fan_in + fan_out): "That is Xavier's variance; He's does not depend on "
            "fan_out",
            2 / fan_in / 3: "Draw from the normal distribution",
        }

    has_variance(he_normal, variance, 0.04, causes)


def test_he_is_normally_distributed():
    w = np.asarray(he_normal(300, 200, rng=11))
    assert w.std() > 0, f"the weights should differ, all of yours are {w.flat[0]}"
    w = w / w.std()  # whether their variance is right is another check
    for limit, wanted in [(0.5, 0.3829), (1, 0.6827), (2, 0.9545)]:
        share = float((np.abs(w) < limit).mean())
        assert abs(share - wanted) < 0.01, (
            f"{wanted:.1%} of the weights should be less than {limit} times their standard "
            f"deviation away from 0; of your weights, {share:.1%} are: draw from the normal "
            "distribution"
        )


def test_he_draws_from_the_generator_it_is_given():
    draws_from_the_generator(he_normal)


def test_he_follows_manual_seed():
    follows_manual_seed(he_normal)


def test_he_returns_float32_of_any_shape():
    w = np.asarray(he_normal(270, 72, rng=1, shape=(80, 30, 3, 3)))
    assert w.shape == (80, 30, 3, 3), (
        f"shape=(80, 30, 3, 3) was asked for, yours has shape {w.shape}"
    )
    fewer = he_normal(270, 5, rng=1, shape=(80, 30, 3, 3))
    case = "with rng=1 and a shape, the weights for fan_out 5 instead of 72"
    expect(fewer, w, case, "fan_out changes the shape only")
    plain = np.asarray(he_normal(270, 72, rng=2)).var()
    assert abs(w.var() - plain) <= 0.08 * plain, (
        f"`shape` does not change the variance; yours is {w.var():.3g} with shape "
        f"(80, 30, 3, 3) and {plain:.3g} without"
    )
    for w in (w, np.asarray(he_normal(3, 4))):
        assert w.dtype.name == "float32", f"the weights should be float32, yours are {w.dtype}"


# %% he hidden points=1
def test_he_for_other_fans_shapes_and_generators():
    for fan_in, fan_out, shape in OTHER_FANS:
        w = np.asarray(he_normal(rng=13, shape=shape, fan_out=fan_out, fan_in=fan_in))
        yield w.shape, w.dtype.name
        yield abs(float(np.var(w, dtype="float64")) * fan_in / 2 - 1) < 0.05
        beyond = float((np.abs(w) > 2 * math.sqrt(2 / fan_in)).mean())
        yield abs(beyond - 0.0455) < 0.01  # of a normal distribution
    few, many = [
        np.asarray(he_normal(50, fan_out, rng=1, shape=(30, 4))) for fan_out in (3, 900)
    ]
    yield np.array_equal(few, many)
    takes_a_generator(he_normal)


# %% dense points=7
def test_a_dense_layer_has_weights_and_a_bias():
    layer = Dense(3, 5)
    for name, wanted in [("weights", (3, 5)), ("bias", (5,))]:
        tensor = getattr(layer, name, None)
        assert isinstance(tensor, Tensor), (
            f"the attribute {name} of Dense(3, 5) should be a Variable, yours is {tensor!r:.60}"
        )
        assert tensor.shape == wanted, (
            f"the {name} of Dense(3, 5) should have shape {wanted}, not {tensor.shape}"
        )
        dtype = tensor.dtype.name
        assert dtype == "float32", (
            f"the {name} of Dense(3, 5) should be float32, not {dtype}: a Tensor keeps the "
            "dtype of an array. np.zeros(5) is float64, np.zeros(5, 'float32') is not"
        )
    expect(layer.bias, np.zeros(5), "the bias at the start")


def test_weights_and_bias_are_parameters():
    for layer in (Dense(3, 5), Dense(1, 1)):
        for name in ("weights", "bias"):
            tensor = getattr(layer, name)
            assert tensor.requires_grad is True, (
                f"{name} does not require a gradient, so it would never be trained: "
                "make it a Variable, not a Tensor"
            )
            assert tensor.creator is None, (
                f"{name} is the result of an operation, such as reshape, on a Variable. "
                "Training changes that Variable, not the result: store the Variable itself"
            )


def test_a_layer_may_have_no_bias():
    layer = Dense(3, 5, bias=False)
    assert layer.bias is None, f"with bias=False, bias should be None, yours is {layer.bias}"
    x = np.array([[1, 2, 3], [0.5, -1, 4]], "float32")
    wanted, case = x @ np.asarray(layer.weights), "without a bias the result"
    expect(layer(Tensor(x)).data, wanted, case, "it is x @ weights", near=(1e-5, 1e-8))


def test_the_weights_come_from_init():
    calls = []

    def init(fan_in, fan_out, rng):
        calls.append((fan_in, fan_out, rng))
        return np.arange(fan_in * fan_out, dtype="float32").reshape(fan_in, fan_out)

    layer = Dense(4, 3, init=init, rng=9)
    assert calls == [(4, 3, 9)], (
        f"Dense(4, 3, init=f, rng=9) should call f(4, 3, 9) once; your calls: {calls}"
    )
    expect(layer.weights, np.arange(12).reshape(4, 3), "the array that f returned, as weights,")
    for ins, outs in [(30, 20), (1, 3)]:
        for init in (xavier_uniform, he_normal):
            weights = np.asarray(Dense(ins, outs, init=init, rng=2).weights)
            assert np.array_equal(weights, np.asarray(init(ins, outs, 2))), (
                f"the weights of Dense({ins}, {outs}, init={init.__name__}, rng=2) should be "
                f"those of {init.__name__}({ins}, {outs}, 2)"
            )
    exact = Dense(4, 3, init=lambda ins, outs, rng: np.ones((ins, outs))).weights
    case = "the weights, from an init that returns float64,"
    expect(exact, np.ones((4, 3)), case, "as init returns them", dtype="float64")
    weights, wanted = Dense(30, 20, rng=2).weights, xavier_uniform(30, 20, 2)
    assert np.array_equal(np.asarray(weights), np.asarray(wanted)), (
        "the default initialization is xavier_uniform: use the argument `init`"
    )


def test_a_dense_layer_follows_manual_seed():
    manual_seed(4)
    first, second = np.asarray(Dense(6, 5).weights), np.asarray(Dense(6, 5).weights)
    manual_seed(4)
    again = np.asarray(Dense(6, 5).weights)
    assert np.array_equal(first, again), (
        "the weights of Dense(6, 5) after manual_seed(4) should be the same each time: pass "
        "rng to init as it is"
    )
    assert not np.array_equal(first, second), (
        "two layers in a row got the same weights: pass rng to init as it is, without a seed"
    )


def test_a_dense_layer_computes_linear():
    layer = Dense(3, 2, rng=1)
    layer.bias.detach()[:] = [10.0, -20.0]
    for shape in [(4, 3), (3,), (5, 1, 3), (0, 3)]:
        x = np.arange(math.prod(shape), dtype="float32").reshape(shape) - 3
        out = layer(Tensor(x))
        wanted = x @ np.asarray(layer.weights) + [10, -20]
        case = f"the result of Dense(3, 2) for x of shape {shape}"
        expect(out.data, wanted, case, near=1e-5, dtype="float32")
        assert out.requires_grad, f"{case} should require a gradient"


def test_the_error_for_a_wrong_number_of_inputs_names_both_shapes():
    layer = Dense(3, 2)
    for shape in [(5, 2), (3, 4), (2, 3, 1), (2,), ()]:
        x, case = Tensor(np.ones(shape, "float32")), f"inputs of shape {shape} for Dense(3, 2)"
        refused(lambda: layer(x), case, contains=(shape, "(..., 3)"))


# %% dense hidden points=1
def test_dense_layers_of_other_sizes():
    def draw(fan_in, fan_out, rng):
        return (np.arange(fan_in * fan_out, dtype="float32") - rng).reshape(fan_in, fan_out)

    for ins, outs, bias in [
        (1, 1, True),
        (1, 6, False),
        (9, 1, True),
        (4, 7, False),
        (2, 11, True),
    ]:
        layer = Dense(out_features=outs, in_features=ins, rng=3, init=draw, bias=bias)
        yield layer.weights, layer.weights.creator, layer.bias
        if bias:
            yield layer.bias.creator
            layer.bias.detach()[:] = np.arange(outs, dtype="float32") * 100
        for shape in [(ins,), (2, 1, 3, ins)]:
            x = np.arange(math.prod(shape), dtype="float32") - 2
            yield layer(Tensor(x.reshape(shape)))
    rng = generator(8)
    first, second = [np.asarray(Dense(5, 4, rng=rng).weights) for _ in range(2)]
    yield np.array_equal(first, second)


# %% sequential points=4
def test_each_layer_takes_the_output_of_the_layer_before():
    net = Sequential(lambda x: x + 3, lambda x: x * x, lambda x: x - 1)
    out = net(Tensor([[1.0, 2.0, -5.0]]))
    assert out is not None, "forward returned None: is `return` missing?"
    case = "layers that add 3, square and subtract 1: their result for [[1, 2, -5]]"
    cause = "Each layer takes the output of the layer before it, in order"
    expect(out.data, [[15, 24, 3]], case, cause)
    case = "the result of a second call of the same network"
    expect(net(Tensor([[1.0, 2.0, -5.0]])).data, [[15, 24, 3]], case, "is a layer lost?")
    expect(
        Sequential(lambda x: x * 2)(Tensor([5.0])).data,
        [10],
        "the result of one layer, 2 * x, for [5]",
    )
    cause = "without layers, the input is the result"
    empty = result_of(lambda: Sequential()(Tensor([5.0])), "Sequential() for [5]", cause)
    expect(empty.data, [5], "the result of Sequential() for [5]")
    calls = []
    Sequential(lambda x: calls.append(1) or x, lambda x: calls.append(2) or x)(Tensor([5.0]))
    equal(calls, [1, 2], "the layers that one call calls", "call each layer once")
    many = [lambda x, n=n: x * 2 + n for n in range(12)]
    cause = "they are called in order: '10' comes after '9'"
    expect(Sequential(*many)(Tensor([1.0])).data, [8179], "the result of 12 layers", cause)


def test_layers_may_be_modules_and_functions():
    first, last = Dense(3, 4, rng=1), Dense(4, 2, rng=2)
    x = np.array([[1, -2, 0.5], [3, 1, -1]], "float32")
    net = Sequential(first, Tensor.relu, last)
    cause = "a function has no method forward: call the layer itself, layer(x)"
    out = result_of(
        lambda: net(Tensor(x)), "the result of Dense, relu, Dense", cause, AttributeError
    )
    wanted = np.maximum(x @ np.asarray(first.weights), 0) @ np.asarray(last.weights)
    expect(out.data, wanted, "the result of Dense, relu, Dense", near=(1e-5, 1e-8))
    by_hand = last(first(Tensor(x)).relu())  # not Sequential's fault when Dense is wrong
    assert out.requires_grad == by_hand.requires_grad, (
        "the result should require a gradient: pass tensors from layer to layer, not .data"
    )
    assert out.dtype == by_hand.dtype, (
        f"the layers called one by one give {by_hand.dtype}, your network {out.dtype}: "
        "forward should change nothing between the layers"
    )


def test_a_sequential_may_hold_a_sequential():
    net = Sequential(Dense(3, 4), Tensor.tanh, Sequential(Dense(4, 5, bias=False), Dense(5, 2)))
    shape = net(Tensor(np.ones((6, 3), "float32"))).shape
    equal(shape, (6, 2), "the result for an input of shape (6, 3)")
    shared = Dense(3, 3, rng=5)
    net = Sequential(shared, Tensor.tanh, shared)
    x, w = np.array([[1, 2, -1]], "float32"), np.asarray(shared.weights)
    case = "the result of a layer, tanh, and the same layer"
    expect(net(Tensor(x)).data, np.tanh(x @ w) @ w, case, near=(1e-5, 1e-8))


def test_a_part_of_a_sequential_is_a_sequential():
    first, last = Dense(2, 3, rng=1), Dense(3, 7, rng=2)
    net = Sequential(first, Tensor.relu, last, Tensor.tanh)
    assert len(net) == 4 and len(net[1:]) == 3, (
        f"len(net) should be 4 and len(net[1:]) 3, yours are {len(net)} and {len(net[1:])}"
    )
    x = np.array([[1, 2], [-1, 2], [3, -2]], "float32")
    w, v = np.asarray(first.weights), np.asarray(last.weights)
    wanted = np.maximum(x @ w, 0) @ v
    expect(net[:3](Tensor(x)).data, wanted, "the result of net[:3]", near=(1e-5, 1e-6))
    case = "the result of the whole network, which ends with tanh,"
    expect(net(Tensor(x)).data, np.tanh(wanted), case, near=(1e-5, 1e-6))


# %% sequential hidden points=1
def test_longer_networks_call_each_layer_once():
    called = []

    def layer_of(number):
        return lambda x: called.append(number) or x * number + 1

    for numbers in [(-3,), (3, -1), (2, 5, -3, 0.5, 7), (2, -1) * 6]:
        x = Tensor([[[1.0], [-2.0], [0.25]]])
        yield Sequential(*map(layer_of, numbers))(x), called
    inner = Sequential(), Sequential(Tensor.exp, Sequential(Tensor.sum))
    yield Sequential(*inner, layer_of(4))(Variable(np.zeros((2, 3))))


# %% learner-side
class Single(Module):
    """A module with one parameter, of shape (rows, 2)."""

    def __init__(self, rows):
        self.rows = rows
        self.weights = Variable(np.full((rows, 2), 10.0 + rows, "float32"))


class Nested(Module):
    """Parameters in attributes, lists and dicts, one of them twice; a buffer and a result."""

    def __init__(self):
        self.title, self.count, self.table = "nested", 3, np.ones((2, 3))
        self.scale = Variable([2.0, 3.0, 5.0])
        self.blocks = [Single(1), {"left": Single(2), 7: (Single(3), Variable([7.0]))}]
        self.running = Tensor([0.5, 0.25])
        self.again = self.scale
        self.result = self.scale * 2
        self.deep = {"inner": [[Single(4)]]}


class Cycle(Module):
    """A module that holds a module that holds it."""

    def __init__(self):
        self.inner = Single(5)
        self.inner.outer = self


class Plain:
    """An object with an attribute that is no module."""

    def __init__(self):
        self.weights = 5

    def __repr__(self):
        return "an object that is no Module"


# %% children points=3
def test_the_children_of_a_module_are_its_attributes():
    names = [name for name, _ in pairs_in(named_children(Single(1)), "named_children")]
    assert names == ["rows", "weights"], (
        "a module with the attributes rows and weights has the children ['rows', 'weights'], "
        f"yours are {names}: list every attribute, whatever it holds; traverse chooses later"
    )
    pairs = dict(named_children(Single(3)))
    assert pairs["rows"] == 3 and np.array_equal(
        np.asarray(pairs["weights"]), np.full((3, 2), 13)
    ), f"the children should be 3 and a (3, 2) tensor of 13, yours are {pairs}"
    module = Single(1)
    module._inner = [Tensor(2)]
    names = [name for name, _ in named_children(module)]
    cause = "an attribute counts whatever its name; PyTorch's own begin with _, too"
    equal(names, ["rows", "weights", "_inner"], "the children of a module with _inner", cause)


def test_lists_tuples_and_dicts_have_children():
    for thing, wanted in [
        (["a", 5], [("0", "a"), ("1", 5)]),
        (("x", None, 2.5), [("0", "x"), ("1", None), ("2", 2.5)]),
        ({"left": 1, 7: "b"}, [("left", 1), ("7", "b")]),
        ([[4], [5]], [("0", [4]), ("1", [5])]),
    ]:
        pairs = pairs_in(named_children(thing), "named_children")
        kind = type(thing).__name__
        assert pairs == wanted, (
            f"the children of the {kind} {thing} should be {wanted}, yours are {pairs}: layers "
            f"in a {kind} would be missed or get a wrong name. Every name is a str"
        )


def test_everything_else_has_no_children():
    for thing in (Tensor([1.0]), 5, None, "word", np.ones((2, 2)), 2.5, [], (), {}, Plain()):
        try:
            count = len(named_children(thing))
        except (TypeError, AttributeError) as error:
            assert False, (
                f"named_children({thing!r}) should be an empty list, yours raises {error}"
            )
        assert count == 0, (
            f"named_children({thing!r}) should be an empty list, yours has {count} children: "
            "only Modules, lists, tuples and dicts have children"
        )
    assert len(named_children([5, 6, 7])) == 3, "a list of three elements has three children"


# %% traverse points=4
def test_traverse_finds_everything_under_its_path():
    wanted = [
        "",
        "scale",
        "blocks.0",
        "blocks.0.weights",
        "blocks.1.left",
        "blocks.1.left.weights",
        "blocks.1.7.0",
        "blocks.1.7.0.weights",
        "blocks.1.7.1",
        "running",
        "result",
        "deep.inner.0.0",
        "deep.inner.0.0.weights",
    ]
    paths = [path for path, _ in pairs_in(traverse(Nested()), "traverse")]
    for path in wanted:
        assert path in paths, f"traverse should find {path!r}, yours finds {paths}"
    for path in paths:
        assert path in wanted, (
            f"traverse should not list {path!r}: only modules and tensors, each once, with the "
            "first path that leads to it"
        )
    assert paths == wanted, (
        "a module comes before what it holds, and children come in the order of "
        f"named_children: the paths should be {wanted}, yours are {paths}"
    )


def test_each_path_leads_to_its_object():
    pairs = dict(traverse(Nested()))
    for path, wanted in [
        ("scale", [2, 3, 5]),
        ("blocks.1.7.1", [7]),
        ("running", [0.5, 0.25]),
        ("result", [4, 6, 10]),
        ("blocks.1.left.weights", [[12, 12], [12, 12]]),
        ("deep.inner.0.0.weights", [[14, 14]] * 4),
    ]:
        assert path in pairs, f"traverse should find {path!r}, yours finds {list(pairs)}"
        expect(pairs[path], wanted, path)
    paths = [path for path, _ in traverse([Tensor([1.0])], "net")]
    equal(paths, ["net.0"], "what traverse(list of one tensor, path='net') finds")


def test_traverse_ends_when_modules_hold_each_other():
    try:
        paths = [path for path, _ in traverse(Cycle())]
    except RecursionError:
        assert False, (
            "net.inner.outer is net again, and your recursion never ends: skip every object "
            "whose id is in `seen`, and pass the same set to the inner calls"
        )
    assert paths == ["", "inner", "inner.weights"], (
        "a module whose submodule refers back to it should give '', 'inner' and "
        f"'inner.weights', each once; yours gives {paths[:9]}"
    )


def test_every_traversal_starts_with_a_new_set():
    net = Nested()
    first, second = len(traverse(net)), len(traverse(net))
    assert second == first > 0, (
        f"traverse(net) found {first} objects at first, and then {second}. Make a new set in "
        "each outer call; a default such as seen=set() is created only once"
    )
    count = len(traverse([Tensor([1.0]), Tensor([1.0])]))
    case = "the number of objects in a list of two different tensors with equal numbers"
    equal(count, 2, case, "compare objects by id, not with ==")
    same = Tensor([1.0])
    case = "the number of objects in a list that holds one tensor twice"
    equal(len(traverse([same, same])), 1, case, "pass the same set on, also while it is empty")
    count = len(traverse([[Tensor([2.0]), Tensor([3.0])], Tensor([4.0])]))
    equal(count, 3, "the number of objects in [[a, b], c], three tensors,")


# %% traverse hidden points=1
def test_traverse_of_other_nestings():
    def paths(thing, start=""):
        pairs = list(traverse(thing, path=start))
        tensors = [(path, part) for path, part in pairs if isinstance(part, Tensor)]
        return tensors, [path for path, part in pairs if isinstance(part, Module)]

    shared, twin, inner = Tensor([1.0, 2.0]), Tensor([1.0, 2.0]), Single(2)
    inner.rest = ({"first": shared, "second": None}, [Variable([[3.0]])], "word")
    thing = {
        "z": [(), [[twin]], {"deep": (shared, {"er": inner})}],
        12: shared,
        "a": ({"x": 2.5}, inner, True),
    }
    for start in ("", "net", "net.part"):
        yield paths(thing, start)
    one, other = Single(1), Single(3)
    one.friend, other.friend = other, one
    yield [path for path, _ in traverse((other, [one]))]
    yield [path for path, _ in traverse([Tensor(0.0) for _ in range(12)])]


# %% parameters points=5
def test_parameters_are_the_tensors_to_be_trained():
    pairs = pairs_in(named_parameters(Nested()), "named_parameters")
    names = [name for name, _ in pairs]
    wanted = [
        "scale",
        "blocks.0.weights",
        "blocks.1.left.weights",
        "blocks.1.7.0.weights",
        "blocks.1.7.1",
        "deep.inner.0.0.weights",
    ]
    assert "running" not in names, (
        "'running' does not require a gradient: it is a buffer, not a parameter"
    )
    assert "result" not in names, (
        "'result' is the result of an operation (it has a creator), not a parameter"
    )
    assert names == wanted, f"the parameters should be {wanted}, yours are {names}"


def test_parameters_of_a_network_are_named_by_their_path():
    net = Sequential(Dense(3, 4), Tensor.tanh, Sequential(Dense(4, 5, bias=False), Dense(5, 2)))
    names = [name for name, _ in named_parameters(net)]
    # The order within a layer is that in which the layer assigns them.
    wanted = ["0.weights", "0.bias", "2.0.weights", "2.1.weights", "2.1.bias"]
    assert sorted(names) == sorted(wanted), (
        f"the parameters of {net} should be {wanted}, yours are {names}: one traversal finds "
        "them all"
    )


def test_a_shared_parameter_is_listed_once():
    scales = [name for name, tensor in named_parameters(Nested()) if tensor.shape == (3,)]
    assert scales == ["scale"], (
        f"'scale' and 'again' are one tensor, listed once, as 'scale'; you list {scales}"
    )
    shared = Dense(3, 3)
    count = len(named_parameters(Sequential(shared, Tensor.tanh, shared)))
    assert count == 2, f"a layer that is used twice has 2 parameters in all, you list {count}"


def test_the_parameters_are_the_tensors_themselves():
    net = Single(2)
    pairs = named_parameters(net)
    assert [name for name, _ in pairs] == ["weights"], (
        f"the module has one parameter, weights; you list {pairs}"
    )
    pairs[0][1].grad = np.full((2, 2), 3.0, "float32")
    assert net.weights.grad is not None, (
        "the gradient of the listed parameter was set, and the module's own tensor has none: "
        "list the tensor itself, not a copy"
    )
    net.zero_grad()
    assert net.weights.grad is None, (
        "zero_grad should set the gradients of all parameters to None, yours is "
        f"{net.weights.grad}"
    )


def test_frozen_parameters_are_left_out():
    net = Nested()
    net.scale.requires_grad = False
    names = [name for name, _ in net.named_parameters()]
    assert "scale" not in names and len(names) == 5, (
        f"scale no longer requires a gradient: 5 parameters are left, you list {names}"
    )
    names = [name for name, _ in named_parameters({"a": [Single(1)], "b": (5, Single(2))})]
    equal(names, ["a.0.weights", "b.1.weights"], "the parameters in a dict of modules")


# %% parameters hidden points=1
def test_parameters_of_other_networks():
    kept, frozen, thawed = Variable([[1.0], [2.0]]), Variable([3.0]), Tensor([4.0, 5.0])
    frozen.requires_grad, thawed.requires_grad = False, True
    net = Single(4)
    more = [kept * 2, {"f": frozen, "t": thawed, "k": [kept]}, Tensor([6.0])]
    net.more = [*more, Variable(np.zeros((0, 3), "float32"))]
    for thing in [net, {"net": net, "again": kept}, [5, (net, thawed)]]:
        yield [name for name, _ in named_parameters(thing)]
    for number, (_, tensor) in enumerate(named_parameters(net)):
        tensor.grad = np.full(tensor.shape, number, "float32")
    yield thawed.grad, kept.grad, frozen.grad


# %% learner-side
def state_before_and_after(net):
    """The state of `net`, read after every tensor of `net` was overwritten with 99, and its
    state then."""
    state = state_dict(net)
    for part in (part for _, part in traverse(net) if isinstance(part, Tensor)):
        part.detach()[...] = 99
    return state, state_dict(net)


def outputs_after_change_of(state, net, x):
    """The outputs of `net` when it has loaded `state`, whose arrays were overwritten with 99
    afterwards."""
    state = {name: np.array(array) for name, array in state.items()}
    load_state_dict(net, state)
    for array in state.values():
        array[...] = 99
    return net(Tensor(x)).data


def held_from_before(net, state):
    """The numbers, after loading, of the parameters and of views of their memory that were
    taken before."""
    held = [tensor for _, tensor in named_parameters(net)]
    views = [tensor.detach() for tensor in held]
    load_state_dict(net, state)
    return [tensor.numpy() for tensor in held], [view.numpy() for view in views]


class Measured(Module):
    """A layer with a running mean, a count and a scalar parameter."""

    def __init__(self):
        self.dense = Dense(2, 3)
        self.mean = Tensor([0.5, 0.25, 4.0])
        self.count = Tensor(np.array([7, 8], "int64"))
        self.one = Variable(1.5)
        self.tied = self.dense.weights


# %% state points=4
def test_the_state_has_every_parameter_and_buffer():
    net = Measured()
    state = state_dict(net)
    wanted = {
        "dense.weights": net.dense.weights,
        "dense.bias": net.dense.bias,
        "mean": net.mean,
        "count": net.count,
        "one": net.one,
    }
    assert hasattr(state, "keys"), (
        f"state_dict should return a dict, yours returns {state!r:.60}"
    )
    for name, tensor in wanted.items():
        assert name in state, (
            f"{name} is missing in your state. It should have all parameters and buffers, and "
            f"it has {list(state)}"
        )
        expect(state[name], np.asarray(tensor), f"{name} in the state")
    cause = "each tensor once, under the first path that leads to it"
    equal(sorted(state), sorted(wanted), "the names in the state, sorted,", cause)


def test_the_state_holds_arrays():
    state = state_dict(Measured())
    for name, dtype in [
        ("dense.weights", "float32"),
        ("mean", "float32"),
        ("count", "int64"),
        ("one", "float32"),
    ]:
        assert name in state, f"{name} is missing in your state, which has {list(state)}"
        assert isinstance(state[name], np.ndarray), (
            f"{name} should be an ndarray, ready for numpy.savez; yours is {state[name]!r:.60}"
        )
        assert state[name].dtype.name == dtype, (
            f"{name} should have dtype {dtype}, in your state it has {state[name].dtype}"
        )
    assert state["one"].shape == (), (
        f"`one` should have shape (), in your state it has {state['one'].shape}"
    )


def test_results_are_not_in_the_state():
    names = list(state_dict(Nested()))
    wanted = [
        "scale",
        "blocks.0.weights",
        "blocks.1.left.weights",
        "blocks.1.7.0.weights",
        "blocks.1.7.1",
        "running",
        "deep.inner.0.0.weights",
    ]
    assert "result" not in names, (
        "'result' is the result of an operation (it has a creator): it can be computed again "
        "and is not saved"
    )
    assert names == wanted, f"the state should have {wanted}, yours has {names}"


def test_the_state_is_a_copy():
    kept, now = state_before_and_after(Measured())
    for name, wanted in [
        ("mean", [0.5, 0.25, 4]),
        ("count", [7, 8]),
        ("one", 1.5),
        ("dense.bias", [0, 0, 0]),
    ]:
        case = f"{name}, in a state made before the module changed,"
        expect(kept[name], wanted, case, "Copy the arrays")
        assert (np.asarray(now[name]) == 99).all(), (
            f"in a state made after the change, {name} should be 99, yours is {now[name]}"
        )


# %% state hidden points=1
def test_the_state_of_other_modules():
    frozen, net = Variable([[0.5]]), Single(3)
    frozen.requires_grad = False
    net.rest = {
        "counts": (Tensor(np.array([1, 2], "int64")), Tensor(np.ones((2, 0)))),
        4: [frozen, net.weights * 2],
        "held": {"again": net.weights, "wide": Variable(np.array([1e300, -1e-300]))},
        "word": "x",
    }
    yield from map(dict, state_before_and_after(net))


# %% keys points=3
def test_a_state_that_fits_has_no_problems():
    net = Measured()
    for kind, state in [
        ("arrays", state_dict(net)),
        ("tensors", {name: Tensor(a) for name, a in state_dict(net).items()}),
        ("lists", {name: a.tolist() for name, a in state_dict(net).items()}),
    ]:
        texts = incompatible_keys(net, state)
        equal(texts, [], f"incompatible_keys of a module and its own state, as {kind},")
    state = {"bias": np.ones(3), "weights": np.ones((2, 3))}
    texts = list(incompatible_keys(Dense(2, 3), state))
    equal(texts, [], "incompatible_keys for the same keys in another order")
    texts = list(incompatible_keys(Dense(2, 3), {"bias": np.ones(3)}))
    assert len(texts) == 1, f"a state without weights has one problem, your messages: {texts}"


def test_missing_and_unexpected_keys_are_reported():
    state = state_dict(Measured())
    state["hidden.bias"] = np.ones((4, 5))
    del state["dense.weights"], state["count"]
    keys = list(state)
    texts = list(incompatible_keys(Measured(), state))
    equal(list(state), keys, "the keys of the state afterwards", "change nothing, use a copy")
    for name, shape, problem in [
        ("dense.weights", "(2, 3)", "missing in the state"),
        ("count", "(2,)", "missing in the state"),
        ("hidden.bias", "(4, 5)", "unexpected: the module does not have it"),
    ]:
        about = [text for text in texts if name in text]
        assert len(about) == 1, (
            f"{name} is {problem}, one message should name it; yours: {texts}"
        )
        assert shape in about[0], (
            f"the message about {name} should contain its shape {shape}, yours is: {about[0]}"
        )
    assert len(texts) == 3, (
        f"three keys are incompatible, so there should be three messages; yours: {texts}"
    )


def test_different_shapes_are_reported():
    for name, shape, wanted in [
        ("dense.bias", (1,), "(3,)"),
        ("dense.bias", (), "(3,)"),
        ("dense.weights", (3, 2), "(2, 3)"),
        ("dense.weights", (6,), "(2, 3)"),
        ("one", (1,), "()"),
        ("mean", (1, 3), "(3,)"),
    ]:
        for given in (np.ones(shape), Tensor(np.ones(shape))):
            state = {**state_dict(Measured()), name: given}
            texts = list(incompatible_keys(Measured(), state))
            assert len(texts) == 1, (
                f"{name} of shape {shape} instead of {wanted} is one problem, your messages: "
                f"{texts}. Shapes must be equal: one that broadcasts does not fit, and neither "
                "does one with the same number of elements"
            )
            assert name in texts[0] and str(shape) in texts[0] and wanted in texts[0], (
                f"the message should contain {name}, {shape} and {wanted}, yours is: {texts[0]}"
            )


# %% keys hidden points=1
def test_other_states_that_do_not_fit():
    net = Nested()
    whole = state_dict(net)
    wrong = {
        "scale": (2.0, ["()", "(3,)"]),
        "blocks.1.7.1": ([[7.0]], ["(1, 1)", "(1,)"]),
        "rate": (0.1, ["()"]),
        "table": (Tensor([[1.0, 2.0, 3.0]]), ["(1, 3)"]),
        "deep.inner.0.0.weights": (np.ones((2, 4)), ["(2, 4)", "(4, 2)"]),
    }
    state = {name: array for name, array in whole.items() if name != "running"}
    state |= {name: array for name, (array, _) in wrong.items()}
    words = {name: shapes for name, (_, shapes) in wrong.items()} | {"running": ["(2,)"]}
    missing = {name: [str(array.shape)] for name, array in whole.items()}
    for given, names in [(state, words), ({}, missing)]:
        texts = list(incompatible_keys(net, given))
        yield len(texts)
        for name, shapes in names.items():
            (about,) = [text for text in texts if name in text]
            yield [shape in about for shape in shapes]
    yield state_dict(net)
    yield list(incompatible_keys(Sequential(Tensor.tanh), {}))


# %% load points=7
def test_the_numbers_arrive_under_their_names():
    wanted = {
        "dense.weights": [[1, -2, 3.5], [4, 0, 7]],
        "dense.bias": [10, 20, -5],
        "mean": [1, 2, 3],
        "count": [5, 6],
        "one": -4,
    }
    for make in (np.array, Tensor, list, lambda data: np.array(data, "float64")):
        state = {name: data if make is list else make(data) for name, data in wanted.items()}
        state["count"] = [5, 6]
        net = Measured()
        load_state_dict(net, state)
        for name, array in state_dict(net).items():
            dtype = "int64" if name == "count" else "float32"
            case = f"after loading, {name}"
            expect(array, wanted[name], case, "it keeps its dtype", dtype=dtype)
    out = net.dense(Tensor(np.array([[2, 1]], "float32")))
    case = "the result of the layer for [[2, 1]], after loading,"
    expect(out.data, [[16, 16, 9]], case, near=(1e-5, 1e-8))


def test_tensors_and_their_arrays_stay_the_same_objects():
    net = Sequential(Dense(2, 3, rng=1), Dense(3, 1, rng=2))
    state = {name: array + 5 for name, array in state_dict(net).items()}
    held, views = held_from_before(net, state)
    for array, name in zip(held, state):
        assert np.array_equal(array, state[name]), (
            f"an optimizer that got {name} before the loading still has the old numbers: write "
            "into the tensor, do not replace it"
        )
    for array, name in zip(views, state):
        assert np.array_equal(array, state[name]), (
            f"the tensor {name} got a new array: write into the old one, with [...] ="
        )
    equal(len(net.parameters()), 4, "the number of parameters after loading")


def test_nothing_is_shared_with_the_state():
    state = {
        "weights": np.array([[1, 2, 3]], "float32"),
        "bias": np.array([4, 5, 6], "float32"),
    }
    outputs = outputs_after_change_of(state, Dense(1, 3), np.array([[2], [-1]], "float32"))
    case = "the outputs for 2 and -1, after the loaded arrays were changed,"
    expect(outputs, [[6, 9, 12], [3, 3, 3]], case, "Copy the numbers")


def test_two_tensors_of_the_module_can_be_exchanged():
    net = Sequential(Dense(1, 3), Dense(1, 3))
    first, second = net[0], net[1]
    first.weights.detach()[...] = [[1.0, 2.0, 3.0]]
    second.weights.detach()[...] = [[4.0, 5.0, 6.0]]
    weights = {"0.weights": second.weights, "1.weights": first.weights}
    load_state_dict(net, weights | {"0.bias": first.bias, "1.bias": second.bias})
    expect(first.weights, [[4, 5, 6]], "0.weights, loaded from 1.weights,")
    cause = "copy all arrays before you write into the first one"
    expect(second.weights, [[1, 2, 3]], "1.weights, loaded from 0.weights,", cause)


def test_floating_point_numbers_do_not_become_integers():
    net = Measured()
    before = state_dict(net)
    state = {name: array + 1 for name, array in before.items()}
    state["count"] = np.array([1.5, 2.5])
    try:
        load_state_dict(net, state)
    except TypeError:
        is_unchanged(state_dict(net), before, "the array for count raised TypeError")
    else:
        assert False, (
            f"count has dtype int64; [1.5, 2.5] became {net.count}. It should raise TypeError"
        )


def test_a_network_can_be_restored_from_its_state():
    net, other = Nested(), Nested()
    other.load_state_dict({name: array * 3 for name, array in net.state_dict().items()})
    for (name, tensor), (_, array) in zip(other.named_parameters(), net.named_parameters()):
        expect(tensor, 3 * np.asarray(array), name, f"it should be three times {array}")
    expect(other.again, [6, 9, 15], "`again`, which is the tensor `scale`,")
    expect(other.result, [4, 6, 10], "`result`, which is not in the state,")


# %% load hidden points=1
def test_other_states_are_loaded_in_place():
    net = Nested()
    right = {name: array * -2 + 0.5 for name, array in state_dict(net).items()}
    forms = [Tensor, np.ndarray.tolist, lambda array: array.astype("float64")]
    pairs = enumerate(reversed(list(right.items())))
    state = {name: forms[number % 3](array) for number, (name, array) in pairs}
    state["running"] = np.array([3, 0], "uint8")
    yield held_from_before(net, state)
    yield state_dict(net)
    net = Measured()
    net.late = Tensor(np.array([[1], [2]], "int64"))
    before = state_dict(net)
    for name, floats in [
        ("late", [[0.5], [1.5]]),
        ("late", np.array([[0.5], [1.5]], "float32")),
        ("count", Tensor([1.5, 2.5])),
    ]:
        state = {other: array + 1 for other, array in before.items()} | {name: floats}
        refused(lambda: load_state_dict(net, state), f"{name}: {floats}, for int64", TypeError)
        yield state_dict(net)


# %% training points=3
def test_every_submodule_gets_the_mode():
    net = Nested()
    for mode in (False, True):
        set_training(net, mode)
        for path, part in [
            ("net", net),
            ("blocks.0", net.blocks[0]),
            ("blocks.1.left", net.blocks[1]["left"]),
            ("blocks.1.7.0", net.blocks[1][7][0]),
            ("deep.inner.0.0", net.deep["inner"][0][0]),
        ]:
            assert part.training == mode, (
                f"set_training(net, {mode}) leaves {path}.training at {part.training}: set it "
                "in all submodules, at any depth"
            )


def test_train_and_eval_return_the_module():
    net = Sequential(Single(2))
    assert net.training == True and net[0].training == True, (  # noqa: E712
        "a new module should be in training mode"
    )
    modes = [net.eval()[0].training, net.train()[0].training, net.train(False)[0].training]
    assert modes == [False, True, False], (
        "after eval(), train() and train(False), `training` should be False, True, False, "
        f"yours is {modes}"
    )


def test_other_networks_keep_their_mode():
    net, other = Sequential(Single(2)), Sequential(Single(3))
    set_training(net, False)
    assert net[0].training == False, (  # noqa: E712
        f"the submodule should be in evaluation mode, its training is {net[0].training}"
    )
    modes = [other.training, other[0].training, Single(1).training]
    assert modes == [True, True, True], (
        "after set_training(net, False), the attributes `training` of other modules are "
        f"{modes}: set the attribute of the objects, not of the class"
    )


# %% training hidden points=1
def test_the_mode_reaches_other_nestings():
    shared, holder, net = Single(1), Single(6), Cycle()
    nested = [shared, {"b": (Single(2), [Nested()])}]
    holder.held = {"a": (nested, shared), 5: Cycle(), "word": ["x", None, 1.5]}
    for mode in (False, True, False):
        set_training(holder, mode)
        yield [part.training for part in holder.modules()]
    yield shared.training
    set_training(module=net, mode=False)
    yield net.training, net.inner.training, Cycle().training


# %% dropout points=8
def test_elements_are_dropped_with_probability_p():
    for p in (0.2, 0.7, 0.95):
        out = np.asarray(Dropout(p, rng=3)(Tensor(np.ones((300, 200), "float32"))))
        assert out.shape == (300, 200), (
            f"the output should have the input's shape (300, 200), yours has {out.shape}"
        )
        assert (out != out[:1]).any() and (out != out[:, :1]).any(), (
            f"p={p}: your mask is the same in all rows, or in all columns. Draw one number per "
            "element: random(x.shape)"
        )
        share = float((out == 0).mean())
        cause = "p is the probability of dropping, not of keeping"
        assert abs(share - p) < 0.01, (
            f"p={p} should drop {p:.0%} of the elements, yours drops {share:.1%}"
            f"{': ' + cause if abs(share + p - 1) < 0.01 else ''}"
        )


def test_kept_elements_are_scaled_so_that_the_mean_stays():
    x = np.linspace(-3, 8, 60000, dtype="float32").reshape(300, 200)
    for p in (0.2, 0.7, 0.999):
        out = np.asarray(Dropout(p, rng=4)(Tensor(x)))
        kept = out != 0
        assert kept.any(), f"p={p}: some of 60,000 elements should be kept, but all are 0"
        factor = float((out[kept] / x[kept]).mean())
        assert np.allclose(out[kept], x[kept] / (1 - p), rtol=1e-5), (
            f"p={p}: kept elements should be divided by 1 - p, so multiplied by "
            f"{1 / (1 - p):.4g}; yours are multiplied by {factor:.4g}"
        )
    mean = float(np.asarray(Dropout(0.2, rng=4)(Tensor(x))).mean())
    assert abs(mean - 2.5) < 0.05, (
        f"p=0.2: the mean of the input, 2.5, should stay; yours becomes {mean:.3f}"
    )


def test_each_element_is_dropped_independently():
    for shape in [(40, 60), (60, 40), (8, 10, 30)]:
        out = np.asarray(Dropout(0.4, rng=5)(Tensor(np.ones(shape, "float32"))))
        for axis in range(len(shape)):
            alike = float((np.take(out, 0, axis) == np.take(out, 1, axis)).mean())
            assert alike < 0.8, (
                f"for inputs of shape {shape}, your masks at index 0 and at index 1 of axis "
                f"{axis} agree in {alike:.0%} of their elements; independent masks agree in "
                "about half. Draw one number per element: random(x.shape)"
            )


def test_every_call_draws_a_new_mask():
    layer, x = Dropout(0.4, rng=6), Tensor(np.ones((30, 50), "float32"))
    first, second = np.asarray(layer(x)), np.asarray(layer(x))
    assert not np.array_equal(first, second), (
        "two calls dropped the same elements: draw in forward, without a seed"
    )
    again = np.asarray(Dropout(0.4, rng=6)(x))
    assert np.array_equal(first, again), (
        "two layers with rng=6 should start with the same mask: draw from self.rng"
    )


def test_masks_do_not_depend_on_what_other_layers_draw():
    x, masks = Tensor(np.ones((30, 50), "float32")), []
    for drawn_between in (0, 3):
        manual_seed(8)
        layer, other = Dropout(0.4), Dropout(0.4)
        xavier_uniform(5, 4, shape=(drawn_between, 4))
        masks.append(np.asarray(layer(x)))
    assert np.array_equal(*masks), (
        "with rng=None, weights drawn by another layer after manual_seed(8) changed the mask. "
        "Draw from self.rng, not from generator()"
    )
    assert not np.array_equal(masks[0], np.asarray(other(x))), (
        "two dropout layers should have different masks"
    )


def test_evaluation_mode_returns_the_input():
    layer = Dropout(0.8, rng=7)
    x = np.array([[1, -2, 0.5], [3, 7, -100]] * 20, "float32")
    out = layer.eval()(Variable(x))
    assert np.array_equal(out.data, x), (
        f"after eval() the layer should return its input; yours returns\n{out.data[:4]}"
    )
    assert out.requires_grad, (
        "after eval() the result should still require a gradient: return x itself"
    )
    assert (np.asarray(layer.train()(Tensor(x))) == 0).any(), (
        "after train() the layer should drop elements again"
    )


def test_dropout_keeps_shape_dtype_and_graph():
    for dtype in ("float32", "float64"):
        for shape in [(4, 5), (7,), (), (0, 3), (1, 1, 6)]:
            x = Variable(np.full(shape, 3, dtype))
            out = Dropout(0.3, rng=8)(x)
            assert isinstance(out, Tensor), f"the result should be a Tensor, not {out!r:.60}"
            assert out.shape == shape and out.dtype.name == dtype, (
                f"for {dtype} of shape {shape} the result should have the same dtype and shape,"
                f" yours is {out.dtype} of shape {out.shape}"
            )
            assert out.requires_grad, (
                "x requires a gradient, so the result must require one: multiply tensors, "
                "do not use x.data"
            )
            expect(x.data, np.full(shape, 3), "the input afterwards", "return a new tensor")
            numbers = np.asarray(out.data, "float64")
            assert np.allclose(numbers * (numbers - 3 / 0.7), np.zeros(shape), atol=1e-4), (
                f"p=0.3: each 3 should become 0 or 3 / 0.7, your result is {out}"
            )


def test_p_is_at_least_0_and_less_than_1():
    x = Tensor([[1.0, -2.0, 3.0]] * 50)
    expect(Dropout(0)(x).data, x.data, "the result of Dropout(0), which drops nothing,")
    for p in (1, -0.1, 1.5, float("nan")):
        refused(
            lambda: Dropout(p), f"Dropout({p}), which is no probability below 1,", contains=[p]
        )


# %% dropout hidden points=1
def test_dropout_of_other_probabilities_shapes_and_magnitudes():
    random = np.random.default_rng(31)
    for p, shape, dtype in [
        (0.5, (20000,), "float64"),
        (0.4, (50, 2, 30, 20), "float32"),
        (0.35, (3, 90, 100), "float32"),
        (0.9, (20000, 1), "float64"),
    ]:
        x = random.choice([-1.0, 1.0], shape) * 10.0 ** random.uniform(-12, 12, shape)
        given, layer = Variable(x.astype(dtype)), Dropout(p=p, rng=generator(3))
        out = layer(given)
        numbers = np.asarray(out.data)
        yield out.shape, numbers.dtype.name, out.requires_grad, given
        kept = numbers != 0
        yield abs(kept.mean() - (1 - p)) < 0.02
        expect(numbers[kept], x[kept] / (1 - p), "kept elements", near=(1e-5, 0))
        for axis in [axis for axis, length in enumerate(shape) if 1 < length < 1000]:
            alike = float((np.take(kept, 0, axis) == np.take(kept, 1, axis)).mean())
            yield abs(alike - p * p - (1 - p) ** 2) < 0.2
        yield np.array_equal(Dropout(p, rng=generator(3))(given).data, numbers)
        yield np.array_equal(layer(given).data, numbers)
        net = Single(1)
        net.inner = {"drop": [layer]}
        net.eval()
        yield layer(given)
        net.train()
        yield np.array_equal(layer(given).data, given.data)
