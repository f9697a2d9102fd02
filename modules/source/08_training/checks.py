# The checks of lesson 08, by exercise. `check("average")` in the chapter runs the visible ones.

# %% setup
import math

import numpy as np

from checking import equal, expect, result_of, shown
from tinytorch.core.layers import Dense, Dropout, Module, RandomState, Sequential, manual_seed
from tinytorch.core.optimizers import Adam
from tinytorch.core.tensor import Tensor


def all_in_evaluation_mode(modes):
    """Assert that all modules are in evaluation mode inside the block."""
    assert not any(modes), (
        f"inside, `training` should be False in all six modules; yours are {modes}. "
        "model.eval() sets them"
    )


def is_at(location, wanted, case):
    """Assert where find_nonfinite found the first output that is not finite."""
    cause = ""
    if location is None and "inf" in case:
        cause = ". np.isnan is True for nan only; np.isfinite is False for nan, inf and -inf"
    assert location is not None and tuple(location) == wanted, (
        f"{case}. That should give {wanted}, yours is {location}{cause}"
    )


# %% learner-side
# The checks train the smallest possible model, with an optimizer that records its calls:
class Scale(Module):
    """x times one weight, for x of any shape. `.runs` records each forward pass: the mode, and
    whether a graph was recorded."""

    def __init__(self, weight=1.0):
        self.weight = Tensor([weight], requires_grad=True)
        self.runs = []

    def forward(self, x):
        out = x * self.weight
        self.runs.append((self.training, out.requires_grad))
        return out


class MomentumSGD:
    """Gradient descent with momentum; `.calls` records what was called. Its state is one
    array."""

    def __init__(self, model, lr=0.1, momentum=0.0):
        self.parameters, self.momentum, self.calls = model.parameters(), momentum, []
        self.param_groups = [{"lr": lr}]
        self.velocity = np.zeros(len(self.parameters), "float32")

    def zero_grad(self):
        self.calls.append("zero_grad")
        for p in self.parameters:
            p.grad = None

    def step(self):
        self.calls.append("step")
        for n, p in enumerate(self.parameters):
            if p.grad is None:
                raise ValueError(
                    "optimizer.step() was called and there is no gradient: call backward() "
                    "before it, and zero_grad() before that"
                )
            self.velocity[n] = self.momentum * self.velocity[n] + p.grad.sum()
            p.data -= self.param_groups[0]["lr"] * self.velocity[n]

    def state_dict(self):
        return {"velocity": self.velocity, "lr": self.param_groups[0]["lr"]}  # live arrays

    def load_state_dict(self, state):
        if np.shape(state["velocity"]) != self.velocity.shape:
            raise ValueError(f"velocity has shape {np.shape(state['velocity'])}")
        self.velocity[...], self.param_groups[0]["lr"] = state["velocity"], state["lr"]


def mean_output(outputs, targets):
    """A loss whose gradient for the weight of a Scale is the mean of the inputs."""
    return (outputs - targets).mean()


def squared(outputs, targets):
    return ((outputs - targets) ** 2).mean()


def steps_taken(model, optimizer, batches, loss=mean_output, stale=None):
    """For each train_step: what it returned, the weight and the gradient after it, and whether
    it returned a float."""
    steps = []
    if stale is not None:
        model.weight.grad = np.array([stale], "float32")
    for inputs, targets in batches:
        value = train_step(model, loss, optimizer, Tensor(inputs), Tensor(targets))
        gradient = None if model.weight.grad is None else np.array(model.weight.grad)
        if value is None:
            raise ValueError("train_step returned None: return the loss, as a float")
        steps.append(
            (float(value), np.array(model.weight.data), gradient, isinstance(value, float))
        )
    return steps


# %% step points=4
def test_two_steps_by_hand():
    model = Scale(1.0)
    steps = steps_taken(model, MomentumSGD(model), [([0.5, 1.5], [0.0, 0.0])] * 2)
    summed = "The gradients of both steps were added up: call zero_grad() in every step"
    for n, (_, weight, _, _) in zip((1, 2), steps):
        case = (
            f"a weight of 1, gradients of 1, a learning rate of 0.1: after step {n} the weight"
        )
        expect(weight, [1 - 0.1 * n], case, {summed: [0.7]}, near=(0, 1e-6))


def test_the_returned_loss_is_a_float_from_before_the_update():
    model = Scale(2.0)
    batches = [([1.0, 3.0], [0.0, 1.0]), ([2.0, -1.0], [1.0, 0.0])]
    steps = steps_taken(model, MomentumSGD(model, lr=0.25), batches, squared)
    weight = 2.0
    for (value, after, _, plain), (x, y) in zip(steps, batches):
        x, y = np.array(x), np.array(y)
        before = np.mean((weight * x - y) ** 2)
        assert abs(value - before) < 1e-5 * before, (
            f"the loss with the weight {weight} is {before}, yours is {value}: compute the "
            "loss before the optimizer step"
        )
        assert plain, (
            "return float(loss): a Tensor keeps the whole computation graph in memory, yours "
            "returns one"
        )
        weight -= 0.25 * np.mean(2 * (weight * x - y) * x)
        assert abs(after[0] - weight) < 1e-5 * abs(weight), (
            f"the weight should be {weight} after the step, yours is {after}"
        )


def test_gradients_from_before_have_no_effect():
    model = Scale(1.0)
    ((_, weight, gradient, _),) = steps_taken(
        model, MomentumSGD(model), [([1.0, 3.0, 5.0], [0.0, 0.0, 0.0])], stale=100.0
    )
    assert weight.shape == (1,) and abs(weight[0] - 0.7) < 1e-5, (
        f"the gradient of this batch is 3, so the weight goes from 1 to 0.7; yours is {weight}:"
        " there was a gradient of 100 before the first step. Call zero_grad() before backward()"
    )
    assert gradient is not None and abs(gradient[0] - 3) < 1e-5, (
        f"after the step the gradient of the batch, 3, should still be there; yours is "
        f"{gradient}"
    )


def test_each_step_runs_the_model_and_the_optimizer_once():
    model = Scale(1.0)
    optimizer = MomentumSGD(model)
    steps_taken(model, optimizer, [([1.0], [0.0])] * 2)
    steps = list(optimizer.calls).count("step")
    equal(steps, 2, "the number of calls of optimizer.step() in two training steps")
    equal(len(model.runs), 2, "the number of forward passes in two training steps")


# %% step hidden points=1
def test_ten_steps_with_momentum():
    random, sizes = np.random.default_rng(5), (3, 1, 4, 7, 2, 5, 6, 1, 9, 2)
    batches = [tuple(random.normal(size=(2, n, 2)).astype("float32")) for n in sizes]
    model = Scale(-3.0)
    optimizer = MomentumSGD(model, lr=0.07, momentum=0.6)
    for value, *after, _ in steps_taken(model, optimizer, batches, squared, stale=-4.0):
        yield np.array(value, "float32"), after


