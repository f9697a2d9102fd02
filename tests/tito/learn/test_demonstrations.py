"""tito/learn/demonstrations.py and check_process.py: what a lesson shows with the learner's
own code.
"""

import json
import sys

import pytest
from commands import tito
from small_course import edit, solve

from tito.learn import demonstrations, lesson_page, runner, workspace
from tito.learn.check_process import LETTERS, Screen
from tito.views import report

PICTURE = "import matplotlib.pyplot as plt\nplt.plot([1, double(2)]);\n# alt: A line.\n"
ASKED = """\
# %% [markdown]
# Predict what four becomes. Then run this.
#
# It stands here.

# %% tags=["answer"]
print("four becomes", double(4))
"""


@pytest.fixture
def entry(small_workspace):
    return small_workspace.lesson("numbers")


def behind(entry, exercise, text):
    """Put a demonstration behind the checks of an exercise."""
    edit(entry, f'check("{exercise}")\n', f'check("{exercise}")\n\n{text}')


def texts(shown):
    return [result.text for result in shown]


def see(entry):
    """Test the lesson, and mark all new results as seen. Returns their texts."""
    unseen = runner.test_lesson(entry).unseen
    demonstrations.mark_seen(entry, unseen)
    return texts(unseen)


def test_what_an_exercise_makes_possible_is_new_until_it_was_seen(entry):
    behind(entry, "double", '# %%\nprint("twice", double(4))\n')
    assert see(entry) == []
    solve(entry, "numbers-double")
    assert texts(runner.test_lesson(entry).unseen) == ["twice 8"]
    assert see(entry) == ["twice 8"] and see(entry) == []
    solve(entry, "numbers-triple")
    assert see(entry) == ["15 10"]
    assert texts(runner.test_lesson(entry).results) == ["twice 8", "15 10"]


def test_the_results_above_the_first_exercise_are_new_in_the_first_run(entry):
    edit(
        entry,
        "# %% [markdown]\n# ## Doubling",
        "# %%\nprint(LIMIT)\n\n# %% [markdown]\n# ## Doubling",
    )
    assert see(entry) == ["10"] and see(entry) == []


def test_what_waited_for_an_earlier_exercise_is_new_when_it_can_run(entry):
    behind(entry, "double", '# %%\nprint("twice", double(4))\n')
    solve(entry, "numbers-triple")
    edit(entry, "return double(x) + x", "return x + x + x")
    assert see(entry) == [] and runner.test_lesson(entry).verdict.checks[-1].passed
    solve(entry, "numbers-double")
    assert see(entry) == ["twice 8", "15 10"]


def test_results_that_were_seen_are_new_after_a_reset_and_not_after_a_mistake(entry):
    solve(entry)
    assert see(entry) == ["15 10"]
    edit(entry, "twice = x + x", "twice = 3 * x")
    assert see(entry) == []
    edit(entry, "twice = 3 * x", "twice = 2 * x")
    assert see(entry) == [] and texts(runner.test_lesson(entry).results) == ["15 10"]
    workspace.reset(entry)
    solve(entry)
    assert see(entry) == ["15 10"]


def test_a_result_that_was_cut_for_what_the_learner_printed_is_new_without_that(entry):
    solve(entry)
    edit(entry, "twice = x + x", "print(*range(30), sep='\\n'); twice = x + x")
    (long,) = see(entry)
    assert long.endswith("15 10") and see(entry) == []
    edit(entry, "print(*range(30), sep='\\n'); ", "")
    assert see(entry) == ["15 10"] and see(entry) == []


def test_behind_an_exercise_that_is_wrong_nothing_runs(entry, tmp_path):
    solve(entry)
    edit(entry, "twice = x + x", "twice = x * x + 1")
    behind(entry, "double", f"# %%\nopen({str(tmp_path / 'ran')!r}, 'w').close()\n")
    assert runner.test_lesson(entry).results == [] and not (tmp_path / "ran").exists()


def test_a_demonstration_that_fails_before_all_is_right_is_reported_and_changes_no_verdict(entry):
    solve(entry, "numbers-double")
    behind(entry, "double", "# %%\nprint(double(1) / 0)\n")
    result = runner.test_lesson(entry)
    assert (result.verdict.verdict, result.verdict.points) == ("partly right", 4)
    (note,) = result.verdict.notes
    assert "a demonstration of what is right so far stops: ZeroDivisionError" in note


def test_only_part_of_the_checks_shows_nothing(entry):
    solve(entry)
    assert runner.test_lesson(entry, runner.CheckSelection(["numbers-double"])).unseen == []
    assert texts(runner.test_lesson(entry).unseen) == ["15 10"]


