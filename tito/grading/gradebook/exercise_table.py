"""Results of the class by exercise: the share that is right, and the most frequent mistake.

It counts the submissions that count of learners in the class. Lessons that were not handed in, are
as released or could not be imported are left out: they have no results for single exercises.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from tito.errors import TitoError
from tito.grading.gradebook.gradebook import Gradebook
from tito.grading.result import LessonResult
from tito.lesson import mistakes
from tito.lesson.course import Entry


@dataclass
class ExerciseRow:
    """An exercise; it is right when all its checks pass.

    learners       whose work has it; right: of them
    mistake        the recorded mistake whose message most of them got, or ""
    showed_it      how many did
    """

    exercise: str
    lesson: str
    number: int
    learners: int = 0
    right: int = 0
    mistake: str = ""
    showed_it: int = 0


def exercise_table(
    book: Gradebook, entries: Iterable[Entry], lesson: str | None = None, section: str | None = None
) -> list[ExerciseRow]:
    """The exercises of a lesson, or of all graded lessons, in the order of the course.

    entries  the lessons of the course; of others, mistakes have no names
    """
    messages = {entry.name: _messages(entry) for entry in entries}
    rows: dict[str, ExerciseRow] = {}
    showed: dict[str, Counter[str]] = {}
    for learner, grades in book.by_learner(lesson=lesson, section=section):
        for grade in grades if not learner.state else ():
            for name in grade.row.exercises.split():
                exercise = name.removeprefix("!")
                new = ExerciseRow(exercise, grade.lesson, grade.number)
                row = rows.setdefault(exercise, new)
                row.learners += 1
                row.right += name == exercise
                known = messages.get(grade.lesson, {}).get(exercise, {})
                showed.setdefault(exercise, Counter()).update(_shown(known, grade.result, exercise))
    for exercise, counter in showed.items():
        for name, count in sorted(counter.items(), key=lambda pair: (-pair[1], pair[0]))[:1]:
            rows[exercise].mistake, rows[exercise].showed_it = name, count
    return sorted(rows.values(), key=lambda row: (row.number, row.lesson))


def _messages(entry: Entry) -> dict[str, dict[str, str]]:
    """{exercise: {message: names of the mistakes that make it appear}} of a lesson."""
    names: dict[tuple[str, str], list[str]] = {}
    try:
        recorded = mistakes.load(entry.root.whole.lesson(entry.name).declared).mistakes
    except TitoError:  # of a lesson that cannot be read now
        recorded = []
    for mistake in recorded:
        names.setdefault((mistake.exercise, mistake.message), []).append(
            mistake.name.strip().rstrip(".")
        )
    messages: dict[str, dict[str, str]] = {}
    for (exercise, message), several in names.items():
        messages.setdefault(exercise, {})[message] = " or: ".join(several)
    return messages


def _shown(messages: dict[str, str], result: LessonResult, exercise: str) -> set[str]:
    """The mistakes that a learner showed in an exercise: their message is in the message of a
    check, and not a part of another such message.
    """
    names = set()
    for check in result.checks:
        if check.exercise == exercise and not check.passed:
            matches = [message for message in messages if message in check.message]
            names |= {
                messages[message]
                for message in matches
                if not any(message != other and message in other for other in matches)
            }
    return names
