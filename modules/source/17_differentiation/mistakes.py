# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

# %% dual mistake dual-constant-tangent-1: Gives a constant the tangent 1.
#> so its tangent is 0
#- return x, 0.0
return x, 1.0

# %% dual mistake dual-constant-is-its-tangent: Gives a constant itself as its tangent.
#> so its tangent is 0
#- return x, 0.0
return x, x

# %% dual mistake dual-level-ignored: Takes the tangent of a Dual of any level.
#> is a constant for level
#- if isinstance(x, Dual) and x.level == level:
#-     return x.primal, x.tangent
if isinstance(x, Dual):
    return x.primal, x.tangent

# %% dual mistake dual-lower-levels-are-mixed: Treats every lower level as this one.
#> is a constant for level
#- if isinstance(x, Dual) and x.level == level:
#-     return x.primal, x.tangent
if isinstance(x, Dual) and x.level <= level:
    return x.primal, x.tangent

# %% dual mistake dual-one-sided-product: Leaves one part out of the product rule.
#> The product rule
#- return Dual(a * b, da * b + a * db, level)
return Dual(a * b, a * db, level)

# %% dual mistake dual-tangents-multiplied: Multiplies the tangents.
#> The product rule
#- return Dual(a * b, da * b + a * db, level)
return Dual(a * b, da * db, level)

# %% dual mistake dual-product-subtracted: Takes the difference of the two parts, as for a
# quotient.
#> The product rule
#- return Dual(a * b, da * b + a * db, level)
return Dual(a * b, da * b - a * db, level)

# %% dual mistake dual-tangent-of-a-sum-lost: Keeps the tangent of the first operand only.
#> add of
#- return Dual(a + b, da + db, level)
return Dual(a + b, da, level)

# %% dual mistake dual-level-lost: Leaves out the level of the result.
#> is a constant.
#- return Dual(a + b, da + db, level)
return Dual(a + b, da + db)

# %% dual mistake level-of-the-product-forgotten: Leaves out the level of a product.
#> Give the level to the result
#- return Dual(a * b, da * b + a * db, level)
return Dual(a * b, da * b + a * db)

# %% functions mistake functions-tangent-forgotten: Takes the derivative for the tangent.
#> times the tangent
#- return Dual(out, derivative(x.primal, out) * x.tangent, x.level)
return Dual(out, derivative(x.primal, out), x.level)

# %% functions mistake functions-derivative-at-the-tangent: Takes the derivative at the tangent.
#> times the tangent
#- return Dual(out, derivative(x.primal, out) * x.tangent, x.level)
return Dual(out, derivative(x.tangent, out) * x.tangent, x.level)

# %% functions mistake functions-function-of-the-tangent: Also applies the function to the
# tangent.
#> times the tangent
#- return Dual(out, derivative(x.primal, out) * x.tangent, x.level)
return Dual(out, function(x.tangent), x.level)

# %% functions mistake functions-no-nesting: Calls the function with a primal that is a Dual.
#> call chain_rule for the primal
#- out = chain_rule(function, derivative, x.primal)
out = function(x.primal) if not isinstance(x.primal, Dual) else function(x.primal.primal)

# %% functions mistake functions-numpy-cos: Computes the derivative of sin with np.cos.
#> write cos(x), not np.cos(x)
#- return chain_rule(np.sin, lambda x, out: cos(x), x)
return chain_rule(np.sin, lambda x, out: np.cos(x), x)

# %% functions mistake functions-cos-of-the-primal: Computes the derivative of sin with np.cos
# of the inner primal.
#> Is np.cos called
#- return chain_rule(np.sin, lambda x, out: cos(x), x)
return chain_rule(np.sin, lambda x, out: np.cos(getattr(x, 'primal', x)), x)

# %% functions mistake functions-tanh-of-x: Writes 1 - x * x for the derivative of tanh.
#> tanh of Dual(0.7
#- return chain_rule(np.tanh, lambda x, out: 1 - out * out, x)
return chain_rule(np.tanh, lambda x, out: 1 - x * x, x)

# %% functions mistake functions-relu-by-tangent: Decides by the sign of the tangent.
#> relu of
#- return chain_rule(lambda x: np.maximum(x, 0), lambda x, out: x > 0, x)
if isinstance(x, Dual):
    return Dual(relu(x.primal), relu(x.tangent), x.level)
return np.maximum(x, 0)

# %% functions mistake functions-relu-1-at-0: Gives relu the derivative 1 at 0.
#> relu of
#- return chain_rule(lambda x: np.maximum(x, 0), lambda x, out: x > 0, x)
return chain_rule(lambda x: np.maximum(x, 0), lambda x, out: x >= 0, x)

# %% quotient mistake quotient-quotient-sign: Adds the two parts of the quotient rule.
#> From q b = a
#- return Dual(out, (da - out * db) / b, level)
return Dual(out, (da + out * db) / b, level)

# %% quotient mistake quotient-quotient-one-sided: Treats the divisor as a constant.
#> From q b = a
#- return Dual(out, (da - out * db) / b, level)
return Dual(out, da / b, level)

# %% quotient mistake quotient-quotient-without-square: Divides by b once only.
#> From q b = a
#- return Dual(out, (da - out * db) / b, level)
return Dual(out, (da * b - a * db) / b, level)

# %% quotient mistake quotient-reversed: Exchanges dividend and divisor of the rule.
#> From q b = a
#- return Dual(out, (da - out * db) / b, level)
return Dual(out, (out * db - da) / b, level)

