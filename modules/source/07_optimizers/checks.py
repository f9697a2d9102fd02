# The checks of lesson 07, by exercise. `check("descend")` in the chapter runs the visible ones.

# %% setup
import copy
import math

import numpy as np

from tinytorch.core.tensor import Tensor


# %% learner-side
# Many functions of this lesson write into arrays, so the checks call them on copies, through
# this:
def tried(function, *inputs, **options):
    """What `function` returned, and the arrays among its inputs as it left them. It gets copies
    that nobody else has."""
    given = [np.array(x) if isinstance(x, np.ndarray) else x for x in inputs]
    result = function(*given, **options)
    result = np.array(result) if isinstance(result, np.ndarray) else result
    return result, [x for x in given if isinstance(x, np.ndarray)]


# %% descend points=3
def test_a_step_goes_against_the_slope():
    w, g = (
        np.array([[1, -2, 3000], [0.5, 0, -4]], "float32"),
        np.array([[2, -20, 1e5], [0, 3, -0.25]], "float32"),
    )
    for lr in (0.1, 0.004, 2.0):
        result, (after, _) = tried(descend, w, g, lr)
        wanted = np.array(
            [[float(w[i, j]) - lr * float(g[i, j]) for j in range(3)] for i in range(2)]
        )
        assert not np.array_equal(after, w), (
            "the array of weights still holds the old numbers: `w = w - ...` makes a new array "
            "that nobody sees. Write into the old one, `w -= ...`"
        )
        assert np.allclose(after, wanted, rtol=1e-5, atol=1e-6), (
            f"w = {w}, slope {g}, lr {lr}: each weight moves by lr times its slope, downhill, "
            f"to {wanted}; yours are at {after}"
        )
        assert result is None, (
            f"descend writes into w and returns nothing, yours returned {result}"
        )


def test_the_slope_is_left_alone():
    g = np.array([[2, -20, 1e5]], "float32")
    _, (w, after) = tried(descend, np.array([[1, -2, 3]], "float32"), g, 0.1)
    assert np.array_equal(after, g), (
        f"the slope was {g}, and your step left {after}: do not write into g"
    )
    assert np.allclose(w, [[0.8, 0, -9997]]), (
        f"the weights should go to [0.8, 0, -9997], yours went to {w}"
    )


def test_weights_of_any_shape_and_dtype_can_step():
    for shape in [(), (1,), (0, 3), (2, 1, 5)]:
        for dtype in ("float32", "float64"):
            w, g = np.full(shape, 3, dtype), np.full(shape, 0.5, dtype)
            _, (after, _) = tried(descend, w, g, 0.5)
            assert (
                after.dtype.name == dtype and after.shape == shape and np.all(after == 2.75)
            ), (
                f"{dtype} of shape {shape}: 3 - 0.5 * 0.5 is 2.75, yours is {after.dtype} "
                f"{after}"
            )


# %% descend hidden points=1
def test_many_steps_on_other_weights():
    random = np.random.default_rng(70)
    w, g = (
        random.normal(size=(3, 1, 4)),
        random.normal(size=(3, 1, 4)) * 10.0 ** random.integers(-6, 6, (3, 1, 4)),
    )
    now, right = w, w.copy()
    for lr in (0.3, 0.05, 1.0, 0.0):
        result, (now, after) = tried(descend, now, g, lr=lr)
        right = right - np.multiply(g, lr)
        assert np.allclose(now, right, rtol=1e-12, atol=1e-12), (
            f"lr {lr}: {right} expected, got {now}"
        )
        assert result is None and np.array_equal(after, g), (
            f"lr {lr}: the slope became {after}, returned {result}"
        )


# %% push points=4
def test_slopes_add_up_in_the_velocity():
    v = np.array([[0.0, 0.0, 0.0]])
    right = [0.0, 0.0, 0.0]
    for step, g in enumerate([[1.0, -200.0, 0.5], [3.0, 10.0, -0.25], [-2.0, 0.0, 4.0]], 1):
        direction, (v, _) = tried(push, v, np.array([g]), 0.7)
        right = [0.7 * old + slope for old, slope in zip(right, g)]
        assert np.allclose(v, [right], rtol=1e-12), (
            f"step {step}, momentum 0.7, slopes {g}: the velocity is 0.7 times the old one plus"
            f" the whole slope, {right}; the array you were given holds {v}"
        )
        assert np.allclose(direction, [right], rtol=1e-12), (
            f"step {step}: without Nesterov the direction is the new velocity {right}, yours is"
            f" {direction}"
        )


def test_nesterov_looks_one_push_ahead():
    v, g = np.array([10.0, -3.0, 0.0]), np.array([1.0, 5.0, -0.5])
    direction, (after, _) = tried(push, v, g, 0.8, nesterov=True)
    assert np.allclose(after, [9.0, 2.6, -0.5]), (
        f"Nesterov's velocity is the same as without, [9, 2.6, -0.5]; yours is {after}"
    )
    assert np.allclose(direction, [8.2, 7.08, -0.9]), (
        "the direction is g + 0.8 times the NEW velocity, [8.2, 7.08, -0.9]; yours is "
        f"{direction}"
    )


def test_a_push_leaves_the_slope_alone():
    g = np.array([[2, -20, 7]], "float32")
    for nesterov in (False, True):
        direction, (v, after) = tried(push, np.array([[1, -2, 3]], "float32"), g, 0.9, nesterov)
        assert np.array_equal(after, g), (
            f"nesterov={nesterov}: the slope was {g}, and you left {after}: do not write into g"
        )
        assert np.allclose(v, [[2.9, -21.8, 9.7]]), (
            f"the velocity should be [2.9, -21.8, 9.7], yours is {v}"
        )
        for name, x in [("direction", direction), ("velocity", v)]:
            assert x.dtype.name == "float32" and x.shape == (1, 3), (
                f"the {name} became {x.dtype} of shape {x.shape}"
            )


def test_without_momentum_a_push_is_the_slope():
    g = np.array([2.0, -20.0])
    for nesterov in (False, True):
        direction, _ = tried(push, np.array([5.0, 5.0]), g, 0.0, nesterov)
        assert np.array_equal(direction, g), (
            f"with momentum 0 nothing rolls on: {g} expected, yours is {direction}"
        )


# %% push hidden points=1
def test_pushes_of_other_momenta_and_shapes():
    random = np.random.default_rng(71)
    for momentum, shape in [(0.95, (4,)), (0.3, (2, 1, 3)), (0.99, ())]:
        for nesterov in (False, True):
            v, slopes = np.zeros(shape), []
            for _ in range(6):
                slopes.append(
                    np.asarray(random.normal(size=shape) * 10.0 ** random.integers(-3, 4))
                )
                direction, (v, _) = tried(
                    push, v, slopes[-1], momentum=momentum, nesterov=nesterov
                )
                right = sum(momentum**age * g for age, g in enumerate(reversed(slopes)))
                assert np.allclose(v, right, rtol=1e-9), (
                    f"momentum {momentum}: velocity {right} expected, got {v}"
                )
                right = slopes[-1] + momentum * right if nesterov else right
                assert np.allclose(direction, right, rtol=1e-9), (
                    f"momentum {momentum}, nesterov {nesterov}: direction {right} expected, got"
                    f" {direction}"
                )


