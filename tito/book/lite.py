"""The lessons in the browser: JupyterLite below the book, with the learner's notebooks.

The Python that runs them there is Pyodide, an unpacked distribution that somebody downloaded. What
the lessons and their notebooks need of it is copied, so that the site asks no other host, with a
wheel of tito and of the lessons as released beside it (see `tito/learn/browser.py`). What it lists
and lacks, NumPy perhaps, the reader's browser loads from an address, if tito.toml names one: then
Pyodide refuses any file whose hash is not the one in the list. Without an address, or without any
distribution, the notebooks say what is missing.
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
from dataclasses import dataclass, field
from pathlib import Path

from tito import files, programs
from tito.author import release, wheel
from tito.errors import MachineError, UsageError
from tito.learn import workspace
from tito.lesson import cells, course, notebook

KERNEL = (
    "micropip",
    "ipython",
    "jedi",
    "packaging",
)  # what a notebook's Python loads when it starts, and Pyodide has
TOO = "comm"  # and what it has not: taken from the environment that tito runs in
CORE = ("pyodide.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
SETTINGS = "@jupyterlite/pyodide-kernel-extension:kernel"
EXTENSION = Path("share", "jupyter", "labextensions", "@jupyterlite", "pyodide-kernel-extension")
# Asks for pictures that only a Jupyter server has.
TAB_ICON = "@jupyter-notebook/notebook-extension:tab-icon"
APPS = ("lab", "notebooks", "tree")
WORK = "my_work.ipynb"  # what has been done here, and how to take it away
OURS = (
    "lite/files/",
    "lite/api/",
    "lite/static/pyodide/tinytorch",
)  # what may not give anything away; the rest comes from others


@dataclass
class Runtime:
    """What is taken of a Pyodide distribution: files, and the packages as its lock file lists them.

    missing   libraries that the lessons import and it lacks
    imported  libraries that the lessons export an import of: the package cannot be without them
    address   where the browser loads what is listed and lacking; "" for nowhere
    loaded    the names of the packages that it loads from there
    """

    files: list = field(default_factory=list)
    packages: dict = field(default_factory=dict)
    info: dict = field(default_factory=dict)
    missing: list = field(default_factory=list)
    imported: list = field(default_factory=list)
    address: str = ""
    loaded: list = field(default_factory=list)


def runtime(root, folder, address=""):
    """The Runtime for a course's lessons in a Pyodide distribution; None for no folder.

    address  of a folder from which the browser may load the packages that are not in `folder`,
             as its list describes them

    Raises TitoError when no notebook could run with it.
    """
    for name in ("jupyterlite_core", "jupyterlite_pyodide_kernel", "jupyter_server"):
        if not importlib.util.find_spec(name):
            raise MachineError(
                f"The lessons in the browser are made with {name}, which is not installed here.",
                "`bin/setup lite` installs it.",
            )
    if folder is None:
        return None
    folder = Path(os.path.abspath(folder))
    remedy = (
        "Give the folder of a whole distribution, unpacked: "
        f"pyodide-{version()}.tar.bz2 of Pyodide's releases."
    )
    if lacking := [name for name in CORE if not (folder / name).is_file()]:
        raise UsageError(f"{folder} is no Pyodide distribution: there is no {lacking[0]}.", remedy)
    try:
        lock = json.loads((folder / "pyodide-lock.json").read_text(encoding="utf-8"))
        if not lock["info"]["python"].startswith(f"{python()}."):
            raise UsageError(
                f"{folder} holds Python {lock['info']['python']}; the "
                f"notebooks' Python is {python()}.",
                remedy,
            )
        packages = by_name(lock)

        def can_be_had(name):
            return _is_there(folder, packages, name) or (
                address and re.fullmatch("[0-9a-f]{64}", packages.get(name, {}).get("sha256", ""))
            )

        kernel = needed(packages, KERNEL)
        if lacking := [name for name in kernel if not can_be_had(name)]:
            raise UsageError(
                f"{folder} lacks {', '.join(lacking[:4])}{', ...' * (len(lacking) > 4)}: no "
                "notebook's Python starts without them.",
                remedy,
            )
        out = Runtime(
            [folder / name for name in CORE[:3]] + sorted(folder.glob("pyodide.asm.*js")),
            info=lock["info"],
            imported=libraries(root, exported=True),
            address=address,
        )
        selection = kernel
        for library in libraries(root):
            name = next(
                (name for name, package in packages.items() if library in package["imports"]),
                library,
            )
            also = needed(packages, [name])
            if all(map(can_be_had, also)):
                selection |= also
            else:
                out.missing.append(library)
        for name in selection:
            package = packages[name]
            if _is_there(folder, packages, name):
                digest = _sha256((folder / package["file_name"]).read_bytes())
                out.packages[name] = package | {"sha256": digest}
            else:
                out.packages[name] = package | {"file_name": address + package["file_name"]}
                out.loaded.append(name)
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{folder / 'pyodide-lock.json'} is not what Pyodide writes: "
            f"{type(error).__name__}: {error}.",
            remedy,
        ) from None
    out.files += [
        folder / package["file_name"]
        for name, package in out.packages.items()
        if name not in out.loaded
    ]
    return out


def version():
    """The version of Pyodide that the notebooks' Python was made for."""
    from jupyterlite_pyodide_kernel.constants import PYODIDE_VERSION

    return PYODIDE_VERSION


