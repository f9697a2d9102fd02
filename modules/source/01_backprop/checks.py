# The checks of lesson 01, by exercise. `check("add")` in the chapter runs the visible ones.

# %% setup
import math
import random

import numpy as np

from checking import equal, expect, refused, result_of, shown


def near(got, wanted, tolerance=1e-12):
    """Whether as many numbers were found as wanted, each within the tolerance."""
    return len(got) == len(wanted) and all(
        abs(a - b) < tolerance for a, b in zip(got, wanted, strict=True)
    )


def close(found, wanted, case, cause=""):
    """Assert that numbers are within 1e-12 of the wanted ones, and that none of them is nan."""
    expect(found, wanted, case, cause, near=1e-12)
    assert np.isfinite(wanted).all(), f"{case} should be a number, yours is {shown(found)}"


def is_value(out, name, cause="return what record returns"):
    """Assert that a result is a Value."""
    assert isinstance(out, Value), f"{name} should be a Value, yours is {out!r:.60}: {cause}"


def grad(node):
    """The gradient of a node, as a float, also where the learner's is a Value."""
    return float(node.grad.data if isinstance(node.grad, Value) else node.grad)


def grads(*nodes):
    """The gradients of some nodes, as floats."""
    return [grad(node) for node in nodes]


def backward_is_right():
    """Assert that `backward` finds a gradient, before a check blames another exercise."""
    x, y = Value(3.0), Value(-1.0)
    error = x * y + x * 2.0 + y
    (error * error + x * y).backward()
    mend = "The exercises before this one come first: see their checks"
    assert isinstance(x.grad, (float, int)), (
        f"after backward(), a grad should be a plain number, yours is {x.grad!r:.60}: the "
        f"local gradients in `multiply` are floats, not Values. {mend}"
    )
    case = "the derivatives of e*e + x*y, where e = x*y + 2*x + y, that `backward` finds at "
    equal(grads(x, y), [3.0, 19.0], case + "x = 3, y = -1", mend)


def equal_nodes_are_listed():
    """Assert that topological_order lists four nodes that hold the same number."""
    one, two = record("", 3.0, (), ()), record("", 3.0, (), ())
    product = record("f", 3.0, (record("f", 3.0, (one, two), (1.0, 1.0)), two), (1.0, 1.0))
    got = len(topological_order(product))
    assert got == 4, (
        f"four nodes that all hold the number 3 are four nodes, topological_order lists {got}: "
        "remember the nodes themselves, not their data"
    )


def data_of(parts):
    """The numbers in some Values, as floats."""
    return [float(part.data) for part in parts]


def central_difference(f, at, i, step=1e-5):
    """The central difference of f(*at) with respect to number i."""
    up, down = list(at), list(at)
    up[i] += step
    down[i] -= step
    return (f(*up) - f(*down)) / (2 * step)


def random_graph(seed, leaves, count=30):
    """The nodes of a random graph."""
    draw, nodes = random.Random(seed), []
    for i in range(count):
        inputs = draw.choices(range(i), k=draw.randint(2, 3)) if i >= leaves else []
        local_gradients = tuple(draw.choice([-2.0, -1.0, 1.0, 3.0]) for _ in inputs)
        op, used = "f" if i >= leaves else "", tuple(nodes[c] for c in inputs)
        nodes.append(record(op, 1.0, used, local_gradients))
    return nodes


def layer_outputs(layer, row):
    """What the neurons of a layer compute for a row, before their nonlinearity."""
    return [
        sum(w * v for w, v in zip(data_of(neuron.w), row)) + float(neuron.b.data)
        for neuron in layer.neurons
    ]


def derivatives(roots, leaf):
    """What forward_mode_derivatives returns, as floats."""
    cause = "no derivative was stored for this node. Go through forward_order(roots) from its "
    cause += "beginning, and see the checks of topological_order"
    run = lambda: forward_mode_derivatives(roots, leaf)
    got = result_of(run, "forward mode", {"Value(": cause}, KeyError)
    assert all(isinstance(derivative, (float, int)) for derivative in got), (
        f"forward_mode_derivatives should return plain numbers, yours returns {got!r:.60}"
    )
    return [float(derivative) for derivative in got]


# %% by-hand points=2
def is_dict(got):
    """Assert that the gradients are in a dict."""
    cause = "is `return` missing?" if got is None else 'return a dict, {"L": 1.0, ...}'
    assert isinstance(got, dict), f"gradients_by_hand returned {got!r:.40}: {cause}"


def test_gradients_of_intermediate_results_by_hand():
    got = gradients_by_hand()
    is_dict(got)
    missing = [name for name in ("L", "f", "g", "e", "c", "d", "b", "a") if name not in got]
    assert not missing, f"there are eight gradients, yours lack the keys {missing}"
    e, f, g = -6.0, 4.0, 7.0
    product = "the derivative of a product with respect to one factor is the other factor"
    for name, moved, why in [
        ("L", lambda h: f * g + h, "L changes as much as itself: 1"),
        ("f", lambda h: (f + h) * g, product),
        ("g", lambda h: f * (g + h), product),
        ("e", lambda h: (e + h + 10) * g, product),
    ]:
        case = f"the derivative of L with respect to {name}"
        equal(float(got[name]), moved(0.5) - moved(-0.5), case, why)


def test_gradients_of_the_inputs_by_hand():
    got = gradients_by_hand()
    is_dict(got)
    missing = [name for name in "dcba" if name not in got]
    assert not missing, f"every input has a gradient, yours lack the keys {missing}"

    def result(a, b, c, d):
        return (a * b + c) * (a + d)

    at = 2.0, -3.0, 10.0, 5.0
    for name, why in [
        ("d", ""),
        ("c", ""),
        ("b", "b changes e, and e changes L; along a path, derivatives multiply"),
        ("a", "two paths lead from a to L, over e and over g; their contributions add up"),
    ]:
        case = f"the derivative of L with respect to {name}"
        equal(
            float(got[name]), central_difference(result, at, "abcd".index(name), 0.5), case, why
        )


