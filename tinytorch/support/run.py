"""What a training run consists of, and how it continues from a snapshot.

The `Trainer` of lesson 08 is a `TrainingState` that can train. `restore` sets it to a snapshot,
`remaining` finds the place in an epoch that was interrupted.
"""

import copy
import itertools
import time
import warnings

from tinytorch.support.display import Display
from tinytorch.support.random_states import random_states, set_random_states

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
        if per not in ("epoch", "step") or accumulate < 1:
            raise ValueError(
                f'per must be "epoch" or "step", not {per!r}; accumulate must be at least 1, '
                f"not {accumulate}"
            )
        if not isinstance(metrics, (dict, type(None))):
            raise TypeError(
                'metrics must be a dict {name: function}, such as {"accuracy": accuracy}, '
                f"not {metrics!r:.60}"
            )
        own = {id(p) for p in model.parameters()}
        optimized = {id(p) for group in optimizer.param_groups for p in group.get("params", ())}
        if own and optimized and not own & optimized:
            raise ValueError(
                "the optimizer has none of the parameters of this model: it was made for another "
                "one, and this model would not learn"
            )
        self.model, self.optimizer, self.loss = model, optimizer, loss
        self.metrics, self.schedule, self.per = dict(metrics or {}), schedule, per
        self.accumulate, self.max_norm, self.show = accumulate, max_norm, show
        self.epoch = self.epoch_step = 0
        self.results, self.history, self.best_weights = [], {}, None
        self.loader_states, self.resumed = [], False

    def begin_fit(self, batches, epochs, validation, patience):
        """Refuse arguments of `Trainer.fit` that cannot work, and prepare the display."""
        if patience is not None and validation is None:
            raise ValueError(
                "patience needs a validation set: the training loss does not show overfitting"
            )
        if isinstance(batches, tuple):
            raise TypeError(
                "batches must be a list of (inputs, targets) or a DataLoader, not one tuple; "
                "for a single batch give [(inputs, targets)]"
            )
        if iter(batches) is batches:
            raise ValueError(
                "batches is a generator, used up after one epoch: give a list or a DataLoader"
            )
        if self.epoch >= epochs > 0:
            warnings.warn(
                f"nothing was trained: {self.epoch} epochs are complete already, and epochs="
                f"{epochs} includes them. For {epochs} more, call fit with "
                f"epochs={self.epoch + epochs}",
                stacklevel=3,
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
