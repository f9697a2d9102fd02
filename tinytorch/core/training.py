# From modules/source/08_training/training_dev.py by `tito export`; edit that file, not this one.
# checksum: bfb88eacfd126a55
"""Training: Epochs, measures, checkpoints, and what to do when the loss is nan."""

import contextlib
import copy
import itertools
import math
import time

import numpy as np

from tinytorch.core.autograd import no_grad
from tinytorch.core.layers import Module, RandomState
from tinytorch.core.tensor import Tensor
from tinytorch.support.checkpoints import CheckpointError, load_state, save_state
from tinytorch.support.curves import plot_history
from tinytorch.support.display import Display
from tinytorch.support.watch import watch_layers

__all__ = [
    "accuracy", "means", "train_step", "groups", "accumulate", "train_epoch", "evaluating", "evaluate", "predict",
    "epochs_since_best", "generators_in", "random_states", "set_random_states", "snapshot", "restore", "blame",
    "NotFinite", "Trainer", "learning_rate_range", "suggested_rate", "overfit_one_batch",
]


def accuracy(outputs, targets):
    """The share of examples whose largest score is that of the right class.

    outputs  Tensor or array of scores, shape (..., classes)
    targets  the right classes, whole numbers from 0, Tensor, array or list of shape (...)
    returns  a float from 0 to 1

    Raises ValueError with the shapes in it when there is not exactly one target for each row of
    scores.

    >>> accuracy(Tensor([[0.1, 0.9], [2.0, -1.0], [0.0, 5.0]]), [1, 0, 0]) == 2 / 3
    True

    Source: torchmetrics.classification.MulticlassAccuracy with average="micro".
    """
    predicted, targets = np.asarray(outputs).argmax(axis=-1), np.asarray(targets)
    if predicted.shape != targets.shape:
        raise ValueError(f"scores of shape {np.shape(outputs)} need targets of shape "
                         f"{predicted.shape}, not {targets.shape}")
    return float((predicted == targets).mean())


def means(records):
    """The mean over all examples, from means over batches.

    records  list of ({name: mean}, number of examples), all with the same names
    returns  dict {name: float}, in the order of the names

    Raises ValueError when there is not a single example. A loss of nan or inf stays what it is.

    >>> means([({"loss": 1.0}, 3), ({"loss": 5.0}, 1)])
    {'loss': 2.0}
    """
    total = sum(count for _, count in records)
    if total == 0:
        raise ValueError("there is no mean of no examples: were the batches a generator that "
                         "is used up?")
    return {name: sum(values[name] * count for values, count in records) / total
            for name in records[0][0]}


def train_step(model, loss, optimizer, inputs, targets):
    """Improve `model` once, with one batch.

    model      a Module, called with the inputs
    loss       a function of (outputs, targets) that returns a Tensor of shape (): the mean over
               the batch
    optimizer  of the model's parameters: its methods zero_grad() and step()
    inputs, targets  one batch
    returns    the loss before the step, a float

    Gradients from before play no part. Those of this batch are still there afterwards, to be
    looked at.

    >>> from tinytorch.core.layers import Dense
    >>> from tinytorch.core.optimizers import SGD
    >>> layer = Dense(1, 1, rng=0)
    >>> train_step(layer, lambda out, y: ((out - y) ** 2).mean(),
    ...            SGD(layer.parameters(), lr=0.1), Tensor([[0.0]]), 3.0)
    9.0
    """
    optimizer.zero_grad()
    value = loss(model(inputs), targets)
    value.backward()
    optimizer.step()
    return float(value)


def groups(batches, size):
    """The batches in lists of `size`, in their order; the last list may be shorter, never
    empty.

    batches  anything to loop over, perhaps without an end: no batch is fetched before its group
             is asked for
    size     batches per group, 1 or more
    yields   lists of batches

    >>> list(groups("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]

    Source: itertools.batched (Python 3.12), which yields tuples.
    """
    group = []
    for batch in batches:
        group.append(batch)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def record(value, outputs, targets, metrics):
    """The record of one batch: its loss and what else is measured, as floats, and how many
    examples it has."""
    return ({"loss": float(value)}
            | {name: float(f(outputs, targets)) for name, f in metrics.items()}, len(targets))