# %% quotient mistake quotient-log-always: Computes the logarithm of the base even for a
# constant exponent.
#> and no logarithm
#- if b is not y:
#-     tangent = tangent + out * log(a) * db
tangent = tangent + out * np.log(a) * db

# %% quotient mistake quotient-base-only: Knows only powers with a constant exponent.
#> 2 ** x is not x ** 2
#- if b is not y:
#-     tangent = tangent + out * log(a) * db
tangent = tangent * 1.0

# %% quotient mistake quotient-exponential-as-power: Treats 2 ** x like x ** 2.
#> 2 ** x is not x ** 2
#- tangent = tangent + out * log(a) * db
tangent = tangent + b * a ** (b - 1) * db

# %% quotient mistake quotient-replaced-not-added: Replaces the term of the base by the term of
# the exponent.
#> for the base and
#- tangent = tangent + out * log(a) * db
tangent = out * log(a) * db

# %% quotient mistake quotient-exponent-not-lowered: Forgets to lower the exponent.
#> For a constant exponent
#- tangent = b * a ** (b - (b != 0)) * da
tangent = b * a**b * da

# %% quotient mistake quotient-power-0-divides: Computes 0 * x ** -1 for x ** 0.
#> do not compute x ** (0 - 1)
#- tangent = b * a ** (b - (b != 0)) * da
tangent = b * a ** (b - 1) * da

# %% quotient mistake quotient-power-tangent-forgotten: Leaves out the tangent of the base.
#> For a constant exponent
#- tangent = b * a ** (b - (b != 0)) * da
tangent = b * a ** (b - (b != 0))

# %% derivative mistake derivative-no-level: Uses the same level for every call.
#> should be
return parts(f(Dual(x, 1.0, 1)), 1)[1]

# %% derivative mistake derivative-tangent-attribute: Expects a Dual from every function.
#> knows what to do with a constant
return f(Dual(x, 1.0, new_level())).tangent

# %% derivative mistake derivative-seed-0: Starts with the tangent 0.
#> the derivative of x * x * x
level = new_level()
return parts(f(Dual(x, 0.0, level)), level)[1]

# %% derivative mistake derivative-seed-x: Starts with the tangent x.
#> the derivative of x * x * x
level = new_level()
return parts(f(Dual(x, x, level)), level)[1]

# %% derivative mistake derivative-primal-returned: Returns the value instead of the derivative.
#> the derivative of x * x * x
level = new_level()
return parts(f(Dual(x, 1.0, level)), level)[0]

# %% derivative mistake derivative-finite-difference: Uses a finite difference.
#> the derivative of x * x * x
return (f(x + 1e-4) - f(x)) / 1e-4

# %% derivative mistake derivative-any-dual: Takes the tangent of any Dual, also of an outer
# level.
#> Does each call of the derivative take a new level
out = f(Dual(x, 1.0, new_level()))
return out.tangent if isinstance(out, Dual) else 0.0

# %% tangent-rules mistake tangent-rules-product-one-sided: Leaves one part out of the product
# rule.
#> the tangent rule of multiply
#- return tangents[0] * b + a * tangents[1]
return tangents[0] * b

# %% tangent-rules mistake tangent-rules-product-of-tangents: Multiplies the two tangents.
#> the tangent rule of multiply
#- return tangents[0] * b + a * tangents[1]
return tangents[0] * tangents[1]

# %% tangent-rules mistake tangent-rules-product-not-recorded: Computes with .data, which is not
# recorded.
#> Does the rule use .data
#- return tangents[0] * b + a * tangents[1]
return tangents[0] * getattr(b, 'data', b) + getattr(a, 'data', a) * tangents[1]

# %% tangent-rules mistake tangent-rules-array-returned: Returns an array.
#> compute with Tensor operations
#- return tangents[0] * b + a * tangents[1]
return (tangents[0] * b + a * tangents[1]).data

# %% tangent-rules mistake tangent-rules-matmul-of-tangents: Multiplies the two tangents as
# matrices.
#> This is da @ db
#- return tangents[0] @ b + a @ tangents[1]
return tangents[0] @ tangents[1]

# %% tangent-rules mistake tangent-rules-matmul-order: Exchanges the factors of a matrix
# product.
#> the tangent rule of matmul
#- return tangents[0] @ b + a @ tangents[1]
return b @ tangents[0] + a @ tangents[1]

# %% tangent-rules mistake tangent-rules-matmul-transposed: Uses the gradient rule of matmul,
# with transposes.
#> the tangent rule of matmul
#- return tangents[0] @ b + a @ tangents[1]
return tangents[0] @ b.T + a.T @ tangents[1]

# %% tangent-rules mistake tangent-rules-matmul-elementwise: Multiplies elementwise.
#> the tangent rule of matmul
#- return tangents[0] @ b + a @ tangents[1]
return tangents[0] * b + a * tangents[1]

# %% tangent-rules mistake tangent-rules-options-forgotten: Forgets the options of a linear
# operation.
#> with the options
#- return apply(op, *tangents, **options)
return apply(op, *tangents)

# %% tangent-rules mistake tangent-rules-inputs-for-tangents: Applies a linear operation to its
# inputs.
#> should return
#- return apply(op, *tangents, **options)
return apply(op, *inputs, **options)

# %% tangent-rules mistake tangent-rules-first-tangent-only: Uses the first tangent only.
#> of all three tangents
#- return apply(op, *tangents, **options)
return apply(op, tangents[0], **options)

