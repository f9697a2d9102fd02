"""The README's example and what it prints, for the book's first page: python book/example.py."""

import contextlib
import io
import re
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def example() -> str:
    """The README's first Python program."""
    return re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.S)[1]


if __name__ == "__main__":
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(example(), {"__name__": "__main__"})
    print(f"```python\n{example()}```\n\n```text\n{said.getvalue()}```")
