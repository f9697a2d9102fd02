"""The book: a site made from the lessons themselves and from the pages in `book/`.

    execute.py          runs lessons and milestones, and keeps what they print and draw
    pages.py            a lesson or a milestone as the notebooks that become its pages
    sections.py         splits a long page of the book into one page per section
    drawings.py         the drawings of `book/drawings`, and where they go in the lessons
    generated_parts.py  generated parts of other pages: the table of lessons, the commands, what
                        the programs in `book/` print
    search.py           the index of the search, made from the finished pages
    verify_site.py      checks the finished site: links, alt texts, other hosts, and solutions in
                        the learner's edition
    lite.py             the lessons in the browser, below the site (optional)
    print_document.py   the site as one document for paper
    pdf.py              prints that document (optional)

Everything goes into `book/_build/` of the course: `EDITION/html` is the site, which was read back
as a whole before it came there; the rest is kept for the next build. What Sphinx sets and how is in
`book/conf.py`; a course without a `book/` folder is set as the one that tito came with.
"""

import contextlib
import io
import os
import re
import shutil
import time
import zlib
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler
from importlib.metadata import version
from pathlib import Path

from tito import files
from tito.author import downloaded_notebook
from tito.book import pages
from tito.errors import MachineError, TitoError, UsageError, WorkError
from tito.learn import milestone
from tito.lesson import course, notebook, site_settings

EXTRA = "`bin/setup book` installs it."
WATCHED = ("_dev.py", ".md", ".css", ".js", "conf.py", ".html", ".json", ".svg", ".toml")
LIBRARIES = (
    "docutils",
    "myst-nb",
    "myst-parser",
    "pydata-sphinx-theme",
    "pygments",
    "sphinx",
    "sphinx-book-theme",
    "sphinx-copybutton",
)  # that a page depends on
COLOUR = "\x1b\\[[0-9;]*m"
MADE_BY = "made-by.txt"
ASSET = re.compile(r'(?<=["/])(_static/[\w./-]+\.(?:css|js))(?:\?v=[0-9a-f]+)?(?=")')
NOTE = ".tito-book"  # a folder with this file is a book, which the next one may replace


@dataclass
class Built:
    """The site: its folder, the pages in it, the seconds it took, the lessons and milestones that
    were run for it; and of the lessons in the browser what one should know.
    """

    path: Path
    edition: str
    pages: int
    seconds: float
    ran: list
    lite: str = ""


def build(
    root,
    edition=pages.LEARNER,
    fast=False,
    output=None,
    report=lambda name, done, of: None,
    browser=False,
    pyodide=None,
    commands=(),
):
    """Make the site of a course. Returns a Built.

    edition  "learner", to publish: no solution and no hidden check is in any file; or "author"
    fast     without running the lessons: pages without outputs, in a moment
    output   a new folder, or an earlier book's; None for `book/_build/EDITION/html`
    report   is called with each lesson or milestone that was run, how
             many are done, and of how many
    browser  with the lessons in the browser, in the site's folder `lite`
    commands [(who it is for, "tito book build", click's command)], for the page that lists them
    pyodide  the folder of the Python for them; None for tito.toml's, or for no Python

    Raises WorkError for whatever the author must mend: a cell that fails, a milestone
    below its bar, a picture without alt text, a link that leads nowhere, a page that asks another
    host, any warning of Sphinx; and MachineError when the learner's edition gives something away.
    An earlier site stays as it was then.
    """
    from tito.book import execute, lite, search, verify_site

    began = time.monotonic()
    refuse(root, edition, output)
    if pyodide and not browser:
        raise UsageError(
            f"--pyodide {pyodide} is for the lessons in the browser.",
            "Give --lite, too: tito book build --lite --pyodide DIR",
        )
    settings = site_settings.read(root.path)
    runtime = (
        lite.runtime(root, pyodide or settings.pyodide, settings.pyodide_packages)
        if browser
        else None
    )
    button = lite.button(runtime) if browser else ""
    site, work = site_folder(root), root.path / "book" / "_build"
    folder = work / edition
    ran = []

    def run(name, done, of):
        ran.append(name)
        report(name, done, of)

    try:
        package = execute.package(root, work / "package")
        outputs = (
            {} if fast else execute.outputs(root, work / "package", package, work / "executed", run)
        )
        sources = _sources(
            root, site, settings, edition, outputs, work / "package", button, commands
        )
        for gone in _lay_out(folder / "source", sources):
            _remove_page(folder, gone)
        _sphinx(root, site, folder)
        search.write(root, folder / "set")
        _name_assets(folder / "set")
        (folder / "set" / NOTE).write_text(
            f"Made by `tito book build --edition {edition}`.\n", encoding="utf-8"
        )
        (folder / "set" / ".nojekyll").touch()  # GitHub would leave out folders such as _static
        shutil.rmtree(folder / "set" / "lite", ignore_errors=True)
        if browser:
            lite.make(root, work / "lite", runtime, folder / "set" / "lite")
        verify_site.read_back(root, folder / "set", edition)
        place = output or folder / "html"
        _copy(folder / "set", place)
    except OSError as error:
        raise MachineError(
            f"{error.filename or work} was not written: {error.strerror or error}.",
            "Free some space, or make its folder writable.",
        ) from None
    return Built(
        place,
        edition,
        len(
            [
                name
                for name in sources
                if name.startswith(("lessons/", "milestones/")) or name.endswith(".md")
            ]
        ),
        time.monotonic() - began,
        ran,
        lite.warning(runtime) if browser else "",
    )


