# From modules/source/05_backprop/backprop_dev.py by `tito export`; edit that file, not this one.
# checksum: 30c9db37ba28e70a
"""Backprop: A number that remembers how it was made, and 41 of them that learn."""

import itertools
import math
import random
from operator import attrgetter

from tinytorch.support.graphs import Graph as Drawing
from tinytorch.support.handmade import derivatives_from, unknown_derivatives

__all__ = [
    "slopes_by_nudging", "Value", "record", "add", "pull", "negate", "multiply", "subtract", "divide", "power",
    "order", "backward", "draw_graph", "exp", "log", "sin", "check_slopes", "tanh", "relu", "sigmoid",
    "forward_slopes", "Module", "Neuron", "Layer", "MLP", "train_step",
]


def slopes_by_nudging(f, *numbers, step=1e-5):
    """The slope of f(*numbers) along each of the numbers, measured.

    f        a function of as many numbers, returning one number
    numbers  where to measure
    step     how far each number is moved, up and down
    returns  list of floats, one per number: units of f per unit of that number

    >>> [round(slope, 6) for slope in slopes_by_nudging(lambda x, y: x * y, 2.0, 7.0)]
    [7.0, 2.0]

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 11.5, "centered
    difference".
    """
    slopes = []
    for i in range(len(numbers)):
        up, down = list(numbers), list(numbers)
        up[i] += step
        down[i] -= step
        slopes.append((f(*up) - f(*down)) / (2 * step))
    return slopes


def traced():
    """Slopes of L = ((a*b) + c) * (a + d) at a=2, b=-3, c=10, d=5, worked out by hand.

    returns  dict with the keys L, f, g, e, c, d, b, a (e = a*b, f = e + c, g = a + d) and one
             number each: units of L per unit of that number

    >>> traced()["L"]
    1

    Source: pencil and paper.
    """
    return {"L": 1, "f": 7, "g": 4, "e": 7, "c": 7, "d": 4, "b": 14, "a": -17}


class Operators:
    """Arithmetic with Values and plain numbers, each of which becomes a Value of its own."""

    __slots__ = ()
    __array_ufunc__ = None  # makes `np.float64(2) * value` call Value.__rmul__

    def __add__(self, other):
        return add(self, other if isinstance(other, Value) else Value(other))
    def __radd__(self, other): return add(Value(other), self)
    def __sub__(self, other):
        return subtract(self, other if isinstance(other, Value) else Value(other))
    def __rsub__(self, other): return subtract(Value(other), self)
    def __mul__(self, other):
        return multiply(self, other if isinstance(other, Value) else Value(other))
    def __rmul__(self, other): return multiply(Value(other), self)
    def __truediv__(self, other):
        return divide(self, other if isinstance(other, Value) else Value(other))
    def __rtruediv__(self, other): return divide(Value(other), self)
    def __pow__(self, other):
        return power_of_values(self, other) if isinstance(other, Value) else power(self, other)
    def __rpow__(self, other): return power_of_values(Value(other), self)
    def __neg__(self): return negate(self)

    def __lt__(self, other): return self.data < float(other)
    def __le__(self, other): return self.data <= float(other)
    def __gt__(self, other): return self.data > float(other)
    def __ge__(self, other): return self.data >= float(other)


class Value(Operators):
    """One number that remembers how it was made.

    data       the number
    _children  the Values it was made from; `_op` says how, as text

    .data .grad  two floats: the number, and the slope of what `backward` started from
    ._prev ._op  the inputs and the operation, () and "" for a number that was not computed
    ._backward() hands `grad` on to the inputs       .label  a name for pictures

    >>> Value(3)
    Value(data=3.0, grad=0.0)
    """

    __slots__ = ("data", "grad", "_prev", "_op", "_slopes", "_age", "label")

    def __init__(self, data, _children=(), _op="", label=""):
        self.data = data if type(data) is float else as_float(data)
        self.grad = 0.0
        self._prev = tuple(_children) if _children else ()
        self._op = _op
        self._slopes = unknown_derivatives if self._prev else ()
        self._age = next_age()
        self.label = label

    def tanh(self): return tanh(self)
    def exp(self): return exp(self)
    def log(self): return log(self)
    def sin(self): return sin(self)
    def relu(self): return relu(self)
    def sigmoid(self): return sigmoid(self)

    def backward(self):
        """Add the slope of this number along each Value it was made from to that `grad`."""
        backward(self)

    @property
    def _backward(self):
        """Call it to hand `grad` on to the inputs; assign a function to change how."""
        return lambda: pull(self)

    @_backward.setter
    def _backward(self, function):
        self._slopes = derivatives_from(function, self)

    def __float__(self):
        return float(self.data)

    def __repr__(self):
        return f"Value(data={self.data}, grad={self.grad})"

    def __format__(self, spec):
        return format(self.data, spec) if spec else repr(self)


