# The checks of lesson 10, by exercise. `check("loops")` in the chapter runs the visible ones.

# %% setup
import math

import numpy as np

from checking import equal, expect, refused, result_of
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


def as_pairs(*options):
    """Options of a convolution, each as a pair."""
    return [(n, n) if isinstance(n, int) else n for n in options]


def columns_of(windows):
    """The columns of windows (batch, channels, rows, columns, *kernel)."""
    batch, channels, rows, across, *kernel = windows.shape
    parts = windows.transpose(0, 1, 4, 5, 2, 3)
    return parts.reshape(batch, channels * math.prod(kernel), rows * across)


def max_pooling(x, g_of, kernel, stride, padding):
    """The maximum of each window, g_of(its shape), and the gradient of x for that g."""
    windows = windows_of(x, kernel, stride, padding, -np.inf)
    out = windows.max(axis=(4, 5))
    first = windows.reshape(*out.shape, -1).argmax(axis=-1)
    g = g_of(out.shape)
    parts = (g[..., None] * np.eye(math.prod(kernel))[first]).reshape(windows.shape)
    return out, g, add_to_windows(parts, x.shape, stride, padding)


def computed(function, arrays, options, case, cause=""):
    """function(*arrays, *options), which must not change the arrays.

    cause  the likely cause of an error, as in `result_of`
    """
    before = [np.copy(array) for array in arrays]
    out = result_of(lambda: function(*arrays, *options), case, cause)
    assert all(np.array_equal(*both) for both in zip(arrays, before)), (
        f"{case}: an input was changed; copy before you write"
    )
    return out


def expect_array(found, wanted, case, causes, near=0, dtype=None):
    """`expect`, where `causes` are the likely causes of a wrong shape and of wrong numbers."""
    wanted = np.asarray(wanted)
    assert found is None or np.shape(found) == wanted.shape, (
        f"{case}: the shape should be {wanted.shape}, yours is {np.shape(found)}. {causes[0]}"
    )
    expect(found, wanted, case, causes[1], near)
    assert dtype is None or found.dtype.name == dtype, (
        f"{case} should be {dtype}, yours is {found.dtype}"
    )


# Windows: kernel, stride, padding.
CONVOLUTIONS = [
    ((2, 4), (1, 1), (0, 0)),
    ((2, 3), (2, 1), (0, 0)),
    ((3, 1), (1, 3), (1, 2)),
    ((1, 1), (2, 2), (0, 1)),
    ((3, 3), (2, 2), (1, 1)),
]
POOLS = [
    ((2, 2), (2, 2), (0, 0)),
    ((2, 3), (1, 2), (0, 0)),
    ((3, 2), (2, 1), (1, 1)),
    ((4, 1), (3, 3), (2, 0)),
]
CROPPED = "It should have the shape of x. Is the padding cropped?"


def is_whole(found, case):
    """Assert that a number is no float."""
    kind = np.asarray(found).dtype.kind
    assert kind in "iu", f"{case} should be an int, yours is {found!r}"


def size_of(*numbers):
    """output_size(...) for a kernel that fits into the padded input."""
    length, kernel, stride, padding = numbers
    cause = f"the input has {length + 2 * padding} numbers with its padding, and the kernel "
    cause += f"{kernel}: it fits"
    case = f"output_size({length}, {kernel}, stride={stride}, padding={padding})"
    found = result_of(lambda: output_size(*numbers), case, cause, ValueError)
    is_whole(found, case)
    return case, found


# %% output-size points=3
def test_output_size_by_hand():
    cause = "The first window starts at 0, a window that reaches beyond the end does not "
    cause += "count, and padding is at both ends"
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
        case, found = size_of(length, kernel, stride, padding)
        equal(found, wanted, case, cause)
    equal(output_size(9, 4), 6, "output_size(9, 4), with stride 1 and padding 0,")


def test_output_size_counts_every_position():
    for length, kernel, stride, padding in np.ndindex(8, 6, 4, 3):
        length, kernel, stride = length + 1, kernel + 1, stride + 1
        wanted = len(range(0, length + 2 * padding - kernel + 1, stride))
        if wanted:
            case, found = size_of(length, kernel, stride, padding)
            equal(found, wanted, case)


def test_a_kernel_that_does_not_fit_is_refused():
    for length, kernel, stride, padding in [
        (4, 5, 1, 0),
        (4, 5, 3, 0),
        (2, 7, 2, 2),
        (3, 9, 1, 1),
    ]:
        case = f"output_size({length}, {kernel}, stride={stride}, padding={padding})"
        numbers = length, kernel, padding, stride
        cause = "the kernel does not fit, so this should raise a ValueError"
        call = lambda: output_size(length, kernel, stride, padding)
        refused(call, case, contains=numbers, cause=cause)
    equal(output_size(5, 5), 1, "output_size(5, 5)")


# %% loops points=4
def test_a_small_convolution_by_hand():
    x = np.array([[[[1, 2, 0, 4], [5, 6, 7, 8], [9, 1, 2, 3]]]], "float32")
    weights, bias = np.array([[[[1, 0], [-2, 3]]]], "float32"), np.array([100], "float32")
    case = f"the convolution of {x[0, 0].tolist()}, kernel [[1, 0], [-2, 3]], bias 100,"
    cause = (
        "A window and the weights of one kernel have the same shape; their sum is one number"
    )
    out = result_of(lambda: conv2d_loops(x, weights, bias), case, cause)
    first = [1 - 10 + 18, 2 - 12 + 21, 0 - 14 + 24]
    second = [5 - 18 + 3, 6 - 2 + 6, 7 - 4 + 9]
    wanted = 100 + np.array([[[first, second]]])
    turned = convolution(x, weights[:, :, ::-1, ::-1], bias)
    causes = {
        "You turn the kernel by 180 degrees; a cross-correlation uses it as it is": turned,
        "The bias is missing": wanted - 100,
        "The bias is added once for each output number, after the sum": wanted + 300,
        "Output (p, q) is the sum of window times kernel, plus the bias once": out,
    }
    expect(out, wanted, case, causes)


