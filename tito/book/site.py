"""The site's pages as HTML: each with the contents of the site, of its lesson, and of itself."""

import hashlib
import html
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tito.book.pages import SitePage
from tito.errors import WorkError
from tito.page import render
from tito.page.parts import Section
from tito.page.prose import Prose

CONTENTS = re.compile(r"^<!-- contents ([^:\n]+): ([^\n]*) -->$", re.M)
SEARCHED = ' data-pagefind-body data-pagefind-meta="within[data-within]" data-within="{}"'
Picture = tuple[str, str]  # its type, its data as in an output


@dataclass
class Made:
    """A page that was rendered."""

    page: SitePage
    prose: Prose
    body: str

    @property
    def path(self) -> str:
        return self.page.path

    @property
    def title(self) -> str:
        """Its title, as HTML."""
        return self.prose.headings[0].html if self.prose.headings else html.escape(self.path)


@dataclass
class Site:
    """Renders the pages of a site.

    name      its title
    groups    [(title, paths of pages)]: its contents
    pictures  {path in the site: picture}
    places    {(file, a link in it): the line of the source that has it}
    """

    name: str
    groups: list[tuple[str, list[str]]]
    pictures: dict[str, Picture] = field(default_factory=dict)
    places: dict[tuple[str, str], str] = field(default_factory=dict)

    def render(self, pages: Sequence[SitePage]) -> dict[str, str]:
        """{path in the site: HTML}. Raises WorkError for a formula or a language of code that
        cannot be shown, and for a page that the contents do not lead to.
        """
        titles: dict[str, str] = {}
        made = {page.path: self.body(page, titles) for page in pages}
        problems = [
            f"{one.page.line(line)}: {what}."
            for one in made.values()
            for line, what in one.prose.problems
        ]
        order = self.order(made)
        problems += [
            f"{one.page.place}: the contents of the first page do not have it."
            for path, one in made.items()
            if path not in order
        ]
        if problems:
            what = "\n".join(["The book was not made:", *problems])
            raise WorkError(what, "Correct each, then build it again.")
        texts = {f"{path}.html": self.page(made, order, path) for path in made}
        search = SitePage("search", "")
        return texts | {"search.html": self.whole(made, Made(search, Prose(), SEARCH), [], {})}

    def body(self, page: SitePage, titles: dict[str, str]) -> Made:
        prose = Prose(trusted=True, opening=SEARCHED.format(titles.get(page.home, "")))
        body = render.Body(prose, lambda *picture: self.picture(page, picture), page.marks)
        made = Made(
            page, prose, CONTENTS.sub("", body.html([Section("", page.path, parts=page.parts)]))
        )
        titles[page.path] = html.escape(text_of(made.title), quote=True)
        for address, line in prose.links.items():
            self.places[f"{page.path}.html", address] = page.line(line)
        return made

    def picture(self, page: SitePage, picture: Picture) -> str:
        kind, data = picture
        name = hashlib.sha256(data.encode()).hexdigest()[:16]
        path = f"_images/{name}.{kind.rpartition('/')[2].removesuffix('+xml')}"
        self.pictures[path] = picture
        return self.relative(page.path, path)

    def relative(self, page: str, path: str) -> str:
        return posixpath.relpath(path, posixpath.dirname(page) or ".")

    def order(self, made: dict[str, Made]) -> list[str]:
        """The pages in the order in which they are read."""
        listed = ["index", *(path for _, paths in self.groups for path in paths)]
        return [
            path
            for first in listed
            for path in made
            if path == first or made[path].page.home == first
        ]

    def page(self, made: dict[str, Made], order: list[str], path: str) -> str:
        one, at = made[path], order.index(path)
        beside = {
            name: {"href": self.relative(path, f"{other}.html"), "title": made[other].title}
            for name, number in (("previous", at - 1), ("next", at + 1))
            if 0 <= number < len(order)
            for other in [order[number]]
        }
        home = one.page.home or path
        pages = [other for other in order if home in (other, made[other].page.home)]
        contents = [
            link
            for other in (pages if len(pages) > 1 else [])
            for link in [
                self.link(path, made, other) | {"page": True},
                *(render.headings(one.prose.headings, 3) if other == path else []),
            ]
        ]
        return self.whole(made, one, contents or render.headings(one.prose.headings, 2), beside)

    def link(self, path: str, made: dict[str, Made], to: str) -> dict[str, Any]:
        href = self.relative(path, f"{to}.html") if to != path else "#"
        return render.link(href, made[to].title, here=to == path)

    def whole(
        self,
        made: dict[str, Made],
        one: Made,
        contents: list[dict[str, Any]],
        beside: dict[str, dict[str, str]],
    ) -> str:
        read = one.page.home or one.path
        opened = next(
            (t for t, paths in self.groups if read in paths), next((t for t, _ in self.groups), "")
        )
        groups = [
            {
                "title": title,
                "open": title == opened,
                "links": [
                    self.link(one.path, made, path) | {"here": path == read} for path in paths
                ],
            }
            for title, paths in self.groups
        ]
        title = text_of(one.title) if one.path != "search" else "Search"
        root = self.relative(one.path, ".") + "/"
        return render.page(
            title=self.name if one.path == "index" else f"{title} - {self.name}",
            site=self.name,
            root=root,
            home=f"{root}index.html",
            head=self.head(one, root),
            attributes="",
            groups=groups,
            contents=contents if one.path != "index" else [],
            kind={"index": "front"}.get(one.path, ""),
            body=one.body,
            end="",
            search=True,
            **beside,
        )

    def head(self, one: Made, root: str) -> str:
        """The styles and scripts that a page needs, and no other."""
        scripts = ["page.js", "search.js"]
        if one.path.startswith("lessons/"):
            scripts.append("lesson.js")
        if one.path == "glossary":
            scripts.append("glossary.js")
        if drawings := [*dict.fromkeys(render.DRAWING.findall(one.body))]:
            scripts += ["drawing.js", *(f"drawings/{name}.js" for name in drawings)]
        return "\n".join(
            [
                f"<script>{render.THEME}</script>",
                f'<link rel="icon" href="{root}_static/icon.svg">',
                f'<link rel="stylesheet" href="{root}_static/page.css">',
                *(f'<script defer src="{root}_static/{name}"></script>' for name in scripts),
            ]
        )


SEARCH = """<h1>Search</h1>
<noscript><p>The search needs JavaScript. Without it, use the contents of the site.</p></noscript>
<form class="search" role="search">
<input type="search" name="q" aria-label="Search" placeholder="Search" autocomplete="off">
</form>
"""


def text_of(made: str) -> str:
    """The text of a title that is HTML."""
    return html.unescape(re.sub(r"<[^>]*>", "", made))


def read_groups(text: str) -> Iterator[tuple[str, list[str]]]:
    """[(title, paths of pages)] of the first page's contents."""
    for match in CONTENTS.finditer(text):
        yield match[1], match[2].split()
