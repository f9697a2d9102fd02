# The checks of lesson 25, by exercise. `check("front")` in the chapter runs the visible ones.

# %% setup
import json
import math
from statistics import NormalDist

import numpy as np

from checking import because, equal, expect, refused, result_of, shown

Z95 = 1.959964
MLP = (346, 9640)
STUDENT = (346, 4840)
SMALL = (351, 3454)


def is_bool(found, wanted, case, cause=""):
    """Assert that a truth value is what it should be."""
    assert isinstance(found, (bool, np.bool_)) and bool(found) == wanted, (
        f"{case} should be {wanted}, yours is {found!r}{because(cause)}"
    )


def wilson(right, n, z):
    """The ends of the Wilson interval, by bisection: where the distance of right / n from p is
    z standard deviations of p."""
    share = right / n

    def too_far(p):
        return abs(share - p) > z * math.sqrt(p * (1 - p) / n)

    ends = []
    for outside in (0.0, 1.0):
        far, near = outside, share
        if not too_far(outside) and outside == share:
            ends.append(outside)
            continue
        if outside == share:
            ends.append(outside)
            continue
        for _ in range(80):
            middle = (far + near) / 2
            far, near = (middle, near) if too_far(middle) else (far, middle)
        ends.append(near)
    return ends


def near_pair(found, wanted, case, cause=""):
    """Assert that an interval is `wanted`, a pair of numbers; cause as in `expect`."""
    assert found is not None, f"{case}: yours returns None. Is `return` missing?"
    assert isinstance(found, (tuple, list)) and len(found) == 2, (
        f"{case} should be a pair (low, high), yours is {found!r}"
    )
    expect([*found], [float(end) for end in wanted], case, cause, near=(0, 1e-6))


def wrong_intervals(right, n, z):
    """{a likely cause: the interval that one gets by it}"""
    share, c = right / n, 1 + z * z / n
    spread, middle = share * (1 - share) / n, share + z * z / (2 * n)

    def around(middle, half, divisor=c):
        ends = (middle - half) / divisor, (middle + half) / divisor
        return [max(0.0, ends[0]), min(1.0, ends[1])]

    usual, small = z * spread**0.5, z * z / (4 * n * n)
    half = z * (spread + small) ** 0.5
    own = NormalDist()
    one_sided = own.inv_cdf(2 * own.cdf(z) - 1)  # of the level, in place of (1 + level) / 2
    return {
        "z²/(4n²) belongs below the square root": around(middle, usual + small),
        "z²/(4n²) is below the root, too": around(middle, usual),
        "This is the usual interval, not the Wilson interval": around(share, usual, 1),
        "Not only the middle is divided by 1 + z²/n: divide both parts": around(
            middle / c, half, 1
        ),
        "Divide by 1 + z²/n": around(middle, half, 1),
        "z²/(2n) is missing in the middle": around(share, half),
        "The factor z of the square root is missing": around(middle, half / z),
        "z is rounded: compute it from `level`": wilson(right, n, round(z, 2)),
        "z belongs to another level: half of 1 - level lies on each side": wilson(
            right, n, one_sided
        ),
    }


def hexadecimal(found, case):
    """A digest, which should be 64 hexadecimal digits."""
    assert isinstance(found, str) and len(found) == 64, (
        f"{case} should be a text of 64 hexadecimal digits, yours is {found!r}: return "
        "hexdigest()"
    )
    return found


def can_read(kind):
    """Assert that read_arrays accepts a good file."""
    got = result_of(lambda: arrays_in(kind), "a file with two small arrays")
    assert isinstance(got, dict), f"the result should be a dict, yours is {got!r}"


def is_row(found, wanted, case, cause=""):
    """Assert that the row of a result has these values."""
    assert isinstance(found, dict), f"{case}: a row is a dict, yours is {found!r}"
    for key, value in wanted.items():
        assert key in found, f"{case}: the row should have the key {key!r}{because(cause)}"
        assert found[key] == value, (
            f"{case}: {key!r} should be {value!r}, yours is {found[key]!r}{because(cause)}"
        )


def row_of(entry="a", event="e", **values):
    """A made-up row of a result."""
    row = {"entry": entry, "event": event, "digest": "d" + entry, "bytes": 100, "flops": 7}
    row |= {"right": 3, "n": 4, "interval": [0.3, 0.95], "valid": True, "reason": ""}
    return row | values


# %% learner-side
# The checks give and receive plain values: entries, models and reports are made here.
import copy
import io
import sys

import numpy as np


from tinytorch.core import tensor as engine
from tinytorch.core.layers import Dense, Dropout, Module, Sequential
from tinytorch.core.tensor import Tensor, Variable


class Trap:
    """An object whose pickle runs a program, which raises the recursion limit by 1."""

    def __reduce__(self):
        return sys.setrecursionlimit, (sys.getrecursionlimit() + 1,)


def archive(kind):
    """An .npz file, as a binary file object."""
    file = io.BytesIO()
    if kind == "pickle":
        np.savez(file, w=np.array([Trap()], dtype=object))
    elif kind == "bomb":
        np.savez_compressed(file, w=np.zeros(300_000, "float32"))
    elif kind == "two parts":
        np.savez_compressed(
            file, w=np.zeros(150_000, "float32"), v=np.zeros(150_000, "float32")
        )
    elif kind == "text":
        file.write(b"these are no arrays")
    else:
        np.savez(
            file, **{"a.weights": np.arange(6.0).reshape(2, 3), "b": np.arange(3, dtype="int8")}
        )
    file.seek(0)
    return file


def arrays_in(kind, most=None):
    """What read_arrays returns for an archive."""
    options = {} if most is None else {"most": most}
    found = read_arrays(archive(kind), **options)
    plain = (
        {name: np.array(a) for name, a in found.items()} if isinstance(found, dict) else None
    )
    return plain if plain is not None else type(found).__name__


def refusal_of(kind, most=None):
    """The name of the error of read_arrays and its message, how many pickles it opened, and how
    many arrays NumPy read."""
    limit, read, original = sys.getrecursionlimit(), [], np.lib.npyio.NpzFile.__getitem__

    def noted(self, key):
        read.append(key)
        return original(self, key)

    np.lib.npyio.NpzFile.__getitem__ = noted
    try:
        read_arrays(archive(kind), **({} if most is None else {"most": most}))
        name, text = "", ""
    except NotImplementedError:
        raise
    except Exception as error:
        usual = isinstance(error, ValueError)  # also one of a more special class
        name, text = "ValueError" if usual else type(error).__name__, str(error)
    finally:
        np.lib.npyio.NpzFile.__getitem__ = original
    opened = sys.getrecursionlimit() - limit
    sys.setrecursionlimit(limit)
    return name, text, opened, len(read)


class OtherText(str):
    """A text for which hash() gives another number than usual, as in another process."""

    def __hash__(self):
        return ~super().__hash__()


class OtherBytes(bytes):
    """The same for bytes."""

    def __hash__(self):
        return ~super().__hash__()


class OtherArray(np.ndarray):
    """An array whose bytes are OtherBytes."""

    def tobytes(self, *order, **options):
        return OtherBytes(super().tobytes(*order, **options))