def test_all_channels_and_both_strides_are_used():
    random = np.random.default_rng(0)
    x = random.normal(size=(2, 3, 5, 7)).astype("float32")
    weights = random.normal(size=(4, 3, 2, 4)).astype("float32")
    bias = np.array([10, -20, 0.5, 3], "float32")
    error = "A window of x[n] has all channels, rows from p * stride[0], and columns from "
    error += "q * stride[1]"
    cause = "Every kernel sums over all 3 channels; the first stride is for rows, the second "
    cause += "for columns"
    for stride in [(1, 1), (1, 3), (2, 1), (3, 2)]:
        case = f"the convolution of x (2, 3, 5, 7), weights (4, 3, 2, 4), stride {stride}"
        out = result_of(lambda: conv2d_loops(x, weights, bias, stride), case, error)
        wanted = convolution(x, weights, bias, stride)
        expect(out, wanted, case, cause, near=1e-4, dtype="float32")


# %% learner-side
def written_through(x, i, j, size, stride, number):
    """A copy of `x` after `number` was written into what `patches` returned for it."""
    x = x.copy()
    patches(x, i, j, size, stride)[...] = number
    return x


# %% patches points=3
def test_each_window_gives_one_pixel():
    x = np.arange(2 * 3 * 7 * 9).reshape(2, 3, 7, 9)
    shape_cause = "Slice the last two axes. A slice ends before its stop; it should hold "
    shape_cause += "exactly one pixel for each window"
    for kernel, stride in [
        ((1, 1), (1, 1)),
        ((3, 2), (1, 1)),
        ((3, 2), (2, 3)),
        ((2, 5), (3, 1)),
        ((7, 9), (2, 2)),
    ]:
        size = (7 - kernel[0]) // stride[0] + 1, (9 - kernel[1]) // stride[1] + 1
        for i, j in np.ndindex(*kernel):
            case = f"patches of x (2, 3, 7, 9), weight ({i}, {j}), {size} windows, stride "
            case += str(stride)
            cause = f"Window (p, q) has its pixel at row p * {stride[0]} + {i} and column q * "
            cause += f"{stride[1]} + {j}"
            wanted = windows_of(x, kernel, stride)[..., i, j]
            expect_array(patches(x, i, j, size, stride), wanted, case, (shape_cause, cause))


def test_any_number_of_leading_axes():
    cause = (
        "Slice the last two axes, x[..., rows, columns]: `...` stands for any number of axes"
    )
    for shape in [(5, 6), (4, 5, 6), (2, 1, 3, 5, 6)]:
        x = np.arange(math.prod(shape)).reshape(shape)
        case = f"rows 1 and 3 and columns 0 to 3, the patches of x {shape} for weight (1, 0), "
        case += "(2, 4) windows and stride (2, 1)"
        found = result_of(lambda: patches(x, 1, 0, (2, 4), (2, 1)), case, cause)
        expect(found, x[..., [1, 3], :][..., [0, 1, 2, 3]], case, cause)


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
        yield patches(stride=stride, size=size, j=j, i=i, x=x)
        yield written_through(x, i, j, size, stride, -2.5)


# %% learner-side
def columns_after_writing(x, number):
    """The columns of `x` for a kernel of one pixel, read after `number` was written into x."""
    x = x.copy()
    found = im2col(x, (1, 1))
    x[...] = number
    return found


# %% im2col points=6
def test_a_column_is_a_window_with_all_its_channels():
    x = np.arange(24).reshape(1, 2, 3, 4)
    case = "x = 0 ... 23 of shape (1, 2, 3, 4), kernel (2, 2)"
    cause = "Make room for (batch, channels, kernel height, kernel width, rows, columns) and "
    cause += "reshape at the end"
    found = result_of(lambda: im2col(x, (2, 2)), case, cause)
    assert np.shape(found) == (1, 8, 6), (
        f"{case}: 2 * 2 * 2 weights and 2 * 3 windows, so the shape should be (1, 8, 6), yours "
        f"is {np.shape(found)}"
    )
    equal(found.dtype.name, x.dtype.name, f"{case}: the dtype of the columns")
    for window, wanted in [
        (0, [0, 1, 4, 5, 12, 13, 16, 17]),
        (1, [1, 2, 5, 6, 13, 14, 17, 18]),
        (3, [4, 5, 8, 9, 16, 17, 20, 21]),
    ]:
        column = found[0, :, window].tolist()
        cause = "Yours mixes windows or channels: reshape keeps the order of the numbers, so "
        cause += "the axes must be in the right order before it"
        if sorted(column) == wanted:
            cause = "The right pixels in another order: first all of channel 0, then channel 1"
        equal(column, wanted, f"{case}: column {window}", cause)


def test_columns_for_any_stride_and_padding():
    x = np.random.default_rng(5).normal(size=(2, 3, 5, 8)).astype("float32")
    shape_cause = "Is the padding applied, and counted in the number of windows?"
    error = "Pad first, and compute the number of windows with stride and padding"
    for kernel, stride, padding in [
        ((3, 2), (1, 1), (0, 0)),
        ((2, 3), (2, 3), (0, 0)),
        ((3, 4), (1, 2), (2, 1)),
        ((5, 1), (3, 1), (0, 3)),
        ((1, 1), (1, 1), (1, 0)),
    ]:
        case = f"the columns of x (2, 3, 5, 8), kernel {kernel}, stride {stride}, padding "
        case += str(padding)
        found = result_of(lambda: im2col(x, kernel, stride, padding), case, error)
        wanted = columns_of(windows_of(x, kernel, stride, padding))
        cause = ""
        if np.array_equal(np.sort(found, axis=1), np.sort(wanted, axis=1)):
            cause = "The right pixels in another order: rows follow the order of the weights"
        elif np.array_equal(np.sort(found, axis=None), np.sort(wanted, axis=None)):
            cause = "The right numbers at other places: are axes in the right order?"
        elif any(padding):
            cause = "Windows begin in the padding, which is 0 on all four sides"
        elif stride[0] != stride[1]:
            cause = "The first number of the stride is for rows, the second for columns"
        expect_array(found, wanted, case, (shape_cause, cause))
        assert found.dtype.name == "float32", (
            f"{case}: x is float32, your columns are {found.dtype}"
        )
    case = "the shape of the columns of an empty batch, x (0, 3, 5, 8),"
    equal(np.shape(im2col(x[:0], (2, 2))), (0, 12, 28), case)


