# From modules/source/08_training/training_dev.py by `tito export`; edit that file, not this one.
# checksum: eb609b81ea631e38
"""Training: Epochs, metrics, early stopping, checkpoints, and what to do when the loss is nan."""

import contextlib
import copy
import math

import numpy as np

from tinytorch.core.autograd import no_grad
from tinytorch.core.layers import Module, RandomState
from tinytorch.core.optimizers import clip_grad_norm_
from tinytorch.core.tensor import Tensor
from tinytorch.support.arguments import checked_batches, input_batches
from tinytorch.support.checkpoints import CheckpointError, load_state, save_state
from tinytorch.support.training_state import (
    NonFiniteError,
    TrainingState,
    check_gradients,
    check_losses,
    preserved_state,
    random_states,
    remaining,
    repeat_batches,
    restore,
)

__all__ = [
    "train_step", "accuracy", "confusion_matrix", "average_metrics", "microbatches", "accumulate_gradients",
    "evaluation_mode", "evaluate", "predict", "epochs_since_best", "TrainingStep", "TrainingRun", "Trainer",
    "learning_rate_range", "suggest_learning_rate", "find_nonfinite", "overfit_one_batch", "snapshot",
]


def train_step(model, loss, optimizer, inputs, targets):
    """Update the parameters of `model` once, using one batch.

    model      a Module, called with the inputs
    loss       a function of (outputs, targets) that returns a Tensor of shape (): the mean over
               the batch
    optimizer  of the model's parameters, with the methods zero_grad() and step()
    inputs, targets  one batch
    returns    the loss before the update, a Python float

    Gradients from before the call have no effect. The gradients of this batch are kept, so that
    the caller can look at them.

    >>> from tinytorch.core.layers import Dense
    >>> from tinytorch.core.optimizers import SGD
    >>> layer = Dense(1, 1, rng=0)
    >>> train_step(layer, lambda out, y: ((out - y) ** 2).mean(),
    ...            SGD(layer.parameters(), lr=0.1), Tensor([[0.0]]), 3.0)
    9.0

    Source: the PyTorch tutorial "Optimizing Model Parameters", function train_loop.
    """
    optimizer.zero_grad()
    value = loss(model(inputs), targets)
    value.backward()
    optimizer.step()
    return float(value)


def accuracy(outputs, targets):
    """The fraction of examples whose largest score is the score of the true class.

    outputs  Tensor or array of scores, shape (..., classes)
    targets  true classes, integers from 0: Tensor, array or list of shape (...)
    returns  a Python float from 0 to 1

    Raises ValueError, with the shape of the targets in its message, unless there is exactly one
    target for each row of scores.

    >>> accuracy(Tensor([[0.1, 0.9], [2.0, -1.0], [0.0, 5.0]]), [1, 0, 0]) == 2 / 3
    True

    Source: torchmetrics.classification.MulticlassAccuracy with average="micro".
    """
    outputs, targets = np.asarray(outputs), np.asarray(targets)
    if outputs.shape[:-1] != targets.shape:
        raise ValueError(f"scores of shape {outputs.shape} need targets of shape "
                         f"{outputs.shape[:-1]}, not {targets.shape}")
    return float((outputs.argmax(axis=-1) == targets).mean())


def confusion_matrix(outputs, targets):
    """How often each true class was predicted as each class.

    outputs  Tensor or array of scores, shape (n, classes)
    targets  true classes, integers from 0: Tensor, array or list of shape (n,)
    returns  ndarray of ints, shape (classes, classes): element (i, j) is the number of examples
             of class i whose largest score is the score of class j

    >>> confusion_matrix(Tensor([[2.0, 1.0], [0.0, 3.0], [0.0, 5.0]]), [0, 0, 0])
    array([[1, 2],
           [0, 0]])

    Source: sklearn.metrics.confusion_matrix.
    """
    scores = np.asarray(outputs)
    counts = np.zeros((scores.shape[-1], scores.shape[-1]), int)
    np.add.at(counts, (np.asarray(targets), scores.argmax(axis=-1)), 1)
    return counts


