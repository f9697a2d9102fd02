# The checks of lesson 14, by exercise. `check("scores")` in the chapter runs the visible ones.

# %% setup
import math
import tracemalloc

import numpy as np

from checking import alike, equal, expect, gradient_by_differences, refused, result_of, shown
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


def parts_of(qkv, heads):
    """q, k and v, the three parts of (B, T, 3 D), as (B, heads, T, d)."""
    return [heads_of(part, heads) for part in np.split(qkv, 3, axis=-1)]


def joined(out):
    """(B, heads, T, d) as (B, T, D), part by part."""
    return np.concatenate([out[:, h] for h in range(out.shape[1])], axis=-1)


def weights_of(q, k, allowed):
    """The weights of attention between q and k, by their definition."""
    scores = np.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(q.shape[-1])
    return weights_by_loops(scores, allowed)


def rotated(x, positions, base=10000.0):
    """Each pair of numbers as a complex one, multiplied by e to the i angle."""
    d = x.shape[-1]
    pairs = x[..., 0::2] + 1j * x[..., 1::2]
    speeds = np.array([base ** (-2 * i / d) for i in range(d // 2)])
    pairs = pairs * np.exp(1j * np.outer(positions, speeds))
    return np.stack([pairs.real, pairs.imag], axis=-1).reshape(x.shape)


def close(found, wanted, case, cause="", near=1e-6, tensor=False):
    """`expect` for results of floating-point arithmetic; `tensor` demands a Tensor."""
    if tensor and found is not None:
        assert hasattr(found, "requires_grad"), f"{case}: the result should be a Tensor"
        found = found.data
    expect(found, wanted, case, cause, near)


def changes_nothing(call, arrays, case):
    """What `call` returns, which must not change the arrays."""
    before = [array.copy() for array in arrays]
    out = result_of(call, case)
    assert all(np.array_equal(*both) for both in zip(arrays, before)), (
        f"{case} changed its arguments, and other code still uses these arrays"
    )
    return out


def expect_gradients(call, arrays, case):
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
        direction, ends = normal(92 + n, *arrays[n].shape), []
        for h in (-1e-5, 1e-5):
            moved = [a + h * direction if m == n else a for m, a in enumerate(arrays)]
            ends.append(np.asarray(call(*map(Tensor, moved)).data))
        wanted = float(((ends[1] - ends[0]) * g).sum() / 2e-5)
        found = float((np.asarray(leaf.grad) * direction).sum())
        assert abs(found - wanted) < 1e-5 * max(1, abs(wanted)), (
            f"{case}: along a random direction of input {n}, the central difference is "
            f"{wanted:.6f}, backward gives {found:.6f}"
        )


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
    case = "the scores of the query [1, 2, 0, 0] and the keys [4, 0, 9, 9] and [0, 3, 0, 1]"
    cause = "The dot products are 4 and 6, and d is 4: divide by sqrt(4), the root of the width"
    found = result_of(lambda: attention_scores(q, k), case)
    close(found, [[2.0, 3.0]], case, cause, tensor=True)
    found, case = (
        result_of(lambda: attention_scores(q, k, scale=10.0), case),
        f"{case}, scale 10",
    )
    close(found, [[40.0, 60.0]], case, "A given scale is the factor, instead of 1 / sqrt(d)")
    found, cause = (
        attention_scores(q, k, scale=0.0),
        "0.0 is a given scale: ask `scale is None`",
    )
    close(found, [[0.0, 0.0]], case.replace("10", "0.0"), {cause: [[2.0, 3.0]]})


def test_scores_have_a_row_for_each_query():
    q, k = normal(1, 5, 9), normal(2, 3, 9)
    case, error = (
        "5 queries and 3 keys of width 9",
        "Exchange the last two axes of the keys before @",
    )
    found = result_of(lambda: attention_scores(Tensor(q), Tensor(k)), case, error)
    wanted = [[float((a * b).sum()) / 3 for b in k] for a in q]
    cause = "Row i holds the scores of query i; the factor is 1 / sqrt(9)"
    close(found, wanted, f"the scores of {case}", cause)
    q, k = normal(5, 4, 4), normal(6, 4, 4)
    case, cause = "the scores of 4 queries and 4 keys of width 4", "Exchange the keys' axes"
    close(attention_scores(Tensor(q), Tensor(k)), q @ k.T / 2, case, cause)


def test_scores_of_many_heads():
    q, k = normal(3, 2, 3, 4, 16), normal(4, 2, 3, 5, 16)
    case, error = (
        "queries (2, 3, 4, 16) and keys (2, 3, 5, 16)",
        "Exchange the last two axes only",
    )
    found = result_of(lambda: attention_scores(Tensor(q), Tensor(k)), case, error)
    wanted = np.einsum("bhid,bhjd->bhij", q, k) / 4
    close(found, wanted, f"the scores of {case}", "The factor is 1 / sqrt(16)")


def test_scores_propagate_gradients():
    expect_gradients(attention_scores, [normal(5, 2, 3), normal(6, 4, 3)], "scores")


# %% scores hidden points=1
def test_other_scores():
    for shape, keys in [((1, 1), 1), ((6, 2), 1), ((2, 1, 3, 7), 5)]:
        q, k = normal(7, *shape), normal(8, *shape[:-2], keys, shape[-1])
        yield attention_scores(query=Tensor(q), key=Tensor(k))
        for scale in (0.0, 1.5):
            yield attention_scores(Tensor(q), Tensor(k), scale)
    q = normal(9, 2, 3, dtype="float32")
    yield attention_scores(Tensor(q), Tensor(np.ones((1, 3), "f4")))


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
        "True means that the query may look. Row i is query i, column j is key j"
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
        cause = "the last query sees all keys, so the mask is aligned at the end"
        case = f"causal_mask({queries}, {keys})"
        expect(found, lower(queries, keys), case, cause, dtype="bool")


# %% causal-mask hidden points=1
def test_other_causal_masks():
    for queries, keys in [(1, 1), (1, 9), (4, 4), (3, 4), (7, 30), (2, 3)]:
        yield causal_mask(queries=queries, keys=keys)


# %% masked-softmax points=7
def test_without_a_mask_it_is_softmax():
    x = [[0.0, math.log(3.0)], [2.0, 2.0]]
    found = result_of(lambda: masked_softmax(Tensor(x)), "no mask")
    case = "the weights of the scores [[0, log 3], [2, 2]] without a mask"
    cause = "Each row sums to 1: the sum is over the keys, the last axis"
    close(found, [[0.25, 0.75], [0.5, 0.5]], case, cause, tensor=True)


def test_hidden_keys_get_weight_0_and_the_others_sum_to_1():
    x, mask = Tensor(np.ones((3, 3))), lower(3, 3)
    case = "equal scores with a causal mask"
    found = result_of(lambda: masked_softmax(x, mask), case)
    cause = "The mask must act on the scores, before the softmax"
    close(np.asarray(found.data).sum(-1), np.ones(3), f"{case}: the sums of the rows", cause)
    cause = "Set the score to -inf where the mask is False. If you multiply it by the mask or "
    cause += "add the mask, it stays finite, and a hidden key still gets weight"
    wanted = [[1, 0, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]]
    close(found, wanted, f"{case}: the weights", cause, tensor=True)


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
        cause = ""
        if alike(values, [[1, 0], [0.5, 0.5]], 1e-6, 1e-6):
            cause = ". A large negative number in place of -inf makes the scores of that row "
            cause += "equal, and softmax then gives each hidden key the same weight"
        assert alike(values, [[1, 0], [0, 0]], 1e-6, 1e-6), (
            f"with a {name} mask that hides every key of row 1, the weights should be "
            f"[[1, 0], [0, 0]], yours are {shown(values)}{cause}"
        )


def test_masks_of_numbers_are_added():
    x, mask = normal(11, 2, 3), np.array([0.0, -1.5, -np.inf])
    case = "the weights with the float mask [0, -1.5, -inf]"
    found = result_of(lambda: masked_softmax(Tensor(x), mask), case)
    wanted = weights_by_loops(x + [0, -1.5, 0], [True, True, False])
    cause = "Add a mask of floats to the scores; only a bool mask selects keys"
    close(found, wanted, case, cause)


def test_large_scores_and_hidden_infinities():
    x = np.array([[1000.0, 1000.0, np.inf], [-1000.0, -1001.0, np.nan]])
    case = "the weights of scores of 1000 and -1000, and inf and nan where the mask is False,"
    with np.errstate(over="ignore", invalid="ignore"):
        mask = np.array([True, True, False])
        found = result_of(lambda: masked_softmax(Tensor(x), mask), case)
    first = 1 / (1 + math.exp(-1))
    cause = "Before exp, subtract the largest score of the keys that the mask allows. Use "
    cause += "`where` for the hidden keys: inf or nan times 0 is nan"
    close(found, [[0.5, 0.5, 0], [first, 1 - first, 0]], case, cause)
    found = masked_softmax(Tensor(np.array([[-3e9, 5.0]])), np.array([True, False]))
    cause = "Hide a key by -inf: -1e9 is larger than this score"
    close(found, [[1, 0]], "the weights of -3e9, and 5 where the mask is False,", cause)


def test_masks_broadcast_over_heads():
    x, mask = normal(12, 2, 3, 4, 5), normal(13, 2, 1, 1, 5) > -0.5
    case = "the weights of scores (2, 3, 4, 5) with a mask of shape (2, 1, 1, 5)"
    for given in (mask, Tensor(mask)):
        found = result_of(lambda: masked_softmax(Tensor(x), given), case)
        close(found, weights_by_loops(x, mask), case)


def test_masked_softmax_propagates_gradients():
    mask = np.array([[True, False, True], [True, True, False], [False, False, False]])
    expect_gradients(lambda x: masked_softmax(x, mask), [normal(14, 3, 3)], "a bool mask")
    x, mask = Variable(normal(15, 2, 3)), Variable(normal(16, 2, 3))
    result_of(lambda: masked_softmax(x, mask).backward(normal(17, 2, 3)), "a float mask")
    assert mask.grad is not None, (
        "a float mask that is a Variable gets a gradient, yours gets none: add the mask "
        "itself, and use operand(mask) only to ask for its dtype"
    )
    expect_gradients(masked_softmax, [normal(15, 2, 3), normal(16, 2, 3)], "a float mask")
    x, mask = Variable(normal(18, 2, 2)), Variable([[0.0, -np.inf], [-np.inf, -np.inf]])
    with np.errstate(invalid="ignore", divide="ignore"):
        found = masked_softmax(x, mask)
        found.backward(normal(19, 2, 2))
    cause = "The weights of that row are also nan: give it finite scores before the softmax"
    if not np.isnan(np.asarray(found.data)).any():
        cause = (
            "Removing nan after softmax leaves it in the gradient of the softmax: give such "
        )
        cause += "a row finite scores before the softmax"
    for leaf, name in (x, "scores"), (mask, "mask"):
        case = (
            f"a float mask that hides every key of row 1: row 1 of the gradient of the {name}"
        )
        expect(np.asarray(leaf.grad)[1], [0, 0], case, cause)


# %% masked-softmax hidden points=2
def test_other_masked_rows():
    for shape, seed in [((1, 1), 17), ((2, 3, 4, 6), 18), ((5, 2, 9), 19)]:
        x, mask = normal(seed, *shape) * 20, normal(seed + 50, *shape[-2:]) > 0
        yield masked_softmax(scores=Tensor(x), mask=mask)
        found = np.asarray(masked_softmax(Tensor(x), Tensor(mask)).data)
        yield found
        assert (found[~np.broadcast_to(mask, shape)] == 0).all()
    half = np.array([[3.0, 60000.0, -60000.0]], "float16")
    low = np.array([[-5e4, -6e4, 3.0]], "float32") * 1e4
    for x, mask in [(half, [True, False, False]), (low, [True, True, False])]:
        yield masked_softmax(Tensor(x), np.array(mask))


# %% attention points=6
def test_equal_scores_give_the_mean_of_the_values():
    q, k = Tensor(np.zeros((1, 4))), Tensor(normal(21, 3, 4))
    v = Tensor([[1.0, 10.0], [2.0, 20.0], [6.0, 60.0]])
    case = "for a query of zeros all weights are 1/3: the result"
    found = result_of(lambda: scaled_dot_product_attention(q, k, v), case)
    close(found, [[3, 30]], case, tensor=True)


def test_attention_by_its_definition():
    error = "Weights of shape (Tq, Tk) times values of shape (Tk, e)"
    for shape, keys, width in [((2, 3), 4, 5), ((2, 3, 4, 6), 7, 6), ((3, 5, 2), 5, 2)]:
        q, k = normal(22, *shape), normal(23, *shape[:-2], keys, shape[-1])
        v = normal(24, *shape[:-2], keys, width)
        case, given = f"query {q.shape}, key {k.shape}, value {v.shape}", map(Tensor, (q, k, v))
        found = result_of(lambda: scaled_dot_product_attention(*given), case, error)
        cause = "Scores, softmax over the keys, times values"
        close(found, attended(q, k, v), f"attention of {case}", cause)


def test_masks_and_scale_are_used():
    q, k, v = normal(25, 3, 4), normal(26, 5, 4), normal(27, 5, 2)
    mask = np.array([[1, 0, 1, 1, 0], [0, 0, 0, 1, 0], [1, 1, 1, 1, 1]], bool)
    given, numbers = (Tensor(q), Tensor(k), Tensor(v)), normal(28, 3, 5)
    for case, options, wanted, cause in [
        ("a bool attn_mask", {"attn_mask": mask}, {"allowed": mask}, "True allows the key"),
        (
            "a float attn_mask",
            {"attn_mask": numbers},
            {"added": numbers},
            "Add it to the scores",
        ),
        ("scale=2.0", {"scale": 2.0}, {"scale": 2.0}, "It is the factor of the scores"),
        ("scale=0.0", {"scale": 0.0}, {"scale": 0.0}, "All weights are equal"),
    ]:
        case = f"attention with {case}"
        found = result_of(lambda: scaled_dot_product_attention(*given, **options), case)
        close(found, attended(q, k, v, **wanted), case, cause)
    found = scaled_dot_product_attention(*given, attn_mask=np.zeros((3, 5), bool))
    cause = "It is also a mask: ask whether attn_mask is None"
    close(found, np.zeros((3, 2)), "attention with a mask that hides every key", cause)


def test_is_causal_hides_the_future():
    q, k, v = normal(29, 2, 4, 3), normal(30, 2, 4, 3), normal(31, 2, 4, 5)
    given, case = map(Tensor, (q, k, v)), "attention, is_causal=True with 4 positions"
    found = result_of(lambda: scaled_dot_product_attention(*given, is_causal=True), case)
    cause = "Row 0 is the first value alone, the last row uses all values"
    close(found, attended(q, k, v, lower(4, 4)), case, cause)


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
    shapes = (36, 2, 1, 3, 4), (37, 1, 5, 6, 4), (38, 2, 5, 6, 1)
    q, k, v = (Tensor(normal(*shape)) for shape in shapes)
    mask = normal(39, 5, 1, 6) > -1
    yield scaled_dot_product_attention(query=q, key=k, value=v, attn_mask=mask)
    given = [Tensor(normal(seed, 7, 3)) for seed in (40, 41, 42)]
    yield scaled_dot_product_attention(*given, is_causal=True, scale=0.5)
    yield scaled_dot_product_attention(*given, is_causal=False, scale=0.0)
    mask = np.ones((7, 7), bool)
    call = lambda: scaled_dot_product_attention(*given, mask, 0.0, True)
    refused(call, "attn_mask together with is_causal=True")
    given[0] = given[0][:2]
    call = lambda: scaled_dot_product_attention(*given, is_causal=True)
    refused(call, "is_causal=True with 2 queries and 7 keys", contains=["causal_mask"])


# %% by-hand points=6
def test_hard_lookup_returns_one_value():
    keys = Tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.6, 0.8]])
    values = Tensor([[10.0, 1.0], [20.0, 2.0], [40.0, 4.0], [80.0, 8.0]])
    error = "Attention takes rows of queries: this is one query, of shape (d,)"
    cause = "A mixture means that the scale is too small; return one value, of shape (e,)"
    for query, right in [
        ([0.9, 0.1], 0),
        ([-1.0, 0.2], 2),
        ([0.6, 0.8], 3),
        ([0.5, -0.6], 0),
        ([0.45, 0.1], 0),  # 0.45, 0.1, -0.45 and 0.35: 0.1 larger than the next one
    ]:
        case = f"the query {query} fits key {right} best: hard_lookup"
        found = result_of(lambda: hard_lookup(keys, values, Tensor(query)), case, error)
        close(found, np.asarray(values.data)[right], case, cause, near=1e-5, tensor=True)


