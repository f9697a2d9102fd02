"""Attacks that need more than a submission in a class: on the time of the judge, on files while
they are read, on what a learner's pages say of hidden checks, and on the idioms of checks.
"""

import json
import os
import re
import shutil
import time
import zipfile
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from grading.jail.hostile import burning, protocol
from grading.jail.hostile import course as attacked
from grading.jail.hostile.submission import START, WRONG
from small_course import NUMBERS, make_course

from tito.author import forged_answers
from tito.cli.instructor.similar import read_works
from tito.grading.intake import archives, collect
from tito.grading.intake.open_submission import open_submission
from tito.grading.jail import check_namespace, jailed_check, proxy, reader, wire
from tito.grading.jail.check_namespace import TO_THE_END, close_in_shape, zip_to_the_end
from tito.grading.jail.jailed_check import CheckRunner
from tito.grading.judge_process import SubmissionJudge
from tito.grading.page import similarity
from tito.grading.result import LessonResult
from tito.grading.setting import LIMITS, Setting
from tito.lesson import course

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes to fork")
MOST = 10  # CPU seconds of the judge and of what reads for it, for one submission


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return course.open_root(attacked.make_course(tmp_path_factory.mktemp("attacked")))


@pytest.fixture
def grade(root, tmp_path):
    """grade(code): the LessonResult of a submission with this code behind WRONG; no judge may be
    busy with it for long.
    """
    count = iter(range(100))

    def grade(code, seconds=1, whole=None):
        inbox = tmp_path / str(next(count))
        (inbox / "ada").mkdir(parents=True)
        text = START + WRONG + code if whole is None else whole
        (inbox / "ada" / "vectors_dev.py").write_text(text, encoding="utf-8")
        (arrival,) = collect.find_submissions(inbox, root.lessons)
        with SubmissionJudge(
            Setting(root.path, ("vectors",), "process", seconds=seconds, memory=512)
        ) as one:
            began = time.process_time() + reader.used_by_children()
            (result,) = one.grade(arrival, {})
            used = time.process_time() + reader.used_by_children() - began
        assert used < MOST + (whole is not None), f"{used:.1f} s of the judge"
        return result

    return grade


# The time of the judge.


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "'d', *[part for n in range(1, 4000) for part in (['t', *[1.5] * 300, ['i', hex(n * M)]], "
        "0)]",
        "'d', *[part for n in range(8, 4000) for part in (n * M, 0)]",
        "'l', *[['t', ['i', hex(n * M)]] for n in range(1, 90000)]",
        "'l', *[['t', 1, [ 'c', float(-1000003 * n % M), float(n)]] for n in range(1, 90000)]",
    ],
)
def test_answers_that_collide_keep_no_judge_busy(grade, text):
    result = grade(f"""
M = 2**61 - 1
message = frame(["ok", [{text}], ["l"]])
def double(x):
    say(message)
    time.sleep(9)
""")
    assert result.points == 0 and result.seconds < 60


@pytest.mark.slow
@pytest.mark.parametrize(
    "one",
    [one for one in burning.BURNING + protocol.PROTOCOL if one.name.startswith("answers-with")],
    ids=lambda one: one.name,
)
def test_no_answer_keeps_a_judge_busy(grade, one):
    assert grade("", whole=one.text).points == 0


@pytest.mark.parametrize("kind", "ltd")
def test_values_of_one_hash_are_refused_and_equal_ones_are_not(kind):
    def read(numbers):
        parts = [["t", ["i", hex(n)]] for n in numbers]
        parts = [part for each in parts for part in (each, 0)] if kind == "d" else parts
        found = wire.Reader(json.dumps([kind, *parts]), b"", None)
        return found.value(found.body)

    assert len(read([7] * 1000)) in (1, 1000)
    assert len(read(range(1000))) == 1000
    with pytest.raises(wire.Malformed):
        read(n * (2**61 - 1) for n in range(1000))


def test_millions_of_numbers_are_not_stretched_to_be_compared():
    began = time.process_time()
    assert not close_in_shape(np.ones((1 << 24, 1), np.uint8), np.ones(64))
    assert close_in_shape(np.ones(1 << 21), 1) and close_in_shape(1, np.ones(1 << 21))
    assert close_in_shape(np.ones((3, 1)), np.ones(3))
    assert time.process_time() - began < 2


