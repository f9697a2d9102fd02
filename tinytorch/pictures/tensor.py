"""What lesson 02 draws: digits and the answers of a network, strides, broadcasting, the channels of
a picture, and matrix products.
"""

import numpy as np

from tinytorch.data.image_sets import flat_digits
from tinytorch.pictures.drawing import panel
from tinytorch.support.svg import COLOURS, WIDTH, Drawing, short

# A network that reads handwritten digits. Its hidden layer is random; its output layer is fitted by
# least squares. Source: Rahimi and Recht, Random features for large-scale kernel machines (2007).


def load_network(hidden=256):
    """Images that the network was not fitted to, their labels, and the network's numbers.

    hidden   units of the hidden layer
    returns  images (359, 64), floats from 0 to 1, one image of 8 by 8 pixels a row; labels (359,),
             integers; a tuple of W1 (64, hidden), b1 (hidden,), W2 (hidden, 10), b2 (10,). All but
             the labels are float32.
    """
    (x, labels), (x_test, test_labels) = map(flat_digits, ("train", "test"))
    rng = np.random.default_rng(0)
    W1, b1 = rng.normal(0, 64**-0.5, (64, hidden)), rng.normal(0, 0.5, hidden)
    features = np.column_stack([np.maximum(x @ W1 + b1, 0), np.ones(len(x))])
    gram = features.T @ features + 0.1 * np.eye(hidden + 1)  # 0.1: ridge regression
    W2 = np.linalg.solve(gram, features.T @ np.eye(10)[labels])
    weights = tuple(part.astype(np.float32) for part in (W1, b1, W2[:-1], W2[-1]))
    return x_test, test_labels, weights


