"""Milestones: found, run on the learner's own code and no other, judged by the course's goal, and
recorded.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import commands
import pytest
from small_course import edit, make_course, solve, verdict_on

from tito.errors import TitoError, UsageError
from tito.learn import milestone, progress, update, workspace
from tito.lesson import course

COURSE = course.open_root(Path(__file__).resolve().parents[3])
PROGRAM = '''"""A sum."""

# /// milestone
# title = "A sum of two"
# needs = ["numbers", "sums"]
# seconds = 30
# [goal]
# "total" = 6
# ///

from shared import WORD

from tinytorch.core.sums import total


class Picture:
    def savefig(self, place, format, **options):
        if format == "png":
            with open(place, "wb") as file:
                file.write(b"picture of " + WORD)


def run(seed=0):
    print("adding")
    return {"total": total([1, 2])}, Picture()
'''


def write_program(root, old="", new="", name="01_1900_sum.py"):
    folder = root.path / "modules" / "milestones"
    folder.mkdir(exist_ok=True)
    assert old in PROGRAM
    (folder / name).write_text(PROGRAM.replace(old, new), encoding="utf-8")
    (folder / "shared.py").write_text("WORD = b'sums'\n", encoding="utf-8")


@pytest.fixture
def work(small_course, tmp_path):
    """A workspace with a milestone, and no exercise written."""
    write_program(small_course)
    workspace.init(tmp_path / "work", small_course)
    return course.open_root(tmp_path / "work")


def solved(root):
    for entry in root.lessons:
        solve(entry)
    return root


def go(root, **options):
    return milestone.run(root, milestone.find(root, "sum"), **options)


def replaced(root, old, new):
    """Let the course's own copy, which is what runs in a workspace, be another one."""
    path = root.path / milestone.PRISTINE / "01_1900_sum.py"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_milestone_passes_on_solved_lessons_and_is_recorded(work, capfd):
    result = go(solved(work))
    assert (result.verdict, result.measured, result.reason) == ("passed", {"total": 6.0}, "")
    assert "adding" in capfd.readouterr().out
    assert (
        result.picture == work.path / "modules/milestones/01_1900_sum.png"
        and result.picture.read_bytes() == b"picture of sums"
    )
    record = progress.load(work)["milestones"]["sum"]
    assert record["verdict"] == "passed" and record["measured"] == {"total": 6.0}
    assert milestone.statuses(work)[0].state == "passed"


def test_it_waits_for_lessons_that_are_not_begun(work):
    with pytest.raises(UsageError, match="sum waits for"):
        milestone.check_begun(work, milestone.find(work, "sum"))
    milestone.check_begun(solved(work), milestone.find(work, "sum"))


def test_a_count_is_no_share(work):
    program = milestone.find(work, "sum")
    assert program.figures({"a": 1, "b": 1.0, "c": 0}) == {"a": "1", "b": "100.0%", "c": "0"}


def test_an_unwritten_exercise_fails_it_and_is_named(work):
    result = go(work)
    assert result.verdict == "failed" and "yours to write: tito hint sums-total" in result.reason
    assert (result.lesson, result.remedy) == ("sums", "tito start sums")
    solve(work.lesson("sums"))
    result = go(work)
    assert "numbers-double" in result.reason and result.lesson == "numbers"


def test_work_that_falls_short_says_by_how_much_and_which_lesson_is_wrong(work):
    solved(work)
    edit(work.lesson("numbers"), "twice = x + x", "twice = x + 0")
    result = go(work)
    assert result.verdict == "failed" and "total is 3, the goal is 6" in result.reason
    assert (
        result.lesson == "numbers"
        and "Lesson numbers fails its checks, first: double of two is four" in result.reason
        and result.remedy == "tito test numbers"
    )
    assert progress.load(work)["milestones"]["sum"]["verdict"] == "failed"


