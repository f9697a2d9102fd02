"""The book: a site made from the lessons themselves and from the pages in `book/`.

    execute.py          runs lessons and milestones, and caches their output
    pages.py            a lesson or a milestone as the notebooks that become its pages
    drawings.py         the drawings of `book/drawings`, and where they go in the lessons
    generated_parts.py  generated parts of other pages: the table of lessons, the commands, what
                        the programs in `book/` print
    verify_site.py      checks the finished site: links, alt texts, other hosts, solutions
    serve.py            shows the site on this machine, and makes it again at each save
    pdf.py              the same parts on paper, without Sphinx (optional)

The output is in `book/_build/` of the course. The site is verified before it is put into `html`.
Pagefind makes the index of its search, and `book/_static/search.js` asks it.
`book/conf.py` configures Sphinx; a course without a folder `book/` uses the configuration of the
course that tito came with.
"""

import asyncio
import contextlib
import hashlib
import importlib.util
import inspect
import io
import json
import os
import pickle
import re
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup

from tito import files
from tito.author import release
from tito.book import (
    downloaded_notebook,
    drawings,
    execute,
    generated_parts,
    pages,
    verify_site,
)
from tito.errors import MachineError, UsageError, WorkError
from tito.learn import milestone
from tito.lesson import course, notebook, site_settings
from tito.lesson.course import Entry, Root

EXTRA = "`bin/setup book` installs it."
COLOUR = "\x1b\\[[0-9;]*m"
NOTE = ".tito-book"  # a folder with this file is a book, which the next one may replace
INDEX = "pagefind"  # the folder of the search's index in a site
# What a search does not find: what repeats other pages or the names of their parts, and hints.
SECTION = re.compile(r'<section id="([^"]+)">\s*<h2')
UNSEARCHED = ".headerlink, summary, .hint, .controls, .says, .lesson-card, .lesson-contents"
Report = Callable[[str, int, int], None]  # a program's name, how many have been run, of how many


@dataclass(frozen=True)
class Options:
    """The options of a build.

    fast      without running the lessons: pages without outputs
    output    a new folder, or an earlier book's; None for `book/_build/html`
    fresh     set all pages; False: only those whose source has changed since the last build, as
              long as the pages are the same; the contents at their left stay as they were
    commands  [(who it is for, "tito book build", click's command)], for the page that lists them
    report    is called with each lesson or milestone that was run
    """

    fast: bool = False
    output: Path | None = None
    fresh: bool = True
    commands: Sequence[generated_parts.Command] = ()
    report: Report = lambda name, done, of: None


@dataclass
class Site:
    """A finished site: its folder, the number of its pages, the seconds it took, and the lessons
    and milestones that were run for it.
    """

    path: Path
    pages: int
    seconds: float
    ran: list[str] = field(default_factory=list)


def build(root: Root, options: Options = Options()) -> Site:
    """Build the site of a course.

    Raises WorkError for whatever the author must fix: a cell that fails, a milestone that misses
    its goal, a picture without alt text, a link that leads nowhere, a page that loads from another
    host, any warning of Sphinx; and MachineError when a file would contain a solution or
    a hidden check. Then an earlier site is not changed.
    """
    began = time.monotonic()
    refuse(root, options)
    work = root.path / "book" / "_build"
    ran: list[str] = []

    def report(name: str, done: int, of: int) -> None:
        ran.append(name)
        options.report(name, done, of)

    try:
        package = execute.write_package(root, work / "package")
        outputs = {} if options.fast else execute.run_all(root, package, work / "executed", report)
        sources = collect_sources(root, options, package.folder, outputs)
        other_pages = _write_sources(work / "source", sources)
        _run_sphinx(root, work, options.fresh or other_pages)
        finished = _finish(work / "site")
        if not options.fast and (archive := _archive(root)):
            _zip_release(root, work / "site" / archive)
        verify_site.verify(root, work / "site", finished)
        _index(work / "site")
        place = options.output or work / "html"
        _copy(work / "site", place)
    except OSError as error:
        raise MachineError(
            f"{error.filename or work} was not written: {error.strerror or error}.",
            "Free some space, or make its folder writable.",
        ) from None
    count = sum(not name.startswith(("notebooks/", "conf.py")) for name in sources)
    return Site(place, count, time.monotonic() - began, ran)


def find_design(root: Root) -> Path:
    """The folder with conf.py, `_static` and the pages: the course's own, or that
    of the course tito came with.
    """
    for folder in (root.path / "book", course.installed_course().path / "book"):
        if (folder / "conf.py").exists():
            return folder
    raise MachineError(
        "This tito came without the book's design (book/conf.py).",
        "Build the book from a checkout of the course.",
    )


def refuse(root: Root, options: Options) -> None:
    """Raise TitoError if the book cannot be built, or not with these options."""
    output = options.output
    if not root.is_course:
        raise UsageError(
            f"{root.path} is a workspace; the book is made from the course.",
            "Run it in the course, or name it with --root.",
        )
    if output and output.exists() and not (output / NOTE).exists():
        if not output.is_dir() or any(output.iterdir()):
            raise UsageError(
                f"{output} is not empty, and is not an earlier book.", "Give a new folder."
            )
    for name in ("myst_nb", "sphinx_book_theme", "ipykernel", "pagefind"):
        if not importlib.util.find_spec(name):
            raise MachineError(f"The book is made with {name}, which is not installed here.", EXTRA)


