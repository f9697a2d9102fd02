"""The lessons in the browser: JupyterLite below the book, with the learner's notebooks.

Python runs there as Pyodide. The site contains the packages that the lessons and notebooks need,
from an unpacked Pyodide distribution that the author provides, so that it loads nothing from other
hosts. It adds a wheel of tito and of the released lessons (see `tito/learn/browser.py`).
"""

import ast
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tito import files, programs
from tito.author import release, wheel
from tito.errors import MachineError, UsageError
from tito.learn import workspace
from tito.lesson import cells, course, notebook
from tito.lesson.course import PRISTINE, Entry, Root

# Packages that a notebook loads at its start, contained in Pyodide.
KERNEL = ("micropip", "ipython", "jedi", "packaging")
COMM = "comm"  # packages that it also loads, but Pyodide lacks: copied from tito's environment
CORE = ("pyodide.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
SETTINGS = "@jupyterlite/pyodide-kernel-extension:kernel"
EXTENSION = Path("share", "jupyter", "labextensions", "@jupyterlite", "pyodide-kernel-extension")
# Asks for pictures that only a Jupyter server has.
TAB_ICON = "@jupyter-notebook/notebook-extension:tab-icon"
APPS = ("lab", "notebooks", "tree")
WORK = "my_work.ipynb"  # exports the learner's work
MISSING = Path(__file__).with_name("python_missing.js")
# Files that could contain a solution by mistake; the other files come from other projects.
OURS = ("lite/files/", "lite/api/", "lite/static/pyodide/tinytorch")


@dataclass
class Runtime:
    """The parts of a Pyodide distribution that the site needs.

    packages  {name: what the list of the distribution says of it}
    imported  the libraries that the lessons export an import of
    """

    folder: Path
    info: dict[str, Any]
    packages: dict[str, dict[str, Any]]
    imported: list[str]

    @property
    def files(self) -> list[Path]:
        names = [name for name in CORE if name != "pyodide-lock.json"]
        names += [package["file_name"] for package in self.packages.values()]
        return [self.folder / name for name in names] + sorted(self.folder.glob("pyodide.asm.*js"))


def find_runtime(root: Root, folder: Path) -> Runtime:
    """The Runtime for a course's lessons, from an unpacked Pyodide distribution.

    Raises MachineError without JupyterLite, UsageError for a folder that some notebook could not
    run with.
    """
    for name in ("jupyterlite_core", "jupyterlite_pyodide_kernel", "jupyter_server"):
        if not importlib.util.find_spec(name):
            raise MachineError(
                f"The lessons in the browser are made with {name}, which is not installed here.",
                "`bin/setup lite` installs it.",
            )
    folder = Path(os.path.abspath(folder))
    for name in CORE:
        if not (folder / name).is_file():
            raise UsageError(f"{folder} is not a Pyodide distribution: it lacks {name}.", remedy())
    try:
        return _read_distribution(root, folder)
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{folder / 'pyodide-lock.json'} is not a file of Pyodide: "
            f"{type(error).__name__}: {error}.",
            remedy(),
        ) from None


def remedy() -> str:
    return f"Give an unpacked pyodide-{version()}.tar.bz2 of Pyodide's releases: --lite DIR"


def _read_distribution(root: Root, folder: Path) -> Runtime:
    lock = json.loads((folder / "pyodide-lock.json").read_text(encoding="utf-8"))
    if not lock["info"]["python"].startswith(f"{python()}."):
        raise UsageError(
            f"{folder} has Python {lock['info']['python']}; the notebooks need {python()}.",
            remedy(),
        )
    packages = by_name(lock)
    module_of = {module: name for name in packages for module in packages[name]["imports"]}
    needed = [*KERNEL, *(module_of.get(library, library) for library in libraries(root))]
    names = with_dependencies(packages, needed)
    for name in names:
        if name not in packages or not (folder / packages[name]["file_name"]).is_file():
            raise UsageError(f"{folder} lacks {name}, which the notebooks need.", remedy())
    chosen = {name: packages[name] | {"sha256": _sha256(folder, packages[name])} for name in names}
    return Runtime(folder, lock["info"], chosen, libraries(root, exported=True))


