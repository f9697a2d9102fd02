"""What lesson 21 draws and measures: a training step in the library, in NumPy and in C; programs
with their groups, the bytes that they move and the lifetimes of arrays, and a GPT of simple
operations.
"""

import ctypes
import time

import numpy as np

from tinytorch.compiler.machine_code import compile_source
from tinytorch.core.activations import ReLU
from tinytorch.core.autograd import topological_order
from tinytorch.core.layers import Dense, Sequential
from tinytorch.core.losses import mse_loss
from tinytorch.core.tensor import Tensor
from tinytorch.core.transformers import lm_loss
from tinytorch.pictures.acceleration import LEVELS, compose, large_gpt, token_batch
from tinytorch.pictures.drawing import panel
from tinytorch.support.svg import TEXT, Drawing

# {name: (inputs, hidden units, outputs, rows of a batch)}
NETWORKS = {"XOR": (2, 8, 1, 4), "two moons": (2, 16, 1, 100), "digits": (64, 128, 10, 32)}

# Three versions of a training step, two of them written by hand


def network(name):
    """A model with one hidden layer, and a batch of random numbers for it: (model, x, y)."""
    inputs, hidden, outputs, rows = NETWORKS[name]
    model = Sequential(Dense(inputs, hidden, rng=0), ReLU(), Dense(hidden, outputs, rng=1))
    rng = np.random.default_rng(2)
    x, y = (rng.normal(size=(rows, n)).astype("float32") for n in (inputs, outputs))
    return model, x, y


def library_step(model, x, y, lr=0.1):
    """A training step of the library: a function that returns the loss."""
    weights, x, y = model.parameters(), Tensor(x), Tensor(y)

    def step():
        loss = mse_loss(model(x), y)
        model.zero_grad()
        loss.backward()
        for w in weights:
            w.data -= lr * w.grad
        return float(loss)

    return step


def numpy_step(model, x, y, lr=0.1):
    """The same step, from NumPy operations only."""
    w1, b1, w2, b2 = (w.data for w in model.parameters())

    def step():
        h = np.maximum(x @ w1 + b1, 0)
        error = h @ w2 + b2 - y
        g = error * np.float32(2 / error.size)
        gh = (g @ w2.T) * (h > 0)
        w2[...] -= lr * (h.T @ g)
        b2[...] -= lr * g.sum(0)
        w1[...] -= lr * (x.T @ gh)
        b1[...] -= lr * gh.sum(0)
        return float((error * error).mean())

    return step


STEP_IN_C = """
static float h[R][H], g[R][O], gh[R][H];
static float step(float (*x)[I], float (*y)[O],
                  float (*w1)[H], float *b1, float (*w2)[O], float *b2, float lr) {
    float loss = 0.0f;
    for (int r = 0; r < R; r++) {
        for (int j = 0; j < H; j++) h[r][j] = b1[j];
        for (int i = 0; i < I; i++)
            for (int j = 0; j < H; j++) h[r][j] += x[r][i] * w1[i][j];
        for (int j = 0; j < H; j++) h[r][j] = h[r][j] > 0.0f ? h[r][j] : 0.0f;
        for (int k = 0; k < O; k++) g[r][k] = b2[k] - y[r][k];
        for (int j = 0; j < H; j++)
            for (int k = 0; k < O; k++) g[r][k] += h[r][j] * w2[j][k];
        for (int k = 0; k < O; k++) {
            loss += g[r][k] * g[r][k] / (R * O);
            g[r][k] *= 2.0f / (R * O);
        }
        for (int j = 0; j < H; j++) {
            float total = 0.0f;
            for (int k = 0; k < O; k++) total += g[r][k] * w2[j][k];
            gh[r][j] = h[r][j] > 0.0f ? total : 0.0f;
        }
    }
    for (int r = 0; r < R; r++) {
        for (int j = 0; j < H; j++)
            for (int k = 0; k < O; k++) w2[j][k] -= lr * h[r][j] * g[r][k];
        for (int k = 0; k < O; k++) b2[k] -= lr * g[r][k];
        for (int i = 0; i < I; i++)
            for (int j = 0; j < H; j++) w1[i][j] -= lr * x[r][i] * gh[r][j];
        for (int j = 0; j < H; j++) b1[j] -= lr * gh[r][j];
    }
    return loss;
}
void program(float *x, float *y, float *w1, float *b1, float *w2, float *b2, float *loss, int n) {
    for (; n > 0; n--)
        *loss = step((float (*)[I])x, (float (*)[O])y, (float (*)[H])w1, b1, (float (*)[O])w2, b2,
                     0.1f);
}
"""


