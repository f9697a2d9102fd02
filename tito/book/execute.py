"""Run the cells of the lessons and the milestones with the course's solutions, and cache what they
print, draw and measure.

The outputs of a lesson are cached by a hash of its cells, of the lower lessons and of the libraries
whose results are shown. So a lesson runs again after a change of itself or of a lesson that it
imports. The outputs of a milestone are cached by a hash of its program and of the lessons it needs.
"""

import base64
import hashlib
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tito import child, files
from tito.errors import WorkError
from tito.html import adaptive_plot
from tito.learn import milestone
from tito.learn.milestone import Milestone
from tito.lesson import cells, course, export
from tito.lesson.cells import Cell
from tito.lesson.course import Entry, Root
from tito.page.drawings import has_picture

SECONDS = 300  # a cell may take
KEPT = 3  # outputs of each program: its last edits
LIBRARIES = ("numpy", "matplotlib", "ipykernel")
# The first cell. A plot is lines, which follow the page's colours. One with many points, or with
# white words on a picture, is a picture itself, twice as fine as the page shows it.
FIRST = "%config InlineBackend.figure_formats = ['svg', 'retina']"
LONGEST = 300_000  # characters of an SVG
WHITE = re.compile(r'<g id="text_\d+">\s*<!--[^>]*-->\s*<g style="fill: #ffffff')
# The repr of an object without a better one, which is not worth showing.
ADDRESS = re.compile(r"<[\w.]+(?: object)? at 0x[0-9a-f]+>")
CELL_FILE = re.compile(r"\S*ipykernel_\d+\S*\.py")  # how a kernel names its cells in a traceback

Output = dict[str, Any]  # of a cell, as in a notebook


@dataclass
class Package:
    """The course's package, with every solution: its folder, and {path in it: bytes}."""

    folder: Path
    contents: dict[str, bytes]


@dataclass
class Job:
    """A program to run: its name, where its outputs are kept, and how it is run."""

    name: str
    place: Path
    run: Callable[[], dict[str, Any]]


