# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

# %% target mistake target-is-a-tensor: Returns a Tensor instead of an array.
#> as_target should return an ndarray
wanted = Tensor(target)
if wanted.shape != prediction.shape:
    raise ValueError(f"prediction {prediction.shape}, target {wanted.shape}")
return Tensor(wanted.data.astype(prediction.dtype))

# %% target mistake column-against-row: Broadcasts (N, 1) predictions with (N,) targets, so that
# each prediction is compared with all targets.
#> must be refused, even if they broadcast
target = Tensor(target).data
if np.broadcast_shapes(target.shape, prediction.shape) is None:
    raise ValueError(f"the prediction has shape {prediction.shape}, the target "
                     f"{target.shape}: they must be equal, because broadcasting would "
                     "compare predictions with the targets of other examples\nif both "
                     f"hold the same examples, write target.reshape{prediction.shape}")
return target.astype(prediction.dtype)

# %% target mistake only-sizes-compared: Compares how many numbers there are, not their shapes.
#> a prediction of shape (3, 1) and a target of shape (3,) should raise
target = Tensor(target).data
if target.size != prediction.size:
    raise ValueError(f"the prediction has shape {prediction.shape}, the target "
                     f"{target.shape}: they must be equal, because broadcasting would "
                     "compare predictions with the targets of other examples\nif both "
                     f"hold the same examples, write target.reshape{prediction.shape}")
return target.astype(prediction.dtype)

# %% target mistake target-reshaped: Forces the target into the prediction's shape, and pairs
# numbers that do not belong together.
#> must be refused, even if they broadcast
#- target = Tensor(target).data
target = np.resize(Tensor(target).data, prediction.shape)

# %% target mistake target-dtype-kept: Keeps the target's dtype: one float64 target widens every
# number that follows.
#> should become float32, yours is float64
#- return target.astype(prediction.dtype)
return target

# %% target mistake target-needs-data: Expects a Tensor as target and asks a list or an array
# for its .data.
#> should be accepted as a target
#- target = Tensor(target).data
target = target.data

# %% target mistake target-shared: Shares the caller's array, which is filled with the next
# batch before the derivatives are computed.
#> copy it
#- target = Tensor(target).data
target = np.asarray(target)
if target.dtype == prediction.dtype and target.shape == prediction.shape:
    return target

# %% reduction mistake sum-for-mean: Reports the sum where the mean is asked for.
#> the mean of [0.5 2.
#- return losses.mean()
return losses.sum()

# %% reduction mistake mean-over-first-axis: Divides by the length of the first axis, the batch,
# although each row has several losses.
#> 6 times too large: divide by all elements
#- return losses.mean()
return losses.sum() / losses.shape[0] if losses.shape else losses

# %% reduction mistake mean-along-last-axis: Averages along one axis only and returns a row of
# means.
#> is one number of shape ()
#- return losses.mean()
return losses.mean(-1) if losses.ndim else losses

# %% reduction mistake mean-leaves-the-graph: Averages the array, so that the mean is not
# recorded.
#> compute with the Tensor, not with its .data
#- return losses.mean()
return Tensor(np.mean(losses.data))

# %% reduction mistake mean-of-nothing: Divides 0 by 0 for an empty batch, after which every
# weight is nan.
#> which is 0 / 0
#- if losses.size == 0:
#-     raise ValueError(f"an empty batch has no mean loss: the losses have shape "
#-                      f"{losses.shape}")
if False:
    raise ValueError(f"an empty batch has no mean loss: the losses have shape "
                     f"{losses.shape}")

# %% reduction mistake unknown-word-means-mean: Treats every unknown reduction as the mean, so
# that a misspelt 'sum' is not noticed.
#> is none of 'mean', 'sum' and 'none'
#- if reduction not in ("mean", "sum", "none"):
#-     raise ValueError(f"reduction is 'mean', 'sum' or 'none', not {reduction!r}")
if False:
    raise ValueError(f"reduction is 'mean', 'sum' or 'none', not {reduction!r}")

# %% reduction mistake reduction-error-without-the-words: Refuses an unknown reduction without
# saying which there are.
#> an error that contains 'mean', 'sum', 'none'
#- raise ValueError(f"reduction is 'mean', 'sum' or 'none', not {reduction!r}")
raise ValueError(f"unknown reduction {reduction!r}")