# %% tangent-rules mistake tangent-rules-the-tangent-itself: Returns the tangent as it is, as a
# gradient rule of a sum would.
#> should return
#- return apply(op, *tangents, **options)
return tangents[0]

# %% conjugate-gradient mistake absolute-residual: Compares the residual with a fixed number.
#> not with a fixed number
#- enough = np.finfo(b.dtype).eps ** 2 * rr
enough = 1e-20

# %% conjugate-gradient mistake products-of-vectors-only: Adds up p * hp along the last axis
# only.
#> b of shape (1, 2) and float32
#- curvature = float((p * hp).sum())
curvature = float((p @ hp))

# %% tangent-rules right tangent-rules named parts: named parts
#- return tangents[0] * b + a * tangents[1]
da, db = tangents
return a * db + b * da

# %% tangent-rules right tangent-rules one term after the other: one term after the other
#- return tangents[0] @ b + a @ tangents[1]
da, db = tangents
first = da @ b
return first + a @ db

# %% jvp mistake jvp-reverse-order: Goes through the graph from the result to the inputs.
#> should
#- for node in reversed(topological_order(out)):
#-     made = node.creator
for node in topological_order(out):
    made = node.creator

# %% jvp mistake jvp-all-rules-asked: Asks for the rule of every operation.
#> which has no tangent rule and needs none
#- if any(isinstance(x, Tensor) and x in tangents for x in made.inputs):
#-     given = tuple(support.known_tangent(tangents, x, node) for x in made.inputs)
if made is not None:
    given = tuple(support.known_tangent(tangents, x, node) for x in made.inputs)

# %% jvp mistake jvp-all-inputs-must-vary: Skips operations with a constant.
#> should
#- if any(isinstance(x, Tensor) and x in tangents for x in made.inputs):
#-     given = tuple(support.known_tangent(tangents, x, node) for x in made.inputs)
if all(isinstance(x, Tensor) and x in tangents for x in made.inputs):
    given = tuple(support.known_tangent(tangents, x, node) for x in made.inputs)

# %% jvp mistake jvp-zeros-missing: Expects a tangent of the result in every case.
#> f returns [7, 8] whatever x is
#- return support.known_tangent(tangents, out, out)
return tangents.get(out)

# %% jvp mistake jvp-options-missing: Forgets the options of the operation.
#> along axis 1
#- tangents[node] = rule(given, node, *made.inputs, **made.options)
tangents[node] = rule(given, node, *made.inputs)

# %% jvp mistake jvp-arrays-for-inputs: Gives the rules arrays, which record nothing.
#> should
#- tangents[node] = rule(given, node, *made.inputs, **made.options)
tangents[node] = rule(given, node.detach(), *[Tensor(a) if isinstance(a, np.ndarray) else a for a in made.arrays], **made.options)

# %% jacfwd mistake jacfwd-transposed: Stacks the columns as rows.
#> A JVP with a unit vector is a column
columns = [jvp(f, (x,), (e,))[1] for e in np.eye(x.size, dtype=x.dtype)]
return stack(columns)

# %% jacfwd mistake jacfwd-all-ones: Uses one JVP along ones instead of unit vectors.
#> A JVP with a unit vector is a column
return jvp(f, (x,), (np.ones(x.shape),))[1]

# %% jacfwd mistake jacfwd-values-not-tangents: Takes the value instead of the tangent.
#> the Jacobian should be
columns = [jvp(f, (x,), (e,))[0] for e in np.eye(x.size, dtype=x.dtype)]
return stack(columns, axis=-1)

# %% jacfwd mistake jacfwd-transposed-by-T: Transposes the matrix of columns, also for one
# output.
#> the Jacobian
columns = [jvp(f, (x,), (e,))[1] for e in np.eye(x.size, dtype=x.dtype)]
return stack(columns, axis=-1).T

# %% jacfwd mistake jacfwd-array-returned: Returns an array.
#> should be a Tensor of shape (3, 2)
columns = [jvp(f, (x,), (e,))[1].data for e in np.eye(x.size, dtype=x.dtype)]
return np.stack(columns, axis=-1)

# %% vjp mistake vjp-graph-freed: Frees the graph at the first call.
#> The graph must not be freed
#- gradients = grad(out, seed_gradient(out, g), retain_graph=True)
gradients = grad(out, seed_gradient(out, g))

# %% vjp mistake vjp-key-error: Expects a gradient for every primal.
#> f returns a constant
gradients = grad(out, seed_gradient(out, g), retain_graph=True)
return tuple(Tensor(gradients[leaf]) for leaf in leaves)

# %% vjp mistake vjp-list-returned: Returns a list.
#> should return a tuple
gradients = grad(out, seed_gradient(out, g), retain_graph=True) if out.requires_grad else {}
return [Tensor(gradients.get(leaf, np.zeros(leaf.shape, leaf.dtype))) for leaf in leaves]

# %% vjp mistake vjp-arrays-returned: Returns arrays.
#> Tensors; yours are
gradients = grad(out, seed_gradient(out, g), retain_graph=True) if out.requires_grad else {}
return tuple(gradients.get(leaf, np.zeros(leaf.shape, leaf.dtype)) for leaf in leaves)

# %% vjp mistake vjp-g-ignored: Ignores g.
#> for g =
#- gradients = grad(out, seed_gradient(out, g), retain_graph=True)
gradients = grad(out, np.ones(out.shape, out.dtype), retain_graph=True)

# %% vjp mistake vjp-accumulates: Accumulates in .grad of the leaves.
#> Were the gradients of the first call kept
if out.requires_grad:
    backward(out, g, retain_graph=True)
