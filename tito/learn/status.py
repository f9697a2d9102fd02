"""The state of each lesson, what to do next, and the next hint."""

import functools
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tito.errors import TitoError, UsageError
from tito.learn import notebook_sync, progress
from tito.lesson import cells
from tito.lesson.course import Entry, Root
from tito.lesson.lesson_format import Exercise, check_of_hint, hint_text
from tito.safe_text import plain

FAILED = ("failed", "error", "timeout", "memory", "crashed")  # statuses of a check


@dataclass
class LessonStatus:
    """The state of a lesson: new, started, passed, stale (edited since it passed) or
    given, without an exercise; points of its last run.

    edited  whether the lesson was edited since that run
    written whether code or answers differ from the released lesson
    below   lessons that it needs and whose code is another than in that run
    answers {question: whether an answer to it is written}
    given_up  the exercises that the learner's file has as given code
    exercises, right  how many there are, and how many of them passed in their last run
    """

    number: int
    name: str
    title: str
    state: str
    points: int
    max_points: int
    hints_used: int
    last_run: str | None
    edited: bool = False
    written: bool = False
    below: list[str] = field(default_factory=list)
    answers: dict[str, bool] = field(default_factory=dict)
    given_up: list[str] = field(default_factory=list)
    exercises: int = 0
    right: int = 0


@dataclass
class Hint:
    """One hint of an exercise: number `level` of `of`. `again` when all had been shown before;
    `address` where the exercise is in the published book, "" without one.
    """

    lesson: str
    exercise: str
    level: int
    of: int
    text: str
    again: bool
    address: str


def rows(root: Root) -> list[LessonStatus]:
    """The state of every lesson of the root."""
    records = progress.load(root)["lessons"]
    states = [row(entry, records.get(entry.name, {})) for entry in root.lessons]
    exports: dict[str, str] = {}  # {lesson: a hash of what it exports now}
    for entry, state in zip(root.lessons, states):
        before = records.get(entry.name, {}).get("last", {}).get("below", {})
        for lower in root.lessons:
            if lower.name in before and lower.name not in exports:
                exports[lower.name] = exported(lower, records)
        state.below = [name for name in exports if before.get(name, exports[name]) != exports[name]]
    return states


def place_on_board(root: Root) -> str:
    """The line that `tito milestone run olympics --mine` wrote; "" without one."""
    try:
        path = root.path / "modules" / "milestones" / "olympics_mine.txt"
        return plain(path.read_text(encoding="utf-8").strip())
    except (OSError, UnicodeError):
        return ""


def exported(entry: Entry, records: dict[str, Any]) -> str:
    """A short hash of the code that the package holds of a lesson; "" while it cannot be read."""
    try:
        return _exported(notebook_sync.read(entry, records.get(entry.name, {})))
    except TitoError:
        return ""


@functools.lru_cache(maxsize=64)  # of lower lessons, hardly any has changed since the last test
def _exported(source: cells.Source) -> str:
    text = "\0".join(cell.source.strip() for cell in source.exported)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def row(entry: Entry, record: dict[str, Any]) -> LessonStatus:
    try:
        source = notebook_sync.read(entry, record)
    except TitoError:
        source = None  # missing, damaged or both edited: `tito test` says which
    last, checks = record.get("last", {}), progress.last_checks(record)
    edited = bool(last) and (
        source is None or progress.code_of(source, entry.declared) != last["code"]
    )
    return LessonStatus(
        entry.number,
        entry.name,
        entry.declared.title,
        progress.state_of(entry, source, record),
        last.get("points", 0),
        entry.declared.points,
        sum(map(len, record.get("hints_shown", {}).values())),
        last.get("when"),
        edited,
        progress.is_edited(entry, source),
        answers=entry.declared.written_answers(source) if source else {},
        given_up=entry.declared.given_up(source) if source else [],
        exercises=len(entry.declared.exercises),
        right=sum(progress.is_right(exercise, checks) for exercise in entry.declared.exercises),
    )


def following(entry: Entry) -> Entry | None:
    """The lesson to go on with after this one: the one of `next_step`. While that is this one, the
    next in the course.
    """
    step, lessons = next_step(rows(entry.root)), entry.root.lessons
    names = [step[0].split()[-1]] if step else []
    later = [lower for lower in lessons if lower.number > entry.number]
    names += [lower.name for lower in later if lower.declared.exercises]
    return next((entry.root.lesson(name) for name in names if name != entry.name), None)


