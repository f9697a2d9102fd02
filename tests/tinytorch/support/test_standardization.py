"""Number lines: every value stands at its place."""

import re

from tinytorch.support.standardization import draw_number_lines


def test_values_stand_at_their_places_on_the_line():
    drawing = draw_number_lines([("raw", {"day": [-1.0, 1.0], "night": [0.0]})], -1, 1)
    dots = re.findall(r'class="dot (\w+)" cx="([\d.]+)"', drawing.svg())
    (low, high, middle) = (float(x) for _, x in dots)
    assert [kind for kind, _ in dots] == ["value", "value", "gradient"]
    assert (low, high) == (80, drawing.width - 20) and middle == (low + high) / 2