# %% learner-side
# The checks read inputs and local gradients through these two, which say what is wrong.
def inputs_of(out):
    """The numbers that `out` was computed from, or what is wrong with its inputs."""
    if not isinstance(out, Value):
        return f"{out!r:.60}, which is no Value: return what record returns"
    if not isinstance(out._prev, (tuple, list)):
        return "no tuple: (x) is just x, write (x,)"
    return [float(x.data) if isinstance(x, Value) else f"{x}, no Value" for x in out._prev]


def local_gradients_of(out):
    """The local gradients of `out`, or what is wrong with them."""
    if not isinstance(out, Value):
        return f"{out!r:.60}, which is no Value: return what record returns"
    if type(out._local_gradients).__name__ == "UnknownDerivatives":
        return "not set: create the result with `record`, which takes the local gradients"
    if not isinstance(out._local_gradients, (tuple, list)):
        return "no tuple: (x) is just x, write (x,), and one local gradient needs its comma too"
    if any(isinstance(local, Value) for local in out._local_gradients):
        return "Values, but local gradients are plain floats: `b.data`, not `b`"
    return list(map(float, out._local_gradients))


# %% multiply points=4
def test_multiply_returns_a_value():
    a, b = Value(2.5), Value(-7.0)
    is_value(multiply(a, b), "multiply(a, b)")
    for name, out, right in [
        ("a * b", a * b, -17.5),
        ("a * 3", a * 3, 7.5),
        ("3 * a", 3 * a, 7.5),
        ("a * a", a * a, 6.25),
    ]:
        is_value(out, name)
        equal(float(out.data), right, f"{name} with a=2.5, b=-7")
    equal(data_of([a, b]), [2.5, -7.0], "after multiplying, the operands a and b")


def test_multiply_records_its_operation_and_its_inputs():
    a = Value(2.5)
    for name, out, right in [("a * b", a * Value(-7.0), -7.0), ("a * a", a * a, 2.5)]:
        equal(out._op, "*", f"the recorded operation of {name}")
        case = f"the numbers of the Values in _prev of {name}, for a = 2.5 and b = -7,"
        equal(inputs_of(out), [2.5, right], case, "record the Values (a, b) themselves")


def test_the_local_gradient_for_one_factor_is_the_other_factor():
    for a, b in [(2.5, -7.0), (0.0, 40.0), (-0.125, 3.0)]:
        got, case = local_gradients_of(Value(a) * Value(b)), f"the local gradients of {a} * {b}"
        assert isinstance(got, list), f"{case} are {got}"
        equal(
            got, [b, a], case, "the derivative with respect to one factor is the other factor"
        )


# %% multiply hidden points=1
def test_products_of_other_numbers():
    for a, b in [(1e200, -3e-200), (-0.1, 0.7), (13.0, 0.0), (-4.0, -6.25), (0.0, 0.0)]:
        x, y = Value(a), Value(b)
        out = multiply(x, y)
        yield float(out.data), local_gradients_of(out), out._op
        x.data, y.data = 50.0, 60.0
        yield inputs_of(out)
    x = Value(-1.5)
    yield local_gradients_of(x * x), inputs_of(x * x)
    for n in (-8, 0, 0.5):
        yield float((x * n).data), float((n * x).data)


# %% propagate points=5
def test_each_input_gets_its_local_gradient_times_the_upstream_gradient():
    a, b = Value(2.0), Value(9.0)
    out = record("f", 1.0, (a, b), (3.0, -0.5))
    out.grad = 7.0
    propagate(out)
    case = (
        "the upstream gradient is 7 and the local gradients are 3 and -0.5: the grads of the "
    )
    cause = "multiply each local gradient by the grad of the node"
    equal(grads(a, b), [21.0, -3.5], case + "inputs", cause)
    equal(grad(out), 7.0, "after propagate, the node's own grad")


def test_gradients_accumulate_over_paths():
    a, b = Value(2.0), Value(9.0)
    out = record("f", 1.0, (a, b), (3.0, -0.5))
    a.grad, b.grad, out.grad = 100.0, 40.0, 2.0
    propagate(out)
    case = "[a.grad, b.grad] was [100, 40] already, from another path through the graph. After "
    case += "propagating 6 and -1 it"
    equal(grads(a, b), [106.0, 39.0], case, "Gradients accumulate: += instead of =")


def test_an_input_that_is_used_twice_gets_both_contributions():
    a = Value(4.0)
    out = record("f", 1.0, (a, a), (3.0, 5.0))
    out.grad = -2.0
    propagate(out)
    case = "the grad of an input that is used twice, with the local gradients 3 and 5, for the "
    equal(grad(a), -16.0, case + "upstream gradient -2,", "Add both: -6 and -10")


def test_propagate_works_for_any_number_of_inputs():
    for local_gradients in [(), (3.0,), (2.0, -1.0, 0.5), (1.0, 2.0, 3.0, 4.0)]:
        parts = [Value(1.0) for _ in local_gradients]
        for part in parts:
            part.grad = 10.0
        out = record("f", 1.0, tuple(parts), local_gradients)
        out.grad = 4.0
        propagate(out)
        case = f"the grads of inputs with the local gradients {local_gradients}, each 10 at "
        case += "first, for the upstream gradient 4,"
        equal(grads(*parts), [10.0 + 4.0 * local for local in local_gradients], case)


def test_propagate_makes_one_step_only():
    a = Value(2.0)
    inner = record("f", 1.0, (a,), (3.0,))
    out = record("f", 1.0, (inner, inner), (5.0, 1.0))
    out.grad = 7.0
    propagate(out)
    case = "the grads of inner, which is used twice, and of a, from which inner was computed,"
    got = grads(inner, a)
    cause = "Gradients accumulate: += instead of =" * (got == [7.0, 0.0])
    if got[1]:
        cause = "propagate makes one step only, `backward` will make the others in order"
    equal(got, [42.0, 0.0], case, cause)


