# The checks of lesson 07, by exercise. `check("sgd")` in the chapter runs the visible ones.

# %% setup
import copy
import math

import numpy as np

from tinytorch.core.tensor import Tensor

from checking import because, equal, expect, result_of


def adam_by_hand(start, gradients, lrs, betas, eps, l2=0.0, decay=0.0):
    """The weight after each step, for one number, in Python floats, from the papers."""
    w, path, seen = start, [], []
    for t, lr in enumerate(lrs, 1):
        seen.append(gradients[t - 1] + l2 * w)
        m, v = (
            sum((1 - beta) * beta ** (t - i) * g**power for i, g in enumerate(seen, 1))
            / (1 - beta**t)
            for beta, power in zip(betas, (1, 2))
        )
        w = w - lr * decay * w - lr * m / (math.sqrt(v) + eps)
        path.append(w)
    return path


def saved(run, *arguments, **options):
    """What `run` returns, which saves a state; an assertion where that ends with an error."""
    try:
        return run(*arguments, **options)
    except (AttributeError, KeyError) as error:
        assert False, (
            "saving a state, with parameters that have no gradient or never stepped, ends with "
            f"{type(error).__name__}: {error!s:.60}. Read optimizer.state, which holds only "
            "what stepped, and do not call state_of"
        )
    except ValueError as error:
        assert False, f"the saved state cannot be loaded again: {error}"


def numbers_of(state):
    """The numbers of the parameters of each group in a state; what is no int, by its type."""
    return [
        [n if type(n) is int else type(n).__name__ for n in group["params"]]
        for group in state["param_groups"]
    ]


def takes_the_steps_of_the_paper(kind, lrs, decay, cause):
    """Assert five steps of Adam or AdamW; `cause` explains a mistake after the first step."""
    gradients = [[1.0, -0.002], [-2.0, 0.001], [0.5, -0.004], [3.0, 0.0], [-1.0, 0.003]]
    arrays = [np.array(g) for g in gradients]
    path, *_ = run_adam(kind, np.array([1.0, -2.0]), arrays, lrs, (0.9, 0.99), 1e-3, decay)
    columns = zip([1.0, -2.0], zip(*gradients))
    right = [adam_by_hand(w, g, lrs, (0.9, 0.99), 1e-3, decay=decay) for w, g in columns]
    for t, wanted in enumerate(np.transpose(right)):
        why = cause if t else ". If the checks above pass: each weight has its own m and v"
        assert np.allclose(path[t], wanted, rtol=1e-9, atol=0), (
            f"weight decay {decay}, lr {lrs[t]}: after step {t + 1} the weights should be "
            f"{wanted}, yours are {path[t]}{why}"
        )


def changes_weights_and_moments_but_no_gradient(kind):
    """Assert this of two steps of Adam or AdamW, and that they keep float32."""
    w, lrs = np.array([[5, -7]], "float32"), [0.1, 0.2]
    gradients = [np.array([[3, -1e-3]], "float32"), np.array([[-1, 4e3]], "float32")]
    path, m, v, after = run_adam(kind, w, gradients, lrs, (0.9, 0.999), 1e-8, 0.01)
    assert all(np.array_equal(a, b) for a, b in zip(after, gradients)), (
        f"the gradients {gradients} were changed to {after}: do not write into g"
    )
    for name, x in [("weights", path[-1]), ("m", m), ("v", v)]:
        assert x.dtype.name == "float32" and x.shape == (1, 2), (
            f"{name} should stay float32 of shape (1, 2), yours became {x.dtype} of shape "
            f"{x.shape}"
        )
    assert np.all(m != 0) and np.all(v != 0) and np.all(path[0] != path[1]), (
        "w, and m and v in the state, should be changed in place; after two steps they are "
        f"{path[-1]}, {m}, {v}"
    )


def longer_runs(kind, seed):
    """Runs of 12 steps of Adam or AdamW: the weights after each step, for hidden checks."""
    random = np.random.default_rng(seed)
    for betas, eps, decay, shape in [
        ((0.9, 0.999), 1e-8, 0.01, (3,)),
        ((0.5, 0.9), 0.1, 2.0, (2, 1, 2)),
        ((0, 0), 0.5, 0, ()),
    ]:
        start = np.asarray(random.normal(size=shape))
        gradients = [
            np.asarray(random.normal(size=shape) * 10.0 ** random.integers(-3, 3))
            for _ in range(12)
        ]
        lrs = random.uniform(0.001, 0.2, 12).tolist()
        if kind is AdamW:
            lrs[5] = 0.0
        yield run_adam(kind, start, gradients, lrs, betas, eps, decay)[0]


def half_cosine(part):
    """Half a cosine, from 1 at part 0 to 0 at part 1."""
    return (1 + np.cos(np.pi * part)) / 2


def causes_of_a_direction(m, v, step, betas, eps):
    """{cause: the direction one gets by it}"""
    (beta1, beta2), by = betas, [1 - beta**step for beta in betas]
    first, second, before = m / by[0], v / by[1], max(step - 1, 1)
    return {
        "You add eps to the root of v before v is corrected: correct v first, then take the "
        "root, then add eps": m / by[0] * math.sqrt(by[1]) / (np.sqrt(v) + eps),
        "You add eps to v, under the root: add it to the root": first / np.sqrt(second + eps),
        "Is eps added?": first / np.sqrt(second),
        "Neither m nor v is corrected": m / (np.sqrt(v) + eps),
        "v is not corrected": first / (np.sqrt(v) + eps),
        "m is not corrected": m / (np.sqrt(second) + eps),
        "The root of v is missing": first / (second + eps),
        "beta1 and beta2 are exchanged": m / by[1] / (np.sqrt(v / by[0]) + eps),
        "You correct by 1 - beta, not by 1 - beta ** step": m
        / (1 - beta1)
        / (np.sqrt(v / (1 - beta2)) + eps),
        "You correct for the step before": m
        / (1 - beta1**before)
        / (np.sqrt(v / (1 - beta2**before)) + eps),
    }


IN_PLACE = (
    "they did not change. `g = g * factor` makes a new array that no tensor holds; "
    "`g *= factor` writes into the old one, in place"
)


# %% learner-side
# Many functions of this lesson write into arrays, so the checks call them on copies, through
# this:
def call_on_copies(function, *inputs, **options):
    """What `function` returned, and the arrays among its inputs as it left them. It gets copies
    that only this function holds."""
    given = [np.array(x) if isinstance(x, np.ndarray) else x for x in inputs]
    result = function(*given, **options)
    result = np.array(result) if isinstance(result, np.ndarray) else result
    return result, [x for x in given if isinstance(x, np.ndarray)]


# %% sgd points=3
def test_sgd_moves_against_the_gradient():
    w = np.array([[1, -2, 3000], [0.5, 0, -4]], "float32")
    g = np.array([[2, -20, 1e5], [0, 3, -0.25]], "float32")
    for lr in (0.1, 0.004, 2.0):
        result, (after, _) = call_on_copies(sgd_update, w, g, lr)
        wanted = w.astype("float64") - lr * g.astype("float64")
        assert not np.array_equal(after, w), (
            "the array w still holds the old weights: `w = w - ...` makes a new array that the "
            "network never sees. Write into the old one: `w -= ...`"
        )
        cause = ""
        if np.allclose(after, 2 * w - wanted, rtol=1e-5, atol=1e-6):
            cause = ": is the gradient added instead of subtracted?"
        assert np.allclose(after, wanted, rtol=1e-5, atol=1e-6), (
            f"w = {w}, g = {g}, lr = {lr}: w - lr * g is {wanted}, yours is {after}{cause}"
        )
        assert result is None, (
            f"sgd_update writes into w and returns None, yours returned {result}"
        )


def test_sgd_leaves_the_gradient_unchanged():
    g = np.array([[2, -20, 1e5]], "float32")
    _, (w, after) = call_on_copies(sgd_update, np.array([[1, -2, 3]], "float32"), g, 0.1)
    expect(after, g, "the gradient after your step", "do not write into g")
    expect(w, [[0.8, 0, -9997]], "the weights after the step", near=(1e-5, 1e-8))