def digests_of_processes():
    """The digests of equal names and arrays, in this process and as if in another."""
    a, b = np.arange(6.0).reshape(2, 3), np.ones(2, "int8")
    here = {"a.weights": a, "b": b}
    there = {OtherText(name): array.copy().view(OtherArray) for name, array in here.items()}
    return digest_of(here), digest_of(there)


def digests_of_layouts():
    """The digests of the same numbers, stored row by row and column by column."""
    a = np.arange(6.0).reshape(2, 3)
    return digest_of({"a": a}), digest_of({"a": np.asfortranarray(a)})


def layers(dropout=False):
    parts = [Dense(2, 3, rng=0)] + [Dropout(0.5)] * dropout + [Dense(3, 2, bias=False, rng=1)]
    return Sequential(*parts)


STATE = {
    "0.weights": np.array([[1.0, -2.0, 0.5], [0.0, 3.0, -1.0]], "float32"),
    "0.bias": np.array([0.5, 0.0, -1.0], "float32"),
    "1.weights": np.array([[1.0, 0.0], [0.5, -1.0], [2.0, 1.0]], "float32"),
}


def stored(kind):
    """Arrays of an entry for `layers`."""
    weights = dict(STATE)
    if kind == "int8":
        del weights["1.weights"]
        weights["1.weights"] = np.array([[2, 0], [1, -2], [4, 2]], "int8")
        weights["1.weights:scale"] = np.array([[0.5, 0.5]], "float16")
    elif kind == "float16":
        weights = {name: a.astype("float16") for name, a in weights.items()}
    elif kind in ("nan", "inf", "-inf"):
        weights["0.bias"] = np.array([0.5, float(kind), -1.0], "float32")
    elif kind == "nan scale":
        weights = stored("int8")
        weights["1.weights:scale"] = np.array([[0.5, np.nan]], "float16")
    elif kind == "packed":  # (3, 2) numbers of 4 bits in 3 bytes
        weights["1.weights"] = np.array([0x02, 0xE1, 0x24], "uint8")
        weights["1.weights:scale"] = np.array([[0.5, 0.5]], "float16")
    elif kind == "huge":
        weights["0.bias"] = np.array([0.5, 1e300, -1.0])
    elif kind == "shape":
        weights["0.bias"] = np.zeros(4, "float32")
    elif kind == "missing":
        del weights["0.bias"]
    elif kind == "extra":
        weights["labels"] = np.arange(4.0)
    return weights


def state_of_model(kind):
    """The state of model_of's model, whether it is in evaluation mode, and how often build was
    called."""
    calls = []

    def build():
        calls.append(1)
        return layers()

    model = model_of(build, stored(kind))
    if not isinstance(model, Module):
        return type(model).__name__, False, len(calls)
    return model.state_dict(), not model.training, len(calls)


def loads(kind):
    """Load an entry; a short text when that works."""
    state_of_model(kind)
    return "a model"


def same_twice():
    """The results of a model with dropout for the same input, twice."""
    state = {name.replace("1.", "2."): a for name, a in STATE.items()}
    model = model_of(lambda: layers(dropout=True), state)
    x = Tensor(np.ones((4, 2), "float32"))
    return model(x).data, model(x).data


def weights_unchanged():
    """Whether the entry's own arrays are as before after its model was trained a bit."""
    weights = stored("plain")
    before = {name: a.copy() for name, a in weights.items()}
    model = model_of(layers, weights)
    for p in model.parameters():
        p.data += 1.0
    return all(np.array_equal(weights[name], before[name]) for name in before)


class Counted(Module):
    """A model that keeps what it was called with."""

    def __init__(self):
        self.inner, self.calls, self.recorded = Dense(4, 5, bias=False, rng=0), [], []

    def forward(self, x):
        out = self.inner(x)
        self.calls.append((type(x).__name__, tuple(x.shape)))
        self.recorded.append(bool(out.requires_grad))
        return out


def work(kind="dense"):
    """What work_of returns, and about the calls of the model."""
    x = np.arange(12, dtype="float32").reshape(3, 4)
    if kind == "dense":
        model = Counted()
    elif kind == "twice":
        model = Twice()
    elif kind == "two":
        model = Sequential(Dense(4, 5, rng=0), Tensor.relu, Dense(5, 2, bias=False, rng=0))
    elif kind == "convolution":
        from tinytorch.core.convolutions import Conv2d

        model, x = Conv2d(1, 2, 3, bias=False, rng=0), np.ones((2, 1, 5, 5), "float32")
    before = engine.run
    found = work_of(model, x)
    plain = found
    if isinstance(found, tuple) and len(found) == 3:
        scores = found[0]
        kind = type(scores).__name__
        plain = (np.array(getattr(scores, "data", scores)), found[1], found[2], kind)
    calls, recorded = getattr(model, "calls", None), getattr(model, "recorded", None)
    return plain, calls, recorded, engine.run is before


class Twice(Counted):
    """A model that calls one layer twice."""

    def forward(self, x):
        return super().forward(x) + self.inner(x)


class Fixed(Module):
    """A model with one weight that returns the scores it is given, and can do harm."""

    def __init__(self, scores, harm=""):
        self.weight, self.scores, self.harm = Variable(np.zeros(3, "float32")), scores, harm

    def forward(self, x):
        if self.harm == "raise":
            raise KeyError("no such layer")
        if self.harm == "interrupt":
            raise KeyboardInterrupt
        return (x * 0.0).sum() * 0.0 + Tensor(self.scores) + self.weight


QUESTIONS = np.arange(8, dtype="float32").reshape(4, 2)
ANSWERS = np.array([0, 1, 2, 0])
GIVEN = np.array([[3.0, 1, 2], [0, 5, 1], [4, 2, 3], [9, 8, 7]], "float32")  # 3 of 4 right
BETTER = np.array([[3.0, 1, 2], [0, 5, 1], [4, 2, 8], [9, 8, 7]], "float32")  # 4 of 4


def entry_of(name, kind="good"):
    """A made-up entry: its model answers 3 of 4 questions right, or breaks a rule."""
    scores = {"better": BETTER, "nan scores": GIVEN * np.nan, "narrow": GIVEN[:2]}.get(
        kind, GIVEN
    )
    weights = {"weight": np.zeros(3, "float32")}
    if kind == "nan weights":
        weights["weight"][1] = np.nan
    if kind == "large":
        weights = {"weight": np.zeros(3, "float32"), "more": np.zeros(500, "float32")}
    if kind == "other digest":
        weights["weight"] = np.zeros(3, "float16")
    return Entry(name, lambda: Fixed(scores, kind), weights)


def facts(name, kind="good"):
    """Digest, bytes and FLOPs of a made-up entry; each by itself."""
    entry = entry_of(name, kind)
    flops = work_of(entry.model(), QUESTIONS.copy())[1] if kind in ("good", "better") else 0
    return entry.digest, entry.nbytes, flops


def judged(kind, limits, event="e", name="ada"):
    """The row of a made-up entry."""
    return plain_row(judge(entry_of(name, kind), event, QUESTIONS.copy(), ANSWERS, limits))


