"""A long page of the book as several: its first page, and one for each `##`.

A page is split that has the line `<!-- made: sections -->`: there the first page lists its sections
and their subsections, which keep their addresses, so that `teaching.html#lateness` is still found.
Links to what moved lead to the new pages.
"""

import html
import itertools
import posixpath
import re

from tito.book.pages import slug_of

MARK = re.compile(r"^<!-- made: sections -->$", re.M)
FENCE = re.compile(r"^ *(`{3,}|~{3,})")
HEADING = re.compile(r"^(#{2,3}) +(.+)$")
LINK = re.compile(r"(?<=\]\()(?:[\w./-]+\.(?:md|ipynb|html|svg|png))?(?:#[^)\s]*)?(?=\))")


def pages(sources):
    """{path: text} of the pages, those with a mark split."""
    out, moved = {}, {}
    for name, text in sources.items():
        if name.endswith(".md") and MARK.search(text):
            parts, anchors = _split(name.removesuffix(".md"), text)
            out |= parts
            moved |= {f"{name}#{anchor}": place for anchor, place in anchors.items()}
        else:
            out[name] = text
    if not moved:
        return out
    return {
        name: _relinked(name, text, moved) if name.endswith(".md") else text
        for name, text in out.items()
    }


def at_home(messages):
    """Sphinx's messages with the file that a part of a page comes from: its lines are those."""
    return re.sub(r"\bbook[\\/](\w+)[\\/][\w-]+\.md", r"book/\1.md", messages)


def _split(name, text):
    """({path: text}, {anchor in the whole page: its place now}) of one page."""
    lines = text.split("\n")
    headings = list(_headings(lines))
    starts = [number for number, level, _ in headings if level == 2]
    parts, anchors, rows = {}, {}, []
    for start, end in itertools.pairwise([*starts, len(lines)]):
        inside = [(level, title) for number, level, title in headings if start <= number < end]
        title = inside[0][1]
        path = f"{name}/{_slug(title)}"
        if f"{path}.md" in parts:
            path += "-again"
        below = [_slug(lower) for _, lower in inside[1:]]
        anchors |= {_slug(title): f"{path}.md"}
        anchors |= {slug: f"{path}.md#{slug}" for slug in below}
        body = lines[start:end]
        for number, level, lower in headings:
            if start <= number < end:
                body[number - start] = f"{'#' * (level - 1)} {lower}"
        # empty lines above keep the numbers of the lines, for what Sphinx complains about
        parts[f"{path}.md"] = "\n" * start + "\n".join(body)
        listed = "".join(
            f'<li id="{slug}"><a href="{path}.html#{slug}">{_words(lower)}</a></li>'
            for slug, (_, lower) in zip(below, inside[1:], strict=True)
        )
        rows.append(
            f'<li id="{_slug(title)}"><a class="section-link" href="{path}.html">'
            f"{_words(title)}</a>{f'<ul>{listed}</ul>' if listed else ''}</li>"
        )
    toctree = "\n".join(path.removesuffix(".md") for path in parts)
    contents = (
        '<ol class="lesson-contents page-contents">\n' + "\n".join(rows) + "\n</ol>\n\n"
        f"```{{toctree}}\n:hidden:\n\n{toctree}\n```"
    )
    first = "\n".join(lines[: starts[0]] if starts else lines)
    return {f"{name}.md": MARK.sub(lambda _: contents, first)} | parts, anchors


def _slug(title):
    return slug_of(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title))


def _headings(lines):
    """(line, level, title) of the headings of level 2 and 3."""
    for number in _prose(lines):
        if match := HEADING.match(lines[number]):
            yield number, len(match[1]), match[2].strip()


def _prose(lines):
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


def _relinked(name, text, moved):
    """The text with its links as they lead from where it stands now."""
    home, here = f"{name.partition('/')[0].removesuffix('.md')}.md", posixpath.dirname(name)

    def link(match):
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
    for number in _prose(lines):
        lines[number] = LINK.sub(link, lines[number])
    return "\n".join(lines)


def _words(title):
    """A heading's words as HTML: what stands between backticks as code."""
    parts = html.escape(re.sub(r"\[([^\]]*)\]\([^)]*\)|[*$]", r"\1", title)).split("`")
    return "".join(
        f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts)
    )
