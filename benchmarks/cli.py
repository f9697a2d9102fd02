"""How long `tito` lets one wait, measured against peers: python benchmarks/cli.py

    [--runs N] [--course DIR] [--json]

Seconds differ from machine to machine, so what counts is a ratio: `tito` and a peer that a user
knows, run in turn (A B A B ...) in one run of this program, the median of one divided by the median
of the other. The peers:

    help    a bare Typer program with the same commands and options as tito's, that does nothing:
            its --help
    status  the same --help
    test    `python -m pytest -q` on a plain test file with the lesson's checks, against the same
            package; what is timed of `tito test` is until its terminal shows how many are right
    whole   the same, and then the chapter by plain Python, which runs its demonstrations and draws
            its figures; `tito test` until it has shown what they print and ended
    watch   `tito test`; what is timed of `tito watch` is from the saved file to the line on the
            screen with how many checks and points are right
    shown   `tito test`; from the saved file until the demonstrations have run, too, and all is on
            the screen

All of them run without PYTHON* and PYTEST_ADDOPTS in their environment, without third-party pytest
plugins, and with their bytecode compiled. The lesson is tensor (the course's first where there is
none), solved, in a workspace in a temporary folder, and saved anew before each test. Needs a system
with pseudo-terminals.
"""

import argparse
import compileall
import json
import os
import pty
import re
import select
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import typer

from tito.cli import run as cli
from tito.lesson import course, export

HERE = Path(__file__).resolve()
# As pip writes it.
LAUNCH = "import sys\nfrom {module} import run\nif __name__ == '__main__':\n    sys.exit(run())\n"
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
PATIENCE = 60  # seconds until a program that does not answer is given up


@dataclass
class Measurement:
    """Medians in seconds of `command` and of `peer`, and the ratio that they should not exceed."""

    name: str
    command: str
    peer: str
    seconds: float
    peer_seconds: float
    goal: float

    @property
    def ratio(self):
        return self.seconds / self.peer_seconds

    def as_json(self):
        return vars(self) | {"ratio": round(self.ratio, 3), "met": self.ratio <= self.goal}


class Bench:
    """Two workspaces with one lesson solved (one is for `tito watch`), and the peers,
    in `folder`.
    """

    def __init__(self, folder, source):
        self.folder = folder
        keep = {
            k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST", "TITO"))
        }
        self.environment = keep | {
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "MPLBACKEND": "Agg",  # figures are drawn, by both, and open no window
            "TERM": "xterm",
            "COLUMNS": "100",
        }
        self.tito = [sys.executable, str(self._write("tito", LAUNCH.format(module="tito.cli.run")))]
        self.bare = [sys.executable, str(self._write("bare", LAUNCH.format(module="bare_program")))]
        self._write("bare_program.py", bare_program(cli.app))
        self.entry, self.watched = (
            self._workspace(name, source) for name in ("workspace", "watched")
        )
        self.solved = measured_lesson(source).script.read_text(encoding="utf-8")
        self.saves = 0
        self.save(self.entry)
        self.save(self.watched)
        self.test = [*self.tito, "test", self.entry.name]
        self.run(self.test, says=self.verdict)
        self.checks = self._write("test_plain.py", plain_tests(self.entry))
        compileall.compile_dir(Path(cli.__file__).parents[1], quiet=1)
        compileall.compile_dir(folder, quiet=1)

    def _workspace(self, name, source):
        """The lesson that is measured, in a new workspace of that course."""
        self.run(
            [
                *self.tito,
                "--root",
                str(source.path),
                "init",
                str(self.folder / name),
                "--track",
                "whole",
            ],
            says="is ready",
        )
        return measured_lesson(course.open_root(self.folder / name))

    def _write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    @property
    def verdict(self):
        """The words of a verdict that this lesson passed, with all its checks."""
        lesson = self.entry.declared
        number = len(lesson.checks)
        return (
            f"passed  {lesson.points} of {counted(lesson.points, 'point')},"
            f" {number} of {counted(number, 'check')},"
        )

    @property
    def checked(self):
        """The words that say that every check is right, while the demonstrations still run."""
        lesson = self.entry.declared
        number = len(lesson.checks)
        return (
            f"{number} of {counted(number, 'check')} right,"
            f" {lesson.points} of {counted(lesson.points, 'point')}"
        )

    def save(self, entry):
        """Save the solved lesson with one line of its last exercise changed, as an editor would,
        so that its code is new.
        """
        self.saves += 1
        end = self.solved.rindex("### END SOLUTION") + len("### END SOLUTION")
        text = f"{self.solved[:end]}\n    # save {self.saves}{self.solved[end:]}"
        new = self.folder / "saved"
        new.write_text(text, encoding="utf-8")
        os.replace(new, entry.script)

    def run(self, command, says):
        """Run a command in the workspace; seconds from start to end.
        It must succeed and say `says`.
        """
        where = self.folder / "workspace"
        began = time.perf_counter()
        ended = subprocess.run(
            command,
            cwd=where if where.exists() else self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=PATIENCE,
        )
        seconds = time.perf_counter() - began
        if ended.returncode or says not in ended.stdout:
            raise SystemExit(
                f"{' '.join(command)} ended with {ended.returncode} and did not say {says!r}:"
                f"\n{ended.stdout}"
            )
        return seconds


