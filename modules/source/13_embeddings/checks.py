# The checks of lesson 13, by exercise. `check("windows")` in the chapter runs the visible ones.

# %% setup
import math

import numpy as np

from tinytorch.core.tensor import Tensor, Variable


def expect(found, wanted, case, cause="", near=1e-6):
    """Assert that `found`, an array, has the shape and the numbers of `wanted`.

    cause  the likely cause if it does not
    near   relative and absolute tolerance
    """
    wanted = np.asarray(wanted)
    assert found is not None, f"{case}: yours returns None. Is `return` missing?"
    found = np.asarray(found)
    assert found.shape == wanted.shape, (
        f"{case}: the shape should be {wanted.shape}, yours is {found.shape}. {cause}"
    )
    if not np.allclose(found, wanted, rtol=near, atol=near):
        if wanted.size <= 20:
            difference = (
                f"should be {wanted.round(4).tolist()}, yours is {found.round(4).tolist()}"
            )
        else:
            first = tuple(np.argwhere(~np.isclose(found, wanted, near, near))[0].tolist())
            difference = (
                f"the first wrong number is at {first}: it should be {wanted[first]:.5g}, "
                f"yours is {found[first]:.5g}"
            )
        assert False, f"{case}: {difference}. {cause}"


def raised(action, *given):
    """The name of the error that a call raises, and its message, or two empty texts."""
    try:
        action(*given)
    except Exception as error:
        return type(error).__name__, str(error)
    return "", ""


def result_of(call, case, cause):
    """What `call` returns; an error becomes a message."""
    try:
        return call()
    except (ValueError, IndexError, TypeError, AttributeError, KeyError) as error:
        assert False, f"{case}: {type(error).__name__}: {error!s:.120}. {cause}"


# %% learner-side
def probabilities_and_counts(counts, smoothing):
    """What probabilities returns for a copy of counts, and that copy afterwards."""
    counts = np.array(counts)
    return np.asarray(probabilities(counts, smoothing)), counts


def texts_sampled(P, start, stop, seed, count):
    """Texts that sample_bigram draws with one generator, as lists of int."""
    rng = np.random.default_rng(seed)
    return [
        [int(id) for id in sample_bigram(np.array(P), start, stop, rng)] for _ in range(count)
    ]


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
    return np.array(Embedding(6, 4, np.random.default_rng(seed)).weight.data)


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
    assert got is not None, "bigram_counts returns None. Is `return` missing?"
    got = np.asarray(got)
    assert got.tolist() != [[0, 0, 1], [1, 1, 0], [1, 1, 0]], (
        "0 1 1 2 0 2 holds the pair (0, 1): counts[0, 1] should be 1, yours has it in "
        "counts[1, 0]. The row is the token before, the column the token after"
    )
    expect(got, [[0, 1, 1], [0, 1, 1], [1, 0, 0]], "the counts of 0 1 1 2 0 2")


def test_a_pair_that_repeats_counts_each_time():
    for ids, wanted in [
        ([2, 2, 2, 2], [[0, 0, 0], [0, 0, 0], [0, 0, 3]]),
        ([1, 0, 1, 0, 1, 0], [[0, 2, 0], [3, 0, 0], [0, 0, 0]]),
    ]:
        expect(
            bigram_counts(ids, 3),
            wanted,
            f"the counts of {ids}",
            "Every occurrence counts: counts[a, b] += 1 with arrays a and b adds only once",
        )


def test_counts_are_an_int64_table_of_the_vocabulary():
    for ids, size in [([0, 1], 4), ([3], 4), ([], 2)]:
        got = np.asarray(
            result_of(lambda: bigram_counts(ids, size), f"{ids}", "No pair: zeros")
        )
        assert got.shape == (size, size) and got.dtype == np.int64, (
            f"ids {ids}, vocabulary of {size}: the counts should be int64 of shape "
            f"({size}, {size}), yours are {got.dtype} of shape {got.shape}"
        )
        assert int(got.sum()) == max(0, len(ids) - 1), (
            f"{ids} holds {max(0, len(ids) - 1)} pairs, yours counts {int(got.sum())}: the "
            "last token has no token after it"
        )


# %% bigram-counts hidden points=1
def test_other_counts():
    rng = np.random.default_rng(2)
    for size, n in [(5, 300), (3, 2), (40, 500)]:
        ids = rng.integers(0, size, n)
        pairs = [(int(ids[i]), int(ids[i + 1])) for i in range(n - 1)]
        wanted = [[pairs.count((a, b)) for b in range(size)] for a in range(size)]
        expect(bigram_counts(ids, size), wanted, f"{n} ids")


# %% probabilities points=4
def test_each_row_is_divided_by_its_sum():
    table = np.array([[0, 3, 1], [1, 0, 1], [2, 2, 0]])
    got = np.asarray(probabilities(table, smoothing=0))
    expect(
        got,
        [[0, 0.75, 0.25], [0.5, 0, 0.5], [0.5, 0.5, 0]],
        "[[0, 3, 1], [1, 0, 1], [2, 2, 0]] without smoothing",
        "Each row is divided by its own sum; keepdims=True keeps the sums as a column",
    )


