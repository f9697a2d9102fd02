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
#     title: Training
# ---

# %% [markdown]
# # 08. Training
#
# Run, measure, walk back, step: four lines train a network, and you have written them already. Then the
# program is stopped after nine hours of ten. Or the loss is `nan`, and nobody knows since when. Or the
# figures were good because dropout was on, or off, at the wrong time. This chapter is about the lines
# around the four.
#
# **You need** 03 (layers), 04 (losses), 06 (autograd) and 07 (optimizers). **You write** measures, steps,
# epochs, a rule for when to stop, checkpoints that lose nothing, and two tools that find out why a network
# does not learn.

# %%
#| default_exp core.training
#| export
import contextlib
import copy
import itertools
import json
import math
import os
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np

from tinytorch.core.autograd import no_grad
from tinytorch.core.layers import Chance, Module, name_of, walk
from tinytorch.core.tensor import Tensor

# %% [markdown]
# The patient of this chapter: two arms of a spiral, wound around each other, two hundred points in all. Every
# batch is a pair, what goes in and what should come out.

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
    points = np.stack([turn * np.cos(angle), turn * np.sin(angle)], 1) + rng.normal(0, 0.12, (count, 2))
    return points.astype("float32"), arm


def batches_of(points, arms, size):
    return [(Tensor(points[at : at + size]), Tensor(arms[at : at + size])) for at in range(0, len(points), size)]


seen, unseen = batches_of(*spiral(200, seed=1), 32), batches_of(*spiral(300, seed=2), 100)
print(len(seen), "batches to learn from; the last has", len(seen[-1][1]), "points")

# %% [markdown]
# ## How good?
#
# The loss is for the walk back. People ask another question: how many are right? An answer is the class
# with the largest score, so accuracy knows no slopes and needs none.
#
# Predict what NumPy makes of `predicted == targets` when the shapes are (4,) and (4, 1).

# %%
predicted, targets = np.array([1, 0, 1, 1]), np.array([[1], [0], [1], [1]])
print((predicted == targets).shape, (predicted == targets).mean())

# %% [markdown]
# Every answer was right, and the mean says 0.625, because every prediction was compared with every target. Nothing
# complains; the figure is simply wrong, and not even by so much that one would doubt it.
#
# **Task.** Write `accuracy`, and refuse shapes that do not match.
#
# <details><summary>Hint 1</summary>Which function gives the <em>place</em> of the largest number? Along which axis do
# the classes stand, for any number of axes in front?</details>
# <details><summary>Hint 2</summary><code>np.asarray</code> takes a Tensor, an array or a list, and the rest is
# NumPy.</details>
# <details><summary>Hint 3</summary><code>np.asarray(outputs).argmax(axis=-1)</code> must have exactly the shape of the
# targets. Where not, <code>raise ValueError</code> with both shapes.</details>

# %% nbgrader={"grade": false, "grade_id": "training-accuracy", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def accuracy(outputs, targets):
    """The share of examples whose largest score is that of the right class.

    outputs  Tensor or array of scores, shape (..., classes)
    targets  the right classes, whole numbers from 0, Tensor, array or list of shape (...)
    returns  a float from 0 to 1

    Raises ValueError with the shapes in it when there is not exactly one target for each row of scores.

    >>> accuracy(Tensor([[0.1, 0.9], [2.0, -1.0], [0.0, 5.0]]), [1, 0, 0]) == 2 / 3
    True

    Source: torchmetrics.classification.MulticlassAccuracy with average="micro".
    """
    ### BEGIN SOLUTION
    predicted, targets = np.asarray(outputs).argmax(axis=-1), np.asarray(targets)
    if predicted.shape != targets.shape:
        raise ValueError(f"scores of shape {np.shape(outputs)} need targets of shape {predicted.shape}, not {targets.shape}")
    return float((predicted == targets).mean())
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-accuracy", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_accuracy_counts_the_rows_that_are_right():
    scores = np.array([[0.1, 0.9, -3], [2, -1, 1.5], [-9, -5, -7], [4, 4.5, 5], [0, 1, -1]], "float32")
    for targets, right in [([1, 0, 1, 2, 1], 5), ([1, 0, 1, 2, 0], 4), ([0, 1, 0, 0, 1], 1), ([2, 1, 2, 1, 0], 0)]:
        for given in (targets, np.array(targets), Tensor(targets)):
            for rows in (scores, Tensor(scores)):
                found = accuracy(rows, given)
                assert isinstance(found, float), f"accuracy is a Python float, yours is {found!r:.100}"
                assert found == right / 5, (
                    f"the largest scores are those of [1 0 1 2 1]; with targets {targets}, {right} of 5 are right, "
                    f"{right / 5}; yours says {found}")


def test_accuracy_takes_axes_in_front():
    scores = np.random.default_rng(3).normal(size=(2, 5, 3))
    targets = scores.argmax(-1)
    targets[0, 1:4] = (targets[0, 1:4] + 1) % 3
    found = accuracy(Tensor(scores), Tensor(targets))
    assert abs(found - 0.7) < 1e-9, (
        f"scores of shape (2, 5, 3) are 10 answers among 3 classes; 7 are right, so 0.7, yours {found}. The classes are "
        "on the last axis")


def test_accuracy_refuses_targets_that_do_not_match():
    scores = Tensor(np.eye(4, 3, dtype="float32"))
    for targets in (np.array([[0], [1], [2], [0]]), np.array([0, 1, 2]), np.array(0), np.eye(4, 3)):
        try:
            found = accuracy(scores, targets)
        except ValueError as error:
            assert str(targets.shape) in str(error), f"the error should name the shape {targets.shape}, yours: {error}"
        else:
            assert False, (
                f"scores of shape (4, 3) and targets of shape {targets.shape}: you answered {found}. Broadcasting compared "
                "each prediction with the targets of others")


test_accuracy_counts_the_rows_that_are_right()
test_accuracy_takes_axes_in_front()
test_accuracy_refuses_targets_that_do_not_match()

# %% nbgrader={"grade": true, "grade_id": "check-accuracy-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_accuracy_at_other_shapes_and_sizes():
    random = np.random.default_rng(31)
    for shape, right in [((7, 2), 3), ((1, 9), 1), ((2, 3, 2, 4), 5), ((6, 1), 6), ((11,), 1), ((4, 5), 0)]:
        scores = random.permutation(int(np.prod(shape))).reshape(shape) * -1e6
        targets = np.array(scores.argmax(-1))
        wrong = np.arange(targets.size) >= right
        targets.reshape(-1)[wrong] = (targets.reshape(-1)[wrong] + 1) % shape[-1]
        found = accuracy(outputs=Tensor(scores), targets=targets.tolist())
        assert abs(found - right / targets.size) < 1e-9, f"{shape}: {right} of {targets.size} are right, got {found}"
        try:
            found = accuracy(scores, np.expand_dims(targets, -1))
        except ValueError as error:
            assert str((*targets.shape, 1)) in str(error), f"targets of shape {(*targets.shape, 1)}: the error is {error}"
        else:
            assert False, f"scores of {shape}, targets of {(*targets.shape, 1)}: ValueError expected, got {found}"


test_accuracy_at_other_shapes_and_sizes()
### END HIDDEN TESTS

# %% [markdown]
# ## The mean of means
#
# A test set comes in batches, each with a mean of its own, and the last one is often smaller. Say 100 examples
# are right, all of a batch of 100, and then one is wrong, alone in the last batch. Predict the mean of the
# two accuracies, and the share that is right.

# %%
print(np.mean([1.0, 0.0]), 100 / 101)

# %% [markdown]
# So a figure travels with the number of examples that it is the mean of. Such a pair is called a *record* here:
# `({"loss": 0.25, "accuracy": 0.9}, 32)`.
#
# **Task.** Write `means`. It is the only place where this chapter averages.
#
# <details><summary>Hint 1</summary>A mean over 32 examples stands for a sum. Which one?</details>
# <details><summary>Hint 2</summary>Sum of value times count, divided by the sum of the counts, for every
# name.</details>
# <details><summary>Hint 3</summary>What if there was no batch at all, because the generator of the batches was used up
# by the epoch before? Say so, with a <code>ValueError</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "training-means", "locked": false, "schema_version": 3, "solution": true, "task": false}
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
        raise ValueError("there is no mean of no examples: were the batches a generator that is used up?")
    return {name: sum(values[name] * count for values, count in records) / total for name in records[0][0]}
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-means", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_every_example_weighs_the_same():
    records = [({"loss": 0.5, "accuracy": 1.0}, 100), ({"loss": 8.0, "accuracy": 0.0}, 1), ({"loss": 2.0, "accuracy": 0.25}, 24)]
    found = means(records)
    for name, wanted in [("loss", (50 + 8 + 48) / 125), ("accuracy", 106 / 125)]:
        assert name in list(found), f"the records tell {name}, your means do not: {found}"
        assert abs(found[name] - wanted) < 1e-9, (
            f"batches of 100, 1 and 24 examples: the mean {name} is {wanted}, yours is {found[name]}. The mean of the "
            f"three means would be {np.mean([values[name] for values, _ in records]):.4g}: weigh each by its count")
    assert list(found) == ["loss", "accuracy"], f"the names are loss and accuracy, in this order; yours {list(found)}"


def test_means_change_nothing():
    records = [({"loss": 3.0}, 2), ({"loss": -1.0}, 6)]
    first, again = means(records), means(records)
    assert first == again == {"loss": 0.0}, f"records of 3.0 (2 examples) and -1.0 (6) have the mean 0; yours {first}, then {again}"
    assert records == [({"loss": 3.0}, 2), ({"loss": -1.0}, 6)], f"the records were changed: {records}"


def test_no_examples_have_no_mean():
    for records in ([], [({"loss": 3.0}, 0)]):
        try:
            found = means(records)
        except ValueError:
            continue
        except (IndexError, ZeroDivisionError) as error:
            assert False, f"means({records}) should say in a ValueError that there were no examples, yours: {error!r}"
        assert False, f"means({records}) should be a ValueError, not {found}: a loss of 0 that nobody measured looks perfect"
    found = means([({"loss": math.inf}, 1), ({"loss": 1.0}, 3)])
    assert found["loss"] == math.inf, f"one infinite loss makes the mean infinite, yours {found}"


test_every_example_weighs_the_same()
test_means_change_nothing()
test_no_examples_have_no_mean()

# %% nbgrader={"grade": true, "grade_id": "check-means-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_means_of_many_records():
    random = np.random.default_rng(8)
    for names, batches in [(("a",), 1), (("z", "b", "loss"), 9), (("loss", "x"), 40)]:
        counts = random.integers(1, 50, batches).tolist()
        values = random.normal(size=(batches, len(names))) * 10.0 ** random.integers(-4, 5, len(names))
        found = means([(dict(zip(names, row.tolist())), count) for row, count in zip(values, counts)])
        right = np.repeat(values, counts, axis=0).mean(0)
        assert list(found) == list(names), f"names {names} expected, got {list(found)}"
        assert np.allclose(list(found.values()), right, rtol=1e-9, atol=1e-12), f"{right} expected, got {found}"
    found = means([({"loss": math.nan}, 2), ({"loss": 1.0}, 3)])
    assert math.isnan(found["loss"]), f"a batch of nan makes the mean nan, got {found}"


test_means_of_many_records()
### END HIDDEN TESTS

# %% [markdown]
# ## A step
#
# Here are the four lines, once more, with an optimizer from 07. Each has its place. Gradients *add up* over
# calls of `backward`, so somebody must forget the old ones. And the loss is handed out as a number: a Tensor would
# hold on to the notes of everything it was made from.
#
# Predict: a weight of 1, a gradient of 1 in each step, a rate of 0.1. What is the weight after two steps,
# and what if nobody forgets?
#
# **Task.** Write `train_step`.
#
# <details><summary>Hint 1</summary>Forget, run, measure, walk back, step. Which method of the optimizer
# forgets?</details>
# <details><summary>Hint 2</summary>Somebody may have called <code>backward</code> before the first step. Would
# forgetting <em>behind</em> the step do?</details>
# <details><summary>Hint 3</summary><code>optimizer.zero_grad()</code>, <code>loss(model(inputs), targets)</code>,
# <code>.backward()</code>, <code>optimizer.step()</code>, and <code>float</code> of the loss.</details>