def test_it_falls_short_with_lessons_that_pass(work):
    solved(work)
    replaced(work, '"total" = 6', '"total" = 7')
    result = go(work)
    assert (
        result.verdict == "failed"
        and not result.lesson
        and "Try another seed: tito milestone run sum --seed 1" in result.remedy
    )


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("raise KeyError('gone')", "KeyError: 'gone'"),
        ("import os; os._exit(0)", "exit code 0 before it had an answer"),
        ("import sys; sys.exit(0)", "sys.exit(0)"),
        ("return float('nan')", "total is nan"),
        ("return None", "NoneType"),
    ],
)
def test_whatever_goes_wrong_is_no_pass(work, code, told):
    solved(work)
    edit(work.lesson("sums"), "return sum(double(n) for n in numbers)", code)
    result = go(work)
    assert result.verdict == "failed" and told in result.reason and result.lesson == "sums", result


@pytest.mark.slow
def test_a_program_that_does_not_end_is_ended(work):
    solved(work)
    replaced(work, "seconds = 30", "seconds = 1")
    replaced(work, 'print("adding")', "while True: pass")
    result = go(work)
    assert result.verdict == "failed" and result.reason == "It was still running after 1 s."
    assert "seed" not in result.remedy


def test_an_error_names_the_learners_own_line(work):
    solved(work)
    edit(work.lesson("numbers"), "twice = x + x", "twice = x / 0")
    assert (
        go(work).reason
        == "modules/source/01_numbers/numbers_dev.py:32: ZeroDivisionError: division by zero."
        " Lesson numbers fails its checks, first: double of two is four."
    )


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("def double(x):", "1 / 0\n\n\ndef duble(x):", "1 / 0: ZeroDivisionError"),
        ("twice = x + x", "twice = = x", "twice = = x: SyntaxError: invalid syntax"),
    ],
)
def test_what_is_left_out_of_a_lesson_is_reported(work, old, new, words):
    solved(work)
    edit(work.lesson("numbers"), old, new)
    result = go(work)
    assert (result.verdict, result.lesson) == ("failed", "numbers")
    assert "left out: " in result.reason and words in result.reason
    assert result.remedy == "tito test numbers"


def test_a_run_says_how_much_of_its_lessons_is_given(work):
    update.choose(work, "skip", ["numbers"], written=False)
    work = course.open_root(work.path)
    assert [row.waits for row in milestone.statuses(work)] == [["sums"]]
    solve(work.lesson("sums"))
    result = go(work)
    assert result.verdict == "passed"
    assert (result.own, result.of) == (1, 3)


