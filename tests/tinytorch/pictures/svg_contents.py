"""What an SVG drawing contains: its texts and its cells, in the order in which they were drawn."""

import xml.etree.ElementTree as tree
from typing import NamedTuple

SVG = "{http://www.w3.org/2000/svg}"
CHARACTER = 7.3  # the width of a character of a text, in the units of the drawing


class Cell(NamedTuple):
    kind: str
    x: float
    y: float
    width: float
    height: float
    hatched: bool
    dashed: bool
    text: str | None  # of the text that was drawn next, if it was drawn before another cell


def elements(drawing, name):
    return list(tree.fromstring(drawing.svg()).iter(SVG + name))


def texts(drawing):
    return [text.text or "" for text in elements(drawing, "text")]


def cells(drawing, *kinds):
    """All cells, or only the cells of the given kinds."""
    parts = list(tree.fromstring(drawing.svg()))
    result = []
    for part, following in zip(parts, [*parts[1:], None]):
        classes = part.get("class", "").split()
        if part.tag == SVG + "rect" and classes[0] == "cell":
            place = (float(part.get(key)) for key in ("x", "y", "width", "height"))
            has_text = following is not None and following.tag == SVG + "text"
            result.append(
                Cell(
                    classes[1],
                    *place,
                    hatched="hatched" in classes,
                    dashed=part.get("stroke-dasharray") is not None,
                    text=following.text if has_text else None,
                )
            )
    return [cell for cell in result if not kinds or cell.kind in kinds]


def assert_on_page(drawing, overlap=False):
    """Cells and texts are inside the drawing; no cell covers another, unless `overlap`."""
    boxes = cells(drawing)
    for n, (_, x, y, width, height, *_) in enumerate(boxes):
        assert 0 <= x and x + width <= drawing.width + 0.01
        assert 0 <= y and y + height <= drawing.height
        for _, a, b, c, d, *_ in boxes[: 0 if overlap else n]:
            beside = x + width <= a + 0.01 or a + c <= x + 0.01
            assert beside or y + height <= b + 0.01 or b + d <= y + 0.01, "two cells overlap"
    for text in elements(drawing, "text"):
        x, width = float(text.get("x")), CHARACTER * len(text.text or "")
        left = x - width * {"start": 0, "middle": 1 / 2, "end": 1}[text.get("text-anchor")]
        assert 0 <= left and left + width <= drawing.width, text.text
        assert 0 < float(text.get("y")) <= drawing.height, text.text
