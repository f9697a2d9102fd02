"""Functions that the checks of several lessons use: `modules/source/checking.py` of a course.

A section `# %% setup` or `# %% learner-side` of a checks.py says which it needs:

    from checking import expect, refused

When the file is read, these functions, and what they use in turn, are put into a section of the
same title at its end, and a comment replaces the import. So the file is complete wherever it goes
(a workspace, a release, a notebook, the judge), its other lines keep their numbers, and a shared
function is treated as one that the lesson defines itself.
"""

import ast
import functools
from pathlib import Path

from tito.errors import UsageError
from tito.lesson import cells
from tito.lesson.checks import IMPORTS, LEARNER_SIDE, SETUP

MODULE = "checking"
FILE = f"{MODULE}.py"
IMPORT = f"from {MODULE} import"
SECTIONS = (SETUP, LEARNER_SIDE)  # those that may import from it
COMMENT = f"# The functions of {FILE} are at the end of this file."


def read_checks(path: Path) -> cells.Source:
    """The cells of a lesson's checks.py, with the shared functions that it imports.

    Raises TitoError when it is missing or damaged, or imports what the course does not have.
    """
    source = cells.read(path)
    if IMPORT not in source.text:
        return source
    shared = path.parents[1] / FILE
    if not shared.is_file():
        raise UsageError(
            f"{path} imports from {MODULE}, and there is no {shared}.",
            "Write these functions there, or into the section.",
        )
    return _completed(source, shared, shared.read_text(encoding="utf-8"))


@functools.lru_cache(maxsize=64)  # a test reads every lower lesson again
def _completed(source: cells.Source, shared: Path, shared_text: str) -> cells.Source:
    lines = source.text.split("\n")
    imported: dict[str, dict[str, int]] = {}  # {section's title: {name: line}}
    for cell in source.cells:
        if cell.kind != "code" or IMPORT not in cell.source:
            continue
        for node in cells.tree_of(cell.source).body:
            if not isinstance(node, ast.ImportFrom) or node.module != MODULE:
                continue
            first = cell.line + node.lineno - 1
            more = (node.end_lineno or node.lineno) - node.lineno  # lines of the import
            if cell.title not in SECTIONS:
                raise UsageError(
                    f"{source.path}:{first}: the section {cell.title!r} imports from {MODULE}.",
                    f"Import it in a section {' or '.join(SECTIONS)}.",
                )
            for alias in node.names:
                imported.setdefault(cell.title, {})[alias.name] = first
            lines[first - 1 : first + more] = [COMMENT, *[""] * more]
    text = "\n".join(lines).rstrip("\n")
    for title, names in imported.items():
        excerpt = _excerpt(source.path, shared, shared_text, names)
        text += f"\n\n\n# %% {title}\n# From {FILE}:\n{excerpt}"
    return cells.parse(source.path, text + "\n")


def _excerpt(path: Path, shared: Path, text: str, names: dict[str, int]) -> str:
    """The part of the shared module's text that defines `names` ({name: line of its import}), and
    what those definitions use.
    """
    lines = text.split("\n")
    definitions: dict[str, ast.stmt] = {}
    for node in cells.tree_of(text).body:
        definitions |= dict.fromkeys(_bound(node), node)
    if missing := names.keys() - definitions.keys():
        name = min(missing)
        raise UsageError(
            f"{path}:{names[name]}: {shared} does not define {name}.",
            f"It defines {', '.join(sorted(definitions))}.",
        )
    needed: set[ast.stmt] = set()
    open_names = [*names]
    while open_names:
        definition = definitions.get(open_names.pop())
        if definition and definition not in needed:
            needed.add(definition)
            open_names += [leaf.id for leaf in ast.walk(definition) if isinstance(leaf, ast.Name)]
    imports: list[str] = []
    others: list[str] = []
    for definition in sorted(needed, key=lambda node: node.lineno):
        part = "\n".join(lines[definition.lineno - 1 : definition.end_lineno])
        (imports if isinstance(definition, IMPORTS) else others).append(part)
    return "\n\n\n".join(["\n".join(imports), *others]).lstrip("\n")


def _bound(node: ast.stmt) -> list[str]:
    """The names that a top-level statement binds."""
    if isinstance(node, IMPORTS):
        return [(alias.asname or alias.name).split(".")[0] for alias in node.names]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [node.name] if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else []
