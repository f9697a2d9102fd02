"""Every program in benchmarks/ runs, checks its own results and reports its measurements. How fast
tito and the engine are on this machine is not tested.
"""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from small_course import make_course
from unchanged import of_today

COURSE = Path(__file__).resolve().parents[2]
BENCHMARKS = COURSE / "benchmarks"
OTHERS = [
    peer for peer in ("micrograd", "torch", "mygrad", "autograd") if importlib.util.find_spec(peer)
]


def run(script, *words, folder, code=0):
    done = subprocess.run(
        [sys.executable, script, *words, "--json"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def report(name, *words, folder):
    return json.loads(run(BENCHMARKS / name, *words, folder=folder).stdout)


# cli.py


@pytest.mark.slow
def test_every_ratio_of_the_command_line_is_measured(tmp_path):
    rows = report("cli.py", "--runs", "1", folder=tmp_path)["measurements"]
    assert [row["name"] for row in rows] == ["help", "status", "test", "whole", "watch", "shown"]
    for row in rows:
        assert row["ratio"] > 0
        assert row["met"] == (row["seconds"] <= row["goal"] * row["peer_seconds"])
    assert not list(tmp_path.iterdir())


# engine.py and training.py


@pytest.mark.slow
def test_every_workload_of_the_engine_is_checked_and_measured(tmp_path):
    # Each day three other ones. w8 is w7_cached with other sizes, and takes 40 s.
    names = of_today(["w1", "w2", "w3", "w4", "w5", "w6", "w7", "w7_cached"], 3)
    words = ("--runs", "1", "--against", "numpy", "--only", *names)
    rows = report("engine.py", *words, folder=tmp_path)["workloads"]
    assert [row["name"] for row in rows] == names
    for row in rows:
        assert 0 <= row["difference"] <= row["tolerance"] < 0.01
        assert row["peak_bytes"]["tinytorch"] > 1_000_000
        (measured,) = row["measurements"]
        assert measured["peer"] == "numpy" and measured["ratio"] > 0
        assert measured["met"] in (None, measured["ratio"] <= (measured["goal"] or 0))
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_every_version_of_a_compiled_step_is_checked_and_measured(tmp_path):
    words = ("--only", "xor", "gpt", "--versions", "fused", "NumPy", "C", "--rounds", "2")
    xor, gpt = report("compilation.py", *words, folder=tmp_path)["workloads"]
    assert [*xor["versions"]] == ["library", "NumPy", "C"]
    assert [*gpt["versions"]] == ["library", "fused", "NumPy", "C"]
    for one in (*xor["versions"].values(), *gpt["versions"].values()):
        assert one.get("microseconds", 0) > 0 or "OSError" in one["missing"]
    assert gpt["versions"]["NumPy"]["peak_bytes"] < gpt["versions"]["library"]["peak_bytes"]


@pytest.mark.slow
@pytest.mark.skipif(not OTHERS, reason="no other engine is installed, such as torch")
def test_another_engine_is_measured_next_to_ours(tmp_path):
    workload = "w4" if OTHERS[0] == "micrograd" else "w6"
    words = ("--runs", "1", "--only", workload, "--against", OTHERS[0])
    (row,) = report("engine.py", *words, folder=tmp_path)["workloads"]
    (measured,) = row["measurements"]
    assert measured["peer"] == OTHERS[0] and measured["ratio"] > 0
    assert measured["difference"] <= row["tolerance"]


def test_an_engine_with_a_wrong_gradient_is_not_timed(tmp_path):
    """A copy of the benchmark next to an engine whose relu has the derivative 1 everywhere."""
    (tmp_path / "benchmarks").mkdir()
    script = tmp_path / "benchmarks" / "engine.py"
    script.write_bytes((BENCHMARKS / "engine.py").read_bytes())
    (tmp_path / "tinytorch").mkdir()
    (tmp_path / "tinytorch" / "__init__.py").write_text(
        f"__path__.append({str(COURSE / 'tinytorch')!r})\n"
        "from tinytorch.core import autograd\n"
        "from tinytorch.core.tensor import Tensor, Variable\n"
        "from tinytorch.support.forward import relu_forward\n"
        "autograd.derivative(relu_forward, lambda g, out, a: g)\n",
        encoding="utf-8",
    )
    words = ("--runs", "1", "--against", "numpy", "--only", "w6")
    done = run(script, *words, folder=tmp_path, code=1)
    assert "w6" in done.stderr and "tinytorch" in done.stderr and not done.stdout
    assert "Nothing was timed" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="torch is not installed")
def test_both_libraries_have_the_same_losses_in_every_step_of_an_epoch(tmp_path):
    steps = {"mlp": 45, "cnn": 45, "gpt": 100}
    words = ("--epochs", "1", "--turns", "1", "--only", *of_today([*steps]))
    rows = report("training.py", *words, folder=tmp_path)
    assert rows
    for row in rows:
        assert row["steps"] == steps[row["network"]]
        assert row["ratio"] > 0 and 0 < row["apart_first_epoch"] <= 1e-3
        assert abs(row["tinytorch"]["last_loss"] - row["torch"]["last_loss"]) < 1e-3


# grading.py

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="it reads processes from /proc")


