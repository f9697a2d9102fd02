# The checks of lesson 10, by exercise. `check("loops")` in the chapter runs the visible ones.

# %% setup
import math

import numpy as np

from tinytorch.core.tensor import Tensor, Variable, apply


def windows_of(x, kernel, stride=(1, 1), padding=(0, 0), value=0):
    """Every window of the images: shape (batch, channels, rows, columns, *kernel)."""
    sides = [(0, 0), (0, 0), *[(n, n) for n in padding]]
    x = np.pad(x, sides, constant_values=value)
    windows = np.lib.stride_tricks.sliding_window_view(x, kernel, axis=(2, 3))
    return windows[:, :, :: stride[0], :: stride[1]]


def convolution(x, weights, bias, stride=(1, 1), padding=(0, 0)):
    """The convolution as one einsum over all windows."""
    windows = windows_of(x, weights.shape[2:], stride, padding)
    return np.einsum("ncpqij,ocij->nopq", windows, weights) + bias[:, None, None]


def add_to_windows(parts, shape, stride, padding):
    """Images of `shape` to whose windows `parts` (batch, channels, rows, columns, *kernel) were
    added."""
    kernel = parts.shape[4:]
    x = np.zeros((*shape[:2], shape[2] + 2 * padding[0], shape[3] + 2 * padding[1]))
    for p, q in np.ndindex(*parts.shape[2:4]):
        a, b = p * stride[0], q * stride[1]
        x[:, :, a : a + kernel[0], b : b + kernel[1]] += parts[:, :, p, q]
    return x[:, :, padding[0] : padding[0] + shape[2], padding[1] : padding[1] + shape[3]]


def result_of(call, case, cause):
    """What `call` returns. A complaint of NumPy's about shapes becomes a message.

    cause  its likely cause, or {words of NumPy's complaint: likely cause}
    """
    try:
        return call()
    except (ValueError, IndexError, TypeError) as error:
        complaint = str(error).strip().removesuffix(".")
        if isinstance(cause, dict):
            cause = next((one for words, one in cause.items() if words in complaint), "")
        assert False, f"{case}: {type(error).__name__}: {complaint}. {cause}"


def expect(found, wanted, case, shape="", numbers="", near=0):
    """Assert that `found` has the shape and the numbers of `wanted`.

    shape, numbers  the likely causes if it does not
    near            relative and absolute tolerance
    """
    wanted = np.asarray(wanted)
    assert found is not None, f"{case}: yours returns None. Is `return` missing?"
    assert np.shape(found) == wanted.shape, (
        f"{case}: the shape should be {wanted.shape}, yours is {np.shape(found)}. {shape}"
    )
    found = np.asarray(found)
    if not np.allclose(found, wanted, rtol=near, atol=near, equal_nan=True):
        if wanted.size <= 16:
            difference = f"should be {wanted.tolist()}, yours is {found.tolist()}"
        else:
            wrong = ~np.isclose(found, wanted, rtol=near, atol=near)
            first = tuple(np.argwhere(wrong)[0].tolist())
            difference = (
                f"{wrong.mean():.0%} of the numbers are wrong, the first at {first}: it should "
                f"be {wanted[first]:.5g}, yours is {found[first]:.5g}"
            )
        assert False, f"{case}: {difference}. {numbers}"


# %% output-size points=3
def test_output_size_by_hand():
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
            f"output_size({length}, {kernel}, stride={stride}, padding={padding}) should be "
            f"{wanted}, yours is {found}. The first window starts at 0, a window that reaches "
            "beyond the end does not count, and padding is at both ends"
        )
    assert output_size(9, 4) == 6, (
        "the default is stride 1 and padding 0: output_size(9, 4) should be 6, yours is "
        f"{output_size(9, 4)}"
    )


def test_output_size_counts_every_position():
    for length in range(1, 9):
        for kernel in range(1, 7):
            for stride in range(1, 5):
                for padding in range(3):
                    wanted = len(range(0, length + 2 * padding - kernel + 1, stride))
                    if wanted:
                        found = output_size(length, kernel, stride, padding)
                        assert found == wanted, (
                            f"output_size({length}, {kernel}, stride={stride}, "
                            f"padding={padding}): {wanted} windows fit, yours is {found}"
                        )


def test_a_kernel_that_does_not_fit_is_refused():
    for length, kernel, stride, padding in [
        (4, 5, 1, 0),
        (4, 5, 3, 0),
        (2, 7, 2, 2),
        (3, 9, 1, 1),
    ]:
        call = f"output_size({length}, {kernel}, stride={stride}, padding={padding})"
        try:
            found = output_size(length, kernel, stride, padding)
        except ValueError as error:
            for number in (length, kernel, padding, stride):
                assert str(number) in str(error), (
                    f"the error of {call} should contain all four numbers, yours says: {error}"
                )
        else:
            assert False, (
                f"{call}: the kernel does not fit, so this should raise a ValueError; yours "
                f"returns {found}"
            )
    assert output_size(5, 5) == 1, (
        f"a kernel of 5 fits into 5 numbers once, yours is {output_size(5, 5)}"
    )


# %% loops points=4
def test_a_small_convolution_by_hand():
    x = np.array([[[[1, 2, 0, 4], [5, 6, 7, 8], [9, 1, 2, 3]]]], "float32")
    weights, bias = np.array([[[[1, 0], [-2, 3]]]], "float32"), np.array([100], "float32")
    case = f"the image {x[0, 0].tolist()}, kernel [[1, 0], [-2, 3]], bias 100"
    out = result_of(
        lambda: conv2d_loops(x, weights, bias),
        case,
        "A window and the weights of one kernel have the same shape; their sum is one number",
    )
    first = [1 - 10 + 18, 2 - 12 + 21, 0 - 14 + 24]
    second = [5 - 18 + 3, 6 - 2 + 6, 7 - 4 + 9]
    wanted = 100 + np.array([[[first, second]]])
    if np.array_equal(out, convolution(x, weights[:, :, ::-1, ::-1], bias)):
        cause = "You turn the kernel by 180 degrees; a cross-correlation uses it as it is"
    elif np.array_equal(out, wanted - 100):
        cause = "The bias is missing"
    elif np.array_equal(out, wanted + 300):
        cause = "The bias is added once for each output number, after the sum"
    else:
        cause = "Output (p, q) is the sum of window times kernel, plus the bias once"
    expect(out, wanted, case, numbers=cause)


def test_all_channels_and_both_strides_are_used():
    random = np.random.default_rng(0)
    x = random.normal(size=(2, 3, 5, 7)).astype("float32")
    weights = random.normal(size=(4, 3, 2, 4)).astype("float32")
    bias = np.array([10, -20, 0.5, 3], "float32")
    for stride in [(1, 1), (1, 3), (2, 1), (3, 2)]:
        out = result_of(
            lambda: conv2d_loops(x, weights, bias, stride),
            f"x (2, 3, 5, 7), weights (4, 3, 2, 4), stride {stride}",
            "A window of x[n] has all channels, rows from p * stride[0], and columns from "
            "q * stride[1]",
        )
        expect(
            out,
            convolution(x, weights, bias, stride),
            f"x (2, 3, 5, 7), weights (4, 3, 2, 4), stride {stride}",
            numbers="Every kernel sums over all 3 channels; the first stride is for rows, the "
            "second for columns",
            near=1e-4,
        )
        assert out.dtype.name == "float32", f"the inputs are float32, your output {out.dtype}"


