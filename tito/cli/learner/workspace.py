"""The commands for a workspace: reset, undo, skip, submit, restore, update, doctor."""

from pathlib import Path
from typing import Annotated

import typer

from tito.cli.app import (
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
        help="Path of the zip. Default: a numbered name in the workspace.",
    ),
]


@app.command()
def reset(
    tasks: Tasks = None,
) -> None:
    """Reset a lesson or an exercise to its released state. Your code is saved first.

    An exercise whose solution is given becomes one to write. Example: tito reset tensor-strides
    """
    from tito.learn import update, workspace
    from tito.views import learner as views

    root = current_root()
    if not tasks:
        select_lesson(root, None)  # raises: it has to be named
    given = [
        entry
        for entry, names in root.named(tasks or []).items()
        if any(map(entry.declared.is_given, names)) or not (names or entry.declared.exercises)
    ]
    if given and not root.is_course:
        echo(views.update(update.choose(root, "reset", tasks or [], written=True)))
        return
    entry, exercise = select_exercise(root, tasks)
    was_there = entry.script.exists()
    backup = workspace.reset(entry, exercise)
    what = exercise.id if exercise else entry.name
    if backup:
        echo(f"{what} is reset. Your code is saved in {backup}; `tito undo` restores it.")
    elif was_there:
        echo(f"{what} is as it was released; nothing was changed.")
    else:
        echo(f"{what} was missing; it is there again, as released.")


@app.command()
def undo() -> None:
    """Restore the files that the last command overwrote. Run it again to reverse this.

    Example: tito undo
    """
    from tito.learn import workspace

    root = current_root(strict=False)
    step = workspace.undo(root)
    echo(
        f"Restored the files that `tito {step.command}` overwrote at {step.when:%H:%M on %d %B}; "
        "`tito undo` again reverses this:",
        *(
            f"  {path.relative_to(root.path)}"
            for path in step.paths
            if root.state not in path.parents
        ),
    )


@app.command()
def skip(tasks: Tasks = None) -> None:
    """Take the course's code for exercises or lessons, so that you need not write them.

    Your code of them is kept in set_aside.py beside the lesson; `tito reset` of the exercise lets
    you write it. Example: tito skip tensor-strides, tito skip 1-10
    """
    from tito.learn import update
    from tito.views import learner as views

    root = current_root()
    if not tasks:
        select_lesson(root, None)  # raises: it has to be named
    echo(views.update(update.choose(root, "skip", tasks or [], written=False)))


@app.command("submit")
def submit_(
    lessons: Lessons = None,
    output: Output = None,
    json: Json = False,
) -> None:
    """Test the lessons that you have begun, and write a zip to hand in.

    Without a lesson: every lesson that was begun. The zip also contains lessons that fail. An
    earlier zip is never overwritten. Example: tito submit tensor
    """
    from tito import views
    from tito.learn import submit
    from tito.views import report

    root = current_root()
    submission = submit.submit(
        root,
        select_lessons(root, lessons, False) if lessons else None,
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
        f"{submission.path} contains {views.count(len(submission.verdicts), 'lesson')}, "
        f"{submission.size / 1000:.1f} kB: hand in this file."
    )


@app.command()
def restore(
    path: Annotated[Path, typer.Argument(metavar="ZIP", help="A zip that `tito submit` wrote.")],
) -> None:
    """Copy the lessons of a submission into a workspace. Your files are saved first.

    Use it after a temporary session in the browser, or on another machine. `tito undo` reverses it.
    Example: tito restore my-tinytorch-1.zip
    """
    from tito.learn import submit

    root = current_root()
    result = submit.restore(root, current_folder() / path.expanduser())
    for note in result.notes:
        warn(note)
    if not result.changed:
        echo(f"{', '.join(result.lessons)}: already as in the zip; nothing was changed.")
        return
    echo(
        f"{', '.join(result.lessons)} as in the zip:",
        *(f"  {place.relative_to(root.path).as_posix()}" for place in result.changed),
    )
    if result.backup:
        echo(f"Your previous files are saved in {result.backup}; `tito undo` restores them.")
    echo(f"next: tito test {' '.join(result.lessons)}")


@app.command("update")
def update_(
    source: Annotated[
        Path,
        typer.Argument(metavar="RELEASE", help="The new edition: a release, a course or a zip."),
    ],
) -> None:
    """Update the course to a newer edition, and keep your work.

    Text, checks, hints and support code are replaced. Your code in the exercises and the cells that
    you added stay. Every replaced file is saved first, and `tito undo` reverses the update.
    Example: tito update ../my-course-2
    """
    from tito.learn import update
    from tito.views import learner as views

    root = current_root(strict=False)  # the update may bring the tito.toml that it needs
    echo(views.update(update.update(root, current_folder() / source.expanduser())))


@app.command("doctor")
def doctor_(json: Json = False) -> None:
    """Check that this machine has everything that tito needs, and explain how to fix problems.

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
