"""The judge gives each check what it earned, says why it did not pass, and where an earlier lesson
is to blame.
"""

import pickle
import sys
import warnings

import numpy as np
import pytest
from grading.jail.hostile import course as attacked
from small_course import NEVER_RUNS, NUMBERS, SUMS, WITH_GIVEN_LINE, verdict_on

from tito.grading import result
from tito.grading.intake import collect
from tito.grading.jail import jailed_server
from tito.grading.jail.jail import Jail
from tito.grading.jail.jailed_check import CheckRunner, overflow_is_an_error
from tito.grading.jail.judge import NOT_ON_REFERENCE
from tito.grading.judge_process import SubmissionJudge
from tito.grading.result import unpacked
from tito.grading.setting import Setting
from tito.learn import workspace
from tito.lesson import course
from tito.lesson.outcome import clean

DOUBLE = "    twice = x + x\n    return twice\n"
TRIPLE = "    return double(x) + x\n"
TOTAL = "    return sum(double(n) for n in numbers)\n"


@pytest.fixture(scope="module")
def jail():
    """One jail for most tests, because starting it takes longer than the tests."""
    with Jail("process", modules=lambda: {"tinytorch": None, "tinytorch.core": None}) as jail:
        yield jail


@pytest.fixture
def grade(small_course, tmp_path, jail):
    """grade({"numbers": text, ...}, **setting): the LessonResults of one learner, by lesson."""
    judges = []

    def grade(files, lessons=("numbers", "sums"), root=small_course, **setting):
        inbox = tmp_path / f"inbox {len(judges)}"
        (inbox / "ada").mkdir(parents=True)
        for name, text in files.items():
            (inbox / "ada" / f"{name}_dev.py").write_bytes(
                text if isinstance(text, bytes) else text.encode()
            )
        (arrival,) = collect.find_submissions(inbox, root.lessons)
        seconds = setting.pop("seconds", 20)
        given = Setting(root.path, tuple(lessons), "process", seconds=seconds, **setting)
        judges.append(SubmissionJudge(given))
        if "memory" not in setting:
            judges[-1].judge.runner.jails = {False: jail, True: jail}
        return {one.lesson: one for one in judges[-1].grade(arrival, {})}

    yield grade
    for one in judges:
        one.reader.close()
        if jail not in one.judge.runner.jails.values():
            one.judge.runner.close()


@pytest.fixture
def numbers(grade):
    """numbers(double): the result of lesson 01 with this body of `double`, and everything else
    right.
    """
    return lambda body, **setting: grade(
        {"numbers": changed(NUMBERS, DOUBLE, body)}, ["numbers"], **setting
    )["numbers"]


def changed(text, old, new):
    assert text.count(old) == 1
    return text.replace(old, new)


def statuses(lesson):
    return [check.status for check in lesson.checks]


def test_right_work_gets_every_point_on_either_base(grade):
    for base in ("own", "reference", "both"):
        got = grade({"numbers": NUMBERS, "sums": SUMS}, earlier_lessons=base)
        assert [(one.verdict, one.points, one.max_points, one.reason) for one in got.values()] == [
            ("passed", 5, 5, ""),
            ("passed", 3, 3, ""),
        ]
        assert got["sums"].base == ("reference" if base == "reference" else "own")
        assert all(
            check.status == "passed" and check.message == "" and check.caused_by is None
            for one in got.values()
            for check in one.checks
        )


def test_a_given_cell_earns_no_points_and_the_result_says_so(grade):
    text = NUMBERS.replace('exercise="double"', 'given="double"')
    lesson = grade({"numbers": text})["numbers"]
    assert (lesson.verdict, lesson.points, lesson.max_points) == ("passed", 1, 5)
    assert lesson.notes == ["given code in this submission, which earns no points: numbers-double"]


def test_the_points_of_a_cell_go_to_each_of_its_checks(numbers):
    got = numbers("    if isinstance(x, int):\n        return x + x\n    return x\n")
    assert [(check.name, check.points, check.max_points, check.status) for check in got.checks] == [
        ("double of two is four", 2, 2, "passed"),
        ("double works on arrays", 0, 2, "failed"),
        ("triple of two is six", 1, 1, "passed"),
    ]
    assert (got.verdict, got.points, got.reason) == ("partly right", 3, "1 of 3 checks fail.")
    assert got.checks[1].message == "double([1, 3]) should be [2, 6], yours is [1 3]"


