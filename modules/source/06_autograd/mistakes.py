# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

# %% arithmetic mistake upstream-gradient-forgotten: The rule of + returns 1 and ignores the
# upstream gradient.
#> times g
#- derivative(np.add, lambda g, out, a, b: g, lambda g, out, a, b: g)
derivative(np.add, lambda g, out, a, b: np.ones_like(g), lambda g, out, a, b: np.ones_like(g))

# %% arithmetic mistake one-rule-for-two: Gives one rule to an operation of two inputs.
#> add has rules for 1 of 2 inputs
#- derivative(np.add, lambda g, out, a, b: g, lambda g, out, a, b: g)
derivative(np.add, lambda g, out, a, b: g)

# %% arithmetic mistake product-keeps-its-own: Multiplies by the input itself instead of by the
# other one.
#> multiply: for a =
#- derivative(np.multiply, lambda g, out, a, b: g * b, lambda g, out, a, b: g * a)
derivative(np.multiply, lambda g, out, a, b: g * a, lambda g, out, a, b: g * b)

# %% arithmetic mistake subtraction-keeps-its-sign: Forgets that the derivative of a - b with
# respect to b is -1.
#> the rule for input 1 should return
#- derivative(np.subtract, lambda g, out, a, b: g, lambda g, out, a, b: -g)
derivative(np.subtract, lambda g, out, a, b: g, lambda g, out, a, b: g)

# %% arithmetic mistake quotient-without-square: Divides a by b once instead of twice in the
# derivative of a / b with respect to b.
#> divide: for a =
#- derivative(np.divide, lambda g, out, a, b: g / b, lambda g, out, a, b: -g * out / b)
derivative(np.divide, lambda g, out, a, b: g / b, lambda g, out, a, b: -g * a / b)

# %% arithmetic mistake rule-writes-into-the-gradient: Negates the gradient in place, which
# changes it for everybody else who uses it.
#> wrote into its arguments
#- derivative(np.subtract, lambda g, out, a, b: g, lambda g, out, a, b: -g)
derivative(np.subtract, lambda g, out, a, b: g, lambda g, out, a, b: np.negative(g, out=g))

# %% arithmetic mistake rule-without-out: Leaves out the parameter `out` where the rule has no
# use for it.
#> A rule takes g, out, then the inputs
#- derivative(np.multiply, lambda g, out, a, b: g * b, lambda g, out, a, b: g * a)
derivative(np.multiply, lambda g, a, b: g * b, lambda g, a, b: g * a)

# %% arithmetic right: Derivatives written without out, as quotients.
derivative(np.add, lambda g, *rest: g, lambda g, *rest: g)
derivative(np.subtract, lambda g, *rest: g, lambda g, *rest: 0 - g)
derivative(np.multiply, lambda g, out, a, b: b * g, lambda g, out, a, b: a * g)
derivative(np.divide, lambda g, out, a, b: g * (1 / b), lambda g, out, a, b: -(g / b) * (a / b))
derivative(np.negative, lambda g, out, a: -1 * g)

# %% arithmetic right: Named functions; one function for both inputs of an operation.
def same(g, out, a, b):
    return g

def both(g, out, a, b):
    return g.copy(), np.negative(g)

derivative(np.add, same, same)
derivative(np.subtract, together=both)
derivative(np.multiply, together=lambda g, out, a, b: [g * b, g * a])
derivative(np.divide, together=lambda g, out, a, b: [g / b, -a * g / (b * b)])
derivative(np.negative, lambda g, out, a: -g)

# %% propagate mistake replace-instead-of-add: Writes = for +=: what arrives last replaces what
# came before.
#> Gradients accumulate
#- gradients[x] = gradients[x] + g
gradients[x] = g

# %% propagate mistake in-place-into-what-arrived: Adds into the first array that arrived, which
# the other operand of + uses as well.
#> also changes the
#- gradients[x] = gradients[x] + g
gradients[x] += g

# %% propagate mistake read-only-arrival: Adds into a broadcast view, which cannot be written
# to.
#> read-only view
#- if x in gradients:
#-     gradients[x] = gradients[x] + g
if x not in gradients:
    gradients[x] = g
#- gradients[x] = g
gradients[x] += g

