"""Lesson 25: entries in files, and a whole competition that is verified."""

import numpy as np
import pytest

from tinytorch.core.olympics import (
    Entry,
    Report,
    accuracy_interval,
    leaderboard,
    read_arrays,
    referee,
    verify,
    work_of,
)
from tinytorch.data.image_sets import flat_digits
from tinytorch.data.olympics import builder, fresh_digits, given_entries


def competitors():
    return [Entry(name, *given) for name, given in given_entries().items()]


def test_an_entry_in_a_file_is_the_same_entry(tmp_path):
    for number, entry in enumerate(competitors()):
        path = tmp_path / f"{number}.npz"
        entry.save(path)
        again = Entry.load(path, entry.name, entry.build)
        assert (again.digest, again.nbytes) == (entry.digest, entry.nbytes)
        assert {name: a.dtype for name, a in again.weights.items()} == {
            name: a.dtype for name, a in entry.weights.items()
        }


def test_a_file_whose_header_promises_a_huge_array_is_refused(tmp_path):
    entry = Entry("ada", None, {"w": np.zeros(1000, "float32")})
    entry.save(tmp_path / "ada.npz")
    data = (tmp_path / "ada.npz").read_bytes()
    (tmp_path / "ada.npz").write_bytes(data.replace(b"(1000,)", b"(9999,)"))
    with pytest.raises(Exception), open(tmp_path / "ada.npz", "rb") as file:  # noqa: B017
        read_arrays(file)


def test_work_is_counted_and_the_same_each_time():
    model, x = builder("mlp", {"hidden": 32})(), flat_digits("test")[0]
    n = len(x)
    products = 2 * n * (64 * 32 + 32 * 10)
    assert work_of(model, x)[1] == products + n * (32 + 32 + 10)  # biases, ReLU, biases
    assert work_of(model, x)[1:] == work_of(model, x)[1:]


def test_a_competition_is_verified_and_a_forged_row_is_found():
    x, labels = flat_digits("test")
    entries = competitors()[:3]
    events = {"all": (x, labels, {}), "small": (x, labels, {"bytes": 3000})}
    report = referee(entries, events)
    assert verify(Report.from_json(report.to_json()), entries, events) == []
    assert list(report.medals("small")) == ["MLP, 8 bits", "MLP, 4 bits"]
    report.rows[2]["right"] += 1
    assert verify(report, entries, events) == [("MLP, 4 bits", "all")]


def test_a_model_cannot_change_the_questions_of_the_next_entry():
    x, labels = flat_digits("test")
    before = x.copy()

    def build():
        model = builder("mlp", {"hidden": 4})()
        forward = model.forward

        def spoiled(inputs):
            inputs.data[...] = 0
            return forward(inputs)

        object.__setattr__(model, "forward", spoiled)
        return model

    weights = builder("mlp", {"hidden": 4})().state_dict()
    (row,) = referee([Entry("spoiler", build, weights)], {"e": (x, labels, {})}).rows
    assert row["valid"] and np.array_equal(x, before)


@pytest.mark.parametrize("share, n", [(0.9, 359), (0.98, 359), (0.995, 359), (0.5, 20)])
def test_wilson_intervals_contain_the_true_share_as_often_as_they_say(share, n):
    counts = np.random.default_rng(0).binomial(n, share, 4000)
    ends = {k: accuracy_interval(int(k), n) for k in set(counts.tolist())}
    covered = np.mean([ends[k][0] <= share <= ends[k][1] for k in counts.tolist()])
    assert 0.93 < covered < 0.985


def test_the_leaked_entry_falls_behind_on_fresh_digits_of_any_seed():
    entries = [entry for entry in competitors() if entry.name in ("leaked", "CNN")]
    for seed in range(5):
        rows = referee(entries, {"fresh": (*fresh_digits(seed), {})}).rows
        right = {row["entry"]: row["right"] for row in rows}
        assert right["CNN"] > right["leaked"] and right["leaked"] < 0.94 * 359


def test_a_leaderboard_of_one_report_is_that_report():
    x, labels = flat_digits("test")
    report = referee(competitors()[:2], {"e": (x, labels, {})})
    assert leaderboard([report]).to_json() == report.to_json()
