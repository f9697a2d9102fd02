"""An argument by position means what it means in PyTorch, or it has to be named. Whatever else
PyTorch has at a position is refused, with both meanings: refused.txt.
"""

import inspect
import re

import pytest

import tinytorch
from tinytorch import Tensor, data, nn, optim
from tinytorch.nn import functional as F
from tinytorch.support.missing_names import POSITIONS, RENAMED

# Names that mean the same here and there. `weights` is the transpose of PyTorch's `weight`.
SAME = {
    "x": "input",
    "prediction": "input",
    "logits": "input",
    "ids": "input",
    "labels": "target",
    "a": "input",
    "b": "other",
    "weights": "weight",
    "shape": "size",
    "path": "f",
    "state": "state_dict",
    "low": "min",
    "high": "max",
    "f": "func",
} | {ours: theirs for theirs, ours in RENAMED.items() if theirs[-1] not in "01"}
# Other names for one thing, where SAME holds another one: PyTorch's tensor, generator, obj, ...
OTHERS = {
    "compile.f",
    "compile.model",
    "compile.backend",  # keyword-only there
    "one_hot.labels",
    "random_split.rng",
    "save.state",
    "Tensor.where.other",
    "Tensor.swapaxes.axis1",
    "Tensor.swapaxes.axis2",
}


def pairs(torch):
    """(name, ours, PyTorch's) of each callable with the same name in both libraries."""
    there = torch.optim.lr_scheduler, torch.nn.utils
    for label, ours, *theirs in [
        ("", tinytorch, torch),
        ("", nn, torch.nn),
        ("", F, torch.nn.functional),
        ("", optim, torch.optim, *there),
        ("", data, torch.utils.data),
        ("", tinytorch.func, torch.func),
        ("Tensor.", Tensor, torch.Tensor),
        ("Module.", nn.Module, torch.nn.Module),
        ("Optimizer.", optim.SGD, torch.optim.SGD),
        ("LRScheduler.", optim.StepLR, torch.optim.lr_scheduler.StepLR),
    ]:
        for name in (name for name in dir(ours) if name[0] != "_"):
            found = [getattr(module, name) for module in theirs if hasattr(module, name)]
            if found and callable(getattr(ours, name)) and name not in ("Tensor", "Module"):
                yield label + name, getattr(ours, name), found[0]
    yield "MultiHeadAttention", nn.MultiHeadAttention, torch.nn.MultiheadAttention
    yield "max_pool2d", F.max_pool2d, torch.nn.functional._max_pool2d


def positions(function):
    """The names of its arguments by position; None where there are any number or none is known."""
    kinds = inspect.Parameter
    try:
        parameters = list(inspect.signature(function).parameters.values())
        if any(p.kind == kinds.VAR_POSITIONAL for p in parameters):
            raise ValueError
        names = [p.name for p in parameters if p.kind == kinds.POSITIONAL_OR_KEYWORD]
    except ValueError:  # PyTorch's functions in C++ say it in their first line
        doc = inspect.getdoc(function) or ""
        line = re.search(rf"{getattr(function, '__name__', '')}\((.*?)\) ->", doc, re.DOTALL)
        if not line or "*" in line[1].split(",")[0]:
            return None
        first = re.sub(r"\(.*?\)|\[.*?\]", "", line[1]).split("*")[0].split(",")
        names = [part.split("=")[0].split(":")[0].strip() for part in first]
    return [name for name in names if name and name != "self"]


@pytest.mark.slow
def test_a_position_means_the_same_as_in_pytorch(torch):
    rest = {name: r.split() for names, r in POSITIONS.items() for name in names.split()}
    compared, others, wrong = set(), set(), []
    for name, ours, theirs in pairs(torch):
        here, there = positions(ours), positions(theirs)
        if here is None or there is None:
            continue
        compared.add(name)
        for n, own in enumerate(here):
            if n < len(there) and there[n] in (own, SAME.get(own)):
                continue
            others.add(f"{name}.{own}")
            wrong.append(f"{name}: argument {n + 1} is {own}, in PyTorch {there[n : n + 1]}")
        more = there[len(here) :]
        more = more[: [*[part[0] == "_" for part in more], True].index(True)]
        if name in rest and rest[name] != more:
            wrong.append(f"{name}: PyTorch has {more} next, POSITIONS {rest[name]}")
    assert others == OTHERS and len(wrong) == len(OTHERS), "\n".join(wrong)
    unknown = {"Optimizer.step", "FlatStep.step", "LRScheduler.step", "std", "var"}
    assert len(compared) > 100 and {key for key, r in rest.items() if r} - compared <= unknown


def test_a_misspelled_argument_keeps_pythons_error():
    for call in (lambda: nn.Linear(2, 3, baias=True), lambda: F.relu(Tensor([1.0]), outplace=True)):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            call()


def test_a_class_of_the_user_has_no_advice():
    class Linear(nn.Module):
        def __init__(self, width): ...

    with pytest.raises(TypeError, match="unexpected keyword argument 'device'"):
        Linear(3, device="cpu")
