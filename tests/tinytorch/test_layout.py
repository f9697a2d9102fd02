"""How the modules of the package may depend on each other."""

import ast
import graphlib
import importlib
import re
from pathlib import Path

from tito.lesson import course

PACKAGE = Path(__file__).resolve().parents[2] / "tinytorch"
COURSE = course.open_root(PACKAGE.parent)


def name_of(path):
    """The name of a module of the package, such as "tinytorch.nn" for nn/__init__.py."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path, modules):
    """The modules among `modules` that the module in a file imports, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            full = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= (full & modules) or {node.module}
    return names & modules


def imports():
    """{module: the modules of the package that it imports}."""
    paths = {name_of(path): path for path in PACKAGE.rglob("*.py")}
    return {name: imported(path, paths.keys()) for name, path in paths.items()}


def test_the_library_never_imports_pictures():
    graph = imports()
    assert "tinytorch.core.tensor" in graph["tinytorch.core.autograd"]
    library = [name for name in graph if not name.startswith("tinytorch.pictures")]
    assert [
        (name, other)
        for name in library
        for other in graph[name]
        if other.startswith("tinytorch.pictures")
    ] == []


def test_no_modules_import_each_other_in_a_circle():
    order = graphlib.TopologicalSorter(imports())
    order.prepare()  # raises CycleError, with the circle


def test_support_stays_small_enough_to_know():
    modules = [path for path in (PACKAGE / "support").glob("*.py") if path.stem != "__init__"]
    assert len(modules) <= 20
    for path in PACKAGE.rglob("*.py"):
        assert path.read_text(encoding="utf-8").count("\n") <= 600, path.name


def test_the_finished_library_is_more_code_than_documentation():
    lines = docstrings = 0
    for path in (PACKAGE / "core").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        lines += text.count("\n")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                if ast.get_docstring(node) is not None:
                    docstrings += node.body[0].end_lineno - node.body[0].lineno + 1
    assert 0.2 < docstrings / lines < 0.32


def test_a_lesson_imports_the_tensor_that_its_docstrings_name():
    for entry in COURSE.lessons:
        docstrings = [
            ast.get_docstring(node) or ""
            for exercise in entry.declared.exercises
            for node in ast.walk(ast.parse(exercise.cell.source))
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
        ]
        if re.search(r"\bTensor\b", "\n".join(docstrings)):
            module = importlib.import_module(f"tinytorch.core.{entry.name}")
            assert hasattr(module, "Tensor"), entry.name
