"""Every example in a docstring of the package, of the chapters, of tito, of milestones and of what
checks share is true.
"""

import doctest
import importlib
import importlib.util
from pathlib import Path

import pytest

from tito.author.examples import run_examples
from tito.lesson import course

REPOSITORY = Path(__file__).resolve().parents[1]
MODULES = [
    ".".join(path.relative_to(REPOSITORY).with_suffix("").parts)
    for package in ("tinytorch", "tito")
    for path in sorted((REPOSITORY / package).rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_a_module_are_true(module):
    module = importlib.import_module(module)
    assert doctest.testmod(module).failed == 0, "see the captured output"


@pytest.mark.parametrize(
    "entry", course.find_root(REPOSITORY).lessons, ids=lambda entry: entry.name
)
def test_the_examples_of_a_chapter_are_true(entry):
    if any(">>> " in cell.source for cell in entry.declared.source.exported):
        module = importlib.import_module(f"tinytorch.{entry.declared.module}")
        done = run_examples(entry.script, module)
        assert done.attempted and not done.failed, "see the captured output"


SOURCE = REPOSITORY / "modules"
PROGRAMS = [SOURCE / "source" / "checking.py", *sorted((SOURCE / "milestones").glob("*.py"))]


@pytest.mark.parametrize(
    "path",
    [path for path in PROGRAMS if ">>> " in path.read_text(encoding="utf-8")],
    ids=lambda path: path.name,
)
def test_the_examples_of_a_program_are_true(path, monkeypatch):
    monkeypatch.syspath_prepend(path.parent)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert doctest.testmod(module).failed == 0, "see the captured output"
