"""The commands for working on a lesson, from `init` to `export`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tito.cli.app import (
    All,
    Json,
    Lesson,
    Lessons,
    Module,
    Tasks,
    app,
    ask_line,
    complain,
    current_lesson,
    current_root,
    echo,
    echo_json,
    is_given,
    named_root,
    select_exercise,
    select_lesson,
    select_lessons,
    select_tasks,
    show_due,
)
from tito.cli.learner.show import needed, show_report, show_results
from tito.errors import MachineError, TitoError, UsageError, WorkError

if TYPE_CHECKING:
    from tito.lesson.course import Entry, Root

KEEP = ("script", "notebook")
Keyword = Annotated[
    str | None,
    typer.Option(
        "-k",
        metavar="NAME",
        help="Run one exercise, or only the checks whose names contain NAME.",
    ),
]


@app.command()
def init(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A new folder, or a workspace to repair.")
    ],
    track: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What you write; the rest is given. In a workspace, add it. whole: all of it.",
        ),
    ] = None,
) -> None:
    """Create a workspace, the folder in which you work on the lessons.

    It contains the lessons to fill in, and the package that your code becomes part of.

    Example: tito init ../my-tinytorch
    """
    from tito.learn import update, workspace
    from tito.lesson import course
    from tito.views import learner as views

    source = _course_to_learn()
    if track and (folder / "tito.toml").exists():
        root = course.open_root(workspace.suitable(folder, source))
        echo(views.update(update.add_track(root, source, track)))
        return
    if track or not source.tracks:
        source = source.on_tracks([track] if track else list(source.all_tracks)[:1])
    added = workspace.init(folder, source)
    if not added:
        echo(f"{folder} is complete; nothing was changed.")
    elif any(path.name == "tito.toml" for path in added):
        echo(views.ready(folder, source))
    else:
        lacked = f"{folder} lacked {len(added)} file{'s' * (len(added) > 1)}, now added:"
        echo(lacked, *(f"  {path}" for path in added))


def _course_to_learn() -> "Root":
    """The course around this folder, the course of its workspace, or the installed course."""
    from tito.lesson import course

    try:
        root = current_root()
        return root if root.is_course else root.reference
    except TitoError:
        if named_root():
            raise
        return course.installed_course()


@app.command()
def status(json: Json = False) -> None:
    """Show your progress: the state and points of each lesson, and what to do next.

    States: new, started, passed, stale (edited since it passed), given. When every lesson has
    passed, it writes certificate.html, a page about what you built. Example: tito status
    """
    from dataclasses import asdict

    from tito.learn import status as lesson_status

    root = current_root()
    rows = lesson_status.rows(root)
    if json:
        hidden = ("edited", "written", "below", "exercises", "right")
        echo_json([{k: v for k, v in asdict(row).items() if k not in hidden} for row in rows])
        return
    from tito.views import learner as views
    from tito.views import link

    step = lesson_status.next_step(rows)
    echo(views.status(root, rows, step, lesson_status.place_on_board(root)))
    show_due(root)
    if not (step or root.is_course):
        from tito.learn import certificate, milestone, workspace

        asks = sys.stdin.isatty() and sys.stdout.isatty()
        if asks and workspace.learner_name(root) is None:
            name = ask_line("your name on the certificate? (enter: none) ")
            workspace.save_learner_name(root, name or "")
        is_written = certificate.write(root, rows)
        echo(views.certificate(link(root, certificate.NAME), is_written))
        if (programs := milestone.statuses(root)) and programs[-1].state != "passed":
            last = programs[-1].milestone
            echo(f"the last milestone: tito milestone run {last.name}    {last.title}")


@app.command()
def start(lesson: Lesson = None) -> None:
    """Begin a lesson: create its file, and show which file to open and where to begin.

    Without a lesson: the one to work on next.

    Example: tito start tensor
    """
    from tito.learn import notebook_sync, progress, runner
    from tito.learn import status as lesson_status
    from tito.views import learner as views
    from tito.views import link

    root = current_root()
    entry = select_lesson(root, lesson or current_lesson(root))
    if is_given(entry):
        return
    with progress.change(entry.root, entry.name) as record:
        came_back = "started" in record
        record.setdefault("started", progress.now())
        first = lesson_status.first_open(entry, record)
        source = notebook_sync.read(entry, record)
    records = progress.load(entry.root)["lessons"]
    cell = source.cell(first.name) if first else None
    line = cell.line if cell and not source.is_notebook else None
    # A reader begins at the top; a learner who comes back goes on at the exercise.
    at = f":{line}" if line and came_back else ""
    place = link(entry.root, entry.relative(source.path) + at)
    echo(views.lesson_card(entry, place, needed(entry, records), first.id if first else None, line))
    tell_of_solutions(root)
    if not root.is_course:
        runner.show_beginning(entry)


def tell_of_solutions(root: "Root") -> None:
    """Say of the course's own folder that there is nothing to write in it."""
    from tito.views import Pieces

    if root.is_course:
        learn = "To learn: bin/tito init ../my-tinytorch"
        echo(Pieces(["This folder holds the course with its solutions.", learn]))


