"""`tito grade`: grade a class."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tito.cli.app import (
    All,
    Json,
    Lessons,
    app,
    current_folder,
    echo,
    echo_json_list,
    is_given,
    progress_bar,
    select_lessons,
    warn,
)
from tito.cli.instructor.options import (
    SectionOption,
    Submissions,
    author_name,
    chosen_gradebook,
    current_course,
    ended_as_by_ctrl_c,
    gradebook_of,
    gradebook_place,
    section_of,
    tell_points_lost,
)
from tito.errors import MachineError, UsageError
from tito.grading.lms import having, joined

if TYPE_CHECKING:
    from tito.grading.gradebook.gradebook import Gradebook
    from tito.grading.gradebook.history import Change
    from tito.grading.run import Progress, Report, RunOptions
    from tito.grading.setting import Setting
    from tito.grading.submission import Submission
    from tito.grading.workers import Worker
    from tito.lesson.course import Entry, Root

Line = Callable[[int, int, Callable[[], str]], None]
SubmittedOption = Annotated[
    str | None,
    typer.Option(
        "--submitted",
        metavar="TIME_OR_CSV",
        help="When this batch was submitted: a time such as 2026-12-01T23:59+01:00, or a CSV of "
        f"ids and times, such as {joined(s.time_table for s in having('time_table').values())}.",
    ),
]
Students = Annotated[
    list[str] | None,
    typer.Option("--student", metavar="ID", help="Grade only this learner. May be repeated."),
]
Regrade = Annotated[
    bool,
    typer.Option(
        "--regrade",
        help="Grade again what has a grade already. With --submitted, also replace the recorded "
        "times.",
    ),
]
Why = Annotated[
    str,
    typer.Option(metavar="TEXT", help="The reason for this run, saved in the history."),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Show which grades would change, by how much and why, without writing."
    ),
]
Jobs = Annotated[
    str | None,
    typer.Option(
        "--jobs",
        metavar="N",
        help="Number of worker processes, by default the number of cores; or the address of a Dask "
        "scheduler.",
    ),
]
Isolation = Annotated[
    str | None,
    typer.Option(
        "--isolation",
        metavar="LEVEL",
        help="bubblewrap, landlock+seccomp or process. Default: the strongest that works here.",
    ),
]


@dataclass(frozen=True)
class Request:
    """Which submissions to grade, and how: the options of the command."""

    submissions: Path
    section: str | None
    submitted: str | None
    students: list[str] | None
    regrade: bool
    why: str
    dry_run: bool
    jobs: str | None
    json: bool


@app.command()
def grade(
    submissions: Submissions,
    lessons: Lessons = None,
    all_: All = False,
    section: SectionOption = None,
    submitted: SubmittedOption = None,
    students: Students = None,
    regrade: Regrade = False,
    why: Why = "",
    dry_run: DryRun = False,
    jobs: Jobs = None,
    isolation: Isolation = None,
    json: Json = False,
) -> None:
    """Grade a class, and save every result in the gradebook.

    If a run is interrupted, run it again: it continues. Tell tito who is in the class with
    tito gradebook roster. tito.toml sets the limits of a check and which of several submissions
    counts. A learner whose submission is missing keeps an earlier grade. Example:
    tito grade submissions tensor
    """
    from tito.grading.workers import WORKERS

    course = current_course()
    entries = select_lessons(course, lessons, all_)
    entries = [entry for entry in entries if not is_given(entry, silent=all_)]
    if not entries:
        raise UsageError("There is nothing to grade.", "Name a lesson with exercises.")
    grade_requested(
        course,
        WORKERS.begin(setting_of(course, entries, isolation, submissions)),
        Request(submissions, section, submitted, students, regrade, why, dry_run, jobs, json),
    )


def grade_requested(root: "Root", worker: "Worker", request: Request) -> None:
    """Grade a class, and show the results. worker: the first, which knows the isolation level."""
    from tito.grading import run

    warn_of_level(worker.level())
    setting = worker.setting
    with to_grade_into(root, request.dry_run) as book:
        options = run_options(book, request)
        before = book.last_change() if request.dry_run else 0
        path, report_on = request.submissions, show_class_progress(not request.json)
        try:
            with report_on as report, report_when_stopped(request.dry_run):
                submissions, progress = run.grade_class(
                    setting, root.lessons, path, book, options, report
                )
        finally:
            tell_points_lost(book, "would fall" if request.dry_run else "fell")
        if not (
            request.students
            or request.section
            or any(submission.uploads for submission in submissions)
        ):
            warn(f"{path} contains no submission. Is it the right folder?")
        warn_of_strangers(submissions)
        doubts = show_class(root, setting, request, (book, before), (submissions, progress))
    for line in doubts:
        warn(line) if line is doubts[0] else print(line, file=sys.stderr)
    warn_of_what_is_left(progress)


def run_options(book: "Gradebook", request: Request) -> "RunOptions":
    """The options of the run, from the request and from the class in the gradebook."""
    from tito.grading.gradebook import enrollment
    from tito.grading.intake.submission_times import read_submitted
    from tito.grading.run import RunOptions

    submitted = read_submitted(request.submitted, current_folder(), book.rules.zone)
    learners, absent = enrollment.learners(book)
    return RunOptions(
        jobs=request.jobs or os.cpu_count() or 1,
        roster=learners,
        students=request.students,
        is_included=graded_in_this_run(section_of(book, request.section), absent),
        submitted=submitted,
        regrade=request.regrade,
        replace_arrivals=request.regrade and request.submitted is not None,
        who=author_name(),
        why=request.why,
    )


def show_class(
    root: "Root",
    setting: "Setting",
    request: Request,
    written: tuple["Gradebook", int],
    outcome: tuple[list["Submission"], "Progress"],
) -> list[str]:
    """Show the results of a run or dry run. Returns lines about overrides to review.

    written  the gradebook that the run wrote into, and, of a dry run, its last entry before
    outcome  what `run.grade_class` returned
    """
    from tito.grading import views
    from tito.grading.gradebook.database import display_url
    from tito.grading.gradebook.grade import is_strange

    (book, before), (submissions, progress) = written, outcome
    students = [submission.student for submission in submissions]
    changes = list(filter(changes_grade, book.history(after=before))) if request.dry_run else []
    changes.sort(key=lambda change: change.student)
    if request.json and request.dry_run:
        echo_json_list(change.as_json() for change in changes)
    elif request.json:
        echo_json_list(grade.as_json() for grade in book.grades_of(students, setting.lessons))
    else:
        grades = list(book.grades_of(students, setting.lessons, brief=True))
        unread = [one for one in grades if is_strange(one)]
        strange = book.grades_of([one.student for one in unread], [one.lesson for one in unread])
        place = gradebook_place(root)
        shown = display_url(place) if "://" in str(place) else place
        echo(
            views.class_summary(progress, setting.level, shown),
            *views.arrivals(grades),
            *views.strange(filter(is_strange, strange), progress.strange),
            *views.others_count(grades, progress.files),
            *views.to_judge(grades),
        )
        if request.dry_run:
            echo(*views.dry_run(changes))
    return [] if request.dry_run else views.doubtful(book.reviews())


def changes_grade(change: "Change") -> bool:
    """Whether an entry of the history is a first grade, or changes one."""
    return change.lesson is not None and (change.old_points is None or change.changes_points)


def setting_of(
    root: "Root", entries: list["Entry"], isolation: str | None, submissions: Path | None
) -> "Setting":
    """The Setting of a run, from the course's policies and the options."""
    from tito.grading.setting import Setting, commit_of

    policies = root.tables.get("grading", {})
    secret = [
        root.path / "modules",
        root.path / root.package / "core",
        root.path / "tests",
        root.state,
        *(Path(path).absolute() for path in (submissions, chosen_gradebook(root)) if path),
    ]
    return Setting(
        root.path,
        tuple(entry.name for entry in entries),
        isolation or "",
        policies.get("earlier_lessons", Setting.earlier_lessons),
        float(policies.get("check_seconds", Setting.seconds)),
        int(policies.get("memory_mb", Setting.memory)),
        tuple(str(path) for path in secret if path.exists()),
        commit=commit_of(root.path),
    )


