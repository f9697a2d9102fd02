# %% [markdown]
# # 22. Kernels
#
# A GPU runs ten thousand threads at a time. Two programs for it can do the same arithmetic, and
# one of them still takes ten times as long as the other. The picture shows why, with a matrix
# that is transposed by threads in groups of 32. In its upper half, each thread of a group
# writes into another row, and the memory has to move 32 pieces of 128 bytes. In the lower half,
# the threads of a group write numbers that lie side by side, and one such piece is enough.

# %% tags=["payoff"]
from tinytorch.pictures.kernels import (draw_banks, draw_rescaling, draw_tree, draw_warp,
                                        found_gpu, plot_transactions, run_on_gpu,
                                        transactions_of_patterns)

draw_warp()
# caption: 32 threads that write side by side need one transaction; in a column they need 32.
# alt: Above, 32 threads of a naive transpose: each points into another row of memory, and 32
# pieces of 128 bytes are coloured. Below, 32 threads of a transpose with tiles all point into
# one row, and one piece is coloured.

# %% tags=["payoff"]
figure = plot_transactions(transactions_of_patterns())
# alt: Two pairs of bars, transactions on a logarithmic axis. Transpose of 64 x 64: naive 2,304,
# with tiles 256. Matrix product of 64 x 64: naive 24,832, with tiles 2,304.

# %% [markdown]
# In this chapter you write the programs that a GPU runs, from the sum of two arrays to an
# attention that needs a tenth of the memory traffic. You need no GPU: a *simulator* runs each
# thread, names every typical mistake with its line, and counts exactly what the memory does. At
# the end, a compiler, of which you write four methods, translates your programs into the
# language that all web browsers run on a GPU. If this computer has a GPU, they run there as
# they are.
#
# **You need** 14 (Attention) and 19 (Profiling). **You build** kernels for sums, transposes,
# softmax, layer norm, matrix products and attention, the rules by which a GPU counts, and a
# part of a compiler.

# %%
print(found_gpu())

# %%
#| default_exp core.kernels
#| export
import math

import numpy as np

from tinytorch.core.profiling import roofline
from tinytorch.core.tensor import strides_of
from tinytorch.gpu.fused import kernel_of  # lesson 21's groups as kernels
from tinytorch.gpu.simulator import launch, shared
from tinytorch.gpu.wgsl import Translator

# %% [markdown] page="Threads and memory"
# ## Threads, blocks and the grid
#
# A **kernel** is a function that a GPU runs many times at once, once in each **thread**. All
# threads run the same code. A thread knows only where it is, and chooses its own work by that.
# Threads come in **blocks**, here of 64 threads, and the blocks together are the **grid**. The
# kernel below gets the place of its block in the grid, `block.x`, and its own place in the
# block, `thread.x`.

# %%
#| export
SIZE = 64  # threads of a block with one axis
TILE = 16  # rows and columns of a block with two axes

# %%
def double(block, thread, a, out):
    i = SIZE * block.x + thread.x
    out[i] = 2 * a[i]


a, out = np.arange(128, dtype="float32"), np.zeros(128, "float32")
print(launch(double, 2, SIZE, a, out))
print(out[:5], out[-5:])

# %% [markdown]
# `launch(kernel, grid, block, *arguments)` runs a kernel in the simulator, here with 2 blocks
# of 64 threads. A kernel returns nothing: it writes into an array. The report counts what the
# threads did, and its other lines will be explained when we need them.
#
# A kernel is written in a small part of Python, because a compiler must translate it later.
# There are whole numbers and floats, `if`, `while` and `for ... in range(...)`, elements such
# as `a[i]` or `a[i, j]`, lengths such as `a.shape[0]` (there is no `len(a)`), and the functions
# of the table.
#
# | here | CUDA | WGSL |
# | --- | --- | --- |
# | `thread.x` | `threadIdx.x` | `local_invocation_id.x` |
# | `block.x` | `blockIdx.x` | `workgroup_id.x` |
# | `yield` | `__syncthreads()` | `workgroupBarrier()` |
# | `tile=shared(16, 16)` | `__shared__ float tile[16][16]` | `var<workgroup>` |
# | `launch(f, grid, block, a)` | `f<<<grid, block>>>(a)` | `dispatch_workgroups` |
# | `max min abs` | the same | the same |
# | `math.exp` and `log sqrt sin cos tanh floor ceil` of `math` | `expf` and so on | `exp` ... |
#
# What happens for an array of 100 elements? One block is too few. With 2 blocks there are 128
# threads, and the last 28 have no element:

# %%
try:
    launch(double, 2, SIZE, a[:100].copy(), out[:100].copy())
except Exception as error:
    print(error)

# %% [markdown]
# The simulator names the element, the line, the block and the thread. On a GPU such a thread
# would read or overwrite whatever lies behind the array. So a kernel must check whether its
# thread has an element, and a thread without one does nothing.
#
# **Task.** Write `add` and `blocks_for`.

# %% The sum of two arrays exercise="add"
#| export
def add(block, thread, a, b, out):
    """A kernel: the sum of two arrays, one element for each thread.

    a, b     float arrays of shape (n,)
    out      float array of shape (n,): the result

    Launched with blocks_for(n, SIZE) or more blocks of SIZE threads.

    >>> out = np.zeros(3, "float32")
    >>> a, b = np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0])
    >>> report = launch(add, 1, SIZE, a, b, out)
    >>> out
    array([11., 22., 33.], dtype=float32)

    Source: Kirk, Hwu, Programming massively parallel processors, chapter 2.
    """
    ### BEGIN SOLUTION
    i = SIZE * block.x + thread.x
    if i < out.shape[0]:
        out[i] = a[i] + b[i]
    ### END SOLUTION


