"""`tito release`: the learners' course, and what other systems grade with."""

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
        help="A new folder, or an earlier release to bring up to date.",
        show_default=False,
    ),
]
OnlyLessons = Annotated[
    list[str] | None,
    typer.Option(
        "--lessons",
        metavar="LESSON...",
        help="The same as the arguments after DIR, before or behind it; without any: every lesson.",
        show_default=False,
    ),
]
Nbgrader = Annotated[
    Path | None,
    typer.Option(
        "--nbgrader",
        metavar="DIR",
        help="Also, or only: source notebooks for nbgrader, in a new folder. "
        "They hold the solutions.",
        show_default=False,
    ),
]
Gradescope = Annotated[
    Path | None,
    typer.Option(
        "--gradescope",
        metavar="ZIP",
        help="Also, or only: a Gradescope autograder. It holds the solutions.",
        show_default=False,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Write over an autograder zip that is there.")]
WithSolutions = Annotated[
    bool,
    typer.Option(
        "--with-solutions",
        help="Also the solutions, for `tito compare`: not for a class that is graded.",
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
    """For instructors: make the learners' course, a folder to publish, without a solution, a hidden
    check or a recorded mistake in any byte.

    It holds stubs, notebooks, tito itself, and files for Binder and for tests at each push. DIR may
    be a git repository. What somebody changed by hand in an earlier release is told and saved.
    Example: tito release ../tinytorch-release --lessons tensor activations
    """
    course = current_root(root)
    if only:  # the words after --lessons A are lessons, too, but for one that is a folder
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
    """Raise UsageError for what cannot be meant. is_any: whether anything is to be written."""
    if not is_any:
        raise UsageError(
            "Where to?",
            "Name a folder: tito release ../my-course-release; or a zip: tito release "
            "--gradescope autograder.zip",
        )
    if with_solutions and not folder:
        raise UsageError(
            "--with-solutions is for a folder to publish, and none is named.",
            "The autograder and nbgrader's sources hold the solutions in any case.",
        )
    if folder and str(folder) in {entry.name for entry in root.lessons}:
        raise UsageError(
            f"{folder} is a lesson; the first word is the folder to write.",
            f"tito release ../my-course-release {folder}; without a folder: --lessons {folder}",
        )


def release_folder(
    root: "Root", folder: Path, chosen: list["Entry"] | None, with_solutions: bool
) -> None:
    """Write the folder to publish, and say what is in it."""
    from tito import views
    from tito.author import release as releasing

    path = current_folder() / folder.expanduser()
    result = releasing.release(root, path, chosen, with_solutions)
    secrecy = "nothing given away."
    if with_solutions:
        secrecy = "with the solutions: whoever opens a file can read them."
    echo(
        f"{result.path} holds {views.count(len(result.lessons), 'lesson')} "
        f"({', '.join(result.lessons)}); {views.count(len(result.changed), 'file')} written, "
        f"{secrecy}"
    )
    for name in result.by_hand:
        warn(f"{name} had been changed by hand; it is as released again.")
    if result.backup:
        echo(
            f"What was changed by hand is saved in {result.backup}, which is not to be "
            "published (git leaves it out; a zip would not)."
        )


def release_nbgrader(root: "Root", folder: Path, chosen: list["Entry"] | None) -> None:
    """Write the source notebooks for nbgrader, and say what to do with them."""
    from tito import views
    from tito.author import nbgrader as sources

    paths = sources.write(root, current_folder() / folder.expanduser(), chosen)
    notebooks = [path for path in paths if path.suffix == ".ipynb"]
    echo(
        f"{folder}, {views.count(len(notebooks), 'source notebook')}. They hold the "
        "solutions and the hidden checks.",
        views.unbroken(f"next: cd {folder} && nbgrader generate_assignment {notebooks[0].stem}"),
    )


def release_gradescope(root: "Root", path: Path, chosen: list["Entry"] | None, force: bool) -> None:
    """Write the autograder for Gradescope."""
    from tito.author import gradescope as packing

    size = packing.pack(root, current_folder() / path.expanduser(), chosen, force)
    echo(
        f"{path}, {size / 1000:.0f} kB: upload it as the autograder. It holds the "
        "solutions and the hidden checks."
    )


def _is_lesson(root: "Root", word: str) -> bool:
    try:
        return bool(root.lesson(word))
    except TitoError:
        return False
