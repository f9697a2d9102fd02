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
#     - autograd
#     - training
#     hours: 3
#     prerequisites:
#     - tensor
#     - activations
#     summary: One number that says how wrong a network is, at any size
#     terms: []
#     title: Losses
# ---

# %% [markdown]
# # 04. Losses
#
# A network is trained by making one number smaller. Whatever that number does not notice will
# not be learned, and where it is flat, nothing will. This chapter asks how wrong a prediction
# is, for amounts, for yes or no, and for one class among many.
#
# **You need** 01 (Tensor) and 02 (Activations). **You write** mean squared error, two kinds of
# cross-entropy that survive scores of 1000, and the checks that keep their inputs honest.

# %%
#| default_exp core.losses
#| export
import numpy as np

from tinytorch.core.tensor import Tensor, apply
from tinytorch.support.arrays import copy_of

# %% [markdown]
# ## How far off?
#
# Three houses, three guesses, in units of 100,000. The oldest answer to "how wrong?": subtract,
# square, take the mean. Squaring makes every error positive, and makes one large error worse
# than two half as large.
#
# Here each guess is exactly right. Predict the number before you run:

# %%
guesses = Tensor([[1.0], [2.0], [3.0]])  # as a network returns them: one column
prices = Tensor([1.0, 2.0, 3.0])
print(((guesses - prices) ** 2).mean())

# %% [markdown]
# Shapes (3, 1) and (3,) broadcast to (3, 3): every guess was compared with every price. No
# error, no warning, and a network trained on that number learns to guess the average. A second
# accident needs no shapes at all. Pixels are often `uint8`, whole numbers from 0 to 255:

# %%
print(np.array([3], "uint8") - np.array([5], "uint8"))

# %% [markdown]
# Both are cheap to rule out at the door. `fractions` is given: it turns whole numbers into
# `float32` before anybody subtracts them, and lets fractions pass untouched.

# %%
#| exporti
def as_float_tensor(x):
    """`x` as a Tensor of fractions: a float Tensor as it is, whole numbers and lists as
    float32."""
    x = x if isinstance(x, Tensor) else Tensor(x)
    return x if x.dtype.kind == "f" else Tensor(x.data.astype(np.float32))

# %% [markdown]
# **Task.** Write `matched` for the other side, the target. What people hand in as a target is a
# list, an array or a tensor, of any dtype. The prediction decides the dtype: one `float64`
# target must not double the memory of everything that follows.

# %% exercise="matched"
#| export
def matched(prediction, target):
    """The numbers of `target`, fit to be compared with `prediction` place by place.

    prediction  Tensor of fractions
    target      Tensor, array, nested lists or a number, of exactly the prediction's shape
    returns     a new ndarray with the prediction's dtype; no gradient goes into a target

    Raises ValueError that names both shapes when they differ, even if they would broadcast.

    >>> matched(Tensor([0.5, 2.0]), [1, 3])
    array([1., 3.], dtype=float32)

    Source: PyTorch only warns: "Using a target size (...) that is different to the input size
    (...)".
    """
    ### BEGIN SOLUTION
    target = Tensor(target).data
    if target.shape != prediction.shape:
        raise ValueError(f"the prediction has shape {prediction.shape}, "
                         f"the target {target.shape}: they must be equal, "
                         "or broadcasting would compare predictions with the targets of others")
    return target.astype(prediction.dtype)
    ### END SOLUTION

# %% checks="matched"
check("matched")

# %% [markdown]
# ## Many losses, one number
#
# A batch gives one loss per row, or per number, and training needs a single one. The mean keeps
# its size when the batch grows. The sum grows with it, and the steps of training with the sum.
# "none" keeps them apart, to look at the worst rows.
#
# Predict first: what is the mean of no losses at all, the last, empty batch of somebody's data?
#
# **Task.** Write `reduced`.

# %% exercise="reduced"
#| export
def reduced(losses, reduction="mean"):
    """One number for many losses, or the losses themselves.

    losses     Tensor of any shape
    reduction  "mean" over every loss in it, "sum" of every loss, or "none"
    returns    Tensor of shape (), or `losses` for "none"; how it was made is noted

    Raises ValueError for any other word, and for the mean of no losses.

    >>> reduced(Tensor([[0.5, 2.0], [3.0, 4.5]]), "mean")
    Tensor(2.5)

    Source: the same words as in torch.nn.functional.
    """
    ### BEGIN SOLUTION
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction is 'mean', 'sum' or 'none', not {reduction!r}")
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    if losses.size == 0:
        raise ValueError(f"there is no mean of no losses: shape {losses.shape} is an empty "
                         "batch")
    return losses.mean()
    ### END SOLUTION

