# The checks of lesson 19, by exercise. `check("race")` in the chapter runs the visible ones.

# %% setup
import math

import numpy as np

from checking import because, equal, expect, refused, result_of


def inside(interval, low, high, case, cause=""):
    """Assert that an interval is (low, high): each a number, or a pair that it lies between."""
    assert interval is not None, f"{case}: yours returns None. Is `return` missing?"
    pair = tuple(interval) if isinstance(interval, (tuple, list)) else None
    assert pair is not None and len(pair) == 2, (
        f"{case} should be a pair (low, high), yours is {interval!r}"
    )
    bounds = [end if isinstance(end, tuple) else (end, end) for end in (low, high)]
    right = [a - 1e-9 <= x <= b + 1e-9 for x, (a, b) in zip(pair, bounds, strict=True)]
    wanted = " to ".join(f"{a:g}" if a == b else f"({a:g} ... {b:g})" for a, b in bounds)
    yours = f"{float(pair[0]):.6g} to {float(pair[1]):.6g}"
    assert all(right), f"{case} should be {wanted}, yours is {yours}{because(cause)}"


def within(found, wanted, case, cause=""):
    """Assert that a number of bytes is at most 1 % away from what it should be."""
    assert isinstance(found, int) and abs(found - wanted) < 0.01 * wanted, (
        f"{case} should be about {wanted:,} bytes, yours is {found!r}{because(cause)}"
    )


def under_profile(call):
    """`result_of` a call with operations under a profile."""
    cause = "`run` has to return the result of the operation"
    return result_of(call, "an operation under a profile", {"None": cause})


def middle(interval, numbers, case):
    """Assert that an interval is about right for the median of 25 or more numbers: in their
    order it reaches from about .3 to about .7 of them."""
    order = np.sort(numbers)
    low, high = [np.percentile(order, bounds) for bounds in ((16, 44), (56, 84))]
    inside(interval, tuple(low), tuple(high), case)


def false_winners(order, pairs=40, rounds=40):
    """A/A tests on a computer whose speed drifts: how many of the intervals exclude 1."""
    count = 0
    for number in range(pairs):
        drift = np.random.default_rng(number)
        slow = np.exp(np.cumsum(drift.normal(0, 0.02, 4 * rounds)))
        durations = slow * drift.uniform(0.9, 1.1, len(slow))
        a, b = times_of_pair(order, durations.tolist(), rounds, number)
        strange = [x for x in [*a, *b] if not np.isclose(x, durations, 1e-6).any()]
        assert not strange, f"no call of f took {strange[:1]} s, in the order {order!r}"
        interval = ratio_interval(a, b, rng=number)
        middle(interval, np.asarray(a) / np.asarray(b), f"ratio_interval of A/A test {number}")
        count += not float(interval[0]) <= 1 <= float(interval[1])
    return count


# %% learner-side
# No check reads a real clock: all times are made up here.
import tracemalloc

from tinytorch.core import attention as attentions
from tinytorch.core import tensor as engine
from tinytorch.core.autograd import no_grad
from tinytorch.core.layers import Dense, Module, Sequential
from tinytorch.core.tensor import Tensor, Variable, apply, concatenate
from tinytorch.core.transformers import GELU, GPT


class Simulation:
    """A clock that advances only while a program runs, and a log of what happened."""

    def __init__(self):
        self.now, self.log = 0.0, []

    def clock(self):
        self.log.append("clock")
        return self.now

    def program(self, name, durations):
        """A function without arguments whose calls take these seconds, one after another; the
        last one is repeated."""
        left = list(durations)

        def f():
            self.log.append(name)
            self.now += left.pop(0) if len(left) > 1 else left[0]
            return "the result"

        return f


def timed(durations, **options):
    """What `seconds` returns for a program whose calls take these seconds; the log."""
    world = Simulation()
    times = seconds(world.program("f", durations), clock=world.clock, **options)
    return times, world.log


def raced(durations, rounds, seed=0):
    """What `race` returns for functions whose calls take these seconds, {name: list}; the names
    of the functions in the order of their calls."""
    world = Simulation()
    functions = {name: world.program(name, each) for name, each in durations.items()}
    times = race(functions, rounds, np.random.default_rng(seed), world.clock)
    return times, [name for name in world.log if name != "clock"], world.log


def times_of_pair(order, durations, rounds, seed):
    """The times of one program under two names, from race or from one call of seconds each."""
    world = Simulation()
    f = world.program("f", durations)
    if order == "race":
        times = race({"a": f, "b": f}, rounds, np.random.default_rng(seed), world.clock)
        return np.asarray(times["a"]), np.asarray(times["b"])
    return [np.asarray(seconds(f, rounds, clock=world.clock)) for _ in "ab"]


class Tick:
    """A clock whose readings are 0, 1, 3, 6, 10, ..., so that what is timed by two readings
    takes 1, 3, 5, ... seconds; or one that advances by these steps, again and again."""

    def __init__(self, steps=None):
        self.now, self.count, self.steps = 0.0, 0, steps

    def __call__(self):
        self.count += 1
        step = (
            self.count - 1
            if self.steps is None
            else self.steps[(self.count - 1) % len(self.steps)]
        )
        self.now += step
        return self.now


def measured_machine(steps, **sizes):
    """What `machine` returns with a clock that advances by these steps, and how often it was
    read."""
    clock = Tick(steps)
    found = machine(clock=clock, **sizes)
    return [float(found.flops_per_second), float(found.bytes_per_second)], clock.count


def target_after_copy(megabytes):
    """The `target` of `machine` after the call; it begins with zeros. None if no array like
    `source` was made."""
    made, empty_like = [], np.empty_like

    def zeros_like(array, *others, **options):
        made.append(np.zeros_like(array, *others, **options))
        return made[-1]

    np.empty_like = zeros_like
    try:
        machine(n=4, megabytes=megabytes, repeat=2, clock=Tick([0.5]))
    finally:
        np.empty_like = empty_like
    targets = [array for array in made if array.size == megabytes * 250_000]
    return max(targets, key=lambda array: array.min(), default=None)


PRODUCTS = "matmul dot inner einsum tensordot multi_dot".split()


class Simulated(np.ndarray):
    """An array of a computer that does 2,000 FLOPs and moves 1,000 bytes per second. Its time
    advances only by what is done with such arrays, in whatever way it is written."""

    now, busy = 0.0, False

    @classmethod
    def work(cls, name, call, arrays):
        """The result of a call. A product takes time by its FLOPs, other work by its bytes."""
        if cls.busy:
            return call()
        cls.busy = True
        try:
            out = call()
        finally:
            cls.busy = False
        arrays = [part for part in (*arrays, out) if isinstance(part, np.ndarray)]
        if name in PRODUCTS:
            cls.now += 2 * len(arrays[0]) ** 3 / 2000
        else:
            cls.now += sum({id(part): part.nbytes for part in arrays}.values()) / 1000
        return out

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **options):
        plain = [np.asarray(x) if isinstance(x, Simulated) else x for x in (*inputs, *out)]
        if out:
            options["out"] = tuple(plain[len(inputs) :])
        call = lambda: getattr(ufunc, method)(*plain[: len(inputs)], **options)
        return self.work(ufunc.__name__, call, plain)

    def __array_function__(self, function, types, inputs, options):
        call = lambda: super(Simulated, self).__array_function__(
            function, types, inputs, options
        )
        return self.work(function.__name__, call, [*inputs, *options.values()])

    def dot(self, *inputs, **options):
        return np.dot(self, *inputs, **options)

    def copy(self, *order):
        return np.copy(self)

    def __setitem__(self, place, value):
        call = lambda: super(Simulated, self).__setitem__(place, value)
        self.work("copy", call, [self, value])


def simulated_machine():
    """The two speeds that `machine` finds on this computer, by its clock."""
    ones = np.ones
    np.ones = lambda *shape, **options: ones(*shape, **options).view(Simulated)
    try:
        found = machine(n=8, megabytes=1, repeat=2, clock=lambda: Simulated.now)
    finally:
        np.ones = ones
    return [float(found.flops_per_second), float(found.bytes_per_second)]


