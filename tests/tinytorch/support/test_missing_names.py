"""An argument under PyTorch's name says what it is called here."""

import pytest

import tinytorch
from tinytorch import Tensor, nn
from tinytorch.nn import functional as F

X = Tensor([[1.0, 2.0], [3.0, 5.0]])


@pytest.mark.parametrize(
    "name", ["sum", "mean", "max", "min", "var", "std", "prod", "argmax", "argmin"]
)
def test_dim_of_a_reduction_is_axis(name):
    with pytest.raises(TypeError) as caught:
        getattr(X, name)(dim=1, keepdim=True)
    assert str(caught.value) == f"{name} has no dim=, keepdim=: write axis=1, keepdims=True"


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: X.squeeze(dim=0), "squeeze has no dim=: write axis=0"),
        (lambda: X.unsqueeze(dim=-1), "unsqueeze has no dim=: write axis=-1"),
        (lambda: X.cumsum(dim=0), "cumsum has no dim=: write axis=0"),
        (lambda: X.argsort(dim=0, descending=True), "argsort has no dim=: write axis=0"),
        (lambda: X.flatten(start_dim=1), "flatten has no start_dim=: write start_axis=1"),
        (lambda: X.swapaxes(dim0=0, dim1=1), "has no dim0=, dim1=: write axis1=0, axis2=1"),
        (lambda: X.var(dim=0, unbiased=1), "has no dim=, unbiased=: write axis=0, correction=1"),
        (lambda: tinytorch.stack([X, X], dim=1), "stack has no dim=: write axis=1"),
        (lambda: tinytorch.cat([X, X], dim=1), "cat has no dim=: write axis=1"),
        (lambda: F.softmax(X, dim=1), "softmax has no dim=: write axis=1"),
        (lambda: F.log_softmax(X, dim=1), "log_softmax has no dim=: write axis=1"),
        (lambda: nn.Softmax(dim=1), "Softmax has no dim=: write axis=1"),
        (lambda: nn.LogSoftmax(dim=1), "LogSoftmax has no dim=: write axis=1"),
        (lambda: nn.Flatten(start_dim=1), "Flatten has no start_dim=: write start_axis=1"),
    ],
)
def test_dim_is_axis_wherever_there_is_one(call, text):
    with pytest.raises(TypeError) as caught:
        call()
    assert text in str(caught.value)


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

    assert not hasattr(Mine.max.__wrapped__, "__wrapped__")
    with pytest.raises(TypeError, match="norm has no dim="):
        Mine([1.0]).norm(dim=0)
