# From modules/source/01_backprop/backprop_dev.py by `tito export`, docstrings shortened; edit that file.
# checksum: 595c47ae75f8d527
"""Backpropagation: Compute the gradient of a network in one backward pass, and train it."""

import itertools
import math
import random

from tinytorch.core.descent import numerical_gradient
from tinytorch.support.scalars import Scalar, as_float, real_power, unknown_derivatives
from tinytorch.support.svg import graph_of_values

__all__ = [
    "Value", "record", "add", "multiply", "negate", "subtract", "divide", "tanh", "propagate", "topological_order",
    "backward", "draw_graph", "train_step", "gradient_check", "power", "power_of_values", "exp", "log", "sin", "relu",
    "sigmoid", "Module", "Neuron", "Layer", "MLP", "forward_mode_derivatives",
]


def gradients_by_hand():
    """The gradient at every node of L = ((a*b) + c) * (a + d), at a=2, b=-3, c=10, d=5.

    returns  dict with the keys L, f, g, e, c, d, b, a (e = a*b, f = e + c, g = a + d), and for
             each the derivative of L with respect to it, a number

    >>> gradients_by_hand()["L"]
    1
    """
    return {"L": 1, "f": 7, "g": 4, "e": 7, "c": 7, "d": 4, "b": 14, "a": -17}


next_creation = itertools.count().__next__  # returns 0, then 1, then 2, ...


def as_value(x):
    return x if isinstance(x, Value) else Value(x)


class Value(Scalar):
    """A number that records how it was computed.

    >>> Value(3)
    Value(data=3.0, grad=0.0)
    """

    __slots__ = ("data", "grad", "_prev", "_op", "_local_gradients", "_created", "label")

    def __init__(self, data, _children=(), _op="", label="", gradients=unknown_derivatives):
        self.data = data if type(data) is float else as_float(data)
        self.grad, self.label = 0.0, label
        self._prev, self._op = _children, _op
        self._local_gradients = gradients if self._prev else ()
        self._created = next_creation()

    def __add__(self, other): return add(self, as_value(other))
    def __radd__(self, other): return add(as_value(other), self)
    def __sub__(self, other): return subtract(self, as_value(other))
    def __rsub__(self, other): return subtract(as_value(other), self)
    def __mul__(self, other): return multiply(self, as_value(other))
    def __rmul__(self, other): return multiply(as_value(other), self)
    def __truediv__(self, other): return divide(self, as_value(other))
    def __rtruediv__(self, other): return divide(as_value(other), self)
    def __pow__(self, n):
        return power_of_values(self, n) if isinstance(n, Value) else power(self, n)
    def __rpow__(self, other): return power_of_values(as_value(other), self)
    def __neg__(self): return negate(self)
    def tanh(self): return tanh(self)
    def exp(self): return exp(self)
    def log(self): return log(self)
    def sin(self): return sin(self)
    def relu(self): return relu(self)
    def sigmoid(self): return sigmoid(self)

    def backward(self):
        """For each leaf, a Value that was not computed: add d(this)/d(leaf) to `leaf.grad`."""
        backward(self)


def record(op, data, inputs, local_gradients):
    """A Value that records that `data` was computed from `inputs` by `op`."""
    return Value(data, inputs, op, "", local_gradients)


def add(a, b):
    """a + b, recorded."""
    return record("+", a.data + b.data, (a, b), (1.0, 1.0))


def multiply(a, b):
    """a * b, recorded.

    >>> multiply(Value(2.0), Value(-5.0))._local_gradients
    (-5.0, 2.0)
    """
    return record("*", a.data * b.data, (a, b), (b.data, a.data))


def negate(x):
    """-x, recorded."""
    return record("neg", -x.data, (x,), (-1.0,))


def subtract(a, b):
    """a - b, recorded."""
    return record("-", a.data - b.data, (a, b), (1.0, -1.0))


def divide(a, b):
    """a / b, recorded. ZeroDivisionError where b holds 0."""
    quotient = a.data / b.data
    return record("/", quotient, (a, b), (1.0 / b.data, -quotient / b.data))


