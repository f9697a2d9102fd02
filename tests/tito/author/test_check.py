"""The author's gate: it passes a good lesson and names what is wrong with a bad one."""

import json
import re

import pytest
from commands import run_process, tito
from small_course import MULTIPLIES, NUMBERS_RIGHTS, SUMS_RIGHTS, with_question

from tito.author import check, scratch
from tito.learn import notebook_sync
from tito.lesson import course, export

MISTAKE = """\
# %% double mistake squares: Squares the number.
#> {}
#- twice = x + x
twice = x * x
"""
OTHER_MISTAKES = """
# %% double mistake: Adds two.
#> should be [2, 6], yours is [3 5]
#- twice = x + x
twice = x + 2

# %% triple mistake: Doubles.
#> triple(2) should be 6, yours is 4
return double(x)

# %% triple mistake: Doubles twice.
#> triple(2) should be 6, yours is 8
return double(double(x))
"""
SUMS_MISTAKES = """
# %% total mistake: Does not double.
#> total([1, 2]) should be 6, yours is 3
return sum(numbers)

# %% total mistake: Returns the first.
#> total([1, 2]) should be 6, yours is 2
return double(numbers[0])
"""
EQUIVALENT = """
# %% double equivalent: {reason}
#= {change}
"""
LAST = "\n# %% [markdown]\n# ## Look back\n"
TRIPLE = '    assert triple(2) == 6, f"triple(2) should be 6, yours is {triple(2)}"'


def findings(root, name="numbers", until=check.QUESTIONS[-1]):
    """{question: finding}; what comes after the question `until` is not asked."""
    found, answers = {}, check.check(course.open_root(root.path).lesson(name), jobs=1)
    while until not in found:
        finding = next(answers)
        found[finding.question] = finding
    answers.close()
    return found


def record(root, text, name="numbers"):
    path = root.lesson(name).script.with_name("mistakes.py")
    path.write_text(text, encoding="utf-8")


def change(root, old, new, name="numbers", fresh=True):
    """Change text that is in one of a lesson's files once."""
    texts = {
        path: text
        for path in root.lesson(name).script.parent.iterdir()
        if old in (text := path.read_text(encoding="utf-8"))
    }
    ((path, text),) = texts.items()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    if fresh:
        entry = course.open_root(root.path).lesson(name)
        export.write_module(entry, export.current(entry, notebook_sync.read(entry, {})))


@pytest.fixture
def good(small_course):
    """The small course, exported, with a last section, a recorded mistake and another right
    solution.
    """
    chapter = small_course.lesson("numbers").script
    chapter.write_text(chapter.read_text(encoding="utf-8") + LAST, encoding="utf-8")
    small_course = course.open_root(small_course.path)
    for entry in small_course.lessons:
        export.write_module(entry, export.current(entry, notebook_sync.read(entry, {})))
    record(
        small_course,
        MISTAKE.format("should be [2, 6], yours is [1 9]")
        + OTHER_MISTAKES
        + MULTIPLIES
        + NUMBERS_RIGHTS,
    )
    record(small_course, SUMS_MISTAKES + SUMS_RIGHTS, "sums")
    return small_course


def test_a_sample_of_forged_answers_is_another_for_each_lesson(good):
    """So the lessons of a course, each with one of forty, are tried with all kinds together."""
    first, second = [entry.declared for entry in good.lessons]
    names = [answer for answer, *_ in check.forgeries(first, 1)]
    assert [answer for answer, *_ in check.forgeries(first, 20)] == names[1::20]
    assert check.forgeries(second, 20)[0][0] == names[2]
    assert len({*names}) == len(names) == 42
    assert sum(name.endswith("of helpers, too") for name in names) == 16


