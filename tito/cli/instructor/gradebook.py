"""`tito gradebook`: show, set and export the grades of a class, and set its roster."""

import sys
from contextlib import suppress
from dataclasses import asdict
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tito.cli.app import (
    Json,
    app,
    ask_line,
    current_folder,
    current_root,
    echo,
    echo_json,
    echo_json_list,
    progress_bar,
    warn,
)
from tito.cli.instructor.options import (
    OneLesson,
    SectionOption,
    author_name,
    current_course,
    ended_as_by_ctrl_c,
    gradebook_of,
    gradebook_place,
    lesson_name,
    section_of,
    tell_points_lost,
)
from tito.errors import TitoError, UsageError
from tito.grading.lms import formats, having, id_columns, joined

if TYPE_CHECKING:
    from tito.grading.gradebook.enrollment import Enrollment
    from tito.grading.gradebook.exports import Selection
    from tito.grading.gradebook.gradebook import Gradebook
    from tito.grading.gradebook.requested_changes import RequestedChange
    from tito.grading.sheets import SheetMaker
    from tito.lesson.course import Root

LISTS = [system.title for system in having("class_list").values()]
FOLDERS = [
    f"for {name} {system.export}"
    for name, system in having("export").items()
    if system.export != "a file"
]
Learner = Annotated[
    str | None, typer.Argument(metavar="[STUDENT]", help="The learner's id, name or email address.")
]
SetLesson = Annotated[
    str | None,
    typer.Argument(
        metavar="[LESSON]",
        help="A name or number. Without it, the time or comment is for all lessons.",
    ),
]
Points = Annotated[str | None, typer.Option(metavar="P", help="Such as 7 or 7.5; lift removes it.")]
CheckPart = Annotated[
    str | None,
    typer.Option(
        metavar="ID", help="Set the points of this check only, or of the answer to this question."
    ),
]
Extend = Annotated[
    str | None,
    typer.Option(
        metavar="DAYS_OR_TIME",
        help="Extend the deadline: by 3 (days), or to 2026-12-05T23:59; lift removes it.",
    ),
]
CommentText = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT", help="A comment for the learner; lift removes all comments on that lesson."
    ),
]
Why = Annotated[
    str,
    typer.Option(
        metavar="TEXT", help="The reason for the points or the time, saved in the history."
    ),
]
FromTable = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="CSV",
        help="Many changes, in the columns student, lesson, points, check, extend, comment, why. "
        "Shows what would change.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Make the changes of --from.")]
RosterCsv = Annotated[
    Path | None,
    typer.Argument(
        metavar="[CSV]",
        help=f"A class list from {joined([*LISTS, 'Excel'])}; or your own, with the column "
        "`student` and any of name, email, section, group, id, ... Without it: list the "
        "class.",
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The column with the ids. Default: the column that the gradebook uses already, or the "
        f"first of these that differs for all learners: {', '.join(id_columns())}.",
    ),
]
WholeClass = Annotated[
    bool,
    typer.Option(
        "--whole-class",
        help="The CSV is the whole class: learners who are missing from it have left.",
    ),
]
Remove = Annotated[
    list[str] | None, typer.Option(metavar="ID", help="This learner has left. The grades are kept.")
]
Restore = Annotated[
    list[str] | None,
    typer.Option(metavar="ID", help="This learner is back; or the OLD of a --merge, taken back."),
]
Merge = Annotated[
    tuple[str, str] | None,
    typer.Option(
        metavar="OLD ID",
        help="Two ids of one learner: the work of OLD now counts for ID, also in later runs. Shows "
        "which grades change, and asks.",
    ),
]
Delete = Annotated[
    str | None,
    typer.Option(
        metavar="ID",
        help="Delete this learner, with grades, work and history. Asks for the id once more.",
    ),
]
Sure = Annotated[bool, typer.Option("--yes", help="Do not ask, for --merge and --delete.")]
Format = Annotated[str, typer.Option("--format", metavar="FORMAT", help=f"{joined(formats())}.")]
Output = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH", help=f"A file. {', '.join(FOLDERS).capitalize()}. Default: print."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]

