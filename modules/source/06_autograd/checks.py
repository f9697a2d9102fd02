# The checks of lesson 06, by exercise. `check("curves")` in the chapter runs the visible ones.

# %% setup
import math
import threading

import numpy as np

from tinytorch.core.tensor import Tensor, Variable, apply, operand, recording, run


# %% learner-side
# The checks try one rule at a time, with this:
def rule(name, n, g, *arrays, **options):
    """What the rule of operation `name` gives for input `n`: the gradient, when `g` arrives at
    the result."""
    op = next(
        (op for op in [*waiting, *table] if op.__name__.removesuffix("_forward") == name), None
    )
    assert op is not None, (
        f"nobody knows where the rules of {name} are: is it still named in @rules_for above "
        "them?"
    )
    rules, out = table[op], run(op, arrays, options)
    if callable(rules):
        return rules(g, out, *arrays, **options)[n]
    assert len(rules) == len(arrays), (
        f"{name} has rules for {len(rules)} of {len(arrays)} inputs: one for each is needed"
    )
    return rules[n](g, out, *arrays, **options)


# %% arithmetic points=6
def test_arithmetic_hands_on_what_was_worked_out_by_hand():
    a, b = np.array([[6.0, -2.0, 0.5]], "float32"), np.array([[2.0, 4.0, -8.0]], "float32")
    g = np.array([[1.0, 10.0, -3.0]], "float32")
    for name, n, wanted in [
        ("add", 0, [[1, 10, -3]]),
        ("add", 1, [[1, 10, -3]]),
        ("subtract", 0, [[1, 10, -3]]),
        ("subtract", 1, [[-1, -10, 3]]),
        ("multiply", 0, [[2, 40, 24]]),
        ("multiply", 1, [[6, -20, -1.5]]),
        ("divide", 0, [[0.5, 2.5, 0.375]]),
        ("divide", 1, [[-1.5, 1.25, 0.0234375]]),
    ]:
        found = rule(name, n, g, a, b)
        assert np.shape(found) == (1, 3) and np.allclose(found, wanted, rtol=1e-6, atol=0), (
            f"{name}: for input {n} of a = {a}, b = {b}, when g = {g} arrives, {wanted} is due,"
            f" yours gives {found}. Hold the other input still, and multiply by g"
        )
        assert np.asarray(found).dtype.name == "float32", (
            f"{name} makes {np.asarray(found).dtype} of float32"
        )
    found = rule("negative", 0, g, a)
    assert np.array_equal(found, -g), (
        f"-a falls when a grows: for g = {g}, {-g} is due, yours gives {found}"
    )


def test_arithmetic_rules_agree_with_a_nudge():
    a, b, g = [np.random.default_rng(7).uniform(0.5, 2.0, (3, 2, 5))[n] for n in range(3)]
    a[0] *= -1
    for name, f in [
        ("add", np.add),
        ("subtract", np.subtract),
        ("multiply", np.multiply),
        ("divide", np.divide),
    ]:
        for n in (0, 1):
            up, down = [a, b], [a, b]
            up[n], down[n] = up[n] + 1e-6, down[n] - 1e-6
            wanted = g * (f(*up) - f(*down)) / 2e-6
            found = rule(name, n, g, a, b)
            assert np.allclose(found, wanted, rtol=1e-6, atol=0), (
                f"{name}: nudging input {n} moves the loss by {wanted}, your rule says {found}"
            )


def test_arithmetic_changes_nothing_it_is_given():
    for name in ("add", "subtract", "multiply", "divide"):
        for n in (0, 1):
            g, a, b = np.array([3.0, -4.0]), np.array([2.0, 5.0]), np.array([-8.0, 0.5])
            rule(name, n, g, a, b)
            assert (
                np.array_equal(g, [3, -4])
                and np.array_equal(a, [2, 5])
                and np.array_equal(b, [-8, 0.5])
            ), (
                f"{name}: your rule for input {n} wrote into its arguments: g, a, b are now "
                f"{g}, {a}, {b}"
            )


# %% arithmetic hidden points=1
def test_arithmetic_at_other_shapes_and_sizes():
    rng = np.random.default_rng(21)
    for shape, dtype, large in [
        ((), "float64", 1e3),
        ((0, 3), "float32", 1.0),
        ((4, 1, 2), "float32", 1e-3),
        ((1,), "float64", 1e9),
        ((2, 2, 2, 2), "float64", 1.0),
    ]:
        g, a, b = [
            np.array(large * rng.choice([-1, 1], shape) * rng.uniform(0.5, 3.0, shape), dtype)
            for _ in range(3)
        ]
        for name, n, wanted in [
            ("add", 0, g),
            ("add", 1, g),
            ("subtract", 0, g),
            ("subtract", 1, 0 - g),
            ("multiply", 0, b * g),
            ("multiply", 1, a * g),
            ("divide", 0, g * (1 / b)),
            ("divide", 1, -(g / b) * (a / b)),
            ("negative", 0, 0 - g),
        ]:
            found = np.asarray(rule(name, n, g, *(a, b)[: 1 if name == "negative" else 2]))
            assert found.shape == shape and np.allclose(found, wanted, rtol=1e-5, atol=0), (
                f"{name}, input {n}, a = {a}, b = {b}, g = {g}: {wanted} is due, found {found}"
            )
            assert found.dtype.name == dtype, (
                f"{name} of {dtype} should stay {dtype}, found {found.dtype}"
            )


# %% curves points=4
def test_curves_agree_with_a_nudge():
    a = np.random.default_rng(3).uniform(0.3, 2.5, (2, 3))
    g = np.array([[1.0, -2.0, 0.5], [7.0, 3.0, -0.25]])
    sigmoid = lambda x: 1 / (1 + np.exp(-x))
    for name, f in [
        ("exp", np.exp),
        ("log", np.log),
        ("sqrt", np.sqrt),
        ("sin", np.sin),
        ("cos", np.cos),
        ("tanh", np.tanh),
        ("sigmoid", sigmoid),
    ]:
        wanted = g * (f(a + 1e-6) - f(a - 1e-6)) / 2e-6
        found = rule(name, 0, g, a)
        assert np.shape(found) == (2, 3) and np.allclose(found, wanted, rtol=1e-6, atol=1e-9), (
            f"{name}: nudging the input moves the loss by {wanted}, your rule says {found}, for"
            f" a = {a} and g = {g}"
        )
        assert np.array_equal(g, [[1, -2, 0.5], [7, 3, -0.25]]), (
            f"your rule of {name} wrote into g: {g}"
        )


def test_curves_stay_narrow_and_finite():
    a, g = np.array([-100.0, 0.5, 100.0], "float32"), np.array([2.0, 2.0, -3.0], "float32")
    for name, middle in [
        ("sin", 1.7551651),
        ("cos", -0.9588511),
        ("tanh", 1.5728954),
        ("sigmoid", 0.4700074),
    ]:
        found = np.asarray(rule(name, 0, g, a))
        assert found.dtype.name == "float32", (
            f"your rule of {name} makes {found.dtype} of float32"
        )
        assert np.isfinite(found).all(), (
            f"{name}: at -100, 0.5, 100 your rule gives {found}: use out, which is finite"
        )
        assert abs(found[1] - middle) < 1e-5, (
            f"{name}: at 0.5, when 2 arrives, {middle} is due, yours is {found[1]}"
        )


# %% curves hidden points=1
def test_curves_at_other_places():
    places = np.array([[-4.0, -1.5, -0.2], [0.0, 0.7, 3.0]])
    for dtype, narrow in [("float64", 1e-9), ("float32", 1e-4)]:
        for name, slope in [
            ("exp", np.exp),
            ("sin", lambda a: np.sin(a + np.pi / 2)),
            ("cos", lambda a: np.cos(a + np.pi / 2)),
            ("tanh", lambda a: 1 / np.cosh(a) ** 2),
            ("sigmoid", lambda a: 0.25 / np.cosh(a / 2) ** 2),
            ("log", lambda a: a**-1.0),
            ("sqrt", lambda a: 0.5 * a**-0.5),
        ]:
            for at in (places, places[:, :1], places[0, 2], places[:0]):
                at = np.array(np.abs(at) ** 5 + 1e-3 if name in ("log", "sqrt") else at, dtype)
                g = np.array(np.linspace(-3, 50, at.size).reshape(at.shape), dtype)
                found, wanted = (
                    np.asarray(rule(name, 0, g, at)),
                    g * slope(at.astype("float64")),
                )
                assert found.shape == at.shape and np.allclose(
                    found, wanted, rtol=narrow, atol=narrow / 10
                ), f"{name} at {at}, g = {g}: {wanted} is due, found {found}"
                assert found.dtype.name == dtype, (
                    f"{name} of {dtype} should stay {dtype}, found {found.dtype}"
                )


# %% choices points=5
def test_the_larger_and_the_smaller_get_the_gradient():
    a, b = np.array([[1.0, 5.0, -2.0]], "float32"), np.array([[4.0, 3.0, -7.0]], "float32")
    g = np.array([[10.0, 20.0, -30.0]], "float32")
    for name, n, wanted in [
        ("maximum", 0, [[0, 20, -30]]),
        ("maximum", 1, [[10, 0, 0]]),
        ("minimum", 0, [[10, 0, 0]]),
        ("minimum", 1, [[0, 20, -30]]),
    ]:
        found = np.asarray(rule(name, n, g, a, b))
        assert np.array_equal(found, wanted), (
            f"{name} of {a} and {b}, when {g} arrives: {wanted} is due to input {n}, yours "
            f"gives {found}"
        )
        assert found.dtype.name == "float32", (
            f"your rule of {name} makes {found.dtype} of float32"
        )


def test_equals_share_the_gradient():
    a, b, g = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 2.0]), np.array([10.0, -6.0, 8.0])
    for name, both in [
        ("maximum", ([5, -3, 8], [5, -3, 0])),
        ("minimum", ([5, -3, 0], [5, -3, 8])),
    ]:
        found = [rule(name, n, g, a, b) for n in (0, 1)]
        assert np.allclose(found[0] + found[1], g, rtol=1e-12, atol=0), (
            f"{name} of {a} and {b}: where a equals b the two together should get g = {g}, "
            f"yours get {found[0]} and {found[1]}"
        )
        assert np.array_equal(found, both), (
            f"{name}: equal inputs share evenly, {both}, yours: {found}"
        )


