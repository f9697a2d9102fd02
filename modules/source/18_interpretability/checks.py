# The checks of lesson 18, by exercise. `check("hook")` in the chapter runs the visible ones.

# %% setup
import math

import numpy as np

from checking import equal, expect, result_of, shown
from tinytorch.core.layers import Dense, Module
from tinytorch.core.tensor import Tensor, Variable
from tinytorch.core.transformers import GPT

IDS = np.array([[3, 1, 4, 3, 5], [9, 2, 2, 6, 0]])
OTHER = np.array([[3, 7, 4, 3, 5], [9, 2, 8, 6, 0]])
TARGETS = np.array([[-100, 4, 3, 5, 10], [2, -100, 6, -100, 7]])
SIZES = {"gpt": (11, 8, 12, 2, 3), "toy": (11, 8, 12, 3, 2)}  # V, context, D, layers, heads


def close(found, wanted, case, cause="", near=2e-3):
    """`expect` for results of floating-point arithmetic."""
    expect(found, wanted, case, cause, near)


def normed(x, state, name):
    centered = x - np.average(x, axis=-1)[..., None]
    variance = np.average(centered**2, axis=-1)[..., None]
    return centered / np.sqrt(variance + 1e-5) * state[f"{name}.weight"] + state[f"{name}.bias"]


def dense(x, state, name):
    return np.einsum("...i,io->...o", x, state[f"{name}.weights"]) + state[f"{name}.bias"]


def gelu(x):
    return x / 2 + x / 2 * np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


def weighted(x, state, name, heads):
    """The attention weights (B, H, T, T) and the results of all heads (B, T, D), in loops."""
    q, k, v = np.split(dense(x, state, f"{name}.qkv"), 3, axis=-1)
    size, (rows, tokens, _) = x.shape[-1] // heads, x.shape
    weights, z = np.zeros((rows, heads, tokens, tokens)), np.zeros_like(q)
    for b, h, t in np.ndindex(rows, heads, tokens):
        part = slice(h * size, (h + 1) * size)
        powers = np.exp(k[b, : t + 1, part] @ q[b, t, part] / math.sqrt(size))
        weights[b, h, t, : t + 1] = powers / powers.sum()
        z[b, t, part] = weights[b, h, t, : t + 1] @ v[b, : t + 1, part]
    return weights, z


def run_by_hand(state, ids, heads, change=None):
    """A forward pass in NumPy: {name: array}, with names as in `record`, and "patterns" and
    "logits". change(name, array) may return another array for each of them."""
    state = {name: np.asarray(array, "float64") for name, array in state.items()}
    seen, ids = {"patterns": []}, np.asarray(ids)

    def put(name, array):
        seen[name] = change(name, array) if change else array
        return seen[name]

    x = put("embedding", state["embedding.weight"][ids])
    if "positions.weight" in state:
        x = x + put("positions", 0 * x + state["positions.weight"][: ids.shape[1]])
    for n in range(1 + max(int(k.split(".")[1]) for k in state if k.startswith("blocks"))):
        here = f"blocks.{n}"
        x = put(f"{here}.input", x)
        weights, z = weighted(normed(x, state, f"{here}.norm1"), state, f"{here}.attention",
                              heads)  # fmt: skip
        seen["patterns"].append(weights)
        z = put(f"{here}.attention.out.input", z)
        x = x + put(f"{here}.attention", dense(z, state, f"{here}.attention.out"))
        if f"{here}.mlp.0.weights" in state:
            hidden = gelu(dense(normed(x, state, f"{here}.norm2"), state, f"{here}.mlp.0"))
            x = x + put(f"{here}.mlp", dense(hidden, state, f"{here}.mlp.2"))
        x = put(here, x)
    seen["logits"] = head_by_hand(state, x)
    return seen


def head_by_hand(state, stream, norm=True):
    state = {name: np.asarray(array, "float64") for name, array in state.items()}
    stream = normed(stream, state, "norm") if norm else stream
    return stream @ state.get("head.weights", np.transpose(state["embedding.weight"]))


def loss_by_hand(logits, y):
    """The mean cross-entropy of the targets that are not -100."""
    logp = logits - np.log(np.exp(logits).sum(axis=-1))[..., None]
    return -np.mean([logp[at][y[at]] for at in np.ndindex(*y.shape) if y[at] >= 0])


def last_probability(logits):
    """The mean probability of token 4 at the last position."""
    powers = np.exp(logits[:, -1])
    return float(np.mean(powers[:, 4] / powers.sum(axis=-1)))


def causal(rng, *shape):
    P = np.tril(rng.random(shape))
    return P / P.sum(axis=-1, keepdims=True)


def induction_by_loops(P, ids, shift=1):
    """The score in loops. With another shift than 1, the key is at a wrong place."""
    scores = []
    for h in range(P.shape[1]):
        sums = []
        for b, i in np.ndindex(*np.shape(ids)):
            places = [j for j in range(i + 1) if 0 <= j - shift < len(ids[b])]
            keys = [j for j in places if ids[b][j - shift] == ids[b][i]]
            if keys:
                sums.append(sum(P[b, h, i, j] for j in keys))
        scores.append(np.mean(sums))
    return np.array(scores)


def without_by_loops(z, heads, count, how):
    z, size = np.array(z, "float64"), np.shape(z)[-1] // count
    for h in heads:
        for c in range(h * size, (h + 1) * size):
            z[..., c] = np.average(z[..., c]) if how == "mean" else 0
    return z


def ablation_by_hand(state, y, heads, how, head_of=None, where="attention.out.input"):
    layers = 1 + max(int(k.split(".")[1]) for k in state if k.startswith("blocks"))
    losses = np.zeros((layers, heads))
    for layer, head in np.ndindex(layers, heads):

        def change(name, a):
            return head_of(a, head) if name == f"blocks.{layer}.{where}" else a

        losses[layer, head] = loss_by_hand(run_by_hand(state, IDS, heads, change)["logits"], y)
    return losses


def patch_by_hand(state, heads, path="blocks.{}", clean=IDS, corrupt=OTHER, raw=False, to=1):
    """The patch map. With another `to` than 1, further positions are patched: a mistake."""
    layers = 1 + max(int(k.split(".")[1]) for k in state if k.startswith("blocks"))
    first = run_by_hand(state, clean, heads)
    best, base = (last_probability(run_by_hand(state, ids, heads)["logits"])
                  for ids in (clean, corrupt))  # fmt: skip
    out = np.zeros((layers, clean.shape[1]))
    for layer, t in np.ndindex(*out.shape):

        def change(name, a):
            if name == path.format(layer):
                a = np.array(a)
                places = {1: slice(t, t + 1), "t": slice(t + 1), "end": slice(t, None)}[to]
                a[:, places] = first[name][:, places]
            return a

        out[layer, t] = last_probability(run_by_hand(state, corrupt, heads, change)["logits"])
    return out if raw else (out - base) / (best - base)


def fitted(train, labels):
    """The weights of least squares, by the normal equations; the last one is the bias."""
    a = np.hstack([train, np.ones((len(train), 1))])
    return np.linalg.solve(a.T @ a, a.T @ (2.0 * np.asarray(labels) - 1))


def accuracy_by_hand(train, labels, test, test_labels):
    w = fitted(train, labels)
    right = [(x @ w[:-1] + w[-1] > 0) == bool(y) for x, y in zip(test, test_labels)]
    return np.mean(right)


def without_bias(train, labels, test, test_labels):
    """The accuracy of a probe without a bias, by the normal equations."""
    w = np.linalg.solve(train.T @ train, train.T @ (2.0 * np.asarray(labels) - 1))
    return np.mean((test @ w > 0) == (np.asarray(test_labels) > 0))


def blobs(seed, n, shift=0.0, d=3):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    return rng.normal(size=(n, d)) + 1.2 * labels[:, None] + shift, labels


def token_data(seed, tokens=12, n=240, d=16):
    """Vectors that are nearly determined by their token, and labels that are random."""
    rng = np.random.default_rng(seed)
    table = np.random.default_rng(99).normal(size=(tokens, d))
    groups = rng.integers(0, tokens, n)
    return table[groups] + 0.1 * rng.normal(size=(n, d)), rng.integers(0, 2, n), groups


# %% learner-side
from checking import refusal, result_of

IDS = np.array([[3, 1, 4, 3, 5], [9, 2, 2, 6, 0]])
OTHER = np.array([[3, 7, 4, 3, 5], [9, 2, 8, 6, 0]])
TARGETS = np.array([[-100, 4, 3, 5, 10], [2, -100, 6, -100, 7]])


class Plus(Module):
    """x * factor + 1; `.inputs` are the inputs of all calls."""

    def __init__(self):
        self.inputs = []

    def forward(self, x, factor=1, *, more=0):
        self.inputs.append(x)
        return x * factor + 1 + more


class Chain(Module):
    """Two layers in a row, of which the second is called twice; `.last` is in a list."""

    def __init__(self):
        self.first, self.parts = Dense(2, 2), [Dense(2, 2)]
        for n, layer in enumerate([self.first, self.parts[0]]):
            layer.weights.data[...] = [[1, 2], [3, n]]
            layer.bias.data[...] = [n, 1]

    def forward(self, x):
        return self.parts[0](self.parts[0](self.first(x)))


def shaken(module, seed, scale=0.5):
    """`module`, with random numbers in all parameters, biases and gains included."""
    rng = np.random.default_rng(seed)
    for name, p in module.named_parameters():
        p.data[...] = rng.normal(0, scale, p.shape) + ("norm" in name and "weight" in name)
    return module


def built(kind, seed=0, **options):
    """A GPT of two layers and three heads, or an AttentionOnly of three layers and two heads,
    with random weights."""
    if kind == "toy":
        return shaken(AttentionOnly(11, 8, 12, 3, 2), seed)
    return shaken(GPT(11, 8, 12, 2, 3, **options), seed)


