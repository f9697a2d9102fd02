# The checks of lesson 17, by exercise. `check("jvp")` in the chapter runs the visible ones.

# %% setup
import math

import numpy as np

from checking import because, gradient_by_differences, refused, result_of, shown


def near(got, wanted, tolerance=1e-6):
    """Whether two nested lists of numbers and arrays are equal, but for rounding."""
    if isinstance(wanted, (list, tuple)):
        return (
            isinstance(got, (list, tuple))
            and len(got) == len(wanted)
            and all(near(a, b, tolerance) for a, b in zip(got, wanted, strict=True))
        )
    if isinstance(got, (list, tuple, str, type(None))):
        return False
    got, wanted = np.asarray(got, "float64"), np.asarray(wanted, "float64")
    scale = tolerance * max(1.0, float(np.abs(wanted).max(initial=0)))
    return got.shape == wanted.shape and bool((np.abs(got - wanted) <= scale).all())


def words(x):
    """Numbers, arrays and nested lists of them, for messages."""
    if isinstance(x, (list, tuple)):
        return f"[{', '.join(map(words, x))}]"
    return str(x) if isinstance(x, (str, type(None))) else shown(x)


def dual_words(x):
    """A Dual, given as [primal, tangent, level], as the lesson writes it."""
    if not isinstance(x, list):
        return words(x)
    level = f", level={x[2]}" if x[2:] and x[2] else ""
    return f"Dual({', '.join(map(dual_words, x[:2]))}{level})"


def same(got, wanted, case, cause="", tolerance=1e-6):
    """Assert that two nested lists of numbers and arrays are `near`."""
    assert near(got, wanted, tolerance), (
        f"{case} should be {words(wanted)}, yours is {words(got)}{because(cause)}"
    )


def without_levels(x):
    """The numbers of nested [primal, tangent, level], without the levels."""
    return [without_levels(part) for part in x[:2]] if isinstance(x, list) else x


def is_dual(got, wanted, case, cause="", tolerance=1e-6):
    """Assert that a Dual is `near` [primal, tangent, level]."""
    assert near(got, wanted, tolerance), (
        f"{case} should be {dual_words(wanted)}, yours is {dual_words(got)}{because(cause)}"
    )


def are_parts(got, wanted, case):
    """Assert that primal and tangent are `near` what they should be."""
    yours = ", ".join(map(dual_words, got)) if isinstance(got, list) else got
    assert near(got, wanted), (
        f"{case} should be ({', '.join(map(dual_words, wanted))}), yours is ({yours})"
    )


def has_shape(got, shape, case, cause=""):
    """Assert that the result is a Tensor of this shape."""
    assert isinstance(got, np.ndarray) and got.shape == shape, (
        f"{case} should be a Tensor of shape {shape}, yours is {getattr(got, 'shape', got)}"
        f"{because(cause)}"
    )


def difference(f, x, v, h=1e-5):
    """The change of f at the array x along v, by a central difference in float64."""
    x, v = np.asarray(x, "float64"), np.asarray(v, "float64")
    return (f(x + h * v) - f(x - h * v)) / (2 * h)


X = np.array([[1.0, -0.5], [0.25, 2.0]])
WEIGHTS = np.array([[0.5, -1.0], [2.0, 0.25]])


def loss_by_hand(kind, x, weights):
    """The loss of `checkpointed`."""

    def part(h):
        if kind == "labels":
            return 3.0 * (h @ weights)[[1, 0]]
        if kind == "no weights":
            return np.sin(h * h)
        return np.sin(np.tanh(h @ weights) @ weights)

    return np.sum((part(part(x)) if kind == "twice" else part(x)) ** 2)


def gradients_by_hand(kind):
    """Its gradients for X and for WEIGHTS."""
    weights = gradient_by_differences(lambda w: loss_by_hand(kind, X, w), WEIGHTS, 1.0)
    inputs = gradient_by_differences(lambda x: loss_by_hand(kind, x, WEIGHTS), X, 1.0)
    return [inputs, np.zeros(0) if kind == "no weights" else weights]


# %% learner-side
# The checks give and receive plain numbers: a Dual is [primal, tangent, level] here.
from checking import refusal
from tinytorch.core.autograd import backward, no_grad, topological_order
from tinytorch.core.tensor import Tensor, Variable, apply, stack


def as_dual(x):
    """The Dual of a list; anything else as it is."""
    return Dual(as_dual(x[0]), as_dual(x[1]), *x[2:]) if isinstance(x, list) else x


def plain(x):
    """[primal, tangent, level] of a Dual, the same inside; a number or an array as it is; the
    name of its class for anything else."""
    if isinstance(x, Dual):
        return [plain(x.primal), plain(x.tangent), x.level]
    if isinstance(x, np.ndarray):
        return np.array(x)
    return float(x) if isinstance(x, (int, float, np.generic)) else type(x).__name__


def computed(name, *operands):
    """What a function of the lesson returns for Duals and numbers."""
    function = {
        "add": lambda x, y: add(x, y),
        "multiply": lambda x, y: multiply(x, y),
        "divide": lambda x, y: divide(x, y),
        "power": lambda x, y: power(x, y),
        "x + y": lambda x, y: x + y,
        "x - y": lambda x, y: x - y,
        "x * y": lambda x, y: x * y,
        "x / y": lambda x, y: x / y,
        "x ** y": lambda x, y: x**y,
        "-x": lambda x: -x,
        "exp": lambda x: exp(x),
        "log": lambda x: log(x),
        "sin": lambda x: sin(x),
        "cos": lambda x: cos(x),
        "tanh": lambda x: tanh(x),
        "relu": lambda x: relu(x),
        "x.exp": lambda x: x.exp(),
        "x.relu": lambda x: x.relu(),
        "cube": lambda x: chain_rule(lambda a: a * a * a, lambda a, out: 3 * out / a, x),
    }[name]
    return plain(function(*[as_dual(x) for x in operands]))


def parts_of(x, level):
    """What `parts` returns."""
    result = parts(as_dual(x), level)
    return [plain(part) for part in result] if isinstance(result, tuple) else plain(result)


DIFFERENTIATED = {
    "x * x * x": lambda x: x * x * x,
    "exp(x) / x": lambda x: exp(x) / x,
    "7": lambda x: 7.0,
    "x ** x": lambda x: x**x,
    "x d/dy (x + y)": lambda x: x * derivative_of(lambda y: x + y)(5.0),
    "x d/dy (x * y), y = x": lambda x: x * derivative_of(lambda y: x * y)(x),
    "x d/dy (x * x)": lambda x: x * derivative_of(lambda y: x * x)(5.0),
    "d/dy x": lambda x: derivative_of(lambda y: x)(5.0),
    "d/dy (x * x * y)": lambda x: derivative_of(lambda y: x * x * y)(5.0),
}


def nth_derivative(name, x, order=1):
    """The derivative of one of these functions, as a number or an array."""
    f = DIFFERENTIATED[name]
    for _ in range(order):
        f = derivative_of(f)
    return plain(f(x))


def tangent_rule(name, tangents, inputs, wrt=None):
    """What a tangent rule returns: an array, and with `wrt` also the gradient of its sum with
    respect to that input. Arrays become Tensors, numbers stay numbers."""
    op = next(
        (
            op
            for op in tangent_rules
            if getattr(op, "__name__", "").removesuffix("_forward") == name
        ),
        None,
    )
    assert op is not None, (
        f"there is no tangent rule of {name}: is the line with jvp_rule(...) still below the "
        "functions?"
    )
    given = [
        (Tensor if wrt is None else Variable)(x) if isinstance(x, np.ndarray) else x
        for x in inputs
    ]
    changes = tuple([Tensor(t) for t in tangents])
    result = tangent_rules[op](changes, apply(op, *given), *given)
    assert isinstance(result, Tensor), (
        f"the tangent rule of {name} returned a {type(result).__name__}: compute with Tensor "
        "operations, so that the tangent is recorded"
    )
    if wrt is None:
        return np.array(result.data)
    if result.requires_grad:
        backward(result.sum())
    g = given[wrt].grad
    return np.zeros(given[wrt].shape) if g is None else np.array(g)


