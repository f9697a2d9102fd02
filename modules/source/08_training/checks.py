# The checks of lesson 08, by exercise. `check("means")` in the chapter runs the visible ones.

# %% setup
import math

import numpy as np

from tinytorch.core.layers import RandomState, Dense, Dropout, Module, Sequential, manual_seed
from tinytorch.core.tensor import Tensor


# %% accuracy points=3
def test_accuracy_counts_the_rows_that_are_right():
    scores = np.array(
        [[0.1, 0.9, -3], [2, -1, 1.5], [-9, -5, -7], [4, 4.5, 5], [0, 1, -1]], "float32"
    )
    for targets, right in [
        ([1, 0, 1, 2, 1], 5),
        ([1, 0, 1, 2, 0], 4),
        ([0, 1, 0, 0, 1], 1),
        ([2, 1, 2, 1, 0], 0),
    ]:
        for given in (targets, np.array(targets), Tensor(targets)):
            for rows in (scores, Tensor(scores)):
                found = accuracy(rows, given)
                assert isinstance(found, float), (
                    f"accuracy is a Python float, yours is {found!r:.100}"
                )
                assert found == right / 5, (
                    f"the largest scores are those of [1 0 1 2 1]; with targets {targets}, "
                    f"{right} of 5 are right, {right / 5}; yours says {found}"
                )


def test_accuracy_takes_axes_in_front():
    scores = np.random.default_rng(3).normal(size=(2, 5, 3))
    targets = scores.argmax(-1)
    targets[0, 1:4] = (targets[0, 1:4] + 1) % 3
    found = accuracy(Tensor(scores), Tensor(targets))
    assert abs(found - 0.7) < 1e-9, (
        "scores of shape (2, 5, 3) are 10 answers among 3 classes; 7 are right, so 0.7, yours "
        f"{found}. The classes are on the last axis"
    )


def test_accuracy_refuses_targets_that_do_not_match():
    scores = Tensor(np.eye(4, 3, dtype="float32"))
    for targets in (
        np.array([[0], [1], [2], [0]]),
        np.array([0, 1, 2]),
        np.array(0),
        np.eye(4, 3),
    ):
        try:
            found = accuracy(scores, targets)
        except ValueError as error:
            assert str(targets.shape) in str(error), (
                f"the error should name the shape {targets.shape}, yours: {error}"
            )
        else:
            assert False, (
                f"scores of shape (4, 3) and targets of shape {targets.shape}: you answered "
                f"{found}. Broadcasting compared each prediction with the targets of others"
            )


# %% accuracy hidden points=1
def test_accuracy_at_other_shapes_and_sizes():
    random = np.random.default_rng(31)
    for shape, right in [
        ((7, 2), 3),
        ((1, 9), 1),
        ((2, 3, 2, 4), 5),
        ((6, 1), 6),
        ((11,), 1),
        ((4, 5), 0),
    ]:
        scores = random.permutation(int(np.prod(shape))).reshape(shape) * -1e6
        targets = np.array(scores.argmax(-1))
        wrong = np.arange(targets.size) >= right
        targets.reshape(-1)[wrong] = (targets.reshape(-1)[wrong] + 1) % shape[-1]
        found = accuracy(outputs=Tensor(scores), targets=targets.tolist())
        assert abs(found - right / targets.size) < 1e-9, (
            f"{shape}: {right} of {targets.size} are right, got {found}"
        )
        try:
            found = accuracy(scores, np.expand_dims(targets, -1))
        except ValueError as error:
            assert str((*targets.shape, 1)) in str(error), (
                f"targets of shape {(*targets.shape, 1)}: the error is {error}"
            )
        else:
            assert False, (
                f"scores of {shape}, targets of {(*targets.shape, 1)}: ValueError expected, got"
                f" {found}"
            )


# %% means points=3
def test_every_example_weighs_the_same():
    records = [
        ({"loss": 0.5, "accuracy": 1.0}, 100),
        ({"loss": 8.0, "accuracy": 0.0}, 1),
        ({"loss": 2.0, "accuracy": 0.25}, 24),
    ]
    found = means(records)
    for name, wanted in [("loss", (50 + 8 + 48) / 125), ("accuracy", 106 / 125)]:
        assert name in list(found), f"the records tell {name}, your means do not: {found}"
        assert abs(found[name] - wanted) < 1e-9, (
            f"batches of 100, 1 and 24 examples: the mean {name} is {wanted}, yours is "
            f"{found[name]}. The mean of the three means would be"
            f" {np.mean([values[name] for values, _ in records]):.4g}: weigh each by its count"
        )
    assert list(found) == ["loss", "accuracy"], (
        f"the names are loss and accuracy, in this order; yours {list(found)}"
    )


def test_means_change_nothing():
    records = [({"loss": 3.0}, 2), ({"loss": -1.0}, 6)]
    first, again = means(records), means(records)
    assert first == again == {"loss": 0.0}, (
        f"records of 3.0 (2 examples) and -1.0 (6) have the mean 0; yours {first}, then {again}"
    )
    assert records == [({"loss": 3.0}, 2), ({"loss": -1.0}, 6)], (
        f"the records were changed: {records}"
    )


def test_no_examples_have_no_mean():
    for records in ([], [({"loss": 3.0}, 0)]):
        try:
            found = means(records)
        except ValueError:
            continue
        except (IndexError, ZeroDivisionError) as error:
            assert False, (
                f"means({records}) should say in a ValueError that there were no examples, "
                f"yours: {error!r}"
            )
        assert False, (
            f"means({records}) should be a ValueError, not {found}: a loss of 0 that nobody "
            "measured looks perfect"
        )
    found = means([({"loss": math.inf}, 1), ({"loss": 1.0}, 3)])
    assert found["loss"] == math.inf, (
        f"one infinite loss makes the mean infinite, yours {found}"
    )


# %% means hidden points=1
def test_means_of_many_records():
    random = np.random.default_rng(8)
    for names, batches in [(("a",), 1), (("z", "b", "loss"), 9), (("loss", "x"), 40)]:
        counts = random.integers(1, 50, batches).tolist()
        values = random.normal(size=(batches, len(names))) * 10.0 ** random.integers(
            -4, 5, len(names)
        )
        found = means(
            [(dict(zip(names, row.tolist())), count) for row, count in zip(values, counts)]
        )
        right = np.repeat(values, counts, axis=0).mean(0)
        assert list(found) == list(names), f"names {names} expected, got {list(found)}"
        assert np.allclose(list(found.values()), right, rtol=1e-9, atol=1e-12), (
            f"{right} expected, got {found}"
        )
    found = means([({"loss": math.nan}, 2), ({"loss": 1.0}, 3)])
    assert math.isnan(found["loss"]), f"a batch of nan makes the mean nan, got {found}"


