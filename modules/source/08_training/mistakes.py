# Mistakes that learners make, and right solutions in other styles: see CONTRIBUTING.md.

# %% step mistake gradients-not-cleared: Never sets the gradients to zero: step 2 uses the sum
# of both.
#> The gradients of both steps were added up
#- optimizer.zero_grad()
pass

# %% step mistake cleared-after-the-step: Sets the gradients to zero after the step: the first
# step uses gradients from before it.
#> before the first step
value = loss(model(inputs), targets)
value.backward()
optimizer.step()
optimizer.zero_grad()
return float(value)

# %% step mistake cleared-between-backward-and-step: Sets the gradients to zero that it has just
# computed.
#> call backward() before it, and zero_grad() before that
value = loss(model(inputs), targets)
value.backward()
optimizer.zero_grad()
optimizer.step()
return float(value)

# %% step mistake loss-returned-with-its-graph: Returns the Tensor: a list of losses keeps every
# graph in memory.
#> keeps the whole computation graph in memory
#- return float(value)
return value

# %% step mistake measured-after-the-step: Runs the model again and returns the loss after the
# step.
#> compute the loss before the optimizer step
#- return float(value)
return float(loss(model(inputs), targets))

# %% step mistake loss-not-returned: Returns nothing.
#> return the loss, as a float
#- return float(value)
float(value)

# %% step right: names every intermediate result
outputs = model(inputs)
value = loss(outputs, targets)
number = value.item()
optimizer.zero_grad()
value.backward()
optimizer.step()
return number

# %% step right: clears the gradients through the model
model.zero_grad()
value = loss(model(inputs), targets)
value.backward()
result = float(value.data)
optimizer.step()
return result

# %% accuracy mistake right-ones-counted: Returns how many are right, not the fraction.
#> 1.0, yours is 5
#- return float((outputs.argmax(axis=-1) == targets).mean())
return float((outputs.argmax(axis=-1) == targets).sum())

# %% accuracy mistake error-rate: Returns the fraction that is wrong.
#> with targets [1, 0, 1, 2, 1], 5 of 5 are right
#- return float((outputs.argmax(axis=-1) == targets).mean())
return float((outputs.argmax(axis=-1) != targets).mean())

# %% accuracy mistake first-axis: Looks for the largest score along axis 1, which is not always
# the last.
#> the classes are on the last axis
#- return float((outputs.argmax(axis=-1) == targets).mean())
return float((outputs.argmax(axis=1) == targets).mean())

# %% accuracy right: counts in a loop
right = 0
for row, target in zip(outputs.reshape(-1, outputs.shape[-1]), targets.reshape(-1)):
    right += int(np.argmax(row) == target)
return right / targets.size

# %% accuracy right: count_nonzero
best = np.argmax(outputs, axis=-1)
return int(np.count_nonzero(best == targets)) / best.size

# %% confusion mistake repeated-pairs-counted-once: Increments with index arrays, which counts
# each pair once.
#> np.add.at adds once per example
#- np.add.at(counts, (np.asarray(targets), scores.argmax(axis=-1)), 1)
counts[np.asarray(targets), scores.argmax(axis=-1)] += 1

# %% confusion mistake transposed: Has predicted classes as rows.
#> Rows are true classes
#- np.add.at(counts, (np.asarray(targets), scores.argmax(axis=-1)), 1)
np.add.at(counts, (scores.argmax(axis=-1), np.asarray(targets)), 1)

# %% confusion mistake classes-from-targets: Makes as many classes as the targets have.
#> There are as many classes as scores in a row
targets, predicted = np.asarray(targets), np.asarray(outputs).argmax(axis=-1)
classes = 1 + max(targets.max(), predicted.max())
counts = np.zeros((classes, classes), int)
np.add.at(counts, (targets, predicted), 1)
return counts

