"""The exported generation lesson: exact distributions by enumeration, the cache against the whole
model, PyTorch's sampling, masks and attention.
"""

import itertools
import math

import numpy as np
import pytest

from tinytorch import generate as public
from tinytorch.core.activations import softmax
from tinytorch.core.generation import (
    KVCache,
    filtered,
    generate,
    sample,
    slide,
    speculative,
    step,
    top_k,
    top_p,
    with_temperature,
)
from tinytorch.core.tensor import Tensor
from tinytorch.core.transformers import GPT


def small_gpt(seed=0, vocab_size=5, context=12, layers=2, **settings):
    """A GPT with random weights that are large enough to matter."""
    model, rng = GPT(vocab_size, context, 8, layers, 2, **settings), np.random.default_rng(seed)
    for p in model.parameters():
        p.data[...] = rng.normal(0, 0.5, p.shape)
    return model.eval()


class Given(np.random.Generator):
    """A generator whose `random` gives these numbers, one after the other, and whose `choice`
    takes the piece of the next one."""

    def __init__(self, numbers):
        super().__init__(np.random.PCG64())
        self.numbers = iter(numbers)

    def random(self, size=None):
        if size is None:
            return next(self.numbers)
        return np.array([next(self.numbers) for _ in range(math.prod(size))]).reshape(size)

    def choice(self, a, p):
        assert len(p) == a and abs(sum(p) - 1) < 1e-9 and min(p) >= 0
        return int((np.cumsum(p) <= next(self.numbers)).sum())


# Sampling and filters


def test_sample_stays_within_the_vocabulary():
    below_1 = np.nextafter(1, 0)
    logits = np.random.default_rng(0).normal(size=(1, 1000)).astype("float32")
    assert sample(logits, Given([below_1])).data[0] < 1000
    assert sample([[1.0, -np.inf]], Given([below_1])).data[0] == 0
    assert sample([[-np.inf, 1.0]], Given([0.0])).data[0] == 1


def test_filters_keep_the_dtype():
    logits = np.random.default_rng(1).normal(size=(2, 5)).astype("float32")
    for filtered_logits in (
        with_temperature(logits, 0.7),
        with_temperature(logits, 0),
        top_k(logits, 2),
        top_p(logits, 0.5),
        filtered(Tensor(logits), 0.7, 3, 0.9),
    ):
        assert filtered_logits.dtype == np.float32 and filtered_logits.shape == (2, 5)


def test_filters_in_any_combination_leave_a_token():
    logits = np.random.default_rng(2).normal(size=(4, 6))
    for t, k, p in itertools.product((0, 0.5, 3.0), (None, 1, 4), (None, 1e-6, 1.0)):
        kept = np.isfinite(filtered(Tensor(logits), t, k, p).data)
        assert kept.any(axis=-1).all() and (kept.sum(axis=-1) <= (k or 6)).all()
        assert kept[np.arange(4), logits.argmax(axis=-1)].all()


# The cache


def test_a_model_in_float64_has_a_cache_in_float64():
    model = small_gpt(3)
    for p in model.parameters():
        p.data = p.data.astype(np.float64)
    cache, ids = KVCache.for_model(model), np.array([[1, 2, 3, 4]])
    logits = [step(model, ids[:, i : i + 1], cache).data[:, 0] for i in range(4)]
    assert cache.keys.dtype == np.float64
    assert np.allclose(np.stack(logits, axis=1), model(ids).data, atol=1e-12)


def test_generate_leaves_the_model_in_its_mode():
    model = small_gpt(4, dropout=0.5)
    model.train()
    assert np.array_equal(*(generate(model, [[1]], 8, temperature=0) for _ in range(2)))
    assert model.training and all(p.grad is None for p in model.parameters())


def test_generate_is_a_method_of_the_model_and_ends_at_any_of_several_tokens():
    model = small_gpt(4)
    ids = generate(model, [[1]], 8, temperature=0)
    for prompt in ([[1]], [1], np.array([1])):  # one list of ids is one row
        assert np.array_equal(model.generate(prompt, 8, temperature=0), ids)
    stops = ids[0, [3, 5]].tolist()
    end = next(n for n in range(1, 9) if ids[0, n] in stops)
    assert np.array_equal(generate(model, [[1]], 8, temperature=0, stop=stops), ids[:, :end])


def test_generate_refuses_what_is_no_batch_of_ids():
    with pytest.raises(ValueError, match="one row for each text"):
        generate(small_gpt(), [[[1, 2]]], 3)
    with pytest.raises(ValueError, match=r"not \(2,\); one list of ids is a row"):
        small_gpt()([1, 2])
    with pytest.raises(ValueError, match="stop is for one row"):
        generate(small_gpt(), [[1], [2]], 3, stop=0)
    with pytest.raises(IndexError):
        generate(small_gpt(), [[7]], 1)


