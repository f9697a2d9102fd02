"""Test a lesson: export it, and run its checks and demonstrations in a separate process."""

import ast
import dataclasses
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from tito import files
from tito.child import GRACE
from tito.errors import WorkError
from tito.learn import notebook_sync, progress, status
from tito.learn.demonstrations import (
    Demonstration,
    DemonstrationResult,
    Known,
    above_first,
    file_of,
    find_demonstrations,
    load_results,
    needed_demonstrations,
    page_of,
    save_results,
    seen_key,
)
from tito.learn.process import Event, Process
from tito.learn.verdict import (
    CheckOutcome,
    LessonTest,
    TestedModules,
    Verdict,
    explain_lost_lines,
    outcomes_of,
    short,
    untested,
    verdict_of,
)
from tito.lesson import cells, export, track
from tito.lesson.checks import IMPORTS, TEST, CheckFunction, CheckSuite, Section, suite_of
from tito.lesson.course import Entry
from tito.lesson.lesson_format import CHECKS
from tito.lesson.outcome import RUNNING, how_it_ended
from tito.lesson.statements import MOST_ENDS, SECONDS

CHECK_SECONDS = 10.0  # a check may take
DEMONSTRATION_SECONDS = 20.0  # one demonstration may take
START_SECONDS = 10  # more, for NumPy to load on a slow disk
SLOW_SECONDS = 2.0  # after which the learner sees which check is running
MOST_DEATHS = 2  # after so many checks that killed or hung the process, the rest is not tried

# A lesson's demonstrations; those whose results are known; {number of a cell: what it showed now}
Shows = tuple[list[Demonstration], Known, dict[int, dict[str, Any]]]
OnChecks = Callable[[list[CheckOutcome]], None]
OnSlow = Callable[[CheckOutcome], None]


def ignore(value: object) -> None:
    """Do nothing: the default of a callback."""


@dataclass(frozen=True)
class CheckSelection:
    """Which checks of a lesson are run: without anything else, all of them.

    exercises   only those of these exercises, by their ids
    keyword     only checks of the exercise of that name; where there is none, those whose name or
                exercise contains it
    first_only  no more after the first that fails
    """

    exercises: Collection[str] = ()
    keyword: str | None = None
    first_only: bool = False

    @property
    def is_partial(self) -> bool:
        return bool(self.exercises or self.keyword or self.first_only)


ALL = CheckSelection()


@dataclass
class LessonReport:
    """A tested lesson, for the learner who works on it.

    record    its progress before the test
    source    its file; None if it could not be tested
    shows     what its demonstrations showed; None if they were not asked for

    What follows the test fills in the others:

    changed   the exercises whose code is another than in the run before
    results   what the demonstrations show that are known to run, in their order
    unseen    the results that the learner has not seen yet
    folded    the same, of sections that are folded, with given code
    passed_before  whether the lesson had passed in the run before, too
    """

    entry: Entry
    verdict: Verdict
    record: dict[str, Any]
    source: cells.Source | None = None
    shows: Shows | None = None
    changed: list[str] = field(default_factory=list)
    results: list[DemonstrationResult] = field(default_factory=list)
    unseen: list[DemonstrationResult] = field(default_factory=list)
    folded: list[DemonstrationResult] = field(default_factory=list)
    passed_before: bool = False


def test_lesson(
    entry: Entry,
    selection: CheckSelection = ALL,
    process: Process | None = None,
    on_checks: OnChecks = ignore,
    on_slow: OnSlow = ignore,
    seconds: float = CHECK_SECONDS,
) -> LessonReport:
    """Test one lesson of a root, and record the verdict in its progress unless only some checks
    were asked for.

    selection  the checks to run
    process    to run in; None for a new one
    on_checks  is called with what became of the checks when demonstrations are still to run
    on_slow    is called with a check that takes long, while it runs
    seconds    time limit of a check
    """
    began = time.perf_counter()
    record = progress.record_of(entry)
    test = _prepare(entry, record, seconds)
    if isinstance(test, Verdict):
        test.partial, report = selection.is_partial, LessonReport(entry, test, record)
    else:
        report = _report(_select(test, selection), record, process, on_checks, on_slow)
    report.verdict.seconds = round(time.perf_counter() - began, 3)
    _compare(report)
    _record(report)
    with suppress(WorkError):  # the verdict says what is wrong with the lesson
        notebook_sync.settle(entry)  # the other file follows the one that was tested
    if page_of(entry).exists():
        from tito.learn import lesson_page  # which loads Markdown and Pygments

        lesson_page.refresh(entry)
    return report


