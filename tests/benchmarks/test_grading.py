"""benchmarks/grading.py measures and reports everything. How fast grading is here and now is not a
test's business."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from small_course import make_course

COURSE = Path(__file__).resolve().parents[2]
SCRIPT = COURSE / "benchmarks" / "grading.py"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")


@pytest.fixture(scope="module")
def grading():
    spec = importlib.util.spec_from_file_location("benchmark_of_grading", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def run(folder, *words):
    return subprocess.run(
        [
            sys.executable,
            SCRIPT,
            "--quick",
            "--json",
            "--course",
            make_course(folder / "course"),
            *words,
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.mark.slow
def test_everything_is_measured_beside_a_peer_and_one_that_cannot_be_installed_is_said(
    tmp_path, monkeypatch
):
    """nbgrader is installed where the tests run: its environment is taken for the one that the
    program would make."""
    pytest.importorskip("nbgrader")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    (tmp_path / "environments").mkdir()
    (tmp_path / "environments" / "nbgrader").symlink_to(sys.prefix)
    ran = subprocess.run(
        [
            sys.executable,
            SCRIPT,
            "--quick",
            "--json",
            "--course",
            make_course(tmp_path / "course"),
            "--environments",
            tmp_path / "environments",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    report = json.loads(ran.stdout)
    assert (
        list(report["peers"]) == ["nbgrader"]
        and report["left_out"].keys() == {"otter"}
        and "otter-grader" in report["left_out"]["otter"]
    )
    assert [(one["name"], one["workers"], one["submissions"]) for one in report["class"]] == [
        ("tito, 1 worker", 1, 2),
        ("tito, 2 workers", 2, 2),
        ("tito, 1 worker, the same 1", 1, 1),
        ("nbgrader", 1, 1),
    ]
    for one in report["class"]:
        assert one["seconds"] > 0 and one["cpu_seconds"] > 0.1 and one["peak_bytes"] > 10_000_000
        assert one["per_worker"] == pytest.approx(
            one["seconds"] * one["workers"] / one["submissions"]
        )
    assert [(one["name"], one["peer"], one["goal"]) for one in report["ratios"]] == [
        ("tito, 1 worker", "nbgrader", 20),
        ("tito, 2 workers", "nbgrader", 20),
        ("tito, 1 worker, the same 1", "nbgrader", None),
    ]
    measured = {one["name"]: one for one in report["class"]}
    for one in report["ratios"]:
        ours, peer = measured[one["name"]], measured["nbgrader"]
        assert one["ratio"] == pytest.approx(peer["per_worker"] / ours["per_worker"])
        assert one["cpu_ratio"] == pytest.approx(
            peer["cpu_seconds"] / ours["cpu_seconds"] * ours["submissions"]
        )
        assert one["met"] == (None if one["goal"] is None else one["ratio"] >= 20)
    for workers, growth in enumerate(report["growth"], 1):
        assert growth["workers"] == workers
        assert [one["submissions"] for one in growth["points"]] == [1, 3]
        # two points have a line through them
        assert growth["lines"]["seconds"]["off_percent"] < 0.001
    for one in report["lessons"]:
        # of a few milliseconds: the system counts the jail's in hundredths of a second
        assert one["judge"] > 0 and one["jail"] >= 0
    assert [(one["lesson"], one["checks"], one["passed"]) for one in report["lessons"]] == [
        ("numbers", 3, True),
        ("sums", 2, True),
    ]
    assert sorted(
        path.relative_to(tmp_path).as_posix()
        for path in [*tmp_path.iterdir(), *(tmp_path / "environments").iterdir()]
    ) == [
        "course",
        "environments",
        "environments/nbgrader",
    ]  # nothing else is left behind, no half environment either


def test_a_time_of_wrong_grades_does_not_count(grading, tmp_path):
    class Generous:
        workers = 1

        def __init__(self, name, more):
            self.name, self.more = name, more

        def grade(self, learners, folder):
            return {learner.student: 1 + self.more for learner in learners}, grading.Cost(
                1.0, 1.0, 1
            )

    ours, same, other = Generous("tito", 0), Generous("fair", 0), Generous("generous", 1)
    learners = [grading.Learner("ada", "", "right", {}), grading.Learner("bob", "", "right", {})]
    measured, _, left_out = grading.measure_class([ours], [same], learners, 1, 1, tmp_path)
    assert [one.name for one in measured] == ["tito", "tito, the same 1", "fair"] and left_out == {}
    with pytest.raises(SystemExit, match="generous gives ada 2 points, tito 1"):
        grading.measure_class([ours], [other], learners, 1, 1, tmp_path)
    root = grading.make_course(tmp_path / "arrays")
    wrong = grading.make_class(root, 1)
    wrong[0].lessons["arrays"]["least"] = wrong[0].lessons["arrays"]["most"] = 11
    with pytest.raises(SystemExit, match="12 points, expected 11 to 11"):
        grading.once(grading.Tito(root, 1, {}), wrong, tmp_path)


def test_time_and_memory_are_those_of_every_process_that_a_program_starts(grading, tmp_path):
    """In a process of its own: it adopts every process that outlives its parent."""
    busy = (
        "import time, os, sys\nheld = bytearray(os.urandom(1)) * 80_000_000\nuntil = "
        "time.process_time() + 0.6\nwhile time.process_time() < until: pass\n"
    )
    starts = (
        f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', "
        f"{busy!r}])\n"
    )  # and does not wait
    code = (
        f"import importlib.util, sys\nspec = importlib.util.spec_from_file_location('b', "
        f"{str(SCRIPT)!r})\nb = importlib.util.module_from_spec(spec)\n"
        f"sys.modules['b'] = b\nspec.loader.exec_module(b)\nb.adopt()\n_, cost = "
        f"b.run([sys.executable, '-c', {starts!r}], '.', {{}})\n"
        "print(cost.cpu_seconds, cost.peak_bytes)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    cpu_seconds, peak_bytes = map(float, ran.stdout.split())
    assert 0.6 <= cpu_seconds < 3 and 80e6 < peak_bytes < 200e6


def test_what_ran_before_a_program_is_not_waited_for(grading, tmp_path):
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        said, _ = grading.run([sys.executable, "-c", "print('done')"], tmp_path, {})
        assert said == "done\n" and other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_line_is_found_through_classes_of_very_different_size(grading):
    start, each = grading.line_through([50, 200, 1000], [2 + 0.05 * n for n in (50, 200, 1000)])
    assert (start, each) == (pytest.approx(2), pytest.approx(0.05))