# %% mse mistake squared-after-the-sum: Squares after the reduction, so that differences of both
# signs cancel.
#> square each difference before you reduce
prediction = as_float_tensor(prediction)
target = as_target(prediction, target)
return reduce_losses(prediction - target, reduction) ** 2

# %% mse mistake absolute-error: Takes the absolute error instead of the squared one.
#> 'none', for the squares
#- return reduce_losses(error * error, reduction)
return reduce_losses(abs(error), reduction)

# %% mse mistake mse-halved: Halves the squares, a textbook habit that simplifies the
# derivative.
#> 'none', for the squares
#- return reduce_losses(error * error, reduction)
return reduce_losses(error * error / 2, reduction)

# %% mse mistake mse-broadcasts: Subtracts (N,) targets from (N, 1) predictions and gets N by N
# differences.
#> a perfect prediction gets the loss Tensor(1.33
#- error = prediction - as_target(prediction, target)
error = prediction - Tensor(target).data

# %% mse mistake pixels-wrap-around: Subtracts uint8 pixels, where 3 - 5 is 254.
#> in uint8 3 - 5 is 254
#- prediction = as_float_tensor(prediction)
prediction = prediction if isinstance(prediction, Tensor) else Tensor(prediction)

# %% mse mistake mse-leaves-the-graph: Computes with the prediction's array, so that nothing is
# recorded and nothing learned.
#> the prediction has requires_grad=True, but the loss does not
#- error = prediction - as_target(prediction, target)
error = Tensor(prediction.data) - as_target(prediction, target)

# %% bce mistake bce-through-the-sigmoid: Takes the sigmoid first: it rounds to 1, and the
# logarithm of 0 is infinite.
#> something overflowed; exp(-|z|) cannot
#- losses = (z + magnitude) / 2 - z * y + (1 + (-magnitude).exp()).log()
#- return reduce_losses(losses, reduction)
p = z.sigmoid()
with np.errstate(divide="ignore", invalid="ignore"):
    return reduce_losses(-(p.log() * y + (1 - p).log() * (1 - y)), reduction)

# %% bce mistake bce-clipped-below-resolution: Clips probabilities by 1e-12, which changes
# nothing in float32.
#> something overflowed; exp(-|z|) cannot
#- losses = (z + magnitude) / 2 - z * y + (1 + (-magnitude).exp()).log()
#- return reduce_losses(losses, reduction)
p = z.sigmoid().clip(1e-12, 1 - 1e-12)
with np.errstate(divide="ignore", invalid="ignore"):
    return reduce_losses(-(p.log() * y + (1 - p).log() * (1 - y)), reduction)

# %% bce mistake bce-clipped-flat: Clips probabilities by 1e-7: finite, and flat where the
# prediction is most wrong, so nothing is learned there.
#> its derivative is 0, and nothing is learned
#- losses = (z + magnitude) / 2 - z * y + (1 + (-magnitude).exp()).log()
#- return reduce_losses(losses, reduction)
p = z.sigmoid().clip(1e-7, 1 - 1e-7)
return reduce_losses(-(p.log() * y + (1 - p).log() * (1 - y)), reduction)

# %% bce mistake bce-plain-exponential: Writes log(1 + exp(z)) - z y without a change, and
# exp(1000) overflows.
#> something overflowed
#- losses = (z + magnitude) / 2 - z * y + (1 + (-magnitude).exp()).log()
losses = (1 + z.exp()).log() - z * y

# %% bce mistake bce-only-yes-counts: Leaves out the term for no: only -y log p is left.
#> add the term for no
#- losses = (z + magnitude) / 2 - z * y + (1 + (-magnitude).exp()).log()
losses = ((magnitude - z) / 2 + (1 + (-magnitude).exp()).log()) * y

# %% bce mistake bce-sign: Has the wrong sign for the logit, which rewards the wrong answer.
#> the losses should be
#- losses = (z + magnitude) / 2 - z * y + (1 + (-magnitude).exp()).log()
losses = (z + magnitude) / 2 + z * y + (1 + (-magnitude).exp()).log()