def run_all(
    root: Root, package: Package, cache: Path, report: Callable[[str, int, int], None]
) -> dict[str, dict[str, Any]]:
    """{page: its outputs} of every lesson and every milestone, pages such as "lessons/02_tensor".

    Outputs of a lesson: {number of a cell, as a string: outputs, as in a notebook}. Outputs of a
    milestone: {"measured": [[name, number], ...], "printed": outputs, "drawn": outputs}.

    cache   a folder where outputs are kept between runs: the last KEPT of each program, so that
            an edit that is taken back runs nothing
    report  is called with the name of each that begins to run, its number, and of how many

    Raises WorkError for a cell that fails, a milestone that misses its goal and a picture without
    alt text, with its place.
    """
    cache.mkdir(parents=True, exist_ok=True)
    jobs = find_jobs(root, package, cache)

    def run(job: Job) -> None:
        report(job.name, next(numbers), len(waiting))
        text = json.dumps(job.run(), indent=1, sort_keys=True, ensure_ascii=False)
        files.write(job.place, text + "\n")

    waiting = [job for job in jobs.values() if not job.place.exists()]
    numbers = itertools.count(1)
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        list(pool.map(run, waiting))  # raises what one of them raised
    by_age = sorted(cache.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for job in jobs.values():
        older = [path for path in by_age if path.name.rpartition("-")[0] == job.name]
        for path in [path for path in older if path != job.place][KEPT:]:
            path.unlink()
    outputs = {
        page: json.loads(job.place.read_text(encoding="utf-8")) for page, job in jobs.items()
    }
    _refuse_pictures_without_alt(root, outputs)
    return outputs


def find_jobs(root: Root, package: Package, cache: Path) -> dict[str, Job]:
    """{page: job}, in the order in which they are begun: milestones first, because they take
    longest, but those that use the run of another one last.
    """

    def job(name: str, key: str, run: Callable[..., dict[str, Any]], of: object) -> Job:
        return Job(name, cache / f"{name}-{key[:16]}.json", partial(run, of, package.folder))

    milestones = {
        f"milestones/{program.path.stem}": job(
            program.name, _key_of_milestone(root, program, package), _run_milestone, program
        )
        for program in reversed(milestone.milestones(root))
        if not program.downloads
    }
    later = [
        f"milestones/{program.path.stem}" for program in milestone.milestones(root) if program.after
    ]
    lessons = {
        f"lessons/{entry.folder}": job(entry.name, _key(entry, package), _run_lesson, entry)
        for entry in root.lessons
    }
    jobs = milestones | lessons
    return jobs | {page: jobs.pop(page) for page in later}


def _refuse_pictures_without_alt(root: Root, outputs: dict[str, dict[str, Any]]) -> None:
    problems = []
    for entry in root.lessons:
        for cell in entry.declared.source.cells:
            shown = outputs[f"lessons/{entry.folder}"].get(str(cell.number), [])
            count = sum(map(has_picture, shown))
            place = f"{entry.relative(entry.script)}:{cell.line}"
            if count and not cell.alt:
                problems.append(f"{place}: this cell draws a picture and has no alt text.")
            elif count > 1:
                problems.append(
                    f"{place}: this cell draws {count} pictures, and one alt text serves one: "
                    "put each into a separate cell."
                )
    for program in milestone.milestones(root):
        drawn = outputs.get(f"milestones/{program.path.stem}", {}).get("drawn")
        if drawn and not program.alt:
            place = place_of_milestone(program)
            problems.append(f"{place}: this milestone draws a picture and has no alt text.")
    if problems:
        raise WorkError(
            "\n".join(problems),
            "Say what the picture shows, in a comment of a lesson, "
            "plt.show()  # alt: the loss falls from 0.7 to 0.1, "
            'or in the block at the top of a milestone, # alt = "The loss falls from 0.7 to 0.1"',
        )


def write_package(root: Root, folder: Path) -> Package:
    """Write the package, with every solution, into `folder`, as `tito export` would now."""
    source = root.path / root.package
    contents = {
        path.relative_to(root.path).as_posix(): path.read_bytes()
        for path in sorted(source.rglob("*"))
        if path.is_file()
        and path.suffix not in (".pyc", files.SUFFIX)
        and "__pycache__" not in path.parts
    }
    for entry in root.lessons:
        module = export.current(entry, entry.declared.source).whole()
        contents[entry.relative(entry.module_path)] = module.text.encode("utf-8")
    # Nothing else of tito.toml: a new due date changes no output.
    words = {"name": root.name, "edition": "", "package": root.package}
    lines = [f"{key} = {json.dumps(word, ensure_ascii=False)}" for key, word in words.items()]
    contents["tito.toml"] = "\n".join(["[course]", *lines, ""]).encode("utf-8")
    for name, data in contents.items():
        path = folder / name
        if not path.exists() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    return Package(folder, contents)


def output_of(program: Path, package: Path, purpose: str) -> str:
    """What a program of the course prints: a file, or a folder with a `__main__.py`, in book/.

    package  the folder with the course's package, which the program can import
    purpose  a sentence about it, for the error when it fails
    """
    process = child.run(
        [sys.executable, "-B", "-X", "utf8", str(program)],
        env=child.environment(PYTHONPATH=str(package)),
        cwd=package,
    )
    if process.returncode:
        last = (process.stderr.strip().splitlines() or ["it printed nothing about why"])[-1]
        raise WorkError(
            f"book/{program.name} fails: {last}",
            f"{purpose}: correct it, or what it reads.",
        )
    return process.stdout.strip()


# Keys.


def _key(entry: Entry, package: Package) -> str:
    """A hash of everything that the outputs of the lesson's cells depend on: not alt texts."""
    lower = {other.name for other in entry.root.lessons if other.number < entry.number}
    sources = [[cell.number, cell.code] for cell in _cells(entry)]
    return _hash([FIRST, *sources], _package_of(entry.root, package, lower))


def _key_of_milestone(root: Root, entry: Milestone, package: Package) -> str:
    """A hash of everything that the results of a milestone depend on, with the programs next to it
    that it may import.
    """
    others = {other.path for other in milestone.milestones(root)} - {entry.path}
    sources = {
        path.name: path.read_bytes()
        for path in entry.path.parent.glob("*.py")
        if path not in others
    }
    return _hash([], _package_of(root, package, entry.needs) | sources)


def _package_of(root: Root, package: Package, used: Iterable[str]) -> dict[str, bytes]:
    """The package's files that belong to no lesson, or to one of those named."""
    names = set(used)
    excluded = {
        entry.relative(entry.module_path) for entry in root.lessons if entry.name not in names
    }
    return {name: data for name, data in package.contents.items() if name not in excluded}


def _hash(values: list[Any], contents: dict[str, bytes]) -> str:
    digest = hashlib.sha256(
        json.dumps([values, sys.version, *(version(name) for name in LIBRARIES)]).encode()
    )
    for name, data in sorted(contents.items()):
        digest.update(name.encode() + b"\0" + data)
    return digest.hexdigest()


# A lesson.


def _cells(entry: Entry) -> list[Cell]:
    """The lesson's code that is run: without the checks, which `tito check` runs."""
    return [cell for cell in entry.declared.source.cells if cell.kind == "code" and not cell.checks]


def _run_lesson(entry: Entry, folder: Path) -> dict[str, list[Output]]:
    """Run the lesson's cells, top to bottom, in a new kernel. Returns their outputs."""
    import nbformat

    code = _cells(entry)
    sources = [FIRST, *(cells.uncomment_magics(cell.source) for cell in code)]
    notebook = nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_code_cell, sources)])
    _execute(entry, notebook, folder)
    outputs = {}
    for cell, ran in zip(code, notebook.cells[1:], strict=True):
        shown = [output for output in map(_reproducible, ran.outputs) if output.get("data") != {}]
        if shown:
            outputs[str(cell.number)] = shown
    return outputs