def accumulate(model, loss, group, metrics={}):
    """Add the gradients of a group of batches to those that are there, as if the group were one
    big batch.

    model    a Module
    loss     a function of (outputs, targets): the mean over a batch, a Tensor of shape ()
    group    list of (inputs, targets)
    metrics  dict of {name: function of (outputs, targets)}, measured beside the loss
    returns  list with the `record` of each batch: the mean loss of that batch, and the metrics

    Each batch is walked back before the next one is run, so that the notes of only one are in
    memory.

    >>> from tinytorch.core.layers import Dense
    >>> layer = Dense(1, 1, rng=0)
    >>> accumulate(layer, lambda out, y: (out - y).mean(),
    ...            [(Tensor([[0.0]]), [[2.0]]), (Tensor([[0.0]] * 3), [[0.0]] * 3)])
    [({'loss': -2.0}, 1), ({'loss': 0.0}, 3)]
    >>> layer.bias.grad
    array([1.], dtype=float32)
    """
    total, records = sum(len(targets) for _, targets in group), []
    for inputs, targets in group:
        outputs = model(inputs)
        value = loss(outputs, targets)
        (value * (len(targets) / total)).backward()
        records.append(record(value, outputs, targets, metrics))
    return records


def train_epoch(model, update, groups, done=()):
    """Go once through `groups`, in training mode.

    model    a Module
    update   a function that improves the model with one group and returns its records, a list
    groups   anything to loop over
    done     records of groups of this epoch that were done before
    returns  the `means` over all records, `done` included

    >>> from tinytorch.core.layers import Dense
    >>> train_epoch(Dense(1, 1), lambda group: [({"loss": group}, 1)], [2.0, 4.0],
    ...             done=[({"loss": 6.0}, 2)])
    {'loss': 4.5}
    """
    model.train()
    records = list(done)
    for group in groups:
        records += update(group)
    return means(records)


@contextlib.contextmanager
def evaluating(model):
    """A block in which `model` is in use: `training` is False in every module, and no notes are
    taken.

    Afterwards every module is in the mode in which it was, also after an error; the error goes
    on.

    >>> from tinytorch.core.layers import Dense
    >>> net = Dense(1, 1)
    >>> with evaluating(net):
    ...     net.training
    False
    >>> net.training
    True

    Source: Python library reference, contextlib.contextmanager.
    """
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    try:
        with no_grad():
            yield
    finally:
        for part, mode in modes:
            part.training = mode


def evaluate(model, loss, batches, metrics={}):
    """The loss and the metrics of `model` on batches that it does not learn from.

    model    a Module; it is in use meanwhile (see `evaluating`), and afterwards as it was
    loss     a function of (outputs, targets): the mean over a batch
    batches  anything to loop over, of (inputs, targets)
    metrics  dict of {name: function of (outputs, targets)}: a mean over a batch each
    returns  dict {name: float}: "loss" and the metrics, means over all examples

    >>> from tinytorch.core.layers import Dense
    >>> data = [(Tensor([[2.0], [4.0]]), [0, 0]), (Tensor([[9.0]]), [0])]
    >>> evaluate(Dense(1, 1), lambda out, y: Tensor(0.5), data, {"size": lambda out, y: len(y)})
    {'loss': 0.5, 'size': 1.6666666666666667}
    """
    records = []
    with evaluating(model):
        for inputs, targets in batches:
            outputs = model(inputs)
            records.append(record(loss(outputs, targets), outputs, targets, metrics))
    return means(records)


