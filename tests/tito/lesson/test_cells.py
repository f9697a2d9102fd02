"""The fast reader of lesson files agrees with jupytext, and tells what is damaged with file and line."""

import json
from pathlib import Path

import pytest
from small_course import NUMBERS, SUMS

from tito.errors import TitoError
from tito.lesson import cells, course, notebook

COURSE = course.open_root(Path(__file__).resolve().parents[3])
TEXTS = {"numbers": NUMBERS, "sums": SUMS} | {
    e.name: e.script.read_text(encoding="utf-8") for e in COURSE.lessons
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_script_is_read_as_jupytext_reads_it(text):
    mine = cells.parse(Path("x_dev.py"), text)
    jupytext, _ = notebook._libraries()
    theirs = jupytext.reads(text, fmt="py:percent").cells
    assert [(c.kind, c.source.strip(), c.nbgrader) for c in mine.cells] == [
        (c.cell_type, c.source.strip(), c.metadata.get("nbgrader", {})) for c in theirs
    ]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_script_and_notebook_hold_the_same_cells(text):
    script = cells.parse(Path("x_dev.py"), text)
    book = cells.parse(Path("x_dev.ipynb"), notebook.to_notebook(text))
    assert [(c.kind, c.source, c.nbgrader) for c in script.cells] == [
        (c.kind, c.source, c.nbgrader) for c in book.cells
    ]
    assert book.header["tinytorch"] == script.header["tinytorch"]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_cell_knows_its_line_in_the_script(text):
    lines = text.split("\n")
    for cell in cells.parse(Path("x_dev.py"), text).cells:
        first = lines[cell.line - 1]
        assert (
            first.removeprefix("# ").removeprefix("#")
            == cell.source.split("\n")[0].removeprefix("#")
            or first == cell.source.split("\n")[0]
        )
        assert "%%" in lines[cell.line - 1 - cell.gap]


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_line_endings_of_any_system_read_the_same(tmp_path, ending):
    path = tmp_path / "x_dev.py"
    path.write_bytes(b"\xef\xbb\xbf" + NUMBERS.replace("\n", ending).encode())
    assert [c.source for c in cells.read(path).cells] == [
        c.source for c in cells.parse(path, NUMBERS).cells
    ]


def test_text_before_the_first_marker_is_a_cell():
    found = cells.parse(Path("x.py"), "import os\n# %%\nprint(1)\n").cells
    assert [(c.source, c.line) for c in found] == [("import os", 1), ("print(1)", 3)]


@pytest.mark.parametrize(
    ("source", "python"),
    [
        ("%time f()", "# %time f()"),
        ("!ls\nx = 1", "# !ls\nx = 1"),
        ("x?", "# x?"),
        ("%%time\nf()", "# %%time\nf()"),
        ("%%bash\nls -l *.py", "# %%bash\n# ls -l *.py"),
        ("x = 7\ny = (x\n     % 3)", "x = 7\ny = (x\n     % 3)"),
        ('"""\nWhy?\n%time\n"""', '"""\nWhy?\n%time\n"""'),
        ("assert (1\n  != 2)", "assert (1\n  != 2)"),
    ],
)
def test_notebook_commands_become_comments_and_python_stays(source, python):
    assert cells.comment_magics(source) == python


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"x = 1\ny = '\xff'\n", ":2: byte 0xff is not UTF-8"),
        (b"# ---\n# jupyter:\n", ":1: the header is never closed"),
        (b"# ---\n# jupyter: [\n# ---\n", "the header is not valid YAML"),
        (
            b"# %% [markdown]\n# text\nraise SystemExit\n",
            ":3: this is code in a text cell: raise SystemExit",
        ),
        (
            b'# %% nbgrader={"grade": tru}\nx\n',
            ":1: the cell's metadata nbgrader=... is not valid JSON",
        ),
    ],
    ids=lambda value: None,
)
def test_a_damaged_script_is_told_with_its_line(tmp_path, data, said):
    path = tmp_path / "x_dev.py"
    path.write_bytes(data)
    with pytest.raises(TitoError) as error:
        cells.read(path)
    assert said in error.value.what and error.value.remedy and error.value.code == 1


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "null",
        '{"cells": 3}',
        '{"cells": [{"cell_type": "code"}]}',
        '{"cells": ["x"]}',
        "[" * 100_000,
    ],
)
def test_a_damaged_notebook_is_told(tmp_path, text):
    path = tmp_path / "x_dev.ipynb"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TitoError, match="JSON is damaged here|this is no notebook") as error:
        cells.read(path)
    assert error.value.code == 1 and "--keep script" in error.value.remedy


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(TitoError, match="does not exist"):
        cells.read(tmp_path / "x_dev.py")


def test_notebook_sources_may_be_lists_of_lines(tmp_path):
    book = {
        "cells": [{"cell_type": "code", "source": ["a = 1\n", "b = 2"], "metadata": None}],
        "metadata": {},
    }
    path = tmp_path / "x_dev.ipynb"
    path.write_text(json.dumps(book), encoding="utf-8")
    assert cells.read(path).cells[0].source == "a = 1\nb = 2"