def next_step(rows: Iterable[LessonStatus]) -> tuple[str, str] | None:
    """The command to type next, which ends in a lesson, and why; None when every lesson is passed
    or given. If all are given: to take the first back.

    rows  may be an iterator: the first lesson that is open ends the reading
    """
    given: list[LessonStatus] = []
    is_any = False
    for row in rows:
        if row.state == "new":
            return f"tito start {row.name}", f"Lesson {row.number}, {row.title}, comes next."
        if row.state == "stale":
            return f"tito test {row.name}", f"{row.title} had passed and was edited since."
        if row.state == "started":
            return (
                f"tito test {row.name}",
                f"{row.title} is begun: {row.points} of {row.max_points} points "
                f"{'before your last edit' if row.edited else 'so far'}.",
            )
        is_any |= row.state == "passed"
        given += [row] * (row.state == "given")
    if given and not is_any:
        return f"tito reset {given[0].name}", "Every exercise is given. To write one lesson:"
    return None


def current(root: Root) -> tuple[str, str] | None:
    """The name of the current lesson, and the reason; None when every lesson has passed or is
    given.

    The one that was tested last, unless it passed; then the first that has not.
    """
    states = rows(root)
    waiting = [state for state in states if state.state in ("new", "started", "stale")]
    last = max(states, key=lambda state: state.last_run or "")
    if last in waiting and last.last_run:
        return last.name, "tested last"
    return (waiting[0].name, "the first that has not passed") if waiting else None


def needs(entry: Entry, records: dict[str, Any], unwritten: Iterable[str] = ()) -> list[str]:
    """The names of the lessons to write or skip before this one: those that it needs and that have
    not passed and are not given, and what these need.

    unwritten  exercises without which its checks cannot run
    """
    needed = {*entry.declared.prerequisites}
    missing = {exercise.partition("-")[0] for exercise in unwritten}
    for lower in reversed(entry.root.lessons):
        state = row(lower, records.get(lower.name, {})).state if lower.name in needed else ""
        if state in ("new", "started"):
            missing.add(lower.name)
            needed |= {*lower.declared.prerequisites}
    return [lower.name for lower in entry.root.lessons if lower.name in missing]


def first_open(entry: Entry, record: dict[str, Any]) -> Exercise | None:
    """The first exercise with a check that earns points and did not pass in the last run, or None.

    Without a run: the first exercise.
    """
    checks = progress.last_checks(record)
    return next(
        (
            e
            for e in entry.declared.exercises
            if any(c.points and checks.get(c.id) != "passed" for c in e.checks)
        ),
        None,
    )


def hint(entry: Entry, exercise: Exercise | None = None) -> Hint:
    """The next hint of an exercise (default: the first that fails), remembered as shown.

    Raises TitoError when nothing fails, or the exercise has no hints.
    """
    with progress.change(entry.root, entry.name) as record:
        target = exercise or first_open(entry, record)
        if target is None:
            raise UsageError(
                f"Every exercise of {entry.name} passed in its last test.",
                f"Name one to read its hints anyway: tito hint {entry.declared.exercises[0].id}",
            )
        if not target.hints:
            raise UsageError(
                f"Exercise {target.id} has no hints.", "Read its task and docstring again."
            )
        shown = record.setdefault("hints_shown", {}).setdefault(target.id, [])
        order = _order_hints(target, progress.last_checks(record))
        following = next((number for number in order if number not in shown), None)
        if following is not None:
            shown.append(following)
        return Hint(
            entry.name,
            target.id,
            len(shown),
            len(target.hints),
            hint_text(target.hints[shown[-1]]),
            following is None,
            entry.address(target.id),
        )


def _order_hints(exercise: Exercise, checks: dict[str, str]) -> list[int]:
    """The numbers of an exercise's hints, those first that belong to a check that fails, and those
    last that belong to another check.

    checks  {id: status} of the last test
    """
    fails = {check.name for check in exercise.checks if checks.get(check.id) in FAILED}
    ranks = {True: 0, False: 2}
    checks_of = [check_of_hint(hint) for hint in exercise.hints]
    return sorted(
        range(len(checks_of)), key=lambda n: ranks[checks_of[n] in fails] if checks_of[n] else 1
    )