@pytest.mark.parametrize("value, points", [("x * 2", 5), ("x * x * x", 0)])
def test_a_given_line_that_never_runs_is_named_as_in_tito_test(
    small_course, grade, value, points, tmp_path
):
    script = small_course.lesson("numbers").script
    script.write_text(WITH_GIVEN_LINE, encoding="utf-8")
    changed_course = course.open_root(small_course.path)
    workspace.init(tmp_path / "work", changed_course)
    entry = course.open_root(tmp_path / "work").lesson("numbers")
    text = changed(WITH_GIVEN_LINE, "twice = x + x", f"return {value}")
    entry.script.write_text(text, encoding="utf-8")
    graded = grade({"numbers": text}, ["numbers"], changed_course)["numbers"]
    tested = verdict_on(entry)
    assert graded.points == tested.points == points
    assert [c.message for c in graded.checks] == [c.message for c in tested.checks]
    assert graded.notes == tested.notes
    wrong = [c.message for c in graded.checks if c.exercise == "numbers-double" and c.message]
    assert graded.notes == [f"numbers-double: {NEVER_RUNS}"] * (points == 5)
    assert len(wrong) == (0 if points else 2) and all(w.endswith(f"\n{NEVER_RUNS}") for w in wrong)


@pytest.fixture
def wrong_double(grade):
    """Lesson 01 with a mistake in a function that lesson 02 uses."""
    return lambda base: grade(
        {"numbers": changed(NUMBERS, DOUBLE, "    return x * x\n"), "sums": SUMS},
        earlier_lessons=base,
    )["sums"]


def test_on_the_own_base_an_early_mistake_costs_points_later(wrong_double):
    got = wrong_double("own")
    assert (got.verdict, got.points, got.base) == ("partly right", 1, "own")
    assert statuses(got) == ["failed", "passed"]
    assert (
        got.checks[0].message == "total([1, 2]) should be 6, yours is 5"
        and got.checks[0].caused_by is None
    )


def test_on_the_reference_base_it_costs_none(wrong_double):
    got = wrong_double("reference")
    assert (got.verdict, got.points, got.base) == ("passed", 3, "reference")
    assert statuses(got) == ["passed", "passed"]


def test_on_both_it_costs_none_and_the_report_says_where_it_sits(wrong_double):
    got = wrong_double("both")
    assert (got.verdict, got.points, got.base) == ("passed", 3, "reference")
    first, second = got.checks
    assert (first.status, first.base, first.caused_by) == (
        "passed",
        "reference",
        "numbers",
    ) and "lesson numbers" in first.message
    assert (second.status, second.base, second.caused_by, second.message) == (
        "passed",
        "own",
        None,
        "",
    )


@pytest.mark.parametrize(
    "numbers",
    ["def (", "#| default_exp core.numbers\n#| export\nraise OSError('no')", b"\xff\xfe"],
    ids=["syntax error", "raises", "no UTF-8"],
)
def test_an_earlier_lesson_that_cannot_be_used_costs_nothing_later(grade, numbers):
    files = {"sums": SUMS, "numbers": numbers}
    assert grade(files, earlier_lessons="own")["sums"].points == 0
    got = grade(files)["sums"]
    assert (got.verdict, got.points, got.base) == ("passed", 3, "reference")
    assert [check.caused_by for check in got.checks] == ["numbers", "numbers"]
    wrong = grade(files | {"sums": changed(SUMS, TOTAL, "    return 7\n")})["sums"]
    said = {
        "total([1, 2]) should be 6, yours is 7",
        "secret",
        NOT_ON_REFERENCE.format("sums-total"),
    }
    assert {check.message for check in wrong.checks} <= said


def test_a_learner_is_not_blamed_for_an_earlier_lesson_that_was_not_handed_in(grade):
    assert grade({"sums": SUMS}, earlier_lessons="own")["sums"].points == 0
    got = grade({"sums": SUMS})["sums"]
    assert (got.verdict, got.points, got.base) == ("passed", 3, "reference")
    assert got.notes == ["Not handed in, so the course's own lessons are used: numbers."]
    assert [(check.caused_by, check.message) for check in got.checks] == [(None, "")] * 2
    wrong = grade({"sums": changed(SUMS, TOTAL, "    return 7\n")})["sums"]
    said = {check.message for check in wrong.checks}
    assert said == {"does not pass; tito test sums-total shows why"}


