"""tito/learn/jupyter.py: the command that installs what notebooks need."""

import sys

from tito.learn import jupyter


def test_the_environments_own_setup_installs_it_else_pip(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    assert f"{sys.executable} -m pip install jupyterlab ipykernel" in jupyter.remedy()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "setup").touch()
    assert f"`{tmp_path / 'bin' / 'setup'} notebook`" in jupyter.remedy()
