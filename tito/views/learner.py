"""The output of the commands for learners, except for tested lessons (`report.py`)."""

from __future__ import annotations

import itertools
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tito.views import (
    STYLES,
    Pieces,
    count,
    for_a_person,
    in_book,
    indented,
    plain,
    table,
    unbroken,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tito.learn.doctor import Diagnosis
    from tito.learn.milestone import Milestone, MilestoneRun, MilestoneStatus
    from tito.learn.solutions import Comparison
    from tito.learn.status import Hint, LessonStatus
    from tito.learn.update import Update
    from tito.lesson.course import Entry, Root
    from tito.lesson.glossary import Term


def ready(folder: Path, source: Root) -> Group:
    """A new workspace of `source`: how to enter it, and the lesson to begin with."""
    written = [entry for entry in source.lessons if entry.declared.exercises]
    what = f"is ready: {count(len(source.lessons), 'lesson')} of {source.name}"
    if name := track_title(source):
        what = f"is ready for the track{'s' * (len(source.tracks) > 1)} {name}"
    lines: list[RenderableType] = [Text(f"{folder} {what}.")]
    if hours := track_hours(source):
        exercises = count(sum(len(entry.declared.exercises) for entry in written), "exercise")
        where = f"{count(len(written), 'lesson')}, in about {hours:g} hour{'s' * (hours != 1)}"
        lines.append(Text(f"You write {exercises} in {where}; the rest of the library is given."))
    lines.append(unbroken("next: ", (enter(folder), "bold")))
    if written:
        first = written[0].declared
        about = f"  {first.summary.rstrip('.')}" + f": {first.duration()}" * (not first.given)
        lines.append(unbroken("then: ", (f"tito start {first.name}", "bold"), about))
    return Group(*lines)


def track_hours(root: Root) -> float:
    """The hours that a workspace's tracks take; 0 for the whole course."""
    return sum(root.all_tracks[n].hours for n in root.tracks if n in root.all_tracks)


def track_title(root: Root) -> str:
    """The track of a workspace: "road: from a line to your own GPT"; of several, their names; ""
    for the whole course.
    """
    names = [name for name in root.tracks if name in root.all_tracks]
    if len(root.tracks) != 1 or not names:
        return " and ".join(root.tracks[1:] and root.tracks)
    title = root.all_tracks[names[0]].title
    return f"{names[0]}: {title[:1].lower()}{title[1:]}"


def enter(folder: Path) -> str:
    """The command line that goes to a root and puts tito on the PATH."""
    if os.name == "nt":  # in PowerShell
        return f'cd "{folder}"; bin\\activate-tinytorch.ps1'
    return f"cd {shlex.quote(str(folder))} && . bin/activate-tinytorch.sh"


def status(
    root: Root, rows: list[LessonStatus], step: tuple[str, str] | None, place: str = ""
) -> Group:
    """The state of each lesson, the place on the board of olympics, and what to do next."""
    name = track_title(root)
    title = unbroken((root.name, "bold"), f" {root.kind} in {root.path}")
    if name:
        title = unbroken((f"{name[:1].upper()}{name[1:]}", "bold"))
    right, exercises = sum(row.right for row in rows), sum(row.exercises for row in rows)
    title.append(f"   {right} of {count(exercises, 'exercise')}")
    listing: list[RenderableType] = [_lesson_lines(rows, step[0].split()[-1] if step else "")]
    if any(row.state == "given" for row in rows) and (root.state / "course").exists():
        listing.append(Text("To write every exercise: tito init . --track whole", "dim"))
    answers = {
        f"{row.name}-{name}": written
        for row in rows
        if row.state in ("passed", "stale")
        for name, written in row.answers.items()
    }
    notes = [Text(for_a_person(answers), "dim")] * bool(answers)
    notes += [
        Text(f"{row.name}: marked as given, for 0 points: {', '.join(row.given_up)}", "dim")
        for row in rows
        if row.given_up
    ]
    notes += [Text(place, "dim")] * bool(place)
    last = Text("\nThe course is complete: every lesson has passed.", "green")
    if step:
        last = Text.assemble("\n", f"{step[1]}\nnext: ", (step[0], "bold"))
    return Group(title, "", *listing, *notes, last)


def _lesson_lines(rows: list[LessonStatus], following: str) -> Table:
    """A line for each lesson that is begun or `following`, and one for each run of others."""

    def kind(row: LessonStatus) -> str:
        return row.state if row.state in ("new", "given") and row.name != following else row.name

    listing = table("", "", "", show_header=False, padding=(0, 1, 0, 0))
    listing.columns[1].min_width = 7
    for key, group in itertools.groupby(rows, kind):
        row, *more = run = list(group)
        exercises = count(sum(one.exercises for one in run), "exercise")
        where = f"{row.number:02} {row.name}"
        what = f"{row.right} of {exercises:13} {ago(row.last_run)}{_since(row)}"
        if key != row.name:
            where = f"{row.number:02}" + f"-{run[-1].number:02}" * bool(more)
            names = " ".join(one.name for one in run)
            what = f"{exercises}: {names}" if key == "new" else names
        listing.add_row(where, Text(row.state, STYLES[row.state]), what.rstrip())
    return listing


def certificate(page: Text, is_written: bool) -> Pieces:
    """Where the certificate is, or why it was not written."""
    if is_written:
        return Pieces([unbroken("your certificate: ", page), "(open it in a browser)"])
    return Pieces([page, "is your own file. Rename it, and `tito status` writes your certificate."])


def _since(row: LessonStatus) -> str:
    """What changed since the last run of a lesson, as text to put after the time of that run."""
    if row.state == "given" or not row.last_run:
        return ""
    edited = [*(["edited"] if row.edited else []), *(f"{name} changed" for name in row.below[:2])]
    more = " and more" * (len(row.below) > 2)
    return f", {', '.join(edited)}{more} since" if edited else ""


def ago(when: str | None) -> str:
    """How long ago a time such as 2026-11-20T17:30:00 is."""
    if not when:
        return ""
    try:
        seconds = (datetime.now() - datetime.fromisoformat(when)).total_seconds()
    except (ValueError, TypeError):
        return when
    for size, word in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{count(int(seconds // size), word)} ago"
    return "just now"


def lesson_card(
    entry: Entry, place: Text, needed: RenderableType | None, first: str | None, line: int | None
) -> Group:
    """The output of `tito start`: the file to open, the lessons that it needs, and where to begin.

    needed       the line about the lessons to write first
    first, line  the exercise to begin with, and its line in a script
    """
    parts: list[RenderableType] = [*_lesson_title(entry)]
    if needed:
        parts.append(needed)
    parts += [Text(), unbroken("open  ", place)]
    read = (f"tito read {entry.name}", "bold")
    parts.append(
        Text.assemble("read  ", read, "  opens it as a page, with the results of your code")
    )
    if first:
        begin = f"begin with exercise {first}" + ("," if line else "")
        parts.append(Pieces([begin, *([f"line {line}"] if line else [])]))
    watch, test = (f"tito watch {entry.name}", "bold"), (f"tito test {entry.name}", "bold")
    parts.append(
        Pieces(
            [
                Text.assemble("then  ", watch, "  tests each time you save; "),
                Text.assemble(test, "  once"),
            ]
        )
    )
    return Group(*parts)


def _lesson_title(entry: Entry) -> Iterator[Text]:
    lesson = entry.declared
    yield Text.assemble((f"{entry.number:02} {lesson.title}", "bold"), f"  {lesson.summary}")
    questions = f", {count(len(lesson.questions), 'question')}" * bool(lesson.questions)
    exercises = count(len(lesson.exercises), "exercise")
    facts = f"about {lesson.duration()}, difficulty {lesson.meta['difficulty']} of 5, {exercises}"
    if lesson.given:
        names = " ".join(exercise.name for exercise in lesson.exercises)
        facts = f"{exercises} to write: {names}; {len(lesson.given)} given"
        if hours := track_hours(entry.root):  # divided like the hours of the lessons
            hours *= lesson.own_hours / sum(one.declared.own_hours for one in entry.root.lessons)
            facts = f"about {lesson.duration(hours)}, {facts}"
    yield Text(f"{facts}, {lesson.points} points{questions}", "dim")


def hint(passage: Hint, key: str | None = None) -> Group:
    """A hint, and how to get the next one. key: the key for it, if keys work."""
    how = f"key {key}" if key else f"tito hint {passage.exercise}"
    left = passage.of - passage.level
    footer = f"{left} more: {how}" if left else "this was the last hint"
    again = " (shown before)" if passage.again else ""
    return Group(
        Text.assemble((f"{passage.exercise}, hint {passage.level} of {passage.of}{again}", "bold")),
        indented(Text(plain(passage.text))),
        Text(footer, "dim"),
        *in_book(passage.address),
    )


def comparison(compared: Comparison) -> Group:
    """Two solutions of an exercise."""
    return Group(
        *(Text(f"{sentence}.", "dim") for sentence in compared.notes),
        unbroken((compared.exercise, "bold"), "  ", (compared.place, "dim")),
        Text(),
        Text("yours", "bold cyan"),
        Text(f"{compared.yours}\n"),
        Text("the course's", "bold cyan"),
        Text(f"{compared.solution}\n"),
    )


def term(entry: Term) -> Group:
    """A term of the course: its meaning, the lessons that explain and use it, PyTorch's name."""
    lines = [f"{entry.number:02} {entry.lesson}: {entry.section}"]
    if entry.used:
        lines.append(f"also in: {', '.join(entry.used)}")
    if entry.pytorch:
        lines.append(f"in PyTorch: {entry.pytorch}")
    return Group(
        Text(entry.term, "bold"),
        indented(Text(re.sub(r"\*+|`", "", plain(entry.sentence)))),
        *(indented(Text(line, "dim")) for line in lines),
    )


def terms(entries: Iterable[Term]) -> Group:
    """Every term, by the lesson that explains it."""
    listing, lessons = table("lesson", "terms"), dict[str, list[str]]()
    for entry in sorted(entries, key=lambda entry: entry.number):
        lessons.setdefault(f"{entry.number:02} {entry.lesson}", []).append(entry.term)
    for lesson, names in lessons.items():
        listing.add_row(lesson, ", ".join(names))
    return Group(listing, Text('to read about one: tito word "TERM"', "dim"))


def doctor(findings: Iterable[Diagnosis]) -> Table:
    listing = table("", "", "", show_header=False)
    for finding in findings:
        words = Text(finding.value)
        if finding.remedy:
            words.append(f"\n{finding.remedy}", "yellow")
        listing.add_row(Text(finding.state, STYLES[finding.state]), finding.what, words)
    return listing


def update(result: Update) -> RenderableType:
    """The changes of a course update, and what to do next."""
    if not result.changed:
        return Text(f"You already have edition {result.after}; nothing was changed.")
    moved = result.before != result.after
    edition = f"edition {result.before} -> {result.after}" if moved else result.after
    title = Text.assemble((edition, "bold"), f"  {count(result.changed, 'file')} changed")
    lines: list[RenderableType] = [title] if moved or not result.joined + result.given else []
    for words, ids in {"to write now": result.joined, "given now": result.given}.items():
        shown = ids if len(ids) < 9 else dict.fromkeys(id.partition("-")[0] for id in ids)
        lines += [Text(f"{count(len(ids), 'exercise')} {words}: {' '.join(shown)}")] * bool(ids)
    groups = {
        "new lessons": result.added,
        "no longer in the course, your files are kept": result.gone,
        "renumbered": [f"{name} -> {folder}" for name, folder in result.renumbered.items()],
        "not in this edition, left out": result.dropped,
        "set aside, because it is not yours to write any more": [
            f"{name} in {path}" for name, path in result.aside.items()
        ],
        "your earlier code": [f"{name} in {path}" for name, path in result.earlier.items()],
        "the task changed, read it again": result.tasks,
        "your edits of the course's own text, replaced": result.replaced,
        "to test again": [f"tito test {name}" for name in result.test],
    }
    for heading, rows in groups.items():
        if rows:
            parts = (re.split(r"(?<= in) ", row) for row in rows)
            lines += [Text(f"{heading}:"), *(Pieces([*row], 2) for row in parts)]
    lines.append(
        Pieces([f"The replaced files are saved in {result.backup};", "`tito undo` restores them."])
    )
    return Group(*lines)


# Milestones


def milestones(rows: list[MilestoneStatus]) -> Group:
    """The milestones, as a table, and what to do next."""
    listing = table("", "", "milestone", "", "state", "waits for")
    for row in rows:
        program = row.milestone
        listing.add_row(
            f"{program.number:02}",
            str(program.year),
            program.name,
            program.title,
            Text(row.state, STYLES[row.state]),
            Text(_some(row.waits), "yellow"),
        )
    following = next((row for row in rows if not row.waits and row.state != "passed"), None)
    words, name = "A milestone runs when its lessons have passed:", "NAME"
    if following:
        words, name = "next:", following.milestone.name
    command = Text(f"tito milestone run {name}", "bold")
    return Group(listing, "", Pieces([words, command]))


def _some(names: list[str]) -> str:
    if len(names) < 4:
        return ", ".join(names)
    return f"{', '.join(names[:2])} and {len(names) - 2} more"


def milestone_card(program: Milestone) -> Text:
    """The milestone that is about to run."""
    return Text.assemble(
        (f"{program.year} {program.title}", "bold"), f"\ngoal: {_figures(program.goals())}", "\n"
    )


def milestone_result(run: MilestoneRun, picture: Text | None) -> Group:
    """The result of a milestone. `picture`: a link to its picture, or None."""
    explanation = [run.reason]
    if run.measured:
        figures = _figures(run.milestone.figures(run.measured))
        explanation.insert(0, f"{figures}  {run.seconds:.1f} s")
    verdict = (run.verdict, f"bold {STYLES[run.verdict]}")
    lines: list[RenderableType] = [
        Text(),
        Pieces([Text.assemble(verdict, f"  {explanation[0]}")]),
        *(Pieces([line]) for line in explanation[1:] if line),
    ]
    if run.of > run.own:
        of = f"Of the {count(run.of, 'exercise')} of these lessons {run.own} are yours"
        lines.append(Text(f"{of}, the others are given.", "dim"))
    if run.remedy.startswith("tito "):
        lines.append(unbroken("next: ", (run.remedy, "bold")))
    elif run.remedy:
        lines.append(Pieces([run.remedy]))
    if picture:
        lines.append(unbroken("picture: ", picture))
        caption = run.milestone.alt.partition(". ")[0].rstrip(".")
        lines += [indented(Text(f"{caption}.", "dim"))] * bool(caption and not run.words)
    return Group(*lines)


def _figures(texts: dict[str, str]) -> str:
    return ", ".join(f"{name} {text}" for name, text in texts.items())
