"""A small course of two lessons, to test `tito` on: it knows no lesson by name, so neither do most
of its tests.
"""

import json
from pathlib import Path

from tito.learn import runner
from tito.lesson import cells, lesson_format
from tito.lesson.parse import parse_lesson

FACTS = """\
title = "{title}"
summary = "A lesson about {name}."
difficulty = 1
hours = 0.5
prerequisites = {needs}
enables = []
terms = []
"""

NUMBERS_FACTS = FACTS.format(title="Numbers", name="numbers", needs=[])
NUMBERS = '''\
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
# ## Doubling
#
# **Task.** Write `double`.

# %% exercise="double"
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


# %% checks="double"
check("double")

# %% [markdown]
# ## Tripling
#
# **Task.** Write `triple`.

# %% exercise="triple"
#| export
def triple(x):
    """Three times `x`."""
    ### BEGIN SOLUTION
    return double(x) + x
    ### END SOLUTION


# %% checks="triple"
check("triple")

# %%
#| exporti
def _given(x):
    return math.floor(triple(x))


# %%
print(triple(5), LIMIT)
'''

NUMBERS_CHECKS = """\
# The checks of lesson 01, by exercise. `check("double")` in the chapter runs the visible ones.

# %% setup
import numpy as np


# %% double points=4
def test_double_of_two_is_four():
    assert double(2) == 4, f"double(2) should be 4, yours is {double(2)}: did you square?"


def test_double_works_on_arrays():
    got = double(np.array([1, 3]))
    assert np.array_equal(got, [2, 6]), f"double([1, 3]) should be [2, 6], yours is {got}"


# %% triple points=1
def test_triple_of_two_is_six():
    assert triple(2) == 6, f"triple(2) should be 6, yours is {triple(2)}"
"""

NUMBERS_HINTS = """\
## double

1. What is a number
   plus itself?
2. `x + x`

## triple

1. Use `double`.
"""

SUMS_FACTS = FACTS.format(title="Sums", name="sums", needs='["numbers"]')
SUMS = '''\
# %% [markdown]
# # 02. Sums

# %%
#| default_exp core.sums

# %%
#| export
from tinytorch.core.numbers import double


# %% exercise="total"
#| export
def total(numbers):
    """The sum of the doubled numbers."""
    ### BEGIN SOLUTION
    return sum(double(n) for n in numbers)
    ### END SOLUTION


# %% checks="total"
check("total")

# %% [markdown]
# ## Look back
#
# 1. Why?
'''

SUMS_CHECKS = """\
# The checks of lesson 02, by exercise.

# %% total points=2
def test_total_doubles_every_number():
    assert total([1, 2]) == 6, f"total([1, 2]) should be 6, yours is {total([1, 2])}"


# %% total hidden points=1
def test_total_of_nothing_is_zero():
    assert total([]) == 0, "secret"
    assert total([2]) == 4, "secret"
"""

# right solutions in another style: `tito check` asks for two of each exercise
NUMBERS_RIGHTS = """
# %% double right: Takes away.
#- twice = x + x
twice = x - -x

# %% triple right: Multiplies by three.
return x * 3

# %% triple right: Takes away from four.
return 4 * x - x
"""
MULTIPLIES = """
# %% double right: Multiplies.
#- twice = x + x
twice = 2 * x
"""
SUMS_RIGHTS = """
# %% total right: Doubles the sum.
return double(sum(numbers))

# %% total right: A loop.
result = 0
for number in numbers:
    result += double(number)
return result
"""

QUESTION = """\
# %% [markdown] question="why" points=2
# Why does doubling twice
# multiply by four?
#
# **Your answer:**
#
# ### BEGIN SOLUTION
# Because
#
# $2 \\cdot 2 = 4$.
# ### END SOLUTION

"""


RUBRIC = (
    "- 1.5 points: says that two",
    "  twos make four",
    "- 0.5 points: a formula",
    "- -1 point: guesses",
)


def with_question(chapter=NUMBERS, before="# %%\n#| exporti", rubric=()):
    """The chapter with a free-answer question, before a place of it. rubric: lines, as RUBRIC."""
    assert chapter.count(before) == 1
    end = "# ### END SOLUTION"
    asked = QUESTION.replace(end, "".join(f"# {line}\n" for line in rubric) + end)
    return chapter.replace(before, asked + before)


