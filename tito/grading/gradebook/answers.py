"""Free answers in a gradebook: read them, judge them, and change their rubrics.

A judgement belongs to a learner, a question and the text of an answer (its SHA-256). An answer that
is handed in again unchanged keeps its judgement. A changed answer has to be judged again, and the
earlier judgement is shown next to it. A judgement is an entry of the history of kind "judged",
which is never edited; the last one counts. The table `rubric` has a row for each version of an
item.

Functions raise UsageError for an unknown learner, question or item and for an empty `who`, and
ChangedMeanwhile if the gradebook has changed since the `seen` or `answer` that they receive.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from tito.errors import UsageError
from tito.grading.gradebook import late
from tito.grading.gradebook.database import split_rows, transaction, write
from tito.grading.gradebook.grade import ClassMember, Grade
from tito.grading.gradebook.gradebook import Gradebook
from tito.grading.gradebook.history import (
    ChangedMeanwhile,
    PointsChange,
    add_change,
    change_of,
    rubric_items,
)
from tito.grading.gradebook.learners import lock_learner, lock_learners
from tito.grading.gradebook.rubric import EMPTY, JUDGED, GradedAnswer, RubricItem
from tito.grading.gradebook.tables import CHANGE, LEFT, RUBRIC, TEXT, clean, now, sql
from tito.lesson.lesson_format import Question

Sections = str | Collection[str] | None  # only learners of this section, or of one of these


COURSE = "the course"  # who wrote an item that came with a question


@dataclass(frozen=True)
class QuestionProgress:
    """How far the answers to one question are judged, of the submissions that count."""

    lesson: str
    number: int
    question: str
    max_points: int
    judged: int
    waiting: int
    empty: int

    @property
    def written(self) -> int:
        return self.judged + self.waiting


@dataclass(frozen=True)
class LearnerAnswer:
    """A learner's answer to a question, of the submission that counts.

    text  what they wrote: escape it wherever it is shown; cut where `graded.answer.length` is more
    """

    learner: ClassMember
    graded: GradedAnswer
    text: str


@dataclass(frozen=True)
class NewJudgement:
    """A new judgement of an answer.

    items       ids of the rubric's items; None removes the judgement
    adjustment  points besides theirs
    comment     for the learner
    answer      the SHA-256 of the answer that the person has read; None: whatever counts now
    seen        the ids of the judgements that they know of; None: whatever there is
    """

    question: str
    items: tuple[int, ...] | None
    adjustment: Decimal = Decimal(0)
    comment: str = ""
    answer: str | None = None
    seen: Collection[int] | None = None


@dataclass(frozen=True)
class RubricChange:
    """A change of a rubric, for all answers that have its item, judged or to be judged.

    item    its id; None adds one at the end
    points  may be negative; None removes the item: where it is ticked, it counts nothing
    seen    the version of the item that the person knows
    unused  the person may only change an item that no judgement has
    """

    lesson: str
    question: str
    item: int | None
    points: Decimal | None
    text: str = ""
    seen: int | None = None
    unused: bool = False


# What is read


def question_progress(
    book: Gradebook, lesson: str, section: Sections = None
) -> list[QuestionProgress]:
    """The questions of a lesson that was graded."""
    number = book.lessons().get(lesson, (0,))[0]
    by_question: dict[str, list[GradedAnswer]] = {}
    for _, answer in _counting_answers(book, lesson, section):
        by_question.setdefault(answer.question, []).append(answer)
    return [
        QuestionProgress(
            lesson,
            number,
            question,
            answers[0].max_points,
            judged=sum(answer.state == JUDGED for answer in answers),
            waiting=sum(answer.state not in (JUDGED, EMPTY) for answer in answers),
            empty=sum(answer.state == EMPTY for answer in answers),
        )
        for question, answers in by_question.items()
    ]


def equal_answers(rows: Iterable[LearnerAnswer]) -> list[list[LearnerAnswer]]:
    """The answers in groups. In a group they differ in blank lines and the ends of lines at most,
    since indentation matters in code.
    """
    groups: dict[tuple[str, str], list[LearnerAnswer]] = {}
    for row in rows:
        answer = row.graded.answer
        cut = answer.sha256 if answer.length > len(row.text) else ""
        lines = (line.rstrip() for line in row.text.splitlines())
        groups.setdefault(("\n".join(filter(None, lines)), cut), []).append(row)
    return list(groups.values())


def learner_answers(
    book: Gradebook, lesson: str, question: str, section: Sections = None
) -> list[LearnerAnswer]:
    """The answers to a question, by learner, also empty ones; without learners who left."""
    answers = [
        (learner, answer)
        for learner, answer in _counting_answers(book, lesson, section)
        if answer.question == question
    ]
    texts = answer_texts(book, [answer.answer.sha256 for _, answer in answers])
    return [
        LearnerAnswer(learner, answer, texts.get(answer.answer.sha256, ""))
        for learner, answer in answers
    ]


def _counting_answers(
    book: Gradebook, lesson: str, section: Sections
) -> Iterator[tuple[ClassMember, GradedAnswer]]:
    for learner, grades in book.by_learner(lesson=lesson, section=section):
        if learner.state != LEFT:
            for grade in grades:
                yield from ((learner, answer) for answer in grade.answers)


def answer_texts(book: Gradebook, hashes: Iterable[str]) -> dict[str, str]:
    """{SHA-256: text} of these answers."""
    wanted = sorted({sha256 for sha256 in hashes if sha256})
    texts: dict[str, str] = {}
    with transaction(book.engine) as database:
        for start in range(0, len(wanted), 500):
            query = sql.select(TEXT).where(TEXT.c.sha256.in_(wanted[start : start + 500]))
            texts |= {row.sha256: row.data for row in split_rows(database, query, TEXT)[0]}
    return texts


def rubric(book: Gradebook, lesson: str, question: str, removed: bool = False) -> list[RubricItem]:
    """The items of a question's rubric, in their order; removed: also the removed ones."""
    with transaction(book.engine) as database:
        return list(rubric_items(database, lesson, question, removed).values())


