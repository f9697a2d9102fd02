import xml.etree.ElementTree as tree

import pytest

from tinytorch.support.svg import COLOURS, FILLS, Drawing

SVG = "{http://www.w3.org/2000/svg}"


def parse(drawing):
    return tree.fromstring(drawing.svg())


def contrast(one, other):
    """The contrast ratio of two colours "#rrggbb", as WCAG 2.1 defines it."""

    def luminance(colour):
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted([luminance(one), luminance(other)], reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [0, 1], ids=["light", "dark"])
def test_every_colour_can_be_read_on_the_page_and_in_every_cell(dark):
    grounds = [COLOURS["page"][dark], *(pair[dark] for pair in FILLS.values())]
    for ink, pair in COLOURS.items():
        for ground in grounds:
            assert ink == "page" or contrast(pair[dark], ground) >= 4.5, (ink, ground)


def test_a_grid_has_one_cell_and_one_text_for_each_number():
    drawing = Drawing("a grid", height=100)
    drawing.cells(0, 0, [[1, 2.5], [3, 4]], kind=lambda i, j: "wrong" if i == j else "value")
    root = parse(drawing)
    cells = [r for r in root.iter(SVG + "rect") if "cell" in r.get("class", "")]
    assert [cell.get("class") for cell in cells] == [
        "cell wrong hatched",
        "cell value",
        "cell value",
        "cell wrong hatched",
    ]
    assert [text.text for text in root.iter(SVG + "text")] == ["1", "2.5", "3", "4"]


def test_two_drawings_on_one_page_share_no_id():
    drawing = Drawing("an arrow")
    drawing.arrow((0, 0), (10, 10), "gradient")
    one, other = parse(drawing), parse(drawing)
    ids = [{e.get("id") for e in root.iter() if e.get("id")} for root in (one, other)]
    assert not ids[0] & ids[1]
    (path,) = [e for e in one.iter(SVG + "path") if e.get("marker-end")]
    assert path.get("marker-end")[5:-1] in ids[0]


def test_texts_are_escaped_and_the_title_is_told():
    drawing = Drawing("a < b", "b & c")
    drawing.text(0, 10, "x < y")
    root = parse(drawing)
    assert root.find(SVG + "title").text == "a < b" and root.find(SVG + "desc").text == "b & c"
    assert [text.text for text in root.iter(SVG + "text")] == ["x < y"]
