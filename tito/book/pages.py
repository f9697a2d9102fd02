"""The pages of the site, as parts: those of lessons, of milestones, and the course's own."""

import ast
import html
import itertools
import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tito.book.execute import place_of_milestone
from tito.learn import milestone
from tito.learn.milestone import Milestone
from tito.lesson.course import Entry, Root
from tito.lesson.glossary import TermLinks
from tito.page import drawings
from tito.page.lesson import (
    Builder,
    addresses,
    link_references,
    link_terms,
    mark_terms,
    term_id,
)
from tito.page.parts import Outputs, Part, Section, prose
from tito.page.prose import slug_of
from tito.page.render import picture_first


@dataclass
class SitePage:
    """A page of the site.

    path   in the site, without its ending
    place  the file that it is made from, for messages
    home   of a page of sections: the path of its lesson's first page
    lines  of its file, of each line of its text, where they differ
    marks  {a mark in its prose: the HTML that takes its place}
    """

    path: str
    place: str
    parts: list[Part] = field(default_factory=list)
    home: str = ""
    lines: list[int] = field(default_factory=list)
    marks: dict[str, str] = field(default_factory=dict)

    def line(self, number: int) -> str:
        """A line of its text, for messages."""
        return f"{self.place}:{self.lines[number - 1] if self.lines else number}"


def of_text(path: str, place: str, rows: Sequence[tuple[int, str]]) -> SitePage:
    """A page of the course's own: [(the line that it is from, text)]."""
    lines = [number for number, row in rows for _ in row.split("\n")]
    return SitePage(path, place, [prose(1, "\n".join(row for _, row in rows))], lines=lines)


def of_lesson(
    entry: Entry,
    outputs: dict[str, Outputs],
    links: Sequence[tuple[str, str]],
    figures: Sequence[drawings.Figure] = (),
) -> list[SitePage]:
    """The lesson's pages: the first, with what comes before its first section and a list of what
    follows, and the others.

    outputs  {number of a cell, as a string: its outputs}; empty for a page without them
    links    [(words, address)] for the card below the opening: where to get or open the lesson
    figures  the lesson's drawings
    """
    sections = Builder(entry, outputs).build()
    drawings.place(sections, figures)
    marks = mark_terms(entry.declared, sections)
    home = f"lessons/{entry.folder}"
    lessons = {f"{o.number:02}": f"lessons/{o.folder}.html" for o in entry.root.lessons}
    link_references(entry, sections, lessons, addresses(entry) | {"": f"{home}.html"})

    def place(other: Entry, heading: str, term: str) -> str:
        page = addresses(other).get(heading, f"lessons/{other.folder}.html")
        return f"{page.partition('#')[0]}#{term_id(term)}"

    marks |= link_terms(sections, TermLinks(entry, place))
    opening = sections[0].parts
    picture_first(opening)
    end = (card(entry, links), _contents(entry, sections))
    opening += [prose(0, text) for text in end if text]
    pages = {}
    for section in sections:
        if section.path not in pages:
            above = home if section.path != home else ""
            page = SitePage(section.path, entry.relative(entry.script), [], above, [], marks)
            page.parts += [prose(0, f"# {section.page}")] * bool(section.page)
            pages[section.path] = page
        pages[section.path].parts += section.parts
    return [*pages.values()]


def _contents(entry: Entry, sections: list[Section]) -> str:
    """The end of a lesson's first page: the other pages with their sections and exercises. An
    exercise has here the same address as on its page.
    """
    rows: dict[str, str] = {}
    numbers = itertools.count(1)
    for path, inside in itertools.groupby(enumerate(sections), lambda numbered: numbered[1].path):
        title, below = "", []
        for number, section in inside:
            title = title or section.page or section.title
            if section.page:
                words = f"{entry.number}.{number} {section.title}"
                below.append(("", slug_of(section.title), _plain(words)))
            for exercise in map(entry.declared.exercise, section.exercises):
                words = f"Exercise {entry.number}.{next(numbers)}. {exercise.title}"
                below.append((exercise.id, exercise.id, _plain(words)))
        there = posixpath.relpath(path, "lessons")
        rows[there] = _row(there, _plain(title), below)
    rows.pop(entry.folder)
    if not rows:
        return ""
    listed = "\n".join(rows.values())
    return f'## Sections and exercises\n\n<ol class="lesson-contents">\n{listed}\n</ol>'


def _plain(title: str) -> str:
    return html.escape(re.sub(r"[*`$]", "", title))