def test_pictures_are_kept_and_go_with_the_code_that_drew_them(entry):
    solve(entry, "numbers-double")
    behind(entry, "double", f"# %%\n{PICTURE}")
    (result,) = runner.test_lesson(entry).unseen
    (picture,) = result.pictures
    path = entry.root.path / picture
    assert b"figure_1" in path.read_bytes() and result.demonstration.alt == "A line."
    assert path.parent == demonstrations.folder_of(entry) and path.name.startswith("doubling-")
    edit(entry, "double(2)]", "double(3)]")
    runner.test_lesson(entry)
    assert not path.exists() and len(list(path.parent.glob("*.svg"))) == 1


@pytest.mark.parametrize("spoil", ["gone", "damaged", "a picture gone"])
def test_what_is_not_kept_any_more_runs_again(entry, spoil):
    solve(entry)
    behind(entry, "triple", f"# %%\n{PICTURE}")
    saved_copy = demonstrations.folder_of(entry) / "results.json"
    first = runner.test_lesson(entry).results
    if spoil == "gone":
        saved_copy.unlink()
    elif spoil == "damaged":
        saved_copy.write_text('{"x": 1}', encoding="utf-8")
    else:
        (entry.root.path / first[0].pictures[0]).unlink()
    again = runner.test_lesson(entry).results
    assert texts(again) == texts(first)
    assert all(
        (entry.root.path / name).exists()
        for demonstration_result in again
        for name in demonstration_result.pictures
    )
    json.loads(saved_copy.read_text(encoding="utf-8"))


def test_what_is_not_shown_anew_is_not_drawn_again():
    """A cell that runs for its names only leaves no figure open for the next."""
    screen = Screen({"double": lambda x: x + x})
    screen.run(PICTURE + "x = 3", "cell", 1, show=False)
    assert (screen.pictures, screen.space["x"]) == ([], 3)
    screen.run("print(x)", "cell", 1)
    assert (screen.pictures, screen.text) == ([], "3")


def test_a_picture_stays_as_it_was_when_its_cell_runs_for_its_names(entry):
    solve(entry)
    behind(entry, "triple", f"# %% [markdown]\n# ## A\n\n# %%\nx = 2\n{PICTURE}")
    last = "\n# %% [markdown]\n# ## B\n\n# %%\nprint({} + x)\n"
    text = entry.script.read_text(encoding="utf-8")
    entry.script.write_text(text + last.format(1), encoding="utf-8")
    (drawn,) = [
        demonstration_result
        for demonstration_result in runner.test_lesson(entry).results
        if demonstration_result.pictures
    ]
    picture = entry.root.path / drawn.pictures[0]
    picture.write_bytes(b"\x89PNG as it was")
    entry.script.write_text(text + last.format(2), encoding="utf-8")
    result = runner.test_lesson(entry)
    assert texts(result.results)[-1] == "4"
    assert picture.read_bytes() == b"\x89PNG as it was"


# As a notebook shows it.


class Drawn:
    def _repr_svg_(self):
        return "<svg></svg>"


@pytest.mark.parametrize(
    ("source", "text", "kinds"),
    [
        ("print(1)\n2 + 2", "1\n4", []),
        ("2 + 2;", "", []),
        ("2 + 2;\n# alt: nothing", "", []),
        ("x = 3", "", []),
        ("Drawn()", "", ["svg"]),
        ("display(Drawn(), 5)", "5", ["svg"]),
        ("import sys; print('no', file=sys.stderr)", "no", []),
        ("import matplotlib.pyplot as plt\nplt.plot([1])", "", ["svg"]),
        ("import matplotlib.pyplot as plt\nplt.imshow([[1]]); plt.text(0, 0, 1)", "", ["png"]),
        (
            "import matplotlib.pyplot as plt\nplt.plot([1]); plt.figure(); plt.plot([2])",
            "",
            2 * ["svg"],
        ),
        ("None", "", []),
    ],
)
def test_a_cell_shows_what_a_notebook_shows(source, text, kinds):
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")  # what other tests have left open
    screen = Screen({"Drawn": Drawn})
    screen.run(source, "cell", 1)
    assert (screen.text, [picture["kind"] for picture in screen.pictures]) == (text, kinds)


def test_what_is_printed_without_end_is_cut():
    screen = Screen({})
    screen.run("for n in range(100_000):\n    print(n)", "cell", 1)
    assert len(screen.text) < LETTERS + 20 and screen.text.endswith("cut here")


def made(source, heading="", question="", before=1, payoff=False):
    """A demonstration."""
    return demonstrations.Demonstration(
        source, "a.py", 1, 1, "k-0", before, heading, question, "", payoff
    )


# In the terminal.


