# The checks of lesson 19, by exercise. `check("race")` in the chapter runs the visible ones.

# %% setup
import math

import numpy as np

from checking import because, equal, expect, refused, result_of, shown


def inside(interval, low, high, case, cause=""):
    """Assert that an interval is (low, high): each a number, or a pair between which it lies."""
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


# %% learner-side
# No check reads a real clock: all times are made up here.
class Simulation:
    """A clock that stands still, except while a program runs; and a log of what happened."""

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


def false_winners(order, pairs=60, rounds=40):
    """A/A tests on a computer whose speed drifts: how many of the intervals exclude 1."""
    rng, count = np.random.default_rng(5), 0
    for number in range(pairs):
        world, drift = Simulation(), np.random.default_rng(number)
        slow = np.exp(np.cumsum(drift.normal(0, 0.02, 4 * rounds)))
        f = world.program("f", (slow * drift.uniform(0.9, 1.1, len(slow))).tolist())
        if order == "race":
            times = race({"a": f, "b": f}, rounds, rng, world.clock)
            a, b = times["a"], times["b"]
        else:
            a, b = (seconds(f, rounds, clock=world.clock) for _ in "ab")
        low, high = ratio_interval(a, b, rng=rng)
        count += not low <= 1 <= high
    return count


# %% seconds points=6
def test_seconds_subtracts_a_reading_before_each_call_from_one_after_it():
    times, _ = timed([0.5, 2.0, 1.0, 4.0], repeat=3, warmup=1)
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
          "the default of warmup is 1: use the arguments")  # fmt: skip


# %% seconds polish points=0
def test_seconds_of_no_runs_is_empty():
    expect(timed([1.0], repeat=0)[0], np.zeros(0), "seconds(f, repeat=0)")


# %% seconds hidden points=2
def test_seconds_for_other_durations():
    times, log = timed([9.0, 7.0, 0.25, 0.5, 8.0, 1.5], repeat=4, warmup=2)
    expect(times, [0.25, 0.5, 8, 1.5], "seconds(f, repeat=4, warmup=2)", near=1e-9)
    equal(log, ["f"] * 2 + ["clock", "f", "clock"] * 4, "what seconds does")


# %% median-interval points=10
def test_the_interval_of_five_times_by_hand():
    """The median of a resample is 90 with probability .058 (three or more of five), which is
    more than .025, and 10 with .942."""
    case = "median_interval([10, 10, 10, 11, 90])"
    found = median_interval([10, 10, 10, 11, 90], rng=0)
    cause = "do you take the median of each resample, and then the middle 95 % of the medians?"
    if isinstance(found, (tuple, list)) and len(found) == 2:
        low, high = map(float, found)
        if low < 0 or not {low, high} <= {10.0, 11.0, 90.0} and high > 40:
            cause = "a mean plus or minus standard errors can lie where no time was measured"
        elif {low, high} <= {10.0, 11.0} or high < 40:
            cause = (
                "a resample has as many values as there are times, drawn with replacement: then "
                "90 can be its median"
            )
    inside(found, 10, 90, case, cause)


def test_the_interval_belongs_to_the_median_and_not_to_the_mean_or_the_times():
    times = [1.0] * 60 + [2.0] * 39 + [1000.0]
    cause = "1000 occurs once: only a mean, or the times themselves, would show it"
    inside(median_interval(times, rng=1), 1, (1, 2), "60 times 1, 39 times 2, once 1000:", cause)
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
    inside(median_interval(times, 0.5, rng=3), (45, 49), (53, 57), "with level=0.5, the interval",
           "on each side lies (1 - level) / 2 of the medians")  # fmt: skip


