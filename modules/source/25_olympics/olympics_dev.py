# %% [markdown]
# # 25. Olympics
#
# Seven models that read handwritten digits take part in a competition. The picture shows who is
# first, second and so on: on the 359 public test digits (left column), and on five *fresh*
# tests. A fresh test has the same digits, each rotated and moved a little. Models with equally
# many right answers share a place.

# %% tags=["payoff"]
import io
import zipfile

import numpy as np

from tinytorch.data.image_sets import flat_digits
from tinytorch.data.olympics import builder, cnn, fresh_digits, given_entries, mlp
from tinytorch.pictures.olympics import (answers_of, draw_board, draw_front, draw_places,
                                         draw_ranks, draw_seeds)

tests = {"public": flat_digits("test")} | {f"fresh {n}": fresh_digits(n) for n in range(5)}
right = {test: {name: int((answers_of(*given, x) == labels).sum())
                for name, given in given_entries().items()}
         for test, (x, labels) in tests.items()}
figure = draw_places(right)
# caption: The places change from test to test, although the models do not.
# alt: Seven lines from the public test to five fresh tests, for the places 1 to 7. The model
# called leaked is first on the public test, and second or third on fresh tests. The CNN is
# first on all fresh tests. The lines of the four MLPs cross each other from test to test.

# %% [markdown]
# Two things go wrong here. The model in first place has *seen the answers*: its training data
# contained the test digits. And the places of the four MLPs (blue) change from test to test,
# although the models stay the same, and a table of places hides both.
#
# In this chapter you write a **referee**: a program that reads the entries of a competition,
# measures and ranks them, and uses only numbers that it has computed itself. The referee can
# compare the models that you made in lessons 10 to 24.
#
# **You need** 10 (Convolutions), 15 (Transformers) and 19 (Profiling). **You build** the Pareto
# front, the Wilson interval, shared ranks, the files of entries, counted work, a report that
# can be verified, and a leaderboard.

# %%
#| default_exp core.olympics
#| export
import hashlib
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from tinytorch.core.autograd import no_grad
from tinytorch.core.profiling import Profile
from tinytorch.core.tensor import Tensor
from tinytorch.data.olympics import decoded

# %% [markdown] page="Comparing fairly"
# ## The Pareto front
#
# We begin with what "better" means. A model should answer many questions right, and it should
# be small, but the best model for one of these two goals is rarely the best for the other. Here
# are six entries:

# %%
entries = {name: given for name, given in given_entries().items() if name != "leaked"}
size = {name: sum(a.nbytes for a in weights.values()) for name, (_, weights) in entries.items()}
for name in entries:
    print(f"{name:12} {right['public'][name]} of 359 right, {size[name]:6,} bytes")

# %% [markdown]
# Which of these six would you never choose, whatever matters more to you? A model **dominates**
# another model if it is at least as good in every goal and better in at least one of them.
#
# **Task.** Write `dominates`.

# %% Which entry dominates exercise="dominates"
#| export
def dominates(a, b, lower):
    """Whether `a` is at least as good as `b` in every goal and better in at least one.

    a, b     tuples of n numbers, one for each goal
    lower    tuple of n bool: True where a smaller number is better, False where a larger one is
    returns  bool

    >>> dominates((351, 3454), (346, 9640), lower=(False, True))
    True
    >>> dominates((351, 3454), (351, 3454), lower=(False, True))
    False

    Source: Deb, Multi-objective optimization using evolutionary algorithms (2001), chapter 2.
    """
    ### BEGIN SOLUTION
    better = [x < y if small else x > y for x, y, small in zip(a, b, lower)]
    worse = [x > y if small else x < y for x, y, small in zip(a, b, lower)]
    return any(better) and not any(worse)
    ### END SOLUTION

# %% checks="dominates"
check("dominates")

# %% [markdown]
# The **Pareto front** is the set of all points that no other point dominates. For each point
# outside the front, the front contains a point that dominates it. On the front, a better number
# in one goal costs something in another goal.
#
# Two entries with equal numbers do not dominate each other, so both can be on the front.
#
# **Task.** Write `front`.

# %% The Pareto front exercise="front"
#| export
def front(points, lower):
    """The names of the points on the Pareto front.

    points   dict {name: tuple of n numbers}
    lower    as in `dominates`
    returns  list of names, in the order of `points`

    >>> front({"a": (3, 10), "b": (2, 20), "c": (1, 5)}, lower=(False, True))
    ['a', 'c']

    Source: Deb, Multi-objective optimization using evolutionary algorithms (2001), chapter 2.
    """
    ### BEGIN SOLUTION
    return [name for name, point in points.items()
            if not any(dominates(other, point, lower) for other in points.values())]
    ### END SOLUTION

# %% checks="front"
check("front")

# %% [markdown]
# The front of the six entries. Predict: is the MLP with 32-bit weights on it?

