"""The gradebook as other systems read it.

csv          a row per learner, a column per lesson, the total, and the secret in the name of their
             feedback page; for people and spreadsheets. `tito gradebook roster` reads it back, so
             that a gradebook made anew names the same pages
canvas       what Canvas imports under Grades. Ids come from the roster's columns id (or canvas_id),
             sis_user_id, sis_login_id and section; without any, the learner's id is the login. A
             roster column such as `tensor (1234)` names the assignment that exists in Canvas;
             without it Canvas makes a new one
moodle       what Moodle imports, mapped by id number or email (roster columns idnumber, email),
             with grade and feedback always side by side
gradescope   a folder per learner with a results.json
classroom50  a folder per learner and lesson with a result.json in whole points, half a point
             upward; the owner is the roster's column github

A learner's text never becomes a formula, see `spreadsheet.py`. Points are never touched. A lesson
that was not graded is an empty cell, not a 0.
"""

import json
import re
from datetime import timezone
from decimal import ROUND_HALF_UP, Decimal

from tito import files
from tito.errors import TitoError
from tito.grading import late, pages
from tito.grading.result import VERDICTS
from tito.grading.spreadsheet import Id, line


def table(book, kind, lesson=None):
    """The text of a CSV file of that kind ("csv", "canvas", "moodle"), of all lessons or of one."""
    lessons = {name: about for name, about in book.lessons().items() if lesson in (None, name)}
    if not lessons:
        raise TitoError(
            f"Nothing{f' of {lesson}' if lesson else ''} is graded in this gradebook.",
            f"First: tito grade SUBMISSIONS {lesson or '--all'}",
        )
    return "".join(line(row) for row in TABLES[kind](book, lessons))


def _by_learner(book, lessons):
    """(Learner, [Grade or None for each lesson]) one after the other."""
    for learner, grades in book.by_learner(
        lesson=next(iter(lessons)) if len(lessons) == 1 else None
    ):
        found = {grade.lesson: grade for grade in grades}
        yield learner, [found.get(name) for name in lessons]


def _csv(book, lessons):
    yield ["student", "name", *lessons, "total", "page"]
    for learner, grades in _by_learner(book, lessons):
        total = sum((grade.points for grade in grades if grade), Decimal(0))
        yield [
            Id(learner.student),
            learner.name,
            *(grade and grade.points for grade in grades),
            late.tidy(total),
            learner.page,
        ]


def _canvas(book, lessons):
    titles = {name: f"{number:02} {title}" for name, (number, title, _) in lessons.items()}
    for column in book.headers():
        if known := re.fullmatch(r"(.+)[_ ](\(\d+\))", column.lower()):
            titles |= {
                name: f"{title} {known[2]}"
                for name, (_, title, _) in lessons.items()
                if known[1] in (name.lower(), title.lower().replace(" ", "_"))
            }
    yield ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *titles.values()]
    yield ["    Points Possible", "", "", "", "", *(most for _, _, most in lessons.values())]
    for learner, grades in _by_learner(book, lessons):
        columns = learner.columns
        ids = [
            columns.get("id") or columns.get("canvas_id"),
            columns.get("sis_user_id"),
            columns.get("sis_login_id"),
        ]
        if not any(ids):
            ids[2] = learner.student
        ids = [text and Id(text) for text in ids]
        points = [grade and grade.points for grade in grades]
        yield [learner.name or learner.student, *ids, columns.get("section"), *points]


def _moodle(book, lessons):
    titles = [f"{number:02} {title}" for number, title, _ in lessons.values()]
    yield [
        "Full name",
        "ID number",
        "Email address",
        *(text for one in titles for text in (one, f"{one} feedback")),
    ]
    for learner, grades in _by_learner(book, lessons):
        yield [
            learner.name,
            Id(learner.columns.get("idnumber") or learner.student),
            Id(learner.columns.get("email") or ""),
            *(
                value
                for grade in grades
                for value in ((grade.points, summary(grade)) if grade else (None, None))
            ),
        ]


TABLES = {"csv": _csv, "canvas": _canvas, "moodle": _moodle}


def summary(grade):
    """A grade in a few sentences for its learner: no message of a check, nothing of why points were
    set by hand.
    """
    by_hand = (
        "set by the instructor"
        if grade.override
        else VERDICTS.get(verdict := grade.result.for_learner().verdict, verdict)
    )
    partly = (
        ", with checks set by the instructor"
        if grade.check_overrides and not grade.override
        else ""
    )
    lateness = [f"{grade.late_reason}."] if grade.late_reason and grade.penalty_percent else []
    points = f"{grade.points} of {grade.max_points} points: {by_hand}{partly}."
    return " ".join([points, *lateness, *(comment.text for comment in grade.comments)])