def test_columns_are_a_new_array():
    x = np.arange(6.0).reshape(1, 1, 2, 3)
    kept = x.copy()
    found = im2col(x, (1, 1))
    assert np.array_equal(x, kept), "im2col changed x"
    expect(found, kept.reshape(1, 1, 6), "the columns of x = 0 ... 5, kernel (1, 1)")
    found = columns_after_writing(kept, -9.0)
    case = "the columns of x = 0 ... 5, kernel (1, 1), after -9 was written into x,"
    expect(found, kept.reshape(1, 1, 6), case, "They are a view of x: make a new array")


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
        yield im2col(padding=padding, stride=stride, kernel_size=kernel, x=x), x


# %% forward points=4
def test_the_product_agrees_with_the_definition():
    random = np.random.default_rng(11)
    errors = {
        "matmul": "Print the shapes of both factors: the inner axes must both be K",
        "broadcast": "The bias of shape (out,) needs another axis, (out, 1), to broadcast over "
        "the windows",
        "reshape": "The product should hold one number for each output channel and window: "
        "print its shape",
    }
    shape_cause = "Are stride and padding passed to im2col and to output_shape?"
    rows = "W has one row per kernel, (out, K), and bias o is added to all windows of output "
    rows += "channel o"
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
        case = f"the convolution of x (2, 3, 5, 7), weights {weights.shape}, stride {stride}, "
        case += f"padding {padding}"
        arrays, options = (x, weights, bias), (stride, padding)
        out = computed(im2col_forward, arrays, options, case, errors)
        cause = rows
        if np.shape(out) == wanted.shape:
            added = out - (wanted - bias[:, None, None])  # the numbers in place of the bias
            if np.allclose(added, 0):
                cause = "The bias is missing"
            elif added.shape[3] == 4 and np.allclose(added, bias):
                cause = (
                    "You add bias o to column o of the output. It belongs to output channel "
                )
                cause += "o, axis 1"
            elif added.shape[2] == 4 and np.allclose(added, bias[:, None]):
                cause = (
                    "You add bias o to row o of the output. It belongs to output channel o, "
                )
                cause += "axis 1"
        expect_array(out, wanted, case, (shape_cause, cause), near=1e-9)


def test_the_bias_is_added_once_to_each_channel():
    x, weights, bias = np.ones((2, 1, 3, 4)), np.zeros((3, 1, 2, 2)), np.array([1.0, -2.0, 5.0])
    case = "the output of 3 kernels of zeros, 6 windows, bias [1, -2, 5]"
    error = "The product has shape (batch, 3, 6) and the bias (3,): NumPy aligns the bias with "
    error += "the 6 windows. Which axis is missing?"
    options = (1, 1), (0, 0)
    out = computed(im2col_forward, (x, weights, bias), options, case, {"broadcast": error})
    cause = "With weights of 0, every number of output channel o is bias o"
    expect(out, np.zeros((2, 3, 2, 3)) + bias[:, None, None], case, cause)


def test_forward_keeps_the_dtype():
    for dtype in ("float32", "float64"):
        x, weights = np.ones((1, 2, 4, 4), dtype), np.ones((3, 2, 2, 2), dtype)
        error = {
            "broadcast": "The bias of shape (3,) needs another axis, (3, 1), before it can "
            "be added to the windows"
        }
        arrays, options = (x, weights, np.ones(3, dtype)), ((1, 1), (1, 1))
        case = (
            f"the output for x (1, 2, 4, 4), weights (3, 2, 2, 2) and padding (1, 1), {dtype}"
        )
        out = computed(im2col_forward, arrays, options, case, error)
        equal(out.dtype.name, dtype, f"the dtype of the output for {dtype} inputs")
        equal(out.shape, (1, 3, 5, 5), "the shape for x (1, 2, 4, 4) and padding (1, 1)")
        equal(out[0, 2, 1, 1], 9.0, "ones everywhere: the sum of 8 products and a bias")


def test_forward_of_an_empty_batch():
    x, weights = np.ones((0, 2, 4, 6), "float32"), np.ones((3, 2, 3, 3), "float32")
    arrays, options = (x, weights, np.ones(3, "float32")), ((1, 2), (0, 1))
    case = (
        "an empty batch, x (0, 2, 4, 6), weights (3, 2, 3, 3), stride (1, 2), padding (0, 1):"
    )
    case += " the output"
    error = "NumPy cannot infer a length of -1 for an empty batch: write all lengths out"
    out = computed(im2col_forward, arrays, options, case, {"cannot reshape": error})
    expect(out, np.zeros((0, 3, 2, 3)), case)


# %% bias-gradient points=1
def test_the_gradient_of_the_bias_is_a_sum_over_images_and_positions():
    g = np.random.default_rng(12).normal(size=(3, 2, 4, 5)).astype("float32")
    arrays = (g, None, np.ones((3, 1, 4, 5)), np.ones((2, 1, 1, 1)), np.ones(2))
    case = "the gradient of the bias for g of shape (3, 2, 4, 5)"
    error = "Sum over the axes 0, 2 and 3: images, rows, columns"
    found = computed(bias_gradient, arrays, ((1, 1), (0, 0)), case, error)
    wanted = g.astype("float64").sum(axis=3).sum(axis=2).sum(axis=0)
    cause = "Bias o is added to all 3 * 4 * 5 numbers of output channel o: sum their gradients"
    if np.shape(found) == (2,) and np.allclose(found, wanted / 60, rtol=1e-4):
        cause = "Yours is 60 times too small: take the sum, not the mean"
    shape_cause = "One gradient per output channel: sum over images, rows and columns"
    expect_array(found, wanted, case, (shape_cause, cause), near=1e-4, dtype="float32")