return tuple(Tensor(np.zeros(leaf.shape, leaf.dtype) if leaf.grad is None else leaf.grad)
             for leaf in leaves)

# %% vjp mistake vjp-first-gradient-only: Returns the gradient of the first primal only.
#> for each of the 2 primals
gradients = grad(out, seed_gradient(out, g), retain_graph=True) if out.requires_grad else {}
return (Tensor(gradients.get(leaves[0], np.zeros(leaves[0].shape, leaves[0].dtype))),)

# %% jacrev mistake jacrev-transposed: Stacks the rows as columns.
#> A VJP with a unit vector is a row
#- return stack(rows).reshape(*out.shape, *x.shape)
return stack(rows, axis=-1)

# %% jacrev mistake jacrev-f-for-each-row: Runs f for each row.
#> should run f once
out, _ = vjp(f, x)
rows = [vjp(f, x)[1](e.reshape(out.shape))[0] for e in np.eye(out.size, dtype=out.dtype)]
return stack(rows).reshape(*out.shape, *x.shape)

# %% jacrev mistake jacrev-all-ones: Uses one VJP with ones: the sum of all rows.
#> A VJP with a unit vector is a row
out, vjp_function = vjp(f, x)
return vjp_function(np.ones(out.shape, out.dtype))[0]

# %% jacrev mistake jacrev-row-axis-kept: Keeps an axis of length 1 for one output.
#> jacrev should give shape (2,)
#- return stack(rows).reshape(*out.shape, *x.shape)
return stack(rows)

# %% hvp mistake hvp-diagonal-only: Computes the diagonal of the Hessian only.
#> only the diagonal
products = []
for n, (a, b) in enumerate(zip(xs, vs)):
    part = np.zeros(a.shape, a.dtype)
    for at in np.ndindex(a.shape):
        e = np.zeros(a.shape, a.dtype)
        e[at] = 1
        leaf = Variable(a.data)
        with support.force_recording():
            rest = [Variable(c.data) for c in xs]
            rest[n] = leaf
            zeros = [np.zeros(c.shape) for c in xs]
            zeros[n] = e
            tangent = jvp(f, rest, zeros)[1]
        g = grad(tangent, seed_gradient(tangent)) if tangent.requires_grad else {}
        part[at] = g.get(leaf, 0 * a.data)[at] * b.data[at]
    products.append(Tensor(part))

# %% hvp mistake hvp-grad-of-x-changed: Calls backward on x itself.
#> hvp left something in the .grad
with support.force_recording():
    tangent = jvp(f, xs, vs)[1]
    if tangent.requires_grad:
        tangent.backward()
products = [Tensor(0 * a.data if a.grad is None else a.grad) for a in xs]

# %% hvp mistake hvp-grad-of-weights-changed: Calls backward, which adds to the .grad of weights
# that f uses.
#> hvp left something in the .grad
leaves = [Variable(x.data) for x in xs]
with support.force_recording():
    tangent = jvp(f, leaves, vs)[1]
if tangent.requires_grad:
    tangent.backward()
products = [Tensor(0 * leaf.data if leaf.grad is None else leaf.grad)
            for leaf in leaves]

# %% hvp mistake hvp-gradient-returned: Returns the gradient of f.
#> its product with v = [1, 2] should be
#- tangent = jvp(f, leaves, vs)[1]
tangent = jvp(f, leaves, vs)[0]

# %% hvp mistake hvp-linear-not-handled: Calls grad although the tangent requires no gradient.
#> the tangent of a linear function is a constant
#- gradients = grad(tangent, seed_gradient(tangent)) if tangent.requires_grad else {}
gradients = grad(tangent, seed_gradient(tangent))

# %% hvp mistake hvp-not-recorded-in-no-grad: Does not record inside no_grad.
#> support.force_recording() records
#- with support.force_recording():
#-     tangent = jvp(f, leaves, vs)[1]
tangent = jvp(f, leaves, vs)[1]

# %% hvp mistake hvp-leaves-without-gradient: Makes leaves that require no gradient.
#> its product with v = [1, 2] should be
#- leaves = [Variable(x.data) for x in xs]
leaves = [Tensor(x.data) for x in xs]

# %% hvp mistake hvp-first-tensor-only: Returns the product for the first tensor only.
#> the products should be
#- products = [Tensor(gradients.get(leaf, np.zeros(leaf.shape, leaf.dtype)))
#-             for leaf in leaves]
products = [Tensor(gradients.get(leaf, np.zeros(leaf.shape, leaf.dtype)))
            for leaf in leaves[:1]]

# %% hessian mistake hessian-reverse-inside: Nests reverse mode inside forward mode.
#> vjp inside a function
return jacfwd(jacrev(f))

# %% hessian mistake hessian-gradient-only: Returns the gradient.
#> has the Hessian
return jacrev(f)

# %% hessian mistake hessian-outer-product: Takes the outer product of the gradient with itself.
#> has the Hessian
def matrix(x):
    g = jacrev(f)(x).data
    return Tensor(np.outer(g, g))
return matrix

# %% hessian mistake hessian-finite-differences: Uses finite differences of the loss.
#> should
def matrix(x):
    n, h, out = x.size, 1e-3, np.zeros((x.size, x.size), x.dtype)
    e = h * np.eye(n, dtype=x.dtype)
    at = lambda a: float(f(Tensor(a)))
    for i in range(n):
        for j in range(n):
            out[i, j] = (at(x.data + e[i] + e[j]) - at(x.data + e[i]) - at(x.data + e[j])
                         + at(x.data)) / h**2
    return Tensor(out)