def test_a_running_mean_uses_the_past_only():
    x = [[2.0, 1.0], [4.0, 0.0], [9.0, 5.0], [1.0, 2.0]]
    error = "Queries and keys of equal numbers give equal scores"
    found = result_of(lambda: running_mean(Tensor(x)), "running_mean", error)
    case = "running_mean of the rows [2, 1], [4, 0], [9, 5], [1, 2]"
    cause = "All scores equal, is_causal=True, and the rows as values"
    close(found, [[2, 1], [3, 0.5], [5, 2], [4, 2]], case, cause, tensor=True)
    batch = normal(44, 2, 3, 2)
    found = result_of(lambda: running_mean(Tensor(batch)), "running_mean of shape (2, 3, 2)")
    wanted = np.cumsum(batch, axis=1) / np.array([[1], [2], [3]])
    close(found, wanted, "running_mean of shape (2, 3, 2)")


def test_counts_up_to_each_position():
    case = "running_counts of [2, 0, 2, 2]"
    found = result_of(lambda: running_counts(np.array([2, 0, 2, 2]), 4), case)
    cause = "The running mean of one-hot rows is the share of each token. Multiply it by the "
    cause += "number of rows so far, 1, 2, 3, ..., to get the count"
    wanted = [[0, 0, 1, 0], [1, 0, 1, 0], [1, 0, 2, 0], [1, 0, 3, 0]]
    close(found, wanted, case, cause, near=1e-4, tensor=True)
    equal(found.dtype.name, "float32", "the dtype of the counts")


