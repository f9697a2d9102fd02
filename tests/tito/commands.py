"""The `tito` command, as tests run it."""

import subprocess
import sys


def tito(root, *words, code=0):
    """Run tito in `root`; returns (stdout, stderr)."""
    done = subprocess.run(
        [sys.executable, "-m", "tito", *map(str, words)],
        cwd=getattr(root, "path", root),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == code, f"exit code {done.returncode}, said: {done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr
