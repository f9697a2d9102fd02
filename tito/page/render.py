"""Parts of a page as HTML, and pages from one template, `page.html`, with files of `static/`.

`static/page.css` has the styles of the site and of a learner's page, `static/page.js` what both do.
"""

import base64
import functools
import hashlib
import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tito.html import folded
from tito.lesson.lesson_format import hint_text
from tito.page.drawings import escaped, has_picture
from tito.page.parts import STATIC, Outputs, Part, Section
from tito.page.prose import Heading, Prose, highlighted

PICTURES = ("image/svg+xml", "image/png", "image/jpeg")
DRAWING = re.compile(r'<figure [^>]*data-drawing="(\w+)"')
MARK = re.compile("\ue000t?\\d*\\.?|\ue001")
EXERCISE = '<div class="exercise{}" id="{}">\n<div class="exercise-head" {}>\n{}{}</div>\n'
Link = dict[str, Any]
WEIGHT = 'data-pagefind-weight="4"'  # its name weighs nearly as much as a heading


@dataclass
class Body:
    """Renders the parts of a page.

    prose    of this page
    picture  gives the address of a picture, from its type and its data in an output
    marks    {a mark in the prose: the HTML that takes its place}
    """

    prose: Prose
    picture: Callable[[str, str], str]
    marks: dict[str, str] = field(default_factory=dict)

    def html(self, sections: Sequence[Section]) -> str:
        made = "".join(map(self.section, sections)) + self.prose.end()
        return MARK.sub(lambda mark: self.marks.get(mark[0], ""), made)

    def section(self, section: Section) -> str:
        if not section.folded:
            return "".join(map(self.part, section.parts))
        above, title = self.prose.end(2), html.escape(section.folded)
        made = "".join(map(self.part, section.parts)) + self.prose.end(2)
        return f"{above}{folded(title, made, name='fold')}\n"

    def part(self, part: Part) -> str:
        """The HTML of a part; of most kinds, by the method of that name."""
        if part.kind == "html":
            return f"{part.source}\n"
        if part.kind == "prose":
            return self.prose.html(part.source, part.line)
        made: str = getattr(self, part.kind)(part)
        return made

    def exercise(self, part: Part) -> str:
        head, self.prose.is_boxed = self.prose.html(part.source, part.line), True
        id = html.escape(part.name, quote=True)
        kind, words = part.state
        label = f'<span class="state">{words}</span>\n' * bool(words)
        return EXERCISE.format(f" {kind}" * bool(kind), id, WEIGHT, label, head)

    def box(self, part: Part) -> str:
        self.prose.is_boxed = True
        return f'<div class="{part.source}">\n'

    def end(self, part: Part) -> str:
        self.prose.is_boxed = False
        return "</div>\n"

    def hints(self, part: Part) -> str:
        """Hints, each inside the one before it: one opens after the other."""
        inner, count, is_boxed = "", len(part.hints), self.prose.is_boxed
        self.prose.is_boxed = True
        texts = [self.prose.html(hint_text(hint), part.line) for hint in part.hints]
        self.prose.is_boxed = is_boxed
        for number, text in reversed([*enumerate(texts, 1)]):
            title = part.folded or f"Hint {number} of {count}"
            inner = folded(title, f"\n{text}{inner}", name="hint") + "\n"
        return inner

    def code(self, part: Part) -> str:
        made = "" if part.hidden else highlighted(part.source)
        if part.folded:
            made = folded(html.escape(part.folded), f"\n{made}", name="fold") + "\n"
        shown = self.outputs(part)
        said = self.part(part.explanation) if part.explanation else ""
        if part.answer and shown:
            fold = folded(part.answer, f"\n{shown}{said}", is_open=part.is_open, name="fold answer")
            shown, said = f"{fold}\n", ""
        return f'<div class="cell">\n{made}{shown}</div>\n{said}'

    def outputs(self, part: Part) -> str:
        """What the code showed: text, pictures, or what else the learner's page has."""
        made = ""
        for output in _merged(part.outputs):
            data = output.get("data", {})
            kind = next((kind for kind in PICTURES if kind in data), "")
            if kind:
                made += self.figure(part, kind, output)
            elif "html" in output:
                made += output["html"]
            elif text := "".join(output.get("text", data.get("text/plain", ""))):
                made += f"<pre>{html.escape(text)}</pre>\n"
        return f'<div class="output">\n{made}</div>\n' if made else ""

    def figure(self, part: Part, kind: str, output: dict[str, Any]) -> str:
        source = html.escape(self.picture(kind, "".join(output["data"][kind])), quote=True)
        size = output.get("metadata", {}).get(kind, {})
        sizes = "".join(f' {key}="{size[key]}"' for key in ("width", "height") if key in size)
        image = f'<img alt="{html.escape(part.alt, quote=True)}" src="{source}"{sizes}>'
        words = self.prose.inline(escaped(part.caption)) if part.caption else ""
        return f"<figure>{image}{f'<figcaption>{words}</figcaption>' * bool(words)}</figure>\n"


