"""The page for graders in a real browser: two assistants at once, by keys alone, with a server that
is killed; on SQLite and on PostgreSQL. And for people who cannot see it, or see it badly.
"""

import contextlib
import http.client
import re
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace
from urllib.parse import urlencode, urlsplit

import pytest
from browsers import chromium
from small_course import make_course, with_question
from some_results import (
    coded,
    handed_in,
    remember_roster,
    result,
    save,
    save_each,
    set_comment,
    set_points,
)

pytest.importorskip("uvicorn", reason="uvicorn is not here: it is in the extra `instructor`")

from tito.grading.gradebook import answers, feedback
from tito.grading.gradebook.gradebook import open_gradebook

pytestmark = pytest.mark.slow

EVIL = "</code></li><script>document.title = 'evil'</script><img src=x onerror=\"alert(1)\">"
CODE = f'# %% exercise="exercise"\n#| export\ndef double(x):\n    """{EVIL}"""\n    return x * 3\n'
CLASS = [f"s{number:02}" for number in range(10)]
# What makes a page wider than the screen.
WIDE = """document.documentElement.scrollWidth <= innerWidth ? [] :
    [...document.querySelectorAll("main *")].filter(
        one => one.getBoundingClientRect().right > innerWidth && !one.closest(".wide"))
    .map(one => one.outerHTML.slice(0, 80))"""
WITH_SIZES = {"rules": {"target-size": {"enabled": True}}}  # of WCAG 2.2, off by default
SIZES = {"screen": {"width": 1280, "height": 900}, "phone": {"width": 360, "height": 740}}


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course whose first lesson asks a question."""
    folder = make_course(tmp_path_factory.mktemp("serve") / "course")
    path = folder / "modules/source/01_numbers/numbers_dev.py"
    path.write_text(with_question(), encoding="utf-8")
    return folder


def fill(where, students=CLASS):
    """A gradebook in which these learners handed in one lesson."""
    with open_gradebook(where) as book:
        learners = [
            SimpleNamespace(student=one, name=f"Learner {one}", columns={"section": "AB"[n % 2]})
            for n, one in enumerate(students)
        ]
        remember_roster(book, learners)
        for number, student in enumerate(students):
            one = result(student, points=(3, 0, 0), sha256=f"{number:064}")
            coded(one, CODE)
            save(book, [one], None, "me")


class Server:
    """`tito gradebook page` in a separate process. addresses: {grader: address}."""

    def __init__(self, course, where, *more):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tito", "--gradebook", str(where), "gradebook", "page", *more],
            cwd=course,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.addresses = {}
        for line in self.process.stdout:
            if found := re.fullmatch(r"(\S+): (http://\S+)\s*", line):
                self.addresses[found[1]] = found[2]
            elif line.startswith("Open it"):
                return
        raise AssertionError("it did not start")

    @property
    def port(self):
        return urlsplit(next(iter(self.addresses.values()))).port

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@contextlib.contextmanager
def opened(browser, address, size="screen", **more):
    """A page in a separate browser. Errors in its console fail the test."""
    context = browser.new_context(viewport=SIZES[size], **more)
    page = context.new_page()
    page.set_default_timeout(30_000)
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(f"dialog {dialog.message}"))
    page.goto(address)
    yield page
    # The browser also reports a page that was refused or could not be reached.
    said = [words for words in said if "status of 4" not in words and "ERR_" not in words]
    assert said == []
    context.close()


def press(page, key):
    """Press a key that leads to another page."""
    with page.expect_navigation():
        page.keyboard.press(key)


def comments(where):
    """{learner: [(text, who)]}"""
    with open_gradebook(where) as book:
        return {
            learner.student: [(one.text, one.who) for grade in grades for one in grade.comments]
            for learner, grades in book.by_learner()
        }


@pytest.fixture(params=["sqlite", "postgres"])
def where(request, tmp_path):
    """A new gradebook's place."""
    if request.param == "postgres":
        return request.getfixturevalue("postgres")()
    return tmp_path / "class.db"


