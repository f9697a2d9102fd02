"""The page on large classes is true: its cluster of two workers grades into PostgreSQL."""

import contextlib
import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import postgres
import pytest
from small_course import make_course

from tito.grading.gradebook import run_lock
from tito.lesson import course

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "book" / "large_classes.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.S | re.M)
LEARNERS = 8
PROGRAMS = {
    "dask": [sys.executable, "-m", "dask"],
    "tito": [sys.executable, "-m", "tito"],
}


def test_the_time_until_a_run_is_taken_over_agrees_with_the_code():
    assert run_lock.LEASE.total_seconds() == 600 and "ten minutes" in PAGE


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the jail is Linux's")
def test_the_commands_grade_a_class_on_a_cluster_into_postgresql(tmp_path):
    pytest.importorskip("distributed", reason="Dask's distributed is not installed")
    if reason := postgres.missing():
        pytest.skip(reason)
    small_course = course.open_root(make_course(tmp_path / "course"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    text = small_course.lesson("numbers").script.read_text(encoding="utf-8")
    for number in range(LEARNERS):
        path = tmp_path / "class" / "submissions" / f"learner{number}" / "numbers_dev.py"
        path.parent.mkdir(parents=True)
        path.write_text(f"{text}\n# {number}\n", encoding="utf-8")
    with contextlib.ExitStack() as stack:
        replaced = {
            "postgresql+psycopg://grader@10.0.0.1/class": stack.enter_context(postgres.server())(),
            "10.0.0.1:8786": f"127.0.0.1:{port}",
            "10.0.0.1": "127.0.0.1",
            "8786": str(port),
            "/class/submissions": str(tmp_path / "class" / "submissions"),
            "tensor": "numbers",
        }
        lines = []
        for text in COMMANDS:
            for old, new in replaced.items():
                text = text.replace(old, new)
            program, *words = shlex.split(text)
            lines.append([*PROGRAMS[program], *words])
        scheduler, worker, grade = lines
        environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "1"}
        running = {"cwd": tmp_path, "env": environment, "text": True}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        for line in (scheduler, worker):
            process = stack.enter_context(subprocess.Popen(line, **running, **quiet))
            stack.callback(process.terminate)
        grade[3:3] = ["--root", str(small_course.path)]
        for graded in (LEARNERS, 0):
            done = subprocess.run(grade, **running, capture_output=True, timeout=300)
            assert done.returncode == 0, done.stderr
            assert done.stdout.startswith(f"{graded} of {LEARNERS} submissions graded in")
