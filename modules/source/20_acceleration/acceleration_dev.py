# %% [markdown]
# # 20. Acceleration
#
# How much faster can a training step become without a change of its result? The picture shows
# three programs for one training step of the GPT of lesson 15, which compute the same losses,
# to five decimals.

# %% tags=["payoff"]
from tinytorch.pictures.acceleration import (GPTSteps, amdahl_curve, count_page_faults,
                                             draw_parallel, draw_slots, gradients_of_logits,
                                             large_gpt, plot_gradients, plot_ladder,
                                             plot_speeds, plot_throughput, quick_ladder,
                                             token_batch)

figure = plot_ladder(quick_ladder(rounds=3))
# caption: Fused operations and reused memory save more than half of the time, and change no
# result.
# alt: Three bars, the milliseconds of one training step. The composed step takes longest, the
# fused one about two thirds of that. With reused memory, the fused step takes about half of the
# fused step's time, or less.

# %% [markdown]
# The first program is composed of simple operations, such as `+` and `exp`. The second one uses
# the *fused* operations of lessons 05, 11, 14 and 15: cross-entropy, layer norm, attention and
# GELU are one operation each, with its own gradient rule. The third one is the same as the
# second, but the C library manages its memory differently. In this chapter you find out why
# that matters so much, and you write three more ways to save time or memory: matrix products in
# blocks, many requests in one batch, and several processes that train one model. You judge most
# gains with the intervals of lesson 19.
#
# **You need** 15 (Transformers), 16 (Generation) and 19 (Profiling). **You build** matrix
# products, a memory pool, GELU without new arrays, a fair race, a scheduler, data parallelism
# and loss scaling.

# %%
#| default_exp core.acceleration
#| export
import math
import time

import numpy as np

from tinytorch.core.profiling import race, ratio_interval
from tinytorch.core.tensor import Tensor
from tinytorch.support.missing_names import NumPyNames
from tinytorch.support.worker_processes import SharedMemory, Worker, make_backward

# %% [markdown] page="Memory and time"
# ## The order of a matrix product
#
# We begin with the matrix product, the operation of every layer. A matrix product of size $n$
# is $n^3$ multiplications and additions, in any order. Here they are in pure Python, and once
# more with one dot product for each element of the result:

# %%
def matmul_lists(a, b):
    """The product of two matrices, given as nested lists."""
    out = [[0.0] * len(b[0]) for _ in a]
    for i in range(len(a)):
        for j in range(len(b[0])):
            for k in range(len(b)):
                out[i][j] += a[i][k] * b[k][j]
    return out


def matmul_dots(a, b):
    """The product of two arrays, by one dot product for each element."""
    return np.array([[row @ column for column in b.T] for row in a])

# %% [markdown]
# The three loops can be exchanged. With `k` in the *outer* loop, each step adds an **outer
# product** to the whole result: the matrix of all products of an element of column `k` of `a`
# and an element of row `k` of `b`. NumPy computes it in one call.
#
# **Task.** Write `matmul_outer`. Predict first: for matrices of size 128, by which factor is it
# faster than `matmul_lists`, and by which factor slower than `@`?

# %% A matrix product of outer products exercise="matmul-outer"
#| export
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
    ### BEGIN SOLUTION
    out = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    for k in range(a.shape[1]):
        out += a[:, k : k + 1] * b[k]
    return out
    ### END SOLUTION

# %% checks="matmul-outer"
check("matmul-outer")

# %% tags=["answer", "explained"]
rng = np.random.default_rng(0)
a, b = rng.normal(size=(2, 128, 128)).astype("float32")
products = {"lists": lambda a=a.tolist(), b=b.tolist(): matmul_lists(a, b),
            "dots": lambda: matmul_dots(a, b),
            "outer": lambda: matmul_outer(a, b),
            "@": lambda: a @ b}
times = race(products, 5, rng=0, clock=time.process_time)
for name, calls in zip(products, (128**3, 128**2, 128, 1)):
    low, high = ratio_interval(times["lists"], times[name], rng=0)
    print(f"{name:6}{calls:10,} steps in Python, {low:8.1f} to {high:.1f} times as fast")

# %% [markdown]
# All four do the same 2.1 million multiplications. Fewer steps in Python make a product faster,
# although their number does not predict the ratios, because one step of `outer` does more work
# than one step of `dots`. `matmul_outer` is still far from `@`: each of its steps reads and
# writes the whole result.
#
# ## Blocks that fit the cache
#
# The order of the work decides which numbers are at hand. A **cache** is a small, fast memory
# in the processor that keeps the numbers used last. All other numbers must come from main
# memory, which is many times slower. So an algorithm should use a number often while it is in
# the cache.
#
# `matmul_outer` does two floating-point operations for each element of the result that it reads
# and writes. Now cut the matrices into blocks of $s$ rows and $s$ columns. The product of two
# blocks reads $2 s^2$ numbers and does $2 s^3$ operations: $s$ for each number read. If the
# blocks fit the cache, fewer numbers must come from main memory.
#
# $$C_{IJ} = \sum_K A_{IK} B_{KJ}$$
#
# The formula is the same as for numbers; the letters now stand for blocks. The last block of a
# row or a column may be smaller. A slice such as `a[96:128]` of 100 rows has 4 rows, so it
# needs no special case.
#
# **Task.** Write `matmul_blocked`. Multiply single blocks with `@`.

