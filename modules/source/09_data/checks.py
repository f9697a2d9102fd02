# The checks of lesson 09, by exercise. `check("loader")` in the chapter runs the visible ones.

# %% setup
import math
import threading

import numpy as np

from tinytorch.core.layers import generator
from tinytorch.core.tensor import Tensor


# %% learner-side
def drawn_after_manual_seed(draw):
    """What draw() returns after manual_seed(1), again after manual_seed(1), and after
    manual_seed(2)."""
    from tinytorch.core.layers import manual_seed

    drawn = []
    for seed in (1, 1, 2):
        manual_seed(seed)
        drawn.append(draw())
    return drawn


def random_split_numbers():
    """The examples of both parts of a random split of 0 ... 39, without a seed."""
    return [[int(example) for example in part] for part in random_split(range(40), [25, 15])]


def epoch_indices_numbers():
    """The indices of a shuffled epoch of 40 examples, without a seed."""
    return np.asarray(epoch_indices(40, shuffle=True)).tolist()


def stratified_split_numbers():
    """The indices of both parts of a stratified split of 40 examples, without a seed."""
    return [np.asarray(part).tolist() for part in stratified_split([0, 1] * 20, 0.5)]


# %% tensor-dataset points=4
def test_example_i_is_row_i_of_each_array():
    pictures, answers = (
        np.arange(30, dtype="float32").reshape(5, 3, 2),
        np.array([4, 0, 7, 1, 9]),
    )
    dataset = TensorDataset(pictures, answers)
    assert len(dataset) == 5, (
        f"5 images with 5 labels are 5 examples, yours has length {len(dataset)}"
    )
    for i in (0, 3, 4, -1, -5):
        example = dataset[i]
        assert isinstance(example, tuple) and len(example) == 2, (
            f"with two arrays an example is a tuple of two, yours is {example!r:.200}"
        )
        assert (
            np.array_equal(np.asarray(example[0]), pictures[i])
            and np.asarray(example[0]).dtype.name == "float32"
        ), f"example {i} should have the image\n{pictures[i]}, yours has\n{example[0]}"
        assert int(example[1]) == answers[i], (
            f"example {i} should have the label {answers[i]}, yours has {example[1]}"
        )


def test_any_number_of_arrays():
    for count in (1, 3):
        arrays = [
            np.arange(4 * (k + 2), dtype="float64").reshape(4, k + 2) for k in range(count)
        ]
        example = TensorDataset(*arrays)[2]
        assert isinstance(example, tuple) and len(example) == count, (
            f"{count} array(s): an example is a tuple of {count}, yours is {example!r:.200}"
        )
        for found, array in zip(example, arrays):
            assert np.array_equal(np.asarray(found), array[2]), (
                f"row 2 is {array[2]}, yours {found}"
            )


def test_an_index_out_of_range_is_an_index_error():
    dataset = TensorDataset(np.ones((3, 2), "float32"), np.array([5, 6, 7]))
    for i in (3, -4, 100):
        try:
            found = dataset[i]
        except IndexError:
            pass
        else:
            assert False, (
                f"with 3 examples, index {i} should be an IndexError, yours returns {found}"
            )
    labels = [int(answer) for _, answer in dataset]
    assert labels == [5, 6, 7], (
        f"a loop over the dataset should give the labels 5, 6, 7; yours {labels}"
    )


def test_an_array_of_indices_gives_several_rows():
    pictures, answers = np.arange(14, dtype="float32").reshape(7, 2) ** 2, np.arange(7) * 10
    example = TensorDataset(pictures, answers)[np.array([5, 0, 5])]
    assert isinstance(example, tuple) and len(example) == 2, (
        "the index array [5, 0, 5] should give a tuple of two arrays with 3 rows each, yours "
        f"gives {example!r:.200}"
    )
    rows, found = example
    assert np.array_equal(np.asarray(rows), pictures[[5, 0, 5]]), (
        f"the index array [5, 0, 5] should give these rows of the images, yours\n{rows}"
    )
    assert np.array_equal(np.asarray(found), [50, 0, 50]), (
        f"the labels of rows 5, 0, 5 are 50, 0, 50; yours {found}"
    )


# %% tensor-dataset hidden points=1
def test_examples_of_other_arrays():
    scores, names, flags = (
        np.linspace(-3, 3, 11),
        np.arange(44, dtype="uint8").reshape(11, 1, 4),
        np.arange(11) % 3 == 0,
    )
    dataset = TensorDataset(Tensor(scores), names, flags.tolist(), np.zeros((11, 0), "float32"))
    for i in (10, -11, np.int64(6)):
        found = [np.asarray(part) for part in dataset[i]]
        right = [scores[i], names[i], flags[i], np.zeros(0)]
        assert [part.shape for part in found] == [(), (1, 4), (), (0,)], (
            f"example {i} has shapes {found}"
        )
        assert all(np.array_equal(a, b) for a, b in zip(found, right)), (
            f"example {i}: {right} expected, got {found}"
        )
    assert found[1].dtype.name == "uint8" and found[2].dtype.name == "bool", (
        f"dtypes of {found}"
    )


# %% random-split points=6
def test_each_example_is_in_exactly_one_part():
    for lengths in ([11, 4, 2], [5, 0, 12], [17]):
        parts = random_split(np.arange(17) * 10, lengths, rng=2)
        found = [[int(example) for example in part] for part in parts]
        assert [len(part) for part in parts] == lengths, (
            f"parts of {lengths} were asked for, yours have {[len(part) for part in parts]}"
        )
        together = sorted(sum(found, []))
        assert together == [10 * k for k in range(17)], (
            f"17 examples split as {lengths}: each should be in exactly one part, yours are"
            f" {found}. Permute the indices once, then cut; an example in two parts is data"
            " leakage"
        )


def test_the_examples_are_shuffled():
    first, rest = random_split(np.arange(200), [150, 50], rng=5)
    found = [int(example) for example in first]
    assert found != sorted(found), (
        f"the first part is in the order of the file, {found[:8]} ...: a sorted file would "
        "stay sorted. Permute the indices"
    )
    late = sum(example >= 150 for example in found)
    assert 25 <= late <= 50, (
        f"the first part has {late} of the last 50 examples, about 37 are expected: cut a "
        "permutation of all indices"
    )


def test_proportions_are_rounded_without_losing_examples():
    for count, proportions, wanted in [
        (10, [0.75, 0.25], [8, 2]),
        (1797, [0.8, 0.2], [1438, 359]),
        (7, [0.5, 0.3, 0.2], [4, 2, 1]),
        (10, [0.25] * 4, [3, 3, 2, 2]),
        (100, [0.71, 0.29], [71, 29]),
    ]:
        parts = random_split(np.arange(count), proportions, rng=1)
        found = [len(part) for part in parts]
        assert found == wanted, (
            f"{count} examples in the proportions {proportions} are parts of {wanted}, yours "
            f"{found}: use the `lengths` that split_lengths returned, proportions are rounded "
            "down"
        )
        if count > 100:
            continue  # read few examples: each takes its time in grading
        assert len({int(example) for part in parts for example in part}) == count, (
            f"{count} examples in the proportions {proportions}: some are in no part"
        )


def test_the_seed_decides_the_split():
    def split(seed):
        return [
            [int(example) for example in part]
            for part in random_split(np.arange(40), [25, 15], rng=seed)
        ]

    assert split(3) == split(3), (
        "the same seed twice should give the same parts: draw from generator(rng)"
    )
    assert split(3) != split(4), "seeds 3 and 4 gave the same parts: draw from generator(rng)"


def test_a_part_keeps_inputs_and_targets_together():
    dataset = TensorDataset(np.arange(12, dtype="float32").reshape(6, 2), np.arange(6) * 100)
    (part,) = random_split(dataset, [6], rng=8)
    for picture, answer in part:
        assert float(picture[0]) * 50 == int(answer), (
            f"the input {picture} came with the target {answer}: inputs and targets were "
            "shuffled apart. Return Subsets of the dataset, which read whole examples"
        )


