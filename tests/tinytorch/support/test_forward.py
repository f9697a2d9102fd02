"""The names of forward functions."""

import numpy as np
import pytest

from tinytorch.support import forward


def test_names_end_alike_so_that_a_message_can_drop_the_ending():
    others = [name for name in forward.__all__ if not name.endswith("_forward")]
    assert others == ["name_of", "power"]


@pytest.mark.parametrize(
    "op, name",
    [
        (np.subtract, "sub"),
        (forward.power, "pow"),
        (forward.take_forward, "getitem"),
        (np.exp, "exp"),
        (np.random.default_rng(0).normal, "Generator"),
        (object(), "an operation"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_operations_are_named_as_in_pytorch(op, name):
    assert forward.name_of(op) == name
