"""What a lesson's cells print and draw, and what a milestone measures: run once with the
course's own solutions, and kept.

What is kept is found again by a hash of the cells, of the lower lessons and of the libraries whose
results are shown, so a changed lesson is run anew, and so are the later ones, which import it; a
milestone by its program and the lessons it needs.
"""

import base64
import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import version

from tito import files, programs
from tito.errors import WorkError
from tito.learn import milestone
from tito.learn.process import ONE_THREAD
from tito.lesson import cells, course, export

SECONDS = 300  # a cell may take
PICTURES = ("image/png", "image/svg+xml", "image/jpeg")
LIBRARIES = ("numpy", "matplotlib", "ipykernel")
# Pictures twice as fine as the page shows them, for screens that are. What a kernel calls its cells
# is no place a reader could open.
FIRST = "%config InlineBackend.figure_formats = ['retina']"
PLACE = re.compile(
    r"<[\w.]+(?: object)? at 0x[0-9a-f]+>"
)  # what Python calls a thing that has no better name: nothing to read
CELL_FILE = re.compile(r"\S*ipykernel_\d+\S*\.py")


def outputs(root, scratch, package, cache, report=lambda name, done, of: None):
    """{page: what is shown there} of every lesson and every milestone of a course, pages
    such as "lessons/01_tensor".

    Of a lesson, that is {number of a cell, as a string: its outputs, as in a notebook}; of a
    milestone {"measured": [[name, number], ...], "printed": outputs, "drawn": outputs}.

    scratch  the folder that holds the course's package, which the lessons import
    package  what `package` returned for it
    cache    a folder where outputs are kept between runs; what this run
             did not use is deleted there
    report   is called with the name of each that was run, how many are done, and of how many

    Raises WorkError for a cell that fails, a milestone that misses its bar and a picture
    without alt text, with its place.
    """
    cache.mkdir(parents=True, exist_ok=True)
    programs = milestone.milestones(root)
    jobs = {
        f"milestones/{program.path.stem}": (
            program.name,
            _key_of_milestone(root, program, package),
            partial(_run_milestone, root, program, scratch),
        )
        for program in reversed(programs)
    }  # first, and the last of them before the others: it takes longest
    later = [f"milestones/{program.path.stem}" for program in programs if program.after]
    jobs |= {
        f"lessons/{entry.folder}": (entry.name, _key(entry, package), partial(_run, entry, scratch))
        for entry in root.lessons
    }
    jobs |= {page: jobs.pop(page) for page in later}  # when what they use is there
    places = {page: cache / f"{name}-{key[:16]}.json" for page, (name, key, run) in jobs.items()}

    def run(page):
        files.write(
            places[page],
            json.dumps(jobs[page][2](), indent=1, sort_keys=True, ensure_ascii=False) + "\n",
        )
        return jobs[page][0]

    waiting = [page for page, path in places.items() if not path.exists()]
    with _no_interference(), ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        for done, name in enumerate(pool.map(run, waiting), 1):
            report(name, done, len(waiting))
    for path in cache.glob("*.json"):
        if path not in places.values():
            path.unlink()
    results = {page: json.loads(path.read_text(encoding="utf-8")) for page, path in places.items()}
    if wrong := [
        problem
        for entry in root.lessons
        for problem in _about_pictures(entry, results[f"lessons/{entry.folder}"])
    ]:
        raise WorkError(
            "\n".join(wrong),
            "Say what the picture shows, in a comment: plt.show()  # alt: the "
            "loss falls from 0.7 to 0.1",
        )
    if wrong := [
        program
        for program in programs
        if results[f"milestones/{program.path.stem}"]["drawn"] and not program.alt
    ]:
        raise WorkError(
            "\n".join(
                f"{place_of_milestone(program)}: this milestone draws a picture "
                "and has no alt text."
                for program in wrong
            ),
            'Say what the picture shows, in the block at its top: # alt = "Loss against epoch: '
            'it falls from 0.7 to 0.1"',
        )
    return results


