"""The drawings of windows and of what predictions depend on: they show the numbers given."""

import re

import numpy as np
import pytest

from tinytorch.support.drawing import WIDTH
from tinytorch.support.next_tokens import draw_dependence, draw_scored, draw_shifted


def cells(drawing, kind):
    """(x, y, width, height) of the cells of a kind."""
    found = re.findall(
        rf'<rect class="cell {kind}[^"]*" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" '
        r'height="([\d.]+)"',
        drawing.svg(),
    )
    return [tuple(map(float, numbers)) for numbers in found]


@pytest.mark.parametrize(
    "drawing",
    [
        draw_shifted(list("abcdefgh"), 1, 5),
        draw_scored(13, 6, 3),
        draw_scored(9, 3, 5),
        draw_dependence(np.ones((6, 6)), list("austen")),
    ],
    ids=["shifted", "scored", "gaps", "dependence"],
)
def test_every_cell_is_on_the_page_and_none_covers_another(drawing):
    boxes = [
        box for kind in ("value", "gradient", "muted", "wrong") for box in cells(drawing, kind)
    ]
    for x, y, width, height in boxes:
        assert 0 <= x and x + width <= WIDTH + 0.01 and 0 <= y and y + height <= drawing.height
    for n, (x, y, width, height) in enumerate(boxes):
        for a, b, *_ in boxes[:n]:
            assert abs(a - x) >= width - 0.01 or abs(b - y) >= height - 0.01


def test_targets_stand_one_place_right_of_their_inputs():
    drawing = draw_shifted(list("abcdefgh"), 2, 4)
    inputs, targets = cells(drawing, "value"), cells(drawing, "gradient")
    step = inputs[1][0] - inputs[0][0]
    assert [t[0] - i[0] for i, t in zip(inputs, targets)] == pytest.approx([step] * 4)


def test_no_target_is_scored_twice():
    scored = [x for x, *_ in cells(draw_scored(25, 8, 4), "value")]
    assert len(scored) == len(set(scored)) == 20


def test_dependence_on_later_tokens_is_wrong():
    changes = np.array([[1, 0, 2], [1, 1, 0], [0, 1, 1]])
    drawing = draw_dependence(changes, list("abc"))
    assert [len(cells(drawing, kind)) for kind in ("wrong", "value", "muted")] == [1, 5, 3]