def test_absolute_and_relu_have_their_kink_at_0():
    a, g = (
        np.array([-3.0, -0.5, 0.0, 0.25, 4.0], "float32"),
        np.array([1.0, 2.0, 3.0, -4.0, 5.0], "float32"),
    )
    for name, wanted in [("absolute", [-1, -2, 0, -4, 5]), ("relu", [0, 0, 0, -4, 5])]:
        found = np.asarray(rule(name, 0, g, a))
        assert np.array_equal(found, wanted), (
            f"{name} of {a}, when {g} arrives: {wanted} is due, yours gives {found}"
        )
        assert found.dtype.name == "float32", (
            f"your rule of {name} makes {found.dtype} of float32"
        )


def test_clip_is_flat_outside_only():
    a, g = (
        np.array([-3.0, -1.0, 0.5, 2.0, 4.0], "float32"),
        np.array([1.0, 2.0, 3.0, -4.0, 5.0], "float32"),
    )
    for low, high, wanted in [
        (-1, 2, [0, 2, 3, -4, 0]),
        (None, 2, [1, 2, 3, -4, 0]),
        (-1, None, [0, 2, 3, -4, 5]),
    ]:
        found = np.asarray(rule("clip", 0, g, a, low=low, high=high))
        assert np.array_equal(found, wanted), (
            f"clip of {a} to {low}...{high}, when {g} arrives: {wanted} is due, yours gives "
            f"{found}"
        )
        assert found.dtype.name == "float32", (
            f"your rule of clip makes {found.dtype} of float32"
        )


def test_where_sends_the_gradient_where_the_number_came_from():
    c, g = np.array([True, False, True]), np.array([1.0, -2.0, 3.0], "float32")
    a, b = np.array([5.0, 6.0, 7.0], "float32"), np.array([6.0, 6.0, 6.0], "float32")
    for n, wanted in [(1, [1, 0, 3]), (2, [0, -2, 0])]:
        found = np.asarray(rule("where", n, g, c, a, b))
        assert np.array_equal(found, wanted), (
            f"where({c}, a, b), when {g} arrives: {wanted} is due to {'_ab'[n]}, yours gives "
            f"{found}"
        )
        assert found.dtype.name == "float32", (
            f"your rule of where makes {found.dtype} of float32"
        )


# %% choices hidden points=1
def test_choices_among_other_numbers():
    a, b = (
        np.array([[0.0, -1.0, 7.0], [2.5, -3.0, 1e9]]),
        np.array([[-0.0, -2.0, 7.0], [np.inf, -3.0, -1e9]]),
    )
    g = np.array([[4.0, 8.0, -2.0], [6.0, 10.0, 12.0]])
    mask = np.array([[True, True, False], [False, True, False]])
    for name, n, arrays, wanted in [
        ("maximum", 0, (a, b), [[2, 8, -1], [0, 5, 12]]),
        ("maximum", 1, (a, b), [[2, 0, -1], [6, 5, 0]]),
        ("minimum", 0, (a, b), [[2, 0, -1], [6, 5, 0]]),
        ("minimum", 1, (a, b), [[2, 8, -1], [0, 5, 12]]),
        ("absolute", 0, (a,), [[0, -8, -2], [6, -10, 12]]),
        ("relu", 0, (a,), [[0, 0, -2], [6, 0, 12]]),
        ("where", 1, (mask, a, b), [[4, 8, 0], [0, 10, 0]]),
        ("where", 2, (mask, a, b), [[0, 0, -2], [6, 0, 12]]),
    ]:
        found = rule(name, n, g, *arrays)
        assert np.array_equal(found, wanted), (
            f"{name}, input {n} of {arrays}, g = {g}: {wanted} is due, found {found}"
        )
    for low, high, wanted in [
        (0, 7, [[4, 0, -2], [6, 0, 0]]),
        (-3.0, None, g),
        (None, -1.0, [[0, 8, 0], [0, 10, 0]]),
    ]:
        found = rule("clip", 0, g, a, low=low, high=high)
        assert np.array_equal(found, wanted), (
            f"clip of {a} to {low}...{high}, g = {g}: {wanted} is due, found {found}"
        )
    a, b, g = (
        np.array([np.nan, 1.0, np.nan, 3.0]),
        np.array([1.0, np.nan, np.nan, 2.0]),
        np.array([5.0, 6.0, 7.0, 8.0]),
    )
    for name, n, last in [
        ("maximum", 0, 8),
        ("maximum", 1, 0),
        ("minimum", 0, 0),
        ("minimum", 1, 8),
    ]:
        found = rule(name, n, g, a, b)
        assert np.array_equal(found, [0, 0, 0, last]), (
            f"{name}, {n} of {a}, {b}: [0, 0, 0, {last}], found {found}"
        )
    found = rule("clip", 0, g, a, low=-1, high=4)
    assert np.array_equal(found, [0, 6, 0, 8]), (
        f"clip of {a} to -1...4, g = {g}: [0, 6, 0, 8] is due, found {found}"
    )


# %% unbroadcast points=6
def test_rows_that_share_a_bias_add_up():
    g = np.array([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]], "float32")
    found = unbroadcast(g, (4,))
    assert found.shape == (4,), (
        f"a bias of shape (4,) needs a gradient of shape (4,), yours has {found.shape}"
    )
    assert np.array_equal(found, [15, 18, 21, 24]), (
        f"three rows used the bias: their slopes sum to [15, 18, 21, 24], yours is {found}. (A "
        "mean belongs to the loss)"
    )
    assert found.dtype.name == "float32", f"float32 should stay float32, yours is {found.dtype}"


def test_a_length_of_1_was_stretched_too():
    g = np.arange(1.0, 13.0, dtype="float32").reshape(3, 4)
    for shape, wanted in [
        ((3, 1), [[10], [26], [42]]),
        ((1, 4), [[15, 18, 21, 24]]),
        ((1, 1), [[78]]),
        ((1,), [78]),
        ((), 78),
    ]:
        try:
            found = unbroadcast(g, shape)
        except ValueError as error:
            assert False, (
                f"from (3, 4) back to {shape}: {error}. Axes of length 1 were broadcast too: "
                "sum them"
            )
        assert np.shape(found) == shape, (
            f"the gradient of shape {shape} should have that shape, yours has "
            f"{np.shape(found)}: axes of length 1 were broadcast too"
        )
        assert np.array_equal(found, wanted), (
            f"from (3, 4) back to {shape} the sum is {wanted}, yours is {found}"
        )


def test_unbroadcast_undoes_every_broadcast():
    for shape, big in [
        ((2, 1, 4), (5, 2, 3, 4)),
        ((3, 1), (2, 3, 4)),
        ((4,), (2, 3, 4)),
        ((1, 3, 1), (2, 3, 4)),
        ((2, 3, 4), (2, 3, 4)),
        ((3, 1), (3, 0)),
        ((1, 5), (0, 5)),
        ((0,), (3, 0)),
        ((3,), (3, 3)),
        ((3, 1), (3, 3)),
        ((2, 1, 2), (2, 2, 2)),
        ((2, 2), (2, 2, 2)),
    ]:
        g = np.random.default_rng(1).normal(size=big)
        wanted = np.zeros(shape)
        place = np.broadcast_to(np.arange(wanted.size).reshape(shape), big)
        for at in np.ndindex(big):
            wanted.ravel()[place[at]] += g[at]
        found = unbroadcast(g, shape)
        assert found.shape == shape, (
            f"from {big} back to {shape}, your result has shape {found.shape}"
        )
        assert np.allclose(found, wanted, rtol=1e-12, atol=1e-12), (
            f"from {big} back to {shape}: {wanted} is due, yours is {found}. Which places was "
            "each copied to? (Shapes line up at the right, whatever their lengths)"
        )


# %% unbroadcast hidden points=1
def test_other_broadcasts_are_undone():
    rng = np.random.default_rng(22)
    for shape, big, dtype in [
        ((), (), "float64"),
        ((), (2, 1, 3), "float32"),
        ((1, 1, 1), (4, 1, 5), "float64"),
        ((1,), (1,), "float32"),
        ((1, 2, 1, 2), (3, 2, 2, 2), "float64"),
        ((2, 1), (2, 2, 1), "float64"),
        ((5,), (0, 5), "float32"),
        ((1, 0), (4, 0), "float64"),
        ((6, 1), (6, 7), "int64"),
        ((1, 4, 1, 1, 3), (2, 4, 3, 1, 3), "float64"),
    ]:
        g, size = np.array(100 * rng.normal(size=big), dtype), math.prod(shape)
        places = np.broadcast_to(np.arange(size).reshape(shape), big)
        wanted = np.bincount(places.ravel(), g.ravel(), size).reshape(shape)
        found = unbroadcast(g=g, shape=shape)
        assert np.shape(found) == shape and np.allclose(found, wanted, rtol=1e-4, atol=1e-4), (
            f"from {big} back to {shape}: {wanted} is due, found {found}, when {g} arrives"
        )


# %% learner-side
def added_again_and_again(x, step, times):
    """x + step + step + ..."""
    for _ in range(times):
        x = x + step
    return x


def count_of_results(tensor):
    """How many tensors `oldest_first` lists."""
    return len(oldest_first(tensor))


# %% order points=6
def test_every_result_comes_once_and_oldest_first():
    x = Variable([2.0, 3.0])
    a = x * 2.0
    b = a + 1.0
    c = b * a
    d = np.array([5.0, 7.0], "float32") - a
    z = d * c + b
    try:
        found = [t.creator.created for t in oldest_first(z)]
    except (ValueError, TypeError) as error:
        assert False, (
            f"{error}. Do you look for tensors in a list? `in` on a list compares with ==, "
            "which tensors do place by place; use a set"
        )
    wanted = sorted(t.creator.created for t in (a, b, c, d, z)) + [z.creator.created - 1]
    assert len(found) == len(set(found)), (
        f"somebody is there twice, the orders of yours are {found}: keep a set"
    )
    assert len(found) == 6, (
        f"six results went into z, a, b, c, d, d * c and z itself; you found {len(found)}"
    )
    assert found == sorted(wanted), (
        f"the oldest should come first, the orders of yours are {found}"
    )


