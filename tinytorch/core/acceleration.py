# From modules/source/20_acceleration/acceleration_dev.py by `tito export`; edit that file, not this one.
# checksum: 639e371364ccf45d
"""Acceleration: Caches, memory, fusion, batches and processes, each gain measured."""

import math
import time

import numpy as np

from tinytorch.core.profiling import race, ratio_interval
from tinytorch.core.tensor import Tensor
from tinytorch.support.worker_processes import SharedMemory, Worker, make_backward

__all__ = [
    "matmul_outer", "matmul_blocked", "Buffers", "gelu_into", "gelu_fused", "ladder", "plan", "steps_needed",
    "gradients_of", "shards", "layout", "views", "move", "DataParallel", "GradScaler",
]


def matmul_outer(a, b):
    """The product of two matrices: the sum of the outer products of column k of a and row k
    of b.

    a        ndarray of shape (n, k); not changed
    b        ndarray of shape (k, m), of the dtype of `a`; not changed
    returns  ndarray of shape (n, m) and of that dtype. One Python loop, over k; no `@`, `dot`
             or `einsum`

    >>> matmul_outer(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 0.0], [10.0, 100.0]]))
    array([[ 21., 200.],
           [ 43., 400.]])

    Source: Strang, Introduction to Linear Algebra, section 2.4, "columns times rows".
    """
    out = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    for k in range(a.shape[1]):
        out += a[:, k : k + 1] * b[k]
    return out


def matmul_blocked(a, b, block):
    """The product of two matrices, computed by products of blocks.

    a        ndarray of shape (n, k); not changed
    b        ndarray of shape (k, m), of the dtype of `a`; not changed
    block    int >= 1: the most rows and columns of a block; it need not divide n, k or m
    returns  ndarray of shape (n, m) and of that dtype. Only blocks are multiplied by `@`

    >>> matmul_blocked(np.array([[1.0, 2.0, 3.0]]), np.array([[1.0], [10.0], [100.0]]), 2)
    array([[321.]])

    Source: Lam, Rothberg, Wolf, The cache performance and optimizations of blocked algorithms
    (1991); Goto, van de Geijn, Anatomy of high-performance matrix multiplication (2008).
    """
    (n, inner), m = a.shape, b.shape[1]
    out = np.zeros((n, m), a.dtype)
    for i in range(0, n, block):
        for j in range(0, m, block):
            for k in range(0, inner, block):
                left, right = a[i : i + block, k : k + block], b[k : k + block, j : j + block]
                out[i : i + block, j : j + block] += left @ right
    return out


class Buffers:
    """A pool of memory for arrays.

    .peak  int: the most bytes that were taken at one time

    >>> buffers = Buffers()
    >>> x = buffers.take((2, 3))
    >>> buffers.give(x)
    >>> y = buffers.take((6,), np.int32)
    >>> np.shares_memory(x, y), buffers.peak
    (True, 24)

    Source: PyTorch, "CUDA semantics", section "Memory management".
    """

    def __init__(self):
        self.free = {}  # {number of bytes: list of blocks, uint8 arrays of that length}
        self.taken = {}  # {id(array): (array, its block)}, for the arrays that are taken
        self.used = self.peak = 0  # bytes that are taken: now, and at most

    def take(self, shape, dtype=np.float32):
        """An array of this shape and dtype; its numbers are arbitrary.

        It uses the memory of a free block of exactly as many bytes, or a new block if there is
        none. Until it is given back, no other array uses this memory.
        """
        size = math.prod(shape) * np.dtype(dtype).itemsize
        blocks = self.free.get(size)
        block = blocks.pop() if blocks else np.empty(size, np.uint8)
        array = block.view(dtype).reshape(shape)
        self.taken[id(array)] = array, block
        self.used += size
        self.peak = max(self.peak, self.used)
        return array

    def give(self, array):
        """Give back an array that `take` returned, so that its memory can be used again.

        ValueError, with the array's shape in it, when the array is not taken: it comes from
        elsewhere, is a view of a taken array, or was given back before.
        """
        if id(array) not in self.taken:
            raise ValueError(f"this array of shape {np.shape(array)} is not taken: `take` "
                             "did not return it, or it was given back before")
        _, block = self.taken.pop(id(array))
        self.free.setdefault(block.nbytes, []).append(block)
        self.used -= block.nbytes


