"""The words of `tito` for an instructor: release, grade, gradebook, feedback, similar.

As `cli.py`, it turns words into values and values into exit codes; what a command
needs is imported inside it.
"""

import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer

from tito.cli.app import (
    All,
    Json,
    Lessons,
    RootOption,
    app,
    current_folder,
    current_root,
    echo,
    echo_json,
    select_lessons,
    warn,
)
from tito.errors import TitoError

Submissions = Annotated[
    Path,
    typer.Argument(
        metavar="SUBMISSIONS",
        help="A folder (or zip) with a folder, zip or lesson file for each learner.",
    ),
]
GradebookOption = Annotated[
    str | None,
    typer.Option(
        "--gradebook",
        metavar="FILE_OR_URL",
        help="Default: .tito/gradebook.db of the course.",
        show_default=False,
    ),
]
RosterOption = Annotated[
    Path | None,
    typer.Option(
        "--roster",
        metavar="CSV",
        help="The learners, as your system lists them or with a column `student`. "
        "Its columns arrived and arrived_LESSON say when work came in. "
        "Default: the learners of `tito gradebook roster`.",
        show_default=False,
    ),
]
SectionOption = Annotated[
    str | None,
    typer.Option(
        "--section",
        metavar="NAME",
        help="Only learners in this section of the roster.",
        show_default=False,
    ),
]


def current_course(root):
    """The course to grade with.

    Raises TitoError in a workspace: it has no hidden checks and no reference.
    """
    root = current_root(root)
    if not root.is_course:
        raise TitoError(
            f"{root.path} is a workspace; grading needs the course.",
            "Run it in the course, or name it with --root.",
        )
    return root


def gradebook_of(root, where, create=True):
    """The gradebook that --gradebook names, or the course's own, with the course's late rules."""
    from tito.grading import gradebook, late

    return gradebook.open_gradebook(where or root.state / "gradebook.db", late.read(root), create)


def today_points(root, book):
    """{lesson: the points that it can earn today} of the lessons that were graded."""
    points, graded = {}, book.lessons()
    for entry in root.lessons if root.is_course else ():
        if entry.name in graded:
            with suppress(TitoError):  # one that cannot be read now: as it was graded
                points[entry.name] = entry.declared.points
    return points


def section_of(book, section):
    """The ids of the learners in a section, or None for everybody."""
    from tito.grading import enrollment

    return enrollment.section(book, section) if section else None


