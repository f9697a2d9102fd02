"""The roofline of a made-up machine, with one operation as a point that the reader moves; lesson
19, whose `flops_of`, `bytes_of` and `roofline` compute it.
"""

import math

from figure import Figure, Panel, choice, number, slider

from tinytorch.core.profiling import Machine, bytes_of, flops_of, roofline

OPERATIONS = {"matmul": "matrix product of two n by n matrices", "add": "their sum"}
START = ("matmul", 4, 100, 20)  # operation, log2 of n, GFLOP/s, GB/s
# Powers of ten at the edges of the plot, and its edges in pixels.
ACROSS, UP = (-2, 3), (-1, 3)
PLOT = {"left": 44, "right": 348, "top": 26, "bottom": 196}


def figures():
    examples = [START, ("matmul", 8, 100, 20), ("add", 8, 100, 20), ("matmul", 4, 100, 80)]
    operation, exponent, gflops, gbytes = START
    controls = (
        choice("operation", "roofline-operation", OPERATIONS, operation)
        + slider("n =", "exponent", 3, 11, 1, exponent)
        + slider("billion FLOPs per second:", "gflops", 20, 400, 20, gflops)
        + slider("billion bytes per second:", "gbytes", 5, 100, 5, gbytes)
    )
    # The slider counts powers of two; its label has n.
    controls = controls.replace(f'"exponent">{exponent}<', f'"exponent">{2**exponent}<')
    return [
        Figure(
            "roofline",
            "The roofline of a machine, and one operation",
            "Faster arithmetic helps an operation on the right of the ridge point, and faster "
            "memory one on the left; a larger matrix product moves to the right, a sum does not.",
            [panel(*START)],
            [told(*example) for example in examples],
            controls,
            {"plot": PLOT, "across": ACROSS, "up": UP},
            lesson="profiling",
            section="The roofline model",
            after="A processor can do both at the same time",
        )
    ]


def work(operation, exponent):
    """(FLOPs, bytes) of an operation on matrices of 2**exponent rows and columns."""
    shapes = ((2**exponent, 2**exponent),) * 2
    return flops_of(operation, *shapes), bytes_of(operation, *shapes)


def told(operation, exponent, gflops, gbytes):
    """What the machine waits for, in words."""
    flops, size = work(operation, exponent)
    seconds, limit = roofline(flops, size, Machine(gflops * 1e9, gbytes * 1e9))
    name = {"matmul": "A matrix product", "add": "A sum"}[operation]
    return (
        f"{name} with n = {2**exponent}: {number(flops / size)} FLOPs per byte. Its arithmetic "
        f"takes {number(flops / gflops / 1e3)} microseconds, its bytes "
        f"{number(size / gbytes / 1e3)}, so it waits for {limit}; at best "
        f"{number(flops / seconds / 1e9)} billion FLOPs per second. The ridge point is at "
        f"{number(gflops / gbytes)} FLOPs per byte."
    )


def x_of(intensity):
    share = (math.log10(intensity) - ACROSS[0]) / (ACROSS[1] - ACROSS[0])
    return PLOT["left"] + share * (PLOT["right"] - PLOT["left"])


def y_of(speed):
    share = (math.log10(speed) - UP[0]) / (UP[1] - UP[0])
    return PLOT["bottom"] - share * (PLOT["bottom"] - PLOT["top"])


def lines(gflops, gbytes):
    """The two parts of the roof and the ridge, as lists of points."""
    ridge = gflops / gbytes
    left, right = 10.0 ** ACROSS[0], 10.0 ** ACROSS[1]
    low = max(left, 10.0 ** UP[0] / gbytes)
    corner = x_of(ridge), y_of(gflops)
    return {
        "memory": [(x_of(low), y_of(low * gbytes)), corner],
        "arithmetic": [corner, (x_of(right), y_of(gflops))],
        "ridge": [corner, (x_of(ridge), PLOT["bottom"])],
    }


def panel(operation, exponent, gflops, gbytes):
    flops, size = work(operation, exponent)
    seconds, limit = roofline(flops, size, Machine(gflops * 1e9, gbytes * 1e9))
    drawing = Panel(
        "FLOPs per second against FLOPs per byte", told(operation, exponent, gflops, gbytes),
        358, PLOT["bottom"] + 40,
    )  # fmt: skip
    drawing.text(2, 16, "billion FLOPs per second", anchor="start", bold=True)
    for power in range(UP[0], UP[1] + 1):
        y = y_of(10.0**power)
        drawing.line((PLOT["left"], y), (PLOT["right"], y), width=0.5)
        drawing.text(PLOT["left"] - 5, y + 4.5, number(10.0**power), "muted", "end")
    for power in range(ACROSS[0], ACROSS[1] + 1):
        anchor = "end" if power == ACROSS[1] else "middle"
        place = x_of(10.0**power), PLOT["bottom"] + 18
        drawing.text(*place, number(10.0**power), "muted", anchor)
    drawing.text(
        (PLOT["left"] + PLOT["right"]) / 2, PLOT["bottom"] + 36, "FLOPs per byte", bold=True
    )
    for name, points in lines(gflops, gbytes).items():
        kind, wide = ("gradient", 4) if name == limit else ("muted", 2 if name != "ridge" else 1)
        drawing.line(*points, kind=kind, width=wide, dashed=name == "ridge")
        drawing.key(name)
    drawing.dot(x_of(flops / size), y_of(flops / seconds / 1e9), "value", 7)
    drawing.key("here")
    return drawing
