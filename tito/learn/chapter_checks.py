"""`check("order")` in a chapter: run an exercise's visible checks on the definitions of the running
script or notebook.

Every Python of an environment with tito has `check` as a builtin (see `check_builtin.py`), so a
chapter needs no import for it: in plain `python autograd_dev.py`, in JupyterLab, in the cells of VS
Code, and in a browser. When the checks pass, it prints one line in a notebook and nothing in a
script. Otherwise it raises `CheckFailed`, which shows as its message alone. It earns nothing: `tito
test` does.
"""

import inspect
import linecache
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NoReturn

from tito import import_hook
from tito.errors import TitoError, UsageError
from tito.learn.run_checks import Event, run_checks
from tito.lesson import cells
from tito.lesson.checks import HIDDEN, POLISH, CheckSuite, read_checks, suite_of
from tito.lesson.course import PRISTINE, SOURCE
from tito.lesson.given_lines import lost_line
from tito.lesson.lesson_format import CHECKS, FOLDER, without_solution
from tito.lesson.outcome import LEFT_OVER

CODE = "checks.py"  # the name of the file in tracebacks


class CheckFailed(Exception):
    """A check failed. Shown as its message, without a traceback."""

    def _render_traceback_(self) -> list[str]:  # IPython calls this
        return str(self).split("\n")


def check(name: str, space: dict[str, Any], line: int) -> None:
    """Run the visible checks of exercise `name` on the names of `space`, the caller's
    globals; `line` is where it calls.

    Raises CheckFailed with the message of the first check that fails.
    """
    try:
        path = _find_checks(name, space)
        suite = _visible_checks(path, name)
    except TitoError as error:
        _stop(f"{error.what} {error.remedy}")
    titles = {check.id: check.function.removeprefix("test_") for check in suite.checks}

    def is_learners(frame: FrameType) -> bool:
        return frame.f_globals is space

    for event in run_checks(suite, space, titles, is_learners):
        if event["event"] == "begin" or event["status"] == "passed":
            continue
        title = titles[event["id"]].replace("_", " ")
        if event.get("unwritten") == f"{_lesson_of(path)}-{name}":
            released, own = _texts(path, name, event["file"])
            if own and own.strip() != released.strip():
                event |= {"message": LEFT_OVER, "unwritten": None}
        elif lost := lost_line(*_texts(path, name, _file_of(path, name, space))):
            event["message"] += f"\n{lost}"
        _stop(_failure(event, name, title, _lesson_of(path), space, line))
    if "get_ipython" in space:  # in a script, every cell is silent
        print(f"{name}: {len(titles)} of {len(titles)} checks passed")


def _visible_checks(path: Path, name: str) -> CheckSuite:
    """The visible checks of exercise `name`, with the sections that they share."""
    sections = read_checks(path).cells
    shared = [cell for cell in sections if "points" not in cell.metadata]
    chosen = [cell for cell in sections if cell.title in (name, f"{name} {POLISH}")]
    if not chosen:
        names = [
            cell.title
            for cell in sections
            if cell not in shared and not {HIDDEN, POLISH} & set(cell.title.split())
        ]
        raise UsageError(f"There is no exercise {name!r} here.", f"There are: {', '.join(names)}.")
    return suite_of([*shared, *chosen], CODE)


def _lesson_of(checks_file: Path) -> str:
    return checks_file.parent.name.partition("_")[2]


def _released(checks_file: Path, name: str) -> str:
    """The released code of exercise `name`."""
    lesson = _lesson_of(checks_file)
    cell = cells.read(checks_file.with_name(f"{lesson}_dev.py")).cell(name)
    lines = without_solution(lesson, cell, cell.source.split("\n")) if cell else []
    return "\n".join(lines)


def _texts(checks_file: Path, name: str, file: str) -> tuple[str, str]:
    """(released code, learner's code) of exercise `name`, of a script or a cell that is `file` in
    tracebacks; "" where it is not known.
    """
    own = cells.read(Path(file)).cell(name) if Path(file).is_file() else None
    text = own.source if own else "".join(linecache.getlines(file))
    return _released(checks_file, name), text


def _file_of(checks_file: Path, name: str, space: dict[str, Any]) -> str:
    """What the code of exercise `name` is called in tracebacks, "" where it is not known."""
    if isinstance(file := space.get("__file__"), str):
        return file
    for word in re.findall(r"^(?:def|class) (\w+)", _released(checks_file, name), re.M):
        thing: Any = space.get(word)
        for part in vars(thing).values() if isinstance(thing, type) else [thing]:
            if code := getattr(inspect.unwrap(part), "__code__", None):
                return str(code.co_filename)
    return ""


def _failure(
    event: Event, name: str, title: str, lesson: str, space: dict[str, Any], line: int
) -> str:
    """The message for a check that did not pass."""
    if exercise := event.get("unwritten"):
        if exercise == f"{lesson}-{name}":
            return str(event["message"])
        return f'check("{name}") needs exercise {exercise}, which is not written yet.'
    file = space.get("__file__")
    place = f", {os.path.basename(file)} line {line}" if isinstance(file, str) else ""
    sentences = [event["message"]]
    if event["frames"]:
        last = event["frames"][-1]
        where = os.path.basename(last["file"]) if last["file"] == file else "your cell"
        sentences.append(f"at {where}, line {last['line']}: {last['code']}")
    lines = "\n".join(f"   {row}" for row in "\n".join(sentences).split("\n"))
    return f'check("{name}"){place}: {title}\n{lines}\nStuck? tito hint {lesson}-{name}'


def _stop(message: str) -> NoReturn:
    if not isinstance(sys.excepthook, _Hook):
        sys.excepthook = _Hook(sys.excepthook)
    raise CheckFailed(message) from None


class _Hook:
    """What plain Python calls with an uncaught exception: shows a CheckFailed's message alone."""

    def __init__(self, before: Callable[..., Any]) -> None:
        self.before = before

    def __call__(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if kind is CheckFailed:
            print(error, file=sys.stderr)
        else:
            self.before(kind, error, trace)


def _find_checks(name: str, space: dict[str, Any]) -> Path:
    """The checks.py with the checks: where the chapter is in a workspace, the course's copy."""
    for folder in _folders(space):
        if not FOLDER.fullmatch(folder.name):
            continue
        root = import_hook.root_above(str(folder))
        for path in (
            *([Path(root, PRISTINE, folder.name, CHECKS)] if root else []),
            folder / CHECKS,
        ):
            if path.is_file():
                return path
    place = import_hook.root_above(os.getcwd())
    paths = []
    for path in sorted(Path(place, SOURCE).glob(f"*/{CHECKS}")) if place else ():
        own = Path(place or "", PRISTINE, path.parent.name, CHECKS)
        path = own if own.is_file() else path
        if any(section.title == name for section in cells.read(path).cells):
            paths.append(path)
    if len(paths) == 1:
        return paths[0]
    raise UsageError(
        f'check("{name}") does not know which lesson it is in.',
        "Run the chapter as a file or a notebook in its own folder, modules/source/NN_name.",
    )


def _folders(space: dict[str, Any]) -> Iterator[Path]:
    """Where the chapter may be, the likeliest first: a script says it, VS Code says it,
    Jupyter says it or works there.
    """
    for path in (
        space.get("__file__"),
        space.get("__vsc_ipynb_file__"),
        os.environ.get("JPY_SESSION_NAME"),
    ):
        if isinstance(path, str):
            yield Path(path).resolve().parent
    yield Path.cwd()