def test_sgd_works_for_any_shape_and_dtype():
    for shape in [(), (1,), (0, 3), (2, 1, 5)]:
        for dtype in ("float32", "float64"):
            w, g = np.full(shape, 3, dtype), np.full(shape, 0.5, dtype)
            _, (after, _) = call_on_copies(sgd_update, w, g, 0.5)
            case = f"3 - 0.5 * 0.5 of {dtype} of shape {shape}"
            expect(after, np.full(shape, 2.75), case, dtype=dtype)


# %% sgd hidden points=1
def test_sgd_takes_many_steps_on_other_weights():
    random = np.random.default_rng(70)
    w = random.normal(size=(3, 1, 4))
    g = random.normal(size=(3, 1, 4)) * 10.0 ** random.integers(-6, 6, (3, 1, 4))
    for lr in (0.3, 0.05, 1.0, 0.0):
        result, (w, after) = call_on_copies(sgd_update, w, g, lr=lr)
        yield result, w.tolist(), after.tolist()


# %% momentum points=4
def test_gradients_accumulate_in_the_velocity():
    v = np.array([[0.0, 0.0, 0.0]])
    right = [0.0, 0.0, 0.0]
    for step, g in enumerate([[1.0, -200.0, 0.5], [3.0, 10.0, -0.25], [-2.0, 0.0, 4.0]], 1):
        direction, (v, _) = call_on_copies(momentum_update, v, np.array([g]), 0.7)
        right = [0.7 * old + new for old, new in zip(right, g)]
        cause = ""
        if np.allclose(v, 0.3 * np.array(right)):
            cause = ". Yours is an average: add the whole gradient, not (1 - momentum) of it"
        assert np.allclose(v, [right], rtol=1e-12), (
            f"step {step}, momentum 0.7, gradient {g}: the new velocity is 0.7 times the old "
            f"one plus the whole gradient, {right}; the array you were given holds {v}{cause}"
        )
        assert np.allclose(direction, [right], rtol=1e-12), (
            f"step {step}: without Nesterov the direction is the new velocity {right}, yours is"
            f" {direction}"
        )


def test_nesterov_uses_the_new_velocity():
    v, g = np.array([10.0, -3.0, 0.0]), np.array([1.0, 5.0, -0.5])
    direction, (after, _) = call_on_copies(momentum_update, v, g, 0.8, nesterov=True)
    case = "with Nesterov the velocity, the same as without,"
    expect(after, [9.0, 2.6, -0.5], case, near=(1e-5, 1e-8))
    case = "the direction, g + 0.8 times the NEW velocity,"
    expect(direction, [8.2, 7.08, -0.9], case, near=(1e-5, 1e-8))


def test_momentum_leaves_the_gradient_unchanged():
    v, g = np.array([[1, -2, 3]], "float32"), np.array([[2, -20, 7]], "float32")
    for nesterov in (False, True):
        direction, (after_v, after) = call_on_copies(momentum_update, v, g, 0.9, nesterov)
        case = f"nesterov={nesterov}: the gradient afterwards"
        expect(after, g, case, "do not write into g")
        near = (1e-5, 1e-8)
        expect(after_v, [[2.9, -21.8, 9.7]], "the velocity", near=near, dtype="float32")
        assert direction.dtype.name == "float32" and direction.shape == (1, 3), (
            f"the direction became {direction.dtype} of shape {direction.shape}, it should be "
            "float32 (1, 3)"
        )


def test_with_momentum_0_the_direction_is_the_gradient():
    g = np.array([2.0, -20.0])
    for nesterov in (False, True):
        v = np.array([5.0, 5.0])
        direction, (v, _) = call_on_copies(momentum_update, v, g, 0.0, nesterov)
        expect(direction, g, "with momentum 0, without the old velocity, the direction")
        expect(v, g, "with momentum 0 the velocity", "it is updated for 0 as for any number")


# %% momentum hidden points=1
def test_momentum_of_other_sizes_and_shapes():
    random = np.random.default_rng(71)
    for momentum, shape in [(0.95, (4,)), (0.3, (2, 1, 3)), (0.99, ())]:
        for nesterov in (False, True):
            options, v = {"momentum": momentum, "nesterov": nesterov}, np.zeros(shape)
            for _ in range(6):
                g = np.asarray(random.normal(size=shape) * 10.0 ** random.integers(-3, 4))
                direction, (v, _) = call_on_copies(momentum_update, v, g, **options)
                yield direction, v


# %% learner-side
def groups_from_generators(defaults):
    """(options, how many tensors on the first pass, on the second) of each group that was given
    as a generator."""
    plain = param_groups((Tensor([float(n)]) for n in range(3)), defaults)
    dicts = param_groups(
        ({"params": (Tensor([0.0]) for _ in range(n)), "lr": n} for n in (1, 2)), defaults
    )
    return [
        (
            {name: x for name, x in group.items() if name != "params"},
            *[len([*group["params"]]) for _ in range(2)],
        )
        for group in [*plain, *dicts]
    ]


# %% param-groups points=4
def test_plain_tensors_are_one_group():
    a, b = Tensor([1.0]), Tensor([2.0, 3.0])
    both = [[1.0], [2.0, 3.0]]
    for given, numbers in [([a, b], both), ((a, b), both), ([a], [[1.0]])]:
        case = f"{len(given)} tensors, without groups: param_groups"
        groups = result_of(lambda: param_groups(given, {"lr": 0.1, "momentum": 0.9}), case)
        assert len(groups) == 1, f"plain tensors are one group, yours are {len(groups)}"
        assert isinstance(groups[0]["params"], list), (
            f"the params of a group should be a list, yours are {groups[0]['params']!r:.60}"
        )
        options = {name: x for name, x in groups[0].items() if name != "params"}
        equal(options, {"lr": 0.1, "momentum": 0.9}, "the group, which has the defaults,")
        params = [np.asarray(p).tolist() for p in groups[0]["params"]]
        equal(params, numbers, "its params, the tensors, in order,")


def test_options_of_a_group_override_the_defaults():
    defaults = {"lr": 0.1, "decay": 0.0}
    given = [
        {"params": [Tensor([1.0])], "lr": 0.5},
        {"params": [Tensor([2.0]), Tensor([3.0])], "decay": 0.3},
        {"params": [Tensor([4.0])]},
    ]
    groups = param_groups(given, defaults)
    options = [(group["lr"], group["decay"], len(group["params"])) for group in groups]
    assert options == [(0.5, 0.0, 1), (0.1, 0.3, 2), (0.1, 0.0, 1)], (
        "lr, decay and number of tensors should be (0.5, 0, 1), (0.1, 0.3, 2), (0.1, 0, 1); "
        f"yours are {options}: an option of the group overrides the default, and an option "
        "that the group does not set gets the default"
    )
    (group,) = param_groups([{"params": [Tensor([1.0])], "decay": 0.0}], {"decay": 0.3})
    equal(group["decay"], 0.0, "decay of a group that sets it to 0", "0 is a value, too")
    (group,) = param_groups([{"params": [Tensor([1.0])], "more": 5}], {"decay": 0.3})
    options = {name: x for name, x in group.items() if name != "params"}
    wanted, case = {"decay": 0.3, "more": 5}, "a group with an option that the defaults lack"
    equal(options, wanted, case, "keep every option of the group")
    assert defaults == {"lr": 0.1, "decay": 0.0} and list(given[2]) == ["params"], (
        "the defaults and the dicts that were given should not be changed: they became "
        f"{defaults}, {given[2]}"
    )


def test_generators_can_be_iterated_again():
    found = groups_from_generators({"lr": 7})
    counts = [(first, second) for _, first, second in found]
    assert all(a == b for a, b in counts) and sum(a for a, _ in counts) == 6, (
        'the "params" of three groups were generators of 3, 1 and 2 tensors. Two loops over '
        f"each group should find (3, 3), (1, 1) and (2, 2) tensors; they find {counts}: a "
        "generator is empty after one pass, so from the second step on nothing would be "
        "trained. Make lists"
    )
    wanted = [({"lr": 7}, 3, 3), ({"lr": 1}, 1, 1), ({"lr": 2}, 2, 2)]
    assert found == wanted, (
        "for each group, its options and the numbers of tensors found in two loops over it "
        f"should be {wanted}; yours are {found}"
    )