# %% checks="reduced"
check("reduced")

# %% [markdown]
# **Task.** Now `mse_loss`, from the pieces you have. Whatever it computes with must be a Tensor
# of fractions on one side, and matched numbers on the other.

# %% exercise="mse"
#| export
def mse_loss(prediction, target, reduction="mean"):
    """The squared error: (prediction - target) squared, in the square of their unit.

    prediction  Tensor, array or list; whole numbers become float32
    target      the same shape, in any form; no gradient goes into it
    reduction   "mean" over every number, "sum", or "none"
    returns     Tensor of shape (), or of the prediction's shape for "none", in the prediction's
                dtype

    Raises ValueError when shapes differ, also when they would broadcast.

    >>> mse_loss(Tensor([1.0, 2.0, 3.0]), [1.0, 0.5, 6.0], reduction="none")
    Tensor([0.  , 2.25, 9.  ])

    Source: Gauss, Theory of the motion of the heavenly bodies (1809), section 179.
    """
    ### BEGIN SOLUTION
    prediction = as_float_tensor(prediction)
    error = prediction - matched(prediction, target)
    return reduced(error * error, reduction)
    ### END SOLUTION

# %% checks="mse"
check("mse")

# %%
try:
    mse_loss(guesses, prices)
except ValueError as error:
    print(error)
print(mse_loss(guesses, prices.unsqueeze(1)))

# %% [markdown]
# ## Yes or no
#
# Will it rain? A network gives a score $z$, the *logit*; the sigmoid makes it a probability
# $p$. The natural price of a prediction is its surprise: $-\log p$ when it rained,
# $-\log(1 - p)$ when it did not. Certain and right costs nothing; the price of certain and
# wrong has no bound.
#
# The table below follows that recipe in `float32`, for a day that stayed dry ($y = 0$), with
# the two usual repairs: keep $p$ away from 0 and 1 by 1e-12, or by 1e-7. The true losses are
# very nearly $z$ itself. Predict which column is right where.

# %%
scores = np.array([5.0, 15.0, 20.0, 200.0], "float32")
p = Tensor(scores).sigmoid()
with np.errstate(divide="ignore"):
    recipe = -(1 - p).log()
    repair = -(1 - p.clip(1e-12, 1 - 1e-12)).log()
clipped = -(1 - p.clip(1e-7, 1 - 1e-7)).log()
for z, *row in zip(scores, recipe, repair, clipped):
    print(f"z {z:5.0f}   recipe {row[0]:8.4f}   1e-12 {row[1]:8.4f}   1e-7 {row[2]:8.4f}")

# %% [markdown]
# From $z = 20$ on, `float32` cannot tell $p$ from 1, and $\log 0$ is infinite. The first repair
# is none: `1 - 1e-12` is exactly 1 in `float32`. The second gives a finite number, the same for
# 20 and for 200. There the loss is flat: its slope is 0, and the most mistaken predictions are
# the ones that stop learning. The digits were lost in the sigmoid; no clip brings them back.

# %% [markdown]
# So do not go through $p$ at all. Put the sigmoid into the price and simplify: with $y$ = 1 for
# yes and 0 for no,
#
# $$-y \log p - (1 - y) \log(1 - p) = \log(1 + e^z) - zy.$$
#
# Only $e^z$ is left to overflow, at 89 in `float32`. The larger part leaves the logarithm:
# $\log(1 + e^z) = \max(z, 0) + \log(1 + e^{-|z|})$. Check that for a positive and a negative
# $z$.
#
# One more thing, for later. $\max(z, 0)$ has a corner at $z = 0$, where every untrained network
# stands, and its slope there would be anybody's choice. $(z + |z|) / 2$ is the same number, and
# its slope at 0 is a half, which is right.

# %% [markdown]
# A target between 0 and 1 is a fair wish (0.9: nearly sure). Others are accidents, -1 for "no"
# the commonest: with it the loss falls below 0 without end. This check is given; you will write
# its sister.

