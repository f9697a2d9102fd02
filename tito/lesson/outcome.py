"""The outcome of a check and the verdict on a lesson, and their wording: shared by `tito test`,
`check()` and `tito grade`.
"""

import ast
import contextlib
import difflib
import linecache
import re
import signal
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

# The verdicts on a lesson, with explanations for learners.
VERDICTS = {
    "passed": "every exercise is right",
    "partly right": "some checks fail",
    "failed": "no check that earns points passes",
    "stub": "nothing is written yet: every exercise is as released",
    "missing": "no file of this lesson was handed in",
    "no lesson file": "something was handed in, but no file of a lesson; a person looks at it",
    "unreadable": "what was handed in cannot be read: a damaged zip or notebook, not "
    "UTF-8, a link, or too large",
    "too long to read": "reading what was handed in takes more time or memory than it may have",
    "syntax error": "Python cannot read a part of the lesson, and nothing else earns points",
    "import failed": "a statement of the lesson stops, and nothing else earns points",
    "crashed": "the process that ran the learner's code died",
    "timed out": "the lesson did not finish being imported in time, or no check did",
    "out of memory": "the lesson needs more memory than it may have",
    "tampered": "the learner's code sent an answer that no check asked for, or in a wrong form",
}
STATUSES = (
    "passed",
    "failed",  # an assertion of the check does not hold
    "error",  # the learner's code raised
    "unwritten",  # it needs an exercise that is as released
    "timeout",
    "memory",
    "crashed",  # the process ended during it
    "tampered",
    "not run",
)
LONGEST = 4000  # characters of a learner's message or output that are saved
MOST_LEFT_OUT = 3  # sentences about the left-out code of a lesson
# The words of a released exercise, also those of earlier editions, and its id.
UNWRITTEN = re.compile(
    r"(?:(?<!is )yours to write: tito hint |exercise (?=[\w-]+ is yours to write))([\w-]+)"
)
LEFT_OVER = (
    "a `raise NotImplementedError(...)` of the released exercise ran: write its code or delete it"
)
# What Python says when code uses a None as if it were a value.
NONE_USED = re.compile(
    r"'NoneType' object (?:has no attribute|is not subscriptable|does not support item assignment"
    r"|is not iterable|is not callable)|unsupported operand type\(s\) for .*'NoneType'"
    r"|bad operand type for .*'NoneType'"
)
# What Python says of a name that is missing.
MISSING = re.compile(
    r"name '(\w+)' is not defined|cannot import name '(\w+)'|module '.*' has no attribute '(\w+)'"
)
# What Python says when code uses a list, say, as if it were a tensor.
NO_TENSOR = re.compile(
    r"'(list|tuple|int|float)' object has no attribute '(?:shape|ndim|size|dtype|T|reshape)'"
    r"|'(numpy\.\w+)' object has no attribute '(?:requires_grad|creator|backward)'"
)
CLOSE = 0.75  # how like a name another one is, at least, that a message proposes
FEW_NAMES = 10  # attributes of an object that a message lists
SHOWN = 60  # characters of a value in a call that a message shows


@dataclass
class Outcome:
    """The outcome of one check.

    points   earned, of max_points
    status   one of STATUSES
    message  why it did not pass; plain text from the learner's side, to be
             escaped wherever it is shown
    """

    id: str
    exercise: str
    name: str
    points: int
    max_points: int
    status: str = "not run"
    message: str = "did not run"
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        return self.status == "passed"

    @property
    def costs_points(self) -> bool:
        """Whether it did not pass and would have earned points. A polish check earns none."""
        return not self.passed and self.max_points > 0


# What a jail refuses: exceptions, and the numbers of their errors.
OF_SYSTEM = ("PermissionError", "OSError", "URLError", "gaierror")
WALLED = re.compile(r"\[Errno (?:1|13|30|-2|-3)\]")
ALONE = "lessons are graded without network, other programs, or files to write"
LACKS = "the lesson does not define {}: {}"
RUNNING = "still running after {:g} s: an endless loop, or does it sleep?"


@dataclass(frozen=True)
class LeftOut:
    """A cell of a lesson, or a statement of one, that does not count because it cannot be compiled
    or run. The rest of the lesson counts.

    words    a sentence: the place, the code, and why
    names    that it would have defined
    verdict  on the lesson, if it earns no point
    """

    words: str
    names: tuple[str, ...] = ()
    verdict: str = "import failed"

    @classmethod
    def stopped(cls, place: str, names: Sequence[str], name: str, text: str) -> "LeftOut":
        """Of a statement that raised an exception, its name and text; without a name, `text` says
        how it ended.

        place  "cell 3, line 12: the code"
        """
        where, _, code = place.partition(": ")
        why = "more memory than it may have" if name == "MemoryError" else explain(name, text)
        why = why if name else text
        verdicts = {"MemoryError": "out of memory", "": "crashed"}
        is_late = not name and text.startswith(RUNNING.partition("{")[0])
        verdict = "timed out" if is_late else verdicts.get(name, "import failed")
        words = f"{where} is left out: {code}: {why}" if place else f"Left out: {why}"
        return cls(clean(words[:1].upper() + words[1:]), tuple(names), verdict)


