"""The packages of grading begin with a map of their files: no file is missing, none is gone. The
README follows a submission through them: each function that it names exists.
"""

import ast
import re
from pathlib import Path

import pytest

import tito.cli.instructor
import tito.grading.gradebook
import tito.grading.intake
import tito.grading.jail
import tito.grading.page


@pytest.mark.parametrize(
    "package",
    [
        tito.grading,
        tito.grading.gradebook,
        tito.grading.intake,
        tito.grading.jail,
        tito.grading.page,
        tito.cli.instructor,
    ],
)
def test_the_map_of_a_package_names_each_of_its_modules_once(package):
    (folder,) = package.__path__
    named = re.findall(r"(?m)^(\w+\.py)\b", package.__doc__)
    files = {path.name for path in Path(folder).glob("*.py")} - {"__init__.py"}
    assert sorted(named) == sorted(files)


def test_the_readme_names_files_and_functions_that_exist():
    (folder,) = map(Path, tito.grading.__path__)
    text = (folder / "README.md").read_text(encoding="utf-8")
    steps = re.findall(r"\| `([\w./]+\.py)` \| `([\w.]+)` \|$", text, re.M)
    assert len(steps) == text.count(".py` |") > 20
    for file, name in steps:
        body = ast.parse((folder / file).read_text(encoding="utf-8")).body
        for part in name.split("."):
            named = {node.name: node for node in body if hasattr(node, "name")}
            assert part in named, f"{file} has no {name}"
            body = named[part].body
    assert all((folder / room).is_dir() for room in re.findall(r"^\| `(\w+/)` \|", text, re.M))
