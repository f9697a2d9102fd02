"""What a training run consists of, and how it continues from a snapshot.

The `Trainer` of lesson 08 is a `TrainingState` that can train. `restore` sets it to a snapshot,
`remaining` finds the place in an epoch that was interrupted.
"""

import copy
import itertools
import time

import numpy as np

from tinytorch.support.arguments import check_fit, check_trainer
from tinytorch.support.descriptions import brief
from tinytorch.support.display import Display
from tinytorch.support.random_states import random_states, set_random_states
from tinytorch.support.users import warn_user

PLAIN = ("epoch", "epoch_step", "results", "history", "best_weights", "loader_states")
ENTRIES = {"model", "optimizer", "schedule", "random_states", "accumulate", *PLAIN}


class TrainingState:
    """What a training run consists of: model, optimizer and options, and how far it is.

    The arguments are those of the `Trainer` of lesson 08.

    .epoch          number of complete epochs
    .epoch_step     number of complete optimizer steps of the next epoch
    .results        the results of the batches of these steps
    .history        dict {name: list with one float per epoch}
    .best_weights   the model's state_dict after the best epoch, or None
    .loader_states  states of the generators inside the batches when the epoch began
    .resumed        whether it was just restored from a snapshot
    """

    def __init__(
        self,
        model,
        optimizer,
        loss,
        metrics=None,
        schedule=None,
        *,
        per="epoch",
        accumulate=1,
        max_norm=None,
        show=True,
    ):
        check_trainer(model, optimizer, loss, metrics, schedule, per, accumulate, max_norm)
        self.model, self.optimizer, self.loss = model, optimizer, loss
        self.metrics, self.schedule, self.per = dict(metrics or {}), schedule, per
        self.accumulate, self.max_norm, self.show = accumulate, max_norm, show
        self.epoch = self.epoch_step = 0
        self.results, self.history, self.best_weights = [], {}, None
        self.loader_states, self.resumed = [], False
        self.looks = [] if is_cross_entropy(loss) else None

    def __repr__(self):
        size = sum(p.size for p in self.model.parameters())
        facts = [f"{type(self.model).__name__} with {size:,} parameters", brief(self.optimizer)]
        facts += [brief(self.loss)] + [f"schedule={brief(self.schedule)}"] * bool(self.schedule)
        return f"{type(self).__name__}({', '.join(facts)}, {self.epoch} epochs trained)"

    def watched_loss(self, outputs, targets):
        """The loss of a batch. Warns if the first two batches of a run have probabilities as
        outputs, where the loss is cross-entropy, which expects logits."""
        if self.looks is not None:
            self.looks.append(are_probabilities(outputs))
            if self.looks == [True, True]:
                warn_user(
                    "the outputs of the model are probabilities (each row is >= 0 and adds up to "
                    "1), and CrossEntropyLoss applies softmax to them once more: it learns slowly"
                    "\nremove Softmax from the end of the model, and apply it to predictions only"
                )
            if len(self.looks) == 2:
                self.looks = None
        return self.loss(outputs, targets)

    def begin_fit(self, batches, epochs, validation, patience):
        """Refuse arguments of `Trainer.fit` that cannot work, and prepare the display."""
        check_fit(batches, epochs, validation, patience)
        if self.epoch >= epochs > 0:
            warn_user(
                f"nothing was trained: {self.epoch} epochs are complete already, and epochs="
                f"{epochs} includes them\nfor {epochs} more, call fit with "
                f"epochs={self.epoch + epochs}"
            )
        self.batches, self.epochs, self.began = batches, epochs, time.perf_counter()
        self.display = Display(self.show, batches, self.accumulate)

    def end_epoch(self, metrics):
        """Append the metrics of an epoch to the history, count the epoch, step the schedule, and
        show a line."""
        rate = self.optimizer.param_groups[0]["lr"]
        for name, value in (metrics | {"learning rate": rate}).items():
            self.history.setdefault(name, []).append(value)
        self.epoch, self.epoch_step, self.results = self.epoch + 1, 0, []
        if self.schedule is not None and self.per == "epoch":
            self.schedule.step()
        self.loader_states = random_states(self.batches)
        now = time.perf_counter()
        self.display.end_epoch(self.epoch, self.epochs, metrics, now - self.began)
        self.began = now


def is_cross_entropy(loss):
    """Whether a loss is the cross-entropy of lesson 04, as a function or as an object."""
    names = {getattr(loss, "__name__", ""), *(kind.__name__ for kind in type(loss).__mro__)}
    return bool(names & {"cross_entropy", "CrossEntropyLoss"})


def are_probabilities(outputs):
    """Whether each row of `outputs`, along the last axis, is >= 0 and adds up to 1.

    >>> are_probabilities(np.array([[0.25, 0.75]])), are_probabilities(np.array([[1.0], [1.0]]))
    (True, False)
    """
    shape = getattr(outputs, "shape", ())
    if len(shape) < 2 or shape[-1] < 2 or 0 in shape:
        return False
    rows = np.asarray(outputs)
    return bool((rows >= 0).all() and np.allclose(rows.sum(axis=-1), 1, rtol=0, atol=1e-4))


def restore(run, state):
    """Set `run` to a snapshot, part by part.

    run      a training run built in the same way as the one that was saved
    state    dict with the entries `ENTRIES`; nothing is shared with it afterwards

    Raises ValueError at the first part that does not fit; the parts before it are then set already.
    """
    from tinytorch.core.layers import RandomState  # late: a lesson of the course

    if not isinstance(state, dict) or not ENTRIES & set(state):
        raise ValueError(
            "it holds no training run. If it holds the weights of a network, read them with "
            "net.load_state_dict(tinytorch.load(path))"
        )
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
