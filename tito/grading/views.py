"""Format results of grading for the terminal, as rich renderables.

Nothing here prints, reads or decides.
"""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from tito.grading.gradebook.grade import WAITING, Grade, OverrideReview
from tito.grading.gradebook.history import Change, PointsChange
from tito.grading.gradebook.late import shown
from tito.grading.gradebook.views import history
from tito.safe_text import plain, visible
from tito.views import count, table

if TYPE_CHECKING:
    from tito.grading.page.similarity import Pair
    from tito.grading.run import Progress

DOUBTS = 20  # overrides listed after a run; `gradebook show --overrides` lists all
NAMED = 10  # late submissions listed in a summary


def class_summary(progress: "Progress", level: str, where: str | Path) -> RenderableType:
    """A summary of a run of `tito grade`: submissions, rate, isolation level, verdicts."""
    rate = (
        f", {progress.graded / progress.seconds:.1f} a second"
        if progress.graded and progress.seconds
        else ""
    )
    parts: list[RenderableType] = [
        Text(
            f"{progress.graded} of {progress.total} submissions graded in "
            f"{progress.seconds:.1f} s{rate}; {progress.unchanged} were graded already."
        ),
        Text(f"isolation: {level}; gradebook: {where}", "dim"),
    ]
    if progress.verdicts:
        verdicts = table("verdict", "lessons")
        for verdict, number in sorted(progress.verdicts.items(), key=lambda pair: -pair[1]):
            verdicts.add_row(verdict, str(number))
        parts.append(verdicts)
    return Group(*parts)


def progress_line(progress: "Progress") -> str:
    """Progress: "120 of 300 submissions, 40%, 1.4 a second, about 2 min left"."""
    done, total, seconds = progress.done, progress.total, progress.seconds
    words = [f"{done} of {total} submissions", f"{done / total:.0%}" if total else ""]
    if progress.graded and seconds:
        left = (total - done) * seconds / progress.graded
        unit = f"{left / 60:.0f} min" if left >= 90 else f"{left:.0f} s"
        words += [f"{progress.graded / seconds:.1f} a second", f"about {unit} left"]
    return ", ".join(word for word in words if word)


def arrivals(grades: Sequence[Grade]) -> Iterator[Text]:
    """A few lines on when the work of these Grades arrived; [] if nothing can be late."""
    handed_in = [grade for grade in grades if grade.row.is_work]
    late = sorted(
        (grade for grade in handed_in if grade.is_late),
        key=lambda grade: grade.points == grade.before_late,
    )
    unknown = [grade for grade in handed_in if grade.arrival_unknown]
    if not (late or any(grade.lateness.due for grade in handed_in)):
        return
    in_time = len(handed_in) - len(late) - len(unknown)
    words = f"{in_time} in time, {len(late)} late"
    if unknown:
        words += f", {len(unknown)} at an unknown time, which count as in time"
    yield Text(f"arrived: {words}.")
    for grade in late[:NAMED]:
        cost = grade.points - grade.before_late
        yield Text(
            f"  {plain(grade.student)}  {grade.lesson}  {grade.late_reason}"
            + (f", {grade.before_late} -> {grade.points}" if cost else ", costs nothing")
        )
    if len(late) > NAMED:
        yield Text(f"  and {len(late) - NAMED} more: tito gradebook show")
    if unknown:
        yield Text(
            "  Only the time of their download or clone is known. Give the times of arrival with "
            "--submitted."
        )


def others_count(grades: Sequence[Grade], files: dict[tuple[str, str], str]) -> Iterator[Text]:
    """A line on files of this run that do not count because another submission does, or [].

    files  {(learner, lesson): SHA-256 of the file that came}
    """
    others = [
        f"{plain(grade.student)} {grade.lesson}"
        for grade in grades
        if files.get((grade.student, grade.lesson)) not in (None, "", grade.row.sha256)
    ]
    if others:
        rest = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
        yield Text(
            f"{count(len(others), 'file')} of these submissions "
            f"{'does' if len(others) == 1 else 'do'} not count, since another one of that lesson "
            f"does: {', '.join(others[:NAMED])}{rest}. See: tito gradebook show --student ID"
        )


