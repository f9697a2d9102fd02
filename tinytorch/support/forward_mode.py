"""Forward mode: the arithmetic of dual numbers, and the tangent rules that the lesson on
differentiation uses and does not teach.

A tangent rule takes the tangents of the inputs of an operation, its result `out`, then the inputs
themselves as they were given, and returns the tangent of the result. All of them are Tensors, so
that a tangent can be differentiated again.
"""

import functools
import math
import threading
from contextlib import contextmanager

import numpy as np

from tinytorch.core.tensor import (
    Tensor,
    Variable,
    apply,
    operand,
    recording,
    where,
)
from tinytorch.support.arrays import axes_of
from tinytorch.support.convolution import windows_of
from tinytorch.support.forward import (
    cast_forward,
    clip_forward,
    max_forward,
    min_forward,
    name_of,
    pad_forward,
    power,
    prod_forward,
    relu_forward,
    root_forward,
    sigmoid_forward,
)

# dual numbers


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


# tangents on the engine


class TangentRules(dict):
    """operation -> its tangent rule.

    jvp  the function (f, primals, tangents) of the lesson, for fused operations

    Operations of other lessons are found by their names.
    """

    def __init__(self, jvp):
        super().__init__()
        self.jvp = jvp

    def __missing__(self, op):
        operation = name_of(op)
        if operation in OF_OTHER_LESSONS:
            return functools.partial(OF_OTHER_LESSONS[operation], op)
        if operation in FUSED:
            return fused(FUSED[operation], self.jvp)
        if getattr(op, "__self__", None) is not None:
            raise NotImplementedError(
                f"{operation} has no tangent rule, only a gradient\n"
                "jvp and hvp need a function of operations with a rule of jvp_rule(...)"
            )
        raise NotImplementedError(
            f"no tangent rule is known for {operation}\n"
            f"give it with jvp_rule({operation}, rule), where "
            "rule(tangents, out, *inputs, **options) returns the tangent of out"
        )


class Active(threading.local):
    """How many functions are being differentiated now, one inside the other, in this thread."""

    depth = 0


active = Active()


@contextmanager
def force_recording():
    """Record operations of this thread in the block, also inside no_grad."""
    state = recording.__dict__.get("on", True)
    try:
        recording.on = True
        yield
    finally:
        recording.on = state


def start(f, primals):
    """Run f on separate copies of `primals`, and record it.

    returns  (leaves, out): the copies, and f(*leaves), both Tensors. A copy of a Tensor that
             requires a gradient is connected with it, unless recording is off; so the result is,
             too

    TypeError when `f` does not return one Tensor.
    """
    leaves = [copy_of(x) for x in primals]
    active.depth += 1
    try:
        with force_recording():
            out = f(*leaves)
    finally:
        active.depth -= 1
    if not isinstance(out, Tensor):
        raise TypeError(
            f"f returned a {type(out).__name__} and no Tensor\n"
            "float() and .data leave the computation graph; stack() joins several Tensors into one"
        )
    return leaves, out


def copy_of(x):
    """A new Tensor with the numbers of `x` that requires a gradient."""
    if isinstance(x, Tensor) and x.requires_grad and recording.on:
        return x.clone()
    return Variable(x.data if isinstance(x, Tensor) else x)


def is_recorded(out, leaves):
    """Whether recording is on, and `out` was computed from tensors besides `leaves` that require
    a gradient: then the caller may want to differentiate it."""
    if not recording.on:
        return False
    own, seen, stack = {id(leaf) for leaf in leaves if leaf.creator is None}, set(), [out]
    while stack:
        x = stack.pop()
        if id(x) in seen or not isinstance(x, Tensor) or not x.requires_grad:
            continue
        seen.add(id(x))
        if x.creator is not None:
            stack.extend(x.creator.inputs)
        elif id(x) not in own:
            return True
    return False


def as_tangents(tangents, primals):
    """`tangents` as a list of Tensors that fit the tensors `primals`.

    ValueError when there are not as many, or when one has not the shape of its primal.
    """
    if len(tangents) != len(primals):
        raise ValueError(
            f"{len(primals)} primals need as many tangents, not {len(tangents)}\n"
            "both are tuples, even for one input: jvp(f, (x,), (v,))"
        )
    tensors = []
    for x, v in zip(primals, tangents):
        if not isinstance(v, Tensor):
            v = Tensor(np.asarray(operand(v), x.dtype))
        if v.shape != x.shape:
            raise ValueError(
                f"a tangent of shape {v.shape} for a primal of shape {x.shape}\n"
                "the tangent says how much each element changes: it needs the same shape"
            )
        tensors.append(v if v.dtype == x.dtype else apply(cast_forward, v, np.zeros(1, x.dtype)))
    return tensors


