"""What lesson 08 draws: learning curves, a data set on which a small network overfits, the training
loop, a confusion matrix, and double descent.
"""

import math

import numpy as np

from tinytorch.pictures.drawing import label_ends, panel
from tinytorch.support.svg import COLOURS, Drawing

# Curves of a training run


def plot_learning_curve(history, metric="loss", patience=None):
    """A metric of the training set and of the validation set against the epoch.

    history   dict {name: list with one float per epoch}, such as `Trainer.history`; the curve of
              the validation set is called "validation METRIC"
    metric    which one to draw
    patience  None, or the patience of early stopping: the epochs of waiting after the best one are
              then shaded
    returns   a matplotlib figure; the epoch with the lowest validation loss is marked
    """
    figure, axes = panel(xlabel="epoch", ylabel=metric)
    ends = []
    for name, label, colour in [
        (metric, "training", "C0"),
        (f"validation {metric}", "validation", "C1"),
    ]:
        if name in history:
            curve = history[name]
            axes.plot(range(1, len(curve) + 1), curve, colour)
            ends.append((len(curve), curve[-1], label, colour))
    losses = history.get("validation loss", []) if metric == "loss" else []
    if any(math.isfinite(loss) for loss in losses):
        best = int(np.nanargmin(losses)) + 1
        axes.plot(best, losses[best - 1], "C1o")
        mark_x(axes, best, f"best epoch: {best}")
        if patience is not None:
            axes.axvspan(best, best + patience, color="C3", alpha=0.15, linewidth=0)
            text = f"{patience} epochs\nof patience \N{RIGHTWARDS ARROW} "
            place = {"xycoords": ("data", "axes fraction"), "ha": "right", "va": "top"}
            axes.annotate(text, (best, 0.94), **place)
    label_ends(axes, ends)
    return figure


def mark_x(axes, x, text):
    """A dotted vertical line at `x`, with a text above it."""
    axes.axvline(x, color="C3", linestyle=":", linewidth=1.5)
    place = {"xycoords": ("data", "axes fraction"), "ha": "center", "color": "C3"}
    axes.annotate(text, (x, 1.02), **place)


def plot_rate_range(rates, losses, suggestion=None):
    """The loss against the learning rate of a learning-rate range test.

    rates, losses  two lists of floats
    suggestion     a learning rate to mark, or None
    returns        a matplotlib figure
    """
    figure, axes = panel(xlabel="learning rate", ylabel="loss", xscale="log")
    axes.plot(rates, losses)
    if suggestion is not None:
        mark_x(axes, suggestion, f"suggested: {suggestion:.2g}")
    return figure


# A toy data set on which a small network overfits

CLASSES = ("circle", "square", "triangle")  # the markers of the three classes
LOOKS = tuple(zip((COLOURS[kind][0] for kind in ("value", "gradient", "muted")), "os^"))