@pytest.mark.slow
def test_a_good_lesson_passes_every_question(good):
    for name in ("numbers", "sums"):
        found = findings(good, name)
        assert list(found) == list(check.QUESTIONS)
        assert {
            question: finding.problems for question, finding in found.items() if not finding.ok
        } == {}
    found = findings(good)
    assert (found["mistakes caught"].cases, found["right passes"].cases) == (4, 4)
    assert found["mutations caught"].right > 5
    assert found["doctests true"].cases == 1
    assert found["graded alike"].cases == 2 * 3 + 4 + 4


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
        (TRIPLE, "    pass", "release fails", "triple of two is six passes on the stub"),
        (
            TRIPLE,
            "    assert double(2) == 4",
            "stubs fail",
            "numbers-triple: triple of two is six passes without it",
        ),
        (TRIPLE, "    triple(2)", "mutations caught", "caught, 97% are needed"),
        (
            TRIPLE,
            "    got = triple(np.array([2.0]))\n    assert np.asarray((got - 6).data).max() == 0",
            "forged answers fail",
            "triple of two is six notices wrong values, and not when they are in an object that",
        ),
        (
            TRIPLE,
            "    got = triple(np.array([2.0]))\n    assert all(x == 6 for x in got)",
            "forged answers fail",
            "triple of two is six passes when every answer is nothing in a list",
        ),
        (
            TRIPLE,
            "    got = triple(2)\n    assert got is not None and type(got * 0.0) is float",
            "forged answers fail",
            "triple of two is six passes when every answer is an array, of functions 0.0",
        ),
        (
            TRIPLE,
            "    got, want = both(2)\n    assert 0.9 * want < got < 1.1 * want\n\n\n"
            "# %% learner-side\ndef both(x):\n    return [float(triple(x)), float(3 * x)]",
            "forged answers fail",
            "triple of two is six passes when every answer is two nearly equal numbers, of helpers",
        ),
        (
            "print(triple(5), LIMIT)",
            "print(triple(5), LATER)",
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
            "the release contains a line of a solution: twice = x + x",
        ),
        (
            "prerequisites = []",
            'prerequisites = ["sums"]',
            "form",
            "needs sums, which does not come before it",
        ),
        (
            "prerequisites = []",
            'prerequisites = ["nothing"]',
            "form",
            "`prerequisites` names 'nothing', which is no lesson",
        ),
        (
            "# **Task.** Write `triple`.\n",
            "# **Task.** Write `triple`.\n\n\n",
            "form",
            "does not give the same bytes",
        ),
        (
            '### END SOLUTION\n\n\n# %% checks="double"',
            '\n\n# %% checks="double"',
            "form",
            "BEGIN SOLUTION is never ended",
        ),
        ("# %% triple points", "# %% halve points", "form", "checks.py:17: 'halve' is no section"),
        (
            "# %% setup\n",
            "# %% setup\ndef triple(x):\n    return 6\n\n\n",
            "form",
            "checks.py defines triple, as the chapter does: rename it",
        ),
        ("## triple", "## halve", "form", "hints.md:7: the lesson has no exercise 'halve'"),
        (
            "LIMIT = 10",
            f"LIMIT = 10  # {'wide ' * 20}",
            "form",
            "numbers_dev.py:15 has 114 columns, at most 96",
        ),
        (
            "# Twice and thrice: größer als zuvor.",
            f"# {'ß' * 95}",
            "form",
            "numbers_dev.py:4 has 97 columns",
        ),
        (
            "import numpy as np\n\n\n# %% double",
            f"import numpy as np  # {'wide ' * 20}\n\n\n# %% double",
            "form",
            "checks.py:4 has 122 columns, at most 96",
        ),
        ("1. Use `double`.", f"1. {'Use it. ' * 12}", "form", "hints.md:9 has 99 columns"),
        ("# ## Doubling\n", "# ## Doubling\n" + "#\n" * 1250, "form", "lines, at most about 1,200"),
        (
            "# %%\nprint(triple(5), LIMIT)",
            '# %% tags=["answer"]\nprint(triple(5), LIMIT)',
            "form",
            "tagged as an answer, but no text of its section above it asks to predict",
        ),
        (
            "terms = []",
            'terms = ["a ganzzahl"]',
            "form",
            "the term 'a ganzzahl' is not explained: set it in bold in",
        ),
        (
            "terms = []",
            'terms = []\nsynonyms = {"sum" = ["total"]}',
            "form",
            "`synonyms` names 'sum', which is none of its `terms`",
        ),
        (LAST, "\n", "form", "the last section is not `## Look back`"),
        (
            "print(triple(5), LIMIT)",
            f"print(triple(5), LIMIT)\n# alt: {'word ' * 61}",
            "form",
            "numbers_dev.py:64: the alt text has 61 words, at most 60, and no heading",
        ),
        (
            f"print(triple(5), LIMIT)\n{LAST}",
            f"print(triple(5), LIMIT)\n# alt: A line.\n#\n# ## What it is\n{LAST}",
            "form",
            "the alt text has 6 words, at most 60, and no heading",
        ),
    ],
)
def test_what_is_wrong_is_named(good, old, new, question, said):
    readable = not re.search(r"is never ended|is no section|has no exercise", said)
    change(good, old, new, fresh=readable)
    if question == "release clean":  # which comes last
        finding = check.check_secrets(course.open_root(good.path).lesson("numbers").declared)
    else:
        finding = findings(good, until=question)[question]
    assert not finding.ok and said in "\n".join(finding.problems)