def test_nothing_is_said_of_a_lesson_that_fails_beside_the_courses_own(grade):
    """It could read their solutions and show them as the text of an error."""
    spy = changed(SUMS, "def total", "raise ValueError(open(__file__).read())\n\n\ndef total")
    got = grade({"sums": spy})["sums"]
    said = {check.message for check in got.checks} | {got.reason, *got.notes}
    assert not any("ValueError" in text for text in said)


def test_a_mistake_of_the_lesson_itself_is_not_mended_by_the_reference(grade):
    got = grade(
        {
            "numbers": changed(NUMBERS, DOUBLE, "    return x * x\n"),
            "sums": changed(SUMS, TOTAL, "    return 4 * len(numbers)\n"),
        }
    )["sums"]
    assert (got.points, statuses(got), got.checks[0].caused_by) == (1, ["failed", "passed"], None)


def test_with_the_course_as_it_is_released_nothing_is_earned(grade, small_course):
    got = grade({entry.name: entry.declared.released for entry in small_course.lessons})
    assert [(one.verdict, one.points) for one in got.values()] == [("stub", 0), ("stub", 0)]
    assert (
        set(statuses(got["numbers"])) == {"unwritten"}
        and "yours to write" in got["numbers"].checks[0].message
    )


def test_what_holds_no_line_of_a_learner_is_run_once_for_all(small_course, tmp_path, monkeypatch):
    forks, jailed = [], CheckRunner.fork
    monkeypatch.setattr(
        CheckRunner, "fork", lambda runner, hidden: forks.append(1) or jailed(runner, hidden)
    )
    released = {entry.name: entry.declared.released for entry in small_course.lessons}
    own_words = released["numbers"].replace("Twice and thrice", "My notes: twice and thrice")
    own_line = changed(released["numbers"], "LIMIT = 10", "LIMIT = 11")
    class_of = {
        "ada": released,
        "bob": released | {"numbers": own_words},  # text is not run
        "eve": released | {"numbers": own_line},
    }
    for student, files in class_of.items():
        (tmp_path / student).mkdir()
        for name, text in files.items():
            (tmp_path / student / f"{name}_dev.py").write_text(text, encoding="utf-8")
    got, counts = {}, {}
    with SubmissionJudge(
        Setting(small_course.path, ("numbers", "sums"), "process", seconds=20)
    ) as judge:
        for arrival in collect.find_submissions(tmp_path, small_course.lessons):
            forks.clear()
            got[arrival.student] = [
                (one.lesson, one.verdict, check.id, check.status, check.message, check.base)
                for one in judge.grade(arrival, {})
                for check in one.checks
            ]
            counts[arrival.student] = len(forks)
    assert got["ada"] == got["bob"] and {status for _, _, _, status, _, _ in got["ada"]} == {
        "unwritten"
    }
    # The checks of eve's second lesson with the course's first lesson are known.
    assert counts["ada"] > counts["eve"] >= 3 and counts["bob"] == 0, counts


def test_a_check_that_waits_for_another_exercise_names_it(grade, small_course):
    released = small_course.lessons[0].declared.released
    with_triple = changed(
        released,
        released[released.index('    """Three times `x`."""') :].split("\n")[1] + "\n",
        TRIPLE,
    )
    got = grade({"numbers": with_triple}, ["numbers"])["numbers"]
    assert (got.verdict, statuses(got)) == ("failed", ["unwritten"] * 3)
    assert (
        "double" in got.checks[2].message
        and got.reason == "3 wait for exercises that are not written."
    )


# How a check, or a lesson, can end. Each: the body of `double`, the status of its checks, a word of
# the message.


