# The checks of lesson 13, by exercise. `check("windows")` in the chapter runs the visible ones.

# %% setup
import math

import numpy as np

from checking import equal, expect, gradient_by_differences, refusal, result_of
from tinytorch.core.tensor import Tensor, Variable


def close(found, wanted, case, cause="", near=1e-6):
    """`expect` for results of floating-point arithmetic."""
    expect(found, wanted, case, cause, near)


def new_states(p, ids, h):
    """The states of a RecurrentModel with parameters `p` after each token, one by one."""
    for step in np.transpose(ids):
        h = np.tanh(p["embedding.weight"][step] @ p["w"] + h @ p["u"] + p["b"])
        yield h


def logits_of(p, joined):
    """The logits of a WindowModel with parameters `p`, from the joined vectors."""
    hidden = np.tanh(joined @ p["hidden.weights"] + p["hidden.bias"])
    return hidden @ p["head.weights"] + p["head.bias"]


def softmax_of(logits):
    """The probabilities that a model returns which applies softmax to its logits."""
    powers = np.exp(logits)
    return powers / powers.sum(axis=-1, keepdims=True)


NO_SOFTMAX = "No softmax: the loss takes logits, and yours are probabilities"
SAME_LENGTH = "p[k:] and the three arrays of look_up(ids) should have the same length"


# %% learner-side
def texts_sampled(P, start, stop, seed, count):
    """Texts that sample_bigram draws with one generator, as lists of int."""
    rng, texts = np.random.default_rng(seed), []
    for _ in range(count):
        text = sample_bigram(np.array(P), start, stop, rng)
        if not isinstance(text, list):
            raise ValueError(f"sample_bigram should return a list, yours returns {text!r:.60}")
        texts.append([int(id) for id in text])
    return texts


def gradient_and_inputs(g, weight, ids):
    """What embedding_gradient returns, and its inputs afterwards."""
    g, weight, ids = np.array(g), np.array(weight), np.array(ids)
    return np.asarray(embedding_gradient(g, None, weight, ids)), g, weight, ids


def tables_after_manual_seed():
    """The tables of two layers after manual_seed(1), again, and after manual_seed(2)."""
    from tinytorch.core.layers import manual_seed

    tables = []
    for seed in (1, 1, 2):
        manual_seed(seed)
        tables.append([np.array(Embedding(6, 4).weight.data) for _ in range(2)])
    return tables


def table_of(seed):
    """The table of a layer that was given a generator with this seed."""
    return np.array(Embedding(6, 4, rng=np.random.default_rng(seed)).weight.data)


def gradients_of_layer(ids, g):
    """The gradient of the table of an Embedding(5, 2) after a backward pass, or None."""
    layer = Embedding(5, 2)
    out = layer(ids)
    if out.requires_grad:
        out.backward(np.array(g, np.float32))
    return layer.weight.grad


def parameters_of(model):
    """{name: array} of the parameters of a model, in float64."""
    return {name: np.array(p.data, np.float64) for name, p in model.named_parameters()}


def missing_gradients(model, ids):
    """The names of the parameters that get no gradient from a weighted sum of the logits."""
    out = model(ids)
    out = out[0] if isinstance(out, tuple) else out
    if out.requires_grad:
        weights = np.random.default_rng(0).normal(size=out.shape).astype(np.float32)
        out.backward(weights)
    return [
        name for name, p in model.named_parameters() if p.grad is None or not np.any(p.grad)
    ]


def with_random_weights(model, seed):
    """The model, with all parameters drawn anew, none of them 0."""
    rng = np.random.default_rng(seed)
    for p in model.parameters():
        p.data[...] = rng.normal(0, 0.6, p.shape)
    return model


def gradient_at_the_first_token(model, ids):
    """The gradient of the logits at the last step for the vector of the first token."""
    logits, _ = model(ids)
    last = logits[:, -1]
    weights = np.random.default_rng(1).normal(size=last.shape).astype(np.float32)
    if last.requires_grad:
        last.backward(weights)
    found = model.embedding.weight.grad
    return None if found is None else np.array(found[ids[0][0]])


# %% bigram-counts points=3
def test_the_row_is_the_token_before():
    got = bigram_counts([0, 1, 1, 2, 0, 2], 3)
    case = "the counts of 0 1 1 2 0 2, with counts[0, 1] = 1 for the pair (0, 1),"
    turned = [[0, 0, 1], [1, 1, 0], [1, 1, 0]]
    causes = {
        "The row is the token before, the column the token after": turned,
        "The last token has no token after it": [[0, 1, 1], [0, 1, 1], [2, 0, 0]],
    }
    expect(got, [[0, 1, 1], [0, 1, 1], [1, 0, 0]], case, causes)


def test_a_pair_that_repeats_counts_each_time():
    cause = "Every occurrence counts: counts[a, b] += 1 with arrays a and b adds only once"
    for ids, wanted in [
        ([2, 2, 2, 2], [[0, 0, 0], [0, 0, 0], [0, 0, 3]]),
        ([1, 0, 1, 0, 1, 0], [[0, 2, 0], [3, 0, 0], [0, 0, 0]]),
    ]:
        expect(bigram_counts(ids, 3), wanted, f"the counts of {ids}", cause)