# %% accuracy points=3
def test_accuracy_counts_the_rows_that_are_right():
    scores = np.array(
        [[0.1, 0.9, -3], [2, -1, 1.5], [-9, -5, -7], [4, 4.5, 5], [0, 1, -1]], "float32"
    )
    cause = "make arrays with np.asarray first"
    for targets, right in [
        ([1, 0, 1, 2, 1], 5),
        ([1, 0, 1, 2, 0], 4),
        ([0, 1, 0, 0, 1], 1),
        ([2, 1, 2, 1, 0], 0),
    ]:
        for given in (targets, np.array(targets), Tensor(targets)):
            for rows in (scores, Tensor(scores)):
                case = f"targets may be a Tensor, an array or a list, such as {given}"
                call = lambda: accuracy(rows, given)
                value = result_of(call, case, cause, AttributeError)
                assert isinstance(value, float), (
                    f"accuracy should return a Python float, yours returns {value!r:.100}"
                )
                assert value == right / 5, (
                    f"the largest scores are those of classes [1 0 1 2 1]; with targets "
                    f"{targets}, {right} of 5 are right: {right / 5}, yours is {value}"
                )


def test_accuracy_takes_the_classes_from_the_last_axis():
    scores = np.random.default_rng(3).normal(size=(2, 5, 3))
    targets = scores.argmax(-1)
    targets[0, 1:4] = (targets[0, 1:4] + 1) % 3
    case = "scores of shape (2, 5, 3) and targets of shape (2, 5)"
    call = lambda: accuracy(Tensor(scores), Tensor(targets))
    value = result_of(call, case, "the classes are on the last axis")
    assert abs(value - 0.7) < 1e-9, (
        "scores of shape (2, 5, 3) are 10 predictions among 3 classes; 7 are right: 0.7, yours "
        f"is {value}. The classes are on the last axis"
    )
    call = lambda: accuracy(np.array([0.5, 2.0, 1.0]), np.array(1))
    equal(result_of(call, "one row of scores, and its class"), 1.0, "the accuracy of one row")


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
        scores = random.permutation(math.prod(shape)).reshape(shape) * -1e6
        targets = np.array(scores.argmax(-1))
        wrong = np.arange(targets.size) >= right
        targets.reshape(-1)[wrong] = (targets.reshape(-1)[wrong] + 1) % shape[-1]
        yield float(accuracy(outputs=Tensor(scores), targets=targets.tolist()))


# %% confusion points=2
SCORES = np.array(
    [[0.1, 0.9, -3], [2, -1, 1.5], [-9, -5, -7], [4, 4.5, 5], [0, 1, -1], [3, 2, 1]], "float32"
)  # predicted: 1 0 1 2 1 0


def test_confusion_matrix_counts_every_example():
    once = "Repeated pairs were counted once: `counts[i, j] += 1` with index arrays adds once "
    once += "per pair; np.add.at adds once per example"
    for targets, wanted in [
        ([1, 0, 1, 2, 1, 0], [[2, 0, 0], [0, 3, 0], [0, 0, 1]]),
        ([0, 0, 0, 0, 0, 0], [[2, 3, 1], [0, 0, 0], [0, 0, 0]]),
        ([2, 1, 2, 1, 0, 1], [[0, 1, 0], [2, 0, 1], [0, 2, 0]]),
    ]:
        causes = {
            "Rows are true classes, columns predicted ones": np.transpose(wanted),
            once: np.minimum(wanted, 1),
        }
        for given in (targets, np.array(targets), Tensor(targets)):
            case = f"the matrix for the predictions [1 0 1 2 1 0] and the targets {targets}"
            expect(confusion_matrix(Tensor(SCORES), given), wanted, case, causes)


def test_classes_that_do_not_occur_have_zeros():
    counts = np.asarray(confusion_matrix(np.array([[0.0, 3.0, 1.0, 2.0]]), [1]))
    wanted = np.zeros((4, 4), int)
    wanted[1, 1] = 1
    case = "the matrix for one example of class 1 of 4, predicted as 1,"
    cause = "There are as many classes as scores in a row, also if a class does not occur"
    expect(counts, wanted, case, cause)
    assert counts.dtype.kind in "iu", f"counts should be integers, yours are {counts.dtype}"


# %% confusion hidden points=1
def test_confusion_matrix_of_many_examples():
    random = np.random.default_rng(12)
    for n, classes in [(40, 2), (300, 5), (7, 9)]:
        scores, targets = random.normal(size=(n, classes)), random.integers(0, classes, n)
        yield np.array(confusion_matrix(outputs=scores, targets=targets.tolist()), float)


# %% average points=3
def test_every_example_has_the_same_weight():
    results = [
        ({"loss": 0.5, "accuracy": 1.0}, 100),
        ({"loss": 8.0, "accuracy": 0.0}, 1),
        ({"loss": 2.0, "accuracy": 0.25}, 24),
    ]
    average = average_metrics(results)
    assert isinstance(average, dict), (
        f"average_metrics should return a dict, yours returns {average}"
    )
    for name, wanted in [("loss", (50 + 8 + 48) / 125), ("accuracy", 106 / 125)]:
        assert name in list(average), f"the results have {name!r}, your averages: {average}"
        assert abs(average[name] - wanted) < 1e-9, (
            f"batches of 100, 1 and 24 examples: the mean {name} is {wanted}, yours is "
            f"{average[name]}. (The mean of the three means is"
            f" {np.mean([values[name] for values, _ in results]):.4g}.) Multiply each mean by "
            "its number of examples, and divide the sum by the number of all examples"
        )
    assert list(average) == ["loss", "accuracy"], (
        f"the names should be loss and accuracy, in this order; yours are {list(average)}"
    )


def test_averaging_changes_nothing():
    results = [({"loss": 3.0}, 2), ({"loss": -1.0}, 6)]
    averages = [average_metrics(results) for _ in range(2)]
    case = "the averages, twice, of 3.0 (2 examples) and -1.0 (6 examples)"
    equal(averages, [{"loss": 0.0}] * 2, case)
    equal(results, [({"loss": 3.0}, 2), ({"loss": -1.0}, 6)], "afterwards, the results")
    case = "the average of one batch"
    one = result_of(lambda: average_metrics([({"loss": 3.0}, 2)]), case)
    equal(one, {"loss": 3.0}, case)


def test_an_infinite_loss_stays_infinite():
    average = average_metrics([({"loss": math.inf}, 1), ({"loss": 1.0}, 3)])
    equal(average, {"loss": math.inf}, "one infinite loss makes the mean infinite: the average")
    average = average_metrics([({"loss": 1.0}, 3), ({"loss": math.nan}, 2)])
    assert math.isnan(average["loss"]), (
        f"one loss of nan makes the mean nan, so that it is seen; yours is {average['loss']}"
    )


# %% average hidden points=1
def test_averages_of_many_results():
    random = np.random.default_rng(8)
    for names, batches in [(("a",), 1), (("z", "b", "loss"), 9), (("loss", "x"), 40)]:
        scale = 10.0 ** random.integers(-4, 5, len(names))
        rows = (random.normal(size=(batches, len(names))) * scale).tolist()
        counts = random.integers(1, 50, batches).tolist()
        yield average_metrics([(dict(zip(names, row)), n) for row, n in zip(rows, counts)])
    yield average_metrics([({"loss": math.nan}, 2), ({"loss": 1.0}, 3)])


# %% learner-side
events = []


class Reporting(Scale):
    """A Scale that writes into `events` when it runs forward, and whether its gradient has
    changed since it did so last."""

    known = None

    def look(self):
        gradient = None if self.weight.grad is None else float(self.weight.grad.sum())
        if gradient != self.known:
            events.append("backward")
        self.known = gradient

    def forward(self, x):
        self.look()
        events.append("forward")
        return super().forward(x)