def roofline_of(flops, size, *speeds):
    """What `roofline` returns for a Machine with these two speeds."""
    found = roofline(flops, size, Machine(*speeds))
    return tuple(found) if isinstance(found, tuple) else type(found).__name__


class Exponential(Module):
    """A module of one operation, which is the engine's in every solution of earlier lessons."""

    def forward(self, x):
        return x.exp()


class Scaled(Module):
    """A module that multiplies the result of its part."""

    def __init__(self):
        self.inner = Sequential(Dense(3, 3, rng=0), Exponential())

    def forward(self, x):
        return self.inner(x) * 3.0


class Pair(Module):
    """A model that subtracts from the result of its two parts, or raises an error."""

    def __init__(self, fails=False):
        self.first, self.second, self.fails = Dense(2, 3, rng=0), Scaled(), fails

    def forward(self, x):
        x = self.first(x)
        if self.fails:
            raise KeyError("the model fails")
        return self.second(x) - 2.0


def program_a():
    """Six operations on small Tensors."""
    x = Tensor(np.ones((4, 5), "float32"))
    y = x @ Tensor(np.ones((5, 2), "float32"))
    y = (y + 1.0) + y
    return (y.reshape(2, 4) * 3.0).sum()


def pick_a_row():
    Tensor(np.ones((3, 5), "float32"))[[1]]


def profiled(f=program_a, kind="OperationProfile"):
    """{name of an operation: [calls, seconds, flops, bytes]} of a profile of f()."""
    clock = Tick()
    with (
        OperationProfile(clock=clock) if kind == "OperationProfile" else Profile(clock=clock)
    ) as p:
        f()
    return {op: [float(x) for x in values] for (path, op), values in p.totals.items()}


def seconds_of_slow_counting():
    """The seconds of one addition that takes 2 seconds, in a profile whose count of FLOPs takes
    5, and how often the addition ran. The clock advances by nothing else."""
    world, before = Simulation(), engine.run

    class Slow(OperationProfile):
        def flops(self, *arguments):
            world.now += 5
            return super().flops(*arguments)

    def run(*arguments):
        world.program("run", [2.0])()
        return before(*arguments)

    engine.run = run
    try:
        with Slow(world.clock) as p:
            Tensor([1.0]) + 1.0
    finally:
        engine.run = before
    return float(p.totals["", "add"][1]), world.log.count("run")


def profile_keys():
    """The keys of `totals` after one addition, outside of all modules."""
    with OperationProfile() as p:
        Tensor([1.0]) + 1.0
    return [list(key) for key in p.totals]


def results_under_profile():
    """The result of a program with and without a profile; the number of recorded calls; whether
    the second result has a graph."""
    x = Variable([1.0, 2.0])
    plain = (x * x).sum()
    with OperationProfile() as p:
        watched = (x * x).sum()
    calls = sum(values[0] for values in p.totals.values())
    return float(plain), float(watched), float(calls), watched.creator is not None


def engine_after(kind, fails):
    """Calls recorded in a profile, and whether the engine's `run` is the same afterwards."""
    before = engine.run
    profile = OperationProfile() if kind == "OperationProfile" else Profile(Pair())
    try:
        with profile:
            Tensor([1.0]) * 2.0
            if fails:
                raise KeyError("an error in the block")
        same = engine.run is before
    except KeyError:
        same = engine.run is before
    finally:
        engine.run = before
    return float(sum(values[0] for values in profile.totals.values())), same


def nested_calls():
    """Calls of `add` counted by an outer and an inner profile, and by the engine afterwards."""
    before = engine.run
    try:
        with OperationProfile() as outer:
            Tensor([1.0]) + 1.0
            with OperationProfile() as inner:
                Tensor([1.0]) + 1.0
            Tensor([1.0]) + 1.0
        same = engine.run is before
    finally:
        engine.run = before
    return [p.totals.get(("", "add"), [0])[0] for p in (outer, inner)], same


def paths_of(repeats=1):
    """[path, operation, calls] of the rows of a Profile of the model Pair."""
    model = Pair()
    with Profile(model) as p:
        for _ in range(repeats):
            model(Tensor(np.ones((1, 2), "float32")))
        Tensor([1.0]) / 2.0
    return [list(row[:3]) for row in p.rows]


def paths_after_error():
    """The path of an addition after a module has raised an error that was caught, all inside of
    the block."""
    model = Pair(fails=True)
    with Profile(model) as p:
        try:
            model(Tensor(np.ones((1, 2), "float32")))
        except KeyError:
            pass
        Tensor([1.0]) / 2.0
        stack = list(p.path)
    return [list(row[:2]) for row in p.rows if row[1] == "div"], stack


def wrapped_calls():
    """What a wrapper passes on and returns, and the path while `forward` runs."""
    p, seen = Profile(), []

    def forward(*inputs, **options):
        seen.append((list(p.path), inputs, options))
        return "the result"

    result = p.wrapped("a.b", forward)(1, 2, scale=3)
    return (
        result,
        [list(path) for path, _, _ in seen],
        [list(seen[0][1]), dict(seen[0][2])],
        list(p.path),
    )


def model_after(fails):
    """The paths in a Profile of a model; the modules that have an attribute `forward`
    afterwards; whether the model computes the same."""
    model = Pair()
    x = Tensor(np.ones((1, 2), "float32"))
    before = model(x).data
    profile = Profile(model)
    try:
        with profile:
            model(x)
            if fails:
                raise KeyError("an error in the block")
    except KeyError:
        pass
    left = [path for path, part in model.named_modules() if "forward" in vars(part)]
    paths = [str(row[0]) for row in profile.rows]
    return paths, left, bool((model(x).data == before).all())


def peak_of(name, million=1_000_000):
    """peak_bytes of one of these functions, and whether tracemalloc runs afterwards."""

    def kept():
        a = np.ones(million, "float32")
        b = a + 1
        return b

    def freed():
        a = np.ones(2 * million, "float32")
        del a
        b = np.ones(million, "float32")
        return b.sum()

    def fails():
        raise KeyError("the function fails")

    programs = {"kept": kept, "freed": freed, "nothing": lambda: None, "fails": fails}
    tracemalloc.stop()
    try:
        found = peak_bytes(programs[name])
    except KeyError as error:
        found = repr(error)
    tracing = tracemalloc.is_tracing()
    tracemalloc.stop()
    return found, tracing


def first_rows(x):
    """Ten rows of 2 x: a view of an array that nothing else refers to."""
    return (x * 2)[:10]


def from_bytes(x):
    """2 x as a view of an array whose numbers are in a `bytes` object, as in a file."""
    return np.frombuffer((x * 2).tobytes(), x.dtype).reshape(x.shape)


def graph(name):
    """The result of one of these computations on Variables."""
    x = Variable(np.ones((100, 100), "float32"))  # 40 kB
    programs = {
        "exp": lambda: x.exp(),
        "x * x": lambda: x * x,
        "view": lambda: x.T.exp(),
        "views of a result": lambda: x.exp().reshape(10, 1000).T[:5].exp(),
        "twice": lambda: (lambda y: y.exp() + y.sin())(x * 2.0),
        "part": lambda: apply(first_rows, x),
        "bytes": lambda: apply(from_bytes, x),
        "saved": lambda: GELU()(x),
        "attention": lambda: attentions.MultiHeadAttention(8, 2)(
            Variable(np.ones((1, 100, 8), "float32"))
        ),
        "no graph": lambda: x.detach() * 2.0,
        "chain": lambda: x.exp().exp().exp(),
    }
    return programs[name]()


