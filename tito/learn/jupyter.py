"""Find out whether JupyterLab and its kernel are installed, and install them into tito's
environment, which its workspaces share.
"""

import importlib.metadata
import importlib.util
import sys
from pathlib import Path

from tito import files, programs
from tito.errors import MachineError

EXTRA = "notebook"  # of this distribution
NEEDED = ("jupyterlab", "ipykernel")
REMEDY = "`tito init . --notebook` installs it, also for Run Cell in VS Code."
OFFLINE = (
    "Failed to establish a new connection",
    "Temporary failure in name resolution",
    "NewConnectionError",
    "Connection refused",
    "Network is unreachable",
    "ConnectTimeout",
    "Read timed out",
    "from versions: none",
)  # one of these is in what pip says without a network


def missing() -> list[str]:
    return [name for name in NEEDED if importlib.util.find_spec(name) is None]


def requirements() -> list[str]:
    """What this distribution says that the extra needs, as pip takes it."""
    try:
        lines = importlib.metadata.requires("tinytorch") or []
    except importlib.metadata.PackageNotFoundError:
        lines = []
    needed = [line.split(";")[0].strip() for line in lines if f"extra == '{EXTRA}'" in line]
    return needed or list(NEEDED)


def install() -> None:
    """Install them with pip, which fetches all before it changes anything.

    Raises TitoError when that fails; then nothing is installed.
    """
    pip = [sys.executable, "-I", "-m", "pip", "--no-input", "--disable-pip-version-check"]
    completed = programs.run([*pip, "install", "--retries", "1", *requirements()])
    importlib.invalidate_caches()
    if completed.returncode:
        output = completed.stdout + completed.stderr
        if any(sign in output for sign in OFFLINE):
            raise MachineError(
                "No network: JupyterLab could not be fetched. Nothing was changed.",
                "Connect (or set the proxy) and run the command again, or leave out --notebook.",
            )
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        lines = lines or ["no reason given"]
        errors = [line for line in lines if line.lower().startswith("error")]
        raise MachineError(
            f"pip could not install JupyterLab: {(errors or lines)[-1]}",
            f"This shows more: {sys.executable} -m pip install {' '.join(NEEDED)}",
        )
    _remember()


def _remember() -> None:
    """Note the extra where `bin/setup` keeps its extras, for an environment that is made again."""
    ready = Path(sys.prefix, "tito-ready")
    try:
        folder, extras, _ = ready.read_text(encoding="utf-8").split("\n")
    except (OSError, ValueError):  # this environment was not made by bin/setup
        return
    files.write(ready, f"{folder}\n{' '.join(sorted({*extras.split(), EXTRA}))}\n")
