"""The demonstrations of a lesson: cells that print or draw with what was just written. Which there
are, and which have to run.
"""

import ast
import hashlib
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from tito.lesson import cells
from tito.lesson.checks import TEST
from tito.lesson.course import Entry

HEADING = re.compile(r"^## (.*)", re.M)
PREDICT = re.compile(r"\bPredict\b")
SENTENCE = re.compile(r"(?<=[.:?!)])\s+(?=[A-Z`$(*])")  # where the next one begins


@dataclass(frozen=True)
class Demonstration:
    """A cell that is neither exported nor a check.

    file      what tracebacks call the file that it is in; `line` is its first there
    number    of the cell
    key       a hash of all code that it may depend on: the package's lower modules and the lesson's
              cells up to the end of its section. One that ran well with the same key would run well
              again
    before    how many exercises are above it
    heading   of its section
    question  what the text above asks to predict, or ""
    alt       what its picture shows, in words
    payoff    whether it is tagged as what the chapter ends on
    """

    source: str
    file: str
    line: int
    number: int
    key: str
    before: int
    heading: str
    question: str
    alt: str
    payoff: bool


def find_demonstrations(entry: Entry, source: cells.Source) -> list[Demonstration]:
    """The demonstrations of a lesson, as they are in the learner's file."""
    digest = hashlib.sha256()
    for lower in entry.root.lessons:
        if lower.number < entry.number and lower.module_path.exists():
            digest.update(lower.module_path.read_bytes() + b"\0")
    order = {exercise.name: n for n, exercise in enumerate(entry.declared.exercises, 1)}
    demonstrations: list[Demonstration] = []
    exported = source.exported
    heading, text, before = "", "", 0
    for section in _sections(source):
        rows: list[tuple[cells.Cell, int, str, str]] = []
        for cell in section:
            if cell.kind == "markdown" and not cell.question:
                text = cell.source
                heading = match[1].strip() if (match := HEADING.search(text)) else heading
            if cell.kind != "code" or cell.checks:
                continue
            before = max(before, order.get(cell.exercise or "", 0))
            digest.update(cell.source.encode("utf-8", "surrogatepass") + b"\0")
            if cell not in exported and not TEST.search(cell.source):
                question = question_in(text) if "answer" in cell.tags else ""
                rows.append((cell, before, heading, question))
        key = digest.hexdigest()[:16]
        demonstrations += (
            Demonstration(
                cell.source,
                file_of(source, cell),
                cell.line,
                cell.number,
                f"{key}-{place}",
                number,
                title,
                question,
                cell.alt,
                "payoff" in cell.tags,
            )
            for place, (cell, number, title, question) in enumerate(rows)
        )
    return demonstrations


def _sections(source: cells.Source) -> Iterator[list[cells.Cell]]:
    section: list[cells.Cell] = []
    for cell in source.cells:
        if cell.kind == "markdown" and not cell.question and HEADING.search(cell.source):
            yield section
            section = []
        section.append(cell)
    yield section


def file_of(source: cells.Source, cell: cells.Cell) -> str:
    """What tracebacks call the file of a cell."""
    return f"{source.path} cell {cell.number}" if source.is_notebook else str(source.path)


def question_in(text: str) -> str:
    """What a text asks to predict: from the sentence before "Predict", which says what it is
    about, to the end of the paragraph; or "".
    """
    for paragraph in re.split(r"\n\s*\n", text):
        words = " ".join(paragraph.split())
        if match := PREDICT.search(words):
            starts = [0, *(m.end() for m in SENTENCE.finditer(words) if m.end() <= match.start())]
            return words[starts[-2] if len(starts) > 1 else 0 :]
    return ""


def needed_demonstrations(
    demonstrations: list[Demonstration], known: Collection[str]
) -> list[Demonstration]:
    """The demonstrations to run: those whose key is not among the `known`, and earlier ones that
    give them names.
    """
    selection: list[Demonstration] = []
    names: set[str] = set()
    for demonstration in reversed(demonstrations):
        bound, used = _names_in(demonstration.source)
        if demonstration.key not in known or bound & names:
            selection.insert(0, demonstration)
            names |= used
    return selection


def above_first(
    demonstrations: list[Demonstration], entry: Entry, exercises: Collection[str]
) -> list[Demonstration]:
    """Those of the demonstrations that are above the first of these exercises."""
    order = [exercise.id for exercise in entry.declared.exercises]
    first = next((n for n, exercise in enumerate(order) if exercise in exercises), len(order))
    return [demonstration for demonstration in demonstrations if demonstration.before <= first]


def _names_in(source: str) -> tuple[set[str], set[str]]:
    """The names that a cell's code binds, and those it uses; of text that is no Python, every word
    as both.
    """
    tree = cells.tree_or_none(source)
    if not tree:
        words = set(re.findall(r"\w+", source))
        return words, words
    bound, used = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            used.add(node.id)
            if isinstance(node.ctx, ast.Store):
                bound.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            bound |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return bound, used