# %% weight-gradient points=2
def test_the_gradient_of_the_weights_by_its_definition():
    random = np.random.default_rng(19)
    errors = {
        "matmul": "The inner axes must both be P. Is one factor transposed, and do the columns "
        "have the stride and padding of the forward pass?",
        "reshape": "There is one gradient for each image, and all images use the same weights: "
        "what happens to their gradients?",
    }
    shape_cause = "It should have the shape of the weights: sum over the images"
    for kernel, stride, padding in CONVOLUTIONS:
        x, weights = random.normal(size=(2, 3, 6, 7)), random.normal(size=(4, 3, *kernel))
        windows = windows_of(x, kernel, stride, padding)
        g = random.normal(size=(2, 4, *windows.shape[2:4]))
        case = f"the gradient of the weights for x (2, 3, 6, 7), weights {weights.shape}, "
        case += f"stride {stride}, padding {padding}"
        arrays, options = (g, g * 0 + 7, x, weights, np.zeros(4)), (stride, padding)
        found = computed(im2col_weight_gradient, arrays, options, case, errors)
        wanted = np.einsum("ncpqij,nopq->ocij", windows, g)
        cause = "Each weight receives the sum of g times the pixel under it, over all windows"
        if np.shape(found) == wanted.shape and np.allclose(np.asarray(found) * 2, wanted):
            cause = "Yours is half of it with 2 images: sum over the images, no mean"
        expect_array(found, wanted, case, (shape_cause, cause), near=1e-9)


def test_the_gradient_of_the_weights_keeps_the_dtype():
    x, weights = np.ones((3, 1, 4, 5), "float32"), np.ones((2, 1, 2, 2), "float32")
    g = np.ones((3, 2, 3, 4), "float32")
    found = im2col_weight_gradient(g, None, x, weights, None, (1, 1), (0, 0))
    case = (
        "for 3 images of 12 windows, if x, the weights and g are 1, the gradient of the weights"
    )
    cause = "Each weight is used 3 * 12 times: sum over images and windows, no mean"
    expect(found, np.full((2, 1, 2, 2), 36), case, cause, dtype="float32")


# %% col2im points=4
def test_overlapping_windows_are_added():
    error = "Reshape the columns to (batch, channels, kernel height, kernel width, rows, "
    error += "columns) first, then add one kernel position after the other"
    case = "col2im of columns of ones, for images of 3 pixels and a kernel of 2,"
    found = result_of(lambda: col2im(np.ones((1, 2, 2)), (1, 1, 1, 3), (1, 2)), case, error)
    cause = "The middle pixel is in two windows. Add to its gradient, do not assign"
    expect(found, [[[[1, 2, 1]]]], case, cause)
    found = col2im(np.ones((1, 9, 9)), (1, 1, 5, 5), (3, 3))[0, 0]
    case = "col2im of columns of ones, for an image of 5 by 5 and a kernel of 3 by 3,"
    cause = "The middle pixel is in 9 windows, a corner in one"
    expect(found, np.outer([1, 2, 3, 2, 1], [1, 2, 3, 2, 1]), case, cause)


def test_col2im_adds_each_copy_to_its_pixel():
    random = np.random.default_rng(13)
    error = "The columns reshape to (batch, channels, kernel height, kernel width, rows, "
    error += "columns); add into zeros of the padded size"
    shape_cause = "The result has the shape of the images, without padding"
    cause = "Each number of the columns is added to the pixel it was copied from; the "
    cause += "numbers of the padding are dropped"
    for shape, kernel, stride, padding in [
        ((2, 3, 5, 8), (3, 2), (1, 1), (0, 0)),
        ((2, 3, 5, 8), (2, 3), (2, 3), (0, 0)),
        ((1, 2, 4, 6), (3, 4), (1, 2), (2, 1)),
        ((2, 1, 7, 3), (2, 1), (3, 2), (0, 1)),
    ]:
        number = np.arange(1, 1 + np.prod(shape)).reshape(shape)  # of each pixel; 0 is padding
        came_from = columns_of(windows_of(number, kernel, stride, padding))
        columns = random.normal(size=came_from.shape)
        sums = np.bincount(came_from.ravel(), columns.ravel(), 1 + np.prod(shape))
        case = f"col2im for images of shape {shape}, kernel {kernel}, stride {stride}, padding "
        case += str(padding)
        found = computed(col2im, [columns], (shape, kernel, stride, padding), case, error)
        expect_array(found, sums[1:].reshape(shape), case, (shape_cause, cause), near=1e-9)


def test_pixels_in_no_window_receive_zero():
    found = col2im(np.ones((1, 1, 6), "float32"), (1, 1, 3, 5), (1, 1), (2, 2))
    wanted = np.zeros((1, 1, 3, 5))
    wanted[..., ::2, ::2] = 1
    case = "col2im of columns of ones, for an image of 3 by 5, kernel (1, 1), stride (2, 2),"
    expect(found, wanted, case)
    assert found.dtype.name == "float32", (
        f"the columns are float32, your result is {found.dtype}"
    )


def test_col2im_of_an_empty_batch():
    found = col2im(np.ones((0, 8, 6)), (0, 2, 3, 4), (2, 2))
    expect(found, np.zeros((0, 2, 3, 4)), "col2im for an empty batch")


# %% col2im hidden points=1
def test_col2im_for_other_images():
    random = np.random.default_rng(17)
    for shape, kernel, stride, padding in [
        ((3, 2, 6, 5), (4, 5), (1, 1), (1, 3)),
        ((1, 4, 9, 7), (2, 2), (4, 3), (0, 0)),
        ((2, 1, 1, 6), (1, 6), (1, 1), (0, 2)),
        ((2, 3, 4, 4), (3, 3), (2, 1), (2, 2)),
    ]:
        count = columns_of(windows_of(np.zeros(shape), kernel, stride, padding)).shape
        given = {"shape": shape, "columns": random.normal(size=count).astype("float32")}
        yield col2im(padding=padding, stride=stride, kernel_size=kernel, **given)


