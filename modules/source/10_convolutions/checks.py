# The checks of lesson 10, by exercise. `check("size")` in the chapter runs the visible ones.

# %% setup
import math

import numpy as np

from tinytorch.core.tensor import Tensor, Variable, apply


# %% size points=3
def test_sizes_counted_by_hand():
    for length, kernel, stride, padding, wanted in [
        (7, 3, 1, 0, 5),
        (7, 3, 2, 0, 3),
        (8, 3, 2, 0, 3),
        (5, 5, 1, 0, 1),
        (5, 3, 1, 1, 5),
        (7, 3, 2, 1, 4),
        (4, 1, 3, 0, 2),
        (2, 5, 1, 2, 2),
    ]:
        found = output_size(length, kernel, stride, padding)
        assert found == wanted, (
            f"{length} numbers, kernel {kernel}, stride {stride}, padding {padding}: {wanted} "
            f"places, yours {found}. The first window starts at 0, a window that hangs over"
            " the end does not count, and padding is on both sides"
        )
    assert output_size(9, 4) == 6, (
        f"without a word, stride is 1 and padding 0: 9 - 4 + 1 = 6, yours {output_size(9, 4)}"
    )


def test_sizes_against_trying_every_place():
    for length in range(1, 9):
        for kernel in range(1, 7):
            for stride in range(1, 5):
                for padding in range(3):
                    wanted = len(range(0, length + 2 * padding - kernel + 1, stride))
                    if wanted:
                        found = output_size(length, kernel, stride, padding)
                        assert found == wanted, (
                            f"length {length}, kernel {kernel}, stride {stride}, padding "
                            f"{padding}: {wanted} windows lie inside, yours says {found}"
                        )


def test_a_kernel_without_a_place_is_refused():
    for length, kernel, stride, padding in [
        (4, 5, 1, 0),
        (4, 5, 3, 0),
        (2, 7, 2, 2),
        (3, 9, 1, 1),
    ]:
        try:
            found = output_size(length, kernel, stride, padding)
        except ValueError as error:
            for number in (length, kernel, padding, stride):
                assert str(number) in str(error), (
                    f"the error should show the formula with its numbers, yours: {error}"
                )
        else:
            assert False, (
                f"a kernel of {kernel} on {length} numbers with a margin of {padding}: yours "
                f"says {found} places"
            )
    assert output_size(5, 5) == 1, (
        f"a kernel of 5 has one place on 5 numbers, yours says {output_size(5, 5)}"
    )


# %% loops points=4
def test_a_small_convolution_by_hand():
    x = np.array([[[[1, 2, 0, 4], [5, 6, 7, 8], [9, 1, 2, 3]]]], "float32")
    weights, bias = np.array([[[[1, 0], [-2, 3]]]], "float32"), np.array([100], "float32")
    out = conv2d_loops(x, weights, bias)
    wanted = [
        [
            [
                [1 - 10 + 18 + 100, 2 - 12 + 21 + 100, 0 - 14 + 24 + 100],
                [5 - 18 + 3 + 100, 6 - 2 + 6 + 100, 7 - 4 + 9 + 100],
            ]
        ]
    ]
    assert out.shape == (1, 1, 2, 3), (
        f"3 by 4 pixels under a kernel of 2 by 2 give 2 by 3 numbers, yours {out.shape}"
    )
    assert np.allclose(out, wanted), (
        f"the picture {x[0, 0].tolist()} under [[1, 0], [-2, 3]], bias 100, gives {wanted}, "
        f"yours {out.tolist()}. The kernel is laid on as it stands, not turned around, and the"
        " bias is added once"
    )


def test_all_channels_are_added_up_for_each_kernel():
    random = np.random.default_rng(0)
    x, weights = (
        random.normal(size=(2, 3, 5, 7)).astype("float32"),
        random.normal(size=(4, 3, 2, 4)).astype("float32"),
    )
    bias = np.array([10, -20, 0.5, 3], "float32")
    for stride in [(1, 1), (1, 3), (2, 1), (3, 2)]:
        windows = np.lib.stride_tricks.sliding_window_view(x, (2, 4), axis=(2, 3))[
            :, :, :: stride[0], :: stride[1]
        ]
        wanted = np.einsum("ncpqij,ocij->nopq", windows, weights) + bias[:, None, None]
        out = conv2d_loops(x, weights, bias, stride)
        assert out.shape == wanted.shape, (
            f"stride {stride}: the shape should be {wanted.shape}, yours {out.shape}"
        )
        assert np.allclose(out, wanted, rtol=1e-4, atol=1e-4), (
            f"x (2, 3, 5, 7), weights (4, 3, 2, 4), stride {stride}: off by up to "
            f"{abs(out - wanted).max():.3g}. Every kernel goes through all 3 channels; the"
            " first stride is for rows, the second for columns"
        )
        assert out.dtype.name == "float32", f"float32 went in, {out.dtype} came out"


# %% learner-side
def written_through(x, i, j, size, stride, number):
    """A copy of `x` after `number` was written over what `seen` returned for it."""
    x = x.copy()
    seen(x, i, j, size, stride)[...] = number
    return x


# %% seen points=3
def test_each_window_gives_its_pixel():
    x = np.arange(2 * 3 * 7 * 9).reshape(2, 3, 7, 9)
    for kernel, stride in [
        ((1, 1), (1, 1)),
        ((3, 2), (1, 1)),
        ((3, 2), (2, 3)),
        ((2, 5), (3, 1)),
        ((7, 9), (2, 2)),
    ]:
        size = (7 - kernel[0]) // stride[0] + 1, (9 - kernel[1]) // stride[1] + 1
        for i in range(kernel[0]):
            for j in range(kernel[1]):
                wanted = np.array(
                    [
                        [x[:, :, p * stride[0] + i, q * stride[1] + j] for q in range(size[1])]
                        for p in range(size[0])
                    ]
                ).transpose(2, 3, 0, 1)
                found = seen(x, i, j, size, stride)
                assert found.shape == wanted.shape, (
                    f"x (2, 3, 7, 9), place ({i}, {j}), stride {stride}, windows {size}: the "
                    f"shape should be {wanted.shape}, yours is {found.shape}. A slice stops"
                    " behind its last row, and windows that are not there see nothing"
                )
                assert np.array_equal(found, wanted), (
                    f"x (2, 3, 7, 9), place ({i}, {j}), stride {stride}, windows {size}: window"
                    f" (p, q) sees row p * {stride[0]} + {i} and column q * {stride[1]} + {j}; "
                    f"yours of image 0, channel 0 is {found[0, 0]}"
                )


def test_axes_in_front_are_kept():
    for shape in [(5, 6), (4, 5, 6), (2, 1, 3, 5, 6)]:
        x = np.arange(math.prod(shape)).reshape(shape)
        found = seen(x, 1, 0, (2, 4), (2, 1))
        assert np.array_equal(found, x[..., [1, 3], :][..., [0, 1, 2, 3]]), (
            f"x {shape}, place (1, 0), stride (2, 1): rows 1 and 3, columns 0 to 3 of every "
            f"picture; yours has shape {found.shape}"
        )


