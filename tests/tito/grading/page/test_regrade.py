"""Grading again from the page shows what would change, and counts only when a grader confirms."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from grader_page import Tags, page_of
from some_results import result, save

pytest.importorskip("starlette", reason="Starlette is not here: it is in the extra `instructor`")
from tito.grading.page.regrade import Regrading

ROW = "dict(student='%s', lesson='numbers', old=3, new=5, max_points=6, reasons=[], checks=[])"


@pytest.fixture
def page(book, tmp_path):
    """The page, with graders ta1 and ta2; a run is the program in `page.program`."""
    for student, name in (("ada", "Ada Lovelace"), ("bob", "")):
        save(book, [result(student)], None, "me", name)
    requests = []

    def start(request, folder):
        requests.append(request)
        with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
            words = [sys.executable, "-c", shared.program]
            return subprocess.Popen(words, stdout=out, stderr=err, cwd=tmp_path)

    regrading = Regrading(start, tmp_path / "class")
    shared = page_of(book, regrading)
    shared.regrading, shared.requests = regrading, requests
    yield shared
    shared.regrading.close()


def table(*students):
    """A program that prints what would change of these."""
    return f"import json; print(json.dumps([{', '.join(ROW % one for one in students)}]))"


def test_the_page_shows_what_grading_again_would_change_before_it_counts(page):
    page.program = table("ada")
    page.ta1.post("/regrade", lesson="numbers")
    page.regrading.last.process.wait()
    words = Tags(page.ta1.get("/regrade").text).spaced
    assert "1 grade would change. Nothing was written." in words
    assert "Ada Lovelace numbers 3 5" in words
    page.ta2.post("/regrade", lesson="numbers", count="yes")
    page.regrading.last.process.wait()
    assert "The new grades count." in page.ta1.get("/regrade").text
    assert page.ta1.post("/regrade", lesson="nothing").status_code == 409
    assert [(one.lesson, one.who, one.counts) for one in page.requests] == [
        ("numbers", "ta1", False),
        ("numbers", "ta2", True),
    ]


def test_a_page_without_submissions_says_how_to_name_them(page):
    page.regrading.submissions = None
    assert "was started without the submissions" in page.ta1.get("/regrade").text
    assert page.ta1.post("/regrade", lesson="numbers").status_code == 409


def test_grading_again_says_how_far_it_is_and_can_be_stopped(page, tmp_path):
    page.program = (
        "import signal, sys, time\n"
        "def end(*_): open('stopped', 'w').close(); sys.exit(130)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "print('tito: not in the roster: ada', '120 of 300 submissions, 40%', file=sys.stderr,\n"
        "      sep='\\n', flush=True)\n"
        "time.sleep(60)\n"
    )
    page.ta1.post("/regrade", lesson="numbers")
    written = Path(page.regrading.last.folder.name)
    until, text = time.monotonic() + 30, ""
    while "Running: 120 of 300 submissions, 40%." not in text:
        assert time.monotonic() < until, text
        time.sleep(0.05)
        text = Tags(page.ta2.get("/regrade").text).spaced
    assert "ada" not in text
    assert "ta1 grades numbers already" in page.ta2.post("/regrade", lesson="numbers").text
    page.ta2.post("/regrade", stop="yes")
    assert "Stopped by ta2. Nothing was written." in Tags(page.ta1.get("/regrade").text).spaced
    assert (tmp_path / "stopped").exists(), "it could tidy up"
    assert not written.exists()
    page.ta2.post("/regrade", stop="yes")  # its answer was lost
    page.ta1.post("/regrade", lesson="numbers", count="yes")
    page.ta1.post("/regrade", stop="yes")
    text = Tags(page.ta1.get("/regrade").text).spaced
    assert "Stopped by ta1. Grades written before that count; the others did not change." in text


def test_output_of_grading_again_contains_no_names_where_names_are_hidden(page):
    """What `tito grade` complains of may name learners, and its table is sorted by their ids."""
    page.program = "import sys; sys.exit('tito: ada (Ada Lovelace) could not be graded')"
    page.ta1.post("/anonymous")
    page.ta1.post("/regrade", lesson="numbers")
    page.regrading.last.process.wait()
    text = page.ta1.get("/regrade").text
    assert "could not be graded" in text and not re.search(r"\bada\b|Lovelace", text, re.I)
    assert "ada (Ada Lovelace)" in page.ta2.get("/regrade").text
    page.program = table(*page.of)
    page.ta1.post("/regrade", lesson="numbers")
    page.regrading.last.process.wait()
    shown = re.findall(r"/of/(\w+)/numbers", page.ta1.get("/regrade").text)
    assert shown == sorted(page.of.values())
