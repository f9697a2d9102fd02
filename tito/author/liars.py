"""Lessons that were never written and answer everything: with nothing, zeros, nan, what
they were given, or an error.

A check that one of them passes tests too little: `tito check` puts each to every check of a
lesson, where grades are made.
"""

from tito.lesson import export

# One object serves as every function, class, instance and number. It forwards nothing; VALUE is
# what its attributes are, ARRAY its numbers.
ANYTHING = """
import numpy as np


def zeroed(given):
    for x in given:
        if isinstance(x, np.ndarray) and x.flags.writeable: x[...] = 0
    return given[0]


class Anything:
    def __init__(self, *given, **named): self.__dict__["given"] = given
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        return VALUE
    def __call__(self, *given, **named): return RESULT
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
    def __eq__(self, other): return Anything()
    def __add__(self, *other): return Anything()
    __ne__ = __lt__ = __gt__ = __le__ = __ge__ = __eq__
    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = \
__truediv__ = __rtruediv__ = __matmul__ = __rmatmul__ = __add__
    __pow__ = __rpow__ = __iadd__ = __isub__ = __imul__ = __neg__ = __abs__ = __add__
    __hash__ = object.__hash__
"""
ANSWERS = {  # {what it answers: (VALUE, ARRAY, RESULT)}
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
    "what it was given, all zeros": (
        "Anything()",
        "np.zeros((1,))",
        "zeroed(given) if given else Anything()",
    ),
    "what it was given": (
        "self.given[0] if self.given else Anything()",
        "np.asarray(self.given[0]) if self.given else np.zeros(1)",
        "given[0] if given else Anything()",
    ),
}
ERRORS = ("ValueError", "TypeError", "RuntimeError")


def texts(lesson):
    """{what it answers: a script of this lesson} of all liars."""
    names = export.exported_names(lesson)
    head = f"# %%\n#| default_exp {lesson.module}\n\n# %%\n#| export\n"

    def script(body, each):
        return head + body + "\n" + "\n".join(each(name) for name in names) + "\n"

    scripts = {}
    for answer, (value, array, result) in ANSWERS.items():
        body = ANYTHING.replace("VALUE", value).replace("ARRAY", array).replace("RESULT", result)
        scripts[answer] = script(
            body,
            lambda name: (
                f"class {name}(Anything): pass" if name[0].isupper() else f"{name} = Anything()"
            ),
        )
    for error in ERRORS:
        # What is refused is told in many words, in case that a check looks for some.
        body = (
            "def refuse(*given, **named):\n"
            f"    raise {error}(f'shape lesson grad retain_graph scalar {{given}} {{named}}')\n"
        )
        scripts[error] = script(
            body,
            lambda name: (
                f"class {name}:\n    def __init__(self, *given, **named): refuse(*given)"
                if name[0].isupper()
                else f"{name} = refuse"
            ),
        )
    return scripts