# %% param-groups hidden points=1
def test_other_groups_and_options():
    defaults = {"lr": 0.1, "betas": (0.5, 0.6), "word": None}
    given = [
        {"word": "x", "params": (Tensor([0.0]), Tensor([1.0]))},
        {"params": [], "betas": (0.1, 0.2), "more": 5},
    ]
    groups = param_groups(params=given, defaults=defaults)
    yield [sorted(group.items()) for group in groups]
    yield defaults, given


# %% learner-side
def train_tensors(
    kind, starts, gradients, options=None, groups=None, lrs=None, dtype="float64"
):
    """Tensors updated by an optimizer: (the weights after each step; how many steps each tensor
    took, or None where it has no state; its first array in the state, or None).

    starts     an array for each tensor
    gradients  for each step a list with the gradient of each tensor, or None where it has none
    groups     for each group its tensors, by number, and its options; None for one group of all
    lrs        the learning rate of all groups in each step
    """
    tensors = [Tensor(np.array(start, dtype), requires_grad=True) for start in starts]
    params = (
        tensors
        if groups is None
        else [{**own, "params": [tensors[n] for n in which]} for which, own in groups]
    )
    optimizer, path = kind(params, **(options or {})), []
    for t, parts in enumerate(gradients):
        for tensor, g in zip(tensors, parts):
            tensor.grad = None if g is None else np.array(g, dtype)
        if lrs:
            for group in optimizer.param_groups:
                group["lr"] = lrs[t]
        optimizer.step()
        path.append([np.array(tensor.data) for tensor in tensors])
    states = [optimizer.state.get(tensor) for tensor in tensors]
    arrays = [[np.array(x) for x in (s or {}).values() if np.ndim(x)] for s in states]
    return (
        path,
        [None if state is None else state["step"] for state in states],
        [arrays[n][0] if arrays[n] else None for n in range(len(tensors))],
    )


def calls_of_update(shapes, steps, absent=()):
    """What `step` gave to `update`: [(weights, gradient, state["step"], lr)], of an optimizer
    whose update rule adds 100 to the weights."""

    class Recording(Optimizer):
        calls = []

        def update(self, w, g, state, group):
            self.calls.append((w.tolist(), g.tolist(), state["step"], group["lr"]))
            w += 100

    tensors = [
        Tensor(np.full(shape, n + 1.0), requires_grad=True) for n, shape in enumerate(shapes)
    ]
    optimizer = Recording(
        [{"params": tensors[:2]}, {"params": tensors[2:], "lr": 0.5}], lr=0.25
    )
    for t in range(steps):
        for n, tensor in enumerate(tensors):
            tensor.grad = None if (t, n) in absent else np.full(shapes[n], 10.0 * (n + 1) + t)
        optimizer.step()
    return optimizer.calls


def same_arrays_after(kind, size):
    """Of a tensor of `size` elements: whether it still has its array after a step, whether the
    weights changed, whether the gradient changed."""
    tensor = Tensor(np.ones(size, "float32"), requires_grad=True)
    before, tensor.grad = tensor.data, np.full(size, 2.0, "float32")
    kind([tensor, Tensor([1.0], requires_grad=True)], lr=0.1).step()
    return [
        tensor.data is before,
        not np.array_equal(before, np.ones(size)),
        not np.array_equal(tensor.grad, np.full(size, 2.0)),
    ]


# %% step points=14
def test_every_parameter_is_updated_in_every_step():
    starts = [[[1.0, 2.0, -3.0], [0.5, 0.0, 4.0]], [10.0], 7.0]
    gradients = [
        [[[10.0, -20.0, 5.0], [0.0, 1.0, 2.0]], [3.0], -1.0],
        [[[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]], [-30.0], 40.0],
    ]
    path, steps, _ = train_tensors(SGD, starts, gradients, {"lr": 0.1})
    now = [np.array(start) for start in starts]
    for t, parts in enumerate(gradients, 1):
        now = [w - 0.1 * np.array(g) for w, g in zip(now, parts)]
        for n, (found, right) in enumerate(zip(path[t - 1], now)):
            cause = "Is every parameter of every group updated?"
            if all(np.array_equal(a, b) for a, b in zip(path[-1], starts)):
                cause = "No weight changed: give p.data itself to update, not a copy of it"
            assert np.allclose(found, right), (
                f"SGD, lr 0.1, step {t}: tensor {n} should be {right}, yours is {found}. "
                f"{cause}"
            )
    assert list(steps) == [2, 2, 2], (
        f'each tensor took 2 steps, your state["step"] are {steps}: add 1 in each step'
    )


def test_a_parameter_without_a_gradient_is_skipped():
    for momentum in (0.0, 0.9):
        options = {"lr": 0.5, "momentum": momentum, "weight_decay": 0.1}
        gradients = [[[1.0], None, [1.0]], [None, None, [1.0]]]
        try:
            path, steps, _ = train_tensors(SGD, [[1.0], [2.0, 3.0], [4.0]], gradients, options)
        except (AttributeError, TypeError, ValueError) as error:
            assert False, (
                "a parameter that took no part has the gradient None and is skipped; yours "
                f"ends with: {error}"
            )
        assert np.array_equal(path[1][1], [2, 3]), (
            f"a tensor whose gradient is None stays at [2, 3], yours is at {path[1][1]}"
        )
        assert np.array_equal(path[1][0], path[0][0]), (
            "a tensor whose gradient is None in step 2 stays where it is, without weight decay "
            f"or momentum; yours went from {path[0][0]} to {path[1][0]}"
        )
        first, second = path[0][2], path[1][2]
        assert path[0][0] == 1 or 4 > first > second, (
            "three tensors, the second without a gradient: the third has the gradient 1 in "
            f"both steps and should go down from 4 twice; yours goes to {first} and {second}. "
            "Skip only the parameter without a gradient, not those that come after it: "
            "`continue` does that, `return` and `break` do not"
        )
        cause = "each parameter has its own count" if steps[2] else "add 1 in each step"
        assert steps[0] == 1 and steps[2] == 2, (
            f"tensors 0 and 2 took 1 and 2 steps, your counts are {steps[0]} and {steps[2]}: "
            f"{cause}"
        )
        assert steps[1] is None, (
            "a tensor that never had a gradient should have no entry in optimizer.state, yours "
            f"has one, with step {steps[1]}: call state_of after the check for None"
        )


def test_a_gradient_of_zeros_is_a_gradient():
    path, *_ = train_tensors(SGD, [[1.0]], [[[2.0]], [[0.0]]], {"lr": 0.1, "momentum": 0.5})
    expect(path[0][0], [0.8], "gradient 2, lr 0.1: the weight 1", near=(1e-5, 1e-8))
    assert np.allclose(path[1][0], [0.7]), (
        "gradients 2, then 0, momentum 0.5: 1 becomes 0.8, then 0.7; yours becomes "
        f"{path[0][0]}, {path[1][0]}. Ask whether the gradient is None, not whether it is zero"
    )


def test_a_learning_rate_of_0_is_a_step_too():
    path, steps, buffers = train_tensors(
        SGD, [[1.0]], [[[2.0]], [[3.0]]], {"lr": 0.0, "momentum": 0.5}, lrs=[0.0, 0.1]
    )
    cause = ". A step with lr = 0 still updates the state" if steps[0] == 1 else ""
    assert steps[0] == 2 and np.allclose(path[1][0], [0.6]), (
        "gradients 2 and 3, momentum 0.5, learning rates 0 and 0.1: the velocity takes in both "
        "gradients, so w goes from 1 to 1, then to 0.6, in 2 steps; yours ends at "
        f"{path[1][0]} after {steps[0]} counted steps{cause}"
    )
    expect(buffers[0], [4.0], "the velocity, 0.5 * 2 + 3,", near=(1e-5, 1e-8))


