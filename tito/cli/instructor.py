"""The words of `tito` for an instructor: release, grade, gradebook, feedback, similar.

As `cli.py`, it turns words into values and values into exit codes; what a command
needs is imported inside it.
"""

import sys
from contextlib import contextmanager
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
        help="The learners: a column `student`; also name, email, other ids, arrived.",
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
            help="The same as the arguments after DIR; without any: every lesson.",
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
    json: Json = False,
    root: RootOption = None,
):
    """Grade a class, and keep every result in the gradebook.
    Interrupted, it goes on when run again.

    Example: tito grade submissions tensor --roster class.csv
    """
    import os

    from tito.grading import jail, run, views
    from tito.grading.judge import BASES, Setting
    from tito.grading.roster import read_roster

    root = current_course(root)
    entries = select_lessons(root, lessons, None, all_)
    if base not in BASES:
        raise TitoError(f"--base {base!r} is no base.", f"There are: {', '.join(BASES)}.")
    learners = read_roster(roster) if roster else None
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
    setting = Setting(
        root.path, tuple(entry.name for entry in entries), level, base, seconds, memory, secret
    )
    with gradebook_of(root, gradebook) as book:
        with show_class_progress(not json) as report, report_when_stopped():
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
            )
        strangers = [arrival.student for arrival in arrivals if not arrival.known]
        if strangers:
            warn(
                f"not in {roster}: "
                f"{', '.join(map(views.plain, strangers[:10]))}"
                f"{' ...' if len(strangers) > 10 else ''} "
                f"({len(strangers)}); graded under these names."
            )
        if json:
            echo_json(list(run.rows(book, arrivals, setting.lessons)))
    if not json:
        echo(views.class_summary(progress, level, gradebook or root.state / "gradebook.db"))
    if progress.failed:
        raise TitoError(
            f"{progress.failed} submissions could not be graded, {run.ATTEMPTS} times each; "
            "they have a row that says so.",
            "The same command leaves them; --regrade tries them again.",
            3,
        )


@contextmanager
def report_when_stopped():
    """Ctrl-C ends a run; this says what that means."""
    try:
        yield
    except KeyboardInterrupt:
        warn(
            "stopped. The submissions that were graded are in the gradebook; the same command "
            "goes on with the others."
        )
        raise


@contextmanager
def show_class_progress(visible):
    """A function that shows a run.Progress on standard error, with rate and time
    left, where that is a terminal.
    """
    if not (visible and sys.stderr.isatty()):
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
        if json:
            echo_json_list(grade.as_json() for grade in book.rows(student, lesson))
            return
        from tito.grading import views

        if not (student or lesson):
            echo(views.grades(book.by_learner(), book.lessons()))
            return
        grades = list(book.rows(student, lesson))
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
            "--format", metavar="FORMAT", help="csv, canvas, moodle, gradescope or classroom50."
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
    force: Annotated[bool, typer.Option("--force", help="Write over what is there.")] = False,
    gradebook: GradebookOption = None,
    json: Json = False,
    root: RootOption = None,
):
    """Write the grades as other systems read them.

    Canvas and Moodle find learners by the roster's columns, see `tito gradebook roster`. Example:
    tito gradebook export --format canvas --output grades.csv
    """
    from tito.grading import exports

    if kind not in exports.FORMATS:
        raise TitoError(
            f"--format {kind!r} is unknown.", f"There are: {', '.join(exports.FORMATS)}."
        )
    if not output and (json or kind in exports.TREES):
        raise TitoError(
            "Where to?" if kind not in exports.TREES else f"{kind} is a folder of files.",
            "Name a place: --output PATH",
        )
    root = current_root(root)
    lesson = lesson_name(root, lesson)
    with gradebook_of(root, gradebook, create=False) as book:
        if kind in exports.TREES:
            count = exports.write_tree(
                current_folder() / output, exports.tree(book, kind, root.name, lesson), force
            )
        else:
            text = exports.table(book, kind, lesson)
            if not output:
                sys.stdout.reconfigure(encoding="utf-8", newline="")
                sys.stdout.write(text)
                return
            count = int(exports.write_file(current_folder() / output, text, force))
    if json:
        echo_json({"format": kind, "output": str(output), "files": count})
    else:
        echo(
            f"{output}: {count} file{'s' * (count != 1)} written."
            if count
            else f"{output}: nothing has changed."
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
        bool, typer.Option("--changed", help="Only what took a grade from some points to others.")
    ] = False,
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
        changes = (
            change
            for change in book.history(student, lesson)
            if not changed or change.old_points not in (None, change.new_points)
        )
        if json:
            echo_json_list(change.as_json() for change in changes)
            return
        from tito.grading import views

        for line in views.history(changes):
            echo(line)


@gradebook_app.command("roster")
def gradebook_roster(
    csv: Annotated[
        Path,
        typer.Argument(
            metavar="CSV",
            help="A header with `student`, and as you like name, email, id, "
            "sis_login_id, idnumber, github, ...",
        ),
    ],
    gradebook: GradebookOption = None,
    json: Json = False,
    root: RootOption = None,
):
    """Take learners and their columns from a roster, before anything is graded
    or again when it has changed.

    Example: tito gradebook roster class.csv
    """
    from tito.grading import roster

    learners = roster.read_roster(current_folder() / csv)
    with gradebook_of(current_root(root), gradebook) as book:
        book.remember_roster(learners)
    echo_json({"learners": len(learners)}) if json else echo(
        f"{len(learners)} learner{'s' * (len(learners) != 1)} from {csv} "
        f"{'are' if len(learners) != 1 else 'is'} in the gradebook."
    )


@app.command()
def feedback(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="A folder for the pages; those that did not change are left alone."
        ),
    ],
    gradebook: GradebookOption = None,
    json: Json = False,
    root: RootOption = None,
):
    """Write a page for each learner: what every check found, in DIR/learners; and DIR/index.html,
    with everybody's points, for you.

    Example: tito feedback feedback
    """
    from tito.grading import feedback as giving

    root = current_root(root)
    place = current_folder() / folder.expanduser()
    with gradebook_of(root, gradebook, create=False) as book:
        pages, changes = giving.write(place, book.by_learner(), root.name)
    if json:
        echo_json(
            [
                {"student": student, "page": str(path), "written": path in changes}
                for student, path in pages.items()
            ]
        )
        return
    from tito import views

    echo(
        f"{folder / 'index.html'}: {views.count(len(pages), 'learner')}, "
        f"{views.count(len(changes), 'page')} new or changed. Give each "
        "learner their own page only."
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
    json: Json = False,
    root: RootOption = None,
):
    """Find pairs of submissions that are too much alike. What the course gives counts nothing, what
    many wrote counts little, names nothing.

    Nothing that was handed in is run. Example: tito similar submissions --all --output similar
    """
    from dataclasses import asdict

    from tito.cli.app import progress_bar
    from tito.grading import similar as comparing
    from tito.grading import views
    from tito.grading.roster import read_roster

    root = current_course(root)
    entries = select_lessons(root, lessons, None, all_)
    learners = read_roster(roster) if roster else None
    with progress_bar(not json) as report:
        handed_in = comparing.read(current_folder() / submissions, entries, learners)
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
