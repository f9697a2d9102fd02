"""The parts of a lesson's page, from its cells.

A lesson has a page for its opening, and one from each text cell with `page="Title"` to the next, or
in a lesson without such cells one for each section; the page of a learner is all of it. Exercises
have no solutions and hidden checks; visible checks and hints are folded; lines for tools
(`#| export`, metadata) are left out.
"""

import ast
import functools
import html
import itertools
import posixpath
import re
from collections.abc import Iterator, Sequence

from tito.errors import WorkError
from tito.lesson import cells, glossary
from tito.lesson.cells import Cell
from tito.lesson.course import Entry
from tito.lesson.lesson_format import Exercise, Lesson, stub
from tito.lesson.notebook import visible_points
from tito.page.parts import Outputs, Part, Section, prose, texts
from tito.page.prose import slug_of

ANSWER, IMPORTS = "The answer", "Imports"  # what is folded
HEADING = re.compile(r"^## (.*)", re.M)
TASK = "**Task.**"
PARAGRAPH = re.compile(rf"(?!#|{re.escape(TASK)})(.+?)(?:\n\n(.*)|\Z)", re.S)
OPEN_LINES, OPENING_LINES = 25, 8  # longer code that is given is folded, in a lesson's opening too
SEARCHED = 'data-pagefind-index-attrs="data-also" data-pagefind-meta="also[data-also]"'
REFERENCE = re.compile(
    rf"{glossary.NO_PROSE}|\blesson (?P<lesson>\d\d)\b"
    r"|(?P<opening>\bfirst picture|\bpicture at the beginning)"
    r'|\bsection "(?P<section>[^"]+)"',
    re.M | re.S,
)
FEW_LINES = 6  # of given functions in an exercise, which are not folded


