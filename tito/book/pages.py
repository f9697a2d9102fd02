"""A lesson as pages, one per section: the notebooks that Sphinx is given, made from the lesson's
own cells and from what they printed; and a milestone, which is one page.

Readers see what they need: exercises without what stands between the solution markers, checks and
hints folded, no line that only tools read (`#| export`, metadata). The author's edition adds the
solutions and the hidden checks, folded. A milestone holds no solution; its page is the same in
both.
"""

import ast
import html
import itertools
import json
import posixpath
import re
import textwrap
from dataclasses import dataclass, field

from tito.book import drawings
from tito.errors import WorkError
from tito.learn import milestone
from tito.lesson import cells, glossary
from tito.lesson.cells import ALT
from tito.lesson.lesson_format import stub
from tito.lesson.notebook import visible_points

# Lines that Sphinx counts too many: myst-nb adds 1 to its `source_map`, and so does its renderer.
BEHIND = 2
ANSWER = "The answer"
AUTHOR, LEARNER = "author", "learner"
PYTHON = {"name": "python3", "display_name": "Python 3", "language": "python"}
TITLE = re.compile(r"(#\s[^\n]*\n?)(.*)", re.S)
HEADING = re.compile(r"^## (.*)", re.M)
TASK = "**Task.**"
PARAGRAPH = re.compile(rf"(?!#|{re.escape(TASK)})(.+?)(?:\n\n(.*)|\Z)", re.S)
OPEN_LINES = 25  # longer code that is given is folded


@dataclass
class Section:
    """A page of a lesson: what stands from one `##` to the next.

    title   its heading, "" of the lesson's first page
    path    of its page in the book, without its ending
    parts   [(line of the script, cell of the page)]
    """

    title: str
    path: str
    parts: list = field(default_factory=list)
    exercises: list = field(default_factory=list)


def notebooks(entry, edition, outputs, links, drawn=()):
    """{path: text} of the notebooks that become the lesson's pages: the first, with what stands
    before its first section, the list of sections and the list of exercises, and one per section.

    outputs  {number of a cell, as a string: its outputs}; empty for a page without them
    links    [(words, address)] for the card at the top: where to get or open the lesson
    drawn    the lesson's drawings, as drawings.py describes them
    """
    lesson = entry.declared
    released = cells.parse(lesson.path, lesson.released)
    sections = [Section("", f"lessons/{entry.folder}")]
    paths = section_paths(entry)

    def add(line, part):
        if part["source"].strip():
            sections[-1].parts.append((cell.line + line - BEHIND, part))

    explained = None  # the cell whose answer the next paragraph explains
    for cell in lesson.source.cells:
        is_prose = cell.kind == "markdown" and not cell.question
        if explained and not (is_prose and PARAGRAPH.match(cell.source)):
            raise WorkError(
                f"{entry.relative(entry.script)}:{explained.line}: no paragraph below explains "
                "this answer.",
                'Leave out "explained", or write the paragraph.',
            )
        if cell.question:
            for line, part in _question(lesson.question(cell.question), edition):
                add(line, part)
        elif cell.kind == "markdown":
            source, above = cell.source, 0
            if explained:
                first, source = PARAGRAPH.match(source).groups("")
                above = first.count("\n") + 2  # with the empty line
                add(0, _prose("% explained"))
                add(0, _prose(first))
            for line, title, text in _blocks(source):
                line += above
                if title:
                    sections.append(Section(title, next(paths)))
                    number = f"{entry.number}.{len(sections) - 1}"
                    add(line, _prose(f"# {number} {title}"))
                if len(sections) > 1:
                    text = re.sub(r"^##(#+ )", r"#\1", text, flags=re.M)
                elif match := TITLE.match(text):
                    add(line, _prose(match[1]))
                    add(line, _prose(card(entry, edition, links)))
                    line, text = line + 1, match[2]
                add(line + len(text) - len(text.lstrip("\n")), _prose(text.strip("\n")))
        elif cell.kind == "code" and cell.exercise:
            task = _take_task(sections[-1].parts)
            sections[-1].exercises.append(cell.exercise)
            number = f"{entry.number}.{sum(len(section.exercises) for section in sections)}"
            box = _exercise(lesson, cell, released.cell(cell.exercise), edition, number, task)
            for line, part in box:
                add(line, part)
        elif cell.kind == "code" and not cell.checks:  # the checks stand with their exercise
            for line, part in _code(cell, outputs.get(str(cell.number), [])):
                add(line, part)
        explained = cell if {"answer", "explained"} <= set(cell.tags) else None
    drawings.place(entry, sections, drawn)
    drawings.number_figures(entry.number, [part for section in sections for part in section.parts])
    _mark_terms(lesson.meta["terms"], sections)
    if contents := _contents(lesson, sections):
        sections[0].parts.append((0, _prose(contents)))
    kernel = lesson.source.header.get("kernelspec", PYTHON)
    return {
        f"{section.path}.ipynb": _written(section.parts, kernel, first)
        for section, first in zip(sections, first_lines(entry).values(), strict=True)
    }


