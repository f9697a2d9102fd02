# The checks of lesson 16, by exercise. `check("sample")` in the chapter runs the visible ones.

# %% setup
import itertools
import math

import numpy as np

from checking import alike, because, equal, expect, result_of
from tinytorch.core.layers import Module
from tinytorch.core.tensor import Tensor
from tinytorch.core.transformers import GPT


def numbers(x, call):
    """The numbers of a Tensor that a call returned."""
    assert x is not None, f"{call} returns None. Is `return` missing?"
    return np.asarray(x.data)


def probabilities(logits):
    """softmax over the last axis, in float64."""
    powers = np.exp(np.asarray(logits, float) - np.max(logits, axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def kept(x, call):
    """Which logits are not -inf; the removed ones must be -inf."""
    x = numbers(x, call)
    assert not (np.isnan(x) | np.isposinf(x)).any(), f"{call} contains nan or +inf"
    return np.isfinite(x)


def near(found, wanted, tolerance=1e-5):
    return alike(found, wanted, tolerance, tolerance)


def is_value_error(found, case, *parts):
    """Assert that `found`, a refusal, is a ValueError with these numbers."""
    kind, message = found
    words = f"that contains {parts[0]}" if len(parts) == 1 else "with both numbers"
    assert kind == "ValueError" and all(str(part) in message for part in parts), (
        f"{case} should raise a ValueError {words}, yours "
        + (f"raises {kind}: {message}" if kind else "raises nothing")
    )


def succeeds(call, case, cause=""):
    """What a call returns, which must raise nothing; `cause` of an error."""
    return result_of(call, f"{case}: yours raises", cause, Exception)


def keeps(result, case, wanted, cause=""):
    """Assert which of the logits in a result are not removed, by 1 and 0."""
    found = kept(result, case).astype(int).tolist()
    assert found == wanted, (
        f"{case} should keep {wanted} (1: kept, 0: removed), yours keeps {found}"
        f"{because(cause)}"
    )


def rounded(x):
    return np.asarray(x).round(3).tolist()


def causal_attention(q, k, v):
    """Attention in which token i looks at the tokens 0 to i, row by row, in float64."""
    out = np.zeros(v.shape)
    for i in range(q.shape[2]):
        scores = np.einsum("bhd,bhjd->bhj", q[:, :, i], k[:, :, : i + 1])
        weights = probabilities(scores / math.sqrt(q.shape[3]))
        out[:, :, i] = np.einsum("bhj,bhjd->bhd", weights, v[:, :, : i + 1])
    return out


def best_texts(table, start, n, width):
    """The texts that a beam search finds for a table (positions, V, V), with their log
    probabilities."""
    logp, texts = np.log(probabilities(table)), [(list(start), 0.0)]
    for _ in range(n):
        longer = [
            ([*ids, token], score + logp[len(ids) - 1, ids[-1], token])
            for ids, score in texts
            for token in range(table.shape[2])
        ]
        texts = sorted(longer, key=lambda pair: -pair[1])[:width]
    return texts


# {words of an error: its cause}, when `step` is given the wrong tokens.
STEPS = {
    "do not fit": "Give `step` only what the cache does not hold, ids[cache.length:] and the "
    "draft; rejected tokens have to leave the cache",
    "(1, 0)": "The cache must not hold the last id: the next step computes its key",
}
LONGER = {"do not fit": "Ids that are longer than the context need next_logits"}
SMALL = {"vocab_size": 7, "context": 8, "embed_dim": 8, "layers": 2, "num_heads": 2}
CERTAIN = SMALL | {"tie": False, "context": 16}  # of its tokens, when its head is scaled


# %% learner-side
from checking import refusal


class Table(Module):
    """A model whose logits depend on the last token alone, one row of a table for each token;
    with a table of three axes also on its position. `.seen` records the ids of each call,
    `.modes` whether it was in training mode."""

    def __init__(self, table, context):
        self.table, self.context = np.asarray(table, "float32"), context
        self.seen, self.modes = [], []

    def forward(self, ids):
        ids = np.asarray(ids)
        if ids.shape[1] > self.context:
            raise ValueError(
                f"the model was given {ids.shape[1]} tokens, its context is {self.context}: "
                "give it the last ones only"
            )
        self.seen.append(ids.tolist())
        self.modes.append(self.training)
        if self.table.ndim == 3:
            return Tensor(self.table[np.arange(ids.shape[1]), ids])
        return Tensor(self.table[ids])


def random_gpt(settings, seed, scale=1.0):
    """A GPT whose weights are normal numbers; an untied head's are multiplied by `scale`."""
    model, rng = GPT(**settings), np.random.default_rng(seed)
    for parameter in model.parameters():
        parameter.data[...] = rng.normal(0, 0.5, parameter.shape)
    if model.head is not None:
        model.head.weights.data *= scale
    return model.eval()


def whole(settings, ids, seed):
    """The logits of such a GPT for all ids at once: what lesson 15 computes."""
    return np.array(random_gpt(settings, seed)(np.array(ids)).data)


def draws(logits, seed, calls):
    """The tokens of several calls of `sample` with one generator."""
    rng = np.random.default_rng(seed)
    return [np.array(sample(logits, rng).data).tolist() for _ in range(calls)]


# %% sample points=3
def test_a_certain_token_is_drawn():
    logits = np.full((3, 4), -np.inf)
    logits[[0, 1, 2], [2, 0, 3]] = [5.0, -3.0, 0.0]
    found = numbers(sample(logits, 0), "sample(logits)")
    assert found.shape == (3,), (
        "logits of shape (3, 4) should give one token for each row, shape (3,); yours has "
        f"shape {found.shape}"
    )
    case = "in the three rows only the tokens 2, 0 and 3 are possible (all other logits are "
    expect(found, [2, 0, 3], case + "-inf): the tokens")
    equal(found.dtype.name, "int64", "the dtype of the tokens")


def test_tokens_have_their_probabilities():
    for logits in ([0.0, 1.0, 2.0, -np.inf], [3.0, 3.0, 0.0, 2.0]):
        found = numbers(sample(np.tile(logits, (20_000, 1)), 1), "sample(logits)")
        shares = np.bincount(found, minlength=4) / 20_000
        cause = "compare u with the sums of the probabilities"
        if shares.max() == 1:
            cause = "all 20,000 rows have the same token: draw a random number for each row"
        case = f"in 20,000 rows with the logits {logits}, the shares of the tokens"
        expect(shares, probabilities(logits), case, cause, near=0.02)


def test_sample_draws_from_the_given_generator():
    logits = [[0.0] * 50] * 4
    (one, two), (again, _) = draws(logits, 5, 2), draws(logits, 5, 2)
    assert one == again, (
        f"with the same seed the tokens should be the same, yours are {one} and {again}: draw "
        "from `rng`"
    )
    assert one != two, (
        f"two calls with one generator gave the same tokens, {one}: draw from `rng` and do not "
        "make a new generator in each call"
    )
    assert len(set(one)) > 1, (
        f"four rows with 50 equally probable tokens all got token {one[0]}: draw a random "
        "number for each row"
    )


# %% sample hidden points=1
def test_other_draws():
    rng = np.random.default_rng(3)
    logits = rng.normal(0, 2, (3, 6)) + [[1000], [-1000], [0]]
    logits[1, 2] = -np.inf
    found = np.array([numbers(sample(logits, seed), "sample") for seed in range(400)])
    for row in range(3):
        shares = np.bincount(found[:, row], minlength=6) / 400
        yield near(shares, probabilities(logits[row]), 0.11)
    yield (
        (found[:, 1] == 2).any(),
        numbers(sample(Tensor([[-np.inf, 1.0]]), 0), "sample").tolist(),
    )
    first, second = found[:, 0] == logits[0].argmax(), found[:, 2] == logits[2].argmax()
    yield abs((first & second).mean() - first.mean() * second.mean()) < 0.1  # independent rows


# %% temperature points=3
def test_logits_are_divided_by_the_temperature():
    logits = [1.0, 2.0, 3.0]
    for t, right in [(0.5, [2.0, 4.0, 6.0]), (2.0, [0.5, 1.0, 1.5]), (1.0, logits)]:
        found = numbers(with_temperature(logits, t), "with_temperature(logits, t)")
        causes = {
            "divide by t, do not multiply": np.multiply(logits, t),
            "t was applied twice": np.divide(logits, t * t),
            "return logits, not probabilities": probabilities(np.divide(logits, t)),
        }
        expect(found, right, f"the logits {logits} at temperature {t}", causes, near=1e-5)


def test_temperature_0_keeps_the_largest_logit():
    for logits, right in [
        ([[1.0, 3.0, 2.0], [5.0, -1.0, 4.0]], [[0, 1, 0], [1, 0, 0]]),
        ([[2.0, 2.0, 1.0]], [[1, 0, 0]]),
        ([-3.0, -2.0, -2.0], [0, 1, 0]),
        ([[[1.0, 2.0]], [[4.0, 3.0]]], [[[0, 1]], [[1, 0]]]),
    ]:
        cause = "Only the largest logit of each row is kept, of equal ones the first; all "
        case = f"with_temperature({logits}, 0)"
        keeps(with_temperature(logits, 0), case, right, cause + "others become -inf")


# %% temperature hidden points=1
def test_other_temperatures():
    logits = np.random.default_rng(2).normal(0, 3, (2, 3, 5)).astype("float32")
    for t in (0.1, 0.8, 30.0):
        yield numbers(with_temperature(Tensor(logits), t), "t").astype("float32")
    for given in (logits, [[-np.inf, 1.0, 1.0]]):
        yield kept(with_temperature(given, 0.0), "temperature 0")


# %% top-k points=3
def test_the_k_largest_logits_are_kept():
    for logits, k, right in [
        ([1.0, 3.0, 2.0, 0.0], 2, [0, 1, 1, 0]),
        ([1.0, 3.0, 2.0, 0.0], 1, [0, 1, 0, 0]),
        ([-1.0, -5.0, -2.0], 2, [1, 0, 1]),
        ([[1.0, 2.0, 3.0], [9.0, 8.0, 7.0]], 1, [[0, 0, 1], [1, 0, 0]]),
        ([[[1.0, 2.0]], [[4.0, 3.0]]], 1, [[[0, 1]], [[1, 0]]]),
    ]:
        result = top_k(logits, k)
        found, values = kept(result, f"top_k({logits}, {k})"), numbers(result, "top_k")
        assert found.astype(int).tolist() == right, (
            f"top_k({logits}, {k}) should keep {right}, yours keeps "
            f"{found.astype(int).tolist()}: {rounded(values)}. In each row the k largest are "
            "kept, and the others become -inf (a logit of 0 would still get a probability)"
        )
        assert near(values[found], np.asarray(logits)[found]), (
            f"the logits that are kept do not change, but for {logits} yours are "
            f"{rounded(values)}"
        )


def test_exactly_k_of_equal_logits_are_kept():
    for logits, k in [
        ([1.0, 1.0, 1.0, 0.0], 2),
        ([0.0, 0.0, 0.0, 0.0], 3),
        ([2.0, 5.0, 2.0], 2),
    ]:
        case = f"top_k({logits}, {k})"
        found = kept(top_k(logits, k), case)
        assert found.sum() == k, (
            f"{case} should keep exactly {k} tokens, yours keeps {found.sum()}: comparing with "
            "the k-th largest logit keeps every logit equal to it"
        )
        least = min(np.asarray(logits)[found])
        assert least >= max(np.asarray(logits)[~found]), (
            f"{case} keeps a logit of {least} and removes a larger one"
        )


def test_k_may_be_larger_than_the_vocabulary():
    for k in (3, 4, 100):
        keeps(top_k([1.0, 2.0, 0.0], k), f"top_k([1.0, 2.0, 0.0], {k})", [1, 1, 1])
    keeps(top_k(Tensor([1.0, 2.0, 0.0]), 1), "top_k(Tensor([1.0, 2.0, 0.0]), 1)", [0, 1, 0])


# %% top-k hidden points=1
def test_other_numbers_of_tokens():
    logits = np.random.default_rng(4).normal(0, 2, (2, 3, 9)).astype("float32")
    for k in range(1, 10):
        yield numbers(top_k(Tensor(logits), k), "top_k").astype("float32")
    for seed in range(5):
        tied = np.random.default_rng(seed).integers(0, 3, (4, 8)).astype(float)
        yield kept(top_k(tied, 5), "top_k").sum(axis=-1)


# %% top-p points=5
def test_the_token_that_crosses_p_is_kept():
    cause = "the smallest set whose sum is at least p contains the token that crosses p"
    for p, right in [(0.6, [1, 1, 0]), (0.45, [1, 0, 0]), (0.75, [1, 1, 0]), (0.85, [1, 1, 1])]:
        case = f"top_p with p = {p}, of logits with the probabilities [0.5, 0.3, 0.2],"
        keeps(top_p(np.log([0.5, 0.3, 0.2]), p), case, right, cause)
    for shift in (1e4, -1e4):
        case, cause = (
            f"top_p([2, 1, 0] + {shift:g}, 0.7)",
            "softmax of lesson 03 does not overflow",
        )
        keeps(top_p(np.array([2.0, 1.0, 0.0]) + shift, 0.7), case, [1, 1, 0], cause)


def test_no_more_tokens_than_needed_are_kept():
    for count, p in [(2, 0.5), (4, 0.5), (4, 0.75)]:
        found = kept(top_p([0.0] * count, p), "top_p(logits, p)")
        assert found.sum() == count * p, (
            f"{count} tokens have the probability {1 / count} each, and p = {p}: "
            f"{count * p:.0f} are enough, yours keeps {found.sum()}"
        )


def test_at_least_one_token_is_kept():
    for p in (0.01, 1e-9):
        logits = [[0.0, 0.1, 0.0], [5.0, 0.0, 0.0]]
        cause = "the most probable token of each row is always kept"
        keeps(top_p(logits, p), f"top_p({logits}, {p})", [[0, 1, 0], [1, 0, 0]], cause)
        keeps(top_p([logits], p), f"top_p([{logits}], {p})", [[[0, 1, 0], [1, 0, 0]]], cause)


def test_tokens_stay_at_their_places():
    p = np.array([[0.1, 0.2, 0.6, 0.1], [0.3, 0.28, 0.22, 0.2]])
    result, right = top_p(np.log(p), 0.75), np.array([[0, 1, 1, 0], [1, 1, 1, 0]])
    case = f"top_p with p = 0.75, of rows of logits with the probabilities {p.tolist()},"
    cause = "Sort each row by itself, and put the result back in the order of the vocabulary"
    keeps(result, case, right.tolist(), cause)
    found, case = numbers(result, "top_p"), "the logits that are kept do not change: these"
    expect(found[right == 1], np.log(p)[right == 1], case, near=1e-5)


def test_p_may_be_1():
    keeps(top_p([1.0, 2.0, 0.0], 1.0), "top_p([1.0, 2.0, 0.0], 1.0)", [1, 1, 1])
    keeps(top_p(Tensor([1.0, 2.0, 0.0]), 0.5), "top_p(Tensor([1.0, 2.0, 0.0]), 0.5)", [0, 1, 0])


# %% top-p hidden points=1
def test_other_nuclei():
    logits = np.random.default_rng(6).normal(0, 2, (2, 3, 8)).astype("float32")
    p = probabilities(logits)
    for row in np.ndindex(2, 3):
        ends = np.sort(p[row])[::-1].cumsum()
        for before, end in zip([0, *ends[:6]], ends[:7]):
            middle = float(end - 0.3 * (end - before))
            yield kept(top_p(Tensor(logits), middle), "top_p")[row]
    yield kept(top_p([-np.inf, 0.0, 1.0], 0.99), "top_p([-inf, 0.0, 1.0], 0.99)")


# %% learner-side
def generated(table, ids, max_new_tokens, context=8, training=False, **options):
    """What generate returns for a Table, as an array, and what the model has seen."""
    model = Table(table, context)
    model.training = training
    ids = generate(model, np.array(ids), max_new_tokens, cache=False, **options)
    return np.array(ids), model.seen, model.modes, model.training


def next_of(table, ids, context):
    """What next_logits returns for a Table, and what the model has seen."""
    model = Table(table, context)
    return np.array(next_logits(model, np.array(ids)).data), model.seen


# Token i is followed by token i + 1, of 5.
CIRCLE = np.roll(np.eye(5), 1, axis=1) * 9


# %% generate points=6
def test_next_logits_are_those_of_the_last_position():
    table = np.arange(12.0).reshape(4, 3)
    found, _ = next_of(table, [[3, 1, 2], [0, 0, 1]], 8)
    case = "next_logits of [[3, 1, 2], [0, 0, 1]], the model's logits after the last tokens 2 "
    case += "and 1,"
    expect(found, table[[2, 1]], case, near=1e-5)


def test_the_model_is_given_the_last_tokens_only():
    case = "with 6 ids and a context of 4"
    _, seen = succeeds(lambda: next_of(np.eye(4), [[0, 1, 2, 3, 2, 1]], 4), case)
    assert seen == [[[2, 3, 2, 1]]], (
        "of the ids 0 1 2 3 2 1, a model with a context of 4 should be given the last four, "
        f"2 3 2 1; yours was given {seen}"
    )


def test_filters_are_applied_in_order():
    of, logits = "of logits with the probabilities", np.log([[0.5, 0.3, 0.2]])
    case = f"filtered with temperature=0.5 and p=0.6, {of} [[0.5, 0.3, 0.2]],"
    cause = "the temperature comes first and makes them [0.658, 0.237, 0.105]"
    keeps(filtered(Tensor(logits), 0.5, None, 0.6), case, [[1, 0, 0]], cause)
    logits = np.log([[0.4, 0.3, 0.2, 0.1]])
    case = f"filtered with k=2 and p=0.55, {of} [[0.4, 0.3, 0.2, 0.1]],"
    cause = "top-k comes before top-p and makes them [0.571, 0.429, 0, 0]"
    keeps(filtered(Tensor(logits), 1.0, 2, 0.55), case, [[1, 0, 0, 0]], cause)
    found = numbers(filtered(Tensor([[1.0, 2.0, 3.0]]), 2.0), "filtered(logits, 2.0)")
    case = "without k and p, filtered([[1, 2, 3]], temperature=2)"
    expect(found, [[0.5, 1.0, 1.5]], case, near=1e-5)
    case, cause = "filtered([[1, 2, 3]], temperature=0)", "only None leaves a filter out, not 0"
    keeps(filtered(Tensor([[1.0, 2.0, 3.0]]), 0), case, [[0, 0, 1]], cause)


def test_new_tokens_are_appended_to_each_row():
    ids, seen, _, _ = generated(CIRCLE, [[0, 1], [4, 3]], 4, temperature=0)
    case = "a model that gives token i + 1 after token i continues [[0, 1], [4, 3]] greedily: "
    cause = "prompt first, then one token after the other"
    expect(ids, [[0, 1, 2, 3, 4, 0], [4, 3, 4, 0, 1, 2]], case + "the ids", cause)
    equal(ids.dtype.name, "int64", "the dtype of the ids")
    equal(len(seen), 4, "the number of calls of the model for four new tokens")


def test_the_stop_token_ends_the_text():
    cause = "the text ends before the first new token 3, which is not part of it"
    for prompt, right in [([[0]], [[0, 1, 2]]), ([[2]], [[2]]), ([[3, 1]], [[3, 1, 2]])]:
        ids = generated(CIRCLE, prompt, 20, temperature=0, stop=3)[0]
        expect(ids, right, f"generation from {prompt} with stop=3", cause)
    ids = generated(CIRCLE, [[0]], 20, temperature=0, stop=[4, 2])[0]
    expect(
        ids, [[0, 1]], "generation from [[0]] with stop=[4, 2]", "`stops` has all of these ids"
    )


def test_tokens_are_drawn_after_the_filters():
    table = [np.log([0.5, 0.3, 0.15, 0.05])] * 4
    for options, right in [
        ({}, [0.5, 0.3, 0.15, 0.05]),
        ({"top_k": 2}, [0.625, 0.375, 0, 0]),
        ({"top_p": 0.9}, [0.526, 0.316, 0.158, 0]),
        ({"temperature": 0.5}, [0.685, 0.247, 0.062, 0.007]),
    ]:
        ids = generated(table, [[0]] * 4000, 1, rng=1, **options)[0]
        shares = np.bincount(ids[:, 1], minlength=4) / 4000
        assert near(shares, right, 0.04), (
            f"with {options or 'no filter'}, the shares of tokens with the probabilities "
            f"[0.5, 0.3, 0.15, 0.05] should be {right}, yours are {rounded(shares)}: sample "
            "from the filtered logits"
        )
    one, again = (generated(table, [[0]] * 40, 1, rng=5)[0].tolist() for _ in range(2))
    assert one == again, "two calls with rng=5 should give the same tokens: draw from `rng`"


# %% generate hidden points=1
def test_other_texts():
    ids, seen, modes, after = generated(CIRCLE, [[0, 1, 2]], 6, 3, temperature=0, training=True)
    yield ids.tolist(), seen[-1], any(modes), after
    yield generated(CIRCLE, [[1, 2]], 0, temperature=0)[0].tolist()
    table = np.random.default_rng(5).normal(0, 1, (6, 6))
    texts = [generated(table, [[1], [2]], 9, rng=seed)[0].tolist() for seed in (3, 3, 4)]
    first, again, other = texts
    yield first == again, first[0][1:] == first[1][1:], first == other
    even = generated(np.zeros((50, 50)), [[0]], 6, rng=2)[0]
    yield len(set(even[0].tolist())) > 2  # each token needs a new random number
    for options in ({"temperature": 0}, {"top_k": 1}, {"top_p": 1e-6}):
        yield generated(table, [[1]], 7, rng=9, **options)[0].tolist()
    yield refusal(generated, table, [[1], [2]], 3, stop=0)[0]
    for options in [(), (0.7, 3, 1.0)]:
        yield numbers(filtered(Tensor(table), *options), "filtered").astype("float32")


# %% learner-side
def appended(settings, calls, before=None):
    """What the calls of append returned, [(keys, values)], and lengths and length after each.

    calls   list of (layer, k, v), or of a text: the name of a method without arguments, or
            "truncate n"
    """
    cache, results, lengths = KVCache(*settings), [], []
    for call in calls:
        if isinstance(call, str):
            name, *number = call.split()
            getattr(cache, name)(*map(int, number))
        else:
            layer, k, v = call
            k, v = np.array(k, "float32"), np.array(v, "float32")
            pair = cache.append(layer, k, v)
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise ValueError(
                    f"append should return (keys, values), yours returns {pair!r:.80}"
                )
            for name, part in zip(("keys", "values"), pair):
                array = np.asarray(part.data)
                if array.size and not np.shares_memory(array, getattr(cache, name)):
                    raise ValueError(
                        f"append should return a view of `self.{name}`, yours is a copy: it "
                        "would copy all keys and values in each step"
                    )
            results.append(tuple(np.array(part.data) for part in pair))
            k[...] = v[...] = 99.0  # the cache must hold copies
        lengths.append(([int(n) for n in cache.lengths], int(cache.length)))
    return results, lengths, np.array(cache.keys), np.array(cache.values)


def new_tokens(seed, *shape):
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape).astype("float32"), rng.normal(size=shape).astype("float32")


# %% kv-cache points=8
def test_append_returns_the_keys_and_values_of_all_tokens():
    k, v = new_tokens(0, 2, 3, 5, 4)
    parts = [(0, k[:, :, a:b], v[:, :, a:b]) for a, b in ((0, 3), (3, 4), (4, 5))]
    results, _, _, _ = appended((1, 2, 3, 8, 4), parts)
    for (keys, values), end in zip(results, (3, 4, 5)):
        assert keys.shape == (2, 3, end, 4) and values.shape == (2, 3, end, 4), (
            f"after {end} tokens, keys and values should have shape (2, 3, {end}, 4), yours "
            f"have {keys.shape} and {values.shape}: return the keys and values of all tokens "
            "so far, including the new ones, without the empty places after them"
        )
        if near(keys, v[:, :, :end]) and near(values, k[:, :, :end]):
            assert False, "keys and values are exchanged"
        for name, found, right in [("keys", keys, k), ("values", values, v)]:
            assert near(found, right[:, :, :end]), (
                f"after {end} tokens, append should return the {name} of all of them, the "
                "oldest first; yours returns others"
            )


def test_each_layer_counts_its_own_tokens():
    k, v = new_tokens(1, 1, 2, 2, 3)
    results, lengths, _, _ = appended((2, 1, 2, 6, 3), [(0, k, v), (1, 2 * k, v), (0, k, v)])
    case = "two tokens are appended to layer 0, to layer 1, and again to layer 0: the pairs "
    case += "(`lengths`, `length`) after each call"
    cause = "each layer counts its own tokens"
    equal(lengths, [([2, 0], 0), ([2, 2], 2), ([4, 2], 2)], case, cause)
    assert near(results[1][0], 2 * k), (
        "layer 1 does not return the keys that were appended to it: do the layers share one "
        "memory?"
    )
    assert near(results[2][0][:, :, :2], k), (
        "appending to layer 1 changed the keys of layer 0: each layer has its own part of "
        "`self.keys`"
    )


def test_truncated_tokens_are_overwritten():
    k, v = new_tokens(3, 1, 1, 4, 2)
    calls = [(0, k, v), "truncate 1", (0, k[:, :, 2:], v[:, :, 2:]), "reset", (0, k, v)]
    results, lengths, _, _ = appended((1, 1, 1, 4, 2), calls)
    assert near(results[1][0], k[:, :, [0, 2, 3]]), (
        "after truncate(1), the next tokens should be stored after the first one: "
        "`self.lengths` says where"
    )
    assert near(results[2][1], v) and lengths[-1] == ([4], 4), (
        "after reset() the cache should be empty, so that four tokens fit again"
    )


# %% kv-cache hidden points=1
def test_other_caches():
    for seed, sizes in enumerate([(1, 1, 1, 1, 1), (3, 2, 4, 9, 5), (2, 3, 1, 7, 2)]):
        layers, batch, heads, context, size = sizes
        rng, held, calls = np.random.default_rng(seed), [0] * layers, []
        for layer in rng.integers(0, layers, 12).tolist():
            t = int(rng.integers(1, 4))
            if held[layer] + t <= context:
                held[layer] += t
                calls.append((layer, *rng.normal(size=(2, batch, heads, t, size))))
        yield appended(sizes, calls)[:2]


# %% learner-side
def attended(q, k, v, sizes, layers=1, dtype="float32"):
    """Attention over parts of the tokens with a cache, the parts joined: for each layer, whose
    queries are multiplied by its number + 1."""
    cache = KVCache(layers, q.shape[0], q.shape[1], q.shape[2] + 1, q.shape[3])
    outputs = [[] for _ in range(layers)]
    start = 0
    for size in sizes:
        part = slice(start, start + size)
        for layer in range(layers):
            new = (Tensor(np.array(x[:, :, part], dtype)) for x in ((layer + 1) * q, k, v))
            out = attend_cached(*new, cache, layer)
            outputs[layer].append(np.array(out.data))
        start += size
    return [np.concatenate(parts, axis=2) for parts in outputs], list(cache.lengths)


def three(seed, *shape):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape).astype("float32") for _ in range(3)]


