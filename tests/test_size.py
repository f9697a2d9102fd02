"""Size is a feature: no size of tito is above its limit.

`python tests/test_size.py` prints the sizes, `python tests/test_size.py untyped functions` lists
what was counted. A change that goes over a limit says in its commit why, and what could go
instead. A change that takes away lowers the limit. Limits of lines are whole hundreds, so that two
changes at a time seldom meet here.

How it counts:

- Lines: all lines of Python files, with blank lines, comments and docstrings.
- Lines of a function: from `def` to its last line, with its docstring and without its decorators.
  Methods and nested functions count too, each by itself.
- Parameters: all but `self`, `cls`, `*args` and `**kwargs`. In `tito/cli` a parameter is an option
  of a command: those are counted as parameters of commands.
- Untyped functions: those without a return hint, or with a parameter without a hint.
- Commands: those that do something. A group such as `gradebook` does not count.
- Attributes of Tensor: the public names in `dir(Tensor)`.
"""

import ast
import sys
from pathlib import Path

from typer.main import get_command

from tinytorch import Tensor
from tito.cli import run as cli

REPOSITORY = Path(__file__).resolve().parents[1]

# {what is counted: (limit, goal)}
LIMITS = {
    "lines of tito": (42400, 28000),
    "lines of tito/grading": (17300, 12000),
    "lines of tito/learn": (7800, 5000),
    "lines of tito/book": (2300, 2600),
    "lines of tito/page": (1000, 1000),
    "lines of tests": (61800, 46000),
    "lines of checks": (32000, 22000),
    "functions over 40 lines": (6, 30),
    "functions over 6 parameters": (1, 15),
    "untyped functions": (0, 0),
    "modules over 600 lines": (0, 3),
    "commands": (33, 33),
    "parameters of commands": (110, 110),
    "attributes of Tensor": (61, 90),
}


def test_no_size_is_above_its_limit():
    sizes = {name: size(counted) for name, counted in count().items()}
    assert sizes.keys() == LIMITS.keys()
    over = [
        f"{name}: {sizes[name]}, limit {limit}; python tests/test_size.py {name}"
        for name, (limit, _) in LIMITS.items()
        if sizes[name] > limit
    ]
    assert not over, "\n".join(over)


def count():
    """{what is counted: a list of all, or {path: lines}}"""
    tito = count_lines("tito")
    functions = [(path, node) for path in tito for node in find_functions(path)]
    commands = find_commands(get_command(cli.app))
    return {
        "lines of tito": tito,
        "lines of tito/grading": count_lines("tito/grading"),
        "lines of tito/learn": count_lines("tito/learn"),
        "lines of tito/book": count_lines("tito/book"),
        "lines of tito/page": count_lines("tito/page"),
        "lines of tests": count_lines("tests"),
        "lines of checks": count_lines("modules/source", "checks.py"),
        "functions over 40 lines": [
            f"{path}:{node.lineno} {node.name}, {function_lines(node)} lines"
            for path, node in functions
            if function_lines(node) > 40
        ],
        "functions over 6 parameters": [
            f"{path}:{node.lineno} {node.name}, {len(parameters(node))} parameters"
            for path, node in functions
            if len(parameters(node)) > 6 and not path.startswith("tito/cli/")
        ],
        "untyped functions": [
            f"{path}:{node.lineno} {node.name}" for path, node in functions if not is_typed(node)
        ],
        "modules over 600 lines": [
            f"{path}, {lines}" for path, lines in tito.items() if lines > 600
        ],
        "commands": [name for name, _ in commands],
        "parameters of commands": [
            f"{name} {parameter.name}" for name, command in commands for parameter in command.params
        ],
        "attributes of Tensor": [name for name in dir(Tensor) if not name.startswith("_")],
    }


def size(counted):
    return sum(counted.values()) if isinstance(counted, dict) else len(counted)


def count_lines(folder, name="*.py"):
    paths = sorted((REPOSITORY / folder).rglob(name))
    return {
        path.relative_to(REPOSITORY).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in paths
    }


def find_functions(path):
    for node in ast.walk(ast.parse((REPOSITORY / path).read_bytes())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def function_lines(node):
    return node.end_lineno - node.lineno + 1


def parameters(node):
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return [argument for argument in arguments if argument.arg not in ("self", "cls")]


def is_typed(node):
    starred = [argument for argument in (node.args.vararg, node.args.kwarg) if argument]
    hints = [argument.annotation for argument in [*parameters(node), *starred]]
    return node.returns is not None and None not in hints


def find_commands(command, name="tito"):
    """(name, command) of every command that is not a group."""
    if not hasattr(command, "commands"):
        return [(name, command)]
    return [
        leaf
        for word, subcommand in command.commands.items()
        for leaf in find_commands(subcommand, f"{name} {word}")
    ]


def print_sizes():
    for name, counted in count().items():
        limit, goal = LIMITS[name]
        remark = f"over the limit by {size(counted) - limit}" if size(counted) > limit else ""
        print(f"{name:28}{size(counted):7,}   limit {limit:7,}   goal {goal:7,}   {remark}")
    print("\nlines and modules of each folder")
    lines = count_lines("tito")
    folders = [path.rpartition("/")[0] for path in lines]
    for folder in sorted(set(folders)):
        inside = [n for path, n in lines.items() if path.rpartition("/")[0] == folder]
        print(f"{folder:28}{sum(inside):7,}   {len(inside):4}")


def print_counted(counted):
    if isinstance(counted, dict):
        counted = [
            f"{lines:7,}  {path}" for path, lines in sorted(counted.items(), key=lambda x: -x[1])
        ]
    print(*counted, sep="\n")


if __name__ == "__main__":
    if name := " ".join(sys.argv[1:]):
        print_counted(count()[name])
    else:
        print_sizes()
