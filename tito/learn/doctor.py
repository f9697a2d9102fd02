"""Find out what this machine has and lacks for the course, with remedies."""

import ast
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from tito import child
from tito.errors import TitoError
from tito.learn import jupyter, milestone
from tito.lesson import course, site_settings
from tito.lesson.course import Root

IMPORT_SECONDS = 20
MOST_SHADOWS = 20  # are named: PYTHONPATH may name a folder of packages
LONGEST_FOLDER = 110  # characters: the longest path in a workspace is a backup being written
SYNCED = re.compile(
    r"OneDrive|iCloud|Mobile Documents$|com~apple~CloudDocs$|Dropbox$|Google ?Drive"
)


@dataclass
class Diagnosis:
    """What one look at the machine says: `state` is "ok", "problem" (something will not work) or
    "optional" (something could be installed or set).
    """

    state: str
    what: str
    value: str
    remedy: str = ""


ok, optional, problem = (partial(Diagnosis, state) for state in ("ok", "optional", "problem"))


def examine(start: Path, given: str | Path | None = None) -> list[Diagnosis]:
    """Look at the machine, and about the root at or above `start`."""
    findings = [_python(), *_packages(), *_surroundings(start.resolve())]
    grading: list[Diagnosis] = []
    try:
        root = course.find_root(start, given, strict=False)
        # Learners need no sandbox, and publish nothing.
        grading = [*_sandbox()] if root.is_course else []
        findings += [
            ok("root", f"{root.kind} {root.path}"),
            _settings(root),
            _lessons(root),
            *(shadows := list(islice(_shadows(root), MOST_SHADOWS))),
            _imported(root, "Rename what is named above, then look again." if shadows else ""),
            _writable(root),
        ]
    except TitoError as error:
        findings.append(problem("root", error.what, error.remedy))
    return [*findings, _notebook(), *grading]


def _python() -> Diagnosis:
    interpreter = f"{sys.version.split()[0]} in {sys.prefix}"
    if sys.version_info < (3, 11):
        return problem("Python", interpreter, "Install Python 3.11 or newer.")
    return ok("Python", interpreter)


def _packages() -> Iterator[Diagnosis]:
    """The packages that this distribution says it needs."""
    try:
        requirements = importlib.metadata.requires("tinytorch") or []
    except importlib.metadata.PackageNotFoundError:
        yield problem(
            "tito",
            "is not installed in this environment",
            "Run bin/tito from the course, or pip install the wheel of a release.",
        )
        return
    for line in requirements:
        if "extra ==" in line:
            continue
        name = re.split(r"[^\w.-]", line)[0]
        try:
            yield ok(name, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            yield problem(name, "is missing", f"{sys.executable} -m pip install '{line}'")


def _surroundings(folder: Path) -> Iterator[Diagnosis]:
    """What may go wrong with this Python, this terminal and the place of this folder."""
    if "WindowsApps" in sys.base_prefix:
        yield optional(
            "Python",
            f"{sys.base_prefix} comes from the Microsoft Store, which hides some files",
            "If something is not found, install Python from python.org.",
        )
    conda = os.environ.get("CONDA_PREFIX")
    if os.environ.get("CONDA_DEFAULT_ENV") == "base" and sys.prefix == conda:
        yield optional(
            "conda",
            "the environment base is active, and tito's packages share it with all others",
            "conda create -n tinytorch python=3.12, then conda activate tinytorch.",
        )
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    if encoding != "utf8":
        yield optional(
            "terminal",
            f"{encoding or 'no encoding'}: characters that it lacks are shown as ?",
            "Set the environment variable PYTHONUTF8 to 1, and use a terminal with UTF-8.",
        )
    if synced := [part for part in folder.parts if SYNCED.match(part)]:
        yield optional(
            "folder",
            f"{folder} is in {synced[0]}, which may hold files while tito writes them",
            "Move it to a folder that is not synchronized.",
        )
    if len(str(folder)) > LONGEST_FOLDER and not _has_long_paths():
        yield problem(
            "paths",
            f"{folder} has {len(str(folder))} characters, and Windows takes 259 for a whole path",
            f"Move it to a folder with at most {LONGEST_FOLDER}, or turn on long paths in Windows.",
        )


def _has_long_paths() -> bool:
    """Whether this system takes paths of any length."""
    if sys.platform != "win32":
        return True
    try:
        import winreg

        place = r"SYSTEM\CurrentControlSet\Control\FileSystem"
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, place) as key:
            return bool(winreg.QueryValueEx(key, "LongPathsEnabled")[0])
    except OSError:
        return False


def _lessons(root: Root) -> Diagnosis:
    try:
        entries = root.lessons
        for entry in entries:
            entry.declared  # noqa: B018  reading it is the test
        return ok("lessons", ", ".join(entry.name for entry in entries))
    except TitoError as error:
        return problem("lessons", error.what, error.remedy)