def python():
    """The version of Python that this is."""
    from jupyterlite_pyodide_kernel.constants import PYODIDE_PYTHON_VERSION

    return PYODIDE_PYTHON_VERSION


def libraries(root, exported=False):
    """The libraries that the lessons cannot do without, or what they export: imported in a line of
    its own, neither Python's nor ours.
    """
    names = set()
    for entry in root.lessons:
        source = entry.declared.source
        for cell in source.exported if exported else source.cells:
            if cell.kind == "code":
                for node in cells.tree_of(cells.comment_magics(cell.source)).body:
                    if isinstance(node, ast.Import):
                        names |= {alias.name.split(".")[0] for alias in node.names}
                    elif isinstance(node, ast.ImportFrom) and not node.level:
                        names.add(node.module.split(".")[0])
    return sorted(names - set(sys.stdlib_module_names) - {root.package})


def by_name(lock):
    """{name: what the list says of it} of a distribution's packages, names
    written in the one plain way.
    """
    return {_plain(name): package for name, package in lock["packages"].items()}


def _plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(packages, names):
    """Those packages, and all that they need, {name: None} in order."""
    selection, waiting = {}, [_plain(name) for name in names]
    while waiting:
        name = waiting.pop(0)
        if name not in selection:
            selection[name] = None
            waiting += [
                _plain(dependency) for dependency in packages.get(name, {}).get("depends", ())
            ]
    return selection


def _is_there(folder, packages, name):
    return name in packages and (folder / packages[name]["file_name"]).is_file()


def _sha256(data):
    return hashlib.sha256(data).hexdigest()


# What the site holds.


