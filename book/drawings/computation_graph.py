"""Computation graphs whose values and gradients are filled in step by step: two expressions of
lesson 01, and that of the page "How autograd works".

The Values of lesson 01 compute them, and the Variables of lesson 06 agree.
"""

import operator

from figure import Figure, Panel, button, choice, field_of, number, stepper, together

from tinytorch import Variable
from tinytorch.core.backprop import Value, backward, propagate, topological_order
from tinytorch.pictures.backprop import ACROSS, DOWN, GRADIENT, MARGIN, VALUE, WIDE

OPERATIONS = {"*": operator.mul, "+": operator.add, "**": operator.pow}
FUNCTIONS = {name: operator.methodcaller(name) for name in ("tanh", "exp", "relu", "log", "sin")}
OPERATIONS |= FUNCTIONS
EXAMPLES = {
    "tanh(w * x + b)": {"w": -3, "x": 2, "b": 6.5},
    "relu(w * x + b) ** 2": {"w": 2, "x": -3, "b": 10},
    "exp(a) / (exp(a) + exp(b))": {"a": 1, "b": 2},
}

LESSON = {
    "expression": "(a * b + c) * (a + d)",
    "inputs": {"a": 2.0, "b": -3.0, "c": 10.0, "d": 5.0},
    "nodes": [["e", "*", ["a", "b"]], ["f", "+", ["e", "c"]], ["g", "+", ["a", "d"]],
              ["L", "*", ["f", "g"]]],
    "places": {"c": (0, 0), "b": (1, 0), "a": (2, 0), "d": (3, 0), "e": (1.3, 1), "f": (0.6, 2),
               "g": (2.5, 2), "L": (1.5, 3)},
}  # fmt: skip
ORDER = {
    "inputs": {"x": 2.0},
    "nodes": [["h", "*", ["x", "x"]], ["p", "*", ["h", "h"]], ["z", "+", ["p", "h"]]],
    "places": {"x": (1.5, 0), "h": (1.5, 1), "p": (0.4, 2), "z": (1.5, 3)},
    "early": ["z", "h", "p"],  # level by level: h goes on before p has propagated to it
}
PAGE = {
    "expression": "(x * y + x) ** 2",
    "inputs": {"x": 2.0, "y": -3.0},
    "nodes": [["a", "*", ["x", "y"]], ["b", "+", ["a", "x"]], ["loss", "**", ["b", 2]]],
    "places": {"y": (0.7, 0), "x": (2, 0), "a": (1, 1), "b": (1.5, 2), "loss": (1.5, 3)},
}


def figures():
    return [
        drawn(
            LESSON,
            "graph",
            "Every node passes its gradient times the local gradient to each of its inputs; in a "
            "two products arrive, and they are added.",
            lesson="backprop",
            section="The backward pass",
            after="Propagate from each node in the list.",
        ),
        drawn(
            ORDER,
            "order",
            "h is used by p and by z. Propagated before p, it passes on only a part of its "
            "gradient.",
            lesson="backprop",
            section="Topological order",
            after="list of its nodes in which every node comes after",
        ),
        drawn(
            PAGE,
            "autograd_graph",
            "In (x * y + x) ** 2, x is used twice, so two gradients arrive at it, one through + "
            "and one through *; they are added.",
        ),
    ]


