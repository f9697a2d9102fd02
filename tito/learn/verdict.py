"""The Verdict on a lesson, from the events of the process that ran its checks.

A lesson passes only if the process came to its end, the checks that ran are exactly those that the
course declares, each that earns points passed, and no demonstration of the lesson raises. Changes
of the checks in the learner's file have no effect, because the course's copy runs (`runner.py`).
"""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from tito.learn.process import Event
from tito.lesson import cells, outcome
from tito.lesson.absent import absent_names, left_out_names, with_reason
from tito.lesson.checks import CheckSuite
from tito.lesson.course import Entry
from tito.lesson.export import ExportedModule
from tito.lesson.given_lines import lost_line_notes, name_lost_lines
from tito.lesson.outcome import LeftOut, left_out_sentences

JSON_KEYS = (
    "lesson number verdict reason points max_points source sha256 seconds checks own_checks"
    " answers notes"
).split()
OWN_KEYS = ("unwritten", "waits", "arose", "called")  # of a check, and not in JSON
# {what ended the import: the verdict}
IMPORT_VERDICTS = {"timeout": "timed out", "memory": "out of memory"}

# The cell, the line and the code in a sentence of `outcome.LeftOut`.
LEFT_OUT = re.compile(
    r"Cell (\d+)(?:, | is left out: |, lines \d+ to \d+ are left out: )line (\d+)(?: is left out)?"
    r": (.*?): "
)

TestedModules = dict[str, tuple[Entry, cells.Source, ExportedModule]]


@dataclass(frozen=True)
class Place:
    """A line of a lesson's file; `cell` is the cell's number in a notebook."""

    path: str
    line: int | None
    cell: int | None
    code: str | None

    def __str__(self) -> str:
        cell = f" cell {self.cell}" if self.cell else ""
        return f"{self.path}{cell}:{self.line}"


@dataclass
class CheckOutcome(outcome.Outcome):
    """The outcome of one check.

    unwritten  the exercise that it waits for because that is not written yet
    waits      the exercise that it waits for: its error arises in the code of that exercise, which
               fails its own checks; or in the check itself, after a check of the same exercise said
               what is wrong; or it is a polish check of an exercise with wrong values; or it called
               code of that exercise, which is above its own and is wrong
    arose      the innermost exercise in whose code its error arose
    called     the exercises whose code it called, where that was recorded
    """

    where: Place | None = None
    output: str = ""
    unwritten: str | None = None
    waits: str | None = None
    arose: str | None = None
    called: frozenset[str] = frozenset()

    @property
    def wrong(self) -> bool:
        """Whether it ran and failed by itself."""
        return self.status not in ("passed", "not run", "unwritten") and not self.waits


