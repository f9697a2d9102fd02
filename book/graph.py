"""The drawn graph of "How autograd works", with the engine's own numbers: python book/graph.py,
with `tinytorch` on the path.

The engine runs one expression; the values, the order of the walk and what each rule hands on are
read from it, and in the end compared with what its own backward() found.
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
    "multiply": "Times hands on g, times the other number.",
    "add": "Plus hands on g as it is, to both.",
    "power": "A square hands on g, times twice its number.",
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
            "says": f"Two numbers to learn: x = {x.item():g} and y = {y.item():g}.",
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
                f" {name} keeps a note of how it was made.",
                "at": [name],
                "values": steps[-1]["values"] + [name],
                "grads": {},
            }
        )
    grads = {"loss": 1.0}
    steps.append(
        steps[-1]
        | {
            "says": "Backward starts at the end: when the loss grows by 1, the loss grows by 1."
            " Its slope is 1.",
            "at": ["loss"],
            "grads": dict(grads),
        }
    )
    for tensor in reversed(made):
        name, creator = names[id(tensor)], tensor.creator
        handed = []
        rules = table[creator.op]
        for n, one in enumerate(creator.inputs):
            if id(one) not in names:
                continue
            slope = float(rules[n](grads[name], tensor.data, *creator.arrays, **creator.options))
            to = names[id(one)]
            before = grads.get(to)
            grads[to] = slope + (before or 0.0)
            handed.append(
                f"{to} gets {slope:g}"
                + (
                    f", and with the {before:g} that came before, {grads[to]:g}"
                    if before is not None
                    else ""
                )
            )
        steps.append(
            steps[-1]
            | {
                "says": f"{SAYS[creator.op.__name__]} At {name}, g is {grads[name]:g}:"
                f" {'; '.join(handed)}.",
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
            " A small step against them makes the loss smaller.",
            "at": ["x", "y"],
        }
    )
    return {"nodes": nodes, "edges": edges, "steps": steps}


def drawn(found):
    """The picture in its last state, every step in words, and, for the page's script,
    the steps as data.
    """
    last = found["steps"][-1]["grads"]
    boxes = [_edge(*edge) for edge in found["edges"]] + [
        _node(one, last[one["name"]]) for one in found["nodes"]
    ]
    said = "".join(f"<li>{html.escape(step['says'])}</li>" for step in found["steps"])
    data = json.dumps(found["steps"]).replace("<", "\\u003c")
    described = " ".join(
        " = ".join(filter(None, [one["name"], one["made"], f"{one['value']:g}."]))
        for one in found["nodes"]
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


def _node(one, slope):
    x, y = PLACES[one["name"]]
    title = f"{one['name']} = {one['made']}" if one["made"] else one["name"]
    return (
        f'<g data-node="{one["name"]}">'
        f'<rect x="{x - WIDE / 2:g}" y="{y - HIGH / 2:g}" width="{WIDE}" height="{HIGH}" rx="6"/>'
        f'<text x="{x}" y="{y - 12}" class="name">{html.escape(title)}</text>'
        f'<text x="{x}" y="{y + 5}" class="value">value {one["value"]:g}</text>'
        f'<text x="{x}" y="{y + 22}" class="slope">slope {slope:g}</text></g>'
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
    print(drawn(run()))
