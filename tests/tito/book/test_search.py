"""What the book's search looks in, and the pages that a long page is split in."""

import pytest
from bs4 import BeautifulSoup
from small_course import NUMBERS, introduce, make_course

from tito.book import search, sections
from tito.errors import TitoError
from tito.lesson import course

PAGE = """<main><p>The sidebar.</p><article class="bd-article">
<section id="doubling"><h1>1.1 Doubling<a class="headerlink" href="#doubling">#</a></h1>
<p id="p1">To <span id="term-doubling"></span><strong>double</strong> is to add
<span class="math">x</span>, not <span class="math">\\frac{1}{2}</span>.</p>
<div class="cell"><pre><span class="n">twice</span> = x + x</pre></div>
<img alt="A curve" src="a.png">
<div class="exercise docutils container" id="numbers-double">
<div class="exercise-head docutils container"><p><strong>Exercise 1.1. Double</strong> (4 points,
<code>numbers-double</code>)</p></div><p>Write it.</p>
<details class="hint"><summary>Hint 1 of 1</summary><p>Add.</p></details></div>
<p id="p2">After it.</p>
<section id="zero"><h2>Zero</h2><ul><li>One</li><li>two</li></ul></section></section>
</article></main>"""


def read_sections():
    soup = BeautifulSoup(PAGE, "html.parser")
    return search.sections_of("lessons/01_numbers/doubling.html", soup)


def test_headings_and_exercises_are_sections_of_prose_without_code_and_hints():
    double, exercise, zero = search.sections_of(
        "lessons/01_numbers/doubling.html", BeautifulSoup(PAGE, "html.parser")
    )
    assert (double.anchor, double.title) == ("", "1.1 Doubling")
    assert double.prose == [("p1", "To double is to add\nx, not …."), ("p2", "After it.")]
    assert double.words == {"twice", "curve"} and double.terms == {"term-doubling"}
    assert (exercise.anchor, exercise.title, exercise.prose) == (
        "numbers-double",
        "Exercise 1.1. Double",
        [("numbers-double", "Write it.")],
    )
    assert (zero.anchor, zero.title, zero.prose) == ("zero", "Zero", [("zero", "One two")])


@pytest.fixture
def root(tmp_path):
    make_course(tmp_path)
    chapter = tmp_path / "modules/source/01_numbers/numbers_dev.py"
    introduce(tmp_path, {"doubling": ""})
    text = NUMBERS.replace("# ## Doubling\n", "# ## Doubling\n#\n# To add **doubling** up.\n#\n")
    chapter.write_text(text, encoding="utf-8")
    (tmp_path / "book").mkdir()
    return course.open_root(tmp_path)


def synonyms(root, text):
    (root.path / "book" / search.SYNONYMS).write_text(text, encoding="utf-8")
    found = search.sections_of(
        "lessons/01_numbers/doubling.html", BeautifulSoup(PAGE, "html.parser")
    )
    return search.synonyms(root, found)


def test_a_synonym_leads_to_a_term_or_to_a_heading(root):
    rows = synonyms(root, '"doubling" = ["twice", "2x"]\n"numbers: Zero" = ["nothing"]\n')
    assert rows == [
        ("doubling", 0, "term-doubling"),
        ("twice", 0, "term-doubling"),
        ("2x", 0, "term-doubling"),
        ("nothing", 2, ""),
    ]


@pytest.mark.parametrize(
    "text, what, remedy",
    [
        (
            '"numbers: Zeros" = ["none"]',
            "'none' leads to 'numbers: Zeros', which is no",
            "a heading",
        ),
        ('"dubling" = ["twice"]', "'twice' leads to 'dubling', which is no term", "a term of"),
        ('"sums: Zero" = ["none"]', "which is no heading", "LESSON or PAGE"),
        ('"doubling" = [', "book/synonyms.toml: ", "Write lines such as"),
    ],
)
def test_a_synonym_that_leads_nowhere_is_an_error(root, text, what, remedy):
    with pytest.raises(TitoError) as told:
        synonyms(root, text)
    assert what in told.value.what and remedy in told.value.remedy and told.value.code == 1


LONG = """# Long

Before: see [below](#second).

<!-- made: sections -->

## The first

See [it](#lower), [short](short.md) and `## no heading`.

```sh
## no heading
x[0](#second)
```

### Lower

## Second

[Up](#lower) and [the web](https://example.org/#second).
"""


def test_a_long_page_has_a_page_for_each_section_and_its_addresses_are_still_found():
    out = sections.split_pages(
        {"long.md": LONG, "short.md": "[a](long.md#lower) [b](long.md)", "c.py": ""}
    )
    assert list(out) == ["long.md", "long/the-first.md", "long/second.md", "short.md", "c.py"]
    assert "[below](long/second.md)" in out["long.md"] and "## " not in out["long.md"]
    assert '<li id="lower"><a href="long/the-first.html#lower">' in out["long.md"]
    assert '<li id="second"><a class="section-link" href="long/second.html">' in out["long.md"]
    assert "[it](#lower), [short](../short.md) and" in out["long/the-first.md"]
    assert "## no heading\nx[0](#second)" in out["long/the-first.md"]
    assert "[Up](the-first.md#lower) and [the web](https://" in out["long/second.md"]
    assert out["short.md"] == "[a](long/the-first.md#lower) [b](long.md)"


def test_the_lines_of_a_part_are_those_of_the_whole_page():
    out = sections.split_pages({"long.md": LONG})
    lines = out["long/second.md"].split("\n")
    assert lines.index("# Second") == LONG.split("\n").index("## Second")
    message = "book/long/second.md:22: WARNING: x"
    assert sections.with_places_of_pages(message) == "book/long.md:22: WARNING: x"