def site_folder(root):
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


def refuse(root, edition, output):
    """Raise TitoError where no book can be made, or not there."""
    import importlib.util

    if not root.is_course:
        raise UsageError(
            f"{root.path} is a workspace; the book is made from the course.",
            "Run it in the course, or name it with --root.",
        )
    if edition not in (pages.AUTHOR, pages.LEARNER):
        raise UsageError(
            f"--edition {edition!r} is neither author nor learner.",
            "The learner's has no solutions; that is the one to publish.",
        )
    if (
        output
        and output.exists()
        and not (output / NOTE).exists()
        and (not output.is_dir() or any(output.iterdir()))
    ):
        raise UsageError(f"{output} is not empty, and no earlier book.", "Give a new folder.")
    for name in ("myst_nb", "sphinx_book_theme", "ipykernel"):
        if not importlib.util.find_spec(name):
            raise MachineError(f"The book is made with {name}, which is not installed here.", EXTRA)


# What Sphinx is given.


def _sources(root, site, settings, edition, outputs, package, button, commands):
    """{path: text} of every page, as Sphinx reads it, and of the notebooks to take away.

    button  what the front page's link to a lesson in the browser says; "" without them
    """
    from tito.book import drawings, generated_parts, sections

    drawn = drawings.drawings(root, package)
    out = {"conf.py": (site / "conf.py").read_text(encoding="utf-8")}
    for path in sorted((root.path / "book").glob("*.md")):
        out[path.name] = path.read_text(encoding="utf-8")
    out.setdefault("index.md", generated_parts.plain_index(root))
    of_pages = {drawing["name"]: drawing["html"] for drawing in drawn if not drawing["lesson"]}
    out = {
        name: generated_parts.fill(name, text, root, package, commands, of_pages, button)
        if name.endswith(".md")
        else text
        for name, text in out.items()
    }
    out = sections.pages(out)
    for entry in root.lessons:
        out[f"notebooks/{entry.notebook.name}"] = notebook.with_start(
            notebook.to_notebook(entry.declared.released, entry.declared),
            downloaded_notebook.first_cells(entry, settings),
        )
        out |= pages.notebooks(
            entry,
            edition,
            outputs.get(f"lessons/{entry.folder}", {}),
            _links(entry, settings, bool(button)),
            [drawing for drawing in drawn if drawing["lesson"] == entry.name],
        )
    for program in milestone.milestones(root):
        name = f"milestones/{program.path.stem}"
        out[f"{name}.ipynb"] = pages.of_milestone(root, program, outputs.get(name, {}))
    return out


