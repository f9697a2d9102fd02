"""The size of a lesson, and how much of its code the learner writes."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from tito.errors import UsageError
from tito.lesson import cells, export, track
from tito.lesson.course import Entry, Root
from tito.lesson.lesson_format import MARK

MARKER = re.compile(r"^\s*### (BEGIN|END) SOLUTION", re.M)
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


@dataclass
class Size:
    """The size of a lesson, in lines.

    chapter  all lines of the chapter
    code     lines of code of its module, without docstrings, comments and empty lines
    learner  those of them that the learner writes
    terms    number of terms that it introduces
    """

    lesson: str
    chapter: int
    code: int
    learner: int
    terms: int

    @property
    def share(self) -> float:
        return self.learner / self.code


def measure(entry: Entry) -> Size:
    """The size of a lesson of a course."""
    lesson = entry.declared
    return Size(
        entry.name,
        lesson.source.text.count("\n"),
        len(code_lines(export.current(entry, lesson.source).text)),
        sum(solution_lines(exercise.cell.source) for exercise in lesson.exercises),
        len(lesson.meta["terms"]),
    )


def tracks(root: Root) -> Iterator[tuple[str, ...]]:
    """(name, lessons, exercises, lines to write, words of open text, points) of each track. Reads
    every view of a lesson: raises TitoError for what cannot be read.
    """
    for name in root.all_tracks:
        lessons = [entry.declared for entry in root.on_tracks([name]).lessons]
        written = [lesson for lesson in lessons if lesson.exercises]
        solved = [one.cell.source for lesson in written for one in lesson.exercises]
        if left := [lesson for lesson in lessons if MARKER.search(lesson.released)]:
            what = f"{left[0].path} would have the marker of a solution on the track {name}."
            raise UsageError(what, "Put the whole solution into the cell of its exercise.")
        words = (
            len(cell.source.split())
            for lesson in written
            for heading, inside in track.sections_of(lesson.source)
            for cell in inside
            if cell.kind == "markdown" and heading not in track.closed_sections(lesson.source)
        )
        counts = len(written), len(solved), sum(map(solution_lines, solved)), sum(words)
        yield name, *map(str, counts), str(sum(lesson.points for lesson in written))


def solution_lines(source: str) -> int:
    """The number of lines of code between the solution markers of a cell."""
    count, inside = 0, False
    code = code_lines(source)
    for number, line in enumerate(source.split("\n"), 1):
        if mark := MARK.match(line):
            inside = mark[1] == "BEGIN"
        elif inside:
            count += number in code
    return count


def code_lines(text: str) -> set[int]:
    """The numbers of the lines of Python that hold code."""
    rows: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            rows |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(cells.tree_of(text)):
        if isinstance(node, ast.Expr) and is_string(node.value):
            rows -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return rows


def is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
