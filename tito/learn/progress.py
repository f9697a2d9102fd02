"""A learner's progress, in `.tito/progress.json`: results of checks, with hashes of the tested
code.

{"version": 1, "lessons": {"tensor": {
    "started": "2026-11-20T17:30:00",
    "hints_shown": {"tensor-strides": [2, 0]},        numbers of the hints shown, per exercise
    "last": {"when", "code", "verdict", "points", "checks": {id: status},     the last whole run
             "exercises": {exercise: hash of its code},
             "below": {lesson that it needs: hash of what that exports}},
    "parts": {exercise: {"code": its hash, "checks": {id: status}}},     tested by itself since then
    "predictions": {question: the learner's answer},
    "reviews": {exercise: when to ask about it again, see `review.py`},
    "seen": [demonstration whose result the learner has seen: its place in the chapter],
    "pair": {"script": sha256, "notebook": sha256}}},              when both last agreed
 "milestones": {"xor": {"when", "verdict", "seed", "measured": {name: number}, "seconds", "code"}},
 "review": {"reminder": {"day": the last on which it was said that questions are due}}}
"""

import hashlib
import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from tito import files
from tito.errors import MachineError, Notice
from tito.lesson import cells
from tito.lesson.course import Entry, Root
from tito.lesson.lesson_format import Exercise, Lesson


def now() -> str:
    return datetime.now().isoformat(timespec="seconds")


def load(root: Root) -> dict[str, Any]:
    """The progress of a root.

    A damaged file is set aside, a Notice says where, and the record begins anew.
    """
    path = root.state / "progress.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if _is_sound(data):
            return data
        what = "it is not a progress record"
    except FileNotFoundError:
        return {"version": 1, "lessons": {}}
    except OSError as error:
        raise MachineError(
            f"{path} cannot be read: {error.strerror}.", "Check the file and its permissions."
        ) from None
    except (ValueError, RecursionError) as error:
        what = str(error)
    aside = path.with_name(f"progress-damaged-{datetime.now():%Y%m%d-%H%M%S-%f}.json")
    try:
        path.replace(aside)
    except OSError as error:
        raise MachineError(
            f"{path} is damaged ({what}) and cannot be moved: {error.strerror}.",
            "Make its folder writable.",
        ) from None
    warnings.warn(
        f"The progress file was damaged ({what}). It is saved as {aside}; `tito test "
        "--all` earns the marks again.",
        Notice,
        stacklevel=2,
    )
    return {"version": 1, "lessons": {}}


def _is_sound(data: Any) -> bool:
    """Whether `data` has the shape that this file describes, so that no reader stumbles."""

    return (
        _has_kinds(data, lessons=dict, milestones=dict, review=dict)
        and all(_has_kinds(record, day=str) for record in data.get("review", {}).values())
        and "lessons" in data
        and all(
            _has_kinds(record, when=str, verdict=str, measured=dict, code=str)
            and all(isinstance(n, int | float) for n in record.get("measured", {}).values())
            for record in data.get("milestones", {}).values()
        )
        and all(_is_sound_lesson(record) for record in data["lessons"].values())
    )


def _is_sound_lesson(record: Any) -> bool:
    kinds = {"started": str, "seen": list}
    kinds |= dict.fromkeys(("hints_shown", "parts", "last", "pair", "predictions", "reviews"), dict)
    if not _has_kinds(record, **kinds):
        return False
    last = record.get("last", {})
    strings, dicts = ("when", "code", "verdict"), ("checks", "exercises", "below")
    of_last = dict.fromkeys(strings, str) | dict.fromkeys(dicts, dict) | {"points": int}
    return (
        all(isinstance(answer, str) for answer in record.get("predictions", {}).values())
        and all(isinstance(numbers, list) for numbers in record.get("hints_shown", {}).values())
        and all(_has_kinds(p, code=str, checks=dict) for p in record.get("parts", {}).values())
        and all(
            _has_kinds(card, since=str, due=str, card=dict, asked=list, last=dict)
            for card in record.get("reviews", {}).values()
        )
        and _has_kinds(last, **of_last)
        and (not last or last.keys() >= {"when", "code", "verdict", "points", "checks"})
    )


def _has_kinds(value: Any, **kinds: type) -> bool:
    """Whether `value` is a dict, with values of these types where it has these keys."""
    return isinstance(value, dict) and all(
        k not in value or isinstance(value[k], kind) for k, kind in kinds.items()
    )


