"""1958: the perceptron. One layer with one output, trained by its mistakes.

Frank Rosenblatt's machine had 400 photocells, and motors that turned its weights. It used no
gradients: when it classified an example wrongly, it added the example to the weights or
subtracted it. If a straight line can separate two classes, the perceptron finds such a line
after a limited number of mistakes, as was proved soon after.
"""

# /// milestone
# title = "The perceptron separates two classes"
# needs = ["tensor", "layers"]
# seconds = 60
# alt = """Six small pictures of two clouds of points that nearly touch, after 1, 10, 50, 100, \
#     200 and all updates: the decision boundary, at first outside the picture, moves and \
#     turns until it separates the clouds. Below: mistakes per epoch, 0 after 22 epochs."""
# [goal]
# "training accuracy" = 1.0
# "test accuracy" = 0.98
# ///

from pathlib import Path

import numpy as np
from epochs import show_line

from tinytorch.core.layers import Dense
from tinytorch.core.tensor import Tensor

SHOWN = (1, 10, 50, 100, 200)  # the updates after which the decision boundary is drawn


def clouds(count, rng):
    """About `count` points in two clouds that nearly touch, and for each point its class, 1 or
    -1.
    """
    label = rng.choice([-1, 1], count)
    points = rng.normal(0, 0.8, (count, 2)) + label[:, None] * np.array([0.8, 0.6])
    # Without the points within 0.05 of the middle, a line can separate the two clouds.
    kept = label * (points @ [0.8, 0.6]) > 0.05
    return (points[kept] + [4.0, -2.0]).astype("float32"), label[kept]


def accuracy(layer, points, labels):
    return float(np.mean(np.sign(layer(Tensor(points)).data[:, 0]) == labels))


def train(layer, points, labels, epochs=200):
    """Train until an epoch has no mistakes; returns the number of mistakes in each epoch, and
    the weights after each update, a list of (w0, w1, bias).
    """
    mistakes, updates = [], []
    for epoch in range(epochs):
        mistakes.append(0)
        for x, label in zip(points, labels):
            if label * layer(Tensor(x)).item() <= 0:
                layer.weights.data[:, 0] += label * x
                layer.bias.data += label
                mistakes[-1] += 1
                updates.append((*layer.weights.data[:, 0].tolist(), layer.bias.item()))
        is_last = not mistakes[-1] or epoch + 1 == epochs
        show_line(f"epoch {epoch + 1}: {mistakes[-1]} mistakes", is_last)
        if is_last:
            break
    return mistakes, updates


def draw(mistakes, updates, points, labels):
    """The decision boundary after some updates, and the mistakes of each epoch."""
    import matplotlib.pyplot as plt

    places = [n for n in SHOWN if n < len(updates)][-5:] + [len(updates)]
    names = [f"boundary {n}" for n in range(6)]
    figure, axes = plt.subplot_mosaic(
        [names[0:2], names[2:4], names[4:6], ["mistakes", "mistakes"]],
        figsize=(5.0, 8.2),
        layout="constrained",
    )
    (left, bottom), (right, top) = points.min(0) - 0.2, points.max(0) + 0.2
    for name, update in zip(names, places):
        axis, (w0, w1, bias) = axes[name], updates[update - 1]
        for label, colour, marker in ((1, "#b35900", "s"), (-1, "#1f6fb2", "o")):
            axis.scatter(*points[labels == label].T, c=colour, marker=marker, s=4)
        if w1:
            x = np.array([left, right])
            axis.plot(x, -(w0 * x + bias) / w1, "k")
        right_ones = np.mean(np.sign(points @ [w0, w1] + bias) == labels)
        axis.set(xlim=(left, right), ylim=(bottom, top), xticks=[], yticks=[])
        axis.set_title(f"{update} update{'s' * (update > 1)}: {right_ones:.0%}", fontsize=13)
    for name in names[len(places) :]:
        axes[name].axis("off")
    axis = axes["mistakes"]
    axis.plot(range(1, len(mistakes) + 1), mistakes, ".-", color="#1f6fb2")
    axis.set(ylim=(0, None))
    axis.set_xlabel("epoch", fontsize=13)
    axis.set_ylabel("mistakes", fontsize=13)
    axis.tick_params(labelsize=13)
    axis.spines[["top", "right"]].set_visible(False)
    axis.xaxis.get_major_locator().set_params(integer=True)
    return figure


def run(seed=0):
    """Train a perceptron; returns its accuracies, and a figure."""
    rng = np.random.default_rng(seed)
    (points, labels), (test_points, test_labels) = clouds(400, rng), clouds(1000, rng)
    layer = Dense(2, 1, rng=seed)
    mistakes, updates = train(layer, points, labels)
    return {
        "training accuracy": accuracy(layer, points, labels),
        "test accuracy": accuracy(layer, test_points, test_labels),
    }, draw(mistakes, updates, points, labels)


if __name__ == "__main__":
    measured, figure = run()
    print(measured)
    figure.savefig(Path(__file__).with_suffix(".png"))
