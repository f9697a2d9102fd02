"""`check("order")` in a chapter: run an exercise's visible checks against the definitions of
the running script or notebook.

Every Python of an environment with tito has `check` as a builtin (see `check_builtin.py`), so a
chapter needs no import for it: in plain `python autograd_dev.py`, in JupyterLab, in the cells of VS
Code, and in a browser, where `browser.py` puts it. It is silent when the checks pass, and otherwise
raises `CheckFailed`, which shows as its message alone. What it says counts for nothing: `tito test`
does.
"""

import ast
import os
import sys
import traceback
from pathlib import Path

from tito import import_hook
from tito.errors import TitoError, UsageError
from tito.lesson import cells, outcome
from tito.lesson.checks import functions_of, helpers_of, imported, remember_lines
from tito.lesson.course import PRISTINE, SOURCE
from tito.lesson.lesson_format import CHECKS, FOLDER, HIDDEN, LEARNER_SIDE, SETUP, TEST
from tito.lesson.shared_checks import read_checks

CODE = "checks.py"  # what tracebacks call the file


class CheckFailed(Exception):
    """A check does not hold. Shown as its message, without a traceback."""

    def _render_traceback_(self):  # what IPython asks for
        return str(self).split("\n")


def check(name: str, space: dict, line: int, browser=None) -> None:
    """Run the visible checks of exercise `name` on the names of `space`, the caller's
    globals; `line` is where it calls.

    Raises CheckFailed with the message of the first check that fails.
    """
    try:
        path = _checks_file(name, space, browser and browser.root)
        sections = read_checks(path).cells
        chosen = [c for c in sections if c.title == name]
        if not chosen:
            names = [
                c.title
                for c in sections
                if HIDDEN not in c.title.split() and "points" in c.metadata
            ]
            raise UsageError(
                f"There is no exercise {name!r} here.", f"There are: {', '.join(names)}."
            )
    except TitoError as error:
        _stop(f"{error.what} {error.remedy}")
    lesson = path.parent.name.partition("_")[2]
    threaded = []
    for section in chosen:
        for function in TEST.findall(section.source):
            title = function.removeprefix("test_").replace("_", " ")
            if browser:
                browser.missed_threads()  # of what ran before this check
            try:
                _run(section, function, sections, dict(space))
            except Exception as error:
                if browser and browser.missed_threads():
                    threaded.append(title)
                    continue
                if browser:
                    browser.remember(path.parent.name, name, False)
                explanation = _explained(error, space, lesson, name)
                place = _place(space, line)
            else:
                continue
            if isinstance(explanation, str):
                _stop(explanation)
            lines = "\n".join(f"   {row}" for row in "\n".join(explanation).split("\n"))
            _stop(f'check("{name}"){place}: {title}\n{lines}\nStuck? tito hint {lesson} {name}')
    if browser:
        browser.remember(path.parent.name, name, not threaded)
    if threaded:
        print(
            f'check("{name}"): not run here, because a browser\'s Python has no threads: '
            f"{', '.join(threaded)}. In a workspace `tito test` runs it."
        )


def _stop(message):
    if not isinstance(sys.excepthook, _Hook):
        sys.excepthook = _Hook(sys.excepthook)
    raise CheckFailed(message) from None


class _Hook:
    """What plain Python calls with an exception that nobody caught: of
    ours it shows the message alone.
    """

    def __init__(self, before):
        self.before = before

    def __call__(self, kind, error, trace):
        if kind is CheckFailed:
            print(error, file=sys.stderr)
        else:
            self.before(kind, error, trace)


