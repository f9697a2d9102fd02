# ---
# jupyter:
#   jupytext:
#     notebook_metadata_filter: tinytorch,-jupytext.text_representation.jupytext_version
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   tinytorch:
#     difficulty: 3
#     enables:
#     - transformers
#     hours: 6
#     prerequisites:
#     - layers
#     - losses
#     - autograd
#     - optimizers
#     summary: Epochs, measures, checkpoints, and what to do when the loss is nan
#     terms: []
#     title: Training
# ---

# %% [markdown]
# # 08. Training
#
# Run, measure, walk back, step: four lines train a network, and you have written them already.
# Then the program is stopped after nine hours of ten. Or the loss is `nan`, and nobody knows
# since when. Or the figures were good because dropout was on, or off, at the wrong time. This
# chapter is about the lines around the four.
#
# **You need** 03 (layers), 04 (losses), 06 (autograd) and 07 (optimizers). **You write**
# measures, steps, epochs, a rule for when to stop, checkpoints that lose nothing, and two tools
# that find out why a network does not learn.

# %%
#| default_exp core.training
#| export
import contextlib
import copy
import itertools
import math
import time

import numpy as np

from tinytorch.core.autograd import no_grad
from tinytorch.core.layers import RandomState, Module
from tinytorch.core.tensor import Tensor
from tinytorch.support.checkpoints import CheckpointError, load_state, save_state
from tinytorch.support.curves import plot_history
from tinytorch.support.display import Display
from tinytorch.support.watch import watch_layers

# %% [markdown]
# The patient of this chapter: two arms of a spiral, wound around each other, two hundred points
# in all. Every batch is a pair, what goes in and what should come out.

# %%
from tinytorch.core.activations import Tanh
from tinytorch.core.layers import Dense, Dropout, Sequential, manual_seed
from tinytorch.core.losses import cross_entropy
from tinytorch.core.optimizers import SGD, Adam


def spiral(count, seed):
    """`count` points in the plane and the arm, 0 or 1, that each is on."""
    rng = np.random.default_rng(seed)
    arm = rng.integers(0, 2, count)
    turn = 3 * np.sqrt(rng.uniform(0.02, 1, count))
    angle = turn * 2 + np.pi * arm
    points = (np.stack([turn * np.cos(angle), turn * np.sin(angle)], 1)
              + rng.normal(0, 0.12, (count, 2)))
    return points.astype("float32"), arm


def batches_of(points, arms, size):
    return [(Tensor(points[at : at + size]), Tensor(arms[at : at + size]))
            for at in range(0, len(points), size)]


seen, unseen = batches_of(*spiral(200, seed=1), 32), batches_of(*spiral(300, seed=2), 100)
print(len(seen), "batches to learn from; the last has", len(seen[-1][1]), "points")

# %% [markdown]
# ## How good?
#
# The loss is for the walk back. People ask another question: how many are right? An answer is
# the class with the largest score, so accuracy knows no slopes and needs none.
#
# Predict what NumPy makes of `predicted == targets` when the shapes are (4,) and (4, 1).

# %%
predicted, targets = np.array([1, 0, 1, 1]), np.array([[1], [0], [1], [1]])
print((predicted == targets).shape, (predicted == targets).mean())

# %% [markdown]
# Every answer was right, and the mean says 0.625, because every prediction was compared with
# every target. Nothing complains; the figure is simply wrong, and not even by so much that one
# would doubt it.
#
# **Task.** Write `accuracy`, and refuse shapes that do not match.

# %% exercise="accuracy"
#| export
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
    ### BEGIN SOLUTION
    predicted, targets = np.asarray(outputs).argmax(axis=-1), np.asarray(targets)
    if predicted.shape != targets.shape:
        raise ValueError(f"scores of shape {np.shape(outputs)} need targets of shape "
                         f"{predicted.shape}, not {targets.shape}")
    return float((predicted == targets).mean())
    ### END SOLUTION

# %% checks="accuracy"
check("accuracy")