def test_counts_are_an_int64_table_of_the_vocabulary():
    for ids, size in [([0, 1], 4), ([3], 4), ([], 2)]:
        got = np.asarray(
            result_of(lambda: bigram_counts(ids, size), f"{ids}", "No pair: all counts are 0")
        )
        assert got.shape == (size, size) and got.dtype == np.int64, (
            f"ids {ids}, vocabulary of {size}: the counts should be int64 of shape "
            f"({size}, {size}), yours are {got.dtype} of shape {got.shape}"
        )
        cause = "the last token has no token after it"
        equal(int(got.sum()), max(0, len(ids) - 1), f"the count of all pairs of {ids}", cause)


# %% bigram-counts hidden points=1
def test_other_counts():
    rng = np.random.default_rng(2)
    for size, n in [(5, 300), (3, 2), (40, 500)]:
        yield bigram_counts(rng.integers(0, size, n), size)


# %% probabilities points=4
def test_each_row_is_divided_by_its_sum():
    got = probabilities(np.array([[0, 3, 1], [1, 0, 1], [2, 2, 0]]), smoothing=0)
    case = "the probabilities for [[0, 3, 1], [1, 0, 1], [2, 2, 0]] without smoothing"
    cause = "Each row is divided by its own sum; keepdims=True keeps the sums as a column"
    close(got, [[0, 0.75, 0.25], [0.5, 0, 0.5], [0.5, 0.5, 0]], case, cause)


def test_smoothing_is_added_before_dividing():
    counts = np.array([[0, 3, 1], [0, 0, 0], [2, 2, 2]])
    cause = "`counts += smoothing` writes into the caller's array; make a new array"
    got = result_of(lambda: probabilities(counts), "counts of dtype int64", cause)
    third = [1 / 3, 1 / 3, 1 / 3]
    case = "the probabilities for [[0, 3, 1], [0, 0, 0], [2, 2, 2]] with smoothing 1"
    cause = "The smoothing is added to every count, then rows are divided by their new sums"
    close(got, [[1 / 7, 4 / 7, 2 / 7], third, third], case, cause)
    dtype = np.asarray(got).dtype
    assert dtype == np.float64, f"probabilities should be float64, yours are {dtype}"


def test_any_smoothing():
    for smoothing, dtype in [(0.5, "float64"), (10, "float32")]:
        got = probabilities(np.array([[0.0, 2.0], [3.0, 3.0]], dtype), smoothing)
        first = [smoothing / (2 + 2 * smoothing), (2 + smoothing) / (2 + 2 * smoothing)]
        case = f"the probabilities for {dtype} [[0, 2], [3, 3]] with smoothing {smoothing}"
        expect(got, [first, [0.5, 0.5]], case, near=1e-6, dtype="float64")


# %% probabilities hidden points=1
def test_other_probabilities():
    rng = np.random.default_rng(4)
    for size in (2, 5, 27):
        for smoothing in (0.25, 3):
            yield probabilities(rng.integers(0, 9, (size, size)), smoothing)


# %% sample points=3
def test_a_certain_chain_is_followed():
    cause = "The result contains neither the start nor the stop, and each token is drawn from "
    cause += "the row of the token before it"
    for start, stop, wanted in [(1, 0, [2, 3]), (3, 2, [0, 1]), (0, 0, [1, 2, 3]), (3, 0, [])]:
        got = texts_sampled(np.roll(np.eye(4), 1, axis=1), start, stop, 0, 1)[0]
        case = f"token i is always followed by i + 1, and 3 by 0: the text from {start} until "
        equal(got, wanted, case + str(stop), cause)
    P = np.roll(np.eye(302), 1, axis=1)
    got = result_of(lambda: texts_sampled(P, 1, 300, 0, 1)[0], "stop = 300 of 302 tokens")
    case = "stop = 300 of 302 tokens: the length of the text from 1, and its last two tokens,"
    equal([len(got), *got[-2:]], [298, 298, 299], case, "end when token == stop")


def test_tokens_are_drawn_with_their_probabilities():
    P = [[0.1, 0.6, 0.3], [0.6, 0.1, 0.3], [0.55, 0.15, 0.3]]
    texts = texts_sampled(P, 0, 0, 5, 3000)
    assert len({tuple(text) for text in texts}) > 1, (
        f"3,000 texts are all the same, {texts[0]}: draw each token at random instead of "
        "taking the most probable one"
    )
    first = [sum(text[:1] == given for text in texts) / 3000 for given in ([], [1], [2])]
    for share, p, name in zip(first, P[0], ("the stop", "token 1", "token 2")):
        assert abs(share - p) < 0.04, (
            f"after token 0, {name} should come next in {p:.0%} of 3,000 texts, in yours it "
            f"comes next in {share:.0%}: draw with p=P[token]"
        )
    begun = [text for text in texts if text[:1] == [2]]
    ended = sum(len(text) == 1 for text in begun) / max(1, len(begun))
    assert abs(ended - 0.55) < 0.06, (
        "after token 2 the text should end with the probability 0.55, in yours it ends with "
        f"{ended:.2f}: draw from the row of the last token, not of the first"
    )


