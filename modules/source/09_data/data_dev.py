# ---
# jupyter:
#   jupytext:
#     notebook_metadata_filter: tinytorch,-jupytext.text_representation.jupytext_version
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   tinytorch:
#     difficulty: 3
#     enables:
#     - convolutions
#     - transformers
#     hours: 5
#     prerequisites:
#     - tensor
#     - layers
#     summary: Real pictures, split, shuffled, batched and varied
#     title: Data
# ---

# %% [markdown]
# # 09. Data
#
# A network learns what its examples show, in the order and the numbers in which they come. Most of
# what goes wrong on the way makes no noise: a last batch that nobody sees, a test set that is all
# nines, a picture that was turned upside down. This chapter brings real pictures to a network, and
# proves at each step that none was lost, doubled or damaged.
#
# **You need** 01 (Tensor), and from 03 (Layers) where chance comes from. **You write** datasets,
# splits, batches, a loader that works ahead in a thread, a file format, and three ways to vary a
# picture.

# %%
#| default_exp core.data
#| export
import math
import os
import queue
import sys
import threading
from pathlib import Path

import numpy as np

from tinytorch.core.layers import generator
from tinytorch.core.tensor import Tensor

# %% [markdown]
# ## Something with a length and places
#
# All that the rest of this chapter asks of data is two things: how many examples there are, and
# example number `i`. A list does both. So does a folder of photographs that are opened only when
# somebody asks for one. `Dataset` is the class of such things; an example is usually a pair, what
# goes into the network and what should come out.

# %%
#| export
class Dataset:
    """Examples that can be counted and asked for by number. A subclass writes `__len__` and `__getitem__`.

    dataset[i]  one example: an array, a number, or a tuple of such; IndexError when there is no number i
    """

    def __len__(self):
        raise NotImplementedError(f"{type(self).__name__} has no method __len__; it says how many examples there are")

    def __getitem__(self, i):
        raise NotImplementedError(f"{type(self).__name__} has no method __getitem__; it gives example number i")

    def batch(self, indices):
        """The examples with these numbers, as one batch: see `collate`."""
        return collate([self[i] for i in np.asarray(indices).tolist()])

# %% [markdown]
# Most often the examples stand in arrays, one row each: pictures in one, the right answers in
# another. They stay NumPy arrays until a batch of them is made; a dataset needs no slopes.
#
# Predict what `a[2]`, `a[-1]` and `a[[2, 0]]` are for an array of shape (5, 8, 8), and which of them
# are copies.
#
# **Task.** Write `__getitem__` of `TensorDataset`.
#
# <details><summary>Hint 1</summary>Picture number <code>i</code> belongs to answer number
# <code>i</code>. What one place is there in each array?</details>
# <details><summary>Hint 2</summary>The result is a tuple with as many members as there are arrays,
# also when that is one.</details>
# <details><summary>Hint 3</summary><code>tuple(... for array in self.arrays)</code>. NumPy already
# knows negative places and raises IndexError beyond the ends.</details>

# %% nbgrader={"grade": false, "grade_id": "data-tensors", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
class TensorDataset(Dataset):
    """Examples that stand in the rows of arrays: example i is row i of each.

    arrays   Tensors, arrays or nested lists, all with equally many rows; arrays are not copied

    .arrays  them, as a tuple of ndarrays

    dataset[i] is a tuple with one row of each array. IndexError when there is no such row; also an array of numbers
    will do for `i`, and gives those rows of each.

    >>> pairs = TensorDataset([[0.5, 1.0], [2.0, 3.0]], [7, 9])
    >>> pairs[1]
    (array([2., 3.], dtype=float32), np.int64(9))

    Source: torch.utils.data.TensorDataset.
    """

    def __init__(self, *arrays):
        self.arrays = tuple(a if isinstance(a, np.ndarray) else Tensor(a).data for a in arrays)
        lengths = [len(a) if a.ndim else "none" for a in self.arrays]
        if not arrays or len(set(lengths)) > 1 or "none" in lengths:
            raise ValueError(f"TensorDataset takes arrays with equally many rows, these have {lengths}: "
                             "each picture needs its answer, and the other way round")

    def __len__(self):
        return len(self.arrays[0])

    def __getitem__(self, i):
        ### BEGIN SOLUTION
        return tuple(array[i] for array in self.arrays)
        ### END SOLUTION

    def batch(self, indices):
        return tuple(Tensor(rows) for rows in self[np.asarray(indices)])  # all rows at once

# %% nbgrader={"grade": true, "grade_id": "check-tensors", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_example_i_is_row_i_of_each_array():
    pictures, answers = np.arange(30, dtype="float32").reshape(5, 3, 2), np.array([4, 0, 7, 1, 9])
    dataset = TensorDataset(pictures, answers)
    assert len(dataset) == 5, f"5 pictures and 5 answers are 5 examples, yours {len(dataset)}"
    for i in (0, 3, 4, -1, -5):
        example = dataset[i]
        assert isinstance(example, tuple) and len(example) == 2, (
            f"with two arrays an example is a tuple of two, yours is {example!r:.200}")
        assert np.array_equal(np.asarray(example[0]), pictures[i]) and np.asarray(example[0]).dtype.name == "float32", (
            f"example {i} should have the picture\n{pictures[i]}, yours has\n{example[0]}")
        assert int(example[1]) == answers[i], f"example {i} should have the answer {answers[i]}, yours has {example[1]}"


def test_one_array_or_three_will_do():
    for count in (1, 3):
        arrays = [np.arange(4 * (k + 2), dtype="float64").reshape(4, k + 2) for k in range(count)]
        example = TensorDataset(*arrays)[2]
        assert isinstance(example, tuple) and len(example) == count, (
            f"{count} array(s): an example is a tuple of {count}, yours is {example!r:.200}")
        for found, array in zip(example, arrays):
            assert np.array_equal(np.asarray(found), array[2]), f"row 2 is {array[2]}, yours {found}"


def test_there_is_no_example_beyond_the_ends():
    dataset = TensorDataset(np.ones((3, 2), "float32"), np.array([5, 6, 7]))
    for i in (3, -4, 100):
        try:
            found = dataset[i]
        except IndexError:
            pass
        else:
            assert False, f"there are 3 examples, number {i} should be an IndexError, yours is {found}"
    walked = [int(answer) for _, answer in dataset]
    assert walked == [5, 6, 7], f"`for picture, answer in dataset` should meet 5, 6, 7; yours {walked}"


def test_several_rows_may_be_asked_for_at_once():
    pictures, answers = np.arange(14, dtype="float32").reshape(7, 2) ** 2, np.arange(7) * 10
    rows, found = TensorDataset(pictures, answers)[np.array([5, 0, 5])]
    assert np.array_equal(np.asarray(rows), pictures[[5, 0, 5]]), f"rows 5, 0, 5 of the pictures; yours\n{rows}"
    assert np.array_equal(np.asarray(found), [50, 0, 50]), f"answers 5, 0, 5 are 50, 0, 50; yours {found}"


test_example_i_is_row_i_of_each_array()
test_one_array_or_three_will_do()
test_there_is_no_example_beyond_the_ends()
test_several_rows_may_be_asked_for_at_once()

# %% nbgrader={"grade": true, "grade_id": "check-tensors-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_examples_of_other_arrays():
    scores, names, flags = np.linspace(-3, 3, 11), np.arange(44, dtype="uint8").reshape(11, 1, 4), np.arange(11) % 3 == 0
    dataset = TensorDataset(Tensor(scores), names, flags.tolist(), np.zeros((11, 0), "float32"))
    for i in (10, -11, np.int64(6)):
        found = [np.asarray(part) for part in dataset[i]]
        right = [scores[i], names[i], flags[i], np.zeros(0)]
        assert [part.shape for part in found] == [(), (1, 4), (), (0,)], f"example {i} has shapes {found}"
        assert all(np.array_equal(a, b) for a, b in zip(found, right)), f"example {i}: {right} expected, got {found}"
    assert found[1].dtype.name == "uint8" and found[2].dtype.name == "bool", f"dtypes of {found}"


test_examples_of_other_arrays()
### END HIDDEN TESTS

# %% [markdown]
# ## Set some aside
#
# A network can learn its examples by heart, so what it is worth is asked on examples that it never
# saw. A `Subset` is a dataset, too: it knows another one, and which of its examples are in it. No
# picture is copied.

# %%
#| export
class Subset(Dataset):
    """Some examples of another dataset: example i is that one's example indices[i].

    >>> Subset(["a", "b", "c"], [2, 0])[0]
    'c'

    Source: torch.utils.data.Subset.
    """

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, np.asarray(indices, dtype=np.int64)

    def __len__(self):
        return len(self.indices)

    def __getitem__(self, i):
        return self.dataset[int(self.indices[i])]

    def batch(self, indices):
        inner = self.indices[np.asarray(indices)]
        if isinstance(self.dataset, Dataset):
            return self.dataset.batch(inner)
        return collate([self.dataset[i] for i in inner.tolist()])

# %% [markdown]
# How many examples each part gets may be said in numbers, or in shares that add up to 1. Shares are
# rounded down, and what is left over is dealt out one by one, so that nobody is lost.

# %%
#| exporti
def whole_lengths(lengths, count):
    """How many of `count` examples each part gets: `lengths` themselves, or shares of `count` that add up to 1."""
    if abs(sum(lengths) - 1) < 1e-6 and all(0 <= n <= 1 for n in lengths):
        whole = [int(count * share) for share in lengths]
        return [n + (place < count - sum(whole)) for place, n in enumerate(whole)]
    if sum(lengths) != count or any(n < 0 for n in lengths):
        raise ValueError(f"the parts {list(lengths)} add up to {sum(lengths)}, there are {count} examples: "
                         "give numbers that add up to that, or shares that add up to 1")
    return [int(n) for n in lengths]

# %% [markdown]
# Many files are sorted: first all zeros, then all ones. Predict what a network trained on the first
# four fifths of such a file says to the last fifth.

# %%
sorted_answers = np.repeat(np.arange(10), 100)
print("in the first four fifths", np.unique(sorted_answers[:800]), "in the last fifth", np.unique(sorted_answers[800:]))

# %% [markdown]
# So the examples are mixed before they are dealt out.
#
# **Task.** Write `random_split`. The parts may not share an example, and together they have all.
#
# <details><summary>Hint 1</summary>Shuffle a pack of cards once, then cut it. Drawing each part anew
# from the full pack would give some cards twice.</details>
# <details><summary>Hint 2</summary><code>generator(rng).permutation(n)</code> gives the numbers 0 to
# n - 1 in random order, as a new array. The first part is its first <code>lengths[0]</code>; where
# does the second begin?</details>
# <details><summary>Hint 3</summary><code>np.cumsum(lengths)</code> says where each part ends, and
# <code>np.split(order, ends[:-1])</code> cuts there. A part is a <code>Subset</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "data-split", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def random_split(dataset, lengths, rng=None):
    """Deal the examples out at random, each to exactly one part.

    dataset  anything with a length and examples
    lengths  how many examples each part gets: whole numbers that add up to len(dataset), or shares that add up to 1
    rng      a NumPy Generator, a seed, or None for the layers' own generator
    returns  list of Subsets, in the order of `lengths`

    >>> [len(part) for part in random_split(range(10), [0.75, 0.25])]
    [8, 2]

    Source: torch.utils.data.random_split.
    """
    lengths = whole_lengths(lengths, len(dataset))
    ### BEGIN SOLUTION
    order = generator(rng).permutation(len(dataset))
    return [Subset(dataset, part) for part in np.split(order, np.cumsum(lengths)[:-1])]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-split", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
def test_each_example_is_in_exactly_one_part():
    for lengths in ([11, 4, 2], [5, 0, 12], [17]):
        parts = random_split(np.arange(17) * 10, lengths, rng=2)
        found = [[int(example) for example in part] for part in parts]
        assert [len(part) for part in parts] == lengths, (
            f"parts of {lengths} were asked for, yours have {[len(part) for part in parts]}")
        together = sorted(sum(found, []))
        assert together == [10 * k for k in range(17)], (
            f"17 examples dealt out as {lengths}: each should be in exactly one part, yours are {found}. Mix the "
            "numbers once, then cut; an example in two parts is known before the test")


def test_the_examples_are_mixed():
    first, rest = random_split(np.arange(200), [150, 50], rng=5)
    found = [int(example) for example in first]
    assert found != sorted(found), f"the first part is in order, {found[:8]} ...: a sorted file would stay sorted"
    late = sum(example >= 150 for example in found)
    assert 25 <= late <= 50, (
        f"the first part has {late} of the last 50 examples, about 37 is chance: cut a permutation of all the examples")


def test_shares_will_do():
    for count, shares, wanted in [(10, [0.75, 0.25], [8, 2]), (1797, [0.8, 0.2], [1438, 359]), (7, [0.5, 0.3, 0.2], [4, 2, 1])]:
        parts = random_split(np.arange(count), shares, rng=1)
        found = [len(part) for part in parts]
        assert found == wanted, f"{count} examples in shares of {shares} are {wanted}, yours {found}"
        assert len({int(example) for part in parts for example in part}) == count, (
            f"{count} examples in shares of {shares}: not all of them are in a part")


def test_a_split_can_be_repeated():
    def split(seed):
        return [[int(example) for example in part] for part in random_split(np.arange(40), [25, 15], rng=seed)]

    assert split(3) == split(3), "the same seed twice should give the same parts: draw from generator(rng)"
    assert split(3) != split(4), "seeds 3 and 4 gave the same parts: draw from generator(rng)"


def test_a_part_hands_on_the_example_itself():
    dataset = TensorDataset(np.arange(12, dtype="float32").reshape(6, 2), np.arange(6) * 100)
    (part,) = random_split(dataset, [6], rng=8)
    for picture, answer in part:
        assert float(picture[0]) * 50 == int(answer), (
            f"the picture {picture} came with the answer {answer}: a part hands on the example as it is")


test_each_example_is_in_exactly_one_part()
test_the_examples_are_mixed()
test_shares_will_do()
test_a_split_can_be_repeated()
test_a_part_hands_on_the_example_itself()