# %% tags=["answer", "explained"]
points = {name: (right["public"][name] / 359, size[name]) for name in entries}
figure = draw_front(points, front(points, (False, True)), "bytes")
# alt: Accuracy over bytes, on a logarithmic axis. A staircase joins the four entries on the
# front: MLP in 4 bits, MLP in 8 bits, CNN in 4 bits, CNN. The MLP and the small MLP are hollow
# circles below it.

# %% [markdown]
# The staircase is the best accuracy that you can have for so many bytes. The MLP and the small
# MLP (hollow circles) are not on the front. The CNN in 4 bits is smaller than both and has more
# answers right.
#
# ## The Wilson interval
#
# The accuracies of the four MLPs differ by less than one percent. Is that a real difference? A
# test set is a sample. Suppose that a model answers a share $p$ of *all* digits right. On a
# test with $n$ digits it gets $k$ right, and $k / n$ is $p$ plus luck. A *confidence interval*,
# as in lesson 19, contains the values of $p$ that go well with this test.
#
# The usual formula is $\hat p \pm z \sqrt{\hat p (1 - \hat p) / n}$ with $\hat p = k / n$ and
# $z = 1.96$ for 95 %. Predict what it gives for 10 of 10 right answers.

# %% tags=["answer", "explained"]
def usual_interval(right, n, z=1.96):
    share = right / n
    half = z * (share * (1 - share) / n) ** 0.5
    return share - half, share + half


print("10 of 10:", usual_interval(10, 10))
print("355 of 359:", usual_interval(355, 359))

# %% [markdown]
# The first interval has length 0: ten right answers would prove that the model is never wrong.
# The second one ends at nearly 1. The formula computes the luck as if $p$ were $\hat p$, so
# that for $\hat p = 1$ there would be no luck at all, while the standard deviation of $k / n$
# is really $\sqrt{p (1 - p) / n}$. The **Wilson interval** contains every $p$ that is at most
# $z$ of these standard deviations away from $k / n$:
#
# $$\Big|\hat p - p\Big| \le z \sqrt{\frac{p (1 - p)}{n}}$$
#
# At the ends of the interval both sides are equal. Squared, this is a quadratic equation in
# $p$, and its two solutions are the ends:
#
# $$\frac{1}{1 + z^2 / n} \left( \hat p + \frac{z^2}{2n} \pm
# z \sqrt{\frac{\hat p (1 - \hat p)}{n} + \frac{z^2}{4 n^2}} \right)$$
#
# **Task.** Write `accuracy_interval`. `NormalDist().inv_cdf(q)` is the number below which a
# standard normal number lies with probability $q$. For the level .95, each side has .025. (The
# 1.96 in `usual_interval` is a rounded $z$.)

# %% The Wilson interval exercise="interval"
#| export
def accuracy_interval(right, n, level=0.95):
    """The Wilson interval for the share of right answers.

    right    int: the number of right answers, from 0 to n
    n        int: the number of questions
    level    float between 0 and 1, such as 0.95
    returns  (low, high), two floats from 0 to 1. For n = 0, nothing is known: (0.0, 1.0)

    ValueError with both numbers when `right` is not between 0 and `n`.

    >>> low, high = accuracy_interval(355, 359)
    >>> round(low, 3), round(high, 3)
    (0.972, 0.996)

    Source: Wilson, Probable inference, the law of succession, and statistical inference (1927).
    """
    if not 0 <= right <= n:
        raise ValueError(f"{right} right answers of {n} are not possible")
    if n == 0:
        return 0.0, 1.0
    ### BEGIN SOLUTION
    z = NormalDist().inv_cdf((1 + level) / 2)
    share = right / n
    middle = share + z * z / (2 * n)
    half = z * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
    low, high = (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)
    ### END SOLUTION
    return max(0.0, low), min(1.0, high)

# %% checks="interval"
check("interval")

# %% [markdown]
# An interval at the level .95 should contain the true share in 95 of 100 tests. Let a computer
# take 20,000 tests with 359 questions each, for a model that is right in 98 % of all cases.
# Predict the share for both formulas.

# %% tags=["answer", "explained"]
def coverage(interval, share, n=359, tests=20_000, seed=0):
    counts = np.random.default_rng(seed).binomial(n, share, tests)
    ends = {k: interval(int(k), n) for k in np.unique(counts)}
    return np.mean([ends[k][0] <= share <= ends[k][1] for k in counts])


for share in (0.90, 0.98, 0.995):
    print(f"true share {share:.3f}: usual {coverage(usual_interval, share):.1%}, "
          f"Wilson {coverage(accuracy_interval, share):.1%}")

# %% [markdown]
# Close to 1, where good models are, the usual interval often misses the true share, while the
# Wilson interval keeps about the level that it promises.
#
# ## Shared ranks
#
# With an interval for each entry, we can rank them. We call one entry better than another only
# if its interval lies wholly above the other interval. The rank of an entry is 1 plus the
# number of entries that are better in this sense. So entries whose intervals meet can share a
# rank.
#
# **Task.** Write `shared_ranks`.