# %% learner-side
def written_through(x, i, j, size, stride, number):
    """A copy of `x` after `number` was written into what `patches` returned for it."""
    x = x.copy()
    patches(x, i, j, size, stride)[...] = number
    return x


# %% patches points=3
def test_each_window_gives_one_pixel():
    x = np.arange(2 * 3 * 7 * 9).reshape(2, 3, 7, 9)
    for kernel, stride in [
        ((1, 1), (1, 1)),
        ((3, 2), (1, 1)),
        ((3, 2), (2, 3)),
        ((2, 5), (3, 1)),
        ((7, 9), (2, 2)),
    ]:
        size = (7 - kernel[0]) // stride[0] + 1, (9 - kernel[1]) // stride[1] + 1
        for i, j in np.ndindex(*kernel):
            expect(
                patches(x, i, j, size, stride),
                windows_of(x, kernel, stride)[..., i, j],
                f"x (2, 3, 7, 9), weight ({i}, {j}), {size} windows, stride {stride}",
                shape="Slice the last two axes. A slice ends before its stop; it should hold "
                "one pixel per window, and none of windows that do not exist",
                numbers=f"Window (p, q) has its pixel at row p * {stride[0]} + {i} and column "
                f"q * {stride[1]} + {j}",
            )


def test_any_number_of_leading_axes():
    for shape in [(5, 6), (4, 5, 6), (2, 1, 3, 5, 6)]:
        x = np.arange(math.prod(shape)).reshape(shape)
        case = f"x {shape}, weight (1, 0), (2, 4) windows, stride (2, 1)"
        found = result_of(
            lambda: patches(x, 1, 0, (2, 4), (2, 1)),
            case,
            "Slice the last two axes, x[..., rows, columns]: `...` stands for any number of "
            "axes",
        )
        expect(
            found,
            x[..., [1, 3], :][..., [0, 1, 2, 3]],
            case,
            shape="Slice the last two axes: x[..., rows, columns]; `...` stands for all others",
            numbers="It should hold rows 1 and 3 and columns 0 to 3. Slice the last two axes: "
            "x[..., rows, columns]",
        )


def test_patches_are_a_view():
    x = np.zeros((2, 5, 6), "float32")
    found = written_through(x, 1, 2, (2, 2), (2, 3), 7)
    wanted = np.zeros((2, 5, 6))
    for row, column in [(1, 2), (1, 5), (3, 2), (3, 5)]:
        wanted[:, row, column] = 7
    case = "after patches(x, 1, 2, (2, 2), (2, 3))[...] = 7"
    assert found.any(), (
        f"{case}, x is still 0 everywhere: yours is a copy. A slice is a view of x, so writing "
        "to it changes x. Index arrays make copies"
    )
    assert np.array_equal(found, wanted), (
        f"{case}, x should be 7 at rows 1 and 3 and columns 2 and 5 of each image; yours is a "
        f"view of other pixels: {found[0].tolist()}"
    )


# %% patches hidden points=1
def test_patches_of_other_images():
    for shape, i, j, size, stride in [
        ((11,) * 2, 4, 0, (2, 11), (6, 1)),
        ((3, 0, 8, 5), 2, 3, (3, 1), (2, 4)),
        ((1, 1, 9, 12), 0, 5, (9, 2), (1, 6)),
        ((2, 4, 4), 3, 3, (1, 1), (5, 5)),
    ]:
        x = np.random.default_rng(3).normal(size=shape)
        rows = [i + stride[0] * p for p in range(size[0])]
        columns = [j + stride[1] * q for q in range(size[1])]
        wanted = x[..., rows, :][..., columns]
        found = patches(stride=stride, size=size, j=j, i=i, x=x)
        expect(found, wanted, f"{shape}, weight ({i}, {j}), windows {size}, stride {stride}")
        after = written_through(x, i, j, size, stride, -2.5)
        assert (after == -2.5).sum() == wanted.size, (
            f"{shape}: {wanted.size} numbers should be written, {(after == -2.5).sum()} are"
        )


# %% im2col points=6
def test_a_column_is_a_window_with_all_its_channels():
    x = np.arange(24).reshape(1, 2, 3, 4)
    case = "x = 0 ... 23 of shape (1, 2, 3, 4), kernel (2, 2)"
    found = result_of(
        lambda: im2col(x, (2, 2)),
        case,
        "Make room for (batch, channels, kernel height, kernel width, rows, columns) and "
        "reshape at the end",
    )
    assert np.shape(found) == (1, 8, 6), (
        f"{case}: 2 * 2 * 2 weights and 2 * 3 windows, so the shape should be (1, 8, 6), yours "
        f"is {np.shape(found)}"
    )
    for window, wanted in [
        (0, [0, 1, 4, 5, 12, 13, 16, 17]),
        (1, [1, 2, 5, 6, 13, 14, 17, 18]),
        (3, [4, 5, 8, 9, 16, 17, 20, 21]),
    ]:
        column = found[0, :, window].tolist()
        if sorted(column) == wanted:
            cause = "The right pixels in another order: first all of channel 0, then channel 1"
        else:
            cause = (
                "Yours mixes windows or channels: reshape keeps the order of the numbers, so "
                "the axes must be in the right order before it"
            )
        assert column == wanted, (
            f"{case}: column {window} should be {wanted}, yours is {column}. {cause}"
        )


def test_columns_for_any_stride_and_padding():
    x = np.random.default_rng(5).normal(size=(2, 3, 5, 8)).astype("float32")
    for kernel, stride, padding in [
        ((3, 2), (1, 1), (0, 0)),
        ((2, 3), (2, 3), (0, 0)),
        ((3, 4), (1, 2), (2, 1)),
        ((5, 1), (3, 1), (0, 3)),
        ((1, 1), (1, 1), (1, 0)),
    ]:
        windows = windows_of(x, kernel, stride, padding)
        case = f"x (2, 3, 5, 8), kernel {kernel}, stride {stride}, padding {padding}"
        found = result_of(
            lambda: im2col(x, kernel, stride, padding),
            case,
            "Pad first, and compute the number of windows with stride and padding",
        )
        wanted = windows.transpose(0, 1, 4, 5, 2, 3).reshape(2, 3 * math.prod(kernel), -1)
        cause = ""
        if np.shape(found) == wanted.shape:
            if np.array_equal(np.sort(found, axis=1), np.sort(wanted, axis=1)):
                cause = (
                    "The right pixels in another order: rows follow the order of the weights"
                )
            elif np.array_equal(np.sort(found, axis=None), np.sort(wanted, axis=None)):
                cause = "The right numbers at other places: are axes in the right order?"
            elif any(padding):
                cause = "Windows begin in the padding, which is 0 on all four sides"
            elif stride[0] != stride[1]:
                cause = "The first number of the stride is for rows, the second for columns"
        expect(
            found,
            wanted,
            case,
            shape="Is the padding applied, and counted in the number of windows?",
            numbers=cause,
        )
        assert found.dtype.name == "float32", (
            f"{case}: x is float32, your columns are {found.dtype}"
        )
    assert np.shape(im2col(x[:0], (2, 2))) == (0, 12, 28), (
        "an empty batch, x (0, 3, 5, 8), should give columns of shape (0, 12, 28)"
    )


