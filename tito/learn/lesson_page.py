"""The page of a lesson: the learner's own chapter as one page for a browser.

It is the page of the site (`tito/page`) with what is the learner's: the code of their file, what
each demonstration printed and drew in the last test, which exercises are right, their answers and
predictions. It is one file, `.tito/results/01_backprop/index.html`, beside the pictures that it
shows, so it needs no server. While the page is open, it looks every second at `version.js` beside
it, and loads itself again at the same place when the lesson was tested.

A lesson may be another person's. Its text runs no script and loads nothing from another machine:
elements, attributes and addresses are compared with lists, and a policy in the page forbids the
rest to the browser. Scripts are tito's, named by hashes.
"""

import functools
import hashlib
import html
import os
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from tito import files
from tito.errors import TitoError
from tito.html import folded
from tito.learn import demonstrations, notebook_sync, progress, solutions
from tito.learn.questions import hashed
from tito.lesson import cells, track
from tito.lesson.cells import Cell
from tito.lesson.course import Entry
from tito.lesson.glossary import TermLinks
from tito.lesson.lesson_format import ANSWER, Exercise
from tito.page import drawings
from tito.page import render as page_render
from tito.page.lesson import (
    PARAGRAPH,
    Builder,
    addresses,
    link_references,
    link_terms,
    mark_terms,
    term_id,
)
from tito.page.parts import STATIC, Outputs, Part, Section, prose
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


def write(entry: Entry) -> Path:
    """Write the page of a lesson as its file and its last test are now. Returns its path."""
    text = render(entry)
    version = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    path = demonstrations.page_of(entry)
    with progress.locked(entry.root):
        files.write(path, text.replace("VERSION", version, 1))
        files.write(path.with_name("version.js"), f'newest("{version}");\n')
        for font in sorted((STATIC / FONTS).glob("*.woff2")):
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
    scripts = drawings.place_known(sections, entry.declared_path.parent)
    marks = mark_terms(entry.declared, sections)
    places = {section.title: f"#{slug_of(section.title)}" for section in sections[1:]}
    pages = _pages(entry)
    known = {f"{o.number:02}": pages[o] for o in pages if o != entry}
    link_references(entry, sections, known, places | {"": "#main-content"})
    marks |= link_terms(sections, TermLinks(entry, functools.partial(_place_of, pages)))
    page_render.picture_first(sections[0].parts)
    body = page_render.Body(Prose(), lambda kind, name: name, marks)
    made = body.html(sections) + builder.check_yourself()
    contents = page_render.headings(body.prose.headings, 2)
    if "check-yourself" in made:
        contents.append(page_render.link("#check-yourself", "Check yourself"))
    names = {other: html.escape(f"{other.number:02}. {other.declared.title}") for other in pages}
    lessons = [
        page_render.link(address, names[other], here=other == entry)
        for other, address in pages.items()
    ]
    own = SCRIPT_FILE.read_text(encoding="utf-8")
    head, end = page_render.inlined([own, *scripts], f"../{FONTS}", POLICY)
    return page_render.page(
        title=f"{entry.number:02} {entry.declared.title}",
        site=entry.root.name,
        home=entry.root.book or "#main-content",
        head=head,
        attributes=' data-version="VERSION"',
        groups=[{"title": "Lessons", "open": True, "links": lessons}],
        contents=contents,
        body=made,
        end=f"{builder.summary()}\n{end}",
    )


def _pages(entry: Entry) -> dict[Entry, str]:
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


def _place_of(pages: dict[Entry, str], lesson: Entry, heading: str, term: str) -> str:
    """Where a term is explained: on the learner's own page, or the site's; "" without one."""
    page = pages.get(lesson, "")
    if "://" in page:
        page = lesson.root.book + addresses(lesson).get(heading, f"lessons/{lesson.folder}.html")
    return f"{page.partition('#')[0]}#{term_id(term)}" * bool(page)


