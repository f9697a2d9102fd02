"""What cannot be read or run in a lesson costs what depends on it; `tito test` and `tito grade`
give the same points for the same checks, and say in the same words what is left out.
"""

import json
import re

import pytest
from small_course import NUMBERS, verdict_on

from tito.errors import MachineError
from tito.grading.intake import collect
from tito.grading.jail.jail import strongest
from tito.grading.judge_process import SubmissionJudge
from tito.grading.setting import Setting
from tito.lesson.lesson_format import stub

DOUBLE = "    twice = x + x\n    return twice\n"
DEFINED = '#| export\ndef double(x):\n    """Twice `x`.\n\n    >>> double(2)\n    4\n    """\n'
MARKED = '# %% exercise="double"\n'
STUB = f"{MARKED}{DEFINED}    {stub('numbers', 'double')}\n\n\n"
SOLVED = re.sub(r" *### (?:BEGIN|END) SOLUTION\n", "", NUMBERS)
WORK = f"{DEFINED}{DOUBLE}"
CURLY = "print(\u201chello\u201d)"


def behind(code):
    """The solved lesson with code behind the solution of `double`, in the same cell."""
    return SOLVED.replace(WORK, f"{WORK}\n\n{code}\n")


def inside(line):
    return SOLVED.replace(DOUBLE, f"{line}\n{DOUBLE}")


def imports(line):
    return SOLVED.replace("import math\n", f"import math\n{line}\n")


