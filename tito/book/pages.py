"""Generate the pages of lessons and of milestones, as notebooks for Sphinx.

A lesson has a page for its opening, and one from each text cell with `page="Title"` to the next, or
in a lesson without such cells one for each section. They contain the lesson's cells and their
outputs. Exercises have no solutions and hidden checks; visible checks and hints are folded; lines
for tools (`#| export`, metadata) are left out.
"""

import ast
import html
import itertools
import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tito.book import drawings
from tito.book.notebook_cells import (
    NotebookCell,
    Outputs,
    Part,
    Section,
    code,
    folded_output,
    notebook_text,
    prose,
)
from tito.errors import WorkError
from tito.learn import milestone
from tito.learn.milestone import Milestone
from tito.lesson import cells, glossary
from tito.lesson.cells import Cell
from tito.lesson.course import Entry, Root
from tito.lesson.lesson_format import Exercise, Lesson, Question, hint_text, stub
from tito.lesson.notebook import visible_points

# Lines that Sphinx counts too many: myst-nb adds 1 to its `source_map`, and so does its renderer.
BEHIND = 2
ANSWER, IMPORTS = "The answer", "Imports"  # what is folded
HEADING = re.compile(r"^## (.*)", re.M)
TASK = "**Task.**"
PARAGRAPH = re.compile(rf"(?!#|{re.escape(TASK)})(.+?)(?:\n\n(.*)|\Z)", re.S)
OPEN_LINES, OPENING_LINES = 25, 8  # longer code that is given is folded, in a lesson's opening too
SEARCHED = 'data-pagefind-index-attrs="data-also" data-pagefind-meta="also[data-also]"'
# References in prose. Code, links, tags, formulas and headings are matched first, to be left alone.
REFERENCE = re.compile(
    r"```.*?```|`[^`]*`|\[[^\]]*\]\([^)]*\)|<[^>]*>|\$[^$]*\$|^#.*?$"
    r"|\blesson (?P<lesson>\d\d)\b|(?P<opening>\bfirst picture|\bpicture at the beginning)"
    r'|\bsection "(?P<section>[^"]+)"',
    re.M | re.S,
)
FEW_LINES = 6  # of given functions in an exercise, which are not folded


def notebooks(
    entry: Entry,
    outputs: dict[str, Outputs],
    links: Sequence[tuple[str, str]],
    figures: Sequence[drawings.Figure] = (),
) -> dict[str, str]:
    """{path: text} of the notebooks that become the lesson's pages: the first, with what comes
    before its first section and a list of what follows, and the others.

    outputs  {number of a cell, as a string: its outputs}; empty for a page without them
    links    [(words, address)] for the card below the opening: where to get or open the lesson
    figures  the lesson's drawings
    """
    lesson, sections = entry.declared, read_sections(entry, outputs)
    drawings.place(entry, sections, figures)
    _mark_terms(lesson, sections)
    _link_references(entry, sections)
    end = (card(entry, links), _contents(entry, sections))
    sections[0].parts += [(0, prose(text)) for text in end if text]
    texts = {}
    for path, first in first_lines(entry).items():
        inside = [section for section in sections if section.path == path]
        title = [(first, prose(f"# {inside[0].page}"))] if inside[0].page else []
        parts = title + [part for section in inside for part in section.parts]
        texts[f"{path}.ipynb"] = notebook_text(parts, first)
    return texts


def read_sections(entry: Entry, outputs: dict[str, Outputs]) -> list[Section]:
    """The parts of a lesson's pages: its opening, and each section."""
    builder = _Builder(entry, outputs)
    for cell in entry.declared.source.cells:
        builder.add_cell(cell)
    return builder.sections


