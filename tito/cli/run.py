"""The `tito` command: run the app with all its commands, and print errors."""

import gc
import io
import sys
from typing import NoReturn

# Imports leave no garbage, and collecting it would take a tenth of the time.
gc.disable()

from tito.cli import author, instructor, learner  # noqa: E402, F401  each adds its commands
from tito.cli.app import app, arrange, complain, show_notices  # noqa: E402
from tito.errors import TitoError, UsageError

gc.enable()
BEFORE = ("--root", "--gradebook")  # options of `tito` itself


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
