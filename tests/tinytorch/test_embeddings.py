"""The exported embeddings lesson: compared with PyTorch, and with counting in dictionaries; the
figures that the chapter's pictures show.
"""

import bz2
import lzma
import math
import zlib
from collections import Counter

import numpy as np
import pytest

from tinytorch import nn
from tinytorch import text as public
from tinytorch.core import embeddings as lesson
from tinytorch.core.autograd import no_grad
from tinytorch.core.embeddings import (
    Embedding,
    NGram,
    RecurrentModel,
    WindowModel,
    bigram_counts,
    bits_per_character,
    embedding,
    name_windows,
    nearest,
    probabilities,
    rnn_step,
    windows,
)
from tinytorch.core.layers import manual_seed
from tinytorch.core.losses import cross_entropy
from tinytorch.core.optimizers import AdamW, clip_grad_norm_
from tinytorch.core.tensor import Tensor, Variable
from tinytorch.core.tokenization import CharTokenizer
from tinytorch.data.texts import load_names, load_text
from tinytorch.pictures.embeddings import COMPRESSORS, MODELS, padded_batch

BITS = {label: bits for label, bits, _ in MODELS}


@pytest.fixture(scope="module")
def names():
    """The ids of training and test names, and of both as one text, as the chapter has them."""
    order = np.random.default_rng(0).permutation(load_names()).tolist()
    letters = CharTokenizer("\n" + "".join(order))
    parts = order[:4646], order[4646:]
    words = [[letters.encode(name) for name in part] for part in parts]
    streams = [letters.encode("\n" + "\n".join(part) + "\n") for part in parts]
    return words, streams


# Embedding


def test_the_three_ways_to_the_gradient_agree(monkeypatch):
    rng = np.random.default_rng(0)
    for shape, V, D in [((7,), 3, 2), ((4, 5), 50, 3), ((2, 3, 4), 6, 1), ((0,), 5, 2)]:
        ids, g = rng.integers(0, V, shape), rng.normal(size=(*shape, D)).astype("float32")
        weight, by_add = np.zeros((V, D), "float32"), np.zeros((V, D), "float32")
        np.add.at(by_add, ids, g)
        for limit in (0, 10**9):
            monkeypatch.setattr(lesson, "ONE_HOT_LIMIT", limit)
            gradient = lesson.embedding_rule(g, None, weight, ids)
            assert gradient.dtype == np.float32
            np.testing.assert_allclose(gradient, by_add, rtol=1e-5, atol=1e-6)


def test_ids_that_change_later_change_no_gradient():
    ids, table = np.array([1, 1]), Variable(np.zeros((3, 2)))
    out = embedding(ids, table)
    ids[:] = 0
    out.backward(np.ones((2, 2)))
    assert table.grad.tolist() == [[0, 0], [2, 2], [0, 0]]


@pytest.mark.parametrize(
    ("ids", "error", "words"),
    [
        ([0, 5], IndexError, "id 5 has no row in an embedding of 5 tokens"),
        ([[-2]], IndexError, "id -2"),
        ([0.0, 1.0], TypeError, "token ids are integers, these are float64"),
        ([True], TypeError, "bool"),
        (["a"], TypeError, "encode the text first"),
    ],
    ids=["large", "negative", "float", "bool", "text"],
)
def test_ids_that_are_no_tokens_are_refused(ids, error, words):
    with pytest.raises(error, match=words):
        Embedding(5, 2)(ids)


def test_a_look_up_shares_no_memory_with_the_table():
    layer = Embedding(4, 3)
    before = layer.weight.numpy()
    for ids in (2, [2], [[0, 1], [2, 3]]):
        with no_grad():
            out = layer(ids)
            out += 1
    assert np.array_equal(layer.weight.data, before)
    assert layer(3).shape == (3,) and layer([]).shape == (0, 3)


