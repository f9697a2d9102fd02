# The checks of lesson 06, by exercise. `check("elementwise")` in the chapter runs the visible
# ones.

# %% setup
import math
import threading

import numpy as np

from tinytorch.core.tensor import Tensor, Variable, apply, recording, run

from checking import because, equal, expect, refused, result_of


def sum_over_copies(g, shape):
    """The gradient of an array of this shape that was broadcast to the shape of g."""
    size = math.prod(shape)
    places = np.broadcast_to(np.arange(size).reshape(shape), g.shape)
    return np.bincount(places.ravel(), g.ravel(), size).reshape(shape)


# %% learner-side
from tinytorch.support import forward


# The checks try one rule at a time, with this:
def rule(name, n, g, *arrays, **options):
    """What the rule of operation `name` returns for input `n`, given the upstream gradient `g`.
    Fails when the rule changes an array that it was given."""
    op = getattr(forward, f"{name}_forward", None) or getattr(np, name)
    rules, out = table[op], run(op, arrays, options)
    given = {"g": g, "out": out, **{f"input {n}": array for n, array in enumerate(arrays)}}
    before = {key: np.array(array) for key, array in given.items()}
    assert callable(rules) or len(rules) == len(arrays), (
        f"{name} has rules for {len(rules)} of {len(arrays)} inputs: one for each is needed"
    )
    try:
        if callable(rules):
            result = rules(g, out, *arrays, **options)[n]
        else:
            result = rules[n](g, out, *arrays, **options)
    except TypeError as error:
        how = f"A rule takes g, out, then the inputs ({len(arrays)} here), then options by name"
        nones = [key for key, value in options.items() if value is None]
        if nones and "argument" not in str(error):
            how = f"`{nones[0]}` is None here: there is no such limit"
        assert False, f"the rule of {name} for input {n} failed: {error}. {how}"
    for key, array in given.items():
        assert np.array_equal(array, before[key], equal_nan=before[key].dtype.kind == "f"), (
            f"the rule of {name} for input {n} wrote into its arguments: {key} was "
            f"{np.round(before[key], 4).tolist()} and is now "
            f"{np.round(np.array(array), 4).tolist()}. Others use the same array; return a new "
            "one"
        )
    return result


# %% arithmetic points=6
def test_arithmetic_rules_return_the_products_worked_out_by_hand():
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
        result = rule(name, n, g, a, b)
        assert np.shape(result) == (1, 3) and np.allclose(result, wanted, rtol=1e-6, atol=0), (
            f"{name}: for a = {a}, b = {b} and g = {g} the rule for input {n} should return "
            f"{wanted}, yours returns {result}. It is the partial derivative with respect to "
            "that input, times g"
        )
        dtype = np.asarray(result).dtype.name
        equal(dtype, "float32", f"the dtype of what the rule of {name} returns")
    case = f"the derivative of -a is -1: for g = {g} the result of the rule"
    expect(rule("negative", 0, g, a), -g, case)


def test_arithmetic_rules_agree_with_central_differences():
    a, b, g = [np.random.default_rng(7).uniform(0.5, 2.0, (3, 2, 5))[n] for n in range(3)]
    a[0] *= -1
    for f in (np.add, np.subtract, np.multiply, np.divide):
        for n in (0, 1):
            up, down = [a, b], [a, b]
            up[n], down[n] = up[n] + 1e-6, down[n] - 1e-6
            wanted = g * (f(*up) - f(*down)) / 2e-6
            result, name = rule(f.__name__, n, g, a, b), f.__name__
            assert np.allclose(result, wanted, rtol=1e-6, atol=1e-9), (
                f"{name}, input {n}: g times a central difference is {wanted}, your rule "
                f"returns {result}"
            )


def test_arithmetic_rules_change_no_array():
    for name, n, wanted in [
        ("add", 0, [3, -4]),
        ("add", 1, [3, -4]),
        ("subtract", 0, [3, -4]),
        ("subtract", 1, [-3, 4]),
        ("multiply", 0, [-24, -2]),
        ("multiply", 1, [6, -20]),
        ("divide", 0, [-0.375, -8]),
        ("divide", 1, [-0.09375, 80]),
        ("negative", 0, [-3, 4]),
    ]:
        g, a, b = np.array([3.0, -4.0]), np.array([2.0, 5.0]), np.array([-8.0, 0.5])
        found = rule(name, n, g, *(a, b)[: 1 if name == "negative" else 2])
        cause = f"your rule of {name} for input {n} wrote into its arguments"
        expect([g, a, b], [[3, -4], [2, 5], [-8, 0.5]], "g, a and b afterwards", cause)
        case = f"the rule of {name} for input {n}: the gradient for g {g}, a {a}, b {b}"
        expect(found, wanted, case, near=1e-6)


# %% arithmetic hidden points=1
def test_arithmetic_rules_work_for_other_shapes_and_sizes():
    rng = np.random.default_rng(21)
    for shape, dtype, large in [
        ((), "float64", 1e3),
        ((0, 3), "float32", 1.0),
        ((4, 1, 2), "float32", 1e-3),
        ((1,), "float64", 1e9),
        ((2, 2, 2, 2), "float64", 1.0),
    ]:
        sizes = large * rng.choice([-1, 1], shape) * rng.uniform(0.5, 3.0, (3, *shape))
        g, a, b = [np.array(numbers, dtype) for numbers in sizes]
        for name in ("add", "subtract", "multiply", "divide"):
            yield [rule(name, n, g, a, b) for n in (0, 1)]
        yield rule("negative", 0, g, a)


# %% learner-side
# Every result of a deep graph. Of a graph of which only the end is known, node is freed inside
# node, 10,000 deep, and a browser has no stack for that.
KEPT = []


def repeated_sum(x, step, times):
    """x + step + step + ..."""
    for _ in range(times):
        KEPT.append(x)
        x = x + step
    return x


def accumulated(arrivals, both=True, kind=None):
    """The sum of the arrivals as `accumulate` makes it, the arrivals afterwards, and the sum of
    a second tensor.

    Every arrival but the last goes to both tensors; with both=False all go to one. They arrive
    as arrays, or as what `kind` says: "scalar" for NumPy scalars, "view" for read-only views.
    """
    if kind:
        arrivals = [
            g[()] if kind == "scalar" else np.broadcast_to(g, g.shape) for g in arrivals
        ]
    x, y = [Variable(np.zeros(np.shape(arrivals[0]))) for _ in range(2)]
    gradients = {}
    for g in arrivals[:-1]:
        accumulate(gradients, x, g)
        if both:
            accumulate(gradients, y, g)
    accumulate(gradients, x, arrivals[-1])
    return (
        np.array(gradients[x]),
        [np.array(g) for g in arrivals],
        np.array(gradients[y]) if y in gradients else None,
    )


