# The checks of lesson 09, by exercise. `check("loader")` in the chapter runs the visible ones.

# %% setup
import math
import threading

import numpy as np

from checking import equal, expect, refused, result_of
from tinytorch.core.layers import generator
from tinytorch.core.tensor import Tensor


def members(value, count, demand):
    """The members of a tuple of `count`, which `value` should be, as `demand` says."""
    assert isinstance(value, tuple) and len(value) == count, (
        f"{demand}, yours is {value!r:.200}"
    )
    return value


def numbers_in(parts):
    """The examples of each part, as ints."""
    return [[int(example) for example in part] for part in parts]


def is_index_array(found, case):
    """Assert that `found` is an array of integers."""
    assert isinstance(found, np.ndarray) and found.dtype.kind in "iu", (
        f"{case} should be an array of integers, yours is {found!r:.100}"
    )


def follows_manual_seed(draw, case):
    """Assert that draw() draws without a seed, so that only manual_seed decides."""
    first, again, other = drawn_after_manual_seed(draw)
    assert first == again, (
        f"after manual_seed(1) twice, the {case} should be the same: with rng=None draw from "
        "generator(rng), not from a new generator"
    )
    assert first != other, (
        f"after manual_seed(1) and manual_seed(2), the {case} was the same: with rng=None draw "
        "from generator(rng)"
    )