def item_before(book: Gradebook, item: int) -> tuple[Decimal | None, str]:
    """(points, text) of an item before its last change. Raises UsageError if it has none."""
    query = sql.select(RUBRIC.c.points, RUBRIC.c.text).filter_by(item=item)
    with transaction(book.engine) as database:
        row = database.execute(query.order_by(RUBRIC.c.version.desc()).offset(1)).first()
    if not row:
        raise UsageError("This item was never changed.", "Look at the rubric again.")
    return row.points, row.text


def grades_as_json(book: Gradebook, grades: Iterable[Grade]) -> Iterator[dict[str, Any]]:
    """Grades for programs. Each answer comes with its text, and with its question's rubric."""
    for grade in grades:
        value = grade.as_json()
        if value["answers"]:
            texts = answer_texts(book, [answer["sha256"] for answer in value["answers"]])
            for answer in value["answers"]:
                items = rubric(book, grade.lesson, answer["question"])
                answer["text"] = texts.get(answer["sha256"], "")
                answer["rubric"] = [item.as_json() for item in items]
        yield value


# Rubrics


def bring_rubrics(
    book: Gradebook, asked: Mapping[tuple[str, str], Question]
) -> list[tuple[str, str]]:
    """Write the rubrics of the course's questions, {(lesson, name): Question}. A rubric that a
    person has changed stays as it is. So does one by which an answer is judged: returns the
    questions of those that differ from the course's.
    """

    def work(database: sql.Connection) -> list[tuple[str, str]]:
        kept = []
        judged = {
            (row.lesson, row.replaced["question"])
            for row in database.execute(sql.select(CHANGE).filter_by(kind="judged"))
        }
        for (lesson, name), question in asked.items():
            place = {"lesson": lesson, "question": name}
            authors = set(database.scalars(sql.select(RUBRIC.c.who).filter_by(**place)))
            items = rubric_items(database, lesson, name).values()
            same = tuple((item.points, item.text) for item in items) == question.rubric
            if same or authors - {COURSE}:
                continue
            if (lesson, name) in judged:
                kept.append((lesson, name))
                continue
            row = place | {"who": COURSE, "at": now(), "points": None}
            for item in items:
                gone = {"item": item.id, "place": item.place, "text": item.text}
                database.execute(sql.insert(RUBRIC).values(row | gone))
            for at, (points, text) in enumerate(question.rubric, 1):
                _add_item(database, row | {"place": at, "points": points, "text": clean(text)})

        return kept

    return write(book.engine, work)


def _add_item(database: sql.Connection, row: dict[str, Any]) -> None:
    """Insert a new item, whose id is its first version."""
    version = database.execute(sql.insert(RUBRIC).values(row | {"item": 0})).inserted_primary_key
    newest = sql.update(RUBRIC).filter_by(item=0)
    database.execute(newest.values(item=version[0] if version else 0))


