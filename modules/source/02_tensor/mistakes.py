# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

# %% strides mistake first-index-fastest: Lets the first index change fastest: column-major
# order, as Fortran has it.
#> multiply their lengths
return tuple(math.prod(shape[:axis]) for axis in range(len(shape)))

# %% strides mistake own-length-counted: Includes the axis's own length in its stride.
#> the strides of (5,) should be (1,)
return tuple(math.prod(shape[axis:]) for axis in range(len(shape)))

# %% strides mistake next-length-only: Takes the next axis's length alone, which works for two
# axes.
#> the strides of (2, 3, 4) should be (12, 4, 1)
return tuple(math.prod(shape[axis + 1 : axis + 2]) for axis in range(len(shape)))

# %% strides mistake strides-as-list: Returns a list.
#> should be the tuple (1,), yours are [1]
#- return tuple(reversed(strides))
return strides[::-1]

# %% strides mistake strides-not-reversed: Collects the strides from the last axis on and
# forgets to turn them round.
#> the strides of (2, 3) should be (3, 1)
#- return tuple(reversed(strides))
return tuple(strides)

# %% strides mistake strides-by-numpy: Multiplies with np.prod, whose product of nothing is 1.0.
#> should be Python ints, yours are
return tuple(np.prod(shape[axis + 1:]) for axis in range(len(shape)))

# %% strides right: products of the later lengths
return tuple(math.prod(shape[axis + 1:]) for axis in range(len(shape)))

# %% strides right: from the end, filled in
strides = [1] * len(shape)
for axis in range(len(shape) - 2, -1, -1):
    strides[axis] = strides[axis + 1] * shape[axis + 1]
return tuple(strides)

# %% strides right: recursively
if len(shape) == 0:
    return ()
return (math.prod(shape[1:]), *strides_of(shape[1:]))

# %% broadcast mistake shapes-aligned-left: Aligns the shapes at their left ends.
#> align the shapes at their right ends
#- padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
padded = [tuple(shape) + (1,) * (rank - len(shape)) for shape in shapes]

# %% broadcast mistake larger-length-wins: Takes the larger length on each axis, so that 0 loses
# against 1.
#> when one length is 1, the other one is the result, also when it is 0
#- return tuple(lengths.pop() for lengths in common)
return tuple(max(lengths) for lengths in zip(*padded))

# %% broadcast mistake anything-broadcasts: Never refuses lengths that differ.
#> do not broadcast, yours gives
#- if any(len(lengths) > 1 for lengths in common):
#-     raise ValueError(f"shapes {' and '.join(map(str, shapes))} do not broadcast: "
#-                      "aligned at the right, lengths must be equal or 1")
if False:
    raise ValueError(f"shapes {' and '.join(map(str, shapes))} do not broadcast: "
                     "aligned at the right, lengths must be equal or 1")

# %% broadcast mistake broadcast-as-list: Returns a list.
#> should broadcast to the tuple (2, 3), yours is [2, 3]
#- return tuple(lengths.pop() for lengths in common)
return [lengths.pop() for lengths in common]

# %% broadcast mistake shapes-missing-in-the-error: Names one of the shapes in the error.
#> the error should name every shape
#- raise ValueError(f"shapes {' and '.join(map(str, shapes))} do not broadcast: "
#-                  "aligned at the right, lengths must be equal or 1")
raise ValueError(f"shapes {shapes[0]} do not broadcast: "
                 "aligned at the right, lengths must be equal or 1")

# %% broadcast mistake missing-length-refused: Cuts the longer shape to the length of the
# shorter one.
#> should broadcast to
#- rank = max(len(shape) for shape in shapes)
rank = min(len(shape) for shape in shapes)

# %% broadcast right: index by index from the right
result = []
for i in range(1, max(len(shape) for shape in shapes) + 1):
    length = 1
    for n in [shape[-i] for shape in shapes if len(shape) >= i]:
        if n != 1:
            if length not in (1, n):
                raise ValueError(f"cannot broadcast {shapes}")
            length = n
    result.insert(0, length)
