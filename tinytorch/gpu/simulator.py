"""A simulator of a GPU that checks and counts every access to memory.

A kernel is a Python function that is called once for each thread, with the place of its block in
the grid and its own place in the block. `yield` is a barrier: each thread of the block waits there
for all the others. An argument whose default is `shared(...)` is memory that the threads of a block
share.

    def add(block, thread, a, b, out):
        i = 64 * block.x + thread.x
        if i < out.shape[0]:
            out[i] = a[i] + b[i]

    report = launch(add, 2, 64, a, b, out)  # 2 blocks of 64 threads; changes `out`

Threads run one after the other, each up to its next barrier. On a GPU they run at the same time, in
an order that nobody knows, so a kernel whose result depends on the order is an error here.
"""

import array
import dis
import inspect
import linecache
import math
import operator
import sys
from collections import Counter, defaultdict, namedtuple
from dataclasses import dataclass

import numpy as np

WARP = 32  # threads that do the same step at the same time
SEGMENT = 128  # bytes of global memory that one transaction moves
BANKS = 32  # of shared memory: each of them serves one address at a time
MOST_THREADS = 1024  # of a block
MOST_ACCESSES = 20_000_000  # of a block to one array: after as many the launch is stopped
MOST_LINES = 200_000  # of a thread between two barriers, in kernels with a `while`
MOST_BARRIERS = 2_000  # of a block
CODES = {"f": "f", "i": "i", "u": "I", "b": "b"}  # NumPy's kind of number: the code of `array`

Place = namedtuple("Place", "x y z")


class KernelError(Exception):
    """A kernel did something that a GPU refuses, or that has another result each time."""


class shared:
    """Memory that the threads of a block share. Its numbers are arbitrary at first.

    >>> def kernel(block, thread, a, tile=shared(16, 16)): ...
    """

    def __init__(self, *shape, dtype="float32"):
        self.shape, self.dtype = shape, dtype


@dataclass
class Report:
    """What the threads of a launch did, as counts."""

    threads: int = 0
    reads: int = 0  # of global memory, by single threads
    writes: int = 0
    transactions: int = 0  # of global memory: 128 bytes each, for all threads of a warp
    shared_reads: int = 0
    shared_writes: int = 0
    bank_conflicts: int = 0  # further steps, because threads of a warp need the same bank
    barriers: int = 0  # by blocks, not by threads