TEXTS = {
    "nested-lambdas": "x = " + "lambda: " * 3000 + "0\n",
    "nested-comprehensions": "x = " + "[" * 90 + "0" + " for _ in x]" * 90 + "\n",
    "a-million-brackets": "x = " + "(" * 500_000 + ")" * 500_000 + "\n",
    "a-number-of-a-million-digits": "x = " + "9" * 1_000_000 + "\n",
    "folded-powers": "\n".join(f"x{n} = 3 ** 80 * 7 ** 40 << 99" for n in range(20_000)) + "\n",
    "folded-tuples": "x = " + "((1,) * 250,) * 250" + "\n" + "y = (((1,) * 9) * 9) * 9\n" * 3000,
    "f-strings-in-f-strings": "x = " + "f'{" * 140 + "0" + "}'" * 140 + "\n",
    "fifty-thousand-decorators": "@x\n" * 50_000 + "def f(): pass\n",
    "elifs": "if x: pass\n" + "elif x: pass\n" * 20_000,
    "keywords": "f(" + ", ".join(f"a{n}=0" for n in range(60_000)) + ")\n",
    "matches": "match x:\n" + "".join(f" case [{n}, *_]: pass\n" for n in range(20_000)),
    "globals": "def f():\n" + "".join(f" global a{n}\n" for n in range(60_000)),
    "assigned-names": "\n".join(f"a{n} = 0" for n in range(90_000)) + "\n",
    "marks-of-cells": "# %% \n" * 120_000,
    "ids-of-exercises": '# %% exercise="double"\n#| export\n' * 30_000,
    "directives": "#| export\n" * 100_000,
    "solutions": "### BEGIN SOLUTION\n" * 80_000,
    "import-lines": "".join(f"import a{n}\n" for n in range(60_000)),
    "imports-on-one-line": "import a; " * 100_000 + "\n",
    "imports-from": "".join(f"from a import b{n}\n" for n in range(60_000)),
    "dots": "from " + "." * 500_000 + " import a\n",
    "continuations": "x = 0 \\\n" + "+ 0 \\\n" * 150_000 + "+ 0\n",
    "tabs-and-dedents": "".join(" " * n + "if 1:\n" for n in range(99)) + " " * 99 + "pass\n",
    "nuls": "\0" * 1_000_000,
    "form-feeds": "\f\n" * 400_000,
    "soft-hyphens": "x = '" + "\u00ad" * 300_000 + "'\n",
    "combining-marks": "a" + "\u0301" * 300_000 + " = 0\n",
    "finally-and-with": "def f():\n"
    + "".join(f"{' ' * n}try:\n{' ' * n}  pass\n{' ' * n}finally:\n" for n in range(1, 18))
    + " " * 18
    + "return\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_no_text_takes_long_to_read(grade, name):
    result = grade("", whole=f"{START}{WRONG}\n{TEXTS[name]}")
    assert result.points == 0 and result.checks and len(result.reason) < 5000
    assert len(json.dumps(result.as_json())) < 100_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "cells",
    [
        [{"cell_type": "code", "source": ["x\n"] * 200, "metadata": {}}] * 3000,
        [{"cell_type": "code", "source": "%magic\n" * 100_000, "metadata": {}}],
        [{"cell_type": "code", "source": [[["x"]]] * 1000, "metadata": {"a": [{}] * 100_000}}],
        [{"cell_type": "code", "source": "!" * 900_000, "metadata": {"tags": ["x"] * 90_000}}],
    ],
)
def test_no_notebook_takes_long_to_read(root, tmp_path, cells):
    path = tmp_path / "in" / "ada" / "vectors_dev.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"cells": cells, "nbformat": 4, "metadata": {}}))
    (arrival,) = collect.find_submissions(tmp_path / "in", root.lessons)
    began = reader.used_by_children() + time.process_time()
    with reader.SubmissionReader(root.lessons, LIMITS, open_submission, lambda *more: None) as one:
        submission, _ = one.read(arrival)
    assert reader.used_by_children() + time.process_time() - began < MOST + 1
    assert submission.files or submission.problem


@pytest.mark.slow
@pytest.mark.parametrize("piece", [" \n", "\\N{", "'''\n", "f'{", "\nmatch " + " " * 50, "%(a)"])
def test_no_cell_takes_long_to_compare(root, tmp_path, piece):
    path = tmp_path / "in" / "ada" / "vectors_dev.py"
    path.parent.mkdir(parents=True)
    path.write_text(f"{START}def own(): pass\n{piece * (similarity.LETTERS // len(piece))}pass\n")
    began = reader.used_by_children() + time.process_time()
    entry = root.lesson("vectors")
    ((submission, works),) = read_works(tmp_path / "in", [entry])
    texts = {"ada": works["vectors"], "bob": works["vectors"]} if works else {}
    similarity.compare(entry, texts)
    assert reader.used_by_children() + time.process_time() - began < 2 * MOST
    assert works or submission.files["vectors"].slow


def test_what_an_object_in_place_of_data_ends_no_except_exception_swallows(tmp_path):
    """A check that catches every Exception around what the learner's side decides fails."""
    folder = attacked.make_course(tmp_path / "course")
    path = folder / "modules" / "source" / "02_sums" / "checks.py"
    path.write_text(
        """# %% sum-of points=3
def test_it_is_eight():
    try:
        assert sum_of([]) == 8
    except AssertionError:
        raise
    except Exception:
        pass


def test_it_is_true():
    try:
        if not sum_of([]):
            return
    except Exception:
        pass


def test_it_is_near():
    try:
        assert abs(sum_of([]) - 8) < 1
    except Exception:
        pass
"""
    )
    root = course.open_root(folder)
    inbox = tmp_path / "in" / "ada"
    inbox.mkdir(parents=True)
    (inbox / "vectors_dev.py").write_text(attacked.VECTORS)
    (inbox / "sums_dev.py").write_text(
        attacked.SUMS.replace("sum(vector.total() for vector in vectors)", "Odd()")
        + "\n# %%\n#| export\nclass Odd:\n    def __eq__(self, other): return True\n"
        "    def __sub__(self, other): return 0.0\n"
    )
    (arrival,) = collect.find_submissions(tmp_path / "in", root.lessons)
    with SubmissionJudge(Setting(root.path, ("sums",), "process", earlier_lessons="own")) as one:
        (result,) = one.grade(arrival, {})
    assert [check.status for check in result.checks] == ["error"] * 3 and result.points == 0