# %% A matrix product in blocks exercise="matmul-blocked"
#| export
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
    ### BEGIN SOLUTION
    (n, inner), m = a.shape, b.shape[1]
    out = np.zeros((n, m), a.dtype)
    for i in range(0, n, block):
        for j in range(0, m, block):
            for k in range(0, inner, block):
                left, right = a[i : i + block, k : k + block], b[k : k + block, j : j + block]
                out[i : i + block, j : j + block] += left @ right
    return out
    ### END SOLUTION

# %% checks="matmul-blocked"
check("matmul-blocked")

# %% tags=["demonstration"]
figure = plot_speeds({"lists": lambda a, b: matmul_lists(a.tolist(), b.tolist()),
                      "dots": matmul_dots, "outer": matmul_outer,
                      "blocks of 64": lambda a, b: matmul_blocked(a, b, 64),
                      "@": lambda a, b: a @ b}, sizes=[16, 32, 64, 128, 256, 512, 1024])
# alt: Billions of operations per second against the size of the matrices, on logarithmic axes.
# Lists are lowest and flat, then dots and outer. Blocks of 64 rise with the size and stay high;
# @ is above all of them.

# %% [markdown]
# `@` calls BLAS, a library that cuts the matrices into blocks for each cache and for the
# registers of the processor, and is written in assembly language for each processor. The inner
# `@` of the blocks uses the same code. Predict: which size of block is the fastest for matrices
# of size 512?

# %% tags=["answer", "explained"]
a, b = rng.normal(size=(2, 512, 512)).astype("float32")
times = race({size: lambda size=size: matmul_blocked(a, b, size)
              for size in (16, 64, 256, 512)}, 3, rng=0, clock=time.perf_counter)
for size in times:
    print(f"blocks of {size:3}: {2e-9 * 512**3 / np.median(times[size]):6.1f} GFLOP per second")

# %% [markdown]
# Larger blocks are faster, and a block of 512 is one call of `@`. `matmul_blocked` does not
# show an effect of the cache, because BLAS already makes blocks that fit it, and small blocks
# only add calls from Python. A version in Python cannot be faster than `@`, because NumPy
# cannot tell the processor what to keep in its registers. What remains is to give BLAS more
# work per call, to move fewer bytes, and to use several processes.
#
# ## New memory
#
# After the arithmetic we look at memory. Each NumPy operation puts its result into a new array.
# For an array of 1 MB, the C library asks the operating system for memory, and gives it back
# when the array is deleted. The system does not give memory at once, only addresses. A **page
# fault** is an interruption at the first write to a page of memory, mostly 4 kB: the system
# finds a free page and fills it with zeros.
#
# The table compares three ways to add two arrays of 1 MB. Predict: how many page faults does
# one addition cause when its result is a new array?

# %% tags=["answer", "explained"]
for way, faults, milliseconds in count_page_faults():
    print(f"{way:34}{faults:6} page faults, {milliseconds:.3f} ms")

# %% [markdown]
# 1 MB has about 245 pages of 4 kB. On Linux, the page faults take longer than the addition. The
# C library of Linux (glibc) can keep freed memory for the next array. `keep_freed_memory()`,
# which lessons 10 and 14 call, tells it to do so; the line "memory kept" shows the result. The
# lines are measured in new Python processes. In the process of the first line, the environment
# variable `MALLOC_MMAP_THRESHOLD_` makes glibc give all freed memory back. Other C libraries
# have no such variable, so on other systems the first line is missing.
#
# ## A memory pool
#
# The remedy is to use the same memory again. A **caching allocator** is a part of a library
# that keeps the memory of deleted arrays and uses it for new arrays. GPU libraries have one,
# because getting memory from a GPU's driver is even slower. Write a small one. Its blocks of
# memory are arrays of bytes; `block.view(dtype)` gives the same memory another dtype. A block
# is reused for any array of exactly as many bytes.
#
# After `take`, an array counts as *taken*, until `give` gets it back. Giving back the same
# array twice would be dangerous: two later calls of `take` would get the same memory, and each
# would overwrite the other's numbers. So the given lines of `give` raise an error for an array
# that is not taken. The pool finds an array by its `id`, but because Python uses the `id` of a
# deleted object again for a new one, it must also keep the array itself.
#
# **Task.** Write `take` and `give`.

