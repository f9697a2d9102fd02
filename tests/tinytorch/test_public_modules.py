"""The public modules work at every stage of the course."""

import ast
import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tinytorch.support.missing_names import TENSOR, texts_by_name
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


@pytest.mark.slow
def test_they_can_be_imported_before_anything_is_built(empty):
    assert python(
        empty,
        "import tinytorch, tinytorch.nn; print('Tensor' in dir(tinytorch), 'Dense' in "
        "dir(tinytorch.nn))",
    ) == ("True True", "")


@pytest.mark.slow
@pytest.mark.parametrize("before, after", [(700, 50_000), (100_000, 100_000)])
def test_the_garbage_collector_waits_longer_and_never_less_than_before(empty, before, after):
    code = f"import gc; gc.set_threshold({before}); import tinytorch; print(gc.get_threshold()[0])"
    assert python(empty, code)[0] == str(after)


def test_a_missing_name_says_which_lesson_builds_it(empty):
    assert (
        python(empty, "from tinytorch import Tensor")[1]
        == "ImportError: Tensor is what the lesson tensor builds: `tito start tensor`, then "
        "`tito export tensor`"
    )
    assert (
        "Dense is what the lesson layers builds"
        in python(empty, "import tinytorch.nn as nn; nn.Dense")[1]
    )


def test_a_lesson_without_the_name_is_reported(empty):
    (empty / "tinytorch" / "core" / "layers.py").write_text("Module = 1\n", encoding="utf-8")
    assert "is there, without it" in python(empty, "from tinytorch.nn import Dense")[1]
    assert python(empty, "from tinytorch.nn import Module; print(Module)")[0] == "1"


def test_a_missing_module_of_a_lesson_keeps_its_own_error(empty):
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


def test_they_load_nothing_by_themselves(empty):
    assert (
        python(empty, "import sys, tinytorch, tinytorch.nn; print('numpy' in sys.modules)")[0]
        == "False"
    )


@pytest.mark.parametrize(
    "module",
    [
        "tinytorch",
        "tinytorch.compress",
        "tinytorch.func",
        "tinytorch.nn",
        "tinytorch.optim",
        "tinytorch.profile",
        "tinytorch.text",
        "tinytorch.training",
        "tinytorch.generate",
        "tinytorch.interpret",
    ],
)
def test_every_name_of_a_public_module_is_there_in_the_finished_course(module):
    code = (
        f"import {module} as d; print([n for n in dir(d) if getattr(d, n) is None and not "
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


def test_functional_and_init_are_public_modules_too():
    code = "import tinytorch.nn.functional as F, tinytorch.nn as nn; print(F.relu is nn.relu)"
    assert python(COURSE.path, code) == ("True", "")
    code = "from tinytorch import nn; print(nn.functional.relu is nn.relu, nn.init.he_normal)"
    assert python(COURSE.path, code)[0].startswith("True <function he_normal")


def test_one_import_gives_every_public_module():
    code = "import tinytorch as torch; print(torch.nn.ReLU(), torch.optim.SGD, torch.zeros(1))"
    assert python(COURSE.path, code)[0].startswith("ReLU() <class")


MODULES = """tinytorch tinytorch.nn tinytorch.nn.functional tinytorch.nn.init tinytorch.optim
tinytorch.data tinytorch.training""".split()


@pytest.mark.parametrize("module", MODULES)
def test_import_star_gives_all_of_a_finished_public_module(module):
    code = (
        f"from {module} import *; import {module} as d; "
        "print(len(d.__all__) > 1, set(d.__all__) - set(dir()), set(d.__all__) - set(dir(d)))"
    )
    assert python(COURSE.path, code) == ("True set() set()", "")


@pytest.mark.parametrize("module", MODULES)
def test_no_public_name_is_explained_as_missing(module):
    tree = ast.parse(Path(importlib.util.find_spec(module).origin).read_text(encoding="utf-8"))
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    call = next(node for node in calls if getattr(node.func, "id", "") == "public_module")
    there = " ".join(ast.literal_eval(call.args[1]).values()).split()
    explained = []
    for table in ast.walk(call.args[2]) if call.args[2:] else []:
        if isinstance(table, ast.Dict):
            explained += " ".join(ast.literal_eval(table).values()).split()
    assert len({*there, *explained}) == len(there) + len(explained)
    assert module != "tinytorch" or not {*there} & texts_by_name(TENSOR).keys()


@pytest.mark.parametrize(
    "line, wanted",
    [
        (
            "import tinytorch.utils.data",
            "tinytorch has no 'utils': data loaders are in tinytorch.d",
        ),
        ("from tinytorch.utils.data import DataLoader", "data loaders are in tinytorch.data"),
        ("from tinytorch.optim.lr_scheduler import StepLR", "schedules are in tinytorch.optim"),
        ("from tinytorch.optim import lr_scheduler", "schedules are in tinytorch.optim itself"),
        ("from tinytorch.nn.utils import clip_grad_norm_", "clip_grad_norm_ is in tinytorch.optim"),
        ("from tinytorch.autograd import Variable", "Function and no_grad are in tinytorch itself"),
        ("from tinytorch.nn import LSTM", "tinytorch.nn has no 'LSTM': this library has no such"),
        ("from tinytorch.nn.functional import nll_loss", "write cross_entropy, on logits"),
        ("from tinytorch.data import Dataloader", "did you mean DataLoader"),
    ],
)
def test_an_import_of_pytorch_says_what_to_write(line, wanted):
    with pytest.raises(ImportError) as told:
        exec(line, {})
    assert wanted in str(told.value)


@pytest.mark.parametrize("module", MODULES)
def test_dir_lists_what_a_user_calls(module):
    modules = "compress data func generate gpu interpret nn optim profile text training".split()
    wanted = {"tinytorch": modules, "tinytorch.nn": ["functional", "init"]}
    public = importlib.import_module(module)
    listed = {name for name in dir(public) if name[0] != "_"} - {*public.__all__}
    assert sorted(listed) == wanted.get(module, [])


def test_names_of_pytorch_are_explained_before_anything_is_built(empty):
    error = python(empty, "import tinytorch as torch; torch.nn.NLLLoss")[1]
    assert error == (
        "AttributeError: module 'tinytorch.nn' has no attribute 'NLLLoss': "
        "write CrossEntropyLoss, on logits instead of log-probabilities"
    )
    error = python(empty, "import tinytorch as torch; torch.Tensr")[1]
    assert error.count("id you mean") == 1  # Python adds no second guess