# %% nbgrader={"grade": false, "grade_id": "training-step", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def train_step(model, loss, optimizer, inputs, targets):
    """Improve `model` once, with one batch.

    model      a Module, called with the inputs
    loss       a function of (outputs, targets) that returns a Tensor of shape (): the mean over the batch
    optimizer  of the model's parameters: its methods zero_grad() and step()
    inputs, targets  one batch
    returns    the loss before the step, a float

    Gradients from before play no part. Those of this batch are still there afterwards, to be looked at.

    >>> from tinytorch.core.layers import Dense
    >>> from tinytorch.core.optimizers import SGD
    >>> layer = Dense(1, 1, rng=0)
    >>> train_step(layer, lambda out, y: ((out - y) ** 2).mean(), SGD(layer.parameters(), lr=0.1), Tensor([[0.0]]), 3.0)
    9.0
    """
    ### BEGIN SOLUTION
    optimizer.zero_grad()
    value = loss(model(inputs), targets)
    value.backward()
    optimizer.step()
    return float(value)
    ### END SOLUTION

# %% [markdown]
# The checks train the smallest of all networks, with an optimizer that keeps a diary:

# %% tags=["learner-side"]
class Slope(Module):
    """x times a weight, for x of shape (n,) or (n, k). Notes in `.seen` for each run: its mode, and if notes are taken."""

    def __init__(self, weight=1.0):
        self.weight = Tensor([weight], requires_grad=True)
        self.seen = []

    def forward(self, x):
        out = x * self.weight
        self.seen.append((self.training, out.requires_grad))
        return out


class Plain:
    """Descent with momentum, in `.diary` what was called. Its state is one array."""

    def __init__(self, model, lr=0.1, momentum=0.0):
        self.parameters, self.momentum, self.diary = model.parameters(), momentum, []
        self.param_groups = [{"lr": lr}]
        self.speed = np.zeros(len(self.parameters), "float32")

    def zero_grad(self):
        self.diary.append("zero_grad")
        for p in self.parameters:
            p.grad = None

    def step(self):
        self.diary.append("step")
        for n, p in enumerate(self.parameters):
            self.speed[n] = self.momentum * self.speed[n] + p.grad.sum()
            p.data -= self.param_groups[0]["lr"] * self.speed[n]

    def state_dict(self):
        return {"speed": self.speed, "lr": self.param_groups[0]["lr"]}  # live, as PyTorch does it

    def load_state_dict(self, state):
        if np.shape(state["speed"]) != self.speed.shape:
            raise ValueError(f"speed has shape {np.shape(state['speed'])}, not {self.speed.shape}")
        self.speed[...], self.param_groups[0]["lr"] = state["speed"], state["lr"]


def mean_output(outputs, targets):
    """A loss whose slope for the weight of a Slope is the mean of the inputs."""
    return (outputs - targets).mean()


def squared(outputs, targets):
    return ((outputs - targets) ** 2).mean()


def steps_taken(model, optimizer, batches, loss=mean_output, stale=None):
    """What each train_step returned, the weight after each, and the gradients that are left after each."""
    found = []
    if stale is not None:
        model.weight.grad = np.array([stale], "float32")
    for inputs, targets in batches:
        told = train_step(model, loss, optimizer, Tensor(inputs), Tensor(targets))
        gradient = None if model.weight.grad is None else np.array(model.weight.grad)
        found.append((float(told), np.array(model.weight.data), gradient, isinstance(told, float)))
    return found

# %% nbgrader={"grade": true, "grade_id": "check-step", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_two_steps_by_hand():
    model = Slope(1.0)
    first, second = steps_taken(model, Plain(model), [([0.5, 1.5], [0.0, 0.0])] * 2)
    for n, (_, weight, _, _), wanted, forgot in [(1, first, 0.9, None), (2, second, 0.8, 0.7)]:
        assert weight.shape == (1,) and abs(weight[0] - wanted) < 1e-6, (
            f"a weight of 1, gradients of 1, a rate of 0.1: after step {n} the weight is {wanted}, yours {weight}"
            + (". The gradients of both steps were added up: forget the old ones with zero_grad()" if forgot and abs(weight[0] - forgot) < 1e-6 else ""))


def test_the_loss_is_a_number_from_before_the_step():
    model = Slope(2.0)
    found = steps_taken(model, Plain(model, lr=0.25), [([1.0, 3.0], [0.0, 1.0]), ([2.0, -1.0], [1.0, 0.0])], squared)
    weight = 2.0
    for (told, after, _, plain), x, y in zip(found, ([1.0, 3.0], [2.0, -1.0]), ([0.0, 1.0], [1.0, 0.0])):
        x, y = np.array(x), np.array(y)
        before = np.mean((weight * x - y) ** 2)
        assert abs(told - before) < 1e-5 * before, f"the loss with the weight {weight} is {before}, you return {told}: measure, then step"
        assert plain, "return float(loss): a Tensor keeps the notes of all that it was made from, and with them the memory"
        weight -= 0.25 * np.mean(2 * (weight * x - y) * x)
        assert abs(after[0] - weight) < 1e-5 * abs(weight), f"the step should lead to the weight {weight}, yours is {after}"


def test_gradients_from_before_play_no_part():
    model = Slope(1.0)
    (_, weight, gradient, _), = steps_taken(model, Plain(model), [([1.0, 3.0, 5.0], [0.0, 0.0, 0.0])], stale=100.0)
    assert weight.shape == (1,) and abs(weight[0] - 0.7) < 1e-5, (
        f"the gradient of this batch is 3, so the weight goes from 1 to 0.7; yours is {weight}: a gradient of 100 was left "
        "there before the first step. Forget first, then run")
    assert gradient is not None and abs(gradient[0] - 3) < 1e-5, f"after the step the batch's gradient, 3, can be looked at; yours is {gradient}"


def test_one_step_is_one_step():
    model = Slope(1.0)
    optimizer = Plain(model)
    steps_taken(model, optimizer, [([1.0], [0.0])] * 2)
    diary = list(optimizer.diary)
    assert diary.count("step") == 2, f"two batches are two steps, your optimizer was told {diary}"
    assert len(model.seen) == 2, f"two batches are two runs of the network, yours ran {len(model.seen)} times"


test_two_steps_by_hand()
test_the_loss_is_a_number_from_before_the_step()
test_gradients_from_before_play_no_part()
test_one_step_is_one_step()

# %% nbgrader={"grade": true, "grade_id": "check-step-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_ten_steps_with_momentum():
    random = np.random.default_rng(5)
    model, weight, speed = Slope(-3.0), -3.0, 0.0
    batches = [(random.normal(size=(n, 2)).astype("float32"), random.normal(size=(n, 2)).astype("float32"))
               for n in (3, 1, 4, 7, 2, 5, 6, 1, 9, 2)]
    found = steps_taken(model, Plain(model, lr=0.07, momentum=0.6), batches, squared, stale=-4.0)
    for n, ((told, after, gradient, _), (x, y)) in enumerate(zip(found, batches)):
        x, y = x.astype("float64"), y.astype("float64")
        loss, slope = np.mean((weight * x - y) ** 2), np.mean(2 * (weight * x - y) * x)
        speed = 0.6 * speed + slope
        weight -= 0.07 * speed
        assert abs(told - loss) < 1e-4 * max(loss, 1), f"step {n}: a loss of {loss} expected, got {told}"
        assert abs(after[0] - weight) < 1e-4, f"step {n}: the weight {weight} expected, got {after}"
        assert gradient is not None and abs(gradient[0] - slope) < 1e-4 * max(abs(slope), 1), f"step {n}: the gradient {slope} expected, got {gradient}"


test_ten_steps_with_momentum()
### END HIDDEN TESTS

# %% [markdown]
# ## Small batches as one big one
#
# A batch of 256 may not fit into memory. But gradients add up, and so far that was only a nuisance: four
# batches of 64, walked back one after the other, and then one step. The same step, if everything is weighed
# rightly.
#
# First the batches have to come in groups. The last group may be smaller; it is a group all the same. In a
# program that is still in use somewhere, the last group was taken `if loss > 0`. Predict whom that hurts.
#
# **Task.** Write `groups`, a generator.
#
# <details><summary>Hint 1</summary>Collect batches in a list. When is it full, and what do you do
# then?</details>
# <details><summary>Hint 2</summary>After the loop: is anything left? Ask the list, not the loss.</details>
# <details><summary>Hint 3</summary><code>yield group</code>, then <code>group = []</code>: a new list, for somebody may
# keep the old one.</details>

# %% nbgrader={"grade": false, "grade_id": "training-groups", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def groups(batches, size):
    """The batches in lists of `size`, in their order; the last list may be shorter, never empty.

    batches  anything to loop over, perhaps without an end: no batch is fetched before its group is asked for
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

# %% tags=["learner-side"]
def groups_and_fetches(count, size, most):
    """The first `most` groups of `count` numbers, and how many numbers had been fetched when each group came."""
    fetched, found = [], []

    def numbers():
        for n in range(count):
            fetched.append(n)
            yield n

    for group in groups(numbers(), size):
        found.append((group, len(fetched)))
        if len(found) == most:
            break
    return [(list(group), then) for group, then in found]

# %% nbgrader={"grade": true, "grade_id": "check-groups", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_every_batch_is_in_one_group():
    for count, size, wanted in [(5, 2, [[0, 1], [2, 3], [4]]), (6, 3, [[0, 1, 2], [3, 4, 5]]), (3, 1, [[0], [1], [2]]),
                                (2, 5, [[0, 1]]), (7, 3, [[0, 1, 2], [3, 4, 5], [6]])]:
        found = [list(group) for group in groups(list(range(count)), size)]
        assert found == wanted, (
            f"{count} batches in groups of {size} are {wanted}, yours {found}"
            + (": the batches that are left over are a group, too" if sum(map(len, found)) < count else ""))


def test_no_batches_make_no_group():
    found = [list(group) for group in groups([], 3)]
    assert found == [], f"without batches there is no group, also no empty one; yours {found}"
    found = [list(group) for group in groups([None], 3)]
    assert found == [[None]], f"one batch, whatever it is, makes one group, [[None]]; yours {found}"


def test_groups_wait_until_they_are_asked_for():
    found = groups_and_fetches(1000, 3, 2)
    assert [group for group, _ in found] == [[0, 1, 2], [3, 4, 5]], (
        f"two groups of three are [0, 1, 2] and [3, 4, 5], also later on; yours {[group for group, _ in found]}. Does "
        "a group lose its batches when the next one begins? Start a new list")
    assert [then for _, then in found] == [3, 6], (
        f"the first group needs 3 batches, the second 3 more; when yours came, {[then for _, then in found]} had been "
        "fetched. Hand each group out with yield as soon as it is full")


test_every_batch_is_in_one_group()
test_no_batches_make_no_group()
test_groups_wait_until_they_are_asked_for()

# %% [markdown]
# Now the weights. The loss of a batch is a mean over its examples, and so is its gradient. The gradient of a group should be
# the mean over *all* its examples. Three batches of 4, 4 and 2 examples: predict the factor that belongs to
# each.
#
# Records are made with this:

# %%
#| exporti
def record(value, outputs, targets, metrics):
    """The record of one batch: its loss and what else is measured, as floats, and how many examples it has."""
    return {"loss": float(value)} | {name: float(f(outputs, targets)) for name, f in metrics.items()}, len(targets)

# %% [markdown]
# **Task.** Write `accumulate`.
#
# <details><summary>Hint 1</summary>A mean over 10 examples, from the means over 4, 4 and 2 of them: you did that in
# <code>means</code>.</details>
# <details><summary>Hint 2</summary>A loss that is multiplied by 0.4 has a gradient that is multiplied by 0.4. But the record
# tells the loss as it was.</details>
# <details><summary>Hint 3</summary><code>(value * (len(targets) / total)).backward()</code> for each batch, before the
# next one is run: that is the point of it, one graph at a time.</details>

# %% nbgrader={"grade": false, "grade_id": "training-accumulate", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def accumulate(model, loss, group, metrics={}):
    """Add the gradients of a group of batches to those that are there, as if the group were one big batch.

    model    a Module
    loss     a function of (outputs, targets): the mean over a batch, a Tensor of shape ()
    group    list of (inputs, targets)
    metrics  dict of {name: function of (outputs, targets)}, measured beside the loss
    returns  list with the `record` of each batch: the mean loss of that batch, and the metrics

    Each batch is walked back before the next one is run, so that the notes of only one are in memory.

    >>> from tinytorch.core.layers import Dense
    >>> layer = Dense(1, 1, rng=0)
    >>> accumulate(layer, lambda out, y: (out - y).mean(), [(Tensor([[0.0]]), [[2.0]]), (Tensor([[0.0]] * 3), [[0.0]] * 3)])
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

# %% tags=["learner-side"]
events = []


