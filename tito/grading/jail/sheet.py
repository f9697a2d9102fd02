"""A sheet of questions on a learner's own code, for a conversation of a few minutes.

A submission is hostile. So here, as in a grading run, its code runs only in forks of the jail, and
the judge runs the course's visible checks and the examples of the course's docstrings: on the code
as it is, and on small changes of one line. `learn/questions.py` makes the questions from what the
judge saw. Nothing is scored: a submission that notices the changes can only spoil its own sheet.
"""

import ast
import contextlib
import functools
import marshal
import time
from collections import Counter
from dataclasses import dataclass, replace
from types import CodeType

from tito.errors import TitoError, WorkError
from tito.grading.jail import proxy
from tito.grading.jail.check_namespace import START, TO_THE_END, Prepared, standing_in
from tito.grading.jail.jail import JailFailed
from tito.grading.jail.jailed_check import (
    Subject,
    excused_seconds,
    interrupted_after,
    overflow_is_an_error,
)
from tito.grading.jail.judge import MOST_LATE, Judge, SubmittedCode
from tito.grading.setting import GRACE
from tito.learn.observe import value_text
from tito.learn.questions import KINDS, Code, Question, Ran, Results, Version, with_cell
from tito.lesson import cells, export
from tito.lesson.checks import IMPORTS
from tito.lesson.course import Entry
from tito.lesson.lesson_format import Exercise
from tito.lesson.statements import statements_of

MOST, MOST_OF_KIND = 5, 2  # questions on a sheet, and of a kind if there are others
VERSIONS = 14  # of an exercise that are tried
SECONDS = 2.0  # a check or an example may take
BUDGET = 60  # seconds that all of them may take
ROWS, LETTERS, TEXT = 60, 200, 1200  # of a question: lines of code, letters of a line, of the rest
NO_RESULT = ("timeout", "memory", "crashed", "tampered", "not run")
FIRST = ("changed", "blame", "missing")  # kinds, in turns; then others
NOTHING = "No exercise passes its visible checks and has a line that a question can be asked about."


@dataclass(frozen=True)
class Sheet:
    """The questions about one submission, in the order of the file; or why there are none."""

    questions: tuple[Question, ...] = ()
    problem: str = ""


def make_sheet(
    judge: Judge, work: SubmittedCode, entry: Entry, source: cells.Source | None
) -> Sheet:
    """The sheet of a learner's lesson. source: its cells, if it could be read."""
    if nothing := judge.why_no_code(entry, work):
        return Sheet(problem=nothing[1])
    assert source
    try:
        return Examiner(judge, work, entry, source).sheet()
    except TitoError as error:
        return Sheet(problem=error.what)
    except (JailFailed, ValueError, SyntaxError, RecursionError, MemoryError) as error:
        return Sheet(problem=f"The code cannot be run with changes ({type(error).__name__}).")