def test_update_gets_the_number_of_the_step():
    try:
        calls = calls_of_update([(2,), (), (1,)], 2, absent=[(0, 1)])
    except (AttributeError, TypeError) as error:
        assert False, (
            f"a parameter whose gradient is None should be skipped; yours ends with: {error}"
        )
    numbers = [step for *_, step, _ in calls]
    assert len(calls) == 5, (
        "two steps of three tensors in two groups, the second without gradient in the first "
        f"step: update should be called 2 + 3 times, yours is called {len(calls)} times. Loop "
        "over all groups, and skip only the parameter without a gradient, not those after it"
    )
    cause = "Each parameter counts its own steps"
    if numbers == [0, 0, 1, 0, 1]:
        cause = "Count before the update"
    if not any(numbers):
        cause = "Add 1 in each step"
    assert numbers == [1, 1, 2, 1, 2], (
        "two steps of three tensors, the second without gradient in the first step: update "
        f'should find state["step"] at 1, 1, 2, 1, 2; yours found {numbers}. {cause}'
    )
    for w, g, step, lr in calls:
        start = np.ravel(w)[0] % 100
        gradient = 10 * start + (1 if start == 2 else step - 1)
        assert np.all(np.equal(g, gradient)), (
            f"in step {step}, update should get the weights {w} with the gradient {gradient}, "
            f"yours got {g}"
        )
    rates = [lr for *_, lr in calls]
    assert rates == [0.25, 0.5, 0.25, 0.25, 0.5], (
        "update should get the group of its parameter, with learning rates 0.25, 0.5, 0.25, "
        f"0.25, 0.5; yours got {rates}"
    )


def test_every_group_has_its_own_options():
    groups = [([0, 2], {"lr": 0.1}), ([1], {"lr": 1.0, "weight_decay": 0.5})]
    path, *_ = train_tensors(
        SGD, [[1.0], [2.0], [3.0]], [[[1.0], [1.0], [1.0]]] * 2, groups=groups
    )
    changed = not np.array_equal(np.ravel(path[1]), [1, 2, 3])
    cause = ". Every group is updated, with its own options" if changed else ""
    assert np.allclose(np.ravel(path[1]), [0.8, -1.0, 2.8]), (
        "two steps with gradient 1: lr 0.1 takes 1 to 0.8 and 3 to 2.8; lr 1 with weight decay "
        f"0.5 takes 2 to 0, then to -1. Yours end at {np.ravel(path[1])}{cause}"
    )


def test_step_changes_the_weights_in_place_and_no_gradient():
    for size in (3, 20_000):
        try:
            found = same_arrays_after(SGD, size)
        except (AttributeError, TypeError) as error:
            assert False, (
                "the second of two tensors has the gradient None and should be skipped; yours "
                f"ends with: {error}"
            )
        facts = ["p.data is still the same array", "its numbers changed", "p.grad is unchanged"]
        false = [fact for fact, holds in zip(facts, [*found[:2], not found[2]]) if not holds]
        assert not false, (
            f"after a step of SGD on {size} elements this should be true: {'; '.join(false)}: "
            "give p.data and p.grad themselves to update, and write into neither"
        )


# %% step hidden points=2
def test_steps_of_many_parameters_with_changing_learning_rates():
    random = np.random.default_rng(76)
    shapes = [(2, 3), (5,), (), (1, 4), (200, 90)]
    starts = [random.normal(size=s) for s in shapes]
    gradients = [
        [None if random.random() < 0.3 else random.normal(size=s) for s in shapes]
        for _ in range(8)
    ]
    lrs = [0.1, 0.1, 0.05, 0.2, 0.0, 0.3, 0.1, 0.02]
    groups = [
        ([3, 0], {"momentum": 0.5}),
        ([2], {}),
        ([4, 1], {"weight_decay": 0.1, "momentum": 0.8, "nesterov": True}),
    ]
    yield train_tensors(SGD, starts, gradients, groups=groups, lrs=lrs)[:2]


# %% moments points=3
def test_moments_of_known_gradients():
    m, v, right_m, right_v = np.zeros((1, 3)), np.zeros((1, 3)), np.zeros(3), np.zeros(3)
    for step, g in enumerate([[1.0, -200.0, 0.5], [3.0, 10.0, -0.25], [-2.0, 0.0, 4.0]], 1):
        result, (m, v, *_) = call_on_copies(update_moments, m, v, np.array([g]), 0.8, 0.95)
        right_m = np.array([0.8 * old + 0.2 * x for old, x in zip(right_m, g)])
        right_v = np.array([0.95 * old + 0.05 * x**2 for old, x in zip(right_v, g)])
        for name, found, right in [("m", m, right_m), ("v", v, right_v)]:
            assert np.allclose(found, right, rtol=1e-9), (
                f"step {step}, betas 0.8 and 0.95, gradient {g}: {name} should be {right}, the "
                f"array you were given holds {found}. Old times beta, plus new times (1 -"
                " beta); v takes the square of g"
            )
        assert result is None, (
            f"update_moments writes into m and v and returns None, yours returned {result}"
        )


def test_moments_leave_the_gradient_unchanged():
    g, ones = np.array([[2, -20, 7]], "float32"), np.ones((1, 3), "float32")
    _, (m, v, after, *_) = call_on_copies(update_moments, ones, ones, g, 0.9, 0.999)
    expect(after, g, "the gradient afterwards", "do not write into g")
    near = (1e-5, 1e-8)
    case = ", which was 1 before the call,"
    expect(m, [[1.1, -1.1, 1.6]], f"m{case}", near=near, dtype="float32")
    expect(v, [[1.003, 1.399, 1.048]], f"v{case}", near=near, dtype="float32")


def test_moments_of_a_constant_gradient_stay():
    m, v, g = np.array([5.0, 0.25]), np.array([25.0, 0.0625]), np.array([5.0, -0.25])
    _, (m, v, *_) = call_on_copies(update_moments, m, v, g, 0.9, 0.999)
    assert np.allclose(m, [5, 0.2]) and np.allclose(v, [25, 0.0625]), (
        "with gradient 5 the moments 5 and 25 stay; with gradient -0.25 the first moment 0.25 "
        f"becomes 0.2 and the second stays 0.0625; yours are m {m}, v {v}"
    )


# %% moments hidden points=1
def test_moments_of_other_gradients():
    random = np.random.default_rng(72)
    for beta1, beta2, shape in [(0.9, 0.999, (5,)), (0.0, 0.5, (2, 1, 3)), (0.99, 0.3, ())]:
        m, v = np.zeros(shape), np.zeros(shape)
        for _ in range(7):
            g = np.asarray(random.normal(size=shape) * 10.0 ** random.integers(-3, 4))
            _, (m, v, *_) = call_on_copies(update_moments, m, v, g, beta1, beta2)
            yield m, v


# %% direction points=5
def test_the_first_direction_is_the_sign_of_the_gradient():
    g = np.array([[3.0, -0.001, 2e4]])
    found, _ = call_on_copies(adam_direction, 0.2 * g, 0.1 * g * g, 1, (0.8, 0.9), 0.0)
    assert np.allclose(found, [[1, -1, 1]]), (
        f"after one gradient, {g}, m is 0.2 g and v is 0.1 g²; corrected they are g and g², so "
        f"the direction is 1, -1, 1; yours is {found}"
    )


def test_the_correction_depends_on_the_step():
    m, v = np.array([2.0, -0.03]), np.array([5.0, 0.25])
    for step in (1, 2, 3, 10, 5000):
        found, _ = call_on_copies(adam_direction, m, v, step, (0.9, 0.99), 1e-3)
        by_1, by_2 = 1 - math.exp(step * math.log(0.9)), 1 - math.exp(step * math.log(0.99))
        wanted = [
            a / by_1 / (math.sqrt(b / by_2) + 1e-3) for a, b in zip([2.0, -0.03], [5.0, 0.25])
        ]
        case = f"step {step}, eps 0.001: m = {m.tolist()} divided by 1 - 0.9**{step} = "
        case += f"{by_1:.5f}, v = {v.tolist()} divided by 1 - 0.99**{step} = {by_2:.5f}: the "
        case += "direction"
        causes = causes_of_a_direction(m, v, step, (0.9, 0.99), 1e-3)
        expect(found, wanted, case, causes, near=(1e-9, 1e-8))