class _Builder:
    """Collects the parts of a lesson's pages, cell by cell."""

    def __init__(self, entry: Entry, outputs: dict[str, Outputs]) -> None:
        self.entry, self.outputs = entry, outputs
        self.released = cells.parse(entry.declared.path, entry.declared.released)
        self.sections = [Section("", f"lessons/{entry.folder}")]
        self.places = _places(entry)
        self.tracks = list(entry.root.all_tracks.values())[:1]  # the first is what learners get
        self.explained: Cell | None = None  # the cell whose answer the next paragraph explains

    def add(self, cell: Cell, parts: list[Part]) -> None:
        """Add parts of a cell to the last section; their lines are counted from the cell's."""
        here = self.sections[-1].parts
        for line, part in parts:
            if here and IMPORTS == _fold(part) == _fold(here[-1][1]):
                here[-1][1]["source"] += f"\n\n{part['source']}"
            elif part["source"].strip():
                here.append((cell.line + line - BEHIND, part))

    def add_cell(self, cell: Cell) -> None:
        lesson = self.entry.declared
        text = cell.source if cell.kind == "markdown" and not cell.question else ""
        above = self.add_explanation(cell, text) if self.explained else 0
        if cell.question:
            asked = next(one for one in lesson.questions if one.name == cell.question)
            self.add(cell, [_question(asked)])
        elif cell.kind == "markdown" and "answer" in cell.tags:
            summary = '<details class="hint"><summary>Answers</summary>'
            self.add(cell, [(0, prose(f"{summary}\n\n{text}\n\n</details>"))])
        elif cell.kind == "markdown":
            self.addprose(cell, text[above:], text.count("\n", 0, above))
        elif cell.kind == "code" and cell.exercise:
            self.add_exercise(cell, self.entry.declared.exercise(cell.exercise))
        elif cell.kind == "code" and not cell.checks:  # the checks are part of their exercise
            opening = len(self.sections) == 1
            self.add(cell, _code_of(cell, self.outputs.get(str(cell.number), []), opening))
        self.explained = cell if {"answer", "explained"} <= set(cell.tags) else None

    def add_explanation(self, cell: Cell, text: str) -> int:
        """Add the paragraph that explains an answer. Returns where the text after it begins."""
        match = PARAGRAPH.match(text)
        if not match:
            assert self.explained is not None
            raise WorkError(
                f"{self.entry.relative(self.entry.script)}:{self.explained.line}: no paragraph "
                "below explains this answer.",
                'Leave out "explained", or write the paragraph.',
            )
        self.add(cell, [(0, prose("% explained")), (0, prose(match[1]))])
        return match.start(2) if match[2] is not None else len(text)

    def addprose(self, cell: Cell, text: str, above: int) -> None:
        """Add prose, which may begin new sections; `above` lines of its cell come before it."""
        for line, title, block in _blocks(text):
            line += above
            if title:
                path, page, _ = next(self.places)
                self.sections.append(Section(title, path, page))
                number = f"{self.entry.number}.{len(self.sections) - 1}"
                self.add(cell, [(line, prose(f"{'#' * (1 + bool(page))} {number} {title}"))])
            if len(self.sections) > 1 and not self.sections[-1].page:
                block = re.sub(r"^##(#+ )", r"#\1", block, flags=re.M)
            first = line + len(block) - len(block.lstrip("\n"))
            self.add(cell, [(first, prose(block.strip("\n")))])

    def add_exercise(self, cell: Cell, exercise: Exercise) -> None:
        task = _take_task(self.sections[-1].parts)
        self.sections[-1].exercises.append(exercise.name)
        count = sum(len(section.exercises) for section in self.sections)
        points = visible_points(exercise)
        on = [one.name for one in self.tracks if exercise.id in self.entry.root.ids_on(one)]
        facts = [f"{points} point{'s' * (points != 1)}", f"`{exercise.id}`", *on]
        head = f"**Exercise {self.entry.number}.{count}. {exercise.title}** ({', '.join(facts)})"
        released = self.released.cell(exercise.name)
        assert released is not None
        contract, skipped = _readable(released.source)
        contract = contract.replace(stub(self.entry.declared.name, exercise.name), "...")
        # conf.py puts the parts from "exercise" to "exercise-end" into one box.
        parts = [
            (0, prose(f":::{{container}} exercise\n:name: {exercise.id}\n\n{head}\n:::")),
            (0, prose(task)),
            *_around_given(skipped, contract),
            (0, prose(f"```text\ntito test {exercise.id}\n```")),
            (0, prose(_hints(exercise.hints))),
            *_checks(exercise),
            (0, prose("% exercise-end")),
        ]
        self.add(cell, parts)