def _links(entry, settings, browser):
    """Where to get or open the lesson: a copy beside the page, in the browser, and in the released
    repository where there is one.
    """
    path = entry.relative(entry.notebook)
    links = [("notebook", f"path:../notebooks/{entry.notebook.name}")]
    if browser:
        links.append(("in the browser", f"lite:{entry.folder}/{entry.notebook.name}"))
    if settings.release:
        links += [("Binder", settings.binder(path)), ("Colab", settings.colab(path))]
    return links


def _lay_out(folder, texts):
    """Make `folder` hold the files `texts` ({path: text}); what is right already keeps its time.

    Returns what else was there, deleted.
    """
    stale = [
        path
        for path in folder.rglob("*")
        if path.is_file() and path.relative_to(folder).as_posix() not in texts
    ]
    for path in stale:
        path.unlink()
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_bytes() != text.encode("utf-8"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8"))
    return stale


def _remove_page(folder, source):
    """Delete what Sphinx made of a source that is gone: it would leave it."""
    page = folder / "set" / source.relative_to(folder / "source").with_suffix(".html")
    page.unlink(missing_ok=True)
    if page.parent != folder / "set" and page.parent.is_dir() and not any(page.parent.iterdir()):
        page.parent.rmdir()


def _sphinx(root, site, folder):
    """Run Sphinx over `here/source`. What an earlier build made stays, but for the pages that have
    changed, or that show something of one that has (see `book/conf.py`).

    Raises WorkError with its warnings, each at its place in the course.
    """
    from sphinx.application import Sphinx
    from sphinx.errors import SphinxError
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    made_by = _made_by(site)
    if not (folder / MADE_BY).exists() or (folder / MADE_BY).read_text("utf-8") != made_by:
        for name in ("set", "doctrees"):
            shutil.rmtree(folder / name, ignore_errors=True)
    shutil.rmtree(folder / "set" / "_static", ignore_errors=True)  # is copied anew
    (folder / MADE_BY).unlink(missing_ok=True)  # until all is well
    messages = io.StringIO()
    options = {
        "project": root.name,
        "version": root.edition,
        "release": root.edition,
        "html_title": root.name,
        "language": "en",
        "templates_path": [str(site / "_templates")],  # a new list: the theme adds to it
        "html_static_path": [str(site / "_static")],
        "html_favicon": str(site / "_static" / "icon.svg"),
    }
    try:
        with patch_docutils(str(folder / "source")), docutils_namespace(), _quiet():
            Sphinx(
                str(folder / "source"),
                str(folder / "source"),
                str(folder / "set"),
                str(folder / "doctrees"),
                "html",
                confoverrides=options,
                status=None,
                warning=messages,
            ).build()
    except SphinxError as error:
        messages.write(f"ERROR: {error}\n")
    if warnings := _at_home(root, site, folder / "source", messages.getvalue()):
        if _told_again(folder / "source", messages.getvalue()):
            (folder / MADE_BY).write_text(made_by, encoding="utf-8")
        raise WorkError(
            f"The book was not made; Sphinx says:\n{warnings}", "Mend each, then build it again."
        )
    (folder / MADE_BY).write_text(made_by, encoding="utf-8")


def _told_again(source, messages):
    """Whether each of Sphinx's warnings names its page: then these are as if they had changed, so
    that the next build reads them and complains of what is not mended, and the others stay.
    """
    told = [
        re.match(rf"{re.escape(str(source))}[^:]+\.(ipynb|md)(?=:)", line)
        for line in re.sub(COLOUR, "", messages).splitlines()
        if re.search(r"\b(WARNING|ERROR|CRITICAL|SEVERE): ", line)
    ]
    if not told or not all(told):
        return False
    for found in told:
        Path(found[0]).touch()
    return True


def _made_by(site):
    """What pages are made by, as text: settings, templates, the versions of the libraries. When it
    has changed, or the last build came to no good end, nothing is kept from that build.
    """
    versions = "".join(f"{name} {version(name)}\n" for name in LIBRARIES)
    made_of = [site / "conf.py", *sorted((site / "_templates").glob("*.html"))]
    return versions + "".join(path.read_text(encoding="utf-8") for path in made_of)


def _name_assets(html):
    """Let every page ask for scripts and styles by a checksum: pages that were kept, too, and also
    for the files that Sphinx adds in the end. So no browser uses an old one.
    """
    checksums = {
        path.relative_to(html).as_posix(): f"{zlib.crc32(path.read_bytes()):08x}"
        for path in html.glob("_static/**/*")
        if path.suffix in (".css", ".js")
    }

    def named(match):
        return f"{match[1]}?v={checksums[match[1]]}" if match[1] in checksums else match[0]

    for path in html.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        if (new := ASSET.sub(named, text)) != text:
            path.write_text(new, encoding="utf-8")


@contextlib.contextmanager
def _quiet():
    """Without what libraries warn of while Sphinx works: it is about them, not about the book."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _at_home(root, site, source, messages):
    """Sphinx's warnings, each at its line of a lesson or of a page of the course."""
    from tito.book import sections

    messages = re.sub(COLOUR, "", messages).strip()
    if not messages:
        return ""
    for entry in root.lessons:
        for page, first in pages.first_lines(entry).items():
            messages = re.sub(
                rf"{re.escape(str(source / page))}\.ipynb(:\d+)?",
                lambda found: (
                    entry.relative(entry.script)  # noqa: B023 used at once
                    + (f":{int(found[1][1:]) + first}" if found[1] else "")  # noqa: B023
                ),
                messages,
            )
    for program in milestone.milestones(root):
        messages = messages.replace(
            str(source / "milestones" / f"{program.path.stem}.ipynb"),
            (milestone.SOURCE / program.path.name).as_posix(),
        )
    messages = messages.replace(f"{source}{os.sep}", "book/")
    return sections.at_home(messages)


def _copy(html, output):
    """Make `output` a copy of the site.

    An earlier book there goes only when the new one stands beside it.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    new = output.with_name(f".{output.name}{files.SUFFIX}")
    shutil.rmtree(new, ignore_errors=True)
    shutil.copytree(html, new)
    if output.exists():
        shutil.rmtree(output)
    os.replace(new, output)


def serve(root, edition, fast, port, ready, report, complain, commands=()):
    """Make the site, show it under 127.0.0.1, and make it again whenever a lesson or a
    page is saved; until Ctrl-C.

    ready     is called with the address, once it answers
    report    is called with each Built
    complain  is called with the TitoError of a build that failed: what is shown stays as it was
    """
    import functools
    import logging
    import threading
    from http.server import ThreadingHTTPServer

    import watchfiles

    logging.getLogger("watchfiles").setLevel(logging.WARNING)
    report(build(root, edition, fast, commands=commands))
    site_folder = root.path / "book" / "_build" / edition / "html"
    handler = functools.partial(_Silent, directory=site_folder)
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        raise MachineError(
            f"Port {port} cannot be used: {error.strerror}.",
            "Give another one: tito book serve --port 8001",
        ) from None
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        folders = [
            folder
            for folder in (
                root.path / course.SOURCE,
                root.path / milestone.SOURCE,
                root.path / "book",
            )
            if folder.is_dir()
        ]
        announced = False
        for changes in watchfiles.watch(
            *folders, watch_filter=_is_source, rust_timeout=300, yield_on_timeout=True
        ):
            if not announced:  # now, when no save is missed any more
                ready(f"http://127.0.0.1:{server.server_address[1]}/")
                announced = True
            if not changes:
                continue
            try:
                report(
                    build(course.open_root(root.path), edition, fast, commands=commands)
                )  # opened anew: a root reads its lessons once
            except TitoError as error:
                complain(error)


def _is_source(change, path):
    return "_build" not in path and (
        path.endswith(WATCHED)
        or path.endswith(".py")
        and (
            Path(path).parts[-3:-1] == milestone.SOURCE.parts
            or Path(path).parts[-3:-1] == ("book", "drawings")
        )
    )


class _Silent(SimpleHTTPRequestHandler):
    """Answers with files and writes no line for each."""

    def log_message(self, *words):
        pass
