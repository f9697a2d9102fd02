"""The drawing of who imports whom in `tito/`, printed: python book/imports.py.
Read from the code itself; a circle is an error.

A room is a folder of `tito/`, or a module that stands beside the folders. Rooms stand so that each
imports only what is below it; an arc to the right is as thick as it has imports.
"""

import ast
import html
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from importlib.util import find_spec
from pathlib import Path

TITO = Path(find_spec("tito").origin).parent
LEFT, WIDE, HIGH, STEP = (
    2,
    96,
    34,
    52,
)  # of a room: where it begins, its size, and from one to the next


def imports(folder: Path = TITO) -> dict[str, set[str]]:
    """{module: the modules of tito that it imports, anywhere in it}, named as in `lesson.cells`."""
    modules = {name_of(path, folder): path for path in sorted(folder.rglob("*.py"))}
    edges = {name: set() for name in modules}
    for name, path in modules.items():
        for node in run_nodes(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                named = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                named = [f"{node.module}.{alias.name}" for alias in node.names]
                named = [
                    full if full.removeprefix("tito.") in modules else node.module for full in named
                ]
            else:
                continue
            own = {full.removeprefix("tito.") for full in named if full.startswith("tito.")}
            edges[name] |= own & modules.keys()
    return edges


def run_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes below one, without what is for type checkers only: it is not imported."""
    if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
        yield node
        for child in ast.iter_child_nodes(node):
            yield from run_nodes(child)


def name_of(path: Path, folder: Path) -> str:
    parts = path.relative_to(folder).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "tito"


def rooms(edges: dict[str, set[str]]) -> dict[str, dict[str, int]]:
    """{room: {room: how many imports lead there}}, without what stays inside a room."""
    out = {}
    for name, targets in edges.items():
        room = name.split(".")[0]
        if room in ("tito", "__main__"):
            continue
        row = out.setdefault(room, {})
        for target in targets - {"tito"}:
            other = target.split(".")[0]
            if other != room:
                row[other] = row.get(other, 0) + 1
    return out


def order(edges: dict[str, set[str]]) -> list[str]:
    """The rooms from the top down: each before all that it imports.
    Raises CycleError when that is impossible.
    """
    graph = {room: sorted(row) for room, row in sorted(rooms(edges).items())}
    TopologicalSorter({name: sorted(targets) for name, targets in edges.items()}).prepare()
    return list(TopologicalSorter(graph).static_order())[::-1]


def drawn(edges: dict[str, set[str]]) -> str:
    """The figure, and the same in words."""
    names, graph = order(edges), rooms(edges)
    middle = {name: 20 + STEP * number for number, name in enumerate(names)}
    arcs = []
    for name in names:
        for other, number in sorted(graph[name].items(), key=lambda row: middle[row[0]]):
            y1, y2 = middle[name] + 5, middle[other] - 5
            reach = LEFT + WIDE + 24 + (y2 - y1) * 0.5
            path = f"M{LEFT + WIDE} {y1} C{reach:g} {y1} {reach:g} {y2} {LEFT + WIDE + 7} {y2}"
            arcs.append(
                f'<path d="{path}" stroke-width="{1 + number**0.5 / 2:.1f}" marker-end="url(#to)">'
                f"<title>{name} imports {other}: {number}</title></path>"
            )
    boxes = [
        f'<g><rect x="{LEFT}" y="{y - HIGH / 2:g}" width="{WIDE}" height="{HIGH}" rx="5"/>'
        f'<text x="{LEFT + WIDE / 2:g}" y="{y + 5}">{name}</text></g>'
        for name, y in middle.items()
    ]
    total = sum(sum(row.values()) for row in graph.values())
    words = f"{len(names)} rooms, {total} imports between them, each pointing down."
    high = middle[names[-1]] + 24
    lines = [
        f"| `{name}{'/' if (TITO / name).is_dir() else '.py'}` | {about(name)} |"
        f" {', '.join(sorted(graph[name], key=names.index)) or 'nothing of tito'} |"
        for name in names
    ]
    return "\n".join(
        [
            f'<figure class="rooms"><svg viewBox="0 0 358 {high}" width="358" height="{high}"'
            f' role="img" aria-label="{html.escape(words)}">'
            '<defs><marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7"'
            ' markerHeight="7" markerUnits="userSpaceOnUse" orient="auto">'
            '<path d="M0 0 L8 4 L0 8 z"/></marker></defs>'
            + "".join(arcs + boxes)
            + f"</svg><figcaption>{words}</figcaption></figure>",
            "",
            "| room | what it holds | imports |",
            "| --- | --- | --- |",
            *lines,
        ]
    )


def about(name: str) -> str:
    """The first sentence of what a room says about itself."""
    path = TITO / name / "__init__.py" if (TITO / name).is_dir() else TITO / f"{name}.py"
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).split(": `")[0].rstrip(".").replace("|", "\\|")


if __name__ == "__main__":
    try:
        print(drawn(imports()))
    except CycleError as error:
        sys.exit(f"imports in a circle: {' -> '.join(error.args[1])}")
