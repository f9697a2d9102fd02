"""The index of the book's search: `sections.js`, made from the finished pages.

Each heading and each exercise of a page is a section: its title, its paragraphs for the excerpt,
and the words of its code and pictures, which are only looked up. The index also has synonyms:
the glossary's terms, and the words of the course's `book/synonyms.toml`, each with the section that
explains them. `book/_static/search.js` ranks sections in the reader's browser, also when the book
is a folder on a disk.
"""

import itertools
import json
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from bs4 import BeautifulSoup
from bs4.element import NavigableString, Tag

from tito.book.pages import slug_of, term_id
from tito.errors import WorkError
from tito.lesson import glossary
from tito.lesson.course import Root

FILE = "sections.js"
SYNONYMS = "synonyms.toml"
WORD = re.compile(r"[^\W\d]\w+")
NUMBER = re.compile(r"^(?:\d+\.\d+|Exercise \d+\.\d+\.) ")  # what the book adds to a heading
POINTS = re.compile(r" \(\d+ points?, .*\)$")
INLINE = {"a", "b", "code", "em", "i", "kbd", "mark", "small", "span", "strong", "sub", "sup"}
SKIPPED = (
    "svg, script, style, button, summary, .controls, .says, .headerlink, .hint, .lesson-card, "
    ".lesson-contents, .toctree-wrapper"
)


@dataclass
class SearchEntry:
    """A place in the book that a search can lead to.

    page    the page's path in the site
    anchor  the id of its place there; "" for the page as a whole
    title   its heading, or an exercise's name
    within  the title of the lesson or page that it is part of; "" for that page itself
    prose   [(id of a paragraph, its text)]
    words   the words of its code, its outputs and its pictures' alt texts
    terms   the ids of the terms that it explains
    """

    page: str
    anchor: str
    title: str
    within: str = ""
    prose: list[tuple[str, str]] = field(default_factory=list)
    words: set[str] = field(default_factory=set)
    terms: set[str] = field(default_factory=set)


class _Reader:
    """Reads the sections of one page, element by element."""

    def __init__(self, page: str) -> None:
        self.page = page
        self.sections: list[SearchEntry] = []
        self.section = SearchEntry(page, "", "")  # what is read belongs to it

    def begin(self, anchor: str, title: str) -> None:
        title = POINTS.sub("", " ".join(title.split()))
        self.section = SearchEntry(self.page, anchor, title, prose=[(anchor, "")])
        self.sections.append(self.section)

    def read(self, element: Tag, anchor: str = "") -> None:
        """Read what is inside an element; `anchor` is the id of the `<section>` around it."""
        for child in element.children:
            if isinstance(child, Tag):
                self.read_tag(child, anchor)
            elif type(child) is NavigableString:  # no comment
                self.add(child)

    def read_tag(self, tag: Tag, anchor: str) -> None:
        id_ = str(tag.get("id", ""))
        if tag.name not in INLINE:
            self.add(" ")
        if id_.startswith("term-"):
            self.section.terms.add(id_)
        if tag.name == "pre":
            self.section.words |= _words(tag.get_text())
        elif tag.name == "img":
            self.section.words |= _words(str(tag.get("alt", "")))
        elif tag.name in ("h1", "h2", "h3"):
            self.begin("" if tag.name == "h1" else anchor, tag.get_text())
        elif "exercise" in tag.get_attribute_list("class") and id_:
            outer, head = self.section, tag.find(class_="exercise-head")
            if isinstance(head, Tag):
                self.begin(id_, head.extract().get_text())
            self.read(tag, anchor)
            self.section = outer
        else:
            if tag.name in ("p", "tr") and id_:
                self.section.prose.append((id_, ""))
            self.read(tag, id_ if tag.name == "section" else anchor)
        if tag.name not in INLINE:
            self.add(" ")

    def add(self, text: str) -> None:
        if self.section.prose:
            anchor, before = self.section.prose[-1]
            self.section.prose[-1] = (anchor, before + text)


def sections_of(page: str, soup: BeautifulSoup) -> list[SearchEntry]:
    """The sections of a finished page, which is changed."""
    article = soup.find("article", class_="bd-article")
    if not isinstance(article, Tag):
        return []
    for element in article.select(SKIPPED):
        element.replace_with(" ")
    for formula in article.select(".math"):
        formula.string = _plain(formula.get_text())
    reader = _Reader(page)
    reader.read(article)
    for section in reader.sections:
        prose = [(anchor, _lines(text)) for anchor, text in section.prose]
        section.prose = [(anchor, text) for anchor, text in prose if text]
    return [section for section in reader.sections if section.title]