class Telling(Slope):
    """A Slope that tells in `events` when it runs, and when the walk back has reached its weight."""

    def forward(self, x):
        events.append("run" if self.weight.grad is None else f"run, with the gradient {float(self.weight.grad.sum()):.4g}")
        return super().forward(x)


def told_by_telling(group):
    """What happened while the gradients of a group of ones were accumulated."""
    events.clear()
    accumulate(Telling(), mean_output, group)
    return list(events)


def largest(outputs, targets):
    return np.asarray(outputs).max()


def least(outputs, targets):
    return np.asarray(outputs).min()


def kinds_of(record):
    return sorted({type(value).__name__ for value in record[0].values()})

# %% nbgrader={"grade": true, "grade_id": "check-accumulate", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
def test_a_group_has_the_gradient_of_one_big_batch():
    random = np.random.default_rng(6)
    x, y = random.normal(size=(10, 3)).astype("float32"), random.normal(size=(10, 3)).astype("float32")
    for cuts in ([10], [4, 8], [1, 3], [2]):
        group = [(Tensor(a), Tensor(b)) for a, b in zip(np.split(x, cuts), np.split(y, cuts)) if len(a)]
        model = Slope(2.5)
        accumulate(model, squared, group)
        wanted = np.mean(2 * (2.5 * x.astype("float64") - y) * x)
        found, sizes = model.weight.grad, [len(targets) for _, targets in group]
        assert found is not None, "no gradient has arrived: walk back from each batch"
        assert abs(float(found[0]) - wanted) < 1e-5 * abs(wanted), (
            f"10 examples in batches of {sizes} have the gradient {wanted:.6f} of one batch of 10, yours is {float(found[0]):.6f}. "
            f"A batch of {sizes[0]} counts {sizes[0]} / 10")


def test_gradients_are_added_to_those_that_are_there():
    model = Slope(1.0)
    model.weight.grad = np.array([5.0], "float32")
    accumulate(model, mean_output, [(Tensor([1.0, 3.0]), Tensor([0.0, 0.0]))])
    assert abs(float(model.weight.grad[0]) - 7) < 1e-5, (
        f"a gradient of 5 was there, the group's is 2: that makes 7, yours {model.weight.grad}. Who accumulates does not forget")


def test_the_records_tell_each_batch_as_it_was():
    group = [(Tensor([1.0, 2.0, 6.0]), Tensor([0.0, 1.0, 2.0])), (Tensor([4.0]), Tensor([-1.0]))]
    model = Slope(-2.0)
    found = accumulate(model, mean_output, group, {"largest": largest, "least": least})
    assert len(found) == 2, f"two batches make two records, yours {found}"
    for one, loss, top, low, count in [(found[0], -7.0, -2.0, -12.0, 3), (found[1], -7.0, -8.0, -8.0, 1)]:
        values, size = one
        assert size == count, f"the record should say {count} examples, yours {size}"
        assert abs(float(values["loss"]) - loss) < 1e-5, (
            f"the mean loss of the batch is {loss}, your record says {values['loss']}: scale what you walk back from, not what you tell")
        assert abs(values["largest"] - top) < 1e-5 and abs(values["least"] - low) < 1e-5, (
            f"the metrics see the outputs of this batch: largest {top}, least {low}; yours {values}")
        assert kinds_of(one) == ["float"], f"records hold floats, no Tensors, which would keep their notes; yours {kinds_of(one)}"


def test_metrics_can_be_left_out():
    model = Slope(1.0)
    found = accumulate(model, mean_output, [(Tensor([1.0]), Tensor([0.0])), (Tensor([2.0]), Tensor([0.0]))])
    assert [values for values, _ in found] == [{"loss": 1.0}, {"loss": 2.0}], f"losses of 1 and 2 make the records 1 and 2, yours {found}"
    assert len(model.seen) == 2 and list(model.seen[0])[1], f"each batch is run once, with notes; yours ran (training, notes) {model.seen}"


def test_each_batch_is_walked_back_before_the_next():
    found = told_by_telling([(Tensor([1.0, 1.0]), Tensor([0.0, 0.0])), (Tensor([1.0]), Tensor([0.0])), (Tensor([1.0]), Tensor([0.0]))])
    assert found == ["run", "run, with the gradient 0.5", "run, with the gradient 0.75"], (
        f"before the second batch is run, the gradient of the first has arrived, and so on: 0.5, then 0.75; yours {found}. "
        "Else the notes of all batches are in memory at once")


test_a_group_has_the_gradient_of_one_big_batch()
test_gradients_are_added_to_those_that_are_there()
test_the_records_tell_each_batch_as_it_was()
test_metrics_can_be_left_out()
test_each_batch_is_walked_back_before_the_next()

# %% nbgrader={"grade": true, "grade_id": "check-accumulate-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_groups_have_the_gradient_of_one_big_batch():
    random = np.random.default_rng(16)
    for sizes in [(1,), (2, 7), (5, 1, 1, 3), (6, 6), (1, 9, 30)]:
        x, y = (random.normal(size=(sum(sizes), 2)) * 10.0 ** random.integers(-2, 2, (sum(sizes), 1)) for _ in range(2))
        cuts, model = np.cumsum(sizes)[:-1], Slope(0.5)
        model.weight.data = np.array([0.5])
        model.weight.grad = np.array([-2.0])
        found = accumulate(model, squared, [(Tensor(a), b) for a, b in zip(np.split(x, cuts), np.split(y, cuts))], {"top": largest})
        right = np.mean(2 * (0.5 * x - y) * x) - 2
        assert np.allclose(model.weight.grad, right, rtol=1e-9), f"batches of {sizes}: the gradient {right} expected, got {model.weight.grad}"
        for (values, count), a, b in zip(found, np.split(x, cuts), np.split(y, cuts)):
            assert count == len(a) and list(values) == ["loss", "top"], f"batches of {sizes}: got the record {values}, {count}"
            assert np.allclose(list(values.values()), [np.mean((0.5 * a - b) ** 2), 0.5 * a.max()], rtol=1e-9), f"batches of {sizes}: got {values}"


test_other_groups_have_the_gradient_of_one_big_batch()
### END HIDDEN TESTS

# %% [markdown]
# ## An epoch
#
# Once through all batches is an epoch. Two things are easily forgotten, and neither makes a noise. A network that was
# evaluated in between is still in the mode for use: without dropout, with frozen statistics. And an epoch
# that was interrupted and goes on has records from before.
#
# What is done with a group, someone else decides: `update` is a function that takes a group and returns its
# records.
#
# **Task.** Write `train_epoch`.
#
# <details><summary>Hint 1</summary>Before the first group: which of the two modes, and which method of
# <code>Module</code> sets it?</details>
# <details><summary>Hint 2</summary>The records of all groups go into one list, which begins with those from before. What is
# made of it at the end?</details>

# %% nbgrader={"grade": false, "grade_id": "training-epoch", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def train_epoch(model, update, groups, done=()):
    """Go once through `groups`, in training mode.

    model    a Module
    update   a function that improves the model with one group and returns its records, a list
    groups   anything to loop over
    done     records of groups of this epoch that were done before
    returns  the `means` over all records, `done` included

    >>> from tinytorch.core.layers import Dense
    >>> train_epoch(Dense(1, 1), lambda group: [({"loss": group}, 1)], [2.0, 4.0], done=[({"loss": 6.0}, 2)])
    {'loss': 4.5}
    """
    ### BEGIN SOLUTION
    model.train()
    records = list(done)
    for group in groups:
        records += update(group)
    return means(records)
    ### END SOLUTION

# %% tags=["learner-side"]
def epoch_in_modes(model, count):
    """The mode of the model and of its parts at each update of an epoch of `count` groups; the means; the groups."""
    model.eval()
    modes, got = [], []

    def update(group):
        modes.append([part.training for part in model.modules()])
        got.append(group)
        return [({"loss": float(group)}, 1), ({"loss": 10.0}, group)]

    return train_epoch(model, update, iter(range(1, count + 1))), modes, got


def nothing_done(group):
    return []

# %% nbgrader={"grade": true, "grade_id": "check-epoch", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_an_epoch_sees_every_group_once_in_training_mode():
    model = Sequential(Dense(2, 3), Sequential(Dropout(0.25), Dense(3, 1)))
    told, modes, got = epoch_in_modes(model, 4)
    assert list(got) == [1, 2, 3, 4], f"the groups 1 to 4 are updated once each, in order; yours {got}"
    assert all(all(mode) for mode in modes), (
        f"the network had been evaluated, and was trained in that mode, without dropout: {modes}. Call model.train() first")
    wanted = (1 + 2 + 3 + 4 + 10 * 10) / 14
    assert abs(told["loss"] - wanted) < 1e-9, f"14 examples with the mean {wanted:.4f}, yours {told}: each group has two records here"


def test_what_was_done_before_counts():
    done = [({"loss": 1.0}, 5), ({"loss": 3.0}, 5)]
    told = train_epoch(Dense(1, 1), lambda group: [({"loss": group}, 10)], [8.0, 4.0], done)
    assert abs(told["loss"] - 140 / 30) < 1e-9, f"done before: 10 examples of 2 on average; now 20 of 6: the mean is 4.667, yours {told}"
    assert done == [({"loss": 1.0}, 5), ({"loss": 3.0}, 5)], f"the list of what was done is the caller's; yours made it {done}"


def test_an_epoch_may_be_done_already_but_not_empty():
    told = train_epoch(Dense(1, 1), nothing_done, [], [({"loss": 2.5}, 3)])
    assert told == {"loss": 2.5}, f"nothing is left to do, and 3 examples of 2.5 were done: 2.5, yours {told}"
    try:
        told = train_epoch(Dense(1, 1), nothing_done, [])
    except ValueError:
        return
    assert False, f"an epoch of no examples should be a ValueError, as `means` raises it; yours returned {told}"


test_an_epoch_sees_every_group_once_in_training_mode()
test_what_was_done_before_counts()
test_an_epoch_may_be_done_already_but_not_empty()

# %% [markdown]
# It learns. Twenty epochs with the tools so far:

# %%
manual_seed(0)
net = Sequential(Dense(2, 32), Tanh(), Dropout(0.1), Dense(32, 32), Tanh(), Dense(32, 2))
adam = Adam(net.parameters(), lr=0.01)


def update(group):
    adam.zero_grad()
    found = accumulate(net, cross_entropy, group, {"accuracy": accuracy})
    adam.step()
    return found


for epoch in range(20):
    told = train_epoch(net, update, groups(seen, 1))
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1:2}", {name: round(value, 3) for name, value in told.items()})