# %% confusion mistake fractional-counts: Counts in an array of floats.
#> counts should be integers
#- counts = np.zeros((scores.shape[-1], scores.shape[-1]), int)
counts = np.zeros((scores.shape[-1], scores.shape[-1]))

# %% confusion right: a loop
scores = np.asarray(outputs)
counts = np.zeros((scores.shape[1],) * 2, dtype=np.int64)
for row, target in zip(scores, np.asarray(targets)):
    counts[int(target), int(row.argmax())] += 1
return counts

# %% confusion right: bincount of one number per pair
scores = np.asarray(outputs)
classes = scores.shape[-1]
pairs = np.asarray(targets) * classes + scores.argmax(axis=1)
return np.bincount(pairs, minlength=classes**2).reshape(classes, classes)

# %% confusion right: product of one-hot matrices
scores = np.asarray(outputs)
eye = np.eye(scores.shape[-1], dtype=int)
return eye[np.asarray(targets)].T @ eye[scores.argmax(-1)]

# %% average mistake mean-of-means: Averages the means of the batches, so that a small last
# batch counts as much as a full one.
#> Multiply each mean by its number of examples
#- return {name: sum(metrics[name] * count for metrics, count in results) / total
#-         for name in results[0][0]}
return {name: sum(metrics[name] for metrics, count in results) / len(results)
        for name in results[0][0]}

# %% average mistake sum-not-mean: Adds up and never divides.
#> Multiply each mean by its number of examples
#- return {name: sum(metrics[name] * count for metrics, count in results) / total
#-         for name in results[0][0]}
return {name: sum(metrics[name] * count for metrics, count in results) for name in results[0][0]}

# %% average mistake names-of-the-second-batch: Takes the names from the second batch, which may
# not exist.
#> the average of one batch
#- return {name: sum(metrics[name] * count for metrics, count in results) / total
#-         for name in results[0][0]}
return {name: sum(metrics[name] * count for metrics, count in results) / total
        for name in results[1][0]}

# %% average right: accumulates in dicts
sums = {}
for metrics, count in results:
    for name, value in metrics.items():
        sums[name] = sums.get(name, 0.0) + value * count
return {name: value / total for name, value in sums.items()}

# %% average right: np.average with weights
counts = [count for _, count in results]
return {name: float(np.average([metrics[name] for metrics, _ in results], weights=counts))
        for name in results[0][0]}

# %% accumulate mistake accumulated-sum: Adds the gradients of the means: four batches make a
# step four times as long.
#> is 4 / 10
#- (value * (len(targets) / total)).backward()
value.backward()

# %% accumulate mistake divided-by-batches: Divides by the number of batches: right only when
# all have the same size.
#> is 4 / 10
#- (value * (len(targets) / total)).backward()
(value * (1 / len(batches))).backward()

# %% accumulate mistake scaled-loss-reported: Reports the loss scaled for backward.
#> scale the loss for backward() only
#- (value * (len(targets) / total)).backward()
value = value * (len(targets) / total)
value.backward()

# %% accumulate mistake backward-at-the-end: Adds up the losses and runs backward once: all
# graphs are in memory together.
#> the graphs of all batches are in memory
total, results = sum(len(targets) for _, targets in batches), []
for inputs, targets in batches:
    outputs = model(inputs)
    value = loss(outputs, targets)
    results.append(batch_result(value, outputs, targets, metrics))
    whole = value * (len(targets) / total) + (whole if len(results) > 1 else 0)
whole.backward()
return results

# %% accumulate mistake accumulate-clears: Sets the gradients to zero first, which only the
# caller should do.
#> Do not set gradients to zero here
#- total, results = sum(len(targets) for _, targets in batches), []
total, results = sum(len(targets) for _, targets in batches), []
model.zero_grad()

# %% accumulate mistake left-over-if-loss-is-positive: Runs backward only if the loss is
# positive.
#> A loss may be zero or negative
#- (value * (len(targets) / total)).backward()
if float(value) > 0:
    (value * (len(targets) / total)).backward()

