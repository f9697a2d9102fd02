# %% [markdown]
# # 08. Training
#
# A network was trained for 60 *epochs*: 60 passes over the same 60 training points. Its loss on
# these points kept falling, while its loss on 300 *other* points did not:

# %% tags=["payoff"]
from tinytorch.pictures.training import example_history, plot_learning_curve

figure = plot_learning_curve(example_history())
# caption: After epoch 27, the network improves only on the points that it is trained on.
# alt: Loss against the epoch. The training loss falls to almost 0. The validation loss falls
# until epoch 27, which is marked as the best epoch, and rises after it.

# %% [markdown]
# After 27 epochs the network was better than at the end. How do you measure how good a network
# really is, and when should its training stop? In this chapter you write a `Trainer` that
# measures the network after each epoch, stops in time, and restores the best weights. It also
# survives a power failure in epoch 59, and two more tools choose a learning rate and find out
# why a loss is `nan`.
#
# **You need** 04 (layers), 05 (losses), 06 (autograd) and 07 (optimizers). **You build** the
# training step, metrics, gradient accumulation, evaluation mode, early stopping, the training
# loop, checkpoints, and tools that find out why a network does not learn.

# %%
#| default_exp core.training
#| export
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
from tinytorch.support.training_state import (NonFiniteError, TrainingState, check_gradients,
                                              check_losses, preserved_state, random_states,
                                              remaining, repeat_batches, restore)

# %% [markdown] page="Steps, epochs and metrics"
# ## Training set, validation set, test set
#
# We split the data into three parts, because a model can be excellent on examples that it was
# trained on and bad on new ones.
#
# - The **training set** holds the examples whose gradients change the weights.
# - The **validation set** holds examples that the model is not trained on. We use its loss to
#   make choices, such as the epoch at which training stops.
# - The **test set** holds examples that are used once, at the very end, to estimate how good
#   the finished model is on new data.
#
# Our toy data set has three classes, the arms of a spiral. Noise makes them overlap.

# %%
from tinytorch.core.activations import Tanh
from tinytorch.core.layers import Dense, Dropout, Sequential, manual_seed
from tinytorch.core.losses import cross_entropy
from tinytorch.core.optimizers import Adam
from tinytorch.pictures.training import CLASSES, noisy_spirals, plot_points, plot_regions


def make_batches(points, labels, size):
    """A list of (inputs, targets), `size` examples each; the last batch may be smaller."""
    return [(Tensor(points[at : at + size]), Tensor(labels[at : at + size]))
            for at in range(0, len(points), size)]


train_batches = make_batches(*noisy_spirals(60, seed=1), 30)
validation_batches = make_batches(*noisy_spirals(300, seed=2), 128)
test_batches = make_batches(*noisy_spirals(600, seed=3), 128)

# %% tags=["demonstration"]
figure = plot_points(*noisy_spirals(60, seed=1), "training set")
# alt: 60 points in three classes, drawn as circles, squares and triangles. Points of a class
# lie together in one part of the plane; where two classes meet, they are mixed.

# %% [markdown]
# ### Hyperparameters and seeds
#
# The model has two hidden layers of 64 units. The number of layers and units, the learning rate
# and the batch size are not learned. A **hyperparameter** is a number that we choose before
# training instead of learning it by gradient descent.
#
# A **seed** is the integer that a random-number generator starts from: with the same seed, the
# same program draws the same numbers. `manual_seed(0)` gives all models below the same initial
# weights, so that a difference between two runs comes from our changes and not from chance.

# %%
def new_model():
    manual_seed(0)
    return Sequential(Dense(2, 64), Tanh(), Dense(64, 64), Tanh(), Dense(64, 3))

# %% [markdown]
# ## The training step
#
# We build the training loop from the inside, and begin with one step. A training step has four
# parts: clear the old gradients, compute the loss of a batch (the forward pass), compute the
# gradients (the backward pass), and let the optimizer update the weights. The old gradients
# must be cleared because `backward` *adds* to them. The step returns the loss, as a float: a
# Tensor would keep the whole computation graph in memory.
#
# Predict: a weight is 1, its gradient is 1 in each step, the learning rate is 0.1. What is the
# weight after two steps? And what is it if the gradients are never cleared?

# %% tags=["demonstration", "answer", "explained"]
for clear in (True, False):
    weight, gradient = 1.0, 0.0
    for step in range(2):
        gradient = 1.0 if clear else gradient + 1.0
        weight -= 0.1 * gradient
    print(f"clear {clear!s:5}: weight {weight:.1f}")

