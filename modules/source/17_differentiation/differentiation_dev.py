# %% [markdown]
# # 17. Differentiation
#
# Backpropagation computes one kind of derivative: the gradient of a single output, such as a
# loss, with respect to all inputs. Which other derivatives can we compute, and what are they
# good for? The picture shows a model with 640 weights that learns to read digits. While
# gradient descent needs hundreds of steps, *Newton's method*, which also uses second
# derivatives, needs four.

# %% tags=["payoff"]
from tinytorch.data.image_sets import flat_digits
from tinytorch.pictures.differentiation import (draw_losses, draw_memory, draw_sharpness,
                                                train_by_hand)

(images, labels), (test_images, test_labels) = flat_digits("train"), flat_digits("test")
figure = draw_losses({"gradient descent": train_by_hand(images, labels, steps=300, lr=2.0),
                      "Newton's method": train_by_hand(images, labels, steps=6)})
# caption: With second derivatives, four steps do what otherwise takes hundreds.
# alt: The loss against the step, on a logarithmic axis, from 2.3 down. Newton's method is at
# 0.25 after three steps and stays there; gradient descent is nearly as low after 300.

# %% [markdown]
# The program behind the picture uses derivatives worked out by hand for this one model. Here
# you write functions that compute them for *any* function of tensors: derivatives in *forward
# mode*, whole Jacobians, products with second derivatives. At the end your own Newton's method
# trains the model of the picture without ever storing the 409,600 second derivatives of its
# loss.
#
# **You need** 06 (Autograd), and 07 (Optimizers) for gradient descent. **You build** dual
# numbers, tangent rules, `jvp`, `vjp`, Jacobians, Hessian-vector products, methods that use
# them, and checkpointing. (Imported names are explained where used.)

# %%
#| default_exp core.differentiation
#| export
import itertools

import numpy as np

from tinytorch.core.autograd import (Function, backward, grad, no_grad, seed_gradient,
                                     topological_order)
from tinytorch.core.tensor import Tensor, Variable, apply, stack
from tinytorch.support import forward_mode as support
from tinytorch.support.forward import (clone_forward, concatenate_forward, cumsum_forward,
                                       reshape_forward,
                                       stack_forward, sum_forward, take_forward)
from tinytorch.support.forward_mode import DualMethods
from tinytorch.support.training_state import generators_of, random_states, repeated

# %% [markdown] page="Forward mode"
# ## The limits of finite differences
#
# Why do we need rules for derivatives at all? A finite difference, $(f(x + h) - f(x)) / h$,
# needs no rules at all. How accurate is it? Here it estimates the derivative of a function
# whose derivative at 1.5 is known. Predict: is the smallest step the best?

# %% tags=["answer", "explained"]
from tinytorch.pictures.differentiation import (draw_errors, draw_passes, draw_product,
                                                draw_tangents, jacobian_seconds)

EXACT = 4.053427893898621
figure = draw_errors(lambda x: np.exp(x) / (np.sin(x) ** 3 + np.cos(x) ** 3) ** 0.5, 1.5, EXACT)
# caption: A smaller step helps only until the rounding errors take over.
# alt: The relative error against the step h, on logarithmic axes: two curves like a V, lowest
# at h = 1e-8 (forward difference, error 1e-8) and 1e-5 (central difference, error 1e-11).

# %% [markdown]
# With a large step, the finite difference measures the curve next to $x$ rather than at $x$.
# With a small step, it subtracts two nearly equal numbers and divides their rounding errors by
# the small $h$. The best step of this formula loses eight of sixteen digits, and even the
# *central difference*, $(f(x + h) - f(x - h)) / 2h$, loses five.
#
# ## Dual numbers
#
# Exact derivatives need rules. The first method computes them together with the values.
# **Forward mode** is automatic differentiation from the inputs to the result: the derivative of
# each value is computed from the derivatives of its inputs. It needs no backward pass. With
# dual numbers it needs no graph either.
#
# A **dual number** is a pair of a value and its derivative, written $a + a' \varepsilon$, where
# $\varepsilon$ is a symbol with $\varepsilon^2 = 0$. The **primal** of a dual number is the
# value $a$. The **tangent** of a dual number is the derivative $a'$: how much the value changes
# per unit of change of the input. The rules of calculus follow from $\varepsilon^2 = 0$ alone:
#
# $$(a + a'\varepsilon)(b + b'\varepsilon) = ab + (a'b + ab')\varepsilon + a'b'\,\varepsilon^2$$

# %%
draw_product(4, 0.6, 3, 0.5)
# alt: A rectangle with sides a = 4 and b = 3, area 12. A strip at its right of width da = 0.6
# has the area 1.8, a strip below of height db = 0.5 the area 2. The small corner between them
# is dashed. Below: primal 12, tangent 1.8 + 2 = 3.8.

# %% [markdown]
# The small corner is $a' b' \varepsilon^2 = 0$. The two strips are the product rule.
#
# The operators of the class below call functions that you write next: `x + y` is `add(x, y)`,
# `5 * x` is `multiply(5, x)`, and `x.exp()` is `exp(x)`. The `level` is for derivatives inside
# derivatives, which a later section explains; until then every level is 0.

# %%
#| export
class Dual(DualMethods):
    """A number with a tangent: primal + tangent * ε, where ε * ε = 0.

    primal   the value: a number, an ndarray, or a Dual of a lower level
    tangent  how much the value changes per unit of change of the input; of the same shape
    level    an int: which derivative it belongs to (see "Nested derivatives")
    """

    functions = globals()  # the operators are in DualMethods and look up add, exp, ... here

    def __init__(self, primal, tangent=0.0, level=0):
        self.primal, self.tangent, self.level = primal, tangent, level


def level_of(x, y):
    """The higher level of two operands, of which at least one is a Dual."""
    return max(z.level for z in (x, y) if isinstance(z, Dual))


new_level = itertools.count(1).__next__  # each call returns the next level: 1, 2, 3, ...

# %% [markdown]
# **Task.** Write `parts`, `add` and `multiply`.

# %% Dual numbers exercise="dual"
#| export
def parts(x, level):
    """The primal and the tangent of `x` at this level.

    x        a number, an ndarray or a Dual
    level    int
    returns  (primal, tangent); an `x` that is not a Dual of this level is a constant: (x, 0.0)

    >>> parts(Dual(2.0, 5.0), 0), parts(3.0, 0)
    ((2.0, 5.0), (3.0, 0.0))
    """
    ### BEGIN SOLUTION
    if isinstance(x, Dual) and x.level == level:
        return x.primal, x.tangent
    return x, 0.0
    ### END SOLUTION