def c_steps(model, x, y):
    """The same step in C: a function of a number of steps, which returns the loss of the last.
    OSError without a C compiler."""
    (inputs, hidden), outputs = model[0].weights.shape, model[2].bias.size
    sizes = {"I": inputs, "H": hidden, "O": outputs, "R": len(x)}
    head = "".join(f"#define {name} {n}\n" for name, n in sizes.items())
    function = compile_source(head + STEP_IN_C)
    arrays = [x, y, *(w.data for w in model.parameters()), np.zeros(1, "float32")]
    addresses = [ctypes.c_void_p(a.__array_interface__["data"][0]) for a in arrays]

    def steps(n=1):
        function(*addresses, n)
        return float(arrays[-1][0])

    return steps


def quick_ladder(rounds=100):
    """The microseconds of a training step in three versions, {network: {version: number}}."""
    times = {}
    for name in NETWORKS:
        steps = {
            "library": library_step(*network(name)),
            "NumPy": numpy_step(*network(name)),
        }
        times[name] = step_times(steps, rounds)
        try:
            in_c = c_steps(*network(name))
        except OSError:
            continue  # no C compiler: no third bar
        times[name]["C"] = step_times({"C": lambda: in_c(100)}, rounds // 10)["C"] / 100
    return times


def step_times(steps, rounds=200):
    """The median microseconds of processor time of some functions, which take turns.

    steps    {name: function without arguments}
    returns  {name: microseconds}
    """
    seconds = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            start = time.process_time()
            step()
            seconds[name].append(time.process_time() - start)
    return {name: 1e6 * float(np.median(numbers)) for name, numbers in seconds.items()}


def plot_ladder(times):
    """Microseconds as bars on a logarithmic axis.

    times  {network: {version: microseconds}}
    """
    rows = [(name, version, t) for name, group in times.items() for version, t in group.items()]
    figure, axes = panel(
        "", "microseconds per step", "", height=0.9 + 0.4 * len(rows), xscale="log"
    )
    versions = list(dict.fromkeys(version for _, version, _ in rows))
    for place, (_, version, t) in enumerate(rows):
        axes.barh(place, t, color="C3" if version == versions[0] else "C0")
        axes.text(t, place, f" {t:,.1f}" if t < 10 else f" {t:,.0f}", va="center", fontsize=TEXT)
    axes.set_yticks(range(len(rows)), [f"{name}, {version}" for name, version, _ in rows])
    axes.invert_yaxis()
    axes.set_xlim(0.5 * min(t for *_, t in rows), 5 * max(t for *_, t in rows))
    return figure


# Programs


def draw_groups(program, groups):
    """The steps of a program from top to bottom, those of a group in one box, and beside it what
    the group reads and writes.

    groups  {Node: list of the Nodes that share its loops}
    """
    lines = str(program).split("\n")[1:-1]
    texts = dict(zip(program.nodes, (line.split("  float")[0].strip() for line in lines)))
    lists = sorted({id(g): g for g in groups.values()}.values(), key=lambda g: g[0].created)
    height = 20 + sum(26 * len(g) + 24 for g in lists)
    drawing = Drawing(
        "the groups of a program",
        f"{len(program.nodes)} steps in {len(lists)} groups, which share their loops",
        height=height,
    )
    y = 14
    for number, group in enumerate(lists, 1):
        drawing.cell(12, y, "", "muted", 334, 26 * len(group) + 12, dashed=True)
        drawing.text(338, y + 20, f"loops {number}", "muted", "end")
        for node in sorted(group, key=lambda node: node.created):
            drawing.text(22, y + 22, texts[node], "value", "start")
            y += 26
        y += 24
    return drawing


def draw_strides():
    """How one row of memory is read as a grid, as its transpose, and as copies of a row."""
    drawing = Drawing(
        "views by strides",
        "the same six numbers in memory, read with strides (3, 1), (1, 3) and (0, 1)",
        height=330,
    )
    drawing.text(12, 22, "memory", anchor="start", bold=True)
    drawing.cells(12, 32, [range(6)])
    ways = [("(2, 3), strides (3, 1)", (2, 3), (3, 1)), ("swapped, strides (1, 3)", (3, 2), (1, 3))]
    for n, (title, shape, strides) in enumerate(ways):
        left = 12 + 180 * n
        drawing.text(left, 98, title, anchor="start")
        rows = [[i * strides[0] + j * strides[1] for j in range(shape[1])] for i in range(shape[0])]
        drawing.cells(left, 108, rows)
    drawing.text(12, 244, "the first row, broadcast to (2, 3): strides (0, 1)", anchor="start")
    drawing.cells(12, 254, [range(3)] * 2, dashed=lambda i, j: i > 0)
    return drawing


def plot_bytes(bytes_of):
    """The bytes that programs read and write, as bars.

    bytes_of  {name: (each step in its own loops, groups)}
    """
    figure, axes = panel("", "bytes", "", height=0.9 + 0.7 * len(bytes_of), xscale="log")
    for place, (name, (before, after)) in enumerate(bytes_of.items()):
        for offset, number, colour in ((-0.2, before, "C3"), (0.2, after, "C0")):
            axes.barh(place + offset, number, 0.4, color=colour)
            axes.text(number, place + offset, f" {number:,}", va="center", fontsize=TEXT)
    axes.set_yticks(range(len(bytes_of)), list(bytes_of))
    axes.invert_yaxis()
    numbers = [n for pair in bytes_of.values() for n in pair]
    axes.set_xlim(0.3 * min(numbers), 30 * max(numbers))
    return figure


# Lifetimes of arrays


def lifetimes(training):
    """The arrays that a forward pass of lesson 20's GPT creates, and in training also the
    gradients.

    returns  list of (bytes, first, last): the numbers of the operations that create and last read
             the array. In training, operation i of n is followed by n - 1 backward steps
    """
    loss = lm_loss(large_gpt(), *token_batch(8, 0))
    nodes = topological_order(loss)[::-1]
    number = {node: i for i, node in enumerate(nodes)}
    last_step = 2 * len(nodes) - 1
    spans, gradients = {}, {}

    def extend(array, first, last):
        """The array, or the one whose memory it uses, is alive from `first` to `last`."""
        while isinstance(array.base, np.ndarray):
            array = array.base
        if id(array) in spans or first is not None:
            size, start, end = spans.get(id(array), (array.nbytes, first, first))
            spans[id(array)] = size, start, max(end, last)

    for node, i in number.items():
        weights = [x for x in node.creator.inputs if getattr(x, "creator", 0) is None]
        if not any(np.shares_memory(node.data, x.data) for x in weights):
            extend(node.data, i, last_step - i if training else i)
        for x in node.creator.inputs:
            if x in number:
                extend(x.data, None, last_step - i if training else i)
                if training:  # the gradient of x: from its last reader's backward step to its own
                    born = last_step - max(i, gradients.get(x, (0, i))[1])
                    gradients[x] = (x.data.nbytes, last_step - born)
        for saved in node.creator.options.get("saved", {}).values():
            if training:
                extend(saved, i, last_step - i)
    later = [(size, last_step - reader, last_step - number[x])
             for x, (size, reader) in gradients.items()]  # fmt: skip
    return list(spans.values()) + later


def plot_memory(arrays, offsets):
    """Arrays as bars, over the operations during which they are alive: without a plan, each at its
    own place, and at the offsets of a plan, on a scale of its own.

    arrays  list of (bytes, first, last)
    """
    import matplotlib.pyplot as plt

    panel()  # sets colours and text sizes
    plt.close()
    figure, both = plt.subplots(1, 2, figsize=(6.2, 3.4), layout="constrained")
    order = sorted(range(len(arrays)), key=lambda i: arrays[i][1])
    stairs, top = [0] * len(arrays), 0
    for i in order:
        stairs[i], top = top, top + arrays[i][0]
    for axes, places, title in zip(both, (stairs, offsets), ("without a plan", "planned")):
        for (size, first, last), place in zip(arrays, places):
            axes.bar((first + last + 1) / 2, size / 1e6, last + 1 - first, place / 1e6,
                     color="C0", edgecolor="white", linewidth=0.5)  # fmt: skip
        total = max(place + size for (size, *_), place in zip(arrays, places)) / 1e6
        axes.set(title=f"{title}: {total:.1f} MB", xlabel="operation", ylim=(0, total))
    both[0].set_ylabel("MB")
    return figure


# The GPT


def composed_gpt():
    """The GPT of lesson 20's pictures from simple operations, and the loss of a batch of 8 rows:
    (model, function of x and y, x, y)."""
    kinds, loss = LEVELS["composed"]
    model = large_gpt()
    compose(model, kinds)
    return model, lambda x, y: loss(model, x, y), *token_batch(8, 0)