def tree(book, kind, course, lesson=None):
    """(path in the folder, JSON text) of every file of that kind, "gradescope" or "classroom50",
    learner by learner.

    course  the course's name
    """
    for learner, grades in book.by_learner(lesson=lesson):
        yield from TREES[kind](learner, grades, course)


def _gradescope(learner, grades, course):
    if grades:
        yield (
            f"{pages.file_name(learner.student)}/results.json",
            _json(
                {
                    "score": late.plain_number(sum(grade.points for grade in grades)),
                    "output": "\n".join(f"{grade.title}: {summary(grade)}" for grade in grades),
                    "output_format": "text",
                    "test_output_format": "text",
                    "test_name_format": "text",
                    "visibility": "visible",
                    "stdout_visibility": "hidden",
                    "tests": [
                        _gradescope_test(grade, check, f"{grade.number}.{place}")
                        for grade in grades
                        for place, check in enumerate(grade.result.checks, 1)
                    ],
                }
            ),
        )


def _gradescope_test(grade, check, number):
    passed = _passed(grade, check)
    value = {
        "number": number,
        "name": f"{grade.title}: {check.name or check.id}",
        "score": late.plain_number(grade.check_points(check)),
        "max_score": check.max_points,
        "status": "passed" if passed else "failed",
        "visibility": "hidden" if check.hidden else "visible",
    }
    if not (passed or check.hidden):
        cause = f"\nThe mistake is in the lesson {check.caused_by}." if check.caused_by else ""
        value["output"] = pages.visible(check.message) + cause
    return value


def _passed(grade, check):
    return (
        grade.check_points(check) == check.max_points
        if check.id in grade.check_overrides
        else check.passed
    )


def _classroom50(learner, grades, course):
    for grade in grades:
        handed_in = (grade.arrived or grade.graded).astimezone(timezone.utc)
        # Also for commit and release, which the gradebook does not know.
        tag = f"submit/{handed_in:%Y-%m-%dT%H-%M-%SZ}"
        value = {
            "schema": "classroom50/result/v1",
            "classroom": _slug(course),
            "assignment": _slug(grade.lesson),
            "assignment_type": "individual",
            "owner": learner.columns.get("github") or learner.student,
            "submission": tag,
            "commit": tag,
            "release": tag,
            "review": tag,
            "datetime": f"{handed_in:%Y-%m-%dT%H:%M:%SZ}",
            "graded_at": f"{grade.graded:%Y-%m-%dT%H:%M:%SZ}",
            "score": _whole(grade.points),
            "max-score": grade.max_points,
            "tests": [
                {
                    "test-name": check.name or check.id,
                    "passed": _passed(grade, check),
                    "score": _whole(grade.check_points(check)),
                    "max-score": check.max_points,
                }
                for check in grade.result.checks
            ],
        }
        yield (
            f"{pages.file_name(learner.student)}/{pages.file_name(grade.lesson)}/result.json",
            _json(value),
        )


TREES = {"gradescope": _gradescope, "classroom50": _classroom50}
FORMATS = (*TABLES, *TREES)


def _whole(points):
    return int(Decimal(points).quantize(Decimal(1), ROUND_HALF_UP))


def _slug(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "course"


def _json(value):
    return json.dumps(value, indent=1) + "\n"


def write_file(path, text, force=False):
    """Write an export; over a file that differs only when `force` is set.

    Returns whether anything was written.
    """
    data = text.encode("utf-8")
    if path.is_dir():
        raise TitoError(f"{path} is a folder.", "Name a file.")
    if path.exists():
        if path.is_file() and path.read_bytes() == data:
            return False
        _refuse(path, force)
    files.write(path, data)
    return True


def write_tree(folder, tree, force=False):
    """Write the files of `tree` into a new or empty folder, or, with `force`, over what is there.

    Returns how many.
    """
    if folder.exists() and not folder.is_dir():
        raise TitoError(f"{folder} is a file.", "Name a folder.")
    if folder.is_dir() and any(folder.iterdir()):
        _refuse(folder, force)
    number = 0
    for number, (name, text) in enumerate(tree, 1):
        files.write(folder / name, text)
    return number


def _refuse(path, force):
    if not force:
        raise TitoError(
            f"{path} is there already.", "Name another place, or write over it with --force."
        )
