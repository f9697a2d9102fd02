"""A tree of sums, phase by phase, in two orders; lesson 22, whose simulator runs the kernels and
counts their bank conflicts.
"""

import numpy as np
from figure import Figure, Panel, choice, stepper

from tinytorch.gpu.simulator import launch, shared

NUMBERS = [5, 1, 4, 2, 3, 0, 6, 7]
ORDERS = {"halves": "halves", "neighbours": "neighbours first"}
CELL, LEFT, BEFORE, AFTER = 42, 11, 32, 132  # pixels


def figures():
    state = {order: [told(order, phase) for phase in range(4)] for order in ORDERS}
    return [
        Figure(
            "sum_tree",
            "A tree of sums",
            "Both orders need three phases for eight numbers. For 64 numbers, the halves cause "
            f"{run('halves', [1] * 64)[1]} bank conflicts, neighbours first "
            f"{run('neighbours', [1] * 64)[1]}.",
            [panel("halves", 1)],
            [*state["halves"], state["neighbours"][-1]],
            choice("Which numbers are added?", "sum_tree-order", ORDERS, "halves") + stepper(),
            state,
            {f"{order} {phase}": [panel(order, phase)] for order in ORDERS for phase in range(4)},
            lesson="kernels",
            section="A tree of sums",
            replaces="draw_tree([",
        )
    ]


def run(order, numbers):
    """The tile after each phase, and the bank conflicts: a launch of one block."""
    size = len(numbers)

    def kernel(block, thread, a, out, tile=shared(size)):
        x = thread.x
        tile[x] = a[x]
        yield
        for phase, (stride, step) in enumerate(phases(order, size)):
            if stride * x + step < size and x < size >> (phase + 1):
                tile[stride * x] += tile[stride * x + step]
            yield
            out[phase, x] = tile[x]
            yield

    out = np.zeros((len(phases(order, size)), size), "float32")
    report = launch(kernel, 1, size, np.array(numbers, "float32"), out)
    return [list(numbers), *out.tolist()], report.bank_conflicts


def phases(order, size):
    """For each phase (stride, step): thread x adds the number at stride x + step to the one at
    stride x."""
    steps = [1 << n for n in range(size.bit_length() - 1)]
    return [(1, step) for step in steps[::-1]] if order == "halves" else [(2 * s, s) for s in steps]


def sums(order, phase):
    """(thread, place, other place) for each thread that adds in a phase, counted from 1."""
    stride, step = phases(order, len(NUMBERS))[phase - 1]
    return [(x, stride * x, stride * x + step) for x in range(len(NUMBERS) >> phase)]


def told(order, phase):
    rows, _ = run(order, NUMBERS)
    if phase == 0:
        return "The tile has eight numbers, one for each thread. A barrier follows."
    before, after = rows[phase - 1 : phase + 1]
    added = "; ".join(
        f"thread {x} gets {before[i]:g} + {before[j]:g} = {after[i]:g}"
        for x, i, j in sums(order, phase)
    )
    if phase < 3:
        return f"Phase {phase}: {added}. A barrier follows."
    _, conflicts = run(order, [1] * 64)
    return f"Phase 3: {added}. For 64 numbers, this order causes {conflicts} bank conflicts."


def panel(order, phase):
    """The tile before and after a phase."""
    rows, _ = run(order, NUMBERS)
    drawing = Panel(f"Phase {phase}" if phase else "The numbers", told(order, phase), 358, 200)
    used = sums(order, phase) if phase else []
    read = {place for _, *places in used for place in places}
    drawing.text(LEFT, 20, f"the tile before phase {phase}" if phase else "the tile", "text",
                 "start")  # fmt: skip
    for n, value in enumerate(rows[max(phase - 1, 0)]):
        kind = "value" if n in read or not phase else "muted"
        drawing.cell(LEFT + n * CELL, BEFORE, f"{value:g}", kind, CELL, key=f"before {n}")
    if not phase:
        return drawing
    written = {place for _, place, _ in used}
    for n, value in enumerate(rows[phase]):
        kind = "value" if n in written else "muted"
        drawing.cell(LEFT + n * CELL, AFTER, f"{value:g}", kind, CELL, key=f"after {n}")
    for thread, place, other in used:
        target = LEFT + (place + 0.5) * CELL
        for start, aside in ((place, -4), (other, 4)):
            drawing.arrow((LEFT + (start + 0.5) * CELL, BEFORE + 35), (target + aside, AFTER - 2),
                          "value")  # fmt: skip
        drawing.text(target, AFTER + 50, thread, "muted")
    drawing.text(LEFT, AFTER + 66, "below a sum: its thread", "muted", "start")
    return drawing