# %% averages points=3
def test_averages_of_known_slopes():
    m, v, right_m, right_v = np.zeros((1, 3)), np.zeros((1, 3)), np.zeros(3), np.zeros(3)
    for step, g in enumerate([[1.0, -200.0, 0.5], [3.0, 10.0, -0.25], [-2.0, 0.0, 4.0]], 1):
        result, (m, v, *_) = tried(update_averages, m, v, np.array([g]), 0.8, 0.95)
        right_m = np.array([0.8 * old + 0.2 * x for old, x in zip(right_m, g)])
        right_v = np.array([0.95 * old + 0.05 * x**2 for old, x in zip(right_v, g)])
        for name, found, right in [("m", m, right_m), ("v", v, right_v)]:
            assert np.allclose(found, right, rtol=1e-9), (
                f"step {step}, betas 0.8 and 0.95, slopes {g}: {name} should be {right}, the "
                f"array you were given holds {found}. Old times beta, plus new times (1 -"
                " beta); v takes the square of g"
            )
        assert result is None, (
            f"update_averages writes into m and v and returns nothing, yours returned {result}"
        )


def test_averages_leave_the_slope_alone():
    g = np.array([[2, -20, 7]], "float32")
    _, (m, v, after, *_) = tried(
        update_averages, np.ones((1, 3), "float32"), np.ones((1, 3), "float32"), g, 0.9, 0.999
    )
    assert np.array_equal(after, g), (
        f"the slope was {g}, and you left {after}: do not write into g"
    )
    assert m.dtype.name == v.dtype.name == "float32", (
        f"float32 averages became {m.dtype} and {v.dtype}"
    )
    assert np.allclose(m, [[1.1, -1.1, 1.6]]) and np.allclose(v, [[1.003, 1.399, 1.048]]), (
        f"averages of 1 meet {g} and become m [1.1, -1.1, 1.6], v [1.003, 1.399, 1.048]; yours "
        f"{m}, {v}"
    )


def test_averages_of_a_slope_that_stays_are_that_slope():
    m, v, g = np.array([5.0, 0.25]), np.array([25.0, 0.0625]), np.array([5.0, -0.25])
    _, (m, v, *_) = tried(update_averages, m, v, g, 0.9, 0.999)
    assert np.allclose(m, [5, 0.2]) and np.allclose(v, [25, 0.0625]), (
        "averages 5 and 25 meet slope 5 and stay; 0.25 meets -0.25 and becomes 0.2; yours are "
        f"m {m}, v {v}"
    )


# %% averages hidden points=1
def test_averages_of_other_slopes():
    random = np.random.default_rng(72)
    for beta1, beta2, shape in [(0.9, 0.999, (5,)), (0.0, 0.5, (2, 1, 3)), (0.99, 0.3, ())]:
        m, v, slopes = np.zeros(shape), np.zeros(shape), []
        for _ in range(7):
            slopes.append(
                np.asarray(random.normal(size=shape) * 10.0 ** random.integers(-3, 4))
            )
            _, (m, v, *_) = tried(update_averages, m, v, slopes[-1], beta1, beta2)
        right_m = sum((1 - beta1) * beta1**age * g for age, g in enumerate(reversed(slopes)))
        right_v = sum((1 - beta2) * beta2**age * g**2 for age, g in enumerate(reversed(slopes)))
        assert np.allclose(m, right_m, rtol=1e-9), (
            f"betas {beta1}, {beta2}: m {right_m} expected, got {m}"
        )
        assert np.allclose(v, right_v, rtol=1e-9), (
            f"betas {beta1}, {beta2}: v {right_v} expected, got {v}"
        )


# %% direction points=5
def test_the_first_direction_is_the_sign():
    g = np.array([[3.0, -0.001, 2e4]])
    found, _ = tried(adam_direction, 0.2 * g, 0.1 * g * g, 1, (0.8, 0.9), 0.0)
    assert np.allclose(found, [[1, -1, 1]]), (
        f"after one slope, {g}, m is 0.2 g and v is 0.1 g²; corrected they are g and g², so the"
        f" direction is 1, -1, 1; yours is {found}"
    )


def test_the_correction_fades_with_the_steps():
    m, v = np.array([2.0, -0.03]), np.array([5.0, 0.25])
    for step in (1, 2, 3, 10, 5000):
        found, _ = tried(adam_direction, m, v, step, (0.9, 0.99), 1e-3)
        by_1, by_2 = 1 - math.exp(step * math.log(0.9)), 1 - math.exp(step * math.log(0.99))
        wanted = [
            a / by_1 / (math.sqrt(b / by_2) + 1e-3) for a, b in zip([2.0, -0.03], [5.0, 0.25])
        ]
        assert np.allclose(found, wanted, rtol=1e-9), (
            f"step {step}: m is divided by 1 - 0.9**{step} = {by_1:.5f} and v by 1 - "
            f"0.99**{step} = {by_2:.5f}, which gives {wanted}; yours is {found}"
        )


def test_the_averages_are_only_read():
    m, v = np.array([2.0, -0.03]), np.array([5.0, 0.25])
    found, (m_after, v_after) = tried(adam_direction, m, v, 2, (0.9, 0.99), 1e-3)
    assert np.array_equal(m_after, m) and np.array_equal(v_after, v), (
        f"m was {m}, v {v}; you left {m_after} and {v_after}: from the second step on the "
        "correction would be corrected again. Keep the averages and their corrected copies"
        " apart"
    )
    assert np.allclose(found, [0.664044, -0.044535], rtol=1e-4), (
        f"[0.66404, -0.04454] expected, yours is {found}"
    )


def test_eps_is_added_to_the_corrected_root():
    found, _ = tried(
        adam_direction, np.array([1e-9, 0.0]), np.array([1e-19, 0.0]), 1, (0.9, 0.999), 1e-8
    )
    assert np.allclose(found, [0.5, 0.0], rtol=1e-6, atol=0), (
        "one slope of 1e-8 and eps 1e-8: 1e-8 / (1e-8 + 1e-8) is 0.5, and a slope of 0 gives "
        f"0; yours is {found}. Correct v first, then the root, then add eps"
    )


def test_the_direction_keeps_its_dtype():
    for dtype in ("float32", "float64"):
        found, _ = tried(
            adam_direction,
            np.ones((2, 1), dtype),
            np.ones((2, 1), dtype),
            3,
            (0.9, 0.999),
            1e-8,
        )
        assert found.dtype.name == dtype and found.shape == (2, 1), (
            f"{dtype} (2, 1) became {found.dtype} {found.shape}"
        )
        assert np.allclose(found, 0.2020093, rtol=1e-4), (
            f"averages of 1 in step 3 give 0.20201, yours {found}"
        )