# %%
#| exporti
def check_probabilities(target):
    """Raise ValueError unless every number in the ndarray `target` is from 0 to 1; names the
    first that is not."""
    # "not inside" rather than "outside", so that nan is bad
    bad = ~((target >= 0) & (target <= 1))
    if bad.any():
        place = tuple(np.argwhere(bad)[0].tolist())
        raise ValueError(
            f"the target {target[place]} at {place} is no probability: 0 is no, 1 is yes, "
            "or a number in between")

# %% [markdown]
# **Task.** Write `binary_cross_entropy_with_logits`.

# %% exercise="bce"
#| export
def binary_cross_entropy_with_logits(logits, target, reduction="mean"):
    """The surprise at yes or no, in nats, where sigmoid(logit) is the probability of yes.

    logits     Tensor, array or list of scores, any real numbers; not probabilities
    target     the same shape: 0 for no, 1 for yes, or a probability of yes; no gradient goes
               into it
    reduction  "mean" over every number, "sum", or "none"
    returns    Tensor of shape (), or of the logits' shape for "none", in the logits' dtype

    Logits of +-1000 must work. Raises ValueError when shapes differ, also when they would
    broadcast, and for targets outside 0 to 1, with the first of them and its place.

    >>> binary_cross_entropy_with_logits(Tensor([1000.0, -1000.0]), [1, 1], reduction="none")
    Tensor([   0., 1000.])

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 6.2.2.2.
    """
    ### BEGIN SOLUTION
    z = as_float_tensor(logits)
    y = matched(z, target)
    check_probabilities(y)
    magnitude = abs(z)
    return reduced((z + magnitude) / 2 - z * y + (1 + (-magnitude).exp()).log(), reduction)
    ### END SOLUTION

# %% checks="bce"
check("bce")

# %%
for z, *row in zip(scores, recipe, clipped,
                   binary_cross_entropy_with_logits(Tensor(scores), np.zeros(4), "none")):
    print(f"z {z:5.0f}   recipe {row[0]:8.4f}   1e-7 {row[1]:8.4f}   from logits {row[2]:8.4f}")

# %% [markdown]
# ## Why not the squared error?
#
# One could also compare the probability with 0 or 1 by `mse_loss`. It has the same minimum.
# What matters is the way there: training walks down the slope. The outcome below is yes.
# Predict both curves at $z = -8$, where the network is sure of no: which is steep, which is
# flat?

# %%
import matplotlib.pyplot as plt

line = np.linspace(-8, 8, 161)
yes = np.ones(161)
figure, axes = plt.subplots(figsize=(6, 3.5))
axes.plot(line, binary_cross_entropy_with_logits(line, yes, "none").data,
          label="cross-entropy of the logit")
axes.plot(line, mse_loss(Tensor(line).sigmoid(), yes, "none").data,
          label="squared error of the probability")
axes.set_xlabel("logit z (the outcome is yes)")
axes.set_ylabel("loss")
axes.legend()
# alt: Two losses against the logit when the answer is yes. Far on the wrong side cross-entropy
# rises in a straight line to 8, the squared error flattens out at 1; both go to 0 on the right
# side.

# %% [markdown]
# Let both learn. Start at $z = -8$ and step against the slope, found by nudging $z$ a little,
# until yes is the likelier answer. Predict how many steps each needs.

# %%
def steps_until_yes(loss, z=-8.0, nudge=1e-4):
    """How many steps of size 1 take the logit z from "surely no" to "rather yes"."""
    for step in range(5000):
        if z > 0:
            return step
        z -= (float(loss(np.array(z + nudge))) - float(loss(np.array(z - nudge)))) / (2 * nudge)


print("cross-entropy", steps_until_yes(lambda z: binary_cross_entropy_with_logits(z, 1)))
print("squared error", steps_until_yes(lambda z: mse_loss(Tensor(z).sigmoid(), 1)))

# %% [markdown]
# The slope of the cross-entropy is $p - y$: the error itself, close to -1 here. The squared
# error's slope is that times $2p(1 - p)$, almost nothing when the network is sure. Sure and
# wrong, it hardly learns.

# %% [markdown]
# ## One class among many
#
# Ten digits, ten scores $z_0 \dots z_9$. Softmax makes them probabilities, and the price is
# again the surprise at the true class $y$:
#
# $$-\log \frac{e^{z_y}}{\sum_j e^{z_j}} = \log \sum_j e^{z_j} - z_y.$$
#
# The first part is called *log-sum-exp*. It is a soft maximum: never below the largest score,
# and above it by at most the log of the number of classes. Predict it for 3, 1, 0 and for 0, 0,
# 0, 0, then what this line makes of 1000, 998:

# %%
for row in ([3.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0], [1000.0, 998.0], [-1000.0, -998.0]):
    with np.errstate(over="ignore", divide="ignore"):
        print(row, np.log(np.exp(np.array(row, "float32")).sum()))

# %% [markdown]
# Infinity for one, minus infinity for the other: every power overflowed, or every power was 0.
# But a constant taken off all scores of a row comes straight out, $\log \sum_j e^{z_j - c} =
# \log \sum_j e^{z_j} - c$, and you may choose $c$. In the loss it even cancels: log-sum-exp
# minus true score is the same before and after. So shift once, and go on with the shifted
# scores. Small numbers keep their digits, too: near 10,000 `float32` has three after the point.
#
# **Task.** Write `shifted_log_sum_exp` on plain NumPy arrays, along the *last* axis.

# %% exercise="log-sum-exp"
#| export
def shifted_log_sum_exp(scores):
    """The scores with each row's largest taken off, and log(sum of exp) of what is left, along
    the last axis.

    scores   ndarray of shape (..., classes), classes >= 1, numbers of any size
    returns  two ndarrays: the shifted scores, all <= 0, of the same shape, and their
             log-sum-exp, of shape (...), from 0 to log(classes); both with the dtype of
             `scores`, which is not changed

    The log-sum-exp of the scores themselves is the second plus what was taken off.

    >>> shifted, total = shifted_log_sum_exp(np.array([[1000.0, 1000.0], [0.0, -1000.0]]))
    >>> shifted.tolist(), total.round(3).tolist()
    ([[0.0, 0.0], [0.0, -1000.0]], [0.693, 0.0])

    Source: Blanchard, Higham, Higham, Accurately computing the log-sum-exp and softmax
    functions (2021).
    """
    ### BEGIN SOLUTION
    shifted = scores - scores.max(axis=-1, keepdims=True)
    return shifted, np.log(np.exp(shifted).sum(axis=-1))
    ### END SOLUTION

# %% checks="log-sum-exp"
check("log-sum-exp")

# %% [markdown]
# ## Labels
#
# The true class comes as its number, from 0 to classes - 1: one whole number per row. NumPy,
# asked for the score at that place, is too obliging. Predict what each line gives, for somebody
# who marks "unknown" as -1, and for somebody who counts their three classes 1, 2, 3:

# %%
row = np.array([0.1, 0.2, 0.7])
print(row[-1])
try:
    print(row[3])
except IndexError as error:
    print(error)

# %% [markdown]
# The first accident is silent: "unknown" is learned as the last class. So labels are checked
# first. What they may be and which shape they must have is given; read what it refuses.

# %%
#| exporti
def as_labels(labels, shape):
    """`labels` as a new ndarray of whole numbers with one for each row of logits of `shape`.

    labels   int, nested lists, array or Tensor of any integer dtype
    shape    the logits' shape, (..., classes)

    Raises TypeError for fractions, True and False, ValueError for one-hot rows and any other
    shape.
    """
    labels = copy_of(labels.data if isinstance(labels, Tensor) else labels)
    if not shape or shape[-1] == 0:
        raise ValueError(f"logits of shape {shape} have no classes: they must have shape (..., "
                         "classes)")
    if labels.shape == shape and labels.size:
        raise ValueError(f"labels and logits both have shape {shape}: "
                         f"labels are class numbers, one per row, of shape {shape[:-1]}; "
                         "from one-hot rows take labels.argmax(-1)")
    if labels.dtype.kind not in "iu" and labels.size:
        raise TypeError(f"labels are class numbers, whole numbers from 0 to {shape[-1] - 1}; "
                        f"yours are {labels.dtype}, the first is {labels.flat[0]}, "
                        f"of shape {labels.shape} for logits of shape {shape}")
    if labels.shape != shape[:-1]:
        raise ValueError(f"labels of shape {labels.shape} for logits of shape {shape}: "
                         f"there must be one label per row of scores, shape {shape[:-1]}; "
                         "the classes are the last axis")
    return labels if labels.size else labels.astype(np.int64)  # [] is float64 to NumPy

# %% [markdown]
# **Task.** Write `check_labels`, the sister of `check_probabilities`: which numbers name a
# class? Ten thousand labels may come at once, so say *which* one is wrong and *where* it
# stands.

