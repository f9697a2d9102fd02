"""tito/learn/review.py, questions.py and observe.py: questions about a learner's own code."""

import json
import os
import sys
import time
from collections import Counter
from datetime import datetime, timedelta

import commands
import pexpect
import pytest
from bs4 import BeautifulSoup
from small_course import edit, solve, verdict_on

from tito.errors import WorkError
from tito.learn import lesson_page, observe, progress, review
from tito.learn.questions import Code, Question, alike, core
from tito.lesson import cells

SCALED = """\
    factor = 2
    if factor == 2:
        twice = factor * x
    else:
        twice = x
    return twice
"""


@pytest.fixture
def entry(small_workspace):
    entry = small_workspace.lesson("numbers")
    solve(entry)
    edit(entry, "    twice = x + x\n    return twice\n", SCALED)
    return entry


def double(entry):
    return entry.declared.exercise("double")


def set_day(monkeypatch, days):
    """Let today be so many days later."""

    class Clock(datetime):
        @classmethod
        def now(cls, zone=None):
            return datetime.now(zone) + timedelta(days)

    monkeypatch.setattr(review, "datetime", Clock)
    monkeypatch.setattr(progress, "datetime", Clock)


def card(entry, exercise="numbers-double"):
    return progress.record_of(entry)["reviews"][exercise]


def test_every_answer_is_what_the_changed_code_does(entry):
    questions = [*review.questions(entry, double(entry))]
    assert {question.kind for question in questions} >= {"changed", "missing"}
    for question in questions:
        assert len(set(question.options)) == len(question.options)
        assert question.answer in question.options or not question.options
        assert question.exercise == "numbers-double"
        if question.kind == "changed":
            space = {}
            exec(question.cell, space)
            assert question.answer == observe.value_text(eval(question.run, space))


def test_only_lines_that_the_learner_wrote_are_changed(entry):
    source = cells.read(entry.script)
    cell = source.cell("double")
    code = Code(double(entry), cell)
    own = {code.lines[line - 1].strip() for line in code.own}
    assert "factor = 2" in own
    assert not own & {"def double(x):", '"""Twice `x`.'}
    for version in code.versions():
        rows = version.cell.split("\n")
        assert len(rows) == len(code.lines)
        changed = [n for n, (a, b) in enumerate(zip(code.lines, rows), 1) if a != b]
        assert code.firsts[changed[0]] == version.line in code.own


def test_changes_are_plausible_and_every_line_comes_before_one_comes_twice(entry):
    lines = ["if x - 1 > 0:", "    print(x)", "elif x > -1:", "    x = abs(-x)"]
    edit(entry, "    factor = 2\n", "".join(f"    {line}\n" for line in lines) + "    factor = 2\n")
    code = Code(double(entry), cells.read(entry.script).cell("double"))
    versions = code.versions()
    texts = {version.text for version in versions}
    assert "elif x >= -1:" in texts and "elif x > -2:" in texts
    assert not texts & {"x", "if x - x > 0:", "elif x > -0:", "if x - 1 > -0:"}
    assert code.versions(3) == versions[:3]
    changed = [version.line for version in versions]
    assert len({*changed[: len({*changed})]}) >= len({*changed}) - 1


def test_lines_below_a_change_of_a_long_statement_keep_their_numbers(entry):
    edit(
        entry,
        "        twice = factor * x\n",
        "        twice = max(\n            x + x, 2 * x\n        )\n",
    )
    code = Code(double(entry), cells.read(entry.script).cell("double"))
    versions = [v for v in code.versions() if "max" in code.old(v.line)]
    assert versions
    for version in versions:
        assert version.cell.split("\n")[-1] == code.lines[-1]
        assert len(version.cell.split("\n")) == len(code.lines)


