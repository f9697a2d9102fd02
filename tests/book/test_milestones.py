"""A milestone's page: made from its program alone, with what it measured, printed and drew on the
course's own lessons."""

import re
import shutil
from html import unescape

import pytest
from commands import serve_book
from small_course import make_course

pytest.importorskip("pagefind", reason="the book's search is made with it: the extra `book`")

from tito.book import build as book  # noqa: E402
from tito.errors import TitoError  # noqa: E402
from tito.lesson import course

pytestmark = pytest.mark.slow  # a book is built

PROGRAM = '''"""1900: two numbers. They
were added long before.

Prose about *adding*.
"""

# /// milestone
# title = "A sum of two"
# needs = ["numbers"]
# seconds = 30
# alt = "Two bars, one twice the other"
# [goal]
# "total" = 6
# "share" = 0.5
# ///

from shared import COUNT

from tinytorch.core.numbers import double


class Picture:
    def savefig(self, place, format, **options):
        if format == "svg":
            place.write('<svg width="9pt"></svg>')
        else:
            with open(place, "wb") as file:
                file.write(b"picture")


def run(seed=0):
    print("adding", COUNT)
    return {"total": double(COUNT), "share": 0.75, "beside it": 4.0}, Picture()
'''
NAME = "01_1900_sum"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A course with a milestone, and its site."""
    root = course.open_root(make_course(tmp_path_factory.mktemp("course") / "small"))
    (root.path / "modules" / "milestones").mkdir()
    (root.path / "modules" / "milestones" / f"{NAME}.py").write_text(PROGRAM, encoding="utf-8")
    (root.path / "modules" / "milestones" / "shared.py").write_text("COUNT = 3\n", encoding="utf-8")
    return book.build(root)


@pytest.fixture
def again(made, tmp_path):
    """The course once more, its lessons run already."""
    shutil.copytree(
        made.path.parents[2],
        tmp_path / "again",
        ignore=shutil.ignore_patterns("html", "site", "doctrees"),
    )
    return course.open_root(tmp_path / "again")


def change(root, old, new, name=NAME):
    path = root.path / "modules" / "milestones" / f"{name}.py"
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    return root


def page(site):
    return (site.path / "milestones" / f"{NAME}.html").read_text(encoding="utf-8")


def words(text):
    return " ".join(unescape(re.sub("<[^>]*>", " ", text)).split())


def refused(root, code=1, **options):
    with pytest.raises(TitoError) as found:
        book.build(root, book.Options(**options))
    assert found.value.code == code and found.value.remedy
    return found.value.what


def test_the_page_says_what_the_milestone_is_and_how_to_run_it(made):
    text, said = page(made), words(page(made))
    assert (
        "1900. A sum of two" in said
        and "Two numbers. They were added long before." in said
        and "<em>adding</em>" in text
    )
    assert re.search(r'Needs</strong>\s*<a[^>]*href="../lessons/01_numbers.html"', text)
    assert "To reach total 6, share 50.0%" in said and "Run it tito milestone run sum" in said


def test_the_page_shows_the_results_figures_and_output(made):
    text, said = page(made), words(page(made))
    assert "total 6 6 share 75.0% 50.0% beside it 4" in said
    (picture,) = (made.path / "_images").iterdir()
    assert "@media (prefers-color-scheme: dark)" in picture.read_text(encoding="utf-8")
    assert re.findall(r'<img alt="([^"]*)" src="../_images', text) == [
        "Two bars, one twice the other"
    ]
    assert re.search(
        r"<details[^>]*>\s*<summary[^>]*>.*?What it prints.*?</summary>.*?adding 3.*?</details>",
        text,
        re.S,
    )


def test_the_page_shows_the_program_and_names_the_modules_next_to_it(made):
    text = unescape(re.sub("<[^>]*>", "", page(made)))
    assert "def run(seed=0):\n    print(" in text and "It imports shared.py" in words(page(made))
    assert "/// milestone" not in text and '"""1900' not in text