# %% direction hidden points=1
def test_directions_of_other_averages():
    random = np.random.default_rng(73)
    for betas, step, eps in [
        ((0.5, 0.7), 4, 0.3),
        ((0.0, 0.999), 1, 1e-8),
        ((0.95, 0.0), 40, 2.0),
    ]:
        for shape in [(3,), (2, 1, 4), ()]:
            m, v = (
                np.asarray(random.normal(size=shape)),
                np.asarray(random.uniform(0.1, 9, shape)),
            )
            found, (m_after, v_after, *_) = tried(adam_direction, m, v, step, betas, eps)
            right = (m / (1 - betas[0] ** step)) / ((v / (1 - betas[1] ** step)) ** 0.5 + eps)
            assert np.allclose(found, right, rtol=1e-10), (
                f"betas {betas}, step {step}, eps {eps}: {right}, got {found}"
            )
            assert np.array_equal(m, m_after) and np.array_equal(v, v_after), (
                f"betas {betas}: the averages were changed"
            )


# %% learner-side
def steps_of_adamw(w, slopes, rates, betas, eps, weight_decay):
    """The weights after each step, the averages after the last, and the slopes as they were
    left."""
    w, slopes = np.array(w), [np.array(g) for g in slopes]
    m, v, path = np.zeros_like(w), np.zeros_like(w), []
    for step, (g, lr) in enumerate(zip(slopes, rates), 1):
        adamw_update(w, g, m, v, step, lr, betas, eps, weight_decay)
        path.append(w.copy())
    return path, m, v, slopes


# %% adamw points=8
def adamw_by_hand(start, slopes, rates, betas, eps, weight_decay):
    """The weight after each step, for one number, in Python's own numbers, from the paper."""
    w, path = start, []
    for t, lr in enumerate(rates, 1):
        m = sum(
            (1 - betas[0]) * betas[0] ** (t - i) * g for i, g in enumerate(slopes[:t], 1)
        ) / (1 - betas[0] ** t)
        v = sum(
            (1 - betas[1]) * betas[1] ** (t - i) * g * g for i, g in enumerate(slopes[:t], 1)
        ) / (1 - betas[1] ** t)
        w = w - lr * weight_decay * w - lr * m / (math.sqrt(v) + eps)
        path.append(w)
    return path


def test_adamw_takes_the_steps_of_the_paper():
    slopes = [[1.0, -0.002], [-2.0, 0.001], [0.5, -0.004], [3.0, 0.0], [-1.0, 0.003]]
    for decay in (0.0, 0.3):
        rates = [0.1, 0.1, 0.05, 0.1, 0.02]
        path, *_ = steps_of_adamw(
            np.array([1.0, -2.0]),
            [np.array(g) for g in slopes],
            rates,
            (0.9, 0.99),
            1e-3,
            decay,
        )
        wanted = np.array(
            [
                adamw_by_hand(start, [g[n] for g in slopes], rates, (0.9, 0.99), 1e-3, decay)
                for n, start in enumerate([1.0, -2.0])
            ]
        ).T
        for t in range(5):
            assert np.allclose(path[t], wanted[t], rtol=1e-9, atol=0), (
                f"weight decay {decay}, after step {t + 1}: {wanted[t]} expected, yours "
                f"{path[t]} (the steps before were right)"
            )


def test_decay_comes_before_the_step():
    path, *_ = steps_of_adamw(np.array([1.0]), [np.array([1.0])], [0.5], (0.9, 0.999), 0.0, 0.5)
    assert np.allclose(path[0], 0.25), (
        "w 1, lr 0.5, decay 0.5: the old weight shrinks to 0.75, then the step of 0.5 gives "
        f"0.25; yours is {path[0]}. (0.375 comes from shrinking after the step, 0.5 from"
        " leaving the decay out)"
    )


def test_loud_weights_decay_like_quiet_ones():
    path, m, v, _ = steps_of_adamw(
        np.array([2.0, 2.0]), [np.array([0.0, 1e-4])] * 3, [0.1] * 3, (0.5, 0.5), 1e6, 0.2
    )
    assert np.allclose(path[-1], 2 * 0.98**3, rtol=1e-6), (
        "with an eps that stops all else, each step leaves 1 - 0.1 * 0.2 of both weights: "
        f"{2 * 0.98**3:.4f}; yours {path[-1]}. The decay goes to the weight, not into the"
        " slope"
    )
    assert np.allclose(m, [0, 0.875e-4]) and np.allclose(v, [0, 0.875e-8], atol=1e-15), (
        "the averages are those of the slopes alone, [0, 0.875e-4] and [0, 0.875e-8]; yours "
        f"{m} and {v}: the decay must not get into them"
    )


def test_adamw_changes_what_it_should_and_no_more():
    slopes = [np.array([[3, -1e-3]], "float32"), np.array([[-1, 4e3]], "float32")]
    path, m, v, after = steps_of_adamw(
        np.array([[5, -7]], "float32"), slopes, [0.1, 0.2], (0.9, 0.999), 1e-8, 0.01
    )
    assert all(np.array_equal(a, b) for a, b in zip(after, slopes)), (
        f"slopes {slopes} were left as {after}"
    )
    for name, x in [("weights", path[-1]), ("m", m), ("v", v)]:
        assert x.dtype.name == "float32" and x.shape == (1, 2), (
            f"{name} became {x.dtype} of shape {x.shape}"
        )
    assert not np.array_equal(m, np.zeros((1, 2))) and not np.array_equal(path[0], path[1]), (
        f"w, m and v are to be changed in place; they are {path[-1]}, {m}, {v}"
    )


# %% adamw hidden points=2
def test_longer_runs_of_adamw():
    random = np.random.default_rng(74)
    for betas, eps, decay, shape in [
        ((0.9, 0.999), 1e-8, 0.01, (3,)),
        ((0.5, 0.9), 0.1, 2.0, (2, 1, 2)),
        ((0, 0), 0.5, 0, ()),
    ]:
        start = np.asarray(random.normal(size=shape))
        slopes = [
            np.asarray(random.normal(size=shape) * 10.0 ** random.integers(-3, 3))
            for _ in range(12)
        ]
        rates = random.uniform(0.001, 0.2, 12).tolist()
        path, *_ = steps_of_adamw(start, slopes, rates, betas, eps, decay)
        right = start.astype(float)
        m, v = 0 * right, 0 * right
        for t, (g, lr) in enumerate(zip(slopes, rates), 1):
            m, v = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g**2
            step = m / (1 - betas[0] ** t) / (np.sqrt(v / (1 - betas[1] ** t)) + eps)
            right = right - lr * decay * right - lr * step
            assert np.allclose(path[t - 1], right, rtol=1e-9, atol=1e-12), (
                f"betas {betas}, eps {eps}, decay {decay}, step {t}: {right} expected, got "
                f"{path[t - 1]}"
            )


