"""Run the examples in the docstrings of a chapter. Its module has only some of them."""

import ast
import doctest
from pathlib import Path
from types import ModuleType

from tito.lesson import cells

DOCUMENTED = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def run_examples(script: Path, module: ModuleType) -> doctest.TestResults:
    """(failed, attempted) of the examples in a chapter's exported cells, with the names of its
    module. What fails is printed.
    """
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)
    for cell in cells.read(script).exported:
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
                line = cell.line + node.body[0].lineno - 2
                names, name = dict(vars(module)), getattr(node, "name", module.__name__)
                runner.run(parser.get_doctest(text, names, name, str(script), line))
    return runner.summarize(verbose=False)