# %% attend-cached points=4
def test_the_tokens_of_a_prompt_do_not_see_later_ones():
    for heads, width in [(2, 4), (1, 1)]:
        q, k, v = three(0, 1, heads, 3, width)
        (found,), lengths = attended(q, k, v, [3])
        wanted = causal_attention(q, k, v)
        assert found.shape == wanted.shape, (
            f"the result should have the shape of q, {wanted.shape}, yours has {found.shape}"
        )
        assert near(found[:, :, -1], wanted[:, :, -1]), (
            "the last of three tokens should look at all three; its output is wrong"
        )
        scores, cause = q @ k.swapaxes(2, 3) / math.sqrt(width), ""
        if near(found, probabilities(scores) @ v):
            cause = ": they look at later tokens. A prefill needs the causal mask"
        assert near(found, wanted), (
            f"three tokens in an empty cache, q of shape {q.shape}: the outputs of the first "
            f"two differ from causal attention{cause}"
        )
        assert lengths == [3], f"the cache should hold 3 tokens afterwards, yours {lengths}"


def test_a_new_token_sees_the_whole_past():
    q, k, v = three(1, 1, 1, 4, 2)
    (found,), _ = succeeds(lambda: attended(q, k, v, [3, 1]), "three tokens, then one")
    first, own = v[:, :, 0], v[:, :, -1]
    from_start = causal_attention(q[:, :, 3:], k, v)[:, :, 0]
    aligned = "it sees the first token only: align the causal mask at the end"
    cause = "it should look at the three tokens in the cache and at itself"
    if near(found[:, :, -1], first) or near(found[:, :, -1], from_start):
        cause = aligned
    elif near(found[:, :, -1], own):
        cause = "it sees itself only: use the keys and values that append returns"
    wanted, case = (
        causal_attention(q, k, v)[:, :, -1],
        "the output of a token after three others",
    )
    expect(found[:, :, -1], wanted, case, cause, near=1e-5)


