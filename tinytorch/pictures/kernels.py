"""What lesson 22 draws and runs: the addresses of a warp, banks of a tile, a tree of sums, and its
kernels on a GPU, if there is one."""

import math
import time

import numpy as np

from tinytorch.gpu import webgpu as gpu
from tinytorch.gpu.simulator import SEGMENT, WARP, launch
from tinytorch.pictures.drawing import panel
from tinytorch.support.svg import TEXT, WIDTH, Drawing, short

# Transactions


def segments(addresses):
    """The pieces of 128 bytes that contain floats at these addresses.

    >>> sorted(segments([0, 31, 32]))
    [0, 1]
    """
    return {int(address) * 4 // SEGMENT for address in np.ravel(addresses)}


def draw_warp(columns=64, rows=32):
    """32 threads that write a column of a matrix, and 32 that write a row: which pieces of memory
    move.

    columns  numbers in a row of the matrix
    """
    drawing = Drawing(
        "the addresses of a warp",
        f"written as a column, 32 numbers are in {rows} pieces of 128 bytes; as a row, in one",
        height=372,
    )
    pieces = columns * 4 // SEGMENT
    for top, title, at in (
        (0, "naive: a column", [columns * t for t in range(WARP)]),
        (186, "with tiles: a row", [columns * 5 + t for t in range(WARP)]),
    ):
        moved = segments(at)
        drawing.text(12, top + 20, f"{title}, {len(moved)} of {rows * pieces} pieces move", "text",
                     "start")  # fmt: skip
        width, high = (WIDTH - 24) / 2 / pieces, 4.4
        for piece in range(rows * pieces):
            place = (
                12 + (WIDTH - 24) / 2 + piece % pieces * width,
                top + 32 + piece // pieces * high,
            )
            drawing.cell(*place, "", "gradient" if piece in moved else "muted", width, high)
        for thread, address in enumerate(at):
            y = top + 32 + (thread + 0.5) * high
            target = 12 + (WIDTH - 24) / 2 + address % columns * 4 / SEGMENT * width
            drawing.line((70, y), (target, top + 32 + (address // columns + 0.5) * high),
                         kind="value", width=0.7)  # fmt: skip
            drawing.dot(66, y, "value", 1.8)
        drawing.text(12, top + 106, "threads", "muted", "start")
    return drawing


def transactions_of_patterns(n=64, tile=16, large=32):
    """{name: (transactions of the naive kernel, and of the one with tiles)} for n x n matrices,
    from the addresses of the warps. A block has tile x tile threads, so a warp has two rows."""
    at = np.arange(n * n).reshape(n, n)
    rows = at.reshape(n // 2, 2, n // tile, tile).swapaxes(1, 2).reshape(-1, WARP)
    naive = sum(len(segments(warp)) + len(segments(at.T.ravel()[warp])) for warp in rows)
    tiled = 2 * n * n // large
    one_step = [2, 1, 2]  # two rows of a; one row of b; at the end, two rows of out
    products = len(rows) * (n * (one_step[0] + one_step[1]) + one_step[2])
    loads = len(rows) * (n // tile * 4 + one_step[2])
    return {f"transpose {n} x {n}": (naive, tiled), f"product {n} x {n}": (products, loads)}


def plot_transactions(counts):
    """Transactions as bars on a logarithmic axis.

    counts  {name: (naive, with tiles)}
    """
    figure, axes = panel("", "transactions", "", height=0.8 + 0.7 * len(counts), xscale="log")
    for place, (naive, tiled) in enumerate(counts.values()):
        for shift, number, colour in ((-0.2, naive, "C3"), (0.2, tiled, "C0")):
            axes.barh(place + shift, number, 0.36, color=colour)
            label = f" {number:,} {'naive' if shift < 0 else 'with tiles'}"
            axes.text(number, place + shift, label, va="center", fontsize=TEXT)
    axes.set_yticks(range(len(counts)), [name.replace(" ", "\n", 1) for name in counts])
    axes.invert_yaxis()
    axes.set_xlim(10, 40 * max(max(pair) for pair in counts.values()))
    return figure


def plot_counts(counts):
    """Transactions of several kernels as bars on a logarithmic axis; a naive one is grey.

    counts  {name: transactions}
    """
    figure, axes = panel("", "transactions", "", height=0.8 + 0.35 * len(counts), xscale="log")
    for place, (name, number) in enumerate(counts.items()):
        axes.barh(place, number, color="C3" if "naive" in name else "C0")
        axes.text(number, place, f" {number:,}", va="center", fontsize=TEXT)
    axes.set_yticks(range(len(counts)), list(counts))
    axes.invert_yaxis()
    axes.set_xlim(10, 10 * max(counts.values()))
    return figure


# Shared memory


def draw_banks(size=8):
    """A tile of `size` rows in as many banks, without and with one more column."""
    cell = 17
    drawing = Drawing(
        "banks of a tile",
        f"{size} columns: a column is in one bank; {size + 1} columns: in {size} banks",
        height=54 + size * cell,
    )
    for left, columns in ((12, size), (190, size + 1)):
        drawing.text(left, 22, f"{columns} columns", anchor="start")
        for row in range(size):
            for column in range(columns):
                bank = (row * columns + column) % size
                kind = "muted" if column else ("wrong" if columns == size else "value")
                drawing.cell(left + column * cell, 34 + row * cell, bank, kind, cell, cell)
    return drawing


def tree_phases(numbers):
    """The numbers after each phase of a tree of sums.

    >>> tree_phases([1, 2, 3, 4])
    [[1, 2, 3, 4], [4, 6], [10]]
    """
    phases = [list(numbers)]
    while len(phases[-1]) > 1:
        half = len(phases[-1]) // 2
        phases.append([a + b for a, b in zip(phases[-1], phases[-1][half:])])
    return phases


def draw_tree(numbers):
    """A tree of sums, phase by phase, with the barriers between them."""
    phases = tree_phases(numbers)
    gap, cell = 84, 40
    drawing = Drawing(
        "a tree of sums",
        f"{len(numbers)} numbers are added in {len(phases) - 1} phases",
        height=40 + gap * (len(phases) - 1) + 20,
    )
    for row, values in enumerate(phases):
        top = 14 + gap * row
        for place, value in enumerate(values):
            left = 16 + place * cell
            drawing.cell(left, top, short(value), "value" if row else "muted", cell)
            if row:
                half = len(values) * cell
                start = left + cell / 2, top - gap + 36
                drawing.arrow(start, (left + cell / 2 - 3, top - 2), "value")
                drawing.arrow((start[0] + half, start[1]), (left + cell / 2 + 3, top - 2), "value")
        if row:
            drawing.line((16, top - 10), (WIDTH - 16, top - 10), dashed=True)
            drawing.text(WIDTH - 16, top + 20, f"phase {row}", "muted", "end")
    return drawing


def rescalings(scores):
    """Rows of (score, largest so far, factor of the old sum, sum so far) of an online softmax.

    >>> rescalings([0.0, 0.0])
    [(0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 2.0)]
    """
    rows, largest, total = [], -1e30, 0.0
    for score in scores:
        before, largest = largest, max(largest, score)
        factor = math.exp(before - largest)
        total = total * factor + math.exp(score - largest)
        rows.append((score, largest, factor, total))
    return rows


def draw_rescaling(scores):
    """The maximum and the sum of an online softmax, score by score."""
    rows = rescalings(scores)
    drawing = Drawing(
        "an online softmax",
        "at each new maximum the sum so far is multiplied by a factor below 1",
        height=186,
    )
    for line, name in enumerate(("score", "largest", "factor", "sum")):
        drawing.text(12, 38 + 40 * line, name, anchor="start")
        for column, row in enumerate(rows):
            is_new = line == 2 and row[2] < 1
            kind = "gradient" if is_new else "value" if line != 2 else "muted"
            drawing.cell(80 + 64 * column, 16 + 40 * line, short(row[line]), kind, 60)
    return drawing


# A real GPU


def found_gpu():
    """A sentence about the GPU of this computer."""
    try:
        name, is_real = gpu.device_name()
    except gpu.NoGPU:
        return "There is no GPU here that WebGPU can use. The simulator runs everything."
    if is_real:
        return f"This computer has a GPU: {name}."
    return f"This computer has {name}, a driver that computes on the CPU as a GPU would."


def run_on_gpu(cases, compiled):
    """Run kernels in the simulator and on the GPU; what differs, as a text.

    cases     list of (kernel, grid, block, *arguments); the last argument is the result
    compiled  function of (kernel, block, *arguments) that returns a program in WGSL

    A line of a real GPU also says how long it took; the time of a CPU would teach the opposite.
    """
    try:
        name, is_real = gpu.device_name()
    except gpu.NoGPU as error:
        return str(error)
    lines = [f"on {name}:"]
    for kernel, grid, block, *arguments in cases:
        here = [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]
        launch(kernel, grid, block, *here)
        there = [gpu.to_gpu(x) if isinstance(x, np.ndarray) else x for x in arguments]
        program = compiled(kernel, block, *there)
        gpu.run_program(program, grid, *there)
        difference = float(np.abs(there[-1].numpy() - here[-1]).max())
        line = f"{kernel.__name__:16} differs from the simulator by at most {difference:.0e}"
        if is_real:
            start = time.perf_counter()
            gpu.run_program(program, grid, *there)
            there[-1].numpy()
            line += f", {1e6 * (time.perf_counter() - start):.0f} microseconds with the copy back"
        lines.append(line)
    return "\n".join(lines)