# %% learner-side
# The checks train the smallest of all networks, with an optimizer that keeps a diary:
class Slope(Module):
    """x times a weight, for x of shape (n,) or (n, k). Notes in `.seen` for each run: its mode,
    and if notes are taken."""

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
        return {
            "speed": self.speed,
            "lr": self.param_groups[0]["lr"],
        }  # live, as PyTorch does it

    def load_state_dict(self, state):
        if np.shape(state["speed"]) != self.speed.shape:
            raise ValueError(
                f"speed has shape {np.shape(state['speed'])}, not {self.speed.shape}"
            )
        self.speed[...], self.param_groups[0]["lr"] = state["speed"], state["lr"]


def mean_output(outputs, targets):
    """A loss whose slope for the weight of a Slope is the mean of the inputs."""
    return (outputs - targets).mean()


def squared(outputs, targets):
    return ((outputs - targets) ** 2).mean()


def steps_taken(model, optimizer, batches, loss=mean_output, stale=None):
    """What each train_step returned, the weight after each, and the gradients that are left
    after each."""
    found = []
    if stale is not None:
        model.weight.grad = np.array([stale], "float32")
    for inputs, targets in batches:
        told = train_step(model, loss, optimizer, Tensor(inputs), Tensor(targets))
        gradient = None if model.weight.grad is None else np.array(model.weight.grad)
        found.append(
            (float(told), np.array(model.weight.data), gradient, isinstance(told, float))
        )
    return found


# %% step points=4
def test_two_steps_by_hand():
    model = Slope(1.0)
    first, second = steps_taken(model, Plain(model), [([0.5, 1.5], [0.0, 0.0])] * 2)
    for n, (_, weight, _, _), wanted, forgot in [(1, first, 0.9, None), (2, second, 0.8, 0.7)]:
        assert weight.shape == (1,) and abs(weight[0] - wanted) < 1e-6, (
            f"a weight of 1, gradients of 1, a rate of 0.1: after step {n} the weight is "
            f"{wanted}, yours {weight}"
            + (
                ". The gradients of both steps were added up: forget the old ones with "
                "zero_grad()"
                if forgot and abs(weight[0] - forgot) < 1e-6
                else ""
            )
        )


def test_the_loss_is_a_number_from_before_the_step():
    model = Slope(2.0)
    found = steps_taken(
        model,
        Plain(model, lr=0.25),
        [([1.0, 3.0], [0.0, 1.0]), ([2.0, -1.0], [1.0, 0.0])],
        squared,
    )
    weight = 2.0
    for (told, after, _, plain), x, y in zip(
        found, ([1.0, 3.0], [2.0, -1.0]), ([0.0, 1.0], [1.0, 0.0])
    ):
        x, y = np.array(x), np.array(y)
        before = np.mean((weight * x - y) ** 2)
        assert abs(told - before) < 1e-5 * before, (
            f"the loss with the weight {weight} is {before}, you return {told}: measure, then "
            "step"
        )
        assert plain, (
            "return float(loss): a Tensor keeps the notes of all that it was made from, and "
            "with them the memory"
        )
        weight -= 0.25 * np.mean(2 * (weight * x - y) * x)
        assert abs(after[0] - weight) < 1e-5 * abs(weight), (
            f"the step should lead to the weight {weight}, yours is {after}"
        )


def test_gradients_from_before_play_no_part():
    model = Slope(1.0)
    ((_, weight, gradient, _),) = steps_taken(
        model, Plain(model), [([1.0, 3.0, 5.0], [0.0, 0.0, 0.0])], stale=100.0
    )
    assert weight.shape == (1,) and abs(weight[0] - 0.7) < 1e-5, (
        f"the gradient of this batch is 3, so the weight goes from 1 to 0.7; yours is {weight}:"
        " a gradient of 100 was left there before the first step. Forget first, then run"
    )
    assert gradient is not None and abs(gradient[0] - 3) < 1e-5, (
        f"after the step the batch's gradient, 3, can be looked at; yours is {gradient}"
    )


def test_one_step_is_one_step():
    model = Slope(1.0)
    optimizer = Plain(model)
    steps_taken(model, optimizer, [([1.0], [0.0])] * 2)
    diary = list(optimizer.diary)
    assert diary.count("step") == 2, (
        f"two batches are two steps, your optimizer was told {diary}"
    )
    assert len(model.seen) == 2, (
        f"two batches are two runs of the network, yours ran {len(model.seen)} times"
    )


# %% step hidden points=1
def test_ten_steps_with_momentum():
    random = np.random.default_rng(5)
    model, weight, speed = Slope(-3.0), -3.0, 0.0
    batches = [
        (
            random.normal(size=(n, 2)).astype("float32"),
            random.normal(size=(n, 2)).astype("float32"),
        )
        for n in (3, 1, 4, 7, 2, 5, 6, 1, 9, 2)
    ]
    found = steps_taken(
        model, Plain(model, lr=0.07, momentum=0.6), batches, squared, stale=-4.0
    )
    for n, ((told, after, gradient, _), (x, y)) in enumerate(zip(found, batches)):
        x, y = x.astype("float64"), y.astype("float64")
        loss, slope = np.mean((weight * x - y) ** 2), np.mean(2 * (weight * x - y) * x)
        speed = 0.6 * speed + slope
        weight -= 0.07 * speed
        assert abs(told - loss) < 1e-4 * max(loss, 1), (
            f"step {n}: a loss of {loss} expected, got {told}"
        )
        assert abs(after[0] - weight) < 1e-4, (
            f"step {n}: the weight {weight} expected, got {after}"
        )
        assert gradient is not None and abs(gradient[0] - slope) < 1e-4 * max(abs(slope), 1), (
            f"step {n}: the gradient {slope} expected, got {gradient}"
        )


# %% learner-side
def groups_and_fetches(count, size, most):
    """The first `most` groups of `count` numbers, and how many numbers had been fetched when
    each group came."""
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