# {kind: (the lesson, points of 5, words about what is left out; "" for none)}
KINDS = {
    "nothing": (SOLVED, 5, ""),
    "input": (
        behind('n = input("How many?")'),
        5,
        r'n = input\("How many\?"\): EOFError: EOF when',
    ),
    "input first": (SOLVED.replace(WORK, "#| export\nn = input()\n" + WORK[10:]), 5, "EOFError"),
    "sys.exit": (behind("import sys\n\nsys.exit(0)"), 5, r"sys\.exit\(0\): SystemExit: 0"),
    "exit": (behind("exit()"), 5, r"exit\(\): SystemExit"),
    "an exception": (behind("1 / 0"), 5, "1 / 0: ZeroDivisionError: division by zero"),
    "KeyboardInterrupt": (behind("raise KeyboardInterrupt"), 5, "KeyboardInterrupt"),
    "an assertion": (behind("assert double(2) == 5"), 5, "double\\(2\\) == 5: AssertionError"),
    "os._exit": (behind("import os; os._exit(0)"), 5, r"ended with exit code 0: does it call os"),
    "kill": (
        behind("import os, signal; os.kill(os.getpid(), signal.SIGABRT)"),
        5,
        "SIGABRT.: PermissionError: lessons are graded without network, other programs",
    ),
    "a loop": (behind("while True:\n    pass"), 5, "while True:: still running after 2 s"),
    "a loop that catches": (
        behind("while True:\n    try:\n        while True: pass\n    except BaseException: pass"),
        5,
        "still running after 2 s",
    ),
    "a sleep": (behind("import time\ntime.sleep(60)"), 5, r"sleep\(60\): still running after 2 s"),
    "a loop before work": (
        SOLVED.replace(
            "LIMIT = 10", "while True:\n    pass\nTWO = 2 + 0 * sum(range(10**6))\nLIMIT = 10"
        ).replace("twice = x + x", "twice = TWO * x"),
        5,
        "while True:: still running after 2 s",
    ),
    "memory": (behind("raise MemoryError"), 5, "raise MemoryError: more memory than it may have"),
    "a check": (behind('check("double")'), 5, ""),
    "breakpoint": (behind("breakpoint()"), 5, r"breakpoint\(\) needs a terminal"),
    "a no-break space": (
        inside("\u00a0   x = x"),
        0,
        r"Cell 5, lines \d+ to \d+ are left out: line",
    ),
    "a curly quote": (inside(f"    {CURLY}"), 0, r"invalid character '\u201c' \(U\+201C\)"),
    "a curly quote behind": (behind(CURLY), 5, "U\\+201C"),
    "curly quotes in a string": (behind('TEXT = "\u201chello\u201d \u00a0"'), 5, ""),
    "tabs": (inside("\tx = x"), 0, "TabError: inconsistent use of tabs"),
    "indentation": (behind("x = 1\n   y = 2"), 5, "IndentationError: unexpected indent"),
    "a bracket": (behind("x = (1"), 5, r"'\(' was never closed"),
    "return": (behind("return 3"), 5, "SyntaxError: 'return' outside function"),
    "a warning": (behind(r'TEXT = "\d"'), 5, ""),
    "two": (behind("1 / 0").replace("LIMIT = 10", "LIMIT = 10\nint('x')"), 5, "int.*1 / 0"),
    "in the import cell": (imports(CURLY), 5, r"Cell 3, line \d+ is left out.*U\+201C"),
    "a helper": (
        SOLVED.replace("LIMIT = 10", "LIMIT = 10\n\n\ndef plus(a, b):\n    return a ++* b").replace(
            "twice = x + x", "twice = plus(x, x)"
        ),
        0,
        "SyntaxError",
    ),
    "the first cell": (
        "# %%\n#| export\nx = = 1\n\n" + SOLVED,
        5,
        r"Cell 1, line \d is left out: x = = 1: Syn",
    ),
    "the last cell": (
        SOLVED + "\n# %%\n#| export\nx = = 1\n",
        5,
        "Cell 12, line .* is left out: x = = 1",
    ),
    "another package": (imports("import pandas as pd"), 5, "No module named 'pandas': a lesson"),
    "a tool's package": (imports("import pytest"), 5, "No module named 'pytest': a lesson can imp"),
    "tito": (imports("from tito.lesson import cells"), 5, "No module named 'tito'"),
    "matplotlib": (
        SOLVED.replace("import math\n", "import math\nfrom matplotlib import pyplot\n").replace(
            DOUBLE, "    pyplot.plot([1, 2])\n    pyplot.close()\n" + DOUBLE
        ),
        5,
        "",
    ),
    "matplotlib, late": (
        inside("    import matplotlib.pyplot as plt\n    figure, axes = plt.subplots()"),
        5,
        "",
    ),
    "its own packages": (
        imports("import PIL.Image, packaging.version, dateutil.tz, cycler"),
        5,
        "",
    ),
    "a file to write": (
        behind('open("x.txt", "w")'),
        5,
        r"\(\"x.txt\", \"w\"\): PermissionError: lessons are graded without network, other",
    ),
    "a file to read": (behind('open("data.csv")'), 5, "No such file or directory: 'data.csv'"),
    "another program": (
        behind('import subprocess\nsubprocess.run(["ls"])'),
        5,
        r"subprocess\.run\(\[\"ls\"\]\): PermissionError: lessons are graded without network",
    ),
    "%%time": (SOLVED.replace(DEFINED, "%%time\n" + DEFINED), 5, ""),
    "%%capture": (SOLVED.replace(DEFINED, "%%capture out\n" + DEFINED), 5, ""),
    "%%time below": (SOLVED.replace(DEFINED, DEFINED.replace("port\n", "port\n%%time\n")), 5, ""),
    "a command": (SOLVED.replace(DEFINED, "!pip install numpy\n" + DEFINED), 5, ""),
    "an indented magic": (inside("    %time x + x"), 5, ""),
    "%%bash": (
        SOLVED.replace(DEFINED + DOUBLE, "%%bash\nls -l *.py\n"),
        0,
        "its cell, cell 5, begins with `%%bash`, so it is not Python",
    ),
    "the stub before": (
        SOLVED.replace(MARKED, STUB + MARKED),
        5,
        "cell 5 as released, and written",
    ),
    "the stub behind": (
        SOLVED.replace(WORK, WORK + "\n\n" + STUB),
        5,
        "numbers-double is in cell 6 as released, and written in cell 5, which counts",
    ),
    "twice": (
        SOLVED.replace(WORK, f"{WORK}\n\n{MARKED}#| export\ndef double(x):\n    return x * x\n\n"),
        3,
        r"double is defined twice, in cell 5 \(line \d+\), cell 6 \(line \d+\): the last that",
    ),
    "inside itself": (
        inside("    def double(x):\n        return 2 * x\n"),
        5,
        "There is a `def double` inside `double`, which is never called",
    ),
    "a helper of the same name": (
        inside("    def double(x):\n        return 2 * x\n\n    assert double(x) is not None"),
        5,
        "",
    ),
    "a fence": (
        SOLVED.replace(DEFINED, DEFINED.replace("port\n", "port\n```python\n")),
        5,
        "a line of Markdown, which begins or ends code in a chat; delete it",
    ),
    "no export": (
        SOLVED.replace(DEFINED, DEFINED.replace("#| export\n", "")),
        0,
        r"cell 5, line \d+ does, but that cell does not begin with `#\| export`",
    ),
    "a comment above export": (SOLVED.replace(DEFINED, "# mine\n" + DEFINED), 5, ""),
    "a cell that was split": (
        SOLVED.replace(DEFINED, "#| export\n# the task\n\n# %%\n" + DEFINED[10:]),
        0,
        r"cell 6, line \d+ does, but that cell does not begin with `#\| export`",
    ),
    "commented out": (
        SOLVED.replace(WORK, "#| export\n" + re.sub("(?m)^", "# ", WORK[10:])),
        0,
        r"it is commented out in cell 5, line \d+",
    ),
    "inside": (
        SOLVED.replace(WORK, "#| export\ndef mine():\n" + re.sub("(?m)^", "    ", WORK[10:])),
        0,
        r"cell 5, line \d+ does, but inside of mine",
    ),
    "renamed": (
        SOLVED.replace("def double(x)", "def duble(x)"),
        0,
        "its cell, cell 5, defines duble. Was it renamed?",
    ),
    "gone": (SOLVED.replace(MARKED + WORK, ""), 0, "no cell does. Undo that in your editor"),
}