def test_the_first_token_sees_itself():
    q, k, v = three(2, 2, 1, 2, 3)
    cause = "Append the new key and value before you compute attention"
    call, case = lambda: attended(q, k, v, [1, 1]), "one token in an empty cache"
    (found,), _ = succeeds(call, case, cause)
    case = "the first token can only look at itself, so its output is its value: it"
    expect(found[:, :, :1], v[:, :, :1], case, near=1e-5)
    assert near(found, causal_attention(q, k, v)), "the second of two tokens should see both"


def test_several_new_tokens_after_others():
    q, k, v = three(3, 2, 2, 6, 4)
    case = "2, then 3, then 1 tokens"
    found, lengths = succeeds(lambda: attended(q, k, v, [2, 3, 1], 2), case)
    for layer in range(2):
        assert near(found[layer], causal_attention((layer + 1) * q, k, v)), (
            f"{case}, layer {layer}: the output differs from causal attention over all 6. "
            "Each of several new tokens sees the past, itself, and no later one"
        )
    equal(lengths, [6, 6], "the numbers of tokens that the layers hold")


# %% attend-cached hidden points=1
def test_other_parts():
    for seed, sizes in enumerate([(1, 1, 1), (4,), (1, 3, 2), (5, 1, 1)]):
        yield attended(*three(10 + seed, 2, 3, sum(sizes), 5), sizes, 3)[0]