def write_index(root: Root, folder: Path, sections: list[SearchEntry]) -> None:
    """Write `sections.js` into the folder of the finished pages.

    Raises WorkError for a line of `book/synonyms.toml` that leads nowhere.
    """
    titles = {section.page: section.title for section in sections if not section.anchor}
    for section in sections:
        above = titles.get(f"{section.page.rpartition('/')[0]}.html")
        section.within = above or (titles.get(section.page, "") if section.anchor else "")
    data = {
        "sections": [
            [
                section.page,
                section.anchor,
                section.title,
                section.within,
                "|".join(sorted(section.words)),  # so no line of code
                *itertools.chain(*section.prose),
            ]
            for section in sections
        ],
        "synonyms": synonyms(root, sections),
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    text = f"var BOOK = {text};\n".replace('],["', '],\n["')
    (folder / FILE).write_text(text, encoding="utf-8")


def read_index(text: str) -> str:
    """The texts in `sections.js`, each in its own lines, to look for secrets in them."""
    data = json.loads(text.removeprefix("var BOOK = ").rstrip(";\n"))
    return "\n".join(str(part) for row in data["sections"] for part in row)


Place = tuple[int, str]  # the number of a section, and the anchor of a term in it or ""


def synonyms(root: Root, sections: list[SearchEntry]) -> list[tuple[str, int, str]]:
    """[(words, number of the section they lead to, anchor of a term there or ""), ...]: the
    glossary's terms, and the words in the course's `book/synonyms.toml`.
    """
    terms = _places_of_terms(root, sections)
    rows = [(term, *place) for term, places in terms.items() for place in places]
    path = root.path / "book" / SYNONYMS
    if not path.exists():
        return rows
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise WorkError(f"book/{SYNONYMS}: {error}.", 'Write lines such as "term" = ["word"].')
    headings: dict[tuple[str, str], int] = {}
    for number, section in enumerate(sections):
        slug = slug_of(NUMBER.sub("", section.title))
        headings.setdefault((_area(section.page), slug), number)
    folders = {entry.name: f"lessons/{entry.folder}" for entry in root.lessons}
    for target, words in table.items():
        name, mark, heading = target.partition(": ")
        area = folders.get(name, name) if mark else ""
        at = headings.get((area, slug_of(heading)))
        places = [(at, "")] if at is not None else terms.get(target.lower(), [])
        if not places:
            raise WorkError(
                f"book/{SYNONYMS}: {words[0] if words else ''!r} leads to {target!r}, which is "
                f"{'no heading' if mark else 'no term of the glossary'}.",
                "Name a term of the glossary, or a heading: LESSON or PAGE, a colon, the heading.",
            )
        rows += [(word, *place) for word in words for place in places]
    return rows


def _places_of_terms(root: Root, sections: list[SearchEntry]) -> dict[str, list[Place]]:
    """{term of the glossary, in lower case: where it is explained}"""
    explained = {
        (_area(section.page), anchor): number
        for number, section in enumerate(sections)
        for anchor in section.terms
    }
    folders = {entry.name: f"lessons/{entry.folder}" for entry in root.lessons}
    places: dict[str, list[Place]] = {}
    for term in glossary.read_terms(root):
        anchor = term_id(term.term)
        if (number := explained.get((folders[term.lesson], anchor))) is not None:
            places.setdefault(term.term.lower(), []).append((number, anchor))
    return places


def _area(page: str) -> str:
    """The lesson or page that a page is part of: "lessons/05_backprop", "teaching"."""
    parts = page.removesuffix(".html").split("/")
    return "/".join(parts[: 2 if parts[0] in ("lessons", "milestones") else 1])


def _lines(text: str) -> str:
    """The text in the lines of its source, so that a search for lines of code finds no others."""
    return "\n".join(" ".join(line.split()) for line in text.split("\n") if line.strip())


def _words(text: str) -> set[str]:
    return {word.lower() for word in WORD.findall(text) if len(word) < 40}


def _plain(tex: str) -> str:
    """A formula in an excerpt: unchanged when it is simple, else an ellipsis."""
    simple = re.sub(r"\\(?:mathrm|text|mathbf|operatorname)\{([^{}]*)\}", r"\1", tex.strip())
    simple = simple.replace(r"\cdot", "·").replace(r"\times", "×").replace(r"\,", " ")
    return simple if "\\" not in simple and len(simple) < 40 else "…"
