"""`tito grade`: a class, and how far it is."""

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
    RosterOption,
    SectionOption,
    Submissions,
    Who,
    author_name,
    current_course,
    ended_as_by_ctrl_c,
    gradebook_of,
    gradebook_place,
    section_of,
    tell_falls,
)
from tito.errors import MachineError, UsageError


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
    who: Who = None,
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

    from tito.grading.setting import BASES, LEVELS, Setting
    from tito.grading.workers import WORKERS

    root, who = current_course(root), author_name(who)
    entries = select_lessons(root, lessons, None, all_)
    if base not in BASES:
        raise UsageError(f"--base {base!r} is no base.", f"There are: {', '.join(BASES)}.")
    private = [
        root.path / "modules",
        root.path / root.package / "core",
        root.path / "tests",
        root.state,
        submissions.resolve(),
        Path(gradebook or root.state).absolute(),
    ]
    secret = tuple(str(path) for path in private if path.exists())
    entries, checks = select_checks(entries, only_checks)
    names = tuple(entry.name for entry in entries)
    setting = Setting(
        root.path, names, isolation or "", base, seconds, memory, secret, checks=checks
    )
    WORKERS.begin(setting)

    # Only now: a judge starts meanwhile.
    from tito.grading import run, views
    from tito.grading.gradebook import enrollment, overrides
    from tito.grading.intake import submission_times as arriving
    from tito.grading.intake.collect import Collected

    level = WORKERS.level()
    setting = replace(setting, level=level)
    if level == LEVELS[-1]:
        warn(
            "isolation level process: the learners' code can read every file that you can read. "
            "Grade only what you trust."
        )
    with to_grade_into(root, gradebook, dry_run) as (kept, book):
        zone = book.rules.zone
        collected = Collected(
            arriving.read_times(current_folder() / times, zone) if times else None,
            arriving.read_time(arrived, zone, "--arrived") if arrived else None,
            zone,
        )
        expected = enroll(book, roster, who) if roster else None
        learners, absent = enrollment.learners(book, expected), enrollment.absent_from(book)
        is_asked_for = graded_in_this_run(section_of(book, section), absent, expected)
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
                    who=who,
                )
        finally:
            if not dry_run:
                tell_falls(book)
        place = [one.student for one in arrivals], setting.lessons
        standing = [views.without_checks(grade) for grade in book.standing(*place)]
        if views.may_be_a_download(standing):
            warn(
                "all of these arrived within a minute, and some late: is that the download? See "
                "who says when: tito gradebook show --student ID"
            )
        if dry_run:
            from tito.grading.dry_run import compare

            differences = list(compare(kept, book))
        doubted = [] if dry_run else views.doubtful(overrides.overrides(book))
        if not (students or section or any(arrival.parts for arrival in arrivals)):
            warn(f"{submissions} holds nothing that was handed in: is it the right folder?")
        warn_of_strangers(arrivals, roster)
        if json and dry_run:
            echo_json([difference.as_json() for difference in differences])
        elif json:
            echo_json_list(grade.as_json() for grade in book.standing(*place))
    if not json:
        echo(
            views.class_summary(progress, level, gradebook_place(root, gradebook)),
            *views.arrivals(standing),
            *views.others_count(standing, progress.given),
            *views.to_judge(standing),
        )
        if dry_run:
            echo(views.trial(differences))
    for line in doubted:
        warn(line) if line is doubted[0] else print(line, file=sys.stderr)
    warn_of_what_is_left(progress)


def enroll(book, roster, who):
    """Take the learners of a roster into the book, and say what is odd about it. Returns their ids:
    of whom work is expected.
    """
    from tito.grading import views
    from tito.grading.gradebook import enrollment

    enrolled = enrollment.enroll(book, current_folder() / roster, who)
    if enrolled.id_column != "student":
        warn(f"{roster}, {enrolled.source}; ids: column {enrolled.id_column}.")
    for words in views.enrollment(enrolled):
        warn(words)
    return set(enrolled.learners)


def graded_in_this_run(members, absent, expected):
    """A function: whether an intake.Arrival is graded.

    members   ids of a section, or None for everybody
    absent    ids of who left, and of strangers
    expected  ids in the roster of this run, or None without one
    """

    def is_asked_for(arrival):
        if members is not None and arrival.student not in members:
            return False
        if arrival.parts or not arrival.known:
            return True
        # Nothing came in: a row for those whom the roster expects.
        return arrival.student not in absent and (expected is None or arrival.student in expected)

    return is_asked_for


def warn_of_strangers(arrivals, roster):
    """Say whose work was graded though no roster has them."""
    from tito.grading import views

    strangers = [arrival.student for arrival in arrivals if not arrival.known]
    if strangers:
        warn(
            f"not in {roster or 'the roster'}: {', '.join(map(views.plain, strangers[:10]))}"
            f"{' ...' if len(strangers) > 10 else ''} ({len(strangers)}); graded under these "
            "names, and not exported until a roster has them."
        )


def warn_of_what_is_left(progress):
    """Say what a run did not grade, and what to do then. Raises MachineError where that is ours to
    mend.
    """
    from tito.grading import views
    from tito.grading.run import ATTEMPTS

    if progress.elsewhere:
        warn(
            f"{progress.elsewhere} are being graded by another run, which is at work; should it be "
            "ended, the same command does what it left."
        )
    if progress.other:
        warn(
            f"{progress.other} were left as they are: --check needs a grade of the same file. "
            "Without --check they are graded."
        )
    if progress.ended:
        warn(
            f"{ATTEMPTS} whole runs ended while they graded this: "
            f"{', '.join(map(views.plain, progress.ended[:10]))}"
            f"{', ...' if len(progress.ended) > 10 else ''}; the verdict is crashed. If it was a "
            f"power cut, say: tito grade ... --regrade --student {views.plain(progress.ended[0])}"
        )
    if progress.failed:
        raise MachineError(
            f"{progress.failed} submissions could not be graded, {ATTEMPTS} times each; "
            "they have a row that says so.",
            "The same command leaves them; --regrade tries them again.",
        )


def select_checks(entries, texts):
    """(the lessons that have these checks, the checks' ids); all lessons without any check."""
    from tito.grading.gradebook.grade import select_check

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
        with ended_as_by_ctrl_c(), gradebook_of(root, where) as book:
            yield book, book
        return
    from tito.grading.dry_run import copied

    with (
        ended_as_by_ctrl_c(),
        gradebook_of(root, where, reads=True) as kept,
        copied(kept) as copy,
    ):
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
