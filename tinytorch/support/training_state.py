"""A training run: its state, its progress on the screen, and the random numbers that it draws.

The `Trainer` of lesson 08 is a `TrainingState` that can train. `restore` sets it to a snapshot,
`remaining` finds the place in an epoch that was interrupted, `preserved_state` leaves no trace of a
trial.
"""

import contextlib
import copy
import functools
import inspect
import itertools
import math
import sys
import time
from types import FunctionType, MethodType, ModuleType

import numpy as np

from tinytorch.support.arguments import brief, check_container, check_fit, check_trainer, is_dataset
from tinytorch.support.layer_watch import watch_layers
from tinytorch.support.warning_location import warn_user

PLAIN = ("epoch", "epoch_step", "results", "history", "best_weights", "loader_states")
ENTRIES = {"model", "optimizer", "schedule", "random_states", "accumulate", *PLAIN}


class TrainingState:
    """What a training run consists of: model, optimizer and options, and how far it is.

    It takes the arguments of the `Trainer` of lesson 08.

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
    """Whether a loss is the cross-entropy of lesson 05, as a function or as an object."""
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
    set_random_states([shared_generator(), run.model], state["random_states"])
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
    if run.epoch_step == 0 and not run.resumed:
        run.loader_states = random_states(batches)
        return microbatches(batches, run.accumulate)
    run.resumed = False
    set_random_states(batches, run.loader_states)
    states = random_states([shared_generator(), run.model])
    groups = microbatches(batches, run.accumulate)
    done = sum(1 for _ in itertools.islice(groups, run.epoch_step))
    if done < run.epoch_step:
        raise ValueError(
            f"{run.epoch_step} steps of this epoch were done, but these batches are enough for "
            f"{done} only: they are not the batches of that run"
        )
    set_random_states([shared_generator(), run.model], states)  # loading batches may have drawn
    return groups


# trials


@contextlib.contextmanager
def preserved_state(model, optimizer, batches=()):
    """A `with` block in which `model` may be trained. Afterwards weights, optimizer, modes and
    random-number generators are as before, also after an error.

    model      a Module; inside the block it is in training mode
    optimizer  with state_dict(), load_state_dict() and zero_grad()
    batches    what may draw random numbers besides the model, such as a DataLoader
    """
    sources = [shared_generator(), model, batches]
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


# nan and inf


class NonFiniteError(ArithmeticError):
    """A loss or a gradient became inf or nan; the message names the layer. The weights are those
    from before the step."""


def check_losses(model, results, batches, states, where, find_nonfinite):
    """Raise NonFiniteError when a loss is inf or nan: it names the row of the batch that holds
    inf or nan, or else the layer.

    model           a Module
    results         list of ({"loss": float, ...}, examples), one for each of `batches`
    batches         list of (inputs, targets)
    states          of the random-number generators before these forward passes: with them the
                    repeated one drops the same units
    where           the place in the training run, for the message
    find_nonfinite  the function of lesson 08
    """
    for number, ((metrics, _), (inputs, targets)) in enumerate(zip(results, batches), 1):
        if math.isfinite(metrics["loss"]):
            continue
        beginning = f"{where}: the loss is {metrics['loss']}"
        place = f"batch {number} of this step" if len(batches) > 1 else "this batch"
        for data, name in ((inputs, "input"), (targets, "target")):
            if (row := first_nonfinite_row(data)) is not None:
                raise NonFiniteError(
                    f"{beginning} because row {row} of {place} has {row_text(data, row)} as its "
                    f"{name}\nrepair or remove that example in the data: "
                    "np.argwhere(~np.isfinite(x)) finds all such numbers of an array x"
                )
        set_random_states([shared_generator(), model], states)
        raise NonFiniteError(f"{beginning}; {explain_loss(model, inputs, find_nonfinite)}")


def explain_loss(model, inputs, find_nonfinite):
    """Why a loss is inf or nan though its batch is not, in two lines: the layer, and what to do."""
    from tinytorch.core.autograd import no_grad  # late: a lesson of the course

    with np.errstate(all="ignore"), no_grad(), watch_layers(model) as layers:
        model(inputs)
    location = find_nonfinite(layers)
    if not location:
        return (
            "the outputs of the model are finite: the loss function computed it from them\n"
            "look for a log, a square root or a division near 0 in the loss function"
        )
    name, cause = location
    why = {
        "input": "it received inf or nan as its input",
        "output": "it computed inf or nan from finite numbers",
    }.get(cause, f"its {cause} holds inf or nan")
    return (
        f"the first layer with inf or nan is {name}: {why}\n"
        "try a smaller learning rate, max_norm, or standardized inputs; look for a log or a "
        "division near 0"
    )


def first_nonfinite_row(data):
    """The index of the first row of `data` with nan or inf; None if there is none, or if `data`
    holds anything but numbers.

    >>> first_nonfinite_row(np.array([[1.0, 2.0], [np.nan, 3.0]])), first_nonfinite_row(["a"])
    (1, None)
    """
    try:
        array = np.asarray(data)
    except ValueError:  # rows of several lengths
        return None
    if array.dtype.kind != "f" or not array.ndim:
        return None
    bad = ~np.isfinite(array)
    return int(np.argwhere(bad)[0][0]) if bad.any() else None


def row_text(data, row):
    """A row of `data` in one short line: all of a short one, the wrong number of a long one."""
    part = np.asarray(data)[row]
    if part.size <= 6:
        return np.array2string(part, separator=", ", precision=3).replace("\n", "")
    index = tuple(np.argwhere(~np.isfinite(part))[0].tolist())
    return f"{part[index]} at {index if len(index) > 1 else index[0]}"


def check_gradients(model, where):
    """Raise NonFiniteError, naming the parameter, when a gradient holds inf or nan."""
    for name, p in reversed(model.named_parameters()):  # the backward pass reached the last first
        if p.grad is not None and not (math.isfinite(p.grad.sum()) or np.isfinite(p.grad).all()):
            raise NonFiniteError(
                f"{where}: the loss is finite, but the gradient of {name} is not\nlook at the "
                "derivative of the operations after it: the square root of 0, a power of a "
                "negative number, an overflow"
            )


# progress


class Display:
    """Shows the progress of training, used in a `with` block. A progress bar is shown when standard
    output is a terminal and the package Rich is installed; it disappears when the block ends.

    shown       whether to show anything
    batches     the batches of an epoch; without a length, the bar has no end
    accumulate  how many batches make one optimizer step

    >>> with Display(True, range(100), 4) as display:
    ...     display.step(0, 25)
    ...     display.end_epoch(1, 10, {"loss": 0.25}, 1.5)
    epoch  1/10  loss 0.25  1.5 s
    """

    def __init__(self, shown, batches, accumulate):
        self.shown, self.bar = shown, None
        self.steps = math.ceil(len(batches) / accumulate) if hasattr(batches, "__len__") else None

    def __enter__(self):
        if self.shown and sys.stdout.isatty():
            with contextlib.suppress(ImportError):
                from rich.progress import Progress

                self.bar = Progress(transient=True)
                self.task = self.bar.add_task("", total=self.steps)
                self.bar.start()
        return self

    def __exit__(self, *error):
        if self.bar:
            self.bar.stop()

    def step(self, epoch, steps):
        """Move the bar: `epoch` epochs are complete, and `steps` steps of the next one."""
        if self.bar:
            self.bar.update(self.task, description=f"epoch {epoch + 1}", completed=steps)

    def end_epoch(self, epoch, epochs, metrics, seconds):
        """Print a line: `epoch` of `epochs` are complete, the last with these `metrics`,
        {name: float}, in `seconds`."""
        line = "  ".join(
            [
                f"epoch {epoch:{len(str(epochs))}}/{epochs}",
                *(f"{name} {value:.4g}" for name, value in metrics.items()),
                f"{seconds:.1f} s",
            ]
        )
        if self.bar:
            self.bar.console.print(line, highlight=False, markup=False)
        elif self.shown:
            print(line, flush=True)


# The states of random-number generators. A state is a few integers; all numbers that a generator
# will draw depend on them and on nothing else. Generators are found inside objects: in a dropout
# layer, in a data loader, in the data set inside it.


def shared_generator():
    """The generator that layers draw from when they were given none."""
    from tinytorch.core.layers import RandomState  # late: a lesson of the course

    return RandomState.rng


def generators_in(thing, visited=None):
    """Every NumPy Generator inside `thing`, in a fixed order, each once.

    thing    any object; its attributes are searched, and the items of lists, tuples and dicts
    visited  a set with the ids of the objects searched before; None at the start
    returns  a list
    """
    visited = set() if visited is None else visited
    if id(thing) in visited or isinstance(thing, (type, np.ndarray, str, bytes, int, float)):
        return []
    visited.add(id(thing))
    if isinstance(thing, np.random.Generator):
        return [thing]
    parts = (
        thing
        if isinstance(thing, (list, tuple))
        else (thing if isinstance(thing, dict) else getattr(thing, "__dict__", {})).values()
    )
    return [generator for part in parts for generator in generators_in(part, visited)]


def random_states(thing):
    """The states of all generators inside `thing`, a list of dicts.

    >>> random_states([np.random.default_rng(0), "no generator"])[0]["bit_generator"]
    'PCG64'
    """
    return [generator.bit_generator.state for generator in generators_in(thing)]


def set_random_states(thing, states):
    """Set the generators inside `thing` to states that `random_states` returned.

    Raises ValueError when there are more generators than states, fewer, or other kinds.

    >>> rng = np.random.default_rng(0)
    >>> states, first = random_states(rng), rng.random()
    >>> set_random_states(rng, states)
    >>> rng.random() == first
    True
    """
    generators = generators_in(thing)
    if [g.bit_generator.state["bit_generator"] for g in generators] != [
        state["bit_generator"] for state in states
    ]:
        raise ValueError(
            f"there are {len(generators)} random-number generators here and {len(states)} saved "
            "states: was the model or the data loader built in another way?"
        )
    for generator, state in zip(generators, states):
        generator.bit_generator.state = state


# functions that run twice: the second run draws what the first one drew


def generators_of(f):
    """The objects from which `f` may draw random numbers, and the generator that all layers share:
    a list for `random_states` to search.

    f  a function, a method, a functools.partial, or a module of layers. Functions that it calls
       are also searched if they are in the same file or notebook

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> len(random_states(generators_of(lambda: rng.normal())))
    2
    """
    parts, stack, home = [shared_generator()], [f], None
    while stack:
        part = stack.pop()
        if isinstance(part, functools.partial):
            stack += [part.func, *part.args, *part.keywords.values()]
        elif isinstance(part, MethodType):
            stack += [part.__self__, part.__func__]
        elif isinstance(part, ModuleType) or any(part is other for other in parts):
            continue
        else:
            parts.append(part)
            if isinstance(part, FunctionType):
                home = home or part.__module__
                stack += used_by(part) if part.__module__ == home else []
    return parts


def used_by(function):
    """The values that a Python function uses besides its arguments, and their defaults."""
    names = inspect.getclosurevars(function)
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    return [*names.nonlocals.values(), *names.globals.values(), *defaults]


@contextlib.contextmanager
def repeated(generators, states):
    """Let the generators draw again in this block what they drew after having had these states;
    afterwards they go on where they were.

    generators  what `generators_of` returned
    states      what `random_states(generators)` returned then
    """
    present = random_states(generators)
    set_random_states(generators, states)
    try:
        yield
    finally:
        set_random_states(generators, present)