def warn_of_level(level: str) -> None:
    """Warn if the level of isolation is the weakest."""
    from tito.grading.setting import LEVELS

    if level == LEVELS[-1]:
        warn(
            "isolation level process: the learners' code can read every file that you can read. "
            "Grade only submissions that you trust."
        )


def graded_in_this_run(
    members: set[str] | None, absent: dict[str, str]
) -> Callable[["Submission"], bool]:
    """A function that returns whether to grade a Submission.

    members  ids of a section, or None for all learners
    absent   ids of learners who left or are not in the roster
    """

    def is_included(submission: "Submission") -> bool:
        if members is not None and submission.student not in members:
            return False
        # Learners of the roster who handed in nothing also get a row.
        return bool(submission.uploads) or submission.student not in absent

    return is_included


def warn_of_strangers(submissions: Sequence["Submission"]) -> None:
    """Warn of graded work whose learners are not in the roster, or of which it has several."""
    from tito.safe_text import plain

    unknown = [submission for submission in submissions if not submission.known]
    doubts = {s.student: note for s in unknown for note in s.notes if " may belong to " in note}
    for note in list(doubts.values())[:10]:
        warn(plain(note, 500))
    if doubts:
        more = f"{len(doubts) - 10} more are like these. " if len(doubts) > 10 else ""
        warn(f"{more}In each name, write the learner's id instead of the name, and grade again.")
    strangers = [one.student for one in unknown if one.student not in doubts]
    if strangers:
        warn(
            f"not in the roster: {', '.join(map(plain, strangers[:10]))}"
            f"{' ...' if len(strangers) > 10 else ''} ({len(strangers)}). Their work is graded, "
            "but not exported until they are in the roster."
        )


