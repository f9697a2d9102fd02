"""`tito gradebook page`."""

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from tito.cli.app import echo
from tito.cli.instructor.gradebook import DAILY, gradebook_app, sheet_maker
from tito.cli.instructor.options import (
    SEVERAL,
    author_name,
    current_course,
    ended_as_by_ctrl_c,
    gradebook_of,
    instructor_packages,
    section_of,
)
from tito.errors import UsageError

if TYPE_CHECKING:
    from tito.grading.gradebook.gradebook import Gradebook
    from tito.lesson.course import Root
    from tito.lesson.lesson_format import Question
Graders = Annotated[
    list[str] | None,
    typer.Option(
        "--as",
        metavar="NAME[:SECTION,...]",
        help="A grader, who gets a separate address; may be repeated. With sections of the "
        "roster, an assistant who sees and grades only these: --as prof --as ben:B,C",
        rich_help_panel=SEVERAL,
    ),
]
Anonymous = Annotated[
    bool,
    typer.Option(
        "--anonymous", help="Hide the learners' names from all graders.", rich_help_panel=SEVERAL
    ),
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="0 chooses a free port.")]


@gradebook_app.command("page", rich_help_panel=DAILY)
def gradebook_page(graders: Graders = None, anonymous: Anonymous = False, port: Port = 0) -> None:
    """Read code next to its checks, set points, comment and judge answers, in your browser.

    Ctrl-C ends it. Anyone with a printed address can change grades. Example: tito gradebook page
    """
    course = current_course()
    with instructor_packages():
        from tito.grading.page import app
        from tito.grading.page.access import Sessions
    opening = gradebook_of(course, create=False)
    with opening as book, suppress(KeyboardInterrupt), ended_as_by_ctrl_c():
        sessions = Sessions(anonymous)
        for name, sections in graders_of(book, graders or []).items():
            sessions.new(name, sections)
        page = app.GraderPage(
            book, course.name, sessions, questions_of(course), sheet_maker(book, course)
        )
        app.serve(page, port, show_addresses)


def questions_of(course: "Root") -> "dict[tuple[str, str], Question]":
    """{(lesson, name): Question} of a course."""
    return {
        (entry.name, question.name): question
        for entry in course.lessons
        for question in entry.declared.questions
    }


def graders_of(book: "Gradebook", words: list[str]) -> dict[str, list[str] | None]:
    """{name: sections, or None} of graders written NAME or NAME:SECTION,...; or else the user."""
    from tito.grading.page.access import LONGEST_NAME, can_be_read, shape

    graders: dict[str, list[str] | None] = {}
    for word in words or [author_name()]:
        name, colon, after = word.partition(":")
        is_readable, name = can_be_read(name), " ".join(name.split())
        sections, why = [one.strip() for one in after.split(",")], ""
        if not is_readable or not name or (colon and not all(sections)):
            why = "is no grader"
        elif alike := [one for one in graders if shape(one) == shape(name)]:
            why = "names a grader again" if name in alike else f"looks like {alike[0]!r}"
        if why:
            raise UsageError(
                f"--as {word[:60]!a} {why}.",
                "Write --as NAME, or --as NAME:SECTION,SECTION for an assistant. A name has at "
                f"most {LONGEST_NAME} letters, all can be seen, and each word is in one script.",
            )
        for section in sections if colon else []:
            section_of(book, section)  # raises UsageError if it is empty
        graders[name] = sections if colon else None
    return graders


def show_addresses(addresses: list[tuple[str, str]]) -> None:
    for name, address in addresses:
        echo(f"{name}: {address}")
    echo("Open it in a browser on this machine. Ctrl-C ends it.")
