"""The words of `tito` for a learner's workspace: take back, skip, hand in, bring up to date."""

from pathlib import Path
from typing import Annotated

import typer

from tito.cli.app import (
    All,
    Json,
    Lessons,
    Tasks,
    app,
    current_folder,
    current_root,
    echo,
    echo_json,
    named_root,
    select_exercise,
    select_lesson,
    select_lessons,
    warn,
)

Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="ZIP",
        help="Where the zip goes; default: the next free number in the workspace.",
        show_default=False,
    ),
]


@app.command()
def reset(
    tasks: Tasks = None,
) -> None:
    """Put a lesson, or one exercise, back to its start. What you wrote is saved first.

    Example: tito reset tensor-strides
    """
    from tito.learn import workspace

    root = current_root()
    if not tasks:
        select_lesson(root, None)  # raises: it has to be named
    entry, exercise = select_exercise(root, tasks)
    was_there = entry.script.exists()
    backup = workspace.reset(entry, exercise)
    what = exercise.id if exercise else entry.name
    if backup:
        echo(
            f"{what} is back at its start. What you had is saved in {backup}; "
            "`tito undo` brings it back."
        )
    elif was_there:
        echo(f"{what} is at its start already; nothing was changed.")
    else:
        echo(f"{what} is there again, at its start.")


@app.command()
def undo() -> None:
    """Bring back what the last command overwrote; again, what the one before overwrote.

    Example: tito undo
    """
    from tito.learn import workspace

    root = current_root()
    step = workspace.undo(root)
    echo(
        f"What `tito {step.command}` overwrote at {step.when:%H:%M on %d %B} is back; the files "
        "from before are saved, and `tito redo` takes this back:",
        *(f"  {path.relative_to(root.path)}" for path in step.paths),
    )


@app.command()
def redo() -> None:
    """Take back the last undo.

    Example: tito redo
    """
    from tito import files
    from tito.learn import workspace

    root = current_root()
    step = workspace.undo(root, files.redo)
    echo(
        "The last undo is taken back:", *(f"  {path.relative_to(root.path)}" for path in step.paths)
    )


@app.command()
def skip(lessons: Lessons = None) -> None:
    """Put the course's own code for lessons into the package, so that later lessons can be tried.

    Your work stays as it is; the next export or test of it ends the skip. Example: tito skip 1-10
    """
    from tito.learn import workspace

    for entry in select_lessons(current_root(), lessons, None, False):
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
    all_: All = False,
    output: Output = None,
    json: Json = False,
) -> None:
    """Test what you have begun and put it into a zip, to hand in.

    Without a lesson: every one that was begun. A lesson that fails is reported and also handed in;
    nothing is overwritten. Example: tito submit tensor
    """
    from tito import views
    from tito.learn import submit
    from tito.views import report

    root = current_root()
    submission = submit.submit(
        root,
        select_lessons(root, lessons, None, all_) if lessons or all_ else None,
        output and current_folder() / output.expanduser(),
        lambda verdict: None if json else echo(report.tested_line(verdict)),
    )
    if json:
        echo_json(
            {
                "zip": str(submission.path),
                "bytes": submission.size,
                "lessons": [verdict.as_json() for verdict in submission.verdicts],
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
) -> None:
    """Bring the lessons of a submission back into a workspace. Your files are saved first.

    After a temporary session in the browser, or on another machine. `tito undo` takes it back.
    Example: tito restore my-tinytorch-1.zip
    """
    from tito.learn import submit

    root = current_root()
    result = submit.restore(root, current_folder() / path.expanduser())
    for note in result.notes:
        warn(note)
    if not result.changed:
        echo(f"{', '.join(result.lessons)}: as in the zip already; nothing was changed.")
        return
    echo(
        f"{', '.join(result.lessons)} as in the zip:",
        *(f"  {place.relative_to(root.path).as_posix()}" for place in result.changed),
    )
    if result.backup:
        echo(f"Your files from before are saved in {result.backup}; `tito undo` brings it back.")


@app.command("update")
def update_(
    source: Annotated[
        Path,
        typer.Argument(metavar="RELEASE", help="The new edition: a release, a course or a zip."),
    ],
) -> None:
    """Bring a newer edition of the course under your work.

    Prose, checks, hints and support code are replaced; what you wrote in the exercises, and cells
    that you added, stay. Everything else is saved first; `tito undo` takes the update back.
    Example: tito update ../my-course-2
    """
    from tito.learn import update
    from tito.views import learner as views

    echo(views.update(update.update(current_root(), current_folder() / source.expanduser())))


@app.command("doctor")
def doctor_(json: Json = False) -> None:
    """Look for what is missing on this machine, and say what to do about it.

    Example: tito doctor
    """
    from dataclasses import asdict

    from tito.learn import doctor

    findings = doctor.examine(current_folder(), named_root())
    if json:
        echo_json([asdict(finding) for finding in findings])
    else:
        from tito.views import learner as views

        echo(views.doctor(findings))
    if any(finding.state == "problem" for finding in findings):
        raise typer.Exit(3)
