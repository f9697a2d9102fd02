"""Results of lessons as the judge returns them, and late rules, for tests of what comes after
it.
"""

from datetime import datetime, timedelta, timezone
from decimal import Decimal

from tito.grading.late import Rules
from tito.grading.result import CheckResult, LessonResult

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
