"""Read a lesson of the course from its files, and refuse a wrong format.

The course's own copy of a lesson must be right in every part, and what is wrong is reported with
file and line.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from decimal import Decimal
from pathlib import Path
from typing import NoReturn

from tito import settings
from tito.errors import MachineError, UsageError
from tito.lesson import cells, track
from tito.lesson.cells import Cell, Source
from tito.lesson.checks import HIDDEN, LEARNER_SIDE, POLISH, SETUP, TEST, check_id, read_checks
from tito.lesson.lesson_format import (
    ANSWER,
    CHECKS,
    FACTS,
    FOLDER,
    HINTS,
    ITEM,
    MARK,
    Check,
    Exercise,
    Lesson,
    Question,
    check_of_hint,
    indent_of,
    split_solution,
    without_solution,
)
from tito.lesson.outcome import UNWRITTEN

NAME = re.compile(r"[A-Za-z0-9_-]+")
Checks = dict[str, list[Check]]  # {name of an exercise: its checks}
SUFFIXES: list[list[str]] = [[], [POLISH], [HIDDEN]]  # of a section: words behind the exercise


def load_lesson(path: Path, missing_facts: str = "", keep: Collection[str] | None = None) -> Lesson:
    """The course's lesson whose chapter is at `path`.

    missing_facts  the text of its lesson.toml if that does not exist
    keep           ids of the exercises that a learner writes; None for all

    Raises TitoError with file and line when it is not in the format.
    """
    chapter, checks = cells.read(path), read_checks(path.with_name(CHECKS))
    facts = path.with_name(FACTS)
    if not facts.exists() and not missing_facts:
        remedy = (
            "In a workspace, `tito update COURSE` adds it and keeps your work; COURSE is the "
            "folder of the course."
        )
        raise MachineError(f"{facts} does not exist.", remedy)
    text = _text(facts) if facts.exists() else missing_facts
    hints_file = path.with_name(HINTS)
    hints = _text(hints_file) if hints_file.exists() else ""
    if keep is not None:
        chapter, checks, hints = track.view(chapter, checks, hints, keep)
    return parse_lesson(chapter, checks, text, hints)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MachineError(f"{path} cannot be read: {error}.", "Save the file as UTF-8.") from None


def parse_lesson(source: Source, checks_source: Source, facts: str, hints_text: str = "") -> Lesson:
    """The lesson of a chapter, its checks.py, and the texts of lesson.toml and hints.md."""
    match = FOLDER.fullmatch(source.path.parent.name)
    if not match:
        raise UsageError(
            f"{source.path}: the folder should be named like 02_tensor.", "Rename the folder."
        )
    number, name = int(match[1]), match[2]
    module = _module(source, name)
    exercise_cells = _exercise_cells(source, name)
    questions = tuple(_questions(source, list(exercise_cells)))
    setup, learner_side, checks = _sections(checks_source, name, list(exercise_cells))
    hints = _hints(source.path.with_name(HINTS), hints_text, checks)
    exercises = tuple(
        Exercise(
            f"{name}-{exercise}",
            exercise,
            cell,
            "\n".join(without_solution(name, cell, cell.source.split("\n"))).strip(),
            tuple(hints.get(exercise, ())),
            tuple(checks[exercise]),
        )
        for exercise, cell in exercise_cells.items()
    )
    _check_calls(source, exercises)
    return Lesson(
        number,
        name,
        source,
        checks_source,
        hints_text,
        settings.read(source.path.with_name(FACTS), facts, settings.LESSON),
        module,
        exercises,
        questions,
        tuple(setup),
        tuple(learner_side),
    )


def _refuse(
    source: Source, what: str, remedy: str, cell: Cell | None = None, line: int = 0
) -> NoReturn:
    """Refuse a file because of a line of a cell (0 is its first source line)."""
    where = source.place(cell, line) if cell else f"{source.path}:1"
    raise UsageError(f"{where}: {what}", remedy)


def _refuse_mark(source: Source, what: str, remedy: str, cell: Cell) -> NoReturn:
    """Refuse a file because of the `# %%` line of a cell."""
    _refuse(source, what, remedy, cell, 0 if source.is_notebook else -cell.gap)


# The chapter.


def _module(source: Source, name: str) -> str:
    exports = [
        (cell, cell.directives["default_exp"])
        for cell in source.cells
        if cell.kind == "code" and "default_exp" in cell.directives
    ]
    module = f"core.{name}"
    if not exports:
        _refuse(
            source,
            "no cell says where the lesson is exported to.",
            f"Begin a code cell with `#| default_exp {module}`.",
        )
    if len(exports) > 1 or exports[0][1] != module:
        cell, value = exports[-1]
        _refuse(
            source,
            f"`#| default_exp {value}`, {len(exports)} in the lesson.",
            f"One is needed: `#| default_exp {module}`.",
            cell,
        )
    return module


def _exercise_cells(source: Source, lesson: str) -> dict[str, Cell]:
    """{name of an exercise: its cell}."""
    exercises: dict[str, Cell] = {}
    for cell in source.cells:
        _check_markers(source, cell)
        if not (name := cell.exercise):
            continue
        _check_name(source, cell, "exercise", name)
        if name in exercises:
            first = source.place(exercises[name])
            what = f"exercise {name!r} is there a second time (first in {first})."
            _refuse_mark(source, what, "Give each its own name.", cell)
        if "### BEGIN SOLUTION" not in cell.source and not UNWRITTEN.search(cell.source):
            _refuse(
                source,
                f"exercise {name} has no solution between markers.",
                "Add `### BEGIN SOLUTION` and `### END SOLUTION`.",
                cell,
            )
        exercises[name] = cell
    if not exercises and not any(cell.given for cell in source.cells):
        _refuse(
            source,
            "the lesson has no exercise.",
            'Mark a cell with `# %% exercise="name"` and solution markers.',
        )
    return exercises


def _check_name(source: Source, cell: Cell, kind: str, name: str) -> None:
    if not NAME.fullmatch(name) or name in (SETUP, LEARNER_SIDE):
        remedy = "It needs letters, digits, - and _ only."
        _refuse_mark(source, f"{kind}={name!r} is no name.", remedy, cell)


def _questions(source: Source, names: list[str]) -> Iterator[Question]:
    """The questions of a chapter; `names` are the names of the exercises."""
    for cell in source.cells:
        if not (name := cell.question):
            continue
        _check_name(source, cell, "question", name)
        if name in names:
            what = f"{name!r} is the name of an exercise or question already."
            _refuse_mark(source, what, "Give each its own name.", cell)
        names.append(name)
        points = cell.metadata.get("points")
        if type(points) is not int or not 0 <= points <= 1000:
            remedy = "It takes a whole number, 0 for an answer that is only read: points=2."
            _refuse_mark(source, f"question {name} has points={points!r}.", remedy, cell)
        text, below, answer = cell.source.partition(f"\n{ANSWER}\n")
        has_line = bool(below)
        if not below:
            text, has_line = cell.source.removesuffix(f"\n{ANSWER}"), cell.source.endswith(ANSWER)
        if not has_line or not text.strip():
            what = f"question {name} lacks its text, or a line that says where to write."
            _refuse_mark(source, what, f"Ask, then a separate line: `# {ANSWER}`", cell)
        sample, outside = ("\n".join(lines) for lines in split_solution(answer))
        if outside.strip():
            what = f"learners would get an answer to question {name}: {outside.strip()[:60]}"
            remedy = (
                "Put the sample answer between `# ### BEGIN SOLUTION` and `# ### END SOLUTION`."
            )
            _refuse_mark(source, what, remedy, cell)
        rubric = _rubric(source, cell, sample.strip())
        most = sum(worth for worth, _ in rubric if worth > 0)
        if rubric and most != points:
            what = f"question {name} has points={points}, the items of its rubric {most}."
            _refuse_mark(source, what, "Make the two equal; items below 0 do not count.", cell)
        yield Question(name, points, text.strip(), cell, sample.strip(), rubric)


def _rubric(source: Source, cell: Cell, sample: str) -> tuple[tuple[Decimal, str], ...]:
    """(points, text) of each line `- 2 points: text` at the end of a sample answer. An item may
    continue on indented lines.
    """
    items: list[tuple[Decimal, str]] = []
    for line in sample.split("\n"):
        if match := ITEM.fullmatch(line.rstrip()):
            items.append((Decimal(match[1]), match[2]))
        elif items and line.startswith("  "):
            points, text = items.pop()
            items.append((points, f"{text} {line.strip()}"))
        elif items and line.strip():
            what = f"this is no item of the rubric of question {cell.question}: {line.strip()[:60]}"
            _refuse_mark(source, what, "Write `- 2 points: what the answer says`.", cell)
    return tuple(items)


def _check_markers(source: Source, cell: Cell) -> None:
    """Solution markers come in pairs, alone on their lines, in exercises and questions."""
    if "question" in cell.metadata and cell.kind != "markdown":
        remedy = 'Its answer is text: `# %% [markdown] question="why" points=2`.'
        _refuse(source, "a question in a cell of code.", remedy, cell)
    begun = None
    for number, line in enumerate(cell.source.split("\n") if "### " in cell.source else ()):
        mark = MARK.match(line)
        if not mark:
            if "### BEGIN" in line or "### END" in line:
                remedy = "Write `### BEGIN SOLUTION` alone on its line."
                _refuse(source, f"not a marker: {line.strip()}", remedy, cell, number)
        elif mark[1] == "BEGIN":
            if what := _wrong_begin(cell, line, begun is not None):
                _refuse(source, *what, cell, number)
            begun = number
        elif begun is None:
            what = "END SOLUTION without its BEGIN.", "Markers come in pairs."
            _refuse(source, *what, cell, number)
        else:
            begun = None
    if begun is not None:
        what = "BEGIN SOLUTION is never ended.", "Add `### END SOLUTION`."
        _refuse(source, *what, cell, begun)


def _wrong_begin(cell: Cell, line: str, inside: bool) -> tuple[str, str] | None:
    """(what is wrong, remedy) of a marker that begins a solution, or None."""
    if inside:
        return "BEGIN SOLUTION inside a solution.", "End it first; they never nest."
    if not cell.task:
        return (
            "BEGIN SOLUTION in a cell that is no exercise and no question.",
            'Mark the cell: `# %% exercise="name"`.',
        )
    if cell.directives.keys() & {"export", "exporti"} and not indent_of(line):
        return (
            "a solution at the left margin of an exported cell.",
            "Put it inside a function: its stub would stop every import of the package.",
        )
    return None


def _check_calls(source: Source, exercises: tuple[Exercise, ...]) -> None:
    """Each exercise with visible checks has one cell that runs them, somewhere behind it."""
    waiting = {e.name for e in exercises if any(not check.hidden for check in e.checks)}
    above: set[str | None] = set()
    for cell in source.cells:
        above.add(cell.exercise)
        if not (name := cell.checks):
            continue
        if name not in waiting or name not in above:
            _refuse_mark(
                source,
                f"checks={name!r}: no exercise of that name with visible checks is "
                "above, or its checks were run already.",
                "One cell behind each exercise runs its checks.",
                cell,
            )
        waiting.discard(name)
        if cell.source.strip() != f'check("{name}")':
            _refuse(
                source,
                f"a cell of checks holds {cell.source.strip()[:60]!r}.",
                f'One line: check("{name}"). The checks themselves are in {CHECKS}.',
                cell,
            )
    if waiting:
        exercise = next(exercise for exercise in exercises if exercise.name in waiting)
        name = exercise.name
        _refuse(
            source,
            f"nothing runs the checks of exercise {name}.",
            f'Add a cell `# %% checks="{name}"` with the line check("{name}").',
            exercise.cell,
        )


# checks.py


def _sections(
    source: Source, lesson: str, exercises: list[str]
) -> tuple[list[Cell], list[Cell], Checks]:
    """The setup sections, the learner-side sections and the checks of a checks.py."""
    setup: list[Cell] = []
    learner_side: list[Cell] = []
    checks: Checks = defaultdict(list)
    last = (-1, 0)
    for cell in source.cells:
        if cell.kind != "code":
            continue
        name, *words = cell.title.split() or [""]
        if cell.title == SETUP:
            setup.append(cell)
        elif cell.title == LEARNER_SIDE:
            learner_side.append(cell)
        elif name in exercises and words in SUFFIXES:
            place = exercises.index(name), SUFFIXES.index(words)
            if place <= last:
                what = f"the section {cell.title} is behind a later one, or is there twice."
                remedy = "Sections are in the order of the exercises, visible, polish, hidden."
                _refuse_mark(source, what, remedy, cell)
            last = place
            checks[name] += _checks(source, cell, f"{lesson}-{name}", checks)
        elif name or any(
            line.strip() and not line.startswith("#") for line in cell.source.split("\n")
        ):
            what = f"{cell.title or 'code before the first section'!r} is no section."
            remedy = (
                f"A section is named after an exercise ({', '.join(exercises)}), with polish or "
                "hidden behind the name or not; or it is setup or learner-side."
            )
            _refuse_mark(source, what, remedy, cell)
    for name in exercises:
        if all(check.hidden for check in checks[name]):
            raise UsageError(
                f"{source.path}: exercise {name} has no check that learners see.",
                f"Add a section `# %% {name} points=2`.",
            )
    return setup, learner_side, checks


def _checks(source: Source, cell: Cell, exercise: str, others: Checks) -> list[Check]:
    """The checks of a section; `others` are the checks of the sections before."""
    names, points = TEST.findall(cell.source), cell.metadata.get("points")
    if not names:
        remedy = "Write the check, or take the section out."
        _refuse_mark(source, f"{cell.title} holds no `def test_...`.", remedy, cell)
    least = 0 if POLISH in cell.title.split() else len(names)
    if type(points) is not int or points < least:
        what = f"{points} points are too few for {len(names)} test{'s' * (len(names) > 1)}."
        remedy = f"Each is worth at least 1: `# %% {cell.title} points={2 * len(names)}`."
        _refuse_mark(source, what, remedy, cell)
    share, more = divmod(points, len(names))  # the first tests take the points left over
    places = {check.function: check.cell.title for row in others.values() for check in row}
    checks: list[Check] = []
    for number, function in enumerate(names):
        if function in places:
            what = f"{function} is defined twice (also in {places[function]})."
            _refuse_mark(source, what, "Give each check its own name.", cell)
        places[function] = cell.title
        id, hidden = check_id(cell.title, function), HIDDEN in cell.title.split()
        checks.append(Check(id, function, exercise, share + (number < more), cell, hidden))
    return checks


# hints.md


def _hints(path: Path, text: str, checks: Checks) -> dict[str, list[str]]:
    """{name of an exercise: its hints}."""
    hints: dict[str, list[str]] = {}
    for line, name, listed in parse_hints(path, text):
        if name not in checks:
            raise UsageError(
                f"{path}:{line}: the lesson has no exercise {name!r}.",
                f"There are: {', '.join(checks)}.",
            )
        visible = [check.name for check in checks[name] if not check.hidden]
        for check in map(check_of_hint, listed):
            if check and check not in visible:
                raise UsageError(
                    f"{path}:{line}: {name} has no check {check!r} that learners see.",
                    f"There are: {', '.join(visible)}.",
                )
        if hints.get(name):
            raise UsageError(
                f"{path}:{line}: {name} is there a second time.", "Put its hints into one list."
            )
        hints[name] = listed
    return hints


def parse_hints(path: Path, text: str) -> list[tuple[int, str, list[str]]]:
    """The sections of a hints.md: [(line, exercise, its hints)], each hint as Markdown."""
    sections: list[tuple[int, str, list[str]]] = []
    number = 0
    for line, row in enumerate(text.split("\n"), 1):
        if head := re.fullmatch(r"## (\S+)\s*", row):
            sections.append((line, head[1], []))
            number = 0
        elif item := re.fullmatch(r"(\d+)\. (.*)", row):
            if not sections or int(item[1]) != number + 1:
                raise UsageError(
                    f"{path}:{line}: hint {item[1]} does not come next here.",
                    "Below `## exercise`, number the hints from 1.",
                )
            number += 1
            sections[-1][2].append(item[2])
        elif number and (row.startswith("   ") or not row.strip()):
            sections[-1][2][-1] += "\n" + row[3:].rstrip()
        elif row.strip():
            raise UsageError(
                f"{path}:{line}: this belongs to no hint: {row[:60]}",
                "A hint goes on over lines that are indented by three spaces.",
            )
    return [(line, name, [hint.strip() for hint in hints]) for line, name, hints in sections]
