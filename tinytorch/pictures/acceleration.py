"""What lesson 20 draws and measures: training steps of a GPT with and without fused operations and
with new or reused memory, matrix products, and the work of several processes.
"""

import platform
from time import process_time

import numpy as np

from tinytorch.core import attention
from tinytorch.core.activations import gelu as composed_gelu
from tinytorch.core.activations import log_softmax
from tinytorch.core.losses import cross_entropy
from tinytorch.core.normalization import LayerNorm, normalized
from tinytorch.core.optimizers import AdamW, clip_grad_norm_
from tinytorch.core.tensor import Variable
from tinytorch.core.transformers import (
    GELU,
    GPT,
    decay_groups,
    init_gpt,
    lm_loss,
    text_batch,
)
from tinytorch.data.gpt_files import load_small_gpt
from tinytorch.data.texts import load_text
from tinytorch.pictures.drawing import panel
from tinytorch.pictures.profiling import page_faults
from tinytorch.support.svg import TEXT, Drawing
from tinytorch.support.worker_processes import Worker

VOCABULARY, CONTEXT = 1024, 64
NEW_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "131072"}  # glibc then never keeps large freed blocks

# The GPT and its training step


def large_gpt():
    """The GPT of milestone 05, with 734,336 weights, untrained, and with fused attention; always
    the same weights."""
    model = GPT(VOCABULARY, CONTEXT, embed_dim=128, layers=3, num_heads=4)
    init_gpt(model, rng=0)
    return attention.fuse_attention(model)


def token_batch(rows, seed):
    """A batch for `large_gpt`: x and y, int arrays of shape (rows, 64), always the same for a seed.
    The tokens are random; the small ones are more frequent."""
    rng = np.random.default_rng(seed)
    ids = rng.geometric(0.02, 4000) % VOCABULARY
    return text_batch(ids, rows, CONTEXT, rng)


def compose(model, kinds):
    """Replace fused operations of a GPT by compositions of simple ones.

    kinds  classes of modules: LayerNorm, GELU, MultiHeadAttention
    """

    def layer_norm(part):
        return lambda x: normalized(x, -1, part.eps) * part.weight + part.bias

    attention.fuse_attention(model, attention.MultiHeadAttention not in kinds)
    for block in model.blocks:
        for part in (block.norm1, block.norm2, block.mlp[1], model.norm):
            if isinstance(part, kinds):
                made = layer_norm(part) if isinstance(part, LayerNorm) else composed_gelu
                object.__setattr__(part, "forward", made)


def composed_loss(model, x, y):
    """`lm_loss`, from simple operations."""
    rows, columns = np.indices(y.shape)
    return -log_softmax(model(x))[rows, columns, y].mean()


# name of a level: (modules to compose, the loss)
LEVELS = {
    "composed": ((LayerNorm, GELU, attention.MultiHeadAttention), composed_loss),
    "norm, GELU fused": ((attention.MultiHeadAttention,), composed_loss),
    "all fused": ((), lm_loss),
}


def gpt_step(level):
    """A function that does one training step with milestone 05's optimizer and returns the loss."""
    kinds, loss_function = LEVELS[level]
    model, count = large_gpt(), iter(range(10**9))
    compose(model, kinds)
    optimizer = AdamW(decay_groups(model, 0.1), lr=1e-3, betas=(0.9, 0.99))

    def step():
        loss = loss_function(model, *token_batch(8, next(count)))
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return float(loss)

    return step


def make_gpt_steps(levels, buffer=None):
    """What a worker calls: one step at a level."""
    steps = {level: gpt_step(level) for level in levels}
    return lambda level: steps[level]()


def can_have_new_memory():
    """Whether this computer can be told not to keep freed memory: whether Python uses glibc."""
    return platform.libc_ver()[0] == "glibc"