# %% accumulate right: backward with a gradient instead of a scaled loss
sizes = [len(targets) for _, targets in batches]
results = []
for (inputs, targets), size in zip(batches, sizes):
    outputs = model(inputs)
    value = loss(outputs, targets)
    value.backward(np.asarray(size / sum(sizes), value.data.dtype))
    results.append(batch_result(value, outputs, targets, metrics))
return results

# %% accumulate right: divides after multiplying, results by hand
#- total, results = sum(len(targets) for _, targets in batches), []
results, count = [], 0
for batch in batches:
    count += len(batch[1])
#- (value * (len(targets) / total)).backward()
#- results.append(batch_result(value, outputs, targets, metrics))
entry = {"loss": float(value)}
for name, function in metrics.items():
    entry[name] = float(function(outputs, targets))
scaled = value * len(targets) / count
scaled.backward()
results.append((entry, len(targets)))

# %% evaluation mistake train-instead-of-own-mode: Ends with model.train(), which also changes
# frozen modules.
#> set each module to its own mode
#- for module, mode in modes:
#-     module.training = mode
model.train()

# %% evaluation mistake mode-of-the-model-for-all: Saves the mode of the outermost module only.
#> set each module to its own mode
#- module.training = mode
module.training = modes[0][1]

# %% evaluation mistake graph-recorded: Sets the mode, and still records graphs.
#> no graph should be recorded
#- with no_grad():
#-     yield
yield

# %% evaluation mistake mode-forgotten: Records no graph, but leaves dropout on.
#> model.eval() sets them
#- model.eval()
pass

# %% evaluation mistake no-finally: Sets the modes back after the yield: not after an exception.
#> belongs in `finally`
modes = [(module, module.training) for module in model.modules()]
model.eval()
with no_grad():
    yield
for module, mode in modes:
    module.training = mode

# %% evaluation mistake exception-swallowed: Catches the exception, so that the caller never
# sees it.
#> should come out of it
modes = [(module, module.training) for module in model.modules()]
model.eval()
try:
    with no_grad():
        yield
except Exception:
    pass
for module, mode in modes:
    module.training = mode

# %% evaluation right: no_grad outside, a list of modes
modules = model.modules()
before = [module.training for module in modules]
with no_grad():
    try:
        for module in modules:
            module.training = False
        yield model
    finally:
        for place in range(len(modules)):
            modules[place].training = before[place]

# %% evaluation right: an ExitStack of undo functions
with contextlib.ExitStack() as stack:
    for module in model.modules():
        stack.callback(setattr, module, "training", module.training)
    stack.enter_context(no_grad())
    model.train(False)
    yield

# %% patience mistake compared-with-the-previous-one: Compares with the loss of the previous
# epoch.
#> not with the previous one
#- if loss < best - min_delta:
#-     best, since = loss, 0
if loss < best - min_delta:
    since = 0
best = loss

# %% patience mistake equal-counts: Takes an equal loss for an improvement.
#> equalled, but not beaten
#- if loss < best - min_delta:
#-     best, since = loss, 0
if loss <= best - min_delta:
    best, since = loss, 0

# %% patience mistake delta-with-wrong-sign: Adds min_delta, so that a little worse is better.
#> (min_delta) below the last improvement
#- if loss < best - min_delta:
#-     best, since = loss, 0
if loss < best + min_delta:
    best, since = loss, 0

# %% patience mistake worse-is-asked: Asks whether the loss is worse; nan is not, and counts as
# better.
#> Every comparison with nan is False
#- if loss < best - min_delta:
#-     best, since = loss, 0
if not loss >= best - min_delta:
    best, since = loss, 0

# %% patience mistake best-from-numpy: Takes the index of the smallest: nan wins, and small
# improvements count.
#> since the last improvement
return len(losses) - 1 - int(np.argmin(losses)) if losses else 0