def drawn(example, name, caption, **place):
    inputs, nodes, places = example["inputs"], example["nodes"], example["places"]
    steps = trace(inputs, nodes)
    counters = "".join(
        f'<span class="counter">{button("−", "less", value=key, aria_label=f"{key} minus 1")}'
        f'<span data-value="{key}">{key} = {number(value)}</span>'
        f"{button('+', 'more', value=key, aria_label=f'{key} plus 1')}</span>"
        for key, value in inputs.items()
    )
    if early := example.get("early"):
        right = ", ".join(one for one, _, _ in reversed(nodes))
        rules = {"right": f"topological: {right}", "wrong": f"level by level: {', '.join(early)}"}
        rule = choice("Order of the backward pass", f"{name}-rule", rules, "right")
    else:
        rules = {"right": "is added (+=)", "wrong": "overwrites (=)"}
        rule = choice("A gradient that arrives", f"{name}-rule", rules, "right")
    passes = together(
        button("Clear", "clear")
        + button("Forward pass", "forward")
        + button("Backward pass", "backward")
    )
    counters = f'<div class="together counters">{counters}</div>'
    state = {"inputs": inputs, "nodes": nodes, "early": example.get("early")}
    field = ""
    if own := example.get("expression"):
        state |= {"expression": own, "examples": EXAMPLES}
        known = f"+ - * / ** {' '.join(FUNCTIONS)}"
        field = field_of(f"Expression: {known}", "expression", own)
        picks = [button(one, "pick", value=one) for one in (own, *EXAMPLES)]
        field += together("".join(picks))
    return Figure(
        name,
        "The computation graph of " + nodes[-1][0],
        caption,
        [panel(inputs, nodes, places, steps[-1])],
        [step["says"] for step in steps],
        field + stepper() + passes + counters + rule,
        state,
        **place,
    )


def trace(inputs, nodes, overwrite=False, early=None):
    """The steps of a forward and a backward pass.

    inputs     {name: number}
    nodes      [[name, operation, [names or numbers that it uses]]], each after those that it uses
    overwrite  a mistake: a gradient that arrives overwrites what was there
    early      another: the names of the nodes in a wrong order for the backward pass
    returns    list of {"says": a sentence, "at": names, "values": {name: number}, "grads": {name:
               number}, "locals": {"input result place": local gradient}}
    """
    made = {name: Value(value, label=name) for name, value in inputs.items()}
    listed = ", ".join(f"{name} = {number(value)}" for name, value in inputs.items())
    values, local_gradients, grads, steps = dict(inputs), {}, {}, []

    def step(says, at):
        now = {"values": values, "grads": grads, "locals": local_gradients}
        steps.append({"says": says, "at": at} | {key: dict(one) for key, one in now.items()})

    step(f"The inputs: {listed}.", [*inputs])
    for name, sign, used in nodes:
        made[name] = OPERATIONS[sign](*(made.get(one, one) for one in used))
        made[name].label, values[name] = name, made[name].data
        for place, (one, local) in enumerate(zip(used, made[name]._local_gradients)):
            local_gradients[f"{one} {name} {place}"] = local
        how, result = written(sign, used), number(values[name])
        with_numbers = written(sign, [values.get(one, one) for one in used])
        step(f"Forward: {name} = {how} = {with_numbers} = {result}.", [name])
    root = made[nodes[-1][0]]
    root.grad = grads[root.label] = 1.0
    step(f"Backward: the gradient of {root.label} with respect to itself is 1.", [root.label])
    order = [made[name] for name in early] if early else topological_order(root)
    for node in order:
        if not node._prev:
            continue
        arrivals = []
        for one, local in zip(node._prev, node._local_gradients):
            if not one.label:  # a number, which has no gradient
                continue
            to, product = one.label, local * node.grad
            text = f"{to} gets {number(node.grad)} * {number(local)} = {number(product)}"
            if to in grads and overwrite:
                text += f", which overwrites {number(grads[to])}"
            elif to in grads:
                total = number(grads[to] + product)
                text += f", added to {number(grads[to])}: {total}"
            grads[to] = product if overwrite else grads.get(to, 0.0) + product
            arrivals.append(text)
        if overwrite:
            for one in node._prev:
                one.grad = grads.get(one.label, 0.0)
        else:
            propagate(node)
            assert all(grads[one.label] == one.grad for one in node._prev if one.label)
        g = number(node.grad)
        step(
            f"From {node.label}, whose gradient is {g}: {'; '.join(arrivals)}.",
            [node.label, *(one.label for one in node._prev if one.label)],
        )
    listed = ", ".join(f"{name} {number(grads[name])}" for name in inputs)
    says = f"Done. The gradients of the inputs: {listed}."
    if lost := wrong(inputs, nodes, grads):
        why = "A node went on before its gradient was complete"
        why = why if early else "What had arrived before was lost"
        says += f" Wrong: {', '.join(lost)}. {why}."
    step(says, [*inputs])
    return steps


