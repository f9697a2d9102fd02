"""The page of a lesson: the learner's own chapter as one page for a browser.

It is the page of the site (`tito/page`) with what is the learner's: the code of their file, what
each demonstration printed and drew in the last test, which exercises are right, their answers and
predictions. It is one file, `.tito/results/01_backprop/index.html`, beside the pictures that it
shows, so it needs no server. While the page is open, it looks every second at `version.js` beside
it, and loads itself again at the same place when the lesson was tested.

A lesson may be another person's. Its text runs no script and loads nothing from another machine:
elements, attributes and addresses are compared with lists, and a policy in the page forbids the
rest to the browser. Scripts are tito's and, by their hashes, those of the drawings in the course's
own copy, whose Python runs here anyway.
"""

import base64
import functools
import hashlib
import html
import os
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tito import files
from tito.errors import TitoError, WorkError
from tito.html import folded
from tito.learn import demonstrations, notebook_sync, progress, solutions
from tito.learn.questions import hashed
from tito.lesson import cells, track
from tito.lesson.cells import Cell
from tito.lesson.course import Entry
from tito.lesson.lesson_format import ANSWER, Exercise
from tito.page import drawings
from tito.page import render as page_render
from tito.page.lesson import PARAGRAPH, Builder, link_references, mark_terms
from tito.page.parts import Outputs, Part, Section, prose
from tito.page.prose import Prose, highlighted, slug_of
from tito.safe_text import spelled

DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
SCRIPT_FILE = Path(__file__).with_name("lesson_page.js")
FONTS = "fonts"  # the folder beside the folders of pages
WORDS = {  # of the state of an exercise
    "right": "right",
    "wrong": "not right yet",
    "new": "to write",
    "edited": "edited since the last test",
}
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' file:; font-src 'self' file:; "
    "script-src {} 'strict-dynamic'; base-uri 'none'; form-action 'none'"
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
        for font in sorted((page_render.STATIC / FONTS).glob("*.woff2")):
            place = path.parents[1] / FONTS / font.name
            if not place.exists():
                files.write(place, font.read_bytes())
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
    builder = _Builder(entry, notebook_sync.read(entry, record), record)
    sections = builder.build()
    drawn = _draw(entry, sections)
    marks = mark_terms(entry.declared, sections)
    own = {section.title: f"#{slug_of(section.title)}" for section in sections[1:]}
    addresses = _addresses(entry)
    known = {f"{o.number:02}": addresses[o] for o in addresses if o != entry}
    link_references(entry, sections, known, own | {"": "#main-content"})
    page_render.picture_first(sections[0].parts)
    body = page_render.Body(Prose(), lambda kind, name: name, marks)
    made = body.html(sections) + builder.check_yourself()
    contents = [*page_render.headings(body.prose.headings, 2)]
    if "check-yourself" in made:
        contents.append(page_render.link("#check-yourself", "Check yourself"))
    scripts = [page_render.THEME, (page_render.STATIC / "page.js").read_text(encoding="utf-8")]
    scripts.append(SCRIPT_FILE.read_text(encoding="utf-8"))
    if drawn:
        scripts.append((page_render.STATIC / "drawing.js").read_text(encoding="utf-8"))
        scripts += dict.fromkeys(figure["code"] for figure in drawn)
    style = (page_render.STATIC / "page.css").read_text(encoding="utf-8")
    style = style.replace(f'url("{FONTS}/', f'url("../{FONTS}/')
    first, *rest = (f"<script>{script}</script>" for script in scripts)
    digests = (hashlib.sha256(script.encode("utf-8")).digest() for script in scripts)
    hashes = " ".join(f"'sha256-{base64.b64encode(one).decode('ascii')}'" for one in digests)
    policy = POLICY.format(hashes)
    lessons = [
        page_render.link(
            address, html.escape(f"{o.number:02}. {o.declared.title}"), here=o == entry
        )
        for o, address in addresses.items()
    ]
    return page_render.page(
        title=f"{entry.number:02} {entry.declared.title}",
        site=entry.root.name,
        home=entry.root.book or "#main-content",
        head=f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"{first}\n<style>\n{style}</style>",
        attributes=' data-version="VERSION"',
        groups=[{"title": "Lessons", "open": True, "links": lessons}],
        contents=contents,
        body=made,
        end="\n".join([builder.summary(), *rest]),
    )