@dataclass(frozen=True)
class LessonTest:
    """A lesson to be tested.

    source   the learner's file, as read
    modules  {path of a package's module: (lesson, source, module)} of this and the lower lessons
    texts    {path: text} of the modules whose text is not, or may no longer be, in the package
    own_suite  the learner's own checks
    ids      of the checks to run, the learner's own included
    seconds  that a check may take
    first_only  whether to stop at the first check that fails
    partial  whether only some checks are to run
    notes    sentences about what was overwritten, and where its copy is
    """

    entry: Entry
    source: cells.Source
    modules: TestedModules
    texts: dict[str, str]
    own_suite: CheckSuite
    ids: list[str]
    seconds: float
    first_only: bool = False
    partial: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def stubs(self) -> list[str]:
        """The exercises that are as released."""
        declared = self.entry.declared
        return [e.id for e in declared.exercises if declared.is_unwritten(e, self.source)]

    @property
    def given_up(self) -> list[str]:
        """The exercises that the learner's file has as given code."""
        return self.entry.declared.given_up(self.source)

    @property
    def places(self) -> dict[str, Place]:
        """{exercise: where it is in the learner's file}."""
        path = self.entry.relative(self.source.path)
        return {
            exercise.id: Place(
                path, cell.line, cell.number if self.source.is_notebook else None, None
            )
            for exercise in self.entry.declared.exercises
            if (cell := self.source.cell(exercise.name))
        }

    def left_out(self, events: list[Event]) -> dict[str, list[LeftOut]]:
        """{lesson: its left-out code}, of this and the lower lessons: statements that Python cannot
        read, and those that stopped when they were run.
        """
        found = {entry.name: list(module.left_out) for entry, _, module in self.modules.values()}
        stopped = {(e["file"], e["number"]): e for e in events if e["event"] == "left out"}
        for event in stopped.values():
            if event["file"] in self.modules:
                entry, _, module = self.modules[event["file"]]
                name, text = event["name"], event["text"]
                if missing := outcome.missing_name(name, text):
                    text = with_reason(text, missing, self.absent(found))
                place = module.place(event["line"])
                found[entry.name].append(LeftOut.stopped(place, event["names"], name, text))
        return found

    def absent(self, left_out: dict[str, list[LeftOut]]) -> dict[str, str]:
        """{name that this lesson or one below it lacks: why}."""
        absent: dict[str, str] = {}
        for entry, _, module in sorted(self.modules.values(), key=lambda row: row[0].number):
            own = absent_names(module) | left_out_names(left_out[entry.name])
            before = f"lesson {entry.name}, " if entry.number < self.entry.number else ""
            absent |= {name: before + why for name, why in own.items()}
        return absent

    def place(self, cell_number: int, line: int | None = None) -> str:
        """Where a cell is, or a line of it as the process names it."""
        cell = next(cell for cell in self.source.cells if cell.number == cell_number)
        return short(self.source.place(cell, line - cell.line if line else 0), self.entry)


@dataclass
class Verdict:
    """The result of one lesson in one run.

    verdict a key of `outcome.VERDICTS`
    stubs   the exercises that are as released
    given_up  the exercises that the learner's file has as given code: they earn no points
    answers {question: whether an answer to it is written}: for a person to judge, whatever the
            verdict
    remedy  what to do about the reason
    excerpt the line of the lesson that the reason is about, and a mark under it, or ""
    notes   sentences about what was overwritten, and about demonstrations that did not end well
    places  {exercise: where it is in the lesson's file}
    partial whether only some checks were asked for
    """

    lesson: str
    number: int
    verdict: str
    reason: str = ""
    points: int = 0
    max_points: int = 0
    source: str = ""
    sha256: str = ""
    seconds: float = 0.0
    checks: list[CheckOutcome] = field(default_factory=list)
    own_checks: list[CheckOutcome] = field(default_factory=list)
    answers: dict[str, bool] = field(default_factory=dict)
    stubs: list[str] = field(default_factory=list)
    given_up: list[str] = field(default_factory=list)
    remedy: str = ""
    excerpt: str = ""
    notes: list[str] = field(default_factory=list)
    places: dict[str, Place] = field(default_factory=dict)
    partial: bool = False

    @property
    def passed(self) -> bool:
        return self.verdict == "passed"

    @property
    def checks_run(self) -> list[CheckOutcome]:
        return [check for check in self.checks if check.status != "not run"]

    @property
    def selection_passed(self) -> bool:
        """Whether the lesson passed or, when only some checks were asked for, those did: as of a
        lesson, polish checks may fail.
        """
        run = self.checks_run
        some_passed = any(check.passed for check in run)
        return self.passed or (
            self.partial and some_passed and not any(check.costs_points for check in run)
        )

    def as_json(self) -> dict[str, Any]:
        """The object that `tito test --json` prints, with the verdict on the selected checks."""
        value = {key: part for key, part in asdict(self).items() if key in JSON_KEYS}
        value["reason"] = " ".join(f"{self.reason} {self.remedy}".split())
        value["first"] = self._first(value["reason"])
        if self.selection_passed:
            value |= {"verdict": "passed", "reason": "", "first": None}
        for check in value["checks"] + value["own_checks"]:
            for key in OWN_KEYS:
                del check[key]
        return value

    def _first(self, reason: str) -> dict[str, Any]:
        """What to look at first, a message and its place: left-out code, the first check that is
        wrong, or the reason, in which a place reads "PATH:12" or "PATH cell 3:12".
        """
        message, where = reason, None
        if left_out := LEFT_OUT.search(reason):
            cell, line, code = left_out.groups()
            number = int(cell) if self.source.endswith(".ipynb") else None
            where = Place(self.source, int(line), number, code)
        elif wrong := next((check for check in self.checks if check.wrong), None):
            message, where = wrong.message, wrong.where or self.places.get(wrong.exercise)
        elif named := re.search(rf"{re.escape(self.source)}(?: cell (\d+))?:(\d+)", reason):
            where = Place(self.source, int(named[2]), int(named[1] or 0) or None, None)
        return {"message": message, "where": where and asdict(where)}