# %% input-gradient points=2
def test_the_gradient_of_the_input_by_its_definition():
    random = np.random.default_rng(23)
    errors = {
        "matmul": "Print the shapes of both factors: the inner axes must both be out",
        "reshape": "Does col2im get the stride and padding of the forward pass, and the shape "
        "of x without padding?",
    }
    cause = (
        "A pixel receives, from each window that holds it, the weight on it times g, summed "
    )
    cause += "over all kernels"
    for kernel, stride, padding in CONVOLUTIONS:
        x, weights = random.normal(size=(2, 3, 6, 7)), random.normal(size=(4, 3, *kernel))
        g = random.normal(size=(2, 4, *windows_of(x, kernel, stride, padding).shape[2:4]))
        case = f"the gradient of x (2, 3, 6, 7), weights {weights.shape}, stride {stride}, "
        case += f"padding {padding}"
        arrays, options = (g, g * 0 + 7, x, weights, np.zeros(4)), (stride, padding)
        found = computed(im2col_input_gradient, arrays, options, case, errors)
        parts = np.einsum("nopq,ocij->ncpqij", g, weights)
        wanted = add_to_windows(parts, x.shape, stride, padding)
        expect_array(found, wanted, case, (CROPPED, cause), near=1e-9)


def test_the_gradient_of_the_input_keeps_the_dtype():
    x, weights = np.ones((3, 2, 4, 5), "float32"), np.ones((6, 2, 1, 1), "float32")
    g = np.ones((3, 6, 4, 5), "float32")
    found = im2col_input_gradient(g, None, x, weights, None, (1, 1), (0, 0))
    case = "the gradient of x, if x, the 6 kernels of 1 by 1 and g are 1,"
    expect(found, np.full((3, 2, 4, 5), 6), case, dtype="float32")
    weights, g = np.arange(16.0).reshape(4, 1, 2, 2), np.array([1.0, 10.0, 100.0, 1000.0])
    given = g.reshape(1, 4, 1, 1), None, np.ones((1, 1, 2, 2)), weights, None, (1, 1), (0, 0)
    case = "the gradient of one window for 4 kernels with 4 weights each"
    cause = "A square matrix of weights is transposed like any other"
    wanted = (weights * g.reshape(4, 1, 1, 1)).sum(0)[None]
    expect(im2col_input_gradient(*given), wanted, case, cause, near=1e-9)


# %% conv2d points=7
def test_conv2d_by_its_definition():
    random = np.random.default_rng(29)
    cause = "Are bias, stride and padding all passed to apply?"
    for channels, kernel, stride, padding in [
        (3, (2, 4), 1, 0),
        (3, 3, 2, (1, 2)),
        (3, (7, 4), 1, (1, 0)),  # fits into 5 rows only because of the padding
        (9, (3, 2), (2, 1), 1),
        (12, 1, (1, 3), (0, 2)),
    ]:
        pairs = as_pairs(kernel, stride, padding)
        x = random.normal(size=(2, channels, 5, 7))
        weights = random.normal(size=(4, channels, *pairs[0]))
        bias = np.array([10.0, -20.0, 0.5, 3.0])
        for given, added in [(Tensor(bias), bias), (None, np.zeros(4))]:
            case = f"conv2d of x {x.shape}, weights {weights.shape}, stride {stride}, padding "
            case += f"{padding}, {'no bias' if given is None else f'bias {bias.tolist()}'}"
            call = lambda: conv2d(Tensor(x), Tensor(weights), given, stride, padding)
            out = result_of(call, case)
            assert hasattr(out, "requires_grad"), (
                f"{case}: conv2d should return a Tensor, as apply does"
            )
            expect(out.data, convolution(x, weights, added, *pairs[1:]), case, cause, 1e-9)


def test_conv2d_propagates_gradients():
    random = np.random.default_rng(31)
    error = {"5 inputs": "Pass options to apply by name: stride=stride, padding=padding"}
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
        result_of(lambda: out.backward(g), case, error)
        for n, (name, leaf) in enumerate(zip(("x", "weights", "bias"), leaves)):
            # The output is linear in each input, so a central difference is exact.
            direction, ends = random.normal(size=arrays[n].shape), []
            for h in (-1e-3, 1e-3):
                moved = [a + h * direction if m == n else a for m, a in enumerate(arrays)]
                ends.append(np.asarray(conv2d(*map(Tensor, moved), stride, padding)))
            wanted = ((ends[1] - ends[0]) * g).sum() / 2e-3
            assert leaf.grad is not None and leaf.grad.shape == arrays[n].shape, (
                f"{case}: the gradient of {name} should have shape {arrays[n].shape}"
            )
            along = f"{case}: the gradient along a random direction of {name}"
            expect((leaf.grad * direction).sum(), wanted, along, near=(0, 1e-7))


def test_no_bias_is_a_bias_of_zeros():
    x, weights = Variable(np.ones((1, 1, 3, 3))), Variable(np.full((2, 1, 2, 2), 3.0))
    error = {"None": "Replace a bias of None by zeros before you call apply"}
    out = result_of(lambda: conv2d(x, weights), "conv2d(x, weights)", error)
    expect(out.data, np.full((1, 2, 2, 2), 12), "the sum of 4 ones times 3, without a bias,")
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


def test_images_of_integers_become_float32():
    weights = Tensor(np.ones((1, 2, 2, 2), "float32"))
    for name, x in [
        ("a uint8 array", np.full((1, 2, 2, 3), 200, "uint8")),
        ("lists", [[[[200] * 3] * 2] * 2]),
        ("an int64 Tensor", Tensor(np.full((1, 2, 2, 3), 200))),
    ]:
        case = f"the sum of 8 pixels of 200, given as {name},"
        expect(conv2d(x, weights).data, np.full((1, 1, 1, 2), 1600), case, dtype="float32")


