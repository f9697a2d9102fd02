"""Counts of n-grams, ids, and sums of the rows that belong together."""

import numpy as np
import pytest

from tinytorch.pictures.embeddings import padded_batch, sample_name
from tinytorch.support.ids import as_ids
from tinytorch.support.ngrams import NGramCounts
from tinytorch.support.segments import segment_sums


def test_counts_are_those_of_a_loop():
    rng = np.random.default_rng(0)
    text, other = rng.integers(0, 3, 80).tolist(), rng.integers(0, 4, 20).tolist()
    for length in range(4):
        counts = NGramCounts(text, length, 4)
        grams = [tuple(text[i : i + length + 1]) for i in range(len(text) - length)]
        looked_up = np.array(counts.look_up(other))
        for k in range(len(other) - length):
            context, token = tuple(other[k : k + length]), other[k + length]
            after = [gram[-1] for gram in grams if gram[:-1] == context]
            wanted = [after.count(token), len(after), len(set(after))]
            assert looked_up[:, k].tolist() == wanted
            table, total, distinct = counts.following(context)
            assert table.tolist() == [after.count(id) for id in range(4)]
            assert [total, distinct] == wanted[1:]
        assert len(counts) == len(set(grams))


def test_a_text_without_an_ngram_counts_nothing():
    counts = NGramCounts([1], 2, 3)
    assert len(counts) == 0
    assert [part.tolist() for part in counts.look_up([0, 1, 2])] == [[0], [0], [0]]
    assert [len(part) for part in counts.look_up([0])] == [0, 0, 0]
    assert counts.following([0, 1])[1:] == (0, 0)


def test_too_many_ngrams_to_number_are_refused():
    NGramCounts([0], 5, 1024)
    with pytest.raises(ValueError, match="n-grams of length 7"):
        NGramCounts([0], 6, 1024)


@pytest.mark.parametrize("wrong", [[0, 7], [-1]], ids=["large", "negative"])
def test_ids_outside_of_the_vocabulary_name_the_first(wrong):
    with pytest.raises(IndexError, match=f"id {wrong[-1]} is none of the 7 ids"):
        as_ids(wrong, 7)


def test_ids_are_copied():
    given = np.array([[1, 2]], np.int32)
    got = as_ids(given)
    given[:] = 0
    assert got.tolist() == [[1, 2]] and got.dtype == np.int64 and as_ids([]).dtype == np.int64


def test_segment_sums_agree_with_add_at():
    rng = np.random.default_rng(1)
    for n, count in [(0, 3), (1, 1), (50, 7), (50, 500)]:
        rows, where = rng.normal(size=(n, 4)), rng.integers(0, count, n)
        wanted = np.zeros((count, 4))
        np.add.at(wanted, where, rows)
        np.testing.assert_allclose(segment_sums(rows, where, count), wanted)


def test_a_padded_batch_masks_what_lies_behind_the_end():
    x, y, mask = padded_batch([[3, 1, 4], [], [5]], end=9)
    assert x.tolist() == [[9, 3, 1, 4], [9, 9, 9, 9], [9, 5, 9, 9]]
    assert y.tolist() == [[3, 1, 4, 9], [9, 9, 9, 9], [5, 9, 9, 9]]
    assert mask.tolist() == [[1, 1, 1, 1], [1, 0, 0, 0], [1, 1, 0, 0]]


def test_a_sampled_name_ends():
    rng = np.random.default_rng(0)
    assert sample_name(lambda ids: [9.0, -9.0, -9.0], rng) == []
    assert sample_name(lambda ids: [-99.0, 9.0], rng, longest=5) == [1] * 5
    drawn = [sample_name(lambda ids: [0.0, 0.0, -np.inf], rng) for _ in range(50)]
    assert len({tuple(one) for one in drawn}) > 3 and all(2 not in one for one in drawn)
