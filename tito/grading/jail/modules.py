"""Lessons, compiled as modules of the package: a learner's, the released one and the course's own;
and the hash of everything that a lesson is graded with.
"""

import functools
import hashlib
import json
import marshal
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tito.errors import TitoError
from tito.grading.result import Answer, ExerciseCell
from tito.grading.submission import LessonFile
from tito.lesson import cells, checks, export
from tito.lesson.absent import absent_names, left_out_names, with_reason
from tito.lesson.course import Entry, Root
from tito.lesson.lesson_format import LONGEST_ANSWER, Exercise, answer_in
from tito.lesson.outcome import LeftOut, clean, missing_name
from tito.lesson.statements import Statement, statements_of


@dataclass
class Code:
    """A module of the package, compiled.

    code     its statements as `statements_of` gives them, marshalled, or a sentence that says why
             there are none
    places   for each line of the module its place in the learner's file, as
             "line 12: text", or ""
    written  whether an exercise differs from the release, or a question is answered
    answers  rubric.Answer for each question
    cells    {exercise: its cells in the learner's file}
    given_up exercises that are given code in the learner's file: they earn no points
    lost     {exercise: a sentence about a given line that has no effect any more}
    ours     whether no line of it is the learner's: it is the released lesson, or the solved one
    left_out what Python cannot read, and statements that stop when they are run
    absent   {name that the module lacks: why}
    notes    sentences about exercises that are there twice
    starts   the place of each statement, as LeftOut has it
    """

    code: bytes | str
    places: list[str] = field(default_factory=list)
    written: bool = True
    answers: list[Answer] = field(default_factory=list)
    cells: dict[str, list[ExerciseCell]] = field(default_factory=dict)
    given_up: list[str] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)
    ours: bool = False
    left_out: list[LeftOut] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    starts: list[str] = field(default_factory=list)

    @property
    def statements(self) -> list[Statement]:
        return [] if isinstance(self.code, str) else marshal.loads(self.code)

    def without(self, stopped: Mapping[int, tuple[str, str]], below: Mapping[str, str]) -> "Code":
        """The same without statements that stop, {number: (name of the exception, or "", text)}.

        below  {name that the lessons below it lack: why}
        """
        statements, more, shown = self.statements, [], dict(self.cells)
        for number, (name, text) in sorted(stopped.items()):
            text = with_reason(text, missing_name(name, text), below)
            names = statements[number][2]
            place = self.starts[number]
            more.append(LeftOut.stopped(place, names, name, text))
            for exercise, row in shown.items() if place else ():
                shown[exercise] = [cell.without(place, names) for cell in row]
        kept = [row for number, row in enumerate(statements) if number not in stopped]
        bound = {name for row in kept for name in row[2]}
        absent = {name: why for name, why in left_out_names(more).items() if name not in bound}
        return replace(
            self,
            code=marshal.dumps(kept),
            left_out=self.left_out + more,
            absent=self.absent | absent,
            cells=shown,
            starts=[place for n, place in enumerate(self.starts) if n not in stopped],
        )


def compiled(entry: Entry, file: LessonFile) -> Code:
    """The Code of a learner's lesson; with a sentence if it cannot be compiled. It runs in
    `reader.SubmissionReader`, because a text can make it take very long.
    """
    assert file.source
    exercises, lesson = entry.declared.exercises, entry.declared
    answers = answers_in(entry, file.source)
    written = not all(lesson.is_unwritten(exercise, file.source) for exercise in exercises)
    written |= any(answer.sha256 for answer in answers)
    try:
        # Hide Python's warnings about the learner's text.
        with warnings.catch_warnings(action="ignore"):
            module = export.build(
                file.source, lesson, entry.relative(entry.script), entry.root.package
            )
            statements = statements_of(module.text, f"{entry.root.package}.core.{entry.name}")
        return Code(
            marshal.dumps(statements),
            places_of(module, file.source),
            written,
            answers,
            cells_of(entry, file, module),
            lesson.given_up(file.source),
            lesson.lost_lines(file.source),
            not written and module.text == released_text(entry),
            left_out=module.left_out,
            absent=absent_names(module),
            notes=module.notes,
            starts=[module.place(line) for _, line, _, _ in statements],
        )
    except TitoError as error:
        why = error.what
        if "no cell that begins" not in why:
            why = f"{error.what} {error.remedy}"
    except (SyntaxError, ValueError, RecursionError) as error:
        why = f"syntax error: {getattr(error, 'msg', None) or error}"
    return Code(clean(why), answers=answers, cells=cells_of(entry, file))


def cells_of(
    entry: Entry, file: LessonFile, module: export.ExportedModule | None = None
) -> dict[str, list[ExerciseCell]]:
    """{exercise: the cells of a learner's file that have its mark, or define what it asks for}.
    module: what was made of the file; None if it has an error.
    """
    assert file.source
    definers = export.definitions(module) if module else {}
    given = {cell.source for cell in entry.declared.released_source.cells if not cell.exercise}
    shown: dict[str, list[ExerciseCell]] = {}
    for exercise in entry.declared.exercises:
        chains = {
            name: [cell for cell in definers.get(name, ()) if cell.source not in given]
            for name in (export.asked_names(exercise) if module else ())
        }
        shown[exercise.id] = [
            ExerciseCell(*_words_of(file.source, cell, exercise, chains), *file.lines(cell))
            for cell in file.source.cells
            if cell.exercise == exercise.name or any(cell in chain for chain in chains.values())
        ]
    return shown


