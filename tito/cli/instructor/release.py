"""`tito release`: the course for learners, and files for other graders."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tito.cli.app import Lessons, app, current_folder, current_root, echo, select_lessons, warn
from tito.errors import UsageError

if TYPE_CHECKING:
    from tito.lesson.course import Entry, Root

Place = Annotated[
    Path,
    typer.Argument(
        metavar="PLACE",
        help="A new folder, or an earlier release to update; for gradescope, a zip.",
    ),
]
System = Annotated[
    str | None,
    typer.Option(
        "--for",
        metavar="nbgrader|gradescope",
        help="Write source notebooks for nbgrader, or an autograder for Gradescope, instead. They "
        "contain the solutions.",
    ),
]
WithSolutions = Annotated[
    bool,
    typer.Option(
        "--with-solutions",
        help="Include the solutions, for `tito compare`. Not for a class that you grade.",
    ),
]


@app.command()
def release(
    place: Place,
    lessons: Lessons = None,
    system: System = None,
    with_solutions: WithSolutions = False,
) -> None:
    """For instructors: write a copy of the course to publish, without solutions or hidden checks.

    It contains the lessons to fill in, notebooks, tito itself, and files for Binder and for tests
    at each push. PLACE may be a git repository. Files that were edited in an earlier release are
    listed, and saved before they are replaced. Without a lesson: every lesson. Example:
    tito release ../tinytorch-release tensor activations
    """
    course = current_root()
    if system not in (None, "nbgrader", "gradescope"):
        raise UsageError(
            f"--for {system!r} is unknown.", "Choose one of: nbgrader, gradescope; or leave it out."
        )
    if system and with_solutions:
        raise UsageError(
            "Only one of --for and --with-solutions is possible at a time.",
            "What is for another grader always contains the solutions.",
        )
    if str(place) in {entry.name for entry in course.lessons}:
        raise UsageError(
            f"{place} is a lesson, but the first argument is where to write.",
            f"tito release ../my-course-release {place}",
        )
    chosen = select_lessons(course, lessons, False) if lessons else None
    if system == "nbgrader":
        release_nbgrader(course, place, chosen)
    elif system == "gradescope":
        release_gradescope(course, place, chosen)
    else:
        release_folder(course, place, chosen, with_solutions)


def release_folder(
    root: "Root", folder: Path, chosen: list["Entry"] | None, with_solutions: bool
) -> None:
    """Write the folder to publish, and print its contents."""
    from tito import views
    from tito.author import release as releasing

    path = current_folder() / folder.expanduser()
    result = releasing.release(root, path, chosen, with_solutions)
    secrecy = "without solutions."
    if with_solutions:
        secrecy = "with the solutions, which every reader of the folder can see."
    echo(
        f"{result.path} contains {views.count(len(result.lessons), 'lesson')} "
        f"({', '.join(result.lessons)}); {views.count(len(result.changed), 'file')} written, "
        f"{secrecy}"
    )
    for name in result.by_hand:
        warn(f"{name} had been edited; it is now as released.")
    if result.backup:
        echo(
            f"The edited files are saved in {result.backup}. Do not publish this folder: git "
            "ignores it, but a zip would contain it."
        )


def release_nbgrader(root: "Root", folder: Path, chosen: list["Entry"] | None) -> None:
    """Write the source notebooks for nbgrader, and say what to do with them."""
    from tito import views
    from tito.author import nbgrader as sources

    paths = sources.write(root, current_folder() / folder.expanduser(), chosen)
    notebooks = [path for path in paths if path.suffix == ".ipynb"]
    echo(
        f"{folder}, {views.count(len(notebooks), 'source notebook')}. They contain the "
        "solutions and the hidden checks.",
        views.unbroken(f"next: cd {folder} && nbgrader generate_assignment {notebooks[0].stem}"),
    )


def release_gradescope(root: "Root", path: Path, chosen: list["Entry"] | None) -> None:
    """Write the autograder for Gradescope."""
    from tito.author import gradescope as packing

    size = packing.pack(root, current_folder() / path.expanduser(), chosen)
    echo(
        f"{path}, {size / 1000:.0f} kB: upload it as the autograder. It contains the "
        "solutions and the hidden checks."
    )
