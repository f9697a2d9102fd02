"""A verdict is earned: what must fail does, with its own words, in script and in notebook; honest
work passes.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from commands import tito
from small_course import edit, solve, verdict_on

from tito.learn import lesson_page, progress, runner, status, update, workspace
from tito.learn.process import Process
from tito.learn.verdict import Place
from tito.lesson import cells, course, notebook, outcome
from tito.lesson.lesson_format import stub

CHECKS = [
    "check-double.test_double_of_two_is_four",
    "check-double.test_double_works_on_arrays",
    "check-triple.test_triple_of_two_is_six",
]

DOUBLE_STUB = stub("numbers", "double")


@pytest.fixture
def entry(small_workspace):
    return small_workspace.lesson("numbers")


def as_notebook(entry):
    """Go on with the notebook alone, as a learner does who never looks at the script."""
    text = notebook.to_notebook(entry.script.read_text(encoding="utf-8"), entry.declared)
    entry.notebook.write_text(text, encoding="utf-8")
    entry.script.unlink()


def change(entry, old, new):
    solve(entry)
    edit(entry, old, new)


def append(text):
    def apply(entry):
        solve(entry)
        with entry.script.open("a", encoding="utf-8") as file:
            file.write(f"\n# %%\n{text}\n")

    return apply


def checks_of(entry):
    """The learner's copy of the checks, which is there to be read."""
    return entry.script.with_name("checks.py")


def cut_checks(entry):
    """Delete every cell of checks, and the checks themselves, and put in others that please."""
    change(entry, "twice = x + x", "twice = x")
    edit(entry, '# %% checks="double"\ncheck("double")', "# %%\nprint('passed')")
    edit(entry, '# %% checks="triple"\ncheck("triple")\n', "")
    checks_of(entry).unlink()


def empty_checks(entry):
    change(entry, "twice = x + x", "twice = x")
    text = re.sub(r"^    assert .*", "    pass", checks_of(entry).read_text("utf-8"), flags=re.M)
    assert text.count("    pass") == 3
    checks_of(entry).write_text(text, encoding="utf-8")


def rename_checks(entry):
    change(entry, "twice = x + x", "twice = x")
    edit(entry, 'checks="double"\ncheck("double")', 'checks="mine"\ncheck("mine")')
    text = checks_of(entry).read_text(encoding="utf-8")
    text = text.replace("# %% double", "# %% mine").replace("test_double", "test_mine")
    checks_of(entry).write_text(text, encoding="utf-8")


def give_points(entry):
    change(entry, "twice = x + x", "twice = x")
    text = checks_of(entry).read_text(encoding="utf-8")
    checks_of(entry).write_text(text.replace("points=1", "points=1000"), encoding="utf-8")


def stop(code):
    """Code instead of the head of `double`, without which no check passes."""
    return lambda entry: change(entry, "def double(x):", f"{code}\n\n\ndef duble(x):")


def unmark_checks(entry):
    """The learner's cells of checks hold what they like."""
    change(entry, "twice = x + x", "twice = x")
    edit(entry, 'check("double")', "check = print\nraise SystemExit(0)")