def kept_by(name):
    """The sizes in bytes of the arrays of `kept_arrays`, sorted; their names; and more."""
    result = graph(name)
    kept = kept_arrays(result)
    assert isinstance(kept, dict), (
        f"kept_arrays should return a dict, yours: {type(kept).__name__}"
    )
    for op, _ in kept.values():
        assert isinstance(op, str), (
            f"the name of an array should be a text, as name_of(op) gives it, yours is {op!r}"
        )
    sizes = sorted(int(array.nbytes) for _, array in kept.values())
    keys = all(key == id(array) for key, (_, array) in kept.items())
    owners = all(not isinstance(array.base, np.ndarray) for _, array in kept.values())
    return sizes, sorted(op for op, _ in kept.values()), keys, owners, int(kept_bytes(result))


class Counter(Module):
    """A model of one matrix product of k by k, which counts its calls."""

    def __init__(self, k):
        self.weight, self.calls, self.recorded = Variable(np.ones((k, k), "float32")), 0, False

    def forward(self, x):
        self.calls += 1
        out = Tensor(x) @ self.weight
        self.recorded = self.recorded or out.requires_grad
        return out + 1.0


def predicted(k, rows, *speeds):
    """What `predict` returns for a matrix product and an addition; the number of calls of the
    model; whether something was recorded; whether engine and model are as before."""
    model, before = Counter(k), engine.run
    try:
        found = predict(model, np.ones((rows, k), "float32"), Machine(*speeds))
        same = engine.run is before and "forward" not in vars(model)
    finally:
        engine.run = before
    return float(found), model.calls, model.recorded, same


def predicted_twice(speed):
    """What `predict` returns for two calls of one layer."""
    layer = Dense(4, 4, bias=False)
    model = Sequential(layer, layer)
    return float(predict(model, Tensor(np.ones((2, 4), "float32")), Machine(speed, 1e9)))


def raising_block():
    """A profile around a block that raises a KeyError."""
    before = engine.run
    try:
        with OperationProfile():
            raise KeyError("an error in the block")
    finally:
        engine.run = before


def counted_flops(V, T, D, L, rows):
    """The FLOPs of a GPT of these sizes, by a profile."""
    model = attentions.fuse_attention(GPT(V, T, D, L, 4))
    with no_grad(), OperationProfile() as p:
        model(np.zeros((rows, T), int))
    return float(sum(row[4] for row in p.rows))


def other_program(shape, products):
    """Products, one exp and one concatenate."""
    x = Tensor(np.ones(shape, "float32"))

    def f():
        y = x
        for number in range(products):
            y = y * float(number)
        concatenate([y.exp(), y, y, y])

    return f


def wrapped_without_a_model(calls):
    """[path, operation, calls] of the rows of a Profile without a model, in which wrapped
    functions call operations. calls: a list of [path, operation], "" for no wrapper."""
    with Profile() as p:
        for path, name in calls:
            f = getattr(Tensor([1.0]), name)
            p.wrapped(path, f)() if path else f()
    return [list(row[:3]) for row in p.rows]


def paths_of_repeated(sizes, times):
    """The rows of a Profile of modules that are called several times."""
    model = Sequential(*[part for n in sizes for part in (Dense(n, n, rng=0), Exponential())])
    with Profile(model) as p:
        for _ in range(times):
            model(Tensor(np.ones((1, sizes[0]), "float32")))
    return [list(row[:3]) for row in p.rows]


def kept_by_layers(sizes, rows):
    """kept_bytes of a result of layers, each with an exp behind it."""
    pairs = zip(sizes, sizes[1:])
    model = Sequential(
        *[part for n, m in pairs for part in (Dense(n, m, rng=0), Exponential())]
    )
    return kept_bytes(model(Tensor(np.zeros((rows, sizes[0]), "float32"))))


# %% seconds points=6
def test_seconds_subtracts_a_reading_before_each_call_from_one_after_it():
    times, log = timed([0.5, 2.0, 1.0, 4.0], repeat=3, warmup=1)
    assert "clock" in log, (
        "the check hands a clock over, and seconds should be read on it; yours does not read "
        "it: call clock(), not time.perf_counter()"
    )
    expect(
        times,
        [2, 1, 4],
        "seconds(f, repeat=3, warmup=1), for calls of f that take 0.5, 2, 1 and 4 seconds,",
        {
            "The first call is a warm-up: call f before the loop, and do not keep its time": [
                0.5,
                2,
                1,
            ],
            "Read the clock again before every call; the start of one call is not the start of "
            "all of them": [2, 3, 7],
            "Keep one time for each call, not their mean": [7 / 3] * 3,
            "Subtract the reading before the call from the one after it": [-2, -1, -4],
        },
        near=1e-9,
    )


def test_seconds_reads_the_clock_just_before_and_just_after_each_timed_call():
    _, log = timed([1.0], repeat=2, warmup=3)
    equal(
        log,
        ["f"] * 3 + ["clock", "f", "clock"] * 2,
        "what seconds(f, repeat=2, warmup=3) does",
        "first `warmup` calls, then for each timed call: read the clock, call f, read it again",
    )
    _, log = timed([1.0], repeat=2, warmup=0)
    equal(log, ["clock", "f", "clock"] * 2, "with warmup=0, what seconds(f, repeat=2) does")


def test_seconds_returns_an_array_of_floats():
    times, log = timed([1, 3], repeat=1)
    assert isinstance(times, np.ndarray), (
        f"seconds should return a NumPy array, yours returns a {type(times).__name__}: the "
        "chapter calls times.min() on it"
    )
    expect(times, [3], "seconds(f, repeat=1), for calls of 1 and 3 seconds,", dtype="float64")
    equal(log, ["f", "clock", "f", "clock"], "without `warmup`, what seconds(f, repeat=1) does",
          "read the clock around timed calls only" if log.count("f") == 2 else
          "the default of warmup is 1: use the arguments")  # fmt: skip


# %% seconds polish points=0
def test_seconds_of_no_runs_is_empty():
    expect(timed([1.0], repeat=0)[0], np.zeros(0), "seconds(f, repeat=0)")
    expect(timed([1.0], repeat=1)[0], [1], "seconds(f, repeat=1)")


# %% seconds hidden points=2
def test_seconds_for_other_durations():
    for repeat, warmup in [(4, 2), (3, 3)]:
        times, log = timed([9.0, 7.0, 0.25, 0.5, 8.0, 1.5], repeat=repeat, warmup=warmup)
        yield np.asarray(times, "float64"), log


# %% median-interval points=10
def test_the_interval_of_five_times_by_hand():
    """The median of a resample is 90 with probability .058 (three or more of five), which is
    more than .025, and 10 with .942."""
    case = "median_interval([10, 10, 10, 11, 90])"
    found = median_interval([10, 10, 10, 11, 90], rng=0)
    cause = "do you take the median of each resample, and then the middle 95 % of the medians?"
    if isinstance(found, (tuple, list)) and len(found) == 2:
        low, high = map(float, found)
        other_low, other_high = map(float, median_interval(np.arange(1.0, 102.0), rng=2))
        if low < 0 or not {low, high} <= {10.0, 11.0, 90.0} and high > 40:
            cause = "a mean plus or minus standard errors can lie where no time was measured"
        elif other_low == other_high != 51:
            cause = "are all resamples the same? Make one generator, before the loop"
        elif other_low < other_high < 45:
            cause = "both ends are low: np.percentile counts to 100, np.quantile to 1"
        elif {low, high} <= {10.0, 11.0} or high < 40:
            cause = (
                "a resample has as many values as there are times, drawn with replacement: "
                "then 90 can be its median"
            )
    inside(found, 10, 90, case, cause)


def test_the_interval_belongs_to_the_median_and_not_to_the_mean_or_the_times():
    times = [1.0] * 60 + [2.0] * 39 + [1000.0]
    cause = "1000 occurs once: only a mean, or the times themselves, would show it"
    inside(
        median_interval(times, rng=1), 1, (1, 2), "60 times 1, 39 times 2, once 1000:", cause
    )
    times = np.arange(1.0, 102.0)
    inside(
        median_interval(times, rng=2),
        (38, 45),
        (57, 64),
        "median_interval of 1, 2, ..., 101",
        "the exact interval is 41 to 61. Without resamples of full size, or with the quantiles "
        "of the times, it has another width",
    )