next_age = itertools.count().__next__


def as_float(data):
    """`data` as a float. TypeError unless it is one plain number."""
    if isinstance(data, Value) or not hasattr(data, "__float__"):
        raise TypeError(f"a Value holds one plain number, not {data!r:.60}")
    return float(data)


def record(op, data, inputs, slopes):
    """A Value that remembers: `data` came from `inputs` by `op`, and moves with each of them by
    its slope.

    op      text for pictures           data    float, the result
    inputs  tuple of Values             slopes  tuple of as many floats

    >>> x = Value(3.0)
    >>> record("double", 6.0, (x,), (2.0,))._prev
    (Value(data=3.0, grad=0.0),)
    """
    out = object.__new__(Value)  # without running the constructor
    out.data = data
    out.grad = 0.0
    out._prev = inputs
    out._op = op
    out._slopes = slopes
    out._age = next_age()
    out.label = ""
    return out


def add(a, b):
    """a + b, remembered.

    a, b     Values
    returns  a Value made by "+" from (a, b), with the slope along each

    >>> add(Value(2.0), Value(-5.0)).data
    -3.0

    Source: Baydin et al., Automatic differentiation in machine learning (2018), section 3.2.
    """
    return record("+", a.data + b.data, (a, b), (1.0, 1.0))


def pull(node):
    """Hand the gradient of `node` on: add (slope along the input) * (gradient of node) to the
    `grad` of each input.

    node     a Value whose own `grad` is complete; its inputs are changed, itself is not
    returns  None

    >>> x, y = Value(3.0), Value(5.0)
    >>> out = record("f", 1.0, (x, y), (2.0, -4.0))
    >>> out.grad = 10.0
    >>> pull(out)
    >>> x.grad, y.grad
    (20.0, -40.0)

    Source: Rumelhart, Hinton, Williams, Learning representations by back-propagating errors
    (1986).
    """
    g = node.grad
    # the loop below in two lines: two inputs are so common that the walk gains a quarter
    if len(node._prev) == 2:
        (x, y), (slope_x, slope_y) = node._prev, node._slopes
        x.grad += slope_x * g
        y.grad += slope_y * g
    else:
        for x, slope in zip(node._prev, node._slopes):
            x.grad += slope * g


def negate(x):
    """-x, remembered.

    >>> negate(Value(3.0)).data
    -3.0
    """
    return record("neg", -x.data, (x,), (-1.0,))


def multiply(a, b):
    """a * b, remembered.

    a, b     Values
    returns  a Value made by "*" from (a, b), with the slope along each

    >>> multiply(Value(2.0), Value(-5.0))._slopes
    (-5.0, 2.0)

    Source: the product rule, Spivak, Calculus (2008), chapter 10.
    """
    return record("*", a.data * b.data, (a, b), (b.data, a.data))


def subtract(a, b):
    """a - b, remembered.

    a, b     Values
    returns  a Value made by "-" from (a, b), with the slope along each

    >>> subtract(Value(2.0), Value(5.0)).data
    -3.0

    Source: Baydin et al., Automatic differentiation in machine learning (2018), section 3.2.
    """
    return record("-", a.data - b.data, (a, b), (1.0, -1.0))


def divide(a, b):
    """a / b, remembered.

    a, b     Values; ZeroDivisionError when b holds 0
    returns  a Value made by "/" from (a, b), with the slope along each

    >>> divide(Value(1.0), Value(4.0))._slopes
    (0.25, -0.0625)

    Source: the quotient rule, Spivak, Calculus (2008), chapter 10.
    """
    quotient = a.data / b.data
    return record("/", quotient, (a, b), (1.0 / b.data, -quotient / b.data))


def raised(x, n):
    """x ** n for floats; infinite where it is too large or x is 0 and n < 0. ValueError if it
    is no real number."""
    try:
        return math.pow(x, n)
    except OverflowError:
        return -math.inf if x < 0 and n % 2 == 1 else math.inf
    except ValueError:
        if x == 0:
            return math.inf
        raise ValueError(f"{x} ** {n} is no real number: a negative base needs a whole "
                         "exponent") from None


