"""The book as a PDF: the learner's site on paper (print_document.py), printed by Chromium.

The numbers in the contents are read from a first print; a second has them in place, and they are
read again, until they agree.
"""

import os
import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tito import files, programs
from tito.book import build, pages, print_document
from tito.errors import MachineError, UsageError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
)
OLDEST = 131  # the first that prints page numbers of a style sheet's own
INSTALL = (
    "Install Chromium or Chrome (Debian: apt install chromium), "
    "or playwright and its browser: playwright install chromium."
)
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
    root,
    lessons=(),
    sheet="a4",
    output=None,
    fast=False,
    report=lambda name, done, of: None,
    commands=(),
):
    """Print the learner's edition of a course. Returns a Printed.

    lessons  those to print; none for the whole book
    sheet    "a4" or "letter"
    output   the file; None for one in `book/_build/`, named after the course or the lessons
    others   as in `build.build`, which makes the site first, in a folder that is deleted then

    Raises UsageError for a paper or file that cannot be meant, MachineError without a Chromium.
    An earlier PDF stays as it was then.
    """
    began = time.monotonic()
    if sheet not in print_document.PAPERS:
        raise UsageError(f"--paper {sheet!r} is neither a4 nor letter.", "a4 is 210 by 297 mm.")
    name = "-".join(entry.name for entry in lessons) or re.sub(r"\W+", "-", root.name.lower())
    build.refuse(root, pages.LEARNER, None)
    work = root.path / "book" / "_build"
    path = output or work / f"{name}.pdf"
    _refuse(path)
    program = chromium()
    work.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(files.SUFFIX, ".pdf-", work))
    try:  # a site of its own: the one that is there may have been made in another way
        site = build.build(
            root, pages.LEARNER, fast, folder / "site", report=report, commands=commands
        ).path
        wanted = [f"lessons/{entry.folder}.html" for entry in lessons]
        chapters, numbers = print_document.read(site, wanted or None), {}
        for turn in range(1, PRINTS + 1):
            report(f"print {turn}", turn - 1, 2)
            page, printed = folder / "book.html", folder / "book.pdf"
            text = print_document.document(site, root.name, root.edition, chapters, sheet, numbers)
            page.write_text(text, encoding="utf-8")
            _print(program, page, printed, folder)
            before, (numbers, count) = numbers, read_numbers(printed)
            if numbers == before:
                break
        else:
            raise MachineError(
                f"After {PRINTS} prints the page numbers in the contents still move.",
                "This is a fault of tito; another --paper may do.",
            )
        data = printed.read_bytes()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    files.write(path, data)
    return Printed(path, count, sheet, len(data), time.monotonic() - began)


def _refuse(path):
    import importlib.util

    if path.is_dir() or path.is_file() and not path.read_bytes()[:5] == b"%PDF-":
        raise UsageError(f"{path} is there, and is no PDF.", "Give a new file, or an earlier PDF.")
    if not importlib.util.find_spec("pypdf"):
        raise MachineError("The PDF is made with pypdf, which is not installed here.", build.EXTRA)


def chromium():
    """The Chromium or Chrome of this machine; else the one of playwright.

    Raises MachineError where there is none, or one that is too old.
    """
    found = (shutil.which(name) for name in NAMES)
    path = next(filter(None, found), None) or next(filter(os.path.exists, PLACES), None)
    if not (path := path or _playwrights()):
        raise MachineError("The PDF is printed by Chromium, which is not installed here.", INSTALL)
    version = re.search(r"(\d+)\.\d+\.\d+", programs.run([path, "--version"], timeout=60).stdout)
    if version and int(version[1]) < OLDEST:
        raise MachineError(
            f"{path} is version {version[1]}; page numbers need {OLDEST} or newer.", INSTALL
        )
    return path


def _playwrights():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    with sync_playwright() as driver:
        path = driver.chromium.executable_path
    return path if os.path.exists(path) else None


def _print(program, page, pdf, folder):
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
        f"--user-data-dir={folder / 'profile'}",
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


def read_numbers(path):
    """({id: number of its page} of every place in a PDF that a link leads to, number of pages)."""
    from pypdf import PdfReader

    reader = PdfReader(path)
    found = {
        name.removeprefix("/"): reader.get_destination_page_number(place) + 1
        for name, place in reader.named_destinations.items()
    }
    return found, len(reader.pages)
