"""Forward mode beside reverse mode, line by line of a function; lesson 17, whose `Dual`s carry the
tangents, and lesson 01, whose `Value`s propagate the gradients.
"""

import math

from computation_graph import trace, written
from figure import Figure, Panel, choice, number, slider, stepper

from tinytorch.core import differentiation
from tinytorch.core.differentiation import Dual

FUNCTIONS = {
    "polynomial": {
        "text": "x * x * x + 2 * x",
        "nodes": [["p", "*", ["x", "x"]], ["q", "*", ["p", "x"]], ["r", "*", [2, "x"]],
                  ["y", "+", ["q", "r"]]],
    },
    "sine": {
        "text": "x * sin(x * x)",
        "nodes": [["p", "*", ["x", "x"]], ["q", "sin", ["p"]], ["y", "*", ["x", "q"]]],
    },
}  # fmt: skip
START = 4  # x, as in the lesson
COLUMNS = {"value": 88, "tangent": 172, "gradient": 274}  # pixels
TOP, ROW, WIDE, HIGH = 48, 40, 80, 34


def figures():
    listed = {name: steps(one["nodes"], START) for name, one in FUNCTIONS.items()}
    first, *others = ([panel(FUNCTIONS[name], one[-1])] for name, one in listed.items())
    controls = (
        choice(
            "function",
            "dual_numbers-function",
            {name: one["text"] for name, one in FUNCTIONS.items()},
            "polynomial",
        )
        + slider("x =", "x", -5, 5, 0.5, START)
        + stepper()
    )
    return [
        Figure(
            "dual_numbers",
            "The derivative of a function in forward mode and in reverse mode",
            "Both modes multiply by the same local derivatives: the tangent of the last line and "
            "the gradient of the first are both dy/dx.",
            first,
            [step["says"] for step in listed["polynomial"]],
            controls,
            {name: one["nodes"] for name, one in FUNCTIONS.items()},
            dict(zip(FUNCTIONS, [first, *others])),
            lesson="differentiation",
            section="The chain rule in forward mode",
            after="by the gradient that comes from the result",
        )
    ]


def steps(nodes, x):
    """The steps of forward mode, in which each line gets a value and a tangent, and of reverse
    mode, from the last line to x.

    returns  list of {"says": a sentence, "at": keys, "value", "tangent", "gradient": {name:
             number}}
    """
    made, found = {"x": Dual(float(x), 1.0)}, []
    gradients = trace({"x": x}, nodes)[len(nodes) + 1 : -1]

    def step(says, at, grads=()):
        columns = {"value": "primal", "tangent": "tangent"}
        state = {
            column: {name: float(getattr(one, part)) for name, one in made.items()}
            for column, part in columns.items()
        }
        found.append({"says": says, "at": at, "gradient": dict(grads)} | state)

    step(
        f"Forward mode: the value of x is {number(x)}. Its tangent is 1, the derivative of x with "
        "respect to x.",
        ["value x", "tangent x"],
    )
    for name, sign, used in nodes:
        operands = [made.get(one, one) for one in used]
        made[name] = computed(sign, operands)
        primals = [one.primal if isinstance(one, Dual) else one for one in operands]
        step(
            f"{name} = {written(sign, used)} = {written(sign, primals)} = "
            f"{number(made[name].primal)}. Its tangent is {tangent(sign, operands)} = "
            f"{number(made[name].tangent)}.",
            [f"{column} {name}" for column in ("value", "tangent")],
        )
    value, derivative = number(made["y"].primal), number(made["y"].tangent)
    found[-1]["says"] += f" Forward mode is finished: y = {value}, dy/dx = {derivative}."
    for one in gradients:
        at = [f"gradient {name}" for name in one["at"]]
        step(
            one["says"].replace("Backward: ", "Reverse mode, with the recorded values: "),
            at,
            one["grads"],
        )
    if not math.isclose(found[-1]["gradient"]["x"], made["y"].tangent, abs_tol=1e-9):
        raise ValueError(f"The two modes differ: {found[-1]} and {made['y']}")
    found[-1]["says"] += f" Reverse mode is finished: dy/dx = {derivative}, too."
    found[-1]["at"] = ["tangent y", "gradient x"]
    return found


def computed(sign, operands):
    """The Dual that lesson 17's functions compute."""
    if sign == "sin":
        return differentiation.sin(*operands)
    return {"+": differentiation.add, "*": differentiation.multiply}[sign](*operands)


def tangent(sign, operands):
    """How a tangent is computed, with numbers."""
    (a, da), (b, db) = (
        tuple(map(number, differentiation.parts(one, 0))) for one in (operands * 2)[:2]
    )
    if sign == "sin":
        cosine = number(float(differentiation.cos(operands[0].primal)))
        return f"cos({a}) * {da} = {cosine} * {da}"
    return f"{da} + {db}" if sign == "+" else f"{da} * {b} + {a} * {db}"


def panel(function, last):
    nodes = function["nodes"]
    described = "; ".join(
        f"{name}: value {number(last['value'][name])}, tangent {number(last['tangent'][name])}, "
        f"gradient {number(last['gradient'][name])}"
        for name in last["value"]
    )
    table = Panel(f"y = {function['text']}", described, height=TOP + ROW * (len(nodes) + 1))
    table.text(COLUMNS["value"] + WIDE + 2, 16, "forward mode ↓", bold=True)
    table.text(COLUMNS["gradient"] + WIDE / 2, 16, "reverse ↑", bold=True)
    for column, x in COLUMNS.items():
        table.text(x + WIDE / 2, 38, column)
    for row, (name, *how) in enumerate([["x"], *nodes]):
        y = TOP + row * ROW
        table.text(2, y + 21.5, f"{name} = {written(*how)}" if how else name, anchor="start")
        for column, x in COLUMNS.items():
            kind = "value" if column == "value" else "gradient"
            text = number(last[column][name])
            table.cell(x, y, text, kind, WIDE, HIGH, key=f"{column} {name}")
    table.mark(last["at"])
    return table
