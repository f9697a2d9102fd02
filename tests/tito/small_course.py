"""A small course of two lessons, to test `tito` on: it knows no lesson by name, so neither do most of its tests."""

HEADER = """\
# ---
# jupyter:
#   jupytext:
#     notebook_metadata_filter: tinytorch,-jupytext.text_representation.jupytext_version
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   tinytorch:
#     difficulty: 1
#     enables: []
#     hours: 0.5
#     prerequisites:{needs}
#     summary: A lesson about {name}.
#     title: {title}
# ---
"""

NUMBERS = (
    HEADER.format(title="Numbers", name="numbers", needs=" []")
    + '''
# %% [markdown]
# # 01. Numbers
#
# Twice and thrice: größer als zuvor.

# %%
#| default_exp core.numbers

# %%
#| export
import math

import numpy as np

LIMIT = 10


# %% [markdown]
# **Task.** Write `double`.
#
# <details><summary>Hint 1</summary>What is a number
# plus itself?</details>
# <details><summary>Hint 2</summary>`x + x`</details>

# %% nbgrader={"grade": false, "grade_id": "numbers-double", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def double(x):
    """Twice `x`.

    >>> double(2)
    4
    """
    ### BEGIN SOLUTION
    twice = x + x
    return twice
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check-double", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_double_of_two_is_four():
    assert double(2) == 4, f"double(2) should be 4, yours is {double(2)}: did you square?"


def test_double_works_on_arrays():
    got = double(np.array([1, 3]))
    assert np.array_equal(got, [2, 6]), f"double([1, 3]) should be [2, 6], yours is {got}"


test_double_of_two_is_four()
test_double_works_on_arrays()

# %% [markdown]
# **Task.** Write `triple`.
#
# <details><summary>Hint 1</summary>Use `double`.</details>

# %% nbgrader={"grade": false, "grade_id": "numbers-triple", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def triple(x):
    """Three times `x`."""
    ### BEGIN SOLUTION
    return double(x) + x
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check-triple", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
def test_triple_of_two_is_six():
    assert triple(2) == 6, f"triple(2) should be 6, yours is {triple(2)}"


test_triple_of_two_is_six()

# %%
#| exporti
def _given(x):
    return math.floor(triple(x))


# %%
print(triple(5), LIMIT)
'''
)

SUMS = (
    HEADER.format(title="Sums", name="sums", needs="\n#     - numbers")
    + '''
# %% [markdown]
# # 02. Sums

# %%
#| default_exp core.sums

# %%
#| export
from tinytorch.core.numbers import double


# %% nbgrader={"grade": false, "grade_id": "sums-total", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def total(numbers):
    """The sum of the doubled numbers."""
    ### BEGIN SOLUTION
    return sum(double(n) for n in numbers)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check-total", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
def test_total_doubles_every_number():
    assert total([1, 2]) == 6, f"total([1, 2]) should be 6, yours is {total([1, 2])}"


test_total_doubles_every_number()

# %% nbgrader={"grade": true, "grade_id": "check-total-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_total_of_nothing_is_zero():
    assert total([]) == 0, "secret"
    assert total([2]) == 4, "secret"


test_total_of_nothing_is_zero()
### END HIDDEN TESTS

# %% [markdown]
# ## Look back
#
# 1. Why?
'''
)


def make_course(folder):
    """Write the small course to `folder`."""
    for name, text in (("01_numbers", NUMBERS), ("02_sums", SUMS)):
        path = folder / "modules" / "source" / name / f"{name[3:]}_dev.py"
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    (folder / "tito.toml").write_text(
        '[course]\nname = "Small"\nedition = "1"\npackage = "tinytorch"\n', encoding="utf-8"
    )
    (folder / "tinytorch" / "core").mkdir(parents=True)
    for name in ("__init__.py", "core/__init__.py"):
        (folder / "tinytorch" / name).write_text('"""The package."""\n', encoding="utf-8")
    return folder


def solve(entry, exercise=None):
    """Put the course's solution into a workspace's script: of one exercise, or of all."""
    reference = entry.root.reference.lesson(entry.name)
    if exercise is None:
        entry.script.write_bytes(reference.script.read_bytes())
        return
    edit(
        entry,
        entry.declared.exercise(exercise).cell.source,
        reference.declared.exercise(exercise).cell.source,
    )


def edit(entry, old, new):
    """Replace text in a workspace's script, where it stands once."""
    text = entry.script.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the lesson"
    entry.script.write_text(text.replace(old, new), encoding="utf-8")