def received(node, g, new_data=None):
    """What each input of `node` has received after one `propagate`; None for nothing.

    new_data  put into the inputs before, in place of their data, as an update would do
    """
    for x, data in zip(node.creator.inputs, new_data or ()):
        x.data = data
    gradients = {}
    propagate(node, g, gradients)
    return [gradients.get(x) if isinstance(x, Tensor) else None for x in node.creator.inputs]


def received_besides(node, g, before):
    """What each input of `node` has in the end, when `before` had arrived for it already."""
    gradients = {x: part for x, part in zip(node.creator.inputs, before)}
    propagate(node, g, gradients)
    return [gradients[x] for x in node.creator.inputs]


def scaled(x, factor, shift=0.0):
    return x * factor + shift


calls = []
derivative(
    scaled,
    lambda g, out, x, factor, **shift: calls.append(("x", shift)) or g * factor,
    lambda g, out, x, factor, **shift: calls.append(("factor", shift)) or g * x,
)


def rules_called(x, factor, **shift):
    """Which rules were called, and with which options, for an operation of these inputs."""
    calls.clear()  # what is called can be counted nowhere else than here
    propagate(apply(scaled, x, factor, **shift), np.ones(2, "float32"), {})
    return list(calls)


def doubled(x):
    return 2 * x


derivative(doubled, lambda g, out, x: np.ones(7))  # of a shape that does not fit


def propagate_doubled():
    """Propagate an operation named doubled, whose rule returns a wrong shape."""
    propagate(apply(doubled, Variable([1.0, 2.0])), np.ones(2, "float32"), {})


def masked(mask, a):
    return mask * a


derivative(masked, None, lambda g, out, mask, a: g * mask)


def masked_by(mask, a):
    """a where the mask is 1, and 0 elsewhere: an operation without a rule for its mask."""
    return apply(masked, mask, a)


# %% propagate points=11
def test_contributions_are_added():
    arrivals = [
        np.array([1.0, -2.0]),
        np.array([10.0, 20.0]),
        np.array([100.0, 0.5]),
        np.array([1000.0, 0.25]),
    ]
    for n, wanted in [(1, [1, -2]), (2, [11, 18]), (3, [111, 18.5]), (4, [1111, 18.75])]:
        total = accumulated([g.copy() for g in arrivals[:n]], both=False)[0]
        assert np.array_equal(total, wanted), (
            f"accumulate: the contributions {[g.tolist() for g in arrivals[:n]]} should sum to "
            f"{wanted}, yours to {total}. Gradients accumulate: add to the sum so far instead "
            "of replacing it"
        )


def test_scalars_accumulate_too():
    for name, kind in [("NumPy scalars", "scalar"), ("arrays of shape ()", None)]:
        for n, wanted in [(1, 1), (2, 21), (3, 321), (4, 4321)]:
            arrivals = [np.array(k, "float32") for k in (1, 20, 300, 4000)[:n]]
            total = result_of(
                lambda: accumulated(arrivals, False, kind)[0],
                "accumulate: for shape () the sum is a NumPy scalar, which cannot be written "
                "into",
                kind=TypeError,
            )
            assert float(total) == wanted, (
                f"accumulate: {n} of the {name} 1, 20, 300, 4000 should sum to {wanted}, yours "
                f"to {float(total)}. For shape () the sum is a NumPy scalar, and += on a "
                "local variable does not reach the dictionary: assign to gradients[x]"
            )


def test_arrays_that_arrive_are_not_changed():
    arrivals = [np.array([1.0, -2.0]), np.array([10.0, 20.0]), np.array([100.0, 0.5])]
    total, after, _ = accumulated([g.copy() for g in arrivals])
    for n in range(3):
        assert np.array_equal(after[n], arrivals[n]), (
            f"accumulate: contribution {n} was {arrivals[n]} and is now {after[n]}. The rule "
            "of a + b returns one array for both inputs: writing into it also changes the "
            "other's gradient. Make a new array for the first sum"
        )
    expect(total, [111, 18.5], "the sum of three contributions")


def test_two_tensors_never_share_a_sum():
    arrivals = np.array([[1.0, -2.0], [10.0, 20.0], [100.0, 0.5], [7.0, 7.0]])
    for n, wanted in [(2, [1, -2]), (3, [11, 18]), (4, [111, 18.5])]:
        other = accumulated([np.array(g) for g in arrivals[:n]])[2]
        assert np.array_equal(other, wanted), (
            f"accumulate: b had received {wanted}; then a contribution arrived for a alone, "
            f"and b's gradient changed to {other}: they share an array"
        )


def test_read_only_contributions_are_fine():
    total = result_of(
        lambda: accumulated([np.array([3.0, 3.0]) for _ in range(3)], kind="view")[0],
        "accumulate: a rule may return a read-only view",
        "Do not write into what arrives",
        ValueError,
    )
    expect(total, [9, 9], "the sum of three times [3, 3]")


def test_each_input_receives_its_gradient():
    a, b = Variable([[2.0, 3.0, 5.0]]), Variable([[7.0, -1.0, 4.0]])
    g = np.array([[7.0, 2.0, 16.0]], "float32")
    result = received(a / b, g)
    for name, part, wanted in [
        ("a", result[0], [[1, -2, 4]]),
        ("b", result[1], [[-2 / 7, -6, -5]]),
    ]:
        assert part is not None, f"{name} of a / b requires a gradient and received nothing"
        expect(part, wanted, f"what {name} of a / b receives", near=(1e-6, 0))
    expect(g, [[7, 2, 16]], "after propagate, the g it was given")


def test_gradients_accumulate_over_paths():
    x = Variable([3.0, -4.0])
    result = received(x * x, np.array([1.0, 10.0], "float32"))[0]
    assert np.array_equal(result, [6, -80]), (
        f"the derivative of x * x is 2x: for g = [1, 10] x should receive [6, -80], yours "
        f"receives {result}"
    )
    a, b = Variable([1.0, 2.0]), Variable([3.0, 4.0])
    before = [np.array([100.0, 0.0], "float32"), np.array([0.0, 40.0], "float32")]
    result = received_besides(a - b, np.array([6.0, 1.0], "float32"), before)
    for name, part, wanted in [("a", result[0], [106, 1]), ("b", result[1], [-6, 39])]:
        case = "a already had the gradient [100, 0], and b [0, 40]. After a - b is propagated "
        expect(part, wanted, f"{case}with g = [6, 1], the gradient of {name}", "use accumulate")


def test_gradients_have_the_dtype_of_their_input():
    a, b = Variable(np.ones(3, "float32")), Variable(np.array([2.0, 5.0, 1.0]))
    assert (a * b).dtype.name == "float64", "float32 times float64 is float64"
    result = received(a * b, np.array([1.0, 2.0, 4.0]))
    assert result[0].dtype.name == "float32", (
        f"a is float32, so its gradient should be too, yours is {result[0].dtype}: pass what "
        "the rule returns through match_input"
    )
    case = "a rule of the operation `doubled` that returns 7 numbers for an input of 2"
    cause = "Pass the creator's op to match_input, which names it"
    refused(propagate_doubled, case, contains=["doubled"], cause=cause)