return matrix

# %% hessian mistake hessian-diagonal-only: Fills the diagonal only.
#> has the Hessian
def matrix(x):
    ones = Tensor(np.ones(x.shape, x.dtype))
    return Tensor(np.diag(hvp(f, x, ones).data))
return matrix

# %% power-iteration mistake power-iteration-not-normalized: Never divides the vector by its
# length.
#> divide v by its length
#- unit = v / np.sqrt((v * v).sum())
unit = v
#- value = float((unit * v).sum())
value = float((unit * v).sum() / (unit * unit).sum())

# %% power-iteration mistake power-iteration-length-for-value: Takes the length of H v for the
# eigenvalue.
#> has no sign
#- value = float((unit * v).sum())
value = float(np.sqrt((v * v).sum()))

# %% power-iteration mistake power-iteration-zero-matrix: Divides 0 by 0 for the zero matrix.
#> do not divide by it
#- unit = v / np.sqrt((v * v).sum())
with np.errstate(invalid="ignore"):
    unit = v / np.sqrt((v * v).sum())
#- if not v.any():
#-     break

# %% power-iteration mistake power-iteration-squared-length: Divides by the squared length.
#> should
#- unit = v / np.sqrt((v * v).sum())
unit = v / (v * v).sum()

# %% power-iteration mistake power-iteration-one-product-more: Multiplies once more at the end.
#> should call matvec once
v = rng.normal(size=like.shape).astype(like.dtype)
v = v / np.sqrt((v * v).sum())
for _ in range(steps):
    new = matvec(Tensor(v)).data
    if not new.any():
        break
    v = new / np.sqrt((new * new).sum())
return float((v * matvec(Tensor(v)).data).sum()), Tensor(v)

# %% power-iteration mistake power-iteration-start-of-ones: Starts from ones, which may have no
# part along the eigenvector.
#> the start should be rng.normal
#- v = rng.normal(size=like.shape).astype(like.dtype)
v = np.ones(like.shape, like.dtype)

# %% power-iteration mistake power-iteration-array-value: Returns a NumPy number.
#> the value should be a float
#- value = float((unit * v).sum())
value = (unit * v).sum()

# %% conjugate-gradient mistake conjugate-gradient-steepest-descent: Always goes along the
# residual.
#> should
#- p = r + rr / before * p
p = r

# %% conjugate-gradient mistake conjugate-gradient-beta-reversed: Exchanges new and old in the
# last factor.
#> should
#- p = r + rr / before * p
p = r + before / rr * p

# %% conjugate-gradient mistake conjugate-gradient-damping-ignored: Ignores the damping.
#> damping 2 solves
#- hp = matvec(Tensor(p)).data + damping * p
hp = matvec(Tensor(p)).data

# %% conjugate-gradient mistake conjugate-gradient-damping-without-p: Adds the damping as a
# number.
#> damping 2 solves
#- hp = matvec(Tensor(p)).data + damping * p
hp = matvec(Tensor(p)).data + damping

# %% conjugate-gradient mistake conjugate-gradient-no-stop: Goes on when the residual is 0.
#> damping
#- enough = np.finfo(b.dtype).eps ** 2 * rr

#- if rr <= enough:
#-     break

#- raise ValueError(f"the matrix is not positive definite: p . H p is {curvature}\n"
#-                  f"choose a larger damping than {damping}")
raise ValueError("damping")

# %% conjugate-gradient mistake conjugate-gradient-negative-curvature-accepted: Refuses
# curvature 0 only.
#> has a direction with p . H p <= 0
#- if not curvature > 0:
#-     raise ValueError(f"the matrix is not positive definite: p . H p is {curvature}\n"
#-                      f"choose a larger damping than {damping}")
if curvature == 0:
    raise ValueError(f"the matrix is not positive definite: p . H p is {curvature}\n"
                     f"choose a larger damping than {damping}")

# %% conjugate-gradient mistake conjugate-gradient-b-changed: Writes into b.
#> b was
#- p, rr = r, float((r * r).sum())
p, rr = r.copy(), float((r * r).sum())
#- if not curvature > 0:
#-     raise ValueError(f"the matrix is not positive definite: p . H p is {curvature}\n"
#-                      f"choose a larger damping than {damping}")
#- x = x + rr / curvature * p
#- r = r - rr / curvature * hp
if not curvature > 0:
    raise ValueError("not positive definite: choose a larger damping")
x += rr / curvature * p
r -= rr / curvature * hp

# %% conjugate-gradient mistake conjugate-gradient-step-without-curvature: Takes steps of the
# length of the residual.
#> should
#- x = x + rr / curvature * p
x = x + p

# %% conjugate-gradient mistake conjugate-gradient-residual-grows: Adds to the residual.
#> should
#- r = r - rr / curvature * hp
r = r + rr / curvature * hp

# %% newton mistake newton-uphill: Adds the step.
#> one step from
#- return Tensor(x.data - step.data)
return Tensor(x.data + step.data)

# %% newton mistake newton-gradient-step: Goes along the gradient.
#> should
return Tensor(x.data - vjp(f, x)[1](1.0)[0].data)

# %% newton mistake newton-damping-lost: Does not pass the damping on.
#> with damping 1
#- step = conjugate_gradient(lambda v: hvp(f, x, v), g, steps, damping)
step = conjugate_gradient(lambda v: hvp(f, x, v), g, steps)