def draw_digits(images, answers, labels):
    """A figure of images in rows of five, each with the network's answer above it.

    images   (n, 64), floats from 0 to 1
    answers  (n,), what the network says; red where it is not the label
    labels   (n,), what each image shows
    """
    tile, columns = 12, 5  # pixels of an image with its surroundings; images in a row
    rows = -(-len(images) // columns)
    page = np.zeros((rows * tile, columns * tile))
    figure, axes = panel(width=5.0, height=rows)
    for n, (image, answer, label) in enumerate(zip(images, answers, labels)):
        top, left = n // columns * tile, n % columns * tile
        page[top + 3 : top + 11, left + 2 : left + 10] = image.reshape(8, 8)
        wrong = answer != label
        axes.text(
            left + 6,
            top + 1.2,
            f"{answer} (is {label})" if wrong else str(answer),
            ha="center",
            va="center",
            color=COLOURS["wrong" if wrong else "value"][0],
        )
    axes.imshow(page, cmap="gray_r", aspect="equal")
    axes.axis("off")
    return figure


def draw_strides(array, index, name="x", strides=None):
    """The memory of an array of two axes, the array as a grid, and how to find one element.

    array    ndarray of rank 2, or a view such as a transpose; its memory holds at most 7 elements
    index    (i, j)
    name     what the array is called
    strides  one int per axis, in elements; None for NumPy's own
    returns  a Drawing

    >>> import numpy as np
    >>> "x[1, 2]" in draw_strides(np.arange(6).reshape(2, 3), (1, 2)).svg()
    True
    """
    cell, high = 48, 34  # pixels: the width and the height of a cell
    top = 64  # pixels: where the row of memory begins; the arcs are above it
    memory = array
    while memory.base is not None:
        memory = memory.base
    memory = memory.ravel()
    steps = strides or [stride // array.itemsize for stride in array.strides]
    position = sum(i * step for i, step in zip(index, steps))
    rows, columns = array.shape
    where = f"{name}[{', '.join(map(str, index))}]"
    path = " + ".join(f"{i} · {step}" for i, step in zip(index, steps))
    drawing = Drawing(
        f"shape {array.shape} and strides {tuple(steps)} over one row of memory",
        f"{where} lies at position {path} = {position}",
        height=top + high + 80 + rows * high + 38,
    )
    left = (WIDTH - cell * memory.size) / 2

    def middle(place):
        return left + (place + 0.5) * cell

    place = 0
    for count, step in zip(index, steps):
        begin = middle(place)
        for _ in range(count):
            target = place + step
            drawing.arrow(
                (middle(place) + 4, top - 4), (middle(target) - 4, top - 4), "value", 7 + 5 * step
            )
            place = target
        if count:
            above = top - 18 - 7 * step
            drawing.text(
                (begin + middle(place)) / 2, above, f"{count} · {step}", "value", bold=True
            )
    drawing.text(left, top - 44, "memory", "muted", "start")
    drawing.cells(
        left, top, [memory], lambda i, j: "value" if j == position else "muted", cell, high
    )
    for place in range(memory.size):
        drawing.text(middle(place), top + high + 17, place, "muted")

    x, y = (WIDTH - cell * columns) / 2, top + high + 70
    drawing.text(WIDTH / 2, y - 16, f"{name}: shape {array.shape}, strides {tuple(steps)}")
    drawing.cells(x, y, array, lambda i, j: "value" if (i, j) == index else "muted", cell, high)
    for number in range(rows):
        drawing.text(x - 8, y + number * high + 22, number, "muted", "end")
    drawing.text(
        WIDTH / 2, y + rows * high + 26, f"{where} is at position {path} = {position}", bold=True
    )
    return drawing


def draw_broadcasting(a, b, operator="+", wrong=()):
    """Two operands, their shapes, and the result that broadcasting makes of them.

    a, b      ndarrays or nested lists of rank 0, 1 or 2
    operator  "+", "-" or "*"
    wrong     pairs (i, j): unwanted elements of the result
    returns   a Drawing; when the shapes do not broadcast, of the shapes alone

    >>> draw_broadcasting(np.ones((2, 3)), np.ones(2)).description
    'the shapes (2, 3) and (2,) do not broadcast'
    """
    cell, high = 44, 32  # pixels: the width and the height of a cell
    a, b = np.asarray(a), np.asarray(b)
    rank = max(a.ndim, b.ndim)
    padded = [(1,) * (rank - x.ndim) + x.shape for x in (a, b)]
    fits = [m == n or 1 in (m, n) for m, n in zip(*padded)]
    if all(fits):
        result = {"+": np.add, "-": np.subtract, "*": np.multiply}[operator](a, b)
        description = f"shapes {a.shape} and {b.shape} broadcast to {result.shape}"
        rows = 1 if rank < 2 else result.shape[-2]
        height = 3 * high + 2 * rows * high + 96
    else:
        description = f"the shapes {a.shape} and {b.shape} do not broadcast"
        height = 2 * high + 66
    drawing = Drawing(f"{a.shape} {operator} {b.shape}", description, height=height)
    right, y = 250, 12
    for x, shape in zip((a, b), padded):
        drawing.text(right - rank * cell - 12, y + 21, x.shape, anchor="end")
        for axis, n in enumerate(shape):
            kind = "value" if fits[axis] else "wrong"
            left = right - (rank - axis) * cell
            drawing.cell(left, y, n, kind, cell, high, dashed=axis < rank - x.ndim)
        y += high + 4
    if not all(fits):
        drawing.text(WIDTH / 2, y + 30, "the lengths differ, and neither is 1: ValueError", "wrong")
        return drawing
    drawing.text(right - rank * cell - 12, y + 29, f"result {result.shape}", anchor="end")
    drawing.line((right - rank * cell, y + 2), (right, y + 2), kind="text")
    for axis, n in enumerate(result.shape):
        drawing.cell(right - (rank - axis) * cell, y + 8, n, "value", cell, high)

    y += high + 36
    wide = np.broadcast_to(result, (rows, result.shape[-1])) if rank < 2 else result
    columns = wide.shape[1]
    gap = 34
    x = (WIDTH - 2 * columns * cell - gap) / 2
    for part, shape in zip((a, b), padded):
        rows_kept, columns_kept = (1, *shape)[-2:]
        drawing.cells(
            x,
            y,
            np.broadcast_to(part, wide.shape),
            lambda i, j, m=rows_kept, n=columns_kept: "value" if i < m and j < n else "muted",
            cell,
            high,
            lambda i, j, m=rows_kept, n=columns_kept: i >= m or j >= n,
        )
        x += columns * cell + gap
    sign = {"-": "−"}.get(operator, operator)  # a minus sign is as wide as a plus
    drawing.text(WIDTH / 2, y + rows * high / 2 + 5, sign, bold=True)
    y += rows * high + 24
    left = (WIDTH - columns * cell) / 2
    drawing.text(left - 16, y + rows * high / 2 + 5, "=", bold=True)
    drawing.cells(left, y, wide, lambda i, j: "wrong" if (i, j) in wrong else "value", cell, high)
    return drawing


CHANNELS = "value", "gradient", "muted"  # one colour for each channel


def draw_channels(picture):
    """The pixels of a picture, and the rows of its reshape and of its transpose, by channel.

    picture  ndarray of shape (height, width, channels): at most 3 pixels and 3 channels
    returns  a Drawing; each element has the colour of the channel it belongs to

    >>> draw_channels(np.ones((1, 2, 3))).description
    'rows that hold one channel only: 0 of 3 in the reshape, 3 of 3 in the transpose'
    """
    cell, high = 48, 32  # pixels: the width and the height of a cell
    picture = np.asarray(picture)
    height, width, channels = picture.shape
    pixels = height * width
    colour_of = np.broadcast_to(np.arange(channels), picture.shape)
    parts = []
    for title, change in [
        (f"reshape{channels, height, width}", lambda x: x.reshape(channels, height, width)),
        ("transpose(2, 0, 1)", lambda x: x.transpose(2, 0, 1)),
    ]:
        colours = change(colour_of).reshape(channels, pixels)
        pure = sum(len(set(row)) == 1 for row in colours.tolist())
        parts.append((title, change(picture).reshape(channels, pixels), colours, pure))
    drawing = Drawing(
        f"a picture of shape {picture.shape} with its channels first",
        f"rows that hold one channel only: {parts[0][3]} of {channels} in the reshape, "
        f"{parts[1][3]} of {channels} in the transpose",
        height=54 + (pixels + channels) * high + 64,
    )
    left, y = (WIDTH - channels * cell) / 2, 34
    drawing.text(WIDTH / 2, y - 12, f"picture: shape {picture.shape}")
    drawing.cells(left, y, picture.reshape(pixels, channels), lambda i, j: CHANNELS[j], cell, high)
    for pixel in range(pixels):
        drawing.text(left - 8, y + pixel * high + 21, f"pixel {pixel}", "muted", "end")
    y += pixels * high + 44
    for (title, rows, colours, pure), middle in zip(parts, (WIDTH / 4, 3 * WIDTH / 4)):
        drawing.text(middle, y - 12, title)
        drawing.cells(
            middle - pixels * cell / 2,
            y,
            rows,
            lambda i, j, colours=colours: CHANNELS[colours[i, j]],
            cell,
            high,
        )
        verdict = "a row is a channel" if pure == channels else "channels are mixed"
        drawing.text(middle, y + channels * high + 22, verdict, bold=True)
    return drawing


def draw_matmul(a, b, i, j):
    """The product of two matrices, `b` above the result and `a` to its left.

    a        ndarray or lists of shape (m, k)
    b        ndarray or lists of shape (k, n)
    i, j     the element of the result whose row of `a` and column of `b` are marked
    returns  a Drawing

    >>> draw_matmul([[1, 2]], [[3], [4]], 0, 0).description
    'element [0, 0] is 1·3 + 2·4 = 11'
    """
    cell, high = 40, 34  # pixels: the width and the height of a cell
    a, b = np.asarray(a), np.asarray(b)
    product = a @ b
    (m, k), n = a.shape, b.shape[1]
    terms = " + ".join(f"{short(p)}·{short(q)}" for p, q in zip(a[i], b[:, j]))
    drawing = Drawing(
        f"a matrix product of shapes {a.shape} and {b.shape}",
        f"element [{i}, {j}] is {terms} = {short(product[i, j])}",
        height=32 + (k + m) * high + 70,
    )
    gap = 14
    left = (WIDTH - (k + n) * cell - gap) / 2
    right, top = left + k * cell + gap, 32
    below = top + k * high + gap

    def mark(chosen):
        return lambda row, column: "value" if chosen(row, column) else "muted"

    drawing.text(right + n * cell / 2, top - 10, f"b: {b.shape}")
    drawing.cells(right, top, b, mark(lambda row, column: column == j), cell, high)
    drawing.text(left + k * cell / 2, below - 10, f"a: {a.shape}")
    drawing.cells(left, below, a, mark(lambda row, column: row == i), cell, high)
    drawing.cells(right, below, product, mark(lambda *place: place == (i, j)), cell, high)
    drawing.text(right + n * cell / 2, below + m * high + 18, f"a @ b: {product.shape}")
    drawing.text(WIDTH / 2, below + m * high + 42, drawing.description, bold=True)
    return drawing