@pytest.mark.parametrize(("body", "status", "words"), [
    ("    return x * 3", "failed", "should be 4, yours is 6: did you square?"),
    ("    pass", "failed", "yours is None"),
    ("    return undefined", "error", "NameError: name 'undefined' is not defined"),
    ("    return x.twice", "error", "AttributeError"),
    ("    return None.size", "error", "Does a function lack its `return`?"),
    ("    raise AssertionError('I say it is right')", "error", "AssertionError: I say it is right"),
    ("    raise KeyError", "error", "KeyError"),
    ("    raise SystemExit", "error", "SystemExit"),
    ("    class Own(BaseException): pass\n    raise Own('odd')", "error", "Own: odd"),
    ("    raise type('', (Exception,), {})", "error", "exception"),
    ("    return type('Any', (), {'__eq__': lambda a, b: True})()", "error",
     "the check must fetch `.data` first. If your code returns what its docstring says"),
    ("    return double(x)", "error", "RecursionError"),
    ("    import os; os._exit(3)", "crashed", "exit code 3"),
    ("    import os; os.abort()", "crashed", "SIGABRT"),
    ("    import os; os.close(3)", "crashed", "ended"),
    ("    raise MemoryError", "memory", "more memory than it may have"),
    ("    import os; os.write(3, b'[]' * 50)", "tampered", "does not answer as it should"),
], ids=lambda x: x if isinstance(x, str) and x.isalpha() else "")  # fmt: skip
def test_a_check_says_how_it_ended(numbers, body, status, words):
    got = numbers(body + "\n")
    assert statuses(got)[0] == status, got.checks
    assert words in got.checks[0].message
    assert status in result.STATUSES and got.points == 0


def test_a_message_names_the_learners_own_line(numbers):
    got = numbers("    half = x / 2\n    return half.twice()\n")
    line = next(
        number
        for number, text in enumerate(
            changed(NUMBERS, DOUBLE, "    half = x / 2\n    return half.twice()\n").split("\n"), 1
        )
        if "half.twice" in text
    )
    assert f"line {line}: return half.twice()" in got.checks[0].message


@pytest.mark.parametrize(("code", "verdict", "words"), [
    ("raise ValueError('at import')", "import failed", "ValueError: at import"),
    ("import no_such_module as double", "import failed", "no_such_module"),
    ("import os; os._exit(0)", "crashed", "ended with exit code 0"),
    ("raise MemoryError", "out of memory", "more memory"),
    ("while True: pass", "timed out", "endless loop"),
    (
        "import os, signal; os.kill(os.getpid(), signal.SIGXCPU)",  # as the limit of CPU time does
        "timed out",
        "endless loop",
    ),
], ids=lambda x: x if " " not in x else "")  # fmt: skip
def test_what_stops_a_lesson_is_its_verdict_if_nothing_else_earns_points(
    grade, code, verdict, words
):
    text = changed(NUMBERS, "def double(x):", f"{code}\n\n\ndef doubled(x):")
    got = grade({"numbers": text}, ["numbers"], seconds=20 if verdict != "timed out" else 0.5)
    got = got["numbers"]
    assert (got.verdict, statuses(got)) == (verdict, ["error"] * 3)
    assert words in got.reason and verdict in result.VERDICTS


def test_what_answers_out_of_turn_while_it_is_imported_is_tampered(numbers):
    got = numbers(DOUBLE + "\nimport os; os.write(3, b'x' * 99)\n", seconds=20)
    assert (got.verdict, statuses(got)) == ("tampered", ["tampered", "not run", "not run"])
    assert "does not answer" in got.reason


def test_a_loop_costs_its_time_limit_once(numbers, monkeypatch):
    tries, real = [], CheckRunner.try_import
    monkeypatch.setattr(CheckRunner, "try_import", lambda *given: tries.append(1) or real(*given))
    got = numbers(DOUBLE + "\nwhile True: pass\n", seconds=0.5)
    assert (got.verdict, got.points, len(tries)) == ("passed", 5, 1)
    assert sum(check.seconds for check in got.checks) < 0.5


@pytest.mark.slow
def test_what_is_tried_to_find_what_stops_counts_as_time_of_the_submission(grade, monkeypatch):
    tries, real = [], CheckRunner.try_import
    monkeypatch.setattr(CheckRunner, "try_import", lambda *given: tries.append(1) or real(*given))
    monkeypatch.setattr("tito.grading.jail.judge.submission_seconds", lambda setting: 0.4)
    loop = "\n\n# %%\n#| export\nwhile True: pass\n"
    got = grade({"numbers": NUMBERS + loop, "sums": SUMS + loop}, seconds=0.5)
    visible = [check for one in got.values() for check in one.checks if not check.hidden]
    assert len(tries) == 1 and {check.status for check in visible} == {"not run"}
    assert "have taken 0.4 s" in visible[-1].message


