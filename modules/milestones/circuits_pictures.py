"""The figure of milestone 09: the losses, and two patch maps."""

import numpy as np


def draw_circuits(curves, maps):
    """A figure.

    curves   {name: losses}; one whose name begins with "one" is red
    maps     {title: patch map, an array of shape (3, T)}
    """
    import matplotlib.pyplot as plt

    with plt.rc_context({"font.size": 11}):
        figure, axes = plt.subplots(
            1 + len(maps), 1, figsize=(5, 6), height_ratios=(3, *[1] * len(maps)),
            layout="constrained",
        )  # fmt: skip
        for name, losses in curves.items():
            one = name.startswith("one")
            axes[0].plot(losses, color="C3" if one else "C0", alpha=1 if one else 0.6)
            if one or name.endswith("seed 0"):
                axes[0].annotate(
                    name.split(",")[0],
                    (len(losses) - 1, losses[-1]),
                    (0, 6) if one else (6, 14),
                    textcoords="offset points",
                    ha="right" if one else "left",
                    color="C3" if one else "C0",
                )
        axes[0].set(xlabel="step", ylabel="loss in nats per token", ylim=(0, None))
        axes[0].spines[["top", "right"]].set_visible(False)
        for below, (title, map) in zip(axes[1:], maps.items()):
            below.imshow(np.asarray(map), cmap="Blues", vmin=0, vmax=1.2, aspect="auto")
            below.set_title(title, fontsize=11)
            below.set_yticks(range(3), ["before layer 0", "after layer 0", "after layer 1"])
            below.tick_params(length=0)
        axes[-1].set_xlabel("position")
    return figure
