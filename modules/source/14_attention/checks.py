# The checks of lesson 14, by exercise. `check("scores")` in the chapter runs the visible ones.

# %% setup
import math
import tracemalloc

import numpy as np

from tinytorch.core.layers import manual_seed
from tinytorch.core.tensor import Tensor, Variable


def normal(seed, *shape, dtype="float64"):
    """Random numbers, the same for the same seed and shape."""
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def weights_by_loops(scores, allowed):
    """Softmax of each row of an array (..., Tq, Tk) over the keys that `allowed` has, row by
    row."""
    allowed, out = np.broadcast_to(allowed, scores.shape), np.zeros(scores.shape)
    for row in np.ndindex(*scores.shape[:-1]):
        seen = np.flatnonzero(allowed[row])
        if seen.size:
            powers = np.exp(scores[row][seen] - scores[row][seen].max())
            out[row][seen] = powers / powers.sum()
    return out


def attended(q, k, v, allowed=True, added=0.0, scale=None):
    """Attention by its definition, of arrays (..., Tq, d), (..., Tk, d) and (..., Tk, e)."""
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = np.einsum("...id,...jd->...ij", q, k) * scale + added
    return np.einsum("...ij,...je->...ie", weights_by_loops(scores, allowed), v)


def lower(queries, keys):
    """The causal mask, position by position."""
    return np.array(
        [[j <= keys - queries + i for j in range(keys)] for i in range(queries)], bool
    )


def heads_of(x, heads):
    """(B, T, D) as (B, heads, T, d), part by part."""
    return np.stack(np.split(np.asarray(x), heads, axis=-1), axis=1)