# Neighbours.


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no processor can be chosen")
def test_a_check_that_waits_for_a_processor_loses_no_time(root, tmp_path):
    """Twenty processes of others and the check share one processor: as twenty threads of one would,
    where the kernel does not share by session.
    """
    import subprocess
    import sys

    inbox = tmp_path / "in" / "ada"
    inbox.mkdir(parents=True)
    busy = "total = 0\n    for n in range(500_000): total += n\n    return x + x"
    text = attacked.VECTORS.replace("return x + x", busy)
    (inbox / "vectors_dev.py").write_text(text)
    (arrival,) = collect.find_submissions(tmp_path / "in", root.lessons)
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    neighbours = []
    try:
        setting = Setting(root.path, ("vectors",), "process", seconds=0.5, earlier_lessons="own")
        with SubmissionJudge(setting) as one:
            one.judge.runner.fork().end()  # the jail is there
            for _ in range(20):
                command = [sys.executable, "-c", "while True: pass"]
                neighbours.append(subprocess.Popen(command, start_new_session=True))
            began = time.monotonic()
            (result,) = one.grade(arrival, {})
            took = time.monotonic() - began
    finally:
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.wait()
        os.sched_setaffinity(0, before)
    assert [check.status for check in result.checks] == ["passed"] * 12
    assert took > 4 * sum(check.seconds for check in result.checks)


@pytest.mark.slow
def test_no_submission_takes_more_than_its_whole_time(root, tmp_path, monkeypatch):
    from tito.grading import setting

    monkeypatch.setattr(setting, "LEAST_SUBMISSION_SECONDS", 2)
    monkeypatch.setattr(setting, "SUBMISSION_LIMIT", 0)
    inbox = tmp_path / "in" / "ada"
    inbox.mkdir(parents=True)
    (inbox / "vectors_dev.py").write_text(f"{START}{WRONG}def double(x):\n    time.sleep(1.2)\n")
    (arrival,) = collect.find_submissions(tmp_path / "in", root.lessons)
    with SubmissionJudge(Setting(root.path, ("vectors",), "process", seconds=5)) as one:
        one.judge.runner.fork().end()  # the jail is there
        (result,) = one.grade(arrival, {})
    visible = [check for check in result.checks if not check.hidden]
    tried = [check.status != "not run" for check in visible]
    assert tried[0] and tried == sorted(tried, reverse=True) and sum(tried) <= 2
    assert visible[-1].message == "not run: the checks of this submission have taken 2 s"
    assert {check.status for check in result.checks if check.hidden} == {"failed"}


LONG_ANSWERS = {
    "lists": "[1.5] * 1_000_000",
    "texts": "'x' * 8_000_000",
    "arrays": "np.ones((1 << 22) - 100)",
    "nans": "np.full(1 << 21, np.nan + 1j)",
    "dictionaries": "[dict.fromkeys(range(4000), 0)] * 100",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG_ANSWERS)
def test_long_answers_to_many_checks_keep_no_judge_busy(tmp_path, name):
    """Each is legal; a lesson of sixty checks asks sixty times."""
    folder = attacked.make_course(tmp_path / "course")
    path = folder / "modules" / "source" / "01_vectors" / "checks.py"
    more = "".join(
        f"""
def test_number_{n}():
    x = np.array([1.5, 3.0])
    got = double(x)
    assert np.allclose(got, 2 * x), f"yours is {{got}}"
"""
        for n in range(48)
    )
    text = path.read_text().replace("# %% double points=5", "# %% double points=53")
    path.write_text(text.replace("# %% double hidden", more + "\n\n# %% double hidden"))
    root = course.open_root(folder)
    inbox = tmp_path / "in" / "ada"
    inbox.mkdir(parents=True)
    code = f"def double(x): return {LONG_ANSWERS[name]}\n"
    (inbox / "vectors_dev.py").write_text(START + WRONG + code)
    (arrival,) = collect.find_submissions(tmp_path / "in", root.lessons)
    with SubmissionJudge(Setting(root.path, ("vectors",), "process")) as one:
        began = time.process_time()
        (result,) = one.grade(arrival, {})
        used = time.process_time() - began
    assert result.points == 0 and used < MOST, f"{used:.1f} s of the judge"
    assert len(json.dumps(result.as_json())) < 400_000


@pytest.mark.skipif(not os.path.exists("/proc/self/oom_score_adj"), reason="Linux only")
def test_when_memory_runs_out_the_jails_go_first(fork):
    told = fork.fork()
    assert proxy.Session(told.sock, time.monotonic() + 30).do("readable", "/")
    for pid in (fork.process.pid, told.pid):
        with open(f"/proc/{pid}/oom_score_adj") as file:
            assert file.read() == "1000\n"
    assert os.getpriority(os.PRIO_PROCESS, told.pid) == 19
    told.end()


