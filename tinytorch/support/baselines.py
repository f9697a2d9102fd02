"""Classifiers that learn nothing, for comparison: the nearest class mean and the nearest
neighbour; and a drawing of accuracies."""

import numpy as np

from tinytorch.support.drawing import WIDTH, Drawing

__all__ = ["compare_data_handling", "draw_accuracies", "nearest_mean", "nearest_neighbour"]


def nearest_neighbour(examples, labels):
    """A function that gives each row the label of the nearest of these examples.

    examples  array of shape (n, features)
    labels    array of shape (n,)
    returns   a function: array of shape (m, features) -> labels of shape (m,)

    >>> classify = nearest_neighbour(np.array([[0.0, 0.0], [5.0, 5.0]]), np.array([7, 8]))
    >>> classify(np.array([[1.0, 0.0], [4.0, 6.0]]))
    array([7, 8])

    Source: Cover, Hart, Nearest neighbor pattern classification (1967).
    """
    squares = (examples * examples).sum(1)

    def classify(rows):
        # |a - b|**2 = |a|**2 - 2ab + |b|**2, and |a|**2 is the same for all examples
        return labels[(squares - 2 * rows @ examples.T).argmin(1)]

    return classify


def nearest_mean(examples, labels):
    """A function that gives each row the class whose mean example is nearest.

    examples, labels and what is returned are as in `nearest_neighbour`.

    >>> classify = nearest_mean(np.array([[0.0], [2.0], [9.0]]), np.array([0, 0, 1]))
    >>> classify(np.array([[4.0], [6.0]]))
    array([0, 1])
    """
    classes = np.unique(labels)
    means = np.stack([examples[labels == c].mean(0) for c in classes])
    return nearest_neighbour(means, classes)


def draw_accuracies(rows):
    """A bar from 0 to 100 % for each row, with its name above and its number at the right.

    rows     list of (name, accuracy from 0 to 1)
    returns  a Drawing

    >>> draw_accuracies([("all wrong", 0.0), ("all right", 1.0)]).height
    106
    """
    text = "; ".join(f"{name}: {accuracy:.1%}" for name, accuracy in rows)
    drawing = Drawing("Accuracies", text, height=6 + 50 * len(rows))
    full = WIDTH - 80
    for k, (name, accuracy) in enumerate(rows):
        y = 50 * k + 20
        drawing.text(10, y, name, anchor="start")
        drawing.cell(10, y + 6, "", "muted", width=full, height=18)
        if accuracy > 0:
            drawing.cell(10, y + 6, "", "value", width=full * accuracy, height=18)
        drawing.text(WIDTH - 10, y + 20, f"{accuracy:.1%}", anchor="end", bold=True)
    return drawing


def compare_data_handling(images, labels, seed=0):
    """The accuracy of the nearest neighbour on a fifth of the data, for four ways to treat it.

    images   array of shape (n, height, width)
    labels   array of shape (n,)
    returns  list of (what was done, accuracy from 0 to 1), for `draw_accuracies`
    """
    rng = np.random.default_rng(seed)
    cut = len(labels) * 4 // 5
    sorted_file = np.argsort(labels, kind="stable")
    shuffled = rng.permutation(len(labels))

    def accuracy(train, test, train_images, test_images):
        copies = len(train_images) // len(train)
        classify = nearest_neighbour(
            train_images.reshape(len(train_images), -1), np.tile(labels[train], copies)
        )
        return float((classify(test_images.reshape(len(test), -1)) == labels[test]).mean())

    train, test = sorted_file[:cut], sorted_file[cut:]
    in_order = accuracy(train, test, images[train], images[test])
    train, test = shuffled[:cut], shuffled[cut:]
    at_random = accuracy(train, test, images[train], images[test])
    moved = randomly_shifted(images[test], rng)
    shifted = accuracy(train, test, images[train], moved)
    copies = np.concatenate([randomly_shifted(images[train], rng) for _ in range(6)])
    augmented = accuracy(train, test, copies, moved)
    return [
        ("last fifth of a file that is sorted by class", in_order),
        ("a random fifth", at_random),
        ("test images shifted by up to one pixel", shifted),
        ("training images shifted as well", augmented),
    ]


def randomly_shifted(images, rng):
    """Each image shifted by up to one pixel in each direction, with zeros at the border."""
    height, width = images.shape[1:]
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    corners = rng.integers(0, 3, (len(images), 2)).tolist()
    return np.stack(
        [
            image[top : top + height, left : left + width]
            for image, (top, left) in zip(padded, corners)
        ]
    )