def rotated(x, positions, base=10000.0):
    """Each pair of numbers as a complex one, multiplied by e to the i angle."""
    d = x.shape[-1]
    pairs = x[..., 0::2] + 1j * x[..., 1::2]
    speeds = np.array([base ** (-2 * i / d) for i in range(d // 2)])
    pairs = pairs * np.exp(1j * np.outer(positions, speeds))
    return np.stack([pairs.real, pairs.imag], axis=-1).reshape(x.shape)


def short(array):
    """An array as text, rounded."""
    return np.array2string(
        np.asarray(array), precision=3, suppress_small=True, separator=", "
    ).replace("\n", "")


def result_of(call, case, cause=""):
    """What `call` returns; an error becomes a message that names the case."""
    try:
        return call()
    except (ValueError, IndexError, TypeError, AttributeError) as error:
        complaint = str(error).strip().removesuffix(".")
        assert False, f"{case}: {type(error).__name__}: {complaint}. {cause}"


def expect(found, wanted, case, cause="", near=1e-6, tensor=False):
    """Assert that `found` has the shape and the numbers of `wanted`.

    cause   the likely cause if it does not
    tensor  whether it must be a Tensor
    """
    wanted = np.asarray(wanted)
    assert found is not None, f"{case}: yours returns None. Is `return` missing?"
    if tensor:
        assert hasattr(found, "requires_grad"), f"{case}: the result should be a Tensor"
        found = found.data
    assert np.shape(found) == wanted.shape, (
        f"{case}: the shape should be {wanted.shape}, yours is {np.shape(found)}. {cause}"
    )
    found = np.asarray(found)
    if not np.allclose(found, wanted, rtol=near, atol=near):
        if wanted.size <= 16:
            difference = f"should be {short(wanted)}, yours is {short(found)}"
        else:
            wrong = ~np.isclose(found, wanted, rtol=near, atol=near)
            first = tuple(np.argwhere(wrong)[0].tolist())
            difference = (
                f"{wrong.mean():.0%} of the numbers are wrong, the first at {first}: it should "
                f"be {wanted[first]:.5g}, yours is {found[first]:.5g}"
            )
        assert False, f"{case}: {difference}. {cause}"


def expect_gradients(call, arrays, case, cause=""):
    """Assert that the gradients of call(*Variables) agree with central differences along a
    random direction of each input."""
    leaves = [Variable(array) for array in arrays]
    out = result_of(lambda: call(*leaves), case)
    assert out.requires_grad, (
        f"{case}: the inputs require gradients and the result does not: use Tensor operations, "
        "not .data"
    )
    g = normal(91, *out.shape)
    result_of(lambda: out.backward(g), case)
    for n, leaf in enumerate(leaves):
        assert leaf.grad is not None, (
            f"{case}: input {n} gets no gradient: somewhere its .data is used instead of the "
            "Tensor"
        )
        direction = normal(92 + n, *arrays[n].shape)
        ends = [
            np.asarray(
                call(
                    *[Tensor(a + h * direction if m == n else a) for m, a in enumerate(arrays)]
                ).data
            )
            for h in (-1e-5, 1e-5)
        ]
        wanted = float(((ends[1] - ends[0]) * g).sum() / 2e-5)
        found = float((np.asarray(leaf.grad) * direction).sum())
        assert abs(found - wanted) < 1e-5 * max(1, abs(wanted)), (
            f"{case}: along a random direction of input {n}, the central difference is "
            f"{wanted:.6f}, backward gives {found:.6f}. {cause}"
        )


def refusal(action, *given, **named):
    """The name of the error that a call raises, and its message, or two empty texts."""
    try:
        action(*given, **named)
    except Exception as error:
        return type(error).__name__, str(error)
    return "", ""


# %% learner-side
def forward_of(qkv, heads, causal):
    """What attention_forward returns, the weights it saved, or None, and qkv after the call."""
    qkv, saved = np.array(qkv), {}
    out = attention_forward(qkv, heads, causal, saved)
    weights = saved.get("weights")
    return out, None if weights is None else np.array(weights), qkv


def rule_of(g, qkv, heads, causal, weights):
    """What attention_rule returns for saved weights, and the three arrays after the call."""
    given = [np.array(x) for x in (g, qkv, weights)]
    found = attention_rule(given[0], None, given[1], heads, causal, {"weights": given[2]})
    return found, given


def layer_of(embed_dim, num_heads, seed=0, dtype="float64", **options):
    """A layer, and its weights: those of qkv and of out, with biases that are not 0."""
    layer = MultiHeadAttention(embed_dim, num_heads, rng=seed, **options)
    layer.to(dtype)
    rng = np.random.default_rng(seed + 1)
    weights = []
    for dense in (layer.qkv, layer.out):
        if dense.bias is not None:
            dense.bias.data[...] = rng.normal(size=dense.bias.shape)
        weights += [dense.weights.data.copy()]
        weights += [None if dense.bias is None else dense.bias.data.copy()]
    return layer, weights


# %% scores points=4
def test_scores_by_hand():
    q, k = Tensor([[1.0, 2.0, 0.0, 0.0]]), Tensor([[4.0, 0.0, 9.0, 9.0], [0.0, 3.0, 0.0, 1.0]])
    found = result_of(lambda: attention_scores(q, k), "one query, two keys")
    expect(
        found,
        [[2.0, 3.0]],
        "the query [1, 2, 0, 0] and the keys [4, 0, 9, 9] and [0, 3, 0, 1]",
        "The dot products are 4 and 6, and d is 4: divide by sqrt(4), the root of the width",
        tensor=True,
    )
    found = result_of(lambda: attention_scores(q, k, scale=10.0), "scale=10")
    expect(found, [[40.0, 60.0]], "the same with scale=10.0", "Is a given scale the factor?")


def test_scores_have_a_row_for_each_query():
    q, k = normal(1, 5, 9), normal(2, 3, 9)
    found = result_of(
        lambda: attention_scores(Tensor(q), Tensor(k)),
        "5 queries and 3 keys of width 9",
        "Exchange the last two axes of the keys before @",
    )
    expect(
        found,
        [[float((a * b).sum()) / 3 for b in k] for a in q],
        "5 queries and 3 keys of width 9",
        "Row i holds the scores of query i; the factor is 1 / sqrt(9)",
    )


def test_scores_of_many_heads():
    q, k = normal(3, 2, 3, 4, 16), normal(4, 2, 3, 5, 16)
    case = "queries (2, 3, 4, 16) and keys (2, 3, 5, 16)"
    found = result_of(
        lambda: attention_scores(Tensor(q), Tensor(k)), case, "Exchange the last two axes only"
    )
    expect(found, np.einsum("bhid,bhjd->bhij", q, k) / 4, case, "The factor is 1 / sqrt(16)")


def test_scores_propagate_gradients():
    expect_gradients(
        lambda q, k: attention_scores(q, k), [normal(5, 2, 3), normal(6, 4, 3)], "scores"
    )


# %% scores hidden points=1
def test_other_scores():
    for shape, keys in [((1, 1), 1), ((6, 2), 1), ((2, 1, 3, 7), 5)]:
        q, k = normal(7, *shape), normal(8, *shape[:-2], keys, shape[-1])
        wanted = np.einsum("...id,...jd->...ij", q, k)
        found = attention_scores(query=Tensor(q), key=Tensor(k))
        expect(found, wanted / shape[-1] ** 0.5, f"{shape}, {keys} keys", tensor=True)
        expect(attention_scores(Tensor(q), Tensor(k), 0.0), 0 * wanted, "scale=0.0")
        expect(attention_scores(Tensor(q), Tensor(k), 1.5), 1.5 * wanted, "scale=1.5")
    found = attention_scores(
        Tensor(normal(9, 2, 3, dtype="float32")), Tensor(np.ones((1, 3), "f4"))
    )
    assert found.dtype.name == "float32"


# %% causal-mask points=4
def test_a_position_sees_itself_and_what_is_before_it():
    found = np.asarray(causal_mask(3, 3))
    assert found.shape == (3, 3), f"causal_mask(3, 3) has shape (3, 3), yours {found.shape}"
    assert found.dtype == bool, f"the mask should be an array of bool, yours has {found.dtype}"
    assert found.diagonal().all(), (
        "every position may look at itself: the diagonal of causal_mask(3, 3) should be True, "
        f"yours is {found.astype(int).tolist()}. The first position would see nothing"
    )
    assert not found[0, 2] and found[2, 0], (
        f"causal_mask(3, 3) is {found.astype(int).tolist()}: here position 0 sees the future. "
        "True means: may look. Row i is query i, column j is key j"
    )
    assert (found == lower(3, 3)).all(), (
        "causal_mask(3, 3) should be [[1, 0, 0], [1, 1, 0], [1, 1, 1]], yours is "
        f"{found.astype(int).tolist()}"
    )


def test_new_queries_are_the_last_positions():
    for queries, keys in [(2, 5), (1, 4)]:
        found = np.asarray(result_of(lambda: causal_mask(queries, keys), f"{queries}, {keys}"))
        assert found.shape == (queries, keys), (
            f"causal_mask({queries}, {keys}) has a row for each query and a column for each "
            f"key, shape ({queries}, {keys}), yours {found.shape}"
        )
        assert found.dtype == bool and (found == lower(queries, keys)).all(), (
            f"causal_mask({queries}, {keys}) should be "
            f"{lower(queries, keys).astype(int).tolist()}, yours is "
            f"{found.astype(int).tolist()}: the last query sees all keys, so the mask is "
            "aligned at the end"
        )


# %% causal-mask hidden points=1
def test_other_causal_masks():
    for queries, keys in [(1, 1), (1, 9), (4, 4), (3, 4), (7, 30), (2, 3)]:
        found = np.asarray(causal_mask(queries=queries, keys=keys))
        assert found.dtype == bool and found.shape == (queries, keys)
        assert (found == lower(queries, keys)).all(), f"{queries}, {keys}"


# %% masked-softmax points=7
def test_without_a_mask_it_is_softmax():
    x = [[0.0, math.log(3.0)], [2.0, 2.0]]
    expect(
        result_of(lambda: masked_softmax(Tensor(x)), "no mask"),
        [[0.25, 0.75], [0.5, 0.5]],
        "scores [[0, log 3], [2, 2]] and no mask",
        "Each row sums to 1: the sum is over the keys, the last axis",
        tensor=True,
    )


def test_hidden_keys_get_weight_0_and_the_others_sum_to_1():
    mask = lower(3, 3)
    found = result_of(lambda: masked_softmax(Tensor(np.ones((3, 3))), mask), "a causal mask")
    sums = np.asarray(found.data).sum(-1)
    assert np.allclose(sums, 1), (
        "equal scores with a causal mask: the rows should sum to 1, yours sum to "
        f"{short(sums)}. The mask must act on the scores, before the softmax"
    )
    expect(
        found,
        [[1, 0, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]],
        "equal scores with a causal mask",
        "Where the mask is False, the score becomes -inf. A score times 0 is 0, an average key",
        tensor=True,
    )


def test_a_row_that_sees_nothing_is_0():
    mask = np.array([[True, False], [False, False]])
    for given, name in [(mask, "bool"), (np.where(mask, 0, -np.inf), "float")]:
        with np.errstate(invalid="ignore", divide="ignore"):
            found = result_of(lambda: masked_softmax(Tensor(np.ones((2, 2))), given), name)
        values = np.asarray(found.data)
        assert not np.isnan(values).any(), (
            f"a {name} mask that hides every key of row 1 gives nan there, which would spread "
            "to every parameter: -inf - -inf and 0 / 0 are nan. The row should be 0"
        )
        expect(values, [[1, 0], [0, 0]], f"a {name} mask that hides every key of row 1")


def test_masks_of_numbers_are_added():
    x, mask = normal(11, 2, 3), np.array([0.0, -1.5, -np.inf])
    expect(
        result_of(lambda: masked_softmax(Tensor(x), mask), "a float mask"),
        weights_by_loops(x + [0, -1.5, 0], [True, True, False]),
        "the float mask [0, -1.5, -inf]",
        "Numbers are added to the scores; only bool masks choose",
    )


def test_large_scores_and_hidden_infinities():
    x = np.array([[1000.0, 1000.0, np.inf], [-1000.0, -1001.0, np.nan]])
    with np.errstate(over="ignore", invalid="ignore"):
        found = result_of(lambda: masked_softmax(Tensor(x), np.array([True, True, False])), "")
    expect(
        found,
        [[0.5, 0.5, 0], [1 / (1 + math.exp(-1)), 1 - 1 / (1 + math.exp(-1)), 0]],
        "scores of 1000 and -1000, and inf and nan where the mask is False",
        "Subtract the largest score that is allowed before exp, and choose, do not multiply",
    )


def test_masks_broadcast_over_heads():
    x = normal(12, 2, 3, 4, 5)
    mask = normal(13, 2, 1, 1, 5) > -0.5
    expect(
        result_of(lambda: masked_softmax(Tensor(x), mask), "mask (2, 1, 1, 5)"),
        weights_by_loops(x, mask),
        "scores (2, 3, 4, 5) with a mask of shape (2, 1, 1, 5)",
    )


def test_masked_softmax_propagates_gradients():
    mask = np.array([[True, False, True], [True, True, False], [False, False, False]])
    expect_gradients(lambda x: masked_softmax(x, mask), [normal(14, 3, 3)], "a bool mask")
    x, mask = Variable(normal(15, 2, 3)), Variable(normal(16, 2, 3))
    result_of(lambda: masked_softmax(x, mask).backward(normal(17, 2, 3)), "a float mask")
    assert mask.grad is not None, (
        "a float mask that is a Variable gets a gradient, yours gets none: add the mask "
        "itself, and use operand(mask) only to ask for its dtype"
    )
    expect_gradients(
        lambda x, m: masked_softmax(x, m), [normal(15, 2, 3), normal(16, 2, 3)], "a float mask"
    )
    x, mask = Variable(normal(18, 2, 2)), Variable([[0.0, -np.inf], [-np.inf, -np.inf]])
    with np.errstate(invalid="ignore", divide="ignore"):
        masked_softmax(x, mask).backward(normal(19, 2, 2))
    for leaf, name in (x, "scores"), (mask, "mask"):
        found = np.asarray(leaf.grad)
        assert np.array_equal(found[1], [0, 0]), (
            f"a float mask that hides every key of row 1: row 1 of the gradient of the {name} "
            f"should be 0, yours is {short(found[1])}. Removing nan after softmax leaves it "
            "in the gradient of the softmax: give such a row finite scores before the softmax"
        )


# %% masked-softmax hidden points=2
def test_other_masked_rows():
    for shape, seed in [((1, 1), 17), ((2, 3, 4, 6), 18), ((5, 2, 9), 19)]:
        x, mask = normal(seed, *shape) * 20, normal(seed + 50, *shape[-2:]) > 0
        found = masked_softmax(scores=Tensor(x), mask=mask)
        expect(found, weights_by_loops(x, mask), f"{shape}", tensor=True)
        values = np.asarray(found.data)
        assert (values[~np.broadcast_to(mask, shape)] == 0).all()
        expect(masked_softmax(Tensor(x), Tensor(mask)), weights_by_loops(x, mask), "a Tensor")
    half = np.array([[3.0, 60000.0, -60000.0]], "float16")
    found = np.asarray(masked_softmax(Tensor(half), np.array([True, False, False])).data)
    assert found.tolist() == [[1, 0, 0]] and found.dtype.name == "float16", f"{found}"
    low = np.array([[-5e4, -6e4, 3.0]], "float32") * 1e4
    found = np.asarray(masked_softmax(Tensor(low), np.array([True, True, False])).data)
    assert found.tolist() == [[1, 0, 0]] and found.dtype.name == "float32", f"{found}"


# %% attention points=6
def test_equal_scores_give_the_mean_of_the_values():
    q, k = Tensor(np.zeros((1, 4))), Tensor(normal(21, 3, 4))
    v = Tensor([[1.0, 10.0], [2.0, 20.0], [6.0, 60.0]])
    found = result_of(lambda: scaled_dot_product_attention(q, k, v), "a query of zeros")
    expect(found, [[3, 30]], "a query of zeros: all weights are 1/3", tensor=True)


def test_attention_by_its_definition():
    for shape, keys, width in [((2, 3), 4, 5), ((2, 3, 4, 6), 7, 6), ((3, 5, 2), 5, 2)]:
        q, k = normal(22, *shape), normal(23, *shape[:-2], keys, shape[-1])
        v = normal(24, *shape[:-2], keys, width)
        case = f"query {q.shape}, key {k.shape}, value {v.shape}"
        found = result_of(
            lambda: scaled_dot_product_attention(Tensor(q), Tensor(k), Tensor(v)),
            case,
            "Weights of shape (Tq, Tk) times values of shape (Tk, e)",
        )
        expect(found, attended(q, k, v), case, "Scores, softmax over the keys, times values")


def test_masks_and_scale_are_used():
    q, k, v = normal(25, 3, 4), normal(26, 5, 4), normal(27, 5, 2)
    mask = np.array([[1, 0, 1, 1, 0], [0, 0, 0, 1, 0], [1, 1, 1, 1, 1]], bool)
    given = Tensor(q), Tensor(k), Tensor(v)
    expect(
        result_of(lambda: scaled_dot_product_attention(*given, attn_mask=mask), "a bool mask"),
        attended(q, k, v, mask),
        "a bool attn_mask",
        "True means: takes part",
    )
    numbers = normal(28, 3, 5)
    expect(
        result_of(lambda: scaled_dot_product_attention(*given, numbers), "a float mask"),
        attended(q, k, v, added=numbers),
        "a float attn_mask, which is added to the scores",
    )
    expect(
        result_of(lambda: scaled_dot_product_attention(*given, scale=2.0), "scale=2"),
        attended(q, k, v, scale=2.0),
        "scale=2.0, the factor of the scores",
    )


def test_is_causal_hides_the_future():
    q, k, v = normal(29, 2, 4, 3), normal(30, 2, 4, 3), normal(31, 2, 4, 5)
    found = result_of(
        lambda: scaled_dot_product_attention(Tensor(q), Tensor(k), Tensor(v), is_causal=True),
        "is_causal=True",
    )
    expect(
        found,
        attended(q, k, v, lower(4, 4)),
        "is_causal=True with 4 positions",
        "Row 0 is the first value alone, the last row uses all values",
    )


def test_dropout_drops_weights_and_keeps_their_mean():
    manual_seed(3)
    q, k, v = (Tensor(np.zeros((1, 1, 1000, 1))) for _ in range(3))
    v = Tensor(np.ones((1, 1, 1000, 1)))
    found = np.asarray(scaled_dot_product_attention(q, k, v, dropout_p=0.25).data)
    assert found.std() > 1e-6, (
        "with values of 1 and dropout_p=0.25 the results should differ, yours are all "
        f"{found.ravel()[0]:.3f}: there is no dropout, or it acts on the scores, before the "
        "softmax"
    )
    assert abs(found.mean() - 1) < 0.01, (
        "with 1000 equal values of 1 and dropout_p=0.25, results should be 1 on average, yours "
        f"are {found.mean():.3f}: apply dropout to the weights, after the softmax"
    )
    wanted = math.sqrt(0.25 / 0.75 / 1000)  # of a mean of 1000 weights, each 0 or 4/3
    assert abs(found.std() / wanted - 1) < 0.15, (
        "with 1000 equal values of 1 and dropout_p=0.25, the results should have the standard "
        f"deviation {wanted:.4f}, yours have {found.std():.4f}: apply dropout to the weights, "
        "after the softmax, with p = dropout_p"
    )


def test_attention_propagates_gradients_to_all_three():
    arrays = [normal(33, 3, 2), normal(34, 4, 2), normal(35, 4, 3)]
    expect_gradients(scaled_dot_product_attention, arrays, "attention")


# %% attention hidden points=2
def test_other_attention():
    q, k, v = normal(36, 2, 1, 3, 4), normal(37, 1, 5, 6, 4), normal(38, 2, 5, 6, 1)
    mask = normal(39, 5, 1, 6) > -1
    found = scaled_dot_product_attention(
        query=Tensor(q), key=Tensor(k), value=Tensor(v), attn_mask=mask
    )
    expect(found, attended(q, k, v, mask), "axes that broadcast", tensor=True)
    q, k, v = (normal(seed, 7, 3) for seed in (40, 41, 42))
    given = [Tensor(x) for x in (q, k, v)]
    found = scaled_dot_product_attention(*given, is_causal=True, scale=0.5)
    expect(found, attended(q, k, v, lower(7, 7), scale=0.5), "causal with a scale")
    found = scaled_dot_product_attention(*given, is_causal=False, scale=0.0)
    expect(found, np.tile(v.mean(0), (7, 1)), "scale 0")
    kind, message = refusal(
        scaled_dot_product_attention, *given, np.ones((7, 7), bool), 0.0, True
    )
    assert kind == "ValueError", f"{kind}: {message}"
    kind, message = refusal(
        scaled_dot_product_attention, given[0][:2], *given[1:], is_causal=True
    )
    assert kind == "ValueError" and "causal_mask" in message, f"{kind}: {message}"


# %% by-hand points=6
def test_hard_lookup_returns_one_value():
    keys = Tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.6, 0.8]])
    values = Tensor([[10.0, 1.0], [20.0, 2.0], [40.0, 4.0], [80.0, 8.0]])
    for query, right in [([0.9, 0.1], 0), ([-1.0, 0.2], 2), ([0.6, 0.8], 3), ([0.5, -0.6], 0)]:
        found = result_of(
            lambda: hard_lookup(keys, values, Tensor(query)),
            f"hard_lookup with the query {query}",
            "Attention takes rows of queries: this is one query, of shape (d,)",
        )
        expect(
            found,
            np.asarray(values.data)[right],
            f"the query {query} fits key {right} best",
            "A mixture means that the scale is too small; a value of shape (e,) is due",
            near=1e-3,
            tensor=True,
        )