# %% nbgrader={"grade": true, "grade_id": "check-split-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_splits():
    for count, lengths, wanted in [(1, [1, 0], [1, 0]), (9, (0, 9), [0, 9]), (101, [0.5, 0.5], [51, 50]), (6, [1, 2, 3], [1, 2, 3])]:
        parts = random_split(dataset=np.arange(count) + 5, lengths=lengths, rng=generator(6))
        found = [[int(example) for example in part] for part in parts]
        assert [len(part) for part in found] == wanted, f"{count} as {lengths}: {wanted} expected, got {found}"
        assert sorted(sum(found, [])) == list(range(5, count + 5)), f"{count} as {lengths}: got {found}"
    rng = generator(7)
    first, second = [[int(x) for x in random_split(np.arange(30), [30], rng)[0]] for _ in range(2)]
    assert first != second, "one generator gave the same split twice"
    ordered = [[int(x) for x in random_split(np.arange(64), [60, 4], seed)[1]] for seed in range(12)]
    assert len({x for part in ordered for x in part}) > 20, f"12 seeds chose from few examples only: {ordered}"
    try:
        random_split(np.arange(9), [4, 4], rng=0)
    except ValueError as error:
        assert "8" in str(error) and "9" in str(error), f"the error should name 8 and 9: {error}"
    else:
        assert False, "4 and 4 are not 9: ValueError expected"


test_other_splits()
### END HIDDEN TESTS

# %% [markdown]
# Chance alone may give a small test set two sevens and nine ones. How far can it be off? Predict the
# smallest and the largest number of sevens among 100 drawn at random from 1,000 balanced digits, in a
# thousand tries.

# %%
rng = np.random.default_rng(0)
sevens = [(rng.permutation(sorted_answers)[:100] == 7).sum() for _ in range(1000)]
print(f"10 would be fair; the thousand tries have from {min(sevens)} to {max(sevens)}")

# %% [markdown]
# *Stratified* means: draw in each class for itself, then every class has its share.
#
# **Task.** Write `stratified_split`.
#
# <details><summary>Hint 1</summary>Where in the file are the sevens?
# <code>np.flatnonzero(labels == 7)</code>. Which classes there are, <code>np.unique(labels)</code>
# tells.</details>
# <details><summary>Hint 2</summary>In each class: mix the places, take the first
# <code>round(share * how_many)</code>.</details>
# <details><summary>Hint 3</summary>Make the generator once, before the loop.
# <code>np.concatenate</code> joins the classes, <code>np.sort</code> puts them in order;
# <code>np.setdiff1d(np.arange(n), picked)</code> is the rest.</details>

# %% nbgrader={"grade": false, "grade_id": "data-stratified", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def stratified_split(labels, share, rng=None):
    """Set a share of each class aside.

    labels   array of shape (n,): the class of each example
    share    from 0 to 1: what part of each class is set aside, rounded to whole examples
    rng      a NumPy Generator, a seed, or None for the layers' own generator
    returns  (rest, aside): two arrays of example numbers, each in rising order; together they are 0 ... n - 1

    >>> rest, aside = stratified_split(np.array([5, 5, 5, 8, 8, 8]), 1 / 3)
    >>> len(rest), len(aside)
    (4, 2)

    Source: sklearn.model_selection.train_test_split with `stratify`; Neyman (1934) on stratified sampling.
    """
    labels = np.asarray(labels)
    ### BEGIN SOLUTION
    rng, aside = generator(rng), []
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        aside.append(members[: round(share * len(members))])
    aside = np.sort(np.concatenate(aside))
    return np.setdiff1d(np.arange(len(labels)), aside), aside
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-stratified", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_every_class_gives_its_share():
    labels = np.array([3] * 50 + [8] * 10 + [-1] * 120)[np.argsort(np.arange(180) * 77 % 180)]
    for share, wanted in [(0.1, {3: 5, 8: 1, -1: 12}), (0.4, {3: 20, 8: 4, -1: 48})]:
        rest, aside = [np.asarray(part) for part in stratified_split(labels, share, rng=1)]
        for label, count in wanted.items():
            found = int((labels[aside] == label).sum())
            assert found == count, (
                f"{(labels == label).sum()} examples are of class {label}, {share:.0%} of them are {count}; yours sets "
                f"{found} aside. Draw in each class for itself")
        assert len(rest) == 180 - sum(wanted.values()), f"the rest has {180 - sum(wanted.values())}, yours {len(rest)}"


def test_no_example_is_in_both_or_lost():
    labels = np.arange(97) % 4
    rest, aside = [np.asarray(part) for part in stratified_split(labels, 0.3, rng=2)]
    both = set(rest.tolist()) & set(aside.tolist())
    assert not both, f"the examples {sorted(both)[:5]} are in both parts: what is tested would be known"
    together = sorted(rest.tolist() + aside.tolist())
    assert together == list(range(97)), f"together the parts are 0 to 96, yours have {len(together)}: {together[:9]} ..."
    for name, part in [("rest", rest), ("aside", aside)]:
        assert part.tolist() == sorted(part.tolist()), f"`{name}` should be in rising order, yours: {part[:9]} ..."


def test_the_share_is_drawn_at_random():
    labels = np.repeat([1, 2, 3], 60)
    draws = [np.asarray(stratified_split(labels, 0.25, rng=seed)[1]) for seed in (1, 1, 2)]
    assert np.array_equal(draws[0], draws[1]), "the same seed twice should draw the same: use generator(rng)"
    assert not np.array_equal(draws[0], draws[2]), "seeds 1 and 2 drew the same examples: use generator(rng)"
    for label in (1, 2, 3):
        places = draws[0][labels[draws[0]] == label] % 60
        assert places.max() >= 30 and places.max() - places.min() > 20, (
            f"of class {label} the members number {places} were set aside, all close together: mix the class first")


def test_a_class_too_small_gives_nothing():
    rest, aside = stratified_split(np.array([0, 0, 0, 0, 0, 0, 9]), 0.34, rng=0)
    assert len(aside) == 2 and 6 in np.asarray(rest).tolist(), (
        f"a third of six zeros is 2, a third of one nine is rounded to none; yours sets {np.asarray(aside)} aside")


test_every_class_gives_its_share()
test_no_example_is_in_both_or_lost()
test_the_share_is_drawn_at_random()
test_a_class_too_small_gives_nothing()

# %% nbgrader={"grade": true, "grade_id": "check-stratified-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_stratified_splits():
    labels = np.array([7, 7, 7, 200, 200, 7, 200, 200, 200, 7, 7, 7, 7, 7, 31, 31, 31], "uint8")
    for share, wanted in [(0.6, {7: 5, 200: 3, 31: 2}), (0.0, {7: 0, 200: 0, 31: 0}), (1.0, {7: 9, 200: 5, 31: 3})]:
        rest, aside = [np.asarray(part) for part in stratified_split(labels.tolist(), rng=generator(4), share=share)]
        found = {label: int((labels[aside.astype(int)] == label).sum()) for label in wanted}
        assert found == wanted, f"share {share} of {wanted}: got {found}"
        assert sorted([*rest.tolist(), *aside.tolist()]) == list(range(17)), f"share {share}: got {rest} and {aside}"
    rng = generator(5)
    first, second = [np.asarray(stratified_split(np.arange(90) % 3, 0.3, rng)[1]).tolist() for _ in range(2)]
    assert first != second, "one generator drew the same share twice"


test_other_stratified_splits()
### END HIDDEN TESTS


# %% [markdown]
# ## In which order
#
# A step of training looks at a few examples, a *batch*, and one walk through all of them is an
# *epoch*. If each batch were made of neighbours in the file, one step would see only zeros and the
# next only ones. So each epoch has an order of its own, drawn anew.
#
# Predict what these two lines print. The second is the most common mistake of this chapter.

# %%
letters = np.array(["a", "b", "c", "d", "e"])
print(letters[np.random.default_rng(0).permutation(5)])
print(letters[np.random.default_rng(0).shuffle(np.arange(5))].shape)

# %% [markdown]
# `shuffle` mixes its argument and returns `None`, and an array at `[None]` is the whole array with
# one more axis, in the old order.
#
# **Task.** Write `order_of`.
#
# <details><summary>Hint 1</summary>Without shuffling the order is 0, 1, 2, ...: a NumPy function of
# one argument.</details>
# <details><summary>Hint 2</summary>With shuffling, <code>generator(rng)</code> gives the generator to
# draw from. Which of its methods <em>returns</em> an order?</details>

# %% nbgrader={"grade": false, "grade_id": "data-order", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def order_of(count, shuffle=False, rng=None):
    """The numbers 0 to count - 1, in the order in which one epoch visits the examples.

    count    how many examples there are
    shuffle  whether the order is random
    rng      a NumPy Generator, a seed, or None for the layers' own generator; not touched unless shuffling
    returns  array of shape (count,), whole numbers

    >>> order_of(3)
    array([0, 1, 2])

    Source: Durstenfeld's algorithm (1964), which numpy.random.Generator.permutation uses.
    """
    ### BEGIN SOLUTION
    return generator(rng).permutation(count) if shuffle else np.arange(count)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-order", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_without_shuffling_the_order_is_that_of_the_file():
    for count in (7, 1, 0):
        found = np.asarray(order_of(count))
        assert found.shape == (count,) and found.tolist() == list(range(count)), (
            f"{count} examples in their order are {list(range(count))}, yours {found}")


def test_a_shuffled_order_has_every_example_once():
    for count in (23, 1, 0):
        found = order_of(count, shuffle=True, rng=4)
        assert found is not None, "the order is None: `shuffle` mixes its argument and returns nothing; use permutation"
        found = np.asarray(found)
        assert found.shape == (count,), f"{count} examples: an order of shape ({count},), yours {found.shape}"
        assert sorted(found.tolist()) == list(range(count)), (
            f"each of 0 ... {count - 1} should occur exactly once, yours: {np.sort(found)}. Drawing numbers one by "
            "one takes some twice and leaves others out")
    found = np.asarray(order_of(23, shuffle=True, rng=4)).tolist()
    assert found != list(range(23)), "with shuffle=True the order should be mixed, yours is that of the file"


def test_every_epoch_has_its_own_order():
    rng, again = generator(9), generator(9)
    first, second = [np.asarray(order_of(40, True, rng)).tolist() for _ in range(2)]
    assert first != second, "two epochs in a row came in the same order: draw from generator(rng), and do not seed inside"
    repeated = [np.asarray(order_of(40, True, again)).tolist() for _ in range(2)]
    assert repeated == [first, second], "the same seed should give the same epochs again: draw from generator(rng)"
    order_of(40, False, rng)
    assert np.array_equal(np.asarray(order_of(8, True, rng)), np.asarray(order_of(8, True, again))), (
        "an epoch without shuffling drew from the generator all the same")


test_without_shuffling_the_order_is_that_of_the_file()
test_a_shuffled_order_has_every_example_once()
test_every_epoch_has_its_own_order()

# %% nbgrader={"grade": true, "grade_id": "check-order-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_every_place_gets_every_example():
    rng = generator(12)
    orders = np.array([np.asarray(order_of(6, rng=rng, shuffle=True)) for _ in range(1200)])
    for place in range(6):
        counts = np.bincount(orders[:, place], minlength=6)
        assert counts.min() > 150 and counts.max() < 250, f"place {place} had the examples {counts} times, 200 is fair"
    assert np.asarray(order_of(rng=3, count=5)).tolist() == [0, 1, 2, 3, 4], "shuffling should be off by default"


test_every_place_gets_every_example()
### END HIDDEN TESTS

# %% [markdown]
# ## Cut into batches
#
# The order is cut into pieces. 1,438 is not a multiple of 64: predict how many batches there are, and
# what becomes of the last examples if the count is `1438 // 64`.