def test_the_generator_decides_the_interval():
    rng = np.random.default_rng(4)
    times = rng.normal(size=30)
    first, again = median_interval(times, rng=7), median_interval(times, rng=7)
    other = [median_interval(times, rng=seed) for seed in range(8, 12)]
    assert first == again, (
        f"median_interval(times, rng=7) twice gives {first} and {again}: draw from "
        "generator(rng), not from np.random"
    )
    assert any(interval != first for interval in other), (
        f"other seeds give the same interval {first}: draw from generator(rng)"
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
    rng = np.random.default_rng(6)
    right = 0
    for _ in range(200):
        low, high = median_interval(rng.exponential(size=25), rng=rng)
        right += low <= math.log(2) <= high
    assert 178 <= right <= 199, f"the true median is in {right} of 200 intervals; expected 190"


# %% race points=8
def test_race_gives_each_function_its_own_times():
    times, _, _ = raced({"a": [9, 1, 2, 3], "b": [8, 10, 20, 30]}, rounds=3)
    assert isinstance(times, dict) and list(times) == ["a", "b"], (
        f"race should return a dict with the names a and b in this order, yours: {times!r}"
    )
    for name, wanted in (("a", [1, 2, 3]), ("b", [10, 20, 30])):
        first = {"a": 9, "b": 8}[name]
        expect(
            np.asarray(times[name]),
            wanted,
            f"the times of {name}, whose calls take {first}, {wanted}",
            {
                "The first call of each function is a warm-up, before the first round": [
                    first,
                    *wanted[:2],
                ],
                "Do the times of two functions get mixed? Look up the name that belongs to the "
                "position in the shuffled order": [wanted[0] * 10, wanted[1] / 10, wanted[2]],
            },
            near=1e-9,
        )


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
    times, calls, _ = raced({"only": [5, 1, 4]}, rounds=2)
    expect(np.asarray(times["only"]), [1, 4], "the times of the only function", near=1e-9)
    times, calls, _ = raced({name: [k, 2 * k, 3 * k] for k, name in enumerate("wxyz", 1)}, 2, 3)
    for k, name in enumerate("wxyz", 1):
        expect(np.asarray(times[name]), [2 * k, 3 * k], f"the times of {name}", near=1e-9)
    firsts = [raced({name: [1.0] for name in "wxyz"}, 40, seed)[1][4::4] for seed in range(3)]
    for first in firsts:
        assert set(first) == set("wxyz"), f"{set('wxyz') - set(first)} is never the first"


# %% ratio-interval points=10
def test_equal_ratios_give_an_interval_without_width():
    a, b = [2.0, 4.0, 600.0], [1.0, 2.0, 300.0]
    inside(
        ratio_interval(a, b, rng=0),
        2,
        2,
        f"a {a} always takes twice as long as b {b}: the interval",
        "divide a[i] by b[i] first, and then take the interval of these ratios",
    )


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
        f"b / a {back_low:.2f} to {back_high:.2f}. Do you take the mean of the ratios? It makes "
        "both slower than the other: take the median"
    )
    assert abs(low * back_high - 1) < 0.1 and abs(high * back_low - 1) < 0.1, (
        f"a / b is {low:.3f} to {high:.3f} and b / a {back_low:.3f} to {back_high:.3f}: one "
        "should be 1 divided by the other"
    )


def test_pairs_remove_the_drift():
    rng = np.random.default_rng(2)
    drift = np.exp(np.linspace(0, 3, 41))
    a, b = drift * rng.uniform(1.0, 1.02, 41), 1.1 * drift * rng.uniform(1.0, 1.02, 41)
    inside(
        ratio_interval(a, b, rng=3),
        (0.88, 0.92),
        (0.9, 0.93),
        "while the computer becomes 20 times slower, b takes 1.1 times as long as a in each "
        "round: the interval",
        "are the pairs kept together? Resample ratios, not a and b separately",
    )


def test_an_a_a_test_of_the_method():
    found = false_winners("race")
    assert found <= 9, (
        f"60 A/A tests with race and ratio_interval on a simulated computer that drifts: yours "
        f"finds a winner in {found}, and a correct one in about 3"
    )


# %% ratio-interval polish points=0
def test_times_of_different_rounds_are_refused():
    refused(lambda: ratio_interval([1.0, 2.0], [1.0, 2.0, 3.0]), "times of 2 and 3 rounds",
            ValueError, ["(2,)", "(3,)"])  # fmt: skip
    refused(lambda: ratio_interval([1.0, 2.0, 3.0], [2.0]), "times of 3 rounds and of 1",
            ValueError, ["(3,)", "(1,)"], "NumPy would broadcast them")  # fmt: skip


# %% ratio-interval hidden points=2
def test_level_and_generator_are_passed_on():
    a, b = np.arange(1.0, 102.0), np.ones(101)
    inside(ratio_interval(a, b, rng=1), (38, 45), (57, 64), "the interval of 95 %")
    inside(ratio_interval(a, b, 0.5, rng=2), (45, 49), (53, 57), "the interval of 50 %")
    inside(ratio_interval(a, b, level=0.5, rng=3), (45, 49), (53, 57), "the interval of 50 %")
    assert ratio_interval(a, b, rng=4) == ratio_interval(a, b, rng=4), "rng is not used"


def test_one_after_the_other_fails_the_a_a_test():
    found = false_winners("one after the other")
    assert found >= 20, f"yours finds a winner in {found} of 60; drift gives 30 or more"


# PLACEHOLDERS


# %% flops points=1
def test_flops_todo():
    assert callable(flops_of)


# %% bytes points=1
def test_bytes_todo():
    assert callable(bytes_of)


# %% machine points=1
def test_machine_todo():
    assert callable(machine)


# %% roofline points=1
def test_roofline_todo():
    assert callable(roofline)


# %% operations points=1
def test_operations_todo():
    assert callable(OperationProfile)


# %% modules points=1
def test_modules_todo():
    assert callable(Profile)


# %% peak points=1
def test_peak_todo():
    assert callable(peak_bytes)


# %% kept points=1
def test_kept_todo():
    assert callable(kept_arrays)


# %% amdahl points=1
def test_amdahl_todo():
    assert callable(amdahl)


# %% predict points=1
def test_predict_todo():
    assert callable(predict)
