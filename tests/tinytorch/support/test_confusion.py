import xml.etree.ElementTree as tree

import numpy as np

from tinytorch.support.confusion import draw_confusion_matrix

SVG = "{http://www.w3.org/2000/svg}"


def test_every_count_is_shown_and_mistakes_are_hatched():
    drawing = draw_confusion_matrix(np.array([[5, 1], [0, 4]]), ["cat", "dog"])
    root = tree.fromstring(drawing.svg())
    cells = [r.get("class") for r in root.iter(SVG + "rect") if "cell" in r.get("class", "")]
    assert cells == ["cell value", "cell wrong hatched", "cell muted", "cell value"]
    texts = [text.text for text in root.iter(SVG + "text")]
    assert texts[-4:] == ["5", "1", "0", "4"] and texts.count("cat") == 2
