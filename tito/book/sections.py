"""Splits a long page of the book: its first page, and one for each `##`.

A page that has the line `<!-- made: sections -->` is split: there the first page lists its sections
and their subsections, which keep their addresses, so that `teaching.html#lateness` still works.
Links to what moved lead to the new pages.
"""

import html
import itertools
import posixpath
import re
from collections.abc import Iterator

from tito.book.pages import contents_row, hidden_toctree, slug_of

MARK = re.compile(r"^<!-- made: sections -->$", re.M)
FENCE = re.compile(r"^ *(`{3,}|~{3,})")
HEADING = re.compile(r"^(#{2,3}) +(.+)$")
LINK = re.compile(r"(?<=\]\()(?:[\w./-]+\.(?:md|ipynb|html|svg|png))?(?:#[^)\s]*)?(?=\))")


def split_pages(sources: dict[str, str]) -> dict[str, str]:
    """{path: text} of the pages, those with a mark split."""
    pages: dict[str, str] = {}
    moved: dict[str, str] = {}  # {anchor in a whole page: its place now}
    for name, text in sources.items():
        if MARK.search(text):
            parts, anchors = _split(name.removesuffix(".md"), text)
            pages |= parts
            moved |= {f"{name}#{anchor}": place for anchor, place in anchors.items()}
        else:
            pages[name] = text
    return {name: _relink(name, text, moved) for name, text in pages.items()} if moved else pages


def with_places_of_pages(messages: str) -> str:
    """Sphinx's messages with the file that a part of a page comes from: its lines are those."""
    return re.sub(r"\bbook[\\/](\w+)[\\/][\w-]+\.md", r"book/\1.md", messages)


def _split(name: str, text: str) -> tuple[dict[str, str], dict[str, str]]:
    """({path: text}, {anchor in the whole page: its place now}) of one page."""
    lines = text.split("\n")
    headings = list(_headings(lines))
    starts = [number for number, level, _ in headings if level == 2]
    parts: dict[str, str] = {}
    anchors: dict[str, str] = {}
    rows = []
    for start, end in itertools.pairwise([*starts, len(lines)]):
        inside = [heading for heading in headings if start <= heading[0] < end]
        (_, _, title), *below = inside
        path = f"{name}/{_slug(title)}"
        if f"{path}.md" in parts:
            path += "-again"
        anchors[_slug(title)] = f"{path}.md"
        anchors |= {_slug(lower): f"{path}.md#{_slug(lower)}" for _, _, lower in below}
        body = lines[start:end]
        for number, level, lower in inside:
            body[number - start] = f"{'#' * (level - 1)} {lower}"
        # empty lines above keep the numbers of the lines, for Sphinx's warnings
        parts[f"{path}.md"] = "\n" * start + "\n".join(body)
        titles = [(_slug(low), _slug(low), _as_html(low)) for _, _, low in below]
        rows.append(contents_row(path, _as_html(title), titles, _slug(title)))
    contents = '<ol class="lesson-contents page-contents">\n' + "\n".join(rows) + "\n</ol>\n\n"
    contents += hidden_toctree([path.removesuffix(".md") for path in parts])
    first = "\n".join(lines[: starts[0]] if starts else lines)
    return {f"{name}.md": MARK.sub(lambda _: contents, first)} | parts, anchors


def _slug(title: str) -> str:
    return slug_of(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title))


def _headings(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """(line, level, title) of the headings of level 2 and 3."""
    for number in _prose_lines(lines):
        if match := HEADING.match(lines[number]):
            yield number, len(match[1]), match[2].strip()


def _prose_lines(lines: list[str]) -> Iterator[int]:
    """The numbers of the lines that are no code."""
    fence = ""
    for number, line in enumerate(lines):
        if match := FENCE.match(line):
            if not fence:
                fence = match[1]
            elif line.strip().startswith(fence) and not line.strip(f" {fence[0]}"):
                fence = ""
        elif not fence:
            yield number


def _relink(name: str, text: str, moved: dict[str, str]) -> str:
    """The text with its links as they lead from its place now."""
    home, here = f"{name.partition('/')[0].removesuffix('.md')}.md", posixpath.dirname(name)

    def link(match: re.Match[str]) -> str:
        path, mark, anchor = match[0].partition("#")
        if not (path or anchor):
            return ""
        target = posixpath.normpath(path) if path else home
        place = moved.get(f"{target}#{anchor}", f"{target}{mark}{anchor}")
        where, mark, anchor = place.partition("#")
        if where == name:
            return f"#{anchor}" if anchor else posixpath.basename(where)
        return posixpath.relpath(where, here or ".") + mark + anchor

    lines = text.split("\n")
    for number in _prose_lines(lines):
        lines[number] = LINK.sub(link, lines[number])
    return "\n".join(lines)


def _as_html(title: str) -> str:
    """A heading as HTML: the text between backticks as code."""
    parts = html.escape(re.sub(r"\[([^\]]*)\]\([^)]*\)|[*$]", r"\1", title)).split("`")
    return "".join(
        f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts)
    )