def show_beginning(entry: Entry) -> None:
    """Run the demonstrations above the first exercise, which need nothing of the learner, so that
    the lesson's page has their pictures before the first test. `tito test` says what cannot run.
    """
    test = _prepare(entry, progress.record_of(entry), CHECK_SECONDS)
    if isinstance(test, Verdict):
        return
    demonstrations, known = find_demonstrations(entry, test.source), load_results(entry)
    needed = needed_demonstrations([d for d in demonstrations if not d.before], known)
    if needed:
        rows = [asdict(row) | {"known": row.key in known} for row in needed]
        draws = any(demonstration.alt for demonstration in needed)
        request = _request(test) | {"ids": [], "demonstrations": rows, "draws": draws}
        with Process() as process:
            events = list(process.run(request, _patience(test)))
        fresh = {event["cell"]: event for event in events if event["event"] == "shown"}
        save_results(entry, demonstrations, known, fresh)


def test_checks(
    entry: Entry,
    selection: CheckSelection = ALL,
    seconds: float = CHECK_SECONDS,
    process: Process | None = None,
    preload: bool = False,
) -> Verdict:
    """Run checks of a lesson and nothing else; nothing is recorded.

    preload  let the process import once what the lesson imports: for a process that is only asked
             about this lesson, and while nothing below it changes
    """
    record = progress.record_of(entry)
    test = _prepare(entry, record, seconds)
    if isinstance(test, Verdict):
        return test
    test = dataclasses.replace(_select(test, selection), partial=True)
    with _running(process) as running:
        request = _request(test) | {"preload": preload}
        verdict = verdict_of(test, list(_run_checks(running, test, request)))
    explain_lost_lines(verdict, entry, test.source)
    return verdict


def prepare_runs(
    entry: Entry, ids: Sequence[str], seconds: float, process: Process
) -> tuple[LessonTest, Callable[..., list[Event]]]:
    """A lesson as it is in the learner's file, and a function that runs these checks on another
    text of its module; it takes what to observe (see `observe.py`), and perhaps other checks, and
    returns the events. Nothing is recorded.

    Raises WorkError where the lesson cannot be tested.
    """
    test = _prepare(entry, progress.record_of(entry), seconds)
    if isinstance(test, Verdict):
        raise WorkError(test.reason, test.remedy)
    request = _request(test) | {"preload": True}

    def run(text: str, observed: dict[str, Any], only: Sequence[str] = ids) -> list[Event]:
        texts = test.texts | {str(entry.module_path): text}
        seen = observed | {"file": str(entry.module_path)}
        words = {"texts": texts, "observed": seen, "ids": list(only)}
        return list(process.run(request | words, _patience(test)))

    return test, run


def _running(process: Process | None) -> AbstractContextManager[Process]:
    return nullcontext(process) if process else Process()


# What is tested.


def _prepare(entry: Entry, record: dict[str, Any], seconds: float) -> LessonTest | Verdict:
    """Read and export a lesson and the lower ones: its test, or the Verdict that there is none."""
    missing = not (entry.script.exists() or entry.notebook.exists())
    verdict = "missing" if missing else "unreadable"
    facts: dict[str, Any] = {}
    try:
        source = notebook_sync.read(entry, record)
        verdict = "syntax error"
        facts = {
            "source": entry.relative(source.path),
            "sha256": source.sha256,
            "answers": entry.declared.written_answers(source),
        }
        module = export.current(entry, source)
        notes = export.export_to_package(entry, module)[1]
    except WorkError as error:
        facts |= {"reason": short(error.what, entry), "remedy": error.remedy}
        return untested(entry, verdict, excerpt=error.excerpt, **facts)
    modules, broken, more_notes = export_lower(entry)
    modules[str(entry.module_path)] = entry, source, module
    notes = notes + module.notes + _edited_checks(entry)
    own = _own_suite(source)
    ids = [check.id for check in entry.declared.checks] + [check.id for check in own.checks]
    texts = {str(entry.module_path): module.text} | broken
    return LessonTest(entry, source, modules, texts, own, ids, seconds, notes=notes + more_notes)