# %%
print(1438 / 64, "batches;", 1438 - 1438 // 64 * 64, "examples are left over")

# %% [markdown]
# Sometimes a last batch of a few examples is unwelcome: its mean is noisy, and a layer that compares
# the examples of a batch cannot do with one. Then `drop_last` leaves it out, on purpose; as the order
# is drawn anew, others are left out the next time.
#
# **Task.** Write `batches`.
#
# <details><summary>Hint 1</summary>Where do the batches begin? <code>range</code> takes a
# step.</details>
# <details><summary>Hint 2</summary>A slice may end beyond the end: <code>order[start : start +
# batch_size]</code> is then simply shorter. No <code>min</code> is needed.</details>
# <details><summary>Hint 3</summary>With <code>drop_last</code>, keep the pieces whose length is
# <code>batch_size</code>. A last piece that is full stays.</details>

# %% nbgrader={"grade": false, "grade_id": "data-batches", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def batches(order, batch_size, drop_last=False):
    """Cut an order into batches.

    order       array of shape (n,): example numbers
    batch_size  examples per batch, 1 or more
    drop_last   whether a last batch of fewer is left out
    returns     list of arrays, together `order` itself; each of length batch_size, but perhaps the last

    >>> batches(np.array([4, 2, 0, 3, 1]), 2)
    [array([4, 2]), array([0, 3]), array([1])]

    Source: torch.utils.data.BatchSampler.
    """
    ### BEGIN SOLUTION
    pieces = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    return [piece for piece in pieces if len(piece) == batch_size or not drop_last]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-batches", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_no_example_is_left_out():
    for count, size in [(5, 2), (5, 5), (6, 2), (4, 9), (7, 3), (1, 1), (10, 1), (13, 4)]:
        order = np.arange(count)[::-1] * 3
        found = [np.asarray(piece).tolist() for piece in batches(order, size)]
        seen = sum(found, [])
        assert seen == order.tolist(), (
            f"{count} examples in batches of {size}: together they should be the order {order.tolist()}, yours are "
            f"{found}. {count - len(seen)} example(s) never seen: the last batch may be shorter, but not missing")
        wanted = [size] * (count // size) + [count % size] * (count % size > 0)
        assert [len(piece) for piece in found] == wanted, (
            f"{count} examples in batches of {size}: lengths {wanted}, yours {[len(piece) for piece in found]}")


def test_the_last_batch_is_dropped_only_when_asked_and_not_full():
    for count, size, wanted in [(7, 3, 2), (6, 3, 2), (2, 3, 0), (5, 5, 1), (9, 4, 2)]:
        order = np.arange(count) + 100
        found = [np.asarray(piece).tolist() for piece in batches(order, size, drop_last=True)]
        assert found == [order[k * size : k * size + size].tolist() for k in range(wanted)], (
            f"{count} examples in batches of {size} with drop_last: the {wanted} full ones, yours are {found}")


def test_nothing_makes_no_batches():
    found = [len(batches(np.arange(count), 3, drop)) for count in (0, 4) for drop in (False, True)]
    assert found == [0, 0, 2, 1], (
        f"an empty order has no batches, one of four has 2 batches of up to 3 or 1 full one: [0, 0, 2, 1], yours {found}")


test_no_example_is_left_out()
test_the_last_batch_is_dropped_only_when_asked_and_not_full()
test_nothing_makes_no_batches()

# %% nbgrader={"grade": true, "grade_id": "check-batches-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_batches():
    for count, size, drop in [(64, 64, True), (65, 64, True), (63, 64, True), (129, 64, False), (3, 1, True), (1, 100, True)]:
        order = (np.arange(count) * 5 + 2) % 1000
        found = [np.asarray(piece) for piece in batches(drop_last=drop, batch_size=size, order=order)]
        right = [size] * (count // size) + ([] if drop or count % size == 0 else [count % size])
        assert [len(piece) for piece in found] == right, f"{count} by {size}, {drop}: {right} expected, got {found}"
        together = np.concatenate([order[:0], *found])
        assert np.array_equal(together, order[: sum(right)]), f"{count} by {size}, {drop}: got {found}"


test_other_batches()
### END HIDDEN TESTS


# %% [markdown]
# ## Examples become a batch
#
# Five examples are five pairs; a network wants one tensor of five pictures and one of five answers.
# Predict what `zip(*pairs)` does with `[(p0, a0), (p1, a1), (p2, a2)]`.

# %%
print(list(zip(*[("p0", "a0"), ("p1", "a1"), ("p2", "a2")])))

# %% [markdown]
# The rows of one tensor have one shape. `as_rows` is given: it looks at that, and makes one array.

# %%
#| exporti
def as_rows(samples):
    """The samples as rows of one array: arrays and NumPy numbers keep their dtype; Python's numbers stay a list."""
    shapes = list(dict.fromkeys(np.shape(s) for s in samples))
    if len(shapes) > 1:
        raise ValueError(f"examples of the shapes {' and '.join(map(str, shapes[:3]))} cannot be one batch: "
                         "bring them to one shape first, or write a collate_fn that does")
    return np.stack([np.asarray(s) for s in samples]) if hasattr(samples[0], "dtype") else list(samples)

# %% [markdown]
# **Task.** Write `collate`. A member of an example may be a tuple again; then the same is done inside
# it.
#
# <details><summary>Hint 1</summary>Two cases: examples that are tuples (or lists), and single things
# that can be stacked. The first case calls <code>collate</code> for each member.</details>
# <details><summary>Hint 2</summary><code>zip(*samples)</code> gives all first members, then all second
# ones. The result is a tuple.</details>
# <details><summary>Hint 3</summary><code>as_rows</code> checks the shapes and makes one array of
# the single things; put it into a Tensor. <code>zip(..., strict=True)</code> refuses tuples of unequal
# length.</details>

# %% nbgrader={"grade": false, "grade_id": "data-collate", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def collate(samples):
    """Make one batch of several examples.

    samples  list of examples, 1 or more, all of one form: arrays, Tensors or numbers, or tuples (or lists) of such
    returns  a Tensor with one row per example; for tuples, a tuple of what `collate` makes of each member

    dtypes stay: float32 pictures give a float32 Tensor, whole numbers one of whole numbers.
    ValueError that names the shapes when they differ, or when tuples differ in length.

    >>> collate([(np.float32([1, 2]), 7), (np.float32([3, 4]), 9)])
    (Tensor([[1., 2.],
            [3., 4.]]), Tensor([7, 9]))

    Source: torch.utils.data.default_collate.
    """
    ### BEGIN SOLUTION
    if isinstance(samples[0], (tuple, list)):
        return tuple(collate(member) for member in zip(*samples, strict=True))
    return Tensor(as_rows(samples))
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-collate", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
def test_pairs_become_a_pair_of_tensors():
    pictures = (np.arange(30, dtype="float32") ** 1.5).reshape(5, 2, 3)
    try:
        found = collate([(pictures[k], 10 * k) for k in (4, 0, 2)])
    except ValueError as error:
        assert False, f"three pairs of a picture and a number: put all pictures together, and all numbers; yours says: {error}"
    assert isinstance(found, tuple) and len(found) == 2, f"three pairs make a tuple of two, yours is {found!r:.200}"
    for part, wanted in zip(found, (pictures[[4, 0, 2]], np.array([40, 0, 20]))):
        assert isinstance(part, Tensor), f"the members of a batch are Tensors, yours is {part!r:.100}"
        assert part.shape == wanted.shape, f"a row per example gives shape {wanted.shape}, yours {part.shape}"
        assert np.array_equal(part.data, wanted), f"it should be\n{wanted}, yours is\n{part.data}"


def test_dtypes_stay():
    for dtype in ("float32", "float64", "uint8", "int64", "bool"):
        found = collate([np.zeros((2, 1), dtype), np.ones((2, 1), dtype)])
        assert found.dtype.name == dtype, f"examples of {dtype} should make a Tensor of {dtype}, yours is {found.dtype}"
    for numbers, dtype in [([3, 1, 2], "int64"), ([0.5, 2.0], "float32"), ([np.float64(1), np.float64(2)], "float64")]:
        found = collate(numbers)
        assert found.shape == (len(numbers),) and found.dtype.name == dtype, (
            f"{numbers} should become {dtype} of shape ({len(numbers)},), yours is {found.dtype} of shape {found.shape}")
        assert np.array_equal(found.data, numbers), f"{numbers} became {found}"


def test_single_things_stay_single():
    found = collate([np.array([1, 2, 4], "float32"), np.array([0, 5, 1], "float32")])
    assert isinstance(found, Tensor), f"examples that are arrays make one Tensor, no tuple; yours is {found!r:.100}"
    assert np.array_equal(found.data, [[1, 2, 4], [0, 5, 1]]), f"the rows are the examples, yours is {found}"
    one = collate([(np.ones(3, "float32"),)])
    assert isinstance(one, tuple) and one[0].shape == (1, 3), (
        f"one example, a tuple of one array (3,): a tuple of one Tensor (1, 3), yours is {one!r:.100}")


def test_tuples_inside_tuples():
    found = collate([(1.5, (np.array([1, 2]), [7, 0.5])), (2.5, (np.array([3, 4]), [8, 1.5]))])
    first, (inner, (seven, half)) = found
    for part, wanted in [(first, [1.5, 2.5]), (inner, [[1, 2], [3, 4]]), (seven, [7, 8]), (half, [0.5, 1.5])]:
        assert np.array_equal(np.asarray(part), wanted), f"this member should be {wanted}, yours is {part}"


def test_examples_that_do_not_fit_are_refused():
    for samples, told in [([np.ones((2, 3)), np.ones((3, 2))], "(2, 3)"), ([(1, 2), (3, 4, 5)], ""),
                          ([(np.ones(2), 1), (np.ones(1), 2)], "(1,)")]:
        try:
            found = collate(samples)
        except ValueError as error:
            assert told in str(error), f"the error should tell the shapes, {told} among them; yours: {error}"
        else:
            assert False, (f"{samples} are of different forms and should be refused with ValueError; yours makes {found}. "
                           "Plain zip stops at the shortest without a word")


test_pairs_become_a_pair_of_tensors()
test_dtypes_stay()
test_single_things_stay_single()
test_tuples_inside_tuples()
test_examples_that_do_not_fit_are_refused()

# %% nbgrader={"grade": true, "grade_id": "check-collate-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_forms_of_examples():
    pieces = [Tensor(np.full((1, 2), k, "float64")) for k in (3, 1, 5, 4)]
    found = collate([[piece, ((k,), True)] for k, piece in enumerate(pieces)])
    assert isinstance(found, tuple) and found[0].dtype.name == "float64", f"a tuple with float64 expected, got {found!r}"
    assert np.array_equal(found[0].data, [[[3, 3]], [[1, 1]], [[5, 5]], [[4, 4]]]), f"four Tensors gave {found[0]}"
    assert np.array_equal(np.asarray(found[1][0][0]), [0, 1, 2, 3]) and found[1][1].dtype.name == "bool", f"got {found[1]}"
    empty = collate([np.zeros((0, 3), "float32")] * 2)
    assert empty.shape == (2, 0, 3), f"two examples of shape (0, 3): got {empty.shape}"
    alone = np.arange(4, dtype="float32")
    made = collate([alone])
    made.detach()[:] = 9.0
    assert np.array_equal(alone, [0, 1, 2, 3]), "writing into the batch changed the example"


test_other_forms_of_examples()
### END HIDDEN TESTS

# %% [markdown]
# ## The loader
#
# Now all of it together: an order, cut into batches, each batch fetched when it is its turn and not
# before. A function with `yield` does just that: it hands out one thing and waits.
#
# The loader has a generator of its own, split off from the layers'. Then the order of the examples
# does not change when somebody adds a layer that draws weights. A `sampler` replaces the order: any
# numbers, such as rare classes twice.
#
# **Task.** Write `load`.
#
# <details><summary>Hint 1</summary>One loop over what <code>batches</code> gives. What does it want
# to know, and where does the loader keep it?</details>
# <details><summary>Hint 2</summary><code>self.fetch(indices)</code> makes a batch of some examples.
# <code>yield</code> it; building a list first would fetch everything before the first
# step.</details>

# %% nbgrader={"grade": false, "grade_id": "data-loader", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
class DataLoader:
    """The examples of a dataset, batch after batch. `for x, y in loader` is one epoch.

    dataset     anything with a length and examples
    batch_size  examples per batch
    shuffle     whether every epoch has a new random order
    sampler     instead of an order: example numbers, anything that can be walked again and again
    drop_last   whether a last batch of fewer examples is left out
    collate_fn  makes a batch of a list of examples
    rng         a NumPy Generator or a seed; None for a generator of the loader's own, split off from the layers'
    prefetch    how many batches a thread makes ahead of their use; 0 for no thread

    len(loader) is the number of batches of an epoch.

    >>> loader = DataLoader(TensorDataset([10, 20, 30]), batch_size=2)
    >>> len(loader), [x.shape for x, in loader]
    (2, [(2,), (1,)])

    Source: torch.utils.data.DataLoader, with rng for `generator` and prefetch for `num_workers`.
    """

    def __init__(self, dataset, batch_size=1, shuffle=False, sampler=None, *, drop_last=False, collate_fn=collate,
                 rng=None, prefetch=0):
        if batch_size < 1 or prefetch < 0:
            raise ValueError(f"batch_size is 1 or more and prefetch 0 or more, not {batch_size} and {prefetch}")
        if shuffle and sampler is not None:
            raise ValueError("a sampler is an order already: give either sampler or shuffle=True")
        self.dataset, self.batch_size, self.shuffle, self.sampler = dataset, batch_size, shuffle, sampler
        self.drop_last, self.collate_fn, self.ahead = drop_last, collate_fn, prefetch
        self.rng = generator().spawn(1)[0] if rng is None else generator(rng)

    def order(self):
        """The example numbers of one epoch, in their order."""
        if self.sampler is not None:
            return np.array(list(self.sampler), dtype=np.int64)
        return order_of(len(self.dataset), self.shuffle, self.rng)

    def fetch(self, indices):
        """One batch: the examples with these numbers."""
        if self.collate_fn is collate and isinstance(self.dataset, Dataset):
            return self.dataset.batch(indices)
        return self.collate_fn([self.dataset[i] for i in indices.tolist()])

    def load(self, order):
        """The batches of an epoch in this order, each fetched when it is asked for."""
        ### BEGIN SOLUTION
        for indices in batches(order, self.batch_size, self.drop_last):
            yield self.fetch(indices)
        ### END SOLUTION

    def __iter__(self):
        found = self.load(self.order())
        return prefetch(found, self.ahead) if self.ahead else found

    def __len__(self):
        count = len(self.dataset if self.sampler is None else self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

# %% tags=["learner-side"]
class Watched(Dataset):
    """`count` examples (i, 10 i), as numbers; `asked` lists which were fetched. Example number `bad` is an error."""

    def __init__(self, count, bad=None):
        self.count, self.bad, self.asked = count, bad, []

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        self.asked.append(i)
        if i == self.bad:
            raise LookupError(f"example {i} is broken")
        return float(i), 10 * i


def columns(loader):
    """What one epoch of (x, y) batches holds: a list of (numbers of x, numbers of y)."""
    return [(x.data.tolist(), y.data.tolist()) for x, y in loader]


def orders_of_epochs(loader, epochs):
    """The y of all examples, epoch by epoch."""
    return [[int(number) for _, y in loader for number in y.data] for _ in range(epochs)]


def handed_to_collate(count, size):
    """What a collate_fn of ours gets, batch by batch."""
    got = []
    for _ in DataLoader(Watched(count), size, collate_fn=got.append):
        pass
    return got


def orders_with_draws_between(drawn):
    """Two orders of a loader made after manual_seed(5), when `drawn` numbers are drawn elsewhere between them."""
    from tinytorch.core.layers import manual_seed

    manual_seed(5)
    loader = DataLoader(Watched(50), 50, shuffle=True)
    first = orders_of_epochs(loader, 1)
    generator().random(drawn)
    return first + orders_of_epochs(loader, 1)

# %% nbgrader={"grade": true, "grade_id": "check-loader", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
def test_an_epoch_has_every_example_in_batches():
    pictures, answers = np.arange(42, dtype="float32").reshape(7, 3, 2), np.arange(7) * 11
    for dataset in (TensorDataset(pictures, answers), Subset(TensorDataset(pictures[::-1], answers[::-1]), np.arange(7)[::-1])):
        found = [(x, y) for x, y in DataLoader(dataset, batch_size=3)]
        assert [x.shape for x, _ in found] == [(3, 3, 2), (3, 3, 2), (1, 3, 2)], (
            f"7 pictures of shape (3, 2) in batches of 3: 3, 3 and 1; yours {[x.shape for x, _ in found]}")
        for k, (x, y) in enumerate(found):
            assert isinstance(x, Tensor) and x.dtype.name == "float32", f"a batch is made of Tensors, yours {x!r:.100}"
            assert np.array_equal(x.data, pictures[3 * k : 3 * k + 3]), f"batch {k} should have\n{pictures[3 * k : 3 * k + 3]}"
            assert np.array_equal(y.data, answers[3 * k : 3 * k + 3]), f"batch {k} has the answers {y}"
    found = columns(DataLoader(Watched(5), 2))
    assert found == [([0, 1], [0, 10]), ([2, 3], [20, 30]), ([4], [40])], f"five pairs (i, 10 i) in twos; yours {found}"


def test_a_batch_is_fetched_when_it_is_asked_for():
    dataset = Watched(9)
    walk = iter(DataLoader(dataset, 2))
    for wanted in (2, 4, 6):
        next(walk)
        assert len(dataset.asked) == wanted, (
            f"after {wanted // 2} batch(es) of 2, {wanted} examples should have been fetched, yours {len(dataset.asked)}: "
            "yield each batch, do not build a list of all first")


def test_drop_last_and_the_length_agree():
    for count, size, drop, wanted in [(7, 3, False, 3), (7, 3, True, 2), (6, 3, True, 2), (2, 5, False, 1), (2, 5, True, 0)]:
        loader = DataLoader(Watched(count), size, drop_last=drop)
        found = len(columns(loader))
        assert found == wanted, (
            f"{count} examples in batches of {size}, drop_last={drop}: {wanted} batches, yours {found}: hand drop_last on")
        assert len(loader) == wanted, f"len(loader) should be {wanted} too, yours is {len(loader)}"


def test_each_epoch_is_shuffled_anew():
    loader, again = [DataLoader(Watched(30), 4, shuffle=True, rng=3) for _ in range(2)]
    first, second = orders_of_epochs(loader, 2)
    assert sorted(first) == sorted(second) == [10 * k for k in range(30)], f"each epoch has every example once: {first}"
    assert first != second, "the second epoch came in the order of the first"
    assert orders_of_epochs(again, 2) == [first, second], "the same seed should give the same two epochs"
    assert orders_with_draws_between(0) == orders_with_draws_between(7), (
        "numbers drawn elsewhere changed the order of the examples: use the loader's own generator")


def test_a_sampler_says_the_order():
    loader = DataLoader(Watched(6), 2, sampler=[4, 0, 4, 4, 1])
    for _ in range(2):
        found = columns(loader)
        assert found == [([4, 0], [40, 0]), ([4, 4], [40, 40]), ([1], [10])], (
            f"the sampler says 4, 0, 4, 4, 1, and so should the batches, in every epoch; yours {found}: use the order "
            "that load is given")
    assert len(loader) == 3, f"5 numbers in batches of 2 are 3 batches, yours {len(loader)}"


def test_a_collate_fn_gets_the_examples():
    found = handed_to_collate(5, 3)
    assert found == [[(0, 0), (1, 10), (2, 20)], [(3, 30), (4, 40)]], (
        f"a collate_fn gets the list of the examples of a batch, yours got {found}: use self.fetch")


test_an_epoch_has_every_example_in_batches()
test_a_batch_is_fetched_when_it_is_asked_for()
test_drop_last_and_the_length_agree()
test_each_epoch_is_shuffled_anew()
test_a_sampler_says_the_order()
test_a_collate_fn_gets_the_examples()

# %% nbgrader={"grade": true, "grade_id": "check-loader-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_loaders_of_other_sizes():
    for count, size in [(1, 1), (1, 7), (12, 5), (12, 12), (0, 3)]:
        for drop in (False, True):
            loader = DataLoader(Watched(count), size, drop_last=drop, rng=1, shuffle=True)
            found = columns(loader)
            lengths = [len(x) for x, _ in found]
            right = [size] * (count // size) + [count % size] * (count % size > 0 and not drop)
            assert lengths == right and len(loader) == len(right), f"{count} by {size}, {drop}: {right} expected, got {lengths}"
            assert all(b == 10 * a for x, y in found for a, b in zip(x, y)), f"pairs were torn apart: {found}"
    loader = DataLoader(Watched(7), 2, True, rng=2)
    one, other = iter(loader), iter(loader)
    seen = [[np.asarray(next(walk)[1]).tolist() for _ in range(4)] for walk in (one, other)]
    assert [sorted(sum(part, [])) for part in seen] == [[0, 10, 20, 30, 40, 50, 60]] * 2, f"two walks at once: {seen}"


test_loaders_of_other_sizes()
### END HIDDEN TESTS

# %% [markdown]
# ## Work ahead
#
# While the network computes, the loader waits, and while the loader opens pictures, the network
# waits. A *thread* can fetch the next batches in the meantime. It pays when fetching means waiting,
# for a disk or a network, or for NumPy at work on large arrays; Python's own lines run one at a time.
#
# Predict the two times: each of ten batches takes 5 thousandths of a second to come, and as long to
# use.

# %%
#| exporti
class Shelf:
    """Where a thread puts things and the program takes them from: room for a few, and a way to say that it is over.

    A semaphore counts the free places. The thread waits for one before it puts; so it is never far ahead.
    """

    def __init__(self, room):
        self.free, self.things, self.closed = threading.Semaphore(room), queue.SimpleQueue(), False

    def start(self, work, *inputs):
        """Run work(*inputs) in a thread. However it ends, the last thing on the shelf is ("gone", None)."""
        def run():
            try:
                work(*inputs)
            finally:
                self.things.put(("gone", None))

        self.thread = threading.Thread(target=run, name="prefetch", daemon=True)
        self.thread.start()

    def put(self, kind, thing=None):
        """For the thread: wait for a place and put a thing there. False when nobody wants any more."""
        if not self.closed:
            self.free.acquire()
        if not self.closed:
            self.things.put((kind, thing))
        return not self.closed

    def take(self):
        """For the program: (kind, thing), the oldest on the shelf; waits for it."""
        kind, thing = self.things.get()
        self.free.release()
        if kind == "gone":
            raise RuntimeError("the thread has ended without saying why: it should put \"end\", or the error")
        return kind, thing

    def close(self):
        """For the program: tell the thread that it is over, and wait until it has ended."""
        self.closed = True
        self.free.release()  # for a thread that waits; from now on it need not
        self.thread.join()

# %% [markdown]
# First what the thread does. Whatever it meets must reach the program: each item, the end, and an
# error, because an error in a thread stops only the thread, and the program would wait for ever.
#
# **Task.** Write `produce`.
#
# <details><summary>Hint 1</summary>A loop over <code>items</code>, and <code>put("item", item)</code>
# for each. What does <code>put</code> answer, and what is to be done then?</details>
# <details><summary>Hint 2</summary>The error comes from <code>items</code>, somewhere in the loop:
# <code>try</code> around all of it, <code>except BaseException as error</code>.</details>
# <details><summary>Hint 3</summary>Three ways out: <code>return</code> when <code>put</code> answers
# False, <code>put("end")</code> behind the loop, <code>put("error", error)</code> in the
# <code>except</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "data-produce", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def produce(items, put):
    """Hand items on until there are no more, something goes wrong, or nobody wants any.

    items    an iterable, perhaps slow, perhaps one that raises
    put      a function put(kind, thing=None): waits for room; answers False when nobody wants any more
    returns  None

    Calls put("item", item) for each in order, then put("end"); or put("error", error) with what `items` raised.
    After an answer of False, nothing is taken from `items`, and put is not called again. What `items` raised is never
    raised here.

    >>> produce("ab", lambda kind, thing=None: print(kind, thing) is None)
    item a
    item b
    end None

    Source: the producer and consumer of Dijkstra, Cooperating sequential processes (1965).
    """
    ### BEGIN SOLUTION
    try:
        for item in items:
            if not put("item", item):
                return
        put("end")
    except BaseException as error:
        put("error", error)
    ### END SOLUTION

# %% tags=["learner-side"]
def counting(count, error=None, made=None, where=None):
    """Yields 0 ... count - 1, then raises `error` if there is one. Notes in `made` what it yields, where in `where`."""
    try:
        for k in range(count):
            if made is not None:
                made.append(k)
            if where is not None:
                where.append(threading.current_thread().name)
            yield k
        if error is not None:
            raise error
    finally:
        if made is not None:
            made.append("closed")


def noted(count, error=None, room=1000):
    """What `produce` puts for counting(count) and an error of that text, what it takes, and what it returns.

    room     how many things are put before put answers False
    """
    things, made = [], []

    def put(kind, thing=None):
        things.append((kind, str(thing) if isinstance(thing, BaseException) else thing))
        return len(things) < room

    source = counting(count, None if error is None else LookupError(error), made)
    try:
        answer = produce(source, put)
    except BaseException as raised:  # noqa: BLE001
        answer = f"raises {raised!r}"
    return things, [k for k in made if k != "closed"], answer

# %% nbgrader={"grade": true, "grade_id": "check-produce", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_every_item_and_the_end_are_put():
    for count in (3, 1, 0):
        things, _, answer = noted(count)
        assert things == [("item", k) for k in range(count)] + [("end", None)], (
            f"{count} items: each should be put as \"item\", then \"end\" once; yours puts {things}. Without an end the "
            "program waits for ever")
        assert answer is None, f"produce returns nothing, yours {answer}"


def test_an_error_is_put_not_raised():
    for count in (2, 0):
        things, _, answer = noted(count, error="the disk is gone")
        assert answer is None, (
            f"items raise after {count}; in a thread nobody would hear it. Catch it and put it; your produce {answer}")
        wanted = [("item", k) for k in range(count)] + [("error", "the disk is gone")]
        assert things == wanted, (
            f"{count} items, then an error: {wanted} should be put, yours puts {things}: hand on the error itself, once, "
            "and no end after it")


def test_it_stops_when_nobody_wants_more():
    for room in (1, 3):
        things, made, answer = noted(8, room=room)
        assert things == [("item", k) for k in range(room)] and answer is None, (
            f"put answers False at call number {room}: that should be the last call, yours calls {len(things)} times: {things}")
        assert made == list(range(room)), (
            f"put answered False after item {room - 1}, and you took {made} from the items: stop asking for more")


test_every_item_and_the_end_are_put()
test_an_error_is_put_not_raised()
test_it_stops_when_nobody_wants_more()

# %% nbgrader={"grade": true, "grade_id": "check-produce-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_things_are_put():
    things, made, answer = noted(1, error="", room=2)
    assert things == [("item", 0), ("error", "")] and answer is None, f"an item, then an error: got {things}, {answer}"
    things, made, answer = noted(1, error="late", room=1)
    assert things == [("item", 0)] and made == [0] and answer is None, f"room for one: got {things}, {made}, {answer}"
    things, made, answer = noted(500)
    assert len(things) == 501 and things[-1] == ("end", None) and answer is None, f"500 items and the end: got {len(things)}"


test_other_things_are_put()
### END HIDDEN TESTS


# %% [markdown]
# Now the program's side. It is a function with `yield`, too, so whoever uses it sees an ordinary walk.
# But a walk may be left in the middle: `break`, an error in the training step. Python then closes the
# generator, which continues as if `yield` had raised; only `finally` gets to run.
#
# **Task.** Write the rest of `prefetch`.
#
# <details><summary>Hint 1</summary><code>kind, thing = shelf.take()</code>, again and again. Three
# kinds, three deeds: give it to the user, stop, raise.</details>
# <details><summary>Hint 2</summary>The thread must be told and awaited however the walk ends, at the
# end, with an error, or in the middle: <code>shelf.close()</code> in a <code>finally</code>.</details>
# <details><summary>Hint 3</summary>Inside <code>try</code>: take one; <code>while kind ==
# "item":</code> yield it and take the next; behind the loop, <code>if kind == "error": raise
# thing</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "data-prefetch", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def prefetch(items, ahead=2):
    """The same items in the same order, fetched by a thread while the program uses the ones before.

    items    an iterable
    ahead    how many may wait ready, 1 or more; one more may be in the making
    returns  a generator. The thread starts with the first item that is asked for, and has ended when the walk is over:
             at the end, by an error, or because it was left in the middle

    What `items` raises is raised here, the very same error, behind the items that came before it.

    >>> list(prefetch("abc"))
    ['a', 'b', 'c']

    Source: the consumer of Dijkstra, Cooperating sequential processes (1965); generator.close in PEP 342.
    """
    shelf = Shelf(ahead)
    shelf.start(produce, items, shelf.put)
    ### BEGIN SOLUTION
    try:
        kind, thing = shelf.take()
        while kind == "item":
            yield thing
            kind, thing = shelf.take()
        if kind == "error":
            raise thing
    finally:
        shelf.close()
    ### END SOLUTION

# %% tags=["learner-side"]
def workers():
    """The threads of `prefetch` that run."""
    return [thread for thread in threading.enumerate() if thread.name == "prefetch"]


def walk_ahead(count, ahead, used, error=None):
    """Take up to `used` items of prefetch(counting(count, error), ahead), then leave.

    Returns the items; the most that were made but not taken when one came; the text of the error that came out and
    whether it was the same object; what the source had made at the end; in which threads; how many threads were left.
    """
    before, made, where, got, most = workers(), [], [], [], 0
    raised = None if error is None else LookupError(error)
    came = None
    walk = prefetch(counting(count, raised, made, where), ahead)
    try:
        for item in walk if used else ():
            got.append(item)
            most = max(most, len([k for k in made if k != "closed"]) - len(got))
            if len(got) == used:
                break
    except Exception as problem:  # noqa: BLE001
        came = problem
    kinds = [type(came).__name__, str(came), id(came) == id(raised)]
    came = None
    del walk
    left = [thread for thread in workers() if thread not in before]
    for thread in left:
        thread.join(0.2)
    left = [thread for thread in left if thread.is_alive()]
    return got, most, kinds, made, sorted(set(where)), len(left)


def taken_later():
    """The names of the threads when `prefetch` was called, but nothing taken yet."""
    before = workers()
    walk = prefetch(counting(5), 2)
    started = len([thread for thread in workers() if thread not in before])
    walk.close()
    return started


def epochs_ahead(count, size, ahead, epochs, seed, bad=None):
    """Orders of a loader that works ahead, and the text of what it raised."""
    loader = DataLoader(Watched(count, bad), size, shuffle=bad is None, rng=seed, prefetch=ahead)
    try:
        return orders_of_epochs(loader, epochs), ""
    except LookupError as error:
        return [], str(error)

# %% nbgrader={"grade": true, "grade_id": "check-prefetch", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
def test_the_same_items_come_in_the_same_order():
    for count, ahead in [(7, 2), (7, 1), (3, 9), (1, 1), (0, 2), (200, 3)]:
        got, _, _, _, where, left = walk_ahead(count, ahead, count + 1)
        assert got == list(range(count)), f"{count} items with {ahead} ahead: 0 ... {count - 1} in order, yours {got[:20]}"
        assert where in (["prefetch"], []), f"the items should be made in the thread, yours in {where}"
        assert left == 0, "the walk came to its end and the thread still runs: close the shelf"


def test_only_a_few_are_made_ahead():
    for count, ahead in [(50, 1), (50, 4)]:
        got, most, _, _, where, _ = walk_ahead(count, ahead, count)
        assert got == list(range(count)) and where == ["prefetch"], (
            f"the items are 0 ... {count - 1}, made in the thread; yours {got}, made in {where}")
        assert most <= ahead + 1, (
            f"with {ahead} ahead, at most {ahead} wait ready and one is in the making; yours had {most}: yield each "
            "item when it comes, do not collect them")


def test_an_error_comes_out_behind_the_items_before_it():
    for count in (4, 0):
        got, _, (kind, text, same), _, where, left = walk_ahead(count, 2, 100, error="page 7 is torn")
        assert kind == "LookupError" and text == "page 7 is torn", (
            f"after {count} items the source raises LookupError('page 7 is torn'); out of prefetch comes {kind} {text}: "
            "raise what the thread put, or an epoch that broke looks like one that ended")
        assert same, "the very error should be raised, not a copy: it knows where it happened"
        assert got == list(range(count)), f"before the error come 0 ... {count - 1}, yours {got}"
        assert where == ["prefetch"] * (count > 0), f"the items should be made in the thread, yours in {where}"
        assert left == 0, "after the error the thread still runs: close the shelf in `finally`"


def test_a_walk_left_in_the_middle_ends_the_thread():
    for used in (1, 3):
        got, _, _, made, where, left = walk_ahead(1000, 2, used)
        assert got == list(range(used)), f"the first {used} items, yours {got}"
        assert where == ["prefetch"], f"the items should be made in the thread, yours in {where}"
        assert left == 0, (
            f"the walk was left after {used} items, and the thread still waits: `yield` never returned. Only a `finally` "
            "runs then; close the shelf there")
        assert len(made) <= used + 5, f"left after {used} items, the thread made {len(made)} more of 1000 items all the same"
        assert made[-1] == "closed", "the items were not let go: an open file would stay open"


def test_the_loader_works_ahead():
    right = epochs_ahead(23, 4, 0, 3, seed=6)
    for ahead in (1, 3):
        found = epochs_ahead(23, 4, ahead, 3, seed=6)
        assert found == right, f"with prefetch={ahead} the three epochs should be those without, {right}; yours {found}"
    assert epochs_ahead(9, 2, 2, 1, seed=0, bad=5) == ([], "example 5 is broken"), (
        f"example 5 raises; the loader should raise it too, yours: {epochs_ahead(9, 2, 2, 1, seed=0, bad=5)}")


test_the_same_items_come_in_the_same_order()
test_only_a_few_are_made_ahead()
test_an_error_comes_out_behind_the_items_before_it()
test_a_walk_left_in_the_middle_ends_the_thread()
test_the_loader_works_ahead()

# %% nbgrader={"grade": true, "grade_id": "check-prefetch-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_prefetch_starts_late_and_is_left_at_any_place():
    assert taken_later() == 0, "a thread was started before the first item was asked for"
    for count, ahead, used in [(6, 1, 6), (6, 9, 5), (6, 2, 2), (30, 3, 29)]:
        got, most, (kind, _, _), made, where, left = walk_ahead(count, ahead, used)
        assert got == list(range(used)) and kind == "NoneType", f"{count}, {ahead}, {used}: got {got} and {kind}"
        assert where == ["prefetch"], f"{count}, {ahead}, {used}: made in {where}"
        assert most <= ahead + 1 and left == 0 and made[-1] == "closed", f"{count}, {ahead}, {used}: {most}, {left}, {made}"
    got, _, (kind, text, same), _, _, left = walk_ahead(1, 1, 9, error="")
    assert (got, kind, text, same, left) == ([0], "LookupError", "", True, 0), f"an error of no text: {kind} {text!r} {got}"


test_prefetch_starts_late_and_is_left_at_any_place()
### END HIDDEN TESTS

# %%
import time


def slowly(count, seconds):
    """Yields numbers, each after a wait."""
    for k in range(count):
        time.sleep(seconds)
        yield k


for name, walk in [("one after the other", slowly(10, 0.005)), ("ahead", prefetch(slowly(10, 0.005)))]:
    start = time.perf_counter()
    for _ in walk:
        time.sleep(0.005)  # the step of training
    print(f"{name:20} {time.perf_counter() - start:.3f} s")

# %% [markdown]
# ## Read what others wrote
#
# MNIST, 70,000 digits from American forms, is kept in a format of its own, IDX. It has no names and
# no commas, only bytes: two zeros; one byte for the kind of number; one for how many axes; each length
# in four bytes, the largest part first ("big-endian"); then the numbers, row by row.
#
# Here are 24 bytes. Predict the shape and the first number.

# %%
example = bytes([0, 0, 11, 2, 0, 0, 0, 3, 0, 0, 0, 2, 1, 0, 0, 7, 0, 8, 0, 9, 255, 255, 0, 1])
print(example.hex(" "))

# %% [markdown]
# Kind 11 is a whole number of two bytes: 1 and 0, that is 1 · 256 + 0. Most machines keep the smallest
# part first and would read 1.
#
# **Task.** Write the rest of `parse_idx`. A file that was cut off in the middle must not become a
# smaller set of pictures.
#
# <details><summary>Hint 1</summary>Three pieces: byte 3 says how many lengths there are; the lengths
# begin at byte 4; where do the numbers begin?</details>
# <details><summary>Hint 2</summary><code>np.frombuffer(data, dtype, count, offset)</code> reads
# numbers out of bytes; <code>"&gt;u4"</code> is a big-endian whole number of four bytes without sign,
# and <code>IDX[data[2]]</code> the dtype of the rest.</details>
# <details><summary>Hint 3</summary>Compare <code>numbers.size</code> with
# <code>math.prod(shape)</code>, as whole numbers of Python; NumPy's may overflow. Raise ValueError with
# both.</details>
# <details><summary>Hint 4</summary><code>numbers.reshape(shape)</code> is still big-endian and cannot
# be written to. <code>.astype(numbers.dtype.newbyteorder("="))</code> makes an ordinary
# array.</details>

# %%
#| exporti
IDX = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}  # byte 2 of a file -> the dtype of its numbers

# %% nbgrader={"grade": false, "grade_id": "data-idx", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def parse_idx(data):
    """The array in the bytes of an IDX file.

    data     bytes: 0, 0, the kind of number (see IDX), the number of axes, each length as 4 bytes, the numbers
    returns  a new ndarray in the machine's own byte order

    ValueError when it is no IDX file; also when there are not exactly as many numbers as the lengths promise, and then
    it tells both counts.

    >>> parse_idx(bytes([0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 3, 5, 6, 255]))
    array([[  5,   6, 255]], dtype=uint8)

    Source: LeCun, Cortes, Burges, The MNIST database, "File formats".
    """
    if data[:2] != b"\0\0" or len(data) < 4 or data[2] not in IDX or len(data) < 4 + 4 * data[3]:
        raise ValueError(f"these bytes do not begin like an IDX file: {bytes(data[:8]).hex(' ') or 'there are none'}")
    ### BEGIN SOLUTION
    shape = np.frombuffer(data, ">u4", data[3], 4).tolist()
    numbers = np.frombuffer(data, IDX[data[2]], offset=4 + 4 * len(shape))
    if numbers.size != math.prod(shape):
        raise ValueError(f"{shape} promises {math.prod(shape)} numbers, here are {numbers.size}: was the file cut off?")
    return numbers.reshape(shape).astype(numbers.dtype.newbyteorder("="))
    ### END SOLUTION

# %% tags=["learner-side"]
def read_back(data):
    """What parse_idx(data) gives: its numbers as a list, and how they are kept, such as "<i2"."""
    found = parse_idx(data)
    return found.tolist(), found.dtype.str

# %% nbgrader={"grade": true, "grade_id": "check-idx", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def idx_bytes(kind, array):
    """`array` as the bytes of an IDX file; its dtype is big-endian already."""
    head = bytes([0, 0, kind, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape)
    return head + array.tobytes()


def test_bytes_become_pictures():
    pictures = (np.arange(4 * 3 * 2) * 37 % 256).astype("uint8").reshape(4, 3, 2)
    found = np.asarray(parse_idx(idx_bytes(8, pictures)))
    assert found.shape == (4, 3, 2), f"the lengths 4, 3, 2 are the shape, yours is {found.shape}"
    assert np.array_equal(found, pictures), f"the pictures should be\n{pictures}, yours are\n{found}"
    labels = np.array([7, 0, 255], "uint8")
    assert np.array_equal(np.asarray(parse_idx(idx_bytes(8, labels))), labels), "one axis, three labels: 7, 0, 255"
    large = np.arange(300 * 2, dtype="uint8").reshape(300, 2)
    found = np.asarray(parse_idx(idx_bytes(8, large)))
    assert np.array_equal(found, large), f"the length 300 is 0 0 1 44, the largest part first; yours gives {found.shape}"


def test_every_kind_of_number():
    for kind, dtype, numbers in [(9, ">i1", [-128, 0, 127]), (11, ">i2", [256, -1, 3]), (12, ">i4", [70000, -5, 0]),
                                 (13, ">f4", [0.5, -2.25, 1e20]), (14, ">f8", [0.1, -1e300, 3.0])]:
        array = np.array(numbers, dtype)
        found, kept_as = read_back(idx_bytes(kind, array))
        assert found == array.tolist(), f"kind {kind}: {numbers} expected, yours {found}: the largest part comes first"
        assert kept_as == array.dtype.newbyteorder("=").str, (
            f"kind {kind}: the result should be {array.dtype.newbyteorder('=').str} in the machine's own order, yours {kept_as}")


def test_a_file_that_was_cut_off_is_refused():
    whole = idx_bytes(11, np.arange(30).astype(">i2").reshape(5, 6))
    for data, what in [(whole[:-2], "one number"), (whole[:-12], "the last row"), (whole[:-1], "half a number"),
                       (whole[:12], "all numbers"), (whole + b"\0\0", "nothing, but two bytes too much")]:
        try:
            found = parse_idx(data)
        except ValueError as error:
            there = str((len(data) - 12) // 2)
            assert len(data) % 2 or "30" in str(error) and there in str(error), (
                f"the error should tell how many numbers are promised, 30, and how many there are, {there}; yours: {error}. "
                "Both too few and too many are wrong")
        else:
            assert False, (
                f"of a file of (5, 6) numbers {what} is missing, and you made {np.asarray(found).shape} of it: compare how "
                "many numbers there are with how many the lengths promise")


def test_the_array_can_be_written_to():
    found = parse_idx(idx_bytes(12, np.array([[1, 2]], ">i4")))
    try:
        found[0, 1] = 9
    except ValueError as error:
        assert False, f"the array should be an ordinary one: {error}; frombuffer looks into the bytes, make a copy"
    assert np.asarray(found).tolist() == [[1, 9]], f"[[1, 2]] with 9 written into its last place, yours is {found}"


test_bytes_become_pictures()
test_every_kind_of_number()
test_a_file_that_was_cut_off_is_refused()
test_the_array_can_be_written_to()

# %% nbgrader={"grade": true, "grade_id": "check-idx-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def as_idx(kind, array):
    """`array` as the bytes of an IDX file; its dtype is big-endian already."""
    head = bytes([0, 0, kind, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape)
    return head + array.tobytes()


def test_other_idx_files():
    for shape in [(), (0,), (3, 0, 2), (1, 1, 1, 5), (2, 3, 4, 5)]:
        array = np.asarray((np.arange(math.prod(shape)) - 3).reshape(shape) / 7, ">f4")
        found = np.asarray(parse_idx(as_idx(13, array)))
        assert found.shape == shape and np.array_equal(found, array), f"shape {shape}: got {found}"
    for data in (bytes([0, 0, 8, 1, 255, 255, 255, 255]), bytes([0, 0, 8, 4] + [0, 1, 0, 0] * 4),
                 bytes([0, 0, 9, 2, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6])):
        try:
            found = parse_idx(data)
        except ValueError:
            continue
        assert False, f"{data.hex(' ')}: ValueError expected, got {found}"


test_other_idx_files()
### END HIDDEN TESTS

# %% [markdown]
# CIFAR-10, photographs of ten kinds of things, has a simpler form: one byte for the class, then 1,024
# for red, 1,024 for green and 1,024 for blue, photograph after photograph. It is also offered as a
# *pickle*. Never open one from the network: reading a pickle runs whatever program its author put
# into it. Bytes can be wrong, but they cannot do anything.

# %%
#| exporti
def parse_cifar(data):
    """(photographs (n, 3, 32, 32), classes (n,)), both uint8, in the bytes of a file of CIFAR-10's binary version."""
    if not data or len(data) % 3073:
        raise ValueError(f"photographs of CIFAR-10 have 3,073 bytes each, and {len(data):,} bytes are no multiple of it")
    rows = np.frombuffer(data, np.uint8).reshape(-1, 3073)
    return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0]

# %% [markdown]
# ## Fetch it once, and only whole
#
# Large sets are not part of this course; they are downloaded when somebody asks for them, and kept.
# The code is given, because its ideas are few: where files are kept; a *fingerprint*, 256 bits that
# change when any byte of the file does; a name ending in `.part` for what is not whole yet; and a
# rename at the end, which happens completely or not at all.

# %%
#| export
def data_folder():
    """Where downloaded data is kept: the folder in TINYTORCH_DATA, or one for data that can be fetched again."""
    if given := os.environ.get("TINYTORCH_DATA"):
        return Path(given).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "tinytorch"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tinytorch"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tinytorch"


def fingerprint(path):
    """The SHA-256 of a file, 64 hexadecimal digits."""
    import hashlib

    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

# %% [markdown]
# A download that breaks off at nine tenths should go on there. The request header `Range` asks for
# the rest; a server that understands it answers 206, one that does not answers 200 and sends
# everything. `receive` adds what comes to the `.part` file, never more than the file should have.

# %%
#| exporti
def receive(url, part, size, told):
    """Get what is missing of `part`, a file of `size` bytes in the end. Returns whether an earlier piece was used."""
    import urllib.request

    have = part.stat().st_size if part.exists() else 0
    if have >= size:
        return True
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    with urllib.request.urlopen(request, timeout=30) as answer:
        begins = (answer.headers.get("Content-Range") or "").startswith(f"bytes {have}-")
        resumed = have > 0 and answer.status == 206 and begins
        have = have if resumed else 0
        with open(part, "ab" if resumed else "wb") as file:
            while have < size and (piece := answer.read(min(1 << 16, size - have))):
                file.write(piece)
                have += len(piece)
                told(have, size)
    return resumed


def on_one_line(name):
    """A function (have, size) that shows in a terminal how far the download of `name` is; elsewhere it stays silent."""
    def told(have, size):
        if sys.stderr.isatty():
            end = "\n" if have == size else ""
            print(f"\r{name} {have / 1e6:.1f} of {size / 1e6:.1f} MB", end=end, file=sys.stderr, flush=True)

    return told

# %% [markdown]
# `fetch` holds it together. One at a time, by a lock: two notebooks that start together would write
# into the same file. What is there and has the right fingerprint is used; anything else stays where it
# is until something whole can take its place.

# %%
#| export
def fetch(url, sha256, size, folder=None, attempts=3):
    """The path of a file from the network, downloaded if it is not there yet, and always with the right fingerprint.

    url       where it is; its last part is the file's name
    sha256    its fingerprint
    size      its length in bytes
    folder    where to keep it; None for data_folder()
    attempts  how often to go on after a connection broke off

    OSError tells what is wrong, what can be done, and where the file can be put by hand. Nothing but a whole, right
    file ever gets the file's name; a piece is kept as NAME.part, and the next call goes on from there.
    """
    from http.client import HTTPException

    from filelock import FileLock

    def is_whole():
        return path.is_file() and fingerprint(path) == sha256

    path = Path(folder or data_folder()) / url.rsplit("/", 1)[-1]
    part = path.with_name(path.name + ".part")
    problem = None
    try:
        if is_whole():
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock"):
            if is_whole():  # another program may have fetched it while this one waited
                return path
            for _ in range(attempts):
                try:
                    resumed = receive(url, part, size, on_one_line(path.name))
                except (OSError, HTTPException) as error:
                    problem = f"the download failed ({error})"
                    if getattr(error, "code", None) is not None:
                        break  # the server answered, and will answer the same again
                    continue
                have = part.stat().st_size
                if have < size:
                    problem = f"the connection broke off after {have:,} of {size:,} bytes"
                    continue
                found = fingerprint(part)
                if found == sha256:
                    os.replace(part, path)
                    return path
                part.unlink()
                problem = f"what came has the fingerprint {found[:16]}..., not {sha256[:16]}...: it is another file"
                if not resumed:
                    break
    except OSError as error:
        problem = f"{path.parent} cannot be used ({error})"
    there = f" The file that is there, {path}, is damaged and was left as it is." if path.exists() else ""
    raise OSError(f"{path.name}: {problem}.{there} With a network, call it again: it goes on where it stopped. "
                  f"Without one, get {url} elsewhere and put it there by hand: {path}")

# %% [markdown]
# The three sets. Each file is known by its fingerprint; if anybody put another in its place, it would
# be refused.

# %%
#| exporti
MNIST = "https://storage.googleapis.com/cvdf-datasets/mnist"
FASHION = "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion"
CIFAR = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
FILES = {  # set and part -> (name, size in bytes, fingerprint) of the pictures, then of the answers
    ("mnist", "train"): [
        ("train-images-idx3-ubyte.gz", 9912422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
        ("train-labels-idx1-ubyte.gz", 28881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c")],
    ("mnist", "test"): [
        ("t10k-images-idx3-ubyte.gz", 1648877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
        ("t10k-labels-idx1-ubyte.gz", 4542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6")],
    ("fashion-mnist", "train"): [
        ("train-images-idx3-ubyte.gz", 26421880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
        ("train-labels-idx1-ubyte.gz", 29515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845")],
    ("fashion-mnist", "test"): [
        ("t10k-images-idx3-ubyte.gz", 4422102, "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
        ("t10k-labels-idx1-ubyte.gz", 5148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5")],
}
CIFAR_FILE = (170052171, "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd")


def pictures(images, labels, largest):
    """A TensorDataset of float32 pictures (n, channels, height, width) between 0 and 1, with classes as int64."""
    images = images.reshape(len(images), -1, *images.shape[-2:]).astype(np.float32)
    images /= largest
    return TensorDataset(images, labels.astype(np.int64))


def refuse_split(split):
    if split not in ("train", "test"):
        raise ValueError(f"split is \"train\" or \"test\", not {split!r}")


def fetch_idx(name, base, split):
    """The pictures of a set in IDX format."""
    import gzip

    refuse_split(split)
    folder = data_folder() / name
    paths = [fetch(f"{base}/{file}", sha256, size, folder) for file, size, sha256 in FILES[name, split]]
    return pictures(*[parse_idx(gzip.decompress(path.read_bytes())) for path in paths], 255)

# %%
#| export
def mnist(split="train"):
    """Handwritten digits, 28 x 28 grey: 60,000 to train on, 10,000 to test. Downloads 12 MB once; see `fetch`.

    Source: LeCun, Cortes, Burges, The MNIST database of handwritten digits.
    """
    return fetch_idx("mnist", MNIST, split)


def fashion_mnist(split="train"):
    """Clothes of ten kinds, 28 x 28 grey: 60,000 to train on, 10,000 to test. Downloads 31 MB once; see `fetch`.

    Source: Xiao, Rasul, Vollgraf, Fashion-MNIST (2017), arXiv:1708.07747; MIT licence.
    """
    return fetch_idx("fashion-mnist", FASHION, split)


def cifar10(split="train"):
    """Photographs of ten kinds of things, 32 x 32 in 3 colours: 50,000 to train on, 10,000 to test.

    Downloads 170 MB once; see `fetch`. As float32, the 50,000 take 614 MB of memory.

    Source: Krizhevsky, Learning multiple layers of features from tiny images (2009).
    """
    import tarfile

    refuse_split(split)
    size, sha256 = CIFAR_FILE
    names = [f"data_batch_{k}" for k in range(1, 6)] if split == "train" else ["test_batch"]
    with tarfile.open(fetch(CIFAR, sha256, size, data_folder() / "cifar-10"), "r:gz") as archive:
        data = {}
        for member in archive:  # in the archive's own order: going back would mean to unpack from the start
            if (name := Path(member.name).stem) in names and member.isfile():
                data[name] = archive.extractfile(member).read()
    return pictures(*parse_cifar(b"".join(data[name] for name in names)), 255)

# %% [markdown]
# ## Real handwriting
#
# One real set needs no network: 1,797 digits that people wrote on forms, each 8 by 8, with values from
# 0 to 16. They are part of the package. A fifth of each class is marked for testing, once and for all:
# results can be compared only if everybody tests on the same pictures.

# %%
#| export
def digits(split="train"):
    """Handwritten digits, 8 x 8 grey, values from 0 to 1: 1,438 to train on, 359 to test. Needs no network.

    split    "train" or "test": always the same pictures
    returns  TensorDataset of float32 pictures (n, 1, 8, 8) and int64 classes (n,)

    >>> len(digits("train")), len(digits("test"))
    (1438, 359)

    Source: E. Alpaydin, C. Kaynak, Optical Recognition of Handwritten Digits (1998), UCI Machine Learning Repository,
    https://doi.org/10.24432/C50P49, licence CC BY 4.0; the set's test part, as scikit-learn distributes it.
    """
    from importlib.resources import files

    refuse_split(split)
    with (files("tinytorch") / "digits.npz").open("rb") as file, np.load(file, allow_pickle=False) as kept:
        chosen = kept["test"] == (split == "test")
        return pictures(kept["images"][chosen], kept["labels"][chosen], 16)

# %% alt="Twenty handwritten digits of 8 by 8 grey squares in two rows, each with its number above."
import matplotlib.pyplot as plt


def show(images, titles=None, columns=10):
    """Draw pictures of shape (channels, height, width) beside each other."""
    rows = -(-len(images) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(columns * 0.8, rows * 0.95), squeeze=False)
    for axis in axes.flat:
        axis.axis("off")
    for place, image in enumerate(images):
        axes.flat[place].imshow(np.asarray(image)[0], cmap="gray_r", vmin=0, vmax=1)
        if titles is not None:
            axes.flat[place].set_title(titles[place], fontsize=8)
    return figure


train, test = digits("train"), digits("test")
print(len(train), len(test), "tests per class:", np.bincount(test.arrays[1]))
figure = show([train[i][0] for i in range(20)], [train[i][1] for i in range(20)])

# %% [markdown]
# ## One scale for all
#
# A layer starts out expecting inputs of mean 0 and spread 1. Pictures are not like that, and their
# channels differ: subtract each channel's mean, divide by its standard deviation.
#
# Whose mean? Suppose the test pictures were taken on a dark day. Predict what remains of the darkness
# when they are normalised by their own numbers.

# %%
day, night = np.array([0.5, 0.7, 0.9]), np.array([0.1, 0.3, 0.5])
print("by its own numbers:", ((day - day.mean()) / day.std()).round(2), ((night - night.mean()) / night.std()).round(2))
print("by those of the day:", ((day - day.mean()) / day.std()).round(2), ((night - day.mean()) / day.std()).round(2))

# %% [markdown]
# Nothing remains: to the network, night is day. So the numbers are measured on the training set, once,
# and belong to the network like its weights. If the test set had a say, the test would already know
# something of what it asks.
#
# **Task.** Write `statistics`. A channel that is the same everywhere has spread 0; it is divided by 1.
#
# <details><summary>Hint 1</summary>For pictures (n, channels, height, width), which axes does the
# mean run over? And for rows (n, features), where each feature is a channel?</details>
# <details><summary>Hint 2</summary>All axes but 1. With <code>keepdims=True</code> the result is (1,
# channels, 1, 1); <code>[0]</code> of it is (channels, 1, 1), and lines up with one picture as well as
# with a batch.</details>
# <details><summary>Hint 3</summary>Sum in float64: <code>images.mean(axis, keepdims=True,
# dtype=np.float64)</code>, and the same for <code>std</code>. At the end, <code>np.where(std == 0, 1,
# std)</code> and <code>astype(np.float32)</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "data-statistics", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def statistics(images):
    """The mean and the standard deviation of each channel over all examples and all places.

    images   array of shape (n, channels, ...): pictures (n, channels, height, width), or rows (n, features)
    returns  (mean, std): two float32 arrays of shape (channels, 1, 1) for pictures, (features,) for rows; std is the
             population's (divided by the count), and 1 where a channel is the same everywhere

    >>> mean, std = statistics(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> print(mean, std)
    [2. 5.] [1. 1.]

    Source: LeCun, Bottou, Orr, Müller, Efficient BackProp (1998), section 4.3.
    """
    images = np.asarray(images)
    ### BEGIN SOLUTION
    axes = tuple(axis for axis in range(images.ndim) if axis != 1)
    mean = images.mean(axes, keepdims=True, dtype=np.float64)[0]
    std = images.std(axes, keepdims=True, dtype=np.float64)[0]
    return mean.astype(np.float32), np.where(std == 0, 1, std).astype(np.float32)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-statistics", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def channel_by_channel(images):
    """Mean and population deviation of each channel, one number at a time."""
    means, stds = [], []
    for c in range(images.shape[1]):
        numbers = [float(v) for v in images[:, c].ravel()]
        mean = math.fsum(numbers) / len(numbers)
        means.append(mean)
        stds.append(math.sqrt(math.fsum((v - mean) ** 2 for v in numbers) / len(numbers)))
    return np.array(means), np.array(stds)


def test_every_channel_has_its_own_numbers():
    random = np.random.default_rng(3)
    images = random.normal(size=(7, 3, 4, 5)) * np.array([1, 20, 0.1])[:, None, None] + np.array([5, -3, 100])[:, None, None]
    for given in (images.astype("float32"), images):
        mean, std = [np.asarray(part) for part in statistics(given)]
        assert mean.shape == std.shape == (3, 1, 1), (
            f"pictures (7, 3, 4, 5) have 3 channels: means of shape (3, 1, 1), yours {mean.shape} and {std.shape}")
        for name, found, wanted in [("mean", mean, channel_by_channel(given)[0]), ("std", std, channel_by_channel(given)[1])]:
            assert np.allclose(found.ravel(), wanted, rtol=1e-5, atol=0), (
                f"the {name} of each channel over all pictures and places should be {wanted}, yours is {found.ravel()}. "
                "Over all axes but 1; the std is divided by the count, not by one less")
        assert mean.dtype.name == std.dtype.name == "float32", f"both are float32, yours {mean.dtype} and {std.dtype}"


def test_rows_of_features():
    rows = np.array([[1, 10, 5, -2], [3, 30, 6, -2.5], [2, 80, 10, 0]], "float64")
    mean, std = [np.asarray(part) for part in statistics(rows)]
    assert mean.shape == std.shape == (4,), f"rows of 4 features: 4 means, yours {mean.shape} and {std.shape}"
    assert np.allclose(mean, [2, 40, 7, -1.5]), f"the means of the columns are 2, 40, 7, -1.5; yours {mean}"
    assert np.allclose(std, channel_by_channel(rows)[1], rtol=1e-6), f"std {channel_by_channel(rows)[1]}, yours {std}"


def test_a_channel_without_spread_is_divided_by_one():
    images = np.zeros((4, 2, 3, 3), "float32")
    images[:, 0], images[:, 1] = 7, np.arange(36).reshape(4, 3, 3) * 0.001
    _, std = [np.asarray(part).ravel() for part in statistics(images)]
    assert std[0] == 1, f"the first channel is 7 everywhere: its std should be given as 1, yours is {std[0]}; 0 / 0 is nan"
    assert abs(std[1] / channel_by_channel(images)[1][1] - 1) < 1e-4, (
        f"the other channel has the small spread {channel_by_channel(images)[1][1]:.5f}, and it counts; yours {std[1]}")


def test_many_whole_numbers_and_large_ones():
    images = (np.arange(60 * 2 * 40 * 50) * 7919 % 256).astype("uint8").reshape(60, 2, 40, 50)
    before = images.copy()
    mean, std = [np.asarray(part).ravel() for part in statistics(images)]
    wanted = channel_by_channel(images)
    assert np.allclose(mean, wanted[0], rtol=1e-6) and np.allclose(std, wanted[1], rtol=1e-6), (
        f"uint8 pictures: {wanted} expected, yours {mean} and {std}: sum in float64")
    assert np.array_equal(images, before), "the pictures were changed"
    far = (np.arange(20000 * 2 * 3).reshape(20000, 2, 3) * 7 % 11 * 0.5 + 4096).astype("float32")
    mean, std = [np.asarray(part).ravel() for part in statistics(far)]
    wanted = channel_by_channel(far)
    assert np.allclose(mean, wanted[0], rtol=1e-6, atol=0) and np.allclose(std, wanted[1], rtol=1e-5, atol=0), (
        f"many float32 numbers around 4098: mean and std {wanted} expected, yours {mean} and {std}: a float32 sum of so "
        "many loses the small digits; sum in float64")


test_every_channel_has_its_own_numbers()
test_rows_of_features()
test_a_channel_without_spread_is_divided_by_one()
test_many_whole_numbers_and_large_ones()

# %% nbgrader={"grade": true, "grade_id": "check-statistics-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def one_by_one(images):
    """Mean and population deviation of each channel, one number at a time."""
    means, stds = [], []
    for c in range(images.shape[1]):
        numbers = [float(v) for v in images[:, c].ravel()]
        mean = math.fsum(numbers) / len(numbers)
        means.append(mean)
        stds.append(math.sqrt(math.fsum((v - mean) ** 2 for v in numbers) / len(numbers)))
    return np.array(means), np.array(stds)


def test_statistics_of_other_ranks():
    random = np.random.default_rng(8)
    for shape in [(6, 2, 5), (1, 4, 2, 3), (9, 1), (2, 3, 2, 2, 4)]:
        images = random.normal(3, 2, shape) * 10.0 ** np.arange(shape[1]).reshape(-1, *[1] * (len(shape) - 2))
        mean, std = [np.asarray(part) for part in statistics(images)]
        right = one_by_one(images)
        assert mean.shape == std.shape == (shape[1], *[1] * (len(shape) - 2)), f"{shape}: got {mean.shape}, {std.shape}"
        assert np.allclose(mean.ravel(), right[0], rtol=1e-5) and np.allclose(std.ravel(), right[1], rtol=1e-5), (
            f"{shape}: {right} expected, got {mean.ravel()} and {std.ravel()}")


test_statistics_of_other_ranks()
### END HIDDEN TESTS

# %% [markdown]
# A *transform* is a function from a picture to a picture; several in a row are a `Compose`, and a
# dataset that applies one when an example is asked for is a `Transformed`.

# %%
#| export
class Normalize:
    """Subtracts the mean and divides by the standard deviation, as measured by `statistics` on the training set.

    >>> Normalize(*statistics(np.array([[1.0, 5.0], [3.0, 9.0]])))(np.array([1.0, 9.0], "float32"))
    array([-1.,  1.], dtype=float32)

    Source: torchvision.transforms.Normalize.
    """

    def __init__(self, mean, std):
        self.mean, self.std = np.asarray(mean), np.asarray(std)

    def __call__(self, x):
        return (x - self.mean) / self.std


class Compose:
    """Several functions one after the other: Compose([f, g])(x) is g(f(x))."""

    def __init__(self, transforms):
        self.transforms = list(transforms)

    def __call__(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x


class Transformed(Dataset):
    """Another dataset, with a function applied to the first member of each example, anew each time it is asked for.

    >>> Transformed([(1, "one"), (2, "two")], lambda x: x * 10)[1]
    (20, 'two')
    """

    def __init__(self, dataset, transform):
        self.dataset, self.transform = dataset, transform

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, i):
        x, *rest = self.dataset[i]
        return (self.transform(x), *rest)

# %%
mean, std = statistics(train.arrays[0])
normalize = Normalize(mean, std)
for name, dataset in [("train", train), ("test", test)]:
    x = normalize(dataset.arrays[0])
    print(f"{name:5} mean {x.mean():+.3f}, std {x.std():.3f}, {x.dtype}")

# %% [markdown]
# ## More than there is
#
# A 3 that stands one pixel further to the left is still a 3, and the network may never have seen it
# there. Changing each picture a little, anew in every epoch, gives it more to learn from: *augmentation*.
# It is done in training only.
#
# First, move a picture. What leaves on one side is gone; `np.roll` would bring it back on the other.
#
# **Task.** Write `shift`.
#
# <details><summary>Hint 1</summary>Give the picture a wide empty border, then cut a piece of the old
# size out of it. Where must the piece begin so that the picture in it stands lower?</details>
# <details><summary>Hint 2</summary>Make zeros of the larger shape, in the picture's dtype, and write the
# picture into the middle; <code>np.pad</code> does that, too, but more slowly. How much room do
# <code>down</code> and <code>right</code> need, also when they are negative?</details>
# <details><summary>Hint 3</summary>Without a shift the piece begins at <code>room</code>. To move the
# picture down, begin <code>down</code> earlier: at <code>room - down</code>.</details>
# <details><summary>Hint 4</summary><code>padded[..., room - down : room - down + height, room - right :
# room - right + width]</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "data-shift", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def shift(image, down, right):
    """A picture moved by whole pixels; what leaves is lost, and zeros come in.

    image    array of shape (..., height, width)
    down     rows to move down; up if negative
    right    columns to move to the right; to the left if negative
    returns  a new array of the same shape and dtype

    >>> shift(np.array([[1, 2, 3], [4, 5, 6]]), 1, -1)
    array([[0, 0, 0],
           [2, 3, 0]])

    Source: LeCun, Bottou, Bengio, Haffner, Gradient-based learning applied to document recognition (1998).
    """
    height, width = image.shape[-2:]
    ### BEGIN SOLUTION
    room = max(abs(down), abs(right))
    padded = np.zeros((*image.shape[:-2], height + 2 * room, width + 2 * room), image.dtype)
    padded[..., room : room + height, room : room + width] = image
    return padded[..., room - down : room - down + height, room - right : room - right + width]
    ### END SOLUTION

# %% tags=["learner-side"]
def shift_then_write(image, down, right):
    """shift(image, down, right), after which 99 is written into the first pixel of what it gave; returns `image`."""
    shift(image, down, right)[..., 0, 0] = 99
    return image

# %% nbgrader={"grade": true, "grade_id": "check-shift", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def moved(image, down, right):
    """The same, pixel by pixel."""
    out = np.zeros_like(image)
    height, width = image.shape[-2:]
    for i in range(height):
        for j in range(width):
            if 0 <= i - down < height and 0 <= j - right < width:
                out[..., i, j] = image[..., i - down, j - right]
    return out


def test_a_picture_moves_and_zeros_come_in():
    image = np.arange(1, 13, dtype="float32").reshape(1, 3, 4)
    for down, right in [(1, 0), (0, 1), (-1, 0), (0, -1), (2, -1), (-1, 3), (0, 0)]:
        found = np.asarray(shift(image, down, right))
        assert found.shape == (1, 3, 4) and found.dtype.name == "float32", (
            f"a float32 picture (1, 3, 4) stays one, yours became {found.dtype} {found.shape}")
        wanted = moved(image, down, right)
        assert not np.array_equal(found, np.roll(image, (down, right), (1, 2))) or (down, right) == (0, 0), (
            f"{down} down and {right} right: what left on one side came back on the other. Zeros should come in")
        assert np.array_equal(found, wanted), (
            f"{down} down and {right} right, the picture\n{image[0]}\nshould become\n{wanted[0]}\nyours is\n{found[0]}")


def test_a_picture_may_leave_altogether():
    image = np.arange(1, 16, dtype="uint8").reshape(5, 3)
    for down, right in [(5, 0), (0, -3), (9, 1), (-4, -2), (1, 7), (-6, 0)]:
        found = np.asarray(shift(image, down, right))
        assert np.array_equal(found, moved(image, down, right)) and found.shape == (5, 3), (
            f"a picture (5, 3) moved {down} down and {right} right should be\n{moved(image, down, right)}, yours is\n{found}")
        assert found.dtype.name == "uint8", f"uint8 stays uint8, yours is {found.dtype}"


def test_all_channels_move_and_the_picture_stays():
    image = np.arange(1, 61, dtype="float64").reshape(2, 3, 2, 5)
    before = image.copy()
    found = np.asarray(shift(image, -1, 2))
    assert np.array_equal(found, moved(before, -1, 2)), f"all pictures and channels move alike:\n{found}"
    assert np.array_equal(image, before), "the picture that was given was changed: make a new one"
    for by in [(0, 0), (1, 0)]:
        assert np.array_equal(shift_then_write(before.copy(), *by), before), (
            f"moved by {by}, then written into the result: the picture that was given changed too. Return a new array")


test_a_picture_moves_and_zeros_come_in()
test_a_picture_may_leave_altogether()
test_all_channels_move_and_the_picture_stays()

# %% nbgrader={"grade": true, "grade_id": "check-shift-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_shifts():
    image = np.arange(1.0, 43.0).reshape(2, 3, 7)
    for down in range(-4, 5):
        for right in (-8, -3, 0, 2, 6):
            found, wanted = np.asarray(shift(image=image, right=right, down=down)), np.zeros_like(image)
            for i, j in np.ndindex(3, 7):
                if 0 <= i + down < 3 and 0 <= j + right < 7:
                    wanted[:, i + down, j + right] = image[:, i, j]
            assert np.array_equal(found, wanted), f"{down} down, {right} right: {wanted} expected, got {found}"


test_other_shifts()
### END HIDDEN TESTS


# %% [markdown]
# Second, mirror it. A photograph of a cat, mirrored, is a cat. Predict which digits survive a mirror.
#
# **Task.** Write `__call__` of `RandomHorizontalFlip`. The transform has its own generator, so that
# what one picture gets does not depend on what is drawn elsewhere.
#
# <details><summary>Hint 1</summary>Left and right change places: along which axis of (channels,
# height, width)? Count from the end.</details>
# <details><summary>Hint 2</summary>A slice can walk backward: <code>[..., ::-1]</code>. And
# <code>self.rng.random()</code> is below <code>p</code> with probability p.</details>

# %% nbgrader={"grade": false, "grade_id": "data-flip", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
class RandomHorizontalFlip:
    """Swaps left and right of a picture (..., height, width) with probability p, and otherwise gives it back.

    p        from 0 to 1
    rng      a NumPy Generator or a seed; None for a generator of its own, split off from the layers'

    >>> RandomHorizontalFlip(1.0)(np.array([[1, 2, 3], [4, 5, 6]]))
    array([[3, 2, 1],
           [6, 5, 4]])

    Source: torchvision.transforms.RandomHorizontalFlip.
    """

    def __init__(self, p=0.5, rng=None):
        self.p, self.rng = p, generator().spawn(1)[0] if rng is None else generator(rng)

    def __call__(self, image):
        ### BEGIN SOLUTION
        return image[..., ::-1].copy() if self.rng.random() < self.p else image
        ### END SOLUTION

# %% tags=["learner-side"]
def flips(p, seed, count):
    """What a flip makes of the picture [[1, 2]], `count` times: the first pixels."""
    flip, image = RandomHorizontalFlip(p, rng=seed), np.array([[1, 2]])
    return [int(flip(image)[0, 0]) for _ in range(count)]


def flips_with_draws_between(drawn):
    """Two rows of 30 flips after manual_seed(2), when `drawn` numbers are drawn elsewhere between them."""
    from tinytorch.core.layers import manual_seed

    manual_seed(2)
    flip, image, found = RandomHorizontalFlip(0.4), np.array([[1, 2]]), []
    for _ in range(2):
        found += [int(flip(image)[0, 0]) for _ in range(30)]
        generator().random(drawn)
        np.random.rand()  # NumPy's global generator, which nobody should draw from
    return found


def flip_then_write(image):
    """A certain flip of `image`, into which 99 is then written; returns the flip as it was, and `image`."""
    flipped = RandomHorizontalFlip(1.0, rng=0)(image)
    before = flipped.copy()
    flipped[..., 0, 0] = 99
    return before, image

# %% nbgrader={"grade": true, "grade_id": "check-flip", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_left_and_right_change_places():
    for shape in [(1, 2, 3), (3, 4, 2), (2, 5), (6, 1, 2, 3), (1, 1, 1)]:
        image = np.arange(math.prod(shape), dtype="float32").reshape(shape)
        wanted = np.stack([image[..., -1 - j] for j in range(shape[-1])], axis=-1)
        found = np.asarray(RandomHorizontalFlip(1.0, rng=1)(image))
        assert found.shape == shape, f"the shape {shape} stays, yours became {found.shape}"
        assert np.array_equal(found, wanted), (
            f"a picture of shape {shape}\n{image}\nflipped is\n{wanted}\nyours is\n{found}. The width is the last axis: "
            "any other turns it upside down, or swaps its channels")
        assert found.dtype.name == "float32", f"float32 stays, yours became {found.dtype}"


def test_the_right_share_is_flipped():
    for p, least, most in [(0.2, 140, 260), (0.9, 850, 950), (0.0, 0, 0), (1.0, 1000, 1000)]:
        found = sum(pixel == 2 for pixel in flips(p, 3, 1000))
        assert least <= found <= most, f"with p={p}, of 1000 pictures {1000 * p:.0f} or so should be flipped, yours flips {found}"


def test_chance_is_the_flips_own():
    first, again, other = flips(0.5, 7, 60), flips(0.5, 7, 60), flips(0.5, 8, 60)
    assert first == again, "the same seed should give the same flips: draw from self.rng"
    assert first != other, "seeds 7 and 8 gave the same flips: draw from self.rng, and do not seed anew"
    assert len(set(first)) == 2, "with p=0.5 some of 60 pictures are flipped and some not; yours are all alike"
    assert flips_with_draws_between(0) == flips_with_draws_between(5), (
        "numbers drawn elsewhere changed the flips: draw from self.rng")


def test_the_picture_that_was_given_stays():
    image = np.arange(12, dtype="float32").reshape(2, 3, 2)
    flipped, found = [np.asarray(part) for part in flip_then_write(image.copy())]
    assert flipped.shape == image.shape and np.array_equal(flipped[..., 0], image[..., 1]), f"the flip of\n{image}\nis\n{flipped}"
    assert np.array_equal(found, image), f"the picture given was changed, now or by writing into the flip: {found}. Make a copy"


test_left_and_right_change_places()
test_the_right_share_is_flipped()
test_chance_is_the_flips_own()
test_the_picture_that_was_given_stays()

# %% nbgrader={"grade": true, "grade_id": "check-flip-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_flips_of_other_pictures():
    image = (np.arange(2 * 3 * 4 * 5) * 7 % 251).astype("uint8").reshape(2, 3, 4, 5)
    found = np.asarray(RandomHorizontalFlip(rng=generator(2), p=1)(image))
    assert found.dtype.name == "uint8" and np.array_equal(found, np.flip(image, 3)), f"flipped: got {found}"
    assert np.array_equal(np.asarray(RandomHorizontalFlip(0, 2)(image)), image), "p=0 flips nothing"
    counts = [sum(pixel == 2 for pixel in flips(0.3, seed, 400)) for seed in range(5)]
    assert len(set(counts)) > 1 and 480 < sum(counts) < 720, f"of 5 times 400 pictures 30% should be flipped, got {counts}"


test_flips_of_other_pictures()
### END HIDDEN TESTS


# %% [markdown]
# Two more are made of what is there: `RandomShift` draws how far, and `AddNoise` adds a little of
# normal noise to every pixel.

# %%
#| export
class RandomShift:
    """Moves a picture by up to `most` pixels, evenly drawn for each axis. `rng` is as in RandomHorizontalFlip."""

    def __init__(self, most=1, rng=None):
        self.most, self.rng = most, generator().spawn(1)[0] if rng is None else generator(rng)

    def __call__(self, image):
        down, right = self.rng.integers(-self.most, self.most + 1, 2).tolist()
        return shift(image, down, right)


class AddNoise:
    """Adds normal noise of standard deviation `std` to every pixel, in its own dtype. `rng` as in RandomHorizontalFlip."""

    def __init__(self, std=0.1, rng=None):
        self.std, self.rng = std, generator().spawn(1)[0] if rng is None else generator(rng)

    def __call__(self, image):
        return image + (self.std * self.rng.standard_normal(image.shape)).astype(image.dtype)

# %% alt="Ten digits in four rows: as they are, and three times moved by a pixel or made noisy."
varied = Transformed(train, Compose([RandomShift(1, rng=1), AddNoise(0.08, rng=2)]))
mirrored = Transformed(train, RandomHorizontalFlip(1.0))
figure = show([train[i][0] for i in range(10)] + [varied[i][0] for i in range(10)] + [varied[i][0] for i in range(10)]
              + [mirrored[i][0] for i in range(10)])

# %% [markdown]
# ## Answers as columns
#
# A class is a name, and its number means nothing: 8 is not twice 4. Where a computation needs numbers,
# each class gets a column of its own, with a 1 for the examples that are in it: *one-hot*.
#
# Predict what becomes of a batch without a single 1 if the columns are made from the classes that
# occur in it.
#
# **Task.** Write `one_hot`.
#
# <details><summary>Hint 1</summary>Row k of an identity matrix is the code of class k.
# <code>np.eye(n, dtype=...)</code> makes one; how are its rows picked, many at once?</details>
# <details><summary>Hint 2</summary>NumPy takes -1 for the last row. Look at the smallest and the
# largest label first; an empty batch has neither, <code>.any()</code> of a comparison can do
# it.</details>
# <details><summary>Hint 3</summary><code>np.eye(num_classes, dtype=np.float32)[labels]</code>, put into
# a Tensor.</details>

# %% nbgrader={"grade": false, "grade_id": "data-onehot", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def one_hot(labels, num_classes):
    """A column for each class, with 1 where the example is of that class and 0 elsewhere.

    labels       Tensor, array or list of whole numbers from 0 to num_classes - 1, of any shape
    num_classes  how many classes there are, also those that do not occur in `labels`
    returns      float32 Tensor of shape (*labels' shape, num_classes)

    ValueError that names the label when one is below 0 or not below num_classes.

    >>> one_hot([2, 0], 3)
    Tensor([[0., 0., 1.],
            [1., 0., 0.]])

    Source: torch.nn.functional.one_hot, which gives whole numbers.
    """
    labels = np.asarray(labels, dtype=np.int64)
    ### BEGIN SOLUTION
    wrong = labels[(labels < 0) | (labels >= num_classes)]
    if wrong.size:
        raise ValueError(f"there are {num_classes} classes, counted from 0, and the label {wrong[0]} is none of them")
    return Tensor(np.eye(num_classes, dtype=np.float32)[labels])
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-onehot", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_each_class_has_its_column():
    for labels, classes in [([2, 0, 3, 3, 1], 4), ([0, 2], 3), ([1], 5), ([4, 4], 5), ([[1, 0, 2], [0, 0, 1]], 3), (2, 3), ([], 4)]:
        found = one_hot(np.array(labels, "int64"), classes)
        wanted = np.zeros((*np.shape(labels), classes))
        for place in np.ndindex(np.shape(labels)):
            wanted[(*place, np.array(labels)[place])] = 1
        assert found.shape == wanted.shape, (
            f"labels {labels} of {classes} classes: shape {wanted.shape}, yours {found.shape}. A class that does not "
            "occur in this batch still has its column, or all behind it would move")
        assert np.array_equal(found.data, wanted), f"labels {labels} of {classes} classes:\n{wanted}\nexpected, yours\n{found}"
        assert found.dtype.name == "float32", f"the result is float32, yours {found.dtype}"


def test_labels_come_in_any_form():
    for name, labels in [("a list", [2, 0]), ("a Tensor", Tensor([2, 0])), ("a uint8 array", np.array([2, 0], "uint8"))]:
        found = one_hot(labels, 4)
        assert np.array_equal(np.asarray(found), [[0, 0, 1, 0], [1, 0, 0, 0]]), f"{name} of 2 and 0: yours gives {found}"


def test_labels_that_are_no_class_are_refused():
    assert one_hot([0, 2, 1], 3).shape == (3, 3), "the labels 0, 2 and 1 of 3 classes are fine"
    for labels, wrong in [([0, 3, 1], "3"), ([0, -1], "-1"), ([[2, 7], [0, 1]], "7")]:
        try:
            found = one_hot(labels, 3)
        except ValueError as error:
            assert wrong in str(error), f"the error should name the label {wrong}, yours: {error}"
        except IndexError as error:
            assert False, f"label {wrong} of 3 classes: ValueError in your own words, not NumPy's: {error}"
        else:
            assert False, f"there are 3 classes, 0 to 2; you took {wrong} for one of them: {found}"


test_each_class_has_its_column()
test_labels_come_in_any_form()
test_labels_that_are_no_class_are_refused()

# %% nbgrader={"grade": true, "grade_id": "check-onehot-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_codes():
    labels = np.arange(24).reshape(2, 3, 4) * 5 % 11
    found = one_hot(num_classes=11, labels=labels)
    right = (labels[..., None] == np.arange(11)).astype("float32")
    assert found.shape == (2, 3, 4, 11) and np.array_equal(found.data, right), f"got {found}"
    assert one_hot(np.zeros((0, 2), "int64"), 6).shape == (0, 2, 6), "no labels: shape (0, 2, 6) expected"
    for label in (11, -11, 200):
        try:
            one_hot([[0, label]], 11)
        except ValueError as error:
            assert str(label) in str(error), f"the error should name {label}: {error}"
        else:
            assert False, f"label {label} of 11 classes: ValueError expected"


test_other_codes()
### END HIDDEN TESTS


# %% [markdown]
# ## What there is to beat
#
# With that, the mean picture of every class is one matrix product: columns of ones and zeros, turned,
# times the pictures, is the sum of the pictures of each class. No network yet: say of each test
# picture which mean is nearest.
#
# Predict how many of 100 it gets right, and how many when each test picture is moved by up to one
# pixel.

# %% alt="The mean picture of each digit from 0 to 9: the shape of each can be recognised, its edges are blurred."
def share_right(guess, dataset):
    """The share of the examples whose class is what guess(rows) says, batch by batch."""
    right = 0
    for x, y in DataLoader(dataset, batch_size=64, prefetch=2):
        right += int((guess(x.flatten(1).data) == y.data).sum())
    return right / len(dataset)


x, y = Tensor(train.arrays[0]).flatten(1), train.arrays[1]
means = (one_hot(y, 10).T @ x).data / np.bincount(y)[:, None]


def nearest(to, classes):
    """A function that gives each row the class of the nearest row of `to`."""
    def guess(rows):
        return classes[((to * to).sum(1) - 2 * rows @ to.T).argmin(1)]

    return guess


moved_test = Transformed(test, RandomShift(1, rng=0))
variants = [Transformed(train, RandomShift(1, rng=seed)) for seed in range(9)]
moved_train = np.concatenate([variant.batch(range(len(train)))[0].data for variant in variants])
for name, guess in [("nearest mean", nearest(means, np.arange(10))), ("nearest picture", nearest(x.data, y)),
                    ("nearest of the pictures moved", nearest(moved_train.reshape(-1, 64), np.tile(y, 9)))]:
    print(f"{name:30} test {share_right(guess, test):.1%}   test, moved {share_right(guess, moved_test):.1%}")
figure = show(means.reshape(10, 1, 8, 8), range(10))

# %% [markdown]
# Remembering every picture is hard to beat on pictures that stand where the remembered ones stood, and
# little worth on those that moved. The last line is augmentation, at work without any learning.
#
# ## Data that is made
#
# To try an idea out, points in the plane are enough: they are made in no time, there are as many as
# one likes, and the answer can be looked at. Four classics; each returns a `TensorDataset` of points
# (n, 2), float32, and classes.

# %%
#| exporti
def noisy(points, labels, noise, rng):
    """The TensorDataset of these points with normal noise of standard deviation `noise` added."""
    points = np.asarray(points) + rng.normal(0, noise, np.shape(points))
    return TensorDataset(points.astype(np.float32), np.asarray(labels, dtype=np.int64))

# %%
#| export
def moons(count=200, noise=0.1, rng=None):
    """Two half circles that reach into each other, classes 0 and 1. `rng`: a NumPy Generator, a seed, or None."""
    rng = generator(rng)
    labels = np.arange(count) % 2
    angle = rng.uniform(0, np.pi, count)
    heights = np.where(labels, 0.5 - np.sin(angle), np.sin(angle))
    return noisy(np.stack([np.cos(angle) + labels, heights], 1), labels, noise, rng)


def circles(count=200, noise=0.05, inner=0.5, rng=None):
    """A circle of radius 1, class 0, around one of radius `inner`, class 1."""
    rng = generator(rng)
    labels = np.arange(count) % 2
    angle, radius = rng.uniform(0, 2 * np.pi, count), np.where(labels, inner, 1.0)
    return noisy(np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1), labels, noise, rng)


def spirals(count=300, classes=3, turns=0.75, noise=0.03, rng=None):
    """Arms that wind `turns` times around the middle, one for each class."""
    rng = generator(rng)
    labels = np.arange(count) % classes
    radius = rng.uniform(0.05, 1, count)
    angle = 2 * np.pi * (labels / classes + turns * radius)
    return noisy(np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1), labels, noise, rng)


def xor(count=200, noise=0.1, rng=None):
    """Points around (0, 0) and (1, 1), class 0, and around (0, 1) and (1, 0), class 1."""
    rng = generator(rng)
    corners = rng.integers(0, 2, (count, 2))
    return noisy(corners, corners[:, 0] ^ corners[:, 1], noise, rng)

# %% alt="Four sets of points in colours: two half-moons, a circle in a circle, three arms of a spiral, and four clouds with opposite corners alike."
figure, axes = plt.subplots(1, 4, figsize=(11, 2.8))
for axis, make in zip(axes, (moons, circles, spirals, xor)):
    points, classes = make(rng=0).arrays
    axis.scatter(*points.T, c=classes, cmap="viridis", s=8)
    axis.set_title(make.__name__)
    axis.set_aspect("equal")
figure.tight_layout()

# %% [markdown]
# ## Look back
#
# 1. With 1,438 examples in batches of 64 and `drop_last`, how probable is it that a certain example is
#    in none of ten epochs? And if the order were drawn once instead of anew?
# 2. Time one epoch of `DataLoader(train, 64)` and one of `DataLoader(Transformed(train, lambda x: x),
#    64)`. What takes the time? Does `prefetch=2` help here, and why not?
# 3. 13 people wrote these digits, and the marks of `digits` ignore who wrote what. What would you
#    expect of a network's result if each writer's pictures were all on one side?