# %% [markdown]
# ## The mean of means
#
# A test set comes in batches, each with a mean of its own, and the last one is often smaller.
# Say 100 examples are right, all of a batch of 100, and then one is wrong, alone in the last
# batch. Predict the mean of the two accuracies, and the share that is right.

# %%
print(np.mean([1.0, 0.0]), 100 / 101)

# %% [markdown]
# So a figure travels with the number of examples that it is the mean of. Such a pair is called
# a *record* here: `({"loss": 0.25, "accuracy": 0.9}, 32)`.
#
# **Task.** Write `means`. It is the only place where this chapter averages.

# %% exercise="means"
#| export
def means(records):
    """The mean over all examples, from means over batches.

    records  list of ({name: mean}, number of examples), all with the same names
    returns  dict {name: float}, in the order of the names

    Raises ValueError when there is not a single example. A loss of nan or inf stays what it is.

    >>> means([({"loss": 1.0}, 3), ({"loss": 5.0}, 1)])
    {'loss': 2.0}
    """
    ### BEGIN SOLUTION
    total = sum(count for _, count in records)
    if total == 0:
        raise ValueError("there is no mean of no examples: were the batches a generator that "
                         "is used up?")
    return {name: sum(values[name] * count for values, count in records) / total
            for name in records[0][0]}
    ### END SOLUTION

# %% checks="means"
check("means")

# %% [markdown]
# ## A step
#
# Here are the four lines, once more, with an optimizer from 07. Each has its place. Gradients
# *add up* over calls of `backward`, so somebody must forget the old ones. And the loss is
# handed out as a number: a Tensor would hold on to the notes of everything it was made from.
#
# Predict: a weight of 1, a gradient of 1 in each step, a rate of 0.1. What is the weight after
# two steps, and what if nobody forgets?
#
# **Task.** Write `train_step`.

# %% exercise="step"
#| export
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
# ## Small batches as one big one
#
# A batch of 256 may not fit into memory. But gradients add up, and so far that was only a
# nuisance: four batches of 64, walked back one after the other, and then one step. The same
# step, if everything is weighed rightly.
#
# First the batches have to come in groups. The last group may be smaller; it is a group all the
# same. In a program that is still in use somewhere, the last group was taken `if loss > 0`.
# Predict whom that hurts.
#
# **Task.** Write `groups`, a generator.

# %% exercise="groups"
#| export
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
    ### BEGIN SOLUTION
    group = []
    for batch in batches:
        group.append(batch)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group
    ### END SOLUTION

# %% checks="groups"
check("groups")

# %% [markdown]
# Now the weights. The loss of a batch is a mean over its examples, and so is its gradient. The
# gradient of a group should be the mean over *all* its examples. Three batches of 4, 4 and 2
# examples: predict the factor that belongs to each.
#
# Records are made with this:

# %%
#| exporti
def record(value, outputs, targets, metrics):
    """The record of one batch: its loss and what else is measured, as floats, and how many
    examples it has."""
    return ({"loss": float(value)}
            | {name: float(f(outputs, targets)) for name, f in metrics.items()}, len(targets))

# %% [markdown]
# **Task.** Write `accumulate`.

# %% exercise="accumulate"
#| export
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
    ### BEGIN SOLUTION
    total, records = sum(len(targets) for _, targets in group), []
    for inputs, targets in group:
        outputs = model(inputs)
        value = loss(outputs, targets)
        (value * (len(targets) / total)).backward()
        records.append(record(value, outputs, targets, metrics))
    return records
    ### END SOLUTION

# %% checks="accumulate"
check("accumulate")

# %% [markdown]
# ## An epoch
#
# Once through all batches is an epoch. Two things are easily forgotten, and neither makes a
# noise. A network that was evaluated in between is still in the mode for use: without dropout,
# with frozen statistics. And an epoch that was interrupted and goes on has records from before.
#
# What is done with a group, someone else decides: `update` is a function that takes a group and
# returns its records.
#
# **Task.** Write `train_epoch`.