@pytest.mark.slow
def test_a_mistake_that_is_not_named_is_reported(good):
    record(good, MISTAKE.format("no check says this") + OTHER_MISTAKES)
    found = findings(good, until="graded alike")
    assert "squares: said" in found["mistakes caught"].problems[0]
    assert "graded, squares: said" in found["graded alike"].problems[0]


@pytest.mark.slow
def test_a_mistake_that_no_check_notices_is_reported(good):
    record(good, MISTAKE.format("x").replace("x * x", "2 * x") + OTHER_MISTAKES)
    found = findings(good, until="graded alike")
    assert found["mistakes caught"].problems == ["squares: not noticed"]
    assert found["graded alike"].problems == ["graded, squares: not noticed"]


@pytest.mark.slow
def test_a_right_solution_that_a_check_refuses_is_reported(good):
    record(good, MULTIPLIES.replace("2 *", "3 *") + NUMBERS_RIGHTS)
    found = findings(good, until="graded alike")
    said = "multiplies: double(2) should be 4, yours is 6: did you square?"
    assert found["right passes"].problems == [said]
    assert (found["right passes"].cases, found["right passes"].right) == (4, 3)
    assert found["graded alike"].problems == [f"graded, {said}"]


@pytest.mark.slow
def test_right_solutions_run_through_the_whole_chapter(good):
    other = "\n# %% triple right: Refuses five.\nassert x != 5\nreturn x * 3\n"
    record(good, MULTIPLIES + other + NUMBERS_RIGHTS)
    found = findings(good, until="runs through")
    assert found["right passes"].ok  # its checks multiply two
    (problem,) = found["runs through"].problems
    assert problem.startswith("with the right solutions multiplies, refuses-five: AssertionError")
    assert (found["runs through"].cases, found["runs through"].right) == (4, 3)


@pytest.mark.slow
def test_a_right_solution_may_take_longer_than_a_chapter(good, monkeypatch):
    monkeypatch.setattr(scratch, "WHOLE_SECONDS", 8)
    slow = "import time; time.sleep(60 if x == 5 else 0); return x * 3"
    record(good, f"{MULTIPLIES}\n# %% triple right: Waits.\n{slow}\n{NUMBERS_RIGHTS}")
    assert findings(good, until="runs through")["runs through"].ok


@pytest.mark.slow
def test_two_mistakes_and_two_right_solutions_in_another_style_are_needed(good):
    record(good, MISTAKE.format("should be [2, 6], yours is [1 9]") + MULTIPLIES)
    found = findings(good, until="right passes")
    for question in ("mistakes caught", "right passes"):
        assert found[question].problems == [
            "numbers-double: 1 recorded, 2 are needed",
            "numbers-triple: 0 recorded, 2 are needed",
        ]


@pytest.mark.slow
def test_terms_are_found_in_bold_or_italics_whatever_their_line_breaks_and_capitals(good):
    change(
        good,
        "# ## Doubling\n",
        "# ## Doubling\n#\n# **Twice\n# as much** is `double`. We call it *doubling*.\n",
    )
    change(good, "terms = []", 'terms = ["twice as much", "Doubling"]')
    assert findings(good, until="form")["form"].problems == []