def lengths_of_batches(count, size, drop):
    """The lengths of the batches that `count` examples make."""
    rest = [] if drop or count % size == 0 else [count % size]
    return [size] * (count // size) + rest


def channel_by_channel(images):
    """Mean and population deviation of each channel, one number at a time."""
    means, stds = [], []
    for c in range(images.shape[1]):
        numbers = [float(v) for v in images[:, c].ravel()]
        mean = math.fsum(numbers) / len(numbers)
        means.append(mean)
        stds.append(math.sqrt(math.fsum((v - mean) ** 2 for v in numbers) / len(numbers)))
    return np.array(means), np.array(stds)


def moved(image, down, right):
    """The image, shifted pixel by pixel."""
    out = np.zeros_like(image)
    height, width = image.shape[-2:]
    for i in range(height):
        for j in range(width):
            if 0 <= i - down < height and 0 <= j - right < width:
                out[..., i, j] = image[..., i - down, j - right]
    return out


def idx_bytes(kind, array):
    """`array` as the bytes of an IDX file; its dtype is big-endian already."""
    head = bytes([0, 0, kind, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape)
    return head + array.tobytes()


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


def kinds_of_parts():
    """The types of what random_split returns, and of its parts."""
    parts = random_split(range(4), [3, 1], rng=0)
    return [type(parts).__name__, *[type(part).__name__ for part in parts]]


def epoch_indices_numbers():
    """The indices of a shuffled epoch of 40 examples, without a seed."""
    return np.asarray(epoch_indices(40, shuffle=True)).tolist()


def stratified_split_numbers():
    """The indices of both parts of a stratified split of 40 examples, without a seed."""
    return [np.asarray(part).tolist() for part in stratified_split([0, 1] * 20, 0.5)]


# %% tensor-dataset points=4
def test_example_i_is_row_i_of_each_array():
    pictures = np.arange(30, dtype="float32").reshape(5, 3, 2)
    labels = np.array([4, 0, 7, 1, 9])
    dataset = TensorDataset(pictures, labels)
    equal(len(dataset), 5, "the length of a data set of 5 images with 5 labels")
    for i in (0, 3, 4, -1, -5):
        demand = "with two arrays an example is a tuple of two"
        picture, label = members(dataset[i], 2, demand)
        assert isinstance(picture, np.ndarray), (
            f"rows stay NumPy arrays until they become a batch, yours is a {type(picture)}"
        )
        case = f"part 0 of dataset[{i}], which is image {i},"
        expect(picture, pictures[i], case, dtype="float32")
        equal(int(label), labels[i], f"the label of example {i}")


def test_any_number_of_arrays():
    for count in (1, 3):
        arrays = [np.arange(4.0 * (k + 2)).reshape(4, k + 2) for k in range(count)]
        demand = f"{count} array(s): an example is a tuple of {count}"
        for part, array in zip(members(TensorDataset(*arrays)[2], count, demand), arrays):
            expect(part, array[2], "a part of dataset[2], which is row 2 of an array,")


def test_an_index_out_of_range_is_an_index_error():
    dataset = TensorDataset(np.ones((3, 2), "float32"), np.array([5, 6, 7]))
    cause = "it should be an IndexError: a `for` loop over the dataset ends when it gets one"
    for i in (3, -4, 100):
        refused(lambda: dataset[i], f"index {i} of 3 examples", IndexError, cause=cause)
    labels = [int(label) for _, label in dataset]
    equal(labels, [5, 6, 7], "the labels in a loop over the dataset")


def test_an_array_of_indices_gives_several_rows():
    pictures, labels = np.arange(14, dtype="float32").reshape(7, 2) ** 2, np.arange(7) * 10
    example = TensorDataset(pictures, labels)[np.array([5, 0, 5])]
    demand = "the index array [5, 0, 5] should give a tuple of two arrays with 3 rows each"
    parts = members(example, 2, demand)
    expect(parts[0], pictures[[5, 0, 5]], "the images for the index array [5, 0, 5]")
    expect(parts[1], [50, 0, 50], "the labels of rows 5, 0, 5")


# %% tensor-dataset hidden points=1
def test_examples_of_other_arrays():
    names = np.arange(44, dtype="uint8").reshape(11, 1, 4)
    flags, empty = (np.arange(11) % 3 == 0).tolist(), np.zeros((11, 0), "float32")
    dataset = TensorDataset(Tensor(np.linspace(-3, 3, 11)), names, flags, empty)
    for i in (10, -11, np.int64(6)):
        yield [np.asarray(part) for part in dataset[i]]


# %% random-split points=6
def test_each_example_is_in_exactly_one_part():
    for lengths in ([11, 4, 2], [5, 0, 12], [17]):
        parts = random_split(np.arange(17) * 10, lengths, rng=2)
        assert [len(part) for part in parts] == lengths, (
            f"the parts should have the lengths {lengths}, yours have "
            f"{[len(part) for part in parts]}"
        )
        examples = sorted(sum(numbers_in(parts), []))
        case = f"17 examples split as {lengths}: each should be in exactly one part. Together"
        cause = "Permute the indices once, then cut; an example in two parts is data leakage"
        equal(examples, [10 * k for k in range(17)], f"{case} they", cause)


def test_the_examples_are_shuffled():
    first, rest = random_split(np.arange(200), [150, 50], rng=5)
    found = [int(example) for example in first]
    assert found != sorted(found), (
        f"the first part is in the order of the file, {found[:8]} ...: a sorted file would "
        "stay sorted. Permute the indices"
    )
    late = sum(example >= 150 for example in found)
    assert 25 <= late <= 50, (
        f"the first part should have about 37 of the last 50 examples, yours has {late}: cut a "
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
        lengths, case = [len(part) for part in parts], f"{count} examples in the proportions"
        assert lengths == wanted, (
            f"{case} {proportions} should give parts of {wanted} examples, yours have "
            f"{lengths}: use the `lengths` that split_lengths returned"
        )
        if count <= 100:  # read few examples: each takes its time in grading
            examples = set(sum(numbers_in(parts), []))
            assert len(examples) == count, f"{case} {proportions}: some examples are in no part"


def test_the_seed_decides_the_split():
    def split(seed):
        return numbers_in(random_split(np.arange(40), [25, 15], rng=seed))

    assert split(3) == split(3), (
        "the same seed twice should give the same parts: draw from generator(rng)"
    )
    assert split(3) != split(4), "seeds 3 and 4 gave the same parts: draw from generator(rng)"


def test_a_part_keeps_inputs_and_targets_together():
    dataset = TensorDataset(np.arange(12, dtype="float32").reshape(6, 2), np.arange(6) * 100)
    cause = "A Subset reads an example when it is asked for"
    kinds = ["list", "Subset", "Subset"]
    equal(kinds_of_parts(), kinds, "the types of two parts in a list", cause)
    (part,) = random_split(dataset, [6], rng=8)
    for picture, answer in part:
        assert float(picture[0]) * 50 == int(answer), (
            f"the input {picture} came with the target {answer}: inputs and targets were "
            "shuffled apart. Return Subsets of the dataset, which read whole examples"
        )


def test_without_a_seed_the_split_follows_manual_seed():
    follows_manual_seed(random_split_numbers, "split")


# %% random-split hidden points=1
def test_other_splits():
    for count, lengths in [(1, [1, 0]), (9, (0, 9)), (101, [0.5, 0.5]), (6, [1, 2, 3])]:
        dataset = np.arange(count) + 5
        parts = numbers_in(random_split(dataset=dataset, lengths=lengths, rng=generator(6)))
        yield [len(part) for part in parts], sorted(sum(parts, []))
    rng = generator(7)
    first, second = [numbers_in(random_split(np.arange(30), [30], rng)) for _ in range(2)]
    yield first == second
    small = [random_split(np.arange(64), [60, 4], seed)[1] for seed in range(12)]
    yield len({example for part in numbers_in(small) for example in part}) > 20
    refused(lambda: random_split(np.arange(9), [4, 4], rng=0), "4 + 4 of 9", contains=[8, 9])


# %% stratified-split points=6
def test_the_same_fraction_of_each_class_is_held_out():
    labels = np.array([3] * 50 + [8] * 10 + [-1] * 120)[np.argsort(np.arange(180) * 77 % 180)]
    for fraction, wanted in [(0.1, {3: 5, 8: 1, -1: 12}), (0.4, {3: 20, 8: 4, -1: 48})]:
        parts = stratified_split(labels, fraction, rng=1)
        assert isinstance(parts, (tuple, list)) and len(parts) == 2, (
            "stratified_split should return two arrays of indices, (kept, held_out); yours "
            f"returns {parts!r:.200}"
        )
        for name, part in zip(("kept", "held_out"), parts):
            is_index_array(part, f"`{name}`")
        kept, held_out = parts
        for label, count in wanted.items():
            number = int((labels[held_out] == label).sum())
            assert number == count, (
                f"class {label} has {(labels == label).sum()} examples; {fraction:.0%} of them "
                f"should be held out, which is {count}; yours holds out {number}. Draw from "
                "each class separately, and round to the nearest integer"
            )
        equal(len(kept), 180 - sum(wanted.values()), "the number of examples that are kept")


def test_each_example_is_in_one_of_the_two_parts():
    labels = np.arange(97) % 4
    kept, held_out = [np.asarray(part) for part in stratified_split(labels, 0.3, rng=2)]
    both = set(kept.tolist()) & set(held_out.tolist())
    assert not both, f"the examples {sorted(both)[:5]} are in both parts: that is data leakage"
    together = sorted(kept.tolist() + held_out.tolist())
    expect(together, np.arange(97), "the indices of both parts, sorted,")
    for name, part in [("kept", kept), ("held_out", held_out)]:
        expect(part, sorted(part), f"`{name}`, which should be in increasing order,")


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
    positions = [draws[0][labels[draws[0]] == label] % 60 for label in (1, 2, 3)]
    assert not all(np.array_equal(positions[0], other) for other in positions), (
        f"of each class the members at {positions[0]} were held out: generator(rng) in a loop "
        "begins again with the seed; make one generator before it"
    )


def test_a_very_small_class_may_be_rounded_to_none():
    kept, held_out = stratified_split(np.array([0, 0, 0, 0, 0, 0, 9]), 0.34, rng=0)
    assert len(held_out) == 2 and 6 in np.asarray(kept).tolist(), (
        "0.34 of six zeros is rounded to 2, 0.34 of one nine to 0; yours holds out "
        f"{np.asarray(held_out)}"
    )


def test_without_a_seed_the_stratified_split_follows_manual_seed():
    follows_manual_seed(stratified_split_numbers, "split")


def test_fractions_are_rounded_to_the_nearest_integer():
    for count, fraction, wanted in [
        (9, 0.3, 3),
        (9, 0.2, 2),
        (11, 0.3, 3),
        (5, 0, 0),
        (5, 1, 5),
    ]:
        case = f"{count} examples of one class, fraction {fraction}"
        call = lambda: stratified_split(np.zeros(count, "int64"), fraction, rng=3)
        _, held_out = result_of(call, case)
        case = f"{fraction} of {count} examples is {fraction * count:.1f}: the number held out"
        equal(len(held_out), wanted, f"{case}, rounded to the nearest integer,")


# %% stratified-split hidden points=1
def test_other_stratified_splits():
    labels = [7, 7, 7, 200, 200, 7, 200, 200, 200, 7, 7, 7, 7, 7, 31, 31, 31]
    for fraction in (0.6, 0.0, 1.0):
        parts = stratified_split(labels, rng=generator(4), fraction=fraction)
        kept, held_out = [np.asarray(part).tolist() for part in parts]
        yield sorted(labels[i] for i in held_out), sorted(kept + held_out)
    rng = generator(5)
    first, second = [list(stratified_split(np.arange(90) % 3, 0.3, rng)[1]) for _ in range(2)]
    yield first == second


# %% epoch-indices points=4
def test_without_shuffling_the_indices_are_in_order():
    for count in (7, 1, 0):
        found, case = epoch_indices(count), f"without shuffling, {count} indices"
        expect(found, range(count), case)
        is_index_array(found, case)


def test_shuffled_indices_are_a_permutation():
    cause = "Drawing with replacement uses some examples twice and others never"
    for count in (23, 1, 0):
        order = epoch_indices(count, shuffle=True, rng=4)
        assert order is not None, (
            "yours returns None: `Generator.shuffle` changes its argument and returns nothing; "
            "use permutation"
        )
        expect(np.sort(np.asarray(order)), range(count), f"{count} indices, sorted,", cause)
    order = np.asarray(epoch_indices(23, shuffle=np.True_, rng=4)).tolist()
    assert order != list(range(23)), "with np.True_, NumPy's truth value, nothing is shuffled"
    order = np.asarray(epoch_indices(23, shuffle=True, rng=4)).tolist()
    assert order != list(range(23)), (
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
    follows_manual_seed(epoch_indices_numbers, "order")


# %% epoch-indices hidden points=1
def test_every_position_gets_every_example():
    rng = generator(12)
    orders = [np.asarray(epoch_indices(6, rng=rng, shuffle=True)) for _ in range(1200)]
    for examples in np.transpose(orders):
        counts = np.bincount(examples, minlength=6)
        yield counts.min() > 150 and counts.max() < 250  # each about 200 times
    yield [int(i) for i in epoch_indices(rng=3, count=5)]


# %% batches points=3
def test_no_example_is_left_out():
    for count, size in [(5, 2), (5, 5), (6, 2), (4, 9), (7, 3), (1, 1), (10, 1), (13, 4)]:
        order = np.arange(count)[::-1] * 3
        pieces = list(batches(order, size))
        for piece in pieces:
            is_index_array(piece, f"a batch of {order.tolist()}, an array,")
        pieces = [piece.tolist() for piece in pieces]
        seen, case = sum(pieces, []), f"{count} examples in batches of {size}"
        assert seen == order.tolist(), (
            f"{case}: together they should be {order.tolist()}, yours are {pieces}. "
            f"{count - len(seen)} example(s) are never used: the last batch may be shorter, "
            "but not missing"
        )
        lengths = [len(piece) for piece in pieces]
        cause = "all batches but the last have batch_size examples"
        equal(lengths, lengths_of_batches(count, size, False), f"{case}: the lengths", cause)


def test_the_last_batch_is_dropped_only_when_asked_and_not_full():
    for count, size, full in [(7, 3, 2), (6, 3, 2), (2, 3, 0), (5, 5, 1), (9, 4, 2)]:
        order = np.arange(count) + 100
        pieces = [np.asarray(piece).tolist() for piece in batches(order, size, drop_last=True)]
        wanted = [order[k * size : k * size + size].tolist() for k in range(full)]
        case = f"{count} examples in batches of {size} with drop_last: the {full} full ones"
        equal(pieces, wanted, case)


def test_no_indices_make_no_batches():
    for count, drop, wanted in [(0, False, 0), (0, True, 0), (4, False, 2), (4, True, 1)]:
        case = f"{count} indices in batches of 3, drop_last={drop}: the number of batches"
        equal(len(batches(np.arange(count), 3, drop)), wanted, case)


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
        yield [*batches(drop_last=drop, batch_size=size, order=order)]


# %% learner-side
def example_after_writing():
    """An example [0, 1, 2, 3], after 9 was written into a batch of it alone."""
    example = np.arange(4, dtype="float32")
    collate([example]).data[...] = 9.0
    return example


# %% collate points=5
def test_pairs_become_a_pair_of_tensors():
    pictures = (np.arange(30, dtype="float32") ** 1.5).reshape(5, 2, 3)
    batch = result_of(
        lambda: collate([(pictures[k], 10 * k) for k in (4, 0, 2)]),
        "three pairs of an image and a number",
        "collate all images, and all numbers",
        ValueError,
    )
    demand = "three pairs should become a tuple of two Tensors"
    for part, wanted in zip(members(batch, 2, demand), (pictures[[4, 0, 2]], [40, 0, 20])):
        assert isinstance(part, Tensor), (
            f"the members of a batch should be Tensors, yours is {part!r:.100}"
        )
        name = "the Tensor of images" if part is batch[0] else "the Tensor of labels"
        expect(part.data, wanted, f"{name}, with one row per example,")


def test_dtypes_are_kept():
    for dtype in ("float32", "float64", "uint8", "int64", "bool"):
        batch = collate([np.zeros((2, 1), dtype), np.ones((2, 1), dtype)])
        case = f"a batch of {dtype} examples should be a Tensor of {dtype}: its dtype"
        equal(batch.dtype.name, dtype, case)
    for numbers, dtype in [
        ([3, 1, 2], np.array([3, 1, 2]).dtype.name),
        ([0.5, 2.0], "float32"),
        ([np.float64(1), np.float64(2)], "float64"),
    ]:
        expect(collate(numbers).data, numbers, f"the batch of {numbers}", dtype=dtype)


def test_examples_that_are_arrays_become_one_tensor():
    batch = collate([np.array([1, 2, 4], "float32"), np.array([0, 5, 1], "float32")])
    assert isinstance(batch, Tensor), (
        "examples that are arrays should become one Tensor, not a tuple; yours is "
        f"{batch!r:.100}"
    )
    expect(batch.data, [[1, 2, 4], [0, 5, 1]], "the batch of [1, 2, 4] and [0, 5, 1]")
    batch = collate([(np.ones(3, "float32"),)])
    (part,) = members(batch, 1, "one example, a tuple of one array: a tuple of one Tensor")
    equal(part.shape, (1, 3), "the shape of a batch of one example of shape (3,)")
    cause = "A batch should be a new Tensor, with its own memory"
    case = "the example, after 9 was written into its batch,"
    expect(example_after_writing(), [0, 1, 2, 3], case, cause)
    batch = result_of(
        lambda: collate([Tensor([1.0, 2.0]), Tensor([0.0, 5.0])]),
        "the Tensors [1, 2] and [0, 5]",
        "an example may be a Tensor",
    )
    expect(batch.data, [[1, 2], [0, 5]], "the batch of the Tensors [1, 2] and [0, 5]")


def test_nested_tuples():
    batch = collate([(1.5, (np.array([1, 2]), [7, 0.5])), (2.5, (np.array([3, 4]), [8, 1.5]))])
    first, (inner, (seven, half)) = batch
    for part, wanted in [
        (first, [1.5, 2.5]),
        (inner, [[1, 2], [3, 4]]),
        (seven, [7, 8]),
        (half, [0.5, 1.5]),
    ]:
        case = f"the batch of the members {wanted[0]} and {wanted[1]}"
        expect(part, wanted, case, "collate a tuple or list inside an example by the same rule")


def test_examples_of_different_structure_are_refused():
    cause = "Plain zip stops at the shortest without an error"
    for samples, shapes in [
        ([np.ones((2, 3)), np.ones((3, 2))], ["(2, 3)"]),
        ([(1, 2), (3, 4, 5)], []),
        ([(np.ones(2), 1), (np.ones(1), 2)], ["(1,)"]),
    ]:
        case = f"{samples}, which differ in shape or length,"
        refused(lambda: collate(samples), case, contains=shapes, cause=cause)


# %% collate hidden points=1
def test_other_structures_of_examples():
    pieces = [Tensor(np.full((1, 2), k, "float64")) for k in (3, 1, 5, 4)]
    batch = collate([[piece, ((k,), True)] for k, piece in enumerate(pieces)])
    yield type(batch).__name__, batch
    yield collate([np.zeros((0, 3), "float32")] * 2), example_after_writing()


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


def orders_of_a_changing_sampler():
    """The y of two epochs with a sampler that has another order each time."""

    class Sampler:
        orders = ([0, 1, 2], [2, 1, 0])

        def __len__(self):
            return 3

        def __iter__(self):
            self.orders = self.orders[::-1]
            return iter(self.orders[0])

    return orders_of_epochs(DataLoader(RecordedDataset(3), 3, sampler=Sampler()), 2)


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
    pictures, labels = np.arange(42, dtype="float32").reshape(7, 3, 2), np.arange(7) * 11
    backwards = TensorDataset(pictures[::-1], labels[::-1])
    for dataset in (TensorDataset(pictures, labels), Subset(backwards, np.arange(7)[::-1])):
        epoch = [(x, y) for x, y in DataLoader(dataset, batch_size=3)]
        case = "7 images of shape (3, 2) in batches of 3, 3 and 1: the shapes"
        equal([x.shape for x, _ in epoch], [(3, 3, 2), (3, 3, 2), (1, 3, 2)], case)
        for k, (x, y) in enumerate(epoch):
            assert isinstance(x, Tensor), (
                f"a batch should contain Tensors, yours contains {x!r:.100}"
            )
            rows = slice(3 * k, 3 * k + 3)
            expect(x.data, pictures[rows], f"the images of batch {k}", dtype="float32")
            expect(y.data, labels[rows], f"the labels of batch {k}")
    wanted = [([0.0, 1.0], [0, 10]), ([2.0, 3.0], [20, 30]), ([4.0], [40])]
    epoch = columns(DataLoader(RecordedDataset(5), 2))
    equal(epoch, wanted, "five pairs (i, 10 i) in batches of 2")


def test_a_batch_is_fetched_when_it_is_asked_for():
    dataset = RecordedDataset(9)
    iterator = iter(DataLoader(dataset, 2))
    cause = "yield each batch, do not build a list of all first"
    for wanted in (2, 4, 6):
        next(iterator)
        case = f"after {wanted // 2} batch(es) of 2, the number of examples fetched"
        equal(len(dataset.asked), wanted, case, cause)


def test_drop_last_and_the_length_agree():
    cause = "pass self.drop_last to batches"
    for count, size, drop, wanted in [
        (7, 3, False, 3),
        (7, 3, True, 2),
        (6, 3, True, 2),
        (2, 5, False, 1),
        (2, 5, True, 0),
    ]:
        loader = DataLoader(RecordedDataset(count), size, drop_last=drop)
        case = f"{count} examples in batches of {size}, drop_last={drop}:"
        equal(len(columns(loader)), wanted, f"{case} the number of batches", cause)
        equal(len(loader), wanted, f"{case} len(loader)")


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
            equal(len(seen), 5, "the number of batches of 8 of 40 examples")
            for x, y in seen:
                assert np.array_equal(x.data * 10, y.data), (
                    f"the target of input i is 10 i; a shuffled batch has the inputs {x.data} "
                    f"and the targets {y.data}: inputs and targets were shuffled apart. Fetch "
                    "both with the same indices"
                )


def test_a_sampler_defines_the_order():
    loader = DataLoader(RecordedDataset(6), 2, sampler=[4, 0, 4, 4, 1])
    case = "the sampler is 4, 0, 4, 4, 1, and the batches should have this order: each epoch"
    for _ in range(2):
        wanted = [([4.0, 0.0], [40, 0]), ([4.0, 4.0], [40, 40]), ([1.0], [10])]
        equal(columns(loader), wanted, case)
    equal(len(loader), 3, "the number of batches of up to 2 of a sampler of 5 indices")
    empty = [(x, y) for x, y in DataLoader(RecordedDataset(6), 2, sampler=[])]
    equal(len(empty), 0, "batches for the sampler [], which visits nothing,", "is it None?")
    first, second = orders_of_a_changing_sampler()
    assert first == second[::-1], (
        "a sampler reverses its order each time it is iterated. The epochs should have the "
        f"targets [20, 10, 0] and [0, 10, 20], yours have {first} and {second}: iterate the "
        "sampler once in each epoch"
    )
    plain = DataLoader([10, 20, 30], 2, sampler=[2, 0])
    case, cause = "a list as dataset, sampler [2, 0]", "fetch takes an array of indices"
    found = result_of(lambda: [x.data.tolist() for x in plain], case, cause)
    equal(found, [[30, 10]], f"{case}: the batches")


def test_a_collate_fn_receives_the_examples():
    samples = samples_given_to_collate(5, 3)
    case = "a collate_fn should receive the list of the examples of a batch: the lists"
    wanted = [[(0.0, 0), (1.0, 10), (2.0, 20)], [(3.0, 30), (4.0, 40)]]
    equal(samples, wanted, case, "use self.fetch")


# %% loader hidden points=1
def test_loaders_of_other_sizes():
    for count, size in [(1, 1), (1, 7), (12, 5), (12, 12), (0, 3)]:
        for drop in (False, True):
            loader = DataLoader(
                RecordedDataset(count), size, drop_last=drop, rng=1, shuffle=True
            )
            epoch = columns(loader)
            yield [len(x) for x, _ in epoch], len(loader)
            yield all(b == 10 * a for x, y in epoch for a, b in zip(x, y))
    loader = DataLoader(RecordedDataset(7), 2, True, rng=2)
    for iterator in [iter(loader), iter(loader)]:
        yield sorted(number for _ in range(4) for number in next(iterator)[1].data.tolist())


# %% channel-statistics points=4


def test_every_channel_has_its_own_statistics():
    images = np.random.default_rng(3).normal(size=(7, 3, 4, 5))
    images = images * [[[1]], [[20]], [[0.1]]] + [[[5]], [[-3]], [[100]]]
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
        means, stds = channel_by_channel(given)
        cause = "Over all axes but 1; the std is divided by the count, not by one less"
        for name, statistic, wanted in [("mean", mean, means), ("std", std, stds)]:
            case = f"the {name} of each channel over all images and pixels"
            expect(statistic.ravel(), wanted, case, cause, near=(1e-5, 0), dtype="float32")


def test_rows_of_features():
    rows = np.array([[1, 10, 5, -2], [3, 30, 6, -2.5], [2, 80, 10, 0]], "float64")
    mean, std = channel_statistics(rows)
    expect(mean, [2, 40, 7, -1.5], "the means of the columns", near=(1e-5, 1e-8))
    expect(std, channel_by_channel(rows)[1], "the std of the columns", near=(1e-6, 1e-8))


def test_a_constant_channel_is_divided_by_one():
    images = np.zeros((4, 2, 3, 3), "float32")
    images[:, 0], images[:, 1] = 7, np.arange(36).reshape(4, 3, 3) * 1e-5
    _, std = [np.asarray(part).ravel() for part in channel_statistics(images)]
    assert std[0] == 1, (
        "the first channel is 7 everywhere: its std should be returned as 1, yours is "
        f"{std[0]}; 0 / 0 would be nan"
    )
    small = channel_by_channel(images)[1][1]
    assert abs(std[1] / small - 1) < 1e-4, (
        f"the other channel is not constant: its standard deviation should be {small:.7f}, "
        f"yours is {std[1]}"
    )


def test_sums_are_accumulated_in_float64():
    images = (np.arange(60 * 2 * 40 * 50) * 7919 % 256).astype("uint8").reshape(60, 2, 40, 50)
    far = (np.arange(20000 * 2 * 3) * 7 % 11 * 0.5 + 4096).astype("float32")
    for name, given, near in [
        ("uint8 images", images, (1e-6, 1e-8)),
        ("many float32 numbers around 4098", far.reshape(20000, 2, 3), (1e-5, 0)),
    ]:
        before = given.copy()
        mean, std = [np.asarray(part).ravel() for part in channel_statistics(given)]
        means, stds = channel_by_channel(given)
        cause = "accumulate in float64: float32 sums of many numbers lose the last digits"
        expect(mean, means, f"the mean of {name}", cause, near=(1e-6, near[1]))
        expect(std, stds, f"the std of {name}", cause, near=near)
        expect(given, before, f"after channel_statistics, its input, {name},")


# %% channel-statistics polish points=0


def test_a_constant_channel_is_found_in_spite_of_rounding():
    rows = np.full((6, 1), 0.7)
    mean, std = channel_statistics(rows)
    expect(np.ravel(mean), [0.7], "the mean of six rows of 0.7", near=1e-6)
    found = float(np.ravel(std)[0])
    cause = (
        ". Rounding makes it 1.1e-16, not 0: compare the largest value with the smallest"
        if 0 < found < 1e-6
        else ""
    )
    assert found == 1, (
        f"six rows of 0.7 are constant: std should be 1, yours is {found:.2g}{cause}"
    )


# %% channel-statistics hidden points=1
def test_statistics_of_other_ranks():
    random = np.random.default_rng(8)
    for shape in [(6, 2, 5), (1, 4, 2, 3), (9, 1), (2, 3, 2, 2, 4)]:
        scales = 10.0 ** np.arange(shape[1]).reshape(-1, *[1] * (len(shape) - 2))
        mean, std = channel_statistics(random.normal(3, 2, shape) * scales)
        yield np.shape(mean), [*mean], [*std]


# %% learner-side
def shift_then_write(image, down, right):
    """shift(image, down, right), after which 99 is written into the first pixel of what it
    gave; returns `image`."""
    shift(image, down, right)[..., 0, 0] = 99
    return image


# %% shift points=3
def test_an_image_is_shifted_and_zeros_enter():
    image = np.arange(1, 13, dtype="float32").reshape(1, 3, 4)
    for down, right in [(1, 0), (0, 1), (-1, 0), (0, -1), (2, -1), (-1, 3), (0, 0)]:
        result, by = np.asarray(shift(image, down, right)), f"{down} down and {right} right"
        assert result.shape == (1, 3, 4) and result.dtype.name == "float32", (
            "a float32 image (1, 3, 4) should keep dtype and shape, yours became "
            f"{result.dtype} {result.shape}"
        )
        rolled = np.array_equal(result, np.roll(image, (down, right), (1, 2)))
        assert not rolled or (down, right) == (0, 0), (
            f"{by}: pixels that left on one side came back on the other. Zeros should enter"
        )
        wanted = moved(image, down, right)
        assert np.array_equal(result, wanted), (
            f"{by}, the image\n{image[0]}\nshould become\n{wanted[0]}\nyours is\n{result[0]}"
        )


def test_an_image_may_be_shifted_out_completely():
    image = np.arange(1, 16, dtype="uint8").reshape(5, 3)
    for down, right in [(5, 0), (0, -3), (9, 1), (7, 0), (-4, -2), (1, 7), (-6, 0)]:
        case = f"a uint8 image (5, 3) shifted {down} down and {right} right"
        expect(shift(image, down, right), moved(image, down, right), case, dtype="uint8")


def test_all_channels_are_shifted_and_the_input_is_unchanged():
    image = np.arange(1, 61, dtype="float64").reshape(2, 3, 2, 5)
    before = image.copy()
    wanted, case = moved(before, -1, 2), "all images and channels, shifted alike,"
    expect(shift(image, -1, 2), wanted, case)
    expect(image, before, "after shift, the input image", "make a new array")
    for by in [(0, 0), (1, 0)]:
        assert np.array_equal(shift_then_write(before.copy(), *by), before), (
            f"shifted by {by}, then 99 written into the result: the input image "
            "changed. Return a new array, not a view"
        )


# %% shift hidden points=1
def test_other_shifts():
    image = np.arange(1.0, 43.0).reshape(2, 3, 7)
    for down in range(-4, 5):
        for right in (-8, -3, 0, 2, 6):
            yield shift(image=image, right=right, down=down)


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
        np.random.rand()  # NumPy's global generator, which should not be used
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
        result = np.asarray(RandomHorizontalFlip(1.0, rng=1)(image))
        equal(result.shape, shape, f"the shape of a flipped image of shape {shape}")
        assert np.array_equal(result, wanted), (
            f"an image of shape {shape}\n{image}\nflipped is\n{wanted}\nyours is\n{result}. The"
            " width is the last axis: any other turns it upside down, or swaps its channels"
        )
        equal(result.dtype.name, "float32", "the dtype of a flipped float32 image")


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
    flipped, after = flip_then_write(image.copy())
    expect(flipped, image[..., ::-1], f"the flip of {image.tolist()}")
    case = "the input image, after its flipped image was written into,"
    expect(after, image, case, "Make a copy")


# %% flip hidden points=1
def test_flips_of_other_images():
    image = (np.arange(2 * 3 * 4 * 5) * 7 % 251).astype("uint8").reshape(2, 3, 4, 5)
    yield RandomHorizontalFlip(rng=generator(2), p=1)(image), RandomHorizontalFlip(0, 2)(image)
    counts = [sum(pixel == 2 for pixel in flips(0.3, seed, 400)) for seed in range(5)]
    yield len(set(counts)) > 1, 480 < sum(counts) < 720


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
        result, case = one_hot(np.array(labels, "int64"), classes), f"labels {labels}"
        wanted = np.zeros((*np.shape(labels), classes))
        for index in np.ndindex(np.shape(labels)):
            wanted[(*index, np.array(labels)[index])] = 1
        assert result.shape == wanted.shape, (
            f"{case} of {classes} classes: the shape should be {wanted.shape}, yours is "
            f"{result.shape}. "
            "A class that does not occur in this batch still has its column, or all later"
            " columns would be wrong"
        )
        expect(result.data, wanted, f"{case} of {classes} classes: the result")
        equal(result.dtype.name, "float32", "the dtype of the result")


def test_labels_of_any_type():
    for name, labels in [
        ("a list", [2, 0]),
        ("a Tensor", Tensor([2, 0])),
        ("a uint8 array", np.array([2, 0], "uint8")),
    ]:
        expect(one_hot(labels, 4), [[0, 0, 1, 0], [1, 0, 0, 0]], f"one_hot of {name} [2, 0]")


def test_labels_of_small_integer_dtypes():
    for dtype, labels, classes in [
        ("uint8", [255, 0, 128], 300),
        ("int8", [127, 5], 200),
        ("int32", [999, 70], 1000),
    ]:
        result = one_hot(np.array(labels, dtype), classes)
        case = f"{dtype} labels {labels} of {classes} classes:"
        equal(result.shape, (len(labels), classes), f"{case} the shape")
        columns = [np.flatnonzero(row).tolist() for row in result.data]
        cause = f"Does an integer overflow in {dtype}?"
        equal(columns, [[label] for label in labels], f"{case} the columns of the ones", cause)


# %% one-hot hidden points=1
def test_other_labels():
    yield one_hot(num_classes=11, labels=np.arange(24).reshape(2, 3, 4) * 5 % 11)
    yield one_hot(np.zeros((0, 2), "int64"), 6)


# %% learner-side
def read_back(data):
    """What parse_idx(data) returns: its numbers as a list, and its dtype with the byte order,
    such as "<i2"."""
    found = parse_idx(data)
    return found.tolist(), found.dtype.str


# %% learner-side
def written_into(data):
    """Whether the array of parse_idx(data) has the machine's byte order, and the array with 9
    in its last element."""
    array = parse_idx(data)
    is_native = array.dtype.isnative
    array[..., -1] = 9
    return is_native, array


# %% parse-idx points=4


def test_bytes_become_images():
    pictures = (np.arange(4 * 3 * 2) * 37 % 256).astype("uint8").reshape(4, 3, 2)
    result = np.asarray(parse_idx(idx_bytes(8, pictures)))
    equal(result.shape, (4, 3, 2), "the header has the lengths 4, 3, 2: the shape")
    expect(result, pictures, "the array of images")
    labels = np.array([7, 0, 255], "uint8")
    expect(parse_idx(idx_bytes(8, labels)), labels, "the array of a file with three labels")
    large = np.arange(300 * 2, dtype="uint8").reshape(300, 2)
    case = "the length 300 is the bytes 0 0 1 44, most significant first: the array"
    expect(parse_idx(idx_bytes(8, large)), large, case)


def test_every_type_of_number():
    for kind, dtype, numbers in [
        (9, ">i1", [-128, 0, 127]),
        (11, ">i2", [256, -1, 3]),
        (12, ">i4", [70000, -5, 0]),
        (13, ">f4", [0.5, -2.25, 1e20]),
        (14, ">f8", [0.1, -1e300, 3.0]),
    ]:
        array = np.array(numbers, dtype)
        result, order = read_back(idx_bytes(kind, array))
        cause = "the most significant byte comes first"
        equal(result, array.tolist(), f"type {kind}: the numbers", cause)
        case = f"type {kind}: the dtype, in the machine's own byte order,"
        equal(order, array.dtype.newbyteorder("=").str, case)


def test_a_file_that_was_cut_off_is_refused():
    whole = idx_bytes(11, np.arange(30).astype(">i2").reshape(5, 6))
    cause = "The lengths require 60 bytes after the header. Raise ValueError if there are "
    cause += "fewer or more, with both numbers in the message"
    for data, what in [
        (whole[:-2], "without its last number"),
        (whole[:-12], "without its last row"),
        (whole[:-1], "cut inside its last number"),
        (whole[:12], "without its numbers"),
        (whole + b"\0\0", "with two bytes too many"),
        (whole + b"\0", "with one byte too many"),
    ]:
        case = f"a file of shape (5, 6) with 2-byte numbers, {what},"
        refused(lambda: parse_idx(data), case, contains=[60, len(data) - 12], cause=cause)


def test_the_array_can_be_written_to():
    for kind, dtype in [(12, ">i4"), (8, "u1")]:
        call = lambda: written_into(idx_bytes(kind, np.array([[1, 2]], dtype)))
        cause = "np.frombuffer returns a read-only view of the bytes, make a copy"
        is_native, array = result_of(call, "the array, an ordinary one", cause, ValueError)
        assert is_native, "the numbers should be in the machine's byte order: astype"
        expect(array, [[1, 9]], "[[1, 2]] with 9 written into its last element")


# %% parse-idx hidden points=1
def test_other_idx_files():
    for shape in [(), (0,), (3, 0, 2), (1, 1, 1, 5), (2, 3, 4, 5)]:
        array = np.asarray((np.arange(math.prod(shape)) - 3).reshape(shape) / 7, ">f4")
        yield parse_idx(idx_bytes(13, array))
    for data in (
        bytes([0, 0, 8, 1, 255, 255, 255, 255]),
        bytes([0, 0, 8, 4] + [0, 1, 0, 0] * 4),
        bytes([0, 0, 9, 2, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6]),
    ):
        refused(lambda: parse_idx(data), data.hex(" "))


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
        wanted = [("item", k) for k in range(count)] + [("end", None)]
        case = f"the entries that enqueue puts for {count} items"
        equal(entries, wanted, case, 'Without an "end" the program waits forever')
        equal(answer, None, "the value that enqueue returns")


def test_an_error_is_put_not_raised():
    for count in (2, 0):
        entries, _, answer = enqueued(count, error="the disk is gone")
        assert answer is None, (
            f"items raises an exception after {count} items. In a thread it would be lost: "
            f"catch it and put it. Your enqueue {answer}"
        )
        wanted = [("item", k) for k in range(count)] + [("error", "the disk is gone")]
        case = f"the entries that enqueue puts for {count} items and an error"
        equal(entries, wanted, case, "put the error itself, once, and no end after it")


def test_it_stops_when_the_queue_is_closed():
    for room in (1, 3):
        entries, made, answer = enqueued(8, room=room)
        assert entries == [("item", k) for k in range(room)] and answer is None, (
            f"put returns False at call number {room}: that should be the last call, yours "
            f"calls it {len(entries)} times: {entries}"
        )
        case = f"put returned False after item {room - 1}: the items that were read"
        equal(made, list(range(room)), case, "stop reading")


# %% enqueue hidden points=1
def test_other_entries_are_put():
    yield enqueued(1, error="", room=2)
    yield enqueued(1, error="late", room=1)
    entries, _, answer = enqueued(500)
    yield len(entries), entries[-1], answer


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
    if hasattr(iterator, "close"):
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
    assert threads_before_the_first_item() == 0, (
        "a thread was started before the first item was asked for: prefetch should be a "
        "generator, which runs when the loop asks for an item"
    )
    for count, ahead in [(7, 2), (7, 1), (3, 9), (1, 1), (0, 2), (200, 3)]:
        got, _, _, _, where, left = iterate_prefetched(count, ahead, count + 1)
        assert got == list(range(count)), (
            f"{count} items with {ahead} ahead should come in order, yours: {got[:20]}"
        )
        equal(where, ["prefetch"] * (count > 0), "the thread in which the items are made")
        assert left == 0, "the iteration has ended and the thread still runs: close the queue"


def test_no_more_items_are_prepared_than_allowed():
    for count, ahead in [(50, 1), (50, 4)]:
        got, most, _, _, where, _ = iterate_prefetched(count, ahead, count)
        equal(got, list(range(count)), f"the items, with {ahead} ahead,")
        equal(where, ["prefetch"], "the thread in which the items are made")
        assert most <= ahead + 1, (
            f"with {ahead} ahead, at most {ahead} items wait and one is in preparation; yours "
            f"had {most}: yield each item when it comes, do not collect them in a list"
        )


def test_an_error_is_raised_after_the_items_before_it():
    text = "page 7 is torn"
    for count in (4, 0):
        got, _, came, _, where, left = iterate_prefetched(count, 2, 100, error=text)
        case = f"the source raises LookupError after {count} items: prefetch's exception"
        cause = "raise the error that the thread put, or a failed epoch looks like a complete "
        equal(came[:2], ["LookupError", text], case, f"{cause}one")
        assert came[2], (
            "the same exception object should be raised, not a copy: it holds the traceback"
        )
        equal(got, list(range(count)), "the items before the error")
        equal(where, ["prefetch"] * (count > 0), "the thread in which the items are made")
        assert left == 0, "after the error the thread still runs: close the queue in `finally`"


def test_leaving_the_loop_ends_the_thread():
    case, cause = "the items None, 0, '' and 5, prefetched,", "the kind says when the end is"
    equal([*prefetch([None, 0, "", 5])], [None, 0, "", 5], case, cause)
    for used in (1, 3):
        got, _, _, made, where, left = iterate_prefetched(1000, 2, used)
        equal(got, list(range(used)), "the first items")
        equal(where, ["prefetch"], "the thread in which the items are made")
        assert left == 0, (
            f"the loop was left after {used} items, and the thread still waits: `yield` did "
            "not return. Only a `finally` runs then; close the queue there"
        )
        assert len(made) <= used + 5, (
            f"the loop was left after {used} items, but the thread prepared {len(made)} of 1000"
        )
        assert made[-1] == "closed", "the source was not closed: an open file would stay open"


def test_the_loader_prefetches():
    wanted = epochs_ahead(23, 4, 0, 3, seed=6)
    for ahead in (1, 3):
        case = f"with prefetch={ahead}, as without, three epochs"
        equal(epochs_ahead(23, 4, ahead, 3, seed=6), wanted, case)
    broken = epochs_ahead(9, 2, 2, 1, seed=0, bad=5)
    equal(
        broken, ([], "example 5 is broken"), "when example 5 raises, the epochs and the error"
    )


# %% prefetch hidden points=1
def test_prefetch_starts_late_and_can_be_left_anywhere():
    yield threads_before_the_first_item()
    for count, ahead, used in [(6, 1, 6), (6, 9, 5), (6, 2, 2), (30, 3, 29)]:
        got, most, came, made, where, left = iterate_prefetched(count, ahead, used)
        yield got, came[0], where, most <= ahead + 1, left, made[-1]
    got, _, came, _, _, left = iterate_prefetched(1, 1, 9, error="")
    yield got, came, left