# %% [markdown]
# Without clearing, the second step uses the sum of both gradients, 2.
#
# **Task.** Write `train_step`.

# %% The training step exercise="step"
#| export
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
    ### BEGIN SOLUTION
    optimizer.zero_grad()
    value = loss(model(inputs), targets)
    value.backward()
    optimizer.step()
    return float(value)
    ### END SOLUTION

# %% checks="step"
check("step")

# %% [markdown]
# ## Epochs
#
# Training repeats this step with all batches, many times. An **epoch** is one pass over all
# batches of the training set. Ours has two batches, so one epoch is two training steps. Here is
# a first loop of 20 epochs:

# %% tags=["demonstration"]
model = new_model()
optimizer = Adam(model.parameters(), lr=0.02)
for epoch in range(20):
    for inputs, targets in train_batches:
        loss = train_step(model, cross_entropy, optimizer, inputs, targets)
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1:2}: loss of the last batch {loss:.3f}")

# %% [markdown]
# The loss falls: the network learns. The rest of the chapter is about measuring and controlling
# this loop.
#
# ## Metrics
#
# Gradient descent needs a differentiable loss, but people need a number that they can
# interpret. A **metric** is a number that says how good a model is; it needs no gradient.
#
# ### Accuracy
#
# The most common metric in classification is *accuracy*: the fraction of examples whose
# largest score is the score of the true class.
#
# Predict the shape of `predicted == targets` in NumPy when the shapes are (4,) and (4, 1).

# %% tags=["demonstration", "answer", "explained"]
predicted, targets = np.array([1, 0, 1, 1]), np.array([[1], [0], [1], [1]])
print((predicted == targets).shape, (predicted == targets).mean())

# %% [markdown]
# All four predictions are right, but the mean is 0.625: broadcasting compared every prediction
# with every target. Because there is no error message, 0.625 looks like a real accuracy.
#
# The given lines of `accuracy` refuse targets whose shape does not match.
#
# **Task.** Write `accuracy`.

# %% exercise="accuracy"
#| export
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
    ### BEGIN SOLUTION
    return float((outputs.argmax(axis=-1) == targets).mean())
    ### END SOLUTION

# %% checks="accuracy"
check("accuracy")

# %% tags=["demonstration"]
for name, (inputs, targets) in [("training", train_batches[0]),
                                ("validation", validation_batches[0])]:
    print(f"first batch of the {name} set: {accuracy(model(inputs), targets):.3f}")

# %% [markdown]
# ### The confusion matrix
#
# Accuracy says how many predictions are wrong, but not which classes are confused. The
# **confusion matrix** counts examples by true class (its row) and predicted class (its column).
# Correct predictions are on its diagonal.
#
# Counting with NumPy has a trap. Predict what the next cell prints.

# %% tags=["demonstration", "answer", "explained"]
counts = np.zeros(3, int)
counts[[0, 0, 0, 2]] += 1
print(counts)

# %% [markdown]
# Index 0 occurs three times, but its count is only 1: `counts[index] += 1` reads all elements
# first, adds 1 to each, and writes them back.
#
# `np.add.at(counts, index, 1)` adds 1 for each occurrence.
#
# **Task.** Write `confusion_matrix`.

# %% The confusion matrix exercise="confusion"
#| export
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
    ### BEGIN SOLUTION
    scores = np.asarray(outputs)
    counts = np.zeros((scores.shape[-1], scores.shape[-1]), int)
    np.add.at(counts, (np.asarray(targets), scores.argmax(axis=-1)), 1)
    return counts
    ### END SOLUTION

# %% checks="confusion"
check("confusion")

# %% tags=["demonstration"]
from tinytorch.pictures.training import draw_confusion_matrix

inputs, targets = validation_batches[0]
draw_confusion_matrix(confusion_matrix(model(inputs), targets), CLASSES)
# alt: A table with three rows (true class) and three columns (predicted class). Most of the
# 128 points are on the diagonal; the other cells are hatched.

# %% [markdown]
# ### Averaging over batches
#
# A data set is evaluated batch by batch, and the last batch is often smaller. Suppose the model
# is right on all 100 examples of the first batch, and wrong on the only example of the second.
# Predict the mean of the two accuracies, and the accuracy on all 101 examples.

# %% tags=["demonstration", "answer"]
print(np.mean([1.0, 0.0]), 100 / 101)