# what the learner's file is like: how it gets there, and the words that the verdict must have
WRONG = {
    "untouched": (lambda e: None, "Nothing is written yet: 2 exercises to write."),
    "empty": (lambda e: e.script.write_text(""), "is empty"),
    "missing": (lambda e: e.script.unlink(), "does not exist"),
    "not text": (lambda e: e.script.write_bytes(b"\xff\xfe\x00"), "is not UTF-8"),
    "a syntax error": (lambda e: change(e, "return twice", "return twice +"), "are left out: line"),
    "a syntax error outside the package": (append("x ="), "the lesson does not run to its end"),
    "code in a text cell": (
        lambda e: (solve(e), edit(e, "# Twice and thrice", "raise SystemExit  # Twice and thrice")),
        "this is code in a text cell",
    ),
    "raise at import": (stop("raise RuntimeError('no')"), "RuntimeError: no"),
    "raise at the end": (append("raise RuntimeError('no')"), "does not run to its end"),
    "sys.exit at import": (stop("import sys; sys.exit(0)"), "sys.exit(0): SystemExit: 0"),
    "os._exit at import": (
        stop("import os; os._exit(0)"),
        "is left out: import os; os._exit(0): the process that ran the code ended with exit code 0",
    ),
    "sys.exit in a function": (
        lambda e: change(e, "return twice", "import sys; sys.exit(0)"),
        "2 of 3 checks fail, 1 waits for numbers-double.",
    ),
    "os._exit in a function": (
        lambda e: change(e, "return twice", "import os; os._exit(0)"),
        "checks fail",
    ),
    "sys.exit at the end": (append("import sys; sys.exit(0)"), "does not run to its end"),
    "a crash after the last check": (
        append("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"),
        "exit code -9 before the lesson had run to its end",
    ),
    "a crash as Python ends": (
        append("import atexit, os; atexit.register(os._exit, 3)"),
        "exit code 3 after the last check",
    ),
    "a thread that never ends": (
        append("import threading, time; threading.Thread(target=time.sleep, args=(60,)).start()"),
        "did not end by itself after the last check",
    ),
    "checks deleted": (cut_checks, "checks fail"),
    "checks emptied": (empty_checks, "checks fail"),
    "checks renamed": (rename_checks, "checks fail"),
    "points given to oneself": (give_points, "2 of 3 checks fail, 1 waits for numbers-double."),
    "checks unmarked": (unmark_checks, "2 of 3 checks fail, 1 waits for numbers-double."),
    "prints of success": (
        lambda e: change(e, "return twice", "print('3 passed'); print('{\"event\": \"done\"}')"),
        "checks fail",
    ),
    "an endless loop": (
        lambda e: change(e, "return twice", "while True: pass"),
        "1 of 3 checks fail, 1 waits for numbers-double, 1 did not run",
    ),
    "a loop that catches all": (
        lambda e: change(
            e,
            "return twice",
            "while True:\n        try:\n            while True: pass\n        except BaseException:"
            " pass",
        ),
        "checks fail",
    ),
    "an endless loop at import": (stop("while True: pass"), "still running after 1 s"),
    "waits at import": (
        stop("import time; time.sleep(60)"),
        "still running after 1 s: an endless loop, or does it sleep?",
    ),
    "no exported cell": (
        lambda e: (
            solve(e),
            e.script.write_text(
                e.script.read_text(encoding="utf-8").replace("#| export", "# export"),
                encoding="utf-8",
            ),
        ),
        "no cell that begins with `#| export`",
    ),
    "a function renamed": (lambda e: change(e, "def double(x)", "def duble(x)"), "checks fail"),
    "KeyboardInterrupt": (
        lambda e: change(e, "return twice", "raise KeyboardInterrupt"),
        "2 of 3 checks fail, 1 waits for numbers-double.",
    ),
    "pytest.exit": (
        lambda e: change(e, "return twice", "import pytest; pytest.exit('ok', 0)"),
        "checks fail",
    ),
    "pytest.skip": (
        lambda e: change(e, "return twice", "import pytest; pytest.skip('later')"),
        "checks fail",
    ),
    "pytest.xfail": (
        lambda e: change(e, "return twice", "import pytest; pytest.xfail('later')"),
        "checks fail",
    ),
}
VERDICTS = {  # of those whose verdict is another than "failed"
    "untouched": "stub",
    "empty": "unreadable",
    "missing": "missing",
    "not text": "unreadable",
    "a syntax error": "syntax error",
    "code in a text cell": "unreadable",
    "raise at import": "import failed",
    "sys.exit at import": "import failed",
    "os._exit at import": "crashed",
    "an endless loop at import": "timed out",
    "no exported cell": "syntax error",
    "waits at import": "timed out",
    "an endless loop": "timed out",
    "a loop that catches all": "timed out",
    "os._exit in a function": "crashed",
}
NO_SUCH_NOTEBOOK = {
    "empty",
    "missing",
    "not text",
    "code in a text cell",
}  # tested as damaged notebooks in test_cells.py
LONG = {wrong for wrong in WRONG if re.search("loop|never ends|waits", wrong)}


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        pytest.param(wrong, kind, marks=[pytest.mark.slow] * (kind == "notebook" and wrong in LONG))
        for wrong in WRONG
        for kind in ("script", "notebook")
        if kind == "script" or wrong not in NO_SUCH_NOTEBOOK
    ],
)
def test_it_fails_with_its_own_words(entry, wrong, kind):
    spoil, output = WRONG[wrong]
    spoil(entry)
    if kind == "notebook":
        as_notebook(entry)
    result = verdict_on(entry, seconds=1)
    assert result.verdict == VERDICTS.get(wrong, "failed")
    assert output in result.reason, result.reason
    assert not result.passed and result.verdict in outcome.VERDICTS
    assert {c.status for c in result.checks} <= set(outcome.STATUSES)
    assert [c.id for c in result.checks] == CHECKS
    assert result.points == sum(c.max_points for c in result.checks if c.status == "passed")


@pytest.mark.fresh
@pytest.mark.parametrize("kind", ["script", "notebook"])
def test_honest_work_passes(entry, kind):
    solve(entry)
    if kind == "notebook":
        as_notebook(entry)
    result = verdict_on(entry)
    assert (result.verdict, result.reason, result.points, result.max_points) == ("passed", "", 5, 5)
    assert [(c.id, c.status, c.points) for c in result.checks] == list(
        zip(CHECKS, ["passed"] * 3, [2, 2, 1])
    )


def test_the_words_of_each_check_say_what_happened(entry):
    change(entry, "return twice", "return twice / 0")
    first, second, third = verdict_on(entry).checks
    output = "double(2) raised ZeroDivisionError: division by zero"
    assert (first.status, first.message) == ("error", output)
    line = entry.script.read_text(encoding="utf-8").split("\n").index("    return twice / 0") + 1
    place = "modules/source/01_numbers/numbers_dev.py"
    assert first.where == Place(place, line, None, "return twice / 0")
    assert second.status == "failed" and "yours is [inf inf]" in second.message


def test_the_place_is_in_the_exercise_though_the_error_is_deeper(entry):
    change(entry, "return twice", "return _given.missing")
    change(entry, "return double(x) + x", "return _broken(x)")
    edit(entry, "def _given(x):", "def _broken(x):\n    return 1 / 0\n\n\ndef _given(x):")
    where = verdict_on(entry).checks[2].where
    assert where.code == "return _broken(x)"


def test_a_line_that_a_message_names_is_that_of_the_chapter(entry):
    """The simulator of lesson 22 says which line of a kernel races."""
    wrong = "import sys; raise AssertionError(f'line {sys._getframe().f_lineno} of double')"
    change(entry, "return twice", wrong)
    lines = entry.script.read_text(encoding="utf-8").split("\n")
    (number,) = [n for n, line in enumerate(lines, 1) if "sys._getframe" in line]
    check = verdict_on(entry).checks[0]
    assert check.message == f"line {number} of double"
    assert (check.where.line, check.where.code) == (number, wrong)
    edit(entry, "import sys; raise", "import sys; x = 1; raise")  # `tito watch` sees each save
    assert verdict_on(entry).checks[0].where.code == wrong.replace("sys;", "sys; x = 1;")


