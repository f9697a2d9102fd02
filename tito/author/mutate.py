"""Generate small wrong versions of a solution. Good checks notice them.

Each mutation changes one place inside one solution. The rest of the cell keeps its text.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tito.lesson import cells
from tito.lesson.changes import CellText, Node, changes
from tito.lesson.lesson_format import MARK, Exercise, Lesson


@dataclass
class Mutation:
    """One wrong version: on line `line`, `before` became `after`; `text` is the whole lesson."""

    exercise: str
    line: int
    before: str
    after: str
    text: str

    @property
    def change(self) -> str:
        return f"`{self.before}` -> `{self.after}`"


def mutations(lesson: Lesson) -> list[Mutation]:
    """Every Mutation of every solution of a lesson, in the order of the file."""
    return [
        mutation
        for exercise in lesson.exercises
        for mutation in exercise_mutations(lesson, exercise)
    ]


def exercise_mutations(lesson: Lesson, exercise: Exercise) -> Iterator[Mutation]:
    """The Mutations of the solution of one exercise."""
    cell = exercise.cell
    text, seen = CellText(cell.source), set()
    for node in solution_nodes(cell.source):
        for start, end, new in changes(node, text):
            changed = text.replaced(start, end, new)
            if changed in seen or not is_another_program(cell.source, changed):
                continue
            seen.add(changed)
            before = text.raw[start:end].decode()
            yield Mutation(
                exercise.id,
                cell.line + node.lineno - 1,
                " ".join(before.split()),
                " ".join(new.split()),
                lesson.source.replaced(cell, changed),
            )


def solution_nodes(source: str) -> Iterator[Node]:
    """The nodes of a cell's solutions, each of which is between two markers."""
    marks = [n for n, line in enumerate(source.split("\n"), 1) if MARK.match(line)]
    solutions = list(zip(marks[::2], marks[1::2]))
    for node in ast.walk(cells.tree_of(source)):
        if isinstance(node, ast.stmt | ast.expr | ast.keyword | ast.arg):
            first, last = node.lineno, node.end_lineno or 0
            if any(begin < first and last < end for begin, end in solutions):
                yield node


def is_another_program(before: str, after: str) -> bool:
    """Whether the changed text is Python, and another program."""
    tree = cells.tree_or_none(after)
    return tree is not None and ast.dump(tree) != ast.dump(cells.tree_of(before))
