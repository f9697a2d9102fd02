"""Softmax regression on digits, trained with derivatives worked out by hand; and the plots of what
the second derivative of a loss is good for.

The gradient and the Hessian of this one loss fit on half a page. With another model, or another
loss, both would have to be worked out again.
"""

import numpy as np

from tinytorch.support.datasets import digits_arrays
from tinytorch.support.drawing import panel

__all__ = [
    "digits_regression",
    "draw_losses",
    "draw_memory",
    "draw_sharpness",
    "hessian_by_hand",
    "train_by_hand",
]


def digits_regression():
    """The training and the test images of the digits, and their labels.

    returns  x (1438, 64), labels (1438,), x_test (359, 64), labels_test (359,); images are float32
             from 0 to 1
    """
    (images, labels), (test_images, test_labels) = map(digits_arrays, ("train", "test"))
    x, x_test = ((part.reshape(-1, 64) / 16).astype(np.float32) for part in (images, test_images))
    return x, labels.astype(int), x_test, test_labels.astype(int)


def probabilities(w, x):
    """softmax(x @ w), row by row."""
    logits = x @ w
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def hessian_by_hand(w, x, labels, decay=1e-3):
    """The second derivatives of the mean cross-entropy of softmax(x @ w) plus
    decay / 2 * sum(w * w), for weights of shape (inputs, classes).

    returns  ndarray of shape (w.size, w.size)
    """
    p, n, classes = probabilities(w, x), len(x), w.shape[1]
    weighted = (x[:, :, None] * p[:, None, :]).reshape(n, w.size)
    h = -weighted.T @ weighted / n
    for c in range(classes):
        h[c::classes, c::classes] += x.T @ (x * p[:, c, None]) / n
    h[np.diag_indices(w.size)] += decay
    return h


def train_by_hand(x, labels, steps, lr=None, decay=1e-3):
    """The loss before each step of gradient descent, or of Newton's method when `lr` is None.

    returns  list of steps + 1 floats
    """
    w, losses = np.zeros((x.shape[1], int(labels.max()) + 1), np.float32), []
    targets = np.eye(w.shape[1], dtype=np.float32)[labels]
    for _ in range(steps + 1):
        p = probabilities(w, x)
        losses.append(float(-np.log(p[targets > 0]).mean() + decay / 2 * (w * w).sum()))
        gradient = (x.T @ (p - targets) / len(x) + decay * w).ravel()
        if lr is None:
            step = np.linalg.solve(hessian_by_hand(w, x, labels, decay), gradient)
        else:
            step = lr * gradient
        w = w - step.reshape(w.shape)
    return losses


def draw_losses(curves):
    """The losses of several methods against the step, which has a logarithmic axis.

    curves  {name: list of losses, the first before any step}
    """
    figure, axes = panel("", "step", "loss", xscale="log")
    for colour, (name, losses) in zip(("C3", "C0", "C1"), curves.items()):
        steps = np.arange(len(losses)) + 1
        axes.plot(steps, losses, colour, marker="o" if len(losses) < 20 else "", markersize=5)
        few = len(losses) < 20
        at, text = (2, name.replace(" ", "\n")) if few else (len(losses) // 25, name)
        axes.annotate(text, (steps[at], losses[at]), (4, 8), color=colour,
                      textcoords="offset points")  # fmt: skip
    axes.set_ylim(bottom=0)
    return figure


def draw_sharpness(runs):
    """The sharpness during training, with the limit 2 / lr of each learning rate.

    runs  {lr: (steps, sharpnesses)}
    """
    figure, axes = panel("", "step of gradient descent", "sharpness")
    for colour, (lr, (steps, values)) in zip(("C0", "C1"), runs.items()):
        axes.plot(steps, values, colour)
        axes.axhline(2 / lr, color=colour, linestyle=":", linewidth=1.5)
        axes.annotate(f"2 / {lr}", (1, 2 / lr), (4, 0), ("axes fraction", "data"), color=colour,
                      va="center", textcoords="offset points", annotation_clip=False)  # fmt: skip
    axes.set_ylim(0, 1.2 * max(2 / lr for lr in runs))
    return figure


def draw_memory(depths, peaks):
    """The memory at the peak of a training step against the depth of the network.

    peaks  {name: one number for each depth, in arrays of the size of one layer's output}
    """
    figure, axes = panel("", "depth", "arrays at the peak")
    for colour, (name, values) in zip(("C3", "C0", "C1"), peaks.items()):
        axes.plot(depths, values, colour, marker="o", markersize=5)
        axes.annotate(name, (depths[-1], values[-1]), (0, 7), color=colour, ha="right",
                      textcoords="offset points")  # fmt: skip
    axes.set_ylim(bottom=0)
    return figure
