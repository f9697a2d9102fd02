"""What a program does, as data: the values of examples, and those of variables after each line.

It runs in `check_process.py`. Values become short texts that are the same on every machine and for
every version of NumPy, or None.
"""

import ast
import contextlib
import inspect
import math
import random
import sys
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType
from typing import Any

import numpy as np

SECONDS = 0.5  # an example may take
LONGEST = 80  # letters of a value that is shown
MOST_CALLS, MOST_STEPS = 40, 300  # that are recorded
MOST_EVENTS = 50_000  # calls of any function that are looked at: tracing is slow

Limited = Callable[[float], contextlib.AbstractContextManager[None]]
Trace = Callable[[FrameType, str, Any], Any]


def value_text(value: Any, depth: int = 0) -> str | None:
    """A value as a short exact text; None where there is none: too long, or of many decimals."""
    if value is None or isinstance(value, bool) or isinstance(value, str) and len(value) <= 24:
        return repr(value)
    if isinstance(value, np.bool_):
        return str(bool(value))
    if isinstance(value, int | float | np.number) and not isinstance(value, complex):
        number = float(value)
        if not math.isfinite(number):
            return f"{number:g}"
        short = round(number, 4) + 0.0
        near = abs(number) < 1e5 and abs(number - short) <= 2e-6 * max(1, abs(number))
        return f"{short:g}" if near else None
    if (array := array_of(value)) is not None:
        is_short = array.size <= 12 and array.dtype.kind in "biuf"
        return value_text(array.tolist(), depth) if is_short else None
    if type(value) not in (list, tuple, dict) or len(value) > 8 or depth > 3:
        return None
    parts = [value_text(item, depth + 1) for item in value]
    if type(value) is dict:
        texts = [value_text(item, depth + 1) for item in value.values()]
        parts = [key and text and f"{key}: {text}" for key, text in zip(parts, texts)]
    if None in parts:
        return None
    text = ", ".join(map(str, parts)) + "," * (type(value) is tuple and len(parts) == 1)
    brackets = "[]" if type(value) is list else "()" if type(value) is tuple else "{}"
    return brackets[0] + text + brackets[1]


def shown_text(value: Any) -> str | None:
    """The same, or else how an object of the lesson shows itself."""
    text = value_text(value)
    items = value[:9] if isinstance(value, list | tuple) else [value]
    is_slow = len(items) > 8 or any(array_of(item) is not None for item in items)
    if text is None and not is_slow and not isinstance(value, int | float | str | dict):
        with contextlib.suppress(Exception):
            text = repr(value)
    return text if text and len(text) <= LONGEST and " at 0x" not in text else None


def array_of(value: Any) -> Any:
    """The array of a Tensor, or the array itself; None for anything else."""
    data = value if isinstance(value, np.ndarray) else getattr(value, "data", None)
    return data if isinstance(data, np.ndarray) else None


def shape_of(value: Any) -> list[int] | None:
    array = array_of(value)
    return None if array is None else list(array.shape)


def fill_memory(number: float) -> None:
    """Let np.empty return arrays full of `number`: no answer may depend on its old contents."""
    setattr(np, "empty", lambda shape, dtype=float, **options: np.full(shape, number, dtype))
    setattr(np, "empty_like", lambda a, dtype=None, **options: np.full_like(a, number, dtype))


def run_example(space: dict[str, Any], text: str, fill: float, limited: Limited) -> str | None:
    """The text of a program's last value; None when it raises, or another random seed or other
    numbers in fresh memory give another value. Raises CheckTimeout.
    """
    tree = ast.parse(text)
    last, values = tree.body.pop(), []
    assert isinstance(last, ast.Expr)
    for seed in (0, 1):
        fill_memory(fill + seed)
        np.random.seed(seed)  # noqa: NPY002  code of a learner may use it
        random.seed(seed)
        names = dict(space)
        try:
            with limited(SECONDS):
                exec(compile(tree, "<example>", "exec"), names)
                value = eval(compile(ast.Expression(last.value), "<example>", "eval"), names)
                values.append(value_text(value))
        except (Exception, SystemExit):
            return None
    return values[0] if values[0] == values[1] else None


class Recorder:
    """A trace function that records the calls of the functions in some lines of a module, as events
    {"function", "arguments": {name: text}, "shapes": {name: shape}, "steps"}. A step is (line of a
    statement, variable, its value as a text, its shape); "" is what the function returns.

    statements  {line: first line of its statement}
    """

    def __init__(self, file: str, statements: dict[int, int]) -> None:
        self.file, self.statements = file, statements
        self.calls: list[dict[str, Any]] = []
        self.events = 0

    def __call__(self, frame: FrameType, event: str, value: Any) -> Trace | None:
        code, caller = frame.f_code, frame.f_back
        self.events += 1
        if self.events > MOST_EVENTS or len(self.calls) >= MOST_CALLS:
            sys.settrace(None)
        if code.co_filename != self.file or code.co_firstlineno not in self.statements:
            return None
        is_inner = code.co_name[0] == "<" or caller and caller.f_code.co_filename == self.file
        if is_inner or code.co_flags & inspect.CO_GENERATOR:
            return None
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        values = {name: frame.f_locals[name] for name in names}
        texts = {name: shown_text(value) for name, value in values.items()}
        shapes = {name: shape_of(value) for name, value in values.items()}
        steps: list[tuple[int, str, str | None, list[int] | None]] = []
        call = {"event": "call", "function": code.co_name, "steps": steps}
        self.calls.append(call | {"arguments": dict(texts), "shapes": shapes})
        line = 0

        def step(frame: FrameType, event: str, value: Any) -> Trace:
            nonlocal line
            for name, new in frame.f_locals.items() if len(steps) < MOST_STEPS else ():
                is_hopeless = values.get(name, values) is new and texts.get(name) is None
                text = None if is_hopeless else shown_text(new)
                if line and (values.get(name, values) is not new or texts.get(name) != text):
                    steps.append((line, name, text, shape_of(new)))
                values[name], texts[name] = new, text
            frame.f_trace_lines = len(steps) < MOST_STEPS
            if event == "line":
                line = self.statements.get(frame.f_lineno, frame.f_lineno)
            elif event == "return":
                steps.append((line, "", shown_text(value), shape_of(value)))
            return step

        return step


@contextlib.contextmanager
def observing(
    wanted: dict[str, Any], module: ModuleType, limited: Limited, emit: Callable[[Any], None]
) -> Iterator[None]:
    """Run examples, then the block, and emit their results. Raises CheckTimeout when an example
    does not end: then the block is not worth its time.

    wanted  {"examples": programs, "fill": a number for fresh memory, "file": of the module,
            "traced": [(line, first line of its statement)] of the functions to record}

    Events: "example" with its "value", and "call" with what was recorded.
    """
    recorder = Recorder(wanted["file"], {line: first for line, first in wanted["traced"]})
    sys.settrace(recorder if recorder.statements else None)
    try:
        for program in wanted["examples"]:
            value = run_example(vars(module), program, wanted["fill"], limited)
            emit({"event": "example", "value": value})
        fill_memory(wanted["fill"])
        yield
    finally:
        sys.settrace(None)
    for call in recorder.calls:
        emit(call)