def test_the_generator_decides():
    P = np.full((5, 5), 0.2)
    one, same, other = (texts_sampled(P, 0, 0, seed, 8) for seed in (7, 7, 8))
    assert one == same and one != other, (
        f"two generators with seed 7 gave {one} and {same}, one with seed 8 {other}: use the "
        "given `rng`, so that a seed decides what is drawn"
    )


# %% sample hidden points=1
def test_other_samples():
    P = np.array([[0.2, 0.3, 0.5, 0], [0, 0.5, 0.25, 0.25], [0.1, 0, 0.4, 0.5], [0, 0, 0, 1]])
    table = np.zeros((3, 4))
    for text in texts_sampled(P, 0, 3, 11, 2500):
        np.add.at(table, ([0, *text], [*text, 3]), 1)
    close(table / table.sum(1, keepdims=True), P[:3], "the shares of pairs", near=0.03)


# %% bits points=2
def test_bits_are_nats_divided_by_ln_2():
    cause = "One bit is ln 2 = 0.693 nats, and the sum is divided by characters"
    for nats, characters, wanted, case in [
        (-math.log(0.5), 1, 1.0, "one character with p = 0.5"),
        (6 * math.log(2), 4, 1.5, "6 ln 2 nats for 4 characters"),
        (3.0, 3.3, 1.3115, "3 nats for 3.3 characters"),
        (0.0, 7, 0.0, "a text that the model predicts with probability 1"),
    ]:
        got = bits_per_character(nats, characters)
        expect(got, wanted, f"{case}: the bits per character", cause, near=(1e-9, 1e-3))


def test_a_tensor_gives_a_float():
    got = bits_per_character(Tensor(2.0), 2)
    assert isinstance(got, float), (
        f"for a scalar Tensor the result should be a float, yours is {got!r:.60}"
    )
    close(got, 1.442695, "the bits per character of 2 nats for 2 characters", near=1e-4)


# %% bits hidden points=1
def test_other_bits():
    rng = np.random.default_rng(1)
    for _ in range(5):
        nats, characters = float(rng.uniform(1, 40)), int(rng.integers(1, 50))
        yield float(bits_per_character(nats, characters))


# %% windows points=3
def test_the_target_follows_the_window():
    x, y = windows([5, 6, 7, 8, 9], 2)
    expect(x, [[5, 6], [6, 7], [7, 8]], "the windows of 5 6 7 8 9, context 2,")
    cause = "That is the last token of each window. The network would only have to copy it"
    causes = {cause: [6, 7, 8]}
    expect(y, [7, 8, 9], "the targets of 5 6 7 8 9, context 2,", causes)


def test_any_context():
    for context, x_wanted, y_wanted in [
        (1, [[3], [1], [4]], [1, 4, 1]),
        (3, [[3, 1, 4]], [1]),
    ]:
        case = f"3 1 4 1, context {context},"
        x, y = result_of(lambda: windows(np.array([3, 1, 4, 1]), context), case)
        cause = "The first token of a window is the earliest"
        expect(x, x_wanted, f"the windows of {case}", cause)
        expect(y, y_wanted, f"the targets of {case}")
        for part in (x, y):
            equal(np.asarray(part).dtype.name, "int64", "the dtype of windows and targets")


def test_a_text_that_is_too_short_has_no_window():
    for ids, context in [([4, 2], 2), ([4], 3), ([], 2)]:
        case = f"{ids} with context {context}"
        x, y = result_of(lambda: windows(ids, context), case, "There is no window: N is 0")
        case += " has no window with a token after it: the shapes"
        equal((np.shape(x), np.shape(y)), ((0, context), (0,)), case)


# %% windows hidden points=1
def test_other_windows():
    rng = np.random.default_rng(6)
    for n, context in [(30, 1), (30, 4), (9, 8), (9, 9), (500, 7)]:
        yield windows(rng.integers(0, 50, n), context)


# %% name-windows points=3
def test_every_name_begins_with_marks():
    error = "A name is an array, and + adds arrays; list(name) makes a list, which + extends"
    x, y = result_of(lambda: name_windows([np.array([5, 6])], 2, 0), "one name", error)
    cause = "Put the mark `context` times before a name, so that its first token has a window"
    expect(x, [[0, 0], [0, 5], [5, 6]], "the windows of the name 5 6, context 2, end 0,", cause)
    expect(y, [5, 6, 0], "the targets of the name 5 6", "The end is also a target")


def test_no_window_holds_parts_of_two_names():
    x, y = name_windows([np.array([5, 6]), np.array([7])], 2, 0)
    cause = "Make the windows of each name separately, then concatenate"
    wanted = [[0, 0], [0, 5], [5, 6], [0, 0], [0, 7]]
    expect(x, wanted, "the windows of the names 5 6 and 7", cause, dtype="int64")
    expect(y, [5, 6, 0, 7, 0], "the targets of the names 5 6 and 7", dtype="int64")
    x, y = name_windows([[], [8]], 1, 0)
    expect(x, [[0], [0], [8]], "the windows of an empty name and 8, context 1,")
    expect(y, [0, 8, 0], "the targets of an empty name and 8")