@app.command()
def release(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]",
            help="A new folder, or an earlier release to bring up to date.",
            show_default=False,
        ),
    ] = None,
    lessons: Lessons = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--lessons",
            metavar="LESSON...",
            help="The same as the arguments after DIR, before or behind it; without any: every "
            "lesson.",
            show_default=False,
        ),
    ] = None,
    nbgrader: Annotated[
        Path | None,
        typer.Option(
            "--nbgrader",
            metavar="DIR",
            help="Also, or only: source notebooks for nbgrader, in a new folder. "
            "They hold the solutions.",
            show_default=False,
        ),
    ] = None,
    gradescope: Annotated[
        Path | None,
        typer.Option(
            "--gradescope",
            metavar="ZIP",
            help="Also, or only: a Gradescope autograder. It holds the solutions.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write over an autograder zip that is there.")
    ] = False,
    with_solutions: Annotated[
        bool,
        typer.Option(
            "--with-solutions",
            help="Also the solutions, for `tito compare`: not for a class that is graded.",
        ),
    ] = False,
    root: RootOption = None,
):
    """For instructors: make the learners' course, a folder to publish, without a solution, a hidden
    check or a recorded mistake in any byte.

    It holds stubs, notebooks, tito itself, and files for Binder and for tests at each push. DIR may
    be a git repository. What somebody changed by hand in an earlier release is told and saved.
    Example: tito release ../tinytorch-release --lessons tensor activations
    """
    from tito import views

    root = current_root(root)
    if only:  # the words after --lessons A are lessons, too, but for one that is a folder
        words = [*([str(folder)] if folder else []), *(lessons or [])]
        places = [word for word in words if not _is_lesson(root, word)]
        folder, lessons = Path(places[0]) if places else None, list(words)
        if places:
            lessons.remove(places[0])
    if not (folder or gradescope or nbgrader):
        raise TitoError(
            "Where to?",
            "Name a folder: tito release ../my-course-release; or a zip: tito release "
            "--gradescope autograder.zip",
        )
    if with_solutions and not folder:
        raise TitoError(
            "--with-solutions is for a folder to publish, and none is named.",
            "The autograder and nbgrader's sources hold the solutions in any case.",
        )
    if folder and str(folder) in {entry.name for entry in root.lessons}:
        raise TitoError(
            f"{folder} is a lesson; the first word is the folder to write.",
            f"tito release ../my-course-release {folder}; without a folder: --lessons {folder}",
        )
    names = [*(lessons or []), *(only or [])]
    chosen = select_lessons(root, names, None, False) if names else None
    if folder:
        from tito.author import release as releasing

        result = releasing.release(
            root, current_folder() / folder.expanduser(), chosen, with_solutions
        )
        titles = ", ".join(result.lessons)
        echo(
            f"{result.path} holds {views.count(len(result.lessons), 'lesson')} ({titles}); "
            f"{views.count(len(result.changed), 'file')} written, "
            + (
                "with the solutions: whoever opens a file can read them."
                if with_solutions
                else "nothing given away."
            )
        )
        for name in result.by_hand:
            warn(f"{name} had been changed by hand; it is as released again.")
        if result.kept:
            echo(
                f"What was changed by hand is saved in {result.kept}, which is not to be published "
                "(git leaves it out; a zip would not)."
            )
    if nbgrader:
        from tito.author import nbgrader as sources

        paths = sources.write(root, current_folder() / nbgrader.expanduser(), chosen)
        notebooks = [path for path in paths if path.suffix == ".ipynb"]
        echo(
            f"{nbgrader}, {views.count(len(notebooks), 'source notebook')}. They hold the "
            "solutions and the hidden checks.",
            views.unbroken(
                f"next: cd {nbgrader} && nbgrader generate_assignment {notebooks[0].stem}"
            ),
        )
    if gradescope:
        from tito.author import gradescope as packing

        path = current_folder() / gradescope.expanduser()
        size = packing.pack(root, path, chosen, force)
        echo(
            f"{gradescope}, {size / 1000:.0f} kB: upload it as the autograder. It holds the "
            "solutions and the hidden checks."
        )


def _is_lesson(root, word):
    try:
        return bool(root.lesson(word))
    except TitoError:
        return False


