"""The book: a site made from the lessons themselves and from the pages in `book/`.

    execute.py          runs lessons and milestones, and caches their output
    pages.py            the pages of lessons and milestones, as parts
    generated_parts.py  generated parts of other pages: the table of lessons, the commands, what
                        the programs in `book/` print
    site.py             the pages as HTML, with the contents of the site beside each
    verify_site.py      checks the finished site: links, alt texts, other hosts, solutions
    in_browser.py       what a lesson needs that can be done on its page
    serve.py            shows the site on this machine, and makes it again at each save
    pdf.py              the same parts on paper (optional)

`tito/page` renders them, as it does the page of a learner. The output is in `book/_build/` of the
course. The site is verified before it is put into `html`. Pagefind makes the index of its search,
and `search.js` asks it.
"""

import base64
import contextlib
import importlib.util
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tito import child, files
from tito.author import release
from tito.book import (
    downloaded_notebook,
    execute,
    generated_parts,
    in_browser,
    pages,
    site,
    verify_site,
)
from tito.errors import MachineError, UsageError
from tito.learn import milestone
from tito.lesson import notebook, site_settings
from tito.lesson.course import Entry, Root
from tito.page import drawings
from tito.page.parts import STATIC, Part

EXTRA = "`bin/setup book` installs it."
NOTE = ".tito-book"  # a folder with this file is a book, which the next one may replace
INDEX = "pagefind"  # the folder of the search's index in a site
# What a search does not find: what repeats other pages or the names of their parts, and hints.
SECTION = re.compile(r'<section id="([^"]+)">\s*(?:<span id="[^"]+"></span>\s*)?<h2')
UNSEARCHED = ".headerlink, summary, .hint, .controls, .says, .lesson-card, .lesson-contents"
Report = Callable[[str, int, int], None]  # a program that begins to run, its number, of how many


@dataclass(frozen=True)
class Options:
    """The options of a build.

    fast      without running the lessons: pages without outputs
    output    a new folder, or an earlier book's; None for `book/_build/html`
    commands  [(who it is for, "tito book build", click's command)], for the page that lists them
    report    is called with each lesson or milestone that begins to run
    """

    fast: bool = False
    output: Path | None = None
    commands: Sequence[generated_parts.Command] = ()
    report: Report = lambda name, done, of: None


@dataclass
class Site:
    """A finished site: its folder, the number of its pages, the CPU seconds it took, the lessons
    and milestones that were run for it, and notes for its author.
    """

    path: Path
    pages: int
    seconds: float
    ran: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def build(root: Root, options: Options = Options()) -> Site:
    """Build the site of a course.

    Raises WorkError for whatever the author must fix: a cell that fails, a milestone that misses
    its goal, a picture without alt text, a link that leads nowhere, a formula that cannot be set, a
    page that loads from another host; and MachineError when a file would contain a solution or a
    hidden check. Then an earlier site is not changed.
    """
    began = cpu_seconds()
    refuse(root, options)
    work = root.path / "book" / "_build"
    ran: list[str] = []

    def report(name: str, done: int, of: int) -> None:
        ran.append(name)
        options.report(name, done, of)

    try:
        package = execute.write_package(root, work / "package")
        outputs = {} if options.fast else execute.run_all(root, package, work / "executed", report)
        found, groups = collect_pages(root, options, package.folder, outputs)
        tried, notes = _tried(root, work, found)
        made, place = site.Site(root.name, groups), work / "site"
        texts = made.render(found)
        read = {name: verify_site.read_page(text) for name, text in texts.items()}
        contents = {name: text.encode("utf-8") for name, text in (texts | notebooks(root)).items()}
        contents |= {path: _bytes_of(picture) for path, picture in made.pictures.items()}
        _write(place, contents | _static(root) | tried)
        if not options.fast and (archive := _archive(root)):
            _zip_release(root, place / archive)
        verify_site.verify(root, place, read, made.places)
        _index(place)
        _copy(place, options.output or work / "html")
    except OSError as error:
        raise MachineError(
            f"{error.filename or work} was not written: {error.strerror or error}.",
            "Free some space, or make its folder writable.",
        ) from None
    seconds = cpu_seconds() - began
    return Site(options.output or work / "html", len(found), seconds, ran, notes)


def cpu_seconds() -> float:
    """Of this process, and of those that it ran."""
    return sum(os.times()[:4])


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
    for name in ("ipykernel", "pagefind"):
        if not importlib.util.find_spec(name):
            raise MachineError(f"The book is made with {name}, which is not installed here.", EXTRA)


# The files of the site.