def wrong(inputs, nodes, grads):
    """The inputs whose gradients are not what the lesson's backward pass computes."""
    right = gradients(inputs, nodes)
    return [name for name in inputs if grads[name] != right[name]]


def gradients(inputs, nodes, number_of=Value):
    """{input: gradient} by the engine's own backward pass: of Values, or of Variables."""
    made = {name: number_of(value) for name, value in inputs.items()}
    for name, sign, used in nodes:
        made[name] = OPERATIONS[sign](*(made.get(one, one) for one in used))
    result = made[nodes[-1][0]]
    result.backward() if number_of is Variable else backward(result)
    return {name: float(made[name].grad) for name in inputs}


def written(sign, used):
    if sign in FUNCTIONS:
        return f"{sign}({number(used[0])})"
    x, y = map(number, used)
    if (sign, y) == ("**", "2"):
        return f"({x})²" if x.startswith("-") else f"{x}²"
    return f"{x} {sign} {y}"


def fitting(grad):
    """A gradient in its box: a long number has no room for the word."""
    return f"grad {number(grad)}" if len(number(grad)) < 8 else number(grad)


def panel(inputs, nodes, places, last):
    """The graph in its last state. Laid out as the graphs of the lesson are."""
    assert gradients(inputs, nodes, Variable) == {name: last["grads"][name] for name in inputs}
    hows = {name: f"{name} = {written(sign, used)}" for name, sign, used in nodes}
    described = "; ".join(
        f"{hows.get(name, name)}: value {number(value)}, gradient {number(last['grads'][name])}"
        for name, value in last["values"].items()
    )
    rows = max(row for _, row in places.values()) + 1
    height = MARGIN * 2 + DOWN * (rows - 1) + VALUE + GRADIENT
    graph = Panel(f"The computation graph of {nodes[-1][0]}", described, height=height)
    indent = (graph.width - ACROSS * 3 - WIDE) / 2
    corner = {n: (indent + ACROSS * c, MARGIN + DOWN * r) for n, (c, r) in places.items()}
    for end, _, used in nodes:
        used = [one for one in used if one in corner]
        for place, start in enumerate(used):
            side = -1 if corner[start] == min(corner[one] for one in used) else 1
            twice = len(used) == 2 and used[0] == used[1]
            side = 0 if len(used) == 1 else 2 * place - 1 if twice else side
            bend = 16 * side if twice else 0
            x1, y1 = corner[start][0] + WIDE / 2, corner[start][1] + VALUE + GRADIENT
            x2, y2 = corner[end][0] + WIDE * (3 + side) / 6, corner[end][1]
            graph.arrow((x1, y1), (x2, y2 - 1), bend=bend)
            graph.key(f"edge {start} {end} {place}")
            side = side or 1
            x, y = x1 + 0.7 * (x2 - x1) + bend + 8 * side, y1 + 0.7 * (y2 - y1) + 4
            local = number(last["locals"][f"{start} {end} {place}"])
            graph.text(x, y, f"×{local}", "gradient", "start" if side > 0 else "end")
            graph.key(f"local {start} {end} {place}")
    for name, (x, y) in corner.items():
        value, grad = number(last["values"][name]), fitting(last["grads"][name])
        graph.cell(x, y, "", "value", WIDE, VALUE)
        graph.key(f"box {name}")
        graph.text(x + WIDE / 2, y + 16, hows.get(name, name), bold=True)
        graph.text(x + WIDE / 2, y + 33, value, "value")
        graph.key(f"value {name}")
        graph.cell(x, y + VALUE, grad, "gradient", WIDE, GRADIENT, key=f"grad {name}")
    return graph