# %% propagate mistake sum-in-a-variable-of-ones-own: Writes += to a local variable: for shape
# () that makes a new scalar, and the dictionary keeps the old one.
#> does not reach the dictionary
#- gradients[x] = gradients[x] + g
old = gradients[x]; old += g

# %% propagate mistake written-into-a-scalar: Writes with out=, which a NumPy scalar, the sum of
# two numbers of shape (), does not allow.
#> cannot be written into
#- gradients[x] = gradients[x] + g
np.add(gradients[x], g, out=gradients[x])

# %% propagate mistake rules-for-all-inputs: Calls the rules of inputs that require no gradient.
#> rules should be called for ['x'] only
#- if isinstance(x, Tensor) and x.requires_grad and rule is not None:
#-     part = rule(g, node.data, *made.arrays, **made.options)
if isinstance(x, Tensor) and rule is not None:
    part = rule(g, node.data, *made.arrays, **made.options)

# %% propagate mistake input-not-matched: Forgets that what a rule returns can have another
# dtype, or the broadcast shape.
#> pass what the rule returns through match_input
#- accumulate(gradients, x, match_input(part, x.data, made.op))
accumulate(gradients, x, part)

# %% propagate mistake options-forgotten: Does not pass the options on, so rules know no axis
# and no limit.
#> pass **made.options
#- part = rule(g, node.data, *made.arrays, **made.options)
part = rule(g, node.data, *made.arrays)

# %% propagate mistake data-of-now: Calls rules with the data that the inputs have now, not with
# the recorded arrays.
#> pass the recorded arrays
#- part = rule(g, node.data, *made.arrays, **made.options)
part = rule(g, node.data, *[getattr(y, "data", y) for y in made.inputs], **made.options)

# %% propagate mistake contribution-replaces: Writes into the dictionary instead of
# accumulating.
#> x should receive [6, -80]
#- accumulate(gradients, x, match_input(part, x.data, made.op))
gradients[x] = match_input(part, x.data, made.op)

# %% propagate mistake operation-not-named: Leaves out the operation, so that the error about a
# wrong rule does not name it.
#> Pass the creator's op to match_input
#- accumulate(gradients, x, match_input(part, x.data, made.op))
accumulate(gradients, x, match_input(part, x.data))

# %% propagate right: Accumulation in one line, with a new array for each sum.
#- if x in gradients:
#-     gradients[x] = gradients[x] + g
#- else:
#-     gradients[x] = g
gradients[x] = gradients[x] + g if x in gradients else g

# %% propagate right: dict.get with a default of 0, and a loop over indices with early exits.
#- if x in gradients:
#-     gradients[x] = gradients[x] + g
#- else:
#-     gradients[x] = g
gradients[x] = gradients.get(x, 0) + g

# %% propagate right: A loop over indices with `continue`.
#- for x, rule in zip(made.inputs, table.rules_of(node, g)):
#-     if isinstance(x, Tensor) and x.requires_grad and rule is not None:
#-         part = rule(g, node.data, *made.arrays, **made.options)
#-         accumulate(gradients, x, match_input(part, x.data, made.op))
rules = table.rules_of(node, g)
for n in range(len(rules)):
    x = made.inputs[n]
    if rules[n] is None or not getattr(x, "requires_grad", False):
        continue
    contribution = rules[n](g, node.data, *made.arrays, **made.options)
    accumulate(gradients, x, match_input(contribution, x.data, op=made.op))

# %% backward mistake freed-if-propagated: Frees only results that have a gradient.
#> free those without gradient, too
gradients = {output: gradient}
for node in topological_order(output):
    g = gradients.pop(node, None)
    if g is not None:
        propagate(node, g, gradients)
        if not retain_graph:
            node.creator = FREED
return gradients

# %% backward mistake graph-never-freed: Never frees a node: memory stays full, and a second
# pass goes through the same graph.
#> a second pass, from the same output, should raise
#- node.creator = FREED
pass

# %% backward mistake freed-too-early: Frees the node before it has been propagated.
#> is a node freed before it is propagated?
#- propagate(node, gradients.pop(node), gradients)
node.creator = FREED
propagate(node, gradients.pop(node), gradients)

# %% backward mistake always-freed: Ignores retain_graph.
#> with retain_graph=True the graph should stay
#- if not retain_graph:
#-     node.creator = FREED
if True:
    node.creator = FREED