gradebook_app = typer.Typer(
    help="Show, set and export the grades of a class.\n"
    "\n"
    "They are saved in .tito/gradebook.db of the course, which git ignores and releases leave "
    "out.\n"
    "\n"
    "Example: tito gradebook show",
    epilog="Several graders: tito gradebook page --as prof --as ben:B gives each one an address, "
    "and --section B limits a command to a section of the roster.",
)
DAILY, MEMBERS = "Every day", "The class"
app.add_typer(gradebook_app, name="gradebook")


@gradebook_app.command("show", rich_help_panel=DAILY)
def gradebook_show(
    student: Annotated[str | None, typer.Option(metavar="ID", help="Only this learner.")] = None,
    lesson: OneLesson = None,
    section: SectionOption = None,
    overrides: Annotated[
        bool,
        typer.Option("--overrides", help="The points set by hand, and which to look at again."),
    ] = False,
    exercises: Annotated[
        bool,
        typer.Option(
            "--exercises", help="How the class did in each exercise, and its usual mistake."
        ),
    ] = False,
    history: Annotated[
        bool, typer.Option("--history", help="Every change: when, who made it and why.")
    ] = False,
    json: Json = False,
) -> None:
    """Show the grades of the class, of a learner or of a lesson.

    With a learner and a lesson, it shows every check; with --json also their texts. With a learner
    and --json, it shows everything that is stored about them.
    Example: tito gradebook show --student ada --lesson tensor
    """
    from tito.grading.gradebook import enrollment

    course = current_root()
    lesson = lesson_name(course, lesson)
    with gradebook_of(course, create=False, reads=True) as book:
        members, student = section_of(book, section), enrollment.named(book, student)
        if overrides:
            show_overrides(book, lesson, {student} if student else members, json)
        elif history:
            show_history(book, student, lesson, members, json)
        elif exercises:
            show_exercises(course, book, lesson, section, json)
        else:
            show_grades(book, student, lesson, section, json)


def show_grades(
    book: "Gradebook", student: str | None, lesson: str | None, section: str | None, json: bool
) -> None:
    from tito.grading.gradebook import answers, exports, learner_data, views

    is_empty = exports.Selection(book).is_empty
    if json and student and not lesson:
        counting = list(answers.grades_as_json(book, book.grades(student)))
        echo_json({"grades": counting, "stored": learner_data.stored(book, student)})
        return
    if json:
        echo_json_list(
            value | {"exported": None if is_empty(grade) else value["points"]}
            for grade in book.grades(student, lesson, section)
            for value in answers.grades_as_json(book, [grade], checks=bool(student and lesson))
        )
        return
    lessons = book.lessons()
    if lessons and not (student or lesson):
        echo(views.grades(book.by_learner(section=section, brief=True), lessons, is_empty))
        return
    rows = list(book.by_learner(student, lesson, section))
    grades = [grade for _, mine in rows for grade in mine]
    if not grades and (lesson or not student):
        echo(f"Nothing is graded here yet: tito grade SUBMISSIONS {lesson or ''}".rstrip())
        return
    echo(views.grade_table(grades, is_empty, notes=bool(student)))
    if student:
        for grade in grades if lesson else ():
            echo(views.grade_checks(grade), views.graded_by(grade))
        echo(*(views.comment_line(comment) for learner, _ in rows for comment in learner.comments))


def show_overrides(
    book: "Gradebook", lesson: str | None, members: set[str] | None, json: bool
) -> None:
    """members: ids of the only learners, or None."""
    from tito.grading.gradebook import views

    reviews = [
        review
        for review in book.reviews()
        if (members is None or review.student in members) and lesson in (None, review.lesson)
    ]
    if json:
        echo_json([review.as_json() for review in reviews])
    else:
        echo(views.overrides(reviews))


