"""The `tito` command: every wing's commands on one app, and what becomes of an error."""

import gc
import sys

# What is imported is no garbage: to look for some takes a tenth of the time.
gc.disable()

from tito.cli import author, instructor, learner  # noqa: E402, F401  each adds its commands
from tito.cli.app import app, arrange, complain  # noqa: E402
from tito.errors import TitoError, UsageError

gc.enable()


def run():
    """The `tito` command."""
    gc.freeze()
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
            UsageError(
                error.format_message(), f"See: {context.command_path if context else 'tito'} --help"
            )
        )
        code = 2
    # Or Python's last collection goes through all that was imported: 15 ms of each command.
    gc.freeze()
    sys.exit(code if isinstance(code, int) else 0)