def interrupted():
    """What judge does when Ctrl-C is pressed while an entry computes."""
    try:
        judge(entry_of("ada", "interrupt"), "e", QUESTIONS.copy(), ANSWERS, {})
    except KeyboardInterrupt:
        return "KeyboardInterrupt"
    return "a row"


def plain_row(row):
    """A row, with the types of its values: bool, int, str, list."""
    if not isinstance(row, dict):
        return type(row).__name__
    types = {key: type(value).__name__ for key, value in row.items()}
    return {key: copy.deepcopy(value) for key, value in row.items()} | {"types": types}


def events_of(*names):
    rules = {"open": {}, "small": {"bytes": 11}, "all": {"accuracy": 0.9}}
    return {name: (QUESTIONS.copy(), ANSWERS.copy(), rules[name]) for name in names}


def refereed(entries, names=("open", "small")):
    """The rows of a report; a str if it is no Report."""
    report = referee([entry_of(*entry) for entry in entries], events_of(*names))
    return (
        [dict(row) for row in report.rows]
        if isinstance(report, Report)
        else type(report).__name__
    )


def json_of(rows, again=False):
    """The JSON of rows; with `again`, of the report that was read from it."""
    report = Report([dict(row) for row in rows])
    text = report.to_json()
    return Report.from_json(text).to_json() if again else text


def rows_after_json(rows):
    """The rows of the report after to_json, in their order."""
    report = Report([dict(row) for row in rows])
    report.to_json()
    return [row["entry"] for row in report.rows]


def medals_of(rows, event):
    return Report([dict(row) for row in rows]).medals(event)


ENTRANTS = [("ada", "good"), ("bob", "better"), ("eve", "nan weights")]


def verified(change, names=("open", "small")):
    """What verify says about a true report that was changed."""
    entries, events = [entry_of(*entry) for entry in ENTRANTS], events_of(*names)
    report = referee(entries, events)
    report.rows.sort(key=lambda row: (list(events).index(row["event"]), row["entry"]))
    rows = report.rows
    if change == "nothing":
        pass
    elif change == "json":
        report = Report.from_json(report.to_json())
    elif change == "order":
        report = Report(rows[::-1])
    elif change == "dropped":
        del rows[1]
    elif change == "empty":
        report = Report([])
    elif change == "twice":
        rows.append(dict(rows[0]))
    elif change == "forged copy":
        rows.append(dict(rows[0]) | {"right": 4})
    elif change == "forged copy first":
        rows.insert(0, dict(rows[0]) | {"right": 4})
    elif change == "stranger":
        rows.append(dict(rows[0]) | {"entry": "zoe"})
    elif change == "other event":
        rows.append(dict(rows[0]) | {"event": "secret"})
    elif change == "extra key":
        rows[0]["prize"] = 1
    elif change == "two":
        rows[0]["right"] += 1
        rows[4]["digest"] = "0" * 64
    else:
        key, value = change
        rows[1][key] = value
    found = verify(report, entries, events)
    return [tuple(pair) for pair in found] if isinstance(found, list) else type(found).__name__


def merged_rows(days):
    """The rows of the leaderboard, and whether the reports are as before."""
    reports = [Report([dict(row) for row in rows]) for rows in days]
    board = leaderboard(reports)
    same = [report.rows for report in reports] == [list(rows) for rows in days]
    if not isinstance(board, Report):
        return type(board).__name__, same
    return [dict(row) for row in board.rows], same


# %% dominates points=5
def test_better_in_both_goals():
    case = "(351 right, 3454 bytes) is better in both goals than (346, 9640): dominates"
    is_bool(
        dominates(SMALL, MLP, (False, True)),
        True,
        case,
        "the second goal is bytes: lower is better",
    )
    case = "(346 right, 9640 bytes) is worse in both goals than (351, 3454): dominates"
    is_bool(
        dominates(MLP, SMALL, (False, True)),
        False,
        case,
        "is each goal compared in its direction?",
    )


def test_better_in_one_goal_and_equal_in_the_other():
    case = "(346, 4840) has as many right as (346, 9640) and fewer bytes: dominates"
    is_bool(
        dominates(STUDENT, MLP, (False, True)),
        True,
        case,
        "One better goal is enough, if none is worse",
    )
    is_bool(dominates(MLP, STUDENT, (False, True)), False, "the other way round: dominates")


def test_equal_points_do_not_dominate_each_other():
    case = "two equal points: dominates"
    is_bool(
        dominates(MLP, MLP, (False, True)),
        False,
        case,
        "At least one goal must be better, not only equal",
    )


def test_a_worse_goal_prevents_it():
    for a, b in [((360, 99), (350, 10)), ((340, 5), (350, 10))]:
        case = f"{a} is better than {b} in one goal and worse in the other: dominates"
        is_bool(dominates(a, b, (False, True)), False, case, "No goal may be worse")


def test_any_number_of_goals():
    case = "(1, 2, 3) and (1, 2, 4), lower is better in all three: dominates"
    is_bool(
        dominates((1, 2, 3), (1, 2, 4), (True, True, True)),
        True,
        case,
        "does it look at all goals?",
    )
    case = "(1, 2, 5) and (2, 3, 4), lower is better in all three: dominates"
    is_bool(
        dominates((1, 2, 5), (2, 3, 4), (True, True, True)),
        False,
        case,
        "does it look at all goals?",
    )
    is_bool(
        dominates((5,), (4,), (False,)),
        True,
        "one goal, 5 against 4, higher is better: dominates",
    )


# %% dominates hidden points=1
def test_other_points():
    rng = np.random.default_rng(0)
    for _ in range(60):
        n = int(rng.integers(1, 5))
        a, b = (tuple(rng.integers(0, 3, n).tolist()) for _ in range(2))
        yield bool(dominates(a, b, tuple(bool(x) for x in rng.integers(0, 2, n))))


# %% front points=5
def test_a_front_of_two_goals():
    points = {"MLP": MLP, "8 bits": (345, 2536), "small": STUDENT, "CNN": (354, 13172)}
    case = f"the front of {points}, right answers and bytes,"
    found, wanted = front(points, (False, True)), ["8 bits", "small", "CNN"]
    cause = "MLP is dominated by small, and nothing else is dominated"
    if found != wanted and sorted(found) == sorted(wanted):
        cause = "the right names in another order: in that of `points`"
    equal(found, wanted, case, cause)


def test_equal_points_both_stay():
    points = {"a": (1, 5), "b": (1, 5), "c": (2, 9)}
    equal(
        front(points, (True, True)),
        ["a", "b"],
        f"the front of {points}, lower is better,",
        "equal points do not dominate each other",
    )


def test_names_come_in_the_order_of_the_points():
    points = {"z": (1, 9), "m": (9, 1), "a": (5, 5), "x": (9, 9)}
    equal(
        front(points, (True, True)),
        ["z", "m", "a"],
        f"the front of {points}, lower is better,",
        "a list of names, in the order of the dict",
    )


