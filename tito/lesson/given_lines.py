"""The given lines of an exercise that a learner's version of it does not run.

Around the place for the learner's code, an exercise has lines of the course: they refuse bad
arguments before it, or record the result after it. A check sees only values: without such a line,
it would blame the learner's code.
"""

import ast
import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from tito.lesson import cells
from tito.lesson.outcome import UNWRITTEN, Outcome

LONGEST = 80  # characters of a line that is quoted
LONGEST_CELL = 50_000  # characters of a cell that is compared
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
LEAVING = {ast.Return: "return", ast.Raise: "raise", ast.Continue: "continue", ast.Break: "break"}


@functools.lru_cache(maxsize=64)
def lost_line(released: str, written: str) -> str:
    """A sentence about the first given line that has no effect in a learner's cell, or "".

    A line is not missed where the learner's code makes its calls: there it is written in another
    way.

    released  the text of the cell as learners get it
    """
    given = cells.tree_or_none(released)
    own = cells.tree_or_none(written) if len(written) <= LONGEST_CELL else None
    if not given or not own:
        return ""
    rows, known, theirs = released.split("\n"), _functions(given), _functions(own)
    helpers = [theirs[name] for name in theirs.keys() - known.keys()]
    try:
        for name, function in known.items():
            if name in theirs and any(_is_stub(part) for part, _ in _walk(function.body)):
                for line, what in _lost_lines(function, theirs[name], helpers):
                    row = rows[line - 1].strip()
                    row = row if len(row) <= LONGEST else f"{row[:LONGEST]}..."
                    return f"The given line `{row}` {what}."
    except RecursionError:  # code can be nested without end
        pass
    return ""


def name_lost_lines(lost: Mapping[str, str], checks: Iterable[Outcome]) -> None:
    """Let each check that fails say which given line of its exercise is lost.

    lost  {exercise: the sentence}
    """
    for check in checks:
        if check.exercise in lost and check.status in ("failed", "error"):
            check.message = f"{check.message}\n{lost[check.exercise]}"


def lost_line_notes(lost: Mapping[str, str], checks: Collection[Outcome]) -> list[str]:
    """A note for each exercise that passes without a given line."""
    open_exercises = {check.exercise for check in checks if not check.passed}
    right = {check.exercise for check in checks} - open_exercises
    return [f"{exercise}: {lost[exercise]}" for exercise in lost if exercise in right]


def _lost_lines(
    given: ast.FunctionDef, own: ast.FunctionDef, helpers: list[ast.FunctionDef]
) -> Iterator[tuple[int, str]]:
    """(number of a given line, what became of it) of each that has no effect in the learner's
    function.

    helpers  the functions that the learner has added
    """
    decorators = {ast.dump(decorator) for decorator in own.decorator_list}
    for decorator in given.decorator_list:
        if ast.dump(decorator) not in decorators:
            yield decorator.lineno, "is gone"
    if _parameters(given) != _parameters(own):
        yield given.lineno, "is changed"
    statements = [pair for function in (own, *helpers) for pair in _walk(function.body)]
    used = {
        node.id
        for function in (own, *helpers)
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    names = _parameters(given), used
    running = [_effects(statement, *names) for statement, leaving in statements if not leaving]
    effects = set[str]().union(*running)
    places = {ast.dump(statement): leaving for statement, leaving in statements}
    for statement, _ in _walk(given.body):
        if _is_stub(statement) or _effects(statement, *names) <= effects:
            continue
        leaving = places.get(ast.dump(statement))
        if leaving is None:
            yield statement.lineno, "is gone"
        elif leaving:
            yield statement.lineno, f"does not run: your own `{leaving}` comes before it"


def _functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """{name: function} of a cell; of a method with the name of its class."""
    return {
        f"{getattr(node, 'name', '')}.{part.name}": part
        for node in tree.body
        for part in (node.body if isinstance(node, ast.ClassDef) else [node])
        if isinstance(part, ast.FunctionDef)
    }


def _is_stub(statement: ast.stmt) -> bool:
    """Whether it is the `raise` in the place of the learner's code."""
    return isinstance(statement, ast.Raise) and bool(UNWRITTEN.search(ast.unparse(statement)))


def _parameters(function: ast.FunctionDef) -> list[str]:
    """The names and defaults of its parameters, without annotations."""
    names = [part.arg for part in ast.walk(function.args) if isinstance(part, ast.arg)]
    defaults = [*function.args.defaults, *function.args.kw_defaults]
    return names + [ast.dump(default) for default in defaults if default]


def _walk(block: Sequence[ast.AST], leaving: str = "") -> Iterator[tuple[ast.stmt, str]]:
    """(statement, word) for each statement of a block and of the blocks inside: the word with which
    a statement above always leaves the block, so that this one never runs; or "".
    """
    for part in block:
        if isinstance(part, ast.stmt):
            yield part, leaving
        for name in BLOCKS:
            yield from _walk(getattr(part, name, ()), leaving)
        leaving = leaving or _leaving(part)


def _leaving(part: ast.AST) -> str:
    """The word with which a statement always leaves its block, or ""."""
    if isinstance(part, ast.With) or isinstance(part, ast.If) and part.orelse:
        words = [_leaving(block[-1]) for name in BLOCKS if (block := getattr(part, name, ()))]
        return words[0] if all(words) else ""
    if isinstance(part, ast.stmt) and _is_stub(part):
        return ""  # its checks say that it is left over
    return LEAVING.get(type(part), "")


def _effects(statement: ast.stmt, parameters: Collection[str], used: Collection[str]) -> set[str]:
    """What a statement calls and sets, without the blocks inside it.

    parameters  a method of one of these has its name: `weight.reshape` is not `bias.reshape`
    used        of the variables that it sets, these count
    """
    nodes = [
        node
        for name, value in ast.iter_fields(statement)
        if name not in BLOCKS
        for part in (value if isinstance(value, list) else [value])
        if isinstance(part, ast.AST)
        for node in ast.walk(part)
    ]
    found = set()
    for node in nodes:
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            found.add(name if name.split(".")[0] in parameters else name.rpartition(".")[2])
        elif isinstance(getattr(node, "ctx", None), ast.Store):
            if not isinstance(node, ast.Name) or node.id in used:
                found.add(f"{ast.unparse(node)} =")
    return found
