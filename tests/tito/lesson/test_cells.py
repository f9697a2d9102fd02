"""The fast reader of lesson files agrees with jupytext, and reports damage with file and line."""

import json
from pathlib import Path

import pytest
from small_course import FILES, NUMBERS, lesson

from tito.errors import TitoError
from tito.lesson import cells, course, notebook

COURSE = course.open_root(Path(__file__).resolve().parents[3])
LESSONS = {"numbers": lesson(), "sums": lesson("sums")} | {
    e.name: e.declared for e in COURSE.lessons
}
TEXTS = {name: one.source.text for name, one in LESSONS.items()}
FILED = FILES | {
    f"{e.folder}/{name}": e.script.with_name(name).read_text(encoding="utf-8")
    for e in COURSE.lessons
    for name in (e.script.name, "checks.py")
}


def told(cell):
    """The parts of a cell that are the same in a script and in a notebook."""
    return cell.kind, cell.source, cell.exercise, cell.checks, cell.title, cell.tags


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in FILED if n.endswith(("_dev.py", "checks.py"))])
def test_a_script_is_read_as_jupytext_reads_it(name):
    source = cells.parse(Path(name), FILED[name])
    jupytext, _ = notebook._libraries()
    solution = jupytext.reads(FILED[name], fmt={"extension": ".py", "comment_magics": False}).cells
    for cell in solution:
        cell.metadata.pop("lines_to_next_cell", None)
    assert [(c.kind, c.source.strip(), c.metadata) for c in source.cells] == [
        (c.cell_type, c.source.strip(), dict(c.metadata)) for c in solution
    ]


@pytest.mark.parametrize("name", LESSONS)
def test_script_and_notebook_hold_the_same_cells(name):
    cell = LESSONS[name]
    script = cells.parse(Path("x_dev.py"), cell.source.text)
    book = cells.parse(Path("x_dev.ipynb"), notebook.to_notebook(cell.source.text, cell))
    assert list(map(told, script.cells)) == list(map(told, book.cells))
    assert [book.cell(e.name).source for e in cell.exercises] == [
        e.cell.source for e in cell.exercises
    ]


def test_a_cell_s_line_says_what_it_is():
    text = """\
# %% exercise="double"
# %% checks="double"
# %% tags=["answer", "x"]
# %% total hidden points=2
# %% [markdown] tags=["payoff"]
# %% A title [markdown]
# %%
"""
    result = cells.parse(Path("x.py"), text).cells
    assert [(c.kind, c.title, c.exercise, c.checks, c.tags) for c in result] == [
        ("code", "", "double", None, []),
        ("code", "", None, "double", []),
        ("code", "", None, None, ["answer", "x"]),
        ("code", "total hidden", None, None, []),
        ("markdown", "", None, None, ["payoff"]),
        ("markdown", "A title", None, None, []),
        ("code", "", None, None, []),
    ]
    assert result[3].metadata == {"title": "total hidden", "points": 2}


@pytest.mark.parametrize("value", ["3", "null", "[]", '""', '{"a": 1}'])
def test_a_name_that_is_no_name_names_no_exercise(value):
    (cell,) = cells.parse(Path("x.py"), f"# %% exercise={value} checks={value} tags=3\n1\n").cells
    assert (cell.exercise, cell.checks, cell.tags) == (None, None, [])


def test_the_words_of_a_long_line_are_found_at_once():
    """By the square of its characters, this would take hours."""
    for words in ("a " * 1_000_000, "a" * 2_000_000, "." * 2_000_000):
        (cell,) = cells.parse(Path("x.py"), f'# %% {words}" tags=["x"]\n1\n').cells
        assert cell.title == " ".join(f'{words}"'.split()) and cell.tags == ["x"]


@pytest.mark.parametrize(
    ("metadata", "exercise", "checks"),
    [
        ({"solution": True, "grade_id": "numbers-double"}, "double", None),
        ({"grade": True, "grade_id": "check-double"}, None, "double"),
        ({"solution": True, "grade_id": "numbers-two-times"}, "two-times", None),
        ({"solution": False, "grade": False, "grade_id": "numbers-double"}, None, None),
        ({"solution": True, "grade_id": 3}, None, None),
        ({"solution": True}, None, None),
        ("numbers-double", None, None),
        (None, None, None),
    ],
)
def test_a_notebook_whose_own_metadata_is_lost_is_read_by_nbgrader_s(metadata, exercise, checks):
    book = {
        "cells": [{"cell_type": "code", "source": "1", "metadata": {"nbgrader": metadata}}],
        "metadata": {},
    }
    (cell,) = cells.parse(Path("x.ipynb"), json.dumps(book)).cells
    assert (cell.exercise, cell.checks) == (exercise, checks)