def test_the_direction_leaves_the_moments_unchanged():
    m, v = np.array([2.0, -0.03]), np.array([5.0, 0.25])
    found, (m_after, v_after) = call_on_copies(adam_direction, m, v, 2, (0.9, 0.99), 1e-3)
    assert np.array_equal(m_after, m) and np.array_equal(v_after, v), (
        f"m was {m}, v {v}; you changed them to {m_after} and {v_after}: the next step would "
        "correct them a second time. Keep the moments and their corrected copies apart"
    )
    causes = causes_of_a_direction(m, v, 2, (0.9, 0.99), 1e-3)
    expect(found, [0.664044, -0.044535], "the direction in step 2", causes, near=(1e-4, 1e-8))


def test_eps_is_added_to_the_corrected_root():
    found, _ = call_on_copies(
        adam_direction, np.array([1e-9, 0.0]), np.array([1e-19, 0.0]), 1, (0.9, 0.999), 1e-8
    )
    assert np.allclose(found, [0.5, 0.0], rtol=1e-6, atol=0), (
        "one gradient of 1e-8 and eps 1e-8: 1e-8 / (1e-8 + 1e-8) is 0.5, and a gradient of 0 "
        f"gives 0; yours is {found}. Correct v first, then the root, then add eps"
    )


def test_the_direction_keeps_its_dtype():
    for dtype in ("float32", "float64"):
        ones = np.ones((2, 1), dtype)
        found, _ = call_on_copies(adam_direction, ones, ones, 3, (0.9, 0.999), 1e-8)
        case, near = f"the direction for {dtype} moments of 1 in step 3", (1e-4, 1e-8)
        expect(found, [[0.2020093]] * 2, case, near=near, dtype=dtype)


# %% direction hidden points=1
def test_directions_of_other_moments():
    random = np.random.default_rng(73)
    for given in [((0.5, 0.7), 4, 0.3), ((0.0, 0.999), 1, 1e-8), ((0.95, 0.0), 40, 2.0)]:
        betas, step, eps = given
        for shape in [(3,), (2, 1, 4), ()]:
            m, v = random.normal(size=shape), random.uniform(0.1, 9, shape)
            moments = np.asarray(m), np.asarray(v)
            found, after = call_on_copies(adam_direction, *moments, step, betas, eps)
            yield found, after[:2]


# %% learner-side
def run_adam(kind, w, gradients, lrs, betas, eps, weight_decay):
    """Steps of Adam or AdamW on one tensor: the weights after each step, m, v, and the
    gradients as they were left."""
    w, gradients, path = Tensor(w), [np.array(g) for g in gradients], []
    optimizer = kind([w], betas=betas, eps=eps, weight_decay=weight_decay)
    for g, lr in zip(gradients, lrs):
        optimizer.param_groups[0]["lr"], w.grad = lr, g
        optimizer.step()
        path.append(w.data.copy())
    state = optimizer.state[w]
    return path, np.array(state["exp_avg"]), np.array(state["exp_avg_sq"]), gradients


# %% adam points=8
def test_the_first_step_of_adam_is_lr_times_the_sign():
    w, g = np.array([1.0, -2.0]), np.array([300.0, -0.004])
    path, *_ = run_adam(Adam, w, [g], [0.1], (0.9, 0.999), 1e-12, 0.0)
    cause = ""
    if np.allclose(path[0], [0.99, -1.99]):
        cause = ". Is the learning rate in it twice?"
    if np.array_equal(path[0], [1, -2]) or np.isnan(path[0]).any():
        cause = (
            ". Write into `w` itself, and call update_moments before adam_direction: until "
            "then the moments are zeros"
        )
    assert np.allclose(path[0], [0.9, -1.9], rtol=1e-6), (
        "gradients 300 and -0.004, lr 0.1: the first step of Adam moves [1, -2] by 0.1 against "
        f"the sign of the gradient, to [0.9, -1.9]; yours moves to {path[0]}{cause}"
    )


def test_adam_takes_the_steps_of_the_paper():
    cause = " (the steps before were right; step 2 has lr 0 and updates only the moments)"
    takes_the_steps_of_the_paper(Adam, [0.1, 0.0, 0.05, 0.1, 0.02], 0.0, cause)


def test_adam_adds_the_weight_decay_to_the_gradient():
    w, g = np.array([2.0]), np.array([1.0])
    path, m, v, _ = run_adam(Adam, w, [g], [0.1], (0.5, 0.75), 1.0, 0.25)
    assert np.allclose(m, 0.75) and np.allclose(v, 0.5625), (
        "w 2, g 1, weight decay 0.25: the regularized gradient is 1 + 0.25 * 2 = 1.5, so with "
        f"betas 0.5 and 0.75 m is 0.75 and v 0.5625; yours are {m} and {v}"
    )
    expect(path[0], [1.94], "then w, 2 - 0.1 * 1.5 / (1.5 + 1),", near=(1e-5, 1e-8))


def test_adam_changes_weights_and_moments_but_no_gradient():
    changes_weights_and_moments_but_no_gradient(Adam)


# %% adam hidden points=2
def test_longer_runs_of_adam():
    yield from longer_runs(Adam, seed=77)


# %% adamw points=10
def test_weight_decay_comes_before_the_step():
    one = np.array([1.0])
    path, *_ = run_adam(AdamW, one, [one], [0.5], (0.9, 0.999), 0.0, 0.4)
    found, cause = float(path[0][0]), ""
    for wrong, why in [
        (0.4, "the weight shrank after the step"),
        (0.5, "the weight did not shrink: multiply it, and leave the gradient as it is"),
        (0.1, "the weight shrank by the weight decay without the learning rate"),
        (0.55, "is the learning rate in the step twice?"),
        (1.0, "w did not change: `w = w * ...` makes a new array, `w *= ...` writes into w"),
    ]:
        if abs(found - wrong) < 1e-6:
            cause = f": {why}"
    if math.isnan(found):
        cause = ": call update_moments before adam_direction; until then the moments are zeros"
    assert abs(found - 0.3) < 1e-9, (
        "w 1, lr 0.5, weight decay 0.4: the old weight shrinks to 0.8, then the step of 0.5 "
        f"gives 0.3; yours is {found:.4g}{cause}"
    )


def test_weight_decay_does_not_depend_on_the_gradient():
    w, gradients = np.array([2.0, 2.0]), [np.array([0.0, 1e-4])] * 3
    path, m, v, _ = run_adam(AdamW, w, gradients, [0.1] * 3, (0.5, 0.5), 1e6, 0.2)
    assert np.allclose(path[-1], 2 * 0.98**3, rtol=1e-6), (
        "eps is so large here that only weight decay changes the weights. Three steps, each "
        f"with the factor 1 - 0.1 * 0.2, take both from 2 to {2 * 0.98**3:.4f}; yours go to "
        f"{path[-1]}. Multiply the weight, and leave the gradient as it is"
    )
    assert np.allclose(m, [0, 0.875e-4]) and np.allclose(v, [0, 0.875e-8], atol=1e-15), (
        "the moments of the gradient alone are [0, 0.875e-4] and [0, 0.875e-8]; yours are "
        f"{m} and {v}: they must not contain the weight decay"
    )


def test_adamw_takes_the_steps_of_the_paper():
    for decay in (0.0, 0.3):
        cause = " (the steps before were right)"
        takes_the_steps_of_the_paper(AdamW, [0.1, 0.1, 0.05, 0.1, 0.02], decay, cause)


def test_adamw_changes_weights_and_moments_but_no_gradient():
    changes_weights_and_moments_but_no_gradient(AdamW)


