"""What a number of the scalar engine shares with plain numbers, and does not teach: conversion,
comparison, formatting, and powers that stay real numbers.
"""

import math

__all__ = ["Scalar", "as_float", "real_power"]


class Scalar:
    """A base class for what holds one float in `data`: comparisons by it, float(x), f"{x:.2f}".

    `==` compares objects, not numbers: two Scalars that both hold 3.0 are two nodes of a
    computation graph.
    """

    __slots__ = ()
    __array_ufunc__ = None  # makes `np.float64(2) * scalar` call Scalar.__rmul__

    def __lt__(self, other):
        return self.data < float(other)

    def __le__(self, other):
        return self.data <= float(other)

    def __gt__(self, other):
        return self.data > float(other)

    def __ge__(self, other):
        return self.data >= float(other)

    def __float__(self):
        return float(self.data)

    def __format__(self, spec):
        return format(self.data, spec) if spec else repr(self)


def as_float(data):
    """`data` as a float. TypeError unless it is one plain number; a Scalar is none.

    >>> as_float(3)
    3.0
    """
    if isinstance(data, Scalar) or not hasattr(data, "__float__"):
        raise TypeError(f"a Value holds one plain number, not {data!r:.60}")
    return float(data)


def real_power(x, n):
    """x ** n for floats; infinite where it overflows, or where x is 0 and n < 0.

    ValueError where the result is no real number, as in (-2.0) ** 0.5.

    >>> real_power(2.0, 3), real_power(10.0, 1000), real_power(0.0, -1)
    (8.0, inf, inf)
    """
    try:
        return math.pow(x, n)
    except OverflowError:
        return -math.inf if x < 0 and n % 2 == 1 else math.inf
    except ValueError:
        if x == 0:
            return math.inf
        raise ValueError(
            f"{x} ** {n} is no real number: a negative base needs a whole exponent"
        ) from None