def predict(model, batches):
    """The outputs of `model` for every example.

    model    a Module; it is in use meanwhile, and afterwards as it was
    batches  anything to loop over: inputs, or tuples or lists whose first member is the inputs
    returns  ndarray of shape (examples, ...), the outputs of all batches one behind the other,
             a copy

    >>> from tinytorch.core.layers import Sequential
    >>> predict(Sequential(Tensor.exp), [Tensor([0.0, 0.0]), (Tensor([0.0]), "targets")])
    array([1., 1., 1.], dtype=float32)
    """
    with evaluating(model):
        inputs = (batch[0] if isinstance(batch, (tuple, list)) else batch for batch in batches)
        return np.concatenate([model(x).data for x in inputs])


def epochs_since_best(losses, min_delta=0.0):
    """How many losses came after the last improvement; all of them, if there was none.

    losses     list of floats, the oldest first; nan and inf may be among them, and are no
               improvement
    min_delta  a loss improves on the best one so far when it is lower by more than this
    returns    a whole number: 0 if the last loss is an improvement, or if there are no losses

    >>> epochs_since_best([5.0, 3.0, 4.0, 3.0, 3.5])
    3

    Source: Prechelt, Early stopping - but when? (1998), compares such rules.
    """
    best, since = math.inf, 0
    for loss in losses:
        since += 1
        if loss < best - min_delta:
            best, since = loss, 0
    return since


def generators_in(thing, seen=None):
    """Every NumPy Generator in `thing`, in a fixed order, each once: in attributes, lists,
    tuples and dicts."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, (type, np.ndarray, Tensor)):
        return []
    seen.add(id(thing))
    if isinstance(thing, np.random.Generator):
        return [thing]
    parts = (thing if isinstance(thing, (list, tuple)) else
             (thing if isinstance(thing, dict) else getattr(thing, "__dict__", {})).values())
    return [generator for part in parts for generator in generators_in(part, seen)]


def random_states(thing):
    """The states of the generators in `thing`, a list: all that the numbers they will draw
    depend on."""
    return [generator.bit_generator.state for generator in generators_in(thing)]


def set_random_states(thing, states):
    """Put generators back to what `random_states` found. ValueError when there are more,
    fewer or others."""
    found = generators_in(thing)
    if ([g.bit_generator.state["bit_generator"] for g in found]
            != [state["bit_generator"] for state in states]):
        raise ValueError(f"there are {len(found)} random generators here, "
                         f"and states for {len(states)}: was the network or the loader built "
                         "in another way?")
    for generator, state in zip(found, states):
        generator.bit_generator.state = state


def snapshot(run):
    """All that the rest of a training run depends on, copied.

    run      an object with the attributes told above, such as a `Trainer`
    returns  dict with the entries model, optimizer, schedule what their state_dict() gives;
             None for no schedule accumulate, epoch, position, records, history, best, start the
             attributes chance of the list of RandomState.rng, the layers' own generator,
             and the model

    Whatever happens to `run` later, the snapshot stays as it is. Taking one changes nothing and
    draws nothing.

    Source: PyTorch's tutorial "Saving and loading a general checkpoint" keeps model, optimizer,
    epoch and loss.
    """
    plain = ("accumulate", "epoch", "position", "records", "history", "best", "start")
    state = {name: getattr(run, name) for name in plain}
    state |= {"model": run.model.state_dict(), "optimizer": run.optimizer.state_dict()}
    state["schedule"] = None if run.schedule is None else run.schedule.state_dict()
    state["chance"] = random_states([RandomState.rng, run.model])
    return copy.deepcopy(state)


def put(run, state):
    """Take over a snapshot, part by part. ValueError at the first part that does not fit: what
    comes before it is changed."""
    if missing := {"model", "optimizer", "schedule", "chance", "accumulate", "epoch",
                   "position", "records", "history", "best", "start"} - set(state):
        raise ValueError(f"this is no whole checkpoint: {', '.join(sorted(missing))} missing")
    if state["accumulate"] != run.accumulate:
        raise ValueError(f"it was saved with accumulate={state['accumulate']}, "
                         f"this run has {run.accumulate}: the groups would differ")
    state = copy.deepcopy(state)
    for name in ("model", "optimizer", "schedule"):
        part = getattr(run, name)
        if (part is None) != (state[name] is None):
            raise ValueError(f"the checkpoint was saved {'without' if part else 'with'} a "
                             f"{name}, this run is {'with' if part else 'without'} one")
        if part is not None:
            part.load_state_dict(state[name])
    set_random_states([RandomState.rng, run.model], state["chance"])
    for name in ("epoch", "position", "records", "history", "best", "start"):
        setattr(run, name, state[name])


def restore(run, state):
    """Let `run` go on from a snapshot. When anything does not fit, raise that error, with `run`
    as it was.

    run      an object as `snapshot` takes it
    state    a snapshot of such a run; nothing is shared with it afterwards
    returns  None
    """
    before = snapshot(run)
    try:
        put(run, state)
    except Exception:
        put(run, before)
        raise


def remaining(run, batches):
    """The groups of this epoch that are still to be done; `run.start` is the batches' chance at
    the epoch's start."""
    if run.position == 0 and not run.loaded:
        run.start = random_states(batches)
        return groups(batches, run.accumulate)
    run.loaded = False
    set_random_states(batches, run.start)
    of_run = random_states([RandomState.rng, run.model])
    walk = groups(batches, run.accumulate)
    done = sum(1 for _ in itertools.islice(walk, run.position))
    if done < run.position:
        raise ValueError(f"{run.position} groups of this epoch were done, "
                         f"but there are only {done}: these are other batches")
    set_random_states([RandomState.rng, run.model], of_run)  # the batches may have drawn
    return walk


