"""Lessons with forged answers. `tito check` grades them to test every check of a lesson.

`uniform_answers` are lessons without solutions, which return the same for every call, such as
nothing, zeros, nan, their input, or an error. A check that passes on one of them tests too little.
In `helper_answers`, the checks' own helpers on the learner's side do the same.

`altered_answers` are solutions with wrong values in the results of one exercise: once as plain
values, once in objects that are equal to everything they are compared or computed with. A check
that fails for the plain values but passes for the objects compares on the learner's side.
"""

import ast

from tito.lesson import cells, export
from tito.lesson.checks import needed_statements, statements_of, used_by
from tito.lesson.lesson_format import Check, Lesson

# One object serves as every function, class, instance and number. VALUE is the value of its
# attributes, ARRAY its numbers, RESULT the result of a call, SEEN what it does to its arguments.
ANYTHING = """
import numpy as np


def zeroed(given):
    for x in given:
        if isinstance(x, np.ndarray) and x.flags.writeable: x[...] = 0
    return given


class Anything:
    def __init__(self, *given, **named): self.__dict__["given"] = SEEN
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        return VALUE
    def __call__(self, *given, **named):
        given = SEEN
        return RESULT
    def __array__(self, dtype=None, copy=None): return ARRAY
    def __len__(self): return 2
    def __iter__(self): return iter([])
    def __float__(self):
        numbers = np.asarray(ARRAY).ravel()
        return float(numbers[0]) if numbers.size == 1 else float("nan")
    def __enter__(self): return self
    def __exit__(self, *error): return True
    def __getitem__(self, index): return Anything()
    def __setitem__(self, index, value): pass
    def __contains__(self, x): return True
    def __eq__(self, *given):
        given = SEEN
        return Anything()
    __add__ = __eq__
    __ne__ = __lt__ = __gt__ = __le__ = __ge__ = __eq__
    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = \
__truediv__ = __rtruediv__ = __matmul__ = __rmatmul__ = __add__
    __pow__ = __rpow__ = __iadd__ = __isub__ = __imul__ = __neg__ = __abs__ = __add__
    __hash__ = object.__hash__
"""
# {the answer: (VALUE, ARRAY, RESULT) and SEEN, if it is not `given`}
ANSWERS: dict[str, tuple[str, ...]] = {
    "empty arrays": ("np.empty((0, 1, 1))", "np.empty((0, 1, 1))", "np.empty((0, 1, 1))"),
    "itself": ("Anything()", "np.empty((0, 1, 1))", "Anything(*given)"),
    "True": ("True", "np.ones(())", "True"),
    "None": ("None", "np.zeros(())", "None"),
    "nan": ("np.full((1,), np.nan)", "np.full((1,), np.nan)", "float('nan')"),
    "zeros": ("np.zeros((1,))", "np.zeros((1,))", "0"),
    "nothing in a list": ("[]", "np.zeros((1,))", "[]"),
    # for `(got == want).all()`, `abs(got - want).max() < tolerance` and the like
    "yes from every method": (
        "lambda *given, **named: np.array([True])",
        "np.ones((1,), bool)",
        "Anything(*given)",
    ),
    "zero from every method": (
        "lambda *given, **named: 0.0",
        "np.zeros(())",
        "Anything(*given)",
    ),
    "the right answer from every method": (
        "lambda *given, **named: {'all': True, 'any': False}.get(name, 0.0)",
        "np.zeros(())",
        "Anything(*given)",
    ),
    "its argument, filled with zeros": (  # in calls, constructors, operators and helpers
        "Anything()",
        "np.zeros((1,))",
        "given[0] if given else Anything()",
        "zeroed(given)",
    ),
    "nothing, and fills its arguments with zeros": (
        "np.zeros((1,))",
        "np.zeros((1,))",
        "Anything(*given)",
        "zeroed(given)",
    ),
    # for `low < found < high`, of which the other process gives all
    "two nearly equal numbers": ("[1.005, 1.0]", "np.array([1.005, 1.0])", "[1.005, 1.0]"),
    "a large number": ("1e9", "np.full((), 1e9)", "10**9"),
    "most of a number": (
        "19.0",
        "np.full((), 19.0)",
        "next((int(0.95 * x) for x in given if isinstance(x, (int, float))), 19)",
    ),
    "its argument": (
        "self.given[0] if self.given else Anything()",
        "np.asarray(self.given[0]) if self.given else np.zeros(1)",
        "given[0] if given else Anything()",
    ),
}
ANYTHING_CLASS = "class NAME(Anything): pass"
ERRORS = ("ValueError", "TypeError", "RuntimeError")
# The message holds many words, in case a check looks for one of them.
REFUSE = """\
def refuse(*given, **named):
    raise ERROR(f'shape lesson grad retain_graph scalar {given} {named}')
"""
REFUSING_CLASS = """\
class NAME:
    def __init__(self, *given, **named): refuse(*given)"""