# %% learner-side
def groups_of_generators(defaults):
    """(options, how many tensors on the first walk, on the second) of each group that was given
    as a generator."""
    plain = groups_of((Tensor([float(n)]) for n in range(3)), defaults)
    dicts = groups_of(
        ({"params": (Tensor([0.0]) for _ in range(n)), "lr": n} for n in (1, 2)), defaults
    )
    return [
        (
            {name: x for name, x in group.items() if name != "params"},
            *[len([*group["params"]]) for _ in range(2)],
        )
        for group in [*plain, *dicts]
    ]


# %% groups points=4
def test_plain_tensors_are_one_group():
    a, b = Tensor([1.0]), Tensor([2.0, 3.0])
    for given in ([a, b], (a, b)):
        groups = groups_of(given, {"lr": 0.1, "momentum": 0.9})
        assert len(groups) == 1, f"two tensors are one group, yours are {len(groups)}"
        found = {name: x for name, x in groups[0].items() if name != "params"}
        assert found == {"lr": 0.1, "momentum": 0.9}, (
            f"the group has the defaults lr 0.1, momentum 0.9; yours {found}"
        )
        found = [np.asarray(p).tolist() for p in groups[0]["params"]]
        assert found == [[1], [2, 3]], (
            f"its params are the two tensors, in order; yours hold {found}"
        )


def test_a_group_overrules_the_defaults():
    defaults = {"lr": 0.1, "decay": 0.0}
    given = [
        {"params": [Tensor([1.0])], "lr": 0.5},
        {"params": [Tensor([2.0]), Tensor([3.0])], "decay": 0.3},
        {"params": [Tensor([4.0])]},
    ]
    groups = groups_of(given, defaults)
    found = [(group["lr"], group["decay"], len(group["params"])) for group in groups]
    assert found == [(0.5, 0.0, 1), (0.1, 0.3, 2), (0.1, 0.0, 1)], (
        "lr, decay and number of tensors should be (0.5, 0, 1), (0.1, 0.3, 2), (0.1, 0, 1); "
        f"yours {found}: what a group says counts more than the defaults, and what it does not"
        " say is the default"
    )
    assert defaults == {"lr": 0.1, "decay": 0.0} and list(given[2]) == ["params"], (
        "the defaults and the dicts that were given should stay as they are: they became "
        f"{defaults}, {given[2]}"
    )


def test_generators_last_longer_than_one_walk():
    found = groups_of_generators({"lr": 7})
    wanted = [({"lr": 7}, 3, 3), ({"lr": 1}, 1, 1), ({"lr": 2}, 2, 2)]
    assert found == wanted, (
        f"options, and how many tensors a first and a second walk find, should be {wanted}; "
        f"yours {found}: a generator is empty after one walk, so from the second step on"
        " nothing would learn. Make lists"
    )


def test_no_parameters_are_refused():
    for given in ([], ()):
        try:
            groups = groups_of(given, {"lr": 0.1})
        except ValueError as error:
            assert "parameters" in str(error), (
                f"the error should say that parameters are missing, yours: {error}"
            )
        except IndexError as error:
            assert False, (
                "an empty list should be refused in words, with ValueError; yours ends with: "
                f"{error}"
            )
        else:
            assert False, (
                f"there is nothing to learn in {given}, and no error said so: you made {groups}"
            )


# %% groups hidden points=1
def test_other_groups_and_options():
    defaults = {"lr": 0.1, "betas": (0.5, 0.6), "word": None}
    given = [
        {"word": "x", "params": (Tensor([0.0]), Tensor([1.0]))},
        {"params": [], "betas": (0.1, 0.2), "more": 5},
    ]
    groups = groups_of(params=given, defaults=defaults)
    found = [[np.asarray(p).tolist() for p in group["params"]] for group in groups]
    assert found == [[[0], [1]], []], f"the tensors [[0], [1]] and none expected, got {found}"
    found = [{name: x for name, x in group.items() if name != "params"} for group in groups]
    right = [
        {"lr": 0.1, "betas": (0.5, 0.6), "word": "x"},
        {"lr": 0.1, "betas": (0.1, 0.2), "word": None, "more": 5},
    ]
    assert found == right, f"{right} expected, got {found}"
    assert defaults == {"lr": 0.1, "betas": (0.5, 0.6), "word": None} and len(given[0]) == 2, (
        "the input was changed"
    )


# %% learner-side
def views_written_into(flat, shapes):
    """What the views show; what `flat` holds when each view was filled with -1, -2, ...; the
    views when flat is 0."""
    flat = np.array(flat)
    views = views_of(flat, shapes)
    shown = [np.array(view) for view in views]
    for n, view in enumerate(views, 1):
        view[...] = -n
    filled = flat.copy()
    flat[...] = 0
    return shown, filled, [np.array(view) for view in views]


# %% views points=3
def test_views_have_their_shapes_and_numbers():
    for dtype in ("float32", "float64"):
        flat, shapes = np.arange(14, dtype=dtype) * 10, [(2, 3), (), (1, 4), (0, 5), (3,)]
        shown, _, _ = views_written_into(flat, shapes)
        assert [x.shape for x in shown] == shapes, (
            f"the shapes should be {shapes}, yours {[x.shape for x in shown]}"
        )
        wanted = [
            [[0, 10, 20], [30, 40, 50]],
            60,
            [[70, 80, 90, 100]],
            np.zeros((0, 5)),
            [110, 120, 130],
        ]
        for shape, x, right in zip(shapes, shown, wanted):
            assert np.array_equal(x, right), (
                f"the view of shape {shape} should show {right}, yours shows {x}"
            )
            assert x.dtype.name == dtype, f"{dtype} became {x.dtype}"


def test_views_share_their_memory():
    _, filled, emptied = views_written_into(np.arange(9.0), [(2, 2), (3,), (), (1, 1)])
    assert np.array_equal(filled, [-1] * 4 + [-2] * 3 + [-3, -4]), (
        "-1 was written into the first view, -2 into the second, and so on: flat should be 4 "
        f"times -1, 3 times -2, -3, -4; yours is {filled}. Take slices, not copies"
    )
    for x in emptied:
        assert np.array_equal(x, np.zeros(x.shape)), (
            f"flat was set to 0, and a view still shows {x}: no copies"
        )


def test_no_shapes_no_views():
    shown, _, _ = views_written_into(np.zeros(0), [])
    assert len(shown) == 0, f"no shapes, no views; yours {shown}"
    shown, _, _ = views_written_into(np.array([5.0]), [(1, 1, 1)])
    assert len(shown) == 1 and np.array_equal(shown[0], [[[5]]]), (
        f"one shape, one view, [[[5]]]; yours {shown}"
    )


