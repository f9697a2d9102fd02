"""The figure of milestone 09: the losses, and a patch map."""

import numpy as np


def draw_circuits(curves, patched):
    """A figure.

    curves   {name: losses}; one whose name begins with "one" is red
    patched  patch map, an array of shape (3, T)
    """
    import matplotlib.pyplot as plt

    with plt.rc_context({"font.size": 11}):
        figure, (above, below) = plt.subplots(
            2, 1, figsize=(5, 5), height_ratios=(3, 1), layout="constrained"
        )
        for name, losses in curves.items():
            one = name.startswith("one")
            above.plot(losses, color="C3" if one else "C0", alpha=1 if one else 0.6)
            if one or name.endswith("seed 0"):
                above.annotate(
                    name.split(",")[0],
                    (len(losses) - 1, losses[-1]),
                    (0, 6) if one else (6, 14),
                    textcoords="offset points",
                    ha="right" if one else "left",
                    color="C3" if one else "C0",
                )
        above.set(xlabel="step", ylabel="loss in nats per token", ylim=(0, None))
        above.spines[["top", "right"]].set_visible(False)
        below.imshow(np.asarray(patched), cmap="Blues", vmin=0, vmax=1.2, aspect="auto")
        below.set_yticks(range(3), ["before layer 0", "after layer 0", "after layer 1"])
        below.tick_params(length=0)
        below.set_xlabel("position")
    return figure