def test_rules_see_the_arrays_of_the_forward_pass():
    a, b = Variable([3.0, 5.0]), Variable([2.0, -1.0])
    new = [np.array([100.0, 100.0], "float32"), np.array([7.0, 7.0], "float32")]
    result = received(a * b, np.array([1.0, 10.0], "float32"), new)
    for name, part, wanted in [("a", result[0], [2, -10]), ("b", result[1], [3, 50])]:
        case = "a * b was computed with a = [3, 5], b = [2, -1]; then both got new .data. The "
        cause = "pass the recorded arrays, made.arrays, to the rules"
        expect(part, wanted, f"{case}gradient of {name}", cause)


def test_options_reach_the_rules():
    called = result_of(
        lambda: rules_called(Variable([1.0, 2.0]), Variable([3.0, 4.0]), shift=5.0),
        "a rule could not be called",
        "It takes g, out, *arrays, **options",
        TypeError,
    )
    case = "the rules called, as both inputs require a gradient,"
    equal([name for name, _ in called], ["x", "factor"], case)
    for name, options in called:
        equal(options, {"shift": 5.0}, f"the options of rule {name}", "pass **made.options")


def test_rules_are_called_only_for_inputs_that_require_a_gradient():
    leaf, plain = Variable([1.0, 2.0]), Tensor([3.0, 4.0])
    for x, factor, wanted in [
        (leaf, leaf, ["x", "factor"]),
        (leaf, plain, ["x"]),
        (plain, leaf, ["factor"]),
        (leaf, 2.0, ["x"]),
    ]:
        case = "an input may be a plain number, which has no requires_grad"
        called = result_of(lambda: rules_called(x, factor), case, kind=AttributeError)
        called = [name for name, _ in called]
        assert called == wanted, (
            f"rules should be called for {wanted} only, yours calls {called}"
        )
    mask, a = Variable([1.0, 0.0]), Variable([1.0, 2.0])
    result = result_of(
        lambda: received(masked_by(mask, a), np.array([5.0, 7.0], "float32")),
        "an operation can have None in place of a rule; its input gets nothing",
        kind=TypeError,
    )
    assert result[0] is None and np.array_equal(result[1], [5, 0]), (
        f"mask * a gives a the gradient [5, 0] and the mask none; yours gives {result}"
    )


# %% propagate hidden points=2
def test_contributions_of_other_shapes_are_added():
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
            yield accumulated(arrivals, True, kind)


def test_operations_of_several_inputs_propagate():
    def joined(*arrays):
        return np.concatenate(arrays)

    def part(first, end):
        return lambda g, out, *arrays: g[first:end]

    derivative(joined, part(0, 2), part(2, 3), part(3, 6), part(6, 8))
    a, b = Variable(np.zeros((2, 2))), Variable(np.zeros((1, 2), "float32"))
    out = apply(joined, a, b, Tensor(np.zeros((3, 2))), a)
    yield received(out, np.arange(1.0, 17.0).reshape(8, 2) / 4)


# %% learner-side
from tinytorch.support.derivatives import FREED


def gradients_at(output, gradient, leaves, retain_graph=False):
    """What `grad` returns for each of the leaves, None where there is nothing; and for how many
    tensors it returns something."""
    gradients = grad(output, gradient, retain_graph)
    return [gradients.get(x) for x in leaves], len(gradients)


waiting, freed = [], []


def watched(x):
    return 2 * x


# When this rule is called, the results that were computed from its result have been propagated.
derivative(
    watched,
    lambda g, out, x: freed.extend(r.creator is FREED for r in waiting) or 2 * g,
)


def freed_meanwhile():
    """Of out = 3 h with h = 2x: whether the node of out is FREED when h is propagated."""
    out = apply(watched, Variable(5.0)) * 3.0
    waiting[:], freed[:] = [out], []
    grad(out, np.float32(1))
    waiting.clear()
    return list(freed)


# %% backward points=14
def test_the_backward_pass_agrees_with_derivatives_by_hand():
    x, y = Variable(5.0), Variable(3.0)
    z = x * x + 2 * x * y + y * y * y
    try:
        (for_x, for_y), count = gradients_at(z, np.float32(1), (x, y))
    except NotImplementedError:
        raise
    except RuntimeError as error:
        assert False, (
            f"{error}. This was the first pass: is a node freed before it is propagated?"
        )
    assert (
        for_x is not None and for_y is not None and (float(for_x), float(for_y)) == (16, 37)
    ), (
        f"x² + 2xy + y³ at x = 5, y = 3 has the partial derivatives 2x + 2y = 16 and "
        f"2x + 3y² = 37, yours are {for_x} and {for_y}"
        + (". Did you begin with the output?" if for_x is for_y is None else "")
    )
    assert count == 2, f"x and y are the only leaves, your dictionary has {count} entries"
    a = Variable(7.0)
    (g,), _ = gradients_at(a, np.float32(3), (a,))
    assert g is not None and float(g) == 3, (
        f"for a leaf itself, grad returns the given gradient, 3; yours is {g}"
    )


def test_each_result_is_propagated_once_with_its_complete_gradient():
    x = Variable([1.0, -2.0])
    b = x + x
    c = b + b
    (g,), _ = gradients_at(c * c, np.array([1.0, 10.0], "float32"), (x,))
    cause = "each result is propagated once, when its gradient is complete"
    expect(g, [32, -640], "(4x)² has derivative 32x; with [1, 10] the gradient", cause)
    x = Variable(2.0)
    y = 3.0 * x
    q = y * 5.0
    (g,), _ = gradients_at(q + 2.0 * y * 1.0, np.float32(1), (x,))
    cause = "y must wait for all paths that lead to it"
    equal(float(g), 21.0, "the derivative of 5·3x + 2·3x", cause)


def test_no_grad_attribute_is_changed():
    x, plain = Variable([3.0, 4.0]), Tensor([2.0, 5.0])
    h = x * plain
    out = h * h
    (g, none), count = gradients_at(out, np.ones(2, "float32"), (x, plain))
    assert np.array_equal(g, [24, 200]), (
        f"(x·[2, 5])² has the gradient [24, 200] for x, yours is {g}"
    )
    assert none is None and count == 1, (
        f"x is the only leaf that requires a gradient, your dictionary has {count} entries: "
        "take the gradient of a result out of it when it is propagated"
    )
    for name, t in [("x", x), ("plain", plain), ("h", h), ("the output", out)]:
        assert t.grad is None, f"grad() returns gradients; yours wrote {t.grad} to {name}.grad"