def test_what_is_seen_can_be_written():
    x = np.zeros((2, 5, 6), "float32")
    found = written_through(x, 1, 2, (2, 2), (2, 3), 7)
    wanted = np.zeros((2, 5, 6))
    for row, column in [(1, 2), (1, 5), (3, 2), (3, 5)]:
        wanted[:, row, column] = 7
    assert np.array_equal(found, wanted), (
        f"I wrote 7 into seen(x, 1, 2, (2, 2), (2, 3)), and x became {found[0]}: a slice shares"
        " memory with x, a copy does not"
    )


# %% seen hidden points=1
def test_other_pictures_are_seen():
    for shape, i, j, size, stride in [
        ((11,) * 2, 4, 0, (2, 11), (6, 1)),
        ((3, 0, 8, 5), 2, 3, (3, 1), (2, 4)),
        ((1, 1, 9, 12), 0, 5, (9, 2), (1, 6)),
        ((2, 4, 4), 3, 3, (1, 1), (5, 5)),
    ]:
        x = np.random.default_rng(3).normal(size=shape)
        rows, columns = (
            [i + stride[0] * p for p in range(size[0])],
            [j + stride[1] * q for q in range(size[1])],
        )
        right = x[..., rows, :][..., columns]
        found = seen(stride=stride, size=size, j=j, i=i, x=x)
        assert found.shape == right.shape and np.array_equal(found, right), (
            f"{shape}, place ({i}, {j}), windows {size}, stride {stride}: rows {rows}, columns "
            f"{columns} expected, got {found}"
        )
        after = written_through(x, i, j, size, stride, -2.5)
        assert (after == -2.5).sum() == right.size, (
            f"{shape}: {right.size} numbers should be written, {(after == -2.5).sum()} are"
        )


# %% im2col points=4
def test_a_column_is_a_window_with_all_its_channels():
    x = np.arange(24).reshape(1, 2, 3, 4)
    found = im2col(x, (2, 2))
    assert found.shape == (1, 8, 6), (
        "x (1, 2, 3, 4), kernel (2, 2): 2 * 2 * 2 weights and 2 * 3 windows, shape (1, 8, 6), "
        f"yours {found.shape}"
    )
    for window, wanted in [
        (0, [0, 1, 4, 5, 12, 13, 16, 17]),
        (1, [1, 2, 5, 6, 13, 14, 17, 18]),
        (3, [4, 5, 8, 9, 16, 17, 20, 21]),
    ]:
        assert found[0, :, window].tolist() == wanted, (
            f"x = 0 ... 23 as (1, 2, 3, 4): window {window} holds {wanted}, first all of "
            f"channel 0, then channel 1; your column {window} is"
            f" {found[0, :, window].tolist()}. A reshape keeps the order of the numbers, so the"
            " axes must stand in the right order before it"
        )


def test_columns_for_any_stride_and_padding():
    random = np.random.default_rng(5)
    x = random.normal(size=(2, 3, 5, 8)).astype("float32")
    for kernel, stride, padding in [
        ((3, 2), (1, 1), (0, 0)),
        ((2, 3), (2, 3), (0, 0)),
        ((3, 4), (1, 2), (2, 1)),
        ((5, 1), (3, 1), (0, 3)),
        ((1, 1), (1, 1), (1, 0)),
    ]:
        wide = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
        windows = np.lib.stride_tricks.sliding_window_view(wide, kernel, axis=(2, 3))[
            :, :, :: stride[0], :: stride[1]
        ]
        wanted = windows.transpose(0, 1, 4, 5, 2, 3).reshape(2, 3 * kernel[0] * kernel[1], -1)
        found = im2col(x, kernel, stride, padding)
        case = f"x (2, 3, 5, 8), kernel {kernel}, stride {stride}, padding {padding}"
        assert found.shape == wanted.shape, (
            f"{case}: the shape should be {wanted.shape}, yours is {found.shape}"
        )
        assert np.array_equal(found, wanted), (
            f"{case}: {(found != wanted).mean():.0%} of the numbers are not where they should "
            "be. Each pair is (down, across), the margin is of zeros and comes first"
        )
        assert found.dtype.name == "float32", f"{case}: float32 went in, {found.dtype} came out"
    assert im2col(x[:0], (2, 2)).shape == (0, 12, 28), (
        "no images: no columns, shape (0, 12, 28)"
    )


# %% im2col hidden points=1
def test_im2col_of_other_images():
    random = np.random.default_rng(7)
    for shape, kernel, stride, padding, dtype in [
        ((3, 1, 4, 9), (4, 3), (1, 2), (1, 2), "float64"),
        ((1, 5, 6, 2), (1, 2), (4, 1), (0, 1), "float32"),
        ((2, 4, 3, 3), (3, 3), (2, 2), (2, 0), "int64"),
        ((4, 2, 1, 7), (1, 7), (1, 1), (0, 0), "float16"),
    ]:
        x = (random.normal(size=shape) * 50).astype(dtype)
        before = x.copy()
        found = im2col(padding=padding, stride=stride, kernel=kernel, x=x)
        wide = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
        rows = (wide.shape[2] - kernel[0]) // stride[0] + 1
        columns = (wide.shape[3] - kernel[1]) // stride[1] + 1
        right = np.stack(
            [
                wide[
                    :,
                    :,
                    p * stride[0] : p * stride[0] + kernel[0],
                    q * stride[1] : q * stride[1] + kernel[1],
                ].reshape(shape[0], -1)
                for p in range(rows)
                for q in range(columns)
            ],
            axis=-1,
        )
        assert (
            found.shape == right.shape
            and np.array_equal(found, right)
            and found.dtype.name == dtype
        ), (
            f"{dtype} {shape}, kernel {kernel}, stride {stride}, padding {padding}: {right} "
            f"expected, got {found}"
        )
        assert np.array_equal(x, before), "the images were changed"


# %% forward points=4
def test_the_product_agrees_with_the_definition():
    random = np.random.default_rng(11)
    for kernel, stride, padding in [
        ((2, 4), (1, 1), (0, 0)),
        ((2, 4), (2, 1), (0, 0)),
        ((3, 1), (1, 3), (1, 2)),
        ((5, 7), (1, 1), (0, 0)),
        ((1, 1), (2, 2), (0, 1)),
        ((3, 3), (1, 1), (1, 1)),
    ]:
        x, weights = random.normal(size=(2, 3, 5, 7)), random.normal(size=(4, 3, *kernel))
        bias = np.array([10.0, -20.0, 0.5, 3.0])
        wide = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
        windows = np.lib.stride_tricks.sliding_window_view(wide, kernel, axis=(2, 3))[
            :, :, :: stride[0], :: stride[1]
        ]
        wanted = np.einsum("ncpqij,ocij->nopq", windows, weights) + bias[:, None, None]
        kept = x.copy(), weights.copy(), bias.copy()
        out = columns_forward(x, weights, bias, stride, padding)
        case = f"x (2, 3, 5, 7), weights {weights.shape}, stride {stride}, padding {padding}"
        assert out.shape == wanted.shape, (
            f"{case}: the shape should be {wanted.shape}, yours is {out.shape}. Is the margin "
            "there in the forward pass too?"
        )
        assert np.allclose(out, wanted, rtol=1e-9, atol=1e-9), (
            f"{case}: off by up to {abs(out - wanted).max():.3g}"
        )
        assert all(np.array_equal(a, b) for a, b in zip((x, weights, bias), kept)), (
            f"{case}: an input was changed"
        )


