"""benchmarks/engine.py checks, measures and reports every workload. How fast the engine is here
and now is not a test's business."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

WORKLOADS = ("w1", "w2", "w3", "w4", "w5", "w6", "w7", "w7_cached")
COURSE = Path(__file__).resolve().parents[2]
OTHERS = [
    peer for peer in ("micrograd", "torch", "mygrad", "autograd") if importlib.util.find_spec(peer)
]


def run(folder, *words, script=COURSE / "benchmarks" / "engine.py"):
    return subprocess.run(
        [sys.executable, script, "--runs", "1", "--json", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.slow
def test_every_workload_is_checked_and_measured(tmp_path):
    ran = run(tmp_path, "--against", "numpy")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    report = json.loads(ran.stdout)
    assert report.keys() == {"runs", "peers", "not_installed", "workloads"}
    assert list(report["peers"]) == ["numpy"] and report["not_installed"] == {}
    assert [one["name"] for one in report["workloads"]] == list(WORKLOADS)
    for one in report["workloads"]:
        assert one.keys() == {
            "name",
            "about",
            "unit",
            "tolerance",
            "difference",
            "measurements",
            "failed",
            "peak_bytes",
            "peak_bytes_goal",
        }
        assert 0 <= one["difference"] <= one["tolerance"] < 0.01
        assert one["peak_bytes"]["tinytorch"] > 1_000_000
        assert one["measurements"][0]["peer"] == "numpy"
        for m in one["measurements"]:
            assert m.keys() == {
                "peer",
                "difference",
                "seconds",
                "peer_seconds",
                "ratio",
                "goal",
                "met",
            }
            assert 0 <= m["difference"] <= one["tolerance"]
            assert m["seconds"] > 0 and m["peer_seconds"] > 0 and m["ratio"] > 0
            assert m["met"] == (None if m["goal"] is None else m["ratio"] <= m["goal"])
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.skipif(
    not OTHERS, reason="no other engine is installed: pip install torch==2.13.0 brings one"
)
def test_another_engine_is_measured_beside_ours(tmp_path):
    ran = run(
        tmp_path, "--only", "w6" if OTHERS[0] != "micrograd" else "w4", "--against", OTHERS[0]
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (one,) = json.loads(ran.stdout)["workloads"]
    (measured,) = one["measurements"]
    assert (
        measured["peer"] == OTHERS[0]
        and measured["ratio"] > 0
        and measured["difference"] <= one["tolerance"]
    )


def test_a_wrong_gradient_is_not_timed(tmp_path):
    """A copy of the benchmark beside an engine whose relu hands everything on."""
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "engine.py").write_bytes(
        (COURSE / "benchmarks" / "engine.py").read_bytes()
    )
    package = tmp_path / "tinytorch"
    package.mkdir()
    (package / "__init__.py").write_text(
        f"__path__.append({str(COURSE / 'tinytorch')!r})\n"
        "from tinytorch.core import autograd\n"
        "from tinytorch.core.tensor import Tensor, Variable, relu_forward\n"
        "autograd.derivative(relu_forward, lambda g, out, a: g)\n",
        encoding="utf-8",
    )
    ran = run(
        tmp_path, "--against", "numpy", "--only", "w6", script=tmp_path / "benchmarks" / "engine.py"
    )
    assert ran.returncode == 1
    assert "w6" in ran.stderr and "tinytorch" in ran.stderr and "Nothing was timed" in ran.stderr
    assert not ran.stdout