# %% Shared ranks exercise="ranks"
#| export
def shared_ranks(intervals):
    """Ranks of entries: 1 for all entries with no other interval wholly above their own.

    intervals  dict {name: (low, high)}; higher is better
    returns    dict {name: 1 + number of intervals that lie wholly above this one}, in the order
               of `intervals`. An interval lies wholly above another one if its low end is above
               the high end of the other

    >>> shared_ranks({"a": (0.90, 0.95), "b": (0.94, 0.98), "c": (0.5, 0.8)})
    {'a': 1, 'b': 1, 'c': 3}

    Source: Goldstein and Healy, The graphical presentation of a collection of means (1995).
    """
    ### BEGIN SOLUTION
    return {name: 1 + sum(low > high for low, _ in intervals.values())
            for name, (_, high) in intervals.items()}
    ### END SOLUTION

# %% checks="ranks"
check("ranks")

# %% [markdown]
# Predict: how many different ranks do the six entries have on the public test? And on a fresh
# one?

# %% tags=["answer", "explained"]
figures = {}
for test in ("public", "fresh 0"):
    intervals = {name: accuracy_interval(right[test][name], 359) for name in entries}
    figures[test] = intervals, shared_ranks(intervals)
draw_ranks(figures)
# caption: Entries share a rank where the test cannot tell them apart.
# alt: The intervals of six entries as horizontal lines, with their ranks. On the public test,
# all of them overlap and all ranks are 1. On the fresh test, the intervals of the CNNs are
# higher, and two MLPs have rank 2.

# %% [markdown]
# On the public test, all six share rank 1: its 359 digits are too few to tell them apart. On
# the fresh test, the interval of the CNN lies wholly above those of two MLPs. Overlapping
# intervals do not prove that two entries are equal: with four times as many questions, the
# intervals would be about half as long. The ranks are stricter than a test at 5 %: where two
# equally long 95 % intervals just touch, the difference has a p-value of about 0.005, and for
# comparisons at 5 % the intervals would have to be those of about 84 %, 1.39 standard errors.
# Both numbers are for entries that answer different questions. On the same questions, as here,
# the ranks are stricter still ("Look back" 2).

# %% [markdown] page="Files from strangers, safely"
# ## Entries and digests
#
# An entry consists of arrays. How large is it? The size is the number of bytes of all its
# arrays. And is it the same entry that was measured yesterday? For this question we compute a
# fingerprint.
#
# A **digest** is a short text computed from data. No way is known to find other data with the
# same digest. SHA-256 computes 64 hexadecimal digits from any bytes.
# `hashlib.sha256()` makes an object whose method `update(bytes)` adds bytes and whose method
# `hexdigest()` returns the text.
#
# The digest must depend on everything that matters, and on nothing else. Values, names, dtypes
# and shapes matter: each of them can change what the model computes. The order of the
# dictionary does not.
#
# **Task.** Write `bytes_of` and `digest_of`. Do not simply join texts: the name "x" with the
# dtype "uint8" is the same text as "xu" with "int8". `json.dumps([name, dtype, shape])` writes
# where each part ends.

# %% The digest of an entry exercise="digest"
#| export
def bytes_of(weights):
    """The bytes of all arrays of an entry, scales included.

    weights  dict {name: array}
    returns  int

    >>> bytes_of({"w": np.zeros((3, 4), "int8"), "w:scale": np.ones(4, "float16")})
    20
    """
    ### BEGIN SOLUTION
    return sum(a.nbytes for a in weights.values())
    ### END SOLUTION


def digest_of(weights):
    """The SHA-256 digest of arrays.

    weights  dict {name: array}
    returns  str of 64 hexadecimal digits. It is the same for the same names, dtypes, shapes and
             values, whatever the order of the dict and the memory layout of the arrays, and
             different when one of them differs

    >>> digest_of({"w": np.zeros(3)}) == digest_of({"w": np.zeros(3, "float32")})
    False

    Source: NIST, Secure hash standard, FIPS 180-4 (2015).
    """
    ### BEGIN SOLUTION
    sha = hashlib.sha256()
    for name in sorted(weights):
        a = weights[name]
        sha.update(json.dumps([name, a.dtype.str, a.shape]).encode() + a.tobytes())
    return sha.hexdigest()
    ### END SOLUTION

# %% checks="digest"
check("digest")

# %% [markdown]
# ## Files from strangers
#
# An entry is sent as an `.npz` file, a zip archive with one file for each array. A file from a
# stranger can do harm. `np.load` can read arrays of Python objects. They are stored as
# *pickles*, and reading a pickle runs a program that its author chose. Here is such an entry.
# Predict what happens in the last line.