def test_inputs_without_a_note_are_left_out():
    x = Variable([1.0, 2.0])
    found = oldest_first(Tensor([3.0, 4.0]) * x + 5.0)
    assert len(found) == 2, (
        "3 and 4, x and 5.0 were given, not made: two results have notes, you found "
        f"{len(found)}"
    )
    assert len(oldest_first(x)) == 0, (
        "a tensor that was not made from others has no results before it"
    )


def test_ten_thousand_operations_and_many_paths():
    x = y = Variable(1.0)
    try:
        found = count_of_results(added_again_and_again(x, 0.5, 10_000))
    except RecursionError:
        assert False, (
            "a graph 10,000 operations deep is too deep for a function that calls itself: keep "
            "your own list"
        )
    assert found == 10_000, f"10,000 results have notes, you found {found}"
    for _ in range(20):
        y = y + y
    assert count_of_results(y) == 20, (
        "y = y + y twenty times makes 20 results on a million paths: visit each once"
    )


# %% learner-side
def added_up(arrivals, both=True, kind=None):
    """The sum of the arrivals as `accumulate` makes it, the arrivals afterwards, and what a
    second tensor got.

    Every arrival but the last goes to both tensors; with both=False all go to one. They arrive
    as arrays, or as what `kind` says: "scalar" for NumPy scalars, "view" for read-only views.
    """
    if kind:
        arrivals = [
            g[()] if kind == "scalar" else np.broadcast_to(g, g.shape) for g in arrivals
        ]
    x, y = [Variable(np.zeros(np.shape(arrivals[0]))) for _ in range(2)]
    gradients, mine = {}, set()
    for g in arrivals[:-1]:
        accumulate(gradients, mine, x, g)
        if both:
            accumulate(gradients, mine, y, g)
    accumulate(gradients, mine, x, arrivals[-1])
    return (
        np.array(gradients[x]),
        [np.array(g) for g in arrivals],
        np.array(gradients[y]) if y in gradients else None,
    )


def sums_before(arrivals):
    """For each arrival, the array that held the sum before it, as it reads after it; None where
    there was none."""
    x, gradients, mine, found = Variable(np.zeros(2)), {}, set(), []
    for g in arrivals:
        before = gradients.get(x)
        accumulate(gradients, mine, x, g)
        found.append(None if before is None else np.array(before))
    return found


# %% accumulate points=6
def test_all_arrivals_are_added_up():
    arrivals = [
        np.array([1.0, -2.0]),
        np.array([10.0, 20.0]),
        np.array([100.0, 0.5]),
        np.array([1000.0, 0.25]),
    ]
    for n, wanted in [(1, [1, -2]), (2, [11, 18]), (3, [111, 18.5]), (4, [1111, 18.75])]:
        total = added_up([g.copy() for g in arrivals[:n]], both=False)[0]
        assert np.array_equal(total, wanted), (
            f"{n} arrivals, {[g.tolist() for g in arrivals[:n]]}, make {wanted}, yours make "
            f"{total}: add, do not replace"
        )


def test_single_numbers_add_up_too():
    for name, kind in [("scalars", "scalar"), ("arrays of shape ()", None)]:
        for n, wanted in [(1, 1), (2, 21), (3, 321), (4, 4321)]:
            try:
                total = added_up(
                    [np.array(k, "float32") for k in (1, 20, 300, 4000)[:n]], False, kind
                )[0]
            except TypeError as error:
                assert False, (
                    "for shape () the sum is a NumPy scalar, which cannot be written into: "
                    f"{error}"
                )
            assert float(total) == wanted, (
                f"{n} of the {name} 1, 20, 300, 4000 make {wanted}, yours {float(total)}: for "
                "shape () the sum is a NumPy scalar, and += on a name of your own does not"
                " reach the dictionary. Assign to gradients[x]"
            )


def test_what_arrives_is_not_written_into():
    arrivals = [np.array([1.0, -2.0]), np.array([10.0, 20.0]), np.array([100.0, 0.5])]
    total, after, other = added_up([g.copy() for g in arrivals])
    for n in range(3):
        assert np.array_equal(after[n], arrivals[n]), (
            f"arrival {n} was {arrivals[n]} and is now {after[n]}: the rule of a + b hands one "
            "array to both, and writing into it changes the other's gradient too. Make a new"
            " array for the first sum"
        )
    assert np.array_equal(total, [111, 18.5]), (
        f"three arrivals make [111, 18.5], yours make {total}"
    )


def test_two_tensors_never_share_a_sum():
    for n, wanted in [(2, [1, -2]), (3, [11, 18]), (4, [111, 18.5])]:
        arrivals = [
            np.array([1.0, -2.0]),
            np.array([10.0, 20.0]),
            np.array([100.0, 0.5]),
            np.array([7.0, 7.0]),
        ]
        other = added_up(arrivals[:n])[2]
        assert np.array_equal(other, wanted), (
            f"b received {wanted}; then something arrived for a alone, and b's changed to "
            f"{other}: they share an array"
        )


def test_read_only_arrivals_are_fine():
    try:
        total = added_up([np.array([3.0, 3.0]) for _ in range(3)], kind="view")[0]
    except ValueError as error:
        assert False, (
            f"a rule may hand over a read-only view: {error}. Do not write into what arrives"
        )
    assert np.array_equal(total, [9, 9]), (
        f"three times [3, 3] makes [9, 9], yours makes {total}"
    )


def test_later_arrivals_go_in_place():
    arrivals = [
        np.array([1.0, 2.0]),
        np.array([10.0, 20.0]),
        np.array([100.0, 0.5]),
        np.array([7.0, 7.0]),
    ]
    found = [None if before is None else before.tolist() for before in sums_before(arrivals)]
    assert found[1] == [1, 2], (
        f"[1, 2] came first, and reads {found[1]} after the second arrival: that needs a new "
        "array, the first one is not yours to write into"
    )
    assert found[2:] == [[111, 22.5], [118, 29.5]], (
        "from the third on the sum is yours and can be added to in place: the array that held "
        "[11, 22] and then [111, 22.5] should read [111, 22.5] and [118, 29.5] next, yours"
        f" reads {found[2:]}"
    )


# %% accumulate hidden points=1
def test_arrivals_of_other_shapes_add_up():
    rng = np.random.default_rng(23)
    for shape, dtype, kind in [
        ((2, 1, 3), "float32", None),
        ((0,), "float64", None),
        ((), "float64", "scalar"),
        ((), "float32", "view"),
        ((4,), "float32", "view"),
        ((3, 2), "float64", "view"),
    ]:
        for n in (1, 2, 3, 9):
            arrivals = [np.array(rng.integers(-9, 9, shape), dtype) for _ in range(n)]
            total, after, other = added_up([g.copy() for g in arrivals], True, kind)
            assert total.dtype.name == dtype and np.array_equal(
                total, np.sum(arrivals, axis=0)
            ), (
                f"{n} arrivals ({kind}) {arrivals} make {np.sum(arrivals, axis=0)}, found "
                f"{total}"
            )
            assert np.array_equal(after, arrivals), (
                f"{n} arrivals ({kind}) were {arrivals}, and are now {after}"
            )
            assert (
                (other is None)
                if n == 1
                else np.array_equal(other, np.sum(arrivals[:-1], axis=0))
            ), (
                f"all but the last of {arrivals} ({kind}) went to a second tensor, which holds "
                f"{other}"
            )


# %% learner-side
def received(node, g):
    """What each input of `node` has received after one `hand_on`; None for nothing."""
    gradients = {}
    hand_on(node, g, gradients, set())
    return [gradients.get(x) if isinstance(x, Tensor) else None for x in node.creator.inputs]


def scaled(x, factor):
    return x * factor


calls = []
derivative(
    scaled,
    lambda g, out, x, factor: calls.append("x") or g * factor,
    lambda g, out, x, factor: calls.append("factor") or g * x,
)


def rules_called(x, factor):
    """Which rules were called for an operation of these two inputs."""
    calls.clear()  # what is called can be counted nowhere else than here
    hand_on(apply(scaled, x, factor), np.ones(2, "float32"), {}, set())
    return list(calls)


def chosen_by(mask, a, b):
    """np.where of Tensors, its condition too, or of numbers."""
    return apply(np.where, mask, a, b)


# %% hand-on points=5
def test_each_input_gets_its_share():
    a, b = Variable([[2.0, 3.0, 5.0]]), Variable([[7.0, -1.0, 4.0]])
    found = received(a / b, np.array([[7.0, 2.0, 16.0]], "float32"))
    for name, part, wanted in [
        ("a", found[0], [[1, -2, 4]]),
        ("b", found[1], [[-2 / 7, -6, -5]]),
    ]:
        assert part is not None, f"{name} of a / b wants a gradient and received nothing"
        assert np.allclose(part, wanted, rtol=1e-6, atol=0), (
            f"{name} of a / b should receive {wanted}, yours gets {part}"
        )


def test_the_same_tensor_on_both_sides_receives_both():
    x = Variable([3.0, -4.0])
    found = received(x * x, np.array([1.0, 10.0], "float32"))[0]
    assert np.array_equal(found, [6, -80]), (
        f"x * x has slope 2x: [6, -80] is due when [1, 10] arrives, yours: {found}"
    )


def test_broadcasting_and_dtype_are_undone():
    a, b = Variable(np.ones((2, 3), "float32")), Variable(np.array([[2.0], [5.0]]))
    assert (a * b).dtype.name == "float64", "float32 times float64 is float64"
    found = received(a * b, np.array([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]]))
    assert found[1].shape == (2, 1), (
        f"b has shape (2, 1), its gradient {found[1].shape}: fit what the rule returns"
    )
    assert np.array_equal(found[1], [[7], [56]]), (
        f"b used in three columns gets [[7], [56]], yours {found[1]}"
    )
    assert found[0].dtype.name == "float32", (
        f"a is float32, so its gradient is too, not {found[0].dtype}: fit it"
    )


def test_options_reach_the_rules():
    x = Variable([-3.0, 0.5, 4.0])
    try:
        found = received(x.clip(-1, 1), np.array([1.0, 2.0, 3.0], "float32"))[0]
    except TypeError as error:
        assert False, (
            "the rule of clip needs low and high, which are among the creator's options: "
            f"{error}"
        )
    assert np.array_equal(found, [0, 2, 0]), (
        f"clip(-1, 1) of [-3, 0.5, 4] lets only 2 through, yours gives {found}"
    )


