"""benchmarks/cli.py runs and reports every measurement. How fast tito is here and now is not a
test's business."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

COURSE = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_every_ratio_is_measured(tmp_path):
    ran = subprocess.run(
        [sys.executable, COURSE / "benchmarks" / "cli.py", "--runs", "1", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    report = json.loads(ran.stdout)
    assert report.keys() == {"runs", "lesson", "measurements"}
    names = [one["name"] for one in report["measurements"]]
    assert names == ["help", "status", "test", "whole", "watch", "shown"]
    for one in report["measurements"]:
        assert one.keys() == {
            "name",
            "command",
            "peer",
            "seconds",
            "peer_seconds",
            "ratio",
            "goal",
            "met",
        }
        assert one["ratio"] > 0 and one["goal"] > 0
        assert one["met"] == (one["seconds"] <= one["goal"] * one["peer_seconds"])
    assert not list(tmp_path.iterdir())
