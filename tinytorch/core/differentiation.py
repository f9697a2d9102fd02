# From modules/source/17_differentiation/differentiation_dev.py by `tito export`, docstrings shortened; edit that file.
# checksum: 528b61eb0905de60
"""Differentiation: Forward mode, Jacobians, Hessian-vector products, and memory traded for time."""

import itertools

import numpy as np

from tinytorch.core.autograd import Function, backward, grad, no_grad, seed_gradient, topological_order
from tinytorch.core.tensor import Tensor, Variable, apply, stack
from tinytorch.support import forward_mode as support
from tinytorch.support.forward import (
    clone_forward,
    concatenate_forward,
    cumsum_forward,
    reshape_forward,
    stack_forward,
    sum_forward,
    take_forward,
)
from tinytorch.support.forward_mode import DualMethods
from tinytorch.support.training_state import generators_of, random_states, repeated

__all__ = [
    "Dual", "level_of", "new_level", "parts", "add", "multiply", "chain_rule", "exp", "log", "sin", "cos", "tanh",
    "relu", "divide", "power", "derivative_of", "tangent_rules", "jvp_rule", "elementwise", "multiply_tangent",
    "matmul_tangent", "linear_rule", "LINEAR", "push_forward", "jvp", "jacfwd", "vjp", "jacrev", "hvp", "hessian",
    "power_iteration", "conjugate_gradient", "newton_step", "hutchinson", "Checkpoint", "checkpoint",
]


class Dual(DualMethods):
    """A number with a tangent: primal + tangent * ε, where ε * ε = 0."""

    functions = globals()  # the operators are in DualMethods and look up add, exp, ... here

    def __init__(self, primal, tangent=0.0, level=0):
        self.primal, self.tangent, self.level = primal, tangent, level


def level_of(x, y):
    """The higher level of two operands, of which at least one is a Dual."""
    return max(z.level for z in (x, y) if isinstance(z, Dual))


new_level = itertools.count(1).__next__  # each call returns the next level: 1, 2, 3, ...


def parts(x, level):
    """The primal and the tangent of `x` at this level.

    >>> parts(Dual(2.0, 5.0), 0), parts(3.0, 0)
    ((2.0, 5.0), (3.0, 0.0))
    """
    if isinstance(x, Dual) and x.level == level:
        return x.primal, x.tangent
    return x, 0.0


def add(x, y):
    """x + y, a Dual. One operand is a Dual; the other may also be a number or an array.

    >>> add(Dual(2.0, 1.0), 3.0)
    Dual(5.0, 1.0)
    """
    level = level_of(x, y)
    (a, da), (b, db) = parts(x, level), parts(y, level)
    return Dual(a + b, da + db, level)


def multiply(x, y):
    """x * y, a Dual. It takes the same operands as `add`.

    >>> multiply(Dual(2.0, 1.0), Dual(3.0, 10.0))
    Dual(6.0, 23.0)
    """
    level = level_of(x, y)
    (a, da), (b, db) = parts(x, level), parts(y, level)
    return Dual(a * b, da * b + a * db, level)


def chain_rule(function, derivative, x):
    """function(x), with the tangent given by the chain rule.

    >>> chain_rule(np.square, lambda x, out: 2 * x, Dual(3.0, 10.0))
    Dual(9.0, 60.0)
    """
    if not isinstance(x, Dual):
        return function(x)
    out = chain_rule(function, derivative, x.primal)
    return Dual(out, derivative(x.primal, out) * x.tangent, x.level)

def exp(x):
    """The exponential function of a Dual, a number or an array."""
    return chain_rule(np.exp, lambda x, out: out, x)

def log(x):
    """The natural logarithm."""
    return chain_rule(np.log, lambda x, out: 1 / x, x)

def sin(x):
    """The sine."""
    return chain_rule(np.sin, lambda x, out: cos(x), x)

def cos(x):
    """The cosine."""
    return chain_rule(np.cos, lambda x, out: -sin(x), x)

def tanh(x):
    """The hyperbolic tangent."""
    return chain_rule(np.tanh, lambda x, out: 1 - out * out, x)

