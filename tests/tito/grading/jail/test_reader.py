"""Learners' text is read within limits: what takes too long gets its verdict, once."""

import contextlib
import os
import sys
import time

import pytest
from processes import children
from small_course import NUMBERS, SUMS, make_course

from tito.grading.intake import collect
from tito.grading.intake.open_submission import open_submission
from tito.grading.jail import reader
from tito.grading.judge_process import SubmissionJudge
from tito.grading.setting import LIMITS, Setting
from tito.lesson import course, export

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="limits need a process to fork")


def nested(depth):
    """A function that Python's compiler needs much time and memory for: each level doubles both.
    Level 16 takes a third of a second and 70 MB, level 20 takes 1.5 GB.
    """
    levels = range(1, depth)
    return (
        "def slow():\n"
        + "".join(
            f"{'  ' * level}try:\n{'  ' * level}  pass\n{'  ' * level}finally:\n"
            for level in levels
        )
        + "  " * depth
        + "pass\n"
    )


CELL = "\n\n# %%\n#| export\n"
SLOW = NUMBERS + f"{CELL}{nested(16)}" * 200


@pytest.fixture
def root(tmp_path):
    return course.open_root(make_course(tmp_path / "course"))


def arrival(folder, **texts):
    for name, text in texts.items():
        path = folder / "ada" / f"{name}_dev.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (found,) = collect.find_submissions(folder, LESSONS)
    return found


LESSONS = []


@pytest.fixture(autouse=True)
def lessons(root):
    LESSONS[:] = root.lessons


def read(arrived, make, opening=open_submission):
    with reader.SubmissionReader(LESSONS, LIMITS, opening, make) as one:
        return one.read(arrived)


def grade(root, arrived, known=None):
    setting = Setting(root.path, ("numbers", "sums"), "process")
    with SubmissionJudge(setting) as one:
        return one.grade(arrived, known or {})


def test_what_is_made_of_each_lesson_comes_back_and_the_text_does_not(root, tmp_path):
    arrived = arrival(tmp_path / "in", numbers=NUMBERS, sums="")
    submission, made = read(arrived, lambda entry, file: len(file.source.cells))
    assert made == {"numbers": len(root.lesson("numbers").declared.source.cells)}
    file = submission.files["numbers"]
    assert (file.raw, file.text, file.source) == (b"", "", None) and len(file.sha256) == 64
    assert "empty" in submission.files["sums"].problem


@pytest.mark.slow
def test_a_text_that_takes_too_long_is_graded_as_that_and_the_others_as_ever(root, tmp_path):
    arrived = arrival(tmp_path / "in", numbers=SLOW, sums=SUMS)
    began = reader.used_by_children()
    numbers, sums = grade(root, arrived)
    assert reader.used_by_children() - began < 3 * reader.EACH
    assert (numbers.verdict, numbers.points) == ("too long to read", 0)
    assert sums.verdict == "passed" and sums.base == "reference"
    began = reader.used_by_children()
    assert grade(root, arrived, {"numbers": {numbers.key}})[0].key == numbers.key
    assert reader.used_by_children() - began < reader.EACH / 2  # it was not read again


@pytest.mark.slow
def test_many_lessons_may_take_more_together_than_one_may(root, tmp_path, monkeypatch):
    def busy(seconds):
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass

    monkeypatch.setattr(reader, "EACH", 1)
    arrived = arrival(tmp_path / "in", numbers=NUMBERS, sums=SUMS)
    submission, made = read(arrived, lambda entry, file: busy(0.8))
    assert made.keys() == {"numbers", "sums"}
    assert not any(file.slow for file in submission.files.values())
    monkeypatch.setattr(reader, "SECONDS", 2)
    submission, made = read(arrived, lambda entry, file: busy(9))
    assert submission.slow and "takes more than 2 s of" in submission.problem and made == {}
    assert "without its lessons" not in submission.problem


@pytest.mark.slow
def test_a_definition_that_takes_too_much_memory_is_left_out(root, tmp_path):
    text = f"{NUMBERS}{CELL}{nested(20)}"
    (numbers, _) = grade(root, arrival(tmp_path / "in", numbers=text, sums=SUMS))
    assert (numbers.verdict, numbers.points) == ("passed", 5)
    assert "is left out" in numbers.notes[0] and "too deeply nested" in numbers.notes[0]


@pytest.mark.slow
def test_a_text_that_takes_too_much_memory_is_graded_as_that(root, tmp_path, monkeypatch):
    def hungry(entry, file):
        return bytearray(reader.MEMORY << 20)

    submission, made = read(arrival(tmp_path / "in", numbers=NUMBERS), hungry)
    assert submission.files["numbers"].slow and made == {}


def test_a_process_that_ends_over_no_lesson_is_not_tried_again(root, tmp_path):
    arrived = arrival(tmp_path / "in", numbers=NUMBERS)
    submission, made = read(arrived, len, lambda *_: os._exit(9))
    assert submission.slow and "even without its lessons" in submission.problem and made == {}


def test_a_mistake_of_ours_in_the_process_is_shown(root, tmp_path, capfd):
    def broken(*_):
        raise IndexError("of tito, not of the learner")

    submission, _ = read(arrival(tmp_path / "in", numbers=NUMBERS), len, broken)
    assert submission.slow and "IndexError: of tito, not of the learner" in capfd.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
def test_nothing_is_left_of_the_process(root, tmp_path):
    files, below = set(os.listdir("/proc/self/fd")), children(os.getpid())
    arrived = arrival(tmp_path / "in", numbers=NUMBERS)
    read(arrived, lambda entry, file: None)
    assert children(os.getpid()) == below
    assert set(os.listdir("/proc/self/fd")) <= files


@pytest.mark.slow
def test_sixty_thousand_imports_are_exported_as_one(root):
    """By the square of the lines, this would take hours."""
    entry = root.lesson("numbers")
    text = NUMBERS.replace("import math\n", "import math\n" * 60_000)
    source = export.cells.parse(entry.script, text)
    module = export.build(source, entry.declared, "# x", "tinytorch")
    assert module.text.count("import math") == 1


def test_one_process_reads_many_and_one_that_ends_is_followed_by_a_new_one(root, tmp_path):
    arrived = arrival(tmp_path / "in", numbers=NUMBERS, sums=SUMS)
    tried = []

    def ends_after_two(entry, file):
        tried.append(entry.name)  # in the process: a new one begins with none
        return os._exit(9) if len(tried) > 4 else os.getpid()

    with reader.SubmissionReader(root.lessons, LIMITS, open_submission, ends_after_two) as one:
        first, second, third = (one.read(arrived)[1] for _ in range(3))
    assert len({*first.values(), *second.values()}) == 1 and os.getpid() not in first.values()
    # The process ended over the third. A new one, which has read nothing else, has the last word.
    assert third.keys() == first.keys() and third != first
    assert one.child is None


@pytest.mark.skipif(sys.platform != "linux", reason="open files are looked up in /proc")
def test_the_process_holds_no_file_of_the_caller_open(root, tmp_path):
    arrived = arrival(tmp_path / "in", numbers=NUMBERS)

    def files(entry, file):
        found = []
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(FileNotFoundError):  # of the listing itself
                found.append(os.readlink(f"/proc/self/fd/{name}"))
        return found

    with open(tmp_path / "a lock", "w", encoding="utf-8") as lock:
        assert lock.name in files(None, None)
        made = read(arrived, files)[1]
    assert made["numbers"] and lock.name not in made["numbers"]
