"""Free answers in a gradebook: reading them, their rubrics, and what persons judge.

A judgement belongs to a learner, a question and the very text of an answer (its SHA-256): handed in
again unchanged, an answer keeps its judgement; changed, it is to be judged again, and the one
before is shown beside it. A judgement is an entry of the history of kind "judged", never edited;
the last one holds. An item of a rubric is a row of the table `rubric` for each of its versions.

Functions raise TitoError for an unknown learner, question or item, for an empty `who`, and
`ChangedMeanwhile` where `seen` or `answer` is not what the book has now.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from tito.errors import TitoError, UsageError
from tito.grading.csv_tables import decoded, normalised, table
from tito.grading.gradebook import late
from tito.grading.gradebook.bulk import refuse_lines
from tito.grading.gradebook.database import transaction, write
from tito.grading.gradebook.gradebook import Gradebook
from tito.grading.gradebook.history import (
    ChangedMeanwhile,
    Fall,
    add_change,
    change_of,
    rubric_items,
)
from tito.grading.gradebook.learners import lock_learner
from tito.grading.gradebook.rubric import EMPTY, JUDGED, Graded, Item
from tito.grading.gradebook.tables import (
    ANSWER,
    CHANGE,
    CUT,
    LEFT,
    RUBRIC,
    clean,
    learner_id,
    now,
    sql,
)
from tito.grading.roster import in_section

COLUMNS = ("student", "lesson", "question", "items", "adjustment", "comment")
TAKE_BACK = "lift"


@dataclass(frozen=True)
class Progress:
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
class Row:
    """A learner's answer to a question, of the submission that counts.

    text  what they wrote: escape it wherever it is shown; cut where `graded.answer.length` is more
    """

    student: str
    name: str
    graded: Graded
    text: str

    def as_json(self) -> dict:
        return {"student": self.student, "name": self.name, "text": self.text} | (
            self.graded.as_json()
        )


@dataclass(frozen=True)
class Wish:
    """One judgement of a table: as the arguments of `judge`; `items` None takes it back.

    where  file and line
    """

    where: str
    student: str
    lesson: str
    question: str
    items: tuple[int, ...] | None
    adjustment: Decimal
    comment: str


# What is read


def overview(
    book: Gradebook, lesson: str | None = None, section: str | None = None
) -> list[Progress]:
    """The questions of what was graded, in the order of the lessons; of one lesson, or of all."""
    found = []
    for name, (number, _, _) in book.lessons().items():
        counts = {}  # {question: [max_points, judged, waiting, empty]}
        for _, grade in _standing(book, name, section) if lesson in (None, name) else ():
            for one in grade.answers:
                mine = counts.setdefault(one.question, [one.max_points, 0, 0, 0])
                mine[1] += one.state == JUDGED
                mine[2] += one.state not in (JUDGED, EMPTY)
                mine[3] += one.state == EMPTY
        found += [Progress(name, number, question, *mine) for question, mine in counts.items()]
    return found


def rows(book: Gradebook, lesson: str, question: str, section: str | None = None) -> list[Row]:
    """The answers to a question, by learner, without those who left; empty ones too."""
    found = [
        (learner, one)
        for learner, grade in _standing(book, lesson, section)
        for one in grade.answers
        if one.question == question
    ]
    texts = _texts(book, [one.answer.sha256 for _, one in found])
    return [
        Row(learner.student, learner.name, one, texts.get(one.answer.sha256, ""))
        for learner, one in found
    ]


def _standing(book, lesson, section):
    """(Learner, Grade) of a lesson, of whoever has not left."""
    learners = {
        one.student: one
        for one in book.learners()
        if one.state != LEFT and (section is None or in_section(one.columns, section))
    }
    return [(learners[grade.student], grade) for grade in book.standing(learners, [lesson])]


def row(book: Gradebook, student: str, lesson: str, question: str) -> Row:
    """One learner's answer."""
    for learner, grades in book.by_learner(student, lesson):
        for grade in grades:
            for one in grade.answers:
                if one.question == question:
                    said = text(book, one.answer.sha256)
                    return Row(learner.student, learner.name, one, said or "")
    raise _unknown(student, lesson, question)