# %% propagate hidden points=1
def test_contributions_of_any_size_reach_inputs_in_any_order():
    for local_gradients, g in [
        ((2.0, -1.0, 0.5, 4.0, -3.0), 8.0),
        ((1e150, 0.0, -1e-150, 2.0, 1e3), -1e100),
        ((7.0, 6.0, 5.0, 4.0, 3.0), 0.0),
    ]:
        a, b, c = Value(1.0), Value(-2.0), Value(0.0)
        a.grad, c.grad = 1.0, -5.0
        out = record("f", 1.0, (a, b, a, c, a), local_gradients)
        out.grad = g
        propagate(out)
        yield grads(a, b, c)
    a, b = Value(3.0), Value(3.0)
    for inputs, local_gradients, g in [
        ((b, a), (2.0, 5.0), -1.0),
        ((b, b, b), (1.0,) * 3, 10.0),
    ]:
        out = record("f", 1.0, inputs, local_gradients)
        out.grad = g
        propagate(out)
    yield grads(a, b)


# %% learner-side
# The checks need graphs with very many nodes, and nodes that count how often they are read. A
# clock would blame a slow machine; a count does not.
class Counting(Value):
    """A Value that counts how often its inputs and local gradients are read, and how often two
    nodes are compared."""

    __slots__ = ()
    counts = {"inputs": 0, "local gradients": 0, "compared": 0}

    @property
    def _prev(self):
        self.counts["inputs"] += 1
        return Value._prev.__get__(self)

    @property
    def _local_gradients(self):
        self.counts["local gradients"] += 1
        return Value._local_gradients.__get__(self)

    def __eq__(self, other):
        self.counts["compared"] += 1
        return id(self) == id(other)

    __hash__ = object.__hash__


def counting(node):
    """The same node, from now on counting."""
    node.__class__ = Counting
    return node


def counted(function):
    """What `function()` returns, and the counts of what it read of counting nodes."""
    Counting.counts.update({"inputs": 0, "local gradients": 0, "compared": 0})
    return function(), dict(Counting.counts)


# %% learner-side
# Every result of a deep graph. Of a graph of which only the end is known, node is freed inside
# node, 10,000 deep, and a browser has no stack for that.
KEPT = []


def chain(operations, uses=1):
    """A Value at the end of so many operations in a row, each with the one before as its input,
    `uses` times."""
    node = record("", 0.0, (), ())
    for i in range(operations):
        KEPT.append(node)
        node = record("f", i + 1.0, (node,) * uses, (1.0,) * uses)
    return node


def counted_order(operations, uses=1):
    """How many nodes `topological_order` lists for such a chain, and the counts."""
    nodes = [record("", 0.0, (), ())]
    for i in range(operations):
        nodes.append(record("f", i + 1.0, nodes[-1:] * uses, [1.0] * uses))
    for node in nodes:
        counting(node)
    got, counts = counted(lambda: topological_order(nodes[-1]))
    return len(got), counts


def nodes_in_chain(operations, uses=1):
    """How many nodes `topological_order` lists for such a chain."""
    return len(topological_order(chain(operations, uses)))


def repeated_sum(x, times):
    """x + x + x + ..."""
    y = x
    for _ in range(times):
        KEPT.append(y)
        y = y + x
    return y


# %% topological-order points=5
def test_every_node_is_listed_once():
    x, unused = record("", 2.0, (), ()), record("", 99.0, (), ())
    y = record("f", 3.0, (x, x), (1.0, 1.0))
    z = record("f", 4.0, (y, x), (1.0, 1.0))
    beside = record("f", 98.0, (y, unused), (1.0, 1.0))
    root = record("f", 5.0, (z, y), (1.0, 1.0))
    nodes = topological_order(root)
    assert nodes is not None, "topological_order returned None: `list.sort` sorts in place"
    got = [float(node.data) for node in nodes]
    assert sorted(got) == [2.0, 3.0, 4.0, 5.0], (
        "node 5 was computed from nodes 4 and 3, node 4 from 3 and 2, and node 3 from 2. Your "
        f"order lists the nodes {got}; it should list each of the four once, and not node "
        f"{beside.data:g}, from which 5 was not computed" + ". 5 is missing" * (5.0 not in got)
    )
    equal_nodes_are_listed()


def test_every_node_comes_before_its_inputs():
    s = record("", 2.0, (), ())
    t = record("f", 3.0, (s,), (1.0,))
    u = record("f", 4.0, (t,), (1.0,))
    v = record("f", 5.0, (u, s), (1.0, 1.0))
    for inputs in [(s, v), (v, s), (t, v, s), (u, v), (t, s, v)]:
        root = record("f", 6.0, inputs, (1.0,) * len(inputs))
        got = [float(node.data) for node in topological_order(root)]
        cause = (
            ", exactly reversed: the newest node comes first"
            if got == [2.0, 3.0, 4.0, 5.0, 6.0]
            else ""
        )
        assert got == [6.0, 5.0, 4.0, 3.0, 2.0], (
            "node 3 was computed from node 2, node 4 from 3, node 5 from 4 and 2, and node 6 "
            f"from {', '.join(f'{n:g}' for n in data_of(inputs))}. Only the order 6, 5, 4, 3, "
            f"2 has every node before its inputs, your order is {got}{cause}"
        )


def test_inputs_created_before_and_after_other_results():
    a, b = record("", 60.0, (), ()), record("", -5.0, (), ())
    c = record("f", 8.0, (a, b), (1.0, 1.0))
    late = record("", 90.0, (), ())
    d = record("f", 0.5, (late, c), (1.0, 1.0))
    e = record("f", -7.0, (c, a), (1.0, 1.0))
    nodes = topological_order(record("f", 4.0, (d, e), (1.0, 1.0)))
    place = {float(node.data): i for i, node in enumerate(nodes)}
    assert len(place) == 7, f"seven nodes belong to this graph, yours lists {sorted(place)}"
    for user, inputs in [(4, (0.5, -7)), (0.5, (90, 8)), (-7, (8, 60)), (8, (60, -5))]:
        for used in inputs:
            assert place[user] < place[used], (
                f"{used} is an input of {user}, so {user} must come first; your order is "
                f"{list(place)}"
            )


def test_a_deep_graph_is_fast_and_needs_no_recursion():
    got, counts = counted_order(300)
    assert counts["compared"] < 10 * got, (
        f"for {got} nodes, yours compared nodes {counts['compared']:,} times: `in` compares "
        "with every entry of a list; keep the nodes seen in a set"
    )
    try:
        got = nodes_in_chain(10_000)
    except RecursionError:
        got = "a RecursionError"
    assert got == 10_001, (
        f"a chain of 10,000 operations has 10,001 nodes, yours gives {got}: replace the "
        "recursion by a loop over a list"
    )


