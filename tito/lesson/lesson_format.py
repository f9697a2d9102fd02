"""What a lesson's files mean: its metadata, exercises, checks and hints,
and the form that learners get.

    tensor_dev.py           the chapter: prose, exercises with solutions, demonstrations
                            and the questions that a person judges
    checks.py               the checks, in sections: `# %% setup`, `# %% strides points=4`,
                            `# %% strides hidden points=2`, `# %% learner-side`
    hints.md                `## strides`, then a numbered list, gentlest first
    misconceptions.toml     see `misconceptions.py`

`Lesson` is strict: the course's own copy of a lesson must be right in every part, and what is wrong
is told with file and line. A learner's file is read with `cells.read` only, which forgives
everything but damage.
"""

import ast
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NoReturn

from tito.errors import MachineError, UsageError
from tito.lesson import cells
from tito.lesson.checks import HIDDEN, LEARNER_SIDE, SETUP, TEST, check_id, imports_in
from tito.lesson.shared_checks import read_checks

FOLDER = re.compile(r"(\d+)_([a-z][a-z0-9_]*)")
CHECKS, HINTS, MISCONCEPTIONS = "checks.py", "hints.md", "misconceptions.toml"
SOLUTIONS = "solutions.py"  # beside the pristine lesson of a release that was made with them
MARK = re.compile(r"^\s*### (BEGIN|END) SOLUTION\s*$")
NAME = re.compile(r"[A-Za-z0-9_-]+")
HEADER = {
    "title": str,
    "summary": str,
    "difficulty": int,
    "hours": (int, float),
    "prerequisites": list,
    "enables": list,
    "terms": list,
}
OPTIONAL = {"pytorch": dict}  # {a term, or a name of the package: what PyTorch calls it}
KINDS = {
    dict: "a mapping",
    str: "text",
    int: "a whole number",
    list: "a list",
    (int, float): "a number",
}
ANSWER = "**Your answer:**"  # the line of a question's cell below which learners write
NBGRADER_STUB = "YOUR ANSWER HERE"  # what nbgrader puts there for learners
LONGEST_ANSWER = 20_000  # characters that are collected; what is longer is cut, and said to be
STUCK = "Stuck? `tito hint {lesson} {exercise}`"