def test_a_freed_graph_is_refused():
    x = Variable([3.0, 4.0])
    h = x * x
    out = h * 2.0
    ones = np.ones(2, "float32")
    (g,), _ = gradients_at(out, ones, (x,))
    expect(g, [12, 16], "the gradient of 2x²")
    for name, result in [
        ("the same output", out),
        ("a result in between", h),
        ("a result computed from a freed one", h + 1.0),
    ]:
        try:
            gradients_at(result, ones, (x,))
        except NotImplementedError:
            raise
        except RuntimeError as error:
            assert "retain_graph" in str(error), (
                f"the error of a freed graph should name retain_graph, yours is: {error}"
            )
        else:
            assert False, (
                f"a second pass, from {name}, should raise RuntimeError: free each node as "
                "soon as it has been propagated"
            )
    equal(
        freed_meanwhile(),
        [True],
        "out = 3h with h = 2x: whether the node of out is FREED when h is propagated",
        "Free each node right after it was propagated, not all of them at the end: until then "
        "the whole graph stays in memory",
    )


def test_retain_graph_keeps_the_graph():
    x = Variable([3.0, 4.0])
    out = x * x
    for n in range(3):
        (g,), _ = result_of(
            lambda: gradients_at(out, np.ones(2, "float32"), (x,), True),
            "with retain_graph=True the graph should stay, yours was freed",
            kind=RuntimeError,
        )
        cause = "start with an empty dictionary each time"
        expect(g, [6, 8], f"the gradient of pass {n + 1}", cause)


def test_deep_and_wide_graphs():
    x = Variable([1.0, 2.0])
    (g,), _ = gradients_at(repeated_sum(x, x, 10_000), np.array([1.0, 2.0], "float32"), (x,))
    expect(g, [10_001, 20_002], "x + 10,000 x has derivative 10,001; with [1, 2] the gradient")
    x = y = Variable(1.0)
    for _ in range(60):
        y = y + y
    (g,), _ = gradients_at(y, np.float32(1), (x,))
    equal(float(g), 2.0**60, "the derivative after 60 doublings, 2**60,")


def test_a_result_without_a_gradient_is_not_propagated():
    x, a = Variable([1.0, 0.0]), Variable([3.0, 4.0])
    mask = x * 1.0
    (for_a, for_x), _ = result_of(
        lambda: gradients_at(masked_by(mask, a), np.array([1.0, 10.0], "float32"), (a, x)),
        "a mask receives no gradient, so there is nothing to propagate from it",
        kind=(KeyError, TypeError, AttributeError),
    )
    expect(for_a, [1, 0], "the gradient that mask * a gives a")
    assert for_x is None, f"no gradient reaches x through the mask, yours is {for_x}"
    case, cause = "a pass from the mask, which was freed,", "free those without gradient, too"
    call = lambda: gradients_at(mask, np.ones(2, "float32"), (x,))
    refused(call, case, RuntimeError, cause=cause)


# %% backward hidden points=2
def test_a_large_graph_agrees_with_central_differences():
    rng = np.random.default_rng(24)
    for shape in [(3, 2), (), (4, 1)]:
        *leaves, g = [np.asarray(rng.normal(size=shape)) for _ in range(4)]
        x, w, b = leaves = [Variable(array) for array in leaves]
        for _ in range(3):
            h = x * w - b
            x = h * 0.5 + h / (x * x + 2.0)
            w = 1.0 / (h * h + 1.0) + w
        yield gradients_at(x * w + h, g, leaves)[0]


def test_two_results_share_a_part_of_the_graph():
    x, y, other = Variable([[2.0, -1.0]]), Variable([[3.0, 5.0]]), Variable([9.0])
    h, g = x * y, np.array([[1.0, 10.0]], "float32")
    p, q = h * 3.0, h * x
    yield gradients_at(p, g, (x, y, other), True)[0]
    yield gradients_at(q, g, (x, y, other), False)[0]
    for name, result in [("3xy", p), ("x·y", h)]:
        case = f"the pass from x²y freed the node x·y, so a pass from {name}"
        refused(lambda: gradients_at(result, g, (x,)), case, RuntimeError, ["retain_graph"])


# %% unbroadcast points=8
def test_a_bias_receives_the_sum_over_the_rows():
    g = np.array([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]], "float32")
    found = result_of(
        lambda: unbroadcast(g, (4,)),
        "from shape (3, 4) to (4,)",
        "Which axes of g does (4,) lack? Sum over them",
        (ValueError, IndexError),
    )
    case = "a bias of shape (4,) was used by three rows: the sum of their gradients"
    cause = "Each row contributes, so sum; a mean belongs to the loss"
    expect(found, [15, 18, 21, 24], case, cause)
    assert found.dtype.name == "float32", f"float32 should stay float32, yours is {found.dtype}"
    expect(g[0], [1, 2, 3, 4], "after unbroadcast, the first row of g")


def test_axes_of_length_1_are_summed_too():
    g = np.arange(1.0, 13.0, dtype="float32").reshape(3, 4)
    for shape, wanted in [
        ((3, 1), [[10], [26], [42]]),
        ((1, 4), [[15, 18, 21, 24]]),
        ((1, 1), [[78]]),
        ((1,), [78]),
        ((), 78),
    ]:
        case = f"the sum from shape (3, 4) to {shape}"
        cause = "axes of length 1 were also broadcast: sum over them"
        if len(shape) == 1:
            cause = (
                "Shapes are aligned at the right, so the axis of length 1 belongs to the last "
                "axis of g, and the first axis is missing. Sum over both"
            )
        found = result_of(lambda: unbroadcast(g, shape), case, cause, ValueError)
        expect(found, wanted, case, cause)


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
        g = np.random.default_rng(1).integers(1, 10, big).astype(float)
        found = np.shape(unbroadcast(g, shape))
        cause = "An axis of length 1 was repeated: sum over it, and keep it"
        equal(found, shape, f"from shape {big} to {shape}: the shape of the sum", cause)
        cause = "Shapes are aligned at the right, whatever their lengths"
        case = f"from shape {big} to {shape}: the sum of {g.tolist()}"
        expect(unbroadcast(g, shape), sum_over_copies(g, shape), case, cause, near=1e-12)


def test_broadcast_operands_receive_gradients_of_their_shape():
    a, b = Variable(np.ones((2, 3), "float32")), Variable(np.array([[2.0], [5.0]]))
    backward(a * b, [[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]])
    case = "b of shape (2, 1) was used in three columns: its gradient"
    expect(b.grad, [[7], [56]], case)
    expect(a.grad, [[2, 4, 8], [40, 80, 160]], "the gradient of a", dtype="float32")
    w = Variable(np.full((), 3.0))
    backward(w * np.arange(6.0).reshape(2, 3), np.ones((2, 3)))
    expect(w.grad, 15, "the gradient of a scalar times 0...5")