def tangent_of_linear(name, tangents, inputs, **options):
    """What the tangent rule of a linear operation returns, an array."""
    op = next((op for op in LINEAR if op.__name__.removesuffix("_forward") == name), None)
    assert op is not None, f"LINEAR has no {name} any more"
    given = [Tensor(x) for x in inputs]
    out = apply(op, *given, **options)
    result = tangent_rules[op](tuple([Tensor(t) for t in tangents]), out, *given, **options)
    return np.array(result.data) if isinstance(result, Tensor) else type(result).__name__


constants = []


def constant():
    """A Variable with respect to which nothing is differentiated, the same each time."""
    if not constants:
        constants.append(Variable([[2.0, -1.0, 0.5]]))
    return constants[0]


FUNCTIONS = {
    "x * y": lambda x, y: x * y,
    "x * x": lambda x: x * x,
    "sum of cubes": lambda x: (x * x * x).sum(),
    "h = x * x; h * h + h": lambda x: (lambda h: h * h + h)(x * x),
    "x": lambda x: x,
    "no x": lambda x: Tensor([7.0, 8.0]),
    "sum along axis 1": lambda x: (x * x).sum(axis=1),
    "x + row": lambda x: x + Tensor([[10.0], [20.0]]),
    "x @ w": lambda x: (x @ Tensor([[1.0, 2.0, 0.5], [3.0, -1.0, 4.0]])).tanh(),
    "sinh of a constant": lambda x: x * apply(np.sinh, constant()),
    "2000 sines": lambda x: [x := x.sin() for _ in range(2000)][-1],
    "shares": lambda x: x.exp() / x.exp().sum(),
    "xy, x + y, y": lambda x: stack([x[0] * x[1], x[0] + x[1], x[1]]),
    "first two, squared": lambda x: x[:2] * x[:2],
    "x0^2 + 3 x0 x1": lambda x: x[0] * x[0] + 3 * x[0] * x[1],
    "log of sum": lambda x: (x.exp().sum() + (x * x).sum()).log(),
    "linear": lambda x: x.sum() + x[0],
    "of a matrix": lambda x: ((x @ x.T) * (x @ x.T)).sum(),
    "of two": lambda x, y: (x * x).sum() * y.sum() + (x * y * y).sum(),
    "bowl": lambda x: ((x - 3.0) * (x - 3.0) * Tensor([[1.0, 5.0]])).sum() / 2,
    "saddle": lambda x: (x * x * Tensor([1.0, -3.0])).sum() / 2,
    "weighted": lambda x: (x * constant() * x).sum(),
}
calls = []


def counted(name):
    """One of these functions; how often it is called is the length of `calls`."""
    calls.clear()

    def f(*inputs):
        calls.append(len(inputs))
        return FUNCTIONS[name](*inputs)

    return f


def arrays_of(result):
    """The arrays inside a Tensor, or inside a tuple or list of them; otherwise its type."""
    if isinstance(result, (tuple, list)):
        return [arrays_of(part) for part in result]
    return np.array(result.data) if isinstance(result, Tensor) else type(result).__name__


def jvp_of(name, primals, tangents):
    """The arrays (out, tangent) of jvp."""
    out, tangent = jvp(
        FUNCTIONS[name],
        tuple([Tensor(x) for x in primals]),
        tuple([Tensor(v) for v in tangents]),
    )
    return [arrays_of(out), arrays_of(tangent)]


def pushed(name, x, v):
    """What push_forward returns for the tangent v of x; how many tangents are known afterwards;
    whether it was recorded."""
    x = Variable(x)
    out, tangents = FUNCTIONS[name](x), {x: Tensor(v)}
    result = push_forward(out, tangents)
    return arrays_of(result), len(tangents), bool(getattr(result, "requires_grad", False))


def push_to_others(x, v):
    """push_forward for a result that the leaf with the tangent does not reach."""
    x, other = Variable(x), Variable(v)
    return arrays_of(push_forward(x * x, {other: Tensor(v)}))


def jvp_of_itself(x):
    """The derivative of x * y with respect to y at y = x, where x is the same Tensor."""
    x = Variable(x)
    return arrays_of(jvp(lambda y: x * y, (x,), (Tensor(np.ones(x.shape, x.dtype)),))[1])


def jacobian_of(mode, name, x):
    """A Jacobian or a Hessian, an array, and how often the function was called."""
    function = {
        "forward": lambda f: jacfwd(f),
        "reverse": lambda f: jacrev(f),
        "hessian": lambda f: hessian(f),
    }[mode]
    return arrays_of(function(counted(name))(Tensor(x))), len(calls)


def vjps_of(name, primals, gs):
    """out of vjp, the results of vjp_function for each g, and the `.grad` of the primals."""
    xs = [Variable(x) for x in primals]
    out, vjp_function = vjp(FUNCTIONS[name], *xs)
    results = [vjp_function(Tensor(g)) for g in gs]
    kinds = [type(result).__name__ for result in results]
    untouched = all(x.grad is None for x in xs)
    return arrays_of(out), [arrays_of(result) for result in results], kinds, untouched


def hvp_of(name, x, v, recorded=True):
    """hvp, as arrays; whether some `.grad` changed; how often the function was called."""
    constant().grad = None
    several = isinstance(x, list)
    xs, vs = (x, v) if several else ([x], [v])
    xs, vs = [Variable(a) for a in xs], [Tensor(a) for a in vs]
    given = (xs, vs) if several else (xs[0], vs[0])
    if recorded:
        result = hvp(counted(name), *given)
    else:
        with no_grad():
            result = hvp(counted(name), *given)
    clean = all(leaf.grad is None for leaf in [*xs, constant()])
    return arrays_of(result), clean, len(calls)


def product(matrix, shape, seen=None):
    """The function v -> matrix v, for Tensors of a shape; keeps the vectors in `seen`."""

    def matvec(v):
        assert isinstance(v, Tensor), (
            f"matvec was called with a {type(v).__name__} instead of a Tensor"
        )
        if seen is not None:
            seen.append(np.array(v.data))
        return Tensor((matrix @ v.data.ravel()).reshape(shape).astype(v.dtype))

    return matvec


def iterated(matrix, shape, steps, seed=0, dtype="float64"):
    """power_iteration: value, its type, vector, and the vectors that matvec was called with."""
    seen, like = [], Tensor(np.full(shape, 7, dtype))
    value, vector = power_iteration(
        product(matrix, shape, seen), like, steps, np.random.default_rng(seed)
    )
    return float(value), type(value).__name__, arrays_of(vector), seen


def solved(matrix, b, steps, damping=0.0):
    """conjugate_gradient: x, the number of products, and b afterwards."""
    seen, right = [], Tensor(b)
    x = conjugate_gradient(product(matrix, b.shape, seen), right, steps, damping)
    return arrays_of(x), len(seen), np.array(right.data)


def stepped(name, x, **options):
    """newton_step, and x afterwards."""
    start = Tensor(x)
    return arrays_of(newton_step(FUNCTIONS[name], start, **options)), np.array(start.data)


def probed(matrix, shape, probes, seed=0, dtype="float64"):
    """hutchinson: trace, its type, diagonal, and the random vectors."""
    seen, like = [], Tensor(np.full(shape, 7, dtype))
    trace, diagonal = hutchinson(
        product(matrix, shape, seen), like, probes, np.random.default_rng(seed)
    )
    return float(trace), type(trace).__name__, arrays_of(diagonal), seen