def test_what_was_acknowledged_before_the_server_died_is_kept_once(course, where):
    """Two who send one form after the other; the server is killed among them, repeatedly.
    A request without an answer is sent again, unchanged.
    """
    fill(where)
    graders = {who: [(one, f"{who} to {one}") for one in CLASS] for who in ("ta1", "ta2")}
    answered, forms = [], {}  # {(grader, learner, text): what the page had seen}

    def work(server, who):
        base, unsent = urlsplit(server.addresses[who]), graders[who]
        connection = http.client.HTTPConnection(base.hostname, base.port, timeout=30)
        with contextlib.closing(connection):
            while unsent:
                student, text = one = unsent[0]
                path = base.path.rstrip("/") + f"/of/{handles[student]}/numbers"
                try:
                    connection.request("GET", path)
                    page = connection.getresponse().read().decode()
                    csrf = re.search(r'name="csrf" value="([^"]+)"', page)[1]
                    seen = re.search(r'name="seen" value="(\d+)"', page)[1]
                    seen = forms.setdefault((who, *one), seen)
                    body = urlencode({"csrf": csrf, "seen": seen, "text": text})
                    kind = {"Content-Type": "application/x-www-form-urlencoded"}
                    connection.request("POST", f"{path}/judge", body, kind)
                    response = connection.getresponse()
                    response.read()
                except (OSError, http.client.HTTPException):
                    return  # killed: the same form is sent to the next server
                if response.status == 303:
                    answered.append(unsent.pop(0))
                else:  # the other one wrote about this learner meanwhile
                    assert response.status == 409
                    del forms[who, *one]

    with open_gradebook(where) as book:
        from tito.grading.page.class_list import ClassList

        handles = {one: ClassList(book).handle(one) for one in CLASS}
    for kill_after in (6, 17, None):
        with Server(course, where, "--as=ta1", "--as=ta2") as server:
            threads = [threading.Thread(target=work, args=(server, who)) for who in ("ta1", "ta2")]
            for one in threads:
                one.start()
            while kill_after and len(answered) < kill_after and threads[0].is_alive():
                time.sleep(0.001)
            if kill_after:
                server.process.send_signal(signal.SIGKILL)
            for one in threads:
                one.join()
    assert len(answered) == len(set(answered)) == 2 * len(CLASS)
    said = comments(where)
    assert {one: sorted(said[one]) for one in CLASS} == {
        one: [(f"{who} to {one}", who) for who in ("ta1", "ta2")] for one in CLASS
    }


def test_a_submission_is_graded_by_keys_alone(browser, course, tmp_path):
    where = tmp_path / "class.db"
    fill(where, CLASS[:3])
    with open_gradebook(where) as book:
        set_comment(book, "s02", "numbers", "See me about loops.", "ta9")
    with (
        Server(course, where, "--as=ta1") as server,
        opened(browser, server.addresses["ta1"]) as page,
    ):
        page.keyboard.press("j")
        press(page, "Enter")  # the lesson
        for key in "jjk":
            page.keyboard.press(key)
        press(page, "Enter")
        assert page.locator("h1").inner_text() == "Learner s00"
        press(page, "j")
        assert page.locator("h1").inner_text() == "Learner s01"
        page.keyboard.press("?")
        assert page.get_by_text("write a comment of this lesson").is_visible()
        page.keyboard.press("1")
        assert not comments(where)["s01"], "only Ctrl+Enter sends it"
        page.keyboard.type(" 12")
        press(page, "Control+Enter")
        page.keyboard.press("p")
        page.keyboard.type("2.5")
        page.keyboard.press("Tab")
        page.keyboard.type("nearly right")
        press(page, "Control+Enter")
        page.keyboard.press("c")
        page.keyboard.type("j and d are letters here")
        page.keyboard.press("Escape")
        press(page, "f")
        press(page, "f")
        press(page, "j")
        assert page.locator("h1").inner_text() == "Learner s02"
        press(page, "a")
        assert page.locator("h1").inner_text().startswith("Learner "), "on the same page"
        press(page, "l")
    with open_gradebook(where) as book:
        (grade,) = book.grades("s01", "numbers")
    said = [(one.text, one.who, one.exercise) for one in grade.comments]
    assert said == [("See me about loops. 12", "ta1", "exercise")]
    override = grade.check_overrides["c1"]
    assert (str(grade.points), override.who, override.why) == ("5.5", "ta1", "nearly right")