# %% exercise="labels"
#| export
def check_labels(labels, shape):
    """Raise ValueError unless every label is a class number of logits of `shape`.

    labels   ndarray of whole numbers, of shape shape[:-1] (or a single number, shape ())
    shape    the logits' shape, (..., classes)
    returns  None

    The error names the first bad label, its place (a tuple of ints), the labels' shape and the
    logits' shape.

    >>> check_labels(np.array([0, 2, 1]), (3, 3))
    >>> check_labels(np.array([0, 3, -1]), (3, 3))  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    ValueError: label 3 at (1,) is no class: logits of shape (3, 3) have classes 0 to 2
        (labels have shape (3,))

    Source: PyTorch's torch.nn.functional.cross_entropy refuses them too: "Target 3 is out of
    bounds."
    """
    ### BEGIN SOLUTION
    bad = (labels < 0) | (labels >= shape[-1])
    if bad.any():
        place = tuple(np.argwhere(bad)[0].tolist())
        raise ValueError(f"label {labels[place]} at {place} is no class: "
                         f"logits of shape {shape} have classes 0 to {shape[-1] - 1} (labels "
                         f"have shape {labels.shape})")
    ### END SOLUTION

# %% checks="labels"
check("labels")

# %% [markdown]
# ## The score of the true class
#
# Row $i$ of the scores, column `labels[i]`. For each row one number, so the last axis goes.
# Predict the shape of `scores[..., labels]` and of `scores[labels]` for scores of shape (4, 3)
# and four labels: neither is (4,).
#
# **Task.** Write `true_scores` for any number of axes in front, without a loop.

# %% exercise="true-scores"
#| export
def true_scores(scores, labels):
    """From each row of scores the one of its true class.

    scores   ndarray of shape (..., classes)
    labels   ndarray of class numbers from 0, of shape (...)
    returns  ndarray of shape (...), with the dtype of scores

    >>> true_scores(np.array([[5, 6, 7], [8, 9, 10]]), np.array([2, 0])).tolist()
    [7, 8]

    Source: NumPy user guide, "Indexing on ndarrays"; PyTorch calls it gather.
    """
    ### BEGIN SOLUTION
    return np.take_along_axis(scores, labels[..., None], axis=-1)[..., 0]
    ### END SOLUTION

# %% checks="true-scores"
check("true-scores")

# %% [markdown]
# ## Never quite sure
#
# The loss of the true class only reaches 0 when its score is infinitely far above the others,
# so training pushes scores apart for ever. *Label smoothing* asks for less: of the target's
# certainty, a share $s$ is spread evenly over all $C$ classes, the true one included.
#
# Predict the target for $s = 0.1$ with 4 classes, true class 2. Does it add up to 1?

# %%
smoothing, classes = 0.1, 4
print(np.full(classes, smoothing / classes) + (1 - smoothing) * np.eye(classes)[2])

# %% [markdown]
# The loss weighs the surprise at each class with the target. Mind that the weights add up to 1:
# log-sum-exp comes out whole,
#
# $$\sum_j t_j \left(\log \sum_k e^{z_k} - z_j\right) =
# \log \sum_k e^{z_k} - (1 - s)\, z_y - s\, \bar z,$$
#
# where $\bar z$ is the plain mean of the row's scores. So smoothing costs one mean more, and no
# table of targets is built.

# %% [markdown]
# **Task.** Write `cross_entropy_forward`: NumPy arrays in, one loss per row out. A trap: a
# class may be ruled out by a score of $-\infty$, and 0 times that is nan. So without smoothing
# there must be no mean.

# %% exercise="forward"
#| export
def cross_entropy_forward(logits, labels, smoothing):
    """The surprise of each row of scores at its true class, in nats.

    logits     ndarray of shape (..., classes)
    labels     ndarray of class numbers from 0, of shape (...)
    smoothing  the share of the target spread evenly over all classes, from 0 to 1; the true
               class keeps 1 - smoothing + smoothing / classes
    returns    ndarray of shape (...), the same float dtype; no input is changed

    Works at +-1000, and with scores of -inf when smoothing is 0.

    >>> cross_entropy_forward(np.array([[0.0, 0.0], [1000.0, 0.0]]),
    ...                       np.array([1, 1]), 0.0).round(3).tolist()
    [0.693, 1000.0]

    Source: Szegedy et al., Rethinking the Inception architecture (2016), section 7, for the
    smoothing.
    """
    ### BEGIN SOLUTION
    shifted, total = shifted_log_sum_exp(logits)
    wanted = true_scores(shifted, labels)
    if smoothing:
        wanted = (1 - smoothing) * wanted + smoothing * shifted.mean(axis=-1)
    return total - wanted
    ### END SOLUTION