def show_history(
    book: "Gradebook", student: str | None, lesson: str | None, members: set[str] | None, json: bool
) -> None:
    """members: ids of the only learners, or None."""
    from tito.grading.gradebook import views

    changes = (
        change
        for change in book.history(student, lesson)
        if members is None or change.student in members
    )
    if json:
        echo_json_list(change.as_json() for change in changes)
        return
    number = 0
    for number, line in enumerate(views.history(changes), 1):
        echo(line)
    if not number:
        echo("No change is recorded.")


def show_exercises(
    root: "Root", book: "Gradebook", lesson: str | None, section: str | None, json: bool
) -> None:
    from tito.grading.gradebook import views
    from tito.grading.gradebook.exercise_table import exercise_table

    entries = root.lessons if root.is_course else []
    rows = exercise_table(book, entries, lesson, section)
    if json:
        echo_json([asdict(row) for row in rows])
    else:
        echo(views.exercises(rows))


@gradebook_app.command("set", rich_help_panel=DAILY)
def gradebook_set(
    student: Learner = None,
    lesson: SetLesson = None,
    points: Points = None,
    check: CheckPart = None,
    extend: Extend = None,
    comment: CommentText = None,
    why: Why = "",
    table: FromTable = None,
    yes: Yes = False,
) -> None:
    """Set points, extend a deadline or write a comment, for one learner or for many from a table.

    If a row of the table is wrong, nothing is changed. Points set by hand are final.
    Example: tito gradebook set ada tensor --points 7.5 --why "showed it in the lab"
    """
    from tito.grading.gradebook.requested_changes import read_changes, requested

    course = current_root()
    values = {"points": points, "extend": extend, "comment": comment}
    is_asked = any(text is not None for text in values.values())
    if table and (student or is_asked) or not table and not (student and is_asked):
        raise UsageError(
            "What should be set, and for whom?",
            "Give STUDENT [LESSON] with --points, --extend or --comment; or only --from CSV.",
        )

    def name_of(lesson: str) -> str:
        return str(lesson_name(course, lesson))

    with gradebook_of(course, create=False) as book:
        cells = values | {"student": student, "lesson": lesson, "check": check}
        path = table and current_folder() / table.expanduser()
        how = name_of, why, book.rules.zone
        changes = read_changes(path, *how) if path else requested(cells, *how)
        make_changes(book, changes, preview=bool(table) and not yes)


def make_changes(book: "Gradebook", changes: "list[RequestedChange]", preview: bool) -> None:
    """Make the changes, or only preview them, and show the results."""
    from tito.grading.gradebook import enrollment, views
    from tito.grading.gradebook.changes import apply_changes

    changes = enrollment.with_ids(book, changes)
    outcomes, due = apply_changes(book, changes, author_name(), preview), book.rules.due
    echo(views.changes(outcomes))
    if preview:
        echo("Nothing was written. To make these changes, run the command again with --yes.")
    for lesson in {change.lesson for change in changes if change.extension}:
        if not due or lesson and lesson not in due:
            words = f"{lesson} has no due date" if lesson else "no lesson has a due date"
            warn(f"{words} in tito.toml, so nothing is late.")