def test_keys_with_learned_positions_cannot_slide():
    model = small_gpt()
    cache = KVCache.for_model(model)
    step(model, [[1, 2]], cache)
    slide(cache, 1)
    with pytest.raises(ValueError, match="learned positions"):
        step(model, [[3]], cache)
    cache.reset()
    step(model, [[3]], cache)


# Speculative decoding


def text_probabilities(model, ids, n):
    """{tokens: probability} of all continuations by n tokens, by the model at temperature 1."""
    texts = {}
    for tokens in itertools.product(range(model.vocab_size), repeat=n):
        whole = np.concatenate([ids, [tokens]], axis=1)
        p = softmax(model(whole)).data[0].astype(np.float64)
        first = ids.shape[1] - 1
        texts[tokens] = math.prod(p[first + i, token] for i, token in enumerate(tokens))
    return texts


class Bigram:
    """A draft model: a table of the probabilities after each token."""

    def __init__(self, table):
        self.table = np.array(table)

    def next(self, ids):
        return self.table[ids[-1]]


class Every:
    """A random generator that takes each branch once, and knows the probability of its path."""

    def __init__(self):
        self.choices, self.at, self.probability = [], 0, 1.0

    def branch(self, p):
        """The next branch; the branches have the probabilities p."""
        open_branches = [i for i, chance in enumerate(p) if chance > 0]
        if self.at == len(self.choices):
            self.choices.append([0, len(open_branches)])
        k = self.choices[self.at][0]
        self.at += 1
        self.probability *= p[open_branches[k]]
        return open_branches[k]

    def next_path(self):
        """Go to the next path; False when there is none."""
        while self.choices and self.choices[-1][0] + 1 == self.choices[-1][1]:
            self.choices.pop()
        if not self.choices:
            return False
        self.choices[-1][0] += 1
        self.at, self.probability = 0, 1.0
        return True


@pytest.mark.parametrize("ahead", [1, 2])
def test_speculative_text_has_exactly_the_distribution_of_the_model(ahead, monkeypatch):
    """Over a vocabulary of 3 tokens, every path of decisions with its probability."""
    model, ids, n = small_gpt(6, vocab_size=3, layers=1), np.array([[1, 2]]), 3
    draft = Bigram([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2], [0.1, 0.1, 0.8]])
    every = Every()

    def accept_by_branch(p, q, token, rng):
        chance = min(1.0, p[token] / q[token])
        if every.branch([chance, 1 - chance]) == 0:
            return True, token
        rest = np.maximum(np.subtract(p, q), 0)
        return False, every.branch(rest / rest.sum())

    class Branching(np.random.Generator):
        def __init__(self):
            super().__init__(np.random.PCG64())

        def choice(self, a, p):
            return every.branch(p)

    # where `speculative` looks it up: other tests may have imported the module anew
    monkeypatch.setitem(speculative.__globals__, "accept", accept_by_branch)
    found, paths = {}, 0
    while True:
        text, counts = speculative(model, draft, ids, n, ahead, rng=Branching())
        tokens = tuple(text[0, 2:].tolist())
        found[tokens] = found.get(tokens, 0) + every.probability
        assert 0 <= counts["accepted"] <= counts["proposed"]
        paths += 1
        if not every.next_path():
            break
    wanted = text_probabilities(model, ids, n)
    assert paths > 50 and abs(sum(found.values()) - 1) < 1e-9
    assert all(abs(found[tokens] - wanted[tokens]) < 1e-6 for tokens in wanted)


# Beam search


# The public module


def test_the_door_has_the_lesson():
    assert public.generate is generate and public.KVCache is KVCache
    assert set(public.__all__) >= {"sample", "top_k", "top_p", "speculative", "beam"}


# PyTorch


@pytest.mark.slow
def test_cached_attention_is_torchs_with_a_mask_aligned_at_the_end(torch):
    from tinytorch.core.generation import attend_cached

    q, k, v = np.random.default_rng(11).normal(size=(3, 2, 3, 7, 4)).astype("float32")
    cache, F = KVCache(1, 2, 3, 7, 4), torch.nn.functional
    for part in (slice(0, 4), slice(4, 5), slice(5, 7)):
        new = (Tensor(x[:, :, part]) for x in (q, k, v))
        ours = attend_cached(*new, cache, 0).data
        t, held = ours.shape[2], part.stop
        mask = torch.ones(t, held, dtype=torch.bool).tril(held - t)
        args = [torch.tensor(x) for x in (q[:, :, part], k[:, :, :held], v[:, :, :held])]
        theirs = F.scaled_dot_product_attention(*args, attn_mask=mask).numpy()
        assert np.allclose(ours, theirs, atol=1e-5)