# %% patience mistake improvements-counted: Counts all losses that were no improvement, and
# never starts again at 0.
#> Compare with the best so far
#- best, since = loss, 0
best = loss
since -= 1

# %% patience right: the index of the last improvement
best, last = math.inf, -1
for n, loss in enumerate(losses):
    if best - loss > min_delta:
        best, last = loss, n
return len(losses) - 1 - last

# %% patience right: a list of improvements
improvements, best = [], float("inf")
for loss in losses:
    improved = math.isfinite(loss) and loss + min_delta < best
    improvements.append(improved)
    best = loss if improved else best
return ([True] + improvements)[::-1].index(True)

# %% fit mistake epochs-of-earlier-calls-not-counted: Trains for `epochs` more epochs, without
# counting those of earlier calls.
#> including the 2 of the first call
#- while self.epoch < epochs and not self.should_stop(patience, min_delta):
for _ in range(epochs):
    if self.should_stop(patience, min_delta):
        break

# %% fit mistake never-stops-early: Uses patience for the best weights only, and never stops
# early.
#> training should end after epoch 4
#- while self.epoch < epochs and not self.should_stop(patience, min_delta):
#-     metrics = self.train_epoch(batches, checkpoint, every)
while self.epoch < epochs:
    metrics = self.train_epoch(batches, checkpoint, every)

# %% fit mistake prefix-forgotten: Merges the validation metrics under their own names, over
# those of the training set.
#> get the prefix 'validation '
#- metrics[f"validation {name}"] = value
metrics[name] = value

# %% fit mistake epoch-not-ended: Never ends the epoch: nothing is counted, and the loop has no
# end.
#> does not end
#- self.end_epoch(metrics)
pass

# %% fit mistake evaluated-too-late: Ends the epoch first and evaluates then: the history misses
# the validation metrics.
#> Evaluate before end_epoch
while self.epoch < epochs:
    metrics = self.train_epoch(batches, checkpoint, every)
    self.end_epoch(metrics)
    if validation is not None:
        for name, value in self.evaluate(validation).items():
            metrics[f"validation {name}"] = value
    if checkpoint is not None:
        self.save(checkpoint)
return self.history

# %% fit mistake last-weights-kept: Stops early and keeps the weights of the last epoch.
#> should have the weights of epoch 2, yours has those of epoch 4
#- self.model.load_state_dict(self.best_weights)
pass

# %% fit mistake best-weights-of-every-epoch: Keeps the weights of every epoch, improvement or
# not.
#> should have the weights of epoch 2, yours has those of epoch 4
#- if (patience is not None
#-     and epochs_since_best(self.history["validation loss"], min_delta) == 0):
#-     self.best_weights = self.model.state_dict()
if patience is not None:
    self.best_weights = self.model.state_dict()

# %% fit mistake min-delta-forgotten-for-the-best: Keeps weights after improvements that are too
# small to count.
#> should have the weights of epoch 1
#- if (patience is not None
#-     and epochs_since_best(self.history["validation loss"], min_delta) == 0):
#-     self.best_weights = self.model.state_dict()
if (patience is not None
    and epochs_since_best(self.history["validation loss"]) == 0):
    self.best_weights = self.model.state_dict()

# %% fit mistake saved-before-the-epoch-is-counted: Saves before the epoch is ended.
#> Save last, after the epoch was counted
#- self.end_epoch(metrics)
if checkpoint is not None:
    self.save(checkpoint)
self.end_epoch(metrics)
checkpoint = None

# %% fit mistake saved-before-the-best-weights: Saves before the best weights are kept: the file
# holds those of the epoch before.
#> Save last, after the epoch was counted and the best weights were kept
#- self.end_epoch(metrics)
self.end_epoch(metrics)
if checkpoint is not None:
    self.save(checkpoint)
#- if checkpoint is not None:
#-     self.save(checkpoint)

# %% fit mistake history-not-returned: Returns nothing.
#> return self.history
#- return self.history
return None