# %% tags=["answer", "explained"]
class Cheat:
    def __reduce__(self):
        return print, ("This line was printed by the entry!",)


file = io.BytesIO()
np.savez(file, weights=np.array([Cheat()], dtype=object))
file.seek(0)
stolen = np.load(file, allow_pickle=True)["weights"]

# %% [markdown]
# The entry ran its own code. It could have changed the referee's results, or deleted files.
# With `allow_pickle=False`, NumPy raises an error instead. An archive can also be too large. A
# **zip bomb** is a small archive that becomes huge when it is read. Predict how large this file
# is:

# %% tags=["answer"]
bomb = io.BytesIO()
np.savez_compressed(bomb, weights=np.zeros(20_000_000, "float32"))
with zipfile.ZipFile(bomb) as archive:
    stated = sum(info.file_size for info in archive.infolist())
print(f"{bomb.getbuffer().nbytes:,} bytes in the file, {stated:,} bytes when it is read")

# %% [markdown]
# The archive states the size of each of its files: `archive.infolist()` is a list of objects
# with a `file_size`. So a referee can refuse a bomb before it reads an array. `zipfile` moves
# the position in the file; `file.seek(0)` goes back to its beginning. (1 MB is the limit here,
# since our largest entry has 13 kB.)
#
# **Task.** Write `read_arrays`.

# %% Reading files from strangers exercise="read"
#| export
def read_arrays(file, most=1_000_000):
    """The arrays in an .npz file that another person made.

    file     a binary file object, such as open(path, "rb")
    most     int: the largest number of bytes of all files in the archive, unpacked
    returns  dict {name: array}

    ValueError when the stated sizes of the files in the archive add up to more than `most`;
    it contains both numbers, and no array is read. ValueError for arrays of Python objects: no
    pickle is opened. zipfile.BadZipFile for a file that is no zip archive.

    Source: The Python Standard Library, zipfile, "Decompression pitfalls"; numpy.load.
    """
    ### BEGIN SOLUTION
    with zipfile.ZipFile(file) as archive:
        stated = sum(info.file_size for info in archive.infolist())
    if stated > most:
        raise ValueError(f"the file unpacks to {stated} bytes, the limit is {most}")
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}
    ### END SOLUTION

# %% checks="read"
check("read")

# %% [markdown]
# ## From arrays to a model
#
# An entry also has a function `build`: `build()` returns a model with random weights, and the
# arrays of the entry replace them.
#
# A quantized entry has arrays of integers: an int8 array `w` with an array `w:scale` stands for
# their product. With 4 bits, two numbers share a byte, and the array no longer has the shape of
# the weights. So `decoded(weights, shapes)`, which turns all arrays back into float32, needs
# the *shapes* of the model's arrays, {name: a.shape}.
#
# One `nan` in the weights can spread to all scores, and `nan` is neither larger nor smaller
# than any other number. Such an entry should therefore be refused, with the name of the array,
# before it computes anything.
#
# **Task.** Write `model_of`. `model.state_dict()` is a dict {name: array}, and
# `model.load_state_dict(arrays)` raises a ValueError when names or shapes do not fit.

# %% A model from its arrays exercise="model"
#| export
def model_of(build, weights):
    """The model of an entry, in evaluation mode.

    build    a function without arguments that returns a Module
    weights  dict {name: array}, floats or quantized: see `decoded`
    returns  the Module with these weights

    ValueError with the name of the array when a decoded array contains nan or infinity.
    ValueError of `load_state_dict` when names or shapes do not fit the model.
    """
    ### BEGIN SOLUTION
    model = build()
    shapes = {name: a.shape for name, a in model.state_dict().items()}
    arrays = decoded(weights, shapes)
    for name, a in arrays.items():
        if not np.isfinite(a).all():
            raise ValueError(f"{name} contains nan or infinity")
    model.load_state_dict(arrays)
    return model.eval()
    ### END SOLUTION


@dataclass(frozen=True)
class Entry:
    """What takes part in a competition: a name, a function that builds the model, and arrays.

    >>> from tinytorch.data.olympics import builder
    >>> model = builder("mlp", {"hidden": 4})()
    >>> entry = Entry("tiny", builder("mlp", {"hidden": 4}), model.state_dict())
    >>> entry.nbytes
    1240
    """

    name: str
    build: Callable
    weights: dict

    def model(self):
        """The model with these weights: see `model_of`."""
        return model_of(self.build, self.weights)

    def save(self, path):
        """Write the arrays to an .npz file."""
        np.savez(path, **self.weights)

    @classmethod
    def load(cls, path, name, build):
        """The entry with the arrays in a file: see `read_arrays`."""
        with open(path, "rb") as file:
            return cls(name, build, read_arrays(file))

    @property
    def nbytes(self):
        return bytes_of(self.weights)

    @property
    def digest(self):
        return digest_of(self.weights)

# %% checks="model"
check("model")