@pytest.mark.parametrize(
    ("line", "asks"),
    [
        ("while True: pass", False),
        ("import random; x += random.random()", False),
        ("raise SystemExit", False),
        ("import time; time.sleep(30)", False),
        ("print('x' * 1_000_000)", True),
        ("def inner(ä): return ä", True),
    ],
)
def test_code_that_cannot_be_asked_about_is_left_alone(entry, line, asks, monkeypatch):
    monkeypatch.setattr(review, "SECONDS", 0.3)
    edit(entry, "    factor = 2\n", f"    {line}\n    factor = 2\n")
    if asks:
        assert next(review.questions(entry, double(entry)))
    else:
        with pytest.raises(WorkError):
            next(review.questions(entry, double(entry)))


def test_random_results_and_fresh_memory_are_no_answers():
    def unlimited(seconds):
        import contextlib

        return contextlib.nullcontext()

    def value(text, **names):
        import numpy as np

        return observe.run_example({"np": np} | names, text, 7, unlimited)

    empty = observe.np.empty, observe.np.empty_like
    try:
        assert value("1 + 1") == "2"
        assert value("np.random.rand() > 2, np.random.rand()") is None
        assert value("np.empty(3)") is None
        assert value("1 / 0") is None
        assert value("x = {'loss': np.float32(0.5)}\nx") == "{'loss': 0.5}"
    finally:
        observe.np.empty, observe.np.empty_like = empty


def test_nothing_is_asked_about_code_that_is_unwritten_or_given(small_workspace):
    entry = small_workspace.lesson("numbers")
    with pytest.raises(WorkError):
        next(review.questions(entry, double(entry)))
    solve(entry)
    edit(entry, '# %% exercise="double"', '# %% given="double"')
    with pytest.raises(WorkError, match="not your code"):
        next(review.questions(entry, double(entry)))


def test_an_exercise_is_due_the_day_after_it_passed(entry, monkeypatch):
    assert review.due(entry.root) == []
    assert verdict_on(entry).passed
    assert review.due(entry.root) == []
    set_day(monkeypatch, 1)
    names = [exercise.id for _, exercise in review.due(entry.root)]
    assert names == ["numbers-double", "numbers-triple"]
    edit(entry, "factor = 2", "factor = 1 + 1")
    assert [e.id for _, e in review.due(entry.root)] == ["numbers-triple"]  # tested first
    verdict_on(entry)
    assert len(review.due(entry.root)) == 2


def test_a_right_answer_comes_back_later_than_a_wrong_one(entry, monkeypatch):
    verdict_on(entry)
    days = {}
    for letter, day in (("right", 1), ("?", 1)):
        set_day(monkeypatch, day)
        asked = review.ask(entry, double(entry))
        question = asked.question
        typed = "abcd"[question.options.index(question.answer)] if letter == "right" else "?"
        answer = asked.answer(typed)
        assert answer.is_right == (letter == "right")
        assert any(step.value != step.other for step in answer.steps)
        days[letter] = answer.days
    assert days["right"] > days["?"] == 1
    assert card(entry)["asked"][0] != card(entry)["asked"][1]
    assert double(entry).id not in [e.id for _, e in review.due(entry.root)]


def test_a_clock_that_was_set_back_makes_questions_due(entry, monkeypatch):
    set_day(monkeypatch, 1000)
    verdict_on(entry)
    asked = review.ask(entry, double(entry))
    assert asked.answer("?").days == 1
    set_day(monkeypatch, 0)
    assert double(entry) in [exercise for _, exercise in review.due(entry.root)]
    assert review.ask(entry, double(entry)).answer("?").days == 1
    assert double(entry) not in [exercise for _, exercise in review.due(entry.root)]


def test_code_without_a_question_is_not_due_every_day(entry, monkeypatch):
    verdict_on(entry)
    set_day(monkeypatch, 1)
    monkeypatch.setattr(review, "questions", lambda *words: [])
    assert review.ask(entry, double(entry)) is None
    assert double(entry) not in [exercise for _, exercise in review.due(entry.root)]


