"""benchmarks/training.py trains both libraries on the same numbers. How fast they are here and now
is not a test's business."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "training.py"


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="torch is not installed")
@pytest.mark.parametrize("network", ["mlp", "cnn", "gpt"])
def test_both_libraries_lose_the_same_in_every_step_of_an_epoch(tmp_path, network):
    ran = subprocess.run(
        [sys.executable, SCRIPT, "--epochs", "1", "--only", network, "--turns", "1", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (one,) = json.loads(ran.stdout)
    assert one["steps"] == (100 if network == "gpt" else 45) and one["ratio"] > 0
    assert 0 < one["apart_first_epoch"] <= 1e-3
    for library in ("tinytorch", "torch"):
        assert one[library]["seconds"] > 0
        if network == "gpt":
            assert one[library]["bits_per_character"] < 3.5
        else:
            assert one[library]["accuracy"] > 0.8
    assert abs(one["tinytorch"]["last_loss"] - one["torch"]["last_loss"]) < 1e-3