def events_of(batches):
    """What happened, in order, while the gradients of `batches` were accumulated."""
    events.clear()
    model = Reporting()
    accumulate_gradients(model, mean_output, batches)
    model.look()
    return list(events)


def largest(outputs, targets):
    return np.asarray(outputs).max()


def least(outputs, targets):
    return np.asarray(outputs).min()


def types_in(result):
    return sorted({type(value).__name__ for value in result[0].values()})


# %% accumulate points=5
def test_the_gradient_is_that_of_one_large_batch():
    random = np.random.default_rng(6)
    x, y = (random.normal(size=(10, 3)).astype("float32") for _ in range(2))
    wanted = np.mean(2 * (2.5 * x.astype("float64") - y) * x)
    for cuts in ([10], [4, 8], [1, 3], [2]):
        parts = zip(np.split(x, cuts), np.split(y, cuts))
        batches = [(Tensor(a), Tensor(b)) for a, b in parts if len(a)]
        model = Scale(2.5)
        accumulate_gradients(model, squared, batches)
        gradient, sizes = model.weight.grad, [len(targets) for _, targets in batches]
        assert gradient is not None, "there is no gradient: call backward() for each batch"
        assert abs(float(gradient[0]) - wanted) < 1e-5 * abs(wanted), (
            f"10 examples in batches of {sizes} should give the gradient of one batch of 10, "
            f"{wanted:.6f}; yours is {float(gradient[0]):.6f}. The weight of a batch of "
            f"{sizes[0]} is {sizes[0]} / 10"
        )


def test_gradients_are_added_to_those_that_are_there():
    model = Scale(1.0)
    model.weight.grad = np.array([5.0], "float32")
    accumulate_gradients(model, mean_output, [(Tensor([1.0, 3.0]), Tensor([0.0, 0.0]))])
    assert abs(float(model.weight.grad[0]) - 7) < 1e-5, (
        f"a gradient of 5 was there, and 2 arrives: 7, yours is {model.weight.grad}. Do not set"
        " gradients to zero here; train_step and Trainer do it"
    )
    model = Scale(1.0)
    batches = [(Tensor([1.0]), Tensor([1.0])), (Tensor([-3.0]), Tensor([0.0]))]
    accumulate_gradients(model, mean_output, batches)
    gradient = model.weight.grad
    assert gradient is not None and abs(float(gradient[0]) + 1) < 1e-5, (
        "two batches with the losses 0 and -3 have the gradients 1 and -3, on average -1; "
        f"yours is {gradient}. A loss may be zero or negative: use every batch"
    )


def test_each_result_is_that_of_its_batch():
    batches = [
        (Tensor([1.0, 2.0, 6.0]), Tensor([0.0, 1.0, 2.0])),
        (Tensor([4.0]), Tensor([-1.0])),
    ]
    metrics = {"largest": largest, "least": least}
    results = accumulate_gradients(Scale(-2.0), mean_output, batches, metrics)
    assert results is not None, "accumulate_gradients returned None: return the list of results"
    assert len(results) == 2, f"two batches should give two results, yours gives {results}"
    for one, loss, top, low, count in [
        (results[0], -7.0, -2.0, -12.0, 3),
        (results[1], -7.0, -8.0, -8.0, 1),
    ]:
        metrics, size = one
        equal(size, count, "the number of examples in the result of a batch")
        assert abs(float(metrics["loss"]) - loss) < 1e-5, (
            f"the mean loss of the batch is {loss}, your result says {metrics['loss']}: scale "
            "the loss for backward() only, not in the result"
        )
        expect(metrics["largest"], top, "the metric largest of this batch", near=(0, 1e-5))
        expect(metrics["least"], low, "the metric least of this batch", near=(0, 1e-5))
        cause = "Tensors would keep their graphs in memory"
        equal(types_in(one), ["float"], "the types in a result", cause)


def test_metrics_are_optional_and_each_batch_runs_once():
    model = Scale(1.0)
    batches = [(Tensor([1.0]), Tensor([0.0])), (Tensor([2.0]), Tensor([0.0]))]
    results = accumulate_gradients(model, mean_output, batches)
    assert results is not None, "accumulate_gradients returned None: return the list of results"
    found = [metrics for metrics, _ in results]
    equal(found, [{"loss": 1.0}, {"loss": 2.0}], "the results, without metrics,")
    assert len(model.runs) == 2 and list(model.runs[0])[1], (
        "each batch needs one forward pass that records a graph; yours ran "
        f"{len(model.runs)} times"
    )


def test_each_batch_runs_backward_before_the_next_runs_forward():
    sizes = (2, 1, 1)
    order = events_of([(Tensor([1.0] * n), Tensor([0.0] * n)) for n in sizes])
    wanted = ["forward", "backward"] * 3
    assert order == wanted, (
        f"the order should be {wanted}, yours is {order}: run backward for each batch before "
        "the next forward pass, or the graphs of all batches are in memory at the same time"
    )


# %% accumulate hidden points=1
def test_other_batches_have_the_gradient_of_one_large_batch():
    random = np.random.default_rng(16)
    for sizes in [(1,), (2, 7), (5, 1, 1, 3), (6, 6), (1, 9, 30)]:
        numbers = random.normal(size=(2, sum(sizes), 2))
        x, y = numbers * 10.0 ** random.integers(-2, 2, (2, sum(sizes), 1))
        cuts, model = np.cumsum(sizes)[:-1], Scale(0.5)
        model.weight.data = np.array([0.5])
        model.weight.grad = np.array([-2.0])
        batches = [(Tensor(a), b) for a, b in zip(np.split(x, cuts), np.split(y, cuts))]
        results = accumulate_gradients(model, squared, batches, {"top": largest})
        yield model.weight.grad
        for metrics, count in results:
            yield [*metrics], [float(value) for value in metrics.values()], count


# %% learner-side
class Interruption(Exception):
    pass


def modes_around(frozen, error=False):
    """The modes of six modules before, in and after the block; whether a graph is recorded in
    it and after it; whether an exception came out.

    The modules with the numbers `frozen` are in evaluation mode beforehand.
    """
    inner = Scale()
    net = Sequential(Dense(2, 2), Sequential(Dropout(0.5), inner), Scale())
    parts = net.modules()
    for n in frozen:
        parts[n].training = False
    before, came_out = [part.training for part in parts], False
    try:
        with evaluation_mode(net):
            during = [part.training for part in parts], inner(Tensor([1.0])).requires_grad
            if error:
                raise Interruption
    except Interruption:
        came_out = True
    after = [part.training for part in parts]
    return before, during, after, inner(Tensor([1.0])).requires_grad, came_out


# %% evaluation points=4
def test_inside_the_block_modules_are_in_evaluation_mode():
    _, (modes, recorded), _, _, _ = modes_around([])
    all_in_evaluation_mode(modes)
    assert not recorded, (
        "inside, no graph should be recorded, and yours records one: put `with no_grad():` "
        "around the yield"
    )


def test_afterwards_every_module_has_its_own_mode_again():
    for frozen in ([], [2, 4], [0, 1, 2, 3, 4, 5]):
        before, (modes, _), after, recorded, _ = modes_around(frozen)
        all_in_evaluation_mode(modes)
        assert after == before, (
            f"modes before the block {before}, after it {after}: set each module to its own "
            "mode from before; model.train() would also change modules that were frozen"
        )
        assert recorded, "after the block, graphs should be recorded again, and yours are not"


