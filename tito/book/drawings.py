"""The course's drawings that can be touched. `python book/drawings` prints them as JSON, with the
course's package at hand: a list of

    {"name", "lesson", "section", "after", "html"}

One with a lesson is put into that section of its pages, behind the paragraph that contains the
words `after`, or at the section's end; one without is a made part of a page, `<!-- made: NAME -->`.
"""

import json
import re

from tito.book import execute
from tito.errors import TitoError

NUMBER = '<b class="figure-number"></b>'  # becomes "Figure 5.1. "


def drawings(root, package):
    """The drawings of a course; none where it has no `book/drawings`.

    package  the folder with the course's package
    """
    program = root.path / "book" / "drawings"
    if not (program / "__main__.py").exists():
        return []
    found = json.loads(execute.output_of(program, package, "It makes the drawings of the book"))
    names = [entry.name for entry in root.lessons]
    for drawing in found:
        if drawing["lesson"] and drawing["lesson"] not in names:
            raise TitoError(
                f"book/drawings: {drawing['name']} is for the lesson {drawing['lesson']!r}, which "
                "this course does not have.",
                f"There are: {', '.join(names)}.",
                1,
            )
    return found


def place(entry, sections, drawings):
    """Put drawings into the sections of a lesson's pages, and number them in their order.

    sections  the lesson's pages, each with `title` and `parts`
    drawings  those of this lesson
    """
    places = sorted(
        (_find(sections, drawing) + (drawing,) for drawing in drawings), key=lambda one: one[:3]
    )
    for count, (section, part, end, drawing) in reversed(list(enumerate(places, 1))):
        parts, number = sections[section].parts, f"<b>Figure {entry.number}.{count}.</b> "
        shown = _prose(drawing["html"].replace(NUMBER, number))
        line, above = parts[part]
        text = above["source"]
        below = (line + text.count("\n", 0, end) + 1, _prose(text[end:].strip("\n")))
        kept = [(line, above | {"source": text[:end]}), (line, shown), below]
        parts[part : part + 1] = [one for one in kept if one[1]["source"]]


def _find(sections, drawing):
    """(section, part, end of the paragraph in it) after which a drawing stands."""
    name, title, after = drawing["name"], drawing["section"], drawing["after"]
    titles = [section.title for section in sections]
    if not title or title not in titles:
        raise TitoError(
            f"book/drawings: {name} is for the section {title!r} of the lesson "
            f"{drawing['lesson']}, which has no such section.",
            f"It has: {', '.join(titles[1:])}.",
            1,
        )
    parts = sections[titles.index(title)].parts
    if not after:
        return titles.index(title), len(parts) - 1, len(parts[-1][1]["source"])
    words = re.compile(r"\s+".join(map(re.escape, after.split())))
    for number, (_, part) in enumerate(parts):
        if part["cell_type"] == "markdown" and (match := words.search(part["source"])):
            end = part["source"].find("\n\n", match.end())
            return titles.index(title), number, end if end >= 0 else len(part["source"])
    raise TitoError(
        f"book/drawings: {name} stands after the words {after!r}, which the section {title!r} of "
        f"the lesson {drawing['lesson']} does not have.",
        "Give words of a paragraph of that section, or none, for the section's end.",
        1,
    )


def _prose(text):
    return {"cell_type": "markdown", "metadata": {}, "source": text}