def test_small_and_large_parameters_are_updated_alike():
    random = np.random.default_rng(5)
    shapes = [(3, 4), (130, 129), (2,), (1, 3, 2), ()]
    starts, *gradients = [[random.normal(size=s) for s in shapes] for _ in range(4)]
    gradients[1][2] = None
    options = {"lr": 0.1, "weight_decay": 0.3}
    path, steps, _ = train_tensors(AdamW, starts, gradients, options)
    for n, start in enumerate(starts):
        w, m, v, t = np.array(start), 0.0, 0.0, 0
        for parts in gradients:
            g = parts[n]
            if g is not None:
                t, m, v = t + 1, 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
                w = w * 0.97 - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        own = [[parts[n]] for parts in gradients]
        alone, *_ = train_tensors(AdamW, [start], own, options)
        assert np.allclose(alone[2][0], w, rtol=1e-8, atol=1e-10), (
            f"AdamW, 3 steps of one tensor of shape {shapes[n]}: it is off by up to "
            f"{np.abs(alone[2][0] - w).max():.3g}. If the checks above "
            "pass: each weight has its own m and v"
        )
        assert np.allclose(path[2][n], w, rtol=1e-8, atol=1e-10), (
            f"AdamW, 3 steps of 5 tensors: the one of shape {shapes[n]} is off by up to "
            f"{np.abs(path[2][n] - w).max():.3g}, and right when it is alone. `update` may get "
            "several parameters in one flat array: treat all elements alike"
        )


# %% adamw hidden points=2
def test_longer_runs_of_adamw():
    yield from longer_runs(AdamW, seed=74)


# %% learner-side
def clip_gradients(gradients, max_norm, generator=False):
    """(norm, gradients afterwards, whether they are the same arrays as before) for tensors with
    these gradients."""
    tensors = []
    for g in gradients:
        tensors.append(Tensor(np.zeros(np.shape(g)), requires_grad=True))
        tensors[-1].grad = None if g is None else np.array(g)
    before = [tensor.grad for tensor in tensors]
    norm = clip_grad_norm_((tensor for tensor in tensors) if generator else tensors, max_norm)
    after = [None if tensor.grad is None else np.array(tensor.grad) for tensor in tensors]
    return norm, after, [tensor.grad is g for tensor, g in zip(tensors, before)]


# %% clip points=6
def test_all_gradients_are_scaled_by_one_factor():
    norm, found, same = clip_gradients([np.array([3.0, 4.0]), np.array([6.0, 8.0])], 5.0)
    assert abs(float(norm) - 125**0.5) < 1e-9, (
        f"the common norm of (3, 4) and (6, 8) is 125 ** 0.5 = 11.18, yours is {norm}"
    )
    assert not np.array_equal(found[1], [6, 8]), (
        "the gradients are still (3, 4) and (6, 8), with a norm of 11.18 and max_norm 5: "
        f"{IN_PLACE}"
    )
    cause = ". Do not clip each gradient by its own norm" if found[0][0] > 2.9 else ""
    assert np.allclose(found[0], [1.34164, 1.78885], atol=1e-4), (
        f"one factor, 5 / 11.18, turns (3, 4) into (1.3416, 1.7889); yours is {found[0]}{cause}"
    )
    assert np.allclose(found[1], [2.68328, 3.57771], atol=1e-4), (
        f"(6, 8) becomes (2.6833, 3.5777); yours is {found[1]}"
    )
    assert list(same) == [True, True], (
        "the gradients should be changed in place, not replaced by new arrays"
    )


def test_short_gradients_stay_unchanged():
    for max_norm in (11.2, 12.0, 1e9):
        norm, found, _ = clip_gradients(
            [np.array([3.0, 4.0]), np.array([[6.0], [8.0]])], max_norm
        )
        assert np.array_equal(found[0], [3, 4]) and np.array_equal(found[1], [[6], [8]]), (
            f"the norm 11.18 is not above max_norm, {max_norm}, so the gradients (3, 4) and "
            f"(6, 8) should not change; yours became {found}"
        )
        assert abs(float(norm) - 125**0.5) < 1e-9, (
            "clip_grad_norm_ should return the norm, 11.18, also when it changes nothing; "
            f"yours returns {norm}"
        )


def test_gradients_of_any_shape_count():
    random = np.random.default_rng(6)
    gradients = [
        random.normal(size=s) * f
        for s, f in [((2, 3, 4), 100.0), ((), 7.0), ((5, 1), 0.001), ((0, 2), 1.0)]
    ]
    right = math.sqrt(sum(float(x) ** 2 for g in gradients for x in g.ravel()))
    for max_norm in (0.5, 40.0):
        norm, found, _ = clip_gradients(gradients, max_norm)
        assert abs(float(norm) / right - 1) < 1e-9, (
            f"the norm should be {right}, yours is {norm}"
        )
        for g, x in zip(gradients, found):
            was, now = [float(np.ravel(y)[0]) if np.size(y) else 0.0 for y in (g, x)]
            assert np.allclose(x, g * max_norm / right, rtol=2e-5), (
                f"max_norm {max_norm}, norm {right:.2f}: every gradient is multiplied by "
                f"{max_norm / right:.3g}. The first element of that of shape {np.shape(g)} was "
                f"{was:.4g}, yours is now {now:.4g}" + (f": {IN_PLACE}" if now == was else "")
            )


def test_tensors_without_gradient_are_left_out():
    gradients = [None, np.array([3.0, 4.0]), None]
    norm, found, _ = result_of(
        lambda: clip_gradients(gradients, 1.0, generator=True),
        "parameters without a gradient are left out",
        kind=(AttributeError, TypeError),
    )
    case = "the norm of None, (3, 4), None, given as a generator,"
    expect(float(norm), 5, case, near=(0, 1e-9))
    _, listed, _ = clip_gradients(gradients, 1.0)
    cause = (
        "" if np.array_equal(listed[1], found[1]) else ". A generator can be iterated only once"
    )
    if np.array_equal(listed[1], [3, 4]):
        cause = f": {IN_PLACE}"
    assert np.allclose(found[1], [0.6, 0.8], atol=1e-5), (
        "gradients None, (3, 4), None, given as a generator, max_norm 1: (3, 4) becomes "
        f"(0.6, 0.8), yours is {found[1]}{cause}"
    )
    norm, _, _ = clip_gradients([None, None], 1.0)
    equal(float(norm), 0.0, "the norm without any gradients")
    assert type(norm) is float, f"without gradients the norm is 0.0, a float, yours is {norm!r}"


def test_clipping_keeps_dtypes():
    gradients = [np.array([30, 40], "float32"), np.zeros(3, "float32")]
    norm, found, _ = clip_gradients(gradients, 5.0)
    expect(found[0], [3, 4], "the gradients (30, 40), with max_norm 5,", near=1e-5)
    equal([x.dtype.name for x in found], ["float32"] * 2, "the dtypes of clipped gradients")
    expect(norm, 50, "the norm of (30, 40)", near=1e-6)
    assert type(norm) is float, f"the norm is a plain float, yours is a {type(norm).__name__}"
    norm, found, _ = clip_gradients([np.zeros(3)], 5.0)
    assert norm == 0 and np.array_equal(found[0], [0, 0, 0]), (
        "gradients of 0 should stay 0, and the norm returned should be 0.0; yours are "
        f"{found[0]} and {norm}"
    )


def test_the_norm_of_float32_gradients_does_not_overflow():
    for size in (1e20, 3e38, 1e-30):
        gradients = [np.array(g, "float32") for g in ([3 * size / 5, 0], [4 * size / 5])]
        norm, found, _ = clip_gradients(gradients, 1e-32 if size < 1 else 1.0)
        assert size < 1 or math.isfinite(norm), (
            f"float32 gradients of {size:g}: the norm is {size:g} and finite, yours is {norm}. "
            "The square overflows in float32: compute the norm in float64"
        )
        cause = "" if norm else ". The square is 0 in float32: compute the norm in float64"
        assert abs(float(norm) / size - 1) < 1e-6, (
            f"float32 gradients of {size:g}: the norm is {size:g}, yours is {norm}{cause}"
        )
        if size > 1:
            left = np.concatenate(found)
            cause = IN_PLACE if np.array_equal(left, np.concatenate(gradients)) else ""
            assert np.allclose(left, [0.6, 0, 0.8], rtol=1e-3), (
                f"clipped to norm 1, gradients of {size:g} should become 0.6, 0, 0.8; yours "
                f"become {left}"
                f"{because(cause)}"
            )


