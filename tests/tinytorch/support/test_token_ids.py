"""Token ids, vocabularies, counts of n-grams, and sums of rows by id."""

import os

import numpy as np
import pytest

from tinytorch.core.tensor import Tensor
from tinytorch.support.token_ids import (
    NGramCounts,
    as_ids,
    as_rows,
    read_file,
    scatter_add,
    write_file,
)


@pytest.mark.parametrize("ids", [[[1, 2]], np.array([[1, 2]], "int32"), Tensor(np.array([[1, 2]]))])
def test_ids_become_int64_rows(ids):
    rows = as_rows(ids)
    assert rows.dtype == np.int64 and rows.tolist() == [[1, 2]]


@pytest.mark.parametrize("ids", [[1, 2], [[]], [[[1]]], 5])
def test_other_shapes_are_refused(ids):
    with pytest.raises(ValueError, match=r"shape \(B, T\)"):
        as_rows(ids)


def test_floats_are_refused():
    with pytest.raises(TypeError, match="ids are integers"):
        as_rows([[1.5]])


def test_a_text_comes_back_byte_for_byte(tmp_path):
    path = tmp_path / "a.json"
    for text in ('{"key": "é\\n猫"}', '{"key": 1,\n "b": 2}\n'):
        write_file(path, text)
        assert path.read_bytes() == text.encode() and read_file(path, "key") == text


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    write_file(path, '{"key": 1}')

    def refuse(*paths):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="no space left"):
        write_file(path, '{"key": 2}')
    assert read_file(path, "key") == '{"key": 1}'
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


def test_a_file_without_the_key_is_refused(tmp_path):
    path = tmp_path / "a.json"
    for text in ('{"other": 1}', '["key"]', '"key"', "no JSON"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match="a.json .* has no 'key'"):
            read_file(path, "key")


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
        np.testing.assert_allclose(scatter_add(rows, where, count), wanted)