@app.command()
def grade(
    submissions: Submissions,
    lessons: Lessons = None,
    all_: All = False,
    gradebook: GradebookOption = None,
    jobs: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Workers: as many as there are cores; or a Dask scheduler's address.",
            show_default=False,
        ),
    ] = None,
    roster: RosterOption = None,
    section: SectionOption = None,
    base: Annotated[
        str,
        typer.Option(
            metavar="own|reference|both",
            help="The earlier lessons to grade on: the learner's, the course's, or "
            "theirs and then the course's.",
        ),
    ] = "both",
    seconds: Annotated[
        float, typer.Option("--check-seconds", min=0.1, help="Time limit of each check.")
    ] = 10.0,
    memory: Annotated[
        int, typer.Option(min=512, metavar="MB", help="Memory limit of each check.")
    ] = 1024,
    isolation: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL",
            help="bubblewrap, landlock+seccomp or process; else the strongest that works.",
            show_default=False,
        ),
    ] = None,
    regrade: Annotated[
        bool, typer.Option("--regrade", help="Also what is in the gradebook already.")
    ] = False,
    why: Annotated[
        str, typer.Option(help="Why it is graded again, kept in the history.", show_default=False)
    ] = "graded",
    arrived: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="When this batch arrived, where nobody says more: 2026-12-01T23:59+01:00.",
            show_default=False,
        ),
    ] = None,
    times: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV",
            help="When each arrived: Moodle's grading worksheet, or ids and a column `arrived` or "
            "`pushed_at`.",
            show_default=False,
        ),
    ] = None,
    correct_arrival: Annotated[
        bool,
        typer.Option(
            "--correct-arrival",
            help="These files arrived when this run says, whatever earlier runs said.",
        ),
    ] = False,
    students: Annotated[
        list[str] | None,
        typer.Option(
            "--student",
            metavar="ID",
            help="Only this learner; may be repeated.",
            show_default=False,
        ),
    ] = None,
    only_checks: Annotated[
        list[str] | None,
        typer.Option(
            "--check",
            metavar="ID",
            help="Only this check, by its id or a part of it; the others keep what they earned. "
            "May be repeated.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show whose grade would change, by how much and why; write nothing."
        ),
    ] = False,
    json: Json = False,
    root: RootOption = None,
):
    """Grade a class, and keep every result in the gradebook.
    Interrupted, it goes on when run again; two at once share the work.

    Of several submissions of a lesson one counts, as the table resubmission in tito.toml says: the
    latest, if it says nothing. What was not handed in takes no grade away. The time of a download
    makes nothing late. Example: tito grade submissions tensor --roster class.csv
    """
    import os

    from tito.grading import arrived as arriving
    from tito.grading import enrollment, jail, run, views
    from tito.grading.intake import Collected
    from tito.grading.judge import BASES, Setting

    root = current_course(root)
    entries = select_lessons(root, lessons, None, all_)
    if base not in BASES:
        raise TitoError(f"--base {base!r} is no base.", f"There are: {', '.join(BASES)}.")
    private = [
        root.path / "modules",
        root.path / root.package / "core",
        root.path / "tests",
        root.state,
        submissions.resolve(),
        Path(gradebook or root.state).absolute(),
    ]
    secret = tuple(str(path) for path in private if path.exists())
    level = jail.strongest(isolation, secret)
    if level == jail.LEVELS[-1]:
        warn(
            "isolation level process: the learners' code can read every file that you can read. "
            "Grade only what you trust."
        )
    entries, checks = select_checks(entries, only_checks)
    names = tuple(entry.name for entry in entries)
    setting = Setting(root.path, names, level, base, seconds, memory, secret, checks=checks)
    with to_grade_into(root, gradebook, dry_run) as (kept, book):
        zone = book.rules.zone
        collected = Collected(
            arriving.read_times(current_folder() / times, zone) if times else None,
            arriving.read_time(arrived, zone, "--arrived") if arrived else None,
            zone,
        )
        expected = None
        if roster:
            enrolled = enrollment.enroll(book, current_folder() / roster, author_name(None))
            expected = set(enrolled.learners)
            if enrolled.id_column != "student":
                warn(f"{roster}, {enrolled.source}; ids: column {enrolled.id_column}.")
            for words in views.enrollment(enrolled):
                warn(words)
        learners, absent = enrollment.learners(book, expected), enrollment.absent_from(book)
        members = section_of(book, section)

        def is_asked_for(arrival):
            if members is not None and arrival.student not in members:
                return False
            if arrival.parts or not arrival.known:
                return True
            # Nothing came in: a row for those whom the roster expects.
            return arrival.student not in absent and (
                expected is None or arrival.student in expected
            )

        try:
            with show_class_progress(not json) as report, report_when_stopped(dry_run):
                arrivals, progress = run.grade_class(
                    setting,
                    root.lessons,
                    submissions,
                    book,
                    jobs or os.cpu_count() or 1,
                    learners,
                    regrade,
                    report,
                    why,
                    students=students,
                    only=is_asked_for,
                    collected=collected,
                    anew=correct_arrival,
                )
        finally:
            if not dry_run:
                tell_falls(book)
        standing = book.standing([one.student for one in arrivals], setting.lessons)
        if views.may_be_a_download(standing):
            warn(
                "all of these arrived within a minute, and some late: is that the download? See "
                "who says when: tito gradebook show --student ID"
            )
        if dry_run:
            from tito.grading import trial

            differences = list(trial.compare(kept, book))
        doubted = [] if dry_run else views.doubtful(book.overrides())
        strangers = [arrival.student for arrival in arrivals if not arrival.known]
        if strangers:
            warn(
                f"not in {roster or 'the roster'}: "
                f"{', '.join(map(views.plain, strangers[:10]))}"
                f"{' ...' if len(strangers) > 10 else ''} "
                f"({len(strangers)}); graded under these names, and not exported until a roster "
                "has them."
            )
        if json and dry_run:
            echo_json([difference.as_json() for difference in differences])
        elif json:
            echo_json([grade.as_json() for grade in standing])
    if not json:
        echo(
            views.class_summary(progress, level, gradebook or root.state / "gradebook.db"),
            *views.arrivals(standing),
            *views.others_count(standing, progress.given),
        )
        if dry_run:
            echo(views.trial(differences))
    for line in doubted:
        warn(line) if line is doubted[0] else print(line, file=sys.stderr)
    if progress.elsewhere:
        warn(
            f"{progress.elsewhere} are being graded by another run; when it has ended, the same "
            "command does what it left."
        )
    if progress.other:
        warn(
            f"{progress.other} were left as they are: --check needs a grade of the same file. "
            "Without --check they are graded."
        )
    if progress.failed:
        raise TitoError(
            f"{progress.failed} submissions could not be graded, {run.ATTEMPTS} times each; "
            "they have a row that says so.",
            "The same command leaves them; --regrade tries them again.",
            3,
        )