# %% clip hidden points=1
def test_clipping_of_other_gradients():
    random = np.random.default_rng(77)
    for shapes, max_norm in [
        ([(3,), None, (2, 1, 2)], 0.01),
        ([(), (4, 4)], 3.0),
        ([None, (7,)], 50.0),
        ([(2,), (2,)], 2.5),
    ]:
        for generator in (False, True):
            gradients = [
                None if s is None else np.asarray(random.normal(size=s) * 4) for s in shapes
            ]
            norm, found, same = clip_gradients(gradients, max_norm, generator)
            yield float(norm), [x is None for x in found], same
            factor = min(1.0, max_norm / (float(norm) + 1e-6))
            for g, x in [(g, x) for g, x in zip(gradients, found) if g is not None]:
                expect(x, g * factor, f"{g} times {factor}", near=(2e-6, 1e-8))


# %% learner-side
def learning_rates_of(kind, base_lrs, epochs, *arguments, **options):
    """The learning rates of all groups in each epoch, as the optimizer has them; those when the
    schedule is resumed half way; and what get_lr() returns in the last epoch."""

    def make():
        optimizer = SGD([{"params": [Tensor([1.0])], "lr": lr} for lr in base_lrs])
        return optimizer, kind(optimizer, *arguments, **options)

    optimizer, schedule = make()
    lrs, state = [], None
    for epoch in range(epochs):
        if epoch == epochs // 2:
            state = schedule.state_dict()
        lrs.append([group["lr"] for group in optimizer.param_groups])
        last = schedule.get_lr()
        schedule.step()
    optimizer, schedule = make()
    schedule.load_state_dict(state)
    resumed = []
    for _ in range(epochs // 2, epochs):
        resumed.append([group["lr"] for group in optimizer.param_groups])
        schedule.step()
    return lrs, resumed, [float(lr) for lr in last]


# %% cosine points=4
def test_cosine_annealing_at_known_epochs():
    lrs, *_ = learning_rates_of(CosineAnnealingLR, [0.9], 13, 12, 0.1)
    wanted = {0: 0.9, 4: 0.7, 6: 0.5, 8: 0.3, 12: 0.1}
    current = [0.9]  # if the share multiplies the current learning rate of the group
    for epoch in range(1, 13):
        current.append(0.1 + (current[-1] - 0.1) * math.cos(math.pi * epoch / 24) ** 2)
    causes = [
        (0, 1.0, "multiply the share by base_lr - eta_min"),
        (4, 0.3, "it is half a wave in T_max epochs, not a whole one"),
        (4, 0.5, "the cosine alone falls from 1 to -1, a share from 1 to 0"),
        (4, 0.675, "the lowest learning rate is eta_min, not 0"),
        (4, current[4], "start from self.base_lrs, not from the current learning rates"),
    ]
    for epoch, lr in wanted.items():
        cause = [f": {w}" for e, x, w in causes if e == epoch and abs(lrs[e][0] - x) < 1e-9]
        assert abs(lrs[epoch][0] - lr) < 1e-12, (
            f"from 0.9 down to 0.1 in 12 epochs: in epoch {epoch} the learning rate is {lr} "
            f"(the cosine of {epoch * 15} degrees is {math.cos(math.pi * epoch / 12):.2f}); "
            f"yours is {lrs[epoch][0]:.4f}{''.join(cause)}"
        )


def test_get_lr_returns_one_learning_rate_per_group():
    for base_lrs in ([0.6], [0.6, 3.0, 0.3]):
        lrs, _, last = learning_rates_of(CosineAnnealingLR, base_lrs, 5, 8)
        wanted = [lr / 2 for lr in base_lrs]
        cause = ". Each group starts from its own base learning rate" if base_lrs[1:] else ""
        assert np.shape(lrs) == (5, len(base_lrs)) and np.allclose(lrs[4], wanted), (
            f"base learning rates {base_lrs}, T_max 8: in epoch 4 they are {wanted}, yours "
            f"{[round(lr, 4) for lr in lrs[4]]}{cause}"
        )
        assert np.shape(last) == (len(base_lrs),) and np.allclose(last, wanted), (
            f"get_lr() in epoch 4 should return {wanted}, yours returns {last}"
        )


def test_eta_min_is_the_same_for_all_groups():
    lrs, resumed, _ = learning_rates_of(CosineAnnealingLR, [0.9, 4.1], 6, T_max=5, eta_min=0.1)
    ends = np.array([lrs[0], lrs[5]])
    case = "groups at 0.9 and 4.1, eta_min 0.1: the learning rates of epochs 0 and 5"
    expect(ends, [[0.9, 4.1], [0.1, 0.1]], case, near=(1e-5, 1e-8))
    assert np.shape(resumed) == (3, 2) and np.allclose(resumed, lrs[3:], rtol=1e-12), (
        f"in epoch 3 the learning rates were {np.round(lrs[3], 4).tolist()}; saved and resumed "
        f"there, yours are {np.round(resumed[0], 4).tolist()}. Compute them from self.base_lrs "
        "and self.last_epoch alone, not from the groups' current learning rates"
    )


def test_after_t_max_the_cosine_rises_again():
    lrs, *_ = learning_rates_of(CosineAnnealingLR, [1.0], 13, 4)
    assert np.allclose(np.ravel(lrs)[4:9], np.ravel(lrs)[4::-1]) and abs(lrs[12][0]) < 1e-12, (
        "after epoch T_max = 4 the learning rate rises as it fell, and it is 0 again in epoch "
        f"12; yours are {np.round(np.ravel(lrs), 2).tolist()}"
    )


# %% warmup points=4
def test_the_warmup_is_linear():
    for warmup in (4, 10):
        found = [float(warmup_cosine(step, warmup, 110)) for step in range(warmup)]
        wanted = [(step + 1) / (warmup + 1) for step in range(warmup)]
        assert np.allclose(found, wanted), (
            f"a warm-up of {warmup} steps has the factors {wanted}; yours are {found}"
        )


def test_the_factor_is_1_at_the_end_of_the_warmup():
    for warmup, total in [(10, 110), (3, 7), (0, 5)]:
        found = float(warmup_cosine(warmup, warmup, total))
        assert abs(found - 1) < 1e-12, (
            f"warm-up {warmup}, total {total}: in step {warmup} the factor is 1, yours is "
            f"{found:.6f}. The cosine counts from the end of the warm-up"
        )
        assert abs(float(warmup_cosine(total, warmup, total))) < 1e-9, (
            f"warm-up {warmup}: in step {total} of {total} the factor is 0"
        )


def test_after_the_warmup_the_factor_follows_half_a_cosine():
    steps = [60, 80, 100, 140]
    part = (np.array(steps) - 20) / 120
    causes = {
        "Your cosine goes from 1 to 0 and is cut off at lowest. It goes from 1 to lowest: only "
        "the part above lowest, 1 - lowest, follows the cosine": np.maximum(
            0.2, half_cosine(part)
        ),
        "Your cosine goes from 1 to 0: lowest is not used": half_cosine(part),
        "lowest is not added: lowest + (1 - lowest) * ...": 0.8 * half_cosine(part),
        "The cosine has the height 1 - lowest, not 1": 0.2 + half_cosine(part),
        "The cosine counts from the end of the warm-up, not from step 0": 0.2
        + 0.8 * half_cosine(np.array(steps) / 140),
        "The cosine lasts total - warmup steps, not total": 0.2
        + 0.8 * half_cosine(part * 120 / 140),
        "It is half a cosine, from 1 to lowest, not a whole one": 0.2
        + 0.8 * half_cosine(2 * part),
        "This is a straight line, not a cosine": 0.2 + 0.8 * (1 - part),
    }
    found = [float(warmup_cosine(step, 20, 140, 0.2)) for step in steps]
    case = f"warm-up 20, total 140, lowest 0.2: the factors in steps {steps}"
    expect(found, [0.8, 0.6, 0.4, 0.2], case, causes, near=(0, 1e-9))
    found = [float(warmup_cosine(step, 5, 12)) for step in range(5, 13)]
    assert found == sorted(found, reverse=True) and abs(found[-1]) < 1e-9, (
        f"from 1 down to 0, yours are {found}"
    )


def test_after_the_end_the_factor_stays_low():
    for step in (100, 101, 150, 200, 100_000):
        for lowest in (0.0, 0.3):
            found = float(warmup_cosine(step, 0, 100, lowest))
            assert abs(found - lowest) < 1e-9, (
                f"total 100, lowest {lowest}: in step {step} the factor is {lowest}, yours is "
                f"{found:.6f}. The learning rate must not rise again"
            )


# %% warmup hidden points=1
def test_other_warmups():
    for warmup, total, lowest in [(1, 2, 0.0), (7, 30, 0.05), (0, 1, 0.5), (100, 101, 1.0)]:
        options = {"total": total, "lowest": lowest, "warmup": warmup}
        yield [float(warmup_cosine(step=step, **options)) for step in range(total + 20)]


# %% learner-side
def state_after(kind, options, shapes, steps):
    """What is saved after some steps of two groups, the second with lr 0.02. Tensor n has no
    gradient in the steps t (from 0) with t + n = 3, 7, ..."""
    tensors = [Tensor(np.full(s, n + 1.0), requires_grad=True) for n, s in enumerate(shapes)]
    optimizer = kind([{"params": tensors[:1]}, {"params": tensors[1:], "lr": 0.02}], **options)
    for t in range(steps):
        for n, tensor in enumerate(tensors):
            tensor.grad = None if (t + n) % 4 == 3 else np.full(tensor.shape, t - n + 0.5)
        optimizer.step()
    return optimizer_state(optimizer)


def resume(kind, options, shapes, steps, stop, changed=None):
    """Weights after `steps` steps without and with an interruption: saved after `stop` steps,
    loaded by a new optimizer. Also the state that was saved, as it was then, and as it is at
    the end.

    changed  learning rate of group 0 from the first step on, if not None
    """
    gradients = [
        [np.random.default_rng([t, n]).normal(size=s) for n, s in enumerate(shapes)]
        for t in range(steps)
    ]
    results = []
    for interrupted in (False, True):
        tensors = [
            Tensor(np.full(s, n + 1.0), requires_grad=True) for n, s in enumerate(shapes)
        ]

        def make():
            return kind(
                [{"params": tensors[:1]}, {"params": tensors[1:], "lr": 0.02}], **options
            )

        optimizer = make()
        if changed is not None:
            optimizer.param_groups[0]["lr"] = changed
        for t, parts in enumerate(gradients):
            if interrupted and t == stop:
                state = optimizer_state(optimizer)
                then = copy.deepcopy(state)
                optimizer.step()  # goes on a little: the saved state must not change
                for tensor, weights in zip(tensors, before):
                    tensor.data[...] = weights
                optimizer = make()
                optimizer.load_state_dict(state)
            for n, (tensor, g) in enumerate(zip(tensors, parts)):
                tensor.grad = None if (t + n) % 4 == 3 else g
            optimizer.step()
            before = [tensor.data.copy() for tensor in tensors]
        results.append(before)
    return *results, then, state


# %% state-dict points=8
def test_the_state_holds_plain_arrays_and_numbers():
    state = saved(state_after, AdamW, {"lr": 0.1, "weight_decay": 0.3}, [(2, 3), (), (4,)], 3)
    equal(sorted(state), ["param_groups", "state"], "the keys of the state")
    numbers = numbers_of(state)
    assert numbers == [[0], [1, 2]], (
        "the parameters of the two groups are numbered [0] and [1, 2], through all groups; "
        f"yours are numbered {numbers}"
    )
    names, groups = ("lr", "weight_decay", "betas"), state["param_groups"]
    options = [tuple(group[name] for name in names) for group in groups]
    wanted = [(0.1, 0.3, (0.9, 0.999)), (0.02, 0.3, (0.9, 0.999))]
    equal(options, wanted, "the options of each group")
    equal(sorted(state["state"]), [0, 1, 2], "the parameters that have a state")
    steps = [state["state"][n]["step"] for n in range(3)]
    assert steps == [3, 2, 2], f"they took 3, 2 and 2 steps, the state says {steps}"
    for n, shape in enumerate([(2, 3), (), (4,)]):
        for name in ("exp_avg", "exp_avg_sq"):
            x = state["state"][n][name]
            assert isinstance(x, np.ndarray) and x.shape == shape, (
                f"{name} of parameter {n} should be an ndarray of shape {shape}; yours is "
                f"{x!r:.60}"
            )


def test_parameters_that_never_stepped_have_no_entry():
    state = saved(state_after, Adam, {"lr": 0.1}, [(2,), (1,), (3,), (4,)], 1)
    assert sorted(state["state"]) == [0, 1, 2], (
        "of four parameters the last has had no gradient yet: the state has entries 0, 1, 2, "
        f"yours has {sorted(state['state'])}. Read optimizer.state, which holds only what "
        "stepped"
    )
    equal(numbers_of(state), [[0], [1, 2, 3]], "the numbers of all four parameters")


def test_a_resumed_run_ends_with_the_same_weights():
    for kind, options in [
        (SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
        (Adam, {"lr": 0.1}),
        (AdamW, {"lr": 0.1, "betas": (0.7, 0.9)}),
    ]:
        one, two, *_ = saved(
            resume, kind, options, [(2, 3), (), (150, 120), (5,)], 9, 5, changed=0.05
        )
        for n, (a, b) in enumerate(zip(one, two)):
            assert np.all(a != n + 1), (
                f"{kind.__name__}: 9 steps should change every weight of tensor {n}"
            )
            assert np.array_equal(a, b), (
                f"{kind.__name__}, interrupted after 5 of 9 steps and resumed: tensor {n} "
                f"should end at {a.ravel()[:3]} as without interruption, and ends at "
                f"{b.ravel()[:3]}: something that the steps depend on was not saved, or it was "
                "not copied"
            )


def test_a_saved_state_does_not_change_later():
    *_, then, now = saved(resume, Adam, {"lr": 0.1}, [(2, 3), (3,)], 6, 2)
    for n, shape in enumerate([(2, 3), (3,)]):
        step = np.asarray(then["state"][n]["step"])
        assert step.shape == () and step == 2, (
            f"step of parameter {n}, after two steps, should be 2; yours is {step}"
        )
        for name in ("exp_avg", "exp_avg_sq", "step"):
            a, b = np.asarray(then["state"][n][name]), np.asarray(now["state"][n][name])
            assert name == "step" or a.shape == shape and np.all(a != 0), (
                f"{name} of parameter {n}, after two steps, should have shape {shape} and hold "
                f"no zeros; yours is {a}"
            )
            assert np.array_equal(a, b), (
                f"{name} of parameter {n} was saved as {a}, and after more training the saved "
                f"state holds {b}: copy the arrays"
            )


# %% state-dict hidden points=1
def test_states_of_other_optimizers():
    for kind, options in [
        (SGD, {"lr": 0.3}),
        (SGD, {"lr": 0.3, "momentum": 0.2}),
        (Adam, {"lr": 0.3, "weight_decay": 0.1}),
    ]:
        one, two, then, now = resume(kind, options, [(1, 2), (4, 3), (2,), ()], 12, 7)
        yield one, two
        for state in (then, now):
            yield [sorted(state["state"][n].items()) for n in range(4)]
            yield [(sorted(group), group["params"]) for group in state["param_groups"]]
