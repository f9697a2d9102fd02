"""The certificate: a page that shows what the learner has built, once every lesson has passed.

`tito status` writes it to `certificate.html` in the workspace. Every number on it is counted in the
lesson files or read from the progress file at that moment. A milestone follows the last lesson that
it needs, as on the map of the book, so the milestones divide the lessons into phases.
"""

import base64
import html
import string
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from tito import files
from tito.html import html_page
from tito.learn import milestone, notebook_sync, progress, workspace
from tito.learn.compare import plain
from tito.learn.milestone import MilestoneStatus
from tito.learn.status import LessonStatus
from tito.lesson import cells
from tito.lesson.course import Entry, Root
from tito.views import count

NAME = "certificate.html"
MARK = b'<meta name="generator" content="tito status">'  # says that the file is tito's to replace
PAGE_FILE = Path(__file__).with_name("certificate.html")


@dataclass(frozen=True)
class Certificate:
    """The facts on the page.

    name   of the learner, "" for none
    lines  {lesson: the lines of code that the learner wrote in its exercises}
    days   the days on which the learner began or tested a lesson, or ran a milestone, in order:
           those that the progress file still has
    """

    root: Root
    name: str
    lessons: list[LessonStatus]
    lines: dict[str, int]
    milestones: list[MilestoneStatus]
    days: list[date]

    def phases(self) -> Iterator[tuple[list[LessonStatus], list[MilestoneStatus]]]:
        """The lessons in their order, up to each that completes what a milestone needs."""
        order = [row.name for row in self.lessons]
        ends: dict[str, list[MilestoneStatus]] = {order[-1]: []}
        for row in self.milestones:
            last = max(row.milestone.needs, key=order.index, default=order[-1])
            ends.setdefault(last, []).append(row)
        phase: list[LessonStatus] = []
        for lesson in self.lessons:
            phase.append(lesson)
            if lesson.name in ends:
                yield phase, ends[lesson.name]
                phase = []


def write(root: Root, rows: list[LessonStatus]) -> bool:
    """Write the page of a workspace in which every lesson has passed. Returns False, with nothing
    written, when the learner has another file of that name.
    """
    path = root.path / NAME
    if MARK not in (files.read(path) or MARK):
        return False
    text = render(gather(root, rows)).encode("utf-8", "replace")
    with progress.locked(root):
        files.write(path, text)
    return True


def gather(root: Root, rows: list[LessonStatus]) -> Certificate:
    data = progress.load(root)
    records, runs = data["lessons"], data.get("milestones", {})
    lines = {
        entry.name: lines_written(entry, notebook_sync.read(entry, records.get(entry.name, {})))
        for entry in root.lessons
    }
    times = [record.get("started") for record in records.values()]
    times += [record.get("last", {}).get("when") for record in records.values()]
    times += [record.get("when") for record in runs.values()]
    days = sorted(day for when in times if (day := day_of(when)))
    name = workspace.learner_name(root) or ""
    return Certificate(root, name, rows, lines, milestone.statuses(root), days)


def day_of(when: str | None) -> date | None:
    """The day of a time in the progress file, which can be edited; None for any other text."""
    try:
        return datetime.fromisoformat(when or "").date()
    except ValueError:
        return None


def lines_written(entry: Entry, source: cells.Source) -> int:
    """The lines of code in the exercises that are not in the released lesson, without comments,
    docstrings and blank lines, and without exercises that the file has as given.
    """
    given_up = entry.declared.given_up(source)
    return sum(
        (_code_lines(cell.source) - _code_lines(exercise.stub)).total()
        for exercise in entry.declared.exercises
        if exercise.id not in given_up and (cell := source.cell(exercise.name))
    )


def _code_lines(code: str) -> Counter[str]:
    lines = (line.strip() for line in plain(code).split("\n"))
    return Counter(line for line in lines if line and not line.startswith("#"))


# The page.


def render(shown: Certificate) -> str:
    """The HTML of the page, which needs no other file."""
    body = string.Template(PAGE_FILE.read_text(encoding="utf-8")).substitute(
        course=html.escape(shown.root.name),
        name=f'<p class="name">{html.escape(shown.name)}</p>' if shown.name else "",
        package=html.escape(shown.root.package),
        lessons=count(sum(row.state != "given" for row in shown.lessons), "lesson"),
        numbers="\n".join(_numbers(shown)),
        bars="".join(_bars(shown)),
        phases="\n".join(_phase(*phase, shown) for phase in shown.phases()),
    )
    return html_page(
        f"{shown.root.name}: the course is complete",
        body.rstrip(),
        PAGE_FILE.with_suffix(".css").read_text(encoding="utf-8"),
        "img-src data:",
        head=f"{MARK.decode()}\n",
    )


