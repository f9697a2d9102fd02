"""The pictures of lesson 10."""

from collections import Counter

import numpy as np
import pytest
from svg_contents import assert_on_page, cells

from tinytorch.pictures.convolutions import (
    cross_correlate,
    draw_col2im,
    draw_im2col,
    draw_maps,
    draw_max_pool,
    draw_product,
    draw_receptive_field,
    draw_sliding,
    house,
    strokes,
)


@pytest.mark.parametrize("size", [24, 48])
def test_a_house_has_a_dark_door_between_bright_walls_under_a_brighter_roof(size):
    picture = house(size)
    door, wall, roof = (
        picture[int(y * size), int(x * size)] for y, x in [(0.75, 0.4), (0.75, 0.25), (0.45, 0.4)]
    )
    assert door < wall < roof and picture.shape == (size, size) and picture.dtype == "float32"
    assert picture.min() >= 0 and picture.max() == 1


def test_strokes_lie_in_the_columns_they_were_asked_for():
    x, directions = strokes(200, 6, 7, seed=0, noise=0.0)
    assert x.shape == (200, 1, 12, 12) and x.dtype == "float32"
    lit = np.flatnonzero(x.any(axis=(0, 1, 2)))
    assert (lit.min(), lit.max()) == (6, 7 + 4)
    assert np.array_equal(x.sum(axis=(1, 2, 3)), np.full(200, 5)) and set(directions) == {
        0,
        1,
        2,
        3,
    }


def test_a_direction_says_how_a_stroke_lies():
    x, directions = strokes(50, 0, 7, seed=1, noise=0.0)
    for picture, direction in zip(x[:, 0], directions):
        rows, columns = picture.any(axis=1).sum(), picture.any(axis=0).sum()
        assert (rows, columns) == [(1, 5), (5, 1), (5, 5), (5, 5)][direction]
        if direction > 1:
            left, right = np.argwhere(picture)[[0, -1], 1]
            assert (right > left) == (direction == 2)


def test_a_seed_repeats_strokes_and_noise_is_as_wide_as_asked():
    one, again = strokes(100, 0, 3, seed=5), strokes(100, 0, 3, seed=5)
    assert all(np.array_equal(*pair) for pair in zip(one, again))
    noise = one[0] - strokes(100, 0, 3, seed=5, noise=0.0)[0]
    assert abs(noise.std() - 0.15) < 0.01 and abs(noise.mean()) < 0.01


def test_a_feature_map_is_the_sum_over_each_window():
    picture, kernel = np.arange(20.0).reshape(4, 5), np.array([[1, -2], [0, 3], [5, 0]])
    wanted = [[(picture[p : p + 3, q : q + 2] * kernel).sum() for q in range(4)] for p in range(2)]
    assert np.array_equal(cross_correlate(picture, kernel), wanted)


def drawn(figure):
    """(colour map, limits) of each image in the figure."""
    return [(im.get_cmap().name, im.get_clim()) for axis in figure.axes for im in axis.images]


def test_signed_maps_are_coloured_around_zero_and_others_are_grey():
    figure = draw_maps([np.array([[-1.0, 3.0]]), np.array([[0.0, 2.0]])], ["a", "b"])
    assert drawn(figure) == [("RdBu", (-3, 3)), ("gray", (0, 2))]
    assert [text.get_text() for text in figure.axes[0].texts] == ["a", "b"]


def test_grey_maps_can_share_their_brightness():
    maps = [np.ones((2, 2)), 4 * np.ones((2, 2))]
    assert [limits for _, limits in drawn(draw_maps(maps))] == [(0, 1), (0, 4)]
    assert [limits for _, limits in drawn(draw_maps(maps, shared=True))] == [(0, 4), (0, 4)]