def test_the_order_does_not_decide():
    points = {"worse": (1, 9), "bad": (0, 9), "good": (3, 3)}
    for names in (["worse", "bad", "good"], ["good", "bad", "worse"], ["bad", "good", "worse"]):
        given = {name: points[name] for name in names}
        equal(
            front(given, (False, True)),
            ["good"],
            f"the front of {given}",
            "compare each point with all others, also with later ones",
        )


def test_one_point_and_one_goal():
    equal(front({"a": (1, 2)}, (True, False)), ["a"], "the front of one point")
    points = {"a": (1,), "b": (3,), "c": (3,)}
    equal(front(points, (False,)), ["b", "c"], f"the front of {points}, higher is better,")


# %% front polish points=0
def test_no_points():
    equal(front({"a": (1, 2)}, (True, True)), ["a"], "the front of one point")
    equal(front({}, (True, True)), [], "the front of no points")


# %% front hidden points=1
def test_other_fronts():
    rng = np.random.default_rng(1)
    for lower in [(True, True), (False, True), (True, False, False)]:
        values = rng.integers(0, 5, (12, len(lower))).tolist()
        yield front({f"p{i}": tuple(v) for i, v in enumerate(values)}, lower)


# %% interval points=5
def test_ten_of_ten():
    case = "the interval for 10 of 10"
    found = accuracy_interval(10, 10)
    assert not isinstance(found, tuple) or len(found) != 2 or found[0] < 1, (
        f"{case} should be 0.722467 to 1, yours is {shown(found)}: 10 right answers do not "
        "prove that the model is never wrong. Both ends are divided by 1 + z**2 / n before "
        "they are limited to 0 to 1"
    )
    near_pair(found, wilson(10, 10, Z95), case, wrong_intervals(10, 10, Z95))


def test_the_ends_solve_wilsons_equation():
    for right, n in [(355, 359), (1, 359), (50, 100), (3, 4), (0, 7)]:
        causes = wrong_intervals(right, n, Z95)
        case = f"the interval for {right} of {n}"
        near_pair(accuracy_interval(right, n), wilson(right, n, Z95), case, causes)
    case, cause = "the interval for 0 of 0", "the given first lines return (0.0, 1.0) for n = 0"
    found = result_of(lambda: accuracy_interval(0, 0), case, cause, ArithmeticError)
    near_pair(found, (0, 1), case, cause)


def test_the_interval_is_not_symmetric():
    low, high = accuracy_interval(355, 359)
    share = 355 / 359
    assert share - low > high - share, (
        f"355 of 359 is {share:.4f}, yours is {low:.4f} to {high:.4f}: the Wilson "
        "interval is longer "
        "on the side of 1/2"
    )


def test_the_level_decides_z():
    for level, z in [(0.9, 1.644854), (0.99, 2.575829), (0.6826895, 1.0)]:
        case = f"the interval for 40 of 50 at the level {level}"
        causes = {
            "This is for the level 0.95: compute z from `level`": wilson(40, 50, Z95)
        } | wrong_intervals(40, 50, z)
        near_pair(accuracy_interval(40, 50, level), wilson(40, 50, z), case, causes)


def test_right_and_wrong_answers_mirror_each_other():
    low, high = accuracy_interval(30, 120)
    near_pair(
        accuracy_interval(90, 120),
        (1 - high, 1 - low),
        "the interval for 90 of 120, which mirrors that for 30,",
    )


# %% interval hidden points=1
def test_other_intervals():
    for case in [(985, 1000), (7, 9, 0.8), (1, 1, 0.95), (1000, 1000), (0, 13)]:
        yield [float(end) for end in accuracy_interval(*case)]


# %% ranks points=5
def test_separate_intervals():
    given = {"a": (0.5, 0.6), "b": (0.7, 0.8), "c": (0.9, 0.95)}
    equal(
        shared_ranks(given),
        {"a": 3, "b": 2, "c": 1},
        f"the ranks of {given}",
        "1 plus the number of intervals wholly above",
    )


def test_meeting_intervals_share_a_rank():
    given = {"a": (0.90, 0.95), "b": (0.94, 0.98), "c": (0.97, 0.99)}
    equal(
        shared_ranks(given),
        {"a": 2, "b": 1, "c": 1},
        f"the ranks of {given}",
        "a meets b, and c lies wholly above a",
    )


def test_equal_ends_meet():
    given = {"a": (0.5, 0.7), "b": (0.7, 0.8)}
    equal(
        shared_ranks(given),
        {"a": 1, "b": 1},
        f"the ranks of {given}",
        "wholly above means: its low end is larger than the other high end, not equal",
    )


def test_a_rank_counts_entries_not_places():
    given = {"a": (0.9, 0.95), "b": (0.91, 0.96), "c": (0.5, 0.8)}
    equal(
        shared_ranks(given),
        {"a": 1, "b": 1, "c": 3},
        f"the ranks of {given}",
        "two intervals lie above c, so its rank is 3",
    )


def test_all_alike():
    given = {"z": (0.1, 0.9), "a": (0.2, 0.8)}
    got = shared_ranks(given)
    equal(got, {"z": 1, "a": 1}, f"the ranks of {given}")
    equal(list(got), ["z", "a"], "the order of the names", "keep the order of the dict")


# %% ranks polish points=0
def test_no_entries_have_no_ranks():
    equal(shared_ranks({"a": (0.1, 0.2)}), {"a": 1}, "the ranks of one entry")
    equal(shared_ranks({}), {}, "the ranks of no entries")


# %% ranks hidden points=1
def test_other_ranks():
    rng = np.random.default_rng(2)
    for _ in range(20):
        ends = np.sort(rng.integers(0, 9, (7, 2)), axis=1).tolist()
        yield sorted(shared_ranks({f"e{i}": tuple(p) for i, p in enumerate(ends)}).items())


# %% digest points=5
def test_the_bytes_of_all_arrays():
    weights = {
        "w": np.zeros((3, 4), "int8"),
        "w:scale": np.ones(4, "float16"),
        "b": np.zeros(5),
    }
    equal(
        bytes_of(weights),
        60,
        "12 bytes of int8, 8 of float16 scales and 40 of float64: their sum",
        "Each array has .nbytes, and scales count, too",
    )


def test_every_value_counts():
    first = hexadecimal(digest_of({"w": np.arange(1000.0)}), "the digest")
    other = np.arange(1000.0)
    other[500] += 1e-9
    assert first != digest_of({"w": other}), (
        "two arrays that differ in one value of 1,000 have the same digest: use all bytes, "
        "tobytes(), not a text with dots in it and not the names alone"
    )


def test_names_dtypes_and_shapes_count():
    one = np.zeros(4, "float32")
    pairs = [
        ("names", {"a": one}, {"b": one}),
        ("dtypes", {"a": one}, {"a": np.zeros(4, "int32")}),
        ("shapes", {"a": one}, {"a": one.reshape(2, 2)}),
        ("which array has which name", {"a": one, "b": one + 1}, {"a": one + 1, "b": one}),
        ("names and where they end", {"a": one, "bc": one}, {"ab": one, "c": one}),
        (
            "where the name ends and the dtype begins",
            {"x": np.zeros(3, "uint8")},
            {"xu": np.zeros(3, "int8")},
        ),
        ("the values of the first array", {"a": one, "b": one}, {"a": one + 1, "b": one}),
        ("the number of arrays", {"a": one}, {"a": one, "b": np.zeros(0, "float32")}),
    ]
    for what, first, second in pairs:
        one, two = (hexadecimal(digest_of(w), "the digest") for w in (first, second))
        assert one != two, (
            f"two entries that differ only in {what} have the same digest: {what} should count"
        )


