# From modules/source/08_training/training_dev.py by `tito export`, docstrings shortened; edit that file.
# checksum: b34bd0386f1bb1b5
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

    loss       a function of (outputs, targets) that returns a Tensor of shape (): the mean over
               the batch
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
    """
    scores = np.asarray(outputs)
    counts = np.zeros((scores.shape[-1], scores.shape[-1]), int)
    np.add.at(counts, (np.asarray(targets), scores.argmax(axis=-1)), 1)
    return counts


def average_metrics(results):
    """The mean of each metric over all examples, from its means over batches.

    returns  dict {name: float}, in the order of the names

    Raises ValueError when there are no examples.

    >>> average_metrics([({"loss": 1.0}, 3), ({"loss": 5.0}, 1)])
    {'loss': 2.0}
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

    loss     a function of (outputs, targets): the mean over a batch, a Tensor of shape ()
    returns  list with the `batch_result` of each batch: its own mean loss, and the metrics
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
    """The mean loss and metrics of `model` over all examples: dict {name: float}."""
    results = []
    with evaluation_mode(model):
        for inputs, targets in checked_batches(batches):
            outputs = model(inputs)
            results.append(batch_result(loss(outputs, targets), outputs, targets, metrics))
    return average_metrics(results)


def predict(model, batches):
    """The outputs of `model` for every example, an ndarray of shape (examples, ...)."""
    with evaluation_mode(model):
        return np.concatenate([model(x).data for x in input_batches(batches)])


def epochs_since_best(losses, min_delta=0.0):
    """The number of losses after the last improvement; all of them, if there was none.

    returns    int: 0 if the last loss is an improvement, or if there are no losses

    >>> epochs_since_best([5.0, 3.0, 4.0, 3.0, 3.5])
    3
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

        Raises CheckpointError if the file is damaged or belongs to another run.
        """
        state, before = load_state(path), snapshot(self)
        try:
            restore(self, state)
            self.resumed = True
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            restore(self, before)
            raise CheckpointError(f"{path} does not fit this run: {error}") from None


class Trainer(TrainingRun):
    """Trains a model: epochs, metrics, early stopping, checkpoints."""

    def fit(self, batches, epochs, validation=None, *, patience=None, min_delta=0.0,
            checkpoint=None, every=None):
        """Train until `epochs` epochs are complete, including the epochs of earlier calls."""
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
    """The losses of a learning-rate range test: one training step per learning rate."""
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
    """The first layer whose output holds nan or inf, and the cause."""
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

    returns  dict with eleven entries:
             "model", "optimizer", "schedule"  what their state_dict() returns; None if
                              `run.schedule` is None
             "accumulate", "epoch", "epoch_step", "results", "history", "best_weights",
             "loader_states"  the attributes of `run` with these names
             "random_states"  random_states([RandomState.rng, run.model])
    """
    names = ("accumulate", "epoch", "epoch_step", "results", "history", "best_weights",
             "loader_states")
    state = {name: getattr(run, name) for name in names}
    state["model"] = run.model.state_dict()
    state["optimizer"] = run.optimizer.state_dict()
    state["schedule"] = None if run.schedule is None else run.schedule.state_dict()
    state["random_states"] = random_states([RandomState.rng, run.model])
    return copy.deepcopy(state)
