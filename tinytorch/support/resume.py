"""Continuing a training run from a snapshot: setting its parts, and finding the place in the epoch.

A run is an object such as the `Trainer` of lesson 08, with the attributes model, optimizer,
schedule, accumulate, epoch, epoch_step, results, history, best_weights and loader_states.
"""

import copy
import itertools

from tinytorch.support.random_states import random_states, set_random_states

PLAIN = ("epoch", "epoch_step", "results", "history", "best_weights", "loader_states")
ENTRIES = {"model", "optimizer", "schedule", "random_states", "accumulate", *PLAIN}


def restore(run, state):
    """Set `run` to a snapshot, part by part.

    run      a training run built in the same way as the one that was saved
    state    dict with the entries `ENTRIES`; nothing is shared with it afterwards

    Raises ValueError at the first part that does not fit; the parts before it are then set already.
    """
    from tinytorch.core.layers import RandomState  # late: a lesson of the course

    if missing := ENTRIES - set(state):
        raise ValueError(f"the checkpoint is not complete: {', '.join(sorted(missing))} missing")
    if state["accumulate"] != run.accumulate:
        raise ValueError(
            f"the checkpoint was saved with accumulate={state['accumulate']}, this run has "
            f"accumulate={run.accumulate}: its steps would use other batches"
        )
    state = copy.deepcopy(state)
    for name in ("model", "optimizer", "schedule"):
        part = getattr(run, name)
        if (part is None) != (state[name] is None):
            raise ValueError(
                f"the checkpoint was saved {'without' if part else 'with'} a {name}, this run is "
                f"{'with' if part else 'without'} one"
            )
        if part is not None:
            part.load_state_dict(state[name])
    set_random_states([RandomState.rng, run.model], state["random_states"])
    for name in PLAIN:
        setattr(run, name, state[name])


def remaining(run, batches, microbatches):
    """The groups of batches that are still to be trained on in this epoch.

    run           a training run. `run.loader_states` are the states of the generators inside
                  `batches` when its epoch began; `run.resumed` says that it was just restored
    batches       the batches of an epoch, such as a DataLoader
    microbatches  the function of lesson 08 that groups them
    returns       an iterator over lists of batches

    A shuffled order is drawn when an epoch begins. To continue in the middle of one, the loader
    draws the same order again, and the groups that were done are skipped. Raises ValueError when
    there are fewer groups than were done.
    """
    from tinytorch.core.layers import RandomState  # late: a lesson of the course

    if run.epoch_step == 0 and not run.resumed:
        run.loader_states = random_states(batches)
        return microbatches(batches, run.accumulate)
    run.resumed = False
    set_random_states(batches, run.loader_states)
    states = random_states([RandomState.rng, run.model])
    groups = microbatches(batches, run.accumulate)
    done = sum(1 for _ in itertools.islice(groups, run.epoch_step))
    if done < run.epoch_step:
        raise ValueError(
            f"{run.epoch_step} steps of this epoch were done, but these batches are enough for "
            f"{done} only: they are not the batches of that run"
        )
    set_random_states([RandomState.rng, run.model], states)  # loading batches may have drawn
    return groups
