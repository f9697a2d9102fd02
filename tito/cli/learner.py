"""The words of `tito` for a learner, from `init` to `milestone`.

What a command needs is imported inside it.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tito.cli.app import (
    All,
    Json,
    Lesson,
    Lessons,
    Module,
    RootOption,
    app,
    complain,
    current_folder,
    current_lesson,
    current_root,
    echo,
    echo_json,
    named_root,
    remember_root,
    select_lesson,
    select_lessons,
    warn,
)
from tito.errors import MachineError, TitoError, UsageError, WorkError

MOST_SHOWN = 6  # demonstrations of a run are shown


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    root: RootOption = None,
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
):
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
    root: RootOption = None,
):
    """Make a workspace: the lessons to fill in, and where your package will grow.

    Example: tito init ../my-tinytorch
    """
    from tito import views
    from tito.learn import jupyter, workspace
    from tito.lesson import course

    try:
        source = current_root(root)
        source = source if source.is_course else source.reference
    except TitoError:
        if named_root(root):
            raise
        source = course.installed_course()
    if notebook:
        workspace.suitable(folder, source)  # before the long installation
        if jupyter.missing():
            echo(f"Installing JupyterLab into {sys.prefix}, which takes about a minute ...")
            sys.stdout.flush()
            jupyter.install()
        echo("JupyterLab and ipykernel are installed.")
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


@app.command()
def status(json: Json = False, root: RootOption = None):
    """Show where you are: each lesson's state and points, and what comes next.

    States: new, started, passed, stale (edited since it passed), skipped. Example: tito status
    """
    from dataclasses import asdict

    from tito.learn import status as standing

    root = current_root(root)
    rows = standing.rows(root, warn)
    if json:
        echo_json(
            [
                {key: value for key, value in asdict(row).items() if key not in ("edited", "below")}
                for row in rows
            ]
        )
        return
    from tito import views

    echo(views.status(root, rows, standing.next_step(rows)))


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
    from tito import views
    from tito.learn import doctor, notebook_sync, progress
    from tito.learn import status as standing

    root = current_root(root)
    entry = select_lesson(root, lesson or module or current_lesson(root), None)
    with progress.change(entry.root, entry.name, warn) as record:
        came_back = "started" in record
        record.setdefault("started", progress.now())
        first = standing.first_open(entry, record)
        source = notebook_sync.read(entry, record)
    records = progress.load(entry.root, warn)["lessons"]
    cell = source.cell(first.name) if first else None
    line = cell.line if cell and not source.is_notebook else None
    # A reader begins at the top; who comes back goes on at the exercise.
    at = "" if source.is_notebook else f":{line if line and came_back else source.cells[0].line}"
    place = views.link(entry.root, entry.relative(source.path) + at)
    echo(views.lesson_card(entry, place, standing.needs(entry, records), first and first.id, line))
    if root.is_course:
        echo(
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
            raise UsageError(
                "Neither VISUAL nor EDITOR is set.",
                "export EDITOR='code --wait', say, or open the file yourself.",
            )
        try:
            subprocess.run([*shlex.split(command), str(source.path)], check=False)
        except OSError as error:
            raise MachineError(
                f"The editor {command!r} did not start: {error.strerror}.",
                "Set EDITOR to one that is installed.",
            ) from None


@app.command("notebook")
def notebook_(
    lesson: Lesson = None,
    module: Module = None,
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="script|notebook|both",
            help="When both were edited: which one counts, or merge them.",
        ),
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Only make the notebook.")] = False,
    root: RootOption = None,
):
    """Work on a lesson as a notebook, kept in step with its script.

    Example: tito notebook tensor
    """
    from tito.learn import jupyter, notebook_sync

    entry = select_lesson(current_root(root), lesson, module)
    if keep not in (None, "script", "notebook", "both"):
        raise UsageError(
            f"--keep {keep!r} is neither script nor notebook nor both.",
            "Say which of the two counts, or have them merged with --keep both.",
        )
    if keep == "both" and (merge := notebook_sync.asked(entry, warn)):
        for name, edited in (("script", merge.script), ("notebook", merge.notebook)):
            echo(f"from the {name}: {', '.join(edited) or 'nothing'}")
        if asks() and not typer.confirm("Merge them?", default=True):
            echo("Nothing was changed.")
            return
    backup = notebook_sync.settle(entry, keep, make=True, warn=warn)
    echo(f"{entry.relative(entry.notebook)} and {entry.script.name} agree.")
    if backup and keep:
        echo(f"What was overwritten is saved in {backup}; `tito undo` brings it back.")
    elif backup:  # it follows from an edit, so it is no step that `undo` would take back
        echo(f"What the other one held before is saved in {backup}.")
    if no_open:
        return
    if jupyter.missing():
        raise MachineError("JupyterLab is not installed here.", jupyter.REMEDY)
    import os
    import subprocess

    subprocess.run(
        [sys.executable, "-m", "jupyterlab", str(entry.notebook)],
        cwd=entry.root.path,
        env=os.environ | {"PYTHONPATH": str(entry.root.path)},
        check=False,
    )


def asks():
    """Whether somebody can answer a question."""
    return sys.stdin.isatty() and sys.stdout.isatty()


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
    from tito.learn import notebook_sync, progress
    from tito.lesson import export as exporting

    root = current_root(root)
    old, broken = [], []
    for entry in select_lessons(root, lessons, module, all_):
        try:
            if all_ and exporting.is_skipped(entry):
                echo(f"{entry.name} is skipped; `tito export {entry.name}` ends that.")
                continue
            if not check:
                notebook_sync.settle(entry, warn=warn)
            source = notebook_sync.read(
                entry, progress.load(root, warn)["lessons"].get(entry.name, {})
            )
            exported = exporting.current(entry, source)
        except WorkError as error:
            if not all_:
                raise
            broken.append(error)
            continue
        name = entry.relative(entry.module_path)
        if check:
            same = (
                entry.module_path.exists()
                and entry.module_path.read_text(encoding="utf-8", errors="replace") == exported.text
            )
            old += [] if same else [name]
            continue
        changed, told = exporting.bring(entry, exported)
        echo(f"{entry.relative(source.path)} -> {name}{'' if changed else ' (no change)'}")
        echo(*(f"{sentence}." for sentence in told))
    for error in broken:
        complain(error)
    if old:
        raise WorkError(f"Out of date: {', '.join(old)}.", "Run `tito export --all`.")
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
    from tito.learn.process import Process

    if junit and junit.suffix != ".xml" and junit.exists():
        raise UsageError(
            f"{junit} is there and is no .xml file.", "Name another file for the report."
        )
    root = current_root(root)
    verdicts = []
    if not (lessons or module or all_):
        module = current_lesson(root, not json)
    entries = select_lessons(root, lessons, module, all_)
    with Process(warm=len(entries) > 1) as process:
        # Here, as much else, the imports cost nothing: the process is loading NumPy and pytest.
        from tito.learn import results

        if not (keyword or first_only) and results.will_draw(entries[0], warn):
            process.beside("draw")
        from tito import views
        from tito.learn import verdict

        def checked(checks):
            if sys.stdout.isatty() and len(entries) == 1 and not json:
                echo(views.checked(checks))

        for entry in entries:
            verdicts.append(
                verdict.test(entry, keyword, first_only, seconds, process, warn, checked=checked)
            )
            if not json:
                show_verdict(entry, verdicts[-1], whole=len(entries) == 1)
    if json:
        echo_json([v.as_json() for v in verdicts])
    elif len(verdicts) > 1:
        echo(views.totals(verdicts))
    if junit:
        from tito import files
        from tito.learn import junit as xml

        files.write(Path.cwd() / junit, xml.xml(verdicts))
    if not all(v.asked_passed for v in verdicts):
        raise typer.Exit(1)


def show_verdict(entry, result, whole=True, has_keys=False, ask=None):
    """Print a tested lesson: what its demonstrations show now, then what is right and wrong.

    ask  a function of a question that waits for the learner's prediction, where somebody can type
    """
    from tito import views
    from tito.learn import progress, results
    from tito.learn import status as standing

    def link(path):
        return views.link(entry.root, path)

    echo(views.heading(result))
    tells = whole and not entry.root.is_course  # what the code does, not only if it is right
    shown, payoffs = result.shown if tells else [], []
    if result.passed and tells:
        # What answers a question stays below it; all else that the lesson ends on comes last.
        payoffs = [
            one for one in results.payoffs_of(result.results) if not (one.question and one in shown)
        ]
    show_results(entry, result, [one for one in shown if one not in payoffs], link, has_keys, ask)
    records = progress.load(entry.root, warn)["lessons"]
    record = records.get(entry.name, {})
    if result.passed and tells and not result.again and (said := record.get("predictions")):
        echo(views.predictions(said))
    # Row by row: the first lesson that is open ends the reading.
    rows = (standing.row(lesson, records.get(lesson.name, {})) for lesson in entry.root.lessons)
    step = standing.next_step(rows) if result.passed and whole else None
    given = record.get("hints", {})
    echo(
        views.verdict(
            result,
            {e.id: len(e.hints) - given.get(e.id, 0) for e in entry.declared.exercises},
            whole,
            step and step[0],
            "h" if has_keys else None,
            (
                sum(r.get("last", {}).get("verdict") == "passed" for r in records.values()),
                len(entry.root.lessons),
            ),
            [views.payoffs(payoffs, link)] if payoffs else [],
        )
    )


def show_results(entry, result, shown, link, has_keys, ask):
    """Print what demonstrations of what turned right show; of each that answers a question, ask
    what the learner expects first.
    """
    from tito import views
    from tito.learn import results

    if not shown:
        return
    echo(views.with_your_code(any(one.before for one in shown)))
    heading = ""
    for one in shown[-MOST_SHOWN:]:
        if one.heading != heading:
            heading = one.heading
            echo(views.section(heading))
        asked = bool(ask and one.question)
        if asked and (said := ask(views.question(one.question))):
            results.predict(entry, one.question, said, result.results)
        echo(views.result(one, link, asked))
    left_out = max(0, len(shown) - MOST_SHOWN)
    page = entry.relative(results.page_of(entry))
    echo(views.results_page(page, left_out, link, "o" if has_keys else None))


@app.command()
def watch(lesson: Lesson = None, module: Module = None, root: RootOption = None):
    """Test a lesson at each save. Keys: h hint, l list, n next lesson, q quit.

    Example: tito watch tensor
    """
    from tito.learn import watch as watching

    root = current_root(root)
    watching.watch(
        select_lesson(root, lesson or module or current_lesson(root) or root.lessons[0].name, None),
        echo,
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

    from tito.learn import status as standing

    root = current_root(root)
    entry = select_lesson(root, lesson or module or current_lesson(root, not json), None)
    passage = standing.hint(entry, exercise, warn)
    if json:
        echo_json(asdict(passage))
        return
    from tito import views

    echo(views.hint(passage))


@app.command("compare")
def compare_(
    exercise: Annotated[
        str,
        typer.Argument(
            metavar="EXERCISE",
            help="Its id, as tests print it; its name where only one lesson has it.",
            show_default=False,
        ),
    ],
    json: Json = False,
    root: RootOption = None,
):
    """Show the course's solution beside yours, once yours is right.

    Only where the course holds solutions and shows them. Example: tito compare tensor-strides
    """
    from dataclasses import asdict

    from tito.learn import compare

    comparison = compare.compare(*current_root(root).exercise(exercise), warn=warn)
    if json:
        echo_json(asdict(comparison))
        return
    from tito import views

    echo(views.comparison(comparison))


@app.command()
def word(
    term: Annotated[
        str | None,
        typer.Argument(metavar="TERM", help="Default: every term.", show_default=False),
    ] = None,
    json: Json = False,
    root: RootOption = None,
):
    """Say what a term means, and which lesson explains it.

    Example: tito word "learning rate"
    """
    from dataclasses import asdict

    from tito.lesson import glossary

    terms = glossary.read_terms(current_root(root))
    found = glossary.find_terms(terms, term) if term else terms
    if json:
        echo_json([asdict(entry) for entry in found])
        return
    from tito import views

    echo(*(views.term(entry) for entry in found)) if term else echo(views.terms(found))


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
    from tito.learn import workspace

    entry = select_lesson(current_root(root), lesson, module)
    was_there = entry.script.exists()
    backup = workspace.reset(entry, exercise, warn)
    what = entry.declared.exercise(exercise).id if exercise else entry.name
    if backup:
        echo(
            f"{what} is back at its start. What you had is saved in {backup}; "
            "`tito undo` brings it back."
        )
    else:
        echo(
            f"{what} is at its start already; nothing was changed."
            if was_there
            else f"{what} is there again, at its start."
        )


@app.command()
def undo(root: RootOption = None):
    """Bring back what the last command overwrote; again, what the one before overwrote.

    Example: tito undo
    """
    from tito.learn import workspace

    root = current_root(root)
    step = workspace.undo(root, warn)
    echo(
        f"What `tito {step.command}` overwrote at {step.when:%H:%M on %d %B} is back; what stood "
        "there is saved, and `tito redo` takes this back:",
        *(f"  {path.relative_to(root.path)}" for path in step.paths),
    )


@app.command()
def redo(root: RootOption = None):
    """Take back the last undo.

    Example: tito redo
    """
    from tito import files
    from tito.learn import workspace

    root = current_root(root)
    step = workspace.undo(root, warn, files.redo)
    echo(
        "The last undo is taken back:", *(f"  {path.relative_to(root.path)}" for path in step.paths)
    )


@app.command()
def skip(lesson: Lesson = None, module: Module = None, root: RootOption = None):
    """Put the course's own code for a lesson into the package, so that later lessons can be tried.

    Your work stays as it is; the next export or test of it ends the skip. Example: tito skip tensor
    """
    from tito.learn import workspace

    entry = select_lesson(current_root(root), lesson, module)
    backup = workspace.skip(entry)
    echo(
        f"{entry.name} is skipped: {entry.relative(entry.module_path)} is the course's own. "
        f"`tito export {entry.name}` ends that."
    )
    if backup:
        echo(f"It held code that is not in your lesson; a copy is in {backup}.")


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
    with_hints: Annotated[
        bool,
        typer.Option(
            "--with-hints",
            help="Also tell how many hints you opened, so that the course can be mended where it "
            "is hard. No grade depends on it.",
        ),
    ] = False,
    json: Json = False,
    root: RootOption = None,
):
    """Test what you have begun and put it into a zip, to hand in.

    Without a lesson: every one that was begun. A lesson that fails is told and handed in all the
    same; nothing is overwritten. Example: tito submit tensor
    """
    from tito import views
    from tito.learn import submit

    root = current_root(root)
    entries = select_lessons(root, lessons, module, all_) if lessons or module or all_ else None
    submission = submit.submit(
        root,
        entries,
        output and current_folder() / output.expanduser(),
        warn,
        lambda result: None if json else echo(views.tested(result)),
        with_hints,
    )
    if json:
        echo_json(
            {
                "zip": str(submission.path),
                "bytes": submission.size,
                "lessons": [v.as_json() for v in submission.verdicts],
                "notes": submission.notes,
            }
        )
        return
    for note in submission.notes:
        warn(note)
    echo(
        f"{submission.path} holds {views.count(len(submission.verdicts), 'lesson')}, "
        f"{submission.size / 1000:.1f} kB: hand in this file."
    )


@app.command()
def restore(
    path: Annotated[Path, typer.Argument(metavar="ZIP", help="What `tito submit` wrote.")],
    root: RootOption = None,
):
    """Bring the lessons of a submission back into a workspace. What stands there is saved first.

    After a temporary session in the browser, or on another machine. `tito undo` takes it back.
    Example: tito restore my-tinytorch-1.zip
    """
    from tito.learn import submit

    root = current_root(root)
    result = submit.restore(root, current_folder() / path.expanduser(), warn)
    for note in result.notes:
        warn(note)
    if not result.changed:
        echo(f"{', '.join(result.lessons)}: as in the zip already; nothing was changed.")
        return
    echo(
        f"{', '.join(result.lessons)} as in the zip:",
        *(f"  {place.relative_to(root.path).as_posix()}" for place in result.changed),
    )
    if result.kept:
        echo(f"What stood there is saved in {result.kept}; `tito undo` brings it back.")


@app.command("update")
def update_(
    source: Annotated[
        Path,
        typer.Argument(metavar="RELEASE", help="The new edition: a release, a course or a zip."),
    ],
    root: RootOption = None,
):
    """Bring a newer edition of the course under your work.

    Prose, checks, hints and support code are replaced; what you wrote in the exercises, and cells
    of your own, stay. Everything else is saved first; `tito undo` takes the update back.
    Example: tito update ../my-course-2
    """
    from tito import views
    from tito.learn import update

    root = current_root(root)
    echo(views.update(update.update(root, current_folder() / source.expanduser(), warn)))


@app.command("doctor")
def doctor_(json: Json = False, root: RootOption = None):
    """Look for what is missing on this machine, and say what to do about it.

    Example: tito doctor
    """
    from dataclasses import asdict

    from tito.learn import doctor

    findings = doctor.examine(current_folder(), named_root(root))
    if json:
        echo_json([asdict(finding) for finding in findings])
    else:
        from tito import views

        echo(views.doctor(findings))
    if any(finding.state == "problem" for finding in findings):
        raise typer.Exit(3)


milestone_app = typer.Typer(
    help="Programs that run on your finished package: from the perceptron to a GPT."
)
app.add_typer(milestone_app, name="milestone")


@milestone_app.callback(invoke_without_command=True)
def milestone_(context: typer.Context):
    if context.invoked_subcommand is None:
        list_milestones()


@milestone_app.command("list")
def list_milestones(json: Json = False, root: RootOption = None):
    """Show the milestones: what each must reach, which lessons it waits
    for, and what yours measured.

    Example: tito milestone list
    """
    from dataclasses import asdict

    from tito.learn import milestone

    rows = milestone.rows(current_root(root), warn)
    if json:
        echo_json([asdict(row) for row in rows])
        return
    from tito import views

    echo(views.milestones(rows))


@milestone_app.command("run", context_settings={"ignore_unknown_options": True})
def run_milestone(
    name: Annotated[
        str,
        typer.Argument(
            metavar="MILESTONE", help="A name, number or year: xor, 2 or 1986.", show_default=False
        ),
    ],
    options: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[OPTION]...",
            help="What some milestones let you change: the page of the milestone lists it.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="What chance begins with.")] = 0,
    json: Json = False,
    root: RootOption = None,
):
    """Run a milestone on your package: it trains, draws, and says if the bar was reached.

    Example: tito milestone run xor
    """
    from dataclasses import asdict

    from tito.learn import milestone

    root = current_root(root)
    program = milestone.find(root, name)
    if not json:
        from tito import views

        echo(views.milestone_card(program))
        sys.stdout.flush()
    result = milestone.run(
        root, program, seed, sys.stderr if json else None, warn, tuple(options or ())
    )
    if json:
        echo_json(
            asdict(result)
            | {
                "picture": result.picture
                and root.path.joinpath(result.picture).relative_to(root.path).as_posix()
            }
        )
    else:
        echo(
            views.milestone(
                result,
                result.picture
                and views.link(root, result.picture.relative_to(root.path).as_posix()),
            )
        )
    if not result.passed:
        raise typer.Exit(1)
