"""How values look in a terminal: values in, rich renderables out. Nothing here prints, reads or
decides.

This file holds pieces for all: lines that fold at the right places, links, Markdown and formulas.
`report.py` shows a tested lesson, `learner.py` what else a learner's commands show, `author.py` an
author's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.padding import Padding
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

    from tito.lesson.course import Root

STYLES = {
    "passed": "green",
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
    "skipped": "magenta",
    "not counted": "magenta",
    "tried": "green",
    "ok": "green",
    "problem": "red",
    "optional": "yellow",
}
WORD = re.compile(r"\s*([^\s`]*`[^`]*`\S*|\S+)")
SIGNS = {"cdot": "·", "times": "×", "dots": "…", "ldots": "…", "le": "≤", "ge": "≥", "sum": "Σ"}
SIGNS |= {"partial": "∂", "lambda": "λ", "sigma": "σ", "approx": "≈"}


def count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def indented(renderable: RenderableType, by: int = 2) -> Padding:
    return Padding(renderable, (0, 0, 0, by), expand=False)


def unbroken(*parts: str | Text | tuple[str, str], indent: int = 0) -> Text:
    """A line with something to copy or click: never folded by us, so that a narrow
    terminal's own folding keeps it whole.
    """
    return Text.assemble(" " * indent, *parts, no_wrap=True, overflow="ignore")


@dataclass
class Pieces:
    """Pieces of text, a space between: as many on a line as fit, so that a path or a value stays
    whole. One that is too long is folded at its spaces.
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
    """Where to end the lines of `text`, as offsets: at spaces, never inside a word, a path or a
    `command`; so a line can be wider than `width`.

    indent  of all lines but the first
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
    """`text` as lines of `width`, those that go on with a long one indented."""
    lines: list[str] = []
    for line in text.split("\n"):
        offsets = [0, *line_ends(line, width, indent), len(line)]
        parts = [line[start:end].rstrip() for start, end in zip(offsets, offsets[1:])]
        lines += [" " * (indent if n else 0) + part for n, part in enumerate(parts)]
    return "\n".join(lines)


def clipped(text: str, lines: int) -> str:
    rows = text.splitlines()
    more = f"\n... {len(rows) - lines} lines more" if len(rows) > lines else ""
    return "\n".join(rows[:lines]) + more


def link(root: Root, place: str) -> Text:
    """A place in a file as a link that terminals and editors open: "modules/.../x_dev.py:12"."""
    path = root.path / place.split(":")[0].split(" cell ")[0]
    return Text(place, f"bold link {path.as_uri()}")


def in_book(address: str | None) -> list[Text]:
    """The line that says where an exercise is in the book; none without an address."""
    return [unbroken(("in the book: ", "dim"), (address, "bold"))] if address else []


def for_a_person(answers: dict[str, bool]) -> str:
    """What no check judges: "1 answer is for a person to judge: why-softmax (written)".

    answers  {question: whether an answer is written}
    """
    be = "is" if len(answers) == 1 else "are"
    names = (f"{name} ({'written' if is_ else 'empty'})" for name, is_ in answers.items())
    return f"{count(len(answers), 'answer')} {be} for a person to judge: {', '.join(names)}"


def plain(markdown: str) -> str:
    """Markdown as it reads in a terminal: a paragraph on one line, formulas without their dollars,
    and with the signs that TeX's words stand for.
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
    """A formula's TeX as one types it: `\\frac{1}{2\\sqrt{a}}` is 1 / (2√a)."""

    def operand(text: str) -> str:
        return text if re.fullmatch(r"-?[\w.]+", text) else f"({text})"

    tex = re.sub(r"\\([A-Za-z]+)", lambda match: SIGNS.get(match[1], match[0]), tex)
    tex = re.sub(r"\\(?:mathrm|text|mathbf|operatorname){([^{}]*)}", r"\1", tex)
    tex = re.sub(r"\\sqrt{([^{}]*)}", lambda match: f"√{operand(match[1])}", tex)
    tex = re.sub(r"\\frac{([^{}]*)}{([^{}]*)}", lambda m: f"{operand(m[1])} / {operand(m[2])}", tex)
    tex = re.sub(r"([_^]){([^{}]*)}", lambda m: m[1] + operand(m[2]), tex)
    tex = re.sub(r"\\[,;! ]", " ", tex)
    return re.sub(r"\\([A-Za-z]+)", r"\1", tex)
