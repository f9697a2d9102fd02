"""Small made pictures for convolutions, and feature maps drawn as grids of images."""

import numpy as np

from tinytorch.support.drawing import TEXT

__all__ = ["cross_correlate", "draw_maps", "house", "strokes"]


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

    maps = [None if one is None else np.asarray(one) for one in maps]
    brightest = max((one.max() for one in maps if one is not None), default=0)
    side, rows = 5 / columns, -(-len(maps) // columns)  # inches, with 72 pixels in one
    above = 0.3 / side if titles else 0.06  # room for a title, in sides
    figure = plt.figure(figsize=(5, rows * side * (0.94 + above)))
    axis = figure.add_axes((0, 0, 1, 1))
    for n, one in enumerate(maps):
        if one is None:
            continue
        left, bottom = n % columns, -(n // columns + 1) * (0.94 + above)
        reach = abs(one).max()
        if one.min() < 0:
            look = {"cmap": "RdBu", "vmin": -reach, "vmax": reach}
        else:
            look = {"cmap": "gray", "vmin": 0, "vmax": brightest if shared else reach}
        # one axes for all images, each a square of side 0.94: making axes is what takes time
        axis.imshow(one, extent=(left, left + 0.94, bottom, bottom + 0.94), **look)
        if n < len(titles):
            axis.text(left + 0.47, bottom + 0.98, titles[n], ha="center", fontsize=TEXT)
    axis.set(xlim=(0, columns - 0.06), ylim=(-rows * (0.94 + above), 0))
    axis.set_axis_off()
    return figure