def tanh(x):
    """The hyperbolic tangent of x, recorded; between -1 and 1 for every x."""
    t = math.tanh(x.data)
    return record("tanh", t, (x,), (1.0 - t * t,))


def propagate(node):
    """Increase the `grad` of each input of `node` by its local gradient times `node.grad`."""
    g = node.grad
    # The loop below, written out for two inputs: most nodes have two, and this is faster.
    if len(node._prev) == 2:
        (x, y), (local_x, local_y) = node._prev, node._local_gradients
        x.grad += local_x * g
        y.grad += local_y * g
    else:
        for x, local in zip(node._prev, node._local_gradients):
            x.grad += local * g


def topological_order(root):
    """All Values that `root` was computed from, in an order for backpropagation.

    returns  list of Values, each once: `root` first, and every node before its own inputs
    """
    seen, stack = set(), [root]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack.extend(node._prev)
    return sorted(seen, key=lambda node: node._created, reverse=True)


def backward(root):
    """Increase the `grad` of every leaf by the derivative of `root` with respect to it."""
    nodes = topological_order(root)
    for node in nodes:
        if node._prev:
            node.grad = 0.0
    root.grad += 1.0
    for node in nodes:
        propagate(node)


def draw_graph(root):
    """A Graph of how `root` was computed: a box per Value, an arrow per input.

    >>> print(draw_graph(Value(2.0, label="a")))
    a  data 2  grad 0
    """
    return graph_of_values(topological_order(root))


def train_step(loss, parameters, learning_rate):
    """One step of gradient descent, with the gradient from one backward pass.

    returns        float, the loss before the step
    """
    result = loss()
    for p in parameters:
        p.grad = 0.0
    result.backward()
    for p in parameters:
        p.data -= learning_rate * p.grad
    return result.data


def gradient_check(f, *numbers, tolerance=1e-5):
    """Compare the gradient by `backward` with the one by `numerical_gradient`.

    returns    True. Where the two differ by more, or one is nan, raises AssertionError with the
               index of the input and both derivatives in its message

    >>> gradient_check(lambda x, y: x * y + y, 2.0, 0.5)
    True
    """
    values = [Value(number) for number in numbers]
    f(*values).backward()
    expected = numerical_gradient(lambda moved: float(f(*map(Value, moved))), list(numbers))
    for i, (value, right) in enumerate(zip(values, expected)):
        if not abs(value.grad - right) <= tolerance * max(1.0, abs(right)):
            raise AssertionError(f"input {i} = {numbers[i]}: backward gives {value.grad:.6g}, "
                                 f"a central difference gives {right:.6g}")
    return True


def power(x, n):
    """x ** n, recorded.

    returns  a Value that records "**2" (or whatever n is), the inputs (x,), and the local
             gradient. ValueError where x ** n is no real number

    >>> power(Value(3.0), 2)
    Value(data=9.0, grad=0.0)
    """
    if n == 0:
        return record(f"**{n}", 1.0, (x,), (0.0,))
    derivative = n * real_power(x.data, n - 1)
    return record(f"**{n}", real_power(x.data, n), (x,), (derivative,))


def power_of_values(x, y):
    """x ** y for two Values, recorded. ValueError where x is negative."""
    if x.data < 0:
        raise ValueError(f"{x.data} ** Value({y.data}): a negative base needs a plain number "
                         "as exponent")
    result = real_power(x.data, y.data)
    to_x = y.data * real_power(x.data, y.data - 1) if y.data else 0.0
    to_y = result * math.log(x.data) if x.data > 0 else 0.0
    return record("**", result, (x, y), (to_x, to_y))


def exp(x):
    """e to the power of x, recorded; infinite for x above 709."""
    try:
        result = math.exp(x.data)
    except OverflowError:
        result = math.inf
    return record("exp", result, (x,), (result,))


