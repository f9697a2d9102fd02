"""The front doors work at every stage of the course."""

import subprocess
import sys
from pathlib import Path

import pytest

from tito.learn import workspace
from tito.lesson import course

COURSE = course.open_root(Path(__file__).resolve().parents[2])


def python(root, code):
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    return done.stdout.strip(), done.stderr.strip().split("\n")[-1]


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """A workspace in which nothing is exported yet."""
    folder = tmp_path_factory.mktemp("stage") / "work"
    workspace.init(folder, COURSE)
    return folder


def test_the_doors_open_before_anything_is_built(empty):
    assert python(
        empty,
        "import tinytorch, tinytorch.nn; print('Tensor' in dir(tinytorch), 'Dense' in "
        "dir(tinytorch.nn))",
    ) == ("True True", "")


def test_what_is_not_built_says_which_lesson_builds_it(empty):
    assert (
        python(empty, "from tinytorch import Tensor")[1]
        == "ImportError: Tensor is what the lesson tensor builds: `tito start tensor`, then "
        "`tito export tensor`"
    )
    assert (
        "Dense is what the lesson layers builds"
        in python(empty, "import tinytorch.nn as nn; nn.Dense")[1]
    )


def test_a_lesson_that_lacks_the_name_is_told(empty):
    (empty / "tinytorch" / "core" / "layers.py").write_text("Module = 1\n", encoding="utf-8")
    assert "is there, without it" in python(empty, "from tinytorch.nn import Dense")[1]
    assert python(empty, "from tinytorch.nn import Module; print(Module)")[0] == "1"


def test_what_a_lesson_needs_and_lacks_keeps_its_own_error(empty):
    (empty / "tinytorch" / "core" / "losses.py").write_text(
        "import no_such_module\n", encoding="utf-8"
    )
    assert (
        "No module named 'no_such_module'" in python(empty, "from tinytorch.nn import mse_loss")[1]
    )


def test_an_unknown_name_is_an_attribute_error(empty):
    assert python(empty, "import tinytorch; tinytorch.Tensr")[1].startswith(
        "AttributeError: module 'tinytorch' has no attribute 'Tensr'"
    )


def test_the_doors_load_nothing_by_themselves(empty):
    assert (
        python(empty, "import sys, tinytorch, tinytorch.nn; print('numpy' in sys.modules)")[0]
        == "False"
    )


@pytest.mark.parametrize(
    "door", ["tinytorch", "tinytorch.nn", "tinytorch.optim", "tinytorch.text", "tinytorch.training"]
)
def test_every_name_of_a_door_is_there_in_the_finished_course(door):
    code = (
        f"import {door} as d; print([n for n in dir(d) if getattr(d, n) is None and not "
        f"n.startswith('_')])"
    )
    assert python(COURSE.path, code) == ("[]", "")


def test_import_star_gives_what_is_built(empty):
    (empty / "tinytorch" / "core" / "losses.py").write_text(
        "def mse_loss(): ...\n", encoding="utf-8"
    )
    code = "from tinytorch.nn import *; print(sorted(n for n in dir() if n[0] != '_'))"
    assert "mse_loss" in python(empty, code)[0] and "Dense" not in python(empty, code)[0]
    code = "from tinytorch.training import *; Trainer, accuracy; print('here')"
    assert python(COURSE.path, code) == ("here", "")


def test_a_support_name_whose_lesson_is_not_built_says_which_lesson(empty):
    assert (
        "zeros is what the lesson tensor builds" in python(empty, "from tinytorch import zeros")[1]
    )


def test_functional_and_init_are_doors_too():
    code = "import tinytorch.nn.functional as F, tinytorch.nn as nn; print(F.relu is nn.relu)"
    assert python(COURSE.path, code) == ("True", "")
    code = "from tinytorch import nn; print(nn.functional.relu is nn.relu, nn.init.he_normal)"
    assert python(COURSE.path, code)[0].startswith("True <function he_normal")


def test_one_import_opens_every_door():
    code = "import tinytorch as torch; print(torch.nn.ReLU(), torch.optim.SGD, torch.zeros(1))"
    assert python(COURSE.path, code)[0].startswith("ReLU() <class")
