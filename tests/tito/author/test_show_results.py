"""What GitHub does with a release: its workflow is run step by step, as at a push, and its results
are shown so that no text of a learner's program changes them.
"""

import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from commands import tito

from tito.author import release

REPOSITORY = Path(__file__).resolve().parents[3]
WORKFLOW = ".github/workflows/lessons.yml"
NUMBERS = "modules/source/01_numbers/numbers_dev.py"
SUMS = "modules/source/02_sums/sums_dev.py"
FORGED = "1\n::error file=x::forged\n\n</pre><h1>100 of 100 points</h1>\r::warning::too%0Athis"


@pytest.fixture
def released(small_course, tmp_path):
    return release.release(small_course, tmp_path / "release").path


def git(folder, *words):
    mine = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "tag.gpgsign=false"]
    subprocess.run(["git", *mine, *words], cwd=folder, check=True, capture_output=True)


class Repository:
    """A learner's repository, and a runner of GitHub: a new folder for each push."""

    def __init__(self, folder, tmp_path):
        self.folder, self.tmp_path, self.runs = folder, tmp_path, 0
        git(folder, "init", "-q", "-b", "main")
        self.commit()

    def commit(self):
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-q", "-m", "work")

    def push(self, tag=None):
        """Run the workflow's steps in order, until one fails: (names and exit codes, commands to
        GitHub, the summary, the folder with the saved files).
        """
        self.runs += 1
        if tag:
            git(self.folder, "tag", tag)
        temp = self.tmp_path / f"run {self.runs}"
        kept, checkout, summary = temp / "kept", temp / "checkout", temp / "summary.md"
        kept.mkdir(parents=True)
        summary.touch()
        ref = f"refs/tags/{tag}" if tag else "refs/heads/main"
        variables = {"RUNNER_TEMP": str(temp), "GITHUB_STEP_SUMMARY": str(summary)}
        codes, said = {}, ""
        for step in yaml.safe_load((self.folder / WORKFLOW).read_text())["jobs"]["test"]["steps"]:
            used = step.get("uses", "").split("@")[0]
            if not holds(step.get("if"), ref):
                continue
            if used == "actions/checkout":
                git(temp, "clone", "-q", "-b", tag or "main", self.folder, checkout)
            elif used == "actions/upload-artifact":
                shutil.copy(checkout / step["with"]["path"], kept)
            elif "run" in step:
                done = subprocess.run(
                    ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                    cwd=checkout,
                    env=os.environ | variables,
                    capture_output=True,
                    timeout=300,
                )
                codes[step["name"]] = done.returncode
                said += done.stdout.decode()
                if done.returncode:
                    break
        # The runner reads a command at the beginning of a line; lines may also end with \r.
        commands = [line for line in re.split(r"[\r\n]+", said) if line.lstrip().startswith("::")]
        return SimpleNamespace(
            codes=codes, commands=commands, summary=summary.read_text(encoding="utf-8"), kept=kept
        )


def holds(condition, ref):
    """An `if` of a step: always true without one, and only this form is known."""
    if condition is None:
        return True
    beginning = re.fullmatch(r"startsWith\(github\.ref, '([\w/-]+)'\)", condition)[1]
    return ref.startswith(beginning)


def replace_stub(folder, path, exercise, code):
    text = (folder / path).read_text(encoding="utf-8")
    (stub,) = re.findall(
        rf'raise NotImplementedError\("yours to write: tito hint {exercise}.*\)', text
    )
    (folder / path).write_text(text.replace(stub, code), encoding="utf-8")