def package(root, scratch):
    """Write the package, with every solution, into `scratch`.

    Returns {path in it: bytes}, lessons' own modules as they are now.
    """
    source = root.path / root.package
    contents = (
        {
            path.relative_to(root.path).as_posix(): path.read_bytes()
            for path in sorted(source.rglob("*"))
            if path.is_file()
            and path.suffix not in (".pyc", files.SUFFIX)
            and "__pycache__" not in path.parts
        }
        if source.is_dir()
        else {}
    )
    for entry in root.lessons:
        contents[entry.relative(entry.module_path)] = export.current(
            entry, entry.declared.source
        ).text.encode("utf-8")
    contents["tito.toml"] = (root.path / "tito.toml").read_bytes()
    for name, data in contents.items():
        path = scratch / name
        if not path.exists() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    return contents


def output_of(program, package, purpose):
    """What a program of the course prints: a file, or a folder with a `__main__.py`, in book/.

    package  the folder with the course's package, which the program can import
    purpose  a sentence about it, for the error when it fails
    """
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    process = programs.run(
        [sys.executable, "-B", "-X", "utf8", str(program)],
        env=ONE_THREAD | environment | {"PYTHONPATH": str(package)},
        cwd=package,
    )
    if process.returncode:
        last = (process.stderr.strip().splitlines() or ["it printed nothing about why"])[-1]
        raise WorkError(
            f"book/{program.name} fails: {last}",
            f"{purpose}: mend it, or what it reads.",
        )
    return process.stdout.strip()


def _key(entry, package):
    """A hash of all that decides what the lesson's cells print."""
    lower = {
        lower_entry.name for lower_entry in entry.root.lessons if lower_entry.number < entry.number
    }
    return _hash(
        [FIRST, *([cell.number, cell.source] for cell in _cells(entry))],
        _package_of(entry.root, package, lower),
    )


def _key_of_milestone(root, entry, package):
    """A hash of all that decides what a milestone measures: what lies
    beside it, too, may be imported.
    """
    programs = {entry.path} | set(entry.path.parent.glob("*.py")) - {
        other.path for other in milestone.milestones(root)
    }
    return _hash(
        [],
        _package_of(root, package, entry.needs)
        | {path.name: path.read_bytes() for path in programs},
    )


def _package_of(root, package, used):
    """The package's files that belong to no lesson, or to one of those named."""
    excluded = {
        entry.relative(entry.module_path) for entry in root.lessons if entry.name not in used
    }
    return {name: data for name, data in package.items() if name not in excluded}


def _hash(values, contents):
    digest = hashlib.sha256(
        json.dumps([values, sys.version, *(version(name) for name in LIBRARIES)]).encode()
    )
    for name, data in sorted(contents.items()):
        digest.update(name.encode() + b"\0" + data)
    return digest.hexdigest()


def _cells(entry):
    """What is run of a lesson: its code without the checks, which `tito check` runs."""
    return [cell for cell in entry.declared.source.cells if cell.kind == "code" and not cell.checks]


@contextlib.contextmanager
def _no_interference():
    """Without what a caller's environment would tell the kernels."""
    environment = {
        name: os.environ.pop(name)
        for name in ("MPLBACKEND", "PYTHONSTARTUP", "PYTHONWARNINGS")
        if name in os.environ
    }
    try:
        yield
    finally:
        os.environ |= environment