def _prose_blocks(entry: Entry) -> Iterator[tuple[Cell, int, str, str]]:
    """(cell, line of the script, title, text) of each block of the lesson's prose."""
    for cell in entry.declared.source.cells:
        if cell.kind == "markdown" and not cell.question:
            for line, title, text in _blocks(cell.source):
                yield cell, cell.line + line, title, text


def _places(entry: Entry) -> Iterator[tuple[str, str, int]]:
    """(path of its page without the ending, title of that page, line of the script) of each
    section. The title is "" where the page is the section's own.
    """
    home, page, path = f"lessons/{entry.folder}", "", ""
    seen = set()
    for cell, line, title, _ in _prose_blocks(entry):
        if not title:
            continue
        begins = cell.metadata.get("page", "")
        if begins or not page:
            page = begins
            path = f"{home}/{slug_of(page or title)}"
            while path in seen:
                path += "-again"
            seen.add(path)
        yield path, page, line


def first_lines(entry: Entry) -> dict[str, int]:
    """{path of a page, without its ending: the line of the script before it}.

    A page's lines are counted from there: when its lesson changes above it, the page is the same.
    """
    lines = {f"lessons/{entry.folder}": 0}
    for path, _, line in _places(entry):
        lines.setdefault(path, line - BEHIND)
    return lines


def addresses(entry: Entry) -> dict[str, str]:
    """{heading: the address of its place in the book} of a lesson's headings."""
    found: dict[str, str] = {}
    path, places = f"lessons/{entry.folder}", _places(entry)
    for _, _, title, text in _prose_blocks(entry):
        if title:
            path, page, _ = next(places)
            found[title] = f"{path}.ipynb" + f"#{slug_of(title)}" * bool(page)
        for lower in re.findall(r"^#+ (.+)$", text, re.M):
            found.setdefault(lower.strip(), f"{path}.ipynb#{slug_of(lower)}")
    return found


def slug_of(heading: str) -> str:
    """The anchor of a heading, without its number: conf.py lets MyST give the same."""
    text = re.sub(r"[*`$]|^\d+\.\d+ ", "", heading).strip().lower().replace(" ", "-")
    return re.sub(r"[^\w\-]", "", text)


def _blocks(text: str) -> Iterator[tuple[int, str, str]]:
    """(line, title, text) of what is before, and below, each `##` of a cell's text."""
    starts = [0, *(match.start() for match in HEADING.finditer(text)), len(text)]
    for start, end in itertools.pairwise(starts):
        block = text[start:end]
        if match := HEADING.match(block):
            yield text.count("\n", 0, start), match[1].strip(), block[match.end() :]
        elif block.strip():
            yield text.count("\n", 0, start), "", block


def _take_task(parts: list[Part]) -> str:
    """The task at the end of the prose above an exercise, taken out of it; "" without one."""
    if not parts or parts[-1][1]["cell_type"] != "markdown":
        return ""
    part = parts[-1][1]
    above, mark, task = part["source"].rpartition(TASK)
    if not mark:
        return ""
    part["source"] = above.rstrip()
    if not part["source"]:
        parts.pop()
    return task.strip()


def _mark_terms(lesson: Lesson, sections: list[Section]) -> None:
    """Give each term an address, `#term-learning-rate`, where the lesson explains it. There, the
    search also finds its synonyms.
    """
    paragraphs = [
        part for section in sections for _, part in section.parts if part["cell_type"] == "markdown"
    ]
    for term in lesson.meta["terms"]:
        places = (
            (part, match)
            for emphasised in glossary.emphasis(term)
            for part in paragraphs
            for match in emphasised.finditer(part["source"])
            if not part["source"][: match.start()].rpartition("\n\n")[2].startswith(glossary.NEEDS)
            and not match[0].startswith(glossary.NEEDS)
        )
        if first := next(places, None):
            part, match = first
            source, at = part["source"], match.start()
            words = html.escape(", ".join(lesson.meta.get("synonyms", {}).get(term, [])))
            found = f' data-also="{words}." {SEARCHED}' if words else ""
            part["source"] = f'{source[:at]}<span id="{term_id(term)}"{found}></span>{source[at:]}'


