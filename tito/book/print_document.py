"""The site as one document for paper: its pages joined in their order, with a title page, contents
with page numbers, and what is folded on a screen.

    read      a built site's pages as chapters: a lesson with its sections, a milestone, a page
    document  the chapters as one page of HTML, with page numbers where they are known

Given code, checks and outputs stand open. Hints and the answers to predictions would be in view
there, so they stand at the end, and where they were stands the page to turn to. pdf.py prints it.
"""

import html
import posixpath
import re
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from tito.book.pages import ANSWER

PAPERS = {"a4": "210mm 297mm", "letter": "8.5in 11in"}
UNKNOWN = "000"  # stands where a page number will be, and is about as wide
COLUMNS = 96  # of code that fit in a line of the paper
SHORT = 14  # lines of code that stay on one page

ARTICLE = re.compile(r"<article\b[^>]*>(.*)</article>", re.S)
NEXT = re.compile(r'<link rel="next"[^>]*\shref="([^"]*)"')
H1 = re.compile(r"<h1>(.*?)</h1>", re.S)
H2 = re.compile(r'<section\b[^>]*\sid="([^"]+)"[^>]*>(?:\s*<span[^>]*></span>)*\s*<h2>(.*?)</h2>')
OTHER_IDS = re.compile(  # before a heading they could stay at the end of the page before
    r'((?:<span id="[^"]*"></span>\s*)+)<(h[1-6])>'
)
TAG = re.compile(r"<[a-zA-Z](?:[^>\"']|\"[^\"]*\"|'[^']*')*>")
DRAWN = re.compile(r"<(svg|style)\b.*?</\1>", re.S)
PRE = re.compile(r"<pre>(?:<span></span>)?(.*?)\n?</pre>", re.S)
ENLARGED = re.compile(r'<a class="[^"]*image-reference[^>]*>\s*(<img\b[^>]*>)\s*</a>')
# A notebook, Binder, ...: nothing to open on paper.
NOWHERE = re.compile(r"<li><p[^>]*><strong>Open</strong>.*?</li>\n?", re.S)
HINTS = re.compile(r'<details class="hint">\s*<summary>Hint \d+ of (\d+)</summary>')
FOLDED = re.compile(
    r'<details class="admonition hide below-input">\s*<summary[^>]*>\s*'
    rf'<p class="collapsed admonition-title">{ANSWER}</p>.*?</summary>',
    re.S,
)
NUMBER = re.compile(r'(<a class="page" href="#([^"]+)">)')


@dataclass
class Chapter:
    """What begins on a page of its own.

    id       where it begins; title: its heading, as HTML
    entries  [(title, id)] of what the contents list below it
    hints    [(the exercise in words, id of its box, the hints as HTML)]
    answers  [(number, title of its section, id of the place it was taken from, HTML)]
    """

    id: str
    title: str
    body: str = ""
    entries: list = field(default_factory=list)
    hints: list = field(default_factory=list)
    answers: list = field(default_factory=list)

    @property
    def number(self):
        """6 of "06. Autograd", 1986 of a milestone, 0 of another page."""
        match = re.match(r"(\d+)\. ", words(self.title))
        return int(match[1]) if match else 0


def read(site, wanted=None):
    """The chapters of a built site, in the order of its pages.

    wanted  names of the pages to take, "lessons/06_autograd.html", with what stands below each;
            None for all
    """
    names = [name for name in order(site) if not wanted or _top(name, wanted)]
    places = {name: f"p{number}" for number, name in enumerate(names, 1)}
    chapters, tops, plain = [], set(wanted or names), _plain(site)
    for name in names:
        article = ARTICLE.search((site / name).read_text(encoding="utf-8"))[1]
        article = plain.sub(r"\1", article)
        if top := _top(name, tops - {name}):
            chapter = next(one for one in chapters if one.id == places[top])
        else:
            chapters.append(chapter := Chapter(places[name], ""))
        _add(chapter, name, article, places, site)
    return chapters