def test_what_ends_the_import_of_a_check_is_named_with_what_is_left_out(numbers):
    # Where it is only tried, no frame of `load` is on the stack.
    code = "import os, traceback\n1 / 0\n"
    code += "if 'in load' in ''.join(traceback.format_stack()): os._exit(7)"
    got = numbers(f"{DOUBLE}\n{code}\n")
    assert (got.verdict, got.points) == ("crashed", 0)
    assert "1 / 0: ZeroDivisionError" in got.reason and "exit code 7" in got.reason


def test_a_cell_whose_definition_stops_is_not_shown_as_the_one_that_counts(grade):
    again = "\n\n# %%\n#| export\n@(lambda f: 1 / 0)\ndef double(x):\n    return x\n"
    got = grade({"numbers": NUMBERS + again}, ["numbers"])["numbers"]
    (cells,) = [row for row in got.cells.values() if len(row) == 2]
    assert got.points == 5 and not any(cell.counts for cell in cells)
    assert cells[1].words.endswith("its double stops: left out")


def test_an_endless_loop_ends_and_other_checks_count(numbers):
    got = numbers("    while x is 2: pass\n    return x + x\n", seconds=0.5)
    assert statuses(got) == ["timeout", "passed", "timeout"] and (got.verdict, got.points) == (
        "partly right",
        2,
    )
    assert "still running after 0.5 s" in got.checks[0].message


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
def test_more_memory_than_allowed_is_reported(numbers):
    got = numbers("    return len(bytearray(1 << 29)) and x + x\n", memory=512)
    assert (got.verdict, statuses(got), got.points) == ("out of memory", ["memory"] * 3, 0)
    assert numbers("    return len(bytearray(1 << 29)) and x + x\n", memory=4096).points == 5


@pytest.mark.parametrize(
    ("text", "verdict", "words"),
    [
        (b"\xff\xfe\x00", "unreadable", "UTF-8"),
        (b"", "unreadable", "empty"),
    ],
    ids=["no UTF-8", "empty"],
)
def test_what_python_cannot_read_is_never_run(grade, text, verdict, words):
    got = grade({"numbers": text}, ["numbers"])["numbers"]
    assert (got.verdict, got.points, set(statuses(got)), got.isolation) == (
        verdict,
        0,
        {"not run"},
        "",
    ) and words in got.reason


def test_only_another_lesson_than_those_that_are_graded_is_for_a_person(grade):
    got = grade({"sums": SUMS}, ["numbers"])["numbers"]
    assert (got.verdict, got.points, got.sha256) == ("no lesson file", 0, "")
    assert "but sums_dev.py. Hand in numbers_dev.ipynb or numbers_dev.py, by itself" in got.reason
    assert grade({}, ["numbers"])["numbers"].key != got.key


def test_a_lesson_that_was_not_handed_in_is_missing(grade):
    got = grade({"sums": SUMS}, ["numbers", "sums"])["numbers"]
    assert (got.verdict, got.points, got.max_points, got.sha256, len(got.checks)) == (
        "missing",
        0,
        5,
        "",
        3,
    )


def test_checks_that_were_edited_or_added_change_nothing(grade):
    cheat = (
        changed(NUMBERS, 'check("double")', "def test_double_of_two_is_four():\n    pass")
        .replace('check("triple")', "check = print")
        .replace(DOUBLE, "    return 0\n")
        + "\n\ndef test_more():\n    pass\n"
    )
    got = grade({"numbers": cheat}, ["numbers"])["numbers"]
    assert (got.points, len(got.checks), statuses(got)) == (0, 3, ["failed"] * 3)