def traces(model):
    """The traces of hooks: names of modules with an attribute `forward`."""
    return [path or "the model" for path, m in model.named_modules() if "forward" in vars(m)]


def modes(model):
    return [part.training for part in model.modules()]


def tools_on(kind, call, seed=0, **options):
    """The state of a model, call(model), the traces of hooks, and whether its mode is kept."""
    model = built(kind, seed, **options)
    model.blocks[-1].eval()
    before = modes(model)
    result = call(model)
    return model.state_dict(), result, traces(model), before == modes(model)


def drawn(seed, *sizes):
    return repeated(np.random.default_rng(seed), *sizes)


def features(seed, *sizes):
    return np.asarray(sparse_features(np.random.default_rng(seed), *sizes))


# %% repeated points=4
def test_each_row_repeats_with_its_own_period():
    out = drawn(0, 40, 30, 20, 4, 9)
    assert out is not None, "repeated returned None: is `return` missing?"
    assert len(out) == 2, f"repeated returns (ids, period); yours returns {len(out)} things"
    ids, period = np.asarray(out[0]), np.asarray(out[1])
    assert ids.shape == (40, 30) and period.shape == (40,), (
        "for batch=40 and length=30, ids should have shape (40, 30) and period (40,); yours "
        f"have {ids.shape} and {period.shape}"
    )
    assert ids.dtype.kind in "iu" and period.dtype.kind in "iu", (
        f"ids and period should be ints, yours are {ids.dtype} and {period.dtype}"
    )
    for row, p in zip(ids, period.tolist(), strict=False):
        wrong = np.flatnonzero(row[p:] != row[:-p])
        assert wrong.size == 0, (
            f"a row with period {p} should have row[t + {p}] == row[t] for all t; yours is "
            f"{row.tolist()}, which differs at t = {wrong[0]}"
        )
        assert len(set(row[:p].tolist())) == p, (
            f"the first {p} tokens of a row with period {p} should be different; yours are "
            f"{row[:p].tolist()}: draw them without replacement"
        )
    assert len(set(period.tolist())) > 1, (
        f"each row should draw its own period; all of yours are {period[0]}"
    )


def test_periods_and_tokens_are_drawn_evenly():
    ids, period = (np.asarray(part) for part in drawn(1, 3000, 6, 7, 3, 5))
    values, counts = np.unique(period, return_counts=True)
    assert values.tolist() == [3, 4, 5], (
        f"with low=3 and high=5, periods should be 3, 4 and 5; yours are {values.tolist()}"
        + ". rng.integers(low, high) never draws `high`" * (5 not in values)
    )
    assert counts.min() > 800, (
        f"3, 4 and 5 should be equally frequent; yours occur {counts.tolist()} times"
    )
    for t in (0, 1, 2):
        values, counts = np.unique(ids[:, t], return_counts=True)
        assert values.tolist() == list(range(7)), (
            f"with vocab_size=7, each token from 0 to 6 should occur at position {t}; yours "
            f"has {values.tolist()}"
        )
        assert counts.min() > 300, (
            f"all tokens should be equally frequent at position {t}; yours occur "
            f"{counts.tolist()} times"
        )


def test_rows_are_random_and_come_from_rng():
    ids, _ = drawn(2, 50, 8, 30, 4, 4)
    rows = {tuple(row) for row in np.asarray(ids).tolist()}
    assert len(rows) > 40, (
        f"each row should have its own tokens; your 50 rows are only {len(rows)} different ones"
    )
    again, other = drawn(2, 50, 8, 30, 4, 4)[0], drawn(3, 50, 8, 30, 4, 4)[0]
    assert np.array_equal(ids, again), (
        "two generators with the same seed should give the same rows: draw from rng"
    )
    assert not np.array_equal(ids, other), "generators with seeds 2 and 3 give the same rows"
    one, two = (np.asarray(drawn(seed, 50, 8, 30, 3, 9)[1]) for seed in (2, 3))
    assert not np.array_equal(one, two), "generators with seeds 2 and 3 give the same periods"


def test_a_period_may_be_as_long_as_the_row_or_the_vocabulary():
    for sizes in [(2, 5, 9, 9, 9), (2, 9, 9, 9, 9), (1, 12, 5, 5, 5)]:
        case = f"repeated(rng, {', '.join(map(str, sizes))})"
        ids, period = result_of(lambda: drawn(4, *sizes), case)
        shape = np.shape(ids)
        assert shape == sizes[:2], f"{case} should give ids {sizes[:2]}, yours are {shape}"
        equal(np.asarray(period).tolist(), [sizes[3]] * sizes[0], f"the periods of {case}")


# %% repeated hidden points=1
def test_other_rows():
    for seed, sizes in enumerate([(7, 48, 64, 12, 24), (3, 10, 12, 1, 4), (1, 20, 8, 8, 8)]):
        ids, period = (np.asarray(part) for part in drawn(seed, *sizes))
        assert ids.shape == sizes[:2] and sizes[3] <= period.min() <= period.max() <= sizes[4]
        assert 0 <= ids.min() and ids.max() < sizes[2]
        for row, p in zip(ids, period.tolist(), strict=False):
            assert np.array_equal(row, np.resize(row[:p], len(row)))
            assert len(set(row[:p].tolist())) == p


# %% learner-side
def targets_and_inputs(ids, period):
    """ids and period after a call of repeat_targets, and the y that it returns."""
    ids, period = np.array(ids), np.array(period)
    y = np.array(repeat_targets(ids, period)[1])
    return ids, period, y


# %% targets points=3
def test_only_tokens_after_a_repeated_token_count():
    ids, period = np.array([[5, 7, 9, 5, 7, 9, 5]]), np.array([3])
    out = repeat_targets(ids, period)
    assert out is not None, "repeat_targets returned None: is `return` missing?"
    x, y = out
    expect(x, [[5, 7, 9, 5, 7, 9]], "x for the row 5 7 9 5 7 9 5: all tokens but the last")
    causes = {
        "At t = 2 the 9 has been read for the first time, and nothing says that the copy is "
        "over: the first known target is at t = period": [[-100, -100, 5, 7, 9, 5]],
        "At t = 3 the 5 has been read before, so the 7 after it is known: t >= period": [
            [-100, -100, -100, -100, 9, 5]
        ],
        "y is the token *after* x": [[-100, -100, -100, 5, 7, 9]],
        "The first copy cannot be predicted: its targets are IGNORED": [[7, 9, 5, 7, 9, 5]],
        "IGNORED is -100, the constant above the function": [[0, 0, 0, 7, 9, 5]],
        "The mask is inverted": [[7, 9, 5, -100, -100, -100]],
    }
    wanted = [[-100, -100, -100, 7, 9, 5]]
    expect(y, wanted, "y for the row 5 7 9 5 7 9 5 with period 3", causes)


def test_each_row_has_its_own_period():
    ids = np.array([[1, 2, 1, 2, 1], [1, 2, 3, 1, 2], [4, 3, 2, 1, 4]])
    case = "y for three rows with the periods 2, 3 and 4"
    cause = "period has shape (B,), and the positions (T - 1,): period[:, None] broadcasts"
    _, y = result_of(lambda: repeat_targets(ids, np.array([2, 3, 4])), case, cause)
    wanted = [[-100, -100, 2, 1], [-100, -100, -100, 2], [-100] * 4]
    one = [np.where(np.arange(4) >= p, ids[:, 1:], -100) for p in (2, 3, 4)]
    own = "Every row has its own period"
    causes = {own + "; yours uses the first": one[0], own: one[1], own + ".": one[2]}
    expect(y, wanted, case, causes)


def test_the_rows_are_not_changed():
    ids, period, y = targets_and_inputs([[5, 7, 5, 7]], [2])
    assert np.shape(ids) == (1, 4) and np.array_equal(ids, [[5, 7, 5, 7]]), (
        f"ids should stay [[5, 7, 5, 7]], yours are {shown(ids)} afterwards: ids[:, 1:] is a "
        "view, so copy it before you write into it"
    )
    expect(period, [2], "period after the call")
    expect(y, [[-100, -100, 7]], "y for the row 5 7 5 7 with period 2")


# %% targets hidden points=1
def test_other_targets():
    rng = np.random.default_rng(0)
    period = rng.integers(1, 9, 12)
    ids = np.array([np.resize(rng.permutation(20)[:p], 15) for p in period])
    x, y = repeat_targets(ids, period)
    wanted = [[row[t + 1] if row[t] in row[:t] else -100 for t in range(14)] for row in ids]
    expect(x, ids[:, :-1], "x")
    expect(y, wanted, "y")


# %% learner-side
def with_hook(x, f, is_input=False, *others, **options):
    """The result of a call inside the block, the inputs of all calls, traces of hooks."""
    module = Plus()
    with hook(module, f, is_input):
        inside = module(x, *others, **options)
    outside = module(x, *others, **options)
    return inside, module.inputs, traces(module), outside


def after_error(nested=False):
    """The error that leaves the block, the traces of hooks, and a call inside and after."""
    module, kind, inside = Plus(), "", None
    try:
        with hook(module, lambda x: x * 10):
            inside = module(1)
            if nested:
                with hook(module, lambda x: x + 5):
                    raise ArithmeticError("inside")
            raise ArithmeticError("inside")
    except Exception as error:
        kind = type(error).__name__
    return kind, traces(module), (inside, module(1))


def nested_hooks(is_input=False):
    """Results before, inside one hook, inside two, inside one again, and after."""
    module, values = Plus(), []
    values.append(module(1))
    with hook(module, lambda x: x * 10, is_input):
        values.append(module(1))
        with hook(module, lambda x: x + 5, is_input):
            values.append(module(1))
        values.append(module(1))
    values.append(module(1))
    return values, traces(module)


def own_forward():
    """The results of a module whose object has an attribute `forward`: inside, and after."""
    module = Plus()
    module.forward = lambda x: 100 * x
    own = module.forward
    with hook(module, lambda x: x + 1):
        inside = module(2)
    return inside, module(2), vars(module).get("forward") is own