@gradebook_app.command("roster", rich_help_panel=MEMBERS)
def gradebook_roster(
    csv: RosterCsv = None,
    id_column: IdColumn = None,
    whole_class: WholeClass = False,
    remove: Remove = None,
    restore: Restore = None,
    merge: Merge = None,
    delete: Delete = None,
    yes: Sure = False,
    json: Json = False,
) -> None:
    """Set who is in the class: read a roster, remove learners, or merge two ids of a learner.

    Do this before you grade, and when the class changes. Example: tito gradebook roster class.csv
    """
    from tito.grading.gradebook import enrollment

    changes = [bool(one) for one in (csv, remove, restore, merge, delete)].count(True)
    if changes > 1:
        raise UsageError("Only one at a time.", "Give a CSV or one option.")
    course, who = current_root(), author_name() if changes else ""
    with gradebook_of(course, create=bool(csv), reads=not changes) as book:
        if csv:
            enrolled = enrollment.enroll(book, current_folder() / csv, who, id_column, whole_class)
            tell_points_lost(book)
            show_enrollment(enrolled, csv, whole_class, json)
            return
        for student in remove or ():
            enrollment.leave(book, student, who, "left the class")
        for student in restore or ():
            enrollment.come_back(book, student, who, "came back")
        if merge:
            merge_learners(book, *merge, who, yes)
        if delete:
            delete_learner(book, delete, who, yes)
        else:
            tell_points_lost(book)
            show_members(book, {*(remove or ()), *(restore or ()), *(merge or ())}, json)


def show_members(book: "Gradebook", named: set[str], json: bool) -> None:
    """named: ids of the only learners; or, empty, all."""
    from tito.grading.gradebook import learner_data, views
    from tito.views import count

    learners = [one for one in book.learners() if not named or one.student in named]
    if json:
        shown = ("student", "name", "columns", "state")  # no secret: assistants may get the list
        echo_json([{key: getattr(learner, key) for key in shown} for learner in learners])
        return
    echo(views.roster(learners))
    days = [day for day in learner_data.deleted(book).values() if day != learner_data.MERGED]
    if not named and (gone := len(days)):
        echo(f"{count(gone, 'learner')} {'was' if gone == 1 else 'were'} deleted.")


def merge_learners(book: "Gradebook", old: str, into: str, who: str, yes: bool) -> None:
    """Show what each of two ids has, ask, and merge them."""
    from tito.grading.gradebook import merging, views
    from tito.safe_text import plain

    echo(views.merge(merging.merge(book, old, into, who, "two ids", preview=True)))
    if not yes and ask_line(f"Are both one learner? Then type {plain(into)}: ") != into:
        raise UsageError("Nothing was merged.", "Type the id that stays, or add --yes.")
    merging.merge(book, old, into, who, "two ids")
    echo(f"Taken back by: tito gradebook roster --restore {plain(old)}")


def delete_learner(book: "Gradebook", student: str, who: str, yes: bool) -> None:
    """Show what is stored about a learner, ask, and delete it."""
    from tito.grading.gradebook import learner_data, views
    from tito.safe_text import plain

    echo(*views.deletion(learner_data.delete(book, student, who, preview=True)))
    if not yes and ask_line(f"To delete this for ever, type the id {plain(student)}: ") != student:
        raise UsageError("Nothing was deleted.", "Type the id as it is, or add --yes.")
    learner_data.delete(book, student, who)
    echo(
        f"{plain(student)} is deleted from the gradebook. Run `tito feedback DIR` to delete the "
        "page there. Delete yourself: the submissions, backups, exported tables, zips and what "
        "was sent."
    )


def show_enrollment(enrolled: "Enrollment", csv: Path, whole_class: bool, json: bool) -> None:
    from tito import views as general
    from tito.grading.gradebook import views
    from tito.safe_text import plain

    if json:
        echo_json(asdict(enrolled))
        return
    number = len(enrolled.learners)
    echo(
        f"{general.count(number, 'learner')} from {csv}, {enrolled.source}, "
        f"{'are' if number != 1 else 'is'} in the gradebook; ids: column {enrolled.id_column}, "
        f"such as {plain(enrolled.learners[0])}."
    )
    for words in views.enrollment(enrolled, whole_class):
        echo(plain(words, 1000))