def test_nobody_works_for_an_input_that_wants_nothing():
    wants, plain = Variable([1.0, 2.0]), Tensor([3.0, 4.0])
    for x, factor, wanted in [
        (wants, wants, ["x", "factor"]),
        (wants, plain, ["x"]),
        (plain, wants, ["factor"]),
        (wants, 2.0, ["x"]),
    ]:
        try:
            found = rules_called(x, factor)
        except AttributeError as error:
            assert False, f"an input may be a plain number, which has no requires_grad: {error}"
        assert found == wanted, f"rules should be called for {wanted} only, yours calls {found}"
    mask, a = Variable([1.0, 0.0]), Variable([1.0, 2.0])
    try:
        found = received(chosen_by(mask, 3.0, a), np.array([5.0, 7.0], "float32"))
    except TypeError as error:
        assert False, f"the condition of where has None for a rule, so it gets nothing: {error}"
    assert found[0] is None and np.array_equal(found[2], [0, 7]), (
        f"where gives its last input [0, 7], yours {found[2]}"
    )


# %% hand-on hidden points=1
def test_operations_of_several_inputs_hand_on():
    a, b, plain = (
        Variable(np.zeros((2, 2))),
        Variable(np.zeros((1, 2), "float32")),
        Tensor(np.zeros((3, 2))),
    )
    g = np.arange(1.0, 17.0).reshape(8, 2) / 4

    def joined(*arrays):
        return np.concatenate(arrays)

    derivative(
        joined,
        *[
            lambda g, out, *arrays, first=first, end=end: g[first:end]
            for first, end in [(0, 2), (2, 3), (3, 6), (6, 8)]
        ],
    )
    found = received(apply(joined, a, b, plain, a), g)
    for n, wanted in [(0, g[:2] + g[6:]), (1, g[2:3]), (3, g[:2] + g[6:])]:
        assert np.array_equal(found[n], wanted), (
            f"[a, b, plain, a] joined: {n} should get {wanted}, found {found[n]}"
        )
    assert found[2] is None, f"a tensor that wants no gradient got {found[2]}"
    assert found[1].dtype.name == "float32", f"b is float32, its gradient {found[1].dtype}"
    a, b = Variable(np.full((3, 1, 2), 2.0)), Variable(np.full((4, 1), -5.0))
    g = np.arange(24.0).reshape(3, 4, 2) - 7
    for name, out, wanted in [
        ("a * b", a * b, [-5 * g.sum(1, keepdims=True), 2 * g.sum((0, 2)).reshape(4, 1)]),
        (
            "where(mask, a, b)",
            chosen_by(np.arange(8).reshape(4, 2) % 3 == 0, a, b),
            [
                None,
                (g * (np.arange(8).reshape(4, 2) % 3 == 0)).sum(1, keepdims=True),
                (g * (np.arange(8).reshape(4, 2) % 3 != 0)).sum((0, 2)).reshape(4, 1),
            ],
        ),
    ]:
        for n, (mine, right) in enumerate(zip(received(out, g), wanted)):
            assert (mine is None) if right is None else np.array_equal(mine, right), (
                f"{name} of shapes (3, 1, 2) and (4, 1), when {g} arrives: input {n} should get"
                f" {right}, found {mine}"
            )


# %% learner-side
def given_after_writing(tensor, gradient, number):
    """The numbers of `gradient`, read after `number` was written over all of the gradient that
    the walk starts with."""
    first_gradient(tensor, gradient)[...] = number
    return np.array(operand(gradient))


# %% start points=4
def test_one_number_starts_from_1():
    for data, dtype in [
        (np.float32(3.0), "float32"),
        (np.array([[3.0]]), "float64"),
        (np.array([2.0], "float32"), "float32"),
    ]:
        x = Variable(np.array(data))
        found = first_gradient(x)
        assert np.shape(found) == np.shape(data), (
            f"shape {np.shape(data)} starts from that shape, yours {np.shape(found)}"
        )
        assert np.array_equal(found, np.ones_like(data)), (
            f"the slope of a number by itself is 1, yours starts from {found}"
        )
        assert np.asarray(found).dtype.name == dtype, (
            f"{dtype} should start from {dtype}, yours {np.asarray(found).dtype}"
        )


def test_several_numbers_need_a_gradient():
    for shape in [(2,), (3, 4), (1, 2), (0,)]:
        try:
            found = first_gradient(Variable(np.ones(shape, "float32")))
        except NotImplementedError:
            raise
        except RuntimeError as error:
            assert str(shape) in str(error), (
                f"the error should name the shape {shape}, yours: {error}"
            )
        else:
            assert False, (
                f"a tensor of shape {shape} needs an explicit gradient, yours starts from "
                f"{found}: a forgotten mean() would go unnoticed"
            )


def test_a_given_gradient_is_copied_and_converted():
    mine = np.array([[1.0, -2.0, 0.5]])
    x = Variable(np.zeros((1, 3), "float32"))
    for given in (mine, Tensor(mine), mine.tolist()):
        found = first_gradient(x, given)
        assert np.array_equal(found, mine), (
            f"the walk should start from {mine}, yours from {found}"
        )
        assert found.dtype.name == "float32", (
            f"the tensor is float32, so the gradient is too, not {found.dtype}"
        )
    wide = Variable(np.zeros((1, 3)))
    for given in (mine.copy(), Tensor(mine)):
        after = given_after_writing(wide, given, 50)
        assert np.array_equal(after, mine), (
            f"writing into your array changed the one I gave: copy it. I gave {mine}, and it "
            f"reads {after}"
        )
    assert float(first_gradient(Variable(2.0), 3.0)) == 3.0, (
        "a plain number may be the gradient of a plain number"
    )


def test_a_gradient_of_another_shape_is_refused():
    for shape, other in [
        ((2, 3), (3,)),
        ((2, 3), (3, 2)),
        ((3,), (1, 3)),
        ((2,), ()),
        ((), (1,)),
        ((4,), (1,)),
    ]:
        try:
            found = first_gradient(
                Variable(np.ones(shape, "float32")), np.ones(other, "float32")
            )
        except ValueError as error:
            assert str(shape) in str(error) and str(other) in str(error), (
                f"the error should name {shape} and {other}, yours: {error}"
            )
        else:
            assert False, (
                f"a gradient of shape {other} does not fit a tensor of shape {shape}, yours "
                f"gives {found}"
            )


# %% start hidden points=1
def test_walks_start_from_other_gradients():
    for shape, dtype, given, wanted in [
        ((1, 1, 1), "float64", None, [[[1]]]),
        ((), "float32", -2, -2),
        ((1,), "float32", Tensor([0.25]), [0.25]),
        ((), "float64", np.array(0.5, "float32"), 0.5),
        ((2,), "float64", np.array([7, -7]), [7, -7]),
        ((3, 1), "float32", [[1], [2], [3]], [[1], [2], [3]]),
        ((2, 1, 2), "float64", [[[1.5, 2]], [[-3, 4]]], [[[1.5, 2]], [[-3, 4]]]),
        ((0, 2), "float32", np.zeros((0, 2)), np.zeros((0, 2))),
    ]:
        x = Variable(np.full(shape, 9, dtype))
        found = np.asarray(
            first_gradient(x) if given is None else first_gradient(tensor=x, gradient=given)
        )
        assert (
            found.shape == shape and np.array_equal(found, wanted) and found.dtype.name == dtype
        ), (
            f"a {dtype} tensor of shape {shape}, gradient {given}: {wanted} is due, found "
            f"{found!r}"
        )
    narrow, kept = Variable(np.zeros(2, "float32")), np.array([1.0, 2.0], "float32")
    for given in (kept.copy(), Tensor(kept)):
        assert np.array_equal(given_after_writing(narrow, given, 50), kept), (
            "the gradient should be a copy"
        )
    for shape, other in [
        ((2, 0, 3), None),
        ((5, 1), None),
        ((2, 1), (2,)),
        ((1, 2, 3), (2, 3)),
        ((2, 3), (2, 1)),
        ((), (1, 1)),
        ((0,), (1,)),
        ((3,), (4,)),
        ((1,), ()),
        ((2, 6), (3, 4)),
    ]:
        try:
            found = first_gradient(
                Variable(np.ones(shape)), other if other is None else np.ones(other)
            )
        except RuntimeError if other is None else ValueError as error:
            found = str(error)
            assert str(shape) in found and str(other or shape) in found, (
                f"{shape} and {other} should be named: {found}"
            )
        else:
            assert False, (
                f"a tensor of shape {shape} and a gradient of shape {other} should be refused, "
                f"found {found}"
            )


# %% learner-side
def after_writing(results, gradient, leaf, number):
    """Walk from each of the results with the same `gradient`, write `number` over leaf.grad,
    and return `gradient`."""
    for result in results:
        backward(result, gradient)
    leaf.grad[...] = number
    return gradient


# %% walk points=10
def test_three_slopes_worked_out_by_hand():
    x, y = Variable(5.0), Variable(3.0)
    backward(x * x + 2 * x * y + y * y * y)
    assert (
        x.grad is not None and y.grad is not None and (float(x.grad), float(y.grad)) == (16, 37)
    ), (
        f"x² + 2xy + y³ at 5, 3 has slopes 2x + 2y = 16 and 2x + 3y² = 37, yours are {x.grad} "
        f"and {y.grad}"
    )
    a = Variable(7.0)
    backward(a)
    assert a.grad is not None and float(a.grad) == 1, (
        f"the slope of a number by itself is 1, yours is {a.grad}"
    )


def test_shared_results_hand_on_once_with_the_whole_sum():
    x = Variable([1.0, -2.0])
    b = x + x
    c = b + b
    backward(c * c, [1.0, 10.0])
    assert np.array_equal(x.grad, [32, -640]), (
        f"(4x)² has slopes 32x = [32, -640] here, yours are {x.grad}: a tensor hands on once, "
        "when its gradient is complete"
    )
    x = Variable(2.0)
    y = 3.0 * x
    q = y * 5.0
    backward(q + 2.0 * y * 1.0)
    assert float(x.grad) == 21, (
        f"5·3x + 2·3x has slope 21, yours is {x.grad}: wait for every path into y"
    )


def test_gradients_add_up_over_calls():
    x = Variable([3.0, 4.0])
    backward(x * 2.0, [1.0, 10.0])
    backward(x * x, [1.0, 1.0])
    assert np.array_equal(x.grad, [8, 28]), (
        f"[2, 20] and then [6, 8] make [8, 28], yours are {x.grad}"
    )


