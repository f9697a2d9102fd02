"""The drawn tangent has the derivative as its slope, and the labels say the chords' slopes."""

import pytest

from tinytorch.support.tangent import draw_tangent


def test_the_lines_have_the_slopes_that_their_labels_say():
    pytest.importorskip("matplotlib")
    import matplotlib.pyplot as plt

    with plt.rc_context():
        figure = draw_tangent(lambda a: (10 - 3 * a) * (a + 5), 2.0, 2.0, ("a", "L"))
        (axes,) = figure.axes
        slopes = []
        for line in axes.lines[1:4]:
            (x1, x2), (y1, y2) = line.get_data()
            slopes.append(round((y2 - y1) / (x2 - x1), 6))
        assert slopes == [-17.0, -23.0, -17.0]
        labels = [text.get_text().strip() for text in axes.texts]
        assert labels == ["tangent: -17", "one-sided: -23", "central: -17", "the curve L"]
        plt.close(figure)