# %% backward mistake inputs-first: Goes through the nodes from the inputs on, before any
# gradient has arrived for them.
#> Did you begin with the output?
#- nodes, gradients = topological_order(output)[::-1], {output: gradient}
nodes, gradients = topological_order(output), {output: gradient}

# %% backward mistake propagates-without-gradient: Assumes that every result has a gradient,
# also a mask.
#> so there is nothing to propagate from it
#- if node in gradients:
#-     propagate(node, gradients.pop(node), gradients)
if True:
    propagate(node, gradients.pop(node), gradients)

# %% backward mistake results-stay-in-the-dictionary: Leaves the gradients of results in the
# dictionary, so that backward() gives them a .grad.
#> your dictionary has
#- propagate(node, gradients.pop(node), gradients)
propagate(node, gradients[node], gradients)

# %% backward mistake freed-at-the-end: Frees all nodes after the pass, so that the whole graph
# stays in memory until then.
#> Free each node right after it was propagated
gradients = {output: gradient}
order = topological_order(output)
for node in order:
    if node in gradients:
        propagate(node, gradients.pop(node), gradients)
if not retain_graph:
    for node in order:
        node.creator = FREED
return gradients

# %% backward right: A loop over the list, and a default for pop.
gradients = {output: gradient}
for node in topological_order(output):
    g = gradients.pop(node, None)
    if g is not None:
        propagate(node, g, gradients)
    if not retain_graph:
        node.creator = FREED
return gradients

# %% backward right: A dictionary of all gradients, and a new one for the leaves.
received = {output: gradient}
for node in topological_order(output):
    if node in received:
        propagate(node, received[node], received)
    if not retain_graph:
        node.creator = FREED
return {x: g for x, g in received.items() if x.creator is None}

# %% unbroadcast mistake mean-over-the-batch: Averages over the broadcast axes instead of
# summing.
#> a mean belongs to the loss
#- return sum_forward(g, axis=(*range(extra), *ones)).reshape(shape)
return g.mean(axis=(*range(extra), *ones)).reshape(shape)

# %% unbroadcast mistake length-one-forgotten: Sums over the leading axes only; axes of length 1
# were also broadcast.
#> axes of length 1 were also broadcast
#- return sum_forward(g, axis=(*range(extra), *ones)).reshape(shape)
return g.sum(axis=tuple(range(extra)))

# %% unbroadcast mistake leading-axes-forgotten: Sums over all leading axes but the first.
#> Which axes of g does (4,) lack
#- return sum_forward(g, axis=(*range(extra), *ones)).reshape(shape)
return g.sum(axis=(*range(1, extra), *ones)).reshape(shape)

# %% unbroadcast mistake axes-matched-by-length: Matches axes by their length from the left, so
# a row is taken for a column where both have the same length.
#> aligned at the right
left, axes = list(shape), []
for i, n in enumerate(g.shape):
    if left and left[0] == n:
        left.pop(0)
    else:
        axes.append(i)
        if left and left[0] == 1:
            left.pop(0)
return g.sum(axis=tuple(axes)).reshape(shape)

# %% unbroadcast mistake axes-from-the-left: Looks for the axes of length 1 from the left, also
# where leading axes are missing.
#> Shapes are aligned at the right, so the axis of length 1 belongs to the last
for axis, n in enumerate(shape):
    if n == 1 and g.shape[axis] != 1:
        g = g.sum(axis=axis, keepdims=True)
while g.ndim > len(shape):
    g = g.sum(axis=0)
return g

# %% unbroadcast right: First the leading axes, then each axis of length 1, with keepdims.
while g.ndim > len(shape):
    g = g.sum(axis=0)
for axis, length in enumerate(shape):
    if length == 1:
        g = g.sum(axis=axis, keepdims=True)
return np.asarray(g)

# %% unbroadcast right: Adds every element to the one it was copied from.
size = int(np.prod(shape))
positions = np.broadcast_to(np.arange(size).reshape(shape), g.shape)
full = np.zeros(size, g.dtype)
np.add.at(full, positions.ravel(), g.ravel())
return full.reshape(shape)

# %% elementwise mistake sigmoid-from-the-input: Uses a(1 - a), with the input instead of the
# result, in the derivative of the sigmoid.
#> sigmoid: at a =
#- derivative(sigmoid_forward, lambda g, out, a: g * out * (1 - out))
derivative(sigmoid_forward, lambda g, out, a: g * a * (1 - a))