# The source files for Sphinx.


def collect_sources(
    root: Root, options: Options, package: Path, outputs: dict[str, dict[str, Any]]
) -> dict[str, str]:
    """{path: text} of every page, as Sphinx reads it, of the notebooks to download, and conf.py."""
    settings = site_settings.read(root.path)
    figures = drawings.read_drawings(root, package)
    parts = generated_parts.Parts(
        root,
        package,
        options.commands,
        {figure["name"]: figure["html"] for figure in figures if not figure["lesson"]},
        "" if options.fast else _archive(root),
    )
    _write_results(root, package, outputs)
    texts = {
        path.name: path.read_text(encoding="utf-8")
        for path in sorted((root.path / "book").glob("*.md"))
    }
    texts.setdefault("index.md", generated_parts.plain_index(root))
    sources = {name: parts.fill(name, text) for name, text in texts.items()}
    sources["conf.py"] = (find_design(root) / "conf.py").read_text(encoding="utf-8")
    for entry in root.lessons:
        released = notebook.to_notebook(entry.declared.released, entry.declared)
        sources[f"notebooks/{entry.notebook.name}"] = notebook.with_note(
            released, downloaded_notebook.workspace_note(entry, settings)
        )
        sources |= pages.notebooks(
            entry,
            outputs.get(f"lessons/{entry.folder}", {}),
            _links(entry, settings),
            [figure for figure in figures if figure["lesson"] == entry.name],
        )
    for program in milestone.milestones(root):
        name = f"milestones/{program.path.stem}"
        sources[f"{name}.ipynb"] = pages.of_milestone(root, program, outputs.get(name, {}))
    return sources


def _archive(root: Root) -> str:
    """The name of the zip of the released course in the site; "" for a book that offers none."""
    index = root.path / "book" / "index.md"
    offered = index.exists() and "<!-- made: get -->" in index.read_text(encoding="utf-8")
    return f"{root.package}-{root.edition}.zip" if offered else ""


def _write_results(root: Root, package: Path, outputs: dict[str, dict[str, Any]]) -> None:
    """Write what the milestones printed to where the programs of the book look for it."""
    printed = {
        program.name: "".join(output["text"] for output in found["printed"])
        for program in milestone.milestones(root)
        if (found := outputs.get(f"milestones/{program.path.stem}"))
    }
    (package / "milestones.json").write_text(json.dumps(printed), encoding="utf-8")


def _links(entry: Entry, settings: site_settings.Published) -> list[tuple[str, str]]:
    """Where to get or open the lesson: a notebook to download, and in the released repository where
    there is one.
    """
    path = entry.relative(entry.notebook)
    links = [("notebook", f"path:../notebooks/{entry.notebook.name}")]
    if settings.release:
        links.append(("Binder", settings.binder(path)))
    return links