def test_it_comes_after_the_last_lesson_it_needs(made, again):
    def order(site):
        text = (site.path / "index.html").read_text(encoding="utf-8")
        parts = [text[text.index("<table") :], text[: text.index("<article")]]
        return [list(dict.fromkeys(re.findall(r'href="(\w+/\w+)\.html"', one))) for one in parts]

    lessons = ["lessons/01_numbers", "lessons/02_sums"]
    assert order(made) == [[lessons[0], f"milestones/{NAME}", lessons[1]]] * 2
    change(again, 'needs = ["numbers"]', 'needs = ["sums", "numbers"]')
    assert (
        order(book.build(again, book.Options(fast=True))) == [[*lessons, f"milestones/{NAME}"]] * 2
    )


def test_without_running_it_no_result_is_shown(again):
    text = page(book.build(again, book.Options(fast=True)))
    assert (
        "What it reaches" not in text
        and "adding 3" not in text
        and "What it prints" not in text
        and "<img" not in text
    )
    assert "The program" in text


def test_it_runs_again_when_its_program_or_a_module_of_it_changed(again):
    assert book.build(again).ran == []
    assert book.build(change(again, '"adding"', '"summing"')).ran == ["sum"]
    assert book.build(change(again, "COUNT = 3", "COUNT = 4", "shared")).ran == ["sum"]
    script = again.lesson("sums").script
    script.write_text(
        script.read_text(encoding="utf-8").replace(
            "sum(double(n) for n in numbers)", "sum([double(n) for n in numbers])"
        ),
        encoding="utf-8",
    )
    root = course.open_root(again.path)
    assert book.build(root).ran == ["sums"]
    script = root.lesson("numbers").script
    script.write_text(
        script.read_text(encoding="utf-8").replace("LIMIT = 10", "LIMIT = 11"), encoding="utf-8"
    )
    assert sorted(book.build(course.open_root(again.path)).ran) == ["numbers", "sum", "sums"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            '# alt = "Two bars, one twice the other"\n',
            "",
            f"{NAME}.py: this milestone draws a picture and has no alt text",
        ),
        (
            '"share": 0.75',
            '"share": 0.25',
            f"{NAME}.py: this milestone does not pass: share is 25.0%, the goal is 50.0%",
        ),
        (
            "double(COUNT)",
            "double(1 / 0)",
            f"{NAME}.py: this milestone does not pass: ZeroDivisionError",
        ),
        ("*adding*", "[adding](nowhere.md)", f"modules/milestones/{NAME}.py:4: a link"),
    ],
    ids=["alt", "goal", "error", "link"],
)
def test_a_faulty_milestone_is_reported_with_its_file(again, old, new, told):
    assert told in refused(change(again, old, new))


def test_a_milestone_without_a_picture_needs_no_alt_text(again):
    change(change(again, "Picture()\n", "None\n"), '# alt = "Two bars, one twice the other"\n', "")
    site = book.build(again)
    assert "75.0%" in page(site) and "<img" not in page(site)


def test_a_milestone_that_downloads_has_a_page_and_is_not_run(again):
    change(again, "# seconds = 30", '# seconds = 30\n# downloads = "550 MB"')
    site = book.build(again)
    assert "sum" not in site.ran and "Downloads" in page(site) and "550 MB" in page(site)
    assert "What it reaches" not in page(site)


@pytest.mark.parametrize(
    "new",
    ['print("adding"); twice = COUNT; x = 0; twice = x + x', 'print("twice =", "x + x")'],
    ids=["program", "output"],
)
def test_a_milestone_that_gives_a_solution_away_is_refused(again, new):
    change(again, 'print("adding", COUNT)', new)
    assert f"milestones/{NAME}.html would give away a line of a solution" in refused(again, code=3)


def test_serve_makes_its_page_again_when_it_is_saved(again):
    with serve_book(again) as (server, _):
        change(again, "long before", "long after")
        assert "index.html: " in server.stdout.readline()
    assert "added long after" in words(
        (again.path / "book/_build/html/milestones" / f"{NAME}.html").read_text(encoding="utf-8")
    )
