# %% [markdown]
# # 19. Profiling
#
# Which of two programs is faster, and by how much? A clock alone does not answer this. The
# picture has two columns of 60 lines. For each line a program raced against *itself*, 40 runs
# against 40 runs. The line is the interval in which the true ratio of the two times should lie.
# Because the true ratio is 1, a red line, which does not contain 1, declares a winner where
# there is none.

# %% tags=["payoff"]
import numpy as np

from tinytorch.pictures.profiling import (SimulatedComputer, aa_test, draw_intervals, draw_kept,
                                          draw_order, draw_roofline, draw_runs, draw_shares,
                                          page_faults_of, winners)

numbers = np.random.default_rng(0).normal(size=(256, 1024)).astype("float32")
draw_intervals(aa_test(lambda: np.tanh(numbers), rng=0))
# caption: Interleaved runs keep what a 95 % interval promises; separate runs do not.
# alt: Two columns of 60 horizontal lines around the ratio 1. On the left, both sides of a
# comparison were timed one after the other; on the right, their runs were interleaved. Lines
# that do not contain the ratio 1 are thick and red; the number of them is above each column.

# %% [markdown]
# Both columns were measured when this cell ran, and use the same statistics, so they differ
# only in the order of the runs. On the left, 40 runs of one side came first and then 40 runs of
# the other, as in most benchmarks that people write, while on the right the two sides took
# turns.
#
# In this chapter you write the method of the right column. Then you predict how much time an
# operation needs from two numbers, its FLOPs and its bytes, and measure whether that is true.
# At the end you take a GPT apart: where does it spend its time and its memory, and what would
# it gain if one part became faster?
#
# **You need** 06 (Autograd), 10 (Convolutions) and 15 (Transformers). **You build** timers,
# confidence intervals, formulas for FLOPs and bytes, the roofline model, a profiler for time
# and memory, and Amdahl's law.

# %%
#| default_exp core.profiling
#| export
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

# %% [markdown] page="Measuring time fairly"
# ## Measuring time
#
# To time a call, read a clock before it and after it, and subtract. One call is not enough,
# because no two calls take the same time. And the first call is special: it may load files,
# reserve memory and fill caches. A **warm-up run** is a call before the measurement whose time
# is not kept.
#
# **Task.** Write `seconds`.

# %% Measuring seconds exercise="seconds"
#| export
def seconds(f, repeat=5, warmup=1, clock=time.perf_counter):
    """How long each of several calls of `f` takes.

    f        a function without arguments; its result is not used
    repeat   int: how many calls are timed
    warmup   int: how many calls come before them and are not timed
    clock    a function that returns the time in seconds. It is read just before and just after
             each timed call, and at no other time
    returns  float64 array of shape (repeat,): the seconds of each timed call, in order

    >>> readings = iter([0.0, 2.0, 5.0, 6.0])
    >>> seconds(lambda: None, repeat=2, clock=lambda: next(readings))
    array([2., 1.])

    Source: Georges, Buytaert, Eeckhout, Statistically rigorous Java performance evaluation
    (2007), section 3.
    """
    ### BEGIN SOLUTION
    for _ in range(warmup):
        f()
    times = np.empty(repeat)
    for i in range(repeat):
        start = clock()
        f()
        times[i] = clock() - start
    return times
    ### END SOLUTION

# %% checks="seconds"
check("seconds")

# %% [markdown]
# Here are 200 runs of the program from the first picture, with `seconds`. Predict which of the
# three lines is highest: the minimum, the median (the middle one of the sorted times), or the
# mean.

# %% tags=["answer", "explained"]
program = lambda: np.tanh(numbers)
times = seconds(program, repeat=200)
print(f"minimum {1e6 * times.min():.0f}, median {1e6 * np.median(times):.0f}, "
      f"mean {1e6 * times.mean():.0f}, maximum {1e6 * times.max():.0f} microseconds")
figure = draw_runs(times)
# alt: 200 dots, one for each run, and three horizontal lines. The vertical axis is logarithmic.
# Most dots lie close together, a little above the minimum; some lie far above them.

# %% [markdown]
# A run can be interrupted, by another program for example, and then takes much longer. Hardly
# anything makes a run much shorter. So times have a long tail on one side, and while a few slow
# runs can make the mean much larger, they hardly move the median.
#
# Use the *median* for the typical time, and the *minimum* for the best that the machine can do.
#
# There are two kinds of clock. While `time.perf_counter` is like a clock on the wall,
# `time.process_time` counts only the time in which the processor works for this program, added
# up over its threads. Predict what each shows for a program that sleeps for 50 ms.

# %% tags=["answer"]
for each in (time.perf_counter, time.process_time):
    slept = seconds(lambda: time.sleep(0.05), repeat=3, clock=each)
    print(f"{each.__name__:12} {1000 * np.median(slept):6.2f} ms")

# %% [markdown]
# When another program gets the processor, `perf_counter` runs on and `process_time` stops. So
# `process_time` is better for a program with one thread on a busy computer. It is wrong for
# several threads and for waiting, and on some systems it advances in steps of many
# milliseconds. What the system says about these steps is not always true, so we read the clock
# until it advances. If the step is short, most measurements below use `process_time`:

# %%
steps = []
for _ in range(5):
    start = now = time.process_time()
    while now == start:
        now = time.process_time()
    steps.append(now - start)
clock = time.process_time if np.median(steps) < 1e-5 else time.perf_counter
print(f"process_time has steps of at most {np.median(steps):.0e} s: use {clock.__name__}")

# %% [markdown]
# ## Confidence intervals
#
# You have five times: 10, 10, 10, 11 and 90 ms. The median is 10 ms. How certain is that? If
# you could repeat the experiment a thousand times, the spread of the thousand medians would be
# the answer.
#
# The **bootstrap** uses *resamples* instead of new experiments. A resample is n values drawn
# from the n measured ones. They are drawn with replacement: a drawn value can be drawn again.
# So some values occur twice in a resample, and others not at all. The medians of many resamples
# spread about as much as the medians of new experiments would.
#
# A **confidence interval** of 95 % comes from a method whose intervals contain the true value
# in 95 % of all experiments. The bootstrap's interval is the middle 95 % of the resampled
# medians.
#
# **Task.** Write `median_interval`. `generator(rng)` of lesson 04 returns a NumPy Generator,
# whose method `choice` draws with replacement.

