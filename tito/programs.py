"""Run another program to its end, and have what it prints."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def run(command: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program without input. Its output is text; bytes that are not UTF-8 are replaced.

    options  of `subprocess.run`: cwd, env, timeout
    """
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        **options,
    )