def checkpointed(kind, x, wanted=True, through=True, recorded=True):
    """A loss whose middle part is a checkpoint (or, without `through`, is computed as usual):
    the loss, the gradients of x and of the weights, how often the part ran in the forward pass
    and altogether, how many results the graph holds, whether the loss was recorded, the next
    random number, and whether the first run of the part was recorded."""
    weights, rng = Variable(np.array([[0.5, -1.0], [2.0, 0.25]])), np.random.default_rng(5)
    runs, x = [], Tensor(x, requires_grad=wanted)

    def part(h, *rest):
        runs.append(bool((weights * 2.0).requires_grad))  # whether operations are recorded
        if kind == "dropout":
            return h * (rng.random(h.shape) < 0.5) @ weights
        if kind == "labels":
            return (h @ weights)[rest[0].data] * rest[1]
        if kind == "no weights":
            return (h * h).sin()
        return ((h @ weights).tanh() @ weights).sin()

    rest = (Tensor(np.array([1, 0])), 3.0) if kind == "labels" else ()
    run = (lambda *inputs: checkpoint(part, *inputs)) if through else part
    if recorded:
        middle = run(x, *rest)
        if kind == "twice":
            middle = run(middle)
        loss = (middle * middle).sum()
    else:
        with no_grad():
            loss = (run(x, *rest) * 2.0).sum()
    before, recorded = len(runs), bool(loss.requires_grad)
    size = len(topological_order(loss))
    if recorded:
        with no_grad():
            backward(loss)
    grads = [np.zeros(0) if t.grad is None else np.array(t.grad) for t in (x, weights)]
    return float(loss), grads, before, len(runs), size, recorded, rng.random(), runs[0]


# %% dual points=6
def test_a_number_is_a_constant_with_tangent_0():
    for x in (3.0, -2, np.array([1.0, 4.0])):
        got = parts_of(x, 0)
        assert isinstance(got, list) and len(got) == 2 and near(got[0], x), (
            f"parts({x}, 0) should be ({x}, 0.0), yours is {got}"
        )
        assert near(got[1], 0.0), (
            f"{x} is a constant: it does not change with the input, so its tangent is 0, yours "
            f"is {got[1]}"
        )


def test_a_dual_has_its_own_tangent_at_its_level():
    for level in (0, 3, 300):  # Python makes a new object of each larger int
        got = parts_of([2.0, 5.0, level], int(str(level)))
        are_parts(got, [2.0, 5.0], f"parts(Dual(2.0, 5.0, level={level}), {level})")


def test_a_dual_of_another_level_is_a_constant():
    for level in (1, 3):
        case = (
            f"Dual(2.0, 5.0, level=2) is a constant for level {level}: its primal is the Dual "
        )
        case += f"itself, its tangent 0. parts(Dual(2.0, 5.0, level=2), {level})"
        are_parts(parts_of([2.0, 5.0, 2], level), [[2.0, 5.0, 2], 0.0], case)


def test_addition():
    for x, y, wanted in [
        ([2.0, 1.0], [3.0, 10.0], [5.0, 11.0, 0]),
        ([2.0, 1.0], 3.0, [5.0, 1.0, 0]),
        (3.0, [2.0, 1.0], [5.0, 1.0, 0]),
    ]:
        is_dual(computed("add", x, y), wanted, f"add of {dual_words(x)} and {dual_words(y)}")


def test_the_product_rule_has_two_parts():
    for x, y, wanted in [
        ([2.0, 1.0], [3.0, 0.0], [6.0, 3.0, 0]),
        ([2.0, 0.0], [3.0, 1.0], [6.0, 2.0, 0]),
        ([2.0, 5.0], [3.0, 7.0], [6.0, 29.0, 0]),
        ([2.0, 5.0], 4.0, [8.0, 20.0, 0]),
        (4.0, [2.0, 5.0], [8.0, 20.0, 0]),
    ]:
        cause = "The product rule: a' b + a b'"
        is_dual(
            computed("multiply", x, y),
            wanted,
            f"multiply of {dual_words(x)} and {dual_words(y)}",
            cause,
        )


def test_the_result_has_the_higher_level():
    for name, wanted in [
        ("add", [[5.0, 5.0, 1], 7.0, 2]),
        ("multiply", [[6.0, 15.0, 1], [14.0, 35.0, 1], 2]),
    ]:
        case = f"{name} of Dual(2.0, 5.0, level=1) and Dual(3.0, 7.0, level=2): at level 2 the "
        case += "first one is a constant. The result"
        got, cause = computed(name, [2.0, 5.0, 1], [3.0, 7.0, 2]), ""
        if near(without_levels(got), without_levels(wanted)):
            cause = "Give the level to the result: Dual(primal, tangent, level)"
        is_dual(got, wanted, case, cause)


# %% dual hidden points=2
def test_other_sums_and_products():
    a, b = np.array([1.0, -2.0]), np.array([0.5, 4.0])
    yield computed("add", [a, b], [b, a]), computed("multiply", [a, b], [b, b])
    yield computed("x + y", b, [a, b])[0], computed("x * y", [3.0, 2.0, 4], 5)
    yield computed("multiply", [3.0, 2.0, 4], [5.0, 1.0, 2])[2]
    yield computed("-x", [3.0, 2.0, 1])


# %% functions points=4
def test_a_number_or_an_array_passes_through():
    for name, x, wanted in [
        ("exp", 0.5, math.exp(0.5)),
        ("log", 0.5, math.log(0.5)),
        ("sin", 0.5, math.sin(0.5)),
        ("cos", 0.5, math.cos(0.5)),
        ("tanh", 0.5, math.tanh(0.5)),
        ("relu", -0.5, 0.0),
        ("cube", 0.5, 0.125),
        ("exp", np.array([0.0, 1.0]), np.exp([0.0, 1.0])),
        ("relu", np.array([-2.0, 3.0]), np.array([0.0, 3.0])),
    ]:
        same(computed(name, x), wanted, f"{name} of {x}")


def test_the_derivative_is_multiplied_by_the_tangent():
    for name, f in [
        ("exp", math.exp),
        ("log", math.log),
        ("sin", math.sin),
        ("cos", math.cos),
        ("tanh", math.tanh),
        ("cube", lambda x: x**3),
    ]:
        by_difference = difference(np.vectorize(f), 0.7, 1.0)
        for tangent in (1.0, 10.0):
            got, case = computed(name, [0.7, tangent]), f"{name} of Dual(0.7, {tangent})"
            cause = f"the derivative {by_difference:.6f} times the tangent"
            is_dual(got, [f(0.7), by_difference * tangent, 0], case, cause, 1e-8)


def test_relu_looks_at_the_primal():
    for x, wanted in [
        ([2.0, -1.0], [2.0, -1.0, 0]),
        ([-2.0, 1.0], [0.0, 0.0, 0]),
        ([0.0, 1.0], [0.0, 0.0, 0]),
        ([0.5, 5.0], [0.5, 5.0, 0]),
    ]:
        cause = "The derivative is 1 where the primal is positive, otherwise 0"
        is_dual(computed("relu", x), wanted, f"relu of {dual_words(x)}", cause)


def test_the_primal_may_be_a_dual():
    e = math.exp(0.5)
    x, inner = [[0.5, 1.0, 1], 1.0, 2], "Dual(Dual(0.5, 1.0, level=1), 1.0, level=2)"
    cause = "`function` does not accept a Dual: also call chain_rule for the primal"
    causes = {"ufunc": cause}
    got = result_of(lambda: computed("exp", x), f"exp of {inner}", causes, TypeError)
    is_dual(got, [[e, e, 1], [e, e, 1], 2], f"exp of {inner}", cause)
    causes = {"ufunc": "NumPy's functions do not take a Dual: write cos(x), not np.cos(x)"}
    got = result_of(lambda: computed("sin", x), f"sin of {inner}", causes, TypeError)
    assert isinstance(got, list), f"sin of a Dual of a Dual should be a Dual, yours is {got}"
    case = "the tangent of sin of a Dual of a Dual, cos of the inner Dual, which carries the "
    case += "second derivative,"
    cause = "Is np.cos called where the cos of this lesson is needed?"
    same(got[1], [math.cos(0.5), -math.sin(0.5), 1], case, cause)


# %% functions hidden points=2
def test_other_functions_of_duals():
    for name in ("exp", "sin", "cos", "tanh", "relu"):
        _, tangent, level = computed(name, [[0.7, 1.0, 3], 1.0, 5])
        yield level, tangent[1] if isinstance(tangent, list) else 0.0
    x, t = np.array([0.5, 2.0]), np.array([1.0, -3.0])
    yield computed("log", [x, t, 7]), computed("x.exp", [x, t]), computed("x.relu", [-x, t])


# %% quotient points=5
def test_the_quotient_rule():
    for x, y, wanted in [
        (1.0, [2.0, 1.0], [0.5, -0.25, 0]),
        ([6.0, 1.0], 2.0, [3.0, 0.5, 0]),
        ([6.0, 1.0], [2.0, 5.0], [3.0, -7.0, 0]),
    ]:
        cause = "From q b = a follows q' = (a' - q b') / b"
        is_dual(
            computed("divide", x, y),
            wanted,
            f"divide of {dual_words(x)} and {dual_words(y)}",
            cause,
        )


def test_powers_with_a_constant_exponent():
    cause = "For a constant exponent: b a^(b-1) a', and no logarithm"
    for x, n, wanted in [
        ([3.0, 1.0], 2, [9.0, 6.0, 0]),
        ([3.0, 10.0], 2, [9.0, 60.0, 0]),
        ([2.0, 1.0], -1, [0.5, -0.25, 0]),
        ([-3.0, 1.0], 2, [9.0, -6.0, 0]),
        ([-2.0, 1.0], 3, [-8.0, 12.0, 0]),
        ([0.0, 1.0], 2, [0.0, 0.0, 0]),
        ([4.0, 1.0], 0.5, [2.0, 0.25, 0]),
    ]:
        case, errors = f"power of {dual_words(x)} and {n}", (ValueError, ZeroDivisionError)
        with np.errstate(all="ignore"):
            got = result_of(lambda: computed("power", x, n), case, cause, errors)
        is_dual(got, wanted, case, cause)


def test_powers_with_a_constant_base():
    for a, y, wanted in [
        (2, [3.0, 1.0], [8.0, 8 * math.log(2), 0]),
        (2.0, [3.0, 10.0], [8.0, 80 * math.log(2), 0]),
        (1, [3.0, 1.0], [1.0, 0.0, 0]),
    ]:
        cause = "2 ** x is not x ** 2: its derivative is 2 ** x * log(2)"
        is_dual(
            computed("power", a, y),
            wanted,
            f"power of {dual_words(a)} and {dual_words(y)}",
            cause,
        )


def test_both_parts_of_a_power_are_added():
    wanted = [8.0, 12 + 8 * math.log(2), 0]
    cause = "3 * 2**2 for the base and 8 log(2) for the exponent"
    case = "power of Dual(2.0, 1.0) and Dual(3.0, 1.0)"
    is_dual(computed("power", [2.0, 1.0], [3.0, 1.0]), wanted, case, cause)


def test_the_power_0_is_a_constant():
    cause = "x ** 0 has the derivative 0: do not compute x ** (0 - 1)"
    for x in ([0.0, 1.0], [5.0, 3.0]):
        case = f"power of {dual_words(x)} and 0"
        got = result_of(lambda: computed("power", x, 0), case, cause, ZeroDivisionError)
        is_dual(got, [1.0, 0.0, 0], case)


# %% quotient hidden points=2
def test_other_quotients_and_powers():
    a, b, t = np.array([1.0, -2.0]), np.array([0.5, 4.0]), np.array([3.0, 1.0])
    yield computed("x / y", [a, t], [b, a])
    yield computed("x ** y", [a, t], 3), computed("x ** y", b, [a, t])
    yield computed("x - y", 5.0, [2.0, 3.0, 4])
    yield computed("divide", [6.0, 4.0, 1], [2.0, 5.0, 2])[1:]
    yield computed("power", [2.0, 1.0, 3], [2.0, 1.0, 1])[1]
    yield computed("power", [2.0, 1.0, 1], [3.0, 1.0, 2])[0]
    for name in ("log", "cube"):  # their derivatives divide
        yield computed(name, [[0.7, 1.0, 3], 1.0, 5])[1][1]


# %% derivative points=4
def test_a_derivative():
    for name, x, wanted in [
        ("x * x * x", 2.0, 12.0),
        ("x * x * x", -1.0, 3.0),
        ("x * x * x", np.array([2.0, -1.0]), np.array([12.0, 3.0])),
        ("exp(x) / x", 1.0, 0.0),
        ("x ** x", 3.0, 27 * (1 + math.log(3))),
    ]:
        same(nth_derivative(name, x), wanted, f"the derivative of {name} at {x}")


def test_the_derivative_of_a_constant_is_0():
    cause = "`parts` knows what to do with a constant"
    same(nth_derivative("x * x * x", 2.0), 12.0, "the derivative of x * x * x at 2")
    call, case = lambda: nth_derivative("7", 2.0), "f returned 7.0, which is no Dual"
    same(result_of(call, case, cause, AttributeError), 0.0, "the derivative of f(x) = 7")


def test_higher_derivatives():
    for order, wanted in [(2, 12.0), (3, 6.0), (4, 0.0)]:
        got = nth_derivative("x * x * x", 2.0, order)
        case = f"derivative number {order} of x * x * x at 2"
        same(got, wanted, case, "Each call needs a new level")


def test_there_is_no_perturbation_confusion():
    for name, x, wanted in [
        ("x d/dy (x + y)", 7.0, 1.0),
        ("x d/dy (x * y), y = x", 3.0, 6.0),
        ("d/dy x", 3.0, 0.0),
        ("x d/dy (x * x)", 3.0, 0.0),
        ("d/dy (x * x * y)", 3.0, 6.0),
    ]:
        cause = "Does each call of the derivative take a new level?"
        same(nth_derivative(name, x), wanted, f"d/dx of {name} at x = {x}", cause)


# %% derivative hidden points=2
def test_other_derivatives():
    x = np.array([0.5, 2.0, -3.0])
    yield nth_derivative("x * x * x", x), nth_derivative("x * x * x", x, 2)
    for name in ("d/dy (x * x * y)", "x d/dy (x * y), y = x", "exp(x) / x"):
        yield nth_derivative(name, 3.0, 2)


# %% tangent-rules points=5
def test_the_product_rule_of_multiply():
    a, b = np.array([3.0, -1.0]), np.array([2.0, 4.0])
    s, t, zero = np.array([5.0, 7.0]), np.array([11.0, -2.0]), np.array(0.0)
    for tangents, inputs, wanted in [
        ([s, t], [a, b], s * b + a * t),
        ([s, zero], [a, 3.0], s * 3.0),
        ([zero, t], [3.0, b], 3.0 * t),
    ]:
        case = f"for the inputs {words(inputs)} and the tangents {words(tangents)}, the result "
        case += "of the tangent rule of multiply"
        same(tangent_rule("multiply", tangents, inputs), wanted, case)


def test_the_rule_of_matmul_keeps_the_order():
    rng = np.random.default_rng(0)
    a, b, s, t = (rng.normal(size=shape) for shape in [(2, 3), (3, 4)] * 2)
    case = "the tangent rule of matmul, for shapes (2, 3) and (3, 4)"
    got = result_of(lambda: tangent_rule("matmul", [s, t], [a, b]), case)
    yours = f"{got.shape} with other numbers" if got.shape == (2, 4) else f"{got.shape}"
    cause = "This is da @ db: each tangent is multiplied by the other input" * near(got, s @ t)
    assert near(got, s @ b + a @ t), (
        f"{case}: the tangent of a @ b should be da @ b + a @ db; yours returns shape {yours}"
        f"{because(cause)}"
    )