def text(book: Gradebook, sha256: str) -> str | None:
    """The text of an answer; None for one that the book does not have."""
    return _texts(book, [sha256]).get(sha256)


def _texts(book, hashes):
    """{SHA-256: text} of these answers."""
    wanted, found = sorted({one for one in hashes if one}), {}
    with transaction(book.engine) as database:
        for start in range(0, len(wanted), 500):
            query = sql.select(ANSWER).where(ANSWER.c.sha256.in_(wanted[start : start + 500]))
            found |= {row.sha256: row.text for row in database.execute(query)}
    return found


def history(book: Gradebook, student: str, lesson: str, question: str) -> list:
    """Every judgement of a learner's answers to a question, oldest first, as rows of the table
    `change`: who, at, points (the adjustment; None: taken back), text (the comment), replaced.
    """
    with transaction(book.engine) as database:
        return _entries(database, learner_id(student), lesson, question)


def _entries(database, student, lesson, question):
    query = sql.select(CHANGE).filter_by(student=student, lesson=lesson, kind="judged")
    entries = database.execute(query.order_by(CHANGE.c.id)).all()
    return [entry for entry in entries if entry.replaced["question"] == question]


# Rubrics


def rubric(book: Gradebook, lesson: str, question: str) -> list[Item]:
    """The items of a question's rubric, in their order."""
    with transaction(book.engine) as database:
        return list(rubric_items(database, lesson, question).values())


def used(book: Gradebook, lesson: str, question: str) -> dict[int, int]:
    """{item id: how many of the answers that count have it ticked}."""
    counts = {item.id: 0 for item in rubric(book, lesson, question)}
    for _, grade in _standing(book, lesson, None):
        for one in grade.answers:
            if one.question == question and one.judgement:
                for item in one.judgement.ids:
                    counts[item] = counts.get(item, 0) + 1
    return counts


def add_item(book: Gradebook, lesson: str, question: str, text: str, points, who: str) -> Item:
    """Add an item at the end of a rubric. Points may be negative."""
    text, points = _item_text(text), _points(points)
    _check_who(who)

    def work(database):
        items = _locked_items(database, lesson, question)
        values = {"lesson": lesson, "question": question, "place": len(items) + 1}
        values |= {"points": points, "text": text, "who": clean(who), "at": now(), "item": 0}
        made = database.execute(sql.insert(RUBRIC).values(values)).inserted_primary_key[0]
        database.execute(sql.update(RUBRIC).filter_by(version=made).values(item=made))
        return rubric_items(database, lesson, question)[made]

    return write(book.engine, work)


def change_item(
    book: Gradebook,
    lesson: str,
    question: str,
    item: int,
    who: str,
    points=None,
    text: str | None = None,
    place: int | None = None,
    seen: int | None = None,
) -> list[Fall]:
    """Change an item of a rubric for all answers that have it, judged or to be judged.

    item    its id
    points, text, place  what becomes another; None stays
    seen    the version of the item that whoever changes it knows

    Returns the grades that count less or more now; `book.fell` has those that fell.
    """
    new = {}
    if points is not None:
        new["points"] = _points(points)
    if text is not None:
        new["text"] = _item_text(text)
    return _change(book, lesson, question, item, who, new, place, seen)


def remove_item(
    book: Gradebook, lesson: str, question: str, item: int, who: str, seen: int | None = None
) -> list[Fall]:
    """Take an item out of a rubric: where it is ticked, it counts nothing. As `change_item`."""
    return _change(book, lesson, question, item, who, {"points": None}, None, seen)


