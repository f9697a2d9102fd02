"""Gradient descent in a valley, with the learning rate and the momentum in the reader's hand;
lesson 07, whose `sgd_update` and `momentum_update` take the steps.
"""

import math

import numpy as np
from figure import Figure, Panel, button, choice, number, slider, stepper

from tinytorch.core.optimizers import momentum_update, sgd_update

CURVATURES, START, STEPS = (1.0, 30.0), (-10.0, 2.0), 50  # the lesson's valley
LEVELS = (0.5, 2, 5, 10, 20, 40, 70)
RATE = 0.05
LEFT, RIGHT, SCALE, HIGH = -11.0, 6.0, 21.0, 180  # w0 from and to; pixels per unit; pixels
PLOT = {"left": 54, "right": 350, "top": 28, "bottom": 180, "highest": 4, "lowest": -8}  # decades


def figures():
    limit, lines = 2 / max(CURVATURES), []
    for rate, momentum in [(0.03, 0.0), (0.05, 0.0), (0.06, 0.0), (0.065, 0.0), (0.067, 0.0),
                           (0.03, 0.7), (0.03, 0.9)]:  # fmt: skip
        w = path(rate, momentum)[-1]
        with_momentum = f" and momentum {momentum:g}" if momentum else ""
        lines.append(
            f"Learning rate {rate:g}{with_momentum}: after {STEPS} steps w0 is {number(w[0])}, "
            f"w1 is {number(w[1])} and the loss {number(loss(w))}."
        )
    controls = [
        slider(
            f"learning rate (limit {limit:.4f}):", "rate", 0.01, 0.07, 0.001, RATE, round(limit, 3)
        ),
        choice("momentum", "valley-momentum", {"0": "0", "0.7": "0.7", "0.9": "0.9"}, "0"),
        button("Play", "play"),
    ]
    state = {
        "curvatures": CURVATURES,
        "start": START,
        "steps": STEPS,
        "map": {"left": LEFT, "scale": SCALE, "middle": HIGH / 2},
        "plot": PLOT,
    }
    return [
        Figure(
            "valley",
            "Gradient descent in a valley",
            f"The steep direction limits the learning rate, here to 2 / 30 = {limit:.4f}, and at "
            "this limit the flat direction is still slow; momentum helps.",
            panels(path(RATE)),
            lines,
            stepper() + "".join(controls),
            state,
            lesson="optimizers",
            section="The condition number",
            after="The steep direction limits the learning rate",
        )
    ]


def loss(w):
    return float((np.array(CURVATURES) * np.array(w) ** 2).sum() / 2)


def path(rate, momentum=0.0, steps=STEPS):
    """The weights before each step, and after the last: list of (w0, w1)."""
    w, velocity = np.array(START), np.zeros(2)
    points = [tuple(w.tolist())]
    for _ in range(steps):
        sgd_update(w, momentum_update(velocity, np.array(CURVATURES) * w, momentum), rate)
        points.append(tuple(w.tolist()))
    return points


def panels(points):
    shown = f"w0 goes from {number(points[0][0])} to {number(points[-1][0])}, w1 from "
    shown += f"{number(points[0][1])} to {number(points[-1][1])}"
    width = (RIGHT - LEFT) * SCALE
    plane = Panel("The path through the contours of the loss", shown, width, HIGH + 20)
    x0, y0 = -LEFT * SCALE, HIGH / 2
    plane.parts.append(
        f'<rect class="outline" x="0.5" y="0.5" width="{width - 1:g}" height="{HIGH - 1}"/>'
    )
    # What leaves this part is not shown.
    plane.parts.append(f'<svg width="{width:g}" height="{HIGH}">')
    for level in LEVELS:
        radii = [math.sqrt(2 * level / curvature) * SCALE for curvature in CURVATURES]
        plane.parts.append(
            f'<ellipse class="line muted" cx="{x0:g}" cy="{y0:g}" rx="{radii[0]:.1f}" '
            f'ry="{radii[1]:.1f}"/>'
        )
    places = [(x0 + w0 * SCALE, y0 - w1 * SCALE) for w0, w1 in points]
    plane.line((x0 - 6, y0), (x0 + 6, y0), kind="text")
    plane.line((x0, y0 - 6), (x0, y0 + 6), kind="text")
    plane.parts.append(dots("path", places, "line"))
    plane.parts.append(dots("points", places, "points"))
    plane.dot(*places[0], "value", 9)
    plane.key("start")
    plane.dot(*places[-1], "gradient", 6)
    plane.key("here")
    plane.parts.append("</svg>")
    for w0 in (-10, -5, 0, 5):
        plane.text(x0 + w0 * SCALE, HIGH + 15, w0, "muted")
    plane.text(x0 + 2.5 * SCALE, HIGH + 15, "w0", bold=True)
    plane.text(8, 18, "w1", anchor="start", bold=True)
    losses = [loss(w) for w in points]
    plot = Panel(
        "The loss against the step",
        f"the loss goes from {number(losses[0])} to {number(losses[-1])}",
        358,
        PLOT["bottom"] + 24,
    )
    for power in (3, 0, -3, -6):
        y = height(10.0**power)
        plot.line((PLOT["left"], y), (PLOT["right"], y), width=0.5)
        plot.text(PLOT["left"] - 6, y + 4.5, number(10.0**power), "muted", "end")
    for step in (0, 25, 50):
        plot.text(across(step), PLOT["bottom"] + 20, step, "muted")
    plot.text(across(37.5), PLOT["bottom"] + 20, "step", bold=True)
    plot.text(2, 16, "loss", anchor="start", bold=True)
    heights = [(across(step), height(one)) for step, one in enumerate(losses)]
    plot.parts.append(dots("losses", heights, "line"))
    plot.dot(*heights[-1], "gradient", 6)
    plot.key("loss")
    return [plane, plot]


def dots(key, places, how):
    """A path through places, or a dot at each, as one element."""
    if how == "line":
        d = "M" + " L".join(f"{x:.1f},{y:.1f}" for x, y in places)
    else:
        d = "".join(f"M{x:.1f},{y:.1f}h0" for x, y in places)
    return f'<path class="{how} value" data-key="{key}" d="{d}"/>'


def across(step):
    return PLOT["left"] + (PLOT["right"] - PLOT["left"]) * step / STEPS


def height(value):
    power = math.log10(max(value, 1e-300))
    power = min(max(power, PLOT["lowest"]), PLOT["highest"])
    share = (power - PLOT["lowest"]) / (PLOT["highest"] - PLOT["lowest"])
    return PLOT["bottom"] - (PLOT["bottom"] - PLOT["top"]) * share
