"""`tito gradebook page` as it is typed: what keeps it from starting is said in a sentence."""

import contextlib
import resource
import signal
import socket
import subprocess
import sys
from urllib.request import urlopen

import pytest
from commands import tito
from some_results import remember_roster

from tito.grading.gradebook.gradebook import open_gradebook
from tito.grading.roster import learner_of

pytest.importorskip("uvicorn", reason="uvicorn is not here: it is in the extra `instructor`")
UPGRADE = (
    b"\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13"
    b"\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
UNREADABLE = (
    *("\u3164", "\u2800", "ben\u115f", "be\u034fn", "ben\ufe0f", "ben\u17b4", "\U000e0041"),
    *("b\u0435n", "a\nb", "\x1b[1m"),
)
REQUEST = b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize("name", ["ben", "Zoë Ångström", "Анна К.", "李雷", "o'neil-2", "नेहा"])
def test_a_name_in_any_one_script_is_served(small_course, monkeypatch, name):
    served = []
    monkeypatch.setattr("tito.grading.page.app.serve", lambda page, *more: served.append(page))
    with open_gradebook(small_course.state / "gradebook.db"):
        pass
    tito(small_course, "gradebook", "page", "--as", name)
    assert [one.who for one in served[0].sessions.all] == [name]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--as", " "], "--as ' ' is no grader."),
        (["--as", "ben:"], "--as 'ben:' is no grader."),
        (["--as", "ben", "--as", "ben\u200b"], "--as 'ben\\u200b' is no grader."),
        (["--as", "\u202eben:A"], "--as '\\u202eben:A' is no grader."),
        *[
            (["--as", "prof", "--as", f"{name}:A"], f"--as {name + ':A'!a} is no grader.")
            for name in UNREADABLE
        ],
        (["--as", 10_000 * "b"], f"--as {60 * 'b'!r} is no grader."),
        (["--as", "cop", "--as", "\u0441\u043e\u0440:A"], "looks like 'cop'."),
        (["--as", "ben", "--as", "b\u00e9n"], "looks like 'ben'."),
        (["--as", "tal", "--as", "ta1"], "--as 'ta1' looks like 'tal'."),
        (["--as", "barn", "--as", "bam"], "--as 'bam' looks like 'barn'."),
        (["--as", "ben", "--as", "ben:A"], "--as 'ben:A' names a grader again."),
        (["--as", "ben:A,Z"], "No learner is in section 'Z'."),
    ],
)
def test_what_cannot_be_served_is_reported(small_course, words, said):
    with open_gradebook(small_course.state / "gradebook.db") as book:
        remember_roster(book, [learner_of("ada", {"student": "ada", "section": "A"})])
    _, err = tito(small_course, "gradebook", "page", *words, code=2)
    assert said in err


def test_a_gradebook_that_is_not_there_is_reported(small_course):
    words = ("--gradebook", "../nowhere.db", "gradebook", "page")
    assert "There is no gradebook at " in tito(small_course, *words, code=2)[1]


def test_a_port_that_is_taken_is_reported(small_course):
    with open_gradebook(small_course.state / "gradebook.db"), socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        _, err = tito(small_course, "gradebook", "page", "--port", port, code=3)
    assert f"Port {port} of this machine cannot be used" in err and "--port" in err


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the number of open files is limited here")
@pytest.mark.parametrize(
    "request_",
    [
        b"",
        b"GET /x HTTP/1.1\r\n",
        REQUEST + b"G",
        REQUEST.replace(b"\r\n\r\n", UPGRADE),
        b"\x16\x03\x01 is no HTTP\r\n\r\n",
        pytest.param(REQUEST * 3000, id="unread answers"),
    ],
)
def test_idle_connections_do_not_keep_graders_out(small_course, request_):
    with open_gradebook(small_course.state / "gradebook.db"):
        pass
    command = [sys.executable, "-m", "tito", "--root", str(small_course.path), "gradebook", "page"]
    page = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)),
    )
    idle = []
    try:
        address = page.stdout.readline().split()[-1]
        port = int(address.split(":")[2].split("/")[0])
        for _ in range(300):
            idle.append(socket.create_connection(("127.0.0.1", port), timeout=10))
            idle[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            with contextlib.suppress(OSError):  # closed meanwhile
                idle[-1].sendall(request_)
        for _ in range(3):
            assert b"End session" in urlopen(address, timeout=10).read()
    finally:
        for connection in idle:
            connection.close()
        page.send_signal(signal.SIGTERM)
        _, err = page.communicate(timeout=20)
    assert err == ""
