"""The book as a PDF: what Chromium prints, read back; and what keeps it from being printed."""

import re
import shutil
import sys
from types import SimpleNamespace

import pytest
from browsers import chromium
from commands import run_process
from small_course import make_course

pytest.importorskip(
    "pypdf",
    reason="the book is printed with Sphinx, myst-nb and pypdf: they are in the extra `book`",
)

from tito.book import pdf  # noqa: E402
from tito.errors import TitoError  # noqa: E402

MM = 72 / 25.4
LONG = "x" * 60 + " " + "y" * 160
SECTION = f'''
# %% [markdown]
# ## Long lines
#
# Predict: what does this print? A formula: $\\frac{{1}}{{2}}$, and [there](https://example.org/a).

# %% tags=["answer"]
print("forty" + "-two")

# %%
long = "{LONG}"  # goes on
'''

# Headings at every height of a page, also at its end.
MANY = "".join(
    f"\n# %% [markdown]\n# ## Part {n}\n#\n# {'A line of prose. ' * (7 * n % 61)}\n"
    for n in range(1, 25)
)


def refused(root, **options):
    with pytest.raises(TitoError) as found:
        pdf.make(root, **options)
    assert found.value.remedy
    return found.value.what, found.value.code


def test_an_unknown_paper_size_is_refused(small_course):
    assert refused(small_course, paper="a5") == ("--paper 'a5' is neither a4 nor letter.", 2)


