"""What every dual number has, whatever its arithmetic: comparisons and a text."""

import numpy as np


def value(x):
    """The number or array inside `x`, without the tangents of any level."""
    while isinstance(x, DualMethods):
        x = x.primal
    return x


def text(x):
    """A primal or a tangent as text: NumPy's numbers like Python's.

    >>> text(np.float64(0.5)), text(np.array([1.0, 2.0]))
    ('0.5', 'array([1., 2.])')
    """
    return repr(x.item() if isinstance(x, np.generic) else x)


class DualMethods:
    """The base of `Dual`, which says where its arithmetic is.

    functions  {name: function}: the operators call add, multiply, divide and power, with both
               operands in their order; the methods call exp, log, sin, cos, tanh and relu

    Comparisons look at the primals, so that a program takes the same branches as with numbers.

    >>> class Number(DualMethods):
    ...     functions = {"add": lambda x, y: f"{x} plus {y}"}
    ...     def __init__(self, primal, tangent):
    ...         self.primal, self.tangent = primal, tangent
    >>> 5 + Number(2.0, 1.0), Number(2.0, 1.0) > 1, 2 >= Number(3.0, 0.0)
    ('5 plus Number(2.0, 1.0)', True, False)
    """

    functions = {}
    __array_ufunc__ = None  # makes `array * dual` call Dual.__rmul__ instead of looping
    __hash__ = object.__hash__  # by identity, because `==` compares numbers

    def __add__(self, other):
        return self.functions["add"](self, other)

    def __radd__(self, other):
        return self.functions["add"](other, self)

    def __sub__(self, other):
        return self.functions["add"](self, -other)

    def __rsub__(self, other):
        return self.functions["add"](other, -self)

    def __mul__(self, other):
        return self.functions["multiply"](self, other)

    def __rmul__(self, other):
        return self.functions["multiply"](other, self)

    def __truediv__(self, other):
        return self.functions["divide"](self, other)

    def __rtruediv__(self, other):
        return self.functions["divide"](other, self)

    def __pow__(self, other):
        return self.functions["power"](self, other)

    def __rpow__(self, other):
        return self.functions["power"](other, self)

    def __neg__(self):
        return self.functions["multiply"](self, -1)

    def exp(self):
        return self.functions["exp"](self)

    def log(self):
        return self.functions["log"](self)

    def sin(self):
        return self.functions["sin"](self)

    def cos(self):
        return self.functions["cos"](self)

    def tanh(self):
        return self.functions["tanh"](self)

    def relu(self):
        return self.functions["relu"](self)

    def __lt__(self, other):
        return value(self) < value(other)

    def __le__(self, other):
        return value(self) <= value(other)

    def __gt__(self, other):
        return value(self) > value(other)

    def __ge__(self, other):
        return value(self) >= value(other)

    def __eq__(self, other):
        return value(self) == value(other)

    def __ne__(self, other):
        return value(self) != value(other)

    def __float__(self):
        raise TypeError(
            f"float() of {self} would lose its tangent\n"
            "use exp, log, sin, cos, tanh and relu of this lesson instead of those of math"
        )

    def __repr__(self):
        return f"{type(self).__name__}({text(self.primal)}, {text(self.tangent)})"