# %% [markdown]
# ## Looking without learning
#
# A test must not teach. Dropout off, no notes taken, and afterwards everything as it was: also when the test ends with an
# error, and also for a part that somebody had frozen in the mode for use on purpose. Predict what
# `model.eval()` before and `model.train()` after would do to such a part.
#
# A `with` block is made for this. Python makes one of a function with one `yield`: what stands before it runs
# at the beginning of the block, what stands behind it at the end.
#
# **Task.** Write `evaluating`.
#
# <details><summary>Hint 1</summary>Remember the <code>training</code> of every module in
# <code>model.modules()</code>.</details>
# <details><summary>Hint 2</summary><code>yield</code> inside <code>with no_grad():</code>, and this inside
# <code>try</code>. What belongs into <code>finally</code>?</details>
# <details><summary>Hint 3</summary><code>modes = [(part, part.training) for part in model.modules()]</code>, and at the end a
# loop over them. Not <code>model.train()</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "training-evaluating", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
@contextlib.contextmanager
def evaluating(model):
    """A block in which `model` is in use: `training` is False in every module, and no notes are taken.

    Afterwards every module is in the mode in which it was, also after an error; the error goes on.

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

# %% tags=["learner-side"]
class Broken(Exception):
    pass


def modes_around(frozen, error=False):
    """The modes of six modules before, in and after the block; if notes are taken in it and after it; if an error came out.

    The modules with the numbers `frozen` are in the mode for use beforehand.
    """
    inner = Slope()
    net = Sequential(Dense(2, 2), Sequential(Dropout(0.5), inner), Slope())
    parts = net.modules()
    for n in frozen:
        parts[n].training = False
    before, came_out = [part.training for part in parts], False
    try:
        with evaluating(net):
            during = [part.training for part in parts], inner(Tensor([1.0])).requires_grad
            if error:
                raise Broken
    except Broken:
        came_out = True
    return before, during, [part.training for part in parts], inner(Tensor([1.0])).requires_grad, came_out

# %% nbgrader={"grade": true, "grade_id": "check-evaluating", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_inside_nothing_is_learned():
    _, (modes, notes), _, _, _ = modes_around([])
    assert not any(modes), f"inside, `training` is False in all six modules; yours {modes}: model.eval() sets them"
    assert not notes, "inside, no notes should be taken: `with no_grad():` around the yield saves the memory"


def test_afterwards_every_part_is_as_it_was():
    for frozen in ([], [2, 4], [0, 1, 2, 3, 4, 5]):
        before, (modes, _), after, notes, _ = modes_around(frozen)
        assert not any(modes), f"inside, `training` is False in all six modules; yours {modes}"
        assert after == before, (
            f"modes before the block {before}, after it {after}: put each module back to its own mode; model.train() "
            "would thaw what was frozen on purpose")
        assert notes, "after the block, notes should be taken again"


def test_an_error_inside_puts_all_back_and_goes_on():
    before, _, after, notes, came_out = modes_around([3], error=True)
    assert came_out, "an error inside the block should come out of it: no except, only finally"
    assert after == before and notes, (
        f"after an error, modes {before} became {after}, and notes are {'' if notes else 'not '}taken: what must "
        "happen in any case belongs into `finally`")


def test_a_block_in_a_block():
    net = Sequential(Dense(1, 1))
    with evaluating(net):
        with evaluating(net):
            pass
        inside = net.training
    assert inside is False and net.training is True, (
        f"after the inner block the network is still in use, after the outer one in training; yours {inside}, {net.training}")


test_inside_nothing_is_learned()
test_afterwards_every_part_is_as_it_was()
test_an_error_inside_puts_all_back_and_goes_on()
test_a_block_in_a_block()

# %% [markdown]
# **Task.** Write `evaluate`: every batch once, nothing learned, and the means over all examples.
#
# <details><summary>Hint 1</summary>Three of your tools and one given, in three or four lines: the block, the record of each
# batch, the means.</details>
# <details><summary>Hint 2</summary><code>record</code> wants the loss, the outputs, the targets and the
# metrics.</details>
# <details><summary>Hint 3</summary>Run the network once for each batch: <code>outputs = model(inputs)</code>, for the loss
# and for the metrics.</details>

# %% nbgrader={"grade": false, "grade_id": "training-evaluate", "locked": false, "schema_version": 3, "solution": true, "task": false}
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

# %% nbgrader={"grade": true, "grade_id": "check-evaluate", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_evaluate_weighs_every_example_the_same():
    random = np.random.default_rng(4)
    x, y = random.normal(size=(11, 2)).astype("float32"), random.normal(size=(11, 2)).astype("float32")
    y[8:] += 20
    model = Slope(1.5)
    found = evaluate(model, squared, [(Tensor(x[:4]), Tensor(y[:4])), (Tensor(x[4:8]), Tensor(y[4:8])), (Tensor(x[8:]), Tensor(y[8:]))],
                     {"right": lambda outputs, targets: len(targets)})
    wanted = np.mean((1.5 * x.astype("float64") - y) ** 2)
    assert list(found) == ["loss", "right"], f"the loss and the metric `right` were asked for, yours are {list(found)}"
    assert abs(found["loss"] - wanted) < 1e-4 * wanted, (
        f"the mean loss of the 11 examples is {wanted:.4f}, yours {found['loss']:.4f}: batches of 4, 4 and 3 do not weigh the same")
    assert abs(found["right"] - 41 / 11) < 1e-6, f"a metric of 4, 4 and 3 on as many examples has the mean {41 / 11:.4f}, yours {found['right']}"


def test_evaluate_learns_nothing():
    model = Slope(2.0)
    model.weight.grad = np.array([3.0], "float32")
    evaluate(model, squared, [(Tensor([1.0, 2.0]), Tensor([0.0, 0.0]))] * 2)
    runs = [list(run) for run in model.seen]
    assert len(runs) == 2, f"two batches are two runs of the network, yours ran {len(runs)} times"
    assert all(not training for training, _ in runs), "the network was evaluated in training mode, with dropout on: use `evaluating`"
    assert all(not notes for _, notes in runs), "notes were taken during the evaluation: use `evaluating`"
    assert np.array_equal(np.asarray(model.weight.data), [2]) and np.array_equal(model.weight.grad, [3]), (
        f"evaluation changed the weight from 2 to {model.weight.data} or its gradient from 3 to {model.weight.grad}")
    assert model.training is True, "the network was in training mode before the evaluation, and should be afterwards"


def test_evaluate_leaves_dropout_out():
    model = Sequential(Dropout(0.75), Slope(3.0))
    found = evaluate(model, mean_output, [(Tensor(np.ones((5, 4), "float32")), Tensor(np.zeros((5, 4), "float32")))])
    assert abs(found["loss"] - 3) < 1e-5, f"without dropout, ones times 3 have the mean 3; yours {found['loss']}"


def test_evaluate_refuses_no_batches():
    found = evaluate(Slope(), squared, [(Tensor([3.0]), Tensor([1.0]))])
    assert abs(found["loss"] - 4) < 1e-5, f"one batch with one example, 3 instead of 1: the loss is 4, yours {found}"
    try:
        found = evaluate(Slope(), squared, [])
    except ValueError:
        return
    assert False, f"no examples, no loss: a ValueError, as `means` raises it; yours returned {found}"


test_evaluate_weighs_every_example_the_same()
test_evaluate_learns_nothing()
test_evaluate_leaves_dropout_out()
test_evaluate_refuses_no_batches()

# %% nbgrader={"grade": true, "grade_id": "check-evaluate-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_evaluate_with_other_batches_and_metrics():
    random = np.random.default_rng(14)
    for sizes in [(1,), (3, 8), (1, 1, 5, 2)]:
        x, y = (random.normal(size=(sum(sizes), 3)) for _ in range(2))
        cuts, model = np.cumsum(sizes)[:-1], Sequential(Dropout(0.3), Slope(-0.5), Dropout(0.6))
        model[2].training = False
        batches = [(Tensor(a), Tensor(b)) for a, b in zip(np.split(x, cuts), np.split(y, cuts))]
        found = evaluate(batches=batches, model=model, loss=squared, metrics={"top": largest, "low": least})
        right = {"loss": np.mean((-0.5 * x - y) ** 2)}
        for name, f in [("top", np.max), ("low", np.min)]:
            right[name] = sum(f(-0.5 * part) * len(part) for part in np.split(x, cuts)) / len(x)
        assert list(found) == list(right), f"{list(right)} expected, got {list(found)}"
        assert np.allclose(list(found.values()), list(right.values()), rtol=1e-6), f"batches of {sizes}: {right} expected, got {found}"
        modes = [part.training for part in model.modules()]
        assert modes == [True, True, True, False], f"modes [True, True, True, False] before, {modes} afterwards"


test_evaluate_with_other_batches_and_metrics()
### END HIDDEN TESTS

# %%
manual_seed(1)
fresh = Sequential(Dense(2, 32), Tanh(), Dropout(0.5), Dense(32, 2))
print("untrained:", evaluate(fresh, cross_entropy, unseen, {"accuracy": accuracy}))
print("trained:  ", evaluate(net, cross_entropy, unseen, {"accuracy": accuracy}))

# %% [markdown]
# In use there are no targets, only inputs.
#
# **Task.** Write `predict`: what the network makes of every example, in one array. Batches may still be pairs; then
# only what comes first counts.
#
# <details><summary>Hint 1</summary>The same block. Which NumPy function joins arrays along the axis of
# examples?</details>
# <details><summary>Hint 2</summary>A batch is a pair when <code>isinstance(batch, (tuple, list))</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "training-predict", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def predict(model, batches):
    """The outputs of `model` for every example.

    model    a Module; it is in use meanwhile, and afterwards as it was
    batches  anything to loop over: inputs, or tuples or lists whose first member is the inputs
    returns  ndarray of shape (examples, ...), the outputs of all batches one behind the other, a copy

    >>> from tinytorch.core.layers import Sequential
    >>> predict(Sequential(Tensor.exp), [Tensor([0.0, 0.0]), (Tensor([0.0]), "targets")])
    array([1., 1., 1.], dtype=float32)
    """
    ### BEGIN SOLUTION
    with evaluating(model):
        inputs = (batch[0] if isinstance(batch, (tuple, list)) else batch for batch in batches)
        return np.concatenate([model(x).data for x in inputs])
    ### END SOLUTION

# %% tags=["learner-side"]
class Hand(Module):
    """Hands out an array of its own, always the same one."""

    def __init__(self):
        self.mine = Tensor([[1.0, 2.0]])

    def forward(self, x):
        return self.mine


def after_writing_into_prediction(number):
    """A prediction of a module, and what the module holds after `number` was written over the prediction."""
    hand = Hand()
    found = predict(hand, [Tensor([0.0])])
    told = np.array(found)
    found[...] = number
    return told, hand.mine.numpy()

# %% nbgrader={"grade": true, "grade_id": "check-predict", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_predictions_come_in_order():
    x = np.random.default_rng(2).normal(size=(7, 3)).astype("float32")
    model = Slope(-4.0)
    for batches in ([Tensor(x)], [Tensor(x[:2]), Tensor(x[2:3]), Tensor(x[3:])], [(Tensor(x[:5]), [0] * 5), [Tensor(x[5:]), "no targets"]]):
        found = predict(model, batches)
        assert isinstance(found, np.ndarray), f"predictions are one ndarray, yours are {type(found).__name__}"
        assert found.shape == (7, 3) and np.allclose(found, -4 * x), (
            f"7 examples in {len(batches)} batches make the outputs\n{-4 * x}, yours\n{found}")
        assert found.dtype.name == "float32", f"float32 outputs stay float32, yours are {found.dtype}"


def test_predictions_take_no_notes_and_no_dropout():
    model = Slope(2.0)
    found = predict(Sequential(Dropout(0.75), model), [Tensor(np.ones((2, 3), "float32"))])
    assert np.allclose(found, 2), f"without dropout, ones times 2 are 2; yours are\n{found}"
    training, notes = model.seen[0]
    assert not training and not notes, f"in use: mode {training}, notes {notes}; both should be False inside `evaluating`"
    assert model.training is True, "afterwards the network should be back in training mode"


def test_predictions_may_have_any_shape():
    for shape in [(4,), (2, 1, 3), (3, 2, 2, 2)]:
        x = np.arange(np.prod(shape), dtype="float64").reshape(shape)
        found = predict(Slope(1.0), [Tensor(x), Tensor(x[:1])])
        assert found.shape == (shape[0] + 1, *shape[1:]), f"{shape[0]} examples and one more make {shape[0] + 1}, yours have the shape {found.shape}"


def test_predictions_are_a_copy():
    told, found = after_writing_into_prediction(9.0)
    assert np.array_equal(told, [[1, 2]]), f"a module that answers [[1, 2]] to one batch predicts [[1, 2]], yours {told}"
    assert np.array_equal(found, [[1, 2]]), f"somebody wrote 9 over a prediction, and into the network: {found}"


test_predictions_come_in_order()
test_predictions_take_no_notes_and_no_dropout()
test_predictions_may_have_any_shape()
test_predictions_are_a_copy()

# %% [markdown]
# ## When to stop
#
# On the points that it learns from, a network only gets better. On others it gets better, then worse: it begins to
# learn the noise. So one looks at examples that are kept apart, after every epoch, and stops when they have not improved
# for a while. The while is called patience; without it, the first unlucky epoch would end everything.
#
# The rule can be a question about the list of losses so far: how many epochs ago was the last improvement? Then
# nothing else must be remembered, and nothing is lost when training goes on tomorrow.
#
# Predict the answers for [5, 3, 4, 3, 3.5], and for [nan, nan].
#
# **Task.** Write `epochs_since_best`.
#
# <details><summary>Hint 1</summary>Walk through the losses with the best one so far in your hand. What is it before the
# first?</details>
# <details><summary>Hint 2</summary>Every loss makes the count one larger; an improvement makes it 0. As good as the best is
# no improvement, and neither is <code>nan</code>: which comparison says no to both?</details>
# <details><summary>Hint 3</summary><code>if loss < best - min_delta:</code></details>

# %% nbgrader={"grade": false, "grade_id": "training-patience", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def epochs_since_best(losses, min_delta=0.0):
    """How many losses came after the last improvement; all of them, if there was none.

    losses     list of floats, the oldest first; nan and inf may be among them, and are no improvement
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

# %% nbgrader={"grade": true, "grade_id": "check-patience", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_epochs_are_counted_from_the_last_improvement():
    for losses, wanted in [([], 0), ([7.0], 0), ([5.0, 3.0, 4.0, 3.5], 2), ([5.0, 4.0, 3.0], 0), ([1.0, 2.0, 3.0, 4.0, 5.0], 4),
                           ([5.0, 6.0, 4.0, 9.0, 8.0, 7.0], 3), ([-1.0, -3.0, -2.0], 1), ([1e9, 2e8], 0)]:
        found = epochs_since_best(list(losses))
        assert found == wanted, (
            f"losses {losses}: {wanted} came after the best one, yours says {found}. Compare with the best so far, not with the one before")