def test_results_and_bystanders_keep_no_gradient():
    x, plain = Variable([3.0, 4.0]), Tensor([2.0, 5.0])
    h = x * plain
    out = h * h
    backward(out, [1.0, 1.0])
    assert np.array_equal(x.grad, [24, 200]), (
        f"(x·[2, 5])² has slopes [24, 200], yours are {x.grad}"
    )
    for name, t in [("plain", plain), ("the result in between", h), ("the last result", out)]:
        assert t.grad is None, (
            f"{name} is no leaf that wants a gradient, yet its grad is {t.grad}"
        )


def test_a_walk_frees_the_notes():
    x = Variable([3.0, 4.0])
    h = x * x
    out = h * 2.0
    backward(out, [1.0, 1.0])
    for name, result in [
        ("the same result", out),
        ("a result in between", h),
        ("something made of a freed one", h + 1.0),
    ]:
        try:
            backward(result, [1.0, 1.0])
        except NotImplementedError:
            raise
        except RuntimeError as error:
            assert "retain_graph" in str(error), (
                f"the error should name retain_graph, yours: {error}"
            )
        else:
            assert False, (
                f"a second walk, from {name}, should raise: free each note after its turn, "
                "creator = FREED"
            )
    assert np.array_equal(x.grad, [12, 16]), (
        f"a refused walk should add nothing to [12, 16], yours is {x.grad}"
    )


def test_retain_graph_keeps_them():
    x = Variable([3.0, 4.0])
    out = x * x
    for wanted in ([6, 8], [12, 16], [18, 24]):
        try:
            backward(out, [1.0, 1.0], retain_graph=True)
        except NotImplementedError:
            raise
        except RuntimeError:
            assert False, "with retain_graph=True the notes should stay, yours are freed"
        assert np.array_equal(x.grad, wanted), (
            f"walking again adds [6, 8] again: {wanted}, yours is {x.grad}. Start from nothing "
            "in each walk"
        )


def test_leaves_own_their_gradients():
    a, b, c = Variable([1.0, 2.0]), Variable([3.0, 4.0]), Variable([5.0, 6.0])
    given = after_writing([a + b, c], np.array([1.0, 10.0], "float32"), a, 500)
    for name, found in [("b's", b.grad), ("c's", c.grad), ("mine", given)]:
        assert np.array_equal(found, [1, 10]), (
            f"I wrote 500 into a.grad, and {name} became {found}: one array?"
        )


def test_the_deep_and_the_wide():
    x = Variable([1.0, 2.0])
    backward(added_again_and_again(x, x, 10_000), [1.0, 2.0])
    assert np.array_equal(x.grad, [10_001, 20_002]), (
        f"x + 10,000 x has slope 10,001, yours gives {x.grad}"
    )
    x = y = Variable(1.0)
    for _ in range(60):
        y = y + y
    backward(y)
    assert float(x.grad) == 2.0**60, (
        f"doubled 60 times, the slope is 2**60 = {2.0**60:.3g}, yours is {x.grad}"
    )


def test_gradients_keep_shape_and_dtype():
    for dtype in ("float32", "float64"):
        x, w, b = (
            Variable(np.ones((2, 3), dtype)),
            Variable(np.full((2, 1), 2.0, dtype)),
            Variable(np.ones((), dtype)),
        )
        backward(x * w + b, np.arange(6.0).reshape(2, 3))
        for name, leaf, wanted in [
            ("x", x, [[0, 2, 4], [6, 8, 10]]),
            ("w", w, [[3], [12]]),
            ("b", b, 15),
        ]:
            assert isinstance(leaf.grad, np.ndarray) and leaf.grad.shape == leaf.shape, (
                f"{name} has shape {leaf.shape}, its grad should be an array of that shape, not"
                f" {leaf.grad!r}"
            )
            assert leaf.grad.dtype.name == dtype, (
                f"{name} is {dtype}, its grad {leaf.grad.dtype}"
            )
            assert np.array_equal(leaf.grad, wanted), (
                f"the gradient of {name} is {wanted}, yours {leaf.grad}"
            )


def test_a_result_that_received_nothing_hands_on_nothing():
    x, a = Variable([1.0, 0.0]), Variable([3.0, 4.0])
    mask = x * 2.0
    try:
        backward(chosen_by(mask, a, 7.0), [1.0, 10.0])
    except (KeyError, TypeError, AttributeError) as error:
        assert False, (
            "the condition of where receives no gradient, so it has nothing to hand on: "
            f"{error!r}"
        )
    assert np.array_equal(a.grad, [1, 0]), (
        f"where took the first number only: [1, 0], yours is {a.grad}"
    )
    assert x.grad is None, f"a mask has no slope, so x has no gradient, yours is {x.grad}"


# %% walk hidden points=2
def test_a_large_graph_agrees_with_nudging():
    def f(x, w, b):
        for _ in range(3):
            h = x * w - b
            x = h * 0.5 + h / (x * x + 2.0)
            w = 1.0 / (h * h + 1.0) + w
        return x * w + h

    rng = np.random.default_rng(24)
    for shapes in [((3, 2), (2,), (3, 1)), ((), (4,), (2, 1, 1)), ((1,), (1, 1), ())]:
        arrays = [rng.normal(size=shape) for shape in shapes]
        leaves = [Variable(array) for array in arrays]
        out = f(*leaves)
        g = rng.normal(size=out.shape)
        backward(out, g)
        for n, leaf in enumerate(leaves):
            way = rng.normal(size=leaf.shape)
            up, down = [
                [array + h * way if k == n else array for k, array in enumerate(arrays)]
                for h in (1e-5, -1e-5)
            ]
            wanted = (g * (f(*up) - f(*down))).sum() / 2e-5
            found = (leaf.grad * way).sum()
            assert leaf.grad.shape == shapes[n] and abs(found - wanted) < 1e-6 * max(
                1, abs(wanted)
            ), (
                f"shapes {shapes}, input {n}: along a random direction {wanted} is due, found "
                f"{found}"
            )


def test_two_results_share_a_part_of_the_graph():
    x, y, other = Variable([[2.0, -1.0]]), Variable([[3.0, 5.0]]), Variable([9.0])
    h = x * y
    p, q = h * 3.0, h * x
    for result, g, keep, wanted in [
        (p, [[1.0, 10.0]], True, [[9, 150], [6, -30]]),
        (q, [[1.0, 1.0]], False, [[21, 140], [10, -29]]),
    ]:
        backward(result, g, retain_graph=keep)
        for name, leaf, right in [("x", x, wanted[0]), ("y", y, wanted[1])]:
            assert np.array_equal(leaf.grad, [right]), (
                f"3xy with [1, 10], then x²y with [1, 1]: {right} is due to {name}, found "
                f"{leaf.grad}"
            )
    assert h.grad is None and p.grad is None and other.grad is None, (
        "only leaves of the graph have gradients"
    )
    for name, result in [("3xy, whose xy", p), ("xy, which", h)]:
        try:
            backward(result, [[1.0, 1.0]])
        except RuntimeError as error:
            assert "retain_graph" in str(error), f"the error should name retain_graph: {error}"
        else:
            assert False, f"{name} was freed by the walk from x²y, should raise RuntimeError"
    assert np.array_equal(x.grad, [[21, 140]]), (
        f"a refused walk adds nothing to [21, 140], found {x.grad}"
    )


# %% put-back points=4
def test_reduced_axes_come_back_as_1():
    for axis, before, wanted in [
        (1, (2, 4), (2, 1, 4)),
        (-1, (2, 3), (2, 3, 1)),
        (0, (3, 4), (1, 3, 4)),
        ((0, -1), (3,), (1, 3, 1)),
        (None, (), (1, 1, 1)),
        ((), (2, 3, 4), (2, 3, 4)),
    ]:
        g = np.arange(np.prod(before)).reshape(before)
        found = put_back(g, (2, 3, 4), axis)
        assert np.shape(found) == wanted, (
            f"(2, 3, 4) reduced along {axis} is {before}, and put back {wanted}; yours is "
            f"{np.shape(found)}"
        )
        assert np.array_equal(np.ravel(found), np.ravel(g)), (
            f"the numbers should stay {g}, yours are {found}"
        )


def test_kept_axes_need_nothing():
    for axis, shape in [(1, (2, 1, 4)), ((0, -1), (1, 3, 1)), (None, (1, 1, 1))]:
        try:
            found = put_back(np.ones(shape), (2, 3, 4), axis, True)
        except ValueError as error:
            assert False, f"keepdims kept the axes, shape {shape} is complete: {error}"
        assert found.shape == shape, (
            f"keepdims kept the axes: {shape} should stay, yours is {found.shape}"
        )
    found = put_back(np.ones((2, 4)), (2, 3, 4), 1, False)
    assert found.shape == (2, 1, 4), (
        f"without keepdims, axis 1 of (2, 4) comes back as (2, 1, 4), yours is {found.shape}"
    )


def test_sums_and_means_give_each_place_its_own_gradient():
    array = np.random.default_rng(2).normal(size=(3, 3, 3))
    for axis, keepdims in [
        (None, False),
        (0, False),
        (1, False),
        (-1, False),
        (1, True),
        ((0, 2), False),
        ((-1, 0), True),
    ]:
        x = Variable(array)
        out = x.sum(axis, keepdims)
        g = np.random.default_rng(4).normal(size=out.shape)
        backward(out, g)
        wanted = np.array(
            [
                (
                    np.where(np.arange(27).reshape(3, 3, 3) == k, 1.0, 0).sum(
                        axis, keepdims=keepdims
                    )
                    * g
                ).sum()
                for k in range(27)
            ]
        ).reshape(3, 3, 3)
        assert np.allclose(x.grad, wanted, rtol=1e-12, atol=0), (
            f"sum along {axis}, keepdims={keepdims}: the gradient should be\n{wanted}\nyours "
            f"is\n{x.grad}"
        )
    x = Variable(np.ones((2, 5), "float32"))
    backward(x.mean(axis=1), [10.0, 20.0])
    assert np.allclose(x.grad, [[2] * 5, [4] * 5], rtol=1e-6), (
        f"means of 5: [[2...], [4...]], yours {x.grad}"
    )


