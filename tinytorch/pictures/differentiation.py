"""What lesson 17 draws: forward mode, the cost of Jacobians, and the uses of second derivatives."""

from time import process_time

import numpy as np

from tinytorch.core.tensor import Tensor
from tinytorch.pictures.autograd import SIZES
from tinytorch.pictures.drawing import panel
from tinytorch.support.svg import Drawing, short

# Forward mode


def draw_product(a, da, b, db):
    """The product of two dual numbers, as the area of a rectangle with sides a + da and b + db.

    The strips are the tangent; the corner, da * db, is what ε * ε = 0 drops. Lengths are drawn to
    scale, so all four numbers must be positive.
    """
    scale = min(220 / (a + da), 190 / (b + db))
    width, height, dw, dh = a * scale, b * scale, da * scale, db * scale
    left, top = 70, 34
    drawing = Drawing(
        "the product of two dual numbers",
        f"a rectangle of {a} by {b}; its strips have the areas {da * b} and {a * db}",
        height=top + height + dh + 56,
    )
    drawing.cell(left, top, f"a b = {short(a * b)}", "value", width, height)
    drawing.cell(left + width, top, "", "gradient", dw, height)
    drawing.cell(left, top + height, f"a db = {short(a * db)}", "gradient", width, dh)
    drawing.cell(left + width, top + height, "", "muted", dw, dh, dashed=True)
    drawing.text(left + width + dw + 6, top + height / 2 - 4, "da b", anchor="start")
    drawing.text(left + width + dw + 6, top + height / 2 + 14, f"= {short(da * b)}", anchor="start")
    drawing.text(left + width / 2, top - 10, f"a = {short(a)}", "value")
    drawing.text(left + width + dw / 2, top - 10, f"da = {short(da)}", "gradient")
    drawing.text(left - 8, top + height / 2 + 5, f"b = {short(b)}", "value", "end")
    drawing.text(left - 8, top + height + dh / 2 + 5, f"db = {short(db)}", "gradient", "end")
    drawing.text(
        left,
        top + height + dh + 30,
        f"primal {short(a * b)}, tangent {short(da * b)} + {short(a * db)} = "
        f"{short(da * b + a * db)}",
        anchor="start",
    )
    return drawing


def draw_tangents(rows):
    """A computation line by line: each result with its primal (blue) and its tangent (orange).

    rows  list of (name, how it was computed, primal, tangent), in the order of computation
    """
    step, top = 40, 34
    drawing = Drawing(
        "primals and tangents",
        "; ".join(f"{name} = {how}: {p:g}, tangent {t:g}" for name, how, p, t in rows),
        height=top + step * len(rows) + 6,
    )
    drawing.text(16, 22, "result", "muted", "start")
    drawing.text(204, 22, "primal", "value")
    drawing.text(300, 22, "tangent", "gradient")
    for i, (name, how, primal, tangent) in enumerate(rows):
        y = top + i * step
        drawing.text(16, y + 21, f"{name} = {how}" if how else name, anchor="start")
        drawing.cell(164, y, short(primal), "value", 80)
        drawing.cell(260, y, short(tangent), "gradient", 80)
    return drawing


def draw_errors(f, x, exact, dual=None):
    """The relative error of two finite differences of `f` at `x` against the step.

    f      function of a float that returns a float
    exact  the derivative there
    dual   None, or a derivative computed otherwise, whose error is drawn as a line
    """
    steps = 10.0 ** np.arange(-16, -0.9, 0.5)

    def error(estimate):
        return max(abs(float(estimate) - exact) / abs(exact), 1e-17)

    figure, axes = panel("", "step h", "relative error", xscale="log", yscale="log")
    one = [error((f(x + h) - f(x)) / h) for h in steps]
    two = [error((f(x + h) - f(x - h)) / (2 * h)) for h in steps]
    axes.plot(steps, one, "C3")
    axes.plot(steps, two, "C0")
    axes.annotate("forward\ndifference", (steps[-1], one[-1]), (6, -4), color="C3", va="center",
                  textcoords="offset points", annotation_clip=False)  # fmt: skip
    axes.annotate("central\ndifference", (steps[-8], two[-8]), (8, -8), color="C0",
                  textcoords="offset points", va="top", annotation_clip=False)  # fmt: skip
    if dual is not None:
        axes.axhline(error(dual), color="C1")
        axes.annotate("dual number", (1e-9, error(dual)), (0, 5), color="C1",
                      textcoords="offset points")  # fmt: skip
    axes.set_ylim(3e-18, 30)
    return figure


def jacobian_seconds(mode, n, m):
    """How long mode(f)(x) takes on the processor, for a layer with `n` inputs and `m` outputs.

    mode  jacfwd or jacrev
    """
    weights, x = Tensor(np.ones((n, m), "float32") / n), Tensor(np.ones(n, "float32"))
    start = process_time()
    mode(lambda x: (x @ weights).tanh())(x)
    return process_time() - start