@gradebook_app.command("copy", rich_help_panel=MEMBERS)
def gradebook_copy(
    target: Annotated[
        str, typer.Argument(metavar="FILE_OR_URL", help="A new file, or an empty database.")
    ],
) -> None:
    """Copy the gradebook into a file or database: a backup, an archive, or a move to PostgreSQL.

    The copy is complete or not there: rows and their hashes are compared. Others may go on writing.
    Example: tito gradebook copy ../archive/2026.db
    """
    from tito.grading.gradebook import copying
    from tito.grading.gradebook.database import connect, display_url

    where = target if "://" in target else current_folder() / Path(target).expanduser()
    place = gradebook_place(current_root())
    with connect(place, create=False, reads=True, earlier=True) as engine, ended_as_by_ctrl_c():
        rows = copying.copy(engine, where)
    what = ", ".join(f"{name} {number}" for name, number in rows.items() if number)
    echo(f"{display_url(where)} is a copy, compared row by row: {what}.")


@gradebook_app.command("export", rich_help_panel=DAILY)
def gradebook_export(
    kind: Format = "csv",
    output: Output = None,
    lesson: OneLesson = None,
    section: SectionOption = None,
    force: Force = False,
) -> None:
    """Write the grades in the format of another system.

    Canvas and Moodle need their own ids, which come from `tito gradebook roster`. --format
    questions writes a page to print for each learner: five questions on their own code, and the
    answers. Example: tito gradebook export --format canvas --output grades.csv
    """
    from tito.grading.gradebook import enrollment, exports, views

    if kind not in exports.FORMATS:
        known = ", ".join(exports.FORMATS)
        raise UsageError(f"--format {kind!r} is unknown.", f"Choose one of: {known}.")
    if kind in (*exports.TREES, exports.QUESTIONS) and not output:
        raise UsageError(f"{kind} needs a folder to write to.", "Name it: --output PATH")
    course = current_root()
    lesson = lesson_name(course, lesson)
    with gradebook_of(course, create=False, reads=True) as book:
        section_of(book, section)
        most = today_points(course, book)
        chosen = exports.Selection(book, lesson, section, most, course.name)
        _, absent = enrollment.learners(book)
        count = write_export(chosen, kind, output, force)
        for words in (*views.export_notes(chosen), *views.left_out(absent)):
            warn(words)
    if output:
        files = f"{count} file{'s' * (count != 1)} written." if count else "nothing has changed."
        echo(f"{output}: {files}")
    if kind in exports.EXPORTS and (note := exports.EXPORTS[kind].export_note):
        echo(note)


def write_export(chosen: "Selection", kind: str, output: Path | None, force: bool) -> int:
    """Write an export to `output`, or print it. Returns the number of changed files."""
    from tito.grading import sheets
    from tito.grading.gradebook import exports

    if not output:
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", newline="")
        sys.stdout.write(exports.text(chosen, kind))
        return 0
    place = current_folder() / output.expanduser()
    if kind == exports.QUESTIONS:
        maker = sheet_maker(chosen.book, current_course())
        with progress_bar(visible=True) as report:
            return exports.write_tree(place, sheets.tree(chosen, maker, report), force)
    if kind in exports.TREES:
        return exports.write_tree(place, exports.tree(chosen, kind, place.name), force)
    return int(exports.write_file(place, exports.text(chosen, kind), force))


def sheet_maker(book: "Gradebook", course: "Root") -> "SheetMaker":
    """What makes sheets of questions, from the submissions in a gradebook."""
    from tito.cli.instructor.grade import setting_of
    from tito.grading.sheets import SheetMaker

    return SheetMaker(book, lambda: setting_of(course, course.lessons, None, None))


def today_points(root: "Root", book: "Gradebook") -> dict[str, int]:
    """{lesson: its maximum points today}, for the lessons that were graded."""
    points, graded = {}, book.lessons()
    for entry in root.lessons if root.is_course else ():
        if entry.name in graded:
            with suppress(TitoError):  # a lesson that cannot be read keeps its maximum
                points[entry.name] = entry.declared.most
    return points
