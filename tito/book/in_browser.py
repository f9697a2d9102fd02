"""What a lesson's page needs so that its exercises can be done on the page, in the browser.

    _static/browser/descent.zip   a workspace with this lesson alone, the checks' runner, and the
                                  two programs of `book/browser`
    _static/browser/descent.json  the released code of its exercises
    _static/browser/pyodide       Python as WebAssembly, of the same site

A lesson that says `in_browser = true` is plain Python without NumPy. `try.js` loads these files
at a click on "Try it here", and not before.
"""

import base64
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from tito import files
from tito.errors import MachineError
from tito.learn import workspace as learners_workspace
from tito.lesson import cells
from tito.lesson.course import DISTRIBUTION, Entry, Root, version

PYODIDE = "pyodide", "314.0.7"  # a package of npm, and its version
SHA512 = "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
PARTS = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "pyodide-lock.json",
    "python_stdlib.zip",
)
FOLDER = "_static/browser"
OWN = "book/browser"  # the course's programs for it
SCRIPTS = ("try.js", "try.css", "worker.js", "codemirror.js")  # of them, for the page
SCRIPT = '<script type="module" src="../../_static/browser/try.js" data-lesson="{}"></script>'
TITO = Path(__file__).parents[1]
# What of tito runs the checks; nothing of it needs more than Python.
RUNNER = ("*.py", "lesson/*.py", "learn/[!_]*.py", "learn/__init__.py")


def lessons(root: Root) -> list[Entry]:
    """The lessons that can be done in a browser."""
    return [entry for entry in root.lessons if entry.declared.meta.get("in_browser")]


def contents(root: Root, kept: Path) -> dict[str, bytes]:
    """{path in the site: content} of these files; empty for a course without such a lesson.

    kept  the folder where Pyodide is kept between builds

    Raises MachineError when Pyodide is not there and cannot be downloaded.
    """
    found: dict[str, bytes] = {}
    for entry in lessons(root):
        workspace = workspace_of(root, entry)
        script = workspace[entry.relative(entry.script)]
        exercises = {
            cell.exercise: {"code": cell.source, "line": cell.line}
            for cell in cells.parse(entry.script, script.decode("utf-8")).cells
            if cell.exercise
        }
        about = {"course": root.name, "edition": root.edition, "exercises": exercises}
        found[f"{entry.name}.zip"] = files.archive(workspace, zipfile.ZIP_DEFLATED)
        found[f"{entry.name}.json"] = json.dumps(about).encode("utf-8")
    if found:
        found |= {name: (root.path / OWN / name).read_bytes() for name in SCRIPTS}
        found |= {f"pyodide/{name}": data for name, data in pyodide(kept).items()}
    return {f"{FOLDER}/{name}": data for name, data in found.items()}


def workspace_of(root: Root, entry: Entry) -> dict[str, bytes]:
    """{path: content} of a workspace as `tito init` makes it, with this lesson alone, and of the
    Python files that run it.
    """
    released = learners_workspace.contents(root.on_tracks(list(root.all_tracks)[:1]))
    return dict(_programs(root)) | {
        name: data
        for name, data in released.items()
        if name == "tito.toml" or f"/{entry.folder}/" in name
    }


def _programs(root: Root) -> Iterator[tuple[str, bytes]]:
    """(path, content) of the Python files: the checks' runner, and what draws."""
    for pattern in RUNNER:
        for path in TITO.glob(pattern):
            yield f"tito/{path.relative_to(TITO).as_posix()}", path.read_bytes()
    package = root.path / root.package
    for part in ("pictures", "support"):
        for path in (package / part).glob("*.py"):
            yield f"{root.package}/{part}/{path.name}", path.read_bytes()
    yield f"{root.package}/__init__.py", b""  # the package's own would import every lesson
    yield f"{root.package}/pictures/drawing.py", (root.path / OWN / "drawing.py").read_bytes()
    about = f"Metadata-Version: 2.1\nName: {DISTRIBUTION}\nVersion: {version()}\n"
    yield f"{DISTRIBUTION}-{version()}.dist-info/METADATA", about.encode("utf-8")
    yield "run.py", (root.path / OWN / "run.py").read_bytes()


def pyodide(kept: Path) -> dict[str, bytes]:
    """{name: content} of Pyodide's files, which npm downloads once. Raises MachineError."""
    name, number = PYODIDE
    archive = kept / f"{name}-{number}.tgz"
    if not archive.exists() or _sha512(archive.read_bytes()) != SHA512:
        kept.mkdir(parents=True, exist_ok=True)
        words = [shutil.which("npm") or "npm", "pack", f"{name}@{number}"]
        try:
            subprocess.run(words, cwd=kept, check=True, capture_output=True, timeout=120)
        except (OSError, subprocess.SubprocessError) as error:
            raise MachineError(
                f"Python for the browser, {name} {number}, was not downloaded: {error}",
                "It needs npm and a connection, and is kept for the next build.",
            ) from None
    data = archive.read_bytes()
    if _sha512(data) != SHA512:
        raise MachineError(f"{archive} is not the file that was expected.", "Delete it.")
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        members = {name: tar.extractfile(f"package/{name}") for name in PARTS}
        return {name: member.read() for name, member in members.items() if member}


def _sha512(data: bytes) -> str:
    return base64.b64encode(hashlib.sha512(data).digest()).decode("ascii")
