"""tito/learn/certificate.py: the page that `tito status` writes when the course is complete."""

import base64
import json
import sys

import browsers
import commands
import pytest
from bs4 import BeautifulSoup
from small_course import NUMBERS_FACTS, edit, solve, verdict_on, with_question

from tito.learn import certificate, milestone, progress, status, update, workspace
from tito.lesson import course

PROGRAM = '''"""A sum."""

# /// milestone
# title = "A <b>sum</b> of two"
# needs = ["numbers"]
# seconds = 30
# alt = "Six, \\"drawn\\" <large>."
# [goal]
# "total" = 6
# "share <i>" = 0.5
# [at_most]
# "error" = 0.25
# ///

def run(seed=0):
    return {}, None
'''
REACHED = {"total": 6.0, "share <i>": 0.75, "error": 0.125, "seconds of play": 7.0}
PICTURE = b"\x89PNG and more"


def make_workspace(small_course, tmp_path):
    """A workspace in which every lesson has passed, of a course with a milestone and a question."""
    chapter = small_course.lesson("numbers").script
    chapter.write_text(with_question(), encoding="utf-8")
    facts = NUMBERS_FACTS.replace('"Numbers"', '"Numbers <script>"')
    chapter.with_name("lesson.toml").write_text(facts, encoding="utf-8")
    folder = small_course.path / "modules" / "milestones"
    folder.mkdir()
    (folder / "01_1900_sum.py").write_text(PROGRAM, encoding="utf-8")
    workspace.init(tmp_path / "my work", course.open_root(small_course.path))
    return course.open_root(tmp_path / "my work")


@pytest.fixture
def work(small_course, tmp_path):
    root = make_workspace(small_course, tmp_path)
    for entry in root.lessons:
        for exercise in entry.declared.exercises:
            solve(entry, exercise.name)
        assert verdict_on(entry).passed
    return root


