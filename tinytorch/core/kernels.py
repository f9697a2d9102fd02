# From modules/source/22_kernels/kernels_dev.py by `tito export`, docstrings shortened; edit that file.
# checksum: 5da9cc0d1f6a50ac
"""Kernels: What a GPU does with ten thousand threads: blocks, barriers, tiles and WGSL."""

import math

import numpy as np

from tinytorch.core.profiling import roofline
from tinytorch.core.tensor import strides_of
from tinytorch.gpu.fused import kernel_of
from tinytorch.gpu.simulator import launch, shared
from tinytorch.gpu.wgsl import Translator

__all__ = [
    "SIZE", "TILE", "add", "blocks_for", "add_row", "transactions", "bank_conflicts", "races", "transpose",
    "block_sum", "online_softmax", "layer_norm", "matmul", "HEAD", "attention", "Compiler", "compiled", "predicted",
]


SIZE = 64  # threads of a block with one axis
TILE = 16  # rows and columns of a block with two axes


def add(block, thread, a, b, out):
    """A kernel: the sum of two arrays, one element for each thread.

    a, b     float arrays of shape (n,)
    out      float array of shape (n,): the result
    """
    i = SIZE * block.x + thread.x
    if i < out.shape[0]:
        out[i] = a[i] + b[i]


