"""The derivative of cross-entropy, softmax minus target; lesson 05, whose `cross_entropy` gives the
loss and, by the engine, the gradient. It stands in lesson 06 again, with the rule.
"""

import numpy as np
from figure import Figure, Panel, button, choice, hint, number, slider, together

from tinytorch.core.activations import softmax
from tinytorch.core.losses import cross_entropy
from tinytorch.core.tensor import Variable

CHOICES = {"2 1 0": "2, 1, 0", "6 0 0": "6, 0, 0: very sure"}
LABEL, WIDE, HIGH, BASE, ROW = 84, 68, 110, 130, 38  # pixels
ROWS = ("logit", "probability", "target", "gradient")


def figures():
    first = numbers([2.0, 1.0, 0.0], 1)
    after = numbers(stepped(first), 1)
    sure, smooth = numbers([6.0, 0.0, 0.0], 0, 0.1), numbers(first["logit"], 1, 0.1)
    return [
        drawn(
            "softmax_minus_target",
            "The gradient is softmax minus target, so a step against it moves each probability "
            "toward its target (arrows); it sums to 0: what the true class gains, the others lose.",
            first,
            [
                told(first),
                f"One step against the gradient: the logits are {listed(after['logit'])}, and the "
                f"loss falls to {number(after['loss'])}.",
                f"With label smoothing 0.1: {told(smooth)}",
            ],
            lesson="losses",
            section="The derivative of cross-entropy",
            replaces="draw_cross_entropy_gradient([2.0, 1.0, 0.0], label=1)",
        ),
        drawn(
            "smoothed_gradient",
            "The rule of the fused operation: softmax minus target. Where the network is surer "
            "than a smoothed target, a step lowers the true logit; the gradient still sums to 0.",
            sure,
            [told(sure)],
            lesson="autograd",
            section="Fused operations",
            after="Each row sums to 0",
        ),
    ]


def drawn(name, caption, first, steps, **place):
    """The drawing, which begins with the state `first`."""
    logits = " ".join(map(number, first["logit"]))
    controls = (
        hint("Choose a target cell to make its class the true one.")
        + choice("logits", f"{name}-logits", CHOICES, logits)
        + slider("label smoothing", "smoothing", 0, 0.5, 0.05, first["smoothing"])
        + together(button("One step", "go") + button("Start again", "again"))
    )
    return Figure(
        name,
        "The gradient of cross-entropy",
        caption,
        [panel(first)],
        steps,
        controls,
        {"label": first["label"], "map": {"base": BASE, "high": HIGH}},
        **place,
    )


def numbers(logits, label, smoothing=0.0):
    """{"logit", "probability", "target", "gradient": a list each; "loss"; "label", "smoothing"}."""
    z = Variable(np.array(logits))
    loss = cross_entropy(z, label, label_smoothing=smoothing)
    loss.backward()
    target = np.full(3, smoothing / 3) + (1 - smoothing) * np.eye(3)[label]
    return {
        "logit": list(logits),
        "probability": softmax(z).data.tolist(),
        "target": target.tolist(),
        "gradient": z.grad.data.tolist(),
        "loss": float(loss),
        "label": label,
        "smoothing": smoothing,
    }


def stepped(state):
    """The logits after one step of size 1 against the gradient."""
    return [z - g for z, g in zip(state["logit"], state["gradient"])]


def rounded(value):
    """A number with three decimals; what rounding errors leave of a sum is 0.

    >>> rounded(-1e-17), rounded(1.75528)
    ('0', '1.755')
    """
    return f"{round(float(value), 3) + 0.0:g}"


def listed(row):
    return ", ".join(rounded(one) for one in row)


def told(state):
    return (
        f"Probabilities {listed(state['probability'])}, minus the targets "
        f"{listed(state['target'])}: the gradient is {listed(state['gradient'])}. "
        f"The loss is {number(state['loss'])}."
    )


def panel(state):
    drawing = Panel(
        "Probabilities, targets and gradients of three classes",
        told(state),
        358,
        BASE + 14 + len(ROWS) * ROW,
        touched=True,
    )
    drawing.text(2, BASE, "0", "muted", "start")
    drawing.text(2, BASE - HIGH + 9, "1", "muted", "start")
    drawing.line((16, BASE), (LABEL + 3 * WIDE, BASE), kind="text")
    drawing.line((16, BASE - HIGH), (LABEL + 3 * WIDE, BASE - HIGH), width=0.5)
    for j in range(3):
        x, p, t = LABEL + j * WIDE + 4, state["probability"][j], state["target"][j]
        drawing.cell(x, BASE - p * HIGH, width=40, height=p * HIGH)
        drawing.key(f"bar {j}")
        drawing.parts.append(
            f'<rect class="outline" x="{x - 3:g}" y="{BASE - t * HIGH:g}" width="46" '
            f'height="{t * HIGH:g}" stroke-dasharray="4 3"/>'
        )
        drawing.key(f"goal {j}")
        drawing.arrow((x + 53, BASE - p * HIGH), (x + 53, BASE - t * HIGH), "gradient")
        drawing.key(f"arrow {j}")
    right = LABEL + 3 * WIDE + 8
    drawing.text(right + 29, BASE - 60, "loss", "muted")
    drawing.text(right + 29, BASE - 40, number(state["loss"]), bold=True)
    drawing.key("loss text")
    drawing.text(right + 29, BASE + 34, "sum", "muted")
    for row, name in enumerate(ROWS):
        y = BASE + 12 + row * ROW
        drawing.text(2, y + 22, name, anchor="start", bold=name == "gradient")
        kind = "gradient" if name == "gradient" else "value"
        for j, value in enumerate(state[name]):
            place = LABEL + j * WIDE, y
            drawing.cell(*place, rounded(value), kind, WIDE - 4, 34, key=f"{name} {j}")
        if name != "logit":
            total = rounded(sum(state[name]))
            drawing.cell(right, y, total, kind, 58, 34, key=f"sum {name}")
    drawing.mark([f"target {state['label']}"])
    return drawing