# %%
competitors = [Entry(name, *given) for name, given in given_entries().items()]
for entry in competitors:
    print(f"{entry.name:12} {entry.nbytes:6,} bytes, digest {entry.digest[:12]}...")

# %% [markdown]
# ## Counted work
#
# Which entry is the fastest? Lesson 19 showed how much a measured time depends on the machine
# and on everything else that runs there. Because the same entry must get the same result
# everywhere in a competition, the referee counts **work** instead of measuring time: the FLOPs
# of all operations, and the bytes that they read and write. Every operation on Tensors passes
# through one function of the library, in which `Profile` of lesson 19 counts.
#
# **Task.** Write `work_of`. The rows of a profile are lists [path, operation, calls, seconds,
# flops, bytes]. A row with several calls has the FLOPs and bytes of all of them.

# %% Counted work exercise="work"
#| export
def work_of(model, x):
    """The scores of a model, and the work that they took.

    model    a Module
    x        array of shape (n, features); the model is called with Tensor(x), once, without
             recording a graph
    returns  (scores, flops, moved): the ndarray of the model's result, and two ints, the sums
             of FLOPs and of bytes over all rows of a `Profile` of the model

    >>> from tinytorch.core.layers import Dense
    >>> work_of(Dense(4, 5, bias=False), np.ones((3, 4), "float32"))[1:]
    (120, 188)
    """
    ### BEGIN SOLUTION
    with no_grad(), Profile(model) as profile:
        scores = model(Tensor(x)).data
    return scores, sum(row[4] for row in profile.rows), sum(row[5] for row in profile.rows)
    ### END SOLUTION

# %% checks="work"
check("work")

# %% [markdown]
# Here is the front of accuracy and FLOPs for 359 digits. Predict: is the CNN in 4 bits to the
# left of the CNN, as it was with bytes?

# %% tags=["answer", "explained"]
x_test, y_test = flat_digits("test")
flops = {entry.name: work_of(entry.model(), x_test)[1] for entry in competitors}
points = {name: (right["public"][name] / 359, flops[name]) for name in entries}
figure = draw_front(points, front(points, (False, True)), "FLOPs")
# alt: Accuracy over FLOPs, on a logarithmic axis. The small MLP is at the left with 0.9
# million, the three MLPs are at 1.7 million, and both CNNs are far to the right, at 128
# million. The small MLP and the CNN are on the front.

# %% [markdown]
# Fewer bits save memory and no arithmetic, because the referee turns them back into float32, so
# the fronts for bytes and for FLOPs differ: which model is best depends on the goals.
#
# Can an entry hide its work? Only operations on Tensors are counted. Predict the FLOPs of this
# model:

# %% tags=["answer", "explained"]
from tinytorch.core.layers import Module


class Hidden(Module):
    def forward(self, x):
        return Tensor(x.numpy() @ np.ones((64, 10), "float32"))  # NumPy, not Tensor


print(work_of(Hidden(), x_test)[1], "FLOPs")

# %% [markdown]
# This is why benchmarks have divisions. A **closed division** is a competition in which the
# models are built by the organizers' code, and entries differ only in sizes and weights. Our
# referee is safe only if the organizers write `build`, and not the learner whose arrays are
# judged. `builder("mlp", {"hidden": 32})` returns a function that builds a model from a fixed
# list, and refuses any other name. All entries so far were built in this way, and so are those
# of the competition for classes at the end of this chapter.
#
# ## Right answers
#
# Besides the work, the referee counts right answers. The answer of a model to a question is the
# class with the highest score. The referee must not count answers from broken scores. For
# example, `argmax` of a row of `nan` is 0, so a model that always returns `nan` would have
# every digit 0 right. `right_answers`, which is given, refuses such scores, and scores of a
# wrong shape.

# %%
#| export
def right_answers(scores, labels):
    """How many answers are right.

    scores   array of shape (n, classes); the answer to question i is the class with the highest
             score in row i
    labels   int array of shape (n,)
    returns  int, of Python

    ValueError with the shape of `scores` when it does not have one row for each label and two
    axes. ValueError with the word finite in it when a score is nan or infinite.

    >>> right_answers(np.array([[0.1, 0.9], [0.8, 0.3]]), np.array([1, 1]))
    1
    """
    if scores.ndim != 2 or len(scores) != len(labels):
        raise ValueError(f"the scores have shape {scores.shape}, for {len(labels)} labels")
    if not np.isfinite(scores).all():
        raise ValueError("a score is not finite")
    return int((scores.argmax(axis=1) == labels).sum())

# %% [markdown]
# ## Limits
#
# An *event* is one test with its rules. A rule such as "at most 10,000 bytes" must have an
# effect: an entry that breaks it gets no rank.
#
# **Task.** Write `broken_limits`.