# %% learner-side
def stepped(settings, ids, sizes, seed, layers_swapped=False):
    """The logits of `step` on parts of the ids, joined; the cache's lengths; whether a graph
    was recorded."""
    model, ids, start = random_gpt(settings, seed), np.array(ids), 0
    cache, parts, recorded = KVCache.for_model(model, len(ids)), [], []
    for size in sizes:
        logits = step(model, ids[:, start : start + size], cache)
        if logits is None:
            raise ValueError("step returns None. Is `return` missing?")
        parts.append(np.array(logits.data))
        recorded.append(logits.requires_grad)
        start += size
    return np.concatenate(parts, axis=1), [int(n) for n in cache.lengths], any(recorded)


def step_twice(settings, first, second):
    """How a step is refused after another one."""
    model = random_gpt(settings, 0)
    cache = KVCache.for_model(model)
    step(model, np.array(first), cache)
    return refusal(step, model, np.array(second), cache)


def some_ids(seed, *shape):
    return np.random.default_rng(seed).integers(0, 7, shape)


# %% step points=8
def test_a_prompt_in_one_step_has_the_logits_of_the_model():
    ids = some_ids(0, 2, 5)
    case = "a step with a prompt of 5 tokens"
    found, lengths, _ = succeeds(lambda: stepped(SMALL, ids, [5], 1), case)
    wanted = whole(SMALL, ids, 1)
    equal(found.shape, wanted.shape, "the shape of the logits of ids of shape (2, 5)")
    assert near(found, wanted, 1e-3), (
        "a prompt of 5 tokens in an empty cache: the logits should be those of model(ids); "
        f"the largest difference is {np.abs(found - wanted).max():.3g}. Compare with "
        "GPT.forward and TransformerBlock.forward: residual connections, both norms, the last "
        "norm"
    )
    cause = "each block has its own layer of the cache"
    equal(lengths, [5, 5], "the numbers of tokens that the layers of the cache hold", cause)


