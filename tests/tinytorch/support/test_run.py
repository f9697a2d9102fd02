"""A run continues where it stopped, and refuses what is not its own."""

import copy

import numpy as np
import pytest

from tinytorch.core.layers import Dense, Dropout, RandomState, Sequential
from tinytorch.core.losses import cross_entropy
from tinytorch.core.optimizers import SGD
from tinytorch.core.training import microbatches, snapshot
from tinytorch.support.random_states import random_states
from tinytorch.support.run import (
    ENTRIES,
    TrainingState,
    are_probabilities,
    remaining,
    restore,
)


def new_run(**options):
    model = Sequential(Dense(2, 2, rng=0), Dropout(0.5, rng=1))
    return TrainingState(
        model, SGD(model.parameters(), lr=0.1), cross_entropy, show=False, **options
    )


class Shuffled:
    """Three batches in an order that is drawn when a pass begins."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def __iter__(self):
        return iter(self.rng.permutation(3).tolist())


def test_restoring_sets_every_part():
    run, other = new_run(), new_run()
    run.epoch, run.epoch_step, run.history = 3, 2, {"loss": [1.0]}
    run.model[0].weights.data += 1
    run.model[1].rng.random(5)
    restore(other, snapshot(run))
    assert repr(snapshot(other)) == repr(snapshot(run)) and set(snapshot(run)) == ENTRIES
    other.history["loss"].append(2.0)
    assert run.history == {"loss": [1.0]}


@pytest.mark.parametrize("missing", sorted(ENTRIES))
def test_a_snapshot_that_lacks_an_entry_is_refused_by_name(missing):
    run = new_run()
    state = snapshot(run)
    del state[missing]
    with pytest.raises(ValueError, match=f"not complete: {missing} missing"):
        restore(run, state)


def test_another_number_of_batches_per_step_is_refused():
    with pytest.raises(ValueError, match="accumulate=1, this run has accumulate=2"):
        restore(new_run(accumulate=2), snapshot(new_run()))


def test_the_rest_of_an_epoch_has_the_same_order():
    run = new_run()
    order = [group[0] for group in remaining(run, Shuffled(4), microbatches)]
    resumed, loader = new_run(), Shuffled(99)
    resumed.epoch_step, resumed.resumed = 1, True
    resumed.loader_states = copy.deepcopy(run.loader_states)
    states = random_states([RandomState.rng, resumed.model])
    assert [group[0] for group in remaining(resumed, loader, microbatches)] == order[1:]
    assert random_states([RandomState.rng, resumed.model]) == states


def test_options_that_cannot_work_are_refused():
    with pytest.raises(ValueError, match="per is 'batch'"):
        new_run(per="batch")
    with pytest.raises(ValueError, match="accumulate is 0\nit should be at least 1"):
        new_run(accumulate=0)


def test_an_optimizer_of_some_of_the_parameters_is_for_fine_tuning():
    model = Sequential(Dense(2, 2), Dense(2, 2))
    run = TrainingState(model, SGD(model[1].parameters(), lr=0.1), cross_entropy)
    assert len(run.optimizer.param_groups[0]["params"]) == 2


@pytest.mark.parametrize(
    ("outputs", "wanted"),
    [
        ([[0.25, 0.75], [0.5, 0.5]], True),
        ([[0.25, 0.75], [0.5, 0.6]], False),
        ([[-0.25, 1.25]], False),
        ([[1.0], [1.0]], False),
        ([0.5, 0.5], False),
        (np.zeros((0, 3)), False),
    ],
)
def test_rows_of_probabilities_are_recognized(outputs, wanted):
    assert are_probabilities(np.array(outputs)) is wanted
