"""A program as a graph with its groups: which results are written to memory; lesson 21, whose
functions trace the programs, group their steps and count the bytes.
"""

import numpy as np
from figure import Figure, Panel, choice, hint

from tinytorch.compiler.loops import letters
from tinytorch.core.activations import gelu, softmax
from tinytorch.core.compilation import Node, bytes_moved, groups, trace

PROGRAMS = {"softmax": softmax, "gelu": gelu}
LOOPS = {"single": "for each step", "groups": "for each group"}
LEFT, WIDTH, ROW, TOP = 86, 190, 46, 12  # pixels
FIRST = "softmax groups"


def figures():
    keys = [f"{name} {loops}" for name in PROGRAMS for loops in LOOPS]
    state = {key: numbers(key) for key in keys}
    return [
        Figure(
            "program_groups",
            "A program as a graph with its groups",
            "In a group, only a result that other loops need is written to memory: softmax moves "
            f"{state[FIRST]['bytes']:,} bytes instead of {state['softmax single']['bytes']:,}.",
            [panel(FIRST, state)],
            [*state[FIRST]["told"], state["softmax single"]["told"][-1]],
            choice("Program", "program_groups-name", {name: name for name in PROGRAMS}, "softmax")
            + choice("Loops", "program_groups-loops", LOOPS, "groups")
            + hint("Choose a step: its inputs are marked, too."),
            {key: {k: one[k] for k in ("told", "inputs")} for key, one in state.items()},
            {key: [panel(key, state)] for key in keys},
            lesson="compilation",
            section="Operator fusion",
            replaces="draw_groups(program, groups(program))",
        )
    ]


def numbers(key):
    """What is drawn and said of a program's steps, in order: {"texts", "inputs", "groups", "kept",
    "told", "bytes"}."""
    name, loops = key.split()
    program = trace(PROGRAMS[name], np.ones((4, 8), "float32"))
    nodes = program.nodes
    group = groups(program) if loops == "groups" else {node: [node] for node in nodes}
    place = {node: n for n, node in enumerate([*program.arguments, *nodes])}
    order = list(dict.fromkeys(id(group[node]) for node in nodes))

    def text(x):
        return letters(place[x]) if isinstance(x, Node) else f"{np.asarray(x).item():.3g}"

    state = {"texts": [], "inputs": [], "groups": [], "kept": [], "told": []}
    state["bytes"] = bytes_moved(program, group)
    for node in nodes:
        called = f"{text(node)} = {node.name}({', '.join(map(text, node.inputs))})"
        readers = [other for other in nodes if node in other.inputs]
        outside = [other for other in readers if group[other] is not group[node]]
        if node in program.outputs:
            where = "It is the output, and is written to memory"
        elif outside:
            where = f"It is written to memory, because other loops read it, for {text(outside[0])}"
        else:
            where = "It stays in a register, because only its own loops need it"
        state["texts"].append(called)
        state["inputs"].append([place[x] for x in node.inputs if isinstance(x, Node)])
        state["groups"].append(order.index(id(group[node])))
        state["kept"].append(node in program.outputs or bool(outside))
        state["told"].append(
            f"{called}: {node.example.size} numbers. {where}. All loops read and write "
            f"{state['bytes']:,} bytes."
        )
    return state


def panel(key, state):
    """The steps from top to bottom, the loops as dashed boxes around them."""
    one = state[key]
    rows, at = len(one["texts"]), one["groups"]
    middle = [TOP + ROW * n + 17 for n in range(rows + 1)]  # of the argument and of each step
    drawing = Panel(
        f"The steps of {key.split()[0]}", one["told"][-1], 358, TOP + ROW * (rows + 1), touched=True
    )
    order = sorted(range(rows), key=lambda n: (at[n], n))
    for number in sorted(set(at)):
        inside = [n for n in order if at[n] == number]
        top, end = middle[inside[0] + 1] - 21, middle[inside[-1] + 1] + 21
        drawing.cell(6, top, "", "muted", 346, end - top, dashed=True)
        drawing.text(14, middle[inside[0] + 1] + 5, f"loops {number + 1}", "muted", "start")
    drawing.cell(LEFT, middle[0] - 17, "a", "muted", WIDTH, key="step 0")
    for n, (text, inputs, kept) in enumerate(zip(one["texts"], one["inputs"], one["kept"]), 1):
        drawing.cell(LEFT, middle[n] - 17, text, "value" if kept else "muted", WIDTH,
                     key=f"step {n}")  # fmt: skip
        for source in dict.fromkeys(inputs):
            if source == n - 1:
                drawing.arrow((LEFT + 95, middle[source] + 18), (LEFT + 95, middle[n] - 19), "text")
            else:
                bend = min(8 * (n - source), 34)
                drawing.arrow((LEFT + WIDTH, middle[source] + 4),
                              (LEFT + WIDTH + 1, middle[n] - 4), "text", bend)  # fmt: skip
    return drawing
