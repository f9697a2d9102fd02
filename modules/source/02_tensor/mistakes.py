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

# %% count mistake count-of-everything: Divides by the size of the whole tensor whatever the
# axis.
#> count_along(x, 0) for shape (2, 3, 5) should be 2, yours is 30
return x.size

# %% count mistake lengths-added: Adds the lengths of two axes instead of multiplying them.
#> count_along(x, (0, 2)) for shape (2, 3, 5) should be 10
#- count *= x.shape[a]
count = count + x.shape[a] if count > 1 else x.shape[a]

# %% count mistake count-by-numpy: Multiplies with np.prod, whose product of nothing is 1.0.
#> np.prod returns NumPy numbers, math.prod returns ints
return np.prod([x.shape[a] for a in axes_of(axis, x.ndim)])

# %% count mistake axes-modulo-ndim: Takes axes modulo ndim, so that axes that do not exist are
# counted.
#> axes_of raises the error
axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
return math.prod(x.shape[a % x.ndim] for a in axes)

# %% count mistake axis-counted-as-number: Multiplies the axes instead of their lengths.
#> for shape (2, 3, 5) should be 2, yours is 0
#- count *= x.shape[a]
count *= a

# %% count right: a product
return math.prod(x.shape[a] for a in axes_of(axis, x.ndim))

# %% count right: elements before and after
kept = 1
for a in set(range(x.ndim)) - set(axes_of(axis, x.ndim)):
    kept *= x.shape[a]
if kept == 0:
    return math.prod([x.shape[a] for a in axes_of(axis, x.ndim)])
return x.size // kept

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

# %% infer-shape mistake remainder-ignored: Fills in -1 by whole division and never looks at the
# remainder.
#> should raise ValueError, because 2 * 3 is 6, not 7
#- if min(full, default=0) < 0 or math.prod(full) != size:
#-     raise ValueError(f"{size} elements do not fit shape {shape}: "
#-                      f"the lengths must multiply to {size}, one of them may be -1")
if min(full, default=0) < 0 :
    raise ValueError(f"{size} elements do not fit shape {shape}: "
                     f"the lengths must multiply to {size}, one of them may be -1")

# %% infer-shape mistake minus-one-among-the-known: Multiplies the -1 into the known lengths.
#> infer_shape((-1,), 6) should be (6,)
#- known = math.prod(n for n in shape if n != -1)
known = math.prod(shape)

