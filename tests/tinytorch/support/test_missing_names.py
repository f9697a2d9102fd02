"""An argument under PyTorch's name says what it is called here."""

import pytest

import tinytorch
from tinytorch import Tensor, nn
from tinytorch.nn import functional as F

X = Tensor([[1.0, 2.0], [3.0, 5.0]])


@pytest.mark.parametrize(
    "name", ["sum", "mean", "max", "min", "var", "std", "prod", "argmax", "argmin"]
)
def test_dim_of_a_reduction_is_told_as_axis(name):
    with pytest.raises(TypeError) as told:
        getattr(X, name)(dim=1, keepdim=True)
    assert str(told.value) == (
        f"{name} has no dim= and keepdim=: the name here is axis= and keepdims=. "
        f"Write x.{name}(axis=1, keepdims=True)"
    )


@pytest.mark.parametrize(
    "call, wanted",
    [
        (lambda: X.squeeze(dim=0), "squeeze has no dim=: the name here is axis=. Write x.squeeze("),
        (lambda: X.unsqueeze(dim=-1), "Write x.unsqueeze(axis=-1)"),
        (lambda: X.cumsum(dim=0), "Write x.cumsum(axis=0)"),
        (lambda: X.argsort(dim=0, descending=True), "Write x.argsort(axis=0, descending=True)"),
        (lambda: X.flatten(start_dim=1), "Write x.flatten(start_axis=1)"),
        (lambda: X.swapaxes(dim0=0, dim1=1), "Write x.swapaxes(axis1=0, axis2=1)"),
        (lambda: X.var(dim=0, unbiased=True), "Write x.var(axis=0, correction=1)"),
        (lambda: tinytorch.stack([X, X], dim=1), "Write stack(tensors, axis=1)"),
        (lambda: tinytorch.cat([X, X], dim=1), "Write cat(tensors, axis=1)"),
        (lambda: F.softmax(X, dim=1), "Write softmax(x, axis=1)"),
        (lambda: F.log_softmax(X, dim=1), "Write log_softmax(x, axis=1)"),
        (lambda: nn.Softmax(dim=1), "Write Softmax(axis=1)"),
        (lambda: nn.LogSoftmax(dim=1), "Write LogSoftmax(axis=1)"),
        (lambda: nn.Flatten(start_dim=1), "Write Flatten(start_axis=1)"),
    ],
)
def test_dim_is_told_as_axis_wherever_there_is_one(call, wanted):
    with pytest.raises(TypeError) as told:
        call()
    assert wanted in str(told.value)


def test_other_errors_stay_as_they_are():
    with pytest.raises(TypeError, match="unexpected keyword argument 'axes'"):
        X.sum(axes=1)
    with pytest.raises(IndexError, match="there is no axis 5 in shape"):
        X.sum(axis=5)
    with pytest.raises(TypeError, match="unexpected keyword argument 'dim'"):
        X.exp(dim=1)


def test_a_subclass_of_a_tensor_has_the_names_once():
    class Mine(Tensor):
        def norm(self, axis): ...

    assert not hasattr(Mine.sum.__wrapped__, "__wrapped__")
    with pytest.raises(TypeError, match="norm has no dim="):
        Mine([1.0]).norm(dim=0)
