"""Training runs: their state, trials, progress and random numbers."""

import builtins
import contextlib
import copy
import functools
import io
from itertools import islice

import numpy as np
import pytest

from tinytorch.core.layers import Dense, Dropout, RandomState, Sequential
from tinytorch.core.losses import cross_entropy
from tinytorch.core.optimizers import SGD, Adam
from tinytorch.core.tensor import Tensor
from tinytorch.core.training import microbatches, snapshot
from tinytorch.support.training_state import (
    ENTRIES,
    Display,
    TrainingState,
    are_probabilities,
    generators_in,
    generators_of,
    preserved_state,
    random_states,
    remaining,
    repeat_batches,
    repeated,
    restore,
    set_random_states,
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


def test_weights_optimizer_modes_and_random_states_are_as_before():
    model = Sequential(Dense(2, 2), Dropout(0.5))
    model[0].eval()
    optimizer = Adam(model.parameters(), lr=0.1)
    parts = [RandomState.rng, model]
    before = repr([model.state_dict(), optimizer.state_dict(), random_states(parts)])
    with pytest.raises(ZeroDivisionError), preserved_state(model, optimizer):
        assert all(module.training for module in model.modules())
        model(Tensor(np.ones((4, 2), "float32"))).sum().backward()
        optimizer.step()
        raise ZeroDivisionError
    assert before == repr([model.state_dict(), optimizer.state_dict(), random_states(parts)])
    assert [module.training for module in model.modules()] == [True, False, True]
    assert all(p.grad is None for p in model.parameters())


def test_batches_are_repeated_and_none_are_refused():
    assert list(islice(repeat_batches([1, 2]), 5)) == [1, 2, 1, 2, 1]
    with pytest.raises(ValueError, match="no batches"):
        next(repeat_batches([]))


MEANS = {"loss": 0.123456, "[accuracy]": 1.0}
LINE = "epoch  7/12  loss 0.1235  [accuracy] 1  65.4 s"


class Terminal(io.StringIO):
    """Standard output that says it is a terminal."""

    def isatty(self):
        return True


def train_an_epoch(out, batches=range(10), shown=True):
    """The Display, and what it wrote into `out`."""
    with contextlib.redirect_stdout(out), Display(shown, batches, 4) as display:
        display.step(6, 3)
        display.end_epoch(7, 12, MEANS, 65.44)
    return display, out.getvalue()


def test_an_epoch_is_one_plain_line_where_there_is_no_terminal():
    display, text = train_an_epoch(io.StringIO())
    assert display.bar is None and text == LINE + "\n"


def test_nothing_is_shown_when_nobody_asked():
    display, text = train_an_epoch(Terminal(), shown=False)
    assert display.bar is None and text == ""


def test_a_terminal_gets_a_bar_and_the_same_line():
    pytest.importorskip("rich", reason="rich is not installed")
    display, text = train_an_epoch(Terminal())
    (task,) = display.bar.tasks
    assert (task.description, task.completed, task.total) == ("epoch 7", 3, 3)
    assert LINE in text


def test_a_bar_of_batches_without_a_length_has_no_end():
    pytest.importorskip("rich", reason="rich is not installed")
    (task,) = train_an_epoch(Terminal(), iter([]))[0].bar.tasks
    assert task.total is None


def test_a_terminal_without_rich_gets_the_line(monkeypatch):
    real = builtins.__import__

    def without_rich(name, *rest):
        if name.split(".")[0] == "rich":
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_rich)
    display, text = train_an_epoch(Terminal())
    assert display.bar is None and text == LINE + "\n"


def test_an_error_in_the_block_ends_the_bar():
    pytest.importorskip("rich", reason="rich is not installed")
    display = Display(True, [], 1)
    with contextlib.redirect_stdout(Terminal()), pytest.raises(ZeroDivisionError), display:
        raise ZeroDivisionError
    assert not display.bar.live.is_started


def test_generators_are_found_in_attributes_lists_and_dicts_each_once():
    shared, own = np.random.default_rng(1), np.random.default_rng(2)
    model = Sequential(Dropout(0.5, rng=shared), Dropout(0.5, rng=own))
    assert generators_in([shared, {"model": model}, (own, 3, "text")]) == [shared, own]


def test_the_same_numbers_are_drawn_again():
    model = Sequential(Dropout(0.5, rng=3))
    states = random_states(model)
    first = model[0].rng.random(5)
    set_random_states(model, states)
    assert np.array_equal(model[0].rng.random(5), first)


def test_states_of_another_object_are_refused():
    with pytest.raises(ValueError, match="1 random-number generators here and 0 saved"):
        set_random_states(np.random.default_rng(0), [])


shared = np.random.default_rng(1)


def draw(x):
    return x + shared.normal()


def indirect(x):
    return draw(x) * 2


class Model:
    def __init__(self):
        self.rng = np.random.default_rng(2)

    def method(self, x):
        return x + self.rng.normal()


MODEL = Model()


@pytest.mark.parametrize(
    "f",
    [
        draw,
        indirect,
        lambda x: indirect(x),
        functools.partial(draw),
        MODEL.method,
        lambda x: MODEL.method(x),
        (lambda layer: lambda x: layer(x))(Dropout(0.5, rng=3)),
        (lambda x, rng=np.random.default_rng(4): x + rng.normal()),
        lambda x: x + RandomState.rng.normal(),
    ],
    ids="global called lambda partial method model closure default shared".split(),
)
def test_the_second_run_draws_what_the_first_one_drew(f):
    def run():
        result = f(Tensor(np.ones(8)))
        return result.data.copy()

    generators = generators_of(f)
    states = random_states(generators)
    first, other = run(), run()
    after = random_states(generators)
    with repeated(generators, states):
        again = run()
    assert not np.array_equal(first, other) and np.array_equal(first, again)
    assert random_states(generators) == after


def test_modules_are_not_searched():
    parts = generators_of(lambda x: np.exp(x) + np.random.default_rng(0).normal())
    assert np not in parts and len(random_states(parts)) == 1


def test_an_error_puts_the_generators_back_too():
    generators = generators_of(draw)
    states = random_states(generators)
    draw(0.0)
    present = random_states(generators)
    with pytest.raises(ValueError), repeated(generators, states):
        raise ValueError
    assert random_states(generators) == present


def test_functions_that_call_each_other_are_searched_once():
    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n != 0 and even(n - 1) and shared is not None

    assert len(random_states(generators_of(even))) == 2
