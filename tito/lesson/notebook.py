"""The notebook of a lesson's script, and back. jupytext converts; which of the two counts is for `learn/pair.py`."""

import re
import sys

from tito.lesson import cells

HEAD = re.compile(r"# ---\n(?:#.*\n)*?# ---\n")
# jupytext would turn a comment such as `# cat of three arrays` into a shell command; `cells` knows the magics.
PERCENT = {"extension": ".py", "format_name": "percent", "comment_magics": False}


def _libraries():
    """jupytext and nbformat, imported without a grammar of URLs that jsonschema would build, for a second, and nobody here needs."""
    name = "rfc3987_syntax"
    block = name not in sys.modules
    if block:
        sys.modules[name] = None  # makes importing it an ImportError, which jsonschema expects
    try:
        import jupytext
        import nbformat
    finally:
        if block:
            del sys.modules[name]
    return jupytext, nbformat


def to_notebook(script, old=None):
    """The notebook (text) of a script's text, same bytes each time. `old` lends the outputs of unchanged cells."""
    jupytext, nbformat = _libraries()

    book = jupytext.reads(script, fmt=dict(PERCENT))
    book.metadata.get("jupytext", {}).pop("comment_magics", None)
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.source = cells.uncomment_magics(cell.source)
    if old:
        from jupytext.combine import combine_inputs_with_outputs

        try:
            lender = nbformat.reads(old, as_version=4)
            nbformat.validate(lender)
            book = combine_inputs_with_outputs(book, lender, fmt={"extension": ".py"})
        except Exception:  # noqa: BLE001  outputs are a convenience; a damaged old notebook is saved before it is replaced
            pass
    taken = set()
    for number, cell in enumerate(book.cells, 1):
        wanted = cells.Cell("", "", 1, number, cell.metadata).id or ""
        if (
            not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", wanted) or wanted in taken
        ):  # a cell that was copied, say
            wanted = f"cell-{number}"
        taken.add(wanted)
        cell["id"] = wanted
    book.nbformat, book.nbformat_minor = 4, 5
    return nbformat.writes(book)


def to_script(notebook, old=None):
    """The script (text) of a notebook's text. `old`, a script's text, lends its header, which jupytext would lay out anew."""
    jupytext, nbformat = _libraries()

    book = nbformat.reads(notebook, as_version=4)
    book.metadata.pop("language_info", None)
    for cell in book.cells:
        if cell.cell_type == "code" and not cell.source.startswith(
            "%%"
        ):  # of those, jupytext notes the language
            cell.source = cells.comment_magics(cell.source)
    script = jupytext.writes(book, fmt=dict(PERCENT)).replace(
        "#     comment_magics: false\n", "", 1
    )
    head, body = HEAD.match(old or ""), HEAD.match(script)
    return head.group() + script[body.end() :] if head and body else script