def _edited_checks(entry: Entry) -> list[str]:
    """A sentence about checks that were edited in the learner's folder."""
    own, course = entry.script.with_name(CHECKS), entry.declared_path.with_name(CHECKS)
    if files.read(own) in (None, files.read(course)):
        return []
    return [f"{entry.relative(own)} was edited, which changes nothing: the course's checks ran"]


def export_lower(entry: Entry) -> tuple[TestedModules, dict[str, str], list[str]]:
    """Bring the package's modules of the lower lessons up to date with their files.

    Returns the modules; {module's path: text that raises} of those that cannot be exported, so
    that importing them says why; and sentences about what that replaced.
    """
    records = progress.load(entry.root)["lessons"]
    modules: TestedModules = {}
    broken: dict[str, str] = {}
    notes: list[str] = []
    for lower in entry.root.lessons:
        if lower.number < entry.number:
            try:
                exported, more_notes = export_lesson(lower, records.get(lower.name, {}))
                modules |= exported
                notes += more_notes
            except WorkError as error:
                cause = f"lesson {lower.name} cannot be exported: {short(error.what, entry)}"
                text = f"def __getattr__(name):\n    raise ImportError({cause!r})\n"
                broken[str(lower.module_path)] = text
    return modules, broken, notes


def export_lesson(entry: Entry, record: dict[str, Any]) -> tuple[TestedModules, list[str]]:
    """Bring a lesson's module up to date. Returns it, and sentences about what that replaced."""
    source = notebook_sync.read(entry, record)
    module = export.current(entry, source)
    notes = export.export_to_package(entry, module)[1]
    return {str(entry.module_path): (entry, source, module)}, notes


def _own_suite(source: cells.Source) -> CheckSuite:
    """The learner's own checks, `test_...` functions in cells that are not exported. They see the
    imports of the whole chapter.
    """
    exported = source.exported
    checks = [
        CheckFunction(f"own.{name}", name, Section(cell.source, file_of(source, cell), cell.line))
        for cell in source.cells
        if cell.kind == "code" and cell not in exported
        for name in TEST.findall(cell.source)
    ]
    if not checks:
        return CheckSuite(())
    code = (cell.source for cell in source.cells if cell.kind == "code")
    trees = [tree for text in code if "import " in text and (tree := cells.tree_or_none(text))]
    imports = [ast.unparse(n) for tree in trees for n in tree.body if isinstance(n, IMPORTS)]
    return CheckSuite(tuple(checks), setup=(Section("\n".join(imports), str(source.path), 1),))


def _select(test: LessonTest, selection: CheckSelection) -> LessonTest:
    """The test with the selected checks only."""
    lesson, keyword = test.entry.declared, (selection.keyword or "").lower()
    exercises = {check.id: check.exercise for check in lesson.checks}
    named = {e.id for e in lesson.exercises if keyword in (e.id, e.name)}
    ids = [
        id
        for id in test.ids
        if (not selection.exercises or exercises.get(id) in selection.exercises)
        and (not named or exercises.get(id) in named)
        and (named or keyword in f"{id.partition('.')[2]} {exercises.get(id, '')}".lower())
    ]
    return dataclasses.replace(
        test, ids=ids, first_only=selection.first_only, partial=selection.is_partial
    )


# The runs.


def _request(test: LessonTest) -> dict[str, Any]:
    """What the process needs to know to run the test."""
    entry, lesson = test.entry, test.entry.declared
    file = str(lesson.checks_source.path)
    suite = suite_of(lesson.checks_source.cells, file, export.exported_names(lesson))
    return {
        "root": str(entry.root.path),
        "package": entry.root.package,
        "module": lesson.module,
        "texts": test.texts,
        "suite": asdict(suite),
        "own_suite": asdict(test.own_suite),
        "ids": test.ids,
        "first_only": test.first_only,
        "demonstrations": [],
        "draws": False,
        "preload": False,
        "left_out": {},
        "observed": {},
        "seconds": test.seconds,
        "demonstration_seconds": DEMONSTRATION_SECONDS,
    }