# %% elementwise mistake cosine-rises: Loses the sign of the cosine's derivative.
#> cos: at a =
#- derivative(np.cos, lambda g, out, a: -g * np.sin(a))
derivative(np.cos, lambda g, out, a: g * np.sin(a))

# %% elementwise mistake result-overwritten: Computes 1 - out² in place and so changes the
# result of the forward pass.
#> the rule of tanh for input 0 wrote into its arguments
#- derivative(np.tanh, lambda g, out, a: g * (1 - out * out))
derivative(np.tanh, lambda g, out, a: g * np.subtract(1, np.multiply(out, out, out=out), out=out))

# %% elementwise mistake square-outside: Squares 1 - out instead of out in the derivative of
# tanh.
#> You return g * (1 - out) ** 2
#- derivative(np.tanh, lambda g, out, a: g * (1 - out * out))
derivative(np.tanh, lambda g, out, a: g * (1 - out) ** 2)

# %% elementwise mistake elementwise-without-g: Returns the derivative of exp and forgets the
# upstream gradient.
#> That is the derivative without g
#- derivative(np.exp, lambda g, out, a: g * out)
derivative(np.exp, lambda g, out, a: out)

# %% elementwise mistake ties-get-nothing: Compares strictly on both sides of maximum, so no
# gradient reaches equal inputs.
#> where a equals b the two gradients should add up to g
#- derivative(np.maximum, lambda g, out, a, b: masked(g, a > b) + masked(g / 2, a == b),
#-            lambda g, out, a, b: masked(g, b > a) + masked(g / 2, a == b))
derivative(np.maximum, lambda g, out, a, b: masked(g, a > b),
           lambda g, out, a, b: masked(g, b > a))

# %% elementwise mistake ties-by-isclose: Takes numbers that are nearly equal for equal.
#> not with isclose
#- derivative(np.maximum, lambda g, out, a, b: masked(g, a > b) + masked(g / 2, a == b),
#-            lambda g, out, a, b: masked(g, b > a) + masked(g / 2, a == b))
derivative(np.maximum,
           lambda g, out, a, b: np.where(np.isclose(a, b), g / 2, np.where(a > b, g, 0)),
           lambda g, out, a, b: np.where(np.isclose(a, b), g / 2, np.where(b > a, g, 0)))

# %% elementwise mistake relu-by-the-gradient: Cuts off where the gradient is negative instead of
# where the input was.
#> relu of
#- derivative(relu_forward, lambda g, out, a: masked(g, out))
derivative(relu_forward, lambda g, out, a: masked(g, g > 0))

# %% elementwise mistake relu-in-place: Sets the gradient to 0 in place, in an array that others
# use.
#> the rule of relu for input 0 wrote into its arguments
#- derivative(relu_forward, lambda g, out, a: masked(g, out))
derivative(relu_forward, lambda g, out, a: np.multiply(g, out > 0, out=g))

# %% elementwise right: Other formulas: from the input, where it stays finite.
derivative(np.exp, lambda g, out, a: g * np.exp(a))
derivative(np.log, lambda g, out, a: g * (1 / a))
derivative(np.sqrt, lambda g, out, a: 0.5 * g / out)
derivative(np.sin, lambda g, out, a: np.cos(a) * g)
derivative(np.cos, lambda g, out, a: np.sin(a) * -g)
derivative(np.tanh, lambda g, out, a: g - g * out**2)
derivative(sigmoid_forward, lambda g, out, a: g * (out - out * out))
derivative(relu_forward, lambda g, out, a: np.where(a > 0, g, 0))

def share(g, a, b):
    return g * (a > b) + g * (a == b) * 0.5

derivative(np.maximum, lambda g, out, a, b: share(g, a, b), lambda g, out, a, b: share(g, b, a))

# %% elementwise right: A loop over pairs of operation and derivative.
def register(op, d):
    derivative(op, lambda g, out, a: g * d(out, a))