def known_tangent(tangents, x, like):
    """The tangent of `x` in the dictionary `tangents`. For a constant, which is not in it: a Tensor
    of zeros of the shape of `x` and the dtype of the Tensor `like`.

    x   a Tensor, an array or a number
    """
    if isinstance(x, Tensor) and x in tangents:
        return tangents[x]
    return Tensor(np.zeros(np.shape(x.data if isinstance(x, Tensor) else x), like.dtype))


def refuse_nested(name, primals):
    """Refuse reverse mode inside a function that is being differentiated itself."""
    if active.depth and any(isinstance(x, Tensor) and x.requires_grad for x in primals):
        raise RuntimeError(
            f"{name} inside a function that is differentiated: gradients are arrays and are not "
            "recorded\nput forward mode inside (jvp, jacfwd), reverse mode outside (vjp, jacrev)"
        )


def register_others(jvp_rule, elementwise):
    """Enter the tangent rules that the lesson gives into its table.

    jvp_rule     the function (op, rule) that registers one
    elementwise  the function (op, derivative) that registers one of an elementwise operation
    """
    jvp_rule(np.subtract, lambda tangents, out, a, b: tangents[0] - tangents[1])
    jvp_rule(np.divide, lambda tangents, out, a, b: (tangents[0] - out * tangents[1]) / b)
    jvp_rule(np.negative, lambda tangents, out, a: -tangents[0])
    elementwise(np.exp, lambda a, out: out)
    elementwise(np.log, lambda a, out: 1 / a)
    jvp_rule(np.sqrt, sqrt_tangent)
    jvp_rule(root_forward, sqrt_tangent)
    elementwise(np.cos, lambda a, out: -a.sin())
    elementwise(sigmoid_forward, lambda a, out: out * (1 - out))
    jvp_rule(relu_forward, lambda tangents, out, a: where(out.data != 0, tangents[0], 0))
    jvp_rule(power, power_tangent)
    jvp_rule(np.absolute, lambda tangents, out, a: tangents[0] * np.sign(a.data))
    jvp_rule(np.maximum, lambda tangents, out, a, b: chosen(tangents, a, b, np.greater))
    jvp_rule(np.minimum, lambda tangents, out, a, b: chosen(tangents, a, b, np.less))
    jvp_rule(clip_forward, lambda tangents, out, a, **_: where(out.data == a.data, tangents[0], 0))
    jvp_rule(np.where, lambda tangents, out, c, a, b: where(c, tangents[1], tangents[2]))
    jvp_rule(max_forward, extreme_tangent)
    jvp_rule(min_forward, extreme_tangent)
    jvp_rule(prod_forward, prod_tangent)
    jvp_rule(cast_forward, lambda tangents, out, x, like: apply(cast_forward, tangents[0], like))
    jvp_rule(pad_forward, pad_tangent)


def sqrt_tangent(tangents, out, a):
    """The tangent of a square root: 0 where that of `a` is 0, also where `a` is 0."""
    changes = tangents[0].data != 0
    return where(changes, tangents[0], 0) / (2 * where(changes, out, 1))


def pad_tangent(tangents, out, x, width, value):
    """The tangent of a padded array: the padding does not change."""
    return apply(pad_forward, tangents[0], width=width, value=0)


def power_tangent(tangents, out, base, exponent):
    """The tangent of power(base, exponent); what is no Tensor has the tangent 0."""
    total = None
    if isinstance(base, Tensor):
        b = operand(exponent)
        smaller = b - (b != 0) if not isinstance(exponent, Tensor) else exponent - (b != 0)
        total = tangents[0] * exponent * apply(power, base, smaller)
    if isinstance(exponent, Tensor):
        a, zero = operand(base), np.equal(operand(base), 0)
        safe = where(zero, 1.0, base) if isinstance(base, Tensor) else np.where(zero, 1.0, a)
        logarithm = safe.log() if isinstance(safe, Tensor) else np.log(safe, dtype=out.dtype)
        part = where(zero, 0.0, tangents[1] * out * logarithm)
        total = part if total is None else total + part
    return total


def chosen(tangents, a, b, wins):
    """The tangent of the winner, elementwise; half of each where both are equal."""
    a, b = operand(a), operand(b)
    share = np.where(np.equal(a, b), 0.5, wins(a, b)).astype(tangents[0].dtype)
    return tangents[0] * share + tangents[1] * (1 - share)


def extreme_tangent(tangents, out, x, axis, keepdims):
    """The tangent of the largest (smallest) elements along `axis`: the mean over equal ones."""
    extreme = out.data if keepdims else np.expand_dims(out.data, axes_of(axis, x.ndim))
    first = np.equal(x.data, extreme)
    share = first / np.add.reduce(first, axis=axis, keepdims=True)
    return (tangents[0] * share.astype(out.dtype)).sum(axis, keepdims)


