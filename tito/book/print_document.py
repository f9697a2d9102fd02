"""The site as one document for paper: a title page, contents with page numbers, the pages in their
order, and at the end the hints and the answers to predictions.

    read_chapters   a built site's pages as chapters: a lesson and its sections, a milestone, a page
    document        the chapters as one page of HTML, with page numbers where they are known

Given code and outputs are unfolded; of checks, the names are listed. Hints and answers move to the
end, so that readers do not see them too early, and are replaced by their page number. pdf.py prints
the document.
"""

import html
import json
import posixpath
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup
from bs4.element import Tag
from bs4.filter import SoupStrainer

from tito.book.pages import ANSWER

PAPERS = {"a4": "210mm 297mm", "letter": "8.5in 11in"}
UNKNOWN = "000"  # is shown until a page number is known, and is about as wide
COLUMNS = 96  # of code that fit in a line of the paper
SHORT = 14  # lines of code that stay on one page
# Words of code without a colour, two of three: in a PDF the mark of each costs 140 bytes.
UNCOLOURED = "pre span.n, pre span.nn, pre span.p, pre span.w, code span.pre"
# Sets formulas; drawings show their first state without their scripts.
SCRIPTS = ("katex/katex.min.js", "book.js")
STYLES = ("pygments.css", "katex/katex.min.css", "book.css", "paper.css")
NUMBERS = """const numbers = %s;
for (const link of document.querySelectorAll("a.page"))
  link.textContent = numbers[link.hash.slice(1)] ?? "%s";"""


@dataclass
class Chapter:
    """A part of the document that begins on a new page.

    id       where it begins; title: its heading, as HTML
    entries  [(title, id)] of what the contents list below it
    hints    the hints of its exercises, and answers: those to its predictions, as HTML
    """

    id: str
    title: str
    body: str = ""
    entries: list[tuple[str, str]] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)

    @property
    def number(self) -> str:
        """6 of "06. Autograd", 1986 of a milestone, 0 of another page."""
        first = words(self.title).split(".")[0]
        return first.lstrip("0") if first.isdigit() else "0"


@dataclass
class PrintPage:
    """A page of the site: its path, its place in the document, and its article."""

    name: str
    place: str
    article: Tag


def read_chapters(site: Path, selected: Collection[str] = ()) -> list[Chapter]:
    """The chapters of a built site, in the order of its pages.

    selected  names of the pages to take, "lessons/06_autograd.html", with their sections;
              none for all pages
    """
    articles = read_articles(site)
    names = [name for name in articles if not selected or _top(name, selected)]
    pages = [PrintPage(name, f"p{n}", articles[name]) for n, name in enumerate(names, 1)]
    places = {page.name: page.place for page in pages}
    with_sections = {_top(name, set(names) - {name}) for name in names}
    chapters: dict[str, Chapter] = {}
    for page in pages:
        _adapt(page, places, site)
        heading = page.article.h1
        assert heading is not None, f"{page.name} has no heading"
        title = heading.decode_contents().strip()
        top = _top(page.name, set(names) - {page.name}) or page.name
        if top == page.name:
            chapters[top] = Chapter(page.place, title)
            if top not in with_sections:
                chapters[top].entries = _headings(page.article)
        else:
            _lower_headings(page.article)
            chapters[top].entries.append((title, page.place))
        _list_checks(page.article)
        _move_hints(page.article, chapters[top])
        _move_answers(page, title, chapters[top])
        for fold in page.article.find_all("details"):
            fold["open"] = ""
        for other in reversed(page.article.select("section > span[id]:empty")):
            if following := other.find_next_sibling(re.compile("^h[1-6]$")):
                following.insert(0, other.extract())  # or it could stay on the page before
        chapters[top].body += (
            f'<section class="page" id="{page.place}">\n{page.article.decode_contents().strip()}\n'
            "</section>\n"
        )
    return list(chapters.values())


def read_articles(site: Path) -> dict[str, Tag]:
    """{name of a page: its article}, in the order in which the links to the next page lead."""
    name, articles = "index.html", {}
    while name and name not in articles:
        text = (site / name).read_text(encoding="utf-8")
        soup = BeautifulSoup(text, "html.parser", parse_only=SoupStrainer(["link", "article"]))
        assert soup.article is not None, f"{name} has no article"
        articles[name] = soup.article
        following = soup.find("link", rel="next")
        name = _joined(name, str(following["href"])) if isinstance(following, Tag) else ""
    return articles


def _joined(name: str, address: str) -> str:
    """The path in the site that an address on a page leads to."""
    path = unquote(urlsplit(address).path)
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name


def _top(name: str, tops: Collection[str]) -> str | None:
    """Which of `tops` the page is, or is a section of; None for none of them."""
    if name in tops:
        return name
    above = f"{posixpath.dirname(name)}.html"
    return above if above in tops else None


