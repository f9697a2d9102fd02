"""`check("double")` where the chapter runs: in plain Python, in IPython, in a notebook's folder."""

import builtins
import subprocess
import sys

import pytest
from small_course import GIVEN_LINE, NEVER_RUNS, WITH_GIVEN_LINE, edit, solve

from tito.learn import chapter_checks
from tito.lesson import cells, lesson_format


@pytest.fixture
def entry(small_workspace):
    return small_workspace.lesson("numbers")


def run(entry, *words, cwd=None):
    """Run the lesson as a learner does. Returns (exit code, stderr)."""
    result = subprocess.run(
        [sys.executable, *map(str, words or (entry.script,))],
        check=False,
        cwd=cwd or entry.script.parent,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    return result.returncode, result.stderr


def line_of(entry, text):
    return entry.script.read_text(encoding="utf-8").split("\n").index(text) + 1


def test_right_work_is_silent(entry):
    solve(entry)
    assert run(entry) == (0, "")


def test_a_check_that_fails_says_what_the_checks_message_is_and_no_traceback(entry):
    solve(entry)
    edit(entry, "twice = x + x", "twice = x * x * x")
    code, err = run(entry)
    line = line_of(entry, 'check("double")')
    assert code == 1
    assert err.split("\n") == [
        f'check("double"), numbers_dev.py line {line}: double of two is four',
        "   double(2) should be 4, yours is 8: did you square?",
        "Stuck? tito hint numbers-double",
        "",
    ]


def test_an_error_in_the_learners_code_is_reported_with_its_line(entry):
    solve(entry)
    edit(entry, "return twice", "return twice / 0")
    code, err = run(entry)
    line = line_of(entry, "    return twice / 0")
    assert code == 1 and "Traceback" not in err
    assert "   double(2) raised ZeroDivisionError: division by zero\n" in err
    assert f"   at numbers_dev.py, line {line}: return twice / 0\n" in err


def test_a_parameter_that_is_none_is_named(entry):
    solve(entry)
    edit(entry, "return double(x) + x", "return double(None) + x")
    assert ". There `x` is None.\n" in run(entry)[1]


def test_what_is_not_written_is_one_line(entry):
    assert run(entry) == (1, "yours to write: tito hint numbers-double\n")


STUB = lesson_format.stub("numbers", "double")
LEFT_OVER = "write its code or delete it"


def test_a_raise_left_above_the_code_is_named_in_a_script(entry):
    assert LEFT_OVER not in run(entry)[1]
    assert "yours to write" in run(entry)[1]
    edit(entry, STUB, f"{STUB}\n    return x + x")
    code, err = run(entry)
    assert code == 1 and "double of two is four\n   a `raise" in err and LEFT_OVER in err


def test_a_raise_left_above_the_code_is_named_in_a_notebook(entry):
    released = entry.declared.exercise("double").cell.source
    out = in_ipython(entry, released, 'check("double")')
    assert "yours to write" in out and LEFT_OVER not in out
    out = in_ipython(entry, f"{released}\n    return x + x", 'check("double")')
    assert LEFT_OVER in out


def test_a_given_line_that_never_runs_is_named_in_a_script_and_in_a_notebook(entry):
    solve(entry)
    pristine = entry.root.path / ".tito/pristine" / entry.folder / entry.script.name
    pristine.write_text(WITH_GIVEN_LINE, encoding="utf-8")
    edit(entry, "twice = x + x\n    return twice", f"return x * x * x\n    {GIVEN_LINE}")
    words = f"should be 4, yours is 8: did you square?\n   {NEVER_RUNS}\n"
    code, err = run(entry)
    assert code == 1 and words in err
    cell = cells.read(entry.script).cell("double").source
    assert words in in_ipython(entry, cell, 'check("double")')


def test_a_check_that_needs_another_exercise_says_which(entry):
    solve(entry, "triple")
    edit(entry, 'check("double")', "")
    output = 'check("triple") needs exercise numbers-double, which is not written yet.\n'
    assert run(entry) == (1, output)


@pytest.mark.parametrize("change", ["emptied", "gone", "damaged"])
def test_editing_the_checks_beside_the_chapter_changes_nothing(entry, change):
    solve(entry)
    edit(entry, "twice = x + x", "twice = x * x * x")
    before = run(entry)
    beside = entry.script.with_name("checks.py")
    if change == "gone":
        beside.unlink()
    else:
        beside.write_text("# %% double points=4\n" if change == "emptied" else "(", "utf-8")
    assert run(entry) == before and before[0] == 1


def test_the_current_folder_decides_nothing_for_a_script(entry, tmp_path):
    solve(entry)
    edit(entry, "twice = x + x", "twice = x * x * x")
    assert run(entry, cwd=tmp_path) == run(entry)


def test_other_exceptions_keep_their_traceback(entry):
    solve(entry)
    edit(entry, "print(triple(5), LIMIT)", "try:\n    check('x')\nexcept Exception: pass\n1 / 0")
    code, err = run(entry)
    assert code == 1 and "Traceback" in err and "ZeroDivisionError: division by zero" in err


def test_an_unknown_exercise_is_reported_with_the_known_ones(entry):
    edit(entry, 'check("double")', 'check("halve")')
    output = "There is no exercise 'halve' here. There are: double, triple.\n"
    assert run(entry) == (1, output)


def test_outside_a_lesson_check_says_where_it_works(entry, tmp_path):
    code, err = run(entry, "-c", "check('double')", cwd=tmp_path)
    assert code == 1 and "Traceback" not in err
    assert err.startswith('check("double") does not know which lesson it is in.')


def test_the_polish_checks_of_an_exercise_run_with_it(small_course):
    entry = small_course.lesson("numbers")
    checks = entry.script.parent / "checks.py"
    polish = (
        "# %% double polish points=0\ndef test_of_one():\n    assert double(1) == 3, 'polish'\n"
    )
    text = checks.read_text(encoding="utf-8")
    checks.write_text(text.replace("# %% triple", f"{polish}\n\n# %% triple"), encoding="utf-8")
    code, err = run(entry)
    assert code == 1 and err.split("\n")[0].endswith(": of one") and "   polish\n" in err


def test_a_hidden_check_is_not_run_and_not_named(small_course):
    entry = small_course.lesson("sums")
    edit(entry, "return sum(double(n) for n in numbers)", "return 6")
    for lesson in small_course.lessons:
        from tito.learn import notebook_sync
        from tito.lesson import export

        export.write_module(lesson, export.current(lesson, notebook_sync.read(lesson, {})))
    assert run(entry) == (0, "")


def test_a_check_leaves_no_name_behind_and_sees_the_current_definitions(entry, monkeypatch):
    monkeypatch.chdir(entry.script.parent)
    space = {"double": lambda x: x + x}
    names = set(space)
    chapter_checks.check("double", space, 1)
    assert set(space) - {"__builtins__"} == names
    space["double"] = lambda x: x
    with pytest.raises(chapter_checks.CheckFailed, match="double\\(2\\) should be 4, yours is 2"):
        chapter_checks.check("double", space, 1)


def test_setup_and_learner_side_sections_serve_a_check(entry, monkeypatch):
    """Only the helpers that it needs: others may use unwritten exercises."""
    monkeypatch.chdir(entry.script.parent)
    own = entry.declared_path.with_name(lesson_format.CHECKS)
    text = own.read_text(encoding="utf-8").replace("double(2) == 4", "is_four(twice_of(2))")
    helpers = "FOUR = 4\nunused = lambda: later()\n\ndef is_four(x):\n    return near(x, FOUR)\n"
    text = text.replace("import numpy as np\n", f"import numpy as np\n\n{helpers}", 1)
    text += (
        "\n\n# %% learner-side\ndef later():\n    pass\n\n\ntriple(1)\n"
        "\n\n# %% learner-side\ndef near(a, b):\n    return abs(a - b) < 1e-9\n"
        "\n\n# %% learner-side\ndef twice_of(x):\n    return double(x)\n"
    )
    own.write_text(text, encoding="utf-8")
    chapter_checks.check("double", {"double": lambda x: x + x}, 1)


# In IPython


def in_ipython(entry, *sources, cwd=None):
    """Run cells in a new IPython. Returns its output."""
    code = (
        "import sys\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance(colors='NoColor', history_length=0)\n"
        "for source in sys.argv[1:]: shell.run_cell(source)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, *sources],
        check=True,
        cwd=cwd or entry.script.parent,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    return result.stdout


DOUBLE = "def double(x):\n    return x + {}"


def test_in_a_notebook_right_work_is_one_line(entry):
    out = in_ipython(entry, DOUBLE.format("x"), 'check("double")')
    assert out == "double: 2 of 2 checks passed\n"


def test_in_a_notebook_only_the_message_is_shown(entry):
    out = in_ipython(entry, DOUBLE.format("1"), 'check("double")')
    assert out.strip("\n").split("\n") == [
        'check("double"): double of two is four',
        "   double(2) should be 4, yours is 3: did you square?",
        "Stuck? tito hint numbers-double",
    ]


def test_in_a_notebook_an_error_is_reported_with_its_line_in_the_cell(entry):
    out = in_ipython(entry, DOUBLE.format("x / 0"), 'check("double")')
    assert "   double(2) raised ZeroDivisionError: division by zero\n" in out
    assert "   at your cell, line 2: return x + x / 0\n" in out and "Traceback" not in out


def test_in_a_notebook_that_runs_in_the_root_the_exercise_finds_its_lesson(entry):
    """Some editors start notebooks in the folder that is open."""
    out = in_ipython(entry, DOUBLE.format("1"), 'check("double")', cwd=entry.root.path)
    assert "double(2) should be 4, yours is 3" in out


def test_a_notebook_s_exercise_is_redefined_and_checked_again(entry):
    cell = 'check("double")'
    out = in_ipython(entry, DOUBLE.format("1"), cell, DOUBLE.format("x"), cell)
    assert out.count("should be 4") == 1


@pytest.mark.parametrize("name", ["__vsc_ipynb_file__", "JPY_SESSION_NAME"])
def test_the_editor_gives_the_path_of_the_notebook(entry, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    space = {"double": lambda x: x}
    if name == "JPY_SESSION_NAME":
        monkeypatch.setenv(name, str(entry.notebook))
    else:
        space[name] = str(entry.notebook)
    with pytest.raises(chapter_checks.CheckFailed, match="yours is 2"):
        chapter_checks.check("double", space, 1)


def test_check_is_a_builtin_of_every_python_with_tito():
    result = subprocess.run(
        [sys.executable, "-c", "print(check.__name__, check.__doc__)"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert result.stdout.startswith("check Run the checks of an exercise")
    assert hasattr(builtins, "check")