def blocks_for(n, size):
    """How many blocks of `size` threads are needed for n elements: an int.

    >>> blocks_for(64, 64), blocks_for(65, 64)
    (1, 2)
    """
    return -(-n // size)


def add_row(block, thread, x, bias, out):
    """A kernel: a matrix plus a row, which is added to each row of the matrix.

    x        float array of shape (n, m)
    bias     float array of shape (m,)
    out      float array of shape (n, m): the result
    """
    i = TILE * block.y + thread.y
    j = TILE * block.x + thread.x
    if i < x.shape[0] and j < x.shape[1]:
        out[i, j] = x[i, j] + bias[j]


def transactions(addresses, itemsize=4):
    """How many pieces of 128 bytes the memory moves for one instruction of a warp.

    returns    int

    >>> transactions(range(32)), transactions(range(0, 2048, 64))
    (1, 32)
    """
    return len({address * itemsize // 128 for address in addresses})


def bank_conflicts(addresses):
    """How many steps more than one the shared memory needs for one instruction of a warp.

    returns    int

    >>> bank_conflicts(range(32)), bank_conflicts(range(0, 64, 2)), bank_conflicts([5] * 32)
    (0, 1, 0)
    """
    banks = [address % 32 for address in set(addresses)]
    return max(banks.count(bank) for bank in banks) - 1


def races(accesses):
    """The addresses for which the threads of a block race.

    returns   set of addresses which at least two threads use, and at least one of them writes

    >>> sorted(races([(0, 5, True), (1, 5, False), (0, 6, False), (1, 6, False), (2, 7, True)]))
    [5]
    """
    users, written = {}, set()
    for thread, address, writes in accesses:
        users.setdefault(address, set()).add(thread)
        if writes:
            written.add(address)
    return {address for address in written if len(users[address]) > 1}


def transpose(block, thread, a, out, tile=shared(32, 33)):
    """A kernel: the transpose of a matrix, by tiles of 32 x 32 in shared memory.

    a        float array of shape (n, m)
    out      float array of shape (m, n): the result
    """
    x, row, column = thread.x, 32 * block.y, 32 * block.x
    for y in range(thread.y, 32, 8):
        if row + y < a.shape[0] and column + x < a.shape[1]:
            tile[y, x] = a[row + y, column + x]
    yield
    for y in range(thread.y, 32, 8):
        if column + y < out.shape[0] and row + x < out.shape[1]:
            out[column + y, row + x] = tile[x, y]


def block_sum(block, thread, a, out, tile=shared(SIZE)):
    """A kernel: the sum of the SIZE elements that belong to each block.

    a        float array of shape (n,)
    out      float array of shape (blocks,): the sums
    """
    x = thread.x
    i = SIZE * block.x + x
    tile[x] = a[i] if i < a.shape[0] else 0.0
    yield
    step = SIZE // 2
    while step > 0:
        if x < step:
            tile[x] += tile[x + step]
        yield
        step //= 2
    if x == 0:
        out[block.x] = tile[0]


def online_softmax(block, thread, a, out):
    """A kernel: the softmax of each row, one thread for each row.

    a        float array of shape (n, m), any finite scores above -1e30
    out      float array of shape (n, m): the result
    """
    row = SIZE * block.x + thread.x
    if row < a.shape[0]:
        largest, total = -1e30, 0.0
        for j in range(a.shape[1]):
            score, before = a[row, j], largest
            largest = max(largest, score)
            total = total * math.exp(before - largest) + math.exp(score - largest)
        for j in range(a.shape[1]):
            out[row, j] = math.exp(a[row, j] - largest) / total


def layer_norm(block, thread, a, weight, bias, out, tile=shared(SIZE)):
    """A kernel: layer norm of each row, with eps 1e-5; one block for each row.

    a             float array of shape (n, m)
    weight, bias  float arrays of shape (m,)
    out           float array of shape (n, m): the result
    """
    row, x, n = block.x, thread.x, a.shape[1]
    total = 0.0
    for j in range(x, n, SIZE):
        total += a[row, j]
    tile[x] = total
    yield
    step = SIZE // 2
    while step > 0:  # given: the sum of the tile, in tile[0]
        if x < step:
            tile[x] += tile[x + step]
        yield
        step //= 2
    mean = tile[0] / n
    yield
    squares = 0.0
    for j in range(x, n, SIZE):
        difference = a[row, j] - mean
        squares += difference * difference
    tile[x] = squares
    yield
    step = SIZE // 2
    while step > 0:  # given: again
        if x < step:
            tile[x] += tile[x + step]
        yield
        step //= 2
    scale = 1.0 / math.sqrt(tile[0] / n + 1e-5)
    for j in range(x, n, SIZE):
        out[row, j] = (a[row, j] - mean) * scale * weight[j] + bias[j]


def matmul(block, thread, a, b, out, left=shared(TILE, TILE), right=shared(TILE, TILE)):
    """A kernel: the product of two matrices, with tiles of TILE x TILE in shared memory.

    a        float array of shape (n, k)
    b        float array of shape (k, m)
    out      float array of shape (n, m): the result
    """
    x, y = thread.x, thread.y
    i, j = TILE * block.y + y, TILE * block.x + x
    total = 0.0
    for k in range(0, a.shape[1], TILE):
        left[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else 0.0
        right[y, x] = b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else 0.0
        yield
        for s in range(TILE):
            total += left[y, s] * right[s, x]
        yield
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = total


HEAD = 16  # numbers of a query, a key and a value


def attention(block, thread, q, k, v, out, keys=shared(32, HEAD), values=shared(32, HEAD)):
    """A kernel: causal attention of one head, softmax(q kᵀ / sqrt(HEAD)) v, in tiles.

    q, k, v  float arrays of shape (T, HEAD)
    out      float array of shape (T, HEAD): the result
    """
    x, first, tokens = thread.x, 32 * block.x, q.shape[0]
    i = first + x
    query = [0.0] * HEAD
    sums = [0.0] * HEAD
    for n in range(x, 32 * HEAD, 32):  # neighbouring threads load neighbouring numbers
        if first + n // HEAD < tokens:
            keys[n // HEAD, n % HEAD] = q[first + n // HEAD, n % HEAD]
    yield
    if i < tokens:
        for d in range(HEAD):
            query[d] = keys[x, d] / math.sqrt(HEAD)
    yield
    largest, total = -1e30, 0.0
    for start in range(0, first + 32, 32):  # the tiles with keys that these queries look at
        for n in range(x, 32 * HEAD, 32):
            if start + n // HEAD < tokens:
                keys[n // HEAD, n % HEAD] = k[start + n // HEAD, n % HEAD]
                values[n // HEAD, n % HEAD] = v[start + n // HEAD, n % HEAD]
        yield
        if i < tokens:
            for j in range(min(32, i - start + 1)):
                score, before = 0.0, largest
                for d in range(HEAD):
                    score += query[d] * keys[j, d]
                largest = max(largest, score)
                p, scale = math.exp(score - largest), math.exp(before - largest)
                total = total * scale + p
                for d in range(HEAD):
                    sums[d] = sums[d] * scale + p * values[j, d]
        yield
    if i < tokens:
        for d in range(HEAD):
            keys[x, d] = sums[d] / total
    yield
    for n in range(x, 32 * HEAD, 32):
        if first + n // HEAD < tokens:
            out[first + n // HEAD, n % HEAD] = keys[n // HEAD, n % HEAD]


class Compiler(Translator):
    """A compiler from kernels to WGSL."""

    def promote(self, parts):
        """Expressions that are used together, all of one type."""
        types = {kind for _, kind in parts}
        if len(types) == 1:
            return [text for text, _ in parts], types.pop()
        return [text if kind == "f32" else f"f32({text})" for text, kind in parts], "f32"

    def address(self, index, shape):
        """The place of an element in memory."""
        text = ""
        for node, n in zip(index, shape):
            part, kind = self.translate(node)
            if kind == "f32":
                raise self.error(node, "an index is a whole number: write // instead of /")
            text = f"({text} * {n} + {part})" if text else part
        return text

    def compare(self, node):
        """A comparison, such as a < b or the chain 0 <= i < n."""
        parts = [self.translate(part) for part in (node.left, *node.comparators)]
        tests = []
        for a, op, b in zip(parts, node.ops, parts[1:]):
            (left, right), _ = self.promote([a, b])
            tests.append(f"({left} {self.sign(op, node)} {right})")
        return f"({' && '.join(tests)})", "bool"

    def select(self, node):
        """A choice between two values, such as a[i] if i < n else 0.0."""
        values = [self.translate(node.body), self.translate(node.orelse)]
        (yes, no), kind = self.promote(values)
        return f"select({no}, {yes}, {self.translate(node.test)[0]})", kind


def compiled(kernel, block, *arguments):
    """A kernel as a program in WGSL, a text.

    arguments  arrays, of which only the shapes and dtypes are used, and numbers, which become
               constants of the program

    CompileError, with the line, for what WGSL cannot say.
    """
    return Compiler(kernel, arguments).program(block)


def predicted(report, machine, flops=0):
    """The shortest time in which a GPU can run a kernel, by the roofline model."""
    return roofline(flops, 128 * report.transactions, machine)
