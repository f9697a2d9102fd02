"""A given line of an exercise without effect is named, and one that is written in another way is
not.
"""

import pytest

from tito.lesson import given_lines, lesson_format

STUB = lesson_format.stub("numbers", "sum")
RELEASED = f"""
@remember
def total(numbers, start=0):
    \"\"\"The sum.\"\"\"
    refuse_text(numbers)
    items = list(numbers)
    {STUB}
    numbers.used = True
    return record(out)
"""
SOLUTION = RELEASED.replace(STUB, "out = sum(items, start)")
NEVER = "does not run: your own `{}` comes before it"


def lost(old, new, text=SOLUTION):
    assert text.count(old) == 1
    return given_lines.lost_line(RELEASED, text.replace(old, new))


@pytest.mark.parametrize(
    "old, new, line, what",
    [
        ("out = sum", "return sum", "numbers.used = True", NEVER.format("return")),
        (
            "out = sum(items, start)",
            "raise ValueError",
            "numbers.used = True",
            NEVER.format("raise"),
        ),
        (
            "out = sum(items, start)",
            "if start:\n        return start\n    else:\n        return 0",
            "numbers.used = True",
            NEVER.format("return"),
        ),
        (
            "out = sum(items, start)",
            "numbers.used = True\n    with lock:\n        return sum(items)",
            "return record(out)",
            NEVER.format("return"),
        ),
        ("return record(out)", "return out", "return record(out)", "is gone"),
        ("    refuse_text(numbers)\n", "", "refuse_text(numbers)", "is gone"),
        ("    items = list(numbers)\n", "", "items = list(numbers)", "is gone"),
        ("    numbers.used = True\n", "", "numbers.used = True", "is gone"),
        ("@remember\n", "", "@remember", "is gone"),
        ("start=0", "start=1", "def total(numbers, start=0):", "is changed"),
    ],
)
def test_a_given_line_without_effect_is_named(old, new, line, what):
    assert lost(old, new) == f"The given line `{line}` {what}."


@pytest.mark.parametrize(
    "old, new",
    [
        ("return record(out)", "return record(out)  # as given"),
        ("return record(out)", "return record(out=out)"),
        ("out = sum(items, start)", "if start:\n        return 0\n    out = sum(items)"),
        ("numbers, start=0", "numbers: list, start: int = 0"),
        (
            "    items = list(numbers)\n    out = sum(items, start)\n",
            "    out = sum(list(numbers), start)\n",
        ),
        (
            "    numbers.used = True\n    return record(out)\n",
            "    return finish(numbers, out)\n\ndef finish(numbers, out):\n"
            "    numbers.used = True\n    return record(out)\n",
        ),
        ("total(", "other("),
    ],
    ids=["comment", "keyword", "early return", "types", "inlined", "helper", "no such function"],
)
def test_a_given_line_in_another_form_is_not_missed(old, new):
    assert lost(old, new) == ""


def test_nothing_is_said_about_a_stub_or_text_that_is_no_python():
    assert given_lines.lost_line(RELEASED, RELEASED) == ""
    assert lost(STUB, f"{STUB}\n    out = 0", RELEASED) == ""
    assert lost("out =", "out = (", SOLUTION) == ""
    assert lost("out = sum(items, start)", "\n".join(["out = 0", *"x" * 60_000])) == ""


@pytest.mark.slow
def test_code_that_is_nested_without_end_is_read_no_further():
    chain = "if start:\n        out = 0\n" + "    elif start:\n        out = 0\n" * 2_000
    assert lost("out = sum(items, start)\n", chain) == ""