def _run(entry, scratch):
    """Run the lesson's cells, top to bottom, in a kernel of its own. Returns what they showed."""
    import nbclient
    import nbformat
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    class ThisPython(KernelSpecManager):
        """The kernel of the environment that tito runs in, whatever other kernels
        somebody has registered as python3.
        """

        def get_kernel_spec(self, kernel_name):
            return KernelSpec(
                argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                display_name="Python",
                language="python",
            )

    code = _cells(entry)
    book = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell(source)
            for source in (FIRST, *(cells.uncomment_magics(c.source) for c in code))
        ]
    )
    manager = AsyncKernelManager(kernel_spec_manager=ThisPython(), kernel_name="python3")
    client = nbclient.NotebookClient(
        book,
        km=manager,
        timeout=SECONDS,
        store_widget_state=False,
        shutdown_kernel="immediate",
    )
    try:
        client.execute(
            cwd=str(scratch),
            cleanup_kc=True,  # or a kernel of a manager of ours goes on
            stderr=subprocess.DEVNULL,
            env=ONE_THREAD
            | os.environ
            | {"PYTHONPATH": str(scratch), "PYTHONDONTWRITEBYTECODE": "1"},
        )
    except nbclient.exceptions.CellExecutionError as error:
        failed = next(
            n
            for n, cell in enumerate(book.cells)
            if any(o.output_type == "error" for o in cell.get("outputs", []))
        )
        raise WorkError(
            f"{place_of(entry, code[failed - 1])}: this cell fails: {error.ename}: {error.evalue}",
            f"`tito check {entry.name}` says more. Mend the cell, then build the book again.",
        ) from None
    except (nbclient.exceptions.DeadKernelError, nbclient.exceptions.CellTimeoutError) as error:
        raise WorkError(
            f"{entry.relative(entry.script)}: its kernel did not get to the "
            f"end: {type(error).__name__}.",
            f"Run the file with Python; a cell may take {SECONDS} s.",
        ) from None
    outputs_by_cell = {
        str(cell.number): [
            output for output in map(_plain, ran.outputs) if output.get("data") != {}
        ]
        for cell, ran in zip(code, book.cells[1:])
    }
    return {number: outputs for number, outputs in outputs_by_cell.items() if outputs}


def _plain(output):
    """An output without what differs from run to run, such as a place in memory, and without a
    picture's name in words, `<Figure size ...>`.
    """
    output = json.loads(json.dumps(output))
    data = output.get("data", {})
    if any(kind in data for kind in PICTURES) or PLACE.fullmatch(data.get("text/plain", "")):
        data.pop("text/plain", None)
    if "execution_count" in output:
        output["execution_count"] = None
    if output["output_type"] == "stream":
        output["text"] = CELL_FILE.sub("cell", output["text"])
    return output


def _run_milestone(root, program, scratch):
    """Run a milestone as `tito milestone run` does. Returns what it measured, printed and drew."""
    (scratch / milestone.SOURCE).mkdir(parents=True, exist_ok=True)  # where it may keep its run
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        report, picture = milestone.execute(course.open_root(scratch), program, {}, 0, output)
        output.seek(0)
        printed = output.read()
    if wrong := report.get("error") or "; ".join(program.missed(report["measured"])):
        raise WorkError(
            f"{place_of_milestone(program)}: this milestone does not pass: {wrong}",
            f"`tito milestone run {program.name}` runs it alone. Mend it or a lesson it needs, "
            "then build the book again.",
        )
    drawn = (
        [
            {
                "output_type": "display_data",
                "metadata": {},
                "data": {"image/png": base64.b64encode(picture).decode()},
            }
        ]
        if picture
        else []
    )
    return {
        "measured": list(report["measured"].items()),
        "drawn": drawn,
        "printed": [{"output_type": "stream", "name": "stdout", "text": printed}]
        if printed
        else [],
    }


def pictures(outputs):
    """How many pictures a cell's outputs hold."""
    return sum(any(kind in output.get("data", {}) for kind in PICTURES) for output in outputs)


def _about_pictures(entry, outputs):
    """What is wrong with the pictures a lesson draws, as sentences."""
    for cell in entry.declared.source.cells:
        drawn, alt = pictures(outputs.get(str(cell.number), [])), cell.alt
        if drawn and not alt:
            yield f"{place_of(entry, cell)}: this cell draws a picture and has no alt text."
        elif drawn > 1:
            yield (
                f"{place_of(entry, cell)}: this cell draws {drawn} pictures, and one alt text "
                "serves one: give each a cell of its own."
            )


def place_of(entry, cell):
    """The cell's place as an author finds it: modules/source/01_tensor/tensor_dev.py:12."""
    return f"{entry.relative(entry.script)}:{cell.line}"


def place_of_milestone(entry):
    return (milestone.SOURCE / entry.path.name).as_posix()
