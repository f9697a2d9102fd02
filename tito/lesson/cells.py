"""Read the cells of a lesson file, script or notebook, fast.

A lesson is read on every command, so this reader takes about a millisecond where importing jupytext
takes a quarter of a second. It only reads: whatever is written goes through jupytext
(`notebook.py`) or is the lesson's own text with some lines replaced. A test compares it with
jupytext, cell by cell.
"""

import ast
import functools
import hashlib
import itertools
import json
import re
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from tito.errors import MachineError, WorkError

MARKER = re.compile(r"# ?%%+(?:\s+(.*))?$")
KIND = re.compile(r"\[(markdown|md|raw)\]")
LARGEST = {".py": 2_000_000, ".ipynb": 10_000_000}  # bytes that grading reads
# {nbgrader's (grade, solution): what the cell is}
ROLES = {(False, True): "exercise", (True, False): "checks", (True, True): "question"}
# What is said about a picture: `# caption: what it means` and `# alt: what is seen`.
SAID = re.compile(r"[ \t]*# (caption|alt): (.*(?:\n#(?! (?:caption|alt): ).*)*)")
WEB_PAGE = re.compile(r"\s*<[!?A-Za-z]")
DECODER = json.JSONDecoder()
# %time, !ls, ?x, x?, x = !ls
MAGIC = re.compile(
    r"\s*(%{1,2}[A-Za-z]|![^=\s]|\?+[\w.]+\s*$|[\w.]+\?+\s*$|[\w.]+ *= *(%[A-Za-z]|![^=\s]))"
)
# In a learner's answer: a line that a script would take for the head of a cell.
HEAD_OF_CELL = re.compile(r"^(\\*)(?=[ \t]*(?:#[ \t]*)?(?:%%|<codecell>|In\[[0-9 ]*\]))", re.M)
DIRECTIVE = re.compile(r"# ?\|[ \t]*(\w+)(.*)")  # `# |` as black and autopep8 write it
# Magics of a whole cell that is Python nevertheless.
OF_PYTHON = re.compile(r"\s*%%(?:time|timeit|capture|prun|memit|mprun)\b")
# As `comment_magics` writes them; `# right?` is more likely a question.
COMMENTED = re.compile(r"# (?!\s*[\w.]+\?)" + MAGIC.pattern)


@dataclass(eq=False)
class Cell:
    """One cell.

    kind      "code", "markdown" or "raw"
    source    its text; a markdown cell's without the leading `# `
    line      of its first source line: in the script, or, in a notebook, within the cell (1)
    number    1 for the first cell of the file
    gap       lines from its `# %%` line to its first source line
    title     the words behind `# %%` before any `key=value`: "order hidden"
    exercise  the name of the exercise that it is, or None
    checks    the name of the exercise whose checks it runs, or None
    question  the name of the free-answer question whose answer this text cell holds, or None
    given     the name of the exercise whose solution it is, which the learner need not write
    directives  the leading `#| ...` lines, as nbdev reads them: {"export": "",
              "default_exp": "core.tensor"}
    """

    kind: str
    source: str
    line: int
    number: int
    metadata: dict[str, Any] = field(default_factory=dict)
    gap: int = 1
    title: str = field(init=False)
    tags: list[Any] = field(init=False)
    exercise: str | None = field(init=False)
    checks: str | None = field(init=False)
    question: str | None = field(init=False)
    given: str | None = field(init=False)
    directives: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        keys = ("exercise", "checks", "question", "given")
        names = {key: self.metadata.get(key) for key in keys}
        grading = self.metadata.get("nbgrader")
        if isinstance(grading, dict) and isinstance(grading.get("grade_id"), str):
            # tensor-strides, check-strides, question-strides
            role = ROLES.get((bool(grading.get("grade")), bool(grading.get("solution"))))
            if role and names[role] is None:
                names[role] = grading["grade_id"].partition("-")[2]
        strings = {key: name for key, name in names.items() if isinstance(name, str) and name}
        self.exercise, self.checks = strings.get("exercise"), strings.get("checks")
        self.given = strings.get("given")
        self.question = strings.get("question") if self.kind == "markdown" else None
        self.title = self.metadata.get("title", "")
        tags = self.metadata.get("tags")
        self.tags = tags if isinstance(tags, list) else []
        self.directives = _directives(self.source) if "|" in self.source else {}

    @property
    def task(self) -> str | None:
        """The name of the exercise or question that a learner fills in here, or None."""
        return self.exercise or self.question

    @property
    def alt(self) -> str:
        """What is seen in its picture: the comment `# alt: ...`, of one or more lines; or ""."""
        return said(self.source).get("alt", "")

    @property
    def caption(self) -> str:
        """What its picture means: the comment `# caption: ...`; or ""."""
        return said(self.source).get("caption", "")

    @property
    def code(self) -> str:
        """Its source without these comments."""
        return SAID.sub("", self.source).strip()

    @property
    def directive_lines(self) -> set[int]:
        """The numbers of its `#| ...` lines and commented commands above the code, from 0."""
        rows = enumerate(_leading(self.source))
        return {n for n, row in rows if DIRECTIVE.match(row) or COMMENTED.match(row)}