# %% infer-shape mistake two-open-lengths: Fills in every -1.
#> only one length may be -1
#- if shape.count(-1) == 1 and known != 0:
#-     full = tuple(size // known if n == -1 else n for n in shape)
if known != 0:
    full = tuple(size // known if n == -1 else n for n in shape)

# %% infer-shape mistake zero-divided: Divides by known lengths that multiply to 0.
#> should raise ValueError, because for 0 rows any length would do
#- if shape.count(-1) == 1 and known != 0:
#-     full = tuple(size // known if n == -1 else n for n in shape)
if shape.count(-1) == 1:
    full = tuple(size // known if n == -1 else n for n in shape)

# %% infer-shape mistake error-without-size: Names the shape in the error, and not the size.
#> the error should name the shape (2, 3) and the size 7
#- raise ValueError(f"{size} elements do not fit shape {shape}: "
#-                  f"the lengths must multiply to {size}, one of them may be -1")
raise ValueError(f"wrong shape {shape}")

# %% infer-shape right: case by case
if any(n < -1 for n in shape) or shape.count(-1) > 1:
    raise ValueError(f"shape {shape} is no shape for {size} elements")
if -1 not in shape:
    if math.prod(shape) != size:
        raise ValueError(f"shape {shape} has {math.prod(shape)} elements, not {size}")
    return shape
known = -math.prod(shape)
if known == 0 or size % known:
    raise ValueError(f"-1 in {shape} cannot be inferred for size {size}")
place = shape.index(-1)
return shape[:place] + (size // known,) + shape[place + 1 :]

# %% infer-shape right: numpy.reshape
if min(shape, default=0) < -1:
    raise ValueError(f"{size} elements do not fit shape {shape}")
try:
    return np.broadcast_to(np.int8(0), size).reshape(shape).shape
except ValueError:
    raise ValueError(f"{size} elements do not fit shape {shape}") from None

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
#- order = as_tuple(axes) if axes else tuple(reversed(range(x.ndim)))
order = as_tuple(axes) if axes else tuple(range(x.ndim))[:-2] + tuple(range(x.ndim))[-2:][::-1]

# %% transpose mistake negative-axes-recorded: Passes negative axes to np.transpose: the result
# is right, and cannot be undone from its creator.
#> without negative axes; your options are
#- return apply(np.transpose, x, axes=order)
return apply(np.transpose, x, axes=as_tuple(axes) if axes else order)

# %% transpose mistake axes-modulo-ndim-transposed: Takes every axis modulo ndim, so that axes
# that do not exist are accepted.
#> axis % ndim accepts axes that do not exist
#- order = tuple(a + x.ndim if a < 0 else a for a in order)
order = tuple(a % x.ndim for a in order)

# %% transpose mistake axes-not-checked: Leaves wrong axes to a helper whose error does not name
# the shape.
#> the error should name the shape (2, 3, 4)
order = as_tuple(axes) if axes else tuple(reversed(range(x.ndim)))
order = axes_of(order, x.ndim)
return apply(np.transpose, x, axes=order)

# %% transpose mistake transpose-copied: Copies the elements into their new order.
#> should share memory with x, yours is a copy
#- return apply(np.transpose, x, axes=order)
return apply(lambda a, axes: np.transpose(a, axes).copy(), x, axes=order)

# %% transpose mistake transpose-not-recorded: Makes a new Tensor of the transposed array.
#> the transpose of a tensor with requires_grad=True should have it
#- return apply(np.transpose, x, axes=order)
return wrap(np.transpose(x.data, order))

# %% transpose mistake tuples-not-opened: Knows several ints, and not one tuple of them.
#> with one tuple: yours raises TypeError
#- order = as_tuple(axes) if axes else tuple(reversed(range(x.ndim)))
order = axes if axes else tuple(reversed(range(x.ndim)))

# %% transpose mistake inverse-permutation: Moves axis i to place axes[i], which is the inverse
# permutation.
#> yours moves axis i to axes[i]
axes = as_tuple(axes)
if not axes:
    axes = tuple(range(x.ndim))[::-1]
axes = tuple(a + x.ndim if a < 0 else a for a in axes)
if sorted(axes) != list(range(x.ndim)):
    raise ValueError(f"{axes} are not the axes of {x.shape}")
inverse = [0] * x.ndim
for i, a in enumerate(axes):
    inverse[a] = i
return apply(np.transpose, x, axes=tuple(inverse))

# %% transpose right: axes_of, then checked
try:
    order = axes_of(as_tuple(axes) or tuple(range(x.ndim))[::-1], x.ndim)
except IndexError as error:
    raise ValueError(f"{error}: shape {x.shape}") from None
if len(order) != x.ndim or len(set(order)) != x.ndim:
    raise ValueError(f"shape {x.shape} cannot have the axes {order}")
return apply(np.transpose, x, axes=order)

# %% transpose right: a loop over the axes
order = []
for a in as_tuple(axes) if axes else range(x.ndim - 1, -1, -1):
    a = a + x.ndim if -x.ndim <= a < 0 else a
    if a in order or not 0 <= a < x.ndim:
        raise ValueError(f"axis {a} is wrong or there twice in {axes}, for shape {x.shape}")
    order.append(a)
if len(order) < x.ndim:
    raise ValueError(f"{axes} lacks an axis of shape {x.shape}")
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

# %% matmul-shape mistake inner-length-of-the-wrong-axis: Compares the last lengths of both
# shapes.
#> the shape of (2, 3) @ (3, 4) should be (2, 4), yours is an error
#- if not a or not b or a[-1] != b[-2:][0]:
#-     raise ValueError(
#-         f"cannot multiply shape {a} by {b}: the last length of the left shape must equal "
#-         "the second to last length of the right one, or its only length")
if not a or not b or a[-1] != b[-1]:
    raise ValueError(
        f"cannot multiply shape {a} by {b}: the last length of the left shape must equal "
        "the second to last length of the right one, or its only length")

# %% matmul-shape mistake batches-not-broadcast: Takes the batch of the left shape alone.
#> the shape of (5, 1, 2, 3) @ (4, 3, 7) should be (5, 4, 2, 7)
#- batch = broadcast_shape(a[:-2], b[:-2])
batch = a[:-2]

# %% matmul-shape mistake one-axis-kept: Keeps the only axis of a right-hand vector.
#> the shape of (3,) @ (3,) should be ()
#- rows, columns = a[-2:-1], b[-1:] if len(b) > 1 else ()
rows, columns = a[-2:-1], b[-1:]

# %% matmul-shape mistake last-but-one-of-a-vector: Looks for the last but one length of a shape
# that has one length.
#> the shape of (3,) @ (3,) should be (), yours is an error (IndexError
#- if not a or not b or a[-1] != b[-2:][0]:
#-     raise ValueError(
#-         f"cannot multiply shape {a} by {b}: the last length of the left shape must equal "
#-         "the second to last length of the right one, or its only length")
if not a or not b or a[-1] != b[-2]:
    raise ValueError(
        f"cannot multiply shape {a} by {b}: the last length of the left shape must equal "
        "the second to last length of the right one, or its only length")

# %% matmul-shape mistake inner-dimensions-not-compared: Never compares the inner dimensions.
#> should raise ValueError; yours gives
#- if not a or not b or a[-1] != b[-2:][0]:
#-     raise ValueError(
#-         f"cannot multiply shape {a} by {b}: the last length of the left shape must equal "
#-         "the second to last length of the right one, or its only length")
if not a or not b:
    raise ValueError(
        f"cannot multiply shape {a} by {b}: the last length of the left shape must equal "
        "the second to last length of the right one, or its only length")

# %% matmul-shape mistake rank-0-forgotten: Forgets that a scalar has no inner dimension.
#> A shape can have fewer than two lengths
#- if not a or not b or a[-1] != b[-2:][0]:
#-     raise ValueError(
#-         f"cannot multiply shape {a} by {b}: the last length of the left shape must equal "
#-         "the second to last length of the right one, or its only length")
if a[-1] != b[-2:][0]:
    raise ValueError(
        f"cannot multiply shape {a} by {b}: the last length of the left shape must equal "
        "the second to last length of the right one, or its only length")

# %% matmul-shape mistake batch-error-without-shapes: Lets the error of broadcast_shape through,
# which names the batch dimensions only.
#> an error that contains '(4, 2, 3)'
#- raise ValueError(f"cannot multiply shape {a} by {b}: batch {error}") from None
raise

# %% matmul-shape mistake equal-batch-axes: Refuses axes before the last two that differ,
# although they broadcast.
#> all axes before the last two broadcast
if not a or not b:
    raise ValueError(f"{a} @ {b}: rank 0")
left = (1, *a) if len(a) == 1 else a
right = (*b, 1) if len(b) == 1 else b
if left[-1] != right[-2]:
    raise ValueError(f"{a} @ {b}: inner dimensions differ")
if left[:-2] and right[:-2] and left[:-2] != right[:-2]:
    raise ValueError(f"{a} @ {b}: batch dimensions differ")
batch = left[:-2] or right[:-2]
rows = () if len(a) == 1 else (left[-2],)
columns = () if len(b) == 1 else (right[-1],)
return batch + rows + columns

# %% matmul-shape right: vectors become matrices first
if 0 in (len(a), len(b)):
    raise ValueError(f"{a} @ {b}: a scalar has no inner dimension")
left = a if len(a) > 1 else (1, *a)
right = b if len(b) > 1 else (*b, 1)
try:
    batch = broadcast_shape(left[:-2], right[:-2])
except ValueError:
    raise ValueError(f"{a} @ {b}: the batch dimensions do not broadcast") from None
if left[-1] != right[-2]:
    raise ValueError(f"{a} @ {b}: the inner dimensions {left[-1]} and {right[-2]} differ")
shape = list(batch)
if len(a) > 1:
    shape.append(left[-2])
if len(b) > 1:
    shape.append(right[-1])
return tuple(shape)

# %% matmul-shape right: numpy.matmul
try:
    return np.matmul(np.empty(a, np.int8), np.empty(b, np.int8)).shape
except ValueError as error:
    raise ValueError(f"{a} @ {b}: {error}") from None

# %% var mistake var-by-numpy: Returns what NumPy computes from the array: no Tensor.
#> var should return a Tensor
return np.var(x.data, axis, ddof=correction, keepdims=keepdims)

# %% transpose mistake transpose-of-the-array: Returns the transposed array instead of a Tensor.
#> transpose should return a Tensor
#- return apply(np.transpose, x, axes=order)
return np.transpose(x.data, order)

# %% infer-shape equivalent: The default of min() stands for a shape of rank 0; 0 and 1 are both
# not negative.
#= `0` -> `1`

# %% matmul-shape equivalent: The order of two shapes does not matter to the shape that they
# broadcast to.
#= `a[:-2], b[:-2]` -> `b[:-2], a[:-2]`

# %% var equivalent: The distances are squared: their sign does not matter.
#= `x - x.mean(axis, keepdims=True)` -> `((x.mean(axis, keepdims=True)) - (x))`
