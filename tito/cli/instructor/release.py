"""`tito release`: the course for learners, and files for other graders."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tito.cli.app import (
    Lessons,
    RootOption,
    app,
    current_folder,
    current_root,
    echo,
    select_lessons,
    warn,
)
from tito.errors import TitoError, UsageError

if TYPE_CHECKING:
    from tito.lesson.course import Entry, Root

Folder = Annotated[
    Path | None,
    typer.Argument(
        metavar="[DIR]",
        help="A new folder, or an earlier release to update.",
        show_default=False,
    ),
]
OnlyLessons = Annotated[
    list[str] | None,
    typer.Option(
        "--lessons",
        metavar="LESSON...",
        help="The lessons to release, like the arguments after DIR. Default: every lesson.",
        show_default=False,
    ),
]
Nbgrader = Annotated[
    Path | None,
    typer.Option(
        "--nbgrader",
        metavar="DIR",
        help="Write source notebooks for nbgrader into a new folder. They contain the solutions. "
        "DIR may be left out.",
        show_default=False,
    ),
]
Gradescope = Annotated[
    Path | None,
    typer.Option(
        "--gradescope",
        metavar="ZIP",
        help="Write a Gradescope autograder. It contains the solutions. DIR may be left out.",
        show_default=False,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing autograder zip.")]
WithSolutions = Annotated[
    bool,
    typer.Option(
        "--with-solutions",
        help="Include the solutions, for `tito compare`. Not for a class that you grade.",
    ),
]


@app.command()
def release(
    folder: Folder = None,
    lessons: Lessons = None,
    only: OnlyLessons = None,
    nbgrader: Nbgrader = None,
    gradescope: Gradescope = None,
    force: Force = False,
    with_solutions: WithSolutions = False,
    root: RootOption = None,
) -> None:
    """For instructors: write a copy of the course to publish, without solutions or hidden checks.

    It contains the lessons to fill in, notebooks, tito itself, and files for Binder and for tests
    at each push. DIR may be a git repository. Files that were edited in an earlier release are
    listed, and saved before they are replaced. Example:
    tito release ../tinytorch-release --lessons tensor activations
    """
    course = current_root(root)
    if only:  # the words after --lessons A are also lessons, except one that is a folder
        words = [*([str(folder)] if folder else []), *(lessons or [])]
        places = [word for word in words if not _is_lesson(course, word)]
        folder, lessons = Path(places[0]) if places else None, list(words)
        if places:
            lessons.remove(places[0])
    _check_places(course, folder, with_solutions, bool(folder or gradescope or nbgrader))
    names = [*(lessons or []), *(only or [])]
    chosen = select_lessons(course, names, None, False) if names else None
    if folder:
        release_folder(course, folder, chosen, with_solutions)
    if nbgrader:
        release_nbgrader(course, nbgrader, chosen)
    if gradescope:
        release_gradescope(course, gradescope, chosen, force)


def _check_places(root: "Root", folder: Path | None, with_solutions: bool, is_any: bool) -> None:
    """Raise UsageError for arguments that contradict each other. is_any: whether one is given."""
    if not is_any:
        raise UsageError(
            "Where should the release be written?",
            "Name a folder: tito release ../my-course-release; or a zip: tito release "
            "--gradescope autograder.zip",
        )
    if with_solutions and not folder:
        raise UsageError(
            "--with-solutions needs a folder to publish.",
            "The autograder and nbgrader's sources always contain the solutions.",
        )
    if folder and str(folder) in {entry.name for entry in root.lessons}:
        raise UsageError(
            f"{folder} is a lesson, but the first argument is the folder to write.",
            f"tito release ../my-course-release {folder}; without a folder: --lessons {folder}",
        )


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


def release_gradescope(root: "Root", path: Path, chosen: list["Entry"] | None, force: bool) -> None:
    """Write the autograder for Gradescope."""
    from tito.author import gradescope as packing

    size = packing.pack(root, current_folder() / path.expanduser(), chosen, force)
    echo(
        f"{path}, {size / 1000:.0f} kB: upload it as the autograder. It contains the "
        "solutions and the hidden checks."
    )


def _is_lesson(root: "Root", word: str) -> bool:
    try:
        return bool(root.lesson(word))
    except TitoError:
        return False