# %% bce mistake bce-target-unchecked: Accepts the target -1 for no, so that the loss falls
# below zero without limit.
#> a target of -1.0, which is no probability
#- check_probabilities(y)
pass

# %% log-sum-exp mistake no-max-subtracted: Takes exp of the logits as they are: infinite from
# 89 on, all 0 below -103.
#> shift every row by its own largest logit
largest = logits.max(axis=-1, keepdims=True)
return logits - largest, np.log(np.exp(logits).sum(axis=-1)) - largest[..., 0]

# %% log-sum-exp mistake one-max-for-all: Subtracts the largest logit of the whole batch from
# every row; the exponentials of rows far below it are all 0.
#> minus its largest element should be
shifted = logits - logits.max(initial=-np.inf)
return shifted, np.log(np.exp(shifted).sum(axis=-1))

# %% log-sum-exp mistake classes-along-the-first-axis: Sums along axis 0, over the batch,
# instead of over the classes.
#> one log-sum-exp per row
shifted = logits - logits.max(axis=-1, keepdims=True)
return shifted, np.log(np.exp(shifted).sum(axis=0))

# %% log-sum-exp mistake classes-along-axis-one: Writes axis=1 for the last axis, which is the
# last one for matrices only.
#> logits of shape (2, 3, 4)
shifted = logits - logits.max(axis=-1, keepdims=True)
return shifted, np.log(np.exp(shifted).sum(axis=min(1, logits.ndim - 1)))

# %% log-sum-exp mistake logits-shifted-in-place: Subtracts with -= and changes the logits of
# the caller.
#> do not use -= on an input
shifted = logits
shifted -= logits.max(axis=-1, keepdims=True)
return shifted, np.log(np.exp(shifted).sum(axis=-1))

# %% log-sum-exp mistake shift-for-nothing: Finds the largest logit, and then takes exp of the
# logits that were not shifted.
#> the log-sum-exp of the shifted row should be
shifted = logits - logits.max(axis=-1, keepdims=True)
return shifted, np.log(np.exp(logits).sum(axis=-1))

# %% labels mistake classes-from-one: Accepts the number of classes as a label, as if class
# numbers started at 1.
#> must be refused: the class numbers are 0 to
#- bad = (labels < 0) | (labels >= shape[-1])
bad = (labels < 0) | (labels > shape[-1])

# %% labels mistake negative-labels-count-from-the-end: Looks only for labels that are too
# large, so that -1 is learned as the last class.
#> NumPy would silently count a negative one from the end
#- bad = (labels < 0) | (labels >= shape[-1])
bad = labels >= shape[-1]

# %% labels mistake labels-against-rows: Compares labels with the number of rows instead of the
# number of classes.
#> labels [[0, 6], [1, 4], [5, 3]] are classes of
#- bad = (labels < 0) | (labels >= shape[-1])
bad = (labels < 0) | (labels >= shape[0])

# %% labels mistake worst-label-reported: Names the largest label in place of the first bad one.
#> an error that contains 'label 5'
#- index = tuple(np.argwhere(bad)[0].tolist())
index = tuple(np.argwhere(labels == labels.max())[0].tolist())

# %% labels mistake flat-place: Names the index in the flattened labels, which is of no use for
# labels with two axes.
#> an error that contains 'at (1, 1)'
#- index = tuple(np.argwhere(bad)[0].tolist())
index = (int(bad.argmax()),)
labels = labels.reshape(-1)

# %% target-logits mistake one-hot-product: Multiplies by a one-hot table of float64.
#> A product with a table of ones and zeros
one_hot = np.arange(logits.shape[-1]) == labels[..., None]
return (logits * one_hot.astype("float64")).sum(axis=-1)

# %% target-logits mistake all-rows-for-each-label: Writes logits[..., labels], which takes
# every label's column from every row.
#> four rows and four labels give four logits
columns = labels[..., None]
return logits[..., labels]

# %% target-logits mistake labels-pick-rows: Writes logits[labels], which picks whole rows.
#> give four logits, shape (4,), yours has shape (4, 3)
columns = labels[..., None]
return logits[labels]

