"""Format values for the terminal, as rich renderables. Nothing here prints or reads files.

This module has the shared parts: line wrapping, links, Markdown and formulas. `report.py` formats a
tested lesson, `learner.py` the other output for learners, `author.py` the output for authors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.padding import Padding
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table

    from tito.lesson.course import Root

STYLES = {
    "passed": "green",
    "partly right": "yellow",
    "failed": "red",
    "error": "red",
    "timeout": "red",
    "memory": "red",
    "crashed": "red",
    "tampered": "red",
    "not run": "yellow",
    "stub": "cyan",
    "new": "dim",
    "started": "cyan",
    "stale": "yellow",
    "given": "dim",
    "tried": "green",
    "ok": "green",
    "problem": "red",
    "optional": "yellow",
}
WORD = re.compile(r"\s*([^\s`]*`[^`]*`\S*|\S+)")
MOST_LINES = 12  # of the text of a demonstration that a terminal shows
SIGNS = {"cdot": "·", "times": "×", "dots": "…", "ldots": "…", "le": "≤", "ge": "≥", "sum": "Σ"}
SIGNS |= {"partial": "∂", "lambda": "λ", "sigma": "σ", "approx": "≈", "pm": "±", "ne": "≠"}
SIGNS |= {"leftarrow": "←", "infty": "∞", "odot": "⊙", "nabla": "∇", "varepsilon": "ε", "pi": "π"}
SIGNS |= {"alpha": "α", "beta": "β", "epsilon": "ε", "theta": "θ", "kappa": "κ", "mu": "μ"}
ACCENTS = {"hat": "\u0302", "bar": "\u0304", "overline": "\u0304"}  # they follow their letter


def count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def indented(renderable: RenderableType, by: int = 2) -> Padding:
    return Padding(renderable, (0, 0, 0, by), expand=False)


def unbroken(*parts: str | Text | tuple[str, str], indent: int = 0) -> Text:
    """A line with a command or path to copy or click. It is never wrapped here: when a narrow
    terminal wraps it, it can still be copied as one line.
    """
    return Text.assemble(" " * indent, *parts, no_wrap=True, overflow="ignore")


def table(*names: str, **options: Any) -> Table:
    """A table without lines. A narrow terminal wraps long cells, so that no text is lost."""
    from rich.table import Table

    listing = Table(**{"box": None, "padding": (0, 2, 0, 0), "header_style": "dim"} | options)
    for name in names:
        listing.add_column(name, overflow="fold")
    return listing


@dataclass
class Pieces:
    """Pieces of text, separated by spaces. Lines break between pieces, so that a path or a value is
    not split; a piece longer than a line is wrapped at its spaces.
    """

    pieces: list[str | Text]
    indent: int = 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        room = options.max_width - self.indent
        lines: list[Text] = []
        for piece in self.pieces:
            text = piece if isinstance(piece, Text) else Text(piece)
            if lines and lines[-1].cell_len + 1 + text.cell_len <= room:
                lines[-1].append(" ").append(text)
            else:
                lines.append(text.copy())
        for line in lines:
            for part in line.divide(line_ends(line.plain, room)):
                part.rstrip()
                yield unbroken(part, indent=self.indent)


def line_ends(text: str, width: int, indent: int = 0) -> list[int]:
    """The offsets at which to break `text` into lines: at spaces, but not inside a `command`. A
    single long word can therefore be wider than `width`.

    indent  of all lines after the first
    """
    offsets, used = [], 0
    for word in WORD.finditer(text):
        size = cell_len(word.group())
        if used and used + size > width:
            offsets.append(word.start(1))
            size, used = cell_len(word.group(1)), indent
        used += size
    return offsets


def folded(text: str, width: int, indent: int = 0) -> str:
    """`text` wrapped to `width`, with continuation lines indented."""
    lines: list[str] = []
    for line in text.split("\n"):
        offsets = [0, *line_ends(line, width, indent), len(line)]
        parts = [line[start:end].rstrip() for start, end in zip(offsets, offsets[1:])]
        lines += [" " * (indent if n else 0) + part for n, part in enumerate(parts)]
    return "\n".join(lines)


def clipped(text: str, lines: int) -> str:
    """At most so many lines of a text, the first ones and the last ones: a result often comes at
    the end, behind what the learner printed.

    >>> clipped("a\\nb\\nc\\nd\\ne\\nf", 3)
    'a\\nb\\n... 3 more lines ...\\nf'
    """
    rows, last = text.splitlines(), lines // 3
    if len(rows) > lines:
        rows[lines - last : -last] = [f"... {len(rows) - lines} more lines ..."]
    return "\n".join(rows)


def link(root: Root, place: str) -> Text:
    """A place in a file as a link that terminals and editors open: "modules/.../x_dev.py:12"."""
    path = root.path / place.split(":")[0].split(" cell ")[0]
    return Text(place, f"bold link {path.as_uri()}")


def in_book(address: str | None) -> list[Text]:
    """The line with the address of an exercise in the book, or [] without an address."""
    return [unbroken(("in the book: ", "dim"), (address, "bold"))] if address else []


def needed(lesson: str, names: list[str], skippable: bool) -> Pieces:
    """The line about the lessons to write, or to skip where this can be done, before `lesson`."""
    what = f"{names[0]}, which has" if len(names) == 1 else f"{len(names)} lessons that have"
    parts: list[str | Text] = [
        Text.assemble((f"{lesson} needs", "yellow"), f" {what} not passed:"),
        Text.assemble((f"tito start {names[0]}", "bold"), "," * skippable),
    ]
    if skippable:
        parts.append(Text.assemble("or for now ", (f"tito skip {' '.join(names)}", "bold")))
    return Pieces(parts)


def for_a_person(answers: dict[str, bool]) -> str:
    """The questions without checks: "1 question for a person to grade: tensor-why (answered)".

    answers  {id of a question: whether an answer is written}
    """
    words = {True: "answered", False: "not answered"}
    names = (f"{name} ({words[written]})" for name, written in answers.items())
    return f"{count(len(answers), 'question')} for a person to grade: {', '.join(names)}"


def plain(markdown: str) -> str:
    """Convert Markdown to plain text: each paragraph on one line, formulas without dollar signs and
    with characters such as σ for TeX commands.
    """
    parts: list[str] = []
    fenced = False
    for line in markdown.split("\n"):
        fenced ^= line.startswith("```")
        if line.startswith("```"):
            parts.append("")
        elif fenced or not line or not parts or not parts[-1]:
            parts.append(line)
        else:
            parts[-1] += f" {line.strip()}"
    text = "\n".join(parts)
    return re.sub(r"\$+([^$]+)\$+", lambda match: formula(match[1]), text).strip()


def formula(tex: str) -> str:
    """Convert a TeX formula to plain text: `\\frac{1}{2\\sqrt{a}}` is 1 / (2√a)."""

    def operand(text: str) -> str:
        return text if re.fullmatch(r"-?[\w.]+", text) else f"({text})"

    accented = re.compile(rf"\\({'|'.join(ACCENTS)})[ {{]?(\w)}}?")
    tex = accented.sub(lambda match: match[2] + ACCENTS[match[1]], tex)
    tex = re.sub(r"\\([A-Za-z]+)", lambda match: SIGNS.get(match[1], match[0]), tex)
    tex = re.sub(r"\\(?:mathrm|text|mathbf|operatorname){([^{}]*)}", r"\1", tex)
    tex = re.sub(r"\\sqrt{([^{}]*)}", lambda match: f"√{operand(match[1])}", tex)
    tex = re.sub(r"\\frac{([^{}]*)}{([^{}]*)}", lambda m: f"{operand(m[1])} / {operand(m[2])}", tex)
    tex = re.sub(r"([_^]){([^{}]*)}", lambda m: m[1] + operand(m[2]), tex)
    tex = re.sub(r"\\[,;! ]", " ", tex)
    return re.sub(r"\\([A-Za-z]+)", r"\1", tex)
