"""The parts of a lesson: exercises, checks, questions and hints, and the version for learners.

    tensor_dev.py           the chapter: prose, exercises with solutions, demonstrations
                            and the questions that a person judges
    lesson.toml             title, summary, what it needs, the terms it introduces
    checks.py               the checks, in sections: `# %% setup`, `# %% strides points=4`,
                            `# %% strides polish points=0` (error texts, corner cases),
                            `# %% strides hidden points=2`, `# %% learner-side`
    hints.md                `## strides`, then a numbered list, gentlest first; a hint that belongs
                            to a check begins `When "the name of the check" fails: `
    mistakes.py             see `tito/lesson/mistakes.py`

`parse.py` reads a Lesson from these files. A learner's file is read with `cells.read`, which
accepts every file that is not damaged.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any

from tito.errors import UsageError
from tito.lesson import cells, given_lines
from tito.lesson.checks import (
    HIDDEN,
    LEARNER_SIDE,
    SETUP,
    Statements,
    needed_by_visible,
    without_others,
)
from tito.lesson.outcome import UNWRITTEN

FOLDER = re.compile(r"(\d+)_([a-z][a-z0-9_]*)")
FACTS = "lesson.toml"
CHECKS, HINTS, MISTAKES = "checks.py", "hints.md", "mistakes.py"
DRAWINGS = "drawings.json"  # what `python book/drawings` computed for the lesson's pages
SOLUTIONS = "solutions.py"  # beside the pristine lesson of a release that was made with them
MARK = re.compile(r"^\s*### (BEGIN|END) SOLUTION\s*$")
ANSWER = "**Your answer:**"  # the line of a question's cell below which learners write
NBGRADER_STUB = "YOUR ANSWER HERE"  # what nbgrader puts there for learners
LONGEST_ANSWER = 20_000  # characters that are collected; a longer answer is cut, and marked as cut
ITEM = re.compile(r"- (-?\d{1,4}(?:\.\d+)?) points?: (\S.*)")  # of a rubric, in a sample answer
HINT_OF_CHECK = re.compile(r'When "([^"]+)"\s+fails:\s+')  # the beginning of a check's hint
HEADING = re.compile(r"^## (.*)", re.M)
STUCK = "Stuck? `tito hint {lesson}-{exercise}`"


@dataclass(frozen=True)
class Check:
    """One unit test of an exercise.

    id        "check-strides.test_...", or
              "check-strides-hidden.test_..."; never changes once released
    function  its name
    exercise  the id of its exercise
    cell      the section of checks.py that it is in
    hidden    whether it never leaves the course
    """

    id: str
    function: str
    exercise: str
    points: int
    cell: cells.Cell
    hidden: bool = False

    @property
    def name(self) -> str:
        """The function's name without `test_`, as words."""
        return self.function.removeprefix("test_").replace("_", " ")


@dataclass(frozen=True)
class Exercise:
    """One cell for the learner to fill in, with its hints (gentlest first) and its checks.

    id    "tensor-strides", by which everything outside the chapter knows it
    name  "strides", by which the chapter and the files beside it do
    stub  its code as learners get it
    """

    id: str
    name: str
    cell: cells.Cell
    stub: str
    hints: tuple[str, ...]
    checks: tuple[Check, ...]

    @property
    def points(self) -> int:
        return sum(check.points for check in self.checks)

    @property
    def title(self) -> str:
        """The words on its cell's `# %%` line: "The key-value cache"; or else its name's."""
        return titled(self.cell, self.name)


@dataclass(frozen=True)
class Question:
    """A text cell that the learner fills in, and a person judges.

    name    "why-softmax"; no exercise of the lesson has it
    points  that a person may give for it, 0 or more
    text    the question, as Markdown
    sample  an answer that earns all of them, which learners do not get; "" in a release
    rubric  (points, text) of each item at the end of the sample answer; points may be negative
    """

    name: str
    points: int
    text: str
    cell: cells.Cell
    sample: str = ""
    rubric: tuple[tuple[Decimal, str], ...] = ()

    @property
    def answer(self) -> str:
        """The sample answer without its rubric."""
        lines = takewhile(lambda line: not ITEM.fullmatch(line.rstrip()), self.sample.split("\n"))
        return "\n".join(lines).strip()