def test_one_token_after_others_has_the_logits_of_the_model():
    ids, case = some_ids(1, 1, 6), "steps with 4, 1 and 1 tokens"
    found, _, _ = succeeds(lambda: stepped(SMALL, ids, [4, 1, 1], 2), case)
    wanted = whole(SMALL, ids, 2)
    equal(found.shape, wanted.shape, f"the shape of the logits of {case}")
    assert near(found[:, :4], wanted[:, :4], 1e-3), "the logits of the prompt are wrong"
    assert near(found, wanted, 1e-3), (
        "one token after four others: the logits should be those of model(ids) at its place; "
        f"the largest difference is {np.abs(found[:, 4:] - wanted[:, 4:]).max():.3g}. Does the "
        "token have the position 4 (`positions`), and does each block use its own layer of "
        "the cache?"
    )


def test_rotary_and_untied_models():
    ids = some_ids(2, 2, 6)
    for change in (
        {"rotary": True},
        {"tie": False},
        {"rotary": True, "tie": False, "layers": 3},
    ):
        settings = SMALL | change
        call, case = (
            lambda: stepped(settings, ids, [3, 1, 2], 3),
            f"step of a GPT with {change}",
        )
        found, _, _ = succeeds(call, case)
        wanted = whole(settings, ids, 3)
        assert near(found, wanted, 1e-3), (
            f"a GPT with {change}: the logits of steps with 3, 1 and 2 tokens differ from "
            f"model(ids) by {np.abs(found - wanted).max():.3g}. With rotary=True `positions` "
            "go to attention.project; with tie=False the logits are model.head(x)"
        )


def test_a_step_that_does_not_fit_is_refused():
    case = "6 and 3 tokens do not fit into a context of 8: step"
    is_value_error(step_twice(SMALL, [[1] * 6], [[1] * 3]), case, 8)
    assert not stepped(SMALL, [[1, 2]], [1, 1], 0)[2], (
        "step recorded a computation graph: keep the `with no_grad():`"
    )


# %% step hidden points=1
def test_other_steps():
    for seed, (change, sizes) in enumerate(
        [({}, (1, 1, 1, 1)), ({"layers": 1, "num_heads": 4}, (2, 6)), ({"rotary": True}, (8,)),
         ({"context": 12, "layers": 3, "dropout": 0.4}, (3, 1, 5, 1, 2))]
    ):  # fmt: skip
        yield stepped(SMALL | change, some_ids(seed, 3, sum(sizes)), sizes, 20 + seed)[:2]


# %% learner-side
class Watched(Module):
    """An embedding that records how many tokens it was given at a time."""

    def __init__(self, inner):
        self.inner, self.counts = inner, []

    weight = property(lambda self: self.inner.weight)

    def forward(self, ids):
        self.counts.append(np.shape(ids)[-1])
        return self.inner(ids)


def cached_run(settings, ids, ends, seed):
    """The results of cached_logits for beginnings of the ids, the numbers of tokens that the
    model computed, and the cache's length after each call."""
    model, ids = random_gpt(settings, seed), np.array(ids)
    model.embedding = Watched(model.embedding)
    cache, results, lengths = KVCache.for_model(model, len(ids)), [], []
    for end in ends:
        results.append(np.array(cached_logits(model, ids[:, :end], cache).data))
        lengths.append(int(cache.length))
    return results, model.embedding.counts, lengths


def greedy_text(settings, ids, n, seed):
    """The ids and n most probable tokens, by the model of lesson 15 alone."""
    model, ids = random_gpt(settings, seed), np.array(ids)
    for _ in range(n):
        token = np.array(model(ids[:, -model.context :]).data)[:, -1].argmax(axis=-1)
        ids = np.concatenate([ids, token[:, None]], axis=1)
    return ids.tolist()


def both_texts(settings, ids, n, seed, **options):
    """What generate returns with a cache, twice, and without one."""
    model, ids = random_gpt(settings, seed), np.array(ids)
    return [
        np.array(generate(model, ids, n, rng=seed, cache=cache, **options)).tolist()
        for cache in (True, True, False)
    ]


# %% cached-logits points=3
def test_only_new_tokens_are_computed():
    ids = some_ids(5, 2, 6)
    results, counts, lengths = cached_run(SMALL, ids, [3, 4, 6], 4)
    cause = ": give `step` only those that the cache does not hold"
    if sum(counts) < 6:
        cause = ": some are never computed. Give `step` all those that the cache does not hold"
    assert counts == [3, 1, 2], (
        "for ids of 3, then 4, then 6 tokens the model should compute 3, 1 and 2 tokens, yours "
        f"computes {counts}{cause}"
    )
    for found, end in zip(results, (3, 4, 6)):
        wanted = whole(SMALL, ids[:, :end], 4)[:, -1]
        assert found.shape == wanted.shape, (
            f"cached_logits should return the logits of the next token, shape {wanted.shape}, "
            f"yours have {found.shape}: take the last position"
        )
        assert near(found, wanted, 1e-3), (
            f"the logits after {end} tokens differ from those of model(ids) by "
            f"{np.abs(found - wanted).max():.3g}"
        )
    assert lengths == [3, 4, 6], f"the cache should hold 3, 4, 6 tokens, yours holds {lengths}"


def test_beyond_the_context_the_window_is_computed_anew():
    ids, ends = some_ids(6, 1, 11), [7, 8, 9, 11]
    case = "a text longer than the context"
    results, counts, lengths = succeeds(lambda: cached_run(SMALL, ids, ends, 5), case, LONGER)
    for found, end in zip(results, ends):
        wanted = whole(SMALL, ids[:, max(0, end - 8) : end], 5)[:, -1]
        cause = ". Beyond the context every token has a new position: use next_logits"
        assert near(found, wanted, 1e-3), (
            f"after {end} tokens, with a context of 8, the logits should follow from the last "
            f"{min(8, end)} tokens; yours differ by {np.abs(found - wanted).max():.3g}"
            + cause
            * (end > 8)
        )
    case = "8 tokens fit into a context of 8, so that only the new one should be computed. The "
    equal(counts[:2], [7, 1], case + "numbers of computed tokens")
    case = "the lengths of the cache after 7, 8, 9 and 11 tokens"
    equal(lengths, [7, 8, 8, 8], case, "beyond the context the cache is not changed")


def test_generate_gives_the_same_tokens_with_a_cache():
    call = lambda: both_texts(SMALL, some_ids(7, 2, 3), 9, 6, temperature=0)
    found = succeeds(call, "12 tokens, context 8", LONGER)[0]
    right = greedy_text(SMALL, some_ids(7, 2, 3), 9, 6)
    assert found == right, (
        f"the most probable tokens are {right}; generate with a cache and temperature 0 gives "
        f"{found}"
    )
    for options in ({"temperature": 1.5}, {"top_k": 3}):
        first, second, plain = both_texts(SMALL, some_ids(7, 2, 3), 9, 6, **options)
        assert first == plain, (
            f"generate with {options} gives {plain} without a cache and {first} with one"
        )
        assert second == first, "a second call of generate gives other tokens"


