"""The page of a lesson: the learner's own chapter as one page for a browser.

It shows the prose with its formulas, the code of the learner's file, what each demonstration
printed and drew in the last test, and which exercises are right. It is one file,
`.tito/results/05_backprop/index.html`, beside the pictures that it shows, so it needs no server.
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
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tito import files
from tito.errors import TitoError
from tito.learn import demonstrations, notebook_sync, progress, solutions
from tito.lesson import cells
from tito.lesson.cells import Cell
from tito.lesson.course import Entry
from tito.lesson.lesson_format import ANSWER, Exercise
from tito.safe_text import spelled
from tito.views import count

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

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
# What a formula may consist of: no element and no attribute here has an address or runs anything.
ELEMENTS = frozenset(
    "math menclose merror mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot"
    " mrow ms mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover"
    " none".split()
)
ATTRIBUTES = frozenset(
    "accent accentunder align columnalign columnlines columnspacing columnspan depth display"
    " displaystyle fence form frame height largeop linethickness lspace mathbackground mathcolor"
    " mathsize mathvariant maxsize minsize movablelimits notation rowalign rowlines rowspacing"
    " rowspan rspace scriptlevel separator stretchy symmetric voffset width xmlns".split()
)
LINK = re.compile(r"(?i)(https?|mailto):|(?!//)[^:\\]*([/?#]|\Z)")
NEARBY = re.compile(r"(?!/)[^:\\]*\Z")  # the address of a picture beside the page
POLICY = (
    "default-src 'none'; img-src 'self' file:; style-src 'unsafe-inline'; "
    "script-src 'sha256-{}' 'strict-dynamic'; base-uri 'none'; form-action 'none'"
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


def path_of(entry: Entry) -> Path:
    return demonstrations.folder_of(entry) / "index.html"


def write(entry: Entry) -> Path:
    """Write the page of a lesson as its file and its last test are now. Returns its path."""
    text = render(entry)
    version = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    path = path_of(entry)
    with progress.locked(entry.root):
        files.write(path, text.replace("VERSION", version, 1))
        files.write(path.with_name("version.js"), f'newest("{version}");\n')
    return path


def refresh(entry: Entry) -> None:
    """Write the page again if the learner has ever opened it, and the lesson can be read."""
    if path_of(entry).exists():
        with suppress(TitoError):  # `tito test` says what is wrong with the lesson's files
            write(entry)


def save_prediction(entry: Entry, question: str, answer: str) -> None:
    """Save what the learner predicted, with the progress and on the page."""
    with progress.change(entry.root, entry.name) as record:
        record.setdefault("predictions", {})[question] = answer
    refresh(entry)


def open_page(path: Path) -> bool:
    """Open a page in a browser that has a window. Returns whether there is such a browser."""
    import webbrowser

    if sys.platform.startswith("linux") and not any(map(os.environ.get, DISPLAYS)):
        return False  # a browser for terminals would take this one
    try:
        return webbrowser.open(path.as_uri())
    except (webbrowser.Error, OSError):
        return False


def render(entry: Entry) -> str:
    """The HTML of a lesson's page, with VERSION where the hash of the page goes."""
    record = progress.load(entry.root)["lessons"].get(entry.name, {})
    source = notebook_sync.read(entry, record)
    page = _Page(entry, source, record)
    body = "\n".join(page.parts())
    title = html.escape(f"{entry.number:02} {entry.declared.title}")
    style, script = (path.read_text(encoding="utf-8") for path in (STYLE_FILE, SCRIPT_FILE))
    script = f"\n{script}"
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY.format(digest)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{style}{code_style()}</style>\n</head>\n"
        f'<body data-version="VERSION">\n<main>\n{body}\n</main>\n'
        f"{page.summary()}\n<script>{script}</script>\n</body>\n</html>\n"
    )