def left_out_sentences(left_out: Sequence[LeftOut]) -> list[str]:
    """The left-out code of a lesson, in sentences."""
    words = list(dict.fromkeys(with_stop(one.words) for one in left_out))
    more = len(words) - MOST_LEFT_OUT
    return words[:MOST_LEFT_OUT] + [f"{more} more statements are left out."] * (more > 0)


def with_stop(sentence: str) -> str:
    return sentence if sentence.endswith((".", "?", "!")) else f"{sentence}."


def how_it_ended(code: int) -> str:
    """How the process that ran learners' code ended; a negative code: by that signal."""
    try:
        how = f"with exit code {code}" if code >= 0 else f"by signal {signal.Signals(-code).name}"
    except ValueError:
        how = f"by signal {-code}"
    return f"the process that ran the code ended {how}: does it call os._exit, or crash Python?"


def unwritten_exercise(name: str, text: str) -> str | None:
    """The id of the exercise whose stub raised this (the exception's name and text), or None."""
    match = UNWRITTEN.search(text) if name == "NotImplementedError" else None
    return match and match[1]


def verdict_of(checks: Sequence[Outcome], left_out: Sequence[LeftOut] = ()) -> str:
    """The verdict on a lesson that could be imported, from the outcomes of its checks and what is
    left out of it.
    """
    statuses, points = [check.status for check in checks], sum(check.points for check in checks)
    if "tampered" in statuses:
        return "tampered"
    if any(check.passed for check in checks) and not any(check.costs_points for check in checks):
        return "passed"
    for status, verdict in (
        ("timeout", "timed out"),
        ("memory", "out of memory"),
        ("crashed", "crashed"),
    ):
        if not points and status in statuses and set(statuses) <= {status, "not run", "unwritten"}:
            return verdict
    if points:
        return "partly right"
    return left_out[0].verdict if left_out else "failed"


def count_of(statuses: Sequence[str], behind: Sequence[str] = ()) -> str:
    """The open checks, in a sentence: "2 of 5 checks fail, 3 wait for exercises that are not
    written."

    behind  the exercises whose mistakes make further checks fail, one for each of these
    """
    wrong = sum(status not in ("passed", "unwritten", "not run") for status in statuses)
    waiting, missing = statuses.count("unwritten"), statuses.count("not run")
    parts = [f"{wrong - len(behind)} of {len(statuses)} checks fail"] * (wrong > len(behind))
    causes = [*dict.fromkeys(behind), *["exercises that are not written"] * bool(waiting)]
    if number := waiting + len(behind):
        parts.append(f"{number} wait{'s' * (number == 1)} for {' and '.join(causes)}")
    parts += [f"{missing} did not run"] * bool(missing)
    return ", ".join(parts) + "." * bool(parts)


def reason_of(verdict: str, checks: Sequence[Outcome]) -> str:
    """Why a lesson has this verdict of `verdict_of`, in a sentence; "" where it passed."""
    if verdict == "passed":
        return ""
    if verdict in ("partly right", "failed"):
        return count_of([check.status for check in checks])
    status = {"timed out": "timeout", "out of memory": "memory"}.get(verdict, verdict)
    messages = (check.message for check in checks if check.status == status)
    return next(messages, "") or count_of([check.status for check in checks])


# Exceptions, explained.


# (an exception's name, a pattern of its text, what it means)
MEANINGS = (
    ("TypeError", r" for \^: ", "In Python `**` is the power, and `^` is another operator."),
    ("EOFError", "", "`input()` gets no answer in a test: give the value in the code."),
    ("AttributeError", "'function' object has no", "Call it first: f(), with brackets, not f."),
    (
        "TypeError",
        "'(int|float|list|tuple|dict|str)' object is not callable",
        "Does a variable have the name of a function? Was f(x) passed in the place of f? Or is an "
        "operator missing before a bracket?",
    ),
    (
        "TypeError",
        r" for [-*/]{1,2}=?: .*'list'|can't multiply sequence|concatenate list \(not \"(int|float)",
        "A list has no arithmetic: compute with its numbers, one by one.",
    ),
    ("TypeError", "'int' object is not iterable", "To repeat something n times, write range(n)."),
    (
        "ValueError",
        "^The truth value of an array",
        "It is an array, and one number is asked for.",
    ),
    ("UnboundLocalError", "", "Give it a value above this line, outside of an `if` or a loop."),
)


def missing_name(name: str, text: str) -> str:
    """The name that an exception (its name and text) says is missing, or ""."""
    match = MISSING.match(text) if name in ("NameError", "ImportError", "AttributeError") else None
    return next(filter(None, match.groups()), "") if match else ""


