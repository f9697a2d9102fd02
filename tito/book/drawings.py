"""The course's drawings, as its program `book/drawings` prints them (see tito/page/drawings.py)."""

import json
from pathlib import Path

from tito.book import execute
from tito.errors import WorkError
from tito.lesson.course import Root
from tito.page.drawings import Figure


def read_drawings(root: Root, package: Path) -> list[Figure]:
    """The drawings of a course; none where it has no `book/drawings`.

    package  the folder with the course's package
    """
    program = root.path / "book" / "drawings"
    if not (program / "__main__.py").exists():
        return []
    text = execute.output_of(program, package, "It makes the drawings of the book")
    figures: list[Figure] = json.loads(text)
    names = [entry.name for entry in root.lessons]
    for figure in figures:
        if figure["lesson"] and figure["lesson"] not in names:
            raise WorkError(
                f"book/drawings: {figure['name']} is for the lesson {figure['lesson']!r}, which "
                "this course does not have.",
                f"There are: {', '.join(names)}.",
            )
    return figures
