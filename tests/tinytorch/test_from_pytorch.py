"""A page of PyTorch runs here after the changes that the book's page "From PyTorch" lists."""

import re
import types
from pathlib import Path

import numpy as np
import pytest

import tinytorch
from tinytorch import Variable, nn

HERE = Path(__file__).parent
SCRIPT = (HERE / "page_of_pytorch.py").read_text(encoding="utf-8")
PAGE = (HERE.parents[1] / "book" / "from_pytorch.md").read_text(encoding="utf-8")
SECTION = PAGE.split("## What to change in a script")[1].split("\n## ")[0]
_, TABLE, MORE = SECTION.split("| in PyTorch | here |")
CHANGES = re.findall(r"^\| `(.+?)` \| `(.+?)` \|", TABLE, re.MULTILINE)
PROGRAMS = (HERE / "pytorch_programs.txt").read_text(encoding="utf-8").split("\n=== ")[1:]
FORMS = re.findall(r"`(.+?)`", "".join(re.findall(r"^\| `.+\| (`.+) \|", MORE, re.MULTILINE)))


def as_module(source):
    module = types.ModuleType("page_of_pytorch")
    exec(compile(source, "page_of_pytorch.py", "exec"), vars(module))
    return module


def pattern(theirs):
    return (r"\b" if theirs[0].isalpha() else "") + re.escape(theirs)


def here():
    """The script after all changes of the table, in its order."""
    script = SCRIPT
    for theirs, ours in CHANGES:
        script = re.sub(pattern(theirs), lambda found: ours, script)
    return as_module(script)


def test_a_page_of_pytorch_learns_saves_and_loads(tmp_path):
    losses, before, after = here().main(tmp_path)
    assert losses[-1] < 0.3 * losses[0] and before[0] > 0.9
    assert after == before


@pytest.mark.parametrize("theirs", [theirs for theirs, _ in CHANGES])
def test_every_change_of_the_table_is_needed(theirs):
    assert re.search(pattern(theirs), SCRIPT)


@pytest.mark.slow
def test_from_the_same_weights_it_learns_what_it_learns_with_pytorch(torch):
    ours, theirs = here(), as_module(SCRIPT)
    model, twin = ours.Network([4, 32, 16], 4), theirs.Network([4, 32, 16], 4)
    state = {
        name.replace("weights", "weight"): torch.tensor(array.T if "weights" in name else array)
        for name, array in model.state_dict().items()
    }
    twin.load_state_dict(state)
    wanted = theirs.train(twin, *theirs.make_data())
    np.testing.assert_allclose(ours.train(model, *ours.make_data()), wanted, rtol=2e-3)
    assert ours.evaluate(model, *ours.make_data()) == pytest.approx(
        theirs.evaluate(twin, *theirs.make_data()), abs=2e-3
    )


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_second_table_runs(form):
    x, w = Variable([[1.0, 2.0], [3.0, 5.0]]), Variable([1.0])
    names = {
        "np": np,
        "nn": nn,
        "model": nn.Linear(2, 1),
        "x": x,
        "w": w,
        "y": x,
        "labels": [1, 0],
        "mask": x.data > 1,
    }
    names |= {name: getattr(tinytorch, name) for name in ("where", "zeros", "compile")}
    exec(form, names | {"loss_fn": nn.MSELoss()})


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.split("\n")[0])
def test_a_program_runs_after_the_edits_that_its_errors_name(program):
    title, rest = program.split("\n", 1)
    source, *stops = rest.split("\n! ")
    source = re.sub(r"^(import|from) torch", r"\1 tinytorch", source, flags=re.M)
    source = re.sub(r"^import tinytorch$", "import tinytorch as torch", source, flags=re.M)
    for stop in stops:
        message, *edits = stop.strip().split("\n")
        with pytest.raises((AttributeError, ImportError, TypeError, ValueError)) as caught:
            exec(compile(source, title, "exec"), {})
        assert message in f"{caught.type.__name__}: {caught.value}"
        for edit in edits:
            theirs, ours = (part.strip().replace("\\n", "\n") for part in edit.split("=>"))
            assert theirs in source
            source = source.replace(theirs, ours)
    exec(compile(source, title, "exec"), {})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.split("\n")[0])
def test_the_program_is_one_of_pytorch(torch, program):
    exec(program.split("\n", 1)[1].split("\n! ")[0], {})