def power(x, n):
    """x ** n, remembered.

    x        a Value
    n        a plain number: whole, negative, zero, fractional
    returns  a Value made by "**2" (or whatever n is) from (x,), with the slope along x.
             Infinite where it is too large; ValueError where x ** n is no real number

    >>> power(Value(3.0), 2)
    Value(data=9.0, grad=0.0)
    >>> power(Value(2.0), 3)._slopes
    (12.0,)

    Source: the power rule, Spivak, Calculus (2008), chapter 10.
    """
    slope = n * raised(x.data, n - 1) if n else 0.0
    return record(f"**{n}", raised(x.data, n), (x,), (slope,))


def power_of_values(x, y):
    """x ** y for two Values. ValueError for a negative base, whose power would not be defined
    beside y."""
    if x.data < 0:
        raise ValueError(f"{x.data} ** Value({y.data}): a negative base needs a plain number "
                         "as exponent")
    result = raised(x.data, y.data)
    along_x = y.data * raised(x.data, y.data - 1) if y.data else 0.0
    along_y = result * math.log(x.data) if x.data > 0 else 0.0
    return record("**", result, (x, y), (along_x, along_y))


age = attrgetter("_age")  # age(node) is node._age


def order(root):
    """Everything that `root` was made from, in the order in which gradients can be handed back.

    root     a Value
    returns  list of Values, each once: `root` first, and every node before its own inputs

    No recursion, and no path is walked twice.

    >>> x = Value(3.0)
    >>> [node.data for node in order((x + 1) * x)]
    [12.0, 4.0, 1.0, 3.0]

    Source: Knuth, The Art of Computer Programming, volume 1, section 2.2.3, "topological
    sorting".
    """
    found, nodes = {root}, [root]
    for node in nodes:  # the list grows while we walk it
        for x in node._prev:
            if x not in found:
                found.add(x)
                nodes.append(x)
    nodes.sort(key=age, reverse=True)
    return nodes


def backward(root):
    """Add to the `grad` of every leaf below `root` the slope of `root` along it, in one walk.

    root     a Value
    returns  None; afterwards an inner node holds its slope in this walk, a leaf the sum over
             all walks so far

    >>> x = Value(3.0)
    >>> backward(x * x)
    >>> x.grad
    6.0

    Source: Linnainmaa, Taylor expansion of the accumulated rounding error (1976).
    """
    nodes = order(root)
    for node in nodes:
        if node._prev:
            node.grad = 0.0
    root.grad += 1.0
    for node in nodes:
        pull(node)


def draw_graph(root):
    """A Drawing of how `root` was made: a box per Value, an arrow with its slope per input.

    >>> print(draw_graph(Value(2.0, label="a")))
    a  data 2  grad 0
    """
    drawing = Drawing()
    for node in order(root):
        drawing.box(node, f"{node.label} {node._op}".strip(), f"data {node.data:.5g}",
                    f"grad {node.grad:.5g}")
        slopes = itertools.repeat("?") if node._slopes is unknown_derivatives else node._slopes
        for x, slope in zip(node._prev, slopes):
            drawing.arrow(x, node, slope if slope == "?" else f"{slope:.4g}")
    return drawing


def exp(x):
    """e to the power of x, remembered; infinite for x above 709.

    >>> exp(Value(0.0))
    Value(data=1.0, grad=0.0)
    """
    try:
        result = math.exp(x.data)
    except OverflowError:
        result = math.inf
    return record("exp", result, (x,), (result,))


def log(x):
    """The natural logarithm of x > 0, remembered. ValueError otherwise.

    >>> log(Value(4.0))._slopes
    (0.25,)
    """
    if x.data <= 0:
        raise ValueError(f"log needs a number above 0, not {x.data}")
    return record("log", math.log(x.data), (x,), (1.0 / x.data,))


def sin(x):
    """The sine of x in radians, remembered.

    >>> sin(Value(0.0))._slopes
    (1.0,)
    """
    return record("sin", math.sin(x.data), (x,), (math.cos(x.data),))


def check_slopes(f, *numbers, tolerance=1e-5):
    """Compare the walk with nudging. AssertionError with the input and both slopes where they
    disagree, else True.

    f          a function of as many Values, returning a Value
    tolerance  the largest difference allowed, relative to slopes above 1

    >>> check_slopes(lambda x, y: x * y + y.sin(), 2.0, 0.5)
    True
    """
    values = [Value(number) for number in numbers]
    f(*values).backward()
    nudged = slopes_by_nudging(lambda *moved: float(f(*map(Value, moved))), *numbers)
    for i, (value, right) in enumerate(zip(values, nudged)):
        if not abs(value.grad - right) <= tolerance * max(1.0, abs(right)):
            raise AssertionError(f"input {i} = {numbers[i]}: "
                                 f"the walk gives the slope {value.grad:.6g}, "
                                 f"nudging {right:.6g}")
    return True


