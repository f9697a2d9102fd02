# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

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

# %% bce mistake bce-with-relu: Writes max(z, 0) as relu, whose derivative at 0 is 0: at logit 0
# the gradient is -y instead of 1/2 - y.
#> the derivative of relu at z = 0 is 0 by convention
#- losses = (z + magnitude) / 2 - z * y + (1 + (-magnitude).exp()).log()
losses = z.relu() - z * y + (1 + (-magnitude).exp()).log()

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

# %% cross-entropy right: The options in a dictionary.
z = as_float_tensor(logits)
classes = as_labels(labels, z.shape)
check_labels(classes, z.shape)
options = {"labels": classes, "smoothing": float(label_smoothing)}
return reduce_losses(apply(cross_entropy_forward, z, **options), reduction)

# %% cross-entropy right: Keyword arguments.
x = as_float_tensor(logits)
y = as_labels(labels=labels, shape=x.shape)
check_labels(labels=y, shape=x.shape)
share = float(label_smoothing)
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
