"""The author's gate: it passes a good lesson and names what is wrong with a bad one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tito.author import check
from tito.learn import pair
from tito.lesson import course, export

COURSE = course.open_root(Path(__file__).resolve().parents[3])

MISTAKE = '[[misconception]]\nid = "squares"\nexercise = "numbers-double"\nmistake = "Squares."\nold = "x + x"\nnew = "x * x"\nmessage = "{}"\n'


def findings(root, name="numbers"):
    root = course.open_root(root.path)
    return {finding.question: finding for finding in check.check(root.lesson(name), jobs=1)}


def change(root, old, new, name="numbers", fresh=True):
    entry = root.lesson(name)
    text = entry.script.read_text(encoding="utf-8")
    assert text.count(old) == 1
    entry.script.write_text(text.replace(old, new), encoding="utf-8")
    if fresh:
        entry = course.open_root(root.path).lesson(name)
        export.put(entry, export.current(entry, pair.read(entry, {})))


@pytest.fixture
def good(small_course):
    """The small course, exported, with a recorded mistake."""
    for entry in small_course.lessons:
        export.put(entry, export.current(entry, pair.read(entry, {})))
    small_course.lesson("numbers").script.with_name("misconceptions.toml").write_text(
        MISTAKE.format("should be [2, 6], yours is [1 9]"), encoding="utf-8"
    )
    return small_course


@pytest.mark.slow
def test_a_good_lesson_passes_every_question(good):
    for name in ("numbers", "sums"):
        found = findings(good, name)
        assert list(found) == list(check.QUESTIONS)
        assert {
            question: finding.problems for question, finding in found.items() if not finding.ok
        } == {}
    assert findings(good)["mistakes caught"].cases == 1
    assert findings(good)["mutations caught"].right > 5
    assert findings(good)["doctests true"].cases == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "question", "said"),
    [
        (
            "    return twice\n",
            "    return twice - 4\n",
            "solution passes",
            "double of two is four: double(2) should be 4, yours is 0",
        ),
        (
            '    assert triple(2) == 6, f"triple(2) should be 6, yours is {triple(2)}"',
            "    pass",
            "release fails",
            "triple of two is six passes on the stub",
        ),
        (
            '    assert triple(2) == 6, f"triple(2) should be 6, yours is {triple(2)}"',
            "    assert double(2) == 4",
            "stubs fail",
            "numbers-triple: triple of two is six passes without it",
        ),
        (
            '    assert triple(2) == 6, f"triple(2) should be 6, yours is {triple(2)}"',
            "    triple(2)",
            "mutations caught",
            "caught, 95% are needed",
        ),
        (
            "test_triple_of_two_is_six()\n\n# %%",
            "test_triple_of_two_is_six(LATER)\n\n# %%",
            "runs through",
            "NameError: name 'LATER' is not defined",
        ),
        (
            ">>> double(2)\n    4",
            ">>> double(2)\n    5",
            "doctests true",
            "Expected:\n    5\nGot:\n    4",
        ),
        (
            "LIMIT = 10",
            "LIMIT = 10\n# twice = x + x",
            "release clean",
            "the release holds a line of a solution: twice = x + x",
        ),
        (
            "#     prerequisites: []",
            "#     prerequisites:\n#     - sums",
            "form",
            "needs sums, which does not come before it",
        ),
        (
            "#     prerequisites: []",
            "#     prerequisites:\n#     - nothing",
            "form",
            "`prerequisites` names 'nothing', which is no lesson",
        ),
        (
            "#     prerequisites: []\n#     summary: A lesson about numbers.",
            "#     summary: A lesson about numbers.\n#     prerequisites: []",
            "form",
            "does not give the same bytes",
        ),
        (
            '### END SOLUTION\n\n\n# %% nbgrader={"grade": true, "grade_id": "check-double"',
            '\n\n# %% nbgrader={"grade": true, "grade_id": "check-double"',
            "form",
            "BEGIN SOLUTION is never ended",
        ),
    ],
)
def test_what_is_wrong_is_named(good, old, new, question, said):
    change(good, old, new, fresh="BEGIN SOLUTION is never" not in said)
    finding = findings(good)[question]
    assert not finding.ok and said in "\n".join(finding.problems)


def test_a_mistake_that_is_not_named_is_told(good):
    good.lesson("numbers").script.with_name("misconceptions.toml").write_text(
        MISTAKE.format("no check says this"), encoding="utf-8"
    )
    assert "squares: said" in findings(good)["mistakes caught"].problems[0]


def test_a_package_that_is_not_a_fresh_export_is_told(good):
    change(good, "LIMIT = 10", "LIMIT = 11", fresh=False)
    assert "is not what `tito export numbers` writes" in findings(good)["package fresh"].problems[0]


@pytest.mark.slow
def test_an_equivalent_mutation_needs_a_reason_and_must_exist(good):
    path = good.lesson("numbers").script.with_name("misconceptions.toml")
    path.write_text(
        '[[equivalent]]\nexercise = "numbers-double"\nchange = "`x + x` -> `(x) - (x)`"\nreason = "For the test."\n',
        encoding="utf-8",
    )
    before = len([1 for _ in check.mutate.mutations(good.lesson("numbers").declared)])
    assert findings(good)["mutations caught"].cases == before - 1
    path.write_text(
        '[[equivalent]]\nexercise = "numbers-double"\nchange = "`y` -> `z`"\nreason = "For the test."\n',
        encoding="utf-8",
    )
    assert "there is no such mutation" in findings(good)["mutations caught"].problems[0]
    path.write_text(
        '[[equivalent]]\nexercise = "numbers-double"\nchange = "`x + x` -> `(x) - (x)`"\nreason = " "\n',
        encoding="utf-8",
    )
    assert "needs exercise, change and reason" in findings(good)["form"].problems[0]


@pytest.mark.slow
def test_the_command_prints_a_table_or_json_and_its_exit_code_tells(good):
    def tito(*words):
        return subprocess.run(
            [sys.executable, "-m", "tito", "check", *words],
            cwd=good.path,
            capture_output=True,
            text=True,
        )

    done = tito("--all")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "numbers" in done.stdout and "sums" in done.stdout and "mutations caught" in done.stdout
    change(good, "LIMIT = 10", "LIMIT = 11", fresh=False)
    done = tito("numbers", "--json")
    assert done.returncode == 1
    assert [f["question"] for f in json.loads(done.stdout) if not f["ok"]] == ["package fresh"]


def test_a_workspace_is_refused(small_workspace):
    done = subprocess.run(
        [sys.executable, "-m", "tito", "check"],
        cwd=small_workspace.path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and "is a workspace" in done.stderr


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(
            entry, id=entry.name, marks=[] if entry.name == "activations" else pytest.mark.slow
        )
        for entry in COURSE.lessons
    ],
)
def test_every_lesson_of_this_course_passes_the_gate(entry):
    """The gate itself, on the real course, with every mistake: this is where CI runs it. Of mutations, liars and what the judge says of mistakes,
    which take longest, every tenth is tried; `tito check` tries them all."""
    assert [(f.question, f.problems) for f in check.check(entry, every=10) if not f.ok] == []
