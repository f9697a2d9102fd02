"""A page for each learner: what every check found and what each lesson is worth, with the reasons;
and a table of all for the instructor.

A learner sees of a hidden check its name, and whether it passed. The pages depend on nothing but
the gradebook, so the same grades give the same bytes, and a page that did not change is not written
again. A page's name holds a secret of the gradebook: who knows an id, and their own page's address,
cannot tell another's.
"""

from dataclasses import replace

from tito.errors import UsageError
from tito.grading.gradebook import html_pages
from tito.grading.gradebook.late import shown
from tito.grading.result import VERDICTS

# Statuses as words for a reader; result.STATUSES are those of the judge.
WORDS = {
    "passed": "passed",
    "failed": "failed",
    "error": "failed with an error",
    "unwritten": "not written yet",
    "timeout": "took too long",
    "memory": "needed too much memory",
    "crashed": "crashed",
    "tampered": "answered out of turn",
    "not run": "did not run",
}
BASES = {
    "own": "Checked on your own earlier lessons.",
    "reference": "Checked on the course's own earlier lessons instead of yours, so that a mistake "
    "in one of those costs you nothing here.",
}


def write(folder, learners, course):
    """Write a page per learner into `folder`/learners, and `folder`/index.html, the instructor's
    table.

    learners  (Learner, their Grades in the order of the course) one after the other, as
              `Gradebook.by_learner` gives them
    course    its name
    Returns (the path of every learner's page by id, the paths that were written because they
    changed).
    """
    if folder.is_file():
        raise UsageError(f"{folder} is a file.", "Name a folder.")
    names, rows, written = {}, [], []
    for learner, grades in learners:
        own = html_pages.file_name(learner.student)
        (folder / f"learners/{own}.html").unlink(missing_ok=True)  # its name before it was secret
        names[learner.student] = f"learners/{own}-{learner.page}.html"
        written += html_pages.write(folder, {names[learner.student]: page(learner, grades, course)})
        rows.append(
            (
                learner,
                {
                    grade.number: (grade.title, shown(grade.points), grade.result.verdict)
                    for grade in grades
                },
                _total(grades),
            )
        )
    written += html_pages.write(folder, {"index.html": index(rows, names, course)})
    return {student: folder / path for student, path in names.items()}, written


def page(learner, grades, course):
    """The page of one learner as HTML. `grades`: theirs, in the order of the course."""
    grades = [replace(grade, result=grade.result.for_learner()) for grade in grades]
    named = {grade.lesson: f"{grade.number:02} {grade.lesson}" for grade in grades}
    return html_pages.render(
        "gradebook/feedback.html",
        learner=learner,
        course=course,
        verdicts=VERDICTS,
        bases=BASES,
        total=_total(grades),
        lessons=[(grade, arithmetic(grade), exercises(grade, named)) for grade in grades],
    )


def index(rows, names, course):
    """The instructor's table as HTML: who has how many points in which lesson.

    rows   [(Learner, {lesson number: (title, points, verdict)}, total)]
    names  {id: path of the page}
    """
    titles = {number: title for _, lessons, _ in rows for number, (title, _, _) in lessons.items()}
    return html_pages.render(
        "gradebook/feedback_index.html",
        course=course,
        names=names,
        titles=sorted(titles.items()),
        rows=rows,
    )


def _total(grades):
    return {
        "points": shown(sum(grade.points for grade in grades)),
        "max_points": sum(grade.max_points for grade in grades),
    }


def arithmetic(grade):
    """Sentences: how the points that count follow from what the checks earned.

    Empty when they are the same.

    Why an instructor set points stays in the gradebook's history ("as Bob's"); what the learner
    should read is a comment.
    """
    if grade.override:
        return [
            f"The checks earned {_points(grade.result.points)}. The lesson was set by hand to "
            f"{shown(grade.points)} "
            f"by {grade.override.who}."
        ]
    said = [f"{grade.parts()}.".capitalize()] if grade.answers else []
    by_hand = sum(override.points for override in grade.check_overrides.values())
    earned = grade.before_late - by_hand  # what lateness can take from
    if grade.check_overrides:
        said.append(
            f"The checks earned {_points(grade.result.points)}. With those set by hand it is "
            f"{_points(grade.before_late)}."
        )
    if grade.is_late:
        said.append(
            f"Handed in {_when(grade.arrived, grade.due)}, due {_due(grade)}: {grade.late_reason}."
            if grade.late_days
            else f"{grade.late_reason[0].upper()}{grade.late_reason[1:]}."
        )
        kept = (
            f", and {shown(by_hand)} set by hand, which lateness does not change, make "
            f"{shown(grade.points)}"
            if grade.check_overrides
            else ""
        )
        said.append(
            f"{shown(earned)} - {shown(grade.penalty_percent)} % of {shown(earned)} = "
            f"{_points(grade.points - by_hand)}{kept}."
        )
    elif grade.extension and grade.due and grade.arrived:
        said.append(f"Handed in {_when(grade.arrived, grade.due)}, due {_due(grade)}: not late.")
    return said


def _points(number):
    return f"{shown(number)} point{'s' * (number != 1)}"


def _due(grade):
    return _when(grade.due, grade.due) + (" with your extension" if grade.extension else "")


def _when(moment, due):
    """A moment on the clock by which the due date was set: 2026-12-01 23:59 (UTC+01:00)."""
    return f"{moment.astimezone(due.tzinfo):%Y-%m-%d %H:%M (%Z)}"


def exercises(grade, named):
    """[{id, points, max_points, checks: [...], open}] of a Grade; each check with what its learner
    may read. `named` {lesson: "01 tensor"}.
    """
    found, messages = {}, {grade.result.reason, "did not run", ""}
    for check in grade.result.checks:
        here = found.setdefault(
            check.exercise,
            {"id": check.exercise, "points": 0, "max_points": 0, "checks": [], "open": False},
        )
        points, override = grade.check_points(check), grade.check_overrides.get(check.id)
        here["points"] += points
        here["max_points"] += check.max_points
        line = {
            "name": check.name,
            "word": WORDS.get(check.status, check.status),
            "passed": check.passed,
            "points": points,
            "max_points": check.max_points,
            "hidden": check.hidden,
            "override": override,
            "message": None,
            "again": False,
            "cause": None,
            "reference": False,
        }
        if not check.hidden:  # of a hidden check, nothing else leaves this function
            line["cause"] = named.get(check.caused_by, check.caused_by)
            line["reference"] = check.base == "reference" and grade.result.base != "reference"
            if not check.passed:
                line["message"] = None if check.message in messages else check.message
                line["again"] = check.message in messages - {grade.result.reason, "did not run", ""}
                messages.add(check.message)
        here["open"] |= not check.passed or bool(
            line["cause"] or override
        )  # only what has nothing to tell is folded
        here["checks"].append(line)
    return list(found.values())