# %% by-hand hidden points=1
def test_other_lookups_means_and_counts():
    values = Tensor(normal(43, 6, 3))
    for n in range(6):
        query = Tensor(np.where(np.arange(6) == n, 0.3, 0.15))
        close(hard_lookup(Tensor(np.eye(6)), values, query), values.data[n], f"{n}", near=1e-3)
    x = normal(44, 2, 5, 3)
    yield running_mean(Tensor(x))
    yield running_mean(Tensor(x.astype("float32")))
    expect_gradients(running_mean, [x], "running_mean")
    yield running_counts(np.random.default_rng(45).integers(0, 5, 20), 5)
    yield running_counts(ids=np.array([0]), vocab_size=1)


# %% sinusoidal points=4
def test_encodings_by_hand():
    error = "Write 10000.0, a float: NumPy has no negative powers of integers such as 10000"
    found = np.asarray(result_of(lambda: sinusoidal(3, 4), "sinusoidal(3, 4)", error))
    equal(found.shape, (3, 4), "the shape of sinusoidal(3, 4)")
    close(
        found[0], [0, 1, 0, 1], "position 0", "Sines and cosines alternate: sin 0, cos 0, ..."
    )
    for t, cause in [(1, "The frequencies are 10000 ** (-2 i / D): 1 and 0.01"), (2, "")]:
        wanted = [math.sin(t), math.cos(t), math.sin(t / 100), math.cos(t / 100)]
        close(found[t], wanted, f"position {t} with D = 4", cause)
    far = np.asarray(sinusoidal(2051, 2))[2049:]
    wanted = [[math.sin(t), math.cos(t)] for t in (2049, 2050)]
    close(far, wanted, "positions 2049 and 2050 with D = 2", "angles need float64", near=1e-4)
    assert found.dtype == np.float32, (
        f"sinusoidal should give float32, yours gives {found.dtype}"
    )