def test_maps_stand_in_a_grid_without_overlap_and_an_empty_place_stays_empty():
    figure = draw_maps([None, np.eye(2), np.eye(3)], ["", "above", "below"], columns=2)
    axis = figure.axes[0]
    images, titles = axis.images, axis.texts
    first, second = (image.get_extent() for image in images)
    assert first[0] > second[1] and first[2] > second[3]  # to the right of it, and higher
    for (left, right, _, top), title in zip((first, second), titles):
        x, y = title.get_position()
        assert left < x < right and y > top and title.get_fontsize() >= 13
    assert titles[1].get_position()[1] < first[2]  # the title of the second row is below the first
    (left, right), (bottom, top) = axis.get_xlim(), axis.get_ylim()
    assert left == second[0] and right == first[1] and bottom == second[2] and top > first[3]
    assert figure.get_size_inches()[0] * 72 == 360


PICTURE = np.arange(16).reshape(4, 4)
DRAWINGS = {
    "sliding": lambda: draw_sliding([0, 0, 0, 5, 5, 5, 5], [-1, 0, 1], stride=2, padding=1),
    "product": lambda: draw_product(PICTURE, [[-1, 0, 1]] * 3, (1, 0)),
    "window": lambda: draw_im2col(PICTURE, (3, 3), window=1),
    "weight": lambda: draw_im2col(PICTURE, (3, 3), weight=(0, 0)),
    "col2im": lambda: draw_col2im((4, 4), (3, 3), (1, 1)),
    "pool": lambda: draw_max_pool(PICTURE, (2, 2), [[10, 20], [30, 40]]),
    "field": lambda: draw_receptive_field([(3, 2), (3, 1)], 0),
}


def marked(drawing, *kinds):
    return [cell.text for cell in cells(drawing, *kinds) if cell.text is not None]


@pytest.mark.parametrize("name", DRAWINGS)
def test_nothing_lies_outside_of_the_drawing(name):
    assert_on_page(DRAWINGS[name]())


def test_every_position_of_the_kernel_is_drawn_with_its_output():
    drawing = DRAWINGS["sliding"]()
    outputs = [cell.text for cell in cells(drawing, "value") if cell.x > 300]
    assert outputs == ["0", "5", "0", "-5"]
    assert marked(drawing, "muted") == ["-1", "0", "1"] * 4


def test_a_product_marks_its_window_and_adds_up():
    drawing = DRAWINGS["product"]()
    assert marked(drawing, "value")[:9] == ["4", "5", "6", "8", "9", "10", "12", "13", "14"]
    assert "14·1 = 6" in drawing.svg() and "4·(-1) + 5·0 + 6·1 +" in drawing.svg()


def test_a_window_is_a_column_and_a_weight_is_a_row():
    window = ["1", "2", "3", "5", "6", "7", "9", "10", "11"]
    assert marked(DRAWINGS["window"](), "value") == window * 2
    assert marked(DRAWINGS["weight"](), "value") == ["0", "1", "4", "5"] * 2


def test_col2im_adds_up_as_often_as_a_pixel_was_copied():
    drawing = DRAWINGS["col2im"]()
    assert marked(drawing)[:16] == list("1221244224421221")
    assert marked(drawing, "gradient")[1:] == ["1"] * 4  # the first is a sum


def test_only_the_largest_of_a_window_gets_a_gradient():
    numbered = [cell for cell in cells(DRAWINGS["pool"]()) if cell.text is not None]
    largest = [cell.text for cell in numbered[:20] if cell.kind == "value"]
    assert largest == ["5", "7", "13", "15"] * 2
    gradient = [int(cell.text) for cell in numbered[20:36]]
    assert np.flatnonzero(gradient).tolist() == [5, 7, 13, 15]
    assert [gradient[n] for n in (5, 7, 13, 15)] == [10, 20, 30, 40]


def test_a_receptive_field_marks_the_pixels_that_a_number_depends_on():
    for layers, number, marks in [
        ([(3, 2), (3, 1)], 0, [1, 3, 7]),
        ([(2, 1), (2, 2), (3, 1)], 1, [1, 3, 6, 7]),
        ([(1, 2), (3, 1)], 0, [1, 3, 3]),
    ]:
        rows = Counter(cell.y for cell in cells(draw_receptive_field(layers, number), "value"))
        assert [rows[y] for y in sorted(rows)] == marks
