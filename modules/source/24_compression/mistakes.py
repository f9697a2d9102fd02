# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

# %% magnitude mistake magnitude-by-value: Ranks by value, not by absolute value.
#> compare absolute values
#- order = np.argsort(np.abs(w), axis=None)
order = np.argsort(w, axis=None)

# %% magnitude mistake magnitude-mask-inverted: Marks the removed weights with True.
#> True for those that remain
order = np.argsort(np.abs(w), axis=None)
mask = np.zeros(w.size, bool)
mask[order[: round(amount * w.size)]] = True
return mask.reshape(w.shape)

# %% magnitude mistake magnitude-largest: Removes the largest weights.
#> removes the largest
#- order = np.argsort(np.abs(w), axis=None)
order = np.argsort(-np.abs(w), axis=None)

# %% magnitude mistake magnitude-keeps-amount: Removes all but the share.
#> should
#- mask[order[: round(amount * w.size)]] = False
mask[order[round(amount * w.size) :]] = False

# %% magnitude mistake magnitude-threshold: Compares with a threshold, so that equal weights
# fall together.
#> a threshold cannot tell equal weights apart
count = round(amount * w.size)
if count == 0:
    return np.ones(w.shape, bool)
return np.abs(w) > np.sort(np.abs(w), axis=None)[count - 1]

# %% magnitude mistake magnitude-threshold-keeps: Compares with >=, so that too few of equal
# weights are removed.
#> a threshold cannot tell equal weights apart
count = round(amount * w.size)
if count == w.size:
    return np.zeros(w.shape, bool)
return np.abs(w) >= np.sort(np.abs(w), axis=None)[count]

# %% magnitude mistake magnitude-quantile: Takes a quantile as the threshold.
#> should remove exactly 2 of 4
#- order = np.argsort(np.abs(w), axis=None)
return np.abs(w) > np.quantile(np.abs(w), amount)
order = []

# %% magnitude mistake magnitude-truncated: Rounds the number of zeros down.
#> should be removed, yours removes
#- mask[order[: round(amount * w.size)]] = False
mask[order[: int(amount * w.size)]] = False

# %% magnitude mistake magnitude-rounded-up: Rounds the number of zeros up.
#> should be removed, yours removes
#- mask[order[: round(amount * w.size)]] = False
mask[order[: math.ceil(amount * w.size)]] = False

# %% magnitude mistake magnitude-per-row: Ranks each row.
#> Each row loses half
order = np.argsort(np.abs(w), axis=-1)
mask = np.ones(w.shape, bool)
np.put_along_axis(mask, order[..., : round(amount * w.shape[-1])], False, axis=-1)
return mask

# %% magnitude mistake magnitude-weights: Returns the pruned weights.
#> does not contain weights
#- return mask.reshape(w.shape)
return mask.reshape(w.shape) * w

# %% magnitude mistake magnitude-flat: Leaves the mask flat.
#> The mask has the shape of w
#- return mask.reshape(w.shape)
return mask

# %% magnitude mistake magnitude-floats: Makes a mask of 0.0 and 1.0.
#> array of bool, yours is float64
#- mask = np.ones(w.size, bool)
mask = np.ones(w.size)

# %% magnitude mistake magnitude-no-axis: Leaves axis=None out.
#> Without axis=None
#- order = np.argsort(np.abs(w), axis=None)
order = np.argsort(np.abs(w))

# %% magnitude mistake magnitude-writes-into-w: Replaces the numbers of w.
#> prune_magnitude changes its argument w
#- mask = np.ones(w.size, bool)
w.flat[order[: round(amount * w.size)]] = 0
mask = np.ones(w.size, bool)

# %% magnitude right: np.argpartition
count = round(amount * w.size)
mask = np.ones(w.shape, bool)
if count:
    smallest = np.argpartition(np.abs(w), count - 1, axis=None)[:count]
    mask[np.unravel_index(smallest, w.shape)] = False
return mask

# %% magnitude right: ranks, by sorting twice
size = np.abs(np.asarray(w)).ravel()
ranks = size.argsort(kind="stable").argsort()
return (ranks >= round(w.size * amount)).reshape(np.shape(w))

# %% magnitude right: Python's sorted
flat = [abs(float(number)) for number in w.ravel()]
places = sorted(range(len(flat)), key=flat.__getitem__)
removed = set(places[: int(round(amount * len(flat)))])
return np.array([i not in removed for i in range(len(flat))], bool).reshape(w.shape)

# %% global mistake cut-by-sorted-paths: Joins the scores in the order of sorted paths.
#> '10' comes after '9'
flat = np.concatenate([np.ravel(scores[p]) for p in sorted(scores)])
mask, out, at = prune_magnitude(flat, amount), {}, 0
for p in scores:
    n = np.size(scores[p])
    out[p] = mask[at:at + n].reshape(np.shape(scores[p]))
    at += n
return out

# %% global mistake global-per-matrix: Prunes each matrix by the same share.
#> Rank all weights in one long array
return {path: prune_magnitude(s, amount) for path, s in scores.items()}

# %% global mistake global-ignores-saliency: Ranks the weights, not the scores.
#> not by the saliency
#- mask = prune_magnitude(np.concatenate([s.ravel() for s in scores.values()]), amount)
mask = prune_magnitude(np.concatenate([w.ravel() for w in matrices(model).values()]), amount)

# %% global mistake global-same-piece: Gives each matrix the beginning of the mask.
#> Both matrices get the first part of the mask
mask = prune_magnitude(np.concatenate([s.ravel() for s in scores.values()]), amount)
return {path: mask[: s.size].reshape(s.shape) for path, s in scores.items()}

# %% global mistake global-from-the-end: Cuts the pieces from the end.
#> its own piece
mask = prune_magnitude(np.concatenate([s.ravel() for s in scores.values()]), amount)
masks, end = {}, mask.size
for path, s in scores.items():
    masks[path] = mask[end - s.size : end].reshape(s.shape)
    end -= s.size
return masks

# %% global mistake global-flat-masks: Leaves the masks flat.
#> The mask has the shape of w
#- return {path: mask[end - s.size : end].reshape(s.shape)
#-         for (path, s), end in zip(scores.items(), ends)}
return {path: mask[end - s.size : end] 
        for (path, s), end in zip(scores.items(), ends)}

# %% global mistake global-transposed: Reads the matrices by columns.
#> its own piece
#- mask = prune_magnitude(np.concatenate([s.ravel() for s in scores.values()]), amount)
mask = prune_magnitude(np.concatenate([s.ravel(order='F') for s in scores.values()]), amount)

# %% global mistake global-not-flat: Joins matrices of different shapes.
#> make each array of scores flat first
#- mask = prune_magnitude(np.concatenate([s.ravel() for s in scores.values()]), amount)
mask = prune_magnitude(np.concatenate([s for s in scores.values()]), amount)