def _execute(entry: Entry, notebook: Any, folder: Path) -> None:
    """Run a notebook of the lesson's cells; it then contains their outputs."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    client = NotebookClient(
        notebook,
        km=_kernel_manager(),
        timeout=SECONDS,
        store_widget_state=False,
        shutdown_kernel="immediate",
    )
    unwanted = ("MPLBACKEND", "PYTHONSTARTUP", "PYTHONWARNINGS")  # settings of the caller
    environment = {name: value for name, value in os.environ.items() if name not in unwanted}
    environment |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        client.execute(
            cwd=str(folder),
            cleanup_kc=True,  # otherwise the kernel keeps running
            stderr=subprocess.DEVNULL,
            env=child.ONE_THREAD | environment,
        )
    except CellExecutionError as error:
        errors = [
            any(output.output_type == "error" for output in cell.get("outputs", []))
            for cell in notebook.cells
        ]
        cell = _cells(entry)[errors.index(True) - 1]
        raise WorkError(
            f"{entry.relative(entry.script)}:{cell.line}: this cell fails: "
            f"{error.ename}: {error.evalue}",
            f"`tito check {entry.name}` says more. Correct the cell, then build the book again.",
        ) from None
    except (DeadKernelError, CellTimeoutError) as error:
        raise WorkError(
            f"{entry.relative(entry.script)}: its kernel did not get to the "
            f"end: {type(error).__name__}.",
            f"Run the file with Python; a cell may take {SECONDS} s.",
        ) from None


def _kernel_manager() -> Any:
    """Starts kernels of tito's own environment, whatever kernel is registered as python3."""
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    class ThisPython(KernelSpecManager):
        def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
            argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            return KernelSpec(argv=argv, display_name="Python", language="python")

    return AsyncKernelManager(kernel_spec_manager=ThisPython(), kernel_name="python3")


def _reproducible(output: Output) -> Output:
    """An output without parts that differ between runs, such as addresses in memory, and without
    the text `<Figure size ...>` of a picture.
    """
    output = json.loads(json.dumps(output))
    data = output.get("data", {})
    if "image/png" in data and (svg := data.pop("image/svg+xml", "")):  # a plot
        if not ("<image" in svg and WHITE.search(svg)) and len(svg) <= LONGEST:
            output |= {"data": {"image/svg+xml": adaptive_plot(svg)}, "metadata": {}}
            return output
    if has_picture(output) or ADDRESS.fullmatch(data.get("text/plain", "")):
        data.pop("text/plain", None)
    if "execution_count" in output:
        output["execution_count"] = None
    if output["output_type"] == "stream":
        output["text"] = CELL_FILE.sub("cell", output["text"])
    return output


# A milestone.


def _run_milestone(program: Milestone, folder: Path) -> dict[str, Any]:
    """Run a milestone as `tito milestone run` does. Returns what it measured, printed and drew."""
    (folder / milestone.SOURCE).mkdir(parents=True, exist_ok=True)  # where it may keep its run
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        run = milestone.MilestoneRun(program, 0, ())
        report, picture = milestone.execute(course.open_root(folder), run, {}, output)
        output.seek(0)
        printed = output.read()
    if problem := report.get("error") or "; ".join(program.missed(report["measured"]).values()):
        raise WorkError(
            f"{place_of_milestone(program)}: this milestone does not pass: {problem}",
            f"`tito milestone run {program.name}` runs it alone. Correct it or a lesson it needs, "
            "then build the book again.",
        )
    outputs: dict[str, Any] = {
        "measured": list(report["measured"].items()),
        "drawn": [],
        "printed": [],
    }
    if picture:
        png = base64.b64encode(picture).decode()
        data = {"image/svg+xml": report.get("svg", ""), "image/png": png}
        drawn = {"output_type": "display_data", "metadata": {}, "data": data}
        outputs["drawn"] = [_reproducible(drawn)]
    if printed:
        outputs["printed"] = [{"output_type": "stream", "name": "stdout", "text": printed}]
    return outputs


def place_of_milestone(entry: Milestone) -> str:
    return (milestone.SOURCE / entry.path.name).as_posix()