class _Builder(Builder):
    """Collects the parts of a lesson as it is in the learner's file."""

    def __init__(self, entry: Entry, source: cells.Source, record: dict[str, Any]) -> None:
        super().__init__(entry, {})
        self.sections[0].path = "index"  # beside the pages of other lessons, as all sections
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
        if rows and all(state == "right" for state, _ in self.states.values()):
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
        """Fold the explanation of an answer that is not there yet."""
        match = PARAGRAPH.match(text)
        if match and code.outputs:
            code.explanation = prose(cell.line, match[1])
        elif match:
            self.add(cell, [Part("hints", "", hints=(match[1],), folded="Why")])
        return match.start(2) if match and match[2] is not None else len(text) * bool(match)

    @functools.cached_property
    def states(self) -> dict[str, tuple[str, list[str]]]:
        """{name of an exercise: its state, a key of WORDS, and the names of the checks that did not
        pass in the last test}
        """
        return {exercise.name: self._state(exercise) for exercise in self.entry.declared.exercises}

    def _state(self, exercise: Exercise) -> tuple[str, list[str]]:
        if self.entry.declared.is_unwritten(exercise, self.source):
            return "new", []
        if progress.tested_code(self.record).get(exercise.id) != self.hashes.get(exercise.id):
            return "edited", []
        passed = progress.last_checks(self.record)
        failed = [c for c in exercise.checks if not c.hidden and passed.get(c.id) != "passed"]
        is_wrong = any(check.points for check in failed)
        return "wrong" if is_wrong else "right", [check.name for check in failed]

    def state(self, exercise: Exercise) -> tuple[str, str]:
        kind = self.states[exercise.name][0]
        return kind, WORDS[kind]

    def verdict(self, exercise: Exercise) -> list[Part]:
        failed = self.states[exercise.name][1]
        listed = "".join(f"<li>{html.escape(check)}</li>" for check in failed)
        words = f'<p>Checks that do not pass:</p>\n<ul class="failed">{listed}</ul>'
        return [Part("html", words)] if failed else []

    def exercise_code(self, cell: Cell, exercise: Exercise) -> list[Part]:
        lines = enumerate(cell.code.split("\n"))
        shown = "\n".join(line for n, line in lines if n not in cell.directive_lines)
        return [Part("code", shown.strip("\n"))]

    def outputs_of(self, cell: Cell) -> Outputs:
        """What a demonstration printed and drew, and below a question the learner's prediction."""
        if cell.number not in self.results:
            words = f"<p><code>tito test {self.entry.name}</code> draws a picture here.</p>"
            waits = bool("payoff" in cell.tags and cell.alt)
            return [{"output_type": "html", "html": words}] * waits
        (demonstration, saved), outputs = self.results[cell.number], Outputs()
        if guess := self.record.get("predictions", {}).get(demonstration.question):
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

    def question(self, cell: Cell) -> list[Part]:
        question, _, answer = cell.source.partition(ANSWER)
        model = ""
        with suppress(TitoError):  # not written yet, or the course does not show its answer
            for asked in self.entry.declared.questions:
                if asked.name == cell.question:
                    model = solutions.compare_answer(self.entry, asked).solution
        return [
            Part("box", "question"),
            prose(0, question),
            prose(0, f"**Your answer**\n\n{answer.strip() or 'None yet.'}"),
            *[Part("hints", "", hints=(model,), folded="The course's answer")] * bool(model),
            Part("end", ""),
        ]

    def summary(self) -> str:
        """The line at the bottom of the window: how far the lesson is, and what comes next."""
        right = [name for name, (state, _) in self.states.items() if state == "right"]
        first = next((name for name in self.states if name not in right), None)
        where = "every exercise is right" if self.states else "every exercise is given"
        if first:
            exercise = self.entry.declared.exercise(first)
            where = f'next: <a href="#{exercise.id}">{html.escape(first)}</a>'
        where += '; <a href="#page-contents">contents</a>'
        count = f"{len(right)} of {len(self.states)} exercises right"
        return f'<footer class="status"><p>{count}; {where}</p></footer>'


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
