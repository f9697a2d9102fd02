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

from tito.errors import MachineError
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
LINK = re.compile(r"(?i)(https?|mailto):|(?!//)[^:\\]*([/?#]|\Z)")
NEARBY = re.compile(r"(?!/)[^:\\]*\Z")  # the address of a picture beside the page


def html_page(
    title: str, body: str, style: str, policy: str = "", head: str = "", version: str = ""
) -> str:
    """A page with its style, which needs no other file.

    title    plain text
    policy   what the page may load or run; nothing, if it is not said
    head     more elements of its head
    version  what a script compares
    """
    allowed = f"default-src 'none'; style-src 'unsafe-inline'; {policy}".rstrip("; ")
    data = f' data-version="{version}"' * bool(version)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{allowed}">\n{head}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>\n{style}</style>\n</head>\n"
        f"<body{data}>\n{body}\n</body>\n</html>\n"
    )


def folded(title: str, content: str, is_open: bool = False) -> str:
    """Content that a reader opens by its title."""
    mark = " open" if is_open else ""
    return f"<details{mark}><summary>{title}</summary>{content}</details>"


def highlighted(text: str) -> str:
    """Python code with colours."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    formatter = HtmlFormatter(nowrap=True)
    return f'<pre class="code" tabindex="0">{highlight(text, PythonLexer(), formatter)}</pre>'


def code_style() -> str:
    """The rules that colour code, for light and for dark pages."""
    from pygments.formatters import HtmlFormatter

    light = HtmlFormatter(style="xcode").get_style_defs(".code")
    dark = HtmlFormatter(style="github-dark").get_style_defs(".code")
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"


def markdown(text: str) -> str:
    """Prose as HTML. Formulas become MathML, which browsers draw without help."""
    return _renderer()(text)


@functools.cache
def _renderer() -> Callable[[str], str]:
    from latex2mathml.converter import Converter
    from markdown_it import MarkdownIt
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    def formula(content: str, options: dict[str, Any]) -> str:
        kind = "block" if options["display_mode"] else "inline"
        try:
            return mathml(Converter(display=kind).convert_to_element(content))
        except Exception:  # latex2mathml raises many: show what the author wrote
            return f"<code>{html.escape(content)}</code>"

    def image(self: Any, tokens: Any, at: int, options: Any, env: Any) -> str:
        if NEARBY.match(str(tokens[at].attrs["src"])):
            return str(self.image(tokens, at, options, env))
        return f"<code>{html.escape(tokens[at].content)}</code>"

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.use(dollarmath_plugin, allow_digits=False, allow_labels=False, renderer=formula)
    parser.add_render_rule("image", image)
    setattr(parser, "validateLink", lambda address: bool(LINK.match(address)))
    return parser.render


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
    return tostring(formula, encoding="unicode")


# Pages from templates: `grading/gradebook/*.html` and `grading/page/*.html`.


def render(template: str, **values: object) -> str:
    """A page from a template below `grading/`. jinja2 escapes each value."""
    return str(_templates().get_template(template).render(values))


@functools.cache
def _templates() -> Any:
    try:
        import jinja2
    except ModuleNotFoundError:
        raise MachineError(
            "The pages need jinja2, which is not installed here.",
            "In the course's folder: bin/setup instructor",
        ) from None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "grading", encoding="utf-8"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"visible": visible, "name": one_line, "markdown": markdown}
    return environment
