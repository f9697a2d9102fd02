"""What the judge demands of a call, also where a check runs in the learner's process.

In the judge, arguments come over a wire: a text or a large number is a new object, and an array or
list that was changed is noticed. So here, a function of the lesson that a check only calls is
called with new texts and numbers, and must leave its arrays, lists and dicts as they were.
"""

import ast
import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from tito.lesson.checks import Section, statements_of

LONGEST = 100  # characters of a value in a message


def guarded(namespace: dict[str, Any], section: Section, changes: list[str]) -> dict[str, Any]:
    """{name: a function that calls the lesson's and compares its arguments} of the functions that
    the checks of a section call, and use in no other way, such as `creator.op is relu`.

    changes  gets a sentence about each changed argument: the check fails, after its own messages
    """
    return {
        name: _guard(namespace[name], name, changes)
        for name in _only_called(section.source)
        if isinstance(namespace.get(name), FunctionType)
    }


@functools.lru_cache(maxsize=256)  # a section holds several checks
def _only_called(source: str) -> frozenset[str]:
    """The names that code only calls."""
    leaves = [leaf for s in statements_of(source) for leaf in ast.walk(s.node)]
    called = {id(leaf.func) for leaf in leaves if isinstance(leaf, ast.Call)}
    names = [leaf for leaf in leaves if isinstance(leaf, ast.Name)]
    others = {leaf.id for leaf in names if id(leaf) not in called}
    return frozenset({leaf.id for leaf in names} - others)


def _guard(function: Callable[..., Any], name: str, changes: list[str]) -> Callable[..., Any]:
    """The function, which tells `changes` when it has changed an argument."""

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        given, named = tuple(map(_new, given)), {key: _new(x) for key, x in named.items()}
        before = [*map(_copy, (*given, *named.values()))]
        out = function(*given, **named)
        after = [*map(_copy, (*given, *named.values()))]
        if changed := [n for n, (old, new) in enumerate(zip(before, after)) if not _same(old, new)]:
            n, words = changed[0], [*inspect.signature(function).parameters]
            word = [*named][n - len(given)] if n >= len(given) else words[min(n, len(words) - 1)]
            changes.append(
                f"{name} changes its argument {word}, {_shown(before[n])}: afterwards it is "
                f"{_shown(after[n])}. Work on a copy"
            )
        return out

    return call


def _new(x: Any) -> Any:
    """A text or whole number that equals `x` and is another object: `is` for `==` is a mistake."""
    if type(x) is str:
        return (x + " ")[:-1]
    return int(str(x)) if type(x) is int and abs(x) < 1 << 60 else x


def _copy(x: Any) -> Any:
    """What can change of an argument: a copy of an array, a list or a dict, with its contents."""
    if type(x).__name__ == "ndarray":
        return x.copy()
    if type(x) in (list, tuple):
        return [_copy(part) for part in x]
    return {key: _copy(part) for key, part in x.items()} if type(x) is dict else x


def _same(old: Any, new: Any) -> bool:
    """Whether two copies hold the same."""
    if type(old).__name__ == "ndarray":
        return (old.shape, old.tobytes()) == (new.shape, new.tobytes())
    if type(old) is list:
        return len(old) == len(new) and all(map(_same, old, new))
    if type(old) is dict:
        return [*old] == [*new] and all(map(_same, old.values(), new.values()))
    return old is new or type(old) in (bool, int, float, str) and old == new


def _shown(x: Any) -> str:
    text = " ".join((str(x.tolist()) if hasattr(x, "tolist") else repr(x)).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
