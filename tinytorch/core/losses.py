# From modules/source/04_losses/losses_dev.py by `tito export`; edit that file, not this one.
# checksum: 5e12a6578689c74a
"""Losses: One number that says how wrong a network is, at any size."""

import numpy as np

from tinytorch.core.tensor import Tensor, apply
from tinytorch.support.arrays import copy_of

__all__ = [
    "matched", "reduced", "mse_loss", "binary_cross_entropy_with_logits", "shifted_log_sum_exp", "check_labels",
    "true_scores", "cross_entropy_forward", "cross_entropy", "MSELoss", "BCEWithLogitsLoss", "CrossEntropyLoss",
]


def as_float_tensor(x):
    """`x` as a Tensor of fractions: a float Tensor as it is, whole numbers and lists as
    float32."""
    x = x if isinstance(x, Tensor) else Tensor(x)
    return x if x.dtype.kind == "f" else Tensor(x.data.astype(np.float32))


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
    target = Tensor(target).data
    if target.shape != prediction.shape:
        raise ValueError(f"the prediction has shape {prediction.shape}, "
                         f"the target {target.shape}: they must be equal, "
                         "or broadcasting would compare predictions with the targets of others")
    return target.astype(prediction.dtype)


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
    prediction = as_float_tensor(prediction)
    error = prediction - matched(prediction, target)
    return reduced(error * error, reduction)


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
    z = as_float_tensor(logits)
    y = matched(z, target)
    check_probabilities(y)
    magnitude = abs(z)
    return reduced((z + magnitude) / 2 - z * y + (1 + (-magnitude).exp()).log(), reduction)


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
    shifted = scores - scores.max(axis=-1, keepdims=True)
    return shifted, np.log(np.exp(shifted).sum(axis=-1))


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
    bad = (labels < 0) | (labels >= shape[-1])
    if bad.any():
        place = tuple(np.argwhere(bad)[0].tolist())
        raise ValueError(f"label {labels[place]} at {place} is no class: "
                         f"logits of shape {shape} have classes 0 to {shape[-1] - 1} (labels "
                         f"have shape {labels.shape})")


def true_scores(scores, labels):
    """From each row of scores the one of its true class.

    scores   ndarray of shape (..., classes)
    labels   ndarray of class numbers from 0, of shape (...)
    returns  ndarray of shape (...), with the dtype of scores

    >>> true_scores(np.array([[5, 6, 7], [8, 9, 10]]), np.array([2, 0])).tolist()
    [7, 8]

    Source: NumPy user guide, "Indexing on ndarrays"; PyTorch calls it gather.
    """
    return np.take_along_axis(scores, labels[..., None], axis=-1)[..., 0]


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
    shifted, total = shifted_log_sum_exp(logits)
    wanted = true_scores(shifted, labels)
    if smoothing:
        wanted = (1 - smoothing) * wanted + smoothing * shifted.mean(axis=-1)
    return total - wanted


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
    logits = as_float_tensor(logits)
    labels = as_labels(labels, logits.shape)
    check_labels(labels, logits.shape)
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"label_smoothing is a share from 0 to 1, not {label_smoothing}")
    losses = apply(cross_entropy_forward, logits, labels=labels,
                   smoothing=float(label_smoothing))
    return reduced(losses, reduction)


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