@pytest.mark.slow
def test_a_fork_that_the_kernel_kills_is_tried_once_more(root, tmp_path, monkeypatch):
    import signal

    inbox = tmp_path / "in" / "ada"
    inbox.mkdir(parents=True)
    (inbox / "vectors_dev.py").write_text(attacked.VECTORS)
    (arrival,) = collect.find_submissions(tmp_path / "in", root.lessons)
    call_check, killed = jailed_check.call_check, []
    with SubmissionJudge(Setting(root.path, ("vectors",), "process")) as one:

        def killed_once(check, space, *more):
            if killed.count(check.name) < 1 + (check.name == "double of two is four"):
                killed.append(check.name)
                os.kill(one.judge.runner.forked.pid, signal.SIGKILL)
            call_check(check, space, *more)

        fork = CheckRunner.fork

        def noted(self, hidden):
            self.forked = fork(self, hidden)
            return self.forked

        monkeypatch.setattr(CheckRunner, "fork", noted)
        monkeypatch.setattr(jailed_check, "call_check", killed_once)
        (result,) = one.grade(arrival, {})
    assert [check.status for check in result.checks] == ["crashed"] + ["passed"] * 11


# What a learner reads of hidden checks: the same, whatever the hidden one's input is.

LEAKS = {  # {name: (what a visible check does, what the hidden one does for one bit)}
    "all-crash": ("os._exit(3)", "os._exit(3)"),
    "all-crash-and-exit-otherwise": ("os._exit(3)", "os._exit(4)"),
    "all-wait": ("time.sleep(60)", "time.sleep(60)"),
    "all-take-memory": ("raise MemoryError", "raise MemoryError"),
    "only-the-hidden-one-tampers": ("raise ValueError", "say(frame(['no'])); time.sleep(9)"),
    "only-the-hidden-one-crashes": ("raise ValueError", "os._exit(1)"),
    "only-the-hidden-one-waits": ("raise ValueError", "time.sleep(60)"),
    "the-hidden-one-is-unwritten": (
        "raise ValueError",
        "raise NotImplementedError('yours to write: tito hint double')",
    ),
    "a-message-like-that-of-tampering": (
        "say(frame(['raise', 'the code under test does not answer as it should', ['l'], 'its "
        "answer is malformed: no kind of answer', ['l'], None])); time.sleep(9)",
        "say(frame(['no', 1, 2])); time.sleep(9)",
    ),
    "a-message-like-a-count": (
        "say(frame(['raise', '11 of 12 checks fail, 1 waits for exercises that are not written.', "
        "['l'], '', ['l'], None])); time.sleep(9)",
        "raise NotImplementedError('yours to write: tito hint double')",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LEAKS)
def test_a_learner_cannot_read_what_a_hidden_check_asked(grade, name):
    visible, hidden = LEAKS[name]
    seen = []
    for told in (hidden, "raise ValueError('no')"):
        result = grade(f"""
def double(x):
    if type(x) is int and x > 1000:
        {told}
    {visible}
class Vector:
    def __init__(self, data): {visible}
def twice(function, x): {visible}
""")
        shown = result.for_learner()
        for check in shown.checks:
            check.seconds = 0.0
        seen.append(replace(shown, sha256="", key=""))
    assert seen[0] == seen[1]


@pytest.mark.slow
def test_time_that_a_hidden_check_takes_does_not_show_in_visible_ones(grade):
    messages = []
    for told in ("time.sleep(60)", "raise ValueError"):
        result = grade(
            f"""
def double(x):
    if type(x) is int and x > 1000:
        {told}
    raise ValueError
def twice(function, x): time.sleep(60)
""",
            seconds=4,
        )
        messages.append([c.message for c in result.checks if not c.hidden])
    assert messages[0] == messages[1]


# Of an attempt with the course's earlier lessons, only whether each check passes is reported.

# Two ways, of which `solution`, a piece of a solution in lesson 01, could choose one.
SAYS = {
    "an error's text": ("raise ValueError(solution)", "raise ValueError('no')"),
    "a value": ("return solution", "return 'no'"),
    "an exit code": ("os._exit(3)", "os._exit(4)"),
    "a status": ("os._exit(3)", "raise ValueError"),
    "an unwritten exercise": (
        "raise NotImplementedError('yours to write: tito hint sum-of')",
        "raise ValueError",
    ),
    "a time limit": ("time.sleep(60)", "raise ValueError"),
    "a time": ("time.sleep(0.4); raise ValueError", "raise ValueError"),
    "memory": ("raise MemoryError", "raise ValueError"),
    "tampering": ("os.write(3, b'no' * 9)", "raise ValueError"),
}
ELSEWHERE = {
    "while it is imported": ("raise ValueError(solution)", "raise OSError('no')"),
    "an exit while it is imported": ("os._exit(3)", "raise ValueError"),
}


@pytest.fixture(scope="module")
def on_reference(root, tmp_path_factory):
    """on_reference(code): what tito keeps of a lesson 02 with this code, beside the course's own
    lesson 01. Without what names the submission. `handed_in`: a lesson 01 that cannot be imported.
    """

    def grade(code, earlier_lessons="both", handed_in=True):
        inbox = tmp_path_factory.mktemp("in")
        (inbox / "ada").mkdir()
        if handed_in:
            (inbox / "ada" / "vectors_dev.py").write_text(f"{START}raise OSError", "utf-8")
        text = START.replace("core.vectors", "core.sums") + code
        (inbox / "ada" / "sums_dev.py").write_text(text, encoding="utf-8")
        (submission,) = collect.find_submissions(inbox, root.lessons)
        setting = Setting(root.path, ("sums",), "process", earlier_lessons, seconds=1, memory=512)
        with SubmissionJudge(setting) as one:
            (result,) = one.grade(submission, {})
        for check in result.checks:
            if check.base == "own":  # where no solution was beside it
                check.seconds = 0.0
        return replace(result, sha256="", key="", seconds=0.0)

    return grade


SPY = """
import os, time
try:
    import tinytorch.core.vectors as earlier
    solution = earlier.Vector.total.__code__.co_code.hex()
except ImportError:
    solution = ""
"""
FUNCTION = (
    SPY
    + """
def sum_of(vectors):
    if not solution:
        raise ValueError
    {}
"""
)
AT_IMPORT = (
    SPY
    + """
if solution:
    {}
def sum_of(vectors):
    return 0
"""
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("earlier_lessons", "handed_in"), [("both", True), ("both", False), ("reference", True)]
)
@pytest.mark.parametrize("name", [*SAYS, *ELSEWHERE])
def test_an_attempt_beside_a_solution_reveals_nothing_of_it(
    on_reference, name, earlier_lessons, handed_in
):
    form, says = (FUNCTION, SAYS[name]) if name in SAYS else (AT_IMPORT, ELSEWHERE[name])
    one, other = (on_reference(form.format(what), earlier_lessons, handed_in) for what in says)
    assert one == other and one.points == 0
    if earlier_lessons == "reference" or not handed_in:
        (check,) = one.checks
        assert check.message == "does not pass; tito test sums-sum-of shows why"


def test_whether_a_check_passes_beside_the_solution_is_reported(on_reference):
    got = on_reference("def sum_of(vectors): return sum(vector.total() for vector in vectors)\n")
    (check,) = got.checks
    assert (check.status, check.base, check.caused_by) == ("passed", "reference", "vectors")


def some(statuses, verdict, reason, hidden=(2,)):
    checks = [
        {
            "id": f"{n}",
            "exercise": "double",
            "name": f"{n}",
            "points": 0,
            "max_points": 1,
            "status": status,
            "message": f"why {status}",
            "hidden": n in hidden,
        }
        for n, status in enumerate(statuses)
    ]
    return LessonResult.from_json(
        {
            "student": "ada",
            "lesson": "vectors",
            "number": 1,
            "title": "Vectors",
            "max_points": 3,
            "verdict": verdict,
            "reason": reason,
            "checks": checks,
        }
    )


@pytest.mark.parametrize(
    "visible", ["failed", "error", "unwritten", "timeout", "memory", "crashed", "tampered"]
)
def test_whatever_became_of_a_hidden_check_its_learner_reads_the_same(visible):
    from tito.lesson import outcome

    read = set()
    for status in ("failed", "error", "unwritten", "timeout", "memory", "crashed", "tampered"):
        statuses = [visible, visible, status]
        verdict = outcome.verdict_of(some(statuses, "", "").checks)
        word = {"timed out": "timeout", "out of memory": "memory"}.get(verdict, verdict)
        why = outcome.count_of(statuses) if verdict == "failed" else f"why {word}"
        read.add(json.dumps(some(statuses, verdict, why).for_learner().as_json()))
    assert len(read) == 1


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("bwrap"), reason="needs bubblewrap")
def test_threads_of_a_hidden_check_move_no_process_number_of_a_visible_one(root, tmp_path):
    code = """
def double(x):
    if type(x) is int and x > 1000:
        for _ in range(COUNT):
            one = threading.Thread(target=len, args=("",))
            one.start()
            one.join()
    raise ValueError(os.getpid())
"""
    numbers = []
    for count in ("0", "309"):
        for student in ("ada", "bob"):
            path = tmp_path / count / student / "vectors_dev.py"
            path.parent.mkdir(parents=True)
            path.write_text(START + WRONG + code.replace("COUNT", count))
        classes = collect.find_submissions(tmp_path / count, root.lessons)
        with SubmissionJudge(Setting(root.path, ("vectors",), "bubblewrap")) as judge:
            _, (bob,) = [judge.grade(submission, {}) for submission in classes]
        words = [check.message for check in bob.checks if not check.hidden]
        numbers.append(re.findall(r"ValueError: (\d+)", " ".join(words)))
    assert numbers[0] == numbers[1] != []


