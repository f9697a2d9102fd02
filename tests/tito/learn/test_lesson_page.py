"""tito/learn/lesson_page.py: the page of a lesson, as `tito read` and `tito test` write it."""

import re
from urllib.parse import urlsplit

import browsers
import pytest
from bs4 import BeautifulSoup
from commands import tito
from small_course import edit, introduce, solve

from tito import html
from tito.html import markdown
from tito.learn import demonstrations, lesson_page, runner, workspace
from tito.lesson import course

ASKED = """
# %% [markdown]
# Predict what four becomes.

# %% tags=["answer", "explained"]
print("four becomes", double(4), "<b>")

# %% [markdown]
# Twice four is eight.
#
# The next paragraph is no explanation.
"""
PICTURE = "# %%\nimport matplotlib.pyplot as plt\nplt.plot([1, double(2)]);\n# alt: A line.\n"


@pytest.fixture
def entry(small_workspace):
    return small_workspace.lesson("numbers")


def page_of(entry):
    lesson_page.write(entry)
    return BeautifulSoup(demonstrations.page_of(entry).read_text(encoding="utf-8"), "html.parser")


def states(page):
    return {box["id"]: box.select_one(".state").text for box in page.select(".exercise")}


def test_a_new_lesson_shows_its_text_and_what_is_to_write(entry):
    first = "# %% [markdown]\n# ## Doubling"
    edit(entry, first, f'# %% tags=["payoff"]\nplot()\n# alt: A line.\n\n{first}')
    page = page_of(entry)
    assert "tito test numbers draws a picture here." in page.main.text
    assert page.h1.text == "01. Numbers#" and "größer als zuvor" in page.main.text
    assert states(page) == {"numbers-double": "to write", "numbers-triple": "to write"}
    assert "0 of 2 exercises right; next: double" in page.footer.text
    assert [link["href"] for link in page.footer.select("a")] == [
        "#numbers-double",
        "#page-contents",
    ]
    for link in page.select("#page-contents a"):
        assert page.select_one(link["href"]).h2.text == f"{link.text}#"
    assert "Doubling" in page.select_one("#page-contents").text
    assert "def double(x):" in page.select_one("#numbers-double pre").text
    assert "#|" not in page.text and 'check("double")' not in page.text


@pytest.mark.parametrize("command", ["read", "start"])
def test_what_needs_no_code_is_drawn_before_the_first_test(small_workspace, entry, command):
    drawn = PICTURE.replace("double(2)", "2").replace("# %%", '# %% tags=["payoff"]')
    edit(entry, "# %% [markdown]\n# ## Doubling", f"{drawn}\n# %% [markdown]\n# ## Doubling")
    tito(small_workspace, command, "numbers")
    image = page_of(entry).select_one(".output img")
    assert image["alt"] == "A line." and "plt.plot" in image.find_parent("article").text
    assert (demonstrations.page_of(entry).parent / image["src"]).exists()


def test_the_state_of_an_exercise_is_from_the_last_test(entry):
    solve(entry, "numbers-double")
    assert states(page_of(entry))["numbers-double"] == "edited since the last test"
    runner.test_lesson(entry)
    page = page_of(entry)
    assert states(page) == {"numbers-double": "right", "numbers-triple": "to write"}
    edit(entry, "twice = x + x", "twice = x * x")
    assert states(page_of(entry))["numbers-double"] == "edited since the last test"
    runner.test_lesson(entry)
    page = page_of(entry)
    assert states(page)["numbers-double"] == "not right yet"
    visible = entry.declared.exercise("double").checks
    failed = [item.text for item in page.select("#numbers-double .failed li")]
    assert failed and set(failed) <= {check.name for check in visible if not check.hidden}
    hidden = [check.name for check in visible if check.hidden]
    assert not [name for name in hidden if name in page.text]


def test_hints_are_folded(entry):
    page = page_of(entry)
    hints = page.select("#numbers-double details summary")
    declared = entry.declared.exercise("double").hints
    assert [hint.text for hint in hints if "Hint" in hint.text] == [
        f"Hint {n} of {len(declared)}" for n in range(1, len(declared) + 1)
    ]
    assert not page.select("article details[open]")