def blame(layers):
    """The first layer whose output is not finite, and why.

    layers   list of (name, list of input arrays, dict {name: parameter array}, output array),
             in the order in which they were computed
    returns  None when every output is finite; else (name of the layer, cause) where the cause
             is "input" an input is not finite "parameter NAME" all inputs are, and the first
             parameter that is not is called NAME "output" the layer made it from finite numbers

    >>> blame([("0 exp", [np.array([1.0, 1000.0])], {}, np.array([2.7, np.inf])),
    ...        ("1 Dense", [], {}, np.array([np.nan]))])
    ('0 exp', 'output')
    """
    for name, inputs, weights, output in layers:
        if not np.isfinite(output).all():
            if not all(np.isfinite(x).all() for x in inputs):
                return name, "input"
            broken = [f"parameter {path}" for path, array in weights.items()
                      if not np.isfinite(array).all()]
            return name, broken[0] if broken else "output"
    return None


class NotFinite(ArithmeticError):
    """A loss or a gradient became inf or nan; the message names the layer. The weights are
    those from before the step."""


class Trainer:
    """Trains a network: epochs, measures, early stopping, checkpoints.

    model       a Module
    optimizer   of its parameters
    loss        a function of (outputs, targets): the mean over a batch
    metrics     dict of {name: function of (outputs, targets)}: a mean over a batch, such as
                {"accuracy": accuracy}
    schedule    of the optimizer's learning rate, or None; `per` says if it steps per "epoch" or
                per "step"
    accumulate  how many batches make one step
    max_norm    gradients that are longer together are shortened to this length; None for as
                they are
    show        whether to tell how it goes

    .history    dict {name: list with one float per epoch}: "loss", the metrics, "rate", and
                with a validation set "validation loss" and so on
    .epoch      epochs that are done
    """

    def __init__(self, model, optimizer, loss, metrics=None, schedule=None, *, per="epoch",
                 accumulate=1, max_norm=None, show=True):
        if per not in ("epoch", "step") or accumulate < 1:
            raise ValueError('per is "epoch" or "step" and accumulate 1 or more, '
                             f'not {per!r} and {accumulate}')
        self.model, self.optimizer, self.loss, self.metrics = (
            model, optimizer, loss, dict(metrics or {}))
        self.schedule, self.per, self.accumulate, self.max_norm, self.show = (
            schedule, per, accumulate, max_norm, show)
        self.epoch = self.position = 0  # epochs done, and groups of the next one
        self.records, self.history, self.best, self.start = [], {}, None, []
        self.loaded = False  # from a checkpoint, and not gone on yet

    def fit(self, batches, epochs, validation=None, *, patience=None, min_delta=0.0,
            checkpoint=None, every=None):
        """Train until `epochs` epochs are done, those from before included.

        batches     to be looped over once per epoch, each (inputs, targets), such as a
                    DataLoader or a list
        validation  batches to evaluate after each epoch
        patience    stop when the validation loss has not improved for so many epochs, and put
                    the best weights back
        min_delta   what counts as an improvement, in the unit of the loss
        checkpoint  a file to keep the run in, written after each epoch and after every `every`
                    steps; see `load`
        returns     the history

        Raises NotFinite when a loss or gradient is inf or nan.
        """
        if patience is not None and validation is None:
            raise ValueError("patience needs a validation set: the loss of the training set "
                             "only falls")
        if iter(batches) is batches:
            raise ValueError("batches is a generator, used up after one epoch: give a list, "
                             "or a DataLoader")
        with Display(self.show, batches, self.accumulate) as display:
            while self.epoch < epochs and not self.tired(patience, min_delta):
                began = time.perf_counter()

                def update(group):
                    found = self.update(group)
                    self.records += found
                    self.position += 1
                    display.step(self.epoch, self.position)
                    if checkpoint and every and self.position % every == 0:
                        self.save(checkpoint)
                    return found

                told = train_epoch(self.model, update, remaining(self, batches), self.records)
                if validation is not None:
                    told |= {f"validation {name}": value
                             for name, value in self.evaluate(validation).items()}
                # for the next epoch, which may begin in another process
                self.start = random_states(batches)
                self.end_epoch(told | {"rate": self.optimizer.param_groups[0]["lr"]},
                               patience, min_delta)
                if checkpoint:
                    self.save(checkpoint)
                display.end_epoch(self.epoch, epochs, told, time.perf_counter() - began)
        if patience is not None and self.best is not None:
            self.model.load_state_dict(self.best)
        return self.history

    def update(self, group):
        """One step, with a group of batches; returns their records."""
        chance = random_states([RandomState.rng, self.model])
        self.optimizer.zero_grad()
        found = accumulate(self.model, self.loss, group, self.metrics)
        self.refuse_what_is_not_finite(found, group, chance)
        if self.max_norm is not None:
            from tinytorch.core.optimizers import clip_grad_norm_

            clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.optimizer.step()
        if self.schedule is not None and self.per == "step":
            self.schedule.step()
        return found

    def refuse_what_is_not_finite(self, found, group, chance):
        """Raise NotFinite, naming the layer, when a loss in the records `found` or a gradient
        is not finite."""
        where = f"epoch {self.epoch + 1}, step {self.position + 1}"
        for (values, _), (inputs, _) in zip(found, group):
            if not math.isfinite(values["loss"]):
                set_random_states([RandomState.rng, self.model], chance)  # dropout as it was
                with np.errstate(all="ignore"), no_grad(), watch_layers(self.model) as layers:
                    self.model(inputs)
                name, cause = blame(layers) or ("the loss", "output")
                why = {
                    "input": "got it as its input", "output": "made it from finite numbers",
                }.get(cause, f"has it in its {cause}")
                raise NotFinite(f"{where}: the loss is {values['loss']}, "
                                f"and the first to blame is {name}, which {why}. "
                                "Smaller steps (lr, max_norm)? Scaled inputs? "
                                "A log or a division near 0?")
        # the walk back came by the last layer first
        for path, p in reversed(self.model.named_parameters()):
            if (p.grad is not None and not math.isfinite(p.grad.sum())
                and not np.isfinite(p.grad).all()):
                raise NotFinite(f"{where}: the loss is finite, the gradient of {path} is not: "
                                "look at the slope of what comes after it (the root of 0, "
                                "a power of a negative number, an overflow)")

    def end_epoch(self, told, patience, min_delta):
        for name, value in told.items():
            self.history.setdefault(name, []).append(value)
        self.epoch, self.position, self.records = self.epoch + 1, 0, []
        if (patience is not None
            and epochs_since_best(self.history["validation loss"], min_delta) == 0):
            self.best = self.model.state_dict()
        if self.schedule is not None and self.per == "epoch":
            self.schedule.step()

    def tired(self, patience, min_delta):
        return (patience is not None
                and epochs_since_best(self.history.get("validation loss", []),
                                      min_delta) >= max(patience, 1))

    def evaluate(self, batches):
        """The loss and the metrics on batches that are not learned from: dict {name: float}."""
        return evaluate(self.model, self.loss, batches, self.metrics)

    def predict(self, batches):
        """The outputs for every example, an ndarray."""
        return predict(self.model, batches)

    def save(self, path):
        """Write a checkpoint: afterwards `path` holds this one, or, if that failed, the one
        from before."""
        save_state(path, snapshot(self))

    def load(self, path):
        """Go on from a checkpoint, bit for bit, with a network, optimizer and batches built in
        the same way.

        CheckpointError when the file is damaged, foreign or of another network; then nothing
        has changed.
        """
        state = load_state(path)
        try:
            restore(self, state)
            self.loaded = True
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise CheckpointError(f"{path} does not fit this run: {error}") from None