@pytest.mark.slow
def test_no_visible_check_runs_after_a_hidden_one(tmp_path, monkeypatch):
    """What a fork read stays in the page cache, where a later one finds it."""
    folder = attacked.make_course(tmp_path / "course")
    path = folder / "modules" / "source" / "02_sums" / "checks.py"
    path.write_text(
        path.read_text() + "\n\n# %% sum-of hidden points=1\ndef test_no_vectors():\n"
        "    assert sum_of([]) == 0\n"
    )
    root = course.open_root(folder)
    for name, text in {
        "vectors": START + WRONG,
        "sums": attacked.SUMS.replace("sum(vector.total() for vector in vectors)", "1"),
    }.items():
        inbox = tmp_path / "in" / "ada" / f"{name}_dev.py"
        inbox.parent.mkdir(parents=True, exist_ok=True)
        inbox.write_text(text)
    (arrival,) = collect.find_submissions(tmp_path / "in", root.lessons)
    seen, real = [], CheckRunner.run_once

    def noted(self, subject, check, *more):
        seen.append(check.hidden)
        return real(self, subject, check, *more)

    monkeypatch.setattr(CheckRunner, "run_once", noted)
    with SubmissionJudge(Setting(root.path, ("sums",), "process", seconds=5)) as one:
        one.grade(arrival, {})
    assert seen == sorted(seen) and len(seen) >= 3


