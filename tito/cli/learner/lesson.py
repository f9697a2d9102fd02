"""The words of `tito` for work on a lesson, from `init` to `export`."""

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
    RootOption,
    Tasks,
    app,
    complain,
    current_lesson,
    current_root,
    echo,
    echo_json,
    named_root,
    remember_root,
    select_exercise,
    select_lesson,
    select_lessons,
    select_tasks,
)
from tito.cli.learner.show import show_report, show_results
from tito.errors import MachineError, TitoError, UsageError, WorkError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tito.learn.verdict import CheckOutcome
    from tito.lesson.course import Entry, Root

KEEP = ("script", "notebook")
Keyword = Annotated[
    str | None,
    typer.Option(
        "-k",
        metavar="NAME",
        help="Only an exercise, or checks with this in their name (as -k of pytest).",
    ),
]
Predict = Annotated[
    bool, typer.Option("--predict", help="Ask what you expect before a result is shown.")
]


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    root: RootOption = None,
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    remember_root(root)
    if version:
        from tito.lesson import course

        print(f"tito {course.version()}")
        raise typer.Exit()
    if context.invoked_subcommand is None:
        status()


@app.command()
def init(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="A new folder, or a workspace that lacks something."),
    ],
    notebook: Annotated[
        bool,
        typer.Option(
            "--notebook",
            help="First install JupyterLab and ipykernel into tito's environment: for notebooks, "
            "and for Run Cell in VS Code.",
        ),
    ] = False,
) -> None:
    """Make a workspace: the lessons to fill in, and where your package will grow.

    Example: tito init ../my-tinytorch
    """
    from tito.learn import workspace
    from tito.views import learner as views

    source = _course_to_learn()
    if notebook:
        workspace.suitable(folder, source)  # before the long installation
        _install_jupyter()
    added = workspace.init(folder, source)
    if not added:
        echo(f"{folder} is complete; nothing was changed.")
    elif any(path.name == "tito.toml" for path in added):
        echo(views.ready(folder, source))
    else:
        echo(
            f"{folder} lacked {len(added)} file{'s' * (len(added) > 1)}, now added:",
            *(f"  {path}" for path in added),
        )


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


def _install_jupyter() -> None:
    from tito.learn import jupyter

    if jupyter.missing():
        echo(f"Installing JupyterLab into {sys.prefix}, which takes about a minute ...")
        sys.stdout.flush()
        jupyter.install()
    echo("JupyterLab and ipykernel are installed.")


@app.command()
def status(json: Json = False) -> None:
    """Show where you are: each lesson's state and points, and what comes next.

    States: new, started, passed, stale (edited since it passed), skipped. Example: tito status
    """
    from dataclasses import asdict

    from tito.learn import status as lesson_status

    root = current_root()
    rows = lesson_status.rows(root)
    if json:
        echo_json(
            [
                {key: value for key, value in asdict(row).items() if key not in ("edited", "below")}
                for row in rows
            ]
        )
        return
    from tito.views import learner as views

    echo(views.status(root, rows, lesson_status.next_step(rows)))


@app.command()
def start(lesson: Lesson = None) -> None:
    """Begin a lesson: what it needs, which file to open, where to begin.

    Example: tito start tensor
    """
    from tito.learn import notebook_sync, progress
    from tito.learn import status as lesson_status
    from tito.views import Pieces, link
    from tito.views import learner as views

    root = current_root()
    entry = select_lesson(root, lesson or current_lesson(root))
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
    needs = lesson_status.needs(entry, records)
    echo(views.lesson_card(entry, place, needs, first.id if first else None, line))
    if root.is_course:
        echo(
            Pieces(
                [
                    "This folder holds the course with its solutions.",
                    "To learn: bin/tito init ../my-tinytorch",
                ]
            )
        )


@app.command()
def read(lesson: Lesson = None) -> None:
    """Open a lesson in the browser: its text, your code, and what it prints and draws.

    The page shows the last test, and follows when you test again. Example: tito read tensor
    """
    from tito.learn import lesson_page
    from tito.views import Pieces, link

    root = current_root()
    entry = select_lesson(root, lesson or current_lesson(root))
    page = lesson_page.write(entry)
    opened = lesson_page.open_page(page)
    words = "open in the browser:" if opened else "no browser opens here; open this file:"
    echo(Pieces([words, link(root, entry.relative(page))]))


@app.command()
def watch(lesson: Lesson = None) -> None:
    """Test a lesson at each save. Keys: h hint, p predict, l list, n next lesson, q quit.

    Example: tito watch tensor
    """
    from tito.learn import watch as watching

    root = current_root()
    name = lesson or current_lesson(root) or root.lessons[0].name
    printer = watching.Printer(echo, show_report, show_results)
    watching.watch(select_lesson(root, name), printer, typer.getchar)