# %% views hidden points=1
def test_views_of_other_shapes():
    random = np.random.default_rng(75)
    for shapes in [[(3, 1, 2), (7,), (2, 5)], [(), ()], [(0,), (4, 1), (0, 2), (2,)], [(11,)]]:
        sizes = [int(np.prod(shape)) for shape in shapes]
        flat = random.normal(size=sum(sizes))
        shown, filled, _ = views_written_into(flat, shapes)
        ends = np.cumsum(sizes)
        for shape, x, end, size in zip(shapes, shown, ends, sizes):
            assert np.array_equal(x, flat[end - size : end].reshape(shape)), (
                f"{shapes}: {shape} shows {x}"
            )
        right = np.concatenate([np.full(size, -n) for n, size in enumerate(sizes, 1)])
        assert np.array_equal(filled, right), (
            f"{shapes}: written into, flat should be {right}, it is {filled}"
        )


# %% learner-side
def trained(kind, starts, slopes, options=None, groups=None, rates=None, dtype="float64"):
    """Tensors that `kind` has stepped, and the counts of their steps: (the numbers after each
    step, counts).

    starts   an array for each tensor
    slopes   for each step a list with the slope of each tensor, or None where it has none
    groups   for each group its tensors, by number, and its options; None for one group of all
    rates    the learning rate of all groups in each step
    """
    tensors = [Tensor(np.array(start, dtype), requires_grad=True) for start in starts]
    params = (
        tensors
        if groups is None
        else [{**own, "params": [tensors[n] for n in which]} for which, own in groups]
    )
    optimizer, path = kind(params, **(options or {})), []
    for t, parts in enumerate(slopes):
        for tensor, g in zip(tensors, parts):
            tensor.grad = None if g is None else np.array(g, dtype)
        if rates:
            for group in optimizer.param_groups:
                group["lr"] = rates[t]
        optimizer.step()
        path.append([np.array(tensor.data) for tensor in tensors])
    return path, [optimizer.state.get(tensor, {"step": 0})["step"] for tensor in tensors]


def same_array_after(kind, size):
    """Whether a tensor of `size` numbers still has its array after a step, and whether that and
    the gradient changed."""
    tensor = Tensor(np.ones(size, "float32"), requires_grad=True)
    before, tensor.grad = tensor.data, np.full(size, 2.0, "float32")
    kind([tensor, Tensor([1.0], requires_grad=True)], lr=0.1).step()
    return [
        tensor.data is before,
        not np.array_equal(before, np.ones(size)),
        not np.array_equal(tensor.grad, np.full(size, 2.0)),
    ]


# %% step points=12
def test_every_parameter_steps():
    starts = [[[1.0, 2.0, -3.0], [0.5, 0.0, 4.0]], [10.0], 7.0]
    slopes = [
        [[[10.0, -20.0, 5.0], [0.0, 1.0, 2.0]], [3.0], -1.0],
        [[[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]], [-30.0], 40.0],
    ]
    path, counts = trained(SGD, starts, slopes, {"lr": 0.1})
    now = [np.array(start) for start in starts]
    for t, parts in enumerate(slopes, 1):
        now = [w - 0.1 * np.array(g) for w, g in zip(now, parts)]
        for n, (found, right) in enumerate(zip(path[t - 1], now)):
            assert np.allclose(found, right), (
                f"SGD, lr 0.1, step {t}: tensor {n} should be at {right}, yours is at {found}"
            )
    assert counts == [2, 2, 2], f"each took 2 steps, your counts are {counts}"


def test_no_gradient_no_step():
    for kind in (SGD, AdamW):
        try:
            slopes = [[[1.0], None, [1.0]], [None, None, [1.0]]]
            path, counts = trained(kind, [[1.0], [2.0, 3.0], [4.0]], slopes, {"lr": 0.5})
        except (AttributeError, TypeError, ValueError) as error:
            assert False, (
                "a parameter that did not take part has the gradient None and is skipped; "
                f"yours ends with: {error}"
            )
        assert np.array_equal(path[1][1], [2, 3]), (
            f"a tensor without gradient rests at [2, 3], yours went to {path[1][1]}"
        )
        assert np.array_equal(path[1][0], path[0][0]), (
            "a tensor without gradient in step 2 rests, not even its decay goes on; yours went "
            f"from {path[0][0]} to {path[1][0]}"
        )
        assert counts == [1, 0, 2], (
            f"the tensors took 1, 0 and 2 steps, your counts are {counts}: each has its own"
        )


def test_a_gradient_of_zeros_is_a_gradient():
    path, counts = trained(SGD, [[1.0]], [[[2.0]], [[0.0]]], {"lr": 0.1, "momentum": 0.5})
    assert np.allclose([path[0][0], path[1][0]], [[0.8], [0.7]]), (
        "slopes 2, then 0, momentum 0.5: 1 goes to 0.8, then rolls on to 0.7; yours "
        f"{path[0][0]}, {path[1][0]}. Ask whether the gradient is None, not whether it is zero"
    )


def test_the_first_step_of_adam_is_number_one():
    for starts in ([[1.0, -2.0]], [[1.0, -2.0], [[5.0]]]):
        slopes = [[[300.0, -0.004], [[-7.0]]][: len(starts)]]
        path, counts = trained(Adam, starts, slopes, {"lr": 0.1, "eps": 1e-12})
        assert np.allclose(path[0][0], [0.9, -1.9], rtol=1e-6), (
            "Adam's first step is lr times the sign of the slope, to [0.9, -1.9]; yours to "
            f"{path[0][0]}. 1 - beta**0 is 0: which number has the first step?"
        )


def test_groups_keep_their_options():
    groups = [([0, 2], {"lr": 0.1}), ([1], {"lr": 1.0, "weight_decay": 0.5})]
    path, counts = trained(
        SGD, [[1.0], [2.0], [3.0]], [[[1.0], [1.0], [1.0]]] * 2, groups=groups
    )
    assert np.allclose(np.ravel(path[1]), [0.8, -1.0, 2.8]), (
        "two steps with slope 1: lr 0.1 takes 1 to 0.8 and 3 to 2.8; lr 1 with decay 0.5 takes "
        f"2 to 0, then to -1. Yours: {np.ravel(path[1])}. Every group is stepped, with its own"
        " options"
    )


def test_small_and_large_parameters_step_alike():
    random = np.random.default_rng(5)
    shapes = [(3, 4), (130, 129), (2,), (1, 3, 2), ()]
    starts, *slopes = [[random.normal(size=s) for s in shapes] for _ in range(4)]
    slopes[1][2] = None
    path, counts = trained(AdamW, starts, slopes, {"lr": 0.1, "weight_decay": 0.3})
    for n, start in enumerate(starts):
        w, m, v, t = np.array(start), 0.0, 0.0, 0
        for parts in slopes:
            g = parts[n]
            if g is not None:
                t, m, v = t + 1, 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
                w = w * 0.97 - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        assert np.allclose(path[2][n], w, rtol=1e-8, atol=1e-10), (
            f"AdamW, 3 steps: the tensor of shape {shapes[n]} is off by up to "
            f"{np.abs(path[2][n] - w).max():.3g}. Did every bundle collect, count, update and"
            " give back?"
        )
    for kind in (SGD, Adam):
        for size in (3, 20_000):
            found = same_array_after(kind, size)
            assert found == [True, True, False], (
                f"{kind.__name__}, {size} numbers: same array as before, its numbers changed, "
                f"the gradient changed should be [True, True, False]; yours {found}: weights"
                " are changed in place, gradients not at all"
            )