def test_the_bias_is_added_once_to_each_map():
    x, weights, bias = np.ones((2, 1, 3, 4)), np.zeros((3, 1, 2, 2)), np.array([1.0, -2.0, 5.0])
    out = columns_forward(x, weights, bias, (1, 1), (0, 0))
    for o, wanted in enumerate(bias):
        assert np.array_equal(out[:, o], np.full((2, 2, 3), wanted)), (
            f"with weights of 0 map {o} is its bias, {wanted}, everywhere; yours is "
            f"{out[:, o].ravel()}"
        )


def test_the_convolution_of_narrow_numbers_stays_narrow():
    for dtype in ("float32", "float64"):
        x, weights, bias = (
            np.ones((1, 2, 4, 4), dtype),
            np.ones((3, 2, 2, 2), dtype),
            np.ones(3, dtype),
        )
        out = columns_forward(x, weights, bias, (1, 1), (1, 1))
        assert out.dtype.name == dtype, f"{dtype} went in, {out.dtype} came out"
        assert out.shape == (1, 3, 5, 5) and out[0, 2, 1, 1] == 9, (
            f"8 ones and a bias of 1 are 9, yours {out[0, 2]}"
        )


def test_no_images_give_no_maps():
    x, weights, bias = (
        np.ones((0, 2, 4, 6), "float32"),
        np.ones((3, 2, 3, 3), "float32"),
        np.ones(3, "float32"),
    )
    out = columns_forward(x, weights, bias, (1, 2), (0, 1))
    assert out.shape == (0, 3, 2, 3), (
        f"no images (0, 2, 4, 6): an empty result of shape (0, 3, 2, 3), yours {out.shape}"
    )


# %% col2im points=4
def test_what_overlaps_is_added_up():
    found = col2im(np.ones((1, 2, 2)), (1, 1, 1, 3), (1, 2))
    assert np.array_equal(np.ravel(found), [1, 2, 1]), (
        "3 pixels, kernel 2, all slopes 1: the middle pixel is in two windows, so [1, 2, 1]; "
        f"yours {np.ravel(found)}. Add, do not assign"
    )
    found = col2im(np.ones((1, 9, 9)), (1, 1, 5, 5), (3, 3))
    wanted = np.outer([1, 2, 3, 2, 1], [1, 2, 3, 2, 1])
    assert np.array_equal(found[0, 0], wanted), (
        "5 by 5 pixels under 3 by 3: the pixel in the middle is in 9 windows, a corner in "
        f"one:\n{wanted}\nyours\n{found[0, 0]}"
    )


