"""Checkpoint files: numbers, text, lists, dicts and arrays, saved and loaded without rounding.

A pickle could hold them in one line, but opening a pickle runs whatever program is inside it. This
format is an .npz file: its arrays hold numbers only, and one of them is a JSON text that says how
they belong together. Python's JSON restores every float exactly, and integers of any length; every
array in an .npz file has a checksum.
"""

import contextlib
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
    with replaced_file(path) as file:
        np.savez(
            file,
            text=np.frombuffer(text.encode(), np.uint8),
            **{f"a{n}": array for n, array in enumerate(arrays)},
        )


@contextlib.contextmanager
def replaced_file(path):
    """A `with` block that writes a new file, given as an open binary file. At its end the file is
    flushed to the disk and renamed to `path`; after an error, `path` is what it was before."""
    path = Path(path)
    handle, beside = tempfile.mkstemp(suffix=".part", prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
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
        with open(path, "rb") as file:
            if file.read(2) != b"PK":
                raise CheckpointError(
                    f"{path} is not a checkpoint: no .npz file. "
                    "Give a file that tinytorch.save or Trainer.save wrote"
                )
            file.seek(0)
            with np.load(file, allow_pickle=False) as members:
                check_names(path, members.files)
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
            "Use an older copy, or train and save again"
        ) from None


def check_names(path, names):
    """Refuse an .npz file whose arrays, by their names, were written by another program."""
    if any(name.endswith("/data.pkl") for name in names):
        raise CheckpointError(
            f"{path} was written by PyTorch, as a pickle. In PyTorch, save the arrays instead: "
            'np.savez("w.npz", **{name: x.numpy() for name, x in net.state_dict().items()})'
        )
    if "text" not in names:
        raise CheckpointError(
            f"{path} is not a checkpoint: it holds the arrays {', '.join(names)[:60] or '(none)'}. "
            "Weights that np.savez wrote are read by net.load_state_dict(np.load(path))"
        )


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
        f"a checkpoint can hold numbers, text and arrays, no {type(value).__name__}: {cure(value)}"
    )


def cure(value):
    """What to save in place of `value`, or the value where nothing is known."""
    if hasattr(value, "state_dict"):
        return "save what its state_dict() returns"
    if hasattr(value, "numpy"):
        return "save the array, x.numpy()"
    has_save = hasattr(value, "save") and not isinstance(value, type)
    return "it has a method for that, save(path)" if has_save else f"{value!r:.60}"


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


def save(state, path):
    """Write weights, or your own checkpoint, to one file; `load` reads it.

    state  plain data: None, numbers, text, arrays, and lists, tuples and dicts of these, such as
           net.state_dict() or {"model": net.state_dict(), "optimizer": optimizer.state_dict(),
           "epoch": 3}
    path   of the file, with any ending

    The file is written beside and renamed; see `save_state`, which writes the same format. Raises
    TypeError for whole models and everything else that is not plain data.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/run.npz"
    >>> save({"model": {"weights": np.zeros(2)}, "epoch": 3}, path)
    >>> load(path)
    {'model': {'weights': array([0., 0.])}, 'epoch': 3}

    Source: torch.save, which writes a pickle.
    """
    if not isinstance(path, (str, os.PathLike)):
        swapped = isinstance(state, (str, os.PathLike))
        raise TypeError(
            f"save(state, path) needs the path of a file as its second argument, not a "
            f"{type(path).__name__}{': exchange the two arguments' * swapped}"
        )
    save_state(path, state)


def load(path):
    """What `save` wrote to the file `path`.

    Errors are those of `load_state`, which reads the same format. Nothing in the file is executed.

    Source: torch.load.
    """
    return load_state(path)


def check_state_dict(state):
    """Refuse anything but the state dict of a module, and say what to load instead.

    state    what load_state_dict was given; each array in it is looked at later
    """
    if isinstance(state, (str, os.PathLike)):
        raise TypeError(
            f"a state dict maps names to arrays, {str(state)!r} is the name of a file\n"
            "read it first, load_state_dict(tinytorch.load(path))"
        )
    if hasattr(state, "state_dict"):
        raise TypeError(
            f"a state dict maps names to arrays, and this is a whole {type(state).__name__}\n"
            "give what its state_dict() returns"
        )
    if not hasattr(state, "keys"):
        raise TypeError(
            f"a state dict maps names to arrays, {state!r:.60} does not\n"
            "give what net.state_dict() returned, or load_state_dict(tinytorch.load(path))"
        )
    if {"text", "a0"} <= set(state) and hasattr(state, "files"):
        raise ValueError(
            "nothing was loaded: this file was written by tinytorch.save, and opened with "
            "np.load: open it with tinytorch.load"
        )
    if "param_groups" in state:
        raise ValueError(
            "nothing was loaded: this is the state of an optimizer, not of a module. "
            "It goes to optimizer.load_state_dict(state)"
        )
    if isinstance(state, dict) and any(isinstance(part, dict) for part in state.values()):
        weights = [name for name, part in state.items() if is_weights(part)]
        raise ValueError(
            f"nothing was loaded: this is a checkpoint with the entries "
            f"{', '.join(map(str, state))}, not the state of one module. Give the one for it, "
            f"such as state[{[*weights, 'model'][0]!r}]; a Trainer reads its own "
            "checkpoint, trainer.load(path)"
        )


def is_weights(part):
    """Whether `part` is a dict of arrays, as state_dict() of a module returns it."""
    return isinstance(part, dict) and part and all(hasattr(x, "shape") for x in part.values())
