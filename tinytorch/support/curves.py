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

    ends  list of (value at the end, name, colour); names that would touch are moved apart
    x     where the curves end
    """
    low, high = axes.get_ylim()
    gap, last = 0.09 * (high - low), -math.inf
    for value, name, colour in sorted(ends):
        last = max(value, last + gap)
        axes.annotate(
            f" {name}", (x, last), color=colour, va="center", annotation_clip=False, fontsize=13
        )


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
