"""The figure of milestone 05: learning curves, level lines, and lines by the models."""

import re
import textwrap

from tinytorch.pictures.drawing import label_ends

COLUMN = 24  # characters
MISSING = "\N{WHITE SQUARE}"


def visible(text):
    """`text` with a square for each character that the picture's font cannot draw."""
    from matplotlib.font_manager import findfont, get_font

    glyphs = get_font(findfont("DejaVu Sans")).get_charmap()
    return re.sub("[^ ]", lambda match: match[0] if ord(match[0]) in glyphs else MISSING, text)


def draw_gpts(curves, levels, samples):
    """A figure: bits per character against the steps, and below it text by each model.

    curves   {name of a model: (steps, bits per character)}
    levels   {name: bits per character}, horizontal lines
    samples  {name of a model: list of lines}
    """
    import matplotlib.pyplot as plt

    with plt.rc_context({"font.size": 13}):
        figure = plt.figure(figsize=(5, 8.2), layout="constrained")
        top, bottom = figure.subfigures(2, 1, height_ratios=(3.6, 4.6))
        axes, ends = top.subplots(), []
        last = max(steps[-1] for steps, _ in curves.values())
        for number, (name, (steps, bits)) in enumerate(curves.items()):
            axes.plot(steps, bits, color=f"C{number}")
            ends.append((steps[-1], bits[-1], name, f"C{number}"))
        for name, bits in levels.items():
            axes.axhline(bits, color="0.5", lw=1, ls="--", zorder=0)
            ends.append((last, bits, f"{name} {bits:.2f}", "0.35"))
        lowest = min([*levels.values(), *(min(bits) for _, bits in curves.values())])
        highest = max([*levels.values(), *(bits[-1] for _, bits in curves.values())])
        axes.set_ylim(max(0, lowest - 0.15), highest + 0.2)
        axes.set_xlim(0, last)
        axes.set(xlabel="training steps", ylabel="bits per character")
        axes.spines[["top", "right"]].set_visible(False)
        label_ends(axes, ends)
        for number, (name, column) in enumerate(zip(samples, bottom.subplots(1, 2))):
            column.axis("off")
            text = [
                line
                for sample in samples[name]
                for line in textwrap.wrap(
                    visible(sample.strip()), COLUMN, subsequent_indent="  "
                )
            ]
            column.set_title(name, color=f"C{number}", loc="left", fontsize=13)
            column.text(0, 1, "\n".join(text[:18]), va="top", fontsize=13, parse_math=False)
    return figure