def test_order_and_memory_layout_do_not_count():
    a, b = np.arange(6.0).reshape(2, 3), np.ones(2, "int8")
    one = hexadecimal(digest_of({"a": a, "b": b}), "the digest of a and b")
    assert one == digest_of({"b": b, "a": a}), (
        "the same arrays in another order of the dict should have the same digest: sort "
        "the names"
    )
    one, other = digests_of_layouts()
    assert hexadecimal(one, "the digest of an array") == other, (
        "the same values in another memory layout should have the same digest: "
        "tobytes() always "
        "writes row by row"
    )


def test_the_digest_is_the_same_in_every_process():
    here, there = digests_of_processes()
    assert hexadecimal(here, "the digest of two arrays") == there, (
        "the same names and arrays in another process, where Python's hash() and id() give "
        "other numbers, should have the same digest: compute it from the names, dtypes, shapes "
        "and bytes themselves"
    )
    hexadecimal(digest_of({}), "the digest of no arrays")


# %% digest hidden points=1
def test_other_digests():
    big = np.random.default_rng(0).normal(size=(50, 40)).astype("float16")
    text = digest_of({"x": big, "y": big[:3]})
    assert text == digest_of({"y": big[:3].copy(), "x": big.copy()})
    assert text != digest_of({"x": big, "y": big[:4]}) and text != digest_of({"x": big})
    assert digest_of({"x": big}) != digest_of({"x": big.T.copy().reshape(50, 40)})
    assert bytes_of({}) == 0
    assert bytes_of({"x": big, "y": big[:3]}) == 4240


# %% read points=6
def test_arrays_come_back():
    got = arrays_in("plain")
    case = "the arrays of a file with a.weights and b"
    assert isinstance(got, dict), f"{case}: yours is a {got}, not a dict"
    equal(sorted(got), ["a.weights", "b"], f"{case}: the names")
    expect(
        got["a.weights"], np.arange(6.0).reshape(2, 3), "the array a.weights", dtype="float64"
    )
    expect(got["b"], np.arange(3), "the array b", dtype="int8")


def test_no_pickle_is_opened():
    can_read("plain")
    name, text, count, _ = refusal_of("pickle")
    assert count == 0, (
        "reading an array of Python objects opened its pickle, and the program inside it ran: "
        "np.load needs allow_pickle=False"
    )
    assert name == "ValueError", (
        "an array of Python objects should raise ValueError; yours raises "
        f"{name or 'nothing'}: {text}"
    )


def test_a_bomb_is_refused_before_it_is_read():
    name, text, _, count = refusal_of("bomb")
    assert name == "ValueError", (
        "a file of some kilobytes that unpacks to 1,200,128 bytes should raise ValueError with "
        f"most=1,000,000; yours raises {name or 'nothing'}: compare the stated sizes "
        "with `most`"
    )
    assert count == 0, (
        "the array was read before the size was checked: check the stated sizes first"
    )
    found = [
        part for part in ("1200", "1000000") if part in text.replace(",", "").replace("_", "")
    ]
    assert len(found) == 2, (
        f"the message should contain both numbers of bytes; yours says: {text}"
    )


def test_the_sizes_of_all_files_are_added():
    can_read("plain")
    name, text, _, _ = refusal_of("two parts")
    assert name == "ValueError", (
        "two arrays of 600,000 bytes each are more than 1,000,000 together, and should raise "
        f"ValueError; yours raises {name or 'nothing'}: add the sizes of all files in "
        "the archive"
    )


def test_the_limit_is_an_argument():
    got = result_of(
        lambda: arrays_in("bomb", most=2_000_000),
        "a file that unpacks to 1.2 MB, with most=2,000,000",
        "compare with `most`",
    )
    assert isinstance(got, dict) and got["w"].shape == (300_000,), (
        "with a higher limit the array should be read"
    )
    name, _, _, _ = refusal_of("plain", most=100)
    assert name == "ValueError", (
        "a file of more than 100 bytes, with most=100, should raise ValueError: compare "
        "with `most`"
    )


def test_exactly_the_limit_is_allowed():
    got = result_of(
        lambda: arrays_in("bomb", most=1_200_128),
        "a file that unpacks to 1,200,128 bytes, with most=1,200,128,",
        "only more than `most` is refused",
    )
    assert isinstance(got, dict), (
        f"a file of exactly `most` bytes should be read, yours is {got}"
    )


# %% read polish points=0
def test_a_file_that_is_no_archive():
    name, text, _, _ = refusal_of("text")
    assert name == "BadZipFile", (
        "a file that is no zip archive should raise zipfile.BadZipFile, yours raises "
        f"{name}: {text}"
    )


# %% read hidden points=1
def test_other_files():
    got = arrays_in("bomb", most=5_000_000)
    assert got["w"].shape == (300_000,) and got["w"].dtype == np.float32
    assert refusal_of("two parts", most=1_199_999)[0] == "ValueError"
    assert refusal_of("pickle", most=10_000)[2] == 0
    assert refusal_of("bomb", most=1_200_127)[0] == "ValueError"


# %% model points=6
def test_the_model_has_the_weights():
    for kind in ("plain", "float16"):
        state, _, _ = result_of(lambda: state_of_model(kind), f"an entry with {kind} arrays")
        assert isinstance(state, dict), (
            f"model_of should return a Module, yours returns {state}"
        )
        expect(
            state["0.bias"],
            [0.5, 0, -1],
            f"an entry with {kind} arrays: the bias of the model",
            "load the entry's arrays into the model",
        )
        expect(state["1.weights"], [[1, 0], [0.5, -1], [2, 1]], "the weights of the last layer")


def test_quantized_arrays_are_decoded():
    cause = "call decoded(weights, shapes), and load its result"
    state, _, _ = result_of(
        lambda: state_of_model("int8"), "an entry with int8 weights and their scales", cause
    )
    expect(
        state["1.weights"],
        [[1, 0], [0.5, -1], [2, 1]],
        "int8 weights [[2, 0], [1, -2], [4, 2]] with scale 0.5: the weights",
        cause,
    )
    words = {"packed in uint8": "`shapes` is {name: shape}, with a.shape of each array `a`"}
    case = "weights of 4 bits, two in a byte, with scale 0.5: the weights"
    state, _, _ = result_of(lambda: state_of_model("packed"), case, words)
    expect(state["1.weights"], [[1, 0], [0.5, -1], [2, 1]], case, cause)


def test_nan_and_infinity_are_refused_with_the_name():
    result_of(lambda: state_of_model("plain"), "an entry without nan")
    for kind in ("nan", "inf", "-inf"):
        refused(
            lambda: loads(kind),
            f"an entry with {kind} in 0.bias",
            contains=["0.bias"],
            cause=(
                "one such number spreads to all scores: check each array with "
                "np.isfinite(a).all()"
            ),
        )


