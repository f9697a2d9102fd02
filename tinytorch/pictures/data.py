"""What lesson 09 draws: images, parts and batches of data sets, standardized values; and
classifiers that learn nothing, for comparison.
"""

import numpy as np

from tinytorch.support.svg import WIDTH, Drawing

# Images


def show_images(images, titles=None, columns=10):
    """Draw grey images beside each other, row by row.

    images   1 or more arrays or Tensors of one shape (channels, height, width); of each, the
             first channel is drawn, from 0 (white) to 1 (black)
    titles   a title for each image, anything with a str(); None for no titles
    columns  how many images are drawn per row; ten fit on a phone's page
    returns  a matplotlib Figure

    >>> figure = show_images([np.eye(8)[None]] * 12)  # 10 and 2, with 2 pixels between them
    >>> figure.axes[0].images[0].get_array().shape
    (18, 98)
    """
    import matplotlib.pyplot as plt  # late: a lesson can be used without drawing

    images = np.stack([np.asarray(image)[0] for image in images])
    mosaic, corners = tile(images, columns, gap=(2 if titles is None else 5, 2))
    rows = -(-len(images) // columns)
    figure, axis = plt.subplots(
        figsize=(columns * 0.5, rows * (0.5 if titles is None else 0.7)), layout="tight"
    )
    axis.imshow(mosaic, cmap="gray_r", vmin=0, vmax=1)
    axis.axis("off")
    if titles is not None:
        middle = (images.shape[2] - 1) / 2
        for (top, left), title in zip(corners, titles, strict=True):
            axis.text(left + middle, top - 0.7, str(title), ha="center", va="bottom", fontsize=13)
    return figure


def tile(images, columns, gap=(0, 0)):
    """Copy images into one canvas, row by row.

    images   array of shape (n, height, width), n at least 1
    columns  how many images per row
    gap      pixels between two rows, and between two columns
    returns  (canvas, corners): an array of the images' dtype, 0 where there is no image, and a
             list with the pixel (top, left) at which each image begins

    >>> canvas, corners = tile(np.array([[[1]], [[2]], [[3]]]), columns=2, gap=(1, 1))
    >>> canvas
    array([[1, 0, 2],
           [0, 0, 0],
           [3, 0, 0]])
    >>> corners
    [(0, 0), (0, 2), (2, 0)]
    """
    count, height, width = images.shape
    down, right = height + gap[0], width + gap[1]
    rows = -(-count // columns)
    canvas = np.zeros((rows * down - gap[0], columns * right - gap[1]), images.dtype)
    corners = [(k // columns * down, k % columns * right) for k in range(count)]
    for image, (top, left) in zip(images, corners):
        canvas[top : top + height, left : left + width] = image
    return canvas, corners


# Data sets and batches


def draw_split(parts):
    """One bar for the data set, cut into parts as long as they are large.

    parts    list of (name, how many examples, what it is used for)
    returns  a Drawing

    >>> draw_split([("training", 8, "fit"), ("test", 2, "measure")]).height
    122
    """
    total, x = sum(count for _, count, _ in parts), 10
    names = ", ".join(f"{name} {count}" for name, count, _ in parts)
    drawing = Drawing("A data set, split", names, height=66 + 28 * len(parts))
    for k, (name, count, use) in enumerate(parts):
        width, kind = (WIDTH - 20) * count / total, ("value", "gradient", "muted")[k % 3]
        drawing.cell(x, 12, count, kind, width=width, height=36)
        y = 72 + 28 * k
        drawing.cell(10, y - 12, "", kind, width=16, height=16)
        drawing.text(34, y, name, anchor="start", bold=True)
        drawing.text(122, y, use, anchor="start")
        x += width
    return drawing


def draw_class_counts(rows, expected):
    """A table: how many examples of each class a part has; counts that are off by two or more
    are marked.

    rows      list of (name, array of shape (classes,): how many examples of each class)
    expected  how many there should be of each class: a number, or one per class
    returns   a Drawing

    >>> drawing = draw_class_counts([("random", [7, 13]), ("stratified", [10, 10])], 10)
    >>> drawing.svg().count("hatched")  # two cells, and the rule of the style sheet twice
    4
    """
    classes = len(rows[0][1])
    width, expected = (WIDTH - 20) / classes, np.broadcast_to(expected, classes)
    text = "; ".join(f"{name}: {', '.join(str(int(n)) for n in counts)}" for name, counts in rows)
    drawing = Drawing("Examples per class", text, height=34 + 66 * len(rows))
    for k in range(classes):
        drawing.text(10 + (k + 0.5) * width, 20, k, "muted")
    for row, (name, counts) in enumerate(rows):
        y = 44 + 66 * row
        drawing.text(10, y, name, anchor="start", bold=True)

        def kind(_, k, counts=counts):
            return "wrong" if abs(counts[k] - expected[k]) >= 2 else "value"

        drawing.cells(10, y + 8, [[int(n) for n in counts]], kind, width=width)
    return drawing


def draw_batches(orders, batch_size, batches=3):
    """The classes of the examples in the first batches, one batch per row.

    orders      list of (name, array of classes in the order in which they are used)
    batch_size  examples per batch
    batches     how many batches are drawn
    returns     a Drawing

    >>> draw_batches([("sorted", [0, 0, 1, 1])], batch_size=2, batches=2).height
    100
    """
    width = min(34, (WIDTH - 90) / batch_size)
    block = 40 + 30 * batches
    text = "; ".join(
        f"{name}: {', '.join(str(int(c)) for c in classes[: batches * batch_size])}"
        for name, classes in orders
    )
    drawing = Drawing("The classes in the first batches", text, height=block * len(orders))
    for number, (name, classes) in enumerate(orders):
        top = number * block
        drawing.text(10, top + 22, name, anchor="start", bold=True)
        for row in range(batches):
            y = top + 32 + 30 * row
            drawing.text(10, y + 18, f"batch {row}", "muted", anchor="start")
            part = classes[row * batch_size : (row + 1) * batch_size]
            shades = ["wrong" if len(set(part)) == 1 else "value"] * len(part)
            drawing.cells(
                74, y, [[int(c) for c in part]], lambda _, k, s=shades: s[k], width, height=26
            )
    return drawing


def draw_number_lines(rows, low, high):
    """Number lines below each other, with the values of two groups on each.

    rows     list of (title, {name of a group: its values}); the first group is above its
             line, in the colour of values, the second below, in the colour of gradients
    low      the left end of every line
    high     its right end
    returns  a Drawing

    >>> rows = [("raw", {"day": [0.5, 0.7], "night": [0.1, 0.3]})]
    >>> draw_number_lines(rows, -2, 2).height
    104
    """
    text = "; ".join(
        f"{title}: " + ", ".join(f"{name} {[round(float(v), 2) for v in values]}"
                                 for name, values in groups.items())
        for title, groups in rows
    )  # fmt: skip
    drawing = Drawing("Values before and after standardization", text, height=104 * len(rows))

    def x_of(value):
        return 80 + (WIDTH - 100) * (value - low) / (high - low)

    for number, (title, groups) in enumerate(rows):
        y = 104 * number + 56
        drawing.text(10, y - 34, title, anchor="start", bold=True)
        drawing.line((x_of(low), y), (x_of(high), y))
        for tick in range(int(low), int(high) + 1):
            drawing.line((x_of(tick), y - 4), (x_of(tick), y + 4))
            drawing.text(x_of(tick), y + 40, tick, "muted")
        for (name, values), kind, dy in zip(groups.items(), ("value", "gradient"), (-12, 12)):
            drawing.text(10, y + dy + 5, name, kind, anchor="start")
            for value in values:
                drawing.dot(x_of(value), y + dy, kind, radius=5)
    return drawing


# Classifiers without training: the nearest class mean and the nearest neighbour


def nearest_neighbour(examples, labels):
    """A function that gives each row the label of the nearest of these examples.

    examples  array of shape (n, features)
    labels    array of shape (n,)
    returns   a function: array of shape (m, features) -> labels of shape (m,)

    >>> classify = nearest_neighbour(np.array([[0.0, 0.0], [5.0, 5.0]]), np.array([7, 8]))
    >>> classify(np.array([[1.0, 0.0], [4.0, 6.0]]))
    array([7, 8])

    Source: Cover, Hart, Nearest neighbor pattern classification (1967).
    """
    squares = (examples * examples).sum(1)

    def classify(rows):
        # |a - b|**2 = |a|**2 - 2ab + |b|**2, and |a|**2 is the same for all examples
        return labels[(squares - 2 * rows @ examples.T).argmin(1)]

    return classify


def nearest_mean(examples, labels):
    """A function that gives each row the class whose mean example is nearest.

    examples, labels and what is returned are as in `nearest_neighbour`.

    >>> classify = nearest_mean(np.array([[0.0], [2.0], [9.0]]), np.array([0, 0, 1]))
    >>> classify(np.array([[4.0], [6.0]]))
    array([0, 1])
    """
    classes = np.unique(labels)
    means = np.stack([examples[labels == c].mean(0) for c in classes])
    return nearest_neighbour(means, classes)


def draw_accuracies(rows):
    """A bar from 0 to 100 % for each row, with its name above and its number at the right.

    rows     list of (name, accuracy from 0 to 1)
    returns  a Drawing

    >>> draw_accuracies([("all wrong", 0.0), ("all right", 1.0)]).height
    106
    """
    text = "; ".join(f"{name}: {accuracy:.1%}" for name, accuracy in rows)
    drawing = Drawing("Accuracies", text, height=6 + 50 * len(rows))
    full = WIDTH - 80
    for k, (name, accuracy) in enumerate(rows):
        y = 50 * k + 20
        drawing.text(10, y, name, anchor="start")
        drawing.cell(10, y + 6, "", "muted", width=full, height=18)
        if accuracy > 0:
            drawing.cell(10, y + 6, "", "value", width=full * accuracy, height=18)
        drawing.text(WIDTH - 10, y + 20, f"{accuracy:.1%}", anchor="end", bold=True)
    return drawing


def compare_data_handling(images, labels, seed=0):
    """The accuracy of the nearest neighbour on a fifth of the data, for four ways to treat it.

    images   array of shape (n, height, width)
    labels   array of shape (n,)
    returns  list of (what was done, accuracy from 0 to 1), for `draw_accuracies`
    """
    rng = np.random.default_rng(seed)
    cut = len(labels) * 4 // 5
    sorted_file = np.argsort(labels, kind="stable")
    shuffled = rng.permutation(len(labels))

    def accuracy(train, test, train_images, test_images):
        copies = len(train_images) // len(train)
        classify = nearest_neighbour(
            train_images.reshape(len(train_images), -1), np.tile(labels[train], copies)
        )
        return float((classify(test_images.reshape(len(test), -1)) == labels[test]).mean())

    train, test = sorted_file[:cut], sorted_file[cut:]
    in_order = accuracy(train, test, images[train], images[test])
    train, test = shuffled[:cut], shuffled[cut:]
    at_random = accuracy(train, test, images[train], images[test])
    moved = randomly_shifted(images[test], rng)
    shifted = accuracy(train, test, images[train], moved)
    copies = np.concatenate([randomly_shifted(images[train], rng) for _ in range(6)])
    augmented = accuracy(train, test, copies, moved)
    return [
        ("last fifth of a file that is sorted by class", in_order),
        ("a random fifth", at_random),
        ("test images shifted by up to one pixel", shifted),
        ("training images shifted as well", augmented),
    ]


def randomly_shifted(images, rng):
    """Each image shifted by up to one pixel in each direction, with zeros at the border."""
    height, width = images.shape[1:]
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    corners = rng.integers(0, 3, (len(images), 2)).tolist()
    return np.stack(
        [
            image[top : top + height, left : left + width]
            for image, (top, left) in zip(padded, corners)
        ]
    )