# Files that become others while they are read.


@pytest.fixture
def lessons(tmp_path):
    return course.open_root(make_course(tmp_path / "small")).lessons


def shared(tmp_path, text=NUMBERS):
    inbox = tmp_path / "inbox"
    for name, body in {"ada": "# nothing\n" + NUMBERS, "bob": "# bob's own work\n" + text}.items():
        path = inbox / name / "course" / "numbers_dev.py"
        path.parent.mkdir(parents=True)
        path.write_text(body)
    return inbox


def opened(inbox, lessons, who="ada"):
    for arrival in collect.find_submissions(inbox, lessons):
        if arrival.student == who:
            return arrival, lambda found=arrival: open_submission(found, lessons)
    raise AssertionError(f"{who} went missing")


def to_link(path, target, away):
    path.rename(away)
    path.symlink_to(target)


SWAPS = {  # {name: what becomes a link to bob's: below `inbox`}
    "the-file": ("ada/course/numbers_dev.py", "bob/course/numbers_dev.py"),
    "the-folder-of-the-file": ("ada/course", "bob/course"),
    "the-folder-of-the-learner": ("ada", "bob"),
    "to-a-relative-link": ("ada/course", "../bob/course"),
    "to-the-folder-of-processes": ("ada/course", "/proc/self/cwd"),
}


@pytest.mark.parametrize("when", ["found", "listed"])
@pytest.mark.parametrize("name", SWAPS)
def test_what_becomes_a_link_to_a_neighbours_is_not_followed(
    tmp_path, lessons, monkeypatch, name, when
):
    inbox = shared(tmp_path)
    path, target = SWAPS[name]
    target = target if target[0] in "./" else inbox / target
    arrival, read = opened(inbox, lessons)
    if when == "found":
        to_link(inbox / path, target, tmp_path / "away")
    else:
        real, done = archives.list_folder, []

        def listed(*more):
            found = real(*more)
            if not done:
                done.append(to_link(inbox / path, target, tmp_path / "away"))
            return found

        monkeypatch.setattr("tito.grading.intake.inbox.list_folder", listed)
    submission = read()
    file = submission.files.get("numbers")
    assert submission.student == "ada"
    assert not (file and "bob's own" in file.text), "a neighbour's work was read"
    assert (file and file.problem) or submission.problem or submission.notes


@pytest.mark.parametrize("name", ["pipe", "device", "folder", "nothing", "huge"])
def test_a_file_that_becomes_something_else_does_not_block(tmp_path, lessons, monkeypatch, name):
    inbox = shared(tmp_path)
    path = inbox / "ada" / "course" / "numbers_dev.py"
    _, read = opened(inbox, lessons)
    real = archives.list_folder

    def listed(*more):
        found = real(*more)
        path.unlink()
        if name == "pipe":
            os.mkfifo(path)
        elif name == "device":
            path.symlink_to("/dev/zero")
        elif name == "folder":
            path.mkdir()
        elif name == "huge":
            with path.open("wb") as file:
                file.truncate(1 << 40)
        return found

    monkeypatch.setattr("tito.grading.intake.inbox.list_folder", listed)
    began = time.monotonic()
    submission = read()
    assert time.monotonic() - began < 5
    assert submission.problem or submission.files["numbers"].problem


def test_a_zip_that_changes_while_it_is_read_gives_one_hash_of_one_text(
    tmp_path, lessons, monkeypatch
):
    inbox = tmp_path / "inbox"
    inbox.mkdir()

    def pack(text):
        with zipfile.ZipFile(inbox / "new", "w") as packed:
            packed.writestr("numbers_dev.py", text)
        (inbox / "new").replace(inbox / "ada.zip")

    pack("# first\n" + NUMBERS)
    _, read = opened(inbox, lessons)
    real = archives.list_zip

    def listed(*more):
        found = real(*more)
        pack("# second\n" + NUMBERS)
        return found

    monkeypatch.setattr("tito.grading.intake.inbox.list_zip", listed)
    file = read().files["numbers"]
    assert file.text.startswith("# first") and "second" not in file.raw.decode()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", ["folder", "zip", "file"])