return tuple(result)

# %% broadcast right: two at a time
result = ()
for nth_shape in shapes:
    shorter, longer = sorted((result, tuple(nth_shape)), key=len)
    shorter = (1,) * (len(longer) - len(shorter)) + shorter
    if any(m != n and 1 not in (m, n) for m, n in zip(shorter, longer)):
        raise ValueError("these shapes do not broadcast: " + ", ".join(str(s) for s in shapes))
    result = tuple(n if m == 1 else m for m, n in zip(shorter, longer))
return result

# %% broadcast right: numpy.broadcast_shapes
try:
    return np.broadcast_shapes(*shapes)
except ValueError:
    raise ValueError(f"no common shape for {' and '.join(str(s) for s in shapes)}") from None

# %% apply mistake options-dropped: Runs the function without its options.
#> should pass both options to run
#- out = wrap(run(op, arrays, options))
out = wrap(run(op, arrays, {}))

# %% apply mistake numpy-called-directly: Calls NumPy directly, so that its own errors reach the
# users of the library.
#> apply did not call `run`
#- out = wrap(run(op, arrays, options))
out = wrap(np.asarray(op(*arrays, **options)))

# %% apply mistake inputs-given-to-run: Gives the inputs to run, in the place of their arrays.
#> `run` got a Tensor; send each input through `operand`
#- out = wrap(run(op, arrays, options))
out = wrap(run(op, inputs, options))

# %% apply mistake array-not-wrapped: Makes no Tensor of the result.
#> apply should return a Tensor: put wrap around the array
#- out = wrap(run(op, arrays, options))
out = run(op, arrays, options)

# %% apply mistake inputs-copied: Copies the array of every input.
#> the result should share memory with x; yours is a copy
#- arrays += (operand(x),)
arrays += (np.array(operand(x)) if isinstance(x, Tensor) else operand(x),)

# %% apply mistake operand-dropped: Takes .data of tensors and lets through whatever else comes.
#> send every input through it
#- arrays += (operand(x),)
arrays += (x.data if isinstance(x, Tensor) else x,)

# %% apply mistake arrays-spread-for-run: Spreads the arrays and the options, as op itself needs
# them.
#> takes one tuple of arrays and one dictionary
#- out = wrap(run(op, arrays, options))
out = wrap(run(op, *arrays, **options))

# %% apply mistake generator: Makes a generator instead of a tuple.
#> run got a generator, which can be read only once: make a tuple of it
#- arrays = ()
#- for x in inputs:
#-     arrays += (operand(x),)
arrays = (operand(x) for x in inputs)

# %% apply mistake result-copied: Makes the result with Tensor(...), which copies it, so that
# x.T and x[0] no longer share memory with x.
#> the result should share memory with x; yours is a copy
#- out = wrap(run(op, arrays, options))
out = Tensor(run(op, arrays, options))

# %% apply mistake own-return-above-the-given-one: Returns the result, so that the given last
# line never runs.
#> `return record(out, op, inputs, arrays, options)` does not run: your own `return` comes
#> before it
arrays = [operand(x) for x in inputs]
out = run(op, arrays, options)
return wrap(out)

# %% apply mistake last-line-rewritten: Writes a return in the place of the given last line.
#> `return record(out, op, inputs, arrays, options)` is gone
#- return record(out, op, inputs, arrays, options)
return out

# %% apply right: the given last line written at once
arrays = [operand(x) for x in inputs]
return record(wrap(run(op, arrays, options)), op, inputs, arrays, options)

# %% apply right: map
arrays = tuple(map(operand, inputs))
result = run(op, arrays, options)
out = wrap(result)

# %% apply right: a generator
arrays = tuple(operand(x) for x in inputs)
out = wrap(run(op=op, arrays=arrays, options=options))