# %% target-logits mistake largest-logit-taken: Takes the largest logit of each row instead of
# the logit of its true class.
#> row i, column labels[i]
columns = labels[..., None]
return logits.max(axis=-1)

# %% target-logits mistake matrices-only: Numbers the rows along axis 0, which works for
# matrices and mixes up the rows of every other rank.
#> give one number per row
columns = labels[..., None]
return logits.reshape(-1, logits.shape[-1])[np.arange(len(np.atleast_1d(labels))), labels.reshape(-1)[:len(np.atleast_1d(labels))]]

# %% target-logits mistake indices-overflow: Computes indices into the flattened array in the
# dtype of the labels; after 255 a uint8 begins again at 0.
#> do not fit into a uint8
rows = np.arange(labels.size).reshape(labels.shape).astype(labels.dtype)
return logits.reshape(-1)[rows * np.array(logits.shape[-1], labels.dtype) + labels]

# %% forward mistake sign-forgotten: Returns the log of the probability, without the minus:
# training would make it worse.
#> the true classes have the probabilities
#- return total - true
return true - total

# %% forward mistake binary-formula-on-classes: Adds a binary term for each wrong class, as if
# every class were a separate question of yes or no.
#> the true classes have the probabilities
#- return total - true
p = np.exp(shifted - total[..., None])
with np.errstate(divide="ignore", invalid="ignore"):
    rest = np.log(1 - p).sum(axis=-1) - np.log(1 - np.exp(true - total))
return total - true - rest

# %% forward mistake logarithm-to-base-two: Counts in bits: the logarithm to base 2.
#> the true classes have the probabilities
#- return total - true
return (total - true) / np.log(2)

# %% forward mistake probability-instead-of-its-logarithm: Returns 1 - p instead of -log p:
# bounded, and flat where the prediction is most wrong.
#> the true classes have the probabilities
#- return total - true
return 1 - np.exp(true - total)

# %% forward mistake smoothing-not-divided: Gives every class the whole share s, not s divided
# by the number of classes.
#> each other class s/5
#- true = (1 - smoothing) * true + smoothing * shifted.mean(axis=-1)
true = (1 - smoothing) * true + smoothing * shifted.sum(axis=-1)

# %% forward mistake smoothing-without-the-true-class: Gives the true class 1 - s and shares s
# among the others only.
#> the true class has the target 1 - s + s/5
#- true = (1 - smoothing) * true + smoothing * shifted.mean(axis=-1)
others = (shifted.sum(axis=-1) - true) / max(shifted.shape[-1] - 1, 1)
true = (1 - smoothing) * true + smoothing * others

# %% forward mistake smoothing-forgets-its-part: Gives the true class 1 - s and the others s / C
# each, so that the targets do not sum to 1.
#> the true class has the target 1 - s + s/5
#- true = (1 - smoothing) * true + smoothing * shifted.mean(axis=-1)
total = total * (1 - smoothing / shifted.shape[-1])
true = (1 - smoothing - smoothing / shifted.shape[-1]) * true + smoothing * shifted.mean(axis=-1)

# %% forward mistake nothing-times-infinity: Always adds the mean, times 0 without smoothing;
# with a logit of -inf that is nan.
#> 0 * inf is nan
#- if smoothing:
#-     true = (1 - smoothing) * true + smoothing * shifted.mean(axis=-1)
with np.errstate(invalid="ignore"):
    true = (1 - smoothing) * true + smoothing * shifted.mean(axis=-1)

# %% forward mistake true-logit-not-shifted: Takes the true logit from the logits, but the
# log-sum-exp from the shifted logits.
#> the true classes have the probabilities
#- true = target_logits(shifted, labels)
true = target_logits(logits, labels)

# %% forward mistake softmax-in-the-row-losses: Applies softmax to the logits before the
# log-sum-exp, which contains it.
#> apply no softmax before the loss
#- shifted, total = shifted_log_sum_exp(logits)
logits = np.exp(logits - logits.max(axis=-1, keepdims=True))
shifted, total = shifted_log_sum_exp(logits / logits.sum(axis=-1, keepdims=True))