def test_col2im_is_im2col_read_backward():
    random = np.random.default_rng(13)
    for shape, kernel, stride, padding in [
        ((2, 3, 5, 8), (3, 2), (1, 1), (0, 0)),
        ((2, 3, 5, 8), (2, 3), (2, 3), (0, 0)),
        ((1, 2, 4, 6), (3, 4), (1, 2), (2, 1)),
        ((2, 1, 7, 3), (2, 1), (3, 2), (0, 1)),
    ]:
        places_of = np.arange(1, 1 + np.prod(shape)).reshape(shape)
        wide = np.pad(places_of, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
        windows = np.lib.stride_tricks.sliding_window_view(wide, kernel, axis=(2, 3))[
            :, :, :: stride[0], :: stride[1]
        ]
        came_from = windows.transpose(0, 1, 4, 5, 2, 3).reshape(
            shape[0], shape[1] * kernel[0] * kernel[1], -1
        )
        columns = random.normal(size=came_from.shape)
        kept = columns.copy()
        wanted = np.bincount(came_from.ravel(), columns.ravel(), 1 + np.prod(shape))[
            1:
        ].reshape(shape)
        found = col2im(columns, shape, kernel, stride, padding)
        case = f"images {shape}, kernel {kernel}, stride {stride}, padding {padding}"
        assert found.shape == shape, (
            f"{case}: the result has the shape of the images, yours {found.shape}"
        )
        assert np.allclose(found, wanted, rtol=1e-9, atol=1e-9), (
            f"{case}: off by up to {abs(found - wanted).max():.3g}. Each place of the columns "
            "goes back to the pixel it was copied from; what came from the margin goes"
            " nowhere"
        )
        assert np.array_equal(columns, kept), f"{case}: the columns were changed"


def test_pixels_that_no_window_reached_get_nothing():
    found = col2im(np.ones((1, 1, 6), "float32"), (1, 1, 3, 5), (1, 1), (2, 2))
    wanted = np.zeros((3, 5))
    wanted[::2, ::2] = 1
    assert np.array_equal(found[0, 0], wanted), (
        f"kernel 1, stride 2: every second pixel is seen,\n{wanted}\nyours\n{found[0, 0]}"
    )
    assert found.dtype.name == "float32", (
        f"float32 columns give float32 slopes, yours are {found.dtype}"
    )


def test_no_columns_at_all():
    found = col2im(np.ones((0, 8, 6)), (0, 2, 3, 4), (2, 2))
    assert found.shape == (0, 2, 3, 4), (
        f"an empty batch comes back as (0, 2, 3, 4), yours {found.shape}"
    )


# %% col2im hidden points=1
def test_col2im_for_other_images():
    random = np.random.default_rng(17)
    for shape, kernel, stride, padding in [
        ((3, 2, 6, 5), (4, 5), (1, 1), (1, 3)),
        ((1, 4, 9, 7), (2, 2), (4, 3), (0, 0)),
        ((2, 1, 1, 6), (1, 6), (1, 1), (0, 2)),
        ((2, 3, 4, 4), (3, 3), (2, 1), (2, 2)),
    ]:
        rows = (shape[2] + 2 * padding[0] - kernel[0]) // stride[0] + 1
        across = (shape[3] + 2 * padding[1] - kernel[1]) // stride[1] + 1
        columns = random.normal(
            size=(shape[0], shape[1] * kernel[0] * kernel[1], rows * across)
        ).astype("float32")
        right = np.zeros((*shape[:2], shape[2] + 2 * padding[0], shape[3] + 2 * padding[1]))
        for w in range(rows * across):
            p, q = w // across * stride[0], w % across * stride[1]
            right[:, :, p : p + kernel[0], q : q + kernel[1]] += columns[:, :, w].reshape(
                *shape[:2], *kernel
            )
        right = right[
            :, :, padding[0] : padding[0] + shape[2], padding[1] : padding[1] + shape[3]
        ]
        found = col2im(
            padding=padding, stride=stride, kernel=kernel, shape=shape, columns=columns
        )
        assert found.shape == shape and found.dtype.name == "float32", (
            f"{shape}: got {found.dtype} {found.shape}"
        )
        assert np.allclose(found, right, rtol=1e-5, atol=1e-5), (
            f"{shape}, kernel {kernel}, stride {stride}, padding {padding}: {right} expected, "
            f"got {found}"
        )


# %% to-weights points=2
def test_slopes_of_the_weights_by_their_definition():
    random = np.random.default_rng(19)
    for kernel, stride, padding in [
        ((2, 4), (1, 1), (0, 0)),
        ((2, 3), (2, 1), (0, 0)),
        ((3, 1), (1, 3), (1, 2)),
        ((1, 1), (2, 2), (0, 1)),
    ]:
        x, weights = random.normal(size=(2, 3, 5, 7)), random.normal(size=(4, 3, *kernel))
        wide = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
        windows = np.lib.stride_tricks.sliding_window_view(wide, kernel, axis=(2, 3))[
            :, :, :: stride[0], :: stride[1]
        ]
        g = random.normal(size=(2, 4, *windows.shape[2:4]))
        kept = g.copy(), x.copy()
        wanted = np.einsum("ncpqij,nopq->ocij", windows, g)
        found = columns_to_weights(g, g * 0 + 7, x, weights, np.zeros(4), stride, padding)
        case = f"x (2, 3, 5, 7), weights {weights.shape}, stride {stride}, padding {padding}"
        assert found.shape == weights.shape, (
            f"{case}: the slopes have the shape of the weights, yours {found.shape}"
        )
        assert np.allclose(found, wanted, rtol=1e-9, atol=1e-9), (
            f"{case}: off by up to {abs(found - wanted).max():.3g}. Each weight gets the sum "
            "over all images and windows of g times the pixel under it"
        )
        assert np.array_equal(g, kept[0]) and np.array_equal(x, kept[1]), (
            f"{case}: an input was changed"
        )


def test_slopes_of_the_weights_stay_narrow():
    x, weights, g = (
        np.ones((3, 1, 4, 5), "float32"),
        np.ones((2, 1, 2, 2), "float32"),
        np.ones((3, 2, 3, 4), "float32"),
    )
    found = columns_to_weights(g, None, x, weights, None, (1, 1), (0, 0))
    assert found.dtype.name == "float32", (
        f"all is float32, the slopes came out as {found.dtype}"
    )
    assert np.array_equal(found, np.full((2, 1, 2, 2), 36)), (
        "3 images of 12 windows, all numbers 1: each weight has slope 36, yours "
        f"{found.ravel()}: sum over the batch, no mean"
    )


# %% to-input points=2
def test_slopes_of_the_pixels_by_their_definition():
    random = np.random.default_rng(23)
    for kernel, stride, padding in [
        ((2, 4), (1, 1), (0, 0)),
        ((2, 3), (2, 1), (0, 0)),
        ((3, 1), (1, 3), (1, 2)),
        ((1, 1), (2, 2), (0, 1)),
    ]:
        x, weights = random.normal(size=(2, 3, 5, 7)), random.normal(size=(4, 3, *kernel))
        rows, across = [
            (n + 2 * p - k) // s + 1 for n, p, k, s in zip((5, 7), padding, kernel, stride)
        ]
        g = random.normal(size=(2, 4, rows, across))
        kept = g.copy(), weights.copy()
        wanted = np.zeros((2, 3, 5 + 2 * padding[0], 7 + 2 * padding[1]))
        for p in range(rows):
            for q in range(across):
                a, b = p * stride[0], q * stride[1]
                wanted[:, :, a : a + kernel[0], b : b + kernel[1]] += np.tensordot(
                    g[:, :, p, q], weights, 1
                )
        wanted = wanted[:, :, padding[0] : padding[0] + 5, padding[1] : padding[1] + 7]
        found = columns_to_input(g, g * 0 + 7, x, weights, np.zeros(4), stride, padding)
        case = f"x (2, 3, 5, 7), weights {weights.shape}, stride {stride}, padding {padding}"
        assert found.shape == x.shape, (
            f"{case}: the slopes have the shape of x, yours {found.shape}: is the margin "
            "cropped?"
        )
        assert np.allclose(found, wanted, rtol=1e-9, atol=1e-9), (
            f"{case}: off by up to {abs(found - wanted).max():.3g}. A pixel gets, from each "
            "window that holds it, the weight that lay on it times g, summed over all kernels"
        )
        assert np.array_equal(g, kept[0]) and np.array_equal(weights, kept[1]), (
            f"{case}: an input was changed"
        )


def test_slopes_of_the_pixels_stay_narrow():
    x, weights, g = (
        np.ones((3, 2, 4, 5), "float32"),
        np.ones((6, 2, 1, 1), "float32"),
        np.ones((3, 6, 4, 5), "float32"),
    )
    found = columns_to_input(g, None, x, weights, None, (1, 1), (0, 0))
    assert found.dtype.name == "float32", (
        f"all is float32, the slopes came out as {found.dtype}"
    )
    assert np.array_equal(found, np.full((3, 2, 4, 5), 6)), (
        "6 kernels of one weight 1: each pixel has slope 6"
    )


# %% conv2d points=7
def test_conv2d_by_its_definition():
    random = np.random.default_rng(29)
    for channels, kernel, stride, padding in [
        (3, (2, 4), 1, 0),
        (3, 3, 2, (1, 2)),
        (9, (3, 2), (2, 1), 1),
        (12, 1, (1, 3), (0, 2)),
    ]:
        pairs = [(n, n) if isinstance(n, int) else n for n in (kernel, stride, padding)]
        x, weights = (
            random.normal(size=(2, channels, 5, 7)),
            random.normal(size=(4, channels, *pairs[0])),
        )
        bias = np.array([10.0, -20.0, 0.5, 3.0])
        wide = np.pad(x, ((0, 0), (0, 0), (pairs[2][0],) * 2, (pairs[2][1],) * 2))
        windows = np.lib.stride_tricks.sliding_window_view(wide, pairs[0], axis=(2, 3))
        windows = windows[:, :, :: pairs[1][0], :: pairs[1][1]]
        products = np.einsum("ncpqij,ocij->nopq", windows, weights)
        for given, wanted in [(Tensor(bias), products + bias[:, None, None]), (None, products)]:
            out = conv2d(Tensor(x), Tensor(weights), given, stride, padding)
            case = f"x {x.shape}, weights {weights.shape}, stride {stride}, padding {padding}"
            case += ", no bias" if given is None else f", bias {bias}"
            assert out.shape == wanted.shape, (
                f"{case}: the shape should be {wanted.shape}, yours is {out.shape}"
            )
            assert np.allclose(out.data, wanted, rtol=1e-9, atol=1e-9), (
                f"{case}: off by up to {abs(out.data - wanted).max():.3g}"
            )


def test_conv2d_can_be_walked_back():
    random = np.random.default_rng(31)
    for channels, stride, padding in [
        (2, (1, 1), (0, 0)),
        (2, (2, 1), (1, 2)),
        (8, (1, 2), (0, 1)),
        (9, (2, 3), (2, 0)),
    ]:
        arrays = [
            random.normal(size=shape)
            for shape in [(2, channels, 5, 6), (3, channels, 2, 3), (3,)]
        ]
        leaves = [Variable(array) for array in arrays]
        out = conv2d(*leaves, stride, padding)
        case = f"{channels} channels, stride {stride}, padding {padding}"
        assert out.requires_grad, (
            f"{case}: the inputs want gradients and the result lost them: call apply, with "
            "tensors"
        )
        g = random.normal(size=out.shape)
        out.backward(g)
        for name, leaf, n in zip(("x", "weights", "bias"), leaves, range(3)):
            nudge = random.normal(size=arrays[n].shape)
            ends = [
                conv2d(
                    *[Tensor(a + step * nudge if m == n else a) for m, a in enumerate(arrays)],
                    stride,
                    padding,
                )
                for step in (-1e-3, 1e-3)
            ]
            wanted = (
                (np.asarray(ends[1]) - np.asarray(ends[0])) * g
            ).sum() / 2e-3  # exact: all is linear
            found = (leaf.grad * nudge).sum()
            assert leaf.grad.shape == arrays[n].shape, (
                f"{case}: the gradient of {name} has shape {leaf.grad.shape}"
            )
            assert abs(found - wanted) < 1e-7, (
                f"{case}: nudging {name} moves the sum by {wanted:.6f}, your slopes say "
                f"{found:.6f}"
            )


def test_no_bias_is_no_leaf():
    x, weights = Variable(np.ones((1, 1, 3, 3))), Variable(np.full((2, 1, 2, 2), 3.0))
    out = conv2d(x, weights)
    assert np.array_equal(out.data, np.full((1, 2, 2, 2), 12)), (
        f"4 ones times 3 are 12 without a bias, yours {out.data.ravel()}"
    )
    out.backward(np.ones((1, 2, 2, 2)))
    assert np.array_equal(weights.grad, np.full((2, 1, 2, 2), 4)), (
        f"each weight has slope 4, yours {weights.grad.ravel()}"
    )


def test_a_single_zero_bias_learns():
    bias = Variable([0.0])
    out = conv2d(
        Tensor(np.ones((1, 1, 3, 3), "float32")), Tensor(np.ones((1, 1, 2, 2), "float32")), bias
    )
    assert out.requires_grad, (
        "one kernel with a bias of 0: it was left out and can never learn. Ask `bias is None`, "
        "not `if bias`"
    )


def test_images_that_do_not_fit_are_refused():
    for images, kernels, padding in [
        ((2, 3, 8, 9), (4, 5, 3, 2), 0),
        ((2, 3, 8, 9), (4, 1, 3, 2), 0),
        ((8, 9), (4, 1, 3, 2), 0),
        ((5, 3, 9), (4, 3, 3, 2), 0),
        ((2, 3, 8, 9), (3, 3, 2), 0),
        ((2, 3, 4, 9), (4, 3, 7, 2), 1),
        ((2, 3, 8, 2), (4, 3, 3, 6), (4, 1)),
    ]:
        try:
            out = conv2d(
                Tensor(np.ones(images, "float32")),
                Tensor(np.ones(kernels, "float32")),
                padding=padding,
            )
        except ValueError as error:
            assert str(images) in str(error) and str(kernels) in str(error), (
                f"the error should name both shapes, {images} and {kernels}, yours: {error}"
            )
            assert "// stride + 1" in str(error), (
                f"the error should show the formula of the size: use misfit; yours: {error}"
            )
        else:
            assert False, (
                f"images {images} with weights {kernels}, padding {padding}: should be refused,"
                f" yours is {out.shape}"
            )


def test_images_come_in_any_form():
    weights = Tensor(np.ones((1, 2, 2, 2), "float32"))
    for name, x in [
        ("a uint8 array", np.full((1, 2, 2, 3), 200, "uint8")),
        ("lists", [[[[200] * 3] * 2] * 2]),
        ("an int64 Tensor", Tensor(np.full((1, 2, 2, 3), 200))),
    ]:
        out = conv2d(x, weights)
        assert np.array_equal(out.data, np.full((1, 1, 1, 2), 1600)), (
            f"8 pixels of 200 as {name} make 1600, yours {out.data}"
        )
        assert out.dtype.name == "float32", (
            f"pixels as {name} become float32, yours {out.dtype}"
        )


def test_conv2d_keeps_its_dtype():
    for channels in (2, 9):
        for dtype in ("float32", "float64"):
            leaves = [
                Variable(np.ones(shape, dtype))
                for shape in [(2, channels, 4, 5), (3, channels, 2, 2), (3,)]
            ]
            out = conv2d(*leaves)
            assert out.dtype.name == dtype, (
                f"{channels} channels, {dtype}: the result is {out.dtype}"
            )
            out.backward(np.ones(out.shape))
            assert [leaf.grad.dtype.name for leaf in leaves] == [dtype] * 3, (
                f"{channels} channels: gradients of {dtype} expected"
            )
    out = conv2d(
        Tensor(np.ones((1, 1, 3, 3), "float32")), Tensor(np.ones((1, 1, 2, 2), "float32"))
    )
    assert out.dtype.name == "float32", (
        f"no bias must not widen float32 to {out.dtype}: make it in the dtype of the weights"
    )


# %% conv2d hidden points=2
def test_other_convolutions():
    random = np.random.default_rng(37)
    for shape, out_channels, kernel, stride, padding in [
        ((1, 1, 6, 9), 5, (6, 9), 2, 0),
        ((3, 8, 4, 7), 1, (1, 3), (3, 2), (2, 0)),
        ((2, 16, 7, 5), 3, (5, 2), (1, 4), (1, 3)),
        ((2, 7, 3, 3), 2, (2, 2), 1, 2),
    ]:
        x, bias = random.normal(size=shape), random.normal(size=out_channels)
        weights = random.normal(size=(out_channels, shape[1], *kernel))
        strides, margin = [(n, n) if isinstance(n, int) else n for n in (stride, padding)]
        wide = np.pad(x, ((0, 0), (0, 0), (margin[0],) * 2, (margin[1],) * 2))
        windows = np.lib.stride_tricks.sliding_window_view(wide, kernel, axis=(2, 3))[
            :, :, :: strides[0], :: strides[1]
        ]
        right = np.einsum("ncpqij,ocij->nopq", windows, weights) + bias[:, None, None]
        leaves = [Variable(array) for array in (x, weights, bias)]
        out = conv2d(
            padding=padding, stride=stride, bias=leaves[2], weights=leaves[1], x=leaves[0]
        )
        case = f"x {shape}, weights {weights.shape}, stride {stride}, padding {padding}"
        assert out.shape == right.shape and np.allclose(
            out.data, right, rtol=1e-9, atol=1e-9
        ), f"{case}: {right} expected, got {out}"
        g = random.normal(size=right.shape)
        out.backward(g)
        to_bias, to_weights = g.sum(axis=(0, 2, 3)), np.einsum("ncpqij,nopq->ocij", windows, g)
        to_x = np.zeros(wide.shape)
        for p, q in np.ndindex(*right.shape[2:]):
            a, b = p * strides[0], q * strides[1]
            to_x[:, :, a : a + kernel[0], b : b + kernel[1]] += np.tensordot(
                g[:, :, p, q], weights, 1
            )
        to_x = to_x[:, :, margin[0] : margin[0] + shape[2], margin[1] : margin[1] + shape[3]]
        for name, leaf, wanted in zip(
            ("x", "weights", "bias"), leaves, (to_x, to_weights, to_bias)
        ):
            assert leaf.grad.shape == wanted.shape and np.allclose(
                leaf.grad, wanted, rtol=1e-9, atol=1e-9
            ), f"{case}: the gradient of {name} should be {wanted}, got {leaf.grad}"


def test_other_misfits():
    for images, kernels, stride, padding in [
        ((2, 4, 5, 6), (3, 2, 2, 2), 1, 0),
        ((1, 1, 2, 9), (1, 1, 5, 1), 2, 1),
        ((5,), (1, 1, 1, 1), 1, 0),
        ((1, 1, 1, 3, 3), (1, 1, 2, 2), 1, 0),
        ((2, 9, 3, 3), (4, 9, 1, 8), 1, (5, 2)),
    ]:
        try:
            out = conv2d(
                np.ones(images, "float32"),
                Tensor(np.ones(kernels, "float32")),
                None,
                stride,
                padding,
            )
        except ValueError as error:
            assert (
                str(images) in str(error)
                and str(kernels) in str(error)
                and "// stride + 1" in str(error)
            ), (
                f"{images} with {kernels}: both shapes and the formula expected, the error is "
                f"{error}"
            )
        else:
            assert False, (
                f"{images} with {kernels}, stride {stride}, padding {padding}: ValueError "
                f"expected, got {out.shape}"
            )


# %% layer points=4
def test_a_convolution_has_two_parameters():
    layer = Conv2d(3, 5, (2, 4))
    found = [
        (name, tuple(tensor.shape), tensor.dtype.name)
        for name, tensor in layer.named_parameters()
    ]
    wanted = [("weights", (5, 3, 2, 4), "float32"), ("bias", (5,), "float32")]
    assert found == wanted, (
        f"Conv2d(3, 5, (2, 4)) learns {wanted}, yours {found}: are both Variables, in this "
        "order of axes?"
    )
    assert np.array_equal(np.asarray(layer.bias), np.zeros(5)), (
        f"the bias starts at 0, yours at {layer.bias}"
    )
    alone = Conv2d(3, 5, (2, 4), bias=False)
    assert alone.bias is None and len(alone.parameters()) == 1, (
        f"bias=False: the bias is None, yours {alone.bias}"
    )


def test_first_weights_have_the_variance_of_their_fans():
    for into, out, kernel in [(3, 64, (5, 7)), (40, 2, (3, 5)), (16, 24, (4, 4))]:
        w = np.asarray(Conv2d(into, out, kernel, rng=3).weights)
        area = kernel[0] * kernel[1]
        wanted, found = 2 / (into * area + out * area), float(np.var(w, dtype="float64"))
        assert abs(found / wanted - 1) < 0.08, (
            f"Conv2d({into}, {out}, {kernel}): fan_in is {into} * {area}, fan_out {out} * "
            f"{area}, so Xavier's variance is {wanted:.6f}; yours is {found:.6f},"
            f" {found / wanted:.2f} times as much. Count the places of the kernel, too"
        )


def test_init_and_rng_are_used():
    told = []

    def init(fan_in, fan_out, rng, shape):
        told.append((fan_in, fan_out, rng, shape))
        return np.full(shape, 0.5, "float32")

    layer = Conv2d(3, 5, (2, 4), init=init, rng=7)
    assert told == [(24, 40, 7, (5, 3, 2, 4))], (
        "Conv2d(3, 5, (2, 4), rng=7) should call init(24, 40, 7, (5, 3, 2, 4)), yours calls "
        f"with {told}: 3 * 2 * 4 numbers go into each output, each input goes to 5 * 2 * 4"
    )
    assert np.array_equal(np.asarray(layer.weights), np.full((5, 3, 2, 4), 0.5)), (
        "the weights should be what init returned"
    )
    first, again, other = [np.asarray(Conv2d(2, 3, 3, rng=seed).weights) for seed in (5, 5, 6)]
    assert np.array_equal(first, again) and not np.array_equal(first, other), (
        "the seed decides the weights: hand rng to init"
    )


def test_the_layer_computes_with_its_numbers():
    layer = Conv2d(1, 2, (2, 1), stride=(1, 2), padding=(0, 1))
    layer.load_state_dict({"weights": [[[[1], [-2]]], [[[0], [3]]]], "bias": [10, -20]})
    out = layer(Tensor([[[[1, 2, 3, 4], [5, 7, 9, 6]]]]))
    wanted = [[[[10, -2, 2]], [[-20, 1, -2]]]]
    assert np.array_equal(out.data, wanted), (
        "columns 0, 2 and 4 of 0 1 2 3 4 0 / 0 5 7 9 6 0 under [1, -2] and [0, 3], bias 10 and "
        f"-20, give {wanted}, yours {out.data.tolist()}"
    )
    out.sum().backward()
    assert layer.weights.grad is not None and layer.bias.grad is not None, (
        "weights and bias want gradients and got none"
    )


# %% layer hidden points=1
def test_other_layers():
    random = np.random.default_rng(41)
    for into, out, kernel, stride, padding, bias in [
        (1, 1, 1, 1, 0, True),
        (9, 4, (1, 3), 2, (0, 1), True),
        (2, 6, (3, 2), (1, 2), 1, False),
    ]:
        layer = Conv2d(
            in_channels=into,
            out_channels=out,
            kernel_size=kernel,
            stride=stride,
            padding=padding,
            bias=bias,
            rng=11,
        )
        kernel, stride, padding = [
            (n, n) if isinstance(n, int) else n for n in (kernel, stride, padding)
        ]
        w, b = (
            np.asarray(layer.weights),
            (np.zeros(out) if layer.bias is None else np.arange(out) - 1.5),
        )
        if bias:
            layer.bias = Variable(b.astype("float32"))
        a = math.sqrt(6 / ((into + out) * kernel[0] * kernel[1]))
        assert w.shape == (out, into, *kernel) and np.abs(w).max() <= a * 1.000001, (
            f"Xavier's limit is {a}, got {w}"
        )
        x = random.normal(size=(2, into, 4, 5)).astype("float32")
        wide = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
        windows = np.lib.stride_tricks.sliding_window_view(wide, kernel, axis=(2, 3))[
            :, :, :: stride[0], :: stride[1]
        ]
        right = np.einsum("ncpqij,ocij->nopq", windows, w) + b[:, None, None]
        found = layer(Tensor(x))
        assert found.shape == right.shape and found.requires_grad, (
            f"{right.shape} with a gradient expected, got {found}"
        )
        assert np.allclose(found.data, right, rtol=1e-5, atol=1e-5), (
            f"Conv2d({into}, {out}, {kernel}, {stride}, {padding}): {right} expected, got "
            f"{found}"
        )
    for sizes in [(0, 3), (3, 0)]:
        try:
            layer = Conv2d(*sizes, 3)
        except ValueError:
            continue
        assert False, f"Conv2d{sizes}: ValueError expected"


# %% learner-side
def pooled_after_writing(x, kernel, number):
    """max_pool2d_forward(x, ...), read after `number` was written over `x`."""
    x = x.copy()
    found = max_pool2d_forward(x, kernel, (1, 1), (0, 0))
    x[...] = number
    return found


# %% max points=3
def test_the_largest_of_each_window():
    random = np.random.default_rng(43)
    for kernel, stride, padding in [
        ((2, 2), (2, 2), (0, 0)),
        ((2, 3), (1, 2), (0, 0)),
        ((3, 2), (2, 1), (1, 1)),
        ((4, 1), (3, 3), (2, 0)),
        ((1, 1), (2, 1), (0, 0)),
    ]:
        x = random.normal(size=(2, 3, 6, 9)).astype("float32") - 5
        kept = x.copy()
        wide = np.pad(
            x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2), constant_values=-1e30
        )
        windows = np.lib.stride_tricks.sliding_window_view(wide, kernel, axis=(2, 3))[
            :, :, :: stride[0], :: stride[1]
        ]
        wanted = windows.max(axis=(4, 5))
        found = max_pool2d_forward(x, kernel, stride, padding)
        case = (
            f"x (2, 3, 6, 9) of numbers around -5, kernel {kernel}, stride {stride}, padding "
            f"{padding}"
        )
        assert found.shape == wanted.shape, (
            f"{case}: the shape should be {wanted.shape}, yours is {found.shape}"
        )
        assert np.array_equal(found, wanted), (
            f"{case}: {(found != wanted).mean():.0%} of the numbers are no maximum of their "
            f"window; your largest is {found.max():.3g}. Does a 0 of the margin win?"
        )
        assert found.dtype.name == "float32", f"{case}: float32 went in, {found.dtype} came out"
        assert np.array_equal(x, kept), f"{case}: x was changed; copy before you write"


