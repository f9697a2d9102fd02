"""The gate that a lesson has to pass: its checks accept right solutions and reject wrong ones, and
everything generated from it is up to date. Of one exercise, in seconds, only whether its checks
tell right from wrong on a learner's side.

Each question is answered in temporary roots with only this lesson and the lower ones, by the same
`run_checks` that learners use. Each answer is a `Finding`. The gate fails if one has problems.
"""

import doctest
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count, zip_longest

from tito.author import forged_answers, leaks, mutate
from tito.author.scratch import SECONDS, TOO_LONG, ScratchRoots, run_python
from tito.errors import TitoError
from tito.grading.jail import jail, judge, modules
from tito.grading.jail.jailed_check import Subject
from tito.grading.setting import OWN, Setting
from tito.grading.submission import LessonFile
from tito.learn.demonstrations import LAST, find_demonstrations
from tito.learn.verdict import Verdict
from tito.lesson import cells, export, glossary, notebook
from tito.lesson.checks import statements_of
from tito.lesson.course import Entry
from tito.lesson.lesson_format import CHECKS, FACTS, HINTS, MARK, Check, Exercise, Lesson
from tito.lesson.mistakes import Variant
from tito.lesson.mistakes import load as load_recorded
from tito.lesson.outcome import Outcome

RECORDED = 2  # mistakes that each exercise needs at least, and right solutions in another style
ENOUGH = 0.97  # of the mutations that are not marked equivalent must be caught
WIDEST = 96  # columns of a lesson's files: longer lines do not fit the book's page
LONGEST = 1250  # lines of a chapter
MOST_WORDS = 60  # of an alt text
HEADING_IN_TEXT = re.compile(r"(^| )#+ ")
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

Report = Callable[[int, int], None]  # called with (slow cases that are done, slow cases)
# The judge: called with a chapter's text and the checks to run on it.
Grade = Callable[[str, Sequence[Check]], list[Outcome]]


@dataclass
class Finding:
    """The answer to one question about one lesson.

    cases      how many cases were tried
    right      how many of them were right
    problems   what was wrong
    survivors  mutations that no check noticed; a few of them are allowed
    """

    lesson: str
    question: str
    cases: int
    right: int
    problems: list[str] = field(default_factory=list)
    survivors: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems


def check_all(
    selection: dict[Entry, list[Exercise]], jobs: int, report: Callable[[str, int, int], None]
) -> Iterator[Finding]:
    """The findings on lessons, and on exercises where some are named.

    report  called with the name of the lesson or exercises, and as in `check`
    """
    for entry, exercises in selection.items():
        name = " ".join(exercise.id for exercise in exercises) or entry.name
        for finding in check(entry, exercises, jobs, partial(report, name)):
            yield replace(finding, lesson=name)


def check(
    entry: Entry,
    exercises: Sequence[Exercise] = (),
    jobs: int = 2,
    report: Report = lambda done, of: None,
    every: int = 1,
) -> Iterator[Finding]:
    """Answer every question about one lesson of a course, a Finding each; or, of some of its
    exercises, those about their checks, without the judge, which takes most of the time.

    every   try only every n-th mutation, and in the judge only every n-th mistake, right
            alternative and forged answer. Above 1, leave out what other tests cover: running the
            whole chapter (the book does), and grading the solution and the stub (`test_class` does)
    """
    try:
        lesson = entry.declared
        recorded = load_recorded(lesson, {exercise.id for exercise in exercises})
    except TitoError as error:
        yield Finding(entry.name, "form", 1, 0, [f"{error.what} {error.remedy}"])
        return
    if exercises:
        lesson = replace(lesson, exercises=tuple(exercises))
    else:
        yield check_form(entry)
    mistakes, rights = recorded.mistakes, recorded.rights
    mutants = mutate.mutations(lesson)
    stale = sorted(recorded.equivalent.keys() - {(m.exercise, m.change) for m in mutants})
    mutants = [m for m in mutants if (m.exercise, m.change) not in recorded.equivalent][::every]
    total, done = len(lesson.exercises) + len(mistakes) + len(rights) + len(mutants), count(1)
    with ScratchRoots(entry, jobs, lambda: report(next(done), total)) as scratch:
        yield check_solution(lesson, scratch)
        if not exercises:
            yield check_release(lesson, scratch)
        yield check_stubs(lesson, scratch)
        yield check_mistakes(lesson, scratch, mistakes)
        yield check_rights(lesson, scratch, rights)
        yield check_mutants(lesson, scratch, mutants, stale, sampled=every > 1)
        if exercises:
            return
        yield from check_grades(entry, mistakes[::every], rights[::every], every)
        if every == 1:
            yield check_chapter(entry, scratch, rights)
        yield check_doctests(entry, scratch)
    yield check_package(entry)
    yield check_secrets(lesson)