def two_objects():
    """The results of two modules, of which only the first has a hook."""
    first, second = Plus(), Plus()
    with hook(first, lambda x: x * 10):
        return first(1), second(1)


# %% hook points=7
def test_results_pass_through_f():
    causes = {
        "recursion": "`module.forward` is the wrapper itself by then: keep the old one in a "
        "variable first",
        "generator didn't yield": "a context manager needs `yield`",
        "not an iterator": "a context manager needs `yield`",
    }
    kinds = (RecursionError, RuntimeError, AttributeError, TypeError, NameError)
    inside, inputs, _, _ = result_of(
        lambda: with_hook(3, lambda x: x * 10), "a call with a hook", causes, kinds
    )
    cause = "Is the hook called with the result, and is its result returned?"
    causes = {
        "The hook was not called: is the wrapper stored as module.forward?": 4,
        "f was called with the input: with is_input=False it gets the result": 31,
        "The wrapper returns the result of f(x) alone": 30,
    }
    assert inside is not None, f"the module returns None inside the block. {cause}"
    expect(inside, 40, "a module x + 1, with the hook x * 10, called with 3", causes)
    equal(list(inputs), [3, 3], "the inputs that its forward method gets, inside and after")


def test_inputs_pass_through_f():
    inside, inputs, _, _ = with_hook(3, lambda x: x * 10, True)
    causes = {
        "With is_input=True, f changes the input and not the result": 40,
        "f changes both, the input and the result": 310,
        "The hook was not called": 4,
    }
    case = "a module x + 1, with the hook x * 10 on its input, called with 3,"
    assert inside is not None, f"{case} returns None"
    expect(inside, 31, case, causes)
    equal(list(inputs), [30, 3], "the inputs that its forward method gets, inside and after")


def test_further_arguments_are_passed_on():
    cause = {
        "not an iterator": "a context manager needs `yield`",
        "": "The wrapper takes x, *others and **options, and passes all of them on",
    }
    for is_input, wanted in [(False, 2 * (3 * 2 + 1 + 50)), (True, 6 * 2 + 1 + 50)]:
        case = f"module(3, 2, more=50) with a hook, is_input={is_input},"
        inside = result_of(
            lambda: with_hook(3, lambda x: x * 2, is_input, 2, more=50)[0], case, cause
        )
        expect(inside, wanted, case, cause[""])


def test_the_module_is_as_before_after_the_block():
    inside, inputs, left, outside = with_hook(3, lambda x: x * 10)
    found, case = (
        [inside, outside],
        "a module x + 1 with the hook x * 10, called with 3 inside ",
    )
    case += "and after the block,"
    expect(found, [40, 4], case, "Remove the hook at the end")
    cause = "Delete it. A stored bound method would keep the object alive and be saved with it"
    equal(list(left), [], "the list of modules with an attribute `forward` after the block",
          cause)  # fmt: skip
    equal(list(inputs), [3, 3], "the inputs of the module, inside and after")


def test_the_hook_is_removed_after_an_error():
    for nested in (False, True):
        kind, left, values = after_error(nested)
        blocks = "two blocks, one in the other," if nested else "the block"
        causes = {
            "": ". `finally` does not catch an error, `except` does",
            "AttributeError": ". The inner block removes its own hook only, and the outer one "
            "is back",
            "TypeError": ". Does the context manager have a `yield`?",
        }
        assert kind == "ArithmeticError", (
            f"an ArithmeticError inside {blocks} should leave it, yours gives "
            f"{kind or 'none'}{causes.get(kind, '')}"
        )
        equal(tuple(values), (20, 2), f"a module x + 1 with the hook x * 10, called with 1 "
              f"inside {blocks} and after an error there,", "The hook is still there: put "
              "`yield` into a `try`, and remove the hook in its `finally`")  # fmt: skip
        equal(
            list(left),
            [],
            f"the list of modules with an attribute `forward` after an error inside {blocks}",
            "Delete it. The method of the class is found again",
        )


def test_hooks_nest():
    values, left = nested_hooks()
    cause = {
        "The inner hook replaced the outer one: call module.forward as it was before, not the "
        "method of the class": [2, 20, 7, 20, 2],
        "After the inner block, the outer hook should be back": [2, 20, 25, 2, 2],
    }
    case = "x + 1 called with 1: before, with the hook x * 10, with x + 5 inside it, with x * "
    case += "10 again, after"
    expect(values, [2, 20, 25, 20, 2], case, cause)
    case = "the list of modules with an attribute `forward` after two nested blocks"
    equal(list(left), [], case)
    values, _ = nested_hooks(is_input=True)
    assert values[1] == 11 and values[3] == 11 and values[2] in (16, 61) and values[4] == 2, (
        "the same with hooks of the input should be [2, 11, 16 or 61, 11, 2], yours is "
        f"{list(values)}"
    )


def test_only_this_object_has_the_hook():
    first, second = two_objects()
    assert (first, second) == (20, 2), (
        "of two modules x + 1, one has the hook x * 10; called with 1 they should give 20 and "
        f"2, yours give {first} and {second}: store the wrapper in the object, not in its class"
    )
    inside, outside, same = own_forward()
    assert (inside, outside, same) == (201, 200, True), (
        "a module with its own attribute `forward`, 100 * x, and the hook x + 1: called with 2 "
        f"inside and after the block it should give 201 and 200, yours gives {inside} and "
        f"{outside}, and afterwards it should have the same function again"
    )


# %% learner-side
def tensors_through():
    """The output with a hook on a Tensor, and whether a gradient still reaches the weights."""
    layer = Dense(2, 1)
    layer.weights.data[...], layer.bias.data[...] = [[1.0], [2.0]], [3.0]
    with hook(layer, lambda x: x * 2):
        out = layer(Tensor([[1.0, 1.0]]))
        out.sum().backward()
    return out.data, layer.weights.grad


# %% hook hidden points=2
def test_other_hooks():
    out, gradient = tensors_through()
    close(out, [[12.0]], "2 (1 + 2 + 3)")
    close(gradient, [[2.0], [2.0]], "the gradient passes the hook")
    inside, inputs, left, outside = with_hook(-2, lambda x: x - 1, True, 3)
    assert (inside, outside, list(inputs), list(left)) == (-8, -5, [-3, -2], [])
    assert after_error(nested=True)[0] == "ArithmeticError"


# %% learner-side
def recorded(names, calls=1):
    """What is recorded of a Chain, its output, the traces of hooks, and the dict at first."""
    model, x = Chain(), np.array([[1.0, 2.0]], "float32")
    with record(model, *names) as seen:
        empty = dict(seen)
        for n in range(calls):
            out = model(Tensor(x + 10 * n))
    again = model(Tensor(x))
    return dict(seen), out.data, again.data, traces(model), empty


def recorded_gradient():
    """The gradient of the weights of the first layer, with and without recording."""
    gradients = []
    for names in ([], ["first", "parts.0.input"]):
        model = Chain()
        with record(model, *names):
            model(Tensor([[1.0, 2.0]])).sum().backward()
        gradients.append(model.first.weights.grad)
    return gradients


def recorded_array():
    """What is recorded of a layer that is called with an ndarray."""
    layer = Dense(2, 3)
    with record(layer, ".input", "") as seen:
        layer(np.ones((4, 2), "float32"))
    return dict(seen)


def written_later(x):
    """A recorded array, after the array of the result was overwritten."""
    model = Chain()
    with record(model, "first") as seen:
        out = model.first(Tensor(x))
    out.data[...] = -77
    return seen["first"]


def unknown_path(tool):
    """The error for a path that does not exist, and the traces of hooks."""
    model = Chain()

    def call():
        if tool == "record":
            with record(model, "first", "second.layer"):
                pass
        else:
            with changed(model, {"first": lambda a: a, "second.layer": lambda a: a}):
                pass

    return *refusal(call), traces(model)


def error_inside(tool):
    model, kind = Chain(), ""
    names = ["first", "parts.0.input", ""]
    block = record(model, *names) if tool == "record" else changed(model, {
        name: lambda a: a for name in names})  # fmt: skip
    try:
        with block:
            raise ArithmeticError
    except ArithmeticError:
        kind = "ArithmeticError"
    return kind, traces(model)


def recorded_ids():
    """What is recorded of an embedding's input, given as an array of ids."""
    model = built("toy")
    with record(model, "embedding.input", "embedding") as seen:
        model(IDS)
    return seen["embedding.input"], seen["embedding"].shape


# %% record points=5
def test_results_and_inputs_are_recorded():
    # first: x -> [[1 + 6, 2 + 0]] + [0, 1]; then twice the second layer
    first = np.array([[7.0, 3.0]])
    second = first @ np.array([[1, 2], [3, 1]]) + [1, 1]
    third = second @ np.array([[1, 2], [3, 1]]) + [1, 1]
    names = ["first.input", "first", "parts.0.input", "parts.0", ""]
    wanted = {
        "first.input": [[1.0, 2.0]],
        "first": first,
        "parts.0.input": second,
        "parts.0": third,
        "": third,
    }
    case = "recording a model of two layers"
    seen, out, _, _, empty = result_of(
        lambda: recorded(names), case,
        {"not ()": "The hook has to return what it got",
         "not iterable": "`yield seen` gives the block its dict"},
        (AttributeError, TypeError, ValueError, RuntimeError, KeyError))  # fmt: skip
    assert out is not None, "inside the block, the model returns None: the hook returns its x"
    equal(dict(empty), {}, "what is recorded before the first call")
    assert seen, (
        "nothing is recorded. Is `yield` inside the block of `with hooks(...)`, and does it "
        "yield `seen` itself?"
    )
    missing = [name for name in names if name not in seen]
    assert not missing, (
        f"nothing is recorded under {missing}; there are {list(seen)}. When all hooks are made "
        "in one loop, does each of them have its own name?"
    )
    for name, array in wanted.items():
        assert isinstance(seen[name], np.ndarray), (
            f"seen[{name!r}] should be an ndarray, yours is a {type(seen[name]).__name__}"
        )
        close(seen[name], array, f"seen[{name!r}], of the latest call,",
              {"That is the result of the first of two calls": second}
              if name != "first.input" else {})  # fmt: skip
    case = "recording a layer that is called with an ndarray"
    cause = "an input is a Tensor or an ndarray; operand(x) is the array of both"
    seen = result_of(recorded_array, case, cause, (AttributeError, TypeError, ValueError))
    expect(seen.get(".input"), np.ones((4, 2)), "seen['.input'], an ndarray of ones,", cause)
    equal(np.shape(seen.get("")), (4, 3), "the shape of seen['']")