def test_files_in_the_shared_folder_hide_no_submission(tmp_path, lessons, kind, packed):
    """Who can write into the shared folder puts there what makes a workspace."""
    inbox = tmp_path / "inbox"
    for name in ("ada", "bob"):
        path = inbox / {"folder": f"{name}/numbers_dev.py", "file": f"{name}.py"}.get(kind, "-")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(NUMBERS)
        if kind == "zip":
            with zipfile.ZipFile(inbox / f"{name}.zip", "w") as one:
                one.writestr("numbers_dev.py", NUMBERS)
    (inbox / "-").unlink(missing_ok=True)
    for name in ("tito.toml", "modules/source/x.py", "tinytorch/core.py", "bin/tito"):
        path = inbox / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    if packed:
        with zipfile.ZipFile(tmp_path / "class.zip", "w") as whole:
            for path in inbox.rglob("*"):
                if path.is_file():
                    whole.write(path, path.relative_to(inbox))
        inbox = tmp_path / "class.zip"
    found = {arrival.student for arrival in collect.find_submissions(inbox, lessons)}
    assert {"ada", "bob"} <= found


# Idioms of authors of checks, and an object that answers as they expect.

LIAR = """
import numpy as np

class Liar:
    __array_ufunc__ = None
    def __init__(self, *given): pass
    def __eq__(self, other): return Liar()
    __ne__ = __lt__ = __gt__ = __le__ = __ge__ = __sub__ = __rsub__ = __mul__ = __eq__
    __truediv__ = __rtruediv__ = __add__ = __radd__ = __eq__
    __hash__ = object.__hash__
    def __abs__(self): return Liar()
    __neg__ = __round__ = __abs__
    def __bool__(self): return True
    def __contains__(self, x): return True
    def __len__(self): return 3
    def __iter__(self): return iter(())
    def __getitem__(self, index): return Liar()
    def __float__(self): return 0.0
    def __int__(self): return 3
    __index__ = __int__
    def __array__(self, dtype=None, copy=None): return np.zeros(3)
    def __format__(self, spec): return "[1. 2. 4.]"
    __str__ = __repr__ = lambda self: "[1. 2. 4.]"
    def all(self, *a, **k): return True
    def any(self, *a, **k): return False
    def max(self, *a, **k): return 0.0
    min = sum = mean = item = std = norm = max
    shape, size, ndim, data = (3,), 3, 1, np.zeros(3)
"""
ARRAYS = """
(got == want).all()
bool((got == want).all())
np.all(got == want)
np.array_equal(got, want)
np.allclose(got, want)
all(got == want)
not (got != want).any()
not any(got != want)
not np.any(got != want)
1.0 in got
want.tolist() == list(got)
sorted(got) == [1, 2, 4]
sum(got) == 7
np.sum(got) == 7
max(got, default=0) == 4
isinstance(got, np.ndarray)
{**dict(enumerate(got))} == {0: 1, 1: 2, 2: 4}
set(got) == {1, 2, 4}
np.testing.assert_allclose(got, want) is None
np.testing.assert_array_equal(got, want) is None
got[0] == 1
got.tolist() == [1, 2, 4]
np.linalg.norm(got - want) < 1e-9
np.max(abs(got - want)) < 1e-9
abs(got - want).max() < 1e-9
np.abs(got - want).max() < 1e-9
np.abs(np.asarray(got - want)).max() < 1e-9
np.allclose(got - want, 0)
(got - want).sum() == 0
((got - want) ** 2).mean() < 1e-9
abs(sum(got - want)) < 1e-9
(got - want)[0] == 0
float(abs(got - want).max()) < 1e-9
float(np.max(abs(want - got))) < 1e-9
[float(x) for x in got - want] == [0, 0, 0]
all(g == w for g, w in zip(got, want))
all(abs(g - w) < 1e-9 for g, w in zip(got, want))
not [g for g, w in zip(got, want) if g != w]
not [w for w, g in zip(want, got) if abs(w - g) > 1e-9]
np.all(np.asarray(got / want - got / want) == 0)
np.count_nonzero(got - want) == 0
np.abs(got / want - 1).max() < 1e-9
np.mean((got - want) ** 2) < 1e-9
np.dot(got - want, got - want) == 0
(got - want) @ (got - want) == 0
np.array_equal(got - want, [0, 0, 0])
(got - want).tolist() == [0, 0, 0]
math.hypot(*(got - want)) < 1e-9
not (got - want).any()
(got - want).max() <= 0 <= (got - want).min()
(got >= want).all() and (got <= want).all()
got.tobytes() == want.tobytes()
all(map(math.isclose, got, want))
not any(map(lambda g, w: abs(g - w) > 1e-9, got, want))
np.subtract(got, want).max() == 0
(want - got).sum() == 0
((got == want) * 1).sum() == 3
(~(got == want)).sum() == 0
np.asarray(got == want).all()
np.where(got == want, 0, 1).sum() == 0
(got - want).max(initial=0) == 0
got.ndim == 1 and abs(got - want).max() == 0
len(got) == 3 and all(got[i] == want[i] for i in range(3))
next(iter(got)) == 1
"""
# What a check says of plain data that tests too little, or asks by name for a learner's word.
LEFT_TO_THE_GATE = """
np.isclose(got, want).all()
(np.asarray(got) == want).all()
not np.any(np.asarray(got) - want)
(got == want).data.all()
abs((got - want).data).max() < 1e-9
all(g == w for g, w in zip(got, want, strict=False))
all(g == want[i] for i, g in enumerate(got))
"""
NUMBERS = """
float(got) == 7
abs(float(got) - 7) < 1e-9
math.isclose(got, 7)
math.floor(got - 7) == 0
abs(got - 7) < 1e-9
float(abs(got - 7)) < 1e-9
int(got - 7) == 0
got == 7
not got != 7
got > 6 and got < 8
7 == got
got in [7]
isinstance(got, float)
round(got, 3) == 7
round(got - 7) == 0
bool(got == 7)
int(got) == 7
dict(x=got) == dict(x=7)
(got,) == (7,)
[got] == [7]
f"{got:.1f}" == "7.0"
min(got, 7) == max(got, 7)
"""