def test_nan_in_a_scale_is_refused():
    result_of(lambda: state_of_model("int8"), "an entry without nan")
    refused(
        lambda: loads("nan scale"),
        "an entry whose scale of 1.weights contains nan",
        contains=["1.weights"],
        cause="check the decoded arrays",
    )
    refused(
        lambda: loads("huge"),
        "an entry with 1e300, which float32 cannot hold, in 0.bias",
        contains=["0.bias"],
        cause="check the decoded arrays, in which it is infinite",
    )


def test_wrong_names_and_shapes_are_refused():
    for kind, part in [("shape", "0.bias"), ("missing", "0.bias"), ("extra", "labels")]:
        refused(
            lambda: loads(kind),
            f"an entry whose arrays do not fit ({kind})",
            contains=[part],
            cause=(
                "load_state_dict compares names and shapes; copying arrays one by one does not"
            ),
        )


def test_evaluation_mode():
    first, second = result_of(same_twice, "a model with dropout")
    assert np.array_equal(first, second), (
        "a model with dropout gives two different results for the same input: call model.eval()"
    )
    _, evaluated, calls = state_of_model("plain")
    assert evaluated, "the model should be in evaluation mode: model.eval()"


# %% model hidden points=1
def test_other_models():
    assert weights_unchanged(), "the arrays of the entry should not change"
    state, evaluated, calls = state_of_model("int8")
    assert evaluated and calls >= 1
    assert np.allclose(state["0.weights"], [[1, -2, 0.5], [0, 3, -1]])
    refused(lambda: loads("nan scale"), "nan in a scale", contains=["1.weights"])


# %% work points=6
def test_scores_flops_and_bytes():
    found, _, _, _ = work()
    assert isinstance(found, tuple) and len(found) in (3, 4), (
        f"work_of should return (scores, flops, moved), yours returns {found}"
    )
    equal(
        found[1],
        120,
        "x of shape (3, 4) times weights of shape (4, 5): the FLOPs",
        "2 for each of the 3 * 5 * 4 products; in a row, flops are at index 4",
    )
    equal(
        found[2],
        188,
        "12 + 20 + 15 numbers of 4 bytes: the bytes",
        "in a row, bytes are at index 5",
    )
    equal(
        found[3],
        "ndarray",
        "the type of the scores",
        "return the array inside the Tensor, .data",
    )
    assert found[0].shape == (3, 5), (
        f"the scores should have shape (3, 5), yours have {found[0].shape}"
    )


def test_all_rows_are_added():
    found, _, _, _ = work("two")
    wanted = 2 * 3 * 4 * 5 + 15 + 15 + 2 * 3 * 5 * 2
    equal(
        found[1],
        wanted,
        "a product, a bias, a relu and a second product: the FLOPs",
        "add the rows of all operations",
    )


def test_repeated_calls_are_in_the_row():
    found, _, _, _ = work("twice")
    cause = "flops in a row are those of all its calls: do not multiply by calls"
    equal(found[1], 2 * 120 + 15, "a layer that is called twice, and a sum: the FLOPs", cause)
    equal(found[2], 2 * 188 + 180, "a layer that is called twice, and a sum: the bytes", cause)


def test_convolutions_count_their_products():
    found, _, _, _ = work("convolution")
    equal(
        found[1],
        2 * 36 * 9,
        "a convolution with 36 results of 9 products each: the FLOPs",
        "Profile counts them; do not count elements of results",
    )


def test_the_model_is_called_once_with_a_tensor():
    _, calls, _, _ = work()
    equal(
        calls,
        [("Tensor", (3, 4))],
        "the calls of the model",
        "call it once, with Tensor(x), inside the `with` block",
    )


def test_nothing_is_recorded():
    _, _, recorded, restored = work()
    assert recorded == [False], (
        "the forward pass was recorded for a backward pass: use no_grad()"
    )
    assert restored, "the engine should be as before: use Profile in a `with` block"


# %% work hidden points=1
def test_other_work():
    found, _, _, _ = work("two")
    assert found[0].shape == (3, 2) and found[2] == 4 * (
        (12 + 20 + 15) + (15 + 5 + 15) + 30 + (15 + 10 + 6)
    )
    assert isinstance(found[1], int) and isinstance(found[2], int)
    assert work("convolution")[0][0].shape == (2, 2, 3, 3)


# %% limits points=5
def test_a_limit_of_bytes_and_flops():
    row = row_of(bytes=9640, flops=2000)
    equal(
        broken_limits(row, {"bytes": 5000}),
        ["bytes"],
        "9640 bytes, limit 5000: the broken limits",
    )
    equal(
        broken_limits(row, {"flops": 1999, "bytes": 10000}),
        ["flops"],
        "2000 flops, limit 1999, and 9640 bytes, limit 10000: the broken limits",
        "each name is compared with its own number",
    )
    equal(
        broken_limits(row, {"bytes": 9641, "flops": 2001}),
        [],
        "9640 bytes and 2000 flops, limits 9641 and 2001: the broken limits",
    )


def test_a_limit_itself_is_allowed():
    row = row_of(bytes=500, flops=20, right=3, n=4)
    equal(
        broken_limits(row, {"bytes": 499}), ["bytes"], "500 bytes, limit 499: the broken limits"
    )
    equal(
        broken_limits(row, {"bytes": 500, "flops": 20, "accuracy": 0.75}),
        [],
        "values equal to their limits: the broken limits",
        "a value equal to its limit is allowed",
    )
    equal(broken_limits(row, {"flops": 0}), ["flops"], "20 flops, limit 0: the broken limits",
          "0 is a limit, too")  # fmt: skip


def test_accuracy_is_a_least_value():
    row = row_of(right=3, n=4)
    equal(
        broken_limits(row, {"accuracy": 0.8}),
        ["accuracy"],
        "3 of 4 right, at least 0.8 required: the broken limits",
        "accuracy is right / n, and a higher one is better",
    )
    equal(
        broken_limits(row, {"accuracy": 0.7}),
        [],
        "3 of 4 right, at least 0.7 required: the broken limits",
        "accuracy is right / n, and a higher one is better",
    )
    row, cause = row_of(right=7, n=100), "divide: 0.07 * 100 is 7.000000000000001"
    equal(broken_limits(row, {"accuracy": 0.07}), [], "7 of 100 right, at least 0.07", cause)


def test_all_broken_limits_are_named_in_order():
    row = row_of(bytes=9, flops=9, right=1, n=4)
    for names in (["flops", "bytes", "accuracy"], ["accuracy", "bytes", "flops"]):
        limits = {name: 0.5 if name == "accuracy" else 8 for name in names}
        equal(
            broken_limits(row, limits),
            names,
            f"the limits {limits}, all broken: their names",
            "a list of all names, in the order of `limits`",
        )


def test_no_limits():
    row = row_of()
    equal(broken_limits(row, {"bytes": 1}), ["bytes"], "100 bytes, limit 1: the broken limits")
    equal(broken_limits(row, {}), [], "no limits: the broken ones")
    equal(row, row_of(), "the row after the call", "it should not change")