def untested(entry: Entry, verdict: str, **fields: Any) -> Verdict:
    """The Verdict on a lesson whose checks could not run."""
    return Verdict(
        entry.name,
        entry.number,
        verdict,
        max_points=entry.declared.points,
        checks=list(_unrun_checks(entry)),
        **{"source": entry.relative(entry.script)} | fields,
    )


def _unrun_checks(entry: Entry) -> Iterator[CheckOutcome]:
    for check in entry.declared.checks:
        yield CheckOutcome(check.id, check.exercise, check.name, 0, check.points)


def verdict_of(test: LessonTest, events: list[Event]) -> Verdict:
    """The Verdict that the events of one or several processes earn."""
    entry = test.entry
    outcomes, left_out = outcomes_of(test, events), test.left_out(events)
    _explain_missing(test, outcomes, events, left_out)
    own = left_out[entry.name]
    checks = [outcomes.pop(check.id) for check in entry.declared.checks]
    own_checks = [o for o in outcomes.values() if o.status != "not run" or not test.partial]
    _explain_unrun(test, checks + own_checks)
    _find_causes(test, checks)
    verdict, reason, excerpt = _problem(test, events, checks, own) or _judge(
        test, events, checks, own
    )
    return Verdict(
        entry.name,
        entry.number,
        verdict,
        reason,
        sum(check.points for check in checks),
        entry.declared.points,
        entry.relative(test.source.path),
        test.source.sha256,
        checks=checks,
        own_checks=own_checks,
        answers=entry.declared.written_answers(test.source),
        stubs=test.stubs,
        excerpt=excerpt,
        given_up=test.given_up,
        notes=[
            *(sentence for sentence in left_out_sentences(own) if sentence not in reason),
            *test.notes,
            *map(given_up_note, test.given_up),
            *_demonstration_notes(test, events, checks, own),
        ],
        places=test.places,
        partial=test.partial,
    )


def explain_lost_lines(verdict: Verdict, entry: Entry, source: cells.Source) -> None:
    """Say which given line of an exercise is lost: in the message of each check that fails, and in
    a note where all of them pass. And name given code that the learner changed.
    """
    lost = entry.declared.lost_lines(source)
    name_lost_lines(lost, verdict.checks)
    verdict.notes += lost_line_notes(lost, verdict.checks)
    verdict.notes += entry.declared.changed_given(source)


def given_up_note(exercise: str) -> str:
    return f"{exercise} is marked as given, but it is yours to write: tito reset {exercise}"


# What became of each check.


def outcomes_of(test: LessonTest, events: Iterable[Event]) -> dict[str, CheckOutcome]:
    """{id: what became of the check}, of the course's checks and then the learner's own."""
    outcomes = {check.id: check for check in _unrun_checks(test.entry)}
    for check in test.own_suite.checks:
        name = check.function.removeprefix("test_").replace("_", " ")
        outcomes[check.id] = CheckOutcome(check.id, "", name, 0, 0)
    begun = None
    for event in events:
        if event["event"] == "begin":
            begun = outcomes[event["id"]]
        elif event["event"] == "check":
            begun = None
            _record(test, outcomes[event["id"]], event)
        elif event["event"] == "exit" and begun:
            begun.status = "timeout" if event["killed"] else "crashed"
            begun.message = (
                f"still running after {test.seconds:g} s, and it could not be interrupted"
                if event["killed"]
                else f"the whole process ended here, with exit code {event['code']}: does your "
                "code call os._exit, or crash Python?"
            )
            begun = None
    return outcomes


