"""The manifest of a zip with lessons: its files, and the course that they are of."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from tito.lesson.course import Root, version

MANIFEST = "manifest.json"


def manifest(
    root: Root, contents: Mapping[str, bytes], lessons: Sequence[dict[str, Any]] = ()
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
        "tracks": list(root.tracks),
        "changes": list(root.changes),
        "tito": version(),
        "files": listed,
        "lessons": list(lessons),
    }
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode("utf-8")