def test_columns_are_a_new_array():
    x = np.arange(6.0).reshape(1, 1, 2, 3)
    kept = x.copy()
    found = im2col(x, (1, 1))
    assert np.array_equal(x, kept), "im2col changed x"
    expect(found, kept.reshape(1, 1, 6), "x = 0 ... 5 of shape (1, 1, 2, 3), kernel (1, 1)")


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
        found = im2col(padding=padding, stride=stride, kernel_size=kernel, x=x)
        windows = windows_of(x, kernel, stride, padding)
        right = windows.transpose(0, 1, 4, 5, 2, 3).reshape(
            shape[0], shape[1] * math.prod(kernel), math.prod(windows.shape[2:4])
        )
        case = f"{dtype} {shape}, kernel {kernel}, stride {stride}, padding {padding}"
        expect(found, right, case)
        assert found.dtype.name == dtype, f"{case}: yours is {found.dtype}"
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
        ((3, 2), (2, 2), (1, 0)),
    ]:
        x, weights = random.normal(size=(2, 3, 5, 7)), random.normal(size=(4, 3, *kernel))
        bias = np.array([10.0, -20.0, 0.5, 3.0])
        wanted = convolution(x, weights, bias, stride, padding)
        kept = x.copy(), weights.copy(), bias.copy()
        case = f"x (2, 3, 5, 7), weights {weights.shape}, stride {stride}, padding {padding}"
        out = result_of(
            lambda: im2col_forward(x, weights, bias, stride, padding),
            case,
            {
                "matmul": "Print the shapes of both factors: the inner axes must both be K",
                "broadcast": "The bias of shape (out,) needs another axis, (out, 1), to "
                "broadcast over the windows",
                "reshape": "The product should hold one number for each output channel and "
                "window: print its shape",
            },
        )
        cause = ""
        if np.shape(out) == wanted.shape and np.allclose(out + bias[:, None, None], wanted):
            cause = "The bias is missing"
        elif np.shape(out) == wanted.shape:
            cause = (
                "W has one row per kernel, (out, K), and bias o is added to all windows of "
                "output channel o"
            )
        expect(
            out,
            wanted,
            case,
            shape="Are stride and padding passed to im2col and to output_shape?",
            numbers=cause,
            near=1e-9,
        )
        assert all(np.array_equal(a, b) for a, b in zip((x, weights, bias), kept)), (
            f"{case}: an input was changed"
        )


def test_the_bias_is_added_once_to_each_channel():
    x, weights, bias = np.ones((2, 1, 3, 4)), np.zeros((3, 1, 2, 2)), np.array([1.0, -2.0, 5.0])
    out = result_of(
        lambda: im2col_forward(x, weights, bias, (1, 1), (0, 0)),
        "3 kernels of zeros, 6 windows, bias [1, -2, 5]",
        {
            "broadcast": "The product has shape (batch, 3, 6) and the bias (3,): NumPy aligns "
            "the bias with the 6 windows. Which axis is missing?"
        },
    )
    wanted = np.zeros((2, 3, 2, 3)) + bias[:, None, None]
    expect(
        out,
        wanted,
        "3 kernels of zeros, bias [1, -2, 5]",
        numbers="With weights of 0, every number of output channel o is bias o",
    )


def test_forward_keeps_the_dtype():
    for dtype in ("float32", "float64"):
        x, weights = np.ones((1, 2, 4, 4), dtype), np.ones((3, 2, 2, 2), dtype)
        out = im2col_forward(x, weights, np.ones(3, dtype), (1, 1), (1, 1))
        assert out.dtype.name == dtype, f"the inputs are {dtype}, your output is {out.dtype}"
        assert out.shape == (1, 3, 5, 5) and out[0, 2, 1, 1] == 9, (
            f"ones everywhere: 8 products and a bias are 9, yours is {out[0, 2].tolist()}"
        )


def test_forward_of_an_empty_batch():
    x, weights = np.ones((0, 2, 4, 6), "float32"), np.ones((3, 2, 3, 3), "float32")
    out = result_of(
        lambda: im2col_forward(x, weights, np.ones(3, "float32"), (1, 2), (0, 1)),
        "x (0, 2, 4, 6), weights (3, 2, 3, 3), stride (1, 2), padding (0, 1)",
        {
            "cannot reshape": "NumPy cannot infer a length of -1 for an empty batch: write all "
            "lengths out"
        },
    )
    expect(out, np.zeros((0, 3, 2, 3)), "an empty batch, x (0, 2, 4, 6)")


# %% bias-gradient points=1
def test_the_gradient_of_the_bias_is_a_sum_over_images_and_positions():
    g = np.random.default_rng(12).normal(size=(3, 2, 4, 5)).astype("float32")
    kept = g.copy()
    case = "g of shape (3, 2, 4, 5)"
    found = result_of(
        lambda: bias_gradient(
            g, None, np.ones((3, 1, 4, 5)), np.ones((2, 1, 1, 1)), np.ones(2), (1, 1), (0, 0)
        ),
        case,
        "Sum over the axes 0, 2 and 3: images, rows, columns",
    )
    wanted = g.astype("float64").sum(axis=3).sum(axis=2).sum(axis=0)
    cause = "Bias o is added to all 3 * 4 * 5 numbers of output channel o: sum their gradients"
    if np.shape(found) == (2,) and np.allclose(found, wanted / 60, rtol=1e-4):
        cause = "Yours is 60 times too small: take the sum, not the mean"
    expect(
        found,
        wanted,
        case,
        shape="One gradient per output channel: sum over images, rows and columns",
        numbers=cause,
        near=1e-4,
    )
    assert found.dtype.name == "float32", f"g is float32, your gradient {found.dtype}"
    assert np.array_equal(g, kept), "g was changed"


# %% weight-gradient points=2
def test_the_gradient_of_the_weights_by_its_definition():
    random = np.random.default_rng(19)
    for kernel, stride, padding in [
        ((2, 4), (1, 1), (0, 0)),
        ((2, 3), (2, 1), (0, 0)),
        ((3, 1), (1, 3), (1, 2)),
        ((1, 1), (2, 2), (0, 1)),
        ((3, 3), (2, 2), (1, 1)),
    ]:
        x, weights = random.normal(size=(2, 3, 6, 7)), random.normal(size=(4, 3, *kernel))
        windows = windows_of(x, kernel, stride, padding)
        g = random.normal(size=(2, 4, *windows.shape[2:4]))
        kept = g.copy(), x.copy()
        case = f"x (2, 3, 6, 7), weights {weights.shape}, stride {stride}, padding {padding}"
        found = result_of(
            lambda: im2col_weight_gradient(
                g, g * 0 + 7, x, weights, np.zeros(4), stride, padding
            ),
            case,
            {
                "matmul": "The inner axes must both be P. Is one factor transposed, and do the "
                "columns have the stride and padding of the forward pass?",
                "reshape": "There is one gradient for each image, and all images use the same "
                "weights: what happens to their gradients?",
            },
        )
        wanted = np.einsum("ncpqij,nopq->ocij", windows, g)
        cause = "Each weight receives the sum of g times the pixel under it, over all windows"
        if np.shape(found) == wanted.shape and np.allclose(np.asarray(found) * 2, wanted):
            cause = "Yours is half of it with 2 images: sum over the images, no mean"
        expect(
            found,
            wanted,
            case,
            shape="It should have the shape of the weights: sum over the images",
            numbers=cause,
            near=1e-9,
        )
        assert np.array_equal(g, kept[0]) and np.array_equal(x, kept[1]), (
            f"{case}: an input was changed"
        )


