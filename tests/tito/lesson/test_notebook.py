"""tito/lesson/notebook.py and tito/learn/notebook_sync.py: script and notebook of one lesson agree
by their content, and neither is ever lost.
"""

import json
import os
from functools import cache
from pathlib import Path

import commands
import pytest
from small_course import NUMBERS, edit, lesson, solve, verdict_on

from tito import files
from tito.errors import TitoError
from tito.learn import notebook_sync, progress
from tito.lesson import cells, course, notebook

COURSE = course.open_root(Path(__file__).resolve().parents[3])
LESSONS = {e.name: e.declared for e in COURSE.lessons} | {
    "numbers": lesson(),
    "sums": lesson("sums"),
}


@cache
def notebook_of(name, released=False):
    """The text of a lesson's notebook, made once for all tests."""
    numbers = LESSONS[name]
    return notebook.to_notebook(numbers.released if released else numbers.source.text, numbers)


@pytest.fixture
def entry(small_workspace):
    return small_workspace.lesson("numbers")


@pytest.fixture
def paired(entry):
    notebook_sync.settle(entry, make=True)
    return entry


def tito(entry, *words):
    return commands.run(entry.root, *words)


def book_of(entry):
    return json.loads(entry.notebook.read_text(encoding="utf-8"))


def change_notebook(entry, change):
    """Change the notebook as an editor does: `change` gets its JSON."""
    book = book_of(entry)
    change(book)
    entry.notebook.write_text(json.dumps(book), encoding="utf-8")


def cell_of(book, exercise):
    return next(c for c in book["cells"] if c["metadata"].get("exercise") == exercise)


def text_of(cell):
    return "".join(cell["source"])


def write_double(book, body="return x + x"):
    cell = cell_of(book, "double")
    text = "".join(cell["source"])
    cell["source"] = text[: text.index("    raise NotImplementedError")] + "    " + body


def both(entry):
    return entry.script.read_bytes(), entry.notebook.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("released", [False, True], ids=["whole", "released"])
@pytest.mark.parametrize("name", LESSONS)
def test_script_to_notebook_to_script_gives_the_same_bytes(name, released):
    numbers = LESSONS[name]
    text = numbers.released if released else numbers.source.text
    assert notebook.to_script(notebook_of(name, released), text) == text


@pytest.mark.parametrize("name", ["tensor", "numbers"])
def test_a_notebook_has_the_same_bytes_each_time(name):
    numbers = LESSONS[name]
    assert notebook_of(name) == notebook.to_notebook(numbers.source.text, numbers)


@pytest.mark.parametrize("name", LESSONS)
def test_the_notebook_keeps_the_metadata_and_is_valid(name):
    import nbformat

    numbers, made_cells = LESSONS[name], notebook_of(name)
    nbformat.validate(nbformat.reads(made_cells, as_version=4))
    script, book = numbers.source, cells.parse(Path("a.ipynb"), made_cells)
    for cell in book.cells:
        cell.metadata.pop("nbgrader", None)
        cell.metadata.pop("lines_to_next_cell", None)  # jupytext's own note
    assert [(c.kind, c.source, c.metadata) for c in script.cells] == [
        (c.kind, c.source, c.metadata) for c in book.cells
    ]
    metadata = json.loads(made_cells)["metadata"]
    assert metadata["kernelspec"]["name"] == "python3"
    assert metadata["jupytext"]["text_representation"]["format_name"] == "percent"


@pytest.mark.parametrize("name", LESSONS)
def test_each_exercise_and_its_checks_are_nbgrader_s_with_points_and_id(name):
    numbers = LESSONS[name]
    book = json.loads(notebook_of(name))
    contents = {
        c["id"]: c["metadata"]["nbgrader"]
        for c in book["cells"]
        if "nbgrader" in c["metadata"] and not c["id"].startswith("question-")
    }
    expected = {}
    for exercise in numbers.exercises:
        expected[exercise.id] = {
            "grade": False,
            "grade_id": exercise.id,
            "locked": False,
            "schema_version": 3,
            "solution": True,
            "task": False,
        }
        if points := sum(c.points for c in exercise.checks if not c.hidden):
            expected[f"check-{exercise.name}"] = {
                "grade": True,
                "grade_id": f"check-{exercise.name}",
                "locked": True,
                "points": points,
                "schema_version": 3,
                "solution": False,
                "task": False,
            }
    assert contents == expected