def _change(book, lesson, question, item, who, new, place, seen):
    _check_who(who)

    def work(database):
        items = _locked_items(database, lesson, question)
        if item not in items:
            raise UsageError(
                f"The rubric of {lesson} {question} has no such item; somebody may have removed "
                "it.",
                f"It has {len(items)}: tito gradebook rubric {lesson} {question}",
            )
        old = items[item]
        if seen is not None and seen != old.version:
            raise ChangedMeanwhile([], f"{_who_wrote(database, old.version)} changed this item")
        removed = "points" in new and new["points"] is None
        counts = "points" in new and new["points"] != old.points
        judged = _that_have(database, lesson, question, item) if counts else []
        before = {one: _grade(book, database, one, lesson) for one in judged}
        order = [one for one in items if one != item]
        if not removed:
            order.insert(old.place - 1 if place is None else max(0, place - 1), item)
        told = {"who": clean(who), "at": now(), "lesson": lesson, "question": question}
        for number, one in enumerate(order, 1):
            values = {"points": items[one].points, "text": items[one].text}
            values |= new if one == item else {}
            if values | {"place": number} != {
                "points": items[one].points,
                "text": items[one].text,
                "place": items[one].place,
            }:
                row = told | values | {"item": one, "place": number}
                database.execute(sql.insert(RUBRIC).values(row))
        if removed:
            row = told | {"item": item, "place": old.place, "points": None, "text": old.text}
            database.execute(sql.insert(RUBRIC).values(row))
        now_worth = "removed" if removed else late.shown(new.get("points", old.points))
        why = f"{question}: {old.text[:100]!r} {late.shown(old.points)} -> {now_worth}"
        return [
            fall
            for student in judged
            for fall in _add_fall(book, database, student, lesson, who, why, before[student])
        ]

    moved = write(book.engine, work)
    book.move(moved)
    return moved


def _locked_items(database, lesson, question):
    """{id: Item} of a rubric that nobody else changes meanwhile."""
    place = {"lesson": lesson, "question": question}
    database.execute(sql.select(RUBRIC.c.version).filter_by(**place).with_for_update())
    return rubric_items(database, lesson, question)


def _who_wrote(database, version):
    return database.execute(sql.select(RUBRIC.c.who).filter_by(version=version)).scalar()


def _that_have(database, lesson, question, item):
    """The ids of the learners with a judgement in which an item is ticked."""
    query = sql.select(CHANGE.c["student", "replaced"]).filter_by(lesson=lesson, kind="judged")
    return sorted(
        {
            student
            for student, said in database.execute(query)
            if said["question"] == question and item in said["items"]
        }
    )


# Judgements


def judge(
    book: Gradebook,
    student: str,
    lesson: str,
    question: str,
    who: str,
    items: Iterable[int] = (),
    adjustment=0,
    comment: str = "",
    answer: str | None = None,
    seen: int | None = None,
) -> Graded:
    """Judge the answer of the submission that counts: its points are those of the ticked items and
    the adjustment, within 0 and the question's points. An earlier judgement of it is replaced, and
    stays in the history.

    items       ids of the rubric's items
    adjustment  points besides theirs: a number, or text such as "-0.5"
    comment     for the learner
    answer      the SHA-256 of the answer that whoever judges has read; None: whatever counts now
    seen        the id of the judgement that they know of, 0: of none; None: whatever there is

    Returns what the answer counts now.
    """
    asked = (student, lesson, question, tuple(items), _points(adjustment), _comment(comment))

    def work(database):
        return _judge(book, database, *asked, who, answer, seen)

    graded, moved = write(book.engine, work)
    book.move(moved or [])
    return graded


def take_back(
    book: Gradebook, student: str, lesson: str, question: str, who: str, seen: int | None = None
) -> Graded:
    """Take the judgement of an answer back: it is to be judged again. As `judge`."""

    def work(database):
        return _judge(book, database, student, lesson, question, None, None, "", who, None, seen)

    graded, moved = write(book.engine, work)
    book.move(moved or [])
    return graded