# %% matmul-by-broadcasting mistake product-of-the-arrays: Returns the product of the arrays
# instead of a Tensor.
#> the product of two Tensors should be a Tensor
return (a.data[:, :, None] * b.data).sum(1)

# %% var mistake mean-of-everything-subtracted: Subtracts the mean of all elements from every
# row.
#> var along 0 should be
#- distances = x - x.mean(axis, keepdims=True)
distances = x - x.mean()

# %% var mistake squares-minus-square: Uses the mean of the squares minus the square of the
# mean, which cancels for large numbers.
#> subtract the mean before squaring
n = count_along(x, axis)
return ((x * x).mean(axis, keepdims) - x.mean(axis, keepdims) ** 2) * n / (n - correction)

# %% var mistake correction-ignored: Always divides by the count.
#> var with correction=1 should be
#- return squares.sum(axis, keepdims) / (count_along(x, axis) - correction)
return squares.sum(axis, keepdims) / count_along(x, axis)

# %% var mistake computed-with-arrays: Computes with x.data, so that the result will have no
# gradient.
#> compute with tensors, not with x.data
#- distances = x - x.mean(axis, keepdims=True)
distances = Tensor(x.data) - x.mean(axis, keepdims=True).data

# %% var mistake keepdims-for-both: Passes the caller's keepdims to the inner mean, which then
# broadcasts along the wrong axis.
#> Each row needs its own mean, on an axis of length 1
#- distances = x - x.mean(axis, keepdims=True)
distances = x - x.mean(axis, keepdims)

# %% var mistake divided-by-everything: Divides by the size of the whole tensor whatever the
# axis.
#> var along 0 should be
#- return squares.sum(axis, keepdims) / (count_along(x, axis) - correction)
return squares.sum(axis, keepdims) / (x.size - correction)

# %% var mistake var-keeps-dims: Leaves keepdims on for the result.
#> should be (), yours is (1, 1, 1)
#- return squares.sum(axis, keepdims) / (count_along(x, axis) - correction)
return squares.sum(axis, True) / (count_along(x, axis) - correction)

# %% var mistake distances-not-squared: Sums the distances themselves, which cancel to 0.
#> var along None should be
#- squares = distances * distances
squares = distances

# %% var mistake all-elements-counted: Divides by the number of all elements, whatever the axis.
#> count the elements along the axis, not all elements of x
d = x - x.mean(axis, keepdims=True)
return (d * d).sum(axis, keepdims) / (x.size - correction)

# %% var right: powers and a mean
n = count_along(x, axis)
squares = (x - x.mean(axis, True)) ** 2
return squares.mean(axis, keepdims) * (n / (n - correction))

# %% var right: by the sum
mean = x.sum(axis, keepdims=True) / count_along(x, axis)
divisor = count_along(x, axis) - correction
return ((mean - x) * (mean - x) / divisor).sum(axis, keepdims)

# %% transpose mistake transpose-by-reshape: Reshapes instead of permuting the axes: the right
# shape, the wrong elements.
#> move axes, do not reshape
#- return apply(np.transpose, x, axes=order)
return x.reshape(*[x.shape[a] for a in order])

# %% transpose mistake inverse-axes: Reads the axes the other way round: axis i goes to axes[i].
#> transpose(x, *(2, 0, 1)) of shape (2, 3, 4) should have shape (4, 2, 3)
#- return apply(np.transpose, x, axes=order)
return apply(np.transpose, x, axes=tuple(int(i) for i in np.argsort(order)))

# %% transpose mistake last-two-swapped: Swaps the last two axes where all should be reversed;
# the same thing for a matrix.
#> transpose(x) of shape (2, 3, 4) should have shape (4, 3, 2)
#- order = axes or tuple(reversed(range(x.ndim)))
order = axes or tuple(range(x.ndim))[:-2] + tuple(range(x.ndim))[-2:][::-1]

