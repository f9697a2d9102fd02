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
#     terms: []
#     title: Data
# ---

# %% [markdown]
# # 09. Data
#
# A network learns what its examples show, in the order and the numbers in which they come. Most
# of what goes wrong on the way makes no noise: a last batch that nobody sees, a test set that
# is all nines, a picture that was turned upside down. This chapter brings real pictures to a
# network, and proves at each step that none was lost, doubled or damaged.
#
# **You need** 01 (Tensor), and from 03 (Layers) where chance comes from. **You write**
# datasets, splits, batches, a loader that works ahead in a thread, a file format, and three
# ways to vary a picture.

# %%
#| default_exp core.data
#| export
import math

import numpy as np

from tinytorch.core.layers import generator
from tinytorch.core.tensor import Tensor
from tinytorch.support import datasets
from tinytorch.support.download import data_folder, fetch, checksum  # noqa: F401
from tinytorch.support.shelf import Shelf

# %% [markdown]
# ## Something with a length and places
#
# All that the rest of this chapter asks of data is two things: how many examples there are, and
# example number `i`. A list does both. So does a folder of photographs that are opened only
# when somebody asks for one. `Dataset` is the class of such things; an example is usually a
# pair, what goes into the network and what should come out.

# %%
#| export
class Dataset:
    """Examples that can be counted and asked for by number. A subclass writes `__len__` and
    `__getitem__`.

    dataset[i]  one example: an array, a number, or a tuple of such; IndexError when there is no
                number i
    """

    def __len__(self):
        raise NotImplementedError(f"{type(self).__name__} has no method __len__; "
                                  "it says how many examples there are")

    def __getitem__(self, i):
        raise NotImplementedError(f"{type(self).__name__} has no method __getitem__; "
                                  "it gives example number i")

    def batch(self, indices):
        """The examples with these numbers, as one batch: see `collate`."""
        return collate([self[i] for i in np.asarray(indices).tolist()])

# %% [markdown]
# Most often the examples stand in arrays, one row each: pictures in one, the right answers in
# another. They stay NumPy arrays until a batch of them is made; a dataset needs no slopes.
#
# Predict what `a[2]`, `a[-1]` and `a[[2, 0]]` are for an array of shape (5, 8, 8), and which of
# them are copies.
#
# **Task.** Write `__getitem__` of `TensorDataset`.

# %% exercise="tensors"
#| export
class TensorDataset(Dataset):
    """Examples that stand in the rows of arrays: example i is row i of each.

    arrays   Tensors, arrays or nested lists, all with equally many rows; arrays are not copied

    .arrays  them, as a tuple of ndarrays

    dataset[i] is a tuple with one row of each array. IndexError when there is no such row; also
    an array of numbers will do for `i`, and gives those rows of each.

    >>> pairs = TensorDataset([[0.5, 1.0], [2.0, 3.0]], [7, 9])
    >>> pairs[1]
    (array([2., 3.], dtype=float32), np.int64(9))

    Source: torch.utils.data.TensorDataset.
    """

    def __init__(self, *arrays):
        self.arrays = tuple(a if isinstance(a, np.ndarray) else Tensor(a).data for a in arrays)
        lengths = [len(a) if a.ndim else "none" for a in self.arrays]
        if not arrays or len(set(lengths)) > 1 or "none" in lengths:
            raise ValueError("TensorDataset takes arrays with equally many rows, "
                             f"these have {lengths}: each picture needs its answer, "
                             "and the other way round")

    def __len__(self):
        return len(self.arrays[0])

    def __getitem__(self, i):
        ### BEGIN SOLUTION
        return tuple(array[i] for array in self.arrays)
        ### END SOLUTION

    def batch(self, indices):
        return tuple(Tensor(rows) for rows in self[np.asarray(indices)])  # all rows at once

# %% checks="tensors"
check("tensors")

# %% [markdown]
# ## Set some aside
#
# A network can learn its examples by heart, so what it is worth is asked on examples that it
# never saw. A `Subset` is a dataset, too: it knows another one, and which of its examples are
# in it. No picture is copied.

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
# How many examples each part gets may be said in numbers, or in shares that add up to 1. Shares
# are rounded down, and what is left over is dealt out one by one, so that nobody is lost.