def test_the_result_is_a_new_array():
    x = np.arange(12.0).reshape(1, 1, 3, 4)
    for kernel, wanted in [((1, 1), x), ((2, 1), x[:, :, 1:])]:
        found = pooled_after_writing(x, kernel, -100.0)
        assert np.array_equal(found, wanted), (
            f"kernel {kernel}: I wrote -100 into x afterwards, and the result became "
            f"{found.ravel()}"
        )


def test_nan_is_not_hidden():
    x = np.array([[[[1.0, np.nan, 2.0, 3.0]]]])
    found = max_pool2d_forward(x, (1, 2), (1, 2), (0, 0))
    assert np.isnan(found[0, 0, 0, 0]) and found[0, 0, 0, 1] == 3, (
        f"the largest of 1 and nan is nan, as NumPy has it; yours {found}"
    )


# %% max-rule points=5
def test_the_largest_gets_the_slope():
    x = np.zeros((1, 1, 4, 4))
    x[0, 0, 1::2, 1::2] = [[1, 2], [3, 4]]
    g, out = np.array([[[[10.0, 20.0], [30.0, 40.0]]]]), np.array([[[[1.0, 2.0], [3.0, 4.0]]]])
    found = max_pool2d_rule(g, out, x, (2, 2), (2, 2), (0, 0))
    wanted = np.zeros((4, 4))
    wanted[1::2, 1::2] = [[10, 20], [30, 40]]
    assert np.array_equal(found[0, 0], wanted), (
        "the largest number stands in the lower right corner of each of four windows, and gets "
        f"the slope of its own window:\n{wanted}\nyours\n{found[0, 0]}"
    )