def said(source: str) -> dict[str, str]:
    """{"alt": what is seen in a picture, "caption": what it means}, of the comments in a text."""
    return {
        match[1]: " ".join(re.sub(r"\n#", "\n", match[2]).split())
        for match in SAID.finditer(source)
    }


def _leading(source: str) -> Iterator[str]:
    """The lines above the code of a cell: comments and empty ones."""
    return itertools.takewhile(lambda line: line[:1] == "#" or not line.strip(), source.split("\n"))


def _directives(source: str) -> dict[str, str]:
    found = map(DIRECTIVE.match, _leading(source))
    return {match[1]: match[2].strip() for match in found if match}


@dataclass(eq=False)
class Source:
    """A lesson file as read: `cells` what it holds, `text` all of it, `sha256` of its bytes."""

    path: Path
    text: str
    cells: list[Cell]
    sha256: str = ""

    @property
    def is_notebook(self) -> bool:
        return self.path.suffix == ".ipynb"

    @cached_property
    def exported(self) -> list[Cell]:
        """The code cells that go into the package."""
        return [
            cell
            for cell in self.cells
            if cell.kind == "code" and cell.directives.keys() & {"export", "exporti"}
        ]

    def cell(self, name: str) -> Cell | None:
        """The cell that is the exercise or question of that name, or None. Of several the one that
        counts: the last that goes into the package, or the first where none does.
        """
        marked = [c for c in self.cells if c.task == name]
        marked = marked or [c for c in self.cells if c.given == name]
        exported = [c for c in marked if c in self.exported]
        return next(iter(exported[-1:] or marked), None)

    def replaced(self, cell: Cell, text: str) -> str:
        """The script's text with the source of one cell replaced."""
        lines = self.text.split("\n")
        if cell.kind != "code":
            text = comment(text)
        lines[cell.line - 1 : cell.line - 1 + len(cell.source.split("\n"))] = text.split("\n")
        return "\n".join(lines)

    def place(self, cell: Cell, line: int = 0) -> str:
        """Where line `line` (from 0) of `cell` is: "path:12"; in a notebook "path cell 3:2"."""
        where = f"{self.path} cell {cell.number}" if self.is_notebook else str(self.path)
        return f"{where}:{cell.line + line}"


def read(path: Path, released: Source | None = None) -> Source:
    """Read a lesson file. Raises TitoError when it is missing, empty, not text, or damaged.

    released  the file as it was released: one with the same bytes has the same cells
    """
    try:
        if path.exists() and not path.is_file():
            raise OSError(0, "it is no file")  # reading a pipe would block
        raw = path.read_bytes()
    except FileNotFoundError:
        raise WorkError(
            f"{path} does not exist.", "`tito reset` brings the starting version back."
        ) from None
    except OSError as error:
        raise MachineError(
            f"{path} cannot be read: {error.strerror}.", "Check the file and its permissions."
        ) from None
    if released and hashlib.sha256(raw).hexdigest() == released.sha256:
        return _copied(released, path)
    return _source(path, raw)


@functools.lru_cache(maxsize=64)  # so that what is made of it can be kept, too
def _copied(source: Source, path: Path) -> Source:
    return replace(source, path=path)


# a test reads every lower lesson, and hardly any has changed since the last one
@functools.lru_cache(maxsize=64)
def _source(path: Path, raw: bytes) -> Source:
    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise WorkError(
            f"{path}:{line}: byte 0x{raw[error.start]:02x} is not UTF-8.",
            "Save the file as UTF-8.",
        ) from None
    if not text.strip():
        raise WorkError(
            f"{path} is empty.",
            "Take the version that your editor or `tito undo` has, or begin again: `tito reset`. "
            "What you exported last is in the package.",
        )
    source = parse(path, text)
    source.sha256 = hashlib.sha256(raw).hexdigest()
    return source


