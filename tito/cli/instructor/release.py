"""`tito release`: the learners' course, and what other systems grade with."""

from pathlib import Path
from typing import Annotated

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


@app.command()
def release(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]",
            help="A new folder, or an earlier release to bring up to date.",
            show_default=False,
        ),
    ] = None,
    lessons: Lessons = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--lessons",
            metavar="LESSON...",
            help="The same as the arguments after DIR, before or behind it; without any: every "
            "lesson.",
            show_default=False,
        ),
    ] = None,
    nbgrader: Annotated[
        Path | None,
        typer.Option(
            "--nbgrader",
            metavar="DIR",
            help="Also, or only: source notebooks for nbgrader, in a new folder. "
            "They hold the solutions.",
            show_default=False,
        ),
    ] = None,
    gradescope: Annotated[
        Path | None,
        typer.Option(
            "--gradescope",
            metavar="ZIP",
            help="Also, or only: a Gradescope autograder. It holds the solutions.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write over an autograder zip that is there.")
    ] = False,
    with_solutions: Annotated[
        bool,
        typer.Option(
            "--with-solutions",
            help="Also the solutions, for `tito compare`: not for a class that is graded.",
        ),
    ] = False,
    root: RootOption = None,
):
    """For instructors: make the learners' course, a folder to publish, without a solution, a hidden
    check or a recorded mistake in any byte.

    It holds stubs, notebooks, tito itself, and files for Binder and for tests at each push. DIR may
    be a git repository. What somebody changed by hand in an earlier release is told and saved.
    Example: tito release ../tinytorch-release --lessons tensor activations
    """
    from tito import views

    root = current_root(root)
    if only:  # the words after --lessons A are lessons, too, but for one that is a folder
        words = [*([str(folder)] if folder else []), *(lessons or [])]
        places = [word for word in words if not _is_lesson(root, word)]
        folder, lessons = Path(places[0]) if places else None, list(words)
        if places:
            lessons.remove(places[0])
    if not (folder or gradescope or nbgrader):
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
    names = [*(lessons or []), *(only or [])]
    chosen = select_lessons(root, names, None, False) if names else None
    if folder:
        from tito.author import release as releasing

        result = releasing.release(
            root, current_folder() / folder.expanduser(), chosen, with_solutions
        )
        titles = ", ".join(result.lessons)
        echo(
            f"{result.path} holds {views.count(len(result.lessons), 'lesson')} ({titles}); "
            f"{views.count(len(result.changed), 'file')} written, "
            + (
                "with the solutions: whoever opens a file can read them."
                if with_solutions
                else "nothing given away."
            )
        )
        for name in result.by_hand:
            warn(f"{name} had been changed by hand; it is as released again.")
        if result.backup:
            echo(
                f"What was changed by hand is saved in {result.backup}, which is not to be "
                "published (git leaves it out; a zip would not)."
            )
    if nbgrader:
        from tito.author import nbgrader as sources

        paths = sources.write(root, current_folder() / nbgrader.expanduser(), chosen)
        notebooks = [path for path in paths if path.suffix == ".ipynb"]
        echo(
            f"{nbgrader}, {views.count(len(notebooks), 'source notebook')}. They hold the "
            "solutions and the hidden checks.",
            views.unbroken(
                f"next: cd {nbgrader} && nbgrader generate_assignment {notebooks[0].stem}"
            ),
        )
    if gradescope:
        from tito.author import gradescope as packing

        path = current_folder() / gradescope.expanduser()
        size = packing.pack(root, path, chosen, force)
        echo(
            f"{gradescope}, {size / 1000:.0f} kB: upload it as the autograder. It holds the "
            "solutions and the hidden checks."
        )


def _is_lesson(root, word):
    try:
        return bool(root.lesson(word))
    except TitoError:
        return False
