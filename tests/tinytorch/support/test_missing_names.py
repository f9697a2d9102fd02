"""An argument under PyTorch's name says what it is called here."""

import pytest

from tinytorch import Tensor

X = Tensor([[1.0, 2.0], [3.0, 5.0]])


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
