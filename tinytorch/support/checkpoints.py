"""Checkpoint files: numbers, text, lists, dicts and arrays, saved and loaded without rounding.

A pickle could hold them in one line, but opening a pickle runs whatever program is inside it. This
format is an .npz file: its arrays hold numbers only, and one of them is a JSON text that says how
they belong together. Python's JSON restores every float exactly, and integers of any length; every
array in an .npz file has a checksum.
"""

import json
import os
import tempfile
from pathlib import Path

import numpy as np

FORMAT = "tinytorch checkpoint 1"


class CheckpointError(ValueError):
    """A file that is not a checkpoint, is damaged, or was saved from another model."""


def save_state(path, state):
    """Write plain data, such as a snapshot of a training run, to a file.

    path   of the file; its folder is created if necessary
    state  None, bool, int, float, str, arrays of numbers, NumPy numbers, and lists, tuples and
           dicts of these; keys of dicts may also be numbers or tuples

    The write is atomic: the new file is written beside the old one, flushed to the disk, and
    renamed, so that whatever happens `path` holds the old file or the new one. Raises TypeError,
    with the value, for anything else in `state`.
    """
    arrays = []
    text = json.dumps({"format": FORMAT, "state": pack(state, arrays)})
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(suffix=".part", prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(
                file,
                text=np.frombuffer(text.encode(), np.uint8),
                **{f"a{n}": array for n, array in enumerate(arrays)},
            )
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def load_state(path):
    """What `save_state` wrote to `path`.

    Raises CheckpointError when the file is damaged or is not a checkpoint, and FileNotFoundError,
    IsADirectoryError or PermissionError when it cannot be read at all. Nothing in it is executed.
    """
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as members:
            arrays = dict(members)
        content = json.loads(arrays["text"].tobytes())
        if content["format"] != FORMAT:
            raise CheckpointError(
                f"{path} was written as {content['format']!r}, this is {FORMAT!r}"
            )
        return unpack(content["state"], arrays)
    except (CheckpointError, FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except Exception as error:  # noqa: BLE001  damage makes zip, NumPy and JSON raise many kinds
        raise CheckpointError(
            f"{path} is not a checkpoint, or it is damaged ({type(error).__name__}: {error}). "
            "Use an older copy, or start the training again"
        ) from None


def pack(value, arrays):
    """`value` in a form that JSON can hold. Its arrays are appended to the list `arrays`, and in
    the result their index stands for them. TypeError for anything that is not plain data.

    >>> arrays = []
    >>> pack([1, np.float32([0.5])], arrays), arrays
    ({'list': [1, {'array': 0}]}, [array([0.5], dtype=float32)])
    """
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biuf":
        arrays.append(np.asarray(value))
        return {"array" if isinstance(value, np.ndarray) else "number": len(arrays) - 1}
    if isinstance(value, dict):  # as pairs: JSON would turn keys that are numbers into strings
        return {"dict": [[pack(key, arrays), pack(part, arrays)] for key, part in value.items()]}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [pack(part, arrays) for part in value]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(
        f"a checkpoint can hold numbers, text and arrays, no {type(value).__name__}: {value!r:.60}"
    )


def unpack(value, arrays):
    """The value that was packed; `arrays` is a dict {"a0": array, "a1": array, ...}."""
    if not isinstance(value, dict):
        return value
    ((kind, inside),) = value.items()
    if kind in ("array", "number"):
        return arrays[f"a{inside}"] if kind == "array" else arrays[f"a{inside}"][()]
    if kind == "dict":
        return {unpack(key, arrays): unpack(part, arrays) for key, part in inside}
    return {"list": list, "tuple": tuple}[kind](unpack(part, arrays) for part in inside)