# %% A memory pool exercise="buffers"
#| export
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
        ### BEGIN SOLUTION
        size = math.prod(shape) * np.dtype(dtype).itemsize
        blocks = self.free.get(size)
        block = blocks.pop() if blocks else np.empty(size, np.uint8)
        array = block.view(dtype).reshape(shape)
        self.taken[id(array)] = array, block
        self.used += size
        self.peak = max(self.peak, self.used)
        return array
        ### END SOLUTION

    def give(self, array):
        """Give back an array that `take` returned, so that its memory can be used again.

        ValueError, with the array's shape in it, when the array is not taken: it comes from
        elsewhere, is a view of a taken array, or was given back before.
        """
        if id(array) not in self.taken:
            raise ValueError(f"this array of shape {np.shape(array)} is not taken: `take` "
                             "did not return it, or it was given back before")
        ### BEGIN SOLUTION
        _, block = self.taken.pop(id(array))
        self.free.setdefault(block.nbytes, []).append(block)
        self.used -= block.nbytes
        ### END SOLUTION

# %% checks="buffers"
check("buffers")

# %% [markdown]
# ## In-place operations
#
# A pool makes new arrays cheap, although it is better still to make none. An **in-place
# operation** writes its result into an existing array. NumPy's functions have an argument `out`
# for that, and `t += 1` also writes into `t`. The formula of GELU, the activation function of
# lesson 15,
#
# $$\mathrm{gelu}(x) = \tfrac12 x \left(1 + \tanh(c\,(x + 0.044715\,x^3))\right), \qquad
# c = \sqrt{2 / \pi}$$
#
# needs eight operations in NumPy, or nine if $x^3$ is `x * x * x`, and each makes an array. One
# array for intermediate results is enough. Write $c\,(x + 0.044715\,x^3)$ as
# $(0.044715\,c\,x^2 + c)\,x$, and compute it step by step in `scratch`.
#
# Do not write `x**3` or `np.power(x, 3)`. NumPy computes them with a function for any exponent;
# the demonstration below shows what that costs.
#
# **Task.** Write `gelu_into`. The output may be the array `x` itself. At which step may you
# write into `out` for the first time?

# %% GELU into a buffer exercise="gelu-into"
#| export
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
    ### BEGIN SOLUTION
    np.multiply(x, x, out=scratch)
    scratch *= 0.044715 * c
    scratch += c
    scratch *= x
    np.tanh(scratch, out=scratch)
    scratch += 1
    scratch *= 0.5
    return np.multiply(scratch, x, out=out)
    ### END SOLUTION

# %% checks="gelu-into"
check("gelu-into")

# %% [markdown] page="Fewer passes over memory"
# ## Fusion
#
# `gelu_into` still goes through memory eight times: each step reads a whole array and writes
# one. An array that is larger than the cache comes from main memory eight times.
#
# **Operator fusion** is the computation of several operations in one pass over the data. A
# compiler can keep one number in a register and apply all steps to it. NumPy has no such loop,
# but it can do nearly the same with blocks: apply all steps to a block that fits the cache,
# then go on to the next one.
#
# **Task.** Write `gelu_fused`. It takes its only scratch array from a pool. `x.reshape(-1)` is
# a view with one axis.

# %% GELU in blocks exercise="gelu-fused"
#| export
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
    ### BEGIN SOLUTION
    scratch = buffers.take((min(block, x.size),), x.dtype)
    flat, flat_out = x.reshape(-1), out.reshape(-1)
    for start in range(0, x.size, block):
        part = flat[start : start + block]
        gelu_into(part, flat_out[start : start + block], scratch[: part.size])
    buffers.give(scratch)
    return out
    ### END SOLUTION

# %% checks="gelu-fused"
check("gelu-fused")

# %% [markdown]
# How much does each version gain? Predict for an array of 32 MB: which of the last three is the
# fastest, and by how much?

# %% tags=["answer", "explained"]
def gelu_composed(x, cube=lambda x: x * x * x):
    c = math.sqrt(2 / math.pi)
    return 0.5 * x * (1 + np.tanh(c * (x + 0.044715 * cube(x))))


buffers = Buffers()
for megabytes in (1, 32):
    x = np.random.default_rng(0).normal(size=megabytes * 250_000).astype("float32")
    out, scratch = np.empty_like(x), np.empty_like(x)
    versions = {"composed, x**3": lambda: gelu_composed(x, lambda x: x**3),
                "composed, x * x * x": lambda: gelu_composed(x),
                "in place": lambda: gelu_into(x, out, scratch),
                "in place, in blocks": lambda: gelu_fused(x, out, buffers)}
    if megabytes > 1:
        del versions["composed, x**3"]  # it takes too long
    times = race(versions, 7, rng=0, clock=time.process_time)
    before = list(times)[0]
    for name in times:
        low, high = ratio_interval(times[before], times[name], rng=0)
        print(f"{megabytes:2} MB, {name:20}{1e9 * np.median(times[name]) / x.size:6.1f} ns per "
              f"element, {low:.2f} to {high:.2f} times as fast as the line before")
        before = name

# %% [markdown]
# An array of 1 MB fits the cache of most processors. Blocks gain little there, and they can
# cost time, because each block needs its own NumPy calls. An array of 32 MB does not fit, and
# there blocks gain.
#
# ## A fair ladder
#
# Now back to the training step. A *ladder* is a list of programs in which each is compared with
# the one before it. The picture at the beginning is a ladder of three programs. A faster
# program counts only if two conditions hold: it computes the same as before, and the interval
# of the ratio does not contain 1. Without the first condition, the fastest step would be one
# that forgets half of the batch.
#
# **Task.** Write `ladder`. Because `race` calls functions without arguments and drops their
# results, wrap each variant in a function that also appends its loss to a list. Take care with
# functions made in a loop: a lambda looks its variables up when it is *called*.

