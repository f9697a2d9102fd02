"""The author's gate: a lesson is good when its checks tell right from wrong, and
what is made from it is true.

Every question is put to a scratch root that holds only this lesson and lower ones, through the same
`verdict.test` that learners use. The answers are `Finding`s; a finding with problems fails the
gate.
"""

import ast
import doctest
import io
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import tokenize
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tito import programs
from tito.author import forged_answers, mutate, release
from tito.errors import TitoError
from tito.grading.intake.lesson_file import LessonFile
from tito.grading.jail import judge, modules
from tito.grading.setting import OWN, Setting
from tito.learn import verdict, workspace
from tito.learn.process import ONE_THREAD, Process
from tito.lesson import cells, course, export, glossary, misconceptions
from tito.lesson.course import PRISTINE, SOURCE
from tito.lesson.lesson_format import CHECKS, HINTS, MARK

RIGHTS = 2  # solutions in another style that are recorded for an exercise, at least
ENOUGH = 0.97  # of the mutations that are not marked equivalent must be caught
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
WIDEST = (
    96  # columns of a chapter, and of what stands beside it: a column of the book holds no more
)
LONGEST = 1250  # lines of a chapter
SECONDS = 5  # a check may take, with a mistake in the code
WHOLE = 300  # seconds that a whole chapter, or its examples, may take on a busy machine


@dataclass
class Finding:
    """The answer to one question about one lesson: how many cases were looked at, how
    many were right, what was wrong.

    survivors  mutations that no check noticed; few enough of them are no problem
    """

    lesson: str
    question: str
    cases: int
    right: int
    problems: list = field(default_factory=list)
    survivors: list = field(default_factory=list)

    @property
    def ok(self):
        return not self.problems


QUESTIONS = (
    "form",
    "solution passes",
    "release fails",
    "stubs fail",
    "mistakes caught",
    "right passes",
    "mutations caught",
    "graded alike",
    "forged answers fail",
    "runs through",
    "doctests true",
    "package fresh",
    "release clean",
)


def check(entry, jobs=2, report=lambda done, of: None, every=1):
    """Put every question to one lesson of a course. Yields Findings as they are answered.

    report  is called with how many of the slow cases are done, and of how many
    every   try only every n-th mutation, and in the judge only every n-th mistake, right
            alternative and forged answer. Above 1, leave out what other tests cover: running the
            whole chapter (the book does), and grading the solution and the stub (`test_class` does)
    """
    try:
        lesson = entry.declared
        mistakes, rights = misconceptions.load(lesson), misconceptions.load(lesson, "right")
        equivalent = misconceptions.equivalent(lesson)
    except TitoError as error:
        yield Finding(entry.name, "form", 1, 0, [f"{error.what} {error.remedy}"])
        return
    yield _form(entry, lesson)
    with _scratches(entry, jobs) as scratches:
        yield from _told_right_from_wrong(
            lesson, mistakes, rights, equivalent, scratches, report, every
        )
        yield from _graded(
            entry,
            lesson,
            mistakes[::every],
            rights[::every],
            every > 1,
            *(
                dict([*texts.items()][::every])
                for texts in (
                    forged_answers.uniform_answers(lesson),
                    forged_answers.altered_answers(lesson),
                )
            ),
        )
        if every == 1:
            yield _through(entry, scratches)
        yield _doctests(entry, scratches)
    yield _fresh(entry)
    yield _clean(lesson)


def _form(entry, lesson):
    """Beyond what reading refuses: names that exist, enough recorded mistakes, and
    the same bytes after jupytext.
    """
    from tito.lesson import notebook

    problems = []
    names = [other.name for other in entry.root.lessons]
    for key in ("prerequisites", "enables"):
        problems += [
            f"`{key}` names {name!r}, which is no lesson"
            for name in lesson.meta[key]
            if key == "prerequisites" and name not in names
        ]
    for name in lesson.prerequisites:
        if name in names and entry.root.lesson(name).number >= entry.number:
            problems.append(f"needs {name}, which does not come before it")
    text = lesson.source.text
    if notebook.to_script(notebook.to_notebook(text, lesson), text) != text:
        problems.append("script -> notebook -> script does not give the same bytes")
    problems += [
        f"question {question.name} has no sample answer for those who judge it"
        for question in lesson.questions
        if not question.sample
    ]
    prose = glossary.sections(lesson.source)
    problems += [
        f"the term {term!r} is nowhere explained: set it in bold where a sentence says what it is"
        for term in lesson.meta["terms"]
        if not glossary.explanation(term, prose)
    ]
    for name in (lesson.path.name, CHECKS, HINTS):
        path = lesson.path.with_name(name)
        rows = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
        problems += [
            f"{name}:{number} has {len(row)} columns, at most {WIDEST}"
            for number, row in enumerate(rows, 1)
            if len(row) > WIDEST
        ]
    if (length := text.count("\n")) > LONGEST:
        problems.append(
            f"the chapter has {length} lines, at most about 1,200: move given code to the "
            "package's support/, or make two lessons"
        )
    return Finding(entry.name, "form", 1, not problems, problems)


