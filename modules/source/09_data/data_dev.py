# %% [markdown]
# # 09. Data
#
# How should data be prepared for a model? The picture shows the accuracy of one classifier on
# 1,797 handwritten digits, in four experiments. The classifier is always the same. What changes
# is which fifth of the digits is the test set, and whether images are shifted.

# %% tags=["payoff"]
#| default_exp core.data
#| export
import math

import numpy as np

from tinytorch.core.layers import generator
from tinytorch.core.tensor import Tensor
from tinytorch.data import image_sets, point_sets
from tinytorch.data.download import data_folder, fetch, checksum  # noqa: F401
from tinytorch.data.loading import BoundedQueue, split_lengths, stack_rows
from tinytorch.support.arguments import Described, check_dataset_arrays, check_loader

# %% tags=["payoff"]
from tinytorch.pictures.data import compare_data_handling, draw_accuracies

two_parts = zip(image_sets.digits_arrays("train"), image_sets.digits_arrays("test"))
all_images, all_labels = (np.concatenate(part) for part in two_parts)
comparison = compare_data_handling(all_images / 16, all_labels)
draw_accuracies(comparison)
# caption: The classifier is always the same: only its data changes.
# alt: Four bars of test accuracy: almost 0 % when the test set is the end of a sorted file,
# almost 100 % for a random test set, about 60 % when its images are shifted by a pixel, and
# more than 97 % when the training images are also shifted.

# %% [markdown]
# From the first bar to the second, the accuracy rises from almost 0 % to almost 100 %, although
# only the data changed. Mistakes with data raise no exception: for example, the last batch is
# never used, the test set has only one class, or an image is upside down. In this chapter you
# write the functions that prepare data, and at each step you check that no example was lost,
# duplicated or damaged.
#
# **You need** 02 (Tensor), and from 04 (Layers) the random-number generator. **You build**
# datasets, splits, batches, a data loader, standardization, augmentation, a parser for a binary
# file format, and prefetching in a thread.

# %% [markdown] page="Examples and splits"
# ## Datasets
#
# A model gets its examples from a dataset, so we begin there. A **dataset** is a collection of
# examples with a length, in which example number `i` is `dataset[i]`. A list is a dataset.
# Another dataset could be a folder of photographs, each of which is opened only when it is
# needed. An example is usually a pair: the input of the model and its target.

# %%
#| export
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

# %% [markdown]
# Usually the examples are the rows of arrays: inputs in one array, targets in another. A
# dataset needs no gradients, so the data stay NumPy arrays until they become a batch.
#
# **Task.** Write `__getitem__` of `TensorDataset`.

# %% A dataset of tensors exercise="tensor-dataset"
#| export
class TensorDataset(Dataset):
    """A dataset whose examples are the rows of arrays: example i is row i of each array.

    arrays   Tensors, arrays or nested lists with equally many rows (the same length on axis 0);
             arrays are not copied

    .arrays  the same data as a tuple of ndarrays

    dataset[i] is a tuple with row i of each array. Raises IndexError when there is no such row.
    An array of integers as `i` gives those rows of each array.

    >>> pairs = TensorDataset([[0.5, 1.0], [2.0, 3.0]], np.array([7, 9], "uint8"))
    >>> pairs[1]
    (array([2., 3.], dtype=float32), np.uint8(9))

    Source: torch.utils.data.TensorDataset.
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
        ### BEGIN SOLUTION
        return tuple(array[i] for array in self.arrays)
        ### END SOLUTION

    def batch(self, indices):
        return tuple(Tensor(rows) for rows in self[np.asarray(indices)])  # all rows at once

# %% checks="tensor-dataset"
check("tensor-dataset")

# %% [markdown]
# The package contains one real data set: 1,797 digits that people wrote on forms, 8 by 8 pixels
# each, with values from 0 to 16. A fifth of each class is marked as the test set. Everybody
# uses the same test set, because results can be compared only if they come from the same
# images.

# %%
#| exporti
def image_dataset(images, labels, largest):
    """A TensorDataset of float32 images (n, channels, height, width) with values between 0 and
    1, and int64 labels."""
    images = images.reshape(len(images), -1, *images.shape[-2:]).astype(np.float32)
    images /= largest
    return TensorDataset(images, labels.astype(np.int64))

# %%
#| export
def digits(split="train"):
    """Handwritten digits, 8 x 8 pixels, values from 0 to 1: 1,438 for training, 359 for
    testing. Needs no network.

    split    "train" or "test": always the same images
    returns  TensorDataset of float32 images (n, 1, 8, 8) and int64 labels (n,)

    >>> len(digits("train")), len(digits("test"))
    (1438, 359)

    Source: E. Alpaydin, C. Kaynak, Optical Recognition of Handwritten Digits (1998), UCI
    Machine Learning Repository, https://doi.org/10.24432/C50P49, licence CC BY 4.0. These
    1,797 digits are the test part of that set; scikit-learn distributes the same ones.
    """
    return image_dataset(*image_sets.digits_arrays(split), 16)

# %% tags=["demonstration"]
from tinytorch.pictures.data import show_images

train, test = digits("train"), digits("test")
figure = show_images([train[i][0] for i in range(20)], [train[i][1] for i in range(20)])
# alt: Twenty handwritten digits of 8 by 8 grey pixels in two rows, each with its label above.

# %% [markdown]
# ## Training, validation and test sets
#
# A model can memorize its training examples, so we evaluate it on examples that it was not
# trained on. For this we divide the data into three parts, not two. The *training set* is used
# to fit the weights. The *validation set* is used to choose everything else: the learning rate,
# the size of the network, when to stop. The *test set* is used once, at the end.

# %% tags=["demonstration"]
from tinytorch.pictures.data import draw_batches, draw_class_counts, draw_split

fifth = len(train) // 5
draw_split([("training", len(train) - fifth, "fit the weights"),
            ("validation", fifth, "choose the settings"),
            ("test", len(test), "measure once, at the end")])
# alt: A bar for all 1,797 digits in three parts: 1,151 for training, to fit the weights; 287
# for validation, to choose the settings; 359 for the test, to measure once, at the end.

# %% [markdown]
# Why not use the test set to choose? **Data leakage** means that information about the test set
# reaches the model, or the person who builds it, before the test. If you choose a model by its
# test accuracy, you have used such information. Suppose 100 models all guess at random among 10
# classes, and you choose the model that is best on 50 examples. Predict the accuracy of this
# model on these 50 examples, and on new ones:

# %% tags=["answer"]
rng = np.random.default_rng(0)
truth, guesses = rng.integers(0, 10, 1050), rng.integers(0, 10, (100, 1050))  # 100 models
correct = guesses == truth
best = correct[:, :50].mean(axis=1).argmax()
print(f"chosen on 50 examples: {correct[best, :50].mean():.0%} there, "
      f"{correct[best, 50:].mean():.0%} on 1,000 new ones")

# %% [markdown]
# A `Subset` is a dataset that consists of some examples of another dataset. It stores their
# indices and copies no example.

# %%
#| export
class Subset(Dataset):
    """Some examples of another dataset: example i is `dataset[indices[i]]`.

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
        chosen = self.indices[np.asarray(indices)]
        if isinstance(self.dataset, Dataset):
            return self.dataset.batch(chosen)
        return collate([self.dataset[i] for i in chosen.tolist()])