# %% unbroadcast hidden points=1
def test_other_broadcasts_are_summed():
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
        yield unbroadcast(g=np.array(100 * rng.normal(size=big), dtype), shape=shape)


# %% elementwise points=6
def test_elementwise_rules_agree_with_central_differences():
    a = np.random.default_rng(3).uniform(0.3, 2.5, (2, 3))
    g = np.array([[1.0, -2.0, 0.5], [7.0, 3.0, -0.25]])

    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    for f in (np.exp, np.log, np.sqrt, np.sin, np.cos, np.tanh, sigmoid):
        wanted = g * (f(a + 1e-6) - f(a - 1e-6)) / 2e-6
        found, name = rule(f.__name__, 0, g, a), f.__name__
        assert np.shape(found) == (2, 3), (
            f"{name}: a and g have shape (2, 3), what your rule returns has {np.shape(found)}"
        )
        at = np.unravel_index(np.argmax(abs(found - wanted)), (2, 3))  # the worst element
        if np.allclose(found, wanted, rtol=1e-6, atol=1e-9):
            cause = ""
        elif np.allclose(found, wanted / g):
            cause = "That is the derivative without g: multiply by it"
        elif np.allclose(found, -wanted):
            cause = "The sign is wrong"
        else:
            out = f(a)
            cause = next(
                (
                    f"You return {text}. Differentiate {name} again"
                    for text, wrong in {
                        "g * (1 - out) ** 2": g * (1 - out) ** 2,
                        "g * (1 - out)": g * (1 - out),
                        "g * (1 - a ** 2)": g * (1 - a**2),
                        "g * a * (1 - a)": g * a * (1 - a),
                        "g * out": g * out,
                        "g * a": g * a,
                        "g / out": g / out,
                        "g / a": g / a,
                        "g / (2 * a)": g / (2 * a),
                        "g * out / 2": g * out / 2,
                        "g * np.sin(a)": g * np.sin(a),
                        "g * np.cos(a)": g * np.cos(a),
                        "g * np.cos(out)": g * np.cos(out),
                        "g * np.sin(out)": g * np.sin(out),
                    }.items()
                    if np.allclose(found, wrong)
                ),
                "",
            )
        assert np.allclose(found, wanted, rtol=1e-6, atol=1e-9), (
            f"{name}: at a = {a[at]:.4f}, g times a central difference is {g[at]:g} * "
            f"{wanted[at] / g[at]:.4f} = {wanted[at]:.4f}, your rule returns {found[at]:.4f}"
            f"{because(cause)}"
        )
        expect(g, [[1, -2, 0.5], [7, 3, -0.25]], f"after your rule of {name}, g")


def test_elementwise_rules_stay_float32_and_finite():
    half, two = np.array([0.5], "float32"), np.array([2.0], "float32")
    for name in ("exp", "log", "sqrt"):
        found = np.asarray(rule(name, 0, two, half))
        assert found.dtype.name == "float32", (
            f"the rule of {name} should keep float32, yours returns {found.dtype}"
        )
    a, g = np.array([-100.0, 0.5, 100.0], "float32"), np.array([2.0, 2.0, -3.0], "float32")
    for name, middle in [
        ("sin", 1.7551651),
        ("cos", -0.9588511),
        ("tanh", 1.5728954),
        ("sigmoid", 0.4700074),
    ]:
        found = np.asarray(rule(name, 0, g, a))
        assert found.dtype.name == "float32", (
            f"the rule of {name} should keep float32, yours returns {found.dtype}"
        )
        assert np.isfinite(found).all(), (
            f"{name}: at a = [-100, 0.5, 100] your rule returns {found}: use out, which is "
            "finite"
        )
        assert abs(found[1] - middle) < 1e-5, (
            f"{name}: at a = 0.5 with g = 2 the rule should return {middle}, yours returns "
            f"{found[1]}"
        )


def test_the_larger_input_receives_the_gradient_and_equals_share_it():
    a, b = np.array([1.0, 5.0, -2.0, 2.0]), np.array([4.0, 3.0, -7.0, 2.0])
    g = np.array([10.0, 20.0, -30.0, 7.0])
    found = [np.asarray(rule("maximum", n, g, a, b)) for n in (0, 1)]
    for part in found:
        equal(part.shape, (4,), "the shape of what a rule of maximum returns for shape (4,)")
    total = found[0] + found[1]
    assert np.allclose(total[:3], g[:3]), (
        f"maximum of {a} and {b}: the larger input receives the gradient, so the two gradients "
        f"should add up to g = {g}, yours are {found[0]} and {found[1]}"
    )
    assert np.allclose(total, g), (
        f"maximum of {a} and {b}: where a equals b the two gradients should add up to g = {g}, "
        f"yours are {found[0]} and {found[1]}"
    )
    expect(found[0], [0, 20, -30, 3.5], f"maximum of {a} and {b}, g = {g}: the gradient for a")
    for gap in (1e-9, 1e-6):
        a, b = np.array([1.0]), np.array([1.0 + gap])
        found = [rule("maximum", n, np.array([4.0]), a, b) for n in (0, 1)]
        assert np.allclose(found, [[0], [4]]), (
            f"maximum of 1 and 1 + {gap}: these are not equal, so the larger one receives all "
            f"of g = 4; yours gives {found}. Compare with ==, not with isclose"
        )


def test_relu_has_derivative_0_at_0():
    a, g = np.array([-3.0, -0.5, 0.0, 0.25, 4.0]), np.array([1.0, 2.0, 3.0, -4.0, 5.0])
    found = rule("relu", 0, g, a)
    expect(found, [0, 0, 0, -4, 5], f"relu of {a}, g = {g}: what the rule returns")


# %% elementwise hidden points=1
def test_elementwise_rules_at_other_inputs():
    inputs = np.array([[-4.0, -1.5, -0.2], [0.0, 0.7, 3.0]])
    for name in ("exp", "sin", "cos", "tanh", "sigmoid", "log", "sqrt"):
        for dtype in ("float64", "float32"):
            for at in (inputs, inputs[:, :1], inputs[0, 2], inputs[:0]):
                at = np.array(np.abs(at) ** 5 + 1e-3 if name in ("log", "sqrt") else at, dtype)
                g = np.array(np.linspace(-3, 50, at.size).reshape(at.shape), dtype)
                yield rule(name, 0, g, at)
    a = np.array([[0.0, -1.0, 7.0], [2.5, -3.0, 1e9]])
    b = np.array([[-0.0, -2.0, 7.0], [np.inf, -3.0, -1e9]])
    g = np.array([[4.0, 8.0, -2.0], [6.0, 10.0, 12.0]])
    yield rule("maximum", 0, g, a, b), rule("maximum", 1, g, a, b), rule("relu", 0, g, a)


