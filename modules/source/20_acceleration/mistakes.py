# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

# %% matmul-outer mistake outer-not-added: Keeps only the last outer product.
#> Only the last outer product is left
#- out += a[:, k : k + 1] * b[k]
out = a[:, k : k + 1] * b[k]

# %% matmul-outer mistake outer-all-at-once: Computes all outer products at once, without a
# loop.
#> Write a loop over k
out = np.zeros((a.shape[0], b.shape[1]), a.dtype)
out += (a[:, :, None] * b[None]).sum(1)
return out

# %% matmul-outer mistake outer-flat-column: Takes the column of a as an array with one axis.
#> with the shape (n, 1)
#- out += a[:, k : k + 1] * b[k]
out += a[:, k] * b[k]

# %% matmul-outer mistake outer-row-of-a: Takes row k of a.
#> column k of a
#- out += a[:, k : k + 1] * b[k]
out += a[k : k + 1].T * b[k]

# %% matmul-outer mistake outer-column-of-b: Takes column k of b.
#> row k of b
#- out += a[:, k : k + 1] * b[k]
out += a[:, k : k + 1] * b[:, k]

# %% matmul-outer mistake outer-from-1: Starts to count at 1.
#> The first outer product is missing
out = np.zeros((a.shape[0], b.shape[1]), a.dtype)
for k in range(1, a.shape[1]):
    out += a[:, k : k + 1] * b[k]
return out

# %% matmul-outer mistake outer-one-too-few: Leaves the last outer product out.
#> should be
out = np.zeros((a.shape[0], b.shape[1]), a.dtype)
for k in range(a.shape[1] - 1):
    out += a[:, k : k + 1] * b[k]
return out

# %% matmul-outer mistake outer-rows-counted: Loops over the rows of a.
#> should
out = np.zeros((a.shape[0], b.shape[1]), a.dtype)
for k in range(a.shape[0]):
    out += a[:, k : k + 1] * b[k]
return out

# %% matmul-outer mistake outer-float64: Makes the result float64.
#> float32
#- out = np.zeros((a.shape[0], b.shape[1]), a.dtype)
out = np.zeros((a.shape[0], b.shape[1]))

# %% matmul-outer mistake outer-empty: Starts from an array that is not filled with zeros.
#> should be
#- out = np.zeros((a.shape[0], b.shape[1]), a.dtype)
out = np.full((a.shape[0], b.shape[1]), 1e-3 + a[0, 0] * 0 + 1, a.dtype)

# %% matmul-outer mistake outer-at: Uses the matrix product itself.
#> Write an outer product with
return a @ b

# %% matmul-outer mistake outer-columns-times-rows: Multiplies matrices of one column and one
# row with @.
#> Write an outer product with
#- out += a[:, k : k + 1] * b[k]
out += a[:, k : k + 1] @ b[k : k + 1]

# %% matmul-outer mistake outer-einsum: Uses einsum.
#> Write an outer product with
return np.einsum("ik,kj->ij", a, b)

# %% matmul-outer mistake outer-transposed: Exchanges rows and columns of the result.
#> raises ValueError
#- out += a[:, k : k + 1] * b[k]
out += (a[:, k : k + 1] * b[k]).T

# %% matmul-outer mistake outer-returns-nothing: Forgets to return the result.
#> return
#- return out

# %% matmul-outer right matmul-outer np.outer: np.outer
#- out += a[:, k : k + 1] * b[k]
out += np.outer(a[:, k], b[k])

# %% matmul-outer right matmul-outer new axes: new axes
#- out += a[:, k : k + 1] * b[k]
out = out + a[:, k, None] * b[None, k]

# %% matmul-outer right matmul-outer zip over columns and rows: zip over columns and rows
total = 0
for column, row in zip(a.T, b):
    total = total + np.multiply.outer(column, row)
return total

# %% matmul-blocked mistake blocked-not-added: Replaces the block of the result in each step.
#> Only the last block along k counts
#- out[i : i + block, j : j + block] += left @ right
out[i : i + block, j : j + block] = left @ right

# %% matmul-blocked mistake blocked-empty: Adds to numbers that were never set.
#> begin with zeros
#- out = np.zeros((n, m), a.dtype)
out = np.empty((n, m), a.dtype)

# %% matmul-blocked mistake blocked-no-last-rows: Leaves out the last, smaller blocks of rows.
#> does not divide
(n, inner), m = a.shape, b.shape[1]
out = np.zeros((n, m), a.dtype)
for i in range(0, n - block + 1, block):
    for j in range(0, m, block):
        for k in range(0, inner, block):
            left, right = a[i : i + block, k : k + block], b[k : k + block, j : j + block]
            out[i : i + block, j : j + block] += left @ right
return out