def test_the_largest_get_it_and_equals_share():
    for axis, wanted in [(1, [[0, 10, 0], [50, 0, 50]]), (-1, [[0, 10, 0], [50, 0, 50]])]:
        x = Variable([[1.0, 7.0, 3.0], [4.0, 2.0, 4.0]])
        backward(x.max(axis), [10.0, 100.0])
        assert np.allclose(x.grad, wanted), (
            f"max along {axis} of {x.data} gives back {wanted}, yours {x.grad}"
        )
    x = Variable([[1.0, 7.0, 3.0], [4.0, 1.0, 4.0]])
    backward(x.min(), 8.0)
    assert np.allclose(x.grad, [[4, 0, 0], [0, 4, 0]]), (
        f"the smallest, 1, is there twice and shares 8; yours {x.grad}"
    )


# %% put-back hidden points=1
def test_other_axes_are_put_back():
    for shape, axis in [
        ((4, 1, 2, 3, 1), (1, -2)),
        ((4, 1, 2, 3, 1), -5),
        ((3, 3, 3), (-1, 0)),
        ((3, 3, 3), -2),
        ((5,), 0),
        ((5,), (0,)),
        ((), None),
        ((), ()),
        ((2, 0, 3), 1),
        ((0, 3), -1),
        ((1, 1), (0, 1)),
        ((2, 3), None),
        ((2, 3, 4, 5), (3, 1)),
        ((2, 3, 4, 5), (-4, 2)),
    ]:
        reduced, wanted = (
            np.zeros(shape).sum(axis),
            np.zeros(shape).sum(axis, keepdims=True).shape,
        )
        g = np.arange(float(reduced.size)).reshape(reduced.shape)
        found = put_back(g=g, shape=shape, axis=axis, keepdims=False)
        assert np.shape(found) == wanted and np.array_equal(np.ravel(found), np.ravel(g)), (
            f"{shape} reduced along {axis}, put back: shape {wanted}, numbers {g}, "
            f"found {found}"
        )
        found = put_back(g.reshape(wanted), shape, axis, keepdims=True)
        assert np.shape(found) == wanted and np.array_equal(np.ravel(found), np.ravel(g)), (
            f"{shape} reduced along {axis} with keepdims stays {wanted}, found {found}"
        )


# %% shapes points=3
def test_transposing_is_undone_not_repeated():
    for shape, axes in [
        ((2, 2, 2), (1, 2, 0)),
        ((2, 3, 4), (1, 2, 0)),
        ((2, 3, 4), (2, 0, 1)),
        ((2, 3, 4), (0, 2, 1)),
        ((2, 3), (1, 0)),
        ((5, 2, 3, 4), (3, 0, 1, 2)),
        ((3,), (0,)),
    ]:
        x = Variable(np.zeros(shape))
        places = np.arange(float(np.prod(shape))).reshape(shape)
        try:
            backward(x.transpose(*axes), places.transpose(axes))
        except (ValueError, TypeError) as error:
            assert False, (
                f"axes {axes} of shape {shape}: {error}. Undo the permutation, with "
                "argsort(axes)"
            )
        assert np.array_equal(x.grad, places), (
            f"axes {axes} of shape {shape}: each slope should come back to its "
            f"place,\n{places}\nyours are\n{x.grad}\nUndo the permutation, with argsort(axes)"
        )


def test_reshaping_keeps_every_slope_in_its_place():
    g = np.array([[0.5, 1, 2], [3, 5, 8]], "float32")
    for shape in [(6,), (3, 2), (1, 6, 1), (2, 3)]:
        x = Variable(np.zeros((2, 3), "float32"))
        backward(x.reshape(shape), g.reshape(shape))
        assert x.grad.shape == (2, 3) and np.array_equal(x.grad, g), (
            f"through {shape} and back: {g}, yours {x.grad}"
        )
    x = Variable(np.zeros((2, 3, 4)))
    for view, at in [(x.flatten(1), 11), (x.unsqueeze(1), 11), (x.unsqueeze(2).squeeze(2), 11)]:
        x.grad, g = None, np.zeros(view.shape)
        g.ravel()[at] = 7
        backward(view, g)
        assert float(x.grad[0, 2, 3]) == 7 and float(x.grad.sum()) == 7, (
            f"shape {view.shape}: 7 belongs to x[0, 2, 3]: {x.grad}"
        )


def test_what_was_stretched_is_summed():
    x = Variable([[1.0], [2.0]])
    backward(x.broadcast_to(3, 2, 4), np.arange(24.0).reshape(3, 2, 4))
    assert x.grad.shape == (2, 1), f"x has shape (2, 1), its gradient {x.grad.shape}"
    assert np.array_equal(x.grad, [[114], [162]]), (
        f"each number was copied to 12 places: [[114], [162]], yours {x.grad}"
    )


# %% shapes hidden points=1
def test_other_shapes_are_undone():
    rng = np.random.default_rng(25)
    for shape in [(3, 2, 4, 5), (2, 1, 3, 2, 2), (1, 1), (0, 3, 2), (4, 4, 4), ()]:
        for dtype in ("float32", "float64"):
            axes, order = (
                tuple(rng.permutation(len(shape)).tolist()),
                np.arange(math.prod(shape)).reshape(shape),
            )
            flat = rng.permutation(order.size).astype(dtype)
            for name, move in [
                (f"transpose{axes}", lambda x: x.transpose(*axes)),
                ("reshape to a column", lambda x: x.reshape(order.size, 1)),
                (
                    f"transpose{axes} and reshape",
                    lambda x: x.transpose(*axes).reshape(order.size),
                ),
            ]:
                x = Variable(np.zeros(shape, dtype))
                g = flat.reshape(move(order).shape)
                wanted = np.zeros(order.size, dtype)
                wanted[np.ravel(move(order))] = np.ravel(g)
                backward(move(x), g)
                assert x.grad.dtype.name == dtype and np.array_equal(
                    x.grad, wanted.reshape(shape)
                ), (
                    f"{name} of shape {shape} {dtype}, {g} arrives: {wanted.reshape(shape)} is "
                    f"due, found {x.grad}"
                )
    for small, big in [
        ((), (2, 3)),
        ((1, 3, 1), (2, 4, 3, 5)),
        ((2, 3), (2, 3)),
        ((1,), (0,)),
        ((4, 1), (4, 4)),
    ]:
        x, g = Variable(np.zeros(small)), rng.normal(size=big)
        places = np.broadcast_to(np.arange(x.size).reshape(small), big)
        wanted = np.bincount(places.ravel(), g.ravel(), x.size).reshape(small)
        backward(x.broadcast_to(big), g)
        assert x.grad.shape == small and np.allclose(x.grad, wanted), (
            f"{small} stretched to {big}, {g} arrives: {wanted} is due, found {x.grad}"
        )


# %% index points=6
def test_what_was_picked_twice_receives_twice():
    x = Variable([1.0, 2.0, 3.0, 4.0])
    backward(x[[2, 0, 2]], [1.0, 10.0, 100.0])
    assert np.array_equal(x.grad, [10, 0, 101, 0]), (
        f"x[[2, 0, 2]], when [1, 10, 100] arrives, gives x [10, 0, 101, 0], yours {x.grad}: "
        "NumPy's full[index] = g keeps only the last of several"
    )
    assert x.grad.dtype.name == "float32", (
        f"float32 should stay float32, yours is {x.grad.dtype}"
    )
    x = Variable(np.zeros((3, 2)))
    backward(x[[1, 1, 0], [0, 0, 1]], [1.0, 10.0, 100.0])
    assert np.array_equal(x.grad, [[0, 100], [11, 0], [0, 0]]), (
        f"place (1, 0) was picked twice, yours:\n{x.grad}"
    )


def test_every_index_sends_slopes_where_they_came_from():
    array = np.zeros((2, 3, 4))
    for index in [
        1,
        -1,
        slice(None, None, -1),
        (1, 2),
        (0, slice(1, 3), -1),
        (Ellipsis, 0),
        None,
        ([1, 0, 1],),
        (slice(None), [2, 0]),
        (slice(None), np.array([[0, 2], [2, 2]]), slice(1, 3)),
        (1, 2, 3),
        (),
        np.arange(24).reshape(2, 3, 4) % 5 == 2,
        (1, np.array([True, False, True])),
        ([],),
    ]:
        x = Variable(array)
        out = x[index]
        g = np.random.default_rng(5).normal(size=out.shape)
        wanted = np.zeros((2, 3, 4))
        for place, part in zip(np.ravel(np.arange(24).reshape(2, 3, 4)[index]), np.ravel(g)):
            wanted.ravel()[place] += part
        try:
            backward(out, g)
        except (ValueError, IndexError) as error:
            assert False, f"x[{index}] of shape (2, 3, 4): {error}"
        assert x.grad.shape == (2, 3, 4), f"x has shape (2, 3, 4), its gradient {x.grad.shape}"
        assert np.allclose(x.grad, wanted, rtol=1e-12, atol=0), (
            f"x[{index}] should give back\n{wanted}\nyours gives\n{x.grad}"
        )


def test_a_fraction_stays_a_fraction():
    x = np.array([1, 2, 3])
    for index in [(1,), ([1],)]:
        found = index_rule(np.full(np.shape(x[index]), 0.5), np.asarray(x[index]), x, index)
        assert np.array_equal(found, [0, 0.5, 0]), (
            f"0.5 for x[1] should stay 0.5, yours gives {found}: make zeros of the dtype of g, "
            "not of whole numbers"
        )
    found = index_rule(
        np.array([1.0, 10.0, 100.0]), None, np.zeros((2, 3)), ([1, 0, 1], [2, 1, 2])
    )
    assert np.shape(found) == (2, 3) and np.array_equal(found, [[0, 10, 0], [0, 0, 101]]), (
        "places (1, 2), (0, 1) and (1, 2) of shape (2, 3) receive [[0, 10, 0], [0, 0, 101]], "
        f"yours\n{found}"
    )
    narrow = index_rule(
        np.array([0.5, 2.0], "float32"), None, np.zeros(3, "float32"), (slice(1, None),)
    )
    assert narrow.dtype.name == "float32", (
        f"float32 should stay float32, yours is {narrow.dtype}"
    )


