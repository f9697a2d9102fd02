"""An exercise that is right, beside the course's solution of it, and what differs in kind.

The solution stands in the course that the workspace was made from or, in a release that was made
with its solutions, beside the pristine lesson. Both run in the learner's own lesson, one in place
of the other, on the checks of the exercise: in the processes that run tests, within their limits.
"""

import ast
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tito.errors import UsageError, WorkError
from tito.learn import pair, progress, verdict
from tito.learn.process import GRACE, Process
from tito.learn.verdict import CHECK_SECONDS, START_SECONDS
from tito.lesson import cells, export
from tito.lesson.course import PRISTINE, Entry
from tito.lesson.form import MARK, SOLUTIONS, Exercise

ROUNDS = 3  # in each, both run: what slows the machine for a while slows both
RELEASE = Path(".tito", "release.json")
SLOWER = 2  # times as long, or as much memory, is worth a word
LEAST_SECONDS = 20e-6  # below, the time is that of the calls
LEAST_BYTES = 65536  # below, Python's own objects are most of it
LOOPS = (
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)


@dataclass
class Side:
    """One of the two solutions. Of the numbers, None is what was not found out.

    code        without docstrings and marks
    loops       that stand in it, comprehensions too
    operations  of the engine that it used in the checks that were measured
    seconds     on the processor that its functions took in them, the least of several runs
    memory      bytes that one call held at the most
    calls, views  calls of its functions, and how many returned memory that they were given
    """

    code: str
    loops: int
    operations: int | None = None
    seconds: float | None = None
    memory: int | None = None
    calls: int | None = None
    views: int | None = None


@dataclass
class Comparison:
    """Two solutions of an exercise.

    place        where the learner's stands
    checks       how many checks both were measured on
    unmeasured   why it is none, or ""
    differences  sentences without a full stop on what differs in kind
    saved        sentences about what was overwritten, and where its copy is
    """

    exercise: str
    place: str
    yours: Side
    solution: Side
    checks: int = 0
    unmeasured: str = ""
    differences: list = field(default_factory=list)
    saved: list = field(default_factory=list)


def compare(
    entry: Entry,
    exercise: Exercise,
    process: Process | None = None,
    warn: Callable[[str], None] = lambda text: None,
) -> Comparison:
    """The learner's code of an exercise beside the solution.

    Raises TitoError when the course does not hold or show solutions, and while the exercise is not
    right.
    """
    code = solution_of(entry, exercise)
    record = progress.load(entry.root, warn)["lessons"].get(entry.name, {})
    source = pair.read(entry, record)
    if not (cell := source.cell(exercise.name)) or entry.declared.is_unwritten(exercise, source):
        raise _not_right(entry, exercise, "is not written yet")
    saved = []
    _, broken = verdict.export_lower(entry, saved)
    if not entry.module_path.exists():  # Python looks for the file before it takes our text
        saved += export.bring(entry, export.current(entry, source))[1]
    sources = source, _with(source, cell, code)
    if process:
        rounds = _rounds(process, entry, exercise, sources, broken)
    else:
        with Process(warm=True) as process:
            rounds = _rounds(process, entry, exercise, sources, broken)
    sides = [Side(plain(text), loops_in(text)) for text in (cell.source, code)]
    out = Comparison(exercise.id, verdict.short(source.place(cell), entry), *sides, saved=saved)
    if any(theirs is None for _, theirs in rounds):
        out.unmeasured = "the solution does not pass the checks in your lesson"
    elif not (checks := _sum_up(sides, rounds)):
        out.unmeasured = "the checks do not call the functions of the exercise"
    else:
        out.checks = checks
    out.differences = differences(*sides)
    return out


def solution_of(entry: Entry, exercise: Exercise) -> str:
    """The course's code of an exercise. Raises TitoError where there is none to be shown."""
    root = entry.root
    if root.is_course:
        raise UsageError(
            f"{root.path} is the course itself: its lessons hold the solutions.",
            "Compare works in a workspace: tito init ../my-tinytorch",
        )
    beside = root.path / PRISTINE / entry.folder / SOLUTIONS
    if beside.exists():
        cell = next((c for c in cells.read(beside).cells if c.title == exercise.name), None)
        return cell.source if cell else _missing(entry, "This release")
    if (root.path / RELEASE).exists():  # made for a class: what else is installed here, is not
        _missing(entry, "This release")
    reference = root.reference
    lesson = next((one.declared for one in reference.lessons if one.name == entry.name), None)
    theirs = (
        next((e for e in lesson.exercises if e.name == exercise.name), None) if lesson else None
    )
    if not theirs or not any(map(MARK.match, theirs.cell.source.split("\n"))):
        _missing(entry, f"The course at {reference.path}")
    if not reference.compare:
        raise UsageError(
            f"{reference.name} does not show its solutions (compare = false in its tito.toml).",
            f"`tito hint {entry.name} {exercise.id}` helps further.",
        )
    if lesson.stub_of(theirs) != exercise.cell.source.strip():
        raise UsageError(
            f"The course at {reference.path} has another exercise {exercise.id} than this "
            "workspace.",
            f"`tito update {reference.path}` brings its edition under your work.",
        )
    return theirs.cell.source


def _missing(entry, what):
    raise UsageError(
        f"{what} does not hold the solutions of {entry.name}.",
        "An instructor can put them in: `tito release --with-solutions`.",
    )