ARRAY_CLASS = """\
class NAME(np.ndarray):
    def __new__(kind, *given, **named):
        return np.array(given[0] if given else 0.0).view(kind)"""
SWALLOWS = "def __exit__(self, *error): return True"
# Helpers of checks run in the learner's process, whose code can replace them.
HELPERS = """

import builtins


def forge(code, space, run=builtins.exec):
    run(code, space)
    if getattr(code, "co_filename", "") == "checks.py":
        space.update({name: Anything() for name in NAMES if name in space})


builtins.exec = forge
"""


def anything(answer: str) -> str:
    """The code of a class Anything that gives this answer."""
    value, array, result, *seen = ANSWERS[answer]
    body = ANYTHING.replace("VALUE", value).replace("ARRAY", array).replace("RESULT", result)
    return body.replace("SEEN", seen[0] if seen else "given")


def uniform_answers(lesson: Lesson) -> dict[str, str]:
    """{the answer to everything: a script of this lesson that gives it}"""
    answers = {answer: (anything(answer), ANYTHING_CLASS, "Anything()") for answer in ANSWERS}
    lets_errors_pass = anything("itself").replace(SWALLOWS, SWALLOWS.replace("True", "False"))
    answers["itself, and errors leave its blocks"] = lets_errors_pass, ANYTHING_CLASS, "Anything()"
    for error in ERRORS:
        answers[error] = REFUSE.replace("ERROR", error), REFUSING_CLASS, "refuse"
    for result in ("None", "0", "0.0", "True", "given[0] if given else None", "refuse(*given)"):
        function = f"lambda *given, **named: {result}"
        body = f"import numpy as np\n\n{REFUSE.replace('ERROR', ERRORS[0])}"
        answers[f"an array, of functions {result}"] = body, ARRAY_CLASS, f"({function})"
    return {
        answer: lesson_of(lesson, body, kind, value)
        for answer, (body, kind, value) in answers.items()
    }


def lesson_of(lesson: Lesson, body: str, kind: str, value: str) -> str:
    """A script of this lesson.

    body   the code before its definitions
    kind   the code of each class, with NAME for its name
    value  each function and constant
    """
    definitions = [
        kind.replace("NAME", name) if name[0].isupper() else f"{name} = {value}"
        for name in export.exported_names(lesson)
    ]
    head = f"# %%\n#| default_exp {lesson.module}\n\n# %%\n#| export\n"
    return "\n".join([head + body, *definitions, ""])


def helper_answers(lesson: Lesson) -> dict[str, str]:
    """The same as `uniform_answers`, but the helpers of the checks that run on the learner's side
    also give this answer: see HELPERS.
    """
    names = [
        name
        for cell in lesson.learner_side
        for statement in statements_of(cell.source)
        if isinstance(statement.node, (ast.FunctionDef, ast.ClassDef))
        for name in statement.defines
    ]
    return {
        answer: lesson_of(lesson, anything(answer), ANYTHING_CLASS, "Anything()")
        + HELPERS.replace("NAMES", repr(names))
        for answer in ANSWERS
    }


def checks_with_helpers(lesson: Lesson) -> list[Check]:
    """The checks that need code of learner-side sections."""
    beside = {s for cell in lesson.learner_side for s in statements_of(cell.source)}
    shared = tuple(cell.source for cell in (*lesson.setup, *lesson.learner_side))
    return [
        check
        for check in lesson.checks
        if beside & needed_statements(used_by(statements_of(check.cell.source)), shared)
    ]