def test_an_exception_inside_is_passed_on_and_modes_are_set_back():
    before, (modes, _), after, recorded, came_out = modes_around([3], error=True)
    all_in_evaluation_mode(modes)
    assert came_out, (
        "an exception inside the block should come out of it, and yours is swallowed: use "
        "`finally`, no `except`"
    )
    assert after == before and recorded, (
        f"after an exception, modes {before} became {after}, and graphs are "
        f"{'' if recorded else 'not '}recorded: code that must always run belongs in "
        "`finally`"
    )


def test_blocks_can_be_nested():
    net = Sequential(Dense(1, 1))
    with evaluation_mode(net):
        with evaluation_mode(net):
            pass
        inside = net.training
    assert inside is False and net.training is True, (
        "after the inner block the model is still in evaluation mode, after the outer one in "
        f"training mode; yours has training = {inside}, then {net.training}"
    )


# %% patience points=4
def test_losses_are_counted_from_the_last_improvement():
    for losses, wanted in [
        ([], 0),
        ([7.0], 0),
        ([5.0, 3.0, 4.0, 3.5], 2),
        ([5.0, 4.0, 3.0], 0),
        ([1.0, 2.0, 3.0, 4.0, 5.0], 4),
        ([5.0, 6.0, 4.0, 9.0, 8.0, 7.0], 3),
        ([-1.0, -3.0, -2.0], 1),
        ([1e9, 2e8], 0),
        ([1e30, 1e12], 0),
    ]:
        case = f"losses {losses}: the number of losses since the best one"
        cause = "Compare with the best so far, not with the previous one"
        found = epochs_since_best(list(losses))
        equal(found, wanted, case, cause)
        kind = np.asarray(found).dtype.kind
        assert kind in "iu", f"{case} should be an int, yours is {found!r}"


def test_an_equal_loss_is_no_improvement():
    for losses, wanted in [
        ([2.0, 2.0], 1),
        ([5.0, 3.0, 4.0, 3.0, 3.5], 3),
        ([0.0, 0.0, 0.0], 2),
    ]:
        case = f"losses {losses}: the best one was equalled, but not beaten. The number of "
        case += "losses since the best one"
        cause = "A run that makes no progress would never be stopped"
        equal(epochs_since_best(losses), wanted, case, cause)


def test_improvements_up_to_min_delta_do_not_count():
    for losses, delta, wanted in [
        ([1.0, 0.95, 0.91], 0.1, 2),
        ([1.0, 0.95, 0.85], 0.1, 0),
        ([1.0, 0.75, 0.5], 0.25, 0),
        ([4.0, 3.0, 2.5, 2.75], 0.5, 2),
        ([4.0, 3.75, 3.5, 3.25], 0.5, 0),
        ([2.0, 1.5], 0.5, 1),
    ]:
        case = f"losses {losses}: an improvement is more than {delta} (min_delta) below the "
        case += "last improvement; the number of losses after the last improvement"
        equal(epochs_since_best(losses, delta), wanted, case)


def test_nan_and_inf_are_no_improvement():
    nan, inf = math.nan, math.inf
    cause = "Every comparison with nan is False: ask whether the loss IS lower, and let the "
    cause += "first best be infinity"
    for losses, wanted in [
        ([nan], 1),
        ([nan, nan, nan], 3),
        ([3.0, nan, 4.0], 2),
        ([nan, 2.0], 0),
        ([nan, 2.0, 3.0], 1),
        ([inf, inf], 2),
        ([5.0, nan, 4.0], 0),
        ([1e12], 0),
    ]:
        case = f"losses {losses}: the number of losses since the last improvement"
        equal(epochs_since_best(losses), wanted, case, cause)


# %% patience hidden points=1
def test_patience_with_many_losses():
    random = np.random.default_rng(77)
    for delta in (0.0, 0.125, 1.0):
        for _ in range(30):  # eighths: sums and differences are exact
            losses = (random.integers(-16, 17, random.integers(1, 12)) / 8).tolist()
            losses = [math.nan if random.random() < 0.1 else loss for loss in losses]
            yield epochs_since_best(losses, min_delta=delta)


# %% learner-side
class Scripted(Trainer):
    """A Trainer whose validation losses are given beforehand. Training an epoch sets the weight
    to the number of that epoch; `.log` records what `fit` calls, in order."""

    def __init__(self, losses=()):
        self.log, self.losses = [], list(losses)
        model = Scale(0.0)
        super().__init__(model, MomentumSGD(model), squared, show=False)

    def train_epoch(self, batches, checkpoint=None, every=None):
        if len(self.log) > 60:
            raise RuntimeError(
                f"fit has trained 20 epochs and does not end; complete epochs: {self.epoch}. "
                "end_epoch counts them, and should_stop ends the loop early"
            )
        weight = float(self.model.weight.data[0])
        self.log.append(
            "train" if weight == self.epoch else f"train on the weights of epoch {weight:.0f}"
        )
        self.given = [batches, checkpoint, every]
        self.model.weight.data[...] = self.epoch + 1.0  # in place, as optimizers do
        return {"loss": 10.0 - self.epoch}

    def evaluate(self, batches):
        self.log.append(f"evaluate {batches[0]}")
        if not self.losses:
            raise RuntimeError("fit evaluates again although training should have stopped")
        return {"loss": self.losses.pop(0), "accuracy": 0.5}

    def end_epoch(self, metrics):
        self.log.append("end_epoch")
        super().end_epoch(metrics)

    def save(self, path):
        best = self.best_weights
        best = "none" if best is None else f"epoch {float(best['weight'][0]):.0f}"
        self.log.append(f"save to {path}: {self.epoch} epochs, best weights {best}")


def scripted_fit(losses, calls, validation=("validation set",), **options):
    """What a Scripted Trainer returned from its last call of `fit`, and its state afterwards;
    `calls` are the numbers of epochs of the calls."""
    run = Scripted(losses)
    for epochs in calls:
        try:
            history = run.fit(
                ["batch"], epochs, None if validation is None else list(validation), **options
            )
        except KeyError as error:
            raise RuntimeError(
                f"fit raised {error!r}. Without a validation set, metrics and history have no "
                "'validation loss': look at it only if patience is not None"
            ) from None
        except TypeError as error:
            if run.best_weights is not None or "state dict" not in str(error):
                raise
            raise RuntimeError(
                "fit loads best weights that do not exist: `self.best_weights` is None until "
                "the validation loss of an epoch is an improvement; nan never is"
            ) from None
    return {
        "history": None if history is None else dict(history),
        "log": list(run.log),
        "given": run.given,
        "epoch": run.epoch,
        "weight": float(run.model.weight.data[0]),
    }