def test_what_the_rules_compute_is_recorded():
    a, b = np.array([[3.0, -1.0], [0.5, 2.0]]), np.array([[2.0, 4.0], [1.0, -3.0]])
    s, t = np.array([[0.3, 1.5], [1.0, 0.0]]), np.array([[2.0, -1.0], [0.0, 4.0]])
    ones = np.ones((2, 2))
    for name, n, wanted in [
        ("multiply", 0, t),
        ("multiply", 1, s),
        ("matmul", 0, ones @ t.T),
        ("matmul", 1, s.T @ ones),
    ]:
        case = f"the gradient, for input {n}, of the tangent that the rule of {name} returns"
        got = tangent_rule(name, [s, t], [a, b], wrt=n)
        same(got, wanted, case, "Does the rule use .data? Then it is not recorded")


def test_sums_and_shapes():
    x, t = np.arange(6.0).reshape(2, 3), np.array([[5.0, -1.0, 2.0], [0.5, 4.0, 7.0]])
    for name, options, wanted in [
        ("sum", {"axis": 0, "keepdims": False}, t.sum(axis=0)),
        ("sum", {"axis": None, "keepdims": False}, t.sum()),
        ("reshape", {"shape": (3, 2)}, t.reshape(3, 2)),
        ("transpose", {"axes": (1, 0)}, t.T),
        ("broadcast_to", {"shape": (4, 2, 3)}, np.broadcast_to(t, (4, 2, 3))),
        ("take", {"index": (1, slice(0, 2))}, t[1, :2]),
        ("cumsum", {"axis": 1}, np.cumsum(t, axis=1)),
        ("clone", {}, t),
    ]:
        case = f"the tangent rule of {name} with the options {options}"
        got = result_of(lambda: tangent_of_linear(name, [t], [x], **options), case)
        case += f" should return the operation applied to the tangent {t.tolist()}: the result"
        same(got, wanted, case)


def test_operations_with_several_inputs():
    x, t = np.zeros((2, 2)), np.array([[5.0, -1.0], [0.5, 4.0]])
    parts = [t, 3 * t, -t]
    for name, wanted in [
        ("concatenate", np.concatenate(parts, axis=1)),
        ("stack", np.stack(parts, axis=1)),
    ]:
        case = f"the tangent rule of {name} raises an error for three inputs"
        call = lambda: tangent_of_linear(name, parts, [x, x, x], axis=1)
        got = result_of(call, case, "pass on all three tangents, *tangents")
        case = f"the tangent rule of {name} should return {name} of all three tangents: the "
        same(got, wanted, case + "result")


# %% tangent-rules hidden points=2
def test_other_tangent_rules():
    rng = np.random.default_rng(1)
    x, t = rng.uniform(0.2, 3.0, (2, 3)), rng.normal(size=(2, 3))
    a, b, s, u = (rng.normal(size=shape) for shape in [(5, 2, 3), (3, 2)] * 2)
    yield tangent_rule("matmul", [s, u], [a, b])
    yield tangent_rule("multiply", [t, a[0, 0]], [x, a[1, 1]])
    t = rng.normal(size=(2, 3, 4))
    x = t + 7
    for name, options in [
        ("sum", {"axis": (0, 2), "keepdims": True}),
        ("transpose", {"axes": (1, 2, 0)}),
        ("take", {"index": ([1, 1, 0],)}),
        ("concatenate", {"axis": 2}),
    ]:
        yield tangent_of_linear(name, [t], [x], **options)
    yield tangent_of_linear("stack", [t, 2 * t], [x, x], axis=0)


# %% jvp points=8
def test_a_directional_derivative():
    for s, t, wanted in [(1.0, 0.0, 3.0), (0.0, 1.0, 2.0), (5.0, 7.0, 29.0)]:
        got = jvp_of("x * y", [np.array(2.0), np.array(3.0)], [np.array(s), np.array(t)])
        case = (
            f"x * y at x = 2, y = 3 with the tangents {s} and {t}: the result and its tangent"
        )
        same(got, [6.0, wanted], case)


def test_paths_are_added():
    got = jvp_of("h = x * x; h * h + h", [np.array([1.0, 2.0])], [np.array([1.0, 10.0])])
    case = "h = x * x, then h * h + h, at [1, 2] with the tangent [1, 10]: the result, and its "
    case += "tangent (4 x^3 + 2 x) times that,"
    same(got, [np.array([2.0, 20.0]), np.array([6.0, 360.0])], case)


def test_a_tangent_has_the_shape_of_the_result():
    x, v = np.array([[1.0, 2.0, 3.0]]), np.array([[4.0, 5.0, 6.0]])
    got = jvp_of("x + row", [x], [v])
    case = "x of shape (1, 3) plus a constant of shape (2, 1): the tangent"
    has_shape(got[1], (2, 3), case, "Broadcast the tangent")
    same(got[1], np.repeat(v, 2, axis=0), f"{case}, which is {v} in both rows,")


def test_options_reach_the_rule():
    x = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    v = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]])
    case = "the tangent of (x * x).sum(axis=1), summed along axis 1,"
    got, cause = jvp_of("sum along axis 1", [x], [v])[1], "Give the rule the creator's options"
    same(got, (2 * x * v).sum(axis=1), case, cause)


def test_constants_have_the_tangent_0():
    x, v = np.array([[1.0, 2.0]]), np.array([[0.5, -1.0]])
    w = np.array([[1.0, 2.0, 0.5], [3.0, -1.0, 4.0]])
    wanted = (1 - np.tanh(x @ w) ** 2) * (v @ w)
    case = "the tangent of tanh(x @ w), where w is a constant,"
    same(jvp_of("x @ w", [x], [v])[1], wanted, case, "Do constants get zeros?")


def test_a_result_that_does_not_depend_on_x_has_zeros():
    call = lambda: jvp_of("no x", [np.array([1.0, 2.0, 3.0])], [np.ones(3)])
    case, cause = "f returns [7, 8] whatever x is", "`out` may have no tangent: then zeros"
    got = result_of(call, case, cause, (KeyError, TypeError, AttributeError))
    same(got[1], np.zeros(2), f"{case}: the tangent")
    got = push_to_others(np.array([1.0, 2.0]), np.ones(2))
    same(got, np.zeros(2), "when the result was computed from another leaf, its tangent")
    got = jvp_of("x", [np.array([1.0, 2.0])], [np.array([5.0, 6.0])])
    same(got[1], np.array([5.0, 6.0]), "f(x) = x: the tangent, which is that of x,")


def test_no_rule_is_asked_for_what_does_not_depend_on_x():
    kind, message = refusal(jvp_of, "sinh of a constant", [np.ones((1, 3))], [np.ones((1, 3))])
    assert kind == "", (
        "f multiplies x by np.sinh of a constant, which has no tangent rule and needs none. "
        f"Yours raises {kind}: {message}"
    )
    got = jvp_of("sinh of a constant", [np.ones((1, 3))], [np.ones((1, 3))])
    same(got[1], np.sinh([[2.0, -1.0, 0.5]]), "the tangent of x times np.sinh of a constant")


def test_tangents_are_recorded():
    value, known, recorded = pushed("h = x * x; h * h + h", np.array([1.0]), np.array([1.0]))
    assert recorded, (
        "the tangent of a Variable's result should require a gradient, for second derivatives; "
        "yours does not. Do you compute with .data?"
    )
    assert known == 4, (
        "h = x * x; h * h + h has three results: with x, `tangents` should hold 4 entries "
        f"afterwards, yours holds {known}"
    )


# %% jvp hidden points=2
def test_other_jvps():
    rng = np.random.default_rng(0)
    x, v = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    y, s = rng.normal(size=(2, 1)), rng.normal(size=(2, 1))
    yield jvp_of("shares", [x], [v]), jvp_of("sum of cubes", [x], [v])
    yield jvp_of("x * y", [x, y], [v, s])[1], jvp_of_itself(np.array([3.0, 4.0]))
    yield pushed("2000 sines", np.array([0.5]), np.array([1.0]))[:2]
    refused(lambda: jvp_of("x * x", [np.ones(3)], [np.ones(2)]), "3 numbers, 2 tangents")