def test_without_a_seed_the_split_follows_manual_seed():
    first, again, other = drawn_after_manual_seed(random_split_numbers)
    assert first == again, (
        "after manual_seed(1) twice, the split should be the same: with rng=None draw from "
        "generator(rng), not from a new generator"
    )
    assert first != other, (
        "after manual_seed(1) and manual_seed(2), the split was the same: with rng=None draw "
        "from "
        "generator(rng)"
    )


# %% random-split hidden points=1
def test_other_splits():
    for count, lengths, wanted in [
        (1, [1, 0], [1, 0]),
        (9, (0, 9), [0, 9]),
        (101, [0.5, 0.5], [51, 50]),
        (6, [1, 2, 3], [1, 2, 3]),
    ]:
        parts = random_split(dataset=np.arange(count) + 5, lengths=lengths, rng=generator(6))
        found = [[int(example) for example in part] for part in parts]
        assert [len(part) for part in found] == wanted, (
            f"{count} as {lengths}: {wanted} expected, got {found}"
        )
        assert sorted(sum(found, [])) == list(range(5, count + 5)), (
            f"{count} as {lengths}: got {found}"
        )
    rng = generator(7)
    first, second = [
        [int(x) for x in random_split(np.arange(30), [30], rng)[0]] for _ in range(2)
    ]
    assert first != second, "one generator gave the same split twice"
    ordered = [
        [int(x) for x in random_split(np.arange(64), [60, 4], seed)[1]] for seed in range(12)
    ]
    assert len({x for part in ordered for x in part}) > 20, (
        f"12 seeds chose from few examples only: {ordered}"
    )
    try:
        random_split(np.arange(9), [4, 4], rng=0)
    except ValueError as error:
        assert "8" in str(error) and "9" in str(error), (
            f"the error should name 8 and 9: {error}"
        )
    else:
        assert False, "4 and 4 are not 9: ValueError expected"


# %% stratified-split points=6
def test_the_same_fraction_of_each_class_is_held_out():
    labels = np.array([3] * 50 + [8] * 10 + [-1] * 120)[np.argsort(np.arange(180) * 77 % 180)]
    for fraction, wanted in [(0.1, {3: 5, 8: 1, -1: 12}), (0.4, {3: 20, 8: 4, -1: 48})]:
        parts = stratified_split(labels, fraction, rng=1)
        assert isinstance(parts, (tuple, list)) and len(parts) == 2, (
            "stratified_split should return two arrays of indices, (kept, held_out); yours "
            f"returns {parts!r:.200}"
        )
        kept, held_out = [np.asarray(part) for part in parts]
        for label, count in wanted.items():
            found = int((labels[held_out] == label).sum())
            assert found == count, (
                f"{(labels == label).sum()} examples are of class {label}, {fraction:.0%} "
                f"of them are {count}; yours holds out {found}. Draw from each class "
                "separately, and round to the nearest integer"
            )
        assert len(kept) == 180 - sum(wanted.values()), (
            f"{180 - sum(wanted.values())} examples should be kept, yours keeps {len(kept)}"
        )


def test_each_example_is_in_one_of_the_two_parts():
    labels = np.arange(97) % 4
    kept, held_out = [np.asarray(part) for part in stratified_split(labels, 0.3, rng=2)]
    both = set(kept.tolist()) & set(held_out.tolist())
    assert not both, f"the examples {sorted(both)[:5]} are in both parts: that is data leakage"
    together = sorted(kept.tolist() + held_out.tolist())
    assert together == list(range(97)), (
        f"together the parts are 0 to 96, yours have {len(together)}: {together[:9]} ..."
    )
    for name, part in [("kept", kept), ("held_out", held_out)]:
        assert part.tolist() == sorted(part.tolist()), (
            f"`{name}` should be in increasing order, yours: {part[:9]} ..."
        )


def test_the_held_out_examples_are_drawn_at_random():
    labels = np.repeat([1, 2, 3], 60)
    draws = [np.asarray(stratified_split(labels, 0.25, rng=seed)[1]) for seed in (1, 1, 2)]
    assert np.array_equal(draws[0], draws[1]), (
        "the same seed twice should hold out the same examples: draw from generator(rng)"
    )
    assert not np.array_equal(draws[0], draws[2]), (
        "seeds 1 and 2 drew the same examples: permute each class with generator(rng)"
    )
    for label in (1, 2, 3):
        positions = draws[0][labels[draws[0]] == label] % 60
        assert positions.max() >= 30 and positions.max() - positions.min() > 20, (
            f"of class {label} the members at {positions} were held out, all close together: "
            "permute the class first"
        )


def test_a_very_small_class_may_be_rounded_to_none():
    kept, held_out = stratified_split(np.array([0, 0, 0, 0, 0, 0, 9]), 0.34, rng=0)
    assert len(held_out) == 2 and 6 in np.asarray(kept).tolist(), (
        "0.34 of six zeros is rounded to 2, 0.34 of one nine to 0; yours holds out "
        f"{np.asarray(held_out)}"
    )


def test_without_a_seed_the_stratified_split_follows_manual_seed():
    first, again, other = drawn_after_manual_seed(stratified_split_numbers)
    assert first == again, (
        "after manual_seed(1) twice, the split should be the same: with rng=None draw from "
        "generator(rng), not from a new generator"
    )
    assert first != other, (
        "after manual_seed(1) and manual_seed(2), the split was the same: with rng=None draw "
        "from "
        "generator(rng)"
    )


def test_fractions_are_rounded_to_the_nearest_integer():
    for count, fraction, wanted in [(9, 0.3, 3), (9, 0.2, 2), (11, 0.3, 3)]:
        _, held_out = stratified_split(np.zeros(count, "int64"), fraction, rng=3)
        assert len(held_out) == wanted, (
            f"{fraction} of {count} examples is {fraction * count:.1f}, rounded {wanted}; "
            "yours "
            f"holds out {len(held_out)}"
        )


# %% stratified-split hidden points=1
def test_other_stratified_splits():
    labels = np.array([7, 7, 7, 200, 200, 7, 200, 200, 200, 7, 7, 7, 7, 7, 31, 31, 31], "uint8")
    for fraction, wanted in [
        (0.6, {7: 5, 200: 3, 31: 2}),
        (0.0, {7: 0, 200: 0, 31: 0}),
        (1.0, {7: 9, 200: 5, 31: 3}),
    ]:
        kept, held_out = [
            np.asarray(part)
            for part in stratified_split(labels.tolist(), rng=generator(4), fraction=fraction)
        ]
        found = {label: int((labels[held_out.astype(int)] == label).sum()) for label in wanted}
        assert found == wanted, f"fraction {fraction} of {wanted}: got {found}"
        assert sorted([*kept.tolist(), *held_out.tolist()]) == list(range(17)), (
            f"fraction {fraction}: got {kept} and {held_out}"
        )
    rng = generator(5)
    first, second = [
        np.asarray(stratified_split(np.arange(90) % 3, 0.3, rng)[1]).tolist() for _ in range(2)
    ]
    assert first != second, "one generator drew the same fraction twice"


# %% epoch-indices points=4
def test_without_shuffling_the_indices_are_in_order():
    for count in (7, 1, 0):
        found = np.asarray(epoch_indices(count))
        assert found.shape == (count,) and found.tolist() == list(range(count)), (
            f"without shuffling, {count} indices are {list(range(count))}, yours {found}"
        )


def test_shuffled_indices_are_a_permutation():
    for count in (23, 1, 0):
        found = epoch_indices(count, shuffle=True, rng=4)
        assert found is not None, (
            "yours returns None: `Generator.shuffle` changes its argument and returns "
            "nothing; use "
            "permutation"
        )
        found = np.asarray(found)
        assert found.shape == (count,), (
            f"{count} examples have indices of shape ({count},), yours {found.shape}"
        )
        assert sorted(found.tolist()) == list(range(count)), (
            f"each of 0 ... {count - 1} should occur exactly once, yours: {np.sort(found)}. "
            "Drawing with replacement uses some examples twice and others never"
        )
    found = np.asarray(epoch_indices(23, shuffle=True, rng=4)).tolist()
    assert found != list(range(23)), (
        "with shuffle=True the order should be random, yours is 0, 1, 2, ..."
    )