@app.command()
def read(lesson: Lesson = None) -> None:
    """Open a lesson in the browser: its text, your code, and what your code prints and draws.

    The page shows the results of the last test, and reloads when you test again. Example:
    tito read tensor
    """
    from tito.learn import lesson_page, runner
    from tito.views import Pieces, link

    root = current_root()
    entry = select_lesson(root, lesson or current_lesson(root))
    runner.show_beginning(entry)
    page = lesson_page.write(entry)
    opened = lesson_page.open_page(page)
    words = "open in the browser:" if opened else "no browser opens here; open this file:"
    echo(Pieces([words, link(root, entry.relative(page))]))


@app.command()
def watch(lesson: Lesson = None) -> None:
    """Test a lesson each time you save. Keys: h hint, p predict, l list, n next
    lesson, o open the page, r review, q quit.

    Example: tito watch tensor
    """
    from tito.learn import watch as watching

    root = current_root()
    name = lesson or current_lesson(root) or root.lessons[0].name
    entry = select_lesson(root, name)
    if not is_given(entry):
        watching.watch(entry, watching.Printer(echo, show_report, show_results))


@app.command()
def test(
    tasks: Tasks = None,
    module: Module = None,
    all_: All = False,
    keyword: Keyword = None,
    json: Json = False,
) -> None:
    """Export a lesson and run its checks. Show what is right, what is wrong, and why.
    Without a lesson: the one that you work on.

    Example: tito test tensor. For one exercise: tito test tensor-strides
    """
    from tito.learn.process import Process

    root = current_root()
    if not (tasks or module or all_):
        module = current_lesson(root, not json)
    chosen = select_tasks(root, tasks, module, all_)
    selection, verdicts = {e: chosen[e] for e in chosen if not is_given(e, all_ or json)}, []
    with Process() as process:
        from tito.learn import runner  # while the process loads NumPy
        from tito.views import report as report_views

        live, one = sys.stdout.isatty() and not json, len(selection) == 1
        on_checks = (lambda c: echo(report_views.checked(c))) if live and one else runner.ignore
        on_slow = (lambda check: echo(report_views.slow(check))) if live else runner.ignore
        for entry, exercises in selection.items():
            checks = runner.CheckSelection([exercise.id for exercise in exercises], keyword)
            report = runner.test_lesson(entry, checks, process, on_checks, on_slow)
            verdicts.append(report.verdict)
            if not json:
                show_report(entry, report, one)
    if json:
        echo_json([verdict.as_json() for verdict in verdicts])
    else:
        echo(*[report_views.totals(verdicts)] * (len(verdicts) > 1))
        tell_of_solutions(root)
    show_due(root, json)
    if not all(verdict.selection_passed for verdict in verdicts):
        raise typer.Exit(1)


@app.command()
def hint(
    tasks: Tasks = None,
    json: Json = False,
) -> None:
    """Show the next hint for an exercise. Each hint says a little more than the one before.

    Without an exercise: for the first one that fails.

    Example: tito hint tensor-strides
    """
    from dataclasses import asdict

    from tito.learn import status as lesson_status

    root = current_root()
    entry, exercise = select_exercise(root, tasks, not json)
    if is_given(entry, silent=json):
        return
    passage = lesson_status.hint(entry, exercise)
    if json:
        echo_json(asdict(passage))
        return
    from tito.views import learner as views

    echo(views.hint(passage))


