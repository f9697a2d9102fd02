"""A trial: training a model for some steps and leaving no trace of it."""

import contextlib
import copy

import numpy as np

from tinytorch.support.arguments import check_container, is_dataset
from tinytorch.support.random_states import random_states, set_random_states


@contextlib.contextmanager
def preserved_state(model, optimizer, batches=()):
    """A `with` block in which `model` may be trained. Afterwards weights, optimizer, modes and
    random-number generators are as before, also after an error.

    model      a Module; inside the block it is in training mode
    optimizer  with state_dict(), load_state_dict() and zero_grad()
    batches    what may draw random numbers besides the model, such as a DataLoader
    """
    from tinytorch.core.layers import RandomState  # late: a lesson of the course

    sources = [RandomState.rng, model, batches]
    weights, states = model.state_dict(), random_states(sources)
    steps = copy.deepcopy(optimizer.state_dict())
    before = {part: part.training for part in model.modules()}
    model.train(True)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    finally:
        model.load_state_dict(weights)
        optimizer.load_state_dict(steps)
        optimizer.zero_grad()
        set_random_states(sources, states)
        for part in before:
            part.training = before[part]


def repeat_batches(batches):
    """The batches of one epoch after another, without end. ValueError when there are none.

    >>> from itertools import islice
    >>> list(islice(repeat_batches("ab"), 5))
    ['a', 'b', 'a', 'b', 'a']
    """
    if is_dataset(batches):
        check_container(batches, "learning_rate_range")
    while True:
        count = 0
        for batch in batches:
            count += 1
            yield batch
        if not count:
            raise ValueError("there are no batches to train on")