# %% jacfwd points=2
def test_rows_are_outputs_and_columns_inputs():
    got, _ = jacobian_of("forward", "xy, x + y, y", np.array([2.0, 3.0]))
    case = "f(x, y) = (xy, x + y, y) has 3 outputs and 2 inputs: the Jacobian"
    has_shape(got, (3, 2), case, "A JVP with a unit vector is a column")
    same(got, np.array([[3.0, 2.0], [1.0, 1.0], [0.0, 1.0]]), case)


def test_one_output_gives_a_vector():
    got, _ = jacobian_of("forward", "x0^2 + 3 x0 x1", np.array([2.0, 3.0]))
    case = "x0^2 + 3 x0 x1 has one output, of shape (): jacfwd should give shape (2,): the "
    same(got, np.array([13.0, 6.0]), case + "gradient")


# %% jacfwd hidden points=2
def test_other_jacobians_by_columns():
    x = np.array([0.5, -1.0, 2.0, 0.25])
    yield jacobian_of("forward", "shares", x)[0]
    yield jacobian_of("forward", "first two, squared", x.astype("float32"))[0]


# %% vjp points=4
def test_gradients_of_all_primals():
    x, y, g = np.array([2.0, 4.0]), np.array([3.0, 5.0]), np.array([1.0, 10.0])
    out, (got,), (kind,), _ = vjps_of("x * y", [x, y], [g])
    same(out, x * y, "the first result, f(x, y),")
    assert kind == "tuple" and len(got) == 2, (
        f"vjp_function should return a tuple with a gradient for each of the 2 primals, yours "
        f"returns a {kind}: {got}"
    )
    assert near(got, [g * y, g * x]), (
        f"for g = {g} the gradients of x * y should be {g * y} and {g * x}, Tensors; yours are "
        f"{got}"
    )


def test_it_can_be_called_several_times():
    gs, error = [np.eye(2)[0], np.eye(2)[1]], "The graph must not be freed: retain_graph=True"
    call, case = lambda: vjps_of("x * x", [np.array([1.0, 2.0])], gs), "x * x at [1, 2]"
    _, results, _, _ = result_of(
        call, f"{case}, vjp_function called twice", error, RuntimeError
    )
    case += ": g = [1, 0] should give [2, 0], then g = [0, 1] should give [0, 4]; the gradients"
    cause = "Were the gradients of the first call kept?"
    same(results, [[np.array([2.0, 0.0])], [np.array([0.0, 4.0])]], case, cause)


def test_a_primal_that_does_not_matter_gets_zeros():
    call = lambda: vjps_of("no x", [np.array([1.0, 2.0, 3.0])], [np.array([1.0, 1.0])])
    case = "f returns a constant"
    _, (got,), _, _ = result_of(call, case, kind=(KeyError, RuntimeError))
    same(got, [np.zeros(3)], f"{case}: the gradient")


def test_vjp_changes_no_grad():
    _, _, _, untouched = vjps_of("x * x", [np.array([1.0, 2.0])], [np.ones(2)])
    assert untouched, "vjp changed the .grad of its primal: use grad, which returns gradients"


# %% vjp hidden points=2
def test_other_vjps():
    rng = np.random.default_rng(0)
    x, y, g = (rng.normal(size=shape) for shape in [(2, 3), (2, 1), (2, 3)])
    _, gradients, _, untouched = vjps_of("x * y", [x, y], [g, 2 * g])
    yield gradients, untouched
    yield vjps_of("x", [x.astype("float32")], [g])[1]


# %% jacrev points=2
def test_the_jacobian_by_rows():
    got, runs = jacobian_of("reverse", "xy, x + y, y", np.array([2.0, 3.0]))
    case = "f(x, y) = (xy, x + y, y): the Jacobian"
    has_shape(got, (3, 2), case, "A VJP with a unit vector is a row")
    same(got, np.array([[3.0, 2.0], [1.0, 1.0], [0.0, 1.0]]), case)
    assert runs == 1, f"jacrev should run f once, yours runs it {runs} times"


def test_one_output_gives_the_gradient():
    got, _ = jacobian_of("reverse", "x0^2 + 3 x0 x1", np.array([2.0, 3.0]))
    case = "x0^2 + 3 x0 x1 has one output, of shape (): jacrev should give shape (2,): the "
    same(got, np.array([13.0, 6.0]), case + "gradient")


# %% jacrev hidden points=2
def test_other_jacobians_by_rows():
    x = np.array([0.5, -1.0, 2.0, 0.25])
    yield jacobian_of("reverse", "shares", x)
    yield jacobian_of("reverse", "first two, squared", x.astype("float32"))[0]


# %% hvp points=6
def test_a_product_with_the_whole_hessian():
    got, _, _ = hvp_of("x0^2 + 3 x0 x1", np.array([5.0, 7.0]), np.array([1.0, 2.0]))
    cause = "That is only the diagonal of H" if near(got, np.array([2.0, 0.0])) else ""
    case = "x0^2 + 3 x0 x1 has the Hessian [[2, 3], [3, 0]]: its product with v = [1, 2]"
    same(got, np.array([8.0, 3.0]), case, cause)


def test_the_hessian_at_this_point():
    v = np.array([10.0, 1.0])
    for x in (np.array([1.0, -2.0]), np.array([0.5, 3.0])):
        case = f"the sum of cubes at {x} has the Hessian diag(6 x): for v = {v} the product"
        same(hvp_of("sum of cubes", x, v)[0], 6 * x * v, case)


def test_hvp_changes_no_grad():
    got, clean, _ = hvp_of("weighted", np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 1.0, 1.0]]))
    case = "x * w * x with w = [2, -1, 0.5]: the product 2 w v"
    same(got, np.array([[4.0, -2.0, 1.0]]), case)
    assert clean, (
        "hvp left something in the .grad of x or of a weight that f uses: take new leaves, and "
        "use grad, which returns gradients and changes none"
    )