def words(text: str) -> str:
    """The words of some HTML, in one line."""
    return " ".join(BeautifulSoup(text, "html.parser").get_text().split())


# A page.


def _adapt(page: PrintPage, places: dict[str, str], site: Path) -> None:
    """Make the page's article fit the document: ids, links, pictures, code."""
    article = page.article
    opened_on_screens = ".lesson-card li:has(strong:-soup-contains-own(Open))"
    for element in article.select(f".headerlink, {opened_on_screens}"):
        element.decompose()
    for mark in article.select(f"a.image-reference, {UNCOLOURED}"):
        mark.unwrap()
    for element in article.find_all(id=True):
        if not element.find_parent("svg") and element.name != "svg":
            element["id"] = f"{page.place}-{element['id']}"
    for style in article.select("figure > style"):  # the colours of a drawing, by its id
        style.string = str(style.string).replace("#figure-", f"#{page.place}-figure-")
    for link in article.find_all("a", href=True):
        _relink(link, page.name, places)
    for image in article.select("img[src]:not([src^='data:'])"):
        image["src"] = (site / _joined(page.name, str(image["src"]))).as_uri()
    for code in article.find_all("pre"):
        _mark_long_lines(code)
    for contents in article.select("ol.lesson-contents:not(.page-contents)"):
        if title := contents.find_previous("h2"):
            title.name, title["class"] = "p", "contents-title"
        for link in contents.select('a[href^="#"]'):
            link.insert_after(" ", _parsed(_page_number(str(link["href"])[1:])))


def _parsed(text: str) -> BeautifulSoup:
    return BeautifulSoup(text, "html.parser")


def _relink(link: Tag, name: str, places: dict[str, str]) -> None:
    """Let a link lead to a place of the document; one to another host shows its address."""
    address = str(link["href"])
    url = urlsplit(address)
    if url.scheme in ("http", "https", "mailto"):
        if " ".join(link.get_text().split()) not in address:
            link["data-outside"] = ""
    elif place := None if url.scheme or url.netloc else places.get(_joined(name, address)):
        link["href"] = f"#{place}-{url.fragment}" if url.fragment else f"#{place}"
    else:
        del link["href"]


def _mark_long_lines(code: Tag) -> None:
    """Make each long line of code a block, so that its continuation can be marked."""
    lines = code.get_text().rstrip("\n").split("\n")
    if len(lines) <= SHORT:
        code["class"] = "short"
    if any(len(line) > COLUMNS for line in lines):
        shown = [
            f'<span class="long">{marked}</span>' if len(line) > COLUMNS else f"{marked}\n"
            for line, marked in zip(lines, code.decode_contents().split("\n"), strict=False)
        ]
        code.clear()
        code.append(_parsed("".join(shown)))


def _headings(article: Tag) -> list[tuple[str, str]]:
    """[(heading, id of its section)] of a page; the letters of a glossary are none."""
    titles = [
        (title.decode_contents(), str(section["id"]))
        for section in article.select("section[id]")
        for title in section.find_all("h2", recursive=False)
    ]
    return [(title, id_) for title, id_ in titles if len(words(title)) > 1]


def _lower_headings(article: Tag) -> None:
    for heading in article.find_all(["h1", "h2", "h3", "h4", "h5"]):
        heading.name = f"h{int(heading.name[1]) + 1}"


def _list_checks(article: Tag) -> None:
    """Replace the code of an exercise's checks by their names."""
    for fold in article.select(".exercise details.above-input"):
        title = words(str(fold.summary.p)) if fold.summary and fold.summary.p else ""
        if re.match(r"\d+ checks?, ", title):
            names = re.findall(r"^def test_(\w+)", fold.get_text(), re.M)
            listed = "".join(f"<li>{name.replace('_', ' ')}</li>" for name in names)
            fold.replace_with(_parsed(f'<div class="checks"><p>{title}</p><ul>{listed}</ul></div>'))


def _move_hints(article: Tag, chapter: Chapter) -> None:
    """Move the hints to the end of the document; the number of their page is in their place."""
    for box in article.select(".exercise[id]"):
        hints = box.select("details.hint")
        steps: list[str] = []
        for hint in reversed(hints):  # each is inside the one before it
            if hint.summary:
                hint.summary.decompose()
            if hint is not hints[0]:
                hint.extract()
            steps.insert(0, f"<li>{hint.decode_contents().strip()}</li>\n")
        if not hints:
            continue
        exercise = box.strong.decode_contents() if box.strong else ""
        chapter.hints.append(
            f'<div class="hints" id="hints-{box["id"]}"><p class="of"><b>{exercise}</b> '
            f"page {_page_number(str(box['id']))}</p>\n<ol>\n{''.join(steps)}</ol></div>\n"
        )
        count = f"{len(steps)} hint{'s' * (len(steps) != 1)}"
        hints[0].replace_with(_elsewhere(f"{count} at the end, on page", f"hints-{box['id']}"))