@pytest.mark.parametrize("name", LESSONS)
def test_hints_are_folded_before_their_exercise_and_nowhere_in_the_script(name):
    numbers = LESSONS[name]
    book = json.loads(notebook_of(name))["cells"]
    for exercise in numbers.exercises:
        at = book.index(cell_of({"cells": book}, exercise.name))
        before = book[at - 1]
        assert ("hints" in before["metadata"].get("tags", ())) == bool(exercise.hints)
        for number, hint in enumerate(exercise.hints, 1):
            folded = f"<details><summary>Hint {number}</summary>\n\n{hint}\n\n</details>"
            assert folded in text_of(before)
        assert before["cell_type"] == "markdown" or not exercise.hints
    count = sum("hints" in c["metadata"].get("tags", ()) for c in book)
    assert count == sum(bool(e.hints) for e in numbers.exercises)


def test_only_the_hints_that_were_made_go_on_the_way_back():
    """What a learner wrote into the cell of hints is theirs: it stays, also in the script."""
    numbers = lesson()
    book = json.loads(notebook.to_notebook(NUMBERS, numbers))
    first, second = (c for c in book["cells"] if "hints" in c["metadata"].get("tags", ()))
    first["source"] = text_of(first) + "\n\nI see!"
    script = notebook.to_script(json.dumps(book), NUMBERS)
    assert "# I see!" in script and "plus itself" in script
    assert "Use `double`." not in script


def test_hints_that_the_course_has_changed_since_are_not_doubled():
    """A notebook was made with other hints than the course has now; nothing of them gets into the
    script.
    """
    book = notebook.to_notebook(NUMBERS, lesson(hints="## double\n\n1. An older hint.\n"))
    assert notebook.to_script(book, NUMBERS) == NUMBERS


def test_a_notebook_s_metadata_is_made_anew_not_taken_from_the_old_one():
    old = json.loads(notebook.to_notebook(NUMBERS, lesson()))
    for cell in old["cells"]:
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"].update(points=100, grade_id="mine", solution=False)
    book = notebook.to_notebook(NUMBERS, lesson(), json.dumps(old))
    assert book == notebook.to_notebook(NUMBERS, lesson())


def test_a_script_that_says_nbgrader_s_metadata_loses_it_on_the_way():
    """Lessons of an older edition had it; the chapter's marks and the course say it all."""
    odd = NUMBERS.replace('# %% exercise="double"', '# %% exercise="double" nbgrader={"points": 9}')
    book = notebook.to_notebook(odd, lesson())
    assert book == notebook.to_notebook(NUMBERS, lesson())
    assert notebook.to_script(book, NUMBERS) == NUMBERS


def test_the_workspace_s_notebook_comes_back_as_the_same_script(paired):
    before = paired.script.read_bytes()
    paired.script.unlink()
    notebook_sync.settle(paired)
    assert paired.script.read_bytes() == before


def test_an_edit_of_the_notebook_is_tested_and_the_script_follows(paired):
    change_notebook(paired, write_double)
    process = tito(paired, "test", "numbers", "--json")
    result = json.loads(process.stdout)[0]
    assert (process.returncode, result["points"], result["source"]) == (
        1,
        4,
        "modules/source/01_numbers/numbers_dev.ipynb",
    )
    assert "    return x + x\n" in paired.script.read_text(encoding="utf-8")
    assert tito(paired, "test", "numbers", "--json").returncode == 1  # and they agree afterwards
    assert (
        notebook_sync.choose(paired, progress.load(paired.root)["lessons"]["numbers"]) == "script"
    )


