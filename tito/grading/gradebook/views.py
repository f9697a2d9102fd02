"""Format the gradebook for the terminal, as rich renderables.

Nothing here prints, reads or decides.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.table import Table
from rich.text import Text

from tito.grading.gradebook import late
from tito.grading.gradebook.changes import ChangeOutcome
from tito.grading.gradebook.enrollment import Enrollment
from tito.grading.gradebook.exercise_table import ExerciseRow
from tito.grading.gradebook.exports import Selection
from tito.grading.gradebook.grade import ClassMember, Comment, Grade, OverrideReview, is_strange
from tito.grading.gradebook.history import Change
from tito.grading.gradebook.late import shown
from tito.grading.gradebook.merging import Merge
from tito.grading.gradebook.requested_changes import RequestedChange
from tito.safe_text import plain, visible
from tito.views import count, table

NAMED = 10  # learners that a sentence names
IsEmpty = Callable[[Grade], bool]  # whether a grade is exported as an empty cell


def grades(
    rows: Iterable[tuple[ClassMember, list[Grade]]],
    lessons: dict[str, tuple[int, str, int]],
    is_empty: IsEmpty,
) -> Group:
    """The class: a row per learner. lessons: {name: (number, title, points)}."""
    most_points = [most for _, _, most in lessons.values()]
    heads = (
        ["student", "name", *(f"{number:02}" for number, _, _ in lessons.values()), "total"],
        ["", "", *(f"of {most}" for most in (*most_points, sum(most_points)))],
    )
    listing = [[(text, "dim") for text in head] for head in heads]
    marks = ""
    for learner, mine in rows:
        by_lesson = {grade.lesson: grade for grade in mine}
        points = [_points(by_lesson.get(name), is_empty) for name in lessons]
        marks += "".join(text for text, _ in points) + "(" * bool(learner.state)
        total = _total([grade for grade in mine if not is_empty(grade)])
        ends = [(plain(learner.student, 40), ""), (_name(learner), "")]
        listing.append([*ends, *points, (total, "")])
    legend = ["   ".join(f"{number:02} {name}" for name, (number, _, _) in lessons.items())]
    notes = {
        "*": "* set by hand",
        "~": "~ late",
        "?": "? with an answer to be judged",
        "!": "! handed in, but no file of the lesson that can be read",
        "#": "# graded by other checks than today's: grade again",
        "(": "(left), (stranger: in no roster): not exported",
    }
    legend += [words for mark, words in notes.items() if mark in marks]
    return Group(Aligned(listing), *(Text(words, "dim") for words in legend))


@dataclass
class Aligned:
    """Rows of cells, (text, style): an id, a name, which is cut if the terminal is narrow, and
    numbers. For 2,000 learners rich's own table takes seconds.
    """

    rows: list[list[tuple[str, str]]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        columns = zip(*self.rows, strict=True)
        widths = [max(cell_len(text) for text, _ in column) for column in columns]
        room = options.max_width - sum(widths) - 2 * len(widths)
        widths[1] = max(len("name"), widths[1] + min(0, room))
        table = Text(no_wrap=True)
        for row in self.rows:
            for place, ((text, style), width) in enumerate(zip(row, widths)):
                if cell_len(text) > width:
                    text = set_cell_size(text, width - 1) + "…"
                spaces = " " * (width - cell_len(text))
                table.append(text + spaces if place < 2 else spaces + text, style).append("  ")
            table.append("\n")
        table.right_crop()
        yield table


def _points(grade: Grade | None, is_empty: IsEmpty) -> tuple[str, str]:
    if not grade or is_empty(grade):
        return "!" if grade and is_strange(grade) else "-", "dim"
    marks = "*" * grade.is_by_hand + "~" * grade.is_late + "?" * bool(grade.to_judge)
    marks += "#" * grade.outdated
    return f"{grade.points}{marks}", "green" if grade.points == grade.max_points else ""


def _name(learner: ClassMember) -> str:
    state = f"({learner.state}) " * bool(learner.state)
    group = f", group {plain(learner.group)}" * bool(learner.group)
    return f"{state}{plain(learner.name)}{group}"


def _total(grades: list[Grade]) -> str:
    """The sum of these grades; an export has an empty cell where there are none."""
    return shown(sum((grade.points for grade in grades), Decimal(0))) if grades else "-"


def grade_table(grades: Iterable[Grade], is_empty: IsEmpty, notes: bool = False) -> Table:
    """Grades with the reasons for their points. notes: also say which of several files counted."""
    listing = table("student", "lesson", "points", "verdict", "base", "why")
    for grade in grades:
        words = [visible(why, 300, 5) for why in _reasons(grade, notes) if why]
        listing.add_row(
            Text(plain(grade.student)),
            f"{grade.number:02} {grade.lesson}",
            f"{'-' if is_empty(grade) else grade.points} of {grade.max_points}",
            grade.result.verdict,
            grade.result.base,
            Text("\n".join(words), overflow="fold"),
        )
    return listing


def _reasons(grade: Grade, notes: bool) -> Iterator[str]:
    result, override = grade.result, grade.override
    yield result.reason
    yield grade.parts()
    yield from result.notes if notes else ()
    yield grade.late_reason
    if notes and grade.lateness.due or grade.lateness.marked and not grade.late_reason:
        yield grade.arrival()
    if notes and grade.submissions > 1:
        yield f"counts of {grade.submissions} submissions of this lesson"
    if grade.outdated:
        yield f"graded by other checks than today's (edition {result.edition}): grade again"
    if override:
        yield f"set by {override.who}, graded {result.points}: {override.why}"
    for check, by_hand in grade.check_overrides.items() if not override else ():
        yield f"check {check} set to {by_hand.points} by {by_hand.who}: {by_hand.why}"
    for comment in grade.comments:
        yield f"comment by {comment.who}: {comment.placed}"
    if blamed := sorted({check.caused_by for check in result.checks if check.caused_by}):
        yield f"on the course's {', '.join(blamed)}; with their own it fails"


def grade_checks(grade: Grade) -> Table:
    """The checks of a grade with their messages, and their ids for `gradebook set --check`."""
    listing = table("points", "check")
    listing.columns[0].no_wrap = True
    for check in grade.result.checks:
        mark = "*" * (check.id in grade.check_overrides)
        about = Text(plain(check.id) + " (hidden)" * check.hidden, overflow="fold")
        if not check.passed or check.caused_by:
            words = f"\n{check.status}: {visible(check.message, 300, 3)}"
            about.append(words, "dim" if check.passed else "")
        listing.add_row(f"{grade.check_points(check)}{mark} of {check.max_points}", about)
    for answer in grade.answers:
        about = Text(f"answer {plain(answer.question)}: {answer.state}", overflow="fold")
        if answer.override:
            about.append(f" by {plain(answer.override.who)}")
        listing.add_row(f"{shown(answer.points)} of {answer.max_points}", about)
    return listing


def graded_by(grade: Grade) -> str:
    """When a grade was made, and by which edition, commit, tito and checks."""
    checks = f"checks {grade.result.check_texts[:12]}" * bool(grade.result.check_texts)
    by = ", ".join(filter(None, [plain(grade.result.made_by), checks]))
    return f"graded {grade.graded:%Y-%m-%d %H:%M} UTC" + f" by {by}" * bool(by)


def comment_line(comment: Comment) -> str:
    return f"comment by {plain(comment.who)}: {visible(comment.text)}"


def overrides(reviews: Iterable[OverrideReview]) -> RenderableType:
    """The overrides in force, a row for each: learner, points, author, reason and doubts."""
    listing = table("student", "lesson", "set to", "graded", "by", "why", "look again")
    for review in reviews:
        graded = "gone" if review.graded is None and review.check else review.graded
        listing.add_row(
            Text(plain(review.student, 40)),
            Text(review.lesson + (f"\n{plain(review.check)}" if review.check else "")),
            shown(review.override.points),
            "-" if graded is None else str(graded),
            Text(plain(review.override.who, 40)),
            Text(plain(review.override.why)),
            Text(plain(review.doubt)),
        )
    return listing if listing.row_count else "No points are set by hand."


def exercises(rows: Iterable[ExerciseRow]) -> RenderableType:
    """The results of the class by exercise."""
    listing = table("exercise", "right", "of", "most frequent mistake")
    for column in listing.columns[1:3]:
        column.justify = "right"
    for row in rows:
        words = f"{row.showed_it}: {plain(row.mistake)}" if row.mistake else ""
        share = f"{row.right / row.learners:.0%}"
        listing.add_row(Text(plain(row.exercise)), share, str(row.learners), Text(words))
    return listing if listing.row_count else "No work has run yet: tito grade SUBMISSIONS"


def changes(outcomes: Iterable[ChangeOutcome]) -> Table:
    """The changes of a table, made or previewed, a row for each."""
    listing = table("student", "lesson", "points", "change")
    listing.columns[2].no_wrap = True
    for outcome in outcomes:
        points = (
            "" if outcome.old is None or outcome.new is None else f"{outcome.old} -> {outcome.new}"
        )
        if outcome.old == outcome.new:
            points = "" if outcome.old is None else str(outcome.old)
        words = requested(outcome.change) + ("" if outcome.is_new else " (holds already)")
        listing.add_row(
            Text(plain(outcome.change.student, 40)),
            outcome.change.lesson or "all lessons",
            points,
            Text(visible(words, 300, 3), "" if outcome.is_new else "dim", overflow="fold"),
        )
    return listing


def requested(change: RequestedChange) -> str:
    """A requested change in words."""
    if change.kind == "override":
        what = change.check or "the lesson"
        words = "lifted" if change.points is None else f"set to {shown(change.points)}"
        return f"{what} {words}: {change.why}"
    if change.kind == "extension":
        return f"more time {late.more_time(change.extension)}: {change.why}"
    return "comments taken back" if change.text is None else f"comment: {change.text}"


def history(changes: Iterable[Change]) -> Iterator[Text]:
    """The history, oldest first."""
    for change in changes:
        words = change.words()
        yield Text.assemble(
            (f"{change.when:%Y-%m-%d %H:%M:%S} UTC", "dim"),
            "  ",
            plain(change.student),
            f"  {change.lesson or 'all lessons'}  ",
            (change.kind, "bold"),
            f"  {change.move}  " if change.move else "  ",
            "by ",
            plain(change.who),
            ": " if words else "",
            visible(words, 2000, 20),
        )


def roster(learners: Iterable[ClassMember]) -> RenderableType:
    """Who is in the class."""
    listing = table("student", "name", "email", "section", "group", "")
    for one in learners:
        cells = (one.student, one.name, one.email, one.section, one.group, one.state)
        listing.add_row(*(Text(plain(cell, 60)) for cell in cells))
    nobody = "No learner is in this gradebook: tito gradebook roster CSV"
    return listing if listing.row_count else nobody


def enrollment(enrolled: Enrollment, whole_class: bool = False) -> Iterator[str]:
    """Sentences about a roster that was read."""
    yield from enrolled.remarks
    if enrolled.groups:
        yield f"{count(enrolled.groups, 'group')}: one hand-in counts for all learners of a group"
    if enrolled.left_out:
        yield f"no learners, left out: {_names(enrolled.left_out)}"
    for stranger, learner in enrolled.theirs.items():
        yield f"{plain(stranger)} was in no roster; the grades are {plain(learner)}'s now"
    if enrolled.strangers:
        names = _names(enrolled.strangers)
        yield f"graded, and in no roster: {names}; not exported until one has them"
    if enrolled.left:
        names = _names(enrolled.left)
        yield f"listed, but left: {names}. Back again: tito gradebook roster --restore ID"
    if enrolled.absent:
        state = "they have left"
        if not whole_class:
            state = "they stay in the class. Left: tito gradebook roster --remove ID"
        yield f"in the gradebook, and not in this roster: {_names(enrolled.absent)}; {state}"


def merge(made: Merge) -> Group:
    """What two ids of a learner have, and what both have together."""
    old, into = made.two
    listing = table("")
    for student, name in ((old.student, old.name), (into.student, into.name), ("both", "")):
        listing.add_column(Text(f"{plain(student, 40)}\n{plain(name)}".rstrip()))
    for lesson, grades in made.grades.items():
        points = ["-" if grade is None else f"{grade.points}" for grade in grades]
        by_hand = [bool(grade and (grade.is_by_hand or grade.comments)) for grade in grades]
        style = "" if made.grades[lesson][1] and points[1] == points[2] else "bold"
        marks = (f"{text}{'*' * mark}" for text, mark in zip(points, by_hand))
        listing.add_row(Text(lesson), *(Text(text, style) for text in marks))
    listing.add_row("history", *(f"{number}" for number in (*made.history, sum(made.history))))
    return Group(listing, Text("* set by hand, or with comments", "dim"))


def deletion(counts: dict[str, int]) -> Iterator[str]:
    """What deleting a learner takes away. counts: {what: how many}, see `learner_data.delete`."""
    words = {
        "result": "results",
        "change": "entries of the history",
        "comment": "of them comments",
        "work": "graded submissions",
        "text": "files and answers that no other learner has",
        "alias": "merged ids",
        "entry": "names of hand-ins",
        "mention": "mentions in what is stored about others",
    }
    yield from (f"{counts[name]:6}  {what}" for name, what in words.items() if counts[name])
    yield "     1  feedback page"


def left_out(absent: dict[str, str]) -> Iterator[str]:
    """Sentences about learners whose grades are left out. absent: {id: state}."""
    for state, words in (("left", "left the class"), ("stranger", "in no roster")):
        if ids := [student for student in absent if absent[student] == state]:
            yield f"not exported, {words} ({len(ids)}): {_names(ids)}"


def export_notes(chosen: Selection) -> Iterator[str]:
    """Sentences about grades that an export leaves out or changes."""
    doubts = chosen.doubts
    for is_empty, words in ((False, "0"), (True, "empty cells")):
        if number := doubts.missing[is_empty]:
            yield f"not handed in ({count(number, 'lesson')}), exported as {words}"
    if ids := list(doubts.strange):
        yield (
            "handed in, but no file of a lesson that can be read, exported as empty cells: "
            f"{_names(ids)}. Look at what they handed in, and set their points or ask for the "
            "file: tito gradebook page"
        )
    if ids := sorted({student for student, _ in chosen.unclaimed}):
        entries = sorted(set[str]().union(*chosen.unclaimed.values()))
        yield (
            f"exported as empty cells: {_names(ids)}. These submissions may be theirs: "
            f"{_names(entries)}. In each name, write the learner's "
            "id instead of the name, and grade again"
        )
    if waiting := doubts.waiting:
        yield f"to be judged ({count(waiting, 'answer')}), counted as 0: tito gradebook page"
    for lesson, ids in doubts.outdated.items():
        yield (
            f"{lesson}: graded by other checks than today's ({len(ids)}): {_names(ids)}; no grade "
            f"is above today's maximum. Grade again: tito grade SUBMISSIONS {lesson}"
        )


def _names(ids: list[str]) -> str:
    return f"{', '.join(map(plain, ids[:NAMED]))}{', ...' if len(ids) > NAMED else ''}"