def test_as_good_as_the_best_is_no_improvement():
    for losses, wanted in [([2.0, 2.0], 1), ([5.0, 3.0, 4.0, 3.0, 3.5], 3), ([0.0, 0.0, 0.0], 2)]:
        found = epochs_since_best(losses)
        assert found == wanted, (
            f"losses {losses}: the best one came {wanted} epochs ago and was only equalled since; yours says {found}. A network that stands still would never be stopped")


def test_small_improvements_are_none():
    for losses, delta, wanted in [([1.0, 0.95, 0.91], 0.1, 2), ([1.0, 0.95, 0.85], 0.1, 0), ([1.0, 0.75, 0.5], 0.25, 0),
                                  ([4.0, 3.0, 2.5, 2.75], 0.5, 2), ([4.0, 3.75, 3.5, 3.25], 0.5, 0), ([2.0, 1.5], 0.5, 1)]:
        found = epochs_since_best(losses, delta)
        assert found == wanted, (
            f"losses {losses} with min_delta {delta}: {wanted} since the last improvement by more than {delta} on the best "
            f"that counted; yours says {found}")


def test_nan_and_inf_are_no_improvement():
    nan, inf = math.nan, math.inf
    for losses, wanted in [([nan], 1), ([nan, nan, nan], 3), ([3.0, nan, 4.0], 2), ([nan, 2.0], 0), ([nan, 2.0, 3.0], 1),
                           ([inf, inf], 2), ([5.0, nan, 4.0], 0)]:
        found = epochs_since_best(losses)
        assert found == wanted, (
            f"losses {losses}: {wanted} since the last improvement, yours says {found}. nan is smaller than nothing: ask whether the loss IS smaller, and begin with infinity")


test_epochs_are_counted_from_the_last_improvement()
test_as_good_as_the_best_is_no_improvement()
test_small_improvements_are_none()
test_nan_and_inf_are_no_improvement()

# %% nbgrader={"grade": true, "grade_id": "check-patience-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_patience_with_many_losses():
    random = np.random.default_rng(77)
    for delta in (0.0, 0.05, 1.0):
        for _ in range(30):
            losses = (random.normal(size=random.integers(1, 12)) + np.where(random.random() < 0.5, -0.2, 0.3) * np.arange(1)).round(1).tolist()
            losses = [math.nan if random.random() < 0.1 else loss for loss in losses]
            best, right = None, len(losses)
            for n, loss in enumerate(losses):
                if not math.isnan(loss) and (best is None or best - loss > delta):
                    best, right = loss, len(losses) - 1 - n
            found = epochs_since_best(losses, min_delta=delta)
            assert found == right, f"losses {losses}, min_delta {delta}: {right} expected, got {found}"


test_patience_with_many_losses()
### END HIDDEN TESTS

# %% [markdown]
# ## What a checkpoint must hold
#
# The power fails in epoch 7. What must be on the disk so that the network comes out *bit for bit* as if nothing had
# happened? The weights, of course. Make a list before you read on; most people find three things.
#
# - the optimizer: its moments, its count of steps, its rates;
# - the schedule, which has a clock of its own;
# - where we were: the epoch, how many groups of it were done, their records, and the history;
# - chance. Dropout draws from a generator, and so does whatever shuffles the examples.
#
# Generators hide in objects: in a layer, a loader, the dataset inside the loader. These three lines of thought
# find them: look at everything, in a fixed order, each once; remember a generator's *state*, which is a few whole
# numbers; put it back later.

# %%
#| export
def generators_in(thing, seen=None):
    """Every NumPy Generator in `thing`, in a fixed order, each once: in attributes, lists, tuples and dicts."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, (type, np.ndarray, Tensor)):
        return []
    seen.add(id(thing))
    if isinstance(thing, np.random.Generator):
        return [thing]
    parts = thing if isinstance(thing, (list, tuple)) else (thing if isinstance(thing, dict) else getattr(thing, "__dict__", {})).values()
    return [generator for part in parts for generator in generators_in(part, seen)]


def chance_of(thing):
    """The states of the generators in `thing`, a list: all that the numbers they will draw depend on."""
    return [generator.bit_generator.state for generator in generators_in(thing)]


def set_chance(thing, states):
    """Put generators back to what `chance_of` found. ValueError when there are more, fewer or others."""
    found = generators_in(thing)
    if [g.bit_generator.state["bit_generator"] for g in found] != [state["bit_generator"] for state in states]:
        raise ValueError(f"there are {len(found)} random generators here, and states for {len(states)}: was the network or "
                         "the loader built in another way?")
    for generator, state in zip(found, states):
        generator.bit_generator.state = state

# %%
layer = Dropout(0.5)
saved = chance_of(layer)
first = layer(Tensor(np.ones(8, "float32"))).data
set_chance(layer, saved)
print(first, layer(Tensor(np.ones(8, "float32"))).data, sep="\n")

# %% [markdown]
# The run that is to be saved is an object, `run`, with these attributes: `model`, `optimizer` and `schedule` (or None),
# each with a `state_dict()`; the plain data `accumulate`, `epoch`, `position`, `records`, `history`, `best` and `start`.
#
# One trap is left. Which of these things will go on changing after you have looked at them? The `state_dict` of a
# Module copies its arrays; that of an optimizer, in PyTorch, hands out the live ones, and so do the lists of a run. Predict
# what such a checkpoint is worth after three more steps.
#
# **Task.** Write `snapshot`.
#
# <details><summary>Hint 1</summary>A dict with eleven entries. Seven are attributes as they are; a loop over their names is
# shorter than seven lines.</details>
# <details><summary>Hint 2</summary><code>getattr(run, name)</code>. A schedule may be None.</details>
# <details><summary>Hint 3</summary>The chance is that of the network <em>and</em> of the layers' own generator:
# <code>chance_of([Chance.rng, run.model])</code>.</details>
# <details><summary>Hint 4</summary>A copy of the dict shares the arrays inside. <code>copy.deepcopy</code> does
# not.</details>

# %% nbgrader={"grade": false, "grade_id": "training-snapshot", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def snapshot(run):
    """All that the rest of a training run depends on, copied.

    run      an object with the attributes told above, such as a `Trainer`
    returns  dict with the entries
             model, optimizer, schedule     what their state_dict() gives; None for no schedule
             accumulate, epoch, position, records, history, best, start     the attributes
             chance                         of the list of Chance.rng, the layers' own generator, and the model

    Whatever happens to `run` later, the snapshot stays as it is. Taking one changes nothing and draws nothing.

    Source: PyTorch's tutorial "Saving and loading a general checkpoint" keeps model, optimizer, epoch and loss.
    """
    ### BEGIN SOLUTION
    plain = ("accumulate", "epoch", "position", "records", "history", "best", "start")
    state = {name: getattr(run, name) for name in plain}
    state |= {"model": run.model.state_dict(), "optimizer": run.optimizer.state_dict()}
    state["schedule"] = None if run.schedule is None else run.schedule.state_dict()
    state["chance"] = chance_of([Chance.rng, run.model])
    return copy.deepcopy(state)
    ### END SOLUTION

# %% tags=["learner-side"]
class Clock:
    """A schedule: the rate is halved at each step."""

    def __init__(self, optimizer):
        self.optimizer, self.steps = optimizer, 0

    def step(self):
        self.steps += 1
        self.optimizer.param_groups[0]["lr"] /= 2

    def state_dict(self):
        return {"steps": self.steps}

    def load_state_dict(self, state):
        self.steps = state["steps"]


class Run:
    """A training run in its third epoch, after two of its groups."""

    def __init__(self, weight=1.0, schedule=True, dropouts=1):
        manual_seed(5)
        self.model = Sequential(Slope(weight), *[Dropout(0.4, rng=n) for n in range(dropouts)])
        self.optimizer = Plain(self.model, momentum=0.5)
        self.schedule = Clock(self.optimizer) if schedule else None
        self.accumulate, self.epoch, self.position, self.start = 1, 2, 2, [{"drawn": 7}]
        self.records = [({"loss": 3.0}, 4), ({"loss": 2.0}, 4)]
        self.history = {"loss": [5.0, 4.0], "rate": [0.1, 0.1]}
        self.best = {"0.weight": np.array([8.0], "float32")}


def goes_on(run, steps=3):
    """Train for some more steps; returns every weight on the way and what the layers' generator draws at the end."""
    found = []
    for n in range(steps):
        train_step(run.model, mean_output, run.optimizer, Tensor(np.ones(6, "float32")), Tensor(np.full(6, n, "float32")))
        found.append(float(run.model[0].weight.data[0]))
        if run.schedule is not None:
            run.schedule.step()
        run.records.append(({"loss": float(n)}, 1))
        run.history["loss"].append(float(n))
        run.best["0.weight"] += 1
        run.start[0]["drawn"] += 1
        run.epoch, run.position = run.epoch + 1, run.position + 3
    return found, float(Chance.rng.random())


def snapshot_three_steps_later():
    """A snapshot of a run, as it is after the run has gone on for three steps."""
    run = Run()
    state = snapshot(run)
    goes_on(run)
    return state

# %% nbgrader={"grade": true, "grade_id": "check-snapshot", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_a_snapshot_holds_all_eleven_parts():
    state = snapshot(Run(weight=7.0))
    names = ["accumulate", "best", "chance", "epoch", "history", "model", "optimizer", "position", "records", "schedule", "start"]
    assert isinstance(state, dict), f"a snapshot is a dict, yours is {state!r:.100}"
    for name in names:
        assert name in state, f"{name!r} is missing: a run that goes on from your snapshot would take another way; yours holds {sorted(state)}"
    assert sorted(state) == names, f"a snapshot has the entries {names}, yours {sorted(state)}"
    for name, wanted in [("accumulate", 1), ("epoch", 2), ("position", 2), ("records", [({"loss": 3.0}, 4), ({"loss": 2.0}, 4)]),
                         ("history", {"loss": [5.0, 4.0], "rate": [0.1, 0.1]}), ("start", [{"drawn": 7}]), ("schedule", {"steps": 0})]:
        assert state[name] == wanted, f"{name} is {wanted}, your snapshot says {state[name]}"
    assert np.array_equal(state["model"]["0.weight"], [7]), f"the weight is 7, your snapshot's model is {state['model']}"
    assert np.array_equal(state["best"]["0.weight"], [8]), f"the best weight was 8, your snapshot says {state['best']}"
    assert state["optimizer"]["lr"] == 0.1 and np.array_equal(state["optimizer"]["speed"], [0]), f"optimizer.state_dict() tells the rate and the speed, yours {state['optimizer']}"


def test_a_run_may_have_no_schedule():
    state = snapshot(Run(schedule=False))
    assert state["schedule"] is None, f"without a schedule its entry is None, yours {state['schedule']}"


def test_a_snapshot_holds_the_chance():
    found = snapshot(Run(dropouts=2))["chance"]
    assert len(found) == 3, (
        f"the layers' own generator and those of two Dropouts are three, your snapshot holds {len(found)}: chance_of([Chance.rng, run.model])")
    wanted = [np.random.default_rng(seed).bit_generator.state for seed in (5, 0, 1)]
    assert list(found) == wanted, f"the states should be those of the layers' generator, then of the model's, as they are now; yours {found}"


def test_a_snapshot_stays_as_it_is():
    state = snapshot_three_steps_later()
    weight, speed = state["model"]["0.weight"], state["optimizer"]["speed"]
    assert np.array_equal(weight, [1]) and np.array_equal(speed, [0]) and np.array_equal(state["best"]["0.weight"], [8]), (
        f"three steps later the snapshot's weight, speed and best went from 1, 0, 8 to {weight}, {speed}, {state['best']['0.weight']}: it shares arrays with the run. Copy deeply")
    assert len(state["records"]) == 2 and state["history"]["loss"] == [5.0, 4.0] and state["start"] == [{"drawn": 7}], (
        f"three steps later the snapshot's lists had grown, too: {state['records']}, {state['history']}, {state['start']}. Copy deeply")


test_a_snapshot_holds_all_eleven_parts()
test_a_run_may_have_no_schedule()
test_a_snapshot_holds_the_chance()
test_a_snapshot_stays_as_it_is()

# %% [markdown]
# And back. The parts know how to take over their own state; `put` asks them one after the other. But what if the third of them
# refuses, because the checkpoint is of another network? Then the first two are already changed, and what is left
# is neither the one run nor the other.