def fit_and_loop():
    """The weight and the history after `fit` on three batches, two per step; and the same
    computed by hand, in NumPy."""
    random = np.random.default_rng(9)
    batches = [
        (random.normal(size=n).astype("float32"), random.normal(size=n).astype("float32"))
        for n in (4, 2, 3)
    ]
    model = Scale(0.5)
    run = Trainer(model, MomentumSGD(model), squared, accumulate=2, show=False)
    tensors = [(Tensor(x), Tensor(y)) for x, y in batches]
    train_epoch, calls = run.train_epoch, []

    def limited(*given, **options):
        calls.append("train")
        if len(calls) > 20:
            raise RuntimeError(
                f"fit has trained 20 epochs and does not end; complete epochs: {run.epoch}"
            )
        return train_epoch(*given, **options)

    run.train_epoch = limited
    history = run.fit(tensors, 3, tensors[2:])
    weight, losses, scores = 0.5, [], []
    for _ in range(3):
        total = 0.0
        for group in (batches[:2], batches[2:]):
            x, y = (np.concatenate(parts) for parts in zip(*group))
            total += np.sum((weight * x - y) ** 2)
            weight -= 0.1 * np.mean(2 * (weight * x - y) * x)
        losses.append(total / 9)
        scores.append(np.mean((weight * batches[2][0] - batches[2][1]) ** 2))
    wanted = {"loss": losses, "validation loss": scores, "learning rate": [0.1] * 3}
    return float(model.weight.data[0]), dict(history or {}), float(weight), wanted


# %% fit points=8
def test_fit_trains_until_so_many_epochs_are_complete():
    got = scripted_fit([], [3], validation=None)
    assert got["log"] == ["train", "end_epoch"] * 3, (
        "3 epochs without a validation set should call train_epoch and end_epoch in turn, "
        f"three times; yours calls {got['log']}"
    )
    assert got["history"] is not None, "fit returned None: return self.history"
    assert got["history"] == {"loss": [10.0, 9.0, 8.0], "learning rate": [0.1] * 3}, (
        f"the epochs had the losses 10, 9 and 8, but your history is {got['history']}"
    )
    got = scripted_fit([], [2, 5], validation=None)
    assert got["epoch"] == 5, (
        f"fit(..., 2), then fit(..., 5), should end with 5 complete epochs, including "
        f"the 2 of the first call; yours ends with {got['epoch']}"
    )


def test_fit_passes_its_arguments_on():
    got = scripted_fit([], [1], validation=None, checkpoint="run.npz", every=7)
    case = "fit should pass its arguments on to train_epoch. Its batches, checkpoint and every"
    equal(got["given"], [["batch"], "run.npz", 7], case)


def test_metrics_of_the_validation_set_are_in_the_history():
    got = scripted_fit([4.0, 3.0], [2])
    wanted = ["train", "evaluate validation set", "end_epoch"]
    assert got["log"] == wanted * 2, (
        f"two epochs should make the calls {wanted * 2}; yours make {got['log']}. Evaluate "
        "before end_epoch, which puts the metrics into the history"
    )
    history = got["history"]
    assert history is not None, "fit returned None: return self.history"
    names = ["learning rate", "loss", "validation accuracy", "validation loss"]
    cause = "The metrics of `evaluate` get the prefix 'validation '"
    equal(sorted(history), names, "the names in the history", cause)
    equal(history["validation loss"], [4.0, 3.0], "the validation losses in the history")
    equal(history["loss"], [10.0, 9.0], "the training losses in the history")


def test_patience_ends_the_training():
    for losses, patience, delta, epochs in [
        ([3.0, 2.0, 2.5, 2.25, 9.0, 9.0], 2, 0.0, 4),
        ([3.0, 2.0, 2.5, 1.0, 9.0, 9.0], 2, 0.0, 6),
        ([1.0, 0.95, 0.9, 0.85], 2, 0.2, 3),
        ([1.0, 2.0, 3.0], 1, 0.0, 2),
    ]:
        got = scripted_fit(losses, [len(losses)], patience=patience, min_delta=delta)
        assert got["epoch"] == epochs, (
            f"validation losses {losses}, patience {patience}, min_delta {delta}: training "
            f"should end after epoch {epochs}, yours ends after {got['epoch']}. Ask "
            "should_stop(patience, min_delta) before each epoch"
        )


def test_a_run_that_has_stopped_early_trains_no_further_epoch():
    got = scripted_fit([3.0, 2.0, 2.5, 2.25, 9.0, 9.0], [9, 9], patience=2)
    assert got["epoch"] == 4, (
        "validation losses 3, 2, 2.5, 2.25, patience 2: fit stops after epoch 4. Called again, "
        f"it should train no further epoch; yours has {got['epoch']} complete epochs then. Ask "
        "should_stop before the epoch, not at its end"
    )


def test_the_weights_of_the_best_epoch_are_loaded_at_the_end():
    for losses, patience, delta, best in [
        ([3.0, 2.0, 2.5, 2.25], 2, 0.0, 2),
        ([3.0, 2.0, 2.5], 5, 0.0, 2),
        ([1.0, 0.95, 0.9], 9, 0.2, 1),
        ([3.0, 2.0, 1.0], 2, 0.0, 3),
    ]:
        got = scripted_fit(losses, [len(losses)], patience=patience, min_delta=delta)
        assert got["weight"] == best, (
            f"validation losses {losses}, patience {patience}, min_delta {delta}: at the end "
            f"the model should have the weights of epoch {best}, yours has those of epoch "
            f"{got['weight']:.0f}"
        )
    got = scripted_fit([3.0, 2.0, 2.5, 1.0], [4], patience=0)
    assert (got["epoch"], got["weight"]) == (3, 2), (
        "validation losses 3, 2, 2.5, patience 0: training should end after epoch 3 with the "
        f"weights of epoch 2, yours ends after {got['epoch']} with those of epoch "
        f"{got['weight']:.0f}. `if patience` is False for 0: ask `if patience is not None`"
    )
    got = scripted_fit([3.0, 4.0, 5.0, 6.0], [4], patience=9)
    late = [entry for entry in got["log"] if entry.startswith("train on")]
    assert not late, (
        "validation losses 3, 4, 5, 6: each epoch should start from the weights of the "
        f"previous one; your calls include {late}. Load the best weights after the loop"
    )
    got = scripted_fit([math.nan, math.nan], [2], patience=5)
    assert got["weight"] == 2, (
        "validation losses of nan are no improvement, so there are no best weights: the model "
        f"should keep those of epoch 2, yours has those of epoch {got['weight']:.0f}"
    )
    got = scripted_fit([1.0, 2.0, 3.0], [3])
    assert got["weight"] == 3, (
        "without patience, the model should keep the weights of the last epoch, 3; yours has "
        f"those of epoch {got['weight']:.0f}"
    )


def test_a_checkpoint_is_saved_after_each_epoch():
    got = scripted_fit([2.0, 1.0, 3.0], [3], patience=2, checkpoint="run.npz")
    saves = [entry for entry in got["log"] if entry.startswith("save")]
    wanted = [
        "save to run.npz: 1 epochs, best weights epoch 1",
        "save to run.npz: 2 epochs, best weights epoch 2",
        "save to run.npz: 3 epochs, best weights epoch 2",
    ]
    assert saves == wanted, (
        f"validation losses 2, 1, 3: the checkpoints should hold\n{wanted}, yours\n{saves}. "
        "Save last, after the epoch was counted and the best weights were kept"
    )
    got = scripted_fit([2.0], [1], patience=2)
    assert not [entry for entry in got["log"] if entry.startswith("save")], (
        f"without checkpoint= nothing should be saved; yours calls {got['log']}"
    )


