"""`tito gradebook`: the grades of a class shown, exported and changed, and who is in it."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from tito.cli.app import (
    Json,
    RootOption,
    app,
    current_folder,
    current_root,
    echo,
    echo_json,
    echo_json_list,
    warn,
)
from tito.cli.instructor.options import (
    GradebookOption,
    OneLesson,
    SectionOption,
    Who,
    author_name,
    gradebook_of,
    lesson_name,
    section_of,
    tell_falls,
)
from tito.errors import TitoError, UsageError

gradebook_app = typer.Typer(
    help="The grades of a class: show, export, change.\n"
    "\n"
    "They are kept in .tito/gradebook.db of the course, which git ignores and no release "
    "holds.\n"
    "\n"
    "Example: tito gradebook show"
)
app.add_typer(gradebook_app, name="gradebook")

Student = Annotated[
    str, typer.Argument(metavar="STUDENT", help="The learner's id.", show_default=False)
]
Why = Annotated[str, typer.Option(help="The reason, kept in the history.", show_default=False)]
Lift = Annotated[bool, typer.Option("--lift", help="Take back what was set.")]


@gradebook_app.command("show")
def gradebook_show(
    student: Annotated[
        str | None, typer.Option(metavar="ID", help="Only this learner.", show_default=False)
    ] = None,
    lesson: OneLesson = None,
    section: SectionOption = None,
    gradebook: GradebookOption = None,
    json: Json = False,
    root: RootOption = None,
):
    """Show the grades: of the class, of a learner, of a lesson; of both, with its checks.

    Example: tito gradebook show --student ada --lesson tensor
    """
    root = current_root(root)
    lesson = lesson_name(root, lesson)
    with gradebook_of(root, gradebook, create=False, reads=True) as book:
        section_of(book, section)
        if json:
            echo_json_list(grade.as_json() for grade in book.rows(student, lesson, section))
            return
        from tito.grading import views

        if not (student or lesson):
            echo(views.grades(book.by_learner(section=section), book.lessons()))
            return
        grades = list(book.rows(student, lesson, section))
        if not grades and lesson:
            echo(f"Nothing is graded here yet: tito grade SUBMISSIONS {lesson}")
            return
        echo(
            views.grade_table(grades, notes=bool(student)),
            *(views.grade_checks(grade) for grade in grades if student and lesson),
        )
        if student:
            echo(
                *(
                    views.comment(comment)
                    for learner, _ in book.by_learner(student)
                    for comment in learner.comments
                )
            )


@gradebook_app.command("export")
def gradebook_export(
    kind: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="csv, canvas, moodle, junit, nbgrader, gradescope or classroom50.",
        ),
    ] = "csv",
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="A file; for gradescope and classroom50 a folder. Default: the screen.",
            show_default=False,
        ),
    ] = None,
    lesson: OneLesson = None,
    section: SectionOption = None,
    classroom: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Classroom 50: the short name of the classroom. Default: from the course's name.",
            show_default=False,
        ),
    ] = "",
    force: Annotated[
        bool,
        typer.Option("--force", help="Write over what is there; into nbgrader's database: add."),
    ] = False,
    gradebook: GradebookOption = None,
    json: Json = False,
    root: RootOption = None,
):
    """Write the grades as other systems read them.

    Canvas and Moodle find learners by the roster's columns, see `tito gradebook roster`. Example:
    tito gradebook export --format canvas --output grades.csv
    """
    from tito.grading import views
    from tito.grading.gradebook import enrollment, exports, nbgrader_book

    if kind not in exports.FORMATS:
        raise UsageError(
            f"--format {kind!r} is unknown.", f"There are: {', '.join(exports.FORMATS)}."
        )
    if not output and (json or kind in (*exports.TREES, "nbgrader")):
        raise UsageError(
            "Where to?" if kind not in exports.TREES else f"{kind} is a folder of files.",
            "Name a place: --output PATH",
        )
    if classroom and not exports.CLASSROOM.fullmatch(classroom):
        raise UsageError(
            f"--classroom {classroom!r} is no short name of Classroom 50.",
            "2 to 100 lower-case letters, digits and hyphens, such as cs50-fall.",
        )
    root = current_root(root)
    lesson = lesson_name(root, lesson)
    with gradebook_of(root, gradebook, create=False, reads=True) as book:
        section_of(book, section)
        chosen = exports.Selection(
            book, lesson, section, today_points(root, book), root.name, classroom
        )
        absent, outdated = enrollment.absent_from(book), chosen.outdated()
        waiting = chosen.waiting()
        place = output and current_folder() / output
        if kind == "nbgrader":
            nbgrader_book.write(chosen, place, force)
            count = 1
        elif kind in exports.TREES:
            count = exports.write_tree(place, exports.tree(chosen, kind), force)
        elif output:
            count = int(exports.write_file(place, exports.text(chosen, kind), force))
        else:
            sys.stdout.reconfigure(encoding="utf-8", newline="")
            sys.stdout.write(exports.text(chosen, kind))
    for words in views.left_out(absent, outdated, waiting):
        warn(words)
    if not output:
        return
    if json:
        echo_json({"format": kind, "output": str(output), "files": count})
    else:
        echo(
            f"{output}: {count} file{'s' * (count != 1)} written."
            if count
            else f"{output}: nothing has changed."
        )
        if kind == "gradescope":
            echo(
                "Gradescope imports no grades: a results.json is what its autograder gives it for "
                "one submission. Grade there with tito release --gradescope."
            )


def today_points(root, book):
    """{lesson: the points that it can earn today} of the lessons that were graded."""
    points, graded = {}, book.lessons()
    for entry in root.lessons if root.is_course else ():
        if entry.name in graded:
            with suppress(TitoError):  # one that cannot be read now: as it was graded
                points[entry.name] = entry.declared.most
    return points


@gradebook_app.command("override")
def gradebook_override(
    student: Student,
    lesson: Annotated[
        str, typer.Argument(metavar="LESSON", help="A name or number.", show_default=False)
    ],
    why: Why,
    points: Annotated[
        str | None,
        typer.Argument(
            metavar="[POINTS]", help="Such as 7 or 7.5; none with --lift.", show_default=False
        ),
    ] = None,
    check: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Only this check of the lesson.", show_default=False),
    ] = None,
    lift: Lift = False,
    who: Who = None,
    gradebook: GradebookOption = None,
    json: Json = False,
    root: RootOption = None,
):
    """Set points by hand. They are final: neither lateness nor grading again changes them.

    Example: tito gradebook override ada tensor 7.5 --why "showed it in the lab"
    """
    if (points is None) != lift:
        raise UsageError(
            "Give the points, or --lift to take an override back.",
            "For instance: tito gradebook override ada tensor 7.5 --why REASON",
        )
    root = current_root(root)
    lesson = lesson_name(root, lesson)
    with gradebook_of(root, gradebook, create=False) as book:
        from tito.grading.gradebook import overrides

        before, after = overrides.override(
            book, student, lesson, points, author_name(who), why, check
        )
        show_grades(
            book,
            student,
            lesson,
            json,
            f"{student}, {lesson}: {before} -> {after} points before the late rules.",
        )


@gradebook_app.command("comment")
def gradebook_comment(
    student: Student,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LESSON] TEXT",
            help="What the learner will read, about a lesson or in general.",
        ),
    ] = None,
    lift: Lift = False,
    who: Who = None,
    gradebook: GradebookOption = None,
    json: Json = False,
    root: RootOption = None,
):
    """Tell a learner something. --lift takes all comments on that lesson back.

    Example: tito gradebook comment ada tensor "Well argued; see me about strides."
    """
    words = words or []
    if not (len(words) <= 1 if lift else 1 <= len(words) <= 2):
        raise UsageError(
            f"{len(words)} words follow the learner.",
            'Put the comment in quotes: tito gradebook comment ada tensor "Well done."',
        )
    root = current_root(root)
    lesson = lesson_name(root, words[0] if len(words) == 2 or (lift and words) else None)
    with gradebook_of(root, gradebook, create=False) as book:
        from tito.grading.gradebook import overrides

        overrides.comment(book, student, lesson, None if lift else words[-1], author_name(who))
        show_grades(
            book,
            student,
            lesson,
            json,
            f"{student}, {lesson or 'in general'}: comment {'taken back' if lift else 'kept'}.",
        )


@gradebook_app.command("extend")
def gradebook_extend(
    student: Student,
    why: Why,
    lesson: Annotated[
        str | None,
        typer.Argument(
            metavar="[LESSON]",
            help="Default: every lesson without an extension of its own.",
            show_default=False,
        ),
    ] = None,
    days: Annotated[
        int | None, typer.Option(help="Days after the due date.", show_default=False)
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="ISO",
            help="The new due date, such as 2026-12-05T23:59+01:00.",
            show_default=False,
        ),
    ] = None,
    lift: Lift = False,
    who: Who = None,
    gradebook: GradebookOption = None,
    json: Json = False,
    root: RootOption = None,
):
    """Give a learner more time. Due dates and what lateness costs are in the
    table `grading` of tito.toml.

    Example: tito gradebook extend ada tensor --days 3 --why "was ill"
    """
    from datetime import datetime

    if [days is not None, until is not None, lift].count(True) != 1:
        raise UsageError("How much more time?", "Give one of --days N, --until TIME, --lift.")
    try:
        moment = until and datetime.fromisoformat(until)
    except ValueError:
        raise UsageError(
            f"--until {until!r} is no time.", "Write it like this: 2026-12-05T23:59:00+01:00"
        ) from None
    root = current_root(root)
    lesson = lesson_name(root, lesson)
    with gradebook_of(root, gradebook, create=False) as book:
        from tito.grading import views
        from tito.grading.gradebook import overrides

        overrides.extend(book, student, lesson, author_name(who), why, moment, days)
        if not lift and not (lesson in book.rules.due if lesson else book.rules.due):
            warn(
                f"{lesson or 'no lesson'} has {'no' if lesson else 'a'} due date in tito.toml; "
                "without one nothing is late."
            )
        extension = (
            "taken back" if lift else f"until {until}" if until else views.count(days, "day")
        )
        show_grades(
            book,
            student,
            lesson,
            json,
            f"{student}, {lesson or 'all lessons'}: extension {extension}.",
        )


def show_grades(book, student, lesson, json, words):
    """What a change led to: the learner's grades as JSON, or a line."""
    from tito.grading import views

    if json:
        echo_json_list(grade.as_json() for grade in book.rows(student, lesson))
    else:
        echo(views.plain(words, 1000))