class _Page:
    """Renders the cells of a lesson in their order."""

    def __init__(self, entry: Entry, source: cells.Source, record: dict[str, Any]) -> None:
        self.entry, self.source, self.record = entry, source, record
        self.hashes = progress.exercise_hashes(entry, source)
        saved = demonstrations.load_results(entry)
        self.results = {
            demonstration.number: (demonstration, saved[demonstration.key])
            for demonstration in demonstrations.find_demonstrations(entry, source)
            if demonstration.key in saved
        }

    def parts(self) -> Iterator[str]:
        before: Cell | None = None
        names: Counter[str] = Counter()
        for cell in self.source.cells:
            if part := self.part(cell, before):
                # A name that stays when cells come or go above, so that the place can be kept.
                name = html.escape(
                    cell.task
                    or hashlib.sha256(cell.source.encode("utf-8", "surrogatepass")).hexdigest()[:8]
                )
                names[name] += 1
                yield f'<div class="cell" id="cell-{name}-{names[name]}">\n{part}\n</div>'
            before = cell

    def part(self, cell: Cell, before: Cell | None) -> str:
        if cell.question:
            return self.question(cell)
        if cell.kind == "markdown":
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
        return ExerciseState("wrong" if failed else "right", failed, points)

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
        where = "every exercise is right"
        if first:
            exercise = self.entry.declared.exercise(first)
            where = f'next: <a href="#{exercise.id}">{html.escape(first)}</a>'
        return f"<footer><p>{right} of {len(self.states)} exercises right; {where}</p></footer>"


def folded(title: str, content: str, is_open: bool = False) -> str:
    """Content that a reader opens by its title."""
    mark = " open" if is_open else ""
    return f"<details{mark}><summary>{title}</summary>{content}</details>"


def code(cell: Cell) -> str:
    """A cell's code with colours, without the lines that only tools read."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    lines = [line for n, line in enumerate(cell.code.split("\n")) if n not in cell.directive_lines]
    text = "\n".join(lines).strip("\n")
    if not text:
        return ""
    formatter = HtmlFormatter(nowrap=True)
    return f'<pre class="code" tabindex="0">{highlight(text, PythonLexer(), formatter)}</pre>'


def code_style() -> str:
    """The rules that colour code, for light and for dark pages."""
    from pygments.formatters import HtmlFormatter

    light = HtmlFormatter(style="xcode").get_style_defs(".code")
    dark = HtmlFormatter(style="github-dark").get_style_defs(".code")
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"


def markdown(text: str) -> str:
    """Prose as HTML. Formulas become MathML, which browsers draw without help."""
    return _renderer()(text)


@functools.cache
def _renderer() -> Callable[[str], str]:
    from latex2mathml.converter import Converter
    from markdown_it import MarkdownIt
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    def formula(content: str, options: dict[str, Any]) -> str:
        kind = "block" if options["display_mode"] else "inline"
        try:
            return mathml(Converter(display=kind).convert_to_element(content))
        except Exception:  # latex2mathml raises many: show what the author wrote
            return f"<code>{html.escape(content)}</code>"

    def image(self: Any, tokens: Any, at: int, options: Any, env: Any) -> str:
        if NEARBY.match(str(tokens[at].attrs["src"])):
            return str(self.image(tokens, at, options, env))
        return f"<code>{html.escape(tokens[at].content)}</code>"

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.use(dollarmath_plugin, allow_digits=False, allow_labels=False, renderer=formula)
    parser.add_render_rule("image", image)
    setattr(parser, "validateLink", lambda address: bool(LINK.match(address)))
    return parser.render


def mathml(formula: "Element") -> str:
    """A formula as text for a page. Raises ValueError for an element that no formula needs.

    latex2mathml writes characters as `&#x2061;` into its elements, beside the author's own text:
    they are read, then everything is escaped once.
    """
    from xml.etree.ElementTree import tostring

    for element in formula.iter():
        if element.tag not in ELEMENTS:
            raise ValueError(f"the element {element.tag}")
        element.text = html.unescape(element.text or "") or None
        element.tail = html.unescape(element.tail or "") or None
        for name, value in [*element.attrib.items()]:
            if name in ATTRIBUTES:
                element.set(name, html.unescape(value))
            else:
                del element.attrib[name]
    return tostring(formula, encoding="unicode")
