"""What generation is given: token ids in rows, and logits as Tensors."""

import numpy as np

from tinytorch.core.tensor import Tensor

__all__ = ["as_tensor", "as_rows"]


def as_rows(ids):
    """Token ids as an int64 array of shape (B, T), T >= 1.

    ids  array, list of lists or Tensor of int; ValueError, with its shape, when it has another
         rank or no ids, TypeError for ids that are no integers

    >>> as_rows([[5, 7]])
    array([[5, 7]])
    """
    ids = np.asarray(ids)
    if ids.ndim != 2 or not ids.size:
        raise ValueError(
            f"ids must have shape (B, T), one row for each text, with T >= 1, not {ids.shape}; "
            "one list of ids is a row: np.array([ids])"
        )
    if ids.dtype.kind not in "iu":
        raise TypeError(f"ids must be integers, not {ids.dtype}")
    return ids.astype(np.int64)


def as_tensor(x):
    """`x` if it is a Tensor, else a Tensor of it; integers become float32.

    >>> as_tensor([1, 2])
    Tensor([1., 2.])
    """
    if isinstance(x, Tensor):
        return x
    x = Tensor(x)
    return Tensor(x.data.astype(np.float32)) if x.dtype.kind in "iu" else x
