"""What Python and NumPy ask of a tensor: its length, its truth, its text, its one number."""

import numpy as np

__all__ = ["Conversions", "as_text"]


class Conversions:
    """Conversions of an object with numbers in `.data`, an ndarray, to what else Python knows."""

    __slots__ = ()

    def item(self):
        """The one number in this tensor, as a Python number."""
        if self.data.size != 1:
            raise ValueError(
                "item() needs exactly one number, "
                f"shape {self.data.shape} holds {self.data.size}: select one, x[i]"
            )
        return self.data.item()

    def numpy(self):
        """A copy of the numbers. (`.data` is the array itself, not a copy.)"""
        return self.data.copy()

    def __len__(self):
        if self.data.ndim == 0:
            raise TypeError("a tensor of shape () is one number and has no length")
        return len(self.data)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __float__(self):
        return float(self.item())

    def __bool__(self):
        if self.data.size != 1:
            raise ValueError(
                f"shape {self.data.shape} holds {self.data.size} truth values, not one: "
                "ask x.data.any() or .all()"
            )
        return bool(self.data.item())

    def __array__(self, dtype=None, copy=None):
        return np.array(self.data, dtype=dtype, copy=copy)

    def __repr__(self):
        return as_text(self)

    def __format__(self, spec):
        return format(self.item(), spec) if spec else repr(self)


def as_text(x):
    """What Python prints for the Tensor `x`: its numbers, and what is unusual about it.

    A dtype other than float32, int or bool is named, and `requires_grad=True`.

    >>> from types import SimpleNamespace
    >>> as_text(SimpleNamespace(data=np.array([[1, 20], [3, 4]], "uint8"), requires_grad=False))
    'Tensor([[ 1, 20],\\n        [ 3,  4]], dtype=uint8)'
    """
    text = np.array2string(x.data, separator=", ", prefix="Tensor(")
    if x.data.dtype not in (np.dtype(np.float32), np.dtype(int), np.dtype(bool)):
        text += f", dtype={x.data.dtype}"
    if x.requires_grad:
        text += ", requires_grad=True"
    return f"Tensor({text})"
