"""The commands for authors: check and book.

Each command imports its modules itself.
"""

from pathlib import Path
from typing import Annotated

import typer

from tito.cli.app import (
    Json,
    Tasks,
    app,
    commands,
    complain,
    current_folder,
    current_root,
    echo,
    echo_json,
    progress_bar,
    select_lessons,
    select_tasks,
)
from tito.errors import UsageError

Jobs = Annotated[
    int, typer.Option(min=1, help="How many copies of the course to work in at the same time.")
]


@app.command()
def check(words: Tasks = None, json: Json = False, jobs: Jobs = 2) -> None:
    """For authors: verify that a lesson's checks accept right code and reject wrong code.

    Of a whole lesson, it also verifies form, grading, examples and that the package is up to date.
    Without a lesson: all lessons. Example: tito check tensor-strides
    """
    from dataclasses import asdict

    from tito.author import chapter_size
    from tito.author import check as checking

    course = current_root().whole
    if not course.is_course:
        raise UsageError(
            f"{course.path} is a workspace; its lessons have no solutions.", "Run it in the course."
        )
    selection = select_tasks(course, words, None, not words)
    tracks = [] if words else list(chapter_size.tracks(course))
    with progress_bar(not json) as report:
        findings = list(checking.check_all(selection, jobs, report))
    if json:
        echo_json([asdict(finding) | {"ok": finding.ok} for finding in findings])
    else:
        from tito.views import author as views

        readable = {row.lesson for row in findings if row.question == "form" and row.ok}
        sizes = [chapter_size.measure(entry) for entry in selection if entry.name in readable]
        echo(views.check_table(findings, checking.QUESTIONS))
        echo(*([views.sizes(sizes)] if sizes else []), *([views.tracks(tracks)] if tracks else []))
        echo(views.check_problems(findings))
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


book_app = typer.Typer(
    no_args_is_help=True, help="For authors: build the book, a web site of the lessons."
)
app.add_typer(book_app, name="book")
Fast = Annotated[
    bool, typer.Option("--fast", help="Do not run the lessons; the pages have no outputs.")
]

Printed = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[LESSON]...",
        help="With --paper: only these. Default: all lessons, the milestones and the glossary.",
    ),
]
Paper = Annotated[
    str | None,
    typer.Option(metavar="a4|letter", help="Print a PDF of this size instead of the site."),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="PATH",
        help="A new folder, or the folder of an earlier build; the file of a PDF. Default: in "
        "book/_build.",
    ),
]


@book_app.command("build")
def build_book(
    lessons: Printed = None,
    paper: Paper = None,
    output: Output = None,
    fast: Fast = False,
) -> None:
    """For authors: build the site, or print it as a PDF. A lesson runs again only when it or an
    earlier one has changed.

    pandoc and typst print the PDF (bin/setup print). It has a table of contents; hints and answers
    are at the end. Example: tito book build --output ../site
    """
    from tito.book.build import Options, build
    from tito.views import author as views

    course = current_root().whole
    place = output and current_folder() / output.expanduser()
    if lessons and not paper:
        raise UsageError("The site has all lessons.", "Print some of them: --paper a4")
    with progress_bar(True) as report:

        def ran(name: str, done: int, of: int) -> None:
            report(f"{name} ({done} of {of})", done, of)

        site_at = None if paper else place
        options = Options(fast=fast, output=site_at, commands=commands(), report=ran)
        if paper:
            from tito.book import pdf

            chosen = select_lessons(course, lessons, False) if lessons else ()
            words = views.printed_book(pdf.make(course, chosen, paper, place, options))
        else:
            words = views.book(build(course, options))
    echo(words)


@book_app.command("serve")
def serve_book(fast: Fast = False) -> None:
    """For authors: build the site, serve it on this machine, and build it again at each save.
    Ctrl-C ends it.

    Example: tito book serve --fast
    """
    from tito.book.build import Options
    from tito.book.serve import serve
    from tito.views import author as views

    serve(
        current_root().whole,
        Options(fast=fast, commands=commands()),
        on_ready=lambda address: echo(f"{address}  (Ctrl-C ends it)"),
        on_site=lambda site: echo(views.book(site)),
        on_error=complain,
    )
