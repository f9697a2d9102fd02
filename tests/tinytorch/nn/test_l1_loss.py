import numpy as np
import pytest

from tinytorch import Tensor, Variable, nn
from tinytorch.nn import functional as F


@pytest.mark.parametrize("reduction, wanted", [("mean", 1.5), ("sum", 4.5), ("none", [0, 1.5, 3])])
def test_the_absolute_error_and_its_gradient(reduction, wanted):
    x = Variable([1.0, 2.0, 3.0])
    out = F.l1_loss(x, [1, 0.5, 6], reduction=reduction)
    assert out.data.tolist() == wanted
    assert nn.L1Loss(reduction=reduction)(x, [1, 0.5, 6]).data.tolist() == wanted
    out.sum().backward()
    share = 3 if reduction == "mean" else 1
    assert np.allclose(x.grad, np.array([0, 1, -1]) / share)


def test_dtypes_and_shapes():
    assert F.l1_loss(np.ones(2), np.zeros(2)).dtype == "float64"
    assert F.l1_loss([1, 2], [3, 3]).dtype == "float32"
    with pytest.raises(ValueError, match=r"\(2, 1\).*\(2,\)"):
        F.l1_loss(Tensor([[1.0], [2.0]]), [1.0, 2.0])
    with pytest.raises(ValueError, match="'mean', 'sum' or 'none', not 'avg'"):
        nn.L1Loss(reduction="avg")([1.0], [2.0])
    assert repr(nn.L1Loss(reduction="sum")) == "L1Loss(reduction='sum')"
