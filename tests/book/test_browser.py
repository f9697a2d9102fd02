"""A lesson in the browser: what runs there, in a Python without NumPy and tito's libraries."""

import doctest
import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tito.book import in_browser
from tito.learn import submit, workspace
from tito.lesson import cells, course

REPOSITORY = Path(__file__).parents[2]
DESIGN = REPOSITORY / "book"
WRONG = "def predict(parameters, inputs):\n    return parameters[0] * inputs[0]\n"
ASK = """
import json, sys
import run
for exercise, written in json.load(sys.stdin):
    written = json.dumps(written)
    print(run.run(exercise, written) if exercise else run.archive(written).hex())
"""


@pytest.fixture(scope="module")
def lesson():
    root = course.find_root(REPOSITORY)
    [entry] = in_browser.lessons(root)
    return root, entry


@pytest.fixture(scope="module")
def ask(lesson, tmp_path_factory):
    """A function of [(exercise, {exercise: code})]: what `run.py` answers to each."""
    folder = tmp_path_factory.mktemp("browser")
    for name, data in in_browser.workspace_of(*lesson, DESIGN).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def ask(*questions):
        ran = subprocess.run(
            [sys.executable, "-S", "-c", ASK],  # -S: only what comes with Python
            cwd=folder,
            input=json.dumps(questions),
            capture_output=True,
            encoding="utf-8",
            timeout=60,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.splitlines()

    return ask


@pytest.fixture(scope="module")
def solved(lesson):
    """{exercise: the course's code}"""
    source = lesson[1].declared.source
    return {cell.exercise: cell.source for cell in source.cells if cell.exercise}


def test_each_exercise_passes_with_the_solution_and_shows_what_follows(ask, solved):
    answers = [json.loads(answer) for answer in ask(*((name, solved) for name in solved))]
    assert all(answer["passed"] and not answer["message"] for answer in answers), answers
    shown = {name: answer["results"] for name, answer in zip(solved, answers)}
    assert [len(results) for results in shown.values()] == [1, 2, 1, 0, 3, 1]
    assert shown["train"][0]["text"].endswith("step 100: weight 1.35, bias -1.64, loss 0.16\n")
    pictures = [svg for results in shown.values() for one in results for svg in one["pictures"]]
    assert len(pictures) == 5 and all(svg.startswith("<svg ") for svg in pictures)
    assert all('role="img" aria-label="' in svg for svg in pictures)


@pytest.mark.parametrize(
    "code, said",
    [
        (WRONG, "the bias is missing"),
        ("def predict(parameters, inputs):\n    return nothing\n", "name 'nothing' is not defined"),
        ("def predict(parameters, inputs:\n", "SyntaxError"),
        ("", "predict"),
        (None, "Delete the line that says raise"),
    ],
)
def test_what_is_wrong_is_said_as_in_a_workspace(ask, code, said):
    [answer] = map(json.loads, ask(("predict", {} if code is None else {"predict": code})))
    assert not answer["passed"] and said in answer["message"] and not answer["results"]
    assert "tito hint" not in answer["message"]  # the page has the hints


def test_an_exercise_that_needs_another_says_so(ask, solved):
    written = {"train": solved["train"]}
    [answer] = map(json.loads, ask(("train", written)))
    assert "needs exercise descent-" in answer["message"]


def test_what_was_saved_is_restored_in_a_workspace(ask, solved, lesson, tmp_path):
    root, entry = lesson
    [answer] = ask(("", {"predict": solved["predict"]}))
    (tmp_path / "descent.zip").write_bytes(bytes.fromhex(answer))
    workspace.init(tmp_path / "mine", root.on_tracks([*root.all_tracks][:1]))
    mine = course.open_root(tmp_path / "mine")
    assert submit.restore(mine, tmp_path / "descent.zip").lessons == ["descent"]
    source = cells.read(mine.lesson("descent").script)
    assert source.cell("predict").source == solved["predict"]
    assert "raise" in source.cell("train").source


def test_the_examples_of_the_drawings_hold():
    tested = doctest.DocTestRunner()
    space = runpy.run_path(str(DESIGN / "browser" / "drawing.py"))
    for test in doctest.DocTestFinder(exclude_empty=True).find(
        space["ticks"], "ticks", globs=space
    ):
        tested.run(test)
    assert tested.summarize() == (0, 1)
