"""Print the results of a tested lesson, for `tito test` and `tito watch`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tito.cli.app import echo

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tito.learn.demonstrations import DemonstrationResult
    from tito.learn.runner import LessonReport
    from tito.learn.verdict import Verdict
    from tito.lesson.course import Entry
    from tito.views.report import Around

    # The learner's answer to a question: "" for none, None when something else comes first
    Ask = Callable[[RenderableType], str | None]

MOST_SHOWN = 6  # results of demonstrations are shown after a run


def show_report(
    entry: Entry,
    report: LessonReport,
    whole: bool = True,
    has_keys: bool = False,
) -> list[DemonstrationResult]:
    """Print a tested lesson: the new results of its demonstrations, then what is right and wrong.

    whole     show all exercises, not only the verdict
    has_keys  whether a key shows the results that the learner should predict

    Returns the results that the learner has not seen yet.
    """
    from tito import views
    from tito.learn import demonstrations, progress
    from tito.views import report as report_views

    verdict, with_results = report.verdict, whole and not entry.root.is_course
    echo(report_views.heading(verdict))
    payoffs, waiting = [], []
    if with_results:
        payoffs = demonstrations.payoffs_of(report.results) if verdict.passed else []
        # The answer to a question stays below it; the lesson's other closing results come last.
        payoffs = [p for p in payoffs if not (p.demonstration.question and p in report.unseen)]
        unseen = [result for result in report.unseen if result not in payoffs]
        waiting = _show_first(entry, unseen, has_keys)
        echo(*report_views.results_of_given(report.folded, entry.name))
    records = progress.load(entry.root)["lessons"]
    predictions = records.get(entry.name, {}).get("predictions")
    if verdict.passed and with_results and not report.passed_before and predictions:
        echo(report_views.predictions(len(predictions), entry.name))
    around = _around(entry, verdict, whole, records)
    around.whole, around.key = whole, "h" if has_keys else None
    if payoffs:
        around.end = [report_views.payoffs(payoffs, lambda path: views.link(entry.root, path))]
    echo(report_views.tested(report, around))
    demonstrations.mark_seen(entry, payoffs + report.folded * with_results)
    return waiting


def _show_first(
    entry: Entry, unseen: list[DemonstrationResult], has_keys: bool
) -> list[DemonstrationResult]:
    """Print the results that a test shows: as many as are read, and none that the learner should
    predict first. Where a key shows the rest, only those above the first question. Returns the
    others.
    """
    from tito.views import report as report_views

    held = _to_predict(entry, unseen)
    ready = [result for result in unseen if result not in held]
    if has_keys and held:
        ready = unseen[: unseen.index(held[0])]
    shown = ready[:MOST_SHOWN]
    waiting = show_results(entry, shown) + [r for r in unseen if r not in shown]
    if unseen and not (waiting and has_keys):
        key = "o" if has_keys else None
        echo(report_views.all_results(entry.name, len(waiting) - len(held), key, len(held)))
    return waiting


def _to_predict(entry: Entry, unseen: list[DemonstrationResult]) -> list[DemonstrationResult]:
    """The answers to questions without a prediction, and what follows them in their sections."""
    from tito.learn import progress

    predictions, held, heading = progress.predictions(entry), [], None
    for result in unseen:
        demonstration = result.demonstration
        if demonstration.question and demonstration.question not in predictions:
            heading = demonstration.heading
        if demonstration.heading == heading:
            held.append(result)
    return held


def show_results(
    entry: Entry, results: list[DemonstrationResult], ask: Ask | None = None
) -> list[DemonstrationResult]:
    """Print what demonstrations show. Above the answer to a question, print the code and ask what
    the learner expects.

    Returns those that are not shown, because `ask` returned None.
    """
    from tito import views
    from tito.learn import demonstrations, lesson_page, progress
    from tito.views import report as report_views

    if not results:
        return []
    predictions = progress.predictions(entry)
    written = any(result.demonstration.before for result in results)
    code = "with your code" if written else "above the first exercise"
    echo(report_views.section(f"Results {code}", "bold cyan"))
    heading, number = "", 0
    for number, result in enumerate(results, 1):
        demonstration = result.demonstration
        if demonstration.heading != heading:
            heading = demonstration.heading
            echo(report_views.section(heading))
        asks = bool(ask and demonstration.question and demonstration.question not in predictions)
        if ask and asks:
            answer = ask(report_views.question_about(demonstration))
            if answer is None:
                number -= 1
                break
            if answer:
                lesson_page.save_prediction(entry, demonstration.question, answer)
        echo(report_views.result(result, lambda path: views.link(entry.root, path), not asks))
    demonstrations.mark_seen(entry, results[:number])
    return results[number:]


def needed(
    entry: Entry, records: dict[str, Any], unwritten: Iterable[str] = ()
) -> RenderableType | None:
    """The line about the lessons to write before this one, None if there are none."""
    from tito import views
    from tito.learn import status, update

    names = status.needs(entry, records, unwritten)
    if not names:
        return None
    return views.needed(entry.name, names, update.can_choose(entry.root))


def _around(entry: Entry, verdict: Verdict, whole: bool, records: dict[str, Any]) -> Around:
    """The facts that the report of a lesson needs about hints, the book and the rest of the course.

    records  the progress of all lessons
    """
    from tito.learn import status
    from tito.views.report import Around

    # Row by row, since the first open lesson ends the search.
    rows = (status.row(other, records.get(other.name, {})) for other in entry.root.lessons)
    is_done = verdict.passed and whole
    step = status.next_step(rows) if is_done else None
    opened = records.get(entry.name, {}).get("hints_shown", {})
    exercises = entry.declared.exercises
    unwritten = {check.unwritten for check in verdict.checks if check.unwritten}
    lower = unwritten - {exercise.id for exercise in exercises}
    return Around(
        hints={e.id: len(e.hints) - len(opened.get(e.id, [])) for e in exercises},
        addresses={e.id: entry.address(e.id) for e in exercises},
        following=step[0] if step else None,
        complete=is_done and not (step or entry.root.is_course),
        needed=needed(entry, records, lower) if lower else None,
    )