# %% [markdown]
# The mean of the means is wrong unless all batches have the same size. So for each batch we
# store a pair: its metrics and its number of examples, such as
# `({"loss": 0.25, "accuracy": 0.9}, 32)`. We call this pair the *result* of the batch.
#
# **Task.** Write `average_metrics`. The given lines count the examples, and refuse to average
# over none.

# %% Averages over batches exercise="average"
#| export
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
    ### BEGIN SOLUTION
    return {name: sum(metrics[name] * count for metrics, count in results) / total
            for name in results[0][0]}
    ### END SOLUTION

# %% checks="average"
check("average")

# %% [markdown]
# The given function `batch_result` computes the result of a batch:

# %%
#| exporti
def batch_result(loss, outputs, targets, metrics):
    """The result of one batch: its loss and metrics as floats, and its number of examples."""
    return ({"loss": float(loss)}
            | {name: float(f(outputs, targets)) for name, f in metrics.items()}, len(targets))

# %% [markdown] page="Accumulation and evaluation"
# ## Gradient accumulation
#
# A batch of 256 examples may not fit into memory. *Gradient accumulation* processes it in
# parts, for example four parts of 64. A **micro-batch** is a part of a batch that runs forward
# and backward by itself. The gradients of all parts are added before one optimizer step. If
# each part has the right weight, the result is the same step as with the large batch.

# %%
#| export
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

# %% [markdown]
# The loss of a micro-batch is a mean over its examples, and so is its gradient. The weighted
# sum of these gradients should be the mean over *all* examples. Predict the weights of three
# micro-batches of 4, 4 and 2 examples.

# %% tags=["demonstration", "answer"]
print([size / 10 for size in (4, 4, 2)])

# %% [markdown]
# **Task.** Write `accumulate_gradients`. `batch_result` (section "Metrics") makes the results.

# %% Gradient accumulation exercise="accumulate"
#| export
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
    ### BEGIN SOLUTION
    total, results = sum(len(targets) for _, targets in batches), []
    for inputs, targets in batches:
        outputs = model(inputs)
        value = loss(outputs, targets)
        (value * (len(targets) / total)).backward()
        results.append(batch_result(value, outputs, targets, metrics))
    return results
    ### END SOLUTION

# %% checks="accumulate"
check("accumulate")

# %% [markdown]
# ## Evaluation mode
#
# Evaluating a model must not change it. Dropout has to be off, and no computation graph should
# be recorded. Afterwards each module must be in the mode it was in before, even if the
# evaluation raised an exception.
#
# Sometimes a submodule is kept in evaluation mode on purpose while the rest of the model is
# trained. We call it *frozen*. Predict what mode a frozen submodule has after `model.eval()`
# and `model.train()`.

# %% tags=["demonstration", "answer", "explained"]
partly_frozen = Sequential(Dense(2, 2), Dropout(0.3))
partly_frozen[1].eval()
partly_frozen.eval()
partly_frozen.train()
print("training:", partly_frozen[1].training)

# %% [markdown]
# Because `model.train()` puts it into training mode, the mode of each module has to be saved.
#
# Python expresses "before" and "after" with a `with` block. `contextlib.contextmanager` turns a
# function with one `yield` into such a block: the code before the `yield` runs when the block
# begins, the code after it when the block ends. If the block raises an exception, Python raises
# it again at the `yield`. Code that must run even after an error goes into the `finally:` of a
# `try:` around the `yield`. `model.modules()` (lesson 04) lists the model and all its
# submodules.
#
# **Task.** Write `evaluation_mode`.

# %% Evaluation mode exercise="evaluation"
#| export
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
    ### BEGIN SOLUTION
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with no_grad():
            yield
    finally:
        for module, mode in modes:
            module.training = mode
    ### END SOLUTION

# %% checks="evaluation"
check("evaluation")

# %% [markdown]
# ### Evaluation and inference
#
# With `evaluation_mode` and `average_metrics`, evaluating a model is a short function. The
# second function below, `predict`, is for inference. **Inference** means computing the outputs
# of a trained model for new inputs, without targets and without a backward pass.

# %%
#| export
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

# %% tags=["demonstration"]
for name, batches in [("training set", train_batches), ("validation set", validation_batches)]:
    print(f"{name:14}", evaluate(model, cross_entropy, batches, {"accuracy": accuracy}))

# %% [markdown] page="The whole loop"
# ## Learning curves and overfitting
#
# Next we train for 60 epochs, and measure the loss on both sets after each epoch.
# **Generalization** is how well a model does on data that it was not trained on. The validation
# loss measures it.