# %%
#| exporti
def put(run, state):
    """Take over a snapshot, part by part. ValueError at the first part that does not fit: what comes before it is changed."""
    if missing := {"model", "optimizer", "schedule", "chance", "accumulate", "epoch", "position", "records", "history", "best", "start"} - set(state):
        raise ValueError(f"this is no whole checkpoint: {', '.join(sorted(missing))} missing")
    if state["accumulate"] != run.accumulate:
        raise ValueError(f"it was saved with accumulate={state['accumulate']}, this run has {run.accumulate}: the groups would differ")
    state = copy.deepcopy(state)
    for name in ("model", "optimizer", "schedule"):
        part = getattr(run, name)
        if (part is None) != (state[name] is None):
            raise ValueError(f"the checkpoint was saved {'without' if part else 'with'} a {name}, this run is {'with' if part else 'without'} one")
        if part is not None:
            part.load_state_dict(state[name])
    set_chance([Chance.rng, run.model], state["chance"])
    for name in ("epoch", "position", "records", "history", "best", "start"):
        setattr(run, name, state[name])

# %% [markdown]
# **Task.** Write `restore`: all or nothing. You have everything you need.
#
# <details><summary>Hint 1</summary>What could you take before you try, so that you can go back?</details>
# <details><summary>Hint 2</summary><code>try</code> to put the state; on any error put back what was before, and let the error
# go on.</details>
# <details><summary>Hint 3</summary><code>except Exception:</code>, and at its end <code>raise</code>
# alone.</details>

# %% nbgrader={"grade": false, "grade_id": "training-restore", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def restore(run, state):
    """Let `run` go on from a snapshot. When anything does not fit, raise that error, with `run` as it was.

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

# %% tags=["learner-side"]
def same_way_after(steps, between):
    """The way of a run after a snapshot; and that of it, put back, after `between` more steps; then of a new run."""
    run, other = Run(), Run(weight=-3.0)
    goes_on(run, steps)
    state = snapshot(run)
    first = goes_on(run)
    goes_on(run, between)
    restore(run, state)
    second = goes_on(run)
    restore(other, state)
    return first, second, goes_on(other), (other.epoch, other.position, len(other.records), len(other.history["loss"]))


def after_refusal(spoil):
    """The error when a spoilt snapshot of another run is restored, if any, and the run's snapshots before and after."""
    run, other = Run(weight=2.0), Run(weight=9.0)
    goes_on(run, 1)
    goes_on(other, 4)
    state, before = snapshot(other), snapshot(run)
    if spoil == "speed":
        state["optimizer"]["speed"] = np.zeros(3)
    elif spoil == "schedule":
        state["schedule"] = None
    elif spoil == "chance":
        state["chance"] = state["chance"][:1]
    elif spoil == "accumulate":
        state["accumulate"] = 2
    elif spoil == "clock":
        state["schedule"] = {}
    elif spoil == "weight":
        state["model"]["0.weight"] = np.zeros(2)
    else:
        del state[spoil]
    try:
        restore(run, state)
        error = None
    except NotImplementedError:
        raise
    except Exception as problem:
        error = f"{type(problem).__name__}: {problem}"
    return error, before, snapshot(run)

# %% nbgrader={"grade": true, "grade_id": "check-restore", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_a_restored_run_goes_the_same_way_bit_for_bit():
    for steps, between in [(0, 0), (2, 0), (1, 3)]:
        first, second, third, where = same_way_after(steps, between)
        assert first == second, f"from one snapshot the weights went {first[0]}, and after `restore` {second[0]}; what the layers drew then: {first[1]}, {second[1]}"
        assert first == third, f"a new run that was restored went {third[0]} instead of {first[0]}; what the layers drew then: {third[1]}, {first[1]}"
        assert tuple(where) == (5 + steps, 11 + 3 * steps, 5 + steps, 5 + steps), (
            f"epoch, position, records and history should go on from the snapshot to {(5 + steps, 11 + 3 * steps, 5 + steps, 5 + steps)}, yours {where}")


def test_what_does_not_fit_changes_nothing():
    for spoil in ("speed", "schedule", "chance", "accumulate", "weight", "history", "clock"):
        error, before, after = after_refusal(spoil)
        assert error is not None, f"a snapshot with another {spoil} was restored without a word: let the error of `put` go on"
        for name in before:
            one, two = [{key: np.asarray(part[name][key]).tolist() for key in part[name]} if isinstance(part[name], dict) else part[name] for part in (before, after)]
            assert one == two, (
                f"a snapshot whose {spoil} does not fit was refused, and {name} was changed all the same, from {one} to {two}: "
                "take a snapshot before you try, and put that back")


def test_the_error_says_what_does_not_fit():
    for spoil, kind, word in [("speed", "ValueError", "(3,)"), ("chance", "ValueError", "generators"), ("accumulate", "ValueError", "2"), ("best", "ValueError", "best"), ("clock", "KeyError", "steps")]:
        error, _, _ = after_refusal(spoil)
        assert error is not None and error.startswith(kind) and word in error, (
            f"a snapshot whose {spoil} does not fit is refused with a {kind} about {word!r}, the one that `put` raised; yours: {error}")


test_a_restored_run_goes_the_same_way_bit_for_bit()
test_what_does_not_fit_changes_nothing()
test_the_error_says_what_does_not_fit()

# %% [markdown]
# ## On the disk
#
# A pickle could hold all this in one line; and whoever opens a pickle runs the program that is in it. Plain arrays run
# nothing. So the arrays of a snapshot go into an `.npz` file, and what is left, names and numbers, beside them as text.
# Python's JSON gives back every float to the last bit, and whole numbers of any length.

# %%
#| exporti
FORMAT = "tinytorch checkpoint 1"


class CheckpointError(ValueError):
    """A file that is no checkpoint, or a damaged one, or one of another network."""


def packed(value, arrays):
    """`value` as JSON can hold it; arrays are put aside into the list `arrays`. TypeError for what is no plain data."""
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biuf":
        arrays.append(np.asarray(value))
        return {"array" if isinstance(value, np.ndarray) else "number": len(arrays) - 1}
    if isinstance(value, dict):  # as pairs, because JSON would make words of keys that are numbers
        return {"dict": [[packed(key, arrays), packed(part, arrays)] for key, part in value.items()]}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [packed(part, arrays) for part in value]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"a checkpoint holds numbers, text and arrays, no {type(value).__name__}: {value!r:.60}")


def unpacked(value, arrays):
    """What was packed."""
    if not isinstance(value, dict):
        return value
    (kind, inside), = value.items()
    if kind in ("array", "number"):
        return arrays[f"a{inside}"] if kind == "array" else arrays[f"a{inside}"][()]
    if kind == "dict":
        return {unpacked(key, arrays): unpacked(part, arrays) for key, part in inside}
    return {"list": list, "tuple": tuple}[kind](unpacked(part, arrays) for part in inside)

# %% [markdown]
# A program may be killed while it writes, and the file it was to replace is the only checkpoint there is. So the new one
# is written beside it, forced to the disk, and renamed: a rename happens or does not happen. Reading refuses whatever is
# not what `save_state` wrote; every array in an `.npz` file has a checksum.

