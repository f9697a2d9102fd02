"""What a page consists of, before it is HTML or a PDF: its parts, each with the line it is from."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STATIC = Path(__file__).with_name("static")
Outputs = list[dict[str, Any]]  # of a cell, as in a notebook


@dataclass
class Part:
    """A part of a page.

    kind         "prose": Markdown; "html"; "code"; "exercise": the head of a box, as Markdown;
                 "box": its class; "end" of a box; "hints", one after the other
    line         of the file that it is from
    name         of an exercise: its id
    state        of an exercise in the page of a learner: the class of its box, and in words
    folded       the text to unfold the code with, "" for code that is not folded
    answer       the text to unfold what the code shows with
    is_open      whether the answer is unfolded already
    outputs      what the code shows
    alt, caption of its picture
    explanation  the paragraph that explains the answer
    hidden       whether only the outputs are shown
    """

    kind: str
    source: str
    line: int = 0
    name: str = ""
    state: tuple[str, str] = ("", "")
    folded: str = ""
    answer: str = ""
    is_open: bool = False
    outputs: Outputs = field(default_factory=list)
    alt: str = ""
    caption: str = ""
    explanation: "Part | None" = None
    hidden: bool = False
    hints: tuple[str, ...] = ()


def prose(line: int, text: str) -> Part:
    return Part("prose", text, line)


@dataclass
class Section:
    """A section of a lesson: from one `##` to the next.

    title   its heading, "" of the opening
    path    of its page in the site, without its ending
    page    the title of that page, "" where it is the section's own
    folded  the text to unfold it with, in the page of a learner
    """

    title: str
    path: str
    page: str = ""
    folded: str = ""
    parts: list[Part] = field(default_factory=list)
    exercises: list[str] = field(default_factory=list)


def texts(sections: Iterable[Section]) -> Iterator[Part]:
    """All prose, with the explanations of answers."""
    for section in sections:
        for part in section.parts:
            if part.kind == "prose":
                yield part
            if part.explanation:
                yield part.explanation
