"""The figure of milestone 08: measured bits, a fitted law, its prediction, and the truth."""

import numpy as np


def two_panels():
    """A figure, and its upper and lower axes."""
    import matplotlib.pyplot as plt

    with plt.rc_context({"font.size": 12}):
        return plt.subplots(2, 1, figsize=(5, 7.4), layout="constrained")


def draw_forecast(axes, forecast, xlabel, name):
    """Draw a Forecast before the truth is known: points, the law, an open ring, an interval.

    name  a function that returns the label of a size

    The axes are logarithmic, so that a power law without a constant would be a straight line.
    """
    from matplotlib.ticker import NullLocator

    sizes, bits, size = forecast.sizes, forecast.bits, forecast.size
    along = np.geomspace(min(sizes), size, 100)
    axes.set(xscale="log", yscale="log", xlabel=xlabel, ylabel="bits per character")
    slope, height = np.polyfit(np.log(sizes), np.log(bits), 1)
    axes.plot(
        along, np.exp(height + slope * np.log(along)), "--", color="0.6", label="straight line"
    )
    axes.plot(along, forecast.law(along), color="C0", label="law, fitted to the small ones")
    axes.plot(sizes, bits, ".", color="C0", ms=7, label="small ones, measured")
    axes.errorbar(
        size, forecast.predicted, forecast.margin, fmt="o", color="C1", mfc="none", ms=11,
        mew=2, capsize=5, zorder=3, label="predicted, with 95 %",
    )  # fmt: skip
    ticks = np.unique([*sizes, size])
    axes.set_xticks(ticks, map(name, ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.spines[["top", "right"]].set_visible(False)


def draw_measured(axes, size, bits):
    """Add the truth, and label the axes with plain numbers."""
    from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

    axes.plot(size, bits, "o", color="C3", ms=6, zorder=4, label="measured afterwards")
    low, high = axes.get_ylim()
    ticks = np.arange(np.ceil(10 * low), 10 * high) / 10
    axes.yaxis.set_major_locator(FixedLocator(ticks[:: 1 + len(ticks) // 8]))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:.1f}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.legend(frameon=False, fontsize=10)
