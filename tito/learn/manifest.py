"""What stands in a submission's zip beside the lesson files: which they are, and of which course.

`submit.py` writes it, and reads it back; `browser.py` writes it where `submit.py` cannot run.
"""

import hashlib
import json

from tito.lesson import course

NAME = "manifest.json"


def write(root, contents, lessons=(), hints=None):
    """The manifest's bytes: the same for the same work, so no time is in it.

    When it arrived, the collector knows.

    contents  {path: bytes} of the lesson files
    lessons   what the local test said of each, as dicts
    hints     {exercise: how many were opened}; None where the learner does not tell
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
    } | ({} if hints is None else {"hints": hints})
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode("utf-8")