# %% shapes points=4
def test_transpose_is_inverted_not_repeated():
    for shape, axes in [
        ((2, 2, 2), (1, 2, 0)),
        ((2, 3, 4), (1, 2, 0)),
        ((2, 3, 4), (2, 0, 1)),
        ((2, 3, 4), (0, 2, 1)),
        ((2, 3), (1, 0)),
        ((5, 2, 3, 4), (3, 0, 1, 2)),
        ((3,), (0,)),
        ((2, 1, 3), (1, 2, 0)),
        ((1, 3, 1, 2), (3, 1, 0, 2)),
        ((1, 1, 4), (2, 0, 1)),
    ]:
        x = Variable(np.zeros(shape))
        elements = np.arange(float(np.prod(shape))).reshape(shape)
        out, g = x.transpose(*axes), elements.transpose(axes)
        case = f"axes {axes} of shape {shape}: the gradient"
        cause = "Invert the permutation, with argsort(axes)"
        result_of(lambda: backward(out, g), case, cause, (ValueError, TypeError))
        expect(x.grad, elements, case, cause)


def test_reshape_keeps_the_order_of_the_elements():
    g = np.array([[0.5, 1, 2], [3, 5, 8]], "float32")
    for shape in [(6,), (3, 2), (1, 6, 1), (2, 3)]:
        x = Variable(np.zeros((2, 3), "float32"))
        backward(x.reshape(shape), g.reshape(shape))
        expect(x.grad, g, f"x of shape (2, 3) was reshaped to {shape}: its gradient")
    x = Variable(np.zeros((2, 3, 4)))
    for view in (x.flatten(1), x.unsqueeze(1), x.unsqueeze(2).squeeze(2)):
        x.grad, g = None, np.zeros(view.shape)
        g.ravel()[11] = 7
        backward(view, g)
        assert float(x.grad[0, 2, 3]) == 7 and float(x.grad.sum()) == 7, (
            f"x of shape (2, 3, 4) became {view.shape}. Of the gradients of its elements, only "
            f"that for x[0, 2, 3] should be 7, and the others 0; yours are {x.grad}"
        )


def test_broadcast_to_sums_over_the_copies():
    x = Variable([[1.0], [2.0]])
    backward(x.broadcast_to(3, 2, 4), np.arange(24.0).reshape(3, 2, 4))
    case = "each number of x of shape (2, 1) was copied to 12 elements: the gradient"
    expect(x.grad, [[114], [162]], case)


def test_shape_rules_change_no_array():
    g, x = np.arange(6.0).reshape(2, 3), np.zeros((2, 3))
    for name, given, options in [
        ("reshape", g.reshape(3, 2), {"shape": (3, 2)}),
        ("transpose", g.T, {"axes": (1, 0)}),
        ("broadcast_to", g, {"shape": (2, 3)}),
    ]:
        shape = np.shape(given)
        found = rule(name, 0, given, x, **options)
        expect(found, np.arange(6.0).reshape(2, 3), f"the gradient of {name}")
        assert (
            given.shape == shape
            and x.shape == (2, 3)
            and np.array_equal(g, [[0, 1, 2], [3, 4, 5]])
        ), f"your rule of {name} changed g, or the shape of g or x, in place: return a new view"


# %% shapes hidden points=1
def test_other_shapes_are_inverted():
    rng = np.random.default_rng(25)
    for shape in [(3, 2, 4, 5), (2, 1, 3, 2, 2), (1, 1), (0, 3, 2), (4, 4, 4), ()]:
        axes = tuple(rng.permutation(len(shape)).tolist())
        for dtype in ("float32", "float64"):
            x, size = Variable(np.zeros(shape, dtype)), math.prod(shape)
            for turned, new in [(axes, None), (None, (size, 1)), (axes, (size,))]:
                out = x.transpose(*axes) if turned else x
                out, x.grad = out.reshape(*new) if new else out, None
                backward(out, rng.permutation(size).reshape(out.shape).astype(dtype))
                yield x.grad
    for small, big in [
        ((), (2, 3)),
        ((1, 3, 1), (2, 4, 3, 5)),
        ((2, 3), (2, 3)),
        ((1,), (0,)),
        ((4, 1), (4, 4)),
    ]:
        x = Variable(np.zeros(small))
        backward(x.broadcast_to(big), np.asarray(rng.normal(size=big)))
        yield x.grad


# %% index points=8
def test_an_element_picked_twice_receives_both_gradients():
    found = result_of(
        lambda: index_rule(np.array([1.0, 10.0]), None, np.zeros(3), ([2, 0],)),
        "index_rule for x[[2, 0]], where g has two elements and x three",
        "index is for arrays of the shape of x, not for g",
        IndexError,
    )
    assert found is not None, (
        "index_rule returned None. np.add.at returns None: it writes into its first argument"
    )
    x = Variable([1.0, 2.0, 3.0, 4.0])
    backward(x[[2, 0, 2]], [1.0, 10.0, 100.0])
    case = "for x[[2, 0, 2]] and g = [1, 10, 100] the gradient of x"
    cause = "NumPy's full[index] = g keeps only the last of several"
    expect(x.grad, [10, 0, 101, 0], case, cause)
    equal(x.grad.dtype.name, "float32", "the dtype of the gradient")
    x = Variable(np.zeros((3, 2)))
    backward(x[[1, 1, 0], [0, 0, 1]], [1.0, 10.0, 100.0])
    case = "element (1, 0) was picked twice; the gradient"
    expect(x.grad, [[0, 100], [11, 0], [0, 0]], case)


def test_every_kind_of_index_has_its_gradient():
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
        g = np.arange(1.0, out.size + 1).reshape(out.shape)
        wanted = np.zeros((2, 3, 4))
        for position, part in zip(np.ravel(np.arange(24).reshape(2, 3, 4)[index]), np.ravel(g)):
            wanted.ravel()[position] += part
        case = f"x[{index}] of shape (2, 3, 4)"
        result_of(lambda: backward(out, g), case, "", (ValueError, IndexError))
        assert x.grad.shape == (2, 3, 4), (
            f"the gradient of x should have its shape, (2, 3, 4); yours has {x.grad.shape}"
        )
        assert np.allclose(x.grad, wanted, rtol=1e-12, atol=0), (
            f"for x[{index}] and g = 1, 2, 3... the gradient should be\n{wanted}\nyours "
            f"is\n{x.grad}"
        )


def test_gradients_of_integers_are_floats():
    x = np.array([1, 2, 3])
    for index in [(1,), ([1],)]:
        found = index_rule(np.full(np.shape(x[index]), 0.5), np.asarray(x[index]), x, index)
        assert np.array_equal(found, [0, 0.5, 0]), (
            f"the gradient 0.5 for x[1] should stay 0.5, yours gives {found}: make zeros of "
            "the dtype of g, not of the integers in x"
        )
    g, index = np.array([1.0, 10.0, 100.0]), ([1, 0, 1], [2, 1, 2])
    case = "the gradient for elements (1, 2), (0, 1) and (1, 2) of shape (2, 3)"
    expect(index_rule(g, None, np.zeros((2, 3)), index), [[0, 10, 0], [0, 0, 101]], case)
    g, x = np.array([0.5, 2.0], "float32"), np.zeros(3, "float32")
    narrow = index_rule(g, None, x, (slice(1, None),))
    equal(narrow.dtype.name, "float32", "the dtype of a float32 gradient")


