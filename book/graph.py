"""The drawn graph of "How autograd works", with the engine's own numbers: python book/graph.py,
with `tinytorch` on the path.

The engine runs one expression; the values, the topological order and what each rule returns are
read from it, and in the end compared with the gradients that its own backward() computes.
"""

import html
import json

from tinytorch import Variable
from tinytorch.core.autograd import table

PLACES = {
    "x": (70, 40),
    "y": (250, 40),
    "a": (250, 150),
    "b": (160, 260),
    "loss": (160, 370),
}  # the middle of each box
WIDE, HIGH = 130, 62

SIGNS = {"multiply": "*", "add": "+", "power": "**"}
SAYS = {
    "multiply": "The rule of * returns g times the other factor.",
    "add": "The rule of + returns g, for both inputs.",
    "power": "The rule of a square returns g times twice its input.",
}


def run():
    x, y = Variable(2.0), Variable(-3.0)
    a = x * y
    b = a + x
    loss = b**2
    names = {id(x): "x", id(y): "y", id(a): "a", id(b): "b", id(loss): "loss"}
    made = (a, b, loss)  # in the order they were made
    nodes = [
        {"name": "x", "made": "", "value": float(x)},
        {"name": "y", "made": "", "value": float(y)},
    ]
    steps = [
        {
            "says": f"The leaves: x = {x.item():g} and y = {y.item():g}.",
            "at": ["x", "y"],
            "values": ["x", "y"],
            "grads": {},
        }
    ]
    edges = []
    for tensor in made:
        name, creator = names[id(tensor)], tensor.creator
        inputs = [
            names.get(id(one), f"{float(array):g}")
            for one, array in zip(creator.inputs, creator.arrays)
        ]
        how = f" {SIGNS[creator.op.__name__]} ".join(inputs)
        nodes.append({"name": name, "made": how, "value": float(tensor)})
        edges += [[one, name] for one in inputs if one in names.values()]
        steps.append(
            {
                "says": f"Forward: {name} = {how} = {float(tensor):g}."
                f" {name} records its operation and its inputs.",
                "at": [name],
                "values": steps[-1]["values"] + [name],
                "grads": {},
            }
        )
    grads = {"loss": 1.0}
    steps.append(
        steps[-1]
        | {
            "says": "The backward pass starts at the result: the gradient of the loss with respect"
            " to itself is 1.",
            "at": ["loss"],
            "grads": dict(grads),
        }
    )
    for tensor in reversed(made):
        name, creator = names[id(tensor)], tensor.creator
        received = []
        rules = table[creator.op]
        for n, one in enumerate(creator.inputs):
            if id(one) not in names:
                continue
            gradient = float(rules[n](grads[name], tensor.data, *creator.arrays, **creator.options))
            to = names[id(one)]
            before = grads.get(to)
            grads[to] = gradient + (before or 0.0)
            received.append(
                f"{to} gets {gradient:g}"
                + (
                    f", added to the {before:g} it already has: {grads[to]:g}"
                    if before is not None
                    else ""
                )
            )
        steps.append(
            steps[-1]
            | {
                "says": f"{SAYS[creator.op.__name__]} At {name}, g is {grads[name]:g}:"
                f" {'; '.join(received)}.",
                "at": [name, *(names[id(one)] for one in creator.inputs if id(one) in names)],
                "grads": dict(grads),
            }
        )
    loss.backward()
    assert grads["x"] == x.grad and grads["y"] == y.grad, (grads, x.grad, y.grad)
    steps.append(
        steps[-1]
        | {
            "says": f"Done: x.grad is {float(x.grad):g} and y.grad is {float(y.grad):g}."
            " A small step against this gradient makes the loss smaller.",
            "at": ["x", "y"],
        }
    )
    return {"nodes": nodes, "edges": edges, "steps": steps}


def draw(trace):
    """The picture in its last state, every step in words, and, for the page's script,
    the steps as data.
    """
    last = trace["steps"][-1]["grads"]
    boxes = [_edge(*edge) for edge in trace["edges"]] + [
        _node(one, last[one["name"]]) for one in trace["nodes"]
    ]
    said = "".join(f"<li>{html.escape(step['says'])}</li>" for step in trace["steps"])
    data = json.dumps(trace["steps"]).replace("<", "\\u003c")
    described = " ".join(
        " = ".join(filter(None, [one["name"], one["made"], f"{one['value']:g}."]))
        for one in trace["nodes"]
    )
    return (
        '<figure class="graph-steps"><svg viewBox="0 0 320 412" role="img"'
        f' aria-label="A graph of five numbers. {html.escape(described)}">{"".join(boxes)}</svg>'
        '<div class="told"><div class="controls" hidden>'
        '<button type="button" data-by="-1">Back</button>'
        '<input type="range" min="0" value="0" aria-label="step">'
        '<button type="button" data-by="1">Next</button></div>'
        f'<ol aria-live="polite">{said}</ol></div>'
        f'<script type="application/json">{data}</script></figure>'
    )


def _node(one, gradient):
    x, y = PLACES[one["name"]]
    title = f"{one['name']} = {one['made']}" if one["made"] else one["name"]
    return (
        f'<g data-node="{one["name"]}">'
        f'<rect x="{x - WIDE / 2:g}" y="{y - HIGH / 2:g}" width="{WIDE}" height="{HIGH}" rx="6"/>'
        f'<text x="{x}" y="{y - 12}" class="name">{html.escape(title)}</text>'
        f'<text x="{x}" y="{y + 5}" class="value">value {one["value"]:g}</text>'
        f'<text x="{x}" y="{y + 22}" class="grad">grad {gradient:g}</text></g>'
    )


def _edge(one, other):
    (x1, y1), (x2, y2) = PLACES[one], PLACES[other]
    y1, y2 = y1 + HIGH / 2, y2 - HIGH / 2
    middle = (y1 + y2) / 2
    return (
        f'<path data-edge="{one} {other}"'
        f' d="M{x1} {y1:g} C{x1} {middle:g} {x2} {middle:g} {x2} {y2:g}"/>'
    )


if __name__ == "__main__":
    print(draw(run()))