def _row(path: str, title: str, below: list[tuple[str, str, str]]) -> str:
    """A page in a list of contents, with [(id here or "", address on the page, title)] of its
    parts. With ids, addresses of the whole page still work.
    """
    listed = "".join(
        f'<li id="{id_}">'.replace(' id=""', "") + f'<a href="{path}.html#{there}">{words}</a></li>'
        for id_, there, words in below
    )
    row = f'<a class="section-link" href="{path}.html">{title}</a>'
    return f"<li>{row}{f'<ul>{listed}</ul>' if listed else ''}</li>"


def card(entry: Entry, links: Sequence[tuple[str, str]] = ()) -> str:
    """The card below a lesson's opening: difficulty, hours, prerequisites, what follows, links."""
    lesson, meta = entry.declared, entry.declared.meta
    exercises = (
        f"{len(lesson.exercises)} exercise{'s' * (len(lesson.exercises) != 1)}, "
        f"{sum(check.points for check in lesson.checks if not check.hidden)} points"
    )
    rows = [
        ("Difficulty", f"{meta['difficulty']} of 5"),
        ("Time", f"about {lesson.duration()}"),
        ("To write", exercises),
        ("Needs", _links_to_lessons(entry.root, meta["prerequisites"]) or "no other lesson"),
        ("Next", _links_to_lessons(entry.root, meta["enables"])),
        ("Begin", f"`tito start {entry.name}`"),
        ("Open", ", ".join(f"[{words}]({address})" for words, address in links)),
    ]
    return _card(f"{meta['summary'].rstrip('.')}.", rows)


def _card(summary: str, rows: list[tuple[str, str]]) -> str:
    listed = "\n".join(f"- **{name}** {value}" for name, value in rows if value)
    return f"::: lesson-card\n{summary}\n\n{listed}\n:::"


def _links_to_lessons(root: Root, names: Sequence[str]) -> str:
    entries = {other.name: other for other in root.lessons}
    return ", ".join(
        f"[{entries[name].declared.title}](../lessons/{entries[name].folder}.html)"
        for name in names
        if name in entries
    )


# A milestone.


def of_milestone(root: Root, entry: Milestone, outputs: dict[str, Any]) -> SitePage:
    """The page of a milestone: what it is about, what it reaches, its program.

    outputs  {"measured": [[name, number], ...], "printed": outputs, "drawn": outputs};
             empty for a page without them
    """
    text = entry.path.read_text(encoding="utf-8")
    summary, _, more = summary_of(entry).partition("\n\n")
    rows = [
        ("Needs", _links_to_lessons(root, entry.needs)),
        ("To reach", ", ".join(f"{name} {text}" for name, text in entry.goals().items())),
        ("Downloads", entry.downloads),
        ("Run it", f"`tito milestone run {entry.name}`"),
        ("Options", f"`tito milestone run {entry.name} --help`" * entry.options),
    ]
    parts = [
        prose(1, f"# {entry.year}. {entry.title}"),
        prose(1, _card(" ".join(summary.split()), rows)),
        prose(summary.count("\n") + 3, more),
    ]
    if outputs:
        parts.append(prose(1, _reached(entry, outputs["measured"])))
        if drawn := outputs["drawn"]:
            parts.append(Part("code", "run(seed=0)", hidden=True, outputs=drawn, alt=entry.alt))
    body = milestone.BLOCK.split(text, maxsplit=1)[-1].strip("\n")
    line = text.count("\n", 0, text.index(body)) + 1
    parts.append(prose(1, "## The program"))
    printed = outputs.get("printed", [])
    parts.append(Part("code", body, line, outputs=printed, answer="What it prints"))
    imported = ", ".join(
        f"`{path.name}`"
        for path in sorted(entry.path.parent.glob("*.py"))
        if re.search(rf"^(?:from|import) {path.stem}\b", body, re.M)
    )
    parts.append(prose(1, f"It imports {imported} from `modules/milestones`." * bool(imported)))
    parts = [part for part in parts if part.source]
    return SitePage(f"milestones/{entry.path.stem}", place_of_milestone(entry), parts)


def summary_of(program: Milestone) -> str:
    """The docstring of a milestone, without the year."""
    about = ast.get_docstring(ast.parse(program.path.read_text(encoding="utf-8"))) or ""
    about = about.removeprefix(f"{program.year}:").lstrip()
    return about[:1].upper() + about[1:]


def _reached(program: Milestone, measured: list[tuple[str, float]]) -> str:
    goals = program.goals()
    rows = [
        f"| {name} | {text} | {goals.get(name, '')} |"
        for name, text in program.figures(dict(measured)).items()
    ]
    return (
        "## What it reaches\n\nWith the course's own lessons and seed 0:\n\n"
        "| | measured | to reach |\n| --- | ---: | ---: |\n" + "\n".join(rows)
    )