def relu(x):
    """The larger of x and 0. Its derivative at 0 is 0."""
    return chain_rule(lambda x: np.maximum(x, 0), lambda x, out: x > 0, x)


def divide(x, y):
    """x / y, a Dual. It takes the same operands as `add`.

    >>> divide(1.0, Dual(2.0, 1.0))
    Dual(0.5, -0.25)
    """
    level = level_of(x, y)
    (a, da), (b, db) = parts(x, level), parts(y, level)
    out = a / b
    return Dual(out, (da - out * db) / b, level)


def power(x, y):
    """x ** y, a Dual. It takes the same operands as `add`. The tangent of x ** 0 is always 0.

    >>> power(Dual(-3.0, 1.0), 2), power(1, Dual(3.0, 1.0))
    (Dual(9.0, -6.0), Dual(1.0, 0.0))
    """
    level = level_of(x, y)
    (a, da), (b, db) = parts(x, level), parts(y, level)
    out, tangent = a**b, 0.0
    if a is not x:
        tangent = b * a ** (b - (b != 0)) * da
    if b is not y:
        tangent = tangent + out * log(a) * db
    return Dual(out, tangent, level)


def derivative_of(f):
    """The function that computes the derivative of `f`.

    >>> derivative_of(lambda x: x * x * x)(2.0)
    12.0
    """
    def derivative(x):
        level = new_level()
        return parts(f(Dual(x, 1.0, level)), level)[1]
    return derivative


tangent_rules = support.TangentRules(lambda *arguments: jvp(*arguments))  # jvp is below


def jvp_rule(op, rule):
    """Register the tangent rule of `op`.

    rule  rule(tangents, out, *inputs, **options) returns the tangent of the result `out`, a
          Tensor of the shape of `out`
    """
    tangent_rules[op] = rule


def elementwise(op, derivative):
    """Register the tangent rule of an elementwise operation. As in `chain_rule`,
    derivative(a, out) returns the operation's derivative at `a`: a Tensor or constant array."""
    jvp_rule(op, lambda tangents, out, a: tangents[0] * derivative(a, out))


jvp_rule(np.add, lambda tangents, out, a, b: tangents[0] + tangents[1])
elementwise(np.sin, lambda a, out: a.cos())
elementwise(np.tanh, lambda a, out: 1 - out * out)
support.register_others(jvp_rule, elementwise)


def multiply_tangent(tangents, out, a, b):
    """The tangent rule of np.multiply: see `jvp_rule`."""
    return tangents[0] * b + a * tangents[1]


def matmul_tangent(tangents, out, a, b):
    """The tangent rule of np.matmul, the matrix product a @ b."""
    return tangents[0] @ b + a @ tangents[1]


def linear_rule(op):
    """The tangent rule of a linear operation, which may have several inputs and options."""
    def rule(tangents, out, *inputs, **options):
        return apply(op, *tangents, **options)
    return rule


LINEAR = (sum_forward, reshape_forward, np.transpose, np.broadcast_to, take_forward,
          cumsum_forward, clone_forward, concatenate_forward, stack_forward)
jvp_rule(np.multiply, multiply_tangent)
jvp_rule(np.matmul, matmul_tangent)
for op in LINEAR:
    jvp_rule(op, linear_rule(op))


def push_forward(out, tangents):
    """Compute the tangents of `out` and of everything that `out` was computed from.

    returns   the tangent of `out`, a Tensor of the same shape
    """
    for node in reversed(topological_order(out)):
        made = node.creator
        if any(isinstance(x, Tensor) and x in tangents for x in made.inputs):
            given = tuple(support.known_tangent(tangents, x, node) for x in made.inputs)
            rule = tangent_rules[made.op]
            tangents[node] = rule(given, node, *made.inputs, **made.options)
    return support.known_tangent(tangents, out, out)