def test_the_gradient_of_the_weights_keeps_the_dtype():
    x, weights = np.ones((3, 1, 4, 5), "float32"), np.ones((2, 1, 2, 2), "float32")
    g = np.ones((3, 2, 3, 4), "float32")
    found = im2col_weight_gradient(g, None, x, weights, None, (1, 1), (0, 0))
    expect(
        found,
        np.full((2, 1, 2, 2), 36),
        "3 images of 12 windows, everything 1",
        numbers="Each weight is used 3 * 12 times: sum over images and windows, no mean",
    )
    assert found.dtype.name == "float32", (
        f"all inputs are float32, your gradient is {found.dtype}"
    )


# %% col2im points=4
def test_overlapping_windows_are_added():
    found = result_of(
        lambda: col2im(np.ones((1, 2, 2)), (1, 1, 1, 3), (1, 2)),
        "columns of ones for 3 pixels and a kernel of 2",
        "Reshape the columns to (batch, channels, kernel height, kernel width, rows, columns) "
        "first, then add one kernel position after the other",
    )
    expect(
        found,
        [[[[1, 2, 1]]]],
        "columns of ones for 3 pixels and a kernel of 2",
        numbers="The middle pixel is in two windows. Add to what is there, do not assign",
    )
    expect(
        col2im(np.ones((1, 9, 9)), (1, 1, 5, 5), (3, 3))[0, 0],
        np.outer([1, 2, 3, 2, 1], [1, 2, 3, 2, 1]),
        "columns of ones for 5 by 5 pixels and a kernel of 3 by 3",
        numbers="The middle pixel is in 9 windows, a corner in one",
    )


def test_col2im_adds_each_copy_to_its_pixel():
    random = np.random.default_rng(13)
    for shape, kernel, stride, padding in [
        ((2, 3, 5, 8), (3, 2), (1, 1), (0, 0)),
        ((2, 3, 5, 8), (2, 3), (2, 3), (0, 0)),
        ((1, 2, 4, 6), (3, 4), (1, 2), (2, 1)),
        ((2, 1, 7, 3), (2, 1), (3, 2), (0, 1)),
    ]:
        number = np.arange(1, 1 + np.prod(shape)).reshape(shape)  # of each pixel; 0 is padding
        came_from = windows_of(number, kernel, stride, padding).transpose(0, 1, 4, 5, 2, 3)
        came_from = came_from.reshape(shape[0], shape[1] * kernel[0] * kernel[1], -1)
        columns = random.normal(size=came_from.shape)
        kept = columns.copy()
        sums = np.bincount(came_from.ravel(), columns.ravel(), 1 + np.prod(shape))
        case = f"images {shape}, kernel {kernel}, stride {stride}, padding {padding}"
        found = result_of(
            lambda: col2im(columns, shape, kernel, stride, padding),
            case,
            "The columns reshape to (batch, channels, kernel height, kernel width, rows, "
            "columns); add into zeros of the padded size",
        )
        expect(
            found,
            sums[1:].reshape(shape),
            case,
            shape="The result has the shape of the images, without padding",
            numbers="Each number of the columns goes to the pixel it was copied from; those of "
            "the padding are dropped",
            near=1e-9,
        )
        assert np.array_equal(columns, kept), f"{case}: the columns were changed"


def test_pixels_in_no_window_receive_zero():
    found = col2im(np.ones((1, 1, 6), "float32"), (1, 1, 3, 5), (1, 1), (2, 2))
    wanted = np.zeros((1, 1, 3, 5))
    wanted[..., ::2, ::2] = 1
    expect(found, wanted, "3 by 5 pixels, kernel (1, 1), stride (2, 2), columns of ones")
    assert found.dtype.name == "float32", (
        f"the columns are float32, your result is {found.dtype}"
    )


def test_col2im_of_an_empty_batch():
    found = col2im(np.ones((0, 8, 6)), (0, 2, 3, 4), (2, 2))
    expect(found, np.zeros((0, 2, 3, 4)), "an empty batch")


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
        parts = columns.reshape(*shape[:2], *kernel, rows, across).transpose(0, 1, 4, 5, 2, 3)
        found = col2im(
            padding=padding, stride=stride, kernel_size=kernel, shape=shape, columns=columns
        )
        case = f"{shape}, kernel {kernel}, stride {stride}, padding {padding}"
        expect(found, add_to_windows(parts, shape, stride, padding), case, near=1e-5)
        assert found.dtype.name == "float32", f"{case}: yours is {found.dtype}"


# %% input-gradient points=2
def test_the_gradient_of_the_input_by_its_definition():
    random = np.random.default_rng(23)
    for kernel, stride, padding in [
        ((2, 4), (1, 1), (0, 0)),
        ((2, 3), (2, 1), (0, 0)),
        ((3, 1), (1, 3), (1, 2)),
        ((1, 1), (2, 2), (0, 1)),
        ((3, 3), (2, 2), (1, 1)),
    ]:
        x, weights = random.normal(size=(2, 3, 6, 7)), random.normal(size=(4, 3, *kernel))
        g = random.normal(size=(2, 4, *windows_of(x, kernel, stride, padding).shape[2:4]))
        kept = g.copy(), weights.copy()
        case = f"x (2, 3, 6, 7), weights {weights.shape}, stride {stride}, padding {padding}"
        found = result_of(
            lambda: im2col_input_gradient(
                g, g * 0 + 7, x, weights, np.zeros(4), stride, padding
            ),
            case,
            {
                "matmul": "Print the shapes of both factors: the inner axes must both be out",
                "reshape": "Does col2im get the stride and padding of the forward pass, and "
                "the shape of x without padding?",
            },
        )
        wanted = add_to_windows(
            np.einsum("nopq,ocij->ncpqij", g, weights), x.shape, stride, padding
        )
        expect(
            found,
            wanted,
            case,
            shape="It should have the shape of x. Is the padding cropped?",
            numbers="A pixel receives, from each window that holds it, the weight on it times "
            "g, summed over all kernels",
            near=1e-9,
        )
        assert np.array_equal(g, kept[0]) and np.array_equal(weights, kept[1]), (
            f"{case}: an input was changed"
        )


def test_the_gradient_of_the_input_keeps_the_dtype():
    x, weights = np.ones((3, 2, 4, 5), "float32"), np.ones((6, 2, 1, 1), "float32")
    g = np.ones((3, 6, 4, 5), "float32")
    found = im2col_input_gradient(g, None, x, weights, None, (1, 1), (0, 0))
    expect(found, np.full((3, 2, 4, 5), 6), "6 kernels of 1 by 1, everything 1")
    assert found.dtype.name == "float32", (
        f"all inputs are float32, your gradient is {found.dtype}"
    )