def tell_falls(book):
    """Say which grades count less than before, by what was written just now."""
    from tito.grading import views

    if book.fell:
        headline, *lines = views.fell(book.fell)
        warn(headline)
        print(*lines, sep="\n", file=sys.stderr)


def select_checks(entries, texts):
    """(the lessons that have these checks, the checks' ids); all lessons without any check."""
    from tito.grading.grade import select_check

    if not texts:
        return entries, ()
    ids = {check.id: entry for entry in entries for check in entry.declared.checks}
    lessons = " ".join(entry.name for entry in entries)
    checks = tuple(select_check(text, lessons, list(ids)) for text in texts)
    asked = {ids[check].name for check in checks}
    return [entry for entry in entries if entry.name in asked], checks


@contextmanager
def to_grade_into(root, where, dry_run):
    """(the gradebook, the one that a run writes into), which for a dry run is a copy and thrown
    away.
    """
    if not dry_run:
        with gradebook_of(root, where) as book:
            yield book, book
        return
    from tempfile import TemporaryDirectory

    from tito.grading import trial

    with TemporaryDirectory(prefix="tito-trial-") as folder:
        path = Path(where or root.state / "gradebook.db").expanduser()
        if "://" not in str(where) and not path.exists():
            where = f"{folder}/gradebook.db"  # none is made where there is none
        with gradebook_of(root, where) as kept, trial.copied(kept) as copy:
            yield kept, copy


@contextmanager
def report_when_stopped(dry_run=False):
    """Ctrl-C ends a run; this says what that means."""
    try:
        yield
    except KeyboardInterrupt:
        warn(
            "stopped; nothing was written."
            if dry_run
            else "stopped. The submissions that were graded are in the gradebook; the same command "
            "goes on with the others."
        )
        raise


def progress_lines(now=time.monotonic):
    """A function (done, of, words) for a standard error that is no terminal, a log say: it prints a
    line when another tenth is done, at most every 10 seconds, and each minute in any case.

    words  a function that gives the line: most calls print nothing
    """
    last, tenth = now(), 0

    def tell(done, of, words):
        nonlocal last, tenth
        seconds, reached = now() - last, 10 * done // max(1, of)
        if seconds >= 60 or seconds >= 10 and reached > tenth:
            last, tenth = now(), reached
            print(words(), file=sys.stderr, flush=True)

    return tell


