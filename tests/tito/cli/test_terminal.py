"""`tito` in every terminal: other alphabets, an ASCII one, a narrow one, none; and files as other
systems write them."""

import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import commands
import pexpect
import pytest
from commands import process
from small_course import edit, make_course, solve

from tito.learn import workspace
from tito.lesson import course

CODES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|\]8;[^\x1b]*\x1b\\)")


@pytest.fixture
def root(tmp_path):
    """A workspace whose path has spaces and other alphabets in it."""
    made = course.open_root(make_course(tmp_path / "Zoë's Kurs"))
    workspace.init(tmp_path / "meine Übung 课程", made)
    return course.open_root(tmp_path / "meine Übung 课程")


@pytest.fixture
def entry(root):
    entry = root.lesson("numbers")
    line = next(
        line
        for line in entry.script.read_text(encoding="utf-8").splitlines()
        if "write: tito hint numbers-double" in line
    )
    edit(entry, line, "    return x * x  # größer")
    return entry


def tito(folder, *words, code=0, **variables):
    """The output of a command, run in this process, or with variables in a new one."""
    run = functools.partial(process, **variables) if variables else commands.tito
    return run(folder, *words, code=code)[0]


def on_screen(folder, *words, columns=80, **variables):
    """What the command writes to a terminal of that width."""
    env = (
        {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
        | {"TERM": "xterm-256color"}
        | variables
    )
    terminal = pexpect.spawn(
        sys.executable,
        ["-m", "tito", *words],
        cwd=folder,
        env=env,
        encoding="utf-8",
        dimensions=(50, columns),
        timeout=20,
    )
    terminal.expect(pexpect.EOF)
    terminal.close()
    return terminal.before.replace("\r\n", "\n")


def squeezed(text):
    return re.sub(r"\s+", "", CODES.sub("", text))


def test_a_path_with_spaces_and_other_alphabets_works_throughout(root, entry):
    assert str(root.path) in tito(root.path, "status")
    assert "double works on arrays" in tito(root.path, "test", "numbers", code=1)
    tito(root.path, "start", "numbers")
    tito(root.path, "hint", "numbers")
    tito(root.path, "notebook", "numbers", "--no-open")
    assert str(root.path) in tito(root.path, "reset", "numbers")
    tito(root.path, "undo")
    assert "return x * x  # größer" in entry.script.read_text(encoding="utf-8")
    assert json.loads(tito(root.path, "test", "numbers", "--json", code=1))[0]["points"] == 2


@pytest.mark.parametrize(
    "variables",
    [
        pytest.param({"LC_ALL": "C"}, marks=pytest.mark.slow),
        pytest.param({"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}, marks=pytest.mark.slow),
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
    ids=["C", "ascii", "C without coercion"],
)
@pytest.mark.slow
def test_an_ascii_locale_changes_no_file_and_breaks_no_output(root, entry, variables):
    assert "status" in tito(root.path, "--help", **variables)
    assert "01" in tito(root.path, "status", **variables)
    assert "2 of 5 points" in tito(root.path, "test", "numbers", code=1, **variables)
    one = json.loads(tito(root.path, "status", "--json", **variables))[0]
    assert (one["title"], one["points"]) == ("Numbers", 2)
    result = json.loads(tito(root.path, "doctor", "--json", **variables))
    assert {f["what"]: f["state"] for f in result}["import tinytorch"] == "ok"
    tito(root.path, "notebook", "numbers", "--no-open", **variables)
    tito(root.path, "hint", "numbers", **variables)
    assert "größer als zuvor" in entry.script.read_text(encoding="utf-8")
    assert "größer als zuvor" in entry.notebook.read_text(encoding="utf-8")
    assert "# größer" in entry.module_path.read_text(encoding="utf-8")


WORDS = [("status",), ("test", "numbers"), ("hint", "numbers"), ("start", "numbers"), ("--help",)]


@pytest.mark.parametrize("words", WORDS, ids=lambda words: words[0])
def test_no_color_gives_no_escape_codes(root, entry, words):
    assert "\x1b" not in on_screen(root.path, *words, NO_COLOR="1")


def test_a_terminal_gets_colours_and_links(root, entry):
    screen = on_screen(root.path, "start", "numbers")
    assert "\x1b[" in screen and "\x1b]8;" in screen and entry.script.as_uri() in screen


@pytest.mark.parametrize("words", WORDS[:4], ids=lambda words: words[0])
def test_a_pipe_gets_no_escape_codes_and_no_folded_lines(root, entry, words):
    result = subprocess.run(
        [sys.executable, "-m", "tito", *words],
        cwd=root.path,
        env=os.environ | {"COLUMNS": "40"},
        capture_output=True,
    )
    screen = result.stdout.decode("utf-8")
    assert "\x1b" not in screen
    assert not any(line.endswith(" ") for line in screen.splitlines()), "padding"
    if words[0] in ("test", "start"):
        at = ":26" if words[0] == "test" else "\n"
        assert f"modules/source/01_numbers/numbers_dev.py{at}" in screen

    if words[0] == "test":
        assert "double([1, 3]) should be [2, 6], yours is [1 9]" in screen
    if words[0] == "status":
        assert str(root.path) in screen


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [("status",), ("test", "numbers"), ("hint", "numbers"), ("start", "numbers")],
    ids=lambda words: words[0],
)
def test_forty_columns_lose_nothing(root, entry, words):
    tito(root.path, "test", "numbers", code=1)
    narrow, wide = (on_screen(root.path, *words, columns=columns) for columns in (40, 200))
    assert "…" not in narrow
    if words[0] == "hint":
        assert squeezed("What is a number plus itself?") in squeezed(narrow)
    elif words[0] == "status":
        for text in (
            "numbers",
            "started",
            "2 of 5",
            "just",
            "now",
            "0 of 2",
            "next: tito test numbers",
            str(root.path),
        ):
            assert text in CODES.sub("", narrow), text
    else:
        assert re.sub(r"\d\.\d+s", "", squeezed(narrow)) == re.sub(r"\d\.\d+s", "", squeezed(wide))
        # the terminal may fold it; we do not
        assert "modules/source/01_numbers/numbers_dev.py:26" in CODES.sub("", narrow)


SAID = [
    ("reset", "numbers"),
    ("undo",),
    ("skip", "numbers"),
    ("test", "nubers"),
    ("test", "--all", "numbers"),
    ("hint", "numbers", "halve"),
]


@pytest.mark.slow
@pytest.mark.parametrize("columns", [40, pytest.param(60, marks=pytest.mark.slow), 80])
@pytest.mark.parametrize("words", SAID, ids=" ".join)
def test_sentences_end_their_lines_at_spaces_and_break_no_path_or_command(
    root, entry, words, columns
):
    tito(root.path, "reset", "numbers", "triple")
    text = CODES.sub("", on_screen(root.path, *words, columns=columns))
    assert text.strip()
    for line in text.split("\n"):
        # A line too long is one that could not end earlier: a word, a path or a `command`, behind
        # an indentation or "tito:".
        assert (
            len(line) <= columns
            or not re.search(r"\S ", re.sub(r"`[^`]*`", "x", line.removeprefix("tito: ").strip()))
            or str(root.path.name) in line
        ), line
        assert line.count("`") % 2 == 0, line


def test_where_there_is_no_terminal_a_sentence_is_one_line(root, entry):
    assert len(tito(root.path, "reset", "numbers").splitlines()) == 1


@pytest.mark.slow
def test_a_place_that_does_not_fit_is_on_a_separate_line(root, entry):
    tito(root.path, "reset", "numbers")
    screen = CODES.sub("", on_screen(root.path, "test", "numbers", columns=80))
    assert (
        "\nNext to write: exercise numbers-double,\nmodules/source/01_numbers/numbers_dev.py:26\n"
        in screen
    )
    screen = CODES.sub("", on_screen(root.path, "test", "numbers", columns=100))
    assert (
        "\nNext to write: exercise numbers-double, modules/source/01_numbers/numbers_dev.py:26\n"
        in screen
    )


@pytest.mark.parametrize(
    ("columns", "lines"),
    [
        (80, ["double([1, 3]) should be [2, 6], yours is [1 9]"]),
        (44, ["double([1, 3]) should be [2, 6],", "yours is [1 9]"]),
        (30, ["double([1, 3])", "should be [2, 6],", "yours is [1 9]"]),
    ],
)
def test_a_message_that_is_too_long_breaks_before_a_value_not_inside(root, entry, columns, lines):
    screen = CODES.sub("", on_screen(root.path, "test", "numbers", columns=columns))
    assert "\n".join(f"   {line}" for line in lines) + "\n" in screen


def test_a_syntax_error_has_its_mark_under_the_place(root, entry):
    edit(entry, "    return x * x  # größer", "    return 'größer' +* x")
    screen = CODES.sub("", on_screen(root.path, "test", "numbers"))
    assert "\n    return 'größer' +* x\n                     ^\n" in screen


def test_activating_says_where_one_is_to_a_person_only(root):
    script = Path(__file__).resolve().parents[3] / "bin" / "activate-tinytorch.sh"
    output = {
        option: subprocess.run(
            ["bash", "--norc", option, f". '{script}'"],
            cwd=root.path,
            capture_output=True,
            text=True,
        ).stdout
        for option in ("-c", "-ic")
    }
    assert output == {"-c": "", "-ic": f"TinyTorch in {root.path}: tito status\n"}


def test_columns_of_the_environment_count(root, entry):
    screen = CODES.sub("", on_screen(root.path, "start", "numbers", columns=200, COLUMNS="40"))
    assert re.search(r"about 30 minutes, difficulty 1 of 5, 2 ?\nexercises", screen)


@pytest.mark.parametrize("how", ["crlf", "crlf and bom"])
def test_a_lesson_as_windows_saves_it(root, entry, how):
    solve(entry)
    raw = entry.script.read_bytes()
    raw = raw.replace(b"\n", b"\r\n") if "crlf" in how else raw
    entry.script.write_bytes(b"\xef\xbb\xbf" + raw if "bom" in how else raw)
    before = entry.script.read_bytes()
    assert "passed  5 of 5 points" in tito(root.path, "test", "numbers")
    assert b"\r" not in entry.module_path.read_bytes()
    tito(root.path, "notebook", "numbers", "--no-open")
    assert "\\r" not in entry.notebook.read_text(encoding="utf-8")
    assert "passed  5 of 5 points" in tito(root.path, "test", "numbers")
    assert entry.script.read_bytes() == before
    tito(root.path, "reset", "numbers-double")
    assert "0 of 5 points" in tito(root.path, "test", "numbers", code=1)
    tito(root.path, "undo")
    assert entry.script.read_bytes() == before


def test_a_root_file_as_windows_saves_it(root):
    for name in ("tito.toml", ".tito/course"):
        path = root.path / name
        path.write_bytes(
            b"\xef\xbb\xbf" * (name == "tito.toml") + path.read_bytes().replace(b"\n", b"\r\n")
        )
    assert "Small workspace" in tito(root.path, "status")
    tito(root.path, "skip", "numbers")


def test_a_lesson_behind_a_link_stays_one(root, entry, tmp_path):
    real = tmp_path / "elsewhere.py"
    os.replace(entry.script, real)
    entry.script.symlink_to(real)
    assert "2 of 5 points" in tito(root.path, "test", "numbers", code=1)
    tito(root.path, "reset", "numbers")
    assert entry.script.is_symlink() and "tito hint numbers-double" in real.read_text(
        encoding="utf-8"
    )
    tito(root.path, "undo")
    assert entry.script.is_symlink() and "return x * x" in real.read_text(encoding="utf-8")


def test_any_folder_inside_the_root_will_do(root, entry):
    assert str(root.path) in tito(entry.script.parent, "status")
    assert "2 of 5 points" in tito(root.path / "tinytorch", "test", "1", code=1)


def test_the_root_is_named_before_the_command(root, entry, tmp_path):
    here = str(root.path)
    assert tito(tmp_path, "--root", here, "status") == tito(root.path)
    assert tito(tmp_path, "--root", here) == tito(root.path)
    assert "2 of 5 points" in tito(tmp_path, "--root", root.path.name, "test", "numbers", code=1)
    tito(tmp_path, "status", code=2)


def test_a_folder_that_is_gone_is_reported(root, tmp_path):
    code = (
        "import os, sys; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone'); sys.argv = "
        "['tito', 'status']; from tito.cli.run import run; run()"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert (result.returncode, result.stderr.splitlines()[0]) == (
        2,
        "tito: The current folder no longer exists.",
    )


NASTY = "a\x1b[2Jb\x07\x9bc\u202ed\ud800[red]e"
SHOWN = r"a\x1b[2Jb\x07\x9bc\u202ed\ud800[red]e"


def test_no_text_moves_the_cursor_whatever_prints_it(capsys):
    """What a learner wrote reaches a terminal in names, messages and outputs."""
    from rich.console import Group
    from rich.text import Text

    from tito import views
    from tito.cli import app
    from tito.errors import UsageError

    listing = views.table(NASTY)
    listing.add_row(NASTY)
    words = (NASTY, Text(NASTY, "red"), Group(NASTY, Text(NASTY)), views.Pieces([NASTY]), listing)
    app.echo(*words)
    app.warn(NASTY)
    app.complain(UsageError(NASTY, NASTY))
    out, err = capsys.readouterr()
    # Rich leaves out \\x07, and cuts a cell of the table where its measured width ends.
    assert out.count(SHOWN.replace(r"\x07", "")) + out.count(SHOWN) == 5, out
    assert err.count(SHOWN) == 3
    assert all(character == "\n" or character.isprintable() for character in out + err)
