"""`tito feedback`: a page for each learner, and how it reaches them."""

from pathlib import Path
from typing import Annotated

import typer

from tito.cli.app import Json, RootOption, app, current_folder, current_root, echo, echo_json, warn
from tito.cli.instructor.options import GradebookOption, SectionOption, gradebook_of, section_of
from tito.errors import UsageError


@app.command()
def feedback(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="A folder for the pages; those that did not change are left alone."
        ),
    ],
    moodle: Annotated[
        Path | None,
        typer.Option(
            metavar="ZIP",
            help="A zip for Moodle: Upload multiple feedback files in a zip.",
            show_default=False,
        ),
    ] = None,
    canvas: Annotated[
        Path | None,
        typer.Option(
            metavar="ZIP",
            help="A zip for Canvas: Re-upload submissions. Needs --submissions.",
            show_default=False,
        ),
    ] = None,
    mail: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV",
            help="A table for a mail merge: name, email, page, points.",
            show_default=False,
        ),
    ] = None,
    submissions: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR_OR_ZIP",
            help="What Moodle or Canvas gave you: its names tell whose page is whose.",
            show_default=False,
        ),
    ] = None,
    everyone: Annotated[
        bool,
        typer.Option(
            "--everyone",
            help="In zips and table also the pages that did not change since the last one.",
        ),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Write over a zip or table that is there.")
    ] = False,
    section: SectionOption = None,
    gradebook: GradebookOption = None,
    json: Json = False,
    root: RootOption = None,
):
    """Write a page for each learner: what every check found, in DIR/learners; and DIR/index.html,
    with everybody's points, for you. Zips and table hold the pages that changed since the last one.

    Example: tito feedback feedback --moodle feedback.zip
    """
    from tito.grading.gradebook import deliver, enrollment
    from tito.grading.gradebook import feedback as giving

    root = current_root(root)
    place = current_folder() / folder.expanduser()
    given = zip(deliver.KINDS, (moodle, canvas, mail))
    targets = {kind: current_folder() / path.expanduser() for kind, path in given if path}
    deliver.refuse(list(targets.values()), force)
    if canvas and not submissions:
        raise UsageError(
            "Canvas finds a page by the names of its own download.",
            "Name that download: --submissions DIR_OR_ZIP",
        )
    learners = []

    def remembered(found):
        for learner, grades in found:
            points = sum(grade.points for grade in grades)
            learners.append((learner, points, sum(grade.max_points for grade in grades)))
            yield learner, grades

    with gradebook_of(root, gradebook, create=False, reads=True) as book:
        section_of(book, section)
        pages, changes = giving.write(
            place, remembered(book.by_learner(section=section)), root.name
        )
        everybody, absent = enrollment.learners(book), enrollment.absent_from(book)
    parts = {}
    if submissions and targets:
        from tito.grading.intake.collect import find_submissions

        found = find_submissions(current_folder() / submissions, root.lessons, everybody, None)
        parts = {submission.student: submission.uploads for submission in found}
    delivered = {}
    if targets:
        written = [deliver.Page(one, pages[one.student], *points) for one, *points in learners]
        delivered = deliver.deliver(place, targets, written, parts, everyone)
    if json:
        echo_json(
            [
                {
                    "student": student,
                    "page": str(path),
                    "written": path in changes,
                    "delivered": [kind for kind, (to, _) in delivered.items() if student in to],
                }
                for student, path in pages.items()
            ]
        )
        return
    from tito.grading import views

    echo(
        f"{folder / 'index.html'}: {views.count(len(pages), 'learner')}, "
        f"{views.count(len(changes), 'page')} new or changed. Give each "
        "learner their own page only."
    )
    for words in views.left_out(absent, {}) if targets else ():
        warn(words)
    for kind, (to, nameless) in delivered.items():
        echo(
            f"{targets[kind].name}: {views.count(len(to), 'page')}."
            if to
            else f"{targets[kind].name} was not written: "
            + ("nobody has a name there." if nameless else "no page changed since the last one.")
            + " --everyone takes all." * (not nameless)
        )
        if nameless:
            first = ", ".join(views.plain(student, 40) for student in nameless[:10])
            warn(
                f"{len(nameless)} pages are not in it, since no name of {kind.title()}'s was found "
                f"for {first}{', ...' if len(nameless) > 10 else ''}."
            )