@pytest.fixture(scope="module")
def grading():
    spec = importlib.util.spec_from_file_location("grading_benchmark", BENCHMARKS / "grading.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for their module there
    spec.loader.exec_module(module)
    return module


@linux_only
@pytest.mark.slow
def test_grading_is_measured_and_a_peer_that_cannot_be_installed_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    words = ("--quick", "--against", "otter", "--course", make_course(tmp_path / "course"))
    found = report("grading.py", *words, folder=tmp_path)
    assert not found["peers"] and "otter-grader" in found["left_out"]["otter"]
    assert [(row["name"], row["workers"], row["submissions"]) for row in found["class"]] == [
        ("tito, 1 worker", 1, 2),
        ("tito, 2 workers", 2, 2),
    ]
    for row in found["class"]:
        assert row["seconds"] > 0 and row["cpu_seconds"] > 0.1 and row["peak_bytes"] > 10_000_000
    sizes = [[point["submissions"] for point in row["points"]] for row in found["growth"]]
    assert sizes == [[1, 3], [1, 3]]
    lessons = [(row["lesson"], row["checks"], row["passed"]) for row in found["lessons"]]
    assert lessons == [("numbers", 3, True), ("sums", 2, True)]
    assert [path.name for path in tmp_path.iterdir()] == ["course"]  # no half environment


@pytest.mark.slow
@linux_only
def test_a_time_of_wrong_grades_does_not_count(grading, tmp_path):
    class Grader:
        workers = 1

        def __init__(self, name, points):
            self.name, self.points = name, points

        def grade(self, learners, folder):
            cost = grading.Cost(1.0, 1.0, 1)
            return {learner.student: self.points for learner in learners}, cost

    ours, fair, generous = Grader("tito", 1), Grader("fair", 1), Grader("generous", 2)
    learners = [grading.Learner(name, "", "right", {}) for name in ("ada", "bob")]
    measured, _, left_out = grading.measure_class([ours], [fair], learners, 1, 1, tmp_path)
    assert [row.name for row in measured] == ["tito", "tito, the same 1", "fair"] and not left_out
    with pytest.raises(SystemExit, match="generous gives ada 2 points, tito 1"):
        grading.measure_class([ours], [generous], learners, 1, 1, tmp_path)
    root = grading.make_course(tmp_path / "arrays")
    wrong = grading.make_class(root, 1)
    wrong[0].lessons["arrays"]["least"] = wrong[0].lessons["arrays"]["most"] = 11
    with pytest.raises(SystemExit, match="12 points, expected 11 to 11"):
        grading.once(grading.Tito(root, 1, {}), wrong, tmp_path)


# A program that starts another and does not wait for it. It is measured in a new process, which
# adopts every process that outlives its parent.
BUSY = """\
import os, time
memory = bytearray(os.urandom(1)) * 80_000_000
until = time.process_time() + 0.6
while time.process_time() < until: pass
"""
STARTS = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {BUSY!r}])\n"
MEASURES = f"""\
import importlib.util, sys
spec = importlib.util.spec_from_file_location("b", {str(BENCHMARKS / "grading.py")!r})
b = sys.modules["b"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(b)
b.adopt()
_, cost = b.run([sys.executable, "-c", {STARTS!r}], ".", {{}})
print(cost.cpu_seconds, cost.peak_bytes)
"""


@pytest.mark.slow
@linux_only
def test_time_and_memory_include_every_process_that_a_program_starts(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", MEASURES], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    cpu_seconds, peak_bytes = map(float, done.stdout.split())
    assert 0.6 <= cpu_seconds < 3 and 80e6 < peak_bytes < 200e6


@linux_only
def test_a_process_that_was_there_before_a_program_is_not_waited_for(grading, tmp_path):
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        printed, _ = grading.run([sys.executable, "-c", "print('done')"], tmp_path, {})
        assert printed == "done\n" and other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_line_is_found_through_classes_of_very_different_size(grading):
    start, each = grading.line_through([50, 200, 1000], [2 + 0.05 * n for n in (50, 200, 1000)])
    assert (start, each) == (pytest.approx(2), pytest.approx(0.05))


# half_hour.py


@pytest.mark.slow
def test_the_way_to_the_first_training_is_measured(tmp_path):
    script = [sys.executable, BENCHMARKS / "half_hour.py", "descent"]
    done = subprocess.run(script, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    first, training = (line.split(maxsplit=3) for line in done.stdout.splitlines()[1:])
    assert (first[3], training[3]) == ("first own result, predict", "first training, train")
    assert (first[1], training[1]) == ("5", "9")  # commands