# %% cached-logits hidden points=1
def test_other_windows():
    for seed, change in enumerate([{"rotary": True}, {"tie": False, "context": 5}]):
        settings, ids = SMALL | change, some_ids(30 + seed, 2, 12)
        results, counts, _ = cached_run(settings, ids, [1, 2, 5, 6, 9, 12], seed)
        yield results, counts[:3]
        first, _, plain = both_texts(settings, ids[:, :2], 12, seed)
        yield first == plain


# %% cache-bytes points=2
def test_the_bytes_of_keys_and_values():
    for sizes, dtype, right in [
        ((2, 1, 4, 64, 16), "float32", 65_536),
        ((1, 1, 1, 1, 1), "float32", 8),
        ((3, 5, 2, 7, 4), "float64", 13_440),
        ((12, 8, 12, 1024, 64), "float16", 301_989_888),
        ((1000, 1000, 100, 1_000_000, 128), "float16", 51_200_000_000_000_000),
    ]:
        call, case = lambda: cache_bytes(*sizes, dtype=dtype), f"cache_bytes of {sizes}"
        found = succeeds(call, case, "compute with the sizes, without an array")
        cause = ", half of it: count the keys and the values" if found == right / 2 else ""
        assert found == right, (
            f"a cache with layers, batch, heads, context, size = {sizes} of {dtype} has "
            f"{right} bytes, yours says {found}{cause}"
        )
    found = cache_bytes(2, 3, 4, 5, 6)
    assert isinstance(found, int) and found == 5760, (
        f"cache_bytes(2, 3, 4, 5, 6) should be the int 5760 (float32 has 4 bytes), yours is "
        f"{found!r}"
    )


# %% cache-bytes hidden points=1
def test_other_sizes():
    for sizes in itertools.product((1, 3), (2, 5), (4,), (7, 100), (8,)):
        yield [cache_bytes(*sizes, dtype) for dtype in ("float16", "float32", "float64")]


# %% learner-side
def slid(counts, n, seed=0):
    """A cache whose layers hold so many tokens, after slide(cache, n): keys and values that
    count, lengths, dropped; and the keys and values before."""
    rng = np.random.default_rng(seed)
    cache = KVCache(len(counts), 2, 1, 8, 3)
    before = []
    for layer, count in enumerate(counts):
        k, v = rng.normal(size=(2, 2, 1, count, 3)).astype("float32")
        cache.append(layer, k, v)
        before.append((k, v))
    slide(cache, n)
    after = [
        (np.array(cache.keys[layer, :, :, :held]), np.array(cache.values[layer, :, :, :held]))
        for layer, held in enumerate(cache.lengths)
    ]
    return before, after, [int(held) for held in cache.lengths], int(cache.dropped)


def sliding_logits(settings, ids, seed):
    """The logits of one token after the other; the cache slides by one when it is full."""
    model, ids = random_gpt(settings, seed), np.array(ids)
    cache, rows = KVCache.for_model(model), []
    for i in range(ids.shape[1]):
        if cache.length == model.context:
            slide(cache, 1)
        rows.append(np.array(step(model, ids[:, i : i + 1], cache).data)[:, -1])
    return rows


# %% slide points=3
def test_the_oldest_tokens_are_dropped():
    for counts, n in [([5], 2), ([6, 6], 1), ([4, 4, 4], 4), ([8], 3), ([3, 3], 0)]:
        case = f"slide(cache, {n}) of layers with {counts} tokens"
        before, after, lengths, dropped = succeeds(lambda: slid(counts, n), case)
        right = [count - n for count in counts]
        assert lengths == right, (
            f"after slide(cache, {n}), layers with {counts} tokens should hold {right}, yours "
            f"hold {lengths}"
        )
        for layer, (old, new) in enumerate(zip(before, after)):
            for name, one, other in zip(("keys", "values"), old, new):
                assert near(other, one[:, :, n:]), (
                    f"after slide(cache, {n}), layer {layer} should hold the {name} of the "
                    f"tokens {n} to {counts[layer] - 1}, moved to the front; yours differ"
                )
        equal(dropped, n, "`dropped`")


def test_a_sliding_window_of_one_rotary_block_is_exact():
    settings = SMALL | {"layers": 1, "rotary": True, "context": 4}
    ids, case = some_ids(8, 1, 9), "9 tokens through a window of 4"
    rows = succeeds(lambda: sliding_logits(settings, ids, 7), case)
    for end, found in enumerate(rows, start=1):
        wanted = whole(settings, ids[:, max(0, end - 4) : end], 7)[:, -1]
        assert near(found, wanted, 1e-3), (
            f"one rotary block, a window of 4: the logits after token {end} should follow from "
            f"the last {min(4, end)} tokens, yours differ by "
            f"{np.abs(found - wanted).max():.3g}. `dropped` grows with each slide"
        )


# %% slide hidden points=1
def test_other_slides():
    for counts, n in [([7, 7], 5), ([3, 3, 3], 0), ([8, 8], 8), ([6], 1)]:
        yield slid(counts, n, seed=n)[1:]
    settings = SMALL | {"layers": 1, "rotary": True, "context": 3, "num_heads": 1}
    yield sliding_logits(settings, some_ids(9, 1, 8), 3)


# %% learner-side
def outcomes(p, q, token, times, seed):
    """How often accept returned each token, and how often it said accepted; the types of the
    first result; `token` None: drawn with the probabilities q."""
    rng, counts, yes, kinds = np.random.default_rng(seed), np.zeros(len(p), int), 0, None
    given = rng.choice(len(q), size=times, p=q) if token is None else [token] * times
    for one in np.asarray(given).tolist():
        result = accept(np.array(p), np.array(q), one, rng)
        if not isinstance(result, tuple) or len(result) != 2:
            raise ValueError(f"accept should return (bool, int), yours returns {result!r:.80}")
        kinds = kinds or (isinstance(result[0], (bool, np.bool_)), type(result[1]).__name__)
        counts[int(result[1])] += 1
        yes += bool(result[0])
        if result[0] and result[1] != one:
            raise ValueError(f"accept says accepted and returns token {result[1]} for {one}")
    return counts, yes, kinds


# %% accept points=8
def test_what_the_large_model_finds_as_probable_is_accepted():
    for p, q, token in [
        ([0.6, 0.4], [0.2, 0.8], 0),
        ([0.3, 0.7], [0.3, 0.7], 1),
        ([0, 1.0], [0.5, 0.5], 1),
    ]:
        counts, yes, kinds = outcomes(p, q, token, 200, 0)
        assert yes == 200 and counts[token] == 200, (
            f"p = {p}, q = {q}: token {token} has p >= q and should always be accepted, yours "
            f"accepts it {yes} of 200 times"
        )
        assert kinds[0] and kinds[1].startswith("int"), (
            f"accept should return a bool and an int, yours returns {kinds}"
        )


def test_a_token_is_accepted_with_the_probability_p_over_q():
    for p, q, token in [
        ([0.6, 0.3, 0.1], [0.2, 0.3, 0.5], 2),
        ([0.8, 0.2], [0.6, 0.4], 1),
        ([1.0, 0.0], [0.5, 0.5], 1),
    ]:
        _, yes, _ = outcomes(p, q, token, 1500, 1)
        right = p[token] / q[token]
        cause = ""
        if abs(yes / 1500 - min(1, q[token] / max(p[token], 1e-9))) < 0.07:
            cause = ": the ratio is upside down: it is p / q"
        elif abs(yes / 1500 - p[token]) < 0.05:
            cause = ": divide by q[token]"
        assert abs(yes / 1500 - right) < 0.06, (
            f"p = {p}, q = {q}: token {token} should be accepted with the probability "
            f"{p[token]} / {q[token]} = {right:.2f}, yours accepts {yes / 1500:.2f}{cause}"
        )
        one, again = (outcomes(p, q, token, 100, 6)[1] for _ in range(2))
        assert one == again, (
            "with a generator of the same seed, 100 calls should accept as many tokens again, "
            f"yours accept {one} and {again}: draw from `rng`"
        )