@contextmanager
def _scratches(entry, jobs):
    """A queue of (entry, warm process) pairs: roots that hold only this lesson and
    lower ones, with all solutions.
    """
    folder = Path(tempfile.mkdtemp(prefix="tito-check-"))
    pairs = queue.SimpleQueue()
    processes = []
    try:
        for number in range(jobs):
            root = _scratch_root(entry, folder / str(number))
            processes.append(Process(warm=True))
            pairs.put((root.lesson(entry.name), processes[-1]))
        yield pairs
    finally:
        for process in processes:
            process.close()
        shutil.rmtree(folder, ignore_errors=True)


def _scratch_root(entry, folder):
    source = entry.root
    for name, data in workspace.contents(source).items():
        if not name.startswith((PRISTINE.as_posix(), SOURCE.as_posix())):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
    for lower in source.lessons:
        if lower.number <= entry.number:
            for base in (PRISTINE, SOURCE):  # declared whole, hidden checks too
                (folder / base / lower.folder).mkdir(parents=True, exist_ok=True)
                for name in (lower.script.name, HINTS):
                    if (path := lower.script.with_name(name)).exists():
                        (folder / base / lower.folder / name).write_bytes(path.read_bytes())
                checks = lower.declared.checks_source.text  # complete, also without checking.py
                (folder / base / lower.folder / CHECKS).write_text(checks, encoding="utf-8")
    return course.open_root(folder)


def _run(scratches, text, exercise=None, first_only=False):
    """The verdict on a lesson's text, in whichever scratch root is free: of all
    checks, or of one exercise's.
    """
    entry, process = scratches.get()
    try:
        entry.script.write_text(text, encoding="utf-8")
        return verdict.test(entry, exercise, first_only, SECONDS, process, checks_only=True)
    finally:
        scratches.put((entry, process))


def _noticed(result):
    return any(not c.passed for c in result.asked) or result.reason.startswith("The ")


def _told_right_from_wrong(lesson, mistakes, rights, equivalent, scratches, report, every):
    whole = lesson.source.text
    released = cells.parse(lesson.path, lesson.released)
    solved = _run(scratches, whole)
    failing = [f"{c.name}: {c.message}" for c in solved.checks if not c.passed] or (
        [solved.reason] if solved.reason else []
    )
    yield Finding(
        lesson.name,
        "solution passes",
        len(solved.checks),
        len(solved.checks) - len(failing),
        failing,
    )
    stubbed = lesson.source
    for exercise in lesson.exercises:
        stubbed = cells.parse(
            lesson.path,
            stubbed.replaced(stubbed.cell(exercise.name), released.cell(exercise.name).source),
        )
    none = _run(scratches, stubbed.text)
    passing = [c.name for c in none.checks if c.passed]
    yield Finding(
        lesson.name,
        "release fails",
        len(none.checks),
        len(none.checks) - len(passing),
        [f"{name} passes on the stub" for name in passing],
    )

    mutants = [m for m in mutate.mutations(lesson) if (m.exercise, m.change) not in equivalent][
        ::every
    ]
    total, done = len(lesson.exercises) + len(mistakes) + len(rights) + len(mutants), 0

    with ThreadPoolExecutor(scratches.qsize()) as pool:

        def each(function, cases):
            nonlocal done
            for case, answer in zip(cases, pool.map(function, cases)):
                done += 1
                report(done, total)
                yield case, answer

        def as_stub(exercise):
            result = _run(
                scratches,
                lesson.source.replaced(exercise.cell, released.cell(exercise.name).source),
                exercise.id,
            )
            return [c.name for c in result.checks if c.exercise == exercise.id and c.passed]

        wrong = [
            f"{exercise.id}: {name} passes without it"
            for exercise, passed in each(as_stub, lesson.exercises)
            for name in passed
        ]
        yield Finding(
            lesson.name,
            "stubs fail",
            len(lesson.exercises),
            len(lesson.exercises) - len({w.split(":")[0] for w in wrong}),
            wrong,
        )

        def named(mistake):
            result = _run(scratches, mistake.apply(lesson), mistake.exercise)
            messages = [
                c.message for c in result.checks if c.exercise == mistake.exercise and not c.passed
            ]
            return None if any(mistake.message in message for message in messages) else messages

        wrong = [
            f"{mistake.id}: {'said ' + repr(messages[0]) if messages else 'not noticed'}"
            for mistake, messages in each(named, mistakes)
            if messages is not None
        ]
        yield Finding(
            lesson.name, "mistakes caught", len(mistakes), len(mistakes) - len(wrong), wrong
        )

        def refused(right):
            result = _run(scratches, right.apply(lesson), right.exercise)
            return [
                c.message for c in result.checks if c.exercise == right.exercise and not c.passed
            ]

        wrong = [
            f"{right.id}: {messages[0]}" for right, messages in each(refused, rights) if messages
        ]
        recorded = Counter(right.exercise for right in rights)
        missing = [
            f"{exercise.id}: {recorded[exercise.id]} recorded, {RIGHTS} are needed"
            for exercise in lesson.exercises
            if recorded[exercise.id] < RIGHTS
        ]
        yield Finding(
            lesson.name,
            "right passes",
            len(rights) + len(missing),
            len(rights) - len(wrong),
            wrong + missing,
        )

        def survives(mutant):
            # Its own exercise's checks notice nearly all; only what they
            # miss is put to the others, too.
            return not any(
                _noticed(_run(scratches, mutant.text, exercise, True))
                for exercise in (mutant.exercise, None)
            )

        alive = [mutant for mutant, survived in each(survives, mutants) if survived]
    caught = len(mutants) - len(alive)
    survivors = [f"{lesson.path.name}:{m.line} {m.exercise}: {m.change}" for m in alive]
    finding = Finding(lesson.name, "mutations caught", len(mutants), caught, survivors=survivors)
    allowed = max((1 - ENOUGH) * len(mutants), every > 1)  # of a sample, one tells nothing
    if len(alive) > allowed:
        finding.problems = [f"only {caught / len(mutants):.1%} caught, {ENOUGH:.0%} are needed"]
    stale = set(equivalent) - {(m.exercise, m.change) for m in mutate.mutations(lesson)}
    finding.problems += [
        f"marked equivalent, but there is no such mutation: {exercise} {change}"
        for exercise, change in sorted(stale)
    ]
    yield finding


