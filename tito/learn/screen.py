"""What a cell of a lesson shows, printed and drawn, as a notebook would show it: taken in the
process that runs it (`check_process.py`), kept for the learner by `results.py`.
"""

import ast
import base64
import contextlib
import io
import re
import sys
from typing import Any

LETTERS = 20_000  # of what a cell prints are kept
PICTURES = 8  # of a cell are kept
COMMENT = re.compile(r"\s*#[^\n]*\Z")


class LimitedText(io.TextIOBase):
    """A stream that keeps the first `LETTERS` of what is written to it."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.room, self.lost = LETTERS, False

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.parts.append(text[: self.room])
        self.lost |= len(text) > self.room
        self.room -= len(self.parts[-1])
        return len(text)

    def text(self) -> str:
        return "".join(self.parts) + ("\n... cut here" if self.lost else "")


class Screen:
    """Where cells run, one after the other, in the names `space`; and what the last one showed:
    text, and pictures as {"kind": "svg" or "png", "data": base64}.
    """

    def __init__(self, space: dict[str, Any]) -> None:
        self.space = space | {"display": self.display}
        self.stream = LimitedText()
        self.pictures: list[dict[str, str]] = []

    def run(self, source: str, file: str, line: int, show: bool = True) -> None:
        """Run a cell's code. What it raises passes through; what it showed until then is kept,
        but for the figures of matplotlib if not `show`.
        """
        self.stream, self.pictures = LimitedText(), []
        tree = ast.parse("\n" * (line - 1) + source, file)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        with contextlib.redirect_stdout(self.stream), contextlib.redirect_stderr(self.stream):
            exec(compile(tree, file, "exec", dont_inherit=True), self.space)
            if isinstance(last, ast.Expr):
                code = compile(ast.Expression(last.value), file, "eval", dont_inherit=True)
                value = eval(code, self.space)
                if value is not None and not _is_quiet(source):
                    self.display(value)
            self._take_figures(show)

    def display(self, *values: object) -> None:
        """Show values: their picture where they have one, else their text."""
        for value in values:
            draw = getattr(value, "_repr_svg_", None)
            if draw:
                self._add_picture("svg", draw().encode("utf-8"))
            elif not _is_plot(value):  # plots are shown when the cell ends
                print(value if isinstance(value, str) else repr(value), file=self.stream)

    def _take_figures(self, show: bool) -> None:
        """Keep the figures of matplotlib that are open, if `show`, and close them."""
        if not (pyplot := sys.modules.get("matplotlib.pyplot")):
            return
        for number in pyplot.get_fignums() if show else ():
            data = io.BytesIO()
            pyplot.figure(number).savefig(data, format="png", dpi=110)
            self._add_picture("png", data.getvalue())
        pyplot.close("all")

    def _add_picture(self, kind: str, data: bytes) -> None:
        if len(self.pictures) < PICTURES:
            self.pictures.append({"kind": kind, "data": base64.b64encode(data).decode("ascii")})

    @property
    def text(self) -> str:
        return self.stream.text().rstrip()


def _is_quiet(source: str) -> bool:
    """Whether the cell ends with a semicolon: then a notebook does not show its last value."""
    while match := COMMENT.search(source):
        source = source[: match.start()]
    return source.rstrip().endswith(";")


def _is_plot(value: object) -> bool:
    """Whether it is something of matplotlib's, such as what `plt.plot` returns."""
    if isinstance(value, (list, tuple)) and value:
        value = value[0]
    return type(value).__module__.startswith("matplotlib.")