# %% tags=["demonstration", "payoff"]
model = new_model()
optimizer = Adam(model.parameters(), lr=0.02)
history = {"loss": [], "validation loss": []}
for epoch in range(60):
    for inputs, targets in train_batches:
        train_step(model, cross_entropy, optimizer, inputs, targets)
    history["loss"].append(evaluate(model, cross_entropy, train_batches)["loss"])
    history["validation loss"].append(
        evaluate(model, cross_entropy, validation_batches)["loss"])
best = int(np.argmin(history["validation loss"]))
for epoch in (best, 59):
    print(f"epoch {epoch + 1}: training loss {history['loss'][epoch]:.3f}, "
          f"validation loss {history['validation loss'][epoch]:.3f}")

# %% [markdown]
# This is the picture from the beginning of the chapter. A **learning curve** is a plot of a
# loss or metric against the epoch, usually for the training set and the validation set
# together. **Underfitting** means that both losses are still high: the model is too small, or
# was not trained for long enough. **Overfitting** means that the training loss still falls
# while the validation loss rises: the model learns the noise of its training examples.
#
# You can see the effect in the plane of the inputs. The colours show which class the network
# predicts at each point. The borders between the classes bend around single points:

# %% tags=["demonstration"]
def regions(model, title, other=None):
    """The classes that `model` predicts in the plane, and the training set; hatched where the
    model `other` predicts another class."""
    scores, others = (net and (lambda grid, net=net: predict(net, [Tensor(grid)]))
                      for net in (model, other))
    return plot_regions(scores, *noisy_spirals(60, seed=1), title, others)


figure = regions(model, "after 60 epochs")
# caption: The borders bend around single points: the network overfits.
# alt: The plane in three colours, one per class, and the 60 training points. Every point lies
# in the region of its class. The region of the squares has a tongue to the left, around a
# single square; the region of the triangles has a bay at the bottom, around a few triangles.

# %% [markdown]
# ## Early stopping
#
# The learning curve shows when the training should have ended. **Early stopping** means ending
# the training when the validation loss no longer improves, and restoring the weights of the
# best epoch. Because the validation loss goes up and down from epoch to epoch, we do not stop
# at the first rise. The **patience** is the number of epochs without an improvement after which
# training stops.
#
# The rule needs one number: how many epochs ago was the last improvement? We compute it from
# the list of all losses so far. When an interrupted training run is to be continued, this list
# is saved anyway, so early stopping needs nothing else.
#
# **Task.** Write `epochs_since_best`.

# %% Epochs since the best exercise="patience"
#| export
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
    ### BEGIN SOLUTION
    best, since = math.inf, 0
    for loss in losses:
        since += 1
        if loss < best - min_delta:
            best, since = loss, 0
    return since
    ### END SOLUTION

# %% checks="patience"
check("patience")

# %% [markdown]
# Predict what `epochs_since_best` returns for [4, 2, 3, 2] and for [nan, nan].

# %% tags=["demonstration", "answer", "explained"]
print(epochs_since_best([4, 2, 3, 2]), epochs_since_best([math.nan, math.nan]))

# %% [markdown]
# Neither an equal loss nor `nan` is an improvement.
#
# With a patience of 10, training would stop here:

# %% tags=["demonstration"]
losses = history["validation loss"]
stop = next(n for n in range(1, 61) if epochs_since_best(losses[:n]) == 10)
figure = plot_learning_curve({name: curve[:stop] for name, curve in history.items()},
                             patience=10)
# alt: The learning curves again, cut off at epoch 37. The validation loss is lowest at epoch
# 27; the ten epochs of patience after it are shaded.

# %% [markdown]
# ## The training loop
#
# The training loop uses everything that you have written so far:

# %% tags=["demonstration"]
from tinytorch.pictures.training import draw_training_loop

draw_training_loop(batches=len(train_batches), epochs=60)
# alt: At the top the question "60 epochs, or should_stop?". No leads into a box called one
# epoch: forward pass, backward pass, optimizer step, next batch, and back to the forward pass.
# Below: evaluate on the validation set, if improved keep the weights, save a checkpoint, and
# back to the question. Yes leads to the end: load the best weights.