@contextmanager
def show_class_progress(visible):
    """A function that shows a run.Progress on standard error, with rate and time
    left: a bar where that is a terminal, else lines, for a log.
    """
    if not sys.stderr.isatty():
        from tito.grading.views import progress_line

        tell = progress_lines()
        yield lambda progress: tell(progress.done, progress.total, lambda: progress_line(progress))
        return
    if not visible:
        yield lambda progress: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    from tito.grading.views import plain

    columns = [
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    ]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", rate="")

        def report(progress):
            rate = (
                f"{progress.graded / progress.seconds:.1f}/s"
                if progress.graded and progress.seconds
                else ""
            )
            bar.update(
                task,
                total=progress.total,
                completed=progress.done,
                rate=rate,
                description=plain(progress.student),
            )

        yield report


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
OneLesson = Annotated[
    str | None,
    typer.Option("--lesson", metavar="LESSON", help="Only this lesson.", show_default=False),
]
Who = Annotated[
    str | None,
    typer.Option(help="Who makes the change. Default: your login name.", show_default=False),
]
Why = Annotated[str, typer.Option(help="The reason, kept in the history.", show_default=False)]
Lift = Annotated[bool, typer.Option("--lift", help="Take back what was set.")]


def author_name(who):
    """The name under which a change is kept. Raises TitoError when nobody is logged in."""
    import getpass

    try:
        return who or getpass.getuser()
    except (KeyError, OSError, ImportError):
        raise TitoError("This machine does not say who you are.", "Add --who NAME.") from None


def echo_json_list(values):
    """Print a JSON list, one value at a time: a class with its messages may be long."""
    import json

    separator = "["
    for value in values:
        print(separator + json.dumps(value, indent=1))
        separator = ","
    print("[]" if separator == "[" else "]")


def lesson_name(root, lesson):
    return root.lesson(lesson).name if lesson else None


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
    with gradebook_of(root, gradebook, create=False) as book:
        section_of(book, section)
        if json:
            echo_json_list(grade.as_json() for grade in book.rows(student, lesson, section))
            return
        from tito.grading import views

        if not (student or lesson):
            echo(views.grades(book.by_learner(section=section), book.lessons()))
            return
        grades = list(book.rows(student, lesson, section))
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
    from tito.grading import enrollment, exports, nbgrader_book, views

    if kind not in exports.FORMATS:
        raise TitoError(
            f"--format {kind!r} is unknown.", f"There are: {', '.join(exports.FORMATS)}."
        )
    if not output and (json or kind in (*exports.TREES, "nbgrader")):
        raise TitoError(
            "Where to?" if kind not in exports.TREES else f"{kind} is a folder of files.",
            "Name a place: --output PATH",
        )
    if classroom and not exports.CLASSROOM.fullmatch(classroom):
        raise TitoError(
            f"--classroom {classroom!r} is no short name of Classroom 50.",
            "2 to 100 lower-case letters, digits and hyphens, such as cs50-fall.",
        )
    root = current_root(root)
    lesson = lesson_name(root, lesson)
    with gradebook_of(root, gradebook, create=False) as book:
        section_of(book, section)
        chosen = exports.Selection(
            book, lesson, section, today_points(root, book), root.name, classroom
        )
        absent, outdated = enrollment.absent_from(book), chosen.outdated()
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
    for words in views.left_out(absent, outdated):
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
        raise TitoError(
            "Give the points, or --lift to take an override back.",
            "For instance: tito gradebook override ada tensor 7.5 --why REASON",
        )
    root = current_root(root)
    lesson = lesson_name(root, lesson)
    with gradebook_of(root, gradebook, create=False) as book:
        before, after = book.override(student, lesson, points, author_name(who), why, check)
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
        raise TitoError(
            f"{len(words)} words follow the learner.",
            'Put the comment in quotes: tito gradebook comment ada tensor "Well done."',
        )
    root = current_root(root)
    lesson = lesson_name(root, words[0] if len(words) == 2 or (lift and words) else None)
    with gradebook_of(root, gradebook, create=False) as book:
        book.comment(student, lesson, None if lift else words[-1], author_name(who))
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
        raise TitoError("How much more time?", "Give one of --days N, --until TIME, --lift.")
    try:
        moment = until and datetime.fromisoformat(until)
    except ValueError:
        raise TitoError(
            f"--until {until!r} is no time.", "Write it like this: 2026-12-05T23:59:00+01:00"
        ) from None
    root = current_root(root)
    lesson = lesson_name(root, lesson)
    with gradebook_of(root, gradebook, create=False) as book:
        book.extend(student, lesson, author_name(who), why, moment, days)
        if not lift and not (lesson in book.rules.due if lesson else book.rules.due):
            warn(
                f"{lesson or 'no lesson'} has {'no' if lesson else 'a'} due date in tito.toml; "
                "without one nothing is late."
            )
        from tito.grading import views

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
    with gradebook_of(root, gradebook, create=False) as book:
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