def test_a_check_needs_only_the_learner_side_sections_that_it_uses(grade, small_course):
    """As in `tito test`: what an exercise lacks costs the checks that need it, and no other."""
    checks = small_course.lesson("numbers").script.with_name("checks.py")
    text = checks.read_text(encoding="utf-8")
    text = text.replace("assert double(2) == 4", "assert twice_of(2) == 4")
    text = text.replace("assert triple(2) == 6", "assert thrice_of(2) == 6")
    text += (
        "\n\n# %% learner-side\ndef thrice_of(x):\n    return triple(x)\n"
        "\n\n# %% learner-side\nDOUBLE = double\n\n\ndef twice_of(x):\n    return DOUBLE(x)\n"
    )
    checks.write_text(text, encoding="utf-8")
    file = NUMBERS.replace("def double(x):", "def doubled(x):").replace("double(x) + x", "x * 3")
    result = grade({"numbers": file}, ["numbers"], root=course.open_root(small_course.path))
    assert statuses(result["numbers"]) == ["error", "error", "passed"]
    assert "the lesson does not define double" in result["numbers"].checks[0].message
    assert (result["numbers"].verdict, result["numbers"].points) == ("partly right", 1)


def test_a_name_that_is_gone_is_named(grade):
    got = grade(
        {
            "numbers": NUMBERS.replace("def double(x):", "def doubled(x):").replace(
                "double(x) + x", "x * 3"
            )
        },
        ["numbers"],
    )["numbers"]
    assert (
        statuses(got) == ["error", "error", "passed"]
        and "the lesson does not define double" in got.checks[0].message
    )


def test_hidden_checks_are_marked(grade):
    got = grade({"numbers": NUMBERS, "sums": changed(SUMS, TOTAL, "    return 6\n")})["sums"]
    assert [(check.hidden, check.status, check.message) for check in got.checks] == [
        (False, "passed", ""),
        (True, "failed", "secret"),
    ]


@pytest.mark.slow
def test_the_same_bytes_are_not_graded_twice_and_others_are(small_course, tmp_path):
    inbox = tmp_path / "inbox"
    (inbox / "ada").mkdir(parents=True)
    (inbox / "ada" / "numbers_dev.py").write_text(NUMBERS, encoding="utf-8")
    setting = Setting(small_course.path, ("numbers",), "process")

    def graded(setting, known):
        (arrival,) = collect.find_submissions(inbox, small_course.lessons)
        with SubmissionJudge(setting) as judge:
            return judge.grade(arrival, known)

    (first,) = graded(setting, {})
    known = {"numbers": {first.key}}
    assert graded(setting, known) == [result.Unchanged("numbers", first.key, "ada", first.sha256)]
    for other in (
        Setting(small_course.path, ("numbers",), "process", seconds=9),
        Setting(small_course.path, ("numbers",), "process", earlier_lessons="own"),
        Setting(small_course.path, ("numbers",), "process", memory=2048),
    ):
        assert graded(other, known)[0].points == 5
    (inbox / "ada" / "numbers_dev.py").write_text(NUMBERS + "\n# more\n", encoding="utf-8")
    assert graded(setting, known)[0].key != first.key


def test_a_result_survives_the_way_to_the_gradebook(wrong_double):
    got = wrong_double("both")
    assert pickle.loads(pickle.dumps(got)) == got
    assert result.LessonResult.from_json(got.as_json()) == got


def test_a_class_function_and_callback_are_graded_on_the_far_side(grade, tmp_path):
    root = course.open_root(attacked.make_course(tmp_path / "attacked"))
    got = grade({"vectors": attacked.VECTORS, "sums": attacked.SUMS}, ("vectors", "sums"), root)
    assert [(one.verdict, one.points) for one in got.values()] == [("passed", 13), ("passed", 5)]


@pytest.fixture
def vectors(grade, tmp_path):
    """vectors(old, new): {check name: (status, message)} of the other course's first lesson, right
    but for this.
    """

    def vectors(old, new):
        root = course.open_root(attacked.make_course(tmp_path / "attacked"))
        got = grade({"vectors": attacked.VECTORS.replace(old, new, 1)}, ["vectors"], root)[
            "vectors"
        ]
        return {check.name: (check.status, check.message) for check in got.checks}

    return vectors


def test_code_that_changes_what_it_is_given_fails_though_its_answer_fits(vectors):
    got = vectors(
        "    return x + x\n",
        "    if isinstance(x, np.ndarray):\n        x[...] = 0\n    return x + x\n",
    )
    status, message = got["double works on arrays"]
    assert status == "failed"
    assert "double changes its argument x, [1.5, 3.0, -2.0]: afterwards" in message
    assert got["double of two is four"] == ("passed", "")