def test_what_is_recorded_is_a_copy():
    cause = {
        "the recorded array changed when the model's array was overwritten after the block: "
        "copy it, np.array(...)": np.full((1, 2), -77)
    }
    for x, wanted in [([[1.0, 2.0]], [[7, 3]]), ([[2.0, 0.0]], [[2, 5]])]:
        close(written_later(x), wanted, f"what is recorded of the first layer for {x}", cause)


def test_a_later_call_replaces_an_earlier_one():
    seen, *_ = recorded(["first.input"], calls=3)
    close(seen["first.input"], [[21.0, 22.0]], "the input of the third call")


def test_recording_changes_nothing():
    seen, out, again, left, _ = recorded(["first", "parts.0.input"])
    assert len(seen) == 2, f"two names give two arrays; yours gives {len(seen)}"
    close(seen["first"], [[7, 3]], "what is recorded of the first layer")
    weights = np.array([[1, 2], [3, 1]])
    wanted = (np.array([[7, 3]]) @ weights + 1) @ weights + 1
    close(out, wanted, "the result of the model while it is recorded")
    close(again, wanted, "the result of the model afterwards")
    equal(list(left), [], "the modules that still have a hook after the block")
    _, found = recorded_gradient()
    assert found is not None, (
        "while recording, no gradient reaches the first layer: the hook has to return the "
        "Tensor it got, not a new one"
    )
    upstream = weights @ weights @ np.ones(2)
    close(found, np.outer([1, 2], upstream), "the gradient of the first layer while recording")


def test_record_leaves_nothing_behind():
    kind, left = error_inside("record")
    assert kind == "ArithmeticError", (
        "an error inside the block should leave it, yours stops it"
    )
    assert not left, f"after an error inside the block, {', '.join(left)} still has a hook"
    kind, message, left = unknown_path("record")
    assert kind in ("KeyError", "ValueError") and "second.layer" in message, (
        "record(model, 'first', 'second.layer') of a model without such a module should raise "
        f"the KeyError of `hooks`; yours raises {kind or 'nothing'}: {message[:60]}"
    )
    assert not left, f"after an unknown path, {', '.join(left)} still has a hook"


# %% record hidden points=1
def test_other_recordings():
    ids, shape = recorded_ids()
    expect(ids, IDS, "ids of the embedding")
    equal(tuple(shape), (2, 5, 12), "the shape of the embedding's result")
    seen, _, _, left, _ = recorded(["", "first"], calls=2)
    close(seen["first"], [[11 + 3 * 12.0, 22 + 1.0]], "second call")
    assert sorted(seen) == ["", "first"] and not left


# %% learner-side
def patterns_of(kind, **options):
    return tools_on(kind, lambda model: patterns(model, IDS), **options)


# %% patterns points=3
def test_the_weights_of_every_layer():
    for kind in ("gpt", "toy"):
        case = f"patterns of a model with {SIZES[kind][3]} layers and {SIZES[kind][4]} heads"
        state, found, _, _ = result_of(
            lambda: patterns_of(kind),
            case,
            {
                "NoneType": "Is `return` missing?",
                "has no attribute": "attention_weights takes a Tensor, and record gives arrays",
            },
        )
        assert found is not None, "patterns returned None: is `return` missing?"
        seen = run_by_hand(state, IDS, SIZES[kind][4])
        assert len(found) == SIZES[kind][3], (
            f"{case}: there should be an array for each layer, yours are {len(found)}"
        )
        for n, (P, wanted) in enumerate(zip(found, seen["patterns"], strict=False)):
            x = seen[f"blocks.{n}.input"]
            raw = weighted(x, {k: np.asarray(v, "float64") for k, v in state.items()},
                           f"blocks.{n}.attention", SIZES[kind][4])[0]  # fmt: skip
            causes = {
                "attention reads the normalized stream: record blocks.0.attention.input, not "
                "blocks.0.input": raw,
                "All layers got the weights of the first": seen["patterns"][0],
            }
            close(P, wanted, f"the weights of layer {n}", causes)


def test_patterns_runs_in_evaluation_mode():
    state, found, left, same = patterns_of("gpt", dropout=0.5)
    wanted = run_by_hand(state, IDS, 3)["patterns"]
    for n in range(2):
        close(found[n], wanted[n], f"the weights of layer {n} of a model with dropout=0.5",
              "Is the model in evaluation mode while it runs?")  # fmt: skip
    assert same, "after patterns, each module should be in the mode it was in before"
    assert not left, f"after patterns, {', '.join(left)} still has a hook"


# %% patterns hidden points=1
def test_other_patterns():
    state, found, _, _ = tools_on("toy", lambda m: patterns(m, IDS[:1, :3]), 5)
    wanted = run_by_hand(state, IDS[:1, :3], 2)["patterns"]
    for n in range(3):
        close(found[n], wanted[n], f"layer {n}")


# %% previous-token points=2
def test_the_weight_on_the_position_before():
    P = np.zeros((2, 2, 3, 3))
    P[0, 0] = [[1, 0, 0], [1, 0, 0], [0, 0.5, 0.5]]  # 1 and 0.5
    P[1, 0] = [[1, 0, 0], [0.75, 0.25, 0], [1, 0, 0]]  # 0.75 and 0
    P[:, 1] = np.eye(3)
    P[1, 1, 2] = [0, 1, 0]
    wanted = [2.25 / 4, 1 / 4]
    after = [np.mean([P[b, h, i, i + 1] for b in (0, 1) for i in (0, 1)]) for h in (0, 1)]
    own = [np.mean([P[b, h, i, i] for b in (0, 1) for i in range(3)]) for h in (0, 1)]
    wrapped = [np.mean([P[b, h, i, i - 1] for b in (0, 1) for i in range(3)]) for h in (0, 1)]
    causes = {
        "The axes are [row, head, query, key]; yours has query and key exchanged": after,
        "That is the weight of each query on itself": own,
        "Query 0 has no previous token: leave it out of the mean": wrapped,
        "That is the sum over the queries: take the mean": [1.125, 0.5],
        "That is the score of the first row only": [0.75, 0],
        "There should be one score for each head": np.mean(wanted),
        "There should be one score for each head, not for each row": [[0.75, 0], [0.375, 0.5]],
    }
    expect(previous_token_score(P), wanted, "the score of two heads", causes, near=1e-6)


def test_scores_of_known_heads():
    T = 6
    previous, uniform = np.eye(T, k=-1), np.tri(T) / np.arange(1, T + 1)[:, None]
    previous[0, 0] = 1
    P = np.stack([previous, uniform, np.eye(T)])[None]
    wanted = [1, np.mean([1 / n for n in range(2, T + 1)]), 0]
    case = "the scores of a perfect previous-token head, of uniform attention, and of a head "
    case += "that looks at its own position"
    expect(previous_token_score(P), wanted, case, near=1e-6)


# %% previous-token hidden points=1
def test_other_previous_token_scores():
    P = causal(np.random.default_rng(0), 3, 4, 7, 7)
    wanted = [np.mean([P[b, h, i, i - 1] for b in range(3) for i in range(1, 7)])
              for h in range(4)]  # fmt: skip
    expect(previous_token_score(P), wanted, "the scores", near=1e-6)


# %% induction points=4
def test_the_weight_on_tokens_that_followed():
    ids = np.array([[4, 6, 8, 4, 6]])
    P = np.zeros((1, 2, 5, 5))
    P[0, 0, 3], P[0, 0, 4] = [0, 0.5, 0, 0.5, 0], [0, 0.25, 0.5, 0.25, 0]
    P[0, 1, 3], P[0, 1, 4] = [1, 0, 0, 0, 0], [0, 1, 0, 0, 0]
    P[0, :, [0, 1, 2], [0, 1, 2]] = 1
    causes = {
        "That is the weight on the earlier copy itself; the key is the token after it": [
            0.125,
            1,
        ],
        "Those are the keys with the query's token, the query itself included; the key is the "
        "token *after* an earlier copy": induction_by_loops(P, ids, 0),
        "Those are the keys whose *next* token is the query's; it is the token before the key "
        "that counts": induction_by_loops(P, ids, -1),
        "Only queries that have such a key belong to the mean, here 3 and 4; keys after the "
        "query do not count, so 1 <= j <= i": [0.2, 0],
        "The axes are [row, head, query, key]": [0, 0],
        "There should be one score for each head": 0.25,
    }
    case = "the scores of two heads for the tokens 4 6 8 4 6, where query 3 should look at key "
    case += "1 and query 4 at key 2,"
    cause = "The mask has shape (B, T, T), and P has a head axis in second place: mask[:, None]"
    found = result_of(lambda: induction_score(P, ids), case, cause)
    expect(found, [0.5, 0], case, causes, near=1e-6)