def _numbers(shown: Certificate) -> Iterator[str]:
    """The figures at the top, as pairs of a description list."""
    most = sum(row.max_points for row in shown.lessons)
    given_up = sum(len(row.given_up) for row in shown.lessons)
    exercises = sum(len(entry.declared.exercises) for entry in shown.root.lessons)
    given = sum(len(entry.declared.given) for entry in shown.root.lessons)
    lessons = [row for row in shown.lessons if row.state != "given"]
    tracks = shown.root.tracks
    values = {
        "track" if len(tracks) == 1 else "tracks": ", ".join(tracks),
        "lessons": f"{len(lessons)}",
        "exercises solved": f"{exercises - given_up:,}",
        "exercises given": f"{given + given_up:,}" * bool(given + given_up),
        "lines of code": f"{sum(shown.lines.values()):,}",
        f"points of {most:,}": f"{sum(row.points for row in shown.lessons):,}",
        "hints used": f"{sum(row.hints_used for row in shown.lessons):,}",
        "first day": _date(shown.days[0]) if shown.days else "",
        "last day": _date(shown.days[-1]) if shown.days else "",
    }
    for name, value in values.items():
        if value:
            yield f"<div><dt>{name}</dt><dd>{html.escape(value)}</dd></div>"


def _date(day: date) -> str:
    return f"{day.day} {day:%b %Y}"


def _bars(shown: Certificate) -> Iterator[str]:
    """A bar for the lines of each lesson."""
    most = max(1, *shown.lines.values())
    for row in shown.lessons:
        yield f'<span style="--part: {shown.lines[row.name] / most:.3f}">{row.number:02}</span>'


def _phase(lessons: list[LessonStatus], programs: list[MilestoneStatus], shown: Certificate) -> str:
    rows = "\n".join(_lesson(row, shown) for row in lessons)
    articles = "\n".join(_milestone(row, shown.root) for row in programs)
    return f'<section class="phase">\n<ul>\n{rows}\n</ul>\n<div>\n{articles}\n</div>\n</section>'


def _lesson(row: LessonStatus, shown: Certificate) -> str:
    declared = shown.root.lesson(row.name).declared
    notes = {
        "marked as given": row.given_up,
        "question not answered": [name for name, answered in row.answers.items() if not answered],
        "passed before a lesson that it needs was changed": row.below,
    }
    said = "".join(
        f'<br><span class="note">{note}: {html.escape(", ".join(names))}</span>'
        for note, names in notes.items()
        if names
    )
    facts = f"{count(len(declared.exercises), 'exercise')}, {count(shown.lines[row.name], 'line')}"
    facts = facts if declared.exercises else "given"
    return (
        f'<li><span class="number">{row.number:02}</span> <span class="facts">{facts}</span>\n'
        f"<b>{html.escape(declared.title)}</b> {html.escape(declared.summary.rstrip('.'))}"
        f"{said}</li>"
    )


def _milestone(row: MilestoneStatus, root: Root) -> str:
    kind, sentence = _result(row)
    # A run without a result drew nothing: an older picture is not shown.
    picture, table = (_picture(row, root), _table(row)) if row.measured else ("", "")
    title = f"<h3><span>{row.milestone.year}</span> {html.escape(row.milestone.title)}</h3>"
    return f'<article class="{kind}">\n{picture}{title}\n{table}<p>{sentence}</p>\n</article>'


def _result(row: MilestoneStatus) -> tuple[str, str]:
    """A class of the style, and a sentence: whether the goal was reached, and when."""
    command = f"<code>tito milestone run {html.escape(row.milestone.name)}</code>"
    day = day_of(row.last_run)
    when = f" on {_date(day)}" if day else ""
    if row.state == "new":
        return "waits", f"Not run yet: {command}"
    if not row.measured:
        return "waits", f"The last run{when} ended without a result: {command}"
    kind = "missed" if row.milestone.missed(row.measured) else "reached"
    more = ", with code that has changed since" * (row.state == "stale")
    return kind, f"Goal {kind}{when}{more}"


def _picture(row: MilestoneStatus, root: Root) -> str:
    data = files.read(root.path / milestone.SOURCE / row.milestone.picture())
    if not data:
        return ""
    alt = "The picture of this run."
    if row.milestone.alt:  # these words are about the course's own run
        alt += f" In the book it shows: {row.milestone.alt}"
    image = base64.b64encode(data).decode()
    return f'<img src="data:image/png;base64,{image}" alt="{html.escape(alt, quote=True)}">\n'


def _table(row: MilestoneStatus) -> str:
    program = row.milestone
    texts, goals = program.figures(row.measured), program.goals()
    missed = program.missed(row.measured)
    lines = "".join(
        f"<tr{' class=missed' * (name in missed)}><th scope=row>{html.escape(name)}</th>"
        f"<td>{texts.get(name, 'missing')}</td><td>{goals.get(name, '')}</td></tr>\n"
        for name in goals | texts
    )
    head = '<tr><td></td><th scope="col">result</th><th scope="col">goal</th></tr>'
    return f"<table>\n{head}\n{lines}</table>\n"