def test_an_array_without_numbers_is_not_close_to_one_with_some(vectors):
    got = vectors(
        "    return x + x\n",
        "    return np.empty((0, 1)) if isinstance(x, np.ndarray) else x + x\n",
    )
    assert (
        got["double works on arrays"][0] == "failed" and got["double of two is four"][0] == "passed"
    )


def test_what_the_checks_own_function_finds_wrong_cannot_be_swallowed(vectors):
    got = vectors(
        "    return function(function(x))\n",
        "    try:\n        function(11)\n    except AssertionError:\n        pass\n"
        "    return function(function(x))\n",
    )
    status, message = got["twice calls the function two times"]
    assert status == "failed" and "nobody asked for 11" in message


def test_a_slow_check_has_its_whole_limit_when_another_exercise_ran_out_of_time(grade, monkeypatch):
    monkeypatch.setattr("tito.grading.jail.judge.LEAST", 0.1)
    text = changed(NUMBERS, DOUBLE, "    while True:\n        pass\n")
    wait = "    import time\n    time.sleep(0.6)\n    return 3 * x\n"
    got = grade({"numbers": changed(text, TRIPLE, wait)}, ["numbers"], seconds=1)["numbers"]
    assert statuses(got) == ["timeout", "timeout", "passed"]


@pytest.mark.slow
def test_a_lesson_that_takes_its_time_at_each_check_is_not_waited_for_for_ever(
    grade, tmp_path, monkeypatch
):
    monkeypatch.setattr("tito.grading.jail.judge.BUDGET", 0)
    monkeypatch.setattr("tito.grading.jail.judge.LEAST", 0.3)
    got = grade(
        {
            "numbers": changed(
                NUMBERS, DOUBLE, "    import time\n    time.sleep(1)\n    return x + x\n"
            )
        },
        ["numbers"],
    )["numbers"]
    assert statuses(got) == ["passed", "timeout", "timeout"]  # the first had all of its 20 s


def test_text_is_made_fit_to_keep():
    assert clean("a\0b\ud800c") == "a\\0b\\ud800c"
    assert clean("x" * 5000) == "x" * 4000 + " ... (1000 characters more)"
    clean("\udfff" * 10_000).encode()


@pytest.mark.parametrize(
    "compare",
    [
        lambda: np.float16("inf") == 97222,
        lambda: 1e39 == np.float32("inf"),
        lambda: (np.array([np.inf], "f2") == 97222).all(),
        lambda: np.allclose(np.float16("inf"), 97222),
        lambda: np.isclose(np.array([np.inf, np.inf], "f4"), 1e39).all(),
        lambda: abs(np.int64(-(2**63) + 5) - 5) < 1e-9,
        lambda: abs(np.array(-124, "i1") - 4) < 1e-9,
    ],
    ids=range(7),
)
def test_no_comparison_holds_because_a_number_was_too_large_for_the_type_of_the_other(compare):
    with np.errstate(over="ignore"):
        assert compare()  # as NumPy has it
    with pytest.raises(RuntimeWarning, match="overflow"), overflow_is_an_error():
        compare()
    with overflow_is_an_error(), warnings.catch_warnings(record=True):
        np.exp(np.float64(1000))  # what a check may look at


@pytest.mark.slow
def test_no_visible_check_of_any_lesson_runs_after_a_hidden_one(tmp_path, monkeypatch):
    """A hidden check could start as many threads as its input says: numbers of later processes
    tell. So they come last in a submission.
    """
    folder = attacked.make_course(tmp_path / "course")
    seen, real = [], CheckRunner.run_once

    def noted(self, subject, check, *more):
        seen.append((check.hidden, subject.entry.name))
        return real(self, subject, check, *more)

    monkeypatch.setattr(CheckRunner, "run_once", noted)
    for name, text in {"vectors": attacked.VECTORS, "sums": attacked.SUMS}.items():
        path = tmp_path / "in" / "ada" / f"{name}_dev.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    root = course.open_root(folder)
    (arrival,) = collect.find_submissions(tmp_path / "in", root.lessons)
    with SubmissionJudge(Setting(root.path, ("vectors", "sums"), "process")) as one:
        results = one.grade(arrival, {})
    assert [result.verdict for result in results] == ["passed", "passed"]
    assert all(result.seconds > 0 for result in results)
    assert [hidden for hidden, _ in seen] == sorted(hidden for hidden, _ in seen)
    assert seen[-1] == (True, "vectors") and (False, "sums") in seen


