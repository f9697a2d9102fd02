"""What all commands of `tito` share: the app, the arguments for roots and lessons, and output.

The files of this folder parse arguments and return exit codes. Only they import typer.

Exit codes: 0 success, 1 checks fail, 2 wrong usage, 3 an error of the machine or of tito.
Each command imports its modules itself, so that `tito --help` does not have to load NumPy.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from tito import import_hook
from tito.errors import Notice, TitoError, UsageError
from tito.safe_text import spelled

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tito.lesson.course import Entry, Root
    from tito.lesson.lesson_format import Exercise

app = typer.Typer(
    name="tito",
    add_completion=False,
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None if os.environ.get("NO_COLOR") else "rich",
    help="Write your own deep-learning library, lesson by lesson.\n"
    "\n"
    "Start with: bin/tito init ../my-tinytorch",
)

Lessons = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[LESSON]...",
        help="Names or numbers: tensor, 1, 01 or 02_tensor; 1-10 for several.",
    ),
]
Tasks = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[LESSON|EXERCISE]...",
        help="Lessons: tensor, 1 or 1-10. Exercises: tensor-strides or tensor strides.",
    ),
]
Lesson = Annotated[
    str | None,
    typer.Argument(metavar="LESSON", help="A name or number: tensor, 1, 01 or 02_tensor."),
]
Module = Annotated[
    str | None,
    typer.Option("--module", "-m", metavar="LESSON", help="The lesson, as an option."),
]
All = Annotated[bool, typer.Option("--all", help="Every lesson.")]
Json = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]
AUDIENCES = {  # {module or package of tito.cli: who its commands are for}
    "learner": "For learners",
    "instructor": "For instructors",
    "author": "For authors",
}
GRADEBOOK = typer.Option(
    "--gradebook",
    metavar="FILE_OR_URL",
    help="Use this gradebook, for one command. Default: `gradebook` in the table `grading` of "
    "tito.toml, or else .tito/gradebook.db of the course.",
)
given_root: Path | None = None
given_gradebook: str | None = None


def current_root(strict: bool = True) -> Root:
    """The root to use: from --root, or else the root that the current folder is in. strict: see
    `course.open_root`.
    """
    from tito import files
    from tito.lesson import course

    root = course.find_root(current_folder(), given_root, strict)
    if (root.state / files.UNFINISHED).exists():
        from tito.learn import progress

        with progress.locked(root):  # a running command holds this lock
            if command := files.recover(root):
                warn(f"`tito {command}` was interrupted; its changes have been undone.")
        root = course.find_root(current_folder(), given_root, strict)
    return root


def named_root() -> Path | None:
    """The root given by --root, or None."""
    return given_root


def named_gradebook() -> str | None:
    """The path or URL given by --gradebook, or None."""
    return given_gradebook


def current_folder() -> Path:
    """The current folder. Raises UsageError when it no longer exists."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UsageError(
            "The current folder no longer exists.", "Change to your workspace with cd."
        ) from None


def echo(*renderables: RenderableType) -> None:
    """Print text for people: wrapped to the width of a terminal, else not wrapped.

    A learner's name, message or output does not move the cursor, whatever characters it has.
    """
    from rich.console import Console
    from rich.segment import Segment

    class SafeConsole(Console):
        def render(self, *given: Any) -> Iterator[Segment]:
            for text, style, control in super().render(*given):
                yield Segment(text if control else spelled(text), style, control)

    console = SafeConsole(
        highlight=False,
        markup=False,
        width=None if sys.stdout.isatty() else 500,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
    )
    for renderable in renderables:
        if isinstance(renderable, str):
            console.print(fold(renderable, sys.stdout), soft_wrap=True, crop=False)
        elif sys.stdout.isatty():
            console.print(renderable, crop=False)
        else:  # the cells of a table are filled with spaces
            with console.capture() as printed:
                console.print(renderable, crop=False)
            print(re.sub(r" +$", "", printed.get(), flags=re.M), end="")


def fold(text: str, stream: TextIO, indent: int = 0) -> str:
    """Safe `text`, wrapped to the width of the terminal, if `stream` is one."""
    text = spelled(text)
    if not stream.isatty():
        return text
    import shutil

    from tito import views

    return views.folded(text, shutil.get_terminal_size().columns, indent)