def log(x):
    """The natural logarithm of x, recorded. ValueError unless x is above 0."""
    if x.data <= 0:
        raise ValueError(f"log needs a number above 0, not {x.data}")
    return record("log", math.log(x.data), (x,), (1.0 / x.data,))


def sin(x):
    """The sine of x in radians, recorded."""
    return record("sin", math.sin(x.data), (x,), (math.cos(x.data),))


def relu(x):
    """x where it is positive, else 0; recorded. The local gradient at 0 is 0."""
    return record("relu", max(0.0, x.data), (x,), (1.0 if x.data > 0 else 0.0,))


def sigmoid(x):
    """1 / (1 + exp(-x)), recorded; between 0 and 1 for every x, exact for small results."""
    e = math.exp(-abs(x.data))  # at most 1
    s = (1.0 if x.data >= 0 else e) / (1.0 + e)
    return record("sigmoid", s, (x,), (s * (1.0 - s),))


class Module:
    """A part of a network that may have parameters."""

    def parameters(self):
        """The Values to train, as a list."""
        return []

    def zero_grad(self):
        """Set the grad of every parameter to 0."""
        for p in self.parameters():
            p.grad = 0.0


shared_generator = random.Random(5)  # for initial weights, when no other generator is given


class Neuron(Module):
    """tanh(w[0]*x[0] + w[1]*x[1] + ... + b), or the sum without tanh.

    With any other number of inputs it raises ValueError, whose message holds the number of
    weights and the number of inputs.
    """

    def __init__(self, nin, nonlin=True, generator=None):
        draw = (generator or shared_generator).uniform
        self.w = [Value(draw(-1, 1)) for _ in range(nin)]
        self.b = Value(draw(-1, 1))
        self.nonlin = nonlin

    def __call__(self, x):
        if len(x) != len(self.w):
            raise ValueError(f"this neuron has {len(self.w)} weights and was called with "
                             f"{len(x)} inputs")
        total = sum((w * v for w, v in zip(self.w, x)), self.b)
        return total.tanh() if self.nonlin else total

    def parameters(self):
        return [*self.w, self.b]


class Layer(Module):
    """`nout` neurons with `nin` inputs each.

    >>> len(Layer(3, 2).parameters())
    8
    """

    def __init__(self, nin, nout, nonlin=True, generator=None):
        self.neurons = [Neuron(nin, nonlin, generator) for _ in range(nout)]

    def __call__(self, x):
        out = [neuron(x) for neuron in self.neurons]
        return out[0] if len(out) == 1 else out

    def parameters(self):
        return [p for neuron in self.neurons for p in neuron.parameters()]


class MLP(Module):
    """Layers in `self.layers`, the outputs of each being the inputs of the next.

    >>> len(MLP(3, [4, 4, 1]).parameters())
    41
    """

    def __init__(self, nin, nouts, linear_output=False, generator=None):
        sizes = [nin, *nouts]
        self.layers = []
        for i in range(len(nouts)):
            last = i == len(nouts) - 1
            self.layers.append(Layer(sizes[i], sizes[i + 1],
                                     not (last and linear_output), generator))

    def __call__(self, x):
        for layer in self.layers:
            x = layer([x] if isinstance(x, Value) else x)
        return x

    def parameters(self):
        return [p for layer in self.layers for p in layer.parameters()]


def forward_order(roots):
    """The Values in `roots` and everything they were computed from, inputs before results."""
    joined = record("", 0.0, tuple(roots), (0.0,) * len(roots))  # a result of all roots
    return topological_order(joined)[:0:-1]  # reversed, without `joined`, which comes first


def forward_mode_derivatives(roots, leaf):
    """The derivatives of several results with respect to one number, in one pass.

    returns  list of floats, one per root
    """
    derivatives = {leaf: 1.0}
    for node in forward_order(roots):
        if node is not leaf:
            terms = zip(node._prev, node._local_gradients)
            derivatives[node] = sum((local * derivatives[x] for x, local in terms), 0.0)
    return [derivatives[root] for root in roots]