# %% newton mistake newton-steps-lost: Does not pass the number of steps on.
#> with steps=1
#- step = conjugate_gradient(lambda v: hvp(f, x, v), g, steps, damping)
step = conjugate_gradient(lambda v: hvp(f, x, v), g, 20, damping)

# %% newton mistake newton-in-place: Changes x.
#> return a new Tensor
#- return Tensor(x.data - step.data)
x.data -= step.data
return x

# %% hutchinson mistake hutchinson-gaussian: Draws normal numbers instead of signs.
#> of -1 and 1
#- z = rng.choice([-1.0, 1.0], size=like.shape).astype(like.dtype)
z = rng.normal(size=like.shape).astype(like.dtype)

# %% hutchinson mistake hutchinson-sum-for-mean: Forgets to divide by the number of probes.
#> should
#- return float(total.sum() / probes), Tensor(total / probes)
return float(total.sum()), Tensor(total)

# %% hutchinson mistake hutchinson-row-sums: Forgets to multiply by z again.
#> should
#- total += z * matvec(Tensor(z)).data
total += matvec(Tensor(z)).data

# %% hutchinson mistake hutchinson-one-probe-for-all: Draws one vector for all probes.
#> should be close to
total = np.zeros(like.shape, like.dtype)
z = rng.choice([-1.0, 1.0], size=like.shape).astype(like.dtype)
for _ in range(probes):
    total += z * matvec(Tensor(z)).data
return float(total.sum() / probes), Tensor(total / probes)

# %% hutchinson mistake hutchinson-one-sign: Draws one sign for the whole vector.
#> should be close to
#- z = rng.choice([-1.0, 1.0], size=like.shape).astype(like.dtype)
z = np.full(like.shape, rng.choice([-1.0, 1.0]), like.dtype)

# %% hutchinson mistake hutchinson-zeros-and-ones: Draws zeros and ones.
#> of -1 and 1
#- z = rng.choice([-1.0, 1.0], size=like.shape).astype(like.dtype)
z = rng.choice([0.0, 1.0], size=like.shape).astype(like.dtype)

# %% checkpoint mistake checkpoint-graph-recorded: Records in the forward pass.
#> f should run
#- self.save_for_backward(*arrays)
self.save_for_backward(*arrays)
self.f(*self.as_inputs(arrays))

# %% checkpoint mistake checkpoint-weights-forgotten: Computes the gradients of the inputs only.
#> adds to their .grad
#- if out.requires_grad:
#-     backward(out, g)
#- return (None, *[getattr(x, "grad", None) for x in inputs])
found = grad(out, g) if out.requires_grad else {}
return (None, *[found.get(x) if isinstance(x, Tensor) else None for x in inputs])

# %% checkpoint mistake checkpoint-mask-drawn-anew: Draws new random numbers in the second run.
#> another mask
#- with support.force_recording(), repeated(self.generators, self.states):
#-     out = self.f(*inputs)
with support.force_recording():
    out = self.f(*inputs)

# %% checkpoint mistake checkpoint-without-no-grad: Records the graph in the forward pass and
# drops it.
#> call it inside no_grad()
#- with no_grad():
#-     return self.f(*self.as_inputs(arrays)).data
return self.f(*self.as_inputs(arrays)).data

# %% checkpoint mistake checkpoint-states-after: Saves the states after f has run.
#> another mask
#- self.states = random_states(self.generators)
#- self.save_for_backward(*arrays)
#- with no_grad():
#-     return self.f(*self.as_inputs(arrays)).data
self.save_for_backward(*arrays)
with no_grad():
    out = self.f(*self.as_inputs(arrays)).data
self.states = random_states(self.generators)
return out

# %% checkpoint mistake checkpoint-not-recorded-again: Does not record the second run when the
# backward pass runs inside no_grad.
#> should
#- with support.force_recording(), repeated(self.generators, self.states):
#-     out = self.f(*inputs)
with repeated(self.generators, self.states):
    out = self.f(*inputs)

# %% checkpoint mistake checkpoint-g-ignored: Ignores the gradient that arrives.
#> x should get the same gradient
#- backward(out, g)
backward(out, np.ones(out.shape, out.dtype))

# %% checkpoint mistake checkpoint-input-gradients-lost: Returns no gradient for the inputs.
#> x should get the same gradient
#- return (None, *[getattr(x, "grad", None) for x in inputs])
return (None, *[None for x in inputs])

# %% dual right dual the other way round: the other way round
#- if isinstance(x, Dual) and x.level == level:
#-     return x.primal, x.tangent
#- return x, 0.0
own = isinstance(x, Dual) and x.level == level
return (x.primal, x.tangent) if own else (x, 0)

# %% dual right dual an early return for constants: an early return for constants
#- (a, da), (b, db) = parts(x, level), parts(y, level)
#- return Dual(a * b, da * b + a * db, level)
if not isinstance(y, Dual) or y.level != level:
    return Dual(x.primal * y, x.tangent * y, level)
if not isinstance(x, Dual) or x.level != level:
    return Dual(x * y.primal, x * y.tangent, level)
return Dual(x.primal * y.primal, x.primal * y.tangent + x.tangent * y.primal, level)

# %% functions right functions the number last: the number last
#- if not isinstance(x, Dual):
#-     return function(x)
#- out = chain_rule(function, derivative, x.primal)
#- return Dual(out, derivative(x.primal, out) * x.tangent, x.level)
if isinstance(x, Dual):
    a, t = x.primal, x.tangent
    value = chain_rule(function, derivative, a)
    return Dual(value, t * derivative(a, value), x.level)