class Builder:
    """Collects the parts of a lesson, cell by cell, in `sections`.

    outputs  {number of a cell, as a string: its outputs}; empty for a page without them
    """

    def __init__(self, entry: Entry, outputs: dict[str, Outputs]) -> None:
        self.entry, self.outputs = entry, outputs
        self.sections = [Section("", f"lessons/{entry.folder}")]
        self.explained: Part | None = None  # the code whose answer the next paragraph explains

    def build(self) -> list[Section]:
        """The parts of the lesson's pages: its opening, and each section."""
        self.released = cells.parse(self.entry.declared.path, self.entry.declared.released)
        self.places = _places(self.entry)
        for cell in self.entry.declared.source.cells:
            self.add_cell(cell)
        return self.sections

    def add(self, cell: Cell, parts: Sequence[Part]) -> None:
        """Add parts of a cell to the last section; their lines are counted from the cell's."""
        here = self.sections[-1].parts
        for part in parts:
            if here and IMPORTS == part.folded == here[-1].folded:
                here[-1].source += f"\n\n{part.source}"
            elif part.source.strip() or part.kind in ("hints", "end"):
                part.line += cell.line
                here.append(part)

    def add_cell(self, cell: Cell) -> None:
        explained, self.explained = self.explained, None
        text = cell.source if cell.kind == "markdown" and not cell.question else ""
        above = self.explain(explained, cell, text) if explained else 0
        if cell.question:
            self.add(cell, self.question(cell))
        elif cell.kind == "markdown" and "answer" in cell.tags:
            self.add(cell, [Part("hints", "", hints=(text,), folded="Answers")])
        elif cell.kind == "markdown":
            self.add_prose(cell, text[above:], text.count("\n", 0, above))
        elif cell.kind == "code" and self.is_exercise(cell):
            self.add_exercise(cell, self.entry.declared.exercise(cell.exercise or ""))
        elif cell.kind == "code" and not cell.checks:  # the checks are part of their exercise
            self.add(cell, self.code(cell))

    def is_exercise(self, cell: Cell) -> bool:
        return bool(cell.exercise)

    def explain(self, code: Part, cell: Cell, text: str) -> int:
        """Give the code the paragraph that explains its answer. Returns where the text after it
        begins.
        """
        match = PARAGRAPH.match(text)
        if not match:
            raise WorkError(
                f"{self.entry.relative(self.entry.script)}:{code.line}: no paragraph "
                "below explains this answer.",
                'Leave out "explained", or write the paragraph.',
            )
        code.explanation = prose(cell.line, match[1])
        return match.start(2) if match[2] is not None else len(text)

    def add_prose(self, cell: Cell, text: str, above: int) -> None:
        """Add prose, which may begin new sections; `above` lines of its cell come before it."""
        for line, title, block in _blocks(text):
            line += above
            if title:
                path, page = self.place(title)
                self.sections.append(Section(title, path, page))
                number = f"{self.entry.number}.{len(self.sections) - 1}"
                self.add(cell, [prose(line, f"{'#' * (1 + bool(page))} {number} {title}")])
            if len(self.sections) > 1 and not self.sections[-1].page:
                block = re.sub(r"^##(#+ )", r"#\1", block, flags=re.M)
            first = line + len(block) - len(block.lstrip("\n"))
            self.add(cell, [prose(first, block.strip("\n"))])

    def place(self, title: str) -> tuple[str, str]:
        """(path of the page, its title) of the section that begins."""
        return next(self.places)[:2]

    def add_exercise(self, cell: Cell, exercise: Exercise) -> None:
        task = _take_task(self.sections[-1].parts)
        self.sections[-1].exercises.append(exercise.name)
        number = [one.name for one in self.entry.declared.exercises].index(exercise.name) + 1
        points = _count(visible_points(exercise), "point")
        facts = [points, f"`{exercise.id}`", *self.tracks(exercise)]
        head = f"**Exercise {self.entry.number}.{number}. {exercise.title}** ({', '.join(facts)})"
        self.add(
            cell,
            [
                Part("exercise", head, name=exercise.id, state=self.state(exercise)),
                prose(0, task),
                *self.exercise_code(cell, exercise),
                prose(0, f"```text\ntito test {exercise.id}\n```"),
                *self.verdict(exercise),
                Part("hints", "", hints=exercise.hints),
                *_checks(exercise),
                Part("end", ""),
            ],
        )

    # What differs in the page of a learner.

    def tracks(self, exercise: Exercise) -> list[str]:
        """The names of the tracks that have the exercise: of the first, which learners get."""
        root = self.entry.root
        return [n.name for n in [*root.all_tracks.values()][:1] if exercise.id in root.ids_on(n)]

    def state(self, exercise: Exercise) -> tuple[str, str]:
        return "", ""

    def verdict(self, exercise: Exercise) -> list[Part]:
        return []

    def exercise_code(self, cell: Cell, exercise: Exercise) -> list[Part]:
        """The contract, with an open place for the solution."""
        released = self.released.cell(exercise.name)
        assert released is not None
        contract, skipped = _readable(released.source)
        contract = contract.replace(stub(self.entry.declared.name, exercise.name), "...")
        return _around_given(skipped, contract)

    def question(self, cell: Cell) -> list[Part]:
        asked = next(one for one in self.entry.declared.questions if one.name == cell.question)
        worth = f", {_count(asked.points, 'point')}" if asked.points else ""
        return [prose(0, f"{asked.text}\n\n*For a person to judge{worth}.*")]

    def code(self, cell: Cell) -> list[Part]:
        """A cell's code; what is long is folded, and imports that are a whole cell or in a lesson's
        opening, so that question, picture and promise fit one screen.
        """
        opening = len(self.sections) == 1
        source, skipped = _readable(cell.code)
        lines, end = source.split("\n"), _end_of_imports(source)
        parts = []
        if end and (opening or end == len(lines)):
            parts.append(Part("code", "\n".join(lines[:end]), skipped, folded=IMPORTS))
            while end < len(lines) and not lines[end].strip():
                end += 1
            skipped, lines = skipped + end, lines[end:]
        shown = Part("code", "\n".join(lines), skipped, outputs=self.outputs_of(cell))
        said = self.entry.declared.said(cell)
        shown.alt, shown.caption = said["alt"], said["caption"]
        if "answer" in cell.tags:
            shown.answer = ANSWER
            self.explained = shown if "explained" in cell.tags else None
        elif len(lines) > (OPENING_LINES if opening else OPEN_LINES):
            shown.folded = f"Given code, {len(lines)} lines"
        return [*parts, shown]

    def outputs_of(self, cell: Cell) -> Outputs:
        return list(self.outputs.get(str(cell.number), []))


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' * (number != 1)}"


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