# Appended to a solution: FORM, which is `_wrong` or `_forged`, changes the results of the functions
# in NAMES, and of the methods of classes in NAMES.
OTHER_VALUES = """
import copy
import functools
import inspect
import operator

import numpy as np


def _wrong(x):
    kind = type(x)
    if kind in (list, tuple): return kind([_wrong(part) for part in x])
    if kind is dict: return {key: _wrong(part) for key, part in x.items()}
    if kind is str: return x + "?"
    if kind is bool: return not x
    if isinstance(x, (np.ndarray, np.generic)):
        if x.dtype.kind == "b": return ~x
        return (x + 1).astype(x.dtype) if x.dtype.kind in "iufc" else x
    if kind in (int, float, complex): return x + 1
    if not isinstance(x, type) and _plain(x) is not x:
        x = copy.copy(x)
        x.data = _wrong(x.data)
    return x


def _plain(x):
    # The numbers of a learner's object; any other value unchanged.
    if isinstance(x, _Echo): return x.x
    data = None if isinstance(x, (np.ndarray, np.generic)) else getattr(x, "data", None)
    return data if isinstance(data, (int, float, np.ndarray, np.generic)) else x


class _Echo:
    # A value in an object. While `forged`, it is in every operation equal to the other
    # operand; the result of an operation is honest.
    __array_ufunc__ = None
    __hash__ = object.__hash__
    def __init__(self, x, forged): self.x, self.forged = x, forged
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        found = self.x if name == "data" else getattr(
            self.x if isinstance(self.x, (list, tuple, dict, str)) else np.asarray(self.x), name
        )
        if not callable(found): return found
        def method(*given, **named):
            answer = found(*given, **named)
            return self.part(answer)
        return method
    def __array__(self, dtype=None, copy=None): return np.asarray(self.x)
    def __len__(self): return len(self.x)
    def part(self, x): return _Echo(x, True) if self.forged else x
    def __iter__(self): return iter([self.part(x) for x in self.x])
    def __getitem__(self, index): return self.part(self.x[index])
    def __contains__(self, x): return True
    def __float__(self): return float(self.x)
    def __int__(self): return int(self.x)
    def __index__(self): return operator.index(self.x)
    def __repr__(self): return repr(self.x)
    def __format__(self, spec): return format(self.x, spec)
    def __abs__(self): return _Echo(abs(np.asarray(self.x)), self.forged)
    def __neg__(self): return _Echo(-np.asarray(self.x), self.forged)
    def __round__(self, *digits): return _Echo(np.round(self.x, *digits), self.forged)
    def __invert__(self): return _Echo(~np.asarray(self.x), self.forged)


def _operation(do, reflected, kind=None):
    def with_other(self, other):
        other = _plain(other)
        mine = other if kind or self.forged else self.x
        try:
            if isinstance(other, (list, tuple)): mine, other = np.asarray(mine), np.asarray(other)
            found = do(other, mine) if reflected else do(mine, other)
        except TypeError:
            found = 0.0
        if kind is None: return _Echo(found, False)
        out = copy.copy(self)
        object.__setattr__(out, "__class__", kind)
        out.data = np.asarray(found) if isinstance(out.data, np.ndarray) else found
        return out
    return with_other


_OPERATORS = {
    f"__{side}{name}__": (getattr(operator, name), side == "r")
    for name in "add sub mul truediv floordiv mod pow matmul".split() for side in ("", "r")
} | {f"__{name}__": (getattr(operator, name), False) for name in "eq ne lt le gt ge".split()}
for _name, _how in _OPERATORS.items():
    setattr(_Echo, _name, _operation(*_how))


@functools.cache
def _forged_class(kind):
    # The class of the learner's, whose objects are in an operation what they are computed with.
    own = {name: _operation(*how, kind) for name, how in _OPERATORS.items()}
    return type(kind.__name__, (kind,), own | {"__slots__": (), "__hash__": kind.__hash__})


def _forged(x):
    y = _wrong(x)
    if y is None or isinstance(y, type) or callable(y): return y
    if isinstance(y, (np.ndarray, np.generic, bool, int, float, complex, str, list, tuple, dict)):
        return _Echo(y, True)
    if _plain(y) is not y:
        try:
            object.__setattr__(y, "__class__", _forged_class(type(y)))
        except TypeError:
            pass
    return y


def _giving(function):
    @functools.wraps(function)
    def other(*given, **named): return FORM(function(*given, **named))
    return other


for _name in NAMES:
    _made = globals().get(_name)
    if isinstance(_made, type):
        for _method, _function in list(vars(_made).items()):
            if inspect.isfunction(_function) and (_method == "__call__" or _method[0] != "_"):
                setattr(_made, _method, _giving(_function))
    elif inspect.isfunction(_made):
        globals()[_name] = _giving(_made)
"""


def altered_answers(lesson: Lesson) -> dict[str, tuple[str, str]]:
    """{exercise id: (a script that gives wrong values, a script that gives them in forged objects)}
    for the definitions of each exercise of this lesson.
    """
    exported, scripts = set(export.exported_names(lesson)), {}
    for exercise in lesson.exercises:
        names = [
            name
            for node in cells.tree_of(exercise.cell.source).body
            for name in export.defined(node)
            if name in exported
        ]
        solution = f"{lesson.source.text}\n# %%\n#| export\n"
        code = OTHER_VALUES.replace("NAMES", repr(names))
        scripts[exercise.id] = (
            solution + code.replace("FORM", "_wrong"),
            solution + code.replace("FORM", "_forged"),
        )
    return scripts
