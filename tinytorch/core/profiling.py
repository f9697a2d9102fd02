# From modules/source/19_profiling/profiling_dev.py by `tito export`, docstrings shortened; edit that file.
# checksum: 8237f84fbb0a75e7
"""Profiling: How long a program takes, how much work it does, and how certain both numbers are."""

import math
import time
import tracemalloc
from dataclasses import dataclass

import numpy as np

from tinytorch.core import tensor as engine
from tinytorch.core.autograd import no_grad, topological_order
from tinytorch.core.convolutions import output_size
from tinytorch.core.layers import generator
from tinytorch.core.tensor import Tensor, Variable, broadcast_shape, matmul_shape
from tinytorch.support.convolution import pair
from tinytorch.support.forward import name_of

__all__ = [
    "seconds", "RESAMPLES", "median_interval", "race", "ratio_interval", "MOVES", "result_shape", "flops_of",
    "bytes_of", "Machine", "machine", "roofline", "bytes_moved", "OperationProfile", "Profile", "peak_bytes",
    "kept_arrays", "kept_bytes", "amdahl", "predict",
]


def seconds(f, repeat=5, warmup=1, clock=time.perf_counter):
    """How long each of several calls of `f` takes.

    returns  float64 array of shape (repeat,): the seconds of each timed call, in order
    """
    for _ in range(warmup):
        f()
    times = np.empty(repeat)
    for i in range(repeat):
        start = clock()
        f()
        times[i] = clock() - start
    return times


RESAMPLES = 1000


