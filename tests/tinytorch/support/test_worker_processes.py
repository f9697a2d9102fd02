"""Worker processes: what they compute, what they refuse, and that nothing is left of them."""

import functools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tinytorch.support.worker_processes import (
    WORKER,
    SharedMemory,
    Worker,
    array_at,
    importable_pickle,
)

ROOT = Path(__file__).resolve().parents[3]
MODULE = """
import os, time
import numpy as np

def make(start, buffer):
    print("a message of a worker")
    def call(x):
        if x == "fail":
            raise KeyError("no such x")
        if x == "die":
            os._exit(7)
        if x == "wait":
            time.sleep(60)
        if buffer is not None:
            np.frombuffer(buffer, "float64")[0] = start + x
        return start + x
    return call

def fail(buffer):
    raise OSError("no file")

def pids(buffer):
    return os.getpid
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "worker_functions.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    import worker_functions

    yield worker_functions
    del sys.modules["worker_functions"]


@pytest.fixture
def workers():
    started = []
    yield started
    for worker in started:
        worker.close()


def is_running(pid):
    """Whether a process exists and has not ended (Linux)."""
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    assert condition()


def test_a_worker_answers_calls_in_order_and_writes_into_shared_memory(module, workers):
    memory = SharedMemory(64)
    workers.append(Worker(module.make, 3, memory=memory))
    for x in (4, 5):
        workers[0].send(x)
    assert [workers[0].receive(), workers[0].receive()] == [7, 8]
    assert array_at(memory.buffer, 0, (1,), "float64").tolist() == [8]
    assert workers[0].seconds >= 0
    memory.close()


def test_workers_compute_at_the_same_time(module, workers):
    workers += [Worker(module.pids), Worker(module.pids)]
    for worker in workers:
        worker.send()
    assert len({os.getpid(), *[worker.receive() for worker in workers]}) == 3


def test_an_error_in_a_worker_is_told_and_it_goes_on(module, workers):
    workers.append(Worker(module.make, 3))
    workers[0].send("fail")
    with pytest.raises(RuntimeError, match="(?s)a worker process raised.*no such x"):
        workers[0].receive()
    workers[0].send(1)
    assert workers[0].receive() == 4
    with pytest.raises(RuntimeError, match="no file"):
        Worker(module.fail)


def test_a_worker_that_ends_is_told(module, workers):
    workers.append(Worker(module.make, 3))
    workers[0].send("die")
    with pytest.raises(RuntimeError, match="exit code 7"):
        workers[0].receive()
    with pytest.raises(RuntimeError, match="inside the `with` block"):
        workers[0].send(1)


def test_functions_that_a_new_process_cannot_import_are_refused(module):
    def local():
        pass

    for function in (lambda: 0, local):
        with pytest.raises(ValueError, match="(?s)cannot import.*models.py"):
            Worker(module.make, function)
    script = "def f(): pass\n" + (
        "from tinytorch.support.worker_processes import importable_pickle; importable_pickle(f)"
    )
    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert "f is defined in this notebook or script" in run.stderr
    assert "from models import f" in run.stderr
    importable_pickle(functools.partial(module.make, 3))


def test_a_worker_starts_no_workers(module, monkeypatch):
    monkeypatch.setenv(WORKER, "1")
    with pytest.raises(RuntimeError, match='if __name__ == "__main__"'):
        Worker(module.make, 3)


def test_closing_twice_is_allowed_and_a_busy_worker_ends(module, workers, monkeypatch):
    workers.append(Worker(module.make, 3))
    pid = workers[0].process.pid
    workers[0].send("wait")
    workers[0].close()
    workers[0].close()
    if sys.platform == "linux":
        assert not is_running(pid)


SCRIPT = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
sys.path[:0] = [{folder!r}, {root!r}]
from worker_functions import make
from tinytorch.support.worker_processes import SharedMemory, Worker
memory = SharedMemory(1 << 20)
workers = [Worker(make, 3, memory=memory) for _ in range(2)]
try:
    for worker in workers:
        worker.send("wait")
    print(*[worker.process.pid for worker in workers], flush=True)
    workers[0].receive()
finally:
    for worker in workers:
        worker.close()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("end", ["kill", "Ctrl-C", "terminate"])
def test_nothing_is_left_when_the_main_process_ends(tmp_path, end):
    (tmp_path / "worker_functions.py").write_text(MODULE)
    before = set(os.listdir("/dev/shm"))
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(folder=str(tmp_path), root=str(ROOT))],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    pids = [int(pid) for pid in process.stdout.readline().split()]
    assert len(pids) == 2 and all(map(is_running, pids))
    if end == "Ctrl-C":  # reaches all processes of the terminal
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGKILL if end == "kill" else signal.SIGTERM)
    _, errors = process.communicate(timeout=30)
    wait_until(lambda: not any(map(is_running, pids)))
    assert errors.count("KeyboardInterrupt") <= 1  # no traceback of a worker
    assert not {name for name in set(os.listdir("/dev/shm")) - before if "tinytorch" in name}
