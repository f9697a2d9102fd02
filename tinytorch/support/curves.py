"""Plots of a training run: learning curves, and the learning-rate range test."""

import math

import numpy as np


def plot_learning_curve(history, metric="loss", patience=None):
    """A metric of the training set and of the validation set against the epoch.

    history   dict {name: list with one float per epoch}, such as `Trainer.history`; the curve of
              the validation set is called "validation METRIC"
    metric    which one to draw
    patience  None, or the patience of early stopping: the epochs of waiting after the best one are
              then shaded
    returns   a matplotlib figure; the epoch with the lowest validation loss is marked
    """
    from tinytorch.support.drawing import panel  # late: training itself needs no matplotlib

    figure, axes = panel(xlabel="epoch", ylabel=metric)
    epochs = range(1, len(history[metric]) + 1)
    ends = [(history[metric][-1], "training", "C0")]
    axes.plot(epochs, history[metric], "C0")
    if f"validation {metric}" in history:
        curve = history[f"validation {metric}"]
        axes.plot(epochs, curve, "C1")
        ends.append((curve[-1], "validation", "C1"))
        if metric == "loss" and any(math.isfinite(loss) for loss in curve):
            best = int(np.nanargmin(curve)) + 1
            axes.plot(best, curve[best - 1], "C1o")
            axes.axvline(best, color="C3", linestyle=":", linewidth=1.5)
            axes.annotate(
                f"best epoch: {best}",
                (best, 1.02),
                xycoords=("data", "axes fraction"),
                ha="center",
                color="C3",
            )
            if patience is not None:
                axes.axvspan(best, best + patience, color="C3", alpha=0.15, linewidth=0)
                axes.annotate(
                    f"{patience} epochs\nof patience \N{RIGHTWARDS ARROW} ",
                    (best, 0.94),
                    xycoords=("data", "axes fraction"),
                    ha="right",
                    va="top",
                )
    label_ends(axes, ends, len(epochs))
    return figure


def label_ends(axes, ends, x):
    """Write each curve's name at its end.

    ends  list of (value at the end, name, colour); names that would touch are moved apart, and
          thin lines then lead to them
    x     where the curves end
    """
    low, high = axes.get_ylim()
    gap, ends = 0.09 * (high - low), sorted(ends)
    places = spread([value for value, _, _ in ends], gap)
    moved = any(abs(place - end[0]) > gap / 5 for place, end in zip(places, ends))
    for place, (value, name, colour) in zip(places, ends):
        leader = {"arrowstyle": "-", "color": colour, "lw": 0.8, "shrinkA": 0, "shrinkB": 0}
        axes.annotate(
            f" {name}",
            (x, value),
            xytext=(14 if moved else 0, place),
            textcoords=("offset points", "data"),
            arrowprops={**leader, "relpos": (0, 0.5)} if moved else None,
            color=colour,
            va="center",
            annotation_clip=False,
            fontsize=13,
        )


def spread(values, gap):
    """Numbers in ascending order, moved as little as possible so that they are `gap` apart.

    >>> spread([0, 5, 5, 9], 2)
    [0.0, 4.0, 6.0, 9.0]
    """
    groups = []  # of numbers that push each other: their sum, each without its gaps, and how many
    for n, value in enumerate(values):
        groups.append((value - n * gap, 1))
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] >= groups[-1][0] / groups[-1][1]:
            groups[-2:] = [tuple(map(sum, zip(*groups[-2:])))]
    starts = [total / count for total, count in groups for _ in range(count)]
    return [start + n * gap for n, start in enumerate(starts)]


def plot_rate_range(rates, losses, suggestion=None):
    """The loss against the learning rate of a learning-rate range test.

    rates, losses  two lists of floats
    suggestion     a learning rate to mark, or None
    returns        a matplotlib figure
    """
    from tinytorch.support.drawing import panel

    figure, axes = panel(xlabel="learning rate", ylabel="loss", xscale="log")
    axes.plot(rates, losses)
    if suggestion is not None:
        axes.axvline(suggestion, color="C3", linestyle=":", linewidth=1.5)
        axes.annotate(
            f"suggested: {suggestion:.2g}",
            (suggestion, 1.02),
            xycoords=("data", "axes fraction"),
            ha="center",
            color="C3",
        )
    return figure
