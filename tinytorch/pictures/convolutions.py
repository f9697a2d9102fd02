"""What lesson 10 draws: pictures and feature maps, and kernels that slide over their input."""

import numpy as np

from tinytorch.pictures.drawing import as_factor
from tinytorch.support.convolution import kernel_positions
from tinytorch.support.svg import TEXT, WIDTH, Drawing, short

# Pictures and feature maps


def house(size=48):
    """A picture of a house and a sun: float32, shape (size, size), 0 for black to 1 for white.

    >>> house().max()
    np.float32(1.0)
    """
    y, x = np.mgrid[:size, :size] / size
    from_wall, below_ridge = abs(x - 0.4), y - 0.25
    picture = 0.15 + 0.25 * (y > 0.85)  # sky and ground
    picture[(from_wall < 0.22) & (y > 0.5) & (y < 0.85)] = 0.6  # walls
    picture[(below_ridge > 0) & (y < 0.5) & (from_wall < 1.1 * below_ridge)] = 0.9  # roof
    picture[(from_wall < 0.06) & (y > 0.62) & (y < 0.85)] = 0.1  # door
    picture[(x - 0.82) ** 2 + (y - 0.2) ** 2 < 0.012] = 1.0  # sun
    return picture.astype("float32")


def strokes(count, first, last, seed, size=12, noise=0.15):
    """Noisy pictures of one short stroke each: horizontal, vertical, falling or rising.

    count        number of pictures
    first, last  the left end of a stroke lies in one of these columns, both included
    seed         of the random numbers
    size         pixels along each side; a stroke needs 5
    noise        standard deviation of the noise; a stroke is 1 brighter than its background
    returns      (pictures, directions): float32 of shape (count, 1, size, size), and ints from 0
                 to 3 of shape (count,)

    >>> pictures, directions = strokes(10, 0, 3, seed=0)
    >>> pictures.shape, directions.shape
    ((10, 1, 12, 12), (10,))
    """
    stamps = np.zeros((4, 5, 5), "float32")
    stamps[0, 2, :] = stamps[1, :, 2] = 1
    stamps[2], stamps[3] = np.eye(5), np.eye(5)[::-1]
    rng = np.random.default_rng(seed)
    pictures = rng.normal(0, noise, (count, 1, size, size)).astype("float32")
    directions = rng.integers(0, 4, count)
    for picture, direction in zip(pictures[:, 0], directions):
        top, left = rng.integers(0, size - 4), rng.integers(first, last + 1)
        picture[top : top + 5, left : left + 5] += stamps[direction]
    return pictures, directions


def cross_correlate(picture, kernel):
    """The feature map of one kernel on one picture, both 2-D, with stride 1 and no padding.

    >>> cross_correlate(np.array([[0, 0, 5]]), np.array([[-1, 1]]))
    array([[0, 5]])
    """
    kernel = np.asarray(kernel)
    windows = np.lib.stride_tricks.sliding_window_view(picture, kernel.shape)
    return np.einsum("pqij,ij->pq", windows, kernel)