def _checks_file(name, space, browser_root):
    """The checks.py that declares the checks: the course's own copy, where the
    chapter's folder lies in a workspace.
    """
    for folder in _folders(space):
        if not FOLDER.fullmatch(folder.name):
            continue
        if browser_root and (browser_root / SOURCE / folder.name / CHECKS).is_file():
            return browser_root / SOURCE / folder.name / CHECKS
        root = import_hook.root_above(str(folder))
        for path in (
            *([Path(root, PRISTINE, folder.name, CHECKS)] if root else []),
            folder / CHECKS,
        ):
            if path.is_file():
                return path
    root = browser_root or import_hook.root_above(os.getcwd())
    paths = []
    for path in sorted(Path(root, SOURCE).glob(f"*/{CHECKS}")) if root else ():
        own = Path(root, PRISTINE, path.parent.name, CHECKS)
        path = own if own.is_file() else path
        if any(section.title == name for section in cells.read(path).cells):
            paths.append(path)
    if len(paths) == 1:
        return paths[0]
    raise UsageError(
        f'check("{name}") does not know which lesson it stands in.',
        "Run the chapter as a file or a notebook in its own folder, modules/source/NN_name.",
    )


def _folders(space):
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


def _run(section, function, sections, space):
    """Run one check's function. Whatever it raises passes through."""
    setup = [c for c in sections if c.title == SETUP]
    beside = _needed(section.source, [c for c in sections if c.title == LEARNER_SIDE])
    imports = {}
    for node in (node for c in setup for node in cells.tree_of(c.source).body):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [(alias.asname or alias.name).split(".")[0] for alias in node.names]
            imports[ast.unparse(node)] = names
    space |= imported(imports, section.source, *(c.source for c in [*setup, *beside]))
    for c in setup:
        exec(helpers_of(c.source, CODE, c.line), space)
    for c in [*beside, section]:
        remember_lines(c.source, CODE, c.line)
        exec(functions_of(c.source, CODE, c.line), space)
    space[function]()


def _needed(source, beside):
    """The learner-side sections that define a name which the check
    uses, or which one of those does.

    Others may need what is not written yet at this point of the chapter.
    """
    words, chosen, open_cells = _words(source), [], list(beside)
    while cell := next((c for c in open_cells if _defined(c.source) & words), None):
        open_cells.remove(cell)
        words |= _words(cell.source)
        chosen.append(cell)
    return [cell for cell in beside if cell in chosen]


def _words(source):
    return {node.id for node in ast.walk(cells.tree_of(source)) if isinstance(node, ast.Name)}


def _defined(source):
    nodes = cells.tree_of(source).body
    names = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    stored = {
        leaf.id
        for node in nodes
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        for leaf in ast.walk(node)
        if isinstance(leaf, ast.Name) and isinstance(leaf.ctx, ast.Store)
    }
    return names | stored


def _explained(error, space, lesson, name):
    """What to say of an exception that came out of a check: lines, or for what is
    not written yet one sentence.
    """
    kind, text = type(error).__name__, str(error)
    trace = error.__traceback__
    frames = [(f, line) for f, line in traceback.walk_tb(trace) if f.f_globals is space]
    if exercise := outcome.unwritten_exercise(kind, text):
        own = exercise == f"{lesson}-{name}"
        return (
            text if own else f'check("{name}") needs exercise {exercise}, which is not written yet.'
        )
    if isinstance(error, AssertionError):
        last = traceback.extract_tb(trace)[-1]
        sentences = [text or f"this should hold: {last.line}"]
        if last.filename == CODE:
            return sentences
    else:
        nones = outcome.none_parameters(frames[-1][0]) if frames else None
        sentences = [outcome.explain(kind, text, outcome.call_in(error, CODE), nones)]
    if frames:
        frame, line = frames[-1]
        file = frame.f_code.co_filename
        where = os.path.basename(file) if file == space.get("__file__") else "your cell"
        code = next(
            (s.line for s in reversed(traceback.extract_tb(trace)) if s.filename == file), ""
        )
        sentences.append(f"at {where}, line {line}: {code}")
    return sentences


def _place(space, line):
    """Where the call stands, if that is a file."""
    file = space.get("__file__")
    return f", {os.path.basename(file)} line {line}" if isinstance(file, str) else ""
