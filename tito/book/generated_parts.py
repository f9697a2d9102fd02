"""The generated parts of the book's pages, each in the place of a line `<!-- made: NAME -->`.

lessons   the lessons and milestones in a table, and in the site's contents, which are lines
          `<!-- contents TITLE: pages -->` of the first page; `lessons NAME`: those from that
          lesson to the next such line, a phase named by the heading above
hours     how long the first track takes, and all lessons
get       how to get the course: a zip, its repository, whatever there is
commands  every command, from tito itself
glossary  the terms that the lessons introduce, with an index of where they are used
tracks    the course's tracks, with their exercises, from tracks.toml
pytorch   PyTorch's names beside those of this course, from the lessons' headers
any other name is a drawing without a lesson (see tito/page/drawings.py), or a program of the
          course, `book/NAME.py`, which prints its part with the course's package at hand, and what
          the milestones printed in the file milestones.json
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tito.book import execute, pages
from tito.errors import WorkError
from tito.learn import milestone
from tito.lesson import glossary, site_settings
from tito.lesson.course import Entry, Root
from tito.lesson.glossary import Term
from tito.page.drawings import escaped
from tito.page.lesson import addresses

MARK = re.compile(r"^<!-- made: (\w+)(?: (\w+))? -->")

Command = tuple[str, str, Any]  # (who it is for, "tito book build", click's command)


@dataclass
class Parts:
    """The data from which the parts are generated.

    package   the folder with the course's package
    drawings  {name: HTML} of those without a lesson
    archive   the zip of the released course in the site, "" without one
    """

    root: Root
    package: Path
    commands: Sequence[Command] = ()
    drawings: dict[str, str] = field(default_factory=dict)
    archive: str = ""

    def fill(self, page: str, text: str) -> str:
        """The page's text with its parts in place."""
        return "\n".join(made for _, made in self.rows(page, text))

    def rows(self, page: str, text: str) -> Iterator[tuple[int, str]]:
        """(number of a line, its text or the part in its place) of a page."""
        for number, row in enumerate(text.split("\n"), 1):
            match = MARK.fullmatch(row)
            yield number, self.part(page, text, *match.groups()) if match else row

    def part(self, page: str, text: str, name: str, lesson: str | None) -> str:
        if name == "lessons":
            if not lesson:
                return lessons_part(self.root.lessons, self.root, "Lessons")
            found = phases(self.root, text)
            title, entries = next(one for one in found if one[1][0].name == lesson)
            return lessons_part(entries, self.root, title)
        if name == "hours":
            return hours_part(self.root)
        if name == "get":
            return self.ways_to_get()
        if name == "commands":
            return commands_part(self.commands)
        if name == "glossary":
            return glossary_part(self.root)
        if name == "pytorch":
            return pytorch_part(self.root)
        if name == "tracks":
            return tracks_part(self.root)
        return self.drawings.get(name) or self.printed(page, name)

    def ways_to_get(self) -> str:
        """A list of links and commands; what does not exist is not in it."""
        entry, settings = self.root.lessons[0], site_settings.read(self.root.path)
        ways = ["In a clone of the course with its solutions, `bin/tito init ../FOLDER` makes it."]
        if settings.release:
            binder = settings.binder(entry.relative(entry.notebook))
            ways.insert(0, f"In the browser, for one session: [Binder]({binder})")
            ways.insert(0, f"With Git: `git clone {settings.release}`")
        if self.archive:
            ways.insert(0, f'As a zip, to unpack: <a href="{self.archive}">{self.archive}</a>')
        return "\n".join(f"- {way}" for way in ways)

    def printed(self, page: str, name: str) -> str:
        """What the course's program `book/NAME.py` prints."""
        program = self.root.path / "book" / f"{name}.py"
        if not program.exists():
            raise WorkError(
                f"book/{page}: there is no made part {name!r}.",
                "There are lessons, hours, get, commands, glossary, pytorch, drawings "
                f"without a lesson, and the programs book/*.py; book/{name}.py is none.",
            )
        return execute.output_of(program, self.package, f"It generates a part of book/{page}")


def plain_index(root: Root) -> str:
    """The first page of a course without `book/index.md`."""
    return f"# {root.name}\n\n<!-- made: lessons -->\n"


def phases(root: Root, text: str) -> list[tuple[str, list[Entry]]]:
    """[(title, its lessons)] of the phases of a page."""
    starts = [
        (match[1], root.lesson(match[2]).number)
        for match in re.finditer(r"^#+ ([^\n]+)\n[^#]*?<!-- made: lessons (\w+) -->$", text, re.M)
    ]
    ends = [number for _, number in starts[1:]] + [max(e.number for e in root.lessons) + 1]
    return [
        (title, [entry for entry in root.lessons if start <= entry.number < end])
        for (title, start), end in zip(starts, ends, strict=True)
    ]