for op, d in {
    np.exp: lambda out, a: out,
    np.log: lambda out, a: 1 / a,
    np.sqrt: lambda out, a: 0.5 / out,
    np.sin: lambda out, a: np.cos(a),
    np.cos: lambda out, a: -np.sin(a),
    np.tanh: lambda out, a: (1 - out) * (1 + out),
    sigmoid_forward: lambda out, a: out * sigmoid_forward(-a),
    relu_forward: lambda out, a: np.heaviside(a, 0),
}.items():
    register(op, d)

def above(g, a, b):
    return g * (np.greater(a, b) + 1.0 * np.greater_equal(a, b)) / 2

derivative(np.maximum, lambda g, out, a, b: above(g, a, b), lambda g, out, a, b: above(g, b, a))

# %% shapes mistake permutation-repeated: Applies the same permutation again instead of its
# inverse.
#> Invert the permutation, with argsort(axes)
#- derivative(np.transpose, lambda g, out, x, axes: np.transpose(g, np.argsort(axes)))
derivative(np.transpose, lambda g, out, x, axes: np.transpose(g, axes))

# %% shapes mistake reshaped-to-the-result: Reshapes the gradient to the shape of the result,
# which it has already.
#> the rule of reshape returned a gradient of shape (6,)
#- derivative(reshape_forward, lambda g, out, x, shape: g.reshape(x.shape))
derivative(reshape_forward, lambda g, out, x, shape: g.reshape(shape))

# %% shapes mistake transpose-by-reshape: Restores the shape and not the order of the elements.
#> Invert the permutation, with argsort(axes)
#- derivative(np.transpose, lambda g, out, x, axes: np.transpose(g, np.argsort(axes)))
derivative(np.transpose, lambda g, out, x, axes: g.reshape(x.shape))

# %% shapes mistake reversed-permutation: Reverses the list of axes instead of inverting the
# permutation.
#> Invert the permutation, with argsort(axes)
#- derivative(np.transpose, lambda g, out, x, axes: np.transpose(g, np.argsort(axes)))
derivative(np.transpose, lambda g, out, x, axes: np.transpose(g, axes[::-1]))

# %% shapes mistake squeezed-by-the-way: Drops axes of length 1 before it transposes.
#> Invert the permutation, with argsort(axes)
#- derivative(np.transpose, lambda g, out, x, axes: np.transpose(g, np.argsort(axes)))
derivative(np.transpose, lambda g, out, x, axes: np.transpose(np.squeeze(g), [a for a in np.argsort(axes) if x.shape[axes[a]] != 1]) if 1 in x.shape else np.transpose(g, np.argsort(axes)))

# %% shapes right: The inverse permutation by a loop; explicit sums are not needed.
def transposed(g, out, x, axes):
    inverse = [0] * len(axes)
    for i, axis in enumerate(axes):
        inverse[axis] = i
    return g.transpose(inverse)

derivative(np.transpose, transposed)
derivative(reshape_forward, lambda g, out, x, **options: np.reshape(g, np.shape(x)))
derivative(np.broadcast_to, lambda g, out, x, **options: unbroadcast(g, x.shape))

# %% shapes right: np.moveaxis, and options as a dictionary.
derivative(reshape_forward, lambda g, out, x, shape: g.ravel().reshape(x.shape))
derivative(np.transpose, lambda g, out, x, axes: np.moveaxis(g, range(len(axes)), axes))
derivative(np.broadcast_to, lambda *given, **options: given[0] + 0.0)

# %% index mistake repeated-index-lost: Assigns also where an element was picked several times:
# only the last gradient stays.
#> keeps only the last of several
#- np.add.at(full, index, g)
full[index] = g

# %% index mistake gradient-of-integers: Takes the dtype of the data, so that gradients of
# integers are cut off.
#> 0.5 for x[1] should stay 0.5
#- full = np.zeros(x.shape, g.dtype)
#- np.add.at(full, index, g)
full = np.zeros_like(x)
np.add.at(full, index, g.astype(x.dtype))

# %% index mistake index-by-value: Picks elements of the gradient by the index instead of
# putting them there.
#> not for g
#- np.add.at(full, index, g)
full += g[index]

# %% index mistake add-at-returned: Returns what np.add.at returns, which is None.
#> np.add.at returns None
return np.add.at(np.zeros(x.shape, g.dtype), index, g)

# %% index right: np.bincount, which adds up weights.
positions = np.arange(x.size).reshape(x.shape)[index]
total = np.bincount(np.ravel(positions), np.ravel(g), x.size)
return total.reshape(x.shape).astype(np.asarray(g).dtype)

