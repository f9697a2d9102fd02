"""What the drawings of the book share: a figure with panels, controls, steps and a caption.

Without scripts a reader sees the panels in their first state and the steps as a list; with scripts
the controls, and one sentence at a time. The panels are `Drawing`s, as in the lessons, whose parts
have keys by which a script finds them, and whose colours follow the page's light or dark.
"""

import html
import json
import math
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Context

from tinytorch.support.svg import COLOURS, FILLS, Drawing

THREE_DIGITS = Context(prec=3, rounding=ROUND_HALF_UP)
PLACE = ("name", "section", "after", "replaces")


@dataclass
class Figure:
    """A drawing with all that stands around it.

    name         of this figure, in no other use: lower case, "_" between words
    title        what it is, for those who cannot see it
    caption      one sentence: the conclusion
    panels       Panels, side by side where there is room; beside one alone stand the controls
    steps        sentences: what happens, in order; the script says the same, one at a time
    controls     HTML: what the reader can set; shown when there are scripts
    state        what the script needs to know; anything that JSON can hold
    variants     {key: Panels} that the script puts in the place of `panels`
    question     the prediction that the drawing answers: without scripts the rest is folded
    lesson, section, after
                 where it stands: in the section (a heading `##`) of a lesson, behind the paragraph
                 that contains the words `after`, or at the section's end. Without a lesson it
                 stands in a page of the book, in place of `<!-- made: NAME -->`
    replaces     words of the lesson's cell whose picture the drawing is shown instead of; without
                 `after` the drawing stands there. Notebooks have that picture
    """

    name: str
    title: str
    caption: str
    panels: list
    steps: list
    controls: str = ""
    state: object = None
    variants: dict = field(default_factory=dict)
    question: str = ""
    lesson: str = ""
    section: str = ""
    after: str = ""
    replaces: str = ""

    def described(self, script):
        """What tito is given: the figure's HTML, without an empty line, and its place."""
        place = {key: getattr(self, key) for key in PLACE}
        return place | {"html": self.html(script)}

    def html(self, script):
        """The figure, whose script is `tito/page/static/drawings/SCRIPT.js`."""
        steps = "".join(f"<li>{html.escape(step)}</li>" for step in self.steps)
        shown = f'<div class="panels">{self.drawn(self.panels)}</div>'
        listed = f'<ol class="steps">{steps}</ol>'
        if self.question:
            asked = html.escape(self.question)
            shown = f'<details class="answer"><summary>{asked}</summary>{shown}{listed}</details>'
            listed = ""
        variants = "".join(
            f'<template data-variant="{html.escape(key)}">{self.drawn(panels)}</template>'
            for key, panels in self.variants.items()
        )
        beside = " beside" if len(self.panels) == 1 else ""
        state = json.dumps(self.state).replace("<", "\\u003c")
        return (
            f'<figure class="drawing{beside}" id="figure-{self.name}" data-drawing="{script}" '
            f'aria-label="{html.escape(self.title)}">'
            f"<style>{colours(self.name)}</style>{patterns(self.name, shown + variants)}{shown}"
            f'<div class="controls" hidden>{self.controls}</div>'
            f'<p class="says" role="status" aria-live="polite" hidden></p>{listed}'
            f"<figcaption>{html.escape(self.caption)}</figcaption>{variants}"
            f'<script type="application/json">{state}</script></figure>'
        )

    def drawn(self, panels):
        return "".join(panel.svg(self.name, number) for number, panel in enumerate(panels, 1))


class Panel(Drawing):
    """A Drawing whose parts have keys; `data-key` of a cell "a 0 1" and of its text "a 0 1 text".

    touched  whether a script makes parts of it buttons: then it is a group, not one image

    >>> panel = Panel("one number", height=60)
    >>> panel.cell(0, 0, 7, key="x")
    >>> 'data-key="x text"' in panel.svg("example", 1)
    True
    """

    def __init__(self, title, description="", width=358, height=200, touched=False):
        super().__init__(title, description, width, height)
        self.touched = touched

    def key(self, name):
        """Give the part that was drawn last the key `name`."""
        self.parts[-1] = self.parts[-1].replace(" ", f' data-key="{html.escape(name)}" ', 1)

    def cell(self, x, y, text="", kind="value", width=40, height=34, dashed=False, key=""):
        """A box with a text; a cell with a key always has a text, which a script may fill in."""
        super().cell(x, y, "", kind, width, height, dashed)
        if key:
            self.key(key)
        if key or text != "":
            self.text(x + width / 2, y + height / 2 + 4.5, text, "muted" if dashed else "text")
            if key:
                self.key(f"{key} text")

    def grid(self, x, y, rows, key, kind="value", width=40, height=34):
        """A grid of cells with the keys "KEY ROW COLUMN"; None leaves a cell's text empty."""
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                text = "" if value is None else number(value)
                place = x + j * width, y + i * height
                self.cell(*place, text, kind, width, height, key=f"{key} {i} {j}")

    def mark(self, keys):
        """Mark the parts with these keys, as what is spoken of, from the start."""
        for key in keys:
            before, after = f'data-key="{key}" class="', f'data-key="{key}" class="now '
            self.parts = [part.replace(before, after, 1) for part in self.parts]

    def svg(self, name="drawing", count=1):
        """The panel as part of a page. Its patterns and colours are those of the figure `name`."""
        label = f"{name}-{count}"
        described = f' aria-describedby="{label}-desc"' if self.description else ""
        desc = f'<desc id="{label}-desc">{html.escape(self.description)}</desc>'
        return (
            f'<svg role="{"group" if self.touched else "img"}" '
            f'aria-labelledby="{label}-title"{described} '
            f'width="{self.width:g}" height="{self.height:g}" '
            f'viewBox="0 0 {self.width:g} {self.height:g}">'
            f'<title id="{label}-title">{html.escape(self.title)}</title>'
            f"{desc if self.description else ''}{''.join(self.parts).replace('{id}', name)}</svg>"
        )