# %% exercise="epoch"
#| export
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
    ### BEGIN SOLUTION
    model.train()
    records = list(done)
    for group in groups:
        records += update(group)
    return means(records)
    ### END SOLUTION

# %% checks="epoch"
check("epoch")

# %% [markdown]
# It learns. Twelve epochs with the tools so far:

# %%
manual_seed(0)
net = Sequential(Dense(2, 32), Tanh(), Dropout(0.1), Dense(32, 32), Tanh(), Dense(32, 2))
adam = Adam(net.parameters(), lr=0.02)


def update(group):
    adam.zero_grad()
    found = accumulate(net, cross_entropy, group, {"accuracy": accuracy})
    adam.step()
    return found


for epoch in range(12):
    told = train_epoch(net, update, groups(seen, 1))
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1:2}", {name: round(value, 3) for name, value in told.items()})

# %% [markdown]
# ## Looking without learning
#
# A test must not teach. Dropout off, no notes taken, and afterwards everything as it was: also
# when the test ends with an error, and also for a part that somebody had frozen in the mode for
# use on purpose. Predict what `model.eval()` before and `model.train()` after would do to such
# a part.
#
# A `with` block is made for this. Python makes one of a function with one `yield`: what stands
# before it runs at the beginning of the block, what stands behind it at the end.
#
# **Task.** Write `evaluating`.

# %% exercise="evaluating"
#| export
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
    ### BEGIN SOLUTION
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    try:
        with no_grad():
            yield
    finally:
        for part, mode in modes:
            part.training = mode
    ### END SOLUTION

# %% checks="evaluating"
check("evaluating")

# %% [markdown]
# **Task.** Write `evaluate`: every batch once, nothing learned, and the means over all
# examples.

# %% exercise="evaluate"
#| export
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
    ### BEGIN SOLUTION
    records = []
    with evaluating(model):
        for inputs, targets in batches:
            outputs = model(inputs)
            records.append(record(loss(outputs, targets), outputs, targets, metrics))
    return means(records)
    ### END SOLUTION

# %% checks="evaluate"
check("evaluate")

# %%
manual_seed(1)
fresh = Sequential(Dense(2, 32), Tanh(), Dropout(0.5), Dense(32, 2))
print("untrained:", evaluate(fresh, cross_entropy, unseen, {"accuracy": accuracy}))
print("trained:  ", evaluate(net, cross_entropy, unseen, {"accuracy": accuracy}))

# %% [markdown]
# In use there are no targets, only inputs.
#
# **Task.** Write `predict`: what the network makes of every example, in one array. Batches may
# still be pairs; then only what comes first counts.

# %% exercise="predict"
#| export
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
    ### BEGIN SOLUTION
    with evaluating(model):
        inputs = (batch[0] if isinstance(batch, (tuple, list)) else batch for batch in batches)
        return np.concatenate([model(x).data for x in inputs])
    ### END SOLUTION

# %% checks="predict"
check("predict")

# %% [markdown]
# ## When to stop
#
# On the points that it learns from, a network only gets better. On others it gets better, then
# worse: it begins to learn the noise. So one looks at examples that are kept apart, after every
# epoch, and stops when they have not improved for a while. The while is called patience;
# without it, the first unlucky epoch would end everything.
#
# The rule can be a question about the list of losses so far: how many epochs ago was the last
# improvement? Then nothing else must be remembered, and nothing is lost when training goes on
# tomorrow.
#
# Predict the answers for [5, 3, 4, 3, 3.5], and for [nan, nan].
#
# **Task.** Write `epochs_since_best`.

# %% exercise="patience"
#| export
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
# ## What a checkpoint must hold
#
# The power fails in epoch 7. What must be on the disk so that the network comes out *bit for
# bit* as if nothing had happened? The weights, of course. Make a list before you read on; most
# people find three things.
#
# - the optimizer: its moments, its count of steps, its rates;
# - the schedule, which has a clock of its own;
# - where we were: the epoch, how many groups of it were done, their records, and the history;
# - chance. Dropout draws from a generator, and so does whatever shuffles the examples.
#
# Generators hide in objects: in a layer, a loader, the dataset inside the loader. These three
# lines of thought find them: look at everything, in a fixed order, each once; remember a
# generator's *state*, which is a few whole numbers; put it back later.