def gelu_into(x, out, scratch):
    """GELU (tanh approximation), written into an existing array.

    x        ndarray of floats; not changed, unless it is `out`
    out      ndarray of the same shape and dtype: the result; may be the array `x`
    scratch  another such array, for intermediate results; its numbers are lost
    returns  `out`. No array of the size of `x` is created, and x³ is computed by products: no
             `x**3` and no np.power(x, 3)

    >>> x = np.array([-1000.0, 0.0, 1000.0])
    >>> gelu_into(x, x, np.empty(3)).tolist()
    [-0.0, 0.0, 1000.0]

    Source: Hendrycks, Gimpel, Gaussian error linear units (2016), section 2.
    """
    c = math.sqrt(2 / math.pi)
    np.multiply(x, x, out=scratch)
    scratch *= 0.044715 * c
    scratch += c
    scratch *= x
    np.tanh(scratch, out=scratch)
    scratch += 1
    scratch *= 0.5
    return np.multiply(scratch, x, out=out)


def gelu_fused(x, out, buffers, block=65_536):
    """GELU in blocks of at most `block` elements.

    x        ndarray of floats, contiguous; not changed, unless it is `out`
    out      contiguous ndarray of the same shape and dtype: the result; may be the array `x`
    buffers  Buffers, from which one array of min(block, x.size) elements is taken. It is given
             back before the function returns
    block    int >= 1: elements per block; it need not divide x.size
    returns  `out`. No other array is created

    >>> gelu_fused(np.array([-1000.0, 0.0, 1000.0]), np.empty(3), Buffers(), block=2).tolist()
    [-0.0, 0.0, 1000.0]

    Source: Chen et al., TVM (2018), section 3, for operator fusion.
    """
    scratch = buffers.take((min(block, x.size),), x.dtype)
    flat, flat_out = x.reshape(-1), out.reshape(-1)
    for start in range(0, x.size, block):
        part = flat[start : start + block]
        gelu_into(part, flat_out[start : start + block], scratch[: part.size])
    buffers.give(scratch)
    return out


def ladder(variants, rounds, rng=None, clock=time.process_time, tolerance=1e-5):
    """Race variants of one training step, and compare their losses.

    variants   dict {name: function without arguments that does a step and returns its loss, a
               float}; all start from equal weights and get equal batches
    rounds     int, see `race`
    rng        a Generator, a seed, or None: for `race` and for each `ratio_interval`
    clock      see `race`
    tolerance  how much the losses of one step may differ
    returns    (times, gains): the dict of `race`, and {name: (low, high)}: the variant is low
               to high times as fast as the one before it in `variants`, by `ratio_interval`.
               The first variant has (1.0, 1.0)

    ValueError, with the name of the variant, when one of its losses differs from the loss that
    the first variant had in the same step by more than `tolerance`, or is not a number.

    >>> clock = iter(range(100)).__next__  # each reading is one second later
    >>> _, gains = ladder({"a": lambda: 0.5, "b": lambda: 0.5}, rounds=3, clock=clock)
    >>> gains
    {'a': (1.0, 1.0), 'b': (1.0, 1.0)}

    Source: Georges, Buytaert, Eeckhout (2007), for the intervals.
    """
    losses = {name: [] for name in variants}

    def recorded(name):
        return lambda: losses[name].append(variants[name]())

    times = race({name: recorded(name) for name in variants}, rounds, rng, clock)
    names = list(variants)
    gains = {names[0]: (1.0, 1.0)}
    for before, name in zip(names, names[1:]):
        differences = np.abs(np.subtract(losses[name], losses[names[0]]))
        if not (differences <= tolerance).all():
            raise ValueError(f"{name} computes other losses: {losses[name]}")
        gains[name] = ratio_interval(times[before], times[name], rng=rng)
    return times, gains


def plan(arrays):
    """A place for each array in one block of memory.

    arrays   list of (size, first, last): the bytes of an array, and the first and the last time
             (ints) at which it is alive; both ends belong to its lifetime
    returns  (offsets, total): a list with the offset of each array in bytes, in the order of
             `arrays`, and the size of the block, which is the largest end, offset + size (0
             without arrays)

    Arrays are placed from the largest to the smallest, those of equal size in the order of the
    list; each at the lowest offset where it overlaps no placed array that is alive at a common
    time.

    >>> plan([(10, 0, 1), (20, 1, 2), (10, 2, 3)])
    ([20, 0, 20], 30)

    Source: Pisarchyk, Lee, Efficient memory management for deep neural net inference (2020),
    "greedy by size".
    """
    offsets, placed = [0] * len(arrays), []
    for i in sorted(range(len(arrays)), key=lambda i: -arrays[i][0]):
        size, first, last = arrays[i]
        taken = [(offsets[j], offsets[j] + arrays[j][0]) for j in placed
                 if arrays[j][1] <= last and first <= arrays[j][2]]
        for start, end in sorted(taken):
            if offsets[i] + size > start:
                offsets[i] = max(offsets[i], end)
        placed.append(i)
    total = max((o + size for o, (size, *_) in zip(offsets, arrays)), default=0)
    return offsets, total


