"""`tito grade`: a class, and how far it is."""

import os
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
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
    echo,
    echo_json,
    echo_json_list,
    select_lessons,
    warn,
)
from tito.cli.instructor.options import (
    GradebookOption,
    SectionOption,
    Submissions,
    author_name,
    current_course,
    ended_as_by_ctrl_c,
    gradebook_of,
    gradebook_place,
    section_of,
    tell_points_lost,
)
from tito.errors import MachineError


@app.command()
def grade(
    submissions: Submissions,
    lessons: Lessons = None,
    all_: All = False,
    gradebook: GradebookOption = None,
    section: SectionOption = None,
    submitted: Annotated[
        str | None,
        typer.Option(
            metavar="TIME_OR_CSV",
            help="When this batch was submitted: 2026-12-01T23:59+01:00; or a table of ids and "
            "times, also Moodle's grading worksheet or Gradescope's grades.",
            show_default=False,
        ),
    ] = None,
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
    regrade: Annotated[
        bool,
        typer.Option(
            "--regrade",
            help="Also what is in the gradebook already. With --submitted, also replace the times "
            "in it.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show whose grade would change, by how much and why; write nothing."
        ),
    ] = False,
    jobs: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Workers: as many as there are cores; or a Dask scheduler's address.",
            show_default=False,
        ),
    ] = None,
    isolation: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL",
            help="bubblewrap, landlock+seccomp or process; else the strongest that works.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
    root: RootOption = None,
) -> None:
    """Grade a class, and keep every result in the gradebook.
    Interrupted, it goes on when run again.

    Who is in the class: tito gradebook roster CSV. Which of several submissions counts, and the
    limits of a check, are policies of the course, in tito.toml. What was not handed in takes no
    grade away. Example: tito grade submissions tensor
    """
    from tito.grading.workers import WORKERS

    root = current_course(root)
    entries = select_lessons(root, lessons, None, all_)
    setting = setting_of(root, entries, isolation, only_checks, (submissions, gradebook))
    WORKERS.begin(setting)

    # Only now: a judge starts meanwhile.
    from tito.grading import run, views
    from tito.grading.gradebook import enrollment
    from tito.grading.gradebook.changes import review_overrides
    from tito.grading.intake.submission_times import read_submitted

    setting = replace(setting, level=WORKERS.level())
    warn_of_level(setting.level)
    with to_grade_into(root, gradebook, dry_run) as (original, book):
        times = read_submitted(submitted, current_folder(), book.rules.zone)
        learners, absent = enrollment.learners(book)
        options = run.RunOptions(
            jobs=jobs or os.cpu_count() or 1,
            roster=learners,
            students=students,
            is_included=graded_in_this_run(section_of(book, section), absent),
            submitted=times,
            regrade=regrade,
            replace_arrivals=regrade and submitted is not None,
            who=author_name(),
        )
        try:
            with show_class_progress(not json) as report, report_when_stopped(dry_run):
                handed_in, progress = run.grade_class(
                    setting, root.lessons, submissions, book, options, report
                )
        finally:
            if not dry_run:
                tell_points_lost(book)
        place = [submission.student for submission in handed_in], setting.lessons
        grades = [views.without_checks(grade) for grade in book.grades_of(*place)]
        if dry_run:
            from tito.grading.dry_run import compare

            differences = list(compare(original, book))
        doubts = [] if dry_run else views.doubtful(review_overrides(book))
        if not (students or section or any(submission.uploads for submission in handed_in)):
            warn(f"{submissions} holds nothing that was handed in: is it the right folder?")
        warn_of_strangers(handed_in)
        if json and dry_run:
            echo_json([difference.as_json() for difference in differences])
        elif json:
            echo_json_list(grade.as_json() for grade in book.grades_of(*place))
    if not json:
        echo(
            views.class_summary(progress, setting.level, gradebook_place(root, gradebook)),
            *views.arrivals(grades),
            *views.others_count(grades, progress.files),
            *views.to_judge(grades),
        )
        if dry_run:
            echo(views.trial(differences))
    for line in doubts:
        warn(line) if line is doubts[0] else print(line, file=sys.stderr)
    warn_of_what_is_left(progress)