def apply(book: Gradebook, wishes: Iterable[Wish], who: str) -> tuple[int, int]:
    """Judge what a table says (`read`): all of it, or, when a line cannot be done, nothing.

    Returns (judgements that changed something, those that held already). Raises TitoError with
    every line that cannot be done.
    """

    def work(database):
        new, moved, refused, wished = 0, [], [], list(wishes)
        for wish in wished:
            place = (wish.student, wish.lesson, wish.question)
            try:
                items = _ids(database, wish)
                said = (items, wish.adjustment, wish.comment)
                _, falls = _judge(book, database, *place, *said, who, None, None)
                new += falls is not None
                moved += falls or []
            except TitoError as error:
                refused.append(f"{wish.where}: {error.what} {error.remedy}".rstrip())
        refuse_lines(refused)
        return new, len(wished) - new, moved

    new, known, moved = write(book.engine, work)
    book.move(moved)
    return new, known


def _ids(database, wish):
    """The ids of the items that a line names by their places in the rubric."""
    if wish.items is None:
        return None
    by_place = {
        item.place: item.id for item in rubric_items(database, wish.lesson, wish.question).values()
    }
    return item_ids(by_place, wish.items, wish.lesson, wish.question)


def item_ids(by_place: dict[int, int], places: Iterable[int], lesson: str, question: str) -> tuple:
    """The ids of the items at these places of a rubric, {place: id}."""
    for place in places:
        if place not in by_place:
            raise UsageError(
                f"The rubric of {lesson} {question} has no item {place}.",
                f"It has {len(by_place)}: tito gradebook rubric {lesson} {question}",
            )
    return tuple(by_place[place] for place in places)


def _judge(
    book, database, student, lesson, question, items, adjustment, comment, who, answer, seen
):
    """What `judge` does; `items` None takes back. Returns (Graded, Falls and rises); None instead
    of those where that holds already.
    """
    learner = lock_learner(database, student, who)
    before = _grade(book, database, learner, lesson)
    one = _of_question(before, student, lesson, question)
    entries = _entries(database, learner, lesson, question)
    mine = [entry for entry in entries if entry.replaced["answer"] == one.answer.sha256]
    last = mine[-1].id if mine else 0
    if answer is not None and answer != one.answer.sha256:
        raise ChangedMeanwhile([], f"{student} handed in another answer, which counts now,")
    known, said = one.judgement.id if one.judgement else 0, one.judgement
    same = bool(said) and items is not None
    same = same and (set(said.ids), said.adjustment) == (set(items), adjustment)
    same = same and said.comment == clean(comment)
    if same and said.who == clean(who):  # a form that was sent twice, say
        return one, None
    if seen is not None and seen not in (known, last):
        later = [change_of(entry) for entry in mine if entry.id > seen]
        raise ChangedMeanwhile(later)
    if one.state == EMPTY:
        raise UsageError(
            f"{student} wrote nothing for {lesson} {question}: it counts 0.",
            f"Points all the same: tito gradebook override {student} {lesson} POINTS --why TEXT",
        )
    if items is None and not one.judgement:
        return one, None
    if items is not None:
        strange = set(items) - rubric_items(database, lesson, question).keys()
        if strange:
            raise UsageError(
                f"The rubric of {lesson} {question} has no item with the id {min(strange)}; "
                "somebody may have removed it.",
                f"Look at it again: tito gradebook rubric {lesson} {question}",
            )
        items = tuple(dict.fromkeys(items))
    if same:
        return one, None
    entry = {
        "student": learner,
        "lesson": lesson,
        "kind": "judged",
        "who": clean(who),
        "at": now(),
        "why": question if items is not None else f"{question}: taken back",
        "points": None if items is None else adjustment,
        "text": clean(comment) or None,
        "replaced": {
            "question": question,
            "answer": one.answer.sha256,
            "items": list(items or ()),
        },
        "old_points": before.before_late,
    }
    made = database.execute(sql.insert(CHANGE).values(entry)).inserted_primary_key[0]
    after = _grade(book, database, learner, lesson)
    points = {"new_points": after.before_late}
    database.execute(sql.update(CHANGE).where(CHANGE.c.id == made).values(points))
    return _of_question(after, student, lesson, question), _falls(before, after, question)