def test_results_are_below_their_cell_and_answers_are_folded(entry):
    solve(entry, "numbers-double")
    edit(entry, 'check("double")\n', f'check("double")\n{ASKED}\n{PICTURE}')
    runner.test_lesson(entry)
    page = page_of(entry)
    answer = page.find("summary", string="The answer").parent
    assert answer.pre.text == "four becomes 8 <b>" and answer.p.text == "Twice four is eight."
    rest = answer.find_next("p", string="The next paragraph is no explanation.")
    assert rest.find_parent("details") is None
    image = page.select_one("figure img")
    assert image["alt"] == "A line."
    drawn = (demonstrations.page_of(entry).parent / image["src"]).read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in drawn and "dc:date" not in drawn
    assert "#ffffff" not in drawn and 'pt"' not in drawn
    lesson_page.save_prediction(entry, "Predict what four becomes.", "nine <i>")
    page = page_of(entry)
    assert page.select_one("article details[open] p").text == "Your prediction: nine <i>"


def test_code_in_an_unknown_language_is_shown(entry):
    edit(entry, "# ## Tripling\n", "# ## Tripling\n#\n# ```gold\n# x < 1\n# ```\n")
    assert "x < 1\n" in [block.text for block in page_of(entry).select(".highlight.text pre")]


def test_a_term_of_an_earlier_lesson_has_its_explanation_for_a_title(small_course, tmp_path):
    introduce(small_course.path, {"fixed point": ""})
    said = {
        "01_numbers/numbers_dev.py": "\n# %% [markdown]\n# A **fixed point** is f(x) = <x>.\n",
        "02_sums/sums_dev.py": "\n# %% [markdown]\n# `fixed point` *Fixed points*, fixed point.\n",
    }
    for name, words in said.items():
        path = small_course.path / "modules/source" / name
        text = path.read_text(encoding="utf-8")
        opening, heading, rest = text.partition("# %% [markdown]\n# ## ")
        path.write_text(f"{opening}{words.lstrip()}\n{heading}{rest}", encoding="utf-8")
    workspace.init(tmp_path / "mine", small_course)
    root = course.open_root(tmp_path / "mine")
    (link,) = page_of(root.lesson("sums")).select("a.term")
    assert (link.text, link["title"]) == ("Fixed points", "A fixed point is f(x) = <x>.")
    assert "href" not in link.attrs and link.parent.name == "em"
    assert page_of(root.lesson("numbers")).select_one("#term-fixed-point")
    (link,) = page_of(root.lesson("sums")).select("a.term")
    assert link["href"] == "../01_numbers/index.html#term-fixed-point"


def test_a_heading_in_a_box_begins_no_section(entry):
    task = "# **Task.** Write `double`."
    edit(entry, task, f"{task}\n#\n# # Above\n#\n# ### Below")
    page = page_of(entry)
    box = page.select_one("#numbers-double")
    assert [head.text for head in box.select("h1, h3")] == ["Above", "Below"]
    assert not box.select("section") and len(page.select("article > section")) == 1


def test_the_answers_to_the_last_questions_are_folded(entry):
    text = entry.script.read_text(encoding="utf-8")
    cell = '\n# %% [markdown] tags=["answer"]\n# 1. Because $x + x$.\n'
    entry.script.write_text(text + cell, encoding="utf-8")
    fold = page_of(entry).select("details")[-1]
    assert fold.summary.text == "Answers" and fold.li.text.startswith("Because") and fold.math


def test_the_words_about_a_picture_that_answers_a_question_are_on_the_page(small_course, tmp_path):
    script = small_course.lesson("numbers").script
    said = "# caption: It grows.\n# alt: A line."
    drawn = "\n" + PICTURE.replace("# %%", '# %% tags=["answer"]').replace("# alt: A line.", said)
    script.write_text(script.read_text(encoding="utf-8") + drawn, encoding="utf-8")
    workspace.init(tmp_path / "mine", course.open_root(small_course.path))
    entry = course.open_root(tmp_path / "mine").lesson("numbers")
    assert "A line." not in entry.script.read_text(encoding="utf-8")
    solve(entry, "numbers-double")
    solve(entry, "numbers-triple")
    runner.test_lesson(entry)
    figure = page_of(entry).figure
    assert (figure.img["alt"], figure.figcaption.text) == ("A line.", "It grows.")


def test_a_test_writes_an_opened_page_again_and_no_other(entry):
    runner.test_lesson(entry)
    path = demonstrations.page_of(entry)
    assert not path.exists()
    lesson_page.write(entry)
    before = path.with_name("version.js").read_text(encoding="utf-8")
    solve(entry, "numbers-double")
    runner.test_lesson(entry)
    after = path.with_name("version.js").read_text(encoding="utf-8")
    version = re.fullmatch(r'newest\("(\w{16})"\);\n', after)
    assert before != after and f'data-version="{version[1]}"' in path.read_text(encoding="utf-8")
    lesson_page.refresh(entry)
    assert path.with_name("version.js").read_text(encoding="utf-8") == after
    entry.script.write_bytes(b"\xff")
    lesson_page.refresh(entry)  # the page stays as it was
    assert path.with_name("version.js").read_text(encoding="utf-8") == after