# %% fit mistake stopped-at-the-end-of-the-epoch: Asks should_stop at the end of an epoch: a
# stopped run that is continued trains one more.
#> before the epoch, not at its end
#- while self.epoch < epochs and not self.should_stop(patience, min_delta):
#-     metrics = self.train_epoch(batches, checkpoint, every)
while self.epoch < epochs:
    metrics = self.train_epoch(batches, checkpoint, every)
#- if checkpoint is not None:
#-     self.save(checkpoint)
if checkpoint is not None:
    self.save(checkpoint)
if self.should_stop(patience, min_delta):
    break

# %% fit mistake patience-0-is-none: Asks `if patience`, which is False for a patience of 0.
#> ask `if patience is not None`
#- if (patience is not None
#-     and epochs_since_best(self.history["validation loss"], min_delta) == 0):
#-     self.best_weights = self.model.state_dict()
if patience and epochs_since_best(self.history["validation loss"], min_delta) == 0:
    self.best_weights = self.model.state_dict()
#- if patience is not None and self.best_weights is not None:
#-     self.model.load_state_dict(self.best_weights)
if patience and self.best_weights is not None:
    self.model.load_state_dict(self.best_weights)

# %% fit mistake validation-loss-without-a-validation-set: Reads the validation loss even
# without a validation set.
#> look at it only if patience is not None
for epoch in range(epochs):
    metrics = self.train_epoch(batches, checkpoint, every)
    if validation is not None:
        for name, value in self.evaluate(validation).items():
            metrics[f"validation {name}"] = value
    self.end_epoch(metrics)
    if epochs_since_best(self.history["validation loss"], min_delta) == 0:
        self.best_weights = self.model.state_dict()
return self.history

# %% fit right: a for loop with a break
for _ in range(self.epoch, epochs):
    if self.should_stop(patience, min_delta):
        break
    metrics = self.train_epoch(batches, checkpoint, every)
    if validation is not None:
        scores = self.evaluate(validation)
        metrics = metrics | {f"validation {name}": scores[name] for name in scores}
    self.end_epoch(metrics)
    if patience is not None:
        losses = self.history["validation loss"]
        if not epochs_since_best(losses, min_delta):
            self.best_weights = copy.deepcopy(self.model.state_dict())
    if checkpoint:
        self.save(checkpoint)
if patience is not None and self.best_weights:
    self.model.load_state_dict(self.best_weights)
return self.history

# %% fit right: an endless loop with two exits
early = patience is not None
while True:
    if self.epoch >= epochs or self.should_stop(patience, min_delta):
        if early and self.best_weights is not None:
            self.model.load_state_dict(self.best_weights)
        return self.history
    metrics = dict(self.train_epoch(batches, checkpoint, every))
    if validation is not None:
        metrics.update(("validation " + name, value)
                       for name, value in self.evaluate(validation).items())
    self.end_epoch(metrics)
    if early and epochs_since_best(self.history["validation loss"], min_delta) == 0:
        self.best_weights = self.model.state_dict()
    if checkpoint is not None:
        self.save(checkpoint)

# %% range mistake rates-in-equal-differences: Increases the rates by equal differences.
#> each rate is 3.162 times
#- rates, losses = np.geomspace(low, high, steps).tolist(), []
rates, losses = np.linspace(low, high, steps).tolist(), []

# %% range mistake nan-does-not-stop: Asks whether the loss is larger; nan never is.
#> nan > x is False
#- if not losses[-1] <= 4 * min(losses):
#-     break
if losses[-1] > 4 * min(losses):
    break

# %% range mistake traces-left: Trains the model itself.
#> inside `with preserved_state
#- with preserved_state(model, optimizer, batches):
#-     for rate, (inputs, targets) in zip(rates, repeat_batches(batches)):
#-         for group in optimizer.param_groups:
#-             group["lr"] = rate
if True:
    for rate, (inputs, targets) in zip(rates, repeat_batches(batches)):
        for group in optimizer.param_groups:
            group["lr"] = rate

