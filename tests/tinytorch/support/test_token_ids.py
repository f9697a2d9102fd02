"""Token ids in rows."""

import numpy as np
import pytest

from tinytorch.core.tensor import Tensor
from tinytorch.support.token_ids import as_rows, as_tensor


@pytest.mark.parametrize("ids", [[[1, 2]], np.array([[1, 2]], "int32"), Tensor(np.array([[1, 2]]))])
def test_ids_become_int64_rows(ids):
    rows = as_rows(ids)
    assert rows.dtype == np.int64 and rows.tolist() == [[1, 2]]


@pytest.mark.parametrize("ids", [[1, 2], [[]], [[[1]]], 5])
def test_other_shapes_are_refused(ids):
    with pytest.raises(ValueError, match=r"shape \(B, T\)"):
        as_rows(ids)


def test_floats_are_refused():
    with pytest.raises(TypeError, match="integers, not float"):
        as_rows([[1.5]])


def test_a_tensor_stays_what_it_is():
    x = Tensor([1.0])
    assert as_tensor(x) is x and as_tensor([1.0]).shape == (1,)