# %% Broken limits exercise="limits"
#| export
def broken_limits(row, limits):
    """The names of the limits that a result does not keep.

    row      dict with the keys "bytes", "flops", "right" and "n"
    limits   dict {name: number}. For "bytes" and "flops" the number is the largest that is
             allowed; for "accuracy" it is the smallest share of right answers, right / n
    returns  list of names, in the order of `limits`

    >>> row = {"bytes": 9640, "flops": 1726790, "right": 346, "n": 359}
    >>> broken_limits(row, {"bytes": 5000, "flops": 2000000, "accuracy": 0.99})
    ['bytes', 'accuracy']
    """
    ### BEGIN SOLUTION
    values = row | {"accuracy": row["right"] / row["n"]}
    return [name for name, limit in limits.items()
            if (values[name] < limit if name == "accuracy" else values[name] > limit)]
    ### END SOLUTION

# %% checks="limits"
check("limits")

# %% [markdown] page="The referee and its report"
# ## The referee
#
# One entry in one event gives one row. An entry that fails also gets a row, with the reason, so
# that its author can repair it. And one broken entry must not stop the referee for all others.
#
# The model gets the questions and never the labels. `Tensor(x)` in `work_of` copies them, so a
# model that writes into its input does not change the questions of the next entry.
#
# **Task.** Write `judge`. It is the longest exercise of the lesson: write it for an entry that
# works first, and add the `try` last.

# %% The referee's verdict exercise="judge"
#| export
def judge(entry, event, x, labels, limits):
    """The result of one entry in one event.

    entry    Entry
    event    str: its name
    x        array of shape (n, features), n >= 1
    labels   int array of shape (n,)
    limits   as in `broken_limits`
    returns  dict with the keys
             "entry", "event"   the two names
             "digest", "bytes"  of the entry's arrays
             "flops", "right"   ints, by `work_of` and `right_answers`
             "n"                int: the number of labels
             "interval"         list [low, high] of `accuracy_interval`
             "valid"            bool: whether the entry worked and no limit is broken
             "reason"           "" if it is valid, otherwise a text with the names of all broken
                                limits, or with the message of the error

    An Exception of the entry, raised anywhere between `entry.model()` and its right answers, is
    not passed on. In its row flops and right are 0 and the interval is [0.0, 0.0]. A
    KeyboardInterrupt (Ctrl-C), which is no Exception, is passed on: it stops the referee.
    """
    row = {"entry": entry.name, "event": event, "digest": entry.digest, "bytes": entry.nbytes,
           "flops": 0, "right": 0, "n": len(labels), "interval": [0.0, 0.0], "valid": False}
    ### BEGIN SOLUTION
    try:
        scores, flops, _ = work_of(entry.model(), x)
        right = right_answers(scores, labels)
    except Exception as error:
        return row | {"reason": f"{type(error).__name__}: {error}"}
    row |= {"flops": flops, "right": right}
    row["interval"] = list(accuracy_interval(right, len(labels)))
    broken = broken_limits(row, limits)
    return row | {"valid": not broken, "reason": ", ".join(broken)}
    ### END SOLUTION

# %% checks="judge"
check("judge")

# %%
broken = dict(competitors[0].weights)
broken["0.weights"] = broken["0.weights"] * np.nan
for entry in (competitors[0], competitors[4], Entry("broken", competitors[0].build, broken)):
    row = judge(entry, "small", x_test, y_test, {"bytes": 10_000})
    print(f"{row['entry']:8} right {row['right']}, valid {row['valid']}  {row['reason']}")

# %% [markdown]
# ## A report
#
# The referee's results go into a report. A *report* contains the rows of all entries in all
# events, and is written as JSON, because people and programs can read that. The same results
# must give *the same bytes* each time: then two people can compare two reports by their
# digests. The report therefore contains no date, and the rows and their keys are sorted.
#
# **Task.** Write `to_json` and `medals` of `Report`, and `referee`.

# %% A report that can be checked exercise="report"
#| export
class Report:
    """The results of a competition.

    rows   list of dicts, as `judge` returns them
    """

    def __init__(self, rows):
        self.rows = rows

    def to_json(self):
        """The rows as JSON, a str. Rows are sorted by event and then by entry, and the keys of
        each row alphabetically. Two reports with the same rows in different orders give the
        same text. The report itself is not changed."""
        ### BEGIN SOLUTION
        rows = sorted(self.rows, key=lambda row: (row["event"], row["entry"]))
        return json.dumps(rows, sort_keys=True)
        ### END SOLUTION

    @classmethod
    def from_json(cls, text):
        """The Report that `to_json` has written."""
        return cls(json.loads(text))

    def medals(self, event):
        """The `shared_ranks` of the intervals of all valid rows of an event: {name: rank}."""
        ### BEGIN SOLUTION
        return shared_ranks({row["entry"]: row["interval"] for row in self.rows
                             if row["event"] == event and row["valid"]})
        ### END SOLUTION


