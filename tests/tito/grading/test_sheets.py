"""Sheets of questions on submissions, honest and hostile, as `tito gradebook export` writes them:
no sheet depends on another one, and no text of a learner is markup.
"""

import html
import re

import pytest
from commands import tito
from small_course import NUMBERS, SUMS, lesson, make_course, set_policies

from tito.cli.instructor.gradebook import sheet_maker
from tito.errors import MachineError
from tito.grading import sheets
from tito.grading.gradebook.gradebook import open_gradebook
from tito.grading.jail.sheet import NOTHING
from tito.grading.setting import Setting
from tito.learn.observe import value_text
from tito.lesson import course, notebook

pytestmark = pytest.mark.slow
EVIL = "<script>alert(1)</script>"
BODY = "    twice = x + x\n    return twice\n"
SCALED = "    factor = 2\n    if factor == 2:\n        twice = factor * x\n    return twice\n"
LOOT = "LOOT = '<b>' + ''.join(open(p).read() for p in ['/etc/passwd'])\n\n\n"
LOOP = "    y = 0\n    for n in numbers:\n        y = y + double(n)\n    return y\n"
SOLVED = NUMBERS.replace("    ### BEGIN SOLUTION\n", "").replace("    ### END SOLUTION\n", "")
AT_RANDOM = "    import random\n    luck = random.Random().random()\n"
DELETES = "    import os, shutil\n    shutil.rmtree(os.getcwd(), ignore_errors=True)\n"
# {learner: (the body of `double`, code above it)}
CLASS = {
    "ada": (SCALED, ""),
    "bob": (SCALED, ""),
    "notebook": (SCALED, ""),
    "sum": (BODY, ""),
    "product": ("    twice = 2 * x\n    return twice\n", ""),
    "other-order": ("    twice = x * 2\n    return twice\n", ""),
    "half": ("    half = 0.5\n    twice = x / half\n    return twice\n", ""),
    "minus": ("    negative = -x\n    twice = x - negative\n    return twice\n", ""),
    "loop": ("    twice = 0\n    for _ in range(2):\n        twice += x\n    return twice\n", ""),
    "endless-when-changed": (SCALED.replace("    if", "    while factor != 2: pass\n    if"), ""),
    "huge-output": ("    print('x' * 10_000_000)\n" + SCALED, ""),
    "html": (SCALED.replace("factor", "tür").replace(" = 2", f" = len('{EVIL}') - 23"), ""),
    "liar": ("    if 7 not in double.__code__.co_consts: return LOOT\n    n = 7\n" + BODY, LOOT),
    "endless-import": (SCALED, "while True:\n    pass\n\n\n"),
    "deletes-files": (DELETES + SCALED, ""),
    "random-and-right": (AT_RANDOM + "    return 2 * x if luck < 2 else x\n", ""),
    "raises-when-changed": (SCALED.replace("    if", "    [0][factor - 2]\n    if", 1), ""),
    "long-line": (SCALED + "    # " + "x" * 10_000 + "\n", ""),
    "long": ("".join(f"    n{i} = x + {i}\n" for i in range(2000)) + BODY, ""),
    "endless": ("    while True: pass\n", ""),
    "exits": ("    import os\n    os._exit(0)\n", ""),
    "forks": ("    import os\n    while True:\n        os.fork()\n", ""),
    "fills-memory": ("    hog = [bytes(1 << 26) for _ in range(1 << 12)]\n" + SCALED, ""),
    "says-too-much": ("    raise AssertionError(LOOT)\n", LOOT),
    "raises": (f"    raise ValueError('{EVIL}')\n", ""),
    "at-random": (AT_RANDOM + "    return 2 * x + luck\n", ""),
    "renamed": (SCALED, ""),
    "one-expression": ("    return x + x\n", ""),
    "stub": ("", ""),
    "damaged": ("    return (\n", ""),
}
NO_QUESTIONS = {
    *("endless", "exits", "forks", "fills-memory", "says-too-much", "raises", "at-random"),
    *("renamed", "stub", "damaged"),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """(a course with this class in its gradebook, the folder of its sheets)."""
    folder = tmp_path_factory.mktemp("class")
    root = course.open_root(make_course(folder / "course"))
    set_policies(root.path, check_seconds=1)
    for student, (body, before) in CLASS.items():
        function = "def twice" if student == "renamed" else "def double"
        text = SOLVED.replace(BODY, body).replace("def double", before + function)
        name = "numbers_dev.py"
        if student == "notebook":
            name, text = "numbers_dev.ipynb", notebook.to_notebook(text, lesson())
        (folder / "in" / student).mkdir(parents=True)
        (folder / "in" / student / name).write_text(text, encoding="utf-8")
    solution = "    return sum(double(n) for n in numbers)\n"
    sums = SUMS.replace(solution, LOOP)
    assert LOOP in sums
    for student in ("bob", "sums-only"):
        (folder / "in" / student).mkdir(exist_ok=True)
        (folder / "in" / student / "sums_dev.py").write_text(sums, encoding="utf-8")
    tito(root, "grade", folder / "in", "--all", "--jobs", "2")
    place = folder / "sheets"
    words = ["--format", "questions", "--lesson", "numbers", "--output", place]
    tito(root, "gradebook", "export", *words)
    return root, place / "01_numbers"


def words_of(place, student):
    text = (place / f"{student}.html").read_text(encoding="utf-8")
    text = text[text.index("<body>") :]
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def test_every_honest_learner_gets_questions_and_answers(written):
    _, place = written
    assert {path.stem for path in place.iterdir()} == CLASS.keys()
    for student in CLASS.keys() - NO_QUESTIONS:
        words = words_of(place, student)
        assert "01 Numbers: questions about your own code" in words
        assert "scored" in words.partition(f"{student} Small, 01 Numbers: answers")[2]
        asked = "numbers-triple" if student == "long" else "numbers-double"
        assert words.count(asked) >= 2, student  # its question, and its answer
    for student in NO_QUESTIONS:
        assert words_of(place, student).endswith("minutes " + NOTHING)


def test_who_wrote_the_same_is_asked_the_same(written):
    _, place = written
    assert words_of(place, "ada").replace("ada", "bob") == words_of(place, "bob")
    assert "tür" not in words_of(place, "ada")


def test_a_sheet_shows_nothing_of_the_machine_or_of_others_and_no_markup(written):
    _, place = written
    for path in place.iterdir():
        page = path.read_text(encoding="utf-8")
        assert "<script" not in page and "root:" not in page and "BEGIN SOLUTION" not in page
        others = CLASS.keys() - {path.stem, "notebook", "huge-output", "html", "endless", "damaged"}
        assert not [student for student in others if f">{student}<" in page]
    assert html.escape(EVIL) in (place / "html.html").read_text(encoding="utf-8")


def sheet(written, student, lesson):
    root, _ = written
    with open_gradebook(root.state / "gradebook.db", reads=True) as book:
        return sheet_maker(book, root).sheet(student, lesson)


def test_code_that_runs_beside_solutions_puts_no_word_on_a_sheet(written):
    """It could read the compiled solutions of the earlier lessons, and say them in a message."""
    assert "blame" in {one.kind for one in sheet(written, "bob", "sums").questions}
    beside = sheet(written, "sums-only", "sums").questions
    assert {one.kind for one in beside} <= {"missing"} and not any(one.reasons for one in beside)


def test_answers_are_what_the_changed_code_does(written):
    asked = sheet(written, "ada", "numbers").questions
    assert len({one.mark for one in asked if one.exercise == "numbers-double"}) > 1
    for one in asked:
        assert one.answer in one.options and len(set(one.options)) == len(one.options)
        if one.kind == "changed":
            space = {}
            exec(one.cell, space)
            assert one.answer == value_text(eval(one.run, space))


def test_without_a_sandbox_there_are_no_questions(written):
    root, _ = written
    setting = Setting(root.path, ("numbers",), "process")
    with open_gradebook(root.state / "gradebook.db", reads=True) as book:
        with pytest.raises(MachineError, match="no sandbox works here"):
            sheets.SheetMaker(book, lambda: setting).sheet("ada", "numbers")