def run_status(root, *words):
    done = commands.run(root, "status", *words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def page_of(root):
    run_status(root)
    text = (root.path / certificate.NAME).read_text(encoding="utf-8")
    return BeautifulSoup(text, "html.parser")


def record_run(root, measured, verdict="passed", when="2026-11-20T10:00:00"):
    """Record a run of the milestone with the code as it is now. Returns where its picture goes."""
    program = milestone.find(root, "sum")
    with progress.change(root, "sum", "milestones") as record:
        record |= {"when": when, "verdict": verdict, "measured": measured}
        record["code"] = milestone._code_of(program, milestone._modules(root, program))
    return root.path / milestone.SOURCE / program.picture()


def numbers_on(page):
    return {pair.dt.text: pair.dd.text for pair in page.select("dl div")}


def test_status_says_that_the_course_is_complete_and_writes_the_page(work):
    output = run_status(work)
    assert "The course is complete: every lesson has passed." in output
    page = "certificate.html (open it in a browser)\n"
    last = "tito milestone run sum    A <b>sum</b>"
    assert f"your certificate: {page}the last milestone: {last}" in output
    record_run(work, {"total": 6.0})
    assert run_status(work).endswith(f"your certificate: {page}")
    page = page_of(work)
    assert page.h1.text == "The course is complete"
    assert [item.b.text for item in page.select(".phase li")] == [
        "Numbers <script>",
        "Sums",
    ]
    assert "2 exercises, 3 lines" in page.select_one(".phase li").text
    assert "It is not a grade" in " ".join(page.select_one(".fine").text.split())


@pytest.mark.parametrize("name", ["Ada <b>Lovelace</b>", 'Zoë "Z" \\Lee', "  李  明 \n\x7f", ""])
def test_a_name_is_on_the_page_and_stays_after_an_update(work, small_course, name):
    assert page_of(work).select_one(".name") is None and workspace.learner_name(work) is None
    workspace.save_learner_name(work, name)
    config = small_course.path / "tito.toml"
    text = config.read_text(encoding="utf-8").replace('edition = "1"', 'edition = "2"')
    config.write_text(text, encoding="utf-8")
    for root in (work, update.update(work, small_course.path) and course.open_root(work.path)):
        shown = name.strip().removesuffix("\x7f").strip().replace("  ", " ")
        assert workspace.learner_name(root) == shown
        found = page_of(root).select_one(".name")
        assert (found.text if found else "") == shown


def test_in_a_terminal_status_asks_once_for_the_name(work):
    pexpect = pytest.importorskip("pexpect")
    for asks in (True, False):
        terminal = pexpect.spawn(
            sys.executable, ["-m", "tito", "status"], cwd=work.path, encoding="utf-8", timeout=60
        )
        if asks:
            terminal.expect("your name on the certificate")
            terminal.sendline("Ada")
        terminal.expect(pexpect.EOF)
        assert "your certificate: " in terminal.before and "your name" not in terminal.before
    assert page_of(work).select_one(".name").text == "Ada"


def test_the_numbers_are_those_of_the_files_and_the_progress(work):
    status.hint(work.lesson("numbers"), work.lesson("numbers").declared.exercise("double"))
    with progress.change(work, "numbers") as record:
        record["started"] = "2026-01-31T23:59:00"
        record["last"]["when"] = "yesterday"
    with progress.change(work, "sums") as record:
        record["last"]["when"] = "2026-12-01T08:00:00"
    assert numbers_on(page_of(work)) == {
        "lessons": "2",
        "exercises solved": "3",
        "lines of code": "4",
        "points of 7": "7",
        "hints used": "1",
        "first day": "31 Jan 2026",
        "last day": "1 Dec 2026",
    }


def test_lines_are_code_in_exercises_that_the_released_lesson_does_not_have(work):
    entry = work.lesson("numbers")
    edit(
        entry,
        "    twice = x + x\n",
        '    # a comment\n\n    zero = 0  # a line\n    """A text."""\n    twice = x + x + zero\n',
    )
    edit(entry, "LIMIT = 10", "LIMIT = 10\nMINE = 11")  # in no exercise
    edit(entry, '    """Three times `x`."""', '    """Three times.\n\n    My words.\n    """')
    source = status.notebook_sync.read(entry, {})
    # double: zero, the text that is no docstring, twice, return; triple: return
    assert certificate.lines_written(entry, source) == 5


@pytest.mark.parametrize(
    "undo",
    [
        lambda root: edit(root.lesson("sums"), "double(n) for", "double( n ) for"),
        lambda root: workspace.reset(root.lesson("sums")),
    ],
    ids=["stale", "reset"],
)
def test_nothing_is_written_while_a_lesson_is_missing(work, undo):
    undo(work)
    output = run_status(work)
    assert "complete" not in output and "next: tito " in output
    assert not (work.path / certificate.NAME).exists()


def test_status_as_json_is_a_list_of_rows_and_writes_nothing(work):
    assert [row["state"] for row in json.loads(run_status(work, "--json"))] == ["passed"] * 2
    assert not (work.path / certificate.NAME).exists()


def test_the_course_itself_gets_no_certificate(small_course):
    for entry in small_course.lessons:
        assert verdict_on(entry).passed
    assert "The course is complete" in run_status(small_course)
    assert not (small_course.path / certificate.NAME).exists()


def test_a_file_of_the_learners_with_that_name_is_kept(work):
    path = work.path / certificate.NAME
    path.write_bytes(b"<h1>mine</h1>")
    assert "certificate.html is your own file. Rename it" in run_status(work)
    assert path.read_bytes() == b"<h1>mine</h1>"
    path.unlink()
    first = page_of(work)
    record_run(work, REACHED)
    assert "Goal reached" not in first.text and "Goal reached" in page_of(work).text


def test_what_the_learner_did_not_do_alone_is_named(work):
    edit(work.lesson("numbers"), 'exercise="double"', 'given="double"')
    assert all(verdict_on(lesson).passed for lesson in work.lessons)
    page = page_of(work)
    notes = [note.text for note in page.select(".note")]
    assert notes == ["marked as given: numbers-double", "question not answered: why"]
    numbers = numbers_on(page)
    assert (numbers["exercises solved"], numbers["exercises given"]) == ("2", "1")
    assert (numbers["points of 7"], numbers["lines of code"]) == ("3", "2")


def test_a_lesson_that_passed_on_other_code_below_it_is_named(work):
    edit(work.lesson("numbers"), "twice = x + x", "twice = 2 * x")
    assert verdict_on(work.lesson("numbers")).passed
    words = "passed before a lesson that it needs was changed: numbers"
    assert words in page_of(work).select(".phase li")[1].text
    verdict_on(work.lesson("sums"))
    assert words not in page_of(work).text


def test_a_milestone_is_with_the_lesson_that_completes_it_and_waits_until_it_runs(work):
    first, second = page_of(work).select(".phase")
    assert first.h3.text == "1900 A <b>sum</b> of two" and not second.h3
    assert first.article.p.text == "Not run yet: tito milestone run sum"
    assert not first.table and not first.img


def test_a_run_shows_its_numbers_its_goals_and_its_picture(work):
    record_run(work, REACHED).write_bytes(PICTURE)
    article = page_of(work).article
    assert article.p.text == "Goal reached on 20 Nov 2026" and article["class"] == ["reached"]
    rows = [[cell.text for cell in row.select("th, td")] for row in article.select("tr")]
    assert rows == [
        ["", "result", "goal"],
        ["total", "6", "6"],
        ["share <i>", "75.0%", "50.0%"],
        ["error", "0.125", "at most 0.25"],
        ["seconds of play", "7", ""],
    ]
    assert article.img["alt"] == (
        'The picture of this run. In the book it shows: Six, "drawn" <large>.'
    )
    kind, _, data = article.img["src"].partition(",")
    assert kind == "data:image/png;base64" and base64.b64decode(data) == PICTURE


def test_a_missed_goal_is_shown_as_missed(work):
    record_run(work, REACHED | {"total": 5.0, "error": 0.5}, "failed")
    article = page_of(work).article
    assert article.p.text == "Goal missed on 20 Nov 2026" and article["class"] == ["missed"]
    assert [row.th.text for row in article.select("tr.missed")] == ["total", "error"]
    assert not article.img


def test_a_run_without_a_result_has_no_numbers_and_no_picture(work):
    record_run(work, {}, "failed", when="<long ago>").write_bytes(PICTURE)
    article = page_of(work).article
    assert article.p.text == "The last run ended without a result: tito milestone run sum"
    assert not article.table and not article.img


def test_a_run_with_other_code_is_named(work):
    record_run(work, REACHED)
    edit(work.lesson("numbers"), "twice = x + x", "twice = x - -x")
    verdict_on(work.lesson("numbers"))
    assert page_of(work).article.p.text.endswith(", with code that has changed since")


def test_numbers_of_a_record_that_are_none_are_not_believed(work):
    record_run(work, {"total": "<b>many</b>"})
    with pytest.warns(progress.Notice, match="damaged"):
        assert progress.load(work)["lessons"] == {}


def test_names_are_text_and_the_page_needs_no_other_file(work):
    config = work.path / "tito.toml"
    text = config.read_text(encoding="utf-8").replace(
        '"Small"', '"<img src=x onerror=1> & 100 % $"'
    )
    config.write_text(text, encoding="utf-8")
    record_run(work, REACHED).write_bytes(PICTURE)
    page = page_of(course.open_root(work.path))
    assert page.select_one(".course").text == page.title.text.partition(":")[0]
    assert page.select_one(".course").text == "<img src=x onerror=1> & 100 % $"
    assert [image["src"][:10] for image in page.select("img")] == ["data:image"]
    assert not page.select("script, link, iframe, b b, article b, table i")
    levels = [int(heading.name[1]) for heading in page.find_all(["h1", "h2", "h3", "h4"])]
    assert levels == [1, 2, 3, 2] and all(image["alt"] for image in page.select("img"))
    assert "://" not in str(page)


def test_the_test_that_completes_the_course_says_so(small_course, tmp_path):
    root = make_workspace(small_course, tmp_path)
    for entry in root.lessons:
        solve(entry)
    words = "The course is complete: tito status writes your certificate.\n"
    assert "complete" not in commands.run(root, "test", "numbers").stdout
    assert commands.run(root, "test", "sums").stdout.endswith(words)
    commands.run(small_course, "test", "numbers")
    assert "complete" not in commands.run(small_course, "test", "sums").stdout


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1280)])
def test_the_page_fits_a_phone_and_axe_finds_nothing_serious(work, scheme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    record_run(work, REACHED | {"total": 5.0}, "failed")
    run_status(work)
    with browsers.chromium() as browser:
        page = browser.new_page(viewport={"width": width, "height": 700}, color_scheme=scheme)
        page.goto((work.path / certificate.NAME).as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        found = axe.run(page).response["violations"]
        serious = [v["id"] for v in found if v["impact"] in ("serious", "critical")]
        assert serious == []