def test_fit_does_what_the_loop_by_hand_does():
    weight, history, wanted_weight, wanted = fit_and_loop()
    assert abs(weight - wanted_weight) < 1e-5, (
        f"3 epochs of 2 steps by hand lead to the weight {wanted_weight:.5f}, your fit to "
        f"{weight:.5f}"
    )
    for name in wanted:
        assert name in history, f"the history should have {name!r}, yours has {list(history)}"
        assert np.allclose(history[name], wanted[name], rtol=1e-4), (
            f"the {name} by hand is {shown(wanted[name], 4)}, in your history "
            f"{shown(history[name], 4)}"
        )


# %% fit hidden points=1
def test_fit_with_many_losses():
    random = np.random.default_rng(4)
    for _ in range(12):
        losses = random.integers(1, 9, 12).astype(float).tolist()
        patience, asked = int(random.integers(1, 5)), int(random.integers(1, 13))
        got = scripted_fit(losses, [asked], patience=patience, checkpoint="c")
        saved = sum(entry.startswith("save") for entry in got["log"])
        yield got["epoch"], float(got["weight"]), saved


# %% learner-side
class TwoGroups(MomentumSGD):
    """A MomentumSGD with a second parameter group; `.calls` records the rates of each step."""

    def __init__(self, model):
        super().__init__(model, lr=0.3, momentum=0.5)
        self.param_groups.append({"lr": 0.7})

    def step(self):
        self.calls.append([group["lr"] for group in self.param_groups])
        super().step()

    def load_state_dict(self, state):
        super().load_state_dict(state)
        self.param_groups[1]["lr"] = 0.7


def range_of_scale(batches, low, high, steps, weight=1.0, loss=squared):
    """The rates and losses of a range test of a Scale; the rates of both groups in each step;
    and weight, velocity and rates afterwards."""
    model = Scale(weight)
    optimizer = TwoGroups(model)
    result = learning_rate_range(
        model, loss, optimizer, [(Tensor(x), Tensor(y)) for x, y in batches], low, high, steps
    )
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise TypeError(f"return the pair (rates, losses); yours returned {result!r:.60}")
    rates, losses = result
    if not isinstance(rates, list) or not isinstance(losses, list):
        raise TypeError(
            "rates and losses should be two lists; yours are of the types "
            f"{type(rates).__name__} and {type(losses).__name__}"
        )
    after = (
        float(model.weight.data[0]),
        float(optimizer.velocity[0]),
        [float(group["lr"]) for group in optimizer.param_groups],
    )
    used = [[float(rate) for rate in call] for call in optimizer.calls if type(call) is list]
    return list(rates), list(losses), used, after


class Shuffled:
    """Two batches, in an order that is drawn anew in each pass."""

    def __init__(self):
        self.rng = np.random.default_rng(3)

    def __iter__(self):
        batches = [(Tensor([1.0]), Tensor([0.0])), (Tensor([2.0]), Tensor([1.0]))]
        return iter([batches[n] for n in self.rng.permutation(2)])


def draws_around_range():
    """What the generator of shuffled batches draws before and after a range test."""
    batches, model = Shuffled(), Scale(1.0)
    first = float(Shuffled().rng.random())
    learning_rate_range(model, squared, TwoGroups(model), batches, 1e-5, 1e-3, 7)
    return first, float(batches.rng.random())


def nan_from(step):
    """A loss that is 1 at each step before `step`, and nan at all later ones."""
    steps = iter(range(10**9))
    return lambda outputs, targets: (
        (outputs * 0).sum() + (math.nan if next(steps) >= step else 1.0)
    )


def range_until_nan(step, steps):
    return range_of_scale([([1.0], [0.0])], 0.001, 1.0, steps, loss=nan_from(step))[:2]


# %% range points=5
BATCHES = [([1.0, 2.0], [0.0, 1.0]), ([0.5], [3.0]), ([-1.0, 1.0, 2.0], [0.5, 0.0, 1.0])]


def test_rates_grow_by_the_same_factor():
    rates, losses, _, _ = range_of_scale([([1.0, 2.0], [0.0, 1.0])], 1e-6, 1e-2, 9)
    assert len(rates) == len(losses) == 9, (
        f"9 steps without divergence should give 9 rates and 9 losses; yours gives {len(rates)}"
        f" and {len(losses)}"
    )
    wanted = [1e-6 * 10 ** (n / 2) for n in range(9)]
    case = "from 1e-6 to 1e-2 in 9 steps, each rate is 3.162 times the one before: the rates"
    causes = {
        "The last rate is 1e-2: the factor is multiplied 8 times for 9 rates": wanted[0]
        * 1e4 ** (np.arange(9) / 9),
        "Multiply by the same factor in each step. If you add the same number in each "
        "step, nearly all rates are large": np.linspace(1e-6, 1e-2, 9),
    }
    expect(rates, wanted, case, causes, near=(1e-9, 0))
    assert all(isinstance(x, float) for x in [*rates, *losses]), (
        f"rates and losses should be floats, yours are {type(rates[0]).__name__} and "
        f"{type(losses[0]).__name__}"
    )


def test_each_step_is_taken_with_its_rate():
    rates, losses, used, _ = range_of_scale(BATCHES, 0.001, 0.05, 7, weight=1.5)
    assert len(used) == len(rates) == len(losses) == 7, (
        "a test of 7 rates that does not diverge should take 7 steps, and return 7 rates and 7 "
        f"losses; yours: {len(used)} steps, {len(rates)} rates, {len(losses)} losses. It "
        "should stop early only when a loss is not finite or is more than 4 times the lowest "
        "so far"
    )
    for n in range(2):
        assert np.allclose([pair[n] for pair in used], rates, rtol=1e-9), (
            f"the steps should have the rates {shown(rates, 4)} in every group, yours have "
            f"{shown([pair[n] for pair in used], 4)} in group {n}: set group['lr'] of each "
            "group in optimizer.param_groups before the step"
        )
    weight, velocity = 1.5, 0.0
    for n, (rate, value) in enumerate(zip(rates, losses)):
        x, y = map(np.array, BATCHES[n % 3])
        loss = np.mean((weight * x - y) ** 2)
        assert abs(value - loss) < 1e-4 * max(loss, 0.1), (
            f"step {n}, with batch {n % 3} and the rate {rate:.4g}: the loss is {loss:.5f}, "
            f"yours is {value:.5f}. After the last batch comes the first again"
        )
        velocity = 0.5 * velocity + np.mean(2 * (weight * x - y) * x)
        weight -= rate * velocity


def test_the_range_test_stops_when_the_loss_diverges():
    rates, losses, used, _ = range_of_scale([([1.0], [0.0])], 0.01, 1e6, 60)
    assert len(rates) == len(losses) == len(used), (
        f"{len(used)} steps were taken, so return {len(used)} rates and {len(used)} losses; "
        f"yours returns {len(rates)} rates and {len(losses)} losses"
    )
    assert len(losses) < 60, (
        f"the loss went from {losses[0]} down to {min(losses):.3g} and then up to "
        f"{losses[-1]:.3g}, and your test did not stop"
    )
    below = [loss <= 4 * min(losses[: n + 1]) for n, loss in enumerate(losses)]
    assert all(below[:-1]) and not below[-1], (
        "the test should stop with the first loss of more than 4 times the lowest so far, not "
        f"before, not after; yours ended with {shown(losses[-3:], 4)}, lowest {min(losses):.3g}"
    )
    for step in (0, 3):
        rates, losses = range_until_nan(step, 20)
        assert len(losses) == step + 1 and len(rates) == step + 1, (
            f"the loss of step {step} is nan, so there should be {step + 1} losses; yours has "
            f"{len(losses)}. nan > x is False for every x: ask `not loss <= x`"
        )