@dataclass(frozen=True, eq=False)
class Lesson:
    """A lesson of the course.

    source       the chapter's cells
    checks_source  the cells of checks.py
    hints_text   the text of hints.md, "" without one
    meta         what its lesson.toml says
    module       where it is exported to: "core.tensor"
    setup, learner_side  these sections of checks.py
    """

    number: int
    name: str
    source: cells.Source
    checks_source: cells.Source
    hints_text: str
    meta: dict[str, Any]
    module: str
    exercises: tuple[Exercise, ...]
    questions: tuple[Question, ...]
    setup: tuple[cells.Cell, ...]
    learner_side: tuple[cells.Cell, ...]

    @property
    def title(self) -> str:
        return self.meta["title"]

    @property
    def summary(self) -> str:
        return self.meta["summary"]

    @property
    def prerequisites(self) -> list[str]:
        return self.meta["prerequisites"]

    @cached_property
    def given(self) -> list[tuple[str, str, str]]:
        """(id, title, section) of each exercise that a learner need not write."""
        given, section = list[tuple[str, str, str]](), ""
        for cell in self.source.cells:
            if cell.kind == "markdown" and (match := HEADING.search(cell.source)):
                section = match[1].strip()
            if cell.given:
                given.append((f"{self.name}-{cell.given}", titled(cell, cell.given), section))
        return given

    def is_given(self, name: str) -> bool:
        """Whether the exercise of that name is given."""
        return any(id == f"{self.name}-{name}" for id, *_ in self.given)

    def task(self, key: str) -> str:
        """The name of the exercise or question with that id or name, or ""."""
        return next((name for name in self.tasks if key in (name, f"{self.name}-{name}")), "")

    @property
    def tasks(self) -> list[str]:
        """The names of its exercises, also the given ones, and of its questions."""
        tasks = [cell.task or cell.given for cell in self.source.cells]
        return [name for name in tasks if name]

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """The checks of all exercises."""
        return tuple(check for exercise in self.exercises for check in exercise.checks)

    @cached_property
    def points(self) -> int:
        """What the checks can earn. A person gives the points of the questions."""
        return sum(check.points for check in self.checks)

    def duration(self, hours: float | None = None) -> str:
        """Its hours, or others, in words: in halves, and below one hour in tens of minutes."""
        hours = self.meta["hours"] if hours is None else hours
        if round(6 * hours) < 6:
            return f"{10 * round(6 * hours)} minutes"
        return f"{round(2 * hours) / 2:g} hour{'s' * (round(2 * hours) != 2)}"

    @property
    def own_hours(self) -> float:
        """The part of its hours that the exercises to write take, by their number."""
        written = len(self.exercises)
        return float(self.meta["hours"]) * written / (written + len(self.given) or 1)

    @property
    def path(self) -> Path:
        return self.source.path

    @property
    def folder(self) -> str:
        return self.path.parent.name

    @property
    def most(self) -> int:
        """All points of the lesson: of its checks and its questions."""
        return self.points + sum(question.points for question in self.questions)

    def exercise(self, key: str) -> Exercise:
        """The exercise with that id or name. Raises TitoError naming the others."""
        for exercise in self.exercises:
            if key in (exercise.id, exercise.name):
                return exercise
        if self.is_given(name := self.task(key)):
            id = f"{self.name}-{name}"
            raise UsageError(f"{id} is given here.", f"To write it yourself: tito reset {id}")
        if name:
            raise UsageError(
                f"{self.name}-{name} is a question, with no checks and no hints.",
                f'Write your answer in the lesson\'s file, below "{ANSWER}", then: '
                f"tito compare {self.name}-{name}",
            )
        raise UsageError(
            f"Lesson {self.name} has no exercise {key!r}.",
            f"There are: {', '.join(e.id for e in self.exercises)}.",
        )

    def answers(self, source: cells.Source) -> dict[str, str]:
        """{question: the answer in a learner's file}, "" where nothing is written."""
        return {question.name: answer_in(source, question.name) for question in self.questions}

    def written_answers(self, source: cells.Source) -> dict[str, bool]:
        """{question: whether an answer to it is in a learner's file}."""
        return {name: bool(answer) for name, answer in self.answers(source).items()}

    def is_unwritten(self, exercise: Exercise, source: cells.Source) -> bool:
        """Whether an exercise is in a learner's file as it was released."""
        cell = source.cell(exercise.name)
        return cell is not None and cell.source.strip() == exercise.stub

    def lost_lines(self, source: cells.Source) -> dict[str, str]:
        """{exercise: a sentence about a given line that has no effect in a learner's file}."""
        texts = {e: cell.source for e in self.exercises if (cell := source.cell(e.name))}
        sentences = {e.id: given_lines.lost_line(e.stub, text) for e, text in texts.items()}
        return {exercise: sentence for exercise, sentence in sentences.items() if sentence}

    def changed_given(self, source: cells.Source) -> list[str]:
        """A sentence for each given exercise whose code in a learner's file is not the course's."""
        mine = {cell.given: cell.source.strip() for cell in source.cells if cell.given}
        own = {cell.given: cell.source.strip() for cell in self.source.cells if cell.given}
        changed = [f"{self.name}-{name}" for name in own if mine.get(name, own[name]) != own[name]]
        words = "the given code of {0} is changed; the course's comes back with: tito skip {0}"
        return [words.format(id) for id in changed]

    def given_up(self, source: cells.Source) -> list[str]:
        """The exercises that a learner's file has as given code: they earn no points."""
        marked = {cell.given for cell in source.cells}
        return [exercise.id for exercise in self.exercises if exercise.name in marked]

    @cached_property
    def released(self) -> str:
        """The chapter that learners get: a `raise` in place of each solution,
        and where hints are to be had. What a picture that answers a question shows is not told
        in words above it. A chapter that ends in text gets a last cell for experiments: code below
        text would be code in a text cell.
        """
        out: list[str] = []
        lines = self.source.text.split("\n")
        hinted = {exercise.name for exercise in self.exercises if exercise.hints}
        stuck = {
            text.number: STUCK.format(lesson=self.name, exercise=name)
            for text, name in with_tasks(self.source)
            if name in hinted
        }
        line = 1
        for cell in self.source.cells:
            first = cell.line - cell.gap  # its `# %%` line
            end = cell.line + len(cell.source.split("\n"))
            out += lines[line - 1 : first - 1]
            line = end
            rows = lines[first - 1 : end - 1]
            if "answer" in cell.tags and cell.kind == "code":
                rows[cell.gap :] = cell.code.split("\n")
            out += without_solution(self.name, cell, rows)
            if stuck.get(cell.number, "") not in cell.source:
                out += ["#", f"# {stuck[cell.number]}"]
        if self.source.cells[-1].kind == "markdown":
            lines[-1:] = ["", "# %%", "# your experiments", ""]
        return "\n".join(out + lines[line - 1 :])

    @cached_property
    def released_source(self) -> cells.Source:
        return cells.parse(self.path, self.released)

    @cached_property
    def released_facts(self) -> str:
        """What the lesson.toml of a release says in addition: the words about pictures that
        answer a question, which learners' chapters leave out, {hash of the code: the comments}.
        """
        rows = []
        for cell in self.source.cells:
            if "answer" in cell.tags and cell.alt:
                said = "\n".join(match[0] for match in cells.SAID.finditer(cell.source))
                rows.append(f"{cells.hash_of(cell.code)} = {json.dumps(said, ensure_ascii=False)}")
        return "\n".join(["", "[answers]", *rows, ""]) if rows else ""

    def said(self, cell: cells.Cell) -> dict[str, str]:
        """The "alt" and "caption" of a cell's picture, also where the release leaves them out."""
        left_out = self.meta.get("answers", {}).get(cells.hash_of(cell.code), "")
        return {"alt": "", "caption": ""} | cells.said(f"{left_out}\n{cell.source}")

    @cached_property
    def released_checks(self) -> str:
        """The checks.py that learners get, to be read: without the hidden sections, and without
        what only these need of the setup and learner-side sections.
        """
        lines = self.checks_source.text.split("\n")
        starts = [cell.line - cell.gap for cell in self.checks_source.cells] + [len(lines) + 1]
        rows: list[str] = []
        for cell, start, end in zip(self.checks_source.cells, starts, starts[1:]):
            source = self.visible_part(cell)
            if source == cell.source:
                rows += lines[max(start - 1, 0) : end - 1]
            elif source:
                rows += [lines[start - 1], *source.split("\n"), "", ""]
        return "\n".join(rows).rstrip("\n") + "\n"

    def visible_part(self, cell: cells.Cell) -> str:
        """The part of a section of checks.py that learners get, or ""."""
        if HIDDEN in cell.title.split():
            return ""
        if cell.title not in (SETUP, LEARNER_SIDE):
            return cell.source
        return without_others(cell.source, self.needed_by_visible)

    @cached_property
    def needed_by_visible(self) -> Statements:
        """The statements of setup and learner-side sections that learners get."""
        return needed_by_visible(self.checks_source.cells)

    @cached_property
    def solutions(self) -> str:
        """The solutions as `tito compare` reads them: a section for each exercise and question."""
        head = f"# The solutions of {self.title}, for `tito compare`.\n"
        solved = {exercise.name: exercise.cell.source.strip() for exercise in self.exercises}
        solved |= {f"[markdown] {one.name}": cells.comment(one.sample) for one in self.questions}
        return head + "".join(f"\n# %% {name}\n{text}\n" for name, text in solved.items())