# %% A fair comparison of versions exercise="ladder"
#| export
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

    ### BEGIN SOLUTION
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
    ### END SOLUTION

# %% checks="ladder"
check("ladder")

# %% [markdown]
# `GPTSteps` gives the variants. "Composed" is a GPT whose layer norm, GELU, attention and
# cross-entropy are composed of simple operations. In "norm, GELU fused" the first two are the
# fused operations of lessons 11 and 15, in "all fused" all four are: attention is fused by
# `fuse_attention(model)`. The variants with "new memory" run in a process whose freed memory is
# not kept; without glibc there are none. The clock is the processor time of the processes in
# which the steps run.

# %%
with GPTSteps() as steps:
    times, gains = ladder(steps.path(), rounds=5, rng=0, clock=steps.seconds)

# %%
with GPTSteps() as steps:  # new processes, which start from the first weights again
    others, other_gains = ladder(steps.reused(), rounds=5, rng=0, clock=steps.seconds)

# %%
for raced, intervals in [(times, gains), (others, other_gains)]:
    for name, (low, high) in intervals.items():
        verdict = "no difference seen" if low <= 1 <= high else f"{low:.2f} to {high:.2f} times"
        verdict = "" if low == high == 1 else f"{verdict}, compared with the line before"
        print(f"{name:32}{1000 * np.median(raced[name]):6.1f} ms  {verdict}")
first, last = list(times)[0], list(times)[-1]
low, high = ratio_interval(times[first], times[last], rng=0)
print(f"{last}: {low:.2f} to {high:.2f} times as fast as {first}")

# %% tags=["payoff"]
figure = plot_ladder(times | others)
# alt: Bars: the milliseconds of a training step, composed, half fused and fused, each with new
# memory and with reused memory. With new memory the bars are about twice as long; the fused
# step with reused memory is the shortest.

# %% [markdown]
# In each of the two races, the losses of all variants are equal to five decimals; otherwise
# `ladder` would have raised an error. One variant, "all fused, reused memory", is in both
# races, so it has two times. The picture shows the second one. The gain of fusion depends on
# the memory: a fused operation creates fewer arrays, and an array costs more when its memory is
# new. Compare the gain from "all fused, new memory" to "all fused, reused memory" with the two
# gains of fusion before it: it is about as large as both together, and needs no change of the
# model.
#
# A pool such as `Buffers` is not in this ladder: the C library already keeps freed memory. A
# pool helps where nothing else keeps it, as for the memory of a GPU.

# %% [markdown] page="Several requests, several processes"
# ## Requests in batches
#
# The next gain comes from more work in each pass. A generating GPT reads all its weights for
# each token. For one request, each product is a matrix times a vector: two operations for each
# weight read. With 16 requests in one batch, each weight that is read serves 16 tokens.
# `generate` of lesson 16 already accepts a batch. Predict: how many times as many tokens per
# second do 16 requests give?

# %% tags=["answer", "explained"]
from tinytorch.core.generation import generate

model, speeds = large_gpt().eval(), {}
for batch in (1, 2, 4, 8, 16, 32, 64):
    prompts = np.random.default_rng(0).integers(0, model.vocab_size, (batch, 8))
    times = race({batch: lambda: generate(model, prompts, 40, temperature=0)}, 2,
                 clock=time.process_time)[batch]
    speeds[batch] = batch * 40 / np.median(times)
print(f"16 requests: {speeds[16] / speeds[1]:.1f} times the tokens of one")
figure = plot_throughput(speeds)
# alt: Tokens per second against the requests in a batch, on logarithmic axes. The curve rises
# nearly in proportion at first and becomes flat at 16 to 64 requests.

# %% [markdown]
# Why not 16 times? The requests share the reading of the weights and the calls from Python, but
# they need 16 times as many operations, and each reads its own keys and values. As in the
# roofline of lesson 19, a larger batch gains little when the operations take most of the time.
#
# For a GPU, the roofline gives an upper bound. For each token, a model reads every weight, 4
# bytes, and uses it in one multiplication and one addition. With a batch of B requests, it uses
# each weight B times, but each request also has its own keys and values. Below, GPT-2 has
# written 512 tokens for each request. The GPU is an A100: by its data sheet, 19.5e12 FLOPs and
# 1.555e12 bytes per second, so its ridge point is 12.5 FLOPs per byte. Predict: from which
# batch size on does arithmetic limit the speed?

# %% tags=["answer", "explained"]
from tinytorch.core.profiling import Machine, roofline

weights, cached = 124e6, 2 * 12 * 768 * 512  # cached: numbers in a request's keys and values
for batch in (1, 4, 16, 64, 256):
    flops = 2 * batch * (weights + cached)
    moved = 4 * (weights + batch * cached)
    step, limit = roofline(flops, moved, Machine(19.5e12, 1.555e12))
    print(f"batch {batch:3}: {flops / moved:4.1f} FLOPs per byte, {batch / step:7,.0f} tokens "
          f"per second, limited by {limit}")