def noisy_spirals(count, seed, noise=0.5):
    """Points around the three arms of a spiral, which overlap.

    count    number of points
    seed     of the random numbers
    noise    standard deviation of the distance from the arm; neighbouring arms are about 1.5 apart
    returns  (points, labels): float32 of shape (count, 2), and ints 0, 1 or 2 of shape (count,)

    >>> points, labels = noisy_spirals(6, seed=0)
    >>> points.shape, labels.shape
    ((6, 2), (6,))
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, count)
    radius = 3 * np.sqrt(rng.uniform(0.02, 1, count))
    angle = 1.3 * radius + 2 * np.pi / 3 * labels
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    return (points + rng.normal(0, noise, (count, 2))).astype("float32"), labels


def example_history(epochs=60):
    """Train a network on 60 points of `noisy_spirals` for so many epochs.

    returns  dict {"loss", "validation loss": list of floats, one per epoch}, on the training set
             and on 300 other points
    """
    from tinytorch.core.activations import Tanh  # late: lessons of the course
    from tinytorch.core.autograd import no_grad
    from tinytorch.core.layers import Dense, Sequential, manual_seed
    from tinytorch.core.losses import cross_entropy
    from tinytorch.core.optimizers import Adam
    from tinytorch.core.tensor import Tensor

    sets = [noisy_spirals(60, seed=1), noisy_spirals(300, seed=2)]
    (x, y), _ = sets = [(Tensor(points), Tensor(labels)) for points, labels in sets]
    manual_seed(0)
    model = Sequential(Dense(2, 64), Tanh(), Dense(64, 64), Tanh(), Dense(64, 3))
    optimizer = Adam(model.parameters(), lr=0.02)
    history = {"loss": [], "validation loss": []}
    for _ in range(epochs):
        for at in (0, 30):
            optimizer.zero_grad()
            cross_entropy(model(x[at : at + 30]), y[at : at + 30]).backward()
            optimizer.step()
        with no_grad():
            for name, (inputs, targets) in zip(history, sets):
                history[name].append(float(cross_entropy(model(inputs), targets)))
    return history


def plot_points(points, labels, title=""):
    """The points, with one colour and one marker per class; returns a matplotlib figure."""
    figure, axes = panel(title, width=5.0, height=4.4, aspect="equal")
    for number, (colour, marker) in enumerate(LOOKS):
        axes.scatter(*points[labels == number].T, c=colour, marker=marker, s=22)
    axes.set(xticks=[], yticks=[])
    return figure


def plot_regions(predict, points, labels, title="", other=None):
    """The regions of the classes, as a model sees them, and points on them.

    predict  function: array of shape (n, 2) -> scores of shape (n, 3)
    points   array of shape (count, 2)
    labels   ints of shape (count,)
    other    None, or the `predict` of another model: hatched is where it predicts another class
    returns  a matplotlib figure
    """
    figure = plot_points(points, labels, title)
    (axes,) = figure.axes
    side = np.linspace(-4.4, 4.4, 90)
    grid = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2).astype("float32")
    regions = predict(grid).argmax(1).reshape(90, 90)
    axes.contourf(
        side,
        side,
        regions,
        levels=[-0.5, 0.5, 1.5, 2.5],
        colors=[colour for colour, _ in LOOKS],
        alpha=0.25,
        zorder=0,
    )
    if other is not None:
        differs = (regions != other(grid).argmax(1).reshape(90, 90)).astype(float)
        axes.contourf(
            side, side, differs, levels=[0.5, 1.5], colors="none", hatches=["////"], zorder=0
        )
        axes.contour(side, side, differs, levels=[0.5], colors="black", linewidths=0.8)
    axes.set(xlim=(-4.4, 4.4), ylim=(-4.4, 4.4))
    return figure


# Diagrams


def draw_training_loop(batches, epochs):
    """A diagram of a training run.

    batches  how many batches an epoch has
    epochs   how many epochs the run has at most
    returns  a `Drawing`
    """
    drawing = Drawing(
        "the training loop",
        f"Before each epoch: is it time to end? Then {batches} training steps, evaluation on the "
        "validation set, keeping the best weights, and a checkpoint.",
        height=512,
    )

    def box(y, text, kind, x=72, width=214):
        drawing.cell(x, y, text, kind, width=width, height=34)

    box(10, f"{epochs} epochs, or should_stop?", "muted")
    drawing.arrow((179, 44), (179, 71))
    drawing.text(187, 62, "no", anchor="start")
    drawing.cell(32, 72, "", "muted", width=294, height=222, dashed=True)
    drawing.text(42, 90, f"one epoch: {batches} batches, {batches} steps", anchor="start")
    for y, text, kind in [
        (98, "forward pass: loss", "value"),
        (148, "backward pass: gradients", "gradient"),
        (198, "optimizer step: weights", "value"),
        (248, "next batch", "muted"),
    ]:
        box(y, text, kind, 84, 190)
    for y in (132, 182, 232):
        drawing.arrow((179, y), (179, y + 15))
    drawing.line((274, 265), (304, 265), (304, 115))
    drawing.arrow((304, 115), (277, 115))
    for y, text, kind in [
        (312, "evaluate on the validation set", "value"),
        (362, "improved? keep the weights", "value"),
        (412, "save a checkpoint", "muted"),
    ]:
        drawing.arrow((179, y - 17), (179, y - 1))
        box(y, text, kind)
    drawing.line((72, 429), (14, 429), (14, 27))
    drawing.arrow((14, 27), (71, 27))
    drawing.text(22, 360, "next", anchor="start")
    drawing.text(22, 376, "epoch", anchor="start")
    drawing.line((286, 27), (344, 27), (344, 479))
    drawing.arrow((344, 479), (287, 479))
    drawing.text(294, 20, "yes", anchor="start")
    box(462, "end: load the best weights", "value")
    return drawing


def draw_confusion_matrix(counts, names):
    """A picture of a confusion matrix: correct answers on the diagonal, mistakes hatched.

    counts   array of ints of shape (classes, classes): the row is the true class, the column the
             predicted one
    names    one text per class; at most 4 classes fit
    returns  a `Drawing`
    """
    left, top, width, height = 92, 62, min(80, (350 - 92) // len(names)), 44
    drawing = Drawing(
        "confusion matrix",
        f"rows are true classes, columns predicted ones: {counts.tolist()}",
        height=top + height * len(names) + 14,
    )
    drawing.text(left + width * len(names) / 2, 20, "predicted class", "muted")
    drawing.text(8, top - 14, "true class", "muted", anchor="start")
    for place, name in enumerate(names):
        drawing.text(left + (place + 0.5) * width, top - 14, name)
        drawing.text(left - 10, top + (place + 0.5) * height + 5, name, anchor="end")

    def kind(i, j):
        return "value" if i == j else "wrong" if counts[i][j] else "muted"

    drawing.cells(left, top, counts.tolist(), kind, width, height)
    return drawing


# Double descent: the test error of a model against its number of parameters. The model is linear
# regression on random ReLU features, solved with least squares. With fewer parameters than training
# examples it fits as well as it can; with more, many solutions fit the training set exactly, and
# least squares returns the one with the smallest weights.

COUNTS = (2, 4, 7, 10, 15, 20, 25, 30, 35, 40, 45, 50, 60, 80, 120, 200, 400, 800)


def random_feature_errors(counts=COUNTS, examples=40, repetitions=5):
    """The errors of random-feature regression with several numbers of parameters.

    counts       numbers of parameters
    examples     size of the training set
    repetitions  how often everything is drawn anew; the errors are medians
    returns      (training errors, test errors): arrays with the mean squared error for each count

    Source: Belkin, Hsu, Ma, Mandal, Reconciling modern machine-learning practice and the classical
    bias-variance trade-off (2019).
    """
    errors = []
    for seed in range(repetitions):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(examples + 300, 5))
        y = x[:, 0] + 0.5 * np.sin(2 * x[:, 1]) + rng.normal(0, 0.2, len(x))
        weights, biases = rng.normal(0, 5**-0.5, (5, max(counts))), rng.normal(size=max(counts))
        features = np.maximum(0, x @ weights + biases)
        for count in counts:
            some = features[:, :count] / np.sqrt(count)
            w = np.linalg.lstsq(some[:examples], y[:examples], rcond=None)[0]
            squares = (some @ w - y) ** 2
            errors.append((squares[:examples].mean(), squares[examples:].mean()))
    return np.median(np.reshape(errors, (repetitions, len(counts), 2)), axis=0).T


def plot_double_descent(counts, train, test, examples=40):
    """Both errors against the number of parameters; returns a matplotlib figure."""
    figure, axes = panel(
        xlabel="parameters", ylabel="mean squared error", xscale="log", yscale="log"
    )
    axes.plot(counts, np.maximum(train, 1e-2), "C0")
    axes.plot(counts, test, "C1.-")
    mark_x(axes, examples, f"{examples} parameters for {examples} examples")
    axes.annotate("test set", (counts[-3], test[-3] * 1.3), color="C1")
    axes.annotate("training set", (counts[0], train[0] / 6), color="C0")
    axes.set(ylim=(1e-2, None))
    return figure