@gradebook_app.command("history")
def gradebook_history(
    student: Annotated[
        str | None,
        typer.Argument(metavar="[STUDENT]", help="Default: everybody.", show_default=False),
    ] = None,
    lesson: OneLesson = None,
    changed: Annotated[
        bool,
        typer.Option(
            "--changed",
            help="Only what took a grade from some points to others, or would have without an "
            "override.",
        ),
    ] = False,
    section: SectionOption = None,
    gradebook: GradebookOption = None,
    json: Json = False,
    root: RootOption = None,
):
    """Tell every change of a grade: who, when, why, from how many points to how many.

    Example: tito gradebook history ada
    """
    root = current_root(root)
    lesson = lesson_name(root, lesson)
    with gradebook_of(root, gradebook, create=False, reads=True) as book:
        members = section_of(book, section)
        changes = (
            change
            for change in book.history(student, lesson)
            if (not changed or change.changes_points)
            and (members is None or change.student in members)
        )
        if json:
            echo_json_list(change.as_json() for change in changes)
            return
        from tito.grading import views

        for line in views.history(changes):
            echo(line)


@gradebook_app.command("apply")
def gradebook_apply(
    csv: Annotated[
        Path,
        typer.Argument(
            metavar="CSV",
            help="A header with student, lesson, and as you like check, points, days, until, "
            "comment, why.",
        ),
    ],
    why: Annotated[
        str, typer.Option(help="The reason of lines that give none.", show_default=False)
    ] = "",
    who: Who = None,
    gradebook: GradebookOption = None,
    json: Json = False,
    root: RootOption = None,
):
    """Set points, give more time and comment for many learners, from a table: all of it, or
    nothing. What holds already is left, so the same file may be applied again.

    `lift` in a cell takes back what was set. Example: tito gradebook apply appeals.csv --why
    "appeals of week 3"
    """
    from tito import views
    from tito.grading.gradebook import bulk

    root = current_root(root)
    wishes = bulk.read(current_folder() / csv, lambda name: lesson_name(root, name), why)
    with gradebook_of(root, gradebook, create=False) as book:
        from tito.grading.gradebook import overrides

        new, known = overrides.apply(book, wishes, author_name(who))
    if json:
        echo_json({"changes": new, "known": known})
    else:
        echo(f"{csv}: {views.count(new, 'change')} made, {known} held already.")


