# From modules/source/09_data/data_dev.py by `tito export`, docstrings shortened; edit that file.
# checksum: 49966b1c88ce4cca
"""Data: Real images, split, shuffled, batched, standardized and augmented."""

import math

import numpy as np

from tinytorch.core.layers import generator
from tinytorch.core.tensor import Tensor
from tinytorch.data import image_sets, point_sets
from tinytorch.data.download import checksum, data_folder, fetch
from tinytorch.data.loading import BoundedQueue, split_lengths, stack_rows
from tinytorch.support.arguments import Described, check_dataset_arrays, check_loader

__all__ = [
    "Dataset", "TensorDataset", "digits", "Subset", "random_split", "stratified_split", "epoch_indices", "batches",
    "collate", "DataLoader", "channel_statistics", "Normalize", "Compose", "TransformedDataset", "shift",
    "RandomHorizontalFlip", "RandomShift", "GaussianNoise", "one_hot", "moons", "circles", "spirals", "xor",
    "parse_idx", "mnist", "fashion_mnist", "cifar10", "enqueue", "prefetch",
]


class Dataset(Described):
    """A collection of examples. A subclass writes `__len__` and `__getitem__`.

    dataset[i]  example i: an array, a number, or a tuple of these. Raises IndexError when there
                is no example i
    """

    def __len__(self):
        raise NotImplementedError(f"{type(self).__name__} needs a method __len__")

    def __getitem__(self, i):
        raise NotImplementedError(f"{type(self).__name__} needs a method __getitem__")

    def batch(self, indices):
        """The examples with these indices, as one batch: see `collate`."""
        return collate([self[i] for i in np.asarray(indices).tolist()])


class TensorDataset(Dataset):
    """A dataset whose examples are the rows of arrays: example i is row i of each array.

    Raises IndexError when there is no such row.
    """

    def __init__(self, *arrays):
        check_dataset_arrays(arrays)
        self.arrays = tuple(a if isinstance(a, np.ndarray) else Tensor(a).data for a in arrays)
        shapes = [a.shape for a in self.arrays]
        if len({shape[:1] for shape in shapes}) != 1 or shapes[0] == ():
            raise ValueError("TensorDataset needs one or more arrays with equally many rows, "
                             f"these have the shapes {shapes}: each input needs its target")

    def __len__(self):
        return len(self.arrays[0])

    def __getitem__(self, i):
        return tuple(array[i] for array in self.arrays)

    def batch(self, indices):
        return tuple(Tensor(rows) for rows in self[np.asarray(indices)])  # all rows at once


def image_dataset(images, labels, largest):
    """A TensorDataset of float32 images (n, channels, height, width) with values between 0 and
    1, and int64 labels."""
    images = images.reshape(len(images), -1, *images.shape[-2:]).astype(np.float32)
    images /= largest
    return TensorDataset(images, labels.astype(np.int64))


def digits(split="train"):
    """Handwritten digits, 8 x 8 pixels, values from 0 to 1: 1,438 for training, 359 for
    testing. Needs no network.

    >>> len(digits("train")), len(digits("test"))
    (1438, 359)
    """
    return image_dataset(*image_sets.digits_arrays(split), 16)


class Subset(Dataset):
    """Some examples of another dataset: example i is `dataset[indices[i]]`.

    >>> Subset(["a", "b", "c"], [2, 0])[0]
    'c'
    """

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, np.asarray(indices, dtype=np.int64)

    def __len__(self):
        return len(self.indices)

    def __getitem__(self, i):
        return self.dataset[int(self.indices[i])]

    def batch(self, indices):
        chosen = self.indices[np.asarray(indices)]
        if isinstance(self.dataset, Dataset):
            return self.dataset.batch(chosen)
        return collate([self.dataset[i] for i in chosen.tolist()])


def random_split(dataset, lengths, rng=None):
    """Divide a dataset at random; each example goes to exactly one part.

    returns  list of Subsets, in the order of `lengths`

    >>> [len(part) for part in random_split(range(10), [0.75, 0.25])]
    [8, 2]
    """
    lengths = split_lengths(lengths, len(dataset))
    order = generator(rng).permutation(len(dataset))
    return [Subset(dataset, part) for part in np.split(order, np.cumsum(lengths)[:-1])]


def stratified_split(labels, fraction, rng=None):
    """Hold out the same fraction of each class, drawn at random.

    labels    array of shape (n,): the class of each example
    """
    labels = np.asarray(labels)
    rng, held_out = generator(rng), []
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        held_out.append(members[: round(fraction * len(members))])
    held_out = np.sort(np.concatenate(held_out))
    return np.setdiff1d(np.arange(len(labels)), held_out), held_out


def epoch_indices(count, shuffle=False, rng=None):
    """The indices 0 to count - 1, in the order in which one epoch visits the examples.

    returns  array of shape (count,), integers

    >>> epoch_indices(3)
    array([0, 1, 2])
    """
    return generator(rng).permutation(count) if shuffle else np.arange(count)