def add(x, y):
    """x + y, a Dual. One operand is a Dual; the other may also be a number or an array.

    >>> add(Dual(2.0, 1.0), 3.0)
    Dual(5.0, 1.0)
    """
    level = level_of(x, y)
    ### BEGIN SOLUTION
    (a, da), (b, db) = parts(x, level), parts(y, level)
    return Dual(a + b, da + db, level)
    ### END SOLUTION


def multiply(x, y):
    """x * y, a Dual. It takes the same operands as `add`.

    >>> multiply(Dual(2.0, 1.0), Dual(3.0, 10.0))
    Dual(6.0, 23.0)

    Source: Clifford, Preliminary sketch of biquaternions (1873).
    """
    level = level_of(x, y)
    ### BEGIN SOLUTION
    (a, da), (b, db) = parts(x, level), parts(y, level)
    return Dual(a * b, da * b + a * db, level)
    ### END SOLUTION

# %% checks="dual"
check("dual")

# %% [markdown]
# With `add` and `multiply` you can already differentiate every polynomial. Predict the
# derivative of $x^3 + 2x$ at 4.

# %% tags=["answer"]
x = Dual(4.0, 1.0)  # the derivative of x with respect to x is 1
print(x * x * x + 2 * x)

# %% [markdown]
# ## The chain rule in forward mode
#
# Dual numbers can be added and multiplied. Next come functions such as the sine. For $f(a + a'
# \varepsilon)$ the chain rule gives $f(a) + f'(a)\,a' \varepsilon$: the derivative of the
# function is multiplied by the incoming tangent. A backward pass multiplies the same local
# derivative by the gradient that comes from the result. Some derivatives are cheap to compute
# from the result of the function: $\exp' = \exp$ and $\tanh' = 1 - \tanh^2$. That is why the
# argument `derivative` of `chain_rule` is a function of `x` and of this result, `out`.
#
# **Task.** Write `chain_rule`, and use it to write `exp`, `sin`, `tanh` and `relu`.

# %% Functions of dual numbers exercise="functions"
#| export
def chain_rule(function, derivative, x):
    """function(x), with the tangent given by the chain rule.

    function    of a number or an array, such as np.exp
    derivative  derivative(x, out): its derivative at `x`, where out = function(x)
    x           a number, an array or a Dual. The primal of a Dual may itself be a Dual; then
                `derivative` is called with this primal
    returns     for a number or an array function(x), for a Dual a Dual of the same level

    >>> chain_rule(np.square, lambda x, out: 2 * x, Dual(3.0, 10.0))
    Dual(9.0, 60.0)

    Source: Baydin et al., Automatic differentiation in machine learning (2018), section 3.1.1.
    """
    ### BEGIN SOLUTION
    if not isinstance(x, Dual):
        return function(x)
    out = chain_rule(function, derivative, x.primal)
    return Dual(out, derivative(x.primal, out) * x.tangent, x.level)
    ### END SOLUTION

def exp(x):
    """The exponential function of a Dual, a number or an array."""
    ### BEGIN SOLUTION
    return chain_rule(np.exp, lambda x, out: out, x)
    ### END SOLUTION

def log(x):
    """The natural logarithm."""
    return chain_rule(np.log, lambda x, out: 1 / x, x)

def sin(x):
    """The sine."""
    ### BEGIN SOLUTION
    return chain_rule(np.sin, lambda x, out: cos(x), x)
    ### END SOLUTION

def cos(x):
    """The cosine."""
    return chain_rule(np.cos, lambda x, out: -sin(x), x)

def tanh(x):
    """The hyperbolic tangent."""
    ### BEGIN SOLUTION
    return chain_rule(np.tanh, lambda x, out: 1 - out * out, x)
    ### END SOLUTION

def relu(x):
    """The larger of x and 0. Its derivative at 0 is 0."""
    ### BEGIN SOLUTION
    return chain_rule(lambda x: np.maximum(x, 0), lambda x, out: x > 0, x)
    ### END SOLUTION

# %% checks="functions"
check("functions")

# %% [markdown]
# ## Quotients and powers
#
# Two operators are left, division and the power. For a quotient $q = a / b$, start from $q b =
# a$. The product rule gives $q' b + q b' = a'$; solve it for $q'$. A power has two derivatives,
# one for the base and one for the exponent:
#
# $$(a^b)' = b\,a^{b-1}\,a' + a^b \log(a)\,b'$$
#
# The second term needs a logarithm, which does not exist for negative bases. When the exponent
# is a constant, do not compute this term at all: $0 \cdot \mathrm{nan}$ is nan. When the base
# is a constant, do not compute the first term.
#
# **Task.** Write `divide` and `power`. For a constant, `parts` returns the operand itself as
# the primal. How can you use that to recognize a constant?

# %% The quotient rule exercise="quotient"
#| export
def divide(x, y):
    """x / y, a Dual. It takes the same operands as `add`.

    >>> divide(1.0, Dual(2.0, 1.0))
    Dual(0.5, -0.25)
    """
    level = level_of(x, y)
    ### BEGIN SOLUTION
    (a, da), (b, db) = parts(x, level), parts(y, level)
    out = a / b
    return Dual(out, (da - out * db) / b, level)
    ### END SOLUTION


def power(x, y):
    """x ** y, a Dual. It takes the same operands as `add`. The tangent of x ** 0 is always 0.

    When `y` is a constant, `x` may be negative or 0, so its logarithm must not be computed.

    >>> power(Dual(-3.0, 1.0), 2), power(1, Dual(3.0, 1.0))
    (Dual(9.0, -6.0), Dual(1.0, 0.0))
    """
    level = level_of(x, y)
    ### BEGIN SOLUTION
    (a, da), (b, db) = parts(x, level), parts(y, level)
    out, tangent = a**b, 0.0
    if a is not x:
        tangent = b * a ** (b - (b != 0)) * da
    if b is not y:
        tangent = tangent + out * log(a) * db
    return Dual(out, tangent, level)
    ### END SOLUTION

# %% checks="quotient"
check("quotient")