def test_the_mark_may_be_any_id():
    x, y = name_windows([np.array([1, 0]), np.array([2])], 3, 9)
    case = "of the names 1 0 and 2 with the end 9, context 3,"
    wanted = [[9, 9, 9], [9, 9, 1], [9, 1, 0], [9, 9, 9], [9, 9, 2]]
    expect(x, wanted, f"the windows {case}", "The mark is the argument `end`")
    expect(y, [1, 0, 9, 2, 9], f"the targets {case}")


# %% name-windows hidden points=1
def test_other_names():
    rng = np.random.default_rng(3)
    names = [rng.integers(1, 9, n) for n in (4, 1, 0, 7)]
    for context in (1, 2, 5):
        yield name_windows(names, context, 0)


# %% embedding-gradient points=4
def test_repeated_ids_collect_all_gradients():
    got, *_ = gradient_and_inputs([[1.0, 1.0], [1.0, 1.0]], np.zeros((3, 2)), [1, 1])
    case = "the gradient of a table of shape (3, 2) for ids [1, 1] with gradients [1, 1] each"
    assert np.shape(got) == (3, 2), f"{case} should have shape (3, 2), yours {np.shape(got)}"
    cause = "A token that occurs twice collects both gradients; = and += with repeated indices "
    cause += "keep only one of them"
    expect(got, [[0, 0], [2, 2], [0, 0]], case, cause)
    g = [[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]]
    got, *_ = gradient_and_inputs(g, np.zeros((4, 2)), [2, 0, 2])
    case = "the gradient for ids [2, 0, 2] with gradients [1, 2], [10, 20], [100, 200]"
    cause = "Gradients of the same row are added up, and the result has a row for each token"
    expect(got, [[10, 20], [0, 0], [101, 202], [0, 0]], case, cause)


def test_ids_of_any_shape():
    g, ids = np.arange(12.0).reshape(2, 3, 2), [[4, 1, 4], [1, 1, 0]]
    case = f"the gradient for ids {ids}, g = 0 ... 11 of shape (2, 3, 2),"
    cause = "Flatten the ids, and all axes of g but the last"
    got, *_ = result_of(lambda: gradient_and_inputs(g, np.zeros((5, 2)), ids), case, cause)
    expect(got, [[10, 11], [16, 19], [0, 0], [0, 0], [4, 6]], case)
    case, none = "the gradient for no ids, a table of shape (3, 2)", np.zeros((0, 2))
    call = lambda: gradient_and_inputs(none, np.zeros((3, 2)), np.zeros(0, int))
    expect(result_of(call, case, cause)[0], np.zeros((3, 2)), case, "Each row is zero")


def test_the_dtype_stays_and_nothing_is_changed():
    given = np.ones((2, 3), np.float32), np.full((4, 3), 5, np.float32), np.array([3, 3])
    got, *after = gradient_and_inputs(*given)
    assert np.asarray(got).dtype == np.float32, (
        f"for a float32 g the gradient should be float32, yours is {np.asarray(got).dtype}"
    )
    for name, one, other in zip(("g", "weight", "ids"), given, after):
        assert np.array_equal(one, np.asarray(other)), (
            f"embedding_gradient changed {name}, which other code uses: make a new array"
        )
    wanted = [[0] * 3, [0] * 3, [0] * 3, [2] * 3]
    expect(got, wanted, "the gradient for ids [3, 3] with gradients of ones")
    got, *_ = gradient_and_inputs(given[0], np.full((4, 3), 5.0), given[2])
    case = "the gradient for a float32 g and a float64 weight"
    expect(got, wanted, case, "it has the dtype of g", dtype="float32")


def test_backward_reaches_the_table():
    table = Variable(np.arange(8.0).reshape(4, 2))
    out = embedding([[3, 1], [3, 3]], table) * 2 + table.sum()
    out.backward(np.ones((2, 2, 2)))
    wanted = [[8, 8], [10, 10], [8, 8], [14, 14]]
    expect(table.grad, wanted, "the gradient of 2 table[ids] + table.sum()")


# %% embedding-gradient hidden points=1
def test_other_gradients():
    rng = np.random.default_rng(9)
    for shape, size in [((6,), 4), ((3, 5), 20), ((0,), 3), ((2, 3, 4), 2), ((40, 10), 60)]:
        ids = rng.integers(0, size, shape)
        g, weight = rng.normal(size=(*shape, 3)), rng.normal(size=(size, 3))
        yield gradient_and_inputs(g, weight, ids)[0]


# %% embedding-layer points=4
def test_the_table_is_normal_and_float32():
    table = Embedding(300, 40).weight
    assert table.shape == (300, 40), (
        f"Embedding(300, 40) should have a table of shape (300, 40), yours has {table.shape}"
    )
    values = np.asarray(table.data)
    assert values.dtype == np.float32, f"the table should be float32, yours is {values.dtype}"
    assert abs(values.mean()) < 0.05 and abs(values.std() - 1) < 0.05, (
        "the table should be drawn from the normal distribution with mean 0 and variance 1; "
        f"yours has the mean {values.mean():.2f} and the variance {values.var():.2f}"
    )
    far = float((abs(values) > 2).mean())
    assert 0.03 < far < 0.06, (
        "4.6 % of the numbers of a normal distribution are below -2 or above 2, of yours "
        f"{far:.1%}: draw from a normal distribution"
    )


