"""A Gradescope autograder: a zip with tito, the course with its solutions, and two programs for
Gradescope to start.

    setup.sh           once, when the image is built: Python, bubblewrap, tito (from `autograder/`,
                       beside this file)
    run_autograder     for each submission: `tito grade`, then its result as results.json
    lessons            which lessons are graded: "--all", or names
    course/            the course, solutions and hidden checks with it
    *.whl              this tito

Gradescope shows the zip only to instructors. Do not publish it: it contains the solutions.
"""

import zipfile
from pathlib import Path

from tito import files
from tito.author import release, wheel
from tito.errors import UsageError
from tito.lesson import checks, track
from tito.lesson.course import SOURCE, Entry, Root
from tito.lesson.lesson_format import CHECKS, FACTS, HINTS

PROGRAMS = Path(__file__).with_name("autograder")


def pack(source: Root, path: Path, lessons: list[Entry] | None = None) -> int:
    """Write the autograder zip of a course. Returns its size in bytes.

    lessons  those to grade; None for all
    """
    if not source.is_course:
        raise UsageError(
            f"{source.path} is a workspace; an autograder needs the course with its solutions.",
            "Run it in the course.",
        )
    if path.suffix != ".zip" or path.exists():
        raise UsageError(
            f"{path} is {'there already' if path.exists() else 'not the name of a zip'}.",
            "Delete it, or name another file that ends in .zip."
            if path.exists()
            else "Name a file that ends in .zip.",
        )
    if any((folder / release.NOTE).exists() for folder in path.absolute().parents):
        raise UsageError(
            f"{path} is inside a release, which learners get.",
            "Name a place outside of it: the autograder contains the solutions.",
        )
    members = contents(source, lessons)
    data = files.archive(members, zipfile.ZIP_DEFLATED, programs=("setup.sh", "run_autograder"))
    files.write(path, data)
    return len(data)


def contents(source: Root, lessons: list[Entry] | None = None) -> dict[str, bytes]:
    """{path: bytes} of the autograder."""
    members = {path.name: path.read_bytes() for path in sorted(PROGRAMS.iterdir())}
    members["lessons"] = (
        " ".join(entry.name for entry in lessons) if lessons else "--all"
    ).encode() + b"\n"
    name, data = wheel.build({}, "autograder")
    members[name] = data
    for name in ("tito.toml", track.FILE):
        if (source.path / name).exists():
            members[f"course/{name}"] = (source.path / name).read_bytes()
    # Every lesson, even when only some are graded: a lesson imports lower ones.
    scripts = [
        path
        for entry in source.lessons
        for name in (entry.script.name, CHECKS, FACTS, HINTS)
        if (path := entry.script.with_name(name)).exists()
    ]
    shared = list((source.path / SOURCE).glob(checks.FILE))
    package = sorted((source.path / source.package).rglob("*.py"))
    for path in [*scripts, *shared, *package]:
        members[f"course/{path.relative_to(source.path).as_posix()}"] = path.read_bytes()
    return members