@app.command("compare")
def compare_(
    tasks: Tasks = None,
    json: Json = False,
) -> None:
    """Show the course's solution below yours, once yours is right; of a lesson, all of them.

    For a question, show the course's answer, once yours is written. Some courses contain no
    solutions, or do not show them. Example: tito compare tensor-strides
    """
    from dataclasses import asdict

    from tito.learn import compare, solutions

    root = current_root()
    if asked := root.question(tasks or []):
        comparisons = [solutions.compare_answer(*asked)]
    else:
        entry, exercise = select_exercise(root, tasks, not json)
        if is_given(entry, silent=json):
            return
        chosen = [exercise] if exercise else entry.declared.exercises
        comparisons = [compare.compare(entry, one) for one in chosen]
    if json:
        rows = [*map(asdict, comparisons)]
        echo_json(rows[0] if asked or exercise else rows)
        return
    from tito.views import learner as views

    echo(*map(views.comparison, comparisons))


@app.command()
def word(
    term: Annotated[
        str | None,
        typer.Argument(metavar="TERM", help="Without it: list all terms."),
    ] = None,
    json: Json = False,
) -> None:
    """Explain a term, and name the lesson that introduces it.

    Example: tito word "learning rate"
    """
    from dataclasses import asdict

    from tito.lesson import glossary

    terms = glossary.read_terms(current_root())
    selection = glossary.find_terms(terms, term) if term else terms
    if json:
        echo_json([asdict(entry) for entry in selection])
        return
    from tito.views import learner as views

    echo(*(map(views.term, selection) if term else [views.terms(selection)]))


@app.command("notebook")
def notebook_(
    lesson: Lesson = None,
    options: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- OPTION...]", help="Options of Jupyter."),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(metavar="script|notebook", help="If both were edited: keep this one."),
    ] = None,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Write the notebook without opening it.")
    ] = False,
) -> None:
    """Open a lesson in JupyterLab. tito keeps the notebook and the script in sync.

    Options after -- are for Jupyter. The user root has to write -- --allow-root.

    Example: tito notebook tensor
    """
    from tito.learn import notebook_sync

    entry = select_lesson(current_root(), lesson)
    if keep not in (None, *KEEP):
        raise UsageError(
            f"--keep {keep!r} is neither script nor notebook.", "Say which of the two counts."
        )
    backup = notebook_sync.settle(entry, keep, make=True)
    echo(f"{entry.relative(entry.notebook)} and {entry.script.name} agree.")
    if backup and keep:
        echo(f"What was overwritten is saved in {backup}; `tito undo` brings it back.")
    elif backup:  # it follows from an edit, so `undo` does not count it as a step
        echo(f"What the other one held before is saved in {backup}.")
    if not no_open:
        _open_jupyter(entry, options or [])


def _open_jupyter(entry: "Entry", options: list[str]) -> None:
    import os
    import subprocess

    from tito.learn import jupyter

    if jupyter.missing():
        raise MachineError("JupyterLab is not installed here.", jupyter.remedy())
    completed = subprocess.run(
        [sys.executable, "-m", jupyter.PROGRAM, str(entry.notebook), *options],
        cwd=entry.root.path,
        env=os.environ | {"TINYTORCH_ROOT": str(entry.root.path)},
        check=False,
    )
    raise typer.Exit(completed.returncode)


@app.command()
def export(
    lessons: Lessons = None,
    all_: All = False,
) -> None:
    """Write the code of a lesson into the package.

    Example: tito export tensor
    """
    root = current_root()
    broken: list[WorkError] = []
    for entry in select_lessons(root, lessons, all_):
        try:
            _export(entry)
        except WorkError as error:
            if not all_:
                raise
            broken.append(error)
    for problem in broken:
        complain(problem)
    if broken:
        raise typer.Exit(1)


def _export(entry: "Entry") -> None:
    from tito.learn import notebook_sync, progress
    from tito.lesson import export as exporting

    notebook_sync.settle(entry)
    record = progress.record_of(entry)
    source = notebook_sync.read(entry, record)
    module = exporting.current(entry, source)
    changed, sentences = exporting.export_to_package(entry, module)
    name = entry.relative(entry.module_path)
    echo(f"{entry.relative(source.path)} -> {name}{'' if changed else ' (no change)'}")
    echo(*(f"{sentence}." for sentence in sentences), *module.notes)
    module.whole()
