"""A learner's machine to test a release on."""

import os
import shutil
import sys

import pytest


@pytest.fixture
def machine(released, tmp_path, monkeypatch):
    """A copy of a release where only Python is. The network is replaced: `uv` installs the wheel
    with what is here already.
    """
    shutil.copytree(released, tmp_path / "a learner's")
    deps = next(path for path in sys.path if path.endswith("site-packages"))
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "python3").symlink_to(os.path.realpath(sys._base_executable))
    (tools / "uv").write_text(
        f"""#!{sys.executable}
import subprocess, sys
from pathlib import Path
python, wheel = sys.argv[sys.argv.index("--python") + 1], sys.argv[-1]
packages = next(Path(python).parents[1].glob("lib/python*/site-packages"))
(packages / "here.pth").write_text({deps + chr(10)!r}, encoding="utf-8")
pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
sys.exit(subprocess.run([*pip, "--no-deps", "--no-index", wheel]).returncode)
""",
        encoding="utf-8",
    )
    (tools / "uv").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    return tmp_path / "a learner's"