def average_metrics(results):
    """The mean of each metric over all examples, from its means over batches.

    results  list of ({name: mean over a batch}, examples in the batch), all with the same names
    returns  dict {name: float}, in the order of the names

    Raises ValueError when there are no examples. A loss of nan or inf makes the average nan or
    inf.

    >>> average_metrics([({"loss": 1.0}, 3), ({"loss": 5.0}, 1)])
    {'loss': 2.0}

    Source: the weighted arithmetic mean; torchmetrics.MeanMetric.
    """
    total = sum(count for _, count in results)
    if total == 0:
        raise ValueError("no examples to average over: were the batches a generator that is "
                         "used up?")
    return {name: sum(metrics[name] * count for metrics, count in results) / total
            for name in results[0][0]}


def batch_result(loss, outputs, targets, metrics):
    """The result of one batch: its loss and metrics as floats, and its number of examples."""
    return ({"loss": float(loss)}
            | {name: float(f(outputs, targets)) for name, f in metrics.items()}, len(targets))


def microbatches(batches, size):
    """The batches in lists of `size`, in order; the last list may be shorter, never empty.

    >>> list(microbatches("abcde", 2))
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


def accumulate_gradients(model, loss, batches, metrics={}):
    """Add the gradient of several batches, taken as one large batch, to the gradients of the
    model.

    model    a Module
    loss     a function of (outputs, targets): the mean over a batch, a Tensor of shape ()
    batches  list of (inputs, targets)
    metrics  dict of {name: function of (outputs, targets)}, each a mean over a batch
    returns  list with the `batch_result` of each batch: its own mean loss, and the metrics

    The new gradients are added to those that the model already has. Each batch runs forward
    once, and backward before the next one runs forward, so that only one graph is in memory.

    >>> from tinytorch.core.layers import Dense
    >>> layer = Dense(1, 1, rng=0)
    >>> accumulate_gradients(layer, lambda out, y: (out - y).mean(),
    ...                      [(Tensor([[0.0]]), [[2.0]]), (Tensor([[0.0]] * 3), [[0.0]] * 3)])
    [({'loss': -2.0}, 1), ({'loss': 0.0}, 3)]
    >>> layer.bias.grad
    array([1.], dtype=float32)

    Source: Hugging Face Accelerate, "Performing gradient accumulation".
    """
    total, results = sum(len(targets) for _, targets in batches), []
    for inputs, targets in batches:
        outputs = model(inputs)
        value = loss(outputs, targets)
        (value * (len(targets) / total)).backward()
        results.append(batch_result(value, outputs, targets, metrics))
    return results


@contextlib.contextmanager
def evaluation_mode(model):
    """A `with` block in which `model` is in evaluation mode: `training` is False in every
    module, and no computation graph is recorded.

    Afterwards every module is in the mode it was in before, even after an exception, which is
    not caught.

    >>> from tinytorch.core.layers import Dense
    >>> net = Dense(1, 1)
    >>> with evaluation_mode(net):
    ...     net.training
    False
    >>> net.training
    True

    Source: Python library reference, contextlib.contextmanager.
    """
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with no_grad():
            yield
    finally:
        for module, mode in modes:
            module.training = mode


def evaluate(model, loss, batches, metrics={}):
    """The mean loss and metrics of `model` over all examples: dict {name: float}.

    metrics  dict of {name: function of (outputs, targets)}, each a mean over a batch
    """
    results = []
    with evaluation_mode(model):
        for inputs, targets in checked_batches(batches):
            outputs = model(inputs)
            results.append(batch_result(loss(outputs, targets), outputs, targets, metrics))
    return average_metrics(results)


def predict(model, batches):
    """The outputs of `model` for every example, an ndarray of shape (examples, ...).

    batches  one Tensor or array of inputs; or a list or DataLoader of batches. Each batch is
             the inputs alone, or a tuple or list that begins with the inputs
    """
    with evaluation_mode(model):
        return np.concatenate([model(x).data for x in input_batches(batches)])


def epochs_since_best(losses, min_delta=0.0):
    """The number of losses after the last improvement; all of them, if there was none.

    losses     list of floats, oldest first. A loss of nan or +inf is no improvement
    min_delta  a loss is an improvement if it is more than this below the loss of the last
               improvement; the first finite loss is always one
    returns    int: 0 if the last loss is an improvement, or if there are no losses

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


