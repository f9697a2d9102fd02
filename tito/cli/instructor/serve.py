"""`tito gradebook serve`."""

import shlex
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from tito.cli.app import RootOption, current_folder, echo
from tito.cli.instructor.gradebook import gradebook_app
from tito.cli.instructor.options import (
    GradebookOption,
    current_course,
    ended_as_by_ctrl_c,
    gradebook_of,
    gradebook_place,
)
from tito.errors import MachineError, UsageError


@gradebook_app.command("serve")
def gradebook_serve(
    graders: Annotated[
        list[str] | None,
        typer.Option(
            "--as",
            metavar="NAME",
            help="A grader, who gets an address of their own; may be repeated. Without it, the "
            "page asks.",
            show_default=False,
        ),
    ] = None,
    anonymous: Annotated[
        bool, typer.Option("--anonymous", help="Hide the learners' names, for everybody.")
    ] = False,
    submissions: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR_OR_ZIP",
            help="What `tito grade` grades: the page can show what grading it again would change.",
            show_default=False,
        ),
    ] = None,
    grade_options: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help='How the page grades again, such as "--isolation process": as you do.',
            show_default=False,
        ),
    ] = "",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="0: any that is free.", show_default=False)
    ] = 0,
    gradebook: GradebookOption = None,
    root: RootOption = None,
):
    """A page for those who grade: each submission's code beside its checks, points and comments by
    key, who looks at what, appeals. For browsers on this machine only; Ctrl-C ends it.

    Whoever has a printed address may change grades. Example: tito gradebook serve --as ta1 --as ta2
    """
    root = current_course(root)
    try:
        from tito.grading.page import app, trials
    except ModuleNotFoundError as error:
        raise MachineError(
            f"The page needs {error.name}, which is not installed here.",
            "In the course's folder: bin/setup instructor",
        ) from None
    where = str(gradebook_place(root, gradebook))
    if "://" not in where:
        where = str(Path(where).expanduser().absolute())
    names = [" ".join(name.split()) for name in graders or []]
    if not all(0 < len(name) <= app.LONGEST_NAME for name in names):
        raise UsageError("--as has no name, or a long one.", f"1 to {app.LONGEST_NAME} characters.")
    if submissions:
        submissions = (current_folder() / submissions.expanduser()).resolve()
        if not submissions.exists():
            raise UsageError(f"There is no {submissions}.", "Name what `tito grade` grades.")

    try:
        options = shlex.split(grade_options)
    except ValueError as error:
        raise UsageError(
            f"--grade-options {grade_options!r} cannot be read: {error}.",
            'Write it like this: --grade-options "--isolation process"',
        ) from None

    def tell(addresses):
        for name, address in addresses:
            echo(f"{name}: {address}" if name else address)
        echo("Open it in a browser on this machine. Ctrl-C ends it.")

    with (
        gradebook_of(root, where, create=False) as book,
        suppress(KeyboardInterrupt),
        ended_as_by_ctrl_c(),
    ):
        app.serve(
            book,
            root.name,
            trials.Trials(root.path, where, submissions, options),
            list(dict.fromkeys(names)),
            port,
            anonymous,
            questions_of(root),
            root.lessons,
            tell,
        )


def questions_of(root):
    """{(lesson, name): lesson_format.Question} of the course."""
    return {
        (entry.name, question.name): question
        for entry in root.lessons
        for question in entry.declared.questions
    }