def test_no_path_is_visited_twice():
    for operations in (1, 2, 3, 5, 15):
        got, counts = counted_order(operations, uses=3)
        assert got == operations + 1, (
            f"{operations} operations in a row, each using the one before three times, have "
            f"{operations + 1} nodes, yours lists {got}: append a node only if it was not"
            " seen before"
        )
        assert counts["inputs"] <= 6 * got, (
            f"the inputs of {got} nodes were read {counts['inputs']:,} times: each of the "
            f"{3**operations:,} paths was followed; test whether a node was seen before you "
            "follow its inputs"
        )


# %% topological-order hidden points=1
def test_random_graphs_of_forty_nodes():
    for seed in range(4):
        draw, nodes, inputs = random.Random(seed), [], []
        for i in range(40):
            chosen = draw.choices(range(i), k=draw.randint(0, 4)) if i else []
            inputs.append(chosen)
            parts, op = tuple(nodes[c] for c in chosen), "f" if chosen else ""
            nodes.append(record(op, float(i), parts, (1.0,) * len(chosen)))
        for root in (39, 38, 25, 0):
            got = [int(float(node.data)) for node in topological_order(nodes[root])]
            yield sorted(got), got[0]
            place = {name: at for at, name in enumerate(got)}
            pairs = [(user, used) for user in got for used in inputs[user]]
            yield [(user, used) for user, used in pairs if place[user] > place[used]]


# %% backward points=7
def test_backward_finds_the_gradients_worked_out_by_hand():
    a, b, c, d = Value(2.0), Value(-3.0), Value(10.0), Value(5.0)
    e = a * b
    f = e + c
    g = a + d
    L = f * g
    L.backward()
    for name, node, right in [
        ("L", L, 1.0),
        ("f", f, 7.0),
        ("g", g, 4.0),
        ("e", e, 7.0),
        ("c", c, 7.0),
        ("d", d, 4.0),
        ("b", b, 14.0),
        ("a", a, -17.0),
    ]:
        why = "compare with the graph that you filled in by hand"
        if name == "L":
            why = "the derivative of L with respect to itself is 1: begin with it, and keep it"
        elif node.grad == 0:
            why += ". Nothing has reached it: propagate from L first, and from the leaves last"
        assert isinstance(node.grad, (float, int)), (
            f"{name}.grad should be a plain number, yours is {node.grad!r:.60}: gradients and "
            "local gradients are floats, not Values"
        )
        equal(grad(node), right, f"the derivative of L with respect to {name}", why)


def test_the_upstream_gradient_is_a_factor():
    a, b = Value(2.0), Value(-3.0)
    ((a + b) * 3).backward()
    equal(grads(a, b), [3.0, 3.0], "the derivatives of (a + b) * 3 with respect to a and to b")


def test_a_shared_node_waits_for_both_results_that_use_it():
    a = Value(1.0)
    b = a + a
    (b + b).backward()
    case = "the derivative of c = b + b, where b = a + a, with respect to a"
    equal(grad(a), 4.0, case, "b propagated too early or too often")
    for far_first in (True, False):
        x = Value(2.0)
        y = 3 * x
        q, s = 5 * y, (2 * y) * 1
        (q + s if far_first else s + q).backward()
        case = "the derivative of q + s, where y = 3*x, q = 5*y, s = 2*y*1, with respect to x"
        cause = "y must wait until both results that use it have propagated"
        equal(grad(x), 21.0, case, cause)


def test_leaves_accumulate_and_intermediate_results_start_from_0():
    x = Value(5.0)
    inner = 3 * x
    z = 4 * inner
    z.backward()
    equal(grad(x), 12.0, "the derivative of z = 4*(3*x)")
    z.backward()
    case = "after a second backward pass, the grad of 3*x"
    cause = "set the grad of intermediate results to 0 first"
    equal(grad(inner), 4.0, case, cause)
    equal(grad(z), 1.0, "after every pass, the grad of z itself")
    case = "after two backward passes, each of which adds 12, the grad of the leaf x"
    equal(grad(x), 24.0, case, "leaves accumulate")
    x.grad = 0.0
    z.backward()
    case = "x.grad, which was set to 0, after a third pass"
    equal(grad(x), 12.0, case, "gradients of intermediate results must start at 0")
    (x * 7).backward()
    equal(grad(x), 19.0, "x.grad, which was 12, after a backward pass from 7*x")


def test_backward_from_a_leaf():
    x = Value(5.0)
    x.backward()
    first = grad(x)
    x.backward()
    case = "x.backward() on a leaf x accumulates 1 each time: its grad after each of two passes"
    equal([first, grad(x)], [1.0, 2.0], case)


def test_backward_agrees_with_finite_differences():
    def f(x, y, z):
        for _ in range(4):
            x, y, z = y * z + x, x * 0.5 + z, x * y + 1
        return x * z + y * y

    at = (0.5, -0.75, 0.25)
    values = [Value(number) for number in at]
    f(*values).backward()
    for i, value in enumerate(values):
        right = central_difference(f, at, i)
        assert abs(grad(value) - right) < 1e-6 * max(1, abs(right)), (
            f"the derivative with respect to input {i}: a central difference gives "
            f"{right:.6f}, backward() gives {grad(value):.6f}"
        )


def test_ten_thousand_operations_and_sixty_doublings():
    got, counts = counted_order(300)
    assert counts["compared"] < 10 * got, (
        "topological_order is too slow for a graph of 10,000 operations: for "
        f"{got} nodes it compared nodes {counts['compared']:,} times. Keep the nodes seen in "
        "a set"
    )
    x = Value(0.5)
    repeated_sum(x, 10_000).backward()
    equal(grad(x), 10_001.0, "the derivative of x added to itself 10,000 times")
    x.grad, y = 0.0, x
    for _ in range(60):
        y = y + y
    y.backward()
    equal(grad(x), 2.0**60, "the derivative of x doubled 60 times", "it is 2**60")


# %% backward hidden points=1
def test_backward_from_several_results_of_one_large_graph():
    for seed in range(3):
        nodes = random_graph(seed, leaves=4)
        nodes[0].grad = 100.0
        for root in (29, 17, 29, 2):
            nodes[root].backward()
            yield grads(*nodes[: max(root + 1, 4)])


