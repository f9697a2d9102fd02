"""What tests/conftest.py adds to pytest."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest


@pytest.mark.parametrize(
    ("here", "reason", "outcome"),
    [
        ("zsh,torch", "Skipped: zsh is not installed here", "failed"),
        ("zsh,torch", "Skipped: could not import 'torch': No module named 'torch'", "failed"),
        ("chromium", "Skipped: there is no Chromium here", "failed"),
        ("torch", "Skipped: PyTorch is not installed", "skipped"),
        ("zsh", "Skipped: this kernel has no Landlock", "skipped"),
        ("", "Skipped: zsh is not installed here", "skipped"),
    ],
)
def test_a_skip_for_want_of_what_is_here_fails(request, here, reason, outcome):
    plugins = request.config.pluginmanager.get_plugins()
    conftest = next(plugin for plugin in plugins if hasattr(plugin, "unless_here"))
    config = SimpleNamespace(option=SimpleNamespace(here=here))
    report = SimpleNamespace(skipped=True, longrepr=("test_x.py", 7, reason), outcome="skipped")
    assert conftest.unless_here(config, report).outcome == outcome
    assert (reason in report.longrepr) and (outcome == "skipped") == (report.longrepr[2] == reason)


@pytest.mark.slow
def test_a_learner_without_the_plugins_of_this_repository_can_run_pytest():
    options = ["-q", "-p", "no:xdist", "--collect-only", "-k", "tensor"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, Path(__file__).with_name("test_lessons.py")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