def _report(
    test: LessonTest,
    record: dict[str, Any],
    process: Process | None,
    on_checks: OnChecks,
    on_slow: OnSlow,
) -> LessonReport:
    """Run the checks, and then the demonstrations of what is right.

    record  the progress of the lesson
    """
    entry = test.entry
    demonstrations, known = list[Demonstration](), Known()
    if not test.partial:
        demonstrations, known = find_demonstrations(entry, test.source), load_results(entry)
    needed = above_first(needed_demonstrations(demonstrations, known), entry, test.stubs)
    request = _request(test)
    request["draws"] = any(demonstration.alt for demonstration in needed)
    with _running(process) as running:
        events = list(_name_slow(_run_checks(running, test, request), test, on_slow))
        checks = [check for check in outcomes_of(test, events).values() if check.exercise]
        needed = above_first(needed, entry, {c.exercise for c in checks if c.costs_points})
        if needed and _ended_well(events):
            on_checks(checks)
            _leave_out(request, events)
            rows = [asdict(row) | {"known": row.key in known} for row in needed]
            request |= {"ids": [], "demonstrations": rows}
            shown = _stopped_as_slow(list(running.run(request, _patience(test))))
            events += [{"event": "demonstrations"}, *shown]
    fresh = {event["cell"]: event for event in events if event["event"] == "shown"}
    shows = demonstrations, known, fresh
    return LessonReport(entry, verdict_of(test, events), record, test.source, shows)


def _leave_out(request: dict[str, Any], events: list[Event]) -> None:
    """Let the next run leave out the statements that stopped in this one."""
    for event in events:
        if event["event"] == "left out":
            request["left_out"].setdefault(event["file"], []).append(event["number"])


def _run_checks(process: Process, test: LessonTest, request: dict[str, Any]) -> Iterator[Event]:
    """Run the checks, again without the one that killed its process when one did.

    A statement of a lesson that ends the process is added to request["left_out"].
    """
    left = list(request["ids"])
    for _ in range(MOST_DEATHS):
        events = []
        for event in _run_from_import(process, test, request | {"ids": left}):
            events.append(event)
            yield event
        begun = [event["id"] for event in events if event["event"] == "begin"]
        left = [id for id in left if id not in begun]
        if "done" in {event["event"] for event in events} or not begun or not left:
            return


def _run_from_import(
    process: Process, test: LessonTest, request: dict[str, Any]
) -> Iterator[Event]:
    """The events of one run of checks, after an event for each statement that ended a process."""
    for tries_left in range(MOST_ENDS, -1, -1):
        statement: Event = {}
        ended: Event = {}
        for event in process.run(request, _patience(test)):
            if event["event"] == "statement":
                statement = event
            elif event["event"] == "exit" and statement and tries_left:
                ended = event  # while this statement ran
            else:
                statement = statement if event["event"] == "left out" else {}
                yield event
        if not ended:
            return
        request["left_out"].setdefault(statement["file"], []).append(statement["number"])
        seconds = min(SECONDS, test.seconds)
        text = RUNNING.format(seconds) if ended["killed"] else how_it_ended(ended["code"])
        yield statement | {"event": "left out", "name": "", "text": text}


def _name_slow(events: Iterator[Event], test: LessonTest, on_slow: OnSlow) -> Iterator[Event]:
    """The events. When a check runs for long, `on_slow` is called in another thread."""
    checks, timer = outcomes_of(test, []), None

    def say(check: CheckOutcome) -> None:
        with suppress(OSError):  # the terminal is closed
            on_slow(check)

    try:
        for event in events:
            if timer:
                timer.cancel()
            if event["event"] == "begin" and on_slow is not ignore:
                timer = threading.Timer(SLOW_SECONDS, say, [checks[event["id"]]])
                timer.daemon = True
                timer.start()
            yield event
    finally:
        if timer:
            timer.cancel()


