"""The output of the commands for authors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from tito.views import count, indented, table

if TYPE_CHECKING:
    from rich.table import Table

    from tito.author.chapter_size import Size
    from tito.author.check import Finding
    from tito.book.build import Site
    from tito.book.pdf import Printed


def check_table(findings: list[Finding], questions: tuple[str, ...]) -> Table:
    """The results of `tito check`: a row per lesson or exercise, a column per question. Exercises
    alone are asked only some of them.
    """
    asked = {finding.question for finding in findings}
    if "form" not in asked:
        questions = tuple(question for question in questions if question in asked)
    listing = table("lesson", *questions)
    for name in dict.fromkeys(finding.lesson for finding in findings):
        answers = {finding.question: finding for finding in findings if finding.lesson == name}
        listing.add_row(name, *(_answer(answers.get(question)) for question in questions))
    return listing


def _answer(finding: Finding | None) -> Text:
    if not finding:
        return Text("not reached", "dim")
    words = (
        f"{finding.right} of {finding.cases}"
        if finding.cases != 1
        else "yes"
        if finding.ok
        else "no"
    )
    return Text(words, "green" if finding.ok else "bold red")


def tracks(rows: list[tuple[str, ...]]) -> Table:
    """How much a learner on each track writes and reads."""
    listing = table("track", "lessons", "exercises", "lines", "words", "points")
    for row in rows:
        listing.add_row(*row)
    return listing


def sizes(rows: list[Size]) -> Group:
    """How long the lessons are, in lines, and how much of the library's code the learner writes."""
    listing = table("lesson", "chapter", "code", "learner's", "share", "terms")
    for column in listing.columns[1:]:
        column.justify = "right"
    for row in rows:
        listing.add_row(
            row.lesson,
            f"{row.chapter:,}",
            str(row.code),
            str(row.learner),
            f"{row.share:.1%}",
            str(row.terms),
        )
    if len(rows) > 1:
        code, learner = sum(row.code for row in rows), sum(row.learner for row in rows)
        listing.add_row(
            "all",
            f"{sum(row.chapter for row in rows):,}",
            str(code),
            str(learner),
            f"{learner / code:.1%}",
            str(sum(row.terms for row in rows)),
        )
    return Group(
        Text(
            "\nlines of the chapter; lines of code in its module, and how many of them the learner "
            "writes; terms introduced",
            "dim",
        ),
        listing,
    )


def check_problems(findings: list[Finding]) -> Group:
    lines: list[RenderableType] = []
    for finding in findings:
        if finding.problems:
            lines += [
                Text(f"\n{finding.lesson}, {finding.question}:", "bold red"),
                *(indented(Text(problem)) for problem in finding.problems),
            ]
        if finding.survivors:
            share = finding.right / finding.cases
            lines += [
                Text(
                    "\n"
                    f"{finding.lesson}: {share:.1%} of the mutations are "
                    "caught by visible checks, which do not catch these:",
                    "bold",
                ),
                *(indented(Text(survivor)) for survivor in finding.survivors),
            ]
    return Group(*lines)


def book(site: Site) -> str:
    """A line about a finished book, and its notes."""
    ran = f", {len(site.ran)} programs run again" if site.ran else ""
    made = (
        f"{site.path / 'index.html'}: {count(site.pages, 'page')}, {site.seconds:.1f} CPU s{ran}."
    )
    return "\n".join([made, *site.notes])


def printed_book(printed: Printed) -> str:
    """A line about a finished PDF."""
    return (
        f"{printed.path}: {count(printed.pages, 'page')} of {printed.paper}, "
        f"{printed.size / 1e6:.1f} MB, {printed.seconds:.1f} CPU s."
    )
