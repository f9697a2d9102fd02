"""Cells of the tables that people open in spreadsheets, and read back.

A text never becomes a formula, also in a program that splits the line at another separator: an
apostrophe goes before what would be one, at the beginning of a cell or behind a separator within
it. `plain` takes it away again. An id that can do no harm stays as it is (`-lee`, `@ada`): other
systems look for it.
"""

import re
from decimal import Decimal

# What begins a formula (some spreadsheets take the wide forms, too), and what may stand before it.
SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20"
FORMULA = rf"(?='*[\s\"]*[{SIGNS}])"
BEGINS = re.compile(rf"(\A|[,;\t\r\n]){FORMULA}|\A(?=[\t\r\n])")
ESCAPED = re.compile(rf"(\A|[,;\t\r\n])'{FORMULA}|\A'(?=[\t\r\n])")
NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?")
# An id that a spreadsheet computes nothing harmful of: no function, no other program, no address.
ID = re.compile(r"[-+@]?[\w.]+(-\w+)*(@[\w.-]+)?")
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class Id(str):
    """Text by which another system finds somebody."""


def line(values):
    """A line of a CSV file: numbers as they are, every text in quotes, None as an empty cell."""
    return ",".join(cell(value) for value in values) + "\r\n"


def cell(value):
    """One cell as it stands in the file."""
    if value is None:
        return ""
    if isinstance(value, (int, Decimal)):
        return str(value)
    text = CONTROL.sub("", value.encode("utf-8", "backslashreplace").decode())
    if not (isinstance(value, Id) and ID.fullmatch(text) or NUMBER.fullmatch(text)):
        text = BEGINS.sub(r"\1'", text)
    return '"' + text.replace('"', '""') + '"'


def plain(text):
    """The text of a cell that `cell` made, as it was."""
    return ESCAPED.sub(r"\1", text)
