"""Small made pictures for convolutions to look at, and what they make of them,
drawn side by side.
"""

import numpy as np

__all__ = ["draw_maps", "house", "strokes"]


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
    """Noisy pictures with one short stroke each, level, upright, falling or rising.

    count        how many pictures
    first, last  the left end of a stroke lies in one of these columns, both included
    seed         of the random numbers
    size         pixels along each side; a stroke needs 5
    noise        standard deviation of the noise; a stroke is 1 brighter than what is around it
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


def draw_maps(rows, titles=(), shared=False):
    """Draw pictures, kernels and feature maps in rows.

    rows     list of lists of 2-D arrays; None leaves a place empty. An array with numbers below 0
             is drawn from red (negative) over white (0) to blue, any other in grey from black (0)
    titles   one text for each place of the first row
    shared   whether the grey ones of a row share the brightness of white; else it is the
             largest number of each
    returns  a matplotlib Figure
    """
    import matplotlib.pyplot as plt  # late: who uses a lesson need not draw

    columns = max(len(row) for row in rows)
    figure = plt.figure(figsize=(10, 0.3 + 10 / columns * len(rows)))
    axis = figure.add_axes((0, 0, 1, 1))
    for n, row in enumerate(rows):
        maps = [None if one is None else np.asarray(one) for one in row]
        brightest = max((one.max() for one in maps if one is not None), default=0)
        for i, one in enumerate(maps):
            if one is None:
                continue
            reach = abs(one).max()
            if one.min() < 0:
                look = {"cmap": "RdBu", "vmin": -reach, "vmax": reach}
            else:
                look = {"cmap": "gray", "vmin": 0, "vmax": brightest if shared else reach}
            # one axes for all places, each a square of side 0.94: axes are what takes time
            axis.imshow(one, extent=(i, i + 0.94, -n - 0.94, -n), **look)
    for i, title in enumerate(titles):
        axis.text(i + 0.47, 0.04, title, ha="center")
    axis.set(xlim=(0, columns - 0.06), ylim=(-len(rows) + 0.06, 0.2 if titles else 0))
    axis.set_axis_off()
    return figure
