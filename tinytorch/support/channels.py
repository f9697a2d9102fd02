"""A drawing of the channels of a picture: what a reshape and a transpose do to them."""

import numpy as np

from tinytorch.support.drawing import WIDTH, Drawing

__all__ = ["draw_channels"]

CELL, ROW = 48, 32  # pixels
KINDS = "value", "gradient", "muted"  # one colour for each channel


def draw_channels(picture):
    """The pixels of a picture, and the rows of its reshape and of its transpose, by channel.

    picture  ndarray of shape (height, width, channels): at most 3 pixels and 3 channels
    returns  a Drawing; each element has the colour of the channel it belongs to

    >>> draw_channels(np.ones((1, 2, 3))).description
    'rows that hold one channel only: 0 of 3 in the reshape, 3 of 3 in the transpose'
    """
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
        height=54 + (pixels + channels) * ROW + 64,
    )
    left, y = (WIDTH - channels * CELL) / 2, 34
    drawing.text(WIDTH / 2, y - 12, f"picture: shape {picture.shape}")
    drawing.cells(left, y, picture.reshape(pixels, channels), lambda i, j: KINDS[j], CELL, ROW)
    for pixel in range(pixels):
        drawing.text(left - 8, y + pixel * ROW + 21, f"pixel {pixel}", "muted", "end")
    y += pixels * ROW + 44
    for (title, rows, colours, pure), middle in zip(parts, (WIDTH / 4, 3 * WIDTH / 4)):
        drawing.text(middle, y - 12, title)
        drawing.cells(
            middle - pixels * CELL / 2,
            y,
            rows,
            lambda i, j, colours=colours: KINDS[colours[i, j]],
            CELL,
            ROW,
        )
        verdict = "a row is a channel" if pure == channels else "channels are mixed"
        drawing.text(middle, y + channels * ROW + 22, verdict, bold=True)
    return drawing