def test_the_table_is_trained():
    call = lambda: gradients_of_layer([[1, 4], [1, 1]], np.ones((2, 2, 2)))
    got = result_of(call, "layer(ids)")
    assert got is not None, (
        "the table gets no gradient: it should be a Variable, and `forward` should pass it to "
        "`embedding` as it is, not its .data"
    )
    expect(got, [[0, 0], [3, 3], [0, 0], [0, 0], [1, 1]], "the gradient of the table")
    names = [name for name, _ in Embedding(3, 2).named_parameters()]
    equal(names, ["weight"], "the names of the parameters")


def test_rows_are_looked_up():
    layer = Embedding(5, 3)
    table = np.array(layer.weight.data)
    for ids in ([2, 2], [[4, 0, 1]]):
        expect(layer(ids).data, table[np.array(ids)], f"the vectors of {ids}")


def test_a_seed_decides_the_table():
    one, again, other = (
        [np.asarray(table) for table in tables] for tables in tables_after_manual_seed()
    )
    assert np.array_equal(one[0], again[0]) and not np.array_equal(one[0], other[0]), (
        "manual_seed(1) should always give the same table, and manual_seed(2) another one: "
        "draw from generator(rng)"
    )
    assert not np.array_equal(one[0], one[1]), (
        "two layers got the same table: draw from the shared generator, generator(rng)"
    )
    tables = [np.asarray(table_of(seed)) for seed in (3, 3, 4)]
    assert np.array_equal(tables[0], tables[1]) and not np.array_equal(tables[0], tables[2]), (
        "rng=np.random.default_rng(3) should decide the table: pass rng to generator"
    )


# %% embedding-layer hidden points=1
def test_other_layers():
    layer = Embedding(num_embeddings=4, embedding_dim=6)
    assert layer.weight.shape == (4, 6) and layer.weight.requires_grad is True
    expect(layer(Tensor([[3]])).data, np.asarray(layer.weight.data)[[[3]]], "a Tensor of ids")
    assert refusal(layer, [4])[0] == "IndexError" and refusal(layer, [0.5])[0] == "TypeError"
    table = np.asarray(table_of(0))
    assert abs(table.mean()) < 0.7 and 0.5 < table.std() < 1.6


# %% window-model points=6
def test_the_parts_have_the_sizes_of_the_docstring():
    model = WindowModel(7, 3, 2, 5)
    shapes = {name: value.shape for name, value in parameters_of(model).items()}
    wanted = {
        "embedding.weight": (7, 2),
        "hidden.weights": (6, 5),
        "hidden.bias": (5,),
        "head.weights": (5, 7),
        "head.bias": (7,),
    }
    assert shapes == wanted, (
        f"WindowModel(7, 3, 2, 5) should have the parameters {wanted}, yours has {shapes}: the "
        "hidden layer gets the vectors of all positions of the window"
    )


def test_logits_by_hand():
    model = with_random_weights(WindowModel(7, 3, 2, 5), 1)
    p = parameters_of(model)
    ids = np.array([[0, 4, 6], [6, 4, 0], [2, 2, 5]])
    joined = np.array([[v for id in row for v in p["embedding.weight"][id]] for row in ids])
    case = "the logits of three windows"
    cause = "The input of the hidden layer should have shape (B, context * D)"
    got = result_of(lambda: model(ids), case, cause)
    cause = "In order: the vectors of the window, the first token first, joined; hidden layer; "
    wanted = logits_of(p, joined)
    causes = {NO_SOFTMAX: softmax_of(wanted), cause + "tanh; head": got.data}
    close(got.data, wanted, case, causes, near=1e-4)


def test_every_parameter_gets_a_gradient():
    model, ids = WindowModel(6, 2, 3, 4), [[1, 2], [0, 5], [3, 4]]
    shape = tuple(model(ids).shape)
    equal(shape, (3, 6), "the shape of the logits of three windows for 6 tokens")
    missing = missing_gradients(model, ids)
    assert not missing, (
        f"no gradient reaches {missing}: compute with Tensors from the ids to the logits, "
        "without .data"
    )


# %% window-model hidden points=1
def test_other_models():
    for seed, (V, context, D, hidden) in enumerate([(5, 1, 4, 3), (9, 4, 3, 2)]):
        model = with_random_weights(WindowModel(V, context, D, hidden), seed)
        yield model(np.random.default_rng(seed).integers(0, V, (6, context)))