def ask_line(words: str) -> str | None:
    """What the learner types; None at the end of the input."""
    try:
        return input(words).strip()
    except EOFError:
        return None


def show_due(root: Root, silent: bool = False) -> None:
    """Say once a day how many questions about the learner's code are due."""
    from tito.learn import review

    if not silent and (count := review.reminder(root)):
        from tito.views.review import due

        echo(due(count))


def echo_json(values: Any) -> None:
    import json

    print(json.dumps(values, indent=1, ensure_ascii=sys.stdout.encoding.lower() != "utf-8"))


def echo_json_list(values: Iterable[Any]) -> None:
    """Print a JSON list one value at a time, because the results of a class may be large."""
    import json

    separator = "["
    for value in values:
        print(separator + json.dumps(value, indent=1))
        separator = ","
    print("[]" if separator == "[" else "]")


def warn(text: str) -> None:
    print(fold(f"tito: {text}", sys.stderr, 6), file=sys.stderr)


def show_notices() -> None:
    """Print each Notice in the form of tito's other messages."""
    show_other = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any) -> None:
        if issubclass(category, Notice):
            warn(str(message))
        else:
            show_other(message, category, *place)

    setattr(warnings, "showwarning", show)
    warnings.simplefilter("always", Notice)


def current_lesson(root: Root, announce: bool = True) -> str | None:
    """In a workspace, the name of the lesson to work on. If `announce`, also print why this one.

    None in a course, and when every lesson has passed.
    """
    if root.is_course:
        return None
    from tito.learn import status

    position = status.current(root)
    if position is None:
        return None
    name, reason = position
    if announce:
        echo(f"lesson {name}, {reason}")
    return name


def select_lesson(root: Root, name: str | None) -> Entry:
    """The lesson with this name. Raises UsageError without one."""
    if not name:
        raise UsageError(
            "Which lesson?", f"Name one of: {', '.join(entry.name for entry in root.lessons)}."
        )
    return root.lesson(name)


def select_lessons(root: Root, lessons: list[str] | None, all_: bool) -> list[Entry]:
    """The named lessons, in the order of the course. `layers training` is two, and no exercise."""
    found: list[Entry] = []
    for words in [[word] for word in lessons] if lessons and not all_ else [lessons]:
        for entry, exercises in select_tasks(root, words, None, all_).items():
            found.append(root.lesson(exercises[0].id) if exercises else entry)  # raises
    return [entry for entry in root.lessons if entry in found]


def is_given(entry: Entry, silent: bool = False) -> bool:
    """Whether a lesson has nothing to write. Unless `silent`, a sentence says it."""
    if entry.declared.exercises:
        return False
    if not silent:
        echo(f"{entry.name} is given here: nothing to test. `tito read {entry.name}` shows it")
    return True


def select_tasks(
    root: Root, words: list[str] | None, module: str | None, all_: bool
) -> dict[Entry, list[Exercise]]:
    """{named lesson: its named exercises, [] for the whole lesson}, in the course's order."""
    words = [*(words or []), *([module] if module else [])]
    if all_ and words:
        raise UsageError(f"--all and {' '.join(words)} contradict each other.", "Give one of them.")
    if not (all_ or words):
        raise UsageError(
            "Which lesson?",
            f"Name one of: {', '.join(entry.name for entry in root.lessons)}; or --all.",
        )
    selection = {entry: [] for entry in root.lessons} if all_ else root.select(words)
    return {entry: selection[entry] for entry in root.lessons if entry in selection}


def select_exercise(
    root: Root, words: list[str] | None, announce: bool = True
) -> tuple[Entry, Exercise | None]:
    """The named lesson and exercise, if one was named. Without words: the lesson to work on."""
    if not words:
        return select_lesson(root, current_lesson(root, announce)), None
    selection = root.select(words)
    if len(selection) > 1 or any(len(exercises) > 1 for exercises in selection.values()):
        entry = next(iter(selection))
        first = [exercise.id for exercise in entry.declared.exercises][:1]
        raise UsageError(
            f"{' '.join(words)} names more than one lesson or exercise.",
            f"Name one, such as {[*first, entry.name][0]}.",
        )
    ((entry, exercises),) = selection.items()
    return entry, exercises[0] if exercises else None