def test_formulas_become_mathml_and_html_stays_text():
    page = BeautifulSoup(markdown("The $x^2$ of\n\n$$\\frac{1}{n}$$\n\n<b>a</b>"), "html.parser")
    inline, block = page.find_all("math")
    assert inline["display"] == "inline" and inline.msup and block["display"] == "block"
    assert block.mfrac and page.find("b") is None and "<b>a</b>" in page.text
    signs = BeautifulSoup(markdown(r"$a - b = -8 - \infty + \log n + \log(n)$"), "html.parser")
    assert [one.get("form") for one in signs.find_all("mo", string="−")] == [None, "prefix", None]
    assert signs.find("mi", string="∞") and len(signs.find_all("mspace")) == 1
    table = BeautifulSoup(markdown("| a | b |\n| --- | --- |\n| 1 | $y$ |"), "html.parser")
    assert [cell.text for cell in table.find_all("th")] == ["a", "b"] and table.td.text == "1"


HOSTILE = [
    r"$\text{<script>run()</script>}$",
    r"$\text{&lt;img src=x onerror=run()&gt;}$",
    r"$\mathrm{<img src=x onerror=run()>}$ $\operatorname{<b>}$ $\color{<b>}{x}$",
    r"$\href{javascript:run()}{x}$ $$\href{https://example.com}{x}$$",
    r"$\style{background:url(http://127.0.0.1:9/x)}{x}$ $\class{cell}{x}$",
    r"$\hspace{1em' onclick='run()}$ $\rule{1\" onclick=\"run()}{1}$ $\textcolor{a\"b}{x}$",
    '$$x$$ ("><script>run()</script>)',
    "[x](javascript:run()) [x](JaVaScRiPt:run()) [x](java&#10;script:run()) <javascript:run()>",
    "[x](&#1;javascript:run()) [x](vbscript:run()) [x](data:text/html,<script>run()</script>)",
    "[x](file:///etc/passwd) [x](//127.0.0.1:9/x) [x](\\\\127.0.0.1\\x) [x](blob:x)",
    "[x]: javascript:run()\n\n[x]",
    "![x](http://127.0.0.1:9/pixel) ![x](//127.0.0.1:9/pixel) ![x](file://127.0.0.1/pixel)",
    "![x](data:image/svg+xml,<svg/onload=run()>) ![x](\\\\127.0.0.1\\pixel) ![x](/etc/passwd)",
    '![" onerror="run()](x.png "\\" onerror=\\"run()")',
    "<script>run()</script> <img src=http://127.0.0.1:9/x> <svg onload=run()> <base href=//x>",
    '``` "><script>run()</script>\n</code><script>run()</script>\n```',
    "<!-- --><style>@import 'http://127.0.0.1:9/x'</style>",
]
ALLOWED = {"class", "href", "id", "src", "alt", "title", "style", *html.ATTRIBUTES}
ELEMENTS = {*html.ELEMENTS, *"a blockquote code div em eq eqn img li ol p pre".split()}
ELEMENTS |= {*"section span strong ul".split()}


@pytest.mark.parametrize("text", HOSTILE)
def test_text_runs_nothing_and_loads_nothing(text):
    page = BeautifulSoup(markdown(text), "html.parser")
    for element in page.find_all(True):
        assert element.name in ELEMENTS and not element.attrs.keys() - ALLOWED, element
        assert "style" not in element.attrs or element.name in ("td", "th")
        assert urlsplit(element.get("href", "")).scheme in ("", "http", "https", "mailto")
        assert "\\" not in element.get("href", "") and element.get("href", "")[:2] != "//"
        assert re.match(r"[\w.%-]*$", element.get("src", ""))


def test_links_and_pictures_of_a_lesson_stay():
    text = (
        "[a](https://example.com/a:b) [b](#order) [c](../x.html) <https://example.com> ![d](d.png)"
    )
    page = BeautifulSoup(markdown(text), "html.parser")
    assert [a["href"] for a in page.find_all("a")] == [
        *("https://example.com/a:b", "#order", "../x.html", "https://example.com")
    ]
    assert page.img["src"] == "d.png" and page.img["alt"] == "d"


