"""Bring a gradebook up to date that an older tito has made: add the tables that it lacks, and turn
its judgements of answers into overrides.

Such a gradebook has a table of rubrics. A judgement in it names the items of a rubric that an
answer got, whose points can change later; the points that these make today stay.
"""

from decimal import Decimal
from typing import Any

from tito.grading.gradebook.database import sound_rows, write
from tito.grading.gradebook.history import add_change
from tito.grading.gradebook.tables import CHANGE, RESULT, SCHEMA, SETTING, TABLES, Points, sql

RUBRIC = sql.Table(
    "rubric",
    sql.MetaData(),
    sql.Column("version", sql.Integer, primary_key=True),
    sql.Column("item", sql.Integer),  # the version by which it was made
    sql.Column("points", Points),  # NULL: the item was removed
)


def upgrade(engine: sql.Engine) -> None:
    """Bring the gradebook up to date, once, also when several processes open it."""

    def work(database: sql.Connection) -> None:
        database.execute(sql.select(SETTING.c.value).filter_by(name="schema").with_for_update())
        TABLES.create_all(database)
        database.exec_driver_sql("DROP TABLE IF EXISTS run")  # of schema 1
        database.execute(sql.update(SETTING).filter_by(name="schema").values(value=SCHEMA))
        if sql.inspect(database).has_table(RUBRIC.name):
            convert(database, database)
            RUBRIC.drop(database)

    write(engine, work)


def convert(source: sql.Connection, target: sql.Connection) -> None:
    """Turn the judgements in `target` into overrides, by the rubrics in `source`; the same
    gradebook, or the one that `target` is a copy of.
    """
    items = item_points(source)
    most = most_points(source)
    comments: dict[tuple[str, str, str], Any] = {}  # by learner, lesson and question
    query = sql.select(CHANGE).filter_by(kind="judged").order_by(CHANGE.c.id)
    for entry in sound_rows(target, query, CHANGE)[0]:
        record = {"question": "", "answer": "", "items": [], **(entry.replaced or {})}
        question = record["question"]
        if not record["answer"]:  # damaged
            continue
        values = {
            "kind": "override",
            "check_id": question,
            "why": "judged",
            "text": None,
            "replaced": {"graded": 0, "answer": record["answer"]},
        }
        if entry.points is not None:
            total = entry.points + sum(items.get(one, 0) for one in record["items"])
            limit = most.get((entry.lesson, question), total)
            values["points"] = min(max(total, Decimal(0)), Decimal(limit))
        target.execute(sql.update(CHANGE).where(CHANGE.c.id == entry.id).values(values))
        comments[entry.student, entry.lesson, question] = entry
    for (student, lesson, question), entry in comments.items():
        if entry.text and entry.points is not None:
            more = {"text": entry.text, "at": entry.at, "check_id": question}
            add_change(target, student, lesson, "comment", entry.who, **more)


def item_points(database: sql.Connection) -> dict[int, Decimal]:
    """{id of an item: its points}; without those that were removed."""
    rows = database.execute(sql.select(RUBRIC).order_by(RUBRIC.c.version))
    newest = {row.item: row.points for row in rows}
    return {item: points for item, points in newest.items() if points is not None}


def most_points(database: sql.Connection) -> dict[tuple[str, str], int]:
    """{(lesson, question): the points that an answer to it can get}."""
    most: dict[tuple[str, str], int] = {}
    for row in sound_rows(database, sql.select(*RESULT.c["lesson", "value"]), RESULT)[0]:
        for answer in row.value.get("answers", ()):
            place = row.lesson, answer["question"]
            most[place] = max(most.get(place, 0), answer["max_points"])
    return most