# %% conv2d points=7
def test_conv2d_by_its_definition():
    random = np.random.default_rng(29)
    for channels, kernel, stride, padding in [
        (3, (2, 4), 1, 0),
        (3, 3, 2, (1, 2)),
        (3, (7, 4), 1, (1, 0)),  # fits into 5 rows only because of the padding
        (9, (3, 2), (2, 1), 1),
        (12, 1, (1, 3), (0, 2)),
    ]:
        pairs = [(n, n) if isinstance(n, int) else n for n in (kernel, stride, padding)]
        x = random.normal(size=(2, channels, 5, 7))
        weights = random.normal(size=(4, channels, *pairs[0]))
        bias = np.array([10.0, -20.0, 0.5, 3.0])
        for given, added in [(Tensor(bias), bias), (None, np.zeros(4))]:
            case = f"x {x.shape}, weights {weights.shape}, stride {stride}, padding {padding}, "
            case += "no bias" if given is None else f"bias {bias.tolist()}"
            out = result_of(
                lambda: conv2d(Tensor(x), Tensor(weights), given, stride, padding),
                case,
                {
                    "do not fit": "This kernel fits into the padded images: count the padding "
                    "on both sides before you refuse a kernel"
                },
            )
            assert hasattr(out, "requires_grad"), (
                f"{case}: conv2d should return a Tensor, as apply does"
            )
            expect(
                out.data,
                convolution(x, weights, added, *pairs[1:]),
                case,
                numbers="Are bias, stride and padding all passed to apply?",
                near=1e-9,
            )


def test_conv2d_propagates_gradients():
    random = np.random.default_rng(31)
    for channels, stride, padding in [
        (2, (1, 1), (0, 0)),
        (2, (2, 1), (1, 2)),
        (8, (1, 2), (0, 1)),
        (9, (2, 3), (2, 0)),
    ]:
        shapes = [(2, channels, 5, 6), (3, channels, 2, 3), (3,)]
        arrays = [random.normal(size=shape) for shape in shapes]
        leaves = [Variable(array) for array in arrays]
        out = conv2d(*leaves, stride, padding)
        case = f"{channels} channels, stride {stride}, padding {padding}"
        assert out.requires_grad, (
            f"{case}: the inputs require gradients and the output does not: call apply, with "
            "tensors"
        )
        g = random.normal(size=out.shape)
        result_of(
            lambda: out.backward(g),
            case,
            {"5 inputs": "Pass options to apply by name: stride=stride, padding=padding"},
        )
        for n, (name, leaf) in enumerate(zip(("x", "weights", "bias"), leaves)):
            # The output is linear in each input, so a central difference is exact.
            direction = random.normal(size=arrays[n].shape)
            ends = [
                conv2d(
                    *[Tensor(a + h * direction if m == n else a) for m, a in enumerate(arrays)],
                    stride,
                    padding,
                )
                for h in (-1e-3, 1e-3)
            ]
            wanted = ((np.asarray(ends[1]) - np.asarray(ends[0])) * g).sum() / 2e-3
            assert leaf.grad is not None and leaf.grad.shape == arrays[n].shape, (
                f"{case}: the gradient of {name} should have shape {arrays[n].shape}"
            )
            found = (leaf.grad * direction).sum()
            assert abs(found - wanted) < 1e-7, (
                f"{case}: along a random direction of {name}, the central difference is "
                f"{wanted:.6f}, backward gives {found:.6f}"
            )


def test_no_bias_is_a_bias_of_zeros():
    x, weights = Variable(np.ones((1, 1, 3, 3))), Variable(np.full((2, 1, 2, 2), 3.0))
    out = result_of(
        lambda: conv2d(x, weights),
        "conv2d(x, weights)",
        {"None": "Replace a bias of None by zeros before you call apply"},
    )
    expect(out.data, np.full((1, 2, 2, 2), 12), "4 ones times 3, without a bias")
    out.backward(np.ones((1, 2, 2, 2)))
    expect(weights.grad, np.full((2, 1, 2, 2), 4), "the gradient of weights used in 4 windows")


