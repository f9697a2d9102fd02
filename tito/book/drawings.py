"""The course's drawings that can be touched. `python book/drawings` prints them as JSON, with the
course's package at hand: a list of

    {"name", "lesson", "section", "after", "replaces", "html"}

A drawing with a lesson is put into that section of its pages: after the paragraph that contains
the words `after`, or at the section's end. One without is a generated part of a page,
`<!-- made: NAME -->`. One with `replaces` is shown instead of the picture of the cell that contains
these words, which stays in the notebook: in its place or, with `after`, after that paragraph.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from tito.book import execute
from tito.book.notebook_cells import Part, Section, prose
from tito.errors import WorkError
from tito.lesson.course import Entry, Root


class Figure(TypedDict):
    """A drawing, as `book/drawings` describes it."""

    name: str
    lesson: str
    section: str
    after: str
    replaces: str
    html: str


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


def place(entry: Entry, sections: list[Section], figures: Sequence[Figure]) -> None:
    """Put a lesson's drawings into the sections of its pages."""
    places = [(*_find(sections, figure), figure["html"]) for figure in figures]
    places.sort(key=lambda place: place[:3])
    for number, at, end, html in reversed(places):
        parts = sections[number].parts
        line, above = parts[at]
        shown = (line, prose(html))
        if above["cell_type"] == "code":
            parts.insert(at + 1, shown)
            continue
        text = above["source"]
        rest = (line + text.count("\n", 0, end) + 1, prose(text[end:].strip("\n")))
        pieces = [(line, above | {"source": text[:end]}), shown, rest]
        parts[at : at + 1] = [piece for piece in pieces if piece[1]["source"]]


def escaped(text: str) -> str:
    """Plain text as Markdown: text between backticks stays, in the rest no character is special."""
    parts = text.split("`")
    return "`".join(
        part if number % 2 else re.sub(r"([\\*_<>$|\[\]#])", r"\\\1", part)
        for number, part in enumerate(parts)
    )


def _find(sections: list[Section], figure: Figure) -> tuple[int, int, int]:
    """(section, part, end of the paragraph in it) after which a drawing is put."""
    name, title, after = figure["name"], figure["section"], figure["after"]
    titles = [section.title for section in sections]
    if not title or title not in titles:
        raise WorkError(
            f"book/drawings: {name} is for the section {title!r} of the lesson "
            f"{figure['lesson']}, which has no such section.",
            f"It has: {', '.join(titles[1:])}.",
        )
    number = titles.index(title)
    parts = sections[number].parts
    if replaced := figure.get("replaces"):
        place = _remove_picture(parts, replaced, figure)
        if not after:
            return number, place, 0
    if not after:
        return number, len(parts) - 1, len(parts[-1][1]["source"])
    words = re.compile(r"\s+".join(map(re.escape, after.split())))
    for at, (_, part) in enumerate(parts):
        if part["cell_type"] == "markdown" and (match := words.search(part["source"])):
            end = part["source"].find("\n\n", match.end())
            return number, at, end if end >= 0 else len(part["source"])
    raise WorkError(
        f"book/drawings: {name} is to follow the words {after!r}, which the section {title!r} of "
        f"the lesson {figure['lesson']} does not have.",
        "Give words of a paragraph of that section, or none, for the section's end.",
    )


def _remove_picture(parts: list[Part], words: str, figure: Figure) -> int:
    """Take the picture out of the cell that contains these words. Returns its place."""
    for number, (_, part) in enumerate(parts):
        if part["cell_type"] == "code" and words in part["source"]:
            for key in ("image", "figure"):
                part["metadata"].get("mystnb", {}).pop(key, None)
            part["outputs"] = [
                output for output in part["outputs"] if not execute.has_picture(output)
            ]
            return number
    raise WorkError(
        f"book/drawings: {figure['name']} replaces the picture of a cell with {words!r}, which "
        f"the section {figure['section']!r} of the lesson {figure['lesson']} does not have.",
        "Give words of the code that draws the picture.",
    )