def test_an_error_that_a_check_explains_has_its_place(entry):
    change(entry, "return twice", "return twice.missing")
    checks = entry.declared_path.with_name("checks.py")
    text = checks.read_text(encoding="utf-8")
    caught = (
        "    try:\n        double(2)\n    except AttributeError:\n        assert False, 'is it?'\n"
    )
    text = text.replace("_is_four():\n", f"_is_four():\n{caught}", 1)
    checks.write_text(text, encoding="utf-8")
    check = verdict_on(course.open_root(entry.root.path).lesson("numbers")).checks[0]
    assert (check.status, check.message) == ("failed", "is it?")
    assert check.where.code == "return twice.missing"


def test_a_parameter_that_is_none_is_named_and_no_return_suspected(entry):
    change(entry, "return double(x) + x", "return double(None) + x")
    message = verdict_on(entry).checks[2].message
    assert message.startswith("triple(2) raised TypeError: unsupported operand type(s) for +: ")
    assert message.endswith(". There `x` is None.") and "return" not in message


def test_an_error_that_only_mentions_none_suspects_nothing(entry):
    change(entry, "return twice", "raise ValueError('x may be no NoneType')")
    output = "double(2) raised ValueError: x may be no NoneType"
    assert verdict_on(entry).checks[0].message == output


def test_breakpoint_says_where_it_works(entry):
    change(entry, "return twice", "breakpoint(); return twice")
    assert "breakpoint() needs a terminal" in verdict_on(entry).checks[0].message


def test_in_a_notebook_the_place_is_a_cell_and_its_line(entry):
    change(entry, "return twice", "return twice / 0")
    as_notebook(entry)
    where = verdict_on(entry).checks[0].where
    assert (where.path, where.cell, where.line) == (
        "modules/source/01_numbers/numbers_dev.ipynb",
        6,  # the cell above holds the hints
        10,
    )


def test_a_check_that_waits_for_another_exercise_says_which(entry):
    solve(entry, "triple")
    result = verdict_on(entry)
    output = "needs exercise numbers-double, which is not written yet"
    assert [c.status for c in result.checks] == ["unwritten"] * 3
    assert (result.checks[2].message, result.checks[2].unwritten) == (output, "numbers-double")
    assert result.checks[0].message.startswith("yours to write: tito hint numbers-double")
    assert (result.verdict, result.reason) == (
        "failed",
        "3 wait for exercises that are not written.",
    )


@pytest.mark.parametrize("above", ["", "    if x is not None:\n    "])
def test_a_line_that_raises_is_named_where_other_code_is_written(entry, above):
    line = entry.declared.exercise("double").stub.splitlines()[-1]
    edit(entry, line, f"{above}{line}\n    return x + x")
    result = runner.test_lesson(entry).verdict
    checks = {check.exercise: check for check in result.checks}
    double, triple = checks["numbers-double"], checks["numbers-triple"]
    assert double.status == "error" and double.message == (
        "a `raise NotImplementedError(...)` of the released exercise ran: write its code or delete "
        "it"
    )
    assert triple.unwritten == "numbers-triple" and result.points == 0


def test_a_check_that_fails_in_another_exercises_code_waits_for_it_if_that_one_is_wrong(entry):
    change(entry, "twice = x + x", "twice = x.nothing")
    first, second, third = (result := verdict_on(entry)).checks
    assert [(c.status, c.waits, c.unwritten) for c in (first, second, third)] == [
        ("error", None, None),
        ("error", None, None),
        ("error", "numbers-double", None),
    ]
    assert (
        third.message == "triple(2) raised AttributeError: 'int' object has no attribute 'nothing'"
        and third.where.code == "return double(x) + x"
    )
    assert result.reason == "2 of 3 checks fail, 1 waits for numbers-double."
    assert (
        "waits" not in result.as_json()["checks"][2]
        and result.as_json()["checks"][2]["status"] == "error"
    )


def test_polish_checks_wait_until_the_values_are_right_and_the_lesson_passes_without_them(entry):
    checks = entry.declared_path.with_name("checks.py")
    polish = (
        "# %% double polish points=0\ndef test_of_one():\n    assert double(1) == 3, 'polish'\n"
    )
    text = checks.read_text(encoding="utf-8").replace("# %% triple", f"{polish}\n\n# %% triple")
    checks.write_text(text, encoding="utf-8")
    entry = course.open_root(entry.root.path).lesson("numbers")

    def polish_after(old, new):
        change(entry, old, new)
        verdict = verdict_on(entry)
        (check,) = [check for check in verdict.checks if "polish" in check.id]
        return check.status, check.waits, verdict.verdict, verdict.points

    wrong = polish_after("twice = x + x", "twice = x * x * x")
    assert wrong[:3] == ("failed", "numbers-double", "failed")
    right = polish_after("twice = x + x", "twice = 2 * x")
    assert right == ("failed", None, "passed", entry.declared.points)
    states = BeautifulSoup(lesson_page.render(entry), "html.parser").select(".state")
    assert [state.text for state in states] == ["right", "right"], "as on the screen"
    out, _ = tito(entry.root, "test", "numbers")
    assert "2 exercises right" in out and "lesson ████████████████████ 2 of 2 exercises" in out
    assert "a note: it costs no points" in out
    row = status.row(entry, progress.record_of(entry))
    assert (row.right, row.exercises) == (2, 2)
    assert status.first_open(entry, progress.record_of(entry)) is None
    # The same for an exercise alone: the lesson is not tested, but nothing of it is wrong.
    one = verdict_on(entry, "numbers-double")
    assert one.selection_passed and one.verdict != "passed" and "did not run" not in one.reason
    edit(entry, "return double(x) + x", "return 0")
    assert verdict_on(entry, "numbers-double").selection_passed
    wrong = verdict_on(entry, "numbers-triple")
    assert not wrong.selection_passed and wrong.reason == "1 of 1 checks fail."