def batches(order, batch_size, drop_last=False):
    """Cut the indices of an epoch into batches.

    order       array of shape (n,): indices
    returns     list of arrays

    >>> batches(np.array([4, 2, 0, 3, 1]), 2)
    [array([4, 2]), array([0, 3]), array([1])]
    """
    pieces = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    return [piece for piece in pieces if len(piece) == batch_size or not drop_last]


def collate(samples):
    """Combine several examples into one batch.

    Raises ValueError, with the shapes in its message, when the shapes differ.
    """
    if isinstance(samples[0], (tuple, list)):
        return tuple(collate(member) for member in zip(*samples, strict=True))
    return Tensor(stack_rows(samples))


class DataLoader:
    """Iterates over a dataset in batches. `for x, y in loader` is one epoch."""

    def __init__(self, dataset, batch_size=1, shuffle=False, sampler=None, *, drop_last=False,
                 collate_fn=collate, rng=None, prefetch=0):
        check_loader(dataset, batch_size, shuffle, sampler, prefetch)
        self.dataset, self.batch_size, self.shuffle, self.sampler = (
            dataset, batch_size, shuffle, sampler)
        self.drop_last, self.collate_fn, self.prefetch = drop_last, collate_fn, prefetch
        self.rng = generator().spawn(1)[0] if rng is None else generator(rng)

    def __repr__(self):
        return (f"DataLoader({len(self.dataset):,} examples, {len(self):,} batches of up to "
                f"{self.batch_size}, shuffle={self.shuffle})")

    def __len__(self):
        count = len(self.dataset if self.sampler is None else self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def fetch(self, indices):
        """One batch: the examples with these indices, collated."""
        if self.collate_fn is collate and isinstance(self.dataset, Dataset):
            return self.dataset.batch(indices)
        return self.collate_fn([self.dataset[i] for i in indices.tolist()])

    def epoch(self):
        """Yield the batches of one epoch, each fetched only when the loop asks for it."""
        if self.sampler is None:
            order = epoch_indices(len(self.dataset), self.shuffle, self.rng)
        else:
            order = np.array(list(self.sampler))
        for indices in batches(order, self.batch_size, self.drop_last):
            yield self.fetch(indices)

    def __iter__(self):
        return prefetch(self.epoch(), self.prefetch) if self.prefetch else self.epoch()


def channel_statistics(images):
    """The mean and the standard deviation of each channel, over all examples and pixels.

    images   array of shape (n, channels, ...): images (n, channels, height, width), or rows
             (n, features)
    returns  (mean, std): two float32 arrays of shape (channels, 1, 1) for images, (features,)
             for rows
    """
    images = np.asarray(images)
    axes = tuple(axis for axis in range(images.ndim) if axis != 1)
    mean = images.mean(axes, keepdims=True, dtype=np.float64)[0]
    std = images.std(axes, keepdims=True, dtype=np.float64)[0]
    constant = np.ptp(images, axes, keepdims=True)[0] == 0  # its std may be 1e-16 by rounding
    return mean.astype(np.float32), np.where(constant, 1, std).astype(np.float32)


class Normalize(Described):
    """Standardizes with the mean and standard deviation of the training set."""

    def __init__(self, mean, std):
        self.mean, self.std = np.asarray(mean), np.asarray(std)

    def __call__(self, x):
        return (x - self.mean) / self.std


class Compose(Described):
    """Several functions in sequence: Compose([f, g])(x) is g(f(x))."""

    def __init__(self, transforms):
        self.transforms = list(transforms)

    def __call__(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x


class TransformedDataset(Dataset):
    """Another dataset, with a function applied to the first member of each example. The
    function is called each time the example is read.

    >>> TransformedDataset([(1, "one"), (2, "two")], lambda x: x * 10)[1]
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
    """Shift an image by whole pixels; the free pixels become zero.

    image    array of shape (..., height, width)
    returns  a new array of the same shape and dtype
    """
    height, width = image.shape[-2:]
    room = max(abs(down), abs(right))
    padded = np.zeros((*image.shape[:-2], height + 2 * room, width + 2 * room), image.dtype)
    padded[..., room : room + height, room : room + width] = image
    return padded[..., room - down : room - down + height, room - right : room - right + width]


class RandomHorizontalFlip(Described):
    """Swaps left and right of an image (..., height, width) with probability p, and otherwise
    returns it unchanged.
    """

    def __init__(self, p=0.5, rng=None):
        self.p, self.rng = p, generator().spawn(1)[0] if rng is None else generator(rng)

    def __call__(self, image):
        return image[..., ::-1].copy() if self.rng.random() < self.p else image


class RandomShift(Described):
    """Shifts an image by up to `max_shift` pixels along each axis, uniformly drawn. `rng` is as
    in RandomHorizontalFlip."""

    def __init__(self, max_shift=1, rng=None):
        self.max_shift = max_shift
        self.rng = generator().spawn(1)[0] if rng is None else generator(rng)

    def __call__(self, image):
        down, right = self.rng.integers(-self.max_shift, self.max_shift + 1, 2).tolist()
        return shift(image, down, right)


class GaussianNoise(Described):
    """Adds normal noise of standard deviation `std` to every pixel, in the image's dtype. `rng`
    is as in RandomHorizontalFlip."""

    def __init__(self, std=0.1, rng=None):
        self.std, self.rng = std, generator().spawn(1)[0] if rng is None else generator(rng)

    def __call__(self, image):
        return image + (self.std * self.rng.standard_normal(image.shape)).astype(image.dtype)


def one_hot(labels, num_classes):
    """One column per class: 1 if the example is of this class, and 0 otherwise.

    labels       Tensor, array or list of integers from 0 to num_classes - 1, of any shape and
                 any integer dtype
    returns      float32 Tensor of shape (*labels.shape, num_classes)

    Raises ValueError, with the wrong label in its message, when a label is below 0 or not below
    num_classes.
    """
    labels = np.asarray(labels)
    wrong = labels[(labels < 0) | (labels >= num_classes)]
    if wrong.size:
        raise ValueError(f"label {wrong[0]} is none of the {num_classes} classes from 0")
    return Tensor((labels[..., None] == np.arange(num_classes)).astype(np.float32))


def moons(count=200, noise=0.1, rng=None):
    """Two interlocking half circles, classes 0 and 1. `rng` is as in random_split."""
    return TensorDataset(*point_sets.moons(count, noise, generator(rng)))


def circles(count=200, noise=0.05, inner=0.5, rng=None):
    """A circle of radius 1, class 0, around one of radius `inner`, class 1."""
    return TensorDataset(*point_sets.circles(count, noise, inner, generator(rng)))


def spirals(count=300, classes=3, turns=0.75, noise=0.03, rng=None):
    """Spiral arms with `turns` turns around the origin, one arm per class."""
    return TensorDataset(*point_sets.spirals(count, classes, turns, noise, generator(rng)))


def xor(count=200, noise=0.1, rng=None):
    """Points around (0, 0) and (1, 1), class 0, and around (0, 1) and (1, 0), class 1."""
    return TensorDataset(*point_sets.xor(count, noise, generator(rng)))


# byte 2 of the file -> the dtype of its numbers
IDX_DTYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def parse_idx(data):
    """The array in the bytes of an IDX file.

    returns  a new ndarray in the machine's own byte order

    Raises ValueError when `data` is not an IDX file.

    >>> parse_idx(bytes([0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 3, 5, 6, 255]))
    array([[  5,   6, 255]], dtype=uint8)
    """
    if (data[:2] != b"\0\0" or len(data) < 4 or data[2] not in IDX_DTYPES
        or len(data) < 4 + 4 * data[3]):
        raise ValueError("these bytes are not an IDX file, they begin with: "
                         f"{bytes(data[:8]).hex(' ') or 'nothing'}")
    dtype = np.dtype(IDX_DTYPES[data[2]])
    shape = np.frombuffer(data, ">u4", data[3], 4).tolist()
    present, required = len(data) - 4 - 4 * len(shape), math.prod(shape) * dtype.itemsize
    if present != required:
        raise ValueError(f"the shape {shape} requires {required} bytes after the header, "
                         f"there are {present}: was the file cut off?")
    numbers = np.frombuffer(data, dtype, offset=4 + 4 * len(shape)).reshape(shape)
    return numbers.astype(dtype.newbyteorder("="))


def mnist(split="train"):
    """Handwritten digits, 28 x 28 pixels: 60,000 for training, 10,000 for testing. Downloads
    12 MB once; see `fetch`.
    """
    return image_dataset(*map(parse_idx, image_sets.idx_files("mnist", split)), 255)


def fashion_mnist(split="train"):
    """Clothes of ten classes, 28 x 28 pixels: 60,000 for training, 10,000 for testing.
    Downloads 31 MB once; see `fetch`.
    """
    return image_dataset(*map(parse_idx, image_sets.idx_files("fashion-mnist", split)), 255)


def cifar10(split="train"):
    """Photographs of ten classes, 32 x 32 pixels, 3 channels: 50,000 for training, 10,000 for
    testing. Downloads 170 MB once; see `fetch`. As float32, the 50,000 take 614 MB of memory.
    """
    return image_dataset(*image_sets.cifar10_arrays(split), 255)


def enqueue(items, put):
    """Put all items into a queue, then the end or the error; stop when the queue is closed."""
    try:
        for item in items:
            if not put("item", item):
                return
        put("end")
    except BaseException as error:
        put("error", error)


def prefetch(items, ahead=2):
    """The same items in the same order, prepared by a thread in advance.

    >>> list(prefetch("abc"))
    ['a', 'b', 'c']
    """
    queue = BoundedQueue(ahead)
    queue.start(enqueue, items, queue.put)
    try:
        kind, value = queue.get()
        while kind == "item":
            yield value
            kind, value = queue.get()
        if kind == "error":
            raise value
    finally:
        queue.close()
