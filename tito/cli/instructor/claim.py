"""`tito gradebook claim`: which submissions a grader looks at."""

from typing import Annotated

import typer

from tito.cli.app import Json, RootOption, current_root, echo, echo_json
from tito.cli.instructor.gradebook import gradebook_app
from tito.cli.instructor.options import (
    GradebookOption,
    OneLesson,
    SectionOption,
    author_name,
    gradebook_of,
    lesson_name,
)


@gradebook_app.command("claim")
def gradebook_claim(
    section: SectionOption = None,
    students: Annotated[
        list[str] | None,
        typer.Option(
            "--student",
            metavar="ID",
            help="Only this learner; may be repeated.",
            show_default=False,
        ),
    ] = None,
    lesson: OneLesson = None,
    who: Annotated[
        str | None,
        typer.Option(help="The grader. Default: your login name.", show_default=False),
    ] = None,
    lift: Annotated[bool, typer.Option("--lift", help="Give back what was claimed.")] = False,
    gradebook: GradebookOption = None,
    json: Json = False,
    root: RootOption = None,
):
    """Say which submissions a grader looks at, so that two do not look at the same ones: of a
    section, of some learners, of a lesson. What another has is left to them.

    Without words it shows who has how much. It changes no grade and keeps nobody out.
    Example: tito gradebook claim --section A --lesson tensor --who ta1
    """
    from tito.grading import views
    from tito.grading.gradebook import claims

    root = current_root(root)
    lesson = lesson_name(root, lesson)
    writes = bool(section or students or lesson or lift)
    with gradebook_of(root, gradebook, create=False, reads=not writes) as book:
        if writes:
            person = author_name(who)
            places = claims.places(book, lesson, section, students)
            changed = (claims.give_back_all if lift else claims.take_all)(book, places, person)
            words = "gives back" if lift else "takes"
            if not json:
                echo(
                    views.plain(
                        f"{person} {words} {changed} of {views.count(len(places), 'submission')}"
                        f"{'' if lift else '; the others are taken already, or looked at'}."
                        if changed != len(places)
                        else f"{person} {words} {views.count(changed, 'submission')}."
                    )
                )
                return
        found = claims.claims(book)
    if json:
        echo_json([found[place].as_json() for place in sorted(found)])
    else:
        echo(views.claims(found.values()))
