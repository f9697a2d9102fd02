# %% [markdown]
# # 05. Losses
#
# A network is almost certain that the answer is "no": its logit is -8. The right answer,
# however, is "yes". Below, the network is trained on this one example with two different
# losses. With the first loss it answers "yes" after 9 steps, with the second after 1,507,
# although both losses are smallest for the same answer. Why is one so much faster?

# %% tags=["payoff"]
#| default_exp core.losses
#| export
import numpy as np

from tinytorch.core.tensor import Tensor, apply
from tinytorch.support.arguments import OptionsOnly
from tinytorch.support.arrays import copy_of

# %% tags=["payoff"]
from tinytorch.pictures.drawing import panel


def train_logit(derivative, z=-8.0, steps=2000):
    """The logit after 0, 1, ..., `steps` steps of size 1 against the derivative of the loss."""
    path = [z]
    for _ in range(steps):
        p = 1 / (1 + np.exp(-path[-1]))
        path.append(path[-1] - derivative(p))
    return path


figure, axes = panel("the right answer is yes", "training step", "logit z", xscale="log",
                     xlim=(1, 2000), ylim=(-9, 9))
axes.plot(train_logit(lambda p: p - 1))
axes.plot(train_logit(lambda p: 2 * (p - 1) * p * (1 - p)), "--", color="black")
axes.axhline(0, color="C3", linewidth=1)
axes.text(9, -2.8, "cross-entropy")
axes.text(60, -6.6, "squared error")
axes.text(1.2, 0.6, "yes");
# caption: Where the network is most wrong, the squared error gives almost no gradient.
# alt: The logit against the training step, on a logarithmic axis. With cross-entropy it rises
# at once and crosses 0 at step 9; with the squared error it stays near -8 until 1,500.

# %% [markdown]
# A **loss function** takes predictions and targets, and computes one number that says how wrong
# the predictions are. Because training uses only the derivative of the loss to make that number
# smaller, it never corrects an error that the loss does not measure, and it stops where the
# derivative is 0.
#
# **You need** 02 (Tensor) and 03 (Activations). **You build** `mse_loss`,
# `binary_cross_entropy_with_logits`, `cross_entropy` and `CrossEntropyLoss`. The functions that
# check their inputs are given. The losses of logits must be correct even for logits of 1000.

# %% [markdown] page="Losses from likelihood"
# ## Mean squared error
#
# The first loss is for predictions that are numbers, such as prices. The **mean squared error**
# (MSE) is the mean of the squared differences between predictions and targets. Squaring makes
# every error positive, and one large error worse than two errors that are half as large.
#
# Below, a network predicts the prices of three houses, in units of 100,000. Each prediction is
# exactly right. Predict the loss before you run:

# %% tags=["answer", "explained"]
predictions = Tensor([[1.0], [2.0], [3.0]])  # as a network returns them: one column
prices = Tensor([1.0, 2.0, 3.0])
print(((predictions - prices) ** 2).mean())

# %% [markdown]
# The shapes (3, 1) and (3,) broadcast to (3, 3): every prediction was compared with every
# price. Although there is no error and no warning, a network trained with this loss learns to
# predict the average price.
#
# A second accident happens with equal shapes. Pixels are often `uint8`, integers from 0 to 255.
# Predict 3 - 5:

# %% tags=["answer", "explained"]
print(np.array([3], "uint8") - np.array([5], "uint8"))

# %% [markdown]
# A `uint8` cannot be negative, so -2 becomes 256 - 2.
#
# Both accidents are easy to prevent before anything is computed, with two functions that are
# given. `as_float_tensor` converts integers to `float32` and leaves floating-point tensors as
# they are.

# %%
#| exporti
def as_float_tensor(x):
    """`x` as a Tensor of floating-point numbers: a float Tensor as it is, integers and lists as
    float32."""
    x = x if isinstance(x, Tensor) else Tensor(x)
    return x if x.dtype.kind == "f" else Tensor(x.data.astype(np.float32))

# %% [markdown]
# `as_target` prepares the target, which can be a list, an array or a tensor of any dtype. It
# refuses a target of another shape than the prediction's, and converts the target to the dtype
# of the prediction, because otherwise one `float64` target would double the memory of
# everything computed from it.

# %%
#| export
def as_target(prediction, target):
    """`target` as an array that can be compared with `prediction` elementwise.

    prediction  Tensor of floating-point numbers
    target      Tensor, array, nested lists or a number, of exactly the prediction's shape
    returns     a new ndarray with the prediction's dtype, which shares no memory with `target`;
                not a Tensor, because a target gets no gradient

    Raises ValueError when the shapes differ, even if they would broadcast. The message contains
    both shapes.

    >>> as_target(Tensor([0.5, 2.0]), [1, 3])
    array([1., 3.], dtype=float32)

    Source: PyTorch only warns: "Using a target size (...) that is different to the input size
    (...)".
    """
    target = Tensor(target).data
    if target.shape != prediction.shape:
        raise ValueError(f"the prediction has shape {prediction.shape}, the target "
                         f"{target.shape}: they must be equal, because broadcasting would "
                         "compare predictions with the targets of other examples\nif both "
                         f"hold the same examples, write target.reshape{prediction.shape}")
    return target.astype(prediction.dtype)

# %% [markdown]
# ## Reduction
#
# A batch has one loss for every example, or for every element, and training needs a single
# number. The **reduction** of a loss is the operation that turns many losses into one: "mean"
# or "sum" (as in lesson 02, over all axes). When the batch grows, the mean stays about the
# same, but the sum grows, and with it the size of the training steps. With "none" the losses
# are not combined, so that you can look at the worst examples.
#
# Predict: an empty batch has no losses. What is their mean?

