"""The `tito` command for tests: run in this process, which takes a tenth of the time, or in a new
one."""

import contextlib
import gc
import os
import signal
import subprocess
import sys
import tempfile
import warnings
from functools import cache

import typer.main

GET_COMMAND = typer.main.get_command
MADE_ONCE = cache(GET_COMMAND)  # as all calls but those for help, which `arrange` changes


def tito(root, *words, code=0):
    """Run tito in `root`, in this process; returns (stdout, stderr)."""
    return _checked(run(root, *words), code)


def process(root, *words, code=0, **variables):
    """The same in a new process, as a shell starts it, with more environment variables.

    For tests of imports, encodings, signals, and how a process ends.
    """
    return _checked(run_process(root, *words, **variables), code)


def run(root, *words):
    """Run tito in `root`, in this process; returns a CompletedProcess, as `subprocess.run` does."""
    from tito.cli.run import run as run_tito

    with _own_process(root, ["tito", *map(str, words)]) as written:
        try:
            run_tito()
        except SystemExit as end:
            code = end.code
    return subprocess.CompletedProcess(words, code, *written)


def run_process(root, *words, **variables):
    """Run tito in `root` in a new process; returns its CompletedProcess."""
    return subprocess.run(
        [sys.executable, "-m", "tito", *map(str, words)],
        cwd=_folder(root),
        env=os.environ | variables,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        stdin=subprocess.DEVNULL,
    )


@contextlib.contextmanager
def serve_book(root):
    """`tito book serve --fast`, once its first book is made: (process, address)."""
    words = ["book", "serve", "--fast"]
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "tito", *words],
        cwd=_folder(root),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as server:
        try:
            assert "index.html: " in server.stdout.readline()
            yield server, server.stdout.readline().split()[0]
        finally:
            server.terminate()


def _checked(done, code):
    assert done.returncode == code, f"exit code {done.returncode}, said: {done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


def _folder(root):
    return getattr(root, "path", root)


@contextlib.contextmanager
def _own_process(root, words):
    """Make this process look like a new one inside the block, and restore everything after it.

    Yields a list that finally contains the text on standard output and standard error, also of
    child processes, because the file descriptors 0, 1 and 2 are replaced. Modules stay imported,
    which saves time, except the modules of a learner's package.
    """
    from tito.cli import app

    get_command = GET_COMMAND if "--help" in words or len(words) < 3 else MADE_ONCE
    package = {name for name in sys.modules if name.split(".")[0] == "tinytorch"}
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        stack.enter_context(contextlib.chdir(_folder(root)))
        for owner, name, value in (
            (sys, "argv", words),
            (sys, "path", [*sys.path]),
            (sys, "meta_path", [*sys.meta_path]),
            (app, "given_root", None),
            (app, "given_gradebook", None),
            (typer.main, "get_command", get_command),
        ):
            stack.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, value)
        environment = dict(os.environ)
        files = [
            stack.enter_context(open(os.devnull, encoding="utf-8")),
            *(stack.enter_context(tempfile.TemporaryFile()) for _ in range(2)),
        ]
        for number, (name, file) in enumerate(zip(("stdin", "stdout", "stderr"), files)):
            stream = getattr(sys, name)
            if number:
                stream.flush()
            stack.callback(setattr, sys, name, stream)
            kept = os.dup(number)
            stack.callback(os.close, kept)
            stack.callback(os.dup2, kept, number)
            os.dup2(file.fileno(), number)
            mode = "w" if number else "r"
            own = open(number, mode, encoding="utf-8", newline=None, closefd=False)
            stack.callback(own.close)
            setattr(sys, name, own)

        written = []
        try:
            yield written
        finally:
            for stream, file in zip((sys.stdout, sys.stderr), files[1:]):
                with contextlib.suppress(OSError, ValueError):
                    stream.flush()
                file.seek(0)
                written.append(file.read().decode("utf-8").replace("\r\n", "\n"))
            gc.unfreeze()
            os.environ.clear()
            os.environ.update(environment)
            for number, handler in handlers.items():
                if handler is not None and signal.getsignal(number) is not handler:
                    signal.signal(number, handler)
            for name in [n for n in sys.modules if n.split(".")[0] == "tinytorch"]:
                if name not in package:
                    del sys.modules[name]