def test_conv2d_keeps_the_dtype():
    for channels in (2, 9):
        for dtype in ("float32", "float64"):
            shapes = [(2, channels, 4, 5), (3, channels, 2, 2), (3,)]
            leaves = [Variable(np.ones(shape, dtype)) for shape in shapes]
            out, case = conv2d(*leaves), f"{channels} channels, {dtype}"
            equal(out.dtype.name, dtype, f"{case}: the dtype of the output")
            out.backward(np.ones(out.shape))
            dtypes = [leaf.grad.dtype.name for leaf in leaves]
            equal(dtypes, [dtype] * 3, f"{case}: the dtypes of the gradients")
    x, weights = np.ones((1, 1, 3, 3), "float32"), np.ones((1, 1, 2, 2), "float32")
    out = conv2d(Tensor(x), Tensor(weights))
    cause = "the zeros need the dtype of the weights"
    equal(out.dtype.name, "float32", "without a bias, the dtype for float32", cause)


# %% conv2d hidden points=2
def test_other_convolutions():
    random = np.random.default_rng(37)
    for shape, out_channels, kernel, stride, padding in [
        ((1, 1, 6, 9), 5, (6, 9), 2, 0),
        ((3, 8, 4, 7), 1, (1, 3), (3, 2), (2, 0)),
        ((2, 16, 7, 5), 3, (5, 2), (1, 4), (1, 3)),
        ((2, 7, 3, 3), 2, (2, 2), 1, 2),
    ]:
        shapes = shape, (out_channels, shape[1], *kernel), out_channels
        x, w, b = [Variable(random.normal(size=size)) for size in shapes]
        out = conv2d(padding=padding, stride=stride, bias=b, weights=w, x=x)
        out.backward(random.normal(size=out.shape))
        yield out, x.grad, w.grad, b.grad


# %% layer points=4
def test_a_convolutional_layer_has_two_parameters():
    layer = Conv2d(3, 5, (2, 4))
    parameters = [
        (name, tuple(tensor.shape), tensor.dtype.name)
        for name, tensor in layer.named_parameters()
    ]
    wanted = [("weights", (5, 3, 2, 4), "float32"), ("bias", (5,), "float32")]
    cause = "Are both Variables, and is the output channel the first axis?"
    equal(parameters, wanted, "the parameters of Conv2d(3, 5, (2, 4))", cause)
    expect(layer.bias, np.zeros(5), "at first, the bias")
    alone = Conv2d(3, 5, (2, 4), bias=False)
    equal(alone.bias, None, "with bias=False, .bias")
    equal(len(alone.parameters()), 1, "with bias=False, the number of parameters")


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
    expect(layer.weights, np.full((5, 3, 2, 4), 0.5), "the weights, which init returned,")
    first, again, other = [np.asarray(Conv2d(2, 3, 3, rng=seed).weights) for seed in (5, 5, 6)]
    assert np.array_equal(first, again) and not np.array_equal(first, other), (
        "the same seed should give the same weights: pass rng to init"
    )


def test_the_layer_computes_with_its_parameters():
    layer = Conv2d(1, 2, (2, 1), stride=(1, 2), padding=(0, 1))
    layer.load_state_dict({"weights": [[[[1], [-2]]], [[[0], [3]]]], "bias": [10, -20]})
    out = layer(Tensor([[[[1, 2, 3, 4], [5, 7, 9, 6]]]]))
    case = "the output for columns 0, 2 and 4 of [[0, 1, 2, 3, 4, 0], [0, 5, 7, 9, 6, 0]], "
    case += "kernels [1, -2] and [0, 3], bias 10 and -20"
    expect(out.data, [[[[10, -2, 2]], [[-20, 1, -2]]]], case)
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
        sizes = {"in_channels": into, "out_channels": out, "kernel_size": kernel}
        layer = Conv2d(**sizes, stride=stride, padding=padding, bias=bias, rng=11)
        w, (kernel,) = np.asarray(layer.weights), as_pairs(kernel)
        limit = math.sqrt(6 / ((into + out) * kernel[0] * kernel[1]))
        yield np.abs(w).max() <= limit * 1.000001, layer.bias is None
        layer.weights = Variable(random.normal(size=w.shape).astype("float32"))
        if bias:
            layer.bias = Variable(np.arange(out, dtype="float32") - 1.5)
        yield layer(Tensor(random.normal(size=(2, into, 4, 5)).astype("float32")))
    for sizes in [(0, 3), (3, 0)]:
        refused(lambda: Conv2d(*sizes, 3), f"Conv2d{sizes}")


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
    case = "the maxima of the 4 by 4 numbers 0 ... 15 in windows of 2 by 2 with stride 2"
    errors = {
        "scalar index": "np.max(a, b) takes b as an axis; np.maximum(a, b) is the larger of "
        "two numbers, elementwise",
        "broadcast": "The patches of every kernel position have the size that output_shape "
        "returns, here 2 by 2",
    }
    found = computed(max_pool2d_forward, [x], ((2, 2), (2, 2), (0, 0)), case, errors)
    causes = {
        "That is the first number of each window": [[[[0, 2], [8, 10]]]],
        "That is the mean of each window": [[[[2.5, 4.5], [10.5, 12.5]]]],
        "That looks at the first row of each window only": [[[[1, 3], [9, 11]]]],
        "The last pixel of each window, its maximum, is left out": [[[[4, 6], [12, 14]]]],
        "The four windows begin at pixels 0, 2, 8 and 10": found,
    }
    expect(found, [[[[5, 7], [13, 15]]]], case, causes)
    overlapping = max_pool2d_forward(x, (2, 2), (1, 1), (0, 0))
    case = "the maxima of the 4 by 4 numbers 0 ... 15 in windows of 2 by 2 with stride 1"
    cause = "The stride says how far the windows move, not the kernel"
    expect(overlapping, [[[[5, 6, 7], [9, 10, 11], [13, 14, 15]]]], case, cause)