# %% global mistake global-split-by-sizes: Splits the mask at the sizes instead of the ends.
#> Add up the sizes
joined = np.concatenate([s.ravel() for s in scores.values()])
parts = np.split(prune_magnitude(joined, amount), [s.size for s in scores.values()])
return {path: part.reshape(s.shape) for (path, s), part in zip(scores.items(), parts)}

# %% global mistake global-writes: Also sets the weights to 0.
#> Return masks only
mask = prune_magnitude(np.concatenate([s.ravel() for s in scores.values()]), amount)
masks, end = {}, 0
for path, w in matrices(model).items():
    masks[path] = mask[end : end + w.size].reshape(w.shape)
    w *= masks[path]
    end += w.size
return masks

# %% global mistake global-list: Returns a list of masks.
#> should be a dict
mask = prune_magnitude(np.concatenate([s.ravel() for s in scores.values()]), amount)
masks, end = [], 0
for s in scores.values():
    masks.append(mask[end : end + s.size].reshape(s.shape))
    end += s.size
return masks

# %% global mistake global-threshold: Compares every matrix with one threshold.
#> Call prune_magnitude once
joined = np.sort(np.abs(np.concatenate([s.ravel() for s in scores.values()])))
limit = np.append(joined, np.inf)[round(amount * joined.size)]
return {path: np.abs(s) >= limit for path, s in scores.items()}

# %% global mistake global-signed: Ranks signed scores.
#> absolute values
#- mask = prune_magnitude(np.concatenate([s.ravel() for s in scores.values()]), amount)
joined = np.concatenate([s.ravel() for s in scores.values()])
mask = prune_magnitude(joined - joined.min(), amount)

# %% global mistake global-biases: Ranks the biases, too.
#> one mask for each matrix
named = dict(model.named_parameters())
mask = prune_magnitude(np.concatenate([p.data.ravel() for p in named.values()]), amount)
ends = np.cumsum([p.size for p in named.values()])
return {path: mask[end - p.size : end].reshape(p.shape)
        for (path, p), end in zip(named.items(), ends)}

# %% global mistake global-amount-per-matrix: Divides the amount by the number of matrices.
#> should
#- mask = prune_magnitude(np.concatenate([s.ravel() for s in scores.values()]), amount)
mask = prune_magnitude(np.concatenate([s.ravel() for s in scores.values()]), amount / len(scores))

# %% global right: np.split
joined = np.concatenate([s.reshape(-1) for s in scores.values()])
cuts = np.cumsum([s.size for s in scores.values()])[:-1]
parts = np.split(prune_magnitude(joined, amount), cuts)
return {path: part.reshape(scores[path].shape) for path, part in zip(scores, parts)}

# %% global right: a loop with the place where the next piece begins
mask = prune_magnitude(np.hstack([np.ravel(s) for s in scores.values()]), amount)
masks, start = {}, 0
for path, s in scores.items():
    masks[path] = mask[start : start + s.size].reshape(s.shape)
    start = start + s.size
return masks

# %% stored-bytes mistake stored-positive: Counts positive numbers only.
#> negative ones too
#- nonzero = int(np.count_nonzero(w))
nonzero = int((w > 0).sum())

# %% stored-bytes mistake stored-mask-bytes: Stores a byte for each number of the mask.
#> 8 of them fit into a byte
nonzero = int(np.count_nonzero(w))
place = 2 if w.size <= 65536 else 4
return {"dense": w.nbytes, "mask": nonzero * w.itemsize + w.size,
        "index": nonzero * (w.itemsize + place)}

# %% stored-bytes mistake stored-rounded-down: Rounds the bytes of the mask down.
#> rounded up to a whole byte
nonzero = int(np.count_nonzero(w))
place = 2 if w.size <= 65536 else 4
return {"dense": w.nbytes, "mask": nonzero * w.itemsize + w.size // 8,
        "index": nonzero * (w.itemsize + place)}

# %% stored-bytes mistake stored-one-more: Adds a byte to the mask even when its bits fill whole
# bytes.
#> One bit each, rounded up
nonzero = int(np.count_nonzero(w))
place = 2 if w.size <= 65536 else 4
return {"dense": w.nbytes, "mask": nonzero * w.itemsize + w.size // 8 + 1,
        "index": nonzero * (w.itemsize + place)}

# %% stored-bytes mistake stored-bits-exact: Keeps fractions of bytes.
#> should be an int
nonzero = int(np.count_nonzero(w))
place = 2 if w.size <= 65536 else 4
return {"dense": w.nbytes, "mask": nonzero * w.itemsize + w.size / 8,
        "index": nonzero * (w.itemsize + place)}

# %% stored-bytes mistake stored-float: Rounds with np.ceil, which gives a float.
#> should be an int
nonzero = int(np.count_nonzero(w))
place = 2 if w.size <= 65536 else 4
return {"dense": w.nbytes, "mask": nonzero * w.itemsize + np.ceil(w.size / 8),
        "index": nonzero * (w.itemsize + place)}

# %% stored-bytes mistake stored-place-per-number: Stores a place for every number.
#> a place of 2 bytes for each
nonzero = int(np.count_nonzero(w))
place = 2 if w.size <= 65536 else 4
return {"dense": w.nbytes, "mask": nonzero * w.itemsize + (w.size + 7) // 8,
        "index": nonzero * w.itemsize + place * w.size}

# %% stored-bytes mistake stored-one-place: Stores one place only.
#> a place of 2 bytes for each
nonzero = int(np.count_nonzero(w))
place = 2 if w.size <= 65536 else 4
return {"dense": w.nbytes, "mask": nonzero * w.itemsize + (w.size + 7) // 8,
        "index": nonzero * w.itemsize + place}

# %% stored-bytes mistake stored-place-4: Always uses places of 4 bytes.
#> a place of 2 bytes for each
#- place = 2 if w.size <= 65536 else 4
place = 4

# %% stored-bytes mistake stored-place-2: Always uses places of 2 bytes.
#> does not fit into 2 bytes
#- place = 2 if w.size <= 65536 else 4
place = 2

# %% stored-bytes mistake stored-place-boundary: Takes 65,536 numbers for too many.
#> so they are enough for 65,536
#- place = 2 if w.size <= 65536 else 4
place = 2 if w.size < 65536 else 4

# %% stored-bytes mistake stored-place-by-nonzeros: Decides by the number of nonzeros.
#> The size of `w` decides
#- place = 2 if w.size <= 65536 else 4
place = 2 if nonzero <= 65536 else 4

# %% stored-bytes mistake stored-four-bytes: Assumes 4 bytes for each number.
#> use w.itemsize
nonzero = int(np.count_nonzero(w))
place = 2 if w.size <= 65536 else 4
return {"dense": w.nbytes, "mask": nonzero * 4 + (w.size + 7) // 8,
        "index": nonzero * (w.itemsize + place)}