# %% step hidden points=2
def test_steps_of_many_parameters_with_changing_rates():
    random = np.random.default_rng(76)
    shapes = [(2, 3), (5,), (), (1, 4), (200, 90)]
    starts = [random.normal(size=s) for s in shapes]
    slopes = [
        [None if random.random() < 0.3 else random.normal(size=s) for s in shapes]
        for _ in range(8)
    ]
    rates = [0.1, 0.1, 0.05, 0.2, 0.01, 0.3, 0.1, 0.02]
    groups = [
        ([3, 0], {"momentum": 0.5}),
        ([2], {}),
        ([4, 1], {"weight_decay": 0.1, "momentum": 0.8, "nesterov": True}),
    ]
    path, counts = trained(SGD, starts, slopes, groups=groups, rates=rates)
    for which, own in groups:
        for n in which:
            w, u = np.array(starts[n]), 0.0
            for t, parts in enumerate(slopes):
                if parts[n] is not None:
                    g = parts[n] + own.get("weight_decay", 0) * w
                    u = own.get("momentum", 0) * u + g
                    w = w - rates[t] * (g + own["momentum"] * u if "nesterov" in own else u)
                assert np.allclose(path[t][n], w, rtol=1e-9, atol=1e-12), (
                    f"SGD, group {own}, step {t + 1}, shape {shapes[n]}: {w} expected, got "
                    f"{path[t][n]}"
                )
    right = [sum(parts[n] is not None for parts in slopes) for n in range(5)]
    assert counts == right, f"counts {right} expected, got {counts}"
    path, counts = trained(Adam, starts, slopes, {"weight_decay": 0.2}, rates=rates)
    for n in range(5):
        w, m, v, k = np.array(starts[n]), 0.0, 0.0, 0
        for t, parts in enumerate(slopes):
            if parts[n] is not None:
                g, k = parts[n] + 0.2 * w, k + 1
                m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
                w = w - rates[t] * (m / (1 - 0.9**k)) / (np.sqrt(v / (1 - 0.999**k)) + 1e-8)
            assert np.allclose(path[t][n], w, rtol=1e-7, atol=1e-10), (
                f"Adam, step {t + 1}, shape {shapes[n]}: {w} expected, got {path[t][n]}"
            )
    assert counts == right, f"counts {right} expected, got {counts}"


# %% learner-side
def state_after(kind, options, shapes, steps):
    """What is saved after some steps of two groups, the second with lr 0.02; in step 3 and
    7 ... tensor 0 rests, and so on."""
    tensors = [Tensor(np.full(s, n + 1.0), requires_grad=True) for n, s in enumerate(shapes)]
    optimizer = kind([{"params": tensors[:1]}, {"params": tensors[1:], "lr": 0.02}], **options)
    for t in range(steps):
        for n, tensor in enumerate(tensors):
            tensor.grad = None if (t + n) % 4 == 3 else np.full(tensor.shape, t - n + 0.5)
        optimizer.step()
    return saved_state(optimizer)


