"""Read CSV tables of other programs, and write CSV tables for spreadsheets.

A written text never becomes a formula, not even in a program that splits the line at another
separator: a text that would be one gets an apostrophe, at the beginning of a cell or after a
separator in it. `plain` removes the apostrophe. Harmless ids (`-lee`, `@ada`) are written
unchanged, because other systems search for them.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

from tito.errors import UsageError

# Characters that begin a formula (in some spreadsheets also the wide forms), after any of these.
SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20"
FORMULA = rf"(?='*(?:[^\S\t\r\n]|\")*[{SIGNS}])"
BEGINS = re.compile(rf"\A(?='*[\t\r\n])|(\A|[,;\t\r\n]){FORMULA}")
ESCAPED = re.compile(rf"(\A|[,;\t\r\n])'{FORMULA}|\A'(?='*[\t\r\n])")
NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?")
# A harmless id: it calls no function or program and contains no address.
ID = re.compile(r"[-+@]?[\w.]+(-\w+)*(@[\w.-]+)?")
# {header of another program, in lower case with `_` for spaces: our column}
NAMES = {
    "firstname": "first_name",
    "vorname": "first_name",
    "lastname": "last_name",
    "surname": "last_name",
    "nachname": "last_name",
    "full_name": "name",
    "fullname": "name",
    "student_name": "name",
    "vollständiger_name": "name",
    "email_address": "email",
    "e-mail": "email",
    "e-mail_address": "email",
    "e-mail-adresse": "email",
    "id_number": "idnumber",
    "id-nummer": "idnumber",
    "matrikelnummer": "idnumber",
    "student_id": "sid",
    "anmeldename": "username",
    "orgdefinedid": "org_defined_id",
    "groups": "section",
    "gruppen": "section",
    "gruppe": "section",
    "sections": "section",
    "section(s)": "section",
    "section_name": "section",
    "roles": "role",
    "rollen": "role",
    "rolle": "role",
    "github_username": "github",
    # in French and Spanish
    "identifiant": "identifier",
    "identificador": "identifier",
    "nom_complet": "name",
    "nombre_completo": "name",
    "prénom": "first_name",
    "nombre": "first_name",
    "nom": "last_name",
    "nom_de_famille": "last_name",
    "apellido(s)": "last_name",
    "apellidos": "last_name",
    "adresse_de_courriel": "email",
    "adresse_électronique": "email",
    "dirección_de_correo": "email",
    "dirección_de_correo_electrónico": "email",
    "correo_electrónico": "email",
    "numéro_d'identification": "idnumber",
    "número_de_id": "idnumber",
    "groupes": "section",
    "groupe": "section",
    "grupos": "section",
    "grupo": "section",
    "rôles": "role",
    "rôle": "role",
    "rol": "role",
}
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class Id(str):
    """Text by which another system finds a learner."""


def line(values: Iterable[object]) -> str:
    """A line of a CSV file: numbers as they are, every text in quotes, None as an empty cell."""
    return ",".join(cell(value) for value in values) + "\r\n"


def cell(value: object) -> str:
    """A cell, encoded for the file."""
    if value is None:
        return ""
    if isinstance(value, (int, Decimal)):
        return str(value)
    text = CONTROL.sub("", str(value).encode("utf-8", "backslashreplace").decode())
    if not (isinstance(value, Id) and ID.fullmatch(text) or NUMBER.fullmatch(text)):
        text = BEGINS.sub(r"\1'", text)
    return '"' + text.replace('"', '""') + '"'


def plain(text: str) -> str:
    """The text that `cell` encoded."""
    return ESCAPED.sub(r"\1", text)


def normalised(header: str) -> str:
    """A column's header in normal form: lower case, `_` for spaces."""
    return re.sub(r"\s+", "_", header.strip().lower())


def ours(header: str) -> str:
    """What a header is called here: `normalised`, and our name for it."""
    name = normalised(header)
    return NAMES.get(name, name)


def table(path: Path, text: str) -> list[tuple[int, list[str]]]:
    """[(line number, cells)] of the text of a CSV file: the header and all lines that are not
    empty.

    The separator is a comma, semicolon or tab, or the one that a first line `sep=;` names. Raises
    TitoError with the line if one is damaged or has more cells than the header.
    """
    first, _, rest = text.partition("\n")
    skipped = 0
    separator = max(",;\t", key=first.count)
    if named := re.fullmatch(r'"?sep=([^"])"?\s*', first, re.I):
        text, skipped, separator = rest, 1, named[1]
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        lines = [(skipped + 1, [_text(name) for name in next(rows, [])])]
        for row in rows:
            cells, number = [_text(cell) for cell in row], skipped + rows.line_num
            if any(cells[len(lines[0][1]) :]):
                raise UsageError(
                    f"{path}:{number}: {len(row)} cells under {len(lines[0][1])} columns.",
                    "Put quotes around a value that contains a comma.",
                )
            if any(cells):
                lines.append((number, cells))
    except csv.Error as error:
        raise UsageError(
            f"{path}:{skipped + rows.line_num}: damaged CSV: {error}.",
            "Correct that line, or save the file again as CSV.",
        ) from None
    return lines


def decoded(path: Path) -> tuple[str, list[str]]:
    """(the text of a CSV file, in whichever encoding `read` says; remarks)."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", "Name a CSV file.") from None
    if data.startswith((b"PK\3\4", b"\xd0\xcf\x11\xe0")):
        raise UsageError(
            f"{path} is a workbook, not a CSV file.",
            "In Excel: Save As, CSV UTF-8 (Comma delimited).",
        )
    marked = data.startswith(codecs.BOM_UTF8)
    data = data.removeprefix(codecs.BOM_UTF8)
    zeros = [data[start:400:2].count(0) for start in (0, 1)]
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif max(zeros) > len(data[:400]) // 4:
        encoding = "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
    else:
        encoding = "utf-8"
    try:
        return data.decode(encoding), []
    except UnicodeDecodeError as error:
        start = error.start
    if encoding != "utf-8":
        raise UsageError(f"{path}: damaged UTF-16, at byte {start}.", "Save it as CSV in UTF-8.")
    line = _line(data, start)
    if not marked:
        try:
            return data.decode("cp1252"), [
                f"it is not UTF-8 (line {line}) and was read as Windows-1252: check the names"
            ]
        except UnicodeDecodeError as error:
            start, line = error.start, _line(data, error.start)
    tried = "not UTF-8, as its first bytes say" if marked else "neither UTF-8 nor Windows-1252"
    raise UsageError(
        f"{path}:{line}: byte 0x{data[start]:02x} is {tried}.", "Save it as CSV in UTF-8."
    )


def _line(data: bytes, start: int) -> int:
    """The number of the line that contains this byte."""
    return data.count(b"\n", 0, start) + 1


def _text(cell: str) -> str:
    """The text of a cell: programs write `="007"` so that spreadsheets keep the zeros."""
    formula = re.fullmatch(r'\s*="(.*)"\s*', cell, re.S)
    return (formula[1] if formula else plain(cell)).strip()