def test_a_linear_function_has_zeros():
    call = lambda: hvp_of("linear", np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    case = "the tangent of a linear function is a constant, which requires no gradient"
    got, _, _ = result_of(call, case, kind=RuntimeError)
    same(got, np.zeros(2), "2 x0 + x1 has the Hessian 0: the product")


def test_hvp_records_inside_no_grad():
    call = lambda: hvp_of("sum of cubes", np.array([1.0, 2.0]), np.ones(2), recorded=False)
    case, cause = "inside no_grad, hvp", "support.force_recording() records in spite of no_grad"
    got, _, _ = result_of(call, case, cause, RuntimeError)
    same(got, np.array([6.0, 12.0]), f"{case} of the sum of cubes at [1, 2]", cause)


def test_several_tensors():
    x, y = np.array([1.0, 2.0]), np.array([3.0, -1.0])
    v, u = np.array([1.0, 0.5]), np.array([2.0, 1.0])
    got, _, _ = hvp_of("of two", [x, y], [v, u])
    wanted = [
        2 * y.sum() * v + (2 * x * u.sum()) + 2 * y * u,
        2 * (x * v).sum() + 2 * y * v + 2 * x * u,
    ]
    case = "f(x, y) = sum(x^2) sum(y) + sum(x y^2), x = [1, 2], y = [3, -1], v = [1, 0.5] and "
    same(got, wanted, case + "[2, 1]: the list of the products")


# %% hvp hidden points=2
def test_other_hessian_vector_products():
    rng = np.random.default_rng(0)
    x, v = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    got, clean, runs = hvp_of("log of sum", x, v)
    yield got, clean, runs <= 2
    yield hvp_of("of a matrix", x, v)[:2]
    yield hvp_of("of a matrix", x.astype("float32"), v.astype("float32"))[0]
    yield hvp_of("of two", [x, v], [v, x], recorded=False)[:2]


# %% hessian points=2
def test_all_second_derivatives():
    got, _ = jacobian_of("hessian", "x0^2 + 3 x0 x1", np.array([5.0, 7.0]))
    case = "x0^2 + 3 x0 x1 has the Hessian [[2, 3], [3, 0]]: the result"
    cause = "vjp returns Tensors that are not recorded, so jacrev must be the outer function"
    same(got, np.array([[2.0, 3.0], [3.0, 0.0]]), case, cause)


def test_a_hessian_in_float32():
    x = np.array([1.0, -2.0, 0.5], "float32")
    got, _ = jacobian_of("hessian", "sum of cubes", x)
    case = f"the sum of cubes at {x} has the Hessian diag(6 x): in float32, the result"
    same(got, np.diag(6 * x), case, tolerance=1e-5)


# %% hessian hidden points=2
def test_other_hessians():
    yield jacobian_of("hessian", "log of sum", np.random.default_rng(0).normal(size=5))[0]
    yield jacobian_of("hessian", "linear", np.ones(2))[0]


# %% power-iteration points=4
def test_the_sign_of_the_eigenvalue():
    for matrix, wanted in [
        (np.diag([2.0, -5.0]), -5.0),
        (np.diag([2.0, 5.0]), 5.0),
        (np.array([[2.0, 1.0], [1.0, 2.0]]), 3.0),
    ]:
        value, kind, vector, _ = iterated(matrix, (2,), 60)
        cause = "The length of H v has no sign, v . H v has" if near(value, -wanted) else ""
        case = f"the eigenvalue of {words(matrix)} that is largest in absolute value"
        same(value, wanted, case, cause)
        assert kind == "float", f"the value should be a float, yours is a {kind}"
        case = f"v should be an eigenvector, H v = {wanted} v. For your v, {vector}, H v"
        same(matrix @ vector, wanted * vector, case, tolerance=1e-5)


def test_the_vector_has_length_1():
    value, _, vector, seen = iterated(50.0 * np.eye(2), (2,), 300)
    assert all(np.isfinite(v).all() for v in seen), (
        "with the eigenvalue 50, 300 steps overflow: divide v by its length before each product"
    )
    same(np.sqrt((vector**2).sum()), 1.0, "the length of the vector")
    assert all(near((v**2).sum(), 1.0) for v in seen), (
        "each vector that is multiplied should have length 1"
    )


def test_the_start_and_the_number_of_products():
    matrix = np.array([[2.0, 1.0], [1.0, -3.0]])
    start = np.random.default_rng(3).normal(size=2)
    unit = start / np.sqrt((start**2).sum())
    value, _, vector, seen = iterated(matrix, (2,), 1, seed=3)
    assert len(seen) == 1, f"steps=1 should call matvec once, yours calls it {len(seen)} times"
    case = (
        "the start should be rng.normal(size=like.shape), divided by its length: for seed 3 it"
    )
    same(seen[0], unit, case)
    case = "after one product the value v . H v, and the vector v that was multiplied,"
    same([value, vector], [unit @ matrix @ unit, unit], case)


def test_the_zero_matrix():
    value, _, vector, _ = iterated(np.diag([3.0, 1.0]), (1, 2), 40, dtype="float32")
    case = "a start of shape (1, 2) and float32: the vector"
    has_shape(vector, (1, 2), case, "v . H v is a sum over all axes")
    assert vector.dtype == np.float32, f"{case} should be float32, yours is {vector.dtype}"
    same(value, 3.0, "the eigenvalue of diag(3, 1)", tolerance=1e-4)
    value, _, vector, _ = iterated(np.zeros((2, 2)), (2,), 5)
    assert value == 0.0 and np.isfinite(vector).all(), (
        f"for H = 0 the value should be 0.0, yours is {value} with the vector {vector}: H v "
        "has "
        "length 0, do not divide by it"
    )


# %% power-iteration hidden points=2
def test_other_eigenvalues():
    rng = np.random.default_rng(4)
    a = rng.normal(size=(6, 6))
    matrix = a @ a.T
    value, _, vector, seen = iterated(matrix, (2, 3), 500, seed=1)
    assert near(value, np.linalg.eigvalsh(matrix)[-1], 1e-5) and vector.shape == (2, 3)
    assert len(seen) == 500 and near((vector**2).sum(), 1.0)
    value, kind, vector, seen = iterated(-matrix, (6,), 300, dtype="float32")
    assert near(value, -np.linalg.eigvalsh(matrix)[-1], 1e-3) and kind == "float"
    assert vector.dtype == np.float32 and all(v.dtype == np.float32 for v in seen)
    value, _, vector, seen = iterated(matrix, (6,), 2, seed=2)
    assert near(value, seen[1] @ matrix @ seen[1]) and near(vector, seen[1])


# %% conjugate-gradient points=5
def test_n_steps_solve_n_equations():
    for matrix, x in [
        (np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])),
        (np.array([[4.0, 1, 0], [1, 3, -1], [0, -1, 2]]), np.array([1.0, -2.0, 5.0])),
    ]:
        got, runs, b = solved(matrix, matrix @ x, len(x))
        case = f"H = {words(matrix)}, b = {matrix @ x}: after {len(x)} steps x"
        same(got, x, case)
        assert runs <= len(x), (
            f"{len(x)} steps are {len(x)} products at most, yours needs {runs}"
        )
        assert near(b, matrix @ x), f"b was {matrix @ x} and is now {b}"


def test_the_first_step():
    matrix, b = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([6.0, 7.0])
    wanted = b @ b / (b @ matrix @ b) * b
    case = "after one step x, (r . r) / (p . H p) p with r = p = b,"
    same(solved(matrix, b, 1)[0], wanted, case)
    case = "b of shape (1, 2) and float32: x after two steps"
    cause = "p . H p is a sum over all axes"
    got, _, _ = result_of(lambda: solved(matrix, b[None].astype("float32"), 2), case, cause)
    has_shape(got, (1, 2), case, cause)
    same(got, np.array([[1.0, 2.0]]), case, tolerance=1e-4)
    assert got.dtype == np.float32, f"{case} should be float32, yours is {got.dtype}"


def test_damping_is_added_to_every_eigenvalue():
    matrix, b = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([6.0, 7.0])
    got, _, _ = solved(matrix, b, 2, damping=2.0)
    wanted = np.linalg.solve(matrix + 2 * np.eye(2), b)
    same(got, wanted, "damping 2 solves (H + 2 I) x = b: x")


def test_it_stops_when_the_residual_is_0():
    got, runs, _ = solved(np.eye(3), np.array([1.0, 2.0, 3.0]), 50)
    assert near(got, np.array([1.0, 2.0, 3.0])) and runs <= 2, (
        f"for H = I one step is exact; in 50 steps yours needs {runs} products and gives {got}"
    )
    got, _, _ = solved(np.diag([1.0, 2.0, 4.0]), np.full(3, 4e-20), 50)
    cause = "The residual is compared with eps times the length of b, not with a fixed number"
    same(
        got / 1e-20, np.array([4.0, 2.0, 1.0]), "H = diag(1, 2, 4), b = 4e-20: x / 1e-20", cause
    )
    got, _, _ = solved(np.eye(3), np.zeros(3), 50)
    assert near(got, np.zeros(3)), f"for b = 0 x should be 0, yours is {got}"


def test_a_matrix_that_is_not_positive_definite_is_refused():
    matrix, b = np.diag([1.0, -3.0]), np.array([1.0, 1.0])
    for damping in (0.0, 1.0):
        case = f"H = diag(1, -3) with damping {damping} has a direction with p . H p <= 0: it"
        refused(lambda: solved(matrix, b, 5, damping), case, contains=["damping"])
    got, _, _ = solved(matrix, b, 5, damping=4.0)
    same(got, np.array([0.2, 1.0]), "with damping 4, x")