@contextlib.contextmanager
def as_before(model, optimizer, batches=()):
    """A block in which `model` is trained for a trial. Afterwards it, the optimizer, chance and
    modes are as before."""
    parts = [RandomState.rng, model, batches]
    weights, steps, chance = (model.state_dict(), copy.deepcopy(optimizer.state_dict()),
                              random_states(parts))
    modes = [(part, part.training) for part in model.modules()]
    model.train()
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    finally:
        model.load_state_dict(weights)
        optimizer.load_state_dict(steps)
        optimizer.zero_grad()
        set_random_states(parts, chance)
        for part, mode in modes:
            part.training = mode


def endless(batches):
    """The batches again and again."""
    while True:
        empty = True
        for batch in batches:
            empty = False
            yield batch
        if empty:
            raise ValueError("there is nothing to learn from: no batches")


def learning_rate_range(model, loss, optimizer, batches, low=1e-5, high=10.0, steps=60):
    """The losses of a trial with growing learning rates, one step with one batch each.

    model, loss, optimizer  as for `train_step`; model and optimizer are afterwards as before
    batches    (inputs, targets), gone through again and again
    low, high  the first rate and the last, per step; each is the same multiple of the one
               before
    steps      how many rates, 2 or more
    returns    (rates, losses), two equally long lists of floats: losses[i] was measured before
               the step with rates[i]

    Stops early, that loss included, when one is not finite or more than 4 times the lowest so
    far.

    Source: Smith, Cyclical learning rates for training neural networks (2017), section 3.3,
    with rates that grow evenly.
    """
    rates, losses = np.geomspace(low, high, steps).tolist(), []
    with as_before(model, optimizer, batches):
        for rate, (inputs, targets) in zip(rates, endless(batches)):
            for group in optimizer.param_groups:
                group["lr"] = rate
            losses.append(train_step(model, loss, optimizer, inputs, targets))
            if not losses[-1] <= 4 * min(losses):
                break
    return rates[: len(losses)], losses


def suggested_rate(rates, losses):
    """A rate to begin with: a tenth of the one at which the loss of a trial was lowest."""
    lowest = min((loss, rate) for rate, loss in zip(rates, losses) if math.isfinite(loss))
    return lowest[1] / 10


def overfit_one_batch(model, loss, optimizer, inputs, targets, steps=200):
    """The losses of a trial that learns one batch by heart; they should go near 0. Afterwards
    everything is as before."""
    with as_before(model, optimizer):
        return [train_step(model, loss, optimizer, inputs, targets) for _ in range(steps)]
