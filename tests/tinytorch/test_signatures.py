"""An argument by position means what it means in PyTorch, or it has to be named. Whatever else
PyTorch has at a position is refused, with both meanings.
"""

import inspect
import re

import numpy as np
import pytest

import tinytorch
from tinytorch import Tensor, Variable, data, nn, optim
from tinytorch.nn import functional as F
from tinytorch.support.missing_names import POSITIONS, RENAMED

X = Tensor([[1.0, 2.0], [3.0, 4.0]])

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


REFUSED = {
    lambda: nn.Conv2d(1, 8, 3, 1, 1, 2): "argument 6 of PyTorch is dilation: this library has none"
    "\nhere the next ones are given by name: bias=, init=, rng=",
    lambda: nn.Embedding(5, 3, 0): "argument 3 of PyTorch is padding_idx: this library has none",
    lambda: nn.Dropout(0.1, True): "argument 2 of PyTorch is inplace: nothing is computed in place",
    lambda: F.dropout(X, 0.1, True, True): "argument 4 of PyTorch is inplace: nothing is computed",
    lambda: nn.Linear(2, 3, True, "cpu"): "argument 4 of PyTorch is device: there is one device",
    lambda: nn.MultiHeadAttention(4, 2, 0.0, True, True): "argument 5 of PyTorch is add_bias_kv",
    lambda: nn.ReLU(True): "ReLU takes nothing by position; argument 1 of PyTorch is inplace",
    lambda: nn.MSELoss(False): "argument 1 of PyTorch is size_average: write reduction='mean'",
    lambda: nn.CrossEntropyLoss(Tensor([1.0, 2.0])): "argument 1 of PyTorch is weight: weight the",
    lambda: F.cross_entropy(X, [0, 1], Tensor([1.0, 2.0])): "argument 3 of PyTorch is weight: ",
    lambda: F.mse_loss(X, X, "sum"): "argument 3 of PyTorch is size_average",
    lambda: F.conv2d(X, X, None, 1, 0, 1, 2): "argument 6 of PyTorch is dilation",
    lambda: nn.AvgPool2d(2, 2, 0, True): "argument 4 of PyTorch is ceil_mode",
    lambda: nn.BatchNorm1d(3, 1e-5, 0.1, True, True, "cpu"): "argument 6 of PyTorch is device",
    lambda: optim.SGD([Variable([1.0])], 0.1, 0.9, 0, 1e-4): "argument 4 of PyTorch is dampening: "
    "this library has none\nhere the next ones are given by name: weight_decay=, nesterov=",
    lambda: optim.SGD([Variable([1.0])], 0.1).step(lambda: 1): "argument 1 of PyTorch is closure",
    lambda: optim.Adam([Variable([1.0])], 0.1).step(lambda: 1): "argument 1 of PyTorch is closure",
    lambda: data.DataLoader([1], 2, False, None, None): "argument 5 of PyTorch is batch_sampler",
    lambda: nn.Linear(2, 3).load_state_dict({}, False): "argument 2 of PyTorch is strict",
    lambda: X.std(1, True): "argument 2 of PyTorch is unbiased: write correction=...",
    lambda: tinytorch.tensor([1], np.float32): "here the next ones are given by name: dtype=",
    lambda: nn.ReLU(inplace=True): "ReLU has no inplace=: nothing is computed in place: leave it",
    lambda: nn.GELU(approximate="tanh"): "gelu is PyTorch's approximate='tanh': leave it out",
    lambda: nn.Conv2d(1, 8, 3, groups=2): "Conv2d has no groups=: this library has none",
    lambda: nn.AvgPool2d(2, ceil_mode=True): "AvgPool2d has no ceil_mode=: this library has none",
    lambda: nn.BatchNorm2d(3, device="cpu"): "BatchNorm2d has no device=: there is one device",
    lambda: nn.BCEWithLogitsLoss(pos_weight=2): "has no pos_weight=: weight the losses: loss = bin",
    lambda: F.cross_entropy(X, [0, 1], ignore_index=-1): "has no ignore_index=: select the rows",
    lambda: data.DataLoader([1], num_workers=2): "has no num_workers=: write prefetch=2",
    lambda: data.DataLoader([1], pin_memory=True): "has no pin_memory=: there is one device",
    lambda: optim.Adam([Variable([1.0])], amsgrad=True): "Adam has no amsgrad=: this library has n",
    lambda: optim.SGD([Variable([1.0])], maximize=True): "SGD has no maximize=: minimize -loss",
    lambda: nn.Linear(2, 3).load_state_dict({}, strict=False): "has no strict=: all keys must fit",
    lambda: tinytorch.load("w.pt", map_location="cpu"): "load has no map_location=: there is one",
    lambda: tinytorch.randn(size=(2, 3)): "randn has no size=: write the lengths without a name",
    lambda: tinytorch.rand(2, generator=1): "rand has no generator=: write rng=",
}


@pytest.mark.parametrize("call", REFUSED, ids=lambda call: REFUSED[call][:40])
def test_what_only_pytorch_has_is_refused_with_both_meanings(call):
    with pytest.raises(TypeError) as caught:
        call()
    assert REFUSED[call] in str(caught.value)


def test_a_misspelled_argument_keeps_pythons_error():
    for call in (lambda: nn.Linear(2, 3, baias=True), lambda: F.relu(X, outplace=True)):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            call()


def test_a_class_of_the_user_has_no_advice():
    class Linear(nn.Module):
        def __init__(self, width): ...

    with pytest.raises(TypeError, match="unexpected keyword argument 'device'"):
        Linear(3, device="cpu")