def jvp(f, primals, tangents):
    """f(*primals), and how much it changes when the primals change by the tangents.

    f         a function of Tensors that returns one Tensor of any shape
    tangents  tuple of as many Tensors, of the same shapes
    returns   (out, tangent), two Tensors of one shape: f(*primals), and its Jacobian times the
              tangents

    Raises ValueError if the tangents do not match the primals in number or shape.

    >>> jvp(lambda x, y: x * y, (Tensor(2.0), Tensor(3.0)), (1.0, 0.0))
    (Tensor(6.), Tensor(3.))
    """
    leaves, out = support.start(f, primals)
    tangents = dict(zip(leaves, support.as_tangents(tangents, leaves)))
    if support.is_recorded(out, leaves):
        return out, push_forward(out, tangents)
    with no_grad():
        return out.detach(), push_forward(out, tangents)


def jacfwd(f):
    """The function that computes the Jacobian of `f`, column by column, with `jvp`.

    f        a function from a Tensor of shape (n,) to one of shape (m,)
    """
    def jacobian(x):
        columns = [jvp(f, (x,), (e,))[1] for e in np.eye(x.size, dtype=x.dtype)]
        return stack(columns, axis=-1)
    return jacobian


def vjp(f, *primals):
    """f(*primals), and a function that multiplies vectors by its Jacobian from the left.

    f        a function of Tensors that returns one Tensor of any shape
    """
    support.refuse_nested("vjp", primals)
    leaves, out = support.start(f, [Tensor(x) for x in primals])

    def vjp_function(g):
        gradients = {}
        if out.requires_grad:
            gradients = grad(out, seed_gradient(out, g), retain_graph=True)
        return tuple(Tensor(gradients.get(leaf, np.zeros(leaf.shape, leaf.dtype)))
                     for leaf in leaves)
    return out.detach(), vjp_function


def jacrev(f):
    """The function that computes the Jacobian of `f`, row by row, with `vjp`; the same result
    as `jacfwd(f)`. It runs `f` once.
    """
    def jacobian(x):
        out, vjp_function = vjp(f, x)
        rows = [vjp_function(e.reshape(out.shape))[0]
                for e in np.eye(out.size, dtype=out.dtype)]
        return stack(rows).reshape(*out.shape, *x.shape)
    return jacobian


def hvp(f, x, v):
    """The Hessian of `f` at `x`, times the vector `v`. The Hessian itself is never computed.

    f        a function of one Tensor that returns one number, a Tensor of shape ()
    x        Tensor of any shape, or a list of Tensors
    v        a Tensor of the shape of `x`, or a list of them
    returns  a Tensor of the shape of `x`, or a list of them

    >>> hvp(lambda x: x[0] * x[0] + 3 * x[0] * x[1], Tensor([5.0, 7.0]), Tensor([1.0, 2.0]))
    Tensor([8., 3.])
    """
    xs, vs = (x, v) if isinstance(x, (list, tuple)) else ([x], [v])
    support.refuse_nested("hvp", xs)
    leaves = [Variable(x.data) for x in xs]
    with support.force_recording():
        tangent = jvp(f, leaves, vs)[1]
    gradients = grad(tangent, seed_gradient(tangent)) if tangent.requires_grad else {}
    products = [Tensor(gradients.get(leaf, np.zeros(leaf.shape, leaf.dtype)))
                for leaf in leaves]
    return products if isinstance(x, (list, tuple)) else products[0]


def hessian(f):
    """The function that computes the Hessian of `f`.

    f        a function from a Tensor of shape (n,) to one number, a Tensor of shape ()
    """
    return jacrev(jacfwd(f))


def power_iteration(matvec, like, steps, rng):
    """The eigenvalue of a symmetric matrix that is largest in absolute value.

    like     Tensor of the shape and dtype of v
    rng      a NumPy Generator: the start is rng.normal(size=shape)

    >>> power_iteration(lambda v: -5.0 * v, Tensor([0.0]), 2, np.random.default_rng(0))
    (-5.0, Tensor([-1.]))
    """
    v = rng.normal(size=like.shape).astype(like.dtype)
    for _ in range(steps):
        unit = v / np.sqrt((v * v).sum())
        v = matvec(Tensor(unit)).data
        value = float((unit * v).sum())
        if not v.any():
            break
    return value, Tensor(unit)


