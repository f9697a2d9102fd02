"""A trial leaves no trace, also after an error."""

from itertools import islice

import numpy as np
import pytest

from tinytorch.core.layers import Dense, Dropout, RandomState, Sequential
from tinytorch.core.optimizers import Adam
from tinytorch.core.tensor import Tensor
from tinytorch.support.random_states import random_states
from tinytorch.support.trials import preserved_state, repeat_batches


def test_weights_optimizer_modes_and_random_states_are_as_before():
    model = Sequential(Dense(2, 2), Dropout(0.5))
    model[0].eval()
    optimizer = Adam(model.parameters(), lr=0.1)
    parts = [RandomState.rng, model]
    before = repr([model.state_dict(), optimizer.state_dict(), random_states(parts)])
    with pytest.raises(ZeroDivisionError), preserved_state(model, optimizer):
        assert all(module.training for module in model.modules())
        model(Tensor(np.ones((4, 2), "float32"))).sum().backward()
        optimizer.step()
        raise ZeroDivisionError
    assert before == repr([model.state_dict(), optimizer.state_dict(), random_states(parts)])
    assert [module.training for module in model.modules()] == [True, False, True]
    assert all(p.grad is None for p in model.parameters())


def test_batches_are_repeated_and_none_are_refused():
    assert list(islice(repeat_batches([1, 2]), 5)) == [1, 2, 1, 2, 1]
    with pytest.raises(ValueError, match="no batches"):
        next(repeat_batches([]))