# %%
#| export
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

# %%
layer = Dropout(0.5)
saved = random_states(layer)
first = layer(Tensor(np.ones(8, "float32"))).data
set_random_states(layer, saved)
print(first, layer(Tensor(np.ones(8, "float32"))).data, sep="\n")

# %% [markdown]
# The run that is to be saved is an object, `run`, with these attributes: `model`, `optimizer`
# and `schedule` (or None), each with a `state_dict()`; the plain data `accumulate`, `epoch`,
# `position`, `records`, `history`, `best` and `start`.
#
# One trap is left. Which of these things will go on changing after you have looked at them? The
# `state_dict` of a Module copies its arrays; that of an optimizer, in PyTorch, hands out the
# live ones, and so do the lists of a run. Predict what such a checkpoint is worth after three
# more steps.
#
# **Task.** Write `snapshot`.

# %% exercise="snapshot"
#| export
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
    ### BEGIN SOLUTION
    plain = ("accumulate", "epoch", "position", "records", "history", "best", "start")
    state = {name: getattr(run, name) for name in plain}
    state |= {"model": run.model.state_dict(), "optimizer": run.optimizer.state_dict()}
    state["schedule"] = None if run.schedule is None else run.schedule.state_dict()
    state["chance"] = random_states([RandomState.rng, run.model])
    return copy.deepcopy(state)
    ### END SOLUTION

# %% checks="snapshot"
check("snapshot")

# %% [markdown]
# And back. The parts know how to take over their own state; `put` asks them one after the
# other. But what if the third of them refuses, because the checkpoint is of another network?
# Then the first two are already changed, and what is left is neither the one run nor the other.

# %%
#| exporti
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

# %% [markdown]
# **Task.** Write `restore`: all or nothing. You have everything you need.

# %% exercise="restore"
#| export
def restore(run, state):
    """Let `run` go on from a snapshot. When anything does not fit, raise that error, with `run`
    as it was.

    run      an object as `snapshot` takes it
    state    a snapshot of such a run; nothing is shared with it afterwards
    returns  None
    """
    ### BEGIN SOLUTION
    before = snapshot(run)
    try:
        put(run, state)
    except Exception:
        put(run, before)
        raise
    ### END SOLUTION

# %% checks="restore"
check("restore")

# %% [markdown]
# ## On the disk
#
# A pickle could hold all this in one line; and whoever opens a pickle runs the program that is
# in it. Plain arrays run nothing. So the arrays of a snapshot go into an `.npz` file, and what
# is left, names and numbers, beside them as text.
#
# A program may be killed while it writes, and the file it was to replace is the only checkpoint
# there is. So the new one is written beside it, forced to the disk, and renamed: a rename
# happens or does not happen. That is `save_state(path, state)`, and `load_state(path)` refuses
# whatever is not what it wrote. Both are given, in `tinytorch/support/checkpoints.py`.

# %%
import tempfile
from pathlib import Path

folder = Path(tempfile.mkdtemp())
save_state(folder / "small.npz",
           {"weights": np.float32([0.1, 0.2]), "step": 7, ("any", 1): [None, 2**100, 0.1]})
print(load_state(folder / "small.npz"), np.load(folder / "small.npz").files)
(folder / "small.npz").write_bytes((folder / "small.npz").read_bytes()[:300])
try:
    load_state(folder / "small.npz")
except CheckpointError as error:
    print(str(error).replace(str(folder), "..."))

# %% [markdown]
# ## Where was it?
#
# Half way through an epoch, the shuffled order of the examples matters. It was drawn when the
# epoch began, and the loader's generator has moved on since. So the trainer remembers the
# loader's chance from the epoch's start, and on its way back it lets the loader draw the same
# order again, and passes over what was done.

# %%
#| exporti
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