@contextmanager
def progress_bar(visible: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A function (what, done, of) that shows progress on standard error if it is a terminal, and
    otherwise prints nothing.
    """
    if not (visible and sys.stderr.isatty()):
        yield lambda what, done, of: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("")

        def report(what: str, done: int, of: int) -> None:
            bar.update(task, description=escape(spelled(what)), completed=done, total=of)

        yield report


def complain(error: TitoError) -> None:
    """Print the two lines of an error: what is wrong, and what to do."""
    print(fold(f"tito: {error.what}", sys.stderr, 6), file=sys.stderr)
    if error.remedy:
        print(fold(f"      {error.remedy}", sys.stderr, 6), file=sys.stderr)


def arrange() -> None:
    """Group the commands by their users in `tito --help`, each with the first clause of its help;
    and let typer wrap the help, because it keeps the lines of a docstring.

    In a workspace, only what is for learners is listed.
    """
    only_learners = "--help" in sys.argv and _in_workspace()
    GRADEBOOK.hidden = only_learners
    for command in app.registered_commands:
        assert command.callback
        command.rich_help_panel = audience(command.callback)
        command.short_help = _first_words(command.callback.__doc__)
        command.help = _unwrapped(command.callback.__doc__)
        command.hidden = only_learners and command.rich_help_panel != AUDIENCES["learner"]
    for group in app.registered_groups:
        assert group.typer_instance
        for command in group.typer_instance.registered_commands:
            assert command.callback
            command.help = _unwrapped(command.callback.__doc__)
        first = group.typer_instance.registered_commands[0].callback
        group.rich_help_panel = audience(first) if first else None
        callback = group.typer_instance.registered_callback  # of a group that is a command
        described = callback.callback.__doc__ if callback and callback.callback else None
        group.short_help = _first_words(described or group.typer_instance.info.help)
        group.hidden = only_learners and group.rich_help_panel != AUDIENCES["learner"]
    app.registered_commands.sort(
        key=lambda command: list(AUDIENCES.values()).index(command.rich_help_panel or "")
    )


def _in_workspace() -> bool:
    try:
        root = import_hook.root_above(os.getcwd())
        config = Path(root, "tito.toml").read_text(encoding="utf-8") if root else ""
        return "[workspace]" in config
    except (OSError, UnicodeDecodeError):
        return False


def audience(function: Callable[..., Any]) -> str:
    """Who a command is for, by the module or package of `tito.cli` that defines its function."""
    return AUDIENCES[function.__module__.split(".")[2]]


def _first_words(text: str | None) -> str:
    """The first clause of a command's help."""
    paragraph = " ".join((text or "").split("\n\n")[0].split())
    paragraph = paragraph.removeprefix("For instructors: ").removeprefix("For authors: ")
    words = re.split(r"[:;]|\. ", paragraph)[0].rstrip(".")
    return words[:1].upper() + words[1:]


def _unwrapped(text: str | None) -> str:
    """A docstring with a line for each paragraph; the example is one."""
    paragraphs = (text or "").replace("Example:", "\n\nExample:").split("\n\n")
    lines = (" ".join(paragraph.split()) for paragraph in paragraphs)
    return "\n\n".join(line for line in lines if line)


def commands() -> list[tuple[str, str, Any]]:
    """All commands: [(who it is for, "tito book build", click's command)]."""

    def leaves(words: str, command: Any) -> Iterator[tuple[str, Any]]:
        if hasattr(command, "commands"):
            for name, part in command.commands.items():
                yield from leaves(f"{words} {name}", part)
        elif not command.hidden:
            yield words, command

    arrange()  # after a help for learners, which hides the others
    rows = [
        (audience(command.callback), words, command)
        for words, command in leaves("tito", typer.main.get_command(app))
    ]
    return sorted(rows, key=lambda row: list(AUDIENCES.values()).index(row[0]))
