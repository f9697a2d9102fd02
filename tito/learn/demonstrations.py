"""The demonstrations of a lesson: cells that print or draw with the code just written. This module
finds them, decides which have to run, and saves their results.

.tito/results/01_backprop/results.json    {key of the demonstration: {"text", "pictures": names}}
.tito/results/01_backprop/the-chain-rule-c4f1-0-0.svg    its pictures, named for their section
.tito/results/01_backprop/index.html      the page of the lesson (lesson_page.py), once it was read

A key changes when the code changes. So a demonstration with a saved result need not run again.
"""

import ast
import base64
import hashlib
import json
import re
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tito import files
from tito.html import adaptive_plot
from tito.learn import progress
from tito.learn.process import Event
from tito.lesson import cells
from tito.lesson.checks import TEST
from tito.lesson.course import Entry
from tito.views import MOST_LINES

LAST = "Look back"  # the section behind the lesson's own end
NAME = re.compile(r"[a-z0-9-]+\.(svg|png)")
HEADING = re.compile(r"^## (.*)", re.M)
PREDICT = re.compile(r"(?<!`)\b[Pp]redict\b(?!`)")  # no `predict`, which is a function
ASKED = re.compile(r"[^.:!?]\?(?=\s|$)")
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
    alt, caption  what is seen in its picture, and what it means
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
    caption: str = ""

    @property
    def place(self) -> str:
        """Its section and its number there: what stays the same when the code changes."""
        return f"{self.heading}-{self.key.rpartition('-')[2]}"


def find_demonstrations(entry: Entry, source: cells.Source) -> list[Demonstration]:
    """The demonstrations of a lesson, as they are in the learner's file."""
    digest = hashlib.sha256()
    for lower in entry.root.lessons:
        if lower.number < entry.number and lower.module_path.exists():
            digest.update(lower.module_path.read_bytes() + b"\0")
    order = {exercise.name: n for n, exercise in enumerate(entry.declared.exercises, 1)}
    demonstrations: list[Demonstration] = []
    exported, heading, before = source.exported, "", 0
    for section in _sections(source):
        rows: list[tuple[cells.Cell, int, str, str]] = []
        texts: list[str] = []
        for cell in section:
            if cell.kind == "markdown" and not cell.question:
                texts.append(cell.source)
                heading = match[1].strip() if (match := HEADING.search(cell.source)) else heading
            if cell.kind != "code" or cell.checks:
                continue
            before = max(before, order.get(cell.exercise or "", 0))
            digest.update(cell.source.encode("utf-8", "surrogatepass") + b"\0")
            if cell not in exported and not TEST.search(cell.source):
                question = question_in(texts) if "answer" in cell.tags else ""
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
                payoff="payoff" in cell.tags,
                **entry.declared.said(cell),
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