def test_a_call_that_another_exercise_rightly_refuses_is_the_callers_mistake(entry):
    change(entry, "return double(x) + x", "return double(None) + x")
    assert [(c.status, c.waits) for c in verdict_on(entry).checks] == [
        ("passed", None),
        ("passed", None),
        ("error", None),
    ]


@pytest.mark.parametrize(
    "triple, waits",
    [("globals()['double'](x) + x", "numbers-double"), ("x + x", None)],
    ids=["by another way than its name", "not at all"],
)
def test_a_wrong_value_waits_for_the_wrong_exercise_that_its_check_called(entry, triple, waits):
    change(entry, "twice = x + x", "twice = x")
    edit(entry, "double(x) + x", triple)
    assert [c.waits for c in verdict_on(entry).checks] == [None, None, waits]


def test_two_exercises_that_fail_in_each_other_are_both_told(entry):
    change(entry, "twice = x + x", "twice = x.nothing if type(x) is list else triple((x,))")
    edit(entry, "return double(x) + x", "return x.nothing if type(x) is tuple else double([x])")
    result = verdict_on(entry)
    assert [c.message for c in result.checks] == [
        f"{call} raised AttributeError: '{kind}' object has no attribute 'nothing'"
        for call, kind in (
            ("double(2)", "tuple"),
            ("double(np.array([1, 3]))", "tuple"),
            ("triple(2)", "list"),
        )
    ]
    assert [(c.wrong, c.waits) for c in result.checks] == [(True, None)] * 3
    assert result.reason == "3 of 3 checks fail."


def test_an_untouched_exercise_is_to_write_whatever_stops_its_check(entry):
    solve(entry, "double")
    edit(entry, "return twice", "return [].nothing")
    edit(
        entry,
        "def _given(x):",
        "written = triple\n\n\ndef triple(x):\n    double(x)\n    written(x)\n\n\ndef _given(x):",
    )  # on its way to the stub
    checks = verdict_on(entry).checks
    assert [(c.wrong, c.unwritten) for c in checks] == [
        (True, None),
        (True, None),
        (False, "numbers-triple"),
    ]


def test_an_import_that_fails_costs_what_needs_it_also_in_later_lessons(entry, small_workspace):
    later = small_workspace.lesson("sums")
    solve(later)
    change(entry, "import numpy as np", "import numpyy as np")
    edit(entry, "twice = x + x", "twice = np.add(x, x)")
    line = entry.script.read_text(encoding="utf-8").split("\n").index("import numpyy as np") + 1
    words = f"ell 3, line {line} is left out: import numpyy as np: ModuleNotFoundError: No module"
    for tested, before in ((entry, "C"), (later, "lesson numbers, c")):
        result = verdict_on(tested)
        said = " ".join([result.reason, *(check.message for check in result.checks)])
        assert before + words in said and "NameError: name 'np' is not defined: " in said
        assert not result.points


def test_a_function_that_is_gone_is_named(entry):
    change(entry, "def triple(x):", "def trible(x):")
    assert verdict_on(entry).checks[2].message == (
        "the lesson does not define triple: its cell, cell 8, defines trible. Was it renamed?"
    )


def test_what_the_code_printed_is_kept_with_its_check(entry):
    change(entry, "return twice", "print('x is', x); return x")
    assert verdict_on(entry).checks[0].output == "x is 2\nx is 2\n"


def test_a_warning_names_the_line_of_the_chapter_in_which_it_arose(entry):
    change(entry, "return twice", "import numpy as np; np.log(np.zeros(1)); return x")
    lines = entry.script.read_text(encoding="utf-8").split("\n")
    (number,) = [n for n, line in enumerate(lines, 1) if "np.log" in line]
    output = verdict_on(entry).checks[0].output.split("\n")
    assert output == [
        f"modules/source/01_numbers/numbers_dev.py:{number}: RuntimeWarning: divide by zero "
        "encountered in log",
        "  import numpy as np; np.log(np.zeros(1)); return x",
        "",
    ]


def test_a_learners_own_checks_run_and_count_for_nothing(entry):
    append("def test_mine():\n    assert double(1) == 3\n\n\ntest_mine()")(entry)
    result = verdict_on(entry)
    assert (result.verdict, len(result.checks)) == ("passed", 3)
    assert [(c.id, c.status, c.max_points) for c in result.own_checks] == [
        ("own.test_mine", "failed", 0)
    ]
    assert result.own_checks[0].message == "this should hold: assert double(1) == 3"


@pytest.mark.parametrize(
    ("keyword", "selected"),
    [
        ("two", [True, False, True]),
        ("WORKS_on", [False, True, False]),
        ("numbers-triple", [False, False, True]),
        ("check-double", [False, False, False]),
    ],
)
def test_a_keyword_selects_the_checks_whose_names_contain_it(entry, keyword, selected):
    solve(entry)
    checks = verdict_on(entry, keyword).checks
    assert [check.status == "passed" for check in checks] == selected


def test_only_part_of_the_checks_never_passes_a_lesson(entry):
    solve(entry)
    part = verdict_on(entry, keyword="two")
    assert part.verdict == "partly right" and [c.status for c in part.checks] == [
        "passed",
        "not run",
        "passed",
    ]
    assert part.selection_passed and part.as_json()["verdict"] == "passed"
    assert [c.status for c in verdict_on(entry, keyword="numbers-triple").checks] == [
        "not run",
        "not run",
        "passed",
    ]
    none = verdict_on(entry, keyword="nothing_like_it")
    assert not none.selection_passed and none.as_json()["verdict"] == "failed"
    assert none.reason == "No check was run: none has that name."