def explain(
    name: str, text: str, call: str = "", nones: list[str] | None = None, owner: str = ""
) -> str:
    """An exception in the learner's terms.

    name, text  of the exception
    call        the call in the check that led to it, with its arguments; "" for none
    nones       the parameters that were None where it arose; None when it arose in the check itself
    owner       see `owner_of`
    """
    name = name or "an exception without a name"
    if name in OF_SYSTEM and WALLED.search(text):
        text = ALONE  # each level of isolation says it in other words
        name = "PermissionError"
    if name == "ImportError":
        text = re.sub(r" \((?:unknown location|[^()]*\.py)\)", "", text)  # the path of a module
    sentence = f"{name}: {text}" if text else name
    sentence = f"{call} raised {sentence}" if call and nones is not None else sentence
    for kind, pattern, meaning in MEANINGS:
        if name == kind and re.search(pattern, text):
            return f"{sentence}. {meaning}"
    if match := NO_TENSOR.match(text):
        whose = f"`{owner}`" if owner else "It"
        return f"{sentence}. {whose} is a {match[1] or match[2]}: put Tensor(...) around it."
    if "NoneType" not in text:
        return sentence
    if nones:
        named = " and ".join(f"`{parameter}`" for parameter in nones)
        return f"{sentence}. There {named} {'is' if len(nones) == 1 else 'are'} None."
    if name in ("AttributeError", "TypeError") and NONE_USED.search(text):
        return f"{sentence}. Does a function lack its `return`?"
    return sentence


def near_name(error: BaseException) -> str:
    """What a missing name or attribute may be meant to be, as an end of a message; or ""."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    wanted, names = getattr(error, "name", None), list[str]()
    with contextlib.suppress(Exception):  # a learner's class may do anything
        if isinstance(error, AttributeError):
            kind = type(error.obj)
            names = [*getattr(error.obj, "__dict__", ()), *getattr(kind, "__slots__", ())]
        elif type(error) is NameError:
            names = [*frames[-1].f_locals, *frames[-1].f_globals]
        if near := difflib.get_close_matches(wanted or "", names, 1, CLOSE):
            return f". Did you mean `{near[0]}`?"
        if isinstance(error, AttributeError) and 0 < len(names) <= FEW_NAMES:
            return f". It has: {', '.join(map(str, names))}"
    return ""


def owner_of(error: BaseException) -> str:
    """The variable that holds the value whose attribute an error says is missing, or ""."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    value, names = getattr(error, "obj", frames), frames[-1].f_locals if frames else {}
    return next((name for name, one in names.items() if one is value and name.isidentifier()), "")


def none_parameters(frame: FrameType) -> list[str]:
    """The parameters of a frame's function that are None in it."""
    code = frame.f_code
    total = code.co_argcount + code.co_kwonlyargcount
    return [name for name in code.co_varnames[:total] if frame.f_locals.get(name, code) is None]


def call_in(error: BaseException, file: str) -> str:
    """The call that led to the error, with values: "matmul_shape((3,), (3,))"; or ""."""
    caller = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == file:
            caller = frame
    summary = [s for s in traceback.extract_tb(error.__traceback__) if s.filename == file]
    if not caller or summary[-1].lineno is None or summary[-1].end_lineno is None:
        return ""
    last = summary[-1]
    lines = linecache.getlines(file)[summary[-1].lineno - 1 : last.end_lineno]
    if not lines:
        return ""
    encoded = [line.encode() for line in lines]
    encoded[-1] = encoded[-1][: last.end_colno]
    encoded[0] = encoded[0][last.colno :]
    try:
        tree = ast.parse(b"".join(encoded).decode().strip(), mode="eval")
    except (SyntaxError, ValueError):
        return ""
    if not isinstance(tree.body, ast.Call):
        return ""
    text = ast.unparse(_Filled(caller.f_locals).visit(tree))
    return text if len(text) <= 3 * SHOWN and "\n" not in text else ""


class _Filled(ast.NodeTransformer):
    """Names replaced by their values, where those are plain and short."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.values.get(node.id, self)
        if _is_plain(value) and len(literal := repr(value)) <= SHOWN:
            try:
                return ast.parse(literal, mode="eval").body
            except SyntaxError:
                pass  # nan and inf are no Python
        return node


def _is_plain(value: Any, depth: int = 0) -> bool:
    """Whether a value is Python's own all through: a learner's `repr` may do anything."""
    if type(value) in (tuple, list):
        return depth < 4 and len(value) <= 20 and all(_is_plain(part, depth + 1) for part in value)
    return value is None or type(value) in (bool, int, float, str)


def cut(text: str) -> str:
    """A learner's text, not endless."""
    more = len(text) - LONGEST
    return f"{text[:LONGEST]} ... ({more} characters more)" if more > 0 else text


def clean(text: str) -> str:
    """Text that can be kept and sent: no halves of characters, no NUL, not endless."""
    return cut(text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0"))