# %%
#| exporti
def whole_lengths(lengths, count):
    """How many of `count` examples each part gets: `lengths` themselves, or shares of `count`
    that add up to 1."""
    if abs(sum(lengths) - 1) < 1e-6 and all(0 <= n <= 1 for n in lengths):
        whole = [int(count * share) for share in lengths]
        return [n + (place < count - sum(whole)) for place, n in enumerate(whole)]
    if sum(lengths) != count or any(n < 0 for n in lengths):
        raise ValueError(f"the parts {list(lengths)} add up to {sum(lengths)}, "
                         f"there are {count} examples: give numbers that add up to that, "
                         "or shares that add up to 1")
    return [int(n) for n in lengths]

# %% [markdown]
# Many files are sorted: first all zeros, then all ones. Predict what a network trained on the
# first four fifths of such a file says to the last fifth.

# %%
sorted_answers = np.repeat(np.arange(10), 100)
print("in the first four fifths", np.unique(sorted_answers[:800]), "in the last fifth",
      np.unique(sorted_answers[800:]))

# %% [markdown]
# So the examples are mixed before they are dealt out.
#
# **Task.** Write `random_split`. The parts may not share an example, and together they have
# all.

# %% exercise="split"
#| export
def random_split(dataset, lengths, rng=None):
    """Deal the examples out at random, each to exactly one part.

    dataset  anything with a length and examples
    lengths  how many examples each part gets: whole numbers that add up to len(dataset), or
             shares that add up to 1
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

# %% checks="split"
check("split")

# %% [markdown]
# Chance alone may give a small test set two sevens and nine ones. How far can it be off?
# Predict the smallest and the largest number of sevens among 100 drawn at random from 1,000
# balanced digits, in a thousand tries.

# %%
rng = np.random.default_rng(0)
sevens = [(rng.permutation(sorted_answers)[:100] == 7).sum() for _ in range(1000)]
print(f"10 would be fair; the thousand tries have from {min(sevens)} to {max(sevens)}")

# %% [markdown]
# *Stratified* means: draw in each class for itself, then every class has its share.
#
# **Task.** Write `stratified_split`.

# %% exercise="stratified"
#| export
def stratified_split(labels, share, rng=None):
    """Set a share of each class aside.

    labels   array of shape (n,): the class of each example
    share    from 0 to 1: what part of each class is set aside, rounded to whole examples
    rng      a NumPy Generator, a seed, or None for the layers' own generator
    returns  (rest, aside): two arrays of example numbers, each in rising order; together they
             are 0 ... n - 1

    >>> rest, aside = stratified_split(np.array([5, 5, 5, 8, 8, 8]), 1 / 3)
    >>> len(rest), len(aside)
    (4, 2)

    Source: sklearn.model_selection.train_test_split with `stratify`; Neyman (1934) on
    stratified sampling.
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

# %% checks="stratified"
check("stratified")


# %% [markdown]
# ## In which order
#
# A step of training looks at a few examples, a *batch*, and one walk through all of them is an
# *epoch*. If each batch were made of neighbours in the file, one step would see only zeros and
# the next only ones. So each epoch has an order of its own, drawn anew.
#
# Predict what these two lines print. The second is the most common mistake of this chapter.

# %%
letters = np.array(["a", "b", "c", "d", "e"])
print(letters[np.random.default_rng(0).permutation(5)])
print(letters[np.random.default_rng(0).shuffle(np.arange(5))].shape)

# %% [markdown]
# `shuffle` mixes its argument and returns `None`, and an array at `[None]` is the whole array
# with one more axis, in the old order.
#
# **Task.** Write `order_of`.

# %% exercise="order"
#| export
def order_of(count, shuffle=False, rng=None):
    """The numbers 0 to count - 1, in the order in which one epoch visits the examples.

    count    how many examples there are
    shuffle  whether the order is random
    rng      a NumPy Generator, a seed, or None for the layers' own generator; not touched
             unless shuffling
    returns  array of shape (count,), whole numbers

    >>> order_of(3)
    array([0, 1, 2])

    Source: Durstenfeld's algorithm (1964), which numpy.random.Generator.permutation uses.
    """
    ### BEGIN SOLUTION
    return generator(rng).permutation(count) if shuffle else np.arange(count)
    ### END SOLUTION