def test_the_name_of_an_exercise_selects_it_before_checks_with_that_word(entry):
    solve(entry)
    text = "def test_double_of_triple():\n    assert triple(double(1)) == 6\n"
    checks = entry.declared_path.with_name("checks.py")
    before = checks.read_text(encoding="utf-8").replace("triple points=1", "triple points=2")
    checks.write_text(f"{before}\n\n{text}", encoding="utf-8")
    entry = course.open_root(entry.root.path).lesson("numbers")
    for keyword in ("double", "numbers-double"):
        assert [c.id for c in verdict_on(entry, keyword).checks_run] == CHECKS[:2]
    assert len(verdict_on(entry, "doub").checks_run) == 3


def test_a_check_that_raises_after_another_check_failed_waits_for_its_exercise(entry):
    """What the check reads is not there, because the exercise is wrong in another way."""
    edit(entry, DOUBLE_STUB, "return []")
    checks = entry.declared_path.with_name("checks.py")
    text = checks.read_text(encoding="utf-8").replace("np.array_equal(got, [2, 6])", "got[1] == 6")
    checks.write_text(text, encoding="utf-8")
    verdict = verdict_on(course.open_root(entry.root.path).lesson("numbers"))
    first, second, _ = verdict.checks
    assert first.wrong and "did you square" in first.message
    assert second.status == "error" and second.waits == "numbers-double" and not second.wrong
    assert verdict.reason.startswith("1 of 3 checks fail, 2 wait for numbers-double and ")


def test_after_the_first_failure_nothing_runs_with_x(entry):
    change(entry, "twice = x + x", "twice = x")
    assert [c.status for c in verdict_on(entry, first_only=True).checks] == [
        "failed",
        "not run",
        "not run",
    ]


@pytest.mark.fresh
def test_a_right_package_elsewhere_does_not_help_a_wrong_file(
    entry, small_course, monkeypatch, tmp_path
):
    solve(entry)
    verdict_on(entry)  # a right module where the learner's will be
    workspace.reset(entry)
    change(entry, "twice = x + x", "twice = x")
    elsewhere = tmp_path / "elsewhere" / "tinytorch"
    (elsewhere / "core").mkdir(parents=True)
    for name in ("__init__.py", "core/__init__.py"):
        (elsewhere / name).touch()
    (elsewhere / "core" / "numbers.py").write_text(
        "LIMIT = 10\ndef double(x): return 2 * x\ndef triple(x): return 3 * x\n", encoding="utf-8"
    )
    monkeypatch.setenv("PYTHONPATH", str(elsewhere.parent))
    monkeypatch.chdir(elsewhere.parent)
    assert (
        verdict_on(entry).checks[0].message == "double(2) should be 4, yours is 2: did you square?"
    )


