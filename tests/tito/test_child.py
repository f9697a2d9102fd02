"""tito/child.py: messages to and from a process, how long is waited for them, and its end."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tito.child import LINES, PICKLES, Child, ForkedChild, run

TITO = Path(__file__).resolve().parents[2] / "tito"
ECHO = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"got": json.loads(line)}), flush=True)
"""
# Starts another process, says which, and waits.
PARENT = """
import json, subprocess, sys, time
below = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(json.dumps(below.pid), flush=True)
time.sleep(60)
"""


def soon(seconds=20):
    return time.monotonic() + seconds


def is_alive(pid):
    """Whether a process runs: a zombie, which waits to be collected, does not."""
    until = soon()
    while time.monotonic() < until:
        done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
        if done.stdout.strip()[:1] in ("", "Z"):
            return False
        time.sleep(0.05)
    return True


def test_each_request_is_answered():
    with Child(["-c", ECHO], LINES) as child:
        for request in (1, "é\n", {"a": [None, 0.5]}):
            child.send(request)
            assert child.receive(soon()) == {"got": request}
        child.finish()
        for _ in range(2):
            with pytest.raises(EOFError):
                child.receive(soon())
        assert child.process.wait(20) == 0


def test_a_process_that_says_nothing_is_waited_for_until_then():
    with Child(["-c", "import time; time.sleep(60)"], LINES) as child:
        with pytest.raises(TimeoutError):
            child.receive(soon(0.1))


def test_it_ends_with_the_processes_that_it_started():
    with Child(["-c", PARENT], LINES) as child:
        below = child.receive(soon())
    assert child.process.returncode != 0
    assert not is_alive(below)


def test_a_message_that_breaks_off_is_the_end():
    with Child(["-c", "print('[1, ', end='')"], LINES) as child:
        with pytest.raises(EOFError):
            child.receive(soon())


def test_no_setting_of_python_and_one_thread(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    code = "import json, os; print(json.dumps(dict(os.environ)))"
    with Child(["-c", code], LINES, MORE="yes") as child:
        variables = child.receive(soon())
    assert "PYTHONPATH" not in variables
    assert (variables["OMP_NUM_THREADS"], variables["MKL_NUM_THREADS"]) == ("3", "1")
    assert variables["MORE"] == "yes"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_fork_calls_a_function_and_has_no_file_of_its_parent(tmp_path):
    with open(tmp_path / "file", "wb") as ours:

        def answer(requests, answers):
            word = PICKLES[1](requests)
            PICKLES[0]((word, os.readlink(f"/dev/fd/{ours.fileno()}")), answers)
            return 0

        with ForkedChild(answer, PICKLES) as child:
            child.send({1, 2})
            assert child.receive(soon()) == ({1, 2}, os.devnull)
            with pytest.raises(EOFError):
                child.receive(soon())


@pytest.mark.slow
def test_a_program_that_takes_too_long_ends_with_its_tree(tmp_path):
    note = tmp_path / "pid"
    with open(note, "w") as out, pytest.raises(subprocess.TimeoutExpired):
        run([sys.executable, "-c", PARENT], 5, stdout=out)
    assert not is_alive(int(note.read_text()))


def test_a_program_that_ends_gives_what_it_printed():
    code = "import sys; print('out'); sys.stderr.buffer.write(b'\\xff'); sys.exit(4)"
    done = run([sys.executable, "-c", code])
    assert (done.returncode, done.stdout, done.stderr) == (4, "out\n", "\ufffd")


def test_four_files_start_processes():
    """This one; the jail, which has another protocol; and two programs that fork themselves for
    each check."""
    starts = re.compile(r"subprocess\.Popen|os\.fork\(")
    paths = (path for path in TITO.rglob("*.py") if starts.search(path.read_text("utf-8")))
    assert sorted(path.relative_to(TITO).as_posix() for path in paths) == [
        "child.py",
        "grading/jail/jail.py",
        "grading/jail/jailed_server.py",
        "learn/check_process.py",
    ]