def test_of_equals_only_the_first_gets_it():
    for window, wanted in [
        ([[0, 0], [0, 0]], [[7, 0], [0, 0]]),
        ([[1, 3], [3, 3]], [[0, 7], [0, 0]]),
        ([[1, 2], [3, 3]], [[0, 0], [7, 0]]),
        ([[0, 1], [1, 0]], [[0, 7], [0, 0]]),
    ]:
        x = np.array(window, "float32").reshape(1, 1, 2, 2)
        found = max_pool2d_rule(
            np.full((1, 1, 1, 1), 7, "float32"),
            x.max().reshape(1, 1, 1, 1),
            x,
            (2, 2),
            (2, 2),
            (0, 0),
        )
        assert found.sum() == 7, (
            f"window {window}, slope 7: what arrives adds up to 7, yours to {found.sum()}: "
            f"{found[0, 0].tolist()}"
        )
        assert found[0, 0].tolist() == wanted, (
            f"window {window}, slope 7: the first of the largest, row by row, gets it, "
            f"{wanted}; yours {found[0, 0].tolist()}"
        )


def test_overlapping_windows_add_up():
    x = np.array([[[[1.0, 9.0, 2.0, 3.0]]]])
    found = max_pool2d_rule(
        np.array([[[[1.0, 10.0, 100.0]]]]),
        np.array([[[[9.0, 9.0, 3.0]]]]),
        x,
        (1, 2),
        (1, 1),
        (0, 0),
    )
    assert found.ravel().tolist() == [0, 11, 0, 100], (
        "1 9 2 3 in windows of two: 9 is the largest of two windows, slopes 1 and 10; [0, 11, "
        f"0, 100], yours {found.ravel()}"
    )