def _move_answers(page: PrintPage, section: str, chapter: Chapter) -> None:
    """Move the answers to predictions to the end of the document."""
    for fold in page.article.select("details.below-input"):
        if not fold.summary or ANSWER not in fold.summary.get_text():
            continue
        fold.summary.decompose()
        number = f"{chapter.number}.{len(chapter.answers) + 1}"
        place = f"{page.place}-answer-{len(chapter.answers) + 1}"
        chapter.answers.append(
            f'<div class="answer" id="at-{place}"><p class="of"><b>Answer {number}</b> '
            f"{section}, page {_page_number(place)}</p>\n{fold.decode_contents().strip()}</div>\n"
        )
        fold.replace_with(_elsewhere(f"Answer {number} is on page", f"at-{place}", place))


def _page_number(id_: str) -> str:
    """A link that shows the number of its page (see NUMBERS)."""
    return f'<a class="page" href="#{id_}"></a>'


def _elsewhere(text: str, there: str, here: str = "") -> BeautifulSoup:
    id_ = f' id="{here}"' if here else ""
    return _parsed(f'<p class="elsewhere"{id_}>{text} {_page_number(there)}</p>\n')


# The document.


@dataclass
class Book:
    """What is printed: chapters, the folder of their site, and what the title page says."""

    site: Path
    title: str
    edition: str
    authors: list[str]
    paper: str
    chapters: list[Chapter]


def document(book: Book, numbers: dict[str, int]) -> str:
    """The HTML to print.

    numbers  {id: page}, as they were found in an earlier print; {} before
    """
    static = (book.site / "_static").as_uri()
    chapters = [*book.chapters, *_appendices(book.chapters)]
    head = [f'<link rel="stylesheet" href="{static}/{name}">' for name in STYLES]
    head.append(f"<style>\n{_sheets(book.paper, chapters)}\n</style>")
    head += [f'<script defer src="{static}/{name}"></script>' for name in SCRIPTS]
    bodies = [
        f'<div class="chapter" style="page: c{number}">\n{chapter.body}</div>\n'
        for number, chapter in enumerate(chapters, 1)
    ]
    title = html.escape(book.title)
    return f"""<!DOCTYPE html>
<html lang="en" data-theme="light">
<head>
<meta charset="utf-8">
<title>{title}</title>
{"".join(head)}
</head>
<body class="bd-article">
<div class="title-page"><p class="title">{title}</p>
<p class="authors">{html.escape(", ".join(book.authors))}</p>
<p>Edition {html.escape(book.edition)}</p></div>
{_contents(chapters)}
{"".join(bodies)}
<script>{NUMBERS % (json.dumps(numbers), UNKNOWN)}</script>
</body>
</html>
"""


def _sheets(paper: str, chapters: list[Chapter]) -> str:
    """The size of a page, and the head of each chapter's."""
    rules = [f"@page {{ size: {PAPERS[paper]}; }}"]
    for number, chapter in enumerate(chapters, 1):
        head = re.sub(r'(["\\<])', r"\\\1", words(chapter.title))
        rules.append(f'@page c{number} {{ @top-right {{ content: "{head}"; }} }}')
    return "\n".join(rules)


def _contents(chapters: list[Chapter]) -> str:
    rows = []
    for chapter in chapters:
        below = "".join(f"<li>{_row(title, id_)}</li>\n" for title, id_ in chapter.entries)
        rows.append(
            f"<li>{_row(chapter.title, chapter.id)}{f'<ul>{below}</ul>' if below else ''}</li>\n"
        )
    return f'<nav class="contents"><h1>Contents</h1>\n<ul>\n{"".join(rows)}</ul></nav>'


def _row(title: str, id_: str) -> str:
    return f'<a class="to" href="#{id_}">{title}</a><i></i>{_page_number(id_)}'


def _appendices(chapters: list[Chapter]) -> Iterable[Chapter]:
    """The hints and the answers, each by chapter; without what the book does not have."""
    for title, about, parts in (
        (
            "Hints",
            "Each says more than the one before it. Read one, then try again.",
            [(chapter, chapter.hints) for chapter in chapters if chapter.hints],
        ),
        (
            "Answers",
            "What the code prints or draws where the text asks for a prediction.",
            [(chapter, chapter.answers) for chapter in chapters if chapter.answers],
        ),
    ):
        id_ = title.lower()
        bodies = [
            f'<section id="{id_}-{chapter.id}"><h2>{chapter.title}</h2>\n{"".join(texts)}</section>'
            for chapter, texts in parts
        ]
        body = (
            f'<section class="page" id="{id_}"><h1>{title}</h1>\n<p>{about}</p>\n'
            + "\n".join(bodies)
            + "</section>\n"
        )
        if parts:
            entries = [(chapter.title, f"{id_}-{chapter.id}") for chapter, _ in parts]
            yield Chapter(id_, title, body, entries)