def test_a_rejected_token_is_replaced_by_what_is_missing():
    p, q = [0.5, 0.2, 0.2, 0.1], [0.1, 0.1, 0.2, 0.6]
    counts, yes, _ = outcomes(p, q, 3, 2000, 2)
    shares, cause = counts[:3] / (2000 - yes), ""
    if near(shares, np.divide(p[:3], 0.9), 0.05) or near(shares, p[:3], 0.05):
        cause = "these are the shares of p; draw from max(p - q, 0), divided by its sum"
    case = f"p = {p}, q = {q}: when token 3 is rejected, the tokens 0, 1, 2 should be drawn: "
    expect(shares, [0.8, 0.2, 0.0], case + "their shares", cause, near=0.05)


def test_the_result_has_the_distribution_of_the_large_model():
    replaced = "a rejected token is replaced by a draw from p; draw from max(p - q, 0)"
    for p, q in [([0.6, 0.3, 0.1], [0.2, 0.3, 0.5]), ([0.1, 0.2, 0.7], [0.5, 0.25, 0.25])]:
        counts, yes, _ = outcomes(p, q, None, 2500, 3)
        shares, overlap, cause = counts / 2500, sum(map(min, p, q)), ""
        if near(shares, q, 0.04):
            cause = "this is the distribution of the draft"
        elif near(shares, np.minimum(p, q) + (1 - overlap) * np.array(p), 0.03):
            cause = replaced
        case = f"tokens drawn from q = {q} and then accepted or replaced: their distribution"
        expect(shares, p, case, cause, near=0.045)
        assert abs(yes / 2500 - overlap) < 0.05, (
            f"of the tokens from q = {q}, {overlap:.2f} should be accepted for p = {p}, yours "
            f"accepts {yes / 2500:.2f}"
        )


# %% accept hidden points=1
def test_other_distributions():
    rng = np.random.default_rng(11)
    for V in (2, 5):
        p, q = rng.dirichlet(np.ones(V)), rng.dirichlet(np.ones(V))
        counts, yes, _ = outcomes(p, q, None, 2000, V)
        assert near(counts / 2000, p, 0.05), f"{p}, {q}"
        assert abs(yes / 2000 - np.minimum(p, q).sum()) < 0.055
    counts, yes, _ = outcomes([0.0, 0.0, 1.0], [0.5, 0.5, 0.0], 0, 50, 1)
    assert yes == 0 and counts.tolist() == [0, 0, 50]
    first, again = (accept([0.5, 0.5], [0.1, 0.9], 1, rng=seed) for seed in (4, 4))
    assert tuple(first) == tuple(again)


# %% learner-side
def checked_drafts(p, q, tokens, times, seed):
    """The results of `verified`, several times with one generator."""
    rng = np.random.default_rng(seed)
    results = []
    for _ in range(times):
        new = verified(np.array(p, float), np.array(q, float), list(tokens), rng)
        if new is None:
            raise ValueError("verified returns None. Is `return` missing?")
        results.append([int(token) for token in new])
    return results


# %% verified points=4
def test_an_accepted_draft_gives_one_token_more():
    one = np.eye(4)
    for p, tokens, right in [
        (one[[1, 2, 3]], [1, 2], [1, 2, 3]),
        (one[[0, 0, 0, 2]], [0, 0, 0], [0, 0, 0, 2]),
        (one[[3]], [], [3]),
    ]:
        (found,) = checked_drafts(p, one[tokens], tokens, 1, 0)
        assert found == right, (
            f"the large model wants the whole draft {tokens} and then {right[-1]}: the result "
            f"should be {right}, yours is {found}"
        )


def test_the_first_rejected_token_ends_the_draft():
    one = np.eye(4)
    for p, tokens, right in [
        (one[[1, 2, 3]], [0, 2], [1]),
        (one[[1, 2, 3, 0]], [1, 1, 3], [1, 2]),
        (one[[1, 2, 3, 0]], [1, 2, 0], [1, 2, 3]),
    ]:
        (found,) = checked_drafts(p, one[tokens], tokens, 1, 0)
        assert found == right, (
            f"the large model wants {p.argmax(axis=1).tolist()}, the draft is {tokens}: the "
            f"result should be {right}, yours is {found}. It ends with the replacement of the "
            "first rejected token"
        )


def test_the_last_token_is_drawn():
    p, q = [[0.5, 0.5], [0.25, 0.75]], [[0.5, 0.5]]
    results = checked_drafts(p, q, [1], 1000, 1)
    assert {len(one) for one in results} == {2}, (
        "p and q agree, so the draft [1] is always accepted: 2 tokens, yours gives "
        f"{results[0]}"
    )
    share = np.mean([one[1] == 1 for one in results])
    assert abs(share - 0.75) < 0.07, (
        "after an accepted draft the last token is drawn with the last row of p, [0.25, 0.75]; "
        f"in yours it is token 1 in {share:.0%} of the calls"
    )


def test_each_token_is_compared_with_its_own_row():
    p, q = [[0.5, 0.5], [0.2, 0.8], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]
    results, cause = checked_drafts(p, q, [0, 1], 1500, 2), ""
    if any(
        one[0] == 1 and len(one) > 1 or one[:2] == [0, 0] and len(one) > 2 for one in results
    ):
        cause = ". The result ends with the replacement of the first rejected token"
    elif [0, 1, 0] in results and [0, 0] not in results:
        cause = ". Each decision needs a new random number"
    for right, share in [([1], 0.5), ([0, 0], 0.1), ([0, 1, 0], 0.4)]:
        found = np.mean([one == right for one in results])
        assert abs(found - share) < 0.06, (
            f"p = {p}, q = {q}, draft [0, 1]: the result should be {right} in {share:.0%} of "
            f"the calls, with yours it is in {found:.0%}{cause}"
        )
    one, again = (checked_drafts(p, q, [0, 1], 50, 4) for _ in range(2))
    assert one == again, "with a generator of the same seed the results differ: draw from `rng`"


# %% verified hidden points=1
def test_other_drafts():
    rng = np.random.default_rng(8)
    p, q = rng.dirichlet(np.ones(3), 3), rng.dirichlet(np.ones(3), 2)
    counts = np.zeros((3, 3))
    for a, b in itertools.product(range(3), repeat=2):
        results = checked_drafts(p, q, [a, b], 150, 3 * a + b)
        for one in results:
            for place, token in enumerate(one):
                counts[place, token] += q[0, a] * q[1, b] / 150
    for shares, row in zip(counts, p):
        assert near(shares / shares.sum(), row, 0.13), f"{shares / shares.sum()}, {row}"
    assert abs(counts[0].sum() - 1) < 1e-9
    assert abs(counts[1].sum() - np.minimum(p[0], q[0]).sum()) < 0.07


# %% learner-side
class Uniform:
    """A draft model for which all tokens are equally probable. It never saw a tensor."""

    def __init__(self, vocab_size):
        self.p = np.full(vocab_size, 1 / vocab_size)

    def next(self, ids):
        return self.p


class Known:
    """A draft model that knows the text that will come."""

    def __init__(self, vocab_size, text):
        self.vocab_size, self.text = vocab_size, list(text)

    def next(self, ids):
        return np.eye(self.vocab_size)[self.text[len(ids)]]


class Wrong(Known):
    """A draft model that knows every third token only, and is wrong about the others."""

    def next(self, ids):
        token = self.text[len(ids)]
        return np.eye(self.vocab_size)[token if len(ids) % 3 else (token + 1) % self.vocab_size]


