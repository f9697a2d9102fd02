"""Options that several commands for instructors share, and functions that interpret them."""

import signal
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tito.cli.app import current_root, named_gradebook, warn
from tito.errors import MachineError, UsageError

if TYPE_CHECKING:
    from tito.grading.gradebook.gradebook import Gradebook
    from tito.lesson.course import Root


@contextmanager
def instructor_packages() -> Iterator[None]:
    """Say how a package is installed that only instructors need."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MachineError(
            f"This command needs {error.name}, which is not installed here.",
            "In the course's folder: bin/setup instructor",
        ) from None


Submissions = Annotated[
    Path,
    typer.Argument(
        metavar="SUBMISSIONS",
        help="A folder or zip that contains a folder, zip or lesson file for each learner.",
    ),
]
SEVERAL = "Several graders"  # the options that one grader does not need
SectionOption = Annotated[
    str | None,
    typer.Option(
        "--section",
        metavar="NAME",
        help="Only learners in this section of the roster.",
        rich_help_panel=SEVERAL,
    ),
]
OneLesson = Annotated[
    str | None, typer.Option("--lesson", metavar="LESSON", help="Only this lesson.")
]


def current_course() -> "Root":
    """The course to grade with.

    Raises TitoError in a workspace: it has no hidden checks and no reference.
    """
    course = current_root()
    if not course.is_course:
        raise UsageError(
            f"{course.path} is a workspace; grading needs the course.",
            "Run it in the course, or name it with --root.",
        )
    return course


def chosen_gradebook(root: "Root") -> str | Path | None:
    """The path or URL that --gradebook or else the course's `tito.toml` gives, or None."""
    if given := named_gradebook():
        return given
    written = root.tables.get("grading", {}).get("gradebook")
    return written if not written or "://" in written else root.path / Path(written).expanduser()


def gradebook_place(root: "Root") -> str | Path:
    """The path or URL of the gradebook: the chosen one, or else the course's own."""
    return chosen_gradebook(root) or root.state / "gradebook.db"


def gradebook_of(
    root: "Root", create: bool = True, reads: bool = False
) -> AbstractContextManager["Gradebook"]:
    """Open the gradebook of a course with its late rules.

    create, reads  as in `gradebook.open_gradebook`
    """
    from tito.grading.gradebook import gradebook, late

    @cache
    def checks_today(lesson: str) -> str:
        from tito.grading.jail.modules import checks_hash

        entry = root.find_lesson(lesson) if root.is_course else None
        return checks_hash(entry) if entry else ""

    place, rules = gradebook_place(root), late.read(root)
    rules = replace(rules, checks_today=checks_today)
    return gradebook.open_gradebook(place, rules, create, reads)


def section_of(book: "Gradebook", section: str | None) -> set[str] | None:
    """The ids of the learners in a section, or None for all."""
    from tito.grading.gradebook import enrollment

    return enrollment.section(book, section) if section else None


def lesson_name(root: "Root", lesson: str | None) -> str | None:
    return root.lesson(lesson).name if lesson else None


def author_name() -> str:
    """The user's name, to record with a change. Raises UsageError if it is unknown."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        raise UsageError(
            "tito cannot find out your user name.", "Set the environment variable LOGNAME."
        ) from None


def tell_points_lost(book: "Gradebook", verb: str = "fell") -> None:
    """Print the grades that the last change lowered, or in a dry run "would fall"."""
    from tito.grading import views

    if book.points_lost:
        headline, *lines = views.points_lost(book.points_lost, verb)
        warn(headline)
        print(*lines, sep="\n", file=sys.stderr)


@contextmanager
def ended_as_by_ctrl_c() -> Iterator[None]:
    """In this block SIGTERM and SIGHUP raise KeyboardInterrupt, as Ctrl-C does, so that temporary
    files and child processes are cleaned up. A signal that was ignored (nohup) stays ignored.
    """
    signals = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    taken = [number for number in signals if signal.getsignal(number) is signal.SIG_DFL]

    def end(received: int, frame: object) -> None:
        for number in taken:
            # when both come, the second must not interrupt the cleanup
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in taken:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