# %% stored-bytes mistake stored-dense-nonzero: Counts only the nonzero numbers as dense.
#> zeros as well
nonzero = int(np.count_nonzero(w))
place = 2 if w.size <= 65536 else 4
return {"dense": nonzero * w.itemsize, "mask": nonzero * w.itemsize + (w.size + 7) // 8,
        "index": nonzero * (w.itemsize + place)}

# %% stored-bytes mistake stored-zeros: Counts the zeros.
#> Two numbers
#- nonzero = int(np.count_nonzero(w))
nonzero = int((w == 0).sum())

# %% stored-bytes mistake stored-smallest: Returns only the smallest number.
#> should be a dict
nonzero = np.count_nonzero(w)
place = 2 if w.size <= 65536 else 4
return min(w.nbytes, nonzero * w.itemsize + (w.size + 7) // 8, nonzero * (w.itemsize + place))

# %% stored-bytes right: packs the mask and looks at the arrays
values = w[w != 0]
places = np.zeros(values.size, "uint16" if w.size <= 2**16 else "uint32")
return {"dense": w.size * w.itemsize, "mask": values.nbytes + np.packbits(w != 0).nbytes,
        "index": values.nbytes + places.nbytes}

# %% stored-bytes right: math.ceil
count, size = int((w != 0).sum()), w.dtype.itemsize
sizes = {"dense": size * w.size}
sizes["index"] = count * size + count * (4 if w.size > 65536 else 2)
sizes["mask"] = count * size + math.ceil(w.size / 8)
return sizes

# %% mask mistake mask-inverted: Sets the kept weights to 0.
#> False marks the weights that become 0
#- p.data[~mask] = 0
p.data[mask] = 0

# %% mask mistake mask-new-array: Gives the parameter a new array.
#> Write into p.data
#- p.data[~mask] = 0
p.data = p.data * mask

# %% mask mistake mask-not-written: Computes the product and drops it.
#> The weights did not change
#- p.data[~mask] = 0
p.data * mask

# %% mask mistake mask-not-attached: Forgets to replace optimizer.step.
#> Replace optimizer.step
#- optimizer.step = masked_step
pass

# %% mask mistake mask-no-step: Forgets the original step.
#> must call the original step
#- step()

# %% mask mistake mask-before-step: Applies the masks before the step.
#> after step 1 the removed weights
#- step()
#- self.apply()
self.apply()
step()

# %% mask mistake mask-twice: Steps twice.
#> runs twice
#- step()
#- self.apply()
step()
self.apply()
step()
self.apply()

# %% mask mistake mask-not-now: Does not apply the masks in attach.
#> right after attach()
#- self.apply()
#- return self
return self

# %% mask mistake mask-returns-none: Returns nothing.
#> should return the Mask itself
#- return self
pass

# %% mask mistake mask-returns-optimizer: Returns the optimizer.
#> should return the Mask itself
#- return self
return optimizer

# %% mask mistake mask-class-step: Calls the step of the class.
#> not type(optimizer).step
#- step = optimizer.step
step = lambda: type(optimizer).step(optimizer)

# %% mask mistake mask-only-once: Restores the original step after the first.
#> after step 2 the removed weights
#- step()
#- self.apply()
step()
self.apply()
optimizer.step = step

# %% mask mistake mask-gradients-only: Sets the gradients to 0, not the weights.
#> the removed weights should still be 0
#- step()
#- self.apply()
for p, mask in self.pairs:
    p.grad[~mask] = 0
step()

# %% mask right: multiplies in place, and a lambda
#- p.data[~mask] = 0
p.data *= mask

# %% mask right: np.copyto, and a def with another order
#- p.data[~mask] = 0
np.copyto(p.data, 0, where=np.logical_not(mask))

# %% mask right: applies first, and accepts arguments
#- def masked_step():
#-     step()
#-     self.apply()
#-
#- optimizer.step = masked_step
#- self.apply()
self.apply()

def masked_step(*given, **options):
    result = step(*given, **options)
    self.apply()
    return result

setattr(optimizer, "step", masked_step)

# %% obd mistake obd-no-half: Leaves out the half.
#> half of h w²
#- scores = diagonal.data * w.data**2 / 2
scores = diagonal.data * w.data**2

# %% obd mistake obd-not-squared: Multiplies by the weight, not by its square.
#> has to be squared
#- scores = diagonal.data * w.data**2 / 2
scores = diagonal.data * w.data / 2

# %% obd mistake obd-absolute: Multiplies by the absolute weight.
#> h |w| / 2
#- scores = diagonal.data * w.data**2 / 2
scores = diagonal.data * abs(w.data) / 2

# %% obd mistake obd-diagonal: Returns the diagonal.
#> w² / 2 is missing
#- scores = diagonal.data * w.data**2 / 2
scores = diagonal.data

# %% obd mistake obd-half-diagonal: Leaves out the weight.
#> the weight is missing
#- scores = diagonal.data * w.data**2 / 2
scores = diagonal.data / 2

# %% obd mistake obd-model: Runs the model with its own parameters.
#> functional_call(model, vector, x)
#- return loss(functional_call(model, vector, x))
return loss(model(x))

# %% obd mistake obd-own-vector: Runs the model with w instead of the argument.
#> functional_call(model, vector, x)
#- return loss(functional_call(model, vector, x))
return loss(functional_call(model, w, x))

# %% obd mistake obd-no-loss: Leaves the loss out.
#> one number
#- return loss(functional_call(model, vector, x))
return functional_call(model, vector, x)

# %% obd mistake obd-own-loss: Uses another loss.
#> `loss` of the arguments is not used
#- return loss(functional_call(model, vector, x))
out = functional_call(model, vector, x)
return (out * out).sum()

# %% obd mistake obd-trace: Takes the trace.
#> This is the trace
#- _, diagonal = hutchinson(lambda v: hvp(f, w, v), w, probes, rng)
#- scores = diagonal.data * w.data**2 / 2
trace, _ = hutchinson(lambda v: hvp(f, w, v), w, probes, rng)
scores = trace * w.data**2 / 2

# %% obd mistake obd-divided-again: Divides by the number of probes again.
#> number of probes already
#- scores = diagonal.data * w.data**2 / 2
scores = diagonal.data * w.data**2 / 2 / probes

# %% obd mistake obd-one-probe: Always uses one generator.
#> give the argument `rng`
#- _, diagonal = hutchinson(lambda v: hvp(f, w, v), w, probes, rng)
_, diagonal = hutchinson(lambda v: hvp(f, w, v), w, probes, np.random.default_rng(0))

# %% obd mistake obd-gradient: Uses the squared gradient for h.
#> the saliency
#- _, diagonal = hutchinson(lambda v: hvp(f, w, v), w, probes, rng)
#- scores = diagonal.data * w.data**2 / 2
from tinytorch.core.differentiation import vjp
g = vjp(f, w)[1](1.0)[0]
scores = g.data**2 * w.data**2 / 2

# %% obd mistake obd-taylor: Adds the gradient term.
#> the saliency
#- scores = diagonal.data * w.data**2 / 2
from tinytorch.core.differentiation import vjp
g = vjp(f, w)[1](1.0)[0]
scores = diagonal.data * w.data**2 / 2 - g.data * w.data

# %% obd mistake obd-abs-of-estimates: Takes absolute values of the estimates.
#> do not take absolute values
#- scores = diagonal.data * w.data**2 / 2
scores = np.abs(diagonal.data) * w.data**2 / 2

# %% obd mistake obd-clips-estimates: Replaces negative estimates by 0.
#> do not replace it by 0
#- scores = diagonal.data * w.data**2 / 2
scores = np.maximum(diagonal.data, 0) * w.data**2 / 2

# %% obd mistake obd-pair: Takes the pair of hutchinson for the diagonal.
#> returns two results
#- _, diagonal = hutchinson(lambda v: hvp(f, w, v), w, probes, rng)
#- scores = diagonal.data * w.data**2 / 2
diagonal = hutchinson(lambda v: hvp(f, w, v), w, probes, rng)
scores = diagonal * w.data**2 / 2

# %% obd mistake obd-changes-model: Loads the vector into the model.
#> changed
#- scores = diagonal.data * w.data**2 / 2
scores = diagonal.data * w.data**2 / 2
for p in model.parameters():
    p.data[...] = 0

# %% obd right: lambdas, and Tensors to the end
of_vector = lambda vector: loss(functional_call(model, vector, x))
estimate = hutchinson(lambda v: hvp(of_vector, w, v), like=w, probes=probes, rng=rng)
scores = (0.5 * w * w * estimate[1]).data

# %% obd right: its own loop over probes
def compute(vector):
    out = functional_call(model, vector, x)
    return loss(out)

products = []
for _ in range(probes):
    z = (rng.integers(0, 2, w.shape) * 2 - 1).astype(w.dtype)
    products.append(z * hvp(compute, w, Tensor(z)).data)
scores = np.mean(products, axis=0) * np.square(w.data) * 0.5

# %% obs mistake obs-magnitude: Chooses by magnitude.
#> The smallest weight is removed
#- mask = prune_magnitude(w**2 / np.diag(np.linalg.inv(h))[:, None], amount)
mask = prune_magnitude(w, amount)

# %% obs mistake obs-multiplied: Multiplies by the diagonal of the inverse.
#> this multiplies
#- mask = prune_magnitude(w**2 / np.diag(np.linalg.inv(h))[:, None], amount)
mask = prune_magnitude(w**2 * np.diag(np.linalg.inv(h))[:, None], amount)

# %% obs mistake obs-no-inverse: Divides by the diagonal of H.
#> take the diagonal of its inverse
#- mask = prune_magnitude(w**2 / np.diag(np.linalg.inv(h))[:, None], amount)
mask = prune_magnitude(w**2 / np.diag(h)[:, None], amount)

# %% obs mistake obs-obd: Uses the saliency of OBD.
#> This is the saliency of OBD
#- mask = prune_magnitude(w**2 / np.diag(np.linalg.inv(h))[:, None], amount)
mask = prune_magnitude(w**2 * np.diag(h)[:, None], amount)

# %% obs mistake obs-inverse-of-diagonal: Inverts the diagonal, entry by entry.
#> This is the saliency of OBD
#- mask = prune_magnitude(w**2 / np.diag(np.linalg.inv(h))[:, None], amount)
mask = prune_magnitude(w**2 / (1 / np.diag(h))[:, None], amount)

# %% obs mistake obs-not-moved: Does not move the other weights.
#> did not move
#- out[keep, column] = np.linalg.solve(h[np.ix_(keep, keep)], target[keep, column])
out[keep, column] = w[keep, column]

# %% obs mistake obs-target-pruned: Computes the target from the pruned weights.
#> computed with the original column
#- target, out = h @ w, np.zeros(w.shape)
target, out = h @ (w * mask), np.zeros(w.shape)

# %% obs mistake obs-per-column: Removes the same number from each column.
#> Each column loses half
#- mask = prune_magnitude(w**2 / np.diag(np.linalg.inv(h))[:, None], amount)
scores = w**2 / np.diag(np.linalg.inv(h))[:, None]
mask = np.stack([prune_magnitude(s, amount) for s in scores.T], axis=1)

# %% obs mistake obs-first-mask: Uses the mask of the first column for all.
#> mask of another column
#- keep = mask[:, column]
keep = mask[:, 0]

# %% obs mistake obs-not-squared: Does not square the weights.
#> should be squared
#- mask = prune_magnitude(w**2 / np.diag(np.linalg.inv(h))[:, None], amount)
mask = prune_magnitude(abs(w) / np.diag(np.linalg.inv(h))[:, None], amount)

# %% obs mistake obs-inverse-submatrix: Takes the submatrix of the inverse.
#> should be
#- out[keep, column] = np.linalg.solve(h[np.ix_(keep, keep)], target[keep, column])
out[keep, column] = np.linalg.inv(h)[np.ix_(keep, keep)] @ target[keep, column]

# %% obs mistake obs-target-w: Solves for the weights instead of H w.
#> should be
#- target, out = h @ w, np.zeros(w.shape)
target, out = w, np.zeros(w.shape)

# %% obs mistake obs-ix: Indexes H with two masks at once.
#> raises
#- out[keep, column] = np.linalg.solve(h[np.ix_(keep, keep)], target[keep, column])
out[keep, column] = np.linalg.solve(h[keep, keep], target[keep, column])

# %% obs mistake obs-axis: Divides the columns instead of the rows.
#> raises
#- mask = prune_magnitude(w**2 / np.diag(np.linalg.inv(h))[:, None], amount)
mask = prune_magnitude(w**2 / np.diag(np.linalg.inv(h)), amount)

# %% obs mistake obs-writes-w: Writes into w.
#> changed `w` or `x`
#- target, out = h @ w, np.zeros(w.shape)
target, out = h @ w, w
out[~mask] = 0

# %% obs mistake obs-kept-inverted: Keeps the removed weights.
#> should be
#- keep = mask[:, column]
keep = ~mask[:, column]

# %% obs right: the inverse of each submatrix
inverse = np.linalg.inv(h)
scores = np.square(w) / inverse.diagonal().reshape(-1, 1)
mask = prune_magnitude(scores, amount)
out = np.zeros(w.shape)
for j in range(w.shape[1]):
    rows = np.flatnonzero(mask[:, j])
    if len(rows):
        out[rows, j] = np.linalg.inv(h[rows][:, rows]) @ (h[rows] @ w[:, j])

# %% obs right: the correction of the optimal brain surgeon, column by column
g = np.linalg.inv(h)
mask = prune_magnitude(w * w / np.diagonal(g)[:, np.newaxis], amount)
out = np.array(w, "float64")
for j, keep in enumerate(mask.T):
    gone = ~keep
    if gone.any():
        out[:, j] -= g[:, gone] @ np.linalg.solve(g[np.ix_(gone, gone)], out[gone, j])
        out[gone, j] = 0.0

# %% neurons mistake neurons-bias-whole: Keeps the whole bias of the first layer.
#> cut the bias of the first layer
#- bias = None if first.bias is None else first.bias.data[keep]
bias = None if first.bias is None else first.bias.data

# %% neurons mistake neurons-first-bias-prefix: Cuts the bias to its first entries.
#> cut with other neurons
#- bias = None if first.bias is None else first.bias.data[keep]
bias = None if first.bias is None else first.bias.data[: len(keep)]

# %% neurons mistake neurons-rows-of-first: Takes rows of the first matrix.
#> *column* of the first matrix
bias = None if first.bias is None else first.bias.data[keep]
return (dense_of(first.weights.data[keep], bias),
        dense_of(second.weights.data[keep], data(second.bias)))

# %% neurons mistake neurons-columns-of-second: Takes columns of the second matrix.
#> *row* of the second
bias = None if first.bias is None else first.bias.data[keep]
return (dense_of(first.weights.data[:, keep], bias),
        dense_of(second.weights.data[:, keep], data(second.bias)))

# %% neurons mistake neurons-sorted: Sorts the neurons.
#> in the order of `keep`
#- bias = None if first.bias is None else first.bias.data[keep]
keep = sorted(keep)
bias = None if first.bias is None else first.bias.data[keep]

# %% neurons mistake neurons-removes: Removes the listed neurons.
#> should
#- bias = None if first.bias is None else first.bias.data[keep]
gone = set(int(k) for k in keep)
keep = [k for k in range(first.out_features) if k not in gone]
bias = None if first.bias is None else first.bias.data[keep]

# %% neurons mistake neurons-no-first-bias: Drops the first bias.
#> should
return (dense_of(first.weights.data[:, keep]),
        dense_of(second.weights.data[keep], data(second.bias)))

# %% neurons mistake neurons-no-second-bias: Drops the second bias.
#> should
bias = None if first.bias is None else first.bias.data[keep]
return (dense_of(first.weights.data[:, keep], bias),
        dense_of(second.weights.data[keep]))

# %% neurons mistake neurons-none-indexed: Indexes a bias of None.
#> yours raises
#- bias = None if first.bias is None else first.bias.data[keep]
bias = first.bias.data[keep]

# %% neurons mistake neurons-second-none: Takes the data of a second bias of None.
#> yours raises
bias = None if first.bias is None else first.bias.data[keep]
return (dense_of(first.weights.data[:, keep], bias),
        dense_of(second.weights.data[keep], second.bias.data))

# %% neurons mistake neurons-in-place: Changes the given layers.
#> the given layers change
from tinytorch.core.tensor import Variable as V
first.weights.data, second.weights.data = first.weights.data[:, keep], second.weights.data[keep]
if first.bias is not None:
    first.bias.data = first.bias.data[keep]
first.out_features = second.in_features = len(keep)
return first, second

# %% neurons mistake neurons-zeros: Only sets neurons to 0.
#> inputs and outputs
gone = [k for k in range(first.out_features) if k not in list(keep)]
w1, w2 = first.weights.data.copy(), second.weights.data.copy()
w1[:, gone] = 0
w2[gone] = 0
return dense_of(w1, data(first.bias)), dense_of(w2, data(second.bias))

# %% neurons mistake neurons-first-only: Prunes the first layer only.
#> inputs and outputs
bias = None if first.bias is None else first.bias.data[keep]
return dense_of(first.weights.data[:, keep], bias), dense_of(second.weights.data, data(second.bias))

# %% neurons mistake neurons-sequential: Returns a Sequential.
#> two layers, (first, second)
bias = None if first.bias is None else first.bias.data[keep]
return Sequential(dense_of(first.weights.data[:, keep], bias),
                  dense_of(second.weights.data[keep], data(second.bias)))

# %% neurons right: Dense layers that are filled
n = len(keep)
one = Dense(first.in_features, n, bias=first.bias is not None)
two = Dense(n, second.out_features, bias=second.bias is not None)
one.weights.data[...] = first.weights.data[:, list(keep)]
two.weights.data[...] = second.weights.data[list(keep), :]
if first.bias is not None:
    one.bias.data[...] = first.bias.data[list(keep)]
if second.bias is not None:
    two.bias.data[...] = second.bias.data
return one, two

# %% neurons right: np.take
w1, w2 = np.take(first.weights.data, keep, axis=1), np.take(second.weights.data, keep, axis=0)
b1 = first.bias
if b1 is not None:
    b1 = np.take(b1.data, keep)
return dense_of(w1, b1), dense_of(w2, data(second.bias))

# %% low-rank mistake rank-values-twice: Multiplies both factors by the singular values.
#> in both factors
u, s, vt = np.linalg.svd(dense.weights.data, full_matrices=False)
return Sequential(dense_of(u[:, :rank] * s[:rank]), dense_of((s[:, None] * vt)[:rank], bias))

# %% low-rank mistake rank-values-missing: Leaves the singular values out.
#> The singular values are missing
u, s, vt = np.linalg.svd(dense.weights.data, full_matrices=False)
return Sequential(dense_of(u[:, :rank]), dense_of(vt[:rank], bias))

# %% low-rank mistake rank-root-once: Puts roots into one factor only.
#> The roots of the singular values
u, s, vt = np.linalg.svd(dense.weights.data, full_matrices=False)
return Sequential(dense_of(u[:, :rank] * np.sqrt(s[:rank])), dense_of(vt[:rank], bias))

# %% low-rank mistake rank-smallest: Keeps the smallest singular values.
#> keep the first ones
u, s, vt = np.linalg.svd(dense.weights.data, full_matrices=False)
return Sequential(dense_of(u[:, -rank:] * s[-rank:]), dense_of(vt[-rank:], bias))

# %% low-rank mistake rank-vt-transposed: Transposes V^T again.
#> These are rows of V
u, s, vt = np.linalg.svd(dense.weights.data, full_matrices=False)
return Sequential(dense_of(u[:, :rank] * s[:rank]), dense_of(np.ascontiguousarray(vt.T)[:rank], bias))

# %% low-rank mistake rank-columns-of-vt: Cuts the columns of V^T.
#> the second (rank, out)
u, s, vt = np.linalg.svd(dense.weights.data, full_matrices=False)
return Sequential(dense_of(u[:, :rank] * s[:rank]), dense_of(vt[:, :rank], bias))

# %% low-rank mistake rank-not-cut: Keeps all singular values.
#> Take `rank` columns
u, s, vt = np.linalg.svd(dense.weights.data, full_matrices=False)
return Sequential(dense_of(u * s), dense_of(vt, bias))

# %% low-rank mistake rank-zeroed: Sets singular values to 0 without cutting.
#> Take `rank` columns
u, s, vt = np.linalg.svd(dense.weights.data, full_matrices=False)
s[rank:] = 0
return Sequential(dense_of(u * s), dense_of(vt, bias))

# %% low-rank mistake rank-bias-lost: Leaves the bias out.
#> should have the bias of the given one
u, s, vt = np.linalg.svd(dense.weights.data, full_matrices=False)
return Sequential(dense_of(u[:, :rank] * s[:rank]), dense_of(vt[:rank]))

# %% low-rank mistake rank-bias-always: Gives the first layer a bias.
#> the first layer should have no bias
u, s, vt = np.linalg.svd(dense.weights.data, full_matrices=False)
zeros = np.zeros(rank, np.float32)
return Sequential(dense_of(u[:, :rank] * s[:rank], zeros), dense_of(vt[:rank], bias))

# %% low-rank mistake rank-second-bias-always: Gives the second layer a bias of 0 when there is
# none.
#> so the second one should have none
u, s, vt = np.linalg.svd(dense.weights.data, full_matrices=False)
if bias is None:
    bias = np.zeros(dense.out_features, np.float32)
return Sequential(dense_of(u[:, :rank] * s[:rank]), dense_of(vt[:rank], bias))

# %% low-rank mistake rank-squared: Multiplies by the squares of the singular values.
#> in both factors
u, s, vt = np.linalg.svd(dense.weights.data, full_matrices=False)
return Sequential(dense_of(u[:, :rank] * s[:rank] ** 2), dense_of(vt[:rank], bias))

# %% low-rank mistake rank-full-matrices: Leaves full_matrices=False out.
#> full_matrices=False
u, s, vt = np.linalg.svd(dense.weights.data)
return Sequential(dense_of((u * s)[:, :rank]), dense_of(vt[:rank], bias))

# %% low-rank mistake rank-in-place: Changes the given layer.
#> the given layer changed
u, s, vt = np.linalg.svd(dense.weights.data, full_matrices=False)
dense.weights.data[...] = (u[:, :rank] * s[:rank]) @ vt[:rank]
return Sequential(dense_of(u[:, :rank] * s[:rank]), dense_of(vt[:rank], bias))

# %% low-rank right: roots in both factors
u, s, vt = np.linalg.svd(dense.weights.data, full_matrices=False)
root = np.sqrt(s[:rank])
first = dense_of(u[:, :rank] * root)
second = dense_of(root[:, None] * vt[:rank], bias)
return Sequential(first, second)

# %% low-rank right: values in the second factor
u, s, vt = np.linalg.svd(dense.weights.data)
return Sequential(dense_of(u[:, :rank]), dense_of(np.diag(s[:rank]) @ vt[:rank, :], bias))

# %% lora mistake lora-b-random: Begins with random numbers in B.
#> B must begin with zeros
#- self.A, self.B = Variable(a), Variable(np.zeros((rank, outputs), np.float32))
self.A, self.B = Variable(a), Variable(generator(rng).normal(0, 1, (rank, outputs)).astype(np.float32))

# %% lora mistake lora-both-zero: Begins with zeros in A, too.
#> neither gets a gradient
#- self.A, self.B = Variable(a), Variable(np.zeros((rank, outputs), np.float32))
self.A, self.B = Variable(a * 0), Variable(np.zeros((rank, outputs), np.float32))

# %% lora mistake lora-a-scaled: Divides A again.
#> use the given `a` as it is
#- self.A, self.B = Variable(a), Variable(np.zeros((rank, outputs), np.float32))
self.A, self.B = Variable(a / np.float32(rank)), Variable(np.zeros((rank, outputs), np.float32))

# %% lora mistake lora-dense-kept: Stores the layer itself.
#> Only A (in, rank) and B (rank, out) are trained
#- self.weights = dense.weights.detach()
self.dense, self.weights = dense, dense.weights.detach()

# %% lora mistake lora-weights-trained: Keeps W as a parameter.
#> Only A (in, rank) and B (rank, out) are trained
#- self.weights = dense.weights.detach()
self.weights = dense.weights

# %% lora mistake lora-bias-trained: Keeps the bias as a parameter.
#> Only A (in, rank) and B (rank, out) are trained
#- self.bias = None if dense.bias is None else dense.bias.detach()
self.bias = dense.bias

# %% lora mistake lora-freezes-layer: Freezes the given layer.
#> the given layer changed
#- self.weights = dense.weights.detach()
dense.requires_grad_(False)
self.weights = dense.weights.detach()

# %% lora mistake lora-no-rank: Multiplies by alpha only.
#> not by alpha / rank
#- self.scale = alpha / rank
self.scale = alpha

# %% lora mistake lora-no-scale: Leaves alpha / rank out.
#> alpha / rank is missing
#- self.scale = alpha / rank
self.scale = 1.0

# %% lora mistake lora-no-alpha: Leaves alpha out.
#> alpha is missing
#- self.scale = alpha / rank
self.scale = 1 / rank

# %% lora mistake lora-times-rank: Multiplies by the rank.
#> This is alpha * rank
#- self.scale = alpha / rank
self.scale = alpha * rank

# %% lora mistake lora-scaled-output: Scales the whole output.
#> belongs to x A B only
#- return linear(x, self.weights, self.bias) + self.scale * (x @ self.A @ self.B)
return self.scale * (linear(x, self.weights, self.bias) + x @ self.A @ self.B)

# %% lora mistake lora-replaces: Leaves x W out.
#> should be
#- return linear(x, self.weights, self.bias) + self.scale * (x @ self.A @ self.B)
return self.scale * (x @ self.A @ self.B)

# %% lora mistake lora-no-bias: Leaves the bias out.
#> should be
#- return linear(x, self.weights, self.bias) + self.scale * (x @ self.A @ self.B)
return linear(x, self.weights) + self.scale * (x @ self.A @ self.B)

# %% lora mistake lora-data: Computes with .data.
#> not with .data
#- return linear(x, self.weights, self.bias) + self.scale * (x @ self.A @ self.B)
return linear(x, self.weights, self.bias) + self.scale * (x @ Tensor(self.A.data @ self.B.data))

# %% lora mistake lora-merge-no-scale: Merges without alpha / rank.
#> missing in merge()
#- return dense_of(self.weights.data + self.scale * (self.A.data @ self.B.data), bias)
return dense_of(self.weights.data + self.A.data @ self.B.data, bias)

# %% lora mistake lora-merge-in-place: Adds the product to the weights of the LoRA.
#> Return a new layer
#- return dense_of(self.weights.data + self.scale * (self.A.data @ self.B.data), bias)
self.weights.data += self.scale * (self.A.data @ self.B.data)
return dense_of(self.weights.data, bias)

# %% lora mistake lora-merge-no-bias: Merges without the bias.
#> The bias is missing in merge()
#- bias = None if self.bias is None else self.bias.data
bias = None if self.bias is None else 0 * self.bias.data

# %% lora mistake lora-merge-forgets: Merges without A B.
#> A B is missing in merge()
#- return dense_of(self.weights.data + self.scale * (self.A.data @ self.B.data), bias)
return dense_of(self.weights.data, bias)

# %% lora mistake lora-shapes-exchanged: Exchanges the shapes of A and B.
#> yours raises
#- self.A, self.B = Variable(a), Variable(np.zeros((rank, outputs), np.float32))
self.A, self.B = Variable(a.T), Variable(np.zeros((outputs, rank), np.float32))

# %% lora mistake lora-none-bias: Detaches a bias of None.
#> yours raises
#- self.bias = None if dense.bias is None else dense.bias.detach()
self.bias = dense.bias.detach()

# %% lora mistake lora-float64: Makes B float64.
#> the dtypes of A and B
#- self.A, self.B = Variable(a), Variable(np.zeros((rank, outputs), np.float32))
self.A, self.B = Variable(a), Variable(np.zeros((rank, outputs)))

# %% lora right: frozen copy of the layer
#- self.weights = dense.weights.detach()
#- self.bias = None if dense.bias is None else dense.bias.detach()
#- self.A, self.B = Variable(a), Variable(np.zeros((rank, outputs), np.float32))
self.weights = Tensor(dense.weights.data.copy())
self.bias = dense.bias
if self.bias is not None:
    self.bias = Tensor(dense.bias.data.copy())
self.A = Variable(a)
self.B = Variable(np.zeros((rank, outputs), "float32"))

# %% lora right: the product is scaled in between, and added step by step
#- return linear(x, self.weights, self.bias) + self.scale * (x @ self.A @ self.B)
low = (x @ self.A) * self.scale
out = low @ self.B + x @ self.weights
if self.bias is not None:
    out = out + self.bias
return out

# %% average mistake average-ignores-weights: Ignores the weights.
#> The weights are ignored
#- weights = [1 / len(states)] * len(states) if weights is None else weights
weights = [1 / len(states)] * len(states)

# %% average mistake average-exchanged: Pairs weights and states in the other order.
#> these are exchanged
weights = [1 / len(states)] * len(states) if weights is None else weights
return {name: sum(w * state[name] for w, state in zip(weights, states[::-1])).astype(array.dtype)
        for name, array in states[0].items()}

# %% average mistake average-divided: Divides by the number of states, too.
#> already say the shares
weights = [1 / len(states)] * len(states) if weights is None else weights
return {name: sum(w * state[name] for w, state in zip(weights, states)) .__truediv__(len(states)).astype(array.dtype)
        for name, array in states[0].items()}

# %% average mistake average-sum: Gives each state the weight 1.
#> This is the sum
#- weights = [1 / len(states)] * len(states) if weights is None else weights
weights = [1] * len(states) if weights is None else weights

# %% average mistake average-half: Always halves.
#> should be
#- weights = [1 / len(states)] * len(states) if weights is None else weights
weights = [1 / 2] * len(states) if weights is None else weights

# %% average mistake average-normalized: Scales the weights to the sum 1.
#> not scaled to the sum 1
#- weights = [1 / len(states)] * len(states) if weights is None else weights
weights = [1 / len(states)] * len(states) if weights is None else weights
weights = [w / sum(weights) for w in weights]

# %% average mistake average-float64: Leaves the result in float64.
#> convert it to the dtype of the first state
#- return {name: sum(w * state[name] for w, state in zip(weights, states)).astype(array.dtype)
#-         for name, array in states[0].items()}
return {name: sum(w * state[name] for w, state in zip(weights, states)) 
        for name, array in states[0].items()}

# %% average mistake average-two: Averages the first two states.
#> Only the first two states
if len(states) == 1:
    return {name: array.copy() for name, array in states[0].items()}
a, b = (0.5, 0.5) if weights is None else weights
return {name: (a * states[0][name] + b * states[1][name]).astype(array.dtype)
        for name, array in states[0].items()}

# %% average mistake average-in-place: Adds into the first state.
#> changed, or shares memory
weights = [1 / len(states)] * len(states) if weights is None else weights
result = states[0]
for name, array in result.items():
    array *= weights[0]
    for w, state in zip(weights[1:], states[1:]):
        array += np.asarray(w * state[name], array.dtype)
return result

# %% average mistake average-alias: Returns the first state when it is alone.
#> changed, or shares memory
#- weights = [1 / len(states)] * len(states) if weights is None else weights
if len(states) == 1 and weights is None:
    return dict(states[0])
weights = [1 / len(states)] * len(states) if weights is None else weights

# %% average mistake average-list: Returns a list of arrays.
#> should be a dict
weights = [1 / len(states)] * len(states) if weights is None else weights
return [sum(w * state[name] for w, state in zip(weights, states)).astype(array.dtype)
        for name, array in states[0].items()]

# %% average mistake average-running: Averages one after the other, so that the last counts
# most.
#> should be
weights = [1] * len(states) if weights is None else [w / sum(weights) for w in weights]
result = dict(states[0])
for state in states[1:]:
    result = {name: ((array + state[name]) / 2).astype(array.dtype) for name, array in result.items()}
return {name: array.copy() for name, array in result.items()}

# %% average right: np.tensordot
if weights is None:
    weights = np.full(len(states), 1 / len(states))
result = {}
for name, first in states[0].items():
    stack = np.stack([state[name] for state in states])
    result[name] = np.tensordot(np.asarray(weights, float), stack, axes=1).astype(first.dtype)
return result

# %% average right: loops
n = len(states)
result = {}
for name in states[0]:
    total = np.zeros(states[0][name].shape)
    for i in range(n):
        share = 1 / n if weights is None else weights[i]
        total += share * states[i][name]
    result[name] = np.array(total, dtype=states[0][name].dtype)
return result

# %% distillation mistake distil-reversed: Computes KL(student || teacher).
#> This is KL(student || teacher)
#- divergence = (log_q.exp() * (log_q - log_p)).sum(axis=-1).mean()
divergence = (log_p.exp() * (log_p - log_q)).sum(axis=-1).mean()

# %% distillation mistake distil-half-reversed: Weights by the student's probabilities.
#> should be
#- divergence = (log_q.exp() * (log_q - log_p)).sum(axis=-1).mean()
divergence = (log_p.exp() * (log_q - log_p)).sum(axis=-1).mean()

# %% distillation mistake distil-no-square: Leaves T² out.
#> T² is missing
#- loss = weight * temperature**2 * divergence
loss = weight * divergence

# %% distillation mistake distil-t-once: Multiplies by T.
#> not T
#- loss = weight * temperature**2 * divergence
loss = weight * temperature * divergence

# %% distillation mistake distil-no-temperature: Does not divide the logits.
#> not divided by the temperature
#- log_p, log_q = log_softmax(student / temperature), log_softmax(teacher / temperature)
log_p, log_q = log_softmax(student), log_softmax(teacher)

# %% distillation mistake distil-student-hard: Does not divide the student's logits.
#> The student's logits are not divided
#- log_p, log_q = log_softmax(student / temperature), log_softmax(teacher / temperature)
log_p, log_q = log_softmax(student), log_softmax(teacher / temperature)

# %% distillation mistake distil-teacher-hard: Does not divide the teacher's logits.
#> The teacher's logits are not divided
#- log_p, log_q = log_softmax(student / temperature), log_softmax(teacher / temperature)
log_p, log_q = log_softmax(student / temperature), log_softmax(teacher)

# %% distillation mistake distil-multiplied: Multiplies the logits by the temperature.
#> multiplied by the temperature
#- log_p, log_q = log_softmax(student / temperature), log_softmax(teacher / temperature)
log_p, log_q = log_softmax(student * temperature), log_softmax(teacher * temperature)

# %% distillation mistake distil-mean-classes: Averages over the classes, too.
#> but add the classes
#- divergence = (log_q.exp() * (log_q - log_p)).sum(axis=-1).mean()
divergence = (log_q.exp() * (log_q - log_p)).mean()

# %% distillation mistake distil-sum-batch: Adds the rows.
#> Average over the batch
#- divergence = (log_q.exp() * (log_q - log_p)).sum(axis=-1).mean()
divergence = (log_q.exp() * (log_q - log_p)).sum()

# %% distillation mistake distil-cross-entropy: Leaves out the entropy of the teacher.
#> subtract its entropy
#- divergence = (log_q.exp() * (log_q - log_p)).sum(axis=-1).mean()
divergence = (log_q.exp() * (0 - log_p)).sum(axis=-1).mean()

# %% distillation mistake distil-sign: Turns the sign.
#> The sign is turned
#- divergence = (log_q.exp() * (log_q - log_p)).sum(axis=-1).mean()
divergence = (log_q.exp() * (log_p - log_q)).sum(axis=-1).mean()

# %% distillation mistake distil-weights-exchanged: Exchanges the weights of the two parts.
#> The weight belongs to the divergence
log_p, log_q = log_softmax(student / temperature), log_softmax(teacher / temperature)
divergence = (log_q.exp() * (log_q - log_p)).sum(axis=-1).mean()
if labels is None:
    return temperature**2 * divergence
return (1 - weight) * temperature**2 * divergence + weight * cross_entropy(student, labels)

# %% distillation mistake distil-soft-labels: Softens the logits for the labels, too.
#> from the student's own logits
#- return loss if weight == 1 else loss + (1 - weight) * cross_entropy(student, labels)
return loss if weight == 1 else loss + (1 - weight) * cross_entropy(student / temperature, labels)

# %% distillation mistake distil-labels-not-weighted: Does not weight the cross-entropy.
#> not multiplied by 1 - weight
#- return loss if weight == 1 else loss + (1 - weight) * cross_entropy(student, labels)
return loss if weight == 1 else loss + cross_entropy(student, labels)

# %% distillation mistake distil-divergence-not-weighted: Does not weight the divergence.
#> not multiplied by the weight
#- loss = weight * temperature**2 * divergence
loss = temperature**2 * divergence

# %% distillation mistake distil-teacher-labels: Scores the teacher with the labels.
#> not for the teacher
#- return loss if weight == 1 else loss + (1 - weight) * cross_entropy(student, labels)
return loss if weight == 1 else loss + (1 - weight) * cross_entropy(teacher, labels)

# %% distillation mistake distil-squared-all: Multiplies both parts by T².
#> Only the divergence is multiplied
#- return loss if weight == 1 else loss + (1 - weight) * cross_entropy(student, labels)
return loss if weight == 1 else loss + (1 - weight) * temperature**2 * cross_entropy(student, labels)

# %% distillation mistake distil-labels-needed: Needs labels even with weight 1.
#> do not call cross_entropy
#- return loss if weight == 1 else loss + (1 - weight) * cross_entropy(student, labels)
return loss + (1 - weight) * cross_entropy(student, labels)

# %% distillation mistake distil-no-labels: Ignores the labels.
#> The labels are missing
#- return loss if weight == 1 else loss + (1 - weight) * cross_entropy(student, labels)
return loss

# %% distillation mistake distil-softmax-log: Takes the logarithm of rounded probabilities.
#> log_softmax for both
p = log_softmax(student / temperature).exp()
q = log_softmax(teacher / temperature).exp()
divergence = (q * (q.log() - p.log())).sum(axis=-1).mean()
loss = weight * temperature**2 * divergence
return loss if weight == 1 else loss + (1 - weight) * cross_entropy(student, labels)

# %% distillation mistake distil-data: Computes with arrays.
#> compute with Tensors
log_p, log_q = log_softmax(student / temperature).data, log_softmax(teacher / temperature).data
divergence = (np.exp(log_q) * (log_q - log_p)).sum(axis=-1).mean()
loss = Tensor(weight * temperature**2 * divergence)
return loss if weight == 1 else loss + (1 - weight) * cross_entropy(student, labels)

# %% distillation mistake distil-axis: Adds over the batch, and averages over the classes.
#> should be
#- divergence = (log_q.exp() * (log_q - log_p)).sum(axis=-1).mean()
divergence = (log_q.exp() * (log_q - log_p)).sum(axis=0).mean()

# %% distillation right: arrays for the teacher
teacher = teacher.data / temperature
shifted = teacher - teacher.max(axis=-1, keepdims=True)
log_q = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
log_p = log_softmax(student * (1 / temperature))
rows = (Tensor(np.exp(log_q)) * (Tensor(log_q) - log_p)).sum(axis=-1)
total = rows.mean() * (temperature * temperature * weight)
if weight != 1:
    total = total + cross_entropy(student, labels) * (1 - weight)
return total

# %% distillation right: entropy and cross-entropy apart
log_p = log_softmax(student / temperature, axis=1)
log_q = log_softmax(teacher / temperature, axis=1)
q = log_q.exp()
n = student.shape[0]
kl = ((q * log_q).sum() - (q * log_p).sum()) / n
soft = temperature**2 * kl
if weight == 1:
    return soft
return soft * weight + cross_entropy(student, labels) * (1 - weight)

# %% low-rank equivalent: The columns of U and the rows of V that are added are cut off again.
#= `np.linalg.svd(dense.weights.data, full_matrices=False)` -> `np.linalg.svd(dense.weights.data)`
#= `False` -> `True`

# %% distillation equivalent: The logits have two axes: the last is number 1.
#= `-1` -> `(1)`

# %% obs mistake returned-in-float64: Returns the matrix as it was computed, so that the given
# last line never runs.
#> The given line `return out.astype(np.float32)` does not run: your own `return`
#- ### END SOLUTION
return out
### END SOLUTION

# %% distillation mistake distillation-labels-used-with-weight-1: Uses the labels with weight 1
# where there are some.
#> With weight 1 the labels are not used
#- return loss if weight == 1 else loss + (1 - weight) * cross_entropy(student, labels)
return loss if labels is None else loss + (1 - weight) * cross_entropy(student, labels)