def test_the_maximum_of_each_window():
    random = np.random.default_rng(43)
    shape_cause = "Windows move by the stride, and the padding is on both sides"
    cause = "Compare the pixels at all positions of the kernel, and nothing else. A 0 from the "
    cause += "padding, or a 0 that you start from, must not become the maximum"
    for kernel, stride, padding in [*POOLS, ((1, 1), (2, 1), (0, 0))]:
        x = random.normal(size=(2, 3, 6, 9)).astype("float32") - 5
        kept = x.copy()
        wanted = windows_of(x, kernel, stride, padding, -np.inf).max(axis=(4, 5))
        case = f"the maxima of numbers near -5 of shape (2, 3, 6, 9), kernel {kernel}, stride "
        case += f"{stride}, padding {padding}"
        found = max_pool2d_forward(x, kernel, stride, padding)
        expect_array(found, wanted, case, (shape_cause, cause), dtype="float32")
        assert np.array_equal(x, kept), f"{case}: x was changed; copy before you write"


def test_padding_never_wins():
    cause = "The padding was the maximum: it must be -inf, because any finite number may be "
    cause += "larger than an input"
    for number in (-1e10, -3e38, -np.inf):
        x = np.full((1, 1, 2, 2), number, "float32")
        case = f"the maxima of four numbers of {number:g}, windows of 2 by 2, padding 1,"
        wanted = np.full((1, 1, 3, 3), number, "float32")
        expect(max_pool2d_forward(x, (2, 2), (1, 1), (1, 1)), wanted, case, cause)


def test_the_output_is_a_new_array():
    x = np.arange(12.0).reshape(1, 1, 3, 4)
    cause = "The output shares memory with x: copy before you write"
    for kernel, wanted in [((1, 1), x), ((2, 1), x[:, :, 1:])]:
        case = f"the maxima for kernel {kernel}, after -100 was written into x,"
        expect(pooled_after_writing(x, kernel, -100.0), wanted, case, cause)


def test_nan_is_not_hidden():
    x = np.array([[[[1.0, np.nan, 2.0, 3.0]]]])
    case = "for the row 1, nan, 2, 3 and windows of (1, 2), the maxima"
    cause = "The maximum of 1 and nan is nan, as for np.maximum"
    expect(max_pool2d_forward(x, (1, 2), (1, 2), (0, 0)), [[[[np.nan, 3]]]], case, cause)


# %% max-pool-gradient points=5
def test_the_maximum_receives_the_gradient():
    x, wanted = np.zeros((1, 1, 4, 4)), np.zeros((1, 1, 4, 4))
    x[0, 0, 1::2, 1::2] = [[1, 2], [3, 4]]
    wanted[0, 0, 1::2, 1::2] = [[10, 20], [30, 40]]
    g, out = np.array([[[[10.0, 20.0], [30.0, 40.0]]]]), np.array([[[[1.0, 2.0], [3.0, 4.0]]]])
    case = f"the gradient of {x[0, 0].tolist()}, four windows, g = [[10, 20], [30, 40]],"
    error = "out and g have one number per window, x does not: compare out with patches of x"
    call = lambda: max_pool2d_gradient(g, out, x, (2, 2), (2, 2), (0, 0))
    cause = "The maximum of each window, in its lower right corner, receives the upstream "
    cause += "gradient of this window"
    expect(result_of(call, case, error), wanted, case, cause)


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
    found = max_pool2d_gradient(g, out, x, (1, 2), (1, 1), (0, 0))
    case = "the gradient of 1, 9, 2, 3 in windows of (1, 2), stride 1, g = [1, 10, 100],"
    cause = "9 is the maximum of two windows and receives 1 + 10"
    expect(found, [[[[0, 11, 0, 100]]]], case, cause)


def test_the_gradient_of_max_pooling_window_by_window():
    random = np.random.default_rng(47)
    error = "Compare x with padding to out, and add into zeros with padding; windows move by "
    error += "the stride"
    sums = "The gradients should sum to the sum of g: is anything overwritten where windows "
    sums += "overlap, or passed to several equal maxima or to the padding?"
    for kernel, stride, padding in POOLS:
        x = random.integers(-5, 0, (2, 3, 6, 9)).astype("float32")
        draw = lambda shape: random.normal(size=shape).astype("float32")
        out, g, wanted = max_pooling(x, draw, kernel, stride, padding)
        case = f"the gradient of x (2, 3, 6, 9), -5 ... -1, kernel {kernel}, stride {stride}, "
        case += f"padding {padding}"
        options = kernel, stride, padding
        found = computed(max_pool2d_gradient, (g, out, x), options, case, error)
        cause = "Each window passes its g to the first of its pixels that equals its maximum"
        if np.shape(found) == wanted.shape and abs(np.sum(found) - g.sum()) > 1e-3:
            cause = sums
        expect_array(found, wanted, case, (CROPPED, cause), near=1e-5, dtype="float32")


def test_backward_uses_the_gradient_of_max_pooling():
    x = Variable(np.array([[[[1.0, 5.0, 2.0, 8.0]]]], "float32"))
    out = apply(max_pool2d_forward, x, kernel_size=(1, 2), stride=(1, 2), padding=(0, 0))
    out.backward(np.array([[[[3.0, -2.0]]]]))
    case = "for the row 1, 5, 2, 8, windows of (1, 2) and g = [3, -2], the gradient of x"
    expect(x.grad, [[[[0, 3, 0, -2]]]], case)


# %% max-pool-gradient hidden points=1
def test_the_gradient_of_other_pools():
    random = np.random.default_rng(53)
    for shape, kernel, stride, padding in [
        ((1, 2, 5, 7), (3, 3), (1, 1), (1, 0)),
        ((3, 1, 8, 4), (2, 4), (3, 1), (1, 2)),
        ((2, 2, 3, 3), (1, 1), (2, 2), (0, 0)),
    ]:
        x = random.integers(0, 3, shape).astype("float64") - 7
        yield max_pool2d_forward(x, kernel, stride, padding)
        options = {"kernel_size": kernel, "stride": stride, "padding": padding}
        leaf = Variable(x)
        out = apply(max_pool2d_forward, leaf, **options)
        out.backward(random.normal(size=out.shape))
        yield leaf.grad