def test_a_name_or_an_output_of_a_learner_ends_no_attribute_and_turns_no_text(entry):
    solve(entry, "numbers-double")
    edit(entry, 'check("double")\n', 'check("double")\n\n# %%\nprint("\\x1b[31m\\u202e<b>")\n')
    edit(entry, '# %% exercise="triple"', r'# %% exercise="\"><script>run()</script>"')
    runner.test_lesson(entry)
    page = page_of(entry)
    assert r"\x1b[31m\u202e<b>" in page.select_one(".output pre").text
    assert len(page.find_all("script")) == 3


def test_a_formula_that_cannot_be_read_is_shown_as_it_is():
    assert "<code>x_</code>" in markdown("see $x_$ there")


@pytest.mark.parametrize("opens", [True, False])
def test_read_opens_the_page_or_says_where_it_is(small_workspace, entry, monkeypatch, opens):
    opened = []
    monkeypatch.setattr(lesson_page, "open_page", lambda path: opened.append(path) or opens)
    out, _ = tito(small_workspace, "read", "numbers")
    assert opened == [demonstrations.page_of(entry)] and opened[0].exists()
    words = "open in the browser" if opens else "no browser opens here; open this file"
    assert out == f"{words}: .tito/results/01_numbers/index.html\n"


# The lessons of the course, in a browser.


@pytest.fixture(scope="module")
def browser():
    with browsers.chromium() as browser:
        yield browser


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_follows_and_keeps_its_place(entry, browser, width):
    edit(entry, "# ## Tripling\n", "# ## Tripling\n" + "#\n# A paragraph.\n" * 60)
    lesson_page.write(entry)
    page = browser.new_page(viewport={"width": width, "height": 700})
    page.goto(demonstrations.page_of(entry).as_uri())
    page.evaluate("document.getElementById('numbers-triple').scrollIntoView()")
    page.locator("#numbers-triple details").first.evaluate("fold => { fold.open = true }")
    top = page.evaluate("document.getElementById('numbers-triple').getBoundingClientRect().top")
    solve(entry, "numbers-double")
    edit(entry, 'check("double")\n', f'check("double")\n{ASKED}')
    runner.test_lesson(entry)
    page.wait_for_selector("#numbers-double.right", timeout=10_000)
    now = page.evaluate("document.getElementById('numbers-triple').getBoundingClientRect().top")
    assert abs(now - top) < 2 and page.locator("#numbers-triple details").first.evaluate(
        "fold => fold.open"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


@pytest.mark.slow
def test_a_browser_runs_and_loads_nothing_of_a_lesson(entry, browser):
    """Neither through what is escaped, nor through the page's policy when something is not."""
    text = "\n".join(f"# {line}" for part in HOSTILE for line in [*part.split("\n"), ""])
    edit(entry, "# ## Tripling\n", f"# ## Tripling\n#\n{text}\n")
    path = lesson_page.write(entry)
    raw = "<script>run()</script><img src=http://127.0.0.1:9/x onerror=run()><embed src=//x>"
    hole = path.with_name("hole.html")
    hole.write_text(path.read_text("utf-8").replace("</main>", raw + "</main>"), encoding="utf-8")
    for page_path in (path, hole):
        page, asked, loaded, ran = browser.new_page(), [], [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("requestfinished", lambda request: loaded.append(request.url))
        page.expose_function("run", lambda: ran.append(1))
        with page.expect_event("requestfinished", lambda request: "version.js" in request.url):
            page.goto(page_path.as_uri())
        assert not ran
        near = path.parents[1].as_uri()  # the fonts are beside the folders of lessons
        assert page_path is hole or all(url.startswith(near) for url in asked), asked
        assert all(url.startswith(near) for url in loaded)
        page.close()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(entry, browser, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    solve(entry, "numbers-double")
    edit(entry, 'check("double")\n', f'check("double")\n{ASKED}\n{PICTURE}\n# See $x^2$.\n')
    runner.test_lesson(entry)
    page = browser.new_page(color_scheme=scheme)
    page.goto(lesson_page.write(entry).as_uri())
    problems = axe.run(page).response["violations"]
    assert [p["id"] for p in problems if p["impact"] in ("serious", "critical")] == []
    page.close()


def test_the_page_knows_the_result_of_a_test_of_one_exercise(small_workspace):
    entry = small_workspace.lesson("numbers")
    page = lesson_page.write(entry)
    for name, word in (("double", "right"), ("triple", "not right yet")):
        solve(entry, f"numbers-{name}")
        if name == "triple":
            edit(entry, "return double(x) + x", "return double(x) - x")
        tito(small_workspace, "test", f"numbers-{name}", code=int(name == "triple"))
        section = page.read_text(encoding="utf-8").partition(f'id="numbers-{name}"')[2]
        assert f'<span class="state">{word}</span>' in section.partition("</div>")[0]