def steps_needed(lengths, batch, continuous):
    """The model steps until all requests are served, in the given order.

    lengths     list of ints >= 0, not changed: the tokens of each request; a step computes one
                token for each request that runs
    batch       int >= 1: how many requests run at one time
    continuous  False: `batch` requests start together, and the next ones when all of these have
                ended. True: the next request starts as soon as one of the `batch` places is
                free
    returns     int; 0 without requests

    >>> steps_needed([10, 1, 1, 1, 1, 1], 2, continuous=False)
    12
    >>> steps_needed([10, 1, 1, 1, 1, 1], 2, continuous=True)
    10

    Source: Yu et al., Orca: a distributed serving system for transformer-based generative
    models (2022).
    """
    if not continuous:
        return sum(max(lengths[i : i + batch]) for i in range(0, len(lengths), batch))
    free = [0] * batch
    for length in lengths:
        free[free.index(min(free))] += length
    return max(free)


def gradients_of(loss, model, x, y):
    """The gradients of loss(model, x, y), a list with one ndarray for each parameter. Also sets
    the `.grad` of the parameters."""
    model.zero_grad()
    loss(model, x, y).backward()
    return [np.zeros_like(p.data) if p.grad is None else p.grad for p in model.parameters()]


def shards(loss, model, x, y, n):
    """The gradient of a batch, computed from the gradients of n shards.

    loss     function loss(model, x, y) that returns a Tensor of shape (): a mean over the rows
    model    Module
    x, y     ndarrays with the same number of rows, at least 1
    n        int >= 1: the number of shards. The rows of a shard follow each other in the batch.
             The lengths of shards differ by at most 1; empty ones are left out
    returns  list with one ndarray for each parameter, in the order of model.parameters(): the
             gradient that gradients_of(loss, model, x, y) returns, up to rounding

    `loss` is called once for each shard, in the order of the rows.

    Source: Goyal et al., Accurate, large minibatch SGD (2017), section 3.
    """
    total = [np.zeros_like(p.data) for p in model.parameters()]
    for rows in np.array_split(np.arange(len(x)), min(n, len(x))):
        for t, g in zip(total, gradients_of(loss, model, x[rows], y[rows])):
            t += len(rows) / len(x) * g
    return total