# %% tags=["answer", "explained"]
with np.errstate(invalid="ignore"):
    print(Tensor(np.zeros((0, 3), "float32")).mean())

# %% [markdown]
# 0 / 0 is `nan`, and one training step with it makes every weight `nan`. So `reduce_losses`,
# which is given, refuses an empty batch.

# %%
#| export
def reduce_losses(losses, reduction="mean"):
    """One number for many losses, or the losses themselves.

    losses     Tensor of any shape
    reduction  "mean" over all elements, "sum" of all elements, or "none"
    returns    Tensor of shape (), or `losses` for "none"; computed with Tensor operations, so
               that it is recorded

    Raises ValueError for any other reduction; the message contains repr(reduction) and the
    words mean, sum and none. Raises ValueError for "mean" when `losses` is empty; the message
    contains the word empty and the shape.

    >>> reduce_losses(Tensor([[0.5, 2.0], [3.0, 4.5]]), "mean")
    Tensor(2.5)

    Source: the parameter `reduction` of the losses in torch.nn.functional.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction is 'mean', 'sum' or 'none', not {reduction!r}")
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    if losses.size == 0:
        raise ValueError(f"an empty batch has no mean loss: the losses have shape "
                         f"{losses.shape}")
    return losses.mean()

# %% [markdown]
# **Task.** Write `mse_loss`. You have one function for the prediction, one for the target and
# one for the reduction.

# %% Mean squared error exercise="mse"
#| export
def mse_loss(prediction, target, *, reduction="mean"):
    """The squared error, (prediction - target) squared.

    prediction  Tensor, array or list; integers become float32
    target      the same shape, in any form; it gets no gradient
    reduction   "mean" over all elements, "sum", or "none"
    returns     Tensor of shape (), or of the prediction's shape for "none", in the prediction's
                dtype; recorded

    Raises ValueError when the shapes differ, even if they would broadcast; the message contains
    both shapes.

    >>> mse_loss(Tensor([1.0, 2.0, 3.0]), [1.0, 0.5, 6.0], reduction="none")
    Tensor([0.  , 2.25, 9.  ])

    Source: Gauss, Theory of the motion of the heavenly bodies (1809), section 179.
    """
    ### BEGIN SOLUTION
    prediction = as_float_tensor(prediction)
    error = prediction - as_target(prediction, target)
    return reduce_losses(error * error, reduction)
    ### END SOLUTION

# %% checks="mse"
check("mse")

# %%
try:
    mse_loss(predictions, prices)
except ValueError as error:
    print(error)
print(mse_loss(predictions, prices.unsqueeze(1)))

# %% [markdown]
# ## Negative log-likelihood
#
# The second loss is for questions with two answers. Will it rain? A network outputs a logit
# $z$, and the sigmoid turns it into the probability $p$ of "yes". The **likelihood** is the
# probability that a model gave to the answer that turned out to be true. Here it is $p$ if it
# rained and $1 - p$ if it did not. The **negative log-likelihood** is minus the logarithm of
# the likelihood. It is 0 for a certain and right prediction, and it grows without limit as the
# probability of the true answer goes to 0. The **nat** is the unit of a negative log-likelihood
# that is computed with the natural logarithm; with the logarithm to base 2 the unit is the
# *bit*.
#
# Write the target as $y$: 1 for yes and 0 for no. Then the negative log-likelihood is
# $-y \log p - (1 - y) \log(1 - p)$. This formula is called the *binary cross-entropy*.

# %% [markdown]
# The code below computes it in `float32`, for a day without rain ($y = 0$) and four logits. The
# first column uses the formula as it is. The other two use a common repair: they first clip
# $p$, the second column to the range from 1e-12 to 1 - 1e-12, the third to the range from 1e-7
# to 1 - 1e-7. The true losses are almost equal to $z$: 5.0067 for $z = 5$. Predict which column
# is right in which rows.

# %% tags=["answer", "explained"]
logits = np.array([5.0, 15.0, 20.0, 200.0], "float32")
p = Tensor(logits).sigmoid()
with np.errstate(divide="ignore"):
    unclipped = -(1 - p).log()
    clipped_12 = -(1 - p.clip(1e-12, 1 - 1e-12)).log()
clipped_7 = -(1 - p.clip(1e-7, 1 - 1e-7)).log()
for z, *row in zip(logits, unclipped, clipped_12, clipped_7):
    print(f"z {z:5.0f}   unclipped {row[0]:8.4f}   1e-12 {row[1]:8.4f}   1e-7 {row[2]:8.4f}")

# %% [markdown]
# At $z = 15$ the decimals are already wrong. From $z = 20$ on, $p$ is rounded to 1 in
# `float32`, and $\log 0$ is infinite. The first repair does nothing, because `1 - 1e-12` is
# also rounded to 1. The second gives a finite loss, but because it is the same for 20 and for
# 200, the derivative there is 0, and the network does not learn from its worst predictions. The
# digits were lost in the sigmoid, and clipping cannot restore them.

# %% [markdown]
# So do not compute $p$ at all. Insert the formula of the sigmoid into the loss and simplify. Do
# this once on paper, because the code afterwards is only one line:
#
# $$-y \log p - (1 - y) \log(1 - p) = \log(1 + e^z) - zy.$$
#
# Only $e^z$ can still overflow, at $z = 89$ in `float32`. To avoid this, factor the larger of 1
# and $e^z$ out of the sum $1 + e^z$: $\log(1 + e^z) = \max(z, 0) + \log(1 + e^{-|z|})$. Check
# this equation for a positive and for a negative $z$.

# %% [markdown]
# One problem is left: the derivative at $z = 0$, where untrained networks start. The derivative
# of the loss is $p - y$, so at 0 it must be $1/2 - y$. The formula has three parts. At 0, the
# part $-zy$ contributes $-y$. The logarithm contributes 0, because `abs` has the derivative 0
# there by convention. So $\max(z, 0)$ must contribute 1/2.
#
# The function `relu(z)` computes $\max(z, 0)$, but its derivative at 0 is 0 by convention. Use
# $(z + |z|) / 2$: it is the same number, and its derivative at 0 is 1/2.

# %% [markdown]
# A target can also be a probability, such as 0.9. A target outside 0 to 1 is a mistake. The
# most common one is -1 for "no": with it the loss falls below 0, without limit. The check for
# this is given.

# %%
#| exporti
def check_probabilities(target):
    """Raise ValueError unless every element of the ndarray `target` is from 0 to 1; the error
    names the first that is not and its index."""
    # "not inside" rather than "outside", because this also refuses nan
    bad = ~((target >= 0) & (target <= 1))
    if bad.any():
        index = tuple(np.argwhere(bad)[0].tolist())
        raise ValueError(
            f"the target {target[index]} at {index} is no probability: 0 is no, 1 is yes, "
            "or a number in between")

# %% [markdown]
# **Task.** Write `binary_cross_entropy_with_logits`.

# %% Binary cross-entropy exercise="bce"
#| export
def binary_cross_entropy_with_logits(logits, target, *, reduction="mean"):
    """The negative log-likelihood of yes or no, in nats, if sigmoid(logit) is the probability
    of yes.

    logits     Tensor, array or list of real numbers; not probabilities
    target     the same shape: 0 for no, 1 for yes, or a probability of yes; it gets no gradient
    reduction  "mean" over all elements, "sum", or "none"
    returns    Tensor of shape (), or of the logits' shape for "none", in the logits' dtype;
               recorded, with the derivative sigmoid(z) - target, also at z = 0

    Logits of +-1000 must work. Raises ValueError when the shapes differ, even if they would
    broadcast; the message contains both shapes. Raises ValueError for targets outside 0 to 1;
    the message contains the first of them and its index.

    >>> binary_cross_entropy_with_logits(Tensor([1000.0, -1000.0]), [1, 1], reduction="none")
    Tensor([   0., 1000.])

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 6.2.2.2.
    """
    ### BEGIN SOLUTION
    z = as_float_tensor(logits)
    y = as_target(z, target)
    check_probabilities(y)
    magnitude = abs(z)
    losses = (z + magnitude) / 2 - z * y + (1 + (-magnitude).exp()).log()
    return reduce_losses(losses, reduction)
    ### END SOLUTION

# %% checks="bce"
check("bce")

# %%
stable = binary_cross_entropy_with_logits(Tensor(logits), np.zeros(4), reduction="none")
for z, *row in zip(logits, unclipped, clipped_7, stable):
    print(f"z {z:5.0f}   unclipped {row[0]:8.4f}   1e-7 {row[1]:8.4f}   "
          f"from logits {row[2]:8.4f}")

# %% [markdown]
# ## Cross-entropy or squared error?
#
# You could also use `mse_loss` to compare the probability with the target. The minimum is at
# the same place, but training depends on the derivative. The right answer below is yes, while
# at $z = -8$ the network is sure that it is no. Predict which of the two curves is steep there,
# and which one is flat.

# %% tags=["answer"]
from tinytorch.core.activations import numerical_derivative


def squared_error(z):
    return mse_loss(z.sigmoid(), np.ones(z.shape), reduction="none")


def cross_entropy_of_yes(z):
    return binary_cross_entropy_with_logits(z, np.ones(z.shape), reduction="none")


line = Tensor(np.linspace(-8, 8, 161))
figure, axes = panel("tangents at z = -8; the right answer is yes", "logit z", "loss",
                     ylim=(-0.4, 9.5))
for name, loss, look, place in (("cross-entropy", cross_entropy_of_yes, "C0-", (-4.5, 7.0)),
                                ("squared error", squared_error, "k--", (1.2, 2.2))):
    axes.plot(line.data, loss(line).data, look)
    start, derivative = float(loss(line)[0]), float(numerical_derivative(loss, -8.0))
    ends = np.array([-8.0, -4.5])
    axes.plot(ends, start + derivative * (ends + 8), "C1", linewidth=6, alpha=0.5)
    axes.text(*place, f"{name}\nderivative {derivative:.5f}")
# caption: For a confident wrong answer, only cross-entropy has a derivative that training can
# use.
# alt: Two losses against the logit. At -8 cross-entropy is 8 and its tangent falls steeply,
# derivative -0.99966; the squared error is 1 and its tangent is flat, derivative -0.00067. Both
# go to 0 at the right.

# %% [markdown]
# Now train with both losses: start at $z = -8$ and repeat steps of size 1 against the
# derivative until "yes" is the likelier answer. These are the steps of the first picture:

# %% tags=["payoff"]
def steps_until_yes(loss, z=-8.0):
    """How many steps of size 1 against the derivative take the logit z above 0."""
    for step in range(5000):
        if z > 0:
            return step
        z -= float(numerical_derivative(loss, z))


print("cross-entropy", steps_until_yes(cross_entropy_of_yes))
print("squared error", steps_until_yes(squared_error))

# %% [markdown]
# The derivative of the cross-entropy is $p - y$, the error itself, which is close to -1 here.
# The derivative of the squared error is $2(p - y)\,p(1 - p)$. Because its factor $p(1 - p)$,
# the derivative of the saturated sigmoid, is close to 0 here, a network that is sure and wrong
# hardly learns with the squared error.

# %% [markdown] page="Cross-entropy without overflow"
# ## Log-sum-exp
#
# The third loss is for questions with several answers. A network that recognizes ten digits
# outputs ten logits $z_0 \dots z_9$. Softmax turns them into probabilities. The loss is again
# the negative log-likelihood, now of the true class $y$:
#
# $$-\log \frac{e^{z_y}}{\sum_j e^{z_j}} = \log \sum_j e^{z_j} - z_y.$$
#
# The **log-sum-exp** of some numbers is the logarithm of the sum of their exponentials. It is a
# smooth maximum: for $n$ numbers it lies between the largest number and the largest number plus
# $\log n$. Predict the log-sum-exp of 3, 1, 0 and of 0, 0, 0, 0. Then predict what this code
# computes for 1000, 998:

# %% tags=["answer", "explained"]
for row in ([3.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0], [1000.0, 998.0], [-1000.0, -998.0]):
    with np.errstate(over="ignore", divide="ignore"):
        print(row, np.log(np.exp(np.array(row, "float32")).sum()))

# %% [markdown]
# The exponentials overflow in the third row, and all of them are 0 in the last.
#
# As with softmax, subtract a constant $c$: $\log \sum_j e^{z_j - c} = \log \sum_j e^{z_j} - c$.
# Because $c$ cancels in the loss if you also subtract it from $z_y$, shift once, and compute
# everything from the shifted logits. Small numbers are also more precise: near 10,000,
# `float32` has only three digits after the point.
#
# **Task.** Write `shifted_log_sum_exp` for plain NumPy arrays, along the *last* axis.

# %% Log-sum-exp exercise="log-sum-exp"
#| export
def shifted_log_sum_exp(logits):
    """The logits minus the largest of their row, and the log-sum-exp of these shifted logits,
    along the last axis.

    logits   ndarray of shape (..., classes), classes >= 1, of any size; -inf is allowed
    returns  two ndarrays with the dtype of `logits`. The first: the shifted logits, of the same
             shape; all are <= 0. The second: their log-sum-exp, of shape (...); all are from 0
             to log(classes)

    Does not change `logits`.
    The log-sum-exp of the logits themselves is the second array plus the largest logits.

    >>> shifted, total = shifted_log_sum_exp(np.array([[1000.0, 1000.0], [0.0, -1000.0]]))
    >>> shifted.tolist(), total.round(3).tolist()
    ([[0.0, 0.0], [0.0, -1000.0]], [0.693, 0.0])

    Source: Blanchard, Higham, Higham, Accurately computing the log-sum-exp and softmax
    functions (2021).
    """
    ### BEGIN SOLUTION
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted, np.log(np.exp(shifted).sum(axis=-1))
    ### END SOLUTION

# %% checks="log-sum-exp"
check("log-sum-exp")

# %% [markdown]
# ## Labels
#
# Before we compute a loss of several classes, we check its labels. The true class is given by
# its number, its *label*: one integer per row, from 0 to the number of classes minus one. The
# alternative is one vector per row. A **one-hot** vector has one element per class: 1 for the
# true class and 0 for all others. With many classes, most of the memory would hold zeros.
#
# NumPy accepts some labels that are not class numbers. Suppose that one data set marks unknown
# classes with -1, and that another numbers its three classes 1, 2, 3. Predict what the code
# prints for the labels -1 and 3:

# %% tags=["answer", "explained"]
row = np.array([0.1, 0.2, 0.7])
print(row[-1])
try:
    print(row[3])
except IndexError as error:
    print(error)

# %% [markdown]
# The label -1 raises no error: the network would learn "unknown" as the last class.
#
# We therefore check labels before we use them. Two checks are given: `as_labels` checks dtype
# and shape, and its docstring says what it refuses.

# %%
#| exporti
def as_labels(labels, shape):
    """`labels` as a new ndarray of integers, one per row of logits with this shape.

    labels   int, nested lists, array or Tensor of any integer dtype
    shape    the logits' shape, (..., classes)

    Raises TypeError for floating-point numbers and for True and False. Raises ValueError for
    one-hot rows and for any other wrong shape.
    """
    labels = copy_of(labels.data if isinstance(labels, Tensor) else labels)
    if not shape or shape[-1] == 0:
        raise ValueError(f"logits of shape {shape} have no classes: they must have shape (..., "
                         "classes)")
    if labels.shape == shape and labels.size:
        one_hot = np.isin(labels, (0, 1)).all() and (labels.sum(-1) == 1).all()
        cure = "from one-hot rows take labels.argmax(-1)" if one_hot else (
            "for probabilities p write -(p * log_softmax(logits)).sum(-1).mean()")
        raise ValueError(f"labels and logits both have shape {shape}: labels are class "
                         f"numbers, one per row, of shape {shape[:-1]}\n{cure}")
    if labels.dtype.kind not in "iu" and labels.size:
        raise TypeError(f"labels are class numbers, integers from 0 to {shape[-1] - 1}; yours "
                        f"are {labels.dtype}, the first is {labels.flat[0]}, of shape "
                        f"{labels.shape} for logits of shape {shape}\n"
                        "if they are whole numbers, take labels.astype(int)")
    if labels.shape != shape[:-1]:
        column = labels.shape == (*shape[:-1], 1)
        raise ValueError(f"labels of shape {labels.shape} for logits of shape {shape}: there "
                         f"must be one label per row of logits, shape {shape[:-1]}\n"
                         + ("take labels[..., 0]" if column else "give the labels of the "
                            "same batch; the classes are the last axis of the logits"))
    return labels if labels.size else labels.astype(np.int64)  # [] is float64 to NumPy

# %% [markdown]
# `check_labels` checks the values of the labels, as `check_probabilities` does for targets. A
# batch may hold ten thousand labels, so the error says *which* label is wrong and *where* it
# is.

# %%
#| export
def check_labels(labels, shape):
    """Raise ValueError unless every label is a class of logits with this shape: 0 to
    classes - 1.

    labels   ndarray of integers of any width, of shape shape[:-1] (() for a single number)
    shape    the logits' shape, (..., classes)
    returns  None

    The error contains `label L at I` with the first bad label L and its index I, a tuple of
    integers; both shapes; and `0 to C`, where C is the last class.

    >>> check_labels(np.array([0, 2, 1]), (3, 3))
    >>> check_labels(np.array([0, 3, -1]), (3, 3))  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    ValueError: label 3 at (1,) is no class: logits of shape (3, 3) have classes 0 to 2
        (labels have shape (3,))

    Source: torch.nn.functional.cross_entropy, whose error is "Target 3 is out of bounds."
    """
    bad = (labels < 0) | (labels >= shape[-1])
    if bad.any():
        index = tuple(np.argwhere(bad)[0].tolist())
        raise ValueError(f"label {labels[index]} at {index} is no class: logits of shape "
                         f"{shape} have classes 0 to {shape[-1] - 1} (labels have shape "
                         f"{labels.shape})")

# %% [markdown]
# ## The logit of the true class
#
# The loss needs one logit of each row: in row $i$, the logit in column `labels[i]`. The result
# has no class axis. Predict the shapes of `logits[..., labels]` and of `logits[labels]` for
# logits of shape (4, 3) and four labels:

# %% tags=["answer", "explained"]
logits, labels = np.zeros((4, 3)), np.array([2, 0, 1, 1])
print(logits[..., labels].shape, logits[labels].shape)

# %% [markdown]
# Neither is (4,): the first takes four columns of every row, the second takes four whole rows.
#
# **Task.** Write `target_logits` for any number of leading axes, without a loop.

# %% The logits of the true classes exercise="target-logits"
#| export
def target_logits(logits, labels):
    """For each row of logits, the logit of its true class.

    logits   ndarray of shape (..., classes)
    labels   ndarray of class numbers from 0, of shape (...) and any integer dtype
    returns  ndarray of shape (...), with the dtype of logits

    >>> target_logits(np.array([[5, 6, 7], [8, 9, 10]]), np.array([2, 0])).tolist()
    [7, 8]

    Source: NumPy user guide, "Indexing on ndarrays"; PyTorch calls it gather.
    """
    ### BEGIN SOLUTION
    columns = labels[..., None]
    return np.take_along_axis(logits, columns, axis=-1)[..., 0]
    ### END SOLUTION

# %% checks="target-logits"
check("target-logits")

# %% [markdown]
# ## Cross-entropy and label smoothing
#
# Logits and labels are ready, so we can write the loss for several classes. The
# **cross-entropy** of target probabilities $t_j$ and predicted probabilities $p_j$ is $-\sum_j
# t_j \log p_j$. If the target is one-hot, only the true class counts, and the cross-entropy is
# the negative log-likelihood.
#
# Because the loss with a one-hot target reaches 0 only when the true logit is infinitely far
# above the others, training increases the true logit forever. **Label smoothing** changes the
# one-hot target: it distributes a share $s$ of the probability evenly over all $C$ classes, the
# true class included. Predict the target for $s = 0.1$, 4 classes and true class 2. Does it sum
# to 1?

# %% tags=["answer"]
smoothing, classes = 0.1, 4
print(np.full(classes, smoothing / classes) + (1 - smoothing) * np.eye(classes)[2])

# %% [markdown]
# Insert $\log p_j = z_j - \log \sum_k e^{z_k}$. Because the targets sum to 1, the cross-entropy
# is
#
# $$\sum_j t_j \left(\log \sum_k e^{z_k} - z_j\right) =
# \log \sum_k e^{z_k} - (1 - s)\, z_y - s\, \bar z,$$
#
# where $\bar z$ is the mean of the row's logits. So smoothing needs only one additional mean,
# and no table of targets.
#
# **Task.** Write `cross_entropy_forward`. It takes NumPy arrays and returns one loss per row. A
# logit of $-\infty$ excludes a class. Because the mean $\bar z$ is then $-\infty$, and $0 \cdot
# \infty$ is `nan`, do not compute the mean when $s$ is 0.

# %% The forward pass of cross-entropy exercise="forward"
#| export
def cross_entropy_forward(logits, labels, smoothing):
    """The cross-entropy of each row of logits, in nats.

    logits     ndarray of shape (..., classes)
    labels     ndarray of class numbers from 0, of shape (...)
    smoothing  the share of the target spread evenly over all classes, from 0 to 1; the true
               class gets 1 - smoothing + smoothing / classes
    returns    ndarray of shape (...), the same float dtype; no input is changed

    Works at +-1000, and with logits of -inf when smoothing is 0.

    >>> cross_entropy_forward(np.array([[0.0, 0.0], [1000.0, 0.0]]),
    ...                       np.array([1, 1]), 0.0).round(3).tolist()
    [0.693, 1000.0]

    Source: Szegedy et al., Rethinking the Inception architecture (2016), section 7, for the
    smoothing.
    """
    ### BEGIN SOLUTION
    shifted, total = shifted_log_sum_exp(logits)
    true = target_logits(shifted, labels)
    if smoothing:
        true = (1 - smoothing) * true + smoothing * shifted.mean(axis=-1)
    return total - true
    ### END SOLUTION

# %% checks="forward"
check("forward")

# %%
for smoothing in (0.0, 0.1):
    losses = cross_entropy_forward(np.array([[2.0, 1.0, 0.0], [9.0, 0.0, 0.0]]),
                                   np.array([1, 0]), smoothing)
    print(f"smoothing {smoothing}: losses {losses.round(3)}")

# %% [markdown]
# Smoothing does not change the first loss, because the true logit of the first row is the mean
# of the row. It raises the second loss, because there the true logit is larger than the mean of
# its row.

# %% [markdown]
# ## The derivative of cross-entropy
#
# You wrote the binary cross-entropy with Tensor operations. Here the whole forward function
# becomes *one* operation: it goes through `apply` once. Lesson 06 then needs only one
# derivative, and it is surprisingly simple: the derivative of the loss with respect to the
# logits is softmax minus target, $p_j - t_j$. In the drawing, the true class is 1.

# %%
from tinytorch.pictures.losses import draw_cross_entropy_gradient

draw_cross_entropy_gradient([2.0, 1.0, 0.0], label=1)
# alt: Bars of the probabilities 0.665, 0.245, 0.09, with the target 0, 1, 0 as dashed outlines.
# Below, the gradient, probability minus target: 0.665, -0.755, 0.09, with the sum 0. Below it,
# the logits after one step, 1.33, 1.76, -0.09, and the loss before and after, 1.41 and 0.596.

# %% [markdown]
# A step against the gradient raises the logit of the true class and lowers the others, and the
# changes sum to 0. Check two of the numbers with a central difference:

# %%
logits, h = np.array([2.0, 1.0, 0.0]), 1e-5
for j in range(2):
    step = h * np.eye(3)[j]
    up, down = [cross_entropy_forward(z, np.array(1), 0.0) for z in (logits + step,
                                                                      logits - step)]
    print(f"class {j}: {(up - down) / (2 * h):.6f}")

# %% [markdown]
# With label smoothing the same rule holds. Predict the sign of the gradient of the true class,
# if its probability is .995 and its target .933:

# %% tags=["answer"]
draw_cross_entropy_gradient([6.0, 0.0, 0.0], label=0, smoothing=0.1)
# alt: Probabilities 0.995, 0.00247, 0.00247; targets 0.933, 0.0333, 0.0333. The gradient is
# 0.0617 for the true class and -0.0309 for the others: a step lowers the true logit.

# %% [markdown]
# **Task.** Write `cross_entropy` from `cross_entropy_forward` and `reduce_losses`. Check the
# labels before you use them. `apply` records its options, and lesson 06 reads the labels from
# the record. Because the caller may by then have written the next batch into the same array,
# pass the copy that `as_labels` returns.

# %% Cross-entropy as one operation exercise="cross-entropy"
#| export
def cross_entropy(logits, labels, *, reduction="mean", label_smoothing=0.0):
    """The cross-entropy of the true classes, in nats, if softmax(logits) are the probabilities.

    logits           Tensor, array or list of real numbers, shape (..., classes); not
                     probabilities. The classes are the LAST axis (PyTorch: the second)
    labels           class numbers from 0, of shape (...): int, list, array or Tensor of any
                     integer dtype
    reduction        "mean" over the rows, "sum", or "none"
    label_smoothing  the share of the target spread evenly over all classes, from 0 to 1
    returns          Tensor of shape (), or (...) for "none", in the logits' dtype

    First `as_labels` copies the labels and `check_labels` checks the copy; both raise errors.
    Raises ValueError for a label_smoothing outside 0 to 1; the message contains it. Then
    `apply` computes `cross_entropy_forward` as one operation, with two options: `labels`, the
    copy, and `smoothing`, a Python float. Last comes `reduce_losses`.

    >>> cross_entropy(Tensor([[0.0, 0.0], [1000.0, 0.0]]), [0, 0], reduction="none")
    Tensor([0.6931472, 0.       ])

    Source: Bishop, Pattern recognition and machine learning (2006), section 4.3.4.
    """
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"label_smoothing is a share from 0 to 1, not {label_smoothing}")
    ### BEGIN SOLUTION
    logits = as_float_tensor(logits)
    labels = as_labels(labels, logits.shape)
    check_labels(labels, logits.shape)
    losses = apply(cross_entropy_forward, logits, labels=labels,
                   smoothing=float(label_smoothing))
    return reduce_losses(losses, reduction)
    ### END SOLUTION

# %% checks="cross-entropy"
check("cross-entropy")

# %% [markdown]
# What does one operation save? Below is the same formula written with Tensor operations. Both
# are run on 64 rows of 1000 classes. `cost` counts two things: the recorded operations, and the
# numbers that they keep in memory for the derivatives. Predict how many times more operations
# and numbers `composed` needs.

# %%
import time


def composed(logits, labels):
    """The same loss, from several Tensor operations."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return (shifted.exp().sum(axis=-1).log() - shifted[np.arange(len(labels)), labels]).mean()