def _link_references(entry: Entry, sections: list[Section]) -> None:
    """Let "lesson 04" lead there where a section first says it, 'section "Metrics"' to the section,
    and "first picture" to the opening.
    """
    home, own = f"lessons/{entry.folder}.ipynb", addresses(entry)
    lessons = {
        f"{other.number:02}": f"lessons/{other.folder}.ipynb" for other in entry.root.lessons
    }
    for section in sections:
        linked = {home}

        def link(match: re.Match[str]) -> str:
            place = own.get(match["section"]) or lessons.get(match["lesson"], "")
            place = home if match["opening"] and section.title else place
            if not place or (match["lesson"] and place in linked):
                return match[0]
            linked.add(place)
            path = posixpath.relpath(place, posixpath.dirname(section.path))
            return f"[{match[0]}]({path})"

        for _, part in section.parts:
            if part["cell_type"] == "markdown":
                part["source"] = REFERENCE.sub(link, part["source"])


def term_id(term: str) -> str:
    """The anchor of the place that explains a term."""
    return f"term-{slug_of(term)}"


def _contents(entry: Entry, sections: list[Section]) -> str:
    """The end of a lesson's first page: the other pages with their sections and exercises. An
    exercise has here the same address as on its page.
    """
    rows: dict[str, str] = {}
    numbers = itertools.count(1)
    for path, inside in itertools.groupby(enumerate(sections), lambda numbered: numbered[1].path):
        title, below = "", []
        for number, section in inside:
            title = title or section.page or section.title
            if section.page:
                words = f"{entry.number}.{number} {section.title}"
                below.append(("", slug_of(section.title), _plain(words)))
            for exercise in map(entry.declared.exercise, section.exercises):
                words = f"Exercise {entry.number}.{next(numbers)}. {exercise.title}"
                below.append((exercise.id, exercise.id, _plain(words)))
        there = posixpath.relpath(path, "lessons")
        rows[there] = _row(there, _plain(title), below)
    rows.pop(entry.folder)
    if not rows:
        return ""
    listed = "\n".join(rows.values())
    return (
        f'## Sections and exercises\n\n<ol class="lesson-contents">\n{listed}\n</ol>\n\n'
        + hidden_toctree([*rows])
    )


def _plain(title: str) -> str:
    return html.escape(re.sub(r"[*`$]", "", title))


def _row(path: str, title: str, below: list[tuple[str, str, str]]) -> str:
    """A page in a list of contents, with [(id here or "", address on the page, title)] of its
    parts. With ids, addresses of the whole page still work.
    """
    listed = "".join(
        f'<li id="{id_}">'.replace(' id=""', "") + f'<a href="{path}.html#{there}">{words}</a></li>'
        for id_, there, words in below
    )
    row = f'<a class="section-link" href="{path}.html">{title}</a>'
    return f"<li>{row}{f'<ul>{listed}</ul>' if listed else ''}</li>"


def hidden_toctree(paths: Sequence[str], options: str = "") -> str:
    """Markdown that puts pages into the site's contents, and shows nothing."""
    return f"```{{toctree}}\n:hidden:\n{options}\n" + "\n".join(paths) + "\n```"


def card(entry: Entry, links: Sequence[tuple[str, str]] = ()) -> str:
    """The card below a lesson's opening: difficulty, hours, prerequisites, what follows, links."""
    lesson, meta = entry.declared, entry.declared.meta
    exercises = (
        f"{len(lesson.exercises)} exercise{'s' * (len(lesson.exercises) != 1)}, "
        f"{sum(check.points for check in lesson.checks if not check.hidden)} points"
    )
    rows = [
        ("Difficulty", f"{meta['difficulty']} of 5"),
        ("Time", f"about {lesson.duration()}"),
        ("To write", exercises),
        ("Needs", _links_to_lessons(entry.root, meta["prerequisites"]) or "no other lesson"),
        ("Next", _links_to_lessons(entry.root, meta["enables"])),
        ("Begin", f"`tito start {entry.name}`"),
        ("Open", ", ".join(f"[{words}]({address})" for words, address in links)),
    ]
    return _card(f"{meta['summary'].rstrip('.')}.", rows)