def _stopped_as_slow(events: list[Event]) -> list[Event]:
    """The events of demonstrations; one in which the process was killed is a slow one."""
    last, exit = ([{"event": ""}] + events)[-2:]
    if last["event"] != "demonstration" or not exit["killed"]:
        return events
    slow = {"event": "slow", "cell": last["cell"], "seconds": DEMONSTRATION_SECONDS}
    return [*events[:-1], slow, {"event": "done"}, exit | {"code": 0, "killed": False}]


def _ended_well(events: list[Event]) -> bool:
    """Whether the checks ran in one process, which came to its end."""
    kinds = [event["event"] for event in events]
    exit = events[-1]
    return (
        kinds.count("exit") == kinds.count("done") == 1
        and "import failed" not in kinds
        and not exit["killed"]
        and exit["code"] == 0
    )


def _patience(test: LessonTest) -> Callable[[Event | None], float]:
    """How many seconds may pass after an event until the next."""

    def seconds_after(event: Event | None) -> float:
        kind = event["event"] if event else ""
        if kind in ("", "started"):
            return test.seconds + START_SECONDS
        if kind == "done":
            return GRACE
        return (test.seconds if kind == "begin" else DEMONSTRATION_SECONDS) + GRACE

    return seconds_after


# What follows a test and changes no verdict.


def _compare(report: LessonReport) -> None:
    """Say what is lost and what is different since the run before, and save what the demonstrations
    showed.
    """
    last = report.record.get("last", {})
    before = last.get("exercises", {})
    if report.source:
        explain_lost_lines(report.verdict, report.entry, report.source)
        hashes = progress.exercise_hashes(report.entry, report.source) if before else {}
        report.changed = [name for name in hashes if hashes[name] != before.get(name)]
        report.passed_before = last.get("verdict") == "passed"
    if report.shows and not report.verdict.partial:
        report.results = save_results(report.entry, *report.shows)
        seen = report.record.get("seen", [])
        new = [r for r in report.results if not {r.demonstration.place, seen_key(r)} & {*seen}]
        closed = track.closed_sections(report.source) if report.source else {}
        report.unseen = [r for r in new if r.demonstration.heading not in closed]
        report.folded = [r for r in new if r.demonstration.heading in closed]


def _record(report: LessonReport) -> None:
    """Remember a whole run; one that could not test anything takes nothing away."""
    entry, source, verdict = report.entry, report.source, report.verdict
    if verdict.partial:
        if source:
            _record_parts(entry, source, verdict)
        return
    code = progress.code_of(source, entry.declared) if source else ""
    records = progress.load(entry.root)["lessons"]
    below = {lower.name: status.exported(lower, records) for lower in entry.needed}
    with progress.change(entry.root, entry.name) as record:
        record.setdefault("started", progress.now())
        if source and verdict.checks_run:
            record.pop("parts", None)
            record["last"] = {
                "when": progress.now(),
                "code": code,
                "verdict": verdict.verdict,
                "points": verdict.points,
                "checks": {check.id: check.status for check in verdict.checks},
                "exercises": progress.exercise_hashes(entry, source),
                "below": below,
            }
            progress.expect_reviews(record, entry.declared)
        elif record.get("last", {}).get("code") == code:
            # The fault is elsewhere, in an earlier lesson, say: this code is not known to pass any
            # more.
            record["last"]["code"] = ""


def _record_parts(entry: Entry, source: cells.Source, verdict: Verdict) -> None:
    """Remember what became of the exercises whose checks all ran."""
    hashes = progress.exercise_hashes(entry, source)
    statuses = {check.id: check.status for check in verdict.checks}
    with progress.change(entry.root, entry.name) as record:
        for exercise in entry.declared.exercises:
            checks = {check.id: statuses[check.id] for check in exercise.checks}
            if exercise.id in hashes and "not run" not in checks.values():
                parts = record.setdefault("parts", {})
                parts[exercise.id] = {"code": hashes[exercise.id], "checks": checks}
        progress.expect_reviews(record, entry.declared)
