"""A signal through twenty random layers, for five sizes of the weights and three activation
functions; lesson 04, whose `linear` computes the layers.
"""

import numpy as np
from figure import Figure, Panel, choice, number, slider

from tinytorch.core.layers import linear
from tinytorch.core.tensor import Tensor

STDS = (0.01, 0.05, 0.1, 0.141, 0.2)
ACTIVATIONS = {"linear": lambda x: x, "tanh": Tensor.tanh, "relu": Tensor.relu}
TOLD = (1, 2, 10, 20)  # the layers whose standard deviation is written
SPAN, BINS, FULL = 3, 15, 0.25  # the axis goes from -SPAN to SPAN; a bin with this share is full
LEFT, STEP, TOP, HIGH = 28, 16.4, 30, 180  # pixels


def figures():
    states = {f"{name} {n}": numbers(name, n) for name in ACTIVATIONS for n in range(len(STDS))}
    controls = slider("standard deviation of the weights:", "std", 0, len(STDS) - 1, 1, 0) + choice(
        "activation function",
        "twenty_layers-activation",
        {"linear": "none", "tanh": "tanh", "relu": "relu"},
        "linear",
    )
    # The slider counts the stops; its label has the value.
    controls = controls.replace('<span data-value="std">0<', f'<span data-value="std">{STDS[0]}<')
    return [
        Figure(
            "twenty_layers",
            "A signal through twenty layers",
            "Without an activation function each layer multiplies the standard deviation by the "
            "same factor, so twenty layers multiply it by the twentieth power of this factor.",
            [panel(states["linear 0"])],
            [states[f"linear {n}"]["told"] for n in range(len(STDS))],
            controls,
            {
                "stds": STDS,
                "layers": TOLD,
                "map": {"left": LEFT, "step": STEP, "top": TOP, "high": HIGH, "full": FULL},
                "states": states,
            },
            lesson="layers",
            section="Exploding and vanishing activations",
            after="Weights with std 0.01 multiply the standard deviation by",
        )
    ]


def activations(name, std, layers=20, width=100):
    """What each layer gives: arrays of shape (100, width), as in the lesson's
    `activation_stds`."""
    rng = np.random.default_rng(0)
    x, outputs = Tensor(rng.normal(size=(100, width)).astype("float32")), []
    for _ in range(layers):
        weights = Tensor(rng.normal(0, std, (width, width)).astype("float32"))
        x = ACTIVATIONS[name](linear(x, weights))
        outputs.append(x.data)
    return outputs


def numbers(name, n):
    """One setting, for JSON: the counts per layer and bin, in percent, and standard deviations."""
    outputs = activations(name, STDS[n])
    shares = [np.histogram(x, BINS, (-SPAN, SPAN))[0] / x.size for x in outputs]
    stds = [float(outputs[layer - 1].astype(float).std()) for layer in TOLD]
    written = ", ".join(map(short, stds))
    called = "Without an activation function," if name == "linear" else f"With {name},"
    return {
        "shares": [[round(100 * float(one)) for one in row] for row in shares],
        "stds": stds,
        "told": f"{called} weights with standard deviation {STDS[n]}: after layers "
        f"{', '.join(map(str, TOLD))} the outputs have standard deviation {written}."
        + (f" Those beyond -{SPAN} and {SPAN} are not drawn." if stds[-1] > SPAN else ""),
    }


def short(std):
    """Two digits, as in the lesson."""
    return number(float(f"{std:.2g}"))


def histograms(shares):
    """All histograms as one path: each upright, a bin as wide as its share."""
    parts, high = [], HIGH / BINS
    for layer, row in enumerate(shares):
        middle = LEFT + (layer + 0.5) * STEP
        for n, share in enumerate(row):
            half = min(share / 100 / FULL, 1) * (STEP / 2 - 1)
            if half:
                y = TOP + (BINS - 1 - n) * high
                parts.append(
                    f"M{middle - half:.1f},{y:.1f}h{2 * half:.1f}v{high:.1f}h{-2 * half:.1f}z"
                )
    return "".join(parts)


def kind_of(std):
    """Whether a signal of this standard deviation is still one."""
    return "value" if 0.1 <= std <= 10 else "wrong"


def panel(state):
    drawing = Panel("The outputs of twenty layers, one histogram each", state["told"], 358, 310)
    drawing.text(2, 16, "outputs of the layers 1 to 20", anchor="start", bold=True)
    for value in (-3, 0, 3):
        y = TOP + (SPAN - value) / (2 * SPAN) * HIGH
        drawing.text(LEFT - 6, y + 4.5, value, "muted", "end")
        drawing.line((LEFT, y), (LEFT + 20 * STEP, y), width=0.5)
    drawing.parts.append(
        f'<path class="cell value" data-key="histograms" d="{histograms(state["shares"])}"/>'
    )
    for layer in (1, 5, 10, 15, 20):
        drawing.text(LEFT + (layer - 0.5) * STEP, TOP + HIGH + 18, layer, "muted")
    drawing.text(2, TOP + HIGH + 46, "standard deviation after layer", anchor="start", bold=True)
    for n, (layer, std) in enumerate(zip(TOLD, state["stds"])):
        x = 2 + n * 89
        drawing.text(x + 12, 296, layer, "muted")
        drawing.cell(x + 24, 274, short(std), kind_of(std), 61, 34, key=f"std {layer}")
    return drawing
