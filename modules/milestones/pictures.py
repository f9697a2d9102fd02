"""What the milestones with digits draw: curves, a confusion matrix, and the mistakes."""

import numpy as np


def report(history, images, labels, scores):
    """A figure of how a classifier learned and what it gets wrong.

    history  of a Trainer, with an accuracy and a validation set
    images   array (n, 1, height, width)
    labels   array (n,) of classes
    scores   array (n, classes), what the classifier says
    """
    import matplotlib.pyplot as plt

    predicted, classes = scores.argmax(1), scores.shape[1]
    figure = plt.figure(figsize=(13, 6.2), layout="constrained")
    top, bottom = figure.subfigures(2, 1, height_ratios=(2, 1))
    one, two, three = top.subplots(1, 3)
    for axis, name in ((one, "loss"), (two, "accuracy")):
        for key, label in ((name, "training"), (f"validation {name}", "test")):
            axis.plot(range(1, len(history[key]) + 1), history[key], label=label)
        axis.set(xlabel="epoch", ylabel=name)
        axis.legend()
    two.set_ylim(0.9, 1.005)
    counts = np.bincount(labels * classes + predicted, minlength=classes**2).reshape(
        classes, classes
    )
    wrong = np.where(np.eye(classes, dtype=bool), 0, counts)
    three.imshow(wrong, cmap="Reds", vmin=0, vmax=max(3, wrong.max()))
    for row, column in np.argwhere(counts):
        three.text(
            column,
            row,
            counts[row, column],
            ha="center",
            va="center",
            fontsize=7,
            color="black" if row != column else "grey",
        )
    three.set(
        xlabel="what it says", ylabel="what it is", xticks=range(classes), yticks=range(classes)
    )
    mistakes = np.flatnonzero(predicted != labels)[:14]
    bottom.suptitle(
        f"{(predicted != labels).sum()} mistakes of {len(labels)}:"
        " what it is, and what it says",
        fontsize=10,
    )
    for axis, at in zip(np.atleast_1d(bottom.subplots(1, 14)), [*mistakes, *[None] * 14]):
        axis.axis("off")
        if at is not None:
            axis.imshow(images[at, 0], cmap="gray_r")
            axis.set_title(f"{labels[at]}, {predicted[at]}", fontsize=9)
    return figure