def lessons_part(entries: Sequence[Entry], root: Root, caption: str) -> str:
    """These lessons, and each milestone after the last lesson it needs: the order to read them."""
    parts = []  # (number of the lesson, number of the milestone after it, page, row)
    for entry in entries:
        meta = entry.declared.meta
        row = (
            f"| [{entry.number:02}. {meta['title']}](lessons/{entry.folder}.html) | "
            f"{escaped(meta['summary'].rstrip('.'))} | {meta['hours']:g} |"
        )
        parts.append((entry.number, 0, f"lessons/{entry.folder}", row))
    numbers = {entry.number for entry in entries}
    for program in milestone.milestones(root):
        summary = " ".join(pages.summary_of(program).partition("\n\n")[0].split())
        page = f"milestones/{program.path.stem}"
        title = f"{program.year}. {escaped(program.title)}"
        row = f"| [{title}]({page}.html) | {escaped(summary.rstrip('.'))} | |"
        last = max((root.lesson(name).number for name in program.needs), default=0)
        if last in numbers:
            parts.append((last, program.number, page, row))
    parts.sort()
    rows = "\n".join(row for *_, row in parts)
    hours = sum(entry.declared.meta["hours"] for entry in entries)
    return (
        f"| lesson | what it is about | {hours:g} hours |\n| --- | --- | ---: |\n{rows}\n\n"
        + f"<!-- contents {caption}: {' '.join(page for *_, page, _ in parts)} -->"
    )


def hours_part(root: Root) -> str:
    whole = sum(entry.declared.meta["hours"] for entry in root.lessons)
    if not (first := next(iter(root.all_tracks.values()), None)):
        return f"All lessons take about **{whole:g} hours**."
    return (
        f"The shorter way, the [track](tracks.md) *{escaped(first.title)}*, takes about "
        f"**{first.hours:g} hours**; all lessons take about {whole:g}."
    )


def tracks_part(root: Root) -> str:
    """A section for each track: its size, and a list of its exercises, by lessons."""
    parts = []
    for one in root.all_tracks.values():
        ids, hours = root.ids_on(one), f"about {one.hours:g} hours"
        parts += [f"## {escaped(one.title)}", f"`--track {one.name}`: {len(ids)} tasks, {hours}."]
        for entry in root.lessons:
            names = [name for name in entry.declared.tasks if f"{entry.name}-{name}" in ids]
            title = f"{entry.number:02}. {escaped(entry.declared.title)}"
            link = f"- [{title}](lessons/{entry.folder}.html): "
            parts += [link + " ".join(f"`{name}`" for name in names)] * bool(names)
    return "\n\n".join(parts)


# Terms, and PyTorch's names.


def glossary_part(root: Root) -> str:
    """Every term: the sentence that explains it, its place, where else the term is used."""
    links = _TermLinks(root)
    groups = itertools.groupby(glossary.read_terms(root), key=lambda term: term.term[0].upper())
    parts = [
        text for letter, terms in groups for text in (f"## {letter}", *map(links.definition, terms))
    ]
    return "\n\n".join(parts)


class _TermLinks:
    """Links from the glossary to the lessons' headings."""

    def __init__(self, root: Root) -> None:
        self.entries = {entry.name: entry for entry in root.lessons}
        self.addresses = {entry.name: addresses(entry) for entry in root.lessons}

    def link(self, text: str, lesson: str, heading: str) -> str:
        page = f"lessons/{self.entries[lesson].folder}.html"
        return f"[{text}]({self.addresses[lesson].get(heading, page)})"

    def definition(self, term: Term) -> str:
        places = self.link(f"{term.number:02}. {term.title}", term.lesson, term.section)
        if term.used:
            later = (
                self.link(f"{self.entries[name].number:02}", name, heading)
                for name, heading in term.used.items()
            )
            places += f"; used in {', '.join(later)}"
        if term.pytorch:
            places += f"; in PyTorch `{term.pytorch}`"
        if term.synonyms:
            places += f"; also: {', '.join(term.synonyms)}"
        return f"**{term.term}**\n: {term.sentence}\n\n  {places}"


def pytorch_part(root: Root) -> str:
    """For each lesson a table: the names here, and the names in PyTorch."""
    parts = []
    for entry in root.lessons:
        meta = entry.declared.meta
        rows = [
            f"| `{root.package}.{here}` | `{there}` |"
            for here, there in meta.get("pytorch", {}).items()
            if here not in meta["terms"]
        ]
        if rows:
            title = f"{entry.number:02}. {meta['title']}"
            parts.append(f"### [{title}](lessons/{entry.folder}.html)")
            parts.append("\n".join(["| here | in PyTorch |", "| --- | --- |", *rows]))
    return "\n\n".join(parts)


# Commands.


def commands_part(commands: Sequence[Command]) -> str:
    """Every command, from its `--help`: for whom, what it does, its words, an example."""
    parts = []
    for audience, group in itertools.groupby(commands, key=lambda one: one[0]):
        parts += [f"## {audience}", *(_command(words, one) for _, words, one in group)]
    return "\n\n".join(parts)


def _command(words: str, command: Any) -> str:
    text, _, example = _one_line(command.help).partition("Example: ")
    if match := re.match(r"For (?:authors|instructors): (.)(.*)", text):
        text = match[1].upper() + match[2]
    parts = [f"### {words}", escaped(text.strip())]
    if example:
        parts.append(f"```sh\n{example}\n```")
    rows = [
        f"| `{_name(parameter)}` | {escaped(_one_line(parameter.help))} |"
        for parameter in command.params
    ]
    if rows:
        parts.append("\n".join(["| word | what it says |", "| --- | --- |", *rows]))
    return "\n\n".join(parts)


def _name(parameter: Any) -> str:
    """A parameter as one types it: "--jobs N"; a switch without a value."""
    value = "" if getattr(parameter, "is_flag", False) else parameter.make_metavar(None)
    value = re.sub(r"<\w+ range>", "NUMBER", value)
    value = re.sub(r"<(\w+)>", lambda match: match[1].upper(), value).replace("|", "\\|")
    if parameter.param_type_name == "argument":
        return value
    return f"{', '.join([*parameter.opts, *parameter.secondary_opts])} {value}".strip()


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())