def test_a_single_bias_of_zero_is_used():
    bias = Variable([0.0])
    x, weights = np.ones((1, 1, 3, 3), "float32"), np.ones((1, 1, 2, 2), "float32")
    out = conv2d(Tensor(x), Tensor(weights), bias)
    assert out.requires_grad, (
        "one kernel with a bias of 0: the bias was dropped, so it can never learn. Test "
        "`bias is None`, not `if bias`"
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
        case = f"images {images}, weights {kernels}, padding {padding}"
        x, weights = Tensor(np.ones(images, "float32")), Tensor(np.ones(kernels, "float32"))
        try:
            out = conv2d(x, weights, padding=padding)
        except (ValueError, IndexError) as error:
            assert isinstance(error, ValueError), (
                f"{case}: a ValueError is expected, yours is an IndexError: {error}. Test the "
                "number of axes first"
            )
            assert str(images) in str(error) and str(kernels) in str(error), (
                f"{case}: the error should contain both shapes, yours says: {error}"
            )
            assert "// stride + 1" in str(error), (
                f"{case}: the error should contain the formula of the output size, as that of "
                f"shape_error does; yours says: {error}"
            )
        else:
            assert False, f"{case}: this should raise a ValueError, yours returns {out.shape}"


def test_images_of_integers_become_float32():
    weights = Tensor(np.ones((1, 2, 2, 2), "float32"))
    for name, x in [
        ("a uint8 array", np.full((1, 2, 2, 3), 200, "uint8")),
        ("lists", [[[[200] * 3] * 2] * 2]),
        ("an int64 Tensor", Tensor(np.full((1, 2, 2, 3), 200))),
    ]:
        out = conv2d(x, weights)
        expect(out.data, np.full((1, 1, 1, 2), 1600), f"8 pixels of 200, given as {name}")
        assert out.dtype.name == "float32", (
            f"pixels given as {name} become float32, yours are {out.dtype}"
        )


def test_conv2d_keeps_the_dtype():
    for channels in (2, 9):
        for dtype in ("float32", "float64"):
            leaves = [
                Variable(np.ones(shape, dtype))
                for shape in [(2, channels, 4, 5), (3, channels, 2, 2), (3,)]
            ]
            out = conv2d(*leaves)
            assert out.dtype.name == dtype, (
                f"{channels} channels, {dtype}: your output is {out.dtype}"
            )
            out.backward(np.ones(out.shape))
            assert [leaf.grad.dtype.name for leaf in leaves] == [dtype] * 3, (
                f"{channels} channels: the gradients should be {dtype}"
            )
    x, weights = np.ones((1, 1, 3, 3), "float32"), np.ones((1, 1, 2, 2), "float32")
    out = conv2d(Tensor(x), Tensor(weights))
    assert out.dtype.name == "float32", (
        f"without a bias, float32 became {out.dtype}: the zeros need the dtype of the weights"
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
        pairs = [(n, n) if isinstance(n, int) else n for n in (stride, padding)]
        leaves = [Variable(array) for array in (x, weights, bias)]
        out = conv2d(
            padding=padding, stride=stride, bias=leaves[2], weights=leaves[1], x=leaves[0]
        )
        case = f"x {shape}, weights {weights.shape}, stride {stride}, padding {padding}"
        expect(out.data, convolution(x, weights, bias, *pairs), case, near=1e-9)
        g = random.normal(size=out.shape)
        out.backward(g)
        windows = windows_of(x, kernel, *pairs)
        parts = np.einsum("nopq,ocij->ncpqij", g, weights)
        for name, leaf, wanted in zip(
            ("x", "weights", "bias"),
            leaves,
            (
                add_to_windows(parts, shape, *pairs),
                np.einsum("ncpqij,nopq->ocij", windows, g),
                g.sum(axis=(0, 2, 3)),
            ),
        ):
            expect(leaf.grad, wanted, f"{case}: the gradient of {name}", near=1e-9)


def test_other_images_that_do_not_fit():
    for images, kernels, stride, padding in [
        ((2, 4, 5, 6), (3, 2, 2, 2), 1, 0),
        ((1, 1, 2, 9), (1, 1, 5, 1), 2, 1),
        ((5,), (1, 1, 1, 1), 1, 0),
        ((1, 1, 1, 3, 3), (1, 1, 2, 2), 1, 0),
        ((2, 9, 3, 3), (4, 9, 1, 8), 1, (5, 2)),
    ]:
        case = f"{images} with {kernels}, stride {stride}, padding {padding}"
        weights = Tensor(np.ones(kernels, "float32"))
        try:
            out = conv2d(np.ones(images, "float32"), weights, None, stride, padding)
        except ValueError as error:
            for words in (str(images), str(kernels), "// stride + 1"):
                assert words in str(error), f"{case}: {words} expected, the error is {error}"
        else:
            assert False, f"{case}: ValueError expected, got {out.shape}"


# %% layer points=4
def test_a_convolutional_layer_has_two_parameters():
    layer = Conv2d(3, 5, (2, 4))
    found = [
        (name, tuple(tensor.shape), tensor.dtype.name)
        for name, tensor in layer.named_parameters()
    ]
    wanted = [("weights", (5, 3, 2, 4), "float32"), ("bias", (5,), "float32")]
    assert found == wanted, (
        f"the parameters of Conv2d(3, 5, (2, 4)) should be {wanted}, yours are {found}. Are "
        "both Variables, and is the output channel the first axis?"
    )
    assert np.array_equal(np.asarray(layer.bias), np.zeros(5)), (
        f"the bias should start at 0, yours is {layer.bias}"
    )
    alone = Conv2d(3, 5, (2, 4), bias=False)
    assert alone.bias is None and len(alone.parameters()) == 1, (
        f"with bias=False, .bias should be None, yours is {alone.bias}"
    )


def test_initial_weights_have_the_variance_of_their_fans():
    for into, out, kernel in [(3, 64, (5, 7)), (40, 2, (3, 5)), (16, 24, (4, 4))]:
        w = np.asarray(Conv2d(into, out, kernel, rng=3).weights)
        area = kernel[0] * kernel[1]
        wanted, found = 2 / (into * area + out * area), float(np.var(w, dtype="float64"))
        assert abs(found / wanted - 1) < 0.08, (
            f"Conv2d({into}, {out}, {kernel}): fan_in is {into} * {area}, fan_out {out} * "
            f"{area}, so the variance of Xavier initialization is {wanted:.6f}; yours is "
            f"{found:.6f}, {found / wanted:.2f} times as large. Do your fans count the "
            "positions in the kernel?"
        )


def test_init_and_rng_are_used():
    calls = []

    def init(fan_in, fan_out, rng, shape):
        calls.append((fan_in, fan_out, rng, shape))
        return np.full(shape, 0.5, "float32")

    layer = Conv2d(3, 5, (2, 4), init=init, rng=7)
    assert calls == [(24, 40, 7, (5, 3, 2, 4))], (
        "Conv2d(3, 5, (2, 4), rng=7) should call init(24, 40, 7, (5, 3, 2, 4)), yours calls it "
        f"with {calls}: each output depends on 3 * 2 * 4 inputs, each input contributes to "
        "5 * 2 * 4 outputs"
    )
    assert np.array_equal(np.asarray(layer.weights), np.full((5, 3, 2, 4), 0.5)), (
        "the weights should be what init returned"
    )
    first, again, other = [np.asarray(Conv2d(2, 3, 3, rng=seed).weights) for seed in (5, 5, 6)]
    assert np.array_equal(first, again) and not np.array_equal(first, other), (
        "the same seed should give the same weights: pass rng to init"
    )


def test_the_layer_computes_with_its_parameters():
    layer = Conv2d(1, 2, (2, 1), stride=(1, 2), padding=(0, 1))
    layer.load_state_dict({"weights": [[[[1], [-2]]], [[[0], [3]]]], "bias": [10, -20]})
    out = layer(Tensor([[[[1, 2, 3, 4], [5, 7, 9, 6]]]]))
    expect(
        out.data,
        [[[[10, -2, 2]], [[-20, 1, -2]]]],
        "columns 0, 2 and 4 of [[0, 1, 2, 3, 4, 0], [0, 5, 7, 9, 6, 0]] with the kernels [1, "
        "-2] and [0, 3], bias 10 and -20",
    )
    out.sum().backward()
    assert layer.weights.grad is not None and layer.bias.grad is not None, (
        "weights and bias should receive gradients: both are Variables"
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
        w = np.asarray(layer.weights)
        b = np.zeros(out) if layer.bias is None else np.arange(out) - 1.5
        if bias:
            layer.bias = Variable(b.astype("float32"))
        a = math.sqrt(6 / ((into + out) * kernel[0] * kernel[1]))
        assert w.shape == (out, into, *kernel) and np.abs(w).max() <= a * 1.000001, (
            f"Xavier's limit is {a}, got {w}"
        )
        x = random.normal(size=(2, into, 4, 5)).astype("float32")
        right = convolution(x, w, b, stride, padding)
        found = layer(Tensor(x))
        case = f"Conv2d({into}, {out}, {kernel}, {stride}, {padding})"
        assert found.requires_grad, f"{case}: a gradient is expected"
        expect(found.data, right, case, near=1e-5)
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


# %% max-pool points=5
def test_max_pooling_of_0_to_15():
    x = np.arange(16.0).reshape(1, 1, 4, 4)
    case = "0 ... 15 as 4 by 4, windows of 2 by 2, stride 2"
    found = result_of(
        lambda: max_pool2d_forward(x, (2, 2), (2, 2), (0, 0)),
        case,
        {
            "scalar index": "np.max(a, b) takes b as an axis; np.maximum(a, b) is the larger "
            "of two numbers, elementwise",
            "broadcast": "The patches of every kernel position have the size that output_shape "
            "returns, here 2 by 2",
        },
    )
    causes = {
        "[0.0, 2.0, 8.0, 10.0]": "That is the first number of each window",
        "[2.5, 4.5, 10.5, 12.5]": "That is the mean of each window",
        "[1.0, 3.0, 9.0, 11.0]": "That looks at the first row of each window only",
        "[4.0, 6.0, 12.0, 14.0]": "The last pixel of each window, its maximum, is left out",
    }
    cause = causes.get(
        str(np.ravel(found).tolist()), "The four windows begin at pixels 0, 2, 8 and 10"
    )
    expect(found, [[[[5, 7], [13, 15]]]], case, numbers=cause)
    overlapping = max_pool2d_forward(x, (2, 2), (1, 1), (0, 0))
    expect(
        overlapping,
        [[[[5, 6, 7], [9, 10, 11], [13, 14, 15]]]],
        "0 ... 15 as 4 by 4, windows of 2 by 2, stride 1",
        shape="The stride says how far the windows move, not the kernel",
    )


def test_the_maximum_of_each_window():
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
        wanted = windows_of(x, kernel, stride, padding, -np.inf).max(axis=(4, 5))
        case = f"x (2, 3, 6, 9) of numbers near -5, kernel {kernel}, stride {stride}, padding "
        case += str(padding)
        found = max_pool2d_forward(x, kernel, stride, padding)
        expect(
            found,
            wanted,
            case,
            shape="Windows move by the stride, and the padding is on both sides",
            numbers="Every position of the kernel counts, and nothing else: neither a 0 of the "
            "padding nor a 0 that you start from may win",
        )
        assert found.dtype.name == "float32", f"{case}: x is float32, yours is {found.dtype}"
        assert np.array_equal(x, kept), f"{case}: x was changed; copy before you write"


def test_padding_never_wins():
    for number in (-1e10, -3e38, -np.inf):
        x = np.full((1, 1, 2, 2), number, "float32")
        found = max_pool2d_forward(x, (2, 2), (1, 1), (1, 1))
        expect(
            found,
            np.full((1, 1, 3, 3), number, "float32"),
            f"four numbers of {number:g}, windows of 2 by 2, stride 1, padding 1",
            numbers="The padding was the maximum: it must be -inf, because any finite number "
            "may be larger than an input",
        )


def test_the_output_is_a_new_array():
    x = np.arange(12.0).reshape(1, 1, 3, 4)
    for kernel, wanted in [((1, 1), x), ((2, 1), x[:, :, 1:])]:
        expect(
            pooled_after_writing(x, kernel, -100.0),
            wanted,
            f"kernel {kernel}, after -100 was written into x",
            numbers="The output shares memory with x: copy before you write",
        )


def test_nan_is_not_hidden():
    x = np.array([[[[1.0, np.nan, 2.0, 3.0]]]])
    found = max_pool2d_forward(x, (1, 2), (1, 2), (0, 0))
    expect(
        found,
        [[[[np.nan, 3]]]],
        "1, nan | 2, 3 in windows of (1, 2)",
        numbers="The maximum of 1 and nan is nan, as for np.maximum",
    )


# %% max-pool-gradient points=5
def test_the_maximum_receives_the_gradient():
    x = np.zeros((1, 1, 4, 4))
    x[0, 0, 1::2, 1::2] = [[1, 2], [3, 4]]
    g, out = np.array([[[[10.0, 20.0], [30.0, 40.0]]]]), np.array([[[[1.0, 2.0], [3.0, 4.0]]]])
    found = result_of(
        lambda: max_pool2d_gradient(g, out, x, (2, 2), (2, 2), (0, 0)),
        "x of shape (1, 1, 4, 4), four windows",
        "out and g have one number per window, x has not: compare out with the patches of x",
    )
    wanted = np.zeros((1, 1, 4, 4))
    wanted[0, 0, 1::2, 1::2] = [[10, 20], [30, 40]]
    expect(
        found,
        wanted,
        f"four windows of {x[0, 0].tolist()}, g = [[10, 20], [30, 40]]",
        numbers="The maximum of each window, in its lower right corner, receives the upstream "
        "gradient of its own window",
    )


def test_only_the_first_of_equal_maxima_receives_it():
    for window, wanted in [
        ([[0, 0], [0, 0]], [[7, 0], [0, 0]]),
        ([[1, 3], [3, 3]], [[0, 7], [0, 0]]),
        ([[1, 2], [3, 3]], [[0, 0], [7, 0]]),
        ([[0, 1], [1, 0]], [[0, 7], [0, 0]]),
    ]:
        x = np.array(window, "float32").reshape(1, 1, 2, 2)
        g, out = np.full((1, 1, 1, 1), 7, "float32"), x.max().reshape(1, 1, 1, 1)
        found = max_pool2d_gradient(g, out, x, (2, 2), (2, 2), (0, 0))
        assert np.shape(found) == x.shape, (
            f"the gradient should have the shape of x, {x.shape}, yours is {np.shape(found)}"
        )
        assert found.sum() == 7, (
            f"window {window}, g = 7: the gradients of the window should sum to 7, yours sum "
            f"to {found.sum()}: {found[0, 0].tolist()}"
        )
        assert found[0, 0].tolist() == wanted, (
            f"window {window}, g = 7: the first of the equal maxima, row by row, receives all "
            f"of it, {wanted}; yours is {found[0, 0].tolist()}"
        )


def test_overlapping_windows_add_up():
    x = np.array([[[[1.0, 9.0, 2.0, 3.0]]]])
    g, out = np.array([[[[1.0, 10.0, 100.0]]]]), np.array([[[[9.0, 9.0, 3.0]]]])
    expect(
        max_pool2d_gradient(g, out, x, (1, 2), (1, 1), (0, 0)),
        [[[[0, 11, 0, 100]]]],
        "1, 9, 2, 3 in windows of (1, 2) with stride 1, g = [1, 10, 100]",
        numbers="9 is the maximum of two windows and receives 1 + 10",
    )


def test_the_gradient_of_max_pooling_window_by_window():
    random = np.random.default_rng(47)
    for kernel, stride, padding in [
        ((2, 2), (2, 2), (0, 0)),
        ((2, 3), (1, 2), (0, 0)),
        ((3, 2), (2, 1), (1, 1)),
        ((4, 1), (3, 3), (2, 0)),
    ]:
        x = random.integers(-5, 0, (2, 3, 6, 9)).astype("float32")
        windows = windows_of(x, kernel, stride, padding, -np.inf)
        out = windows.max(axis=(4, 5))
        first = windows.reshape(*out.shape, -1).argmax(axis=-1)
        g = random.normal(size=out.shape).astype("float32")
        parts = g[..., None] * np.eye(math.prod(kernel))[first]
        wanted = add_to_windows(parts.reshape(windows.shape), x.shape, stride, padding)
        kept = g.copy(), out.copy(), x.copy()
        case = f"x (2, 3, 6, 9) of -5 ... -1, kernel {kernel}, stride {stride}, padding "
        case += str(padding)
        found = result_of(
            lambda: max_pool2d_gradient(g, out, x, kernel, stride, padding),
            case,
            "Compare x with padding to out, and add into zeros with padding; windows move by "
            "the stride",
        )
        cause = "Each window passes its g to the first of its pixels that equals its maximum"
        if np.shape(found) == wanted.shape and abs(np.sum(found) - g.sum()) > 1e-3:
            cause = (
                "The gradients should sum to the sum of g: is anything overwritten where "
                "windows overlap, or passed to several equal maxima or to the padding?"
            )
        expect(
            found,
            wanted,
            case,
            shape="It should have the shape of x. Is the padding cropped?",
            numbers=cause,
            near=1e-5,
        )
        assert found.dtype.name == "float32", (
            f"{case}: x is float32, your gradient is {found.dtype}"
        )
        assert all(np.array_equal(a, b) for a, b in zip((g, out, x), kept)), (
            f"{case}: an input was changed"
        )


def test_backward_uses_the_gradient_of_max_pooling():
    x = Variable(np.array([[[[1.0, 5.0, 2.0, 8.0]]]], "float32"))
    out = apply(max_pool2d_forward, x, kernel_size=(1, 2), stride=(1, 2), padding=(0, 0))
    out.backward(np.array([[[[3.0, -2.0]]]]))
    expect(x.grad, [[[[0, 3, 0, -2]]]], "1, 5 | 2, 8 with upstream gradients 3 and -2")


# %% max-pool-gradient hidden points=1
def test_the_gradient_of_other_pools():
    random = np.random.default_rng(53)
    for shape, kernel, stride, padding in [
        ((1, 2, 5, 7), (3, 3), (1, 1), (1, 0)),
        ((3, 1, 8, 4), (2, 4), (3, 1), (1, 2)),
        ((2, 2, 3, 3), (1, 1), (2, 2), (0, 0)),
    ]:
        x = random.integers(0, 3, shape).astype("float64") - 7
        windows = windows_of(x, kernel, stride, padding, -np.inf)
        out = windows.max(axis=(4, 5))
        first = windows.reshape(*out.shape, -1).argmax(axis=-1)
        g = random.normal(size=out.shape)
        parts = (g[..., None] * np.eye(math.prod(kernel))[first]).reshape(windows.shape)
        case = f"x {shape}, kernel {kernel}, stride {stride}, padding {padding}"
        found = max_pool2d_forward(x, kernel, stride, padding)
        expect(found, out, case)
        leaf = Variable(x)
        options = {"kernel_size": kernel, "stride": stride, "padding": padding}
        apply(max_pool2d_forward, leaf, **options).backward(g)
        expect(leaf.grad, add_to_windows(parts, shape, stride, padding), case, near=1e-9)


# %% avg-pool-gradient points=2
def test_every_number_of_a_window_receives_its_part():
    random = np.random.default_rng(59)
    for kernel, stride, padding in [
        ((2, 2), (2, 2), (0, 0)),
        ((2, 3), (1, 2), (0, 0)),
        ((3, 2), (2, 1), (1, 1)),
        ((4, 1), (3, 3), (2, 0)),
        ((2, 2), (4, 5), (0, 0)),
    ]:
        x = random.normal(size=(2, 3, 6, 9)).astype("float32")
        windows, area = windows_of(x, kernel, stride, padding), math.prod(kernel)
        g = random.normal(size=windows.shape[:4]).astype("float32")
        parts = np.broadcast_to(g[..., None, None] / area, windows.shape)
        kept = g.copy()
        case = f"x (2, 3, 6, 9), kernel {kernel}, stride {stride}, padding {padding}"
        found = result_of(
            lambda: avg_pool2d_gradient(g, None, x, kernel, stride, padding),
            case,
            "Add g to the patches of zeros with padding; windows move by the stride",
        )
        expect(
            found,
            add_to_windows(parts, x.shape, stride, padding),
            case,
            shape="It should have the shape of x. Is the padding cropped?",
            numbers=f"Each of the {area} numbers of a window receives 1 / {area} of its "
            "gradient, and the sum of what it receives from several windows",
            near=1e-5,
        )
        assert found.dtype.name == "float32", (
            f"{case}: x is float32, your gradient is {found.dtype}"
        )
        assert np.array_equal(g, kept), f"{case}: g was changed"


def test_backward_uses_the_gradient_of_average_pooling():
    x = Variable(np.array([[[[1.0, 5.0, 2.0, 8.0]]]], "float32"))
    out = apply(avg_pool2d_forward, x, kernel_size=(1, 2), stride=(1, 2), padding=(0, 0))
    out.backward(np.array([[[[3.0, -2.0]]]]))
    expect(x.grad, [[[[1.5, 1.5, -1, -1]]]], "two means with upstream gradients 3 and -2")


# %% receptive-field points=2
def test_receptive_fields_traced_from_the_output():
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
        first, last = 0, 0  # the numbers of each layer that one output number depends on
        for kernel, stride in reversed(layers):
            first, last = first * stride, last * stride + kernel - 1
        wanted = last - first + 1
        found = receptive_field(list(layers))
        assert found == wanted, (
            f"receptive_field({layers}) should be {wanted}, yours is {found}. Neighbouring "
            "numbers of a layer are as far apart as the product of the strides before it"
        )


def test_receptive_fields_agree_with_gradients():
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
            f"layers {layers}: one output number has a gradient that is not 0 at {wanted} "
            f"pixels, your receptive field is {found}"
        )


# %% flops points=2
def test_flops_counted_by_hand():
    for images, weights, stride, padding, products in [
        ((1, 1, 1, 3), (1, 1, 1, 2), 1, 0, 4),
        ((32, 8, 12, 12), (16, 8, 5, 5), 1, 0, 6_553_600),
        ((2, 3, 5, 8), (4, 3, 2, 3), 1, 0, 2 * 4 * 4 * 6 * 18),
        ((2, 3, 5, 8), (4, 3, 2, 3), (3, 2), 0, 2 * 4 * 2 * 3 * 18),
        ((2, 3, 5, 8), (4, 3, 2, 3), 2, (0, 1), 2 * 4 * 2 * 4 * 18),
        ((7, 2, 4, 4), (3, 2, 1, 1), 1, (1, 0), 7 * 3 * 6 * 4 * 2),
    ]:
        case = f"images {images}, weights {weights}, stride {stride}, padding {padding}"
        found = result_of(
            lambda: conv2d_flops(images, weights, stride, padding),
            case,
            {"'int' object": "stride and padding may be ints: `pair` turns them into pairs"},
        )
        assert found != products, (
            f"{case}: {products} is the number of multiply-adds; each is 2 FLOPs"
        )
        assert found == 2 * products, (
            f"{case}: should be {2 * products} FLOPs, yours is {found}. Each output number "
            "needs as many multiply-adds as its kernel has weights, in all its channels"
        )


def test_flops_agree_with_the_size_of_the_output():
    for images, weights, stride, padding in [
        ((2, 3, 5, 8), (4, 3, 2, 3), (1, 2), (2, 1)),
        ((3, 1, 6, 4), (2, 1, 5, 3), 3, 1),
    ]:
        ones = conv2d(
            Tensor(np.ones(images)), Tensor(np.ones(weights)), stride=stride, padding=padding
        )
        wanted = 2 * ones.size * weights[1] * weights[2] * weights[3]
        found = conv2d_flops(images, weights, stride, padding)
        assert found == wanted, (
            f"images {images}, weights {weights}, stride {stride}, padding {padding}: should "
            f"be {wanted} FLOPs, yours is {found}"
        )