def _draw(entry: Entry, sections: list[Section]) -> list[drawings.Figure]:
    """Put the lesson's drawings, of the course's own copy, where the learner's file has their
    places. Returns those that have one.
    """
    placed = []
    for figure in drawings.read(entry.declared_path.parent):
        with suppress(WorkError):
            drawings.place(sections, [figure])
            placed.append(figure)
    return placed


def _addresses(entry: Entry) -> dict[Entry, str]:
    """{lesson: the address of its page}: of the learner's own where it was opened before, else of
    the site where there is one.
    """
    found = {}
    for other in entry.root.lessons:
        if other == entry or demonstrations.page_of(other).exists():
            found[other] = f"../{other.folder}/index.html"
        elif entry.root.book:
            found[other] = f"{entry.root.book}lessons/{other.folder}.html"
    return found


class _Builder(Builder):
    """Collects the parts of a lesson as it is in the learner's file."""

    def __init__(self, entry: Entry, source: cells.Source, record: dict[str, Any]) -> None:
        super().__init__(entry, {})
        self.source, self.record = source, record
        self.hashes = progress.exercise_hashes(entry, source)
        saved = demonstrations.load_results(entry)
        self.results = {
            demonstration.number: (demonstration, saved[demonstration.key])
            for demonstration in demonstrations.find_demonstrations(entry, source)
            if demonstration.key in saved
        }

    def build(self) -> list[Section]:
        closed, names = track.closed_sections(self.source), Counter[str]()
        for _, inside in track.sections_of(self.source):
            for cell in inside:
                before = {id(part) for section in self.sections for part in section.parts}
                self.add_cell(cell)
                here = self.sections[-1].parts
                at = next((n for n, part in enumerate(here) if id(part) not in before), None)
                if at is not None:
                    here.insert(at, Part("html", _place(cell, names)))
        for section in self.sections:
            if section.title in closed:
                ids = ", ".join(f"{self.entry.name}-{name}" for name in closed[section.title])
                section.folded = f"Given: {section.title} ({ids})" if ids else section.title
        return self.sections

    def check_yourself(self) -> str:
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
            head = '<section id="check-yourself">\n<h2>Check yourself</h2>'
            return "\n".join([head, *rows, "</section>\n"])
        return ""

    def is_exercise(self, cell: Cell) -> bool:
        return cell.exercise in self.states

    def place(self, title: str) -> tuple[str, str]:
        return "index", "the lesson's only page"

    def tracks(self, exercise: Exercise) -> list[str]:
        return []

    def explain(self, code: Part, cell: Cell, text: str) -> int:
        """Fold the explanation of an answer, which nobody may have seen yet."""
        match = PARAGRAPH.match(text)
        if match and code.outputs:
            code.explanation = prose(cell.line, match[1])
        elif match:
            self.add(cell, [Part("hints", "", hints=(match[1],), folded="Why")])
        return match.start(2) if match and match[2] is not None else len(text) * bool(match)

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

    def state(self, exercise: Exercise) -> tuple[str, str]:
        kind = self.states[exercise.name].kind
        return kind, WORDS[kind]

    def verdict(self, exercise: Exercise) -> list[Part]:
        failed = self.states[exercise.name].failed
        listed = "".join(f"<li>{html.escape(check)}</li>" for check in failed)
        words = f'<p>Checks that do not pass:</p>\n<ul class="failed">{listed}</ul>'
        return [Part("html", words)] * bool(failed)

    def exercise_code(self, cell: Cell, exercise: Exercise) -> list[Part]:
        lines = enumerate(cell.code.split("\n"))
        shown = "\n".join(line for n, line in lines if n not in cell.directive_lines)
        return [Part("code", shown.strip("\n"))]

    def outputs_of(self, cell: Cell) -> Outputs:
        """What a demonstration printed and drew, and below a question the learner's prediction."""
        if cell.number not in self.results:
            words = f"<p><code>tito test {self.entry.name}</code> draws a picture here.</p>"
            waits = "payoff" in cell.tags and cell.alt
            return [{"output_type": "html", "html": words}] * bool(waits)
        demonstration, saved = self.results[cell.number]
        outputs: Outputs = []
        guess = self.record.get("predictions", {}).get(demonstration.question)
        if guess:
            said = f"<p>Your prediction: <b>{html.escape(guess)}</b></p>"
            outputs.append({"output_type": "html", "html": said})
        if saved["text"]:
            outputs.append({"output_type": "stream", "text": spelled(saved["text"])})
        for name in saved["pictures"]:
            kind = "image/svg+xml" if name.endswith(".svg") else "image/png"
            outputs.append({"output_type": "display_data", "data": {kind: name}})
        return outputs

    def code(self, cell: Cell) -> list[Part]:
        parts = super().code(cell)
        demonstration, _ = self.results.get(cell.number, (None, None))
        question = demonstration.question if demonstration else ""
        parts[-1].is_open = bool(self.record.get("predictions", {}).get(question))
        return parts

    def said(self, cell: Cell) -> tuple[str, str]:
        said = self.entry.declared.said(cell)
        return said["alt"], said["caption"]

    def question(self, cell: Cell) -> list[Part]:
        question, _, answer = cell.source.partition(ANSWER)
        model = ""
        with suppress(TitoError):  # not written yet, or the course does not show its answer
            for asked in self.entry.declared.questions:
                if asked.name == cell.question:
                    model = solutions.compare_answer(self.entry, asked).solution
        return [
            Part("html", '<section class="question">'),
            prose(0, question),
            prose(0, f"**Your answer**\n\n{answer.strip() or 'None yet.'}"),
            *[Part("hints", "", hints=(model,), folded="The course's answer")] * bool(model),
            Part("html", "</section>"),
        ]

    def summary(self) -> str:
        """The line at the bottom of the window: how far the lesson is, and what comes next."""
        right = sum(state.kind == "right" for state in self.states.values())
        first = next((name for name, state in self.states.items() if state.kind != "right"), None)
        where = "every exercise is right" if self.states else "every exercise is given"
        if first:
            exercise = self.entry.declared.exercise(first)
            where = f'next: <a href="#{exercise.id}">{html.escape(first)}</a>'
        where += '; <a href="#page-contents">contents</a>'
        words = f"{right} of {len(self.states)} exercises right; {where}"
        return f'<footer class="status"><p>{words}</p></footer>'


def _asked(asked: dict[str, Any]) -> str:
    """A question on the learner's own code, with its answer folded."""
    lines = "\n".join(f"{number:4}  {text}" for number, text in asked["code"])
    options = "".join(f"<li><code>{html.escape(spelled(o))}</code></li>" for o in asked["options"])
    said = "\n".join([asked["answer"], *asked["reasons"]])
    text, said = html.escape(spelled(asked["text"])), html.escape(spelled(said))
    answer = folded("The answer", f"<pre>{said}</pre>")
    head = f'<section class="question"><p><code>{html.escape(asked["exercise"])}</code></p>'
    return f"{head}{highlighted(lines)}<pre>{text}</pre><ol>{options}</ol>{answer}</section>"


def _place(cell: Cell, names: Counter[str]) -> str:
    """An anchor above a cell, whose name stays when cells come or go above."""
    source = cell.source.encode("utf-8", "surrogatepass")
    name = html.escape(cell.task or hashlib.sha256(source).hexdigest()[:8])
    names[name] += 1
    return f'<span class="place" id="cell-{name}-{names[name]}"></span>'