def test_a_file_that_is_no_pdf_is_left_alone(small_course, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("mine", encoding="utf-8")
    what, code = refused(small_course, output=path)
    assert "is there, and is no PDF" in what and code == 2
    assert path.read_text(encoding="utf-8") == "mine"


def test_a_workspace_is_no_book(small_workspace):
    assert "is a workspace" in refused(small_workspace)[0]


@pytest.mark.skipif(sys.platform == "win32", reason="the program is a script of a shell")
def test_without_a_chromium_it_says_what_to_install(small_course, tmp_path, monkeypatch):
    monkeypatch.setattr(pdf, "PLACES", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    what, code = refused(small_course)
    assert "Chromium, which is not installed here" in what and code == 3
    (tmp_path / "chromium").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "chromium").chmod(0o755)
    assert pdf.find_chromium() == str(tmp_path / "chromium")


def test_a_chromium_that_prints_nothing_is_reported(tmp_path):
    page = tmp_path / "book.html"
    page.touch()
    with pytest.raises(TitoError, match="did not print the book: it says nothing about why"):
        pdf._print(shutil.which("true"), page, tmp_path / "book.pdf")


def test_the_authors_are_those_to_cite(small_course):
    assert pdf.read_authors(small_course) == []
    (small_course.path / "CITATION.cff").write_text(
        "authors:\n  - name: The team\n  - {given-names: Ada, family-names: Lovelace}\n",
        encoding="utf-8",
    )
    assert pdf.read_authors(small_course) == ["The team", "Ada Lovelace"]


@pytest.fixture
def printer(small_course, tmp_path, monkeypatch):
    """A site of one page, and a fake Chromium that records the document to print. `found`: what is
    read from each print.
    """
    site = tmp_path / "site"
    site.mkdir()
    text = '<article><section id="a"><h1>Small</h1></section></article>'
    (site / "index.html").write_text(text, encoding="utf-8")
    fake = SimpleNamespace(texts=[], found=[])

    def written(program, page, path):
        fake.texts.append(page.read_text(encoding="utf-8"))
        path.write_bytes(b"%PDF-" + str(len(fake.texts)).encode())

    monkeypatch.setattr(pdf, "find_chromium", lambda: "chromium")
    monkeypatch.setattr(pdf.build, "build", lambda *words, **more: SimpleNamespace(path=site))
    monkeypatch.setattr(pdf, "_print", written)
    monkeypatch.setattr(pdf, "read_numbers", lambda path: (fake.found[len(fake.texts) - 1], 9))
    return fake


def test_it_is_printed_until_the_page_numbers_agree(small_course, printer, tmp_path):
    printer.found = [{"p1": 3}, {"p1": 4}, {"p1": 4}]
    printed = pdf.make(small_course, output=tmp_path / "new" / "book.pdf")
    shown = [re.search(r"const numbers = (.*);", text)[1] for text in printer.texts]
    assert shown == ["{}", '{"p1": 3}', '{"p1": 4}']
    assert printed.path.read_bytes() == b"%PDF-3" and (printed.pages, printed.size) == (9, 6)
    assert list(tmp_path.rglob(".pdf-*")) == []


def test_an_earlier_pdf_stays_when_none_can_be_made(small_course, printer, tmp_path):
    path = tmp_path / "book.pdf"
    path.write_bytes(b"%PDF-earlier")
    printer.found = [{"p1": number} for number in range(9)]
    what, code = refused(small_course, output=path)
    assert "After 4 prints the page numbers" in what and code == 3
    assert path.read_bytes() == b"%PDF-earlier" and list(tmp_path.rglob(".pdf-*")) == []


# What is printed: one small course, read back.


@pytest.mark.slow
def test_what_is_printed(tmp_path):
    """Contents and outline agree with the places of headings; hints and answers are at the end; no
    solution, no raw formula, and no line of code beyond the margin."""
    from pypdf import PdfReader

    with chromium():
        pass  # skipped where there is none
    root = make_course(tmp_path / "small")
    with (root / "modules/source/01_numbers/numbers_dev.py").open("a", encoding="utf-8") as script:
        script.write(SECTION + MANY)
    said = run_process(root, "book", "pdf", "-o", "../book.pdf", "--paper", "letter")
    assert said.returncode == 0, said.stderr
    reader = PdfReader(tmp_path / "book.pdf")
    assert f"{len(reader.pages)} pages of letter" in said.stdout
    assert tuple(reader.pages[0].mediabox[2:]) == (612, 792)
    assert not (root / "book" / "_build" / "html").exists()
    texts = [" ".join(page.extract_text().split()) for page in reader.pages]
    whole = " ".join(texts)

    # The outline, the contents and the pages agree.
    outline = flat(reader, reader.outline)
    names = ["01. Numbers", "1.1 Doubling", "1.3 Long lines", "02. Sums", "Hints", "Answers"]
    assert [name for name, _ in outline if name in names][:3] == names[:3]
    contents = texts[1]
    assert "Contents" in contents
    for name in names:
        number = next(number for title, number in outline if title == name)
        assert re.search(rf"{re.escape(name)} {number}\b", contents), (name, number, contents)
        assert name in texts[number - 1]
    parts = [f"{title} {number}" for title, number in outline if " Part " in title]
    assert [part for part in parts if part not in contents] == [] and len(parts) == 24
    assert len({part.split()[-1] for part in parts}) > 3

    # Hints and answers at the end, with the way there.
    hints, answers = (dict(outline)[name] for name in ("Hints", "Answers"))
    assert "What is a number plus itself?" not in " ".join(texts[: hints - 1])
    assert "What is a number plus itself?" in texts[hints - 1]
    assert f"2 hints at the end, on page {hints}" in whole
    assert "forty-two" in texts[answers - 1] and whole.count("forty-two") == 1
    assert "twice = x + x" not in whole and "secret" not in whole
    assert r"\frac" not in whole and "(https://example.org/a)" in whole

    # The long line is there, and within the margins.
    shown = "".join("".join(page.extract_text().split()) for page in reader.pages)
    assert LONG.replace(" ", "") in shown
    edges = [edge for page in reader.pages for edge in right_edges(page)]
    assert len(edges) > 20 and max(edges) <= 612 - 17 * MM


def flat(reader, entries):
    """[(title, number of its page)] of an outline."""
    found = []
    for entry in entries:
        if isinstance(entry, list):
            found += flat(reader, entry)
        else:
            found.append((entry.title, reader.get_destination_page_number(entry) + 1))
    return found


def right_edges(page):
    """Where the pieces of code on a page end, in points: its letters are .602 of their size."""
    edges = []

    def visit(text, cm, tm, font, size):
        if font and "Mono" in font.get("/BaseFont", "") and text.strip():
            scale = abs(cm[0] * tm[0])
            left = cm[0] * tm[4] + cm[4]
            edges.append(left + len(text.rstrip("\n")) * 0.602 * size * scale)

    page.extract_text(visitor_text=visit)
    return edges
