"""Shorten the docstrings of an exported module.

In the chapter, the docstring of an exercise is its contract. The module keeps what a user of the
library looks up: the first paragraph, the clauses that give a shape, an error, or a type of the
result that the laws ask for, and the first example if its call and its result are one line each.
"""

import ast
import re
import textwrap
from collections.abc import Iterator

from tito.lesson import cells
from tito.lesson.pictures import LIKE, promised

DROPPED = "\0"  # in place of a line that the module does not have
WIDTH = 96
OPENING = re.compile(r' *r?("""|\'\'\')')
TOLD = re.compile(r"\w+Error|of shape \(")
COLUMN = re.compile(r"\S.*?  +(?=\S)")  # the first column of a row of a table


def shorten(body: list[ast.stmt], lines: list[str]) -> dict[int, str]:
    """{line: its text in the module, or DROPPED} for the docstrings in these statements.

    lines  of their cell, counted from 0
    """
    new = dict[int, str]()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            new |= shorten(node.body, lines)
            if ast.get_docstring(node) is not None:
                rows = range(node.body[0].lineno - 1, node.body[0].end_lineno or 0)
                short = _short([lines[row] for row in rows])
                new |= dict.fromkeys(rows, DROPPED) | dict(zip(rows, short, strict=False))
    return new


def _short(lines: list[str]) -> list[str]:
    """The lines of a docstring in the module: the same if it is not in the usual form, or would
    be longer, or end in a quote more.
    """
    opening, text = OPENING.match(lines[0]), "\n".join(lines).rstrip()
    quotes = opening[1] if opening else '"""'
    if not opening or text.count(quotes) != 2 or not text.endswith(quotes) or "\\\n" in text:
        return lines
    indent = " " * (len(text) - len(text.lstrip()))
    text = text.removesuffix(quotes).replace(f"\n{indent}", "\n").strip()
    first, *others = re.split(r"(?<!:)\n\s*\n", text)  # what ends in a colon belongs to the next
    examples = [paragraph for paragraph in others if paragraph.startswith(">>> ")]
    notes = ["\n".join(_notes(text, indent)) for text in others if text not in examples]
    kept = [first, *notes, *map(_first_result, examples[:1])]
    text = "\n\n".join(filter(None, kept))
    if "\n" in text and (lines[-1].strip() == quotes or examples):
        text += "\n"
    short = [f"{indent}{row}".rstrip() for row in f"{text}{quotes}".split("\n")]
    is_text = cells.tree_or_none("\n".join(short).lstrip())
    return short if len(short) <= len(lines) and is_text else lines


def _notes(paragraph: str, indent: str) -> Iterator[str]:
    """What a paragraph or the rows of a table say of shapes and errors, as lines."""
    is_table = COLUMN.match(paragraph)
    for row in re.split(r"\n(?=\S)", paragraph) if is_table else [paragraph]:
        column = match[0] if (match := COLUMN.match(row)) else ""
        first, *others = _clauses(" ".join(row.removeprefix(column).split()))
        kept = [clause for clause in others if TOLD.search(clause)]
        is_result = column.startswith("returns ") and (
            promised(f"{column}{first}") or LIKE.search(first)
        )
        if TOLD.search(first) or is_table and (kept or "shape" in first):
            kept = [first, *kept]
        elif is_result:
            kept = [first.partition(": ")[0]]
        is_nested = re.search(rf"\n {{{len(column) + 1}}}", row)
        if kept and (is_nested or len(kept) > len(others)):
            yield from row.split("\n")
            continue
        text = re.sub(r"; (?=(?!\w*Error)[A-Z])", ". ", " ".join(kept)).rstrip(".;")
        if not is_table:
            text = " ".join(f"{clause.rstrip('.;')}." for clause in kept)
        width = WIDTH - len(indent) - len(column)
        lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
        yield from (f"{' ' * len(column) if n else column}{line}" for n, line in enumerate(lines))


def _clauses(text: str) -> Iterator[str]:
    """A text, cut at its full stops and semicolons, but not inside parentheses."""
    start = 0
    for stop in re.finditer(r"(?<=[^\s.])[.;] ", text):
        clause = text[start : stop.end() - 1]
        if all(clause.count(a) == clause.count(b) for a, b in ("()", "[]", "{}")):
            yield clause
            start = stop.end()
    yield text[start:]


def _first_result(example: str) -> str:
    """The first call of an example and its result; "" if they need more than two lines."""
    rows = example.split("\n")
    prompts = [row.startswith((">>>", "...")) for row in rows]
    return "\n".join(rows[:2]) if [*prompts[:3], True][1:3] == [False, True] else ""
