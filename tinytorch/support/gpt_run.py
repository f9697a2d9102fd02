"""A run of the GPT of lesson 15 on the novels, as it was recorded; plots of it, of losses, and of
where the weights and the work of a model are.
"""

import numpy as np

from tinytorch.support.curves import label_ends
from tinytorch.support.drawing import panel

__all__ = [
    "BY_POSITION",
    "LEVELS",
    "RUN",
    "SAMPLES",
    "compressed_bits",
    "plot_losses",
    "plot_positions",
    "plot_run",
    "plot_shares",
]

# Bits per character of `load_text("test")`, by programs that know `load_text("train")`.
# A test computes zlib's and bz2's again; xz is lzma.compress(text, preset=9 | PRESET_EXTREME), and
# the 6-gram is NGram(6) of lesson 13 on characters.
LEVELS = {"zlib": 2.84, "xz": 2.10, "bz2": 1.85, "6-gram": 1.73}

RUN = [
    (0, 3.405),
    (3, 2.872),
    (6, 2.538),
    (11, 2.258),
    (17, 2.138),
    (23, 2.088),
    (35, 2.033),
    (46, 1.998),
    (57, 1.96),
    (71, 1.895),
    (85, 1.828),
    (98, 1.78),
    (112, 1.736),
    (125, 1.714),
    (138, 1.701),
    (144, 1.7),
]
SAMPLES = {6: "x", 57: "y"}
BY_POSITION = [8.0, 7.0, 6.5]


def compressed_bits(module, train, test):
    """The bits per character that a compressor needs for `test`, given `train`.

    module   bz2, zlib or lzma

    >>> import zlib
    >>> compressed_bits(zlib, "ab" * 500, "ab" * 500) < 0.1
    True
    """
    sizes = [len(module.compress(text.encode(), 9)) for text in (train, train + test)]
    return 8 * (sizes[1] - sizes[0]) / len(test)


def plot_run(run, levels):
    """Held-out bits per character over seconds, with level lines.

    run      list of (seconds, bits per character)
    levels   {name: bits per character}
    returns  a matplotlib figure
    """
    figure, axes = panel(xlabel="seconds of processor time", ylabel="bits per character, held out")
    seconds, bits = zip(*run)
    for name, level in levels.items():
        axes.axhline(level, color="C3", linewidth=1, linestyle="--")
        axes.annotate(name, (seconds[-1], level), color="C3", ha="right", va="bottom")
    axes.plot(seconds, bits, "C0")
    axes.annotate(f"GPT: {bits[-1]:.2f}", (seconds[-1], bits[-1]), color="C0", ha="right", va="top")
    axes.set_ylim(min(bits) - 0.25, max(bits) + 0.05)
    return figure


def plot_positions(bits):
    """The mean loss at each position of a window.

    bits     list of bits per token, for positions 0, 1, 2, ...
    returns  a matplotlib figure; the second half of the window, which `held_out_bits` scores, is
             shaded
    """
    figure, axes = panel(xlabel="position in the window", ylabel="bits per token")
    axes.plot(range(len(bits)), bits)
    axes.axvspan(len(bits) / 2, len(bits) - 1, color="C3", alpha=0.15, linewidth=0)
    axes.annotate("scored", (0.75, 0.92), xycoords="axes fraction", color="C3", ha="center")
    return figure


def plot_losses(curves, smooth=1, top=None):
    """Losses over steps, each a mean of several steps.

    curves   {name: list of losses}
    smooth   int: steps in each mean
    top      the highest loss that is shown; None for all
    returns  a matplotlib figure
    """
    figure, axes = panel(xlabel="step", ylabel="bits per character")
    ends = []
    for n, (name, losses) in enumerate(curves.items()):
        means = np.convolve(losses, np.ones(smooth) / smooth, "valid")
        axes.plot(np.arange(len(means)) + smooth, means, f"C{n}")
        ends.append((means[-1], name, f"C{n}"))
    if top is not None:
        axes.set_ylim(top=top)
    label_ends(axes, ends, len(losses))
    return figure


def plot_shares(rows, parts):
    """Bars of equal length, each cut into the shares of its parts.

    rows     {name: list of one number per part}
    parts    names of the parts
    returns  a matplotlib figure; the names stand above the bars, the parts below the first bar

    >>> figure = plot_shares({"all": [1, 3]}, ["a", "b"])
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['all', '25 %', '75 %', 'a', 'b']
    """
    figure, axes = panel(height=0.4 + 0.62 * len(rows))
    colours = ["C0", "C1", "C3"]
    for n, (name, numbers) in enumerate(rows.items()):
        axes.annotate(name, (0, n - 0.42), va="center")
        left = 0.0
        for number, colour in zip(numbers, colours):
            share = number / sum(numbers)
            axes.barh(n, share, left=left, color=colour, height=0.42)
            if share > 0.09:
                axes.annotate(
                    f"{share:.0%}".replace("%", " %"),
                    (left + share / 2, n),
                    color="white",
                    ha="center",
                    va="center",
                )
            left += share
    for place, part, colour in zip((0.0, 0.5, 1.0), parts, colours):
        ha = {0.0: "left", 0.5: "center", 1.0: "right"}[place]
        axes.annotate(part, (place, len(rows) - 0.5), color=colour, ha=ha, va="center")
    axes.set(xlim=(0, 1), ylim=(len(rows) - 0.3, -0.65))
    axes.axis("off")
    return figure