# %% learner-side
def step_with(loss, parameters, rate):
    """What `train_step` returns, and how often it called `loss`."""
    calls = []

    def counted_loss():
        calls.append(1)
        return loss()

    return train_step(counted_loss, parameters, rate), len(calls)


# %% train-step points=6
def test_three_steps_of_a_line():
    backward_is_right()
    inputs, targets, rate = [[1.0, -2.0], [0.5, 3.0], [-1.5, 0.25]], [2.0, -1.0, 0.5], 0.03
    numbers = [0.5, -0.25, 1.0]
    parameters = v, w, b = [Value(number) for number in numbers]

    def loss():
        errors = [v * x[0] + w * x[1] + b - t for x, t in zip(inputs, targets)]
        return sum(error * error for error in errors)

    for step in (1, 2, 3):
        errors = [
            numbers[0] * x[0] + numbers[1] * x[1] + numbers[2] - t
            for x, t in zip(inputs, targets)
        ]
        got_loss, calls = step_with(loss, parameters, rate)
        got = data_of(parameters)
        cause = "you assign to `p` and not to `p.data`"
        if not any(grads(*parameters)):
            cause = "you set the gradients to 0 after the backward pass and not before it"
        assert got != numbers, (
            f"after step {step} the parameters did not move, they are still {got}: {cause}"
        )
        assert isinstance(got_loss, (float, int)), (
            f"train_step returned {got_loss!r:.60}: return the number, `.data`; a Value keeps "
            "the whole graph in memory"
        )
        right = sum(error**2 for error in errors)
        after = sum(
            (got[0] * x[0] + got[1] * x[1] + got[2] - t) ** 2 for x, t in zip(inputs, targets)
        )
        late = ": that is the loss after the step" * (abs(after - got_loss) < 1e-9)
        assert abs(got_loss - right) < 1e-9, (
            f"before step {step} the loss is {right}, you return {got_loss}{late}"
        )
        gradient = [
            2 * sum(error * factor for error, factor in zip(errors, factors))
            for factors in ([x[0] for x in inputs], [x[1] for x in inputs], [1.0] * 3)
        ]
        ascent = [number + rate * partial for number, partial in zip(numbers, gradient)]
        numbers = [number - rate * partial for number, partial in zip(numbers, gradient)]
        assert not near(got, ascent, 1e-9), (
            f"after step {step} the parameters should be {numbers}, yours are {got}: they "
            "moved with the gradient instead of against it"
        )
        assert near(got, numbers, 1e-9), (
            f"after step {step} with learning rate {rate} the parameters should be {numbers}, "
            f"yours are {got}: parameter minus rate times derivative"
            + (". Gradients accumulate: set them to 0 in each step" if step > 1 else "")
        )
        equal(calls, 1, "the number of times that one step computes the loss")


def test_gradients_from_before_the_step_do_not_matter():
    backward_is_right()
    w, b = Value(0.5), Value(-2.0)
    ((w * 40.0 + b) * 10).backward()
    error = 2.0 * 0.5 - 2.0 - 1.0
    train_step(lambda: (w * 2.0 + b - 1.0) * (w * 2.0 + b - 1.0), [w, b], 0.05)
    got = data_of([w, b])
    right = [0.5 - 0.05 * 4 * error, -2.0 - 0.05 * 2 * error]
    assert got != [0.5, -2.0], f"the parameters did not move, they are still {got}"
    assert near(got, right, 1e-9), (
        "the parameters held gradients from another backward pass; the step should give "
        f"{right}, yours gives {got}: set them to 0 before the backward pass"
    )


def test_forty_steps_reach_the_minimum():
    backward_is_right()
    x, y = Value(3.0), Value(-2.0)

    def loss():
        return (x - 1.0) * (x - 1.0) + (y + 0.5) * (y + 0.5) * 2.0

    for _ in range(40):
        train_step(loss, [x, y], 0.2)
    got = data_of([x, y])
    assert near(got, [1.0, -0.5], 1e-6), (
        f"the minimum of (x - 1)**2 + 2 (y + 0.5)**2 is at [1, -0.5], 40 steps lead to {got}"
    )
    x.data = 4.0
    loss_there = train_step(loss, [x], 0.0)
    assert near([float(loss_there), float(x.data)], [9.0, 4.0], 1e-6), (
        "at x = 4 the loss is 9, and a step of rate 0 leaves x; yours gives the loss "
        f"{loss_there} and x = {x.data}"
    )


# %% train-step hidden points=1
def test_steps_of_other_losses():
    for numbers, rate in [([0.3, -0.8, 1.5], 0.07), ([2.0, 0.0, -1.0], 0.5), ([1.0] * 3, 0.0)]:
        parameters = x, y, z = [Value(number) for number in numbers]
        other = Value(4.0)  # a leaf that is not trained

        def loss():
            product = x * y + other
            return product * product * z + x * x - y

        for _ in range(2):
            yield float(train_step(loss, parameters, rate)), data_of([*parameters, other])


# %% learner-side
def recorded_with(local_x, local_y):
    """A function of two Values: x * y, recorded with these local gradients, right or wrong."""

    def product(x, y):
        return record("product", x.data * y.data, (x, y), (local_x, local_y))

    return product


def sum_of_products(x, y, z):
    """A function with a shared intermediate result, right by construction."""
    p = x * y + z
    return p * p + x * z


def checked(function, *numbers, tolerance=1e-5):
    """What gradient_check returns, and the message of its AssertionError; None for neither."""
    try:
        return gradient_check(function, *numbers, tolerance=tolerance), None
    except AssertionError as error:
        return None, str(error)


# %% gradient-check points=4
def test_gradient_check_tells_right_gradients_from_wrong_ones():
    backward_is_right()
    for numbers in [(0.5, -2.0, 3.0), (100.0, 7.0, -30.0)]:
        got, said = checked(sum_of_products, *numbers)
        assert got is True and said is None, (
            f"(x*y + z)**2 + x*z at {numbers} has right gradients: gradient_check "
            f"should return True, yours returns {got!r:.60}"
            + (f" and raises: {said}" if said else "")
        )
    _, said = checked(recorded_with(7.0, 36.0), 37.0, 7.0)
    assert said is not None, (
        "for x*y at 37, 7, recorded with the wrong local gradients (7, 36), gradient_check "
        "should raise AssertionError, yours raised nothing: compare the derivatives of all "
        "inputs"
    )