@app.command()
def test(
    tasks: Tasks = None,
    module: Module = None,
    all_: All = False,
    keyword: Keyword = None,
    predict: Predict = False,
    json: Json = False,
) -> None:
    """Export a lesson and run its checks: what is right, what is wrong, and why.

    Example: tito test tensor; of one exercise only: tito test tensor-strides
    """
    from tito.learn.process import Process

    root = current_root()
    if not (tasks or module or all_):
        module = current_lesson(root, not json)
    selection = select_tasks(root, tasks, module, all_)
    verdicts = []
    with Process() as process:
        # Here these imports cost nothing: the process is loading NumPy.
        from tito.learn import runner
        from tito.views import report as report_views

        on_terminal = sys.stdout.isatty() and not json
        on_checks = _show_checks if on_terminal and len(selection) == 1 else runner.ignore
        on_slow = _show_slow if on_terminal else runner.ignore
        for entry, exercises in selection.items():
            checks = runner.CheckSelection([exercise.id for exercise in exercises], keyword)
            report = runner.test_lesson(entry, checks, process, on_checks, on_slow)
            verdicts.append(report.verdict)
            if not json:
                ask = _ask_prediction if predict else None
                show_report(entry, report, len(selection) == 1, ask=ask)
    if json:
        echo_json([verdict.as_json() for verdict in verdicts])
    elif len(verdicts) > 1:
        echo(report_views.totals(verdicts))
    if not all(verdict.selection_passed for verdict in verdicts):
        raise typer.Exit(1)


def _show_checks(checks: "list[CheckOutcome]") -> None:
    from tito.views import report

    echo(report.checked(checks))


def _show_slow(check: "CheckOutcome") -> None:
    from tito.views import report

    echo(report.slow(check))


def _ask_prediction(question: "RenderableType") -> str | None:
    echo(question)
    try:
        return input("your prediction? (enter to see) ").strip()
    except EOFError:
        return None


@app.command()
def hint(
    tasks: Tasks = None,
    json: Json = False,
) -> None:
    """Give the next hint, a little more each time: of the first exercise that fails, or of one.

    Example: tito hint tensor-strides
    """
    from dataclasses import asdict

    from tito.learn import status as lesson_status

    root = current_root()
    entry, exercise = select_exercise(root, tasks, not json)
    passage = lesson_status.hint(entry, exercise)
    if json:
        echo_json(asdict(passage))
        return
    from tito.views import learner as views

    echo(views.hint(passage))


@app.command("compare")
def compare_(
    tasks: Tasks = None,
    give_up: Annotated[
        bool,
        typer.Option(
            "--give-up",
            help="Show it before yours is right; the exercise earns no points until its reset.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Show the course's solution beside yours, once yours is right.

    Only where the course holds solutions and shows them. Example: tito compare tensor-strides
    """
    from dataclasses import asdict

    from tito.learn import compare

    entry, exercise = select_exercise(current_root(), tasks, not json)
    if not exercise:
        raise UsageError("Which exercise?", f"tito compare {entry.declared.exercises[0].id}")
    comparison = compare.compare(entry, exercise, give_up)
    if json:
        echo_json(asdict(comparison))
        return
    from tito.views import learner as views

    echo(views.comparison(comparison))


@app.command()
def word(
    term: Annotated[
        str | None,
        typer.Argument(metavar="TERM", help="Default: every term.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Say what a term means, and which lesson explains it.

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
    keep: Annotated[
        str | None,
        typer.Option(metavar="script|notebook", help="When both were edited: which one counts."),
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Only make the notebook.")] = False,
) -> None:
    """Work on a lesson as a notebook, kept in step with its script.

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
    elif backup:  # it follows from an edit, so it is no step that `undo` would take back
        echo(f"What the other one held before is saved in {backup}.")
    if not no_open:
        _open_jupyter(entry)


def _open_jupyter(entry: "Entry") -> None:
    import os
    import subprocess

    from tito.learn import jupyter

    if jupyter.missing():
        raise MachineError("JupyterLab is not installed here.", jupyter.REMEDY)
    subprocess.run(
        [sys.executable, "-m", "jupyterlab", str(entry.notebook)],
        cwd=entry.root.path,
        env=os.environ | {"PYTHONPATH": str(entry.root.path)},
        check=False,
    )


@app.command()
def export(
    lessons: Lessons = None,
    all_: All = False,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 when something is out of date.")
    ] = False,
) -> None:
    """Write what you have of a lesson into the package.

    Example: tito export tensor
    """
    from tito.lesson import export as exporting

    root = current_root()
    outdated: list[str] = []
    broken: list[WorkError] = []
    for entry in select_lessons(root, lessons, None, all_):
        if all_ and exporting.is_skipped(entry):
            echo(f"{entry.name} is skipped; `tito export {entry.name}` ends that.")
            continue
        try:
            if check:
                outdated += [] if _is_fresh(entry) else [entry.relative(entry.module_path)]
            else:
                _export(entry)
        except WorkError as error:
            if not all_:
                raise
            broken.append(error)
    for problem in broken:
        complain(problem)
    if outdated:
        raise WorkError(f"Out of date: {', '.join(outdated)}.", "Run `tito export --all`.")
    if broken:
        raise typer.Exit(1)


def _is_fresh(entry: "Entry") -> bool:
    """Whether the package holds what the lesson's file would export."""
    from tito.learn import notebook_sync, progress
    from tito.lesson import export as exporting

    record = progress.load(entry.root)["lessons"].get(entry.name, {})
    module = exporting.current(entry, notebook_sync.read(entry, record))
    path = entry.module_path
    return path.exists() and path.read_text(encoding="utf-8", errors="replace") == module.text


def _export(entry: "Entry") -> None:
    from tito.learn import notebook_sync, progress
    from tito.lesson import export as exporting

    notebook_sync.settle(entry)
    record = progress.load(entry.root)["lessons"].get(entry.name, {})
    source = notebook_sync.read(entry, record)
    module = exporting.current(entry, source)
    changed, sentences = exporting.export_to_package(entry, module)
    name = entry.relative(entry.module_path)
    echo(f"{entry.relative(source.path)} -> {name}{'' if changed else ' (no change)'}")
    echo(*(f"{sentence}." for sentence in sentences))