def check_form(entry: Entry) -> Finding:
    """Whether names exist, terms are explained, files fit, and jupytext gives the same bytes."""
    lesson = entry.declared
    text = lesson.source.text
    problems = prerequisite_problems(entry)
    if notebook.to_script(notebook.to_notebook(text, lesson), text) != text:
        problems.append("script -> notebook -> script does not give the same bytes")
    problems += [
        f"question {question.name} has no sample answer for graders"
        for question in lesson.questions
        if not question.sample
    ]
    prose = glossary.sections(lesson.source)
    problems += [
        f"the term {term!r} is not explained: set it in bold in the sentence that explains it"
        for term in lesson.meta["terms"]
        if not glossary.explanation(term, prose)
    ]
    problems += [
        f"`synonyms` names {term!r}, which is none of its `terms`"
        for term in lesson.meta.get("synonyms", {})
        if term not in lesson.meta["terms"]
    ]
    problems += width_problems(lesson) + alt_problems(lesson) + helper_problems(lesson)
    problems += question_problems(entry)
    if prose[-1].heading != LAST:
        problems.append(f"the last section is not `## {LAST}`: add it, or its `# %% [markdown]`")
    if (length := text.count("\n")) > LONGEST:
        problems.append(
            f"the chapter has {length} lines, at most about 1,200: move given code to the "
            "package's support/, or make two lessons"
        )
    return Finding(entry.name, "form", 1, int(not problems), problems)


def prerequisite_problems(entry: Entry) -> list[str]:
    """Problems with the lessons that this one needs."""
    numbers = {other.name: other.number for other in entry.root.lessons}
    needed = entry.declared.prerequisites
    return [
        f"`prerequisites` names {name!r}, which is no lesson"
        for name in needed
        if name not in numbers
    ] + [
        f"needs {name}, which does not come before it"
        for name in needed
        if name in numbers and numbers[name] >= entry.number
    ]


def width_problems(lesson: Lesson) -> list[str]:
    """The lines of the lesson's files that are too long."""
    paths = [lesson.path.with_name(name) for name in (lesson.path.name, CHECKS, FACTS, HINTS)]
    return [
        f"{path.name}:{number} has {len(row)} columns, at most {WIDEST}"
        for path in paths
        if path.exists()
        for number, row in enumerate(path.read_text(encoding="utf-8").split("\n"), 1)
        if len(row) > WIDEST
    ]


def alt_problems(lesson: Lesson) -> list[str]:
    """Alt texts that say more than what is seen: a text cell below without its `# %%` line."""
    return [
        f"{lesson.path.name}:{cell.line}: the alt text has {len(cell.alt.split())} words, at most "
        f"{MOST_WORDS}, and no heading"
        for cell in lesson.source.cells
        if len(cell.alt.split()) > MOST_WORDS or HEADING_IN_TEXT.search(cell.alt)
    ]


def question_problems(entry: Entry) -> list[str]:
    """The cells tagged as answers above which no text asks for a prediction."""
    source = entry.declared.source
    answers = {cell.number for cell in source.cells if "answer" in cell.tags}
    return [
        f"{source.path.name}:{one.line}: tagged as an answer, but no text of its section above it "
        "asks to predict anything"
        for one in find_demonstrations(entry, source)
        if one.number in answers and not one.question
    ]


def helper_problems(lesson: Lesson) -> list[str]:
    """The functions of the checks that would be called in the place of the lesson's own."""
    helpers = {n for cell in lesson.setup for s in statements_of(cell.source) for n in s.defines}
    hidden = sorted(helpers & set(export.exported_names(lesson)))
    return [f"{CHECKS} defines {name}, as the chapter does: rename it" for name in hidden]


def check_solution(lesson: Lesson, scratch: ScratchRoots) -> Finding:
    """Whether every check passes on the solution."""
    ids = [exercise.id for exercise in lesson.exercises]
    result = scratch.test(lesson.source.text, *ids)
    checks = [check for check in result.checks if check.exercise in ids]
    problems = [f"{c.name}: {c.message}" for c in checks if not c.passed]
    if not problems and result.reason:
        problems = [result.reason]
    cases = len(checks)
    return Finding(lesson.name, "solution passes", cases, cases - len(problems), problems)