def test_an_odd_width_ends_with_a_sine():
    error = "With an odd width, there is one cosine fewer than sines"
    found = np.asarray(result_of(lambda: sinusoidal(2, 3), "sinusoidal(2, 3)", error))
    wanted = [[math.sin(1), math.cos(1), math.sin(10000 ** (-2 / 3))]]
    close(found[1:], wanted, "position 1 with D = 3")


# %% sinusoidal hidden points=1
def test_other_encodings():
    for T, D in [(1, 1), (5, 2), (100, 7), (64, 16)]:
        yield sinusoidal(T=T, D=D)


# %% learned points=3
def test_each_position_gets_its_row():
    layer = LearnedPositions(5, 2, rng=0)
    rows = np.array(layer.weight.data)
    assert rows.shape == (5, 2) and rows.std() > 0, "the weight should be random at first"
    x, case = normal(101, 3, 4, 2, dtype="float32"), "4 positions of a context of 5"
    found = result_of(lambda: layer(Tensor(x.copy())), case)
    case += ": row t of the weight is added at position t: the result"
    close(found, x + rows[:4], case, tensor=True)
    x, case = normal(102, 1, 5, 2, dtype="float32"), "5 positions of a context of 5: the result"
    close(result_of(lambda: layer(Tensor(x)), case), x + rows, case)


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
    case = "a batch of 3 with 2 positions: the gradient of the table"
    close(layer.weight.grad, [[3, 3], [3, 3], [0, 0], [0, 0]], case)
    assert x.grad is not None, "the input gets no gradient: add to x, not to x.data"


# %% learned hidden points=1
def test_other_contexts():
    for context, width, T in [(1, 1, 1), (6, 3, 6), (9, 4, 2), (4, 2, 1)]:
        layer = LearnedPositions(context, width, rng=7)
        yield layer(Tensor(normal(102, 2, T, width, dtype="float32")))