# %% range mistake first-group-only: Sets the rate of the first parameter group only.
#> in every group
#- for group in optimizer.param_groups:
#-     group["lr"] = rate
for group in optimizer.param_groups[:1]:
    group["lr"] = rate

# %% range mistake rates-never-set: Takes every step with the optimizer's own rate.
#> set group['lr'] of each group
#- group["lr"] = rate
pass

# %% range mistake stops-at-the-first-rise: Stops when a loss is higher than the lowest so far.
#> more than 4 times the lowest so far
#- if not losses[-1] <= 4 * min(losses):
#-     break
if not losses[-1] <= min(losses):
    break

# %% range mistake rates-not-cut: Returns rates for which there is no loss.
#> steps were taken, so return
#- return rates[: len(losses)], losses
return rates, losses

# %% range mistake divergence-left-out: Leaves the loss that diverged out of the list.
#> yours gives 8 and 8
#- return rates[: len(losses)], losses
return rates[: len(losses) - 1], losses[:-1]

# %% range mistake ends-with-the-batches: Stops when the batches are used up once.
#> should give 9 rates and 9 losses
#- for rate, (inputs, targets) in zip(rates, repeat_batches(batches)):
#-     for group in optimizer.param_groups:
#-         group["lr"] = rate
for rate, (inputs, targets) in zip(rates, batches):
    for group in optimizer.param_groups:
        group["lr"] = rate

# %% range right: multiplies the rate in each step
rates, losses, lowest = [], [], math.inf
factor, rate = (high / low) ** (1 / (steps - 1)), low
with preserved_state(model, optimizer, batches):
    for inputs, targets in repeat_batches(batches):
        for group in optimizer.param_groups:
            group["lr"] = rate
        loss_now = train_step(model, loss, optimizer, inputs, targets)
        rates.append(rate)
        losses.append(loss_now)
        lowest = min(lowest, loss_now)
        if len(rates) == steps or not math.isfinite(loss_now) or loss_now > 4 * lowest:
            break
        rate *= factor
return rates, losses

# %% range right: an iterator and next
losses = []
rates = [low * (high / low) ** (n / (steps - 1)) for n in range(steps)]
with preserved_state(model, optimizer, batches):
    source = repeat_batches(batches)
    while len(losses) < steps:
        for group in optimizer.param_groups:
            group.update(lr=rates[len(losses)])
        losses.append(train_step(model, loss, optimizer, *next(source)))
        if math.isnan(losses[-1]) or losses[-1] == math.inf:
            break
        if losses[-1] > 4 * min(losses):
            break
return rates[:len(losses)], losses

# %% nonfinite mistake inputs-before-outputs: Names a layer with a finite output and an
# input that is not finite.
#> so it is not the first
for name, inputs, parameters, output in layers:
    if any(not np.isfinite(x).all() for x in inputs):
        return name, "input"
    for key, p in parameters.items():
        if not np.isfinite(p).all():
            return name, f"parameter {key}"
    if not np.isfinite(output).all():
        return name, "output"
return None

# %% nonfinite mistake last-layer-named: Goes through the layers from the end.
#> is that of '1 log'
#- for name, inputs, parameters, output in layers:
#-     if not np.isfinite(output).all():
#-         if not all(np.isfinite(x).all() for x in inputs):
#-             return name, "input"
for name, inputs, parameters, output in reversed(layers):
    if not np.isfinite(output).all():
        if not all(np.isfinite(x).all() for x in inputs):
            return name, "input"

# %% nonfinite mistake only-nan-is-looked-for: Looks for nan and overlooks infinity.
#> the first layer is '0 exp'
#- if not np.isfinite(output).all():
#-     if not all(np.isfinite(x).all() for x in inputs):
#-         return name, "input"
if np.isnan(output).any():
    if not all(np.isfinite(x).all() for x in inputs):
        return name, "input"