def test_the_weight_of_several_copies_is_added():
    ids = np.array([[3, 7, 3, 9, 3]])
    P = np.zeros((1, 1, 5, 5))
    P[0, 0, 2], P[0, 0, 4] = [0, 0.5, 0.5, 0, 0], [0, 0.25, 0, 0.5, 0.25]
    causes = {
        "Query 4 has two keys, 1 and 3: add their weights": [[0.5], [0.375], [0.4375]],
        "Only the latest copy counts in yours; add the weights of all": [0.5],
        "Only the first copy counts in yours; add the weights of all": [0.375],
        "That is a mean over pairs of query and key; add the weights of each query first, then "
        "take the mean over queries": [1.25 / 3],
    }
    causes = {cause: np.array(value) for cause, value in causes.items()}
    case = "the score for the tokens 3 7 3 9 3; query 2 has key 1, query 4 has keys 1 and 3,"
    expect(induction_score(P, ids), [0.625], case, causes, near=1e-6)


def test_queries_without_a_copy_are_left_out_and_later_keys_do_not_count():
    ids = np.array([[1, 2, 3, 1], [5, 6, 7, 8]])
    P = np.full((2, 1, 4, 4), 0.25)  # not causal on purpose: weights on later keys exist
    causes = {
        "The token at the query is its own copy for key i + 1, which comes later: only keys up "
        "to the query count": np.array([0.25]) * 7 / 7,
        "Row 1 has no repeated token, so its queries do not belong to the mean": [0.125],
    }
    case = (
        "the score of uniform weights for the rows 1 2 3 1 and 5 6 7 8: query 3 of row 0 has "
    )
    case += "key 1, and no other query has a key,"
    found = induction_score(P, ids)
    assert np.shape(found) == (1,), (
        f"two rows and one head should give one score, yours has shape {np.shape(found)}: P "
        "has a head axis in second place, so the mask also needs one: mask[:, None]"
    )
    expect(found, [0.25], case, causes, near=1e-6)
    P[0, 0, 3, 1] = 1
    expect(induction_score(P, ids), [1.0], f"{case} with the weight 1 there",
           "Queries without an earlier copy do not belong to the mean, and keys after the "
           "query do not count", near=1e-6)  # fmt: skip
    ids, P = np.array([[1, 2, 3, 1], [5, 5, 5, 5]]), np.zeros((2, 1, 4, 4))
    P[0, 0, 3, 1] = 1
    case = "the score for the rows 1 2 3 1 and 5 5 5 5, if the only query of row 0 with a key "
    case += "puts the weight 1 on it, and the three of row 1 put 0 on theirs,"
    cause = "That is a mean over rows of each row's mean; take one mean over all these queries"
    expect(induction_score(P, ids), [0.25], case, {cause: [0.5]}, near=1e-6)


def test_a_repeated_neighbour():
    ids = np.array([[4, 4, 9, 4]])
    P = np.zeros((1, 1, 4, 4))
    P[0, 0, 1, 1], P[0, 0, 3] = 1, [0, 0.5, 0.25, 0.25]
    case = "the score for the tokens 4 4 9 4: query 1 has key 1, query 3 has the keys 1 and 2,"
    cause = "Key j = i counts if the token before it equals the query's token: 1 <= j <= i"
    expect(induction_score(P, ids), [0.875], case, cause, near=1e-6)


# %% induction hidden points=2
def test_other_induction_scores():
    rng = np.random.default_rng(1)
    for vocabulary in (3, 6, 20):
        ids, P = rng.integers(0, vocabulary, (4, 12)), causal(rng, 4, 3, 12, 12)
        expect(induction_score(P, ids), induction_by_loops(P, ids), f"{vocabulary}", near=1e-6)


# %% learner-side
def changed_chain(name):
    """The output of a Chain while the array under `name` is replaced by 100 times it; the
    output afterwards; the traces of hooks; its inputs."""
    model, x, got = Chain(), np.array([[1.0, 2.0]], "float32"), []

    def f(array):
        got.append((type(array).__name__, np.array(array)))
        return array * 100

    with changed(model, {name: f}):
        inside = model(Tensor(x))
    values = inside.data if isinstance(inside, Tensor) else inside
    return values, model(Tensor(x)).data, traces(model), got, type(inside).__name__


def changed_array():
    """The result of a layer that is called with an ndarray, which is replaced by 5 times it."""
    layer = Chain().first
    with changed(layer, {".input": lambda array: array * 5}):
        return layer(np.array([[1.0, 2.0]], "float32")).data


def changed_in_place():
    """Whether a function that writes into its array changes arrays outside: the recorded input
    of the first layer after a change of it, and the array that the model was given."""
    model, x = Chain(), Tensor(np.array([[1.0, 2.0]], "float32"))

    def wipe(array):
        array[...] = 0
        return array

    with changed(model, {"first.input": wipe}):
        out = model(x)
    return x.data, out.data


def changed_twice():
    """The results of nested blocks and of one block with two names."""
    model, x, values = Chain(), Tensor(np.array([[1.0, 2.0]], "float32")), []
    with changed(model, {"first": lambda a: a * 0}):
        values.append(model(x).data)
        with changed(model, {"first": lambda a: a + 1}):
            values.append(model(x).data)
        with record(model, "first") as seen:
            model(x)
        values.append(seen["first"])
    with changed(model, {"first": lambda a: a * 0, "": lambda a: a * 10}):
        values.append(model(x).data)
    return values


# %% changed points=4
def test_results_and_inputs_are_replaced():
    weights, x = np.array([[1.0, 2], [3, 1]]), np.array([[1.0, 2]])
    first = np.array([[7.0, 3.0]])
    scaled = 100 * x @ np.array([[1, 2], [3, 0]]) + [0, 1]

    def rest(a):
        return (a @ weights + 1) @ weights + 1

    cases = {"first": rest(100 * first), "first.input": rest(scaled), "": 100 * rest(first)}
    for name, wanted in cases.items():
        case = f"the result of a model whose {name or 'result'!r} is multiplied by 100"
        inside, after, left, got, kind = result_of(
            lambda: changed_chain(name), case, "The hook has to return a Tensor",
            (AttributeError, TypeError, ValueError, RuntimeError))  # fmt: skip
        causes = {"Nothing was replaced: does the hook return Tensor(f(...))?": rest(first)}
        close(inside, wanted, case, causes)
        close(after, rest(first), "the result after the block")
        assert not left, f"after the block, {', '.join(left)} still has a hook"
        assert kind == "Tensor", (
            f"{case} should be a Tensor, yours is a {kind}: the hook has to return Tensor(...)"
        )
        kind = got[0][0]
        assert kind == "ndarray", f"the function should get an ndarray, yours gets a {kind}"
    case = "a layer that is called with an ndarray, which is multiplied by 5"
    cause = "an input is a Tensor or an ndarray; operand(x) is the array of both"
    out = result_of(changed_array, case, cause, (AttributeError, TypeError, ValueError))
    close(out, 5 * np.array([[1, 2]]) @ np.array([[1, 2], [3, 0]]) + [0, 1], case)


def test_the_function_gets_a_copy():
    given, out = changed_in_place()
    close(given, [[1.0, 2.0]], "the Tensor that the model was given, after a function wrote "
          "zeros into its array,", "Give the function a copy: np.array(...)")  # fmt: skip
    weights = np.array([[1.0, 2], [3, 1]])
    wanted = (np.array([[0.0, 1.0]]) @ weights + 1) @ weights + 1
    close(out, wanted, "the result of the model with zeros as input")


def test_blocks_nest_and_names_do_not_mix():
    zero, one, seen, both = changed_twice()
    weights = np.array([[1.0, 2], [3, 1]])

    def rest(a):
        return (np.asarray(a) @ weights + 1) @ weights + 1

    close(zero, rest([[0.0, 0]]), "the result with first * 0")
    close(one, rest([[1.0, 1]]), "the result with first + 1 inside a block with first * 0")
    close(seen, [[0.0, 0]], "what is recorded of `first` inside a block with first * 0")
    cause = "When all hooks are made in one loop, does each of them have its own function?"
    close(both, 10 * rest([[0.0, 0]]), "the result with first * 0 and the output * 10", cause)


def test_changed_leaves_nothing_behind():
    kind, left = error_inside("changed")
    assert kind == "ArithmeticError", (
        "an error inside the block should leave it, yours stops it"
    )
    assert not left, f"after an error inside the block, {', '.join(left)} still has a hook"
    kind, message, left = unknown_path("changed")
    assert kind in ("KeyError", "ValueError") and "second.layer" in message, (
        "an unknown path should raise the KeyError of `hooks`, which shows it; yours raises "
        f"{kind or 'nothing'}: {message[:60]}"
    )
    assert not left, f"after an unknown path, {', '.join(left)} still has a hook"


# %% changed hidden points=1
def test_other_changes():
    inside, after, left, got, _ = changed_chain("parts.0")
    weights = np.array([[1.0, 2], [3, 1]])
    second = 100 * (np.array([[7.0, 3.0]]) @ weights + 1)
    close(inside, 100 * (second @ weights + 1), "a module that is called twice")
    assert len(got) == 2 and not left


# %% learner-side
def without_heads_of(z, heads, count, *how):
    """The result of without_heads for a copy of z, which it may change."""
    return without_heads(np.array(z), heads, count, *how)


def ablated(kind, how=None, y=None, seed=1, **options):
    y = TARGETS if y is None else y
    arguments = (y,) if how is None else (y, how)
    return tools_on(kind, lambda model: ablate(model, IDS, *arguments), seed, **options)


def ablated_in_training_mode():
    """The ablated losses of a model with dropout, its state, the gradients afterwards."""
    model = built("gpt", 2, dropout=0.5)
    losses = ablate(model, IDS, TARGETS)
    grads = [name for name, p in model.named_parameters() if p.grad is not None]
    return losses, model.state_dict(), grads


