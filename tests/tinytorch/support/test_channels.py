import re

import numpy as np
import pytest

from tinytorch.support.channels import draw_channels


@pytest.mark.parametrize("shape", [(1, 2, 3), (1, 3, 3), (3, 1, 2)])
def test_each_element_has_the_colour_of_its_channel(shape):
    picture = np.arange(np.prod(shape)).reshape(shape)
    svg = draw_channels(picture).svg()
    cells = re.findall(r'<rect class="cell (\w+)".*?/><text.*?>(\d+)</text>', svg)
    n = picture.size
    colour = dict(zip(picture.ravel().tolist(), n * ["value", "gradient", "muted"][: shape[2]]))
    assert all(kind == colour[int(text)] for kind, text in cells)
    grids = [[int(text) for _, text in cells[i : i + n]] for i in (0, n, 2 * n)]
    assert grids[0] == grids[1] == picture.ravel().tolist()  # reshape moves no element
    assert grids[2] == picture.transpose(2, 0, 1).ravel().tolist()
    assert "channels are mixed" in svg and "a row is a channel" in svg
