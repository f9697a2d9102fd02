"""Print a tested lesson, for `tito test` and `tito watch`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tito.cli.app import echo

if TYPE_CHECKING:
    from rich.text import Text

    from tito.learn.demonstrations import DemonstrationResult
    from tito.learn.runner import LessonReport
    from tito.lesson.course import Entry
    from tito.views.report import Around

    Ask = Callable[[Text], str]  # the learner's answer to a question, "" for none

MOST_SHOWN = 6  # demonstrations of a run are shown


def show_report(
    entry: Entry,
    report: LessonReport,
    whole: bool = True,
    has_keys: bool = False,
    ask: Ask | None = None,
) -> None:
    """Print a tested lesson: what its demonstrations show now, then what is right and wrong.

    whole  with everything about the lesson, not only the sum
    ask    asks for the learner's prediction, where there is a keyboard
    """
    from tito import views
    from tito.learn import demonstrations, progress
    from tito.views import report as report_views

    verdict = report.verdict
    echo(report_views.heading(verdict))
    with_results = whole and not entry.root.is_course
    shown = report.shown if with_results else []
    payoffs: list[DemonstrationResult] = []
    if verdict.passed and with_results:
        # What answers a question stays below it; all other payoffs of the lesson come last.
        payoffs = [
            result
            for result in demonstrations.payoffs_of(report.results)
            if not (result.demonstration.question and result in shown)
        ]
    _show_results(
        entry, report, [result for result in shown if result not in payoffs], has_keys, ask
    )
    records = progress.load(entry.root)["lessons"]
    if verdict.passed and with_results and not report.passed_before:
        if answers := records.get(entry.name, {}).get("predictions"):
            echo(report_views.predictions(answers))
    around = _around(entry, verdict.passed and whole, records)
    around.whole, around.key = whole, "h" if has_keys else None
    if payoffs:
        around.end = [report_views.payoffs(payoffs, lambda path: views.link(entry.root, path))]
    echo(report_views.tested(report, around))


def _around(entry: Entry, with_next: bool, records: dict[str, Any]) -> Around:
    """What the report of a lesson says about its hints, the book and the rest of the course.

    with_next  with the command to type next
    records    the progress of all lessons
    """
    from tito.learn import status
    from tito.views.report import Around

    # Row by row: the first lesson that is open ends the reading.
    rows = (status.row(other, records.get(other.name, {})) for other in entry.root.lessons)
    step = status.next_step(rows) if with_next else None
    opened = records.get(entry.name, {}).get("hints", {})
    passed = sum(r.get("last", {}).get("verdict") == "passed" for r in records.values())
    exercises = entry.declared.exercises
    return Around(
        hints={e.id: len(e.hints) - opened.get(e.id, 0) for e in exercises},
        addresses={e.id: entry.address(e.id) for e in exercises},
        following=step[0] if step else None,
        course=(passed, len(entry.root.lessons)),
    )


def _show_results(
    entry: Entry,
    report: LessonReport,
    shown: list[DemonstrationResult],
    has_keys: bool,
    ask: Ask | None,
) -> None:
    """Print what demonstrations of what turned right show; of each that answers a question, ask
    what the learner expects first.
    """
    from tito import views
    from tito.learn import lesson_page
    from tito.views import report as report_views

    def link(path: str) -> Text:
        return views.link(entry.root, path)

    if not shown:
        return
    echo(report_views.with_your_code(any(result.demonstration.before for result in shown)))
    heading = ""
    for result in shown[-MOST_SHOWN:]:
        if result.demonstration.heading != heading:
            heading = result.demonstration.heading
            echo(report_views.section(heading))
        question = result.demonstration.question if ask else ""
        if ask and question and (answer := ask(report_views.question(question))):
            lesson_page.save_prediction(entry, question, answer)
        echo(report_views.result(result, link, with_question=not question))
    left_out = max(0, len(shown) - MOST_SHOWN)
    echo(report_views.all_results(entry.name, left_out, "o" if has_keys else None))
