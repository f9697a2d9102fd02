"""Small images in one figure: each where it belongs, as it is."""

import matplotlib
import numpy as np
import pytest

from tinytorch.support.images import show_images, tile


@pytest.fixture(autouse=True)
def closed_figures():
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.mark.parametrize(("count", "columns"), [(1, 1), (1, 4), (4, 4), (5, 4), (12, 5)])
def test_each_image_stands_unchanged_in_its_place_and_the_rest_is_empty(count, columns):
    some = np.random.default_rng(0).integers(1, 9, (count, 3, 2), dtype="uint8")
    canvas, corners = tile(some, columns, gap=(2, 1))
    rows = (count + columns - 1) // columns
    assert canvas.shape == (5 * rows - 2, 3 * columns - 1) and canvas.dtype == np.uint8
    for k, (top, left) in enumerate(corners):
        assert (top, left) == (5 * (k // columns), 3 * (k % columns))
        assert np.array_equal(canvas[top : top + 3, left : left + 2], some[k])
    assert len(corners) == count and np.count_nonzero(canvas) == some.size


def test_the_first_channel_is_drawn_on_a_fixed_scale():
    some = [np.stack([np.full((4, 4), 0.25), np.full((4, 4), 0.75)])] * 3
    (drawn,) = show_images(some, columns=2).axes[0].images
    assert set(np.unique(drawn.get_array())) == {0.0, 0.25}
    assert drawn.get_clim() == (0, 1)


def test_titles_stand_above_their_images_from_left_to_right_and_downwards():
    axis = show_images([np.ones((1, 5, 7))] * 3, titles=[8, "b", 2.5], columns=2).axes[0]
    assert [text.get_text() for text in axis.texts] == ["8", "b", "2.5"]
    (x0, y0), (x1, y1), (x2, y2) = [text.get_position() for text in axis.texts]
    assert x0 == x2 == 3 and x1 > x0 and y0 == y1 < 0 and y0 < y2
    assert y2 < 5 + 5 <= y2 + 1  # below the first row, above the second
    with pytest.raises(ValueError, match="zip"):
        show_images([np.ones((1, 5, 7))] * 3, titles=["a", "b"])