# %% [markdown]
# The inner loop is given. Its most important method is `step`. It is `train_step` with
# accumulation, checks for `nan`, gradient clipping and a learning-rate schedule (both lesson
# 07). If the loss is `nan`, `check_losses` repeats the forward pass to find the layer.
# `TrainingState` (`tinytorch/support/training_state.py`) stores the arguments and the history.

# %%
#| export
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

# %% [markdown]
# A **checkpoint** is a file from which an interrupted training run can continue; a later
# section is about its contents. You can skip the next cell: the table below it describes the
# methods that you need.

# %%
#| export
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

# %% [markdown]
# You write the outer loop. It calls these methods:
#
# | call | what it does |
# | --- | --- |
# | `self.train_epoch(batches, checkpoint, every)` | trains for one epoch, returns its metrics |
# | `self.evaluate(validation)` | returns {name: float} for the validation set |
# | `self.end_epoch(metrics)` | appends metrics to `self.history`, adds 1 to `self.epoch` |
# | `self.should_stop(patience, min_delta)` | is it time for early stopping? |
# | `self.save(checkpoint)` | writes a checkpoint |
#
# **Task.** Write `Trainer.fit`. The docstring says what happens before and after each epoch,
# and in which order. This is the longest exercise of the lesson. Write the order of the calls
# as comments first, and then replace each comment by its line.

# %% The training loop exercise="fit"
#| export
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
        ### BEGIN SOLUTION
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
        ### END SOLUTION

# %% checks="fit"
check("fit")

# %% [markdown]
# We repeat the earlier run, now with early stopping. After all decisions are made, we evaluate
# on the test set, once.

# %% tags=["demonstration"]
def new_trainer(model, lr=0.02, **options):
    return Trainer(model, Adam(model.parameters(), lr=lr, **options), cross_entropy,
                   {"accuracy": accuracy}, show=False)


trainer = new_trainer(new_model())
trainer.fit(train_batches, 60, validation=validation_batches, patience=10)
print(f"stopped after epoch {trainer.epoch}")
print("test set, early stopping:", trainer.evaluate(test_batches))
print("test set, all 60 epochs: ",
      evaluate(model, cross_entropy, test_batches, {"accuracy": accuracy}))

# %% [markdown]
# The accuracies hardly differ, but the losses do: the overfitted network is wrong about as
# often, but it is much more certain when it is wrong.
#
# The test loss, 0.496, is higher than the lowest validation loss, 0.364. We *chose* the epoch
# by the validation loss, and the lowest of many noisy numbers is too optimistic. This is why we
# need a separate test set. But does the choice explain the whole difference? The loss also
# depends on which 300 points we draw. Measure how much, on 20 other sets:

# %% tags=["demonstration"]
other_sets = [make_batches(*noisy_spirals(300, seed), 300) for seed in range(100, 120)]
losses = [trainer.evaluate(batches)["loss"] for batches in other_sets]
print(f"mean {np.mean(losses):.3f}, standard deviation {np.std(losses):.3f}, "
      f"from {min(losses):.3f} to {max(losses):.3f}")

# %% [markdown]
# Because the loss of these sets is 0.409 on average, the choice of the epoch explains at most
# 0.045 (0.409 minus 0.364), a third of the difference. The rest is bad luck: our test points
# are difficult. The network after 60 epochs, which was not chosen by its validation loss, also
# does worse on them. If two losses on different examples differ by less than the standard
# deviation of these 20 losses, 0.053, they do not show which model is better.
#
# In the plane, the borders of the best epoch are smoother. The hatching shows where the network
# after 60 epochs predicts another class:

# %% tags=["demonstration"]
figure = regions(trainer.model, "weights of the best epoch", other=model)
# alt: The three regions again. Hatched strips along the borders show where the network after
# 60 epochs predicts another class; one of them is its tongue around a single square. Three of
# the 60 training points lie in the region of another class.

# %% [markdown]
# ## Regularization
#
# Early stopping is not the only way against overfitting. **Regularization** is everything that
# restricts a model in order to improve its generalization, even if it fits the training set
# less well. Early stopping is one form; weight decay (lesson 07) and dropout (lesson 04) are
# others. The next cell trains a model with only 3 hidden units, and the large model without
# regularization, with weight decay, and with dropout. Predict: which of these four models
# underfits, and which has the lowest validation loss?

# %% tags=["demonstration", "answer", "explained"]
def dropout_model():
    manual_seed(0)
    return Sequential(Dense(2, 64), Tanh(), Dropout(0.3), Dense(64, 64), Tanh(), Dropout(0.3),
                      Dense(64, 3))