def _of_question(grade, student, lesson, question):
    for one in grade.answers if grade else ():
        if one.question == question:
            return one
    raise _unknown(student, lesson, question)


def _unknown(student, lesson, question):
    return UsageError(
        f"{student} has no graded answer to {lesson} {question}.",
        f"Is that the question's name? tito gradebook judge. Else: tito grade SUBMISSIONS {lesson}",
    )


def _grade(book, database, student, lesson):
    return book.grades(database, student, [lesson]).get(lesson)


def _falls(before, after, why):
    if before.points == after.points:
        return []
    one = before
    return [Fall(one.student, one.name, one.lesson, before.points, after.points, why)]


def _add_fall(book, database, student, lesson, who, why, before):
    """Add an entry to the history for a grade that a rubric made another one; returns the Falls."""
    after = _grade(book, database, student, lesson)
    if not before or before.before_late == after.before_late:
        return []
    points = {"old_points": before.before_late, "new_points": after.before_late}
    add_change(database, student, lesson, "rubric", who, why, **points)
    return _falls(before, after, why)


def _check_who(who):
    if not who.strip():
        raise UsageError("Every change keeps who made it.", "Give it: --who NAME")


def _points(points):
    try:
        return late.exact(points)
    except ValueError:
        raise UsageError(
            f"{points!r} is no number of points.", "Write 1, 0.5 or -0.5, say."
        ) from None


def _item_text(text):
    if not text.strip():
        raise UsageError("An item of a rubric needs a text.", "Say what an answer has, or lacks.")
    return _comment(text.strip())


def _comment(text):
    if len(text) > CUT:
        raise UsageError(
            f"That text has {len(text):,} characters, and {CUT:,} are kept.", "Say it shorter."
        )
    return clean(text)


# A table of judgements


def read(path: Path, name_of) -> list[Wish]:
    """The Wishes in a CSV file with the columns student, lesson, question, and items, adjustment,
    comment as needed: items are places in the rubric, `1 3`; `lift` there takes a judgement back.

    name_of  gives the name of the lesson that a text names; raises TitoError for others

    Raises TitoError, with the line, for what cannot be read.
    """
    (_, written), *lines = table(path, decoded(path)[0])
    header = [normalised(name) for name in written]
    if not {"student", "lesson", "question"} <= set(header) or not set(COLUMNS[3:]) & set(header):
        raise UsageError(
            f"{path}:1: the columns are {', '.join(header) or 'none'}.",
            "There should be student, lesson, question, and items, adjustment or comment.",
        )
    return [
        wish
        for number, cells in lines
        if (wish := _wish(f"{path}:{number}", dict(zip(header, cells)), name_of))
    ]


def _wish(where, cells, name_of):
    """What one line asks for; None where its cells for that are empty."""

    def get(name):
        return (cells.get(name) or "").strip()

    missing = [name for name in COLUMNS[:3] if not get(name)]
    if missing:
        raise UsageError(f"{where}: no {missing[0]}.", "Fill it in, or delete the line.")
    if not any(get(name) for name in COLUMNS[3:]):
        return None
    try:
        place = (get("student"), name_of(get("lesson")), get("question"))
        if get("items").lower() == TAKE_BACK:
            return Wish(where, *place, None, Decimal(0), "")
        if not re.fullmatch(r"[\d\s,;+]*", get("items")):
            raise UsageError(f"{get('items')!r} are no items.", "Write their numbers: 1 3")
        items = tuple(int(number) for number in re.findall(r"\d+", get("items")))
        adjustment = re.sub(r"^([+-]?\d+),(\d+)$", r"\1.\2", get("adjustment") or "0")
        return Wish(where, *place, items, _points(adjustment), _comment(get("comment")))
    except TitoError as error:
        raise UsageError(f"{where}: {error.what}", error.remedy) from None
