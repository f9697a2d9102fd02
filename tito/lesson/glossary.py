"""The course's vocabulary: what each term means, where it is explained, what PyTorch calls it.

A lesson lists its terms in its lesson.toml and sets each in bold or italics once, in the sentence
that explains it. That sentence is the term's entry in the book's glossary and what `tito word`
prints; nothing is written a second time. The file also has PyTorch's names, under `pytorch`.
"""

import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from tito.errors import UsageError, suggest
from tito.lesson.cells import Source
from tito.lesson.course import Entry, Root
from tito.lesson.lesson_format import ANSWER

HEADING = re.compile(r"^(#+) +(.+)$", re.M)
SENTENCE = re.compile(r"(?<=[.!?:])(?:\*{1,2})? +(?=[A-Z`*$\[(])")
# Code, links, tags, formulas and headings in Markdown.
NO_PROSE = r"```.*?```|`[^`]*`|\[[^\]]*\]\([^)]*\)|<[^>]*>|\$[^$]*\$|^#.*?$"
NEEDS = "**You "  # begin the paragraph of prerequisites and exercises, which explains no terms
ABBREVIATIONS = re.compile(r"\b(?:e\.g|i\.e|cf|vs|etc|fig|sec|eq)\.$", re.I)


@dataclass
class ChapterSection:
    """A part of a chapter that an index can point to: its heading, and its prose in paragraphs."""

    heading: str
    paragraphs: list[str] = field(default_factory=list)

    @cached_property
    def lowered(self) -> str:
        """All of it in lower case: looking for a word here first is much faster than a pattern."""
        return "\n".join(self.paragraphs).lower()

    def texts_with(self, term: str) -> list[str]:
        """The paragraphs that may have the term: none if the section lacks its first word."""
        return self.paragraphs if term.lower().split()[0] in self.lowered else []


@dataclass
class Term:
    """A term of the course.

    term      as the lesson.toml lists it
    sentence  the sentence that explains it, in Markdown
    lesson    the name of the lesson that introduces it; number and title are that lesson's
    section   the heading it is explained under
    pytorch   what PyTorch calls it, or ""
    synonyms  what learners call it, or type when they look for it
    used      {name of a later lesson: the first heading there under which the term is used}
    """

    term: str
    sentence: str
    lesson: str
    number: int
    title: str
    section: str
    pytorch: str
    synonyms: list[str]
    used: dict[str, str]


def read_terms(root: Root) -> list[Term]:
    """Every term of the course's lessons, in the order of the alphabet."""
    chapters = [(entry, sections(entry.declared.source)) for entry in root.lessons]
    terms = []
    for entry, parts in chapters:
        meta = entry.declared.meta
        for term in meta["terms"]:
            section, sentence = explanation(term, parts) or ("", "")
            later = (
                (other.name, first_mention(term, parts))
                for other, parts in chapters
                if other.number > entry.number
            )
            terms.append(
                Term(
                    term,
                    sentence,
                    entry.name,
                    entry.number,
                    meta["title"],
                    section,
                    meta.get("pytorch", {}).get(term, ""),
                    meta.get("synonyms", {}).get(term, []),
                    {name: heading for name, heading in later if heading},
                )
            )
    return sorted(terms, key=lambda term: (term.term.lower(), term.number))


class TermLinks:
    """Links each term of an earlier lesson, where this one first uses it, to where it is explained.
    The link's title is the explanation.

    place  gives the address of a term that a lesson explains under a heading; "" for none
    marks  {mark in the prose: the HTML that takes its place}
    """

    def __init__(self, entry: Entry, place: Callable[[Entry, str, str], str]) -> None:
        self.place, self.marks = place, {"\ue001": "</a>"}
        self.terms: dict[str, tuple[Entry, str, str, str]] = {}
        for other in (one for one in entry.root.lessons if one.number < entry.number):
            for term, explained in _explanations(other):
                self.terms.setdefault(_key(term), (other, term, *explained))
        longest_first = sorted(self.terms, key=len, reverse=True)
        names = "|".join(map(pattern, longest_first)) or "(?!)"
        self.named = re.compile(
            rf"{NO_PROSE}|(?<![\w-])(?P<term>(?i:{names}))(?![\w-])", re.M | re.S
        )

    def linked(self, text: str, relative: Callable[[str], str]) -> str:
        """A text with marks around the terms; `relative` gives an address from its page."""

        def link(match: re.Match[str]) -> str:
            name = _key(match["term"] or "")
            name = next((n for n in (name, name[:-1], name[:-2]) if n in self.terms), "")
            if not name:
                return match[0]
            lesson, term, heading, sentence = self.terms.pop(name)
            address = relative(self.place(lesson, heading, term))
            leads = f'href="{address}"' if address else 'tabindex="0"'
            title, mark = re.sub(r"[*`$\\]", "", sentence), f"\ue000t{len(self.marks)}."
            self.marks[mark] = f'<a class="term" {leads} title="{html.escape(title)}">'
            return f"{mark}{match[0]}\ue001"

        return self.named.sub(link, text)