def tanh(x):
    """The hyperbolic tangent of x, remembered; between -1 and 1 for every x.

    x        a Value
    returns  a Value made by "tanh" from (x,), with its slope

    >>> tanh(Value(1000.0)).data
    1.0

    Source: LeCun et al., Efficient BackProp (1998), section 4.4.
    """
    t = math.tanh(x.data)
    return record("tanh", t, (x,), (1.0 - t * t,))


def relu(x):
    """x where it is positive, else 0; remembered.

    x        a Value
    returns  a Value made by "relu" from (x,), with its slope: 0 at x = 0

    >>> relu(Value(-3.0)).data
    0.0

    Source: Glorot, Bordes, Bengio, Deep sparse rectifier neural networks (2011).
    """
    return record("relu", max(0.0, x.data), (x,), (1.0 if x.data > 0 else 0.0,))


def sigmoid(x):
    """1 / (1 + exp(-x)), remembered; between 0 and 1 for every x, and precise where it is tiny.

    x        a Value
    returns  a Value made by "sigmoid" from (x,), with its slope

    >>> sigmoid(Value(-1000.0)).data
    0.0

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 3.10.
    """
    e = math.exp(-abs(x.data))  # at most 1
    s = (1.0 if x.data >= 0 else e) / (1.0 + e)
    return record("sigmoid", s, (x,), (s * (1.0 - s),))


def oldest_first(roots):
    """The Values in `roots` and all that they were made from, inputs before their users."""
    together = record("", 0.0, tuple(roots), (0.0,) * len(roots))
    return order(together)[:0:-1]  # from the last to the second


def forward_slopes(roots, leaf):
    """The slopes of several results along one number, in one walk from the oldest number to the
    youngest.

    roots    list of Values
    leaf     a Value that they may have been made from
    returns  list of floats, one per root: units of the root per unit of `leaf`. No `grad` is
             touched.

    >>> x = Value(3.0)
    >>> forward_slopes([x * x, 5 * x], x)
    [6.0, 5.0]

    Source: Wengert, A simple automatic derivative evaluation program (1964).
    """
    moved = {leaf: 1.0}
    for node in oldest_first(roots):
        if node is not leaf:
            moved[node] = sum((slope * moved[x] for x, slope in zip(node._prev, node._slopes)),
                              0.0)
    return [moved[root] for root in roots]


class Module:
    """Something with parameters."""

    def parameters(self):
        """The Values to learn, as a list."""
        return []

    def zero_grad(self):
        """Set the grad of every parameter to 0."""
        for p in self.parameters():
            p.grad = 0.0


shared_generator = random.Random(5)  # for weights, when no other is given


class Neuron(Module):
    """tanh(w[0]*x[0] + w[1]*x[1] + ... + b), or without the tanh.

    nin        how many inputs          nonlin  whether it bends: tanh around the sum
    generator  a random.Random for the nin weights `w` and the bias `b`, each between -1 and 1

    Called with a list of nin numbers or Values it returns a Value; with any other number of
    inputs it raises ValueError with both numbers in it.

    >>> neuron = Neuron(3)
    >>> len(neuron.parameters())
    4

    Source: Rosenblatt, The perceptron (1958), with a smooth bend.
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
    """`nout` neurons with `nin` inputs each. Called with a list it returns a list of Values, or
    one Value if nout is 1.

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
    """Layers one after the other, as `self.layers`: each feeds the next.

    nin            how many inputs
    nouts          list with the number of neurons of each layer
    linear_output  the last layer does not bend; by default all bend, so answers lie between -1
                   and 1
    generator      a random.Random for all weights

    >>> len(MLP(3, [4, 4, 1]).parameters())
    41

    Source: Rumelhart, Hinton, Williams, Learning representations by back-propagating errors
    (1986).
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


def train_step(model, inputs, targets, learning_rate):
    """Move every parameter once, against its slope of the loss, which is the sum of (answer -
    target)**2.

    model          a Module that answers a list of numbers with one Value
    inputs         list of such lists           targets  list of as many numbers
    learning_rate  units of parameter per unit of slope
    returns        float, the loss before the step

    >>> model = MLP(1, [1], linear_output=True)
    >>> train_step(model, [[2.0]], [1.0], 0.1) > train_step(model, [[2.0]], [1.0], 0.1)
    True

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 8.3.1.
    """
    loss = sum((model(x) - target) ** 2 for x, target in zip(inputs, targets))
    model.zero_grad()
    loss.backward()
    for p in model.parameters():
        p.data -= learning_rate * p.grad
    return loss.data