# %%
def cost(loss, logits, labels):
    """Milliseconds (the best of five), recorded operations, and numbers kept in memory."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        out = loss(logits, labels)
        times.append(1000 * (time.perf_counter() - start))
    nodes, arrays, todo = {}, {}, [out]
    while todo:
        node = todo.pop().creator
        if node is not None and node.created not in nodes:
            nodes[node.created] = node
            arrays |= {id(a): a.size for a in node.arrays if isinstance(a, np.ndarray)}
            todo += [x for x in node.inputs if isinstance(x, Tensor)]
    return min(times), len(nodes), sum(arrays.values())

# %% tags=["answer", "explained"]
random = np.random.default_rng(0)
logits = Tensor(random.normal(size=(64, 1000)).astype("float32"), requires_grad=True)
labels = random.integers(0, 1000, 64)
print(f"the same loss: {float(composed(logits, labels)):.5f} and "
      f"{float(cross_entropy(logits, labels)):.5f}")
for name, loss in [("composed", composed), ("one operation", cross_entropy)]:
    milliseconds, operations, numbers = cost(loss, logits, labels)
    print(f"{name:14} {milliseconds:.2f} ms   {operations} operations   {numbers:,} numbers")

# %% [markdown]
# The forward passes take about the same time, because NumPy computes the same exponentials. One
# operation also keeps fewer numbers until the backward pass (lesson 06), which then reads one
# large array instead of several.

# %% [markdown] page="What a loss says"
# ## Loss modules
#
# A training loop chooses its loss once, with its options, and calls it thousands of times. So
# each loss also exists as a class, with PyTorch's name. Two are given.

# %%
#| export
class MSELoss(OptionsOnly):
    """`mse_loss` with a fixed reduction.

    >>> MSELoss(reduction="sum")(Tensor([1.0, 2.0]), [0.0, 0.0])
    Tensor(5.)
    """

    def __init__(self, *, reduction="mean"):
        self.reduction = reduction

    def __call__(self, prediction, target):
        return mse_loss(prediction, target, reduction=self.reduction)

    def __repr__(self):
        return f"MSELoss(reduction={self.reduction!r})"


class BCEWithLogitsLoss(OptionsOnly):
    """`binary_cross_entropy_with_logits` with a fixed reduction.

    >>> BCEWithLogitsLoss()(Tensor([0.0]), [1])
    Tensor(0.6931472)
    """

    def __init__(self, *, reduction="mean"):
        self.reduction = reduction

    def __call__(self, logits, target):
        return binary_cross_entropy_with_logits(logits, target, reduction=self.reduction)

    def __repr__(self):
        return f"BCEWithLogitsLoss(reduction={self.reduction!r})"

# %% [markdown]
# **Task.** Write the third, `CrossEntropyLoss`.

# %% The CrossEntropyLoss module exercise="cross-entropy-loss"
#| export
class CrossEntropyLoss(OptionsOnly):
    """`cross_entropy` with a fixed reduction and label smoothing, stored in the attributes
    `reduction` and `label_smoothing`.

    CrossEntropyLoss(**options)(logits, labels) is cross_entropy(logits, labels, **options),
    with the same defaults.

    >>> loss = CrossEntropyLoss(label_smoothing=0.1)
    >>> loss
    CrossEntropyLoss(reduction='mean', label_smoothing=0.1)
    >>> loss(Tensor([[0.0, 0.0]]), [1])
    Tensor(0.6931472)

    Source: torch.nn.CrossEntropyLoss.
    """

    def __init__(self, *, reduction="mean", label_smoothing=0.0):
        ### BEGIN SOLUTION
        self.reduction = reduction
        self.label_smoothing = label_smoothing
        ### END SOLUTION

    def __call__(self, logits, labels):
        ### BEGIN SOLUTION
        return cross_entropy(logits, labels, reduction=self.reduction,
                             label_smoothing=self.label_smoothing)
        ### END SOLUTION

    def __repr__(self):
        return (f"CrossEntropyLoss(reduction={self.reduction!r}, "
                f"label_smoothing={self.label_smoothing})")

# %% checks="cross-entropy-loss"
check("cross-entropy-loss")

# %% [markdown]
# ## Entropy
#
# How small can a cross-entropy become, and how large is it before training? The **entropy** of
# a probability distribution is its cross-entropy with itself, $-\sum_j p_j \log p_j$. It is the
# smallest mean loss that any prediction can reach if the answers follow that distribution. A
# network that has learned nothing gives all $C$ classes the same probability. Predict its loss
# for 10 classes:

# %% tags=["answer", "explained"]
for classes in (2, 10, 1000, 50_000):
    print(f"{classes:6,} classes   loss of equal probabilities "
          f"{cross_entropy(np.zeros((1, classes)), [0]).item():.3f}")

# %% [markdown]
# The loss is $\ln C$, the entropy of a uniform distribution. If the first loss of a training
# run is far above $\ln C$, the initial logits are too large, although the problem need not be
# hard. A loss of $L$ is as good as guessing among $e^L$ equally likely classes.
#
# Next, take rows of ten logits: the logit of the true class, and nine equal logits for the
# wrong classes. The *margin* is the true logit minus a wrong one. Predict by how much the loss
# falls when the margin grows by 1: when the network is right, and when it is wrong.

# %% tags=["answer", "explained"]
margins = np.linspace(-6, 10, 321)
ten = np.zeros((321, 10))
ten[:, 3] = margins
plain, smooth = [cross_entropy(ten, np.full(321, 3), reduction="none", label_smoothing=s).data
                 for s in (0.0, 0.1)]
best = margins[smooth.argmin()]
figure, axes = panel("ten classes", "margin of the true logit", "loss", ylim=(-1.1, 9))
axes.plot(margins, plain)
axes.plot(margins, smooth, "--", color="black")
axes.plot(best, smooth.min(), "o", color="black")
axes.text(-4, 7.2, "both fall by almost 1\nwhen the margin grows by 1")
axes.text(2.6, 2.2, "label smoothing 0.1:\n" f"minimum at {best:.2f}")
axes.text(5.0, -0.8, "no smoothing");
# alt: The loss against the margin. Left of 0 both curves fall by almost 1 when the margin grows
# by 1. Without smoothing the loss goes to 0; with smoothing it has a minimum at 4.5 and rises
# again.

# %% [markdown]
# When the network is wrong (margin below 0), the loss falls by almost 1 when the margin grows
# by 1. When it is right, the loss falls less and less, until it reaches its minimum. A single
# row that is sure and wrong weighs as much as thousands of rows that are sure and right, so the
# worst rows dominate the mean loss. A wrong label in the data produces such a row. At the
# minimum of the smoothed loss, the true class has the probability of its target,
# $1 - s + s/C = 0.91$.

# %% [markdown]
# ## Calibration
#
# A prediction can be right and its probability still be wrong. **Calibration** means that
# predicted probabilities agree with frequencies: of all predictions made with probability 0.8,
# about 80 % turn out right. Below, the answers are drawn at random with the probabilities
# softmax(z). Three networks give the logits $z/3$, $z$ and $3z$, which all have their largest
# logit at the same class, so the accuracy is the same. Predict which loss is smallest.

# %% tags=["answer", "explained"]
random = np.random.default_rng(5)
logits = 1.5 * random.normal(size=(20_000, 4))
probabilities = Tensor(logits).exp().data
probabilities /= probabilities.sum(axis=-1, keepdims=True)
labels = (probabilities.cumsum(axis=-1) < random.uniform(size=(20_000, 1))).sum(axis=-1)
entropy = -(probabilities * np.log(probabilities)).sum(axis=-1).mean()
for factor in (1 / 3, 1, 3):
    shifted, total = shifted_log_sum_exp(factor * logits)
    confidence = np.exp(-total).mean()  # the largest probability of each row
    accuracy = (logits.argmax(axis=-1) == labels).mean()
    print(f"logits * {factor:.2f}: confidence {confidence:.3f}, accuracy {accuracy:.3f}, "
          f"loss {cross_entropy(factor * logits, labels).item():.3f}")
print(f"entropy of the answers: {entropy:.3f}")

# %% [markdown]
# The second network is calibrated: its mean confidence is its accuracy, and its loss is the
# entropy, up to the random error of 20,000 draws. The first is underconfident, the third is
# overconfident. The mean cross-entropy is smallest for the true probabilities, so training with
# it also improves calibration.

# %% [markdown] question="honest-forecast" points=4
# **Question.** It rains on 70 of 100 days. A forecaster knows nothing about a single day, so
# she gives the same probability p of rain for every day. Take three losses: the squared error
# (`mse_loss`), the negative log-likelihood (`binary_cross_entropy_with_logits` with z = log(p /
# (1 - p))), and the absolute error |p - y|. First predict the best p for each loss. Then
# compute the mean loss over the 100 days for p = 0.01, 0.02, ..., 0.99.
#
# 1. Which p has the smallest mean loss, for each of the three losses?
# 2. Explain the result for the absolute error. Write its mean as a function of p.
# 3. Which of the three losses can train a network whose outputs are used as probabilities? What
#    is wrong with the outputs of a network that was trained with the other one, and why does
#    the accuracy not show it?
#
# **Your answer:**
#
# ### BEGIN SOLUTION
# The squared error (0.210) and the negative log-likelihood (0.611) are smallest at p = 0.70,
# the frequency of rain. The absolute error is smallest at 0.99, the end of the range (0.304).
#
# The absolute error is 1 - p on 70 days and p on 30 days. Its mean is a straight line:
# 0.7 (1 - p) + 0.3 p = 0.7 - 0.4 p. The minimum of a line is at an end: here at p = 1. Its
# derivative is -0.4 for every p. The derivative of the mean squared error is 2 (p - 0.7), and
# it is 0 at 0.7.
#
# The first two losses can train such a network, because they are smallest for the true
# probability. With the absolute error, the network learns to say that rain is certain. It says
# so on all days and is right on 70 of them: it is overconfident, so it is not calibrated. The
# accuracy does not show this. If p above 0.5 counts as "rain", 0.7 and 0.99 give the same
# answers, and both are right on 70 days.
#
# - 1 point: 0.70 for the first two losses, and 0.99 (or 1) for the absolute error
# - 1 point: the mean absolute error is the line 0.7 - 0.4 p, so its minimum is at an end
# - 1 point: the first two losses, because their minimum is at the true frequency
# - 1 point: with the absolute error the outputs are overconfident or not calibrated, and the
#   accuracy is the same for every p above 0.5
# ### END SOLUTION

# %% [markdown]
# ## Look back
#
# 1. Your training run prints 2.303 for ten classes and stays there; another prints 14 at first
#    and then falls. What does each number tell you, before you read any code?
# 2. Pass probabilities to `cross_entropy`: `cross_entropy([[0.98, 0.01, 0.01]], [0])`. No error
#    is raised. What is the smallest loss that you can get by passing probabilities, for 3
#    classes and for 1000? What would training with such a loss do?
# 3. Two classes can be trained with one logit and `binary_cross_entropy_with_logits`, or with
#    two and `cross_entropy`. For which two logits do both give the same loss? Check your answer
#    with numbers.
#
# **In PyTorch**: `torch.nn.functional.mse_loss`, `binary_cross_entropy_with_logits` and
# `cross_entropy`, and the classes under the same names. There the classes are the *second*
# axis, labels must be `int64` or `uint8`, and rows with the label -100 are left out
# (`ignore_index`).

# %% [markdown] tags=["answer"]
# 1. 2.303 is ln 10: the model gives each of ten classes the same probability, so it has learned
#    nothing. A loss of 14 means confident wrong answers, because the first logits are too
#    large.
# 2. The best that probabilities can do is 1 for the right class and 0 for the others: 0.551 for
#    3 classes, 5.909 for 1,000. Training stops at these values, with probabilities that are far
#    from the right ones after the second softmax.
# 3. For every pair of logits whose difference is the one logit, such as (0, z): the sigmoid of
#    z is the softmax of (0, z). Both losses of z = 1.7 for the second class are 0.1678.
