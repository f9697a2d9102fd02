"""Small wrong versions of a solution."""

import ast

import pytest
from small_course import NUMBERS, lesson

from tito.author import mutate


def mutants(*solution):
    """{change: the solution's text} of every mutation of `double`, with this solution."""
    body = "".join(f"    {line}\n" for line in solution)
    text = NUMBERS.replace("    twice = x + x\n    return twice\n", body)
    found = [m for m in mutate.mutations(lesson(chapter=text)) if m.exercise == "numbers-double"]
    for m in found:
        ast.parse(
            m.text.split("BEGIN SOLUTION\n")[1]
            .split("    ### END")[0]
            .replace("\n    ", "\n")
            .lstrip()
        )
    return {m.change: m.text.split("BEGIN SOLUTION\n")[1].split("    ### END")[0] for m in found}


@pytest.mark.parametrize(
    ("solution", "change", "wrong"),
    [
        ("return x + 2", "`x + 2` -> `(x) - (2)`", "return (x) - (2)"),
        ("return x - 2", "`x - 2` -> `((2) - (x))`", "return ((2) - (x))"),
        ("return x @ y", "`x @ y` -> `((y) @ (x))`", "return ((y) @ (x))"),
        ("return x < 2", "`<` -> `<=`", "return x <= 2"),
        ("return x is not None", "`is not` -> `is`", "return x is None"),
        ("return a and b", "`a and b` -> `(a) or (b)`", "return (a) or (b)"),
        ("return -x", "`-x` -> `(x)`", "return (x)"),
        (
            "return x.sum(axis=0, keepdims=True)",
            "`x.sum(axis=0, keepdims=True)` -> `x.sum(axis=0)`",
            "return x.sum(axis=0)",
        ),
        ("return x.sum(axis=0)", "`x.sum(axis=0)` -> `(x)`", "return (x)"),
        ("return f(x, y)", "`x, y` -> `y, x`", "return f(y, x)"),
        ("return x.T", "`x.T` -> `(x)`", "return (x)"),
        ("return 3", "`3` -> `4`", "return 4"),
        ("return 3", "`3` -> `6`", "return 6"),
        ("return True", "`True` -> `False`", "return False"),
        ("return 1 if x else 2", "`x` -> `(not (x))`", "return 1 if (not (x)) else 2"),
        ("x += 1", "`x += 1` -> `pass`", "pass"),
        ("x += 1", "`x += 1` -> `x = 1`", "x = 1"),
        ("raise ValueError(x)", "`raise ValueError(x)` -> `pass`", "pass"),
        ("x[0] = 1", "`x[0] = 1` -> `pass`", "pass"),
        ("f(x)", "`f(x)` -> `pass`", "pass"),
        ("return größe + 1", "`größe + 1` -> `(größe) - (1)`", "return (größe) - (1)"),
    ],
)
def test_each_kind_of_slip_is_made(solution, change, wrong):
    assert mutants(solution)[change] == f"    {wrong}\n"


def test_only_the_solution_is_changed():
    for m in mutate.mutations(lesson()):
        before, after = NUMBERS.split("\n"), m.text.split("\n")
        differing = [n for n, (one, two) in enumerate(zip(before, after), 1) if one != two]
        assert len(before) == len(after) and differing == [m.line]


def test_given_code_between_two_solutions_is_not_changed():
    given = "### END SOLUTION", "given(x)", "### BEGIN SOLUTION"
    assert {change.split(" ->")[0] for change in mutants("f(x)", *given, "g(x)")} == {
        "`f(x)`",
        "`g(x)`",
    }


def test_no_two_are_the_same_and_none_is_the_solution():
    texts = [m.text for m in mutate.mutations(lesson())]
    assert len(texts) == len(set(texts)) > 5 and NUMBERS not in texts
