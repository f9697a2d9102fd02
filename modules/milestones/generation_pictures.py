"""The figure of milestone 06: the time of a token by its position, and tokens per second."""

from tinytorch.pictures.drawing import label_ends


def draw_speed(times, speeds):
    """A figure.

    times    (positions, milliseconds without a cache, milliseconds with one), three lists
    speeds   {way: (tokens per second, low end, high end of its interval)}
    """
    import matplotlib.pyplot as plt

    with plt.rc_context({"font.size": 13}):
        figure, (top, bottom) = plt.subplots(
            2, 1, figsize=(5, 6), height_ratios=(3.4, 2.6), layout="constrained"
        )
        lengths, *curves = times
        ends = []
        for name, curve, colour in zip(("naive", "cached"), curves, ("C1", "C0")):
            top.plot(lengths, curve, ".-", color=colour)
            ends.append((lengths[-1], curve[-1], name, colour))
        top.set(xlabel="tokens before", ylabel="ms per token", ylim=(0, None))
        label_ends(top, ends)
        colours = {"naive": "C1", "cached": "C0", "speculative": "C2"}
        for row, (name, (middle, low, high)) in enumerate(speeds.items()):
            bottom.barh(row, middle, color=colours[name], height=0.6)
            bottom.errorbar(
                middle, row, xerr=[[middle - low], [high - middle]], color="black", capsize=4
            )
            bottom.annotate(f"  {middle:.0f}", (high, row), va="center")
        bottom.set_yticks(range(len(speeds)), speeds)
        bottom.invert_yaxis()
        bottom.set_xlim(0, 1.2 * max(high for _, _, high in speeds.values()))
        bottom.set_xlabel("tokens per CPU second")
        bottom.locator_params(axis="x", nbins=5)
        for axes in (top, bottom):
            axes.spines[["top", "right"]].set_visible(False)
    return figure