# %% checks="forward"
check("forward")

# %% [markdown]
# ## One operation
#
# The formula could be written with Tensor operations, as the binary one was: nine of them, nine
# notes, and several arrays as large as the logits kept until the slopes are known. Or the whole
# forward function goes through the door *once*. Its derivative then needs one rule, and that
# rule is a surprise: softmax minus target. The autograd lesson writes it in one line.
#
# **Task.** Write `cross_entropy`. The pieces are there; the order matters, and so does what the
# note will say.

# %% exercise="cross-entropy"
#| export
def cross_entropy(logits, labels, reduction="mean", label_smoothing=0.0):
    """The surprise at the true classes, in nats, where softmax(logits) are the probabilities.

    logits           Tensor, array or list of scores of shape (..., classes); not probabilities.
                     The classes are the LAST axis (PyTorch puts them second)
    labels           class numbers from 0, of shape (...): int, list, array or Tensor of any
                     integer dtype
    reduction        "mean" over the rows, "sum", or "none"
    label_smoothing  the share of the target spread evenly over all classes, from 0 to 1
    returns          Tensor of shape (), or (...) for "none", in the logits' dtype

    One operation, `cross_entropy_forward`, with the options `labels` (a copy, checked) and
    `smoothing` (a float); then `reduced`. Raises TypeError or ValueError for labels that name
    no class or do not fit, ValueError for a label_smoothing outside 0 to 1.

    >>> cross_entropy(Tensor([[0.0, 0.0], [1000.0, 0.0]]), [0, 0], reduction="none")
    Tensor([0.6931472, 0.       ])

    Source: Bishop, Pattern recognition and machine learning (2006), section 4.3.4.
    """
    ### BEGIN SOLUTION
    logits = as_float_tensor(logits)
    labels = as_labels(labels, logits.shape)
    check_labels(labels, logits.shape)
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"label_smoothing is a share from 0 to 1, not {label_smoothing}")
    losses = apply(cross_entropy_forward, logits, labels=labels,
                   smoothing=float(label_smoothing))
    return reduced(losses, reduction)
    ### END SOLUTION

# %% checks="cross-entropy"
check("cross-entropy")

# %% [markdown]
# What does one operation save? Here is the formula from Tensor operations, and a count of notes
# and of the numbers they hold on to, for 64 rows of 1000 classes. Predict both ratios.

# %%
import time


def composed(logits, labels):
    """The same loss, from nine operations."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return (shifted.exp().sum(axis=-1).log() - shifted[np.arange(len(labels)), labels]).mean()


def cost(loss, logits, labels):
    """Milliseconds (the best of five), notes, and different numbers kept by the notes."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        out = loss(logits, labels)
        times.append(1000 * (time.perf_counter() - start))
    notes, arrays, todo = {}, {}, [out]
    while todo:
        made = todo.pop().creator
        if made is not None and made.created not in notes:
            notes[made.created] = made
            arrays |= {id(a): a.size for a in made.arrays if isinstance(a, np.ndarray)}
            todo += [x for x in made.inputs if isinstance(x, Tensor)]
    return min(times), len(notes), sum(arrays.values())


random = np.random.default_rng(0)
logits = Tensor(random.normal(size=(64, 1000)).astype("float32"), requires_grad=True)
labels = random.integers(0, 1000, 64)
print(f"the same loss: {float(composed(logits, labels)):.5f} and "
      f"{float(cross_entropy(logits, labels)):.5f}")
for name, loss in [("composed", composed), ("one operation", cross_entropy)]:
    milliseconds, notes, numbers = cost(loss, logits, labels)
    print(f"{name:14} {milliseconds:.2f} ms   {notes} notes   {numbers:,} numbers kept")

# %% [markdown]
# The way forward costs about the same: NumPy computes the same powers. The gain is on the way
# back, where each of nine rules would walk over its array and one rule walks over one. And the
# one rule cannot lose digits between steps.

# %% [markdown]
# ## As objects
#
# A training loop likes to choose its loss once, with its options, and call it a thousand times.
# Three small classes, given, under PyTorch's names.