# %% cross-entropy mistake softmax-twice: Applies softmax before the loss, which has it inside:
# no prediction can then reach the loss 0.
#> apply no softmax before the loss
#- labels = as_labels(labels, logits.shape)
logits = (logits - logits.max(axis=-1, keepdims=True)).exp() if logits.size else logits
logits = logits / logits.sum(axis=-1, keepdims=True)
labels = as_labels(labels, logits.shape)

# %% cross-entropy mistake labels-unchecked: Trusts the labels: -1 is learned as the last class.
#> labels [-1, 0] for logits of shape (2, 3) should raise
#- check_labels(labels, logits.shape)
pass

# %% cross-entropy mistake mean-over-all-logits: Divides by rows times classes, as if every
# logit had a loss.
#> 3 times too small: do not divide by the number of classes
#- return reduce_losses(losses, reduction)
out = reduce_losses(losses, reduction)
return out / logits.shape[-1] if reduction == "mean" else out

# %% cross-entropy mistake sum-over-rows: Adds the rows up where their mean is asked for, so the
# loss grows with the batch.
#> 4 times too large: divide by the number of rows
#- return reduce_losses(losses, reduction)
return reduce_losses(losses, "sum" if reduction == "mean" else reduction)

# %% cross-entropy mistake mean-over-the-batch-axis: Divides by the length of the first axis,
# although each of its parts has many rows.
#> reduce over all 6 rows
#- return reduce_losses(losses, reduction)
return losses.sum() / losses.shape[0] if reduction == "mean" and losses.ndim > 1 else reduce_losses(losses, reduction)

# %% cross-entropy mistake forward-without-apply: Calls the forward function on the array, not
# through apply, so that nothing is recorded.
#> use apply
#- losses = apply(cross_entropy_forward, logits, labels=labels,
#-                smoothing=float(label_smoothing))
losses = Tensor(np.asarray(cross_entropy_forward(logits.data, labels, float(label_smoothing))))

# %% cross-entropy mistake labels-not-copied: Records the caller's own labels array, which may
# hold the next batch when the derivative is computed.
#> record a copy
#- labels = as_labels(labels, logits.shape)
labels = labels if isinstance(labels, np.ndarray) and labels.size else as_labels(labels, logits.shape)

# %% cross-entropy mistake smoothing-beyond-one: Accepts any smoothing, also 10 where 10 percent
# was meant.
#> label_smoothing=1.5, which is no share
#- if not 0 <= label_smoothing <= 1:
#-     raise ValueError(f"label_smoothing is a share from 0 to 1, not {label_smoothing}")
if label_smoothing < 0:
    raise ValueError(f"label_smoothing is a share from 0 to 1, not {label_smoothing}")

# %% bce mistake bce-with-relu: Writes max(z, 0) as relu, whose derivative at 0 is 0: at logit 0
# the gradient is -y instead of 1/2 - y.
#> the derivative of relu at z = 0 is 0 by convention
#- losses = (z + magnitude) / 2 - z * y + (1 + (-magnitude).exp()).log()
losses = z.relu() - z * y + (1 + (-magnitude).exp()).log()

# %% labels mistake or-between-arrays: Joins two conditions on arrays by `or`.
#> write | and & instead
#- bad = (labels < 0) | (labels >= shape[-1])
bad = (labels < 0) or (labels >= shape[-1])

# %% labels mistake classes-in-the-labels-dtype: Converts the labels to int16, into which 32,768
# and more classes do not fit.
#> Does 40,000 fit into
#- bad = (labels < 0) | (labels >= shape[-1])
bad = (labels.astype("int16") < 0) | (labels >= shape[-1])

# %% target-logits mistake labels-as-int16: Uses int16 as the dtype of indices, so that class
# 32,768 becomes a negative index.
#> 32768 does not fit into
columns = labels.astype("int16")[..., None]
return np.take_along_axis(logits, columns, axis=-1)[..., 0]

# %% forward mistake smoothing-mean-of-the-batch: Takes the mean of all logits of the batch for
# the smoothing.
#> the mean of the smoothing is taken over the whole batch
#- true = (1 - smoothing) * true + smoothing * shifted.mean(axis=-1)
true = (1 - smoothing) * true + smoothing * (shifted.mean() if shifted.size else 0)

