"""The course's drawings that can be touched. `python book/drawings` writes a lesson's drawings
into its folder, and the others into `book/`: drawings.json is a list of

    {"name", "section", "after", "replaces", "html", "script"}

The drawing of a lesson is put into that section of its pages: after the paragraph that contains
the words `after`, or at the section's end. Another is a generated part of a page,
`<!-- made: NAME -->`. One with `replaces` is shown instead of the picture of the cell that contains
these words, which stays in the notebook: in its place or, with `after`, after that paragraph.
`script` names the file of `static/drawings` that makes it interactive.
"""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypedDict

from tito.errors import WorkError
from tito.lesson.lesson_format import DRAWINGS
from tito.page.parts import STATIC, Part, Section, prose

PICTURES = {"image/png", "image/svg+xml", "image/jpeg"}


class Figure(TypedDict):
    """A drawing, as `book/drawings` describes it."""

    name: str
    section: str
    after: str
    replaces: str
    html: str
    script: str


def read(folder: Path) -> list[Figure]:
    """The drawings in a folder; none where it has none."""
    path = folder / DRAWINGS
    figures: list[Figure] = json.loads(path.read_text("utf-8")) if path.exists() else []
    return figures


def place(sections: list[Section], figures: Sequence[Figure]) -> None:
    """Put a lesson's drawings into the sections of its pages."""
    places = [(*_find(sections, figure), figure["html"]) for figure in figures]
    places.sort(key=lambda place: place[:3])
    for number, at, end, html in reversed(places):
        parts = sections[number].parts
        above = parts[at]
        shown = Part("html", html, above.line)
        if above.kind != "prose":
            parts.insert(at + 1, shown)
            continue
        text = above.source
        line = above.line + text.count("\n", 0, end) + 1
        pieces = [prose(above.line, text[:end]), shown, prose(line, text[end:].strip("\n"))]
        parts[at : at + 1] = [piece for piece in pieces if piece.source]


def place_known(sections: list[Section], folder: Path) -> list[str]:
    """Put a folder's drawings where a learner's file has their places. Returns their scripts."""
    names: dict[str, None] = {}
    for figure in read(folder):
        with suppress(WorkError):
            place(sections, [figure])
            names |= {"drawing.js": None, f"drawings/{figure['script']}.js": None}
    return [(STATIC / name).read_text("utf-8") for name in names]


def has_picture(output: dict[str, Any]) -> bool:
    return not PICTURES.isdisjoint(output.get("data", {}))


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
            f"book/drawings: {name} is for the section {title!r}: {sections[0].path} has "
            "no such section.",
            f"It has: {', '.join(titles[1:])}.",
        )
    number = titles.index(title)
    parts = sections[number].parts
    if replaced := figure.get("replaces"):
        place = _remove_picture(parts, replaced, figure)
        if not after:
            return number, place, 0
    if not after:
        return number, len(parts) - 1, len(parts[-1].source)
    words = re.compile(r"\s+".join(map(re.escape, after.split())))
    for at, part in enumerate(parts):
        if part.kind == "prose" and (match := words.search(part.source)):
            end = part.source.find("\n\n", match.end())
            return number, at, end if end >= 0 else len(part.source)
        folded = [*part.hints, part.explanation.source if part.explanation else ""]
        if any(map(words.search, folded)):
            return number, at, 0
    raise WorkError(
        f"book/drawings: {name} is to follow the words {after!r}, which the section {title!r} of "
        f"{sections[0].path} does not have.",
        "Give words of a paragraph of that section, or none, for the section's end.",
    )


def _remove_picture(parts: list[Part], words: str, figure: Figure) -> int:
    """Take the picture out of the cell that contains these words. Returns its place."""
    for number, part in enumerate(parts):
        if part.kind == "code" and words in part.source:
            part.outputs = [output for output in part.outputs if not has_picture(output)]
            return number
    raise WorkError(
        f"book/drawings: {figure['name']} replaces the picture of a cell with {words!r}, which "
        f"the section {figure['section']!r} does not have.",
        "Give words of the code that draws the picture.",
    )
