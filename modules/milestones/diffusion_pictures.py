"""What the milestone `diffusion` shows: digits as text, and its figure."""

import numpy as np

SHADES = " ░▒▓█"
COLUMNS = (0, 30, 50, 60, 70, 80, 90, 95, 100)  # steps after which digits are shown


def as_text(images):
    """Digits side by side, with two characters for each pixel from -1 to 1, five to a line.

    >>> print(as_text(np.array([np.linspace(-1, 1, 64)]))[-16:])
    ████████████████
    """
    levels = np.clip((images + 1) / 2 * len(SHADES), 0, len(SHADES) - 1).astype(int)
    rows = []
    for start in range(0, len(images), 5):
        rows += [""] if start else []
        for row in levels[start : start + 5].reshape(-1, 8, 8).transpose(1, 0, 2):
            rows.append("  ".join("".join(2 * SHADES[n] for n in digit) for digit in row))
    return "\n".join(rows)


def draw_diffusion(states, near):
    """A figure.

    states  list of arrays (10, 64): the digits 0 to 9 on their way from noise
    near    {name: array of the distances to the nearest training digit}
    """
    import matplotlib.pyplot as plt

    with plt.rc_context({"font.size": 12}):
        figure, (top, bottom) = plt.subplots(
            2, 1, figsize=(5, 8), height_ratios=(5.6, 2.4), layout="constrained"
        )
        tiles = np.full((10, 10, len(COLUMNS), 10), -1.0)  # digit, row, step, column
        for column, step in enumerate(COLUMNS):
            tiles[:, 1:9, column, 1:9] = np.clip(states[step], -1, 1).reshape(10, 8, 8)
        top.imshow(tiles.reshape(100, -1), cmap="gray_r", vmin=-1, vmax=1)
        top.set_xticks(10 * np.arange(len(COLUMNS)) + 4.5, COLUMNS)
        top.set_yticks(10 * np.arange(10) + 4.5, range(10))
        top.set(xlabel="steps of denoising", ylabel="requested class")
        top.tick_params(length=0)
        top.spines[:].set_visible(False)
        edges = np.linspace(0, max(map(np.max, near.values())), 40)
        for name, values in near.items():
            counts, _ = np.histogram(values, edges)
            smooth = np.convolve(counts / counts.sum(), [0.25, 0.5, 0.25], mode="same")
            bottom.plot((edges[1:] + edges[:-1]) / 2, smooth, label=name)
        bottom.set(xlabel="distance to the nearest training digit", ylabel="share of digits")
        bottom.set(xlim=(0, None), ylim=(0, None), yticks=[])
        bottom.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3,
                      fontsize=10, columnspacing=1)  # fmt: skip
        bottom.spines[["top", "right"]].set_visible(False)
    return figure
