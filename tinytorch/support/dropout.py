"""Dropout as a function, for networks that are written without a layer for it."""

from tinytorch.core.layers import Dropout

__all__ = ["dropout"]


def dropout(x, p=0.5, training=True, rng=None):
    """Set each element to 0 with probability `p`, and divide the others by 1 - p.

    x         Tensor of floating-point numbers
    p         the probability, from 0 up to, but not including, 1
    training  False: return `x`. A network passes its own: dropout(x, 0.5, self.training)
    rng       a NumPy Generator or a seed; None for one derived from what `manual_seed` seeds
    returns   Tensor of the same shape and dtype, recorded

    >>> from tinytorch import Tensor
    >>> dropout(Tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 0.75, rng=0)
    Tensor([ 0.,  0.,  0.,  0., 20., 24.])

    Source: torch.nn.functional.dropout.
    """
    return Dropout(p, rng).train(training)(x)
