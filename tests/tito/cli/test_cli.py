"""The commands as people and scripts meet them: words, exit codes, JSON, and that every documented
command runs."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import process, run, tito
from rich.text import Text
from small_course import edit, introduce, solve
from typer.main import get_command

from tito.cli import run as cli
from tito.learn import jupyter, progress
from tito.lesson.lesson_format import stub
from tito.views import report

REPOSITORY = Path(__file__).resolve().parents[3]
COMMANDS = (
    "init status start notebook export test watch hint compare word reset undo skip submit "
    "restore doctor check release grade feedback similar"
).split()


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_shows_an_example_on_a_line_of_its_own(small_workspace, command):
    out, _ = tito(small_workspace, command, "--help")
    assert re.search(rf"(?m)^ *Example: tito {command}\b", out)


def test_help_lists_every_command_and_in_a_workspace_those_for_learners(
    small_course, small_workspace
):
    out, _ = tito(small_course, "--help")
    assert [word for word in COMMANDS if f" {word} " not in out] == []
    out, _ = tito(small_workspace, "--help")
    names = {word for word in COMMANDS if f" {word} " in out}
    assert set(COMMANDS) - names == {"release", "grade", "similar", "feedback", "check"}
    assert not any(word in out for word in ("instructor", "author", "--gradebook"))
    assert "is a workspace" in tito(small_workspace, "check", code=2)[1]


def test_no_word_of_a_help_is_taken_for_markup():
    def helps(command):
        yield from (command.help, command.epilog, *(getattr(p, "help", "") for p in command.params))
        for part in getattr(command, "commands", {}).values():
            yield from helps(part)

    said = [text for text in helps(get_command(cli.app)) if text]
    assert len(said) > 100
    assert [text for text in said if Text.from_markup(text).plain != text] == []


def test_init_names_the_lesson_to_begin_with(small_course, tmp_path):
    out, _ = tito(small_course, "init", tmp_path / "mine")
    assert out.endswith("then: tito start numbers  A lesson about numbers: 30 minutes\n")


def test_an_exercise_that_only_waits_has_not_failed(small_workspace):
    entry = small_workspace.lesson("numbers")
    edit(entry, stub("numbers", "triple"), "return double(x) + x")
    out, _ = tito(small_workspace, "test", "numbers-triple", code=1)
    assert "so far  1 waits for exercises that are not written." in out and "failed" not in out


def test_a_learners_first_lesson(small_course, tmp_path):
    """Fail, hint, fix, pass: what the README promises."""
    out, _ = tito(small_course, "init", tmp_path / "mine")
    assert "is ready: 2 lessons of Small" in out
    work = tmp_path / "mine"
    out, _ = tito(work)
    assert "new" in out and "next: tito start numbers" in out
    out, _ = tito(work, "start", "numbers")
    assert (
        "open  modules/source/01_numbers/numbers_dev.py\n" in out
        and "begin with exercise numbers-double, line 26" in out
    )
    assert "open  modules/source/01_numbers/numbers_dev.py:26" in tito(work, "start", "numbers")[0]
    out, _ = tito(work, "test", "numbers", code=1)
    assert "Nothing is written yet" in out and "tito hint numbers-double" in out
    assert "What is a number plus itself?" in tito(work, "hint", "numbers")[0]
    assert "`x + x`" in tito(work, "hint", "numbers")[0]
    from tito.lesson import course

    entry = course.open_root(work).lesson("numbers")
    solve(entry, "numbers-double")
    out, _ = tito(work, "test", "numbers", code=1)
    assert "4 of 5 points, 2 of 3 checks" in out
    assert "Use `double`." in tito(work, "hint", "numbers")[0]
    solve(entry)
    out, _ = tito(work, "test", "numbers")
    assert re.search(r"^passed  5 of 5 points, 3 of 3 checks", out, re.M)
    (first, second) = json.loads(tito(work, "status", "--json")[0])
    assert first | {"last_run": ""} == {
        "number": 1,
        "name": "numbers",
        "title": "Numbers",
        "state": "passed",
        "points": 5,
        "max_points": 5,
        "hints_used": 3,
        "last_run": "",
        "answers": {},
        "given_up": [],
    }
    assert second["state"] == "new"
    assert "next: tito start sums" in tito(work)[0]


def test_a_lesson_that_stops_though_every_check_passes_says_where(small_workspace):
    solve(small_workspace.lesson("numbers"))
    edit(small_workspace.lesson("numbers"), "print(triple(5), LIMIT)", "1 / 0")
    out, _ = tito(small_workspace, "test", "numbers", code=1)
    assert "\nfailed  Every check passes, but the lesson does not run to its end" in out
    assert "ZeroDivisionError" in out


def test_one_exception_at_one_place_is_shown_once(small_workspace):
    entry = small_workspace.lesson("numbers")
    solve(entry)
    edit(entry, "twice = x + x", "twice = {}['x']")
    out, _ = tito(small_workspace, "test", "numbers", code=1)
    assert "double of two is four (1 more check fails in the same way)\n" in out
    assert out.count("KeyError") == 1


def test_a_failure_further_down_is_shown_with_its_whole_message(small_workspace, monkeypatch):
    monkeypatch.setattr(report, "FIRST", 1)
    entry = small_workspace.lesson("numbers")
    path = entry.declared_path.with_name("checks.py")
    text = path.read_text(encoding="utf-8")
    text = text.replace(
        'f"triple(2) should be 6, yours is {triple(2)}"', '"triple(2) should give\\n6: count"'
    )
    path.write_text(text, encoding="utf-8")
    solve(entry)
    edit(entry, "twice = x + x", "twice = x * x * x")
    edit(entry, "return double(x) + x", "return 5 * x")
    out, _ = tito(small_workspace, "test", "numbers", code=1)
    assert "numbers-triple: triple(2) should give\n   6: count\n" in out


def test_a_failure_shows_message_values_exercise_place_and_hint(small_workspace):
    entry = small_workspace.lesson("numbers")
    solve(entry)
    edit(entry, "twice = x + x", "twice = x / 0")
    out, _ = tito(small_workspace, "test", "numbers", code=1)
    line = entry.script.read_text(encoding="utf-8").split("\n").index("    twice = x / 0") + 1
    for output in (
        "FAIL  double of two is four  (0 of 2 points)",
        "exercise numbers-double, modules/source/01_numbers/numbers_dev.py:24",
        "double(2) raised ZeroDivisionError: division by zero",
        f"modules/source/01_numbers/numbers_dev.py:{line}  twice = x / 0",
        "2 hints left: tito hint numbers-double",
        "failed  2 of 3 checks fail, 1 waits for numbers-double.\n0 of 5 points, 0 of 3 checks",
    ):
        assert output in out
    assert "yours is [inf inf]" not in out  # what follows from it is only counted


def test_the_published_book_is_named_beside_help(small_course, tmp_path):
    config = small_course.path / "tito.toml"
    config.write_text(
        config.read_text(encoding="utf-8") + 'book = "https://example.org/book/"\n',
        encoding="utf-8",
    )
    tito(small_course, "release", tmp_path / "released")
    tito(small_course, "init", tmp_path / "mine")
    address = "https://example.org/book/lessons/01_numbers.html#numbers-double"
    assert address in tito(tmp_path / "released", "test", "numbers", code=1)[0]
    assert address in tito(tmp_path / "mine", "hint", "numbers")[0]


@pytest.mark.parametrize(
    "words",
    [
        ["test", "numbers"],
        ["test", "1"],
        ["test", "01_numbers"],
        ["test", "--module", "numbers"],
        ["test", "-m", "1"],
        ["test", "--all"],
    ],
)
def test_a_lesson_is_named_in_any_of_the_ways(small_workspace, words):
    solve(small_workspace.lesson("numbers"))
    solve(small_workspace.lesson("sums"))
    assert "passed" in tito(small_workspace, *words)[0]


def test_test_all_prints_one_json_object_per_lesson(small_workspace):
    solve(small_workspace.lesson("numbers"))
    out, _ = tito(small_workspace, "test", "--all", "--json", code=1)
    value, two = json.loads(out)
    assert (value["lesson"], value["number"], value["verdict"], value["points"]) == (
        "numbers",
        1,
        "passed",
        5,
    )
    assert (two["lesson"], two["verdict"], two["points"], two["max_points"]) == (
        "sums",
        "stub",
        0,
        2,
    )
    assert two["checks"][0]["status"] == "unwritten" and len(value["sha256"]) == 64


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["reset"], "Which lesson?"),
        (["test", "nubers"], "Did you mean 'numbers'?"),
        (["test", "--all", "numbers"], "contradict"),
        (["tset"], "No such command 'tset'"),
        (["test", "--nope"], "No such option"),
        (["start", "numbers-double"], "Name its lesson: numbers"),
        (["hint", "numbers", "halve"], "no exercise 'halve'"),
        (["reset", "numbers", "halve"], "no exercise 'halve'"),
        (["notebook", "numbers", "--keep", "neither"], "neither script nor notebook"),
        (["undo"], "nothing to undo"),
        (["init", "."], None),
        (["--root", "/nowhere", "status"], "has no tito.toml"),
    ],
)
def test_wrong_usage_is_two_lines_and_exit_2(small_workspace, words, said):
    if said is None:
        assert "is complete; nothing was changed" in tito(small_workspace, *words)[0]
        return
    out, err = tito(small_workspace, *words, code=2)
    assert said in err and out == ""
    assert len(err.strip().split("\n")) == 2


def test_help_lists_the_commands_by_who_needs_them(small_course, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)  # it is read at import
    out, _ = process(small_course, "--help")
    learners, rest = out.split("For learners")[1].split("For instructors")
    instructors, authors = rest.split("For authors")
    for panel, names in (
        (learners, "init status start test hint undo milestone"),
        (instructors, "release grade gradebook"),
        (authors, "check book"),
    ):
        assert [name for name in names.split() if f"│ {name} " not in panel] == []


def test_the_help_of_the_gradebook_keeps_other_graders_out_of_what_one_uses_every_day(
    small_course, monkeypatch
):
    monkeypatch.delenv("NO_COLOR", raising=False)  # it is read at import
    out, _ = process(small_course, "gradebook", "--help")
    daily, rest = out.split("Every day")[1].split("The class")
    members, several = rest.split("Several graders")
    for panel, names in ((daily, "show page set export"), (members, "roster")):
        assert [name for name in names.split() if f"│ {name} " not in panel] == []
    assert not re.search("grader|assistant|section", daily)
    assert "tito gradebook page --as prof --as ben:B" in several
    options, several = process(small_course, "gradebook", "page", "--help")[0].split("Several gra")
    assert not re.search("--as |grader", options) and "--as " in several


@pytest.mark.parametrize("words, is_loaded", [(["--root", ".", "test"], False), (["grade"], True)])
def test_a_command_for_learners_loads_no_other(words, is_loaded):
    code = "import sys, tito.cli.run; print('tito.cli.instructor' in sys.modules)"
    code = f"import sys; sys.argv = ['tito', *{words}]; {code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(is_loaded)


@pytest.mark.parametrize("command", ["hint", "compare", "reset"])
def test_without_a_name_a_course_asks_which_lesson(small_course, command):
    _, err = tito(small_course, command, code=2)
    assert err == "tito: Which lesson?\n      Name one of: numbers, sums.\n"


def test_a_command_for_one_exercise_refuses_several(small_workspace):
    _, err = tito(small_workspace, "hint", "1-2", code=2)
    assert "1-2 names more than one lesson or exercise." in err and "numbers-double" in err


def test_help_begins_as_the_readme_does(small_workspace):
    command = "bin/tito init ../my-tinytorch"
    assert f"Start with: {command}\n" in re.sub(" +\n", "\n", tito(small_workspace, "--help")[0])
    assert command in (REPOSITORY / "README.md").read_text(encoding="utf-8")


def test_without_a_lesson_it_is_the_one_tested_last_until_that_has_passed(small_workspace):
    numbers, sums = small_workspace.lessons
    for words, code in ((["start"], 0), (["hint"], 0), (["test"], 1)):
        assert tito(small_workspace, *words, code=code)[0].startswith(
            "lesson numbers, the first that has not passed\n"
        )
    tito(small_workspace, "test", "sums", code=1)
    with progress.change(small_workspace, "numbers") as record:
        record["last"]["when"] = "2026-01-01T00:00:00"
    for words, code in (
        (["start"], 0),
        (["hint"], 2),
        (["test", "-k", "total"], 1),
    ):  # sums has no hints
        assert tito(small_workspace, *words, code=code)[0].startswith("lesson sums, tested last\n")
    assert json.loads(tito(small_workspace, "test", "--json", code=1)[0])[0]["lesson"] == "sums"
    solve(numbers)
    solve(sums)
    assert tito(small_workspace, "test")[0].startswith("lesson sums, tested last\n")
    assert tito(small_workspace, "test")[0].startswith(
        "lesson numbers, the first that has not passed\n"
    )
    assert "Which lesson?" in tito(small_workspace, "test", code=2)[1]


def test_in_the_course_a_lesson_has_to_be_named_and_start_says_where_to_learn(
    small_course, small_workspace
):
    assert "Which lesson?" in tito(small_course, "test", code=2)[1]
    messages = (
        "This folder holds the course with its solutions. To learn: bin/tito init ../my-tinytorch\n"
    )
    assert tito(small_course, "start", "numbers")[0].endswith(messages)
    assert tito(small_course, "test", "numbers")[0].endswith(messages)
    for words in (["start", "numbers"], ["test", "numbers"]):
        assert "solutions" not in run(small_workspace, *words).stdout


def test_a_syntax_error_is_shown_with_its_line_and_costs_what_depends_on_it(small_workspace):
    entry = small_workspace.lesson("numbers")
    solve(entry)
    edit(entry, "return double(x) + x", "return (x")
    line = entry.script.read_text(encoding="utf-8").split("\n").index("    return (x") + 1
    out, _ = tito(small_workspace, "test", "numbers", code=1)
    words = f"are left out: line {line}: SyntaxError: '(' was never closed."
    assert words in " ".join(out.split()) and "    return (x\n           ^\n" in out
    assert out.count("was never closed") == out.count("return (x") == 1
    (value,) = json.loads(tito(small_workspace, "test", "numbers", "--json", code=1)[0])
    assert (value["verdict"], value["points"]) == ("partly right", 4)
    assert (
        words.replace("Syn", "return (x: Syn") in value["reason"]
        and value["first"]["where"]["line"] == line
    )
    out, err = tito(small_workspace, "export", "numbers", code=1)
    assert f"numbers_dev.py:{line}: syntax error: '(' was never closed" in out + err
    assert "def double" in entry.module_path.read_text(encoding="utf-8")


def test_what_is_left_out_of_an_unwritten_lesson_is_shown(small_workspace):
    edit(small_workspace.lesson("numbers"), "LIMIT = 10", "1 / 0")
    out, _ = tito(small_workspace, "test", "numbers", code=1)
    words = "is left out: 1 / 0: ZeroDivisionError: division by zero."
    assert words in " ".join(out.split()) and "Next to write" in out


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda entry: entry.script.write_text("", encoding="utf-8"), "numbers_dev.py is empty"),
        (
            lambda entry: [
                path.write_text(
                    path.read_text(encoding="utf-8").replace("Twice and", who), encoding="utf-8"
                )
                for path, who in ((entry.script, "A"), (entry.notebook, "B"))
            ],
            "were both edited",
        ),
    ],
)
def test_what_cannot_be_tested_has_no_score(small_workspace, spoil, said):
    entry = small_workspace.lesson("numbers")
    tito(small_workspace, "notebook", "numbers", "--no-open")
    spoil(entry)
    out, _ = tito(small_workspace, "test", "numbers", code=1)
    assert said in out and out.endswith("\n\nnot tested\n") and "0 of" not in out


def test_one_mistake_is_reported_once_and_unwritten_exercises_are_listed(small_workspace):
    entry = small_workspace.lesson("numbers")
    solve(entry, "numbers-double")
    edit(entry, "twice = x + x", "twice = x.nothing")
    edit(entry, '    """Three times `x`."""\n', '    """Three times `x`."""\n    double(x)\n')
    out, _ = tito(small_workspace, "test", "numbers", code=1)
    assert out.count("FAIL") == 2 and "numbers-triple waits for numbers-double\n" in out
    assert "2 of 3 checks fail, 1 waits for numbers-double.\n" in out
    edit(entry, "    double(x)\n", "")
    assert "1 exercise to write\n" in tito(small_workspace, "test", "numbers", code=1)[0]


def test_outside_any_root_tito_says_how_to_begin(tmp_path):
    _, err = tito(tmp_path, code=2)
    assert "is not inside a course or a workspace" in err and "tito init" in err


def test_outside_any_root_an_activated_one_is_named(tmp_path):
    _, err = process(tmp_path, "status", code=2, TINYTORCH_ROOT="/my work")
    assert "Go to the one that you have activated: cd '/my work'" in err


def test_init_from_anywhere_uses_the_course_that_tito_came_with(tmp_path):
    out, _ = tito(tmp_path, "init", "mine")
    assert (
        "is ready for the track road" in out
        and (tmp_path / "mine" / "modules" / "source" / "02_tensor" / "tensor_dev.py").exists()
    )


def test_a_folder_may_be_named_like_markup(small_course, tmp_path):
    out, _ = tito(small_course, "init", tmp_path / "my[bold]work[" / "x")
    assert "my[bold]work[" in out


def test_notebook_passes_options_to_jupyter_and_its_exit_status_on(small_workspace, monkeypatch):
    monkeypatch.setattr(jupyter, "missing", lambda: [])
    monkeypatch.setattr(jupyter, "PROGRAM", "other_lab")
    program = small_workspace.path / "other_lab.py"
    program.write_text("import sys\nprint(sys.argv[2:])\nraise SystemExit(7)\n", encoding="utf-8")
    words = ("--", "--allow-root", "--port", "9000")
    out, _ = tito(small_workspace, "notebook", "numbers", *words, code=7)
    assert out.endswith("['--allow-root', '--port', '9000']\n")


def test_version_prints_the_version(small_workspace):
    assert re.fullmatch(r"tito \d+(\.\d+)+\n", tito(small_workspace, "--version")[0])


def test_after_a_reset_a_copy_is_not_told_as_damage(small_workspace):
    entry = small_workspace.lesson("numbers")
    solve(entry)
    tito(small_workspace, "test", "numbers")
    tito(small_workspace, "reset", "numbers")
    output = tito(small_workspace, "test", "numbers", code=1)[0]
    assert "held code that is not in your lesson now (from before a reset" in output


def test_reset_and_undo_say_where_the_copy_is(small_workspace):
    entry = small_workspace.lesson("numbers")
    solve(entry)
    out, _ = tito(small_workspace, "reset", "numbers")
    assert ".tito/backups/" in out
    assert "Restored the files that `tito reset` overwrote" in tito(small_workspace, "undo")[0]
    assert "twice = x + x" in entry.script.read_text(encoding="utf-8")


def test_reset_of_a_file_that_is_gone_makes_it_again(small_workspace):
    small_workspace.lesson("numbers").script.unlink()
    assert "it is there again, as released" in tito(small_workspace, "reset", "numbers")[0]
    assert "is as it was released" in tito(small_workspace, "reset", "numbers")[0]


def commands_of(path):
    """The shell commands that a page shows: its `sh` blocks, indented lines and `code`."""
    text = path.read_text(encoding="utf-8")
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.S))
    lines = [line for line in blocks.split("\n") if line.strip()]
    return lines + [
        code
        for code in re.findall(r"`([^`\n]+)`", text)
        if re.match(r"(tito|bin/tito|python -m pytest|python benchmarks) ", code)
    ]


def test_every_tito_command_in_the_readmes_exists(small_course, small_workspace):
    screen = commands_of(REPOSITORY / "README.md") + commands_of(small_workspace.path / "README.md")
    words = {match.group(1) for line in screen if (match := re.match(r"(?:bin/)?tito (\w+)", line))}
    names, _ = tito(small_course, "--help")
    assert len(words) >= 8 and [word for word in words if f" {word} " not in names] == []


@pytest.mark.slow
def test_the_way_in_the_readme_works(tmp_path):
    """The commands of its first section in one shell, on a copy that uses this environment."""
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    *blocks, everything = re.findall(r"```sh\n(.*?)```", text, re.S)
    stuck = [line for line in ("tito hint descent", "tito status") if f"`{line}`" in text]
    folder = tmp_path / "clone"
    shutil.copytree(
        REPOSITORY, folder, ignore=shutil.ignore_patterns(".git", ".venv", ".tito", "__pycache__")
    )
    script = "".join(blocks) + "\n".join(stuck)
    script = script.replace("bin/tito", f"{sys.executable} -m tito --root {folder}")
    script = script.replace("tito test descent", "tito test descent || [ $? = 1 ]")
    result = subprocess.run(
        ["bash", "-e", "-c", script], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert (
        "Nothing is written yet" in result.stdout
        and "hint 1 of" in result.stdout
        and "descent" in result.stdout
    )
    assert everything == "bin/tito test --all\nbin/test\n"  # tests/bin runs these two


def test_the_example_in_the_readme_is_true():
    code = re.search(
        r"```python\n(.*?)```", (REPOSITORY / "README.md").read_text(encoding="utf-8"), re.S
    ).group(1)
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True
    )
    assert result.stdout.strip() == re.search(r"# (.*)", code).group(1), result.stderr


def test_the_program_in_the_readme_that_writes_with_a_gpt_runs(tmp_path):
    blocks = re.findall(
        r"```python\n(.*?)```", (REPOSITORY / "README.md").read_text(encoding="utf-8"), re.S
    )
    place = tmp_path / "modules" / "milestones" / "gpt.npz"
    place.parent.mkdir(parents=True)
    shutil.copy(REPOSITORY / "tinytorch" / "data" / "small_gpt.npz", place)
    result = subprocess.run(
        [sys.executable, "-c", blocks[1]],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
    )
    assert result.stdout.startswith("Emma was") and len(result.stdout) > 100, result.stderr


def test_a_word_is_explained_with_its_lesson(small_course):
    chapter = small_course.lesson("numbers").script
    text = chapter.read_text(encoding="utf-8")
    introduce(small_course.path, {"doubled": "mul"})
    text = text.replace("# **Task.** Write `double`.", "# A **doubled** number is $x + x$.")
    chapter.write_text(text, encoding="utf-8")
    out, _ = tito(small_course, "word", "Doubled")
    assert out.splitlines() == [
        "doubled",
        "  A doubled number is x + x.",
        "  01 numbers: Doubling",
        "  in PyTorch: mul",
    ]
    assert "01 numbers  doubled" in tito(small_course, "word")[0]
    assert json.loads(tito(small_course, "word", "--json")[0])[0]["section"] == "Doubling"
    assert "Did you mean 'doubled'?" in tito(small_course, "word", "double", code=2)[1]