def test_the_package_is_brought_up_to_date_and_no_other_is_used(work, tmp_path, monkeypatch):
    solved(work)
    go(work)
    (tmp_path / "tinytorch").mkdir()
    (tmp_path / "tinytorch" / "__init__.py").write_text(
        "raise SystemExit('the wrong one')", encoding="utf-8"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    edit(
        work.lesson("sums"),
        "return sum(double(n) for n in numbers)",
        "return 100 + sum(double(n) for n in numbers)",
    )
    assert go(work).measured == {"total": 106.0}


def test_a_goal_lowered_by_hand_changes_nothing(work):
    solved(work)
    edit(work.lesson("numbers"), "twice = x + x", "twice = x + 0")
    path = work.path / "modules/milestones/01_1900_sum.py"
    path.write_text(
        path.read_text(encoding="utf-8").replace('"total" = 6', '"total" = 1'), encoding="utf-8"
    )
    assert go(work).verdict == "failed"


def test_a_pass_is_stale_when_the_code_has_changed(work):
    go(solved(work))
    edit(work.lesson("numbers"), "twice = x + x", "twice = 2 * x")
    go_on = milestone.statuses(work)[0]
    assert go_on.state == "passed"  # the package is as it was
    from tito.learn import notebook_sync
    from tito.lesson import export

    entry = work.lesson("numbers")
    export.write_module(entry, export.current(entry, notebook_sync.read(entry, {})))
    assert milestone.statuses(work)[0].state == "stale"


def test_a_measure_that_may_not_be_too_large_has_an_upper_limit(work):
    solved(work)
    replaced(work, "# ///\n\nfrom", '# [at_most]\n# "total of two" = 0.25\n# ///\n\nfrom')
    replaced(work, '{"total": total([1, 2])}', '{"total": total([1, 2]), "total of two": 0.75}')
    result = go(work)
    assert result.verdict == "failed"
    assert result.reason.startswith("total of two is 0.75, the goal is at most 0.25.")
    (program,) = milestone.milestones(work)
    assert program.goals() == {"total": "6", "total of two": "at most 0.25"}
    replaced(work, "0.75", "0.25")
    assert go(work).verdict == "passed"


def test_an_experiment_is_shown_and_neither_judged_nor_recorded(work):
    solved(work)
    replaced(work, "# [goal]", "# options = true\n# [goal]")
    replaced(work, "def run(seed=0):", "def run(seed=0, words=()):")
    replaced(work, "total([1, 2])}", "total([1, 2]) - len(words)}")
    ran = tito(work, "milestone", "run", "sum", "--twice", "--seed", "3")
    assert (ran.returncode, "tried  total 5" in ran.stdout) == (0, True), ran.stdout + ran.stderr
    assert "sum_twice.png" in ran.stdout and "milestones" not in progress.load(work)
    assert go(work).verdict == "passed"


def test_an_option_that_a_milestone_does_not_know_is_wrong_usage(work):
    solved(work)
    ran = tito(work, "milestone", "run", "sum", "--twice")
    assert ran.returncode == 2 and "takes no options: --twice" in ran.stderr
    replaced(work, "# [goal]", "# options = true\n# [goal]")
    text = "def run(seed=0, words=()):\n    raise SystemExit(f'it does not know {words[0]}')"
    replaced(work, "def run(seed=0):", text)
    ran = tito(work, "milestone", "run", "sum", "--twice")
    assert ran.returncode == 2 and "sum: it does not know --twice." in ran.stderr, ran.stderr
    assert "tito milestone run sum --help" in ran.stderr


def test_the_help_of_a_milestone_is_its_programs_own(work):
    solved(work)
    replaced(work, "# [goal]", "# options = true\n# [goal]")
    text = "def run(seed=0, words=()):\n    print('usage: sum'); raise SystemExit(0)"
    replaced(work, "def run(seed=0):", text)
    ran = tito(work, "milestone", "run", "sum", "--help")
    assert (ran.returncode, ran.stdout) == (0, "usage: sum\n")
    assert "List" not in tito(work, "milestone", "run", "--help").stdout


@pytest.mark.slow
def test_what_a_milestone_made_is_used_once_its_goal_is_reached(work):
    solved(work)
    replaced(work, "# [goal]", '# options = true\n# plays = ["--word"]\n# [goal]')
    text = "def play(words, seed):\n    print(total([1, 2]), words, seed, input())\n\n\n"
    replaced(work, "def run(seed=0):", text + "def run(seed=0, words=()):")
    assert "passed  total 6" in tito(work, "milestone", "run", "sum").stdout
    again = "sum has reached its goal with the code that you have. To run it again: "
    again += "tito milestone run sum"
    assert run_typed(work).stdout == f"{again} --again\n6 [] 0 b\n"
    assert run_typed(work, "--word=a", "--seed", "2").stdout == "6 ['--word=a'] 2 b\n"
    assert run_typed(work, "--word", "a", "--json").stdout == "6 ['--word', 'a', '--json'] 0 b\n"
    assert "passed  total 6" in run_typed(work, "--again").stdout
    assert json.loads(run_typed(work, "--json").stdout)["verdict"] == "passed"
    assert "tried  total 6" in run_typed(work, "--other").stdout
    edit(work.lesson("sums"), "return sum(double(n) for n in numbers)", "raise KeyError('gone')")
    ran = run_typed(work, "--word")
    assert ran.returncode == 1 and "KeyError: 'gone'" in ran.stderr
    assert "failed" in run_typed(work).stdout, "it is trained again with the code as it is"


def test_a_program_that_downloads_may_ask_and_one_with_threads_has_them(work, monkeypatch):
    solved(work)
    monkeypatch.setenv("MKL_NUM_THREADS", "3")
    replaced(work, "# [goal]", '# downloads = "a sum"\n# threads = true\n# [goal]')
    names = "[os.environ[f'{n}_NUM_THREADS'] for n in ('MKL', 'OPENBLAS')]"
    text = f"def run(seed=0):\n    import os\n    print(input(), {names})\n"
    replaced(work, "def run(seed=0):", text)
    free = milestone._free_processors()
    said = run_typed(work).stdout
    assert "\nb ['3', '" in said and "passed  total 6" in said
    assert 1 <= free <= (os.cpu_count() or 1)
    replaced(work, "    import os\n", "    raise SystemExit('nothing was added')\n")
    ran = run_typed(work)
    assert ran.returncode == 2 and "sum: nothing was added." in ran.stderr


def run_typed(work, *words):
    """The finished `tito milestone run sum`, into which "b" was typed."""
    words = [sys.executable, "-m", "tito", "milestone", "run", "sum", *words]
    return subprocess.run(words, cwd=work.path, input="b", text=True, capture_output=True)


def test_rows_tell_what_a_milestone_waits_for(work):
    assert milestone.statuses(work)[0].waits == ["numbers", "sums"]
    solve(work.lesson("numbers"))
    verdict_on(work.lesson("numbers"))
    assert milestone.statuses(work)[0].waits == ["sums"]


@pytest.mark.parametrize("wanted", ["sum", "1", "01", "1900", "01_1900_sum"])
def test_a_milestone_is_found_by_name_number_and_year(work, wanted):
    assert milestone.find(work, wanted).title == "A sum of two"


def test_what_is_not_there_is_suggested(work, small_course):
    with pytest.raises(TitoError) as error:
        milestone.find(work, "sun")
    assert error.value.remedy == "Did you mean 'sum'?"
    (small_course.path / "modules/milestones/01_1900_sum.py").unlink()
    with pytest.raises(TitoError, match="no milestones"):
        milestone.find(small_course, "sum")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("# /// milestone", "#", "title"),
        ('needs = ["numbers", "sums"]', "needs = 3", "needs"),
        ("seconds = 30", "seconds = = 30", "TOML"),
        ('# [goal]\n# "total" = 6\n', "", "goal"),
    ],
)
def test_a_program_that_says_too_little_is_refused(small_course, old, new, told):
    write_program(small_course, old, new)
    with pytest.raises(TitoError, match=told):
        milestone.milestones(small_course)