# %% avg-pool-gradient points=2
def test_every_number_of_a_window_receives_its_part():
    random = np.random.default_rng(59)
    error = "Add g to the patches of zeros with padding; windows move by the stride"
    for kernel, stride, padding in [*POOLS, ((2, 2), (4, 5), (0, 0))]:
        x = random.normal(size=(2, 3, 6, 9)).astype("float32")
        windows, area = windows_of(x, kernel, stride, padding), math.prod(kernel)
        g = random.normal(size=windows.shape[:4]).astype("float32")
        parts = np.broadcast_to(g[..., None, None] / area, windows.shape)
        case = f"the gradient of x (2, 3, 6, 9), kernel {kernel}, stride {stride}, padding "
        case += str(padding)
        several = (
            f"Each of the {area} numbers of a window receives 1 / {area} of its gradient, "
        )
        several += "and a number in several windows receives the sum"
        pixels = windows_of(np.ones_like(x), kernel, stride, padding).sum(axis=(4, 5))
        by_pixels = np.broadcast_to((g / pixels)[..., None, None], windows.shape)
        undivided = np.broadcast_to(g[..., None, None], windows.shape)
        options = kernel, stride, padding
        found = computed(avg_pool2d_gradient, (g, None, x), options, case, error)
        wanted, wrong, whole = [
            add_to_windows(each, x.shape, stride, padding)
            for each in (parts, by_pixels, undivided)
        ]
        causes = {
            "You divide by the pixels in the window. The padding counts as zeros: divide by "
            f"{area}, the size of the kernel": wrong,
            f"Yours is not divided by {area}, the size of the kernel": whole,
            several: found,
        }
        expect_array(found, wanted, case, (CROPPED, causes), near=1e-5, dtype="float32")


def test_backward_uses_the_gradient_of_average_pooling():
    x = Variable(np.array([[[[1.0, 5.0, 2.0, 8.0]]]], "float32"))
    out = apply(avg_pool2d_forward, x, kernel_size=(1, 2), stride=(1, 2), padding=(0, 0))
    out.backward(np.array([[[[3.0, -2.0]]]]))
    case = "for a row of 4, windows of (1, 2) and g = [3, -2], the gradient of x"
    expect(x.grad, [[[[1.5, 1.5, -1, -1]]]], case)


# %% receptive-field points=2
def test_receptive_fields_traced_from_the_output():
    cause = "Neighbouring numbers of a layer are as far apart as the product of the strides "
    cause += "before it"
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
        found = receptive_field(list(layers))
        equal(found, last - first + 1, f"receptive_field({layers})", cause)
        is_whole(found, f"receptive_field({layers})")


def test_receptive_fields_agree_with_gradients():
    for layers in [[(3, 1), (2, 2), (3, 1)], [(3, 2), (4, 3)], [(5, 2), (2, 1)]]:
        x = Variable(np.ones((1, 1, 1, 40)))
        y = x
        for kernel, stride in layers:
            y = conv2d(y, np.ones((1, 1, 1, kernel)), stride=(1, stride))
        g = np.zeros(y.shape)
        g[..., 1] = 1
        y.backward(g)
        case = f"receptive_field({layers}), the number of pixels with a gradient that is not 0,"
        equal(receptive_field(layers), int((x.grad != 0).sum()), case)


# %% flops points=2
def test_flops_counted_by_hand():
    error = {"'int' object": "stride and padding may be ints: `pair` turns them into pairs"}
    for images, weights, stride, padding, products in [
        ((1, 1, 1, 3), (1, 1, 1, 2), 1, 0, 4),
        ((32, 8, 12, 12), (16, 8, 5, 5), 1, 0, 6_553_600),
        ((2, 3, 5, 8), (4, 3, 2, 3), 1, 0, 2 * 4 * 4 * 6 * 18),
        ((2, 3, 5, 8), (4, 3, 2, 3), (3, 2), 0, 2 * 4 * 2 * 3 * 18),
        ((2, 3, 5, 8), (4, 3, 2, 3), 2, (0, 1), 2 * 4 * 2 * 4 * 18),
        ((7, 2, 4, 4), (3, 2, 1, 1), 1, (1, 0), 7 * 3 * 6 * 4 * 2),
        ((64, 64, 58, 58), (64, 64, 3, 3), 1, 0, 64 * 64 * 56 * 56 * 64 * 9),
    ]:
        case = f"images {images}, weights {weights}, stride {stride}, padding {padding}"
        found = result_of(lambda: conv2d_flops(images, weights, stride, padding), case, error)
        assert found != products, (
            f"{case}: {products} is the number of multiply-adds; each is 2 FLOPs"
        )
        cause = (
            "Each output number needs as many multiply-adds as its kernel has weights, in all "
        )
        cause += "its channels"
        if padding and found == conv2d_flops(images, weights, stride, 0):
            cause = "That is without padding: it makes the output larger"
        assert found == 2 * products, (
            f"{case}: this takes {2 * products} FLOPs, yours is {found}. {cause}"
        )
        is_whole(found, f"{case}: the FLOPs")


def test_flops_agree_with_the_size_of_the_output():
    for images, weights, stride, padding in [
        ((2, 3, 5, 8), (4, 3, 2, 3), (1, 2), (2, 1)),
        ((3, 1, 6, 4), (2, 1, 5, 3), 3, 1),
    ]:
        x, ones = Tensor(np.ones(images)), Tensor(np.ones(weights))
        out = conv2d(x, ones, stride=stride, padding=padding)
        wanted = 2 * out.size * weights[1] * weights[2] * weights[3]
        case = f"the FLOPs for images {images}, weights {weights}, stride {stride}, padding "
        equal(conv2d_flops(images, weights, stride, padding), wanted, case + str(padding))