def referee(entries, events):
    """Judge every entry in every event.

    entries  list of Entry
    events   dict {name: (x, labels, limits)}: see `judge`
    returns  Report with one row for each entry and event

    ValueError with the name when two entries have the same name.
    """
    names = [entry.name for entry in entries]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two entries are called {name}")
    ### BEGIN SOLUTION
    return Report([judge(entry, event, *rules) for event, rules in events.items()
                   for entry in entries])
    ### END SOLUTION

# %% checks="report"
check("report")

# %% [markdown]
# The competition: one event for all, one for small entries, one for entries with little work,
# and one on fresh digits. Predict who has rank 1 on fresh digits.

# %% tags=["answer", "explained", "payoff"]
events = {"public": (x_test, y_test, {}),
          "under 5 kB": (x_test, y_test, {"bytes": 5000, "accuracy": 0.95}),
          "under 2 MFLOP": (x_test, y_test, {"flops": 2_000_000, "accuracy": 0.95}),
          "fresh": (*fresh_digits(0), {})}
report = referee(competitors, events)
draw_board(report.rows, {event: report.medals(event) for event in events})
# alt: A table with a row for each of the seven entries and a column for each event. A cell
# holds the accuracy and the rank, or the broken limit in grey. On the public test the leaked
# entry and the CNN have rank 1. On the fresh test only the MLP and the MLP in 8 bits do not.

# %% [markdown]
# On fresh digits five entries share rank 1, and the leaked one is among them: 359 digits are
# too few to put it behind the CNN. On the public test it has every digit right, and pushes the
# CNN in 4 bits, an honest entry, to rank 2. (Grey cells name a broken limit.)
#
# *Data leakage* (lesson 09) cannot be seen in the arrays of an entry. Can it be seen in the
# answers? Predict: do honest entries lose fewer answers on fresh digits than the leaked one?

# %% tags=["answer", "explained"]
fresh = [test for test in tests if test != "public"]
for name in right["public"]:
    lost = [right["public"][name] - right[test][name] for test in fresh]
    ahead = [right[test][name] - right[test]["CNN"] for test in tests]
    print(f"{name:12} lost {' '.join(f'{n:3}' for n in lost)}   ahead of the CNN: public "
          f"{ahead[0]:3}, fresh {' '.join(f'{n:3}' for n in ahead[1:])}")

# %% [markdown]
# The lost answers do not show it. Fresh digits are harder for all, and the honest MLP loses
# nearly as many as the leaked entry. The *order* is a sign: the leaked entry is 5 answers ahead
# of the CNN on the public test, and 11 to 19 behind on the fresh tests. No other entry changes
# sides. (It is no proof, since all tests contain the same 359 digits.) So compare entries on
# questions that did not exist when the entries were made.

# %% [markdown] question="fresh-enough" points=2
# **Question.** The fresh digits are the test digits, turned and moved a little. Describe an
# entry that has learned from the public test digits and is still ahead on fresh digits without
# reading digits better than others. What would make the test stronger?
#
# **Your answer:**
#
# ### BEGIN SOLUTION
# Train on the public test digits, and turn and move them at random during training. Such an
# entry has learned the labels of the same pictures in many positions, so it knows most of the
# fresh ones. Digits of other writers would be stronger: they are not made from anything that
# the entry could have seen. So would a test whose way of changing the digits is not announced.
#
# - 1 point: trains on the public test digits, turned and moved, so it knows the labels of most
#   fresh digits
# - 1 point: digits of other writers, or changes that are not announced
# ### END SOLUTION

# %% [markdown]
# ## Verification
#
# Another person sends you a report. Should you believe it? With the entries and the events, you
# can compute every row again. **Verification** of a report means to compute all of it again and
# to compare. All keys of a row are compared, because a forged number of FLOPs is as bad as a
# forged accuracy. Missing rows are found too, because an unwelcome result can be left out.
#
# **Task.** Write `verify`.

# %% Verifying a report exercise="verify"
#| export
def verify(report, entries, events):
    """The results in a report that are not true.

    report   Report that is to be verified
    entries  list of Entry
    events   as in `referee`
    returns  list of (entry name, event name), each at most once: of rows that differ in any key
             from those that `referee` computes, of rows that are missing, that occur more than
             once, or that belong to no entry or event. An empty list for a true report

    >>> verify(Report([]), [], {})
    []
    """
    ### BEGIN SOLUTION
    claimed, true = {}, {}
    for rows, found in ((report.rows, claimed), (referee(entries, events).rows, true)):
        for row in rows:
            found.setdefault((row["entry"], row["event"]), []).append(row)
    return [key for key in claimed | true if claimed.get(key) != true.get(key)]
    ### END SOLUTION

# %% checks="verify"
check("verify")

# %% [markdown]
# The next cell changes one row of a true report and deletes another one. Predict what `verify`
# returns for each of the two reports.

