"""32 threads of a warp over addresses: which pieces of memory move, and which banks of shared
memory have to wait; lesson 22, whose `transactions` and `bank_conflicts` count them.
"""

from collections import Counter

from figure import Figure, Panel, slider

from tinytorch.core.kernels import bank_conflicts, transactions

STEPS = (0, 1, 2, 4, 8, 16, 31, 32, 33, 64)  # from one thread's address to the next one's
WARP, PIECES, BANKS, COLUMNS = 32, 64, 32, 8
CELL, ROW, LEFT, TOP = 42, 22, 11, 34  # pixels


def figures():
    states = [numbers(step) for step in STEPS]
    first = STEPS.index(1)
    controls = slider("from one thread to the next:", "stop", 0, len(STEPS) - 1, 1, first)
    # The slider counts the stops; its label has the value.
    controls = controls.replace(f'<span data-value="stop">{first}<', '<span data-value="stop">1<')
    return [
        Figure(
            "warp_steps",
            "The addresses of a warp",
            "Neighbouring addresses need one transaction and no conflict. A step of 32 is the "
            "worst for both, and a step of 33 has no bank conflict.",
            [memory_panel(states[first]), bank_panel(states[first])],
            [state["told"] for state in states],
            controls,
            {"stops": STEPS, "first": first, "states": states},
            lesson="kernels",
            section="Transactions",
            after="If the threads of a warp need different addresses of one bank",
        )
    ]


def numbers(step):
    """How many threads use each piece of 128 bytes, how many different addresses of each bank are
    used, and a sentence."""
    addresses = [step * thread for thread in range(WARP)]
    pieces = Counter(address * 4 // 128 for address in addresses)
    banks = Counter(address % 32 for address in set(addresses))
    moved, conflicts = transactions(addresses), bank_conflicts(addresses)
    return {
        "pieces": [pieces[n] for n in range(PIECES)],
        "banks": [banks[n] for n in range(BANKS)],
        "told": f"Thread t uses the address {step} t. In global memory: {counted(moved)}, which "
        f"{'moves' if moved == 1 else 'move'} {128 * moved:,} bytes. In shared memory: "
        f"{counted(conflicts + 1, 'step')}, so {counted(conflicts, 'bank conflict')}.",
    }


def counted(n, noun="transaction"):
    return f"{n} {noun}{'' if n == 1 else 's'}"


def kind_of_piece(count):
    return "value" if count else "muted"


def kind_of_bank(count):
    return "wrong" if count > 1 else kind_of_piece(count)


def memory_panel(state):
    rows = PIECES // COLUMNS
    panel = Panel(
        "Pieces of 128 bytes, with their threads", state["told"], 358, TOP + rows * ROW + 8
    )
    panel.text(LEFT, 20, "global memory: threads in each piece", anchor="start", bold=True)
    draw(panel, "piece", state["pieces"], kind_of_piece)
    return panel


def bank_panel(state):
    rows = BANKS // COLUMNS
    panel = Panel("32 banks, with their addresses", state["told"], 358, TOP + rows * ROW + 8)
    panel.text(LEFT, 20, "shared memory: addresses in each bank", anchor="start", bold=True)
    draw(panel, "bank", state["banks"], kind_of_bank)
    return panel


def draw(panel, name, counts, kind):
    for n, count in enumerate(counts):
        place = LEFT + n % COLUMNS * CELL, TOP + n // COLUMNS * ROW
        panel.cell(*place, count or "", kind(count), CELL, ROW, key=f"{name} {n}")
