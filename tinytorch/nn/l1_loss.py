"""The mean absolute error, under PyTorch's names. What it computes with is built in lesson 05."""

from tinytorch.core.losses import as_float_tensor, as_target, reduce_losses
from tinytorch.support.arguments import OptionsOnly


def l1_loss(prediction, target, *, reduction="mean"):
    """The absolute error |prediction - target|, in their unit. One prediction that is far off
    counts less than in `mse_loss`, where its error is squared.

    prediction  Tensor, array or list; integers become float32
    target      the same shape, in any form; it gets no gradient
    reduction   "mean" over all elements, "sum", or "none"
    returns     Tensor of shape (), or of the prediction's shape for "none", in the prediction's
                dtype; recorded. Its derivative where both are equal is 0

    Raises ValueError when the shapes differ, even if they would broadcast, naming both.

    >>> from tinytorch import Tensor
    >>> l1_loss(Tensor([1.0, 2.0, 3.0]), [1.0, 0.5, 6.0], reduction="none")
    Tensor([0. , 1.5, 3. ])

    Source: torch.nn.functional.l1_loss.
    """
    x = as_float_tensor(prediction)
    return reduce_losses(abs(x - as_target(x, target)), reduction)


class L1Loss(OptionsOnly):
    """`l1_loss` with a fixed reduction.

    >>> L1Loss(reduction="sum")([1.0, 2.0], [0.0, 5.0])
    Tensor(4.)
    """

    def __init__(self, *, reduction="mean"):
        self.reduction = reduction

    def __call__(self, prediction, target):
        return l1_loss(prediction, target, reduction=self.reduction)

    def __repr__(self):
        return f"L1Loss(reduction={self.reduction!r})"
