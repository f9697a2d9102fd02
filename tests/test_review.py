"""The questions that `tito review` makes of every exercise's solution, and of the recorded right
solutions in another style: enough of them, and each with one right answer.

The suite tries the first exercise of each lesson that changed since it passed, and of two others.
All of them are tried by hand, in about half an hour: `TITO_EVERY_LESSON=1 TITO_EVERY_EXERCISE=1
bin/test --all -s -k questions_about` prints a table: exercise, questions of each kind, seconds.
"""

import os
from collections import Counter
from pathlib import Path

import pytest
from unchanged import lessons_to_run

from tito.author.scratch import ScratchRoots
from tito.learn import review
from tito.learn.process import Process
from tito.learn.questions import Question, alike
from tito.lesson import course
from tito.lesson.mistakes import load as load_recorded

ROOT = course.open_root(Path(__file__).resolve().parents[1])
LESSONS = [entry.name for entry in lessons_to_run(ROOT.lessons) if entry.declared.exercises]
ENOUGH = 3  # questions about an exercise
SHARE = 0.97  # of the exercises have as many
UNSURE = 0.05  # of the questions at most are not confirmed by another process, so not asked
FEW = {  # the others: one statement with too little to change, long numbers, or few messages
    "autograd-no-grad",
    "backprop-by-hand",
    "data-tensor-dataset",
    "tokenization-characters",
    "tokenization-to-bytes",
    "tokenization-from-bytes",
    "differentiation-hessian",
    "quantization-size",
}
TIMED = {"profiling-seconds"}  # reads a clock, so two runs of a changed version may differ


def test_nearly_every_exercise_has_three_questions():
    exercises = [e.id for entry in ROOT.lessons for e in entry.declared.exercises]
    assert set(exercises) >= FEW
    assert len(FEW) <= (1 - SHARE) * len(exercises)


@pytest.mark.slow
@pytest.mark.fresh
@pytest.mark.parametrize("name", LESSONS)
def test_questions_about_right_code_have_one_right_answer(name):
    declared, problems, unsure, total = ROOT.lesson(name), [], [], 0
    lesson = declared.declared
    exercises = lesson.exercises[: None if "TITO_EVERY_EXERCISE" in os.environ else 1]
    texts = [("the course's", exercise.id, lesson.source.text) for exercise in exercises]
    rights = load_recorded(lesson, [exercise.id for exercise in exercises]).rights
    texts += [(right.name, right.exercise, right.apply(lesson)) for right in rights]
    with ScratchRoots(declared, 1, lambda: None) as scratch:
        for style, id, text in texts:
            with scratch.borrow(text) as (entry, _):
                exercise = entry.declared.exercise(id)
                began = cpu_seconds()
                with Process() as process:
                    results = review.Work(entry, exercise, process).results(review.FILLS[0])
                seconds, first = cpu_seconds() - began, results.questions()
                versions = [version for version, _ in results.ran]
                with Process() as process:
                    work = review.Work(entry, exercise, process)
                    work.quick, work.code.examples = [*results.before.checks], results.code.examples
                    second = work.results(review.FILLS[1], versions=versions).questions()
                kinds = Counter(question.kind for question in first)
                print(f"{id:32} {style[:24]:24} {len(first):3} {seconds:4.1f} s  {dict(kinds)}")
                sure = [one for one in first if one in second or id in TIMED]
                unsure += [(id, style, one.text) for one in first if one not in sure]
                total += len(first)
                if len(sure) < ENOUGH and id not in FEW and style == "the course's":
                    problems.append(f"{id} has {len(sure)} questions")
                problems += wrong_options(entry, exercise, sure)
    assert not problems, "\n\n".join(problems)
    assert len(unsure) <= UNSURE * total, f"another process disagrees with {unsure}"


def cpu_seconds() -> float:
    """The processor time of this process and of those that it has started and that have ended."""
    return sum(os.times()[:4])


def wrong_options(entry, exercise, questions: list[Question]) -> list[str]:
    """The questions with two right answers, or none among the options."""
    problems = []
    with Process() as process:
        work = review.Work(entry, exercise, process)
        for question in questions:
            options = question.options or (question.answer,)
            right = [option for option in options if alike(option, question.answer)]
            if question.kind == "missing":
                line = question.mark - work.cell.line + 1
                ran = {o: work.ran(work.code.with_line(line, o), 7) for o in options}
                right = [option for option in options if ran[option] and not ran[option].failed]
            if right != [question.answer]:
                problems.append(f"{question.exercise}: right are {right}: {question.text}")
    return problems