# %% index hidden points=1
def test_other_indices_send_slopes_back():
    rng = np.random.default_rng(26)
    array = np.zeros((4, 3, 2))
    for index in [
        ([-1, 3, 3, 0],),
        ([-1, 3],),
        (np.array([[0, -4], [2, 2]]),),
        (Ellipsis, [1, 1, 1]),
        (2, Ellipsis, [0, 0]),
        (slice(None), None, [2, 0, 2], 0),
        (np.array([3, 1], "uint8"), slice(2, 0, -1)),
        (None, -1, None),
        ([0, 1, 1], [2, 2, 2], [1, 0, 0]),
        (np.array([True, False, True, True]), [0, 0, 1]),
        (slice(1, 1),),
        (array[:, :, 0] == 0,),
        (array != 0,),
        (3, 2, 1),
        (slice(None, None, 3), 2, -1),
        (np.zeros((0, 2), int), 1),
    ]:
        places = np.arange(24).reshape(4, 3, 2)[index]
        g = np.array(rng.normal(size=np.shape(places)))
        wanted = np.array([g[places == n].sum() for n in range(24)]).reshape(4, 3, 2)
        found = index_rule(g=g, out=np.array(array[index]), x=array, index=index)
        assert np.shape(found) == (4, 3, 2) and np.allclose(
            found, wanted, rtol=1e-12, atol=1e-12
        ), f"x[{index}] of shape (4, 3, 2), when {g} arrives: {wanted} is due, found {found}"
    x = Variable(np.array(2.0))
    backward(x[None, ...] * 1.0, [5.0])
    assert x.grad.shape == () and float(x.grad) == 5, (
        f"x[None, ...] of shape (): 5 is due, found {x.grad}"
    )
    x = Variable(np.zeros(3))
    backward(x[np.arange(999) % 2], np.full(999, 0.5))
    assert np.array_equal(x.grad, [250, 249.5, 0]), (
        f"places 0 and 1, 999 times: [250, 249.5, 0], found {x.grad}"
    )


# %% matmul points=6
def test_each_weight_is_blamed_for_what_it_did():
    x, w = (
        Variable([[1.0, 2.0, 3.0], [-1.0, 0.0, 5.0]]),
        Variable([[1.0, 4.0], [0.5, -2.0], [3.0, 1.0]]),
    )
    try:
        backward(x @ w, [[1.0, 10.0], [100.0, -1.0]])
    except ValueError as error:
        assert False, (
            f"(2, 3) @ (3, 2), when (2, 2) arrives: {error}. Which of the shapes must be "
            "turned?"
        )
    for name, leaf, wanted in [
        ("x", x, [[41, -19.5, 13], [96, 52, 299]]),
        ("w", w, [[-99, 11], [2, 20], [503, 25]]),
    ]:
        assert np.array_equal(leaf.grad, wanted), (
            f"the gradient of {name} is\n{np.array(wanted)}\nyours is\n{leaf.grad}"
        )
        assert leaf.grad.dtype.name == "float32", (
            f"float32 should stay float32, yours is {leaf.grad.dtype}"
        )