def make(root, work, runtime, place):
    """Make the site of the lessons in the new folder `place`, with this Runtime
    or, for None, without a Python.

    Raises MachineError with JupyterLite's last words when it fails.
    """
    source = work / "given"
    shutil.rmtree(work, ignore_errors=True)
    for entry in root.lessons:
        _write(
            source / "files" / entry.folder / entry.notebook.name,
            page(entry, runtime).encode("utf-8"),
        )
    if runtime:
        _write(source / "files" / WORK, my_work(root).encode("utf-8"))
    settings = {
        "jupyter-lite-schema-version": 0,
        "jupyter-config-data": {"appName": root.name, "disabledExtensions": [TAB_ICON]},
    }
    if runtime:
        settings["jupyter-config-data"]["litePluginSettings"] = {
            SETTINGS: {"disablePyPIFallback": True}
        }
        for path in runtime.files:
            _write(source / "static" / "pyodide" / path.name, path.read_bytes())
        # What the package imports is loaded with it, the rest when a cell asks for it.
        depends = [
            name
            for name, package in runtime.packages.items()
            if set(runtime.imported) & set(package["imports"])
        ]
        packages = runtime.packages | {
            TOO: _added(source, *installed(TOO), TOO, TOO, []),
            course.DISTRIBUTION: _added(
                source, *lessons(root), course.DISTRIBUTION, "tito", depends
            ),
        }
        _write(
            source / "static" / "pyodide" / "pyodide-lock.json",
            json.dumps({"info": runtime.info, "packages": packages}, indent=1).encode(),
        )
    _write(source / "jupyter-lite.json", json.dumps(settings, indent=1).encode())
    _jupyterlite(source, work / "made", with_kernel=bool(runtime))
    os.replace(work / "made", place)
    shutil.rmtree(work)


def _added(source, file, data, name, module, depends):
    """Put a wheel beside Pyodide's.

    Returns what its list says of it: importing `module` in a cell loads it, and what it depends on.
    """
    _write(source / "static" / "pyodide" / file, data)
    return {
        "name": name,
        "version": file.split("-")[1],
        "file_name": file,
        "sha256": _sha256(data),
        "install_dir": "site",
        "package_type": "package",
        "imports": [module],
        "depends": depends,
        "unvendored_tests": False,
    }


def page(entry, runtime):
    """A lesson's notebook, as text: as released, with what is
    particular to the browser before it.
    """
    book = notebook.to_notebook(entry.declared.released, entry.declared)
    rows = [("markdown", words(entry, runtime))]
    if runtime:
        libraries = ", ".join(map(repr, runtime.imported))
        rows.append(("code", f"from tito.learn import browser\n\nbrowser.begin({libraries})"))
    return _for_pyodide(notebook.with_start(book, rows), runtime)


def my_work(root):
    """The notebook that says what was done in the browser, and packs it."""
    rows = [
        (
            "markdown",
            "# Your work in this browser\n\n"
            f"`export_work` makes `my-{root.package}.zip` of the notebooks that you wrote in. In a "
            f"workspace, `tito restore my-{root.package}.zip` takes it.",
        ),
        ("code", "from tito.learn import browser\n\nbrowser.progress()"),
        ("code", "browser.export_work()"),
    ]
    empty = json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    return _for_pyodide(notebook.with_start(empty, rows), True)


def _for_pyodide(text, runtime):
    """A notebook's text, to be run by Pyodide where there is one."""
    if not runtime:
        return text
    book = json.loads(text)
    book["metadata"]["kernelspec"] = {
        "name": "python",
        "display_name": "Python (Pyodide)",
        "language": "python",
    }
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


def words(entry, runtime):
    """What a reader should know of a notebook in the browser."""
    without = "You can read and write, and run the lesson in a workspace."
    folder = entry.relative(entry.notebook.parent)
    keep = (
        "**In the browser.** What you write stays in this browser only, until its data are "
        "cleared; it is still there when you load the page again. "
    )
    if not runtime:
        return (
            f"{keep}*File > Download* takes the notebook away. Put into `{folder}/` of a "
            f"workspace, it is yours there after `tito notebook {entry.name} --keep notebook`.\n"
            "\n"
            f"**No Python is at hand here**, and no NumPy: this site was made without Pyodide, "
            f"so JupyterLite has no kernel to choose. {without}"
        )
    take = (
        f"To take it with you, run [{WORK}](../{WORK}): it makes a zip of all that you wrote, "
        "which `tito restore` brings into a workspace."
    )
    run = (
        f"`{entry.root.package}` is made here from your own notebooks of the earlier "
        "lessons, as you saved them. Run the next cell first, and again when you "
        "have saved a change of one, or loaded the page again."
    )
    parts = [f"{keep}{take}", run]
    if runtime.loaded:
        parts.append(
            f"{said(runtime.loaded, 'is loaded', 'are loaded')} from <{runtime.address}> when a "
            "cell needs it, and refused if the hash is not the one that this site lists."
        )
    if runtime.missing:
        parts.append(
            f"**{said(runtime.missing)} not at hand here**, so not every cell runs. {without}"
        )
    return "\n\n".join(parts)