# %% nonfinite mistake any-for-all: Accepts an output if any of its numbers is finite.
#> every number must be finite
#- if not np.isfinite(output).all():
#-     if not all(np.isfinite(x).all() for x in inputs):
#-         return name, "input"
if not np.isfinite(output).any():
    if not all(np.isfinite(x).all() for x in inputs):
        return name, "input"

# %% nonfinite mistake parameters-before-inputs: Tests the parameters first, although the input
# was already not finite.
#> That should give ('second', 'input')
#- if not all(np.isfinite(x).all() for x in inputs):
#-     return name, "input"

#- return name, "output"
if not all(np.isfinite(x).all() for x in inputs):
    return name, "input"
return name, "output"

# %% nonfinite mistake first-input-only: Looks at the first input only.
#> its second input has an inf
#- if not all(np.isfinite(x).all() for x in inputs):
#-     return name, "input"
if not all(np.isfinite(x).all() for x in inputs[:1]):
    return name, "input"

# %% nonfinite mistake only-nan-is-asked-for-in-outputs: Asks for nan everywhere: an output with
# inf counts as finite.
#> np.isfinite is False for nan, inf and -inf
for name, inputs, parameters, output in layers:
    if np.isnan(output).any():
        if any(np.isnan(x).any() for x in inputs):
            return name, "input"
        for parameter, array in parameters.items():
            if np.isnan(array).any():
                return name, f"parameter {parameter}"
        return name, "output"

# %% nonfinite right: a helper and next
def broken(array):
    return not bool(np.all(np.isfinite(array)))

for name, inputs, parameters, output in layers:
    if broken(output):
        if any(map(broken, inputs)):
            return (name, "input")
        bad = next((key for key in parameters if broken(parameters[key])), None)
        return (name, "output" if bad is None else "parameter " + bad)

# %% nonfinite right: counts numbers that are not finite
for layer in layers:
    name, inputs, parameters, output = layer
    if np.sum(~np.isfinite(output)) == 0:
        continue
    cause = "output"
    for key in reversed(list(parameters)):
        if np.sum(~np.isfinite(parameters[key])):
            cause = f"parameter {key}"
    for x in inputs:
        if np.sum(~np.isfinite(x)):
            cause = "input"
    return name, cause
return None

# %% snapshot mistake snapshot-not-copied: Holds the live arrays and lists, which later steps
# change.
#> make deep copies
#- return copy.deepcopy(state)
return state

# %% snapshot mistake snapshot-copied-one-level: Copies the dict and shares its contents.
#> make deep copies
#- return copy.deepcopy(state)
return copy.copy(state)

# %% snapshot mistake optimizer-not-copied: Copies everything but what the optimizer returned.
#> make deep copies
#- return copy.deepcopy(state)
return copy.deepcopy({**state, "optimizer": None}) | {"optimizer": state["optimizer"]}

# %% snapshot mistake shared-generator-forgotten: Keeps the model's generators and forgets the
# one that all layers share.
#> the state of the layers' shared generator
#- state["random_states"] = random_states([RandomState.rng, run.model])
state["random_states"] = random_states(run.model)

# %% snapshot mistake generators-of-the-model-forgotten: Keeps the shared generator and forgets
# those of the Dropouts.
#> should hold three states
#- state["random_states"] = random_states([RandomState.rng, run.model])
state["random_states"] = random_states(RandomState.rng)

# %% snapshot mistake optimizer-forgotten: Keeps the weights and forgets the optimizer.
#> 'optimizer' is missing
#- state["optimizer"] = run.optimizer.state_dict()
pass

# %% snapshot mistake moments-forgotten: Keeps the optimizer's learning rates and forgets its
# moments.
#> its moments and step count are missing
#- state["optimizer"] = run.optimizer.state_dict()
state["optimizer"] = {**run.optimizer.state_dict(), "state": {}}