# %% rope points=5
def test_pairs_of_neighbours_are_rotated():
    first = "(1, 0) is rotated by 1 radian to (0.54, 0.84). Pairs are neighbours, (x0, x1), "
    first += "(x2, x3), and turn from the first axis toward the second"
    second = "The second pair of 4 numbers turns by 7 * 10000 ** (-2 / 4)"
    for x, position, wanted, cause in [
        ([1, 0, 0, 0], 1, [math.cos(1), math.sin(1), 0, 0], first),
        ([0, 0, 1, 0], 7, [0, 0, math.cos(0.07), math.sin(0.07)], second),
    ]:
        case = f"rope of {x} at position {position}"
        call = lambda: rope(Tensor(np.array([x], "float64")), np.array([position]))
        close(result_of(call, case), [wanted], case, cause, tensor=True)


def test_position_0_changes_nothing_and_lengths_stay():
    x, case = normal(111, 2, 3, 5, 8), "rope of x of shape (2, 3, 5, 8)"
    found = result_of(lambda: rope(Tensor(x), np.arange(5)), case)
    cause = "Pairs are neighbours, (x0, x1), (x2, x3), in x and in the result"
    close(found, rotated(x, np.arange(5)), case, cause, tensor=True)
    values = np.asarray(found.data)
    close(values[..., 0, :], x[..., 0, :], "position 0, which rotates by nothing,")
    lengths = (values**2).sum(-1)
    close(lengths, (x**2).sum(-1), "a rotation keeps lengths: the squared lengths")


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
    x, case = normal(114, 3, 6), "rope with base=100.0 at the positions 4, 9 and 2"
    found = result_of(lambda: rope(Tensor(x), np.array([4, 9, 2]), base=100.0), case)
    causes = {"`base` has no effect: the speeds are those of 10000": rotated(x, [4, 9, 2])}
    close(found, rotated(x, [4, 9, 2], 100.0), case, causes)


def test_rope_propagates_gradients_and_keeps_float32():
    expect_gradients(lambda x: rope(x, np.array([3, 8])), [normal(115, 2, 4)], "rope")
    x = normal(116, 2, 4, dtype="float32")
    found = rope(Tensor(x), np.array([3, 8]))
    close(found, rotated(x, [3, 8]), "rope of float32 at the positions 3 and 8", near=1e-5)
    assert found.dtype.name == "float32", (
        f"rope of float32 gives {found.dtype}: NumPy's sines and cosines of positions are "
        "float64"
    )


# %% rope hidden points=1
def test_other_rotations():
    for shape, base in [((1, 2), 10000.0), ((3, 4, 10), 10.0), ((2, 2, 6, 4), 500.0)]:
        positions = np.random.default_rng(1).integers(0, 300, shape[-2])
        yield rope(x=Tensor(normal(118, *shape)), positions=positions, base=base)
    x = Tensor(np.zeros((2, 5)))
    refused(lambda: rope(x, np.arange(2)), "a width of 5", contains=["5"])


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
    close(found, heads_of(x, 2), "the 2 heads", tensor=True)


def test_a_batch_of_three_heads():
    x = normal(51, 2, 5, 12)
    case = "x of shape (2, 5, 12) with 3 heads"
    expect(result_of(lambda: split_heads(Tensor(x), 3), case), heads_of(x, 3), case)


def test_merging_is_the_inverse_of_splitting():
    x, case = normal(52, 2, 4, 6), "merging 3 heads of x (2, 4, 6): the result"
    found = result_of(lambda: merge_heads(Tensor(heads_of(x, 3))), case)
    cause = "Exchange the axes back before you reshape: a reshape alone keeps all numbers of "
    close(found, x, case, cause + "head 0 in front", tensor=True)


def test_heads_propagate_gradients():
    for call, shape, wanted in [
        (lambda x: split_heads(x, 2), (2, 3, 4), (2, 2, 3, 2)),
        (merge_heads, (2, 3, 4, 5), (2, 4, 15)),
    ]:
        x = normal(53, *shape)
        equal(np.shape(call(Tensor(x))), wanted, f"from {shape}, the shape")
        expect_gradients(call, [x], "heads")


# %% heads hidden points=1
def test_other_heads():
    for shape, heads in [((1, 1, 1), 1), ((3, 2, 8), 4), ((2, 7, 6), 6), ((4, 4, 4), 2)]:
        found = split_heads(x=Tensor(normal(54, *shape)), heads=heads)
        yield found
        yield merge_heads(found)


# %% forward points=5
def test_weights_of_the_last_queries():
    q, k = normal(59, 2, 3, 4), normal(60, 2, 5, 4)
    cause = "The softmax is over the keys, the last axis"
    for causal in (False, True):
        case = f"weights_forward of q (2, 3, 4) and k (2, 5, 4), causal={causal}: the weights"
        found = changes_nothing(lambda: weights_forward(q, k, causal), [q, k], case)
        scores, allowed = np.einsum("bid,bjd->bij", q, k) / 2, lower(3, 5) if causal else True
        wanted = weights_by_loops(scores, allowed)
        sums = np.asarray(found).sum(-1)
        expect(sums, np.ones((2, 3)), case + " summed over the keys", cause, near=1e-6)
        causes = {
            "The scores are not divided by sqrt(4)": weights_by_loops(2 * scores, allowed),
            "The mask is missing": weights_by_loops(scores, True),
            "The mask is causal_mask(3, 5)": weights_by_loops(scores, np.tri(3, 5)),
        }
        close(found, wanted, case, causes)


def test_one_operation_equals_the_definition():
    for heads, width, length in [(1, 3, 4), (2, 8, 5), (3, 6, 3)]:
        qkv = normal(61, 2, length, 3 * width)
        for causal in (False, True):
            allowed = lower(length, length) if causal else True
            case = f"qkv {qkv.shape}, num_heads={heads}, causal={causal}: the output"
            found, _, _ = result_of(lambda: forward_of(qkv, heads, causal), case)
            parts = parts_of(qkv, heads)
            out = attended(*parts, allowed)
            causes = {
                "The scale is that of one head, 1 / sqrt(d), not of D": joined(
                    attended(*parts, allowed, scale=1 / math.sqrt(width))
                ),
                "Exchange the axes of heads and positions before the reshape": out.reshape(
                    2, length, width
                ),
                "The mask is missing": joined(attended(*parts)),
            }
            close(found, joined(out), case, causes)


