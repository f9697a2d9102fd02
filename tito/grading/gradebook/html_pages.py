"""Render HTML pages for feedback, similarity and the page for graders.

Values cannot contain markup: jinja2 escapes each one, and a learner's text also passes `visible`.
No page loads anything from another host. Templates are in this folder and in `page/`; each folder
has a `frame.html`.
"""

import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Any

from tito import files
from tito.errors import MachineError
from tito.safe_text import one_line, visible

# file names that Windows reserves for devices
RESERVED = re.compile(r"(con|prn|aux|nul|(com|lpt)[0-9])")


def file_name(student: str) -> str:
    """A unique file name (without suffix) for a learner's id, safe on every system.

    An id of lower-case letters, digits, - and _ is used unchanged. Any other id, or one that looks
    as if it ended in a hash, loses its other characters and gets a hash at its end.
    """
    if (
        re.fullmatch(r"[a-z0-9_][a-z0-9_-]{0,59}", student)
        and not RESERVED.fullmatch(student)
        and not re.search(r"-[0-9a-f]{16}$", student)
    ):
        return student
    readable = re.sub(r"[^a-z0-9_]+", "-", student.lower())[:40].strip("-") or "learner"
    return f"{readable}-{hashlib.sha256(student.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def render(template: str, **values: object) -> str:
    """Render `template` with `values`."""
    return str(_environment().get_template(template).render(values))


@cache
def _environment() -> Any:
    try:
        import jinja2
    except ModuleNotFoundError:
        raise MachineError(
            "The pages need jinja2, which is not installed here.",
            "In the course's folder: bin/setup instructor",
        ) from None
    from tito.learn.lesson_page import markdown

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent.parent, encoding="utf-8"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"visible": visible, "name": one_line, "markdown": markdown}
    return environment


def write(folder: Path, pages: dict[str, str]) -> list[Path]:
    """Write `pages` ({name in the folder: text}) where they differ from the files there.

    Returns the paths written.
    """
    return [
        folder / page for page, text in pages.items() if files.write_private(folder / page, text)
    ]
