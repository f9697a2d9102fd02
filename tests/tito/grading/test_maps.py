"""The packages of grading begin with a map of their files: no file is missing, none is gone."""

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
