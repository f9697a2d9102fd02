"""A network that reads handwritten digits, ready-made: what lesson 01 opens with.

Its hidden layer is random and stays so; its output layer is fitted by least squares, in a fifth of
a second, before any lesson has taught how a network learns.

Source: Rahimi and Recht, Random features for large-scale kernel machines (2007).
"""

import numpy as np

from tinytorch.support.datasets import digits_arrays

__all__ = ["draw_digits", "load_network"]


def load_network(hidden=256):
    """Images that the network was not fitted to, their labels, and the network's numbers.

    hidden   units of the hidden layer
    returns  images (359, 64), floats from 0 to 1, one image of 8 by 8 pixels a row; labels (359,),
             integers; a tuple of W1 (64, hidden), b1 (hidden,), W2 (hidden, 10), b2 (10,). All but
             the labels are float32.
    """
    (images, labels), (test_images, test_labels) = map(digits_arrays, ("train", "test"))
    x, x_test = (part.reshape(-1, 64) / 16 for part in (images, test_images))
    rng = np.random.default_rng(0)
    W1, b1 = rng.normal(0, 64**-0.5, (64, hidden)), rng.normal(0, 0.5, hidden)
    features = np.column_stack([np.maximum(x @ W1 + b1, 0), np.ones(len(x))])
    gram = features.T @ features + 0.1 * np.eye(hidden + 1)  # 0.1: ridge regression
    W2 = np.linalg.solve(gram, features.T @ np.eye(10)[labels])
    weights = tuple(part.astype(np.float32) for part in (W1, b1, W2[:-1], W2[-1]))
    return x_test.astype(np.float32), test_labels.astype(int), weights


def draw_digits(images, answers, labels):
    """A figure of images in rows of five, each with the network's answer above it.

    images   (n, 64), floats from 0 to 1
    answers  (n,), what the network says; red where it is not the label
    labels   (n,), what each image shows
    """
    from tinytorch.support.drawing import COLOURS, panel

    tile, columns = 12, 5  # pixels of an image with its surroundings; images in a row
    rows = -(-len(images) // columns)
    page = np.zeros((rows * tile, columns * tile))
    figure, axes = panel(width=5.0, height=rows)
    for n, (image, answer, label) in enumerate(zip(images, answers, labels)):
        top, left = n // columns * tile, n % columns * tile
        page[top + 3 : top + 11, left + 2 : left + 10] = image.reshape(8, 8)
        wrong = answer != label
        axes.text(
            left + 6,
            top + 1.2,
            f"{answer} (is {label})" if wrong else str(answer),
            ha="center",
            va="center",
            color=COLOURS["wrong" if wrong else "value"][0],
        )
    axes.imshow(page, cmap="gray_r", aspect="equal")
    axes.axis("off")
    return figure