def patterns(name, panels):
    """The tips of the arrows in the panels, and the hatching of what is wrong."""
    tips = "".join(
        f'<marker id="{name}-{kind}" markerWidth="8" markerHeight="8" refX="7" refY="4" '
        f'orient="auto"><path class="line {kind}" d="M1,1 L7,4 L1,7"/></marker>'
        for kind in COLOURS
        if f"#{name}-{kind})" in panels
    )
    return (
        f'<svg class="patterns" width="0" height="0" aria-hidden="true"><defs>{tips}'
        f'<pattern id="{name}-hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect class="hatch" width="6" height="6"/>'
        '<path class="line wrong" d="M0,0 V6"/></pattern></defs></svg>'
    )


def colours(name):
    """The colours of a figure, for a light and for a dark page, and its hatching."""

    rules = [f"--{kind}:light-dark({pair[0]},{pair[1]})" for kind, pair in COLOURS.items()]
    rules += [f"--{kind}-fill:light-dark({pair[0]},{pair[1]})" for kind, pair in FILLS.items()]
    return (
        f"#figure-{name}{{{';'.join(rules)}}}#figure-{name} .cell.wrong{{fill:url(#{name}-hatch)}}"
    )


def number(value):
    """A number in at most about eight characters: whole numbers as they are, others to 3 digits;
    `number` in drawing.js writes the same. A half is rounded up.

    >>> [number(value) for value in (2.0, -0.7546, 4.625, 8.9e-21, math.inf, math.nan, 1507, "a")]
    ['2', '-0.755', '4.63', '8.9e-21', 'inf', 'nan', '1507', 'a']
    """
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        return str(float(value))
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    return f"{float(THREE_DIGITS.create_decimal_from_float(float(value))):.3g}"


# Controls, in HTML. A script finds them by their names.


def button(text, name, **attributes):
    """A button; `name` says what it does, and may stand on several with different values."""
    return f'<button type="button" name="{name}"{_written(attributes)}>{html.escape(text)}</button>'


def slider(label, name, least, most, step, value, mark=None):
    """A slider, with a mark at a value; the script writes its value behind the label."""
    marked = f' list="{name}-marks"' if mark is not None else ""
    marks = f'<datalist id="{name}-marks"><option value="{mark}"></datalist>' if marked else ""
    return (
        f'<label class="slider"><span>{html.escape(label)} <span data-value="{name}">'
        f'{number(value)}</span></span><input type="range" name="{name}" min="{least}" '
        f'max="{most}" step="{step}" value="{value}"{marked}></label>{marks}'
    )


def choice(legend, group, options, chosen):
    """Radio buttons: options {value: text}. `group` is the name of all; unique on the page."""
    rows = "".join(
        f'<label><input type="radio" name="{group}" value="{html.escape(value)}"'
        f"{' checked' if value == chosen else ''}> {html.escape(text)}</label>"
        for value, text in options.items()
    )
    return f'<fieldset class="choice"><legend>{html.escape(legend)}</legend>{rows}</fieldset>'


def switches(legend, name, texts):
    """Checkboxes, all on; their values are 0, 1 and so on."""
    rows = "".join(
        f'<label><input type="checkbox" name="{name}" value="{n}" checked> {html.escape(text)}'
        "</label>"
        for n, text in enumerate(texts)
    )
    return f'<fieldset class="choice"><legend>{html.escape(legend)}</legend>{rows}</fieldset>'


def field_of(label, name, value):
    """A field for a short text."""
    return (
        f'<label class="field">{html.escape(label)} <input type="text" name="{name}" '
        f'value="{html.escape(value)}" autocomplete="off" spellcheck="false"></label>'
    )


def stepper():
    """Back, Next and a slider over the steps, which the script counts."""
    return (
        '<div class="stepper">'
        + button("Back", "by", value="-1")
        + '<input type="range" name="step" min="0" value="0" aria-label="step">'
        + button("Next", "by", value="1")
        + "</div>"
    )


def hint(text):
    """A line that says what can be touched in the panels."""
    return f'<p class="hint">{html.escape(text)}</p>'


def together(controls):
    """Controls in a row of their own."""
    return f'<div class="together">{controls}</div>'


def _written(attributes):
    return "".join(
        f' {key.replace("_", "-")}="{html.escape(str(value))}"' for key, value in attributes.items()
    )