# %% groups points=3
def test_every_batch_is_in_one_group():
    for count, size, wanted in [
        (5, 2, [[0, 1], [2, 3], [4]]),
        (6, 3, [[0, 1, 2], [3, 4, 5]]),
        (3, 1, [[0], [1], [2]]),
        (2, 5, [[0, 1]]),
        (7, 3, [[0, 1, 2], [3, 4, 5], [6]]),
    ]:
        found = [list(group) for group in groups(list(range(count)), size)]
        assert found == wanted, (
            f"{count} batches in groups of {size} are {wanted}, yours {found}"
            + (
                ": the batches that are left over are a group, too"
                if sum(map(len, found)) < count
                else ""
            )
        )


def test_no_batches_make_no_group():
    found = [list(group) for group in groups([], 3)]
    assert found == [], f"without batches there is no group, also no empty one; yours {found}"
    found = [list(group) for group in groups([None], 3)]
    assert found == [[None]], (
        f"one batch, whatever it is, makes one group, [[None]]; yours {found}"
    )


def test_groups_wait_until_they_are_asked_for():
    found = groups_and_fetches(1000, 3, 2)
    assert [group for group, _ in found] == [[0, 1, 2], [3, 4, 5]], (
        "two groups of three are [0, 1, 2] and [3, 4, 5], also later on; yours "
        f"{[group for group, _ in found]}. Does a group lose its batches when the next one"
        " begins? Start a new list"
    )
    assert [then for _, then in found] == [3, 6], (
        "the first group needs 3 batches, the second 3 more; when yours came, "
        f"{[then for _, then in found]} had been fetched. Hand each group out with yield as"
        " soon as it is full"
    )


# %% learner-side
events = []


class Telling(Slope):
    """A Slope that tells in `events` when it runs, and when the walk back has reached its
    weight."""

    def forward(self, x):
        events.append(
            "run"
            if self.weight.grad is None
            else f"run, with the gradient {float(self.weight.grad.sum()):.4g}"
        )
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


# %% accumulate points=5
def test_a_group_has_the_gradient_of_one_big_batch():
    random = np.random.default_rng(6)
    x, y = (
        random.normal(size=(10, 3)).astype("float32"),
        random.normal(size=(10, 3)).astype("float32"),
    )
    for cuts in ([10], [4, 8], [1, 3], [2]):
        group = [
            (Tensor(a), Tensor(b))
            for a, b in zip(np.split(x, cuts), np.split(y, cuts))
            if len(a)
        ]
        model = Slope(2.5)
        accumulate(model, squared, group)
        wanted = np.mean(2 * (2.5 * x.astype("float64") - y) * x)
        found, sizes = model.weight.grad, [len(targets) for _, targets in group]
        assert found is not None, "no gradient has arrived: walk back from each batch"
        assert abs(float(found[0]) - wanted) < 1e-5 * abs(wanted), (
            f"10 examples in batches of {sizes} have the gradient {wanted:.6f} of one batch of "
            f"10, yours is {float(found[0]):.6f}. A batch of {sizes[0]} counts {sizes[0]} / 10"
        )


def test_gradients_are_added_to_those_that_are_there():
    model = Slope(1.0)
    model.weight.grad = np.array([5.0], "float32")
    accumulate(model, mean_output, [(Tensor([1.0, 3.0]), Tensor([0.0, 0.0]))])
    assert abs(float(model.weight.grad[0]) - 7) < 1e-5, (
        f"a gradient of 5 was there, the group's is 2: that makes 7, yours {model.weight.grad}."
        " Who accumulates does not forget"
    )


def test_the_records_tell_each_batch_as_it_was():
    group = [
        (Tensor([1.0, 2.0, 6.0]), Tensor([0.0, 1.0, 2.0])),
        (Tensor([4.0]), Tensor([-1.0])),
    ]
    model = Slope(-2.0)
    found = accumulate(model, mean_output, group, {"largest": largest, "least": least})
    assert len(found) == 2, f"two batches make two records, yours {found}"
    for one, loss, top, low, count in [
        (found[0], -7.0, -2.0, -12.0, 3),
        (found[1], -7.0, -8.0, -8.0, 1),
    ]:
        values, size = one
        assert size == count, f"the record should say {count} examples, yours {size}"
        assert abs(float(values["loss"]) - loss) < 1e-5, (
            f"the mean loss of the batch is {loss}, your record says {values['loss']}: scale "
            "what you walk back from, not what you tell"
        )
        assert abs(values["largest"] - top) < 1e-5 and abs(values["least"] - low) < 1e-5, (
            f"the metrics see the outputs of this batch: largest {top}, least {low}; yours "
            f"{values}"
        )
        assert kinds_of(one) == ["float"], (
            "records hold floats, no Tensors, which would keep their notes; yours "
            f"{kinds_of(one)}"
        )


def test_metrics_can_be_left_out():
    model = Slope(1.0)
    found = accumulate(
        model, mean_output, [(Tensor([1.0]), Tensor([0.0])), (Tensor([2.0]), Tensor([0.0]))]
    )
    assert [values for values, _ in found] == [{"loss": 1.0}, {"loss": 2.0}], (
        f"losses of 1 and 2 make the records 1 and 2, yours {found}"
    )
    assert len(model.seen) == 2 and list(model.seen[0])[1], (
        f"each batch is run once, with notes; yours ran (training, notes) {model.seen}"
    )


def test_each_batch_is_walked_back_before_the_next():
    found = told_by_telling(
        [
            (Tensor([1.0, 1.0]), Tensor([0.0, 0.0])),
            (Tensor([1.0]), Tensor([0.0])),
            (Tensor([1.0]), Tensor([0.0])),
        ]
    )
    assert found == ["run", "run, with the gradient 0.5", "run, with the gradient 0.75"], (
        "before the second batch is run, the gradient of the first has arrived, and so on: "
        f"0.5, then 0.75; yours {found}. Else the notes of all batches are in memory at once"
    )