class GPTSteps:
    """Training steps in two processes, one of which always gets new memory from the system; as a
    context manager.

    Without glibc, only the steps with reused memory exist.
    """

    def __init__(self, levels=tuple(LEVELS)):
        self.levels, self.workers = levels, {}

    def __enter__(self):
        try:
            if can_have_new_memory():
                self.start("new memory", NEW_MEMORY)
            self.start("reused memory", {})
        except BaseException:
            self.__exit__()
            raise
        self.calls = {
            memory: lambda level, worker=worker: (worker.send(level), worker.receive())[1]
            for memory, worker in self.workers.items()
        }
        return self

    def start(self, memory, variables):
        self.workers[memory] = Worker(make_gpt_steps, self.levels, variables=variables)

    def __exit__(self, *error):
        for worker in self.workers.values():
            worker.close()

    def seconds(self):
        """The processor time of all steps so far."""
        if not self.workers:
            return process_time()
        return sum(worker.seconds for worker in self.workers.values())

    def variant(self, level, memory):
        """{name: step}, or {} where this memory does not exist."""
        if memory not in self.calls:
            return {}
        return {f"{level}, {memory}": lambda: self.calls[memory](level)}

    def path(self):
        """The steps from the slowest to the fastest: first operations are fused, then memory is
        reused."""
        slow = [self.variant(level, "new memory") for level in self.levels]
        return {k: f for part in slow for k, f in part.items()} | self.variant(
            self.levels[-1], "reused memory"
        )

    def reused(self):
        """All steps with reused memory."""
        steps = [self.variant(level, "reused memory") for level in self.levels]
        return {k: f for part in steps for k, f in part.items()}


def quick_ladder(rounds):
    """The processor seconds of three training steps, {name: list}."""
    with GPTSteps(("composed", "all fused")) as steps:
        functions = steps.path() if can_have_new_memory() else steps.reused()
        times = {name: [] for name in functions}
        for i in range(rounds + 1):
            for name, f in functions.items():
                before = steps.seconds()
                f()
                if i:  # the first call is the warm-up
                    times[name].append(steps.seconds() - before)
    return times


def level_of(name):
    """The level in the name of a variant.

    >>> level_of("norm, GELU fused, new memory")
    'norm, GELU fused'
    """
    return name.rpartition(", ")[0]


def plot_ladder(times):
    """The median milliseconds of training steps, as bars.

    times  {"level, memory": seconds}
    """
    figure, axes = panel("", "milliseconds per step", "", height=0.9 + 0.55 * len(times))
    names = sorted(times, key=lambda name: ("reused" in name, list(LEVELS).index(level_of(name))))
    for place, name in enumerate(names):
        milliseconds = 1000 * float(np.median(times[name]))
        axes.barh(place, milliseconds, color="C0" if "reused" in name else "C3")
        axes.text(milliseconds, place, f" {milliseconds:.0f}", va="center", fontsize=TEXT)
    axes.set_yticks(range(len(names)), [name.replace(", new memory", ",\nnew memory").replace(
        ", reused memory", ",\nreused memory") for name in names])  # fmt: skip
    axes.invert_yaxis()
    axes.margins(x=0.12)
    return figure


# Matrix products


def plot_speeds(products, sizes, longest=0.02):
    """Billions of floating-point operations per second of matrix products.

    products  {name: function of two arrays}
    sizes     the numbers of rows of square matrices; a product that took more than `longest`
              seconds is not measured for larger sizes
    """
    figure, axes = panel("", "size n", "GFLOP per second", xscale="log", yscale="log")
    rng = np.random.default_rng(0)
    for i, (name, product) in enumerate(products.items()):
        speeds = []
        for n in sizes:
            a, b = rng.normal(size=(2, n, n)).astype("float32")
            seconds = seconds_per_call(lambda: product(a, b))
            speeds.append(2e-9 * n**3 / seconds)
            if seconds > longest:
                break
        colour = ("C2", "C3", "C1", "C0", "black")[i]
        axes.plot(sizes[: len(speeds)], speeds, color=colour, marker="o", ms=4)
        axes.annotate(name, (sizes[len(speeds) - 1], speeds[-1]), (7, 0), color=colour,
                      textcoords="offset points", va="center", annotation_clip=False)  # fmt: skip
    axes.set_xticks(sizes, sizes)
    axes.minorticks_off()
    return figure