def test_the_weights_are_saved_for_the_rule():
    qkv = normal(62, 2, 4, 12)
    q, k, _ = parts_of(qkv, 2)
    _, weights, _ = forward_of(qkv, 2, True)
    assert weights is not None, 'saved["weights"] is missing: the rule needs the weights'
    close(weights, weights_of(q, k, lower(4, 4)), 'saved["weights"]')


def test_qkv_is_not_changed():
    qkv = normal(63, 1, 3, 6)
    found, _, after = forward_of(qkv, 1, True)
    assert np.array_equal(np.asarray(after), qkv), (
        "attention_forward changed qkv: q, k and v are views of it, and *= writes into them"
    )
    wanted = attended(*np.split(qkv, 3, axis=-1), lower(3, 3))
    close(found, wanted, "the output for qkv of shape (1, 3, 6) with one head, causal,")


def test_large_scores_do_not_overflow():
    qkv = np.ones((1, 3, 3), "float32") * 30
    with np.errstate(over="ignore", invalid="ignore"):
        found, _, _ = forward_of(qkv, 1, False)
    cause = "Subtract the largest score of the row"
    close(found, np.full((1, 3, 1), 30), "the output for scores of 900", cause)
    weights = weights_forward(np.array([[0.0, 0], [2000, 0]]), np.eye(2), False)
    case = "the weights of two queries, with the scores [0, 0] and [1414, 0]"
    close(weights, [[0.5, 0.5], [1, 0]], case, "each row has its own largest score")
    low = weights_forward(np.array([[-3e6], [1.0]]), np.array([[1e6], [1.0]]), True)
    case = "causal weights for scores of -3e12 and smaller: the first query sees one key, which"
    close(low, [[1, 0], [1, 0]], f"{case} gets 1", "what is hidden has the score -inf")
    small = weights_forward(np.ones((2, 2), "float32"), np.ones((2, 2), "float32"), True)
    expect(small, [[1, 0], [0.5, 0.5]], "causal weights of float32", near=1e-6, dtype="float32")
    assert found.dtype.name == "float32", f"float32 became {found.dtype}"


# %% forward hidden points=2
def test_other_forward_passes():
    for shape, heads in [((1, 1, 3), 1), ((3, 6, 24), 4), ((2, 9, 30), 5)]:
        for dtype in ("float64", "float32"):
            qkv = (normal(64, *shape) * 3).astype(dtype)
            for causal in (False, True):
                yield from forward_of(qkv, heads, causal)[:2]


# %% rule points=8
def test_softmax_rule_by_hand():
    case = "softmax_rule of g = [1, 0, 0] and weights [0.5, 0.25, 0.25]"
    g, weights = np.array([1.0, 0.0, 0.0]), np.array([0.5, 0.25, 0.25])
    found = result_of(lambda: softmax_rule(g, weights), case)
    causes = {
        "A score also changes the sum that all weights of its row are divided by": g * weights,
        "Subtract the mean of g with these weights, not its sum": weights * (g - 1),
        "The mean of g is weighted: subtract the sum of g * weights": weights * (g - g.mean()),
        "This is the rule of the sigmoid, for each score alone": g * weights * (1 - weights),
    }
    close(found, [0.25, -0.125, -0.125], case, causes)


def test_gradients_of_scores_sum_to_0():
    weights, g = weights_by_loops(normal(71, 2, 3, 4), True), normal(72, 2, 3, 4)
    call, case = lambda: softmax_rule(g, weights), "softmax_rule"
    found = np.asarray(changes_nothing(call, [g, weights], case))
    equal(found.shape, g.shape, f"the shape of {case}")
    sums, cause, product = found.sum(axis=-1), "", g * weights
    if any(
        alike(found, product - weights * product.sum(n, keepdims=True), 1e-6, 1e-6)
        for n in (0, 1)
    ):
        cause = ". The row term is a sum over the last axis"
    assert np.allclose(sums, 0), (
        "a constant added to the scores of a row changes no weight, so each row of the "
        f"gradient should sum to 0, the first of yours sums to {sums.ravel()[0]:.4f}{cause}"
    )
    softmax_of = lambda scores: weights_by_loops(scores, True)
    wanted = gradient_by_differences(softmax_of, np.log(weights), g, 1e-6)
    close(found, wanted, "softmax_rule of random numbers, by central differences,")