def draw_maps(maps, titles=(), columns=3, shared=False):
    """Draw pictures, kernels and feature maps as a grid of images, each under its title.

    maps     list of 2-D arrays; None leaves a place empty. An array with numbers below 0 is drawn
             from red (negative) over white (0) to blue (positive), any other in grey from black (0)
    titles   one text for each map
    columns  images in a row
    shared   whether all grey maps share the brightness of white; else white is the largest number
             of each
    returns  a matplotlib Figure, 360 pixels wide
    """
    import matplotlib.pyplot as plt  # late: a lesson can be used without drawing

    maps = [None if image is None else np.asarray(image) for image in maps]
    brightest = max((image.max() for image in maps if image is not None), default=0)
    side, rows = 5 / columns, -(-len(maps) // columns)  # inches, with 72 pixels in one
    above = 0.3 / side if titles else 0.06  # room for a title, in sides
    figure = plt.figure(figsize=(5, rows * side * (0.94 + above)))
    axis = figure.add_axes((0, 0, 1, 1))
    for n, image in enumerate(maps):
        if image is None:
            continue
        left, bottom = n % columns, -(n // columns + 1) * (0.94 + above)
        reach = abs(image).max()
        if image.min() < 0:
            look = {"cmap": "RdBu", "vmin": -reach, "vmax": reach}
        else:
            look = {"cmap": "gray", "vmin": 0, "vmax": brightest if shared else reach}
        # one axes for all images, each a square of side 0.94: making axes is what takes time
        axis.imshow(image, extent=(left, left + 0.94, bottom, bottom + 0.94), **look)
        if n < len(titles):
            axis.text(left + 0.47, bottom + 0.98, titles[n], ha="center", fontsize=TEXT)
    axis.set(xlim=(0, columns - 0.06), ylim=(-rows * (0.94 + above), 0))
    axis.set_axis_off()
    return figure


# Kernels that slide over their input

CELL = 34  # pixels: height of a cell


def draw_sliding(row, kernel, stride=1, padding=0):
    """A kernel on all its positions along a row of numbers, and what comes out at each.

    row, kernel  lists of numbers
    stride       from one position to the next
    padding      zeros at each end of the row, drawn dashed
    returns      a Drawing

    >>> "-5" in draw_sliding([0, 5], [1, -1]).svg()
    True
    """
    padded = np.pad(row, padding)
    starts = range(0, len(padded) - len(kernel) + 1, stride)
    drawing = Drawing(
        f"A kernel of {len(kernel)} on {len(row)} numbers, stride {stride}, padding {padding}",
        f"the kernel has {len(starts)} positions; at each, the sum of the products is one output",
        height=76 + 42 * len(starts),
    )
    width = min(40, (WIDTH - 80) / len(padded))
    drawing.text(6, 18, "input" + ", with padding dashed" * bool(padding), anchor="start")
    drawing.cells(
        6,
        28,
        [padded],
        width=width,
        dashed=lambda i, j: not padding <= j < len(padded) - padding,
    )
    drawing.text(WIDTH - 30, 51, "output")
    for n, start in enumerate(starts):
        y, x = 76 + 42 * n, 6 + start * width
        drawing.cells(x, y, [kernel], kind="muted", width=width)
        drawing.arrow((x + len(kernel) * width + 3, y + 17), (WIDTH - 52, y + 17))
        output = padded[start : start + len(kernel)] @ np.array(kernel)
        drawing.cell(WIDTH - 50, y, short(output), width=40)
    return drawing


def draw_product(picture, kernel, at):
    """One number of a feature map: the window under the kernel, the products, their sum.

    picture, kernel  2-D arrays
    at               (row, column) in the feature map; stride 1, no padding
    returns          a Drawing

    >>> "1·3 = 3" in draw_product([[1]], [[3]], (0, 0)).svg()
    True
    """
    picture, kernel = np.array(picture), np.array(kernel)
    maps = cross_correlate(picture, kernel)
    (p, q), (rows, columns) = at, kernel.shape
    height = 36 + CELL * max(len(picture), rows)
    drawing = Drawing(
        f"One number of a feature map, at {at}",
        "the pixels of the window times the weights of the kernel, added up",
        height=height + 28 + 20 * rows,
    )
    middle, right = 20 + 34 * picture.shape[1], WIDTH - 6 - 40 * maps.shape[1]
    drawing.text(6, 18, "input", anchor="start")
    drawing.text(middle, 18, "kernel", anchor="start")
    drawing.text(right, 18, "feature map", anchor="start")

    def inside(i, j):
        return "value" if p <= i < p + rows and q <= j < q + columns else "muted"

    drawing.cells(6, 28, picture, inside, width=34)
    drawing.cells(middle, 28, kernel, width=34)
    drawing.cells(right, 28, maps, lambda i, j: "value" if (i, j) == at else "muted")
    window = picture[p : p + rows, q : q + columns]
    for i, (pixels, weights) in enumerate(zip(window, kernel)):
        products = " + ".join(f"{short(a)}·{as_factor(b)}" for a, b in zip(pixels, weights))
        last = f" = {short(maps[at])}" if i == rows - 1 else " +"
        drawing.text(6, height + 20 + 20 * i, products + last, anchor="start")
    return drawing


def draw_im2col(picture, kernel_size, window=None, weight=None):
    """The columns that im2col makes of a picture, read by window or by weight.

    picture  2-D array
    kernel_size  (height, width); stride 1, no padding
    window   the number of a window, to mark its column and its pixels
    weight   (i, j) in the kernel, to mark its row and its pixels
    returns  a Drawing

    >>> "36 numbers" in draw_im2col(np.arange(16).reshape(4, 4), (3, 3), window=0).svg()
    True
    """
    picture = np.array(picture)
    columns = columns_of(picture, kernel_size)
    pixels = columns_of(np.arange(picture.size).reshape(picture.shape), kernel_size)
    row = None if weight is None else kernel_positions(kernel_size).index(weight)
    marked = pixels[:, window] if row is None else pixels[row]
    what = f"window {window}" if row is None else f"weight {weight}"
    drawing = Drawing(
        f"im2col of a picture of {picture.shape}, kernel {kernel_size}",
        f"the pixels of {what} and where they are in the columns",
        height=56 + CELL * len(columns),
    )
    drawing.text(6, 18, "input", anchor="start")
    drawing.cells(
        6,
        48,
        picture,
        lambda i, j: "value" if i * picture.shape[1] + j in marked else "muted",
        width=34,
    )
    below = 48 + CELL * len(picture)
    lines = [
        what,
        f"= column {window}" if row is None else f"= row {row}",
        f"{columns.size} numbers",
        f"from {picture.size} pixels",
    ]
    for n, line in enumerate(lines):
        drawing.text(6, below + 26 + 20 * n, line, anchor="start", bold=n < 2)
    draw_table(
        drawing,
        columns,
        kernel_size,
        lambda i, j: "value" if j == window or i == row else "muted",
        "columns, one per window" if row is None else "rows, one per weight",
    )
    return drawing


def draw_col2im(shape, kernel_size, pixel):
    """How col2im adds up: ones in the columns, and what each pixel receives.

    shape    (height, width) of the picture
    kernel_size  (height, width); stride 1, no padding
    pixel    (row, column) of the pixel whose places in the columns are marked
    returns  a Drawing

    >>> ">9<" in draw_col2im((5, 5), (3, 3), (2, 2)).svg()
    True
    """
    pixels = columns_of(np.arange(shape[0] * shape[1]).reshape(shape), kernel_size)
    sums = np.bincount(pixels.ravel(), minlength=shape[0] * shape[1]).reshape(shape)
    mine = pixels == pixel[0] * shape[1] + pixel[1]
    drawing = Drawing(
        f"col2im to a picture of {shape}, kernel {kernel_size}",
        "each pixel receives the sum of all places that it was copied to",
        height=56 + CELL * len(pixels),
    )
    drawing.text(6, 18, "gradient of the input", anchor="start")
    drawing.cells(
        6, 48, sums, lambda i, j: "gradient" if (i, j) == tuple(pixel) else "muted", width=34
    )
    below = 48 + CELL * shape[0]
    for n, line in enumerate(
        [f"pixel {tuple(pixel)}", f"was copied {mine.sum()} times", f"and receives {sums[pixel]}"]
    ):
        drawing.text(6, below + 26 + 20 * n, line, anchor="start", bold=n == 0)
    draw_table(
        drawing,
        np.ones(pixels.shape),
        kernel_size,
        lambda i, j: "gradient" if mine[i, j] else "muted",
        "gradient of the columns",
    )
    return drawing


def draw_max_pool(picture, kernel_size, g):
    """Max pooling with windows side by side: the largest of each window, and where gradients go.

    picture  2-D array
    kernel_size  (height, width), the stride as well
    g        upstream gradient: one number for each window, 2-D
    returns  a Drawing

    >>> "max pooling" in draw_max_pool([[1, 2]], (1, 2), [[7]]).svg().lower()
    True
    """
    picture, g = np.array(picture), np.array(g)
    rows, columns = g.shape
    out, gradient = np.zeros_like(picture[:rows, :columns]), np.zeros_like(picture)
    winners = set()
    for p, q in np.ndindex(*g.shape):
        top, left = p * kernel_size[0], q * kernel_size[1]
        window = picture[top : top + kernel_size[0], left : left + kernel_size[1]]
        i, j = np.unravel_index(window.argmax(), window.shape)
        out[p, q], gradient[top + i, left + j] = window.max(), g[p, q]
        winners.add((top + i, left + j))
    height = 28 + CELL * len(picture)
    drawing = Drawing(
        f"Max pooling with windows of {kernel_size}, forward and backward",
        "only the largest number of a window gets a gradient",
        height=2 * height + 30,
    )
    width, right = 36, 60 + 36 * picture.shape[1]

    def thick(x, y):  # the windows, drawn around their cells
        for p, q in np.ndindex(*g.shape):
            a, b = x + q * kernel_size[1] * width, y + p * kernel_size[0] * CELL
            c, d = a + kernel_size[1] * width, b + kernel_size[0] * CELL
            drawing.line((a, b), (c, b), (c, d), (a, d), (a, b), kind="text", width=2)

    for top, left_title, right_title, left_cells, right_cells, kind in [
        (0, "input", "maxima", picture, out, "value"),
        (height + 20, "gradient of the input", "upstream gradient", gradient, g, "gradient"),
    ]:
        drawing.text(6, top + 18, left_title, anchor="start")
        drawing.text(right, top + 18, right_title, anchor="start")
        drawing.cells(
            6,
            top + 28,
            left_cells,
            lambda i, j, kind=kind: kind if (i, j) in winners else "muted",
            width=width,
        )
        thick(6, top + 28)
        drawing.cells(right, top + 28, right_cells, kind)
        y = top + 28 + CELL * rows / 2
        ends = (right - 44, y), (right - 6, y)
        drawing.arrow(*(ends if kind == "value" else ends[::-1]), kind)
    return drawing


def columns_of(picture, kernel_size):
    """im2col of one picture with one channel: shape (kernel height * kernel width, windows)."""
    windows = np.lib.stride_tricks.sliding_window_view(picture, kernel_size)
    return windows.reshape(-1, kernel_size[0] * kernel_size[1]).T


def draw_table(drawing, columns, kernel_size, kind, title):
    """The columns as a table at the right, a row for each weight, a column for each window."""
    width = 40
    left = WIDTH - 6 - width * columns.shape[1]
    drawing.text(WIDTH - 6, 18, title, anchor="end")
    for n in range(columns.shape[1]):
        drawing.text(left + width * (n + 0.5), 40, n, "muted")
    for n, (i, j) in enumerate(kernel_positions(kernel_size)):
        drawing.text(left - 6, 48 + CELL * (n + 0.5) + 4.5, f"{i},{j}", "muted", anchor="end")
    drawing.cells(left, 48, columns, kind, width=width)


def draw_receptive_field(layers, number):
    """Which pixels of a row one number after a stack of layers depends on.

    layers   list of (kernel_size, stride), the first layer first
    number   which number of the last layer: its field is marked
    returns  a Drawing, the pixels at the bottom

    >>> "field: 7 pixels" in draw_receptive_field([(3, 2), (3, 1)], 0).svg()
    True
    """
    starts, distances, fields = (
        [[number]],
        [1],
        [1],
    )  # the marked numbers of each layer, from the top
    for kernel_size, stride in reversed(layers):
        starts.insert(0, sorted({n * stride + k for n in starts[0] for k in range(kernel_size)}))
    for kernel_size, stride in layers:
        fields.append(fields[-1] + (kernel_size - 1) * distances[-1])
        distances.append(distances[-1] * stride)
    pixels = fields[-1] + (number + 1) * distances[-1]
    width, gap = (WIDTH - 112) / pixels, 70
    bottom = 10 + gap * len(layers)
    drawing = Drawing(
        f"The receptive field of one number after {len(layers)} layers",
        f"number {number} of the last layer depends on {len(starts[0])} pixels",
        height=bottom + 64,
    )

    def middle(layer, n):
        return 6 + width * (n * distances[layer] + fields[layer] / 2)

    for layer, (kernel_size, stride) in enumerate(layers, 1):
        for n in starts[layer]:
            for k in range(kernel_size):
                below = middle(layer - 1, n * stride + k), bottom - gap * (layer - 1)
                drawing.line((middle(layer, n), bottom - gap * layer + 26), below, kind="value")
    for layer, (field, distance) in enumerate(zip(fields, distances)):
        top = bottom - gap * layer
        for n in range((pixels - field) // distance + 1):
            kind = "value" if n in starts[layer] else "muted"
            drawing.cell(middle(layer, n) - width / 2, top, "", kind, width=width, height=26)
        title = f"layer {layer}" if layer else "pixels"
        drawing.text(WIDTH - 4, top + 12, title, anchor="end")
        drawing.text(
            WIDTH - 4,
            top + 28,
            f"{distance} pixel{'s' * (distance > 1)} apart",
            "muted",
            anchor="end",
        )
    left, right = (
        middle(0, n) + side * width / 2 for n, side in ((starts[0][0], -1), (starts[0][-1], 1))
    )
    y = bottom + 34
    drawing.line((left, y - 4), (left, y), (right, y), (right, y - 4), kind="value", width=2)
    drawing.text((left + right) / 2, y + 18, f"receptive field: {fields[-1]} pixels", "value")
    return drawing