@pytest.fixture(scope="module")
def jail():
    """One jail for most tests, at the strongest level that works here."""
    try:
        jail = strongest("", modules=lambda: {"tinytorch": None, "tinytorch.core": None})
    except MachineError as error:
        pytest.skip(error.what)
    with jail:
        yield jail


@pytest.fixture
def graded(small_course, tmp_path, jail):
    """graded(path, text): the LessonResult of lesson numbers, handed in as this file."""

    def grade(name, text):
        (tmp_path / "inbox" / "ada").mkdir(parents=True)
        (tmp_path / "inbox" / "ada" / name).write_text(text, encoding="utf-8")
        (arrival,) = collect.find_submissions(tmp_path / "inbox", small_course.lessons)
        judge = SubmissionJudge(Setting(small_course.path, ("numbers",), jail.level))
        judge.judge.runner.jails = {False: jail, True: jail}
        try:
            (result,) = judge.grade(arrival, {})
        finally:
            judge.reader.close()
            if jail not in judge.judge.runner.jails.values():
                judge.judge.runner.close()
        return result

    return grade


def as_notebook(text):
    """The same cells in a notebook, with the commands of notebooks as they are there."""
    rows = []
    for part in re.split(r"(?m)^(?=# %%)", text)[1:]:
        head, _, body = part.strip("\n").partition("\n")
        metadata = dict(re.findall(r'(exercise|checks)="(\w+)"', head))
        kind = "markdown" if "[markdown]" in head else "code"
        row = {"cell_type": kind, "metadata": metadata, "source": body}
        rows.append(row | ({"outputs": [], "execution_count": None} if kind == "code" else {}))
    return json.dumps({"cells": rows, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@pytest.mark.parametrize("name", ["braces", "nosuch", "*"])
def test_a_future_that_there_is_not_is_left_out(small_workspace, graded, name):
    text = f"# %%\n#| export\nfrom __future__ import {name}\n\n{SOLVED}"
    result = graded("numbers_dev.py", text)
    small_workspace.lesson("numbers").script.write_text(text, encoding="utf-8")
    for one in (result, verdict_on(small_workspace.lesson("numbers"))):
        assert one.verdict == "passed"
        assert f"is left out: from __future__ import {name}: SyntaxError" in one.notes[0]


LONG = {"a loop", "a loop that catches", "a loop before work", "a sleep", "matplotlib, late"}


def words_of(result):
    """Everything that is said of a lesson, without the count of checks."""
    messages = [check.message for check in result.checks if not check.passed]
    return " | ".join([result.reason, *result.notes, *messages])


@pytest.mark.parametrize(
    "form", ["script", pytest.param("notebook", marks=pytest.mark.slow)], ids=str
)
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] * (kind in LONG)) for kind in KINDS]
)
def test_it_costs_what_depends_on_it_and_both_say_so(small_workspace, graded, kind, form):
    text, points, words = KINDS[kind]
    entry = small_workspace.lesson("numbers")
    if form == "notebook":
        entry.script.unlink()
        text = as_notebook(text)
    path = entry.script if form == "script" else entry.notebook
    path.write_text(text, encoding="utf-8")
    tested, result = verdict_on(entry), graded(path.name, text)
    assert (tested.verdict, tested.points) == (result.verdict, result.points)
    assert [check.status for check in tested.checks] == [check.status for check in result.checks]
    assert tested.points == points
    for said in (words_of(tested), words_of(result)):
        assert re.search(words, said, re.S), said
        assert words or "left out" not in said
    told = [
        re.findall(r"Cell \d+, line.* left out:.*?[.?!](?= |$)", words_of(one))
        for one in (tested, result)
    ]
    assert told[0] == told[1]