def test_a_workspace_has_the_milestones_its_lessons_are_enough_for(small_course):
    write_program(small_course)
    write_program(
        small_course, 'needs = ["numbers", "sums"]', 'needs = ["numbers"]', "02_1901_less.py"
    )
    results = workspace.contents(small_course)
    assert {name for name in results if "milestones" in name} == {
        f"{folder}/{name}"
        for folder in ("modules/milestones", ".tito/pristine/milestones")
        for name in ("01_1900_sum.py", "02_1901_less.py", "shared.py")
    }
    some = workspace.contents(small_course, small_course.lessons[:1])
    assert {name.split("/")[-1] for name in some if "milestones" in name} == {
        "02_1901_less.py",
        "shared.py",
    }


def test_a_milestone_that_is_renumbered_in_a_new_edition_keeps_its_record(work, tmp_path):
    go(solved(work))
    source = make_course(tmp_path / "new")
    write_program(course.open_root(source), name="03_1900_sum.py")
    config = source / "tito.toml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace('edition = "1"', 'edition = "2"'), encoding="utf-8")
    update.update(work, source)
    (one,) = milestone.statuses(course.open_root(work.path))
    assert (one.milestone.number, one.state, one.measured) == (3, "passed", {"total": 6.0})


def tito(root, *words):
    return commands.run(Path.cwd(), "--root", root.path, *words)