@pytest.mark.slow
def test_each_push_shows_points_and_what_to_look_at_first_and_a_tag_hands_in(
    machine, small_course, tmp_path
):
    learner = Repository(machine, tmp_path)
    new = learner.push()
    assert new.codes == {"Install tito": 0, "Test every lesson": 0, "Show the results": 0}
    assert new.commands == []
    assert "0 of 7 points. Lessons: 0 passed, 0 begun and not yet right, 2 not begun." in (
        new.summary
    )

    replace_stub(
        machine, NUMBERS, "numbers-double", f"return {FORGED!r} if type(x) is int else x + x"
    )
    broken = (machine / SUMS).read_text(encoding="utf-8") + "\n# %%\n#| export\ndef broken(:\n"
    (machine / SUMS).write_text(broken, encoding="utf-8")
    learner.commit()
    wrong = learner.push()
    assert wrong.codes["Show the results"] == 1
    (first,) = wrong.commands
    line = (machine / NUMBERS).read_text(encoding="utf-8").split("\n").index("def double(x):")
    assert first.startswith(
        f"::error title=numbers,file={NUMBERS},line={line}::double(2) should be 4, yours is 1%0A"
    )
    assert "too%250Athis" in first
    last = broken.rstrip().count("\n") + 1
    assert "2 of 7 points. Lessons: 0 passed, 1 begun and not yet right, 1 not begun." in (
        wrong.summary
    )
    assert "<td>numbers</td><td>2 of 5</td><td>partly right</td>" in wrong.summary
    blocks = re.findall(r"^<pre>(.*?)</pre>$", wrong.summary, re.S | re.M)
    assert len(blocks) == wrong.summary.count("</pre>") and "<h1>" not in wrong.summary
    assert html.unescape(blocks[0]).startswith(f"{NUMBERS}:{line}\ndouble(2) should be 4, yours")
    assert f"line {last} is left out: def broken(:: SyntaxError" in html.unescape("".join(blocks))

    for name in ("numbers", "sums"):
        shown = small_course.lesson(name).script.relative_to(small_course.path)
        shutil.copy(small_course.path / shown, machine / shown)
    git(machine, "tag", "hand-in-2")  # of the wrong work
    learner.commit()
    right = learner.push("hand-in-10")
    assert set(right.codes.values()) == {0} and "Hand in" in right.codes and right.commands == []
    assert "7 of 7 points. Lessons: 2 passed" in right.summary

    # What is handed in: the zip that the run keeps, or the tag in a clone.
    submissions, clones = tmp_path / "submissions", tmp_path / "fall26-submissions"
    (submissions / "ada").mkdir(parents=True)
    shutil.copy(right.kept / "hand-in.zip", submissions / "ada")
    (machine / NUMBERS).write_text("later", encoding="utf-8")
    learner.commit()
    git(tmp_path, "clone", "-q", machine, clones / "fall26-ada-l")
    page = (REPOSITORY / "book/teaching_questions.md").read_text(encoding="utf-8")
    subprocess.run(["sh", "-c", re.search(r"`(for clone in .*)`", page)[1]], cwd=clones, check=True)
    (tmp_path / "list.csv").write_text("student,github\nada,ada-l\n", encoding="utf-8")
    for number, folder in enumerate((submissions, clones)):
        book = ["--gradebook", tmp_path / f"{number}.db"]
        tito(small_course, *book, "gradebook", "roster", tmp_path / "list.csv")
        tito(small_course, *book, "grade", folder, "--all")
        shown = json.loads(tito(small_course, *book, "gradebook", "show", "--json")[0])
        grades = [(one["student"], one["lesson"], one["verdict"]) for one in shown]
        assert grades == [("ada", "numbers", "passed"), ("ada", "sums", "passed")]


def test_work_that_tito_cannot_test_is_reported(tmp_path, released):
    (tmp_path / "results").write_text("", encoding="utf-8")
    (tmp_path / "messages").write_text("tito.toml: <b>\n      ::error::", encoding="utf-8")
    done, summary = show(released, tmp_path)
    assert done.returncode == 1
    assert done.stdout == "::error title=tito::tito.toml: <b>%0A      ::error::\n"
    assert "<pre>tito.toml: &lt;b&gt;\n      ::error::</pre>" in summary


def show(folder, tmp_path):
    summary = tmp_path / "summary.md"
    done = subprocess.run(
        [sys.executable, folder / ".github/show_results.py", "results", "messages"],
        cwd=tmp_path,
        env=os.environ | {"GITHUB_STEP_SUMMARY": str(summary)},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    return done, summary.read_text(encoding="utf-8")


def test_in_a_notebook_the_title_names_the_cell(tmp_path, released):
    """A line of a cell is no line of the file."""
    where = {"path": "a,b/numbers_dev.ipynb", "line": 3, "cell": 9, "code": None}
    lesson = {"lesson": "numbers", "number": 1, "points": 0, "max_points": 5, "verdict": "failed"}
    lesson["notes"] = []
    lessons = [lesson | {"first": {"message": "should be 4\u202e", "where": where}}]
    (tmp_path / "results").write_text(json.dumps(lessons), encoding="utf-8")
    done, summary = show(released, tmp_path)
    assert done.stdout == (
        "::error title=a%2Cb/numbers_dev.ipynb cell 9%3A3,file=a%2Cb/numbers_dev.ipynb,line=1"
        "::should be 4 \n"
    )
    assert "<pre>a,b/numbers_dev.ipynb cell 9:3\nshould be 4 </pre>" in summary


def test_the_workflow_may_only_read_and_pins_what_it_uses(released):
    found = yaml.safe_load((released / WORKFLOW).read_text(encoding="utf-8"))
    assert found["permissions"] == {"contents": "read"} and found[True].keys() == {
        "push",
        "pull_request",
        "workflow_dispatch",
    }  # YAML reads `on` as true
    steps = found["jobs"]["test"]["steps"]
    used = [step["uses"] for step in steps if "uses" in step]
    assert len(used) == 3 and all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", one) for one in used)
    # A name of a branch or a tag in a command could be a command.
    assert "${{" not in "".join(step.get("run", "") for step in steps)
