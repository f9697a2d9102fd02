"""Whether JupyterLab and its kernel are installed, and how to install them."""

import importlib.util
import os
import sys
from pathlib import Path

PROGRAM = "jupyterlab"
NEEDED = (PROGRAM, "ipykernel")


def missing() -> list[str]:
    return [name for name in NEEDED if importlib.util.find_spec(name) is None]


def remedy() -> str:
    """The command that installs them: `bin/setup`, where it made this environment, else pip."""
    setup = Path(sys.prefix).parent / "bin" / "setup"
    command = f'py "{setup}.py" notebook' if os.name == "nt" else f"{setup} notebook"
    if not setup.exists():
        command = f"{sys.executable} -m pip install {' '.join(NEEDED)}"
    return f"`{command}` installs it, also for Run Cell in VS Code."
