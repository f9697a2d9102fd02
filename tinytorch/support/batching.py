"""Examples stacked as the rows of one array."""

import numpy as np

__all__ = ["stack_rows"]


def stack_rows(samples):
    """The samples as rows of one array: arrays and NumPy numbers keep their dtype; Python numbers
    stay a list.

    samples  list of arrays, Tensors or numbers, 1 or more
    returns  ndarray with one more axis in front, or a list of numbers

    ValueError when their shapes differ, with the first of these shapes in its message.

    >>> stack_rows([np.array([1, 2]), np.array([3, 4])])
    array([[1, 2],
           [3, 4]])
    """
    shapes = list(dict.fromkeys(np.shape(s) for s in samples))
    if len(shapes) > 1:
        raise ValueError(
            f"examples of the shapes {' and '.join(map(str, shapes[:3]))} cannot be stacked into "
            "one batch: bring them to one shape first, or write a collate_fn that does"
        )
    if hasattr(samples[0], "dtype"):
        return np.stack([np.asarray(s) for s in samples])
    return list(samples)
