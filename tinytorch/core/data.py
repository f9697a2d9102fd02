# From modules/source/09_data/data_dev.py by `tito export`; edit that file, not this one.
# checksum: 8065827bd0606879
"""Data: Real pictures, split, shuffled, batched and varied."""

import math

import numpy as np

from tinytorch.core.layers import generator
from tinytorch.core.tensor import Tensor
from tinytorch.support import datasets
from tinytorch.support.download import checksum, data_folder, fetch
from tinytorch.support.shelf import Shelf

__all__ = [
    "Dataset", "TensorDataset", "Subset", "random_split", "stratified_split", "order_of", "batches", "collate",
    "DataLoader", "produce", "prefetch", "parse_idx", "mnist", "fashion_mnist", "cifar10", "digits", "statistics",
    "Normalize", "Compose", "Transformed", "shift", "RandomHorizontalFlip", "RandomShift", "AddNoise", "one_hot",
    "moons", "circles", "spirals", "xor",
]


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
        return tuple(array[i] for array in self.arrays)

    def batch(self, indices):
        return tuple(Tensor(rows) for rows in self[np.asarray(indices)])  # all rows at once


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
    order = generator(rng).permutation(len(dataset))
    return [Subset(dataset, part) for part in np.split(order, np.cumsum(lengths)[:-1])]


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
    rng, aside = generator(rng), []
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        aside.append(members[: round(share * len(members))])
    aside = np.sort(np.concatenate(aside))
    return np.setdiff1d(np.arange(len(labels)), aside), aside


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
    return generator(rng).permutation(count) if shuffle else np.arange(count)


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
    pieces = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    return [piece for piece in pieces if len(piece) == batch_size or not drop_last]


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
    if isinstance(samples[0], (tuple, list)):
        return tuple(collate(member) for member in zip(*samples, strict=True))
    return Tensor(as_rows(samples))


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
        for indices in batches(order, self.batch_size, self.drop_last):
            yield self.fetch(indices)

    def __iter__(self):
        found = self.load(self.order())
        return prefetch(found, self.ahead) if self.ahead else found

    def __len__(self):
        count = len(self.dataset if self.sampler is None else self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


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
    try:
        for item in items:
            if not put("item", item):
                return
        put("end")
    except BaseException as error:
        put("error", error)


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
    try:
        kind, thing = shelf.take()
        while kind == "item":
            yield thing
            kind, thing = shelf.take()
        if kind == "error":
            raise thing
    finally:
        shelf.close()


# byte 2 of a file -> the dtype of its numbers
IDX = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


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
    shape = np.frombuffer(data, ">u4", data[3], 4).tolist()
    numbers = np.frombuffer(data, IDX[data[2]], offset=4 + 4 * len(shape))
    if numbers.size != math.prod(shape):
        raise ValueError(f"{shape} promises {math.prod(shape)} numbers, "
                         f"here are {numbers.size}: was the file cut off?")
    return numbers.reshape(shape).astype(numbers.dtype.newbyteorder("="))


def pictures(images, labels, largest):
    """A TensorDataset of float32 pictures (n, channels, height, width) between 0 and 1, with
    classes as int64."""
    images = images.reshape(len(images), -1, *images.shape[-2:]).astype(np.float32)
    images /= largest
    return TensorDataset(images, labels.astype(np.int64))


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
    axes = tuple(axis for axis in range(images.ndim) if axis != 1)
    mean = images.mean(axes, keepdims=True, dtype=np.float64)[0]
    std = images.std(axes, keepdims=True, dtype=np.float64)[0]
    return mean.astype(np.float32), np.where(std == 0, 1, std).astype(np.float32)


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
    room = max(abs(down), abs(right))
    padded = np.zeros((*image.shape[:-2], height + 2 * room, width + 2 * room), image.dtype)
    padded[..., room : room + height, room : room + width] = image
    return padded[..., room - down : room - down + height, room - right : room - right + width]


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
        return image[..., ::-1].copy() if self.rng.random() < self.p else image


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
    wrong = labels[(labels < 0) | (labels >= num_classes)]
    if wrong.size:
        raise ValueError(f"there are {num_classes} classes, counted from 0, "
                         f"and the label {wrong[0]} is none of them")
    return Tensor(np.eye(num_classes, dtype=np.float32)[labels])


def noisy(points, labels, noise, rng):
    """The TensorDataset of these points with normal noise of standard deviation `noise`
    added."""
    points = np.asarray(points) + rng.normal(0, noise, np.shape(points))
    return TensorDataset(points.astype(np.float32), np.asarray(labels, dtype=np.int64))


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