# %% checks="order"
check("order")

# %% [markdown]
# ## Cut into batches
#
# The order is cut into pieces. 1,438 is not a multiple of 64: predict how many batches there
# are, and what becomes of the last examples if the count is `1438 // 64`.

# %%
print(1438 / 64, "batches;", 1438 - 1438 // 64 * 64, "examples are left over")

# %% [markdown]
# Sometimes a last batch of a few examples is unwelcome: its mean is noisy, and a layer that
# compares the examples of a batch cannot do with one. Then `drop_last` leaves it out, on
# purpose; as the order is drawn anew, others are left out the next time.
#
# **Task.** Write `batches`.

# %% exercise="batches"
#| export
def batches(order, batch_size, drop_last=False):
    """Cut an order into batches.

    order       array of shape (n,): example numbers
    batch_size  examples per batch, 1 or more
    drop_last   whether a last batch of fewer is left out
    returns     list of arrays, together `order` itself; each of length batch_size, but perhaps
                the last

    >>> batches(np.array([4, 2, 0, 3, 1]), 2)
    [array([4, 2]), array([0, 3]), array([1])]

    Source: torch.utils.data.BatchSampler.
    """
    ### BEGIN SOLUTION
    pieces = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    return [piece for piece in pieces if len(piece) == batch_size or not drop_last]
    ### END SOLUTION

# %% checks="batches"
check("batches")


# %% [markdown]
# ## Examples become a batch
#
# Five examples are five pairs; a network wants one tensor of five pictures and one of five
# answers. Predict what `zip(*pairs)` does with `[(p0, a0), (p1, a1), (p2, a2)]`.

# %%
print(list(zip(*[("p0", "a0"), ("p1", "a1"), ("p2", "a2")])))

# %% [markdown]
# The rows of one tensor have one shape. `as_rows` is given: it looks at that, and makes one
# array.

# %%
#| exporti
def as_rows(samples):
    """The samples as rows of one array: arrays and NumPy numbers keep their dtype; Python's
    numbers stay a list."""
    shapes = list(dict.fromkeys(np.shape(s) for s in samples))
    if len(shapes) > 1:
        raise ValueError(f"examples of the shapes {' and '.join(map(str, shapes[:3]))} cannot "
                         "be one batch: bring them to one shape first, "
                         "or write a collate_fn that does")
    return (np.stack([np.asarray(s) for s in samples]) if hasattr(samples[0], "dtype")
            else list(samples))

# %% [markdown]
# **Task.** Write `collate`. A member of an example may be a tuple again; then the same is done
# inside it.

# %% exercise="collate"
#| export
def collate(samples):
    """Make one batch of several examples.

    samples  list of examples, 1 or more, all of one form: arrays, Tensors or numbers, or tuples
             (or lists) of such
    returns  a Tensor with one row per example; for tuples, a tuple of what `collate` makes of
             each member

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

# %% checks="collate"
check("collate")

# %% [markdown]
# ## The loader
#
# Now all of it together: an order, cut into batches, each batch fetched when it is its turn and
# not before. A function with `yield` does just that: it hands out one thing and waits.
#
# The loader has a generator of its own, split off from the layers'. Then the order of the
# examples does not change when somebody adds a layer that draws weights. A `sampler` replaces
# the order: any numbers, such as rare classes twice.
#
# **Task.** Write `load`.

# %% exercise="loader"
#| export
class DataLoader:
    """The examples of a dataset, batch after batch. `for x, y in loader` is one epoch.

    dataset     anything with a length and examples
    batch_size  examples per batch
    shuffle     whether every epoch has a new random order
    sampler     instead of an order: example numbers, anything that can be walked again and
                again
    drop_last   whether a last batch of fewer examples is left out
    collate_fn  makes a batch of a list of examples
    rng         a NumPy Generator or a seed; None for a generator of the loader's own, split off
                from the layers'
    prefetch    how many batches a thread makes ahead of their use; 0 for no thread

    len(loader) is the number of batches of an epoch.

    >>> loader = DataLoader(TensorDataset([10, 20, 30]), batch_size=2)
    >>> len(loader), [x.shape for x, in loader]
    (2, [(2,), (1,)])

    Source: torch.utils.data.DataLoader, with rng for `generator` and prefetch for
    `num_workers`.
    """

    def __init__(self, dataset, batch_size=1, shuffle=False, sampler=None, *, drop_last=False,
                 collate_fn=collate,
                 rng=None, prefetch=0):
        if batch_size < 1 or prefetch < 0:
            raise ValueError("batch_size is 1 or more and prefetch 0 or more, "
                             f"not {batch_size} and {prefetch}")
        if shuffle and sampler is not None:
            raise ValueError("a sampler is an order already: "
                             "give either sampler or shuffle=True")
        self.dataset, self.batch_size, self.shuffle, self.sampler = (
            dataset, batch_size, shuffle, sampler)
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

# %% checks="loader"
check("loader")

# %% [markdown]
# ## Work ahead
#
# While the network computes, the loader waits, and while the loader opens pictures, the network
# waits. A *thread* can fetch the next batches in the meantime. It pays when fetching means
# waiting, for a disk or a network, or for NumPy at work on large arrays; Python's own lines run
# one at a time.
#
# Between the two stands a `Shelf` with room for a few batches, a *bounded queue* (given, in
# `tinytorch/support/shelf.py`). What is on it has a kind, so that the thread can say more than
# "here is one".
#
# - `shelf.put(kind, thing=None)`, for the thread: waits while there is no room, puts the thing
#   there, and answers `False` when nobody wants any more.
# - `shelf.take()`, for the program: waits while there is nothing; gives `(kind, thing)`, the
#   oldest.
# - `shelf.close()`, for the program: tells the thread that it is over, and waits until it has
#   ended.
#
# First what the thread does. Whatever it meets must reach the program: each item, the end, and
# an error, because an error in a thread stops only the thread, and the program would wait for
# ever.
#
# **Task.** Write `produce`.

# %% exercise="produce"
#| export
def produce(items, put):
    """Hand items on until there are no more, something goes wrong, or nobody wants any.

    items    an iterable, perhaps slow, perhaps one that raises
    put      a function put(kind, thing=None): waits for room; answers False when nobody wants
             any more
    returns  None

    Calls put("item", item) for each in order, then put("end"); or put("error", error) with what
    `items` raised. After an answer of False, nothing is taken from `items`, and put is not
    called again. What `items` raised is never raised here.

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

# %% checks="produce"
check("produce")


# %% [markdown]
# Now the program's side. It is a function with `yield`, too, so whoever uses it sees an
# ordinary walk. But a walk may be left in the middle: `break`, an error in the training step.
# Python then closes the generator, which continues as if `yield` had raised; only `finally`
# gets to run.
#
# **Task.** Write the rest of `prefetch`.

# %% exercise="prefetch"
#| export
def prefetch(items, ahead=2):
    """The same items in the same order, fetched by a thread while the program uses the ones
    before.

    items    an iterable
    ahead    how many may wait ready, 1 or more; one more may be in the making
    returns  a generator. The thread starts with the first item that is asked for, and has ended
             when the walk is over: at the end, by an error, or because it was left in the
             middle

    What `items` raises is raised here, the very same error, behind the items that came before
    it.

    >>> list(prefetch("abc"))
    ['a', 'b', 'c']

    Source: the consumer of Dijkstra, Cooperating sequential processes (1965); generator.close
    in PEP 342.
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

# %% checks="prefetch"
check("prefetch")

# %% [markdown]
# Predict the two times: each of ten batches takes 5 thousandths of a second to come, and as
# long to use.

# %%
import time


def slowly(count, seconds):
    """Yields numbers, each after a wait."""
    for k in range(count):
        time.sleep(seconds)
        yield k


for name, walk in [("one after the other", slowly(10, 0.005)),
                   ("ahead", prefetch(slowly(10, 0.005)))]:
    start = time.perf_counter()
    for _ in walk:
        time.sleep(0.005)  # the step of training
    print(f"{name:20} {time.perf_counter() - start:.3f} s")

# %% [markdown]
# ## Read what others wrote
#
# MNIST, 70,000 digits from American forms, is kept in a format of its own, IDX. It has no names
# and no commas, only bytes: two zeros; one byte for the kind of number; one for how many axes;
# each length in four bytes, the largest part first ("big-endian"); then the numbers, row by
# row.
#
# Here are 24 bytes. Predict the shape and the first number.

# %%
example = bytes([0, 0, 11, 2, 0, 0, 0, 3, 0, 0, 0, 2, 1, 0, 0, 7, 0, 8, 0, 9, 255, 255, 0, 1])
print(example.hex(" "))

# %% [markdown]
# Kind 11 is a whole number of two bytes: 1 and 0, that is 1 · 256 + 0. Most machines keep the
# smallest part first and would read 1.
#
# **Task.** Write the rest of `parse_idx`. A file that was cut off in the middle must not become
# a smaller set of pictures.

# %%
#| exporti
# byte 2 of a file -> the dtype of its numbers
IDX = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}

# %% exercise="idx"
#| export
def parse_idx(data):
    """The array in the bytes of an IDX file.

    data     bytes: 0, 0, the kind of number (see IDX), the number of axes, each length as 4
             bytes, the numbers
    returns  a new ndarray in the machine's own byte order

    ValueError when it is no IDX file; also when there are not exactly as many numbers as the
    lengths promise, and then it tells both counts.

    >>> parse_idx(bytes([0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 3, 5, 6, 255]))
    array([[  5,   6, 255]], dtype=uint8)

    Source: LeCun, Cortes, Burges, The MNIST database, "File formats".
    """
    if (data[:2] != b"\0\0" or len(data) < 4 or data[2] not in IDX
        or len(data) < 4 + 4 * data[3]):
        raise ValueError("these bytes do not begin like an IDX file: "
                         f"{bytes(data[:8]).hex(' ') or 'there are none'}")
    ### BEGIN SOLUTION
    shape = np.frombuffer(data, ">u4", data[3], 4).tolist()
    numbers = np.frombuffer(data, IDX[data[2]], offset=4 + 4 * len(shape))
    if numbers.size != math.prod(shape):
        raise ValueError(f"{shape} promises {math.prod(shape)} numbers, "
                         f"here are {numbers.size}: was the file cut off?")
    return numbers.reshape(shape).astype(numbers.dtype.newbyteorder("="))
    ### END SOLUTION

# %% checks="idx"
check("idx")

# %% [markdown]
# ## Fetch it once, and only whole
#
# Large sets are not part of this course; they are downloaded when somebody asks for them, and
# kept. That code is not taught here, but four of its ideas are worth knowing: files are kept in
# a folder for data that can be fetched again, `data_folder()`; each is known by its
# *checksum* (SHA-256), 256 bits that change when any byte of the file does; what is not
# whole yet has a name ending in `.part`, and a download that breaks off goes on there; a rename
# at the end happens completely or not at all. It is the function `fetch`, in
# `tinytorch/support/download.py`; `datasets.py` beside it holds addresses and checksums.
#
# What comes is IDX, for your `parse_idx`. Only CIFAR-10, photographs of ten kinds of things, is
# not: one byte for the class, then 1,024 for red, 1,024 for green and 1,024 for blue,
# photograph after photograph. It is also offered as a *pickle*. Never open one from the
# network: reading a pickle runs whatever program its author put into it. Bytes can be wrong,
# but they cannot do anything.

# %%
#| exporti
def pictures(images, labels, largest):
    """A TensorDataset of float32 pictures (n, channels, height, width) between 0 and 1, with
    classes as int64."""
    images = images.reshape(len(images), -1, *images.shape[-2:]).astype(np.float32)
    images /= largest
    return TensorDataset(images, labels.astype(np.int64))

# %%
#| export
def mnist(split="train"):
    """Handwritten digits, 28 x 28 grey: 60,000 to train on, 10,000 to test. Downloads 12 MB
    once; see `fetch`.

    Source: LeCun, Cortes, Burges, The MNIST database of handwritten digits.
    """
    return pictures(*map(parse_idx, datasets.idx_files("mnist", split)), 255)


def fashion_mnist(split="train"):
    """Clothes of ten kinds, 28 x 28 grey: 60,000 to train on, 10,000 to test. Downloads 31 MB
    once; see `fetch`.

    Source: Xiao, Rasul, Vollgraf, Fashion-MNIST (2017), arXiv:1708.07747; MIT licence.
    """
    return pictures(*map(parse_idx, datasets.idx_files("fashion-mnist", split)), 255)


def cifar10(split="train"):
    """Photographs of ten kinds of things, 32 x 32 in 3 colours: 50,000 to train on, 10,000 to
    test.

    Downloads 170 MB once; see `fetch`. As float32, the 50,000 take 614 MB of memory.

    Source: Krizhevsky, Learning multiple layers of features from tiny images (2009).
    """
    return pictures(*datasets.cifar10_arrays(split), 255)

# %% [markdown]
# ## Real handwriting
#
# One real set needs no network: 1,797 digits that people wrote on forms, each 8 by 8, with
# values from 0 to 16. They are part of the package. A fifth of each class is marked for
# testing, once and for all: results can be compared only if everybody tests on the same
# pictures.

# %%
#| export
def digits(split="train"):
    """Handwritten digits, 8 x 8 grey, values from 0 to 1: 1,438 to train on, 359 to test. Needs
    no network.

    split    "train" or "test": always the same pictures
    returns  TensorDataset of float32 pictures (n, 1, 8, 8) and int64 classes (n,)

    >>> len(digits("train")), len(digits("test"))
    (1438, 359)

    Source: E. Alpaydin, C. Kaynak, Optical Recognition of Handwritten Digits (1998), UCI
    Machine Learning Repository, https://doi.org/10.24432/C50P49, licence CC BY 4.0; the set's
    test part, as scikit-learn distributes it.
    """
    return pictures(*datasets.digits_arrays(split), 16)

# %%
from tinytorch.support.images import show_images

train, test = digits("train"), digits("test")
print(len(train), len(test), "tests per class:", np.bincount(test.arrays[1]))
figure = show_images([train[i][0] for i in range(20)], [train[i][1] for i in range(20)])
# alt: Twenty handwritten digits of 8 by 8 grey squares in two rows, each with its number above.

# %% [markdown]
# ## One scale for all
#
# A layer starts out expecting inputs of mean 0 and spread 1. Pictures are not like that, and
# their channels differ: subtract each channel's mean, divide by its standard deviation.
#
# Whose mean? Suppose the test pictures were taken on a dark day. Predict what remains of the
# darkness when they are normalised by their own numbers.

# %%
day, night = np.array([0.5, 0.7, 0.9]), np.array([0.1, 0.3, 0.5])
print("by its own numbers:", ((day - day.mean()) / day.std()).round(2),
      ((night - night.mean()) / night.std()).round(2))
print("by those of the day:", ((day - day.mean()) / day.std()).round(2),
      ((night - day.mean()) / day.std()).round(2))

# %% [markdown]
# Nothing remains: to the network, night is day. So the numbers are measured on the training
# set, once, and belong to the network like its weights. If the test set had a say, the test
# would already know something of what it asks.
#
# **Task.** Write `statistics`. A channel that is the same everywhere has spread 0; it is
# divided by 1.

# %% exercise="statistics"
#| export
def statistics(images):
    """The mean and the standard deviation of each channel over all examples and all places.

    images   array of shape (n, channels, ...): pictures (n, channels, height, width), or rows
             (n, features)
    returns  (mean, std): two float32 arrays of shape (channels, 1, 1) for pictures, (features,)
             for rows; std is the population's (divided by the count), and 1 where a channel is
             the same everywhere

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

# %% checks="statistics"
check("statistics")

# %% [markdown]
# A *transform* is a function from a picture to a picture; several in a row are a `Compose`, and
# a dataset that applies one when an example is asked for is a `Transformed`.

# %%
#| export
class Normalize:
    """Subtracts the mean and divides by the standard deviation, as measured by `statistics` on
    the training set.

    >>> Normalize(*statistics(np.array([[1.0, 5.0], [3.0, 9.0]])))(np.array([1.0, 9.0],
    ...                                                                     "float32"))
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
    """Another dataset, with a function applied to the first member of each example, anew each
    time it is asked for.

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
# A 3 that stands one pixel further to the left is still a 3, and the network may never have
# seen it there. Changing each picture a little, anew in every epoch, gives it more to learn
# from: *augmentation*. It is done in training only.
#
# First, move a picture. What leaves on one side is gone; `np.roll` would bring it back on the
# other.
#
# **Task.** Write `shift`.

# %% exercise="shift"
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

    Source: LeCun, Bottou, Bengio, Haffner, Gradient-based learning applied to document
    recognition (1998).
    """
    height, width = image.shape[-2:]
    ### BEGIN SOLUTION
    room = max(abs(down), abs(right))
    padded = np.zeros((*image.shape[:-2], height + 2 * room, width + 2 * room), image.dtype)
    padded[..., room : room + height, room : room + width] = image
    return padded[..., room - down : room - down + height, room - right : room - right + width]
    ### END SOLUTION

# %% checks="shift"
check("shift")


# %% [markdown]
# Second, mirror it. A photograph of a cat, mirrored, is a cat. Predict which digits survive a
# mirror.
#
# **Task.** Write `__call__` of `RandomHorizontalFlip`. The transform has its own generator, so
# that what one picture gets does not depend on what is drawn elsewhere.

# %% exercise="flip"
#| export
class RandomHorizontalFlip:
    """Swaps left and right of a picture (..., height, width) with probability p, and otherwise
    gives it back.

    p        from 0 to 1
    rng      a NumPy Generator or a seed; None for a generator of its own, split off from the
             layers'

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

# %% checks="flip"
check("flip")


# %% [markdown]
# Two more are made of what is there: `RandomShift` draws how far, and `AddNoise` adds a little
# of normal noise to every pixel.

# %%
#| export
class RandomShift:
    """Moves a picture by up to `most` pixels, evenly drawn for each axis. `rng` is as in
    RandomHorizontalFlip."""

    def __init__(self, most=1, rng=None):
        self.most, self.rng = most, generator().spawn(1)[0] if rng is None else generator(rng)

    def __call__(self, image):
        down, right = self.rng.integers(-self.most, self.most + 1, 2).tolist()
        return shift(image, down, right)


class AddNoise:
    """Adds normal noise of standard deviation `std` to every pixel, in its own dtype. `rng` as
    in RandomHorizontalFlip."""

    def __init__(self, std=0.1, rng=None):
        self.std, self.rng = std, generator().spawn(1)[0] if rng is None else generator(rng)

    def __call__(self, image):
        return image + (self.std * self.rng.standard_normal(image.shape)).astype(image.dtype)

# %%
varied = Transformed(train, Compose([RandomShift(1, rng=1), AddNoise(0.08, rng=2)]))
mirrored = Transformed(train, RandomHorizontalFlip(1.0))
figure = show_images([dataset[i][0] for dataset in (train, varied, varied, mirrored)
                      for i in range(10)])
# alt: Ten digits in four rows: as they are, twice moved by up to a pixel and made noisy, and
# mirrored.

# %% [markdown]
# ## Answers as columns
#
# A class is a name, and its number means nothing: 8 is not twice 4. Where a computation needs
# numbers, each class gets a column of its own, with a 1 for the examples that are in it:
# *one-hot*.
#
# Predict what becomes of a batch without a single 1 if the columns are made from the classes
# that occur in it.
#
# **Task.** Write `one_hot`.

# %% exercise="onehot"
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
        raise ValueError(f"there are {num_classes} classes, counted from 0, "
                         f"and the label {wrong[0]} is none of them")
    return Tensor(np.eye(num_classes, dtype=np.float32)[labels])
    ### END SOLUTION

# %% checks="onehot"
check("onehot")


# %% [markdown]
# ## What there is to beat
#
# With that, the mean picture of every class is one matrix product: columns of ones and zeros,
# turned, times the pictures, is the sum of the pictures of each class. No network yet: say of
# each test picture which mean is nearest.
#
# Predict how many of 100 it gets right, and how many when each test picture is moved by up to
# one pixel.

# %%
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
    squares = (to * to).sum(1)

    def guess(rows):
        return classes[(squares - 2 * rows @ to.T).argmin(1)]

    return guess


moved_test = Transformed(test, RandomShift(1, rng=0))
variants = [Transformed(train, RandomShift(1, rng=seed)) for seed in range(6)]
moved_train = np.concatenate([variant.batch(range(len(train)))[0].data for variant in variants])
for name, guess in [("nearest mean", nearest(means, np.arange(10))),
                    ("nearest picture", nearest(x.data, y)),
                    ("nearest of the pictures moved",
                     nearest(moved_train.reshape(-1, 64), np.tile(y, 6)))]:
    print(f"{name:30} test {share_right(guess, test):.1%}   test, "
          f"moved {share_right(guess, moved_test):.1%}")
figure = show_images(means.reshape(10, 1, 8, 8), range(10))
# alt: The mean picture of each digit from 0 to 9: the shape of each can be recognised, its
# edges are blurred.

# %% [markdown]
# Remembering every picture is hard to beat on pictures that stand where the remembered ones
# stood, and little worth on those that moved. The last line is augmentation, at work without
# any learning.
#
# ## Data that is made
#
# To try an idea out, points in the plane are enough: they are made in no time, there are as
# many as one likes, and the answer can be looked at. Four classics; each returns a
# `TensorDataset` of points (n, 2), float32, and classes.

# %%
#| exporti
def noisy(points, labels, noise, rng):
    """The TensorDataset of these points with normal noise of standard deviation `noise`
    added."""
    points = np.asarray(points) + rng.normal(0, noise, np.shape(points))
    return TensorDataset(points.astype(np.float32), np.asarray(labels, dtype=np.int64))

# %%
#| export
def moons(count=200, noise=0.1, rng=None):
    """Two half circles that reach into each other, classes 0 and 1. `rng`: a NumPy Generator, a
    seed, or None."""
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
    return noisy(np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1),
                 labels, noise, rng)


