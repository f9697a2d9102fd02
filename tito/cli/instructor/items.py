"""`tito gradebook items`: how a class did in each check and exercise."""

from pathlib import Path
from typing import Annotated

import typer

from tito.cli.app import Json, RootOption, current_folder, current_root, echo, echo_json_list
from tito.cli.instructor.gradebook import gradebook_app
from tito.cli.instructor.options import (
    GradebookOption,
    SectionOption,
    gradebook_of,
    lesson_name,
    section_of,
)
from tito.errors import UsageError


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
    from tito.grading import views
    from tito.grading.gradebook import item_plots, items

    root = current_root(root)
    lesson = lesson_name(root, lesson)
    try:
        moment = since and datetime.fromisoformat(since).astimezone()
    except (ValueError, OverflowError):
        raise UsageError(
            f"--since {since!r} is no time.", "Write it like this: 2026-11-15 or 2026-11-15T12:00"
        ) from None
    with gradebook_of(root, gradebook, create=False, reads=True) as book:
        section_of(book, section)
        entries = root.lessons if root.is_course else []
        found = items.analyse(book, entries, lesson, section, moment)
    if lesson and not found:
        raise UsageError(f"Nobody has a grade in {lesson}.", "tito grade SUBMISSIONS")
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