def strange(grades: Iterable[Grade], new: dict[str, str]) -> Iterator[Text]:
    """A line for each learner who handed in nothing of a lesson that can be read, or [].

    grades  of such learners
    new     {learner: what they handed in} of this run
    """
    reasons = {grade.student: grade.result.reason for grade in grades} | new
    if reasons:
        yield Text(
            f"{count(len(reasons), 'learner')} handed in no file of a lesson that can be read:"
        )
    for student, reason in list(reasons.items())[:NAMED]:
        yield Text(f"  {plain(student)}: {plain(reason, 500)}")
    if len(reasons) > NAMED:
        yield Text(f"  and {len(reasons) - NAMED} more: tito gradebook page")


def to_judge(grades: Sequence[Grade]) -> Iterator[Text]:
    """A line on how many answers of these Grades a person has to grade, or []."""
    waiting = sum(answer.state == WAITING for grade in grades for answer in grade.answers)
    if waiting:
        yield Text(
            f"{count(waiting, 'answer')} to be judged by a person. Until then they count "
            "0: tito gradebook page"
        )


def points_lost(changes: Sequence[PointsChange], verb: str = "fell") -> Iterator[str]:
    """Grades that fell, or in a dry run "would fall": a headline, then a line for each with the
    learner, the points before and after, and the reason.
    """
    yield f"{count(len(changes), 'grade')} {verb}:"
    for change in changes:
        why = f"  ({visible(change.why, 200, 1)})" if change.why else ""
        name = f" ({plain(change.name)})" if change.name not in ("", change.student) else ""
        points = f"{change.old} -> {change.new}"
        yield f"  {plain(change.student)}{name}  {change.lesson}  {points}{why}"


def dry_run(changes: Sequence[Change]) -> Iterator[RenderableType]:
    """The changes of grades that a run would write, and how many would rise, fall or be new."""
    yield from history(changes)
    moves: dict[tuple[str, str | None], tuple[Decimal | None, Decimal]] = {}
    for change in changes:
        place = change.student, change.lesson
        old = moves[place][0] if place in moves else change.old_points
        moves[place] = old, change.new_points or Decimal(0)
    rise = sum(old is not None and new > old for old, new in moves.values())
    fall = sum(old is not None and new < old for old, new in moves.values())
    new = sum(old is None for old, _ in moves.values())
    yield f"{rise} would rise, {fall} would fall, {new} would be new. Nothing was written."


def doubtful(overrides: Sequence[OverrideReview]) -> list[str]:
    """The overrides to review after a run, as lines."""
    reviews = [review for review in overrides if review.doubt]
    if not reviews:
        return []
    lines = []
    for review in reviews[:DOUBTS]:
        check = f" {plain(review.check)}" if review.check else ""
        points, who = shown(review.override.points), plain(review.override.who, 40)
        lines.append(
            f"  {plain(review.student, 40)}  {review.lesson}{check}: set to {points} by {who}; "
            f"{plain(review.doubt)}"
        )
    if len(reviews) > DOUBTS:
        lines.append(f"  and {len(reviews) - DOUBTS} more")
    head = f"{count(len(reviews), 'override')} to look at again: tito gradebook show --overrides"
    return [head, *lines]


def similar(pairs: Sequence["Pair"], threshold: float) -> RenderableType:
    """A row per pair of submissions of one lesson."""
    if not pairs:
        return Text(f"No two submissions are as similar as {threshold:.0%}.")
    listing = table("lesson", "pair", "")
    listing.add_column("similarity", justify="right")
    listing.add_column("in common", justify="right")
    for pair in pairs:
        listing.add_row(
            f"{pair.number:02} {pair.lesson}",
            Text(plain(pair.one)),
            Text(plain(pair.two)),
            f"{pair.similarity:.0%}",
            count(pair.tokens, "character"),
        )
    return Group(
        listing, Text("Similar code need not be copied: look at both before you decide.", "dim")
    )
