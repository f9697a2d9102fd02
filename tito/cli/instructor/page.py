"""`tito gradebook page`."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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

if TYPE_CHECKING:
    from tito.grading.page.regrade import RegradeRequest, StartGrading
Graders = Annotated[
    list[str] | None,
    typer.Option(
        "--as",
        metavar="NAME",
        help="The name of a grader, who gets a separate address. May be repeated. Without it, the "
        "page asks for a name.",
        show_default=False,
    ),
]
Anonymous = Annotated[
    bool, typer.Option("--anonymous", help="Hide the learners' names from all graders.")
]
Regraded = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR_OR_ZIP",
        help="The submissions. With them, the page can grade again and show what would change.",
        show_default=False,
    ),
]
Port = Annotated[
    int, typer.Option(min=0, max=65535, help="0 chooses a free port.", show_default=False)
]


@gradebook_app.command("page")
def gradebook_page(
    graders: Graders = None,
    anonymous: Anonymous = False,
    submissions: Regraded = None,
    port: Port = 0,
    gradebook: GradebookOption = None,
    root: RootOption = None,
) -> None:
    """Open a page for graders, for browsers on this machine. Ctrl-C ends it.

    Graders read code and checks, set points, comment, and judge free answers. Anyone with a printed
    address can change grades. Example: tito gradebook page --as ta1 --as ta2
    """
    course = current_course(root)
    try:
        from tito.grading.page import app
        from tito.grading.page.access import Sessions
        from tito.grading.page.regrade import Regrading
    except ModuleNotFoundError as error:
        raise MachineError(
            f"The page needs {error.name}, which is not installed here.",
            "In the course's folder: bin/setup instructor",
        ) from None
    where = str(gradebook_place(course, gradebook))
    if "://" not in where:
        where = str(Path(where).expanduser().absolute())
    names = list(dict.fromkeys(app.grader_name(name) for name in graders or []))
    place = submissions and (current_folder() / submissions.expanduser()).resolve()
    if place and not place.exists():
        raise UsageError(f"There is no {place}.", "Name the submissions that `tito grade` grades.")
    questions = {
        (entry.name, question.name): question
        for entry in course.lessons
        for question in entry.declared.questions
    }
    opening = gradebook_of(course, where, create=False)
    with opening as book, suppress(KeyboardInterrupt), ended_as_by_ctrl_c():
        regrading = Regrading(start_grading(course.path, where, place), place)
        page = app.GraderPage(book, course.name, Sessions(anonymous), regrading, questions)
        app.serve(page, names, port, show_addresses)


def show_addresses(addresses: list[tuple[str, str]]) -> None:
    for name, address in addresses:
        echo(f"{name}: {address}" if name else address)
    echo("Open it in a browser on this machine. Ctrl-C ends it.")


def start_grading(root: Path, gradebook: str, submissions: Path | None) -> "StartGrading":
    """A function that starts `tito grade` for the page."""

    def start(request: "RegradeRequest", folder: Path) -> "subprocess.Popen[bytes]":
        words = [str(submissions), request.lesson, "--root", str(root), "--json"]
        words += ["--gradebook", gradebook]
        words += [] if request.counts else ["--dry-run"]
        with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
            return subprocess.Popen(
                [sys.executable, "-m", "tito", "grade", *words],
                cwd=root,
                env=os.environ | {"LOGNAME": request.who},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    return start
