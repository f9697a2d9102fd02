"""A figure of many small grey images."""

import numpy as np


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