# %%
#| export
def save_state(path, state):
    """Write plain data, such as a snapshot, to the file `path`: afterwards the old file is there, or the new one."""
    arrays = []
    text = json.dumps({"format": FORMAT, "state": packed(state, arrays)})
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(suffix=".part", prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, text=np.frombuffer(text.encode(), np.uint8), **{f"a{n}": array for n, array in enumerate(arrays)})
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def load_state(path):
    """What `save_state` wrote to `path`. CheckpointError when it is damaged or something else, FileNotFoundError."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as found:
            arrays = dict(found)
        read = json.loads(arrays["text"].tobytes())
        if read["format"] != FORMAT:
            raise CheckpointError(f"{path} was written as {read['format']!r}, this is {FORMAT!r}")
        return unpacked(read["state"], arrays)
    except (CheckpointError, FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except Exception as error:  # what a damaged file makes of zip, NumPy and JSON is of many kinds
        raise CheckpointError(f"{path} is no checkpoint, or a damaged one ({type(error).__name__}: {error}). Take an older "
                              "copy, or begin anew") from None

# %%
folder = Path(tempfile.mkdtemp())
save_state(folder / "small.npz", {"weights": np.float32([0.1, 0.2]), "step": 7, ("any", 1): [None, 2**100, 0.1]})
print(load_state(folder / "small.npz"), np.load(folder / "small.npz").files)
(folder / "small.npz").write_bytes((folder / "small.npz").read_bytes()[:300])
try:
    load_state(folder / "small.npz")
except CheckpointError as error:
    print(str(error).replace(str(folder), "..."))

# %% [markdown]
# ## Where was it?
#
# Half way through an epoch, the shuffled order of the examples matters. It was drawn when the epoch began, and the loader's
# generator has moved on since. So the trainer remembers the loader's chance from the epoch's start, and on its way back it lets the
# loader draw the same order again, and passes over what was done.

# %%
#| exporti
def remaining(run, batches):
    """The groups of this epoch that are still to be done; `run.start` is the batches' chance at the epoch's start."""
    if run.position == 0 and not run.loaded:
        run.start = chance_of(batches)
        return groups(batches, run.accumulate)
    run.loaded = False
    set_chance(batches, run.start)
    of_run = chance_of([Chance.rng, run.model])
    walk = groups(batches, run.accumulate)
    done = sum(1 for _ in itertools.islice(walk, run.position))
    if done < run.position:
        raise ValueError(f"{run.position} groups of this epoch were done, but there are only {done}: these are other batches")
    set_chance([Chance.rng, run.model], of_run)  # passing over may have drawn from them
    return walk

# %% [markdown]
# ## The first number that is none
#
# One weight becomes infinite; a few operations later the loss is `nan`, and every weight after the next step. Whoever
# looks now sees `nan` everywhere. So look at each layer's output in the order in which they were made: the first that is not finite
# is the place. Why it is not is a question of what went in.
#
# To see them, every layer is wrapped for a moment in a function that writes down what comes and goes. Inner layers end first, so they stand
# before the network that holds them.

# %%
#| exporti
@contextlib.contextmanager
def watched(model):
    """A block with a list of (name, input arrays, {name: parameter array}, output array) of each layer that runs in it."""
    found, undo = [], []

    def watching(name, layer, call):
        def run(*inputs, **options):
            out = call(*inputs, **options)
            if isinstance(out, Tensor):
                weights = {path: p.data for path, p in layer.named_parameters()} if isinstance(layer, Module) else {}
                found.append((name, [x.data for x in inputs if isinstance(x, Tensor)], weights, out.data))
            return out
        return run

    for path, module in walk(model):
        if isinstance(module, Module):
            for name, part in list(vars(module).items()):
                if callable(part) and not isinstance(part, Module):  # a function, or an activation from lesson 02
                    undo.append((module, name, part))
                    vars(module)[name] = watching(f"{path}.{name} {name_of(part)}".lstrip("."), part, part)
            undo.append((module, "forward", None))
            vars(module)["forward"] = watching(f"{path or 'the network,'} {type(module).__name__}", module, module.forward)
    try:
        yield found
    finally:
        for module, name, part in reversed(undo):
            vars(module).pop(name) if part is None else vars(module).__setitem__(name, part)

# %% [markdown]
# **Task.** Write `blame`.
#
# <details><summary>Hint 1</summary>Go through the layers in order. What makes you stop?</details>
# <details><summary>Hint 2</summary>Three causes, and the order in which you ask matters: was an input not finite? A parameter?
# Else the layer itself made it.</details>
# <details><summary>Hint 3</summary><code>np.isfinite(array).all()</code> is False for nan and for both
# infinities.</details>

# %% nbgrader={"grade": false, "grade_id": "training-blame", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def blame(layers):
    """The first layer whose output is not finite, and why.

    layers   list of (name, list of input arrays, dict {name: parameter array}, output array), in the order in which they
             were computed
    returns  None when every output is finite; else (name of the layer, cause) where the cause is
             "input"            an input is not finite
             "parameter NAME"   all inputs are, and the first parameter that is not is called NAME
             "output"           the layer made it from finite numbers

    >>> blame([("0 exp", [np.array([1.0, 1000.0])], {}, np.array([2.7, np.inf])), ("1 Dense", [], {}, np.array([np.nan]))])
    ('0 exp', 'output')
    """
    ### BEGIN SOLUTION
    for name, inputs, weights, output in layers:
        if not np.isfinite(output).all():
            if not all(np.isfinite(x).all() for x in inputs):
                return name, "input"
            broken = [f"parameter {path}" for path, array in weights.items() if not np.isfinite(array).all()]
            return name, broken[0] if broken else "output"
    return None
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-blame", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
def test_all_is_well():
    good = np.array([[1e30, -2.0]], "float32")
    for layers in ([], [("0", [good], {"w": good}, good)], [("ids", [np.array([3, 1])], {}, good), ("sum", [good, good], {}, np.float32(4.0))]):
        found = blame(layers)
        assert found is None, f"every output is finite: None, yours {found}"
    found = blame([("0", [good], {}, good), ("1", [good], {}, np.array([math.nan]))])
    assert found is not None and found[0] == "1", f"the output of layer 1 is nan, so all is not well; yours {found}"


def test_the_first_layer_is_named():
    good, nan = np.array([1.0, 2.0, 3.0], "float32"), np.array([1.0, np.nan, 3.0], "float32")
    layers = [("0 Dense", [good], {}, good), ("1 log", [good], {}, nan), ("2 Dense", [nan], {"weights": nan}, nan), ("the network", [good], {}, nan)]
    found = blame(layers)
    assert found is not None, "the output of 1 log holds a nan among finite numbers, and your answer is None: every number must be finite"
    assert found[0] == "1 log", f"the first output that is not finite is that of '1 log'; you blame {found[0]!r}"
    assert tuple(found) == ("1 log", "output"), f"its input was finite and it has no parameters, so it made the nan: ('1 log', 'output'); yours {found}"


def test_the_cause_is_told():
    good, bad = np.array([[1.0, 2.0]]), np.array([[1.0, math.inf]])
    for inputs, weights, cause in [([bad], {}, "input"), ([good, bad], {"w": good}, "input"), ([bad, good], {"w": bad}, "input"),
                                   ([good], {"bias": good, "w": bad, "scale": bad}, "parameter w"),
                                   ([good, good], {"bias": good}, "output"), ([], {}, "output")]:
        found = blame([("first", [good], {"w": good}, good), ("second", inputs, weights, bad), ("third", [bad], {}, bad)])
        assert found is not None and tuple(found) == ("second", cause), (
            f"second got finite inputs {[bool(np.isfinite(x).all()) for x in inputs]} and has finite parameters "
            f"{ {name: bool(np.isfinite(w).all()) for name, w in weights.items()} }: the answer is ('second', {cause!r}), yours {found}")


def test_both_infinities_and_nan_are_not_finite():
    good = np.array([1.0, 2.0], "float32")
    for value in (math.nan, math.inf, -math.inf):
        found = blame([("layer", [good], {}, np.array([5.0, value, -1.0], "float32"))])
        assert found is not None and tuple(found) == ("layer", "output"), f"an output with {value} in it is not finite; yours {found}"


def test_what_vanishes_again_is_found_all_the_same():
    good, bad = np.array([2.0]), np.array([math.inf])
    found = blame([("0 exp", [good], {}, bad), ("1 one over", [bad], {}, np.array([0.0])), ("2 log", [np.array([0.0])], {}, -bad)])
    assert found is not None and tuple(found) == ("0 exp", "output"), (
        f"the infinity of '0 exp' became 0 in the next layer, and trouble later on; the first layer is '0 exp', yours {found}")


test_all_is_well()
test_the_first_layer_is_named()
test_the_cause_is_told()
test_both_infinities_and_nan_are_not_finite()
test_what_vanishes_again_is_found_all_the_same()

# %%
manual_seed(2)
steep = Sequential(Dense(2, 4), Tensor.exp, Dense(4, 2))
steep[0].bias.data[:] = 100.0
with np.errstate(over="ignore", invalid="ignore"), watched(steep) as layers:
    steep(seen[0][0])
print([name for name, *_ in layers], "->", blame(layers))

# %% [markdown]
# ## The trainer
#
# Nothing in it is new: it calls what you wrote, in the right order, and keeps the notes. Read it as a summary of the
# chapter. First, what it says while it works: a bar where there is a terminal and the package Rich, elsewhere a line per
# epoch.

# %%
#| exporti
class Display:
    """Tells how training goes. As a block it shows a bar in a terminal; `epoch` prints a line, anywhere."""

    def __init__(self, shown, batches, size):
        self.shown, self.bar = shown, None
        self.total = -(-len(batches) // size) if hasattr(batches, "__len__") else None

    def __enter__(self):
        if self.shown and sys.stdout.isatty():
            with contextlib.suppress(ImportError):
                from rich.progress import Progress

                self.bar = Progress(transient=True)
                self.task = self.bar.add_task("", total=self.total)
                self.bar.start()
        return self

    def __exit__(self, *error):
        if self.bar:
            self.bar.stop()

    def group(self, epoch, position):
        if self.bar:
            self.bar.update(self.task, description=f"epoch {epoch + 1}", completed=position)

    def epoch(self, epoch, epochs, told, seconds):
        line = "  ".join([f"epoch {epoch:{len(str(epochs))}}/{epochs}", *(f"{name} {value:.4g}" for name, value in told.items()), f"{seconds:.1f} s"])
        if self.bar:
            self.bar.console.print(line, highlight=False, markup=False)
        elif self.shown:
            print(line, flush=True)

# %%
#| export
class NotFinite(ArithmeticError):
    """A loss or a gradient became inf or nan; the message names the layer. The weights are those from before the step."""


class Trainer:
    """Trains a network: epochs, measures, early stopping, checkpoints.

    model       a Module
    optimizer   of its parameters
    loss        a function of (outputs, targets): the mean over a batch
    metrics     dict of {name: function of (outputs, targets)}: a mean over a batch, such as {"accuracy": accuracy}
    schedule    of the optimizer's learning rate, or None; `per` says if it steps per "epoch" or per "step"
    accumulate  how many batches make one step
    max_norm    gradients that are longer together are shortened to this length; None for as they are
    show        whether to tell how it goes

    .history    dict {name: list with one float per epoch}: "loss", the metrics, "rate", and with a validation set
                "validation loss" and so on
    .epoch      epochs that are done
    """

    def __init__(self, model, optimizer, loss, metrics=None, schedule=None, *, per="epoch", accumulate=1, max_norm=None, show=True):
        if per not in ("epoch", "step") or accumulate < 1:
            raise ValueError(f'per is "epoch" or "step" and accumulate 1 or more, not {per!r} and {accumulate}')
        self.model, self.optimizer, self.loss, self.metrics = model, optimizer, loss, dict(metrics or {})
        self.schedule, self.per, self.accumulate, self.max_norm, self.show = schedule, per, accumulate, max_norm, show
        self.epoch = self.position = 0  # epochs done, and groups of the next one
        self.records, self.history, self.best, self.start = [], {}, None, []
        self.loaded = False  # from a checkpoint, and not gone on yet

    def fit(self, batches, epochs, validation=None, *, patience=None, min_delta=0.0, checkpoint=None, every=None):
        """Train until `epochs` epochs are done, those from before included.

        batches     to be looped over once per epoch, each (inputs, targets), such as a DataLoader or a list
        validation  batches to evaluate after each epoch
        patience    stop when the validation loss has not improved for so many epochs, and put the best weights back
        min_delta   what counts as an improvement, in the unit of the loss
        checkpoint  a file to keep the run in, written after each epoch and after every `every` steps; see `load`
        returns     the history

        Raises NotFinite when a loss or gradient is inf or nan.
        """
        if patience is not None and validation is None:
            raise ValueError("patience needs a validation set: the loss of the training set only falls")
        if iter(batches) is batches:
            raise ValueError("batches is a generator, used up after one epoch: give a list, or a DataLoader")
        with Display(self.show, batches, self.accumulate) as display:
            while self.epoch < epochs and not self.tired(patience, min_delta):
                began = time.perf_counter()

                def update(group):
                    found = self.update(group)
                    self.records += found
                    self.position += 1
                    display.group(self.epoch, self.position)
                    if checkpoint and every and self.position % every == 0:
                        self.save(checkpoint)
                    return found

                told = train_epoch(self.model, update, remaining(self, batches), self.records)
                if validation is not None:
                    told |= {f"validation {name}": value for name, value in self.evaluate(validation).items()}
                self.start = chance_of(batches)  # for the next epoch, which may begin in another process
                self.end_epoch(told | {"rate": self.optimizer.param_groups[0]["lr"]}, patience, min_delta)
                if checkpoint:
                    self.save(checkpoint)
                display.epoch(self.epoch, epochs, told, time.perf_counter() - began)
        if patience is not None and self.best is not None:
            self.model.load_state_dict(self.best)
        return self.history

    def update(self, group):
        """One step, with a group of batches; returns their records."""
        chance = chance_of([Chance.rng, self.model])
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
        """Raise NotFinite, naming the layer, when a loss in the records `found` or a gradient is not finite."""
        where = f"epoch {self.epoch + 1}, step {self.position + 1}"
        for (values, _), (inputs, _) in zip(found, group):
            if not math.isfinite(values["loss"]):
                set_chance([Chance.rng, self.model], chance)  # dropout as it was
                with np.errstate(all="ignore"), no_grad(), watched(self.model) as layers:
                    self.model(inputs)
                name, cause = blame(layers) or ("the loss", "output")
                why = {"input": "got it as its input", "output": "made it from finite numbers"}.get(cause, f"has it in its {cause}")
                raise NotFinite(f"{where}: the loss is {values['loss']}, and the first to blame is {name}, which {why}. "
                                "Smaller steps (lr, max_norm)? Scaled inputs? A log or a division near 0?")
        for path, p in reversed(self.model.named_parameters()):  # the walk back came by the last layer first
            if p.grad is not None and not math.isfinite(p.grad.sum()) and not np.isfinite(p.grad).all():
                raise NotFinite(f"{where}: the loss is finite, the gradient of {path} is not: look at the slope of what "
                                "comes after it (the root of 0, a power of a negative number, an overflow)")

    def end_epoch(self, told, patience, min_delta):
        for name, value in told.items():
            self.history.setdefault(name, []).append(value)
        self.epoch, self.position, self.records = self.epoch + 1, 0, []
        if patience is not None and epochs_since_best(self.history["validation loss"], min_delta) == 0:
            self.best = self.model.state_dict()
        if self.schedule is not None and self.per == "epoch":
            self.schedule.step()

    def tired(self, patience, min_delta):
        return patience is not None and epochs_since_best(self.history.get("validation loss", []), min_delta) >= max(patience, 1)

    def evaluate(self, batches):
        """The loss and the metrics on batches that are not learned from: dict {name: float}."""
        return evaluate(self.model, self.loss, batches, self.metrics)

    def predict(self, batches):
        """The outputs for every example, an ndarray."""
        return predict(self.model, batches)

    def save(self, path):
        """Write a checkpoint: afterwards `path` holds this one, or, if that failed, the one from before."""
        save_state(path, snapshot(self))

    def load(self, path):
        """Go on from a checkpoint, bit for bit, with a network, optimizer and batches built in the same way.

        CheckpointError when the file is damaged, foreign or of another network; then nothing has changed.
        """
        state = load_state(path)
        try:
            restore(self, state)
            self.loaded = True
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise CheckpointError(f"{path} does not fit this run: {error}") from None

# %% [markdown]
# Now the spiral, seriously, with a test set to look at, patience, and a checkpoint. The network is stopped after a third of the way,
# as if the power had failed in the middle of an epoch; another one goes on from the file. Predict the difference
# between the two.

# %%
from tinytorch.core.optimizers import CosineAnnealingLR


def new_trainer(show=False):
    """A trainer with a network in its first state, always the same."""
    manual_seed(3)
    model = Sequential(Dense(2, 48), Tanh(), Dropout(0.1), Dense(48, 48), Tanh(), Dense(48, 2))
    optimizer = Adam(model.parameters(), lr=0.01)
    return Trainer(model, optimizer, cross_entropy, {"accuracy": accuracy}, CosineAnnealingLR(optimizer, 60), show=show)


one = new_trainer()
history = one.fit(seen, 60, validation=unseen)

stopped = new_trainer()
stopped.fit(seen, 20, validation=unseen)
for group in remaining(stopped, seen[:3]):
    stopped.records += stopped.update(group)
    stopped.position += 1
stopped.save(folder / "spiral.npz")

two = new_trainer()
two.load(folder / "spiral.npz")
two.fit(seen, 60, validation=unseen)
print(all(np.array_equal(a.data, b.data) for a, b in zip(one.model.parameters(), two.model.parameters())), one.evaluate(unseen))

# %% [markdown]
# The curves of an epoch's means are the first thing to look at, always both: a network that learns the noise shows it here
# and nowhere else.

# %%
#| export
def plot_history(history, names=("loss", "accuracy")):
    """Draw the curves of a history, those of the validation set beside them. Returns a matplotlib figure."""
    import matplotlib.pyplot as plt

    names = [name for name in names if name in history]
    figure, axes = plt.subplots(1, len(names), figsize=(4.5 * len(names), 3.2), squeeze=False)
    for axis, name in zip(axes[0], names):
        for key, label in [(name, "training"), (f"validation {name}", "validation")]:
            if key in history:
                axis.plot(range(1, len(history[key]) + 1), history[key], label=label)
        axis.set(xlabel="epoch", ylabel=name)
        axis.legend()
    figure.tight_layout()
    return figure

# %% alt="Left: loss of training and validation against the epoch, both falling to about 0.03. Right: their accuracy, rising to above 0.98 in fifteen epochs."
figure = plot_history(history)

# %% alt="Points of two spirals that the network never learned from, and the two regions it found; the boundary winds between the arms."
import matplotlib.pyplot as plt

across, up = np.meshgrid(np.linspace(-3.6, 3.6, 120), np.linspace(-3.6, 3.6, 120))
field = predict(one.model, [Tensor(np.stack([across, up], -1).reshape(-1, 2).astype("float32"))])
points, arms = spiral(300, seed=2)
figure, axis = plt.subplots(figsize=(4, 4))
axis.contourf(across, up, (field[:, 1] - field[:, 0]).reshape(across.shape), levels=[-99, 0, 99], cmap="RdBu", alpha=0.5)
axis.scatter(*points.T, c=arms, cmap="RdBu", edgecolors="black", linewidths=0.5, s=18)
axis.set(title="points it never learned from", aspect="equal")
figure.tight_layout()

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
# The learning rate matters more than anything else one can turn. There is a quick way to find its range: train with a rate that
# grows, by the same *factor* in each step, from far too small to far too large, and watch the loss. It stands still, falls, and
# explodes. Good rates are well before the explosion.
#
# A tool must not leave traces. `as_before` puts back the network, the optimizer and the chance, whatever happened.

# %%
#| exporti
@contextlib.contextmanager
def as_before(model, optimizer, batches=()):
    """A block in which `model` is trained for a trial. Afterwards it, the optimizer, chance and modes are as before."""
    parts = [Chance.rng, model, batches]
    weights, steps, chance = model.state_dict(), copy.deepcopy(optimizer.state_dict()), chance_of(parts)
    modes = [(part, part.training) for part in model.modules()]
    model.train()
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    finally:
        model.load_state_dict(weights)
        optimizer.load_state_dict(steps)
        optimizer.zero_grad()
        set_chance(parts, chance)
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
#
# <details><summary>Hint 1</summary><code>np.geomspace</code> gives numbers that grow by the same factor. An optimizer keeps its rate
# in every group of <code>optimizer.param_groups</code>, under <code>"lr"</code>.</details>
# <details><summary>Hint 2</summary><code>for rate, (inputs, targets) in zip(rates, endless(batches))</code>: set the rate, take a step
# with <code>train_step</code>, keep its loss.</details>
# <details><summary>Hint 3</summary>When to stop: <code>if not losses[-1] &lt;= 4 * min(losses)</code>. Why is that not the same as
# <code>losses[-1] &gt; 4 * min(losses)</code>?</details>
# <details><summary>Hint 4</summary>All of the loop inside <code>with as_before(model, optimizer, batches):</code>, and as many rates as
# losses are returned: <code>rates[:len(losses)]</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "training-range", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def learning_rate_range(model, loss, optimizer, batches, low=1e-5, high=10.0, steps=60):
    """The losses of a trial with growing learning rates, one step with one batch each.

    model, loss, optimizer  as for `train_step`; model and optimizer are afterwards as before
    batches    (inputs, targets), gone through again and again
    low, high  the first rate and the last, per step; each is the same multiple of the one before
    steps      how many rates, 2 or more
    returns    (rates, losses), two equally long lists of floats: losses[i] was measured before the step with rates[i]

    Stops early, that loss included, when one is not finite or more than 4 times the lowest so far.

    Source: Smith, Cyclical learning rates for training neural networks (2017), section 3.3, with rates that grow evenly.
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