def _record(test: LessonTest, check: CheckOutcome, event: Event) -> None:
    check.status, check.message = event["status"], event["message"]
    check.seconds, check.unwritten = round(event["seconds"], 4), event.get("unwritten")
    is_earned = check.passed and check.exercise not in test.given_up
    check.points = check.max_points if is_earned else 0
    check.message, named = _in_chapter(test, check.message)
    check.where, check.arose = _where(test, event["frames"] or named, check.exercise)
    if check.where and check.status == "error" and not event.get("missing"):
        check.message += _lower_place(test, event["frames"])
    places = (place_of(frame, test.modules, test.entry)[0] for frame in event.get("called", ()))
    check.called = frozenset(f"{test.entry.name}-{cell.exercise}" for cell in places if cell)
    check.output = event["output"]
    for warning in event["warnings"] if not check.passed else ():
        where, _ = _where(test, warning["frames"], check.exercise)
        check.output += f"{where}: {warning['text']}\n  {where.code}\n" if where else ""
    if check.unwritten == check.exercise and check.exercise not in test.stubs:
        check.status, check.unwritten = "error", None
        check.message = outcome.LEFT_OVER
    elif check.unwritten and check.unwritten != check.exercise:
        check.message = f"needs exercise {check.unwritten}, which is not written yet"


def _where(
    test: LessonTest, frames: list[dict[str, Any]], exercise: str
) -> tuple[Place | None, str | None]:
    """The place to look at: the innermost in the exercise, else in the lesson, else of all.

    And the innermost exercise on the way, or None.
    """
    entry = test.entry
    exercises = {e.id for e in entry.declared.exercises}
    places: list[tuple[int, Place]] = []
    arose = None
    for frame in frames:
        cell, place = place_of(frame, test.modules, entry)
        own = cell if frame["file"] == str(entry.module_path) else None
        name = f"{entry.name}-{cell.exercise}" if cell else None
        place = place or Place(short(frame["file"], entry), frame["line"], None, frame["code"])
        places.append((2 if own and name == exercise else 1 if own else 0, place))
        arose = name if own and name in exercises else arose
    best = max((rank for rank, _ in places), default=0)
    return next((place for rank, place in reversed(places) if rank == best), None), arose


def _in_chapter(test: LessonTest, message: str) -> tuple[str, list[dict[str, Any]]]:
    """A message with the chapter's number in "line 12 of add"; and these lines as frames."""
    path, frames = str(test.entry.module_path), list[dict[str, Any]]()
    rows = ["", *test.modules[path][2].text.split("\n")]

    def renumber(found: re.Match[str]) -> str:
        number = int(found[1])
        code = rows[number].strip() if number < len(rows) else ""
        frame = {"file": path, "line": number, "code": code}
        cell, place = place_of(frame, test.modules, test.entry)
        if not cell or not place or f"def {found[2]}(" not in cell.source:  # a check's own `add`
            return found[0]
        frames.append(frame)
        return f"line {place.line} of {found[2]}"

    return re.sub(r"\bline (\d+) of (\w+)\b", renumber, message), frames


def _lower_place(test: LessonTest, frames: list[dict[str, Any]]) -> str:
    """A line for a message: where in the learner's code of a lower lesson an error arose, or ""."""
    own, last = str(test.entry.module_path), frames[-1]
    place = place_of(last, test.modules, test.entry)[1]
    if not place or last["file"] == own or own not in [frame["file"] for frame in frames]:
        return ""
    lesson = test.modules[last["file"]][0]
    whose = f"in your `{last['function']}` of lesson {lesson.number:02} {lesson.name}"
    return f"\n{whose}, {place}: {place.code}"