@pytest.mark.slow
@pytest.mark.fresh
def test_bytecode_of_an_older_version_is_never_run(entry):
    """The same size within the same second, as a quick learner saves: cached bytecode would look
    fresh.
    """
    solve(entry)
    for old, new, passed in (
        ("x + x", "x * x", False),
        ("x * x", "x + x", True),
        ("x + x", "x - x", False),
    ):
        edit(entry, f"twice = {old}", f"twice = {new}")
        assert verdict_on(entry).passed == passed
        code = "from tinytorch.core.numbers import double; print(double(3))"
        printed = subprocess.run(
            [sys.executable, "-c", code],
            cwd=entry.root.path,
            capture_output=True,
            text=True,
            env={k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
        ).stdout
        assert (printed == "6\n") == passed


@pytest.mark.slow
@pytest.mark.fresh
@pytest.mark.parametrize("warm", [False, True], ids=["alone", "in a warm process"])
def test_a_lesson_runs_on_the_lower_lessons_as_they_are_now(entry, small_workspace, warm):
    """Also when they change between two tests of one process, which keeps what it has read, and
    back again.
    """
    later = small_workspace.lesson("sums")
    solve(entry)
    solve(later)
    with Process() as process:

        def tested():
            return verdict_on(later, process=process if warm else None)

        for _ in range(2):
            assert tested().passed
            edit(entry, "twice = x + x", "twice = x")
            assert "yours is 3" in tested().checks[0].message
            edit(entry, "twice = x", "twice = (x")
            assert "line 32: twice = (x: SyntaxError" in tested().reason
            edit(entry, "twice = (x", "twice = x + x")


@pytest.mark.slow
@pytest.mark.fresh
def test_checks_only_say_what_a_whole_test_says_of_each_text_of_a_lesson(entry, small_workspace):
    """One process tests many texts, as the author's gate has it do."""
    later = small_workspace.lesson("sums")
    solve(entry)
    solve(later)
    right = later.script.read_text(encoding="utf-8")
    texts = {
        "right": right,
        "wrong": right.replace("return sum(", "return 1 + sum("),
        "stops": right.replace("return sum(", "raise KeyError(7)\n    return sum("),
        "exits": right.replace("return sum(", "import sys; sys.exit(3)\n    return sum("),
        "is no import": right.replace("import double", "import triple_"),
    }
    assert len(set(texts.values())) == len(texts)

    def said(result):
        return result.reason, [(c.status, c.points, c.message) for c in result.checks]

    with Process() as process:
        for name, text in [*texts.items(), ("right", right)]:
            later.script.write_text(text, encoding="utf-8")
            reason, checks = said(runner.test_checks(later, process=process, preload=True))
            assert checks == said(verdict_on(later))[1], name
            assert ("is left out" in reason) == (name == "is no import")


def test_checks_only_run_those_of_an_exercise_and_end_at_the_first_that_fails(entry):
    edit(entry, f"    {stub('numbers', 'double')}", "    return x * x * x")
    run = runner.test_checks(entry, runner.CheckSelection(["numbers-double"], None, True))
    assert [c.status for c in run.checks] == ["failed", "not run", "not run"]
    run = runner.test_checks(entry, runner.CheckSelection(["numbers-double"]))
    assert [c.status for c in run.checks] == ["failed", "failed", "not run"]


def test_a_lesson_names_an_unfinished_lower_lesson(small_workspace):
    later = small_workspace.lesson("sums")
    solve(later)
    assert (
        verdict_on(later).checks[0].message
        == "needs exercise numbers-double, which is not written yet"
    )


def test_after_a_skip_the_next_lesson_can_be_tried(entry, small_workspace):
    update.choose(small_workspace, "skip", ["numbers"], written=False)
    later = course.open_root(small_workspace.path).lesson("sums")
    solve(later)
    assert verdict_on(later).passed


def test_an_error_in_a_lower_lesson_names_its_function(entry, small_workspace):
    change(entry, "twice = x + x", "twice = x.nothing")
    later = small_workspace.lesson("sums")
    solve(later)
    check = verdict_on(later).checks[0]
    assert "\nin your `double` of lesson 01 numbers, modules/source/01_numbers" in check.message
    assert check.message.endswith(": twice = x.nothing") and "sums_dev.py" in str(check.where)


def test_after_a_function_was_renamed_nothing_is_said_about_a_copy(entry):
    solve(entry)
    verdict_on(entry)
    edit(entry, "def double(x):", "def twofold(x):")
    assert verdict_on(entry).notes == []


def test_edited_or_damaged_checks_are_named(entry):
    own, course_s = entry.script.with_name("checks.py"), entry.declared_path.with_name("checks.py")
    own.write_text("# easier\n", encoding="utf-8")
    solve(entry)
    assert "01_numbers/checks.py was edited, which changes nothing" in verdict_on(entry).notes[0]
    text = course_s.read_text(encoding="utf-8").replace("    assert", "  x  assert", 1)
    course_s.write_text(text, encoding="utf-8")
    check = verdict_on(course.open_root(entry.root.path).lesson("numbers")).checks[0]
    assert "checks.py is damaged: invalid syntax. Delete it; then `tito init .`" in check.message


def test_what_a_right_exercise_prints_is_shown(entry):
    solve(entry)
    verdict_on(entry)
    edit(entry, "twice = x + x", "print('seen', 1); twice = x + x")
    out, _ = tito(entry.root, "test", "numbers")
    assert "numbers-double printed\n   seen 1\n" in out


def test_a_package_edited_by_hand_is_saved_before_it_is_replaced(entry):
    solve(entry)
    verdict_on(entry)
    entry.module_path.write_text("# precious\n", encoding="utf-8")
    result = verdict_on(entry)
    assert result.passed
    assert "tinytorch/core/numbers.py held code that is not in your lesson now " in result.notes[0]
    saved = (
        Path(result.notes[0].split(" is in ")[1]) / "files" / "tinytorch" / "core" / "numbers.py"
    )
    assert saved.read_text(encoding="utf-8") == "# precious\n"


def test_a_folder_that_shadows_the_module_is_not_what_is_tested(entry):
    folder = entry.module_path.with_suffix("")
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(
        "LIMIT = 10\ndef double(x): return 2 * x\ndef triple(x): return 3 * x\n", encoding="utf-8"
    )
    assert verdict_on(entry).points == 0


def test_a_lower_lesson_that_cannot_be_exported_is_not_replaced_by_its_old_self(
    entry, small_workspace
):
    later = small_workspace.lesson("sums")
    solve(entry)
    solve(later)
    assert verdict_on(later).passed
    edit(entry, "return twice", "return twice )")
    rows = entry.script.read_text(encoding="utf-8").split("\n")
    line = rows.index("    return twice )") + 1
    result = verdict_on(later)
    assert not result.passed and re.search(
        f"lesson numbers, cell 5, lines .* left out: line {line}: return twice \\)", result.reason
    )


def test_a_check_of_ones_own_that_ends_the_process_hides_nothing(entry):
    append(
        "def test_a():\n    import os; os._exit(0)\n\n\ndef test_b():\n    pass\n\n# %%\nraise"
        " RuntimeError"
    )(entry)
    assert verdict_on(entry).verdict == "crashed"


def test_finished_work_with_the_old_raise_in_a_comment_is_not_unwritten(entry):
    change(entry, "return twice", f"return twice\n    # {stub('numbers', 'double')}")
    edit(entry, "return double(x) + x", f"return double(x) + x\n    {stub('numbers', 'triple')}")
    assert verdict_on(entry).passed


@pytest.mark.fresh
def test_a_conftest_in_the_current_folder_plays_no_part(entry, tmp_path, monkeypatch):
    (tmp_path / "conftest.py").write_text("raise SystemExit(1)\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    solve(entry)
    assert verdict_on(entry).passed


@pytest.mark.slow
@pytest.mark.fresh
def test_a_warm_process_gives_the_same_verdicts(entry):
    with Process() as process:
        for spoil in ("twice = x * x", "import os; os._exit(0)", "twice = x + x"):
            change(entry, "twice = x + x", spoil)
            cold, warm = verdict_on(entry), verdict_on(entry, process=process)
            assert (cold.verdict, cold.reason, [(c.status, c.message) for c in cold.checks]) == (
                warm.verdict,
                warm.reason,
                [(c.status, c.message) for c in warm.checks],
            )


@pytest.mark.fresh
def test_children_of_the_learners_code_do_not_outlive_the_test(entry, tmp_path):
    note = tmp_path / "pid"
    append(
        f"import subprocess; p = subprocess.Popen(['sleep', '60']); open({str(note)!r},"
        " 'w').write(str(p.pid))"
    )(entry)
    verdict_on(entry)
    pid = int(note.read_text())
    for _ in range(50):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        if open(f"/proc/{pid}/stat").read().split()[2] == "Z":
            return
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    pytest.fail("the child still ran")


def test_the_json_has_the_keys_that_scripts_rely_on(entry):
    result = verdict_on(entry).as_json()
    assert list(result) == [
        "lesson",
        "number",
        "verdict",
        "reason",
        "points",
        "max_points",
        "source",
        "sha256",
        "seconds",
        "checks",
        "own_checks",
        "answers",
        "notes",
        "first",
    ]
    assert set(result["checks"][0]) >= {
        "id",
        "exercise",
        "name",
        "points",
        "max_points",
        "status",
        "message",
        "seconds",
    }
    json.dumps(result)


@pytest.mark.parametrize("kind", ["script", "notebook"])
@pytest.mark.parametrize(
    ("old", "new", "words", "mark", "below"),
    [
        ("twice = x + x", "twice = x * x", "double([1, 3]) should", "def double(x):", -1),
        ("return double(x) + x", "return double(x)[9]", "raised TypeError", "(x)[9]", 0),
        ("return double(x) + x", "return (", "SyntaxError", "return (", 0),
        ("def triple(x):", "1 / 0\n\n\ndef trible(x):", "ZeroDivisionError", "1 / 0", 0),
        ("print(triple(5), LIMIT)", "1 / 0", "does not run to its end", "1 / 0", 0),
    ],
)
def test_the_json_says_what_to_look_at_first_and_where(entry, kind, old, new, words, mark, below):
    solve(entry)
    edit(entry, old, new)
    if kind == "notebook":
        as_notebook(entry)
    first = verdict_on(entry).as_json()["first"]
    where = first["where"]
    source = cells.read(entry.notebook if kind == "notebook" else entry.script)
    cell = next(cell for cell in source.cells if mark in cell.source)
    line = next(n for n, text in enumerate(cell.source.split("\n")) if mark in text)
    assert words in first["message"]
    assert where["path"] == entry.relative(source.path)
    assert where["line"] == cell.line + line + below
    assert where["cell"] == (cell.number if kind == "notebook" else None)


def test_the_json_of_a_lesson_that_passed_has_nothing_to_look_at_first(entry):
    solve(entry)
    assert verdict_on(entry).as_json()["first"] is None


# Time limits


def test_a_check_that_computes_too_long_is_stopped_and_told(entry):
    change(entry, "return twice", "while True: pass")
    first, second, third = verdict_on(entry, seconds=0.2).checks
    assert [c.status for c in (first, second, third)] == ["timeout", "not run", "timeout"]
    assert first.message == "still running after 0.2 s: an endless loop?"
    assert second.message == "not run: another check ran out of time"


def test_a_slow_check_after_one_that_ran_out_of_time_has_its_whole_limit(entry):
    """As in the judge: else it would be called too slow here, and pass there."""
    change(entry, "return twice", "while True: pass")
    slow = "import time; until = time.process_time() + 0.3\n"
    slow += "    while time.process_time() < until: pass\n    return 3 * x"
    edit(entry, "return double(x) + x", slow)
    late, *_, right = verdict_on(entry, seconds=0.6).checks
    assert (late.status, right.status, right.message) == ("timeout", "passed", "")


def test_a_check_that_fails_for_lack_of_a_line_points_to_it(entry):
    change(entry, "    return twice", "return twice")
    verdict = verdict_on(entry)
    assert verdict.checks[0].message.startswith("A part of this exercise is left out: see the end")
    assert "outside function: indent it as the lines of its function" in verdict.reason


def test_a_check_that_only_waits_is_stopped_and_told(entry):
    change(entry, "return twice", "import threading; threading.Event().wait()")
    first = verdict_on(entry, keyword="is_four", seconds=0.2).checks[0]
    output = "waiting for 0.2 s: does it sleep, or ask for input?"
    assert (first.status, first.message) == ("timeout", output)


def test_a_terminal_that_is_closed_while_a_check_runs_changes_nothing(entry, monkeypatch):
    """What is said of a slow check is written from another thread."""
    monkeypatch.setattr(runner, "SLOW_SECONDS", 0.01)
    errors, said = [], []
    monkeypatch.setattr("threading.excepthook", errors.append)

    def write(check):
        said.append(check)
        raise OSError("the terminal is closed")

    change(entry, "return twice", "while True: pass")
    assert verdict_on(entry, seconds=0.2, on_slow=write).verdict == "timed out"
    assert said and errors == []


def test_a_lesson_all_of_whose_checks_run_out_of_time_timed_out(entry):
    change(entry, "return twice", "while True: pass")
    assert verdict_on(entry, seconds=0.2).verdict == "timed out"


@pytest.mark.parametrize("loop", ["while True: pass", "sum(iter(int, 1))"], ids=["python", "C"])
def test_a_slow_demonstration_is_stopped_told_and_changes_nothing(entry, monkeypatch, loop):
    monkeypatch.setattr(runner, "DEMONSTRATION_SECONDS", 0.2)
    monkeypatch.setattr(runner, "GRACE", 0.3)
    append(loop)(entry)
    rows = entry.script.read_text(encoding="utf-8").split("\n")
    line = rows.index(loop) + 1
    result = verdict_on(entry)
    assert (result.verdict, result.points, result.reason) == ("passed", 5, "")
    assert result.notes == [
        f"modules/source/01_numbers/numbers_dev.py:{line}: a demonstration takes more than 0.2 s; "
        "it was stopped, which changes nothing"
    ]


def test_results_of_checks_are_shown_before_demonstrations_run(entry, tmp_path):
    ran, seen = tmp_path / "ran", []

    def on_checks(checks):
        seen.append((sum(check.passed for check in checks), ran.exists()))

    append(f"open({str(ran)!r}, 'w').close()")(entry)
    verdict_on(entry, on_checks=on_checks)
    assert seen == [(3, False)] and ran.exists()
    verdict_on(entry, on_checks=on_checks)
    assert len(seen) == 1  # nothing is left to run


@pytest.mark.parametrize("right", [True, False], ids=["all right", "not all right"])
def test_a_demonstration_that_ends_the_process_is_reported(entry, right):
    append("import os; os._exit(7)")(entry)
    if not right:
        edit(entry, "return double(x) + x", "return double(x) + x + 1")
        edit(entry, 'check("double")\n', 'check("double")\n\n# %%\nimport os; os._exit(7)\n')
    result = verdict_on(entry)
    assert (result.verdict, result.points) == ("failed", 5 if right else 4)
    assert "process ended with exit code 7" in result.reason
    assert ("in a demonstration" in result.reason) != right


def test_behind_a_slow_demonstration_no_other_is_run(entry, monkeypatch):
    monkeypatch.setattr(runner, "DEMONSTRATION_SECONDS", 0.2)
    append("while True: pass\n\n# %%\nraise RuntimeError('no')")(entry)
    assert verdict_on(entry).passed


# Demonstrations that ran well are not run again

SECTIONS = """
# %% [markdown]
# ## First

# %%
first = {first}
note("first")

# %% [markdown]
# ## Second

# %%
note("second")

# %%
{second}
"""


@pytest.fixture
def noted(entry, tmp_path):
    """A lesson whose demonstrations note that they run; `noted()` tests it and returns which
    did.
    """
    file = tmp_path / "notes"
    edit_text = entry.script.read_text(encoding="utf-8")
    solve(entry)
    assert edit_text != entry.script.read_text(encoding="utf-8")
    edit(
        entry,
        "#| exporti\n",
        f"#| exporti\ndef note(what):\n    open({str(file)!r}, 'a').write(what + '\\n')\n\n\n",
    )
    whole = entry.script.read_text(encoding="utf-8")

    def run(first="1", second="print(double(2))", **options):
        entry.script.write_text(
            whole + SECTIONS.format(first=first, second=second), encoding="utf-8"
        )
        file.write_text("")
        result = verdict_on(entry, **options)
        return result.verdict, file.read_text().split()

    return run


def test_demonstrations_are_not_run_again_when_nothing_changed(noted):
    assert noted() == ("passed", ["first", "second"])
    assert noted() == ("passed", [])
    assert noted() == ("passed", [])


def test_demonstrations_run_again_when_a_section_above_changed(noted):
    noted()
    assert noted(first="2") == ("passed", ["first", "second"])
    assert noted(first="2") == ("passed", [])


def test_demonstrations_above_a_change_are_not_run_again(noted):
    noted()
    assert noted(second="print(double(3))") == ("passed", ["second"])


def test_a_demonstration_that_gives_names_to_one_that_runs_is_run_with_it(noted):
    noted()
    assert noted(second="print(first)") == ("passed", ["first", "second"])


def test_a_demonstration_that_failed_is_run_again(noted):
    assert noted(second="raise RuntimeError('no')") == ("failed", ["first", "second"])
    for _ in range(2):  # the cell above it ran well, and is not run again
        assert noted(second="raise RuntimeError('no')") == ("failed", [])


def test_a_demonstration_breaks_with_the_code_above_it(noted, entry):
    """What it calls has changed since it ran well, so that it is run again, and its fault found."""
    noted()
    edit(entry, "return math.floor(triple(x))", "return math.floor(triple(x)) / 0")
    with entry.script.open("a", encoding="utf-8") as file:
        file.write("\n# %%\n_given(3)\n")
    assert "ZeroDivisionError" in verdict_on(entry).reason


def test_a_demonstration_is_run_again_when_a_lower_lesson_changed(entry, small_workspace):
    later = small_workspace.lesson("sums")
    solve(entry)
    solve(later)
    with later.script.open("a", encoding="utf-8") as file:
        file.write("\n# %%\nassert total([3]) == 6, total([3])\n")
    with entry.script.open("a", encoding="utf-8") as file:
        file.write("\n# %%\nprint(LIMIT)\n")
    assert verdict_on(later).passed
    edit(entry, "twice = x + x", "twice = x + x if x < 3 else 0")
    assert "AssertionError: 0" in verdict_on(later).reason


def test_only_part_of_the_checks_remembers_no_demonstration(noted):
    noted()
    assert noted(keyword="two", first="2")[1] == []  # not every check passed
    assert noted() == ("passed", [])
    assert noted(first="2") == ("passed", ["first", "second"])


def test_without_its_record_a_lesson_s_demonstrations_are_run(noted, entry):
    noted()
    (entry.root.state / "results" / entry.folder / "results.json").unlink()
    assert noted() == ("passed", ["first", "second"])


def test_a_demonstration_in_the_package_s_own_words_is_never_left_out(noted):
    """`python numbers_dev.py` and the verdict agree: a demonstration that raises fails the lesson
    each time.
    """
    for _ in range(2):
        assert noted(first="1 / 0")[0] == "failed"