@gradebook_app.command("overrides")
def gradebook_overrides(
    doubtful: Annotated[
        bool,
        typer.Option(
            "--doubtful",
            help="Only those now below what is graded, above the maximum, or of a check that is "
            "gone.",
        ),
    ] = False,
    section: SectionOption = None,
    gradebook: GradebookOption = None,
    json: Json = False,
    root: RootOption = None,
):
    """List the points that are set by hand: whose, by whom, why, and what is graded there now.

    Example: tito gradebook overrides --doubtful
    """
    with gradebook_of(current_root(root), gradebook, create=False, reads=True) as book:
        from tito.grading.gradebook import overrides

        members = section_of(book, section)
        overrides = [
            one
            for one in overrides.overrides(book)
            if (one.doubt or not doubtful) and (members is None or one.student in members)
        ]
    if json:
        echo_json([one.as_json() for one in overrides])
        return
    from tito.grading import views

    none = "No override is doubtful." if doubtful else "No override holds."
    echo(views.standing(overrides) if overrides else none)


@gradebook_app.command("roster")
def gradebook_roster(
    csv: Annotated[
        Path,
        typer.Argument(
            metavar="CSV",
            help="As Canvas, Moodle, Gradescope, Classroom 50 or Excel write it; or of your own, "
            "with `student`, and as you like name, email, section, id, sis_login_id, ...",
        ),
    ],
    id_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The column whose texts are the ids. Default: the one that the gradebook has, or "
            "the first that tells the learners apart of: student, sis_login_id, username, "
            "sis_user_id, idnumber, sid, email, github, canvas_id, id, moodle_id.",
            show_default=False,
        ),
    ] = None,
    whole_class: Annotated[
        bool, typer.Option("--whole-class", help="Everybody is in it: whoever is not has left.")
    ] = False,
    who: Who = None,
    gradebook: GradebookOption = None,
    json: Json = False,
    root: RootOption = None,
):
    """Take learners and their columns from a roster, before anything is graded
    or again when it has changed. `tito grade` uses them afterwards.

    Example: tito gradebook roster class.csv
    """
    from dataclasses import asdict

    from tito.grading import views
    from tito.grading.gradebook import enrollment

    with gradebook_of(current_root(root), gradebook) as book:
        enrolled = enrollment.enroll(
            book, current_folder() / csv, author_name(who), id_column, whole_class
        )
        tell_falls(book)
    if json:
        echo_json(asdict(enrolled))
        return
    count = len(enrolled.learners)
    echo(
        f"{count} learner{'s' * (count != 1)} from {csv}, {enrolled.source}, "
        f"{'are' if count != 1 else 'is'} in the gradebook; ids: column "
        f"{enrolled.id_column}, such as {views.plain(enrolled.learners[0])}."
    )
    for words in views.enrollment(enrolled, whole_class):
        echo(views.plain(words, 1000))