def parse(path: Path, text: str) -> Source:
    """The cells of `text`, read as the kind of file that `path` names."""
    if WEB_PAGE.match(text):
        raise WorkError(
            f"{path}: this is a web page, not the lesson: download the raw file.",
            "On the page, look for a button such as Raw or Download.",
        )
    return (_notebook if path.suffix == ".ipynb" else _script)(path, text)


def _script(path: Path, text: str) -> Source:
    lines = text.split("\n")
    start = _header_lines(path, lines)
    marks = [i for i in range(start, len(lines)) if "%%" in lines[i] and MARKER.match(lines[i])]
    cells: list[Cell] = []
    if any(line.strip() for line in lines[start : marks[0] if marks else len(lines)]):
        marks.insert(0, start - 1)  # text before the first marker is a separate code cell
    for n, (mark, end) in enumerate(zip(marks, marks[1:] + [len(lines)]), 1):
        match = MARKER.match(lines[mark]) if mark >= start else None
        kind, metadata = _options(path, mark + 1, (match and match[1]) or "")
        first, last = mark + 1, end
        while last > first and not lines[last - 1].strip():
            last -= 1
        while first < last and not lines[first].strip():
            first += 1
        body = lines[first:last]
        if kind != "code":
            body = _uncomment(path, first + 1, body, metadata.get("question"))
        else:
            body = comment_magics("\n".join(body)).split("\n")
        cell = Cell(kind, "\n".join(body), first + 1, n, metadata, first - mark)
        if cell.question:
            cell.source = without_escapes(cell.source)
        cells.append(cell)
    return Source(path, text, cells)


def _header_lines(path: Path, lines: list[str]) -> int:
    """How many lines a leading `# ---` block has. jupytext keeps a notebook's metadata there, which
    tito needs nothing of.
    """
    if not lines or lines[0].rstrip() != "# ---":
        return 0
    for number, line in enumerate(lines[1:], 2):
        if line.rstrip() == "# ---":
            return number
    raise WorkError(f"{path}:1: the header is never closed.", "End it with a line `# ---`.")


def _options(path: Path, line: int, text: str) -> tuple[str, dict[str, Any]]:
    """Kind and metadata from the rest of a `# %%` line: `words [markdown] tags=["x"] points=2`."""
    if text in ("", "[markdown]"):  # nine of ten cells
        return "markdown" if text else "code", {}
    kind = "code"
    if match := KIND.search(text.split("=")[0]):
        kind = {"md": "markdown"}.get(match.group(1), match.group(1))
        text = text.replace(match.group(0), "", 1)
    metadata: dict[str, Any] = {}
    title = _before_keys(text)
    while match := re.search(r"(?:^|\s)([\w.-]+)=", text):
        try:
            value, end = DECODER.raw_decode(text, match.end())
        except (ValueError, RecursionError):  # a number of 5,000 digits is none for Python
            raise WorkError(
                f"{path}:{line}: the cell's metadata {match.group(1)}=... is not valid JSON.",
                "Copy the `# %%` line of another cell and change its values.",
            ) from None
        metadata[match.group(1)] = value
        text = text[end:]
    if title.strip():
        metadata["title"] = " ".join(title.split())
    return kind, metadata


def _before_keys(text: str) -> str:
    """The text before the first `key=`. One pattern for all of it could take quadratic time."""
    match = re.search(r"[\w.-]=", text)
    at = match.end() - 1 if match else len(text)
    while match and at and (text[at - 1].isalnum() or text[at - 1] in "_.-"):
        at -= 1
    return text[:at].rstrip()


def comment(text: str) -> str:
    """The text of a markdown cell as a script has it."""
    rows = with_escapes(text).split("\n")
    return "\n".join(f"# {row}" if row else "#" for row in rows)


def with_escapes(answer: str) -> str:
    """A learner's answer with a backslash before what a script would take for the head of a cell
    (`%% so`, `# %% so`); Markdown shows it without.
    """
    return HEAD_OF_CELL.sub(r"\\\1", answer)


def without_escapes(answer: str) -> str:
    """The inverse of `with_escapes`."""
    return HEAD_OF_CELL.sub(lambda match: match[1][1:], answer)