def test_index_rule_changes_no_array():
    for index in [(slice(1, 3),), ([2, 0, 2],)]:
        x, out = np.array([5.0, 6.0, 7.0, 8.0]), np.array([6.0, 7.0, 7.0])
        g = np.array([1.0, 10.0, 100.0])[: 2 if isinstance(index[0], slice) else 3]
        before = g.copy()
        result = index_rule(g, out, x, index)
        assert np.shape(result) == (4,) and np.sum(result) == np.sum(before), (
            f"x has 4 elements, and some of them receive the gradients {before}; yours is "
            f"{result}"
        )
        assert np.array_equal(g, before) and np.array_equal(x, [5, 6, 7, 8]), (
            f"for index {index} your rule wrote into its arguments: g was {before} and is now "
            f"{g}, x was [5, 6, 7, 8] and is now {x}"
        )


# %% index hidden points=1
def test_other_indices_have_their_gradient():
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
        out = np.array(array[index])
        g = np.array(rng.normal(size=out.shape))
        yield index_rule(g=g, out=out, x=array, index=index)
    x = Variable(np.array(2.0))
    backward(x[None, ...] * 1.0, [5.0])
    yield x.grad
    x = Variable(np.zeros(3))
    backward(x[np.arange(999) % 2], np.full(999, 0.5))
    yield x.grad


# %% matmul points=6
def test_the_gradients_of_a_matrix_product():
    x = Variable([[1.0, 2.0, 3.0], [-1.0, 0.0, 5.0]])
    w = Variable([[1.0, 4.0], [0.5, -2.0], [3.0, 1.0]])
    result_of(
        lambda: backward(x @ w, [[1.0, 10.0], [100.0, -1.0]]),
        "(2, 3) @ (3, 2), g of shape (2, 2)",
        "Which of the factors must be transposed?",
        ValueError,
    )
    for name, leaf, wanted in [
        ("x", x, [[41, -19.5, 13], [96, 52, 299]]),
        ("w", w, [[-99, 11], [2, 20], [503, 25]]),
    ]:
        assert np.array_equal(leaf.grad, wanted), (
            f"the gradient of {name} is\n{np.array(wanted)}\nyours is\n{leaf.grad}"
        )
        equal(leaf.grad.dtype.name, "float32", f"the dtype of the gradient of {name}")


def test_products_of_every_rank_agree_with_central_differences():
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
        cause = ".T reverses all axes of a stack; swap the last two"
        case, out = f"{left} @ {right}, g of shape {np.shape(g)}", leaves[0] @ leaves[1]
        result_of(lambda: backward(out, g), case, cause, ValueError)
        for n in (0, 1):
            at = rng.normal(size=arrays[n].shape)  # all elements at once, in a random direction
            up, down = list(arrays), list(arrays)
            up[n], down[n] = arrays[n] + 1e-4 * at, arrays[n] - 1e-4 * at
            wanted = (g * (np.matmul(*up) - np.matmul(*down))).sum() / 2e-4
            found = leaves[n].grad
            assert found is not None and found.shape == arrays[n].shape, (
                f"{left} @ {right}: input {n} has gradient {found}"
            )
            assert np.allclose((found * at).sum(), wanted, rtol=1e-7, atol=1e-9), (
                f"{left} @ {right}, input {n}: along a random direction a central difference "
                f"is {wanted}, your gradient gives {(found * at).sum()}"
            )


def test_stacks_of_matrices_swap_two_axes_only():
    rng = np.random.default_rng(8)
    g, a = rng.normal(size=(6, 5, 2, 4)), rng.normal(size=(6, 5, 2, 3))
    b = rng.normal(size=(6, 5, 3, 4))
    for n, wanted in [
        (0, np.einsum("xyij,xykj->xyik", g, b)),
        (1, np.einsum("xyik,xyij->xykj", a, g)),
    ]:
        case = f"for input {n} of stacks (6, 5, 2, 3) @ (6, 5, 3, 4), the gradient"
        cause = ".T reverses all axes; swap the last two"
        found = result_of(lambda: matmul_vjp(n, g, a, b), case, cause, ValueError)
        expect(found, wanted, case, near=1e-12)
    before = g.copy(), a.copy(), b.copy()
    for n in (0, 1):
        matmul_vjp(n, g, a, b)
    for name, array, was in zip("gab", (g, a, b), before):
        assert np.array_equal(array, was), f"matmul_vjp changed the {name} it was given"


# %% matmul hidden points=1
def test_products_of_other_shapes():
    rng = np.random.default_rng(27)
    sizes = (1, 1, 1), (1, 4, 1), (4, 1, 3), (2, 2, 2), (3, 0, 2), (0, 2, 3), (2, 3, 0)
    for stack in [(), (3,), (2, 1, 3), (2, 2)]:
        for i, k, j in sizes:
            for dtype in ("float64", "float32"):
                shapes = (i, j), (i, k), (k, j)
                given = [rng.normal(size=(*stack, *shape)).astype(dtype) for shape in shapes]
                g, a, b = given
                yield [matmul_vjp(n, g=g, a=a, b=b) for n in (0, 1)]
    for left, right in [
        ((4,), (2, 5, 4, 3)),
        ((2, 1, 3, 4), (4,)),
        ((3, 1, 1, 2), (5, 2, 6)),
        ((1, 4), (4, 1)),
    ]:
        a, b = Variable(rng.normal(size=left)), Variable(rng.normal(size=right))
        out = a @ b
        backward(out, rng.normal(size=out.shape))
        yield a.grad, b.grad