def test_the_message_holds_the_input_and_both_derivatives():
    for local_gradients, i, mine, right in [
        ((7.0, 555.0), 1, ("555",), ("37", "36.9")),
        ((-2.5, 37.0), 0, ("-2.5",), ("7", "6.9")),
    ]:
        _, said = checked(recorded_with(*local_gradients), 37.0, 7.0)
        assert said is not None, (
            f"for x*y at 37, 7, recorded with the local gradients {local_gradients}, which are "
            f"wrong for input {i}, gradient_check should raise AssertionError, yours raised "
            "nothing"
        )
        for what, words in [
            ("the index of the input", (str(i),)),
            ("the derivative by backward", mine),
            ("the central difference", right),
        ]:
            assert any(word in said for word in words), (
                f"the message should contain {what}, {words[0]}, yours says: {said}"
            )


def test_the_tolerance_is_absolute_below_1_and_relative_above():
    for x, y, tolerance, error, accepted in [
        (1000.0, 0.5, 1e-2, 5.0, True),
        (1000.0, 0.5, 1e-2, 20.0, False),
        (0.001, 0.5, 1e-2, 0.005, True),
        (0.001, 0.5, 1e-2, -0.02, False),
        (-1000.0, 0.5, 1e-2, -5.0, True),
        (-1000.0, 0.5, 1e-2, 20.0, False),
        (3.0, 0.5, 1e-5, 1e-3, False),
        (1.0, 0.5, 1e-2, 0.015, False),
    ]:
        _, said = checked(recorded_with(y, x + error), x, y, tolerance=tolerance)
        assert (said is None) == accepted, (
            f"if the derivative is {x:g} and backward is off by {error:g}, gradient_check with "
            f"tolerance {tolerance:g} should {'pass' if accepted else 'fail'}, yours "
            f"{'fails' if accepted else 'passes'}: "
            "allow tolerance * max(1, |central difference|), in both directions"
        )


def test_gradient_check_refuses_nan():
    right = checked(sum_of_products, 2.0, -3.0, 1.5)
    equal(right, (True, None), "the result and the message for right gradients")
    _, said = checked(recorded_with(math.nan, 3.0), 3.0, 2.0)
    assert said is not None, (
        "backward gives nan and yours raised nothing: every comparison with nan is False, so "
        "ask whether the difference is within the tolerance, not whether it is outside"
    )


# %% gradient-check hidden points=1
def test_gradient_check_of_other_functions():
    yield checked(lambda x: x * x * x, -4.0)
    yield checked(lambda x, y: x * x + y * 3.0, 1e3, -7.0, tolerance=1e-4)
    for local_gradients in [(8.0, 6.001), (8.002, 6.0), (-8.0, 6.0), (math.inf, 6.0)]:
        yield checked(recorded_with(*local_gradients), 6.0, 8.0)[1] is None


# %% power points=4
def test_powers_have_the_right_value():
    for x, n, right in [
        (3.0, 2, 9.0),
        (-2.0, 3, -8.0),
        (4.0, 0.5, 2.0),
        (4.0, -1.5, 0.125),
        (7.0, 0, 1.0),
        (5.0, 1, 5.0),
    ]:
        out = Value(x) ** n
        is_value(out, f"{x} ** {n}")
        assert abs(float(out.data) - right) < 1e-12, (
            f"{x} ** {n} should be {right}, yours is {out.data}"
        )


def test_a_power_has_one_input():
    out = Value(-2.0) ** 3
    case = "the numbers of the Values in _prev, for x = -2 and the exponent 3,"
    inputs = inputs_of(out)
    equal(inputs, [-2.0], case, "the exponent is no input" * (len(inputs) == 2))
    equal(out._op, "**3", "the recorded operation")


def test_the_power_rule():
    for x, n, right in [
        (3.0, 2, 6.0),
        (-2.0, 3, 12.0),
        (4.0, 0.5, 0.25),
        (4.0, -1.5, -0.046875),
        (2.0, -1, -0.25),
        (5.0, 1, 1.0),
        (1.5, 4, 13.5),
        (0.0, 1, 1.0),
        (0.0, 2, 0.0),
    ]:
        case = f"{x} ** {n}"
        cause = "use n * real_power(x, n - 1); n * x ** n / x fails at x = 0"
        out = result_of(lambda: Value(x) ** n, case, cause * (x == 0), ZeroDivisionError)
        got = local_gradients_of(out)
        assert near(got, [right]), (
            f"the local gradient of {x} ** {n} should be {n} * {x} ** ({n} - 1) = {right}, "
            f"yours is {got}"
        )
    case, cause = "0.0 ** 0", "the given lines for n == 0 record 1 with the local gradient 0"
    out = result_of(lambda: Value(0.0) ** 0, case, cause, ZeroDivisionError)
    equal(local_gradients_of(out), [0.0], f"the local gradient of {case}", cause)


def test_powers_that_overflow_or_are_no_real_numbers():
    for x, n, right, local in [
        (10.0, 1000, math.inf, math.inf),
        (-10.0, 1001, -math.inf, math.inf),
        (0.0, 0.5, 0.0, math.inf),
        (0.0, -1, math.inf, -math.inf),
    ]:
        try:
            out = Value(x) ** n
            got = [float(out.data), local_gradients_of(out)]
        except (OverflowError, ZeroDivisionError) as error:
            got = repr(error)
        cause = ": use real_power in place of **, for the value and for the local gradient"
        assert got == [right, [local]], (
            f"{x} ** {n} should be {right} with the local gradient {local}, yours gives {got}"
            f"{cause if isinstance(got, str) else ''}"
        )
    try:
        out = Value(-2.0) ** 0.5
    except ValueError:
        out = None
    except TypeError as error:
        out = repr(error)
    assert out is None, (
        f"(-2) ** 0.5 is no real number: real_power raises ValueError, yours gives {out}"
    )