# %% [markdown]
# ## Nested derivatives
#
# Dual numbers are complete, so we can differentiate whole functions. `derivative_of(f)` returns
# a function that calls `f` with a Dual whose tangent is 1. Used twice, it gives a second
# derivative; then the primal of a Dual is itself a Dual. A function can also use the derivative
# of another function:
#
# $$\frac{d}{dx} \left( x \cdot \frac{d}{dy} (x + y) \right)$$
#
# The inner derivative is 1, so the whole expression is the derivative of $x$, which is 1.
# Inside, however, $x$ and $y$ both have the tangent 1, and if these were added, $x + y$ would
# have the tangent 2, and the result would be 2. **Perturbation confusion** is the error of
# adding tangents that belong to two different derivatives.
#
# Each call of a derivative therefore takes a new level from `new_level()`. The levels count up,
# so that an inner call, which begins later, has a higher level. At the inner level, `x` is a
# constant, and `parts` treats it as one.
#
# **Task.** Write the body of `derivative`, the function that `derivative_of` returns. The
# result of `f` is not always a Dual of this level. Which function returns the tangent in every
# case?

# %% Derivatives by dual numbers exercise="derivative"
#| export
def derivative_of(f):
    """The function that computes the derivative of `f`.

    f        a function of one number (or, elementwise, of an array), computed with + - * / **
             and the functions of this lesson
    returns  a function of a number or array. Derivatives can be nested: `f` may call the
             derivative of another function, even if that function uses the argument of `f`.
             For a constant `f` the derivative is 0

    >>> derivative_of(lambda x: x * x * x)(2.0)
    12.0
    >>> derivative_of(derivative_of(lambda x: x * x * x))(2.0)
    12.0

    Source: Siskind and Pearlmutter, Perturbation confusion and referential transparency (2005).
    """
    def derivative(x):
        ### BEGIN SOLUTION
        level = new_level()
        return parts(f(Dual(x, 1.0, level)), level)[1]
        ### END SOLUTION
    return derivative

# %% checks="derivative"
check("derivative")

# %% [markdown]
# We return to the function from the beginning. The orange line is the error of its derivative
# in forward mode:

# %% tags=["demonstration"]
def f(x):
    return exp(x) / (sin(x) ** 3 + cos(x) ** 3) ** 0.5


figure = draw_errors(f, 1.5, EXACT, derivative_of(f)(1.5))
print("d/dx (x d/dy (x + y)) =",
      derivative_of(lambda x: x * derivative_of(lambda y: x + y)(5.0))(7.0))
# alt: The two curves of the finite differences again, and far below both a horizontal line: the
# error of the dual number, about 1e-16.

# %% [markdown]
# The error is as small as a single rounding error. A forward pass also needs little memory.
# Predict how much memory 20 sines in a row need, applied to an array of 400 kB: with a graph,
# as in lesson 06, and with a Dual.

# %% tags=["answer", "explained"]
from tinytorch.pictures.autograd import kilobytes_at_peak, kilobytes_held

ones = np.ones(100_000, "float32")


def sines(x, count=20):
    for _ in range(count):
        x = x.sin()
    return x


print("graph:", kilobytes_held(lambda: sines(Variable(ones))), "kB")
print("Dual: ", kilobytes_held(lambda: sines(Dual(ones, ones))), "kB")

# %% [markdown]
# A Dual holds two arrays, no matter how long the chain is.

# %% [markdown] page="Jacobians by columns and by rows"
# ## Tangent rules
#
# Losses and layers are functions of Tensors, whose operations are recorded in a graph. For them
# we write forward mode in two steps: run the function, then go through its graph from the
# inputs to the result, and compute a tangent for each node.
#
# In addition to the gradient rules of lesson 06, each operation needs a *tangent rule*, which
# computes the tangent of the result from the tangents of all inputs. Here is `x * y + sin(x)`
# at $x = 2$, $y = 3$, when `x` changes by 1 and `y` does not change:

# %%
draw_tangents([("x", "", 2, 1), ("y", "", 3, 0), ("a", "x * y", 6, 3),
               ("b", "sin(x)", np.sin(2), np.cos(2)),
               ("z", "a + b", 6 + np.sin(2), 3 + np.cos(2))])
# alt: Five lines with a primal and a tangent each: x 2 and 1, y 3 and 0, a = x * y 6 and 3,
# b = sin(x) 0.909 and -0.416, z = a + b 6.91 and 2.58.

# %% [markdown]
# Unlike the tangents of dual numbers, these tangents are *Tensors*, and the rules compute with
# Tensor operations. Everything a rule computes is therefore recorded and can be differentiated
# again, which gives us second derivatives without extra work.

# %%
#| export
tangent_rules = support.TangentRules(lambda *arguments: jvp(*arguments))  # jvp is below


