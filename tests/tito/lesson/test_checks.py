"""tito/lesson/checks.py: the shared statements that a check needs, and that a release has."""

import builtins
import re
from pathlib import Path

import pytest
from small_course import NUMBERS_CHECKS, lesson, solve, verdict_on

from tito.author import leaks
from tito.grading.jail.check_namespace import Prepared
from tito.lesson import cells, course, export
from tito.lesson.checks import needed_statements, statements_of, used_by

COURSE = course.open_root(Path(__file__).resolve().parents[3])
HIDDEN = """

# %% triple hidden points=1
def test_of_what_is_hidden():
    limit = seed(3)
    assert triple(limit) == closed(limit)
    assert [triple(x) for x in TABLE] == [Wanted(x).triple for x in TABLE]
"""
SHARED = '''\
# %% setup
import functools
import random
from math import floor, tau

import numpy as np

# What both sides take.
LIMIT = 4


# The seeds of the hidden checks are the first primes.


@functools.cache
def seed(n):
    """The n-th of them."""
    return [2, 3, 5, 7][n]


# Numbers for everybody.
NUMBERS = [1, 2]
NUMBERS[0] = 2
TABLE = {seed(0): tau}
TABLE[9] = random.random()


def numbers():
    limit = LIMIT
    return [floor(n) for n in NUMBERS if n < limit]


# %% learner-side
class Wanted:
    """The solution of triple."""

    def __init__(self, x):
        self.triple = x + x + x


def closed(limit):
    return Wanted(limit).triple


# A note on closed(): it is the truth.


'''
KEPT = """\
# %% setup
from math import floor

import numpy as np

# What both sides take.
LIMIT = 4


# Numbers for everybody.
NUMBERS = [1, 2]
NUMBERS[0] = 2


def numbers():
    limit = LIMIT
    return [floor(n) for n in NUMBERS if n < limit]


"""


def with_shared(shared, hidden=HIDDEN):
    """The checks of the lesson numbers, of which a visible one needs `numbers`."""
    text = NUMBERS_CHECKS.replace("# %% setup\nimport numpy as np\n\n\n", shared)
    return text.replace("double(2) == 4", "double(2) == 2 * numbers()[0]") + hidden


def test_a_release_leaves_out_each_statement_that_only_hidden_checks_need():
    assert lesson(checks=with_shared(SHARED)).released_checks == with_shared(KEPT, hidden="")


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("hidden_case = 3", "hidden_case"),
        ("hidden_case: int = 3", "hidden_case"),
        ("(hidden_case, one), two = (3, 4), 5", "hidden_case"),
        ("hidden_case = (hidden_table := [3])[0]", "hidden_table"),
        ("hidden_case = lambda x: x", "hidden_case"),
        ("async def hidden_case(): ...", "hidden_case"),
        ("if True:\n    hidden_case = 3", "hidden_case"),
        ("try:\n    import hidden_case\nexcept ImportError:\n    pass", "hidden_case"),
        ("for hidden_case in [3]:\n    pass", "hidden_case"),
        ("import statistics as hidden_case", "hidden_case"),
        ("from math import sin, cosh as hidden_case", "hidden_case"),
        ("'''hidden_case is the seed.'''", "hidden_case"),
    ],
)
@pytest.mark.parametrize("title", ["setup", "learner-side"])
def test_every_kind_of_statement_is_left_out(statement, name, title):
    hidden = "\n\n# %% triple hidden points=1\ndef test_more():\n    assert triple(hidden_case)\n"
    for place in ("# %% setup\n{}\n", "# %% setup\nLIMIT = 2\n\n\n# about it\n{}\n\n\nMORE = 3\n"):
        shared = place.format(statement).replace("setup", title) + KEPT
        released = lesson(checks=with_shared(shared, hidden)).released_checks
        assert name not in released and "about it" not in released
        assert released.endswith(with_shared(KEPT, "").partition("# %% setup\n")[2])


def test_a_name_that_a_visible_check_has_for_itself_keeps_no_helper():
    """`limit` is a variable of `numbers`, and a name in the text of its message."""
    shared = KEPT + "# %% learner-side\ndef limit():\n    return triple(1)\n\n\n"
    assert "def limit" not in lesson(checks=with_shared(shared)).released_checks