# %% [markdown]
# The sizes of the parts can be numbers of examples, or proportions such as 0.8 and 0.2. The
# function `split_lengths` is given. It rounds proportions down, and adds the remaining examples
# to the first parts, one to each. Rounding to the nearest integer would be wrong: a quarter of
# 10 examples is 2.5, for example, and because `round(2.5)` is 2, four such parts hold 8
# examples, and two would be in no part.
#
# Many files are sorted by class. If you cut such a file without shuffling, the test set holds
# classes that the model has never seen, as in the first bar at the top of this chapter. The
# examples are therefore put into random order before they are divided.
#
# **Task.** Write `random_split`. No example may be in two parts, and none may be missing.

# %% A random split exercise="random-split"
#| export
def random_split(dataset, lengths, rng=None):
    """Divide a dataset at random; each example goes to exactly one part.

    dataset  anything with a length and examples
    lengths  the number of examples in each part: integers that add up to len(dataset), or
             proportions that add up to 1
    rng      a NumPy Generator, a seed, or None for the generator that `manual_seed` sets;
             `generator(rng)` returns the one to draw from
    returns  list of Subsets, in the order of `lengths`

    >>> [len(part) for part in random_split(range(10), [0.75, 0.25])]
    [8, 2]

    Source: torch.utils.data.random_split.
    """
    lengths = split_lengths(lengths, len(dataset))
    ### BEGIN SOLUTION
    order = generator(rng).permutation(len(dataset))
    return [Subset(dataset, part) for part in np.split(order, np.cumsum(lengths)[:-1])]
    ### END SOLUTION

# %% checks="random-split"
check("random-split")

# %% [markdown]
# ## Stratified splits
#
# A random split can go wrong when a part is small. **Class imbalance** means that some classes
# have many more examples than others. Even if the classes of a data set are balanced, a small
# random part of it can be imbalanced. Suppose a data set has 1,000 digits, 100 of each class.
# We draw 100 of the 1,000 at random, and repeat this a thousand times. Predict the smallest and
# the largest number of sevens among the 100.

# %% tags=["answer"]
labels, rng = np.repeat(np.arange(10), 100), np.random.default_rng(0)
sevens = [(rng.permutation(labels)[:100] == 7).sum() for _ in range(1000)]
print(f"10 would be exact; in a thousand tries there were {min(sevens)} to {max(sevens)}")

# %% [markdown]
# A **stratified split** divides each class separately, so that every class has the same
# proportion in every part. The picture compares it with one random draw.