# %% tags=["learner-side"]
class Twice(Plain):
    """A Plain with a second group, whose rate is noted, too."""

    def __init__(self, model):
        super().__init__(model, lr=0.3, momentum=0.5)
        self.param_groups.append({"lr": 0.7})

    def step(self):
        self.diary.append([group["lr"] for group in self.param_groups])
        super().step()

    def load_state_dict(self, state):
        super().load_state_dict(state)
        self.param_groups[1]["lr"] = 0.7


def range_of_slope(batches, low, high, steps, weight=1.0, loss=squared):
    """The rates and losses of a trial with a Slope; the rates of both groups in each step; what is there afterwards."""
    model = Slope(weight)
    optimizer = Twice(model)
    rates, losses = learning_rate_range(model, loss, optimizer, [(Tensor(x), Tensor(y)) for x, y in batches], low, high, steps)
    after = float(model.weight.data[0]), float(optimizer.speed[0]), [group["lr"] for group in optimizer.param_groups]
    return list(rates), list(losses), [told for told in optimizer.diary if isinstance(told, list)], after


def nan_from(step):
    """A loss that is 1 at each step before `step`, and nan from then on."""
    steps = iter(range(10**9))
    return lambda outputs, targets: (outputs * 0).sum() + (math.nan if next(steps) >= step else 1.0)


def range_until_nan(step, steps):
    return range_of_slope([([1.0], [0.0])], 0.001, 1.0, steps, loss=nan_from(step))[:2]

# %% nbgrader={"grade": true, "grade_id": "check-range", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
BATCHES = [([1.0, 2.0], [0.0, 1.0]), ([0.5], [3.0]), ([-1.0, 1.0, 2.0], [0.5, 0.0, 1.0])]


def test_rates_grow_by_the_same_factor():
    rates, losses, _, _ = range_of_slope([([1.0, 2.0], [0.0, 1.0])], 1e-6, 1e-2, 9)
    assert len(rates) == len(losses) == 9, f"9 rates and 9 losses were asked for, and nothing exploded; yours {len(rates)} and {len(losses)}"
    wanted = [1e-6 * 10 ** (n / 2) for n in range(9)]
    assert np.allclose(rates, wanted, rtol=1e-9), (
        f"from 1e-6 to 1e-2 in 9 rates, each is 3.162 times the one before; yours are {rates}. Equal differences would "
        "spend nearly all steps on the largest rates")
    assert all(isinstance(x, float) for x in [*rates, *losses]), f"rates and losses are floats, yours {rates[:2]}, {losses[:2]}"


def test_the_loss_belongs_to_the_step_with_its_rate():
    rates, losses, used, _ = range_of_slope(BATCHES, 0.001, 0.05, 7, weight=1.5)
    assert np.allclose(used, np.stack([rates, rates], 1), rtol=1e-9), (
        f"each step should be taken with its rate in every group, {rates}; yours took them with {used}")
    weight, speed = 1.5, 0.0
    for n, (rate, found) in enumerate(zip(rates, losses)):
        x, y = map(np.array, BATCHES[n % 3])
        loss = np.mean((weight * x - y) ** 2)
        assert abs(found - loss) < 1e-4 * max(loss, 0.1), (
            f"step {n}, with batch {n % 3} and the rate {rate:.4g}: the loss is {loss:.5f}, yours {found:.5f}. After the last batch comes the first again")
        speed = 0.5 * speed + np.mean(2 * (weight * x - y) * x)
        weight -= rate * speed


def test_it_stops_when_the_loss_explodes():
    rates, losses, used, _ = range_of_slope([([1.0], [0.0])], 0.01, 1e6, 60)
    assert len(rates) == len(losses) == len(used), f"as many rates as losses as steps; yours {len(rates)}, {len(losses)} and {len(used)}"
    assert len(losses) < 60, f"the loss went from {losses[0]} down to {min(losses):.3g} and then up to {losses[-1]:.3g}, and the trial went on"
    below = [loss <= 4 * min(losses[: n + 1]) for n, loss in enumerate(losses)]
    assert all(below[:-1]) and not below[-1], (
        f"the trial stops with the first loss of more than 4 times the lowest so far, not before, not after; yours ended with {losses[-3:]}, lowest {min(losses):.3g}")
    for step in (0, 3):
        rates, losses = range_until_nan(step, 20)
        assert len(losses) == step + 1 and len(rates) == step + 1, (
            f"the loss of step {step} is nan, so {step + 1} were measured; yours measured {len(losses)}. nan > x is False for every x: ask `not loss <= x`")


def test_a_loss_of_exactly_four_times_the_lowest_goes_on():
    rates, losses, _, _ = range_of_slope([([1.0], [0.0]), ([2.0], [0.0])], 1e-12, 1e-11, 6)
    assert len(losses) == 6, f"losses of 1 and 4 in turn never exceed 4 times the lowest: 6 steps, yours {losses}"
    rates, losses, _, _ = range_of_slope([([1.0], [0.0]), ([2.05], [0.0])], 1e-12, 1e-11, 6)
    assert len(losses) == 2, f"a loss of 1, then one of 4.2, more than 4 times as much: 2 steps, yours {losses}"


def test_a_trial_leaves_no_trace():
    for high in (0.05, 1e6):
        *_, after = range_of_slope(BATCHES, 0.01, high, 30, weight=2.5)
        weight, speed, lrs = after
        assert (weight, speed, list(lrs)) == (2.5, 0.0, [0.3, 0.7]), (
            f"weight, speed and rates were 2.5, 0 and [0.3, 0.7] before the trial, and are {after} after it: do all of it inside `as_before`")


test_rates_grow_by_the_same_factor()
test_the_loss_belongs_to_the_step_with_its_rate()
test_it_stops_when_the_loss_explodes()
test_a_loss_of_exactly_four_times_the_lowest_goes_on()
test_a_trial_leaves_no_trace()

# %%
#| export
def suggested_rate(rates, losses):
    """A rate to begin with: a tenth of the one at which the loss of a trial was lowest."""
    lowest = min((loss, rate) for rate, loss in zip(rates, losses) if math.isfinite(loss))
    return lowest[1] / 10

# %% [markdown]
# Predict, for SGD and for Adam on the spiral, where the loss explodes.

# %% alt="Loss against a learning rate that grows with each step, for SGD and Adam: level at first, then falling, then leaping up where the rate is too large."
figure, axis = plt.subplots(figsize=(6, 3.2))
for kind in (SGD, Adam):
    fresh = new_trainer()
    rates, losses = learning_rate_range(fresh.model, cross_entropy, kind(fresh.model.parameters(), lr=0.1), seen, 1e-5, 100.0, 120)
    axis.semilogx(rates, losses, label=f"{kind.__name__}: begin with {suggested_rate(rates, losses):.2g}")
axis.set(xlabel="learning rate, growing with each step", ylabel="loss (nats)", ylim=(0, 2))
axis.legend()
figure.tight_layout()

# %% [markdown]
# ## One batch by heart
#
# Before a long training, a short one: can the network learn a *single* batch by heart? If not, more data will not help.
# Something is broken: a slope that is lost, a layer that no optimizer knows, targets in another order.

# %%
#| export
def overfit_one_batch(model, loss, optimizer, inputs, targets, steps=200):
    """The losses of a trial that learns one batch by heart; they should go near 0. Afterwards everything is as before."""
    with as_before(model, optimizer):
        return [train_step(model, loss, optimizer, inputs, targets) for _ in range(steps)]

# %%
fresh = new_trainer()
fresh.model[2].p = 0.0  # dropout would be in the way
whole = overfit_one_batch(fresh.model, cross_entropy, fresh.optimizer, *seen[0])
lost = overfit_one_batch(fresh.model, lambda out, y: cross_entropy(Tensor(out.data) + 0 * out, y), fresh.optimizer, *seen[0])
print(f"as it should be: {whole[0]:.3f} -> {whole[-1]:.3g};  with a slope that is lost: {lost[0]:.3f} -> {lost[-1]:.3g}")

# %% [markdown]
# ## Look back
#
# 1. Train the spiral with dropout 0.5 and compare the two curves. The training loss is now *higher* than the validation loss: is that
#    good news? Evaluate the trained network on `seen`, and compare with what the last epoch said.
# 2. `accumulate` weighs batches by their examples. What changes for a network with a layer that uses statistics of the batch, so
#    that a group is not the same as one big batch? (Lesson 11 has one.)
# 3. Leave one entry at a time out of a checkpoint (put a fresh one in its place), and train on from it. Which omissions change
#    the final accuracy of the spiral measurably, and which only the bits?
