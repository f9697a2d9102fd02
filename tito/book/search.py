"""What the book's search looks in: `sections.js`, made of the finished pages.

Each heading and each exercise of a page is a section: its title, its paragraphs for the excerpt,
and the words of its code and pictures, which are only looked up. Beside them stand other words for
what a section explains: the glossary's terms, and those of the course's `book/synonyms.toml`.
`book/_static/search.js` ranks them in the reader's browser, from a folder on a disk, too.
"""

import difflib
import itertools
import json
import re
import tomllib
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser

from tito.book.pages import slug_of, term_id
from tito.errors import WorkError
from tito.lesson import glossary

FILE = "sections.js"
SYNONYMS = "synonyms.toml"
ARTICLE = re.compile(r'<article class="bd-article".*?</article>', re.S)
CODE = re.compile(r"<pre\b[^>]*>.*?</pre>", re.S)
WORD = re.compile(r"[^\W\d]\w+")
NUMBER = re.compile(r"^(?:\d+\.\d+|Exercise \d+\.\d+\.) ")  # what the book adds to a heading
VOID = {"area", "br", "col", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
INLINE = {"a", "b", "code", "em", "i", "kbd", "mark", "small", "span", "strong", "sub", "sup"}
SKIPPED = set("controls says headerlink hint lesson-card lesson-contents toctree-wrapper".split())


@dataclass
class Section:
    """A place in the book that a search can lead to.

    page    the page's path in the site
    anchor  the id of its place there; "" for the page as a whole
    title   its heading, or an exercise's name
    within  the title of the lesson or page that it is part of; "" for that page itself
    prose   [(id of a paragraph, its text)]: what stands there to read
    words   the words of its code, its outputs and its pictures' alt texts
    terms   the ids of the terms that it explains
    """

    page: str
    anchor: str
    title: str
    within: str = ""
    prose: list = field(default_factory=list)
    words: set = field(default_factory=set)
    terms: set = field(default_factory=set)


class _Article(HTMLParser):
    """The sections of one page."""

    def __init__(self, page, text):
        super().__init__()
        self.page, self.sections = page, []
        self.open = []  # [(tag, what it is: "skip", "code", "math", "heading", an exercise, "")]
        self.ids = [""]
        self.stack = []  # the exercises' sections around this place: what goes on when they end
        self.feed(CODE.sub(_without_colours, text))
        self.close()
        for section in self.sections:
            section.title = " ".join(section.title.split())
            section.prose = [
                (anchor, text)
                for anchor, pieces in section.prose
                if (text := _lines("".join(pieces)))
            ]
        self.sections = [section for section in self.sections if section.title]

    def _begin(self, anchor, title=""):
        self.sections.append(Section(self.page, anchor, title, prose=[(anchor, [])]))
        self.stack = [*self.stack[:-1], self.sections[-1]]

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        classes = set((values.get("class") or "").split())
        if self.stack and tag not in INLINE:
            self.stack[-1].prose[-1][1].append(" ")
        if self.stack and tag in ("p", "tr") and values.get("id"):
            self.stack[-1].prose.append((values["id"], []))
        if tag == "img" and self.stack:
            self.stack[-1].words.update(_words(values.get("alt") or ""))
        if tag in VOID:
            return
        if self.stack and values.get("id", "").startswith("term-"):
            self.stack[-1].terms.add(values["id"])
        kind = ""
        if tag == "section":
            self.ids.append(values.get("id", ""))
        if classes & SKIPPED or tag in ("svg", "script", "style", "button"):
            kind = "skip"
        elif tag == "pre":
            kind = "code"
        elif tag == "summary":
            kind = "skip"
        elif "math" in classes:
            kind = "math"
        elif tag in ("h1", "h2", "h3"):
            kind = "heading"
            self._begin("" if tag == "h1" else self.ids[-1])
        elif "exercise" in classes and values.get("id"):
            kind = "exercise"
            self.stack.append(None)
            self._begin(values["id"])
        elif "exercise-head" in classes:
            kind = "heading"
        self.open.append((tag, kind))

    def handle_endtag(self, tag):
        if tag not in [name for name, _ in self.open]:
            return
        while self.open:
            name, kind = self.open.pop()
            if kind == "exercise":
                self.stack.pop()
            if name == "section":
                self.ids.pop()
            if name == tag:
                break
        if self.stack and tag not in INLINE:
            self.stack[-1].prose[-1][1].append(" ")

    def handle_data(self, data):
        kinds = {kind for _, kind in self.open}
        if not self.stack or "skip" in kinds:
            return
        section = self.stack[-1]
        if "code" in kinds:
            section.words.update(_words(data))
        elif "heading" in kinds:
            section.title += data
        else:
            section.prose[-1][1].append(_plain(data) if "math" in kinds else data)


def sections_of(page, html):
    """The sections of a finished page."""
    if not (article := ARTICLE.search(html)):
        return []
    found = _Article(page, article[0]).sections
    for section in found:
        if match := re.match(r"(Exercise \d+\.\d+\. .*?) \(\d+ points?, .*\)$", section.title):
            section.title = match[1]
    return found


def write(root, folder):
    """Write `sections.js` of the finished pages in `folder`.

    Raises WorkError for a line of `book/synonyms.toml` that leads nowhere.
    """
    found = []
    for path in sorted(folder.rglob("*.html")):
        page = path.relative_to(folder).as_posix()
        # the glossary repeats what the sections say; its terms lead there
        if page.startswith(("_static/", "lite/", "glossary")) or page == "search.html":
            continue
        found += sections_of(page, path.read_text(encoding="utf-8"))
    titles = {section.page: section.title for section in found if not section.anchor}
    for section in found:
        above = titles.get(f"{section.page.rpartition('/')[0]}.html")
        section.within = above or (section.anchor and titles.get(section.page)) or ""
    data = {
        "sections": [
            [
                s.page,
                s.anchor,
                s.title,
                s.within,
                "|".join(sorted(s.words)),  # so no line of code
                *itertools.chain(*s.prose),
            ]
            for s in found
        ],
        "synonyms": synonyms(root, found),
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    text = f"var BOOK = {text};\n".replace('],["', '],\n["')
    (folder / FILE).write_text(text, encoding="utf-8")


def read(text):
    """What `sections.js` holds, as one reads it: for who looks for what may not stand in it."""
    data = json.loads(text.removeprefix("var BOOK = ").rstrip(";\n"))
    return "\n".join(str(part) for row in data["sections"] for part in row)


def synonyms(root, found):
    """[[words, number of the section they lead to, anchor of a term there or ""], ...]: the
    glossary's terms, and what stands in the course's `book/synonyms.toml`.
    """
    places = {}
    for number, section in enumerate(found):
        places.setdefault((_area(section.page), slug_of(NUMBER.sub("", section.title))), number)
    folders = {entry.name: f"lessons/{entry.folder}" for entry in root.lessons}
    terms = {}
    explained = {
        (_area(section.page), anchor): number
        for number, section in enumerate(found)
        for anchor in section.terms
    }
    for term in glossary.read_terms(root):
        anchor = term_id(term.term)
        place = explained.get((folders[term.lesson], anchor))
        if place is not None:
            terms.setdefault(term.term.lower(), []).append([place, anchor])
    rows = [[term, *place] for term, found_at in terms.items() for place in found_at]
    path = root.path / "book" / SYNONYMS
    if not path.exists():
        return rows
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise WorkError(f"book/{SYNONYMS}: {error}.", 'Write lines such as "term" = ["word"].')
    for target, words in table.items():
        name, mark, heading = target.partition(": ")
        area = folders.get(name, name)
        if not mark:
            leads = terms.get(target.lower())
        else:
            number = places.get((area, slug_of(heading)))
            leads = None if number is None else [[number, ""]]
        if not leads:
            raise WorkError(
                f"book/{SYNONYMS}: {words[0] if words else ''!r} leads to {target!r}, which is "
                f"{'no heading' if mark else 'no term of the glossary'}.",
                _near(target, terms, area if mark else None, found),
            )
        rows += [[word, *place] for word in words for place in leads]
    return rows


def _near(target, terms, area, found):
    if area is None:
        known, wanted = sorted(terms), target.lower()
    else:
        known = [NUMBER.sub("", s.title) for s in found if _area(s.page) == area]
        wanted = target.partition(": ")[2]
        if not known:
            return "Before the colon stands the name of a lesson, or of a page of the book."
    if near := difflib.get_close_matches(wanted, known, n=1, cutoff=0.3):
        return f"Did you mean {near[0]!r}?"
    return "Name a term of the glossary, or LESSON: HEADING."


def _area(page):
    """What a page is part of: "lessons/05_backprop", "milestones/...", "teaching"."""
    parts = page.removesuffix(".html").split("/")
    return "/".join(parts[: 2 if parts[0] in ("lessons", "milestones") else 1])


def _without_colours(match):
    return f"<pre>{re.sub('<[^>]*>', '', match[0])}</pre>"


def _lines(text):
    """The text in the lines of its source, so that who looks for lines of code finds no others."""
    return "\n".join(" ".join(line.split()) for line in text.split("\n") if line.strip())


def _words(text):
    return {word.lower() for word in WORD.findall(unescape(text)) if len(word) < 40}


def _plain(tex):
    """A formula in an excerpt: as it stands when it is simple, else an ellipsis."""
    simple = re.sub(r"\\(?:mathrm|text|mathbf|operatorname)\{([^{}]*)\}", r"\1", tex.strip())
    simple = simple.replace(r"\cdot", "·").replace(r"\times", "×").replace(r"\,", " ")
    return simple if "\\" not in simple and len(simple) < 40 else "…"
