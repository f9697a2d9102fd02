# From modules/source/20_acceleration/acceleration_dev.py by `tito export`, docstrings shortened; edit that file.
# checksum: caa450fbce4d097d
"""Acceleration: Caches, memory, fusion, batches and processes, each gain measured."""

import math
import time

import numpy as np

from tinytorch.core.profiling import race, ratio_interval
from tinytorch.core.tensor import Tensor
from tinytorch.support.missing_names import NumPyNames
from tinytorch.support.worker_processes import SharedMemory, Worker, make_backward

__all__ = [
    "matmul_outer", "matmul_blocked", "Buffers", "gelu_into", "gelu_fused", "ladder", "plan", "steps_needed",
    "gradients_of", "shards", "layout", "views", "move", "DataParallel", "GradScaler",
]


def matmul_outer(a, b):
    """The product of two matrices: the sum of the outer products of column k of a and row k
    of b.

    a        ndarray of shape (n, k)
    b        ndarray of shape (k, m), of the dtype of `a`
    returns  ndarray of shape (n, m) and of that dtype
    """
    out = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    for k in range(a.shape[1]):
        out += a[:, k : k + 1] * b[k]
    return out


def matmul_blocked(a, b, block):
    """The product of two matrices, computed by products of blocks.

    a        ndarray of shape (n, k)
    b        ndarray of shape (k, m), of the dtype of `a`
    returns  ndarray of shape (n, m) and of that dtype

    >>> matmul_blocked(np.array([[1.0, 2.0, 3.0]]), np.array([[1.0], [10.0], [100.0]]), 2)
    array([[321.]])
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
    """A pool of memory for arrays."""

    def __init__(self):
        self.free = {}  # {number of bytes: list of blocks, uint8 arrays of that length}
        self.taken = {}  # {id(array): (array, its block)}, for the arrays that are taken
        self.used = self.peak = 0  # bytes that are taken: now, and at most

    def take(self, shape, dtype=np.float32):
        """An array of this shape and dtype; its numbers are arbitrary."""
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

    out      ndarray of the same shape and dtype: the result
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

    out      contiguous ndarray of the same shape and dtype: the result

    >>> gelu_fused(np.array([-1000.0, 0.0, 1000.0]), np.empty(3), Buffers(), block=2).tolist()
    [-0.0, 0.0, 1000.0]
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

    ValueError, with the name of the variant, when one of its losses differs from the loss that
    the first variant had in the same step by more than `tolerance`, or is not a number.
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

    >>> plan([(10, 0, 1), (20, 1, 2), (10, 2, 3)])
    ([20, 0, 20], 30)
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

    returns     int

    >>> steps_needed([10, 1, 1, 1, 1, 1], 2, continuous=False)
    12
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
    returns  list with one ndarray for each parameter, in the order of model.parameters(): the
             gradient that gradients_of(loss, model, x, y) returns, up to rounding
    """
    total = [np.zeros_like(p.data) for p in model.parameters()]
    for rows in np.array_split(np.arange(len(x)), min(n, len(x))):
        for t, g in zip(total, gradients_of(loss, model, x[rows], y[rows])):
            t += len(rows) / len(x) * g
    return total


def layout(arrays):
    """The places of arrays in one block of memory.

    returns  (places, size): for each array (offset, shape, dtype), and the bytes of the block,
             which is the end of the last array (0 without arrays)

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
    """
    return [np.ndarray(shape, dtype, buffer, offset) for offset, shape, dtype in places]


def move(model, arrays):
    """Move the parameters of a model into other arrays.

    arrays   list of ndarrays of the shapes and dtypes of model.parameters(): they get the
             numbers of the parameters, and become their `.data`
    """
    for p, array in zip(model.parameters(), arrays):
        array[...] = p.data
        p.data = array


class DataParallel:
    """A model that several processes train together, as a context manager.

    loss     function loss(model, x, y) that returns a Tensor of shape (): a mean over the rows

    ValueError otherwise.
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

        returns  float: the loss of the whole batch, the mean over all rows
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


class GradScaler(NumPyNames):
    """Dynamic loss scaling."""

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