def _uncomment(path: Path, line: int, body: list[str], question: str | None = None) -> list[str]:
    """The text of a markdown cell: comment lines without their `# `, or one string literal."""
    if body and re.match(r'[rRuU]?("""|\'\'\')', body[0]):
        return re.sub(
            r'^[rRuU]?("""|\'\'\')\n?(.*?)\n?\1\s*$', r"\2", "\n".join(body), flags=re.S
        ).split("\n")
    for i, text in enumerate(body):
        if text.strip() and not text.startswith("#"):
            first = next((n for n in range(i, 0, -1) if not DIRECTIVE.match(body[n - 1])), 0)
            raise WorkError(
                f"{path}:{line + i}: this is code in a text cell: {text.strip()[:60]}",
                f"Begin each line of your answer to {question} with `# `."
                if question
                else f"Put a line `# %%` above line {line + first}, or `# ` in front of it.",
            )
    return [text[2:] if text.startswith("# ") else text.removeprefix("#") for text in body]


def _notebook(path: Path, text: str) -> Source:
    try:
        book = json.loads(text)
        cells = []
        # Format 3 has sheets, and the code of a cell as its input.
        sheets = [book] if "cells" in book else book["worksheets"]
        for n, cell in enumerate((cell for sheet in sheets for cell in sheet["cells"]), 1):
            source = cell["source"] if "source" in cell else cell["input"]
            source = source if isinstance(source, str) else "".join(source)
            source = source.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
            source.encode("utf-8")  # half a character, such as "\ud800", cannot be written again
            metadata = dict(cell.get("metadata") or {})
            if is_made(metadata, source):
                continue
            if cell["cell_type"] == "code":
                source = comment_magics(source)
            cells.append(Cell(cell["cell_type"], source, 1, n, metadata))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        where, what = "", "this is JSON, but not a notebook"
        if isinstance(error, json.JSONDecodeError):
            where = f":{error.lineno}"
            what = f"the notebook's JSON is damaged here ({error.msg})"
        raise WorkError(
            f"{path}{where}: {what}.",
            f"`tito notebook {path.stem.removesuffix('_dev')} --keep script` makes it anew from "
            "the script; this one is saved first.",
        ) from None
    return Source(path, text, cells)


def hash_of(source: str) -> str:
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:16]


HINTS, START = "hints", "start"  # cells of a notebook that are made and no part of the lesson


def made_metadata(source: str, kind: str) -> dict[str, Any]:
    """The metadata of a notebook's made cell: of hints, or of what a notebook starts with where it
    is opened outside a workspace.
    """
    return {"tags": [kind], kind: hash_of(source)}


def is_made(metadata: dict[str, Any], source: str, kinds: tuple[str, ...] = (HINTS, START)) -> bool:
    """Whether tito made a cell and it was not edited since."""
    return any(
        kind in metadata
        and all(metadata.get(key) == value for key, value in made_metadata(source, kind).items())
        for kind in kinds
    )


def comment_magics(source: str) -> str:
    """Turn notebook commands (`%time`, `!ls`, `x?`) into comments, so that the cell is Python."""
    lines = source.split("\n")
    if not any(MAGIC.match(line) for line in lines) or tree_or_none(source):
        return source  # in a string, such lines are just text
    python = "\n".join("# " + line if MAGIC.match(line) else line for line in lines)
    is_other = lines[0].lstrip().startswith("%%") and not OF_PYTHON.match(lines[0])
    if is_other and not tree_or_none(python):
        # %%bash, %%html: the whole cell is another language
        return "\n".join("# " + line for line in lines)
    return python


def magic_of(source: str) -> str:
    """The magic of a cell that is another language, `%%bash`, all of which is a comment; or ""."""
    first, *rest = source.split("\n")
    is_other = re.match(r"# \s*%%\w", first) and all(line.startswith("# ") for line in rest)
    return first[2:].split()[0] if is_other else ""


def uncomment_magics(source: str) -> str:
    """Turn what `comment_magics` made of commands into commands again; no other comment."""
    lines = source.split("\n")
    if lines[0].startswith("# %%") and all(line.startswith("# ") for line in lines):
        commands = "\n".join(line[2:] for line in lines)
    else:
        commands = "\n".join(line[2:] if COMMENTED.match(line) else line for line in lines)
    # in a string, they are just text
    return commands if comment_magics(commands) == source else source


PARSING = threading.Lock()


def tree_of(source: str) -> ast.Module:
    """ast.parse, in one thread at a time: in Python 3.11 all threads share a count of the tree's
    depth, so parallel calls can fail.
    """
    # Python's warnings about a learner's text would appear between what tito prints.
    with PARSING, warnings.catch_warnings(action="ignore"):
        return ast.parse(source)


def tree_or_none(source: str) -> ast.Module | None:
    """The same; None for text that is no Python."""
    try:
        return tree_of(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