def test_smoothing_is_added_before_dividing():
    got = result_of(
        lambda: probabilities(np.array([[0, 3, 1], [0, 0, 0], [2, 2, 2]])),
        "counts of dtype int64",
        "`counts += smoothing` writes into the caller's array; make a new array",
    )
    got = np.asarray(got)
    expect(
        got,
        [[1 / 7, 4 / 7, 2 / 7], [1 / 3, 1 / 3, 1 / 3], [1 / 3, 1 / 3, 1 / 3]],
        "[[0, 3, 1], [0, 0, 0], [2, 2, 2]] with smoothing 1",
        "The smoothing is added to every count, then rows are divided by their new sums",
    )
    assert got.dtype == np.float64, f"probabilities should be float64, yours are {got.dtype}"


def test_any_smoothing():
    for smoothing in (0.5, 10):
        got = np.asarray(probabilities(np.array([[0.0, 2.0], [3.0, 3.0]]), smoothing))
        wanted = [[smoothing / (2 + 2 * smoothing), (2 + smoothing) / (2 + 2 * smoothing)]]
        expect(got, [*wanted, [0.5, 0.5]], f"[[0, 2], [3, 3]] with smoothing {smoothing}")


def test_the_counts_stay_as_they_are():
    for counts in (np.array([[0.0, 2.0], [3.0, 1.0]]), np.array([[0, 2], [3, 1]])):
        got, after = result_of(
            lambda: probabilities_and_counts(counts, 1.0),
            f"counts of dtype {counts.dtype}",
            "`counts += smoothing` writes into the caller's array; make a new one",
        )
        assert np.asarray(after).tolist() == [[0, 2], [3, 1]], (
            f"probabilities changed the counts [[0, 2], [3, 1]] to {np.asarray(after).tolist()}"
            ": make a new array instead of +="
        )
        expect(got, [[0.25, 0.75], [2 / 3, 1 / 3]], "[[0, 2], [3, 1]] with smoothing 1")


# %% probabilities hidden points=1
def test_other_probabilities():
    rng = np.random.default_rng(4)
    for size in (2, 5, 27):
        counts = rng.integers(0, 9, (size, size))
        for smoothing in (0.25, 3):
            wanted = [
                [(n + smoothing) / (int(row.sum()) + smoothing * size) for n in row.tolist()]
                for row in counts
            ]
            expect(probabilities(counts, smoothing), wanted, f"{size} tokens")


# %% sample points=3
def test_a_certain_chain_is_followed():
    for start, stop, wanted in [(1, 0, [2, 3]), (3, 2, [0, 1]), (0, 0, [1, 2, 3]), (3, 0, [])]:
        got = texts_sampled(np.roll(np.eye(4), 1, axis=1), start, stop, 0, 1)[0]
        assert got == wanted, (
            f"each token is surely followed by the next one: from {start} until {stop} the "
            "text "
            f"should be {wanted}, yours is {got}. Neither the start nor the stop belongs to "
            "it, "
            "and each token is drawn from the row of the one before it"
        )