def median_interval(times, level=0.95, rng=None):
    """A confidence interval for the median, by the bootstrap.

    >>> median_interval([10, 10, 10, 11, 90], rng=0)
    (10.0, 90.0)
    """
    times = np.asarray(times, "float64")
    resamples = generator(rng).choice(times, (RESAMPLES, len(times)))
    medians = np.median(resamples, axis=1)
    low, high = np.quantile(medians, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def race(functions, rounds, rng=None, clock=time.perf_counter):
    """Time several functions in turn, in a new random order in every round.

    returns    dict {name: float64 array of shape (rounds,)}, with the names in the order of
               `functions`: element i is the time of this function in round i, in seconds
    """
    rng = generator(rng)
    for f in functions.values():
        f()
    times = {name: np.empty(rounds) for name in functions}
    names = list(functions)
    for i in range(rounds):
        for j in rng.permutation(len(names)):
            times[names[j]][i] = seconds(functions[names[j]], 1, 0, clock)[0]
    return times


def ratio_interval(a, b, level=0.95, rng=None):
    """A confidence interval for how many times as long `a` takes as `b`.

    a, b     arrays or lists of shape (rounds,): times of two functions in the same rounds

    ValueError with both shapes when a and b differ in shape.

    >>> ratio_interval([2, 4, 6], [1, 2, 3])
    (2.0, 2.0)
    """
    a, b = np.asarray(a, "float64"), np.asarray(b, "float64")
    if a.shape != b.shape:
        raise ValueError(f"times of the same rounds are needed, not {a.shape} and {b.shape}")
    return median_interval(a / b, level, rng)


# Operations that copy numbers or only change a shape; there is no arithmetic in them.
MOVES = set("reshape transpose getitem concatenate stack pad clone cast embedding broadcast_to "
            "swapaxes squeeze expand_dims".split())


def result_shape(op, *shapes, stride=1, padding=0, **options):
    """The shape of the result of an operation; see `flops_of` for the arguments.

    >>> result_shape("conv2d", (32, 1, 28, 28), (8, 1, 5, 5), padding=2)
    (32, 8, 28, 28)
    """
    if op in ("matmul", "linear"):
        return matmul_shape(*shapes[:2])
    if op == "attention":
        batch, tokens, width = shapes[0]
        return batch, tokens, width // 3
    if op == "conv2d":
        sizes = zip(shapes[0][2:], shapes[1][2:], pair(stride), pair(padding, least=0))
        return shapes[0][0], shapes[1][0], *[output_size(*size) for size in sizes]
    return broadcast_shape(*shapes)


def flops_of(op, *shapes, **options):
    """The floating-point operations of one operation, computed from shapes alone.

    shapes   the shapes of its inputs, tuples
    returns  int, in FLOPs:
             "matmul" and "linear", of shapes (..., i, k) and (..., k, j): 2 k for each element
                 of the result
             "conv2d", of shapes (N, C, H, W) and (O, C, h, w): 2 C h w for each
             "attention", of shape (B, T, 3D): 4 T for each element of the result (B, T, D)
             names in MOVES: 0, whatever the shapes are
             other names: 1 for each element of the inputs, broadcast to one shape

    >>> flops_of("matmul", (3, 4), (4, 5))
    120
    """
    if op in MOVES:
        return 0
    out = math.prod(result_shape(op, *shapes, **options))
    if op in ("matmul", "linear"):
        return 2 * out * shapes[0][-1]
    if op == "conv2d":
        return 2 * out * math.prod(shapes[1][1:])
    if op == "attention":
        return 4 * out * shapes[0][1]
    return out


def bytes_of(op, *shapes, itemsize=4, **options):
    """The bytes that an operation has to read and write at least, computed from shapes alone.

    shapes    the shapes of all its inputs, a bias included
    returns   int: the bytes of all inputs and of the result, each counted once

    >>> bytes_of("add", (10, 100), (100,))
    8400
    """
    arrays = [*shapes, result_shape(op, *shapes, **options)]
    return itemsize * sum(math.prod(shape) for shape in arrays)


@dataclass(frozen=True)
class Machine:
    """What a computer can do at best, by measurement."""

    flops_per_second: float
    bytes_per_second: float


def machine(n=512, megabytes=64, repeat=10, clock=time.perf_counter):
    """Measure this computer.

    n          int: multiply matrices of shape (n, n) of float32, 2 n^3 FLOPs
    """
    a = np.ones((n, n), np.float32)
    source = np.ones(megabytes * 250_000, np.float32)
    target = np.empty_like(source)
    product = seconds(lambda: a @ a, repeat, clock=clock).min()
    copy = seconds(lambda: np.copyto(target, source), repeat, clock=clock).min()
    return Machine(2 * n**3 / product, 2 * source.nbytes / copy)


def roofline(flops, bytes, machine):
    """The shortest time in which a machine can do this work, and what it waits for.

    >>> roofline(flops=600, bytes=100, machine=Machine(200.0, 50.0))
    (3.0, 'arithmetic')
    """
    arithmetic = flops / machine.flops_per_second
    memory = bytes / machine.bytes_per_second
    return max(arithmetic, memory), "memory" if memory > arithmetic else "arithmetic"


def bytes_moved(op, arrays, out):
    """The bytes that an operation has read and written at least: 0 if its result is a view;
    twice the result for a copy, which reads as much as it writes; else inputs and result."""
    arrays = [a for a in arrays if isinstance(a, np.ndarray)]
    if any(np.may_share_memory(a, out) for a in arrays):
        return 0
    return 2 * out.nbytes if op in MOVES else sum(a.nbytes for a in arrays) + out.nbytes


class OperationProfile:
    """A context manager that records every operation on Tensors in its `with` block."""

    def __init__(self, clock=time.perf_counter):
        self.clock, self.totals = clock, {}
        self.path = [""]  # the paths of the modules that are running, the innermost one last

    def __enter__(self):
        self.original, engine.run = engine.run, self.run
        return self

    def run(self, op, arrays, options):
        """self.original(op, arrays, options), recorded: adds 1 call, the seconds of this call,
        its FLOPs and its bytes to `self.totals[self.path[-1], name_of(op)]`.
        """
        start = self.clock()
        out = self.original(op, arrays, options)
        elapsed = self.clock() - start
        name = name_of(op)
        work = self.flops(op, arrays, options, out), bytes_moved(name, arrays, out)
        old = self.totals.get((self.path[-1], name), [0, 0.0, 0, 0])
        new = [x + y for x, y in zip(old, (1, elapsed, *work))]
        self.totals[self.path[-1], name] = new
        return out

    def flops(self, op, arrays, options, out):
        """The FLOPs of one call; of an operation that `flops_of` cannot count, one for each
        element of the result."""
        try:
            return flops_of(name_of(op), *map(np.shape, arrays), **options)
        except (ValueError, TypeError):
            return out.size

    def __exit__(self, *error):
        """Make the engine as it was before the block."""
        engine.run = self.original

    @property
    def rows(self):
        """A list of [path, operation, calls, seconds, flops, bytes], in order of first use."""
        return [[*key, *values] for key, values in self.totals.items()]

    def table(self, most=12):
        """The rows with the most seconds as text, with milliseconds, MFLOPs and MB."""
        rows = sorted(self.rows, key=lambda row: -row[3])
        wide = max([len(row[0]) for row in rows[:most]] + [6]) + 2
        lines = [f"{'module':{wide}}{'operation':12}{'calls':>5}{'ms':>9}{'MFLOP':>9}{'MB':>8}"]
        lines += [f"{path:{wide}}{op:12}{calls:5}{1000 * elapsed:9.3f}{flops / 1e6:9.2f}"
                  f"{size / 1e6:8.2f}" for path, op, calls, elapsed, flops, size in rows[:most]]
        return "\n".join(lines + [f"and {len(rows) - most} more rows"] * (len(rows) > most))


class Profile(OperationProfile):
    """A profiler that also knows which module calls an operation."""

    def __init__(self, model=None, clock=time.perf_counter):
        super().__init__(clock)
        self.model = model

    def __enter__(self):
        self.modules = [] if self.model is None else self.model.named_modules()
        self.before = [vars(module).get("forward") for _, module in self.modules]
        for path, module in self.modules:
            vars(module)["forward"] = self.wrapped(path, module.forward)
        return super().__enter__()

    def wrapped(self, path, forward):
        """A function that calls `forward` while `path` is the last element of `self.path`."""
        def wrapper(*inputs, **options):
            self.path.append(path)
            try:
                return forward(*inputs, **options)
            finally:
                self.path.pop()
        return wrapper

    def __exit__(self, *error):
        super().__exit__(*error)
        for (_, module), old in zip(self.modules, self.before):
            del module.forward
            if old is not None:
                vars(module)["forward"] = old


def peak_bytes(f):
    """The most memory that is in use at one time while f() runs.

    returns  int: bytes, without the memory that was in use before

    >>> peak_bytes(lambda: np.zeros(1_000_000, "float32").sum()) // 1_000_000
    4
    """
    tracemalloc.start()
    try:
        f()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def kept_arrays(tensor):
    """The arrays that stay in memory as long as a result exists, each memory once.

    returns  dict {id(array)
    """
    kept = {}
    for node in topological_order(tensor):
        creator = node.creator
        saved = creator.options.get("saved", {})
        for array in [node.data, *creator.arrays, *saved.values()]:
            while isinstance(getattr(array, "base", None), np.ndarray):
                array = array.base
            if isinstance(array, np.ndarray):
                kept[id(array)] = name_of(creator.op), array
    return kept


def kept_bytes(tensor):
    """The bytes of `kept_arrays`: of the graph and of the parameters in it.

    >>> kept_bytes(Variable(np.ones((100, 100), "float32")).exp())
    80000
    """
    return sum(array.nbytes for _, array in kept_arrays(tensor).values())


def amdahl(share, speedup):
    """How many times as fast a program becomes when one part of it becomes faster.

    returns  float

    ValueError with the share when it is not between 0 and 1.

    >>> round(amdahl(0.9, 10), 2)
    5.26
    """
    if not 0 <= share <= 1:
        raise ValueError(f"a share is a number from 0 to 1, not {share}")
    rest = 1 - share + share / speedup
    return 1 / rest if rest else math.inf


def predict(model, ids, machine):
    """The seconds of model(ids) on a machine, if every operation reached the roof.

    returns  float
    """
    with no_grad(), Profile(model) as profile:
        model(ids)
    return sum(roofline(row[4], row[5], machine)[0] for row in profile.rows)
