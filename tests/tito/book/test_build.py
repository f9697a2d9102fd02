"""The site of a course: what it shows, what it hides, and what keeps it from being made."""

import gzip
import json
import os
import re
import sys
import urllib.request
from html import unescape

import pytest
from commands import run, run_process, serve_book
from processes import children
from small_course import NUMBERS, introduce, make_course

pytest.importorskip("pagefind", reason="the book's search is made with it: the extra `book`")

from tito.book import build as book  # noqa: E402
from tito.book import verify_site
from tito.errors import TitoError  # noqa: E402
from tito.lesson import course

SOLUTION, HIDDEN = "twice = x + x", "test_total_of_nothing_is_zero"

pytestmark = pytest.mark.slow  # most of them take a second or more

DRAWING = """
# %%
{alt}from IPython.display import SVG
SVG('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><path d="M0 0h9"/></svg>')
"""


def read(path):
    """What a reader can find in a file of the site: a page without its tags."""
    text = path.read_bytes().decode("utf-8", "replace")
    return unescape(re.sub(r"<[^>]*>", "", text)) if path.suffix == ".html" else text


def holding(site, words):
    """The site's files that hold `words`, whatever their kind."""
    return [
        path.name
        for path in sorted(site.path.rglob("*"))
        if path.is_file() and "_static" not in path.parts and words in read(path)
    ]


def change(root, lesson, old, new, file=None):
    """The course again, with some text of a lesson replaced: of its chapter, or of another file."""
    path = root.lesson(lesson).script
    path = path.with_name(file or path.name)
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the lesson"
    path.write_text(text.replace(old, new), encoding="utf-8")
    return course.open_root(root.path)


def add(root, lesson, text):
    """The course again, with text, perhaps a cell, added at the end of a lesson."""
    with root.lesson(lesson).script.open("a", encoding="utf-8") as script:
        script.write(text)
    return course.open_root(root.path)


def page(root, text):
    """The course again, with its own first page."""
    (root.path / "book").mkdir(exist_ok=True)
    (root.path / "book" / "index.md").write_text(
        f"# Small\n\n<!-- made: lessons -->\n\n{text}\n", encoding="utf-8"
    )
    return course.open_root(root.path)


def refused(root, code=1, **options):
    """What is said when the book cannot be made."""
    with pytest.raises(TitoError) as found:
        book.build(root, book.Options(**options))
    assert found.value.code == code, found.value.what
    assert found.value.remedy
    return found.value.what


def searched(site):
    """What the search of a site finds: the text of each page."""
    fragments = (site / "pagefind/fragment").glob("*.pf_fragment")
    return [gzip.decompress(path.read_bytes()).decode("utf-8") for path in fragments]


def lesson_pages(site, name):
    paths = [site / "lessons" / f"{name}.html", *sorted((site / "lessons" / name).glob("*.html"))]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def words_of(text):
    return unescape(re.sub(r"<[^>]*>", "", text))