def check_release(lesson: Lesson, scratch: ScratchRoots) -> Finding:
    """Whether every check fails when no exercise is written."""
    released, source = released_cells(lesson), lesson.source
    for exercise in lesson.exercises:
        text = source.replaced(find_cell(source, exercise), released[exercise.name])
        source = cells.parse(lesson.path, text)
    result = scratch.test(source.text)
    problems = [f"{c.name} passes on the stub" for c in result.checks if c.passed]
    cases = len(result.checks)
    return Finding(lesson.name, "release fails", cases, cases - len(problems), problems)


def released_cells(lesson: Lesson) -> dict[str, str]:
    """{name of an exercise: the text of its cell in the release}"""
    released = cells.parse(lesson.path, lesson.released)
    return {exercise.name: find_cell(released, exercise).source for exercise in lesson.exercises}


def find_cell(source: cells.Source, exercise: Exercise) -> cells.Cell:
    """The cell of an exercise in a text that has all exercises of the lesson."""
    cell = source.cell(exercise.name)
    assert cell, f"{source.path} has no exercise {exercise.name}"
    return cell


def check_stubs(lesson: Lesson, scratch: ScratchRoots) -> Finding:
    """Whether the checks of an exercise fail when it alone is not written."""
    released = released_cells(lesson)

    def passing_checks(exercise: Exercise) -> list[str]:
        text = lesson.source.replaced(exercise.cell, released[exercise.name])
        result = scratch.test(text, exercise.id)
        return [c.name for c in result.checks if c.exercise == exercise.id and c.passed]

    passing = list(scratch.map(passing_checks, lesson.exercises))
    problems = [
        f"{exercise.id}: {name} passes without it" for exercise, names in passing for name in names
    ]
    right = sum(not names for _, names in passing)
    return Finding(lesson.name, "stubs fail", len(lesson.exercises), right, problems)


def failing_messages(checks: Iterable[Outcome], exercise: str) -> list[str]:
    """The messages of those checks of an exercise that fail."""
    return [c.message for c in checks if c.exercise == exercise and not c.passed]


def mistake_problem(mistake: Variant, messages: list[str]) -> str:
    """The problem with the messages for a mistake, or ""."""
    if any(mistake.message in message for message in messages):
        return ""
    return f"{mistake.id}: {'said ' + repr(messages[0]) if messages else 'not noticed'}"


def visible_checks(lesson: Lesson) -> set[str]:
    """The ids of the checks that learners have."""
    return {check.id for check in lesson.checks if not check.hidden}


def check_mistakes(lesson: Lesson, scratch: ScratchRoots, mistakes: list[Variant]) -> Finding:
    """Whether there are enough recorded mistakes, and every one is met by its message, in a check
    that its learner sees.
    """
    visible = visible_checks(lesson)

    def problem(mistake: Variant) -> str:
        text, found = mistake.apply(lesson), ""
        for first_only in (True, False):  # the first check that fails nearly always has the message
            result = scratch.test(text, mistake.exercise, first_only=first_only)
            seen = [check for check in result.checks if check.id in visible]
            found = mistake_problem(mistake, failing_messages(seen, mistake.exercise))
            if not found:
                break
        return found

    problems = [text for _, text in scratch.map(problem, mistakes) if text]
    missing = missing_variants(lesson, mistakes)
    cases, right = len(mistakes) + len(missing), len(mistakes) - len(problems)
    return Finding(lesson.name, "mistakes caught", cases, right, problems + missing)


def missing_variants(lesson: Lesson, recorded: list[Variant]) -> list[str]:
    """The exercises of which too few are recorded."""
    counts = Counter(variant.exercise for variant in recorded)
    return [
        f"{exercise.id}: {counts[exercise.id]} recorded, {RECORDED} are needed"
        for exercise in lesson.exercises
        if counts[exercise.id] < RECORDED
    ]


def check_rights(lesson: Lesson, scratch: ScratchRoots, rights: list[Variant]) -> Finding:
    """Whether there are enough right solutions in another style, and all pass."""

    def messages(right: Variant) -> list[str]:
        result = scratch.test(right.apply(lesson), right.exercise)
        return failing_messages(result.checks, right.exercise)

    results = scratch.map(messages, rights)
    refused = [f"{right.id}: {failures[0]}" for right, failures in results if failures]
    missing = missing_variants(lesson, rights)
    cases, right = len(rights) + len(missing), len(rights) - len(refused)
    return Finding(lesson.name, "right passes", cases, right, refused + missing)