def test_a_running_mean_uses_the_past_only():
    x = [[2.0, 1.0], [4.0, 0.0], [9.0, 5.0], [1.0, 2.0]]
    found = result_of(
        lambda: running_mean(Tensor(x)),
        "running_mean",
        "Queries and keys of equal numbers give equal scores",
    )
    expect(
        found,
        [[2, 1], [3, 0.5], [5, 2], [4, 2]],
        "running_mean of the rows [2, 1], [4, 0], [9, 5], [1, 2]",
        "All scores equal, is_causal=True, and the rows as values",
        tensor=True,
    )


def test_counts_up_to_each_position():
    found = result_of(lambda: running_counts(np.array([2, 0, 2, 2]), 4), "running_counts")
    expect(
        found,
        [[0, 0, 1, 0], [1, 0, 1, 0], [1, 0, 2, 0], [1, 0, 3, 0]],
        "running_counts of [2, 0, 2, 2]",
        "A running mean of one-hot rows is a share: times the number of rows so far, 1, 2, 3, "
        "..., it is a count",
        near=1e-4,
        tensor=True,
    )
    assert found.dtype.name == "float32", (
        f"the counts should be float32, yours are {found.dtype}"
    )


# %% by-hand hidden points=1
def test_other_lookups_means_and_counts():
    keys, values = np.eye(6), normal(43, 6, 3)
    for n in range(6):
        query = np.where(np.arange(6) == n, 0.3, 0.15)
        expect(
            hard_lookup(Tensor(keys), Tensor(values), Tensor(query)),
            values[n],
            f"{n}",
            "",
            1e-3,
        )
    x = normal(44, 2, 5, 3)
    wanted = np.cumsum(x, axis=1) / np.arange(1, 6)[:, None]
    expect(running_mean(Tensor(x)), wanted, "a batch")
    expect_gradients(running_mean, [x], "running_mean")
    assert running_mean(Tensor(x.astype("float32"))).dtype.name == "float32"
    ids = np.random.default_rng(45).integers(0, 5, 20)
    wanted = np.cumsum(ids[:, None] == np.arange(5), axis=0)
    expect(running_counts(ids, 5), wanted, "20 ids", near=1e-4)
    expect(running_counts(ids=np.array([0]), vocab_size=1), [[1]], "one id")