@contextmanager
def locked(root: Root) -> Iterator[None]:
    """One process at a time changes a root. May be entered again inside itself."""
    import filelock

    try:
        root.state.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(root.state / "lock", timeout=10, is_singleton=True)
        lock.acquire()
    except filelock.Timeout:
        raise MachineError(
            f"Another tito has been writing in {root.state} for 10 seconds.",
            "Wait for it or end it, then run the command again.",
        ) from None
    except OSError as error:  # the folder is read-only, or its whole file system
        raise MachineError(
            f"{root.state} cannot be written: {error.strerror}.", "Make that folder writable."
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def change(root: Root, name: str, kind: str = "lessons") -> Iterator[dict[str, Any]]:
    """The record of one lesson (or of one of the "milestones"), to be changed inside the
    `with`; saved when it ends well.
    """
    with locked(root):
        data = load(root)
        before = json.dumps(data)
        yield data.setdefault(kind, {}).setdefault(name, {})
        if json.dumps(data) != before:
            files.write(
                root.state / "progress.json", json.dumps(data, indent=1, ensure_ascii=False) + "\n"
            )


def last_checks(record: dict[str, Any]) -> dict[str, str]:
    """{check: its status in the last run, of the whole lesson or of its exercise}."""
    checks = dict(record.get("last", {}).get("checks", {}))
    for part in record.get("parts", {}).values():
        checks |= part.get("checks", {})
    return checks


def is_right(exercise: Exercise, checks: dict[str, str]) -> bool:
    """Whether the visible checks of an exercise that earn points passed, by their statuses."""
    counted = [check for check in exercise.checks if check.points and not check.hidden]
    return all(checks.get(check.id) == "passed" for check in counted)


def expect_reviews(record: dict[str, Any], lesson: Lesson) -> None:
    """Let questions about each exercise that has passed be due the day after."""
    today, checks = datetime.now().date(), last_checks(record)
    for exercise in lesson.exercises:
        if is_right(exercise, checks):
            days = {"since": today.isoformat(), "due": (today + timedelta(1)).isoformat()}
            record.setdefault("reviews", {}).setdefault(exercise.id, days)


def tested_code(record: dict[str, Any]) -> dict[str, str]:
    """{exercise: a hash of its code in the last run that tested it}."""
    parts = {name: part.get("code") for name, part in record.get("parts", {}).items()}
    return record.get("last", {}).get("exercises", {}) | parts


def record_of(entry: Entry) -> dict[str, Any]:
    """The record of a lesson, {} without one."""
    return dict(load(entry.root)["lessons"].get(entry.name, {}))


def predictions(entry: Entry) -> dict[str, str]:
    """{question: what the learner predicted}."""
    return dict(record_of(entry).get("predictions", {}))


def code_of(source: cells.Source, lesson: Lesson) -> str:
    """A hash of what a verdict depends on: the code and the checks, not prose or outputs."""
    digest = hashlib.sha256()
    code = [c.source for c in source.cells if c.kind == "code" and not c.checks]
    for text in [*code, lesson.checks_source.text]:
        digest.update(text.strip().encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


def exercise_hashes(entry: Entry, source: cells.Source) -> dict[str, str]:
    """{exercise: a hash of the learner's code in its cell}."""
    return {
        exercise.id: cells.hash_of(cell.source.strip())
        for exercise in entry.declared.exercises
        if (cell := source.cell(exercise.name))
    }


def state_of(entry: Entry, source: cells.Source | None, record: dict[str, Any]) -> str:
    """ "given", "new", "started", "passed" or "stale" (passed once, edited since).

    `source` may be None: unreadable.
    """
    if not entry.declared.exercises:
        return "given"
    last = record.get("last")
    if last and last["verdict"] == "passed":
        return "passed" if source and code_of(source, entry.declared) == last["code"] else "stale"
    if last or record.get("started") or is_edited(entry, source) and not entry.root.is_course:
        return "started"
    return "new"


def is_edited(entry: Entry, source: cells.Source | None) -> bool:
    """Whether code or answers differ from the released lesson."""
    released = entry.declared.source
    return source is None or (
        source.cells is not released.cells
        and (
            code_of(source, entry.declared) != code_of(released, entry.declared)
            or any(entry.declared.answers(source).values())
        )
    )
