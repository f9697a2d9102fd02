"""Make pages for a browser: their frame, prose, formulas and code; and pages from templates.

A text may be another person's. It runs no script and loads nothing from another machine: every
value is escaped, elements, attributes and addresses of prose are compared with lists, and the
policy forbids the rest to the browser.
"""

import functools
import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tito.safe_text import one_line, visible

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

# What a formula may consist of: no element and no attribute here has an address or runs anything.
ELEMENTS = frozenset(
    "math menclose merror mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot"
    " mrow ms mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover"
    " none".split()
)
ATTRIBUTES = frozenset(
    "accent accentunder align columnalign columnlines columnspacing columnspan depth display"
    " displaystyle fence form frame height largeop linethickness lspace mathbackground mathcolor"
    " mathsize mathvariant maxsize minsize movablelimits notation rowalign rowlines rowspacing"
    " rowspan rspace scriptlevel separator stretchy symmetric voffset width xmlns".split()
)
CLOSING = (")", "]", "}", "|", "!")
SPACED = re.compile(r"(\\(?:log|exp|min|max|tanh)) *(?=(?<= )[^\W_]|\\)(?!\\left|\\[!,])")
LINK = re.compile(r"(?i)(https?|mailto):|(?!//)[^:\\]*([/?#]|\Z)")
# A plot of matplotlib on a dark page: each colour is as light as it was dark, in the same hue. A
# picture in it, turned twice, keeps its colours.
DARK_PLOT = """<style>.ground { fill: #fff } @media (prefers-color-scheme: dark) {
.ground { fill: #14181e } #figure_1, #figure_1 image { filter: url(#dark) } }</style>
<filter id="dark" color-interpolation-filters="sRGB"><feColorMatrix values="\
.574 -1.43 -.144 0 1 -.426 -.43 -.144 0 1 -.426 -1.43 .856 0 1 0 0 0 1 0"/></filter>
<rect class="ground" width="100%" height="100%"/>"""
WHITE_PATCH = re.compile(r'(<g id="patch_\d+">\s*<path d="[^"]*"[^>]* style="fill: )#ffffff')
NEARBY = re.compile(r"(?!/)[^:\\]*\Z")  # the address of a picture beside the page


def html_page(title: str, body: str, style: str, policy: str = "", head: str = "") -> str:
    """A page with its style, which needs no other file.

    title    plain text
    policy   what the page may load or run; nothing, if it is not said
    head     more elements of its head
    """
    allowed = f"default-src 'none'; style-src 'unsafe-inline'; {policy}".rstrip("; ")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{allowed}">\n{head}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>\n{style}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def folded(title: str, content: str, is_open: bool = False, name: str = "") -> str:
    """Content that a reader opens by its title, in an element of the class `name`."""
    mark = f' class="{name}"' * bool(name) + " open" * is_open
    return f"<details{mark}><summary>{title}</summary>{content}</details>"


def markdown(text: str) -> str:
    """Prose as HTML. Formulas become MathML, which browsers draw without help."""
    return _renderer()(text)


@functools.cache
def _renderer() -> Callable[[str], str]:
    return parser().render


def parser(trusted: bool = False, formula: Callable[[str, bool], str] | None = None) -> Any:
    """A reader of Markdown with tables and formulas; `parser().render(text)` gives HTML.

    trusted  whether HTML in a text stays HTML, and pictures may be in other folders
    formula  gives the HTML of a formula, which is a block or not
    """
    from markdown_it import MarkdownIt
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    def image(self: Any, tokens: Any, at: int, options: Any, env: Any) -> str:
        if trusted or NEARBY.match(str(tokens[at].attrs["src"])):
            return str(self.image(tokens, at, options, env))
        return f"<code>{html.escape(tokens[at].content)}</code>"

    write = formula or formula_html
    reader = MarkdownIt("commonmark", {"html": trusted}).enable("table")
    reader.use(
        dollarmath_plugin,
        allow_digits=False,
        allow_labels=False,
        renderer=lambda content, options: write(content, options["display_mode"]),
    )
    reader.add_render_rule("image", image)
    setattr(reader, "validateLink", lambda address: bool(LINK.match(address)))
    return reader


@functools.lru_cache(maxsize=4096)
def formula_html(content: str, is_block: bool) -> str:
    """A formula as MathML; what cannot be converted, as the author wrote it, in a <code>."""
    from latex2mathml.converter import Converter

    try:
        kind = "block" if is_block else "inline"
        text = SPACED.sub(r"\1\,", content)  # "log n", but "log(n)"
        made = mathml(Converter(display=kind).convert_to_element(text))
        if "\\" not in made:  # or a command that it does not know
            return made
    except Exception:  # latex2mathml raises many
        pass
    return f"<code>{html.escape(content)}</code>"


def mathml(formula: "Element") -> str:
    """A formula as text for a page. Raises ValueError for an element that no formula needs.

    latex2mathml writes characters as `&#x2061;` into its elements, beside the author's own text:
    they are read, then everything is escaped once.
    """
    from xml.etree.ElementTree import tostring

    for element in formula.iter():
        if element.tag not in ELEMENTS:
            raise ValueError(f"the element {element.tag}")
        element.text = html.unescape(element.text or "") or None
        element.tail = html.unescape(element.tail or "") or None
        for name, value in [*element.attrib.items()]:
            if name in ATTRIBUTES:
                element.set(name, html.unescape(value))
            else:
                del element.attrib[name]
        if element.text == "∞":  # a number, without the spaces of an operator
            element.tag = "mi"
    for row in formula.iter("mrow"):
        for before, part in zip([None, *row], row):
            is_sign = before is None or before.tag == "mo" and before.text not in CLOSING
            if is_sign and part.text in ("+", "−"):  # no space behind it, as in -8
                part.set("form", "prefix")
    return tostring(formula, encoding="unicode")


# Pages from templates: `grading/gradebook/*.html` and `grading/page/*.html`.


def render(template: str, **values: object) -> str:
    """A page from a template below `grading/`. jinja2 escapes each value."""
    return str(_templates().get_template(template).render(values))


@functools.cache
def _templates() -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "grading", encoding="utf-8"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"visible": visible, "name": one_line, "markdown": markdown}
    return environment


def adaptive_plot(svg: str) -> str:
    """An SVG of matplotlib for light and dark pages, in pixels, without the time of its making."""
    start = svg.index("<svg")
    head, end = svg[start : svg.index(">", start) + 1], svg[svg.index(">", start) + 1 :]
    end = WHITE_PATCH.sub(r"\1none", re.sub(r"<metadata>.*?</metadata>", "", end, flags=re.S))
    return re.sub(r'(\d)pt"', r'\1"', head) + DARK_PLOT + end