def test_the_level_sets_the_width():
    times = np.arange(1.0, 102.0)
    case, cause = (
        "of 1, 2, ..., 101, the interval with level=",
        "on each side is (1 - level) / 2",
    )
    inside(median_interval(times, 0.5, rng=3), (47, 48.5), (53.5, 55), f"{case}0.5", cause)
    inside(
        median_interval(times, level=0.2, rng=3), (49, 50.5), (51.5, 53), f"{case}0.2", cause
    )


def test_the_generator_decides_the_interval():
    times = np.random.default_rng(4).normal(size=100)
    levels = (0.3, 0.6, 0.95)
    first, again, other = [
        [median_interval(times, level, rng=seed) for level in levels] for seed in (7, 7, 8)
    ]
    assert first == again, (
        f"median_interval with rng=7 twice gives {first} and {again}, for the levels {levels}: "
        "draw from generator(rng), not from np.random"
    )
    assert first != other, (
        f"other seeds give the same intervals {first}: draw from generator(rng)"
    )


def test_the_times_may_be_a_list_and_are_not_changed():
    times = np.array([3.0, 1.0, 2.0])
    inside(median_interval(list(times), rng=0), 1, 3, "median_interval([3.0, 1.0, 2.0])")
    median_interval(times, rng=0)
    expect(times, [3, 1, 2], "the array after median_interval", "sort a copy, not the array")


# %% median-interval hidden points=2
def test_another_interval():
    inside(median_interval([7.0], rng=0), 7, 7, "the interval of one time")
    times = np.concatenate([np.arange(0.0, 50.0), [1e6]])
    inside(median_interval(times, 0.9, rng=5), (17, 23), (27, 33), "0, 1, ..., 49 and 1e6")


def test_the_interval_is_right_in_95_of_100_experiments():
    rng, right = np.random.default_rng(6), 0
    for number in range(40):
        times = rng.exponential(size=25)
        interval = median_interval(times, rng=number)
        middle(interval, times, f"the interval of experiment {number}")
        right += float(interval[0]) <= math.log(2) <= float(interval[1])
    assert 32 <= right <= 40, f"the true median is in {right} of 40 intervals; expected 38"


# %% race points=8
def test_race_gives_each_function_its_own_times():
    durations = {"a": [9, 1, 2, 3, 4, 5, 6, 7, 8], "b": [8, 10, 20, 30, 40, 50, 60, 70, 80]}
    times, _, log = raced(durations, rounds=8)
    assert "clock" in log, (
        "race was given a clock and did not read it: read clock(), or pass clock on to seconds"
    )
    assert isinstance(times, dict) and set(times) == {"a", "b"}, (
        f"race should return a dict with the names a and b, yours: {times!r}"
    )
    names = list(raced({name: [1.0] for name in "dbface"}, rounds=2)[0])
    equal(names, list("dbface"), "the names in the dict that race returns for d, b, f, a, c, e",
          "they have the order of `functions`, not that of the first round")  # fmt: skip
    for name, each in durations.items():
        found = np.asarray(times[name])
        cause = ""
        if found.shape == (8,) and found[0] == each[0]:
            cause = "The first call of each function is a warm-up, before the first round"
        elif found.shape == (8,):
            cause = (
                "do the times of two functions get mixed? Look up the name that belongs to the "
                "position in the shuffled order"
            )
        case = f"the times of {name}, whose calls take {str(each)[1:-1]} seconds,"
        expect(found, each[1:], case, cause, near=1e-9)


def test_race_calls_every_function_once_in_each_round():
    _, calls, log = raced({name: [1.0] for name in "abc"}, rounds=50)
    equal(sorted(calls[:3]), ["a", "b", "c"], "the first three calls, the warm-ups,")
    equal(len(calls), 3 + 50 * 3, "the number of calls in 50 rounds of three functions")
    rounds = [calls[i : i + 3] for i in range(3, 153, 3)]
    wrong = [each for each in rounds if sorted(each) != ["a", "b", "c"]]
    assert not wrong, (
        f"a round calls each function once, yours has a round {wrong[0]}: interleave, do not "
        "run one function after the other, and shuffle the order instead of drawing names"
    )
    timed_calls = log[len(log) - 3 * 150 :]
    assert timed_calls[::3] == timed_calls[2::3] == ["clock"] * 150, (
        "each timed call should have a reading of the clock just before it and just after it"
    )


def test_race_shuffles_the_order_in_each_round():
    _, calls, _ = raced({name: [1.0] for name in "abc"}, rounds=60)
    orders = ["".join(calls[i : i + 3]) for i in range(3, 183, 3)]
    counts = {order: orders.count(order) for order in sorted(set(orders))}
    assert len(counts) == 6 and min(counts.values()) >= 2, (
        f"in 60 rounds of a, b, c each of the 6 orders should occur about 10 times, yours: "
        f"{counts}. Draw a new order, with all functions in it, in every round"
    )


def test_race_draws_the_orders_from_rng():
    orders = [raced({name: [1.0] for name in "abc"}, 20, seed)[1] for seed in (1, 1, 2)]
    assert orders[0] == orders[1], "the same rng gives two different orders: draw from rng"
    assert orders[0] != orders[2], "two seeds give the same order: draw from rng"


# %% race polish points=0
def test_race_of_no_rounds():
    times, _, _ = raced({"a": [1.0]}, rounds=0)
    expect(np.asarray(times["a"]), np.zeros(0), "race of 0 rounds")


# %% race hidden points=2
def test_race_of_one_and_of_four_functions():
    for durations, rounds in [
        ({"only": [5, 1, 4]}, 2),
        ({name: [k, 2 * k, 3 * k] for k, name in enumerate("wxyz", 1)}, 2),
    ]:
        times, _, _ = raced(durations, rounds)
        yield [np.asarray(times[name], "float64") for name in durations]
    for seed in range(3):
        first = raced({name: [1.0] for name in "wxyz"}, 40, seed)[1][4::4]
        assert set(first) == set("wxyz"), f"{set('wxyz') - set(first)} is never the first"


# %% ratio-interval points=12
def test_equal_ratios_give_an_interval_without_width():
    a, b = [2.0, 4.0, 600.0], [1.0, 2.0, 300.0]
    found = ratio_interval(a, b, rng=0)
    cause = "divide a[i] by b[i] first, and then take the interval of these ratios"
    if found in ((0.5, 0.5), [0.5, 0.5]):
        cause = "that is the time of b divided by the time of a"
    inside(found, 2, 2, f"a {a} always takes twice as long as b {b}: the interval", cause)


def test_the_ratio_is_a_over_b_and_a_ratio_not_a_difference():
    a, b = np.full(20, 3.0), np.full(20, 4.0)
    found = ratio_interval(a, b, rng=0)
    cause = "it is the time of a divided by the time of b, smaller than 1 when a is faster"
    inside(found, 0.75, 0.75, "a takes 3 s, b 4 s: the interval", cause)


def test_the_median_of_the_ratios_and_not_their_mean():
    rng = np.random.default_rng(0)
    a, b = np.exp(rng.normal(0, 1, 400)), np.exp(rng.normal(0, 1, 400))
    low, high = ratio_interval(a, b, rng=1)
    back_low, back_high = ratio_interval(b, a, rng=1)
    assert low < 1 < high and back_low < 1 < back_high, (
        f"for two equally fast programs with large noise, a / b is {low:.2f} to {high:.2f} and "
        f"b / a {back_low:.2f} to {back_high:.2f}. Do you take the mean of the ratios? It "
        "makes both slower than the other: take the median"
    )
    assert abs(low * back_high - 1) < 0.1 and abs(high * back_low - 1) < 0.1, (
        f"a / b is {low:.3f} to {high:.3f} and b / a {back_low:.3f} to {back_high:.3f}: one "
        "should be 1 divided by the other"
    )