def question_in(texts: Sequence[str]) -> str:
    """What the text cells above an answer ask to predict, the nearest first: from the sentence
    before "predict", or else before the last question, to the end of the paragraph; or "".
    """
    for text in reversed(texts):
        paragraphs = [" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text)]
        for asking in (PREDICT, ASKED):
            for words in reversed(paragraphs):
                match = asking.search(words)
                if match and not (asking is ASKED and words.startswith(("Stuck?", "**Task.**"))):
                    ends = (found.end() for found in SENTENCE.finditer(words))
                    starts = [0, *(end for end in ends if end <= match.start())]
                    return words[starts[-2] if len(starts) > 1 else 0 :]
    return ""


def needed_demonstrations(
    demonstrations: list[Demonstration], known: Collection[str]
) -> list[Demonstration]:
    """The demonstrations to run: those not `known`, and earlier ones that give them names."""
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
    """The demonstrations above the first of these exercises."""
    order = [exercise.id for exercise in entry.declared.exercises]
    first = next((n for n, exercise in enumerate(order) if exercise in exercises), len(order))
    return [demonstration for demonstration in demonstrations if demonstration.before <= first]


def _names_in(source: str) -> tuple[set[str], set[str]]:
    """The names that code binds, and those it uses; if it is no Python, each word as both."""
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


# What they show.

Known = dict[str, dict[str, Any]]  # {key of a demonstration: {"text", "pictures": file names}}


@dataclass
class DemonstrationResult:
    """What a demonstration shows: what it prints, and its pictures, as paths from the root."""

    demonstration: Demonstration
    text: str
    pictures: list[str]


def folder_of(entry: Entry) -> Path:
    return entry.root.state / "results" / entry.folder


def page_of(entry: Entry) -> Path:
    """The page of a lesson, which `lesson_page.py` writes once the learner asks for it."""
    return folder_of(entry) / "index.html"


def load_results(entry: Entry) -> Known:
    """The saved results of a lesson's demonstrations, {key: {"text", "pictures"}}; none where they
    are damaged or a picture is gone, so that the demonstrations run again.
    """
    folder = folder_of(entry)
    try:
        saved = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        names = {path.name for path in folder.iterdir()}
    except (OSError, ValueError, RecursionError):
        return {}
    return saved if _is_sound(saved, names) else {}


def _is_sound(saved: Any, names: set[str]) -> bool:
    return isinstance(saved, dict) and all(
        isinstance(shown, dict)
        and isinstance(shown.get("text"), str)
        and isinstance(shown.get("pictures"), list)
        and all(isinstance(n, str) and NAME.fullmatch(n) and n in names for n in shown["pictures"])
        for shown in saved.values()
    )


def save_results(
    entry: Entry, demonstrations: list[Demonstration], known: Known, fresh: dict[int, Event]
) -> list[DemonstrationResult]:
    """Save what demonstrations of this run showed, and forget what the lesson's code does not show
    any more.

    known    what `load_results` gave
    fresh    {number of a cell: its event "shown"}
    returns  the Results of the demonstrations that ran well and showed something, in the lesson's
             order
    """
    saved: Known = {}
    for demonstration in demonstrations:
        if event := fresh.get(demonstration.number):
            pictures = _write_pictures(entry, demonstration, event)
            saved[demonstration.key] = {"text": event["text"], "pictures": pictures}
        elif demonstration.key in known:
            saved[demonstration.key] = known[demonstration.key]
    results = [
        DemonstrationResult(
            d, shown["text"], [entry.relative(folder_of(entry) / n) for n in shown["pictures"]]
        )
        for d in demonstrations
        if (shown := saved.get(d.key)) and (shown["text"] or shown["pictures"])
    ]
    if saved != known or fresh:
        folder = folder_of(entry)
        with progress.locked(entry.root):
            files.write(folder / "results.json", json.dumps(saved, indent=1))
            names = {name for shown in saved.values() for name in shown["pictures"]}
            for path in folder.iterdir():
                if NAME.fullmatch(path.name) and path.name not in names:
                    path.unlink(missing_ok=True)
    return results


def _write_pictures(entry: Entry, demonstration: Demonstration, event: Event) -> list[str]:
    """Write what a demonstration drew. Returns the files' names."""
    names = []
    words = "-".join(re.findall("[a-z0-9]+", demonstration.heading.lower()))
    section, place = demonstration.key.split("-")
    for n, picture in enumerate(event["pictures"]):
        names.append(f"{words or 'start'}-{section[:4]}-{place}-{n}.{picture['kind']}")
        data = base64.b64decode(picture["data"])
        if b'<g id="figure_1">' in data:
            data = adaptive_plot(data.decode("utf-8")).encode("utf-8")
        files.write(folder_of(entry) / names[-1], data)
    return names


def mark_seen(entry: Entry, results: list[DemonstrationResult]) -> None:
    """Remember that the learner has seen these results: they are not shown unasked again."""
    if results:
        with progress.change(entry.root, entry.name) as record:
            seen = record.setdefault("seen", [])
            seen += [key for key in map(seen_key, results) if key not in seen]


def seen_key(result: DemonstrationResult) -> str:
    """What is remembered of a result that was shown: its place; where it was cut, perhaps because
    the learner's code prints in a loop, this text only.
    """
    place, is_cut = result.demonstration.place, len(result.text.splitlines()) > MOST_LINES
    text = zlib.crc32(result.text.encode("utf-8", "surrogatepass"))
    return f"{place} {text:08x}" if is_cut else place


def payoffs_of(results: list[DemonstrationResult]) -> list[DemonstrationResult]:
    """What a lesson ends on: the demonstrations below an exercise that are tagged "payoff"; else
    its last picture, or else the last that it prints, before the questions of "Look back".
    """
    own = [r for r in results if r.demonstration.before and r.demonstration.heading != LAST]
    drawn = [result for result in own if result.pictures]
    return [result for result in own if result.demonstration.payoff] or (drawn or own)[-1:]