# %% tags=["demonstration"]
drawn = np.random.default_rng(0).permutation(labels)[:100]
draw_class_counts([("random", np.bincount(drawn, minlength=10)),
                   ("stratified", np.bincount(labels) // 10)], expected=10)
# caption: A stratified split keeps the share of every class.
# alt: Examples per class, 0 to 9, in a held-out part of 100. Drawn at random: from 5 to 16,
# five of the ten marked as off by two or more. Stratified: 10 of each class.

# %% [markdown]
# **Task.** Write `stratified_split`.

# %% A stratified split exercise="stratified-split"
#| export
def stratified_split(labels, fraction, rng=None):
    """Hold out the same fraction of each class, drawn at random.

    labels    array of shape (n,): the class of each example
    fraction  from 0 to 1: how much of each class is held out, rounded to the nearest integer
    rng       a NumPy Generator, a seed, or None for the generator that `manual_seed` sets
    returns   (kept, held_out): two arrays of indices, each in increasing order; together they
              are 0 ... n - 1

    >>> kept, held_out = stratified_split(np.array([5, 5, 5, 8, 8, 8]), 1 / 3)
    >>> len(kept), len(held_out)
    (4, 2)

    Source: sklearn.model_selection.train_test_split with `stratify`; Neyman (1934) on
    stratified sampling.
    """
    labels = np.asarray(labels)
    ### BEGIN SOLUTION
    rng, held_out = generator(rng), []
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        held_out.append(members[: round(fraction * len(members))])
    held_out = np.sort(np.concatenate(held_out))
    return np.setdiff1d(np.arange(len(labels)), held_out), held_out
    ### END SOLUTION

# %% checks="stratified-split"
check("stratified-split")

# %% tags=["demonstration"]
kept, held_out = stratified_split(train.arrays[1], 0.2, rng=0)
fitting, validation = Subset(train, kept), Subset(train, held_out)
print("validation examples per class:", np.bincount(train.arrays[1][held_out]))

# %% [markdown]
# A stratified split does not change an imbalance of the whole data set. To reduce it during
# training, rare classes can be *oversampled*: their examples are used more than once per epoch.
# The data loader below supports this.

# %% [markdown] page="From examples to batches"
# ## Shuffling
#
# The order in which training visits the examples matters. One optimizer step uses a few
# examples, a *mini-batch*. One pass over all examples is an *epoch*. If the examples are sorted
# by class, most mini-batches hold a single class, and each step teaches the model to predict
# this class for every input. **Shuffling** means visiting the examples in a new random order in
# each epoch.

# %% tags=["demonstration"]
file_order = np.sort(train.arrays[1])
draw_batches([("in the order of a sorted file", file_order),
              ("shuffled", np.random.default_rng(0).permutation(file_order))], batch_size=7)
# alt: The labels in the first three batches of seven examples. In the order of a sorted file:
# zeros only, marked as wrong. Shuffled: each batch holds several classes.

# %% [markdown]
# Because inputs and targets must be shuffled *together*, or each image gets another image's
# label, we do not shuffle the arrays themselves: we shuffle the indices, and use them for both
# arrays.
#
# Predict what the two print statements show. The second contains the most common mistake of
# this chapter.

# %% tags=["answer", "explained"]
letters = np.array(["a", "b", "c", "d", "e"])
print(letters[np.random.default_rng(0).permutation(5)])
print(letters[np.random.default_rng(0).shuffle(np.arange(5))].shape)

# %% [markdown]
# `shuffle` changes its argument and returns `None`, while indexing an array with `[None]` adds
# an axis and does not change the order.
#
# **Task.** Write `epoch_indices`.

# %% The order of an epoch exercise="epoch-indices"
#| export
def epoch_indices(count, shuffle=False, rng=None):
    """The indices 0 to count - 1, in the order in which one epoch visits the examples.

    count    the number of examples
    shuffle  whether the order is random
    rng      a NumPy Generator, a seed, or None for the generator that `manual_seed` sets; if
             `shuffle` is False, nothing is drawn from it
    returns  array of shape (count,), integers

    >>> epoch_indices(3)
    array([0, 1, 2])

    Source: Durstenfeld's algorithm (1964), which numpy.random.Generator.permutation uses.
    """
    ### BEGIN SOLUTION
    return generator(rng).permutation(count) if shuffle else np.arange(count)
    ### END SOLUTION

# %% checks="epoch-indices"
check("epoch-indices")

# %% [markdown]
# ## Mini-batches
#
# The indices of an epoch are cut into batches of equal length. But 1,438 examples cannot be
# divided into batches of exactly 64. Predict how many batches there are if the last one may be
# shorter. And how many examples are never used if there are only `1438 // 64` batches?

# %% tags=["answer"]
print(math.ceil(1438 / 64), "batches;", 1438 - 1438 // 64 * 64, "examples are left over")

# %% [markdown]
# A short last batch can be a problem: its gradient is noisy, and a layer that computes
# statistics over the batch cannot use a single example. The option `drop_last` omits a short
# last batch. With shuffling, each epoch omits different examples.
#
# **Task.** Write `batches`.

# %% Mini-batches exercise="batches"
#| export
def batches(order, batch_size, drop_last=False):
    """Cut the indices of an epoch into batches.

    order       array of shape (n,): indices
    batch_size  examples per batch, 1 or more
    drop_last   whether a last batch with fewer examples is omitted
    returns     list of arrays: consecutive pieces of `order`, each of length batch_size.
                Without `drop_last` the last may be shorter

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
# ## Collating examples
#
# The indices of a batch are known. Now its examples become tensors. To **collate** examples
# means to combine a list of them into one batch: a tensor of all inputs and a tensor of all
# targets. Predict what `zip(*pairs)` yields for a list of pairs.

# %% tags=["answer"]
print(list(zip(*[("x0", "y0"), ("x1", "y1"), ("x2", "y2")])))

# %% [markdown]
# The function `stack_rows` is given: it checks that all samples have one shape and makes them
# the rows of one array.
#
# **Task.** Write `collate`. A member of an example can itself be a tuple. Then collate it in
# the same way.

# %% Collating examples exercise="collate"
#| export
def collate(samples):
    """Combine several examples into one batch.

    samples  list of examples, 1 or more, all of the same structure: arrays, Tensors or numbers,
             or tuples (or lists) of these
    returns  for tuples, a tuple with the collated batch of each member; else a new Tensor with
             one row per example

    dtypes are kept: float32 images give a float32 Tensor, integers an integer Tensor.
    Raises ValueError, with the shapes in its message, when the shapes differ; also when tuples
    differ in length.

    >>> collate([(np.float32([1, 2]), 7), (np.float32([3, 4]), 9)])
    (Tensor([[1., 2.],
            [3., 4.]]), Tensor([7, 9]))

    Source: torch.utils.data.default_collate.
    """
    ### BEGIN SOLUTION
    if isinstance(samples[0], (tuple, list)):
        return tuple(collate(member) for member in zip(*samples, strict=True))
    return Tensor(stack_rows(samples))
    ### END SOLUTION

# %% checks="collate"
check("collate")

# %% [markdown]
# ## The data loader
#
# Shuffling, batches and collating now become one object. A **data loader** iterates over a
# dataset in batches: it puts the indices in order, cuts them into batches, and fetches and
# collates the examples of one batch at a time. We write it as a *generator function*, a
# function with `yield`. It returns one batch and pauses until the loop asks for the next.
#
# The loader has its own random-number generator for the order of the examples, because
# otherwise the order would change when you add a layer to the model, which draws more initial
# weights. A `sampler` replaces this order: it can be any sequence of indices, for example with
# the indices of rare classes repeated.
#
# **Task.** Write `epoch`, which `__iter__` calls. Use the options that `__init__` has stored.

# %% The data loader exercise="loader"
#| export
class DataLoader:
    """Iterates over a dataset in batches. `for x, y in loader` is one epoch.

    dataset     anything with a length and examples
    batch_size  examples per batch
    shuffle     whether every epoch has a new random order
    sampler     an iterable of indices, iterated once per epoch, which gives the order instead
                of `shuffle`
    drop_last   whether a last batch with fewer examples is omitted
    collate_fn  combines a list of examples into a batch
    rng         a NumPy Generator or a seed; None: the loader gets its own generator,
                spawned from the one that `manual_seed` sets
    prefetch    how many batches a thread prepares in advance; 0 for no thread

    len(loader) is the number of batches in an epoch.

    >>> loader = DataLoader(TensorDataset([10, 20, 30]), batch_size=2)
    >>> len(loader), [x.shape for x, in loader]
    (2, [(2,), (1,)])

    Source: torch.utils.data.DataLoader, with rng for `generator` and prefetch for
    `num_workers`.
    """

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
        """Yield the batches of one epoch, each fetched only when the loop asks for it.

        The order is `self.sampler`, as an array of indices, if there is one. Otherwise
        `epoch_indices` draws the order from self.rng. `self.fetch(indices)` returns the batch
        for an array of indices.
        """
        ### BEGIN SOLUTION
        if self.sampler is None:
            order = epoch_indices(len(self.dataset), self.shuffle, self.rng)
        else:
            order = np.array(list(self.sampler))
        for indices in batches(order, self.batch_size, self.drop_last):
            yield self.fetch(indices)
        ### END SOLUTION

    def __iter__(self):
        return prefetch(self.epoch(), self.prefetch) if self.prefetch else self.epoch()

# %% checks="loader"
check("loader")

# %% tags=["demonstration"]
loader = DataLoader(train, batch_size=64, shuffle=True, rng=0)
shapes = [(x.shape, y.shape) for x, y in loader]
print(loader, "first", shapes[0], "last", shapes[-1])

# %% [markdown] page="Preparing the values"
# ## Standardization
#
# While the loader delivers examples as they are, the next sections change them. Initial weights
# are chosen for inputs with mean 0 and standard deviation 1 (lesson 04). Raw images have other
# means and standard deviations, and these differ between channels, such as red, green and blue.
# **Standardization** subtracts the mean of each channel and divides by its standard deviation,
# so that the result has mean 0 and standard deviation 1. (`Normalize` is its usual name in
# image libraries.)
#
# Which mean do we use for the test set? Suppose the training images were taken by day and the
# test images by night. Predict what happens to the difference in brightness when each set is
# standardized by its own mean and standard deviation.

# %% tags=["answer", "explained"]
from tinytorch.pictures.data import draw_number_lines

day, night = np.array([0.5, 0.7, 0.9]), np.array([0.1, 0.3, 0.5])  # brightness of 3 images
own_day, own_night = (day - day.mean()) / day.std(), (night - night.mean()) / night.std()
draw_number_lines([("raw", {"day": day, "night": night}),
                   ("each by its own statistics", {"day": own_day, "night": own_night}),
                   ("both by the statistics of the day",
                    {"day": own_day, "night": (night - day.mean()) / day.std()})], -4, 2)
# caption: Only with one set of statistics for both does night stay darker than day.
# alt: Three number lines, each with three values of day and three of night. Raw: day from 0.5
# to 0.9, night from 0.1 to 0.5. Each by its own statistics: the same three values. Both by the
# statistics of the day: night lies lower, from -3.7 to -1.2.

# %% [markdown]
# The difference disappears: the model could not tell night from day.
#
# So the mean and the standard deviation are measured once, on the training set, and used for
# every other set. Like the weights, they are a part of the model. Measuring them on the test
# set would be data leakage.
#
# **Task.** Write `channel_statistics`. Because a constant channel has standard deviation 0, or
# about 1e-16 after rounding, it is divided by 1 instead.

# %% Mean and deviation of each channel exercise="channel-statistics"
#| export
def channel_statistics(images):
    """The mean and the standard deviation of each channel, over all examples and pixels.

    images   array of shape (n, channels, ...): images (n, channels, height, width), or rows
             (n, features)
    returns  (mean, std): two float32 arrays of shape (channels, 1, 1) for images, (features,)
             for rows. std is the population standard deviation (divided by the count, not by
             count - 1); for a constant channel it is 1. Both are accumulated in float64.

    >>> mean, std = channel_statistics(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> print(mean, std)
    [2. 5.] [1. 1.]

    Source: LeCun, Bottou, Orr, Müller, Efficient BackProp (1998), section 4.3.
    """
    images = np.asarray(images)
    ### BEGIN SOLUTION
    axes = tuple(axis for axis in range(images.ndim) if axis != 1)
    mean = images.mean(axes, keepdims=True, dtype=np.float64)[0]
    std = images.std(axes, keepdims=True, dtype=np.float64)[0]
    constant = np.ptp(images, axes, keepdims=True)[0] == 0  # its std may be 1e-16 by rounding
    return mean.astype(np.float32), np.where(constant, 1, std).astype(np.float32)
    ### END SOLUTION

# %% checks="channel-statistics"
check("channel-statistics")

# %% [markdown]
# A *transform* is a function from an image to an image. `Compose` chains several, and a
# `TransformedDataset` applies one whenever an example is read.

# %%
#| export
class Normalize(Described):
    """Standardizes with the mean and standard deviation of the training set.

    >>> mean, std = channel_statistics(np.array([[1.0, 5.0], [3.0, 9.0]]))
    >>> Normalize(mean, std)(np.array([1.0, 9.0], "float32"))
    array([-1.,  1.], dtype=float32)

    Source: torchvision.transforms.Normalize.
    """

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

# %% tags=["demonstration"]
normalize = Normalize(*channel_statistics(train.arrays[0]))
for name, dataset in [("training", train), ("test", test)]:
    x = normalize(dataset.arrays[0])
    print(f"{name:8} mean {x.mean():+.3f}, standard deviation {x.std():.3f}, {x.dtype}")

# %% [markdown]
# ## Data augmentation
#
# A 3 that is shifted by one pixel is still a 3, but the model may never have seen a 3 at this
# place. Data **augmentation** changes the training images at random, differently in each epoch,
# in ways that do not change their labels. It is used in training only.
#
# The rows of the next picture show ten digits and three transforms of them: shifted, with
# noise, and mirrored. Predict which transform changes labels.

# %% tags=["demonstration", "answer"]
some = train.arrays[0][:10]
noise = 0.08 * np.random.default_rng(0).normal(size=some.shape)
moved = np.pad(some, ((0, 0), (0, 0), (1, 0), (1, 0)))[..., :8, :8]
figure = show_images([*some, *moved, *np.clip(some + noise, 0, 1), *np.flip(some, axis=-1)])
# alt: Ten digits in four rows: the originals; shifted down and to the right by one pixel; with
# noise; mirrored, so that 2, 3, 4, 6 and 7 are no longer those digits.

# %% [markdown]
# We start with shifts. Pixels that leave the image are lost, and zeros enter on the other side.
# (`np.roll` would make the lost pixels enter on the other side.)
#
# **Task.** Write `shift`.

# %% Shifted images exercise="shift"
#| export
def shift(image, down, right):
    """Shift an image by whole pixels; the free pixels become zero.

    image    array of shape (..., height, width)
    down     number of rows to shift down; up if negative
    right    number of columns to shift to the right; to the left if negative
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
# The second transform is the horizontal flip. A mirrored photograph of a cat still shows a cat,
# while a mirrored 3 is not a digit, so it depends on the data whether a transform changes the
# labels.
#
# **Task.** Write `__call__` of `RandomHorizontalFlip`. The transform has its own generator,
# `self.rng`, so that its result does not depend on other random draws of the program.

# %% Flipped images exercise="flip"
#| export
class RandomHorizontalFlip(Described):
    """Swaps left and right of an image (..., height, width) with probability p, and otherwise
    returns it unchanged.

    p        from 0 to 1
    rng      a NumPy Generator or a seed; None: the transform gets its own generator,
             spawned from the one that `manual_seed` sets

    The input image is not changed; a flipped image is a new array.

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
# Two more are given. `TransformedDataset(train, Compose([RandomShift(1), GaussianNoise(0.1)]))`
# is the training set with shifts and noise that are drawn again in each epoch.

# %%
#| export
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

# %% [markdown]
# ## One-hot encoding
#
# After the images, we prepare the labels. The number of a class is only a name: class 8 is not
# twice class 4. **One-hot encoding** represents a class by a vector with a 1 at its own
# position and 0 elsewhere.
#
# A class that does not occur in a batch also needs its column. If the columns came from
# `np.unique(labels)`, class 2 would get the second column in a batch with the classes 0 and 2.
#
# **Task.** Write `one_hot`. The given lines check the labels.

# %% One-hot vectors exercise="one-hot"
#| export
def one_hot(labels, num_classes):
    """One column per class: 1 if the example is of this class, and 0 otherwise.

    labels       Tensor, array or list of integers from 0 to num_classes - 1, of any shape and
                 any integer dtype
    num_classes  the number of classes, including those that do not occur in `labels`
    returns      float32 Tensor of shape (*labels.shape, num_classes)

    Raises ValueError, with the wrong label in its message, when a label is below 0 or not below
    num_classes.

    >>> one_hot([2, 0], 3)
    Tensor([[0., 0., 1.],
            [1., 0., 0.]])

    Source: torch.nn.functional.one_hot, which returns integers.
    """
    labels = np.asarray(labels)
    wrong = labels[(labels < 0) | (labels >= num_classes)]
    if wrong.size:
        raise ValueError(f"label {wrong[0]} is none of the {num_classes} classes from 0")
    ### BEGIN SOLUTION
    return Tensor((labels[..., None] == np.arange(num_classes)).astype(np.float32))
    ### END SOLUTION

# %% checks="one-hot"
check("one-hot")

# %% [markdown]
# With one-hot labels, a single matrix product adds up the images of each class: the transposed
# labels times the images, one image per row. Dividing the sums by the counts gives the mean
# image of each class.

# %% tags=["demonstration"]
x, y = Tensor(train.arrays[0]).flatten(1), train.arrays[1]
means = (one_hot(y, 10).T @ x).data / np.bincount(y)[:, None]
figure = show_images(means.reshape(10, 1, 8, 8), range(10))
# alt: The mean image of each digit from 0 to 9: each digit can be recognised, with blurred
# edges.

# %% [markdown]
# ## Baselines
#
# Before you train on a data set, find out which accuracy is easy to reach. A **baseline** is a
# simple method whose result a model must exceed to be worth its effort. We try three that need
# no training: the class whose mean image is nearest; the class of the nearest training image
# (the *nearest neighbour*); and the class of the nearest neighbour among shifted copies of the
# training images.
#
# We choose among them by their accuracy on the validation images, and on the same images
# shifted by up to one pixel. Predict which baseline is best.

# %% tags=["demonstration", "answer", "explained"]
from tinytorch.pictures.data import nearest_mean, nearest_neighbour


def accuracy(classify, dataset):
    """The proportion of the examples that classify(rows) labels correctly, batch by batch."""
    correct = 0
    for x, y in DataLoader(dataset, batch_size=64):
        correct += int((classify(x.flatten(1).data) == y.data).sum())
    return correct / len(dataset)


x, y = (part.data for part in fitting.batch(range(len(fitting))))
shifted = [TransformedDataset(fitting, RandomShift(1, rng=seed)) for seed in range(6)]
copies = np.concatenate([part.batch(range(len(part)))[0].data for part in shifted])
baselines = {"nearest mean": nearest_mean(x.reshape(len(x), -1), y),
             "nearest neighbour": nearest_neighbour(x.reshape(len(x), -1), y),
             "with shifted copies": nearest_neighbour(copies.reshape(len(copies), -1),
                                                      np.tile(y, 6))}
for name, classify in baselines.items():
    moved = TransformedDataset(validation, RandomShift(1, rng=0))
    print(f"{name:20} validation {accuracy(classify, validation):.1%}, "
          f"shifted {accuracy(classify, moved):.1%}")

# %% [markdown]
# The last baseline is best overall.
#
# We evaluate only the best one on the test set, once:

# %% tags=["demonstration"]
print(f"test {accuracy(baselines['with shifted copies'], test):.1%}")

# %% [markdown] page="Where data comes from"
# ## Synthetic data sets
#
# Points in the plane are often enough to try an idea, and the result can be drawn. Each of
# these four functions returns a `TensorDataset` of float32 points (n, 2) and class labels.

# %%
#| export
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

# %% tags=["demonstration"]
import matplotlib.pyplot as plt

figure, axes = plt.subplots(2, 2, figsize=(5, 5), layout="constrained")
for axis, make in zip(axes.flat, (moons, circles, spirals, xor)):
    points, classes = make(rng=0).arrays
    axis.scatter(*points.T, c=classes, cmap="viridis", s=6)
    axis.set_title(make.__name__, fontsize=13)
    axis.set_aspect("equal")
    axis.axis("off")
# alt: Four sets of points coloured by class: two half-moons, a circle in a circle, three spiral
# arms, and four clouds of which opposite ones have the same class.

# %% [markdown]
# ## Reading a binary file format
#
# MNIST, 70,000 handwritten digits, comes in the IDX format. A file begins with a *header*: two
# zero bytes; one byte for the type of the numbers; one byte for the number of axes; and four
# bytes for the length of each axis, the most significant byte first (*big-endian*). The numbers
# follow row by row.
#
# Predict the shape and the first number in these 24 bytes, written in hexadecimal. Type 0b
# means integers of two bytes.
#
#     00 00 0b 02 00 00 00 03 00 00 00 02 01 00 00 07 00 08 00 09 ff ff 00 01

# %% tags=["answer", "explained"]
print("shape:", (0x03, 0x02), " first number:", 0x01 * 256 + 0x00)

# %% [markdown]
# The shape is (3, 2), and the first number is 01 00, which is 256. Most processors store the
# least significant byte first (*little-endian*) and would read 1.
#
# **Task.** Write the rest of `parse_idx`. A file that was cut off must raise an error instead
# of giving a smaller data set. This includes a file that was cut in the middle of a number.

# %%
#| exporti
# byte 2 of the file -> the dtype of its numbers
IDX_DTYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}

# %% Reading an IDX file exercise="parse-idx"
#| export
def parse_idx(data):
    """The array in the bytes of an IDX file.

    data     bytes: 0, 0, the type of the numbers (see IDX_DTYPES), the number of axes, each
             length as 4 bytes, the numbers
    returns  a new ndarray in the machine's own byte order

    Raises ValueError when `data` is not an IDX file. Also raises it when there are more or
    fewer bytes after the header than the lengths require; then the message contains both
    numbers of bytes, required and present.

    >>> parse_idx(bytes([0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 3, 5, 6, 255]))
    array([[  5,   6, 255]], dtype=uint8)

    Source: LeCun, Cortes, Burges, The MNIST database, "File formats".
    """
    if (data[:2] != b"\0\0" or len(data) < 4 or data[2] not in IDX_DTYPES
        or len(data) < 4 + 4 * data[3]):
        raise ValueError("these bytes are not an IDX file, they begin with: "
                         f"{bytes(data[:8]).hex(' ') or 'nothing'}")
    dtype = np.dtype(IDX_DTYPES[data[2]])
    ### BEGIN SOLUTION
    shape = np.frombuffer(data, ">u4", data[3], 4).tolist()
    present, required = len(data) - 4 - 4 * len(shape), math.prod(shape) * dtype.itemsize
    if present != required:
        raise ValueError(f"the shape {shape} requires {required} bytes after the header, "
                         f"there are {present}: was the file cut off?")
    numbers = np.frombuffer(data, dtype, offset=4 + 4 * len(shape)).reshape(shape)
    return numbers.astype(dtype.newbyteorder("="))
    ### END SOLUTION

# %% checks="parse-idx"
check("parse-idx")

# %% [markdown]
# ## Downloading data sets
#
# Large data sets are downloaded when they are first used, by the function `fetch` in
# `tinytorch/data/download.py`. It stores files in a cache folder, resumes an interrupted
# download, and verifies each file by its *checksum* (SHA-256), 256 bits that change when any
# byte of the file changes.
#
# CIFAR-10 is also offered as a *pickle*. Never load a pickle from the network: loading it runs
# any code that its author has put into it.

# %%
#| export
def mnist(split="train"):
    """Handwritten digits, 28 x 28 pixels: 60,000 for training, 10,000 for testing. Downloads
    12 MB once; see `fetch`.

    Source: LeCun, Cortes, Burges, The MNIST database of handwritten digits.
    """
    return image_dataset(*map(parse_idx, image_sets.idx_files("mnist", split)), 255)


def fashion_mnist(split="train"):
    """Clothes of ten classes, 28 x 28 pixels: 60,000 for training, 10,000 for testing.
    Downloads 31 MB once; see `fetch`.

    Source: Xiao, Rasul, Vollgraf, Fashion-MNIST (2017), arXiv:1708.07747; MIT licence.
    """
    return image_dataset(*map(parse_idx, image_sets.idx_files("fashion-mnist", split)), 255)


def cifar10(split="train"):
    """Photographs of ten classes, 32 x 32 pixels, 3 channels: 50,000 for training, 10,000 for
    testing. Downloads 170 MB once; see `fetch`. As float32, the 50,000 take 614 MB of memory.

    Source: Krizhevsky, Learning multiple layers of features from tiny images (2009).
    """
    return image_dataset(*image_sets.cifar10_arrays(split), 255)

# %% [markdown]
# ## Prefetching
#
# This section is optional: everything else works without it. So far, the loader waits while the
# model computes, and the model waits while the loader reads. **Prefetching** means preparing
# the next batches in a background *thread* while the model computes. It helps if the loader
# waits for a disk or a network, or if NumPy works on large arrays. It does not help if the
# loader runs Python code, because only one thread at a time can do so (except in free-threaded
# builds of Python).
#
# The thread and the program share a *bounded queue*. The thread, the *producer*, waits while
# the queue is full; the program, the *consumer*, waits while it is empty. `BoundedQueue` is
# given:
#
# - `queue.put(kind, value=None)`, for the thread: waits for a free slot, appends the pair, and
#   returns `False` when the queue was closed.
# - `queue.get()`, for the program: waits for an entry and returns the oldest, `(kind, value)`.
# - `queue.close()`, for the program: tells the thread to stop, and waits until it has.
#
# We start with the producer. It must put everything into the queue: the items, the end, and
# also an exception, because one that is not caught ends only the thread, and the program would
# wait forever.
#
# **Task.** Write `enqueue`.

# %% The thread that fills a queue exercise="enqueue"
#| export
def enqueue(items, put):
    """Put all items into a queue, then the end or the error; stop when the queue is closed.

    items    an iterable, which may be slow and may raise an exception
    put      a function put(kind, value=None): waits for a free slot; returns False when the
             queue was closed
    returns  None

    Calls put("item", item) for each item in order, then put("end"). If `items` raises an
    exception, calls put("error", error) instead of put("end"), and does not raise it. After put
    has returned False, reads nothing more from `items` and does not call put again.

    >>> def put(kind, value=None):
    ...     print(kind, value)
    ...     return True
    >>> enqueue("ab", put)
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

# %% checks="enqueue"
check("enqueue")

# %% [markdown]
# The consumer is a generator function, so that a `for` loop can use it. The loop may end early,
# by `break` or by an exception in the training step. Then Python closes the generator: the
# `yield` raises `GeneratorExit`, and only code in a `finally` is sure to run.
#
# **Task.** Write the rest of `prefetch`. This is the hardest exercise of the lesson, because
# its code must also run when something goes wrong. Write it for a loop without errors first.

# %% The loop that reads the queue exercise="prefetch"
#| export
def prefetch(items, ahead=2):
    """The same items in the same order, prepared by a thread in advance.

    items    an iterable
    ahead    how many items may wait in the queue, 1 or more; one more may be in preparation
    returns  a generator. The thread starts when the loop asks for the first item. When the
             iteration is over, the thread has ended, whether the items ran out, an error was
             raised or the loop was left early

    If `items` raises an exception, the generator raises the same object, after the items before
    it.

    >>> list(prefetch("abc"))
    ['a', 'b', 'c']

    Source: the consumer of Dijkstra, Cooperating sequential processes (1965); generator.close
    in PEP 342.
    """
    queue = BoundedQueue(ahead)
    queue.start(enqueue, items, queue.put)
    ### BEGIN SOLUTION
    try:
        kind, value = queue.get()
        while kind == "item":
            yield value
            kind, value = queue.get()
        if kind == "error":
            raise value
    finally:
        queue.close()
    ### END SOLUTION

# %% checks="prefetch"
check("prefetch")

# %% [markdown]
# Each of ten batches takes 5 milliseconds to read and 5 to use. Predict the total time without
# and with prefetching.

# %% tags=["answer"]
import time


def slow_batches(count, seconds):
    """Yields `count` numbers, and waits for some seconds before each."""
    for k in range(count):
        time.sleep(seconds)
        yield k


for name, source in [("without prefetching", slow_batches(10, 0.005)),
                     ("with prefetching", prefetch(slow_batches(10, 0.005)))]:
    start = time.perf_counter()
    for _ in source:
        time.sleep(0.005)  # the training step
    print(f"{name:20} {time.perf_counter() - start:.3f} s")

# %% [markdown]
# ## Look back
#
# 1. With 1,438 examples, batches of 64 and `drop_last`, how probable is it that a certain
#    example is in none of ten epochs? And how probable is it if all epochs have the same order?
# 2. Time one epoch of `DataLoader(train, 64)` and one of
#    `DataLoader(TransformedDataset(train, lambda x: x), 64)`. What takes the time? Does
#    `prefetch=2` help here, and why not?
# 3. 13 people wrote these digits, and `digits` splits them without regard to the writer. What
#    accuracy would you expect if all images of a writer were in the same part? Which of the two
#    splits leaks data?
#
# In PyTorch: `torch.utils.data` has `Dataset`, `TensorDataset`, `Subset`, `random_split` and
# `DataLoader`; `collate` is its `default_collate`, and `num_workers` prefetches in processes
# instead of a thread. `torchvision.transforms` has `Normalize`, `Compose` and
# `RandomHorizontalFlip`; scikit-learn has `train_test_split(..., stratify=labels)`.

# %% [markdown] tags=["answer"]
# 1. Each epoch leaves out 30 of the 1,438 examples. In all of ten epochs that happens to a
#    certain one with probability 0.0209 to the power of 10, about 1.6e-17; with one order,
#    0.0209.
# 3. A lower accuracy: the model would be tested on hands that it has never seen. A split
#    without regard to the writer has the same hands on both sides, so it leaks.
