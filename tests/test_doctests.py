"""Every example in a docstring of the package and of tito is true."""

import doctest
import importlib
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
