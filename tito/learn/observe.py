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
from dataclasses import dataclass, field
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np

from tito.learn.run_checks import CheckTimeout

SECONDS = 0.5  # an example may take
MOST_CALLS, MOST_STEPS = 40, 300
LONGEST = 60  # letters of a value that is shown
SIMPLE = (bool, int, float, str, tuple)  # arguments that a reader can be told, besides arrays

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
    array = array_of(value)
    if array is not None:
        is_short = array.size <= 12 and array.dtype.kind in "biuf"
        return value_text(array.tolist(), depth) if is_short else None
    if type(value) in (list, tuple) and len(value) <= 8 and depth < 4:
        parts = [value_text(item, depth + 1) for item in value]
        if None not in parts:
            text = ", ".join(map(str, parts)) + "," * (type(value) is tuple and len(parts) == 1)
            return f"({text})" if type(value) is tuple else f"[{text}]"
    return None


def shown_text(value: Any) -> str | None:
    """The same, or else how an object shows itself."""
    text = value_text(value)
    if text is None and array_of(value) is None and not isinstance(value, SIMPLE):
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
    """Let np.empty return arrays full of `number`: no answer may depend on what was in memory."""
    setattr(np, "empty", lambda shape, dtype=float, **options: np.full(shape, number, dtype))
    setattr(np, "empty_like", lambda a, dtype=None, **options: np.full_like(a, number, dtype))


def run_example(space: dict[str, Any], text: str, fill: float, limited: Limited) -> str | None:
    """The text of a program's last value; None when it raises, or another random seed or other
    numbers in fresh memory give another value.
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
        except (Exception, CheckTimeout, SystemExit):
            return None
    return values[0] if values[0] == values[1] else None


@dataclass
class Call:
    """A call of one of the learner's functions.

    arguments  {name: value}
    shapes     {name: shape}, of the arguments that are arrays
    steps      (line of a statement, variable, its value as a text, its shape) whenever one changed;
               the result is that of line 0
    """

    function: str
    arguments: dict[str, Any]
    shapes: dict[str, list[int] | None]
    steps: list[tuple[int, str, str | None, list[int] | None]] = field(default_factory=list)

    @property
    def last_shapes(self) -> dict[tuple[int, str], list[int] | None]:
        return {(line, name): shape for line, name, _, shape in self.steps}


class Recorder:
    """A trace function that records the calls of the functions in some lines of a module.

    statements  {line: first line of its statement}
    """

    def __init__(self, file: str, statements: dict[int, int], most: int = MOST_CALLS) -> None:
        self.file, self.statements, self.most = file, statements, most
        self.calls: list[Call] = []

    def __call__(self, frame: FrameType, event: str, value: Any) -> Trace | None:
        code, caller = frame.f_code, frame.f_back
        if not self._is_wanted(code) or not caller or caller.f_code.co_filename == self.file:
            return None
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        arguments = {name: frame.f_locals[name] for name in names}
        call = Call(code.co_name, arguments, {k: shape_of(v) for k, v in arguments.items()})
        self.calls.append(call)
        return self._follow(call, {k: (v, shown_text(v)) for k, v in arguments.items()})

    def _is_wanted(self, code: CodeType) -> bool:
        return (
            code.co_filename == self.file
            and code.co_firstlineno in self.statements
            and code.co_name[0] != "<"
            and not code.co_flags & inspect.CO_GENERATOR
            and len(self.calls) < self.most
        )

    def _follow(self, call: Call, before: dict[str, tuple[Any, str | None]]) -> Trace:
        """A trace function for the lines of a call; `before` is {variable: (value, text)}."""
        line = 0

        def step(frame: FrameType, event: str, value: Any) -> Trace:
            nonlocal line
            for name, new in frame.f_locals.items() if len(call.steps) < MOST_STEPS else ():
                old, text = before.get(name, (before, None)), shown_text(new)
                if line and (old[0] is not new or old[1] != text):
                    call.steps.append((line, name, text, shape_of(new)))
                before[name] = new, text
            if event == "line":
                line = self.statements.get(frame.f_lineno, frame.f_lineno)
            elif event == "return":
                call.steps.append((0, "", shown_text(value), shape_of(value)))
            return step

        return step


@contextlib.contextmanager
def observing(
    wanted: dict[str, Any], module: ModuleType, limited: Limited, emit: Callable[[Any], None]
) -> Iterator[None]:
    """Run examples, then what is inside the block, and tell what they did.

    wanted  {"examples": programs, "fill": a number for fresh memory, "file": of the module,
            "traced": [(line, first line of its statement)] of the functions to record}

    Events: "example" with its "value", and "call" with what was recorded.
    """
    statements = {line: first for line, first in wanted["traced"]}
    recorder = Recorder(wanted["file"], statements)
    sys.settrace(recorder if statements else None)
    try:
        for program in wanted["examples"]:
            value = run_example(vars(module), program, wanted["fill"], limited)
            emit({"event": "example", "value": value})
        fill_memory(wanted["fill"])
        yield
    finally:
        sys.settrace(None)
    for call in recorder.calls:
        regular = is_regular(call, module, recorder, limited)
        texts = {name: value_text(value) for name, value in call.arguments.items()}
        told = {"arguments": texts, "shapes": call.shapes, "regular": regular}
        emit({"event": "call", "function": call.function, "steps": call.steps, **told})


def is_regular(call: Call, module: ModuleType, recorder: Recorder, limited: Limited) -> bool:
    """Whether a call has the same shapes when it is made again with the numbers of its arguments in
    another order: the shapes of the arguments are all that one has to know.
    """
    function, arguments = getattr(module, call.function, None), dict[str, Any]()
    if not isinstance(function, FunctionType):
        return False
    for name, value in call.arguments.items():
        array = array_of(value)
        if array is not None:
            mixed = np.random.default_rng(0).permuted(array.ravel()).reshape(array.shape)
            arguments[name] = mixed if array is value else type(value)(mixed)
        elif value is None or isinstance(value, SIMPLE):
            arguments[name] = value
        else:
            return False
    again = Recorder(recorder.file, recorder.statements, 1)
    try:
        with limited(SECONDS):
            sys.settrace(again)
            function(**arguments)
    except (Exception, CheckTimeout, SystemExit):
        return False
    finally:
        sys.settrace(None)
    return len(again.calls) == 1 and again.calls[0].last_shapes == call.last_shapes