def setting_of(root, entries, isolation, only_checks, private):
    """The Setting of a run: the course's policies, and what the options say.

    private  what else no jail may read: the submissions, and the gradebook or None
    """
    from tito.grading.setting import Setting, read_policies

    entries, checks = select_checks(entries, only_checks)
    secret = [
        root.path / "modules",
        root.path / root.package / "core",
        root.path / "tests",
        root.state,
        *(Path(path).absolute() for path in private if path),
    ]
    return Setting(
        root.path,
        tuple(entry.name for entry in entries),
        isolation or "",
        *read_policies(root.path),
        tuple(str(path) for path in secret if path.exists()),
        checks=checks,
    )


def warn_of_level(level):
    from tito.grading.setting import LEVELS

    if level == LEVELS[-1]:
        warn(
            "isolation level process: the learners' code can read every file that you can read. "
            "Grade only what you trust."
        )


def graded_in_this_run(members, absent):
    """A function: whether a Submission is graded.

    members  ids of a section, or None for everybody
    absent   ids of who left, and of strangers
    """

    def is_included(submission):
        if members is not None and submission.student not in members:
            return False
        # Where nothing came in, a row for those whom the roster expects.
        return bool(submission.uploads) or submission.student not in absent

    return is_included


def warn_of_strangers(submissions):
    """Say whose work was graded though no roster has them."""
    from tito.grading.safe_text import plain

    strangers = [submission.student for submission in submissions if not submission.known]
    if strangers:
        warn(
            f"not in the roster: {', '.join(map(plain, strangers[:10]))}"
            f"{' ...' if len(strangers) > 10 else ''} ({len(strangers)}); graded under these "
            "names, and not exported until a roster has them."
        )


def warn_of_what_is_left(progress):
    """Say what a run did not grade, and what to do then. Raises MachineError where that is ours to
    mend.
    """
    from tito.grading.run import ATTEMPTS
    from tito.grading.safe_text import plain

    if progress.other:
        warn(
            f"{progress.other} were left as they are: --check needs a grade of the same file. "
            "Without --check they are graded."
        )
    if progress.interrupted:
        names = list(map(plain, progress.interrupted))
        warn(
            f"{ATTEMPTS} whole runs ended while they graded this: {', '.join(names[:10])}"
            f"{', ...' if len(names) > 10 else ''}; the verdict is crashed. If it was a "
            f"power cut, say: tito grade ... --regrade --student {names[0]}"
        )
    if progress.failed:
        raise MachineError(
            f"{progress.failed} submissions could not be graded, {ATTEMPTS} times each; "
            "they have a row that says so.",
            "The same command leaves them; --regrade tries them again.",
        )


def select_checks(entries, texts):
    """(the lessons that have these checks, the checks' ids); all lessons without any check."""
    from tito.grading.gradebook.changes import select_check

    if not texts:
        return entries, ()
    ids = {check.id: entry for entry in entries for check in entry.declared.checks}
    lessons = " ".join(entry.name for entry in entries)
    checks = tuple(select_check(text, lessons, list(ids)) for text in texts)
    names = {ids[check].name for check in checks}
    return [entry for entry in entries if entry.name in names], checks


@contextmanager
def to_grade_into(root, where, dry_run):
    """(the gradebook, the one that a run writes into), which for a dry run is a copy and thrown
    away.
    """
    if not dry_run:
        with ended_as_by_ctrl_c(), gradebook_of(root, where) as book:
            yield book, book
        return
    from tito.grading.dry_run import copied

    with (
        ended_as_by_ctrl_c(),
        gradebook_of(root, where, reads=True) as original,
        copied(original) as copy,
    ):
        yield original, copy


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

    from tito.grading.safe_text import plain

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