def _write_sources(folder: Path, texts: dict[str, str]) -> bool:
    """Make `folder` contain the files `texts` ({path: text}) and no others; a file that is right
    already keeps its time, so that Sphinx need not read it again. Returns whether there are other
    files now than before.
    """
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    for name in names - texts.keys():
        (folder / name).unlink()
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_bytes() != text.encode("utf-8"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8"))
    return names != texts.keys()


def _run_sphinx(root: Root, folder: Path, fresh: bool) -> None:
    """Run Sphinx over the folder's `source`, into its `site`.

    Raises WorkError with its warnings, each at its place in the course.
    """
    from sphinx.application import Sphinx
    from sphinx.errors import SphinxError
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    source, site, doctrees = (folder / name for name in ("source", "site", "doctrees"))
    if fresh:
        shutil.rmtree(site, ignore_errors=True)
        shutil.rmtree(doctrees, ignore_errors=True)
    messages = io.StringIO()
    try:
        with patch_docutils(str(source)), docutils_namespace(), _without_warnings():
            Sphinx(
                str(source),
                str(source),
                str(site),
                str(doctrees),
                "html",
                confoverrides=_settings(root),
                status=None,
                warning=messages,
            ).build()
    except SphinxError as error:
        messages.write(f"ERROR: {error}\n")
    if text := _with_places_of_course(root, source, messages.getvalue()):
        shutil.rmtree(doctrees, ignore_errors=True)  # or the next build would not warn again
        raise WorkError(
            f"The book was not made; Sphinx says:\n{text}", "Correct each, then build it again."
        )


def _settings(root: Root) -> dict[str, Any]:
    """Settings of Sphinx in addition to conf.py."""
    design = find_design(root)
    return {
        "project": root.name,
        "version": root.edition,
        "release": root.edition,
        "html_title": root.name,
        "language": "en",
        "templates_path": [str(design / "_templates")],  # a new list: the theme adds to it
        "html_static_path": [str(design / "_static")],
        "html_favicon": str(design / "_static" / "icon.svg"),
    }


@contextlib.contextmanager
def _without_warnings() -> Iterator[None]:
    """Hide Python's warnings while Sphinx runs: they are about libraries, not the book."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _with_places_of_course(root: Root, source: Path, messages: str) -> str:
    """Sphinx's warnings, each with its line of a lesson or of a page of the course."""
    messages = re.sub(COLOUR, "", messages).strip()
    if not messages:
        return ""
    for entry in root.lessons:
        for page, first in pages.first_lines(entry).items():
            place = re.compile(rf"{re.escape(str(source / page))}\.ipynb(?::(\d+))?")
            while match := place.search(messages):
                line = f":{int(match[1]) + first}" if match[1] else ""
                script = entry.relative(entry.script) + line
                messages = messages[: match.start()] + script + messages[match.end() :]
    for program in milestone.milestones(root):
        page_of_program = source / "milestones" / f"{program.path.stem}.ipynb"
        messages = messages.replace(str(page_of_program), execute.place_of_milestone(program))
    return messages.replace(f"{source}{os.sep}", "book/")


def _finish(site: Path) -> dict[str, verify_site.PageContents]:
    """Add the other files of the site to Sphinx's pages. Returns the pages, to be verified."""
    shutil.rmtree(site / INDEX, ignore_errors=True)  # the last build's
    finished = _read_pages(site)
    (site / NOTE).write_text("Made by `tito book build`.\n", encoding="utf-8")
    (site / ".nojekyll").touch()  # GitHub would leave out folders such as _static
    return finished


def _read_pages(site: Path) -> dict[str, verify_site.PageContents]:
    """{path in the site: what is read from it} of every page. A page that is as it was in the last
    build is not read again, because that takes longer than setting it.
    """
    kept = site.with_name("read.pickle")
    before: dict[bytes, verify_site.PageContents] = {}
    with contextlib.suppress(Exception):  # none, half written, or of another version
        before = pickle.loads(kept.read_bytes())
    reader = inspect.getsource(verify_site)
    now: dict[bytes, verify_site.PageContents] = {}
    pages: dict[str, verify_site.PageContents] = {}
    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site).as_posix()
        if name.startswith("_static/"):
            continue
        text = path.read_text(encoding="utf-8")
        key = hashlib.sha256(f"{reader}\0{name}\0{text}".encode()).digest()
        if key in before:
            now[key] = before[key]
        else:
            now[key] = verify_site.read_page(BeautifulSoup(text, "html.parser"))
        pages[name] = now[key]
    files.write(kept, pickle.dumps(now))
    return pages


def _index(site: Path) -> None:
    """Let Pagefind make the index of the search, of each section by itself. Raises MachineError."""
    from pagefind.index import IndexConfig, PagefindIndex

    async def write() -> None:
        config = IndexConfig(
            output_path=str(site / INDEX), exclude_selectors=UNSEARCHED.split(", ")
        )
        async with PagefindIndex(config=config) as index:
            for url, text in _searched(site):
                await index.add_html_file(content=text, url=url)

    try:
        asyncio.run(write())
    except (OSError, RuntimeError, AssertionError) as error:
        raise MachineError(f"Pagefind made no index for the search: {error}", EXTRA) from None
    for path in (site / INDEX).glob("pagefind-*"):  # Pagefind's own boxes and styles
        if path.name not in ("pagefind-entry.json", "pagefind-worker.js"):
            path.unlink()


def _searched(site: Path) -> Iterator[tuple[str, str]]:
    """(address, HTML) of each section that the search finds, and of the text above the first."""
    for path in sorted(site.rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        begin = text.find("<section data-pagefind-body")
        if begin < 0:
            continue
        body = text[begin : text.index("</article>", begin)]
        head = body[: body.index(">") + 1]
        starts = [match.start() for match in SECTION.finditer(body)]
        pieces = map(slice, [0, *starts], [*starts, len(body)])
        for piece in (body[one] for one in pieces):
            if match := SECTION.match(piece):
                piece = head + re.sub(r"<(/?)h2\b", r"<\1h1", piece)
            if "<p" in piece:
                url = f"/{path.relative_to(site).as_posix()}" + (f"#{match[1]}" if match else "")
                yield url, f'<html lang="en"><body>{piece}</section></body></html>'


def _zip_release(root: Root, path: Path) -> None:
    """Write a zip of the released course, which holds no solution."""
    with tempfile.TemporaryDirectory() as folder:
        release.release(root, Path(folder) / root.package)
        shutil.make_archive(str(path.with_suffix("")), "zip", folder, root.package)


def _copy(site: Path, output: Path) -> None:
    """Make `output` a copy of the site. An earlier book is deleted when the copy is complete."""
    output.parent.mkdir(parents=True, exist_ok=True)
    new = output.with_name(f".{output.name}{files.SUFFIX}")
    shutil.rmtree(new, ignore_errors=True)
    shutil.copytree(site, new)
    if output.exists():
        shutil.rmtree(output)
    os.replace(new, output)
