"""The figure of the digits milestones: a learning curve, a confusion matrix, the mistakes."""

import numpy as np

COLUMNS = 3  # misread digits per row


def report(history, images, labels, scores):
    """A figure that shows how a classifier learned, and which images it gets wrong.

    history  of a Trainer, with an accuracy and a validation set
    images   array (n, 1, height, width): the test set
    labels   array (n,): the classes of the images
    scores   array (n, classes): the classifier's outputs for the images
    """
    import matplotlib.pyplot as plt

    predicted, classes = scores.argmax(1), scores.shape[1]
    mistakes = np.flatnonzero(predicted != labels)
    rows = -(-len(mistakes) // COLUMNS)
    with plt.rc_context({"font.size": 13, "axes.titlesize": 13}):
        heights = (3.2, 4.8, 0.6 + 2.0 * rows)
        figure = plt.figure(figsize=(5, sum(heights)), layout="constrained")
        top, middle, bottom = figure.subfigures(3, 1, height_ratios=heights)
        draw_learning_curve(top.subplots(), history)
        draw_confusion_matrix(middle.subplots(), labels, predicted, classes)
        bottom.suptitle(f"{len(mistakes)} mistakes in {len(labels)} test images", fontsize=13)
        for axes, at in zip(
            np.ravel(bottom.subplots(rows, COLUMNS)) if rows else (),
            [*mistakes, *[None] * COLUMNS],
        ):
            axes.axis("off")
            if at is not None:
                axes.imshow(images[at, 0], cmap="gray_r", vmin=0, vmax=1)
                axes.set_title(f"a {labels[at]}, read as {predicted[at]}")
    return figure


def draw_learning_curve(axes, history):
    """Accuracy on the training and the validation set, by epoch."""
    for key, label in (("accuracy", "training"), ("validation accuracy", "validation")):
        epochs = range(1, len(history[key]) + 1)
        axes.plot(epochs, history[key], label=label)
    axes.set(xlabel="epoch", ylabel="accuracy")
    axes.set_ylim(min(0.9, min(history["validation accuracy"][1:], default=0.9)), 1.005)
    axes.legend(loc="lower right", frameon=False)


def draw_confusion_matrix(axes, labels, predicted, classes):
    """The number of images of each class (row) by predicted class (column); mistakes in red."""
    counts = np.bincount(labels * classes + predicted, minlength=classes**2)
    counts = counts.reshape(classes, classes)
    wrong = np.where(np.eye(classes, dtype=bool), 0, counts)
    axes.imshow(wrong, cmap="Reds", vmin=0, vmax=max(3, wrong.max()))
    for row, column in np.argwhere(counts):
        colour = "dimgrey" if row == column else "black"
        axes.text(column, row, counts[row, column], ha="center", va="center", color=colour)
    ticks = range(classes)
    axes.set(xlabel="predicted class", ylabel="true class", xticks=ticks, yticks=ticks)