def check_mutants(
    lesson: Lesson,
    scratch: ScratchRoots,
    mutants: list[mutate.Mutation],
    stale: list[tuple[str, str]],
    sampled: bool,
) -> Finding:
    """Whether the checks that learners have notice enough of the mutations.

    stale    mutations that are marked equivalent and do not exist
    sampled  whether `mutants` are only a sample, in which a single survivor is no problem
    """

    visible = visible_checks(scratch.entry.declared)  # also of the exercises that use it

    def survives(mutant: mutate.Mutation) -> bool:
        # The visible checks of the mutated exercise come first, and catch nearly every mutation;
        # the whole lesson is tested if they do not.
        first = scratch.test(mutant.text, mutant.exercise, first_only=True)
        return not (is_noticed(first, visible) or is_noticed(scratch.test(mutant.text), visible))

    alive = [mutant for mutant, survived in scratch.map(survives, mutants) if survived]
    caught = len(mutants) - len(alive)
    problems = []
    if len(alive) > max((1 - ENOUGH) * len(mutants), sampled):
        problems = [f"only {caught / len(mutants):.1%} caught, {ENOUGH:.0%} are needed"]
    problems += [
        f"marked equivalent, but there is no such mutation: {exercise} {change}"
        for exercise, change in stale
    ]
    survivors = [f"{lesson.path.name}:{m.line} {m.exercise}: {m.change}" for m in alive]
    return Finding(lesson.name, "mutations caught", len(mutants), caught, problems, survivors)


def is_noticed(result: Verdict, visible: set[str]) -> bool:
    """Whether one of these checks fails, or the lesson does not run to its end."""
    failed = any(not c.passed and c.id in visible for c in result.checks_run)
    return failed or result.reason.startswith("The ")


def check_grades(
    entry: Entry, mistakes: list[Variant], rights: list[Variant], every: int
) -> Iterator[Finding]:
    """Whether the judge agrees with the learner's process, and no forged answer passes.

    every   as in `check`
    """
    lesson = entry.declared
    lower = {
        other.name: modules.reference(other)
        for other in entry.root.lessons
        if other.number < entry.number
    }
    jail.check_system()
    # The author's code needs no jail.
    setting = Setting(entry.root.path, (entry.name,), "process", seconds=SECONDS)
    with judge.Judge(setting) as grader:

        def grade(text: str, checks: Sequence[Check]) -> list[Outcome]:
            file = LessonFile(lesson.path.name, source=cells.parse(lesson.path, text))
            code = modules.compiled(entry, file)
            subject = Subject.of(entry, code, lower)
            with warnings.catch_warnings(action="ignore"):  # NumPy's, about forged values
                return list(grader.attempt(subject, checks, OWN).checks.values())

        yield check_graded_alike(lesson, grade, mistakes, rights, sampled=every > 1)
        yield check_forged_answers(lesson, grade, every)


def check_graded_alike(
    lesson: Lesson, grade: Grade, mistakes: list[Variant], rights: list[Variant], sampled: bool
) -> Finding:
    """Whether the judge, in which checks see only proxies, agrees with the learner's process.

    sampled  leave out the solution and the stub
    """

    def messages(variant: Variant) -> list[str]:
        checks = lesson.exercise(variant.exercise).checks
        return failing_messages(grade(variant.apply(lesson), checks), variant.exercise)

    problems: list[str] = []
    if not sampled:
        problems += [
            f"{c.name} fails on the solution: {c.message}"
            for c in grade(lesson.source.text, lesson.checks)
            if not c.passed
        ]
        problems += [
            f"{c.name} passes on the stub"
            for c in grade(lesson.released, lesson.checks)
            if c.passed
        ]
    problems += filter(None, [mistake_problem(mistake, messages(mistake)) for mistake in mistakes])
    problems += [f"{right.id}: {failed[0]}" for right in rights if (failed := messages(right))]
    cases = (not sampled) * 2 * len(lesson.checks) + len(mistakes) + len(rights)
    problems = [f"graded, {problem}" for problem in problems]
    return Finding(lesson.name, "graded alike", cases, cases - len(problems), problems)


def check_forged_answers(lesson: Lesson, grade: Grade, every: int) -> Finding:
    """Whether the judge gives no points for forged answers."""
    uniform = forgeries(lesson, every)
    altered = list(forged_answers.altered_answers(lesson).items())[::every]
    problems = [
        f"{c.name} passes when every answer is {answer}"
        for answer, text, checks in uniform
        for c in grade(text, checks)
        if c.passed
    ]
    cases = sum(len(checks) for _, _, checks in uniform)
    for exercise, (wrong, forged) in altered:
        checks = lesson.exercise(exercise).checks
        names = {c.name for c in grade(wrong, checks) if not c.passed}
        cases += len(names)
        problems += [
            f"{c.name} notices wrong values, and not when they are in an object that equals "
            "what it is compared with: fetch `.data` first"
            for c in grade(forged, checks)
            if c.passed and c.name in names
        ]
    return Finding(lesson.name, "forged answers fail", cases, cases - len(problems), problems)