# %% tags=["answer", "explained"]
forged = Report.from_json(report.to_json())
forged.rows[0]["right"] += 1
del forged.rows[3]
print("the report:", verify(report, competitors, events))
print("the forged one:", verify(forged, competitors, events))

# %% [markdown]
# The row of the CNN was changed, and the row of the MLP in 4 bits is missing.
#
# ## A leaderboard
#
# A competition goes on for weeks, and people improve their entries. A **leaderboard** shows the
# newest version of each entry. The digest tells versions apart. When a report brings a new
# digest for a name, all rows of the old version go, in all events. Otherwise a table could
# combine the accuracy of one version with the size of another.
#
# **Task.** Write `leaderboard`.

# %% The leaderboard exercise="leaderboard"
#| export
def leaderboard(reports):
    """Reports of several days merged into one.

    reports  list of Report, the oldest first. In one report, each entry has one digest
    returns  Report. The newest digest of an entry is the one in the last report that contains
             the entry. Only rows with this digest are kept, from all reports. If several of
             them have the same entry and event, only the last one is kept

    The reports are not changed.

    Source: Reddi et al., MLPerf Inference benchmark (2020), for results per submission.
    """
    ### BEGIN SOLUTION
    rows = [row for report in reports for row in report.rows]
    newest = {row["entry"]: row["digest"] for row in rows}
    last = {(row["entry"], row["event"]): row for row in rows
            if row["digest"] == newest[row["entry"]]}
    return Report(list(last.values()))
    ### END SOLUTION

# %% checks="leaderboard"
check("leaderboard")

# %% [markdown]
# ## How much is luck?
#
# Five small MLPs differ only in the seed of their training, 0 to 4. The best of them could
# enter the competition. Predict: is the best one on the public test also the best one on a
# fresh test?

# %% tags=["answer", "explained"]
from tinytorch.data.olympics import fit

x_train, y_train = flat_digits("train")
seeds = {}
for seed in range(5):
    model = fit(mlp(16, rng=seed), x_train, y_train, epochs=20, seed=seed)
    seeds[seed] = [right_answers(work_of(model, x)[0], labels)
                   for x, labels in (tests["public"], tests["fresh 0"])]
figure = draw_seeds({seed: [(k / 359, *accuracy_interval(k, 359)) for k in counts]
                     for seed, counts in seeds.items()}, ["public", "fresh 0"])
# caption: The best seed on one test is not the best on the other: it was luck.
# alt: The accuracies of the seeds 0 to 4 with their intervals, on the public and on a fresh
# test. On each test, the five intervals overlap. The best one, in orange, is seed 4 on the
# public test and seed 3 on the fresh test.

# %% [markdown]
# The best seed of each test is orange: seed 4 on the public test, and seed 3 on the fresh one.
# If you train five times and enter the best model, you gain a few answers by luck, and only on
# that test. The intervals of all five meet, so shared ranks do not reward this luck.
#
# ## A competition for your class
#
# `tito milestone run olympics` lets your referee judge the seven entries of this chapter. With
# `--mine`, the networks that your milestones trained are on the board, too.
# Teachers can run a competition with `tito milestone run olympics --class FOLDER`: the folder
# contains the entry of each learner, an `.npz` file with arrays and a `.toml` file with `build`
# and the sizes. (`tito submit` does not include these two files: hand them in separately.) The
# competition's events ask for the smallest model, for the least work, and for the best model
# with at most 10,000 bytes, all on fresh digits; two more are for GPTs, scored in bits per
# character. Which of your models from lessons 10 to 24 would you enter?
#
# ## Look back
#
# 1. Two entries have 985 and 990 right answers of 1,000. Compute their intervals. How many
#    questions would tell them apart, if their shares stay the same?
# 2. Both entries answered the *same* questions. How could you use that, as lesson 19 did with
#    paired ratios, to tell them apart with fewer questions?
# 3. A front over accuracy, bytes and FLOPs contains more entries than each front over two of
#    them. Why can a new goal never remove an entry from the front, if no two entries are equal?
#
# PyTorch saves weights with `torch.save`, which writes a pickle. Since version 2.6, the default
# of `torch.load` is `weights_only=True`: it reads only tensors and plain data, for the reason
# that you have seen. `safetensors` is a file format for arrays without any code.
# `torch.utils.flop_counter` counts FLOPs as `Profile` does. MLPerf is a competition with closed
# and open divisions, in which the organizers check entries.

# %% [markdown] tags=["answer"]
# 1. The intervals are 0.975 to 0.991 and 0.982 to 0.995, so they overlap. With the same shares,
#    about 7,600 questions separate them.
# 2. Only questions that one entry answers and the other does not tell them apart. Count them
#    for both, and ask whether a fair coin would divide them so unevenly (McNemar's test).
# 3. To dominate an entry, another one must be as good in every goal. One more goal makes that
#    harder, so an entry on the front stays there.
