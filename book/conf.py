"""How Sphinx sets the book. `tito book build` copies this file beside the pages it makes, and says
the rest: project, release, html_title, and where `_static` is.
"""

import html
import re

from docutils import nodes
from pygments.lexers import TextLexer

extensions = ["myst_nb", "sphinx_copybutton"]
copybutton_exclude = ".linenos, .gp, .go"
root_doc = "index"
exclude_patterns = ["_static", "notebooks"]

# Cells were run before, by tito, with the course's solutions.
nb_execution_mode = "off"
nb_merge_streams = True
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_heading_slug_func = "tito.book.pages.slug_of"
highlight_language = "python"
smartquotes = False  # would make one dash of the two in --help

html_theme = "sphinx_book_theme"
html_css_files = ["book.css"]
html_js_files = [("search.js", {"defer": "defer"})]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_show_sphinx = False
html_use_index = False
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system says
html_last_updated_fmt = None
html_math_renderer = "katex"
html_theme_options = {
    "footer_content_items": [],
    "home_page_in_toc": False,  # the title above leads there
    "max_navbar_depth": 1,  # the pages of a lesson are at the right
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "show_navbar_depth": 1,
    "show_toc_level": 2,
    "use_download_button": False,
    "use_fullscreen_button": False,
}


# Mathematics: KaTeX sets in the page what stands in these elements (see _static/book.js).
# Without scripts, TeX stays to read.


def inline(self, node):
    self.body.append(
        self.starttag(node, "span", "", CLASS="math") + self.encode(node.astext()) + "</span>"
    )
    raise nodes.SkipNode


def block(self, node):
    text = node.astext()
    if r"\\" in text and r"\begin" not in text:  # Sphinx's own convention: lines of an equation
        text = rf"\begin{{aligned}}{text}\end{{aligned}}"
    self.body.append(
        self.starttag(node, "div", "", CLASS="math display") + self.encode(text) + "</div>\n"
    )
    raise nodes.SkipNode


def scripts(app, page, template, context, doctree):
    """Give each page the scripts it needs, and no other."""
    if doctree is None:
        return
    if any(True for _ in doctree.findall(nodes.math)) or any(
        True for _ in doctree.findall(nodes.math_block)
    ):
        app.add_css_file("katex/katex.min.css")
        app.add_js_file("katex/katex.min.js", loading_method="defer")
        app.add_js_file("book.js", loading_method="defer")
    if page.startswith("lessons/"):
        app.add_js_file("lesson.js", loading_method="defer")
    if page == "glossary":
        app.add_js_file("glossary.js", loading_method="defer")
    raw = " ".join(node.astext() for node in doctree.findall(nodes.raw))
    if drawings := re.findall(r'<figure [^>]*data-drawing="(\w+)"', raw):
        app.add_js_file("drawing.js", loading_method="defer")
        for name in dict.fromkeys(drawings):
            app.add_js_file(f"drawings/{name}.js", loading_method="defer")


def leave_out_search(app):
    """Pagefind's search (_static/search.js) takes the place of Sphinx's and its index."""
    app.builder.search = False


def search_page(app):
    return [("search", {}, "search.html")] if app.builder.name == "html" else []


def mark_for_search(app, page, template, context, doctree):
    """Tell Pagefind what to read of a page, and the lesson it belongs to. The name of an exercise
    weighs nearly as much as a heading.
    """
    if doctree is None:
        return
    top = app.env.titles.get(page.rpartition("/")[0])
    within = html.escape(top.astext()) if top else ""
    read = f'data-pagefind-body data-pagefind-meta="within[data-within]" data-within="{within}"'
    body = context["body"].replace("<section ", f"<section {read} ", 1)
    head = '<div class="exercise-head'
    context["body"] = body.replace(head, head.replace(" ", ' data-pagefind-weight="4" '))


def box_exercises(app, doctree):
    """Put what stands from the head of an exercise to its end into one box."""
    for head in list(doctree.findall(nodes.container)):
        if "exercise" in head["classes"]:
            parent, start = head.parent, head.parent.index(head)
            end = next(
                number
                for number, node in enumerate(parent.children[start:], start)
                if isinstance(node, nodes.comment) and node.astext() == "exercise-end"
            )
            inside = parent.children[start:end]
            parent[start : end + 1] = [box := nodes.container("", *inside, classes=["exercise"])]
            box["ids"], box["names"] = head["ids"], head["names"]
            head["ids"], head["names"], head["classes"] = [], [], ["exercise-head"]


