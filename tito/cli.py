"""The words of `tito`. This file turns words into values and values into exit codes; it and `cli_class.py`, the instructor's part, are the
only ones that know typer.

Exit codes: 0 worked or passed, 1 the work fails its checks, 2 wrong usage, 3 the machine's failure. What a command needs
is imported inside it, so that `tito --help` does not wait for NumPy.
"""

import gc
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from tito.errors import TitoError

app = typer.Typer(
    name="tito",
    add_completion=False,
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None if os.environ.get("NO_COLOR") else "rich",
    help="Write your own deep-learning library, lesson by lesson.\n\nStart with: bin/tito init ../my-tinytorch",
)

RootOption = Annotated[
    Path | None,
    typer.Option(
        "--root",
        help="The course or workspace, instead of the one around this folder.",
        show_default=False,
    ),
]
Lessons = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[LESSON]...",
        help="A name or number: tensor, 1, 01 or 01_tensor.",
        show_default=False,
    ),
]
Lesson = Annotated[
    str | None,
    typer.Argument(
        metavar="LESSON", help="A name or number: tensor, 1, 01 or 01_tensor.", show_default=False
    ),
]
Module = Annotated[
    str | None,
    typer.Option(
        "--module", "-m", metavar="LESSON", help="The same as the argument.", show_default=False
    ),
]
All = Annotated[bool, typer.Option("--all", help="Every lesson.")]
Json = Annotated[bool, typer.Option("--json", help="Print the same values as JSON.")]
PANELS = {
    "For learners": (),
    "For instructors": ("release", "grade", "gradebook", "feedback", "similar"),
    "For authors": ("check", "book"),
}
given_root = None


def here(root):
    """The root to work in: --root of the command, --root before it, or the one around the current folder."""
    from tito import course

    return course.find_root(current_folder(), root or given_root)