def blocks_for(n, size):
    """How many blocks of `size` threads are needed for n elements: an int.

    n     int >= 0
    size  int >= 1

    >>> blocks_for(64, 64), blocks_for(65, 64)
    (1, 2)
    """
    ### BEGIN SOLUTION
    return -(-n // size)
    ### END SOLUTION

# %% checks="add"
check("add")

# %% [markdown]
# ## Two axes
#
# A block may have two axes, for matrices. We let `thread.x` count columns and `thread.y` rows,
# which is our own choice, but the order of x and y matters to the GPU. Threads are numbered
# with x first. In a block of shape (16, 16), threads 0 to 15 have `thread.y == 0`, and thread
# 16 is the first with `thread.y == 1`.
#
# Numbers of the same *row* lie side by side in memory. Let neighbouring threads, which differ
# in x, use neighbouring numbers. A program that exchanges x and y computes the same, and the
# next section explains what that costs.
#
# **Task.** Write `add_row`, the sum of a matrix and a row that is broadcast.

# %% A matrix plus a row exercise="add-row"
#| export
def add_row(block, thread, x, bias, out):
    """A kernel: a matrix plus a row, which is added to each row of the matrix.

    x        float array of shape (n, m)
    bias     float array of shape (m,)
    out      float array of shape (n, m): the result

    Launched with blocks of (TILE, TILE) threads: the x of a thread counts columns, its y counts
    rows. The grid has enough blocks along x for m columns, and along y for n rows.

    >>> out = np.zeros((2, 3), "float32")
    >>> x, bias = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([10.0, 20.0, 30.0])
    >>> report = launch(add_row, (1, 1), (TILE, TILE), x, bias, out)
    >>> out
    array([[11., 22., 33.],
           [14., 25., 36.]], dtype=float32)
    """
    ### BEGIN SOLUTION
    i = TILE * block.y + thread.y
    j = TILE * block.x + thread.x
    if i < x.shape[0] and j < x.shape[1]:
        out[i, j] = x[i, j] + bias[j]
    ### END SOLUTION

# %% checks="add-row"
check("add-row")

# %% [markdown]
# ## Transactions
#
# A GPU does not run each thread on its own. A **warp** is a group of 32 threads with
# consecutive numbers that execute each instruction together. When the threads of a warp read
# the memory, the hardware looks at their 32 addresses at once. The memory moves pieces of 128
# bytes that begin at multiples of 128. Each piece that contains at least one of the addresses
# is moved once, in one **memory transaction**.
#
# 32 floats of 4 bytes side by side, from a multiple of 128 on, are one transaction: this is a
# **coalesced access**. The same 32 floats, each in another row of a wide matrix, are 32
# transactions, which move 4,096 bytes for 128 bytes that are used. For most kernels the number
# of transactions decides how long they take.
#
# The other memory of this chapter is small and fast. The **shared memory of a block** is a few
# kilobytes that all threads of a block can read and write. It is divided into 32 **memory
# banks**: the number at address $a$ is in bank $a \bmod 32$. Each bank serves one address per
# step. If the threads of a warp need different addresses of one bank, they wait for each other,
# which is a **bank conflict**. The largest number of *different* addresses in one bank is the
# number of steps, and all steps after the first are counted as conflicts. Several threads may
# read the *same* address in one step.
#
# **Task.** Write `transactions` and `bank_conflicts`. `collections.Counter` is not imported; a
# list and its method `count` are enough.

# %% Transactions and bank conflicts exercise="transactions"
#| export
def transactions(addresses, itemsize=4):
    """How many pieces of 128 bytes the memory moves for one instruction of a warp.

    addresses  list of ints >= 0, at most 32: the places of elements in an array, counted in
               elements, in any order; some may be equal. The array begins at a multiple of 128
               bytes
    itemsize   int: bytes of an element, which divides 128
    returns    int; 0 without addresses

    >>> transactions(range(32)), transactions(range(0, 2048, 64))
    (1, 32)

    Source: CUDA C++ Programming Guide, "Device memory accesses".
    """
    ### BEGIN SOLUTION
    return len({address * itemsize // 128 for address in addresses})
    ### END SOLUTION


def bank_conflicts(addresses):
    """How many steps more than one the shared memory needs for one instruction of a warp.

    addresses  list of ints >= 0, 1 to 32 of them: places in shared memory, counted in elements
               of 4 bytes, in any order; some may be equal
    returns    int

    >>> bank_conflicts(range(32)), bank_conflicts(range(0, 64, 2)), bank_conflicts([5] * 32)
    (0, 1, 0)

    Source: CUDA C++ Programming Guide, "Shared memory".
    """
    ### BEGIN SOLUTION
    banks = [address % 32 for address in set(addresses)]
    return max(banks.count(bank) for bank in banks) - 1
    ### END SOLUTION

# %% checks="transactions"
check("transactions")

# %% [markdown]
# The simulator counts in the same way, for every instruction of every warp. Below, `swapped` is
# a version of `add_row` in which x counts rows. Predict the number of transactions of both
# kernels for a matrix of 64 x 64. A warp of a (16, 16) block has two different values of y.

# %% tags=["answer", "explained"]
def swapped(block, thread, x, bias, out):
    i = TILE * block.x + thread.x
    j = TILE * block.y + thread.y
    if i < x.shape[0] and j < x.shape[1]:
        out[i, j] = x[i, j] + bias[j]


x, bias, out = np.ones((64, 64), "f4"), np.ones(64, "f4"), np.zeros((64, 64), "f4")
for kernel in (add_row, swapped):
    report = launch(kernel, (4, 4), (TILE, TILE), x, bias, out)
    print(f"{kernel.__name__:8}{report.reads + report.writes:7,} accesses, "
          f"{report.transactions:6,} transactions")

# %% [markdown]
# `add_row` needs 2 transactions for the 2 rows of a warp, once for `x` and once for `out`, and
# one for `bias`: 5 for each of the 128 warps. In `swapped`, a warp uses 16 rows: 16 + 16 + 1,
# which is 33 for each warp. Both kernels make the same 12,288 accesses.

# %% [markdown] page="Threads that work together"
# ## Barriers and races
#
# Threads of a block can work together through shared memory. A kernel gets it as an argument
# whose default is `shared(...)`. Its numbers are arbitrary at first. The kernel below reverses
# 64 numbers: each thread writes one number, and reads the one that another thread has written.

# %%
def reverse(block, thread, a, out, tile=shared(SIZE)):
    x = thread.x
    tile[x] = a[x]
    out[x] = tile[SIZE - 1 - x]


try:
    launch(reverse, 1, SIZE, np.arange(64, dtype="float32"), np.zeros(64, "float32"))
except Exception as error:
    print(error)

# %% [markdown]
# Thread 0 reads what thread 63 has not written yet. On a GPU, the result would depend on which
# of the two is faster, and it could change from run to run. A **race** is an access to the same
# address by two threads without an order between them, where at least one of them writes.
#
# A **barrier** gives an order: no thread of the block goes on before all of them have arrived.
# In our kernels a barrier is the statement `yield`. With a `yield` between the two lines,
# `reverse` is right. There is no barrier between blocks: they run in any order, so no block may
# use what another one writes.
#
# Two threads that only read do not race, nor does a thread with itself. If several threads
# write the same value, it still counts as a race.
#
# **Task.** Write `races`, the rule by which the simulator finds them.

# %% Races exercise="races"
#| export
def races(accesses):
    """The addresses for which the threads of a block race.

    accesses  list of (thread, address, writes) between two barriers, in any order: the number
              of a thread, an address, and whether the thread writes there (True) or reads
    returns   set of addresses which at least two threads use, and at least one of them writes

    >>> sorted(races([(0, 5, True), (1, 5, False), (0, 6, False), (1, 6, False), (2, 7, True)]))
    [5]

    Source: Netzer, Miller, What are race conditions? (1992), "data race".
    """
    ### BEGIN SOLUTION
    users, written = {}, set()
    for thread, address, writes in accesses:
        users.setdefault(address, set()).add(thread)
        if writes:
            written.add(address)
    return {address for address in written if len(users[address]) > 1}
    ### END SOLUTION

# %% checks="races"
check("races")

# %% [markdown]
# A barrier must be reached by *all* threads of a block. If a `yield` is inside an `if` that
# only some threads enter, or behind a `return`, the others never arrive. This is **barrier
# divergence**. Predict what the simulator says about this kernel:

# %% tags=["answer"]
def diverging(block, thread, a, out, tile=shared(SIZE)):
    x = thread.x
    if x < a.shape[0]:
        tile[x] = a[x]
        yield
        out[x] = tile[a.shape[0] - 1 - x]


try:
    launch(diverging, 1, SIZE, np.arange(50, dtype="float32"), np.zeros(50, "float32"))
except Exception as error:
    print(error)

# %% [markdown]
# ## A transpose with tiles
#
# Now back to the picture at the beginning. The naive transpose reads along rows and writes
# along columns:

# %%
def transpose_naive(block, thread, a, out):
    i = TILE * block.y + thread.y
    j = TILE * block.x + thread.x
    if i < a.shape[0] and j < a.shape[1]:
        out[j, i] = a[i, j]


a = np.random.default_rng(0).normal(size=(64, 64)).astype("float32")
out = np.zeros((64, 64), "float32")
naive = launch(transpose_naive, (4, 4), (TILE, TILE), a, out)
print(f"{naive.transactions:,} transactions, and {2 * 64 * 64 * 4 // 128} would be enough")

# %% [markdown]
# If x counted the columns of `out` instead, the writes would be coalesced and the reads would
# not. Shared memory solves this. A **tile** is a part of a matrix that a block holds in shared
# memory. The block reads 32 rows of 32 numbers, each row in one transaction, and writes them
# into a tile. After a barrier it writes the *columns* of the tile as rows of the result. Shared
# memory has no transactions, so a column costs nothing there, except for the banks: in a tile
# of 32 columns, all numbers of a column are in the same bank. A tile of 33 columns, of which
# one is not used, moves each row by one bank.

# %%
draw_banks()
# caption: With one more column, the numbers of a column lie in different banks.
# alt: Two grids, each cell with the number of its bank, simplified to 8 banks. In the tile of 8
# columns, the first column has bank 0 in every row, red. In the tile of 9 columns, the first
# column has banks 0 to 7, blue.

# %% [markdown]
# A block has (32, 8) threads and a tile has 32 rows, so each thread handles 4 rows: `thread.y`,
# `thread.y + 8`, and so on. The block at (bx, by) reads the tile whose first row is 32 by and
# whose first column is 32 bx. Where does this tile go in the result?
#
# **Task.** Write `transpose`.

# %% A transpose with tiles exercise="transpose"
#| export
def transpose(block, thread, a, out, tile=shared(32, 33)):
    """A kernel: the transpose of a matrix, by tiles of 32 x 32 in shared memory.

    a        float array of shape (n, m)
    out      float array of shape (m, n): the result

    Launched with blocks of (32, 8) threads, and with enough blocks along x for m columns of `a`
    and along y for n rows, one block for each tile. For every warp, reads of `a` and writes to
    `out` are coalesced, and there is no bank conflict.

    >>> a, out = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.zeros((3, 2), "float32")
    >>> report = launch(transpose, (1, 1), (32, 8), a, out)
    >>> out.tolist()
    [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]

    Source: Harris, An efficient matrix transpose in CUDA C/C++ (2013).
    """
    x, row, column = thread.x, 32 * block.y, 32 * block.x
    ### BEGIN SOLUTION
    for y in range(thread.y, 32, 8):
        if row + y < a.shape[0] and column + x < a.shape[1]:
            tile[y, x] = a[row + y, column + x]
    yield
    for y in range(thread.y, 32, 8):
        if column + y < out.shape[0] and row + x < out.shape[1]:
            out[column + y, row + x] = tile[x, y]
    ### END SOLUTION

# %% checks="transpose"
check("transpose")

# %% tags=["demonstration"]
report = launch(transpose, (2, 2), (32, 8), a, out)
print(f"naive {naive.transactions:,} transactions, with tiles {report.transactions:,}")
print(f"{report.bank_conflicts:,} bank conflicts; with a tile of 32 columns, each read of a "
      f"column would have {bank_conflicts(range(0, 1024, 32))}")

# %% [markdown]
# ## A tree of sums
#
# How do 64 threads add 64 numbers? If all of them add to one number, they race. If one thread
# adds all of them, the other 63 wait. In a **tree reduction**, each of the first 32 threads
# adds one number of the second half to one of the first half. Then 16 threads do the same with
# the 32 sums, and after 6 phases the total is in the first place.

# %%
draw_tree([5, 1, 4, 2, 3, 0, 6, 7])
# caption: Three phases add eight numbers; a barrier separates them.
# alt: Four rows of cells. 5 1 4 2 3 0 6 7; below it 8 1 10 9 by the sums of numbers four places
# apart; then 18 10; then 28. Arrows lead from each two numbers to their sum.

# %% [markdown]
# In each phase a thread reads what another thread has written in the phase before. The halves
# also keep the access free of conflicts: the threads that add are neighbours, and so are their
# numbers. Adding neighbours first, 0 with 1 and 2 with 3, would use every second, fourth,
# eighth bank.
#
# The blocks cannot add their sums to each other, because there is no barrier between blocks. So
# each block writes its own sum, and a second launch adds the sums.
#
# **Task.** Write `block_sum`. Where are the barriers, and who must reach them?

# %% A tree reduction exercise="block-sum"
#| export
def block_sum(block, thread, a, out, tile=shared(SIZE)):
    """A kernel: the sum of the SIZE elements that belong to each block.

    a        float array of shape (n,); block b has the elements SIZE b to SIZE b + SIZE - 1, as
             far as they exist
    out      float array of shape (blocks,): the sums

    Launched with blocks_for(n, SIZE) blocks of SIZE threads. Each element is read once. The
    sums are made in shared memory in halves, in log2(SIZE) phases; no bank conflicts.

    >>> out = np.zeros(2, "float32")
    >>> report = launch(block_sum, 2, SIZE, np.ones(100), out)
    >>> out
    array([64., 36.], dtype=float32)

    Source: Harris, Optimizing parallel reduction in CUDA (2007).
    """
    x = thread.x
    i = SIZE * block.x + x
    ### BEGIN SOLUTION
    tile[x] = a[i] if i < a.shape[0] else 0.0
    yield
    step = SIZE // 2
    while step > 0:
        if x < step:
            tile[x] += tile[x + step]
        yield
        step //= 2
    ### END SOLUTION
    if x == 0:
        out[block.x] = tile[0]

# %% checks="block-sum"
check("block-sum")

# %% tags=["demonstration"]
numbers = np.random.default_rng(0).normal(size=4000).astype("float32")
sums, total = np.zeros(blocks_for(4000, SIZE), "float32"), np.zeros(1, "float32")
report = launch(block_sum, len(sums), SIZE, numbers, sums)
launch(block_sum, 1, SIZE, sums, total)
print(f"{total[0]:.4f}, by NumPy {numbers.sum():.4f}; {report.barriers} barriers of "
      f"{len(sums)} blocks, {report.bank_conflicts} bank conflicts")

# %% [markdown] page="The kernels of a GPT"
# ## Softmax in one pass
#
# The softmax of lesson 14 goes through each row three times: for the maximum, for the sum of
# the powers, and for the quotients. On a GPU each pass reads the row again. An **online
# softmax** finds the maximum and the sum in one pass. It keeps the largest score $m$ so far and
# the sum $t$ of the powers relative to *that* score. When a score $s$ arrives,
#
# $$m' = \max(m, s), \qquad t' = t\, e^{m - m'} + e^{s - m'}$$
#
# If $s$ is a new maximum, the old sum is too large by the factor $e^{m' - m}$, and the first
# term corrects it. Otherwise the factor is 1.

# %%
draw_rescaling([1.0, 3.0, 2.0, 5.0])
# caption: At each new maximum the sum is rescaled; at the end it is the sum over all scores.
# alt: A table with a column for each score, 1, 3, 2 and 5. Its rows are the score, the largest
# score so far, 1, 3, 3, 5, the factor of the old sum, 0, 0.135, 1, 0.135, and the sum so far.
# The factors below 1 are marked.

# %% [markdown]
# Start with a score that is smaller than all others, such as -1e30. (Negative infinity is not a
# number that WGSL can write.) Here each thread handles one row.
#
# **Task.** Write `online_softmax`.

# %% Online softmax exercise="online-softmax"
#| export
def online_softmax(block, thread, a, out):
    """A kernel: the softmax of each row, one thread for each row.

    a        float array of shape (n, m), any finite scores above -1e30
    out      float array of shape (n, m): the result

    Launched with blocks_for(n, SIZE) blocks of SIZE threads. Each element of `a` is read twice:
    once for the maximum and the sum, and once for the quotient. Scores of -1000 and 1000 work.

    >>> out = np.zeros((1, 2), "float32")
    >>> report = launch(online_softmax, 1, SIZE, np.array([[1000.0, 1000.0]]), out)
    >>> out
    array([[0.5, 0.5]], dtype=float32)

    Source: Milakov, Gimelshein, Online normalizer calculation for softmax (2018), algorithm 3.
    """
    row = SIZE * block.x + thread.x
    ### BEGIN SOLUTION
    if row < a.shape[0]:
        largest, total = -1e30, 0.0
        for j in range(a.shape[1]):
            score, before = a[row, j], largest
            largest = max(largest, score)
            total = total * math.exp(before - largest) + math.exp(score - largest)
        for j in range(a.shape[1]):
            out[row, j] = math.exp(a[row, j] - largest) / total
    ### END SOLUTION

# %% checks="online-softmax"
check("online-softmax")

# %% [markdown]
# ## Layer norm, a block for each row
#
# A thread for each row is simple, and its reads are not coalesced: neighbouring threads read
# from different rows. The layer norm of lesson 11 gets a whole block for each row instead.
# Thread x handles the elements x, x + 64, x + 128 and so on. It adds its own elements first,
# and the tree adds the sums of the threads:
#
# $$\mu = \frac1n \sum_j a_j, \qquad \sigma^2 = \frac1n \sum_j (a_j - \mu)^2, \qquad
# y_j = \frac{a_j - \mu}{\sqrt{\sigma^2 + 10^{-5}}} w_j + b_j$$
#
# A kernel cannot call your `block_sum`, so the tree is written out twice, as given lines. All
# threads read the total from `tile[0]`, and then use the tile for the second sum. What must
# happen between the two?
#
# **Task.** Write the three missing parts of `layer_norm`: what each thread writes into the tile
# for the first sum, then for the second sum, and at the end the row of `out`.

# %% Layer norm exercise="layer-norm"
#| export
def layer_norm(block, thread, a, weight, bias, out, tile=shared(SIZE)):
    """A kernel: layer norm of each row, with eps 1e-5; one block for each row.

    a             float array of shape (n, m)
    weight, bias  float arrays of shape (m,)
    out           float array of shape (n, m): the result

    Launched with n blocks of SIZE threads. The accesses of a warp are coalesced: neighbouring
    threads use neighbouring elements.

    >>> a, ones, out = np.array([[3.0, 5.0]]), np.ones(2), np.zeros((1, 2), "float32")
    >>> report = launch(layer_norm, 1, SIZE, a, ones, ones, out)
    >>> out.round(3)
    array([[0., 2.]], dtype=float32)

    Source: Ba, Kiros, Hinton, Layer normalization (2016), section 3.
    """
    row, x, n = block.x, thread.x, a.shape[1]
    ### BEGIN SOLUTION
    total = 0.0
    for j in range(x, n, SIZE):
        total += a[row, j]
    tile[x] = total
    ### END SOLUTION
    yield
    step = SIZE // 2
    while step > 0:  # given: the sum of the tile, in tile[0]
        if x < step:
            tile[x] += tile[x + step]
        yield
        step //= 2
    ### BEGIN SOLUTION
    mean = tile[0] / n
    yield
    squares = 0.0
    for j in range(x, n, SIZE):
        difference = a[row, j] - mean
        squares += difference * difference
    tile[x] = squares
    ### END SOLUTION
    yield
    step = SIZE // 2
    while step > 0:  # given: again
        if x < step:
            tile[x] += tile[x + step]
        yield
        step //= 2
    ### BEGIN SOLUTION
    scale = 1.0 / math.sqrt(tile[0] / n + 1e-5)
    for j in range(x, n, SIZE):
        out[row, j] = (a[row, j] - mean) * scale * weight[j] + bias[j]
    ### END SOLUTION

# %% checks="layer-norm"
check("layer-norm")

# %% [markdown]
# ## Matrix products with tiles
#
# The naive matrix product has one thread for each element of the result, which reads a row of
# `a` and a column of `b`. Each element of `a` is read as often as `b` has columns. Now let a
# block of 16 x 16 threads compute a block of 16 x 16 results together. It goes along the inner
# axis in steps of 16: all threads load a tile of `a` and a tile of `b`, one element of each per
# thread. After a barrier, each thread adds 16 products from shared memory. Each element that
# was loaded is used 16 times. This is `matmul_blocked` of lesson 20 with shared memory in place
# of the cache.
#
# At the edges, a tile reaches beyond the matrices. Fill it with zeros there: they add nothing.
# A second barrier is needed before the next tiles overwrite these.
#
# **Task.** Write `matmul`. All threads must load and wait, also those without a result.

# %% A matrix product with tiles exercise="matmul"
#| export
def matmul(block, thread, a, b, out, left=shared(TILE, TILE), right=shared(TILE, TILE)):
    """A kernel: the product of two matrices, with tiles of TILE x TILE in shared memory.

    a        float array of shape (n, k)
    b        float array of shape (k, m)
    out      float array of shape (n, m): the result

    Launched with blocks of (TILE, TILE) threads and enough blocks along x for m columns and
    along y for n rows. Each block reads each element of its rows of `a` and of its columns of
    `b` once from global memory; neighbouring threads read neighbouring elements.

    >>> a, b, out = np.ones((1, 2)), np.array([[3.0], [4.0]]), np.zeros((1, 1), "float32")
    >>> report = launch(matmul, (1, 1), (TILE, TILE), a, b, out)
    >>> out
    array([[7.]], dtype=float32)

    Source: CUDA C++ Programming Guide, "Shared memory", matrix multiplication.
    """
    x, y = thread.x, thread.y
    i, j = TILE * block.y + y, TILE * block.x + x
    ### BEGIN SOLUTION
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
    ### END SOLUTION

# %% checks="matmul"
check("matmul")

# %% [markdown]
# Predict: how many times fewer transactions than the naive product does `matmul` need for
# matrices of 32 x 32?

# %% tags=["answer", "explained"]
def matmul_naive(block, thread, a, b, out):
    i = TILE * block.y + thread.y
    j = TILE * block.x + thread.x
    if i < out.shape[0] and j < out.shape[1]:
        total = 0.0
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        out[i, j] = total


a, b = np.random.default_rng(0).normal(size=(2, 32, 32)).astype("float32")
out, products = np.zeros((32, 32), "float32"), {}
for kernel in (matmul_naive, matmul):
    products[kernel.__name__] = launch(kernel, (2, 2), (TILE, TILE), a, b, out)
for name, report in products.items():
    print(f"{name:13}{report.reads:7,} reads, {report.transactions:6,} transactions, "
          f"{report.shared_reads:7,} reads of shared memory")

# %% [markdown]
# Each element is read from global memory 16 times less often, and the transactions fall by a
# factor of nearly 10. The arithmetic did not change: the numbers now come from shared memory.
#
# ## Attention in tiles
#
# The attention of lesson 14 for one head computes scores, their softmax, and a weighted sum of
# the values: three kernels, and a matrix of $T \times T$ scores that goes to memory and back.
# **FlashAttention** never stores it. A block holds 32 queries, one for each thread. It goes
# through the keys and values in tiles of 32, and each thread keeps three things: the largest
# score so far, the sum of the powers, and the weighted sum of the values. When a new score is
# larger than all before, the sum *and* the weighted sum are rescaled, as in the online softmax.
#
# With $p = e^{s - m'}$ for the score $s$ of a key and its value $v$:
#
# $$t' = t\, e^{m - m'} + p, \qquad z' = z\, e^{m - m'} + p\, v$$
#
# At the end, $z / t$ is the result. The given lines load the queries and the tiles, coalesced,
# and write the result. `[0.0] * HEAD` is a small array that each thread has for itself.
# Attention is causal here: query `i` looks at the keys 0 to `i`. A tile begins with the key
# `start`, so how many of its 32 keys may query `i` look at?
#
# **Task.** Write the loop over the keys of a tile.

# %% Attention in tiles exercise="attention"
#| export
HEAD = 16  # numbers of a query, a key and a value


def attention(block, thread, q, k, v, out, keys=shared(32, HEAD), values=shared(32, HEAD)):
    """A kernel: causal attention of one head, softmax(q kᵀ / sqrt(HEAD)) v, in tiles.

    q, k, v  float arrays of shape (T, HEAD); query i looks at the keys 0, 1, ..., i
    out      float array of shape (T, HEAD): the result

    Launched with blocks_for(T, 32) blocks of 32 threads, one thread for each query.

    >>> q = k = np.zeros((2, HEAD))
    >>> v, out = np.array([[1.0] * HEAD, [3.0] * HEAD]), np.zeros((2, HEAD), "float32")
    >>> report = launch(attention, 1, 32, q, k, v, out)
    >>> out[:, 0]
    array([1., 2.], dtype=float32)

    Source: Dao, Fu, Ermon, Rudra, Ré, FlashAttention (2022), algorithm 1.
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
            ### BEGIN SOLUTION
            for j in range(min(32, i - start + 1)):
                score, before = 0.0, largest
                for d in range(HEAD):
                    score += query[d] * keys[j, d]
                largest = max(largest, score)
                p, scale = math.exp(score - largest), math.exp(before - largest)
                total = total * scale + p
                for d in range(HEAD):
                    sums[d] = sums[d] * scale + p * values[j, d]
            ### END SOLUTION
        yield
    if i < tokens:
        for d in range(HEAD):
            keys[x, d] = sums[d] / total
    yield
    for n in range(x, 32 * HEAD, 32):
        if first + n // HEAD < tokens:
            out[first + n // HEAD, n % HEAD] = keys[n // HEAD, n % HEAD]

# %% checks="attention"
check("attention")

# %% [markdown]
# Three kernels, and a matrix of scores in between: how many transactions do they need for 64
# tokens, and how many does `attention`? Here `matmul` computes the scores and the sums of the
# values, without a mask. A softmax in between reads each score three times and writes it once,
# which is at best the number below.

# %% tags=["answer", "explained"]
q, k, v = np.random.default_rng(0).normal(size=(3, 64, HEAD)).astype("float32")
scores, out = np.zeros((64, 64), "float32"), np.zeros((64, HEAD), "float32")
first = launch(matmul, (4, 4), (TILE, TILE), q / 4, k.T.copy(), scores).transactions
last = launch(matmul, (1, 4), (TILE, TILE), scores, v, out).transactions
middle = 4 * scores.nbytes // 128
print(f"three kernels: {first} + {middle} + {last} = {first + middle + last:,} transactions")
report = launch(attention, 2, 32, q, k, v, out)
print(f"attention: {report.transactions:,}, and {report.bank_conflicts:,} bank conflicts")

# %% [markdown]
# For long texts the difference grows: the scores are $T^2$ numbers, and `attention` reads only
# queries, keys and values. It also needs no memory for the scores. Without the mask, its
# queries look at all tiles, and it needs 192 transactions here: the factor is still 8.

# %% [markdown] page="On a real GPU"
# ## From Python to WGSL
#
# A GPU does not run Python. A compiler translates a kernel into a program for it. We translate
# into **WGSL**, the shading language of WebGPU. Browsers run it on the GPUs of all makers, and
# so does the Python package `wgpu`. Python's module `ast` turns the text of a function into a
# tree of nodes, and the class `Translator`, which is given, has a method for each kind of node.
# It lacks four methods.
#
# WGSL is stricter than Python, and poorer:
#
# - There are no matrices in the memory of a GPU, only a row of numbers. `address` computes the
#   place of `a[i, j]` in an array of shape (4, 5) as the text `(i_ * 5 + j_)`. The factors are
#   the *strides* of lesson 02, whose `strides_of` is imported. A name gets a `_`, because some
#   names are reserved in WGSL.
# - Every expression has a type, `f32`, `i32` or `bool`, and `1 + 0.5` is an error. `promote`
#   writes `f32(1)`.
# - There is no `0 <= i < n`. `compare` writes `((0 <= i_) && (i_ < 5))`.
# - There is no `a if condition else b`. `select` writes `select(b, a, condition)`. Both values
#   are computed, also the one that is not needed; a read out of bounds then gives some element.
#
# `self.translate(node)` returns the pair (text, type) of any expression. `self.sign(op, node)`
# returns the text of `op`, an operator of the comparison `node`. `self.error(node, what)`
# returns an error that names the line.
#
# **Task.** Write the four methods.

# %% Four methods of a compiler exercise="compiler"
#| export
class Compiler(Translator):
    """A compiler from kernels to WGSL.

    Source: WebGPU Shading Language, sections "Conversion expressions" and "select".
    """

    def promote(self, parts):
        """Expressions that are used together, all of one type.

        parts    list of (text, type); a type is "f32", "i32", "u32" or "bool"
        returns  (texts, type): a list of texts, and their type. If all types are equal, nothing
                 changes. Otherwise the type is "f32", and each text of another type becomes
                 "f32(text)"
        """
        ### BEGIN SOLUTION
        types = {kind for _, kind in parts}
        if len(types) == 1:
            return [text for text, _ in parts], types.pop()
        return [text if kind == "f32" else f"f32({text})" for text, kind in parts], "f32"
        ### END SOLUTION

    def address(self, index, shape):
        """The place of an element in memory.

        index    list of nodes, one for each axis
        shape    tuple of ints, as many
        returns  text: an expression for the sum of each index times its stride

        An index that is a float: raises the error of `self.error(node, what)`, where `what`
        contains the text "whole number".
        """
        ### BEGIN SOLUTION
        text = ""
        for node, n in zip(index, shape):
            part, kind = self.translate(node)
            if kind == "f32":
                raise self.error(node, "an index is a whole number: write // instead of /")
            text = f"({text} * {n} + {part})" if text else part
        return text
        ### END SOLUTION

    def compare(self, node):
        """A comparison, such as a < b or the chain 0 <= i < n.

        node     ast.Compare: .left, then .comparators, a list of nodes, and .ops, a list of as
                 many operators; 0 <= i < n has left 0, comparators [i, n], ops [<=, <]
        returns  (text, "bool"). Numbers that are compared have one type; the whole text and
                 each comparison of a chain are in brackets
        """
        ### BEGIN SOLUTION
        parts = [self.translate(part) for part in (node.left, *node.comparators)]
        tests = []
        for a, op, b in zip(parts, node.ops, parts[1:]):
            (left, right), _ = self.promote([a, b])
            tests.append(f"({left} {self.sign(op, node)} {right})")
        return f"({' && '.join(tests)})", "bool"
        ### END SOLUTION

    def select(self, node):
        """A choice between two values, such as a[i] if i < n else 0.0.

        node     ast.IfExp: .body, the value if .test is true, and .orelse
        returns  (text, type): select(value if false, value if true, test), both values of one
                 type
        """
        ### BEGIN SOLUTION
        values = [self.translate(node.body), self.translate(node.orelse)]
        (yes, no), kind = self.promote(values)
        return f"select({no}, {yes}, {self.translate(node.test)[0]})", kind
        ### END SOLUTION


def compiled(kernel, block, *arguments):
    """A kernel as a program in WGSL, a text.

    kernel     as for `launch`
    block      the threads of a block: an int, or a tuple
    arguments  arrays, of which only the shapes and dtypes are used, and numbers, which become
               constants of the program

    CompileError, with the line, for what WGSL cannot say.
    """
    return Compiler(kernel, arguments).program(block)

# %% checks="compiler"
check("compiler")

# %% tags=["demonstration"]
floats = np.zeros(100, "float32")
print(compiled(add, SIZE, floats, floats, floats))

# %% [markdown]
# The lengths of the arrays are constants of the program, so each other shape is another
# program. Triton and Numba compile in the same way: they read the tree of a Python function
# when it is called for the first time.
#
# A compiler can also write the kernels themselves. In lesson 21, a group of elementwise steps
# became one loop over all elements. A kernel needs no loop, because each thread computes one
# element. `kernel_of`, which is given, writes a kernel for a program of lesson 21, here for
# `gelu(x + bias)` with its ten steps. Predict: how many transactions does it need for 30 x 20
# numbers? (If you skipped lesson 21, the cell names an exercise of it.)

# %% tags=["answer", "explained"]
import inspect

x, bias = np.ones((30, 20), "float32"), np.ones(20, "float32")
try:
    from tinytorch.core.activations import gelu
    from tinytorch.core.compilation import optimized, trace

    fused = kernel_of(optimized(trace(lambda x, bias: gelu(x + bias), x, bias)), SIZE)
    print(inspect.getsource(fused))
    report = launch(fused, blocks_for(600, SIZE), SIZE, x, bias, np.zeros((30, 20), "float32"))
    print(f"{report.transactions} transactions")
except (ImportError, NotImplementedError) as error:
    print(error)

# %% [markdown]
# 600 threads are 19 warps, and each needs 3 transactions: for `x`, `bias` and the result. A
# kernel for each of the ten steps would write ten matrices to memory, and read nine of them
# again.
#
# If this computer has a GPU that WebGPU can use, the cell below runs your kernels on it, each
# compiled by your compiler, and compares each result with the simulator's. Otherwise it prints
# which package or driver is missing. The GPU itself checks nothing: a barrier in an `if` or an
# index out of bounds gives wrong numbers without a word. So let the simulator run every new
# kernel first, at a small size.

# %% tags=["demonstration"]
rng = np.random.default_rng(0)
m, row, c = (rng.normal(size=s).astype("float32") for s in ((40, 33), 33, (33, 20)))
cases = [(add, 1, SIZE, row, row, np.zeros(33, "f4")),
         (add_row, (3, 3), (TILE, TILE), m, row, np.zeros((40, 33), "f4")),
         (transpose, (2, 2), (32, 8), m, np.zeros((33, 40), "f4")),
         (block_sum, 1, SIZE, row, np.zeros(1, "f4")),
         (online_softmax, 1, SIZE, m, np.zeros((40, 33), "f4")),
         (layer_norm, 40, SIZE, m, row, row, np.zeros((40, 33), "f4")),
         (matmul, (2, 3), (TILE, TILE), m, c, np.zeros((40, 20), "f4")),
         (attention, 2, 32, q, k, v, np.zeros((64, HEAD), "f4"))]
print(run_on_gpu(cases, compiled))

# %% [markdown]
# ## A prediction
#
# How long will a kernel take? The roofline model of lesson 19, `roofline(flops, bytes,
# machine)`, needs the number of floating-point operations and the bytes that the memory moves.
# The bytes are known: 128 for each transaction, whether its numbers are used or not.
#
# **Task.** Write `predicted`.

# %% The predicted time of a kernel exercise="predicted"
#| export
def predicted(report, machine, flops=0):
    """The shortest time in which a GPU can run a kernel, by the roofline model.

    report   Report of a launch, with .transactions
    machine  Machine of lesson 19: its FLOPs and bytes per second
    flops    number of floating-point operations of the kernel
    returns  (seconds, limit) as `roofline` returns them: a float, and "memory" or "arithmetic"

    >>> from tinytorch.core.profiling import Machine
    >>> from tinytorch.gpu.simulator import Report
    >>> predicted(Report(transactions=100), Machine(1000.0, 12800.0), flops=500)
    (1.0, 'memory')
    """
    ### BEGIN SOLUTION
    return roofline(flops, 128 * report.transactions, machine)
    ### END SOLUTION

# %% checks="predicted"
check("predicted")

# %% [markdown]
# An A100, a GPU of 2020, does 19.5e12 operations with float32 per second and moves 1.555e12
# bytes per second, by its data sheet. The table scales the counts of a product of 32 x 32 up to
# matrices of 4,096 x 4,096: both counts grow with the third power of the size. Predict which
# limit each kernel has.

# %% tags=["answer", "explained"]
from tinytorch.core.profiling import Machine
from tinytorch.gpu.simulator import Report

a100, factor = Machine(19.5e12, 1.555e12), (4096 // 32)**3
for name, report in products.items():
    large = Report(transactions=factor * report.transactions)
    seconds, limit = predicted(large, a100, flops=2 * 4096**3)
    print(f"{name:13}{1e3 * seconds:8.1f} ms, limited by {limit}")

# %% [markdown]
# With tiles of 16 the product is still limited by the memory. Libraries use tiles of 128 x 128,
# of which each thread computes 8 x 8 results from its registers, and caches save more of the
# traffic. The model leaves out much: a GPU hides waiting by other warps (*occupancy*), a warp
# whose threads take both sides of an `if` executes both (*divergence*), and *tensor cores*
# multiply small matrices in one instruction.

# %% [markdown] question="which-gains" points=2
# Compare your kernels in a table: the transactions of a naive version and of yours. Which one
# would a real GPU gain most from, in a program that you would like to write, and why?
#
# **Your answer:**
#
# ### BEGIN SOLUTION
# | kernel | naive | mine |
# | --- | --- | --- |
# | transpose, 64 x 64 | 2,304 | 256 |
# | matrix product, 64 x 64 | 24,832 | 2,304 |
# | attention, 128 tokens, no mask | 6,208 | 640 |
#
# In a language model the matrix products of the layers take most of the time, so the tiles of
# `matmul` gain most there. For very long texts it is attention, because its naive traffic grows
# with the square of the length.
#
# - 1 point: a table with measured transactions of two kernels or more
# - 1 point: a reason that names the share of the kernel in a program
# ### END SOLUTION

# %% [markdown]
# ## Look back
#
# 1. Your kernel is right in the simulator. A friend removes a barrier, runs it on a GPU, and
#    the result is right. Why is that no proof?
# 2. `block_sum` uses blocks of 64 threads. Which lines would change for 256, and why must the
#    number be a power of two?
# 3. Why does `attention` read fewer bytes than three kernels, although it computes the same
#    number of products?
#
# In PyTorch, `x.to("cuda")` copies a tensor to a GPU, and each operation on it launches a
# kernel that NVIDIA or the authors of PyTorch have written. `scaled_dot_product_attention`
# calls a FlashAttention kernel. `torch.compile` writes kernels itself, in Triton, a language in
# which a program describes what a whole *block* does, and the compiler finds the threads.

# %% [markdown] tags=["answer"]
# 1. A race has a wrong result only in some runs: when the order of the threads is another one,
#    on another GPU, or when the compiler exchanges two instructions. The simulator asks whether
#    an order *exists* that matters, and not whether it happened.
# 2. Only `SIZE`, since the tile and the first step follow from it. With 96 threads the halves
#    would be 48, 24, 12, 6, 3 and then 1: the third number of the last three would be lost.
# 3. The scores stay in the registers of the threads. The three kernels write the matrix of
#    scores to memory and read it again, twice.
