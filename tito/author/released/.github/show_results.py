"""Show on GitHub what `tito test --all --json` printed: a summary of the run, and in each lesson
that fails a mark at the line to look at first.

    python .github/show_results.py RESULTS MESSAGES

RESULTS is that output, MESSAGES is what the command wrote to standard error. The exit code is 1
when a lesson that was begun has not passed. Messages contain text of learners' programs. It is
escaped, so that it cannot change the summary or give GitHub a command.
"""

import html
import json
import os
import sys
from pathlib import Path
from typing import Any

LONGEST = 2000  # characters of a message; GitHub shows summaries of up to 1 MiB


def main(results: str, messages: str) -> int:
    try:
        lessons = json.loads(Path(results).read_text(encoding="utf-8"))
    except ValueError:
        message = Path(messages).read_text(encoding="utf-8", errors="replace")
        write_summary("tito could not test the lessons.", block(message))
        print(annotation("tito", message, None))
        return 1
    begun = [lesson for lesson in lessons if lesson["verdict"] != "stub"]
    failing = [lesson for lesson in begun if lesson["verdict"] != "passed"]
    points, most = (sum(lesson[key] for lesson in lessons) for key in ("points", "max_points"))
    blocks = []
    for lesson in failing:
        where = lesson["first"]["where"]
        message = lesson["first"]["message"].removeprefix(f"{place(where)}: ")
        blocks.append(block(f"{place(where)}\n{message}".strip()))
        print(annotation(lesson["lesson"], message, where))
    write_summary(
        f"{points} of {most} points. Lessons: {len(begun) - len(failing)} passed, {len(failing)} "
        f"begun and not yet right, {len(lessons) - len(begun)} not begun.",
        f"<table>{''.join(map(row, begun))}</table>",
        *blocks,
        *(block("\n".join(lesson["notes"])) for lesson in lessons if lesson["notes"]),
    )
    return bool(failing)


def row(lesson: dict[str, Any]) -> str:
    points = f"{lesson['points']} of {lesson['max_points']}"
    values = (f"{lesson['number']:02}", lesson["lesson"], points, lesson["verdict"])
    return f"<tr>{''.join(f'<td>{html.escape(printable(value))}</td>' for value in values)}</tr>"


def place(where: dict[str, Any] | None) -> str:
    cell = f" cell {where['cell']}" if where and where["cell"] else ""
    return f"{where['path']}{cell}:{where['line']}" if where else ""


def block(text: str) -> str:
    return f"<pre>{html.escape(printable(text))}</pre>"


def annotation(title: str, message: str, where: dict[str, Any] | None) -> str:
    """A command to GitHub, on one line. In a notebook, a line of a cell is no line of the file."""
    properties: dict[str, object] = {"title": place(where) if where and where["cell"] else title}
    if where:
        properties |= {"file": where["path"], "line": 1 if where["cell"] else where["line"]}
    words = ",".join(f"{key}={encoded(value, ':,')}" for key, value in properties.items())
    return f"::error {words}::{encoded(message)}"


def encoded(value: object, more: str = "") -> str:
    text = printable(value)
    for character in f"%\r\n{more}":
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def printable(value: object) -> str:
    """The beginning of a text, with a space for each character that moves or hides others."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in str(value)[:LONGEST])


def write_summary(*paragraphs: str) -> None:
    with open(os.environ["GITHUB_STEP_SUMMARY"], "a", encoding="utf-8") as file:
        print("## Lessons", *paragraphs, "", sep="\n\n", file=file)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