# %% power hidden points=1
def test_other_powers_of_other_numbers():
    usual = (2.0, 10), (-1.5, 2), (-2.0, -3), (0.25, -0.5), (9.0, 1.5), (-3.0, 0), (-4.0, 1)
    zeros_and_overflows = (0.0, 7), (0.0, 1.5), (-10.0, 1000), (-1e200, 3), (1e-200, -2)
    for x, n in (*usual, (16.0, 0.25), *zeros_and_overflows):
        out = power(x=Value(x), n=n)
        yield float(out.data), local_gradients_of(out), out._op, inputs_of(out)
    for x, n in [(-8.0, 1 / 3), (-0.5, -1.5)]:
        refused(lambda: power(Value(x), n), f"{x} ** {n}, which is no real number,")


# %% learner-side
def output_and_input(neuron, x):
    """The output of the neuron for the list `x`, and `x` afterwards."""
    return neuron(x), x


# %% neuron points=4
def test_a_neuron_is_tanh_of_a_weighted_sum_plus_bias():
    x = [0.5, -1.5, 2.0]
    for nonlin in (True, False):
        neuron = Neuron(3, nonlin=nonlin)
        w, b = data_of(neuron.w), float(neuron.b.data)
        total = w[0] * x[0] + w[1] * x[1] + w[2] * x[2] + b
        right = math.tanh(total) if nonlin else total
        out, after = output_and_input(neuron, x)
        cause = "compute with Values only: `self.b` and not `self.b.data`, and `s.tanh()` of "
        is_value(out, "the output of a neuron", cause + "their sum `s` and not `math.tanh(s)`")
        causes = {
            "the bias is missing": math.tanh(total - b) if nonlin else total - b,
            f"with nonlin={nonlin}, apply tanh": total,
            f"with nonlin={nonlin}, return the sum itself, without tanh": math.tanh(total),
            "the bias is missing, and tanh is for nonlin=True only": math.tanh(total - b),
            "the bias and tanh are missing": total - b,
        }
        case = f"with nonlin={nonlin}, w={shown(w)}, b={shown(b)} and x={x} the output"
        close(float(out.data), right, case, causes)
        equal(after, [0.5, -1.5, 2.0], "the inputs afterwards")


def test_all_weights_and_the_bias_get_a_gradient():
    neuron = Neuron(2, nonlin=False)
    (neuron([3.0, -4.0]) * 2).backward()
    case = "the derivatives of 2 * (w0*3 + w1*-4 + b) with respect to w0, w1 and b"
    got = grads(*neuron.parameters())
    cause = "compute with Values, not with their data"
    if got == [6.0, -8.0, 0.0]:
        cause = "is the bias a part of the sum, as a Value?"
    equal(got, [6.0, -8.0, 2.0], case, cause)


def test_inputs_that_are_values_get_a_gradient():
    neuron = Neuron(2)
    x = [Value(0.5), Value(-0.25)]
    out = neuron(x)
    out.backward()
    for i in (0, 1):
        right = float(neuron.w[i].data) * (1 - float(out.data) ** 2)
        close(grad(x[i]), right, f"the gradient of input {i}")


# %% neuron hidden points=1
def test_neurons_with_other_weights_and_inputs():
    for nin in (1, 2, 5):
        for nonlin in (True, False):
            neuron, shared = Neuron(nin, nonlin=nonlin), Value(-0.6)
            for w, number in zip(neuron.w, [0.3, -0.8, 0.05, 1.2, -0.4][:nin]):
                w.data = number
            neuron.b.data = 0.7
            out = neuron([shared, 2, shared, 0.0, -1.5][:nin])
            out.backward()
            yield float(out.data), grads(*neuron.w, neuron.b, shared)


# %% learner-side
def seeded_network(nin, nouts, seed):
    """An MLP whose weights come from a generator with this seed, for the checks."""
    return MLP(nin, nouts, generator=random.Random(seed))


# %% mlp points=6
def test_a_network_has_the_right_number_of_parameters():
    for nin, nouts, right in [
        (3, [4, 4, 1], 41),
        (2, [5], 15),
        (5, [2, 3], 21),
        (2, [1, 1], 5),
        (1, [7, 2, 6, 3], 69),
    ]:
        cause = {"'layers'": "store the layers in the network: `self.layers = ...`"}
        case = f"the parameters of MLP({nin}, {nouts})"
        got = len(result_of(lambda: MLP(nin, nouts).parameters(), case, cause))
        assert got == right, (
            f"MLP({nin}, {nouts}) has {right} parameters, yours has {got}: a layer has "
            "(inputs + 1) per neuron"
        )


def test_the_outputs_of_each_layer_are_the_inputs_of_the_next():
    net = MLP(3, [4, 2])
    x = [0.5, -1.0, 0.25]
    for layer in net.layers:
        x = [math.tanh(total) for total in layer_outputs(layer, x)]
    got = data_of(net([0.5, -1.0, 0.25]))
    cause = "each layer takes the outputs of the layer before it, and applies tanh"
    close(got, x, "the list of outputs", cause)
    equal(len(x), 2, "the number of outputs")
    is_value(MLP(2, [1, 1])([0.5, -0.5]), "a single output")


def test_only_the_last_layer_may_be_linear():
    for linear, right in [(False, [True, True, True]), (True, [True, True, False])]:
        layers = MLP(2, [3, 4, 2], linear_output=linear).layers
        got = [[bool(neuron.nonlin) for neuron in layer.neurons] for layer in layers]
        expected = [[nonlin] * n for nonlin, n in zip(right, [3, 4, 2])]
        cause = "linear_output is for the last layer only; the layers before it keep tanh"
        cause *= linear and not any(map(any, got))
        if linear and all(map(all, got)):
            cause = "linear_output is not used: with it, nonlin is False in the last layer"
        equal(got, expected, f"with linear_output={linear}, nonlin of the neurons", cause)
    layers = MLP(2, [2, 3, 2], linear_output=True).layers
    got = [[bool(neuron.nonlin) for neuron in layer.neurons] for layer in layers]
    cause = "Which layer is the last is a matter of its place, not of its size"
    wanted = [[True] * 2, [True] * 3, [False] * 2]
    equal(got, wanted, "MLP(2, [2, 3, 2], linear_output=True): nonlin of the neurons", cause)


