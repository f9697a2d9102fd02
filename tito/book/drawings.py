"""The course's drawings that can be touched. `python book/drawings` prints them as JSON, with the
course's package at hand: a list of

    {"name", "lesson", "section", "after", "replaces", "html"}

One with a lesson is put into that section of its pages, behind the paragraph that contains the
words `after`, or at the section's end; one without is a made part of a page, `<!-- made: NAME -->`.
One with `replaces` is shown instead of the picture of the cell that contains these words, which
stays in the notebook: it stands there, or, with `after`, behind that paragraph.
"""

import itertools
import json
import re

from tito.book import execute
from tito.errors import WorkError

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
            raise WorkError(
                f"book/drawings: {drawing['name']} is for the lesson {drawing['lesson']!r}, which "
                "this course does not have.",
                f"There are: {', '.join(names)}.",
            )
    return found


def place(entry, sections, drawings):
    """Put drawings into the sections of a lesson's pages.

    sections  the lesson's pages, each with `title` and `parts`
    drawings  those of this lesson
    """
    places = sorted(
        (_find(sections, drawing) + (drawing,) for drawing in drawings), key=lambda one: one[:3]
    )
    for section, part, end, drawing in reversed(places):
        parts, shown = sections[section].parts, _prose(drawing["html"])
        line, above = parts[part]
        if above["cell_type"] == "code":
            parts.insert(part + 1, (line, shown))
            continue
        text = above["source"]
        below = (line + text.count("\n", 0, end) + 1, _prose(text[end:].strip("\n")))
        kept = [(line, above | {"source": text[:end]}), (line, shown), below]
        parts[part : part + 1] = [one for one in kept if one[1]["source"]]


def number_figures(number, parts):
    """Number what has a caption, drawings and pictures alike, in their order: "Figure 5.1". The
    caption of a picture is what it shows, in words.

    number  of the lesson, or the year of a milestone; None on another page: "Figure 1"
    parts   [(line, cell)] of all pages of the lesson
    """
    counts = itertools.count(1)

    def name():
        return f"Figure {next(counts)}." if number is None else f"Figure {number}.{next(counts)}."

    for _, part in parts:
        if part["cell_type"] != "code":
            part["source"] = re.sub(NUMBER, lambda _: f"<b>{name()}</b> ", part["source"])
        elif alt := part["metadata"].get("mystnb", {}).get("image", {}).get("alt"):
            caption = f"**{name()}** {escaped(' '.join(alt.split()))}"
            part["metadata"]["mystnb"]["figure"] = {"caption": caption}


def escaped(text):
    """Plain text as Markdown: what stands between backticks stays, the rest means nothing
    special.
    """
    parts = text.split("`")
    return "`".join(
        part if number % 2 else re.sub(r"([\\*_<>$|\[\]#])", r"\\\1", part)
        for number, part in enumerate(parts)
    )


def _find(sections, drawing):
    """(section, part, end of the paragraph in it) after which a drawing stands."""
    name, title, after = drawing["name"], drawing["section"], drawing["after"]
    titles = [section.title for section in sections]
    if not title or title not in titles:
        raise WorkError(
            f"book/drawings: {name} is for the section {title!r} of the lesson "
            f"{drawing['lesson']}, which has no such section.",
            f"It has: {', '.join(titles[1:])}.",
        )
    parts = sections[titles.index(title)].parts
    if replaced := drawing.get("replaces"):
        place = _without_picture(parts, replaced, drawing)
        if not after:
            return titles.index(title), place, 0
    if not after:
        return titles.index(title), len(parts) - 1, len(parts[-1][1]["source"])
    words = re.compile(r"\s+".join(map(re.escape, after.split())))
    for number, (_, part) in enumerate(parts):
        if part["cell_type"] == "markdown" and (match := words.search(part["source"])):
            end = part["source"].find("\n\n", match.end())
            return titles.index(title), number, end if end >= 0 else len(part["source"])
    raise WorkError(
        f"book/drawings: {name} stands after the words {after!r}, which the section {title!r} of "
        f"the lesson {drawing['lesson']} does not have.",
        "Give words of a paragraph of that section, or none, for the section's end.",
    )


def _without_picture(parts, words, drawing):
    """Take the picture out of the cell that contains these words; returns its place in `parts`."""
    for number, (_, part) in enumerate(parts):
        if part["cell_type"] == "code" and words in part["source"]:
            part["metadata"].get("mystnb", {}).pop("image", None)
            part["outputs"] = [
                one
                for one in part["outputs"]
                if not set(execute.PICTURES) & set(one.get("data", {}))
            ]
            return number
    raise WorkError(
        f"book/drawings: {drawing['name']} replaces the picture of a cell with {words!r}, which "
        f"the section {drawing['section']!r} of the lesson {drawing['lesson']} does not have.",
        "Give words of the code that draws the picture.",
    )


def _prose(text):
    return {"cell_type": "markdown", "metadata": {}, "source": text}
