"""The conditions under which learners' code runs: the same in `tito test` and in the jail, so that
what passes the one passes the other.

A lesson can import Python's own modules, PACKAGES and what these need. Other packages of the
environment are tools; another machine, such as the one that grades, need not have them.

The jail loads this file by its path, so it imports only Python's own modules.
"""

import builtins
import errno
import functools
import os
import re
import signal
import sys
from collections.abc import Callable, Container
from pathlib import Path
from typing import Any, NoReturn

PACKAGES = ("numpy", "matplotlib")
REFUSED = "No module named {!r}: a lesson can import Python's own modules, {}"
# Of Python's audit events, those that need what the jail has not.
FORBIDDEN = re.compile(
    r"subprocess\.Popen|os\.(system|exec|fork|forkpty|posix_spawn|spawn|kill|killpg)$"
    r"|socket\.(__new__|connect|bind|getaddrinfo|gethost)"
)
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@functools.cache
def package_paths() -> list[Path]:
    """The folders and files in which PACKAGES, what they need, and their libraries are."""
    from importlib import metadata  # here, because it takes long

    found: dict[str, set[Path]] = {}
    names = list(PACKAGES)
    while names:
        name = names.pop(0)
        if name in found:
            continue
        try:
            one = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # of another system
            continue
        rows = (one.read_text("RECORD") or one.read_text("top_level.txt") or one.name).split("\n")
        tops = {re.split("[,/]", row)[0] for row in rows} - {"", "..", "__pycache__"}
        found[name] = {Path(str(one.locate_file(top))).resolve() for top in tops}
        for text in one.requires or ():
            requirement, _, marker = text.partition(";")
            if "extra" not in marker:
                names += re.findall(r"^[\w.-]+", requirement)
    paths = {path for group in found.values() for path in group if path.exists()}
    left_out = (".dist-info", ".egg-info", ".pth")
    return sorted(path for path in paths if path.suffix not in left_out)


@functools.cache
def importable() -> dict[str, Path]:
    """{name of a module of these packages: its folder or file}."""
    names = {path.name.split(".")[0]: path for path in package_paths() if path.suffix != ".libs"}
    return {name: path for name, path in names.items() if name.isidentifier()}


def builtins_for(package: str, installed: Callable[[], Container[str]]) -> dict[str, Any]:
    """Python's builtins for the modules of lessons. An `import` of another package fails there.

    package    the course's own
    installed  returns `importable`'s names
    """

    def checked(name: str, *rest: Any, **options: Any) -> Any:
        top, level = name.partition(".")[0], options.get("level", rest[3] if len(rest) > 3 else 0)
        if not (level or top in (package, *PACKAGES) or top in sys.stdlib_module_names):
            if top not in installed():
                words = REFUSED.format(top, " and ".join(PACKAGES))
                raise ModuleNotFoundError(words, name=top)
        return builtins.__import__(name, *rest, **options)

    # `check`, of a chapter, has no checks here; the others differ with the way Python is started.
    own = {"check": lambda exercise: None, "exit": sys.exit, "quit": sys.exit}
    return vars(builtins) | own | {"__import__": checked, "breakpoint": no_debugger}


def no_debugger(*arguments: Any, **options: Any) -> NoReturn:
    raise RuntimeError("breakpoint() needs a terminal: run the lesson itself, `python ..._dev.py`")


def forbid(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook for where there is no jail. It protects nothing, and refuses what a jail would
    refuse.
    """
    if event == "open":
        path, _, flags = arguments
        if not flags & WRITES or type(path) is int or path == os.devnull:
            return
    elif not FORBIDDEN.match(event):
        return
    raise PermissionError(errno.EPERM, "Operation not permitted")


def die_with_parent(required: bool = False) -> None:
    """On Linux, end when the process that started this one does, however it ends.

    required  raise OSError where this cannot be
    """
    if sys.platform != "linux":
        return
    try:
        import ctypes  # here, because some Pythons have none

        if ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0):  # PR_SET_PDEATHSIG
            raise OSError("this process cannot end with the one that started it")
    except (ImportError, OSError):
        if required:
            raise