@gradebook_app.command("claim")
def gradebook_claim(
    section: SectionOption = None,
    students: Annotated[
        list[str] | None,
        typer.Option(
            "--student",
            metavar="ID",
            help="Only this learner; may be repeated.",
            show_default=False,
        ),
    ] = None,
    lesson: OneLesson = None,
    who: Annotated[
        str | None,
        typer.Option(help="The grader. Default: your login name.", show_default=False),
    ] = None,
    lift: Annotated[bool, typer.Option("--lift", help="Give back what was claimed.")] = False,
    gradebook: GradebookOption = None,
    json: Json = False,
    root: RootOption = None,
):
    """Say which submissions a grader looks at, so that two do not look at the same ones: of a
    section, of some learners, of a lesson. What another has is left to them.

    Without words it shows who has how much. It changes no grade and keeps nobody out.
    Example: tito gradebook claim --section A --lesson tensor --who ta1
    """
    from tito.grading import claims, views

    root = current_root(root)
    lesson = lesson_name(root, lesson)
    with gradebook_of(root, gradebook, create=False) as book:
        if section or students or lesson or lift:
            person = author_name(who)
            places = claims.places(book, lesson, section, students)
            changed = (claims.give_back_all if lift else claims.take_all)(book, places, person)
            words = "gives back" if lift else "has"
            if not json:
                echo(
                    views.plain(
                        f"{person} {words} {changed} of {views.count(len(places), 'submission')}"
                        f"{'' if lift else ' more; the others are taken, or looked at'}."
                        if changed != len(places)
                        else f"{person} {words} {views.count(changed, 'submission')}."
                    )
                )
                return
        found = claims.claims(book)
    if json:
        echo_json([found[place].as_json() for place in sorted(found)])
    else:
        echo(views.claims(found.values()))