# %% ablate points=6
def test_without_heads_replaces_the_columns_of_a_head():
    z = np.arange(24.0).reshape(2, 2, 6)  # two rows, two positions, three heads of two columns
    for heads, how in [([1], "mean"), ([1], "zero"), ([0, 2], "mean"), ([], "mean")]:
        wanted = without_by_loops(z, heads, 3, how)
        interleaved = np.array(z)
        for h in heads:
            interleaved[..., h::3] = 0 if how == "zero" else interleaved[..., h::3].mean((0, 1))
        position = np.array(z)
        for h in heads:
            part = position[..., 2 * h : 2 * h + 2]
            part[...] = part.mean(axis=0)
        row, one = np.array(z), np.array(z)
        for h in heads:
            row[..., 2 * h : 2 * h + 2] = row[..., 2 * h : 2 * h + 2].mean(1, keepdims=True)
            one[..., 2 * h : 2 * h + 2] = one[..., 2 * h : 2 * h + 2].mean()
        others = without_by_loops(z, [h for h in range(3) if h not in heads], 3, how)
        other = without_by_loops(z, heads, 3, "zero" if how == "mean" else "mean")
        causes = {
            "Nothing was replaced": z,
            "The columns of a head are next to each other": interleaved,
            "The mean is over rows *and* positions; yours is over rows": position,
            "The mean is over rows *and* positions; yours is over positions": row,
            "Each column has its own mean": one,
            "The given heads are ablated; yours ablates the others": others,
            'With how="zero" the columns become 0, with how="mean" their means': other,
            "Only the first of the heads was ablated": without_by_loops(z, heads[:1], 3, how),
        }
        causes = causes if heads else {}
        case = f"arange(24) as (2, 2, 6), heads {heads} of 3 ablated, how={how!r},"
        expect(without_heads_of(z, heads, 3, how), wanted, case, causes, near=1e-6)


def test_mean_is_the_default():
    z = np.array([[[1.0, 2.0], [3.0, 6.0]]])
    expect(without_heads_of(z, [0], 2), [[[2, 2], [2, 6]]], "without_heads(z, [0], 2)")


def test_the_loss_without_each_head():
    for kind, how in [("toy", "mean"), ("gpt", "mean"), ("toy", "zero")]:
        heads = SIZES[kind][4]
        case = f"the losses of a model with {SIZES[kind][3]} layers and {heads} heads, each "
        case += f"ablated, how={how!r},"
        state, found, _, _ = result_of(lambda: ablated(kind, how), case)
        intact = loss_by_hand(run_by_hand(state, IDS, heads)["logits"], TARGETS)
        wanted = ablation_by_hand(
            state, TARGETS, heads, how, lambda z, h: without_by_loops(z, [h], heads, how)
        )
        every = np.broadcast_to(
            [ablation_by_hand(state, TARGETS, heads, how, lambda z, h: without_by_loops(
                z, range(heads), heads, how))[n, 0] for n in range(len(wanted))],
            (heads, len(wanted))).T  # fmt: skip
        kept = ablation_by_hand(
            state, TARGETS, heads, how,
            lambda z, h: without_by_loops(z, set(range(heads)) - {h}, heads, how))  # fmt: skip
        after = ablation_by_hand(
            state, TARGETS, heads, how, lambda z, h: without_by_loops(z, [h], heads, how),
            "attention")  # fmt: skip
        other = "zero" if how == "mean" else "mean"
        causes = {
            "No head was ablated: these are the losses of the intact model": 0 * wanted
            + intact,
            "All heads of a layer were ablated": every,
            "All heads but the given one were ablated": kept,
            "The change belongs to the input of attention.out, not to the attention's result: "
            "there, the heads are already mixed": after,
            "`how` does not reach without_heads": ablation_by_hand(
                state,
                TARGETS,
                heads,
                other,
                lambda z, h: without_by_loops(z, [h], heads, other),
            ),
            "That is the rise of the loss; return the loss itself": wanted - intact,
        }
        close(found, wanted, case, causes)


def test_the_model_is_as_before():
    found, state, gradients = ablated_in_training_mode()
    wanted = ablation_by_hand(
        state, TARGETS, 3, "mean", lambda z, h: without_by_loops(z, [h], 3, "mean")
    )
    case = "the losses of a model with dropout=0.5 in training mode"
    again, *_ = ablated_in_training_mode()  # dropout draws other numbers
    random = np.shape(found) == np.shape(again) and not np.allclose(found, again)
    close(found, wanted, case, "Run it in evaluation mode" if random else "")
    assert not gradients, "ablation should not leave gradients"
    state, _, left, same = ablated("gpt", dropout=0.5)
    assert same, "after ablate, each module should be in the mode it was in before"
    assert not left, f"after ablate, {', '.join(left)} still has a hook"


# %% ablate hidden points=2
def test_other_ablations():
    y = np.array([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]])
    for kind, how in [("toy", None), ("gpt", "zero")]:
        heads = SIZES[kind][4]
        state, found, left, _ = ablated(kind, how, y, 4)
        wanted = ablation_by_hand(state, y, heads, how, lambda z, h: without_by_loops(
            z, [h], heads, how or "mean"))  # fmt: skip
        close(found, wanted, f"{kind}, {how}")
        assert not left
    z = np.random.default_rng(0).normal(size=(3, 4, 12))
    for heads in ([3], [0, 1, 2], [2, 0]):
        for how in ("mean", "zero"):
            found = without_heads_of(z, heads, 4, how)
            expect(found, without_by_loops(z, heads, 4, how), f"{heads}, {how}", near=1e-6)


# %% learner-side
def patched(kind, path=None, score=None, seed=2, clean=IDS, corrupt=OTHER, **options):
    """patch with these scores; and the shapes of all logits that the score got."""
    shapes = []

    def probability(logits):
        shapes.append((type(logits).__name__, np.shape(logits)))
        powers = np.exp(logits[:, -1])
        return float(np.mean(powers[:, 4] / powers.sum(axis=-1)))

    def call(model):
        more = () if path is None else (path,)
        return patch(model, clean, corrupt, probability, *more)

    return *tools_on(kind, call, seed, **options), shapes


# %% patch points=6
def test_one_vector_of_the_clean_run_at_a_time():
    for kind, path in [("toy", None), ("gpt", None), ("toy", "blocks.{}.attention"),
                       ("toy", "blocks.{}.input")]:  # fmt: skip
        heads, where = SIZES[kind][4], path or "blocks.{}"
        case = f"the patch map of a model with {SIZES[kind][3]} layers, path={where!r},"
        state, found, _, _, _ = result_of(
            lambda: patched(kind, path), case,
            {"not None": "A function given to `changed` has to return the array"})  # fmt: skip
        assert found is not None, "patch returned None: is `return` missing?"
        wanted = patch_by_hand(state, heads, where)
        reverse = patch_by_hand(state, heads, where, OTHER, IDS)
        raw = patch_by_hand(state, heads, where, raw=True)
        best, base = (last_probability(run_by_hand(state, ids, heads)["logits"])
                      for ids in (IDS, OTHER))  # fmt: skip
        causes = {
            "The clean vectors go into the corrupt run; yours puts corrupt vectors into the "
            "clean run": reverse,
            "That is 1 minus the result: 0 is the corrupt run, 1 the clean run": 1 - wanted,
            "Those are corrupt vectors in the clean run, on the scale 0 for corrupt": 1
            - reverse,
            "The scores are not scaled: subtract the corrupt score, divide by clean - "
            "corrupt": raw,
            "Divide by clean - corrupt": raw - base,
            "Subtract the corrupt score from `patched`": raw / (best - base),
            "That is patched / clean: subtract the corrupt score from both": raw / best,
            "Divide by clean - corrupt, not by clean": (raw - base) / best,
            "Yours are all 1: replace one position, not the whole array": 1 + 0 * wanted,
            "Yours also changes the positions before t: replace only position t": patch_by_hand(
                state, heads, where, to="t"
            ),
            "Yours also changes the positions after t: replace only position t": patch_by_hand(
                state, heads, where, to="end"
            ),
            "Nothing was patched. Is the corrupt run inside the block of `record`? Then it "
            "overwrites the clean vectors": 0 * wanted,
        }
        close(found, wanted, case, causes, near=5e-3)


def test_the_score_gets_logits_as_an_array():
    state, _, left, same, shapes = patched("toy")
    kinds = {kind for kind, _ in shapes}
    assert kinds == {"ndarray"}, (
        f"score should get the logits as an ndarray, yours gets a {kinds}: model(ids).data"
    )
    assert {tuple(shape) for _, shape in shapes} == {(2, 5, 11)}, (
        f"score should get logits of shape (B, T, V) = (2, 5, 11), yours gets {shapes[0][1]}"
    )
    assert not left, f"after patch, {', '.join(left)} still has a hook"
    assert same, "after patch, each module should be in the mode it was in before"


def test_all_rows_are_patched():
    state, found, *_ = patched("gpt", seed=3)
    wanted, one = patch_by_hand(state, 3), patch_by_hand(state, 3, clean=IDS)
    first = run_by_hand(state, IDS, 3)
    for layer, t in np.ndindex(*one.shape):

        def change(name, a):
            if name == f"blocks.{layer}":
                a = np.array(a)
                a[0, t] = first[name][0, t]
            return a

        one[layer, t] = last_probability(run_by_hand(state, OTHER, 3, change)["logits"])
    best, base = (
        last_probability(run_by_hand(state, ids, 3)["logits"]) for ids in (IDS, OTHER)
    )
    causes = {"Only the first row is patched: stream[:, t]": (one - base) / (best - base)}
    close(found, wanted, "the patch map of two rows", causes, near=5e-3)


# %% patch hidden points=2
def test_other_patches():
    clean = np.array([[1, 2, 3, 4], [5, 6, 7, 8], [1, 1, 1, 1]])
    corrupt = np.array([[1, 2, 0, 4], [5, 6, 10, 8], [1, 1, 9, 1]])
    for kind, path in [("gpt", "blocks.{}.mlp"), ("toy", None)]:
        state, found, *_ = patched(kind, path, seed=6, clean=clean, corrupt=corrupt)
        wanted = patch_by_hand(state, SIZES[kind][4], path or "blocks.{}", clean, corrupt)
        close(found, wanted, f"{kind}, {path}", near=5e-3)