def warn_of_what_is_left(progress: "Progress") -> None:
    """Raise MachineError if grading failed."""
    from tito.grading.run import ATTEMPTS

    if progress.failed:
        raise MachineError(
            f"{progress.failed} submissions could not be graded, after {ATTEMPTS} attempts each. "
            "Their rows in the gradebook show the error.",
            "--regrade tries them again.",
        )


@contextmanager
def to_grade_into(root: "Root", dry_run: bool) -> Iterator["Gradebook"]:
    """The gradebook to write into: for a dry run, a temporary copy."""
    if dry_run:
        with ended_as_by_ctrl_c(), gradebook_of(root, reads=True) as book, book.copied() as copy:
            yield copy
    else:
        with ended_as_by_ctrl_c(), gradebook_of(root) as book:
            yield book


# The progress of a run: a bar in a terminal, lines in a log.


@contextmanager
def report_when_stopped(dry_run: bool = False) -> Iterator[None]:
    """On Ctrl-C, say what was saved."""
    try:
        yield
    except KeyboardInterrupt:
        warn(
            "stopped; nothing was written."
            if dry_run
            else "stopped. The submissions graded so far are in the gradebook; run the same "
            "command to grade the others."
        )
        raise


def progress_lines(now: Callable[[], float] = time.monotonic) -> Line:
    """A function (done, of, words) for a log: it prints a line when another tenth is done, but at
    most every 10 seconds, and otherwise each minute.

    words  a function that returns the line: most calls print nothing
    """
    last, tenth = now(), 0

    def tell(done: int, of: int, words: Callable[[], str]) -> None:
        nonlocal last, tenth
        seconds, reached = now() - last, 10 * done // max(1, of)
        if seconds >= 60 or seconds >= 10 and reached > tenth:
            last, tenth = now(), reached
            print(words(), file=sys.stderr, flush=True)

    return tell


@contextmanager
def show_class_progress(visible: bool) -> Iterator["Report"]:
    """A function that shows a run.Progress on standard error, with rate and time left: as a bar in
    a terminal, else as lines.
    """
    from tito.grading.views import progress_line

    if sys.stderr.isatty():
        with progress_bar(visible) as show:
            yield lambda progress: show(progress_line(progress), progress.done, progress.total)
    else:
        tell = progress_lines()
        yield lambda progress: tell(progress.done, progress.total, lambda: progress_line(progress))