class Memory:
    """An array as a kernel sees it: `a[i]` or `a[i, j]` with whole numbers, and `a.shape`."""

    def __init__(self, launch, name, shape, dtype, values=None):
        self.launch, self.name, self.shape = launch, name, tuple(shape)
        self.dtype, self.is_shared = np.dtype(dtype), values is None
        numbers = [0] * math.prod(self.shape) if values is None else values.ravel().tolist()
        self.values = array.array(CODES[self.dtype.kind], numbers)
        self.accesses = [0, 0]  # reads, writes
        self.touched = {}  # since the barrier: {address: (thread, or None for several; written?)}
        self.read, self.written = set(), set()  # addresses, by this block
        self.read_before, self.written_before = set(), set()  # by the blocks before it

    def __getattr__(self, name):
        raise self.launch.error(f"a kernel works with single elements: there is no {self.name}."
                                f"{name}")  # fmt: skip

    def __iter__(self):
        raise self.launch.error(f"a kernel works with single elements, and not with {self.name}")

    def address(self, index):
        """The place of an element in memory: its index times the strides."""
        index = index if type(index) is tuple else (index,)
        if len(index) != len(self.shape):
            axes, given = len(self.shape), len(index)
            raise self.launch.error(
                f"{self.name} has {axes} {'axis' if axes == 1 else 'axes'}, and {given} "
                f"{'index is' if given == 1 else 'indices are'} given"
            )
        address = 0
        for i, n in zip(index, self.shape):
            if type(i) is not int:
                i = self.whole(i)
            if not 0 <= i < n:
                raise self.launch.error(f"index {i} is outside {self.name}, of shape {self.shape}")
            address = address * n + i
        return address

    def whole(self, i):
        try:
            return operator.index(i)
        except TypeError:
            what = f"the index {i!r} of {self.name} is not a whole number"
            raise self.launch.error(what) from None

    def element(self, address):
        """How an element is written: a[2, 3]."""
        index = np.unravel_index(address, self.shape)
        return f"{self.name}[{', '.join(str(int(i)) for i in index)}]"

    def touch(self, address, write):
        """Record that the current thread reads or writes an address."""
        launch, thread = self.launch, self.launch.thread
        self.accesses[write] += 1
        if self.accesses[write] > MOST_ACCESSES:
            raise launch.error(f"more than {MOST_ACCESSES:,} accesses: does each loop end?")
        other, written = self.touched.get(address, (thread, False))
        if other != thread and (write or written):
            raise launch.race(self.element(address), other, write)
        self.touched[address] = (thread if other == thread else None), write or written
        # Threads of a warp that execute the same expression for the same time do so together. The
        # place in the source names the expression; that in the bytecode changes while it runs.
        frame = sys._getframe(2)
        step = launch.expressions[frame.f_code][frame.f_lasti // 2]
        time = launch.times[step, write] = launch.times.get((step, write), 0) + 1
        launch.together[self, thread // WARP, step, write, time].add(address)

    def __getitem__(self, index):
        address = self.address(index)
        self.touch(address, False)
        if self.is_shared and address not in self.written:
            raise self.launch.error(f"{self.element(address)} is read before a thread writes it")
        self.read.add(address)
        return self.values[address]

    def __setitem__(self, index, value):
        address = self.address(index)
        self.touch(address, True)
        self.written.add(address)
        try:
            self.values[address] = value
        except (TypeError, OverflowError):
            what = f"{value!r} cannot be written into {self.name}, of dtype {self.dtype}"
            raise self.launch.error(what) from None

    def end_block(self):
        """Compare with the blocks before, because the order of blocks is not known."""
        used_before = self.read_before | self.written_before
        both = self.written & used_before | self.read & self.written_before
        if both:
            raise self.launch.error(
                f"race between blocks: {self.element(min(both))} is written in one block and used "
                "in another"
            )
        self.read_before |= self.read
        self.written_before |= self.written
        self.read, self.written, self.accesses = set(), set(), [0, 0]


class Expressions(dict):
    """{code: list with the number of the expression to which each of its instructions belongs}"""

    def __init__(self):
        self.numbers = {}

    def __missing__(self, code):
        places = [(code, *place) for place in code.co_positions()]
        self[code] = [self.numbers.setdefault(place, len(self.numbers)) for place in places]
        return self[code]


class Launch:
    """A kernel, and what its threads do now."""

    def __init__(self, kernel, block_shape, arguments):
        # The function itself: `tito test` watches functions through a wrapper with other lines.
        self.kernel, self.block_shape = inspect.unwrap(kernel), block_shape
        self.counts, self.expressions = Counter(), Expressions()
        parameters = list(inspect.signature(kernel).parameters.values())[2:]
        self.shared = {p.name: p.default for p in parameters if isinstance(p.default, shared)}
        self.memories = {}  # {id of an array: (the array, its Memory)}
        for parameter, x in zip(parameters, arguments):
            if isinstance(x, np.ndarray) and id(x) not in self.memories:
                memory = Memory(self, parameter.name, x.shape, x.dtype, x)
                self.memories[id(x)] = x, memory
        self.arguments = [
            self.memories[id(x)][1] if isinstance(x, np.ndarray) else x for x in arguments
        ]
        self.arrays = [memory for _, memory in self.memories.values()]
        self.is_watched, self.has_empty_loop = find_loops(self.kernel.__code__)

    def coordinates(self, thread):
        """The place in its block of the thread with this number: x moves first."""
        nx, ny, _ = self.block_shape
        return Place(thread % nx, thread // nx % ny, thread // (nx * ny))

    def run_block(self, block):
        """Run each thread up to its next barrier, and again, until all of them have ended."""
        self.block, self.together, calls = block, defaultdict(set), {}
        tiles = {name: Memory(self, name, s.shape, s.dtype) for name, s in self.shared.items()}
        memories = [*self.arrays, *tiles.values()]
        for self.thread in range(math.prod(self.block_shape)):
            self.counts["threads"] += 1
            place = self.coordinates(self.thread)
            call = self.advance(lambda: self.kernel(block, place, *self.arguments, **tiles))
            if inspect.isgenerator(call):  # it waits before its first line
                calls[self.thread] = call
        passed = 0
        while calls:
            waiting = {}
            for self.thread, call in calls.items():
                if self.advance(lambda: next(call, "ended")) != "ended":
                    waiting[self.thread] = call
            self.check_barrier(calls, waiting)
            self.end_phase(memories)
            self.counts["barriers"] += bool(waiting)
            passed, calls = passed + 1, waiting
            if passed > MOST_BARRIERS:
                raise self.error(f"more than {MOST_BARRIERS:,} barriers: does each loop end?")
        self.end_phase(memories)
        for memory in memories:
            for name, count in zip(("reads", "writes"), memory.accesses):
                self.counts["shared_" * memory.is_shared + name] += count
            memory.end_block()

    def advance(self, run):
        """Run the current thread up to its next barrier."""
        self.times, self.lines, tracer = {}, 0, sys.gettrace()
        try:
            if self.is_watched:
                sys.settrace(self.watch)
            return run()
        except (ArithmeticError, ValueError) as error:
            raise self.error(
                f"{error}: a GPU goes on with inf or nan", error.__traceback__
            ) from None
        finally:
            if self.is_watched:
                sys.settrace(tracer)

    def watch(self, frame, event, argument):
        """Python calls this when a function begins or goes on, and its result for each line."""
        if frame.f_code is not self.kernel.__code__:
            return None
        frame.f_trace_opcodes = self.has_empty_loop  # `while True: pass` never begins a line again
        return self.count_line

    def count_line(self, frame, event, argument):
        self.lines += 1
        if self.lines > MOST_LINES:
            raise self.error(f"more than {MOST_LINES:,} lines in one thread: does each loop end?")
        return self.count_line

    def end_phase(self, memories):
        """Count the accesses since the last barrier."""
        for (memory, *_), addresses in self.together.items():
            if memory.is_shared:
                in_bank = Counter(address % BANKS for address in addresses)
                self.counts["bank_conflicts"] += max(in_bank.values()) - 1
            else:
                size = memory.values.itemsize
                self.counts["transactions"] += len({a * size // SEGMENT for a in addresses})
        self.together = defaultdict(set)
        for memory in memories:
            memory.touched = {}

    def check_barrier(self, calls, waiting):
        """Either all threads of a block wait at one barrier, or none does."""
        lines = {call.gi_frame.f_lineno: thread for thread, call in waiting.items()}
        ended = [thread for thread in calls if thread not in waiting]
        if waiting and ended:
            self.thread = ended[0]
            raise self.error(
                "barrier divergence: this thread has ended, and thread "
                f"{tuple(self.coordinates(min(waiting)))} waits in line {min(lines)} of "
                f"{self.kernel.__name__}"
            )
        if len(lines) > 1:
            places = [f"line {line} of {self.kernel.__name__}" for line in sorted(lines)]
            raise self.error(f"barrier divergence: threads wait in {' and '.join(places)}")

    def race(self, element, other, write):
        user = (
            "other threads use"
            if other is None
            else f"thread {tuple(self.coordinates(other))} uses"
        )
        return self.error(
            f"race: this thread {'writes' if write else 'reads'} {element}, which {user} without a "
            "barrier in between"
        )

    def error(self, what, traceback=None):
        """A KernelError that says where it happened."""
        frame, line, code = sys._getframe(1), "", self.kernel.__code__
        while frame and frame.f_code is not code:
            frame = frame.f_back
        while traceback and traceback.tb_frame.f_code is not code:
            traceback = traceback.tb_next
        if frame or traceback:
            number = traceback.tb_lineno if traceback else frame.f_lineno
            text = linecache.getline(code.co_filename, number).strip()
            what += f" in `{text}`" if text else ""
            line = f"line {number} of "
        return KernelError(
            f"{what} ({line}{self.kernel.__name__}, block {tuple(self.block)}, thread "
            f"{tuple(self.coordinates(self.thread))})"
        )


def find_loops(code):
    """Whether a function has a loop that is not a `for`, and whether one of them is empty.

    A loop is a jump back. That of a `for` leads to FOR_ITER, and that of `while True: pass` to
    itself.
    """
    steps = list(dis.get_instructions(code))
    names = {step.offset: step.opname for step in steps}
    jumps = [s for s in steps if "JUMP_BACKWARD" in s.opname and "NO_INTERRUPT" not in s.opname]
    jumps = [step for step in jumps if names.get(step.argval) != "FOR_ITER"]
    return bool(jumps), any(step.argval == step.offset for step in jumps)


def three(shape):
    """A shape with three lengths: 4 and (4,) become (4, 1, 1)."""
    shape = shape if isinstance(shape, tuple) else (shape,)
    return shape + (1,) * (3 - len(shape))


def launch(kernel, grid, block, *arguments):
    """Run a kernel with every thread of every block, one thread at a time.

    kernel     function of (block, thread, *arguments); a generator function if it has barriers
    grid       how many blocks: an int, or a tuple (x, y) or (x, y, z)
    block      how many threads a block has, likewise; at most 1,024
    arguments  ndarrays, which the kernel may change, and numbers. Floats are rounded to float32
    returns    Report

    KernelError, with line, block and thread, for what a GPU refuses or does differently each time:
    an index out of bounds, a race, barrier divergence, shared memory that is read before it is
    written, a loop that does not end. The arrays are unchanged then.
    """
    threads = math.prod(three(block))
    if not 1 <= threads <= MOST_THREADS:
        raise ValueError(f"a block has 1 to {MOST_THREADS:,} threads, and {block} are {threads:,}")
    run = Launch(kernel, three(block), arguments)
    for z, y, x in np.ndindex(three(grid)[::-1]):
        run.run_block(Place(x, y, z))
    for x, memory in run.memories.values():
        if memory.written_before:
            x[...] = np.array(memory.values, x.dtype).reshape(x.shape)
    return Report(**run.counts)