def lesson(site, name="01_numbers"):
    """A lesson's pages, one after the other."""
    return lesson_pages(site.path, name)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site of a course, which has a formula in a hint and a picture."""
    root = course.open_root(make_course(tmp_path_factory.mktemp("course") / "small"))
    root = change(root, "numbers", "1. Use `double`.", "1. $3x = 2x + x$, with `a < b`", "hints.md")
    opening = "LIMIT = 10\n" + DRAWING.format(alt="# alt: The end\nprint(2 * LIMIT)\n")
    root = change(root, "numbers", "LIMIT = 10\n", opening)
    root = add(root, "numbers", DRAWING.format(alt="# alt: A line\n"))
    return book.build(root)


# The pages.


def test_no_solution_and_no_hidden_check_is_in_any_file(site):
    assert holding(site, "def double") == ["doubling.html", "numbers_dev.ipynb"]
    assert holding(site, SOLUTION) == holding(site, HIDDEN) == []


def test_code_that_needs_a_solution_shows_what_it_prints(site):
    assert re.search(r'class="output[^>]*>.*?15 10', lesson(site), re.S)


def test_an_exercise_shows_its_contract_and_an_open_place(site):
    shown = words_of(lesson(site))
    assert re.search(
        r'def double\(x\):\n    """Twice `x`.\n\n    >>> double\(2\)\n    4\n    """\n    \.\.\.\n',
        shown,
    )
    assert "Exercise 1.1. Double (4 points, numbers-double)" in shown
    assert "yours to write" not in shown
    assert "BEGIN SOLUTION" not in shown and "return twice" not in shown


def test_what_only_tools_read_is_not_shown(site):
    shown = words_of(lesson(site))
    for words in (
        "#| export",
        "nbgrader",
        "### BEGIN",
        "default_exp",
        "jupytext",
        "format_version",
    ):
        assert words not in shown, words


def test_hints_checks_and_solutions_are_folded(site):
    folded = re.findall(r"<details[^>]*>\s*<summary[^>]*>(.*?)</summary>", lesson(site), re.S)
    folded = [" ".join(unescape(re.sub("<[^>]*>", " ", one)).split()) for one in folded]
    for words in (
        "Hint 1 of 2",
        "Hint 2 of 2",
        "2 checks, 4 points",
    ):
        assert any(one.startswith(words) for one in folded), (words, folded)
    articles = re.findall(r"<article.*?</article>", lesson(site), re.S)
    assert len(articles) == 3
    assert not re.search(r"<details[^>]*\bopen\b", "".join(articles))


def test_a_hint_is_set_as_all_other_prose_is(site):
    assert re.search(
        r'<summary>Hint 1 of 1</summary>\s*<p[^>]*><span class="math inline"><math.*?</span>, '
        r"with <code>a &lt; b",
        lesson(site),
        re.S,
    )


def test_the_card_says_what_a_lesson_needs_and_costs(site):
    shown = " ".join(read(site.path / "lessons" / "02_sums.html").split())
    assert (
        "Difficulty 1 of 5" in shown
        and "Time about 30 minutes" in shown
        and "To write 1 exercise, 2 points" in shown
    )
    assert 'Needs</strong> <a href="../lessons/01_numbers.html">' in lesson(site, "02_sums")


def test_the_notebook_to_take_away_is_the_released_one_and_says_where_it_belongs(site):
    from tito.lesson import notebook

    [copy] = site.path.rglob("sums_dev.ipynb")
    root = course.open_root(site.path.parents[2])
    one = root.lesson("sums").declared
    first, *rest = json.loads(copy.read_text(encoding="utf-8"))["cells"]
    assert rest == json.loads(notebook.to_notebook(one.released, one))["cells"]
    assert "This notebook belongs in a workspace" in "".join(first["source"])
    assert f'href="../{copy.relative_to(site.path).as_posix()}"' in lesson(site, "02_sums")


def test_a_picture_has_the_alt_text_of_its_cell(site):
    assert re.search(r'<img alt="A line"', lesson(site))


def test_the_picture_of_an_opening_is_above_the_code_and_once_on_the_page(site):
    text = (site.path / "lessons" / "01_numbers.html").read_text(encoding="utf-8")
    places = [text.index(part) for part in ("als zuvor", 'alt="The end"', ">Imports<", ">print<")]
    assert places == sorted(places) and text.count('alt="The end"') == 1


def test_each_section_has_a_page_and_each_exercise_an_address_there_and_on_the_first(site):
    lessons = site.path / "lessons"
    assert sorted(path.stem for path in (lessons / "01_numbers").iterdir()) == [
        "doubling",
        "tripling",
    ]
    page = (lessons / "01_numbers" / "tripling.html").read_text(encoding="utf-8")
    assert "1.2 Tripling" in words_of(page) and 'id="numbers-triple"' in page
    assert "Doubling" not in words_of(re.search(r"<article.*?</article>", page, re.S)[0])
    first = (lessons / "01_numbers.html").read_text(encoding="utf-8")
    row = '<li id="numbers-triple"><a href="01_numbers/tripling.html#numbers-triple">'
    assert f"{row}Exercise 1.2. Triple</a>" in first


def test_an_exercise_is_a_box_with_its_task_contract_hints_and_checks(site):
    page = (site.path / "lessons" / "01_numbers" / "doubling.html").read_text("utf-8")
    box = page[page.index('id="numbers-double"') :]
    places = [
        words_of(box).index(words)
        for words in (
            "Exercise 1.1. Double",
            "def double(x)",
            "Hint 1 of 2",
            "Hint 2 of 2",
            "2 checks",
        )
    ]
    assert places == sorted(places)
    nested = re.search(r"Hint 1 of 2.*?</details>", box, re.S)[0]
    assert "Hint 2 of 2" in nested, "the second hint opens before the first"


# What keeps it from being made.


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
def test_no_kernel_goes_on_when_its_lesson_was_run(site):
    assert [line for _, line in children(os.getpid()) if b"ipykernel" in line] == []


def test_a_cell_that_fails_is_reported_with_its_line(small_course):
    root = add(small_course, "numbers", "\n# %%\nprint(1 / 0)\n")
    line = (
        root.lesson("numbers").script.read_text(encoding="utf-8").splitlines().index("print(1 / 0)")
        + 1
    )
    assert (
        f"modules/source/01_numbers/numbers_dev.py:{line}: this cell fails: ZeroDivisionError"
        in refused(root)
    )
    assert book.build(root, book.Options(fast=True)).ran == []


def test_a_picture_without_alt_text_is_reported_with_its_line(small_course):
    root = add(small_course, "numbers", DRAWING.format(alt=""))
    line = (
        root.lesson("numbers")
        .script.read_text(encoding="utf-8")
        .splitlines()
        .index("from IPython.display import SVG")
        + 1
    )
    assert (
        f"modules/source/01_numbers/numbers_dev.py:{line}: this cell draws a picture and has no "
        f"alt text" in refused(root)
    )


def test_a_link_to_a_page_that_is_not_there_is_reported_with_its_line(small_course):
    root = add(small_course, "sums", "#\n# See [there](nowhere.md).\n")
    line = (
        root.lesson("sums")
        .script.read_text(encoding="utf-8")
        .splitlines()
        .index("# See [there](nowhere.md).")
        + 1
    )
    place = f"modules/source/02_sums/sums_dev.py:{line}"
    assert f"{place}: a link that leads nowhere: nowhere.html" in refused(root, fast=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '<a href="lessons/03_none.html">next</a>',
            "index.html: a link that leads nowhere: lessons/03_none.html",
        ),
        (
            '<a href="lessons/01_numbers.html#none">next</a>',
            "index.html: a link to a heading that lessons/01_numbers.html does not have",
        ),
        (
            '<script src="https://example.org/a.js"></script>',
            "index.html: asks another host: https://example.org/a.js",
        ),
        (
            '<p style="background: url(https://example.org/a.png)">x</p>',
            "index.html: asks another host: https://example.org/a.png",
        ),
        ('<img src="lessons/01_numbers.html">', "index.html: a picture without alt text"),
        ("[there](nowhere.md)", "book/index.md:5: a link that leads nowhere: nowhere.html"),
        ("[there](#none)", "book/index.md:5: a link to a heading that index.html does not have"),
        ("See $\\unknown x$.", "book/index.md:5: the formula \\unknown x cannot be set."),
        ("```gold\n1\n```", "book/index.md:5: 'gold' is no language of code."),
        ("<!-- made: gold -->", "there is no made part 'gold'"),
    ],
    ids="page heading script style alt markdown anchor formula language made".split(),
)
def test_a_page_that_is_wrong_is_reported(small_course, text, words):
    root = page(small_course, text)
    assert words in refused(root, fast=True)
    assert not (root.path / "book" / "_build" / "html").exists()


def test_a_link_to_another_host_is_no_request_of_the_page(small_course):
    root = page(small_course, "See [there](https://example.org).")
    assert 'href="https://example.org"' in (
        book.build(root, book.Options(fast=True)).path / "index.html"
    ).read_text(encoding="utf-8")


def test_an_output_that_gives_a_solution_away_is_refused(small_course):
    root = add(small_course, "numbers", '\n# %%\nprint("twice =", "x + x")\n')
    said = refused(root, code=3)
    assert "lessons/01_numbers/tripling.html would give away a line of a solution" in said
    assert not (root.path / "book" / "_build" / "html").exists()


def test_a_short_line_of_a_solution_in_a_script_is_there_by_chance(small_course, tmp_path):
    copies = [folder / "_static" for folder in (small_course.path / "book", tmp_path / "site")]

    def verify(text):
        for folder in copies:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "own.js").write_text(text, encoding="utf-8")
        verify_site.verify(small_course, tmp_path / "site", {})

    verify("function triple(x) {\n    return double(x) + x;\n}\n")
    mistake = "Squares the number because two is its own double."
    path = small_course.lesson("numbers").script.with_name("mistakes.py")
    path.write_text(f"# %% double mistake: {mistake}\n#> m\nreturn x * x\n", encoding="utf-8")
    with pytest.raises(TitoError, match="_static/own.js would give away a recorded mistake"):
        verify(f"// {mistake}\n")


def test_a_workspace_has_no_book(small_workspace):
    assert "is a workspace" in refused(small_workspace, code=2)


# Again.


def test_only_what_changed_and_what_builds_on_it_is_run_anew(small_course):
    root = small_course
    assert book.build(root).ran == ["numbers", "sums"]
    root = change(root, "numbers", "größer als zuvor", "kleiner als zuvor")
    assert book.build(root).ran == []
    site = root.path / "book" / "_build" / "html"
    assert "kleiner als zuvor" in words_of(lesson_pages(site, "01_numbers"))
    root = add(root, "sums", "\n# %%\nprint(total([4]))\n")
    assert book.build(root).ran == ["sums"]
    root = change(root, "sums", "print(total([4]))", "print(total([4]))\n# alt: Eight.")
    assert book.build(root).ran == []
    root = change(root, "numbers", "LIMIT = 10", "LIMIT = 11")
    assert book.build(root).ran == ["numbers", "sums"]
    assert "15 11" in words_of(lesson_pages(site, "01_numbers"))
    root = change(root, "numbers", "LIMIT = 11", "LIMIT = 10")
    assert book.build(root).ran == []


def test_a_setting_in_tito_toml_runs_no_lesson_again(small_course):
    book.build(small_course)
    config = small_course.path / "tito.toml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text + "[grading]\ngrace_minutes = 15\n", encoding="utf-8")
    assert book.build(course.open_root(small_course.path)).ran == []


def test_a_lesson_that_is_gone_leaves_no_page(small_course):
    path = book.build(small_course, book.Options(fast=True)).path
    assert (path / "lessons" / "02_sums.html").exists()
    small_course.lesson("sums").script.unlink()
    book.build(course.open_root(small_course.path), book.Options(fast=True))
    assert sorted(one.name for one in (path / "lessons").iterdir()) == [
        "01_numbers",
        "01_numbers.html",
    ]


def test_the_search_finds_a_term_by_its_synonyms_and_no_hint(small_course):
    introduce(small_course.path, {"double": ""})
    facts = small_course.path / "modules/source/01_numbers/lesson.toml"
    facts.write_text(f'{facts.read_text("utf-8")}\n[synonyms]\n"double" = ["2 <x>"]\n', "utf-8")
    text = NUMBERS.replace("# ## Doubling\n", "# ## Doubling\n#\n# To **double** adds.\n#\n")
    (facts.parent / "numbers_dev.py").write_text(text, encoding="utf-8")
    site = book.build(course.open_root(small_course.path), book.Options(fast=True)).path
    (page,) = (text for text in searched(site) if "To 2 <x>. double adds" in text)
    assert '"within":"01. Numbers"' in page and '"also":"2 <x>."' in page and "Hint" not in page
    assert not any("Home" in text or '"/search.html"' in text for text in searched(site))


def test_a_page_that_is_the_same_keeps_its_time(small_course):
    site = book.build(small_course, book.Options(fast=True)).path.with_name("site")
    times = {path: path.stat().st_mtime_ns for path in site.rglob("lessons/*/*.html")}
    root = change(small_course, "numbers", "# ## Doubling", "# ## Doubling\n#\n# Words.")
    book.build(root, book.Options(fast=True))
    changed = [path.name for path, time in times.items() if path.stat().st_mtime_ns != time]
    assert changed == ["doubling.html"] and len(times) == 3
    assert any("Words." in text for text in searched(site))
    root = change(root, "numbers", "# ## Doubling", "# ## Twice")
    book.build(root, book.Options(fast=True))
    assert not (site / "lessons/01_numbers/doubling.html").exists()


def test_a_copy_goes_to_a_new_folder_or_over_an_earlier_book_and_nowhere_else(
    small_course, tmp_path
):
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine.txt").write_text("mine", encoding="utf-8")
    assert "is not empty, and is not an earlier book" in refused(
        small_course, code=2, fast=True, output=full
    )
    site = tmp_path / "new" / "site"
    assert book.build(small_course, book.Options(fast=True, output=site)).path == site
    assert (site / "index.html").exists() and (site / ".nojekyll").exists()
    (site / "old.html").write_text("old", encoding="utf-8")
    book.build(small_course, book.Options(fast=True, output=site))
    assert not (site / "old.html").exists() and (site / "index.html").exists()


# Made parts and launch links.


def test_launch_links_name_the_released_repository(small_course):
    config = small_course.path / "tito.toml"
    config.write_text(
        config.read_text(encoding="utf-8") + '[book]\nrelease = "https://github.com/ada/small"\n',
        encoding="utf-8",
    )
    text = (
        book.build(course.open_root(small_course.path), book.Options(fast=True)).path
        / "lessons"
        / "01_numbers.html"
    ).read_text(encoding="utf-8")
    assert (
        'href="https://mybinder.org/v2/gh/ada/small/main?urlpath=lab/tree/modules/source/01_numbers/numbers_dev.ipynb"'
        in text
    )


# The commands.


@pytest.mark.parametrize("command", ["build", "serve"])
def test_help_shows_an_example(small_course, command):
    assert f"Example: tito book {command}" in " ".join(
        run(small_course, "book", command, "--help").stdout.split()
    )


def test_the_command_says_where_the_site_is(small_course):
    done = run_process(small_course, "book", "build", "--fast", "--output", "site")
    assert done.returncode == 0, done.stderr
    assert (
        re.search(r"site/index.html: \d+ pages, [\d.]+ CPU s\.\n", done.stdout)
        and (small_course.path / "site" / "index.html").exists()
    )


def test_serve_shows_the_site_and_what_is_saved_while_it_does(small_course):
    with serve_book(small_course) as (server, address):
        lessons = f"{address}lessons/"
        assert "1.1 Doubling" in text_of(lessons + "01_numbers/doubling.html")
        page = lessons + "01_numbers.html"
        change(small_course, "numbers", "größer als zuvor", "kleiner als zuvor")
        assert "index.html: " in server.stdout.readline()
        assert "kleiner als zuvor" in text_of(page)
        change(small_course, "numbers", "kleiner als zuvor", "[kleiner](nowhere.md)")
        assert "The book was not made" in server.stderr.readline()
        assert "kleiner als zuvor" in text_of(page)


def text_of(address):
    with urllib.request.urlopen(address, timeout=20) as answer:
        return unescape(re.sub("<[^>]*>", "", answer.read().decode("utf-8")))