return function(x)

# %% functions right functions other formulas: other formulas
#- return chain_rule(np.tanh, lambda x, out: 1 - out * out, x)
return chain_rule(np.tanh, lambda x, out: 1 - tanh(x) ** 2 if not isinstance(x, Dual) else 1 - tanh(x) * tanh(x), x)

# %% functions right functions exp in its own derivative: exp in its own derivative
#- return chain_rule(np.exp, lambda x, out: out, x)
return chain_rule(np.exp, lambda x, out: exp(x), x)

# %% quotient right quotient the quotient rule of school: the quotient rule of school
#- out = a / b
#- return Dual(out, (da - out * db) / b, level)
return Dual(a / b, (da * b - a * db) / (b * b), level)

# %% quotient right quotient cases of power: cases of power
#- out, tangent = a**b, 0.0
#- if a is not x:
#-     tangent = b * a ** (b - (b != 0)) * da
#- if b is not y:
#-     tangent = tangent + out * log(a) * db
#- return Dual(out, tangent, level)
varies = isinstance(y, Dual) and y.level == level
if varies:
    of_exponent = a**b * log(a) * db
    of_base = da * b * a ** (b - 1)
    return Dual(a**b, of_base + of_exponent, level)
if isinstance(b, (int, float)) and b == 0:
    return Dual(a**b, 0.0, level)
return Dual(a**b, da * b * a ** (b - 1), level)

# %% derivative right derivative an early return for constants: an early return for constants
level = new_level()
out = f(Dual(x, 1.0, level))
if not isinstance(out, Dual) or out.level != level:
    return 0.0
return out.tangent

# %% derivative right derivative in several lines: in several lines
mine = new_level()
seed = Dual(primal=x, tangent=1, level=mine)
value, tangent = parts(f(seed), mine)
return tangent

# %% jvp right jvp a set of leaves and an early continue: a set of leaves and an early continue
for result in topological_order(out)[::-1]:
    inputs = result.creator.inputs
    if not [x for x in inputs if isinstance(x, Tensor) and x in tangents]:
        continue
    rule, given = tangent_rules[result.creator.op], []
    for x in inputs:
        given.append(support.known_tangent(tangents, x, result))
    new = rule(tuple(given), result, *inputs, **result.creator.options)
    tangents[result] = new
return support.known_tangent(tangents, out, out)

# %% jvp right jvp zeros by hand: zeros by hand
#- return support.known_tangent(tangents, out, out)
if out not in tangents:
    return Tensor(np.zeros(out.shape, out.dtype))
return tangents[out]

# %% jacfwd right jacfwd rows, then a transpose: rows, then a transpose
rows = stack([jvp(f, (x,), (Tensor(e),))[1] for e in np.eye(x.size, dtype=x.dtype)])
return rows.swapaxes(0, -1) if rows.ndim == 2 else rows

# %% jacfwd right jacfwd a loop that sets one entry: a loop that sets one entry
columns = []
for j in range(x.size):
    e = np.zeros(x.shape, x.dtype)
    e[j] = 1
    out, tangent = jvp(f, [x], [Tensor(e)])
    columns.append(tangent.unsqueeze(-1))
from tinytorch.core.tensor import concatenate
return concatenate(columns, axis=-1)

# %% vjp right vjp zeros first: zeros first
found = {leaf: np.zeros_like(leaf.data) for leaf in leaves}
if out.requires_grad:
    found |= grad(out, seed_gradient(out, g), retain_graph=True)
return tuple(Tensor(found[leaf]) for leaf in leaves)

# %% vjp right vjp a list of results: a list of results
found = grad(out, seed_gradient(out, g), True) if out.requires_grad else {}
results = []
for leaf in leaves:
    if leaf in found:
        results.append(Tensor(found[leaf]))
    else:
        results.append(Tensor(0 * leaf.data))
return tuple(results)

# %% jacrev right jacrev a loop with one-hot vectors: a loop with one-hot vectors
out, pull = vjp(f, x)
if out.ndim == 0:
    return pull(1.0)[0]
rows = []
for i in range(out.size):
    g = np.zeros(out.shape, out.dtype)
    g[i] = 1
    (row,) = pull(Tensor(g))
    rows.append(row)
return stack(rows)

# %% jacrev right jacrev through arrays: through arrays
out, pull = vjp(f, x)
eye = np.eye(out.size, dtype=out.dtype).reshape(-1, *out.shape)
return Tensor(np.array([pull(e)[0].data for e in eye]).reshape(out.shape + x.shape))

# %% hvp right hvp vjp of a jvp: vjp of a jvp
def tangent(*inputs):
    return jvp(f, inputs, vs)[1]
products = list(vjp(tangent, *xs)[1](1.0))

# %% hvp right hvp two loops over leaves: two loops over leaves
leaves = []
for a in xs:
    leaves.append(Tensor(a.data, requires_grad=True))
with support.force_recording():
    tangent = jvp(f, tuple(leaves), tuple(vs))[1]
found = {}
if tangent.requires_grad:
    found = grad(tangent, np.array(1, tangent.dtype))
products = []
for leaf in leaves:
    products.append(Tensor(found[leaf] if leaf in found else leaf.data * 0))

# %% hessian right hessian rows by hvp: rows by hvp
def matrix(x):
    return stack([hvp(f, x, Tensor(e)) for e in np.eye(x.size, dtype=x.dtype)])
return matrix

# %% hessian right hessian forward over forward: forward over forward
return lambda x: jacfwd(jacfwd(f))(x)