def counted(number, word):
    """As views.py counts;
    written again so that a wrong verdict cannot be measured as a right one.
    """
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def bare_program(app):
    """A Typer program with the commands and options of `app`, and nothing in them."""
    lines = [
        "from pathlib import Path",
        "from typing import Annotated",
        "",
        "import typer",
        "",
        'app = typer.Typer(name="bare", add_completion=False, pretty_exceptions_enable=False, '
        'rich_markup_mode="rich", help="A bare program.")',
        "",
    ]
    for name, command in typer.main.get_command(app).commands.items():
        parameters = []
        for p in command.params:
            kind = {"boolean": "bool", "float": "float", "path": "Path"}.get(p.type.name, "str")
            kind = f"list[{kind}]" if p.nargs == -1 else kind
            kind, default = (kind, "False") if kind == "bool" else (f"{kind} | None", "None")
            about = (
                f"typer.Argument(help={p.help!r})"
                if p.param_type_name == "argument"
                else f"typer.Option({', '.join(map(repr, p.opts))}, help={p.help!r})"
            )
            parameters.append(f"{p.name}: Annotated[{kind}, {about}] = {default}")
        lines += [
            "",
            f"@app.command({name!r})",
            f"def {name}_({', '.join(parameters)}):",
            f'    """{command.help.splitlines()[0]}"""',
            "",
        ]
    return "\n".join([*lines, "", "def run():", "    app()", ""])


def measured_lesson(root):
    return next((entry for entry in root.lessons if entry.name == "tensor"), root.lessons[0])


def plain_tests(entry):
    """A pytest file as one would write it by hand: the lesson's imports, its names, its checks."""
    lesson = entry.declared
    names = (
        f"from {entry.root.package}.{lesson.module} import "
        f"{', '.join(dict.fromkeys(export.exported_names(lesson)))}"
    )
    sections = dict.fromkeys(check.cell.source for check in lesson.checks)
    shared = [cell.source for cell in (*lesson.setup, *lesson.learner_side)]
    return "\n".join([names, *shared, *sections, ""])


class Terminal:
    """A command in a terminal of its own; `shown` is what it wrote there."""

    def __init__(self, command, folder, environment):
        self.shown = ""
        self.terminal, other = pty.openpty()
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
        )
        os.close(other)

    def read(self, seconds):
        """Add what comes within `seconds` to `shown`. Whether something came."""
        if not select.select([self.terminal], [], [], seconds)[0]:
            return False
        try:
            new = os.read(self.terminal, 65536)
        except OSError:  # its other end is closed
            new = b""
        self.shown += new.decode("utf-8", "replace")
        return bool(new)

    @property
    def text(self):
        return ESCAPE.sub("", self.shown)


class Watch(Terminal):
    """`tito watch` in a terminal of its own."""

    def __init__(self, bench):
        command = [*bench.tito, "watch", bench.entry.name]
        super().__init__(command, bench.watched.root.path, bench.environment)
        self.bench, self.whole = bench, []

    def verdict(self):
        """Wait for the line behind a verdict, which must be that the lesson passed. A question for
        a prediction is answered with enter, at once.

        Returns when the checks' result stood on the screen, as `time.perf_counter` tells it.
        """
        answered, checked = 0, None
        while "Watching " not in (text := self.text):
            if self.bench.checked in text or self.bench.verdict in text:
                checked = checked or time.perf_counter()
            if text.count("your prediction?") > answered:
                os.write(self.terminal, b"\n")
                answered += 1
            elif not self.read(PATIENCE):
                raise SystemExit(f"tito watch showed no verdict:\n{text}")
        if self.bench.verdict not in text:
            raise SystemExit(f"tito watch did not say {self.bench.verdict!r}:\n{text}")
        self.shown = ""
        return checked or time.perf_counter()

    def saved(self):
        """Seconds from a save to the result of its checks. Those until all is shown are added to
        `whole`.
        """
        while self.read(
            0.15
        ):  # the rest of the last verdict; then a while of rest, as between two saves
            pass
        self.shown = ""
        began = time.perf_counter()
        self.bench.save(self.bench.watched)
        checked = self.verdict()
        self.whole.append(time.perf_counter() - began)
        return checked - began

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            os.write(self.terminal, b"q")
        drain = threading.Thread(
            target=lambda: [None for _ in iter(lambda: self.read(PATIENCE), False)], daemon=True
        )
        drain.start()  # a terminal that nobody reads would block it
        try:
            code = self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        drain.join(10)
        os.close(self.terminal)
        if code and not any(error):
            raise SystemExit(f"tito watch ended with {code} after q")