manual_seed(0)
narrow = Sequential(Dense(2, 3), Tanh(), Dense(3, 3))
decayed, dropped = new_model(), dropout_model()
new_trainer(narrow).fit(train_batches, 60)
new_trainer(decayed, weight_decay=0.01).fit(train_batches, 60)
new_trainer(dropped).fit(train_batches, 60)
print("after 60 epochs:   loss of the training set, of the validation set")
for name, net in [("3 hidden units", narrow), ("64 + 64 units", model),
                  ("weight decay 0.01", decayed), ("dropout 0.3", dropped)]:
    print(f"{name:17}", *(f"{evaluate(net, cross_entropy, batches)['loss']:22.3f}"
                          for batches in (train_batches, validation_batches)))

# %% [markdown]
# With 3 hidden units the training loss stays at 0.367: this model underfits. Although its
# validation loss is lower than the one of the large model, which overfits, it is far above the
# 0.306 that the large model reaches with weight decay. Weight decay and dropout raise the
# training loss of the large model, to 0.133 and 0.203, and lower its validation loss.

# %% [markdown] page="When training fails"
# ## Debugging
#
# This section has three tools. They answer three questions: is the learning rate right, where
# does a `nan` come from, and can the model learn at all?
#
# ### Choosing the learning rate
#
# The learning rate is the most important hyperparameter. A **learning-rate range test** trains
# a model for a few dozen steps with a learning rate that grows by the same *factor* in each
# step, from far too small to far too large, and records the loss. At first the loss hardly
# changes, then it falls, and in the end it diverges. Good learning rates are well below the
# one at which it diverges.
#
# The test must not change the model. Two helpers are given. In the block
# `with preserved_state(model, optimizer, batches):` you can train the model; after the block,
# its weights and modes, the optimizer and the random-number generators are as before.
# `repeat_batches(batches)` yields the batches again and again, without end.
#
# **Task.** Write `learning_rate_range`.

# %% The learning-rate range exercise="range"
#| export
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
    ### BEGIN SOLUTION
    rates, losses = np.geomspace(low, high, steps).tolist(), []
    with preserved_state(model, optimizer, batches):
        for rate, (inputs, targets) in zip(rates, repeat_batches(batches)):
            for group in optimizer.param_groups:
                group["lr"] = rate
            losses.append(train_step(model, loss, optimizer, inputs, targets))
            if not losses[-1] <= 4 * min(losses):
                break
    return rates[: len(losses)], losses
    ### END SOLUTION

# %% checks="range"
check("range")

# %%
#| export
def suggest_learning_rate(rates, losses):
    """A tenth of the learning rate at which the loss of a range test was lowest."""
    lowest = min((loss, rate) for rate, loss in zip(rates, losses) if math.isfinite(loss))
    return lowest[1] / 10

# %% tags=["demonstration"]
from tinytorch.pictures.training import plot_rate_range

fresh = new_trainer(new_model())
rates, losses = learning_rate_range(fresh.model, cross_entropy, fresh.optimizer, train_batches)
figure = plot_rate_range(rates, losses, suggest_learning_rate(rates, losses))
# alt: Loss against the learning rate on a logarithmic axis, in a zigzag because two batches
# take turns: level at first, then falling, then jumping up. The suggested rate, 0.0011, is
# marked well before the jump.

# %% [markdown]
# (The curve zigzags because the two batches take turns.) We have trained with 0.02, almost 20
# times the suggested rate. Was that a mistake? Train with both, and with one in between:

# %% tags=["demonstration"]
for lr in (suggest_learning_rate(rates, losses), 0.005, 0.02):
    curve = new_trainer(new_model(), lr).fit(
        train_batches, 60, validation=validation_batches)["validation loss"]
    print(f"learning rate {lr:.4f}: lowest validation loss {min(curve):.3f} "
          f"after {np.argmin(curve) + 1} epochs")

# %% [markdown]
# It was not: 0.02 reaches about the same loss sooner. The suggested rate is too cautious here,
# because after 60 epochs its loss is still falling, and it needs 214 epochs to reach 0.361. A
# range test, however, takes only one step per rate, so it says little about long runs. Use its
# suggestion as the first rate of a search.
#
# ### Finding the first nan
#
# When one weight becomes infinite, the loss is `nan` a few operations later, and after the next
# optimizer step so is every weight. By then the cause can no longer be seen. We therefore check
# the output of every layer in the order of the forward pass: the first one that is not finite
# (`nan` or infinite) is where the problem started. The inputs and the parameters of that layer
# show *why*.
#
# `Trainer` records the forward pass of every layer for you (`watch_layers` in
# `tinytorch/support/layer_watch.py`; in PyTorch this is done with *forward hooks*), and
# `find_nonfinite` gets the list.
#
# **Task.** Write `find_nonfinite`.