def test_an_edit_of_the_notebook_is_exported_and_the_script_follows(paired):
    change_notebook(paired, write_double)
    assert tito(paired, "export", "numbers").returncode == 0
    assert "    return x + x\n" in paired.module_path.read_text(encoding="utf-8")
    assert "    return x + x\n" in paired.script.read_text(encoding="utf-8")


def test_an_edit_of_the_script_reaches_the_notebook_and_outputs_of_other_cells_stay(paired):
    output = {"output_type": "stream", "name": "stdout", "text": "15 10\n"}
    change_notebook(
        paired, lambda book: book["cells"][-1].update(outputs=[output], execution_count=7)
    )
    solve(paired, "double")
    assert verdict_on(paired).points == 4
    last = book_of(paired)["cells"][-1]
    assert "".join(last["outputs"][0]["text"]) == "15 10\n"
    assert "twice = x + x" in "".join(cell_of(book_of(paired), "double")["source"])


def test_running_cells_is_not_an_edit(paired):
    before = paired.script.read_bytes()
    change_notebook(
        paired,
        lambda book: book["cells"][-1].update(
            outputs=[{"output_type": "stream", "name": "stdout", "text": "15"}], execution_count=1
        ),
    )
    ran = paired.notebook.read_bytes()
    record = progress.load(paired.root)["lessons"]["numbers"]
    assert notebook_sync.choose(paired, record) == "script"
    assert notebook_sync.settle(paired) is None
    assert both(paired) == (before, ran)
    solve(paired, "double")  # so an edit of the script is the only one
    assert notebook_sync.choose(paired, record) == "script"


def test_line_ends_are_no_edit(paired):
    """Git turns LF into CRLF on a learner's Windows, and an editor may do so."""
    paired.script.write_bytes(paired.script.read_bytes().replace(b"\n", b"\r\n"))
    change_notebook(paired, write_double)  # the only edit
    assert verdict_on(paired).points == 4


@pytest.mark.parametrize(
    "command",
    [
        ["test", "numbers"],
        ["export", "numbers"],
        ["start", "numbers"],
        ["notebook", "numbers", "--no-open"],
    ],
    ids=lambda c: c[0],
)
def test_when_both_were_edited_the_command_stops_and_changes_neither(paired, command):
    solve(paired, "double")
    change_notebook(paired, lambda book: write_double(book, "return 2 * x"))
    before = both(paired)
    result = tito(paired, *command)
    output = result.stdout + result.stderr
    assert result.returncode == 1
    for words in (
        "numbers_dev.py",
        "numbers_dev.ipynb",
        "both edited",
        "they differ in numbers-double",
        "tito notebook numbers --keep script",
        "--keep notebook",
    ):
        assert words in output
    assert "Traceback" not in output
    assert both(paired) == before


@pytest.mark.parametrize("keep", ["script", "notebook"])
def test_keep_takes_one_side_saves_the_other_and_undo_brings_it_back(paired, keep):
    solve(paired, "double")
    change_notebook(paired, lambda book: write_double(book, "return 2 * x"))
    script, book = before = both(paired)
    result = tito(paired, "notebook", "numbers", "--keep", keep, "--no-open")
    assert result.returncode == 0, result.stderr
    winner, loser = (
        ("twice = x + x", "return 2 * x") if keep == "script" else ("return 2 * x", "twice = x + x")
    )
    for path in (paired.script, paired.notebook):
        text = path.read_text(encoding="utf-8")
        assert winner in text and loser not in text
    saved = [path.read_bytes() for path in (paired.root.state / "backups").rglob("numbers_dev.*")]
    assert saved == [book if keep == "script" else script]
    assert ".tito/backups" in result.stdout and "tito undo" in result.stdout
    assert tito(paired, "undo").returncode == 0
    assert both(paired) == before