def test_pairs_remove_the_drift():
    rng = np.random.default_rng(2)
    drift = np.exp(np.linspace(0, 3, 41))
    a, b = drift * rng.uniform(1.0, 1.02, 41), 1.1 * drift * rng.uniform(1.0, 1.02, 41)
    found = ratio_interval(a, b, rng=3)
    inside(
        found,
        (0.88, 0.92),
        (0.9, 0.93),
        "while the computer becomes 20 times slower, b takes 1.1 times as long as a in each "
        "round: the interval",
        "it is a divided by b"
        if isinstance(found, tuple) and 1.05 < found[0] <= found[1] < 1.15
        else "are the pairs kept together? Resample ratios, not a and b separately",
    )


def test_level_and_generator_are_passed_on():
    a, b = np.arange(1.0, 102.0), np.ones(101)
    case = "of the ratios 1, 2, ..., 101, the interval with"
    inside(ratio_interval(a, b, rng=1), (38, 45), (57, 64), f"{case} 95 %")
    half = ratio_interval(a, b, 0.5, rng=2)
    inside(half, (47, 48.5), (53.5, 55), f"{case} 50 %", "does level reach the bootstrap?")
    first, again = ratio_interval(a, b, rng=4), ratio_interval(a, b, rng=4)
    assert first == again, f"the same rng gives {first} and {again}: pass rng on"
    others = [ratio_interval(a, b, rng=seed) for seed in range(5, 9)]
    assert any(each != first for each in others), "other seeds change nothing: pass rng on"


def test_an_a_a_test_of_the_method():
    found = false_winners("race")
    assert found <= 9, (
        f"40 A/A tests with race and ratio_interval on a simulated computer that drifts: yours "
        f"finds a winner in {found}, and a correct one in about 2"
    )


# %% ratio-interval hidden points=2
def test_another_ratio():
    found = ratio_interval([5.0, 7.0, 3.0], [10.0, 14.0, 6.0], rng=9)
    inside(found, 0.5, 0.5, "a takes half as long")


def test_one_after_the_other_fails_the_a_a_test():
    found = false_winners("one after the other")
    assert 11 <= found <= 30, f"yours finds a winner in {found} of 40; drift gives about 20"


# %% flops points=10
def test_a_matrix_product_takes_2_n_flops_for_each_element():
    for shapes, wanted in [(((3, 4), (4, 5)), 120), (((1, 7), (7, 1)), 14)]:
        expect(
            flops_of("matmul", *shapes),
            wanted,
            f'flops_of("matmul", {shapes[0]}, {shapes[1]})',
            {
                "A multiplication and an addition are two FLOPs": wanted // 2,
                "Each element of the result is a dot product of k pairs": wanted
                // 2
                // shapes[0][1],
            },
        )


def test_matrix_products_of_several_matrices_and_vectors():
    for shapes, wanted in [
        (((8, 4, 64, 32), (8, 4, 32, 64)), 2 * 8 * 4 * 64 * 64 * 32),
        (((5, 2, 3), (3, 4)), 2 * 5 * 2 * 4 * 3),
        (((3,), (3, 4)), 24),
        (((6,), (6,)), 12),
    ]:
        case = f'flops_of("matmul", {shapes[0]}, {shapes[1]})'
        cause = "2 k for each element of the result; k is the last length of the first shape"
        expect(flops_of("matmul", *shapes), wanted, case, cause)


def test_linear_counts_as_a_matrix_product():
    for shapes in [((10, 3), (3, 4)), ((10, 3), (3, 4), (4,)), ((2, 5, 3), (3, 4), (4,))]:
        expect(
            flops_of("linear", *shapes),
            2 * math.prod(shapes[0]) * 4,
            f'flops_of("linear", {", ".join(map(str, shapes))})',
            "as a matrix product, 2 k for each element of the result; the additions of the "
            "bias do not count",
        )


def test_a_convolution_by_its_windows():
    """By hand: number of outputs times 2 times the weights that each of them multiplies."""
    cases = [
        (((1, 3, 5, 5), (4, 3, 3, 3)), {}, 4 * 9 * 2 * 27, 4 * 9 * 2 * 9),
        (
            ((2, 3, 8, 8), (5, 3, 3, 3), (5,)),
            {"stride": 2, "padding": 1},
            2 * 5 * 16 * 54,
            2880 * 3,
        ),
        (((1, 2, 4, 6), (1, 2, 1, 3)), {"stride": (2, 3)}, 2 * 2 * 12, 2 * 2 * 6),
    ]
    for shapes, options, wanted, one_channel in cases:
        given = [*map(str, shapes), *(f"{name}={value}" for name, value in options.items())]
        expect(
            flops_of("conv2d", *shapes, **options),
            wanted,
            f'flops_of("conv2d", {", ".join(given)})',
            {
                "A window has all channels of the image: C h w pairs": one_channel,
                "2 C h w for each element of the result: not all O kernels": wanted
                * shapes[1][0],
                "A multiplication and an addition are two FLOPs": wanted // 2,
            },
        )


def test_attention_takes_4_t_for_each_element():
    for shape, wanted in [((8, 64, 384), 4 * 8 * 64 * 64 * 128), ((1, 5, 6), 4 * 5 * 5 * 2)]:
        expect(
            flops_of("attention", shape, heads=2, causal=True, saved={}),
            wanted,
            f'flops_of("attention", {shape})',
            {
                "There are two products, queries with keys and weights with values": wanted
                // 2,
                "The input has q, k and v; the result has a third of its width": wanted * 3,
                "Each query is compared with T keys": wanted // shape[1],
                "T is the second length": 4 * math.prod(shape) // 3 * shape[0],
            },
        )


def test_other_operations_take_one_flop_for_each_element():
    for op, shapes, wanted in [
        ("add", ((10, 1), (1, 20)), 200),
        ("gelu", ((3, 4, 5),), 60),
        ("layer_norm", ((6, 8), (8,), (8,)), 48),
        ("sum", ((7, 9),), 63),
        ("mul", ((5,), ()), 5),
    ]:
        expect(
            flops_of(op, *shapes), wanted, f'flops_of("{op}", {", ".join(map(str, shapes))})'
        )


def test_moving_numbers_takes_no_flops():
    for op, shapes, wanted in [
        ("reshape", ((3, 4),), 0),
        ("concatenate", ((3, 4), (5, 4)), 0),
        ("embedding", ((9, 2),), 0),
        ("exp", ((9, 2),), 18),
    ]:
        case = f'flops_of("{op}", {", ".join(map(str, shapes))})'
        cause = {"broadcast": "Names in MOVES have no common shape: test for them first"}
        found = result_of(lambda: flops_of(op, *shapes), case, cause)
        expect(found, wanted, case, "names in MOVES: 0, whatever the shapes are")


# %% flops hidden points=4
def test_other_counts():
    yield flops_of("matmul", (2, 9, 7), (7, 3)), flops_of("linear", (4, 6), (6, 2), (2,))
    yield flops_of("attention", (3, 7, 12))
    yield flops_of("conv2d", (2, 3, 9, 7), (4, 3, 5, 2), stride=(2, 1), padding=(1, 0))


# %% bytes points=5
def test_inputs_and_result_count_once():
    for op, shapes, options, wanted in [
        ("add", ((10, 100), (100,)), {}, 4 * (1000 + 100 + 1000)),
        ("matmul", ((3, 4), (4, 5)), {}, 4 * (12 + 20 + 15)),
        ("linear", ((10, 3), (3, 4), (4,)), {}, 4 * (30 + 12 + 4 + 40)),
        ("gelu", ((7, 9),), {}, 4 * 126),
    ]:
        numbers = wanted // 4
        out = {"add": 1000, "matmul": 15, "linear": 40, "gelu": 63}[op]
        expect(
            bytes_of(op, *shapes, **options),
            wanted,
            f'bytes_of("{op}", {", ".join(map(str, shapes))})',
            {
                "A float32 has 4 bytes: itemsize": numbers,
                "The result is written, too": wanted - 4 * out,
                "The inputs have to be read": 4 * out,
                "Each input counts with its own shape, not with the shape of the result": 4
                * out
                * (len(shapes) + 1),
                "The result is written once": wanted + 4 * out,
                "All inputs count, a bias also": wanted - 16,
            },
        )