def layout(arrays):
    """The places of arrays in one block of memory.

    arrays   list of ndarrays
    returns  (places, size): for each array (offset, shape, dtype), and the bytes of the block,
             which is the end of the last array (0 without arrays). The arrays lie one after the
             other, each at the first multiple of 64 that is free

    >>> layout([np.zeros(3, "float32"), np.zeros((2, 2))])
    ([(0, (3,), dtype('float32')), (64, (2, 2), dtype('float64'))], 96)
    """
    places, end = [], 0
    for array in arrays:
        offset = -(-end // 64) * 64
        places.append((offset, array.shape, array.dtype))
        end = offset + array.nbytes
    return places, end


def views(places, buffer):
    """The arrays at these places, a list of ndarrays that use the memory of `buffer`.

    places   list of (offset, shape, dtype), as `layout` returns it
    buffer   a block of memory, such as a bytearray, that is large enough; not changed

    >>> memory = bytearray(72)
    >>> a, b = views([(0, (2,), np.dtype("int8")), (64, (1,), np.dtype("int8"))], memory)
    >>> b[0] = 7
    >>> memory[64]
    7
    """
    return [np.ndarray(shape, dtype, buffer, offset) for offset, shape, dtype in places]


def move(model, arrays):
    """Move the parameters of a model into other arrays.

    model    Module
    arrays   list of ndarrays of the shapes and dtypes of model.parameters(): they get the
             numbers of the parameters, and become their `.data`
    returns  None
    """
    for p, array in zip(model.parameters(), arrays):
        array[...] = p.data
        p.data = array


class DataParallel:
    """A model that several processes train together, as a context manager.

    build    function without arguments that returns a Module
    loss     function loss(model, x, y) that returns a Tensor of shape (): a mean over the rows
    workers  int >= 1: how many processes

    Both functions must be importable: defined in a file, not in a notebook or in the script
    that runs. ValueError otherwise.

    .model      the Module; its parameters are in shared memory. After the `with` block it is an
                ordinary model, with the trained weights
    .workers    list of the workers, with the methods send(x, y) and receive()
    .gradients  for each worker a list of ndarrays in shared memory: its gradient of each
                parameter

    At the end of the block, also after an error, no process and no shared memory is left.

    >>> from tinytorch.core.transformers import lm_loss
    >>> from tinytorch.pictures.acceleration import large_gpt, token_batch
    >>> with DataParallel(large_gpt, lm_loss, workers=2) as parallel:
    ...     loss = parallel.backward(*token_batch(rows=4, seed=0))
    >>> round(loss), len(parallel.model.parameters())
    (7, 40)

    Source: Li et al., PyTorch Distributed: experiences on accelerating data parallel training
    (2020), section 3.
    """

    def __init__(self, build, loss, workers=2):
        self.build, self.loss, self.count = build, loss, workers

    def __getattr__(self, name):  # called when there is no such attribute
        raise AttributeError(f"there is no {name} yet. Begin the block first: with "
                             "DataParallel(build, loss) as parallel:")

    def __enter__(self):
        self.model, self.workers = self.build(), []
        arrays, n = [p.data for p in self.model.parameters()], len(self.model.parameters())
        places, size = layout(arrays * (1 + self.count))  # weights, each worker's gradient
        parts = [places[i : i + n] for i in range(0, len(places), n)]
        self.memory = SharedMemory(size)
        weights, *self.gradients = [views(part, self.memory.buffer) for part in parts]
        move(self.model, weights)
        try:
            for part in parts[1:]:
                self.workers.append(Worker(make_backward, self.build, self.loss, parts[0], part,
                                           memory=self.memory))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error):
        for worker in self.workers:
            worker.close()
        move(self.model, [p.data.copy() for p in self.model.parameters()])
        self.gradients = []
        self.memory.close()

    def backward(self, x, y):
        """Compute the gradient of the loss of a batch, with all workers at the same time.

        x, y     ndarrays with the same number of rows, at least 1. Worker i gets shard i, as in
                 `shards`; with fewer rows than workers, the last workers get none
        returns  float: the loss of the whole batch, the mean over all rows

        Adds the gradient of the whole batch to the `.grad` of each parameter, as the method
        `backward` of a Tensor does. These arrays are not in shared memory.
        """
        parts = np.array_split(np.arange(len(x)), min(len(self.workers), len(x)))
        for worker, rows in zip(self.workers, parts):
            worker.send(x[rows], y[rows])
        losses = [worker.receive() for worker, rows in zip(self.workers, parts)]
        shares = [len(rows) / len(x) for rows in parts]
        for p, *gradients in zip(self.model.parameters(), *self.gradients):
            g = sum(share * gradient for share, gradient in zip(shares, gradients))
            p.grad = g if p.grad is None else p.grad + g
        return sum(share * loss for share, loss in zip(shares, losses))


class GradScaler:
    """Dynamic loss scaling.

    scale            float: the first factor
    growth_interval  int: after so many good steps in a row the factor is doubled

        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    Source: Micikevicius et al., Mixed precision training (2018), section 3.2;
    torch.amp.GradScaler.
    """

    def __init__(self, scale=2.0**16, growth_interval=2000):
        self.factor, self.growth_interval = float(scale), growth_interval
        self.good, self.overflow = 0, False  # good steps in a row; whether a step was skipped

    def get_scale(self):
        """The factor, a float."""
        return self.factor

    def scale(self, loss):
        """The loss, a Tensor, times the factor; recorded."""
        return loss * self.factor

    def step(self, optimizer):
        """Divide the `.grad` of the optimizer's parameters by the factor. Then call
        optimizer.step(), unless one of these gradients contains an infinite number or nan.

        The parameters are in group["params"], for each group in optimizer.param_groups.
        Parameters whose `.grad` is None are left out.
        """
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        for p in parameters:
            if p.grad is not None:
                p.grad = p.grad / self.factor
                self.overflow |= not np.isfinite(p.grad).all()
        if not self.overflow:
            optimizer.step()

    def update(self):
        """Choose the factor of the next step. After a skipped step it is halved, and counting
        starts again at 0. After `growth_interval` good steps in a row it is doubled, and
        counting also starts again."""
        self.good = 0 if self.overflow else self.good + 1
        if self.overflow:
            self.factor *= 0.5
        elif self.good == self.growth_interval:
            self.factor, self.good = self.factor * 2, 0
        self.overflow = False
