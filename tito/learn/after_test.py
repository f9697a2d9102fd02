"""What follows the test of a lesson and changes no verdict: the results of demonstrations are
saved, then the progress, the notebook and the page.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tito.errors import WorkError
from tito.learn import lesson_page, notebook_sync, progress, status
from tito.learn.demonstrations import Demonstration, DemonstrationResult, Known, save_results
from tito.learn.verdict import Verdict
from tito.lesson.cells import Source
from tito.lesson.course import Entry

# A lesson's demonstrations; those whose results are known; {number of a cell: what it showed now}
Shows = tuple[list[Demonstration], Known, dict[int, dict[str, Any]]]


@dataclass
class LessonReport:
    """A tested lesson, for the learner who works on it.

    record    its progress before the test
    source    its file; None if it could not be tested
    shows     what its demonstrations showed; None if they were not asked for

    The listeners fill in the others:

    changed   the exercises whose code is another than in the run before
    results   what the demonstrations show that are known to run, in their order
    unseen    the results that the learner has not seen yet
    passed_before  whether the lesson had passed in the run before, too
    """

    entry: Entry
    verdict: Verdict
    record: dict[str, Any]
    source: Source | None = None
    shows: Shows | None = None
    changed: list[str] = field(default_factory=list)
    results: list[DemonstrationResult] = field(default_factory=list)
    unseen: list[DemonstrationResult] = field(default_factory=list)
    passed_before: bool = False


def compare(report: LessonReport) -> None:
    """Say what is different since the run before."""
    last = report.record.get("last", {})
    before = last.get("exercises", {})
    if report.source:
        hashes = progress.exercise_hashes(report.entry, report.source) if before else {}
        report.changed = [name for name in hashes if hashes[name] != before.get(name)]
        report.passed_before = last.get("verdict") == "passed"


def keep_results(report: LessonReport) -> None:
    """Save what the demonstrations showed."""
    if report.shows and not report.verdict.partial:
        report.results = save_results(report.entry, *report.shows)
        seen = report.record.get("seen", [])
        report.unseen = [r for r in report.results if r.demonstration.place not in seen]


def record(report: LessonReport) -> None:
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
        elif record.get("last", {}).get("code") == code:
            # The fault is elsewhere, in an earlier lesson, say: this code is not known to pass any
            # more.
            record["last"]["code"] = ""


def _record_parts(entry: Entry, source: Source, verdict: Verdict) -> None:
    """Remember what became of the exercises whose checks all ran."""
    hashes = progress.exercise_hashes(entry, source)
    statuses = {check.id: check.status for check in verdict.checks}
    with progress.change(entry.root, entry.name) as record:
        for exercise in entry.declared.exercises:
            checks = {check.id: statuses[check.id] for check in exercise.checks}
            if exercise.id in hashes and "not run" not in checks.values():
                parts = record.setdefault("parts", {})
                parts[exercise.id] = {"code": hashes[exercise.id], "checks": checks}


def settle(report: LessonReport) -> None:
    """Bring notebook and script to the same state, after the one that counts was tested."""
    entry, verdict = report.entry, report.verdict
    with suppress(WorkError):  # the verdict says what is wrong with the lesson
        if backup := notebook_sync.settle(entry):
            follows = entry.script if verdict.source.endswith(".ipynb") else entry.notebook
            verdict.notes.append(
                f"{entry.relative(follows)} was brought up to date; what it "
                f"held before is in {backup}"
            )


def refresh_page(report: LessonReport) -> None:
    lesson_page.refresh(report.entry)


LISTENERS = compare, keep_results, record, settle, refresh_page
