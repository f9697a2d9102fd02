"""Generators are found wherever they hide, and draw the same numbers again."""

import numpy as np
import pytest

from tinytorch.core.layers import Dropout, Sequential
from tinytorch.support.random_states import generators_in, random_states, set_random_states


def test_generators_are_found_in_attributes_lists_and_dicts_each_once():
    shared, own = np.random.default_rng(1), np.random.default_rng(2)
    model = Sequential(Dropout(0.5, rng=shared), Dropout(0.5, rng=own))
    assert generators_in([shared, {"model": model}, (own, 3, "text")]) == [shared, own]


def test_the_same_numbers_are_drawn_again():
    model = Sequential(Dropout(0.5, rng=3))
    states = random_states(model)
    first = model[0].rng.random(5)
    set_random_states(model, states)
    assert np.array_equal(model[0].rng.random(5), first)


def test_states_of_another_object_are_refused():
    with pytest.raises(ValueError, match="1 random-number generators here and 0 saved"):
        set_random_states(np.random.default_rng(0), [])
