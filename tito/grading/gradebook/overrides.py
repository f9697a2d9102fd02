"""What instructors decide by hand: overrides of points, comments and extensions.

Each is an entry of the history, with who, when and why. Functions raise TitoError for an unknown
learner, lesson or check, and for an empty `who` or `why`; and `ChangedMeanwhile` where there is a
later entry about that grade than `seen`.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal

from tito.errors import TitoError, UsageError
from tito.grading.gradebook import late
from tito.grading.gradebook.bulk import refuse_lines
from tito.grading.gradebook.database import transaction, write
from tito.grading.gradebook.grade import (
    Comment,
    Instructions,
    Standing,
    counting_grade,
    parse_points,
    select_check,
)
from tito.grading.gradebook.gradebook import Gradebook
from tito.grading.gradebook.history import (
    add_change,
    check_seen,
    instruction_entries,
    instructions_about,
)
from tito.grading.gradebook.learners import lock_learner
from tito.grading.gradebook.result_store import result_rows
from tito.grading.gradebook.tables import CHANGE, CUT, LEARNER, now, sql


def override(
    book: Gradebook,
    student: str,
    lesson: str,
    points: Decimal | int | float | str | None,
    who: str,
    why: str,
    check: str | None = None,
    seen: int | None = None,
) -> tuple[Decimal, Decimal]:
    """Set the points of a lesson, or of one check of it, by hand; `points` None lifts that.

    points  a number or text such as "7.5", kept to 0.01 point, between 0 and what lesson or
            check can earn: 80 for 8.0 is a slip of the finger. They are final: no lateness is
            taken from them, no grading changes them.
    check   its id, or a part of it that no other check of the lesson has
    seen    the `last_change` that whoever sets them knows of; when there is a later one,
            ChangedMeanwhile is raised

    Returns (points of the lesson before, points after), before the late rules.
    """
    return write(
        book.engine,
        lambda database: _override(
            book, database, student, lesson, points, who, why, check, seen=seen
        ),
    )


def _override(book, database, student, lesson, points, who, why, check, repeat=True, seen=None):
    """What `override` does. Without `repeat`, None where that is set already."""
    learner = lock_learner(database, student, who, why)
    check_seen(database, learner, lesson, seen)
    rows = result_rows(database, learner, [lesson])
    if not rows:
        raise UsageError(
            f"{learner} has no grade in {lesson} yet.",
            f"Grade it first, even if nothing was handed in: tito grade SUBMISSIONS {lesson}",
        )
    instructions = instructions_about(database, learner)
    person = database.execute(sql.select(LEARNER).filter_by(student=learner)).one()
    result = counting_grade(person, rows, instructions, book.rules).result
    ids = [check.id for check in result.checks]
    if points is None:  # what was set may be of a check that the lesson has no more
        ids += [name for place, name in instructions.overrides if place == lesson and name]
    check_id = check and select_check(check, lesson, list(dict.fromkeys(ids)))
    new = None if points is None else parse_points(points, result, check_id)
    old = instructions.overrides.get((lesson, check_id))
    if not repeat and new == (old and old.points):
        return None
    if new is None and not old:
        raise UsageError(
            f"{learner} has no override of {check_id or lesson} that could be lifted.",
            f"What was set: tito gradebook history {learner}",
        )
    before = instructions.sum_points(result)
    graded = next((one.points for one in result.checks if one.id == check_id), result.points)
    instructions.override(lesson, check_id, new, who, now(), why)
    after = instructions.sum_points(result)
    add_change(
        database,
        learner,
        lesson,
        "override",
        who,
        why,
        f"instead of {old.points} by {old.who}" if old else None,
        check_id=check_id,
        points=new,
        old_points=before,
        new_points=after,
        replaced={"graded": graded},
    )
    return before, after


def comment(
    book: Gradebook,
    student: str,
    lesson: str | None,
    text: str | None,
    who: str,
    seen: int | None = None,
    only: Comment | None = None,
) -> None:
    """Tell the learner something about a lesson or (None) in general.

    text  None takes those comments back; with `only`, that one
    seen  as in `override`
    """
    write(
        book.engine,
        lambda database: _comment(database, student, lesson, text, who, seen=seen, only=only),
    )


def _comment(database, student, lesson, text, who, repeat=True, seen=None, only=None):
    """What `comment` does. Without `repeat`, False where that was said already."""
    if text is not None and not text.strip():
        raise UsageError("The comment is empty.", "Write what the learner should read.")
    if text is not None and len(text) > CUT:
        raise UsageError(
            f"The comment has {len(text):,} characters, and {CUT:,} are kept.",
            "Say it in several comments.",
        )

    learner = lock_learner(database, student, who)
    check_seen(database, learner, lesson, seen)
    said = instructions_about(database, learner).comments(lesson)
    if not repeat and (text in [comment.text for comment in said] if text else not said):
        return False
    one = {"comment": [only.text, only.who]} if only else None
    add_change(database, learner, lesson, "comment", who, "", text=text, replaced=one)
    return True


def extend(
    book: Gradebook,
    student: str,
    lesson: str | None,
    who: str,
    why: str,
    until: datetime | None = None,
    days: int | None = None,
) -> None:
    """Give a learner more time for a lesson.

    lesson  None: for all that have no extension of their own
    until   the new due date, with a time zone; or
    days    that many days more, 1 or more; with neither, the extension is taken back
    """
    write(
        book.engine,
        lambda database: _extend(database, student, lesson, who, why, until, days),
    )


def _extend(database, student, lesson, who, why, until, days, repeat=True):
    """What `extend` does. Without `repeat`, False where that was given already."""
    if until is not None and days is not None:
        raise UsageError(
            f"An extension until {until} and one by {days} days contradict each other.",
            "Give one of the two.",
        )
    if until is not None and until.tzinfo is None:
        raise UsageError(
            f"{until} has no time zone.",
            f"Write it like this: {until.isoformat(timespec='seconds')}+01:00",
        )
    if days is not None and not 1 <= days <= 1000:
        raise UsageError(
            f"An extension by {days} days makes no sense.", "Give between 1 and 1000 days."
        )

    learner = lock_learner(database, student, who, why)
    given = instructions_about(database, learner).extensions.get(lesson)
    if not repeat and given == (late.Extension(until, days) if until or days else None):
        return False
    add_change(database, learner, lesson, "extension", who, why, until=until, days=days)
    return True


def apply(book: Gradebook, wishes: Iterable, who: str) -> tuple[int, int]:
    """Do what the lines of a file ask for (`bulk.Wish`): all of it, or, when one cannot be
    done, nothing. What holds already is left as it is.

    Returns (wishes that changed something, wishes that did not). Raises TitoError with every
    line that cannot be done.
    """

    def work(database):
        new, refused, wished = 0, [], list(wishes)
        for wish in wished:
            place, by = (database, wish.student, wish.lesson), (who, wish.why)
            try:
                if wish.kind == "override":
                    points = _override(book, *place, wish.points, *by, wish.check, repeat=False)
                    new += points is not None
                elif wish.kind == "extension":
                    new += _extend(*place, *by, wish.until, wish.days, repeat=False)
                else:
                    new += _comment(*place, wish.text, who, repeat=False)
            except TitoError as error:
                refused.append(f"{wish.where}: {error.what} {error.remedy}".rstrip())
        refuse_lines(refused)
        return new, len(wished) - new

    return write(book.engine, work)


def overrides(book: Gradebook) -> list[Standing]:
    """The overrides that hold, by learner, with what is to be said against each."""
    overridden = sql.select(CHANGE.c.student).where(CHANGE.c.kind == "override").distinct()
    found = []
    with transaction(book.engine) as database:
        for student in sorted(database.execute(overridden).scalars()):
            learner = database.execute(
                sql.select(LEARNER.c["student", "name"]).where(LEARNER.c.student == student)
            ).one()
            instructions = instructions_about(database, student)
            results = [grade.result for grade in book.grades(database, student).values()]
            found += instructions.standing(learner, results)
    return found


def comments_again(book: Gradebook, lesson: str) -> list[tuple[str, int]]:
    """[(text, for how many learners it stands)] of the comments on a lesson, the most used
    first.
    """
    with transaction(book.engine) as database:
        entries = [
            entry
            for entry in instruction_entries(database, kind="comment")
            if entry.lesson == lesson
        ]
    said = {}
    for entry in entries:
        said.setdefault(entry.student, []).append(entry)
    used = Counter(
        text
        for mine in said.values()
        for text in {comment.text for comment in Instructions(mine).comments(lesson)}
    )
    return sorted(used.items(), key=lambda pair: (-pair[1], pair[0]))
