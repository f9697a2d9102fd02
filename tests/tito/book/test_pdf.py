"""The book as a PDF: what typst sets, read back; and what keeps it from being printed."""

import importlib.util
import re

import pytest
from commands import run_process
from small_course import make_course

pytest.importorskip("typst", reason="the book is printed with typst, of the extra `print`")

from tito.book import build, pdf  # noqa: E402
from tito.errors import TitoError  # noqa: E402
from tito.lesson import course  # noqa: E402

MM = 72 / 25.4
FAST = build.Options(fast=True)
LONG = "x" * 60 + " " + "y" * 160
SECTION = f'''
# %% [markdown]
# ## Long lines
#
# Predict: what does this print? A formula: $\\frac{{1}}{{2}} \\odot \\hat{{p}}$, and
# [there](https://example.org/a), or in [lesson 02](../lessons/02_sums.ipynb).
#
# | a | b |
# | --- | --- |
# | one cell | another |

# %% tags=["answer"]
print("forty" + "-two")

# %%
long = "{LONG}"  # goes on

# %%
import matplotlib.pyplot as plt

plt.plot([1, 2])
plt.show()
# caption: What a "line" *means*.
# alt: A line
'''
# Headings at every height of a page, also at its end.
MANY = "".join(
    f"\n# %% [markdown]\n# ## Part {n}\n#\n# {'A line of prose. ' * (7 * n % 61)}\n"
    for n in range(1, 25)
)


def refused(root, **options):
    with pytest.raises(TitoError) as found:
        pdf.make(root, **{"options": FAST} | options)
    assert found.value.remedy
    return found.value.what, found.value.code


def with_text(small_course, text):
    path = small_course.lesson("numbers").script
    path.write_text(f"{path.read_text('utf-8')}\n# %% [markdown]\n# {text}\n", encoding="utf-8")
    return course.open_root(small_course.path)


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


@pytest.mark.parametrize("missing", ["pypandoc", "typst"])
def test_without_what_it_is_made_with_it_says_what_to_install(small_course, monkeypatch, missing):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda n, *w: n != missing and find(n, *w))
    what, code = refused(small_course)
    assert f"made with {missing}, which is not installed here" in what and code == 3


@pytest.mark.parametrize("formula", [r"$\nonsense{x}$", r"$\begin{array}{cc} a & b$"])
def test_a_formula_that_cannot_be_translated_is_named_with_its_lesson(small_course, formula):
    what, code = refused(with_text(small_course, f"It is {formula}, as a formula."))
    assert what.startswith("modules/source/01_numbers/numbers_dev.py: the formula ")
    assert formula.strip("$") in what and code == 1


def test_a_formula_that_typst_does_not_know_is_named_with_its_lesson(small_course, monkeypatch):
    pandoc = pdf.to_typst
    monkeypatch.setattr(
        pdf, "to_typst", lambda *given: pandoc(*given).replace("dot.o", "dot.nonsense")
    )
    what, code = refused(with_text(small_course, r"It is $x$, and $a \odot b$."))
    assert r"numbers_dev.py: the formula $a \odot b$ cannot be printed" in what and code == 1


def test_an_earlier_pdf_stays_when_none_can_be_made(small_course, tmp_path):
    path = tmp_path / "book.pdf"
    path.write_bytes(b"%PDF-earlier")
    root = with_text(small_course, r"$\nonsense{x}$")
    assert refused(root, output=path)[1] == 1
    assert path.read_bytes() == b"%PDF-earlier" and list(tmp_path.rglob(".pdf-*")) == []


def test_the_authors_are_those_to_cite(small_course):
    assert pdf.read_authors(small_course) == []
    (small_course.path / "CITATION.cff").write_text(
        "authors:\n  - name: The team\n  - {given-names: Ada, family-names: Lovelace}\n",
        encoding="utf-8",
    )
    assert pdf.read_authors(small_course) == ["The team", "Ada Lovelace"]


def test_a_link_to_a_lesson_that_is_not_printed_leaves_its_words(small_course, tmp_path):
    root = with_text(small_course, "See [lesson 02](../lessons/02_sums.ipynb#adding).")
    texts = {}
    for lessons in ([], [root.lesson("numbers")]):
        chapters = pdf.collect_chapters(root, lessons, {}, tmp_path)
        texts[len(lessons)] = chapters[0].text
    assert "See [lesson 02](#02_sums)." in texts[0] and "See lesson 02." in texts[1]


# What is printed: one small course, read back.


@pytest.mark.slow
def test_what_is_printed(tmp_path):
    """Contents and outline agree with the places of headings; hints and answers are at the end; no
    solution, no raw formula, and no line of code beyond the margin."""
    from pypdf import PdfReader

    root = make_course(tmp_path / "small")
    with (root / "modules/source/01_numbers/numbers_dev.py").open("a", encoding="utf-8") as script:
        script.write(SECTION + MANY)
    said = run_process(root, "book", "build", "-o", "../book.pdf", "--paper", "letter")
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
        assert re.search(rf"{re.escape(name)}[ .]+{number}\b", contents), (name, number, contents)
        assert name in texts[number - 1]
    parts = [(title, number) for title, number in outline if " Part " in title]
    assert len(parts) == 24 and len({number for _, number in parts}) > 3
    for title, number in parts:
        assert re.search(rf"{re.escape(title)}[ .]+{number}\b", contents)

    # Hints and answers at the end, with the way there.
    hints, answers = (dict(outline)[name] for name in ("Hints", "Answers"))
    assert "What is a number plus itself?" not in " ".join(texts[: hints - 1])
    assert "What is a number plus itself?" in texts[hints - 1]
    assert f"2 hints at the end, on page {hints}" in whole
    assert "forty-two" in texts[answers - 1] and whole.count("forty-two") == 1
    assert f"Answer 1.1 is on page {answers}" in whole
    assert "twice = x + x" not in whole and "secret" not in whole
    assert "\\" not in whole and "(https://example.org/a)" in whole and "one cell" in whole
    assert 'What a "line" *means*.' in whole
    plots = [
        page for page in reader.pages if b"0.12156863 0.46666667" in page.get_contents().get_data()
    ]
    assert len(plots) == 1 and "plt.show" in plots[0].extract_text()  # in matplotlib's first colour

    # The long line is there, and within the margins.
    shown = "".join("".join(page.extract_text().split()) for page in reader.pages)
    assert LONG.replace(" ", "") in shown.replace("↪", "")
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