def in_turn(runs, one, two):
    """The medians of `one()` and `two()`, called in turn;
    the first turn warms up and does not count.
    """
    times = [(one(), two()) for _ in range(runs + 1)][1:]
    return [statistics.median(side) for side in zip(*times)]


def help_(bench, runs):
    times = in_turn(
        runs,
        lambda: bench.run([*bench.tito, "--help"], says="status"),
        lambda: bench.run([*bench.bare, "--help"], says="status"),
    )
    return [Measurement("help", "tito --help", "bare Typer program --help", *times, goal=1.15)]


def status(bench, runs):
    times = in_turn(
        runs,
        lambda: bench.run([*bench.tito, "status"], says=bench.entry.name),
        lambda: bench.run([*bench.bare, "--help"], says="status"),
    )
    return [Measurement("status", "tito status", "bare Typer program --help", *times, goal=1.3)]


def tested(bench):
    """Seconds of `tito test` on new code, from start to end."""
    bench.save(bench.entry)
    return bench.run(bench.test, says=bench.verdict)


def tested_on_screen(bench):
    """Seconds of `tito test` on new code, until its terminal shows the result of the checks."""
    bench.save(bench.entry)
    began = time.perf_counter()
    testing = Terminal(bench.test, bench.entry.root.path, bench.environment)
    while bench.checked not in testing.text and testing.read(PATIENCE):
        pass
    seconds = time.perf_counter() - began
    while testing.read(PATIENCE):  # until it has ended: a terminal that nobody reads would block it
        pass
    os.close(testing.terminal)
    if testing.process.wait(PATIENCE) or bench.checked not in testing.text:
        raise SystemExit(f"tito test did not say {bench.checked!r}:\n{testing.text}")
    return seconds


def test(bench, runs):
    number = len(bench.entry.declared.checks)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--rootdir",
        str(bench.folder),
        str(bench.checks),
    ]
    chapter = [sys.executable, str(bench.entry.script)]

    def by_hand():
        return bench.run(command, says=f"{number} passed")

    on_screen = in_turn(runs, lambda: tested_on_screen(bench), by_hand)
    whole = in_turn(runs, lambda: tested(bench), lambda: by_hand() + bench.run(chapter, says=""))
    name, peer = f"tito test {bench.entry.name}", "pytest -q on the same checks"
    return [
        Measurement("test", f"{name}: to result of the checks", peer, *on_screen, goal=1.5),
        Measurement("whole", f"{name}: to its end", f"{peer}, and the chapter", *whole, goal=1.0),
    ]


def watch(bench, runs):
    with Watch(bench) as watching:
        watching.verdict()  # the one at its start
        times = in_turn(runs, watching.saved, lambda: tested(bench))
    watched, tests = f"tito watch {bench.entry.name}", f"tito test {bench.entry.name}"
    whole = statistics.median(watching.whole[1:])
    return [
        Measurement("watch", f"{watched}: save to result of the checks", tests, *times, goal=0.4),
        Measurement("shown", f"{watched}: save to all shown", tests, whole, times[1], goal=0.4),
    ]


MEASUREMENTS = (help_, status, test, watch)


def table(found):
    """The measurements as text, one line each."""
    rows = [("", "seconds", "peer", "ratio", "goal", "")]
    rows += [
        (
            f"{m.command} / {m.peer}",
            f"{m.seconds:.3f}",
            f"{m.peer_seconds:.3f}",
            f"{m.ratio:.2f}",
            f"{m.goal:g}",
            "met" if m.ratio <= m.goal else "MISSED",
        )
        for m in found
    ]
    wide = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join(
        "  ".join(
            [row[0].ljust(wide[0]), *(cell.rjust(w) for cell, w in zip(row[1:], wide[1:]))]
        ).rstrip()
        for row in rows
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--runs",
        type=int,
        default=9,
        metavar="N",
        help="pairs of runs per measurement (default: 9)",
    )
    parser.add_argument(
        "--course",
        type=Path,
        default=HERE.parents[1],
        metavar="DIR",
        help="measure with a lesson of this course",
    )
    parser.add_argument("--json", action="store_true", help="print the same values as JSON")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tito-benchmark-") as folder:
        bench = Bench(Path(folder).resolve(), course.open_root(given.course.resolve()))
        found = [one for measure in MEASUREMENTS for one in measure(bench, max(1, given.runs))]
    if given.json:
        print(
            json.dumps(
                {
                    "runs": given.runs,
                    "lesson": bench.entry.name,
                    "measurements": [m.as_json() for m in found],
                },
                indent=1,
            )
        )
    else:
        print(table(found))


if __name__ == "__main__":
    main()