# %% mse mistake mean-over-the-rows-only: Divides by the number of rows, although each has three
# elements.
#> 3 times too large: divide by all 6 elements
#- return reduce_losses(error * error, reduction)
return reduce_losses((error * error).sum(-1) if reduction == "mean" and error.ndim > 1 else error * error, reduction)

# %% cross-entropy-loss mistake smoothing-not-passed-on: Stores the label smoothing and does not
# pass it to cross_entropy.
#> are both options passed to cross_entropy?
#- return cross_entropy(logits, labels, reduction=self.reduction,
#-                      label_smoothing=self.label_smoothing)
return cross_entropy(logits, labels, reduction=self.reduction)

# %% cross-entropy-loss mistake options-swapped: Passes the smoothing where the reduction
# belongs.
#> are both options passed to cross_entropy?
#- return cross_entropy(logits, labels, reduction=self.reduction,
#-                      label_smoothing=self.label_smoothing)
return cross_entropy(logits, labels, label_smoothing=self.label_smoothing, reduction="mean")

# %% cross-entropy-loss mistake options-in-the-class: Keeps the options in the class, where all
# modules share them.
#> each stores its own options in self
#- self.reduction = reduction
#- self.label_smoothing = label_smoothing
CrossEntropyLoss.reduction = reduction
CrossEntropyLoss.label_smoothing = label_smoothing

# %% cross-entropy-loss mistake loss-not-returned: Forgets `return`.
#> is `return` missing?
#- return cross_entropy(logits, labels, reduction=self.reduction,
#-                      label_smoothing=self.label_smoothing)
cross_entropy(logits, labels, reduction=self.reduction, label_smoothing=self.label_smoothing)

# %% target right: Compares the shapes first and makes the copy with np.array.
values = np.array(target.data if isinstance(target, Tensor) else target)
if tuple(values.shape) == tuple(prediction.shape):
    return np.array(values, dtype=prediction.dtype)
raise ValueError(f"target {values.shape}, prediction {prediction.shape}: not the same shape")

# %% target right: Copies into an empty array of the prediction's dtype.
target = Tensor(target)
if target.shape != prediction.shape:
    raise ValueError("shapes differ: " + str(prediction.shape) + " and " + str(target.shape))
out = np.empty(prediction.shape, prediction.dtype)
out[...] = target.data
return out

# %% reduction right: Looks the method up by name; the empty batch first.
if reduction == "none":
    return losses
if reduction == "mean" and not losses.size:
    raise ValueError(f"mean of an empty tensor of shape {losses.shape}")
if reduction == "mean" or reduction == "sum":
    return getattr(losses, reduction)()
raise ValueError(f"{reduction!r}: use mean, sum or none")

# %% reduction right: The mean as the sum divided by the number of elements.
if reduction not in ("none", "sum", "mean"):
    raise ValueError("reduction must be none, sum or mean, not " + repr(reduction))
if reduction == "none":
    return losses
total = losses.sum()
if reduction == "mean":
    if 0 in losses.shape:
        raise ValueError(f"empty: {losses.shape}")
    total = total / losses.size
return total

# %% mse right: Squares with a power.
x = as_float_tensor(prediction)
return reduce_losses((x - as_target(x, target)) ** 2, reduction)

# %% mse right: The target as a Tensor, the difference the other way round.
prediction = as_float_tensor(prediction)
difference = Tensor(as_target(prediction, target)) - prediction
squares = difference * difference
return reduce_losses(squares, reduction=reduction)

# %% bce right: max(z, 0) by maximum, which counts as 1/2 at a tie.
z = as_float_tensor(logits)
y = as_target(z, target)
check_probabilities(y)
return reduce_losses(z.maximum(0) - z * y + (1 + (-abs(z)).exp()).log(), reduction)

# %% bce right: The two terms of the definition, each as the stable log(1 + exp(...)).
z = as_float_tensor(logits)
y = as_target(z, target)
check_probabilities(y)
rest = (1 + (-abs(z)).exp()).log()
yes, no = rest + (-z).maximum(0), rest + z.maximum(0)
return reduce_losses(yes * y + no * (1 - y), reduction)

# %% log-sum-exp right: np.logaddexp.reduce on the shifted logits.
largest = np.max(logits, axis=-1)
shifted = logits - largest[..., None]
return shifted, np.logaddexp.reduce(shifted, axis=-1)

