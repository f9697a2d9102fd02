"""Markdown as HTML, with the addresses that links and the search lead to: of sections, paragraphs,
items and rows. One `Prose` renders the texts of a page in their order.

Beside CommonMark it reads tables, formulas in `$` and, in the course's own pages, HTML, lists of
definitions, and boxes:

    ::: lesson-card
    The text in a box of this class.
    :::
"""

import functools
import html
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tito.html import formula_html, parser

NUMBER = re.compile(r"^\d+\.\d+ ")
WORDS = {"csv": "text", "sh": "bash"}  # what Pygments calls a language
LINKS = re.compile(r"</?a\b[^>]*>")


@dataclass
class Heading:
    """A heading of a page.

    level  1 of the title
    id     its address, and `other` the one that earlier editions of the site gave it
    """

    level: int
    id: str
    other: str
    html: str


@dataclass
class Prose:
    """Renders the texts of a page.

    trusted   whether it may hold HTML
    opening   attributes of the first section
    headings  of the texts so far
    links     {address: the line of the first link that has it}
    problems  [(line, what is wrong)]
    is_boxed  whether what comes is in a box: a heading there begins no section
    """

    trusted: bool = False
    opening: str = ""
    headings: list[Heading] = field(default_factory=list)
    links: dict[str, int] = field(default_factory=dict)
    problems: list[tuple[int, str]] = field(default_factory=list)
    is_boxed: bool = False
    levels: list[int] = field(default_factory=list)  # of the sections that are open
    ids: Counter[str] = field(default_factory=Counter)
    paragraphs: int = 0  # that have an address
    line: int = 0

    def __post_init__(self) -> None:
        self.parser = parser(self.trusted, self.formula)
        if self.trusted:
            from mdit_py_plugins.container import container_plugin
            from mdit_py_plugins.deflist import deflist_plugin

            self.parser.use(deflist_plugin)
            self.parser.use(container_plugin, "box", validate=lambda *_: True, render=_box)

    def html(self, text: str, line: int = 0) -> str:
        """The HTML of a text that begins at a line."""
        tokens, made = self.parser.parse(text), list[Any]()
        for at, token in enumerate(tokens):
            if token.map:
                self.line = line + token.map[0]
            before, after = self.around(tokens, at)
            if token.type in ("fence", "code_block"):
                before, token = self.code(token), None
            elif token.type == "inline":
                self.note_links(token)
            made += [_raw(before)] * bool(before) + [token] * bool(token)
            made += [_raw(after)] * bool(after)
        return str(self.parser.renderer.render(made, self.parser.options, {}))

    def inline(self, text: str) -> str:
        """The HTML of one line of text, without a paragraph around it."""
        return str(self.parser.renderInline(text))

    def around(self, tokens: list[Any], at: int) -> tuple[str, str]:
        """HTML before and after a token, which gets its address."""
        token = tokens[at]
        if token.type.startswith("heading_") and (self.is_boxed or token.level):
            return "", ""
        if token.type == "heading_open":
            heading = self.heading(int(token.tag[1]), tokens[at + 1])
            token.attrSet("id", self.number())
            return self.section(heading), ""
        if token.type == "heading_close":
            link, words = self.headings[-1].id, 'title="Link to this heading"'
            return f'<a class="headerlink" href="#{link}" {words}>#</a>', ""
        if token.type in ("paragraph_open", "tr_open") and not token.hidden:
            token.attrSet("id", self.number())
        elif token.type == "list_item_open" and tokens[at + 1].hidden:
            token.attrSet("id", self.number())
        if token.type == "table_open":
            return '<div class="table">', ""
        return "", "</div>\n" * (token.type == "table_close")

    def number(self) -> str:
        """The next address of a paragraph."""
        self.paragraphs += 1
        return f"p{self.paragraphs}"

    def heading(self, level: int, inline: Any) -> Heading:
        text = "".join(child.content for child in inline.children)
        slug = slug_of(text)
        self.ids[slug] += 1
        if self.ids[slug] > 1:
            slug += f"-{self.ids[slug] - 1}"
        other = re.sub("[^a-z0-9]+", "-", text.lower()).strip("-0123456789")
        self.headings.append(
            Heading(level, slug, other, LINKS.sub("", self.inline(inline.content)))
        )
        return self.headings[-1]

    def section(self, heading: Heading) -> str:
        """Ends sections of this level and below, and begins one."""
        ends, (opening, self.opening) = self.end(heading.level), (self.opening, "")
        self.levels.append(heading.level)
        made = f'{ends}<section{opening} id="{heading.id}">\n'
        if heading.other not in self.ids:
            self.ids[heading.other] += 1
            made += f'<span id="{heading.other}"></span>\n' * bool(heading.other)
        return made

    def end(self, level: int = 0) -> str:
        """What ends the sections that are open, of a level and below."""
        kept = [one for one in self.levels if one < level]
        count, self.levels = len(self.levels) - len(kept), kept
        return "</section>\n" * count

    def code(self, token: Any) -> str:
        language = token.info.strip()
        made = highlighted(token.content, language)
        if not made:
            self.problems.append((self.line, f"{language!r} is no language of code"))
        return made or highlighted(token.content, "text")

    def formula(self, content: str, is_block: bool) -> str:
        made = formula_html(content, is_block)
        if made.startswith("<code>"):
            self.problems.append((self.line, f"the formula {content} cannot be set"))
        return made

    def note_links(self, inline: Any) -> None:
        line = self.line
        for token in inline.children:
            if token.type == "softbreak":
                line += 1
            elif token.type == "link_open":
                address = str(token.attrs["href"])
                if ":" not in address:
                    address = re.sub(r"\.md(#|$)", r".html\1", address)
                    token.attrSet("href", address)
                    self.links.setdefault(address, line)
                if address.endswith(".ipynb"):
                    token.attrSet("download", "")


def slug_of(heading: str) -> str:
    """The anchor of a heading, without its number."""
    text = NUMBER.sub("", re.sub(r"[*`$]", "", heading)).strip().lower().replace(" ", "-")
    return re.sub(r"[^\w\-]", "", text)


def _box(self: Any, tokens: Any, at: int, options: Any, env: Any) -> str:
    if tokens[at].nesting < 0:
        return "</div>\n"
    return f'<div class="{html.escape(tokens[at].info.strip(), quote=True)}">\n'


def _raw(text: str) -> Any:
    from markdown_it.token import Token

    return Token("html_block", "", 0, content=text)


@functools.lru_cache(maxsize=8192)
def highlighted(text: str, language: str = "python") -> str:
    """Code with colours, which `page.css` gives; "" for a language that Pygments does not know."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(WORDS.get(language, language or "text"), stripnl=False)
    except ClassNotFound:
        return ""
    made = highlight(text, lexer, HtmlFormatter(nowrap=True)).rstrip("\n")
    return f'<div class="highlight {language or "text"}"><pre>{made}\n</pre></div>\n'