def first_lines(entry):
    """{path of a page, without its ending: the line of the script before it}.

    A page's lines are counted from there: when its lesson changes above it, the page is the same.
    """
    paths = section_paths(entry)
    return {f"lessons/{entry.folder}": 0} | {
        next(paths): cell.line + line - BEHIND
        for cell in entry.declared.source.cells
        if cell.kind == "markdown" and not cell.question
        for line, title, _ in _blocks(cell.source)
        if title
    }


def section_paths(entry):
    """The path of the page of each section in order, without its ending."""
    seen = set()
    for cell in entry.declared.source.cells:
        if cell.kind == "markdown" and not cell.question:
            for _, title, _ in _blocks(cell.source):
                if title:
                    slug = slug_of(title)
                    while slug in seen:
                        slug += "-again"
                    seen.add(slug)
                    yield f"lessons/{entry.folder}/{slug}"


def addresses(entry):
    """{heading: the address of its place in the book} of a lesson's headings."""
    found, path, paths = {}, f"lessons/{entry.folder}", section_paths(entry)
    for cell in entry.declared.source.cells:
        if cell.kind == "markdown" and not cell.question:
            for _, title, text in _blocks(cell.source):
                if title:
                    path = next(paths)
                    found[title] = f"{path}.ipynb"
                for lower in re.findall(r"^#+ (.+)$", text, re.M):
                    found.setdefault(lower.strip(), f"{path}.ipynb#{slug_of(lower)}")
    return found


def slug_of(heading):
    """The anchor that MyST gives a heading."""
    text = re.sub(r"[*`$]", "", heading).strip().lower().replace(" ", "-")
    return re.sub(r"[^\w\-]", "", text)


def _blocks(text):
    """(line, title, text) of what stands before, and below, each `##` of a cell's text."""
    starts = [0, *(match.start() for match in HEADING.finditer(text)), len(text)]
    for start, end in itertools.pairwise(starts):
        block = text[start:end]
        if match := HEADING.match(block):
            yield text.count("\n", 0, start), match[1].strip(), block[match.end() :]
        elif block.strip():
            yield text.count("\n", 0, start), "", block


def _take_task(parts):
    """The task at the end of the prose above an exercise, taken out of it; "" without one."""
    if not parts or parts[-1][1]["cell_type"] != "markdown":
        return ""
    prose = parts[-1][1]
    above, mark, task = prose["source"].rpartition(TASK)
    if not mark:
        return ""
    prose["source"] = above.rstrip()
    if not prose["source"]:
        parts.pop()
    return task.strip()


def _mark_terms(terms, sections):
    """Give each term an address, `#term-learning-rate`, where the lesson explains it."""
    prose = [
        part for section in sections for _, part in section.parts if part["cell_type"] == "markdown"
    ]
    for term in terms:
        found = (
            (part, match)
            for emphasised in glossary.emphasis(term)
            for part in prose
            for match in emphasised.finditer(part["source"])
            if not part["source"][: match.start()].rpartition("\n\n")[2].startswith(glossary.NEEDS)
            and not match[0].startswith(glossary.NEEDS)
        )
        if first := next(found, None):
            part, match = first
            source = part["source"]
            mark = f'<span id="{term_id(term)}"></span>'
            part["source"] = source[: match.start()] + mark + source[match.start() :]


def term_id(term):
    """The anchor of the place that explains a term."""
    return f"term-{slug_of(term)}"


def _contents(lesson, sections):
    """The end of a lesson's first page: its sections with their exercises, which have here the same
    address as on their own page.
    """
    if len(sections) == 1:
        return ""
    pages, rows = [], []
    for section in sections[1:]:
        page = posixpath.relpath(section.path, "lessons")
        pages.append(page)
        exercises = "".join(
            f'<li id="{exercise.id}"><a href="{page}.html#{exercise.id}">'
            f"{name_of(exercise)}</a></li>"
            for exercise in map(lesson.exercise, section.exercises)
        )
        title = html.escape(re.sub(r"[*`$]", "", section.title))
        rows.append(
            f'<li><a class="section-link" href="{page}.html">{title}</a>'
            + (f"<ul>{exercises}</ul>" if exercises else "")
            + "</li>"
        )
    listed, toctree = "\n".join(rows), "\n".join(pages)
    return (
        f'## Sections and exercises\n\n<ol class="lesson-contents">\n{listed}\n</ol>\n\n'
        f"```{{toctree}}\n:hidden:\n\n{toctree}\n```"
    )