def test_the_commands_say_it_all(work):
    solved(work)
    names = tito(work, "milestone")
    assert names.returncode == 0 and "sum" in names.stdout and "new" in names.stdout
    assert max(map(len, names.stdout.split("\n"))) < 80
    result = tito(work, "milestone", "run", "sum")
    assert (
        result.returncode == 0
        and "goal: total 6" in result.stdout
        and "adding" in result.stdout
        and "passed  total 6" in result.stdout
    )
    assert (
        result.stdout.index("goal") < result.stdout.index("adding") < result.stdout.index("passed")
        and "01_1900_sum.png" in result.stdout
    )
    rows = json.loads(tito(work, "milestone", "--json").stdout)
    assert [(row["name"], row["state"], row["measured"]) for row in rows] == [
        ("sum", "passed", {"total": 6.0})
    ]
    edit(work.lesson("numbers"), "twice = x + x", "twice = x + 0")
    result = tito(work, "milestone", "run", "sum", "--json")
    messages = json.loads(result.stdout)
    assert (
        result.returncode == 1
        and messages["verdict"] == "failed"
        and messages["lesson"] == "numbers"
        and messages["picture"] == "modules/milestones/01_1900_sum.png"
    )
    assert tito(work, "milestone", "run", "sun").returncode == 2


# The course's own


def test_the_courses_milestones_name_lessons_that_exist():
    result = milestone.milestones(COURSE)
    assert [(program.year, program.name) for program in result] == [
        (1958, "perceptron"),
        (1986, "xor"),
        (1989, "digits_mlp"),
        (1998, "digits_cnn"),
        (2018, "gpt"),
        (2020, "generation"),
        (2020, "diffusion"),
        (2020, "scaling"),
        (2022, "circuits"),
        (2018, "integers"),
        (2026, "olympics"),
        (2022, "kernels"),
        (2019, "gpt2"),
    ]
    for program in result:
        numbers = [COURSE.lesson(name).number for name in program.needs]
        assert numbers == sorted(set(numbers))


@pytest.mark.slow
@pytest.mark.parametrize("one", milestone.milestones(COURSE), ids=lambda one: one.name)
def test_a_program_imports_exactly_the_lessons_it_names(one):
    code = (
        f"import sys, importlib.util as u; sys.path.insert(0, {str(one.path.parent)!r}); s ="
        f" u.spec_from_file_location('m', {str(one.path)!r});m = u.module_from_spec(s);"
        " s.loader.exec_module(m); print(*sorted(n.split('.')[2] for n in sys.modules if"
        " n.startswith('tinytorch.core.')))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=COURSE.path, capture_output=True, text=True
    )
    assert result.stdout.split() == sorted(one.needs), result.stderr


@pytest.mark.parametrize("name", ["perceptron", "xor"])
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))])
def test_the_quick_ones_reach_their_goals(tmp_path, name, seed):
    program = milestone.find(COURSE, name)
    code = (
        f"import sys, importlib.util as u; sys.path.insert(0, {str(program.path.parent)!r});"
        f" s = u.spec_from_file_location('m', {str(program.path)!r});"
        f" m = u.module_from_spec(s); s.loader.exec_module(m); import json; d, f = m.run({seed});"
        f" f.savefig({str(tmp_path / 'p.png')!r}); print(); print(json.dumps(d))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=COURSE.path,
        capture_output=True,
        text=True,
        env={"MPLBACKEND": "Agg", "PATH": ""},
    )
    measured = json.loads(result.stdout.splitlines()[-1])
    assert (
        all(measured[key] >= least for key, least in program.goal.items())
        and (tmp_path / "p.png").stat().st_size > 5000
    )
