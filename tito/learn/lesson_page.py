"""The page of a lesson: the learner's own chapter as one page for a browser.

It shows the prose with its formulas, the code of the learner's file, what each demonstration
printed and drew in the last test, and which exercises are right. It is one file,
`.tito/results/01_backprop/index.html`, beside the pictures that it shows, so it needs no server.
While the page is open, it looks every second at `version.js` beside it, and loads itself again at
the same place when the lesson was tested.

A lesson may be another person's. Its text runs no script and loads nothing from another machine:
elements, attributes and addresses are compared with lists, and a policy in the page forbids the
rest to the browser.
"""

import base64
import functools
import hashlib
import html
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tito import files
from tito.errors import TitoError
from tito.html import code_style, folded, highlighted, html_page, markdown
from tito.learn import demonstrations, notebook_sync, progress, solutions
from tito.learn.questions import hashed
from tito.lesson import cells, track
from tito.lesson.cells import Cell
from tito.lesson.course import Entry
from tito.lesson.lesson_format import ANSWER, Exercise
from tito.safe_text import spelled
from tito.views import count, plain

DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
OPEN_LINES = 25  # longer code that is given is folded
STYLE_FILE = Path(__file__).with_name("lesson_page.css")
SCRIPT_FILE = Path(__file__).with_name("lesson_page.js")
WORDS = {  # of the state of an exercise
    "right": "right",
    "wrong": "not right yet",
    "new": "to write",
    "edited": "edited since the last test",
}
POLICY = (
    "img-src 'self' file:; script-src 'sha256-{}' 'strict-dynamic'; "
    "base-uri 'none'; form-action 'none'"
)  # 'strict-dynamic': the page's own script loads version.js


@dataclass(frozen=True)
class ExerciseState:
    """The state of an exercise on the page.

    kind    a key of WORDS
    failed  the names of the checks that did not pass in the last test
    points  those that its visible checks can earn
    """

    kind: str
    failed: list[str]
    points: int


def write(entry: Entry) -> Path:
    """Write the page of a lesson as its file and its last test are now. Returns its path."""
    text = render(entry)
    version = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    path = demonstrations.page_of(entry)
    with progress.locked(entry.root):
        files.write(path, text.replace("VERSION", version, 1))
        files.write(path.with_name("version.js"), f'newest("{version}");\n')
    return path


def refresh(entry: Entry) -> None:
    """Write the page again if the learner has ever opened it, and the lesson can be read."""
    if demonstrations.page_of(entry).exists():
        with suppress(TitoError):  # `tito test` says what is wrong with the lesson's files
            write(entry)


def save_prediction(entry: Entry, question: str, answer: str) -> None:
    """Save what the learner predicted, with the progress and on the page."""
    with progress.change(entry.root, entry.name) as record:
        record.setdefault("predictions", {})[question] = answer
    refresh(entry)


def open_page(path: Path, anchor: str = "") -> bool:
    """Open a page in a browser that has a window. Returns whether there is such a browser.

    anchor  the id of the element to begin at
    """
    import webbrowser

    if sys.platform.startswith("linux") and not any(map(os.environ.get, DISPLAYS)):
        return False  # a browser for terminals would take this one
    try:
        return webbrowser.open(path.as_uri() + f"#{anchor}" * bool(anchor))
    except (webbrowser.Error, OSError):
        return False


def render(entry: Entry) -> str:
    """The HTML of a lesson's page, with VERSION where the hash of the page goes."""
    record = progress.record_of(entry)
    source = notebook_sync.read(entry, record)
    page = _Page(entry, source, record)
    body = "\n".join(page.parts())
    links = (f'<li><a href="#{name}">{title}</a></li>' for name, title in page.sections)
    contents = folded("Contents", f"<ol>{''.join(links)}</ol>")
    body = f'<nav id="contents">{contents}</nav>\n{body}'
    style, script = (path.read_text(encoding="utf-8") for path in (STYLE_FILE, SCRIPT_FILE))
    script = f"\n{script}"
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return html_page(
        f"{entry.number:02} {entry.declared.title}",
        f"<main>\n{body}\n</main>\n{page.summary()}\n<script>{script}</script>",
        style + code_style(),
        POLICY.format(digest),
        version="VERSION",
    )


