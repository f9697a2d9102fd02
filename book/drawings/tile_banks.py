"""The banks of a tile with 32 and with 33 columns, and what a warp needs for a row or a column;
lesson 22, whose simulator counts the conflicts.
"""

import numpy as np
from figure import Figure, Panel, choice, hint

from tinytorch.gpu.simulator import BANKS, WARP, launch, shared

WIDTHS, WAYS = (32, 33), ("column", "row")
SHOWN, CELL, LEFT, TOP = 8, 40, 28, 50  # rows and columns that are drawn; pixels


def figures():
    state = {
        "banks": {columns: banks(columns) for columns in WIDTHS},
        "kinds": {f"{c} {way}": "wrong" if conflicts(c, way) else "value" for c in WIDTHS
                  for way in WAYS},
        "told": {f"{c} {way}": [told(c, way, n) for n in range(SHOWN)] for c in WIDTHS
                 for way in WAYS},
    }  # fmt: skip
    widths = {str(columns): f"{columns} columns" for columns in WIDTHS}
    ways = {way: f"a {way}" for way in WAYS}
    return [
        Figure(
            "tile_banks",
            "The banks of a tile",
            "In a tile of 32 columns, a column lies in one bank; in a tile of 33 columns, it lies "
            "in all 32 banks, as a row does.",
            [panel(state)],
            [told(columns, way, 0) for columns in WIDTHS for way in WAYS],
            choice("The tile has", "tile_banks-columns", widths, "32")
            + choice("The warp reads", "tile_banks-way", ways, "column")
            + hint("Choose a cell: the warp reads its column or its row."),
            state,
            lesson="kernels",
            section="A transpose with tiles",
            replaces="draw_banks()",
        )
    ]


def banks(columns):
    """The banks of the elements in the upper left corner of a tile."""
    return [[(i * columns + j) % BANKS for j in range(SHOWN)] for i in range(SHOWN)]


def conflicts(columns, way, n=0):
    """How many bank conflicts a warp has that reads column or row n of a tile: the simulator's
    count."""

    def kernel(block, thread, out, tile=shared(32, columns)):
        for row in range(32):
            tile[row, thread.x] = row
        yield
        out[thread.x] = tile[thread.x, n] if way == "column" else tile[n, thread.x]

    return launch(kernel, 1, WARP, np.zeros(WARP, "float32")).bank_conflicts


def told(columns, way, n):
    count = conflicts(columns, way, n)
    where = f"all in bank {n}" if count else f"in {WARP} different banks"
    needed = f"{count + 1} steps, so {count} bank conflicts" if count else "one step, no conflict"
    return (
        f"A tile of {columns} columns, {way} {n}: its {WARP} numbers are {where}. The warp needs "
        f"{needed}."
    )


def panel(state):
    drawing = Panel(
        "The first 8 rows and columns of a tile",
        told(32, "column", 0),
        358,
        TOP + SHOWN * 34 + 8,
        touched=True,
    )
    drawing.text(2, 16, "the bank of each number, in the corner of the tile", anchor="start")
    for n in range(SHOWN):
        drawing.text(LEFT + (n + 0.5) * CELL, TOP - 8, n, "muted")
        drawing.text(LEFT - 8, TOP + n * 34 + 21, n, "muted", "end")
    for i, row in enumerate(state["banks"][32]):
        for j, bank in enumerate(row):
            kind = "muted" if j else state["kinds"]["32 column"]
            drawing.cell(LEFT + j * CELL, TOP + i * 34, bank, kind, CELL, key=f"cell {i} {j}")
    return drawing