# %% [markdown]
# It never does: memory is always the limit. With one request, the GPU does 4 % of the FLOPs
# that it could. With 64, most bytes are keys and values, and each is used for one request only.
# So many large models share them between heads (*grouped-query attention*), in fewer bits.
#
# A batch also has a price: a request waits until there are others, and all of them end late if
# one is long. In **static batching**, the requests of a batch start together, and the next
# batch starts when the longest one has ended. In **continuous batching**, the next request
# starts as soon as a place is free, after any step.

# %%
draw_slots([10, 1, 1, 1, 1, 1], batch=2)
# caption: With continuous batching, no place waits for the longest request.
# alt: Two places over time, for requests of 10, 1, 1, 1, 1 and 1 tokens. Static: the second
# place is empty during 9 of the first 10 steps; the others follow, 12 steps in all. Continuous:
# the short requests follow each other on the second place, 10 steps.

# %% [markdown]
# **Task.** Write `steps_needed`. For continuous batching, keep the step at which each place
# becomes free.

# %% Steps for a queue of requests exercise="steps-needed"
#| export
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
    ### BEGIN SOLUTION
    if not continuous:
        return sum(max(lengths[i : i + batch]) for i in range(0, len(lengths), batch))
    free = [0] * batch
    for length in lengths:
        free[free.index(min(free))] += length
    return max(free)
    ### END SOLUTION

# %% checks="steps-needed"
check("steps-needed")

# %% tags=["demonstration"]
lengths = np.random.default_rng(0).geometric(1 / 40, 400).tolist()
for continuous in (False, True):
    steps = steps_needed(lengths, 16, continuous)
    print(f"continuous={continuous!s:6}{steps:5} steps, {sum(lengths) / steps:.1f} tokens per "
          "step of at most 16")

# %% [markdown]
# The lengths are drawn so that each next token ends a request with the same probability, 1 in
# 40. In static batching, more than half of the places are empty, because their requests have
# ended.
#
# ## Shards of a batch
#
# So far one process has used one core, and to use several, we divide the work. **Data
# parallelism** is training in which each process has the whole model and computes the gradient
# of a part of each batch, a *shard*. Then the gradients are combined.
#
# The loss is a mean over the rows of the batch. The gradient of the whole batch is therefore
# the mean of the gradients of its rows, and a shard with $r_i$ of the $r$ rows has the weight
# $r_i / r$:
#
# $$\nabla L = \sum_i \frac{r_i}{r} \nabla L_i$$
#
# The plain mean of the shards' gradients is wrong when the shards differ in length.
#
# **Task.** Write `shards`, in a single process. It is useful on its own: **gradient
# accumulation** computes the gradient of a large batch in parts, to save memory.
# `np.array_split` cuts an array into nearly equal parts.

# %% Gradients of a shard exercise="shards"
#| export
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
    ### BEGIN SOLUTION
    total = [np.zeros_like(p.data) for p in model.parameters()]
    for rows in np.array_split(np.arange(len(x)), min(n, len(x))):
        for t, g in zip(total, gradients_of(loss, model, x[rows], y[rows])):
            t += len(rows) / len(x) * g
    return total
    ### END SOLUTION

# %% checks="shards"
check("shards")

# %% [markdown]
# Predict the largest difference between the gradient of 5 rows of tokens and the gradient from
# 2 shards, of 3 and 2 rows: 0, about 1e-7, or about 1e-3?

# %% tags=["answer"]
from tinytorch.core.transformers import lm_loss

model, (x, y) = large_gpt(), token_batch(rows=5, seed=0)
whole, parts = gradients_of(lm_loss, model, x, y), shards(lm_loss, model, x, y, 2)
print(f"largest difference {max(np.abs(a - b).max() for a, b in zip(whole, parts)):.1e}, "
      f"largest gradient {max(np.abs(a).max() for a in whole):.1e}")

# %% [markdown]
# ## Shared memory
#
# Two processes do not see each other's variables. Sending all weights and all gradients through
# a pipe at each step would cost time: for the GPT, 3 MB each. **Shared memory** is memory that
# several processes map into their addresses: what one of them writes, all of them read.

# %%
draw_parallel()
# alt: One block of shared memory: the weights, then the gradient of worker 1, then that of
# worker 2. Arrows: each worker reads the weights and writes its own gradient. The main process
# reads both gradients and writes the weights.

# %% [markdown]
# The weights are there once. Each worker computes with them and writes its gradient to its own
# place. The main process combines the gradients and updates the weights *in place*, so that all
# workers have the new weights at once, without any message.
#
# `np.ndarray(shape, dtype, buffer, offset)` is an array whose numbers are in a given block of
# memory, from byte `offset` on. Each array begins at a multiple of 64 bytes, because caches
# hold 64 bytes at a time: if two processes write into the same 64 bytes, a write by one process
# removes these 64 bytes from the cache of the other processor core.
#
# **Task.** Write `layout`, `views` and `move`. In `move`, make each parameter's `.data` *the*
# array in the memory, not a copy.