@gradebook_app.command("leave")
def gradebook_leave(
    student: Student,
    why: Why = "left the class",
    lift: Annotated[bool, typer.Option("--lift", help="They are back.")] = False,
    who: Who = None,
    gradebook: GradebookOption = None,
    root: RootOption = None,
):
    """A learner leaves the class. Grades and history are kept, and not exported.

    Example: tito gradebook leave ada
    """
    from tito.grading import views
    from tito.grading.gradebook import enrollment

    with gradebook_of(current_root(root), gradebook, create=False) as book:
        enrollment.leave(book, student, author_name(who), why, lift)
    echo(
        views.plain(
            f"{student} {'is in the class again' if lift else 'has left: kept, not exported'}."
        )
    )


@gradebook_app.command("merge")
def gradebook_merge(
    old: Annotated[
        str, typer.Argument(metavar="OLD", help="The id that goes.", show_default=False)
    ],
    into: Annotated[
        str, typer.Argument(metavar="INTO", help="The id that stays.", show_default=False)
    ],
    why: Why,
    who: Who = None,
    gradebook: GradebookOption = None,
    root: RootOption = None,
):
    """One learner was there under two ids: grades, comments and history of OLD become INTO's, as
    does what comes in under OLD from now on. Of a lesson that both have, one submission
    counts, as the table resubmission in tito.toml says.

    Example: tito gradebook merge lovelace.a ada --why "two logins"
    """
    from tito.grading import views
    from tito.grading.gradebook import enrollment

    with gradebook_of(current_root(root), gradebook, create=False) as book:
        enrollment.merge(book, old, into, author_name(who), why)
        tell_falls(book)
    echo(views.plain(f"{old} is {into} now."))