def draw_passes(sizes, seconds):
    """The time of a Jacobian in forward and in reverse mode, as bars.

    sizes    list of (n, m): numbers of inputs and outputs
    seconds  {"jacfwd": one float for each, "jacrev": the same}
    """
    figure, axes = panel("", "milliseconds", "", height=0.9 + 0.75 * len(sizes))
    for shift, (name, times) in zip((-0.2, 0.2), seconds.items()):
        colour = "C0" if shift < 0 else "C1"
        places = np.arange(len(sizes)) + shift
        axes.barh(places, [1000 * t for t in times], 0.36, color=colour)
        for place, t in zip(places, times):
            axes.annotate(f" {name} {1000 * t:.1f}", (1000 * t, place), va="center", color=colour)
    axes.set_yticks(range(len(sizes)), [f"n = {n}\nm = {m}" for n, m in sizes])
    axes.set_xlim(0, 1450 * max(max(times) for times in seconds.values()))
    axes.invert_yaxis()
    return figure


# Second derivatives: softmax regression on digits, with its gradient and its Hessian worked out by
# hand. With another model, or another loss, both would have to be worked out again.


def probabilities(w, x):
    """softmax(x @ w), row by row."""
    logits = x @ w
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def hessian_by_hand(w, x, labels, decay=1e-3):
    """The second derivatives of the mean cross-entropy of softmax(x @ w) plus
    decay / 2 * sum(w * w), for weights of shape (inputs, classes).

    returns  ndarray of shape (w.size, w.size)
    """
    p, n, classes = probabilities(w, x), len(x), w.shape[1]
    weighted = (x[:, :, None] * p[:, None, :]).reshape(n, w.size)
    h = -weighted.T @ weighted / n
    for c in range(classes):
        h[c::classes, c::classes] += x.T @ (x * p[:, c, None]) / n
    h[np.diag_indices(w.size)] += decay
    return h


def train_by_hand(x, labels, steps, lr=None, decay=1e-3):
    """The loss before each step of gradient descent, or of Newton's method when `lr` is None.

    returns  list of steps + 1 floats
    """
    w, losses = np.zeros((x.shape[1], int(labels.max()) + 1), np.float32), []
    targets = np.eye(w.shape[1], dtype=np.float32)[labels]
    for _ in range(steps + 1):
        p = probabilities(w, x)
        losses.append(float(-np.log(p[targets > 0]).mean() + decay / 2 * (w * w).sum()))
        gradient = (x.T @ (p - targets) / len(x) + decay * w).ravel()
        if lr is None:
            step = np.linalg.solve(hessian_by_hand(w, x, labels, decay), gradient)
        else:
            step = lr * gradient
        w = w - step.reshape(w.shape)
    return losses


def draw_losses(curves):
    """The losses of several methods against the step, which has a logarithmic axis.

    curves  {name: list of losses, the first before any step}
    """
    figure, axes = panel("", "step", "loss", xscale="log")
    for colour, (name, losses) in zip(("C3", "C0", "C1"), curves.items()):
        steps = np.arange(len(losses)) + 1
        axes.plot(steps, losses, colour, marker="o" if len(losses) < 20 else "", markersize=5)
        few = len(losses) < 20
        at, text = (2, name.replace(" ", "\n")) if few else (len(losses) // 25, name)
        axes.annotate(text, (steps[at], losses[at]), (4, 8), color=colour,
                      textcoords="offset points")  # fmt: skip
    axes.set_ylim(bottom=0)
    return figure


def draw_sharpness(runs):
    """The sharpness during training, with the limit 2 / lr of each learning rate.

    runs  {lr: (steps, sharpnesses)}
    """
    figure, axes = panel("", "step of gradient descent", "sharpness")
    for colour, (lr, (steps, values)) in zip(("C0", "C1"), runs.items()):
        axes.plot(steps, values, colour)
        axes.axhline(2 / lr, color=colour, linestyle=":", linewidth=1.5)
        axes.annotate(f"2 / {lr}", (1, 2 / lr), (4, 0), ("axes fraction", "data"), color=colour,
                      va="center", textcoords="offset points", annotation_clip=False)  # fmt: skip
    axes.set_ylim(0, 1.2 * max(2 / lr for lr in runs))
    return figure


def draw_memory(depths, peaks):
    """The memory at the peak of a training step against the depth of the network.

    peaks  {name: one number for each depth, in arrays of the size of one layer's output}
    """
    figure, axes = panel("", "depth", "arrays at the peak")
    for colour, (name, values) in zip(("C3", "C0", "C1"), peaks.items()):
        axes.plot(depths, values, colour, marker="o", markersize=5)
        axes.annotate(name, (depths[-1], values[-1]), (0, 7), color=colour, ha="right",
                      textcoords="offset points")  # fmt: skip
    axes.set_ylim(bottom=0)
    return figure


def untrained_network(seed=0):
    """The network of `SIZES` with tanh between its layers, and its parameters in one vector.

    returns  (Sequential, Tensor of shape (337,)); the vector is a copy, in the order of
             `parameters()`
    """
    from tinytorch.core.activations import Tanh  # late: lessons of the course
    from tinytorch.core.layers import Dense, Sequential

    rng = np.random.default_rng(seed)
    first, second, third = [Dense(*pair, rng=rng) for pair in zip(SIZES, SIZES[1:])]
    network = Sequential(first, Tanh(), second, Tanh(), third)
    return network, Tensor(np.concatenate([w.data.ravel() for w in network.parameters()]))