class TrainingStep(TrainingState):
    """One step of a training run. See `Trainer`."""

    def step(self, batches):
        """One optimizer step on a list of batches; returns their results."""
        batches = list(checked_batches(batches, "fit"))
        # from these states, a repeated forward pass drops the same units
        states = random_states([RandomState.rng, self.model])
        where = f"epoch {self.epoch + 1}, step {self.epoch_step + 1}"
        self.optimizer.zero_grad()
        results = accumulate_gradients(self.model, self.watched_loss, batches, self.metrics)
        # find_nonfinite is written below; the lambda looks it up when it is called
        check_losses(self.model, results, batches, states, where,
                     lambda layers: find_nonfinite(layers))
        check_gradients(self.model, where)
        if self.max_norm is not None:
            clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.optimizer.step()
        if self.schedule is not None and self.per == "step":
            self.schedule.step()
        return results


class TrainingRun(TrainingStep):
    """One epoch of a training run, and checkpoints. See `Trainer`."""

    def train_epoch(self, batches, checkpoint=None, every=None):
        """Train on the (remaining) batches of one epoch; returns the mean loss and metrics, a
        dict {name: float}. Saves a checkpoint after every `every` steps."""
        self.model.train()
        with self.display:
            for group in remaining(self, batches, microbatches):
                self.results += self.step(group)
                self.epoch_step += 1
                self.display.step(self.epoch, self.epoch_step)
                if checkpoint and every and self.epoch_step % every == 0:
                    self.save(checkpoint)
        return average_metrics(self.results)

    def should_stop(self, patience, min_delta):
        """Whether the validation loss has not improved for `patience` epochs (0 means 1)."""
        losses = self.history.get("validation loss", [])
        return (patience is not None
                and epochs_since_best(losses, min_delta) >= max(patience, 1))

    def evaluate(self, batches):
        """The mean loss and metrics over all examples of `batches`: dict {name: float}."""
        return evaluate(self.model, self.loss, batches, self.metrics)

    def predict(self, batches):
        """The outputs for every example of `batches`, or of one batch, an ndarray."""
        return predict(self.model, batches)

    def save(self, path):
        """Write a checkpoint to the file `path`."""
        save_state(path, snapshot(self))

    def load(self, path):
        """Continue from a checkpoint, bit for bit, with a model, optimizer and batches built in
        the same way.

        Raises CheckpointError if the file is damaged or belongs to another run; the trainer is
        then unchanged.
        """
        state, before = load_state(path), snapshot(self)
        try:
            restore(self, state)
            self.resumed = True
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            restore(self, before)
            raise CheckpointError(f"{path} does not fit this run: {error}") from None


class Trainer(TrainingRun):
    """Trains a model: epochs, metrics, early stopping, checkpoints.

    model       a Module
    optimizer   of its parameters
    loss        a function of (outputs, targets): the mean over a batch
    metrics     dict of {name: function of (outputs, targets)}, each a mean over a batch, such
                as {"accuracy": accuracy}
    schedule    of the optimizer's learning rate, or None; `per` says whether it steps once per
                "epoch" or per "step"
    accumulate  number of batches per optimizer step
    max_norm    gradients with a larger joint norm are clipped to it; None for no clipping
    show        whether to print a line per epoch

    .history    dict {name: list with one float per epoch}. Names: "loss", each metric,
                "learning rate"; with a validation set also "validation loss" and "validation "
                before the name of each metric
    .epoch      number of complete epochs
    """

    def fit(self, batches, epochs, validation=None, *, patience=None, min_delta=0.0,
            checkpoint=None, every=None):
        """Train until `epochs` epochs are complete, including the epochs of earlier calls.

        batches     (inputs, targets), used once per epoch: a list, or a DataLoader (lesson 09),
                    which can shuffle the examples in each epoch
        validation  batches to evaluate on after each epoch, or None
        patience    stop when the validation loss has not improved for this many epochs (call
                    `should_stop`, which treats 0 as 1); None for no early stopping
        min_delta   the least improvement of the validation loss that counts
        checkpoint  None, or a file to save the run to after each epoch, and after every `every`
                    steps
        returns     the history

        1. Before each epoch, including the first of this call, stop if `should_stop` returns
           True: a run that has stopped early trains no further epoch when it is continued.
        2. Train for one epoch.
        3. With a validation set, evaluate on it, and add the results to the metrics of the
           epoch; each of their names gets the prefix "validation ".
        4. End the epoch with the metrics.
        5. With `patience`, if the validation loss is an improvement (see `epochs_since_best`),
           store the model's state_dict in `self.best_weights`.
        6. With `checkpoint`, save; last, so that the file contains all of this.

        At the end, with `patience`, load the best weights, if there are any.

        Source: Keras, Model.fit with EarlyStopping(restore_best_weights=True).
        """
        self.begin_fit(batches, epochs, validation, patience)
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