@pytest.mark.slow
def test_a_package_that_is_not_a_fresh_export_is_reported(good):
    change(good, "LIMIT = 10", "LIMIT = 11", fresh=False)
    found = check.check_package(course.open_root(good.path).lesson("numbers"))
    assert "is not what `tito export numbers` writes" in found.problems[0]


@pytest.mark.slow
def test_an_equivalent_mutation_needs_a_reason_and_must_exist(good):
    equal = "`x + x` -> `(x) - (x)`"
    record(good, EQUIVALENT.format(change=equal, reason="For the test."))
    before = len([1 for _ in check.mutate.mutations(good.lesson("numbers").declared)])
    mutations = "mutations caught"
    assert findings(good, until=mutations)[mutations].cases == before - 1
    record(good, EQUIVALENT.format(change="`y` -> `z`", reason="For the test."))
    assert "there is no such mutation" in findings(good, until=mutations)[mutations].problems[0]
    record(good, EQUIVALENT.format(change=equal, reason=" "))
    assert (
        "mistakes.py:2: this line begins no section."
        in findings(good, until="form")["form"].problems[0]
    )


@pytest.mark.slow
def test_the_command_prints_a_table_or_json_and_its_exit_code_tells(good):
    done = run_process(good, "check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "numbers" in done.stdout and "sums" in done.stdout and "mutations caught" in done.stdout
    change(good, "LIMIT = 10", "LIMIT = 11", fresh=False)
    done = run_process(good, "check", "numbers", "--json")
    assert done.returncode == 1
    assert [f["question"] for f in json.loads(done.stdout) if not f["ok"]] == ["package fresh"]


@pytest.mark.slow
@pytest.mark.parametrize("words", [["numbers-double"], ["numbers", "double"]], ids=str)
def test_one_exercise_is_tried_against_what_is_recorded_for_it(good, words):
    done = run_process(good, "check", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "numbers-double" in done.stdout and "mutations caught" in done.stdout
    assert not {"doctests true", "package fresh", "chapter"} & set(done.stdout.split("  "))
    found = {row["question"]: row for row in json.loads(tito(good, "check", *words, "--json")[0])}
    whole = {"form", "release fails", "graded alike", "forged answers fail", "doctests true"}
    assert whole.isdisjoint(found)
    assert found["solution passes"]["cases"] == 2 and found["mistakes caught"]["cases"] == 2


@pytest.mark.slow
def test_of_one_exercise_a_mistake_that_is_not_named_is_reported(good):
    record(
        good, MISTAKE.format("no check says this") + OTHER_MISTAKES + MULTIPLIES + NUMBERS_RIGHTS
    )
    out = tito(good, "check", "numbers-double", code=1)[0]
    assert "numbers-double, mistakes caught:\n  squares: said" in out
    tito(good, "check", "numbers-triple")


@pytest.mark.parametrize("words", [["numbers-double"], ["numbers"]], ids=str)
def test_a_mistake_that_does_not_fit_the_solution_any_more_is_reported_with_its_line(good, words):
    record(good, MISTAKE.format("m").replace("#- twice = x + x", "#- twice = x - x"))
    rows = json.loads(tito(good, "check", *words, "--json", code=1)[0])
    (problem,) = [problem for row in rows for problem in row["problems"]]
    assert "/01_numbers/mistakes.py:3: `twice = x - x` is not in the solution. Copy" in problem


def test_a_workspace_is_refused(small_workspace):
    assert "is a workspace" in tito(small_workspace, "check", code=2)[1]


@pytest.mark.parametrize("sample", [True, False])
def test_a_question_needs_a_sample_answer(small_course, sample):
    chapter = with_question()
    if not sample:
        start, end = chapter.index("# ### BEGIN SOL"), chapter.index("# ### END SOLUTION\n")
        chapter = chapter[:start] + chapter[end + len("# ### END SOLUTION\n") :]
    path = small_course.lesson("numbers").script
    path.write_text(chapter + LAST, encoding="utf-8")
    form = next(check.check(course.open_root(small_course.path).lesson("numbers")))
    needed = ["question why has no sample answer for graders"]
    assert form.problems == ([] if sample else needed)