# %% log-sum-exp right: einsum for the sum.
shifted = np.subtract(logits, np.expand_dims(logits.max(-1), -1))
total = np.einsum("...c->...", np.exp(shifted))
return shifted, np.log(total)

# %% labels right: A loop over all indices, with NumPy's integers in the index.
for index in np.ndindex(np.shape(labels)):
    label = labels[index]
    if not 0 <= label < shape[-1]:
        index = tuple(np.int64(i) for i in index)
        raise ValueError(f"label {label} at {index}: only 0 to {shape[-1] - 1} are classes "
                         f"(labels {labels.shape}, logits {shape})")

# %% labels right: unravel_index of the first True.
good = np.logical_and(labels >= 0, labels < shape[-1])
if not np.all(good):
    index = np.unravel_index(np.argmin(good), good.shape)
    raise ValueError(f"label {labels[index]} at {index}; logits {shape}: 0 to "
                     f"{shape[-1] - 1}; labels {labels.shape}")

# %% target-logits right: Rows in one axis, numbered with arange.
rows = logits.reshape(int(np.prod(logits.shape[:-1])), logits.shape[-1])
picked = rows[np.arange(len(rows)), labels.ravel()]
return picked.reshape(labels.shape)

# %% target-logits right: A loop.
out = np.empty(logits.shape[:-1], logits.dtype)
for index in np.ndindex(out.shape):
    out[index] = logits[index][int(labels[index])]
return out

# %% forward right: A one-hot table of targets, smoothed, with classes of target 0 left out.
shifted, total = shifted_log_sum_exp(logits)
classes = logits.shape[-1]
hot = (np.arange(classes) == labels[..., None]).astype(logits.dtype)
target = (1 - smoothing) * hot + smoothing / classes
terms = np.where(target > 0, target * (total[..., None] - shifted), 0) if smoothing else \
    np.where(hot > 0, total[..., None] - shifted, 0)
return terms.sum(axis=-1).astype(logits.dtype)

# %% forward right: Log-probabilities first.
shifted, total = shifted_log_sum_exp(logits)
log_p = shifted - total[..., None]
losses = -target_logits(log_p, labels)
if smoothing > 0:
    losses = losses - smoothing * (losses + log_p.mean(-1))
return losses

# %% cross-entropy right: Checks the smoothing first.
if label_smoothing < 0 or label_smoothing > 1:
    raise ValueError(f"label_smoothing={label_smoothing} is not between 0 and 1")
z = as_float_tensor(logits)
classes = as_labels(labels, z.shape)
check_labels(classes, z.shape)
options = {"labels": classes, "smoothing": float(label_smoothing)}
return reduce_losses(apply(cross_entropy_forward, z, **options), reduction)

# %% cross-entropy right: A negated check, keyword arguments.
x = as_float_tensor(logits)
y = as_labels(labels=labels, shape=x.shape)
check_labels(labels=y, shape=x.shape)
share = float(label_smoothing)
if not (share >= 0 and share <= 1):
    raise ValueError("label_smoothing must be from 0 to 1, got " + str(label_smoothing))
rows = apply(cross_entropy_forward, x, labels=y, smoothing=share)
return rows if reduction == "none" else reduce_losses(rows, reduction=reduction)

# %% cross-entropy-loss right: Both attributes in one line.
#- self.reduction = reduction
#- self.label_smoothing = label_smoothing
self.reduction, self.label_smoothing = reduction, label_smoothing

# %% cross-entropy-loss right: Passes the stored options as a dictionary.
#- return cross_entropy(logits, labels, reduction=self.reduction,
#-                      label_smoothing=self.label_smoothing)
return cross_entropy(logits, labels, **vars(self))

# %% mse equivalent: The error is squared, so its sign does not matter.
#= `prediction - as_target(prediction, target)` -> `((as_target(prediction, target)) - (prediction))`

# %% target-logits equivalent: The last axis is NumPy's default since 2.3.
#= `np.take_along_axis(logits, columns, axis=-1)` -> `np.take_along_axis(logits, columns)`

# %% target-logits equivalent: The axis it indexes has length 1.
#= `0` -> `(-1)`
