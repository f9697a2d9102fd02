# From modules/source/05_losses/losses_dev.py by `tito export`, docstrings shortened; edit that file.
# checksum: 68e0171edd607fee
"""Losses: Mean squared error and cross-entropy, correct for logits of any size."""

import numpy as np

from tinytorch.core.tensor import Tensor, apply
from tinytorch.support.arguments import OptionsOnly
from tinytorch.support.arrays import copy_of

__all__ = [
    "as_target", "reduce_losses", "mse_loss", "binary_cross_entropy_with_logits", "shifted_log_sum_exp",
    "check_labels", "target_logits", "cross_entropy_forward", "cross_entropy", "MSELoss", "BCEWithLogitsLoss",
    "CrossEntropyLoss",
]


def as_float_tensor(x):
    """`x` as a Tensor of floating-point numbers: a float Tensor as it is, integers and lists as
    float32."""
    x = x if isinstance(x, Tensor) else Tensor(x)
    return x if x.dtype.kind == "f" else Tensor(x.data.astype(np.float32))


def as_target(prediction, target):
    """`target` as an array that can be compared with `prediction` elementwise.

    target      Tensor, array, nested lists or a number, of exactly the prediction's shape
    returns     a new ndarray with the prediction's dtype, which shares no memory with `target`

    Raises ValueError when the shapes differ, even if they would broadcast.

    >>> as_target(Tensor([0.5, 2.0]), [1, 3])
    array([1., 3.], dtype=float32)
    """
    target = Tensor(target).data
    if target.shape != prediction.shape:
        raise ValueError(f"the prediction has shape {prediction.shape}, the target "
                         f"{target.shape}: they must be equal, because broadcasting would "
                         "compare predictions with the targets of other examples\nif both "
                         f"hold the same examples, write target.reshape{prediction.shape}")
    return target.astype(prediction.dtype)


def reduce_losses(losses, reduction="mean"):
    """One number for many losses, or the losses themselves.

    losses     Tensor of any shape
    returns    Tensor of shape (), or `losses` for "none"

    Raises ValueError for any other reduction. Raises ValueError for "mean" when `losses` is
    empty.

    >>> reduce_losses(Tensor([[0.5, 2.0], [3.0, 4.5]]), "mean")
    Tensor(2.5)
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


def mse_loss(prediction, target, *, reduction="mean"):
    """The squared error, (prediction - target) squared.

    target      the same shape, in any form
    returns     Tensor of shape (), or of the prediction's shape for "none", in the prediction's
                dtype

    Raises ValueError when the shapes differ, even if they would broadcast.

    >>> mse_loss(Tensor([1.0, 2.0, 3.0]), [1.0, 0.5, 6.0], reduction="none")
    Tensor([0.  , 2.25, 9.  ])
    """
    prediction = as_float_tensor(prediction)
    error = prediction - as_target(prediction, target)
    return reduce_losses(error * error, reduction)


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


def binary_cross_entropy_with_logits(logits, target, *, reduction="mean"):
    """The negative log-likelihood of yes or no, in nats, if sigmoid(logit) is the probability
    of yes.

    target     the same shape: 0 for no, 1 for yes, or a probability of yes
    returns    Tensor of shape (), or of the logits' shape for "none", in the logits' dtype

    Raises ValueError when the shapes differ, even if they would broadcast. Raises ValueError
    for targets outside 0 to 1.

    >>> binary_cross_entropy_with_logits(Tensor([1000.0, -1000.0]), [1, 1], reduction="none")
    Tensor([   0., 1000.])
    """
    z = as_float_tensor(logits)
    y = as_target(z, target)
    check_probabilities(y)
    magnitude = abs(z)
    losses = (z + magnitude) / 2 - z * y + (1 + (-magnitude).exp()).log()
    return reduce_losses(losses, reduction)


def shifted_log_sum_exp(logits):
    """The logits minus the largest of their row, and the log-sum-exp of these shifted logits,
    along the last axis.

    logits   ndarray of shape (..., classes), classes >= 1, of any size
    returns  two ndarrays with the dtype of `logits`. The second: their log-sum-exp, of shape
             (...)
    """
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted, np.log(np.exp(shifted).sum(axis=-1))


def as_labels(labels, shape):
    """`labels` as a new ndarray of integers, one per row of logits with this shape.

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


def check_labels(labels, shape):
    """Raise ValueError unless every label is a class of logits with this shape: 0 to
    classes - 1.

    labels   ndarray of integers of any width, of shape shape[:-1] (() for a single number)
    shape    the logits' shape, (..., classes)
    """
    bad = (labels < 0) | (labels >= shape[-1])
    if bad.any():
        index = tuple(np.argwhere(bad)[0].tolist())
        raise ValueError(f"label {labels[index]} at {index} is no class: logits of shape "
                         f"{shape} have classes 0 to {shape[-1] - 1} (labels have shape "
                         f"{labels.shape})")


def target_logits(logits, labels):
    """For each row of logits, the logit of its true class.

    logits   ndarray of shape (..., classes)
    labels   ndarray of class numbers from 0, of shape (...) and any integer dtype
    returns  ndarray of shape (...), with the dtype of logits

    >>> target_logits(np.array([[5, 6, 7], [8, 9, 10]]), np.array([2, 0])).tolist()
    [7, 8]
    """
    columns = labels[..., None]
    return np.take_along_axis(logits, columns, axis=-1)[..., 0]


def cross_entropy_forward(logits, labels, smoothing):
    """The cross-entropy of each row of logits, in nats.

    logits     ndarray of shape (..., classes)
    labels     ndarray of class numbers from 0, of shape (...)
    returns    ndarray of shape (...), the same float dtype
    """
    shifted, total = shifted_log_sum_exp(logits)
    true = target_logits(shifted, labels)
    if smoothing:
        true = (1 - smoothing) * true + smoothing * shifted.mean(axis=-1)
    return total - true


def cross_entropy(logits, labels, *, reduction="mean", label_smoothing=0.0):
    """The cross-entropy of the true classes, in nats, if softmax(logits) are the probabilities.

    logits           Tensor, array or list of real numbers, shape (..., classes)
    labels           class numbers from 0, of shape (...): int, list, array or Tensor of any
                     integer dtype
    returns          Tensor of shape (), or (...) for "none", in the logits' dtype

    Raises ValueError for a label_smoothing outside 0 to 1.

    >>> cross_entropy(Tensor([[0.0, 0.0], [1000.0, 0.0]]), [0, 0], reduction="none")
    Tensor([0.6931472, 0.       ])
    """
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"label_smoothing is a share from 0 to 1, not {label_smoothing}")
    logits = as_float_tensor(logits)
    labels = as_labels(labels, logits.shape)
    check_labels(labels, logits.shape)
    losses = apply(cross_entropy_forward, logits, labels=labels,
                   smoothing=float(label_smoothing))
    return reduce_losses(losses, reduction)


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


class CrossEntropyLoss(OptionsOnly):
    """`cross_entropy` with a fixed reduction and label smoothing, stored in the attributes
    `reduction` and `label_smoothing`.
    """

    def __init__(self, *, reduction="mean", label_smoothing=0.0):
        self.reduction = reduction
        self.label_smoothing = label_smoothing

    def __call__(self, logits, labels):
        return cross_entropy(logits, labels, reduction=self.reduction,
                             label_smoothing=self.label_smoothing)

    def __repr__(self):
        return (f"CrossEntropyLoss(reduction={self.reduction!r}, "
                f"label_smoothing={self.label_smoothing})")
