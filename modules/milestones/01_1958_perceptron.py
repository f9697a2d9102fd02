"""1958: the perceptron. One layer and one output, taught by its mistakes.

Frank Rosenblatt's machine had 400 photocells, and weights that were turned by motors. It knew
no slopes: when it was wrong about an example, the example was added to the weights or taken
from them. Two classes that a straight line can part are always parted after a limited number of
mistakes; that was proved soon after.
"""

# /// milestone
# title = "The perceptron parts two classes"
# needs = ["tensor", "layers"]
# seconds = 60
# alt = """Left: a blue and a red cloud of points, and a black line between them. \
#     Right: mistakes in each epoch, which fall to 0."""
# [bar]
# "training accuracy" = 1.0
# "test accuracy" = 0.98
# ///

from pathlib import Path

import numpy as np

from tinytorch.core.layers import Dense
from tinytorch.core.tensor import Tensor


def clouds(count, rng):
    """`count` points in two clouds, with a gap between them, and for each point 1 or -1."""
    side = rng.choice([-1, 1], count)
    points = rng.normal(0, 0.8, (count, 2)) + side[:, None] * np.array([0.8, 0.6])
    # 0.08 is the gap: how narrow it is decides how many mistakes are made
    kept = side * (points @ [0.8, 0.6]) > 0.08
    return (points[kept] + [2.0, -1.0]).astype("float32"), side[kept]


def accuracy(layer, points, side):
    return float(np.mean(np.sign(layer(Tensor(points)).data[:, 0]) == side))


def run(seed=0):
    """Teach a perceptron; returns what was measured, and a picture."""
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(seed)
    (points, side), (unseen, truth) = clouds(400, rng), clouds(1000, rng)
    layer = Dense(2, 1, rng=seed)
    mistakes = []
    for epoch in range(100):
        mistakes.append(0)
        for x, wanted in zip(points, side):
            if wanted * layer(Tensor(x)).item() <= 0:
                layer.weights.data[:, 0] += wanted * x
                layer.bias.data += wanted
                mistakes[-1] += 1
        print(f"epoch {epoch + 1}: {mistakes[-1]} mistakes", flush=True)
        if not mistakes[-1]:
            break
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), width_ratios=(1.4, 1))
    left.scatter(*unseen.T, c=truth, cmap="coolwarm", s=8)
    (a, b), c = layer.weights.data[:, 0], layer.bias.data[0]
    across = np.array([unseen[:, 0].min(), unseen[:, 0].max()])
    left.plot(across, -(a * across + c) / b, "k")
    left.set(
        title="points it never saw, and its line", ylim=(unseen[:, 1].min(), unseen[:, 1].max())
    )
    right.plot(range(1, len(mistakes) + 1), mistakes, "k.-")
    right.set(xlabel="epoch", ylabel="mistakes", title="learning", ylim=(0, None))
    right.xaxis.get_major_locator().set_params(integer=True)
    figure.tight_layout()
    return {
        "training accuracy": accuracy(layer, points, side),
        "test accuracy": accuracy(layer, unseen, truth),
    }, figure


if __name__ == "__main__":
    measured, figure = run()
    print(measured)
    figure.savefig(Path(__file__).with_suffix(".png"))