def test_what_is_typed_stays_when_the_server_is_gone(browser, course, tmp_path):
    fill(tmp_path / "class.db")
    with (
        Server(course, tmp_path / "class.db", "--as=ta1") as server,
        opened(browser, server.addresses["ta1"] + "?show=unopened") as page,
    ):
        press(page, "n")
        page.keyboard.press("c")
        page.keyboard.type("The first.")
        press(page, "Control+Shift+Enter")
        assert page.locator("h1").inner_text() == "Learner s01", "saved, and the next is shown"
        page.keyboard.press("c")
        page.keyboard.type("A thought.")
        press(page, "Control+Enter")
        assert page.locator(".said:focus").inner_text() == "Comment kept; the learner reads it."
        page.keyboard.press("c")
        page.keyboard.type("A long thought.")
        server.process.kill()
        server.process.wait()
        page.keyboard.press("Control+Enter")
        page.locator(".gone").wait_for()
        assert (
            "Not sent: the program of this page does not answer"
            in page.locator("[role=alert]").inner_text()
        )
        assert page.locator("textarea:focus").input_value() == "A long thought."
        with Server(course, tmp_path / "class.db", "--as=ta1", f"--port={server.port}"):
            page.evaluate("document.querySelector('.gone').remove()")
            page.keyboard.press("Control+Enter")  # to one that knows nothing of this address
            page.locator(".gone").wait_for()
            assert page.locator("textarea:focus").input_value() == "A long thought."
    kept = [text for said in comments(tmp_path / "class.db").values() for text, _ in said]
    assert kept == ["The first.", "A thought."]


def test_lines_of_code_have_their_numbers_in_the_file(browser, course, tmp_path):
    where = tmp_path / "class.db"
    with open_gradebook(where) as book:
        one = result()
        coded(one, "# %%\nimport math\n\n" + CODE)
        save(book, [one], None, "me")
    with (
        Server(course, where, "--as=ta1") as server,
        opened(browser, server.addresses["ta1"] + "lesson/numbers") as page,
    ):
        page.keyboard.press("j")
        press(page, "Enter")
        shown = page.evaluate(
            """[...document.querySelectorAll(".code li")].map(
                line => parseInt(getComputedStyle(line, "::marker").content.slice(1)))"""
        )
    assert shown == [4, 5, 6, 7, 8]


def test_a_key_goes_from_exercise_to_exercise_that_is_not_right(browser, course, tmp_path):
    where = tmp_path / "class.db"
    with open_gradebook(where) as book:
        one = result(points=(0, 3, 0))
        for check in one.checks:
            check.exercise = check.id
        save(book, [one], None, "me")
    with (
        Server(course, where, "--as=ta1") as server,
        opened(browser, server.addresses["ta1"] + "lesson/numbers") as page,
    ):
        page.keyboard.press("x")  # nothing on this page
        page.keyboard.press("j")
        press(page, "Enter")
        seen = []
        for _ in range(3):
            page.keyboard.press("x")
            seen.append(page.evaluate("document.activeElement.getAttribute('aria-label')"))
        page.keyboard.press("Tab")  # goes on inside of it
        inside = page.evaluate("document.activeElement.closest('article').ariaLabel")
        page.keyboard.press("x")
        page.keyboard.press("c")
        there = page.evaluate("document.activeElement.closest('article').ariaLabel")
    assert seen == ["c0", "c2", "c0"] and inside == "c0" and there == "c2"


def test_a_submission_of_59_checks_fits_two_screens(browser, course, tmp_path):
    where, code = tmp_path / "class.db", ""
    with open_gradebook(where) as book:
        one = result(points=(3, 0) * 29 + (0,))
        for number, check in enumerate(one.checks):
            check.exercise = f"part{number // 6}"
        for number in range(10):
            body = 20 * "    x = x + 1\n"
            code += f'# %% exercise="part{number}"\ndef part{number}(x):\n{body}'
        coded(one, code)
        save(book, [one], None, "me")
    with (
        Server(course, where, "--as=ta1") as server,
        opened(browser, server.addresses["ta1"] + "lesson/numbers") as page,
    ):
        page.set_viewport_size({"width": 1280, "height": 800})
        page.keyboard.press("j")
        press(page, "Enter")
        assert page.evaluate("document.documentElement.scrollHeight") <= 1600
        assert page.locator("article").count() == 10


