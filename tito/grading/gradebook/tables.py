"""The tables of a gradebook, and how its values are stored.

learner   who is in the class
alias     ids that were merged into a learner's
entry     whose the entries of submissions are: what one run learned from a class list or a
          worksheet, later runs know without it
result    the result and the arrival of each file that a learner handed in for a lesson; which of
          them counts is decided when grades are read. A row without `sha256` is for a lesson that
          was not handed in, or for a submission that could not be read at all
change    the history: an entry for each change of a grade, comment or extension, never edited
          except that a deleted learner's name is taken out. Overrides, comments and extensions
          are read from it, so it cannot contradict the grades. A judgement of an answer is an
          override. The entry of a regrade contains the replaced result, that of a merge what both
          ids had (`merging.py`). Points are without late penalties
text      graded lesson files, free answers and the checks that graded them, by SHA-256, so
          that equal texts need one row
work      the graded submissions, by the hash of the submission and everything else that its results
          depend on, with these results: such a submission is not graded again
begun     the submissions that the run which grades now, or was killed, has begun: `run_lock.py`
tito_gradebook  settings of the gradebook: the version of its schema, which also identifies a
          database as a gradebook, the column of the rosters that has the ids, and who grades now
"""

import hashlib
import json
import re
import secrets
from collections.abc import Callable, Collection
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

from tito.errors import MachineError
from tito.grading.gradebook import late
from tito.grading.result import Answer, LessonResult, packed, typed, unpacked
from tito.lesson.outcome import cut

try:
    import sqlalchemy
except ModuleNotFoundError:
    raise MachineError(
        "The gradebook needs SQLAlchemy, which is not installed here.",
        "In the course's folder: bin/setup instructor",
    ) from None

sql = sqlalchemy
NUMBERS = {int, float, type(None)}  # of points in records
UNSTORABLE = re.compile("[\0\ud800-\udfff]")  # no database takes all of these
LONGEST = 500  # characters of a learner's id: a file name of 255 bytes fits, escaped or not
SECRET = "page"  # the roster's column that holds a secret which `new_page` made
# States of a learner who is not in the class: left it, or was graded without being in a roster.
LEFT, STRANGER = "left", "stranger"
ID_COLUMN = "id_column"  # the setting with the name of the roster's column that has the ids
CUT = 4_100  # characters of any other text; more than `outcome.cut` leaves
# The address in <Tensor object at 0x7f...>, which differs between runs.
# Also alone, as hex(id(x)), with 9 to 13 digits: no number in a message of a check has as many.
ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]{4,16}\b|(?<=\b0x)[0-9A-Fa-f]{9,13}\b")


class DamagedValue(Exception):
    """A value that tito cannot have written, in a row of a gradebook."""


class Checked(sql.types.TypeDecorator[Any]):
    """A column whose values are checked when they are read: SQLite keeps anything in any column,
    and a damaged file holds anything. Raises DamagedValue.
    """

    kind: Any = str  # of Python
    what = "text"

    def result_processor(self, dialect: Any, coltype: object) -> Callable[[Any], Any]:
        read, kind = super().result_processor(dialect, coltype), self.kind
        is_sound = self.is_sound if kind in (str, list, dict) else None

        def checked(raw: Any) -> Any:  # called for each value: a class has a million
            if raw is None:
                return None
            try:
                value = read(raw) if read else raw
                if type(value) is kind and (is_sound is None or is_sound(value)):
                    return value
            except MemoryError:
                raise  # of the machine, not of the value
            except Exception:
                pass  # a damaged value makes json, zlib or decimal raise anything
            raise DamagedValue(f"{str(raw)[:40]!a} is no {self.what}")

        return checked

    def is_sound(self, value: Any) -> bool:
        plain = value.isascii() and "\0" not in value  # most are, and this is fast
        return plain or UNSTORABLE.search(value) is None


class Name(Checked):
    """Text of a limited length: an id, a key."""

    impl, cache_ok = sql.String, True


class Whole(Checked):
    impl, cache_ok, kind = sql.Integer, True, int
    what = "whole number"


class Points(Checked):
    """A Decimal of whole hundredths, stored as an integer: SQLite knows no decimal fractions."""

    impl, cache_ok, kind = sql.Integer, True, Decimal
    what = "number of points"

    def process_bind_param(self, value: Any, dialect: object) -> Any:
        return None if value is None else int(Decimal(value) * 100)

    def process_result_value(self, value: Any, dialect: object) -> Any:
        return late.tidy(Decimal(value) / 100)