def lines(text):
    return text.strip().split("\n")


@pytest.fixture(scope="module")
def fork():
    from tito.grading.jail.jail import Jail

    with Jail("process") as jail:
        yield jail


def answers(jail, code, *idioms):
    """What each idiom says in the judge of an object that `code` makes by Object(), one after the
    other: True (and what is to compare with did not change), False, or what was raised.
    """
    import marshal
    import math

    fork = jail.fork()
    session = proxy.Session(fork.sock, time.monotonic() + 30)
    code = marshal.dumps(compile(code, "course.lesson", "exec"))
    there = session.do(
        "load",
        {"course": None, "course.lesson": code},
        "course.lesson",
        ["Object"],
        ["Object"],
        check_namespace.START,
        [],
    )
    told = []
    with mock.patch.object(np, "allclose", close_in_shape):
        for idiom in idioms:
            space = {"np": np, "math": math} | TO_THE_END
            space |= {"want": np.array([1.0, 2.0, 4.0])}
            session.changed = False
            try:
                said = bool(eval(idiom, space | {"got": there["Object"]()}))
                told.append(said and not session.changed)
            except (Exception, proxy.Stop) as error:
                told.append(error)
    fork.end()
    return told


LIARS = {"the liar of this file": f"{LIAR}\nObject = Liar"} | {
    name: f"{forged_answers.anything(name)}\nObject = Anything" for name in forged_answers.ANSWERS
}
ECHO = forged_answers.OTHER_VALUES.replace("NAMES", "[]").replace("FORM", "_forged")


OBJECTS = LIARS | {
    f"in operations what it is compared with, else {wrong}": (
        f"{ECHO}\nObject = lambda: _Echo({wrong}, True)"
    )
    for wrong in ("np.array([2.0, 3.0, 5.0])", "[2.0, 3.0, 5.0]", "8.0")
}
VALUES = {"np.array([1.0, 2.0, 4.0])": lines(ARRAYS), "7.0": lines(NUMBERS)}


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_that_lies_does_not_pass(fork, name):
    idioms = lines(ARRAYS) + lines(NUMBERS)
    told = answers(fork, OBJECTS[name], *idioms)
    assert [idiom for idiom, one in zip(idioms, told) if one is True] == []


@pytest.mark.parametrize("value", VALUES)
def test_right_plain_data_passes_by_every_idiom(fork, value):
    told = answers(fork, f"import numpy as np\nObject = lambda: {value}", *VALUES[value])
    assert [pair for pair in zip(VALUES[value], told) if pair[1] is not True] == []


@pytest.mark.parametrize("value", VALUES)
def test_of_a_right_object_an_idiom_is_true_or_refused(fork, value):
    """Never false; and `tito check` reports such a check to its author."""
    idioms = [idiom for idiom in VALUES[value] if "isinstance" not in idiom]
    told = answers(fork, f"{ECHO}\nObject = lambda: _Echo({value}, False)", *idioms)
    refused = (proxy.Undecided, TypeError)
    assert [
        (idiom, one)
        for idiom, one in zip(idioms, told)
        if one is not True and not isinstance(one, refused)
    ] == []


def test_what_is_left_to_the_check_a_liar_of_the_gate_passes(fork):
    """So `tito check` refuses a check that nothing else holds up."""
    idioms = lines(LEFT_TO_THE_GATE)
    told = [answers(fork, code, *idioms) for code in OBJECTS.values()]
    assert [idiom for idiom, each in zip(idioms, zip(*told)) if True not in each] == []


def test_a_check_that_catches_exceptions_goes_on_after_no_refusal(fork):
    source = "try:\n    assert (got - want).max() == 0\nexcept Exception:\n    pass"
    idiom = f"exec({source!r}, dict(got=got, want=want)) is None"
    (told,) = answers(fork, LIARS["the liar of this file"], idiom)
    assert isinstance(told, proxy.Undecided)


def test_what_is_compared_one_by_one_is_compared_to_its_end():
    assert [*zip_to_the_end([1, 2], "ab")] == [(1, "a"), (2, "b")] and [*zip_to_the_end()] == []
    assert [*zip_to_the_end([1, 2], "abc", strict=False)] == [(1, "a"), (2, "b")]
    assert [*TO_THE_END["map"](max, [1, 5], [2, 3])] == [2, 5]
    assert [*TO_THE_END["map"](str, [1, 5])] == ["1", "5"]
    with pytest.raises(AssertionError, match="different lengths"):
        list(TO_THE_END["map"](max, [1, 5], [2]))
    for left, right in (([], [1]), ([1], []), ([1], [1, 2])):
        with pytest.raises(AssertionError, match="different lengths"):
            list(zip_to_the_end(left, right))