def speculated(settings, ids, n, kind, ahead, seed):
    """speculative with a GPT that is nearly certain of each token: the ids, the counts, the
    greedy text, how many steps there were."""
    model, ids = random_gpt(settings, seed, scale=4000.0), np.array(ids)
    text = np.array(ids)
    for _ in range(n):  # the greedy text, without a cache
        token = np.array(model(text).data)[:, -1].argmax(axis=-1)
        text = np.concatenate([text, token[:, None]], axis=1)
    V = settings["vocab_size"]
    draft = Uniform(V) if kind is None else {"known": Known, "wrong": Wrong}[kind](V, text[0])
    model.embedding = Watched(model.embedding)
    found, counts = speculative(model, draft, ids, n, ahead, rng=seed)
    return np.array(found), dict(counts), text, model.embedding.counts


def drawn_texts(settings, ids, n, seed):
    """The ids of two calls of speculative with the same seed and a GPT that is not certain."""
    draft = Uniform(settings["vocab_size"])
    return [
        np.array(speculative(random_gpt(settings, 3), draft, np.array(ids), n, rng=seed)[0])
        for _ in range(2)
    ]


# %% speculative points=6
def test_the_text_is_that_of_the_large_model():
    for kind, prompt, ahead in [
        (None, [[1]], 4),
        (None, [[2, 0, 5]], 2),
        (None, [[6]], 0),
        ("wrong", [[3, 3]], 3),
        ("known", [[4]], 3),
    ]:
        case = f"prompt {prompt}, ahead={ahead}"
        call = lambda: speculated(CERTAIN, prompt, 10, kind, ahead, 40)
        found, _, text, _ = succeeds(call, case, STEPS)
        equal(found.shape, text.shape, f"{case} and n = 10: the shape of the ids")
        equal(found.dtype.name, "int64", f"{case}: the dtype of the ids")
        assert found.tolist() == text.tolist(), (
            f"a GPT that is certain of each token writes {text[0].tolist()}; speculative with "
            f"drafts of {ahead} writes {found[0].tolist()}. Each row of p belongs to one "
            "drafted token; rejected tokens must leave the cache"
        )
    one, again = (ids.tolist() for ids in drawn_texts(CERTAIN, [[1]], 12, 8))
    assert one == again, (
        f"two calls with rng=8 write {one} and {again}: give `rng` to `verified`"
    )


def test_a_good_draft_saves_steps():
    call = lambda: speculated(CERTAIN, [[1, 2]], 12, "known", 3, 40)
    _, counts, _, steps = succeeds(call, "prompt [[1, 2]], ahead=3", STEPS)
    assert counts == {"accepted": 9, "proposed": 9}, (
        "of 12 tokens, with drafts of 3 that are all right, 9 should be proposed and accepted; "
        f"the other 3 come from the GPT itself. Yours counts {counts}"
    )
    assert len(steps) == 3, (
        "12 tokens with drafts of 3 that are all right need 3 steps of the GPT, yours takes "
        f"{len(steps)}: one step for each draft"
    )
    assert steps == [5, 4, 4], (
        "the steps should compute 5, 4 and 4 tokens: the ids that the cache does not hold, and "
        f"the draft; yours compute {steps}"
    )


def test_rejected_tokens_leave_the_cache():
    call = lambda: speculated(CERTAIN, [[5]], 9, "wrong", 4, 40)
    found, counts, text, steps = succeeds(call, "prompt [[5]], ahead=4", STEPS)
    case = "with a draft that is wrong at every third token, the text"
    cause = "after a rejection the cache holds keys of tokens that are not in the text"
    expect(found, text, case, cause)
    assert counts["accepted"] < counts["proposed"]
    assert max(steps) <= 5, (
        f"a draft of 4 needs steps of at most 5 tokens, yours compute {steps}: the cache "
        "should hold all ids but the last"
    )


# %% speculative hidden points=1
def test_other_speculations():
    settings = CERTAIN | {"rotary": True}
    for kind, ahead in [(None, 0), (None, 6), ("wrong", 1), ("known", 6)]:
        found, counts, _, steps = speculated(settings, [[1, 0]], 14, kind, ahead, 29)
        yield found.tolist(), counts["proposed"] >= counts["accepted"] == 14 - len(steps)
    yield refusal(speculated, settings, [[1, 0]], 15, None, 2, 29)[0]
    found, counts, _, _ = speculated(settings, [[1]], 0, None, 2, 29)
    yield found.tolist(), sorted(counts.items())


# %% learner-side
def beams(table, ids, width, n, context=9):
    """What beam returns for a Table: the ids as lists, the scores, the types."""
    result = beam(Table(table, context), np.array(ids), width, n)
    if result is None:
        raise ValueError("beam returns None. Is `return` missing?")
    found = [(np.array(one).tolist(), float(score)) for one, score in result]
    return found


# After token 0, token 1 is more probable than 2; but what follows 2 is nearly certain.
TRAP = np.log([[0.02, 0.55, 0.43], [0.4, 0.3, 0.3], [0.9, 0.05, 0.05]])


# %% beam points=6
def test_a_beam_of_1_is_greedy():
    found = beams(TRAP, [[2, 0]], 1, 2)
    case = "a beam of width 1 takes the most probable token each time: the texts"
    equal([ids for ids, _ in found], [[2, 0, 1, 0]], case)
    cause = "add the log probabilities of the new tokens"
    case = "the log probability, log(0.55) + log(0.4),"
    expect(found[0][1], math.log(0.55 * 0.4), case, cause, near=(0, 1e-4))


def test_a_wider_beam_finds_a_more_probable_text():
    found = beams(TRAP, [[0]], 2, 2)
    assert [one for one, _ in found] == [[0, 2, 0], [0, 1, 0]], (
        "after 0, the texts 2 0 (0.43 x 0.9) and 1 0 (0.55 x 0.4) are the most probable: "
        f"[[0, 2, 0], [0, 1, 0]]; yours are {[one for one, _ in found]}"
    )
    for (_, score), right in zip(found, (0.43 * 0.9, 0.55 * 0.4)):
        assert abs(score - math.log(right)) < 1e-4, (
            f"the log probabilities should be {math.log(0.387):.4f} and {math.log(0.22):.4f}, "
            f"yours are {rounded([score for _, score in found])}"
        )
    P = np.array([[0.01, 0.9, 0.09], [0.5, 0.4, 0.1], [0.98, 0.01, 0.01]])
    texts = [one for one, _ in beams(np.log(P), [[0]], 2, 2)]
    case = "after 0, 1 0 (0.9 x 0.5) and 1 1 (0.9 x 0.4) precede 2 0 (0.09 x 0.98): the texts"
    equal(texts, [[0, 1, 0], [0, 1, 1]], case, "rank by the sum of the log probabilities")


def test_a_beam_that_holds_everything_is_exact():
    table = np.random.default_rng(1).normal(0, 1, (9, 3, 3))
    found, right = beams(table, [[1]], 27, 3), best_texts(table, [1], 3, 27)
    sure = beams([[0.0, 200.0], [200.0, 0.0]], [[0]], 4, 2)
    case, cause = "the logits [[0, 200], [200, 0]]: the log probabilities of the four texts", ""
    if not np.isfinite([score for _, score in sure]).all():
        cause = "exp(-200) is 0 in float32, and log(0) is -inf: use log_softmax"
    expect([score for _, score in sure], [0, -200, -200, -400], case, cause, near=1e-3)
    equal(len(found), 27, "there are 27 texts, and width 27 keeps all: the number of results")
    assert [one for one, _ in found] == [one for one, _ in right], (
        f"the most probable texts are {[one for one, _ in right[:3]]}, ..., yours begin with "
        f"{[one for one, _ in found[:3]]}: the best first"
    )
    assert near([score for _, score in found], [score for _, score in right], 1e-4), (
        "the log probabilities are wrong: for the best three they should be "
        f"{rounded([s for _, s in right[:3]])}, yours are {rounded([s for _, s in found[:3]])}"
    )


# %% beam hidden points=1
def test_other_beams():
    for seed, width in itertools.product(range(3), (2, 5)):
        table = np.random.default_rng(seed).normal(0, 2, (9, 4, 4))
        texts, scores = zip(*beams(table, [[3, 1]], width, 4))
        yield texts, np.array(scores, "float32")
    yield beams(TRAP, [[0, 1]], 3, 0)