def place_of(
    frame: dict[str, Any], modules: TestedModules, entry: Entry
) -> tuple[cells.Cell | None, Place | None]:
    """The cell of a frame in a package's module, and its place in the lesson's own lines; (None,
    None) outside.

    entry  a lesson of the root, from which paths are relative
    """
    if frame["file"] not in modules:
        return None, None
    _, source, module = modules[frame["file"]]
    line = frame["line"] or 0
    origin = module.origin[line - 1] if 0 < line <= len(module.origin) else None
    if not origin:
        return None, None
    cell, offset = origin
    number = cell.number if source.is_notebook else None
    return cell, Place(entry.relative(source.path), cell.line + offset, number, frame["code"])


def short(text: str, entry: Entry) -> str:
    """`text` with paths relative to the root."""
    return text.replace(f"{entry.root.path}{os.sep}", "")


def _explain_missing(
    test: LessonTest,
    outcomes: dict[str, CheckOutcome],
    events: list[Event],
    left_out: dict[str, list[LeftOut]],
) -> None:
    """Say of the checks that miss a name why it is not there."""
    missing = {event["id"]: event["missing"] for event in events if event.get("missing")}
    absent = test.absent(left_out) if missing else {}
    for id, name in missing.items():
        outcomes[id].message = with_reason(outcomes[id].message, name, absent)
    for check in outcomes.values():  # what fails for lack of a line may look like another mistake
        exercise = test.entry.declared.exercise(check.exercise) if check.exercise else None
        cell = test.source.cell(exercise.name) if exercise else None
        place = f"Cell {cell.number}, " if cell else "none"
        is_damaged = any(one.words.startswith(place) for one in left_out[test.entry.name])
        if is_damaged and check.status in ("failed", "error") and check.id not in missing:
            check.message = f"A part of this exercise is left out: see the end\n{check.message}"


def _explain_unrun(test: LessonTest, checks: list[CheckOutcome]) -> None:
    """Say of the checks that did not run because others took too long or ended the process."""
    statuses = {check.status for check in checks}
    if test.partial or not statuses & {"timeout", "crashed"}:
        return
    how = "ran out of time" if "timeout" in statuses else "ended the process"
    for check in checks:
        if check.status == "not run":
            check.message = f"not run: another check {how}"


def _find_causes(test: LessonTest, checks: list[CheckOutcome]) -> None:
    """Say of the checks that cannot be right yet which exercise they wait for."""
    failing = [c for c in checks if c.status not in ("passed", "not run") and not c.unwritten]
    for check in failing:
        if check.exercise in test.stubs:
            check.status, check.unwritten = "unwritten", check.exercise
    # An exercise that passes its own checks may raise because it was called wrongly:
    # then the caller is to blame.
    wrong = {
        check.exercise
        for check in failing
        if not check.unwritten and check.arose in (None, check.exercise)
    }
    for check in failing:
        if not check.unwritten and check.status != "failed" and check.exercise != check.arose:
            check.waits = check.arose if check.arose in wrong else None
    # What is wrong with an exercise is said first: before the errors that follow from it in the
    # checks themselves, and before its polish checks, which earn no points.
    wrong_values = {c.exercise for c in failing if c.max_points and not (c.unwritten or c.waits)}
    failed: set[str] = set()
    for check in failing:
        if not check.max_points and check.exercise in wrong_values:
            check.waits = check.exercise
        elif check.status == "failed":
            failed.add(check.exercise)
        elif check.status == "error" and not check.where and check.exercise in failed:
            check.waits = check.exercise
    blamed: list[str] = []  # of the exercises above that are wrong, the first is the cause
    for check in failing:
        if not check.unwritten and not check.waits:
            above = (e for e in blamed if e in check.called and e != check.exercise)
            check.waits = next(above, None)
            if not check.waits and check.exercise in wrong & wrong_values:
                blamed.append(check.exercise)


# The verdict on the lesson: (verdict, reason, excerpt).


def _runs(events: list[Event]) -> Iterator[list[Event]]:
    """The events of each process; its last event is its exit."""
    run: list[Event] = []
    for event in events:
        run.append(event)
        if event["event"] == "exit":
            yield run
            run = []