# %% accumulate hidden points=1
def test_other_groups_have_the_gradient_of_one_big_batch():
    random = np.random.default_rng(16)
    for sizes in [(1,), (2, 7), (5, 1, 1, 3), (6, 6), (1, 9, 30)]:
        x, y = (
            random.normal(size=(sum(sizes), 2))
            * 10.0 ** random.integers(-2, 2, (sum(sizes), 1))
            for _ in range(2)
        )
        cuts, model = np.cumsum(sizes)[:-1], Slope(0.5)
        model.weight.data = np.array([0.5])
        model.weight.grad = np.array([-2.0])
        found = accumulate(
            model,
            squared,
            [(Tensor(a), b) for a, b in zip(np.split(x, cuts), np.split(y, cuts))],
            {"top": largest},
        )
        right = np.mean(2 * (0.5 * x - y) * x) - 2
        assert np.allclose(model.weight.grad, right, rtol=1e-9), (
            f"batches of {sizes}: the gradient {right} expected, got {model.weight.grad}"
        )
        for (values, count), a, b in zip(found, np.split(x, cuts), np.split(y, cuts)):
            assert count == len(a) and list(values) == ["loss", "top"], (
                f"batches of {sizes}: got the record {values}, {count}"
            )
            assert np.allclose(
                list(values.values()), [np.mean((0.5 * a - b) ** 2), 0.5 * a.max()], rtol=1e-9
            ), f"batches of {sizes}: got {values}"


# %% learner-side
def epoch_in_modes(model, count):
    """The mode of the model and of its parts at each update of an epoch of `count` groups; the
    means; the groups."""
    model.eval()
    modes, got = [], []

    def update(group):
        modes.append([part.training for part in model.modules()])
        got.append(group)
        return [({"loss": float(group)}, 1), ({"loss": 10.0}, group)]

    return train_epoch(model, update, iter(range(1, count + 1))), modes, got


def nothing_done(group):
    return []


# %% epoch points=3
def test_an_epoch_sees_every_group_once_in_training_mode():
    model = Sequential(Dense(2, 3), Sequential(Dropout(0.25), Dense(3, 1)))
    told, modes, got = epoch_in_modes(model, 4)
    assert list(got) == [1, 2, 3, 4], (
        f"the groups 1 to 4 are updated once each, in order; yours {got}"
    )
    assert all(all(mode) for mode in modes), (
        "the network had been evaluated, and was trained in that mode, without dropout: "
        f"{modes}. Call model.train() first"
    )
    wanted = (1 + 2 + 3 + 4 + 10 * 10) / 14
    assert abs(told["loss"] - wanted) < 1e-9, (
        f"14 examples with the mean {wanted:.4f}, yours {told}: each group has two records here"
    )


def test_what_was_done_before_counts():
    done = [({"loss": 1.0}, 5), ({"loss": 3.0}, 5)]
    told = train_epoch(Dense(1, 1), lambda group: [({"loss": group}, 10)], [8.0, 4.0], done)
    assert abs(told["loss"] - 140 / 30) < 1e-9, (
        "done before: 10 examples of 2 on average; now 20 of 6: the mean is 4.667, "
        f"yours {told}"
    )
    assert done == [({"loss": 1.0}, 5), ({"loss": 3.0}, 5)], (
        f"the list of what was done is the caller's; yours made it {done}"
    )


def test_an_epoch_may_be_done_already_but_not_empty():
    told = train_epoch(Dense(1, 1), nothing_done, [], [({"loss": 2.5}, 3)])
    assert told == {"loss": 2.5}, (
        f"nothing is left to do, and 3 examples of 2.5 were done: 2.5, yours {told}"
    )
    try:
        told = train_epoch(Dense(1, 1), nothing_done, [])
    except ValueError:
        return
    assert False, (
        "an epoch of no examples should be a ValueError, as `means` raises it; yours returned "
        f"{told}"
    )


# %% learner-side
class Broken(Exception):
    pass