def order(site):
    """The site's pages as its links to the next page lead through them."""
    name, names = "index.html", []
    while name and name not in names:
        names.append(name)
        match = NEXT.search((site / name).read_text(encoding="utf-8"))
        name = match and posixpath.normpath(
            posixpath.join(posixpath.dirname(name), html.unescape(match[1]))
        )
    return names


def _plain(site):
    """What finds a word of code that is marked and has no colour: two of three. In a PDF each mark
    costs 140 bytes.
    """
    styles = site / "_static" / "pygments.css"
    styles = styles.read_text(encoding="utf-8") if styles.exists() else ""
    colours = dict(re.findall(r'"light"\] \.highlight \.(\w+) \{[^}]*color: (#\w+)', styles))
    names = ["pre", *(name for name in colours if colours[name] == colours.get("n"))]
    return re.compile(rf'<span class="(?:{"|".join(names)})">([^<]*)</span>')


def text_of(text):
    """The text of some HTML."""
    return html.unescape(re.sub(r"<[^>]*>", "", text))


def words(text):
    """The words of some HTML, in one line."""
    return " ".join(text_of(text).split())


def _top(name, tops):
    """Which of `tops` the page is, or is a section of; None for none of them."""
    if name in tops:
        return name
    above = f"{posixpath.dirname(name)}.html"
    return above if above in tops else None


# A page.


def _add(chapter, name, article, places, site):
    """Add a page to its chapter."""
    here, first = places[name], not chapter.body
    article = re.sub(r'<a class="headerlink".*?</a>', "", article)
    article = NOWHERE.sub("", article)
    title = H1.search(article)[1].strip()
    if first:
        chapter.title = title
    article = _linked(name, article, places, site)
    article = ENLARGED.sub(r"\1", article)
    article = PRE.sub(_lines, article)
    article = _taken(chapter, here, title, article)
    article = re.sub(r"<details\b(?! open)", "<details open", article)
    if first:
        article = _with_pages(article)
        if not any(_top(other, {name}) for other in places if other != name):
            chapter.entries += [
                (heading, id_) for id_, heading in H2.findall(article) if len(words(heading)) > 1
            ]
    else:
        article = re.sub(
            r"(</?h)([1-5])>", lambda match: f"{match[1]}{int(match[2]) + 1}>", article
        )
        chapter.entries.append((title, here))
    article = OTHER_IDS.sub(r"<\2>\1", article)
    chapter.body += f'<section class="page" id="{here}">\n{article.strip()}\n</section>\n'


def _linked(name, article, places, site):
    """The article with ids of its own, links to where their pages stand now, and pictures found."""
    here = places[name]

    def target(address):
        url = urlsplit(html.unescape(address))
        if url.scheme or url.netloc:
            return address if url.scheme in ("http", "https", "mailto") else None
        path = posixpath.join(posixpath.dirname(name), unquote(url.path)) if url.path else name
        if not (place := places.get(posixpath.normpath(path))):
            return None
        return f"#{place}-{url.fragment}" if url.fragment else f"#{place}"

    def tag(match):
        text = match[0]
        if text.startswith("<a ") and (link := re.search(r'\shref="([^"]*)"', text)):
            to = target(link[1])
            if to is None:
                text = text.replace(link[0], "")
            elif not to.startswith("#"):
                shown = words(article[match.end() : article.find("</a>", match.end())])
                text = text if shown in html.unescape(to) else f"<a data-outside{text[2:]}"
            else:
                text = text.replace(link[0], f' href="{to}"')
        elif text.startswith("<img "):
            text = re.sub(
                r'(\ssrc=")(?!data:)([^"]*)',
                lambda src: src[1] + _file(site, name, src[2]),
                text,
            )
        return re.sub(r'(\sid=")([^"]*)', rf"\g<1>{here}-\2", text) if "id=" in text else text

    ids = set(re.findall(r'\sid="([^"]+)"', article))
    article = DRAWN.sub(lambda match: _drawing(match[0], here, ids), article)
    return TAG.sub(tag, article)


