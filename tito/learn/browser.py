"""A lesson's notebook in the browser, where the package is made from the learner's own notebooks.

`tito book build --lite` puts tito and the lessons, without solutions, into the Python of its site.
The first cell of each notebook calls `begin`. After that, importing a lesson reads its notebook
from the browser's storage and exports it as `tito export` does. `export_work` zips the learner's
work for `tito restore`.
"""

import base64
import importlib
import json
import sys
import threading
import zipfile
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from tito import files, import_hook
from tito.errors import TitoError, WorkError
from tito.learn import check_builtin, manifest
from tito.lesson import cells, course, export
from tito.lesson.course import Entry, Root

# Where JupyterLite shows a notebook's Python the files that the browser keeps.
DRIVE = Path("/drive")

# Names of threads that code tried to start; Python in a browser has no threads.
missed: list[str] = []


class Browser:
    """The browser in which `check` runs.

    root, drive  the folders of the course that came with tito, and of the learner's notebooks
    """

    def __init__(self, root: Path, drive: Path) -> None:
        self.root, self.drive = root, drive

    def missed_threads(self) -> bool:
        """Whether code tried to start a thread since the last call."""
        any_missed = bool(missed)
        missed.clear()
        return any_missed


def begin(drive: Path = DRIVE, inside: bool = sys.platform == "emscripten") -> None:
    """Let the package be made from the notebooks below `drive`.

    Called again, what they hold by then counts.

    inside  whether this Python runs in a browser; anywhere else nothing happens: there,
            `tito export` makes the package
    """
    if not inside:
        return
    root = course.installed_course()
    import_hook.install(str(root.path))
    check_builtin.install()
    setattr(check_builtin, "browser", Browser(root.path, drive))
    if threading.Thread.start is not _start:
        setattr(threading.Thread, "start", _start)
    sys.meta_path[:] = [
        Notebooks(root, drive),
        *(other for other in sys.meta_path if not isinstance(other, Notebooks)),
    ]
    for name in [name for name in sys.modules if name.split(".")[0] == root.package]:
        del sys.modules[name]


def _start(
    thread: threading.Thread,
    start: Callable[[threading.Thread], None] = threading.Thread.start,
) -> None:
    try:
        start(thread)
    except RuntimeError:
        missed.append(thread.name)
        raise RuntimeError(
            "Python in a browser has no threads, so this does not run here: run it in a workspace"
        ) from None


# How to take away what was done.


def _drive() -> Path:
    """The folder of the learner's notebooks."""
    browser: Browser | None = check_builtin.browser
    return browser.drive if browser else DRIVE


def _is_begun(entry: Entry, drive: Path) -> bool:
    """Whether the learner wrote in the notebook that the browser keeps of a lesson."""
    path = _notebook(entry, drive)
    try:
        mine, released = (
            [(cell.kind, cell.source) for cell in cells.read(file).cells if cell.source]
            for file in (path, entry.notebook)
        )
    except TitoError:
        return path.is_file()  # damaged, so it was edited
    return mine != released


def _notebook(entry: Entry, drive: Path) -> Path:
    return drive / entry.folder / entry.notebook.name


def export_work() -> None:
    """Zip the notebooks that the learner wrote in, and show a link that downloads it.

    `tito restore` takes it, in a workspace.
    """
    drive, root = _drive(), course.installed_course()
    begun = [entry for entry in root.lessons if _is_begun(entry, drive)]
    if not begun:
        print("No lesson has been begun here, so there is nothing to export.")
        return
    contents = {
        entry.relative(entry.notebook): _as_at_home(
            _notebook(entry, drive).read_bytes(), entry.notebook
        )
        for entry in begun
    }
    contents[manifest.NAME] = manifest.write(root, contents)
    data = files.archive(contents, zipfile.ZIP_DEFLATED)
    name = f"my-{root.package}.zip"
    (drive / name).write_bytes(data)
    print(
        f"{name} holds {', '.join(entry.name for entry in begun)}. Download it, then in a "
        f"workspace: tito restore {name}"
    )
    try:
        from IPython.display import HTML, display
    except ImportError:
        return  # then it is in the list of files only
    address = f"data:application/zip;base64,{base64.b64encode(data).decode()}"
    display(HTML(f'<a download="{name}" href="{address}">Download {name}</a>'))


def _as_at_home(data: bytes, released: Path) -> bytes:
    """A notebook's bytes without what it has for the browser only: its first cells, its kernel."""
    try:
        book = json.loads(data.decode("utf-8"))
        book["cells"] = [
            cell
            for cell in book["cells"]
            if not cells.is_made(cell["metadata"], "".join(cell["source"]), (cells.START,))
        ]
        kernel = json.loads(released.read_bytes())["metadata"]["kernelspec"]
        book["metadata"]["kernelspec"] = kernel
    except (ValueError, KeyError, TypeError):
        return data  # damaged: as it is
    return (json.dumps(book, indent=1, ensure_ascii=False) + "\n").encode("utf-8")


# The package.


class Notebooks:
    """Exports a lesson's notebook at the moment in which its module is imported; finding
    the module is left to others.
    """

    def __init__(self, root: Root, drive: Path) -> None:
        self.root, self.drive = root, drive
        self.entries = {f"{root.package}.core.{entry.name}": entry for entry in root.lessons}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if entry := self.entries.get(name):
            try:
                export.write_module(entry, self.exported(entry))
            except TitoError as error:
                raise ImportError(f"{error.what} {error.remedy}", name=name) from None
            importlib.invalidate_caches()
        return None

    def exported(self, entry: Entry) -> export.ExportedModule:
        """The module of a lesson, from its notebook.

        Raises TitoError with the notebook's own line.
        """
        path = self.drive / entry.folder / entry.notebook.name
        if not path.is_file():
            raise WorkError(
                f"Your notebook {entry.folder}/{path.name} cannot be read from here.",
                "Just after the first visit, run the cell again. Is the notebook there, in the "
                "list of files? A private window, or a browser that blocks service workers, "
                "keeps it from other notebooks.",
            )
        source = cells.read(path)
        source.path = path.relative_to(self.drive)
        return export.build(source, entry.declared, source.path.as_posix(), self.root.package)
