"""PyTorch, to compare with."""

import numpy as np
import pytest

from tinytorch.core.tensor import Variable


@pytest.fixture(scope="session")
def torch():
    """PyTorch, imported when a test that needs it runs: that takes seconds."""
    pytest.importorskip("torch", reason="PyTorch is not installed: it is in the extra `dev-torch`")
    import torch
    import torch.utils.data

    return torch


@pytest.fixture(scope="session")
def same_as_torch(torch):
    """A function that runs one function of ours and one of PyTorch's on the same arrays, and
    compares the results and, with the same random gradient, the gradients of every array."""

    def compare(ours, theirs, *arrays, near):
        leaves = [Variable(array) for array in arrays]
        others = [torch.tensor(array, requires_grad=True) for array in arrays]
        out, expected = ours(*leaves), theirs(torch.nn.functional, *others)
        assert out.shape == tuple(expected.shape)
        assert out.dtype == expected.detach().numpy().dtype
        np.testing.assert_allclose(out.data, expected.detach().numpy(), near, near)
        gradient = np.random.default_rng(9).normal(size=out.shape).astype(out.dtype)
        before = [array.copy() for array in arrays]
        out.backward(gradient)
        expected.backward(torch.tensor(gradient))
        for leaf, other, array in zip(leaves, others, before):
            assert leaf.grad.shape == leaf.shape and leaf.grad.dtype == leaf.dtype
            np.testing.assert_allclose(leaf.grad, other.grad.numpy(), near, near)
            assert np.array_equal(leaf.data, array, equal_nan=True)

    return compare
