"""Drawings as SVG: cells of numbers, arrows, texts and lines.

Each colour has one meaning, in every lesson: values are blue, gradients orange, errors red and
hatched; what does not matter is grey. A drawing has its own background, light or dark as the
reader's system is, so that it can be read on any page. It is never scaled down: `WIDTH` pixels fit
on a phone, and no text is smaller than 13.
"""

import itertools

WIDTH = 358  # pixels: what a phone's page has for a picture
TEXT = 13  # pixels: the height of a drawing's text

# meaning: (on a light page, on a dark page)
COLOURS = {
    "value": ("#1b69aa", "#6cb4ee"),
    "gradient": ("#a55100", "#ffa94d"),
    "wrong": ("#c62828", "#ff8a80"),
    "muted": ("#5f6673", "#9ca3af"),
    "text": ("#111827", "#e5e7eb"),
    "page": ("#ffffff", "#14181e"),
}
FILLS = {
    "value": ("#dcebf8", "#16324a"),
    "gradient": ("#fdebd3", "#4a2f10"),
    "wrong": ("#fbe3e1", "#4d1f1f"),
    "muted": ("#f3f4f6", "#232a33"),
}

numbers = itertools.count()  # ids must differ on a page that holds several drawings


class Drawing:
    """A picture of lines, boxes and texts, made step by step; a notebook shows it.

    title        what it shows, in words
    description  what a reader is to learn from it
    width        pixels
    height       pixels

    Every place is in pixels from the upper left corner. `kind` is a key of `COLOURS`: a meaning.

    >>> drawing = Drawing("two numbers", "one cell holds 1, the other 2", height=60)
    >>> drawing.cells(10, 10, [[1, 2]])
    >>> drawing.svg().count("<rect class=")  # the border, the page and two cells
    4
    """

    def __init__(self, title, description="", width=WIDTH, height=200):
        self.title, self.description = title, description
        self.width, self.height, self.parts = width, height, []

    def cell(self, x, y, text="", kind="value", width=40, height=34, dashed=False):
        """A box with a text in its middle; dashed if it does not exist in memory."""
        style = ' stroke-dasharray="4 3"' if dashed else ""
        hatched = " hatched" if kind == "wrong" else ""
        self.parts.append(
            f'<rect class="cell {kind}{hatched}" x="{x:g}" y="{y:g}" width="{width:g}" '
            f'height="{height:g}" rx="3"{style}/>'
        )
        if text != "":
            self.text(x + width / 2, y + height / 2 + 4.5, text, "text" if not dashed else "muted")

    def cells(self, x, y, rows, kind="value", width=40, height=34, dashed=False):
        """A grid of cells, one for each number of `rows`, a list of lists or a 2-D array.

        kind     a meaning, or a function (i, j) -> meaning
        dashed   whether, or a function (i, j) -> whether, the cell is dashed
        """
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                self.cell(
                    x + j * width,
                    y + i * height,
                    short(value),
                    kind(i, j) if callable(kind) else kind,
                    width,
                    height,
                    dashed(i, j) if callable(dashed) else dashed,
                )

    def text(self, x, y, text, kind="text", anchor="middle", bold=False):
        """A text whose baseline is at `y`; anchor is "start", "middle" or "end"."""
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(
            f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}"{weight}>'
            f"{escape(text)}</text>"
        )

    def line(self, *points, kind="muted", width=1.5, dashed=False):
        """A line through two or more points (x, y)."""
        style = ' stroke-dasharray="4 3"' if dashed else ""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        self.parts.append(
            f'<polyline class="line {kind}" points="{path}" stroke-width="{width:g}"{style}/>'
        )

    def arrow(self, start, end, kind="muted", bend=0):
        """An arrow from one point (x, y) to another.

        bend  how far its middle lies off the straight line, in pixels, to the left of the way
        """
        (x1, y1), (x2, y2) = start, end
        length = max(1.0, ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5)
        control = (
            (x1 + x2) / 2 + 2 * bend * (y2 - y1) / length,
            (y1 + y2) / 2 - 2 * bend * (x2 - x1) / length,
        )
        self.parts.append(
            f'<path class="line {kind}" d="M{x1:g},{y1:g} Q{control[0]:g},{control[1]:g} '
            f'{x2:g},{y2:g}" stroke-width="1.5" marker-end="url(#{{id}}-{kind})"/>'
        )

    def dot(self, x, y, kind="value", radius=4):
        """A filled circle."""
        self.parts.append(f'<circle class="dot {kind}" cx="{x:g}" cy="{y:g}" r="{radius:g}"/>')

    def svg(self):
        """The picture as SVG text."""
        name = f"drawing{next(numbers)}"
        tips = "".join(
            f'<marker id="{name}-{kind}" markerWidth="8" markerHeight="8" refX="7" refY="4" '
            f'orient="auto"><path class="line {kind}" d="M1,1 L7,4 L1,7"/></marker>'
            for kind in COLOURS
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" id="{name}" role="img" '
            f'aria-labelledby="{name}-title {name}-desc" width="{self.width}" '
            f'height="{self.height}" viewBox="0 0 {self.width} {self.height}">'
            f'<title id="{name}-title">{escape(self.title)}</title>'
            f'<desc id="{name}-desc">{escape(self.description)}</desc>'
            f"<style>{style(name)}</style>"
            f'<defs>{tips}<pattern id="{name}-hatch" width="6" height="6" '
            'patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
            '<rect class="hatch" width="6" height="6"/><path class="line wrong" d="M0,0 V6"/>'
            f'</pattern></defs><rect class="page" width="{self.width}" height="{self.height}"/>'
            + "".join(self.parts).replace("{id}", name)
            + "</svg>"
        )

    def _repr_svg_(self):
        return self.svg()


def escape(text):
    """`text` as SVG has it: with &lt; for <, and so on."""
    import html  # late: its table of characters takes 0.3 MB, and most programs draw nothing

    return html.escape(str(text))


def style(name):
    """The style sheet of the drawing with the id `name`, for light and for dark pages."""

    def rules(dark):
        lines = [f"#{name} .page{{fill:{COLOURS['page'][dark]}}}"]
        for kind, colours in COLOURS.items():
            lines += [
                f"#{name} text.{kind},#{name} .dot.{kind}{{fill:{colours[dark]}}}",
                f"#{name} .line.{kind}{{stroke:{colours[dark]};fill:none}}",
            ]
        for kind, colours in FILLS.items():
            lines.append(
                f"#{name} .cell.{kind}{{fill:{colours[dark]};stroke:{COLOURS[kind][dark]}}}"
            )
        return "".join([*lines, f"#{name} .hatch{{fill:{FILLS['wrong'][dark]}}}"])

    return (
        f"#{name} text{{font-family:system-ui,sans-serif;font-size:{TEXT}px}}"
        f"{rules(0)}#{name} .cell.hatched{{fill:url(#{name}-hatch)}}"
        f"@media(prefers-color-scheme:dark){{{rules(1)}"
        f"#{name} .cell.hatched{{fill:url(#{name}-hatch)}}}}"
    )


def short(value):
    """A number in at most about six characters: whole numbers as they are, others to 3 digits.

    >>> short(2.0), short(-0.7546), short(8.9e-21), short("a")
    ('2', '-0.755', '8.9e-21', 'a')
    """
    if isinstance(value, str):
        return value
    return str(int(value)) if value == int(value) and abs(value) < 1e6 else f"{value:.3g}"
