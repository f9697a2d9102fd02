"""What a lesson file means: its metadata, exercises, hints and checks, and the form that learners get.

`Lesson` is strict: the course's own copy of a lesson must be right in every part, and what is wrong is told with
file and line. A learner's file is read with `cells.read` only, which forgives everything but damage.
"""

import re
from dataclasses import dataclass, field
from functools import cached_property

from tito.errors import TitoError
from tito.lesson import cells

FOLDER = re.compile(r"(\d+)_([a-z][a-z0-9_]*)")
TEST = re.compile(r"^def (test_\w+)\(", re.M)
HINT = re.compile(r"<details>\s*<summary>\s*Hint[^<]*</summary>(.*?)</details>", re.S)
MARK = re.compile(r"^\s*### (BEGIN|END) (SOLUTION|HIDDEN TESTS)\s*$")
NBGRADER = {"grade": bool, "locked": bool, "schema_version": int, "solution": bool}
NBGRADER_TOO = {
    "grade_id": str,
    "points": (int, float),
    "task": bool,
    "cell_type": str,
    "checksum": str,
}
HEADER = {
    "title": str,
    "summary": str,
    "difficulty": int,
    "hours": (int, float),
    "prerequisites": list,
    "enables": list,
}


@dataclass
class Check:
    """One inline test.

    id        the cell's grade_id, a dot, the function's name; never changes once released
    name      the function's name without `test_`, as words
    exercise  the exercise it belongs to: the nearest one above
    """

    id: str
    function: str
    exercise: str
    points: int
    cell: object

    @property
    def name(self):
        return self.function.removeprefix("test_").replace("_", " ")


@dataclass
class Exercise:
    """One cell for the learner to fill in, with its hints (gentlest first) and its checks."""

    id: str
    cell: object
    hints: list
    checks: list = field(default_factory=list)

    @property
    def points(self):
        return sum(check.points for check in self.checks)