# %% learner-side
def parts_of(kind, ids=IDS, **options):
    state, parts, left, same = tools_on(kind, lambda m: contributions(m, ids), 3, **options)
    return state, list(parts or ()), parts and dict(parts), left, same


def sum_is_input(kind, **options):
    """The sum of all contributions, and the input of the last norm."""
    model = built(kind, 4, **options)
    model.eval()
    with record(model, "norm.input") as seen:
        model(IDS)
    return sum(contributions(model, IDS).values()), seen["norm.input"]


# %% contributions points=4
def test_what_each_part_adds():
    branches = {"gpt": ("attention", "mlp"), "toy": ("attention",)}
    for kind in ("gpt", "toy"):
        state, names, parts, _, _ = result_of(
            lambda: parts_of(kind), f"contributions of a {kind}",
            {"mlp": "A block of an AttentionOnly has no mlp: test hasattr(block, 'mlp')",
             "there is no module": "Only modules that are called can be recorded"},
            (AttributeError, KeyError, ValueError, TypeError, IndexError))  # fmt: skip
        assert parts is not None, "contributions returned None: is `return` missing?"
        wanted = ["embedding", "positions"]
        for n in range(SIZES[kind][3]):
            wanted += [f"blocks.{n}.{branch}" for branch in branches[kind]]
        cause = ""
        if sorted(names) == sorted(wanted):
            cause = "The order is the order of the forward pass"
        elif "positions" not in names:
            cause = "The positions are added to the stream as well"
        elif kind == "gpt" and not any("mlp" in name for name in names):
            cause = "A block of a GPT also has an mlp"
        equal(names, wanted, "the names of the contributions", cause)
        seen = run_by_hand(state, IDS, SIZES[kind][4])
        for name in wanted:
            n = name.split(".")[1] if "." in name else "0"
            causes = {
                "That is the stream after the block; a contribution is what the branch adds": (
                    seen[f"blocks.{n}"]
                ),
                "That is the stream before the block": seen[f"blocks.{n}.input"],
            }
            close(parts[name], seen[name], f"the contribution {name!r}", causes)


def test_the_sum_is_the_input_of_the_last_norm():
    for kind, options in [("gpt", {}), ("toy", {}), ("gpt", {"rotary": True})]:
        cause = "Each part that is added to the stream belongs to the sum once"
        if options:
            cause = "With rotary=True, model.positions is None, and nothing is added for it"
        case = "the sum of all contributions" + (" with rotary=True" if options else "")
        found, wanted = result_of(lambda: sum_is_input(kind, **options), case, cause)
        close(found, wanted, case, cause, near=1e-3)


def test_contributions_run_in_evaluation_mode():
    state, _, parts, left, same = parts_of("gpt", dropout=0.5)
    seen = run_by_hand(state, IDS, 3)
    close(parts["blocks.1.mlp"], seen["blocks.1.mlp"], "the last contribution with dropout=0.5",
          "Is the model in evaluation mode while it runs?")  # fmt: skip
    assert same and not left, "after contributions, the model should be as before"


# %% contributions hidden points=1
def test_other_contributions():
    _, names, parts, _, _ = parts_of("gpt", rotary=True)
    assert "positions" not in names and len(names) == 5
    ids = IDS[:1, :2]
    state, _, parts, _, _ = parts_of("toy", ids)
    seen = run_by_hand(state, ids, 2)
    for name in parts:
        close(parts[name], seen[name], name)
        equal(np.shape(parts[name]), (1, 2, 12), f"the shape of {name}")


# %% learner-side
def lens_of(kind, ids=IDS[:1], **options):
    return tools_on(kind, lambda model: logit_lens(model, ids), 5, **options)


# %% logit-lens points=4
def test_the_output_layer_on_every_stream():
    for kind, options in [("gpt", {}), ("gpt", {"tie": False}), ("toy", {})]:
        case = f"the logit lens of a model of {SIZES[kind][3]} layers"
        case += f", output layer {'tied' if kind == 'gpt' and not options else 'not tied'},"
        causes = {"NoneType": "With tied weights, model.head is None: multiply with "
                  "model.embedding.weight.T"}  # fmt: skip
        state, found, _, _ = result_of(lambda: lens_of(kind, **options), case, causes)
        assert found is not None, "logit_lens returned None: is `return` missing?"
        seen = run_by_hand(state, IDS[:1], SIZES[kind][4])
        layers = SIZES[kind][3]
        names = ["blocks.0.input", *(f"blocks.{n}" for n in range(layers))]
        streams = np.concatenate([seen[name] for name in names])
        wanted = head_by_hand(state, streams)
        embedding = np.concatenate([seen["embedding"], streams[1:]])
        powers = np.exp(wanted)
        causes = {
            "The last norm is missing": head_by_hand(state, streams, norm=False),
            "The first row should be the input of the first block, with the positions": (
                head_by_hand(state, embedding)
            ),
            "The input of the first block is missing: L + 1 rows": wanted[1:],
            "The result of the last block is missing: L + 1 rows": wanted[:-1],
            "Return logits, not probabilities": powers / powers.sum(axis=-1, keepdims=True),
            "Remove the axis of the batch": wanted[:, None],
        }
        if "head.weights" in state:
            tied = {name: a for name, a in state.items() if name != "head.weights"}
            causes["When the output layer is not tied, it is model.head"] = head_by_hand(
                tied, streams
            )
        close(found, wanted, case, causes, near=5e-3)


def test_the_last_row_is_the_output_of_the_model():
    state, found, left, same = lens_of("gpt", dropout=0.5)
    close(found[-1], run_by_hand(state, IDS[:1], 3)["logits"][0],
          "the last row of the lens, for a model with dropout=0.5,",
          "It should be the logits of the model in evaluation mode", near=5e-3)  # fmt: skip
    assert same, "after logit_lens, each module should be in the mode it was in before"
    assert not left, f"after logit_lens, {', '.join(left)} still has a hook"


# %% logit-lens hidden points=1
def test_other_lenses():
    for options in ({"rotary": True}, {"tie": False, "rotary": True}):
        state, found, _, _ = lens_of("gpt", IDS[1:, :3], **options)
        assert np.shape(found) == (3, 3, 11)
    state, found, _, _ = lens_of("toy", IDS[1:, :1])
    seen = run_by_hand(state, IDS[1:, :1], 2)
    close(found[0], head_by_hand(state, seen["blocks.0.input"])[0], "one token", near=5e-3)


# %% probe points=3
def test_the_probe_is_measured_on_other_vectors():
    train, labels = blobs(0, 12, d=5)
    test, test_labels = blobs(1, 40, d=5)
    wanted, w = accuracy_by_hand(train, labels, test, test_labels), fitted(train, labels)
    causes = {
        "That is the accuracy on the vectors that were fitted": accuracy_by_hand(
            train, labels, train, labels
        ),
        "That probe was fitted on the test vectors": accuracy_by_hand(
            test, test_labels, test, test_labels
        ),
        "That is the share of wrong answers": 1 - wanted,
        "The targets are 1 and -1, so that 0 is in the middle; yours are 1 and 0": np.mean(
            [(x @ w[:-1] + w[-1] + 1 > 0) == bool(y) for x, y in zip(test, test_labels)]
        ),
        "The probe has no bias: add a column of ones to train and test, so that the probe has "
        "a bias": without_bias(train, labels, test, test_labels),
        "The predictions are 1 and -1, and the labels 1 and 0: compare `> 0` with the labels": (
            np.mean([(x @ w[:-1] + w[-1] > 0) and bool(y) for x, y in zip(test, test_labels)])
        ),
    }
    found = probe_accuracy(train, labels, test, test_labels)
    assert found is not None, "probe_accuracy returned None: is `return` missing?"
    expect(found, wanted, "the accuracy on 40 test vectors", causes, near=1e-6)


def test_the_probe_has_a_bias():
    train, labels = blobs(2, 60, shift=50.0)
    test, test_labels = blobs(3, 60, shift=50.0)
    wanted = accuracy_by_hand(train, labels, test, test_labels)
    found = probe_accuracy(train, labels, test, test_labels)
    causes = {
        "Add a column of ones to train and test, so that the probe has a bias": without_bias(
            train, labels, test, test_labels
        ),
    }
    expect(found, wanted, "the accuracy for vectors far from 0", causes, near=0.021)
    rare = np.array([0] * 50 + [1] * 10)
    x = np.random.default_rng(4).normal(size=(60, 2)) + 0.5 * rare[:, None]
    wanted = accuracy_by_hand(x, rare, x, rare)
    w = np.linalg.lstsq(np.hstack([x, np.ones((60, 1))]), rare, rcond=None)[0]
    zero = np.mean(((x @ w[:2] + w[2]) > 0) == rare)
    half = np.mean(((x @ w[:2] + w[2]) > 0.5) == rare)
    assert half == wanted
    causes = {"The targets are 1 and -1, so that 0 is in the middle; yours are 1 and 0": zero}
    expect(probe_accuracy(x, rare, x, rare), wanted, "the accuracy for 50 times False and 10 "
           "times True", causes, near=1e-6)  # fmt: skip


def test_labels_may_be_bools():
    train, labels = blobs(5, 30)
    case = "the accuracy with labels True and False"
    found = result_of(lambda: probe_accuracy(train, labels > 0, train, labels > 0), case,
                      "2.0 * labels - 1 works for bools as well")  # fmt: skip
    expect(found, accuracy_by_hand(train, labels, train, labels), case, near=1e-6)


# %% probe hidden points=1
def test_other_probes():
    for seed in range(3):
        train, test = blobs(seed, 50, shift=seed, d=6), blobs(seed + 9, 35, shift=seed, d=6)
        expect(probe_accuracy(*train, *test), accuracy_by_hand(*train, *test), f"{seed}",
               near=1e-6)  # fmt: skip
        assert isinstance(float(probe_accuracy(*train, *test)), float)