def test_slopes_of_pooling_window_by_window():
    random = np.random.default_rng(47)
    for kernel, stride, padding in [
        ((2, 2), (2, 2), (0, 0)),
        ((2, 3), (1, 2), (0, 0)),
        ((3, 2), (2, 1), (1, 1)),
        ((4, 1), (3, 3), (2, 0)),
    ]:
        x = random.integers(-5, 0, (2, 3, 6, 9)).astype("float32")
        wide = np.pad(
            x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2), constant_values=-1e30
        )
        windows = np.lib.stride_tricks.sliding_window_view(wide, kernel, axis=(2, 3))[
            :, :, :: stride[0], :: stride[1]
        ]
        out = windows.max(axis=(4, 5))
        first = windows.reshape(*out.shape, -1).argmax(axis=-1)
        g = random.normal(size=out.shape).astype("float32")
        wanted = np.zeros(wide.shape)
        for n, c, p, q in np.ndindex(*out.shape):
            i, j = divmod(int(first[n, c, p, q]), kernel[1])
            wanted[n, c, p * stride[0] + i, q * stride[1] + j] += g[n, c, p, q]
        wanted = wanted[:, :, padding[0] : padding[0] + 6, padding[1] : padding[1] + 9]
        kept = g.copy(), out.copy(), x.copy()
        found = max_pool2d_rule(g, out, x, kernel, stride, padding)
        case = (
            f"x (2, 3, 6, 9) of -5 ... -1, kernel {kernel}, stride {stride}, padding {padding}"
        )
        assert found.shape == x.shape, (
            f"{case}: the slopes have the shape of x, yours {found.shape}"
        )
        assert np.allclose(found, wanted, rtol=1e-5, atol=1e-5), (
            f"{case}: off by up to {abs(found - wanted).max():.3g}"
        )
        assert found.dtype.name == "float32", (
            f"{case}: float32 slopes expected, yours are {found.dtype}"
        )
        assert all(np.array_equal(a, b) for a, b in zip((g, out, x), kept)), (
            f"{case}: an input was changed"
        )


def test_pooling_is_known_to_the_walk():
    x = Variable(np.array([[[[1.0, 5.0, 2.0, 8.0]]]], "float32"))
    apply(max_pool2d_forward, x, kernel=(1, 2), stride=(1, 2), padding=(0, 0)).backward(
        np.array([[[[3.0, -2.0]]]])
    )
    assert np.array_equal(x.grad, [[[[0, 3, 0, -2]]]]), (
        f"1 5 | 2 8 with slopes 3 and -2: 0 3 0 -2, yours {x.grad}"
    )


