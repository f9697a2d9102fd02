"""Verify the finished site, file by file, before it is moved to its place.

Every link within the site has a target, every picture has an alt text, no page or style loads
anything from another host, and no file contains a line of a solution or of a hidden check: neither
a page nor a notebook or an output. (The search's index is made from the verified pages.)
"""

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tito.author import leaks
from tito.book import in_browser
from tito.errors import MachineError, WorkError
from tito.lesson.course import Root

LOADED = {"object": "data"} | dict.fromkeys(
    ("script", "img", "iframe", "audio", "video", "source", "embed"), "src"
)  # {tag: the attribute whose address a browser loads}
# Links `<link rel="...">` that a browser loads.
LOADED_LINKS = set(
    "stylesheet preload modulepreload prefetch preconnect dns-prefetch icon shortcut".split()
)
STYLE = re.compile(r"""(?:url\(\s*["']?|@import\s+["'])((?:https?:)?//[^"')\s]+)""")
PYTHON = f"{in_browser.FOLDER}/pyodide/"  # Python's own files, which are no solutions
PICTURES = (".png", ".jpeg", ".jpg", ".woff2")
SHOWN = 10  # problems in one message


@dataclass
class PageContents:
    """A page's links, what it loads, its ids, its pictures without alt text, and its text."""

    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    without_alt: list[str] = field(default_factory=list)
    text: str = ""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page, self.values = PageContents(), list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        page, values = self.page, {name: value or "" for name, value in attrs}
        self.values += values.values()
        page.ids.update(values[key] for key in ("id", "name") if key in values)
        if tag == "img" and not values.get("alt", "").strip():
            if values.get("role") != "presentation":
                page.without_alt.append(values.get("src", ""))
        if address := values.get(LOADED.get(tag, "")):
            page.loads.append(address)
        if tag == "link" and not LOADED_LINKS.isdisjoint(values.get("rel", "").split()):
            page.loads.append(values.get("href", ""))
        if tag == "a" and "href" in values:
            page.links.append(values["href"])
        page.loads += STYLE.findall(values.get("style", ""))

    def handle_data(self, data: str) -> None:
        self.page.text += data  # code in its own lines

    handle_comment = handle_data


def read_page(text: str) -> PageContents:
    reader = _Reader()
    reader.feed(text)
    reader.close()
    reader.page.text = "\n".join([reader.page.text, *reader.values])
    return reader.page


def verify(
    root: Root,
    folder: Path,
    pages: dict[str, PageContents],
    places: Mapping[tuple[str, str], str] = {},
) -> None:
    """Raise WorkError with the places of what is wrong in the site; MachineError when it
    contains a solution or a hidden check.

    pages   {path in the site: page}
    places  {(path of a page, a link on it): where its source has it}
    """
    paths = {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    _refuse_secrets(root, paths, pages)
    problems = [
        problem
        for name in pages
        for problem in _problems_of_page(name, pages, paths.keys(), places)
    ]
    for name, path in paths.items():
        if name.endswith(".css"):
            addresses = STYLE.findall(path.read_text(encoding="utf-8"))
            problems += [f"{name}: asks another host: {address}" for address in addresses]
    if problems:
        more = f"\n... {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        raise WorkError(
            "The book was not made:\n" + "\n".join(problems[:SHOWN]) + more,
            "Correct these pages' sources, then build it again.",
        )


def _problems_of_page(
    name: str,
    pages: dict[str, PageContents],
    files: Collection[str],
    places: Mapping[tuple[str, str], str],
) -> Iterator[str]:
    """What is wrong in one page, as sentences."""
    page = pages[name]
    for address in page.loads:
        if urlsplit(address).netloc:
            yield f"{name}: asks another host: {address}"
    for source in page.without_alt:
        yield f"{name}: a picture without alt text: {source}"
    for address in dict.fromkeys(page.links + page.loads):
        url = urlsplit(address)
        if url.scheme or url.netloc or address == "#":
            continue
        path = posixpath.join(posixpath.dirname(name), unquote(url.path))
        target = posixpath.normpath(path) if url.path else name
        place = places.get((name, address), name)
        if target not in files:
            yield f"{place}: a link that leads nowhere: {address}"
        elif url.fragment and target in pages and unquote(url.fragment) not in pages[target].ids:
            yield f"{place}: a link to a heading that {target} does not have: {address}"


def _refuse_secrets(root: Root, paths: dict[str, Path], pages: dict[str, PageContents]) -> None:
    secrets = leaks.secrets(root)
    texts: dict[str, str] = {}
    for name, path in paths.items():
        if name in pages:
            texts[name] = pages[name].text
        elif not name.endswith(PICTURES) and not name.startswith(PYTHON):
            texts.update(leaks.texts_of({name: path.read_bytes()}))
    finder = leaks.TextSearch(secrets)
    # A short line of a script, such as `return shape;`, is in a solution by chance.
    scripts = {name for name in texts if name.endswith(".js")}
    leaked = {line for line in _find(finder, texts, scripts) if len(line) >= leaks.LONG}
    modules = {name for name in texts if leaks.is_program(root, name)}
    for name in modules:
        found = finder.find_in(texts[name])
        leaked |= leaks.without_chance(root, name, texts[name], found, secrets)
    leaked |= _find(finder, texts, texts.keys() - scripts - modules)
    if leaked:
        secret = next(secret for secret in secrets if secret in leaked)
        pages_first = sorted(texts, key=lambda name: name in scripts | modules)
        name = next(name for name in pages_first if secret in texts[name])
        raise MachineError(
            f"{name} would give away {secrets[secret]}: {secret[:100]}",
            "No book was built. Remove it from the text that learners read, then build again.",
        )


def _find(finder: leaks.TextSearch, texts: dict[str, str], names: Collection[str]) -> set[str]:
    """What some of the texts contain. Many of their lines are the same, and searched once."""
    lines = dict.fromkeys(line for name in names for line in texts[name].split("\n"))
    return finder.find_in("\n".join(lines))