def test_tokens_are_drawn_with_their_probabilities():
    P = [[0.1, 0.6, 0.3], [0.6, 0.1, 0.3], [0.55, 0.15, 0.3]]
    texts = texts_sampled(P, 0, 0, 5, 3000)
    assert len({tuple(text) for text in texts}) > 1, (
        "3,000 texts are all the same, "
        f"{texts[0]}: draw each token at random instead of taking the most probable one"
    )
    first = [sum(text[:1] == given for text in texts) / 3000 for given in ([], [1], [2])]
    for share, p, name in zip(first, P[0], ("the stop", "token 1", "token 2")):
        assert abs(share - p) < 0.04, (
            f"after token 0, {name} has the probability {p}, and in yours the share "
            f"{share:.2f} "
            "of 3,000 texts begins so: draw with p=P[token]"
        )
    begun = [text for text in texts if text[:1] == [2]]
    ended = sum(len(text) == 1 for text in begun) / max(1, len(begun))
    assert abs(ended - 0.55) < 0.06, (
        "after token 2 the text ends with the probability 0.55, in yours with "
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
    texts = texts_sampled(P, 0, 3, 11, 2500)
    before = [0 if i == 0 else text[i - 1] for text in texts for i in range(len(text) + 1)]
    after = [text[i] if i < len(text) else 3 for text in texts for i in range(len(text) + 1)]
    table = np.zeros((3, 4))
    np.add.at(table, (before, after), 1)
    expect(table / table.sum(1, keepdims=True), P[:3], "the shares of pairs", near=0.03)


# %% bits points=2
def test_bits_are_nats_divided_by_ln_2():
    for nats, characters, wanted, case in [
        (-math.log(0.5), 1, 1.0, "one character with p = 0.5"),
        (6 * math.log(2), 4, 1.5, "6 ln 2 nats for 4 characters"),
        (3.0, 3.3, 1.3115, "3 nats for 3.3 characters"),
        (0.0, 7, 0.0, "a certain text"),
    ]:
        got = bits_per_character(nats, characters)
        assert got is not None, "bits_per_character returns None. Is `return` missing?"
        assert math.isclose(float(got), wanted, abs_tol=1e-3), (
            f"{case}: {wanted} bits per character, yours is {float(got):.4f}. One bit is ln 2 "
            "= "
            "0.693 nats, and the sum is divided by characters"
        )


def test_a_tensor_gives_a_float():
    got = bits_per_character(Tensor(2.0), 2)
    assert isinstance(got, float), (
        f"for a scalar Tensor the result should be a float, yours is {got!r:.60}"
    )
    assert math.isclose(got, 1.442695, rel_tol=1e-4), (
        f"2 nats for 2 characters are 1.4427 bits per character, yours are {got}"
    )


# %% bits hidden points=1
def test_other_bits():
    rng = np.random.default_rng(1)
    for _ in range(5):
        p, characters = rng.uniform(0.01, 1, 9), int(rng.integers(1, 50))
        wanted = sum(math.log2(1 / value) for value in p.tolist()) / characters
        got = float(bits_per_character(float(-np.log(p).sum()), characters))
        assert math.isclose(got, wanted, rel_tol=1e-6), f"{got}, {wanted}"


# %% windows points=3
def test_the_target_follows_the_window():
    x, y = windows([5, 6, 7, 8, 9], 2)
    expect(x, [[5, 6], [6, 7], [7, 8]], "the windows of 5 6 7 8 9, context 2")
    y = np.asarray(y)
    assert y.tolist() != [6, 7, 8], (
        "the targets of 5 6 7 8 9, context 2, should be [7, 8, 9], yours are [6, 7, 8]: the "
        "last "
        "token of each window. The network would only have to copy it"
    )
    expect(y, [7, 8, 9], "the targets of 5 6 7 8 9, context 2")


def test_any_context():
    for context, x_wanted, y_wanted in [
        (1, [[3], [1], [4]], [1, 4, 1]),
        (3, [[3, 1, 4]], [1]),
    ]:
        x, y = result_of(
            lambda: windows(np.array([3, 1, 4, 1]), context), f"context {context}", ""
        )
        expect(
            x, x_wanted, f"the windows of 3 1 4 1, context {context}", "Time runs rightwards"
        )
        expect(y, y_wanted, f"the targets of 3 1 4 1, context {context}")
        kinds = [np.asarray(part).dtype.name for part in (x, y)]
        assert kinds == ["int64", "int64"], f"both should be int64 arrays, yours are {kinds}"


def test_a_text_that_is_too_short_has_no_window():
    for ids, context in [([4, 2], 2), ([4], 3), ([], 2)]:
        case = f"{ids} with context {context}"
        x, y = result_of(lambda: windows(ids, context), case, "There is no window: N is 0")
        shapes = np.shape(x), np.shape(y)
        assert shapes == ((0, context), (0,)), (
            f"{case} has no window with a token behind it: the shapes should be (0, {context}) "
            f"and (0,), yours are {shapes}"
        )


# %% windows hidden points=1
def test_other_windows():
    rng = np.random.default_rng(6)
    for n, context in [(30, 1), (30, 4), (9, 8), (9, 9), (500, 7)]:
        ids = rng.integers(0, 50, n)
        x, y = windows(ids, context)
        wanted = [ids[i : i + context].tolist() for i in range(n - context)]
        expect(x, np.array(wanted).reshape(-1, context), f"{n} ids, context {context}")
        expect(y, [int(ids[i + context]) for i in range(n - context)], f"{n}, {context}")


# %% name-windows points=3
def test_every_name_begins_with_marks():
    x, y = result_of(
        lambda: name_windows([np.array([5, 6])], 2, 0), "one name", "list(name) is a list"
    )
    expect(
        x,
        [[0, 0], [0, 5], [5, 6]],
        "the windows of the name 5 6, context 2, end 0",
        "The mark stands `context` times before a name, so that its first token has a window",
    )
    expect(y, [5, 6, 0], "the targets of the name 5 6", "The end is predicted, too")


def test_no_window_holds_parts_of_two_names():
    x, y = name_windows([np.array([5, 6]), np.array([7])], 2, 0)
    expect(
        x,
        [[0, 0], [0, 5], [5, 6], [0, 0], [0, 7]],
        "the windows of the names 5 6 and 7",
        "Make the windows of each name on its own, then concatenate",
    )
    expect(y, [5, 6, 0, 7, 0], "the targets of the names 5 6 and 7")


def test_the_mark_may_be_any_id():
    x, y = name_windows([np.array([1, 0]), np.array([2])], 3, 9)
    expect(
        x,
        [[9, 9, 9], [9, 9, 1], [9, 1, 0], [9, 9, 9], [9, 9, 2]],
        "the windows of the names 1 0 and 2 with the end 9, context 3",
        "The mark is the argument `end`",
    )
    expect(y, [1, 0, 9, 2, 9], "the targets of the names 1 0 and 2 with the end 9")


# %% name-windows hidden points=1
def test_other_names():
    rng = np.random.default_rng(3)
    names = [rng.integers(1, 9, n) for n in (4, 1, 0, 7)]
    for context in (1, 2, 5):
        x, y = name_windows(names, context, 0)
        rows, targets = [], []
        for name in names:
            past = [0] * context
            for id in [*name.tolist(), 0]:
                rows.append(past[-context:])
                targets.append(id)
                past.append(id)
        expect(x, rows, f"context {context}")
        expect(y, targets, f"context {context}")


# %% embedding-forward points=3
def test_each_id_gets_its_row():
    weight = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    for ids in ([1, 0, 1], [[1], [0]], [[[0, 1]]]):
        got = result_of(
            lambda: embedding_forward(weight, np.array(ids)), f"ids {ids}", "Rows, not columns"
        )
        wanted = np.array([weight[k] for k in np.ravel(ids)]).reshape(*np.shape(ids), 3)
        expect(got, wanted, f"ids {ids} in a table of 2 rows and 3 columns")


def test_the_dtype_stays():
    got = embedding_forward(np.array([[0.5], [2.5]], np.float32), np.array([1]))
    assert np.asarray(got).dtype == np.float32, (
        f"a float32 table has float32 rows, yours are {np.asarray(got).dtype}"
    )
    expect(got, [[2.5]], "row 1 of [[0.5], [2.5]]")


def test_ids_that_are_no_row_are_refused():
    weight = np.arange(8.0).reshape(4, 2)
    for ids, wrong in [([0, 4, 9], 4), ([3, -1], -1), ([[1, 7], [5, -2]], 7), ([-4], -4)]:
        kind, message = raised(embedding_forward, weight, np.array(ids))
        assert kind == "IndexError", (
            f"ids {ids} in a table of 4 rows: {wrong} is no row, and an IndexError is due; "
            "yours "
            + (f"raises {kind}" if kind else "raises nothing: NumPy counts -1 from the end")
        )
        assert message.count(str(wrong)) > (wrong == 4) and "4" in message, (
            f"ids {ids} in a table of 4 rows: the message should contain the first wrong id, "
            f"{wrong}, and 4; yours is {message!r:.100}"
        )


# %% embedding-forward hidden points=1
def test_other_rows():
    rng = np.random.default_rng(8)
    for shape in [(7,), (2, 5), (0,), (3, 0), (2, 1, 3)]:
        weight, ids = rng.normal(size=(11, 4)), rng.integers(0, 11, shape)
        wanted = np.eye(11)[ids] @ weight
        expect(embedding_forward(weight, ids), wanted, f"ids of shape {shape}")
    kind, message = raised(embedding_forward, np.zeros((30, 2)), np.array([[29, 35], [-3, 77]]))
    assert kind == "IndexError" and "35" in message and "30" in message


# %% embedding-gradient points=4
def test_repeated_ids_collect_all_gradients():
    got, *_ = gradient_and_inputs([[1.0, 1.0], [1.0, 1.0]], np.zeros((3, 2)), [1, 1])
    expect(
        got,
        [[0, 0], [2, 2], [0, 0]],
        "ids [1, 1] with gradients [1, 1] each",
        "A token that occurs twice collects both gradients; = and += with repeated indices "
        "keep only one of them",
    )
    got, *_ = gradient_and_inputs(
        [[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]], np.zeros((4, 2)), [2, 0, 2]
    )
    expect(
        got,
        [[10, 20], [0, 0], [101, 202], [0, 0]],
        "ids [2, 0, 2] with gradients [1, 2], [10, 20], [100, 200]",
        "Gradients of the same row are added up, and the result has a row for each token",
    )


def test_ids_of_any_shape():
    g = np.arange(12.0).reshape(2, 3, 2)
    got, *_ = result_of(
        lambda: gradient_and_inputs(g, np.zeros((5, 2)), [[4, 1, 4], [1, 1, 0]]),
        "ids of shape (2, 3), g of shape (2, 3, 2)",
        "Flatten the ids, and all axes of g but the last",
    )
    expect(
        got,
        [[10, 11], [16, 19], [0, 0], [0, 0], [4, 6]],
        "ids [[4, 1, 4], [1, 1, 0]] with gradients 0 ... 11",
    )


def test_the_dtype_stays_and_nothing_is_changed():
    given = np.ones((2, 3), np.float32), np.full((4, 3), 5, np.float32), np.array([3, 3])
    got, *after = gradient_and_inputs(*given)
    assert np.asarray(got).dtype == np.float32, (
        f"for a float32 g the gradient should be float32, yours is {np.asarray(got).dtype}"
    )
    for name, one, other in zip(("g", "weight", "ids"), given, after):
        assert np.array_equal(one, np.asarray(other)), (
            f"embedding_gradient changed {name}, which others use: make a new array"
        )
    expect(got, [[0] * 3, [0] * 3, [0] * 3, [2] * 3], "ids [3, 3] with gradients of ones")


def test_backward_reaches_the_table():
    table = Variable(np.arange(8.0).reshape(4, 2))
    out = embedding([[3, 1], [3, 3]], table) * 2 + table.sum()
    out.backward(np.ones((2, 2, 2)))
    expect(table.grad, [[8, 8], [10, 10], [8, 8], [14, 14]], "2 table[ids] + table.sum()")


# %% embedding-gradient hidden points=1
def test_other_gradients():
    rng = np.random.default_rng(9)
    for shape, size in [((6,), 4), ((3, 5), 20), ((0,), 3), ((2, 3, 4), 2), ((40, 10), 60)]:
        ids = rng.integers(0, size, shape)
        g, weight = rng.normal(size=(*shape, 3)), rng.normal(size=(size, 3))
        wanted = np.zeros((size, 3))
        for at in np.ndindex(*shape):
            wanted[ids[at]] += g[at]
        got, *_ = gradient_and_inputs(g, weight, ids)
        expect(got, wanted, f"ids of shape {shape}, {size} tokens")


# %% embedding-layer points=4
def test_the_table_is_normal_and_float32():
    table = Embedding(300, 40).weight
    assert table.shape == (300, 40), (
        f"Embedding(300, 40) has a table of shape (300, 40), yours has {table.shape}"
    )
    values = np.asarray(table.data)
    assert values.dtype == np.float32, f"the table should be float32, yours is {values.dtype}"
    assert abs(values.mean()) < 0.05 and abs(values.std() - 1) < 0.05, (
        "the table should be drawn from the normal distribution with mean 0 and variance 1; "
        f"yours has the mean {values.mean():.2f} and the variance {values.var():.2f}"
    )
    far = float((abs(values) > 2).mean())
    assert 0.03 < far < 0.06, (
        f"of normal numbers 4.6 % are further than 2 from 0, of yours {far:.1%}: another "
        "distribution?"
    )


def test_the_table_is_trained():
    got = result_of(
        lambda: gradients_of_layer([[1, 4], [1, 1]], np.ones((2, 2, 2))), "layer(ids)", ""
    )
    assert got is not None, (
        "the table gets no gradient: it should be a Variable, and `forward` should pass it to "
        "`embedding` as it is, not its .data"
    )
    expect(got, [[0, 0], [3, 3], [0, 0], [0, 0], [1, 1]], "the gradient of the table")
    names = [name for name, _ in Embedding(3, 2).named_parameters()]
    assert names == ["weight"], f'the only parameter should be "weight", yours has {names}'


def test_rows_are_looked_up():
    layer = Embedding(5, 3)
    table = np.array(layer.weight.data)
    for ids in ([2, 2], [[4, 0, 1]]):
        expect(layer(ids).data, table[np.array(ids)], f"the rows of {ids}")


def test_a_seed_decides_the_table():
    one, again, other = (
        [np.asarray(table) for table in tables] for tables in tables_after_manual_seed()
    )
    assert np.array_equal(one[0], again[0]) and not np.array_equal(one[0], other[0]), (
        "manual_seed(1) should always give the same table, and manual_seed(2) another one: "
        "draw "
        "from generator(rng)"
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
    assert raised(layer, [4])[0] == "IndexError" and raised(layer, [0.5])[0] == "TypeError"
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
        "hidden layer gets the vectors of all places of the window"
    )


def test_logits_by_hand():
    model = with_random_weights(WindowModel(7, 3, 2, 5), 1)
    p = parameters_of(model)
    ids = np.array([[0, 4, 6], [6, 4, 0], [2, 2, 5]])
    joined = np.array([[v for id in row for v in p["embedding.weight"][id]] for row in ids])
    hidden = np.tanh(joined @ p["hidden.weights"] + p["hidden.bias"])
    wanted = hidden @ p["head.weights"] + p["head.bias"]
    got = result_of(lambda: model(ids), "three windows", "Is the shape (B, context * D)?")
    expect(
        got.data,
        wanted,
        "the logits of three windows",
        "In order: the vectors of the window, the first token first, joined; hidden layer; "
        "tanh; "
        "head. No softmax: the loss takes logits",
        near=1e-4,
    )


def test_every_parameter_gets_a_gradient():
    model, ids = WindowModel(6, 2, 3, 4), [[1, 2], [0, 5], [3, 4]]
    assert model(ids).shape == (3, 6), (
        f"three windows and 6 tokens: logits of shape (3, 6), yours {model(ids).shape}"
    )
    missing = missing_gradients(model, ids)
    assert not missing, (
        f"no gradient reaches {missing}: compute with Tensors from the ids to the logits, "
        "without .data"
    )


# %% window-model hidden points=1
def test_other_models():
    for seed, (V, context, D, hidden) in enumerate([(5, 1, 4, 3), (9, 4, 3, 2)]):
        model = with_random_weights(WindowModel(V, context, D, hidden), seed)
        p = parameters_of(model)
        ids = np.random.default_rng(seed).integers(0, V, (6, context))
        joined = p["embedding.weight"][ids].reshape(6, -1)
        wanted = (
            np.tanh(joined @ p["hidden.weights"] + p["hidden.bias"]) @ p["head.weights"]
            + p["head.bias"]
        )
        expect(model(ids).data, wanted, f"context {context}", near=1e-4)


# %% nearest points=4
def test_the_smallest_angle_comes_first():
    table = np.array([[1.0, 0.0], [0.0, 1.0], [9.0, 1.0], [-1.0, 0.1], [0.2, 0.1]])
    got = np.asarray(result_of(lambda: nearest(table, 0, 4), "five vectors", "")).tolist()
    assert 0 not in got, f"the token itself is not its neighbour; yours for token 0 is {got}"
    assert got == [2, 4, 1, 3], (
        "the angles of [0, 1], [9, 1], [-1, 0.1], [0.2, 0.1] with [1, 0] are 90, 6, 174 and 27 "
        f"degrees: nearest should be [2, 4, 1, 3], yours is {got}"
    )


def test_lengths_do_not_count():
    table = np.array([[2.0, 1.0], [100.0, 0.0], [0.02, 0.011], [3.0, -1.0]])
    got = np.asarray(nearest(table, 0, 2)).tolist()
    assert got == [2, 1], (
        "[0.02, 0.011] points in nearly the same direction as [2, 1], though it is short, and "
        f"[100, 0] is longer and turned by 27 degrees: [2, 1] is due, yours is {got}. Divide "
        "all "
        "vectors by their lengths"
    )


def test_a_token_with_the_same_vector_is_a_neighbour():
    table = np.array([[1.0, 2.0], [3.0, 0.0], [1.0, 2.0], [-1.0, 0.0]])
    for id, other in [(0, 2), (2, 0)]:
        got = np.asarray(nearest(table, id, 1)).tolist()
        assert got == [other], (
            f"tokens 0 and 2 have the same vector: the nearest of {id} is [{other}], yours is "
            f"{got}. Leave out the id itself, not the first of the list"
        )


def test_a_tensor_can_be_asked():
    got = np.asarray(nearest(Variable([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), 1, 2)).tolist()
    assert got == [2, 0], f"in [[1, 0], [0, 1], [1, 1]], [2, 0] are nearest to 1, yours: {got}"


# %% nearest hidden points=1
def test_other_neighbours():
    rng = np.random.default_rng(5)
    for size, width in [(6, 2), (40, 7)]:
        table = rng.normal(size=(size, width)) * rng.uniform(0.1, 9, (size, 1))
        before = table.copy()
        for id in (0, size - 1):
            angles = {
                other: math.acos(
                    float(table[id] @ table[other])
                    / (
                        math.sqrt(table[id] @ table[id])
                        * math.sqrt(table[other] @ table[other])
                    )
                )
                for other in range(size)
                if other != id
            }
            wanted = sorted(angles, key=angles.get)[:5]
            assert np.asarray(nearest(table, id, 5)).tolist() == wanted
        assert np.array_equal(table, before)


# %% rnn-step points=3
def test_a_step_by_hand():
    x, h = [[1.0, -2.0], [0.5, 0.0]], [[0.1, 0.2], [-0.3, 0.4]]
    w, u, b = [[0.5, 0.1], [0.2, -0.4]], [[0.0, 1.0], [-0.5, 0.3]], [0.05, -0.1]
    got = result_of(
        lambda: rnn_step(*(Tensor(v) for v in (x, h, w, u, b))), "a batch of 2", ""
    ).data
    wanted = np.tanh(np.array(x) @ w + np.array(h) @ u + b)
    expect(
        got,
        wanted,
        f"x {x}, h {h}, w {w}, u {u}, b {b}",
        "tanh(x @ w + h @ u + b): u is multiplied from the right, as w is",
    )


def test_a_state_of_another_size():
    rng = np.random.default_rng(0)
    shapes = [(4, 3), (4, 5), (3, 5), (5, 5), (5,)]
    x, h, w, u, b = (rng.normal(size=shape) for shape in shapes)
    got = result_of(
        lambda: rnn_step(*map(Tensor, (x, h, w, u, b))), "x (4, 3) and h (4, 5)", "w is (D, N)"
    )
    expect(got.data, np.tanh(x @ w + h @ u + b), "inputs of 3 and a state of 5 numbers")


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
    for name, found, wanted in [
        ("x", inputs[0].grad, inner @ w.T),
        ("h", inputs[1].grad, inner @ u.T),
        ("w", inputs[2].grad, x.T @ inner),
        ("u", inputs[3].grad, h.T @ inner),
        ("b", inputs[4].grad, inner.sum(0)),
    ]:
        expect(found, wanted, f"the gradient of {name}")


# %% rnn-step hidden points=1
def test_other_steps():
    rng = np.random.default_rng(12)
    for batch, D, N in [(1, 1, 1), (3, 3, 3), (5, 2, 6)]:
        shapes = [(batch, D), (batch, N), (D, N), (N, N), (N,)]
        x, h, w, u, b = (rng.normal(size=shape) for shape in shapes)
        inner = np.einsum("bd,dn->bn", x, w) + np.einsum("bm,mn->bn", h, u) + b
        e = np.exp(2 * inner)
        expect(rnn_step(*map(Tensor, (x, h, w, u, b))).data, (e - 1) / (e + 1), f"{D}, {N}")


# %% recurrent-model points=8
def test_logits_and_state_by_hand():
    model = with_random_weights(RecurrentModel(6, 2, 3), 4)
    p = parameters_of(model)
    ids = np.array([[1, 5, 0, 2], [3, 3, 4, 1]])
    h, wanted = np.zeros((2, 3)), np.zeros((2, 4, 6))
    for t in range(4):
        h = np.tanh(p["embedding.weight"][ids[:, t]] @ p["w"] + h @ p["u"] + p["b"])
        wanted[:, t] = h @ p["head.weights"] + p["head.bias"]
    got = result_of(lambda: model(ids), "ids of shape (2, 4)", "x[:, t] is the input of step t")
    assert isinstance(got, tuple) and len(got) == 2, (
        f"the model should return two things, logits and the last state; yours: {got!r:.60}"
    )
    expect(
        got[0].data,
        wanted,
        "the logits for ids of shape (2, 4)",
        "Shape (B, T, V): logits from the state after each token; stack the states along axis "
        "1",
        near=1e-4,
    )
    expect(
        got[1].data, h, "the state after the last token", "Return the newest state", near=1e-4
    )


def test_every_call_begins_anew():
    model = with_random_weights(RecurrentModel(5, 2, 4), 2)
    first = np.array(model([[1, 2, 3]])[0].data)
    again = np.array(model([[1, 2, 3]])[0].data)
    assert first.shape == (1, 3, 5) and first.any(), (
        f"three tokens and a vocabulary of 5: logits of shape (1, 3, 5), yours {first.shape}"
    )
    assert np.allclose(first, again), (
        "the same ids gave other logits in a second call: the state of the last call was "
        "carried on. Without h, begin with zeros"
    )


def test_a_state_can_be_continued():
    model = with_random_weights(RecurrentModel(5, 2, 4), 3)
    whole, end = model([[1, 2, 3, 4, 0]])
    start, h = model([[1, 2]])
    rest, last = result_of(lambda: model([[3, 4, 0]], h), "model(ids, h)", "h is given")
    expect(
        np.concatenate([np.asarray(start.data), np.asarray(rest.data)], axis=1),
        whole.data,
        "1 2, then 3 4 0 with the state after 2, against 1 2 3 4 0",
        "A state that is given is where to begin",
        near=1e-5,
    )
    expect(last.data, end.data, "the last state of both", near=1e-5)


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

    def weighted(table):
        h = np.zeros((1, 3))
        for id in ids[0]:
            h = np.tanh(table[id] @ p["w"] + h @ p["u"] + p["b"])
        return float(((h @ p["head.weights"] + p["head.bias"]) * direction).sum())

    for k in range(2):
        step = np.zeros((5, 2))
        step[4, k] = 1e-5
        table = p["embedding.weight"]
        wanted = (weighted(table + step) - weighted(table - step)) / 2e-5
        assert math.isclose(float(got[k]), wanted, rel_tol=1e-2, abs_tol=1e-4), (
            f"the gradient of number {k} of the first token's vector should be {wanted:.5f}, "
            f"backward gives {float(got[k]):.5f}"
        )
    missing = missing_gradients(with_random_weights(RecurrentModel(5, 2, 3), 7), [[1, 2, 3, 0]])
    assert not missing, f"no gradient reaches {missing}"


# %% recurrent-model hidden points=2
def test_other_texts():
    for seed, (V, D, N, B, T) in enumerate([(4, 3, 2, 3, 1), (7, 1, 5, 1, 6), (5, 4, 4, 4, 4)]):
        model = with_random_weights(RecurrentModel(V, D, N), seed)
        p, rng = parameters_of(model), np.random.default_rng(seed)
        ids = rng.integers(0, V, (B, T))
        for begin in (None, rng.normal(size=(B, N)).astype(np.float32)):
            h, wanted = np.zeros((B, N)) if begin is None else begin, []
            for t in range(T):
                h = np.tanh(p["embedding.weight"][ids[:, t]] @ p["w"] + h @ p["u"] + p["b"])
                wanted.append(h @ p["head.weights"] + p["head.bias"])
            logits, state = model(ids, None if begin is None else Tensor(begin))
            expect(logits.data, np.stack(wanted, 1), f"{B} texts of {T}", near=1e-4)
            expect(state.data, h, "the state", near=1e-4)


# %% witten-bell points=3
def test_count_and_shorter_contexts_are_mixed():
    got = witten_bell(np.array([0.5, 0.25, 0.25]), np.array([6, 2, 0]), 8, 2)
    expect(
        got,
        [(6 + 2 * 0.5) / 10, (2 + 2 * 0.25) / 10, (2 * 0.25) / 10],
        "lower [0.5, 0.25, 0.25], counts [6, 2, 0], total 8, distinct 2",
        "(count + distinct * lower) / (total + distinct)",
    )
    assert abs(float(np.asarray(got).sum()) - 1) < 1e-9, "the mixture should sum to 1"


def test_many_different_tokens_lower_the_trust():
    for count, distinct, wanted in [
        (10, 1, (10 + 0.1) / 11),
        (10, 10, (10 + 1.0) / 20),
        (1, 1, (1 + 0.1) / 2),
    ]:
        got = witten_bell(np.array([0.1]), np.array([count]), count, distinct)
        expect(got, [wanted], f"lower 0.1, count {count}, total {count}, distinct {distinct}")


def test_a_context_that_never_occurred_leaves_the_shorter_one():
    got = witten_bell(
        np.array([0.5, 0.2, 0.3]), np.array([0, 3, 0]), np.array([0, 5, 4]), np.array([0, 2, 3])
    )
    expect(
        got,
        [0.5, (3 + 2 * 0.2) / 7, (3 * 0.3) / 7],
        "lower [0.5, 0.2, 0.3], counts [0, 3, 0], totals [0, 5, 4], distinct [0, 2, 3]",
        "Where total is 0, the result is `lower`; 0 / 0 is nan",
    )
    got = witten_bell(np.array([0.75, 0.25]), np.array([0, 0]), 0, 0)
    expect(got, [0.75, 0.25], "a context that never occurred", "The result is `lower`")


# %% witten-bell hidden points=1
def test_other_mixtures():
    rng = np.random.default_rng(7)
    for _ in range(4):
        lower = rng.dirichlet(np.ones(5))
        count = rng.integers(0, 6, 5)
        total, distinct = int(count.sum()), int((count > 0).sum())
        share = total / (total + distinct)
        wanted = share * count / total + (1 - share) * lower
        expect(witten_bell(lower, count, total, distinct), wanted, f"{count}")
        many = np.full(5, total), np.full(5, distinct)
        expect(witten_bell(lower, count, *many), wanted, f"{count}")


# %% ngram points=8
def test_orders_1_and_2_by_hand():
    ids = [0, 1, 0, 1, 0, 1, 1]
    # no context: 3 zeros, 4 ones, 2 different; lower 0.5 each
    shares = [(3 + 2 * 0.5) / 9, (4 + 2 * 0.5) / 9]
    for context in ([], [1], [0, 0]):
        expect(NGram(1).fit(ids, 2).next(context), shares, f"order 1, next({context})")
    # after 0: three times 1; after 1: twice 0, once 1
    model = NGram(2).fit(ids, 2)
    for context, wanted in [
        ([0], [shares[0] / 4, (3 + shares[1]) / 4]),
        ([0, 0, 1], [(2 + 2 * shares[0]) / 5, (1 + 2 * shares[1]) / 5]),
        ([], shares),
    ]:
        got = result_of(lambda: model.next(context), f"next({context})", "Context too short?")
        expect(
            got,
            wanted,
            f"0 1 0 1 0 1 1, order 2, next({context})",
            "From the empty context to the longest, each mixture is the `lower` of the next; "
            "the "
            "context is the last tokens",
        )


def test_what_was_never_seen_is_possible():
    model = NGram(4).fit([0, 1, 2, 0, 1, 2, 0, 1, 2], 4)
    got = result_of(
        lambda: model.log_probability([3, 3, 2, 1, 0, 0]), "order 4", "Shapes of p[k:]?"
    )
    got = np.asarray(got)
    assert np.isfinite(got).all(), (
        "tokens and contexts that training never saw should have small probabilities, not 0: "
        f"yours has the logarithms {got.round(2).tolist()}. Mix with the shorter contexts"
    )
    for context in ([], [3], [2, 1], [3, 3, 3], [0, 1, 2, 0]):
        p = np.asarray(result_of(lambda: model.next(context), f"next({context})", ""))
        assert p.shape == (4,) and abs(float(p.sum()) - 1) < 1e-9 and (p > 0).all(), (
            f"next({context}) should be 4 positive probabilities that sum to 1, yours is {p}"
        )


def test_log_probability_agrees_with_next():
    ids = [2, 0, 1, 2, 0, 2, 1, 0, 1, 2, 0, 1]
    for order in (1, 2, 3, 4):
        model = NGram(order).fit(ids, 3)
        text = [0, 1, 2, 2, 1, 0, 1]
        got = np.asarray(
            result_of(lambda: model.log_probability(text), f"order {order}", "Shapes of p[k:]?")
        )
        wanted = [
            math.log(float(np.asarray(model.next(text[:i]))[text[i]])) for i in range(len(text))
        ]
        expect(
            got,
            wanted,
            f"order {order}: log_probability({text}) against the logarithms of next",
            "p[k:] are the tokens that have k tokens before them",
        )


def test_longer_contexts_know_more():
    ids = [0, 1, 2, 0, 2, 1] * 20
    means = [
        float(-np.asarray(NGram(order).fit(ids, 3).log_probability(ids)).mean())
        for order in (1, 2, 3)
    ]
    assert means[0] > means[1] > means[2] and means[2] < 0.2, (
        "in 0 1 2 0 2 1 0 1 2 0 2 1 ... two tokens tell the next one: order 3 should need "
        "fewer "
        f"than 0.2 nats per token; yours needs {means[2]:.2f}, after {means[0]:.2f} and "
        f"{means[1]:.2f} for orders 1 and 2"
    )


# %% ngram hidden points=2
def test_other_ngrams():
    rng = np.random.default_rng(10)
    for order, V in [(1, 5), (3, 4), (5, 3)]:
        ids, text = rng.integers(0, V - 1, 150).tolist(), rng.integers(0, V, 25).tolist()
        model = NGram(order).fit(ids, V)
        logs = []
        for i in range(len(text)):
            p = np.full(V, 1 / V)
            for k in range(min(order, i + 1)):
                context, after = text[i - k : i], []
                for j in range(len(ids) - k):
                    if ids[j : j + k] == context:
                        after.append(ids[j + k])
                if after:
                    counts = np.array([after.count(token) for token in range(V)])
                    kinds = len(set(after))
                    p = (counts + kinds * p) / (len(after) + kinds)
            expect(model.next(text[:i]), p, f"order {order}, after {text[:i]}")
            logs.append(math.log(p[text[i]]))
        expect(model.log_probability(text), logs, f"order {order}")
    assert np.shape(model.log_probability([])) == (0,)
    assert raised(model.log_probability, [0, 5])[0] == "IndexError"
