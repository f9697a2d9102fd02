"""Print a tested lesson, for `tito test` and `tito watch`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tito.cli.app import echo

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from tito.learn.demonstrations import Result
    from tito.learn.runner import Report
    from tito.lesson.course import Entry

    Ask = Callable[[Text], str]  # the learner's answer to a question, "" for none

MOST_SHOWN = 6  # demonstrations of a run are shown


def show_report(
    entry: Entry,
    report: Report,
    whole: bool = True,
    has_keys: bool = False,
    ask: Ask | None = None,
) -> None:
    """Print a tested lesson: what its demonstrations show now, then what is right and wrong.

    whole  with everything about the lesson, not only the sum
    ask    asks for the learner's prediction, where somebody can type
    """
    from tito import views
    from tito.learn import demonstrations, progress, status
    from tito.views import report as report_views

    verdict = report.verdict
    echo(report_views.heading(verdict))
    with_results = whole and not entry.root.is_course
    shown = report.shown if with_results else []
    payoffs: list[Result] = []
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
    record = records.get(entry.name, {})
    if verdict.passed and with_results and not report.passed_before:
        if answers := record.get("predictions"):
            echo(report_views.predictions(answers))
    # Row by row: the first lesson that is open ends the reading.
    rows = (status.row(other, records.get(other.name, {})) for other in entry.root.lessons)
    step = status.next_step(rows) if verdict.passed and whole else None
    opened = record.get("hints", {})
    passed = sum(r.get("last", {}).get("verdict") == "passed" for r in records.values())
    end: list[RenderableType] = []
    if payoffs:
        end.append(report_views.payoffs(payoffs, lambda path: views.link(entry.root, path)))
    exercises = entry.declared.exercises
    around = report_views.Around(
        hints={e.id: len(e.hints) - opened.get(e.id, 0) for e in exercises},
        addresses={e.id: entry.address(e.id) for e in exercises},
        whole=whole,
        following=step[0] if step else None,
        key="h" if has_keys else None,
        course=(passed, len(entry.root.lessons)),
        end=end,
    )
    echo(report_views.tested(report, around))


def _show_results(
    entry: Entry, report: Report, shown: list[Result], has_keys: bool, ask: Ask | None
) -> None:
    """Print what demonstrations of what turned right show; of each that answers a question, ask
    what the learner expects first.
    """
    from tito import views
    from tito.learn import demonstrations
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
            demonstrations.predict(entry, question, answer, report.results)
        echo(report_views.result(result, link, with_question=not question))
    left_out = max(0, len(shown) - MOST_SHOWN)
    page = entry.relative(demonstrations.page_of(entry))
    echo(report_views.results_page(page, left_out, link, "o" if has_keys else None))