def test_every_epoch_has_its_own_order():
    rng, again = generator(9), generator(9)
    first, second = [np.asarray(epoch_indices(40, True, rng)).tolist() for _ in range(2)]
    assert first != second, (
        "two epochs in a row have the same order: draw from generator(rng), and do not seed "
        "inside the function"
    )
    repeated = [np.asarray(epoch_indices(40, True, again)).tolist() for _ in range(2)]
    assert repeated == [first, second], (
        "the same seed should give the same epochs again: draw from generator(rng)"
    )
    epoch_indices(40, False, rng)
    assert np.array_equal(
        np.asarray(epoch_indices(8, True, rng)), np.asarray(epoch_indices(8, True, again))
    ), "an epoch without shuffling drew from the generator"


def test_without_a_seed_the_order_follows_manual_seed():
    first, again, other = drawn_after_manual_seed(epoch_indices_numbers)
    assert first == again, (
        "after manual_seed(1) twice, the order should be the same: with rng=None draw from "
        "generator(rng), not from a new generator"
    )
    assert first != other, (
        "after manual_seed(1) and manual_seed(2), the order was the same: with rng=None draw "
        "from "
        "generator(rng)"
    )


# %% epoch-indices hidden points=1
def test_every_position_gets_every_example():
    rng = generator(12)
    orders = np.array(
        [np.asarray(epoch_indices(6, rng=rng, shuffle=True)) for _ in range(1200)]
    )
    for position in range(6):
        counts = np.bincount(orders[:, position], minlength=6)
        assert counts.min() > 150 and counts.max() < 250, (
            f"position {position} had the examples {counts} times, 200 times each is expected"
        )
    assert np.asarray(epoch_indices(rng=3, count=5)).tolist() == [0, 1, 2, 3, 4], (
        "shuffling should be off by default"
    )