def collect_pages(
    root: Root, options: Options, package: Path, outputs: dict[str, dict[str, Any]]
) -> tuple[list[pages.SitePage], list[tuple[str, list[str]]]]:
    """Every page, and the site's contents: [(title, paths of pages)]."""
    settings = site_settings.read(root.path)
    parts = generated_parts.Parts(
        root,
        package,
        options.commands,
        {figure["name"]: figure["html"] for figure in drawings.read(root.path / "book")},
        "" if options.fast else _archive(root),
    )
    _write_results(root, package, outputs)
    texts = {
        path.stem: path.read_text(encoding="utf-8")
        for path in sorted((root.path / "book").glob("*.md"))
    }
    texts.setdefault("index", generated_parts.plain_index(root))
    rows = {name: [*parts.rows(f"{name}.md", text)] for name, text in texts.items()}
    found = [pages.of_text(name, f"book/{name}.md", rows[name]) for name in texts]
    for entry in root.lessons:
        found += pages.of_lesson(
            entry,
            outputs.get(f"lessons/{entry.folder}", {}),
            _links(entry, settings),
            drawings.read(entry.declared_path.parent),
        )
    for program in milestone.milestones(root):
        name = f"milestones/{program.path.stem}"
        found.append(pages.of_milestone(root, program, outputs.get(name, {})))
    return found, [*site.read_groups("\n".join(row for _, row in rows["index"]))]


def notebooks(root: Root) -> dict[str, str]:
    """{path in the site: text} of the lessons' notebooks, as learners get them."""
    settings, texts = site_settings.read(root.path), {}
    for entry in root.lessons:
        released = notebook.to_notebook(entry.declared.released, entry.declared)
        note = downloaded_notebook.workspace_note(entry, settings)
        texts[f"notebooks/{entry.notebook.name}"] = notebook.with_note(released, note)
    return texts


def _static(root: Root) -> dict[str, bytes]:
    """{path in the site: bytes} of what the pages load: tito's styles and scripts, and the files
    of the course's `book/_static`.
    """
    paths = {
        f"_static/{path.relative_to(folder).as_posix()}": path
        for folder in (STATIC, root.path / "book" / "_static")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    own = {NOTE: b"Made by `tito book build`.\n", ".nojekyll": b""}  # or GitHub leaves out _static
    return own | {name: path.read_bytes() for name, path in paths.items()}


def _tried(
    root: Root, work: Path, found: list[pages.SitePage]
) -> tuple[dict[str, bytes], list[str]]:
    """{path in the site: bytes} of the lessons that can be done on their pages, which get a script
    for it; and notes, where that is not possible on this machine.
    """
    try:
        tried = in_browser.contents(root, work / "pyodide")
    except MachineError as error:
        return {}, [f"{error.what} The lessons cannot be tried on their pages. {error.remedy}"]
    for entry in in_browser.lessons(root):
        for page in found:
            if page.home == f"lessons/{entry.folder}":
                page.parts.append(Part("html", in_browser.SCRIPT.format(entry.name)))
    return tried, []


def _bytes_of(picture: site.Picture) -> bytes:
    kind, data = picture
    return data.encode("utf-8") if kind == "image/svg+xml" else base64.b64decode(data)


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
    links = [("notebook", f"../notebooks/{entry.notebook.name}")]
    if settings.release:
        links.append(("Binder", settings.binder(path)))
    return links


def _write(folder: Path, contents: dict[str, bytes]) -> None:
    """Make `folder` contain these files and no others; one that is right already keeps its time."""
    shutil.rmtree(folder / INDEX, ignore_errors=True)  # the last build's
    for path in sorted(folder.rglob("*"), reverse=True):  # files before their folder
        if path.is_dir():
            with contextlib.suppress(OSError):  # it is not empty
                path.rmdir()
        elif path.relative_to(folder).as_posix() not in contents:
            path.unlink()
    for name, data in contents.items():
        path = folder / name
        if not path.exists() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def _index(site: Path) -> None:
    """Let Pagefind make the index of the search, of each section by itself. Raises MachineError."""
    command = [sys.executable, "-I", "-m", "pagefind", "--silent", "--keep-index-url"]
    command += ["--exclude-selectors", UNSEARCHED, "--output-path", str(site / INDEX)]
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), dict(_searched(site)))  # a file's name is its address, with "#anchor"
        process = child.run([*command, "--site", folder, "--glob", "**/*.{html,html#*}"])
    if process.returncode:
        raise MachineError(f"Pagefind made no index for the search: {process.stderr}", EXTRA)
    for path in (site / INDEX).glob("pagefind-*"):  # Pagefind's own boxes and styles
        if path.name not in ("pagefind-entry.json", "pagefind-worker.js"):
            path.unlink()


def _searched(site: Path) -> Iterator[tuple[str, bytes]]:
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
                address = path.relative_to(site).as_posix() + (f"#{match[1]}" if match else "")
                yield address, f"<html lang=en><body>{piece}</section></body></html>".encode()


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
