"""What a number of the scalar engine shares with plain numbers, and operations that are added by
hand, as in micrograd.

There, a Value is made with its inputs, and a function of no arguments is assigned to its
`_backward`. This engine stores local gradients, one for each input, and finds them by calling that
function.
"""

import math


class Scalar:
    """The base class of Value: comparisons by `data`, float(x), f"{x:.2f}", and `_backward`.

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

    def __repr__(self):
        return f"Value(data={self.data}, grad={self.grad})"

    @property
    def _backward(self):
        """Call it to propagate `grad` one step; assign a function to define an operation."""

        def one_step():
            for x, local in zip(self._prev, self._local_gradients):
                x.grad += local * self.grad

        return one_step

    @_backward.setter
    def _backward(self, function):
        self._local_gradients = derivatives_from(function, self)


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


class UnknownDerivatives:
    """The local gradients of a node with inputs, as long as they are unknown.

    Reading them is a RuntimeError.
    """

    def __iter__(self):
        raise RuntimeError(
            "this Value has inputs but no local gradients: make it with record(op, data, "
            "inputs, local_gradients), or assign its _backward"
        )


unknown_derivatives = UnknownDerivatives()


def derivatives_from(function, out):
    """The local gradients of a node, found by calling its handmade `_backward`.

    function  adds (derivative * out.grad) to the `grad` of each input; called once, with 1 in
              `out.grad`
    out       the node; every `grad` is afterwards what it was before
    returns   tuple of floats, one per input; an input that occurs twice has the sum of both at its
              first place, and 0 at the second
    """
    nodes = {out, *out._prev}
    before = [(node, node.grad) for node in nodes]
    for node in nodes:
        node.grad = 0.0
    out.grad = 1.0
    function()
    arrived = {node: node.grad for node in out._prev}
    for node, grad in before:
        node.grad = grad
    return tuple(arrived.pop(node, 0.0) for node in out._prev)