# %% sinusoidal points=4
def test_encodings_by_hand():
    found = np.asarray(
        result_of(
            lambda: sinusoidal(3, 4),
            "sinusoidal(3, 4)",
            "The base is a float, 10000.0: NumPy raises an int to no negative power of ints",
        )
    )
    assert found.shape == (3, 4), f"sinusoidal(3, 4) has shape (3, 4), yours {found.shape}"
    expect(
        found[0], [0, 1, 0, 1], "position 0", "Sines and cosines alternate: sin 0, cos 0, ..."
    )
    expect(
        found[1],
        [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)],
        "position 1 with D = 4",
        "The frequencies are 10000 ** (-2 i / D): 1 and 0.01",
    )
    expect(
        found[2],
        [math.sin(2), math.cos(2), math.sin(0.02), math.cos(0.02)],
        "position 2, D = 4",
    )
    assert found.dtype == np.float32, f"float32 is due, yours is {found.dtype}"


def test_an_odd_width_ends_with_a_sine():
    found = np.asarray(
        result_of(
            lambda: sinusoidal(2, 3),
            "sinusoidal(2, 3)",
            "An odd width has one frequency less for the cosines",
        )
    )
    expect(
        found[1:],
        [[math.sin(1), math.cos(1), math.sin(10000 ** (-2 / 3))]],
        "position 1 with D = 3",
    )