def change_rubric(
    book: Gradebook, change: RubricChange, who: str, preview: bool = False
) -> list[PointsChange]:
    """Returns the grades that count less or more by it; `book.points_lost` has those that fell.

    preview  write nothing
    """
    moved = write(
        book.engine, lambda database: _change_rubric(book, database, change, who), preview
    )
    if not preview:
        book.note_points(moved)
    return moved


def _change_rubric(
    book: Gradebook, database: sql.Connection, change: RubricChange, who: str
) -> list[PointsChange]:
    if not who.strip():
        raise UsageError("Every change keeps who made it.", "Say who you are.")
    if change.points is not None and not change.text.strip():
        raise UsageError("An item of a rubric needs a text.", "Say what an answer has, or lacks.")
    place = {"lesson": change.lesson, "question": change.question}
    # A lock: no other grader changes this rubric meanwhile.
    database.execute(sql.select(RUBRIC.c.version).filter_by(**place).with_for_update())
    items = rubric_items(database, change.lesson, change.question, removed=True)
    row = place | {"who": clean(who), "at": now(), "points": change.points}
    if change.item is None:
        text = clean(change.text.strip())
        _add_item(database, row | {"place": len(items) + 1, "text": text})
        return []
    item = items.get(change.item)
    if not item or (item.points is None and change.seen is None):
        raise _no_item(change.lesson, change.question)
    if change.seen not in (None, item.version):
        query = sql.select(RUBRIC.c.who).filter_by(version=item.version)
        author = database.execute(query).scalar()
        raise ChangedMeanwhile([], f"{author} changed this item")
    judged = _learners_with(database, change, item)
    if change.unused and judged:
        raise UsageError(
            "This item is used in a judgement.", "Only an instructor can change or remove it."
        )
    judged = judged if change.points != item.points else []
    before = [book.grades_within(database, student, [change.lesson]) for student in judged]
    text = item.text if change.points is None else clean(change.text.strip())
    values = row | {"item": item.id, "place": item.place, "text": text}
    database.execute(sql.insert(RUBRIC).values(values))
    moves = ["removed" if p is None else late.shown(p) for p in (item.points, change.points)]
    why = f"{change.question}: {item.text[:100]!r} {' -> '.join(moves)}"
    grades = [grade for by_lesson in before for grade in by_lesson.values()]
    return list(_note_changes(book, database, grades, who, why))


def _no_item(lesson: str, question: str) -> UsageError:
    return UsageError(
        f"The rubric of {lesson} {question} has no such item; it may have been removed.",
        "Look at the rubric again.",
    )


def _learners_with(database: sql.Connection, change: RubricChange, item: RubricItem) -> list[str]:
    """The ids of the learners with a judgement in which an item is ticked."""
    query = sql.select(*CHANGE.c["student", "replaced"])
    rows = database.execute(query.filter_by(lesson=change.lesson, kind="judged"))
    return sorted(
        {
            row.student
            for row in rows
            if row.replaced["question"] == change.question and item.id in row.replaced["items"]
        }
    )


def _note_changes(
    book: Gradebook, database: sql.Connection, before: list[Grade], who: str, why: str
) -> Iterator[PointsChange]:
    """Add an entry to the history for each of these grades that a rubric changed."""
    for old in before:
        new = book.grades_within(database, old.student, [old.lesson])[old.lesson]
        if old.before_late != new.before_late:
            points = {"old_points": old.before_late, "new_points": new.before_late}
            add_change(database, old.student, old.lesson, "rubric", who, why=why, **points)
        if old.points != new.points:
            yield PointsChange(old.student, old.name, old.lesson, old.points, new.points, why)


# Judgements


def judge(book: Gradebook, student: str, lesson: str, new: NewJudgement, who: str) -> GradedAnswer:
    """Judge the answer of the submission that counts: its points are the points of the ticked items
    plus the adjustment, within 0 and the question's points. It replaces an earlier judgement, which
    stays in the history. Returns what the answer counts now.
    """
    return judge_equal(book, {student: new.answer}, lesson, new, who)[0]