@gradebook_app.command("items")
def gradebook_items(
    lesson: Annotated[
        str | None,
        typer.Argument(metavar="[LESSON]", help="Default: each that was graded."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Compare with how it stood then: 2026-11-15. Default: a week ago.",
            show_default=False,
        ),
    ] = None,
    section: SectionOption = None,
    pictures: Annotated[
        Path | None,
        typer.Option(
            "--plots", metavar="DIR", help="Also write the pictures, SVG.", show_default=False
        ),
    ] = None,
    gradebook: GradebookOption = None,
    json: Json = False,
    root: RootOption = None,
):
    """How the class did in each exercise, and of one lesson in each check: the share that is right,
    discrimination, the commonest recorded misconception, where learners stop.

    Discrimination is the correlation with the learner's other points of the lesson.
    Example: tito gradebook items tensor
    """
    from datetime import datetime

    from tito import files
    from tito.grading import item_plots, items, views

    root = current_root(root)
    lesson = lesson_name(root, lesson)
    try:
        moment = since and datetime.fromisoformat(since).astimezone()
    except (ValueError, OverflowError):
        raise TitoError(
            f"--since {since!r} is no time.", "Write it like this: 2026-11-15 or 2026-11-15T12:00"
        ) from None
    with gradebook_of(root, gradebook, create=False) as book:
        section_of(book, section)
        entries = root.lessons if root.is_course else []
        found = items.analyse(book, entries, lesson, section, moment)
    if lesson and not found:
        raise TitoError(f"Nobody has a grade in {lesson}.", "tito grade SUBMISSIONS")
    if pictures:
        folder = current_folder() / pictures.expanduser()
        for one in found:
            files.write(folder / f"{one.lesson}-shares.svg", item_plots.shares(one))
            if drawn := item_plots.course(one):
                files.write(folder / f"{one.lesson}-course.svg", drawn)
    if json:
        echo_json_list(one.as_json() for one in found)
    else:
        echo(*(views.items(one, checks=bool(lesson)) for one in found))


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
    from tito.grading import bulk

    root = current_root(root)
    wishes = bulk.read(current_folder() / csv, lambda name: lesson_name(root, name), why)
    with gradebook_of(root, gradebook, create=False) as book:
        new, known = book.apply(wishes, author_name(who))
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
    with gradebook_of(current_root(root), gradebook, create=False) as book:
        members = section_of(book, section)
        overrides = [
            one
            for one in book.overrides()
            if (one.doubt or not doubtful) and (members is None or one.student in members)
        ]
    if json:
        echo_json([one.as_json() for one in overrides])
        return
    from tito.grading import views

    echo(views.standing(overrides) if overrides else "No override holds.")


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

    from tito.grading import enrollment, views

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
    from tito.grading import enrollment, views

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
    from tito.grading import enrollment, views

    with gradebook_of(current_root(root), gradebook, create=False) as book:
        enrollment.merge(book, old, into, author_name(who), why)
        tell_falls(book)
    echo(views.plain(f"{old} is {into} now."))


@app.command()
def feedback(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="A folder for the pages; those that did not change are left alone."
        ),
    ],
    moodle: Annotated[
        Path | None,
        typer.Option(
            metavar="ZIP",
            help="A zip for Moodle: Upload multiple feedback files in a zip.",
            show_default=False,
        ),
    ] = None,
    canvas: Annotated[
        Path | None,
        typer.Option(
            metavar="ZIP",
            help="A zip for Canvas: Re-upload submissions. Needs --submissions.",
            show_default=False,
        ),
    ] = None,
    mail: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV",
            help="A table for a mail merge: name, email, page, points.",
            show_default=False,
        ),
    ] = None,
    submissions: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR_OR_ZIP",
            help="What Moodle or Canvas gave you: its names tell whose page is whose.",
            show_default=False,
        ),
    ] = None,
    everyone: Annotated[
        bool,
        typer.Option(
            "--everyone",
            help="In zips and table also the pages that did not change since the last one.",
        ),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Write over a zip or table that is there.")
    ] = False,
    section: SectionOption = None,
    gradebook: GradebookOption = None,
    json: Json = False,
    root: RootOption = None,
):
    """Write a page for each learner: what every check found, in DIR/learners; and DIR/index.html,
    with everybody's points, for you. Zips and table hold the pages that changed since the last one.

    Example: tito feedback feedback --moodle feedback.zip
    """
    from tito.grading import deliver, enrollment
    from tito.grading import feedback as giving

    root = current_root(root)
    place = current_folder() / folder.expanduser()
    given = zip(deliver.KINDS, (moodle, canvas, mail))
    targets = {kind: current_folder() / path.expanduser() for kind, path in given if path}
    deliver.refuse(list(targets.values()), force)
    if canvas and not submissions:
        raise TitoError(
            "Canvas finds a page by the names of its own download.",
            "Name that download: --submissions DIR_OR_ZIP",
        )
    learners = []

    def remembered(found):
        for learner, grades in found:
            points = sum(grade.points for grade in grades)
            learners.append((learner, points, sum(grade.max_points for grade in grades)))
            yield learner, grades

    with gradebook_of(root, gradebook, create=False) as book:
        section_of(book, section)
        pages, changes = giving.write(
            place, remembered(book.by_learner(section=section)), root.name
        )
        everybody, absent = enrollment.learners(book), enrollment.absent_from(book)
    parts = {}
    if submissions and targets:
        parts = deliver.handed_in(current_folder() / submissions, root.lessons, everybody)
    delivered = {}
    if targets:
        written = [deliver.Page(one, pages[one.student], *points) for one, *points in learners]
        delivered = deliver.deliver(place, targets, written, parts, everyone)
    if json:
        echo_json(
            [
                {
                    "student": student,
                    "page": str(path),
                    "written": path in changes,
                    "delivered": [kind for kind, (to, _) in delivered.items() if student in to],
                }
                for student, path in pages.items()
            ]
        )
        return
    from tito.grading import views

    echo(
        f"{folder / 'index.html'}: {views.count(len(pages), 'learner')}, "
        f"{views.count(len(changes), 'page')} new or changed. Give each "
        "learner their own page only."
    )
    for words in views.left_out(absent, {}) if targets else ():
        warn(words)
    for kind, (to, nameless) in delivered.items():
        echo(
            f"{targets[kind].name}: {views.count(len(to), 'page')}."
            if to
            else f"{targets[kind].name} was not written: "
            + ("nobody has a name there." if nameless else "no page changed since the last one.")
            + " --everyone takes all." * (not nameless)
        )
        if nameless:
            first = ", ".join(views.plain(student, 40) for student in nameless[:10])
            warn(
                f"{len(nameless)} pages are not in it, since no name of {kind.title()}'s was found "
                f"for {first}{', ...' if len(nameless) > 10 else ''}."
            )