# %% sinusoidal hidden points=1
def test_other_encodings():
    for T, D in [(1, 1), (5, 2), (100, 7), (64, 16)]:
        found = np.asarray(sinusoidal(T=T, D=D))
        assert found.shape == (T, D) and found.dtype == np.float32
        for t in (0, T // 2, T - 1):
            for i in range(D):
                angle = t / 10000 ** (2 * (i // 2) / D)
                wanted = math.cos(angle) if i % 2 else math.sin(angle)
                assert abs(found[t, i] - wanted) < 1e-5, f"{T}, {D}: {t}, {i}"


# %% learned points=3
def test_each_position_gets_its_row():
    layer = LearnedPositions(5, 2, rng=0)
    rows = np.array(layer.weight.data)
    assert rows.shape == (5, 2) and rows.std() > 0, "the weight should be random at first"
    x = normal(101, 3, 4, 2, dtype="float32")
    expect(
        result_of(lambda: layer(Tensor(x.copy())), "4 positions of a context of 5"),
        x + rows[:4],
        "4 positions of a context of 5: row t of the weight is added at position t",
        tensor=True,
    )


def test_the_table_is_trained():
    layer = LearnedPositions(4, 2)
    x = Variable(np.ones((3, 2, 2), "float32"))
    out = layer(x)
    assert out.requires_grad, "the result does not require a gradient: use the Variable"
    out.backward(np.ones((3, 2, 2), "float32"))
    assert layer.weight.grad is not None, (
        "the table gets no gradient, so it would never be trained: index self.weight, not "
        "self.weight.data"
    )
    expect(
        layer.weight.grad,
        [[3, 3], [3, 3], [0, 0], [0, 0]],
        "a batch of 3 with 2 positions: the rows of both positions get 3 gradients each",
    )
    assert x.grad is not None, "the input gets no gradient: add to x, not to x.data"


def test_more_positions_than_rows_are_refused():
    layer = LearnedPositions(4, 3)
    kind, message = refusal(layer, Tensor(np.zeros((2, 7, 3), "float32")))
    assert kind == "ValueError" and "7" in message and "4" in message, (
        "7 positions and a context of 4: a ValueError with both numbers is due, yours "
        + (f"raises {kind}: {message}" if kind else "raises nothing")
    )
    kind, message = refusal(layer, Tensor(np.zeros((1, 5, 3), "float32")))
    assert kind == "ValueError", "5 positions and a context of 4: a ValueError is due"
    kind, message = refusal(LearnedPositions(1, 3), Tensor(np.zeros((2, 6, 3), "float32")))
    assert kind == "ValueError", (
        "6 positions and a context of 1: a ValueError is due. Without a comparison, NumPy "
        "broadcasts the only row to all positions"
    )


# %% learned hidden points=1
def test_other_contexts():
    for context, width, T in [(1, 1, 1), (6, 3, 6), (9, 4, 2), (4, 2, 1)]:
        layer = LearnedPositions(context, width, rng=7)
        rows = np.asarray(layer.weight.data)
        x = normal(102, 2, T, width, dtype="float32")
        expect(layer(Tensor(x)), x + rows[None, :T], f"{context}, {T}", tensor=True)
    kind, message = refusal(LearnedPositions(12, 2), Tensor(np.zeros((2, 40, 2), "float32")))
    assert kind == "ValueError" and "12" in message and "40" in message


# %% rope points=5
def test_pairs_of_neighbours_are_rotated():
    x = Tensor(np.array([[1.0, 0.0, 0.0, 0.0]]))
    found = result_of(lambda: rope(x, np.array([1])), "rope of [1, 0, 0, 0] at position 1")
    expect(
        found,
        [[math.cos(1), math.sin(1), 0, 0]],
        "[1, 0, 0, 0] at position 1",
        "(1, 0) is rotated by 1 radian to (0.54, 0.84). Pairs are neighbours, (x0, x1), "
        "(x2, x3), and turn from the first axis toward the second",
        tensor=True,
    )
    x = Tensor(np.array([[0.0, 0.0, 1.0, 0.0]]))
    expect(
        result_of(lambda: rope(x, np.array([7])), "rope"),
        [[0, 0, math.cos(0.07), math.sin(0.07)]],
        "[0, 0, 1, 0] at position 7",
        "The second pair of 4 numbers turns by 7 * 10000 ** (-2 / 4)",
    )


def test_position_0_changes_nothing_and_lengths_stay():
    x = normal(111, 2, 3, 5, 8)
    found = result_of(lambda: rope(Tensor(x), np.arange(5)), "x of shape (2, 3, 5, 8)")
    expect(
        found,
        rotated(x, np.arange(5)),
        "x of shape (2, 3, 5, 8)",
        "Pairs are neighbours, (x0, x1), (x2, x3), and stand side by side in the result, too",
        tensor=True,
    )
    values = np.asarray(found.data)
    expect(values[..., 0, :], x[..., 0, :], "position 0 rotates by nothing")
    lengths = (values**2).sum(-1)
    expect(lengths, (x**2).sum(-1), "a rotation changes no length")


def test_scores_depend_on_the_distance_alone():
    q, k = normal(112, 1, 6), normal(113, 1, 6)
    scores = {}
    for i, j in [(5, 3), (105, 103), (2, 0)]:
        a, b = (rope(Tensor(x), np.array([p])).data for x, p in ((q, i), (k, j)))
        scores[i, j] = float((np.asarray(a) * np.asarray(b)).sum())
    values = [*scores.values()]
    assert np.allclose(values, values[0]), (
        f"the scores of one query and one key, two positions apart, should be equal: {scores}"
    )
    a, b = (rope(Tensor(x), np.array([p])).data for x, p in ((q, 3), (k, 5)))
    assert abs(float((np.asarray(a) * np.asarray(b)).sum()) - values[0]) > 1e-3, (
        "the score does not change with the distance: does your rope use the positions?"
    )


def test_the_base_sets_the_speeds():
    x = normal(114, 3, 6)
    expect(
        result_of(lambda: rope(Tensor(x), np.array([4, 9, 2]), base=100.0), "base=100"),
        rotated(x, [4, 9, 2], 100.0),
        "base=100.0 at the positions 4, 9 and 2",
    )


def test_rope_propagates_gradients_and_keeps_float32():
    expect_gradients(lambda x: rope(x, np.array([3, 8])), [normal(115, 2, 4)], "rope")
    x = normal(116, 2, 4, dtype="float32")
    found = rope(Tensor(x), np.array([3, 8]))
    expect(found, rotated(x, [3, 8]), "float32 at the positions 3 and 8", near=1e-5)
    assert found.dtype.name == "float32", (
        f"float32 became {found.dtype}: NumPy's sines and cosines of positions are float64"
    )


# %% rope hidden points=1
def test_other_rotations():
    for shape, base in [((1, 2), 10000.0), ((3, 4, 10), 10.0), ((2, 2, 6, 4), 500.0)]:
        x, positions = normal(118, *shape), np.random.default_rng(1).integers(0, 300, shape[-2])
        found = rope(x=Tensor(x), positions=positions, base=base)
        expect(found, rotated(x, positions, base), f"{shape}", tensor=True)
        found = rope(Tensor(x), positions.tolist(), base)
        expect(found, rotated(x, positions, base), "positions as a list")
    kind, message = refusal(rope, Tensor(np.zeros((2, 5))), np.arange(2))
    assert kind == "ValueError" and "5" in message


# %% heads points=4
def test_each_head_has_a_part_of_every_position():
    x = np.arange(12).reshape(1, 3, 4)
    found = result_of(lambda: split_heads(Tensor(x), 2), "split_heads")
    assert found is not None and np.shape(found) == (1, 2, 3, 2), (
        "x of shape (1, 3, 4) with 2 heads should become (1, 2, 3, 2), yours has shape "
        f"{np.shape(found)}"
    )
    head = np.asarray(found.data)[0, 0]
    assert head.tolist() == [[0, 1], [4, 5], [8, 9]], (
        "the positions are [0, 1, 2, 3], [4, 5, 6, 7] and [8, 9, 10, 11]: head 0 should have "
        f"the first half of each, [[0, 1], [4, 5], [8, 9]], yours has {head.tolist()}. Divide "
        "the last axis first, then exchange two axes"
    )
    expect(
        found, [[[[0, 1], [4, 5], [8, 9]], [[2, 3], [6, 7], [10, 11]]]], "2 heads", tensor=True
    )


def test_a_batch_of_three_heads():
    x = normal(51, 2, 5, 12)
    case = "x of shape (2, 5, 12) with 3 heads"
    expect(result_of(lambda: split_heads(Tensor(x), 3), case), heads_of(x, 3), case)


def test_merging_is_the_inverse_of_splitting():
    x = normal(52, 2, 4, 6)
    case = "merging 3 heads of x (2, 4, 6)"
    found = result_of(lambda: merge_heads(Tensor(heads_of(x, 3))), case)
    expect(
        found,
        x,
        case,
        "Exchange the axes back before you reshape: a reshape alone keeps all numbers of head "
        "0 in front",
        tensor=True,
    )


def test_heads_propagate_gradients():
    for call, shape, wanted in [
        (lambda x: split_heads(x, 2), (2, 3, 4), (2, 2, 3, 2)),
        (merge_heads, (2, 3, 4, 5), (2, 4, 15)),
    ]:
        found = np.shape(call(Tensor(normal(53, *shape))))
        assert found == wanted, f"{shape} should become {wanted}, yours is {found}"
        expect_gradients(call, [normal(53, *shape)], "heads")


# %% heads hidden points=1
def test_other_heads():
    for shape, heads in [((1, 1, 1), 1), ((3, 2, 8), 4), ((2, 7, 6), 6), ((4, 4, 4), 2)]:
        x = normal(54, *shape)
        found = split_heads(x=Tensor(x), heads=heads)
        expect(found, heads_of(x, heads), f"{shape}, {heads}", tensor=True)
        expect(merge_heads(found), x, f"{shape}, {heads}", tensor=True)


# %% forward points=5
def test_weights_of_the_last_queries():
    q, k = normal(59, 2, 3, 4), normal(60, 2, 5, 4)
    kept = q.copy(), k.copy()
    for causal in (False, True):
        case = f"weights_forward of q (2, 3, 4) and k (2, 5, 4), causal={causal}"
        found = result_of(lambda: weights_forward(q, k, causal), case)
        scores = np.einsum("bid,bjd->bij", q, k) / 2
        expect(
            found,
            weights_by_loops(scores, lower(3, 5) if causal else True),
            case,
            "The scale is 1 / sqrt(4), the softmax is over the keys, and the mask is "
            "causal_mask(3, 5)",
        )
        assert np.array_equal(q, kept[0]) and np.array_equal(k, kept[1]), (
            f"{case} changed what it was given"
        )


def test_one_operation_equals_the_definition():
    for heads, width, length in [(1, 3, 4), (2, 8, 5), (3, 6, 3)]:
        qkv = normal(61, 2, length, 3 * width)
        q, k, v = (heads_of(part, heads) for part in np.split(qkv, 3, axis=-1))
        for causal in (False, True):
            allowed = lower(length, length) if causal else True
            case = f"qkv {qkv.shape}, {heads} heads, causal={causal}"
            found, _, _ = result_of(lambda: forward_of(qkv, heads, causal), case)
            wanted = attended(q, k, v, allowed).swapaxes(1, 2).reshape(2, length, width)
            expect(
                found,
                wanted,
                case,
                "The scale is that of one head, 1 / sqrt(d), not of D; the softmax is over the "
                "keys; heads are merged as merge_heads does",
            )


def test_the_weights_are_saved_for_the_rule():
    qkv = normal(62, 2, 4, 12)
    q, k, _ = (heads_of(part, 2) for part in np.split(qkv, 3, axis=-1))
    scores = np.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(2)
    _, weights, _ = forward_of(qkv, 2, True)
    assert weights is not None, 'saved["weights"] is missing: the rule needs the weights'
    expect(weights, weights_by_loops(scores, lower(4, 4)), 'saved["weights"]')


def test_qkv_is_not_changed():
    qkv = normal(63, 1, 3, 6)
    found, _, after = forward_of(qkv, 1, True)
    assert np.array_equal(np.asarray(after), qkv), (
        "attention_forward changed qkv: q, k and v are views of it, and *= writes into them"
    )
    wanted = attended(*np.split(qkv, 3, axis=-1), lower(3, 3))
    expect(found, wanted, "qkv of shape (1, 3, 6) with one head, causal")


def test_large_scores_do_not_overflow():
    qkv = np.ones((1, 3, 3), "float32") * 30
    with np.errstate(over="ignore", invalid="ignore"):
        found, _, _ = forward_of(qkv, 1, False)
    expect(
        found, np.full((1, 3, 1), 30), "scores of 900", "Subtract the largest score of the row"
    )
    assert found.dtype.name == "float32", f"float32 became {found.dtype}"


# %% forward hidden points=2
def test_other_forward_passes():
    for shape, heads in [((1, 1, 3), 1), ((3, 6, 24), 4), ((2, 9, 30), 5)]:
        qkv = normal(64, *shape) * 3
        q, k, v = (heads_of(part, heads) for part in np.split(qkv, 3, axis=-1))
        for causal in (False, True):
            wanted = attended(q, k, v, lower(shape[1], shape[1]) if causal else True)
            wanted = np.concatenate([wanted[:, h] for h in range(heads)], axis=-1)
            found, weights, _ = forward_of(qkv, heads, causal)
            expect(found, wanted, f"{shape}, {heads} heads, causal={causal}")
            assert weights.shape == (shape[0], heads, shape[1], shape[1])
            for array in [*forward_of(qkv.astype("float32"), heads, causal)][:2]:
                assert array.dtype.name == "float32", "float32 should stay float32"


# %% rule points=8
def test_softmax_rule_by_hand():
    found = result_of(
        lambda: softmax_rule(np.array([1.0, 0.0, 0.0]), np.array([0.5, 0.25, 0.25])),
        "softmax_rule",
    )
    expect(
        found,
        [0.25, -0.125, -0.125],
        "g = [1, 0, 0] and weights [0.5, 0.25, 0.25]",
        "weights * (g - the sum of g * weights): without the row term it would be [0.5, 0, 0]",
    )


def test_gradients_of_scores_sum_to_0():
    weights = weights_by_loops(normal(71, 2, 3, 4), True)
    g = normal(72, 2, 3, 4)
    kept = g.copy(), weights.copy()
    found = np.asarray(result_of(lambda: softmax_rule(g, weights), "softmax_rule"))
    assert found.shape == g.shape, f"the shape should be {g.shape}, yours is {found.shape}"
    assert np.array_equal(g, kept[0]) and np.array_equal(weights, kept[1]), (
        "softmax_rule changed what it was given: others use these arrays"
    )
    sums = found.sum(axis=-1)
    assert np.allclose(sums, 0), (
        "a constant added to the scores of a row changes no weight, so each row of the "
        f"gradient should sum to 0, the first of yours sums to {sums.ravel()[0]:.4f}. The row "
        "term is a sum over the last axis"
    )
    step = 1e-6
    wanted = np.zeros_like(g)
    scores = np.log(weights)
    for at in np.ndindex(*g.shape):
        ends = []
        for h in (-step, step):
            moved = scores.copy()
            moved[at] += h
            ends.append((weights_by_loops(moved, True) * g).sum())
        wanted[at] = (ends[1] - ends[0]) / (2 * step)
    expect(found, wanted, "softmax_rule of random numbers, by central differences")


def test_gradients_of_queries_keys_and_values():
    for heads, causal in [(1, False), (2, True), (3, True)]:
        d = 5
        qkv, g = normal(73, 2, 4, 3 * heads * d), normal(74, 2, 4, heads * d)

        def value(array):
            q, k, v = (heads_of(part, heads) for part in np.split(array, 3, axis=-1))
            out = attended(q, k, v, lower(4, 4) if causal else True)
            return (np.concatenate([out[:, h] for h in range(heads)], axis=-1) * g).sum()

        q, k, _ = (heads_of(part, heads) for part in np.split(qkv, 3, axis=-1))
        scores = np.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(d)
        weights = weights_by_loops(scores, lower(4, 4) if causal else True)
        case = f"{heads} heads, causal={causal}"
        found, after = result_of(lambda: rule_of(g, qkv, heads, causal, weights), case)
        assert np.shape(found) == qkv.shape, (
            f"{case}: the gradient should have the shape of qkv, {qkv.shape}, yours has "
            f"{np.shape(found)}"
        )
        found = np.asarray(found)
        for name, part in zip("qkv", np.split(found, 3, axis=-1)):
            assert not np.isnan(part).all(), (
                f"{case}: the part of `gradient` for {name} is still nan, so nothing was "
                f"written into it. `d{name}[...] =` writes into it; `d{name} =` only gives the "
                f"name d{name} to another array"
            )
        row = np.asarray(softmax_rule(np.array([1.0, 0.0]), np.array([0.5, 0.5])))
        first = "" if np.allclose(row, [0.25, -0.25]) else "softmax_rule is wrong: begin there"
        for name, cause, columns in [
            ("v", "The weights, transposed, times g", slice(2 * heads * d, None)),
            ("q", first or "Is the factor 1 / sqrt(d) there?", slice(0, heads * d)),
            (
                "k",
                first or "The gradient of the scores, transposed, times q, and the factor",
                slice(heads * d, 2 * heads * d),
            ),
        ]:
            for seed in (75, 76):
                direction = np.zeros_like(qkv)
                direction[..., columns] = normal(seed, *direction[..., columns].shape)
                wanted = (value(qkv + 1e-5 * direction) - value(qkv - 1e-5 * direction)) / 2e-5
                got = (found * direction).sum()
                assert abs(got - wanted) < 1e-5, (
                    f"{case}: along a random direction of {name}, the central difference is "
                    f"{wanted:.6f}, the rule gives {got:.6f}. {cause}"
                )
        for array, given, name in zip(after, (g, qkv, weights), ("g", "qkv", "the weights")):
            assert np.array_equal(np.asarray(array), given), (
                f"{case}: attention_rule changed {name}, which others use"
            )


def test_the_rule_keeps_float32():
    qkv, g = normal(77, 1, 3, 6, dtype="float32"), normal(78, 1, 3, 2, dtype="float32")
    weights = np.full((1, 1, 3, 3), 1 / 3, "float32")
    found, _ = rule_of(g, qkv, 1, False, weights)
    assert found.dtype.name == "float32", f"float32 became {found.dtype}"
    found = softmax_rule(weights, weights)
    expect(found, np.zeros((1, 1, 3, 3)), "equal weights and equal gradients")
    assert found.dtype.name == "float32", f"softmax_rule: float32 became {found.dtype}"


# %% rule hidden points=2
def test_other_gradients():
    for shape, heads, causal in [
        ((1, 1, 3), 1, True),
        ((3, 5, 24), 4, False),
        ((2, 3, 18), 2, True),
    ]:
        qkv, g = normal(79, *shape), normal(80, *shape[:2], shape[2] // 3)
        q, k, v = (heads_of(part, heads) for part in np.split(qkv, 3, axis=-1))
        d = q.shape[-1]
        allowed = lower(shape[1], shape[1]) if causal else True
        scores = np.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(d)
        weights, up = weights_by_loops(scores, allowed), heads_of(g, heads)
        dv = np.einsum("bhij,bhid->bhjd", weights, up)
        dp = np.einsum("bhid,bhjd->bhij", up, v)
        jacobian = np.einsum("bhij,jk->bhijk", weights, np.eye(shape[1]))
        jacobian = jacobian - np.einsum("bhij,bhik->bhijk", weights, weights)
        ds = np.einsum("bhijk,bhij->bhik", jacobian, dp)
        expect(softmax_rule(dp, weights), ds, f"{shape}")
        dq = np.einsum("bhij,bhjd->bhid", ds, k) / math.sqrt(d)
        dk = np.einsum("bhij,bhid->bhjd", ds, q) / math.sqrt(d)
        parts = [np.concatenate([x[:, h] for h in range(heads)], axis=-1) for x in (dq, dk, dv)]
        found, _ = rule_of(g, qkv, heads, causal, weights)
        expect(found, np.concatenate(parts, axis=-1), f"{shape}, {heads} heads")


# %% multi-head points=10
def test_project_splits_the_columns_of_qkv():
    layer, (w, b, _, _) = layer_of(6, 3)
    x = normal(81, 2, 4, 6)
    case = "project of x (2, 4, 6) with 3 heads"
    parts = result_of(lambda: [*layer.project(Tensor(x))], case)
    assert len(parts) == 3, f"{case}: q, k and v are due, yours returns {len(parts)} parts"
    for name, part, wanted in zip("qkv", parts, np.split(x @ w + b, 3, axis=-1)):
        expect(
            part,
            heads_of(wanted, 3),
            f"{name} of {case}",
            "The first D columns of qkv are q, the next k, the last v; heads inside each",
            tensor=True,
        )


def test_a_mask_in_the_layer():
    for causal in (False, True):
        layer, (w, b, w2, b2) = layer_of(8, 2, causal=causal)
        x, mask = normal(82, 3, 5, 8), normal(83, 3, 1, 5, 5) > -0.7
        case = (
            f"MultiHeadAttention(8, 2, causal={causal}) with a bool mask of shape {mask.shape}"
        )
        found = result_of(
            lambda: layer(Tensor(x), mask),
            case,
            "self.combined_mask(T, attn_mask) makes one mask of both, of bool or of floats",
        )
        q, k, v = (heads_of(part, 2) for part in np.split(x @ w + b, 3, axis=-1))
        out = attended(q, k, v, mask & lower(5, 5) if causal else mask)
        expect(
            found,
            np.concatenate([out[:, 0], out[:, 1]], axis=-1) @ w2 + b2,
            case,
            "Attention with both masks, merge_heads, then self.out"
            + ". Is the mask self.combined_mask(T, attn_mask)?" * causal,
            tensor=True,
        )
        numbers = normal(84, 5, 5)
        out = attended(q, k, v, lower(5, 5) if causal else True, numbers)
        expect(
            result_of(lambda: layer(Tensor(x), numbers), "a float mask"),
            np.concatenate([out[:, 0], out[:, 1]], axis=-1) @ w2 + b2,
            f"MultiHeadAttention(8, 2, causal={causal}) with a float mask",
        )


def test_dropout_acts_in_training_mode_only():
    layer, _ = layer_of(4, 1, dropout=0.5)
    x = Tensor(normal(85, 1, 30, 4))
    manual_seed(4)
    first, second = np.asarray(layer(x).data), np.asarray(layer(x).data)
    assert np.abs(first - second).max() > 1e-3, (
        "dropout=0.5 in training mode: two calls should differ, yours are equal. Pass "
        "dropout_p to the attention"
    )
    layer.eval()
    plain, _ = layer_of(4, 1)
    expect(layer(x), plain(x).data, "dropout=0.5 in evaluation mode is no dropout")
    everything = np.ones((30, 30), bool)
    expect(layer(x, everything), plain(x).data, "the same, with a mask that hides nothing")


def test_both_paths_of_forward_agree():
    layer, _ = layer_of(6, 2, causal=True)
    x = normal(86, 2, 4, 6)
    fused = layer(Tensor(x)).data
    expect(
        result_of(lambda: layer(Tensor(x), np.ones((4, 4), bool)), "a mask that hides nothing"),
        fused,
        "a mask that hides nothing should change nothing: your path and the fused one differ",
    )
    expect_gradients(lambda x: layer(x, np.ones((4, 4), bool)), [x], "the layer with a mask")
    layer.zero_grad()
    layer(Tensor(x), np.ones((4, 4), bool)).sum().backward()
    for name, tensor in layer.named_parameters():
        assert tensor.grad is not None, f"{name} gets no gradient"


def test_the_layer_rotates_queries_and_keys():
    layer, (w, b, w2, b2) = layer_of(8, 2, rotary=True, causal=True)
    x = normal(117, 2, 5, 8)
    q, k, v = (heads_of(part, 2) for part in np.split(x @ w + b, 3, axis=-1))
    positions = np.array([9, 3, 4, 5, 60])
    for name, given, at in [
        ("no positions", (), np.arange(5)),
        ("some", (positions,), positions),
    ]:
        parts = result_of(
            lambda: [*layer.project(Tensor(x), *given)],
            f"project with rotary=True, {name} given",
            "When positions is None, they are 0, 1, ..., T - 1" * (not given),
        )
        for part, wanted, letter in zip(parts, (rotated(q, at), rotated(k, at), v), "qkv"):
            expect(
                part,
                wanted,
                f"{letter} of a layer with rotary=True, {name} given",
                "rope after split_heads, on q and k only, at the given positions",
            )
    out = attended(rotated(q, np.arange(5)), rotated(k, np.arange(5)), v, lower(5, 5))
    out = np.concatenate([out[:, 0], out[:, 1]], axis=-1) @ w2 + b2
    expect(
        result_of(lambda: layer(Tensor(x)), "forward"),
        out,
        "a layer with rotary=True and causal=True, called without attn_mask",
        "project is right here: is the mask self.combined_mask(T, attn_mask)? It has the "
        "causal mask without an attn_mask, too",
    )


# %% multi-head hidden points=2
def test_other_layers():
    for dim, heads, bias in [(4, 1, False), (12, 4, True), (6, 6, True)]:
        layer, (w, b, w2, b2) = layer_of(dim, heads, bias=bias, seed=5)
        x, mask = normal(87, 2, 3, dim), normal(88, 2, heads, 3, 3) > -1
        qkv = x @ w + (0 if b is None else b)
        q, k, v = (heads_of(part, heads) for part in np.split(qkv, 3, axis=-1))
        out = attended(q, k, v, mask)
        out = np.concatenate([out[:, h] for h in range(heads)], axis=-1) @ w2
        found = layer(x=Tensor(x), attn_mask=mask)
        expect(found, out + (0 if b2 is None else b2), f"{dim}, {heads}", tensor=True)
        for part, wanted in zip(layer.project(Tensor(x)), (q, k, v)):
            expect(part, wanted, f"project: {dim}, {heads}", tensor=True)


# %% padding points=2
def test_padding_is_hidden():
    found = result_of(lambda: padding_mask([3, 1, 4], 4), "padding_mask([3, 1, 4], 4)")
    assert np.shape(found) == (3, 1, 1, 4), (
        "padding_mask([3, 1, 4], 4) should have shape (3, 1, 1, 4), yours has "
        f"{np.shape(found)}: (B, keys) would not be aligned with (B, heads, Tq, keys)"
    )
    found = np.asarray(found)
    wanted = np.array([[1, 1, 1, 0], [1, 0, 0, 0], [1, 1, 1, 1]], bool)
    assert found.dtype == bool, f"the mask should be an array of bool, yours has {found.dtype}"
    assert (found[:, 0, 0] == wanted).all(), (
        f"lengths 3, 1 and 4 of 4 keys: {wanted.astype(int).tolist()} is due, yours is "
        f"{found[:, 0, 0].astype(int).tolist()}. True means: belongs to the sequence"
    )


def test_each_sequence_has_its_own_mask_for_all_heads():
    scores = normal(89, 2, 3, 4, 5)
    mask = np.asarray(padding_mask(np.array([2, 5]), 5))
    wanted = scores.copy()
    wanted[0, :, :, 2:] = -np.inf
    assert mask.shape == (2, 1, 1, 5), (
        "the mask of 2 sequences with 5 keys should have shape (2, 1, 1, 5), to broadcast to "
        f"scores of shape (2, 3, 4, 5), yours has {mask.shape}"
    )
    found = np.where(mask, scores, -np.inf)
    assert np.array_equal(found, wanted), (
        "the mask of sequence 0 should hide its keys 2, 3 and 4 in all three heads, and "
        "nothing in sequence 1"
    )


# %% padding hidden points=1
def test_other_lengths():
    lengths = np.random.default_rng(90).integers(0, 8, 9)
    for given in (lengths, lengths.tolist(), tuple(lengths.tolist())):
        found = np.asarray(padding_mask(lengths=given, keys=7))
        assert found.shape == (9, 1, 1, 7) and found.dtype == bool
        for row, length in zip(found[:, 0, 0].tolist(), lengths.tolist()):
            assert row == [True] * length + [False] * (7 - length), f"{length}"


# %% learner-side
def measured_chunks(q, k, v, block, is_causal):
    """What chunked_attention returns, and the largest memory in use while it ran, in bytes."""
    tracemalloc.start()
    try:
        out = chunked_attention(q, k, v, block, is_causal)
        return out, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# %% chunked points=4
def test_chunks_of_every_size_give_the_same():
    q, k, v = normal(121, 2, 3, 7, 4), normal(122, 2, 3, 7, 4), normal(123, 2, 3, 7, 5)
    for block in (7, 3, 1, 2, 100):
        found = result_of(
            lambda: chunked_attention(q, k, v, block), f"7 keys, blocks of {block}"
        )
        expect(
            found,
            attended(q, k, v),
            f"7 keys in blocks of {block}",
            "When the maximum rises from m to n, the sum and the weighted values so far are "
            "multiplied by exp(m - n); divide once, at the end; the last block may be shorter",
            tensor=True,
        )


def test_chunks_with_a_causal_mask():
    for Tq, Tk in [(5, 5), (2, 6), (4, 2)]:
        q, k, v = normal(124, Tq, 4), normal(125, Tk, 4), normal(126, Tk, 3)
        for block in (2, 3, 10):
            case = f"{Tq} queries, {Tk} keys, blocks of {block}, is_causal=True"
            with np.errstate(invalid="ignore", divide="ignore"):
                found = result_of(lambda: chunked_attention(q, k, v, block, True), case)
            cause = (
                "The queries are the last positions; sums are rescaled when the maximum rises; "
                "a query with nothing to see gives 0"
            )
            if np.isnan(getattr(found, "data", 0.0)).any():
                cause = (
                    "-inf - -inf and 0 / 0 are nan: a block with nothing to see must not give "
                    "nan, and a query with nothing to see gives 0"
                )
            expect(found, attended(q, k, v, lower(Tq, Tk)), case, cause)


def test_large_scores_in_chunks():
    q, k = np.full((1, 1), 100.0), np.array([[1.0], [9.0], [9.0], [2.0]])
    with np.errstate(over="ignore", invalid="ignore"):
        found = chunked_attention(q, k, np.array([[1.0], [2.0], [6.0], [3.0]]), 2)
    expect(found, [[4.0]], "scores of 100 and 900", "Subtract the running maximum before exp")


def test_chunks_need_no_array_of_all_queries_and_keys():
    q, k, v = (normal(131 + n, T, 2, dtype="f4") for n, T in enumerate([64, 16384, 16384]))
    for causal in (False, True):
        case = f"64 queries, 16384 keys, blocks of 256, is_causal={causal}"
        found, peak = result_of(lambda: measured_chunks(q, k, v, 256, causal), case)
        allowed = np.tri(64, 16384, 16320, dtype=bool) if causal else True
        expect(found, attended(q, k, v, allowed), case, near=1e-4)
        assert peak < 64 * 16384, (
            f"{case}: at its peak, yours needs {peak / 1e6:.1f} MB. An array of shape (Tq, Tk) "
            "needs 4.2 MB for scores of float32, 1.0 MB for a mask of bool, and the function "
            "should have neither: compute scores, and the part of the mask, for one block of "
            "keys at a time"
        )
        assert found.dtype.name == "float32", (
            f"{case}: for float32 the result should be float32, yours is {found.dtype}. Which "
            "array was made without a dtype?"
        )


# %% chunked hidden points=1
def test_other_chunks():
    for shape, Tk, block in [((1, 1), 1, 1), ((3, 6, 2), 11, 4), ((4, 3), 4, 2)]:
        q, v = normal(127, *shape) * 5, normal(129, *shape[:-2], Tk, 2)
        k = normal(128, *shape[:-2], Tk, shape[-1]) * 5
        for causal in (False, True):
            allowed = lower(shape[-2], Tk) if causal else True
            given = [Tensor(x) for x in (q, k, v)]
            found = chunked_attention(*given, block=block, is_causal=causal)
            expect(found, attended(q, k, v, allowed), f"{shape}, {Tk}, {block}", tensor=True)
    x = normal(130, 4, 2, dtype="float32")
    kept = x.copy()
    chunked_attention(x, x, x, 2, is_causal=True)
    assert np.array_equal(x, kept), "the inputs were changed"