def seconds_per_call(f, least=0.01):
    """The processor time of a call of `f`: the median of 3 measurements of `least` seconds, or of
    one call that takes more than 10 times as long."""
    start = process_time()
    f()
    first = process_time() - start
    if first > 10 * least:
        return first
    medians = []
    for _ in range(3):
        calls, start = 0, process_time()
        while calls == 0 or process_time() - start < least:
            f()
            calls += 1
        medians.append((process_time() - start) / calls)
    return float(np.median(medians))


# New memory


def make_addition(into, buffer=None):
    """What a worker calls: the page faults and the milliseconds of an addition of two arrays of
    1 MB, into a given array or a new one."""
    a = np.ones(250_000, "float32")
    out = np.zeros_like(a) if into else None

    def measure():
        np.add(a, a, out=out)
        before, start = page_faults(), process_time()
        for _ in range(200):
            np.add(a, a, out=out)
        seconds = process_time() - start
        return round((page_faults() - before) / 200), 1000 * seconds / 200

    return measure


def count_page_faults():
    """Rows of (way, page faults, milliseconds) for one addition, measured in new processes."""
    rows = []
    ways = [
        ("new array, memory not kept", False, NEW_MEMORY),
        ("new array, memory kept", False, {}),
        ("into an existing array", True, {}),
    ]
    for way, into, variables in ways:
        if variables and not can_have_new_memory():
            continue
        worker = Worker(make_addition, into, variables=variables)
        try:
            worker.send()
            rows.append((way, *worker.receive()))
        finally:
            worker.close()
    return rows


# Requests in batches


def plot_throughput(speeds):
    """Tokens per second against the number of requests in a batch.

    speeds  {requests: tokens per second}
    """
    figure, axes = panel("", "requests in a batch", "tokens per second", xscale="log",
                         yscale="log")  # fmt: skip
    axes.plot(speeds.keys(), speeds.values(), "C0", marker="o")
    first = speeds[min(speeds)] / min(speeds)
    few = [n for n in speeds if n * first < 1.5 * max(speeds.values())]
    axes.plot(few, [n * first for n in few], "C3", ls=":")
    axes.annotate("in proportion", (few[-1], few[-1] * first), (6, 0), color="C3",
                  textcoords="offset points", va="center", annotation_clip=False)  # fmt: skip
    axes.set_xticks(list(speeds), list(speeds))
    low, high = min(speeds.values()), max(speeds.values())
    ticks = [n * 10**k for k in range(7) for n in (1, 2, 5)]
    ticks = [tick for tick in ticks if 0.7 * low <= tick <= 1.5 * high]
    axes.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.minorticks_off()
    return figure


def slots(lengths, batch, continuous):
    """For each request its place and its first step, list of (place, step)."""
    free, starts = [0] * batch, []
    for i, length in enumerate(lengths):
        if not continuous and i % batch == 0:
            free = [max(free)] * batch
        place = free.index(min(free)) if continuous else i % batch
        starts.append((place, free[place]))
        free[place] += length
    return starts


def draw_slots(lengths, batch):
    """Which request runs on which place at which step, with static and continuous batching."""
    ends = {}
    for continuous in (False, True):
        starts = slots(lengths, batch, continuous)
        ends[continuous] = max(step + n for (_, step), n in zip(starts, lengths))
    step = 300 / max(ends.values())
    height = 56 + 38 * batch
    drawing = Drawing(
        "static and continuous batching",
        f"{ends[False]} steps with static, {ends[True]} with continuous batching",
        height=2 * height,
    )
    for row, continuous in enumerate((False, True)):
        top, name = row * height, "continuous" if continuous else "static"
        drawing.text(16, top + 24, f"{name}: {ends[continuous]} steps", anchor="start")
        for place in range(batch):
            drawing.cell(16, top + 36 + 38 * place, "", "muted", step * ends[continuous], 34,
                         dashed=True)  # fmt: skip
        for i, ((place, first), n) in enumerate(zip(slots(lengths, batch, continuous), lengths)):
            drawing.cell(16 + step * first, top + 36 + 38 * place, i + 1, "value", step * n)
    return drawing


