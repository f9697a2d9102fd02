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

# GPT(1024, context=64, embed_dim=128, layers=3, num_heads=4) on `load_text("train")`, with 1,024
# tokens of lesson 12: 2,600 steps of 8 windows, AdamW with learning rate 1.5e-3, betas (0.9, 0.99)
# and decay_groups(model, 0.1), clipped to norm 1, warm-up of 130 steps, cosine to 2 %; seed 0, one
# thread. (seconds of processor time, `held_out_bits` of `load_text("test")`):
RUN = [
    (0, 3.4),
    (3, 2.94),
    (6, 2.66),
    (12, 2.3),
    (18, 2.16),
    (24, 2.1),
    (35, 2.03),
    (47, 1.98),
    (60, 1.93),
    (74, 1.86),
    (89, 1.8),
    (103, 1.77),
    (117, 1.73),
    (132, 1.72),
    (147, 1.71),
    (153, 1.71),
]

# What the model wrote after so many seconds, continuing "Emma was ", at temperature 0.8, unedited.
SAMPLES = {
    6: "Emma was ast;,, which shall would must soined with\n"
    " S. Sheer other of to ha, aityarchsunt wishriight Iow; had atoned "
    "theyineds",
    24: 'Emma was illibactly Jane to acadies on, there, "I soon fortle, and '
    '"tation;ished opinently pyryed; and pointed',
    60: "Emma was Your'Harriet has been perfect for.\"\n"
    "Ificiately geting, heal promis morning!--The extres good deal of too "
    "longer",
    153: "Emma was ill.\n"
    '"You seems much in love with, how a great marriage; and I sitze to you'
    " ask indeed. Donw none of her with _me_",
}

# Its bits per token at each position, a mean over 3,200 windows of `load_text("test")`.
BY_POSITION = [
    float(bits)
    for bits in """
    5.95 5.35 5.15 5.13 5.08 5.06 5.07 5.11 5.21 5.10 5.10 5.09 5.03 5.09 5.05 4.97 5.02 5.02
    5.03 5.02 5.05 5.05 5.13 5.02 5.00 5.06 4.95 5.05 4.96 5.04 4.99 5.07 5.07 5.09 5.07 4.93
    5.00 5.07 5.04 4.99 4.98 4.98 4.90 5.00 4.99 4.99 5.05 5.09 5.03 5.08 5.08 4.97 5.10 5.06
    5.02 4.99 5.02 5.01 5.01 5.03 5.06 5.06 5.05 5.12
""".split()
]


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
    for level in levels.values():
        axes.axhline(level, color="C3", linewidth=1, linestyle="--")
    axes.plot(seconds, bits, "C0")
    axes.set_ylim(min(bits) - 0.15, max(bits) + 0.05)
    axes.set_xlim(0, seconds[-1])
    ends = [(level, f"{name} {level:.2f}", "C3") for name, level in levels.items()]
    label_ends(axes, [*ends, (bits[-1], f"GPT {bits[-1]:.2f}", "C0")], seconds[-1])
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


def plot_losses(curves, smooth=1, top=None, levels=None):
    """Losses over steps, each a mean of several steps.

    curves   {name: list of losses}
    smooth   int: steps in each mean
    top      the highest loss that is shown; None for all
    levels   {name: loss}, dashed lines; or None
    returns  a matplotlib figure
    """
    figure, axes = panel(xlabel="step", ylabel="bits per character")
    ends = []
    for n, (name, losses) in enumerate(curves.items()):
        means = np.convolve(losses, np.ones(smooth) / smooth, "valid")
        axes.plot(np.arange(len(means)) + smooth, means, f"C{n}")
        ends.append((means[-1], name, f"C{n}"))
    for name, loss in (levels or {}).items():
        axes.axhline(loss, color="black", linewidth=1, linestyle="--")
        ends.append((loss, f"{name} {loss:.2f}", "black"))
    if top is not None:
        lowest = min(loss for loss, _, _ in ends)
        axes.set_ylim(lowest - 0.1 * (top - lowest), top)
    axes.set_xlim(right=len(losses))
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