def test_answers_are_judged_by_keys_alone(browser, course, tmp_path):
    where = tmp_path / "class.db"
    with open_gradebook(where) as book:
        save_each(book, *(handed_in(one, text=f"{one} says so.") for one in CLASS[:3]))
    with (
        Server(course, where, "--as=ta1") as server,
        opened(browser, server.addresses["ta1"] + "question/numbers/why") as page,
    ):
        press(page, "n")
        assert page.locator("h1").inner_text() == "S00"
        press(page, "d")
        assert "There are no points." in page.get_by_role("alert").inner_text()
        page.keyboard.press("p")
        page.keyboard.type("0.5")
        page.keyboard.press("Enter")  # sends nothing
        page.keyboard.press("Escape")
        page.keyboard.press("c")
        page.keyboard.type("1 and d are letters here")
        press(page, "Control+Enter")
        assert page.locator("h1").inner_text() == "S01"
        assert "1 of 3 judged" in page.get_by_label("Answers").inner_text()
        page.keyboard.press("p")
        page.keyboard.type("0.75")
        page.keyboard.press("Escape")
        press(page, "d")
        press(page, "k")
        assert page.locator("[name=points]").input_value() == "0.75"
        press(page, "s")
    with open_gradebook(where) as book:
        rows = answers.learner_answers(book, "numbers", "why")
        found = {row.learner.student: row.graded for row in rows}
    assert [str(found[one].points) for one in CLASS[:3]] == ["0.5", "0.75", "0"]
    assert [one.text for one in rows[0].comments] == ["1 and d are letters here"]
    assert found["s02"].state == "to be judged"


@pytest.mark.parametrize(("size", "scheme"), [("screen", "light"), ("phone", "dark")])
def test_a_page_of_feedback_breaks_no_rule_of_axe(browser, tmp_path, size, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    where = tmp_path / "class.db"
    fill(where, CLASS[:1])
    with open_gradebook(where) as book:
        set_comment(book, "s00", "numbers", "See me.")
        pages, _ = feedback.write(tmp_path / "pages", book.by_learner(), "Course")
    for path in (pages[0].path, tmp_path / "pages" / "index.html"):
        with opened(browser, path.as_uri(), size, color_scheme=scheme) as page:
            found = axe.run(page, options=WITH_SIZES).response["violations"]
            assert [(one["id"], one["impact"]) for one in found] == [], path.name


def test_every_page_is_for_everybody_and_no_submission_does_anything(browser, course, tmp_path):
    """Axe-core finds nothing, in light and dark, on a screen and on a phone, where nothing is wider
    than it; nothing that a learner or a grader wrote is run.
    """
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    where = tmp_path / "class.db"
    fill(where, CLASS[:3])
    with open_gradebook(where) as book:
        evil = result("evil", points=(0, 0), sha256="e" * 64, reason=EVIL, notes=[EVIL])
        evil.checks[0].message = evil.checks[0].name = EVIL
        coded(evil, f'# %% exercise="exercise"\n{EVIL}\n')
        evil.answers = handed_in(text=EVIL + "\n" + "x" * 500).answers
        save(book, [evil], None, EVIL, EVIL)
        set_points(book, "evil", "numbers", "0.25", EVIL, EVIL, "why")
        set_comment(book, "evil", "numbers", EVIL + "y" * 300, EVIL, exercise="why")
        for text in (EVIL, "See me."):
            set_comment(book, "evil", "numbers", text, EVIL)
            set_comment(book, "s00", "numbers", text, "ta2")
        set_points(book, "evil", "numbers", "1", EVIL, EVIL)
        from tito.grading.page.class_list import ClassList

        here = f"of/{ClassList(book).handle('evil')}/numbers"
        asked = f"question/numbers/why/{ClassList(book).handle('evil')}"
        there = f"of/{ClassList(book).handle('s01')}/numbers"
    paths = ["", "lesson/numbers", here, f"{here}/file", there]
    paths += ["lesson/nothing", "questions", "question/numbers/why", asked]
    with Server(course, where, "--as=ta1") as server:
        for size, scheme in (("screen", "light"), ("phone", "dark")):
            address = server.addresses["ta1"]
            with opened(browser, address, size, color_scheme=scheme) as page:
                for path in paths:
                    page.goto(address + path)
                    found = axe.run(page, options=WITH_SIZES).response["violations"]
                    assert [(one["id"], one["impact"]) for one in found] == [], (path, size, scheme)
                    wide = page.evaluate(WIDE)
                    assert wide == [] and page.title() != "evil", (path, size)