def learning_rate_range(model, loss, optimizer, batches, low=1e-5, high=10.0, steps=60):
    """The losses of a learning-rate range test: one training step per learning rate.

    model, loss, optimizer  as for `train_step`
    batches    (inputs, targets), one batch per step; after the last one, start again
    low, high  the first and the last learning rate; each is the same multiple of the previous
               one, and is set in every parameter group: optimizer.param_groups[i]["lr"]
    steps      number of learning rates, 2 or more
    returns    (rates, losses), two lists of Python floats of the same length: losses[i] is the
               loss before the step with rates[i]

    Stops early if a loss is not finite or is more than 4 times the lowest so far; this loss and
    its rate are the last in the lists. Afterwards model, optimizer and all random-number
    generators are as before.

    Source: Smith, Cyclical learning rates for training neural networks (2017), section 3.3,
    with rates that grow by a factor.
    """
    rates, losses = np.geomspace(low, high, steps).tolist(), []
    with preserved_state(model, optimizer, batches):
        for rate, (inputs, targets) in zip(rates, repeat_batches(batches)):
            for group in optimizer.param_groups:
                group["lr"] = rate
            losses.append(train_step(model, loss, optimizer, inputs, targets))
            if not losses[-1] <= 4 * min(losses):
                break
    return rates[: len(losses)], losses


def suggest_learning_rate(rates, losses):
    """A tenth of the learning rate at which the loss of a range test was lowest."""
    lowest = min((loss, rate) for rate, loss in zip(rates, losses) if math.isfinite(loss))
    return lowest[1] / 10


def find_nonfinite(layers):
    """The first layer whose output holds nan or inf, and the cause.

    layers   list of (name, list of input arrays, dict {name: parameter array}, output array),
             in the order of the forward pass
    returns  None when every output is finite; else the pair (name of the layer, cause), where
             cause is one of three texts, in this order:
             "input"           an input of the layer is not finite
             "parameter NAME"  its inputs are finite, but a parameter is not; NAME is the first
                               such parameter
             "output"          inputs and parameters are finite: the layer produced it

    >>> find_nonfinite([("0 exp", [np.array([1.0, 1000.0])], {}, np.array([2.7, np.inf])),
    ...                 ("1 Dense", [], {}, np.array([np.nan]))])
    ('0 exp', 'output')

    Source: torch.autograd.detect_anomaly does the same for the backward pass.
    """
    for name, inputs, parameters, output in layers:
        if not np.isfinite(output).all():
            if not all(np.isfinite(x).all() for x in inputs):
                return name, "input"
            for parameter, array in parameters.items():
                if not np.isfinite(array).all():
                    return name, f"parameter {parameter}"
            return name, "output"
    return None


def overfit_one_batch(model, loss, optimizer, inputs, targets, steps=200):
    """The losses of training on one batch only; they should go near 0. Afterwards model and
    optimizer are as before."""
    with preserved_state(model, optimizer):
        return [train_step(model, loss, optimizer, inputs, targets) for _ in range(steps)]


def snapshot(run):
    """Everything that the rest of a training run depends on, as a dict of plain data.

    run      a `Trainer`, or an object with the same attributes; its `loader_states` are the
             states of the generators that shuffle the batches (of a DataLoader, lesson 09)
    returns  dict with eleven entries:
             "model", "optimizer", "schedule"  what their state_dict() returns; None if
                              `run.schedule` is None
             "accumulate", "epoch", "epoch_step", "results", "history", "best_weights",
             "loader_states"  the attributes of `run` with these names
             "random_states"  random_states([RandomState.rng, run.model])

    The snapshot shares no array, list or dict with `run`, so later changes of `run` do not
    change it. `snapshot` changes nothing and draws no random numbers.

    Source: PyTorch tutorial "Saving and loading a general checkpoint" (model, optimizer, epoch
    and loss).
    """
    names = ("accumulate", "epoch", "epoch_step", "results", "history", "best_weights",
             "loader_states")
    state = {name: getattr(run, name) for name in names}
    state["model"] = run.model.state_dict()
    state["optimizer"] = run.optimizer.state_dict()
    state["schedule"] = None if run.schedule is None else run.schedule.state_dict()
    state["random_states"] = random_states([RandomState.rng, run.model])
    return copy.deepcopy(state)