# %% conjugate-gradient hidden points=2
def test_other_systems():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(12, 6))
    matrix, b = a.T @ a, rng.normal(size=(2, 3))
    got, runs, after = solved(matrix, b, 40)
    assert near(got.ravel(), np.linalg.solve(matrix, b.ravel())) and got.shape == (2, 3)
    assert runs < 30 and near(after, b, 0)
    for scale in (1e-12, 1e12):
        got, runs, _ = solved(matrix, b * scale, 40)
        assert near(got.ravel() / scale, np.linalg.solve(matrix, b.ravel())) and runs < 30
    got, _, _ = solved(matrix, b.astype("float32"), 6)
    assert got.dtype == np.float32
    assert near(got.ravel(), np.linalg.solve(matrix, b.ravel()), 1e-3)
    residuals = []
    for steps in range(1, 6):
        x, runs, _ = solved(matrix, b, steps)
        assert runs == steps
        residuals.append(b.ravel() @ x.ravel() - x.ravel() @ matrix @ x.ravel() / 2)
    assert residuals == sorted(residuals)
    assert refusal(solved, np.zeros((2, 2)), np.ones(2), 3)[0] == "ValueError"
    numbers = np.linspace(1, 10, 30)
    got, runs, _ = solved(np.diag(numbers), numbers * numbers, 100)
    assert near(got, numbers, 1e-13) and 25 < runs < 90


# %% newton points=2
def test_one_step_finds_the_minimum_of_a_bowl():
    x = np.array([[5.0, -7.0]])
    got, after = stepped("bowl", x)
    case = (
        f"a quadratic function with its minimum at [3, 3]: after one step from {x}, the new x"
    )
    same(got, np.array([[3.0, 3.0]]), case, tolerance=1e-5)
    assert near(after, x), f"x was {x} and is now {after}: return a new Tensor"


def test_options_reach_the_solver():
    x = np.array([[5.0, -7.0]])
    got, _ = stepped("bowl", x, damping=1.0)
    case = "with damping 1 the step from [5, -7] is [2 / (1 + 1), -50 / (5 + 1)]: the new x"
    same(got, np.array([[4.0, 3.0 - 10 / 6]]), case, tolerance=1e-5)
    g = np.array([2.0, -50.0])
    alpha = g @ g / (g @ (np.array([1.0, 5.0]) * g))
    got, _ = stepped("bowl", x, steps=1)
    case = "with steps=1, one step of the conjugate gradient method, the new x"
    same(got, x - alpha * g, case, tolerance=1e-5)


# %% newton hidden points=2
def test_other_newton_steps():
    x = np.array([2.0, 0.5])
    yield stepped("sum of cubes", x)[0]
    yield stepped("sum of cubes", x, steps=5, damping=3.0)[0]
    yield stepped("saddle", np.array([1.0, 1.0]), damping=10.0)[0]


# %% hutchinson points=2
def test_a_diagonal_matrix_needs_one_probe():
    numbers = np.array([2.0, -5.0, 1.0, 4.0, 0.5, 3.0, -1.0, 7.0])
    trace, kind, diagonal, seen = probed(np.diag(numbers), (8,), 1)
    assert len(seen) == 1 and near(np.abs(seen[0]), np.ones(8)), (
        f"one probe should be one product, with a vector of -1 and 1; yours has {seen}"
    )
    case = "for a diagonal matrix, z * H z is the diagonal for all signs: the result"
    cause = "The numbers of `like`, here 7, are not used" if near(diagonal, numbers + 7) else ""
    same(diagonal, numbers, case, cause)
    same(trace, numbers.sum(), "the trace")
    assert kind == "float", f"the trace should be a float, yours is a {kind}"
    trace, _, diagonal, seen = probed(np.diag(numbers), (2, 4), 2, dtype="float32")
    assert seen[0].dtype == np.float32, (
        f"v should have the dtype of `like`, not {seen[0].dtype}"
    )
    case = "for probes of shape (2, 4) and float32, the diagonal"
    has_shape(diagonal, (2, 4), case)
    assert diagonal.dtype == np.float32, f"{case} should be float32, yours is {diagonal.dtype}"


def test_the_mean_over_many_probes():
    matrix = np.array([[2.0, 1.0], [1.0, -5.0]])
    trace, _, diagonal, seen = probed(matrix, (2,), 400)
    assert len(seen) == 400, f"400 probes should be 400 products, yours needs {len(seen)}"
    assert near(diagonal, np.array([2.0, -5.0]), 0.05), (
        f"the mean of z * H z over 400 probes should be close to [2, -5], yours is {diagonal}"
    )
    same(trace, diagonal.sum(), "the trace, the sum of the diagonal,")
    assert len({tuple(z) for z in seen}) == 4, (
        "the probes should have all four combinations of signs: draw a new sign for each entry "
        f"and each probe. Yours are {sorted({tuple(z) for z in seen})}"
    )


# %% hutchinson hidden points=2
def test_other_estimates():
    a = np.random.default_rng(0).normal(size=(6, 6))
    matrix = a + a.T
    trace, _, diagonal, seen = probed(matrix, (2, 3), 5, seed=7)
    zs = np.array([z.ravel() for z in seen])
    wanted = (zs * (zs @ matrix)).mean(axis=0)
    assert near(diagonal.ravel(), wanted) and diagonal.shape == (2, 3)
    assert near(trace, wanted.sum())
    _, _, diagonal, seen = probed(matrix, (6,), 2, dtype="float32")
    assert diagonal.dtype == np.float32 and seen[0].dtype == np.float32


# %% checkpoint points=5
def test_values_and_gradients_are_those_without_checkpoint():
    cause = "`backward` adds to their .grad, `grad` does not"
    for kind in ("weights", "no weights", "twice"):
        got, usual = checkpointed(kind, X), gradients_by_hand(kind)
        same(got[0], loss_by_hand(kind, X, WEIGHTS), "the loss")
        case = "x should get the same gradient as without checkpoint: the gradient"
        same(got[1][0], usual[0], case)
        case = "the gradient of the weights that f uses, which are not among its inputs,"
        same(got[1][1], usual[1], case, cause)


def test_the_forward_pass_records_one_operation():
    got = checkpointed("weights", X)
    assert got[2] == 1, f"f should run once in the forward pass, yours runs {got[2]} times"
    assert got[4] == 3, (
        f"the graph should hold 3 results: the checkpoint, a product and a sum; yours holds "
        f"{got[4]}. Is f recorded in the forward pass? Then no memory is saved"
    )
    assert not got[7], (
        "in the forward pass f is recorded, so that all its results stay in memory while it "
        "runs: call it inside no_grad()"
    )
    assert got[3] == 2, (
        f"f should run once more in the backward pass, 2 times in all; yours runs {got[3]} "
        "times"
    )


def test_weights_alone_want_gradients():
    got = checkpointed("weights", X, wanted=False)
    case = "x requires no gradient, the weights do: their gradient"
    same(got[1][1], gradients_by_hand("weights")[1], case)
    assert got[1][0].size == 0, f"x requires no gradient and got {got[1][0]}"


def test_inputs_without_gradient():
    got = checkpointed("labels", X)
    case = "f has the inputs x, a Tensor of integers and the number 3.0: the gradients"
    same(got[1], gradients_by_hand("labels"), case)


def test_random_numbers_are_repeated():
    usual, got = checkpointed("dropout", X, through=False), checkpointed("dropout", X)
    same(got[0], usual[0], "the loss")
    case = "f drops elements at random: the gradients, with the mask of the forward pass,"
    cause = "Is another mask drawn in the second run? Save random_states in forward, before f "
    same(got[1], usual[1], case, cause + "runs")
    assert got[6] == usual[6], "after the backward pass the generator should go on where it was"


# %% checkpoint hidden points=2
def test_other_checkpoints():
    x = np.array([[0.3, 1.0], [-2.0, 0.7]])
    for kind in ("weights", "no weights", "dropout", "labels", "twice"):
        loss, gradients, *_, drawn, _ = checkpointed(kind, x)
        yield loss, gradients, drawn
    yield checkpointed("twice", X)[2:4]
    yield checkpointed("weights", X, recorded=False)[2:6]
    yield checkpointed("no weights", X, wanted=False)[1][0].size
