"""Every example in a docstring of the package, of tito and of what checks share is true."""

import doctest
import importlib
import importlib.util
from pathlib import Path

import pytest

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


def test_the_examples_of_what_checks_share_are_true():
    path = REPOSITORY / "modules" / "source" / "checking.py"
    spec = importlib.util.spec_from_file_location("checking", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    result = doctest.testmod(module)
    assert (result.failed, result.attempted > 10) == (0, True), "see the captured output"