# %% [markdown]
# ## The first number that is none
#
# One weight becomes infinite; a few operations later the loss is `nan`, and every weight after
# the next step. Whoever looks now sees `nan` everywhere. So look at each layer's output in the
# order in which they were made: the first that is not finite is the place. Why it is not is a
# question of what went in.
#
# To see them, `with watch_layers(model) as layers` wraps every layer for a moment in a function
# that writes down what comes and goes. Inner layers end first, so they stand before the network
# that holds them.
#
# **Task.** Write `blame`.

# %% exercise="blame"
#| export
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
    ### BEGIN SOLUTION
    for name, inputs, weights, output in layers:
        if not np.isfinite(output).all():
            if not all(np.isfinite(x).all() for x in inputs):
                return name, "input"
            broken = [f"parameter {path}" for path, array in weights.items()
                      if not np.isfinite(array).all()]
            return name, broken[0] if broken else "output"
    return None
    ### END SOLUTION

# %% checks="blame"
check("blame")

# %%
manual_seed(2)
steep = Sequential(Dense(2, 4), Tensor.exp, Dense(4, 2))
steep[0].bias.data[:] = 100.0
with np.errstate(over="ignore", invalid="ignore"), watch_layers(steep) as layers:
    steep(seen[0][0])
print([name for name, *_ in layers], "->", blame(layers))

# %% [markdown]
# ## The trainer
#
# Nothing in it is new: it calls what you wrote, in the right order, and keeps the notes. Read
# it as a summary of the chapter. While it works, a `Display` tells how it goes: with a bar
# where there is a terminal, elsewhere with a line per epoch.

# %%
#| export
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

# %% [markdown]
# Now the spiral, seriously, with a test set to look at and a checkpoint. The network is stopped
# after a third of the way, as if the power had failed in the middle of an epoch; another one
# goes on from the file. Predict the difference between the two.

# %%
from tinytorch.core.optimizers import CosineAnnealingLR


def new_trainer(show=False):
    """A trainer with a network in its first state, always the same."""
    manual_seed(3)
    model = Sequential(Dense(2, 48), Tanh(), Dropout(0.1), Dense(48, 48), Tanh(), Dense(48, 2))
    optimizer = Adam(model.parameters(), lr=0.03)
    return Trainer(model, optimizer, cross_entropy, {"accuracy": accuracy},
                   CosineAnnealingLR(optimizer, 18), show=show)


one = new_trainer()
history = one.fit(seen, 18, validation=unseen)

stopped = new_trainer()
stopped.fit(seen, 6, validation=unseen)
for group in remaining(stopped, seen[:3]):
    stopped.records += stopped.update(group)
    stopped.position += 1
stopped.save(folder / "spiral.npz")

two = new_trainer()
two.load(folder / "spiral.npz")
two.fit(seen, 18, validation=unseen)
print(all(np.array_equal(a.data, b.data)
          for a, b in zip(one.model.parameters(), two.model.parameters())),
      one.evaluate(unseen))

# %% [markdown]
# The curves of an epoch's means are the first thing to look at, always both: a network that
# learns the noise shows it here and nowhere else.

# %%
figure = plot_history(history)
# alt: Left: loss of training and validation against the epoch, both falling to about 0.03.
# Right: their accuracy, rising to above 0.98 in ten epochs.

# %%
import matplotlib.pyplot as plt

across, up = np.meshgrid(np.linspace(-3.6, 3.6, 80), np.linspace(-3.6, 3.6, 80))
field = predict(one.model,
                [Tensor(np.stack([across, up], -1).reshape(-1, 2).astype("float32"))])
points, arms = spiral(300, seed=2)
figure, axis = plt.subplots(figsize=(4, 4), layout="constrained")
axis.contourf(across, up, (field[:, 1] - field[:, 0]).reshape(across.shape),
              levels=[-99, 0, 99], cmap="RdBu", alpha=0.5)
axis.scatter(*points.T, c=arms, cmap="RdBu", edgecolors="black", linewidths=0.5, s=18)
axis.set(title="points it never learned from", aspect="equal")
# alt: Points of two spirals that the network never learned from, and the two regions it found;
# the boundary winds between the arms.

