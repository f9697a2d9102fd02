"""The wrong solutions that learners really write, recorded beside each lesson in `misconceptions.toml`.

[[misconception]]
id = "subtract-reversed"
exercise = "tensor-subtract"        grade_id of the exercise
mistake = "Swaps the operands."     one sentence
old = "..."                         text that stands once in the exercise's cell
new = "..."                         what they write instead
message = "5 - x should be"         part of the message that a check of the exercise must give
"""

import tomllib
from dataclasses import dataclass

from tito.errors import TitoError

KEYS = ("id", "exercise", "mistake", "old", "new", "message")


@dataclass
class Misconception:
    id: str
    exercise: str
    mistake: str
    old: str
    new: str
    message: str

    def apply(self, lesson):
        """The lesson's text with the mistake made."""
        cell = lesson.exercise(self.exercise).cell
        return lesson.source.replaced(cell, cell.source.replace(self.old, self.new))


def load(lesson):
    """The misconceptions recorded for a lesson of the course. Raises TitoError when one does not fit the lesson."""
    path = lesson.path.with_name("misconceptions.toml")
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("misconception", [])
    except FileNotFoundError:
        return []
    except tomllib.TOMLDecodeError as error:
        raise TitoError(f"{path}: {error}.", "Mend the TOML.") from None
    found = []
    for entry in entries:
        if entry.keys() != set(KEYS) or not all(
            isinstance(value, str) and value for value in entry.values()
        ):
            raise TitoError(
                f"{path}: {entry.get('id', entry)} has the keys {', '.join(entry)}.",
                f"Each needs {', '.join(KEYS)}, all text.",
            )
        one = Misconception(**entry)
        if one.id in {other.id for other in found}:
            raise TitoError(f"{path}: {one.id!r} is there twice.", "Give each its own id.")
        if (times := lesson.exercise(one.exercise).cell.source.count(one.old)) != 1:
            raise TitoError(
                f"{path}: {one.id}: `old` stands {times} times in {one.exercise}.",
                "It should stand once, in the solution.",
            )
        found.append(one)
    return found
