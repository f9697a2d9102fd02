"""`tito feedback`: a page for each learner, and files to deliver the pages with."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tito.cli.app import app, current_folder, current_root, echo, warn
from tito.cli.instructor.options import SectionOption, gradebook_of, section_of
from tito.errors import UsageError
from tito.grading.lms import SYSTEMS, having, joined

if TYPE_CHECKING:
    from tito.grading.gradebook.deliver import Delivery
Folder = Annotated[
    Path,
    typer.Argument(
        metavar="DIR", help="A folder for the pages. Pages that did not change are not rewritten."
    ),
]
MailTable = Annotated[
    Path | None,
    typer.Option(metavar="CSV", help="A table for a mail merge: name, email, page, points."),
]
Download = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR_OR_ZIP",
        help="The submissions as downloaded from "
        f"{joined(system.title for system in having('zip').values())}. Their file names say which "
        "page belongs to which learner.",
    ),
]
Everyone = Annotated[
    bool,
    typer.Option(
        "--everyone", help="Include pages that have not changed since the last zip or table."
    ),
]
NAMED = 5  # learners whose page changed


def with_zips(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for the zip of each system that takes one."""
    signature = inspect.signature(command)
    first, *rest, _ = signature.parameters.values()
    zips = []
    for name, system in having("zip").items():
        needs = " Needs --submissions." * system.from_download
        option = typer.Option(metavar="ZIP", help=f"A zip for {system.title}: {system.zip}.{needs}")
        form = Annotated[Path | None, option]
        zips.append(inspect.Parameter(name, first.kind, default=None, annotation=form))
    setattr(command, "__signature__", signature.replace(parameters=[first, *zips, *rest]))
    return command


@app.command()
@with_zips
def feedback(
    folder: Folder,
    mail: MailTable = None,
    submissions: Download = None,
    everyone: Everyone = False,
    section: SectionOption = None,
    **zips: Path | None,
) -> None:
    """Write a feedback page for each learner.

    DIR/learners has the pages, with the result of every check; DIR/index.html is for you, with the
    points of all learners. Zips and tables contain the pages that changed since the last one.

    Example: tito feedback feedback --moodle feedback.zip
    """
    from tito import views as general
    from tito.grading.gradebook import deliver, enrollment, exports, learner_data, views
    from tito.grading.gradebook import feedback as pages
    from tito.grading.intake.collect import entry_numbers, find_submissions
    from tito.safe_text import plain

    course = current_root()
    place = current_folder() / folder.expanduser()
    options = {**zips, deliver.MAIL: mail}
    targets = {kind: current_folder() / path.expanduser() for kind, path in options.items() if path}
    exports.refuse(list(targets.values()), force=None)
    for kind in targets.keys() & having("from_download"):
        if not submissions:
            raise UsageError(
                f"For {SYSTEMS[kind].title}, the pages need the file names of the submissions that "
                "it gave you.",
                "Name that download: --submissions DIR_OR_ZIP",
            )
    with gradebook_of(course, create=False, reads=True) as book:
        section_of(book, section)
        unclaimed = enrollment.unclaimed(book)
        graded = (
            (learner, [g for g in grades if g.is_by_hand or (g.student, g.lesson) not in unclaimed])
            for learner, grades in book.by_learner(section=section)
        )
        learners, changed = pages.write(place, graded, course.name)
        gone = learner_data.remove_pages(book, place)
        roster, absent = enrollment.learners(book)
    if not learners:
        raise UsageError("No learner is in this gradebook.", "First: tito grade SUBMISSIONS")
    parts = {}
    if submissions and targets:
        download = find_submissions(current_folder() / submissions, course.lessons, roster, None)
        parts = {submission.student: submission.uploads for submission in download}
        numbers = entry_numbers(current_folder() / submissions, roster or [])
        for page in learners:  # the roster's numbers are for another assignment
            page.learner.columns |= numbers.get(page.learner.student, {})
    new = [page.learner.name or page.learner.student for page in learners if page.path in changed]
    names = f": {plain(', '.join(new), 200)}" if len(new) <= NAMED else ""
    echo(
        f"{folder / 'index.html'}: {general.count(len(learners), 'learner')}, "
        f"{general.count(len(new), 'page')} new or changed{names}. Give each "
        "learner only their own page."
    )
    if gone:
        echo(f"{general.count(gone, 'page')} of deleted learners removed.")
    if targets:
        for words in views.left_out(absent):
            warn(words)
        deliveries = deliver.deliver(place, targets, learners, parts, everyone)
        for kind, delivery in deliveries.items():
            show_delivery(delivery, targets[kind], kind)


def show_delivery(delivery: "Delivery", path: Path, kind: str) -> None:
    from tito.safe_text import plain
    from tito.views import count

    if delivery.students:
        echo(f"{path.name}: {count(len(delivery.students), 'page')}.")
    elif delivery.nameless:
        echo(f"{path.name} was not written: no learner has a name there.")
    else:
        echo(
            f"{path.name} was not written: no page changed since the last one. --everyone includes "
            "all pages."
        )
    if nameless := delivery.nameless:
        first = ", ".join(plain(student, 40) for student in nameless[:10])
        warn(
            f"Not in it: {count(len(nameless), 'page')}. {SYSTEMS[kind].title}'s download has no "
            f"name for "
            f"{first}{', ...' if len(nameless) > 10 else ''}."
        )