def test_products_of_every_rank_agree_with_a_nudge():
    rng = np.random.default_rng(6)
    for left, right in [
        ((2, 3), (3, 4)),
        ((3,), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3,)),
        ((3,), (5, 3, 4)),
        ((5, 2, 3), (3,)),
        ((5, 2, 3), (3, 4)),
        ((2, 3), (5, 3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((6, 1, 2, 3), (5, 3, 4)),
        ((1, 2, 3), (5, 3, 4)),
        ((3, 3, 3), (3, 3, 3)),
        ((0, 3), (3, 2)),
    ]:
        arrays = [rng.normal(size=left), rng.normal(size=right)]
        g = rng.normal(size=np.matmul(*arrays).shape)
        leaves = [Variable(array) for array in arrays]
        try:
            backward(leaves[0] @ leaves[1], g)
        except ValueError as error:
            assert False, f"{left} @ {right}, when {g.shape} arrives: {error}"
        for n in (0, 1):
            at = rng.normal(size=arrays[n].shape)  # nudge all at once, in a random direction
            up, down = list(arrays), list(arrays)
            up[n], down[n] = arrays[n] + 1e-4 * at, arrays[n] - 1e-4 * at
            wanted = (g * (np.matmul(*up) - np.matmul(*down))).sum() / 2e-4
            found = leaves[n].grad
            assert found is not None and found.shape == arrays[n].shape, (
                f"{left} @ {right}: input {n} has gradient {found}"
            )
            assert np.allclose((found * at).sum(), wanted, rtol=1e-7, atol=1e-9), (
                f"{left} @ {right}: along a random direction input {n} moves the loss by "
                f"{wanted}, your gradient says {(found * at).sum()}"
            )


def test_stacks_of_matrices_exchange_two_axes_only():
    rng = np.random.default_rng(8)
    g, a, b = (
        rng.normal(size=(6, 5, 2, 4)),
        rng.normal(size=(6, 5, 2, 3)),
        rng.normal(size=(6, 5, 3, 4)),
    )
    for n, wanted in [
        (0, np.einsum("xyij,xykj->xyik", g, b)),
        (1, np.einsum("xyik,xyij->xykj", a, g)),
    ]:
        try:
            found = matmul_slope(n, g, a, b)
        except ValueError as error:
            assert False, (
                f"for input {n} of stacks (6, 5, 2, 3) @ (6, 5, 3, 4): {error}. .T turns all "
                "axes around"
            )
        assert found.shape == wanted.shape, (
            f"input {n} has shape {wanted.shape}, your gradient {found.shape}"
        )
        assert np.allclose(found, wanted, rtol=1e-12, atol=1e-12), (
            f"the gradient for input {n} of a stack is wrong"
        )


# %% matmul hidden points=1
def test_products_of_thin_and_high_stacks():
    rng = np.random.default_rng(27)
    for stack in [(), (3,), (2, 1, 3), (2, 2)]:
        for i, k, j in [
            (1, 1, 1),
            (1, 4, 1),
            (4, 1, 3),
            (2, 2, 2),
            (3, 0, 2),
            (0, 2, 3),
            (2, 3, 0),
        ]:
            for dtype in ("float64", "float32"):
                g, a, b = [
                    rng.normal(size=(*stack, *shape)).astype(dtype)
                    for shape in [(i, j), (i, k), (k, j)]
                ]
                for n, right in [
                    (0, (g[..., :, None, :] * b[..., None, :, :]).sum(-1)),
                    (1, (a[..., :, :, None] * g[..., :, None, :]).sum(-3)),
                ]:
                    found = matmul_slope(n, g=g, a=a, b=b)
                    assert found.shape == right.shape and np.allclose(
                        found, right, rtol=1e-4, atol=1e-5
                    ), (
                        f"input {n} of {a.shape} @ {b.shape}, {dtype}: {right} is due, found "
                        f"{found}"
                    )
                    assert found.dtype.name == dtype, (
                        f"{dtype} should stay {dtype}, found {found.dtype}"
                    )
    for left, right in [
        ((4,), (2, 5, 4, 3)),
        ((2, 1, 3, 4), (4,)),
        ((3, 1, 1, 2), (5, 2, 6)),
        ((1, 4), (4, 1)),
    ]:
        a, b = Variable(rng.normal(size=left)), Variable(rng.normal(size=right))
        g = rng.normal(size=np.matmul(a.data, b.data).shape)
        backward(a @ b, g)
        for n, leaf in enumerate(
            (a, b)
        ):  # the product is linear in each side, so a step of any size tells the slope
            step = rng.normal(size=leaf.shape)
            moved = np.matmul(a.data, step) if n else np.matmul(step, b.data)
            found, wanted = (leaf.grad * step).sum(), (g * moved).sum()
            assert leaf.grad.shape == leaf.shape and abs(found - wanted) < 1e-9, (
                f"{left} @ {right}: a step of input {n} moves the loss by {wanted}, the "
                f"gradient says {found}"
            )


# %% learner-side
def noted_around(inner=None):
    """Whether notes are taken before, inside and after no_grad(), and in what happens inside,
    if anything.

    inner  "again": another no_grad(), looked at after it; "thread": another thread; "raise": an
           exception, "raised" stands for it where it came out
    """
    x, found = Variable(3.0), []

    def look():
        found.append((x * x).requires_grad)

    look()
    try:
        with no_grad():
            look()
            if inner == "again":
                with no_grad():
                    pass
                look()
            elif inner == "thread":
                thread = threading.Thread(target=look)
                thread.start()
                thread.join()
            elif inner == "raise":
                raise ValueError("on purpose")
    except ValueError:
        found.append("raised")
    look()
    recording.on = True
    return found


def squared_quietly(x, times):
    """x * x so many times from a function that is decorated with no_grad(), and once more
    without."""
    quiet = no_grad()(lambda x: x * x)
    return [*[quiet(x) for _ in range(times)], x * x]


# %% no-grad points=5
def test_no_notes_are_taken_inside():
    found = noted_around()
    assert found[1] is False, (
        "inside no_grad() x * x still requires a gradient: set recording.on, not a name of "
        "your own"
    )
    assert found == [True, False, True], (
        f"before, inside and after, x * x should want a gradient: yes, no, yes; yours {found}"
    )


def test_a_block_inside_a_block_restores_what_was():
    found = noted_around("again")
    assert found == [True, False, False, True], (
        "before, inside, after an inner no_grad(), and after both: yes, no, no, yes; yours "
        f"{found}. Put back what was before, not True"
    )


def test_an_exception_does_not_leave_it_off():
    found = noted_around("raise")
    assert found[-1] is True, (
        "after an exception inside, no notes are taken any more: use try and finally"
    )
    assert "raised" in found, (
        "an exception inside no_grad() disappeared, and a failed block looks as if it had "
        "worked. It must come out again: finally without except"
    )
    assert found == [True, False, "raised", True], (
        f"before, inside, raised, after: yes, no, raised, yes; yours {found}"
    )


def test_other_threads_go_on():
    found = noted_around("thread")
    assert found[2:3] == [True], (
        "no_grad() here switched off the notes of another thread: use recording.on"
    )
    assert found == [True, False, True, True], (
        f"before, inside, in another thread meanwhile, after: yes, no, yes, yes; yours {found}"
    )


def test_no_grad_decorates_a_function():
    x = Variable([2.0, 3.0])
    *quiet, loud = squared_quietly(x, 2)
    for out in quiet:
        assert np.array_equal(out.data, [4, 9]), (
            f"the function should return its result, [4, 9], yours {out.data}"
        )
        assert not out.requires_grad, (
            "inside a function decorated with @no_grad() no notes are taken, yours takes some"
        )
    assert loud.requires_grad, "after the decorated function notes should be taken again"


# %% learner-side
class Cube(Function):
    """x to the power 3."""

    def forward(self, x):
        self.save_for_backward(x)
        return x * x * x

    def backward(self, grad):
        (x,) = self.saved_tensors
        return 3 * x * x * grad


class Scaled(Function):
    """k * x, with k set once."""

    def __init__(self, k):
        self.k = k

    def forward(self, x):
        return self.k * x

    def backward(self, grad):
        return self.k * grad


class Product(Function):
    """a * b + shift, for inputs of one shape."""

    def forward(self, a, b, shift=0):
        self.save_for_backward(a, b)
        return a * b + shift

    def backward(self, grad):
        a, b = self.saved_tensors
        return grad * b, grad * a


class Pretended(Function):
    """x * x, with a slope that is not the true one: 100."""

    def forward(self, x):
        return x * x

    def backward(self, grad):
        return 100 * grad


class Wrong(Product):
    """Returns the gradients that it is told to."""

    def __init__(self, found):
        self.found = found

    def backward(self, grad):
        return self.found


# %% function points=5
def test_a_function_computes_and_has_a_slope():
    x = Variable([2.0, -3.0])
    for out in (Cube()(x), Cube.apply(x)):
        x.grad = None
        assert isinstance(out, Tensor) and np.array_equal(out.data, [8, -27]), (
            f"2³ and (-3)³ are 8 and -27, yours: {out}"
        )
        assert out.requires_grad, "x wants a gradient, so its cube must too: go through apply"
        backward(out, [1.0, 10.0])
        assert np.array_equal(x.grad, [12, 270]), (
            f"the slope of x³ is 3x²: [12, 270] is due, yours {x.grad}"
        )
        assert x.grad.dtype.name == "float32", (
            f"float32 should stay float32, yours is {x.grad.dtype}"
        )
    x.grad = None
    backward(Pretended()(x), [1.0, 10.0])
    assert np.array_equal(x.grad, [100, 1000]), (
        f"this backward says 100 for every slope: [100, 1000] is due, yours {x.grad}. The walk "
        "must call the backward of the class, and forward must be given arrays, not Tensors:"
        " let apply call it"
    )


def test_one_object_serves_many_times():
    x, y, cube = Variable(2.0), Variable(5.0), Cube()
    backward(cube(cube(x)) + cube(y))
    assert float(x.grad) == 9 * 2**8, (
        f"(x³)³ = x⁹ has slope 9·2⁸ = {9 * 2**8}, yours is {x.grad}: the inner use must not "
        "lose what it saved to the outer"
    )
    assert float(y.grad) == 75, (
        f"y³ has slope 75 at 5, yours is {y.grad}: each use needs an object of its own"
    )


def test_settings_stay():
    x, triple = Variable([1.0, 2.0]), Scaled(3.0)
    try:
        out = triple(triple(x))
    except TypeError as error:
        assert False, (
            f"Scaled(3.0) has a setting, which a new object would lack: {error}. "
            "Copy the object"
        )
    assert np.array_equal(out.data, [9, 18]), f"3 · 3 · [1, 2] is [9, 18], yours {out.data}"
    backward(out, [1.0, 10.0])
    assert np.array_equal(x.grad, [9, 90]), f"9x has slope 9: [9, 90] is due, yours {x.grad}"


def test_several_inputs_each_get_their_own():
    a, b = Variable([2.0, 3.0]), Variable([5.0, -7.0])
    out = Product()(a, b, shift=100)
    assert np.array_equal(out.data, [110, 79]), (
        f"a * b + 100 is [110, 79], yours {out.data}: pass the options on"
    )
    backward(out, [1.0, 10.0])
    assert np.array_equal(a.grad, [5, -70]), (
        f"the gradient of a is g * b = [5, -70], yours {a.grad}"
    )
    assert np.array_equal(b.grad, [2, 30]), (
        f"the gradient of b is g * a = [2, 30], yours {b.grad}"
    )
    a.grad = None
    backward(Product.apply(a, Tensor([1.0, 4.0])), [1.0, 10.0])
    assert np.array_equal(a.grad, [1, 40]), f"the gradient of a is [1, 40], yours {a.grad}"


def test_wrong_gradients_are_named():
    for returned, words in [
        (np.ones(2), "2 gradients"),
        ((np.ones(2), np.ones(3)), "(3,)"),
        ((np.ones(2),) * 3, "not 3"),
    ]:
        try:
            backward(Wrong(returned)(Variable([1.0, 2.0]), Variable([3.0, 4.0])), [1.0, 1.0])
        except ValueError as error:
            assert words in str(error) and "Wrong" in str(error), (
                f"the error should say Wrong and {words}, yours: {error}"
            )
        else:
            assert False, (
                f"a backward that returns {returned} for two inputs of shape (2,) should raise "
                "ValueError"
            )


# %% function hidden points=1
def test_functions_inside_functions():
    a, b, product, half = Variable([2.0, 3.0]), Variable([-1.0, 4.0]), Product(), Scaled(0.5)
    out = product(half(product(a, b, shift=1)), product(b, half(a)), shift=-3)
    assert np.array_equal(out.data, [-2.5, 36]), (
        f"(ab + 1) / 2 · ab / 2 - 3 is [-2.5, 36], found {out.data}"
    )
    backward(out, [8.0, 1.0])
    for name, leaf, wanted in [
        ("a", a, [6, 25]),
        ("b", b, [-12, 18.75]),
    ]:  # (2ab + 1) / 4 times the other
        assert np.array_equal(leaf.grad, wanted), (
            f"the gradient of {name} is {wanted}, found {leaf.grad}"
        )
    for shape in [(), (1, 1), (0, 2), (2, 1, 3)]:
        x = Variable(np.full(shape, -2.0))
        out = Cube.apply(Scaled(3.0)(Cube()(x)))
        backward(out, np.full(shape, 0.5))
        assert np.array_equal(out.data, np.full(shape, -13824.0)), (
            f"(3x³)³ at -2 is -13824, found {out.data}"
        )
        assert x.grad.shape == shape and np.array_equal(
            x.grad, np.full(shape, 0.5 * 243 * 256)
        ), (
            f"27x⁹ has slope 243x⁸, shape {shape}, 0.5 arrives: {0.5 * 243 * 256} is due, found"
            f" {x.grad}"
        )
    a, b = Variable([2.0, 3.0]), Variable([5.0, 7.0])
    backward(Wrong((None, np.array([10.0, 20.0])))(a, b), [1.0, 1.0])
    assert a.grad is None and np.array_equal(b.grad, [10, 20]), (
        f"None, [10, 20] is due, found {a.grad}, {b.grad}"
    )
    plain, given = Cube()(Tensor([1.0, 2.0])), Product()(np.array([2.0, 2.0]), b, shift=1.0)
    assert np.array_equal(plain.data, [1, 8]) and not plain.requires_grad, (
        "nobody wants a gradient of this cube"
    )
    b.grad = None
    backward(given, [1.0, 10.0])
    assert np.array_equal(b.grad, [2, 20]), (
        f"an array times b, when [1, 10] arrives: [2, 20] is due, found {b.grad}"
    )


# %% learner-side
def nudged(f, arrays, places, step=1e-5):
    """The slopes of f(*arrays) that slope_by_nudging finds at each of the places (n, at), and
    the arrays afterwards."""
    return [slope_by_nudging(f, arrays, n, at, step) for n, at in places], arrays


# %% nudge points=3
def test_the_slope_is_found_at_each_place():
    f = lambda a, b: float((a**3).sum() + 7 * (b[0] * a[1]).sum())
    for n, at, wanted in [
        (0, (0, 2), 0.75),
        (0, (1, 0), 26.0),
        (0, (1, 1), 21.75),
        (1, (0, 0), 14.0),
        (1, (1, 2), 0.0),
    ]:
        arrays = [
            np.array([[1.0, -2.0, 0.5], [2.0, 0.5, -1.0]]),
            np.array([[2.0, 3.0, 1.0], [9.0, 9.0, 9.0]]),
        ]
        found = float(slope_by_nudging(f, arrays, n, at))
        assert abs(found - wanted) < 1e-6, (
            f"the slope for array {n} at {at} is {wanted}, yours {found:.6f}"
        )


def test_the_bend_of_the_curve_cancels():
    for step in (1e-5, 1e-3):
        found = float(
            slope_by_nudging(
                lambda x: float(np.exp(3 * x).sum()), [np.array([1.0, 0.5])], 0, (0,), step
            )
        )
        wanted = 3 * np.exp(3.0) * (1 + 1.5 * step**2)
        assert abs(found / wanted - 1) < 1e-7, (
            f"with step {step} two nudges, up and down, give {wanted:.6f} for exp(3x) at 1, "
            f"yours {found:.6f}: nudge both ways, and divide by the distance"
        )


def test_every_number_is_put_back():
    seen, arrays = [], [np.array([0.1, 0.7]), np.array([[0.3]])]
    f = lambda a, b: seen.append((a.copy(), b.copy())) or float(a.sum())
    _, after = nudged(f, arrays, [(0, (1,))], 0.125)
    moved = sorted(float(a[1]) for a, b in seen)
    assert moved[0] == 0.7 - 0.125 and moved[-1] == 0.7 + 0.125, (
        f"0.7 should be nudged to 0.575 and 0.825, yours went to {moved}"
    )
    assert all(a[0] == 0.1 and b[0, 0] == 0.3 for a, b in seen), (
        "nudge one number, and leave the others where they are"
    )
    assert after[0][1] == 0.7, (
        f"0.7 should be 0.7 again afterwards, exactly, yours is {float(after[0][1])!r}"
    )
    numbers = np.random.default_rng(9).normal(size=200)
    _, (after,) = nudged(
        lambda a: float(a.sum()), [numbers.copy()], [(0, (n,)) for n in range(200)]
    )
    moved = int((after != numbers).sum())
    assert moved == 0, (
        f"of 200 numbers, {moved} are not exactly as they were after the nudges: adding and "
        "subtracting a step rounds. Remember the number itself, and put it back"
    )