# %% transpose mistake transpose-copied: Copies the elements into their new order.
#> should share memory with x, yours is a copy
#- return apply(np.transpose, x, axes=order)
return apply(lambda a, axes: np.transpose(a, axes).copy(), x, axes=order)

# %% transpose mistake transpose-not-recorded: Makes a new Tensor of the transposed array.
#> the transpose of a tensor with requires_grad=True should have it
#- return apply(np.transpose, x, axes=order)
return wrap(np.transpose(x.data, order))

# %% transpose mistake inverse-permutation: Moves axis i to place axes[i], which is the inverse
# permutation.
#> yours moves axis i to axes[i]
axes = axes or tuple(range(x.ndim))[::-1]
inverse = [0] * x.ndim
for i, a in enumerate(axes):
    inverse[a] = i
return apply(np.transpose, x, axes=tuple(inverse))

# %% transpose mistake reversal-forgotten: Gives the axes to np.transpose as they are, also when
# there are none.
#> Without axes, `axes` is (): reverse the order
return apply(np.transpose, x, axes=axes)

# %% transpose mistake axes-in-a-list: Reverses the axes with a list, which the creator then holds.
#> with a tuple of axes
#- order = axes or tuple(reversed(range(x.ndim)))
order = axes or list(reversed(range(x.ndim)))

# %% transpose right: slices
return apply(np.transpose, x, axes=tuple(axes) if axes else tuple(range(x.ndim))[::-1])

# %% transpose right: a loop over the axes
order = list(axes)
if not axes:
    for a in range(x.ndim):
        order.insert(0, a)
return apply(np.transpose, x, axes=tuple(order))

# %% matmul-by-broadcasting mistake outer-axis-summed: Sums over the last axis instead of the
# inner dimension.
#> should be (2, 4), yours is (2, 3)
products = a.unsqueeze(2) * b.unsqueeze(0)  # (i, k, j)
return products.sum(axis=-1)

# %% matmul-by-broadcasting mistake right-matrix-transposed: Multiplies rows by rows, as if the
# right matrix were transposed; fits only square ones.
#> a needs the shape (i, k, 1)
products = a.unsqueeze(1) * b.unsqueeze(0)
return products.sum(axis=2)

# %% matmul-by-broadcasting mistake matmul-not-recorded: Computes with the arrays, so that the
# result will have no gradient.
#> so the product should have it
products = a.unsqueeze(2) * b.unsqueeze(0)  # (i, k, j)
return Tensor(a.data @ b.data)

# %% matmul-by-broadcasting mistake matmul-by-numpy: Calls the product that NumPy already has.
#> matmul, which is `@`
products = a.unsqueeze(2) * b.unsqueeze(0)  # (i, k, j)
return a @ b

# %% matmul-by-broadcasting mistake elementwise-product: Multiplies elementwise.
#> a needs the shape (i, k, 1)
products = a * b  # (i, k, j)
return products.sum(axis=1)

# %% matmul-by-broadcasting right: k last
return (a.unsqueeze(1) * b.T.unsqueeze(0)).sum(axis=-1)

# %% matmul-by-broadcasting right: k first
left = a.T.reshape(a.shape[1], a.shape[0], 1)
return (left * b.reshape(b.shape[0], 1, b.shape[1])).sum(0)

# %% var mistake var-by-numpy: Returns what NumPy computes from the array: no Tensor.
#> var should return a Tensor
return np.var(x.data, axis, ddof=correction, keepdims=keepdims)

# %% transpose mistake transpose-of-the-array: Returns the transposed array instead of a Tensor.
#> transpose should return a Tensor
#- return apply(np.transpose, x, axes=order)
return np.transpose(x.data, order)

# %% var equivalent: The distances are squared: their sign does not matter.
#= `x - x.mean(axis, keepdims=True)` -> `((x.mean(axis, keepdims=True)) - (x))`