def fold_explanations(app, doctree):
    """Put the paragraph that explains an answer below the output that is the answer, and is
    folded.
    """
    for mark in list(doctree.findall(nodes.comment)):
        if mark.astext() == "explained":
            parent, at = mark.parent, mark.parent.index(mark)
            cell = next(node for node in reversed(parent[:at]) if "cell" in node["classes"])
            outputs = [node for node in cell if node.get("nb_element") == "cell_code_output"]
            parent.remove(mark)
            if outputs:  # the cells were run
                paragraph = parent[at]
                parent.remove(paragraph)
                outputs[-1].append(paragraph)


def show_picture_first(app, doctree):
    """Put the picture of a lesson's opening above the code that draws it, so that question, picture
    and promise fit one screen.
    """
    if not re.fullmatch("lessons/[^/]+", app.env.docname):
        return
    cells = [node for node in doctree.findall(nodes.container) if "cell" in node["classes"]]
    for cell in cells:
        outputs = [node for node in cell if node.get("nb_element") == "cell_code_output"]
        if any(any(True for _ in node.findall(nodes.image)) for node in outputs):
            for node in outputs:
                cell.remove(node)
            parent, at = cells[0].parent, cells[0].parent.index(cells[0])
            parent.insert(at, nodes.container("", *outputs, classes=["cell"]))
            return


GROUP = re.compile(
    r'<p [^>]*class="caption"[^>]*><span class="caption-text">(.*?)</span></p>\s*(<ul .*?</ul>)',
    re.S,
)


def fold_contents(app, page, template, context, doctree):
    """Fold the groups of the contents at the left, but the one that is read, so that few links
    come before the text. At the right, list the pages of a lesson, and what is on this one.
    """
    contents = context["generate_toctree_html"]

    def folded(*words, **options):
        text = str(contents(*words, **options))
        if not isinstance(text, str) or "caption-text" not in text:
            return text
        first = None if "current" in text else GROUP.search(text)

        def group(match):
            read = "current" in match[2] or (first and match.start() == first.start())
            head = f"<details{' open' * bool(read)}><summary>{match[1]}</summary>"
            return f"{head}\n{match[2]}</details>"

        return GROUP.sub(group, text)

    context["generate_toctree_html"] = folded
    if "body" in context:  # or a screen reader would say that instead of what can be read
        context["body"] = context["body"].replace(' aria-label="Toggle hidden content"', "")
    included = app.env.toctree_includes
    top = page if page in included else page.rpartition("/")[0]
    if page != root_doc and (sections := included.get(top)):
        links = "".join(
            f'<li class="toc-h2 nav-item toc-entry">{_link(app, page, one)}'
            f"{_headings(app, page) if one == page else ''}</li>"
            for one in [top, *sections]
        )
        context["generate_toc_html"] = lambda *words, **options: (
            f'<ul class="nav flex-column">{links}</ul>'
        )
        context["secondary_sidebar_items"] = ["page-toc.html"]  # left out where it was empty


def _link(app, page, to):
    address = app.builder.get_relative_uri(page, to) if to != page else "#"
    here = ' aria-current="page"' if to == page else ""
    title = app.env.titles[to].astext()
    return f'<a class="nav-link section-link" href="{address}"{here}>{html.escape(title)}</a>'


def _headings(app, page):
    """The sections of a page, as links."""
    titles = [node for node in app.env.tocs[page].findall(nodes.reference) if node["anchorname"]]
    links = "".join(
        f'<li class="toc-h3 nav-item toc-entry"><a class="nav-link" href="{node["anchorname"]}">'
        f"{html.escape(node.astext())}</a></li>"
        for node in titles
    )
    return f'<ul class="nav section-nav flex-column">{links}</ul>' if links else ""


def number_paragraphs(app, doctree):
    """Give paragraphs, headings and the rows of tables addresses: the search leads to them."""
    number = 0
    kinds = nodes.paragraph | nodes.row | nodes.title
    for node in doctree.findall(lambda node: isinstance(node, kinds)):
        if not isinstance(node.parent, nodes.entry) and not node["ids"]:
            number += 1
            node["ids"].append(f"p{number}")


def setup(app):
    app.add_html_math_renderer("katex", (inline, None), (block, None))
    app.add_lexer("csv", TextLexer)  # what other tools call it, and Pygments does not know
    app.connect("builder-inited", leave_out_search)
    app.connect("html-collect-pages", search_page)
    app.connect("doctree-read", box_exercises)
    app.connect("doctree-read", fold_explanations)
    app.connect("doctree-read", show_picture_first)
    app.connect("doctree-read", number_paragraphs)
    app.connect("html-page-context", scripts)
    app.connect("html-page-context", mark_for_search)
    app.connect("html-page-context", fold_contents, priority=900)  # after the theme's
    return {"parallel_read_safe": True, "parallel_write_safe": True}