# %% index right: A loop over the picked elements.
positions = np.ravel(np.arange(x.size).reshape(x.shape)[index])
full = np.zeros(x.size, np.asarray(g).dtype)
for position, part in zip(positions, np.ravel(g)):
    full[position] += part
return full.reshape(x.shape)

# %% matmul mistake matmul-factor-not-transposed: Forgets to transpose the other factor.
#> Which of the factors must be transposed
#- return g @ b.swapaxes(-1, -2)
return g @ b

# %% matmul mistake matmul-reverses-all-axes: Uses .T, which reverses all axes of a stack.
#> .T reverses all axes
#- return a.swapaxes(-1, -2) @ g
return a.T @ g

# %% matmul mistake matmul-sides-swapped: Multiplies in the wrong order.
#> the gradient of w is
#- return a.swapaxes(-1, -2) @ g
return g.swapaxes(-1, -2) @ a

# %% matmul right: einsum.
if n == 0:
    return np.einsum("...ij,...kj->...ik", g, b)
return np.einsum("...ik,...ij->...kj", a, g)

# %% matmul right: Broadcast products and a sum.
if n:
    return (a[..., :, :, None] * g[..., :, None, :]).sum(axis=-3)
return (g[..., :, None, :] * b[..., None, :, :]).sum(axis=-1)

# %% no-grad mistake flag-of-ones-own: Sets a new variable, which the engine never reads.
#> not a new variable
#- recording.on = False
recording_on = False

# %% no-grad mistake flag-for-all-threads: Switches recording off in the class, for every
# thread.
#> switched off the recording of another thread
#- recording.on = False
type(recording).on = False
#- recording.on = before
type(recording).on = before

# %% no-grad mistake nested-block-switches-on: Switches on at the end, also when an outer block
# wants it off.
#> Restore what was before, not True
#- recording.on = before
recording.on = True

# %% no-grad mistake exception-leaves-it-off: Restores only when nothing goes wrong inside.
#> use try and finally
before = recording.on
recording.on = False
yield
recording.on = before

# %% no-grad mistake exception-swallowed: Catches exceptions, so a failed block looks as if it
# had worked.
#> finally without except
#- try:
#-     yield
try:
    yield
except Exception:
    pass

# %% no-grad mistake system-exit-leaves-it-off: Restores after Exception only, which SystemExit
# and KeyboardInterrupt are not.
#> after SystemExit inside, nothing is recorded any more
before = recording.on
recording.on = False
try:
    yield
except Exception:
    recording.on = before
    raise
recording.on = before

# %% no-grad right: BaseException instead of finally, and getattr.
state = getattr(recording, "on")
setattr(recording, "on", False)
try:
    yield
except BaseException:
    recording.on = state
    raise
else:
    recording.on = state

# %% no-grad right: An ExitStack that restores.
with contextlib.ExitStack() as stack:
    stack.callback(setattr, recording, "on", recording.on)
    recording.on = False
    yield

# %% function mistake one-object-for-all-uses: Uses the object itself, so that f(f(x))
# overwrites what f(x) has saved.
#> must not overwrite what the inner one has saved
call = self
return apply(call.forward, *inputs, **options)

# %% function mistake forward-on-tensors: Calls forward on the Tensors: they record their own
# operations, and backward is never called.
#> let apply call it
call = copy.copy(self)
return call.forward(*inputs, **options)

# %% function mistake settings-lost: Makes a new object of the class, which lacks the settings.
#> Copy the object
call = type(self)()
return apply(call.forward, *inputs, **options)

# %% function mistake around-apply: Computes with the data and wraps the result, which cuts the
# graph without an error.
#> the derivative of x³ is 3x²
call = copy.copy(self)
return Tensor(call.forward(*[x.data for x in inputs], **options), requires_grad=inputs[0].requires_grad)

# %% function right: A new object with a copy of the dictionary of attributes.
use = object.__new__(type(self))
use.__dict__.update(self.__dict__)
return apply(use.forward, *inputs, **options)

# %% function right: One line, through the class.
return apply(copy.copy(self).forward, *inputs, **options)

# %% matmul equivalent: Swapping two axes does not depend on which is named first.
#= `-1, -2` -> `-2, -1`