def _card(summary: str, rows: list[tuple[str, str]]) -> str:
    listed = "\n".join(f"- **{name}** {value}" for name, value in rows if value)
    return f":::{{container}} lesson-card\n{summary}\n\n{listed}\n:::"


def _links_to_lessons(root: Root, names: Sequence[str]) -> str:
    entries = {other.name: other for other in root.lessons}
    return ", ".join(
        f"[{entries[name].declared.title}](../lessons/{entries[name].folder}.ipynb)"
        for name in names
        if name in entries
    )


# A milestone.


def of_milestone(root: Root, entry: Milestone, outputs: dict[str, Any]) -> str:
    """The text of the notebook that becomes the page of a milestone: what it is about,
    what it reaches, its program.

    outputs  {"measured": [[name, number], ...], "printed": outputs, "drawn": outputs};
             empty for a page without them
    """
    text = entry.path.read_text(encoding="utf-8")
    summary, _, more = summary_of(entry).partition("\n\n")
    rows = [
        ("Needs", _links_to_lessons(root, entry.needs)),
        ("To reach", ", ".join(f"{name} {text}" for name, text in entry.goals().items())),
        ("Downloads", entry.downloads),
        ("Run it", f"`tito milestone run {entry.name}`"),
        ("Options", f"`tito milestone run {entry.name} --help`" * entry.options),
    ]
    parts = [
        (0, prose(f"# {entry.year}. {entry.title}")),
        (0, prose(_card(" ".join(summary.split()), rows))),
        (summary.count("\n") + 2, prose(more)),
    ]
    if outputs:
        parts.append((0, prose(_reached(entry, outputs["measured"]))))
        if drawn := outputs["drawn"]:
            meta = {"mystnb": {"image": {"alt": entry.alt}}, "tags": ["remove-input"]}
            parts.append(code(0, "run(seed=0)", outputs=drawn, meta=meta))
    body = milestone.BLOCK.split(text, maxsplit=1)[-1].strip("\n")
    line = text.count("\n", 0, text.index(body))
    printed = outputs.get("printed", [])
    parts.append((0, prose("## The program")))
    parts.append(code(line, body, outputs=printed, meta=folded_output("What it prints")))
    imported = ", ".join(
        f"`{path.name}`"
        for path in sorted(entry.path.parent.glob("*.py"))
        if re.search(rf"^(?:from|import) {path.stem}\b", body, re.M)
    )
    parts.append((0, prose(f"It imports {imported} from `modules/milestones`." * bool(imported))))
    return notebook_text([(line + 1 - BEHIND, part) for line, part in parts if part["source"]])


def summary_of(program: Milestone) -> str:
    """The docstring of a milestone, without the year."""
    about = ast.get_docstring(ast.parse(program.path.read_text(encoding="utf-8"))) or ""
    about = about.removeprefix(f"{program.year}:").lstrip()
    return about[:1].upper() + about[1:]


def _reached(program: Milestone, measured: list[tuple[str, float]]) -> str:
    goals = program.goals()
    rows = [
        f"| {name} | {text} | {goals.get(name, '')} |"
        for name, text in program.figures(dict(measured)).items()
    ]
    return (
        "## What it reaches\n\nWith the course's own lessons and seed 0:\n\n"
        "| | measured | to reach |\n| --- | ---: | ---: |\n" + "\n".join(rows)
    )


# The code of a lesson.


def _code_of(cell: Cell, outputs: Outputs, opening: bool) -> list[Part]:
    """A cell's code; what is long is folded, and imports that are a whole cell or in a lesson's
    opening, so that question, picture and promise fit one screen.
    """
    source, skipped = _readable(cell.code)
    lines, end = source.split("\n"), _end_of_imports(source)
    parts = []
    if end and (opening or end == len(lines)):
        parts.append(code(skipped, "\n".join(lines[:end]), IMPORTS))
        while end < len(lines) and not lines[end].strip():
            end += 1
        skipped, lines = skipped + end, lines[end:]
    meta = folded_output(ANSWER) if "answer" in cell.tags else {}
    if alt := cell.alt:
        meta["mystnb"] = meta.get("mystnb", {}) | {"image": {"alt": alt}}
        if caption := cell.caption:
            meta["mystnb"]["figure"] = {"caption": drawings.escaped(caption)}
    long = len(lines) > (OPENING_LINES if opening else OPEN_LINES) and "answer" not in cell.tags
    folded = f"Given code, {len(lines)} lines" if long else ""
    return [*parts, code(skipped, "\n".join(lines), folded, outputs, meta)]