def test_a_loss_of_exactly_four_times_the_lowest_is_no_divergence():
    rates, losses, used, _ = range_of_scale([([1.0], [0.0]), ([2.0], [0.0])], 1e-12, 1e-11, 6)
    assert np.max(used) < 1e-10, (
        "rates from 1e-12 to 1e-11 should be set before each step; yours takes steps with the "
        f"rate {np.max(used):.4g}: set group['lr'] of each group in optimizer.param_groups"
    )
    assert len(losses) == 6, (
        "losses of 1 and 4 in turn are never more than 4 times the lowest: 6 steps, yours has "
        f"the losses {shown(losses, 4)}"
    )
    rates, losses, _, _ = range_of_scale([([1.0], [0.0]), ([2.05], [0.0])], 1e-12, 1e-11, 6)
    assert len(losses) == 2, (
        "a loss of 1, then one of 4.2, which is more than 4 times as much: 2 steps, yours has "
        f"the losses {shown(losses, 4)}"
    )


def test_a_range_test_leaves_no_trace():
    for high in (0.05, 1e6):
        *_, after = range_of_scale(BATCHES, 0.01, high, 30, weight=2.5)
        weight, velocity, rates = after
        assert (weight, velocity, list(rates)) == (2.5, 0.0, [0.3, 0.7]), (
            "weight, velocity and learning rates were 2.5, 0 and [0.3, 0.7] before, and are "
            f"{weight}, {velocity} and {list(rates)} after the range test: put the whole loop "
            "inside `with preserved_state(...)`"
        )
    first, later = draws_around_range()
    assert first == later, (
        "the generator that shuffles the batches should draw the same number after the range "
        f"test as before, {first:.4f}, yours draws {later:.4f}: preserved_state also "
        "needs the batches"
    )


# %% nonfinite points=5
def test_finite_outputs_give_none():
    good = np.array([[3e38, 3e38, -2.0]], "float32")
    for layers in (
        [],
        [("0", [good], {"w": good}, good)],
        [("ids", [np.array([3, 1])], {}, good), ("sum", [good, good], {}, np.float32(4.0))],
    ):
        cause = "look at each number, since a sum of finite numbers can be inf"
        equal(find_nonfinite(layers), None, "the answer when every output is finite", cause)
    layers = [("0", [good], {}, good), ("1", [good], {}, np.array([math.nan]))]
    location = find_nonfinite(layers)
    assert location is not None and location[0] == "1", (
        f"the output of layer '1' is nan, and the answer should name it; yours is {location}"
    )


def test_the_first_layer_is_named():
    good, nan = np.array([1.0, 2.0, 3.0], "float32"), np.array([1.0, np.nan, 3.0], "float32")
    layers = [
        ("0 Dense", [good], {}, good),
        ("1 log", [good], {}, nan),
        ("2 Dense", [nan], {"weights": nan}, nan),
        ("the model", [good], {}, nan),
    ]
    location = find_nonfinite(layers)
    assert location is not None, (
        "one of three numbers in the output of '1 log' is nan, and your answer is None: every "
        "number must be finite"
    )
    assert location[0] == "1 log", (
        f"the first output that is not finite is that of '1 log', yours is {location[0]!r}"
    )
    is_at(location, ("1 log", "output"), "its input is finite and it has no parameters")


def test_the_cause_is_named():
    good, bad = np.array([[1.0, 2.0]]), np.array([[1.0, math.inf]])
    several = {"bias": good, "w": bad, "scale": bad}
    for inputs, parameters, cause, given in [
        ([bad], {}, "input", "its only input has an inf"),
        ([good, bad], {"w": good}, "input", "its second input has an inf"),
        ([bad, good], {"w": bad}, "input", "its first input has an inf, its parameter w too"),
        ([good], several, "parameter w", "its input and bias are finite, w and scale are not"),
        ([good, good], {"bias": good}, "output", "its inputs and its parameter are finite"),
        ([], {}, "output", "it has no inputs and no parameters"),
    ]:
        first, third = ("first", [good], {"w": good}, good), ("third", [bad], {}, bad)
        location = find_nonfinite([first, ("second", inputs, parameters, bad), third])
        case = f"the output of layer 'second' has an inf; {given}"
        is_at(location, ("second", cause), case)


def test_both_infinities_and_nan_are_not_finite():
    good = np.array([1.0, 2.0], "float32")
    for value in (math.nan, math.inf, -math.inf):
        layer = ("layer", [good], {}, np.array([5.0, value, -1.0], "float32"))
        case = f"an output with {value} in it is not finite"
        is_at(find_nonfinite([layer]), ("layer", "output"), case)


def test_an_inf_that_disappears_later_is_found():
    zero, bad = np.array([0.0]), np.array([math.inf])
    layers = [
        ("0 exp", [np.array([2.0])], {}, bad),
        ("1 reciprocal", [bad], {}, zero),
        ("2 log", [zero], {}, -bad),
    ]
    case = "the inf in the output of '0 exp' becomes 0 in the next layer, and -inf after that; "
    is_at(find_nonfinite(layers), ("0 exp", "output"), f"{case}the first layer is '0 exp'")
    layers = [("0 clip", [bad], {"w": bad}, zero), ("1 log", [zero], {}, -bad)]
    case = "'0 clip' has an infinite input and a finite output, so it is not the first"
    is_at(find_nonfinite(layers), ("1 log", "output"), case)


# %% learner-side
class Halving:
    """A schedule that halves the learning rate at each step."""

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
    """A training run in its third epoch, after two steps of that with Adam or MomentumSGD."""

    def __init__(self, weight=1.0, schedule=True, dropouts=1, optimizer=Adam):
        self.model = Sequential(Scale(weight), *[Dropout(0.4, rng=n) for n in range(dropouts)])
        self.optimizer = (
            Adam(self.model.parameters(), lr=0.1)
            if optimizer is Adam
            else MomentumSGD(self.model, momentum=0.5)
        )
        self.schedule = Halving(self.optimizer) if schedule else None
        self.epoch, self.epoch_step, self.loader_states = 0, 0, [{"drawn": 5}]
        self.results, self.history = [], {"loss": []}
        self.best_weights = {"0.weight": np.array([6.0], "float32")}
        self.accumulate = 1
        continue_run(self, 2)
        manual_seed(5)


def continue_run(run, steps=3):
    """Train for some more steps. Returns the weight after each, and what the layers' shared
    generator draws at the end."""
    weights = []
    for n in range(steps):
        run.optimizer.zero_grad()
        inputs = Tensor(np.ones(6, "float32"))
        mean_output(run.model(inputs), Tensor(np.full(6, n, "float32"))).backward()
        run.optimizer.step()
        weights.append(float(run.model[0].weight.data[0]))
        if run.schedule is not None:
            run.schedule.step()
        run.results.append(({"loss": float(n)}, 1))
        run.history["loss"].append(float(n))
        run.best_weights["0.weight"] += 1
        run.loader_states[0]["drawn"] += 1
        run.epoch, run.epoch_step = run.epoch + 1, run.epoch_step + 3
    return weights, float(RandomState.rng.random())