def _graded(entry, lesson, mistakes, rights, sampled, answers, pairs):
    """Whether the judge, where the checks see proxies only, says what the learner's own process
    says, and gives nothing for nothing.

    sampled  leave out the solution and the stub
    """
    lower = {
        lower_entry.name: modules.reference(lower_entry)
        for lower_entry in entry.root.lessons
        if lower_entry.number < entry.number
    }
    setting = Setting(
        entry.root.path, (entry.name,), "process", seconds=SECONDS
    )  # the author's own code needs no jail

    def graded(text, checks):
        code = modules.compiled(
            entry, LessonFile(lesson.path.name, source=cells.parse(lesson.path, text))
        )
        with warnings.catch_warnings(action="ignore"):  # NumPy's warnings about forged values
            return list(lower_entry.attempt(entry, code, lower, checks, OWN).checks.values())

    with judge.Judge(setting) as lower_entry:
        problems = []
        if not sampled:
            problems += [
                f"graded, {c.name} fails on the solution: {c.message}"
                for c in graded(lesson.source.text, lesson.checks)
                if not c.passed
            ]
            problems += [
                f"graded, {c.name} passes on the stub"
                for c in graded(lesson.released, lesson.checks)
                if c.passed
            ]
        for mistake in mistakes:
            messages = [
                c.message
                for c in graded(mistake.apply(lesson), lesson.exercise(mistake.exercise).checks)
                if not c.passed
            ]
            if not any(mistake.message in message for message in messages):
                problems.append(
                    f"graded, {mistake.id}: "
                    f"{'said ' + repr(messages[0]) if messages else 'not noticed'}"
                )
        for right in rights:
            messages = [
                c.message
                for c in graded(right.apply(lesson), lesson.exercise(right.exercise).checks)
                if not c.passed
            ]
            problems += [f"graded, {right.id}: {message}" for message in messages[:1]]
        cases = (not sampled) * 2 * len(lesson.checks) + len(mistakes) + len(rights)
        yield Finding(lesson.name, "graded alike", cases, cases - len(problems), problems)
        problems = [
            f"{c.name} passes when every answer is {answer}"
            for answer, text in answers.items()
            for c in graded(text, lesson.checks)
            if c.passed
        ]
        cases = len(answers) * len(lesson.checks)
        for exercise, (wrong, forged) in pairs.items():
            noticed = [c for c in graded(wrong, lesson.exercise(exercise).checks) if not c.passed]
            names = {c.name for c in noticed}
            cases += len(names)
            problems += [
                f"{c.name} notices wrong values, and not when they are in an object that equals "
                "what it is compared with: fetch `.data` first"
                for c in graded(forged, lesson.exercise(exercise).checks)
                if c.passed and c.name in names
            ]
        yield Finding(lesson.name, "forged answers fail", cases, cases - len(problems), problems)