def test_a_damaged_card_begins_anew(entry):
    verdict_on(entry)
    with progress.change(entry.root, entry.name) as record:
        record["reviews"]["numbers-double"]["card"] = {"state": "?"}
    assert review.ask(entry, double(entry)).answer("?").days == 1


def test_two_terminals_count_one_answer(entry):
    verdict_on(entry)
    first, second = (review.ask(entry, double(entry)) for _ in range(2))
    assert first.answer("?").days == 1
    assert second.answer("?").days is None
    assert len(card(entry)["asked"]) == 1


def test_an_edit_between_question_and_answer_asks_again(entry):
    verdict_on(entry)
    asked = review.ask(entry, double(entry))
    edit(entry, "factor = 2", "factor = 1 + 1")
    with pytest.raises(review.Edited):
        asked.answer("a")
    assert "card" not in card(entry)


def test_the_checks_judge_a_typed_line(entry):
    verdict_on(entry)
    found = [q for q in review.questions(entry, double(entry)) if q.kind == "missing"]
    question = next(q for q in found if q.answer == "twice = factor * x")
    cell = cells.read(entry.script).cell("double")
    path = entry.relative(entry.script)

    def answer(typed):
        card = progress.record_of(entry)["reviews"]["numbers-double"]
        return review.Asked(entry, double(entry), question, path, cell, card).answer(typed)

    assert answer("twice = x + x").is_right
    wrong = answer("twice = x")
    assert not wrong.is_right
    assert "double(2) should be 4, yours is 2" in wrong.said
    assert ("2" in [step.other for step in wrong.steps]) and wrong.days == 1
    assert not answer("?").is_right
    assert not answer("raise SystemExit").is_right
    assert not answer("while True: pass").is_right


def test_cards_survive_reset_and_wait_until_the_code_passes_again(entry, monkeypatch):
    verdict_on(entry)
    set_day(monkeypatch, 1)
    before = card(entry)
    commands.tito(entry.root, "reset", "numbers-double")
    assert card(entry) == before
    assert double(entry) not in [exercise for _, exercise in review.due(entry.root)]


def test_four_weeks_of_a_learner_who_is_right_about_one_exercise_only(entry, monkeypatch):
    """A right answer comes back after more days each time, a wrong one the next day. What is not
    written is not asked about; `reset` and `update` lose no card.
    """
    question = Question("numbers-double", "missing", "?", "twice = x", ((1, "?"),))
    monkeypatch.setattr(review, "questions", lambda *words: iter([question]))
    verdict_on(entry)
    asked = {"double": [], "triple": []}
    for day in range(1, 29):
        set_day(monkeypatch, day)
        if day == 15:
            commands.tito(entry.root, "reset", "numbers-triple")
            commands.tito(entry.root, "update", entry.root.reference.path)
        if day == 20:
            solve(entry, "triple")
            verdict_on(entry)
        for one in review.session(review.due(entry.root)):
            asked[one.exercise.name].append(day)
            one.record(is_right=one.exercise.name == "double")
    assert asked["triple"] == [*range(1, 15), *range(20, 29)]
    assert asked["double"] == [1, 3, 14]
    assert card(entry)["due"] == (datetime.now() + timedelta(14 + 46)).date().isoformat()


def test_the_lessons_page_ends_with_the_questions_about_code_that_is_the_same(entry):
    evil = "<script>alert(1)</script>"
    question = Question("numbers-double", "changed", evil, "b", ((1, evil),), 1, ("a", "b"))
    verdict_on(entry)
    cell = cells.read(entry.script).cell("double")
    review.Asked(entry, double(entry), question, "x.py", cell, card(entry)).record(is_right=True)

    def box():
        page = lesson_page.write(entry).read_text(encoding="utf-8")
        return BeautifulSoup(page, "html.parser").select_one("#check-yourself")

    assert box().text.count(evil) == 2 and not box().select("script")
    assert box().select_one("details pre").text == "b"
    edit(entry, "factor = 2", "factor = 1 + 1")
    verdict_on(entry)
    assert box() is None


