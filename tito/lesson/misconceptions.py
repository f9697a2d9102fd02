"""What learners really write, recorded beside each lesson in `misconceptions.toml`:
wrong solutions, and right ones.

[[mistake]]
id = "subtract-reversed"            default: made from the name
exercise = "subtract"               its name in the chapter
name = "Swaps the operands."        one sentence
message = "5 - x should be"         part of the message that a check of the exercise must give
old = "self, other"                 text that is once in the exercise's cell, and
new = "other, self"                 what they write instead; or, in place of both,
code = "..."                        what they write between the solution markers

[[right]]                           a right solution in another style, which must pass
exercise, name, and old and new, or code, as above

[[equivalent]]                      a mutation that changes nothing a check could see
exercise, change, reason
"""

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from tito import settings
from tito.errors import UsageError
from tito.lesson.lesson_format import MARK, MISCONCEPTIONS, Lesson

NEEDED = {"mistake": {"exercise", "name", "message"}, "right": {"exercise", "name"}}


@dataclass
class Variant:
    """Another solution of an exercise, the one with that id.

    `cell` is the whole cell with it; `message`, of a mistake, part of what a check must say.
    """

    id: str
    exercise: str
    name: str
    cell: str
    message: str = ""

    def apply(self, lesson: Lesson) -> str:
        """The chapter's text with this solution."""
        return lesson.source.replaced(lesson.exercise(self.exercise).cell, self.cell)


def load(lesson: Lesson, kind: str = "mistake") -> list[Variant]:
    """The recorded mistakes of a lesson of the course, or with kind
    "right" its other right solutions.

    Raises TitoError when one does not fit the lesson.
    """
    path = lesson.path.with_name(MISCONCEPTIONS)
    variants: dict[str, Variant] = {}
    for entry in _entries(lesson).get(kind, []):
        keys = entry.keys() - {"id"}
        way = keys - NEEDED[kind]
        if not (NEEDED[kind] <= keys and way in ({"old", "new"}, {"code"})) or not all(
            isinstance(value, str) and value for value in entry.values()
        ):
            raise UsageError(
                f"{path}: {entry.get('id') or entry.get('name') or entry} has the "
                f"keys {', '.join(entry)}.",
                f"A [[{kind}]] needs {', '.join(sorted(NEEDED[kind]))}, and old "
                "and new, or code; all text.",
            )
        id = entry.get("id") or re.sub(r"\W+", "-", entry["name"].lower()).strip("-")
        if id in variants:
            raise UsageError(f"{path}: {id!r} is there twice.", "Give each its own id.")
        exercise = lesson.exercise(entry["exercise"])
        source = exercise.cell.source
        if "code" in entry:
            changed = _with_body(path, id, source, entry["code"])
        elif (times := source.count(entry["old"])) != 1:
            raise UsageError(
                f"{path}: {id}: `old` is {times} times in {entry['exercise']}.",
                "It should be there once, in the solution.",
            )
        else:
            changed = source.replace(entry["old"], entry["new"])
        variants[id] = Variant(id, exercise.id, entry["name"], changed, entry.get("message", ""))
    return list(variants.values())


def equivalent(lesson: Lesson) -> dict[tuple[str, str], str]:
    """{(exercise, change): reason} of mutations that change nothing a check could see."""
    entries = _entries(lesson).get("equivalent", [])
    for entry in entries:
        if entry.keys() != {"exercise", "change", "reason"} or not all(
            isinstance(value, str) and value.strip() for value in entry.values()
        ):
            raise UsageError(
                f"{lesson.path.with_name(MISCONCEPTIONS)}: an [[equivalent]] has the "
                f"keys {', '.join(entry)}.",
                "It needs exercise, change and reason.",
            )
    return {
        (lesson.exercise(entry["exercise"]).id, entry["change"]): entry["reason"]
        for entry in entries
    }


def _entries(lesson: Lesson) -> dict[str, list[dict[str, str]]]:
    path = lesson.path.with_name(MISCONCEPTIONS)
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return settings.read(path, text, settings.MISCONCEPTIONS)


def _with_body(path: Path, id: str, source: str, code: str) -> str:
    """The cell's source with `code` between its solution markers."""
    lines = source.split("\n")
    marks = [number for number, line in enumerate(lines) if MARK.match(line)]
    if len(marks) != 2:
        raise UsageError(
            f"{path}: {id}: its exercise has {len(marks) // 2} solutions between markers.",
            "Use old and new.",
        )
    first, last = marks
    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    body = textwrap.indent(textwrap.dedent(code).strip("\n"), indent)
    return "\n".join([*lines[: first + 1], body, *lines[last:]])