@dataclass
class Check:
    """One unit test of an exercise.

    id        "check-strides.test_...", or
              "check-strides-hidden.test_..."; never changes once released
    function  its name
    exercise  the id of its exercise
    cell      the section of checks.py that it stands in
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


@dataclass
class Exercise:
    """One cell for the learner to fill in, with its hints (gentlest first) and its checks.

    id    "tensor-strides", by which everything outside the chapter knows it
    name  "strides", by which the chapter and the files beside it do
    """

    id: str
    name: str
    cell: cells.Cell
    hints: list[str] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)

    @property
    def points(self) -> int:
        return sum(check.points for check in self.checks)


@dataclass
class Question:
    """A text cell that the learner fills in, and a person judges.

    name    "why-softmax"; no exercise of the lesson has it
    points  that a person may give for it, 0 or more
    text    what is asked, as Markdown
    sample  an answer that earns all of them, which learners do not get; "" in a release
    """

    name: str
    points: int
    text: str
    cell: cells.Cell
    sample: str = ""


class Lesson:
    """A lesson of the course, held to its form.

    Raises TitoError with file and line where it is broken.

    source  the chapter's cells
    checks  the cells of checks.py
    hints   the text of hints.md, "" without one
    """

    def __init__(self, source: cells.Source, checks: cells.Source, hints: str = ""):
        self.source, self.path, self.checks_source, self.hints_text = (
            source,
            source.path,
            checks,
            hints,
        )
        match = FOLDER.fullmatch(self.path.parent.name)
        if not match:
            raise UsageError(
                f"{self.path}: the folder should be named like 01_tensor.", "Rename the folder."
            )
        self.number, self.name, self.folder = int(match[1]), match[2], self.path.parent.name
        self.meta = self._meta()
        self.module = self._module()
        self.exercises = self._exercises()
        self.questions = self._questions()
        self.setup, self.learner_side = [], []
        self._add_checks()
        self._add_hints()
        self._check_chapter()

    @property
    def title(self) -> str:
        return self.meta["title"]

    @property
    def summary(self) -> str:
        return self.meta["summary"]

    @property
    def prerequisites(self) -> list[str]:
        return self.meta["prerequisites"]

    @property
    def checks(self) -> list[Check]:
        return [check for exercise in self.exercises for check in exercise.checks]

    @property
    def points(self) -> int:
        """What the checks can earn; the questions' points are a person's to give."""
        return sum(check.points for check in self.checks)

    @property
    def most(self) -> int:
        """All points of the lesson: of its checks and its questions."""
        return self.points + sum(question.points for question in self.questions)

    def question(self, name: str) -> Question:
        """The question of that name. Raises TitoError naming the others."""
        for question in self.questions:
            if question.name == name:
                return question
        there = ", ".join(question.name for question in self.questions)
        raise UsageError(
            f"Lesson {self.name} has no question {name!r}.",
            f"There are: {there}." if there else "It has none.",
        )

    def answers(self, source: cells.Source) -> dict[str, str]:
        """{question: the answer in a learner's file}, "" where nothing is written."""
        return {question.name: answer_in(source, question.name) for question in self.questions}

    def written_answers(self, source: cells.Source) -> dict[str, bool]:
        """{question: whether an answer to it is in a learner's file}."""
        return {name: bool(answer) for name, answer in self.answers(source).items()}

    def exercise(self, key: str) -> Exercise:
        """The exercise with that id or name. Raises TitoError naming the others."""
        for exercise in self.exercises:
            if key in (exercise.id, exercise.name):
                return exercise
        raise UsageError(
            f"Lesson {self.name} has no exercise {key!r}.",
            f"There are: {', '.join(e.id for e in self.exercises)}.",
        )

    @cached_property
    def imports(self) -> dict[str, list[str]]:
        """The imports that checks rely on, of the setup sections:
        {statement: the names it binds}.
        """
        return imports_in(*(cell.source for cell in self.setup))

    @cached_property
    def helpers(self) -> str:
        """What else the setup sections hold: constants and functions of
        the checks themselves, as code.
        """
        nodes = [n for n in self._setup_nodes if not isinstance(n, (ast.Import, ast.ImportFrom))]
        return "\n".join(map(ast.unparse, nodes))

    @cached_property
    def _setup_nodes(self):
        return [node for cell in self.setup for node in cells.tree_of(cell.source).body]

    @cached_property
    def released(self) -> str:
        """The chapter that learners get: a `raise` in place of each solution,
        and where hints are to be had. What a picture that answers a question shows is not told
        in words above it.
        """
        out, lines = [], self.source.text.split("\n")
        cell_of = {n: c for c in self.source.cells for n in _lines_of(c)}
        last_of = {_lines_of(c)[-1]: c for c in self.source.cells}
        following = dict(zip(self.source.cells, self.source.cells[1:]))
        hinted = {exercise.name for exercise in self.exercises if exercise.hints}
        solution, answers = False, set()
        for cell in self.source.cells:
            if "answer" in cell.tags:
                answers |= {cell.line + n for n in cell.alt_lines}
        for number, line in enumerate(lines, 1):
            cell = cell_of.get(number)
            if number in answers:
                continue
            text = line.removeprefix("#") if cell and cell.question else line
            mark = MARK.match(text) if cell and (cell.kind == "code" or cell.question) else None
            if mark:
                solution = mark[1] == "BEGIN"
                if solution and not cell.question:
                    out.append(_indent(line) + stub(self.name, cell.exercise))
            elif not solution:
                out.append(line)
            cell = last_of.get(number)
            if cell and cell.kind == "markdown" and not cell.question and cell in following:
                name = following[cell].exercise
                words = STUCK.format(lesson=self.name, exercise=name)
                if name in hinted and words not in cell.source:
                    out += ["#", f"# {words}"]
        return "\n".join(out)

    @cached_property
    def released_checks(self) -> str:
        """The checks.py that learners get, to be read: without the hidden sections."""
        lines, hidden = self.checks_source.text.split("\n"), set()
        starts = [cell.line - cell.gap for cell in self.checks_source.cells] + [len(lines) + 1]
        for cell, start, end in zip(self.checks_source.cells, starts, starts[1:]):
            if HIDDEN in cell.title.split():
                hidden |= set(range(start, end))
        rows = [line for number, line in enumerate(lines, 1) if number not in hidden]
        return "\n".join(rows).rstrip("\n") + "\n"

    @cached_property
    def solutions(self) -> str:
        """The solutions as `tito compare` reads them: a section for each exercise."""
        head = f"# The solutions of {self.title}, for `tito compare`.\n"
        return head + "".join(
            f"\n# %% {exercise.name}\n{exercise.cell.source.strip()}\n"
            for exercise in self.exercises
        )

    def stub_of(self, exercise: Exercise | Question) -> str:
        """The code of an exercise, or the text of a question, as learners get it."""
        return self._stubs[exercise.name]

    def is_unwritten(self, exercise: Exercise, source: cells.Source) -> bool:
        """Whether an exercise stands in a learner's file as it was released."""
        cell = source.cell(exercise.name)
        return cell is not None and cell.source.strip() == self.stub_of(exercise)

    @cached_property
    def _stubs(self):
        """{exercise or question: its cell as learners get it}."""
        released = cells.parse(self.path.with_suffix(".py"), self.released)
        return {cell.task: cell.source.strip() for cell in released.cells if cell.task}

    # What follows reads and refuses.

    def _refuse(self, what, remedy, cell=None, line=0, source=None) -> NoReturn:
        where = (source or self.source).place(cell, line) if cell else f"{self.path}:1"
        raise UsageError(f"{where}: {what}", remedy)

    def _refuse_section(self, what, remedy, cell) -> NoReturn:
        self._refuse(what, remedy, cell, -cell.gap, self.checks_source)

    def _meta(self):
        block = self.source.header.get("tinytorch")
        if not isinstance(block, dict):
            self._refuse("the header has no `tinytorch:` block.", f"It needs {', '.join(HEADER)}.")
        for key, kind in (HEADER | {key: OPTIONAL[key] for key in OPTIONAL & block.keys()}).items():
            value = block.get(key)
            if not isinstance(value, kind) or isinstance(value, bool):
                self._refuse(
                    f"`{key}` in the header's tinytorch block is {value!r}.",
                    f"It should be {KINDS[kind]}.",
                )
        if not 1 <= block["difficulty"] <= 5:
            self._refuse(f"`difficulty` is {block['difficulty']}.", "It goes from 1 to 5.")
        if unknown := block.keys() - HEADER - OPTIONAL.keys():
            self._refuse(
                f"the header's tinytorch block has an unknown key {min(unknown)!r}.",
                f"It takes {', '.join(HEADER | OPTIONAL)}.",
            )
        for key in ("prerequisites", "enables", "terms"):
            if not all(isinstance(name, str) for name in block[key]):
                self._refuse(f"`{key}` is {block[key]!r}.", "It should be a list of names.")
        names = block.get("pytorch", {})
        if not all(isinstance(text, str) for pair in names.items() for text in pair):
            self._refuse(f"`pytorch` is {names!r}.", "It should give one name for each name.")
        return block

    def _module(self):
        exports = [
            (c, c.directives["default_exp"])
            for c in self.source.cells
            if c.kind == "code" and "default_exp" in c.directives
        ]
        module = f"core.{self.name}"
        if not exports:
            self._refuse(
                "no cell says where the lesson is exported to.",
                f"Begin a code cell with `#| default_exp {module}`.",
            )
        if len(exports) > 1 or exports[0][1] != module:
            cell, value = exports[-1]
            self._refuse(
                f"`#| default_exp {value}`, {len(exports)} in the lesson.",
                f"One is needed: `#| default_exp {module}`.",
                cell,
            )
        return module

    def _exercises(self):
        exercises = {}
        for cell in self.source.cells:
            self._check_markers(cell)
            if not (name := cell.exercise):
                continue
            mark = 0 if self.source.is_notebook else -cell.gap  # its `# %%` line
            if not NAME.fullmatch(name) or name in (SETUP, LEARNER_SIDE):
                self._refuse(
                    f"exercise={name!r} is no name.",
                    "It needs letters, digits, - and _ only.",
                    cell,
                    mark,
                )
            if name in exercises:
                first = self.source.place(exercises[name].cell)
                self._refuse(
                    f"exercise {name!r} is there a second time (first in {first}).",
                    "Give each its own name.",
                    cell,
                    mark,
                )
            if "### BEGIN SOLUTION" not in cell.source and stub(self.name, name) not in cell.source:
                self._refuse(
                    f"exercise {name} has no solution between markers.",
                    "Add `### BEGIN SOLUTION` and `### END SOLUTION`.",
                    cell,
                )
            exercises[name] = Exercise(f"{self.name}-{name}", name, cell)
        if not exercises:
            self._refuse(
                "the lesson has no exercise.",
                'Mark a cell with `# %% exercise="name"` and solution markers.',
            )
        return list(exercises.values())

    def _questions(self):
        questions, taken = [], {exercise.name for exercise in self.exercises}
        for cell in self.source.cells:
            if not (name := cell.question):
                continue
            mark = 0 if self.source.is_notebook else -cell.gap  # its `# %%` line
            if not NAME.fullmatch(name) or name in (SETUP, LEARNER_SIDE):
                self._refuse(
                    f"question={name!r} is no name.",
                    "It needs letters, digits, - and _ only.",
                    cell,
                    mark,
                )
            if name in taken:
                self._refuse(
                    f"{name!r} is the name of an exercise or question already.",
                    "Give each its own name.",
                    cell,
                    mark,
                )
            taken.add(name)
            points = cell.metadata.get("points")
            if type(points) is not int or not 0 <= points <= 1000:
                self._refuse(
                    f"question {name} has points={points!r}.",
                    "It takes a whole number, 0 for an answer that is only read: points=2.",
                    cell,
                    mark,
                )
            text, below, answer = cell.source.partition(f"\n{ANSWER}\n")
            if not below:
                text, below = cell.source.removesuffix(f"\n{ANSWER}"), cell.source.endswith(ANSWER)
            if not below or not text.strip():
                self._refuse(
                    f"question {name} lacks its text, or a line that says where to write.",
                    f"Ask, then a line of its own: `# {ANSWER}`",
                    cell,
                    mark,
                )
            sample, outside = _split_sample(answer)
            if outside.strip():
                self._refuse(
                    f"learners would get an answer to question {name}: {outside.strip()[:60]}",
                    "Put the sample answer between `# ### BEGIN SOLUTION` and `# ### END "
                    "SOLUTION`.",
                    cell,
                    mark,
                )
            questions.append(Question(name, points, text.strip(), cell, sample.strip()))
        return questions

    def _check_markers(self, cell):
        if "question" in cell.metadata and cell.kind != "markdown":
            self._refuse(
                "a question in a cell of code.",
                'Its answer is text: `# %% [markdown] question="why" points=2`.',
                cell,
            )
        opened = None
        for number, line in enumerate(cell.source.split("\n") if "### " in cell.source else ()):
            mark = MARK.match(line)
            if not mark:
                if "### BEGIN" in line or "### END" in line:
                    self._refuse(
                        f"not a marker: {line.strip()}",
                        "Write `### BEGIN SOLUTION` alone on its line.",
                        cell,
                        number,
                    )
                continue
            if mark[1] == "BEGIN":
                if opened is not None:
                    self._refuse(
                        "BEGIN SOLUTION inside a solution.",
                        "End it first; they never nest.",
                        cell,
                        number,
                    )
                if not cell.task:
                    self._refuse(
                        "BEGIN SOLUTION in a cell that is no exercise and no question.",
                        'Mark the cell: `# %% exercise="name"`.',
                        cell,
                        number,
                    )
                if cell.directives.keys() & {"export", "exporti"} and not _indent(line):
                    self._refuse(
                        "a solution at the left margin of an exported cell.",
                        "Put it inside a function: its stub would stop "
                        "every import of the package.",
                        cell,
                        number,
                    )
                opened = number
            elif opened is None:
                self._refuse(
                    "END SOLUTION without its BEGIN.", "Markers come in pairs.", cell, number
                )
            else:
                opened = None
        if opened is not None:
            self._refuse("BEGIN SOLUTION is never ended.", "Add `### END SOLUTION`.", cell, opened)

    def _add_checks(self):
        """Give each exercise its checks, and keep the other sections of checks.py."""
        order = {exercise.name: number for number, exercise in enumerate(self.exercises)}
        functions, last = {}, (-1, False)
        for cell in self.checks_source.cells:
            if cell.kind != "code":
                continue
            name, *words = cell.title.split() or [""]
            if name == SETUP and not words:
                self.setup.append(cell)
            elif name == LEARNER_SIDE and not words:
                self.learner_side.append(cell)
            elif name in order and words in ([], [HIDDEN]):
                if (order[name], bool(words)) <= last:
                    self._refuse_section(
                        f"the section {cell.title} stands behind a later one, or is there twice.",
                        "Sections stand in the order of the exercises, visible before hidden.",
                        cell,
                    )
                last = order[name], bool(words)
                self._add_section(self.exercises[order[name]], cell, bool(words), functions)
            elif name or any(
                line.strip() and not line.startswith("#") for line in cell.source.split("\n")
            ):
                self._refuse_section(
                    f"{cell.title or 'code before the first section'!r} is no section.",
                    f"A section is named after an exercise ({', '.join(order)}), hidden or not; "
                    "or it is setup or learner-side.",
                    cell,
                )
        for exercise in self.exercises:
            if all(check.hidden for check in exercise.checks):
                raise UsageError(
                    f"{self.checks_source.path}: "
                    f"exercise {exercise.name} has no check that learners see.",
                    f"Add a section `# %% {exercise.name} points=2`.",
                )

    def _add_section(self, exercise, cell, hidden, functions):
        names, points = TEST.findall(cell.source), cell.metadata.get("points")
        if not names:
            self._refuse_section(
                f"{cell.title} holds no `def test_...`.",
                "Write the check, or take the section out.",
                cell,
            )
        if type(points) is not int or points < len(names):
            self._refuse_section(
                f"{points} points are too few for {len(names)} test{'s' * (len(names) > 1)}.",
                f"Each is worth at least 1: `# %% {cell.title} points={2 * len(names)}`.",
                cell,
            )
        each, more = divmod(points, len(names))  # the first tests take what is left over
        for place, function in enumerate(names):
            if function in functions:
                self._refuse_section(
                    f"{function} is defined twice (also in {functions[function]}).",
                    "Give each check its own name.",
                    cell,
                )
            functions[function] = cell.title
            exercise.checks.append(
                Check(
                    check_id(cell.title, function),
                    function,
                    exercise.id,
                    each + (place < more),
                    cell,
                    hidden,
                )
            )

    def _add_hints(self):
        path = self.path.with_name(HINTS)
        exercises = {exercise.name: exercise for exercise in self.exercises}
        for line, name, hints in parse_hints(path, self.hints_text):
            if name not in exercises:
                raise UsageError(
                    f"{path}:{line}: the lesson has no exercise {name!r}.",
                    f"There are: {', '.join(exercises)}.",
                )
            if exercises[name].hints:
                raise UsageError(
                    f"{path}:{line}: {name} is there a second time.", "Put its hints into one list."
                )
            exercises[name].hints = hints

    def _check_chapter(self):
        """Each exercise with checks that learners see has one cell that
        runs them, somewhere behind it.
        """
        waiting = {e.name for e in self.exercises if any(not c.hidden for c in e.checks)}
        above = set()
        for cell in self.source.cells:
            above.add(cell.exercise)
            if not (name := cell.checks):
                continue
            mark = 0 if self.source.is_notebook else -cell.gap
            if name not in waiting or name not in above:
                self._refuse(
                    f"checks={name!r}: no exercise of that name with visible checks stands "
                    "above, or its checks were run already.",
                    "One cell behind each exercise runs its checks.",
                    cell,
                    mark,
                )
            waiting.discard(name)
            if cell.source.strip() != f'check("{name}")':
                self._refuse(
                    f"a cell of checks holds {cell.source.strip()[:60]!r}.",
                    f'One line: check("{name}"). The checks themselves stand in {CHECKS}.',
                    cell,
                )
        if waiting:
            name = next(e.name for e in self.exercises if e.name in waiting)
            self._refuse(
                f"nothing runs the checks of exercise {name}.",
                f'Add a cell `# %% checks="{name}"` with the line check("{name}").',
                self.source.cell(name),
            )


def parse_hints(path: Path, text: str) -> list[tuple[int, str, list[str]]]:
    """The sections of a hints.md: [(line, exercise, its hints)], each hint as Markdown."""
    sections, number = [], 0
    for line, row in enumerate(text.split("\n"), 1):
        if head := re.fullmatch(r"## (\S+)\s*", row):
            sections.append((line, head[1], []))
            number = 0
        elif item := re.fullmatch(r"(\d+)\. (.*)", row):
            if not sections or int(item[1]) != number + 1:
                raise UsageError(
                    f"{path}:{line}: hint {item[1]} does not come next here.",
                    "Below `## exercise`, number the hints from 1.",
                )
            number += 1
            sections[-1][2].append(item[2])
        elif number and (row.startswith("   ") or not row.strip()):
            sections[-1][2][-1] += "\n" + row[3:].rstrip()
        elif row.strip():
            raise UsageError(
                f"{path}:{line}: this belongs to no hint: {row[:60]}",
                "A hint goes on over lines that are indented by three spaces.",
            )
    return [(line, name, [hint.strip() for hint in hints]) for line, name, hints in sections]


def answer_in(source: cells.Source, question: str) -> str:
    """The answer to a question in a learner's file: what stands below the line ANSWER of its cell;
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


def answered(text: str, answer: str) -> str:
    """The text of a question's cell with an answer below its line ANSWER."""
    above = text.partition(f"\n{ANSWER}")[0]
    return f"{above}\n{ANSWER}\n\n{answer}".rstrip()


def _split_sample(answer):
    """(what stands between the markers of a solution, what stands outside of them)."""
    parts = {True: [], False: []}
    inside = False
    for line in answer.split("\n"):
        if mark := MARK.match(line):
            inside = mark[1] == "BEGIN"
        else:
            parts[inside].append(line)
    return "\n".join(parts[True]), "\n".join(parts[False])


def stub(lesson: str, exercise: str) -> str:
    """The line that stands in a released exercise instead of its solution."""
    return (
        f'raise NotImplementedError("exercise {lesson}-{exercise} is yours to write: tito '
        f'hint {lesson} {exercise}")'
    )


def load(path: Path) -> Lesson:
    """The course's lesson whose chapter is at `path`.

    Raises TitoError with file and line when its form is broken.
    """
    hints = path.with_name(HINTS)
    try:
        text = hints.read_text(encoding="utf-8") if hints.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise MachineError(f"{hints} cannot be read: {error}.", "Save the file as UTF-8.") from None
    return Lesson(cells.read(path), read_checks(path.with_name(CHECKS)), text.replace("\r\n", "\n"))


def _lines_of(cell):
    """The numbers of the cell's lines in its script, its `# %%` line with them."""
    return range(cell.line - cell.gap, cell.line + len(cell.source.split("\n")))


def _indent(line):
    return line[: len(line) - len(line.lstrip())]