def _file(site, name, source):
    path = unquote(urlsplit(html.unescape(source)).path)
    return (site / posixpath.normpath(posixpath.join(posixpath.dirname(name), path))).as_uri()


def _drawing(text, here, ids):
    """A drawing or its style, which still find their `ids` when these begin with the page's."""

    def renamed(id_):
        return f"{here}-{id_}" if id_ in ids else id_

    text = re.sub(r"#([\w-]+)", lambda match: f"#{renamed(match[1])}", text)
    return re.sub(
        r'(\saria-\w+=")([^"]*)',
        lambda match: match[1] + " ".join(map(renamed, match[2].split(" "))),
        text,
    )


def _taken(chapter, here, title, article):
    """The article without its hints and the answers to its predictions, which go to the chapter's;
    where they were stands their page.
    """

    def hints(match, text):
        box = article.rfind('<div class="exercise docutils', 0, match.start())
        id_ = re.compile(r'id="([^"]+)"').search(article, box)[1]
        exercise = re.compile(r"<strong>(.*?)</strong>", re.S).search(article, box)[1]
        steps = re.split(r"<summary>Hint \d+ of \d+</summary>", text)[1:]
        listed = "".join(
            f"<li>{re.sub(r'</?details[^>]*>', '', step).strip()}</li>\n" for step in steps
        )
        chapter.hints.append((exercise, id_, f"<ol>\n{listed}</ol>"))
        count = f"{match[1]} hint{'s' * (match[1] != '1')}"
        return _elsewhere(f"{count} at the end, on page", f"hints-{id_}")

    def answer(match, text):
        number = f"{chapter.number}.{len(chapter.answers) + 1}"
        id_ = f"{here}-answer-{len(chapter.answers) + 1}"
        body = text[match.end() - match.start() : -len("</details>")].strip()
        chapter.answers.append((number, title, id_, body))
        return _elsewhere(f"Answer {number} is on page", f"at-{id_}", id_)

    article = _replaced(article, HINTS, hints)
    return _replaced(article, FOLDED, answer)


def _replaced(text, start, make):
    """The text with each outermost <details> that begins as `start` replaced by what
    make(match, the whole of it) returns.
    """
    out, done = [], 0
    for match in start.finditer(text):
        if match.start() >= done:
            end, depth = match.start(), 0
            for tag in re.compile(r"<(/?)details\b[^>]*>").finditer(text, match.start()):
                depth += -1 if tag[1] else 1
                end = tag.end()
                if not depth:
                    break
            out += [text[done : match.start()], make(match, text[match.start() : end])]
            done = end
    return "".join([*out, text[done:]])


def _elsewhere(said, there, here=""):
    id_ = f' id="{here}"' if here else ""
    return f'<p class="elsewhere"{id_}>{said} <a class="page" href="#{there}"></a></p>\n'


def _lines(match):
    """Code whose long lines are blocks, so that what goes on in the next line can be marked."""
    lines = match[1].split("\n")
    shown = "".join(
        f'<span class="long">{line}</span>' if len(text_of(line)) > COLUMNS else f"{line}\n"
        for line in lines
    )
    short = ' class="short"' if len(lines) <= SHORT else ""
    return f"<pre{short}>{shown}</pre>"


def _with_pages(article):
    """The list of a lesson's sections and exercises, with the pages they begin on."""

    def contents(match):
        return re.sub(
            r'<a\b[^>]*\shref="#([^"]+)"[^>]*>.*?</a>',
            r'\g<0> <a class="page" href="#\1"></a>',
            match[0],
            flags=re.S,
        )

    article = re.sub(
        r"<h2>(Sections and exercises)</h2>", r'<p class="contents-title">\1</p>', article
    )
    return re.sub(r'<ol class="lesson-contents">.*?</ol>', contents, article, flags=re.S)


# The document.