def judge_equal(
    book: Gradebook, hashes: Mapping[str, str | None], lesson: str, new: NewJudgement, who: str
) -> list[GradedAnswer]:
    """Judge equal answers of several learners alike, all or none. hashes: {learner: the SHA-256 of
    their answer}, as `NewJudgement.answer`.
    """
    moved: list[PointsChange] = []

    def work(database: sql.Connection) -> list[GradedAnswer]:
        moved.clear()
        lock_learners(database, set(hashes))
        graded = []
        for student, sha256 in hashes.items():
            learner = lock_learner(database, student, who).student
            before = book.grades_within(database, learner, [lesson]).get(lesson)
            mine = replace(new, answer=sha256)
            entry = _judge(database, before, student, lesson, mine, who)
            after = book.grades_within(database, learner, [lesson])[lesson]
            if entry and before:
                points = {"new_points": after.before_late}
                database.execute(sql.update(CHANGE).where(CHANGE.c.id == entry).values(points))
                names = (learner, after.name, lesson)
                moved.append(PointsChange(*names, before.points, after.points, new.question))
            graded.append(answer_to(after, student, lesson, new.question))
        return graded

    graded = write(book.engine, work)
    book.note_points(moved)
    return graded


def _judge(
    database: sql.Connection,
    grade: Grade | None,
    student: str,
    lesson: str,
    new: NewJudgement,
    who: str,
) -> int | None:
    """Returns the entry of the history, or None where that holds already; its `new_points` are the
    caller's to write. grade: of the lesson, as it counts.
    """
    graded = answer_to(grade, student, lesson, new.question)
    if new.answer not in (None, graded.answer.sha256):
        raise ChangedMeanwhile([], "The learner handed in another answer, which counts now,")
    if _holds(graded, new, who, exactly=True):  # a form that was sent twice, say
        return None
    assert grade
    _check_judgement_seen(database, grade, graded, new)
    _check_can_hold(database, grade, graded, new)
    if _holds(graded, new, who, exactly=False):
        return None
    taken_back = new.items is None
    return add_change(
        database,
        grade.student,
        lesson,
        "judged",
        who,
        why=f"{new.question}: taken back" if taken_back else new.question,
        points=None if taken_back else new.adjustment,
        text=new.comment or None,
        replaced={
            "question": new.question,
            "answer": graded.answer.sha256,
            "items": list(dict.fromkeys(new.items or ())),
        },
        old_points=grade.before_late,
    )


def _holds(graded: GradedAnswer, new: NewJudgement, who: str, exactly: bool) -> bool:
    """Whether an answer is judged like this; exactly: by the same person."""
    known = graded.judgement
    if new.items is None or not known:
        return not exactly and new.items is None and not known
    same = set(known.ids) == set(new.items) and known.adjustment == new.adjustment
    same = same and known.comment == clean(new.comment)
    return same and (not exactly or known.who == clean(who))


def _check_judgement_seen(
    database: sql.Connection, grade: Grade, graded: GradedAnswer, new: NewJudgement
) -> None:
    """Raise ChangedMeanwhile when this answer was judged after the judgement that was seen."""
    if new.seen is None:
        return
    place = {"student": grade.student, "lesson": grade.lesson, "kind": "judged"}
    query = sql.select(CHANGE).filter_by(**place).order_by(CHANGE.c.id)
    about = {"question": new.question, "answer": graded.answer.sha256}
    entries = [
        entry for entry in database.execute(query) if about.items() <= entry.replaced.items()
    ]
    known = {entry.id for entry in entries} & set(new.seen)
    if graded.judgement.id not in known if graded.judgement else known:
        raise ChangedMeanwhile(
            [change_of(entry) for entry in entries if entry.id > max(known, default=0)]
        )


def _check_can_hold(
    database: sql.Connection, grade: Grade, graded: GradedAnswer, new: NewJudgement
) -> None:
    """Raise UsageError for an empty answer, and for items that the rubric does not have."""
    student, lesson = grade.student, grade.lesson
    if graded.state == EMPTY:
        raise UsageError(
            f"{student} wrote nothing for {lesson} {new.question}: it counts 0.",
            f"Set the points of the lesson: tito gradebook set {student} {lesson} --points P",
        )
    if set(new.items or ()) - rubric_items(database, lesson, new.question).keys():
        raise _no_item(lesson, new.question)


def answer_to(grade: Grade | None, student: str, lesson: str, question: str) -> GradedAnswer:
    for answer in grade.answers if grade else ():
        if answer.question == question:
            return answer
    raise UsageError(
        f"{student} has no graded answer to {lesson} {question}.",
        f"Is that the question's name? Else grade it: tito grade SUBMISSIONS {lesson}",
    )