@functools.lru_cache(64)
def addresses(entry: Entry) -> dict[str, str]:
    """{heading: the address of its place in the book} of a lesson's headings."""
    found: dict[str, str] = {}
    path, places = f"lessons/{entry.folder}", _places(entry)
    for _, _, title, text in _prose_blocks(entry):
        if title:
            path, page, _ = next(places)
            found[title] = f"{path}.html" + f"#{slug_of(title)}" * bool(page)
        for lower in re.findall(r"^#+ (.+)$", text, re.M):
            found.setdefault(lower.strip(), f"{path}.html#{slug_of(lower)}")
    return found


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
    if not parts or parts[-1].kind != "prose":
        return ""
    above, mark, task = parts[-1].source.rpartition(TASK)
    if not mark:
        return ""
    parts[-1].source = above.rstrip()
    if not parts[-1].source:
        parts.pop()
    return task.strip()


def mark_terms(lesson: Lesson, sections: list[Section]) -> dict[str, str]:
    """Give each term an address, `#term-learning-rate`, where the lesson explains it. There, the
    search also finds its synonyms. Returns {mark in the prose: the HTML that takes its place}.
    """
    marks: dict[str, str] = {}
    paragraphs = [*texts(sections)]
    for term in lesson.meta["terms"]:
        places = (
            (part, match)
            for emphasised in glossary.emphasis(term)
            for part in paragraphs
            for match in emphasised.finditer(part.source)
            if not part.source[: match.start()].rpartition("\n\n")[2].startswith(glossary.NEEDS)
            and not match[0].startswith(glossary.NEEDS)
        )
        if first := next(places, None):
            part, match = first
            words = html.escape(", ".join(lesson.meta.get("synonyms", {}).get(term, [])))
            found = f' data-also="{words}." {SEARCHED}' if words else ""
            mark = f"\ue000{len(marks)}."  # its end lets emphasis begin behind it
            marks[mark] = f'<span id="{term_id(term)}"{found}></span>'
            part.source = f"{part.source[: match.start()]}{mark}{part.source[match.start() :]}"
    return marks


def link_references(
    entry: Entry, sections: list[Section], lessons: dict[str, str], own: dict[str, str]
) -> None:
    """Let "lesson 04" lead there where a section first says it, 'section "Metrics"' to the section,
    and "first picture" to the opening.

    lessons  {"04": the address of its page}
    own      {heading: the address of its place} of the lesson's headings, and of "", its opening
    """
    for section in sections:
        linked = {own[""]}

        def link(match: re.Match[str]) -> str:
            place = own.get(match["section"] or "?") or lessons.get(match["lesson"] or "", "")
            place = own[""] if match["opening"] and section.title else place
            if not place or (match["lesson"] and place in linked):
                return match[0]
            linked.add(place)
            return f"[{match[0]}]({relative(place, section.path)})"

        for part in texts([section]):
            part.source = REFERENCE.sub(link, part.source)


def link_terms(sections: list[Section], links: glossary.TermLinks) -> dict[str, str]:
    """Link terms of earlier lessons. Returns {mark in the prose: HTML}, as `mark_terms` does."""
    for path, part in ((section.path, part) for section in sections for part in texts([section])):
        part.source = links.linked(part.source, functools.partial(relative, path=path))
    return links.marks


def relative(place: str, path: str) -> str:
    """The address of a place in the book, from a page of the book or of a learner."""
    is_whole = not place or place[0] == "#" or "://" in place
    return place if is_whole else posixpath.relpath(place, posixpath.dirname(path) or ".")


def term_id(term: str) -> str:
    """The anchor of the place that explains a term."""
    return f"term-{slug_of(term)}"


# The code of a lesson.


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
        given_names = f"Given: {names}" if names else ""
        parts.append(Part("code", text, line + numbers[0], folded=given_names))
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


def _checks(exercise: Exercise) -> list[Part]:
    """An exercise's visible checks, folded."""
    parts = []
    for cell in dict.fromkeys(check.cell for check in exercise.checks if not check.hidden):
        checks = [check for check in exercise.checks if check.cell is cell]
        points = sum(check.points for check in checks)
        title = f"{_count(len(checks), 'check')}, {_count(points, 'point')}"
        parts.append(Part("code", cell.source, folded=title))
    return parts


def _readable(source: str) -> tuple[str, int]:
    """The source without its leading directives and empty lines, and how many lines that were."""
    lines = source.split("\n")
    taken = 0
    while taken < len(lines) and (lines[taken].startswith("#|") or not lines[taken].strip()):
        taken += 1
    return "\n".join(lines[taken:]).rstrip(), taken