def document(site, title, edition, chapters, paper, numbers):
    """The HTML to print.

    paper    "a4" or "letter"
    numbers  {id: page}, as they were found in an earlier print; {} before
    """
    static = (site / "_static").as_uri()
    ends = [end for end in (_hints(chapters), _answers(chapters)) if end]
    every = [*chapters, *ends]
    styles = ("pygments.css", "katex/katex.min.css", "book.css", "paper.css")
    links = [f'<link rel="stylesheet" href="{static}/{name}">' for name in styles]
    scripts = [  # set formulas; drawings show their first state without theirs
        f'<script defer src="{static}/{name}"></script>'
        for name in ("katex/katex.min.js", "book.js")
    ]
    bodies = [
        f'<div class="chapter" style="page: c{number}">\n{chapter.body}</div>\n'
        for number, chapter in enumerate(every, 1)
    ]
    text = f"""<!DOCTYPE html>
<html lang="en" data-theme="light">
<head>
<meta charset="utf-8">
<title>{html.escape(title)}</title>
{"".join(links)}
<style>
{_sheets(paper, every)}
</style>
{"".join(scripts)}
</head>
<body class="bd-article">
<div class="title-page"><p class="title">{html.escape(title)}</p>
<p>Edition {html.escape(edition)}</p></div>
{_contents(every)}
{"".join(bodies)}
</body>
</html>
"""
    return NUMBER.sub(lambda match: f"{match[1]}{numbers.get(match[2], UNKNOWN)}", text)


def _sheets(paper, chapters):
    """The size of a page, and the head of each chapter's."""
    rules = [f"@page {{ size: {PAPERS[paper]}; }}"]
    for number, chapter in enumerate(chapters, 1):
        head = re.sub(r'(["\\<])', r"\\\1", words(chapter.title))
        rules.append(f'@page c{number} {{ @top-right {{ content: "{head}"; }} }}')
    return "\n".join(rules)


def _contents(chapters):
    rows = []
    for chapter in chapters:
        below = "".join(f"<li>{_row(title, id_)}</li>\n" for title, id_ in chapter.entries)
        rows.append(
            f"<li>{_row(chapter.title, chapter.id)}" + (f"<ul>{below}</ul>" if below else "")
        )
    listed = "</li>\n".join(rows)
    return f'<nav class="contents"><h1>Contents</h1>\n<ul>\n{listed}</li>\n</ul></nav>'


def _row(title, id_):
    return f'<a class="to" href="#{id_}">{title}</a><i></i><a class="page" href="#{id_}"></a>'


def _hints(chapters):
    """The appendix with the hints; None where there are none."""

    def part(hint):
        exercise, id_, text = hint
        return (
            f'<div class="hints" id="hints-{id_}"><p class="of"><b>{exercise}</b> '
            f'page <a class="page" href="#{id_}"></a></p>\n{text}</div>\n'
        )

    return _appendix(
        "hints",
        "Hints",
        "Each says more than the one before it. Read one, then try again.",
        [(chapter, [part(hint) for hint in chapter.hints]) for chapter in chapters],
    )


def _answers(chapters):
    """The appendix with the answers to predictions; None where there are none."""

    def part(answer):
        number, section, id_, text = answer
        return (
            f'<div class="answer" id="at-{id_}"><p class="of"><b>Answer {number}</b> '
            f'{section}, page <a class="page" href="#{id_}"></a></p>\n{text}</div>\n'
        )

    return _appendix(
        "answers",
        "Answers",
        "What the code prints or draws where the text asks for a prediction.",
        [(chapter, [part(answer) for answer in chapter.answers]) for chapter in chapters],
    )


def _appendix(id_, title, about, groups):
    groups = [(chapter, parts) for chapter, parts in groups if parts]
    if not groups:
        return None
    appendix = Chapter(id_, title)
    appendix.entries = [(chapter.title, f"{id_}-{chapter.id}") for chapter, _ in groups]
    bodies = (
        f'<section id="{id_}-{chapter.id}"><h2>{chapter.title}</h2>\n{"".join(parts)}</section>\n'
        for chapter, parts in groups
    )
    appendix.body = (
        f'<section class="page" id="{id_}"><h1>{title}</h1>\n<p>{about}</p>\n'
        f"{''.join(bodies)}</section>\n"
    )
    return appendix