# %% learner-side
def probed(train, labels, test, test_labels, seed, groups=None):
    """The two numbers of probe, and the labels after the call."""
    labels, test_labels = np.array(labels), np.array(test_labels)
    out = probe(train, labels, test, test_labels, np.random.default_rng(seed), groups)
    return out, labels


# %% control points=3
def test_the_accuracy_and_the_control_by_group():
    (train, labels, groups), (test, test_labels, test_groups) = token_data(0), token_data(1)
    data = train, labels, test, test_labels
    out, _ = result_of(lambda: probed(*data, 0, (groups, test_groups)), "probe with groups")
    assert out is not None and np.shape(out) == (2,), (
        f"probe returns two floats; yours returns {out}"
    )
    accuracy, control = out
    wanted = accuracy_by_hand(*data)
    expect(accuracy, wanted, "the accuracy", "The first number is probe_accuracy of the real "
           "labels", near=1e-6)  # fmt: skip
    assert 0.9 < control <= 1, (
        "the vectors nearly determine their group, so a random label for each group should be "
        f"learned: the control should be near 1, yours is {control:.2f}. Is the label of a "
        "group the same at all its places, and the same in train and test?"
    )


def test_the_labels_of_groups_are_random():
    (_, labels, groups), (_, test_labels, test_groups) = token_data(2), token_data(3)
    data = np.eye(12)[groups], labels, np.eye(12)[test_groups], test_labels
    # each test vector gets the label of another group: right only where both labels agree
    other = (test_groups + 1) % 12
    shares = [float(probed(*data, seed, (groups, other))[0][1]) for seed in range(12)]
    assert max(shares) - min(shares) > 0.1, (
        "each group gets a random label, drawn from rng; yours gives the same control for 12 "
        f"generators: {shares[0]:.2f}"
    )
    assert 0.3 < np.mean(shares) < 0.7, (
        "when the groups of the test vectors are renamed, the labels of two different groups "
        f"agree half of the time; yours agree in {np.mean(shares):.0%}. Are all labels equal?"
    )
    again = [float(probed(*data, seed, (groups, other))[0][1]) for seed in range(12)]
    assert again == shares, (
        "two generators with the same seed should give the same control: draw from rng"
    )
    case = "probe with groups that occur only in the test part"
    cause = "The table needs a label for the largest group of both parts"
    few = np.array([0, 1] * 120)
    result_of(lambda: probed(*data, 0, (few, test_groups)), case, cause)
    result_of(lambda: probed(*data, 0, (groups, few)), "probe with few groups in the test part",
              cause)  # fmt: skip


def test_without_groups_the_labels_are_shuffled():
    rng = np.random.default_rng(6)
    labels, test_labels = np.array([0] * 150 + [1] * 50), np.array([0] * 120 + [1] * 40)
    train, test = np.eye(2)[labels], np.eye(2)[test_labels]
    train, test = train + 0.01 * rng.normal(size=train.shape), test + 0.01
    (accuracy, control), after = probed(train, labels, test, test_labels, 0)
    expect(accuracy, 1.0, "the accuracy when the vectors show the labels", near=1e-6)
    assert control < 0.9, (
        f"shuffled labels cannot be predicted from the vectors; your control is {control:.2f}. "
        "Are the labels shuffled?"
    )
    assert abs(control - 0.625) > 0.06 or abs(control - 0.75) < 0.05, (
        f"your control is {control:.2f}, as for a probe that was fitted on the real labels and "
        "measured on shuffled ones: shuffle the labels of both parts"
    )
    assert abs(control - 0.75) < 0.05, (
        "with three quarters of the labels 0, a probe of shuffled labels says 0 everywhere and "
        f"is right in 75 %; yours in {control:.0%}: keep the labels, change their order"
    )
    assert np.array_equal(after, labels), (
        "the labels were shuffled in place: rng.permutation returns a shuffled copy"
    )
    train, test = np.array([[-1.0], [1.0]]), np.array([[-2.0], [-1.0], [1.0], [2.0]])
    data = train, np.array([0, 1]), test, np.array([0, 0, 1, 1])
    shares = [[float(probed(*data, seed)[0][1]) for seed in range(30)] for _ in (0, 1)]
    values = sorted(set(shares[0]))
    assert values == [0, 0.5, 1], (
        "for two train vectors with the labels 0 1 and four test vectors with the labels "
        "0 0 1 1, the control of 30 generators should be 0, 0.5 and 1, each for some of them; "
        f"yours are {values}: shuffle the labels of both parts"
    )
    assert shares[0] == shares[1], (
        "two generators with the same seed should give the same control: draw from rng"
    )


# %% control hidden points=1
def test_other_controls():
    (train, labels, groups), (test, test_labels, test_groups) = token_data(7), token_data(8)
    data = train, labels, test, test_labels
    shares = [probed(*data, s, (groups, test_groups))[0] for s in range(4)]
    assert all(0.9 < control <= 1 for _, control in shares)
    for accuracy, _ in shares:
        expect(accuracy, accuracy_by_hand(*data), "the accuracy", near=1e-6)
    plain = [float(probed(*data, s)[0][1]) for s in range(8)]
    assert 0.35 < np.mean(plain) < 0.65 and len(set(plain)) > 2


# %% learner-side
def restored_gradient(x, w, b):
    w, b = Variable(w), Variable(b)
    restored(Tensor(x), w, b).sum().backward()
    return w.grad, b.grad


# %% superposition points=4
def test_the_share_of_zeros_is_the_sparsity():
    for sparsity in (0.0, 0.3, 0.9, 1.0):
        x = features(0, 400, 10, sparsity)
        assert x.shape == (400, 10), (
            f"sparse_features(rng, 400, 10, ...) should have shape (400, 10), yours {x.shape}"
        )
        zeros = float((x == 0).mean())
        swapped = abs(zeros - (1 - sparsity)) < 0.03 and sparsity != 0.5
        assert abs(zeros - sparsity) < 0.03, (
            f"with sparsity {sparsity}, {sparsity:.0%} of the features should be 0, yours has "
            f"{zeros:.0%}"
            + (": the sparsity is the probability of 0, not of being active" if swapped else "")
        )
        if sparsity < 1:
            active = x[x > 0]
            assert x.min() >= 0 and x.max() <= 1 and active.size, "features are from 0 to 1"
            quarters = np.histogram(active, 4, (0, 1))[0] / active.size
            assert abs(quarters - 0.25).max() < 0.06, (
                "active features should be uniform between 0 and 1; the shares of your "
                f"quarters are {quarters.round(2).tolist()}. Are the zeros drawn from other "
                "random numbers than the values?"
            )


def test_features_are_independent_and_float32():
    x = features(1, 4000, 3, 0.5)
    assert x.dtype == np.float32, f"the features should be float32, yours are {x.dtype}"
    rows = float(((x == 0).sum(axis=1) == 3).mean())
    assert abs(rows - 0.125) < 0.03, (
        f"with sparsity 0.5, all of 3 independent features are 0 in 12 % of the rows; in yours "
        f"in {rows:.0%}: draw for each number, not for each row"
    )
    columns = (x == 0).mean(axis=0)
    assert abs(columns - 0.5).max() < 0.05, (
        f"each feature is 0 in half of the rows; yours in {columns.round(2).tolist()}"
    )
    assert np.array_equal(x, features(1, 4000, 3, 0.5)), "draw from rng"


def test_restored_features():
    x = np.array([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]])
    w, b = np.array([[1.0, 0.5], [-1.0, 2.0], [0.25, -1.0]]), np.array([0.5, -3.0, 0.1])
    z = np.einsum("bn,nd,md->bm", x, w, w) + b
    causes = {
        "The relu is missing": z,
        "There is no relu between the two products": np.maximum(
            np.maximum(x @ w, 0) @ w.T + b, 0
        ),
        "The bias is missing": np.maximum(z - b, 0),
        "The bias belongs inside the relu": np.maximum(z - b, 0) + b,
    }
    found = result_of(
        lambda: np.asarray(restored(Tensor(x), Variable(w), Variable(b)).data),
        "restored features",
        {
            "cannot multiply": "x is (batch, n), w is (n, d): x w is (batch, d), and "
            "w transposed is (d, n)",
            "NoneType": "Is `return` missing?",
        },
    )
    close(found, np.maximum(z, 0), "relu(x w w^T + b) for two rows of three features", causes)
    gradients = result_of(
        lambda: restored_gradient(x, w, b), "the gradients of restored features",
        {"not recorded": "Compute with the Tensors w and b, not with w.data and b.data"},
        (RuntimeError, AttributeError, TypeError))  # fmt: skip
    for name, gradient in zip("wb", gradients, strict=True):
        assert gradient is not None, (
            f"no gradient reaches {name}: compute with the Tensor {name}, not with {name}.data"
        )


# %% learner-side
def kept(sparsity):
    """The lengths of the rows of W after training with 5 features in 2 dimensions."""
    w = toy_superposition(5, 2, sparsity, rng=0)
    return np.sqrt((np.asarray(w) ** 2).sum(axis=1))


# %% superposition hidden points=1
def test_gradients_and_training():
    rng = np.random.default_rng(0)
    x, w, b = rng.random((4, 3)), rng.normal(size=(3, 2)), np.array([0.5, 0.4, 0.6])
    gw, gb = restored_gradient(x, w, b)

    def total(w, b):
        return np.maximum(np.einsum("bn,nd,md->bm", x, w, w) + b, 0).sum()

    for at in np.ndindex(3, 2):
        up, down = w.copy(), w.copy()
        up[at] += 1e-5
        down[at] -= 1e-5
        wanted = (total(up, b) - total(down, b)) / 2e-5
        assert abs(gw[at] - wanted) < 1e-3 * (1 + abs(wanted))
    assert np.asarray(gb).shape == (3,)
    assert (np.asarray(kept(0.0)) > 0.5).sum() <= 3 < (np.asarray(kept(0.97)) > 0.5).sum()