# %% [markdown]
# And the trouble from before, in training:

# %%
ill = Trainer(steep, SGD(steep.parameters(), lr=0.1), cross_entropy, show=False)
try:
    with np.errstate(over="ignore", invalid="ignore"):
        ill.fit(seen, 1)
except NotFinite as error:
    print(error)

# %% [markdown]
# ## Which rate?
#
# The learning rate matters more than anything else one can turn. There is a quick way to find
# its range: train with a rate that grows, by the same *factor* in each step, from far too small
# to far too large, and watch the loss. It stands still, falls, and explodes. Good rates are
# well before the explosion.
#
# A tool must not leave traces. `as_before` puts back the network, the optimizer and the chance,
# whatever happened.

# %%
#| exporti
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

# %% [markdown]
# **Task.** Write `learning_rate_range`.

# %% exercise="range"
#| export
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
    ### BEGIN SOLUTION
    rates, losses = np.geomspace(low, high, steps).tolist(), []
    with as_before(model, optimizer, batches):
        for rate, (inputs, targets) in zip(rates, endless(batches)):
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
def suggested_rate(rates, losses):
    """A rate to begin with: a tenth of the one at which the loss of a trial was lowest."""
    lowest = min((loss, rate) for rate, loss in zip(rates, losses) if math.isfinite(loss))
    return lowest[1] / 10

# %% [markdown]
# Predict, for SGD and for Adam on the spiral, where the loss explodes.

# %%
figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
for kind in (SGD, Adam):
    fresh = new_trainer()
    rates, losses = learning_rate_range(fresh.model, cross_entropy,
                                        kind(fresh.model.parameters(), lr=0.1), seen,
                                        1e-5, 100.0, 60)
    axis.semilogx(rates, losses,
                  label=f"{kind.__name__}: begin with {suggested_rate(rates, losses):.2g}")
axis.set(xlabel="learning rate, growing with each step", ylabel="loss (nats)", ylim=(0, 2))
axis.legend()
# alt: Loss against a learning rate that grows with each step, for SGD and Adam: level at first,
# then falling, then leaping up where the rate is too large.

# %% [markdown]
# ## One batch by heart
#
# Before a long training, a short one: can the network learn a *single* batch by heart? If not,
# more data will not help. Something is broken: a slope that is lost, a layer that no optimizer
# knows, targets in another order.

# %%
#| export
def overfit_one_batch(model, loss, optimizer, inputs, targets, steps=200):
    """The losses of a trial that learns one batch by heart; they should go near 0. Afterwards
    everything is as before."""
    with as_before(model, optimizer):
        return [train_step(model, loss, optimizer, inputs, targets) for _ in range(steps)]

# %%
fresh = new_trainer()
fresh.model[2].p = 0.0  # dropout would be in the way
whole = overfit_one_batch(fresh.model, cross_entropy, fresh.optimizer, *seen[0], 60)
lost = overfit_one_batch(fresh.model,
                         lambda out, y: cross_entropy(Tensor(out.data) + 0 * out, y),
                         fresh.optimizer, *seen[0], 60)
print(f"as it should be: {whole[0]:.3f} -> {whole[-1]:.3g};  with a slope that is lost: "
      f"{lost[0]:.3f} -> {lost[-1]:.3g}")

# %% [markdown]
# ## Look back
#
# 1. Train the spiral with dropout 0.5 and compare the two curves. The training loss is now
#    *higher* than the validation loss: is that good news? Evaluate the trained network on
#    `seen`, and compare with what the last epoch said.
# 2. `accumulate` weighs batches by their examples. What changes for a network with a layer that
#    uses statistics of the batch, so that a group is not the same as one big batch? (Lesson 11
#    has one.)
# 3. Leave one entry at a time out of a checkpoint (put a fresh one in its place), and train on
#    from it. Which omissions change the final accuracy of the spiral measurably, and which only
#    the bits?