# %% max-rule hidden points=1
def test_slopes_of_other_pools():
    random = np.random.default_rng(53)
    for shape, kernel, stride, padding in [
        ((1, 2, 5, 7), (3, 3), (1, 1), (1, 0)),
        ((3, 1, 8, 4), (2, 4), (3, 1), (1, 2)),
        ((2, 2, 3, 3), (1, 1), (2, 2), (0, 0)),
    ]:
        x = random.integers(0, 3, shape).astype("float64") - 7
        filled = np.full(
            (*shape[:2], shape[2] + 2 * padding[0], shape[3] + 2 * padding[1]), -np.inf
        )
        filled[:, :, padding[0] : padding[0] + shape[2], padding[1] : padding[1] + shape[3]] = x
        rows, across = [(n - k) // s + 1 for n, k, s in zip(filled.shape[2:], kernel, stride)]
        out, wanted = np.zeros((*shape[:2], rows, across)), np.zeros(filled.shape)
        g = random.normal(size=out.shape)
        for n, c, p, q in np.ndindex(*out.shape):
            a, b = p * stride[0], q * stride[1]
            window = filled[n, c, a : a + kernel[0], b : b + kernel[1]]
            out[n, c, p, q] = window.max()
            i, j = np.argwhere(window == window.max())[0]
            wanted[n, c, a + i, b + j] += g[n, c, p, q]
        wanted = wanted[
            :, :, padding[0] : padding[0] + shape[2], padding[1] : padding[1] + shape[3]
        ]
        case = f"x {shape}, kernel {kernel}, stride {stride}, padding {padding}"
        found = max_pool2d_forward(x, kernel, stride, padding)
        assert np.array_equal(found, out), f"{case}: the maxima are {out}, got {found}"
        leaf = Variable(x)
        apply(max_pool2d_forward, leaf, kernel=kernel, stride=stride, padding=padding).backward(
            g
        )
        assert leaf.grad.shape == shape and np.allclose(
            leaf.grad, wanted, rtol=1e-9, atol=1e-9
        ), f"{case}: {wanted} expected, got {leaf.grad}"


# %% avg-rule points=2
def test_every_number_of_a_window_gets_its_share():
    random = np.random.default_rng(59)
    for kernel, stride, padding in [
        ((2, 2), (2, 2), (0, 0)),
        ((2, 3), (1, 2), (0, 0)),
        ((3, 2), (2, 1), (1, 1)),
        ((4, 1), (3, 3), (2, 0)),
        ((2, 2), (4, 5), (0, 0)),
    ]:
        x = random.normal(size=(2, 3, 6, 9)).astype("float32")
        rows, across = [
            (n + 2 * p - k) // s + 1 for n, p, k, s in zip((6, 9), padding, kernel, stride)
        ]
        g = random.normal(size=(2, 3, rows, across)).astype("float32")
        wanted = np.zeros((2, 3, 6 + 2 * padding[0], 9 + 2 * padding[1]))
        for p, q in np.ndindex(rows, across):
            a, b = p * stride[0], q * stride[1]
            wanted[:, :, a : a + kernel[0], b : b + kernel[1]] += g[
                :, :, p : p + 1, q : q + 1
            ] / (kernel[0] * kernel[1])
        wanted = wanted[:, :, padding[0] : padding[0] + 6, padding[1] : padding[1] + 9]
        kept = g.copy()
        found = avg_pool2d_rule(g, None, x, kernel, stride, padding)
        case = f"x (2, 3, 6, 9), kernel {kernel}, stride {stride}, padding {padding}"
        assert found.shape == x.shape, (
            f"{case}: the slopes have the shape of x, yours {found.shape}"
        )
        assert np.allclose(found, wanted, rtol=1e-5, atol=1e-5), (
            f"{case}: off by up to {abs(found - wanted).max():.3g}. Each of the "
            f"{kernel[0] * kernel[1]} numbers of a window gets that part of its slope, and"
            " adds up what it gets from several"
        )
        assert found.dtype.name == "float32", (
            f"{case}: float32 slopes expected, yours are {found.dtype}"
        )
        assert np.array_equal(g, kept), f"{case}: g was changed"


def test_averaging_is_known_to_the_walk():
    x = Variable(np.array([[[[1.0, 5.0, 2.0, 8.0]]]], "float32"))
    out = apply(avg_pool2d_forward, x, kernel=(1, 2), stride=(1, 2), padding=(0, 0))
    out.backward(np.array([[[[3.0, -2.0]]]]))
    assert np.array_equal(x.grad, [[[[1.5, 1.5, -1, -1]]]]), (
        f"two means with slopes 3 and -2: 1.5 1.5 -1 -1, yours {x.grad}"
    )


# %% field points=2
def test_fields_against_walking_back():
    for layers in [
        [],
        [(3, 1)],
        [(3, 1)] * 5,
        [(5, 1), (2, 2), (3, 1)],
        [(3, 1), (2, 2)] * 3,
        [(2, 3), (4, 2), (3, 1)],
        [(1, 2), (3, 1)],
        [(7, 2), (3, 2), (1, 1), (3, 1)],
        [(2, 2)] * 4,
    ]:
        first, last = 0, 0  # the numbers of each layer that one number behind it is made of
        for kernel, stride in reversed(layers):
            first, last = first * stride, last * stride + kernel - 1
        wanted = last - first + 1
        found = receptive_field(list(layers))
        assert found == wanted, (
            f"layers {layers}, as (kernel, stride): one number sees {wanted} pixels, yours says"
            f" {found}. The steps of a layer are as far apart as the strides of the layers "
            "before it, multiplied, make them"
        )


def test_fields_against_slopes():
    for layers in [[(3, 1), (2, 2), (3, 1)], [(3, 2), (4, 3)], [(5, 2), (2, 1)]]:
        x = Variable(np.ones((1, 1, 1, 40)))
        y = x
        for kernel, stride in layers:
            y = conv2d(y, np.ones((1, 1, 1, kernel)), stride=(1, stride))
        g = np.zeros(y.shape)
        g[..., 1] = 1
        y.backward(g)
        wanted = int((x.grad != 0).sum())
        found = receptive_field(layers)
        assert found == wanted, (
            f"layers {layers}: {wanted} pixels have a slope with respect to one result, yours "
            f"says {found}"
        )


# %% cost points=2
def test_costs_counted_by_hand():
    for images, weights, stride, padding, wanted in [
        ((1, 1, 1, 3), (1, 1, 1, 2), 1, 0, 4),
        ((32, 8, 12, 12), (16, 8, 5, 5), 1, 0, 6_553_600),
        ((2, 3, 5, 8), (4, 3, 2, 3), 1, 0, 2 * 4 * 4 * 6 * 18),
        ((2, 3, 5, 8), (4, 3, 2, 3), (3, 2), 0, 2 * 4 * 2 * 3 * 18),
        ((2, 3, 5, 8), (4, 3, 2, 3), 2, (0, 1), 2 * 4 * 2 * 4 * 18),
        ((7, 2, 4, 4), (3, 2, 1, 1), 1, (1, 0), 7 * 3 * 6 * 4 * 2),
    ]:
        found = conv2d_cost(images, weights, stride, padding)
        assert found == wanted, (
            f"images {images}, weights {weights}, stride {stride}, padding {padding}: {wanted} "
            f"multiply-adds, yours {found}. Each number that comes out takes as many as its"
            " kernel has weights"
        )


def test_costs_against_counting_products():
    for images, weights, stride, padding in [
        ((2, 3, 5, 8), (4, 3, 2, 3), (1, 2), (2, 1)),
        ((3, 1, 6, 4), (2, 1, 5, 3), 3, 1),
    ]:
        ones = conv2d(
            Tensor(np.ones(images)), Tensor(np.ones(weights)), stride=stride, padding=padding
        )
        wanted = ones.size * weights[1] * weights[2] * weights[3]
        found = conv2d_cost(images, weights, stride, padding)
        assert found == wanted, (
            f"images {images}, weights {weights}, stride {stride}, padding {padding}: {wanted},"
            f" yours {found}"
        )