def _problem(
    test: LessonTest, events: list[Event], checks: list[CheckOutcome], left_out: list[LeftOut]
) -> tuple[str, str, str] | None:
    """Why the lesson did not run to its end, whatever its checks say; None if it did, or if a check
    ended it. Left-out code may stop a demonstration; a note names it.
    """
    all_passed = not any(check.costs_points for check in checks)
    for run in _runs(events):
        last = {event["event"]: event for event in run}
        if failure := last.get("import failed"):
            return _import_problem(test, failure)
        if all_passed and not left_out and (stopped := last.get("stopped")):
            place = test.place(stopped["cell"], stopped["line"])
            reason = f"Every check passes, but the lesson does not run to its end: {place}: "
            return "failed", reason + stopped["message"], ""
        if run[-2:-1] and run[-2]["event"] == "begin":
            continue  # a check ended the process, and its outcome reports that
        ran_demonstrations = "demonstrations" in last
        none_run = all(check.status == "not run" for check in checks) and not ran_demonstrations
        exit = last["exit"]
        how = "did not end by itself" if exit["killed"] else f"ended with exit code {exit['code']}"
        if "done" in last:
            if exit["killed"] or exit["code"] != 0:
                reason = f"The process {how} after the last check: something in the lesson goes "
                return "failed", reason + "on, or crashes, at the end.", ""
        elif none_run:
            verdict = "timed out" if exit["killed"] else "crashed"
            return verdict, f"The process {how} while the lesson was imported.", ""
        elif all_passed:
            reason = f"Every check passes, but the process {how} before the lesson had run to its "
            return "failed", reason + "end.", ""
        elif ran_demonstrations:
            return "failed", f"The process {how} in a demonstration of what is right so far.", ""
        else:
            return "failed", f"The process {how} before its last check was done.", ""
    return None


def _import_problem(test: LessonTest, failure: Event) -> tuple[str, str, str]:
    places = (place_of(frame, test.modules, test.entry)[1] for frame in failure["frames"][::-1])
    where = next((place for place in places if place), None)
    reason = f"{where}: the" if where else "The"
    reason += f" lesson stops while it is imported: {failure['message']}"
    verdict = IMPORT_VERDICTS.get(failure["status"], "import failed")
    return verdict, reason, (where.code or "") if where else ""


def _judge(
    test: LessonTest, events: list[Event], checks: list[CheckOutcome], left_out: list[LeftOut]
) -> tuple[str, str, str]:
    """The verdict that the checks earn, and what is to be done."""
    if len(test.stubs) == (most := len(test.entry.declared.exercises)):
        return "stub", f"Nothing is written yet: {most} exercises to write.", ""
    statuses = [check.status for check in checks if not test.partial or check.status != "not run"]
    if not statuses:
        return "failed", "No check was run: none has that name.", ""
    verdict = outcome.verdict_of(checks, left_out)
    if verdict == "passed":
        ended = all("done" in {event["event"] for event in run} for run in _runs(events))
        return ("passed", "", "") if ended else ("crashed", "A check ended the whole process.", "")
    waiting = [check.waits for check in checks if check.waits]
    sentences = [*left_out_sentences(left_out), outcome.count_of(statuses, waiting)]
    problems = test.modules[str(test.entry.module_path)][2].problems
    return verdict, " ".join(sentences), problems[0].excerpt if problems else ""


def _demonstration_notes(
    test: LessonTest, events: list[Event], checks: list[CheckOutcome], left_out: list[LeftOut]
) -> Iterator[str]:
    for event in events:
        if event["event"] == "slow":
            yield (
                f"{test.place(event['cell'])}: a demonstration takes more than "
                f"{event['seconds']:g} s; it was stopped, which changes nothing"
            )
        elif event["event"] == "stopped" and (left_out or any(c.costs_points for c in checks)):
            if outcome.unwritten_exercise(*event["message"].split(": ", 1)):
                continue  # the checks name the exercises that are open
            yield (
                f"{test.place(event['cell'], event['line'])}: a demonstration of what is right so "
                f"far stops: {event['message']}"
            )
