"""The `tito` command: run the app with all its commands, and print errors."""

import gc
import io
import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

# Imports leave no garbage, and collecting it would take a tenth of the time.
gc.disable()

import typer  # noqa: E402

from tito import import_hook  # noqa: E402
from tito.cli import app as shared  # noqa: E402
from tito.cli import learner  # noqa: E402, F401  it adds its commands
from tito.cli.app import GRADEBOOK, app, arrange, complain, show_notices  # noqa: E402
from tito.errors import TitoError, UsageError

BEFORE = ("--root", "--gradebook")  # options of `tito` itself


def is_for_learners() -> bool:
    """Whether this is the program tito, with a command for learners."""
    program, *words = map(str, sys.argv)
    while words and words[0].startswith("-"):
        del words[: 2 if words[0] in BEFORE else 1]
    names = {one.name or getattr(one.callback, "__name__") for one in app.registered_commands}
    names |= {group.name for group in app.registered_groups}
    is_program = os.path.basename(program) in (*import_hook.SCRIPTS, "__main__.py")
    return is_program and names.issuperset(words[:1]) and bool(words)


if not is_for_learners():  # the other commands would make each start slower, by a third
    from tito.cli import author, instructor  # noqa: F401

gc.enable()


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    root: Annotated[
        Path | None,
        typer.Option(
            help="Use this course or workspace instead of the one that the current folder is in."
        ),
    ] = None,
    gradebook: Annotated[str | None, GRADEBOOK] = None,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    shared.given_root, shared.given_gradebook = root, gradebook
    if version:
        from tito.lesson import course

        print(f"tito {course.version()}")
        raise typer.Exit()
    if context.invoked_subcommand is None:
        learner.lesson.status()


def run() -> NoReturn:
    """The `tito` command."""
    gc.freeze()
    if "--help" in sys.argv or len(sys.argv) < 3:  # `tito book` prints its help, too
        arrange()
    show_notices()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # print ? for a character that the terminal cannot show
            stream.reconfigure(errors="replace")
    try:
        code = app(prog_name="tito", standalone_mode=False)
    except TitoError as error:
        complain(error)
        code = error.code
    except KeyboardInterrupt:
        code = 130
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise  # a bug of tito, not wrong usage: show the traceback
        context, option = getattr(error, "ctx", None), getattr(error, "option_name", "")
        path = context.command_path if context else "tito"
        remedy = f"See: {path} --help"
        if option in BEFORE:
            remedy = f"Write it before the command: tito {option} ...{path.removeprefix('tito')}"
        complain(UsageError(error.format_message(), remedy))
        code = 2
    # Without this, Python's last garbage collection visits all modules, which takes 15 ms.
    gc.freeze()
    sys.exit(code if isinstance(code, int) else 0)
