"""Convert a lesson's script to a notebook and back, with jupytext. `learn/notebook_sync.py` decides
which of the two is current.

A notebook contains more than its script: nbgrader's metadata on the cells of exercises and checks,
and a folded cell with hints before each exercise. Both are added here and removed on the way back.
So are the first cells of a notebook that is opened outside a workspace.
"""

import json
import re
import sys
from collections.abc import Sequence
from typing import Any

from tito.lesson import cells
from tito.lesson.lesson_format import Exercise, Lesson

HEAD = re.compile(r"\A# ---\n(?:#.*\n)*?# ---\n")
# jupytext would turn a comment such as `# cat of three arrays` into a shell
# command; `cells` knows the magics.
PERCENT = {"extension": ".py", "format_name": "percent", "comment_magics": False}
PYTHON = {"name": "python3", "display_name": "Python 3", "language": "python"}


def _libraries() -> tuple[Any, Any]:
    """jupytext and nbformat, imported without the grammar of URLs that jsonschema builds in about a
    second and tito does not use.
    """
    name = "rfc3987_syntax"
    block = name not in sys.modules
    if block:
        sys.modules[name] = None  # type: ignore[assignment]  # makes importing it an ImportError, which jsonschema expects
    try:
        import jupytext
        import nbformat
    finally:
        if block:
            del sys.modules[name]
    return jupytext, nbformat


def to_notebook(script: str, lesson: Lesson, old: str | None = None) -> str:
    """The notebook (text) of a script's text, same bytes each time.

    lesson  the course's, for hints and points
    old     a notebook's text that lends the outputs of unchanged cells
    """
    jupytext, nbformat = _libraries()

    book = jupytext.reads(script, fmt=dict(PERCENT))
    for key in ("comment_magics", "cell_metadata_filter"):  # of this script, so not to be kept
        book.metadata.get("jupytext", {}).pop(key, None)
    book.metadata.setdefault("kernelspec", dict(PYTHON))
    exercises = {exercise.name: exercise for exercise in lesson.exercises}
    rows = []
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.source = cells.uncomment_magics(cell.source)
        elif cell.metadata.get("question"):
            cell.source = cells.without_escapes(cell.source)
        exercise = exercises.get(cell.metadata.get("exercise"))
        if exercise and exercise.hints:
            text = hints_of(exercise.hints)
            metadata = cells.made_metadata(text, cells.HINTS)
            rows.append(nbformat.v4.new_markdown_cell(text, metadata=metadata))
        rows.append(cell)
    book.cells = rows
    if old:
        book = _with_outputs(book, old)
    ids = set()
    for number, cell in enumerate(book.cells, 1):
        cell_id = _add_nbgrader(cell, lesson, exercises)
        if cells.is_made(cell.metadata, cell.source):
            cell_id = f"hints-{number}"
        if not cell_id or cell_id in ids:  # a cell that was copied, say
            cell_id = f"cell-{number}"
        ids.add(cell_id)
        cell["id"] = cell_id
    book.nbformat, book.nbformat_minor = 4, 5
    return str(nbformat.writes(book))


def _with_outputs(book: Any, old: str) -> Any:
    """A notebook with the outputs of the cells that it has in common with an older text."""
    from jupytext.combine import combine_inputs_with_outputs

    _, nbformat = _libraries()
    try:
        lender = nbformat.reads(old, as_version=4)
        nbformat.validate(lender)
        return combine_inputs_with_outputs(book, lender, fmt={"extension": ".py"})
    except Exception:  # noqa: BLE001  outputs are a convenience; a damaged notebook lends none
        return book


def with_note(notebook: str, note: str) -> str:
    """A notebook (text) that starts with a note, a text cell that is no part of the lesson."""
    book = json.loads(notebook)
    start = {
        "cell_type": "markdown",
        "id": "start-1",
        "metadata": cells.made_metadata(note, cells.START),
        "source": note.splitlines(keepends=True),
    }
    book["cells"].insert(0, start)
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


def hints_of(hints: Sequence[str]) -> str:
    """The Markdown of an exercise's hints, each folded."""
    return "\n\n".join(
        f"<details><summary>Hint {number}</summary>\n\n{hint}\n\n</details>"
        for number, hint in enumerate(hints, 1)
    )


def _add_nbgrader(cell: Any, lesson: Lesson, exercises: dict[str, Exercise]) -> str | None:
    """Give an exercise's, checks' or question's cell nbgrader's metadata. Returns its grade_id."""
    for question in lesson.questions:
        is_text = cell.cell_type == "markdown"
        if question.name == cell.metadata.get("question") and is_text:
            grade_id = f"question-{question.name}"
            cell.metadata["nbgrader"] = nbgrader(grade_id, question.points) | {
                "locked": False,
                "solution": True,
            }
            return grade_id
    name = cell.metadata.get("exercise") or cell.metadata.get("checks")
    if name not in exercises:
        return None
    solution = "exercise" in cell.metadata
    grade_id = f"{lesson.name}-{name}" if solution else f"check-{name}"
    cell.metadata["nbgrader"] = nbgrader(
        grade_id, None if solution else visible_points(exercises[name])
    )
    return grade_id


def nbgrader(grade_id: str, points: int | None) -> dict[str, Any]:
    """nbgrader's metadata, schema 3: of an exercise (no points), or of its checks."""
    graded = {} if points is None else {"points": points}
    return {
        "grade": points is not None,
        "grade_id": grade_id,
        "locked": points is not None,
        **graded,
        "schema_version": 3,
        "solution": points is None,
        "task": False,
    }


def visible_points(exercise: Exercise) -> int:
    return sum(check.points for check in exercise.checks if not check.hidden)


def to_script(notebook: str, old: str | None = None) -> str:
    """The script (text) of a notebook's text.

    old  a script's text that lends its header, where it has one; a chapter has none
    """
    jupytext, nbformat = _libraries()

    book = nbformat.reads(notebook, as_version=4)
    book.metadata.pop("language_info", None)
    book.cells = [c for c in book.cells if not cells.is_made(c.metadata, c.source)]
    for cell in book.cells:
        cell.metadata.pop("nbgrader", None)
        for kind in (cells.HINTS, cells.START):
            if cell.metadata.pop(kind, None):  # edited, so it is the learner's text
                cell.metadata.pop("tags", None)
        # Of a cell in another language, jupytext notes which.
        if cell.cell_type == "markdown" and cell.metadata.get("question"):
            cell.source = cells.with_escapes(cell.source)
            name = cell.metadata.pop("question")  # first, though a notebook's keys are sorted
            cell.metadata = nbformat.from_dict({"question": name} | cell.metadata)
        if cell.cell_type == "code" and not cell.source.startswith("%%"):
            cell.source = cells.comment_magics(cell.source)
    script = jupytext.writes(book, fmt=dict(PERCENT))
    head = HEAD.match(old or "")
    return (f"{head.group()}\n" if head else "") + str(HEAD.sub("", script, count=1)).lstrip("\n")