# %% nearest points=4
def test_the_smallest_angle_comes_first():
    table = np.array([[1.0, 0.0], [0.0, 1.0], [9.0, 1.0], [-1.0, 0.1], [0.2, 0.1]])
    got = np.asarray(result_of(lambda: nearest(table, 0, 4), "five vectors")).tolist()
    assert 0 not in got, f"the token itself is not its neighbour; yours for token 0 is {got}"
    case = "the angles of [0, 1], [9, 1], [-1, 0.1], [0.2, 0.1] with [1, 0] are 90, 6, 174 and "
    equal(got, [2, 4, 1, 3], case + "27 degrees, so nearest(table, 0, 4)")


def test_lengths_do_not_count():
    table = np.array([[2.0, 1.0], [100.0, 0.0], [0.02, 0.011], [3.0, -1.0]])
    case = "[0.02, 0.011] is short but has nearly the direction of [2, 1], and [100, 0] is "
    case += "long but turned by 27 degrees: nearest(table, 0, 2)"
    before, cause = table.copy(), "Divide all vectors by their lengths"
    equal(np.asarray(nearest(table, 0, 2)).tolist(), [2, 1], case, cause)
    cause = "`/=` writes into the caller's array; make a new array"
    expect(table, before, "after nearest(table, 0, 2), the table", cause)


def test_a_token_with_the_same_vector_is_a_neighbour():
    table = np.array([[1.0, 2.0], [3.0, 0.0], [1.0, 2.0], [-1.0, 0.0]])
    cause = "Leave out the id itself, not the first of the list"
    for id, other in [(0, 2), (2, 0)]:
        case = f"tokens 0 and 2 have the same vector: the nearest of {id}"
        equal(np.asarray(nearest(table, id, 1)).tolist(), [other], case, cause)