def test_gradients_of_queries_keys_and_values():
    for heads, causal in [(1, False), (2, True), (3, True)]:
        width, allowed = 5 * heads, lower(4, 4) if causal else True
        qkv, g = normal(73, 2, 4, 3 * width), normal(74, 2, 4, width)
        q, k, _ = parts_of(qkv, heads)
        weights, case = weights_of(q, k, allowed), f"num_heads={heads}, causal={causal}"
        found, after = result_of(lambda: rule_of(g, qkv, heads, causal, weights), case)
        assert np.shape(found) == qkv.shape, (
            f"{case}: the gradient should have the shape of qkv, {qkv.shape}, yours has "
            f"{np.shape(found)}"
        )
        found = np.asarray(found)
        for name, part in zip("qkv", np.split(found, 3, axis=-1)):
            assert not np.isnan(part).all(), (
                f"{case}: the part of `gradient` for {name} is still nan, so nothing was "
                f"written into it. `d{name}[...] = ...` writes into it; `d{name} = ...` makes "
                "another array and leaves `gradient` as it was"
            )
        row = np.asarray(softmax_rule(np.array([2.0, 0.0]), np.array([0.75, 0.25])))
        first = (
            "" if np.allclose(row, [0.375, -0.375]) else "softmax_rule is wrong: begin there"
        )
        for name, cause, start in [
            ("v", "dv is the transposed weights times g", 2 * width),
            ("q", first, 0),
            (
                "k",
                first or "dk is the transposed gradient of the scores, times q / sqrt(d)",
                width,
            ),
        ]:
            for seed in (75, 76):
                direction = np.zeros_like(qkv)
                direction[..., start : start + width] = normal(seed, 2, 4, width)
                ends = [
                    joined(attended(*parts_of(qkv + h * direction, heads), allowed))
                    for h in (-1e-5, 1e-5)
                ]
                along = f"{case}: the gradient along a random direction of {name}"
                wanted = ((ends[1] - ends[0]) * g).sum() / 2e-5
                factor = {"dq also needs the factor 1 / sqrt(d)": wanted * math.sqrt(5)}
                likely = cause or factor
                expect((found * direction).sum(), wanted, along, likely, near=(0, 1e-5))
        for array, given, name in zip(after, (g, qkv, weights), ("g", "qkv", "the weights")):
            assert np.array_equal(np.asarray(array), given), (
                f"{case}: attention_rule changed {name}, which others use"
            )


def test_the_rule_keeps_float32():
    qkv, g = normal(77, 1, 3, 6, dtype="float32"), normal(78, 1, 3, 2, dtype="float32")
    weights = np.full((1, 1, 3, 3), 1 / 3, "float32")
    found, _ = rule_of(g, qkv, 1, False, weights)
    equal(found.dtype.name, "float32", "attention_rule: the dtype for float32")
    found, case = softmax_rule(weights, weights), "softmax_rule of equal weights and gradients"
    expect(found, np.zeros((1, 1, 3, 3)), case, near=1e-6, dtype="float32")


# %% rule hidden points=2
def test_other_gradients():
    for shape, heads, causal in [
        ((1, 1, 3), 1, True),
        ((3, 5, 24), 4, False),
        ((2, 3, 18), 2, True),
    ]:
        qkv, g = normal(79, *shape), normal(80, *shape[:2], shape[2] // 3)
        q, k, v = parts_of(qkv, heads)
        weights = weights_of(q, k, lower(shape[1], shape[1]) if causal else True)
        yield softmax_rule(heads_of(g, heads) @ v.swapaxes(-1, -2), weights)
        yield rule_of(g, qkv, heads, causal, weights)[0]


# %% multi-head points=10
def test_project_splits_the_columns_of_qkv():
    layer, (w, b, _, _) = layer_of(6, 3)
    x, case = normal(81, 2, 4, 6), "project of x (2, 4, 6) with 3 heads"
    parts = result_of(lambda: [*layer.project(Tensor(x))], case)
    assert len(parts) == 3, f"{case} should return q, k and v, yours returns {len(parts)} parts"
    cause = "The first D columns of qkv are q, the next k, the last v; each begins with head 0"
    for name, part, wanted in zip("qkv", parts, parts_of(x @ w + b, 3)):
        close(part, wanted, f"{name} of {case}", cause, tensor=True)


def test_a_mask_in_the_layer():
    for causal in (False, True):
        layer, (w, b, w2, b2) = layer_of(8, 2, causal=causal)
        x, mask = normal(82, 3, 5, 8), normal(83, 3, 1, 5, 5) > -0.7
        name = f"MultiHeadAttention(8, 2, causal={causal})"
        case = f"{name} with a bool mask of shape {mask.shape}: the output"
        error = "self.combined_mask(T, attn_mask) combines both masks, of bool or of floats"
        found = result_of(lambda: layer(Tensor(x), mask), case, error)
        parts, allowed = (
            parts_of(x @ w + b, 2),
            lower(5, 5) if causal else np.ones((5, 5), bool),
        )
        cause = "Attention with both masks, merge_heads, then self.out"
        cause += ". Is the mask self.combined_mask(T, attn_mask)?" * causal
        wanted = joined(attended(*parts, mask & allowed)) @ w2 + b2
        close(found, wanted, case, cause, tensor=True)
        case = f"{name} without an attn_mask: the output"
        wanted = joined(attended(*parts, allowed)) @ w2 + b2
        close(result_of(lambda: layer(Tensor(x)), case), wanted, case, cause, tensor=True)
        numbers, case = normal(84, 5, 5), f"{name} with a float mask: the output"
        wanted = joined(attended(*parts, allowed, numbers)) @ w2 + b2
        close(result_of(lambda: layer(Tensor(x), numbers), case), wanted, case)


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
    close(layer(x), plain(x).data, "dropout=0.5 in evaluation mode is no dropout: the output")


def test_both_paths_of_forward_agree():
    layer, _ = layer_of(6, 2, causal=True, fused=True)
    x, everything = normal(86, 2, 4, 6), np.ones((4, 4), bool)
    case = "with fused=True, the output with a mask that hides nothing, as without a mask,"
    found = result_of(lambda: layer(Tensor(x), everything), case)
    close(found, layer(Tensor(x)).data, case)
    expect_gradients(lambda x: layer(x, everything), [x], "the layer with a mask")
    layer.zero_grad()
    layer(Tensor(x), everything).sum().backward()
    for name, tensor in layer.named_parameters():
        assert tensor.grad is not None, f"{name} gets no gradient"


def test_the_layer_rotates_queries_and_keys():
    layer, (w, b, w2, b2) = layer_of(8, 2, rotary=True, causal=True)
    x = normal(117, 2, 5, 8)
    q, k, v = parts_of(x @ w + b, 2)
    positions = np.array([9, 3, 4, 5, 60])
    cause = "rope after split_heads, on q and k only, at the given positions"
    for name, given, at in [
        ("no positions", (), np.arange(5)),
        ("some", (positions,), positions),
        ("only zeros", (0 * positions,), 0 * positions),
    ]:
        case = f"a layer with rotary=True, {name} given"
        error = "When positions is None, they are 0, 1, ..., T - 1" * (not given)
        parts = result_of(lambda: [*layer.project(Tensor(x), *given)], case, error)
        for part, wanted, letter in zip(parts, (rotated(q, at), rotated(k, at), v), "qkv"):
            close(part, wanted, f"{letter} of {case}", cause)
    out = attended(rotated(q, np.arange(5)), rotated(k, np.arange(5)), v, lower(5, 5))
    case = "the output of a layer with rotary=True and causal=True, without attn_mask,"
    cause = "`project` is right, so look at the mask: self.combined_mask(T, attn_mask) "
    cause += "also returns the causal mask when attn_mask is None"
    found = result_of(lambda: layer(Tensor(x)), case)
    close(found, joined(out) @ w2 + b2, case, cause)


# %% multi-head hidden points=2
def test_other_layers():
    for dim, heads, bias in [(4, 1, False), (12, 4, True), (6, 6, True)]:
        layer, _ = layer_of(dim, heads, bias=bias, seed=5)
        x, mask = Tensor(normal(87, 2, 3, dim)), normal(88, 2, heads, 3, 3) > -1
        yield layer(x=x, attn_mask=mask)
        yield from layer.project(x)


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
        f"lengths 3, 1 and 4 of 4 keys: the mask should be {wanted.astype(int).tolist()}, "
        f"yours is {found[:, 0, 0].astype(int).tolist()}. True means that the key belongs to "
        "the sequence"
    )
    found = np.asarray(padding_mask([3, 1, 2], 3)).reshape(3, 3).astype(int).tolist()
    wanted = [[1, 1, 1], [1, 0, 0], [1, 1, 0]]
    equal(found, wanted, "padding_mask([3, 1, 2], 3)", "row b is the mask of sequence b")


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
        yield padding_mask(lengths=given, keys=7)


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
    cause = "When the maximum rises from m to n, both sums so far are multiplied by "
    cause += "exp(m - n); divide once, at the end; the last block may be shorter"
    for block in (7, 3, 1, 2, 100):
        case = f"attention of 7 keys in blocks of {block}"
        found = result_of(lambda: chunked_attention(q, k, v, block), case)
        close(found, attended(q, k, v), case, cause, tensor=True)