# %% The first layer with nan exercise="nonfinite"
#| export
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
    ### BEGIN SOLUTION
    for name, inputs, parameters, output in layers:
        if not np.isfinite(output).all():
            if not all(np.isfinite(x).all() for x in inputs):
                return name, "input"
            for parameter, array in parameters.items():
                if not np.isfinite(array).all():
                    return name, f"parameter {parameter}"
            return name, "output"
    return None
    ### END SOLUTION

# %% checks="nonfinite"
check("nonfinite")

# %% [markdown]
# `Trainer` calls `find_nonfinite` when a loss is not finite. The error names the layer, and
# because it is raised before the optimizer step, the weights are not yet changed:

# %% tags=["demonstration"]
steep = Sequential(Dense(2, 4, rng=0), Tensor.exp, Dense(4, 3, rng=1))
steep[0].bias.data[:] = 100.0
try:
    with np.errstate(over="ignore", invalid="ignore"):
        new_trainer(steep).fit(train_batches, 1)
except NonFiniteError as error:
    print(error)

# %% [markdown]
# ### Overfitting a single batch
#
# Overfitting is also a useful test. Before a long training, check that the model *can* overfit:
# on a single batch, without regularization, the loss must go near 0. If it does not, there is a
# mistake: for example a gradient is lost, the optimizer does not have the parameters of a
# layer, or the targets are in another order than the inputs.

# %%
#| export
def overfit_one_batch(model, loss, optimizer, inputs, targets, steps=200):
    """The losses of training on one batch only; they should go near 0. Afterwards model and
    optimizer are as before."""
    with preserved_state(model, optimizer):
        return [train_step(model, loss, optimizer, inputs, targets) for _ in range(steps)]

# %% tags=["demonstration"]
batch = train_batches[0]
good = overfit_one_batch(fresh.model, cross_entropy, fresh.optimizer, *batch, steps=60)
lost = overfit_one_batch(  # out.detach() + 0 * out: the values of out, but a gradient of 0
    fresh.model, lambda out, y: cross_entropy(out.detach() + 0 * out, y), fresh.optimizer,
    *batch, steps=60)
print(f"as it should be:     {good[0]:.3f} -> {good[-1]:.3f}")
print(f"gradients are lost:  {lost[0]:.3f} -> {lost[-1]:.3f}")

# %% [markdown]
# ## Checkpoints
#
# What must a checkpoint contain, so that an interrupted run can continue? We use the strictest
# test: the resumed run must end with *exactly* the weights of a run that was never interrupted,
# bit for bit. Make a list before you read on; most people find three things.
#
# - the weights of the model;
# - the optimizer: its moments and step counts (lesson 07), its learning rates;
# - the schedule, which counts its own steps;
# - the position in the run: complete epochs, complete steps of this epoch and their results,
#   the history, the best weights;
# - the states of the random-number generators: dropout draws from one, shuffling from another.
#
# For the last point a helper is given: `random_states([RandomState.rng, model])` returns the
# states of the layers' shared generator and of all generators inside the model.

# %% tags=["demonstration"]
from tinytorch.support.training_state import set_random_states

layer = Dropout(0.5)
states = random_states(layer)
first = layer(Tensor(np.ones(8, "float32"))).data
set_random_states(layer, states)
print(first, layer(Tensor(np.ones(8, "float32"))).data, sep="\n")

# %% [markdown]
# There is one more trap. While `Module.state_dict()` returns copies, some objects, such as
# PyTorch's optimizers, return *live* arrays and lists, which they go on using. Predict what a
# snapshot with live arrays contains after three more steps.

# %% tags=["demonstration", "answer", "explained"]
weights = np.zeros(1)
live, copied = {"weights": weights}, {"weights": weights.copy()}
for step in range(3):
    weights += 1
print("live", live, "copied", copied)

# %% [markdown]
# It contains the values from after the three steps.
#
# **Task.** Write `snapshot`. The docstring lists its eleven entries.