def prod_tangent(tangents, out, x, axis, keepdims):
    """The tangent of a product: each factor in turn is replaced by its tangent."""
    axes = axes_of(axis, x.ndim)
    kept = [a for a in range(x.ndim) if a not in axes]
    count = int(np.prod([x.shape[a] for a in axes]))
    rows = x.transpose((*kept, *axes)).reshape(*[x.shape[a] for a in kept], count)
    changes = tangents[0].transpose((*kept, *axes)).reshape(*rows.shape)
    on = np.eye(count, dtype=bool)  # (which factor is replaced, factor)
    replaced = where(on, changes.unsqueeze(-2), rows.unsqueeze(-2))
    total = apply(prod_forward, replaced, axis=-1, keepdims=False).sum(-1)
    return total.reshape(*out.shape)


def linear(op, tangents, out, *inputs, **options):
    """The tangent rule of a linear operation is the operation itself."""
    return apply(op, *tangents, **options)


def conv2d_tangent(op, tangents, out, x, weights, bias, stride, padding, saved=None):
    dx, dw, db = tangents
    none = np.zeros(np.shape(operand(bias)), out.dtype)
    return apply(op, dx, weights, none, stride=stride, padding=padding, saved={}) + apply(
        op, x, dw, db, stride=stride, padding=padding, saved={}
    )


def max_pool2d_tangent(op, tangents, out, x, kernel_size, stride, padding):
    """The tangent of each window's maximum; of the first one, row by row, if there are several, and
    of the last nan if there is one."""
    sides, (down, across) = ((0, 0), (0, 0), *((p, p) for p in padding)), stride
    window, shape = (kernel_size, stride, padding), (*out.shape, -1)
    first = windows_of(x.data, *window, np.nan).reshape(shape) == out.data[..., None]
    nan = windows_of(np.isnan(x.data), *window, False).reshape(shape)[..., ::-1]
    chosen = np.where(nan.any(-1), nan.shape[-1] - 1 - nan.argmax(-1), first.argmax(-1))
    n, c, i, j = np.indices(out.shape)
    height, width = np.divmod(chosen, kernel_size[1])
    return tangents[0].pad(sides)[n, c, i * down + height, j * across + width]


def cross_entropy_tangent(op, tangents, out, logits, labels, smoothing):
    """softmax(logits) minus the target, times the tangent, summed over the classes."""
    powers = (logits - logits.data.max(-1, keepdims=True)).exp()
    classes = logits.shape[-1]
    target = np.full(logits.shape, smoothing / classes, out.dtype)
    rows = target.reshape(-1, classes)
    rows[np.arange(len(rows)), np.ravel(labels)] += 1 - smoothing
    return (tangents[0] * (powers / powers.sum(-1, keepdims=True) - target)).sum(-1)


def fused(composed, jvp):
    """The tangent rule of a fused operation, which is the rule of the same function when it is
    composed of operations that have rules.

    composed  function of the operation's inputs and options, without `saved`
    jvp       the function (f, primals, tangents) of the lesson
    """

    def rule(tangents, out, *inputs, saved=None, **options):
        return jvp(lambda *inputs: composed(*inputs, **options), inputs, tangents)[1]

    return rule


def layer_norm(x, weight, bias, eps):
    distances = x - x.mean(-1, keepdims=True)
    return distances / ((distances * distances).mean(-1, True) + eps).sqrt() * weight + bias


def rms_norm(x, weight, eps):
    return x / ((x * x).mean(-1, keepdims=True) + eps).sqrt() * weight


def gelu(x):
    return 0.5 * x * (1 + (math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))).tanh())


def attention(qkv, heads, causal):
    """Self-attention of all heads; qkv of shape (B, T, 3D)."""
    b, t, width = qkv.shape
    parts = qkv.reshape(b, t, 3, heads, width // (3 * heads)).transpose(2, 0, 3, 1, 4)
    q, k, v = parts[0], parts[1], parts[2]
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        scores = where(np.tri(t, dtype=bool), scores, -np.inf)
    weights = (scores - scores.data.max(-1, keepdims=True)).exp()
    weights = weights / weights.sum(-1, keepdims=True)
    return (weights @ v).swapaxes(1, 2).reshape(b, t, width // 3)


OF_OTHER_LESSONS = {  # operation: its rule, with the operation as its first argument
    "avg_pool2d": linear,
    "conv2d": conv2d_tangent,
    "cross_entropy": cross_entropy_tangent,
    "embedding": linear,
    "max_pool2d": max_pool2d_tangent,
}
FUSED = {  # operation: the same function, composed
    "attention": attention,
    "attention_blocks": attention,
    "gelu": gelu,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
}