def _words_of(
    source: cells.Source, cell: cells.Cell, exercise: Exercise, chains: dict[str, list[cells.Cell]]
) -> tuple[str, bool]:
    """(what a cell does for an exercise, whether it counts). chains: {name: the cells that define
    it, the last of which counts}, {} where nothing does.
    """

    def place(one: cells.Cell) -> str:
        return f"cell {one.number}" if source.is_notebook else f"line {one.line}"

    last = {name: chain[-1] for name, chain in chains.items() if cell in chain}
    does = [
        f"defines {name}, and counts"
        if one is cell
        else f"{name} is defined or changed again in {place(one)}"
        for name, one in last.items()
    ]
    if cell not in source.exported:
        does = ["not exported, so it does not count"]
    elif not does:
        does = [f"defines no {', '.join(chains)}, so it does not count" if chains else "exported"]
    mark = "" if cell.exercise == exercise.name else ", without this exercise's mark"
    return f"{place(cell).capitalize()}{mark}: {', '.join(does)}", cell in last.values()


def answers_in(entry: Entry, source: cells.Source | None = None) -> list[Answer]:
    """The Answers in a learner's file, in the order of the questions; empty without a file."""
    answers = []
    for question in entry.declared.questions:
        text = answer_in(source, question.name) if source else ""
        sha256 = sha256_of(text) if text else ""
        text, length = text[:LONGEST_ANSWER], len(text)
        answers.append(Answer(question.name, question.points, sha256, length, text))
    return answers


def places_of(module: export.ExportedModule, source: cells.Source) -> list[str]:
    """The place of each line of a module in its source file: "line 12: its text"."""
    lines, places = {}, []
    for place in module.origin:
        if not place:
            places.append("")
            continue
        cell, line = place
        if cell.number not in lines:
            lines[cell.number] = cell.source.split("\n")
        where = f"cell {cell.number}, " if source.is_notebook else ""
        text = lines[cell.number][line].strip()[: export.LONGEST_LINE]
        places.append(clean(f"{where}line {cell.line + line}: {text}"))
    return places


@functools.cache
def reference(entry: Entry) -> Code:
    """The Code of the course's own lesson."""
    module = export.current(entry, entry.declared.source).whole()
    code = statements_of(module.text, f"{entry.root.package}.core.{entry.name}")
    return Code(marshal.dumps(code), places_of(module, entry.declared.source), ours=True)


@functools.cache
def released_text(entry: Entry) -> str:
    """The module of a lesson as learners get it."""
    lesson = entry.declared
    where = entry.relative(entry.script)
    return export.build(lesson.released_source, lesson, where, entry.root.package).text


@functools.cache
def public_modules(root: Root) -> dict[str, bytes | None]:
    """{name: code} of the package's modules that are not lessons: public modules and support."""
    modules: dict[str, bytes | None] = {f"{root.package}.core": None, root.package: None}
    for name, text in _public_texts(root).items():
        modules[name] = marshal.dumps(compile(text, name, "exec"))
    return modules


@functools.cache
def _public_texts(root: Root) -> dict[str, str]:
    """{name: text} of the package's modules that are not lessons."""
    texts = {}
    for path in sorted((root.path / root.package).rglob("*.py")):
        parts = path.relative_to(root.path).with_suffix("").parts
        if parts[1] != "core":
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            texts[name] = path.read_text(encoding="utf-8")
    return texts


@functools.cache
def check_texts(entry: Entry) -> tuple[str, dict[str, str]]:
    """(the SHA-256 of the list of a lesson's checks, {SHA-256: text} of this list and of everything
    in it). The list is JSON: {id of a check: SHA-256 of its text}; what checks share has the id "".
    """
    shared: list[str] = []
    functions: dict[str, str] = {}
    for cell in entry.declared.checks_source.cells:
        lines, end = cell.source.split("\n"), 0
        for statement in checks.statements_of(cell.source):
            if tests := [name for name in statement.defines if name.startswith("test_")]:
                shared += lines[end : statement.first - 1]
                end = statement.last
                functions[tests[0]] = "\n".join(lines[statement.first - 1 : end])
        shared += lines[end:]
    listed = {check.id: functions[check.function] for check in entry.declared.checks}
    listed[""] = "\n".join(shared)
    names = json.dumps({check_id: sha256_of(text) for check_id, text in listed.items()})
    return sha256_of(names), {sha256_of(text): text for text in [names, *listed.values()]}


def sha256_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@functools.cache
def checks_hash(entry: Entry) -> str:
    """The hash of everything that a lesson is graded with: its checks, the package, and the
    reference solutions of it and of earlier lessons.
    """
    lesson = entry.declared
    lower = [
        cell.source
        for lower_entry in entry.root.lessons
        if lower_entry.number <= entry.number
        for cell in lower_entry.declared.source.exported
    ]
    graded = [[check.id, check.points] for check in lesson.checks]
    graded += [["question", question.name, question.points] for question in lesson.questions]
    # Not of the bytecode: marshal writes it differently in each process.
    around = _public_texts(entry.root)
    return sha256_of(json.dumps([graded, lesson.checks_source.text, lower, around]))