def with_tasks(source: cells.Source) -> Iterator[tuple[cells.Cell, str]]:
    """(the last text above it, its name) of each exercise to write: the text ends with its task."""
    text = None
    for cell in source.cells:
        if cell.exercise and text:
            yield text, cell.exercise
        if cell.task or cell.given or cell.checks:
            text = None
        elif cell.kind == "markdown":
            text = cell


def without_solution(lesson: str, cell: cells.Cell, lines: list[str]) -> list[str]:
    """Lines of a cell as learners get them: a `raise` in place of the solution of an exercise,
    nothing in place of a question's sample answer.
    """
    if cell.kind != "code" and not cell.question:
        return lines
    out: list[str] = []
    solution = False
    for line in lines:
        if mark := MARK.match(line.removeprefix("#") if cell.question else line):
            solution = mark[1] == "BEGIN"
            if solution and cell.exercise:
                out.append(indent_of(line) + stub(lesson, cell.exercise))
        elif not solution:
            out.append(line)
    return out


def split_solution(source: str) -> tuple[list[str], list[str]]:
    """(the lines between the markers of a solution, the other lines), without the markers."""
    inside: list[str] = []
    outside: list[str] = []
    lines = outside
    for line in source.split("\n"):
        if mark := MARK.match(line):
            lines = inside if mark[1] == "BEGIN" else outside
        else:
            lines.append(line)
    return inside, outside


def indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def stub(lesson: str, exercise: str) -> str:
    """The line that is in a released exercise instead of its solution."""
    return f'raise NotImplementedError("yours to write: tito hint {lesson}-{exercise}")'


def titled(cell: cells.Cell, name: str) -> str:
    """The words on an exercise's `# %%` line, or else its name's."""
    words = cell.title or name.replace("-", " ")
    return words[:1].upper() + words[1:]


def check_of_hint(hint: str) -> str:
    """The name of the check that a hint belongs to, "" for none."""
    match = HINT_OF_CHECK.match(hint)
    return " ".join(match[1].split()) if match else ""


def hint_text(hint: str) -> str:
    """A hint as learners read it; one of a check begins `If the check "its name" fails: `."""
    return HINT_OF_CHECK.sub(r'If the check "\1" fails: ', hint, count=1)


def answer_in(source: cells.Source, question: str) -> str:
    """The answer to a question in a learner's file: the text below the line ANSWER of its cell;
    without that line, the whole cell. Of several such cells, the first that holds something.
    """
    for cell in source.cells:
        if cell.question != question:
            continue
        lines = cell.source.split("\n")
        at = next((n for n, line in enumerate(lines) if line.strip() == ANSWER), -1)
        answer = "\n".join(lines[at + 1 :]).strip()
        if answer not in ("", NBGRADER_STUB):
            return answer
    return ""


def asked(task: Exercise | Question) -> str:
    """What learners get of it, by which editions are compared; not the words of its `raise`."""
    if isinstance(task, Question):
        return task.text
    return "\n".join(line for line in task.stub.split("\n") if not UNWRITTEN.search(line))


def answered(text: str, answer: str) -> str:
    """The text of a question's cell with an answer below its line ANSWER."""
    above = text.partition(f"\n{ANSWER}")[0]
    return f"{above}\n{ANSWER}\n\n{answer}".rstrip()