# %% The interval of the median exercise="median-interval"
#| export
RESAMPLES = 1000


def median_interval(times, level=0.95, rng=None):
    """A confidence interval for the median, by the bootstrap.

    times    array or list of n >= 1 numbers
    level    float between 0 and 1: the share of the medians that lie in the interval
    rng      a NumPy Generator, a seed, or None for the shared generator: see `generator`
    returns  (low, high), two floats. Draw RESAMPLES resamples of n values each, with
             replacement, and compute the median of each. Below `low` and above `high` lies the
             same share of these medians, (1 - level) / 2 each

    >>> median_interval([10, 10, 10, 11, 90], rng=0)
    (10.0, 90.0)

    Source: Efron and Tibshirani, An introduction to the bootstrap (1993), section 13.3.
    """
    ### BEGIN SOLUTION
    times = np.asarray(times, "float64")
    resamples = generator(rng).choice(times, (RESAMPLES, len(times)))
    medians = np.median(resamples, axis=1)
    low, high = np.quantile(medians, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
    ### END SOLUTION

# %% checks="median-interval"
check("median-interval")

# %% [markdown]
# The usual textbook interval is the mean plus or minus two standard errors, where the standard
# error is the standard deviation divided by $\sqrt n$. It supposes a symmetric distribution.
# Predict what it says about the five times.

# %% tags=["answer", "explained"]
five = np.array([10, 10, 10, 11, 90])
error = five.std(ddof=1) / np.sqrt(len(five))
print(f"mean   {five.mean():.1f}, from {five.mean() - 2 * error:.1f} "
      f"to {five.mean() + 2 * error:.1f} ms")
print("median 10, from {:.0f} to {:.0f} ms".format(*median_interval(five, rng=0)))
for n in (5, 50, 500):
    low, high = median_interval(seconds(program, n), rng=0)
    print(f"{n:3} runs of the program: {1e6 * low:.1f} to {1e6 * high:.1f} microseconds")

# %% [markdown]
# A time below zero is impossible, while the interval of the median stays among the measured
# times. It is also honest: as far as five runs can tell, the true median could be 90.
#
# The intervals of the program need not overlap, or contain the median that you saw in an
# earlier section. The bootstrap knows only the spread of the runs that it is given, and the
# speed of the computer has changed in the meantime.
#
# ## Drift and interleaving
#
# If 95 % of the intervals are right, how can the left column of the first picture have more
# than 3 red lines in 60? The two sides were not measured under the same conditions. **Drift**
# is a slow change of the speed of a computer, for example because the processor gets warm or
# another program starts. Two runs in a row have nearly the same speed, while the first 40 runs
# and the next 40 runs do not.
#
# To see drift clearly, we use a simulated computer. Its times are made up and are the same
# everywhere. Two names, a and b, stand for one and the same program.

# %%
def simulated(order):
    """The times of one run for each letter of `order`, on a computer whose speed drifts."""
    computer = SimulatedComputer(114)
    return seconds(computer.program, len(order), warmup=0, clock=computer.clock)


order = "a" * 40 + "b" * 40
figure = draw_order(order, simulated(order), "one after the other")
# alt: 80 runs of the simulated computer: 40 round blue dots of a, then 40 square orange dots of
# b. The dots rise slowly. The median of b, 1.13 ms, is above the median of a, 1.01 ms.

# %% tags=["demonstration"]
figure = draw_order("ab" * 40, simulated("ab" * 40), "interleaved")
# alt: The same slow rise. Blue and orange dots alternate, and their medians are nearly equal,
# 1.075 and 1.079 ms.

# %% [markdown]
# **Interleaving** means that the programs take turns, so that drift affects all of them
# equally. In each *round*, every program runs once. The order in a round matters also: because
# the program that runs first may find other data in the processor's cache than the one that
# runs second, each round uses a new random order.
#
# **Task.** Write `race`.

# %% An interleaved race exercise="race"
#| export
def race(functions, rounds, rng=None, clock=time.perf_counter):
    """Time several functions in turn, in a new random order in every round.

    functions  dict {name: function without arguments}
    rounds     int: how many rounds; every function is called once in each
    rng        a NumPy Generator, a seed, or None for the shared generator: see `generator`
    clock      as in `seconds`
    returns    dict {name: float64 array of shape (rounds,)}, with the names in the order of
               `functions`: element i is the time of this function in round i, in seconds

    Before the first round, every function is called once and not timed. In each round, all
    orders of the functions are equally likely.

    >>> readings = iter([0.0, 2.0, 2.0, 3.0])
    >>> race({"f": lambda: None}, rounds=2, clock=lambda: next(readings))
    {'f': array([2., 1.])}

    Source: Mytkowicz et al., Producing wrong data without doing anything obviously wrong!
    (2009), for "experimental setup randomization".
    """
    rng = generator(rng)
    ### BEGIN SOLUTION
    for f in functions.values():
        f()
    times = {name: np.empty(rounds) for name in functions}
    names = list(functions)
    for i in range(rounds):
        for j in rng.permutation(len(names)):
            times[names[j]][i] = seconds(functions[names[j]], 1, 0, clock)[0]
    return times
    ### END SOLUTION

# %% checks="race"
check("race")

# %% [markdown]
# ## Paired ratios
#
# While interleaving gives both sides the same drift, the next step removes it. A **paired
# comparison** compares measurements that were taken together: the time of a in round i with the
# time of b in the same round. Drift multiplies both times by nearly the same factor, and their
# ratio does not change. So compute the ratio in each round first, and then its median.
#
# Do not take the mean of the ratios. Predict the mean of a / b and the mean of b / a for these
# three rounds. Which program is faster?

# %% tags=["answer", "explained"]
a, b = np.array([1, 9, 2]), np.array([2, 1, 9])
print(f"mean of a / b: {(a / b).mean():.2f}, mean of b / a: {(b / a).mean():.2f}")
print(f"median of a / b: {np.median(a / b)}, median of b / a: {np.median(b / a)}")

# %% [markdown]
# The mean says that a is slower than b, and also that b is slower than a. The two medians agree
# with each other: one is 1 divided by the other.
#
# **Task.** Write `ratio_interval`. You already have a bootstrap.

# %% The interval of a ratio exercise="ratio-interval"
#| export
def ratio_interval(a, b, level=0.95, rng=None):
    """A confidence interval for how many times as long `a` takes as `b`.

    a, b     arrays or lists of shape (rounds,): times of two functions in the same rounds
    level    float between 0 and 1
    rng      a NumPy Generator, a seed, or None for the shared generator: see `generator`
    returns  (low, high), two floats: the interval for the median of the paired ratios
             a[i] / b[i], by the bootstrap. If it does not contain 1, one of the two is
             probably faster

    ValueError with both shapes when a and b differ in shape.

    >>> ratio_interval([2, 4, 6], [1, 2, 3])
    (2.0, 2.0)
    """
    a, b = np.asarray(a, "float64"), np.asarray(b, "float64")
    if a.shape != b.shape:
        raise ValueError(f"times of the same rounds are needed, not {a.shape} and {b.shape}")
    ### BEGIN SOLUTION
    return median_interval(a / b, level, rng)
    ### END SOLUTION

# %% checks="ratio-interval"
check("ratio-interval")

# %% [markdown]
# ## A/A tests
#
# How can we know that a method of comparison is right? An **A/A test** compares a program with
# itself, to test the method of comparison. Because the true ratio is 1, and 5 % of the
# intervals miss it, a correct method declares a winner in about 1 of 20 tests. If a method
# declares a winner in half of the tests, do not use it to compare two different programs. First
# on the simulated computer; predict both numbers:

# %% tags=["answer"]
def comparisons(program, clock, rng, pairs=60, rounds=40):
    """A/A tests in both ways: {name: list of intervals}."""
    intervals = {"one after the other": [], "interleaved": []}
    for _ in range(pairs):
        a, b = (seconds(program, rounds, clock=clock) for _ in "ab")
        intervals["one after the other"].append(ratio_interval(a, b, rng=rng))
    for _ in range(pairs):
        both = race({"a": program, "b": program}, rounds, rng, clock)
        intervals["interleaved"].append(ratio_interval(both["a"], both["b"], rng=rng))
    return intervals


computer, rng = SimulatedComputer(0), np.random.default_rng(0)
for name, intervals in comparisons(computer.program, computer.clock, rng).items():
    print(f"{name}: a winner in {winners(intervals)} of {len(intervals)} tests")

# %% [markdown]
# About 1 of 20 tests, 3 of 60, is expected for the interleaved method. The count varies with
# the random orders that `race` draws, so 0 or 7 is no error.
#
# Now on this computer, with its own drift:

# %% tags=["demonstration", "payoff"]
draw_intervals(comparisons(program, time.perf_counter, np.random.default_rng(0)))
# alt: The two columns of intervals from the beginning, now measured with the functions of this
# chapter. The number of red intervals is above each column.

# %% [markdown]
# From now on we use the interleaved method. GELU (lesson 03) contains $x^3$, which can be
# written in two ways in NumPy. Predict the ratio of their times.

# %% tags=["answer", "explained"]
small = numbers[:64]
positive = np.abs(small)
times = race({"x**3": lambda: small**3, "x * x * x": lambda: small * small * small,
              "|x|**3": lambda: positive**3, "exp(3 log |x|)": lambda: np.exp(
                  3 * np.log(positive))}, 60, rng=0)
for name, values in times.items():
    print(f"{name:14} {1e6 * np.median(values):8.1f} microseconds")
print("x**3 takes {:.1f} to {:.1f} times as long".format(
    *ratio_interval(times["x**3"], times["x * x * x"], rng=0)))

# %% [markdown]
# NumPy computes `x**3` like any other power, such as `x**2.7`, and not by multiplications. Such
# a power of a positive number is $e^{3 \log x}$; compare the last two lines. A negative number
# has no logarithm, so it needs a separate treatment. How much slower each case is depends on
# the processor and on the version of NumPy: compare `x**3` with `|x|**3`.

# %% [markdown] page="Counting work"
# ## Counting floating-point operations
#
# A measured time says nothing about what is possible. Is a multiplication of two matrices in
# one millisecond fast or slow? For that we compare the work with what the computer can do. The
# work of the arithmetic is counted in *FLOPs* (lesson 10).
#
# In a matrix product, each element of the result is a dot product of n pairs of numbers: n
# multiplications and n additions, so 2n FLOPs. The convolution and the two products in
# attention are also made of dot products. For a convolution with C channels and a kernel of h
# by w, n is C h w. In attention (lesson 15), a query of d numbers is multiplied with T keys: T
# scores of 2d FLOPs each. Then d numbers are sums of T weighted values, 2T FLOPs each. Together
# that is 4 T d FLOPs for d numbers of the result, so 4T for each of them.
#
# `result_shape` is given, and uses functions of lessons 02 and 10. `math.prod(shape)` is the
# number of elements of an array.

# %%
#| export
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

# %% [markdown]
# **Task.** Write `flops_of`. It is long, because there are several kinds of operations, but
# each of them needs only one formula of the docstring.

# %% The FLOPs of an operation exercise="flops"
#| export
def flops_of(op, *shapes, **options):
    """The floating-point operations of one operation, computed from shapes alone.

    op       str, the name of an operation as `name_of` gives it: "matmul", "add", "gelu", ...
    shapes   the shapes of its inputs, tuples
    options  of the operation, such as stride and padding
    returns  int, in FLOPs:
             "matmul" and "linear", of shapes (..., i, k) and (..., k, j): 2 k for each element
                 of the result
             "conv2d", of shapes (N, C, H, W) and (O, C, h, w): 2 C h w for each
             "attention", of shape (B, T, 3D): 4 T for each element of the result (B, T, D)
             names in MOVES: 0, whatever the shapes are
             other names: 1 for each element of the inputs, broadcast to one shape

    The additions of a bias in "linear" and "conv2d" do not count; neither does the softmax.

    >>> flops_of("matmul", (3, 4), (4, 5))
    120
    >>> flops_of("conv2d", (32, 1, 28, 28), (8, 1, 5, 5), (8,))
    7372800

    Source: torch.utils.flop_counter, which counts 0 for all other operations.
    """
    ### BEGIN SOLUTION
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
    ### END SOLUTION

# %% checks="flops"
check("flops")

# %% [markdown]
# Predict which of these three operations takes the most FLOPs, and which the fewest:

# %% tags=["answer"]
for op, *shapes in [("matmul", (512, 128), (128, 512)), ("attention", (8, 64, 3 * 128)),
                    ("gelu", (512, 512))]:
    print(f"{op:9} {' and '.join(map(str, shapes)):26} {flops_of(op, *shapes):12,} FLOPs")

# %% [markdown]
# These are three operations of one transformer block, for the GPT of milestone 05 and a batch
# of 8 windows of 64 tokens. (The block has three more matrix products.)
#
# ## Counting bytes
#
# Arithmetic is one half of the work, memory the other: the inputs have to come from memory to
# the processor, and the results have to go back. Each input is read at least once, and each
# result is written at least once.
#
# **Task.** Write `bytes_of`.

# %% The bytes of an operation exercise="bytes"
#| export
def bytes_of(op, *shapes, itemsize=4, **options):
    """The bytes that an operation has to read and write at least, computed from shapes alone.

    op        as in `flops_of`; a name that is not in MOVES, and no reduction such as "sum"
    shapes    the shapes of all its inputs, a bias included
    itemsize  int: bytes per number
    options   of the operation, such as stride and padding
    returns   int: the bytes of all inputs and of the result, each counted once

    >>> bytes_of("add", (10, 100), (100,))
    8400

    Source: Williams, Waterman, Patterson, Roofline (2009), "compulsory" memory traffic.
    """
    ### BEGIN SOLUTION
    arrays = [*shapes, result_shape(op, *shapes, **options)]
    return itemsize * sum(math.prod(shape) for shape in arrays)
    ### END SOLUTION

# %% checks="bytes"
check("bytes")

# %% [markdown]
# The **arithmetic intensity** of an operation is the number of its FLOPs divided by the number
# of its bytes. Predict how it depends on n for an addition and for a matrix product.

# %% tags=["answer", "explained"]
for n in (16, 64, 256, 1024):
    both = (n, n), (n, n)
    print(f"n = {n:4}: " + ", ".join(
        f"{op} {flops_of(op, *both) / bytes_of(op, *both):.3g} FLOPs per byte"
        for op in ("add", "matmul")))

# %% [markdown]
# An addition does one FLOP for 12 bytes, whatever its size is. A matrix product does $2n^3$
# FLOPs on $3n^2$ numbers, so its intensity grows with n: every number is used n times.
#
# ## What a computer can do
#
# Two numbers describe a computer for our purpose: how many FLOPs it does per second when memory
# does not matter, and how many bytes it moves per second when arithmetic does not matter. A
# large matrix product measures the first, a copy of a large array the second. We want to know
# what is possible, so the *fastest* run counts. (Many processors also read memory before they
# write to it, called *write-allocate*; like the STREAM benchmark, we do not count this.)
#
# A matrix product of NumPy may use several threads, and then other programs disturb it much
# more. `tito` runs chapters with one thread, and a shell that read `bin/activate-tinytorch.sh`
# runs Python with one. Elsewhere, set `OPENBLAS_NUM_THREADS=1` before you start Python.
#
# **Task.** Write `machine`. A copy reads and writes: how many bytes does it move?

# %% Peak speeds of a machine exercise="machine"
#| export
@dataclass(frozen=True)
class Machine:
    """What a computer can do at best, by measurement."""

    flops_per_second: float
    bytes_per_second: float


def machine(n=512, megabytes=64, repeat=10, clock=time.perf_counter):
    """Measure this computer.

    n          int: multiply matrices of shape (n, n) of float32, 2 n^3 FLOPs
    megabytes  int: copy an array of this many million bytes into another, with np.copyto;
               every byte is read and written, so twice as many bytes are moved
    repeat     int: how often each of the two is timed, after a warm-up; the fastest run counts
    clock      as in `seconds`
    returns    Machine

    Source: McCalpin, STREAM (1995), for the copy.
    """
    a = np.ones((n, n), np.float32)
    source = np.ones(megabytes * 250_000, np.float32)
    target = np.empty_like(source)
    ### BEGIN SOLUTION
    product = seconds(lambda: a @ a, repeat, clock=clock).min()
    copy = seconds(lambda: np.copyto(target, source), repeat, clock=clock).min()
    return Machine(2 * n**3 / product, 2 * source.nbytes / copy)
    ### END SOLUTION

# %% checks="machine"
check("machine")

# %% tags=["demonstration"]
here = machine(clock=clock)
print(f"{here.flops_per_second / 1e9:.1f} billion FLOPs per second (GFLOP/s), "
      f"{here.bytes_per_second / 1e9:.1f} billion bytes per second (GB/s)")
print(f"{here.flops_per_second / here.bytes_per_second:.1f} FLOPs in the time of one byte")

# %% [markdown]
# ## The roofline model
#
# Two numbers of an operation and two of a computer give a prediction. The **roofline model**
# predicts the time of an operation by the slower one of two things: its arithmetic, FLOPs
# divided by FLOPs per second, and its memory traffic, bytes divided by bytes per second. A
# processor can do both at the same time, so the longer of the two counts. The shorter one is
# hidden behind it.
#
# **Task.** Write `roofline`.

# %% The roofline model exercise="roofline"
#| export
def roofline(flops, bytes, machine):
    """The shortest time in which a machine can do this work, and what it waits for.

    flops    number of FLOPs
    bytes    number of bytes that are read or written
    machine  a Machine
    returns  (seconds, limit): a float, and "memory" when moving the bytes takes longer than the
             arithmetic, else "arithmetic"

    >>> roofline(flops=600, bytes=100, machine=Machine(200.0, 50.0))
    (3.0, 'arithmetic')

    Source: Williams, Waterman, Patterson, Roofline: an insightful visual performance model
    (2009).
    """
    ### BEGIN SOLUTION
    arithmetic = flops / machine.flops_per_second
    memory = bytes / machine.bytes_per_second
    return max(arithmetic, memory), "memory" if memory > arithmetic else "arithmetic"
    ### END SOLUTION

# %% checks="roofline"
check("roofline")

# %% [markdown]
# The picture shows the roof of this computer, as `Machine` measured it, and operations measured
# now: a point for each, at its intensity and its speed. The **ridge point** is the intensity at
# which arithmetic and memory take equally long. Left of it an operation waits for memory, right
# of it for arithmetic. Predict where an addition, a GELU and a matrix product lie.

# %% tags=["answer"]
from tinytorch.core.transformers import gelu_forward


def measured(op, f, *shapes):
    """FLOPs, bytes and the shortest time of one operation on arrays of ones."""
    arrays = [np.ones(shape, "float32") for shape in shapes]
    times = seconds(lambda: f(*arrays), 20, clock=clock)
    return flops_of(op, *shapes), bytes_of(op, *shapes), times.min()


points = {}
for n, name in [(16, "matmul\nn = 16"), (64, "64"), (256, "256"), (1024, "1024")]:
    points[name] = measured("matmul", np.matmul, (n, n), (n, n))
for size, name in [(30_000, "30k"), (500_000, "500k"), (8_000_000, "8M")]:
    points[f"add {name}"] = measured("add", np.add, (size,), (size,))
points["GELU 500k"] = measured("gelu", lambda x: gelu_forward(x, {}), (500_000,))
figure = draw_roofline(here, points)
# caption: Memory limits the additions, arithmetic the large matrix products.
# alt: Two axes with logarithmic scales: FLOPs per byte and GFLOP per second. The roof rises on
# the left, where memory is the limit, up to the ridge point, and is level from there. Measured
# points: three additions and a GELU at the left, matrix products of growing n at the right.

# %% [markdown]
# The speed at the roof, divided by the speed of the point below it, says how many times as fast
# the operation could become. Three reasons why a point is below the roof:
#
# - A call of a NumPy function has a fixed cost, which weighs most for small arrays.
# - The result needs new memory, which the system provides page by page if the array is large.
# - The count of bytes is a lower bound. `gelu_forward` goes through its arrays several times.
#
# A point can also lie above the left part of the roof. Then its arrays are in a *cache*, a
# small and fast memory in the processor. The roof was measured with arrays that do not fit in
# there.
#
# We can measure one of the reasons. `np.add(a, a)` needs new memory for its result,
# `np.add(a, a, out=out)` does not. At the first write to a new page, a *page fault* stops the
# program until the system has provided the page. How many page faults do you expect in each
# call, for arrays of 0.4 MB and of 64 MB? A page has 4 kB, or 2 MB in some large arrays.

# %% tags=["answer", "explained"]
for size in (100_000, 16_000_000):
    a, out = np.ones(size, "float32"), np.ones(size, "float32")
    ways = {"new": lambda: np.add(a, a), "given": lambda: np.add(a, a, out=out)}
    for name, f in ways.items():
        print(f"{4 * size / 1e6:4.1f} MB, {name:5} memory: {page_faults_of(f):6} page faults")
times = race(ways, rounds=12, rng=0, clock=clock)
low, high = ratio_interval(times["new"], times["given"], rng=0)
print(f"64 MB: {low:.2f} to {high:.2f} times as long with new memory")

# %% [markdown]
# On Linux, a freed block is kept for the next array if it is smaller than 32 MB (lessons 10 and
# 14 set this up). A larger block goes back to the system, and the next array gets new pages.
# (Windows does not count them, so all counts are 0 there.)

# %% [markdown] page="Profilers for time and memory"
# ## A profiler for operations
#
# A model runs hundreds of operations, so a program must record them. A **profiler** is a
# program that records how much time and memory each part of another program needs. Every
# operation on Tensors goes through one function, `run(op, arrays, options)` of lesson 02. So it
# is enough to replace this function while a `with` block runs. Python calls `__enter__` at the
# start of the block, and `__exit__` at its end, also after an error. The function lives in the
# module `tinytorch.core.tensor`, imported here as `engine`.
#
# **Task.** Write `run` and `__exit__` of `OperationProfile`.

# %% A profiler for operations exercise="operations"
#| export
def bytes_moved(op, arrays, out):
    """The bytes that an operation has read and written at least: 0 if its result is a view;
    twice the result for a copy, which reads as much as it writes; else inputs and result."""
    arrays = [a for a in arrays if isinstance(a, np.ndarray)]
    if any(np.may_share_memory(a, out) for a in arrays):
        return 0
    return 2 * out.nbytes if op in MOVES else sum(a.nbytes for a in arrays) + out.nbytes


class OperationProfile:
    """A context manager that records every operation on Tensors in its `with` block.

    clock    as in `seconds`

    .totals  dict {(path, name of the operation): [calls, seconds, flops, bytes]}; here the path
             is always "". Backward rules are not operations and are not recorded

    >>> with OperationProfile() as profile:
    ...     out = Tensor([1.0, 2.0]) * 3.0
    >>> calls, seconds, flops, bytes = profile.totals["", "mul"]
    >>> calls, flops, bytes
    (1, 2, 16)
    """

    def __init__(self, clock=time.perf_counter):
        self.clock, self.totals = clock, {}
        self.path = [""]  # the paths of the modules that are running, the innermost one last

    def __enter__(self):
        self.original, engine.run = engine.run, self.run
        return self

    def run(self, op, arrays, options):
        """self.original(op, arrays, options), recorded: adds 1 call, the seconds of this call,
        its FLOPs and its bytes to `self.totals[self.path[-1], name_of(op)]`.

        FLOPs are those of `self.flops(op, arrays, options, out)`, bytes those of `bytes_moved`.
        Read the clock just before and just after the call.
        """
        ### BEGIN SOLUTION
        start = self.clock()
        out = self.original(op, arrays, options)
        elapsed = self.clock() - start
        name = name_of(op)
        work = self.flops(op, arrays, options, out), bytes_moved(name, arrays, out)
        old = self.totals.get((self.path[-1], name), [0, 0.0, 0, 0])
        new = [x + y for x, y in zip(old, (1, elapsed, *work))]
        self.totals[self.path[-1], name] = new
        return out
        ### END SOLUTION

    def flops(self, op, arrays, options, out):
        """The FLOPs of one call; of an operation that `flops_of` cannot count, one for each
        element of the result."""
        try:
            return flops_of(name_of(op), *map(np.shape, arrays), **options)
        except (ValueError, TypeError):
            return out.size

    def __exit__(self, *error):
        """Make the engine as it was before the block."""
        ### BEGIN SOLUTION
        engine.run = self.original
        ### END SOLUTION

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

# %% checks="operations"
check("operations")

# %% [markdown]
# The GPT of milestone 05 has a vocabulary of 1,024 tokens, a context of 64, a width of 128 and
# 3 blocks. Lesson 15 counts its FLOPs by a formula. Predict by how many percent the count is
# higher than the formula.

# %% tags=["answer"]
from tinytorch.core.attention import fuse_attention
from tinytorch.core.transformers import GPT, flops_per_token, lm_loss

gpt = fuse_attention(GPT(1024, context=64, embed_dim=128, layers=3, num_heads=4))
ids = np.random.default_rng(0).integers(0, 1024, (8, 64))
with no_grad():
    gpt(ids)  # a warm-up
    with OperationProfile(clock) as profile:
        gpt(ids)
counted = sum(row[4] for row in profile.rows)
print(f"counted {counted:,} FLOPs, formula {ids.size * flops_per_token(1024, 64, 128, 3):,}: "
      f"{counted / (ids.size * flops_per_token(1024, 64, 128, 3)) - 1:+.1%}")
print(profile.table())

# %% [markdown]
# The formula leaves out everything but matrix products, and nearly all FLOPs are in these. The
# next picture compares shares of the time with shares of the FLOPs and of the bytes. Predict:
# which operation needs a larger share of the time than of the FLOPs?

# %% tags=["answer", "explained"]
shares = {}
for _, op, _, elapsed, flops, size in profile.rows:
    group = op if op in ("matmul", "attention", "layer_norm", "gelu", "add") else "others"
    old = shares.get(group, {"time": 0, "FLOPs": 0, "bytes": 0})
    new = {"time": elapsed, "FLOPs": flops, "bytes": size}
    shares[group] = {kind: old[kind] + new[kind] for kind in old}
figure = draw_shares(shares)
# alt: For each operation three bars: its share of the time, of the FLOPs and of the bytes.
# Matrix products have 93 % of the FLOPs and 35 % of the bytes, attention 6 and 6 %, additions
# 0.3 and 38 %, GELU 0.1 and 12 %, layer norm 0.1 and 7 %.

# %% [markdown]
# Additions, GELU and layer norm together have half a percent of the FLOPs and more than half of
# the bytes. Their bars of time are much longer than their bars of FLOPs: they wait for memory,
# which a count of FLOPs does not show. But a count of bytes is not enough. Additions have a
# much smaller share of the time than of the bytes, because their arrays have about 1 MB or less
# and were used just before, so that they can be in a cache. Attention has a much larger share
# of the time than of FLOPs and bytes, because its count leaves out the softmax and the
# attention weights (question 4 in "Look back").
#
# ## A profiler for modules
#
# Which layer is slow? A model calls `forward` of each module. Python looks for `module.forward`
# in the object first, and then in its class. So `module.forward = wrapper` replaces the method
# for this module only. While a wrapper runs, its path is the last element of `self.path`.
#
# **Task.** Write `wrapper` in `Profile`. It must work also when `forward` raises an error.

# %% A profiler for modules exercise="modules"
#| export
class Profile(OperationProfile):
    """A profiler that also knows which module calls an operation.

    model    a Module, or None
    clock    as in `seconds`

    .rows    list of [path of the innermost module, operation, calls, seconds, flops, bytes];
             the path is "" outside of all modules, and inside the model itself

    After the block, also after an error, the model and the engine are as before.

    >>> from tinytorch.core.layers import Dense, Sequential
    >>> with Profile(Sequential(Dense(2, 3), Tensor.relu)) as profile:
    ...     out = profile.model(Tensor([[1.0, 2.0]]))
    >>> [row[:3] for row in profile.rows]
    [['0', 'matmul', 1], ['0', 'add', 1], ['', 'relu', 1]]

    Source: torch.profiler.profile(with_modules=True), which works only for TorchScript models.
    """

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
        """A function that calls `forward` while `path` is the last element of `self.path`.

        path     str
        forward  the method `forward` of a module
        returns  a function with the same arguments and result as `forward`; after the call,
                 also after an error, `self.path` is as before
        """
        def wrapper(*inputs, **options):
            ### BEGIN SOLUTION
            self.path.append(path)
            try:
                return forward(*inputs, **options)
            finally:
                self.path.pop()
            ### END SOLUTION
        return wrapper

    def __exit__(self, *error):
        super().__exit__(*error)
        for (_, module), old in zip(self.modules, self.before):
            del module.forward
            if old is not None:
                vars(module)["forward"] = old

# %% checks="modules"
check("modules")

# %% [markdown]
# The ten most expensive rows of one forward pass. Predict which part of the GPT is first.

# %% tags=["answer"]
with no_grad(), Profile(gpt, clock) as profile:
    gpt(ids)
print(profile.table(10))

# %% [markdown]
# The row without a module is the output layer of the GPT: `x @ self.embedding.weight.T` is in
# the `forward` of the model itself.
#
# ## Peak memory
#
# Memory is the other limit. **Peak memory** is the largest amount of memory that a program uses
# at one time. A program that needs more than the computer has stops with an error, even if it
# would need so much only for a millisecond. Python's module `tracemalloc` follows every
# allocation, those of NumPy included:
#
# - `tracemalloc.start()` starts it, and `tracemalloc.stop()` stops it;
# - `tracemalloc.get_traced_memory()` returns (bytes in use now, bytes in use at the peak), both
#   counted from the start.
#
# **Task.** Write `peak_bytes`. It must stop `tracemalloc` also after an error, because
# everything is slower while it runs.

# %% Peak memory exercise="peak"
#| export
def peak_bytes(f):
    """The most memory that is in use at one time while f() runs.

    f        a function without arguments
    returns  int: bytes, without the memory that was in use before

    >>> peak_bytes(lambda: np.zeros(1_000_000, "float32").sum()) // 1_000_000
    4

    Source: The Python Standard Library, tracemalloc.
    """
    ### BEGIN SOLUTION
    tracemalloc.start()
    try:
        f()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    ### END SOLUTION

# %% checks="peak"
check("peak")

# %% [markdown]
# The array `numbers` has 1 MB. Predict the peak of each line, in MB. When is the memory of an
# intermediate result free again?

# %% tags=["answer", "explained"]
def three_steps():
    a = numbers + 1
    b = a * 2
    return np.tanh(b)


print(f"three names:    {peak_bytes(three_steps) / 1e6:.1f} MB")
print(f"one expression: {peak_bytes(lambda: np.tanh((numbers + 1) * 2)) / 1e6:.1f} MB")
print(f"one after another, in place: "
      f"{peak_bytes(lambda: np.tanh(t := numbers + 1, out=t)) / 1e6:.1f} MB")

# %% [markdown]
# A name keeps its array until the function ends. Without names, an intermediate result is free
# as soon as the next one has been computed from it, so at most two arrays exist at one time.
#
# ## Memory of the graph
#
# Training needs more memory than inference, because the backward pass needs the results of the
# forward pass. The graph keeps them: a result's `creator` has the arrays that its operation was
# called with, and arrays in `options["saved"]` (lessons 11, 14, 15). How many bytes is that?
#
# Because a *view* shares the memory of another array, its `.base`, counting both would count
# the same memory twice. So for each array, find the array that owns the memory, and count each
# owner once: `kept_arrays` returns a dict, and its keys are `id(array)`, a number that no other
# living object has.
#
# **Task.** Write `kept_arrays`.

# %% Arrays that the graph keeps exercise="kept"
#| export
def kept_arrays(tensor):
    """The arrays that stay in memory as long as a result exists, each memory once.

    tensor   Tensor: the result of recorded operations, such as a loss
    returns  dict {id(array): (name, array)}. For each node of `topological_order(tensor)`, the
             arrays are node.data, the ndarrays in node.creator.arrays, and the ndarrays among
             the values of node.creator.options["saved"], if there is such an option. A view is
             replaced by the array that owns its memory: follow .base while it is an array.
             `name` is the operation that computed the array. A saved array has the name of the
             operation that saved it. An array that no operation computed has the name of an
             operation that reads it

    >>> x = Variable(np.ones((100, 100), "float32"))
    >>> [(op, array.shape) for op, array in kept_arrays(x.exp()).values()]
    [('exp', (100, 100)), ('exp', (100, 100))]
    """
    kept = {}
    ### BEGIN SOLUTION
    for node in topological_order(tensor):
        creator = node.creator
        saved = creator.options.get("saved", {})
        for array in [node.data, *creator.arrays, *saved.values()]:
            while isinstance(getattr(array, "base", None), np.ndarray):
                array = array.base
            if isinstance(array, np.ndarray):
                kept[id(array)] = name_of(creator.op), array
    ### END SOLUTION
    return kept


def kept_bytes(tensor):
    """The bytes of `kept_arrays`: of the graph and of the parameters in it.

    >>> kept_bytes(Variable(np.ones((100, 100), "float32")).exp())
    80000
    """
    return sum(array.nbytes for _, array in kept_arrays(tensor).values())

# %% checks="kept"
check("kept")

# %% [markdown]
# Predict how much memory one forward pass of the GPT keeps for training. Its parameters have
# 2.9 MB.

# %% tags=["answer", "explained"]
loss = lm_loss(gpt, ids, ids)
weights = sum(p.data.nbytes for p in gpt.parameters())
print(f"parameters {weights / 1e6:.1f} MB, graph {(kept_bytes(loss) - weights) / 1e6:.1f} MB")
with no_grad():
    print(f"peak without recording: {peak_bytes(lambda: lm_loss(gpt, ids, ids)) / 1e6:.1f} MB")

owners = {id(p.data) for p in gpt.parameters()}
sizes = {}
for op, array in kept_arrays(loss).values():
    if id(array) not in owners:
        sizes[op] = sizes.get(op, 0) + array.nbytes
figure = draw_kept({op: size for op, size in sizes.items() if size > 50_000})
# alt: Bars of the megabytes that the graph keeps, by the operation that computed them: matmul
# 9.2, add 8.9, gelu 6.3, layer_norm 3.7, attention 2.4, embedding 0.3.

# %% [markdown]
# The graph needs ten times as much memory as the parameters, and it grows with the batch.
#
# Gradient checkpointing (lesson 17) keeps less of the graph. The picture shows what else could
# be saved. The rule of a matrix product needs its two inputs, but not its result. The rule of
# an addition needs no array at all, yet our graph keeps its inputs and its result.

# %% [markdown] page="Predicting a speedup"
# ## Amdahl's law
#
# One part of a program becomes faster. How much faster is the whole? Suppose that the part
# takes the share p of the time and becomes s times as fast. The rest, 1 - p, takes as long as
# before, and the part takes p / s. **Amdahl's law** gives the speed-up of the whole, the old
# time divided by the new one:
#
# $$\frac{1}{(1 - p) + p / s}$$
#
# **Task.** Write `amdahl`.

# %% Amdahl's law exercise="amdahl"
#| export
def amdahl(share, speedup):
    """How many times as fast a program becomes when one part of it becomes faster.

    share    float from 0 to 1: the part's share of the time before
    speedup  float > 0: how many times as fast the part becomes; may be math.inf
    returns  float; math.inf when the program takes no time afterwards, as amdahl(1, math.inf)

    ValueError with the share when it is not between 0 and 1.

    >>> round(amdahl(0.9, 10), 2)
    5.26

    Source: Amdahl, Validity of the single processor approach (1967).
    """
    if not 0 <= share <= 1:
        raise ValueError(f"a share is a number from 0 to 1, not {share}")
    ### BEGIN SOLUTION
    rest = 1 - share + share / speedup
    return 1 / rest if rest else math.inf
    ### END SOLUTION

# %% checks="amdahl"
check("amdahl")

# %% [markdown]
# Even if a part of 90 % afterwards takes no time at all, the whole is only 10 times as fast.
#
# A test on a feed-forward network of lesson 15: we replace its GELU, composed of single
# operations as in lesson 03, by the fused one of lesson 15. Four measurements in one race give
# the share of GELU, its speed-up, and the speed-up of the whole. Predict the last one from the
# first two; `amdahl` does the same.

# %% tags=["answer"]
from tinytorch.core.activations import gelu
from tinytorch.core.layers import Dense
from tinytorch.core.transformers import GELU

first, second, fused = Dense(128, 512), Dense(512, 128), GELU()
x = Tensor(np.random.default_rng(0).normal(size=(512, 128)).astype("float32"))
hidden = first(x)
with no_grad():
    times = race({"GELU composed": lambda: gelu(hidden), "GELU fused": lambda: fused(hidden),
                  "network composed": lambda: second(gelu(first(x))),
                  "network fused": lambda: second(fused(first(x)))}, 40, rng=0, clock=clock)
part, faster, before = (np.median(times[name]) for name in (
    "GELU composed", "GELU fused", "network composed"))
print(f"GELU: {part / before:.0%} of the time, {part / faster:.1f} times as fast when fused")
print(f"network: {amdahl(part / before, part / faster):.2f} times as fast by Amdahl's law, "
      "measured {:.2f} to {:.2f}".format(
          *ratio_interval(times["network composed"], times["network fused"], rng=0)))

# %% [markdown]
# ## Predicting a time
#
# Last, everything together: predict the time of a whole model before you measure it. The model
# runs once under the profiler, only to count its FLOPs and bytes. The roofline model gives the
# shortest time for each row of the profile.
#
# **Task.** Write `predict`.

# %% Predicting a time exercise="predict"
#| export
def predict(model, ids, machine):
    """The seconds of model(ids) on a machine, if every operation reached the roof.

    model    a Module
    ids      the input that the model is called with
    machine  a Machine
    returns  float: the sum of the times of `roofline` over the rows of a Profile of the model.
             Nothing is recorded for a backward pass; the measured times are not used

    >>> from tinytorch.core.layers import Dense
    >>> predict(Dense(100, 50, bias=False), Tensor(np.ones((1, 100), "float32")),
    ...         Machine(1e4, 1e9))
    1.0
    """
    ### BEGIN SOLUTION
    with no_grad(), Profile(model) as profile:
        model(ids)
    return sum(roofline(row[4], row[5], machine)[0] for row in profile.rows)
    ### END SOLUTION

# %% checks="predict"
check("predict")

# %% [markdown]
# Write your number down before you unfold the answer: how many times as long as the prediction
# does the GPT really take, for a batch of 1, 8 and 32 windows?

# %% tags=["answer"]
for batch in (1, 8, 32):
    ids = np.random.default_rng(0).integers(0, 1024, (batch, 64))
    predicted = predict(gpt, ids, here)
    with no_grad():
        low, high = median_interval(seconds(lambda: gpt(ids), 9, clock=clock), rng=0)
    print(f"batch {batch:2}: predicted {1000 * predicted:6.2f} ms, "
          f"measured {1000 * low:6.2f} to {1000 * high:6.2f} ms, "
          f"{low / predicted:.1f} to {high / predicted:.1f} times as long")

# %% [markdown]
# The ratio says how much there is to gain. The prediction leaves out three costs: the fixed
# cost of Python and NumPy for each operation, which weighs most for the batch of 1; the several
# passes of a fused operation through its arrays; and what small matrix products lose compared
# with the large one in `machine`. Arrays that are in a cache make an operation faster than the
# prediction says, so a ratio below 1 is possible. To make a program faster, remove one cost at
# a time, and measure each change with `race`.
#
# ## Latency under load
#
# A server that answers requests is judged by their **latency**, the time from the arrival of a
# request to the end of its answer, with the time that it waits. The latencies are a
# distribution: half of the requests take at most **p50**, the median, and 99 of 100 at most
# **p99**. A service promises a p99.
#
# Let a request take 1 unit of time. Requests arrive at random, independently of each other, so
# that some come at nearly the same time and wait. The server may take up to `batch` waiting
# requests together, and n requests take 0.9 + 0.1 n. Predict: with 0.9 requests per unit of
# time, the server without batches is busy for 90 % of the time. What is its p99?

# %% tags=["answer", "explained"]
def latencies(rate, batch, requests=50_000):
    """The latency of each request, when `rate` of them arrive in a unit of time."""
    arrivals = np.random.default_rng(0).exponential(1 / rate, requests).cumsum()
    free, first, found = 0.0, 0, []
    while first < requests:
        begin = max(free, arrivals[first])
        waiting = int(np.searchsorted(arrivals, begin, "right"))
        end = min(waiting, first + batch)
        free = begin + 0.9 + 0.1 * (end - first)
        found.append(free - arrivals[first:end])
        first = end
    return np.concatenate(found)

print("          one at a time       up to 16 together")
print("rate      p50      p99        p50      p99")
for rate in (0.2, 0.5, 0.9, 0.95, 2.0, 5.0):
    one, many = (np.percentile(latencies(rate, batch), [50, 99]) for batch in (1, 16))
    alone = "{:8.1f} {:8.1f}".format(*one) if rate < 1 else " without an end  "
    print(f"{rate:4} {alone} {many[0]:10.1f} {many[1]:8.1f}")

# %% [markdown]
# Near full load, one request at a time waits many times as long as its answer takes, and above
# 1 the queue grows without an end. So a server keeps a reserve: its *throughput* and its p99
# cannot both be at their best. Batches raise the rate that it can serve, to 16 / 2.5 = 6.4
# here, and every request in a batch takes as long as the whole batch. (In MLPerf's server
# scenario, requests arrive at random, too, and the highest rate counts at which p99 keeps a
# limit.)
#
# ## Look back
#
# 1. Time `lambda: None` with `seconds`. What do you really measure? How would you time a
#    program that is as short?
# 2. Time the forward pass, the backward pass and the optimizer's step of a GPT. It is often
#    said that a backward pass takes twice as long as a forward pass. Why, and is it so here?
# 3. Measure `machine(megabytes=m)` for m = 1, 4, 16 and 64, and draw the roofline for each.
#    What does the first one say about your processor's caches?
# 4. `bytes_of("attention", ...)` counts inputs and result only. Which array does the attention
#    of lesson 14 also write and read? For which T is it larger than all others together?
#
# PyTorch: `torch.utils.benchmark.Timer` warms up, repeats and gives the median;
# `torch.profiler.profile(record_shapes=True, with_flops=True)` is our `Profile`, and also draws
# a timeline. `torch.utils.flop_counter.FlopCounterMode` counts as `flops_of` does. On a GPU the
# calls return before the work is done, so a clock needs `torch.cuda.synchronize()` around it;
# `torch.cuda.max_memory_allocated()` is `peak_bytes`.

# %% [markdown] tags=["answer"]
# 1. You measure the call of a function and two readings of the clock. Put the short program
#    into a loop of a thousand rounds, and divide.
# 2. Each matrix product of the forward pass has two in the backward pass, one for each input.
#    The first layer needs only one of them, and other operations have other ratios.
# 4. The attention weights, of shape (B, heads, T, T). They are larger than input and result
#    together when T is larger than 4 D / heads, with D numbers per token in the result.