def test_a_damaged_card_sets_the_record_aside(entry):
    verdict_on(entry)
    path = entry.root.state / "progress.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    data["lessons"]["numbers"]["reviews"]["numbers-double"] = {"due": 3}
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.warns(match="damaged"):
        assert review.due(entry.root) == []


def test_the_line_about_due_questions_comes_once_a_day(entry, monkeypatch):
    verdict_on(entry)
    assert "are due" not in commands.tito(entry.root, "status")[0]
    set_day(monkeypatch, 1)
    line = "2 questions about your code are due: tito review, about 1 minute"
    assert line in commands.tito(entry.root, "status")[0]
    assert "are due" not in commands.tito(entry.root, "test", "numbers")[0]
    set_day(monkeypatch, 2)
    assert "are due" not in commands.tito(entry.root, "test", "numbers", "--json")[0]
    assert line in commands.tito(entry.root, "test", "numbers")[0]


def test_without_a_terminal_questions_are_listed_and_nothing_is_recorded(entry):
    verdict_on(entry)
    before = card(entry)
    out, _ = commands.tito(entry.root, "review", "numbers")
    assert out.count("numbers-double") == 1 and "Answers\n1. " in out
    rows = json.loads(commands.tito(entry.root, "review", "numbers-double", "--json")[0])
    assert rows[0].keys() >= {"kind", "text", "code", "options", "answer", "key"}
    assert card(entry) == before
    assert "No question is due" in commands.tito(entry.root, "review")[0]
    edit(entry, "factor = 2", "factor = 3")
    assert (
        "No questions about numbers-double"
        in commands.tito(entry.root, "review", "numbers-double")[0]
    )


def test_kinds_take_turns(entry):
    kinds = Counter()
    for _ in range(2):
        review.ask(entry, double(entry), kinds)
    assert max(kinds.values()) == 1


def test_texts_that_look_the_same_are_one_answer():
    assert alike("[1, 2.001]", "[1, 2]")
    assert not alike("[1, 2]", "[1, 3]")
    assert core("f(2) should be 4, yours is 2: did you square?") == "f(2) should be 4, yours is 2"
    typed = Question("e", "shape", "?", "(2, 3)", ())
    assert typed.is_right("2,3") and typed.is_right("(2, 3)") and not typed.is_right("(3, 2)")


def in_terminal(entry, *words):
    return pexpect.spawn(
        sys.executable,
        ["-m", "tito", *words],
        cwd=entry.root.path,
        encoding="utf-8",
        timeout=60,
        dimensions=(40, 60),
        env=os.environ | {"TERM": "xterm-256color", "DISPLAY": "", "WAYLAND_DISPLAY": ""},
    )


def test_a_question_is_asked_answered_and_shown_in_a_narrow_terminal(entry):
    verdict_on(entry)
    terminal = in_terminal(entry, "review", "numbers-double")
    terminal.expect("numbers-double")
    terminal.expect(r"q: end\): ")
    terminal.sendline("z")  # no answer: it asks again
    terminal.expect(r"q: end\): ")
    terminal.sendline("?")
    terminal.expect("The answer: ")
    terminal.expect("your code")
    terminal.expect("comes.*tomorrow")
    terminal.expect(r"q: end\): ")
    terminal.sendline("o")
    terminal.expect("No browser opens here")
    terminal.expect(r"q: end\): ")
    terminal.sendline("")
    terminal.expect(pexpect.EOF)
    assert card(entry)["card"]


def test_watch_offers_a_question_when_the_lesson_has_passed(entry):
    terminal = in_terminal(entry, "watch", "numbers")
    terminal.expect("r a question about your code")
    time.sleep(0.5)
    terminal.send("r")
    terminal.expect(r"\? shows it\) ")
    terminal.send("?\r")
    terminal.expect("The answer: ")
    terminal.expect("tomorrow")
    time.sleep(0.5)
    terminal.send("q")
    terminal.expect(pexpect.EOF)
