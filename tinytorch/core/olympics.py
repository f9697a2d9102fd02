# From modules/source/25_olympics/olympics_dev.py by `tito export`, docstrings shortened; edit that file.
# checksum: 21dd4fcd9083f608
"""Olympics: A referee for models: Pareto fronts, Wilson intervals, results you can verify."""

import hashlib
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from tinytorch.core.autograd import no_grad
from tinytorch.core.profiling import Profile
from tinytorch.core.tensor import Tensor
from tinytorch.data.olympics import decoded

__all__ = [
    "dominates", "front", "accuracy_interval", "shared_ranks", "bytes_of", "digest_of", "read_arrays", "model_of",
    "Entry", "work_of", "right_answers", "broken_limits", "judge", "Report", "referee", "verify", "leaderboard",
]


def dominates(a, b, lower):
    """Whether `a` is at least as good as `b` in every goal and better in at least one.

    returns  bool

    >>> dominates((351, 3454), (346, 9640), lower=(False, True))
    True
    """
    better = [x < y if small else x > y for x, y, small in zip(a, b, lower)]
    worse = [x > y if small else x < y for x, y, small in zip(a, b, lower)]
    return any(better) and not any(worse)


def front(points, lower):
    """The names of the points on the Pareto front.

    returns  list of names, in the order of `points`

    >>> front({"a": (3, 10), "b": (2, 20), "c": (1, 5)}, lower=(False, True))
    ['a', 'c']
    """
    return [name for name, point in points.items()
            if not any(dominates(other, point, lower) for other in points.values())]


def accuracy_interval(right, n, level=0.95):
    """The Wilson interval for the share of right answers.

    ValueError with both numbers when `right` is not between 0 and `n`.
    """
    if not 0 <= right <= n:
        raise ValueError(f"{right} right answers of {n} are not possible")
    if n == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + level) / 2)
    share = right / n
    middle = share + z * z / (2 * n)
    half = z * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
    low, high = (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)
    return max(0.0, low), min(1.0, high)


def shared_ranks(intervals):
    """Ranks of entries: 1 for all entries with no other interval wholly above their own.

    returns    dict {name

    >>> shared_ranks({"a": (0.90, 0.95), "b": (0.94, 0.98), "c": (0.5, 0.8)})
    {'a': 1, 'b': 1, 'c': 3}
    """
    return {name: 1 + sum(low > high for low, _ in intervals.values())
            for name, (_, high) in intervals.items()}


def bytes_of(weights):
    """The bytes of all arrays of an entry, scales included.

    returns  int

    >>> bytes_of({"w": np.zeros((3, 4), "int8"), "w:scale": np.ones(4, "float16")})
    20
    """
    return sum(a.nbytes for a in weights.values())


def digest_of(weights):
    """The SHA-256 digest of arrays.

    returns  str of 64 hexadecimal digits

    >>> digest_of({"w": np.zeros(3)}) == digest_of({"w": np.zeros(3, "float32")})
    False
    """
    sha = hashlib.sha256()
    for name in sorted(weights):
        a = weights[name]
        sha.update(json.dumps([name, a.dtype.str, a.shape]).encode() + a.tobytes())
    return sha.hexdigest()


def read_arrays(file, most=1_000_000):
    """The arrays in an .npz file that another person made.

    returns  dict {name: array}

    ValueError when the stated sizes of the files in the archive add up to more than `most`.
    ValueError for arrays of Python objects: no pickle is opened.
    """
    with zipfile.ZipFile(file) as archive:
        stated = sum(info.file_size for info in archive.infolist())
    if stated > most:
        raise ValueError(f"the file unpacks to {stated} bytes, the limit is {most}")
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def model_of(build, weights):
    """The model of an entry, in evaluation mode.

    ValueError with the name of the array when a decoded array contains nan or infinity.
    ValueError of `load_state_dict` when names or shapes do not fit the model.
    """
    model = build()
    shapes = {name: a.shape for name, a in model.state_dict().items()}
    arrays = decoded(weights, shapes)
    for name, a in arrays.items():
        if not np.isfinite(a).all():
            raise ValueError(f"{name} contains nan or infinity")
    model.load_state_dict(arrays)
    return model.eval()


@dataclass(frozen=True)
class Entry:
    """What takes part in a competition: a name, a function that builds the model, and arrays."""

    name: str
    build: Callable
    weights: dict

    def model(self):
        """The model with these weights: see `model_of`."""
        return model_of(self.build, self.weights)

    def save(self, path):
        """Write the arrays to an .npz file."""
        np.savez(path, **self.weights)

    @classmethod
    def load(cls, path, name, build):
        """The entry with the arrays in a file: see `read_arrays`."""
        with open(path, "rb") as file:
            return cls(name, build, read_arrays(file))

    @property
    def nbytes(self):
        return bytes_of(self.weights)

    @property
    def digest(self):
        return digest_of(self.weights)


