"""Strides: where an element stands in memory; lesson 02, whose `strides_of` gives the strides."""

import numpy as np
from figure import Figure, Panel, choice, hint

from tinytorch.core.tensor import strides_of

X = np.array([[10, 11, 12], [20, 21, 22]])  # the lesson's
NAMES = {
    "x": "x, shape (2, 3)",
    "view": "x transposed: a view",
    "copy": "a copy of it in row-major order",
}
WIDE, CELL, ROW, MEMORY, GRID, LEFT = 56, 52, 36, 64, 166, 8  # pixels


def figures():
    states = {name: numbers(name) for name in NAMES}
    steps = [
        told(states["x"], 1, 2),
        states["view"]["order"],
        states["copy"]["order"],
        told(states["view"], 2, 1),
    ]
    return [
        Figure(
            "strides",
            "Strides: from an index to a position in memory",
            "An index times its stride, added up over the axes, is a position in memory; "
            "transposing changes the strides and moves no number.",
            panels(states["x"]),
            steps,
            hint("Choose an element of the array.") + choice("array", "strides-array", NAMES, "x"),
            states,
            {name: panels(state) for name, state in states.items()},
            lesson="tensor",
            section="Row-major order and strides",
            replaces="draw_strides(x, (1, 2))",
        )
    ]


def numbers(name):
    """One of the three arrays, for JSON: its memory, shape, strides (in elements), elements."""
    memory = (X.T if name == "copy" else X).astype(np.int64).ravel()
    shape = X.shape if name == "x" else X.T.shape
    strides = strides_of(X.shape)[::-1] if name == "view" else strides_of(shape)
    grid = np.lib.stride_tricks.as_strided(memory, shape, [8 * stride for stride in strides])
    state = {
        "memory": memory.tolist(),
        "shape": list(shape),
        "strides": list(strides),
        "grid": grid.tolist(),
    }
    return state | {"order": order(state, name)}


def position(state, i, j):
    return i * state["strides"][0] + j * state["strides"][1]


def told(state, i, j):
    """Where an element stands."""
    s0, s1 = state["strides"]
    place = position(state, i, j)
    return (
        f"Strides ({s0}, {s1}): the element [{i}, {j}] stands at position "
        f"{i} * {s0} + {j} * {s1} = {place} and is {state['memory'][place]}."
    )


def order(state, name):
    """Where the elements stand that one reads row by row."""
    rows, columns = state["shape"]
    visited = [position(state, i, j) for i in range(rows) for j in range(columns)]
    s0, s1 = state["strides"]
    says = {
        "x": "",
        "view": "Transposed, no number has moved. ",
        "copy": "In the copy, the numbers have moved. ",
    }
    return (
        f"{says[name]}Shape ({rows}, {columns}), strides ({s0}, {s1}): row by row, the elements "
        f"stand at the positions {', '.join(map(str, visited))}."
    )


def hops(state, i, j):
    """The steps along memory from position 0 to an element: (from, to) of each."""
    found, at = [], 0
    for axis, count in enumerate((i, j)):
        for _ in range(count):
            found.append((at, at + state["strides"][axis]))
            at += state["strides"][axis]
    return found


def panels(state):
    """Memory with the way to the last element, and the array."""
    i, j = (length - 1 for length in state["shape"])
    drawing = Panel(
        "The memory above, the array below",
        f"memory {state['memory']}, array {state['grid']}. {told(state, i, j)}",
        358,
        GRID + state["shape"][0] * ROW + 4,
        touched=True,
    )
    drawing.text(LEFT, 16, "memory", anchor="start", bold=True)
    for n, value in enumerate(state["memory"]):
        drawing.cell(LEFT + n * WIDE, MEMORY, value, width=WIDE, key=f"memory {n}")
        drawing.text(LEFT + (n + 0.5) * WIDE, MEMORY + 52, n, "muted")
    way = hops(state, i, j)
    for n in range(3):
        hop(drawing, n, *(way[n] if n < len(way) else (0, 0)))
    shape, strides = tuple(state["shape"]), tuple(state["strides"])
    drawing.text(LEFT, GRID - 18, "array", anchor="start", bold=True)
    drawing.text(LEFT + 44, GRID - 18, f"shape {shape}, strides {strides}", anchor="start")
    drawing.grid(LEFT, GRID - 8, state["grid"], "array", "value", CELL, ROW)
    drawing.mark([f"array {i} {j}", f"memory {position(state, i, j)}"])
    return [drawing]


def hop(panel, n, start, stop):
    """A step along memory; one from a position to itself is not drawn."""
    x0, x1 = (LEFT + (one + 0.5) * WIDE for one in (start, stop))
    way = f"M{x0:g},{MEMORY - 3} Q{(x0 + x1) / 2:g},{MEMORY - 37} {x1:g},{MEMORY - 3}"
    panel.parts.append(
        f'<path class="line text" d="{way if stop > start else ""}" stroke-width="1.5" '
        'marker-end="url(#{id}-text)"/>'
    )
    panel.key(f"hop {n}")
    panel.text((x0 + x1) / 2, MEMORY - 25, f"+{stop - start}" if stop > start else "")
    panel.key(f"hop {n} text")