def test_a_tensor_can_be_asked():
    got = nearest(Variable([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), 1, 2)
    expect(got, [2, 0], "in the Tensor [[1, 0], [0, 1], [1, 1]], the nearest to 1")


# %% nearest hidden points=1
def test_other_neighbours():
    rng = np.random.default_rng(5)
    for size, width in [(6, 2), (40, 7)]:
        table = rng.normal(size=(size, width)) * rng.uniform(0.1, 9, (size, 1))
        for id in (0, size - 1):
            yield nearest(table, id, 5)


# %% rnn-step points=3
def test_a_step_by_hand():
    x, h = [[1.0, -2.0], [0.5, 0.0]], [[0.1, 0.2], [-0.3, 0.4]]
    w, u, b = [[0.5, 0.1], [0.2, -0.4]], [[0.0, 1.0], [-0.5, 0.3]], [0.05, -0.1]
    case = f"the new state for x {x}, h {h}, w {w}, u {u}, b {b}"
    got = result_of(lambda: rnn_step(*map(Tensor, (x, h, w, u, b))), case)
    cause = "tanh(x @ w + h @ u + b): u is multiplied from the right, as w is"
    close(got.data, np.tanh(np.array(x) @ w + np.array(h) @ u + b), case, cause)


def test_a_state_of_another_size():
    rng = np.random.default_rng(0)
    shapes = [(4, 3), (4, 5), (3, 5), (5, 5), (5,)]
    x, h, w, u, b = (rng.normal(size=shape) for shape in shapes)
    case = "the new state for x (4, 3) and h (4, 5)"
    got = result_of(lambda: rnn_step(*map(Tensor, (x, h, w, u, b))), case, "w is (D, N)")
    close(got.data, np.tanh(x @ w + h @ u + b), case)


def test_gradients_reach_everything():
    shapes = [(2, 3), (2, 4), (3, 4), (4, 4), (4,)]
    rng = np.random.default_rng(3)
    inputs = [Variable(rng.normal(size=shape)) for shape in shapes]
    out = rnn_step(*inputs)
    assert out.requires_grad is True, (
        "the new state should require a gradient when an input does: use Tensors, not .data"
    )
    g = rng.normal(size=(2, 4))
    out.backward(g)
    x, h, w, u, b = (np.asarray(v.data) for v in inputs)
    inner = g * (1 - np.tanh(x @ w + h @ u + b) ** 2)
    gradients = inner @ w.T, inner @ u.T, x.T @ inner, h.T @ inner, inner.sum(0)
    for name, leaf, wanted in zip("xhwub", inputs, gradients):
        close(leaf.grad, wanted, f"the gradient of {name}")


# %% rnn-step hidden points=1
def test_other_steps():
    rng = np.random.default_rng(12)
    for batch, D, N in [(1, 1, 1), (3, 3, 3), (5, 2, 6)]:
        shapes = [(batch, D), (batch, N), (D, N), (N, N), (N,)]
        yield rnn_step(*(Tensor(rng.normal(size=shape)) for shape in shapes))


# %% recurrent-model points=8
def test_logits_and_state_by_hand():
    model = with_random_weights(RecurrentModel(6, 2, 3), 4)
    p = parameters_of(model)
    ids = np.array([[1, 5, 0, 2], [3, 3, 4, 1]])
    states = np.stack([*new_states(p, ids, np.zeros((2, 3)))], axis=1)
    case = "the logits for ids of shape (2, 4)"
    got = result_of(lambda: model(ids), case, "x[:, t] is the input of step t")
    assert isinstance(got, tuple) and len(got) == 2, (
        f"the model should return two things, logits and the last state; yours is {got!r:.60}"
    )
    cause = "Shape (B, T, V): logits from the state after each token; stack the states along "
    wanted = states @ p["head.weights"] + p["head.bias"]
    causes = {NO_SOFTMAX: softmax_of(wanted), cause + "axis 1": got[0].data}
    close(got[0].data, wanted, case, causes, near=1e-4)
    case, cause = "the state after the last token", "Return the newest state"
    close(got[1].data, states[:, -1], case, cause, near=1e-4)


def test_every_call_begins_anew():
    model = with_random_weights(RecurrentModel(5, 2, 4), 2)
    first = np.array(model([[1, 2, 3]])[0].data)
    again = np.array(model([[1, 2, 3]])[0].data)
    assert first.shape == (1, 3, 5) and first.any(), (
        f"three tokens and a vocabulary of 5: logits of shape (1, 3, 5), yours {first.shape}"
    )
    assert np.allclose(first, again), (
        "the same ids gave other logits in a second call: the state of the last call was "
        "used again. Without h, begin with zeros"
    )


def test_a_state_can_be_continued():
    model = with_random_weights(RecurrentModel(5, 2, 4), 3)
    whole, end = model([[1, 2, 3, 4, 0]])
    start, h = model([[1, 2]])
    rest, last = result_of(lambda: model([[3, 4, 0]], h), "model(ids, h)", "h is given")
    both = np.concatenate([np.asarray(start.data), np.asarray(rest.data)], axis=1)
    case = "the logits for 1 2, then 3 4 0 with the returned state, as for 1 2 3 4 0 at once,"
    close(both, whole.data, case, "Begin with the given state", near=1e-5)
    close(last.data, end.data, "the last state, as for 1 2 3 4 0 at once,", near=1e-5)
    one, _ = model([[1]])
    close(one.data, np.asarray(whole.data)[:, :1], "the logits for 1 alone", near=1e-5)


def test_the_gradient_reaches_the_first_token():
    model = with_random_weights(RecurrentModel(5, 2, 3), 6)
    ids = [[4, 1, 0, 2]]
    got = gradient_at_the_first_token(model, ids)
    assert got is not None and np.any(np.asarray(got)), (
        "the logits of step 4 depend on the token of step 1, but its vector gets no gradient: "
        "do not detach the state between steps, and do not compute with .data"
    )
    p = parameters_of(model)
    direction = np.random.default_rng(1).normal(size=(1, 5)).astype(np.float32)
    table = p["embedding.weight"]

    def logits(vector):
        with_vector = p | {"embedding.weight": np.vstack([table[:4], vector])}
        *_, h = new_states(with_vector, ids, np.zeros((1, 3)))
        return h @ p["head.weights"] + p["head.bias"]

    wanted = gradient_by_differences(logits, table[4], direction)
    close(got, wanted, "the gradient of the first token's vector", near=(1e-2, 1e-4))
    missing = missing_gradients(with_random_weights(RecurrentModel(5, 2, 3), 7), [[1, 2, 3, 0]])
    assert not missing, f"no gradient reaches {missing}"


# %% recurrent-model hidden points=2
def test_other_texts():
    for seed, (V, D, N, B, T) in enumerate([(4, 3, 2, 3, 1), (7, 1, 5, 1, 6), (5, 4, 4, 4, 4)]):
        model = with_random_weights(RecurrentModel(V, D, N), seed)
        rng = np.random.default_rng(seed)
        ids = rng.integers(0, V, (B, T))
        for begin in (None, Tensor(rng.normal(size=(B, N)).astype(np.float32))):
            yield model(ids, begin)


# %% witten-bell points=3
def test_count_and_shorter_contexts_are_mixed():
    got = witten_bell(np.array([0.5, 0.25, 0.25]), np.array([6, 2, 0]), 8, 2)
    wanted = [(6 + 2 * 0.5) / 10, (2 + 2 * 0.25) / 10, (2 * 0.25) / 10]
    case = "lower [0.5, 0.25, 0.25], counts [6, 2, 0], total 8, distinct 2: the mixture"
    close(got, wanted, case, "(count + distinct * lower) / (total + distinct)")
    assert abs(float(np.asarray(got).sum()) - 1) < 1e-9, "the mixture should sum to 1"


def test_many_different_tokens_lower_the_trust():
    for count, distinct, wanted in [
        (10, 1, (10 + 0.1) / 11),
        (10, 10, (10 + 1.0) / 20),
        (1, 1, (1 + 0.1) / 2),
    ]:
        got = witten_bell(np.array([0.1]), np.array([count]), count, distinct)
        case = f"lower 0.1, count {count}, total {count}, distinct {distinct}: the mixture"
        close(got, [wanted], case)


def test_a_context_that_never_occurred_leaves_the_shorter_one():
    lower, count = np.array([0.5, 0.2, 0.3]), np.array([0, 3, 0])
    got = witten_bell(lower, count, np.array([0, 5, 4]), np.array([0, 2, 3]))
    case = "lower [0.5, 0.2, 0.3], counts [0, 3, 0], totals [0, 5, 4], distinct [0, 2, 3]: the "
    cause = "Where total is 0, the result is `lower`; 0 / 0 is nan"
    close(got, [0.5, (3 + 2 * 0.2) / 7, (3 * 0.3) / 7], case + "mixture", cause)
    got = witten_bell(np.array([0.75, 0.25]), np.array([0, 0]), 0, 0)
    case = "the mixture for a context that never occurred"
    close(got, [0.75, 0.25], case, "The result is `lower`")


# %% witten-bell hidden points=1
def test_other_mixtures():
    rng = np.random.default_rng(7)
    for _ in range(4):
        lower, count = rng.dirichlet(np.ones(5)), rng.integers(0, 6, 5)
        total, distinct = int(count.sum()), int((count > 0).sum())
        yield witten_bell(lower, count, total, distinct)
        yield witten_bell(lower, count, np.full(5, total), np.full(5, distinct))


# %% ngram points=8
def test_orders_1_and_2_by_hand():
    ids = [0, 1, 0, 1, 0, 1, 1]
    # no context: 3 zeros, 4 ones, 2 different; lower 0.5 each
    shares = [(3 + 2 * 0.5) / 9, (4 + 2 * 0.5) / 9]
    for context in ([], [1], [0, 0]):
        # With all ids as the context, which was never counted, the uniform start is left.
        empty = "The empty context is ids[len(ids):]; ids[-0:] is all of ids"
        causes = {empty: [0.5, 0.5]} if context else ""
        close(NGram(1).fit(ids, 2).next(context), shares, f"order 1, next({context})", causes)
    # after 0: three times 1; after 1: twice 0, once 1
    model = NGram(2).fit(ids, 2)
    cause = (
        "From the empty context to the longest, each mixture is the `lower` of the next; the "
    )
    cause += "context is the last tokens"
    for context, wanted in [
        ([0], [shares[0] / 4, (3 + shares[1]) / 4]),
        ([0, 0, 1], [(2 + 2 * shares[0]) / 5, (1 + 2 * shares[1]) / 5]),
        ([], shares),
    ]:
        case = f"0 1 0 1 0 1 1, order 2, next({context})"
        error = "Does `next` skip contexts that are longer than `ids`?"
        got = result_of(lambda: model.next(context), case, error)
        close(got, wanted, case, cause)


def test_what_was_never_seen_is_possible():
    model = NGram(4).fit([0, 1, 2, 0, 1, 2, 0, 1, 2], 4)
    call = lambda: model.log_probability([3, 3, 2, 1, 0, 0])
    got = np.asarray(result_of(call, "order 4", SAME_LENGTH))
    assert np.isfinite(got).all(), (
        "tokens and contexts that never occurred in training should have small probabilities, "
        f"not 0: yours has the logarithms {got.round(2).tolist()}. Mix in the shorter contexts"
    )
    for context in ([], [3], [2, 1], [3, 3, 3], [0, 1, 2, 0]):
        p = np.asarray(result_of(lambda: model.next(context), f"next({context})"))
        assert p.shape == (4,) and abs(float(p.sum()) - 1) < 1e-9 and (p > 0).all(), (
            f"next({context}) should be 4 positive probabilities that sum to 1, yours is {p}"
        )


def test_log_probability_agrees_with_next():
    ids, text = [2, 0, 1, 2, 0, 2, 1, 0, 1, 2, 0, 1], [0, 1, 2, 2, 1, 0, 1]
    cause = "p[k:] are the tokens that have k tokens before them"
    for order in (1, 2, 3, 4):
        model = NGram(order).fit(ids, 3)
        for tokens in (text, text[:1], []):
            case = f"order {order}: log_probability({tokens}), as the logarithms of next,"
            got = result_of(lambda: model.log_probability(tokens), case, SAME_LENGTH)
            shares = [np.asarray(model.next(tokens[:i]))[id] for i, id in enumerate(tokens)]
            close(got, [math.log(share) for share in shares], case, cause)


def test_longer_contexts_know_more():
    ids = [0, 1, 2, 0, 2, 1] * 20
    models = [NGram(order).fit(ids, 3) for order in (1, 2, 3)]
    means = [float(-np.asarray(model.log_probability(ids)).mean()) for model in models]
    assert means[0] > means[1] > means[2] and means[2] < 0.2, (
        "in 0 1 2 0 2 1 0 1 2 0 2 1 ... two tokens determine the next one: order 3 should need "
        f"fewer than 0.2 nats per token; yours needs {means[2]:.2f}, after {means[0]:.2f} and "
        f"{means[1]:.2f} for orders 1 and 2"
    )


# %% ngram hidden points=2
def test_other_ngrams():
    rng = np.random.default_rng(10)
    for order, V in [(1, 5), (3, 4), (5, 3)]:
        ids, text = rng.integers(0, V - 1, 150).tolist(), rng.integers(0, V, 25).tolist()
        model = NGram(order).fit(ids, V)
        for i in range(len(text)):
            yield model.next(text[:i])
        yield model.log_probability(text)
    yield model.log_probability([])
    assert refusal(model.log_probability, [0, 5])[0] == "IndexError"
