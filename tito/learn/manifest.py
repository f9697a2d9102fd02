"""The manifest in a submission's zip: the hashes of the lesson files, and their course.

`submit.py` writes it, and reads it back; `browser.py` writes it where `submit.py` cannot run.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from tito.lesson import course

NAME = "manifest.json"


def write(
    root: course.Root, contents: Mapping[str, bytes], lessons: Sequence[dict[str, Any]] = ()
) -> bytes:
    """The manifest's bytes. They contain no time, so that the same work gives the same bytes; the
    system that collects the work records when it arrived.

    contents  {path: bytes} of the lesson files
    lessons   what the local test said of each, as dicts
    """
    listed = {
        name: {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        for name, data in contents.items()
    }
    value = {
        "version": 1,
        "course": root.name,
        "edition": root.edition,
        "tito": course.version(),
        "files": listed,
        "lessons": list(lessons),
    }
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode("utf-8")
