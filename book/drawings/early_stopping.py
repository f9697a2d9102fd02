"""Learning curves, and the epoch that early stopping keeps; lesson 08, whose `Trainer` makes the
runs and whose `epochs_since_best` ends them.
"""

import functools

import numpy as np
from figure import Figure, Panel, choice, slider

from tinytorch.core.activations import Tanh
from tinytorch.core.layers import Dense, Sequential, manual_seed
from tinytorch.core.losses import cross_entropy
from tinytorch.core.optimizers import Adam
from tinytorch.core.tensor import Tensor
from tinytorch.core.training import Trainer, epochs_since_best
from tinytorch.pictures.training import noisy_spirals

COUNTS = (60, 120, 240)  # training points
EPOCHS, PATIENCE, MOST = 60, 10, 30
HIGHEST = 0.9  # the loss at the upper end of the axis
LEFT, RIGHT, TOP, BOTTOM = 34, 278, 48, 228  # pixels of the axes


def figures():
    settings = [(60, 10), (60, 4), (120, 10), (120, 21), (240, 10)]
    controls = slider("patience", "patience", 1, MOST, 1, PATIENCE) + choice(
        "training points",
        "early_stopping-points",
        {str(count): str(count) for count in COUNTS},
        str(COUNTS[0]),
    )
    return [
        Figure(
            "early_stopping",
            "Learning curves and the epoch that early stopping keeps",
            "A short patience ends the training at the first rise of the validation loss, which "
            "may come by chance; a long patience costs epochs.",
            [panel(COUNTS[0], PATIENCE)],
            [told(count, patience) for count, patience in settings],
            controls,
            {
                "runs": {str(count): history(count) for count in COUNTS},
                "place": [LEFT, RIGHT, TOP, BOTTOM, HIGHEST],
            },
            lesson="training",
            section="Early stopping",
            replaces="plot_learning_curve({name",
        )
    ]


def trainer():
    """The trainer of the lesson, with its network."""
    manual_seed(0)
    model = Sequential(Dense(2, 64), Tanh(), Dense(64, 64), Tanh(), Dense(64, 3))
    return Trainer(model, Adam(model.parameters(), lr=0.02), cross_entropy, show=False)


def batches(count, seed, size):
    points, labels = (Tensor(one) for one in noisy_spirals(count, seed))
    return [(points[at : at + size], labels[at : at + size]) for at in range(0, count, size)]


@functools.cache
def history(count):
    """{"training", "validation": the loss after each epoch}, with this many training points."""
    run = trainer()
    run.fit(batches(count, 1, 30), EPOCHS, validation=batches(300, 2, 128))
    names = {"training": "loss", "validation": "validation loss"}
    return {name: [round(x, 5) for x in run.history[one]] for name, one in names.items()}


def stopped(count, patience):
    """(epochs until training stops, the epoch whose weights are kept)."""
    losses = history(count)["validation"]
    since = (epochs_since_best(losses[:n]) for n in range(1, EPOCHS + 1))
    stop = next((n for n, one in enumerate(since, 1) if one == patience), EPOCHS)
    return stop, stop - epochs_since_best(losses[:stop])


def told(count, patience):
    losses = history(count)["validation"]
    stop, kept = stopped(count, patience)
    best = int(np.argmin(losses)) + 1
    text = f"{count} training points, patience {patience}: training "
    text += f"stops after epoch {stop}" if stop < EPOCHS else f"runs for all {EPOCHS} epochs"
    text += f" and keeps epoch {kept}, with a validation loss of {losses[kept - 1]:.3f}. "
    if kept != best:
        return f"{text}Too early: epoch {best} would have {losses[best - 1]:.3f}."
    return f"{text}This is the lowest of {EPOCHS} epochs; the last has {losses[-1]:.3f}."


def place(epoch, loss):
    """The (x, y) of a loss, as texts."""
    x = LEFT + (RIGHT - LEFT) * (epoch - 1) / (EPOCHS - 1)
    return f"{x:.1f}", f"{BOTTOM - (BOTTOM - TOP) * loss / HIGHEST:.1f}"


def points(losses):
    return " ".join(",".join(place(n, loss)) for n, loss in enumerate(losses, 1))


def panel(count, patience):
    stop, kept = stopped(count, patience)
    chart = Panel("Learning curves: loss against the epoch", told(count, patience), height=268)
    chart.text(LEFT - 30, 16, "loss", "muted", "start")
    for loss in (0, 0.3, 0.6, 0.9):
        y = float(place(1, loss)[1])
        chart.line((LEFT - 4, y), (LEFT, y))
        chart.text(LEFT - 7, y + 4.5, f"{loss:g}", "muted", "end")
    for epoch in (1, 20, 40, 60):
        x = float(place(epoch, 0)[0])
        chart.line((x, BOTTOM), (x, BOTTOM + 4))
        chart.text(x, BOTTOM + 18, epoch, "muted")
    chart.text((LEFT + RIGHT) / 2, BOTTOM + 36, "epoch", "muted")
    (start, _), (end, _) = place(kept, 0), place(stop, 0)
    chart.parts.append(
        f'<rect class="cell muted" data-key="wait" x="{start}" y="{TOP}" '
        f'width="{float(end) - float(start):.1f}" height="{BOTTOM - TOP}"/>'
    )
    chart.line((LEFT, TOP), (LEFT, BOTTOM), (RIGHT, BOTTOM), kind="text")
    for name, kind in [("training", "text"), ("validation", "value")]:
        losses = history(count)[name]
        chart.parts.append(
            f'<polyline class="line {kind}" data-key="{name} all" points="{points(losses)}" '
            f'stroke-width="1" stroke-dasharray="3 3"/><polyline class="line {kind}" '
            f'data-key="{name} run" points="{points(losses[:stop])}" stroke-width="2"/>'
        )
        chart.text(RIGHT + 6, float(place(EPOCHS, losses[-1])[1]) + 4.5, name, kind, "start")
        chart.key(f"{name} name")
    x, y = place(kept, history(count)["validation"][kept - 1])
    chart.parts.append(f'<circle class="dot value" data-key="kept" cx="{x}" cy="{y}" r="6"/>')
    for key, text, epoch, top in [("kept", "keeps", kept, 16), ("stop", "stops after", stop, 36)]:
        x = float(place(epoch, 0)[0])
        chart.line((x, top + 5), (x, BOTTOM), kind="text", dashed=key == "stop")
        chart.key(f"{key} line")
        kind = "text on-line"  # the line of the epoch that is kept ends behind the other's text
        chart.text(min(max(x, 88), 240), top, f"{text} epoch {epoch}", kind, bold=key == "kept")
        chart.key(f"{key} text")
    return chart