# %% matmul-blocked mistake blocked-no-last-columns: Leaves out the last, smaller blocks of
# columns.
#> does not divide
#- for j in range(0, m, block):
#-     for k in range(0, inner, block):
#-         left, right = a[i : i + block, k : k + block], b[k : k + block, j : j + block]
for j in range(0, m // block * block, block):
    for k in range(0, inner, block):
        left, right = a[i : i + block, k : k + block], b[k : k + block, j : j + block]

# %% matmul-blocked mistake blocked-no-last-inner: Leaves out the last, smaller blocks along k.
#> does not divide
#- for k in range(0, inner, block):
#-     left, right = a[i : i + block, k : k + block], b[k : k + block, j : j + block]
for k in range(0, inner - block + 1, block):
    left, right = a[i : i + block, k : k + block], b[k : k + block, j : j + block]

# %% matmul-blocked mistake blocked-step-1: Moves by one row instead of one block.
#> should be
(n, inner), m = a.shape, b.shape[1]
out = np.zeros((n, m), a.dtype)
for i in range(n):
    for j in range(0, m, block):
        for k in range(0, inner, block):
            left, right = a[i : i + block, k : k + block], b[k : k + block, j : j + block]
            out[i : i + block, j : j + block] += left @ right
return out

# %% matmul-blocked mistake blocked-block-numbers: Uses the numbers of the blocks as indices.
#> should
#- for k in range(0, inner, block):
#-     left, right = a[i : i + block, k : k + block], b[k : k + block, j : j + block]
for k in range(-(-inner // block)):
    left, right = a[i : i + block, k : k + block], b[k : k + block, j : j + block]

# %% matmul-blocked mistake blocked-b-exchanged: Exchanges rows and columns of the block of b.
#> block (K, J) of b
#- left, right = a[i : i + block, k : k + block], b[k : k + block, j : j + block]
left, right = a[i : i + block, k : k + block], b[j : j + block, k : k + block]

# %% matmul-blocked mistake blocked-a-exchanged: Exchanges rows and columns of the block of a.
#> block (I, K) of a
#- left, right = a[i : i + block, k : k + block], b[k : k + block, j : j + block]
left, right = a[k : k + block, i : i + block], b[k : k + block, j : j + block]

# %% matmul-blocked mistake blocked-whole-rows: Cuts only the rows of a and the columns of b.
#> cut rows *and* columns
#- for k in range(0, inner, block):
#-     left, right = a[i : i + block, k : k + block], b[k : k + block, j : j + block]
#-     out[i : i + block, j : j + block] += left @ right
out[i : i + block, j : j + block] = a[i : i + block] @ b[:, j : j + block]

# %% matmul-blocked mistake blocked-at: Uses the product of the whole matrices.
#> cut rows *and* columns
return a @ b

# %% matmul-blocked mistake blocked-elementwise: Multiplies the blocks element by element.
#> should
#- out[i : i + block, j : j + block] += left @ right
out[i : i + block, j : j + block] += left * right

# %% matmul-blocked mistake blocked-float64: Makes the result float64.
#> float32
#- out = np.zeros((n, m), a.dtype)
out = np.zeros((n, m))

# %% matmul-blocked mistake blocked-square-result: Gives the result the shape of a.
#> should
#- out = np.zeros((n, m), a.dtype)
out = np.zeros_like(a)

# %% matmul-blocked mistake blocked-numbers: Multiplies single numbers.
#> your products
#- left, right = a[i : i + block, k : k + block], b[k : k + block, j : j + block]
#- out[i : i + block, j : j + block] += left @ right
for x in range(k, min(k + block, inner)):
    out[i : i + block, j : j + block] += (a[i : i + block, x : x + 1]
                                          * b[x : x + 1, j : j + block])

# %% matmul-blocked right matmul-blocked k outside: k outside
(n, inner), m = a.shape, b.shape[1]
out = np.zeros((n, m), a.dtype)
for k in range(0, inner, block):
    for i in range(0, n, block):
        for j in range(0, m, block):
            left, right = a[i : i + block, k : k + block], b[k : k + block, j : j + block]
            out[i : i + block, j : j + block] += left @ right
return out

# %% matmul-blocked right matmul-blocked slices and np.dot: slices and np.dot
cut = lambda size: [slice(start, min(start + block, size)) for start in range(0, size, block)]
out = np.zeros((len(a), b.shape[1]), b.dtype)
for I in cut(len(a)):
    for K in cut(len(b)):
        for J in cut(b.shape[1]):
            out[I, J] = out[I, J] + np.dot(a[I, K], b[K, J])
return out

# %% buffers mistake buffers-never-reused: Always makes a new block.
#> the memory is used again
#- block = blocks.pop() if blocks else np.empty(size, np.uint8)
block = np.empty(size, np.uint8)

# %% buffers mistake buffers-not-removed: Leaves a block that is taken in the list of free
# blocks.
#> The first two should use the two blocks
#- block = blocks.pop() if blocks else np.empty(size, np.uint8)
block = blocks[-1] if blocks else np.empty(size, np.uint8)

# %% buffers mistake buffers-by-shape: Looks free blocks up by their shape.
#> not by their shape
#- blocks = self.free.get(size)
blocks = self.free.get(size) if len(shape) == 1 and shape[0] * 4 == size else None

# %% buffers mistake buffers-larger-block: Uses a larger block as it is.
#> math.prod(shape) times itemsize
#- blocks = self.free.get(size)
blocks = next((b for n, b in self.free.items() if n >= size and b), None)

# %% buffers mistake buffers-elements-counted: Counts elements as bytes.
#> math.prod(shape) times itemsize
#- size = math.prod(shape) * np.dtype(dtype).itemsize
size = math.prod(shape)

# %% buffers mistake buffers-four-bytes: Takes every dtype for 4 bytes.
#> math.prod(shape) times itemsize
#- size = math.prod(shape) * np.dtype(dtype).itemsize
size = math.prod(shape) * 4

# %% buffers mistake buffers-sum-of-shape: Adds the lengths of the axes.
#> math.prod(shape) times itemsize
#- size = math.prod(shape) * np.dtype(dtype).itemsize
size = sum(shape) * np.dtype(dtype).itemsize

# %% buffers mistake buffers-float32-always: Ignores the dtype of the request.
#> math.prod(shape) times itemsize
#- array = block.view(dtype).reshape(shape)
array = block.view(np.float32).reshape(shape)

# %% buffers mistake buffers-flat: Does not reshape.
#> shape and dtype
#- array = block.view(dtype).reshape(shape)
array = block.view(dtype)

# %% buffers mistake buffers-copied: Returns a copy of the block's memory.
#> the memory is used again
#- array = block.view(dtype).reshape(shape)
array = block.view(dtype).reshape(shape).copy()

# %% buffers mistake buffers-double-give: Accepts an array that was given back before.
#> given back twice
#- _, block = self.taken.pop(id(array))
_, block = self.taken[id(array)]

# %% buffers mistake buffers-array-not-kept: Keeps only the block, not the array.
#> must keep the array itself
#- self.taken[id(array)] = array, block
self.taken[id(array)] = None, block

# %% buffers mistake buffers-peak-never-falls: Does not subtract what is given back.
#> no longer counts
#- self.used -= block.nbytes
pass

# %% buffers mistake buffers-peak-is-used: Takes what is taken now for the peak.
#> The peak never falls
#- self.peak = max(self.peak, self.used)
self.peak = self.used

# %% buffers mistake buffers-peak-of-one: Takes the largest array for the peak.
#> not the largest array
#- self.peak = max(self.peak, self.used)
self.peak = max(self.peak, size)

# %% buffers mistake buffers-peak-elements: Counts elements in the peak.
#> the peak after each
#- self.peak = max(self.peak, self.used)
self.peak = max(self.peak, self.used // 4)

# %% buffers mistake buffers-peak-late: Computes the peak before the new array counts.
#> the peak after each
#- self.used += size
#- self.peak = max(self.peak, self.used)
self.peak = max(self.peak, self.used)
self.used += size

# %% buffers mistake buffers-one-per-size: Keeps only one free block of each size.
#> The first two should use
#- self.free.setdefault(block.nbytes, []).append(block)
self.free[block.nbytes] = [block]

# %% buffers mistake buffers-not-freed: Forgets the block.
#> the memory is used again
#- self.free.setdefault(block.nbytes, []).append(block)
pass

# %% buffers right buffers setdefault in take: setdefault in take
#- blocks = self.free.get(size)
#- block = blocks.pop() if blocks else np.empty(size, np.uint8)
blocks = self.free.setdefault(size, [])
if not blocks:
    blocks.append(np.zeros(size, np.uint8))
block = blocks.pop(0)

# %% buffers right buffers an ndarray on the block: an ndarray on the block
#- array = block.view(dtype).reshape(shape)
array = np.ndarray(shape, dtype, block)

# %% gelu-into mistake gelu-new-result: Returns a new array.
#> Nothing was written into out
#- return np.multiply(scratch, x, out=out)
return scratch * x

# %% gelu-into mistake gelu-result-in-scratch: Leaves the result in scratch.
#> Nothing was written into out
#- return np.multiply(scratch, x, out=out)
return np.multiply(scratch, x, out=scratch)

# %% gelu-into mistake gelu-returns-nothing: Does not return out.
#> return the array `out`
#- return np.multiply(scratch, x, out=out)
np.multiply(scratch, x, out=out)

# %% gelu-into mistake gelu-copied-result: Writes into out, but returns another array.
#> return the array `out`
#- return np.multiply(scratch, x, out=out)
np.multiply(scratch, x, out=out)
return scratch

# %% gelu-into mistake gelu-x-changed: Uses x for intermediate results.
#> changed x
#- scratch *= 0.044715 * c
x *= 1.5
x /= 1.5
x += 1e-9
scratch *= 0.044715 * c

# %% gelu-into mistake gelu-power: Computes the cube by np.power.
#> computes any power and is slow
np.power(x, 3, out=scratch)
scratch *= 0.044715
scratch += x
scratch *= c
np.tanh(scratch, out=scratch)
scratch += 1
scratch *= 0.5
return np.multiply(scratch, x, out=out)

# %% gelu-into mistake gelu-out-as-scratch: Uses out for intermediate results.
#> until the last multiplication
np.multiply(x, x, out=out)
out *= 0.044715 * c
out += c
out *= x
np.tanh(out, out=out)
out += 1
out *= 0.5
out *= x
return out

# %% gelu-into mistake gelu-new-square: Creates an array for the square.
#> creates a new array
#- np.multiply(x, x, out=scratch)
scratch[...] = x * x

# %% gelu-into mistake gelu-new-scratch: Makes a new array with the first operation.
#> creates a new array
#- np.multiply(x, x, out=scratch)
scratch = x * x

# %% gelu-into mistake gelu-new-tanh: Creates an array for tanh.
#> creates a new array
#- np.tanh(scratch, out=scratch)
scratch = np.tanh(scratch)

# %% gelu-into mistake gelu-plus-new: Creates an array for the sum.
#> creates a new array
#- scratch += 1
scratch = scratch + 1

# %% gelu-into mistake gelu-no-half: Forgets the factor 0.5.
#> The factor 0.5 is missing
#- scratch *= 0.5
pass

# %% gelu-into mistake gelu-no-one: Forgets to add 1.
#> the formula is
#- scratch += 1
pass

# %% gelu-into mistake gelu-no-c: Forgets c in the cubic term.
#> the formula is
#- scratch *= 0.044715 * c
scratch *= 0.044715

# %% gelu-into mistake gelu-no-linear: Forgets the linear term.
#> the formula is
#- scratch += c
pass

# %% gelu-into mistake gelu-square-only: Forgets to multiply by x before tanh.
#> should
#- scratch *= x
pass

# %% gelu-into mistake gelu-root: Takes c for 2 / pi.
#> should
#- c = math.sqrt(2 / math.pi)
c = 2 / math.pi

# %% gelu-into right gelu-into functions with out: functions with out
np.multiply(x, x, out=scratch)
np.multiply(scratch, 0.044715, out=scratch)
np.add(scratch, 1, out=scratch)
np.multiply(scratch, x, out=scratch)
np.multiply(scratch, c, out=scratch)
np.tanh(scratch, out=scratch)
np.add(scratch, 1, out=scratch)
np.multiply(scratch, x, out=out)
np.multiply(out, 0.5, out=out)
return out

# %% gelu-into right gelu-into a slice of out: a slice of out
#- return np.multiply(scratch, x, out=out)
scratch *= x
out[...] = scratch
return out

# %% gelu-into right gelu-into by the sigmoid: by the sigmoid
#- np.tanh(scratch, out=scratch)
scratch *= -2
with np.errstate(over="ignore"):
    np.exp(scratch, out=scratch)
#- scratch *= 0.5
np.reciprocal(scratch, out=scratch)

# %% gelu-fused mistake fused-not-given-back: Does not give the scratch array back.
#> nothing
#- buffers.give(scratch)
pass

# %% gelu-fused mistake fused-view-given-back: Gives a view of the scratch array back.
#> a view
#- buffers.give(scratch)
buffers.give(scratch[:])

# %% gelu-fused mistake fused-take-in-the-loop: Takes an array for every block.
#> should take one array
#- part = flat[start : start + block]
scratch = buffers.take((min(block, x.size),), x.dtype)
part = flat[start : start + block]

# %% gelu-fused mistake fused-scratch-of-x: Takes a scratch array of the size of x.
#> should take one array
#- scratch = buffers.take((min(block, x.size),), x.dtype)
scratch = buffers.take((x.size,), x.dtype)

# %% gelu-fused mistake fused-scratch-of-block: Takes a whole block for a small x.
#> should take one array
#- scratch = buffers.take((min(block, x.size),), x.dtype)
scratch = buffers.take((block,), x.dtype)

# %% gelu-fused mistake fused-dtype: Takes a scratch array of the default dtype.
#> dtype float64
#- scratch = buffers.take((min(block, x.size),), x.dtype)
scratch = buffers.take((min(block, x.size),))

# %% gelu-fused mistake fused-np-empty: Makes the scratch array with np.empty.
#> yours takes none
#- scratch = buffers.take((min(block, x.size),), x.dtype)
scratch = np.empty(min(block, x.size), x.dtype)

# %% gelu-fused mistake fused-no-last: Leaves the last, smaller block out.
#> last, smaller block missing
#- for start in range(0, x.size, block):
#-     part = flat[start : start + block]
for start in range(0, x.size - block + 1, block):
    part = flat[start : start + block]

# %% gelu-fused mistake fused-whole-scratch: Uses the whole scratch array for the last block.
#> the last block has fewer numbers
#- gelu_into(part, flat_out[start : start + block], scratch[: part.size])
gelu_into(part, flat_out[start : start + block], scratch)

# %% gelu-fused mistake fused-one-block: Computes only the first block.
#> some blocks were not written
#- for start in range(0, x.size, block):
#-     part = flat[start : start + block]
for start in range(0, min(block, x.size), block):
    part = flat[start : start + block]

# %% gelu-fused mistake fused-out-not-cut: Writes each block to the beginning of out.
#> should
#- gelu_into(part, flat_out[start : start + block], scratch[: part.size])
gelu_into(part, flat_out[: part.size], scratch[: part.size])

# %% gelu-fused mistake fused-copy-of-out: Writes into a copy of out.
#> some blocks were not written
#- flat, flat_out = x.reshape(-1), out.reshape(-1)
flat, flat_out = x.reshape(-1), out.flatten()

# %% gelu-fused mistake fused-copy-of-x: Copies x.
#> is x or the result copied
#- flat, flat_out = x.reshape(-1), out.reshape(-1)
flat, flat_out = x.flatten(), out.reshape(-1)

# %% gelu-fused mistake fused-rows: Cuts the first axis instead of the elements.
#> raises ValueError
#- flat, flat_out = x.reshape(-1), out.reshape(-1)
flat, flat_out = x, out

# %% gelu-fused mistake fused-returns-flat: Returns out with one axis.
#> should
#- return out
return flat_out

# %% gelu-fused mistake fused-composed: Computes each block with new arrays.
#> is x or the result copied
#- gelu_into(part, flat_out[start : start + block], scratch[: part.size])
flat_out[start : start + block] = gelu_into(x.ravel() * 1.0, x.ravel() * 1.0, x.ravel() * 1.0)[start : start + block]

# %% gelu-fused right gelu-fused np.ravel and an end: np.ravel and an end
#- for start in range(0, x.size, block):
#-     part = flat[start : start + block]
#-     gelu_into(part, flat_out[start : start + block], scratch[: part.size])
start = 0
while start < x.size:
    end = min(start + block, x.size)
    gelu_into(flat[start:end], flat_out[start:end], scratch[: end - start])
    start = end

# %% gelu-fused right gelu-fused try and finally: try and finally
#- flat, flat_out = x.reshape(-1), out.reshape(-1)
flat, flat_out = np.ravel(x), out.reshape(out.size)

# %% ladder mistake ladder-late-binding: Makes lambdas in a loop that all call the last variant.
#> looks its variables up when it is called
#- times = race({name: recorded(name) for name in variants}, rounds, rng, clock)
functions = {}
for name in variants:
    functions[name] = lambda: losses[name].append(variants[name]())
times = race(functions, rounds, rng, clock)

# %% ladder mistake ladder-upside-down: Divides the time after by the time before.
#> divide the time before by the time after
#- gains[name] = ratio_interval(times[before], times[name], rng=rng)
gains[name] = ratio_interval(times[name], times[before], rng=rng)

# %% ladder mistake ladder-against-the-first: Compares the times with those of the first
# variant.
#> not the first
#- gains[name] = ratio_interval(times[before], times[name], rng=rng)
gains[name] = ratio_interval(times[names[0]], times[name], rng=rng)

# %% ladder mistake ladder-losses-not-compared: Does not compare losses.
#> not the same program
#- if not (differences <= tolerance).all():
#-     raise ValueError(f"{name} computes other losses: {losses[name]}")
pass

# %% ladder mistake ladder-last-loss: Compares only the last loss.
#> not the same program
#- differences = np.abs(np.subtract(losses[name], losses[names[0]]))
differences = np.abs(np.subtract(losses[name][-1:], losses[names[0]][-1:]))

# %% ladder mistake ladder-first-loss: Compares only the first loss.
#> not the same program
#- differences = np.abs(np.subtract(losses[name], losses[names[0]]))
differences = np.abs(np.subtract(losses[name][:1], losses[names[0]][:1]))

# %% ladder mistake ladder-mean-loss: Compares the means of the losses.
#> not the same program
#- differences = np.abs(np.subtract(losses[name], losses[names[0]]))
differences = np.abs(np.mean(losses[name]) - np.mean([losses[names[0]]], axis=1))

# %% ladder mistake ladder-no-absolute-value: Forgets the absolute value.
#> not the same program
#- differences = np.abs(np.subtract(losses[name], losses[names[0]]))
differences = np.subtract(losses[name], losses[names[0]])

# %% ladder mistake ladder-any: Accepts variants with one equal loss.
#> not the same program
#- if not (differences <= tolerance).all():
#-     raise ValueError(f"{name} computes other losses: {losses[name]}")
if not (differences <= tolerance).any():
    raise ValueError(f"{name} computes other losses: {losses[name]}")

# %% ladder mistake ladder-nan: Asks whether a difference is large.
#> A comparison with nan
#- if not (differences <= tolerance).all():
#-     raise ValueError(f"{name} computes other losses: {losses[name]}")
if (differences > tolerance).any():
    raise ValueError(f"{name} computes other losses: {losses[name]}")

# %% ladder mistake ladder-exact: Demands equal losses.
#> the tolerance is
#- if not (differences <= tolerance).all():
#-     raise ValueError(f"{name} computes other losses: {losses[name]}")
if not (differences == 0).all():
    raise ValueError(f"{name} computes other losses: {losses[name]}")

# %% ladder mistake ladder-fixed-tolerance: Ignores the tolerance.
#> the tolerance is
#- if not (differences <= tolerance).all():
#-     raise ValueError(f"{name} computes other losses: {losses[name]}")
if not (differences <= 1e-5).all():
    raise ValueError(f"{name} computes other losses: {losses[name]}")

# %% ladder mistake ladder-losses-of-the-one-before: Compares the losses with the variant
# before.
#> Compare each variant with the first
#- differences = np.abs(np.subtract(losses[name], losses[names[0]]))
differences = np.abs(np.subtract(losses[name], losses[before]))

# %% ladder mistake ladder-names-the-first: Names the first variant in the error.
#> should name it
#- raise ValueError(f"{name} computes other losses: {losses[name]}")
raise ValueError(f"{names[0]}: the losses are not equal")

# %% ladder mistake ladder-first-missing: Leaves out the first variant.
#> should have the names
#- gains = {names[0]: (1.0, 1.0)}
gains = {}

# %% ladder mistake ladder-only-gains: Returns the gains only.
#> should return two dicts
#- return times, gains
return gains

# %% ladder mistake ladder-clock-forgotten: Does not give the clock to race.
#> should
#- times = race({name: recorded(name) for name in variants}, rounds, rng, clock)
times = race({name: recorded(name) for name in variants}, rounds, rng)

# %% ladder mistake ladder-called-again: Calls each variant once more for its loss.
#> are called
#- differences = np.abs(np.subtract(losses[name], losses[names[0]]))
variants[name]()
differences = np.abs(np.subtract(losses[name], losses[names[0]]))

# %% ladder mistake ladder-sequential: Times one variant after the other.
#> should
#- times = race({name: recorded(name) for name in variants}, rounds, rng, clock)
times = {}
for name in variants:
    times[name] = np.zeros(rounds)
    for i in range(rounds):
        start = clock()
        recorded(name)()
        times[name][i] = clock() - start

# %% ladder right ladder a default argument: a default argument
#- times = race({name: recorded(name) for name in variants}, rounds, rng, clock)
wrapped = {}
for name, f in variants.items():
    wrapped[name] = lambda f=f, seen=losses[name]: seen.append(float(f()))
times = race(wrapped, rounds, rng=rng, clock=clock)

# %% ladder right ladder np.allclose: np.allclose
#- if not (differences <= tolerance).all():
#-     raise ValueError(f"{name} computes other losses: {losses[name]}")
if not np.allclose(losses[name], losses[names[0]], rtol=0, atol=tolerance):
    raise ValueError(f"{name}: {losses[name]} instead of {losses[names[0]]}")

# %% ladder right ladder losses checked first: losses checked first
#- gains = {names[0]: (1.0, 1.0)}
#- for before, name in zip(names, names[1:]):
#-     differences = np.abs(np.subtract(losses[name], losses[names[0]]))
for name in names:
    for mine, wanted in zip(losses[name], losses[names[0]]):
        if not abs(mine - wanted) <= tolerance:
            raise ValueError(f"{name} has the loss {mine}, not {wanted}")
gains = dict.fromkeys(names[:1], (1.0, 1.0))
for before, name in zip(names[:-1], names[1:]):
    differences = np.abs(np.subtract(losses[name], losses[names[0]]))

# %% steps-needed mistake steps-static-sum: Adds all lengths.
#> as long as its longest
#- return sum(max(lengths[i : i + batch]) for i in range(0, len(lengths), batch))
return sum(lengths)

# %% steps-needed mistake steps-static-mean: Divides the tokens by the places.
#> should
#- return sum(max(lengths[i : i + batch]) for i in range(0, len(lengths), batch))
return -(-sum(lengths) // batch)

# %% steps-needed mistake steps-static-max: Takes the longest of all.
#> should
#- return sum(max(lengths[i : i + batch]) for i in range(0, len(lengths), batch))
return max(lengths)

# %% steps-needed mistake steps-static-sorted: Sorts the requests first.
#> not sorted
#- return sum(max(lengths[i : i + batch]) for i in range(0, len(lengths), batch))
return sum(max(sorted(lengths)[i : i + batch]) for i in range(0, len(lengths), batch))

# %% steps-needed mistake steps-static-step-1: Starts a batch at each request.
#> should
#- return sum(max(lengths[i : i + batch]) for i in range(0, len(lengths), batch))
return sum(max(lengths[i : i + batch]) for i in range(len(lengths)))

# %% steps-needed mistake steps-static-no-rest: Leaves out a last batch that is not full.
#> should
#- return sum(max(lengths[i : i + batch]) for i in range(0, len(lengths), batch))
return sum(max(lengths[i : i + batch]) for i in range(0, len(lengths) - batch + 1, batch))

# %% steps-needed mistake steps-static-min: Ends a batch with its shortest request.
#> as long as its longest
#- return sum(max(lengths[i : i + batch]) for i in range(0, len(lengths), batch))
return sum(min(lengths[i : i + batch]) for i in range(0, len(lengths), batch))

# %% steps-needed mistake steps-exchanged: Exchanges the two kinds of batching.
#> should
#- if not continuous:
#-     return sum(max(lengths[i : i + batch]) for i in range(0, len(lengths), batch))
if continuous:
    return sum(max(lengths[i : i + batch]) for i in range(0, len(lengths), batch))

# %% steps-needed mistake steps-always-static: Ignores `continuous`.
#> Static batching gives the same number
#- if not continuous:
#-     return sum(max(lengths[i : i + batch]) for i in range(0, len(lengths), batch))
if True:
    return sum(max(lengths[i : i + batch]) for i in range(0, len(lengths), batch))

# %% steps-needed mistake steps-round-robin: Gives the requests to the places in turn.
#> Yours gives the requests to the places in turn
#- for length in lengths:
#-     free[free.index(min(free))] += length
for i, length in enumerate(lengths):
    free[i % batch] += length

# %% steps-needed mistake steps-busiest: Gives the next request to the place that becomes free
# last.
#> should
#- free[free.index(min(free))] += length
free[free.index(max(free))] += length

# %% steps-needed mistake steps-replaced: Forgets when the place became free.
#> should
#- free[free.index(min(free))] += length
free[free.index(min(free))] = length

# %% steps-needed mistake steps-first-free: Returns when the first place is free.
#> should
#- return max(free)
return min(free)

# %% steps-needed mistake steps-sum-of-places: Adds the steps of all places.
#> should
#- return max(free)
return sum(free)

# %% steps-needed mistake steps-continuous-sorted: Serves the longest requests first.
#> do not sort
#- for length in lengths:
#-     free[free.index(min(free))] += length
for length in sorted(lengths, reverse=True):
    free[free.index(min(free))] += length

# %% steps-needed mistake steps-perfect: Divides the tokens by the places.
#> number of tokens divided by the places
if not continuous:
    return sum(max(lengths[i : i + batch]) for i in range(0, len(lengths), batch))
free = [0] * batch
return -(-sum(lengths) // batch)

# %% steps-needed mistake steps-one-place: Uses one place.
#> should
#- free = [0] * batch
free = [0]

# %% steps-needed right steps-needed heapq: heapq
if not continuous:
    return sum(max(lengths[i : i + batch]) for i in range(0, len(lengths), batch))
import heapq
free, end = [0] * batch, 0
for length in lengths:
    done = heapq.heappop(free) + length
    heapq.heappush(free, done)
    end = max(end, done)
return end

# %% steps-needed right steps-needed step by step: step by step
waiting, running, steps = list(lengths), [], 0
while waiting or running:
    if continuous or not running:
        while waiting and len(running) < batch:
            length = waiting.pop(0)
            if length or not continuous:
                running.append(length)
    if any(running):
        steps += 1
    running = [n - 1 for n in running if n > 1]
return steps

# %% shards mistake shards-added: Adds the gradients of the shards.
#> The gradients of the shards are added
#- t += len(rows) / len(x) * g
t += g

# %% shards mistake shards-plain-mean: Takes the plain mean of the shards.
#> The plain mean of the shards
#- t += len(rows) / len(x) * g
t += g / min(n, len(x))

# %% shards mistake shards-last-only: Keeps the last shard only.
#> Only the last shard is left
#- t += len(rows) / len(x) * g
t[...] = g

# %% shards mistake shards-weighted-by-rows: Multiplies by the rows, without dividing by all.
#> should
#- t += len(rows) / len(x) * g
t += len(rows) * g

# %% shards mistake shards-upside-down: Divides by the share.
#> should
#- t += len(rows) / len(x) * g
t += len(x) / len(rows) * g

# %% shards mistake shards-x-only: Cuts x, but not y.
#> rows of x and
#- for t, g in zip(total, gradients_of(loss, model, x[rows], y[rows])):
#-     t += len(rows) / len(x) * g
for t, g in zip(total, gradients_of(loss, model, x[rows], y)):
    t += len(rows) / len(x) * g

# %% shards mistake shards-first-rows-of-y: Takes the first rows of y for each shard.
#> should
#- for t, g in zip(total, gradients_of(loss, model, x[rows], y[rows])):
#-     t += len(rows) / len(x) * g
for t, g in zip(total, gradients_of(loss, model, x[rows], y[: len(rows)])):
    t += len(rows) / len(x) * g

# %% shards mistake shards-empty: Calls the loss for empty shards.
#> leave them out
total = [np.zeros_like(p.data) for p in model.parameters()]
for rows in np.array_split(np.arange(len(x)), n):
    for t, g in zip(total, gradients_of(loss, model, x[rows], y[rows])):
        t += len(rows) / len(x) * g
return total

# %% shards mistake shards-every-nth-row: Gives every n-th row to a shard.
#> the rows of a shard follow each other
total = [np.zeros_like(p.data) for p in model.parameters()]
for rows in [np.arange(i, len(x), n) for i in range(min(n, len(x)))]:
    for t, g in zip(total, gradients_of(loss, model, x[rows], y[rows])):
        t += len(rows) / len(x) * g
return total

# %% shards mistake shards-rest-dropped: Drops the rows that are left over.
#> should
total = [np.zeros_like(p.data) for p in model.parameters()]
for rows in np.arange(len(x) // min(n, len(x)) * min(n, len(x))).reshape(min(n, len(x)), -1):
    for t, g in zip(total, gradients_of(loss, model, x[rows], y[rows])):
        t += len(rows) / len(x) * g
return total

# %% shards mistake shards-size-n: Takes n for the number of rows of a shard.
#> should
total = [np.zeros_like(p.data) for p in model.parameters()]
for rows in [np.arange(i, min(i + n, len(x))) for i in range(0, len(x), n)]:
    for t, g in zip(total, gradients_of(loss, model, x[rows], y[rows])):
        t += len(rows) / len(x) * g
return total

# %% shards mistake shards-one-shard: Computes the gradient of the whole batch at once.
#> should
total = [np.zeros_like(p.data) for p in model.parameters()]
for rows in [np.arange(len(x))]:
    for t, g in zip(total, gradients_of(loss, model, x[rows], y[rows])):
        t += len(rows) / len(x) * g
return total

# %% shards mistake shards-interleaved-without-last: Starts the sum with the weights.
#> should
#- total = [np.zeros_like(p.data) for p in model.parameters()]
total = [p.data.copy() for p in model.parameters()]

# %% shards mistake shards-grad-of-the-model: Starts the sum with the old gradients.
#> is an earlier .grad added
#- total = [np.zeros_like(p.data) for p in model.parameters()]
total = [p.grad.copy() for p in model.parameters()]

# %% shards mistake shards-unused: Fails for a parameter without a gradient.
#> a parameter that the loss does not use
#- for t, g in zip(total, gradients_of(loss, model, x[rows], y[rows])):
#-     t += len(rows) / len(x) * g
for t, g in zip(total, (loss(model, x[rows], y[rows]).backward(), [(p.grad.copy(), setattr(p, "grad", None))[0] for p in model.parameters()])[1]):
    t += len(rows) / len(x) * g

# %% shards mistake shards-dict: Returns the last shard's gradients.
#> should
#- return total
return [p.grad for p in model.parameters()]

# %% shards mistake shards-accumulated-grad: Lets backward add the gradients, without weights.
#> The gradients of the shards are added
model.zero_grad()
for rows in np.array_split(np.arange(len(x)), min(n, len(x))):
    loss(model, x[rows], y[rows]).backward()
return [np.zeros_like(p.data) if p.grad is None else p.grad for p in model.parameters()]

# %% shards right shards a weighted loss: a weighted loss
model.zero_grad()
for part, target in zip(np.array_split(x, n), np.array_split(y, n)):
    if len(part):
        (loss(model, part, target) * (len(part) / len(x))).backward()
return [np.zeros_like(p.data) if p.grad is None else p.grad for p in model.parameters()]

# %% shards right shards all gradients first: all gradients first
parts = [rows for rows in np.array_split(np.arange(len(x)), n) if rows.size]
found = [[np.array(g) for g in gradients_of(loss, model, x[rows], y[rows])] for rows in parts]
return [sum(g * (len(rows) / len(x)) for g, rows in zip(gs, parts)) for gs in zip(*found)]

# %% shared mistake shared-not-aligned: Puts each array directly behind the one before.
#> begins at a multiple of 64
#- offset = -(-end // 64) * 64
offset = end

# %% shared mistake shared-rounded-down: Rounds the offset down.
#> should
#- offset = -(-end // 64) * 64
offset = end // 64 * 64

# %% shared mistake shared-always-one-more: Skips 64 bytes when the end is a multiple of 64.
#> directly behind 64 bytes is 64
#- offset = -(-end // 64) * 64
offset = (end // 64 + 1) * 64 if end else 0

# %% shared mistake shared-elements: Counts elements instead of bytes.
#> should
#- end = offset + array.nbytes
end = offset + array.size

# %% shared mistake shared-size-rounded: Rounds the size up, too.
#> size is the end of the last array
#- return places, end
return places, -(-end // 64) * 64

# %% shared mistake shared-size-is-sum: Adds the bytes of the arrays.
#> should
#- return places, end
return places, sum(array.nbytes for array in arrays)

# %% shared mistake shared-end-without-offset: Forgets where the array began.
#> should
#- end = offset + array.nbytes
end += array.nbytes

# %% shared mistake shared-flat-shape: Stores sizes instead of shapes.
#> the places should be
#- places.append((offset, array.shape, array.dtype))
places.append((offset, (array.size,), array.dtype))

# %% shared mistake shared-view-copies: Copies the numbers out of the memory.
#> it is a copy
#- return [np.ndarray(shape, dtype, buffer, offset) for offset, shape, dtype in places]
return [np.ndarray(shape, dtype, buffer, offset).copy() for offset, shape, dtype in places]

# %% shared mistake shared-view-zeros: Makes new arrays.
#> it is a copy
#- return [np.ndarray(shape, dtype, buffer, offset) for offset, shape, dtype in places]
return [np.zeros(shape, dtype) for offset, shape, dtype in places]

# %% shared mistake shared-offset-forgotten: Puts all arrays at the beginning.
#> should begin at byte
#- return [np.ndarray(shape, dtype, buffer, offset) for offset, shape, dtype in places]
return [np.ndarray(shape, dtype, buffer) for offset, shape, dtype in places]

# %% shared mistake shared-dtype-forgotten: Makes all arrays float32.
#> should
#- return [np.ndarray(shape, dtype, buffer, offset) for offset, shape, dtype in places]
return [np.ndarray(shape, np.float32, buffer, offset) for offset, shape, dtype in places]

# %% shared mistake shared-fortran: Exchanges the axes.
#> should
#- return [np.ndarray(shape, dtype, buffer, offset) for offset, shape, dtype in places]
return [np.ndarray(shape[::-1], dtype, buffer, offset) for offset, shape, dtype in places]

# %% shared mistake shared-frombuffer-flat: Leaves the arrays flat.
#> should
#- return [np.ndarray(shape, dtype, buffer, offset) for offset, shape, dtype in places]
return [np.frombuffer(buffer, dtype, int(np.prod(shape)), offset) for offset, shape, dtype in places]

# %% shared mistake shared-read-only: Makes arrays that cannot be written.
#> should
#- return [np.ndarray(shape, dtype, buffer, offset) for offset, shape, dtype in places]
return [np.ndarray(shape, dtype, bytes(buffer), offset) for offset, shape, dtype in places]

# %% shared mistake shared-zeroed: Clears the memory.
#> wrote into it
#- return [np.ndarray(shape, dtype, buffer, offset) for offset, shape, dtype in places]
out = [np.ndarray(shape, dtype, buffer, offset) for offset, shape, dtype in places]
for array in out:
    array[...] = 1
return out

# %% shared mistake shared-move-copies: Gives the parameter a copy.
#> the workers would keep the old weights
#- p.data = array
p.data = array.copy()

# %% shared mistake shared-move-numbers-only: Copies only the numbers.
#> the workers would keep the old weights
#- p.data = array
pass

# %% shared mistake shared-move-without-numbers: Forgets to copy the numbers.
#> The array got no numbers
#- array[...] = p.data
pass

# %% shared mistake shared-move-rebinds: Rebinds the name instead of writing into the array.
#> The array got no numbers
#- array[...] = p.data
array = p.data.copy()

# %% shared mistake shared-move-backwards: Copies from the array into the parameter.
#> yours copies the other way
#- array[...] = p.data
p.data[...] = array

# %% shared right shared rounded by the remainder: rounded by the remainder
#- offset = -(-end // 64) * 64
offset = end + (-end) % 64

# %% shared right shared frombuffer and reshape: frombuffer and reshape
#- return [np.ndarray(shape, dtype, buffer, offset) for offset, shape, dtype in places]
out = []
for offset, shape, dtype in places:
    flat = np.frombuffer(buffer, dtype, math.prod(shape), offset)
    out.append(flat.reshape(shape))
return out

# %% shared right shared np.copyto: np.copyto
#- array[...] = p.data
np.copyto(array, p.data)

# %% data-parallel mistake parallel-one-after-the-other: Waits for each worker before the next
# one starts.
#> at the same time
#- for worker, rows in zip(self.workers, parts):
#-     worker.send(x[rows], y[rows])
#- losses = [worker.receive() for worker, rows in zip(self.workers, parts)]
losses = []
for worker, rows in zip(self.workers, parts):
    worker.send(x[rows], y[rows])
    losses.append(worker.receive())

# %% data-parallel mistake parallel-gradients-added: Adds the gradients of the workers.
#> The gradients of the workers are added
#- g = sum(share * gradient for share, gradient in zip(shares, gradients))
g = sum(gradient for share, gradient in zip(shares, gradients))

# %% data-parallel mistake parallel-plain-mean: Takes the plain mean of the workers.
#> The plain mean
#- shares = [len(rows) / len(x) for rows in parts]
shares = [1 / len(parts) for rows in parts]

# %% data-parallel mistake parallel-losses-added: Adds the losses.
#> The losses are added
#- return sum(share * loss for share, loss in zip(shares, losses))
return sum(losses)

# %% data-parallel mistake parallel-mean-loss: Takes the plain mean of the losses.
#> The plain mean
#- return sum(share * loss for share, loss in zip(shares, losses))
return sum(losses) / len(losses)

# %% data-parallel mistake parallel-first-loss: Returns the loss of the first worker.
#> the loss of 6 rows
#- return sum(share * loss for share, loss in zip(shares, losses))
return losses[0]

# %% data-parallel mistake parallel-grad-replaced: Replaces the .grad.
#> yours replaces it
#- p.grad = g if p.grad is None else p.grad + g
p.grad = g

# %% data-parallel mistake parallel-grad-never-set: Adds to a .grad that is None.
#> backward of 6 rows
#- p.grad = g if p.grad is None else p.grad + g
p.grad = p.grad + g

# %% data-parallel mistake parallel-read-too-early: Reads the gradients before the workers have
# written them.
#> read before receive()
#- losses = [worker.receive() for worker, rows in zip(self.workers, parts)]

#- return sum(share * loss for share, loss in zip(shares, losses))
losses = [worker.receive() for worker, rows in zip(self.workers, parts)]
return sum(share * loss for share, loss in zip(shares, losses))

# %% data-parallel mistake parallel-not-received: Does not wait for the workers.
#> should
#- losses = [worker.receive() for worker, rows in zip(self.workers, parts)]
losses = [0.0 for rows in parts]

# %% data-parallel mistake parallel-whole-batch: Sends the whole batch to each worker.
#> should get 3 rows
#- worker.send(x[rows], y[rows])
worker.send(x, y)

# %% data-parallel mistake parallel-all-targets: Sends all targets to each worker.
#> raises ValueError
#- worker.send(x[rows], y[rows])
worker.send(x[rows], y)

# %% data-parallel mistake parallel-every-nth-row: Gives every n-th row to a worker.
#> the rows of a shard follow each other
#- parts = np.array_split(np.arange(len(x)), min(len(self.workers), len(x)))
count = min(len(self.workers), len(x))
parts = [np.arange(i, len(x), count) for i in range(count)]

# %% data-parallel mistake parallel-empty-shards: Sends empty arrays to workers without rows.
#> do not send them empty arrays
#- parts = np.array_split(np.arange(len(x)), min(len(self.workers), len(x)))
parts = np.array_split(np.arange(len(x)), len(self.workers))

# %% data-parallel mistake parallel-rest-dropped: Drops the rows that are left over.
#> should
#- parts = np.array_split(np.arange(len(x)), min(len(self.workers), len(x)))
size = max(1, len(x) // len(self.workers))
parts = [np.arange(i, i + size) for i in range(0, min(len(x), size * len(self.workers)), size)]

# %% data-parallel mistake parallel-first-worker: Uses the gradient of the first worker only.
#> should
#- g = sum(share * gradient for share, gradient in zip(shares, gradients))
g = 1.0 * gradients[0]

# %% data-parallel mistake parallel-in-place: Scales the gradient in shared memory, and keeps it
# as .grad.
#> uses the memory
#- g = sum(share * gradient for share, gradient in zip(shares, gradients))
g = gradients[0]
g *= shares[0]
for share, gradient in zip(shares[1:], gradients[1:]):
    g += share * gradient

# %% data-parallel mistake parallel-all-workers-read: Adds the gradients of workers without
# rows.
#> should
#- g = sum(share * gradient for share, gradient in zip(shares, gradients))
g = sum(share * gradient for share, gradient in zip([*shares, *[0.0] * 9], gradients))

# %% data-parallel mistake parallel-receive-all: Waits for workers that got no rows.
#> without a send() before it
#- losses = [worker.receive() for worker, rows in zip(self.workers, parts)]
losses = [worker.receive() for worker in self.workers]

# %% data-parallel mistake parallel-returns-nothing: Does not return the loss.
#> Is `return` missing
#- return sum(share * loss for share, loss in zip(shares, losses))
sum(share * loss for share, loss in zip(shares, losses))

# %% data-parallel mistake parallel-divided-twice: Divides the gradient by the workers once
# more.
#> should
#- p.grad = g if p.grad is None else p.grad + g
p.grad = g / len(parts) if p.grad is None else p.grad + g / len(parts)

# %% data-parallel mistake parallel-float64: Makes the gradients float64.
#> float32
#- g = sum(share * gradient for share, gradient in zip(shares, gradients))
g = sum(share * gradient for share, gradient in zip(np.array(shares), gradients))

# %% data-parallel right data-parallel a loop over workers: a loop over workers
xs, ys = np.array_split(x, len(self.workers)), np.array_split(y, len(self.workers))
busy = [i for i, part in enumerate(xs) if len(part)]
for i in busy:
    self.workers[i].send(xs[i], ys[i])
total = 0.0
new = [np.zeros_like(p.data) for p in self.model.parameters()]
for i in busy:
    share = len(xs[i]) / len(x)
    total += share * self.workers[i].receive()
    for g, gradient in zip(new, self.gradients[i]):
        g += share * gradient
for p, g in zip(self.model.parameters(), new):
    p.grad = g if p.grad is None else p.grad + g
return total

# %% data-parallel right data-parallel weights in an array: weights in an array
#- for p, *gradients in zip(self.model.parameters(), *self.gradients):
#-     g = sum(share * gradient for share, gradient in zip(shares, gradients))
for n, p in enumerate(self.model.parameters()):
    g = np.zeros_like(p.data)
    for i, share in enumerate(shares):
        g += share * self.gradients[i][n]

# %% grad-scaler mistake scaler-loss-divided: Divides the loss by the factor.
#> Multiply
#- return loss * self.factor
return loss / self.factor

# %% grad-scaler mistake scaler-loss-not-recorded: Multiplies the number of the loss, which is
# not recorded.
#> recorded
#- return loss * self.factor
return Tensor(loss.data * self.factor)

# %% grad-scaler mistake scaler-loss-as-it-is: Returns the loss as it is.
#> should
#- return loss * self.factor
return loss

# %% grad-scaler mistake scaler-float: Returns a float.
#> recorded
#- return loss * self.factor
return float(loss.data) * self.factor

# %% grad-scaler mistake scaler-not-undone: Does not divide the gradients.
#> The scale is not undone
#- p.grad = p.grad / self.factor
p.grad = p.grad / 1.0

# %% grad-scaler mistake scaler-multiplied-again: Multiplies the gradients.
#> should
#- p.grad = p.grad / self.factor
p.grad = p.grad * self.factor

# %% grad-scaler mistake scaler-undone-too-late: Divides the gradients after the step.
#> The scale is undone after the step
#- p.grad = p.grad / self.factor

#- if not self.overflow:
#-     optimizer.step()
if not self.overflow:
    optimizer.step()
for p in parameters:
    if p.grad is not None:
        p.grad = p.grad / self.factor

# %% grad-scaler mistake scaler-inf-stepped: Steps with infinite gradients.
#> no optimizer step
#- if not self.overflow:
#-     optimizer.step()
optimizer.step()

# %% grad-scaler mistake scaler-nan-only: Looks for nan only.
#> no optimizer step
#- self.overflow |= not np.isfinite(p.grad).all()
self.overflow |= bool(np.isnan(p.grad).any())

# %% grad-scaler mistake scaler-inf-only: Looks for infinite numbers only.
#> no optimizer step
#- self.overflow |= not np.isfinite(p.grad).all()
self.overflow |= bool(np.isinf(p.grad).any())

# %% grad-scaler mistake scaler-positive-inf-only: Looks for positive infinity only.
#> no optimizer step
#- self.overflow |= not np.isfinite(p.grad).all()
self.overflow |= not (p.grad < np.inf).all()

# %% grad-scaler mistake scaler-any: Accepts gradients with one finite number.
#> no optimizer step
#- self.overflow |= not np.isfinite(p.grad).all()
self.overflow |= not np.isfinite(p.grad).any()

# %% grad-scaler mistake scaler-last-gradient: Lets the last gradient decide.
#> Look at all gradients
#- self.overflow |= not np.isfinite(p.grad).all()
self.overflow = not np.isfinite(p.grad).all()

# %% grad-scaler mistake scaler-first-group: Looks at the first group only.
#> Look at all gradients
#- parameters = [p for group in optimizer.param_groups for p in group["params"]]
parameters = [p for group in optimizer.param_groups[:1] for p in group["params"]]

# %% grad-scaler mistake scaler-step-in-the-loop: Steps once for each parameter.
#> Look at all gradients
#- for p in parameters:
#-     if p.grad is not None:
#-         p.grad = p.grad / self.factor
#-         self.overflow |= not np.isfinite(p.grad).all()
#- if not self.overflow:
#-     optimizer.step()
for p in parameters:
    if p.grad is not None:
        p.grad = p.grad / self.factor
        self.overflow |= not np.isfinite(p.grad).all()
    if not self.overflow:
        optimizer.step()

# %% grad-scaler mistake scaler-none: Fails for a parameter without a gradient.
#> .grad None
#- if p.grad is not None:
#-     p.grad = p.grad / self.factor
#-     self.overflow |= not np.isfinite(p.grad).all()
p.grad = p.grad / self.factor
self.overflow |= not np.isfinite(p.grad).all()

# %% grad-scaler mistake scaler-flag-kept: Never resets the flag of a skipped step.
#> reset the flag
#- self.overflow = False
pass

# %% grad-scaler mistake scaler-doubled-after-overflow: Doubles the factor after a skipped step.
#> it should halve it
#- self.factor *= 0.5
self.factor *= 2

# %% grad-scaler mistake scaler-never-halved: Does not change the factor after a skipped step.
#> should
#- self.factor *= 0.5
pass

# %% grad-scaler mistake scaler-count-kept-after-overflow: Keeps counting after a skipped step.
#> counting starts again at 0
#- self.good = 0 if self.overflow else self.good + 1
self.good += not self.overflow

# %% grad-scaler mistake scaler-skipped-counts: Counts skipped steps.
#> should
#- self.good = 0 if self.overflow else self.good + 1
self.good += 1

# %% grad-scaler mistake scaler-count-kept-after-growth: Keeps counting after a doubling.
#> The counter is not set back
#- self.factor, self.good = self.factor * 2, 0
self.factor = self.factor * 2

# %% grad-scaler mistake scaler-always-doubled-afterwards: Doubles after every step once the
# interval is reached.
#> Counting should start again
#- if self.overflow:
#-     self.factor *= 0.5
#- elif self.good == self.growth_interval:
#-     self.factor, self.good = self.factor * 2, 0
if self.overflow:
    self.factor *= 0.5
elif self.good >= self.growth_interval:
    self.factor = self.factor * 2

# %% grad-scaler mistake scaler-one-too-late: Doubles one step too late.
#> one step too late
#- if self.overflow:
#-     self.factor *= 0.5
#- elif self.good == self.growth_interval:
#-     self.factor, self.good = self.factor * 2, 0
if self.overflow:
    self.factor *= 0.5
elif self.good > self.growth_interval:
    self.factor, self.good = self.factor * 2, 0

# %% grad-scaler mistake scaler-fixed-interval: Ignores growth_interval.
#> should
#- if self.overflow:
#-     self.factor *= 0.5
#- elif self.good == self.growth_interval:
#-     self.factor, self.good = self.factor * 2, 0
if self.overflow:
    self.factor *= 0.5
elif self.good == 2000:
    self.factor, self.good = self.factor * 2, 0

# %% grad-scaler mistake scaler-halved-in-step: Halves the factor in step, too.
#> should
#- if not self.overflow:
#-     optimizer.step()
if self.overflow:
    self.factor *= 0.5
else:
    optimizer.step()

# %% grad-scaler right grad-scaler in place and a list: in place and a list
#- parameters = [p for group in optimizer.param_groups for p in group["params"]]
#- for p in parameters:
#-     if p.grad is not None:
#-         p.grad = p.grad / self.factor
#-         self.overflow |= not np.isfinite(p.grad).all()
#- if not self.overflow:
#-     optimizer.step()
finite = []
for group in optimizer.param_groups:
    for p in group["params"]:
        if p.grad is None:
            continue
        p.grad *= np.float32(1 / self.factor)
        finite.append(bool(np.isfinite(p.grad).all()))
if all(finite):
    optimizer.step()
else:
    self.overflow = True

# %% grad-scaler right grad-scaler two branches: two branches
#- self.good = 0 if self.overflow else self.good + 1
#- if self.overflow:
#-     self.factor *= 0.5
#- elif self.good == self.growth_interval:
#-     self.factor, self.good = self.factor * 2, 0
#- self.overflow = False
if self.overflow:
    self.factor, self.good, self.overflow = self.factor / 2, 0, False
    return
self.good += 1
if self.good >= self.growth_interval:
    self.good = 0
    self.factor *= 2

# %% buffers equivalent: max is symmetric.
#= `self.peak, self.used` -> `self.used, self.peak`

# %% gelu-into equivalent: A product of two numbers is symmetric.
#= `scratch, x` -> `x, scratch`

# %% gelu-fused equivalent: min is symmetric.
#= `block, x.size` -> `x.size, block`

# %% gelu-fused equivalent: NumPy takes every negative length for the unknown one.
#= `1` -> `2`

# %% ladder equivalent: Only the absolute difference counts.
#= `losses[name], losses[names[0]]` -> `losses[names[0]], losses[name]`

# %% shards equivalent: min is symmetric.
#= `n, len(x)` -> `len(x), n`

# %% data-parallel equivalent: min is symmetric.
#= `len(self.workers), len(x)` -> `len(x), len(self.workers)`

# %% data-parallel equivalent: The two numbers are multiplied.
#= `shares, losses` -> `losses, shares`

# %% data-parallel equivalent: The two are multiplied.
#= `shares, gradients` -> `gradients, shares`