# %% limits hidden points=1
def test_other_limits():
    row = row_of(bytes=100, flops=10**9, right=341, n=359)
    equal(
        broken_limits(row, {"accuracy": 0.95, "bytes": 99}),
        ["accuracy", "bytes"],
        "341 of 359 at .95",
    )
    equal(broken_limits(row, {"accuracy": 341 / 359, "flops": 10**9}), [], "exactly the limits")


# %% judge points=5
def test_the_row_of_a_good_entry():
    row, (digest, size, flops) = judged("good", {}), facts("ada")
    wanted = {
        "entry": "ada",
        "event": "e",
        "digest": digest,
        "bytes": size,
        "flops": flops,
        "right": 3,
        "n": 4,
        "valid": True,
        "reason": "",
    }
    is_row(row, wanted, "an entry with 3 of 4 right, without limits")
    near_pair(
        row.get("interval"),
        wilson(3, 4, Z95),
        "its interval, that of accuracy_interval(3, 4),",
    )
    equal(
        row["types"]["interval"],
        "list",
        "the type of the interval",
        "JSON knows lists, no tuples",
    )
    assert flops > 0 and row["flops"] == flops, "the FLOPs are the second result of work_of"


def test_a_broken_limit_makes_a_row_invalid():
    row = judged("good", {"bytes": 11, "accuracy": 0.7})
    is_row(
        row,
        {"valid": False, "right": 3, "flops": facts("ada")[2]},
        "12 bytes, at most 11 allowed",
        "A row that breaks a limit is not valid; its numbers stay",
    )
    assert "bytes" in row["reason"] and "accuracy" not in row["reason"], (
        f"the reason should name the broken limit, bytes; yours is {row['reason']!r}"
    )
    row = judged("good", {"accuracy": 0.9, "bytes": 5})
    assert "bytes" in row["reason"] and "accuracy" in row["reason"], (
        f"bytes and accuracy are both broken; the reason is {row['reason']!r}: name all "
        "broken limits"
    )


def test_an_entry_that_fails_gets_a_row():
    for kind, part in [
        ("raise", "no such layer"),
        ("nan weights", "weight"),
        ("nan scores", "finite"),
        ("narrow", ""),
    ]:
        case = f"an entry that fails ({kind})"
        row = result_of(
            lambda: judged(kind, {}),
            case,
            "Catch the entry's Exception, and put its message into the row",
            Exception,
        )
        is_row(
            row,
            {
                "valid": False,
                "right": 0,
                "flops": 0,
                "interval": [0.0, 0.0],
                "n": 4,
                "entry": "ada",
                "event": "e",
            },
            case,
            "nothing that a failed entry computed counts",
        )
        assert isinstance(row.get("reason"), str) and row["reason"] and part in row["reason"], (
            f"{case}: the reason should contain the message of the error, {part!r}; "
            f"yours is {row.get('reason')!r}"
        )


def test_ctrl_c_stops_the_referee():
    equal(
        interrupted(),
        "KeyboardInterrupt",
        "Ctrl-C while an entry computes: the result",
        "catch Exception; a KeyboardInterrupt is none",
    )


def test_values_are_those_of_python():
    row = judged("better", {})
    types = {key: row["types"].get(key) for key in ("right", "n", "bytes", "flops", "valid")}
    equal(
        types,
        {"right": "int", "n": "int", "bytes": "int", "flops": "int", "valid": "bool"},
        "the types in a row",
        "json writes no numbers of NumPy",
    )


# %% judge hidden points=1
def test_other_rows():
    row = judged("better", {"accuracy": 1.0}, "final", "bob")
    is_row(
        row,
        {"entry": "bob", "event": "final", "right": 4, "valid": True, "reason": ""},
        "4 of 4",
    )
    assert sorted(set(row) - {"types"}) == sorted(row_of())
    row = judged("large", {})
    is_row(row, {"valid": False, "bytes": 2012, "right": 0}, "an entry with an array too many")
    row = judged("good", {"flops": 0})
    is_row(row, {"valid": False, "right": 3}, "an entry with too many flops")
    assert "flops" in row["reason"]


# %% report points=7
def test_to_json_is_json():
    rows = [row_of("a"), row_of("b", right=4)]
    text = json_of(rows)
    assert isinstance(text, str), (
        f"to_json should return a str, yours returns {type(text).__name__}"
    )
    equal(json.loads(text), rows, "the rows read from the JSON")
    equal(json_of(rows, again=True), text, "the JSON of the report that was read from it")


def test_the_same_rows_give_the_same_text():
    rows = [row_of("b", "x"), row_of("a", "y"), row_of("a", "x"), row_of("b", "y")]
    text = json_of(rows)
    equal(
        [(row["event"], row["entry"]) for row in json.loads(text)],
        [("x", "a"), ("x", "b"), ("y", "a"), ("y", "b")],
        "rows of entries a, b in events x, y: their order in the JSON",
        "sort by event and then by entry",
    )
    assert json_of(rows[::-1]) == text, (
        "the same rows in another order should give the same JSON, yours gives another text: "
        "sort the rows"
    )
    turned = [dict(reversed(list(row.items()))) for row in rows]
    assert json_of(turned) == text, (
        "rows whose keys are in another order should give the same JSON, yours gives another "
        "text: json.dumps has the option sort_keys"
    )
    equal(
        rows_after_json(rows),
        ["b", "a", "a", "b"],
        "the entries of report.rows after to_json",
        "do not sort the report itself",
    )


def test_medals_are_shared_ranks_of_one_event():
    rows = [
        row_of("a", interval=[0.9, 0.95]),
        row_of("b", interval=[0.5, 0.6]),
        row_of("c", "other", interval=[0.97, 0.99]),
        row_of("d", interval=[0.94, 0.96]),
    ]
    equal(
        medals_of(rows, "e"),
        {"a": 1, "b": 3, "d": 1},
        "entries a, b, d in event e, and c in another: the medals of e",
        "only the rows of this event",
    )
    equal(medals_of(rows, "other"), {"c": 1}, "the medals of the other event")


def test_invalid_rows_get_no_medal():
    rows = [row_of("a", interval=[0.9, 0.95], valid=False), row_of("b", interval=[0.5, 0.6])]
    equal(
        medals_of(rows, "e"),
        {"b": 1},
        "a is invalid, b is valid: the medals",
        "invalid rows neither get a rank nor lie above others",
    )


def test_every_entry_is_judged_in_every_event():
    rows = refereed([("ada", "good"), ("bob", "better")])
    assert isinstance(rows, list), f"referee should return a Report, yours returns a {rows}"
    found = sorted((row["entry"], row["event"]) for row in rows)
    equal(
        found,
        [("ada", "open"), ("ada", "small"), ("bob", "open"), ("bob", "small")],
        "two entries, two events: the rows",
    )
    right = {(row["entry"], row["event"]): (row["right"], row["valid"]) for row in rows}
    wanted = {
        ("ada", "open"): (3, True),
        ("ada", "small"): (3, False),
        ("bob", "open"): (4, True),
        ("bob", "small"): (4, False),
    }
    equal(
        right,
        wanted,
        "right answers and validity, with 12 bytes and a limit of 11 in the event small,",
        "give each event's own questions, labels and limits to judge",
    )