def _shadows(root: Root) -> Iterator[Diagnosis]:
    """Files that Python imports in place of a module, in the folders where a learner's programs and
    notebooks run and on PYTHONPATH. They do not reach tito, so here each name is the real module.
    """
    listed = filter(None, _pythonpath().split(os.pathsep))
    folders = [root.path, root.path / milestone.SOURCE, *map(Path, listed)]
    folders += [entry.script.parent for entry in root.lessons]
    for path in sorted({path for folder in folders for path in _modules_in(folder)}):
        name = path.name.partition(".")[0]
        if name in (root.package, "test"):  # always the root's; of use to Python's authors only
            continue
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):  # a module without a spec, such as __main__
            continue
        if spec and spec.has_location and Path(spec.origin or "").parent not in (path, path.parent):
            yield problem(
                name,
                f"{path} is imported in place of the module {name}",
                f"Rename it: my_{path.name}",
            )


def _pythonpath() -> str:
    """What PYTHONPATH is for a learner's own programs: tito takes it away (import_hook.py)."""
    return os.environ.get("TITO_PYTHONPATH") or os.environ.get("PYTHONPATH", "")


def _modules_in(folder: Path) -> Iterator[Path]:
    """What `import` finds in a folder: modules, and packages that have an __init__ file."""
    suffixes = importlib.machinery.all_suffixes()
    try:
        paths = list(folder.iterdir())
    except OSError:  # such as a folder of PYTHONPATH that is not there
        return
    for path in paths:
        if any(path.name == path.name.partition(".")[0] + suffix for suffix in suffixes):
            yield path
        elif any((path / f"__init__{suffix}").is_file() for suffix in suffixes):
            yield path


def _imported(root: Root, remedy: str) -> Diagnosis:
    """Which package `import tinytorch` gives to a fresh Python in this root.

    remedy  what to do if it gives none; "" for the usual
    """
    code = f"import {root.package} as p; print(); print(ascii(p.__path__[0]))"
    package, what = root.path / root.package, f"import {root.package}"
    variables = os.environ | {"PYTHONPATH": _pythonpath()}
    try:
        process = child.run(
            [sys.executable, "-c", code], cwd=root.path, env=variables, seconds=IMPORT_SECONDS
        )
    except subprocess.TimeoutExpired:
        return problem(
            what, f"takes longer than {IMPORT_SECONDS} s", f"Look for an endless loop in {package}."
        )
    if process.returncode:
        last = (process.stderr.strip().splitlines() or ["no reason given"])[-1]
        return problem(
            what,
            last,
            remedy
            or "`tito init .` puts back missing files; `tito export --all` exports the lessons.",
        )
    origin = Path(ast.literal_eval(process.stdout.splitlines()[-1]))
    if origin.resolve() != package.resolve():
        return problem(
            what, f"gives {origin}, not {package}", "Uninstall that package, or clear PYTHONPATH."
        )
    return ok(what, str(origin))


def _writable(root: Root) -> Diagnosis:
    folders = [root.path, root.path / root.package, root.path / course.SOURCE]
    for folder in folders:
        if folder.exists() and not os.access(folder, os.W_OK):
            return problem(
                "files", f"{folder} cannot be written", "Make it writable, or work in another copy."
            )
    free = shutil.disk_usage(root.path).free
    if free < 100 * 2**20:
        return problem(
            "files", f"only {free / 2**20:.0f} MB are free on this disk", "Free some space."
        )
    return ok("files", f"writable, {free / 2**30:.1f} GB free")


def _notebook() -> Diagnosis:
    if not jupyter.missing():
        return ok("notebook", f"JupyterLab {importlib.metadata.version('jupyterlab')}")
    return optional("notebook", "JupyterLab is not installed", jupyter.remedy())


def _settings(root: Root) -> Diagnosis:
    try:
        place = site_settings.read(root.path)
    except TitoError as error:
        return problem("settings", error.what, error.remedy)
    links = [f"{root.name} {root.edition}"]
    links += [f"the book is at {root.book}"] * bool(root.book)
    links += [f"Binder: {place.release}, branch {place.branch}"] * bool(place.release)
    return ok("settings", "; ".join(links))


def _sandbox() -> Iterator[Diagnosis]:
    """What grading can be isolated with."""
    if sys.platform != "linux":
        yield optional(
            "sandbox",
            f"none on {sys.platform}",
            "Grade a class on Linux; learning needs no sandbox.",
        )
        return
    if program := shutil.which("bwrap"):
        yield ok("bubblewrap", program)
    else:
        yield optional(
            "bubblewrap", "is not installed", "Only for instructors: apt install bubblewrap"
        )
    listed = Path("/sys/kernel/security/lsm")
    if listed.exists() and "landlock" in listed.read_text(encoding="utf-8"):
        yield ok("landlock", "is in this kernel")
    else:
        yield optional(
            "landlock",
            "is not reported by this kernel",
            "Only for instructors, where bubblewrap cannot run.",
        )