@lru_cache(64)
def _explanations(entry: Entry) -> list[tuple[str, tuple[str, str]]]:
    parts = sections(entry.declared.source)
    found = ((term, explanation(term, parts)) for term in entry.declared.meta["terms"])
    return [(term, explained) for term, explained in found if explained]


def _key(term: str) -> str:
    return re.sub(r"[\s-]+", " ", term.strip("`").lower())


def find_terms(terms: list[Term], word: str) -> list[Term]:
    """The terms of a name, in any case, in the singular or the plural: one, or several such as the
    stride of an array and the stride of a convolution. Else the terms of a synonym; else, of a part
    of a name, such as "roofline" for "roofline model", the terms with this word, if at most three.

    Raises TitoError, with the nearest terms, when the course has none of that name.
    """
    by_name: dict[str, list[Term]] = {}
    for term in terms:
        by_name.setdefault(term.term.lower(), []).append(term)
    key = " ".join(word.lower().split())
    for name in (key, key.removesuffix("s"), key.removesuffix("es"), f"{key}s"):
        if name in by_name:
            return by_name[name]
    if called := [term for term in terms if key in map(str.lower, term.synonyms)]:
        return called
    containing = [name for name in by_name if key in name] if len(key) > 2 else []
    singular = key.removesuffix("s")
    parts = [name for name in by_name if {key, singular} & {*re.split(r"[ -]", name)}]
    if 0 < len(parts) <= 3:
        return [term for name in parts for term in by_name[name]]
    raise UsageError(
        f"The course has no term {word!r}.",
        suggest(key, by_name, "`tito word` lists them all.", most=3, first=containing),
    )


def sections(source: Source) -> list[ChapterSection]:
    """The chapter's prose, by its headings; code between fences is left out."""
    parts = [ChapterSection("")]
    for cell in source.cells:
        if cell.kind != "markdown":
            continue
        text = cell.source.partition(ANSWER)[0] if cell.question else cell.source
        for block in re.split(r"\n\s*\n", re.sub(r"```.*?```", "", text, flags=re.S)):
            if heading := HEADING.match(block.strip()):
                parts.append(ChapterSection(heading.group(2).strip()))
                block = block.strip()[heading.end() :]
            for item in re.split(r"\n(?=\s*(?:[-*]|\d+\.) )", block):
                item = re.sub(r"^(?:[-*]|\d+\.) ", "", item.strip())
                if item:
                    parts[-1].paragraphs.append(" ".join(item.split()))
    return parts


def explanation(term: str, parts: list[ChapterSection]) -> tuple[str, str] | None:
    """(heading, sentence) where the term is first in bold, else in italics; None if never."""
    for emphasised in emphasis(term):
        for part in parts:
            for paragraph in part.texts_with(term):
                if not paragraph.startswith(NEEDS) and emphasised.search(paragraph):
                    return part.heading, next(
                        sentence
                        for sentence in split_sentences(paragraph)
                        if emphasised.search(sentence)
                    )
    return None


def emphasis(term: str) -> list[re.Pattern[str]]:
    """What finds the term in bold, and what finds it in italics."""
    return [
        re.compile(rf"{mark}(?:the |an? )?{pattern(term)}{mark}", re.I)
        for mark in (r"\*\*", r"(?<!\*)\*(?!\*)")
    ]


def split_sentences(paragraph: str) -> list[str]:
    """The sentences of one paragraph. A term and its explanation after a colon stay together.

    >>> split_sentences("The *rank*: how many axes, e.g. Two of them. It is an int.")
    ['The *rank*: how many axes, e.g. Two of them.', 'It is an int.']
    """
    sentences: list[str] = []
    for piece in SENTENCE.split(paragraph):
        last = sentences[-1] if sentences else ""
        if last and (ABBREVIATIONS.search(last) or last.endswith(":")):
            sentences[-1] += f" {piece}"
        else:
            sentences.append(piece)
    return sentences


def pattern(term: str) -> str:
    """A regular expression for the term in prose: its words, its plural, code marks around it."""
    return r"`?" + r"[\s-]+".join(re.escape(word) for word in term.split()) + r"(?:e?s)?`?"


def first_mention(term: str, parts: list[ChapterSection]) -> str:
    """The heading of the first section that uses a term; "" for none."""
    mentioned = re.compile(rf"(?<![\w-]){pattern(term)}(?![\w-])", re.I)
    return next(
        (
            part.heading
            for part in parts
            if part.heading and any(map(mentioned.search, part.texts_with(term)))
        ),
        "",
    )