@pytest.mark.parametrize("kind", [cells.HINTS, cells.START])
def test_made_cells_are_no_cells_of_the_lesson(kind):
    cell = cells.made_metadata("text", kind)
    book = {
        "cells": [
            {"cell_type": "markdown", "source": "text", "metadata": cell},
            {"cell_type": "markdown", "source": "text, and mine", "metadata": cell},
            {"cell_type": "code", "source": "1", "metadata": {}},
        ],
        "metadata": {},
    }
    sources = [c.source for c in cells.parse(Path("x.ipynb"), json.dumps(book)).cells]
    assert sources == ["text, and mine", "1"]


def test_caption_and_alt_text_may_continue_on_the_next_lines():
    said = "# alt: a line that\n# goes   up\n# caption: It\n# learns."
    text = f"# %%\n{said}\nplot()\n# %%\nplot()\n# %%\nplot()  # alt: a bar\n# of 3\n"
    drawn, plain, behind = cells.parse(Path("x.py"), text).cells
    assert (drawn.alt, drawn.caption) == ("a line that goes up", "It learns.")
    assert (plain.alt, plain.caption) == ("", "") and behind.alt == "a bar of 3"
    assert [cell.code for cell in (drawn, plain, behind)] == ["plot()"] * 3


def test_a_cell_is_replaced_and_the_rest_keeps_its_bytes():
    source = lesson().source
    cell = source.cell("double")
    text = source.replaced(cell, "x = 1\ny = 2")
    assert text == source.text.replace(cell.source, "x = 1\ny = 2")
    assert source.cell("halve") is None


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
    result = cells.parse(Path("x.py"), "import os\n# %%\nprint(1)\n").cells
    assert [(c.source, c.line) for c in result] == [("import os", 1), ("print(1)", 3)]


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
        (b"# %% x=" + b"1" * 5000, ":1: the cell's metadata x=... is not valid JSON"),
        (b"# %% x=" + b"[" * 9000, ":1: the cell's metadata x=... is not valid JSON"),
        (
            b"# %% [markdown]\n# text\nraise SystemExit\n",
            ":3: this is code in a text cell: raise SystemExit\nPut a line `# %%` above line 3",
        ),
        (
            b"# %% [markdown]\n# text\n\n#| export\ndef f():\n",
            ":5: this is code in a text cell: def f():\nPut a line `# %%` above line 4",
        ),
        (b"# %% exercise=double\nx\n", ":1: the cell's metadata exercise=... is not valid JSON"),
        (
            b'# %%\n1\n# %% tags=["answer"\nx\n',
            ":3: the cell's metadata tags=... is not valid JSON",
        ),
    ],
    ids=lambda value: None,
)
def test_a_damaged_script_is_reported_with_its_line(tmp_path, data, said):
    path = tmp_path / "x_dev.py"
    path.write_bytes(data)
    with pytest.raises(TitoError) as error:
        cells.read(path)
    assert said in f"{error.value.what}\n{error.value.remedy}" and error.value.remedy
    assert error.value.code == 1


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
def test_a_damaged_notebook_is_reported(tmp_path, text):
    path = tmp_path / "x_dev.ipynb"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TitoError, match="JSON is damaged here|but not a notebook") as error:
        cells.read(path)
    assert error.value.code == 1 and "--keep script" in error.value.remedy


def test_a_missing_file_is_reported(tmp_path):
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


def test_directives_are_read_as_formatters_write_them():
    """black and autopep8 write `# | export`."""
    for text in ("#| export\n", "# | export\n", "#|export\n\n"):
        source = cells.parse(Path("a.py"), f'# %% exercise="one"\n{text}a = 1\n')
        assert source.exported == source.cells
        assert source.cells[0].directive_lines == {0}


def test_of_several_cells_of_an_exercise_the_last_that_is_exported_counts():
    """It is the one whose definition the module has in the end."""
    mark, export = '# %% exercise="one"\n', "#| export\n"
    for text, number in (
        (f"{mark}a = 1\n{mark}{export}a = 2\n{mark}a = 3\n", 2),
        (f"{mark}{export}a = 1\n{mark}{export}a = 2\n# %%\n{export}a = 3\n", 2),
        (f"{mark}a = 1\n{mark}a = 2\n", 1),
    ):
        source = cells.parse(Path("a.py"), text)
        assert source.cell("one") is source.cell("one") is source.cells[number - 1]
    assert source.cell("two") is source.cell("two") is None