def test_a_broken_entry_does_not_stop_the_others():
    rows = result_of(
        lambda: refereed([("eve", "raise"), ("ada", "good")], ("open",)),
        "a broken entry and a good one",
        kind=Exception,
    )
    equal(
        sorted((row["entry"], row["valid"]) for row in rows),
        [("ada", True), ("eve", False)],
        "a broken entry and a good one: the rows",
    )


# %% report hidden points=1
def test_other_reports():
    rows = refereed(
        [("b", "better"), ("a", "other digest"), ("c", "nan scores")], ("all", "open")
    )
    assert len(rows) == 6 and sum(row["valid"] for row in rows) == 3
    equal(medals_of(rows, "all"), {"b": 1}, "the medals of an event with a limit of accuracy")
    equal(medals_of(rows, "open"), {"b": 1, "a": 1}, "the medals of an open event")
    assert json_of(rows) == json_of(rows[::-1])
    equal(medals_of([], "e"), {}, "no rows")
    equal(refereed([], ("open",)), [], "no entries")


# %% verify points=6
def test_a_true_report_has_no_differences():
    assert verified("dropped"), "a report without one of its rows is not true: name the row"
    equal(verified("nothing"), [], "a true report")
    equal(
        verified("json"),
        [],
        "a true report, written as JSON and read again",
        "compare values, not objects",
    )
    equal(
        verified("order"),
        [],
        "a true report with its rows in another order",
        "find rows by entry and event, not by their place",
    )


def test_every_key_is_compared():
    for key, value in [
        ("right", 2),
        ("flops", 1),
        ("bytes", 1),
        ("digest", "0" * 64),
        ("n", 5),
        ("interval", [0.0, 1.0]),
        ("valid", False),
        ("reason", "late"),
    ]:
        equal(
            verified((key, value)),
            [("bob", "open")],
            f"a report with a forged {key} for bob in open",
            "compare whole rows, not only some keys",
        )


def test_missing_rows_are_found():
    equal(
        verified("dropped"),
        [("bob", "open")],
        "a report without the row of bob in open",
        "go through the true rows, too",
    )
    found = verified("empty", ("open",))
    equal(
        sorted(found) if isinstance(found, list) else found,
        [("ada", "open"), ("bob", "open"), ("eve", "open")],
        "an empty report",
        "go through the true rows, too",
    )


def test_each_false_row_is_named():
    found = verified("two")
    equal(
        sorted(found) if isinstance(found, list) else found,
        [("ada", "open"), ("bob", "small")],
        "a report with two forged rows",
    )


def test_rows_that_occur_twice_are_found():
    equal(
        verified("twice"),
        [("ada", "open")],
        "a report with the row of ada in open twice",
        "each row may occur only once",
    )
    for change in ("forged copy", "forged copy first"):
        equal(
            verified(change),
            [("ada", "open")],
            "a report with a true and a forged row of ada in open",
            "a dict keeps only the last row of a key",
        )


def test_rows_of_nobody_are_found():
    equal(
        verified("stranger"),
        [("zoe", "open")],
        "a report with a row of zoe, who has no entry",
        "go through the rows of the report, too",
    )
    equal(
        verified("other event"),
        [("ada", "secret")],
        "a report with a row of an unknown event",
        "go through the rows of the report, too",
    )


# %% verify hidden points=1
def test_other_reports_are_verified():
    equal(verified(("reason", "bytes"), ("open", "all")), [("bob", "open")], "a forged reason")
    equal(verified("extra key"), [("ada", "open")], "a row with another key")
    equal(verified(("flops", 0), ("open",)), [("bob", "open")], "forged flops")
    found = verified("empty")
    assert len(found) == 6 and len(set(found)) == 6


# %% leaderboard points=6
def test_reports_are_merged():
    days = [[row_of("a", "x"), row_of("a", "y")], [row_of("b", "x")]]
    rows, same = merged_rows(days)
    assert isinstance(rows, list), f"leaderboard should return a Report, yours returns a {rows}"
    equal(
        sorted((row["entry"], row["event"]) for row in rows),
        [("a", "x"), ("a", "y"), ("b", "x")],
        "a in x and y on day 1, b in x on day 2: the rows",
        "an entry stays until it has a new version",
    )
    assert same, "the reports should not change"
    found = result_of(lambda: merged_rows([]), "no reports", "the result is a Report, too")
    equal(found[0], [], "the rows of no reports")


def test_a_new_version_replaces_the_old_one():
    days = [[row_of("a", "x", digest="1", right=1)], [row_of("a", "x", digest="2", right=2)]]
    rows, _ = merged_rows(days)
    equal(
        [(row["digest"], row["right"]) for row in rows],
        [("2", 2)],
        "a with digest 1, then a with digest 2: the rows",
        "the last report is the newest",
    )


def test_a_worse_new_version_counts_too():
    days = [[row_of("a", "x", digest="1", right=4)], [row_of("a", "x", digest="2", right=1)]]
    rows, _ = merged_rows(days)
    equal(
        [row["right"] for row in rows],
        [1],
        "an old version with 4 right and a new one with 1: the right answers",
        "the newest version counts, not the best one",
    )


def test_all_rows_of_an_old_version_go():
    days = [
        [row_of("a", "x", digest="1"), row_of("a", "y", digest="1")],
        [row_of("a", "x", digest="2")],
    ]
    rows, _ = merged_rows(days)
    equal(
        [(row["event"], row["digest"]) for row in rows],
        [("x", "2")],
        "digest 1 in x and y, then digest 2 in x only: the rows",
        "a row of the old version in another event goes as well",
    )


def test_the_last_row_of_a_version_counts():
    days = [[row_of("a", "x", right=1)], [row_of("a", "x", right=3)]]
    rows, _ = merged_rows(days)
    equal(
        [row["right"] for row in rows],
        [3],
        "the same digest in two reports, 1 and then 3 right: the right answers",
        "one row for each entry and event, the last one",
    )


def test_a_version_that_comes_back():
    days = [
        [row_of("a", "x", digest="1", right=3), row_of("a", "y", digest="1", right=2)],
        [row_of("a", "x", digest="2")],
        [row_of("a", "x", digest="1", right=1)],
    ]
    rows, _ = merged_rows(days)
    found = sorted((row["event"], row["digest"], row["right"]) for row in rows)
    equal(
        found,
        [("x", "1", 1), ("y", "1", 2)],
        "digest 1 in x and y, then 2 in x, then 1 in x again: the rows",
        "rows of the newest digest stay, from all reports",
    )


# %% leaderboard hidden points=1
def test_other_leaderboards():
    equal(merged_rows([]), ([], True), "no reports")
    days = [
        [row_of("a", "x", digest="1"), row_of("b", "x")],
        [row_of("a", "y", digest="2"), row_of("b", "y")],
    ]
    rows, same = merged_rows(days)
    assert same and sorted((row["entry"], row["event"], row["digest"]) for row in rows) == [
        ("a", "y", "2"),
        ("b", "x", "db"),
        ("b", "y", "db"),
    ]