def _sha256(folder: Path, package: dict[str, Any]) -> str:
    """Of the file that is there: the author may have built a package anew."""
    return hashlib.sha256((folder / package["file_name"]).read_bytes()).hexdigest()


def version() -> str:
    """The version of Pyodide that the notebooks need."""
    from jupyterlite_pyodide_kernel.constants import PYODIDE_VERSION

    return PYODIDE_VERSION


def python() -> str:
    """The version of Python in it."""
    from jupyterlite_pyodide_kernel.constants import PYODIDE_PYTHON_VERSION

    return PYODIDE_PYTHON_VERSION


def libraries(root: Root, exported: bool = False) -> list[str]:
    """The libraries that the lessons import, neither Python's nor ours.

    exported  only those that the lessons export an import of
    """
    names: set[str] = set()
    for entry in root.lessons:
        source = entry.declared.source
        for cell in source.exported if exported else source.cells:
            if cell.kind == "code":
                for node in cells.tree_of(cells.comment_magics(cell.source)).body:
                    if isinstance(node, ast.Import):
                        names |= {alias.name.split(".")[0] for alias in node.names}
                    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                        names.add(node.module.split(".")[0])
    return sorted(names - set(sys.stdlib_module_names) - {root.package})


def by_name(lock: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """{name: what the list says of it} of a distribution's packages, by their normalized names."""
    return {_normalize(name): package for name, package in lock["packages"].items()}


def _normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def with_dependencies(packages: dict[str, dict[str, Any]], names: list[str]) -> list[str]:
    """The names of these packages and of all packages that they need."""
    selection: list[str] = []
    waiting = [_normalize(name) for name in names]
    while waiting:
        name = waiting.pop(0)
        if name not in selection:
            selection.append(name)
            waiting += map(_normalize, packages.get(name, {}).get("depends", ()))
    return selection


# The site.


def make(root: Root, work: Path, runtime: Runtime, place: Path) -> None:
    """Make the site of the lessons in the new folder `place`.

    Raises MachineError with JupyterLite's last output if it fails.
    """
    source = work / "source"
    shutil.rmtree(work, ignore_errors=True)
    for entry in root.lessons:
        path = source / "files" / entry.folder / entry.notebook.name
        _write(path, page(entry).encode("utf-8"))
    _write(source / "files" / WORK, my_work(root).encode("utf-8"))
    pyodide = source / "static" / "pyodide"
    for path in runtime.files:
        _write(pyodide / path.name, path.read_bytes())
    # What the package imports is loaded with it, the rest when a cell imports it.
    depends = [
        name
        for name, package in runtime.packages.items()
        if set(runtime.imported) & set(package["imports"])
    ]
    packages = runtime.packages | {
        COMM: _add_wheel(pyodide, installed_wheel(COMM), COMM, []),
        course.DISTRIBUTION: _add_wheel(pyodide, lessons_wheel(root), "tito", depends),
    }
    _write_json(pyodide / "pyodide-lock.json", {"info": runtime.info, "packages": packages})
    settings = {
        "jupyter-lite-schema-version": 0,
        "jupyter-config-data": {
            "appName": root.name,
            "disabledExtensions": [TAB_ICON],
            "litePluginSettings": {SETTINGS: {"disablePyPIFallback": True}},
        },
    }
    _write_json(source / "jupyter-lite.json", settings)
    _run_jupyterlite(source, work / "site")
    _report_missing_python(work / "site")
    os.replace(work / "site", place)
    shutil.rmtree(work)


def _report_missing_python(site: Path) -> None:
    """Give the pages the script that says when Python could not be loaded."""
    script = f"<script>\n{MISSING.read_text(encoding='utf-8')}</script>\n</head>"
    for path in site.glob("*/index.html"):
        text = path.read_text(encoding="utf-8").replace("</head>", script, 1)
        path.write_text(text, encoding="utf-8")


def _add_wheel(
    folder: Path, named_wheel: tuple[str, bytes], module: str, depends: list[str]
) -> dict[str, Any]:
    """Put a wheel beside Pyodide's.

    Returns its entry in their list: importing `module` in a cell loads it, and what it depends on.
    """
    file, data = named_wheel
    _write(folder / file, data)
    name, version = file.split("-")[:2]
    return {
        "name": name,
        "version": version,
        "file_name": file,
        "sha256": hashlib.sha256(data).hexdigest(),
        "install_dir": "site",
        "package_type": "package",
        "imports": [module],
        "depends": depends,
        "unvendored_tests": False,
    }


def page(entry: Entry) -> str:
    """A lesson's notebook as released, with cells for the browser at its start."""
    released = notebook.to_notebook(entry.declared.released, entry.declared)
    package = entry.root.package
    about = (
        "**In the browser.** What you write stays in this browser only, until its data are "
        "cleared; it is still there when you load the page again. To take it with you, run "
        f"[{WORK}](../{WORK}): it writes your work into a zip, which `tito restore` brings "
        f"into a workspace.\n\n`{package}` is made here from your own notebooks of the earlier "
        "lessons, as you saved them. Run the next cell first, and again when you have saved a "
        "change of one, or loaded the page again."
    )
    begin = "from tito.learn import browser\n\nbrowser.begin()"
    return _for_pyodide(notebook.with_start(released, [("markdown", about), ("code", begin)]))


def my_work(root: Root) -> str:
    """The notebook that exports what was done in the browser."""
    about = (
        "# Your work in this browser\n\n"
        f"`export_work` makes `my-{root.package}.zip` of the notebooks that you wrote in. In a "
        f"workspace, `tito restore my-{root.package}.zip` takes it."
    )
    rows = [
        ("markdown", about),
        ("code", "from tito.learn import browser\n\nbrowser.export_work()"),
    ]
    empty = json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    return _for_pyodide(notebook.with_start(empty, rows))


def _for_pyodide(text: str) -> str:
    """A notebook's text, with Pyodide as its kernel."""
    content = json.loads(text)
    content["metadata"]["kernelspec"] = {
        "name": "python",
        "display_name": "Python (Pyodide)",
        "language": "python",
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def lessons_wheel(root: Root) -> tuple[str, bytes]:
    """(file name, bytes) of a wheel of tito and the released lessons, scripts and notebooks."""
    contents = {
        name: data
        for name, data in workspace.contents(root).items()
        if name.startswith((f"{PRISTINE.as_posix()}/", "modules/source/", f"{root.package}/"))
    }
    for entry in root.lessons:
        text = notebook.to_notebook(entry.declared.released, entry.declared)
        contents[entry.relative(entry.notebook)] = text.encode("utf-8")
    return wheel.build(release.course_of_stubs(root, contents))


def installed_wheel(name: str) -> tuple[str, bytes]:
    """(file name, bytes) of a wheel of an installed library that consists of Python files only."""
    distribution = importlib.metadata.distribution(name)
    contents = {
        path.as_posix(): Path(str(distribution.locate_file(path))).read_bytes()
        for path in distribution.files or ()
        if ".." not in path.parts
        and "__pycache__" not in path.parts
        and path.name not in ("INSTALLER", "RECORD", "REQUESTED", "direct_url.json")
    }
    return f"{name}-{distribution.version}-py3-none-any.whl", files.archive(contents)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _write_json(path: Path, value: object) -> None:
    _write(path, json.dumps(value, indent=1).encode("utf-8"))


def _run_jupyterlite(source: Path, output: Path) -> None:
    """Run JupyterLite's build with the extension for Pyodide, and no other that is installed."""
    import jupyterlite_pyodide_kernel

    prefixes = [Path(sys.prefix), *Path(jupyterlite_pyodide_kernel.__file__).parents]
    extension = next(path / EXTENSION for path in prefixes if (path / EXTENSION).is_dir())
    command = [
        *(sys.executable, "-W", "ignore", "-m", "jupyterlite_core", "build"),
        "--ignore-sys-prefix",
        "--no-sourcemaps",
        "--no-unused-shared-packages",
        "--no-libarchive",
        *(f"--apps={name}" for name in APPS),
        "--lite-dir=.",
        "--contents=files",
        f"--output-dir={output}",
        f"--LiteBuildConfig.federated_extensions={[str(extension)]!r}",
    ]
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("JUPYTER", "PYTHON"))
    }
    environment["JUPYTER_NO_CONFIG"] = "1"
    done = programs.run(command, cwd=source, env=environment)
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-5:])
        raise MachineError(
            f"JupyterLite did not make its part of the book:\n{last}",
            "`bin/setup lite` installs the libraries that it needs.",
        )