def test_convolution_and_attention():
    found = bytes_of("conv2d", (2, 3, 8, 8), (5, 3, 3, 3), (5,), stride=2, padding=1)
    expect(found, 4 * (384 + 135 + 5 + 160), "bytes_of a convolution with stride 2, padding 1",
           {"Pass the options on: the stride and the padding decide the shape of the result": 4
            * (384 + 135 + 5 + 360)})  # fmt: skip
    expect(bytes_of("attention", (8, 64, 384)), 4 * 8 * 64 * (384 + 128), "bytes_of attention")


def test_the_itemsize():
    for itemsize in (1, 2, 8):
        expect(bytes_of("add", (10, 10), (10, 10), itemsize=itemsize), 300 * itemsize,
               f"bytes_of an addition of 100 numbers with itemsize={itemsize}")  # fmt: skip


def test_numbers_without_axes_count_as_one():
    expect(bytes_of("mul", (5,), ()), 4 * 11, 'bytes_of("mul", (5,), ())', "() has one element")


# %% bytes hidden points=2
def test_other_bytes():
    yield bytes_of("matmul", (2, 9, 7), (7, 3), itemsize=2)
    yield bytes_of("layer_norm", (6, 8), (8,), (8,))


# %% machine points=5
def test_the_speeds_by_a_clock_that_always_advances_by_half_a_second():
    found, readings = measured_machine([0.5], n=8, megabytes=1, repeat=3)
    equal(readings, 12, "the number of readings of the clock for repeat=3",
          "time each of the two three times, with two readings each. Do `clock` and `repeat` "
          "reach both measurements?")  # fmt: skip
    expect(
        found[0],
        2 * 8**3 / 0.5,
        "flops_per_second for n=8, if the product takes half a second,",
        {
            "A product takes 2 n^3 FLOPs": 8**3 / 0.5,
            "n by n results, each of n pairs": 2 * 8**2 / 0.5,
            "FLOPs divided by seconds": 2 * 8**3 * 0.5,
        },
        near=1e-9,
    )
    expect(
        found[1],
        4e6,
        "bytes_per_second for megabytes=1, if the copy takes half a second,",
        {
            "A copy reads every byte and writes every byte": 2e6,
            "The array has 250,000 numbers of 4 bytes": 1e6,
            "Bytes divided by seconds": 2e6 * 0.5,
            "A megabyte is a million bytes here": 4 * 2**20,
            "A megabyte is a million bytes, and each is read and written": 2 * 2**20,
        },
        near=1e-9,
    )


def test_the_fastest_run_counts():
    """Two runs of 2 s follow each other, so that interleaved runs find the same minimum."""
    steps = [1.0, 6.0, 1.0, 9.0, 1.0, 2.0, 1.0, 2.0]
    found, _ = measured_machine(steps, n=4, megabytes=1, repeat=4)
    others = {"mean": 4.75, "median": 4.0, "slowest": 9.0, "first": 6.0, "sum": 19.0}
    for number, name, work in [(0, "flops", 128), (1, "bytes", 2e6)]:
        cause = {f"The fastest run, not the {other}": work / t for other, t in others.items()}
        case = f"{name}_per_second for n=4 and megabytes=1, if the runs take 6, 9, 2 and 2 s,"
        expect(found[number], work / 2, case, cause, near=1e-9)


def test_ones_are_copied_into_the_given_array():
    cause = "Copy source into target: in the time of a new array, as of source.copy(), is also "
    cause += "the time to get its memory"
    for megabytes in (1, 2):
        found = target_after_copy(megabytes)
        assert found is not None, (
            "machine makes no array like source: the given line "
            f"`target = np.empty_like(source)` is missing. {cause}"
        )
        case = f"after machine(megabytes={megabytes}), which copies ones into it, `target`"
        expect(found, np.ones(megabytes * 250_000), case, cause)


def test_what_is_timed_is_a_product_and_a_copy():
    """By a clock that advances with the work: 2,000 FLOPs and 1,000 bytes per second."""
    case = "on a simulated computer that does 2,000 FLOPs and moves 1,000 bytes per second, "
    cause = "No time passes there without a matrix product and a copy"
    found = result_of(simulated_machine, f"{case}machine", cause, ZeroDivisionError)
    cause = "what is timed is not the product of two (n, n) matrices, such as a @ a; a * a "
    cause += "multiplies element by element"
    expect(found[0], 2000, f"{case}flops_per_second", cause, near=1e-6)
    cause = "what is timed is not one copy of all of source into target"
    expect(found[1], 1000, f"{case}bytes_per_second", cause, near=1e-6)


# %% machine hidden points=2
def test_another_machine():
    for step, n, megabytes, repeat in [(0.25, 10, 2, 4), (0.5, 7, 1, 3)]:
        yield measured_machine([0.0, step], n=n, megabytes=megabytes, repeat=repeat)


# %% roofline points=5
def test_the_slower_one_of_the_two_decides():
    """600 FLOPs at 200 per second are 3 s, 100 bytes at 50 per second 2 s."""
    for flops, size, wanted, other in [
        (600, 100, 3.0, 2.0),
        (200, 500, 10.0, 1.0),
        (0, 50, 1.0, 0.0),
        (20, 0, 0.1, 0.0),
        (10, 60, 1.2, 0.05),
    ]:
        limit = "memory" if size / 50 > flops / 200 else "arithmetic"
        found = roofline_of(flops, size, 200.0, 50.0)
        case = (
            f"{flops} FLOPs at 200 per second and {size} bytes at 50 per second take "
            f"{flops / 200:g} and {size / 50:g} s: roofline"
        )
        assert isinstance(found, tuple) and len(found) == 2, (
            f"{case} should return a pair (seconds, limit), yours returns {found}"
        )
        expect(
            found[0],
            wanted,
            f"{case}'s time",
            {
                "Both happen at the same time, so the longer one counts, not the sum": wanted
                + other,
                "The longer time counts, not the shorter": other,
                "Work divided by speed is a time": max(flops * 200, size * 50),
                "FLOPs belong to flops_per_second, bytes to bytes_per_second": max(
                    flops / 50, size / 200
                ),
            },
            near=1e-9,
        )
        equal(found[1], limit, f"{case}'s limit", "it names the longer of the two times")


def test_at_the_ridge_point_it_is_arithmetic():
    found = roofline_of(400, 100, 200.0, 50.0)
    equal(found[1], "arithmetic", "when both take 2 s, the limit",
          '"memory" only when the bytes take longer')  # fmt: skip


def test_the_machine_decides():
    """The same work on another machine."""
    found = roofline_of(600, 100, 2000.0, 50.0)
    expect(found[0], 2.0, "on a machine with faster arithmetic, the time", near=1e-9)
    equal(
        found[1],
        "memory",
        "on a machine with faster arithmetic, the limit",
        "it names the longer of the two times, in seconds",
    )


# %% roofline hidden points=2
def test_a_matrix_product_on_two_machines():
    for speeds in [(1e9, 1e9), (1e12, 1e9)]:
        yield roofline_of(2 * 100**3, 3 * 4 * 100**2, *speeds)