def spirals(count=300, classes=3, turns=0.75, noise=0.03, rng=None):
    """Arms that wind `turns` times around the middle, one for each class."""
    rng = generator(rng)
    labels = np.arange(count) % classes
    radius = rng.uniform(0.05, 1, count)
    angle = 2 * np.pi * (labels / classes + turns * radius)
    return noisy(np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1),
                 labels, noise, rng)


def xor(count=200, noise=0.1, rng=None):
    """Points around (0, 0) and (1, 1), class 0, and around (0, 1) and (1, 0), class 1."""
    rng = generator(rng)
    corners = rng.integers(0, 2, (count, 2))
    return noisy(corners, corners[:, 0] ^ corners[:, 1], noise, rng)

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 4, figsize=(11, 2.8))
for axis, make in zip(axes, (moons, circles, spirals, xor)):
    points, classes = make(rng=0).arrays
    axis.scatter(*points.T, c=classes, cmap="viridis", s=8)
    axis.set_title(make.__name__)
    axis.set_aspect("equal")
figure.tight_layout()
# alt: Four sets of points in colours: two half-moons, a circle in a circle, three arms of a
# spiral, and four clouds with opposite corners alike.

# %% [markdown]
# ## Look back
#
# 1. With 1,438 examples in batches of 64 and `drop_last`, how probable is it that a certain
#    example is in none of ten epochs? And if the order were drawn once instead of anew?
# 2. Time one epoch of `DataLoader(train, 64)` and one of `DataLoader(Transformed(train, lambda
#    x: x), 64)`. What takes the time? Does `prefetch=2` help here, and why not?
# 3. 13 people wrote these digits, and the marks of `digits` ignore who wrote what. What would
#    you expect of a network's result if each writer's pictures were all on one side?