class _Page:
    """Renders the cells of a lesson in their order."""

    def __init__(self, entry: Entry, source: cells.Source, record: dict[str, Any]) -> None:
        self.entry, self.source, self.record = entry, source, record
        self.hashes = progress.exercise_hashes(entry, source)
        self.sections: list[tuple[str, str]] = []  # (id, heading) of those that `parts` has made
        saved = demonstrations.load_results(entry)
        self.results = {
            demonstration.number: (demonstration, saved[demonstration.key])
            for demonstration in demonstrations.find_demonstrations(entry, source)
            if demonstration.key in saved
        }

    def parts(self) -> Iterator[str]:
        names: Counter[str] = Counter()
        closed, before = track.closed_sections(self.source), list[Cell]()
        for heading, inside in track.sections_of(self.source):
            rows = [*self.cells(inside, before[-1:], names)]
            before = inside or before
            if heading in closed:
                ids = ", ".join(f"{self.entry.name}-{name}" for name in closed[heading])
                title = f"Given: {heading} ({ids})" if ids else heading
                rows = [folded(html.escape(title), "\n".join(rows))]
            yield from rows
        yield from self.check_yourself()

    def check_yourself(self) -> Iterator[str]:
        """The last question of `tito review` about each exercise whose code is still the same, when
        the lesson has passed.
        """
        rows: list[str] = []
        for exercise in self.entry.declared.exercises:
            asked = self.record.get("reviews", {}).get(exercise.id, {}).get("last", {})
            cell = self.source.cell(exercise.name)
            if cell and asked.get("of") == hashed(cell.source):
                with suppress(KeyError, TypeError, ValueError):  # it was edited by hand
                    rows.append(_asked(asked))
        if rows and all(state.kind == "right" for state in self.states.values()):
            self.sections.append(("check-yourself", "Check yourself"))
            head = '<div class="cell" id="check-yourself">\n<h2>Check yourself</h2>'
            yield "\n".join([head, *rows, "</div>"])

    def cells(self, inside: list[Cell], above: list[Cell], names: Counter[str]) -> Iterator[str]:
        """The cells of a section. above: the cell above it; names: how often each was used."""
        befores: list[Cell | None] = [*above, *inside] if above else [None, *inside]
        for cell, before in zip(inside, befores):
            if part := self.part(cell, before):
                # A name that stays when cells come or go above, so that the place can be kept.
                name = html.escape(
                    cell.task
                    or hashlib.sha256(cell.source.encode("utf-8", "surrogatepass")).hexdigest()[:8]
                )
                names[name] += 1
                id = f"cell-{name}-{names[name]}"
                if cell.kind == "markdown":
                    headings = re.findall(r"^## +(.+)", cell.source, re.M)
                    self.sections += [(id, html.escape(plain(title))) for title in headings]
                yield f'<div class="cell" id="{id}">\n{part}\n</div>'

    def part(self, cell: Cell, before: Cell | None) -> str:
        if cell.question:
            return self.question(cell)
        if cell.kind == "markdown":
            if "answer" in cell.tags:
                return folded("Answers", markdown(cell.source))
            if before and {"answer", "explained"} <= set(before.tags):
                explanation, _, rest = cell.source.partition("\n\n")
                return folded("Why", markdown(explanation)) + markdown(rest)
            return markdown(cell.source)
        if cell.kind != "code" or cell.checks:
            return ""
        if cell.exercise in self.states:
            return self.exercise(cell, self.entry.declared.exercise(cell.exercise))
        return self.given(cell)

    @functools.cached_property
    def states(self) -> dict[str, ExerciseState]:
        """{name of an exercise: its state}"""
        checks, tested = progress.last_checks(self.record), progress.tested_code(self.record)
        return {
            exercise.name: self._state(exercise, checks, tested)
            for exercise in self.entry.declared.exercises
        }

    def _state(
        self, exercise: Exercise, checks: dict[str, str], tested: dict[str, str]
    ) -> ExerciseState:
        visible = [check for check in exercise.checks if not check.hidden]
        failed = [check.name for check in visible if checks.get(check.id) != "passed"]
        points = sum(check.points for check in visible)
        if self.entry.declared.is_unwritten(exercise, self.source):
            return ExerciseState("new", [], points)
        if tested.get(exercise.id) != self.hashes.get(exercise.id):
            return ExerciseState("edited", [], points)
        wrong = any(c.points and checks.get(c.id) != "passed" for c in visible)
        return ExerciseState("wrong" if wrong else "right", failed, points)

    def exercise(self, cell: Cell, exercise: Exercise) -> str:
        state = self.states[exercise.name]
        number = [e.name for e in self.entry.declared.exercises].index(exercise.name) + 1
        failed = "".join(f"<li>{html.escape(check)}</li>" for check in state.failed)
        hints = "".join(
            folded(f"Hint {n}", markdown(hint)) for n, hint in enumerate(exercise.hints, 1)
        )
        return (
            f'<section class="exercise {state.kind}" id="{exercise.id}">\n'
            f"<h3>Exercise {self.entry.number}.{number}: {html.escape(exercise.title)} "
            f'<span class="state">{WORDS[state.kind]}</span></h3>\n'
            f"<p><code>{exercise.id}</code>, {count(state.points, 'point')}</p>\n"
            + code(cell)
            + (f'<p>Checks that do not pass:</p>\n<ul class="failed">{failed}</ul>' * bool(failed))
            + hints
            + "\n</section>"
        )

    def given(self, cell: Cell) -> str:
        shown = code(cell)
        if shown.count("\n") > OPEN_LINES:
            shown = folded("Code that is given", shown)
        return shown + self.result(cell)

    def result(self, cell: Cell) -> str:
        """What a demonstration printed and drew; folded when it answers a question."""
        if cell.number not in self.results:
            draws = f"<code>tito test {self.entry.name}</code> draws a picture here"
            return f"<p>{draws}.</p>" if "payoff" in cell.tags and cell.alt else ""
        demonstration, saved = self.results[cell.number]
        text = html.escape(spelled(saved["text"]))
        parts = [f'<pre class="output" tabindex="0">{text}</pre>'] * bool(text)
        alt, words = map(html.escape, (demonstration.alt, demonstration.caption))
        caption = f"<figcaption>{words}</figcaption>" * bool(words)
        for name in saved["pictures"]:
            parts.append(
                f'<figure><img src="{html.escape(name, quote=True)}" alt="{alt}">{caption}</figure>'
            )
        shown = "\n".join(parts)
        if not demonstration.question or not shown:
            return shown
        guess = self.record.get("predictions", {}).get(demonstration.question)
        said = f"<p>Your prediction: <b>{html.escape(guess)}</b></p>" if guess else ""
        return folded("The answer", said + shown, is_open=bool(guess))

    def question(self, cell: Cell) -> str:
        question, _, answer = cell.source.partition(ANSWER)
        model = ""
        with suppress(TitoError):  # not written yet, or the course does not show its answer
            for asked in self.entry.declared.questions:
                if asked.name == cell.question:
                    model = solutions.compare_answer(self.entry, asked).solution
        return (
            f'<section class="question">{markdown(question)}'
            f"<p><b>Your answer</b></p>{markdown(answer) or '<p>None yet.</p>'}"
            + (folded("The course's answer", markdown(model)) if model else "")
            + "</section>"
        )

    def summary(self) -> str:
        """The line at the bottom of the window: how far the lesson is, and what comes next."""
        right = sum(state.kind == "right" for state in self.states.values())
        first = next((name for name, state in self.states.items() if state.kind != "right"), None)
        where = "every exercise is right" if self.states else "every exercise is given"
        if first:
            exercise = self.entry.declared.exercise(first)
            where = f'next: <a href="#{exercise.id}">{html.escape(first)}</a>'
        where += '; <a href="#contents">contents</a>'
        return f"<footer><p>{right} of {len(self.states)} exercises right; {where}</p></footer>"


def _asked(asked: dict[str, Any]) -> str:
    """A question on the learner's own code, with its answer folded."""
    lines = "\n".join(f"{number:4}  {text}" for number, text in asked["code"])
    options = "".join(f"<li><code>{html.escape(spelled(o))}</code></li>" for o in asked["options"])
    said = "\n".join([asked["answer"], *asked["reasons"]])
    text, said = html.escape(spelled(asked["text"])), html.escape(spelled(said))
    answer = folded("The answer", f"<pre>{said}</pre>")
    head = f'<section class="question"><p><code>{html.escape(asked["exercise"])}</code></p>'
    return f"{head}{highlighted(lines)}<pre>{text}</pre><ol>{options}</ol>{answer}</section>"


def code(cell: Cell) -> str:
    """A cell's code with colours, without the lines that only tools read."""
    lines = [line for n, line in enumerate(cell.code.split("\n")) if n not in cell.directive_lines]
    text = "\n".join(lines).strip("\n")
    return highlighted(text) if text else ""
