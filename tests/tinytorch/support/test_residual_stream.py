"""The drawings of the residual stream: what they say, and what the plots show."""

import pytest

from tinytorch.support.residual_stream import draw_block, draw_gpt, plot_depths, plot_stream


def test_the_drawings_hold_the_sizes_that_they_are_given():
    block, gpt = draw_block(24, 96).svg(), draw_gpt(5000, 32, 24, 7).svg()
    assert "24 to 96 to 24" in block
    for text in ("(5,000, 24)", "(32, 24)", "block 7", "logits (B, T, 5,000)"):
        assert text in gpt


@pytest.mark.parametrize("drawing", [draw_block(64, 256), draw_gpt(50257, 1024, 768, 12)])
def test_no_line_leaves_the_page(drawing):
    import re

    svg = drawing.svg()
    for x, width in re.findall(r'class="cell[^"]*" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', svg):
        assert 0 <= float(x) and float(x) + float(width) <= drawing.width
    heights = [float(y) for y in re.findall(r'<text[^>]* y="([\d.]+)"', svg)]
    assert 0 < min(heights) and max(heights) <= drawing.height


def test_the_plots_show_each_curve():
    axes = plot_stream({"a": [1, 2, 3], "b": [1, 1, 1]}).axes[0]
    assert [line.get_ydata()[-1] for line in axes.lines] == [3, 1]
    axes = plot_depths([2, 4], {"a": [1, 2], "b": [3, 3]}).axes[0]
    assert [text.get_text() for text in axes.texts] == ["a", "b"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["2", "4"]