# Of NUMBERS: `double` with a given last line, and what is said when that line is lost.
GIVEN_LINE = "return abs(twice)"
WITH_GIVEN_LINE = NUMBERS.replace(
    "    return twice\n    ### END SOLUTION\n", f"    ### END SOLUTION\n    {GIVEN_LINE}\n"
)
NEVER_RUNS = f"The given line `{GIVEN_LINE}` does not run: your own `return` comes before it."

FILES = {
    "01_numbers/numbers_dev.py": NUMBERS,
    "01_numbers/lesson.toml": NUMBERS_FACTS,
    "01_numbers/checks.py": NUMBERS_CHECKS,
    "01_numbers/hints.md": NUMBERS_HINTS,
    "01_numbers/mistakes.py": NUMBERS_RIGHTS + MULTIPLIES,
    "02_sums/sums_dev.py": SUMS,
    "02_sums/lesson.toml": SUMS_FACTS,
    "02_sums/checks.py": SUMS_CHECKS,
    "02_sums/mistakes.py": SUMS_RIGHTS,
}


# Ways through it, for those tests that need some: `tracks.toml`.
TRACKS = """\
[short]
title = "A short way"
hours = 1
exercises = ["numbers triple", "sums"]

[first]
title = "Numbers only"
hours = 0.5
exercises = ["numbers"]

[late]
title = "Sums only"
hours = 2
exercises = ["sums"]
"""


CHAPTERS = {  # name: folder, chapter, checks, facts, hints
    "numbers": ("01_numbers", NUMBERS, NUMBERS_CHECKS, NUMBERS_FACTS, NUMBERS_HINTS),
    "sums": ("02_sums", SUMS, SUMS_CHECKS, SUMS_FACTS, ""),
}


def lesson(name="numbers", chapter=None, checks=None, facts=None, hints=None, within=Path()):
    """A `Lesson` of the small course, with other text where that is given."""
    folder, *texts = CHAPTERS[name]
    given = (chapter, checks, facts, hints)
    texts = [text if new is None else new for text, new in zip(texts, given, strict=True)]
    chapter, checks, facts, hints = texts
    path = within / folder / f"{name}_dev.py"
    checks = cells.parse(path.with_name(lesson_format.CHECKS), checks)
    return parse_lesson(cells.parse(path, chapter), checks, facts, hints)


def make_course(folder):
    """Write the small course to `folder`."""
    for name, text in FILES.items():
        path = folder / "modules" / "source" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "tito.toml").write_text(
        '[course]\nname = "Small"\nedition = "1"\npackage = "tinytorch"\n', encoding="utf-8"
    )
    (folder / "tinytorch" / "core").mkdir(parents=True)
    for name in ("__init__.py", "core/__init__.py"):
        (folder / "tinytorch" / name).write_text('"""The package."""\n', encoding="utf-8")
    return folder


def introduce(folder, terms):
    """Let a course's first lesson introduce {term: PyTorch's name of it, or ""}."""
    names = [f"{json.dumps(term)} = {json.dumps(name)}" for term, name in terms.items() if name]
    listed = "\n".join([f"terms = {json.dumps(list(terms))}", "[pytorch]", *names])
    text = NUMBERS_FACTS.replace("terms = []", listed)
    (folder / "modules/source/01_numbers/lesson.toml").write_text(text, encoding="utf-8")


def set_policies(folder, **policies):
    """Write these policies of grading into a course's tito.toml."""
    lines = [f"{name} = {json.dumps(value)}" for name, value in policies.items()]
    with (folder / "tito.toml").open("a", encoding="utf-8") as file:
        file.write("\n".join(["\n[grading]", *lines, ""]))


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
    """Replace text in a workspace's script, which must have it once."""
    text = entry.script.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the lesson"
    entry.script.write_text(text.replace(old, new), encoding="utf-8")


def verdict_on(entry, keyword=None, first_only=False, **options):
    """The verdict of `runner.test_lesson`."""
    selection = runner.CheckSelection((), keyword, first_only)
    return runner.test_lesson(entry, selection, **options).verdict
