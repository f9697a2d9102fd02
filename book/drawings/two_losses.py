"""Cross-entropy and squared error of one probability, and a logit that goes down each of them;
lesson 05, whose losses give the values and whose derivatives are those of the engine.
"""

import numpy as np
from figure import Figure, Panel, button, slider, together

from tinytorch.core.losses import binary_cross_entropy_with_logits, mse_loss
from tinytorch.core.tensor import Variable

START, MOST = -8.0, 5000  # where the logit starts; steps at most
LOSSES = {"cross-entropy": "solid", "squared error": "dashed"}
LEFT, BOTTOM, ACROSS, UP = 34, 212, 19.5, 23  # pixels: of z = -8, of a loss of 0, per unit
LABEL, COLUMNS = 96, {"steps": 54, "z": 58, "loss": 66, "gradient": 80}  # pixels of the table


def figures():
    far, end, later = (walk(START, steps) for steps in (0, None, 100))
    steps = [
        f"The answer is yes. At z = {START:g} the network is sure of no. {told(far)}",
        f"Each step goes against the gradient, with learning rate 1. {told(later)}",
        f"Both go on until yes is the likelier answer, z > 0. {told(end)}",
    ]
    controls = together(
        button("One step", "go", value="1")
        + button("100 steps", "go", value="100")
        + button("Until yes", "go", value=str(MOST))
        + button("Start again", "again")
    ) + slider("start at z =", "start", -8, 0, 0.5, START)
    return [
        Figure(
            "two_losses",
            "Two losses and the steps that a logit takes on them",
            "Cross-entropy is steepest where the network is sure and wrong; there the squared "
            "error of the probability is almost flat.",
            [panel(far)],
            steps,
            controls,
            {"most": MOST, "map": {"left": LEFT, "bottom": BOTTOM, "across": ACROSS, "up": UP}},
            lesson="losses",
            section="Cross-entropy or squared error?",
            after="network that is sure and wrong hardly learns",
        )
    ]


def value_and_gradient(name, z):
    """The loss named, of the logit `z` when the answer is yes, and its derivative."""
    logit = Variable(np.array(z))
    if name == "cross-entropy":
        loss = binary_cross_entropy_with_logits(logit, np.ones(()))
    else:
        loss = mse_loss(logit.sigmoid(), np.ones(()))
    loss.backward()
    return float(loss), float(logit.grad)


def walk(start, steps=None):
    """Where both logits are after so many steps of size 1, or where they first are above 0:
    {name: {"steps", "z", "loss", "gradient"}}."""
    found = {}
    for name in LOSSES:
        z, count = start, 0
        loss, gradient = value_and_gradient(name, z)
        while count < (MOST if steps is None else steps) and (steps is not None or z <= 0):
            z, count = z - gradient, count + 1
            loss, gradient = value_and_gradient(name, z)
        found[name] = {"steps": count, "z": z, "loss": loss, "gradient": gradient}
    return found


def written(state):
    """The numbers of one walk as texts, in the order of COLUMNS."""
    z, loss, gradient = state["z"], state["loss"], state["gradient"]
    return [str(state["steps"]), f"{z:.2f}", f"{loss:.4f}", f"{gradient:.5f}"]


def told(walks):
    parts = []
    for name, state in walks.items():
        steps, z, loss, gradient = written(state)
        name = name.capitalize()
        parts.append(f"{name} after {steps} steps: z = {z}, loss {loss}, gradient {gradient}.")
    return " ".join(parts)


def place(z, loss):
    return LEFT + (z + 8) * ACROSS, BOTTOM - loss * UP


def panel(walks):
    drawing = Panel(
        "Both losses against the logit z, when the answer is yes", told(walks), 358, 336
    )
    for z in (-8, -4, 0, 4, 8):
        x, y = place(z, 0)
        drawing.line((x, 24), (x, y), width=0.5)
        drawing.text(x, y + 18, z, "muted")
    for loss in (0, 4, 8):
        drawing.line(place(-8, loss), place(8, loss), width=0.5)
        drawing.text(LEFT - 8, place(0, loss)[1] + 4.5, loss, "muted", "end")
    drawing.text(2, 12, "loss", anchor="start", bold=True)
    drawing.text(place(6, 0)[0], BOTTOM + 18, "logit z", bold=True)
    for name, look in LOSSES.items():
        points = [place(z, value_and_gradient(name, z)[0]) for z in np.linspace(-8, 8, 65)]
        drawing.line(*points, kind="value", width=2, dashed=look == "dashed")
    drawing.text(place(-4.2, 0)[0], place(0, 5.2)[1], "cross-entropy", "value", "start")
    drawing.text(place(-7.6, 0)[0], place(0, 1.35)[1], "squared error", "value", "start")
    top, x = 258, LABEL
    for name, width in COLUMNS.items():
        drawing.text(x + width / 2, top - 4, name, "muted")
        x += width
    for row, (name, state) in enumerate(walks.items()):
        (x, y), slope = place(state["z"], state["loss"]), state["gradient"]
        drawing.line((x, y), (x + 2 * ACROSS, y - 2 * slope * UP), kind="gradient", width=4)
        drawing.key(f"tangent {name}")
        drawing.dot(x, y, "value", 7)
        drawing.key(f"dot {name}")
        x, y = LABEL, top + row * 38
        drawing.text(2, y + 22, name, anchor="start")
        for (column, width), text in zip(COLUMNS.items(), written(state)):
            kind = "gradient" if column == "gradient" else "value"
            drawing.cell(x, y, text, kind, width, 34, key=f"{name} {column}")
            x += width
    return drawing