# %% batches points=3
def test_no_example_is_left_out():
    for count, size in [(5, 2), (5, 5), (6, 2), (4, 9), (7, 3), (1, 1), (10, 1), (13, 4)]:
        order = np.arange(count)[::-1] * 3
        found = [np.asarray(piece).tolist() for piece in batches(order, size)]
        seen = sum(found, [])
        assert seen == order.tolist(), (
            f"{count} examples in batches of {size}: together they should be "
            f"{order.tolist()}, yours are {found}. {count - len(seen)} example(s) are never "
            "used:"
            " the last batch may be shorter, but not missing"
        )
        wanted = [size] * (count // size) + [count % size] * (count % size > 0)
        assert [len(piece) for piece in found] == wanted, (
            f"{count} examples in batches of {size}: lengths {wanted}, yours "
            f"{[len(piece) for piece in found]}"
        )


def test_the_last_batch_is_dropped_only_when_asked_and_not_full():
    for count, size, wanted in [(7, 3, 2), (6, 3, 2), (2, 3, 0), (5, 5, 1), (9, 4, 2)]:
        order = np.arange(count) + 100
        found = [np.asarray(piece).tolist() for piece in batches(order, size, drop_last=True)]
        assert found == [order[k * size : k * size + size].tolist() for k in range(wanted)], (
            f"{count} examples in batches of {size} with drop_last: the {wanted} full ones, "
            f"yours are {found}"
        )


def test_no_indices_make_no_batches():
    found = [
        len(batches(np.arange(count), 3, drop)) for count in (0, 4) for drop in (False, True)
    ]
    assert found == [0, 0, 2, 1], (
        "no indices have no batches, four have 2 batches of up to 3, or 1 full one: "
        f"[0, 0, 2, 1], yours {found}"
    )


# %% batches hidden points=1
def test_other_batches():
    for count, size, drop in [
        (64, 64, True),
        (65, 64, True),
        (63, 64, True),
        (129, 64, False),
        (3, 1, True),
        (1, 100, True),
    ]:
        order = (np.arange(count) * 5 + 2) % 1000
        found = [
            np.asarray(piece) for piece in batches(drop_last=drop, batch_size=size, order=order)
        ]
        right = [size] * (count // size) + ([] if drop or count % size == 0 else [count % size])
        assert [len(piece) for piece in found] == right, (
            f"{count} by {size}, {drop}: {right} expected, got {found}"
        )
        together = np.concatenate([order[:0], *found])
        assert np.array_equal(together, order[: sum(right)]), (
            f"{count} by {size}, {drop}: got {found}"
        )


# %% collate points=5
def test_pairs_become_a_pair_of_tensors():
    pictures = (np.arange(30, dtype="float32") ** 1.5).reshape(5, 2, 3)
    try:
        found = collate([(pictures[k], 10 * k) for k in (4, 0, 2)])
    except ValueError as error:
        assert False, (
            "three pairs of an image and a number: collate all images, and all numbers; "
            f"yours raises: {error}"
        )
    assert isinstance(found, tuple) and len(found) == 2, (
        f"three pairs should become a tuple of two Tensors, yours is {found!r:.200}"
    )
    for part, wanted in zip(found, (pictures[[4, 0, 2]], np.array([40, 0, 20]))):
        assert isinstance(part, Tensor), (
            f"the members of a batch should be Tensors, yours is {part!r:.100}"
        )
        assert part.shape == wanted.shape, (
            f"one row per example gives the shape {wanted.shape}, yours has {part.shape}"
        )
        assert np.array_equal(part.data, wanted), (
            f"this member of the batch should be\n{wanted}, yours is\n{part.data}"
        )


def test_dtypes_are_kept():
    for dtype in ("float32", "float64", "uint8", "int64", "bool"):
        found = collate([np.zeros((2, 1), dtype), np.ones((2, 1), dtype)])
        assert found.dtype.name == dtype, (
            f"examples of {dtype} should make a Tensor of {dtype}, yours is {found.dtype}"
        )
    for numbers, dtype in [
        ([3, 1, 2], np.array([3, 1, 2]).dtype.name),
        ([0.5, 2.0], "float32"),
        ([np.float64(1), np.float64(2)], "float64"),
    ]:
        found = collate(numbers)
        assert found.shape == (len(numbers),) and found.dtype.name == dtype, (
            f"{numbers} should become {dtype} of shape ({len(numbers)},), yours is "
            f"{found.dtype} of shape {found.shape}"
        )
        assert np.array_equal(found.data, numbers), f"{numbers} became {found}"


def test_examples_that_are_arrays_become_one_tensor():
    found = collate([np.array([1, 2, 4], "float32"), np.array([0, 5, 1], "float32")])
    assert isinstance(found, Tensor), (
        "examples that are arrays should become one Tensor, not a tuple; yours is "
        f"{found!r:.100}"
    )
    assert np.array_equal(found.data, [[1, 2, 4], [0, 5, 1]]), (
        f"the rows should be the examples, yours is {found}"
    )
    one = collate([(np.ones(3, "float32"),)])
    assert isinstance(one, tuple) and one[0].shape == (1, 3), (
        "one example, a tuple of one array (3,): a tuple of one Tensor (1, 3), yours is "
        f"{one!r:.100}"
    )


def test_nested_tuples():
    found = collate([(1.5, (np.array([1, 2]), [7, 0.5])), (2.5, (np.array([3, 4]), [8, 1.5]))])
    first, (inner, (seven, half)) = found
    for part, wanted in [
        (first, [1.5, 2.5]),
        (inner, [[1, 2], [3, 4]]),
        (seven, [7, 8]),
        (half, [0.5, 1.5]),
    ]:
        assert np.array_equal(np.asarray(part), wanted), (
            f"this member should be {wanted}, yours is {part}: collate it by the same rule, "
            "also in a list"
        )


def test_examples_of_different_structure_are_refused():
    for samples, told in [
        ([np.ones((2, 3)), np.ones((3, 2))], "(2, 3)"),
        ([(1, 2), (3, 4, 5)], ""),
        ([(np.ones(2), 1), (np.ones(1), 2)], "(1,)"),
    ]:
        try:
            found = collate(samples)
        except ValueError as error:
            assert told in str(error), (
                f"the message should contain the shapes, {told} among them; yours: {error}"
            )
        else:
            assert False, (
                f"{samples} differ in shape or length and should be a ValueError; yours"
                f" returns {found}. Plain zip stops at the shortest without an error"
            )


# %% collate hidden points=1
def test_other_structures_of_examples():
    pieces = [Tensor(np.full((1, 2), k, "float64")) for k in (3, 1, 5, 4)]
    found = collate([[piece, ((k,), True)] for k, piece in enumerate(pieces)])
    assert isinstance(found, tuple) and found[0].dtype.name == "float64", (
        f"a tuple with float64 expected, got {found!r}"
    )
    assert np.array_equal(found[0].data, [[[3, 3]], [[1, 1]], [[5, 5]], [[4, 4]]]), (
        f"four Tensors gave {found[0]}"
    )
    assert (
        np.array_equal(np.asarray(found[1][0][0]), [0, 1, 2, 3])
        and found[1][1].dtype.name == "bool"
    ), f"got {found[1]}"
    empty = collate([np.zeros((0, 3), "float32")] * 2)
    assert empty.shape == (2, 0, 3), f"two examples of shape (0, 3): got {empty.shape}"
    alone = np.arange(4, dtype="float32")
    made = collate([alone])
    made.detach()[:] = 9.0
    assert np.array_equal(alone, [0, 1, 2, 3]), "writing into the batch changed the example"


# %% learner-side
class RecordedDataset(Dataset):
    """`count` examples (i, 10 i), as numbers; `asked` lists which were fetched. Example `bad`
    raises LookupError."""

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
    """The contents of one epoch of (x, y) batches: a list of (numbers of x, numbers of y)."""
    return [(x.data.tolist(), y.data.tolist()) for x, y in loader]


def orders_of_epochs(loader, epochs):
    """The y of all examples, epoch by epoch."""
    return [[int(number) for _, y in loader for number in y.data] for _ in range(epochs)]


def samples_given_to_collate(count, size):
    """What a collate_fn receives, batch by batch."""
    got = []
    for _ in DataLoader(RecordedDataset(count), size, collate_fn=got.append):
        pass
    return got


def orders_with_draws_between(drawn):
    """Two orders of a loader made after manual_seed(5), when `drawn` numbers are drawn
    elsewhere between them."""
    from tinytorch.core.layers import manual_seed

    manual_seed(5)
    loader = DataLoader(RecordedDataset(50), 50, shuffle=True)
    first = orders_of_epochs(loader, 1)
    generator().random(drawn)
    return first + orders_of_epochs(loader, 1)


# %% loader points=7
def test_an_epoch_has_every_example_in_batches():
    pictures, answers = np.arange(42, dtype="float32").reshape(7, 3, 2), np.arange(7) * 11
    for dataset in (
        TensorDataset(pictures, answers),
        Subset(TensorDataset(pictures[::-1], answers[::-1]), np.arange(7)[::-1]),
    ):
        found = [(x, y) for x, y in DataLoader(dataset, batch_size=3)]
        assert [x.shape for x, _ in found] == [(3, 3, 2), (3, 3, 2), (1, 3, 2)], (
            "7 images of shape (3, 2) in batches of 3: the batches have 3, 3 and 1; yours are "
            f"{[x.shape for x, _ in found]}"
        )
        for k, (x, y) in enumerate(found):
            assert isinstance(x, Tensor) and x.dtype.name == "float32", (
                f"a batch should be made of Tensors, yours has {x!r:.100}"
            )
            assert np.array_equal(x.data, pictures[3 * k : 3 * k + 3]), (
                f"batch {k} should have the images\n{pictures[3 * k : 3 * k + 3]}, yours "
                f"has\n{x.data}"
            )
            assert np.array_equal(y.data, answers[3 * k : 3 * k + 3]), (
                f"batch {k} should have the labels {answers[3 * k : 3 * k + 3]}, yours has {y}"
            )
    found = columns(DataLoader(RecordedDataset(5), 2))
    assert found == [([0, 1], [0, 10]), ([2, 3], [20, 30]), ([4], [40])], (
        f"five pairs (i, 10 i) in batches of 2; yours are {found}"
    )


def test_a_batch_is_fetched_when_it_is_asked_for():
    dataset = RecordedDataset(9)
    iterator = iter(DataLoader(dataset, 2))
    for wanted in (2, 4, 6):
        next(iterator)
        assert len(dataset.asked) == wanted, (
            f"after {wanted // 2} batch(es) of 2, {wanted} examples should have been fetched, "
            f"yours fetched {len(dataset.asked)}: yield each batch, do not build a list of "
            "all first"
        )


def test_drop_last_and_the_length_agree():
    for count, size, drop, wanted in [
        (7, 3, False, 3),
        (7, 3, True, 2),
        (6, 3, True, 2),
        (2, 5, False, 1),
        (2, 5, True, 0),
    ]:
        loader = DataLoader(RecordedDataset(count), size, drop_last=drop)
        found = len(columns(loader))
        assert found == wanted, (
            f"{count} examples in batches of {size}, drop_last={drop}: {wanted} batches, yours "
            f"{found}: pass self.drop_last to batches"
        )
        assert len(loader) == wanted, (
            f"len(loader) should be {wanted} too, yours is {len(loader)}"
        )


def test_each_epoch_has_a_new_order():
    loader, again = [DataLoader(RecordedDataset(30), 4, shuffle=True, rng=3) for _ in range(2)]
    first, second = orders_of_epochs(loader, 2)
    assert sorted(first) == sorted(second) == [10 * k for k in range(30)], (
        f"each epoch should have every example once, yours has {first}"
    )
    assert first != second, (
        "the second epoch has the order of the first: draw a new one in each epoch"
    )
    assert orders_of_epochs(again, 2) == [first, second], (
        "the same seed should give the same two epochs: draw from self.rng"
    )
    assert orders_with_draws_between(0) == orders_with_draws_between(7), (
        "numbers drawn elsewhere changed the order of the examples: draw from self.rng"
    )


def test_shuffling_keeps_inputs_with_their_targets():
    numbers = np.arange(40)
    arrays = TensorDataset(numbers.astype("float32"), numbers * 10)
    for dataset in (arrays, Subset(arrays, numbers[::-1]), RecordedDataset(40)):
        for epoch in range(2):
            seen = list(DataLoader(dataset, 8, shuffle=True, rng=epoch))
            assert len(seen) == 5, f"40 examples are 5 batches of 8, yours has {len(seen)}"
            for x, y in seen:
                assert np.array_equal(x.data * 10, y.data), (
                    f"the target of input i is 10 i; a shuffled batch has the inputs {x.data} "
                    f"and the targets {y.data}: inputs and targets were shuffled apart. Fetch "
                    "both with the same indices"
                )


def test_a_sampler_defines_the_order():
    loader = DataLoader(RecordedDataset(6), 2, sampler=[4, 0, 4, 4, 1])
    for _ in range(2):
        found = columns(loader)
        assert found == [([4, 0], [40, 0]), ([4, 4], [40, 40]), ([1], [10])], (
            "the sampler is 4, 0, 4, 4, 1, and the batches should have this order in every "
            "epoch; yours "
            f"are {found}"
        )
    assert len(loader) == 3, (
        f"a sampler of 5 indices makes 3 batches of up to 2, yours {len(loader)}"
    )


def test_a_collate_fn_receives_the_examples():
    found = samples_given_to_collate(5, 3)
    assert found == [[(0, 0), (1, 10), (2, 20)], [(3, 30), (4, 40)]], (
        "a collate_fn should receive the list of the examples of a batch, yours received "
        f"{found}: "
        "use self.fetch"
    )


# %% loader hidden points=1
def test_loaders_of_other_sizes():
    for count, size in [(1, 1), (1, 7), (12, 5), (12, 12), (0, 3)]:
        for drop in (False, True):
            loader = DataLoader(
                RecordedDataset(count), size, drop_last=drop, rng=1, shuffle=True
            )
            found = columns(loader)
            lengths = [len(x) for x, _ in found]
            right = [size] * (count // size) + [count % size] * (count % size > 0 and not drop)
            assert lengths == right and len(loader) == len(right), (
                f"{count} by {size}, {drop}: {right} expected, got {lengths}"
            )
            assert all(b == 10 * a for x, y in found for a, b in zip(x, y)), (
                f"inputs and targets were shuffled apart: {found}"
            )
    loader = DataLoader(RecordedDataset(7), 2, True, rng=2)
    one, other = iter(loader), iter(loader)
    seen = [
        [np.asarray(next(iterator)[1]).tolist() for _ in range(4)] for iterator in (one, other)
    ]
    assert [sorted(sum(part, [])) for part in seen] == [[0, 10, 20, 30, 40, 50, 60]] * 2, (
        f"two epochs at once: {seen}"
    )


# %% channel-statistics points=4
def channel_by_channel(images):
    """Mean and population deviation of each channel, one number at a time."""
    means, stds = [], []
    for c in range(images.shape[1]):
        numbers = [float(v) for v in images[:, c].ravel()]
        mean = math.fsum(numbers) / len(numbers)
        means.append(mean)
        stds.append(math.sqrt(math.fsum((v - mean) ** 2 for v in numbers) / len(numbers)))
    return np.array(means), np.array(stds)


def test_every_channel_has_its_own_statistics():
    random = np.random.default_rng(3)
    images = (
        random.normal(size=(7, 3, 4, 5)) * np.array([1, 20, 0.1])[:, None, None]
        + np.array([5, -3, 100])[:, None, None]
    )
    for given in (images.astype("float32"), images):
        both = channel_statistics(given)
        assert isinstance(both, (tuple, list)) and len(both) == 2, (
            f"channel_statistics should return (mean, std), yours returns {both!r:.200}"
        )
        mean, std = [np.asarray(part) for part in both]
        assert mean.shape == std.shape == (3, 1, 1), (
            "images (7, 3, 4, 5) have 3 channels: mean and std of shape (3, 1, 1), yours "
            f"{mean.shape} and {std.shape}"
        )
        for name, found, wanted in [
            ("mean", mean, channel_by_channel(given)[0]),
            ("std", std, channel_by_channel(given)[1]),
        ]:
            assert np.allclose(found.ravel(), wanted, rtol=1e-5, atol=0), (
                f"the {name} of each channel over all images and pixels should be {wanted}, "
                f"yours is {found.ravel()}. Over all axes but 1; the std is divided by the"
                " count, not by one less"
            )
        assert mean.dtype.name == std.dtype.name == "float32", (
            f"both are float32, yours {mean.dtype} and {std.dtype}"
        )


def test_rows_of_features():
    rows = np.array([[1, 10, 5, -2], [3, 30, 6, -2.5], [2, 80, 10, 0]], "float64")
    mean, std = [np.asarray(part) for part in channel_statistics(rows)]
    assert mean.shape == std.shape == (4,), (
        f"rows of 4 features: 4 means, yours {mean.shape} and {std.shape}"
    )
    assert np.allclose(mean, [2, 40, 7, -1.5]), (
        f"the means of the columns are 2, 40, 7, -1.5; yours {mean}"
    )
    assert np.allclose(std, channel_by_channel(rows)[1], rtol=1e-6), (
        f"std {channel_by_channel(rows)[1]}, yours {std}"
    )


def test_a_constant_channel_is_divided_by_one():
    images = np.zeros((4, 2, 3, 3), "float32")
    images[:, 0], images[:, 1] = 7, np.arange(36).reshape(4, 3, 3) * 0.001
    _, std = [np.asarray(part).ravel() for part in channel_statistics(images)]
    assert std[0] == 1, (
        "the first channel is 7 everywhere: its std should be returned as 1, yours is "
        f"{std[0]}; 0"
        " / 0 would be nan"
    )
    assert abs(std[1] / channel_by_channel(images)[1][1] - 1) < 1e-4, (
        f"the other channel has the small standard deviation "
        f"{channel_by_channel(images)[1][1]:.5f}, it is not constant; yours returns {std[1]}"
    )


def test_sums_are_accumulated_in_float64():
    images = (np.arange(60 * 2 * 40 * 50) * 7919 % 256).astype("uint8").reshape(60, 2, 40, 50)
    before = images.copy()
    mean, std = [np.asarray(part).ravel() for part in channel_statistics(images)]
    wanted = channel_by_channel(images)
    assert np.allclose(mean, wanted[0], rtol=1e-6) and np.allclose(std, wanted[1], rtol=1e-6), (
        f"uint8 images: mean and std should be {wanted}, yours are {mean} and {std}: "
        "accumulate in float64"
    )
    assert np.array_equal(images, before), "the images were changed"
    far = (np.arange(20000 * 2 * 3).reshape(20000, 2, 3) * 7 % 11 * 0.5 + 4096).astype(
        "float32"
    )
    mean, std = [np.asarray(part).ravel() for part in channel_statistics(far)]
    wanted = channel_by_channel(far)
    assert np.allclose(mean, wanted[0], rtol=1e-6, atol=0) and np.allclose(
        std, wanted[1], rtol=1e-5, atol=0
    ), (
        f"many float32 numbers around 4098: mean and std {wanted} expected, yours {mean} and "
        f"{std}: a float32 sum of so many numbers loses the last digits; accumulate in float64"
    )


# %% channel-statistics hidden points=1
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
        images = random.normal(3, 2, shape) * 10.0 ** np.arange(shape[1]).reshape(
            -1, *[1] * (len(shape) - 2)
        )
        mean, std = [np.asarray(part) for part in channel_statistics(images)]
        right = one_by_one(images)
        assert mean.shape == std.shape == (shape[1], *[1] * (len(shape) - 2)), (
            f"{shape}: got {mean.shape}, {std.shape}"
        )
        assert np.allclose(mean.ravel(), right[0], rtol=1e-5) and np.allclose(
            std.ravel(), right[1], rtol=1e-5
        ), f"{shape}: {right} expected, got {mean.ravel()} and {std.ravel()}"


# %% learner-side
def shift_then_write(image, down, right):
    """shift(image, down, right), after which 99 is written into the first pixel of what it
    gave; returns `image`."""
    shift(image, down, right)[..., 0, 0] = 99
    return image


# %% shift points=3
def moved(image, down, right):
    """The same, pixel by pixel."""
    out = np.zeros_like(image)
    height, width = image.shape[-2:]
    for i in range(height):
        for j in range(width):
            if 0 <= i - down < height and 0 <= j - right < width:
                out[..., i, j] = image[..., i - down, j - right]
    return out


def test_an_image_is_shifted_and_zeros_enter():
    image = np.arange(1, 13, dtype="float32").reshape(1, 3, 4)
    for down, right in [(1, 0), (0, 1), (-1, 0), (0, -1), (2, -1), (-1, 3), (0, 0)]:
        found = np.asarray(shift(image, down, right))
        assert found.shape == (1, 3, 4) and found.dtype.name == "float32", (
            "a float32 image (1, 3, 4) should keep dtype and shape, yours became "
            f"{found.dtype} {found.shape}"
        )
        wanted = moved(image, down, right)
        assert not np.array_equal(found, np.roll(image, (down, right), (1, 2))) or (
            down,
            right,
        ) == (0, 0), (
            f"{down} down and {right} right: pixels that left on one side came back on the "
            "other. "
            "Zeros should enter"
        )
        assert np.array_equal(found, wanted), (
            f"{down} down and {right} right, the image\n{image[0]}\nshould "
            f"become\n{wanted[0]}\nyours is\n{found[0]}"
        )


def test_an_image_may_be_shifted_out_completely():
    image = np.arange(1, 16, dtype="uint8").reshape(5, 3)
    for down, right in [(5, 0), (0, -3), (9, 1), (-4, -2), (1, 7), (-6, 0)]:
        found = np.asarray(shift(image, down, right))
        assert np.array_equal(found, moved(image, down, right)) and found.shape == (5, 3), (
            f"an image (5, 3) shifted {down} down and {right} right should "
            f"be\n{moved(image, down, right)}, yours is\n{found}"
        )
        assert found.dtype.name == "uint8", (
            f"a uint8 image should stay uint8, yours is {found.dtype}"
        )


def test_all_channels_are_shifted_and_the_input_is_unchanged():
    image = np.arange(1, 61, dtype="float64").reshape(2, 3, 2, 5)
    before = image.copy()
    found = np.asarray(shift(image, -1, 2))
    assert np.array_equal(found, moved(before, -1, 2)), (
        f"all images and channels should be shifted alike, yours gives\n{found}"
    )
    assert np.array_equal(image, before), "the input image was changed: make a new array"
    for by in [(0, 0), (1, 0)]:
        assert np.array_equal(shift_then_write(before.copy(), *by), before), (
            f"shifted by {by}, then 99 written into the result: the input image changed "
            "too. Return a new array, not a view"
        )


# %% shift hidden points=1
def test_other_shifts():
    image = np.arange(1.0, 43.0).reshape(2, 3, 7)
    for down in range(-4, 5):
        for right in (-8, -3, 0, 2, 6):
            found, wanted = (
                np.asarray(shift(image=image, right=right, down=down)),
                np.zeros_like(image),
            )
            for i, j in np.ndindex(3, 7):
                if 0 <= i + down < 3 and 0 <= j + right < 7:
                    wanted[:, i + down, j + right] = image[:, i, j]
            assert np.array_equal(found, wanted), (
                f"{down} down, {right} right: {wanted} expected, got {found}"
            )


# %% learner-side
def flips(p, seed, count):
    """What a flip makes of the image [[1, 2]], `count` times: the first pixels."""
    flip, image = RandomHorizontalFlip(p, rng=seed), np.array([[1, 2]])
    return [int(flip(image)[0, 0]) for _ in range(count)]


def flips_with_draws_between(drawn):
    """Two rows of 30 flips after manual_seed(2), when `drawn` numbers are drawn elsewhere
    between them."""
    from tinytorch.core.layers import manual_seed

    manual_seed(2)
    flip, image, found = RandomHorizontalFlip(0.4), np.array([[1, 2]]), []
    for _ in range(2):
        found += [int(flip(image)[0, 0]) for _ in range(30)]
        generator().random(drawn)
        np.random.rand()  # NumPy's global generator, which nobody should draw from
    return found


def flip_then_write(image):
    """A certain flip of `image`, into which 99 is then written; returns the flip as it was, and
    `image`."""
    flipped = RandomHorizontalFlip(1.0, rng=0)(image)
    before = flipped.copy()
    flipped[..., 0, 0] = 99
    return before, image


# %% flip points=4
def test_left_and_right_change_places():
    for shape in [(1, 2, 3), (3, 4, 2), (2, 5), (6, 1, 2, 3), (1, 1, 1)]:
        image = np.arange(math.prod(shape), dtype="float32").reshape(shape)
        wanted = np.stack([image[..., -1 - j] for j in range(shape[-1])], axis=-1)
        found = np.asarray(RandomHorizontalFlip(1.0, rng=1)(image))
        assert found.shape == shape, (
            f"the shape {shape} should be kept, yours became {found.shape}"
        )
        assert np.array_equal(found, wanted), (
            f"an image of shape {shape}\n{image}\nflipped is\n{wanted}\nyours is\n{found}. The"
            " width is the last axis: any other turns it upside down, or swaps its channels"
        )
        assert found.dtype.name == "float32", (
            f"float32 should be kept, yours became {found.dtype}"
        )


def test_images_are_flipped_with_probability_p():
    for p, least, most in [(0.2, 140, 260), (0.9, 850, 950), (0.0, 0, 0), (1.0, 1000, 1000)]:
        found = sum(pixel == 2 for pixel in flips(p, 3, 1000))
        assert least <= found <= most, (
            f"with p={p}, about {1000 * p:.0f} of 1000 images should be flipped, yours flips "
            f"{found}"
        )


def test_the_flip_draws_from_its_own_generator():
    first, again, other = flips(0.5, 7, 60), flips(0.5, 7, 60), flips(0.5, 8, 60)
    assert first == again, "the same seed should give the same flips: draw from self.rng"
    assert first != other, (
        "seeds 7 and 8 gave the same flips: draw from self.rng, and do not seed anew"
    )
    assert len(set(first)) == 2, (
        "with p=0.5 some of 60 images should be flipped and some not; yours are all alike"
    )
    assert flips_with_draws_between(0) == flips_with_draws_between(5), (
        "numbers drawn elsewhere changed the flips: draw from self.rng"
    )


def test_the_input_image_is_not_changed():
    image = np.arange(12, dtype="float32").reshape(2, 3, 2)
    flipped, found = [np.asarray(part) for part in flip_then_write(image.copy())]
    assert flipped.shape == image.shape and np.array_equal(flipped[..., 0], image[..., 1]), (
        f"the flip of\n{image}\nis\n{flipped}"
    )
    assert np.array_equal(found, image), (
        f"the input image was changed, by the flip or by writing into its result: {found}. "
        "Make a copy"
    )


# %% flip hidden points=1
def test_flips_of_other_images():
    image = (np.arange(2 * 3 * 4 * 5) * 7 % 251).astype("uint8").reshape(2, 3, 4, 5)
    found = np.asarray(RandomHorizontalFlip(rng=generator(2), p=1)(image))
    assert found.dtype.name == "uint8" and np.array_equal(found, np.flip(image, 3)), (
        f"flipped: got {found}"
    )
    assert np.array_equal(np.asarray(RandomHorizontalFlip(0, 2)(image)), image), (
        "p=0 flips nothing"
    )
    counts = [sum(pixel == 2 for pixel in flips(0.3, seed, 400)) for seed in range(5)]
    assert len(set(counts)) > 1 and 480 < sum(counts) < 720, (
        f"of 5 times 400 pictures 30% should be flipped, got {counts}"
    )


# %% one-hot points=4
def test_each_class_has_its_column():
    for labels, classes in [
        ([2, 0, 3, 3, 1], 4),
        ([0, 2], 3),
        ([1], 5),
        ([4, 4], 5),
        ([[1, 0, 2], [0, 0, 1]], 3),
        (2, 3),
        ([], 4),
    ]:
        found = one_hot(np.array(labels, "int64"), classes)
        wanted = np.zeros((*np.shape(labels), classes))
        for index in np.ndindex(np.shape(labels)):
            wanted[(*index, np.array(labels)[index])] = 1
        assert found.shape == wanted.shape, (
            f"labels {labels} of {classes} classes: shape {wanted.shape}, yours {found.shape}. "
            "A class that does not occur in this batch still has its column, or all later"
            " columns would be wrong"
        )
        assert np.array_equal(found.data, wanted), (
            f"labels {labels} of {classes} classes:\n{wanted}\nexpected, yours\n{found}"
        )
        assert found.dtype.name == "float32", f"the result is float32, yours {found.dtype}"


def test_labels_of_any_type():
    for name, labels in [
        ("a list", [2, 0]),
        ("a Tensor", Tensor([2, 0])),
        ("a uint8 array", np.array([2, 0], "uint8")),
    ]:
        found = one_hot(labels, 4)
        assert np.array_equal(np.asarray(found), [[0, 0, 1, 0], [1, 0, 0, 0]]), (
            f"{name} of 2 and 0: yours gives {found}"
        )


def test_labels_out_of_range_are_refused():
    assert one_hot([0, 2, 1], 3).shape == (3, 3), (
        "the labels 0, 2 and 1 of 3 classes are in range"
    )
    for labels, wrong in [([0, 3, 1], "3"), ([0, -1], "-1"), ([[2, 7], [0, 1]], "7")]:
        try:
            found = one_hot(labels, 3)
        except ValueError as error:
            assert wrong in str(error), (
                f"the message should contain the label {wrong}, yours: {error}"
            )
        except IndexError as error:
            assert False, (
                f"label {wrong} of 3 classes: a ValueError of yours that names it, not "
                "NumPy's IndexError: "
                f"{error}"
            )
        else:
            assert False, (
                f"with 3 classes the labels are 0 to 2; yours accepts {wrong}: {found}"
            )


def test_labels_of_small_integer_dtypes():
    for dtype, labels, classes in [
        ("uint8", [255, 0, 128], 300),
        ("int8", [127, 5], 200),
        ("int32", [999, 70], 1000),
    ]:
        found = one_hot(np.array(labels, dtype), classes)
        assert found.shape == (len(labels), classes), (
            f"{dtype} labels {labels} of {classes} classes: shape {(len(labels), classes)}, "
            f"yours has {found.shape}"
        )
        columns = [np.flatnonzero(row).tolist() for row in found.data]
        assert columns == [[label] for label in labels], (
            f"{dtype} labels {labels} of {classes} classes: the ones should be in these "
            "columns,"
            f" yours are in {columns}. Does an integer overflow in {dtype}?"
        )


# %% one-hot hidden points=1
def test_other_labels():
    labels = np.arange(24).reshape(2, 3, 4) * 5 % 11
    found = one_hot(num_classes=11, labels=labels)
    right = (labels[..., None] == np.arange(11)).astype("float32")
    assert found.shape == (2, 3, 4, 11) and np.array_equal(found.data, right), f"got {found}"
    assert one_hot(np.zeros((0, 2), "int64"), 6).shape == (0, 2, 6), (
        "no labels: shape (0, 2, 6) expected"
    )
    for label in (11, -11, 200):
        try:
            one_hot([[0, label]], 11)
        except ValueError as error:
            assert str(label) in str(error), f"the error should name {label}: {error}"
        else:
            assert False, f"label {label} of 11 classes: ValueError expected"


# %% learner-side
def read_back(data):
    """What parse_idx(data) returns: its numbers as a list, and its dtype with the byte order,
    such as "<i2"."""
    found = parse_idx(data)
    return found.tolist(), found.dtype.str


# %% parse-idx points=4
def idx_bytes(kind, array):
    """`array` as the bytes of an IDX file; its dtype is big-endian already."""
    head = bytes([0, 0, kind, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape)
    return head + array.tobytes()


def test_bytes_become_images():
    pictures = (np.arange(4 * 3 * 2) * 37 % 256).astype("uint8").reshape(4, 3, 2)
    found = np.asarray(parse_idx(idx_bytes(8, pictures)))
    assert found.shape == (4, 3, 2), (
        f"the lengths 4, 3, 2 are the shape, yours is {found.shape}"
    )
    assert np.array_equal(found, pictures), (
        f"the images should be\n{pictures}, yours are\n{found}"
    )
    labels = np.array([7, 0, 255], "uint8")
    assert np.array_equal(np.asarray(parse_idx(idx_bytes(8, labels))), labels), (
        "a file with one axis and the labels 7, 0, 255 should give these"
    )
    large = np.arange(300 * 2, dtype="uint8").reshape(300, 2)
    found = np.asarray(parse_idx(idx_bytes(8, large)))
    assert np.array_equal(found, large), (
        "the length 300 is the bytes 0 0 1 44, most significant first; yours gives "
        f"{found.shape}"
    )


def test_every_type_of_number():
    for kind, dtype, numbers in [
        (9, ">i1", [-128, 0, 127]),
        (11, ">i2", [256, -1, 3]),
        (12, ">i4", [70000, -5, 0]),
        (13, ">f4", [0.5, -2.25, 1e20]),
        (14, ">f8", [0.1, -1e300, 3.0]),
    ]:
        array = np.array(numbers, dtype)
        found, kept_as = read_back(idx_bytes(kind, array))
        assert found == array.tolist(), (
            f"type {kind}: the numbers should be {numbers}, yours are {found}: the most "
            "significant byte comes first"
        )
        assert kept_as == array.dtype.newbyteorder("=").str, (
            f"type {kind}: the result should be {array.dtype.newbyteorder('=').str} in the "
            f"machine's own byte order, yours is {kept_as}"
        )


def test_a_file_that_was_cut_off_is_refused():
    whole = idx_bytes(11, np.arange(30).astype(">i2").reshape(5, 6))
    for data, what in [
        (whole[:-2], "without its last number"),
        (whole[:-12], "without its last row"),
        (whole[:-1], "cut inside its last number"),
        (whole[:12], "without its numbers"),
        (whole + b"\0\0", "with two bytes too many"),
        (whole + b"\0", "with one byte too many"),
    ]:
        present = len(data) - 12
        try:
            found = parse_idx(data)
        except ValueError as error:
            assert "60" in str(error) and str(present) in str(error), (
                f"a file of shape (5, 6) with 2-byte numbers, {what}: the message should "
                "contain "
                f"how many bytes the lengths require, 60, and how many are present, {present}; "
                f"yours: {error}"
            )
        else:
            assert False, (
                f"a file of shape (5, 6) {what}: it should be a ValueError, yours returns "
                "shape "
                f"{np.asarray(found).shape}. Compare the number of bytes after the header with "
                "the number that the lengths require; both too few and too many are wrong"
            )


def test_the_array_can_be_written_to():
    found = parse_idx(idx_bytes(12, np.array([[1, 2]], ">i4")))
    try:
        found[0, 1] = 9
    except ValueError as error:
        assert False, (
            f"the array should be an ordinary one: {error}; np.frombuffer returns a read-only "
            "view of the bytes, "
            "make a copy"
        )
    assert np.asarray(found).tolist() == [[1, 9]], (
        f"[[1, 2]] with 9 written into its last element, yours is {found}"
    )


# %% parse-idx hidden points=1
def as_idx(kind, array):
    """`array` as the bytes of an IDX file; its dtype is big-endian already."""
    head = bytes([0, 0, kind, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape)
    return head + array.tobytes()


def test_other_idx_files():
    for shape in [(), (0,), (3, 0, 2), (1, 1, 1, 5), (2, 3, 4, 5)]:
        array = np.asarray((np.arange(math.prod(shape)) - 3).reshape(shape) / 7, ">f4")
        found = np.asarray(parse_idx(as_idx(13, array)))
        assert found.shape == shape and np.array_equal(found, array), (
            f"shape {shape}: got {found}"
        )
    for data in (
        bytes([0, 0, 8, 1, 255, 255, 255, 255]),
        bytes([0, 0, 8, 4] + [0, 1, 0, 0] * 4),
        bytes([0, 0, 9, 2, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6]),
    ):
        try:
            found = parse_idx(data)
        except ValueError:
            continue
        assert False, f"{data.hex(' ')}: ValueError expected, got {found}"


# %% learner-side
def counting(count, error=None, made=None, where=None):
    """Yields 0 ... count - 1, then raises `error` if there is one. Records in `made` what it
    yields, and in `where` in which thread."""
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


def enqueued(count, error=None, room=1000):
    """What `enqueue` puts for counting(count) and an error of that text, what it reads, and
    what it returns.

    room     how many entries are put before put returns False
    """
    entries, made = [], []

    def put(kind, value=None):
        entries.append((kind, str(value) if isinstance(value, BaseException) else value))
        return len(entries) < room

    source = counting(count, None if error is None else LookupError(error), made)
    try:
        answer = enqueue(source, put)
    except BaseException as raised:  # noqa: BLE001
        answer = f"raises {raised!r}"
    return entries, [k for k in made if k != "closed"], answer


# %% enqueue points=3
def test_every_item_and_the_end_are_put():
    for count in (3, 1, 0):
        entries, _, answer = enqueued(count)
        assert entries == [("item", k) for k in range(count)] + [("end", None)], (
            f'{count} items: each should be put as "item", then "end" once; yours puts '
            f'{entries}. Without an "end" the program waits forever'
        )
        assert answer is None, f"enqueue should return None, yours {answer}"


def test_an_error_is_put_not_raised():
    for count in (2, 0):
        entries, _, answer = enqueued(count, error="the disk is gone")
        assert answer is None, (
            f"items raises an exception after {count} items. In a thread nobody would see it: "
            "catch "
            f"it and put it. Your enqueue {answer}"
        )
        wanted = [("item", k) for k in range(count)] + [("error", "the disk is gone")]
        assert entries == wanted, (
            f"{count} items, then an error: {wanted} should be put, yours puts {entries}: put "
            "the error itself, once, and no end after it"
        )


def test_it_stops_when_the_queue_is_closed():
    for room in (1, 3):
        entries, made, answer = enqueued(8, room=room)
        assert entries == [("item", k) for k in range(room)] and answer is None, (
            f"put returns False at call number {room}: that should be the last call, yours "
            f"calls it {len(entries)} times: {entries}"
        )
        assert made == list(range(room)), (
            f"put returned False after item {room - 1}, and yours read {made} from the items: "
            "stop reading"
        )


# %% enqueue hidden points=1
def test_other_entries_are_put():
    entries, made, answer = enqueued(1, error="", room=2)
    assert entries == [("item", 0), ("error", "")] and answer is None, (
        f"an item, then an error: got {entries}, {answer}"
    )
    entries, made, answer = enqueued(1, error="late", room=1)
    assert entries == [("item", 0)] and made == [0] and answer is None, (
        f"room for one: got {entries}, {made}, {answer}"
    )
    entries, made, answer = enqueued(500)
    assert len(entries) == 501 and entries[-1] == ("end", None) and answer is None, (
        f"500 items and the end: got {len(entries)}"
    )


# %% learner-side
def workers():
    """The threads of `prefetch` that run."""
    return [thread for thread in threading.enumerate() if thread.name == "prefetch"]


def iterate_prefetched(count, ahead, used, error=None):
    """Take up to `used` items of prefetch(counting(count, error), ahead), then leave the loop.

    Returns the items; the most that were made but not taken when one came; the text of the
    error that came out and whether it was the same object; what the source had made at the end;
    in which threads; how many threads were left.
    """
    before, made, where, got, most = workers(), [], [], [], 0
    raised = None if error is None else LookupError(error)
    came = None
    iterator = prefetch(counting(count, raised, made, where), ahead)
    try:
        for item in iterator if used else ():
            got.append(item)
            most = max(most, len([k for k in made if k != "closed"]) - len(got))
            if len(got) == used:
                break
    except Exception as problem:  # noqa: BLE001
        came = problem
    kinds = [type(came).__name__, str(came), id(came) == id(raised)]
    came = None
    del iterator
    left = [thread for thread in workers() if thread not in before]
    for thread in left:
        thread.join(0.2)
    left = [thread for thread in left if thread.is_alive()]
    return got, most, kinds, made, sorted(set(where)), len(left)


def threads_before_the_first_item():
    """The names of the threads when `prefetch` was called and no item was asked for."""
    before = workers()
    iterator = prefetch(counting(5), 2)
    started = len([thread for thread in workers() if thread not in before])
    iterator.close()
    return started


def epochs_ahead(count, size, ahead, epochs, seed, bad=None):
    """Orders of the epochs of a loader that prefetches, and the text of what it raised."""
    loader = DataLoader(
        RecordedDataset(count, bad), size, shuffle=bad is None, rng=seed, prefetch=ahead
    )
    try:
        return orders_of_epochs(loader, epochs), ""
    except LookupError as error:
        return [], str(error)


# %% prefetch points=5
def test_the_same_items_come_in_the_same_order():
    for count, ahead in [(7, 2), (7, 1), (3, 9), (1, 1), (0, 2), (200, 3)]:
        got, _, _, _, where, left = iterate_prefetched(count, ahead, count + 1)
        assert got == list(range(count)), (
            f"{count} items with {ahead} ahead: 0 ... {count - 1} in order, yours {got[:20]}"
        )
        assert where in (["prefetch"], []), (
            f"the items should be made in the thread, yours in {where}"
        )
        assert left == 0, "the iteration has ended and the thread still runs: close the queue"


def test_no_more_items_are_prepared_than_allowed():
    for count, ahead in [(50, 1), (50, 4)]:
        got, most, _, _, where, _ = iterate_prefetched(count, ahead, count)
        assert got == list(range(count)) and where == ["prefetch"], (
            f"the items are 0 ... {count - 1}, made in the thread; yours {got}, made in {where}"
        )
        assert most <= ahead + 1, (
            f"with {ahead} ahead, at most {ahead} items wait and one is in preparation; yours "
            f"had {most}: yield each item when it comes, do not collect them in a list"
        )


def test_an_error_is_raised_after_the_items_before_it():
    for count in (4, 0):
        got, _, (kind, text, same), _, where, left = iterate_prefetched(
            count, 2, 100, error="page 7 is torn"
        )
        assert kind == "LookupError" and text == "page 7 is torn", (
            f"after {count} items the source raises LookupError('page 7 is torn'); your "
            f"prefetch raises {kind} {text}: raise the error that the thread put, or a failed "
            "epoch"
            " looks like a complete one"
        )
        assert same, (
            "the same exception object should be raised, not a copy: it holds the traceback"
        )
        assert got == list(range(count)), (
            f"before the error come 0 ... {count - 1}, yours {got}"
        )
        assert where == ["prefetch"] * (count > 0), (
            f"the items should be made in the thread, yours in {where}"
        )
        assert left == 0, "after the error the thread still runs: close the queue in `finally`"


def test_leaving_the_loop_ends_the_thread():
    for used in (1, 3):
        got, _, _, made, where, left = iterate_prefetched(1000, 2, used)
        assert got == list(range(used)), f"the first {used} items, yours {got}"
        assert where == ["prefetch"], (
            f"the items should be made in the thread, yours in {where}"
        )
        assert left == 0, (
            f"the loop was left after {used} items, and the thread still waits: `yield` did "
            "not "
            "return. Only a `finally` runs then; close the queue there"
        )
        assert len(made) <= used + 5, (
            f"the loop was left after {used} items, but the thread prepared {len(made)} of 1000"
        )
        assert made[-1] == "closed", "the source was not closed: an open file would stay open"


def test_the_loader_prefetches():
    right = epochs_ahead(23, 4, 0, 3, seed=6)
    for ahead in (1, 3):
        found = epochs_ahead(23, 4, ahead, 3, seed=6)
        assert found == right, (
            f"with prefetch={ahead} the three epochs should be those without, {right}; yours "
            f"{found}"
        )
    assert epochs_ahead(9, 2, 2, 1, seed=0, bad=5) == ([], "example 5 is broken"), (
        "example 5 raises; the loader should raise it too, yours: "
        f"{epochs_ahead(9, 2, 2, 1, seed=0, bad=5)}"
    )


# %% prefetch hidden points=1
def test_prefetch_starts_late_and_can_be_left_anywhere():
    assert threads_before_the_first_item() == 0, (
        "a thread was started before the first item was asked for"
    )
    for count, ahead, used in [(6, 1, 6), (6, 9, 5), (6, 2, 2), (30, 3, 29)]:
        got, most, (kind, _, _), made, where, left = iterate_prefetched(count, ahead, used)
        assert got == list(range(used)) and kind == "NoneType", (
            f"{count}, {ahead}, {used}: got {got} and {kind}"
        )
        assert where == ["prefetch"], f"{count}, {ahead}, {used}: made in {where}"
        assert most <= ahead + 1 and left == 0 and made[-1] == "closed", (
            f"{count}, {ahead}, {used}: {most}, {left}, {made}"
        )
    got, _, (kind, text, same), _, _, left = iterate_prefetched(1, 1, 9, error="")
    assert (got, kind, text, same, left) == ([0], "LookupError", "", True, 0), (
        f"an error of no text: {kind} {text!r} {got}"
    )