def _merged(outputs: Outputs) -> Outputs:
    """The outputs, with streams that follow each other as one."""
    merged: Outputs = []
    for output in outputs:
        if output["output_type"] == "stream" and merged and "text" in merged[-1]:
            text = "".join(output["text"])
            merged[-1] = merged[-1] | {"text": "".join(merged[-1]["text"]) + text}
        else:
            merged.append(output)
    return merged


def picture_first(parts: list[Part]) -> None:
    """Put the picture of a lesson's opening above the code that draws it, so that question, picture
    and promise fit one screen.
    """
    drawn = next((part for part in parts if any(map(has_picture, part.outputs))), None)
    if drawn and not drawn.answer:
        first = next(number for number, part in enumerate(parts) if part.kind == "code")
        shown = Part("code", "", drawn.line, hidden=True, outputs=drawn.outputs)
        shown.alt, shown.caption = drawn.alt, drawn.caption
        drawn.outputs = []
        parts.insert(first, shown)


# Whole pages.


# Before the styles, so that a page that is opened is never shown in the other colours.
THEME = "try { document.documentElement.dataset.theme = localStorage.theme ?? '' } catch {}"


def inlined(scripts: Sequence[str], fonts: str, policy: str) -> tuple[str, str]:
    """(head, end) of a page that contains its styles and scripts, also the ones of every page. The
    policy gets the scripts' hashes in the place of `{}`.
    """
    scripts = [THEME, (STATIC / "page.js").read_text(encoding="utf-8"), *scripts]
    digests = (hashlib.sha256(script.encode("utf-8")).digest() for script in scripts)
    hashes = " ".join(f"'sha256-{base64.b64encode(one).decode('ascii')}'" for one in digests)
    allowed = f'<meta http-equiv="Content-Security-Policy" content="{policy.format(hashes)}">'
    style = (STATIC / "page.css").read_text("utf-8").replace('url("fonts/', f'url("{fonts}/')
    first, *rest = (f"<script>{script}</script>" for script in scripts)
    return "\n".join([allowed, first, f"<style>\n{style}</style>"]), "\n".join(rest)


def link(href: str, title: str, level: int = 2, here: bool = False, page: bool = False) -> Link:
    """A link in a list of contents, whose title is HTML. page: whether it leads to a page"""
    return {"href": href, "title": title, "level": level, "here": here, "page": page}


def headings(found: Sequence[Heading], level: int) -> list[Link]:
    """The sections of a page, as links of a level."""
    return [link(f"#{one.id}", one.html, level) for one in found if one.level == 2]


def page(**values: object) -> str:
    """A page from the template, which says what the values are."""
    nothing = {"previous": None, "next": None, "search": False, "kind": "", "root": ""}
    return str(_template().render(nothing | values))


@functools.cache
def _template() -> Any:
    import jinja2

    folder = jinja2.FileSystemLoader(Path(__file__).parent, encoding="utf-8")
    return jinja2.Environment(
        loader=folder, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    ).get_template("page.html")
