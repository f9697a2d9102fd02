"""What happens to a signal on its way through many random layers: histograms and curves."""

import math

import numpy as np

from tinytorch.support.drawing import Drawing, panel, short

__all__ = ["draw_histograms", "layer_outputs", "plot_stds", "relative_distance"]


def layer_outputs(std, layers=20, width=100):
    """The outputs of each of `layers` layers with tanh, whose weights have this standard deviation.

    returns  list of arrays of shape (100, width); the inputs are standard normal

    >>> [array.shape for array in layer_outputs(0.1, layers=2)]
    [(100, 100), (100, 100)]
    """
    rng = np.random.default_rng(0)
    x, outputs = rng.normal(size=(100, width)), []
    for _ in range(layers):
        x = np.tanh(x @ rng.normal(0, std, (width, width)))
        outputs.append(x)
    return outputs


def relative_distance(std, layers=20, width=100):
    """The distance of two signals after `layers` layers with tanh, in standard deviations of the
    signals: at first 0.01.

    std      the standard deviation of the weights

    >>> relative_distance(0.1, layers=0)
    0.01
    """
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, width))
    pair = np.stack([x, x + 0.01 * rng.normal(size=x.shape)])
    for _ in range(layers):
        pair = np.tanh(pair @ rng.normal(0, std, (width, width)))
    return float(round((pair[1] - pair[0]).std() / pair.std(), 3))


def draw_histograms(stds, layers=20, width=100):
    """For each standard deviation of the weights a row of histograms, one for each layer.

    stds     the standard deviations, one row each
    returns  a Drawing; a histogram stands upright, from -1 below to 1 above
    """
    high, gap, left, bins = 84, 52, 30, 21
    drawing = Drawing(
        f"Histograms of the outputs of {layers} layers",
        "The weights have the standard deviations "
        + ", ".join(f"{short(std)} (last layer: {last_std(std, layers, width)})" for std in stds),
        height=len(stds) * (high + gap) + 18,
    )
    step = (drawing.width - left - 6) / layers
    for row, std in enumerate(stds):
        top = row * (high + gap) + 30
        outputs = layer_outputs(std, layers, width)
        drawing.text(left, top - 12, f"weights: std {short(std)}", anchor="start", bold=True)
        last = f"layer {layers}: std {last_std(std, layers, width)}"
        drawing.text(drawing.width - 4, top - 12, last, anchor="end")
        for value in (1, 0, -1):
            y = top + (1 - value) * high / 2
            drawing.text(left - 6, y + 4.5, value, anchor="end", kind="muted")
            drawing.line((left, y), (drawing.width - 4, y), width=0.5)
        for layer, array in enumerate(outputs):
            shares, edges = np.histogram(array, bins, (-1, 1))
            first, last = np.flatnonzero(shares)[[0, -1]]
            half = np.repeat(shares[first : last + 1] / shares.max() * (step / 2 - 1), 2)
            middle = left + (layer + 0.5) * step
            sides = np.repeat(edges[first : last + 2], 2)[1:-1]  # each bin as high as it is
            heights = top + (1 - sides) * high / 2
            outline = [*zip(middle - half, heights), *zip((middle + half)[::-1], heights[::-1])]
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in outline)
            drawing.parts.append(f'<polygon class="cell value" points="{points}"/>')
    drawing.text(left, drawing.height - 8, "layer 1", anchor="start", kind="muted")
    drawing.text(
        drawing.width - 4, drawing.height - 8, f"layer {layers}", anchor="end", kind="muted"
    )
    return drawing


def last_std(std, layers, width):
    return f"{layer_outputs(std, layers, width)[-1].std():.2g}"


def plot_stds(curves, title):
    """The standard deviation of the activations after each layer, on a logarithmic axis.

    curves   dict {label: list with one float for each layer}; the labels stand at the line ends
    title    of the plot

    A line is blue when its last value is between half and twice its first, and red otherwise.
    """
    figure, axes = panel(title, "layer", "standard deviation", yscale="log")
    colours = {
        label: "C0" if 0.5 <= stds[-1] / stds[0] <= 2 else "C2" for label, stds in curves.items()
    }
    for label, stds in curves.items():
        axes.plot(range(1, len(stds) + 1), stds, colours[label])
    axes.set(xticks=(1, 5, 10, 15, 20))
    figure.draw_without_rendering()  # only now is it known where the points of the plot are
    above = math.inf
    for label, stds in sorted(curves.items(), key=lambda item: -item[1][-1]):
        y = axes.transData.transform((len(stds), stds[-1]))[1] * 72 / figure.dpi
        height = min(y, above - 18)  # so that labels do not overlap
        axes.annotate(
            f"{label}: {stds[-1]:.2g}",
            (len(stds), stds[-1]),
            xytext=(6, height - y),
            textcoords="offset points",
            va="center",
            color=colours[label],
        )
        above = height