def _end_of_imports(source: str) -> int:
    """How many lines the imports at the beginning of a cell take."""
    tree = cells.tree_or_none(source)
    imports = itertools.takewhile(
        lambda node: isinstance(node, ast.Import | ast.ImportFrom), tree.body if tree else []
    )
    return max((node.end_lineno or 0 for node in imports), default=0)


def _around_given(line: int, source: str) -> list[Part]:
    """The code of an exercise that begins at a line, with the given functions folded."""
    lines, given = source.split("\n"), _given_lines(source)
    parts = []
    for is_given, run in itertools.groupby(range(len(lines)), lambda number: number in given):
        numbers = list(run)
        text = "\n".join(lines[number] for number in numbers).rstrip()
        names = ", ".join(dict.fromkeys(given[number] for number in numbers)) if is_given else ""
        parts.append(code(line + numbers[0], text, f"Given: {names}" if names else ""))
    return parts


def _given_lines(source: str) -> dict[int, str]:
    """{number of a line, from 0: the function} of the functions of an exercise that are not to be
    written, where more than FEW_LINES of them follow each other.
    """
    given: dict[int, str] = {}
    for top in cells.tree_of(source).body:
        for node in top.body if isinstance(top, ast.ClassDef) else [top]:
            gaps = (isinstance(n, ast.Expr) and ast.unparse(n) == "..." for n in ast.walk(node))
            if isinstance(node, ast.FunctionDef) and not any(gaps):
                first = min([node.lineno, *(part.lineno for part in node.decorator_list)])
                given |= dict.fromkeys(range(first - 1, node.end_lineno or 0), node.name)
    for number, text in enumerate(source.split("\n")):
        if not text.strip() and number - 1 in given:
            given[number] = given[number - 1]
    for _, run in itertools.groupby(enumerate(sorted(given)), lambda pair: pair[1] - pair[0]):
        numbers = [number for _, number in run]
        if len(numbers) <= FEW_LINES:
            given = {number: name for number, name in given.items() if number not in numbers}
    return given


def _fold(part: NotebookCell) -> str:
    """What is to be clicked to unfold a cell's code, or ""."""
    return str(part["metadata"].get("mystnb", {}).get("code_prompt_show", ""))


def _hints(hints: Sequence[str]) -> str:
    """The hints, each inside the one before it: one opens after the other."""
    text = ""
    for number, hint in reversed(list(enumerate(hints, 1))):
        text = (
            f'<details class="hint"><summary>Hint {number} of {len(hints)}</summary>\n\n'
            f"{hint_text(hint)}\n\n{text}\n\n</details>"
        )
    return text


def _checks(exercise: Exercise) -> list[Part]:
    """An exercise's visible checks, folded."""
    parts = []
    for cell in dict.fromkeys(check.cell for check in exercise.checks if not check.hidden):
        checks = [check for check in exercise.checks if check.cell is cell]
        points = sum(check.points for check in checks)
        count = f"{len(checks)} check{'s' * (len(checks) != 1)}"
        parts.append(code(0, cell.source, f"{count}, {points} point{'s' * (points != 1)}"))
    return parts


def _question(question: Question) -> Part:
    worth = f", {question.points} point{'s' * (question.points != 1)}" if question.points else ""
    return 0, prose(f"{question.text}\n\n*For a person to judge{worth}.*")


def _readable(source: str) -> tuple[str, int]:
    """The source without its leading directives and empty lines, and how many lines that were."""
    lines = source.split("\n")
    taken = 0
    while taken < len(lines) and (lines[taken].startswith("#|") or not lines[taken].strip()):
        taken += 1
    return "\n".join(lines[taken:]).rstrip(), taken