def current_folder():
    """The current folder. Raises TitoError when it was deleted under our feet."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise TitoError("The current folder is gone.", "Go to your workspace with cd.") from None


def out(*renderables):
    """Print for a person: as wide as the terminal, or without wrapping where there is none."""
    from rich.console import Console

    console = Console(
        highlight=False,
        markup=False,
        width=None if sys.stdout.isatty() else 500,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
    )
    for renderable in renderables:
        text = isinstance(renderable, str)
        console.print(
            folded(renderable, sys.stdout) if text else renderable, soft_wrap=text, crop=False
        )


def folded(text, stream, indent=0):
    """`text` as wide as the terminal, if `stream` is one, folded at spaces."""
    if not stream.isatty():
        return text
    import shutil

    from tito import views

    return views.folded(text, shutil.get_terminal_size().columns, indent)


def out_json(values):
    import json

    print(json.dumps(values, indent=1, ensure_ascii=sys.stdout.encoding.lower() != "utf-8"))


def warn(text):
    print(folded(f"tito: {text}", sys.stderr, 6), file=sys.stderr)


def going_on(root, said=True):
    """In a workspace, the name of the lesson one is at, and `said`, why; None in a course and when all is done."""
    if root.is_course:
        return None
    from tito import status as standing

    found = standing.current(root, warn)
    if found and said:
        out(f"lesson {found[0]}, {found[1]}")
    return found and found[0]


def one(root, lesson, module):
    """The lesson that was named, as an argument or with --module."""
    if not (lesson or module):
        raise TitoError(
            "Which lesson?", f"Name one of: {', '.join(entry.name for entry in root.lessons)}."
        )
    return root.lesson(lesson or module)


def some(root, lessons, module, all_):
    """The lessons that were named, each once, in the order of the course."""
    wanted = [*(lessons or []), *([module] if module else [])]
    if all_ and wanted:
        raise TitoError(f"--all and {' '.join(wanted)} contradict each other.", "Give one of them.")
    if not (all_ or wanted):
        raise TitoError(
            "Which lesson?",
            f"Name one of: {', '.join(entry.name for entry in root.lessons)}; or --all.",
        )
    found = {root.lesson(name) for name in wanted}
    return [entry for entry in root.lessons if all_ or entry in found]


@app.callback(invoke_without_command=True)
def main(context: typer.Context, root: RootOption = None):
    global given_root
    given_root = root
    if context.invoked_subcommand is None:
        status()


@app.command()
def init(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="A new folder, or a workspace that lacks something."),
    ],
    root: RootOption = None,
):
    """Make a workspace: the lessons to fill in, and where your package will grow.

    Example: tito init ../my-tinytorch
    """
    import shlex

    from tito import course, views, workspace

    try:
        source = here(root)
        source = source if source.is_course else source.reference
    except TitoError:
        if root or given_root:
            raise
        source = course.installed_course()
    added = workspace.init(folder, source)
    first = source.lessons[0].name
    if not added:
        out(f"{folder} is complete; nothing was changed.")
    elif any(path.name == "tito.toml" for path in added):
        out(
            f"{folder} is ready: {len(source.lessons)} lesson{'s' * (len(source.lessons) > 1)} of {source.name}.",
            views.unbroken(
                f"next: cd {shlex.quote(str(folder))} && . bin/activate-tinytorch.sh && tito start {first}"
            ),
        )
    else:
        out(
            f"{folder} lacked {len(added)} file{'s' * (len(added) > 1)}, now added:",
            *(f"  {path}" for path in added),
        )


@app.command()
def status(json: Json = False, root: RootOption = None):
    """Show where you are: each lesson's state and points, and what comes next.

    States: new, started, passed, stale (edited since it passed), skipped. Example: tito status
    """
    from dataclasses import asdict

    from tito import status as standing

    root = here(root)
    rows = standing.rows(root, warn)
    if json:
        out_json(
            [{key: value for key, value in asdict(row).items() if key != "edited"} for row in rows]
        )
        return
    from tito import views

    out(views.status(root, rows, standing.next_step(rows)))


@app.command()
def start(
    lesson: Lesson = None,
    module: Module = None,
    edit: Annotated[bool, typer.Option("--edit", help="Open it in $EDITOR.")] = False,
    root: RootOption = None,
):
    """Begin a lesson: what it needs, which file to open, where to begin.

    Example: tito start tensor
    """
    from tito import doctor, notebook, progress, views
    from tito import status as standing

    root = here(root)
    entry = one(root, lesson or module or going_on(root), None)
    with progress.change(entry.root, entry.name, warn) as record:
        came_back = "started" in record
        record.setdefault("started", progress.now())
        first = standing.first_open(entry, record)
        source = notebook.read(entry, record)
    records = progress.load(entry.root, warn)["lessons"]
    cell = source.cell(first.id) if first else None
    line = cell.line if cell and not source.is_notebook else None
    # A reader begins at the top; who comes back goes on at the exercise.
    at = "" if source.is_notebook else f":{line if line and came_back else source.cells[0].line}"
    place = views.link(entry.root, entry.relative(source.path) + at)
    out(views.lesson_card(entry, place, standing.needs(entry, records), first and first.id, line))
    if root.is_course:
        out(
            views.Pieces(
                [
                    "This folder holds the course with its solutions.",
                    "To learn: bin/tito init ../my-tinytorch",
                ]
            )
        )
    if edit:
        import shlex
        import subprocess

        if not (command := doctor.editor()):
            raise TitoError(
                "Neither VISUAL nor EDITOR is set.",
                "export EDITOR='code --wait', say, or open the file yourself.",
            )
        try:
            subprocess.run([*shlex.split(command), str(source.path)], check=False)
        except OSError as error:
            raise TitoError(
                f"The editor {command!r} did not start: {error.strerror}.",
                "Set EDITOR to one that is installed.",
                3,
            ) from None


@app.command("notebook")
def notebook_(
    lesson: Lesson = None,
    module: Module = None,
    keep: Annotated[
        str | None,
        typer.Option(metavar="script|notebook", help="When both were edited: which one counts."),
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Only make the notebook.")] = False,
    root: RootOption = None,
):
    """Work on a lesson as a notebook, kept in step with its script.

    Example: tito notebook tensor
    """
    from tito import doctor, notebook

    entry = one(here(root), lesson, module)
    if keep not in (None, "script", "notebook"):
        raise TitoError(
            f"--keep {keep!r} is neither script nor notebook.", "Say which of the two counts."
        )
    kept = notebook.settle(entry, keep, make=True, warn=warn)
    out(f"{entry.relative(entry.notebook)} and {entry.script.name} agree.")
    if kept:
        out(f"What was overwritten is saved in {kept}; `tito undo` brings it back.")
    if no_open:
        return
    if not doctor.has_jupyterlab():
        raise TitoError("JupyterLab is not installed here.", doctor.NOTEBOOK_REMEDY, 3)
    import os
    import subprocess

    subprocess.run(
        [sys.executable, "-m", "jupyterlab", str(entry.notebook)],
        cwd=entry.root.path,
        env=os.environ | {"PYTHONPATH": str(entry.root.path)},
        check=False,
    )


@app.command()
def export(
    lessons: Lessons = None,
    module: Module = None,
    all_: All = False,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 when something is out of date.")
    ] = False,
    root: RootOption = None,
):
    """Write what you have of a lesson into the package.

    Example: tito export tensor
    """
    from tito import export as exporting
    from tito import notebook, progress

    root = here(root)
    old, broken = [], []
    for entry in some(root, lessons, module, all_):
        try:
            if all_ and exporting.is_skipped(entry):
                out(f"{entry.name} is skipped; `tito export {entry.name}` ends that.")
                continue
            if not check:
                notebook.settle(entry, warn=warn)
            source = notebook.read(entry, progress.load(root, warn)["lessons"].get(entry.name, {}))
            built = exporting.current(entry, source)
        except TitoError as error:
            if not all_ or error.code != 1:
                raise
            broken.append(error)
            continue
        name = entry.relative(entry.module_path)
        if check:
            same = (
                entry.module_path.exists()
                and entry.module_path.read_text(encoding="utf-8", errors="replace") == built.text
            )
            old += [] if same else [name]
            continue
        changed, kept = exporting.put(entry, built)
        out(f"{entry.relative(source.path)} -> {name}{'' if changed else ' (no change)'}")
        if kept:
            out(f"{name} held code that its lesson does not; a copy is in {kept}.")
    for error in broken:
        complain(error)
    if old:
        raise TitoError(f"Out of date: {', '.join(old)}.", "Run `tito export --all`.", 1)
    if broken:
        raise typer.Exit(1)


@app.command()
def test(
    lessons: Lessons = None,
    module: Module = None,
    all_: All = False,
    keyword: Annotated[
        str | None,
        typer.Option(
            "-k", metavar="NAME", help="Only checks with this in their name (as pytest's -k)."
        ),
    ] = None,
    first_only: Annotated[
        bool, typer.Option("-x", help="Stop at the first check that fails.")
    ] = False,
    json: Json = False,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write JUnit XML.")
    ] = None,
    seconds: Annotated[
        float, typer.Option("--check-seconds", min=0.1, help="Time limit of each check.")
    ] = 10.0,
    root: RootOption = None,
):
    """Export a lesson and run its checks: what is right, what is wrong, and why.

    Example: tito test tensor -k strides
    """
    from tito.process import Process

    if junit and junit.suffix != ".xml" and junit.exists():
        raise TitoError(
            f"{junit} is there and is no .xml file.", "Name another file for the report."
        )
    root = here(root)
    verdicts = []
    if not (lessons or module or all_):
        module = going_on(root, not json)
    entries = some(root, lessons, module, all_)
    with Process(warm=len(entries) > 1) as process:
        from tito import (
            verdict,
            views,
        )  # here, as much else, it costs nothing: the process is loading NumPy and pytest

        for entry in entries:
            verdicts.append(verdict.test(entry, keyword, first_only, seconds, process, warn))
            if not json:
                show_verdict(entry, verdicts[-1], whole=len(entries) == 1)
    if json:
        out_json([v.as_json() for v in verdicts])
    elif len(verdicts) > 1:
        out(views.totals(verdicts))
    if junit:
        from tito import files
        from tito import junit as xml

        files.write(Path.cwd() / junit, xml.xml(verdicts))
    if not all(v.asked_passed for v in verdicts):
        raise typer.Exit(1)


def show_verdict(entry, result, whole=True, key=None):
    from tito import progress, views
    from tito import status as standing

    records = progress.load(entry.root, warn)["lessons"]
    shown = records.get(entry.name, {}).get("hints", {})
    # Row by row: the first lesson that is open ends the reading.
    rows = (standing.row(one, records.get(one.name, {})) for one in entry.root.lessons)
    step = standing.next_step(rows) if result.passed and whole else None
    following = step and step[0]
    out(
        views.verdict(
            result,
            {e.id: len(e.hints) - shown.get(e.id, 0) for e in entry.declared.exercises},
            whole,
            following,
            key,
        )
    )


@app.command()
def watch(lesson: Lesson = None, module: Module = None, root: RootOption = None):
    """Test a lesson at each save. Keys: h hint, l list, n next lesson, q quit.

    Example: tito watch tensor
    """
    from tito import watch as watching

    root = here(root)
    watching.watch(
        one(root, lesson or module or going_on(root) or root.lessons[0].name, None),
        out,
        show_verdict,
        warn,
    )


@app.command()
def hint(
    lesson: Lesson = None,
    exercise: Annotated[
        str | None,
        typer.Argument(
            metavar="EXERCISE", help="Default: the first one that fails.", show_default=False
        ),
    ] = None,
    module: Module = None,
    json: Json = False,
    root: RootOption = None,
):
    """Give the next hint, a little more each time.

    Example: tito hint tensor
    """
    from dataclasses import asdict

    from tito import status as standing

    root = here(root)
    entry = one(root, lesson or module or going_on(root, not json), None)
    found = standing.hint(entry, exercise, warn)
    if json:
        out_json(asdict(found))
        return
    from tito import views

    out(views.hint(found))


@app.command()
def reset(
    lesson: Lesson = None,
    module: Module = None,
    exercise: Annotated[
        str | None, typer.Option(metavar="ID", help="Only this exercise.", show_default=False)
    ] = None,
    root: RootOption = None,
):
    """Put a lesson, or one exercise, back to its start. What you wrote is saved first.

    Example: tito reset tensor --exercise tensor-strides
    """
    from tito import workspace

    entry = one(here(root), lesson, module)
    was_there = entry.script.exists()
    kept = workspace.reset(entry, exercise, warn)
    what = entry.declared.exercise(exercise).id if exercise else entry.name
    if kept:
        out(
            f"{what} is back at its start. What you had is saved in {kept}; `tito undo` brings it back."
        )
    else:
        out(
            f"{what} is at its start already; nothing was changed."
            if was_there
            else f"{what} is there again, at its start."
        )


@app.command()
def undo(root: RootOption = None):
    """Bring back what the last command overwrote; again, what the one before overwrote.

    Example: tito undo
    """
    from tito import workspace

    root = here(root)
    step = workspace.undo(root, warn)
    out(
        f"What `tito {step.command}` overwrote at {step.when:%H:%M on %d %B} is back; what stood there is saved, and `tito redo` takes this back:",
        *(f"  {path.relative_to(root.path)}" for path in step.paths),
    )


@app.command()
def redo(root: RootOption = None):
    """Take back the last undo.

    Example: tito redo
    """
    from tito import files, workspace

    root = here(root)
    step = workspace.undo(root, warn, files.redo)
    out(
        "The last undo is taken back:", *(f"  {path.relative_to(root.path)}" for path in step.paths)
    )


@app.command()
def skip(lesson: Lesson = None, module: Module = None, root: RootOption = None):
    """Put the course's own code for a lesson into the package, so that later lessons can be tried.

    Your work stays as it is; the next export or test of it ends the skip. Example: tito skip tensor
    """
    from tito import workspace

    entry = one(here(root), lesson, module)
    kept = workspace.skip(entry)
    out(
        f"{entry.name} is skipped: {entry.relative(entry.module_path)} is the course's own. `tito export {entry.name}` ends that."
    )
    if kept:
        out(f"It held code that your lesson does not; a copy is in {kept}.")


@app.command("submit")
def submit_(
    lessons: Lessons = None,
    module: Module = None,
    all_: All = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="ZIP",
            help="Where the zip goes; default: the next free number in the workspace.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
    root: RootOption = None,
):
    """Test what you have begun and put it into a zip, to hand in.

    Without a lesson: every one that was begun. A lesson that fails is told and handed in all the same; nothing is overwritten. Example: tito submit tensor
    """
    from tito import submit, views

    root = here(root)
    entries = some(root, lessons, module, all_) if lessons or module or all_ else None
    done = submit.submit(
        root,
        entries,
        output and current_folder() / output.expanduser(),
        warn,
        lambda result: None if json else out(views.tested(result)),
    )
    if json:
        out_json(
            {
                "zip": str(done.path),
                "bytes": done.size,
                "lessons": [v.as_json() for v in done.verdicts],
                "notes": done.notes,
            }
        )
        return
    for note in done.notes:
        warn(note)
    out(
        f"{done.path} holds {views.count(len(done.verdicts), 'lesson')}, {done.size / 1000:.1f} kB: hand in this file."
    )


@app.command()
def restore(
    path: Annotated[Path, typer.Argument(metavar="ZIP", help="What `tito submit` wrote.")],
    root: RootOption = None,
):
    """Bring the lessons of a submission back into a workspace. What stands there is saved first.

    After a temporary session in the browser, or on another machine. `tito undo` takes it back. Example: tito restore my-tinytorch-1.zip
    """
    from tito import submit

    root = here(root)
    done = submit.restore(root, current_folder() / path.expanduser(), warn)
    for note in done.notes:
        warn(note)
    if not done.changed:
        out(f"{', '.join(done.lessons)}: as in the zip already; nothing was changed.")
        return
    out(
        f"{', '.join(done.lessons)} as in the zip:",
        *(f"  {place.relative_to(root.path).as_posix()}" for place in done.changed),
    )
    if done.kept:
        out(f"What stood there is saved in {done.kept}; `tito undo` brings it back.")


@app.command("doctor")
def doctor_(json: Json = False, root: RootOption = None):
    """Look for what is missing on this machine, and say what to do about it.

    Example: tito doctor
    """
    from dataclasses import asdict

    from tito import doctor

    findings = doctor.examine(current_folder(), root or given_root)
    if json:
        out_json([asdict(finding) for finding in findings])
    else:
        from tito import views

        out(views.doctor(findings))
    if any(finding.state == "problem" for finding in findings):
        raise typer.Exit(3)


milestone_app = typer.Typer(
    help="Programs that run on your finished package: from the perceptron to digits."
)
app.add_typer(milestone_app, name="milestone")


@milestone_app.callback(invoke_without_command=True)
def milestone_(context: typer.Context):
    if context.invoked_subcommand is None:
        list_milestones()


@milestone_app.command("list")
def list_milestones(json: Json = False, root: RootOption = None):
    """Show the milestones: what each must reach, which lessons it waits for, and what yours measured.

    Example: tito milestone list
    """
    from dataclasses import asdict

    from tito import milestone

    rows = milestone.rows(here(root), warn)
    if json:
        out_json([asdict(row) for row in rows])
        return
    from tito import views

    out(views.milestones(rows))


@milestone_app.command("run")
def run_milestone(
    name: Annotated[
        str,
        typer.Argument(
            metavar="MILESTONE", help="A name, number or year: xor, 2 or 1986.", show_default=False
        ),
    ],
    seed: Annotated[int, typer.Option(min=0, help="What chance begins with.")] = 0,
    json: Json = False,
    root: RootOption = None,
):
    """Run a milestone on your package: it trains, draws, and says if the bar was reached.

    Example: tito milestone run xor
    """
    from dataclasses import asdict

    from tito import milestone

    root = here(root)
    one = milestone.find(root, name)
    if not json:
        from tito import views

        out(views.milestone_card(one))
        sys.stdout.flush()
    result = milestone.run(root, one, seed, sys.stderr if json else None, warn)
    if json:
        out_json(
            asdict(result)
            | {
                "picture": result.picture
                and root.path.joinpath(result.picture).relative_to(root.path).as_posix()
            }
        )
    else:
        out(
            views.milestone(
                result,
                result.picture
                and views.link(root, result.picture.relative_to(root.path).as_posix()),
            )
        )
    if not result.passed:
        raise typer.Exit(1)


@app.command()
def check(
    lessons: Lessons = None,
    module: Module = None,
    all_: All = False,
    json: Json = False,
    jobs: Annotated[
        int, typer.Option(min=1, help="Scratch roots to work in at the same time.")
    ] = 2,
    root: RootOption = None,
):
    """For authors: do a lesson's checks tell right from wrong, and is what is made from it true?

    Without a lesson: every one. Example: tito check tensor
    """
    from dataclasses import asdict

    from tito import check as checking

    root = here(root)
    if not root.is_course:
        raise TitoError(
            f"{root.path} is a workspace; its lessons hold no solutions to check.",
            "Run it in the course.",
        )
    entries = some(root, lessons, module, all_ or not (lessons or module))
    with progress_bar(not json) as told:
        findings = [
            finding
            for entry in entries
            for finding in checking.check(
                entry, jobs, lambda done, of, name=entry.name: told(name, done, of)
            )
        ]
    if json:
        out_json([asdict(finding) | {"ok": finding.ok} for finding in findings])
    else:
        from tito import views

        out(views.check_table(findings, checking.QUESTIONS), views.check_problems(findings))
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


book_app = typer.Typer(
    no_args_is_help=True, help="For authors: make the course's site from its lessons."
)
app.add_typer(book_app, name="book")
Edition = Annotated[
    str,
    typer.Option(
        metavar="author|learner",
        help="The learner's, to publish, has no solutions and no hidden checks.",
    ),
]
Fast = Annotated[
    bool, typer.Option("--fast", help="Without running the lessons: pages without outputs.")
]


@book_app.command("build")
def build_book(
    fast: Fast = False,
    edition: Edition = "learner",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Where the site goes: a new folder, or an earlier book's; default: book/_build/EDITION/html.",
            show_default=False,
        ),
    ] = None,
    lite: Annotated[
        bool,
        typer.Option(
            "--lite",
            help="With the lessons in the browser, too: JupyterLite, in the site's folder lite.",
        ),
    ] = False,
    pyodide: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="For --lite: an unpacked Pyodide distribution, the Python that runs in the browser.",
            show_default=False,
        ),
    ] = None,
    root: RootOption = None,
):
    """For authors: make the site. What the lessons print and draw is kept until they change.

    Example: tito book build --lite
    """
    from tito import book, views

    with progress_bar(True) as told:
        built = book.build(
            here(root),
            edition,
            fast,
            output and current_folder() / output.expanduser(),
            lambda name, done, of: told(f"ran {name}", done, of),
            lite,
            pyodide and current_folder() / pyodide.expanduser(),
        )
    out(views.book(built))
    if built.lite:
        warn(built.lite)


@book_app.command("serve")
def serve_book(
    fast: Fast = False,
    edition: Edition = "author",
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="0 for any that is free.")
    ] = 8000,
    root: RootOption = None,
):
    """For authors: make the site, show it on this machine, and make it again at each save. Ctrl-C ends it.

    Example: tito book serve --fast
    """
    from tito import book, views

    root = here(root)
    book.serve(
        root,
        edition,
        fast,
        port,
        lambda address: out(f"{address}  (Ctrl-C ends it)"),
        lambda built: out(views.book(built)),
        complain,
    )


@contextmanager
def progress_bar(wanted):
    """A function that shows (what, done, of) on standard error, where that is a terminal; elsewhere it says nothing."""
    if not (wanted and sys.stderr.isatty()):
        yield lambda what, done, of: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("")
        yield lambda what, done, of: bar.update(task, description=what, completed=done, total=of)


def complain(error):
    """The two lines of an error: what is wrong, what to do."""
    print(folded(f"tito: {error.what}", sys.stderr, 6), file=sys.stderr)
    if error.remedy:
        print(folded(f"      {error.remedy}", sys.stderr, 6), file=sys.stderr)


def arrange():
    """Let `tito --help` list the commands by who needs them, each with the first words of its own help."""
    panels = {name: panel for panel, names in PANELS.items() for name in names}
    for one in app.registered_commands + app.registered_groups:
        one.rich_help_panel = panels.get(one.name or one.callback.__name__, "For learners")
        text = (
            one.callback.__doc__
            if isinstance(one, typer.models.CommandInfo)
            else one.typer_instance.info.help
        )
        words = (
            (text or "")
            .split("\n")[0]
            .removeprefix("For instructors: ")
            .removeprefix("For authors: ")
            .replace(":", ".")
            .replace(";", ".")
            .split(". ")[0]
            .rstrip(".")
        )
        one.short_help = words[:1].upper() + words[1:]
    app.registered_commands.sort(key=lambda one: list(PANELS).index(one.rich_help_panel))


def run():
    """The `tito` command."""
    import tito.cli_class  # noqa: F401  adds the instructor's commands

    arrange()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(
            errors="replace"
        )  # a terminal that cannot show a letter gets a ? instead of a crash
    try:
        code = app(prog_name="tito", standalone_mode=False)
    except TitoError as error:
        complain(error)
        code = error.code
    except KeyboardInterrupt:
        code = 130
    except Exception as error:
        if not hasattr(
            error, "format_message"
        ):  # not a misspelt command: our own fault, with its traceback
            raise
        context = getattr(error, "ctx", None)
        complain(
            TitoError(
                error.format_message(), f"See: {context.command_path if context else 'tito'} --help"
            )
        )
        code = 2
    gc.freeze()  # or Python's last collection goes through all that was imported: 15 ms of each command
    sys.exit(code if isinstance(code, int) else 0)
