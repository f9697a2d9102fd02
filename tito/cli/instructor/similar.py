"""`tito similar`: submissions that are too much alike."""

from pathlib import Path
from typing import Annotated

import typer

from tito.cli.app import (
    All,
    Json,
    Lessons,
    RootOption,
    app,
    current_folder,
    echo,
    echo_json,
    progress_bar,
    select_lessons,
    warn,
)
from tito.cli.instructor.options import (
    GradebookOption,
    RosterOption,
    SectionOption,
    Submissions,
    current_course,
    gradebook_of,
)
from tito.errors import UsageError


@app.command()
def similar(
    submissions: Submissions,
    lessons: Lessons = None,
    all_: All = False,
    threshold: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Similarity from which a pair is told, 0 to 1.")
    ] = 0.85,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="A folder for a page of each pair, side by side.",
            show_default=False,
        ),
    ] = None,
    roster: RosterOption = None,
    section: SectionOption = None,
    gradebook: GradebookOption = None,
    json: Json = False,
    root: RootOption = None,
):
    """Find pairs of submissions that are too much alike. What the course gives counts nothing, what
    many wrote counts little, names nothing.

    Nothing that was handed in is run. Example: tito similar submissions --all --output similar
    """
    from dataclasses import asdict

    from tito.grading import views
    from tito.grading.gradebook import enrollment
    from tito.grading.gradebook.class_lists import read_roster
    from tito.grading.page import similarity as comparing
    from tito.grading.roster import in_section

    root = current_course(root)
    entries = select_lessons(root, lessons, None, all_)
    learners = remembered = None
    if gradebook or (root.state / "gradebook.db").exists():
        with gradebook_of(root, gradebook, create=False, reads=True) as book:
            learners, remembered = enrollment.learners(book), enrollment.id_column(book)
    if roster:
        learners = read_roster(current_folder() / roster, remembered=remembered)
    members = None
    if section:
        members = {one.student for one in learners or () if in_section(one.columns, section)}
        if not members:
            raise UsageError(f"Nobody is in section {section!r}.", "Give a roster that has it.")
    with progress_bar(not json) as report:
        handed_in = read_works(current_folder() / submissions, entries, learners, members)
        pairs, notes = comparing.compare_class(
            entries, handed_in, threshold, lambda done, of: report("comparing", done, of)
        )
    if output:
        comparing.write(current_folder() / output.expanduser(), pairs, threshold, notes)
    for note in notes:
        warn(views.plain(note, 500))
    if json:
        echo_json([asdict(pair) for pair, _ in pairs])
        return
    echo(views.similar([pair for pair, _ in pairs], threshold))
    if output:
        echo(f"side by side: {output / 'index.html'}")


def read_works(submissions, entries, learners=None, members=None):
    """What `similarity.compare_class` compares, of each learner in a folder or zip.

    members  ids: only these; None: all
    """
    from tito.grading.intake.collect import find_submissions
    from tito.grading.intake.open_submission import open_submission
    from tito.grading.jail.reader import Reader
    from tito.grading.page.similarity import written
    from tito.grading.setting import LIMITS

    with Reader(entries, LIMITS, open_submission, written) as reader:
        for submission in find_submissions(submissions, entries, learners, submitted=None):
            if members is None or submission.student in members:
                yield reader.read(submission)