# %% Arrays in shared memory exercise="shared"
#| export
def layout(arrays):
    """The places of arrays in one block of memory.

    arrays   list of ndarrays
    returns  (places, size): for each array (offset, shape, dtype), and the bytes of the block,
             which is the end of the last array (0 without arrays). The arrays lie one after the
             other, each at the first multiple of 64 that is free

    >>> layout([np.zeros(3, "float32"), np.zeros((2, 2))])
    ([(0, (3,), dtype('float32')), (64, (2, 2), dtype('float64'))], 96)
    """
    ### BEGIN SOLUTION
    places, end = [], 0
    for array in arrays:
        offset = -(-end // 64) * 64
        places.append((offset, array.shape, array.dtype))
        end = offset + array.nbytes
    return places, end
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    return [np.ndarray(shape, dtype, buffer, offset) for offset, shape, dtype in places]
    ### END SOLUTION


def move(model, arrays):
    """Move the parameters of a model into other arrays.

    model    Module
    arrays   list of ndarrays of the shapes and dtypes of model.parameters(): they get the
             numbers of the parameters, and become their `.data`
    returns  None
    """
    ### BEGIN SOLUTION
    for p, array in zip(model.parameters(), arrays):
        array[...] = p.data
        p.data = array
    ### END SOLUTION

# %% checks="shared"
check("shared")

# %% [markdown]
# ## Two processes train one model
#
# With shards and shared memory, two processes can train together. The class below starts the
# processes. Each **worker** is a new Python process (the start method *spawn*), not a copy of
# this one. A copy (*fork*) is faster to start, but does not exist on Windows, and can hang when
# the process has threads, as BLAS has.
#
# A new process has none of our functions. It must import them, so `build` and `loss` must be in
# a file. Functions that are defined in a notebook or script are refused, with a message that
# says what to do. Functions of the library are fine, such as `lm_loss`. (In Python's own module
# `multiprocessing`, each new process imports the *script* again, so a script must start
# processes below `if __name__ == "__main__":`. Our workers do not import it.)
#
# Whatever happens, nothing may be left behind. Our shared memory has no name, so it is freed
# with the last process that uses it. A worker reads its tasks from a connection to the main
# process. The worker ends when this connection is closed: after an error, after Ctrl-C, and
# even when the main process is killed.
#
# `worker.send(x, y)` starts the computation of a worker and returns at once. `worker.receive()`
# waits until the worker has written its gradient, and returns its loss, a float.
#
# **Task.** Write `backward`. When must you call `send`, and when `receive`, so that the workers
# compute at the same time?

# %% Data-parallel training exercise="data-parallel"
#| export
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
        ### BEGIN SOLUTION
        parts = np.array_split(np.arange(len(x)), min(len(self.workers), len(x)))
        for worker, rows in zip(self.workers, parts):
            worker.send(x[rows], y[rows])
        losses = [worker.receive() for worker, rows in zip(self.workers, parts)]
        shares = [len(rows) / len(x) for rows in parts]
        for p, *gradients in zip(self.model.parameters(), *self.gradients):
            g = sum(share * gradient for share, gradient in zip(shares, gradients))
            p.grad = g if p.grad is None else p.grad + g
        return sum(share * loss for share, loss in zip(shares, losses))
        ### END SOLUTION

# %% checks="data-parallel"
check("data-parallel")

# %% [markdown]
# Train the GPT in one process and in two, with equal batches of 16 rows. The losses should be
# equal up to rounding. What about the time? Forward and backward pass are divided by two, and
# the rest of the step is not. With the share of these passes, Amdahl's law of lesson 19 gives
# an upper bound.

# %%
import itertools

from tinytorch.core.optimizers import AdamW, clip_grad_norm_
from tinytorch.core.profiling import amdahl


def trained(model, backward, spent):
    """A function that does one training step and returns its loss; the seconds of `backward`
    are added to the list `spent`."""
    optimizer, count = AdamW(model.parameters(), lr=1e-3), itertools.count()

    def step():
        x, y = token_batch(rows=16, seed=next(count))
        optimizer.zero_grad()
        start = time.perf_counter()
        loss = backward(x, y)
        spent.append(time.perf_counter() - start)
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss
    return step


def backward_alone(x, y):
    loss = lm_loss(single, x, y)
    loss.backward()
    return float(loss)


single, spent = large_gpt(), []
with DataParallel(large_gpt, lm_loss, workers=2) as parallel:
    steps = {"one process": trained(single, backward_alone, spent),
             "two processes": trained(parallel.model, parallel.backward, [])}
    times, gains = ladder(steps, rounds=12, rng=0, clock=time.perf_counter)
low, high = gains["two processes"]
share = sum(spent[1:]) / times["one process"].sum()
print(f"two processes: {low:.2f} to {high:.2f} times as fast; {share:.1%} of the step is "
      f"divided, so at most {amdahl(share, 2):.2f} times")

# %%
figure = amdahl_curve(lambda workers: amdahl(share, workers), low, high)
# alt: The bound of Amdahl's law against the number of workers, from 1 to 4: a curve that rises
# and bends away from the dotted line of a perfect speed-up. The measured interval for two
# workers is at or below the curve.

# %% [markdown]
# `ladder` compared the losses of 13 steps: they differ by at most 1e-5. The ratio depends on
# the computer and on what else it is doing, because two processes need two free cores. Is the
# ratio below 1? Then the second core was not free, or the computer has only one, and the
# workers had to wait for each other. The ratio also depends on BLAS, which can use several
# threads for one product. The workers use one thread each. `tito test` sets the variable
# `OMP_NUM_THREADS` to 1, so that the main process uses one thread, too; in a notebook, one
# process may already use all cores.
#
# ## A ring of workers
#
# Our main process reads the gradient of each worker. With n machines in a network, it would
# receive n gradients. In **ring all-reduce**, each worker sends only to the next one, and in
# the end all have the sum. The gradient is cut into n parts. In n - 1 turns the parts go
# around, and each worker adds its own numbers; in n - 1 more turns the finished parts go
# around. Predict: how many bytes does each of 64 workers send, as a multiple of the bytes of
# the gradient?

# %% tags=["answer", "explained"]
def ring_all_reduce(gradients):
    """The sum of the gradients at each worker, and the bytes that one worker sends."""
    n, sent = len(gradients), 0
    parts = [np.array_split(g.copy(), n) for g in gradients]
    for turn in range(2 * (n - 1)):
        moving = [((w - turn) % n, parts[w][(w - turn) % n].copy()) for w in range(n)]
        for w, (part, values) in enumerate(moving):
            target = parts[(w + 1) % n]
            target[part] = target[part] + values if turn < n - 1 else values
        sent += moving[0][1].nbytes
    return [np.concatenate(p) for p in parts], sent

for n in (2, 4, 64):
    gradients = np.random.default_rng(0).normal(size=(n, 6400))
    sums, sent = ring_all_reduce(gradients)
    apart = max(abs(s - gradients.sum(axis=0)).max() for s in sums)
    print(f"{n:2} workers: each sends {sent / gradients[0].nbytes:.2f} gradients; the sums "
          f"differ by {apart:.0e}")

# %% [markdown]
# It is 2 (n - 1) / n: less than two gradients, for any number of workers. After the first
# half, each worker has 1/n of the finished sum. With **sharded states**, each worker keeps only
# that part of the optimizer's state, and updates only that part of the weights, which then go
# around in the second half. AdamW's 8 bytes per weight become 8 / n: for 10⁹ weights and 8
# workers, 1 GB each in place of 8 GB.
#
# In **tensor parallelism**, each worker holds a part of every matrix. Then the outputs are
# summed, twice in the forward pass of a block: for 1,024 tokens of 768 float32 numbers 3.1 MB,
# twice in each of the 12 blocks of GPT-2. This needs a fast connection, so it is used within
# one machine. (Rajbhandari et al., ZeRO, 2020; Shoeybi et al., Megatron-LM, 2019.)

# %% [markdown] page="Half precision, and the limits of NumPy"
# ## Loss scaling
#
# Numbers with fewer bits are another way to move fewer bytes. A float16 has 2 bytes, half of a
# float32, and GPUs have special hardware for it. But the smallest positive float16 is about
# 6e-8, and a number below half of that is rounded to 0. **Underflow** is the rounding of a
# result to 0 because it is too small for its format.
#
# The plot shows the gradient of the logits of a small trained GPT. Predict: which share of
# these numbers becomes 0 in float16?

# %% tags=["answer", "explained"]
g = gradients_of_logits()
for power in (0, 8, 16, 28):
    with np.errstate(over="ignore"):
        half = (g * np.float32(2**power)).astype("float16")
    zeros, infinite = half == 0, np.isinf(half)
    lost = g[zeros].sum() / g.sum()
    print(f"times 2**{power:2}: {zeros.mean():6.1%} become 0, with {lost:.0e} of the sum of "
          f"all; {infinite.mean():5.1%} become infinite")
figure = plot_gradients(g)
# alt: Histogram of the sizes of the gradients, on a logarithmic axis from 1e-14 to 1. Two
# thirds of them lie left of 3e-8, where they become 0 in float16; most of the others lie left
# of 6e-5, where float16 has fewer digits.

# %% [markdown]
# At 2**16, a quarter of the numbers still become 0, but together these are less than a
# millionth of the sum of all. Without a factor, most of the numbers that are left have fewer
# digits.
#
# **Mixed precision** is training with float16 for most arrays, and float32 for the weights,
# because small updates of float16 weights would be rounded away. **Loss scaling** multiplies
# the loss by a factor before the backward pass. By the chain rule, all gradients are multiplied
# by it, and small ones survive. Before the optimizer step, they are divided by it in float32.
#
# Too large a factor makes gradients infinite. *Dynamic* loss scaling finds a factor: skip a
# step whose gradients are not finite, and halve the factor; double it after many good steps.
#
# **Task.** Write `scale`, `step` and `update`. Together they are the longest exercise of the
# lesson, but each of them is short.

# %% The gradient scaler exercise="grad-scaler"
#| export
class GradScaler(NumPyNames):
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
        ### BEGIN SOLUTION
        return loss * self.factor
        ### END SOLUTION

    def step(self, optimizer):
        """Divide the `.grad` of the optimizer's parameters by the factor. Then call
        optimizer.step(), unless one of these gradients contains an infinite number or nan.

        The parameters are in group["params"], for each group in optimizer.param_groups.
        Parameters whose `.grad` is None are left out.
        """
        ### BEGIN SOLUTION
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        for p in parameters:
            if p.grad is not None:
                p.grad = p.grad / self.factor
                self.overflow |= not np.isfinite(p.grad).all()
        if not self.overflow:
            optimizer.step()
        ### END SOLUTION

    def update(self):
        """Choose the factor of the next step. After a skipped step it is halved, and counting
        starts again at 0. After `growth_interval` good steps in a row it is doubled, and
        counting also starts again."""
        ### BEGIN SOLUTION
        self.good = 0 if self.overflow else self.good + 1
        if self.overflow:
            self.factor *= 0.5
        elif self.good == self.growth_interval:
            self.factor, self.good = self.factor * 2, 0
        self.overflow = False
        ### END SOLUTION

# %% checks="grad-scaler"
check("grad-scaler")

# %% [markdown]
# Here each gradient of a weight is rounded to float16, as if the backward pass had computed
# with it. The first factor is much too large, on purpose.

# %% tags=["demonstration"]
model, factors, losses = large_gpt(), [], []
optimizer, scaler = AdamW(model.parameters(), lr=1e-3), GradScaler(2.0**28, growth_interval=10)
for i in range(30):
    loss = lm_loss(model, *token_batch(rows=2, seed=i))
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    with np.errstate(over="ignore"):
        for p in model.parameters():
            p.grad = p.grad.astype("float16").astype("float32")
    factors.append(int(math.log2(scaler.get_scale())))
    losses.append(float(loss))
    scaler.step(optimizer)
    scaler.update()
print("factor: 2 to the power", *factors)
print(f"loss: {losses[0]:.2f} to {losses[-1]:.2f}")

# %% [markdown]
# Does float16 pay here? Predict how much faster or slower a matrix product of size 128 is.

# %% tags=["answer", "explained"]
a, b = rng.normal(size=(2, 128, 128)).astype("float32")
c, d = a.astype("float16"), b.astype("float16")
times = race({"float16": lambda: c @ d, "float32": lambda: a @ b}, 5, rng=0,
             clock=time.process_time)
low, high = ratio_interval(times["float16"], times["float32"], rng=0)
print(f"float16 takes {low:.0f} to {high:.0f} times as long as float32")

# %% [markdown]
# NumPy has no fast float16 product: it uses a plain loop that converts each number. Here fewer
# bits save bytes but no time, and lesson 23 uses that.
#
# ## What NumPy cannot do
#
# | you wrote | at scale | what it can do and we cannot |
# | --- | --- | --- |
# | `matmul_blocked` | BLAS, cuBLAS | use the registers and vector units of each processor |
# | `gelu_fused` | lesson 21, `torch.compile`, XLA | generate machine code for any formula |
# | `Buffers` | PyTorch's caching allocator | split and merge blocks of any size |
# | `steps_needed` | vLLM, TensorRT-LLM | run rows of different lengths in one cache |
# | `DataParallel` | `DistributedDataParallel`, `jax.shard_map` | use several computers |
# | | Dask, Ray | schedule any tasks; continue after a computer has failed |
# | `GradScaler` | `torch.amp.GradScaler` | compute with float16 in hardware |
#
# From Python we choose the order of NumPy's calls and the place of their results. What happens
# inside a call is decided by compiled code, and more speed needs other compiled code. In lesson
# 21 you write a program that writes it.
#
# ## Look back
#
# 1. A colleague shows you a step that is 1.02 times as fast, with one run of each version. What
#    do you ask for?
# 2. A layer of your model is `BatchNorm1d`, or `Dropout`. Does `DataParallel` still compute the
#    losses of one process? What would have to be sent?
# 3. Which gains of this chapter would a GPU keep, and which ones are about NumPy?
#
# In PyTorch, `DistributedDataParallel` also uses one process per device and averages the
# gradients. There each process has its own weights and its own optimizer, all equal. The
# gradients of the last layers are sent while the first layers still compute theirs. PyTorch's
# older class `DataParallel`, from which ours has its name, uses threads, and its documentation
# recommends `DistributedDataParallel` instead.

# %% [markdown] tags=["answer"]
# 1. For several rounds of both versions in random order, and the interval of their paired
#    ratios. One run of each says nothing about a difference of 2 %.
# 2. No: `BatchNorm1d` would use the mean and variance of a part of the batch, and `Dropout`
#    other random numbers. The means and variances would have to be sent, and one generator
#    shared.
# 3. A GPU also gains from fused operations, from larger batches and from half the bytes. To
#    avoid new arrays and calls of Python is about NumPy and its memory.