def taken(run):
    """A snapshot of a run, which must be a dict."""
    state = snapshot(run)
    if not isinstance(state, dict):
        raise TypeError(f"snapshot should return a dict, yours returned {state!r:.60}")
    return state


def part_of(state, *keys):
    """The value of a snapshot under these keys, as a number or a text."""
    for key in keys:
        try:
            state = state[key]
        except (KeyError, TypeError, IndexError):
            return "missing"
    return float(state) if np.ndim(state) == 0 else len(state)


def snapshot_before_three_steps(live):
    """Parts of a snapshot right after it was taken, and after three more steps of the run;
    `live` asks for an optimizer whose state_dict returns live arrays."""
    run = Run(optimizer=MomentumSGD if live else Adam)
    state, views = taken(run), []
    moment = ("velocity", 0) if live else ("state", 0, "exp_avg", 0)
    for _ in range(2):
        views.append(
            {
                "model": part_of(state, "model", "0.weight", 0),
                "optimizer": part_of(state, "optimizer", *moment),
                "best_weights": part_of(state, "best_weights", "0.weight", 0),
                "results": part_of(state, "results"),
                "history": part_of(state, "history", "loss"),
                "loader_states": part_of(state, "loader_states", 0, "drawn"),
            }
        )
        continue_run(run)
    return views


def moments_of(optimizer):
    """{name: number} of what Adam has recorded for the only weight."""
    return {name: float(np.sum(x)) for name, x in optimizer["state"][0].items()}


def snapshot_and_state():
    """A snapshot, and what optimizer.state_dict() returns."""
    run = Run()
    return taken(run), run.optimizer.state_dict()


def resumed_run(schedule, dropouts):
    """The weights of a run after a snapshot, and of another run restored from it; for
    each, what is drawn at the end; and the second run's counts."""
    from tinytorch.support.training_state import restore

    run = Run(schedule=schedule, dropouts=dropouts)
    state = taken(run)
    first = continue_run(run)
    other = Run(weight=-3.0, schedule=schedule, dropouts=dropouts)
    continue_run(other, 1)
    restore(other, state)
    second = continue_run(other)
    return (
        first,
        second,
        [other.epoch, other.epoch_step, len(other.results), len(other.history["loss"])],
    )


# %% snapshot points=6
NAMES = [
    "accumulate",
    "best_weights",
    "epoch",
    "epoch_step",
    "history",
    "loader_states",
    "model",
    "optimizer",
    "random_states",
    "results",
    "schedule",
]


def test_a_snapshot_has_all_eleven_entries():
    state = snapshot(Run(weight=7.0, dropouts=0))
    assert isinstance(state, dict), f"a snapshot should be a dict, yours is {state!r:.100}"
    for name in NAMES:
        assert name in state, (
            f"{name!r} is missing: a run that continues from your snapshot would end with "
            f"other weights. Yours has {sorted(state)}"
        )
    assert sorted(state) == NAMES, f"the entries should be {NAMES}, yours are {sorted(state)}"
    for name, wanted in [
        ("accumulate", 1),
        ("epoch", 2),
        ("epoch_step", 6),
        ("results", [({"loss": 0.0}, 1), ({"loss": 1.0}, 1)]),
        ("history", {"loss": [0.0, 1.0]}),
        ("loader_states", [{"drawn": 7}]),
        ("schedule", {"steps": 2}),
    ]:
        assert state[name] == wanted, f"{name} should be {wanted}, yours is {state[name]}"
    for name, key, wanted in [("model", "0.weight", 6.85), ("best_weights", "0.weight", 8)]:
        assert isinstance(state[name], dict) and key in state[name], (
            f"{name} should be a dict with {key!r}, yours is {state[name]!r:.100}"
        )
        assert np.allclose(state[name][key], wanted, atol=1e-5), (
            f"{key!r} of {name} should be {wanted}, yours is {state[name][key]}"
        )


def test_a_snapshot_has_the_optimizers_moments():
    state, wanted = snapshot_and_state()
    optimizer = state.get("optimizer")
    assert isinstance(optimizer, dict) and sorted(optimizer) == ["param_groups", "state"], (
        "the entry optimizer should be what run.optimizer.state_dict() returns: a dict with "
        f"state and param_groups; yours is {optimizer!r:.100}"
    )
    assert 0 in optimizer["state"], (
        "Adam has taken 2 steps, and its moments and step count are missing in your snapshot: "
        f"state is {optimizer['state']}. Keep all of run.optimizer.state_dict()"
    )
    got, right = moments_of(optimizer), moments_of(wanted)
    assert got == right, (
        f"Adam has taken 2 steps, its step count and moments are {right}; your snapshot has "
        f"{got}"
    )


def test_a_run_may_have_no_schedule():
    case = (
        "`run.schedule` is None in this run, and None has no state_dict(): the entry schedule "
    )
    case += "should then be None"
    state = result_of(lambda: snapshot(Run(schedule=False)), case, kind=AttributeError)
    assert isinstance(state, dict) and "schedule" in state and state["schedule"] is None, (
        "`run.schedule` is None in this run: the entry schedule should be None, yours is "
        f"{state if not isinstance(state, dict) else state.get('schedule', 'missing')}"
    )


def test_a_snapshot_has_the_random_states():
    states = taken(Run(schedule=False, dropouts=0)).get("random_states")
    assert states == [np.random.default_rng(5).bit_generator.state], (
        "a model without dropout has no generators, so random_states should hold one state, "
        f"the state of the layers' shared generator (seed 5); yours holds {states}"
    )
    states = taken(Run(dropouts=2)).get("random_states")
    assert isinstance(states, list) and len(states) == 3, (
        "there are three generators (the layers' shared one, and one in each of two Dropouts), "
        "so random_states should hold three states; yours holds "
        f"{len(states) if isinstance(states, list) else states}: "
        "random_states([RandomState.rng, run.model])"
    )


def test_a_snapshot_does_not_change_when_the_run_continues():
    for live in (False, True):
        before, after = snapshot_before_three_steps(live)
        changed = {name: (before[name], after[name]) for name in before}
        changed = {name: pair for name, pair in changed.items() if pair[0] != pair[1]}
        assert not changed, (
            "after three more steps of the run your snapshot had changed. Each changed entry, "
            f"before and after: {changed}. It shares arrays or lists with the run; make deep "
            "copies"
        )


def test_a_resumed_run_takes_the_same_steps_bit_for_bit():
    for schedule, dropouts in [(True, 1), (False, 0)]:
        first, second, counts = resumed_run(schedule, dropouts)
        assert list(first[0]) == list(second[0]), (
            f"the next weights of the run were {list(first[0])}. A second run, restored from "
            f"your snapshot, should have the same ones, but has {list(second[0])}"
        )
        assert first[1] == second[1], (
            "after restoring your snapshot, the layers' shared generator drew other numbers: "
            f"{second[1]} instead of {first[1]}"
        )
        assert list(counts) == [5, 15, 5, 5], (
            "three steps after the snapshot, epoch, epoch_step and the lengths of results and "
            f"history should be [5, 15, 5, 5]; yours are {list(counts)}"
        )