@app.command()
def similar(
    submissions: Submissions,
    lessons: Lessons = None,
    all_: All = False,
    threshold: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Similarity from which a pair is told, 0 to 1.")
    ] = 0.85,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="A folder for a page of each pair, side by side.",
            show_default=False,
        ),
    ] = None,
    roster: RosterOption = None,
    section: SectionOption = None,
    gradebook: GradebookOption = None,
    json: Json = False,
    root: RootOption = None,
):
    """Find pairs of submissions that are too much alike. What the course gives counts nothing, what
    many wrote counts little, names nothing.

    Nothing that was handed in is run. Example: tito similar submissions --all --output similar
    """
    from dataclasses import asdict

    from tito.cli.app import progress_bar
    from tito.grading import enrollment, views
    from tito.grading import similar as comparing
    from tito.grading.roster import in_section, read_roster

    root = current_course(root)
    entries = select_lessons(root, lessons, None, all_)
    learners = remembered = None
    if gradebook or (root.state / "gradebook.db").exists():
        with gradebook_of(root, gradebook, create=False) as book:
            learners, remembered = enrollment.learners(book), enrollment.id_column(book)
    if roster:
        learners = read_roster(current_folder() / roster, remembered=remembered)
    members = None
    if section:
        members = {one.student for one in learners or () if in_section(one.columns, section)}
        if not members:
            raise TitoError(f"Nobody is in section {section!r}.", "Give a roster that has it.")
    with progress_bar(not json) as report:
        handed_in = comparing.read(current_folder() / submissions, entries, learners)
        if members is not None:
            handed_in = [one for one in handed_in if one.student in members]
        pairs, notes = comparing.compare_class(
            entries, handed_in, threshold, lambda done, of: report("comparing", done, of)
        )
    if output:
        comparing.write(current_folder() / output.expanduser(), pairs, threshold, notes)
    for note in notes:
        warn(views.plain(note, 500))
    if json:
        echo_json([asdict(pair) for pair, _ in pairs])
        return
    echo(views.similar([pair for pair, _ in pairs], threshold))
    if output:
        echo(f"side by side: {output / 'index.html'}")
