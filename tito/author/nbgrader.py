"""The lessons as an nbgrader course, for instructors who use nbgrader: source notebooks that
contain every check.

    source/tensor/tensor.ipynb    the chapter with solutions; after each exercise its checks, then
                                  its hidden checks between nbgrader's markers
    package/                      the course's package, with solutions, which lessons import while
                                  they are graded
    nbgrader_config.py            sets the path of that package

nbgrader makes the learners' version (`nbgrader generate_assignment tensor`) and grades submissions
(`nbgrader autograde tensor`), with one score for all checks of an exercise. It runs learners' code
and checks in one process, so a submission can forge its grade. `tito grade` prevents that; see the
page on teaching.
"""

import json
import os
import shutil
from pathlib import Path
from typing import Any

from tito import files
from tito.author.release import make_stage, move
from tito.errors import MachineError, UsageError
from tito.lesson import export, notebook
from tito.lesson.cells import Cell
from tito.lesson.checks import (
    HIDDEN,
    LEARNER_SIDE,
    SETUP,
    TEST,
    needed_statements,
    statements_of,
    used_by,
    without_others,
)
from tito.lesson.course import Entry, Root
from tito.lesson.lesson_format import Lesson

NotebookCell = dict[str, Any]  # a cell in the JSON of a notebook

CONFIG = '''"""Made by `tito release --for nbgrader`: nbgrader's settings for {name}."""

import os
from pathlib import Path

c = get_config()  # noqa: F821  nbgrader gives it
c.CourseDirectory.course_id = "{name}"
# The kernel that grades a lesson imports the earlier ones from here.
os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parent / "package")
'''


def write(source: Root, folder: Path, lessons: list[Entry] | None = None) -> list[Path]:
    """Make `folder` an nbgrader course of those lessons (None: all). Returns its files.

    Raises TitoError when the folder holds anything.
    """
    folder = Path(os.path.abspath(folder.expanduser()))
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(
            f"{folder} is not empty.",
            "Give a new folder: tito release --for nbgrader ../my-nbgrader-course",
        )
    chosen = [entry for entry in lessons or source.lessons if entry.declared.exercises]
    contents = course_files(source, chosen)
    stage = make_stage(folder)
    try:
        for name, data in contents.items():
            files.write(stage / name, data)
        move(stage, folder)
    except OSError as error:
        raise MachineError(
            f"{folder} was not written: {error.strerror or error}.",
            "Free some space, or make its folder writable.",
        ) from None
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    return [folder / name for name in contents]


def course_files(source: Root, lessons: list[Entry]) -> dict[str, str | bytes]:
    """{path: content} of an nbgrader course of those lessons."""
    contents: dict[str, str | bytes] = {"nbgrader_config.py": CONFIG.format(name=source.name)}
    for entry in lessons:
        contents[f"source/{entry.name}/{entry.name}.ipynb"] = source_notebook(entry.declared)
    for path in sorted((source.path / source.package).rglob("*")):
        relative = path.relative_to(source.path)
        if path.is_file() and "__pycache__" not in relative.parts:
            contents[f"package/{relative.as_posix()}"] = path.read_bytes()
    for entry in source.lessons:  # the current modules of the lessons
        module = export.current(entry, entry.declared.source).whole()
        contents[f"package/{entry.relative(entry.module_path)}"] = module.text
    return contents


def source_notebook(lesson: Lesson) -> str:
    """nbgrader's source notebook (text): the chapter with solutions, a cell for each section of
    checks. What only hidden checks need is beside them, where nbgrader takes it out.
    """
    book = json.loads(notebook.to_notebook(lesson.source.text, lesson))
    out, sections = [], [cell for cell in lesson.checks_source.cells if cell.title]
    end = 1 + max(n for n, section in enumerate(sections) if "points" in section.metadata)
    # the shared functions of the checks are at the end of the file
    sections = sections[end:] + sections[:end]
    for cell in book["cells"]:
        exercise = cell["metadata"].get("checks")
        if not exercise:
            out.append(cell)
            continue
        last = max(n for n, s in enumerate(sections) if s.title.split()[0] == exercise)
        for section in sections[: last + 1]:  # with the shared sections above it
            if section.title.split()[0] == exercise:
                out.append(_graded(lesson, section))
            elif section.title not in (SETUP, LEARNER_SIDE):
                continue
            elif text := lesson.visible_part(section):
                out.append(_read_only(f"{section.title}-{section.number}", text))
            sections.remove(section)
    book["cells"] = _with_different_ids(out)
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


def _graded(lesson: Lesson, section: Cell) -> NotebookCell:
    calls = "\n".join(f"{function}()" for function in TEST.findall(section.source))
    text = f"{section.source}\n\n\n{calls}"
    if HIDDEN in section.title.split():
        shared = [cell.source for cell in (*lesson.setup, *lesson.learner_side)]
        names = used_by(statements_of(section.source))
        needed = needed_statements(names, tuple(shared)) - lesson.needed_by_visible
        helpers = [without_others(source, needed) for source in shared]
        text = "\n\n\n".join([*filter(None, helpers), text])
        text = f"### BEGIN HIDDEN TESTS\n{text}\n### END HIDDEN TESTS"
    grade_id = f"check-{'-'.join(section.title.split())}"
    return _cell(grade_id, text, notebook.nbgrader(grade_id, section.metadata["points"]))


def _with_different_ids(rows: list[NotebookCell]) -> list[NotebookCell]:
    """Cells whose grade ids nbgrader accepts. The polish checks of an exercise and an exercise
    named `...-polish` would have the same.
    """
    ids: set[str] = set()
    for cell in rows:
        if meta := cell["metadata"].get("nbgrader"):
            while meta["grade_id"] in ids:
                meta["grade_id"] = cell["id"] = meta["grade_id"] + "-more"
            ids.add(meta["grade_id"])
    return rows


def _read_only(grade_id: str, text: str) -> NotebookCell:
    return _cell(
        grade_id, text, notebook.nbgrader(grade_id, None) | {"locked": True, "solution": False}
    )


def _cell(id: str, text: str, meta: dict[str, Any]) -> NotebookCell:
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": id,
        "metadata": {"nbgrader": meta},
        "outputs": [],
        "source": text,
    }