def forgeries(lesson: Lesson, every: int) -> list[tuple[str, str, Sequence[Check]]]:
    """(the answer to everything, a script that gives it, the checks to try with it); of all of
    them every n-th, beginning with another for each lesson.
    """
    helped = forged_answers.checks_with_helpers(lesson)
    return [
        *((*row, lesson.checks) for row in forged_answers.uniform_answers(lesson).items()),
        *(
            (f"{answer}, of helpers, too", text, helped)
            for answer, text in forged_answers.helper_answers(lesson).items()
        ),
    ][lesson.number % every :: every]


def check_chapter(entry: Entry, scratch: ScratchRoots, rights: list[Variant]) -> Finding:
    """Whether plain Python runs the course's own chapter, with hidden checks, to its end, and the
    chapters with other right solutions. Those may take longer: a slow loop is also right.
    """
    problems, chapters = [], right_chapters(entry.declared, rights)
    for text, names in [(entry.declared.source.text, ""), *chapters]:
        with scratch.borrow(text) as (copy, _):
            _, problem = run_python([str(copy.script)], copy.root.path)
        if problem and not (names and problem == TOO_LONG):
            problems.append(f"with the right solutions {names}: {problem}" if names else problem)
    cases = 1 + len(chapters)
    return Finding(entry.name, "runs through", cases, cases - len(problems), problems)


def right_chapters(lesson: Lesson, rights: list[Variant]) -> list[tuple[str, str]]:
    """(text, names) of a chapter with the first right solution of each exercise, the second, ..."""
    chapters = []
    by_exercise = [[r for r in rights if r.exercise == e.id] for e in lesson.exercises]
    for chosen in zip_longest(*by_exercise):
        source, variants = lesson.source, [variant for variant in chosen if variant]
        for variant in variants:
            cell = find_cell(source, lesson.exercise(variant.exercise))
            source = cells.parse(lesson.path, source.replaced(cell, variant.cell))
        chapters.append((source.text, ", ".join(variant.id for variant in variants)))
    return chapters


def check_doctests(entry: Entry, scratch: ScratchRoots) -> Finding:
    """Whether the examples in the docstrings of the exported cells are true."""
    source = entry.declared.source
    with scratch.borrow(source.text) as (copy, _):
        export.write_module(copy, export.current(copy, cells.read(copy.script)).whole())
        code = (
            "import importlib, pathlib, sys; from tito.author.examples import run_examples; "
            "module = importlib.import_module(sys.argv[2]); "
            "print(*run_examples(pathlib.Path(sys.argv[1]), module))"
        )
        module = f"{entry.root.package}.{entry.declared.module}"
        printed, problem = run_python(["-c", code, str(copy.script), module], copy.root.path)
    if problem:
        return Finding(entry.name, "doctests true", 1, 0, [problem])
    *report, last = printed.strip().split("\n")
    failed, attempted = map(int, last.split())
    examples = sum(
        len(doctest.DocTestParser().get_examples(cell.source)) for cell in source.exported
    )
    problems = ["\n".join(report)] if failed else []
    if not failed and attempted != examples:
        problems = [f"{examples} examples are written, {attempted} were run"]
    return Finding(entry.name, "doctests true", attempted, attempted - failed, problems)


def check_package(entry: Entry) -> Finding:
    """Whether the package's module is a fresh export of the chapter."""
    text = export.current(entry, entry.declared.source).whole().text
    path = entry.module_path
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return Finding(entry.name, "package fresh", 1, 1)
    problem = f"{entry.relative(path)} is not what `tito export {entry.name}` writes"
    return Finding(entry.name, "package fresh", 1, 0, [problem])


def check_secrets(lesson: Lesson) -> Finding:
    """Whether the release contains no secret line of a solution or of a hidden check."""
    secret = leaks.secret_lines(lesson)
    text = f"{lesson.released}\n{lesson.released_checks}"
    released = {line.strip().removeprefix("# ") for line in text.split("\n")}
    leaked = sorted(secret & released)
    problems = [f"the release contains a line of a solution: {line}" for line in leaked]
    problems += [f"the release contains a marker: {line}" for line in released if MARK.match(line)]
    return Finding(lesson.name, "release clean", len(secret), len(secret) - len(leaked), problems)