# %%
#| export
class MSELoss:
    """`mse_loss` with its reduction chosen beforehand.

    >>> MSELoss("sum")(Tensor([1.0, 2.0]), [0.0, 0.0])
    Tensor(5.)
    """

    def __init__(self, reduction="mean"):
        self.reduction = reduction

    def __call__(self, prediction, target):
        return mse_loss(prediction, target, self.reduction)

    def __repr__(self):
        return f"MSELoss(reduction={self.reduction!r})"


class BCEWithLogitsLoss:
    """`binary_cross_entropy_with_logits` with its reduction chosen beforehand.

    >>> BCEWithLogitsLoss()(Tensor([0.0]), [1])
    Tensor(0.6931472)
    """

    def __init__(self, reduction="mean"):
        self.reduction = reduction

    def __call__(self, logits, target):
        return binary_cross_entropy_with_logits(logits, target, self.reduction)

    def __repr__(self):
        return f"BCEWithLogitsLoss(reduction={self.reduction!r})"


class CrossEntropyLoss:
    """`cross_entropy` with its reduction and label smoothing chosen beforehand; the classes are
    the last axis.

    >>> CrossEntropyLoss(label_smoothing=0.1)
    CrossEntropyLoss(reduction='mean', label_smoothing=0.1)
    """

    def __init__(self, reduction="mean", label_smoothing=0.0):
        self.reduction, self.label_smoothing = reduction, label_smoothing

    def __call__(self, logits, labels):
        return cross_entropy(logits, labels, self.reduction, self.label_smoothing)

    def __repr__(self):
        return (f"CrossEntropyLoss(reduction={self.reduction!r}, "
                f"label_smoothing={self.label_smoothing})")

# %% [markdown]
# ## What the numbers mean
#
# A network that has learned nothing scores all classes alike. Its loss is the first number that
# a training run should print. Predict it for 10 classes before you run:

# %%
for classes in (2, 10, 1000, 50_000):
    print(f"{classes:6,} classes   loss of a uniform guess "
          f"{cross_entropy(np.zeros((1, classes)), [0]).item():.3f}")

# %% [markdown]
# It is $\ln C$. A first loss far above it says that the first scores are too large, not that
# the problem is hard. Backwards, $e^{\text{loss}}$ is a number of classes: among how many the
# network is as good as guessing.
#
# Next, ten classes, where the true one leads the others by the margin given. Is it worse to be
# unsure or to be sure and wrong, and by how much?

# %%
for margin in (10.0, 5.0, 0.0, -5.0, -10.0):
    scores = np.zeros((1, 10))
    scores[0, 3] = margin
    plain, smooth = (cross_entropy(scores, [3]).item(),
                     cross_entropy(scores, [3], label_smoothing=0.1).item())
    print(f"margin {margin:4.0f}   probability {np.exp(-plain):.5f}   loss {plain:8.5f}   "
          f"smoothed {smooth:7.4f}")

# %% [markdown]
# Above 0 the loss falls towards nothing, below 0 it grows by almost one per point of margin.
# One row that is sure and wrong weighs as much as thousands that are right: a mean of losses is
# led by its worst rows, and a wrong label in the data is one of them.
#
# In the last column a margin of 10 is *worse* than one of 5. Where is the best margin?

# %%
margins = np.linspace(0, 10, 1001)
scores = np.zeros((1001, 10))
scores[:, 3] = margins
losses = cross_entropy(scores, np.full(1001, 3), "none", label_smoothing=0.1)
best = margins[losses.argmin().item()]
print(f"best margin {best:.2f}, where the true class has probability "
      f"{np.exp(best) / (np.exp(best) + 9):.3f}")

# %% [markdown]
# There the probability is that of the target, $1 - s + s/C = 0.91$. Smoothing asks the network
# for exactly this much certainty, and charges for more.

# %% [markdown]
# ## Look back
#
# 1. Your training run prints 2.303 for ten classes and stays there; another prints 14 at first
#    and then falls. What does each number tell you, before you read any code?
# 2. Pass probabilities to `cross_entropy`: `cross_entropy([[0.98, 0.01, 0.01]], [0])`. Nothing
#    complains. What is the smallest loss that probabilities can reach there, for 3 classes and
#    for 1000? What would training make of it?
# 3. Two classes can be trained with one logit and `binary_cross_entropy_with_logits`, or with
#    two and `cross_entropy`. For which two logits do both give the same loss? Check your answer
#    with numbers.