def test_a_check_needs_what_its_names_need_in_turn_and_what_is_about_them():
    source = (
        "a = 1\nb = [a]\nb.append(2)\nb += [3]\nc = 4\nprint(c)\ndef d(): return b, lambda c: c"
    )
    needed = needed_statements(frozenset(["d"]), (source,))
    assert [s.number for s in statements_of(source) if s in needed] == [0, 1, 2, 3, 6]


def test_only_what_a_check_needs_runs(small_workspace):
    """A helper may need an exercise that comes later, or a library that is not there."""
    entry = small_workspace.lesson("numbers")
    solve(entry, "double")
    failing = "import no_such_library\n\n\n@triple\ndef later():\n    return no_such_library\n\n\n"
    checks = NUMBERS_CHECKS.replace("# %% double", f"# %% learner-side\n{failing}# %% double")
    entry.declared_path.with_name("checks.py").write_text(checks, encoding="utf-8")
    verdict = verdict_on(course.open_root(small_workspace.path).lesson("numbers"), "double")
    assert [check.status for check in verdict.checks_run] == ["passed", "passed"]


def test_the_learners_side_gets_only_what_the_check_needs(small_course):
    """Code that it may look into, while a check runs whose message its learner reads."""
    side = "# %% learner-side\nimport json, string\n\n\n"
    side += (
        "def seen(x):\n    return json.dumps(x)\n\n\ndef secret(x):\n    return string.digits\n\n\n"
    )
    text = NUMBERS_CHECKS.replace("double(2) == 4", "seen(double(2)) == '4'").replace(
        "# %% d", f"{side}# %% d"
    )
    hidden = (
        "\n\n# %% triple hidden points=1\ndef test_more():\n    assert secret(triple(2)) == '6'\n"
    )
    small_course.lesson("numbers").script.with_name("checks.py").write_text(
        text + hidden, encoding="utf-8"
    )
    entry = course.open_root(small_course.path).lesson("numbers")
    needs = [Prepared.of(entry).needs(check) for check in entry.declared.checks]
    assert [need.names for need in needs] == [["double", "seen"]] * 2 + [
        ["triple"],
        ["triple", "secret"],
    ]
    assert [b"secret" in b"".join(need.codes) for need in needs] == [False] * 3 + [True]
    assert [b"string" in b"".join(need.codes) for need in needs] == [False] * 3 + [True]


# The real lessons, with the words of a text in place of the names in it.


@pytest.mark.slow
@pytest.mark.parametrize("entry", COURSE.lessons, ids=[entry.name for entry in COURSE.lessons])
def test_each_helper_of_a_released_lesson_serves_a_check_that_learners_see(entry):
    released = cells.parse(Path("checks.py"), entry.declared.released_checks)
    assert leaks.needless_names(released) == []
    waiting, used = {}, ""
    for cell in released.cells:
        if cell.title not in ("setup", "learner-side"):
            used += cell.source
            continue
        for statement in statements_of(cell.source):
            text = "\n".join(cell.source.split("\n")[statement.first - 1 : statement.last])
            waiting |= {name: text for name in statement.defines}
    while found := [name for name in waiting if re.search(rf"\b{name}\b", used)]:
        used += "\n".join(waiting.pop(name) for name in found)
    assert waiting == {}


@pytest.mark.parametrize("entry", COURSE.lessons, ids=[entry.name for entry in COURSE.lessons])
def test_each_name_in_the_checks_of_a_release_has_its_definition(entry):
    released = cells.parse(Path("checks.py"), entry.declared.released_checks)
    defined = {*vars(builtins), *export.exported_names(entry.declared)}
    shared = [cell for cell in released.cells if cell.title in ("setup", "learner-side")]
    defined |= {name for cell in shared for s in statements_of(cell.source) for name in s.defines}
    for cell in released.cells:
        own = {name for s in statements_of(cell.source) for name in s.defines}
        assert used_by(statements_of(cell.source)) - own - defined == set(), cell.title


def test_setup_imports_of_the_package_only_lessons():  # of which the judge has proxies
    for entry in COURSE.lessons:
        shared = [c for c in entry.declared.checks_source.cells if c.title == "setup"]
        setup = "\n".join(c.source for c in shared)
        assert not re.search(r"^(from|import) tinytorch(?!\.core\.)", setup, re.M), entry.name