def _through(entry, scratches):
    """Whether plain Python runs the course's own file from its first line to its
    last, hidden checks and all.
    """
    scratch, process = scratches.get()
    try:
        scratch.script.write_text(entry.declared.source.text, encoding="utf-8")
        _, problem = _python([str(scratch.script)], scratch.root.path)
    finally:
        scratches.put((scratch, process))
    problems = [problem] if problem else []
    return Finding(entry.name, "runs through", 1, 1 - len(problems), problems)


def _python(words, folder):
    """Run a fresh Python in a folder, with one BLAS thread unless the user wants more.

    returns  (what it printed, the last line of its error; "" if it ended well)
    """
    try:
        completed = programs.run(
            [sys.executable, "-B", *words],
            cwd=folder,
            env=ONE_THREAD | os.environ | {"MPLBACKEND": "Agg"},
            timeout=WHOLE,
        )
    except subprocess.TimeoutExpired:
        return "", f"it takes more than {WHOLE} s; it was stopped"
    problem = completed.stderr.strip().split("\n")[-1] if completed.returncode else ""
    return completed.stdout, problem


def _doctests(entry, scratches):
    """Run the examples in the docstrings of the exported module, in a
    fresh process of a scratch root.
    """
    scratch, process = scratches.get()
    try:
        scratch.script.write_text(entry.declared.source.text, encoding="utf-8")
        module = export.current(scratch, cells.read(scratch.script))
        export.put(scratch, module)
        code = (
            "import doctest, importlib; "
            f"m = importlib.import_module('{entry.root.package}.{entry.declared.module}');"
            "r = doctest.testmod(m); print(r.attempted, r.failed)"
        )
        printed, problem = _python(["-c", code], scratch.root.path)
    finally:
        scratches.put((scratch, process))
    if problem:
        return Finding(entry.name, "doctests true", 1, 0, [problem])
    *report, last = printed.strip().split("\n")
    attempted, failed = map(int, last.split())
    examples = sum(
        len(doctest.DocTestParser().get_examples(c.source)) for c in entry.declared.source.exported
    )
    problems = (
        ["\n".join(report)]
        if failed
        else []
        if attempted == examples
        else [f"{examples} examples are written, {attempted} were run"]
    )
    return Finding(entry.name, "doctests true", attempted, attempted - failed, problems)


def _fresh(entry):
    text = export.current(entry, entry.declared.source).text
    same = entry.module_path.exists() and entry.module_path.read_text(encoding="utf-8") == text
    return Finding(
        entry.name,
        "package fresh",
        1,
        int(same),
        []
        if same
        else [f"{entry.relative(entry.module_path)} is not what `tito export {entry.name}` writes"],
    )


def _clean(lesson):
    """No line of a solution or of a hidden test may stand in the release,
    unless it also stands in the open.
    """
    secret = release.secret_lines(lesson)
    text = f"{lesson.released}\n{lesson.released_checks}"
    released = {line.strip().removeprefix("# ") for line in text.split("\n")}
    leaked = sorted(secret & released)
    problems = [f"the release holds a line of a solution: {line}" for line in leaked]
    problems += [f"the release holds a marker: {line}" for line in released if MARK.match(line)]
    return Finding(lesson.name, "release clean", len(secret), len(secret) - len(leaked), problems)


@dataclass
class Size:
    """How long a lesson is, in lines: the chapter, the code of its module (no docstrings, comments,
    empty lines), what of that the learner writes; and how many terms it introduces.
    """

    lesson: str
    chapter: int
    code: int
    learner: int
    terms: int

    @property
    def share(self) -> float:
        return self.learner / self.code


def size(entry) -> Size:
    """How long a lesson of a course is."""
    source = entry.declared.source
    learner = 0
    for exercise in entry.declared.exercises:
        lines, inside = exercise.cell.source.split("\n"), False
        code = code_lines(exercise.cell.source)
        for number, line in enumerate(lines, 1):
            if mark := MARK.match(line):
                inside = mark[1] == "BEGIN"
            elif inside:
                learner += number in code
    text = export.current(entry, source).text
    return Size(
        entry.name,
        source.text.count("\n"),
        len(code_lines(text)),
        learner,
        len(entry.declared.meta["terms"]),
    )


def code_lines(text: str) -> set[int]:
    """The numbers of the lines of Python that hold code."""
    rows = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            rows |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(cells.tree_of(text)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            rows -= set(range(node.lineno, node.end_lineno + 1))
    return rows