class Lesson:
    """A lesson of the course, checked for form. Raises TitoError with file and line when the form is broken."""

    def __init__(self, source):
        self.source, self.path = source, source.path
        found = FOLDER.fullmatch(self.path.parent.name)
        if not found:
            raise TitoError(
                f"{self.path}: the folder should be named like 01_tensor.", "Rename the folder."
            )
        self.number, self.name, self.folder = (
            int(found.group(1)),
            found.group(2),
            self.path.parent.name,
        )
        self.meta = self._meta()
        self.module = self._module()
        self._check_cells()
        self.exercises = self._exercises()

    @property
    def title(self):
        return self.meta["title"]

    @property
    def prerequisites(self):
        return self.meta["prerequisites"]

    @property
    def checks(self):
        return [check for exercise in self.exercises for check in exercise.checks]

    @property
    def points(self):
        return sum(check.points for check in self.checks)

    @property
    def learner_side(self):
        """The cells that hold code of the checks which must run beside the learner's: subclasses of their classes, say."""
        return [
            c
            for c in self.source.cells
            if c.kind == "code" and "learner-side" in c.metadata.get("tags", ())
        ]

    def exercise(self, wanted):
        """The exercise with that id. Raises TitoError naming the others."""
        for exercise in self.exercises:
            if wanted in (exercise.id, exercise.id.removeprefix(f"{self.name}-")):
                return exercise
        raise TitoError(
            f"Lesson {self.name} has no exercise {wanted!r}.",
            f"There are: {', '.join(e.id for e in self.exercises)}.",
        )

    @cached_property
    def released(self):
        """The text that learners get: solutions replaced by a `raise`, hidden tests gone."""
        out, cell_of = [], {n: c for c in self.source.cells for n in _lines_of(c)}
        solution, behind = False, None
        for number, line in enumerate(self.source.text.split("\n"), 1):
            cell = cell_of.get(number)
            behind = cell or behind
            mark = MARK.match(line) if cell and cell.kind == "code" else None
            if mark and mark.group(2) == "SOLUTION":
                solution = mark.group(1) == "BEGIN"
                if solution:
                    out.append(_indent(line) + stub(self.name, cell.id))
            elif not solution and not (
                behind and is_hidden(behind)
            ):  # with the empty lines behind it, or they would tell
                out.append(line)
        return "\n".join(out)

    # What follows reads and refuses.

    def _refuse(self, what, remedy, cell=None, line=0):
        where = self.source.place(cell, line) if cell else f"{self.path}:1"
        raise TitoError(f"{where}: {what}", remedy)

    def _meta(self):
        block = self.source.header.get("tinytorch")
        if not isinstance(block, dict):
            self._refuse("the header has no `tinytorch:` block.", f"It needs {', '.join(HEADER)}.")
        for key, kind in HEADER.items():
            value = block.get(key)
            if not isinstance(value, kind) or isinstance(value, bool):
                self._refuse(
                    f"`{key}` in the header's tinytorch block is {value!r}.",
                    f"It should be {_kind(kind)}.",
                )
        if not 1 <= block["difficulty"] <= 5:
            self._refuse(f"`difficulty` is {block['difficulty']}.", "It goes from 1 to 5.")
        if unknown := block.keys() - HEADER:
            self._refuse(
                f"the header's tinytorch block has an unknown key {min(unknown)!r}.",
                f"It takes {', '.join(HEADER)}.",
            )
        for key in ("prerequisites", "enables"):
            if not all(isinstance(name, str) for name in block[key]):
                self._refuse(f"`{key}` is {block[key]!r}.", "It should be a list of lesson names.")
        return block

    def _module(self):
        found = [
            (c, c.directives["default_exp"])
            for c in self.source.cells
            if c.kind == "code" and "default_exp" in c.directives
        ]
        wanted = f"core.{self.name}"
        if not found:
            self._refuse(
                "no cell says where the lesson is exported to.",
                f"Begin a code cell with `#| default_exp {wanted}`.",
            )
        if len(found) > 1 or found[0][1] != wanted:
            cell, value = found[-1]
            self._refuse(
                f"`#| default_exp {value}`, {len(found)} in the lesson.",
                f"One is needed: `#| default_exp {wanted}`.",
                cell,
            )
        return wanted

    def _check_cells(self):
        seen = {}
        for cell in self.source.cells:
            if "nbgrader" in cell.metadata:
                self._check_metadata(cell)
            if cell.id:
                if cell.id in seen:
                    self._refuse(
                        f"grade_id {cell.id!r} is used a second time (first in {self.source.place(seen[cell.id])}).",
                        "Give each cell its own.",
                        cell,
                        -cell.gap,
                    )
                seen[cell.id] = cell
            self._check_markers(cell)

    def _check_metadata(self, cell):
        meta, head = (
            cell.metadata["nbgrader"],
            0 if self.source.is_notebook else -cell.gap,
        )  # its `# %%` line
        if not isinstance(meta, dict):
            self._refuse(
                "the nbgrader metadata is not a mapping.",
                "Copy another cell's and change its values.",
                cell,
                head,
            )
        for key, kind in NBGRADER.items():
            if type(meta.get(key)) is not kind:
                self._refuse(
                    f"nbgrader metadata: `{key}` is {meta.get(key)!r}.",
                    f"It should be {_kind(kind)}.",
                    cell,
                    head,
                )
        for key in meta.keys() - NBGRADER.keys():
            if key not in NBGRADER_TOO or not isinstance(meta[key], NBGRADER_TOO[key]):
                self._refuse(
                    f"nbgrader metadata: {key!r}: {meta[key]!r} is not known.",
                    f"It takes {', '.join([*NBGRADER, *NBGRADER_TOO])}.",
                    cell,
                    head,
                )
        if meta["schema_version"] != 3:
            self._refuse(
                f"nbgrader schema_version is {meta['schema_version']}.",
                "It should be 3.",
                cell,
                head,
            )
        flagged = meta["grade"] or meta["solution"] or meta["locked"] or meta.get("task")
        if flagged and not re.fullmatch(r"[A-Za-z0-9_-]+", meta.get("grade_id", "")):
            self._refuse(
                f"grade_id is {meta.get('grade_id')!r}.",
                "It needs letters, digits, - and _ only.",
                cell,
                head,
            )
        if not meta["grade"] and "points" in meta:
            self._refuse(
                f"{meta['points']} points on a cell that is not graded.",
                "Set `grade` or drop `points`.",
                cell,
                head,
            )
        if meta["grade"]:
            tests, points = TEST.findall(cell.source), meta.get("points")
            if not tests:
                self._refuse(
                    f"{points} points on a cell without a `def test_...`.",
                    "Write the check, or drop the points.",
                    cell,
                    head,
                )
            if (
                not isinstance(points, int)
                or isinstance(points, bool)
                or points <= 0
                or points % len(tests)
            ):
                self._refuse(
                    f"{points} points cannot be shared evenly by {len(tests)} tests.",
                    f"Use a multiple of {len(tests)}.",
                    cell,
                    head,
                )

    def _check_markers(self, cell):
        opened = None
        for number, line in enumerate(cell.source.split("\n") if "### " in cell.source else ()):
            found = MARK.match(line)
            if not found:
                if "### BEGIN" in line or "### END" in line:
                    self._refuse(
                        f"not a marker: {line.strip()}",
                        "Write `### BEGIN SOLUTION` alone on its line.",
                        cell,
                        number,
                    )
                continue
            mark, region = found.groups()
            if mark == "BEGIN":
                if opened:
                    self._refuse(
                        f"BEGIN {region} inside {opened[0]}.",
                        f"End {opened[0]} first; regions never nest.",
                        cell,
                        number,
                    )
                flag = "solution" if region == "SOLUTION" else "grade"
                if not cell.nbgrader.get(flag):
                    self._refuse(
                        f"BEGIN {region} in a cell whose metadata does not say `{flag}`.",
                        f'Set "{flag}": true in the cell\'s nbgrader metadata.',
                        cell,
                        number,
                    )
                if (
                    region == "SOLUTION"
                    and cell.directives.keys() & {"export", "exporti"}
                    and not _indent(line)
                ):
                    self._refuse(
                        "a solution at the left margin of an exported cell.",
                        "Put it inside a function: its stub would stop every import of the package.",
                        cell,
                        number,
                    )
                opened = (region, number)
            elif not opened or opened[0] != region:
                self._refuse(
                    f"END {region} without its BEGIN.", "Markers come in pairs.", cell, number
                )
            else:
                opened = None
        if opened:
            self._refuse(
                f"BEGIN {opened[0]} is never ended.", f"Add `### END {opened[0]}`.", cell, opened[1]
            )
        if (
            cell.nbgrader.get("solution")
            and "### BEGIN SOLUTION" not in cell.source
            and not self._is_released(cell)
        ):
            self._refuse(
                f"exercise {cell.id} has no solution between markers.",
                "Add `### BEGIN SOLUTION` and `### END SOLUTION`.",
                cell,
            )

        if is_hidden(cell) and TEST.search(
            re.sub(r"### BEGIN HIDDEN TESTS.*?### END HIDDEN TESTS", "", cell.source, flags=re.S)
        ):
            self._refuse(
                f"check {cell.id} mixes hidden and visible tests.",
                "Give the hidden ones a cell of their own.",
                cell,
            )

    def _is_released(self, cell):
        return stub(self.name, cell.id) in cell.source

    def _exercises(self):
        found, hints, tests = [], [], {}
        for cell in self.source.cells:
            if cell.kind == "markdown":
                hints += [" ".join(hint.split()) for hint in HINT.findall(cell.source)]
            elif cell.nbgrader.get("solution"):
                found.append(Exercise(cell.id, cell, hints))
                hints = []
            elif cell.nbgrader.get("grade"):
                if not found:
                    self._refuse(
                        f"check {cell.id} has no exercise above it.",
                        "Put it behind the exercise it checks.",
                        cell,
                    )
                names = TEST.findall(cell.source)
                for name in names:
                    if name in tests:
                        self._refuse(
                            f"{name} is defined twice (also in {tests[name]}).",
                            "Give each check its own name.",
                            cell,
                            -cell.gap,
                        )
                    tests[name] = cell.id
                    found[-1].checks.append(
                        Check(
                            f"{cell.id}.{name}",
                            name,
                            found[-1].id,
                            cell.nbgrader["points"] // len(names),
                            cell,
                        )
                    )
        for exercise in found:
            if not exercise.checks:
                self._refuse(
                    f"exercise {exercise.id} has no check.",
                    "Add a graded cell behind it.",
                    exercise.cell,
                )
        if not found:
            self._refuse(
                "the lesson has no exercise.",
                "Mark a cell with solution: true and solution markers.",
            )
        return found


def stub(lesson, exercise):
    """The line that stands in a released exercise instead of its solution."""
    return f'raise NotImplementedError("exercise {exercise} is yours to write; for a hint: tito hint {lesson} {exercise}")'


def is_hidden(cell):
    """Whether the cell holds hidden tests, which no learner gets."""
    return "### BEGIN HIDDEN TESTS" in cell.source


def load(path):
    """The course's lesson at `path`. Raises TitoError with file and line when its form is broken."""
    return Lesson(cells.read(path))


def _lines_of(cell):
    """The numbers of the cell's lines in its script, its `# %%` line with them."""
    return range(cell.line - cell.gap, cell.line + len(cell.source.split("\n")))


def _indent(line):
    return line[: len(line) - len(line.lstrip())]


def _kind(kind):
    names = {
        str: "text",
        int: "a whole number",
        list: "a list",
        bool: "true or false",
        (int, float): "a number",
    }
    return names[kind]