class Moment(Checked):
    """A time, stored in UTC; read with its time zone."""

    impl, cache_ok, kind = sql.DateTime, True, datetime
    what = "time"

    def process_bind_param(self, value: Any, dialect: object) -> Any:
        return None if value is None else value.astimezone(timezone.utc).replace(tzinfo=None)

    def process_result_value(self, value: Any, dialect: object) -> Any:
        return value.replace(tzinfo=timezone.utc)


class Words(Checked):
    """Text of limited length, see `shortened`. All texts except ids may come from learners."""

    impl, cache_ok = sql.Text, True

    def process_bind_param(self, value: Any, dialect: object) -> Any:
        return shortened(value)


class Json(Checked):
    """Plain data as ASCII text, because a learner's message may contain characters that databases
    refuse. Each text in it is `shortened`.

    kind  list or dict; form: a function that returns something false, or raises, for other data
    """

    impl, cache_ok, what = sql.Text, True, "record of tito"

    def __init__(self, kind: type = dict, form: Callable[[Any], Any] = lambda value: True) -> None:
        super().__init__()
        self.kind, self.form = kind, form

    def process_bind_param(self, value: Any, dialect: object) -> Any:
        return None if value is None else json.dumps(shortened(value), separators=(",", ":"))

    def process_result_value(self, value: Any, dialect: object) -> Any:
        return json.loads(value)

    def is_sound(self, value: Any) -> bool:
        return bool(self.form(value))


class Result(Json):
    """A LessonResult."""

    impl, cache_ok = sql.Text, True

    def __init__(self) -> None:
        super().__init__(LessonResult)

    def process_bind_param(self, value: Any, dialect: object) -> Any:
        return super().process_bind_param(value and value.as_json(), dialect)

    def process_result_value(self, value: Any, dialect: object) -> Any:
        return LessonResult.from_json(json.loads(value))


class Packed(Checked):
    """A text, see `result.packed`."""

    impl, cache_ok, what = sql.LargeBinary, True, "compressed text"

    def process_bind_param(self, value: Any, dialect: object) -> Any:
        return packed(value) if isinstance(value, str) else value

    def process_result_value(self, value: Any, dialect: object) -> Any:
        return unpacked(value)

    def is_sound(self, value: Any) -> bool:
        return True  # a learner's file may hold any character


def are_texts(values: Collection[Any]) -> bool:
    return all(type(value) is str for value in values)


def are_answers(value: list[Any]) -> bool:
    return all(typed(Answer, one) for one in value)


def are_changes(value: list[Any]) -> bool:
    """[{"id", "name", "old", "new"}] of checks."""
    return all(
        are_texts([one["id"], one["name"]]) and {type(one["old"]), type(one["new"])} <= NUMBERS
        for one in value
    )


def is_decision(value: dict[Any, Any]) -> bool:
    """What an override or a comment replaces; or a result."""
    texts = [value.get("answer") or "", *(value.get("comment") or [])]
    return are_texts(texts) and type(value.get("graded", 0)) in NUMBERS


def are_seen(value: list[Any]) -> bool:
    return all(len(one) == 4 and are_texts(one) for one in value)