# %% learner-side
def recorded_around(inner=None):
    """Whether operations are recorded before, inside and after no_grad(), and in what happens
    inside, if anything.

    inner  "again": another no_grad(), looked at after it; "thread": another thread; "raise",
           "exit": an exception, or SystemExit; "raised" stands for it where it came out
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
            elif inner == "exit":
                raise SystemExit("on purpose")
    except (ValueError, SystemExit):
        found.append("raised")
    look()
    recording.on = True
    return found


def squared_without_recording(x, times):
    """x * x so many times from a function that is decorated with no_grad(), and once more
    without."""
    unrecorded = no_grad()(lambda x: x * x)
    return [*[unrecorded(x) for _ in range(times)], x * x]


# %% no-grad points=5
def test_nothing_is_recorded_inside():
    found = recorded_around()
    assert found[1] is False, (
        "inside no_grad() x * x still requires a gradient: set recording.on, not a new variable"
    )
    assert found == [True, False, True], (
        "x * x should require a gradient before and after the block, but not inside it: "
        f"[True, False, True]; yours is {found}"
    )


def test_nested_blocks_restore_what_was_before():
    found = recorded_around("again")
    assert found[1] is False, (
        "inside no_grad() x * x still requires a gradient: recording is switched off for each "
        "thread by itself; set recording.on, not an attribute of its class"
    )
    assert found == [True, False, False, True], (
        "recording should be on before the blocks, off inside them, still off after the inner "
        f"one, and on again after both: [True, False, False, True]; yours is {found}. Restore "
        "what was before, not True"
    )


def test_an_exception_does_not_leave_recording_off():
    for inner, name in [("raise", "an exception"), ("exit", "SystemExit")]:
        found = recorded_around(inner)
        assert found[-1] is True, (
            f"after {name} inside, nothing is recorded any more: use try and finally"
        )
        assert "raised" in found, (
            f"{name} inside no_grad() disappeared, and a failed block looks as if it had "
            "worked. It must pass through: finally without except"
        )
        assert found == [True, False, "raised", True], (
            f"recording should be on before the block, off inside it, and on after {name} "
            f"came out of the block: [True, False, 'raised', True]; yours is {found}"
        )


def test_other_threads_go_on_recording():
    found = recorded_around("thread")
    assert found[2:3] == [True], (
        "no_grad() here switched off the recording of another thread: use recording.on"
    )
    assert found == [True, False, True, True], (
        "recording should be on before the block, off inside it, on in another thread at the "
        f"same time, and on after the block: [True, False, True, True]; yours is {found}"
    )


def test_no_grad_decorates_a_function():
    x = Variable([2.0, 3.0])
    *unrecorded, recorded = squared_without_recording(x, 2)
    for out in unrecorded:
        expect(out.data, [4, 9], "the result of the decorated function")
        assert not out.requires_grad, (
            "inside a function decorated with @no_grad() nothing is recorded; yours records"
        )
    assert recorded.requires_grad, "after the decorated function, recording should be on again"


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
    """x * x, with a derivative that is not the true one: 100."""

    def forward(self, x):
        return x * x

    def backward(self, grad):
        return 100 * grad


class Wrong(Product):
    """Returns the gradients that it is given."""

    def __init__(self, gradients):
        self.gradients = gradients

    def backward(self, grad):
        return self.gradients


# %% function points=5
def test_a_function_computes_its_result_and_gradient():
    x = Variable([2.0, -3.0])
    for out in (Cube()(x), Cube.apply(x)):
        x.grad = None
        assert isinstance(out, Tensor) and np.array_equal(out.data, [8, -27]), (
            f"2³ and (-3)³ should be 8 and -27, yours are {out}"
        )
        assert out.requires_grad, (
            "x requires a gradient, so its cube must require one: use apply"
        )
        backward(out, [1.0, 10.0])
        case = "the derivative of x³ is 3x²: for g = [1, 10] the gradient"
        expect(x.grad, [12, 270], case, dtype="float32")
    x.grad = None
    backward(Pretended()(x), [1.0, 10.0])
    assert np.array_equal(x.grad, [100, 1000]), (
        "backward of this class returns 100 g, so the gradient should be [100, 1000]; yours "
        f"is {x.grad}. The backward method of the class must be called, and forward must be "
        "given arrays, not Tensors: let apply call it"
    )


def test_one_object_can_be_used_many_times():
    x, y, cube = Variable(2.0), Variable(5.0), Cube()
    backward(cube(cube(x)) + cube(y))
    assert float(x.grad) == 9 * 2**8, (
        f"(x³)³ = x⁹ has derivative 9·2⁸ = {9 * 2**8}, yours is {x.grad}: the outer use must "
        "not overwrite what the inner one has saved"
    )
    assert float(y.grad) == 75, (
        f"y³ has derivative 75 at 5, yours is {y.grad}: each use needs a separate object"
    )


def test_settings_are_copied():
    x, triple = Variable([1.0, 2.0]), Scaled(3.0)
    case = "Scaled(3.0) has a setting, which a new object would lack"
    out = result_of(lambda: triple(triple(x)), case, "Copy the object", TypeError)
    expect(out.data, [9, 18], "3 · 3 · [1, 2]")
    backward(out, [1.0, 10.0])
    expect(x.grad, [9, 90], "9x has derivative 9: for g = [1, 10] the gradient")


def test_several_inputs_receive_their_own_gradients():
    a, b = Variable([2.0, 3.0]), Variable([5.0, -7.0])
    out = Product()(a, b, shift=100)
    expect(out.data, [110, 79], "a * b + 100", "pass the options to apply")
    backward(out, [1.0, 10.0])
    expect(a.grad, [5, -70], "the gradient of a, g * b,")
    expect(b.grad, [2, 30], "the gradient of b, g * a,")
    a.grad = None
    backward(Product.apply(a, Tensor([1.0, 4.0])), [1.0, 10.0])
    expect(a.grad, [1, 40], "the gradient of a")


def test_wrong_gradients_are_named():
    for returned, words in [
        (np.ones(2), "2 gradients"),
        ((np.ones(2), np.ones(3)), "(3,)"),
        ((np.ones(2),) * 3, "not 3"),
    ]:
        out = result_of(
            lambda: Wrong(returned)(Variable([1.0, 2.0]), Variable([3.0, 4.0])),
            "a class whose __init__ takes a setting",
            "Copy the object, with its settings; do not make a new one",
            TypeError,
        )
        refused(
            lambda: backward(out, [1.0, 1.0]),
            f"a backward that returns {returned} for two inputs of shape (2,)",
            contains=[words, "Wrong"],
        )


# %% function hidden points=1
def test_functions_inside_functions():
    a, b, product, half = Variable([2.0, 3.0]), Variable([-1.0, 4.0]), Product(), Scaled(0.5)
    out = product(half(product(a, b, shift=1)), product(b, half(a)), shift=-3)
    backward(out, [8.0, 1.0])
    yield out, a.grad, b.grad
    for shape in [(), (1, 1), (0, 2), (2, 1, 3)]:
        x = Variable(np.full(shape, -2.0))
        out = Cube.apply(Scaled(3.0)(Cube()(x)))
        backward(out, np.full(shape, 0.5))
        yield out, x.grad
    a, b = Variable([2.0, 3.0]), Variable([5.0, 7.0])
    backward(Wrong((None, np.array([10.0, 20.0])))(a, b), [1.0, 1.0])
    yield a.grad, b.grad, Cube()(Tensor([1.0, 2.0]))
    b.grad = None
    backward(Product()(np.array([2.0, 2.0]), b, shift=1.0), [1.0, 10.0])
    yield b.grad