def test_both_edited_to_the_same_text_is_no_conflict(paired):
    edit(
        paired,
        next(
            line
            for line in paired.script.read_text(encoding="utf-8").splitlines()
            if "write: tito hint numbers-double" in line
        ),
        "    return x + x",
    )
    change_notebook(paired, write_double)
    assert verdict_on(paired).points == 4


def test_a_lost_progress_file_makes_no_conflict_of_files_that_agree(paired):
    (paired.root.state / "progress.json").unlink()
    before = paired.script.read_bytes()
    assert verdict_on(paired).reason.startswith("Nothing is written yet")
    assert paired.script.read_bytes() == before


def test_a_notebook_alone_is_enough(paired):
    change_notebook(paired, write_double)
    paired.script.unlink()
    result = verdict_on(paired)
    assert (result.points, result.source.endswith(".ipynb")) == (4, True)
    assert "return x + x" in paired.script.read_text(encoding="utf-8")


def broken(change):
    def damage(text):
        book = json.loads(text)
        change(book)
        return json.dumps(book)

    return damage


DAMAGE = {
    "truncated": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
    "not JSON": lambda text: "hello",
    "not UTF-8": lambda text: b"\xff\xfe\x00",
    "a list": lambda text: "[]",
    "null": lambda text: "null",
    "deep": lambda text: "[" * 100_000 + "]" * 100_000,
    "no cells": broken(lambda b: b.pop("cells")),
    "cells a mapping": broken(lambda b: b.update(cells={"a": 1})),
    "a cell null": broken(lambda b: b["cells"].append(None)),
    "source a number": broken(lambda b: b["cells"][3].update(source=5)),
    "source of numbers": broken(lambda b: b["cells"][3].update(source=[5])),
    "kind a list": broken(lambda b: b["cells"][3].update(cell_type=[1], source="x")),
    "metadata text": broken(lambda b: b["cells"][3].update(metadata="abc", source="x")),
    "no format": broken(lambda b: (b.pop("nbformat"), b["cells"][0].update(source="x"))),
    "format 9": broken(lambda b: (b.update(nbformat=9), b["cells"][0].update(source="x"))),
    "header text": broken(lambda b: (b.update(metadata="abc"), b["cells"][0].update(source="x"))),
    "half a character": broken(lambda b: b["cells"][0].update(source="\ud800")),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_notebook_is_reported_and_nothing_is_lost(paired, kind):
    damaged = DAMAGE[kind](paired.notebook.read_text(encoding="utf-8"))
    paired.notebook.write_bytes(damaged if isinstance(damaged, bytes) else damaged.encode("utf-8"))
    before = both(paired)
    with pytest.raises(TitoError) as error:
        notebook_sync.settle(paired)
    assert error.value.code == 1
    assert "numbers_dev.ipynb" in error.value.what and error.value.remedy
    assert both(paired) == before
    saved_copy = notebook_sync.settle(paired, keep="script")
    assert (saved_copy / "files" / paired.relative(paired.notebook)).read_bytes() == before[1]
    assert paired.script.read_bytes() == before[0]
    assert json.loads(paired.notebook.read_text(encoding="utf-8"))["cells"]


@pytest.mark.parametrize("kind", ["truncated", "deep", "no cells"])
def test_a_damaged_notebook_is_a_failed_test_in_own_words(paired, kind):
    paired.notebook.write_text(
        DAMAGE[kind](paired.notebook.read_text(encoding="utf-8")), encoding="utf-8"
    )
    before = both(paired)
    result = tito(paired, "test", "numbers")
    assert result.returncode == 1
    assert "numbers_dev.ipynb" in result.stdout and "--keep script" in result.stdout
    assert "Traceback" not in result.stdout + result.stderr
    assert tito(paired, "status").returncode == 0
    assert both(paired) == before


@pytest.mark.parametrize("value", ["x", ["x"], {"grade_id": [1]}, None])
def test_odd_nbgrader_metadata_is_no_crash(paired, value):
    change_notebook(
        paired,
        lambda book: (write_double(book), book["cells"][-1]["metadata"].update(nbgrader=value)),
    )
    assert verdict_on(paired).points == 4


def test_cells_copied_with_their_id_make_a_valid_notebook(paired):
    import nbformat

    text = paired.script.read_text(encoding="utf-8")
    marker = '# %% exercise="double"'
    copied = text + "\n" + text[text.index(marker) : text.index("# %%", text.index(marker) + 4)]
    book = notebook.to_notebook(copied, paired.declared)
    ids = [c["id"] for c in json.loads(book)["cells"]]
    assert len(ids) == len(set(ids))
    nbformat.validate(nbformat.reads(book, as_version=4))
    assert notebook.to_script(book, copied) == copied


@pytest.mark.parametrize(
    "magic", ["%time double(3)", "!ls", "?double", "files = !ls", "%matplotlib inline"]
)
def test_a_learners_magics_are_no_syntax_error_and_come_back(paired, magic):
    def add(book):
        write_double(book)
        cell = cell_of(book, "double")
        cell["source"] = "".join(cell["source"]) + "\n\n" + magic

    change_notebook(paired, add)
    assert verdict_on(paired).points == 4
    assert f"\n# {magic}\n" in paired.script.read_text(encoding="utf-8")
    edit(paired, "return x + x", "return 2 * x")
    assert verdict_on(paired).points == 4
    assert f"\n{magic}" in "".join(cell_of(book_of(paired), "double")["source"])


@pytest.mark.parametrize(
    "comment",
    ["# cat of three arrays", "# cd into it", "# ls", "# copy first", "# right?", "# 50 %done"],
)
def test_a_comment_that_looks_like_a_shell_command_stays_a_comment(paired, comment):
    edit(paired, "#| export\nimport math", f"#| export\n{comment}\nimport math")
    before = paired.script.read_bytes()
    notebook_sync.settle(paired)
    assert comment in paired.notebook.read_text(encoding="utf-8")
    book = paired.notebook.read_text(encoding="utf-8")
    assert notebook.to_script(book, before.decode()).encode() == before


def test_a_text_that_looks_like_a_magic_is_kept():
    text = NUMBERS.replace('"""Twice `x`.', '"""Twice `x`.\n\n# %time is text here\n%time too\n')
    book = notebook.to_notebook(text, lesson())
    assert notebook.to_script(book, text) == text


def test_another_language_s_cell_comes_back():
    text = NUMBERS + '\n# %% language="bash"\n# ls\n'
    book = notebook.to_notebook(text, lesson())
    assert "".join(json.loads(book)["cells"][-1]["source"]) == "%%bash\nls"
    assert notebook.to_script(book, text) == text


@pytest.mark.parametrize("older", ["script", "notebook"])
def test_the_times_of_files_decide_nothing(paired, older):
    change_notebook(paired, write_double)
    os.utime(paired.script, (1, 1) if older == "script" else (2_000_000_000, 2_000_000_000))
    os.utime(paired.notebook, (2_000_000_000, 2_000_000_000) if older == "script" else (1, 1))
    assert verdict_on(paired).points == 4
    before = both(paired)
    os.utime(paired.script, (1, 1) if older == "notebook" else (2_000_000_000, 2_000_000_000))
    assert verdict_on(paired).points == 4
    assert both(paired) == before


def test_a_save_while_the_notebook_is_written_counts_as_an_edit(paired, monkeypatch):
    solve(paired, "double")
    write = files.replace

    def slow(*arguments, **options):
        saved_copy = write(*arguments, **options)
        edit(paired, "twice = x + x", "twice = 2 * x")
        return saved_copy

    monkeypatch.setattr(files, "replace", slow)
    notebook_sync.settle(paired)
    monkeypatch.undo()
    change_notebook(paired, lambda book: book["cells"].pop())
    with pytest.raises(TitoError, match="both edited"):
        notebook_sync.settle(paired)
    assert "twice = 2 * x" in paired.script.read_text(encoding="utf-8")