def work_of(model, x):
    """The scores of a model, and the work that they took.

    x        array of shape (n, features)
    """
    with no_grad(), Profile(model) as profile:
        scores = model(Tensor(x)).data
    return scores, sum(row[4] for row in profile.rows), sum(row[5] for row in profile.rows)


def right_answers(scores, labels):
    """How many answers are right.

    scores   array of shape (n, classes)
    labels   int array of shape (n,)
    returns  int, of Python

    ValueError with the shape of `scores` when it does not have one row for each label and two
    axes. ValueError with the word finite in it when a score is nan or infinite.

    >>> right_answers(np.array([[0.1, 0.9], [0.8, 0.3]]), np.array([1, 1]))
    1
    """
    if scores.ndim != 2 or len(scores) != len(labels):
        raise ValueError(f"the scores have shape {scores.shape}, for {len(labels)} labels")
    if not np.isfinite(scores).all():
        raise ValueError("a score is not finite")
    return int((scores.argmax(axis=1) == labels).sum())


def broken_limits(row, limits):
    """The names of the limits that a result does not keep.

    returns  list of names, in the order of `limits`
    """
    values = row | {"accuracy": row["right"] / row["n"]}
    return [name for name, limit in limits.items()
            if (values[name] < limit if name == "accuracy" else values[name] > limit)]


def judge(entry, event, x, labels, limits):
    """The result of one entry in one event.

    x        array of shape (n, features), n >= 1
    labels   int array of shape (n,)
    returns  dict with the keys
             "entry", "event"   the two names
             "digest", "bytes"  of the entry's arrays
             "flops", "right"   ints, by `work_of` and `right_answers`
             "n"                int: the number of labels
             "interval"         list [low, high] of `accuracy_interval`
             "valid"            bool: whether the entry worked and no limit is broken
             "reason"           "" if it is valid, otherwise a text with the names of all broken
                                limits, or with the message of the error
    """
    row = {"entry": entry.name, "event": event, "digest": entry.digest, "bytes": entry.nbytes,
           "flops": 0, "right": 0, "n": len(labels), "interval": [0.0, 0.0], "valid": False}
    try:
        scores, flops, _ = work_of(entry.model(), x)
        right = right_answers(scores, labels)
    except Exception as error:
        return row | {"reason": f"{type(error).__name__}: {error}"}
    row |= {"flops": flops, "right": right}
    row["interval"] = list(accuracy_interval(right, len(labels)))
    broken = broken_limits(row, limits)
    return row | {"valid": not broken, "reason": ", ".join(broken)}


class Report:
    """The results of a competition."""

    def __init__(self, rows):
        self.rows = rows

    def to_json(self):
        """The rows as JSON, a str. Rows are sorted by event and then by entry, and the keys of
        each row alphabetically. Two reports with the same rows in different orders give the
        same text. The report itself is not changed."""
        rows = sorted(self.rows, key=lambda row: (row["event"], row["entry"]))
        return json.dumps(rows, sort_keys=True)

    @classmethod
    def from_json(cls, text):
        """The Report that `to_json` has written."""
        return cls(json.loads(text))

    def medals(self, event):
        """The `shared_ranks` of the intervals of all valid rows of an event: {name: rank}."""
        return shared_ranks({row["entry"]: row["interval"] for row in self.rows
                             if row["event"] == event and row["valid"]})


def referee(entries, events):
    """Judge every entry in every event.

    ValueError with the name when two entries have the same name.
    """
    names = [entry.name for entry in entries]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two entries are called {name}")
    return Report([judge(entry, event, *rules) for event, rules in events.items()
                   for entry in entries])


def verify(report, entries, events):
    """The results in a report that are not true.

    returns  list of (entry name, event name), each at most once

    >>> verify(Report([]), [], {})
    []
    """
    claimed, true = {}, {}
    for rows, found in ((report.rows, claimed), (referee(entries, events).rows, true)):
        for row in rows:
            found.setdefault((row["entry"], row["event"]), []).append(row)
    return [key for key in claimed | true if claimed.get(key) != true.get(key)]


def leaderboard(reports):
    """Reports of several days merged into one."""
    rows = [row for report in reports for row in report.rows]
    newest = {row["entry"]: row["digest"] for row in rows}
    last = {(row["entry"], row["event"]): row for row in rows
            if row["digest"] == newest[row["entry"]]}
    return Report(list(last.values()))
