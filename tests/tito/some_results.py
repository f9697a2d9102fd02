"""Results of lessons as the judge returns them, late rules, and a gradebook of the first tito, for
tests of what comes after the judge.
"""

import hashlib
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from decimal import Decimal

from tito.grading.gradebook.late import Rules
from tito.grading.result import Answer, CheckResult, LessonResult

LESSONS = {"numbers": 1, "sums": 2}
MONDAY = datetime(2026, 11, 2, 12, tzinfo=timezone.utc)
DAY = timedelta(days=1)
RULES = Rules(timedelta(minutes=15), Decimal(10), Decimal(50), {"numbers": MONDAY})


def result(
    student="ada",
    lesson="numbers",
    points=(3, 0),
    key="key",
    sha256="a" * 64,
    verdict="failed",
    **more,
):
    """A LessonResult whose checks c0, c1, ... are worth 3 points each and earned `points`; the
    last one is hidden."""
    checks = [
        CheckResult(
            f"c{n}",
            "exercise",
            f"check {n}",
            earned,
            3,
            "passed" if earned == 3 else "failed",
            "" if earned == 3 else f"message {n}",
            hidden=n == len(points) - 1,
        )
        for n, earned in enumerate(points)
    ]
    return LessonResult(
        student,
        lesson,
        LESSONS.get(lesson, 9),
        lesson.title(),
        3 * len(points),
        points=sum(points),
        checks=checks,
        key=key,
        sha256=sha256,
        verdict=verdict,
        **more,
    )


def points(book, student="ada"):
    """{lesson: the points that count, as written} of a learner."""
    return {grade.lesson: str(grade.points) for grade in book.rows(student)}


# What the first tito made, by Alembic: text, so that a change of the tables does not change it.
FIRST_GRADEBOOK = """
CREATE TABLE tito_gradebook (
    version_num VARCHAR(32) NOT NULL, CONSTRAINT tito_gradebook_pkc PRIMARY KEY (version_num)
);
CREATE TABLE learner (
    student VARCHAR(500) NOT NULL, name TEXT NOT NULL, columns TEXT NOT NULL, PRIMARY KEY (student)
);
CREATE TABLE result (
    student VARCHAR(500) NOT NULL, lesson VARCHAR(100) NOT NULL, number INTEGER NOT NULL,
    title TEXT NOT NULL, max_points INTEGER NOT NULL, "key" VARCHAR(255) NOT NULL,
    sha256 VARCHAR(64) NOT NULL, arrived DATETIME, graded DATETIME NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (student, lesson), FOREIGN KEY(student) REFERENCES learner (student)
);
CREATE TABLE change (
    id INTEGER NOT NULL, student VARCHAR(500) NOT NULL, lesson VARCHAR(100), check_id TEXT,
    kind VARCHAR(20) NOT NULL, who TEXT NOT NULL, at DATETIME NOT NULL, why TEXT NOT NULL,
    old_points INTEGER, new_points INTEGER, points INTEGER, text TEXT, until DATETIME,
    days INTEGER, checks TEXT, replaced TEXT,
    PRIMARY KEY (id), FOREIGN KEY(student) REFERENCES learner (student)
);
CREATE INDEX change_of_learner ON change (student, lesson);
INSERT INTO tito_gradebook VALUES ('0001');
INSERT INTO learner VALUES ('ada', 'Ada L.', '{"id":"17"}');
INSERT INTO result VALUES (
    'ada', 'numbers', 1, 'Numbers', 6, 'key', 'aa',
    '2026-11-02 12:00:00.000000', '2026-11-02 12:01:00.000000',
    '{"student":"ada","lesson":"numbers","number":1,"title":"Numbers","max_points":6,"points":3,'
    || '"key":"key","sha256":"aa","verdict":"failed","notes":["a note"],"checks":[{"id":"c0",'
    || '"exercise":"add","name":"check 0","points":3,"max_points":3,"status":"passed"}]}'
);
INSERT INTO change VALUES (
    1, 'ada', 'numbers', NULL, 'graded', 'me', '2026-11-02 12:01:00.000000', 'graded',
    NULL, 300, NULL, NULL, NULL, NULL, '[]', NULL
);
INSERT INTO change VALUES (
    2, 'ada', 'numbers', NULL, 'override', 'prof', '2026-11-02 13:00:00.000000', 'in the lab',
    300, 550, 550, NULL, NULL, NULL, NULL, NULL
);
INSERT INTO change VALUES (
    3, 'ada', NULL, NULL, 'extension', 'prof', '2026-11-02 14:00:00.000000', 'ill',
    NULL, NULL, NULL, NULL, NULL, 2, NULL, NULL
);
"""


def answer(text="Sums to one.", most=2, question="why"):
    """A free answer as the judge returns it."""
    sha256 = hashlib.sha256(text.encode()).hexdigest() if text else ""
    return Answer(question, most, sha256, len(text), text)


def handed_in(student="ada", text="Sums to one.", key="key", most=2, **more):
    """A result with an answer; its checks earned 3 of 6."""
    made = result(student, key=key, sha256=key.ljust(64, "a"), **more)
    return replace(made, max_points=6 + most, answers=[answer(text, most)])


def save_each(book, *results, arrived=None):
    """Save each result, as it is handed in."""
    for one in results:
        book.save([one], arrived, "me", one.student.title())