def jvp_rule(op, rule):
    """Register the tangent rule of `op`.

    op    a function of arrays, as `apply` takes it
    rule  rule(tangents, out, *inputs, **options) returns the tangent of the result `out`, a
          Tensor of the shape of `out`. It computes with Tensor operations, so that the tangent
          can be differentiated again.
          tangents  a tuple with a Tensor for each input, of its shape: zeros for a constant
          inputs    the arguments of `op`: Tensors, numbers or arrays

    >>> jvp_rule(np.arctan, lambda tangents, out, a: tangents[0] / (1 + a * a))
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

# %% [markdown]
# The table `tangent_rules` contains the rule of each operation; `jvp_rule` and `elementwise`
# enter one. Most rules are given, because you know their formulas from the dual numbers. You
# write the rules of two products, and one that serves nine operations. The factors of a matrix
# product cannot be exchanged.
#
# Many operations are *linear*: $f(x + t) = f(x) + f(t)$. A sum, a reshape, a transpose and an
# index are examples; so is joining arrays, which has several inputs. When the input changes by
# $t$, the result changes by $f(t)$. So the tangent rule of a linear operation is the operation
# itself. (Gradients need the transposed operation instead, so in lesson 06 each of these
# operations had its own rule.)
#
# **Task.** Write `multiply_tangent`, `matmul_tangent` and the inner function of `linear_rule`.

# %% exercise="tangent-rules"
#| export
def multiply_tangent(tangents, out, a, b):
    """The tangent rule of np.multiply: see `jvp_rule`.

    >>> a, b = Tensor(2.0), Tensor(3.0)
    >>> multiply_tangent((Tensor(1.0), Tensor(10.0)), a * b, a, b)
    Tensor(23.)

    Source: Griewank and Walther, Evaluating Derivatives (2008), section 3.1.
    """
    ### BEGIN SOLUTION
    return tangents[0] * b + a * tangents[1]
    ### END SOLUTION


def matmul_tangent(tangents, out, a, b):
    """The tangent rule of np.matmul, the matrix product a @ b."""
    ### BEGIN SOLUTION
    return tangents[0] @ b + a @ tangents[1]
    ### END SOLUTION


def linear_rule(op):
    """The tangent rule of a linear operation, which may have several inputs and options.

    >>> rule, x = linear_rule(sum_forward), Tensor([1.0, 2.0])
    >>> rule((Tensor([3.0, 4.0]),), x.sum(), x, axis=None, keepdims=False)
    Tensor(7.)
    """
    def rule(tangents, out, *inputs, **options):
        ### BEGIN SOLUTION
        return apply(op, *tangents, **options)
        ### END SOLUTION
    return rule


LINEAR = (sum_forward, reshape_forward, np.transpose, np.broadcast_to, take_forward,
          cumsum_forward, clone_forward, concatenate_forward, stack_forward)
jvp_rule(np.multiply, multiply_tangent)
jvp_rule(np.matmul, matmul_tangent)
for op in LINEAR:
    jvp_rule(op, linear_rule(op))

# %% checks="tangent-rules"
check("tangent-rules")

# %% [markdown]
# ## Jacobian-vector products
#
# A tangent rule is for one operation. Now we go through the graph of a function. The
# **Jacobian-vector product** (JVP) $J v$ is the tangent of a function's result when the
# tangents of its inputs are $v$: the directional derivative of the function along $v$. The
# Jacobian $J$ itself is never built.
#
# `jvp` runs the function on copies of its inputs, and only these copies get tangents.
# `push_forward` then goes through the graph as the backward pass does, but in the other
# direction, from the inputs to the result.
#
# **Task.** Write `push_forward`. `topological_order(out)` of lesson 06 begins with `out` and
# lists every result before its inputs. Here you need the reverse order.
# `support.known_tangent(tangents, x, node)` is the tangent of the input `x` of a node; it is
# zeros for a constant. Which nodes need no tangent?

# %% The Jacobian-vector product exercise="jvp"
#| export
def push_forward(out, tangents):
    """Compute the tangents of `out` and of everything that `out` was computed from.

    out       Tensor
    tangents  dict {leaf: its tangent}, both Tensors; every other leaf is a constant. The
              tangents of all results that were computed from these leaves are put into it
    returns   the tangent of `out`, a Tensor of the same shape; zeros if `out` does not depend
              on these leaves

    The rules come from `tangent_rules`. An operation that does not depend on any of the leaves
    needs no rule.

    >>> x = Variable(3.0)
    >>> push_forward(x * x + 1.0, {x: Tensor(10.0)}).item()
    60.0
    """
    ### BEGIN SOLUTION
    for node in reversed(topological_order(out)):
        made = node.creator
        if any(isinstance(x, Tensor) and x in tangents for x in made.inputs):
            given = tuple(support.known_tangent(tangents, x, node) for x in made.inputs)
            rule = tangent_rules[made.op]
            tangents[node] = rule(given, node, *made.inputs, **made.options)
    return support.known_tangent(tangents, out, out)
    ### END SOLUTION


def jvp(f, primals, tangents):
    """f(*primals), and how much it changes when the primals change by the tangents.

    f         a function of Tensors that returns one Tensor of any shape
    primals   tuple of Tensors (arrays or numbers are accepted), one for each argument
    tangents  tuple of as many Tensors, of the same shapes
    returns   (out, tangent), two Tensors of one shape: f(*primals), and its Jacobian times the
              tangents

    Raises ValueError if the tangents do not match the primals in number or shape. No `.grad`
    changes. The result can be differentiated when the primals, or other Tensors that `f` uses,
    require gradients.

    >>> jvp(lambda x, y: x * y, (Tensor(2.0), Tensor(3.0)), (1.0, 0.0))
    (Tensor(6.), Tensor(3.))

    Source: torch.func.jvp.
    """
    leaves, out = support.start(f, primals)
    tangents = dict(zip(leaves, support.as_tangents(tangents, leaves)))
    if support.is_recorded(out, leaves):
        return out, push_forward(out, tangents)
    with no_grad():
        return out.detach(), push_forward(out, tangents)

# %% checks="jvp"
check("jvp")

# %% [markdown]
# A JVP is useful when a function has one input and many outputs. The function below trains the
# model from the beginning with gradient descent. Its input is the learning rate, and its
# outputs are the losses after each of 20 steps. One pass gives the derivative of all 20 losses
# with respect to the learning rate: should it be larger? Predict it for 0.5, 2 and 4.

# %% tags=["answer", "explained"]
from tinytorch.core.activations import softmax
from tinytorch.core.losses import cross_entropy

digits, targets = Tensor(images), np.eye(10, dtype="float32")[labels]


def descent(lr):
    w, losses = Tensor(np.zeros((64, 10), "float32")), []
    for _ in range(20):
        w = w - lr * (digits.T @ (softmax(digits @ w) - targets)) / len(labels)
        losses.append(cross_entropy(digits @ w, labels))
    return stack(losses)


for lr in (0.5, 2.0, 4.0):
    losses, changes = (x.data[[4, 19]].round(2) for x in jvp(descent, (Tensor(lr),), (1.0,)))
    print(f"lr {lr}, after 5 and 20 steps: losses {losses}, derivatives {changes}")

# %% [markdown]
# At 0.5 and at 2, a larger learning rate lowers both losses. At 4 the derivatives are positive,
# and the last one is very large: a tiny change of the learning rate leads to another result.
#
# ## Jacobians, column by column
#
# Products with a Jacobian are enough to build the whole matrix. A JVP with the unit vector
# $e_j$ is column $j$ of the Jacobian: how all outputs change when only input $j$ does. With $n$
# inputs, $n$ passes give the whole matrix.
#
# **Task.** Write `jacfwd`.

# %% The Jacobian, column by column exercise="jacfwd"
#| export
def jacfwd(f):
    """The function that computes the Jacobian of `f`, column by column, with `jvp`.

    f        a function from a Tensor of shape (n,) to one of shape (m,)
    returns  a function of a Tensor (n,), whose result is a Tensor (m, n): row i, column j is
             the derivative of output i with respect to input j. When f(x) has shape (), the
             result has shape (n,)

    >>> jacfwd(lambda x: stack([x[0] * x[1], x[0] + x[1], x[1]]))(Tensor([2.0, 3.0]))
    Tensor([[3., 2.],
            [1., 1.],
            [0., 1.]])

    Source: torch.func.jacfwd.
    """
    def jacobian(x):
        ### BEGIN SOLUTION
        columns = [jvp(f, (x,), (e,))[1] for e in np.eye(x.size, dtype=x.dtype)]
        return stack(columns, axis=-1)
        ### END SOLUTION
    return jacobian

# %% checks="jacfwd"
check("jacfwd")

# %% [markdown]
# ## Vector-Jacobian products
#
# Reverse mode multiplies the Jacobian from the other side: $g^T J$, the vector-Jacobian product
# of lesson 06. `vjp` returns the result `out` of a function, and `vjp_function`, which you can
# call with several `g`. `grad` of lesson 06 returns a dictionary from each leaf to its
# gradient. It contains only the leaves that `out` depends on. If `out` depends on no leaf,
# `out.requires_grad` is False, and you cannot call `grad`.
#
# **Task.** Write `vjp_function`. It may be called more than once, so `grad` must not free the
# graph.

# %% The vector-Jacobian product exercise="vjp"
#| export
def vjp(f, *primals):
    """f(*primals), and a function that multiplies vectors by its Jacobian from the left.

    f        a function of Tensors that returns one Tensor of any shape
    primals  Tensors, one for each argument
    returns  (out, vjp_function). vjp_function(g), where `g` is a Tensor or array of the shape
             of `out`, returns a tuple with a Tensor for each primal, of its shape: the gradient
             of sum(g * out). It can be called several times

    No `.grad` changes. For a primal that `out` does not depend on, the gradient is all zeros.

    >>> out, pull_back = vjp(lambda x, y: x * y, Tensor([2.0, 4.0]), Tensor([3.0, 5.0]))
    >>> pull_back([1.0, 10.0])
    (Tensor([ 3., 50.]), Tensor([ 2., 40.]))

    Source: torch.func.vjp.
    """
    support.refuse_nested("vjp", primals)
    leaves, out = support.start(f, [Tensor(x) for x in primals])

    def vjp_function(g):
        ### BEGIN SOLUTION
        gradients = {}
        if out.requires_grad:
            gradients = grad(out, seed_gradient(out, g), retain_graph=True)
        return tuple(Tensor(gradients.get(leaf, np.zeros(leaf.shape, leaf.dtype)))
                     for leaf in leaves)
        ### END SOLUTION
    return out.detach(), vjp_function

# %% checks="vjp"
check("vjp")

# %% [markdown]
# ## Jacobians, row by row
#
# The same matrix can be built from the other product. A VJP with the unit vector $e_i$ is row
# $i$ of the Jacobian: how output $i$ depends on all inputs. With $m$ outputs, $m$ backward
# passes give the whole matrix, and `f` runs only once.
#
# **Task.** Write `jacrev`.

# %% The Jacobian, row by row exercise="jacrev"
#| export
def jacrev(f):
    """The function that computes the Jacobian of `f`, row by row, with `vjp`; the same result
    as `jacfwd(f)`. It runs `f` once.

    >>> jacrev(lambda x: x[1] * x)(Tensor([2.0, 3.0]))
    Tensor([[3., 2.],
            [0., 6.]])

    Source: torch.func.jacrev.
    """
    def jacobian(x):
        ### BEGIN SOLUTION
        out, vjp_function = vjp(f, x)
        rows = [vjp_function(e.reshape(out.shape))[0]
                for e in np.eye(out.size, dtype=out.dtype)]
        return stack(rows).reshape(*out.shape, *x.shape)
        ### END SOLUTION
    return jacobian

# %% checks="jacrev"
check("jacrev")

# %% [markdown]
# Which of the two is faster? Predict it for a function with 2 inputs and 200 outputs, and for
# one with 200 inputs and 2 outputs.

# %% tags=["answer", "explained"]
sizes = [(2, 200), (20, 20), (200, 2)]
figure = draw_passes(sizes, {mode.__name__: [jacobian_seconds(mode, *size) for size in sizes]
                             for mode in (jacfwd, jacrev)})
# alt: Bars for three sizes. With 2 inputs and 200 outputs jacfwd is much faster than jacrev;
# with 200 inputs and 2 outputs it is the other way round; with 20 and 20 they differ less.

# %% [markdown]
# Training uses reverse mode because a loss has one output and many inputs.

# %% [markdown] page="Second derivatives"
# ## Hessian-vector products
#
# From first derivatives we go to second ones. The **Hessian** of a function with one output is
# the matrix of its second partial derivatives, $H_{ij} = \partial^2 f / \partial x_i \partial
# x_j$. It describes how the gradient changes. For a million weights it has $10^{12}$ entries,
# far too many to store.
#
# Often we need only its product with a vector. The **Hessian-vector product** (HVP) $Hv$ is the
# change of the gradient along $v$. We can compute it without $H$, for the price of a few
# gradients. The tangent of $f$ along $v$ is the number
# $\nabla f \cdot v = \sum_j v_j \, \partial f / \partial x_j$. Our tangents are recorded
# Tensors, so backpropagation can differentiate this number. Because $v$ is constant, its
# derivative with respect to $x_i$ is $\sum_j H_{ij} v_j$, entry $i$ of $Hv$:
#
# $$\nabla (\nabla f \cdot v) = H v$$
#
# This backward pass through a forward-mode pass is called *reverse over forward*.
#
# **Task.** Write `hvp`: compute the tangent of `f` with `jvp`, then the gradient of this
# tangent with `grad`. Make new Variables for the leaves, so that the `.grad` of the caller's
# tensors does not change. In the block `with support.force_recording():`, operations are
# recorded even inside no_grad. For a linear `f` the tangent is a constant and requires no
# gradient.

# %% The Hessian-vector product exercise="hvp"
#| export
def hvp(f, x, v):
    """The Hessian of `f` at `x`, times the vector `v`. The Hessian itself is never computed.

    f        a function of one Tensor that returns one number, a Tensor of shape (); or of
             several Tensors, when `x` is a list
    x        Tensor of any shape, or a list of Tensors
    v        a Tensor of the shape of `x`, or a list of them
    returns  a Tensor of the shape of `x`, or a list of them

    Changes no `.grad`. Also works inside no_grad.

    >>> hvp(lambda x: x[0] * x[0] + 3 * x[0] * x[1], Tensor([5.0, 7.0]), Tensor([1.0, 2.0]))
    Tensor([8., 3.])

    Source: Pearlmutter, Fast exact multiplication by the Hessian (1994).
    """
    xs, vs = (x, v) if isinstance(x, (list, tuple)) else ([x], [v])
    support.refuse_nested("hvp", xs)
    ### BEGIN SOLUTION
    leaves = [Variable(x.data) for x in xs]
    with support.force_recording():
        tangent = jvp(f, leaves, vs)[1]
    gradients = grad(tangent, seed_gradient(tangent)) if tangent.requires_grad else {}
    products = [Tensor(gradients.get(leaf, np.zeros(leaf.shape, leaf.dtype)))
                for leaf in leaves]
    ### END SOLUTION
    return products if isinstance(x, (list, tuple)) else products[0]

# %% checks="hvp"
check("hvp")

# %% [markdown]
# An HVP finds the best learning rate. Along $-g$, the direction of gradient descent, the loss
# has the slope $-g \cdot g$ and the second derivative $g \cdot Hg$. If it were a parabola, the
# learning rate $g \cdot g / (g \cdot Hg)$ would lead to its minimum. Predict how this changes
# the training of the model from the beginning, and what an HVP costs, compared with a gradient.

# %% tags=["answer"]
from timeit import timeit

decay = 1e-3


def digits_loss(w):
    return cross_entropy(digits @ w, labels) + decay / 2 * (w * w).sum()


def gradient(w):
    return vjp(digits_loss, w)[1](1.0)[0]


for name in ("learning rate 2", "best rate"):
    w, losses = Tensor(np.zeros((64, 10), "float32")), []
    for step in range(20):
        g = gradient(w)
        best = (g * g).sum().data / (g * hvp(digits_loss, w, g)).sum().data
        w = Tensor(w.data - (best if name == "best rate" else 2.0) * g.data)
        losses.append(float(digits_loss(w)))
    print(f"{name:15} loss {losses[4]:.2f} after 5 steps, {losses[19]:.2f} after 20")
for name, compute in [("loss", lambda: digits_loss(w)), ("gradient", lambda: gradient(w)),
                      ("HVP", lambda: hvp(digits_loss, w, w))]:
    print(f"{name:8} {50 * timeit(compute, number=20):.2f} ms")

# %% [markdown]
# **Task.** Write `hessian`. It is a Jacobian of a Jacobian, in one line. In which order must
# you nest `jacfwd` and `jacrev`? (`vjp` returns Tensors that are not recorded.)

# %% The Hessian exercise="hessian"
#| export
def hessian(f):
    """The function that computes the Hessian of `f`.

    f        a function from a Tensor of shape (n,) to one number, a Tensor of shape ()
    returns  a function of a Tensor (n,), whose result is a Tensor (n, n)

    >>> hessian(lambda x: x[0] * x[0] + 3 * x[0] * x[1])(Tensor([5.0, 7.0]))
    Tensor([[2., 3.],
            [3., 0.]])

    Source: torch.func.hessian.
    """
    ### BEGIN SOLUTION
    return jacrev(jacfwd(f))
    ### END SOLUTION

# %% checks="hessian"
check("hessian")

# %% [markdown]
# ## Sharpness
#
# Products with the Hessian are enough to find its largest eigenvalue. An *eigenvector* of a
# matrix is a vector that the matrix only scales: $Hv = \lambda v$. The factor $\lambda$ is its
# *eigenvalue*. The **sharpness** of a loss is the largest eigenvalue of its Hessian: the
# curvature in the direction in which the loss is most curved. In the bowl of lesson 07, a step
# multiplied a weight by $1 - \mathrm{lr} \cdot \mathrm{curvature}$, and with $\mathrm{lr} > 2 /
# \mathrm{curvature}$ it diverged. So the sharpness limits the learning rate.
#
# **Power iteration** finds the eigenvalue of largest absolute value by multiplying a random
# vector by the matrix again and again: the component of the vector along the eigenvector of
# this eigenvalue grows fastest.
#
# **Task.** Write `power_iteration`. Without correction, what happens to the length of the
# vector after 100 products? And since a length has no sign, how do you get the sign of the
# eigenvalue?

# %% exercise="power-iteration"
#| export
def power_iteration(matvec, like, steps, rng):
    """The eigenvalue of a symmetric matrix that is largest in absolute value.

    matvec   a function from a Tensor v to the Tensor H v
    like     Tensor of the shape and dtype of v; its numbers are not used
    steps    how many times to call `matvec`, 1 or more
    rng      a NumPy Generator: the start is rng.normal(size=shape)
    returns  (value, vector): a float and a Tensor of length 1. `vector` is the argument of the
             last call of `matvec`, and `value` is the dot product of `vector` and H `vector`,
             which may be negative; 0.0 for H = 0

    >>> power_iteration(lambda v: -5.0 * v, Tensor([0.0]), 2, np.random.default_rng(0))
    (-5.0, Tensor([-1.]))

    Source: Golub and Van Loan, Matrix Computations (2013), section 7.3.1.
    """
    ### BEGIN SOLUTION
    v = rng.normal(size=like.shape).astype(like.dtype)
    for _ in range(steps):
        unit = v / np.sqrt((v * v).sum())
        v = matvec(Tensor(unit)).data
        value = float((unit * v).sum())
        if not v.any():
            break
    return value, Tensor(unit)
    ### END SOLUTION

# %% checks="power-iteration"
check("power-iteration")

# %% [markdown]
# A small network learns to separate two half-moons, with gradient descent on all points. Every
# 20 steps we measure the sharpness. `functional_call(net, w, x)` computes `net(x)` with the
# weights in the vector `w`. Predict: will the sharpness stay below $2 / \mathrm{lr}$?

# %% tags=["answer", "explained"]
from tinytorch.core.losses import mse_loss
from tinytorch.func import functional_call
from tinytorch.pictures.autograd import two_moons
from tinytorch.pictures.differentiation import untrained_network

points, sides = two_moons()
net, start = untrained_network()


def moons_loss(w):
    return mse_loss(functional_call(net, w, Tensor(points)), sides)


def sharpness_curve(lr, steps=400, every=20):
    w, rng, curve = start, np.random.default_rng(0), []
    for step in range(steps + 1):
        if step % every == 0:
            curve.append(power_iteration(lambda v: hvp(moons_loss, w, v), w, 10, rng)[0])
        w = Tensor(w.data - lr * vjp(moons_loss, w)[1](1.0)[0].data)
    return range(0, steps + 1, every), curve


figure = draw_sharpness({lr: sharpness_curve(lr) for lr in (0.2, 0.3)})
# caption: The sharpness rises to 2 / learning rate, where gradient descent is about to diverge.
# alt: The sharpness over 400 steps, for two learning rates. Both curves start at 11, fall
# within 20 steps, to 7 and 4, and rise again until they reach 2 / 0.2 = 10 and 2 / 0.3 = 6.7,
# two dotted lines; there they stay.

# %% [markdown]
# After the first steps the sharpness *rises* to $2 / \mathrm{lr}$ and stays close to it. This
# is called training at the *edge of stability* (Cohen et al., 2021). A larger learning rate
# leads to a flatter part of the loss.
#
# ## The conjugate gradient method
#
# Newton's method needs the solution of $Hx = b$, but we only have products $Hv$. The
# **conjugate gradient method** solves $Hx = b$ with such products alone. The gradient of
# $\frac12 x \cdot Hx - b \cdot x$ is $Hx - b$, so the minimum of this function is the solution.
# The method goes to the minimum along one direction, then along the next, and chooses each
# direction so that it keeps what the earlier steps have reached. For $n$ unknowns it has the
# exact solution after $n$ steps, and usually a good one much sooner.
#
# The residual is $r = b - Hx$, and the first direction is $p = r$. Each step computes:
#
# 1. $\alpha = (r \cdot r) / (p \cdot Hp)$: how far to go along $p$;
# 2. $x \leftarrow x + \alpha p$: the better solution;
# 3. $r_{new} = r - \alpha Hp$: its residual;
# 4. $p \leftarrow r_{new} + \frac{r_{new} \cdot r_{new}}{r \cdot r}\, p$: the next direction;
#    then $r_{new}$ replaces $r$.
#
# A matrix is **positive definite** if $p \cdot Hp > 0$ for every vector $p$ other than 0. The
# method needs such a matrix, because otherwise there is no minimum. **Damping** adds a positive
# number to each eigenvalue: $H + \lambda I$ is positive definite if $\lambda$ is large enough.
#
# **Task.** Write `conjugate_gradient`. Its result is never differentiated, so compute with
# `.data`. This is the longest exercise of the lesson. Do its first step on paper, for a matrix
# of 2 by 2.

# %% The conjugate gradient method exercise="conjugate-gradient"
#| export
def conjugate_gradient(matvec, b, steps, damping=0.0):
    """Solve (H + damping I) x = b, for a symmetric H that is known only by its products.

    matvec   a function from a Tensor v to the Tensor H v
    b        Tensor of any shape
    steps    the largest number of calls of `matvec`
    damping  a float that is added to every eigenvalue of H
    returns  x, a Tensor of the shape and dtype of `b`; zeros for b = 0

    Starts from x = 0. Stops early when the residual b - (H + damping I) x is at most eps times
    as long as b, where eps is np.finfo(b.dtype).eps. When p . (H + damping I) p <= 0 for a
    direction p, the matrix is not positive definite: ValueError with the word damping in it.

    >>> h = Tensor([[2.0, 0.0], [0.0, -0.5]])
    >>> conjugate_gradient(lambda v: h @ v, Tensor([3.0, 3.0]), 2, damping=1.0).data.round(3)
    array([1., 6.], dtype=float32)

    Source: Hestenes and Stiefel (1952); Nocedal and Wright (2006), algorithm 5.2.
    """
    ### BEGIN SOLUTION
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
    ### END SOLUTION

# %% checks="conjugate-gradient"
check("conjugate-gradient")

# %% [markdown]
# ## Newton's method
#
# Now you can write the second method of the first picture. **Newton's method** replaces the
# loss by the parabola with the same value, gradient and Hessian, and goes to the minimum of
# this parabola: $x - H^{-1} g$. There is no learning rate to choose. Near the minimum, the
# number of correct digits doubles with each step.
#
# **Task.** Write `newton_step`.

# %% A step of Newton's method exercise="newton"
#| export
def newton_step(f, x, steps=20, damping=0.0):
    """One step of Newton's method: x - (H + damping I)^-1 g, with the gradient g of `f` at `x`.

    f        a function from a Tensor to one number, a Tensor of shape ()
    x        Tensor of any shape; not changed
    steps    the largest number of steps of the conjugate gradient method
    damping  as in `conjugate_gradient`
    returns  a new Tensor like `x`

    >>> newton_step(lambda x: ((x - 3) * (x - 3)).sum(), Tensor([5.0, -7.0]))
    Tensor([3., 3.])

    Source: Nocedal and Wright, Numerical Optimization (2006), section 7.1.
    """
    ### BEGIN SOLUTION
    g = vjp(f, x)[1](1.0)[0]
    step = conjugate_gradient(lambda v: hvp(f, x, v), g, steps, damping)
    return Tensor(x.data - step.data)
    ### END SOLUTION

# %% checks="newton"
check("newton")

# %% [markdown]
# On the model from the beginning, each step uses only ten products, so the solution of $Hx = g$
# is only approximate. Predict the final loss.

# %% tags=["answer", "payoff"]
w = Tensor(np.zeros((64, 10), "float32"))
for step in range(7):
    right = ((test_images @ w.data).argmax(axis=1) == test_labels).mean()
    print(f"step {step}: loss {float(digits_loss(w)):.4f}, {right:.1%} of the test images")
    w = newton_step(digits_loss, w, steps=10)

# %% [markdown]
# Why are large networks not trained in this way? Because their loss is not convex, the method
# needs much damping, and the Hessian of a mini-batch is noisy, while Adam replaces the Hessian
# by one number per weight, which costs almost nothing.

# %% [markdown] page="Estimates and memory"
# ## The diagonal and the trace
#
# Sometimes the diagonal of the Hessian, one number per weight, is enough. For example, it shows
# which weights can be removed with little harm. **Hutchinson's estimator** of the diagonal
# multiplies the matrix by random vectors $z$ of $\pm 1$ and averages $z \odot Hz$, elementwise.
# Entry $i$ is then $H_{ii} + \sum_{j \ne i} z_i z_j H_{ij}$, and the sum is 0 on average.
#
# **Task.** Write `hutchinson`. The *trace* is the sum of the diagonal.

# %% Hutchinson's estimates exercise="hutchinson"
#| export
def hutchinson(matvec, like, probes, rng):
    """Estimate the trace and the diagonal of a matrix that is known only by its products.

    matvec   a function from a Tensor v to the Tensor H v
    like     Tensor of the shape and dtype of v; its numbers are not used
    probes   how many random vectors of -1 and 1 to use
    rng      a NumPy Generator
    returns  (trace, diagonal): a float and a Tensor like `like`. The diagonal is the mean of
             z * H z, the trace its sum

    >>> hutchinson(lambda v: -5.0 * v, Tensor([0.0, 0.0]), 1, np.random.default_rng(0))
    (-10.0, Tensor([-5., -5.]))

    Source: Bekas, Kokiopoulou, Saad, An estimator for the diagonal of a matrix (2007).
    """
    ### BEGIN SOLUTION
    total = np.zeros(like.shape, like.dtype)
    for _ in range(probes):
        z = rng.choice([-1.0, 1.0], size=like.shape).astype(like.dtype)
        total += z * matvec(Tensor(z)).data
    return float(total.sum() / probes), Tensor(total / probes)
    ### END SOLUTION

# %% checks="hutchinson"
check("hutchinson")

# %% tags=["demonstration"]
from tinytorch.pictures.differentiation import hessian_by_hand

exact = hessian_by_hand(w.data, images, labels, decay).trace()
print(f"trace {exact:.4f}, from the whole Hessian")
for probes in (1, 10, 100):
    estimate, _ = hutchinson(lambda v: hvp(digits_loss, w, v), w, probes,
                             np.random.default_rng(0))
    print(f"      {estimate:.4f}, from {probes}")

# %% [markdown]
# ## Gradient checkpointing
#
# The last section is about the memory of reverse mode: a graph holds the result of every
# operation. **Gradient checkpointing** keeps only some results of the forward pass, and
# computes the others again during the backward pass. It saves memory and costs time.
#
# A `Function` of lesson 06 can do this. Its method `forward` runs `f` without recording. Its
# method `backward` runs `f` again on new leaves, this time recorded, and then calls the
# function `backward` of lesson 06 on the result. That also adds to the `.grad` of weights that
# `f` uses but does not receive as inputs. If `f` draws random numbers, for dropout, the second
# run must draw the same ones; `repeated` takes care of that.
#
# **Task.** Write `forward` and `backward` of `Checkpoint`.

# %% Gradient checkpointing exercise="checkpoint"
#| export
class Checkpoint(Function):
    """A whole function as one operation that keeps only its inputs.

    f        a function of Tensors (and numbers) that returns one Tensor
    wanted   list of bool: which inputs require a gradient

    The first input, `marker`, is not given to `f`. It requires a gradient, so that the
    operation is recorded even if only weights that `f` uses require one.
    """

    def __init__(self, f, wanted):
        self.f, self.wanted = f, wanted
        self.generators = generators_of(f)

    def as_inputs(self, arrays):
        """The arguments of f: a Tensor for each array, which requires a gradient if wanted."""
        return [Tensor(array, wanted) if isinstance(array, np.ndarray) else array
                for array, wanted in zip(arrays, self.wanted)]

    def forward(self, marker, *arrays):
        """Run `f` on the inputs without recording, and return the array of its result."""
        ### BEGIN SOLUTION
        self.states = random_states(self.generators)
        self.save_for_backward(*arrays)
        with no_grad():
            return self.f(*self.as_inputs(arrays)).data
        ### END SOLUTION

    def backward(self, g):
        """A tuple: None for `marker`, then the gradient of each input, or None where none is
        wanted. Runs `f` again, now recorded, with the same random numbers (`repeated`). Adds
        the gradients of the weights that `f` uses to their `.grad`."""
        ### BEGIN SOLUTION
        inputs = self.as_inputs(self.saved_tensors)
        with support.force_recording(), repeated(self.generators, self.states):
            out = self.f(*inputs)
        if out.requires_grad:
            backward(out, g)
        return (None, *[getattr(x, "grad", None) for x in inputs])
        ### END SOLUTION


def checkpoint(f, *inputs):
    """f(*inputs), recorded as one operation that computes `f` again in the backward pass.

    f        a function of Tensors that returns one Tensor
    inputs   Tensors, numbers or arrays. Other Tensors that `f` uses must be leaves, such as the
             weights of a layer
    returns  f(*inputs), recorded unless inside no_grad

    >>> x = Variable(3.0)
    >>> checkpoint(lambda x: (x * x).exp(), x).backward()
    >>> round(float(x.grad), 1)
    48618.5

    Source: Chen et al., Training deep nets with sublinear memory cost (2016), section 4;
    torch.utils.checkpoint.
    """
    wanted = [isinstance(x, Tensor) and x.requires_grad for x in inputs]
    marker = Variable(0.0)  # requires a gradient, so that weights inside f receive theirs
    return Checkpoint(f, wanted)(marker, *inputs)

# %% checks="checkpoint"
check("checkpoint")

# %% [markdown]
# Cut a chain of $n$ operations into segments of $k$. Then $n / k$ results are kept, and $k$
# more for the one segment that is being computed again. Predict the best $k$, and the memory
# for a depth of 144.

# %% tags=["answer", "explained"]
def training_step(n, k):
    x = Variable(ones[:25_000])  # 100 kB
    for _ in range(n // k):
        x = checkpoint(lambda x: sines(x, k), x) if k > 1 else sines(x, 1)
    x.sum().backward()


depths = [4, 16, 36, 64, 100, 144]
figure = draw_memory(depths, {
    name: [kilobytes_at_peak(lambda: training_step(n, segment(n))) / 100 for n in depths]
    for name, segment in [("without checkpoint", lambda n: 1),
                          ("segments of √n", lambda n: round(n**0.5))]})
# alt: Arrays in memory at the peak, against the depth. Without checkpoint a straight line, up
# to 149 arrays at depth 144; with segments of the square root of n the curve bends, up to 31.

# %% [markdown]
# Segments of $\sqrt n$ need about $2 \sqrt n$ arrays and one more forward pass.
#
# ## Look back
#
# 1. `jacfwd(jacfwd(f))` is also a Hessian, and so is `jacrev(jacfwd(f))`, which is `hessian`. A
#    third way uses one `hvp` per column. Count the passes of each for $n$ weights.
# 2. Train the moons with `lr=0.5`. How does the sharpness at the start explain the result?
#    With which smaller learning rate could you begin, to raise it to 0.5 later?
# 3. Write a function that runs a chain of operations: it calls `checkpoint` for each half of
#    the chain, and each half does the same, down to single operations. How does the memory grow
#    with the depth?
#
# PyTorch has the same parts: `torch.func.jvp`, `vjp`, `jacfwd`, `jacrev` and `hessian`,
# `torch.autograd.functional.hvp`, `torch.utils.checkpoint.checkpoint`. Its backward rules are
# recorded, so reverse mode can be nested there; ours refuses that. Its forward mode stores a
# tangent in each tensor (`torch.autograd.forward_ad`), as our Dual does, and needs no graph.

# %% [markdown] tags=["answer"]
# 1. `jacfwd(jacfwd(f))` takes n^2 forward passes, one for each pair of weights, and the two
#    others n passes, each with a backward pass. All three give the same matrix.
# 3. Only one input per level is stored, and there are about log2 of the depth levels. Each
#    level computes everything below it again, and that takes time.
