"""`tito gradebook appeals`: what learners ask about their grades."""

from typing import Annotated

import typer

from tito.cli.app import Json, RootOption, current_root, echo, echo_json
from tito.cli.instructor.gradebook import gradebook_app
from tito.cli.instructor.options import (
    GradebookOption,
    OneLesson,
    SectionOption,
    gradebook_of,
    lesson_name,
    section_of,
)
from tito.errors import UsageError


@gradebook_app.command("appeals")
def gradebook_appeals(
    state: Annotated[
        str, typer.Option(metavar="STATE", help="open, granted, declined or all.")
    ] = "open",
    section: SectionOption = None,
    lesson: OneLesson = None,
    gradebook: GradebookOption = None,
    json: Json = False,
    root: RootOption = None,
):
    """List what learners ask about their grades and have not been answered, the oldest first.
    Appeals are entered and answered on the page of `tito gradebook serve`.

    Example: tito gradebook appeals --state all
    """
    from tito.grading import views
    from tito.grading.gradebook import appeals

    if state not in (*appeals.STATES, "all"):
        raise UsageError(
            f"{state!r} is no state of an appeal.", f"Say {', '.join(appeals.STATES)} or all."
        )
    root = current_root(root)
    lesson = lesson_name(root, lesson)
    wanted = None if state == "all" else state
    with gradebook_of(root, gradebook, create=False, reads=True) as book:
        members = section_of(book, section)
        found = [
            one
            for one in appeals.appeals(book, lesson=lesson, state=wanted)
            if members is None or one.student in members
        ]
    if json:
        echo_json([one.as_json() for one in found])
    else:
        echo(views.appeals(found, state))