def button(runtime):
    """What a link to a lesson in the browser says: without a Python one reads and writes there."""
    runs = runtime and not set(runtime.missing) & set(runtime.imported)
    return "Try it in the browser" if runs else "Open it in the browser"


def warning(runtime):
    """What the author should know of the site: its lessons in the browser run, or what is not
    at hand; nothing when all is.
    """
    if not runtime:
        return (
            "No Python is at hand for the lessons in the browser, and no NumPy: they can be read "
            "and written there, not run. --pyodide gives it."
        )
    return (
        f"{said(runtime.missing)} not at hand for the lessons in the browser: not every cell runs "
        "there, and the notebooks say so."
        if runtime.missing
        else ""
    )


def said(libraries, one="is", more="are"):
    """Libraries in words, with their verb: "NumPy is", "NumPy and matplotlib are"."""
    names = [{"numpy": "NumPy"}.get(name, name) for name in libraries]
    return (
        f"{' and '.join(filter(None, [', '.join(names[:-1]), names[-1]]))} "
        f"{more if len(names) > 1 else one}"
    )


def lessons(root):
    """(file name, bytes) of a wheel of tito and of the lessons as released,
    as scripts and as notebooks.
    """
    contents = {
        name: data
        for name, data in workspace.contents(root).items()
        if name.startswith(("modules/source/", f"{root.package}/"))
    }
    contents |= {
        entry.relative(entry.notebook): notebook.to_notebook(
            entry.declared.released, entry.declared
        ).encode("utf-8")
        for entry in root.lessons
    }
    name, data = wheel.build("lite", release.course_of_stubs(root, contents))
    return name.replace("+lite", ""), data  # some hosts of sites take a + for a space


def installed(name):
    """(file name, bytes) of a wheel of a library of this environment that is nothing but Python."""
    distribution = importlib.metadata.distribution(name)
    contents = {
        path.as_posix(): Path(distribution.locate_file(path)).read_bytes()
        for path in distribution.files
        if ".." not in path.parts
        and "__pycache__" not in path.parts
        and path.name not in ("INSTALLER", "RECORD", "REQUESTED", "direct_url.json")
    }
    return f"{name}-{distribution.version}-py3-none-any.whl", files.archive(contents)


def _write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _jupyterlite(source, output, with_kernel):
    """Run JupyterLite's own build, without any extension that happens to be installed."""
    import jupyterlite_pyodide_kernel

    extension = (
        next(
            (
                folder
                for folder in (Path(sys.prefix), *Path(jupyterlite_pyodide_kernel.__file__).parents)
                if (folder / EXTENSION).is_dir()
            ),
            Path(sys.prefix),
        )
        / EXTENSION
    )
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "jupyterlite_core",
        "build",
        "--ignore-sys-prefix",
        "--no-sourcemaps",
        "--no-unused-shared-packages",
        "--no-libarchive",
        *(f"--apps={name}" for name in APPS),
        "--lite-dir=.",
        "--contents=files",
        f"--output-dir={output}",
    ]
    if with_kernel:
        command.append(f"--LiteBuildConfig.federated_extensions={[str(extension)]!r}")
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("JUPYTER", "PYTHON"))
    } | {"JUPYTER_NO_CONFIG": "1"}
    ran = programs.run(command, cwd=source, env=environment)
    if ran.returncode:
        last = "\n".join((ran.stdout + ran.stderr).strip().splitlines()[-5:])
        raise MachineError(
            f"JupyterLite did not make its part of the book:\n{last}",
            "`bin/setup lite` installs the libraries that it needs.",
        )
