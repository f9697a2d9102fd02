"""What every tokenizer needs and lesson 12 does not teach: a vocabulary without contradictions, and
a file that is written whole or not at all.
"""

import json
import os
import tempfile
from pathlib import Path

__all__ = ["check_vocabulary", "read_file", "write_file"]


def check_vocabulary(merges, special_tokens):
    """Refuse what is no vocabulary of byte-pair encoding.

    merges          {(id, id): new id}: the new ids are 256, 257, ..., and each pair consists of
                    smaller ids
    special_tokens  {text: id}: no text is empty, no id is used twice or below 256 + len(merges)

    Raises ValueError, with the value that is wrong.

    >>> check_vocabulary({(97, 98): 256}, {"<end>": 257})
    """
    for number, (pair, new) in enumerate(merges.items(), 256):
        if new != number:
            raise ValueError(
                f"the merge {pair} has the id {new}, it should be {number}: "
                "new ids are 256, 257, ... in the order of training"
            )
        if not all(0 <= part < new for part in pair):
            raise ValueError(f"the merge {pair} has the id {new}: its parts need smaller ids")
    used = {}
    for name, number in special_tokens.items():
        if name == "":
            raise ValueError("a special token cannot be the empty text")
        if number < 256 + len(merges) or number in used:
            whose = f"of {used[number]!r}" if number in used else "of a byte or a merge"
            raise ValueError(
                f"the special token {name!r} has the id {number} {whose}; "
                f"ids from {256 + len(merges)} up are free"
            )
        used[number] = name


def write_file(path, text):
    """Write a text to a file: it is written beside the old file, then renamed.

    path  str or Path, in a folder that exists
    """
    path = Path(path)
    handle, beside = tempfile.mkstemp(suffix=".part", prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(beside, path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def read_file(path, key):
    """The text of a file that holds a JSON object with this key.

    Raises ValueError, with the path, when it holds anything else.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        content = json.loads(text)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        content = None
    if not isinstance(content, dict) or key not in content:
        raise ValueError(f"{path} is not the file of such a tokenizer: it has no {key!r}")
    return text