def resumed(kind, options, shapes, steps, stop, changed=None):
    """Numbers of tensors after `steps` steps in one go, and with a stop: saved after `stop`,
    loaded by a new optimizer.

    changed  learning rate of group 0 from the first step on, if not None
    Also the state that was saved, as it was then, and as it is after all is over.
    """
    slopes = [
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
        for t, parts in enumerate(slopes):
            if interrupted and t == stop:
                state = saved_state(optimizer)
                then = copy.deepcopy(state)
                optimizer.step()  # goes on a little: what was saved must not notice
                for tensor, numbers in zip(tensors, before):
                    tensor.data[...] = numbers
                optimizer = make()
                optimizer.load_state_dict(state)
            for n, (tensor, g) in enumerate(zip(tensors, parts)):
                tensor.grad = None if (t + n) % 4 == 3 else g
            optimizer.step()
            before = [tensor.data.copy() for tensor in tensors]
        results.append(before)
    return *results, then, state


# %% save points=6
def test_the_state_says_all_in_plain_numbers():
    state = state_after(AdamW, {"lr": 0.1, "weight_decay": 0.3}, [(2, 3), (), (4,)], 3)
    assert sorted(state) == ["param_groups", "state"], (
        f"the keys are param_groups and state, yours {sorted(state)}"
    )
    found = [
        [n if type(n) is int else type(n).__name__ for n in group["params"]]
        for group in state["param_groups"]
    ]
    assert found == [[0], [1, 2]], (
        "the tensors of the two groups are numbered [0] and [1, 2], through all groups; yours "
        f"{found}"
    )
    found = [
        (group["lr"], group["weight_decay"], group["betas"]) for group in state["param_groups"]
    ]
    assert found == [(0.1, 0.3, (0.9, 0.999)), (0.02, 0.3, (0.9, 0.999))], (
        f"each group keeps its options, yours {found}"
    )
    assert sorted(state["state"]) == [0, 1, 2], (
        f"each of 3 tensors has a state, yours: {sorted(state['state'])}"
    )
    found = [state["state"][n]["step"] for n in range(3)]
    assert found == [3, 2, 2], f"they took 3, 2 and 2 steps, the state says {found}"
    for n, shape in enumerate([(2, 3), (), (4,)]):
        for name in ("exp_avg", "exp_avg_sq"):
            x = state["state"][n][name]
            assert isinstance(x, np.ndarray) and x.shape == shape, (
                f"{name} of tensor {n} is an ndarray of shape {shape}; yours: {x!r:.60}"
            )


def test_a_resumed_run_ends_where_the_other_does():
    for kind, options in [
        (SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
        (Adam, {"lr": 0.1}),
        (AdamW, {"lr": 0.1, "betas": (0.7, 0.9)}),
    ]:
        one, two, *_ = resumed(
            kind, options, [(2, 3), (), (150, 120), (5,)], 9, 5, changed=0.05
        )
        for n, (a, b) in enumerate(zip(one, two)):
            assert np.all(a != n + 1), (
                f"{kind.__name__}: 9 steps should move every number of tensor {n}"
            )
            assert np.array_equal(a, b), (
                f"{kind.__name__}, stopped after 5 of 9 steps and resumed: tensor {n} should "
                f"end at {a.ravel()[:3]} as without a stop, and ends at {b.ravel()[:3]}:"
                " something that the steps depend on was not kept, or was kept alive instead "
                "of copied"
            )


def test_a_saved_state_does_not_change():
    *_, then, now = resumed(Adam, {"lr": 0.1}, [(2, 3), (3,)], 6, 2)
    for n in (0, 1):
        for name in ("exp_avg", "exp_avg_sq", "step"):
            a, b = np.asarray(then["state"][n][name]), np.asarray(now["state"][n][name])
            assert a.size and np.all(a != 0), (
                f"{name} of tensor {n}, after two steps, should hold no zeros; yours is {a}"
            )
            assert np.array_equal(a, b), (
                f"{name} of tensor {n} was saved as {a}, and when training had gone on the "
                f"saved state said {b}: copy the arrays"
            )


# %% save hidden points=1
def test_states_of_other_optimizers():
    for kind, options, names in [
        (SGD, {"lr": 0.3}, ["step"]),
        (SGD, {"lr": 0.3, "momentum": 0.2}, ["momentum_buffer", "step"]),
        (Adam, {"lr": 0.3, "weight_decay": 0.1}, ["exp_avg", "exp_avg_sq", "step"]),
    ]:
        one, two, then, now = resumed(kind, options, [(1, 2), (4, 3), (2,), ()], 12, 7)
        assert all(np.array_equal(a, b) for a, b in zip(one, two)), (
            f"{kind.__name__} {options}: it ends elsewhere"
        )
        for n in range(4):
            before, after = then["state"][n], now["state"][n]
            assert sorted(after) == names, (
                f"{kind.__name__} keeps {names}, the state has {sorted(after)}"
            )
            assert all(np.array_equal(before[name], after[name]) for name in names), (
                "the state changed"
            )
        found = [sorted(set(group) - {"params"}) for group in now["param_groups"]]
        right = (
            ["lr", "momentum", "nesterov", "weight_decay"]
            if kind is SGD
            else ["betas", "eps", "lr", "weight_decay"]
        )
        assert found == [right, right], (
            f"{kind.__name__}: the options {right} expected, got {found}"
        )
        found = [group["params"] for group in now["param_groups"]]
        assert found == [[0], [1, 2, 3]], f"the numbers [0] and [1, 2, 3] expected, got {found}"


# %% learner-side
def clipped(gradients, max_norm, generator=False):
    """(length, gradients afterwards, whether they are the same arrays as before) for tensors
    with these gradients."""
    tensors = []
    for g in gradients:
        tensors.append(Tensor(np.zeros(np.shape(g)), requires_grad=True))
        tensors[-1].grad = None if g is None else np.array(g)
    before = [tensor.grad for tensor in tensors]
    norm = clip_grad_norm_((tensor for tensor in tensors) if generator else tensors, max_norm)
    after = [None if tensor.grad is None else np.array(tensor.grad) for tensor in tensors]
    return norm, after, [tensor.grad is g for tensor, g in zip(tensors, before)]


# %% clip points=5
def test_all_gradients_are_shortened_by_one_factor():
    norm, found, same = clipped([np.array([3.0, 4.0]), np.array([6.0, 8.0])], 5.0)
    assert abs(float(norm) - 125**0.5) < 1e-9, (
        f"(3, 4) and (6, 8) are together 125 ** 0.5 = 11.18 long, yours {norm}"
    )
    assert np.allclose(found[0], [1.34164, 1.78885], atol=1e-4), (
        f"one factor, 5 / 11.18, makes (3, 4) to (1.3416, 1.7889); yours is {found[0]}. Do not "
        "clip each by its own length"
    )
    assert np.allclose(found[1], [2.68328, 3.57771], atol=1e-4), (
        f"(6, 8) becomes (2.6833, 3.5777); yours is {found[1]}"
    )
    assert same == [True, True], (
        "the gradients should be changed in place: others may hold the arrays"
    )


def test_short_gradients_stay_as_they_are():
    for max_norm in (11.2, 12.0, 1e9):
        norm, found, _ = clipped([np.array([3.0, 4.0]), np.array([[6.0], [8.0]])], max_norm)
        assert np.array_equal(found[0], [3, 4]) and np.array_equal(found[1], [[6], [8]]), (
            f"a length of 11.18 is allowed, {max_norm} is the limit: nothing changes; yours "
            f"became {found}"
        )
        assert abs(float(norm) - 125**0.5) < 1e-9, (
            f"the length 11.18 is returned also then; yours {norm}"
        )


def test_arrays_of_any_shape_count():
    random = np.random.default_rng(6)
    gradients = [
        random.normal(size=s) * f
        for s, f in [((2, 3, 4), 100.0), ((), 7.0), ((5, 1), 0.001), ((0, 2), 1.0)]
    ]
    right = math.sqrt(sum(float(x) ** 2 for g in gradients for x in g.ravel()))
    for max_norm in (0.5, 40.0):
        norm, found, _ = clipped(gradients, max_norm)
        assert abs(float(norm) / right - 1) < 1e-9, f"the length is {right}, yours {norm}"
        for g, x in zip(gradients, found):
            assert np.allclose(x, g * max_norm / right, rtol=2e-5), (
                f"limit {max_norm}, length {right:.4f}: {g} should become "
                f"{g * max_norm / right}, yours {x}"
            )


def test_tensors_without_gradient_have_no_part():
    try:
        norm, found, _ = clipped([None, np.array([3.0, 4.0]), None], 1.0, generator=True)
    except (AttributeError, TypeError) as error:
        assert False, f"parameters without a gradient are left out; yours ends with: {error}"
    assert abs(float(norm) - 5) < 1e-9 and np.allclose(found[1], [0.6, 0.8], atol=1e-5), (
        "given as a generator, None, (3, 4), None and limit 1: length 5, and (0.6, 0.8) is "
        f"left; yours {norm}, {found[1]}. A generator can be walked only once"
    )
    norm, _, _ = clipped([None, None], 1.0)
    assert float(norm) == 0, f"no gradients, no length: 0, yours {norm}"


def test_clipping_keeps_dtypes():
    norm, found, _ = clipped([np.array([30, 40], "float32"), np.zeros(3, "float32")], 5.0)
    assert [x.dtype.name for x in found] == ["float32"] * 2, (
        f"float32 gradients became {[x.dtype.name for x in found]}"
    )
    assert type(norm) is float, f"the length is a plain float, yours is a {type(norm).__name__}"
    norm, found, _ = clipped([np.zeros(3)], 5.0)
    assert norm == 0 and np.array_equal(found[0], [0, 0, 0]), (
        f"a length of 0 is no problem: yours {norm}, {found[0]}"
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
            right = math.sqrt(sum(float((g * g).sum()) for g in gradients if g is not None))
            norm, found, same = clipped(gradients, max_norm, generator)
            assert abs(norm - right) < 1e-9 * right, (
                f"{shapes}: length {right} expected, got {norm}"
            )
            factor = min(1.0, max_norm / (right + 1e-6))
            for g, x in zip(gradients, found):
                assert x is None if g is None else np.allclose(x, g * factor, rtol=1e-9), (
                    f"{g} times {factor}, got {x}"
                )
            assert same == [True] * len(shapes), f"{shapes}: not in place"


# %% learner-side
def rates_of(kind, bases, epochs, *arguments, **options):
    """The rates of all groups in each epoch, as the optimizer has them; and when the schedule
    is resumed half way."""

    def make():
        optimizer = SGD([{"params": [Tensor([1.0])], "lr": base} for base in bases])
        return optimizer, kind(optimizer, *arguments, **options)

    optimizer, schedule = make()
    found, state = [], None
    for epoch in range(epochs):
        if epoch == epochs // 2:
            state = schedule.state_dict()
        found.append([group["lr"] for group in optimizer.param_groups])
        schedule.step()
    optimizer, schedule = make()
    schedule.load_state_dict(state)
    resumed = []
    for _ in range(epochs // 2, epochs):
        resumed.append([group["lr"] for group in optimizer.param_groups])
        schedule.step()
    return found, resumed


# %% stairs points=2
def test_the_stair_has_its_length_and_height():
    found, _ = rates_of(StepLR, [0.8], 11, 4, 0.5)
    wanted = [0.8] * 4 + [0.4] * 4 + [0.2] * 3
    assert np.allclose(np.ravel(found), wanted), (
        f"from 0.8, times 0.5 every 4 epochs: {wanted}; yours {np.ravel(found)}"
    )
    found, _ = rates_of(StepLR, [3.0], 5, 1)
    assert np.allclose(np.ravel(found), [3, 0.3, 0.03, 0.003, 0.0003], rtol=1e-9), (
        f"from 3, times 0.1 every epoch: 3, 0.3, 0.03, ...; yours {np.ravel(found)}"
    )


def test_every_group_takes_the_stair_from_its_own_rate():
    found, resumed = rates_of(StepLR, [0.8, 5.0], 7, step_size=3, gamma=0.1)
    wanted = np.array([[0.8, 5.0]] * 3 + [[0.08, 0.5]] * 3 + [[0.008, 0.05]])
    assert np.allclose(found, wanted, rtol=1e-9), (
        f"groups at 0.8 and 5, stairs of 3: {wanted}; yours {found}"
    )
    assert np.allclose(resumed, wanted[3:], rtol=1e-9), (
        f"resumed in epoch 3: {wanted[3:]}; yours {resumed}"
    )


# %% cosine points=3
def test_the_wave_at_known_places():
    found, _ = rates_of(CosineAnnealingLR, [0.9], 13, 12, 0.1)
    wanted = {0: 0.9, 4: 0.7, 6: 0.5, 8: 0.3, 12: 0.1}
    for epoch, rate in wanted.items():
        assert abs(found[epoch][0] - rate) < 1e-12, (
            f"from 0.9 down to 0.1 in 12 epochs: epoch {epoch} has the rate {rate} (the cosine "
            f"of {epoch * 15} degrees is {math.cos(math.pi * epoch / 12):.2f}); yours is"
            f" {found[epoch][0]}"
        )


def test_the_lowest_rate_is_the_same_for_all_groups():
    found, resumed = rates_of(CosineAnnealingLR, [0.9, 4.1], 6, T_max=5, eta_min=0.1)
    assert np.allclose(found[0], [0.9, 4.1]) and np.allclose(found[5], [0.1, 0.1]), (
        "groups at 0.9 and 4.1, eta_min 0.1: epoch 0 [0.9, 4.1], epoch 5 [0.1, 0.1]; yours "
        f"{found[0]} and {found[5]}"
    )
    assert resumed == found[3:], f"resumed in epoch 3: {found[3:]} expected; yours {resumed}"


def test_the_wave_goes_on():
    found, _ = rates_of(CosineAnnealingLR, [1.0], 13, 4)
    assert (
        np.allclose(np.ravel(found)[4:9], np.ravel(found)[4::-1]) and abs(found[12][0]) < 1e-12
    ), (
        "after epoch 4 the wave goes up as it came down, and it is at 0 again in epoch 12; "
        f"yours {np.ravel(found)}"
    )


# %% warmup points=4
def test_the_way_up_is_even():
    for warmup in (4, 10):
        found = [float(warmup_cosine(step, warmup, 110)) for step in range(warmup)]
        wanted = [(step + 1) / (warmup + 1) for step in range(warmup)]
        assert np.allclose(found, wanted), (
            f"a warm-up of {warmup} steps: {wanted}; yours {found}"
        )


def test_the_top_is_at_the_end_of_the_warmup():
    for warmup, total in [(10, 110), (3, 7), (0, 5)]:
        found = float(warmup_cosine(warmup, warmup, total))
        assert found == 1, (
            f"warm-up {warmup}, total {total}: step {warmup} has the full rate, 1, yours "
            f"{found:.6f}. The cosine counts from the end of the warm-up"
        )
        assert abs(float(warmup_cosine(total, warmup, total))) < 1e-9, (
            f"warm-up {warmup}: step {total} of {total} has 0"
        )


def test_the_way_down_is_half_a_cosine():
    for step, wanted in [(60, 0.8), (80, 0.6), (100, 0.4), (140, 0.2)]:
        found = float(warmup_cosine(step, 20, 140, 0.2))
        assert abs(found - wanted) < 1e-9, (
            f"warm-up 20, total 140, lowest 0.2: step {step} has {wanted}, yours {found}"
        )
    found = [float(warmup_cosine(step, 5, 12)) for step in range(5, 13)]
    assert found == sorted(found, reverse=True) and abs(found[-1]) < 1e-9, (
        f"from 1 down to 0, yours {found}"
    )


def test_behind_the_end_it_stays_low():
    for step in (100, 101, 150, 200, 100_000):
        for lowest in (0.0, 0.3):
            found = float(warmup_cosine(step, 0, 100, lowest))
            assert abs(found - lowest) < 1e-9, (
                f"total 100, lowest {lowest}: step {step} is behind the end and has {lowest}, "
                f"yours {found:.6f}. The rate must not rise again"
            )


# %% warmup hidden points=1
def test_other_warmups():
    for warmup, total, lowest in [(1, 2, 0.0), (7, 30, 0.05), (0, 1, 0.5), (100, 101, 1.0)]:
        for step in range(total + 20):
            if step < warmup:
                right = (step + 1) / (warmup + 1)
            else:
                degrees = 180 * min(step - warmup, total - warmup) / (total - warmup)
                right = lowest + (1 - lowest) * np.cos(np.deg2rad(degrees) / 2) ** 2
            found = float(warmup_cosine(total=total, step=step, lowest=lowest, warmup=warmup))
            assert abs(found - right) < 1e-9, (
                f"step {step}, warm-up {warmup}, total {total}: {right} expected, got {found}"
            )
