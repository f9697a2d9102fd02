"""The book as a PDF: the site on paper (print_document.py), printed by Chromium.

The page numbers in the contents are read from a first print; a second shows them, and they are
read again, until they agree.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tito import files, programs
from tito.book import build, print_document
from tito.book.print_document import Book
from tito.errors import MachineError, UsageError
from tito.lesson.course import Entry, Root

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
)
INSTALL = "Install Chromium or Chrome, 131 or newer (Debian: apt install chromium)."
SECONDS = 900  # a print may take
PRINTS = 4  # at most, until the numbers agree


@dataclass
class Printed:
    """The PDF: its file, how many pages of which paper, its bytes, and the seconds it took with the
    site it was made of.
    """

    path: Path
    pages: int
    paper: str
    size: int
    seconds: float


def make(
    root: Root,
    lessons: Sequence[Entry] = (),
    paper: str = "a4",
    output: Path | None = None,
    options: build.Options = build.Options(),
) -> Printed:
    """Print the book of a course.

    lessons  those to print; none for the whole book
    paper    "a4" or "letter"
    output   the file; None for one in `book/_build/`, named after the course or the lessons
    options  of `build.build`, which makes the site first, in a folder that is deleted afterwards

    Raises UsageError for an impossible paper or file, MachineError without a Chromium.
    An earlier PDF stays as it was then.
    """
    began = time.monotonic()
    if paper not in print_document.PAPERS:
        raise UsageError(f"--paper {paper!r} is neither a4 nor letter.", "a4 is 210 by 297 mm.")
    name = "-".join(entry.name for entry in lessons) or re.sub(r"\W+", "-", root.name.lower())
    work = root.path / "book" / "_build"
    path = output or work / f"{name}.pdf"
    build.refuse(root, options)
    _refuse(path)
    program = find_chromium()
    work.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(files.SUFFIX, ".pdf-", work))
    try:  # a separate site: the one that is there may have been made with other options
        site = build.build(root, replace(options, output=folder / "site")).path
        selected = [f"lessons/{entry.folder}.html" for entry in lessons]
        chapters = print_document.read_chapters(site, selected)
        book = Book(site, root.name, root.edition, read_authors(root), paper, chapters)
        pages = _print_until_numbers_agree(program, book, folder, options.report)
        data = (folder / "book.pdf").read_bytes()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    files.write(path, data)
    return Printed(path, pages, paper, len(data), time.monotonic() - began)


def read_authors(root: Root) -> list[str]:
    """The names of the authors in the course's CITATION.cff; none without one."""
    import yaml  # type: ignore[import-untyped]  # myst-nb needs it, too

    path = root.path / "CITATION.cff"
    cited = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}
    return [
        author.get("name") or f"{author['given-names']} {author['family-names']}"
        for author in cited.get("authors", [])
    ]


def _refuse(path: Path) -> None:
    """Raise TitoError where no PDF can be written, or none can be read."""
    if path.is_dir() or path.is_file() and not path.read_bytes()[:5] == b"%PDF-":
        raise UsageError(f"{path} is there, and is no PDF.", "Give a new file, or an earlier PDF.")
    if not importlib.util.find_spec("pypdf"):
        raise MachineError("The PDF is made with pypdf, which is not installed here.", build.EXTRA)


def find_chromium() -> str:
    """The Chromium or Chrome of this machine; MachineError where there is none."""
    for path in [*map(shutil.which, NAMES), *filter(os.path.exists, PLACES)]:
        if path:
            return path
    raise MachineError("The PDF is printed by Chromium, which is not installed here.", INSTALL)


def _print_until_numbers_agree(program: str, book: Book, folder: Path, report: build.Report) -> int:
    """Print `book.pdf` into the folder. Returns the number of its pages."""
    page, printed = folder / "book.html", folder / "book.pdf"
    numbers: dict[str, int] = {}
    for turn in range(1, PRINTS + 1):
        report(f"print {turn}", turn - 1, 2)
        page.write_text(print_document.document(book, numbers), encoding="utf-8")
        _print(program, page, printed)
        before, (numbers, count) = numbers, read_numbers(printed)
        if numbers == before:
            return count
    raise MachineError(
        f"After {PRINTS} prints the page numbers in the contents still move.",
        "This is a fault of tito; another --paper may do.",
    )


def _print(program: str, page: Path, pdf: Path) -> None:
    """Let Chromium print a page of HTML when its scripts are done. It asks no other host."""
    command = [
        program,
        "--headless",
        "--disable-gpu",
        "--disable-extensions",
        "--disable-background-networking",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--no-first-run",
        "--allow-file-access-from-files",  # for the fonts of formulas
        f"--user-data-dir={pdf.with_name('profile')}",
        "--virtual-time-budget=20000",  # until fonts are loaded, too
        "--no-pdf-header-footer",
        "--generate-pdf-document-outline",
        f"--print-to-pdf={pdf}",
        page.as_uri(),
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.insert(1, "--no-sandbox")  # as root there is none
    try:
        done = programs.run(command, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise MachineError(
            f"{program} has not printed the book in {SECONDS} s.",
            "Print some lessons: tito book pdf LESSON",
        ) from None
    if done.returncode or not pdf.exists():
        last = (done.stderr.strip().splitlines() or ["it says nothing about why"])[-1]
        raise MachineError(
            f"{program} did not print the book: {last}", "Does it start at all? " + INSTALL
        )


def read_numbers(path: Path) -> tuple[dict[str, int], int]:
    """({id: number of its page} of every place in a PDF that a link leads to, number of pages)."""
    from pypdf import PdfReader

    reader = PdfReader(path)
    numbers = {
        name.removeprefix("/"): (reader.get_destination_page_number(place) or 0) + 1
        for name, place in reader.named_destinations.items()
    }
    return numbers, len(reader.pages)