def _not_right(entry, exercise, how):
    return WorkError(
        f"{exercise.id} {how}; the solution is shown when it is right.",
        f"`tito test {entry.name} -k {exercise.name}` says what is wrong, "
        f"`tito hint {entry.name} {exercise.id}` helps.",
    )


def _with(source, cell, code):
    """`source` with another code in one of its cells."""
    rows = [dataclasses.replace(c, source=code) if c is cell else c for c in source.cells]
    return dataclasses.replace(source, cells=rows)


# What both do.


def _rounds(process, entry, exercise, sources, broken):
    """[(facts of the learner's, facts of the solution's)], each {check: facts}; of a solution that
    does not run in this lesson, None.
    """
    out = []
    for number in range(ROUNDS):
        passed, mine = _run(process, entry, exercise, sources[0], broken, number > 0)
        if not passed:
            raise _not_right(entry, exercise, "does not pass its checks")
        passed, theirs = _run(process, entry, exercise, sources[1], broken, number > 0)
        out.append((mine, theirs if passed else None))
        if not passed:
            break
    return out


def _run(process, entry, exercise, source, broken, time_only):
    """(whether every check of the exercise passed, {check: facts}) of one run."""
    module = export.build(source, entry.declared, entry.relative(source.path), entry.root.package)
    texts = {str(entry.module_path): module.text} | broken
    request = verdict.request_of(entry, source, texts, CHECK_SECONDS)
    mine = [c for c in request["checks"] if c["exercise"] == exercise.id and not c["own"]]
    names = [
        name for node in cells.tree_of(exercise.cell.source).body for name in export.defined(node)
    ]
    request |= {"checks": mine, "measure": names, "time_only": time_only}
    statuses, facts = {c["id"]: "not run" for c in mine}, {}
    for event in process.run(request, lambda: CHECK_SECONDS + START_SECONDS + GRACE):
        if event["event"] == "check":
            statuses[event["id"]] = event["status"]
        elif event["event"] == "measured":
            facts[event["id"]] = event["facts"]
    return bool(statuses) and all(status == "passed" for status in statuses.values()), facts


def _sum_up(sides, rounds):
    """Add up in each side what was found out of both, in the checks in which it was.

    Returns the number of checks in which anything was.
    """
    runs = [[one[side] for one in rounds] for side in (0, 1)]
    every = [facts for of_side in runs for facts in of_side]
    checks = [id_ for id_ in every[0] if all(one.get(id_, {}).get("calls") for one in every)]
    for side, of_side in zip(sides, runs):
        if checks:
            side.seconds = sum(min(one[id_]["seconds"] for one in of_side) for id_ in checks)
            side.calls = sum(of_side[0][id_]["calls"] for id_ in checks)
        for key, add in (("operations", sum), ("views", sum), ("memory", max)):
            if checks and all(key in one[id_] for one in rounds[0] for id_ in checks):
                setattr(side, key, add(of_side[0][id_][key] for id_ in checks))
    if checks and max(side.memory or 0 for side in sides) < LEAST_BYTES:
        for side in sides:
            side.memory = None
    return len(checks)


def differences(yours: Side, solution: Side) -> list[str]:
    """What differs in kind: sentences without a full stop."""
    out = []
    if bool(yours.loops) != bool(solution.loops):
        who = ("yours loops", "the solution") if yours.loops else ("the solution loops", "yours")
        out.append(f"{who[0]} in Python, {who[1]} does not")
    if yours.operations != solution.operations:
        out.append(
            f"yours uses {yours.operations} operations of the engine, "
            f"the solution {solution.operations}"
        )
    if bool(yours.views) != bool(solution.views):
        who = ("yours", "the solution") if yours.views else ("the solution", "yours")
        out.append(f"{who[0]} returns memory that it was given, {who[1]} makes a copy")
    for key, least, words in (
        ("memory", LEAST_BYTES, "needs {:.1f} times the memory of"),
        ("seconds", LEAST_SECONDS, "takes {:.1f} times as long as"),
    ):
        first, second = getattr(yours, key), getattr(solution, key)
        if None in (first, second) or max(first, second) < least or not min(first, second):
            continue
        ratio = max(first, second) / min(first, second)
        if ratio >= SLOWER:
            who = ("yours", "the solution") if first > second else ("the solution", "yours")
            out.append(f"{who[0]} {words.format(ratio)} {who[1]}")
    return out


# What is shown.


def plain(code: str) -> str:
    """Code without docstrings, directives and the marks around a solution."""
    lines = code.split("\n")
    out = {n for n, line in enumerate(lines) if MARK.match(line) or line.startswith("#|")}
    for node in ast.walk(cells.tree_of(code)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and len(node.body) > 1:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                out |= set(range(first.lineno - 1, first.end_lineno))
    rows = [line for n, line in enumerate(lines) if n not in out]
    return "\n".join(_without_gaps(rows)).strip("\n")


def _without_gaps(rows):
    """Lines without an empty one below the line that begins a block."""
    for number, row in enumerate(rows):
        above = rows[number - 1].rstrip() if number else ""
        if row.strip() or not above.endswith(":"):
            yield row


def loops_in(code: str) -> int:
    return sum(isinstance(node, LOOPS) for node in ast.walk(cells.tree_of(code)))