def test_a_test_does_not_show_the_answer_to_a_question_and_says_where_everything_is(
    small_workspace, entry
):
    solve(entry, "numbers-double")
    behind(entry, "double", f'# %%\nprint("two", double(1))\n\n{ASKED}\n\n# %%\nprint("so 8")\n')
    out, _ = tito(small_workspace, "test", "numbers", code=1)
    at = [
        out.index(words)
        for words in (
            "with your code",
            "two 2",
            "Not shown yet: 2 results. To predict first: tito watch numbers",
            "all results: tito read numbers",
            "1 exercise right",
            "Next to write: exercise numbers-triple",
            "1 of 2 exercises",
        )
    ]
    assert at == sorted(at) and "four becomes" not in out and "so 8" not in out
    lesson_page.save_prediction(entry, "Predict what four becomes. Then run this.", "nine")
    out, _ = tito(small_workspace, "test", "numbers", code=1)
    assert out.index("Predict what four becomes.") < out.index("four becomes 8") < out.index("so 8")
    assert "with your code" not in tito(small_workspace, "test", "numbers", code=1)[0]


def test_many_results_are_shown_in_the_chapters_order_over_several_tests(small_workspace, entry):
    cells = [f'# %%\nprint("result", {n})\n' for n in range(8)]
    behind(entry, "double", "\n\n".join(cells))
    out, _ = tito(small_workspace, "test", "numbers", code=1)
    assert "result" not in out
    solve(entry, "numbers-double")
    out, _ = tito(small_workspace, "test", "numbers", code=1)
    assert "result 5" in out and "result 6" not in out
    assert "2 more results with the next test; all results: tito read numbers" in out
    out, _ = tito(small_workspace, "test", "numbers", code=1)
    assert "result 5" not in out and "result 6\n" in out and "result 7\n" in out


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Nothing is asked.", ""),
        ("Stuck? `tito hint a b`", ""),
        ("It waits. How long is it?\n\n**Task.** Write `predict`.", "It waits. How long is it?"),
        ("**Task.** Write it. Predict how long.", "**Task.** Write it. Predict how long."),
        ("Predict what four becomes.\n\nNo more.", "Predict what four becomes."),
        ("It was recorded. Predict how many\nnodes.", "It was recorded. Predict how many nodes."),
        ("One. Two, $x^2$. Predict: is it? Then?", "Two, $x^2$. Predict: is it? Then?"),
        ("Another paragraph.\n\nIn shape (2, 3): Predict it.", "In shape (2, 3): Predict it."),
    ],
)  # fmt: skip
def test_a_question_is_shown_with_the_sentence_before_it(text, question):
    assert demonstrations.question_in([text]) == question
    assert demonstrations.question_in([text, "Here it is:"]) == question


def test_a_lesson_ends_on_what_its_chapter_tags_or_on_its_last_picture():
    def one(name, pictures=(), **more):
        return demonstrations.DemonstrationResult(made(name, **more), name, list(pictures))

    start, line, drawn = one("a", before=0, payoff=True), one("b"), one("c", ["c.svg"])
    after, last = one("d"), one("e", ["e.svg"], heading="Look back")
    results = [start, line, drawn, after, last]
    assert demonstrations.payoffs_of(results) == [drawn]
    assert (
        demonstrations.payoffs_of([start, line, after]) == [after]
        and demonstrations.payoffs_of([last]) == []
    )
    tagged = [one("b", payoff=True), drawn, one("d", payoff=True)]
    assert demonstrations.payoffs_of(tagged) == [tagged[0], tagged[2]]


def test_formulas_and_emphasis_of_a_question_are_shown_as_text():
    questions = (
        r"With $s\,(1 - s)$ *not* reset, why is `z = 4 * (3 * x)` at $2 \cdot 10$/$\mathrm{lr}$?"
    )
    messages = "With s (1 - s) not reset, why is `z = 4 * (3 * x)` at 2 · 10/lr?"
    assert report.question(questions).plain == messages


def test_the_terminal_names_the_section_and_says_what_a_picture_shows(small_workspace, entry):
    solve(entry, "numbers-double")
    behind(entry, "double", f"# %%\n{PICTURE.rstrip()} It rises.\n")
    out, _ = tito(small_workspace, "test", "numbers", code=1)
    assert "with your code\nDoubling\n  picture .tito/results/01_numbers/doubling-" in out
    assert ".svg\n    A line.\n" in out and "It rises" not in out


def test_a_lesson_that_passes_ends_on_its_payoff_before_what_comes_next(small_workspace, entry):
    solve(entry)
    for _ in range(2):
        out, _ = tito(small_workspace, "test", "numbers")
        assert out.index("2 of 2 exercises") < out.index("15 10") < out.index("next:")
        assert out.count("15 10") == 1


def test_many_lessons_at_once_show_no_results(small_workspace):
    for entry in small_workspace.lessons:
        solve(entry)
    assert "with your code" not in tito(small_workspace, "test", "--all")[0]


def test_a_course_with_its_solutions_shows_no_results(small_course):
    assert "with your code" not in tito(small_course, "test", "numbers")[0]