TABLES = sql.MetaData()
SCHEMA = "3"  # a change of these tables makes it 4
EARLIER = "2"  # without `edition`, and without the columns of `result` that repeat its value
SETTING = sql.Table(
    "tito_gradebook",
    TABLES,
    sql.Column("name", Name(50), primary_key=True),  # "schema", ID_COLUMN, ...
    sql.Column("value", Words, nullable=False),
)
LEARNER = sql.Table(
    "learner",
    TABLES,
    sql.Column("student", Name(LONGEST), primary_key=True),
    sql.Column("name", Words, nullable=False),
    # of the roster: {header: text}; and the secret in the name of their feedback page, under SECRET
    sql.Column("columns", Json(form=lambda value: are_texts(value.values())), nullable=False),
    sql.Column("state", Name(20)),  # NULL: in the class; LEFT, STRANGER
)
ALIAS = sql.Table(
    "alias",
    TABLES,
    sql.Column("alias", Name(LONGEST), primary_key=True),  # an id that was merged
    sql.Column("student", Name(LONGEST), sql.ForeignKey("learner.student"), nullable=False),
)
ENTRY = sql.Table(
    "entry",
    TABLES,
    sql.Column("entry", sql.String(LONGEST), primary_key=True),  # see roster.entry_keys
    sql.Column("student", sql.String(LONGEST), sql.ForeignKey("learner.student"), nullable=False),
    sql.Column("sure", sql.Boolean, nullable=False),  # False: from a part of its name
)
RESULT = sql.Table(
    "result",
    TABLES,
    sql.Column("student", Name(LONGEST), sql.ForeignKey("learner.student"), primary_key=True),
    sql.Column("lesson", Name(100), primary_key=True),
    # the same file may be graded beside other earlier lessons: then it has several
    sql.Column("key", Name(255), primary_key=True),
    sql.Column("number", Whole, nullable=False),
    sql.Column("title", Words, nullable=False),
    sql.Column("max_points", Whole, nullable=False),
    sql.Column("sha256", Name(64), nullable=False),
    # submission.Arrived: the first and last time that this file arrived, their source, a mark of
    # lateness, and its own time
    sql.Column("arrived", Moment),
    sql.Column("latest", Moment),
    sql.Column("how", Name(20), nullable=False),
    sql.Column("late", sql.Boolean),
    sql.Column("fetched", Moment),
    sql.Column("graded", Moment, nullable=False),
    # of `value`, what points and lists of a class need: they do not read it; see `brief_columns`
    sql.Column("verdict", Name(20)),
    sql.Column("told", Name(20)),  # the verdict for the learner
    sql.Column("points", Whole),  # earned by the checks
    sql.Column("graded_by", Name(64)),
    sql.Column("answers", Json(list, are_answers)),  # as_json() of each; NULL: none
    sql.Column("exercises", Words),
    sql.Column("value", Result, nullable=False),
)
CHANGE = sql.Table(
    "change",
    TABLES,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("student", Name(LONGEST), sql.ForeignKey("learner.student"), nullable=False),
    sql.Column("lesson", Name(100)),  # NULL: all lessons
    # of an override, its check or question; of a comment, the exercise or question that it is
    # about; NULL: the lesson
    sql.Column("check_id", Words),
    # see history.Change, which has them all
    sql.Column("kind", Name(20), nullable=False),
    sql.Column("who", Words, nullable=False),
    sql.Column("at", Moment, nullable=False),
    sql.Column("why", Words, nullable=False),
    sql.Column("old_points", Points),
    sql.Column("new_points", Points),
    sql.Column("points", Points),  # of an override; NULL takes it back
    # of a comment, NULL takes the comments back; else what there is to say besides
    sql.Column("text", Words),
    sql.Column("until", Moment),  # of an extension; it or days, neither takes it back
    sql.Column("days", Whole),
    # of a grade: [{id, name, old, new}], the checks whose points changed
    sql.Column("checks", Json(list, are_changes)),
    # of a grade: the result before; of an override: {"graded": what was earned then}, and of an
    # answer its SHA-256, {"answer"}
    sql.Column("replaced", Json(form=is_decision)),
    sql.Column("edition", Words),  # of a grade: what made the result, see LessonResult.made_by
    sql.UniqueConstraint("student", "id"),  # an index by learner
)
TEXT = sql.Table(
    "text",
    TABLES,
    sql.Column("sha256", Name(64), primary_key=True),  # of the file's bytes, or of the answer
    sql.Column("data", Packed, nullable=False),
)
WORK = sql.Table(
    "work",
    TABLES,
    sql.Column("student", Name(LONGEST), sql.ForeignKey("learner.student"), primary_key=True),
    sql.Column("work", Name(64), primary_key=True),
    # [[lesson, key, entry, sha256]]: Unchanged
    sql.Column("seen", Json(list, are_seen), nullable=False),
)
BEGUN = sql.Table(
    "begun",
    TABLES,
    sql.Column("student", Name(LONGEST), primary_key=True),
    sql.Column("work", Name(64), primary_key=True),
    sql.Column("deaths", Whole, nullable=False),  # of its judge
)


def shortened(value: Any) -> Any:
    """Plain data for the gradebook, without addresses of objects and texts longer than CUT."""
    if isinstance(value, str):
        text = ADDRESS.sub("", value)
        return text if len(text) <= CUT else cut(text)
    if isinstance(value, dict):
        return {shortened(name): shortened(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [shortened(part) for part in value]
    return value


def clean(text: str) -> str:
    """`text` for any database: NUL and surrogates become escapes."""
    return UNSTORABLE.sub(lambda match: ascii(match.group())[1:-1], text)


def now() -> datetime:
    return datetime.now(timezone.utc)


def new_page() -> str:
    """A secret for the name of a feedback page."""
    return secrets.token_hex(10)


def learner_id(student: str) -> str:
    """The cleaned id, under which a learner is saved.

    Where it is longer than LONGEST, it is cut, with a hash at its end.
    """
    text = clean(student)
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST - 20]}...{hashlib.sha256(text.encode('utf-8')).hexdigest()[:16]}"