class Examiner:
    """Runs versions of one submitted lesson.

    ours     the lower lessons that are the course's, with solutions
    subject  the lesson, to run checks on
    module   its module, of which cells are replaced
    kept     the lines of its statements that do not stop
    kinds    how many questions of a kind are chosen
    """

    def __init__(
        self, judge: Judge, work: SubmittedCode, entry: Entry, source: cells.Source
    ) -> None:
        self.judge, self.entry, self.source = judge, entry, source
        self.until, self.kinds = time.monotonic() + BUDGET, Counter[str]()
        self.seconds = min(SECONDS, judge.setting.seconds)
        self.ours = judge.replaced(entry, work)
        self.subject = judge.subject(entry, work, self.ours, hidden=False)
        relative = entry.relative(entry.script)
        self.module = export.build(source, entry.declared, relative, entry.root.package)
        self.kept = {line for _, line, _, _ in self.subject.code.statements}

    def sheet(self) -> Sheet:
        """One question about each of the longest exercises; if these are few, a second one."""
        found: list[list[Question]] = []
        for number, exercise in enumerate(longest_first(self.entry)):
            if len(found) < MOST and (questions := self.questions(exercise, number)):
                found.append(questions)
        chosen = [questions[0] for questions in found]
        chosen += [one for questions in found for one in questions[1:]]
        rows = sorted(chosen[:MOST], key=lambda question: question.code[0][0])
        return Sheet(tuple(rows), "" if rows else NOTHING)

    def questions(self, exercise: Exercise, number: int) -> list[Question]:
        """At most two questions about an exercise. Which ones depends on its code and number, so
        that everyone who wrote the same is asked the same; but no third one of a kind, if others
        exist.
        """
        cell = self.source.cell(exercise.name)
        if not cell or cell.exercise != exercise.name or not cells.tree_or_none(cell.source):
            return []
        code = Code(exercise, cell, is_trusted=False)
        before = self.ran(code, cell.source)
        if not before or before.failed:
            return []
        ran, lost = list[tuple[Version, Ran]](), set[int]()  # lines of changes that do not end
        for version in code.versions(VERSIONS):
            if version.line in lost or len(lost) == MOST_LATE:
                continue
            if after := self.ran(code, version.cell):
                ran.append((version, after))
            else:
                lost.add(version.line)
        known = {version.cell: after for version, after in ran} | {"": before}
        found = [one for one in Results(code, before, ran).questions() if is_printable(one)]
        if self.ours:  # the code runs beside solutions, and could put them into a message
            found = [replace(one, reasons=()) for one in found if one.kind == "missing"]
        turn = number % len(FIRST)
        order = (*FIRST[turn:], *FIRST[:turn], *KINDS)
        found.sort(key=lambda one: (self.kinds[one.kind] >= MOST_OF_KIND, order.index(one.kind)))
        chosen: list[Question] = []
        for one in found:
            is_other = not chosen or chosen[0].kind != one.kind and chosen[0].mark != one.mark
            # The other question would show the line that is missing.
            is_other &= not chosen or "missing" not in (one.kind, chosen[0].kind)
            if len(chosen) < 2 and is_other:
                if self.ran(code, one.cell or cell.source) == known[one.cell]:
                    chosen.append(one)
        self.kinds.update(one.kind for one in chosen[:1])
        return chosen

    def ran(self, code: Code, text: str) -> Ran | None:
        """What the checks and examples do with another text of an exercise's cell; None when a
        check does not come to its end. Raises WorkError after BUDGET.
        """
        name = self.subject.module
        rows = statements_of(with_cell(self.module, code.cell, text), name)
        statements = marshal.dumps([row for row in rows if row[1] in self.kept])
        subject = replace(self.subject, modules={**self.subject.modules, name: statements})
        outcomes = {}
        for check in code.exercise.checks:
            if time.monotonic() > self.until:
                raise WorkError(f"The code with its changes runs for more than {BUDGET} s.")
            if check.hidden:
                continue
            status, message, _ = self.judge.runner.run(subject, check, self.seconds)
            if status in NO_RESULT:
                return None
            outcomes[check.id] = status, " ".join(message.split())
        return Ran(outcomes, tuple(self.value(subject, program) for program in code.examples))

    def value(self, subject: Subject, program: str) -> str | None:
        """The value of an example of the course's, run on the learner's names, as a short text."""
        runner, tree = self.judge.runner, ast.parse(program)
        last, fork = tree.body.pop(), runner.fork()
        assert isinstance(last, ast.Expr)
        excused = excused_seconds(fork, self.seconds)
        session = proxy.Session(fork.sock, time.monotonic() + self.seconds, excused)
        names = Prepared.of(self.entry).exported
        try:
            with (
                standing_in(session, self.entry.root.package, self.entry),
                overflow_is_an_error(),
                interrupted_after(self.seconds + GRACE, excused),
            ):
                space = TO_THE_END | {"__name__": "example"}
                for code in imports_of(self.entry):
                    with contextlib.suppress(ImportError):
                        exec(code, space)
                space |= session.do(
                    "load", subject.modules, subject.module, names, names, START, []
                )
                exec(compile(tree, "<example>", "exec"), space)
                value = eval(compile(ast.Expression(last.value), "<example>", "eval"), space)
                text = value_text(value)
                return text if type(text) is str and len(text) <= LETTERS else None
        except (proxy.Stop, Exception):
            return None
        finally:
            runner.end(fork, died=False)


def longest_first(entry: Entry) -> list[Exercise]:
    """The exercises of a lesson, those with the longest solutions first."""
    return sorted(entry.declared.exercises, key=lambda one: len(one.stub) - len(one.cell.source))


def is_printable(question: Question) -> bool:
    """Whether a question has options or asks for a line, and fits on a page."""
    texts = [question.text, question.answer, *question.options, *question.reasons]
    is_short = all(len(row) <= LETTERS for _, row in question.code)
    is_short &= len(question.code) <= ROWS and sum(map(len, texts)) <= TEXT
    return is_short and (len(question.options) > 1 or question.kind == "missing")


@functools.cache
def imports_of(entry: Entry) -> list[CodeType]:
    """The imports of the course's own chapter, compiled."""
    trees = [cells.tree_of(cell.source) for cell in entry.declared.source.exported]
    nodes = [node for tree in trees for node in tree.body if isinstance(node, IMPORTS)]
    return [compile(ast.Module([node], []), "<imports>", "exec") for node in nodes]