# %% operations points=12
def test_calls_seconds_flops_and_bytes_by_operation():
    """The n-th operation takes n... seconds by this clock: 1, 3, 5, 7, 9, 11."""
    found = under_profile(profiled)
    names = ["matmul", "add", "reshape", "mul", "sum"]
    equal(sorted(found), sorted(names), "the operations of the profile",
          "the key is (self.path[-1], name_of(op))")  # fmt: skip
    wanted = {
        "matmul": [1, 1, 80, 4 * (20 + 10 + 8)],
        "add": [2, 3 + 5, 16, 4 * 16 + 4 * 24],
        "reshape": [1, 7, 0, 0],
        "mul": [1, 9, 8, 64],
        "sum": [1, 11, 8, 36],
    }
    for number, what in enumerate(["calls", "seconds", "FLOPs", "bytes"]):
        for name in names:
            cause = {
                "calls": "add to the numbers of earlier calls with the same key",
                "seconds": "read the clock just before and just after self.original",
                "FLOPs": "they are self.flops(op, arrays, options, out), added up",
                "bytes": "they are bytes_moved(name, arrays, out), added up",
            }[what]
            expect(
                found[name][number], wanted[name][number], f"{what} of {name}", cause, near=1e-9
            )
    picked = under_profile(lambda: profiled(pick_a_row))["getitem"][3]
    cause = "bytes_moved gets the name of the operation: a copy reads as much as it writes"
    expect(picked, 2 * 4 * 5, "bytes of a copy of one row of 5 numbers", cause)


def test_counting_is_not_timed():
    found, count = under_profile(seconds_of_slow_counting)
    case = "the seconds of an addition that takes 2 s, if self.flops takes 5 s,"
    causes = {
        "read the clock again just after self.original, before FLOPs and bytes are counted": 7,
        "read the clock just before and just after self.original, not twice before it": 0,
    }
    expect(found, 2, case, causes)
    equal(count, 1, "how often an operation runs under a profile", "call self.original once")


def test_operations_outside_of_modules_have_an_empty_path():
    equal(under_profile(profile_keys), [["", "add"]], "the keys after one addition")


def test_results_and_graphs_are_as_without_a_profile():
    plain, watched, calls, recorded = under_profile(results_under_profile)
    equal(
        watched, plain, "a result under a profile", "return what the original function returns"
    )
    equal(calls, 2.0, "the number of calls in the profile of (x * x).sum()")
    assert recorded, "under a profile, the result has no creator: return out unchanged"


def test_the_engine_is_as_before():
    calls, same = under_profile(lambda: engine_after("OperationProfile", fails=False))
    assert same, (
        "after the block, the engine still calls the profile: put the original function back "
        "into the module, engine.run = ..., in __exit__"
    )
    equal(calls, 1.0, "the number of calls of a profile of one product")
    calls, same = under_profile(lambda: engine_after("OperationProfile", fails=True))
    assert same, (
        "after an error in the block, the engine still calls the profile: __exit__ is called "
        "after errors also, with arguments"
    )
    equal(calls, 1.0, "the number of calls of a profile of one product and an error")


def test_errors_in_the_block_are_not_swallowed():
    calls, _ = under_profile(lambda: engine_after("OperationProfile", fails=True))
    equal(calls, 1.0, "the number of calls of a profile of one product and an error")
    refused(lambda: raising_block(), "an error in the block", KeyError, ["an error"],
            "__exit__ should return None: a true value hides the error")  # fmt: skip


def test_profiles_can_be_nested():
    calls, same = under_profile(nested_calls)
    equal(
        calls,
        [3, 1],
        "three additions, the second one inside of another profile: the calls that the outer "
        "and the inner profile count",
        "call the function that was there before: it may belong to another profile",
    )
    assert same, "after two nested profiles, the engine should be as before the first one"


# %% operations hidden points=4
def test_a_gpt_has_the_flops_of_the_formula():
    for V, T, D, L, rows in [(256, 16, 32, 2, 3), (80, 12, 24, 1, 2)]:
        products = V * D + L * (12 * D * D + 2 * T * D)
        found, formula = counted_flops(V, T, D, L, rows), 2 * rows * T * products
        assert formula < found < 1.04 * formula, f"counted {found}, formula {formula}"


def test_another_program():
    for shape, products in [((2, 3), 3), ((4, 5), 2)]:
        found = profiled(other_program(shape, products))
        yield found["mul"], found["concatenate"][2:], found["exp"][0]


# %% modules points=8
def test_each_operation_belongs_to_the_innermost_module():
    found = paths_of()
    wanted = [
        ["first", "matmul", 1],
        ["first", "add", 1],
        ["second.inner.0", "matmul", 1],
        ["second.inner.0", "add", 1],
        ["second.inner.1", "exp", 1],
        ["second", "mul", 1],
        ["", "sub", 1],
        ["", "div", 1],
    ]
    equal(
        found,
        wanted,
        "the rows (path, operation, calls) of a model with a dense layer, a part `second` that "
        "multiplies the result of a dense layer and exp, a difference in the model's own "
        "forward, and a quotient outside of it",
        "while forward runs, the path is the last element of self.path; afterwards self.path "
        "is as before",
    )


def test_several_calls_of_a_module_add_up():
    calls = [row[2] for row in paths_of(repeats=3)]
    equal(calls, [3] * 7 + [1], "the calls of each row after three forward passes")


def test_a_wrapper_passes_everything_on():
    result, during, given, after = wrapped_calls()
    during = [path[-1] for path in during]
    case = "the last of self.path while forward runs in wrapped('a.b', forward)"
    equal(during, ["a.b"], case)
    case = "what forward receives from a call with (1, 2, scale=3)"
    equal(given, [[1, 2], {"scale": 3}], case, "pass *inputs and **options on")
    equal(result, "the result", "what the wrapper returns", "return the result of forward")
    equal(after, [""], "self.path after the call", "remove the path again")


def test_after_an_error_in_a_module_the_path_is_as_before():
    rows, stack = paths_after_error()
    equal(stack, [""], "self.path after forward raised an error", "use try and finally")
    equal(
        rows, [["", "div"]], "the path of an operation outside of all modules, after an error"
    )


def test_the_model_is_as_before():
    for fails in (False, True):
        paths, left, same = model_after(fails)
        case = " and an error in the block" if fails else ""
        equal(left, [], f"after a Profile{case}, the modules with an own attribute forward")
        assert same, "the model should compute the same afterwards"
        equal(len(set(paths)), 5, f"the number of different paths in the Profile{case}")
        assert engine_after("Profile", fails)[1], "the engine should be as before"


# %% modules hidden points=3
def test_shared_and_repeated_modules():
    for sizes, times in [([3], 2), ([2, 2], 3)]:
        yield paths_of_repeated(sizes, times)


def test_a_profile_without_a_model():
    yield wrapped_without_a_model([["", "cos"], ["a", "exp"], ["", "sin"], ["a", "exp"]])
    yield wrapped_without_a_model([["b.c", "tanh"]] * 3)


# %% peak points=5
def test_the_peak_and_not_the_memory_at_the_end():
    found, _ = peak_of("kept")
    within(found, 8_000_000, "two arrays of 4 MB that exist at the same time: peak_bytes",
           "is it the second number of tracemalloc.get_traced_memory(), and read before "
           "tracemalloc.stop()?")  # fmt: skip
    found, _ = peak_of("freed", 500_000)
    within(found, 4_000_000, "4 MB that are freed, then 2 MB: peak_bytes",
           "is it the second number of get_traced_memory(), which is the peak?")  # fmt: skip


def test_memory_in_use_before_does_not_count():
    found, _ = peak_of("nothing")
    assert isinstance(found, int) and found < 100_000, (
        f"peak_bytes of a function that does nothing should be nearly 0, yours is {found!r}"
    )
    within(peak_of("kept")[0], 8_000_000, "and with two arrays of 4 MB, peak_bytes")


def test_tracemalloc_is_stopped():
    for name, case in [("kept", "afterwards"), ("fails", "after an error in f")]:
        found, tracing = peak_of(name)
        assert not tracing, f"{case}, tracemalloc still runs, which makes all programs slower"
        if name == "fails":
            equal(found, "KeyError('the function fails')", "the error of f", "do not catch it")