def name_of(exercise):
    """An exercise's name in words: "Topological order"."""
    words = exercise.name.replace("-", " ")
    return words[:1].upper() + words[1:]


def _written(parts, kernel, first=0):
    """A notebook's text.

    parts  [(where the cell begins in the file it came from, for what Sphinx complains about, cell)]
    first  the line to count from
    """
    for number, (_, part) in enumerate(parts, 1):
        part["id"] = f"cell-{number}"
    meta = {
        "kernelspec": kernel,
        "language_info": {"name": "python"},
        "source_map": [line - first for line, _ in parts],
    }
    book = {
        "cells": [part for _, part in parts],
        "metadata": meta,
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


def card(entry, edition, links=()):
    """What a reader wants to know before beginning: how hard, how long, what it needs, what
    comes next, where to get it.
    """
    lesson, meta = entry.declared, entry.declared.meta
    open_ = [check for check in lesson.checks if edition == AUTHOR or not check.hidden]
    exercises = (
        f"{len(lesson.exercises)} exercise{'s' * (len(lesson.exercises) != 1)}, "
        f"{sum(check.points for check in open_)} points"
    )
    rows = [
        ("Difficulty", f"{meta['difficulty']} of 5"),
        ("Time", f"about {meta['hours']:g} hour{'s' * (meta['hours'] != 1)}"),
        ("To write", exercises),
        ("Needs", _lessons(entry.root, meta["prerequisites"]) or "no other lesson"),
        ("Next", _lessons(entry.root, meta["enables"])),
        ("Begin", f"`tito start {entry.name}`"),
        ("Open", ", ".join(f"[{words}]({address})" for words, address in links)),
    ]
    return _card(f"{meta['summary'].rstrip('.')}.", rows)


def _card(summary, rows):
    listed = "\n".join(f"- **{name}** {value}" for name, value in rows if value)
    return f":::{{container}} lesson-card\n{summary}\n\n{listed}\n:::"


def _lessons(root, names):
    entries = {other.name: other for other in root.lessons}
    return ", ".join(
        f"[{entries[name].declared.title}](../lessons/{entries[name].folder}.ipynb)"
        for name in names
        if name in entries
    )


# A milestone.


def of_milestone(root, entry, outputs):
    """The text of the notebook that becomes the page of a milestone: what it is about,
    what it reaches, its program.

    outputs  {"measured": [[name, number], ...], "printed": outputs, "drawn": outputs};
             empty for a page without them
    """
    text = entry.path.read_text(encoding="utf-8")
    about, body = summary_of(entry), milestone.BLOCK.split(text, maxsplit=1)[-1].strip("\n")
    summary, _, prose = about.partition("\n\n")
    rows = [
        ("Needs", _lessons(root, entry.needs)),
        ("To reach", ", ".join(f"{name} {text}" for name, text in entry.bars().items())),
        ("Run it", f"`tito milestone run {entry.name}`"),
        ("Options", ", ".join(f"`{option}`" for option in entry.options)),
    ]
    parts = [
        (0, _prose(f"# {entry.year}. {entry.title}")),
        (0, _prose(_card(" ".join(summary.split()), rows))),
        (summary.count("\n") + 2, _prose(prose)),
    ]
    if outputs:
        parts.append((0, _prose(_reached(entry, outputs["measured"]))))
        if outputs["drawn"]:
            parts.append(
                _cell(
                    0,
                    "run(seed=0)",
                    None,
                    outputs["drawn"],
                    {"mystnb": {"image": {"alt": entry.alt}}, "tags": ["remove-input"]},
                )
            )
    program = {
        "mystnb": {"code_prompt_show": "What it prints", "code_prompt_hide": "What it prints"},
        "tags": ["hide-output"],
    }
    parts += [
        (0, _prose("## The program")),
        _cell(
            text.count("\n", 0, text.index(body)), body, None, outputs.get("printed", []), program
        ),
    ]
    for path in sorted(entry.path.parent.glob("*.py")):
        if not milestone.FILE.fullmatch(path.name) and re.search(
            rf"^(?:from|import) {path.stem}\b", body, re.M
        ):
            parts.append(
                _cell(
                    0,
                    path.read_text(encoding="utf-8").strip("\n"),
                    f"{path.name}, which it imports",
                    [],
                )
            )
    drawings.number_figures(entry.year, parts)
    parts = [(line + 1 - BEHIND, part) for line, part in parts if part["source"]]
    return _written(parts, PYTHON)


def summary_of(program):
    """What a milestone says about itself, without the year."""
    about = ast.get_docstring(ast.parse(program.path.read_text(encoding="utf-8"))) or ""
    about = about.removeprefix(f"{program.year}:").lstrip()
    return about[:1].upper() + about[1:]


def _reached(program, measured):
    bars = program.bars()
    rows = [
        f"| {name} | {text} | {bars.get(name, '')} |"
        for name, text in program.figures(dict(measured)).items()
    ]
    return "\n".join(
        [
            "## What it reaches",
            "",
            "With the course's own lessons and seed 0:",
            "",
            "| | measured | to reach |",
            "| --- | ---: | ---: |",
            *rows,
        ]
    )


# Prose.


def _prose(text):
    return {"cell_type": "markdown", "metadata": {}, "source": text}


# Code.


def _code(cell, outputs):
    source, skipped = _readable(cell.source)
    if not source:
        return []
    meta, folded = {}, None
    if alt := cell.alt:
        meta = {"mystnb": {"image": {"alt": alt}}}
        source = ALT.sub("", source).rstrip()
    if "answer" in cell.tags:
        meta["tags"] = ["hide-output"]
        meta["mystnb"] = meta.get("mystnb", {}) | {
            "code_prompt_show": ANSWER,
            "code_prompt_hide": ANSWER,
        }
    elif (length := source.count("\n") + 1) > OPEN_LINES:
        folded = f"Given code, {length} lines"
    return [_cell(skipped, source, folded, outputs, meta)]


def _exercise(lesson, cell, released, edition, number, task):
    """The box of an exercise: what it is, the task, the contract, hints and checks.

    conf.py puts what stands from "exercise" to "exercise-end" into one box.
    """
    exercise = lesson.exercise(cell.exercise)
    contract, skipped = _readable(released.source)
    contract = contract.replace(stub(lesson.name, exercise.name), "...")
    points = visible_points(exercise)
    head = (
        f"**Exercise {number}. {name_of(exercise)}** "
        f"({points} point{'s' * (points != 1)}, `{exercise.id}`)"
    )
    parts = [
        (0, _prose(f":::{{container}} exercise\n:name: {exercise.id}\n\n{head}\n:::")),
        (0, _prose(task)),
        _cell(skipped, contract, None, []),
        (0, _prose(_hints(exercise.hints))),
        *_checks(exercise, edition),
    ]
    if edition == AUTHOR:
        bodies = re.findall(
            r"^[ \t]*### BEGIN SOLUTION\n(.*?)^[ \t]*### END SOLUTION", cell.source, re.S | re.M
        )
        solution = "\n...\n".join(textwrap.dedent(body).strip("\n") for body in bodies)
        parts.append(_cell(skipped, solution, f"The solution of {exercise.id}", []))
    return [*parts, (0, _prose("% exercise-end"))]


def _hints(hints):
    """The hints, each in the one before it: one opens after the other."""
    text = ""
    for number, hint in reversed(list(enumerate(hints, 1))):
        text = (
            f'<details class="hint"><summary>Hint {number} of {len(hints)}</summary>\n\n'
            f"{hint}\n\n{text}\n\n</details>"
        )
    return text


def _checks(exercise, edition):
    """What an exercise's checks say, folded; to an author the hidden ones, too."""
    parts = []
    for cell in dict.fromkeys(check.cell for check in exercise.checks):
        checks = [check for check in exercise.checks if check.cell is cell]
        if checks[0].hidden and edition != AUTHOR:
            continue
        points = sum(check.points for check in checks)
        kind = "hidden check" if checks[0].hidden else "check"
        title = (
            f"{len(checks)} {kind}{'s' * (len(checks) != 1)}, {points} point{'s' * (points != 1)}"
        )
        parts.append(_cell(0, cell.source, title, []))
    return parts


def _question(question, edition):
    """What a question asks; to an author its sample answer, too, folded."""
    worth = f", {question.points} point{'s' * (question.points != 1)}" if question.points else ""
    parts = [(0, _prose(f"{question.text}\n\n*For a person to judge{worth}.*"))]
    if edition == AUTHOR and question.sample:
        title = f"A sample answer to {question.name}"
        folded = f"<details><summary>{title}</summary>\n\n{question.sample}\n\n</details>"
        parts.append((0, _prose(folded)))
    return parts


def _cell(line, source, folded, outputs, meta=None):
    """A code cell; `folded` is the words to unfold it with, None for a cell that stands open."""
    meta = dict(meta or {})
    if folded:
        meta["tags"] = ["hide-input"]
        meta["mystnb"] = {"code_prompt_show": folded, "code_prompt_hide": folded} | meta.get(
            "mystnb", {}
        )
    return line, {
        "cell_type": "code",
        "execution_count": None,
        "metadata": meta,
        "outputs": outputs,
        "source": source,
    }


def _readable(source):
    """The source without its leading directives and empty lines, and how many lines that were."""
    lines = source.split("\n")
    taken = 0
    while taken < len(lines) and (lines[taken].startswith("#|") or not lines[taken].strip()):
        taken += 1
    return "\n".join(lines[taken:]).rstrip(), taken
