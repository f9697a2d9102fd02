"""Run another program to its end, and have what it prints."""

import subprocess


def run(command: list, **options) -> subprocess.CompletedProcess:
    """What a program printed, as text, and its exit code. It gets no input, and what it prints
    that is not UTF-8 is replaced.

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
