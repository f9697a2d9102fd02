"""Pictures of a training history."""


def plot_history(history, names=("loss", "accuracy")):
    """Draw how training went: for each name a panel with its curve against the epoch, that of the
    validation set beside it.

    history  dict {name: list with one float per epoch}, such as `Trainer.history`; the curve
             "validation NAME" is drawn in the panel of NAME
    names    which panels to draw; those that the history lacks are left out
    returns  a matplotlib figure
    """
    import matplotlib.pyplot as plt  # late: training itself needs no matplotlib

    names = [name for name in names if name in history]
    figure, axes = plt.subplots(
        1, len(names), figsize=(4.5 * len(names), 3.2), squeeze=False, layout="constrained"
    )
    for axis, name in zip(axes[0], names):
        for key, label in [(name, "training"), (f"validation {name}", "validation")]:
            if key in history:
                axis.plot(range(1, len(history[key]) + 1), history[key], label=label)
        axis.set(xlabel="epoch", ylabel=name)
        axis.legend()
    return figure
