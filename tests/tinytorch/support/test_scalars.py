"""What a number of the scalar engine shares with plain numbers."""

import math

import pytest

from tinytorch.support.scalars import Scalar, as_float, real_power


class Number(Scalar):
    def __init__(self, data):
        self.data = data


def test_comparisons_compare_the_numbers_and_equality_the_objects():
    one, two = Number(1.0), Number(2.0)
    assert one < two and one <= 1 and two > 1.5 and two >= two and not two < one
    assert one != Number(1.0) and max([one, two]) is two


def test_it_converts_and_formats_like_a_float():
    assert float(Number(0.5)) == 0.5 and f"{Number(0.5):.2f}" == "0.50"


@pytest.mark.parametrize("wrong", ["3", None, [1.0], 1j, Number(2.0)])
def test_only_plain_numbers_become_floats(wrong):
    assert type(as_float(True)) is float
    with pytest.raises(TypeError, match="one plain number"):
        as_float(wrong)


@pytest.mark.parametrize(
    "x, n, right",
    [
        (-2.0, 3, -8.0),
        (4.0, -0.5, 0.5),
        (-10.0, 1001, -math.inf),
        (-10.0, 1000, math.inf),
        (0.0, -3, math.inf),
        (0.0, 0, 1.0),
    ],
)
def test_powers_are_real_or_infinite(x, n, right):
    assert real_power(x, n) == right


def test_a_power_that_is_no_real_number_is_refused():
    with pytest.raises(ValueError, match="no real number"):
        real_power(-2.0, 0.5)