# %% peak hidden points=2
def test_the_order_of_calls_does_not_matter():
    first, again = peak_of("freed", 700_000)[0], peak_of("kept", 300_000)[0]
    within(first, 8 * 700_000, "5.6 MB that are freed, then 2.8 MB")
    within(again, 8 * 300_000, "two arrays of 1.2 MB")


# %% kept points=10
def test_arrays_of_a_result_and_its_inputs():
    """All arrays have 100 * 100 * 4 = 40,000 bytes."""
    for name, count, cause in [
        ("exp", 2, "x and its exp; node.data is the result"),
        ("x * x", 2, "x is used twice, and counts once"),
        ("chain", 4, "go through all nodes of topological_order(tensor)"),
        ("twice", 5, "x, 2 x, exp, sin and the sum; 2 x is used twice, and counts once"),
    ]:
        sizes, _, keys, _, total = kept_by(name)
        equal(sizes, [40_000] * count, f"the bytes of the arrays that `{name}` keeps", cause)
        assert keys, "the key of each array should be id(array)"
        equal(total, 40_000 * count, f"kept_bytes of `{name}`")


def test_views_do_not_count():
    sizes, _, _, owners, _ = kept_by("view")
    equal(sizes, [40_000] * 2, "the bytes of the arrays that x.T.exp() keeps",
          "x.T is a view of x: replace it by its base")  # fmt: skip
    sizes, _, _, owners, _ = kept_by("views of a result")
    equal(
        sizes,
        [200, 40_000, 40_000],
        "the bytes of the arrays that x.exp().reshape(10, 1000).T[:5].exp() keeps",
        "a view keeps the whole memory of its base, which may be larger than the view",
    )
    assert owners, "each array should own its memory: follow .base while it is an array"
    sizes, _, _, owners, _ = kept_by("part")
    equal(
        sizes,
        [40_000, 40_000],
        "the bytes of the arrays that apply(first_rows, x) keeps, where first_rows returns ten "
        "rows of an array of 100 rows",
        "a view keeps the whole memory of its base, even if nothing else refers to the base",
    )
    case = "the bytes of the arrays that apply(from_bytes, x) keeps, where from_bytes returns "
    case += "a view of np.frombuffer(some bytes)"
    cause = "the .base of an array can be other than an array: follow it only while it is one"
    sizes = result_of(lambda: kept_by("bytes")[0], case, cause)
    equal(sizes, [40_000, 40_000], case, cause)


def test_saved_arrays_count():
    sizes, names, _, _, _ = kept_by("saved")
    equal(sizes, [40_000] * 3, "the bytes of the arrays that a fused GELU of x keeps",
          'its tanh is in creator.options["saved"]')  # fmt: skip
    sizes, _, _, _, _ = kept_by("attention")
    assert 2 * 100 * 100 * 4 in sizes, (
        "the attention weights of 2 heads, 80,000 bytes, should be among the arrays of an "
        f'attention, yours: {sizes}. They are in creator.options["saved"]'
    )


def test_the_name_is_that_of_the_operation_that_computed_the_array():
    _, names, _, _, _ = kept_by("twice")
    equal(
        names,
        ["add", "exp", "mul", "mul", "sin"],
        "the names of the arrays of `y = x * 2.0; y.exp() + y.sin()`",
        "the result of a node has the name of its creator's operation; x, which no operation "
        "computed, has the name of an operation that reads it",
    )


def test_without_a_graph_nothing_is_kept():
    equal(kept_by("no graph")[0], [], "the arrays of a result without a graph")


# %% kept hidden points=3
def test_the_graph_of_a_model():
    for sizes, rows in [((30, 20, 10), 50), ((8, 40), 7), ((5, 5, 5, 5), 3)]:
        yield kept_by_layers(sizes, rows)
    for name in ("views of a result", "exp"):
        yield kept_by(name)[1]


# %% amdahl points=5
def test_amdahl_by_hand():
    """Of 100 s, a part of 90 s becomes 10 times as fast: 10 + 9 = 19 s. 100 / 19 = 5.26."""
    for share, speedup, wanted in [
        (0.9, 10, 100 / 19),
        (0.5, 2, 4 / 3),
        (0.25, 5, 1.25),
        (0.5, 0.5, 2 / 3),
    ]:
        case = f"amdahl({share}, {speedup})"
        expect(
            amdahl(share, speedup),
            wanted,
            case,
            {
                "Which part becomes faster, `share` or the rest?": 1
                / (share + (1 - share) / speedup),
                "The speed-up is the old time divided by the new time": 1 / wanted,
                "The part takes share / speedup, the rest does not change": 1
                / (share / speedup),
                "Times add up, not speeds": 1 - share + share * speedup,
                "Put the whole sum into brackets: 1 / (...)": 1 / (1 - share) + share / speedup,
            },
            near=1e-9,
        )


def test_the_limits():
    expect(amdahl(0, 1000), 1, "if the part takes no time, amdahl(0, 1000)", near=1e-9)
    expect(amdahl(1, 8), 8, "if the part is everything, amdahl(1, 8)", near=1e-9)
    expect(amdahl(0.3, 1), 1, "if nothing changes, amdahl(0.3, 1)", near=1e-9)
    expect(amdahl(0.75, math.inf), 4, "if the part takes no time afterwards, amdahl(0.75, inf)",
           "share / inf is 0", near=1e-9)  # fmt: skip
    found = result_of(lambda: amdahl(1, math.inf), "amdahl(1, inf)", kind=ZeroDivisionError)
    expect(found, math.inf, "amdahl(1, inf)", "all of it takes no time")


# %% amdahl hidden points=2
def test_two_parts_in_turn():
    """A part that becomes 2 and then 3 times as fast is 6 times as fast."""
    after = 0.3 / 0.7
    yield amdahl(0.6, 2) * amdahl(after, 3), amdahl(0.6, 6)


# %% predict points=5
def test_a_prediction_by_hand():
    """A product of (10, 20) with (20, 20): 8,000 FLOPs, 4 (200 + 400 + 200) = 3,200 bytes. An
    addition: 200 FLOPs, and 4 (200 + 200) = 1,600 bytes."""
    for speeds, wanted, words in [
        ((1000.0, 1e9), 8.2, "8,000 and 200 FLOPs at 1,000 per second"),
        ((1e9, 100.0), 48.0, "3,200 and 1,600 bytes at 100 per second"),
        ((1000.0, 800.0), 10.0, "8 s of arithmetic (4 s of memory) and 2 s of memory (.2 s)"),
    ]:
        found = predicted(20, 10, *speeds)[0]
        expect(
            found,
            wanted,
            f"a product and an addition, {words}: predict",
            {
                "Take the roofline of each row, and add up the times": max(
                    8200 / speeds[0], 4800 / speeds[1]
                )
            },
            near=1e-6,
        )


def test_the_measured_seconds_are_not_used_and_nothing_is_left():
    found, calls, recorded, same = predicted(4, 2, 1e3, 1e9)
    expect(found, 0.064 + 0.008, "64 and 8 FLOPs at 1,000 per second: predict", near=1e-6)
    fast = predicted(4, 2, 1e15, 1e15)[0]
    expect(fast, 1.92e-13, "128 and 64 bytes at 1e15 per second: predict",
           "Yours is about the time that was measured. It is not used: add up `roofline` of "
           "the FLOPs and bytes of each row" * (fast > 1e-9), near=(1e-6, 0))  # fmt: skip
    twice = predicted_twice(1e3)
    case = "one product of 64 FLOPs, made twice, at 1,000 FLOPs per second: predict"
    expect(twice, 0.128, case, {"A row holds the sum of all its calls": 0.256}, near=1e-6)
    equal(calls, 1, "the number of calls of the model")
    assert not recorded, "predict recorded a graph: call the model inside no_grad()"
    assert same, (
        "after predict, engine and model should be as before: use `with Profile(model)`"
    )


# %% predict hidden points=2
def test_another_prediction():
    yield predicted(8, 3, 100.0, 1e9)[0], predicted(8, 3, 1e9, 10.0)[0]