# %% power-iteration right power-iteration np.linalg.norm and vdot: np.linalg.norm and vdot
v = rng.normal(size=like.shape).astype(like.dtype)
v /= np.linalg.norm(v)
product = matvec(Tensor(v)).data
for _ in range(steps - 1):
    length = np.linalg.norm(product)
    if length == 0:
        break
    v = product / length
    product = matvec(Tensor(v)).data
return float(np.vdot(v, product)), Tensor(v)

# %% power-iteration right power-iteration with Tensors: with Tensors
u = Tensor(rng.normal(size=like.shape).astype(like.dtype))
for step in range(steps):
    u = u / float((u * u).sum()) ** 0.5
    product = matvec(u)
    value = float((u * product).sum())
    if value == 0 and float((product * product).sum()) == 0:
        return 0.0, u
    last, u = u, product
return value, last

# %% conjugate-gradient right conjugate-gradient with np.vdot and in place: with np.vdot and in
# place
x = np.zeros(b.shape, b.dtype)
residual = b.data.copy()
direction = residual.copy()
old = np.vdot(residual, residual)
limit = np.finfo(b.dtype).eps * np.sqrt(old)
for _ in range(steps):
    if np.sqrt(old) <= limit:
        return Tensor(x)
    image = matvec(Tensor(direction)).data + direction * damping
    bend = np.vdot(direction, image)
    if bend <= 0:
        raise ValueError(f"p . H p = {bend}: take a damping above {damping}")
    alpha = old / bend
    x += alpha * direction
    residual -= alpha * image
    new = np.vdot(residual, residual)
    direction = residual + (new / old) * direction
    old = new
return Tensor(x)

# %% conjugate-gradient right conjugate-gradient a recursion without a loop variable: a
# recursion without a loop variable
def go(x, r, p, left):
    rr = (r * r).sum()
    if left == 0 or rr <= np.finfo(b.dtype).eps ** 2 * (b.data * b.data).sum():
        return x
    hp = matvec(Tensor(p)).data + damping * p
    if (p * hp).sum() <= 0:
        raise ValueError("not positive definite; increase the damping")
    alpha = rr / (p * hp).sum()
    new = r - alpha * hp
    return go(x + alpha * p, new, new + (new * new).sum() / rr * p, left - 1)
return Tensor(go(0 * b.data, b.data, b.data, steps))

# %% newton right newton jacrev and a named function: jacrev and a named function
def matvec(v):
    return hvp(f, x, v)
gradient = jacrev(f)(x)
return x.detach() - conjugate_gradient(matvec, gradient, steps, damping=damping)

# %% newton right newton in two steps: in two steps
value, pull_back = vjp(f, x)
(g,) = pull_back(np.ones(value.shape))
direction = conjugate_gradient(lambda v: hvp(f, x, v), -1.0 * g, steps, damping)
return Tensor(x.data + direction.data)

# %% hutchinson right hutchinson integers: integers
estimates = []
for _ in range(probes):
    z = (2 * rng.integers(0, 2, like.shape) - 1).astype(like.dtype)
    estimates.append(z * matvec(Tensor(z)).data)
diagonal = np.mean(estimates, axis=0)
return float(diagonal.sum()), Tensor(diagonal)

# %% hutchinson right hutchinson signs of normal numbers: signs of normal numbers
diagonal = 0
for n in range(1, probes + 1):
    z = Tensor(np.sign(rng.normal(size=like.shape)).astype(like.dtype))
    diagonal = diagonal + (z * matvec(z) - diagonal) / n
return float(diagonal.sum()), diagonal.detach()

# %% checkpoint right checkpoint other names, a try: other names, a try
#- inputs = self.as_inputs(self.saved_tensors)
#- with support.force_recording(), repeated(self.generators, self.states):
#-     out = self.f(*inputs)
#- if out.requires_grad:
#-     backward(out, g)
#- return (None, *[getattr(x, "grad", None) for x in inputs])
arguments = self.as_inputs(self.saved_tensors)
with repeated(self.generators, self.states):
    with support.force_recording():
        again = self.f(*arguments)
if again.requires_grad:
    again.backward(g)
gradients = [None]
for x in arguments:
    gradients.append(x.grad if isinstance(x, Tensor) else None)
return tuple(gradients)

# %% checkpoint right checkpoint no_grad as a decorator: no_grad as a decorator
#- with no_grad():
#-     return self.f(*self.as_inputs(arrays)).data
@no_grad()
def unrecorded():
    return self.f(*self.as_inputs(arrays))
return unrecorded().numpy()

# %% functions equivalent: np.maximum is symmetric.
#= `x, 0` -> `0, x`

# %% jacfwd equivalent: jvp gives a tangent the dtype of its primal.
#= `np.eye(x.size, dtype=x.dtype)` -> `np.eye(x.size)`

# %% jacrev equivalent: vjp_function gives its argument the dtype of the result.
#= `np.eye(out.size, dtype=out.dtype)` -> `np.eye(out.size)`

# %% power-iteration mistake power-iteration-starts-at-like: Adds the random start to `like`.
#> the start should be rng.normal
#- v = rng.normal(size=like.shape).astype(like.dtype)
v = like.data + rng.normal(size=like.shape).astype(like.dtype)

# %% hutchinson mistake hutchinson-sum-begins-at-like: Begins the sum with the numbers of
# `like`.
#> The numbers of `like`, here 7, are not used
#- total = np.zeros(like.shape, like.dtype)
total = np.array(like.data)