# %% snapshot mistake only-param-groups: Keeps the parameter groups only.
#> a dict with state and param_groups
#- state["optimizer"] = run.optimizer.state_dict()
state["optimizer"] = {"param_groups": run.optimizer.state_dict().get("param_groups")}

# %% snapshot mistake schedule-taken-for-granted: Calls state_dict of a schedule that is None.
#> None has no state_dict()
#- state["schedule"] = None if run.schedule is None else run.schedule.state_dict()
state["schedule"] = run.schedule.state_dict()

# %% snapshot right: one dict, each entry copied
return {
    "model": copy.deepcopy(run.model.state_dict()),
    "optimizer": copy.deepcopy(run.optimizer.state_dict()),
    "schedule": copy.deepcopy(run.schedule.state_dict()) if run.schedule else None,
    "random_states": copy.deepcopy(random_states([RandomState.rng, run.model])),
    "accumulate": run.accumulate,
    "epoch": run.epoch,
    "epoch_step": run.epoch_step,
    "results": copy.deepcopy(run.results),
    "history": {name: list(values) for name, values in run.history.items()},
    "best_weights": copy.deepcopy(run.best_weights),
    "loader_states": copy.deepcopy(run.loader_states),
}

# %% snapshot right: loops over both kinds of entries
state = {"random_states": random_states([RandomState.rng, run.model])}
for name in ("model", "optimizer", "schedule"):
    part = getattr(run, name)
    state[name] = part.state_dict() if part is not None else None
for name in "accumulate epoch epoch_step results history best_weights loader_states".split():
    state[name] = vars(run)[name]
return copy.deepcopy(state)

# %% fit mistake best-weights-without-an-improvement: Loads the best weights even if there are
# none.
#> is None until the validation loss of an epoch
#- if patience is not None and self.best_weights is not None:
#-     self.model.load_state_dict(self.best_weights)
if patience is not None:
    self.model.load_state_dict(self.best_weights)

# %% confusion equivalent: the scores have two axes, so the last one is axis 1
#= `-1` -> `(1)`

# %% average equivalent: all results have the same names, so the last one serves as well as the
# first
#= `0` -> `(-1)`

# %% fit mistake best-weights-live: Keeps the live arrays of the parameters, which later steps
# change.
#> should have the weights of epoch 2, yours has those of epoch 4
#- self.best_weights = self.model.state_dict()
self.best_weights = {name: p.data for name, p in self.model.named_parameters()}

# %% fit mistake best-weights-loaded-in-the-loop: Loads the best weights after every epoch.
#> Load the best weights after the loop
while self.epoch < epochs and not self.should_stop(patience, min_delta):
    metrics = self.train_epoch(batches, checkpoint, every)
    if validation is not None:
        for name, value in self.evaluate(validation).items():
            metrics[f"validation {name}"] = value
    self.end_epoch(metrics)
    if (patience is not None
        and epochs_since_best(self.history["validation loss"], min_delta) == 0):
        self.best_weights = self.model.state_dict()
    if checkpoint is not None:
        self.save(checkpoint)
    if patience is not None and self.best_weights is not None:
        self.model.load_state_dict(self.best_weights)
return self.history

# %% range mistake batches-not-preserved: Preserves the model, but not the generator that
# shuffles.
#> preserved_state also needs the batches
#- with preserved_state(model, optimizer, batches):
#-     for rate, (inputs, targets) in zip(rates, repeat_batches(batches)):
#-         for group in optimizer.param_groups:
#-             group["lr"] = rate
with preserved_state(model, optimizer):
    for rate, (inputs, targets) in zip(rates, repeat_batches(batches)):
        for group in optimizer.param_groups:
            group["lr"] = rate

# %% range mistake rates-as-an-array: Returns the rates as an array.
#> rates and losses should be two lists
#- return rates[: len(losses)], losses
return np.array(rates[: len(losses)]), losses
