"""A lesson as a page: the notebook that Sphinx is given, made from the lesson's own cells and from
what they printed; and a milestone.

Readers see what they need: exercises without what stands between the solution markers, checks and
hints folded, no line that only tools read (`#| export`, metadata). The author's edition adds the
solutions and the hidden checks, folded. A milestone holds no solution; its page is the same in
both.
"""

import ast
import json
import re
import textwrap

from tito.learn import milestone
from tito.lesson import cells
from tito.lesson.cells import ALT
from tito.lesson.form import stub
from tito.lesson.notebook import hints_of

# Lines that Sphinx counts too many: myst-nb adds 1 to its `source_map`, and so does its renderer.
BEHIND = 2
ANSWER = "The answer"
AUTHOR, LEARNER = "author", "learner"
PYTHON = {"name": "python3", "display_name": "Python 3", "language": "python"}
TITLE = re.compile(r"(#\s[^\n]*\n?)(.*)", re.S)


def notebook(entry, edition, outputs, links):
    """The text of the notebook that becomes the lesson's page.

    outputs  {number of a cell, as a string: its outputs}; empty for a page without them
    links    [(words, address)] for the card at the top: where to get or open the lesson
    """
    lesson = entry.declared
    released = cells.parse(lesson.path, lesson.released)
    page_cells, lines = [], []
    titled = False
    for cell in lesson.source.cells:
        if cell.kind == "code":
            parts = _code(lesson, cell, released, edition, outputs.get(str(cell.number), []))
        elif cell.question:
            parts = _question(lesson.question(cell.question), edition)
        elif cell.kind == "markdown":
            parts = [_prose(0, cell.source)]
            if not titled and (match := TITLE.match(cell.source)):
                title, rest = match.groups()
                parts = [
                    _prose(0, title),
                    _prose(0, card(entry, edition, links)),
                    _prose(1 + len(rest) - len(rest.lstrip("\n")), rest.strip("\n")),
                ]
                titled = True
        else:
            parts = []
        for line, part in parts:
            if not part["source"].strip():
                continue
            page_cells.append(part)
            lines.append(cell.line + line - BEHIND)
    return _written(page_cells, lines, lesson.source.header.get("kernelspec", PYTHON))


def _written(cells, lines, kernel):
    """The notebook's text.

    `lines` are where the cells begin in the file they came from, for what Sphinx complains about.
    """
    for number, part in enumerate(cells, 1):
        part["id"] = f"cell-{number}"
    meta = {"kernelspec": kernel, "language_info": {"name": "python"}, "source_map": lines}
    return (
        json.dumps(
            {"cells": cells, "metadata": meta, "nbformat": 4, "nbformat_minor": 5},
            indent=1,
            ensure_ascii=False,
        )
        + "\n"
    )


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
        _prose(0, f"# {entry.year}. {entry.title}"),
        _prose(0, _card(" ".join(summary.split()), rows)),
        _prose(summary.count("\n") + 2, prose),
    ]
    if outputs:
        parts.append(_prose(0, _reached(entry, outputs["measured"])))
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
        _prose(0, "## The program"),
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
    parts = [(line, part) for line, part in parts if part["source"]]
    return _written([part for _, part in parts], [line + 1 - BEHIND for line, _ in parts], PYTHON)


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


def _prose(line, text):
    return line, {"cell_type": "markdown", "metadata": {}, "source": text}


# Code.


def _code(lesson, cell, released, edition, outputs):
    source, skipped = _readable(cell.source)
    if not source:
        return []
    if cell.exercise:
        return _exercise(lesson, cell, released.cell(cell.exercise), edition, outputs)
    if cell.checks:
        return _checks(lesson.exercise(cell.checks), edition)
    meta = {}
    if alt := cell.alt:
        meta = {"mystnb": {"image": {"alt": alt}}}
        source = ALT.sub("", source).rstrip()
    if "answer" in cell.tags:
        meta["tags"] = ["hide-output"]
        meta["mystnb"] = meta.get("mystnb", {}) | {
            "code_prompt_show": ANSWER,
            "code_prompt_hide": ANSWER,
        }
    return [_cell(skipped, source, None, outputs, meta)]


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


def _exercise(lesson, cell, released, edition, outputs):
    exercise = lesson.exercise(cell.exercise)
    contract, skipped = _readable(released.source)
    contract = contract.replace(stub(lesson.name, exercise.name), "...")
    head = f":::{{container}} exercise\nExercise `{exercise.id}`.\n:::"
    parts = [_prose(0, head), _cell(skipped, contract, None, outputs)]
    if exercise.hints:
        parts.insert(
            0, _prose(0, hints_of(exercise.hints).replace("<details>", '<details class="hint">'))
        )
    if edition == AUTHOR:
        bodies = re.findall(
            r"^[ \t]*### BEGIN SOLUTION\n(.*?)^[ \t]*### END SOLUTION", cell.source, re.S | re.M
        )
        solution = "\n...\n".join(textwrap.dedent(body).strip("\n") for body in bodies)
        parts.append(_cell(skipped, solution, f"The solution of {exercise.id}", []))
    return parts


def _question(question, edition):
    """What a question asks; to an author its sample answer, too, folded."""
    worth = f", {question.points} point{'s' * (question.points != 1)}" if question.points else ""
    parts = [_prose(0, f"{question.text}\n\n*For a person to judge{worth}.*")]
    if edition == AUTHOR and question.sample:
        title = f"A sample answer to {question.name}"
        folded = f"<details><summary>{title}</summary>\n\n{question.sample}\n\n</details>"
        parts.append(_prose(0, folded))
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