def conjugate_gradient(matvec, b, steps, damping=0.0):
    """Solve (H + damping I) x = b, for a symmetric H that is known only by its products.

    b        Tensor of any shape
    returns  x, a Tensor of the shape and dtype of `b`

    When p . (H + damping I) p <= 0 for a direction p, the matrix is not positive definite:
    ValueError with the word damping in it.
    """
    x, r = np.zeros_like(b.data), b.data
    p, rr = r, float((r * r).sum())
    enough = np.finfo(b.dtype).eps ** 2 * rr
    for _ in range(steps):
        if rr <= enough:
            break
        hp = matvec(Tensor(p)).data + damping * p
        curvature = float((p * hp).sum())
        if not curvature > 0:
            raise ValueError(f"the matrix is not positive definite: p . H p is {curvature}\n"
                             f"choose a larger damping than {damping}")
        x = x + rr / curvature * p
        r = r - rr / curvature * hp
        before, rr = rr, float((r * r).sum())
        p = r + rr / before * p
    return Tensor(x)


def newton_step(f, x, steps=20, damping=0.0):
    """One step of Newton's method: x - (H + damping I)^-1 g, with the gradient g of `f` at `x`.

    f        a function from a Tensor to one number, a Tensor of shape ()
    x        Tensor of any shape
    returns  a new Tensor like `x`

    >>> newton_step(lambda x: ((x - 3) * (x - 3)).sum(), Tensor([5.0, -7.0]))
    Tensor([3., 3.])
    """
    g = vjp(f, x)[1](1.0)[0]
    step = conjugate_gradient(lambda v: hvp(f, x, v), g, steps, damping)
    return Tensor(x.data - step.data)


def hutchinson(matvec, like, probes, rng):
    """Estimate the trace and the diagonal of a matrix that is known only by its products.

    like     Tensor of the shape and dtype of v

    >>> hutchinson(lambda v: -5.0 * v, Tensor([0.0, 0.0]), 1, np.random.default_rng(0))
    (-10.0, Tensor([-5., -5.]))
    """
    total = np.zeros(like.shape, like.dtype)
    for _ in range(probes):
        z = rng.choice([-1.0, 1.0], size=like.shape).astype(like.dtype)
        total += z * matvec(Tensor(z)).data
    return float(total.sum() / probes), Tensor(total / probes)


class Checkpoint(Function):
    """A whole function as one operation that keeps only its inputs."""

    def __init__(self, f, wanted):
        self.f, self.wanted = f, wanted
        self.generators = generators_of(f)

    def as_inputs(self, arrays):
        """The arguments of f: a Tensor for each array, which requires a gradient if wanted."""
        return [Tensor(array, wanted) if isinstance(array, np.ndarray) else array
                for array, wanted in zip(arrays, self.wanted)]

    def forward(self, marker, *arrays):
        """Run `f` on the inputs without recording, and return the array of its result."""
        self.states = random_states(self.generators)
        self.save_for_backward(*arrays)
        with no_grad():
            return self.f(*self.as_inputs(arrays)).data

    def backward(self, g):
        """A tuple: None for `marker`, then the gradient of each input, or None where none is
        wanted. Runs `f` again, now recorded, with the same random numbers (`repeated`). Adds
        the gradients of the weights that `f` uses to their `.grad`."""
        inputs = self.as_inputs(self.saved_tensors)
        with support.force_recording(), repeated(self.generators, self.states):
            out = self.f(*inputs)
        if out.requires_grad:
            backward(out, g)
        return (None, *[getattr(x, "grad", None) for x in inputs])


def checkpoint(f, *inputs):
    """f(*inputs), recorded as one operation that computes `f` again in the backward pass."""
    wanted = [isinstance(x, Tensor) and x.requires_grad for x in inputs]
    marker = Variable(0.0)  # requires a gradient, so that weights inside f receive theirs
    return Checkpoint(f, wanted)(marker, *inputs)