# Several processes


def draw_parallel(workers=2):
    """The shared memory of `workers` workers, who reads it and who writes it."""
    drawing = Drawing(
        "data parallelism with shared memory",
        "each worker reads the weights and writes its own gradient; the main process reads the "
        "gradients and writes the weights",
        height=300,
    )
    width = 318 / (workers + 1)
    drawing.text(20, 24, "shared memory", anchor="start")
    drawing.cell(20, 34, "weights", "value", width)
    drawing.cell(20, 216, "main process", "muted", width + 14, 44)
    drawing.arrow((20 + width * 0.3, 214), (20 + width * 0.3, 72), "value")
    drawing.text(20 + width * 0.3 + 6, 148, "update", "value", "start")
    for i in range(workers):
        left = 20 + width * (i + 1)
        drawing.cell(left, 34, f"gradient {i + 1}", "gradient", width)
        drawing.cell(left + 16, 130, f"worker {i + 1}", "muted", width - 24, 40)
        drawing.arrow((left + width / 2 + 10, 128), (left + width / 2 + 10, 72), "gradient")
        drawing.arrow((20 + width * (0.7 + 0.15 * i), 72), (left + 14, 140), "value")
        drawing.line((left + width - 4, 70), (left + width - 4, 238 + 8 * i), kind="gradient")
        drawing.arrow((left + width - 4, 238 + 8 * i), (38 + width, 238 + 8 * i), "gradient")
    drawing.text(20, 286, "each worker also gets its rows of the batch", "muted", "start")
    return drawing


def amdahl_curve(bound, low, high, most=4):
    """The bound of Amdahl's law for 1 to `most` workers, and a measured interval for two.

    bound  function from a number of workers to the largest possible speed-up
    """
    figure, axes = panel("", "workers", "times as fast")
    workers = list(range(1, most + 1))
    axes.plot(workers, workers, "C3", ls=":")
    axes.plot(workers, [bound(n) for n in workers], "C0")
    axes.plot([2, 2], [low, high], "C1", lw=3, marker="_", markersize=14, markeredgewidth=2)
    axes.text(2.2, (low + high) / 2, "measured", color="C1", va="center", fontsize=TEXT)
    axes.text(most, bound(most), " Amdahl's\n law", color="C0", va="center", fontsize=TEXT)
    axes.text(most, most, " perfect", color="C3", va="center", fontsize=TEXT)
    axes.set(xlim=(1, most), ylim=(0, most), xticks=workers)
    return figure


# Small gradients


def gradients_of_logits():
    """The absolute gradient of the logits of the small trained GPT, float32 ndarray, for 8 windows
    of text that it was not trained on."""
    model, tokenizer = load_small_gpt()
    ids = tokenizer.encode(load_text("test")[:20_000])
    x, y = text_batch(ids, 8, model.context, np.random.default_rng(0))
    logits = Variable(model(x).data)
    cross_entropy(logits, y).backward()
    return abs(logits.grad)


def plot_gradients(gradients):
    """Histogram of absolute values on a logarithmic axis, with the limits of float16."""
    figure, axes = panel("", "size of the gradient", "how many")
    powers = np.log10(np.maximum(gradients[gradients > 0], 1e-20))
    low = max(-14, float(powers.min()))
    axes.hist(powers, bins=np.arange(np.floor(low), 1, 0.25), color="C0")
    axes.margins(y=0.3)
    edges = np.log10([2.0**-25, 2.0**-14, 65504.0])
    places = [(edges[0] + low) / 2, edges[:2].mean(), edges[1] + 2.2]
    for place, text in zip(places, ("become 0", "fewer\ndigits", "all digits")):
        axes.text(place, 0.97, text, color="C2", ha="center", va="top", fontsize=TEXT,
                  transform=axes.get_xaxis_transform())  # fmt: skip
    for edge in edges[:2]:
        axes.axvline(edge, color="C2", ls=":")
    ticks = range(int(np.floor(low)), 1, 3)
    axes.set_xticks(ticks, [f"1e{t}" for t in ticks])
    return figure