# %% A snapshot of the training exercise="snapshot"
#| export
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
    ### BEGIN SOLUTION
    names = ("accumulate", "epoch", "epoch_step", "results", "history", "best_weights",
             "loader_states")
    state = {name: getattr(run, name) for name in names}
    state["model"] = run.model.state_dict()
    state["optimizer"] = run.optimizer.state_dict()
    state["schedule"] = None if run.schedule is None else run.schedule.state_dict()
    state["random_states"] = random_states([RandomState.rng, run.model])
    return copy.deepcopy(state)
    ### END SOLUTION

# %% checks="snapshot"
check("snapshot")

# %% [markdown]
# `Trainer.save` writes the snapshot to a file (`tinytorch/support/checkpoints.py`). The file is
# an `.npz` of plain arrays. (*Pickle*, Python's format for objects of any kind, is unsafe: a
# pickle file can contain a program, which runs when the file is opened.) The checkpoint is
# written under another name and then renamed, so that a crash during saving cannot destroy the
# previous checkpoint.
#
# The next cell stops a run after 3 of 8 epochs, and continues from the file with new objects.
# Predict how much the weights differ from those of an uninterrupted run.

# %% tags=["demonstration", "answer"]
import tempfile
from pathlib import Path

folder = Path(tempfile.mkdtemp())
whole, interrupted, resumed = (new_trainer(dropout_model()) for _ in range(3))
whole.fit(train_batches, 8)
interrupted.fit(train_batches, 3, checkpoint=folder / "run.npz")
resumed.load(folder / "run.npz")
resumed.fit(train_batches, 8)
print("largest difference:", max(abs(a.data - b.data).max() for a, b in zip(
    whole.model.parameters(), resumed.model.parameters())))

# %% [markdown]
# ## Double descent (optional)
#
# According to a classical rule, a model with too many parameters overfits, although very large
# networks do not follow this rule. The next cell fits a linear regression to 40 training
# examples, for different numbers $p$ of inputs. These inputs are *random ReLU features*: the
# outputs of a ReLU layer of $p$ units whose random weights are never trained. Predict which $p$
# from 2 to 800 is the worst, and whether 800 is better or worse than 15.

# %% tags=["demonstration", "answer"]
from tinytorch.pictures.training import COUNTS, plot_double_descent, random_feature_errors

train_errors, test_errors = random_feature_errors(COUNTS)
for count in (15, 40, 800):
    print(f"{count:3} parameters: test error {test_errors[COUNTS.index(count)]:.2f}")

# %% tags=["demonstration", "answer", "explained"]
figure = plot_double_descent(COUNTS, train_errors, test_errors)
# caption: The test error is worst where the parameters just fit the training examples.
# alt: Error against the number of parameters, both axes logarithmic. The training error falls
# to 0 at 40 parameters. The test error falls, rises to a sharp peak at 40 parameters, and
# falls again, to below its first minimum.

# %% [markdown]
# **Double descent** means that the test error falls, rises to a peak where the model can just
# fit its training set, and falls again as the model grows. At the peak, only one solution fits
# all 40 noisy examples, and its weights are huge. With more parameters, however, there are many
# such solutions, and because least squares returns the one with the smallest weights, it is
# smoother.
#
# ## Look back
#
# 1. Train with dropout 0.5 and print `history["loss"]` and `trainer.evaluate(train_batches)`
#    after the last epoch. The two losses differ, although the data and the model are the same.
#    Name two reasons.
# 2. `accumulate_gradients` weights batches by their number of examples. For a layer that uses
#    statistics of the batch (batch normalization), micro-batches are still not the same as one
#    large batch: why?
# 3. Replace one entry of a snapshot by the entry of a new run, and continue. Do this for each
#    entry. Which replacements change the final accuracy, and which only the last bits?
#
# In PyTorch, the loop of `fit` is usually written by hand or taken from Lightning
# (`lightning.Trainer`, with callbacks `EarlyStopping(patience=...)`, `ModelCheckpoint` and
# `LearningRateFinder`). `evaluation_mode` is `model.eval()` with `torch.no_grad()`,
# checkpoints are `torch.save` of state dicts, `random_states` is `torch.get_rng_state`, and
# metrics come from `torchmetrics`. `torch.optim.Optimizer.state_dict` returns live tensors:
# copy them.

# %% [markdown] tags=["answer"]
# 1. The loss in the history was computed with dropout, and while the weights changed: it is the
#    mean over the epoch. `evaluate` uses no dropout, and the weights at its end.
# 2. Each micro-batch is normalized with its own mean and variance. A large batch has one mean
#    and one variance for all its examples.