@pytest.mark.slow
def test_a_result_brings_the_text_that_was_graded(numbers, grade):
    assert unpacked(grade({"numbers": NUMBERS})["numbers"].code) == NUMBERS
    assert grade({})["numbers"].code == b""


BY_REFERENCE = """
# %% learner-side
def doubled_with(x, numbers):
    return [double(x) for x, _ in zip([x, x], numbers)]


# %% double hidden points=2
def test_double_of_others():
    given = np.array([1.5, -2.0])
    for x in (3, -0.5, given, [4], given.astype("float32")):
        yield double(x)
    yield {"all": [double(n) for n in given], "given": given}
    yield doubled_with(3, [1])


"""


@pytest.fixture
def by_reference(grade, small_course):
    """by_reference(body): (status, message) of a hidden check that yields, when `double` has it."""
    checks = small_course.lesson("numbers").script.with_name("checks.py")
    text = checks.read_text(encoding="utf-8")
    text = text.replace("# %% triple", BY_REFERENCE.lstrip() + "# %% triple")
    checks.write_text(text, encoding="utf-8")
    root = course.open_root(small_course.path)

    def by_reference(body):
        got = grade({"numbers": changed(NUMBERS, DOUBLE, body)}, ["numbers"], root=root)
        (check,) = (check for check in got["numbers"].checks if check.hidden)
        return check.status, check.message

    return by_reference


@pytest.mark.parametrize(
    "body, words",
    [
        ("    return x * 1.0 + x\n", "result 1, of `yield double(x)`, should be 6, yours is 6.0"),
        ("    return x + x if np.shape(x) or x > 0 else -1.1\n", "should be -1.0, yours is -1.1"),
        ("    return np.add(x, x) if type(x) is list else x + x\n", "result 4, of `yield"),
        ("    return x + x if type(x) is not np.ndarray else x * 2.0001\n", "[3.0, -4.0], yours"),
        (
            "    return np.ones((2, 1)) * 2 if np.shape(x) else x + x\n",
            "should be float64 of shape (2,), yours is",
        ),
        ("    return np.float64(x) * 2 if np.shape(x) == (2,) else x + x\n", "float32 of shape"),
        ("    return x\n", "should be 6, yours is 3"),
        (
            "    class Tensor:\n        requires_grad = False\n"
            "        __array__ = lambda *_, **__: x + x\n"
            "    return Tensor() if np.shape(x) == (2,) else x + x\n",
            "should be an array, yours is a Tensor",
        ),
        ("    raise ValueError('no')\n", "no"),
    ],
)
def test_a_hidden_check_that_yields_is_compared_with_the_courses_lesson(by_reference, body, words):
    status, message = by_reference(body)
    assert status in ("failed", "error") and words in message


def test_right_work_in_another_style_passes_a_check_by_reference(by_reference):
    rounded = "    return x + x if type(x) in (int, list) else (x * 3 - x) * (1 + 1e-9)\n"
    assert by_reference(rounded) == ("passed", "")


def test_neither_answers_nor_ends_of_a_learner_replace_those_of_the_course(by_reference):
    equal = "    class Equal:\n        __eq__ = lambda *x: True\n        __len__ = lambda x: 1\n"
    equal += "        shape, dtype, data = (2,), 'float64', 0\n    return Equal()\n"
    assert by_reference(equal)[0] != "passed"
    assert by_reference("    raise StopIteration\n")[0] != "passed"
    assert by_reference("    raise SystemExit\n")[0] != "passed"


def test_a_hidden_check_that_yields_fails_on_the_stub(by_reference):
    assert by_reference("    raise NotImplementedError\n")[0] != "passed"


def test_numbers_that_are_put_back_are_no_change_as_in_tito_test():
    assert jailed_server.same([300.5, "a"], [float("300.5"), "a"])
    assert not jailed_server.same([300.5], [300.25]) and not jailed_server.same([[]], [[]])
    assert jailed_server.same({"n": 300.5}, {"n": float("300.5")})
