"""`tito similar`: find submissions that are too similar."""

from collections.abc import Iterator
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
    echo_json,
    progress_bar,
    select_lessons,
    warn,
)
from tito.cli.instructor.options import (
    SectionOption,
    Submissions,
    chosen_gradebook,
    current_course,
    gradebook_of,
    instructor_packages,
    section_of,
)

if TYPE_CHECKING:
    from tito.grading.submission import Contents

    Work = tuple[Contents, dict[str, str]]
    from tito.grading.roster import Learner
    from tito.lesson.course import Entry


@app.command()
def similar(
    submissions: Submissions,
    lessons: Lessons = None,
    all_: All = False,
    threshold: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Lowest similarity of a listed pair, 0 to 1.")
    ] = 0.9,
    output: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A folder for pages that show each pair side by side."),
    ] = None,
    section: SectionOption = None,
    json: Json = False,
) -> None:
    """Find pairs of submissions that are too similar.

    Names, and code that the course gives, are not compared. No submitted code is run.
    Example: tito similar submissions --all --output similar
    """
    from tito.grading import views
    from tito.grading.gradebook import enrollment
    from tito.grading.jail import jail
    from tito.grading.page import similarity
    from tito.safe_text import plain

    with instructor_packages():
        import copydetect  # noqa: F401
    jail.check_system()
    course = current_course()
    entries = select_lessons(course, lessons, all_)
    is_there = bool(chosen_gradebook(course)) or (course.state / "gradebook.db").exists()
    with gradebook_of(course, create=not is_there, reads=True) as book:
        (learners, _), members = enrollment.learners(book), section_of(book, section)
    with progress_bar(not json) as report:
        works = list(read_works(current_folder() / submissions, entries, learners, members))
        pairs, notes = similarity.compare_class(
            entries, works, threshold, lambda done, of: report("comparing", done, of)
        )
    total = sum(len(submission.files) or 1 for submission, _ in works)
    compared = sum(len(texts) for _, texts in works)
    is_complete = 1 < compared == total
    if output:
        similarity.write(current_folder() / output.expanduser(), pairs, threshold, notes)
    for note in notes:
        warn(plain(note, 500))
    if json:
        echo_json([similarity.as_json(pair) for pair in pairs])
    elif pairs or is_complete:
        echo(views.similar(pairs, threshold))
    if output and not json:
        echo(f"side by side: {output / 'index.html'}")
    if not is_complete:
        needed = " A comparison needs two hand-ins." * (compared < 2)
        warn(f"{compared} of {total} compared.{needed}")
        raise typer.Exit(1)


def read_works(
    submissions: Path,
    entries: "list[Entry]",
    learners: "list[Learner] | None" = None,
    members: set[str] | None = None,
) -> "Iterator[Work]":
    """The code of each learner in a folder or zip who handed in, for `similarity.compare_class`.

    members  ids: only these; None: all
    """
    from tito.grading.intake.collect import find_submissions
    from tito.grading.intake.open_submission import open_submission
    from tito.grading.jail.reader import SubmissionReader
    from tito.grading.page.similarity import written
    from tito.grading.setting import LIMITS

    seen = set[str]()  # a group handed in once
    with SubmissionReader(entries, LIMITS, open_submission, written) as reader:
        for submission in find_submissions(submissions, entries, learners, submitted=None):
            names = frozenset(upload.name for upload in submission.uploads)
            if names - seen and (members is None or submission.student in members):
                seen |= names
                yield reader.read(submission)
