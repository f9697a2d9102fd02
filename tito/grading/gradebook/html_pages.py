"""Name and write the files of pages about learners."""

import hashlib
import re
from pathlib import Path

from tito import files

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


def write(folder: Path, pages: dict[str, str]) -> list[Path]:
    """Write `pages` ({name in the folder: text}) where they differ from the files there.

    Returns the paths written.
    """
    return [
        folder / page for page, text in pages.items() if files.write_private(folder / page, text)
    ]
