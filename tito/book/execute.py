"""What a lesson's cells print and draw: run once with the course's own solutions, and kept.

What is kept is found again by a hash of the cells, of the lower lessons and of the libraries whose results are shown, so
a changed lesson is run anew, and so are the later ones, which import it.
"""

import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version

from tito import cells, export, files
from tito.errors import TitoError
from tito.lesson import is_hidden

SECONDS = 300  # a cell may take
PICTURES = ("image/png", "image/svg+xml", "image/jpeg")
LIBRARIES = ("numpy", "matplotlib", "ipykernel")
# Pictures twice as fine as the page shows them, for screens that are. What a kernel calls its cells is no place a reader could open.
FIRST = "%config InlineBackend.figure_formats = ['retina']"
CELL_FILE = re.compile(r"\S*ipykernel_\d+\S*\.py")


def outputs(root, scratch, package, kept, told=lambda name, done, of: None):
    """{lesson's name: {number of a cell: its outputs, as in a notebook}} of every lesson of a course.

    scratch  the folder that holds the course's package, which the lessons import
    package  what `package` returned for it
    kept     a folder where outputs are kept between runs; what this run did not use is deleted there
    told     is called with each lesson that was run, how many are done, and of how many

    Raises TitoError, code 1, for a cell that fails and for a picture without alt text, with its place.
    """
    kept.mkdir(parents=True, exist_ok=True)
    places = {entry: kept / f"{entry.name}-{_key(entry, package)[:16]}.json" for entry in root.lessons}
    with _no_interference(), ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        waiting = [entry for entry in root.lessons if not places[entry].exists()]
        for done, entry in enumerate(pool.map(lambda one: (_run(one, scratch, places[one]), one)[1], waiting), 1):
            told(entry.name, done, len(waiting))
    for path in kept.glob("*.json"):
        if path not in places.values():
            path.unlink()
    found = {entry.name: {int(number): shown for number, shown in json.loads(path.read_text(encoding="utf-8")).items()} for entry, path in places.items()}
    if wrong := [problem for entry in root.lessons for problem in _about_pictures(entry, found[entry.name])]:
        raise TitoError("\n".join(wrong), 'Say what the picture shows, in the line above the cell: # %% alt="Loss against step: it falls from 0.7 to 0.1"', 1)
    return found


def package(root, scratch):
    """Write the package, with every solution, into `scratch`. Returns {path in it: bytes}, lessons' own modules as they are now."""
    source = root.path / root.package
    held = {path.relative_to(root.path).as_posix(): path.read_bytes() for path in sorted(source.rglob("*"))
            if path.is_file() and path.suffix not in (".pyc", files.SUFFIX) and "__pycache__" not in path.parts} if source.is_dir() else {}
    for entry in root.lessons:
        held[entry.relative(entry.module_path)] = export.current(entry, entry.declared.source).text.encode("utf-8")
    held["tito.toml"] = (root.path / "tito.toml").read_bytes()
    for name, data in held.items():
        path = scratch / name
        if not path.exists() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    return held


def _key(entry, package):
    """A hash of all that decides what the lesson's cells print."""
    modules = {one.relative(one.module_path): one.number for one in entry.root.lessons}
    found = hashlib.sha256(json.dumps([FIRST, sys.version, *(version(name) for name in LIBRARIES)]).encode())
    for name, data in sorted(package.items()):
        if modules.get(name, 0) < entry.number:  # a lesson uses only lower ones, and what belongs to none
            found.update(name.encode() + b"\0" + data)
    for cell in _cells(entry):
        found.update(json.dumps([cell.number, cell.source]).encode())
    return found.hexdigest()


def _cells(entry):
    """What is run of a lesson: all that a learner could run. Hidden checks may use helpers that stand below them; `tito check` runs those."""
    return [cell for cell in entry.declared.source.cells if cell.kind == "code" and not is_hidden(cell)]


@contextlib.contextmanager
def _no_interference():
    """Without what a caller's environment would tell the kernels."""
    told = {name: os.environ.pop(name) for name in ("MPLBACKEND", "PYTHONSTARTUP", "PYTHONWARNINGS") if name in os.environ}
    try:
        yield
    finally:
        os.environ |= told


def _run(entry, scratch, place):
    """Run the lesson's cells, top to bottom, in a kernel of its own, and keep what they showed."""
    import nbclient
    import nbformat
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    class ThisPython(KernelSpecManager):
        """The kernel of the environment that tito runs in, whatever other kernels somebody has registered as python3."""

        def get_kernel_spec(self, kernel_name):
            return KernelSpec(argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"], display_name="Python", language="python")

    code = _cells(entry)
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in (FIRST, *(cells.uncomment_magics(c.source) for c in code))])
    manager = AsyncKernelManager(kernel_spec_manager=ThisPython(), kernel_name="python3")
    client = nbclient.NotebookClient(book, km=manager, timeout=SECONDS, store_widget_state=False)
    try:
        client.execute(cwd=str(scratch), stderr=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": str(scratch), "PYTHONDONTWRITEBYTECODE": "1"})
    except nbclient.exceptions.CellExecutionError as error:
        failed = next(n for n, cell in enumerate(book.cells) if any(o.output_type == "error" for o in cell.get("outputs", [])))
        raise TitoError(f"{place_of(entry, code[failed - 1])}: this cell fails: {error.ename}: {error.evalue}",
                        f"`tito check {entry.name}` says more. Mend the cell, then build the book again.", 1) from None
    except (nbclient.exceptions.DeadKernelError, nbclient.exceptions.CellTimeoutError) as error:
        raise TitoError(f"{entry.relative(entry.script)}: its kernel did not get to the end: {type(error).__name__}.",
                        f"Run the file with Python; a cell may take {SECONDS} s.", 1) from None
    shown = {cell.number: [_plain(output) for output in ran.outputs] for cell, ran in zip(code, book.cells[1:]) if ran.outputs}
    files.write(place, json.dumps(shown, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def _plain(output):
    """An output without what differs from run to run, and without a picture's name in words such as `<Figure size ...>`."""
    output = json.loads(json.dumps(output))
    data = output.get("data", {})
    if any(kind in data for kind in PICTURES):
        data.pop("text/plain", None)
    if "execution_count" in output:
        output["execution_count"] = None
    if output["output_type"] == "stream":
        output["text"] = CELL_FILE.sub("cell", output["text"])
    return output


def pictures(shown):
    """How many pictures a cell's outputs hold."""
    return sum(any(kind in output.get("data", {}) for kind in PICTURES) for output in shown)


def _about_pictures(entry, found):
    """What is wrong with the pictures a lesson draws, as sentences."""
    for cell in entry.declared.source.cells:
        drawn, alt = pictures(found.get(cell.number, [])), cell.metadata.get("alt")
        if drawn and not (isinstance(alt, str) and alt.strip()):
            yield f"{place_of(entry, cell)}: this cell draws a picture and has no alt text."
        elif drawn > 1:
            yield f"{place_of(entry, cell)}: this cell draws {drawn} pictures, and one alt text serves one: give each a cell of its own."


def place_of(entry, cell):
    """The cell's place as an author finds it: modules/source/01_tensor/tensor_dev.py:12."""
    return f"{entry.relative(entry.script)}:{cell.line}"