def test_a_tied_table_gets_both_gradients():
    layer = Embedding(5, 3, rng=0)
    hidden = layer([1, 4])
    (hidden @ layer.weight.T).sum().backward()
    wanted = np.tile(layer.weight.data[[1, 4]].sum(0), (5, 1))
    wanted[[1, 4]] += layer.weight.data.sum(0)
    np.testing.assert_allclose(layer.weight.grad, wanted, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_embeddings_equal_pytorchs(torch, seed):
    rng = np.random.default_rng(seed)
    V, D = rng.integers(1, 40, 2)
    shape = tuple(rng.integers(1, 6, rng.integers(1, 4)))
    ids, table = rng.integers(0, V, shape), rng.normal(size=(V, D)).astype("float32")
    g = rng.normal(size=(*shape, D)).astype("float32")
    layer, other = nn.Embedding(V, D), torch.nn.Embedding(V, D)
    layer.weight.data[...] = table
    with torch.no_grad():
        other.weight.copy_(torch.tensor(table))
    out, wanted = layer(ids), other(torch.tensor(ids))
    np.testing.assert_array_equal(out.data, wanted.detach().numpy())
    out.backward(g)
    wanted.backward(torch.tensor(g))
    np.testing.assert_allclose(layer.weight.grad, other.weight.grad.numpy(), 1e-5, 1e-6)
    same = torch.nn.functional.embedding(torch.tensor(ids), torch.tensor(table)).numpy()
    np.testing.assert_array_equal(nn.functional.embedding(ids, Tensor(table)).data, same)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_recurrent_step_equals_pytorchs(torch, seed):
    rng = np.random.default_rng(seed)
    batch, D, N, T = (int(n) for n in rng.integers(1, 7, 4))
    cell = torch.nn.RNN(D, N, batch_first=True)
    w, u = cell.weight_ih_l0.detach().numpy().T, cell.weight_hh_l0.detach().numpy().T
    b = (cell.bias_ih_l0 + cell.bias_hh_l0).detach().numpy()
    x = rng.normal(size=(batch, T, D)).astype("float32")
    g = rng.normal(size=(batch, N)).astype("float32")
    mine = [Variable(np.ascontiguousarray(array)) for array in (x, w, u, b)]
    h = Tensor(np.zeros((batch, N), "float32"))
    for t in range(T):
        h = rnn_step(mine[0][:, t], h, *mine[1:])
    other = torch.tensor(x, requires_grad=True)
    _, state = cell(other)
    np.testing.assert_allclose(h.data, state[0].detach().numpy(), 1e-4, 1e-5)
    h.backward(g)
    state[0].backward(torch.tensor(g))
    for found, wanted in [
        (mine[0].grad, other.grad),
        (mine[1].grad, cell.weight_ih_l0.grad.T),
        (mine[2].grad, cell.weight_hh_l0.grad.T),
        (mine[3].grad, cell.bias_hh_l0.grad),
    ]:
        np.testing.assert_allclose(found, wanted.numpy(), 1e-3, 1e-5)


@pytest.mark.slow
def test_neighbours_agree_with_pytorchs_cosine_similarity(torch):
    table = np.random.default_rng(2).normal(size=(30, 6))
    for id in range(30):
        cosines = torch.nn.functional.cosine_similarity(
            torch.tensor(table), torch.tensor(table[id : id + 1])
        ).numpy()
        cosines[id] = -2
        assert nearest(table, id, 7).tolist() == np.argsort(-cosines)[:7].tolist()


# Models


def test_a_state_dict_brings_a_model_back():
    for model, again in [
        (WindowModel(9, 3, 4, 5), WindowModel(9, 3, 4, 5)),
        (RecurrentModel(9, 4, 5), RecurrentModel(9, 4, 5)),
    ]:
        again.load_state_dict(model.state_dict())
        ids = np.random.default_rng(0).integers(0, 9, (2, 3))
        one, other = model(ids), again(ids)
        if isinstance(one, tuple):
            one, other = one[0], other[0]
        assert np.array_equal(one.data, other.data) and one.dtype == np.float32


def test_a_window_of_another_length_is_refused():
    with pytest.raises(ValueError, match=r"\(\.\.\., 12\), not \(2, 8\)"):
        WindowModel(9, 3, 4, 5)(np.zeros((2, 2), int))


def test_a_mask_excludes_the_padding():
    model = RecurrentModel(27, 4, 8)
    long, short = np.array([3, 1, 4, 1, 5]), np.array([9])

    def losses(names):
        x, y, mask = padded_batch(names)
        return (cross_entropy(model(x)[0], y, reduction="none") * mask).data.sum(axis=1)

    np.testing.assert_allclose(losses([long, short])[1], losses([short])[0], rtol=1e-5)


def test_bigrams_are_an_ngram_model_of_order_2(names):
    (_, streams) = names
    counts = bigram_counts(streams[0], 27)
    model = NGram(2).fit(streams[0], 27)
    p = model.next([1])
    distinct, total = (counts[1] > 0).sum(), counts[1].sum()
    lower = NGram(1).fit(streams[0], 27).next([])
    np.testing.assert_allclose(p, (counts[1] + distinct * lower) / (total + distinct))
    assert counts.sum() == len(streams[0]) - 1


def test_an_ngram_model_agrees_with_dictionaries():
    text = load_text()[5000:9000]
    tokens = CharTokenizer(text)
    ids, test = tokens.encode(text[:3500]).tolist(), tokens.encode(text[3500:]).tolist()
    V, order = tokens.vocab_size, 4
    follows = {}
    for k in range(order):
        for i in range(k, len(ids)):
            follows.setdefault(tuple(ids[i - k : i]), Counter())[ids[i]] += 1
    wanted = []
    for i, id in enumerate(test):
        p = 1 / V
        for k in range(min(order, i + 1)):
            if seen := follows.get(tuple(test[i - k : i])):
                p = (seen[id] + len(seen) * p) / (seen.total() + len(seen))
        wanted.append(math.log(p))
    model = NGram(order).fit(ids, V)
    np.testing.assert_allclose(model.log_probability(test), wanted)
    assert abs(model.next(test[:50]).sum() - 1) < 1e-12


def test_too_many_n_grams_are_refused():
    with pytest.raises(ValueError, match="take a smaller order"):
        NGram(8).fit([0, 1], 1024)


def test_no_bit_of_a_word_of_tokens_is_lost():
    ids = np.random.default_rng(0).integers(0, 1024, 4000)
    x, y = windows(ids, 6)
    assert np.array_equal(np.column_stack([x, y])[:, 3], ids[3 : 3 + len(y)])


# What the chapter shows


def test_figures_of_the_counting_models(names):
    (_, (train, test)) = names
    assert abs(math.log2(27) - BITS["all letters alike"]) < 0.01
    P = probabilities(bigram_counts(train, 27))
    nats = -np.log(P[test[:-1], test[1:]]).sum()
    assert abs(bits_per_character(nats, len(test) - 1) - BITS["bigrams"]) < 0.01
    found = [
        -NGram(order).fit(train, 27).log_probability(test)[1:].mean() / math.log(2)
        for order in range(1, 7)
    ]
    assert abs(found[3] - BITS["4-grams, interpolated"]) < 0.01 and min(found) == found[3]


@pytest.mark.slow
def test_figures_of_the_networks(names):
    ((train, test), _) = names
    x, y = name_windows(train, 4, 0)

    def fit(model, loss, steps):
        optimizer, rng = AdamW(model.parameters(), 0.01), np.random.default_rng(1)
        for step in range(steps):
            optimizer.param_groups[0]["lr"] = 0.01 * (1 - step / steps)
            optimizer.zero_grad()
            loss(rng).backward()
            clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()

    def batch_loss(rng):
        batch = rng.integers(0, len(y), 256)
        return cross_entropy(window(x[batch]), y[batch])

    def name_loss(names):
        inputs, targets, mask = padded_batch(names)
        return (
            cross_entropy(model(inputs)[0], targets, reduction="none") * mask
        ).sum() / mask.sum()

    manual_seed(1)
    window = WindowModel(27, 4, 8, 64)
    fit(window, batch_loss, 1000)
    x_test, y_test = name_windows(test, 4, 0)
    bits = bits_per_character(cross_entropy(window(x_test), y_test), 1)
    assert abs(bits - BITS["window of 4 letters"]) < 0.04
    manual_seed(1)
    model = RecurrentModel(27, 8, 64)
    fit(model, lambda rng: name_loss([train[i] for i in rng.integers(0, len(train), 64)]), 800)
    assert abs(bits_per_character(name_loss(test), 1) - BITS["recurrent network"]) < 0.04


@pytest.mark.slow
def test_figures_of_the_novels():
    train, test = load_text("train"), load_text("test")
    tokens = CharTokenizer(train + test)
    ids, test_ids = tokens.encode(train), tokens.encode(test)
    seven = NGram(7).fit(ids, tokens.vocab_size)
    found = []
    for order in range(1, 8):
        model = NGram(order)
        model.vocab_size, model.counts = tokens.vocab_size, seven.counts[:order]
        found.append(-model.log_probability(test_ids).mean() / math.log(2))
    np.testing.assert_allclose(found[2:], [2.64, 2.06, 1.79, 1.73, 1.76], atol=0.01)
    both, first = (train + test).encode(), train.encode()
    for name, compress in [
        ("zlib", lambda data: zlib.compress(data, 9)),
        ("xz", lambda data: lzma.compress(data, preset=9)),
        ("bz2", bz2.compress),
    ]:
        bits = 8 * (len(compress(both)) - len(compress(first))) / len(test)
        assert abs(bits - COMPRESSORS[name]) < 0.02, name


def test_the_public_modules_have_the_names():
    assert nn.Embedding is Embedding and nn.functional.embedding.__wrapped__ is embedding
    for name in ("NGram", "RecurrentModel", "WindowModel", "bits_per_character", "nearest"):
        assert getattr(public, name) is getattr(lesson, name)