def modes_around(frozen, error=False):
    """The modes of six modules before, in and after the block; if notes are taken in it and
    after it; if an error came out.

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
    return (
        before,
        during,
        [part.training for part in parts],
        inner(Tensor([1.0])).requires_grad,
        came_out,
    )


# %% evaluating points=4
def test_inside_nothing_is_learned():
    _, (modes, notes), _, _, _ = modes_around([])
    assert not any(modes), (
        f"inside, `training` is False in all six modules; yours {modes}: model.eval() sets them"
    )
    assert not notes, (
        "inside, no notes should be taken: `with no_grad():` around the yield saves the memory"
    )


def test_afterwards_every_part_is_as_it_was():
    for frozen in ([], [2, 4], [0, 1, 2, 3, 4, 5]):
        before, (modes, _), after, notes, _ = modes_around(frozen)
        assert not any(modes), f"inside, `training` is False in all six modules; yours {modes}"
        assert after == before, (
            f"modes before the block {before}, after it {after}: put each module back to its "
            "own mode; model.train() would thaw what was frozen on purpose"
        )
        assert notes, "after the block, notes should be taken again"


def test_an_error_inside_puts_all_back_and_goes_on():
    before, _, after, notes, came_out = modes_around([3], error=True)
    assert came_out, "an error inside the block should come out of it: no except, only finally"
    assert after == before and notes, (
        f"after an error, modes {before} became {after}, and notes are "
        f"{'' if notes else 'not '}taken: what must happen in any case belongs into `finally`"
    )


def test_a_block_in_a_block():
    net = Sequential(Dense(1, 1))
    with evaluating(net):
        with evaluating(net):
            pass
        inside = net.training
    assert inside is False and net.training is True, (
        "after the inner block the network is still in use, after the outer one in training; "
        f"yours {inside}, {net.training}"
    )


# %% evaluate points=4
def test_evaluate_weighs_every_example_the_same():
    random = np.random.default_rng(4)
    x, y = (
        random.normal(size=(11, 2)).astype("float32"),
        random.normal(size=(11, 2)).astype("float32"),
    )
    y[8:] += 20
    model = Slope(1.5)
    found = evaluate(
        model,
        squared,
        [
            (Tensor(x[:4]), Tensor(y[:4])),
            (Tensor(x[4:8]), Tensor(y[4:8])),
            (Tensor(x[8:]), Tensor(y[8:])),
        ],
        {"right": lambda outputs, targets: len(targets)},
    )
    wanted = np.mean((1.5 * x.astype("float64") - y) ** 2)
    assert list(found) == ["loss", "right"], (
        f"the loss and the metric `right` were asked for, yours are {list(found)}"
    )
    assert abs(found["loss"] - wanted) < 1e-4 * wanted, (
        f"the mean loss of the 11 examples is {wanted:.4f}, yours {found['loss']:.4f}: batches "
        "of 4, 4 and 3 do not weigh the same"
    )
    assert abs(found["right"] - 41 / 11) < 1e-6, (
        f"a metric of 4, 4 and 3 on as many examples has the mean {41 / 11:.4f}, yours "
        f"{found['right']}"
    )


def test_evaluate_learns_nothing():
    model = Slope(2.0)
    model.weight.grad = np.array([3.0], "float32")
    evaluate(model, squared, [(Tensor([1.0, 2.0]), Tensor([0.0, 0.0]))] * 2)
    runs = [list(run) for run in model.seen]
    assert len(runs) == 2, (
        f"two batches are two runs of the network, yours ran {len(runs)} times"
    )
    assert all(not training for training, _ in runs), (
        "the network was evaluated in training mode, with dropout on: use `evaluating`"
    )
    assert all(not notes for _, notes in runs), (
        "notes were taken during the evaluation: use `evaluating`"
    )
    assert np.array_equal(np.asarray(model.weight.data), [2]) and np.array_equal(
        model.weight.grad, [3]
    ), (
        f"evaluation changed the weight from 2 to {model.weight.data} or its gradient from 3 to"
        f" {model.weight.grad}"
    )
    assert model.training is True, (
        "the network was in training mode before the evaluation, and should be afterwards"
    )


def test_evaluate_leaves_dropout_out():
    model = Sequential(Dropout(0.75), Slope(3.0))
    found = evaluate(
        model,
        mean_output,
        [(Tensor(np.ones((5, 4), "float32")), Tensor(np.zeros((5, 4), "float32")))],
    )
    assert abs(found["loss"] - 3) < 1e-5, (
        f"without dropout, ones times 3 have the mean 3; yours {found['loss']}"
    )


def test_evaluate_refuses_no_batches():
    found = evaluate(Slope(), squared, [(Tensor([3.0]), Tensor([1.0]))])
    assert abs(found["loss"] - 4) < 1e-5, (
        f"one batch with one example, 3 instead of 1: the loss is 4, yours {found}"
    )
    try:
        found = evaluate(Slope(), squared, [])
    except ValueError:
        return
    assert False, (
        f"no examples, no loss: a ValueError, as `means` raises it; yours returned {found}"
    )


# %% evaluate hidden points=1
def test_evaluate_with_other_batches_and_metrics():
    random = np.random.default_rng(14)
    for sizes in [(1,), (3, 8), (1, 1, 5, 2)]:
        x, y = (random.normal(size=(sum(sizes), 3)) for _ in range(2))
        cuts, model = np.cumsum(sizes)[:-1], Sequential(Dropout(0.3), Slope(-0.5), Dropout(0.6))
        model[2].training = False
        batches = [(Tensor(a), Tensor(b)) for a, b in zip(np.split(x, cuts), np.split(y, cuts))]
        found = evaluate(
            batches=batches, model=model, loss=squared, metrics={"top": largest, "low": least}
        )
        right = {"loss": np.mean((-0.5 * x - y) ** 2)}
        for name, f in [("top", np.max), ("low", np.min)]:
            right[name] = sum(f(-0.5 * part) * len(part) for part in np.split(x, cuts)) / len(x)
        assert list(found) == list(right), f"{list(right)} expected, got {list(found)}"
        assert np.allclose(list(found.values()), list(right.values()), rtol=1e-6), (
            f"batches of {sizes}: {right} expected, got {found}"
        )
        modes = [part.training for part in model.modules()]
        assert modes == [True, True, True, False], (
            f"modes [True, True, True, False] before, {modes} afterwards"
        )


# %% learner-side
class Hand(Module):
    """Hands out an array of its own, always the same one."""

    def __init__(self):
        self.mine = Tensor([[1.0, 2.0]])

    def forward(self, x):
        return self.mine


def after_writing_into_prediction(number):
    """A prediction of a module, and what the module holds after `number` was written over the
    prediction."""
    hand = Hand()
    found = predict(hand, [Tensor([0.0])])
    told = np.array(found)
    found[...] = number
    return told, hand.mine.numpy()


# %% predict points=4
def test_predictions_come_in_order():
    x = np.random.default_rng(2).normal(size=(7, 3)).astype("float32")
    model = Slope(-4.0)
    for batches in (
        [Tensor(x)],
        [Tensor(x[:2]), Tensor(x[2:3]), Tensor(x[3:])],
        [(Tensor(x[:5]), [0] * 5), [Tensor(x[5:]), "no targets"]],
    ):
        found = predict(model, batches)
        assert isinstance(found, np.ndarray), (
            f"predictions are one ndarray, yours are {type(found).__name__}"
        )
        assert found.shape == (7, 3) and np.allclose(found, -4 * x), (
            f"7 examples in {len(batches)} batches make the outputs\n{-4 * x}, yours\n{found}"
        )
        assert found.dtype.name == "float32", (
            f"float32 outputs stay float32, yours are {found.dtype}"
        )


def test_predictions_take_no_notes_and_no_dropout():
    model = Slope(2.0)
    found = predict(Sequential(Dropout(0.75), model), [Tensor(np.ones((2, 3), "float32"))])
    assert np.allclose(found, 2), f"without dropout, ones times 2 are 2; yours are\n{found}"
    training, notes = model.seen[0]
    assert not training and not notes, (
        f"in use: mode {training}, notes {notes}; both should be False inside `evaluating`"
    )
    assert model.training is True, "afterwards the network should be back in training mode"


def test_predictions_may_have_any_shape():
    for shape in [(4,), (2, 1, 3), (3, 2, 2, 2)]:
        x = np.arange(np.prod(shape), dtype="float64").reshape(shape)
        found = predict(Slope(1.0), [Tensor(x), Tensor(x[:1])])
        assert found.shape == (shape[0] + 1, *shape[1:]), (
            f"{shape[0]} examples and one more make {shape[0] + 1}, yours have the shape "
            f"{found.shape}"
        )


def test_predictions_are_a_copy():
    told, found = after_writing_into_prediction(9.0)
    assert np.array_equal(told, [[1, 2]]), (
        f"a module that answers [[1, 2]] to one batch predicts [[1, 2]], yours {told}"
    )
    assert np.array_equal(found, [[1, 2]]), (
        f"somebody wrote 9 over a prediction, and into the network: {found}"
    )


# %% patience points=4
def test_epochs_are_counted_from_the_last_improvement():
    for losses, wanted in [
        ([], 0),
        ([7.0], 0),
        ([5.0, 3.0, 4.0, 3.5], 2),
        ([5.0, 4.0, 3.0], 0),
        ([1.0, 2.0, 3.0, 4.0, 5.0], 4),
        ([5.0, 6.0, 4.0, 9.0, 8.0, 7.0], 3),
        ([-1.0, -3.0, -2.0], 1),
        ([1e9, 2e8], 0),
    ]:
        found = epochs_since_best(list(losses))
        assert found == wanted, (
            f"losses {losses}: {wanted} came after the best one, yours says {found}. Compare "
            "with the best so far, not with the one before"
        )


def test_as_good_as_the_best_is_no_improvement():
    for losses, wanted in [
        ([2.0, 2.0], 1),
        ([5.0, 3.0, 4.0, 3.0, 3.5], 3),
        ([0.0, 0.0, 0.0], 2),
    ]:
        found = epochs_since_best(losses)
        assert found == wanted, (
            f"losses {losses}: the best one came {wanted} epochs ago and was only equalled "
            f"since; yours says {found}. A network that stands still would never be stopped"
        )


def test_small_improvements_are_none():
    for losses, delta, wanted in [
        ([1.0, 0.95, 0.91], 0.1, 2),
        ([1.0, 0.95, 0.85], 0.1, 0),
        ([1.0, 0.75, 0.5], 0.25, 0),
        ([4.0, 3.0, 2.5, 2.75], 0.5, 2),
        ([4.0, 3.75, 3.5, 3.25], 0.5, 0),
        ([2.0, 1.5], 0.5, 1),
    ]:
        found = epochs_since_best(losses, delta)
        assert found == wanted, (
            f"losses {losses} with min_delta {delta}: {wanted} since the last improvement by "
            f"more than {delta} on the best that counted; yours says {found}"
        )


def test_nan_and_inf_are_no_improvement():
    nan, inf = math.nan, math.inf
    for losses, wanted in [
        ([nan], 1),
        ([nan, nan, nan], 3),
        ([3.0, nan, 4.0], 2),
        ([nan, 2.0], 0),
        ([nan, 2.0, 3.0], 1),
        ([inf, inf], 2),
        ([5.0, nan, 4.0], 0),
    ]:
        found = epochs_since_best(losses)
        assert found == wanted, (
            f"losses {losses}: {wanted} since the last improvement, yours says {found}. nan is "
            "smaller than nothing: ask whether the loss IS smaller, and begin with infinity"
        )


# %% patience hidden points=1
def test_patience_with_many_losses():
    random = np.random.default_rng(77)
    for delta in (0.0, 0.05, 1.0):
        for _ in range(30):
            losses = (
                (
                    random.normal(size=random.integers(1, 12))
                    + np.where(random.random() < 0.5, -0.2, 0.3) * np.arange(1)
                )
                .round(1)
                .tolist()
            )
            losses = [math.nan if random.random() < 0.1 else loss for loss in losses]
            best, right = None, len(losses)
            for n, loss in enumerate(losses):
                if not math.isnan(loss) and (best is None or best - loss > delta):
                    best, right = loss, len(losses) - 1 - n
            found = epochs_since_best(losses, min_delta=delta)
            assert found == right, (
                f"losses {losses}, min_delta {delta}: {right} expected, got {found}"
            )


# %% learner-side
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
    """Train for some more steps; returns every weight on the way and what the layers' generator
    draws at the end."""
    found = []
    for n in range(steps):
        train_step(
            run.model,
            mean_output,
            run.optimizer,
            Tensor(np.ones(6, "float32")),
            Tensor(np.full(6, n, "float32")),
        )
        found.append(float(run.model[0].weight.data[0]))
        if run.schedule is not None:
            run.schedule.step()
        run.records.append(({"loss": float(n)}, 1))
        run.history["loss"].append(float(n))
        run.best["0.weight"] += 1
        run.start[0]["drawn"] += 1
        run.epoch, run.position = run.epoch + 1, run.position + 3
    return found, float(RandomState.rng.random())


def snapshot_three_steps_later():
    """A snapshot of a run, as it is after the run has gone on for three steps."""
    run = Run()
    state = snapshot(run)
    goes_on(run)
    return state


# %% snapshot points=4
def test_a_snapshot_holds_all_eleven_parts():
    state = snapshot(Run(weight=7.0))
    names = [
        "accumulate",
        "best",
        "chance",
        "epoch",
        "history",
        "model",
        "optimizer",
        "position",
        "records",
        "schedule",
        "start",
    ]
    assert isinstance(state, dict), f"a snapshot is a dict, yours is {state!r:.100}"
    for name in names:
        assert name in state, (
            f"{name!r} is missing: a run that goes on from your snapshot would take another "
            f"way; yours holds {sorted(state)}"
        )
    assert sorted(state) == names, f"a snapshot has the entries {names}, yours {sorted(state)}"
    for name, wanted in [
        ("accumulate", 1),
        ("epoch", 2),
        ("position", 2),
        ("records", [({"loss": 3.0}, 4), ({"loss": 2.0}, 4)]),
        ("history", {"loss": [5.0, 4.0], "rate": [0.1, 0.1]}),
        ("start", [{"drawn": 7}]),
        ("schedule", {"steps": 0}),
    ]:
        assert state[name] == wanted, f"{name} is {wanted}, your snapshot says {state[name]}"
    assert np.array_equal(state["model"]["0.weight"], [7]), (
        f"the weight is 7, your snapshot's model is {state['model']}"
    )
    assert np.array_equal(state["best"]["0.weight"], [8]), (
        f"the best weight was 8, your snapshot says {state['best']}"
    )
    assert state["optimizer"]["lr"] == 0.1 and np.array_equal(
        state["optimizer"]["speed"], [0]
    ), f"optimizer.state_dict() tells the rate and the speed, yours {state['optimizer']}"


def test_a_run_may_have_no_schedule():
    state = snapshot(Run(schedule=False))
    assert state["schedule"] is None, (
        f"without a schedule its entry is None, yours {state['schedule']}"
    )


def test_a_snapshot_holds_the_chance():
    found = snapshot(Run(dropouts=2))["chance"]
    assert len(found) == 3, (
        "the layers' own generator and those of two Dropouts are three, your snapshot holds "
        f"{len(found)}: random_states([RandomState.rng, run.model])"
    )
    wanted = [np.random.default_rng(seed).bit_generator.state for seed in (5, 0, 1)]
    assert list(found) == wanted, (
        "the states should be those of the layers' generator, then of the model's, as they are "
        f"now; yours {found}"
    )


def test_a_snapshot_stays_as_it_is():
    state = snapshot_three_steps_later()
    weight, speed = state["model"]["0.weight"], state["optimizer"]["speed"]
    assert (
        np.array_equal(weight, [1])
        and np.array_equal(speed, [0])
        and np.array_equal(state["best"]["0.weight"], [8])
    ), (
        "three steps later the snapshot's weight, speed and best went from 1, 0, 8 to "
        f"{weight}, {speed}, {state['best']['0.weight']}: it shares arrays with the run. Copy"
        " deeply"
    )
    assert (
        len(state["records"]) == 2
        and state["history"]["loss"] == [5.0, 4.0]
        and state["start"] == [{"drawn": 7}]
    ), (
        f"three steps later the snapshot's lists had grown, too: {state['records']}, "
        f"{state['history']}, {state['start']}. Copy deeply"
    )


# %% learner-side
def same_way_after(steps, between):
    """The way of a run after a snapshot; and that of it, put back, after `between` more steps;
    then of a new run."""
    run, other = Run(), Run(weight=-3.0)
    goes_on(run, steps)
    state = snapshot(run)
    first = goes_on(run)
    goes_on(run, between)
    restore(run, state)
    second = goes_on(run)
    restore(other, state)
    return (
        first,
        second,
        goes_on(other),
        (other.epoch, other.position, len(other.records), len(other.history["loss"])),
    )


def after_refusal(spoil):
    """The error when a spoilt snapshot of another run is restored, if any, and the run's
    snapshots before and after."""
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


# %% restore points=3
def test_a_restored_run_goes_the_same_way_bit_for_bit():
    for steps, between in [(0, 0), (2, 0), (1, 3)]:
        first, second, third, where = same_way_after(steps, between)
        assert first == second, (
            f"from one snapshot the weights went {first[0]}, and after `restore` {second[0]}; "
            f"what the layers drew then: {first[1]}, {second[1]}"
        )
        assert first == third, (
            f"a new run that was restored went {third[0]} instead of {first[0]}; what the "
            f"layers drew then: {third[1]}, {first[1]}"
        )
        assert tuple(where) == (5 + steps, 11 + 3 * steps, 5 + steps, 5 + steps), (
            "epoch, position, records and history should go on from the snapshot to "
            f"{(5 + steps, 11 + 3 * steps, 5 + steps, 5 + steps)}, yours {where}"
        )


def test_what_does_not_fit_changes_nothing():
    for spoil in ("speed", "schedule", "chance", "accumulate", "weight", "history", "clock"):
        error, before, after = after_refusal(spoil)
        assert error is not None, (
            f"a snapshot with another {spoil} was restored without a word: let the error of "
            "`put` go on"
        )
        for name in before:
            one, two = [
                (
                    {key: np.asarray(part[name][key]).tolist() for key in part[name]}
                    if isinstance(part[name], dict)
                    else part[name]
                )
                for part in (before, after)
            ]
            assert one == two, (
                f"a snapshot whose {spoil} does not fit was refused, and {name} was changed all"
                f" the same, from {one} to {two}: take a snapshot before you try, and put that "
                "back"
            )


def test_the_error_says_what_does_not_fit():
    for spoil, kind, word in [
        ("speed", "ValueError", "(3,)"),
        ("chance", "ValueError", "generators"),
        ("accumulate", "ValueError", "2"),
        ("best", "ValueError", "best"),
        ("clock", "KeyError", "steps"),
    ]:
        error, _, _ = after_refusal(spoil)
        assert error is not None and error.startswith(kind) and word in error, (
            f"a snapshot whose {spoil} does not fit is refused with a {kind} about {word!r}, "
            f"the one that `put` raised; yours: {error}"
        )


# %% blame points=5
def test_all_is_well():
    good = np.array([[1e30, -2.0]], "float32")
    for layers in (
        [],
        [("0", [good], {"w": good}, good)],
        [("ids", [np.array([3, 1])], {}, good), ("sum", [good, good], {}, np.float32(4.0))],
    ):
        found = blame(layers)
        assert found is None, f"every output is finite: None, yours {found}"
    found = blame([("0", [good], {}, good), ("1", [good], {}, np.array([math.nan]))])
    assert found is not None and found[0] == "1", (
        f"the output of layer 1 is nan, so all is not well; yours {found}"
    )


def test_the_first_layer_is_named():
    good, nan = np.array([1.0, 2.0, 3.0], "float32"), np.array([1.0, np.nan, 3.0], "float32")
    layers = [
        ("0 Dense", [good], {}, good),
        ("1 log", [good], {}, nan),
        ("2 Dense", [nan], {"weights": nan}, nan),
        ("the network", [good], {}, nan),
    ]
    found = blame(layers)
    assert found is not None, (
        "the output of 1 log holds a nan among finite numbers, and your answer is None: every "
        "number must be finite"
    )
    assert found[0] == "1 log", (
        f"the first output that is not finite is that of '1 log'; you blame {found[0]!r}"
    )
    assert tuple(found) == ("1 log", "output"), (
        "its input was finite and it has no parameters, so it made the nan: ('1 log', "
        f"'output'); yours {found}"
    )


def test_the_cause_is_told():
    good, bad = np.array([[1.0, 2.0]]), np.array([[1.0, math.inf]])
    for inputs, weights, cause in [
        ([bad], {}, "input"),
        ([good, bad], {"w": good}, "input"),
        ([bad, good], {"w": bad}, "input"),
        ([good], {"bias": good, "w": bad, "scale": bad}, "parameter w"),
        ([good, good], {"bias": good}, "output"),
        ([], {}, "output"),
    ]:
        found = blame(
            [
                ("first", [good], {"w": good}, good),
                ("second", inputs, weights, bad),
                ("third", [bad], {}, bad),
            ]
        )
        assert found is not None and tuple(found) == ("second", cause), (
            f"second got finite inputs {[bool(np.isfinite(x).all()) for x in inputs]} and has "
            "finite parameters"
            f" { {name: bool(np.isfinite(w).all()) for name, w in weights.items()} }: the "
            f"answer is ('second', {cause!r}), yours {found}"
        )


def test_both_infinities_and_nan_are_not_finite():
    good = np.array([1.0, 2.0], "float32")
    for value in (math.nan, math.inf, -math.inf):
        found = blame([("layer", [good], {}, np.array([5.0, value, -1.0], "float32"))])
        assert found is not None and tuple(found) == ("layer", "output"), (
            f"an output with {value} in it is not finite; yours {found}"
        )


def test_what_vanishes_again_is_found_all_the_same():
    good, bad = np.array([2.0]), np.array([math.inf])
    found = blame(
        [
            ("0 exp", [good], {}, bad),
            ("1 one over", [bad], {}, np.array([0.0])),
            ("2 log", [np.array([0.0])], {}, -bad),
        ]
    )
    assert found is not None and tuple(found) == ("0 exp", "output"), (
        "the infinity of '0 exp' became 0 in the next layer, and trouble later on; the first "
        f"layer is '0 exp', yours {found}"
    )


# %% learner-side
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
    """The rates and losses of a trial with a Slope; the rates of both groups in each step; what
    is there afterwards."""
    model = Slope(weight)
    optimizer = Twice(model)
    rates, losses = learning_rate_range(
        model, loss, optimizer, [(Tensor(x), Tensor(y)) for x, y in batches], low, high, steps
    )
    after = (
        float(model.weight.data[0]),
        float(optimizer.speed[0]),
        [group["lr"] for group in optimizer.param_groups],
    )
    return (
        list(rates),
        list(losses),
        [told for told in optimizer.diary if isinstance(told, list)],
        after,
    )


def nan_from(step):
    """A loss that is 1 at each step before `step`, and nan from then on."""
    steps = iter(range(10**9))
    return lambda outputs, targets: (
        (outputs * 0).sum() + (math.nan if next(steps) >= step else 1.0)
    )


def range_until_nan(step, steps):
    return range_of_slope([([1.0], [0.0])], 0.001, 1.0, steps, loss=nan_from(step))[:2]


# %% range points=5
BATCHES = [([1.0, 2.0], [0.0, 1.0]), ([0.5], [3.0]), ([-1.0, 1.0, 2.0], [0.5, 0.0, 1.0])]


def test_rates_grow_by_the_same_factor():
    rates, losses, _, _ = range_of_slope([([1.0, 2.0], [0.0, 1.0])], 1e-6, 1e-2, 9)
    assert len(rates) == len(losses) == 9, (
        f"9 rates and 9 losses were asked for, and nothing exploded; yours {len(rates)} and "
        f"{len(losses)}"
    )
    wanted = [1e-6 * 10 ** (n / 2) for n in range(9)]
    assert np.allclose(rates, wanted, rtol=1e-9), (
        f"from 1e-6 to 1e-2 in 9 rates, each is 3.162 times the one before; yours are {rates}. "
        "Equal differences would spend nearly all steps on the largest rates"
    )
    assert all(isinstance(x, float) for x in [*rates, *losses]), (
        f"rates and losses are floats, yours {rates[:2]}, {losses[:2]}"
    )


def test_the_loss_belongs_to_the_step_with_its_rate():
    rates, losses, used, _ = range_of_slope(BATCHES, 0.001, 0.05, 7, weight=1.5)
    assert np.allclose(used, np.stack([rates, rates], 1), rtol=1e-9), (
        f"each step should be taken with its rate in every group, {rates}; yours took them with"
        f" {used}"
    )
    weight, speed = 1.5, 0.0
    for n, (rate, found) in enumerate(zip(rates, losses)):
        x, y = map(np.array, BATCHES[n % 3])
        loss = np.mean((weight * x - y) ** 2)
        assert abs(found - loss) < 1e-4 * max(loss, 0.1), (
            f"step {n}, with batch {n % 3} and the rate {rate:.4g}: the loss is {loss:.5f}, "
            f"yours {found:.5f}. After the last batch comes the first again"
        )
        speed = 0.5 * speed + np.mean(2 * (weight * x - y) * x)
        weight -= rate * speed


def test_it_stops_when_the_loss_explodes():
    rates, losses, used, _ = range_of_slope([([1.0], [0.0])], 0.01, 1e6, 60)
    assert len(rates) == len(losses) == len(used), (
        f"as many rates as losses as steps; yours {len(rates)}, {len(losses)} and {len(used)}"
    )
    assert len(losses) < 60, (
        f"the loss went from {losses[0]} down to {min(losses):.3g} and then up to "
        f"{losses[-1]:.3g}, and the trial went on"
    )
    below = [loss <= 4 * min(losses[: n + 1]) for n, loss in enumerate(losses)]
    assert all(below[:-1]) and not below[-1], (
        "the trial stops with the first loss of more than 4 times the lowest so far, not "
        f"before, not after; yours ended with {losses[-3:]}, lowest {min(losses):.3g}"
    )
    for step in (0, 3):
        rates, losses = range_until_nan(step, 20)
        assert len(losses) == step + 1 and len(rates) == step + 1, (
            f"the loss of step {step} is nan, so {step + 1} were measured; yours measured "
            f"{len(losses)}. nan > x is False for every x: ask `not loss <= x`"
        )


def test_a_loss_of_exactly_four_times_the_lowest_goes_on():
    rates, losses, _, _ = range_of_slope([([1.0], [0.0]), ([2.0], [0.0])], 1e-12, 1e-11, 6)
    assert len(losses) == 6, (
        f"losses of 1 and 4 in turn never exceed 4 times the lowest: 6 steps, yours {losses}"
    )
    rates, losses, _, _ = range_of_slope([([1.0], [0.0]), ([2.05], [0.0])], 1e-12, 1e-11, 6)
    assert len(losses) == 2, (
        f"a loss of 1, then one of 4.2, more than 4 times as much: 2 steps, yours {losses}"
    )


def test_a_trial_leaves_no_trace():
    for high in (0.05, 1e6):
        *_, after = range_of_slope(BATCHES, 0.01, high, 30, weight=2.5)
        weight, speed, lrs = after
        assert (weight, speed, list(lrs)) == (2.5, 0.0, [0.3, 0.7]), (
            "weight, speed and rates were 2.5, 0 and [0.3, 0.7] before the trial, and are "
            f"{after} after it: do all of it inside `as_before`"
        )