def test_the_generator_draws_all_weights():
    def weights(seed):
        return data_of(seeded_network(2, [3, 2], seed).parameters())

    assert weights(8) == weights(8), (
        "two networks from generators with the same seed should be equal: pass `generator` to "
        "each layer"
    )
    assert weights(8) != weights(9), "networks from different seeds should differ"
    assert len(set(weights(8))) == 17, f"the 17 numbers should all be drawn: {weights(8)}"


def test_two_networks_without_a_generator_differ():
    one, two = [data_of(MLP(2, [3, 1]).parameters()) for _ in range(2)]
    assert one != two, (
        f"two networks made without a generator both begin with {one[:2]}: with a fixed seed "
        "every network is the same. If `generator` is None, pass the None to the layers: each "
        "neuron then uses shared_generator"
    )


def test_the_list_of_sizes_is_not_changed():
    nouts = [4, 2, 1]
    net = MLP(3, nouts)
    assert nouts == [4, 2, 1], (
        f"nouts was [4, 2, 1] and is {nouts} after MLP(3, nouts): the list belongs to the "
        "caller, who may use it again. Build a new list, [nin, *nouts]; `insert` and `append` "
        "change the one that you were given"
    )
    equal(len(net.parameters()), 29, "the number of parameters of MLP(3, [4, 2, 1])")


# %% mlp hidden points=1
def test_networks_of_other_sizes():
    for nin, nouts, linear in [
        (1, [1], False),
        (4, [1, 3, 2], True),
        (2, [6], True),
        (3, [2, 1, 1, 5], False),
    ]:
        net = MLP(nin, nouts, linear_output=linear)
        neurons = [layer.neurons for layer in net.layers]
        yield [[len(neuron.w) for neuron in layer] for layer in neurons]
        for i, neuron in enumerate(neuron for layer in neurons for neuron in layer):
            for j, p in enumerate([neuron.b, *neuron.w]):
                p.data = 3 * math.sin(i + j / 7 + 1)
        out = net([0.5 - i for i in range(nin)])
        yield data_of([out] if isinstance(out, Value) else out)
    networks = [seeded_network(4, [1, 5, 2], seed) for seed in (3, 3, 4)]
    one, again, other = [data_of(network.parameters()) for network in networks]
    yield one == again, set(one) & set(other), len(set(one))


# %% learner-side
def counted_forward(results):
    """The derivatives of so many results of a chain of 40, and how often local gradients were
    read."""
    nodes = [record("", 0.0, (), ())]
    for i in range(40):
        nodes.append(record("f", i + 1.0, (nodes[-1],), (1.0,)))
    roots = [record("f", 0.0, (nodes[-1],), (k + 2.0,)) for k in range(results)]
    for node in (*nodes, *roots):
        counting(node)
    got, counts = counted(lambda: forward_mode_derivatives(roots, nodes[0]))
    return list(map(float, got)), counts["local gradients"]


# %% forward-mode points=4
def test_forward_mode_with_respect_to_each_input():
    a, b, c, d = parts = [Value(number) for number in (2.0, -3.0, 10.0, 5.0)]
    L = ((a * b) + c) * (a + d)
    for name, part, right in zip("abcd", parts, [-17.0, 14.0, 7.0, 4.0]):
        got = derivatives([L], part)
        why = "leave the entry of `leaf` at 1: it has no inputs, so the sum would be 0"
        why *= got == [0.0]
        equal(got, [right], f"the derivative of L with respect to {name}", why)


def test_one_forward_pass_gives_the_derivatives_of_all_results():
    equal_nodes_are_listed()
    x, y = Value(3.0), Value(-2.0)
    square = x * x
    roots = [square * y, x + y, y * y, square, x]
    for name, leaf, right in [
        ("x", x, [-12.0, 1.0, 0.0, 6.0, 1.0]),
        ("y", y, [9.0, 1.0, -4.0, 0.0, 0.0]),
    ]:
        case = f"the derivatives of x*x*y, x+y, y*y, x*x and x with respect to {name}"
        equal(derivatives(roots, leaf), right, case)
    equal(grads(x, y), [0.0, 0.0], "after forward mode, which changes no grad, the grads")
    _, for_one = counted_forward(1)
    got, for_twenty = counted_forward(20)
    equal(got, [k + 2.0 for k in range(20)], "the derivatives of twenty results")
    assert for_twenty < 4 * for_one, (
        "the local gradients of each node should be read once. In a chain of 40 nodes, your "
        f"code reads {for_one} for one result and {for_twenty} for twenty. It makes one pass "
        "per root: go through forward_order(roots) once, and look up all roots at the end"
    )


def test_intermediate_results_and_unused_values():
    x = Value(3.0)
    square = x * x
    out = square * square + x
    case = "the derivative of s*s + x with respect to s, at s = 9,"
    cause = "the derivative of `leaf` with respect to itself is 1, also when it was computed"
    equal(derivatives([out], square), [18.0], case, cause)
    case = "the derivative with respect to a Value that was not used"
    equal(derivatives([out], Value(7.0)), [0.0], case)


def test_forward_mode_agrees_with_backward():
    x, y = Value(0.7), Value(-0.4)
    p = x * y + x
    q = p * p + 3 * y
    out = q * p + q
    # computed by hand: backward finds the same numbers
    parts = [("x", x, 0.10152), ("y", y, 4.37844), ("p", p, 0.1692), ("q", q, 1.42)]
    for name, part, right in parts:
        (got,) = forward_mode_derivatives([out], part)
        assert abs(float(got) - right) < 1e-12, (
            f"with respect to {name}, backward gives {right:.6f}, "
            f"your forward mode {float(got):.6f}"
        )


# %% forward-mode hidden points=1
def test_many_results_of_one_large_graph():
    for seed in range(3):
        nodes = random_graph(seed, leaves=3)
        nodes[1].grad = nodes[20].grad = 8.0
        for leaf in (0, 2, 11):
            roots = [nodes[r] for r in (29, 5, 17, 29, 1, leaf)]
            yield [float(d) for d in forward_mode_derivatives(roots=roots, leaf=nodes[leaf])]
        yield grads(*[nodes[i] for i in (0, 1, 20, 29)])
