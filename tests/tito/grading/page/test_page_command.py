"""`tito gradebook page` as it is typed: what keeps it from starting is said in a sentence."""

import socket

import pytest
from commands import tito

from tito.grading.gradebook.gradebook import open_gradebook

pytest.importorskip("uvicorn", reason="uvicorn is not here: it is in the extra `instructor`")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--submissions", "../nowhere"], "There is no "),
        (["--gradebook", "../nowhere.db"], "There is no gradebook at "),
        (["--as", " "], "--as has no name"),
    ],
)
def test_what_cannot_be_served_is_told(small_course, words, said):
    _, err = tito(small_course, "gradebook", "page", *words, code=2)
    assert said in err


def test_a_port_that_is_taken_is_told(small_course):
    with open_gradebook(small_course.state / "gradebook.db"), socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        _, err = tito(small_course, "gradebook", "page", "--port", port, code=3)
    assert f"Port {port} of this machine cannot be used" in err and "--port" in err