def test_chunks_with_a_causal_mask():
    usual = "The queries are the last positions; sums are rescaled when the maximum rises; a "
    usual += "query with nothing to see gives 0"
    not_a_number = "-inf - -inf and 0 / 0 are nan: a block with nothing to see must not give "
    not_a_number += "nan, and a query with nothing to see gives 0"
    for Tq, Tk in [(5, 5), (2, 6), (4, 2)]:
        q, k, v = normal(124, Tq, 4), normal(125, Tk, 4), normal(126, Tk, 3)
        for block in (2, 3, 10):
            case = f"{Tq} queries, {Tk} keys, blocks of {block}, is_causal=True: the result"
            with np.errstate(invalid="ignore", divide="ignore"):
                found = result_of(lambda: chunked_attention(q, k, v, block, True), case)
            cause = not_a_number if np.isnan(getattr(found, "data", 0.0)).any() else usual
            close(found, attended(q, k, v, lower(Tq, Tk)), case, cause)


def test_large_scores_in_chunks():
    q, k = np.full((1, 1), 100.0), np.array([[1.0], [9.0], [9.0], [2.0]])
    with np.errstate(over="ignore", invalid="ignore"):
        found = chunked_attention(q, k, np.array([[1.0], [2.0], [6.0], [3.0]]), 2)
    cause = "Subtract the running maximum before exp"
    close(found, [[4.0]], "the result for scores of 100 and 900", cause)
    q, values = np.array([[0.0], [2000.0]]), np.array([[1.0], [3.0]])
    with np.errstate(invalid="ignore", divide="ignore"):
        found = chunked_attention(q, np.array([[1.0], [0.0]]), values, 1)
    case = "the result of two queries, one with scores of 0 and one with a score of 2000,"
    close(found, [[2], [1]], case, "each query has its own running maximum")
    x, before = Variable(np.ones((3, 2))), np.ones((3, 2))
    found = chunked_attention(x, x, x, 2)
    assert not found.requires_grad, "chunked_attention should record nothing: use the arrays"
    expect(x.data, before, "after chunked_attention, the input")


def test_chunks_need_no_array_of_all_queries_and_keys():
    q, k, v = (normal(131 + n, T, 2, dtype="f4") for n, T in enumerate([64, 16384, 16384]))
    for causal in (False, True):
        case = f"64 queries, 16384 keys, blocks of 256, is_causal={causal}"
        found, peak = result_of(lambda: measured_chunks(q, k, v, 256, causal), case)
        allowed = np.tri(64, 16384, 16320, dtype=bool) if causal else True
        close(found, attended(q, k, v, allowed), f"{case}: the result", near=1e-4)
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
            yield chunked_attention(*map(Tensor, (q, k, v)), block=block, is_causal=causal)
    x = normal(130, 4, 2, dtype="float32")
    yield chunked_attention(x, x, x, 2, is_causal=True)
