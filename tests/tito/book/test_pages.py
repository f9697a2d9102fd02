"""The pages of a lesson, as parts, and what is generated for other pages."""

import pytest
from small_course import NUMBERS, make_course, with_question

from tito.book import generated_parts
from tito.book import pages as site_pages
from tito.errors import TitoError
from tito.lesson import course, glossary, notebook
from tito.page import lesson as lesson_parts


@pytest.fixture
def entry(tmp_path):
    root = make_course(tmp_path)
    path = root / "modules/source/01_numbers/numbers_dev.py"
    path.write_text(with_question(), "utf-8")
    return course.open_root(root).lesson("numbers")


def pages(entry):
    return site_pages.of_lesson(entry, {}, [])


def test_a_question_is_shown_without_its_sample_answer(entry):
    text = "\n".join(part.source for page in pages(entry) for part in page.parts)
    assert "multiply by four?" in text and "For a person to judge, 2 points" in text
    assert "Because" not in text and "SOLUTION" not in text


def test_no_sample_answer_is_prose_of_the_glossary(entry):
    prose = str(glossary.sections(entry.declared.source))
    assert "multiply by four" in prose and "Because" not in prose


def test_a_page_holds_the_sections_up_to_the_next_mark_and_references_are_links(tmp_path):
    marked = NUMBERS.replace(
        "[markdown]\n# ## Doubling\n", '[markdown] page="Products"\n# ## Doubling\n'
    )
    text = marked.replace("# **Task.** Write `triple`", '# See section "Doubling" and `lesson 02`')
    path = make_course(tmp_path) / "modules/source/01_numbers/numbers_dev.py"
    path.write_text(text + "\n# %% [markdown]\n# In lesson 02, and lesson 02.\n", "utf-8")
    entry = course.open_root(tmp_path).lesson("numbers")
    opening, products = pages(entry)
    assert products.path == "lessons/01_numbers/products"
    written = [part.source for part in products.parts]
    assert written[:2] == ["# Products", "## 1.1 Doubling"] and "## 1.2 Tripling" in written
    assert 'See [section "Doubling"](products.html#doubling) and `lesson 02`.' in written
    assert written[-1] == "In [lesson 02](../02_sums.html), and lesson 02."
    listed = opening.parts[-1].source
    assert '<a href="01_numbers/products.html#tripling">1.2 Tripling</a>' in listed
    assert '<li id="numbers-double"><a href="01_numbers/products.html#numbers-double">' in listed
    there = lesson_parts.addresses(entry)["Tripling"]
    assert there == "lessons/01_numbers/products.html#tripling"


PREDICTED = """
# %% [markdown]
# Predict what it prints.

# %% tags=["answer", "explained"]
print(double(4))

# %% [markdown]
{below}
"""


def predicted(root, below):
    path = root / "modules/source/01_numbers/numbers_dev.py"
    path.write_text(NUMBERS + PREDICTED.format(below=below), "utf-8")
    return course.open_root(root).lesson("numbers")


def test_the_paragraph_that_explains_an_answer_is_apart_from_what_follows(tmp_path):
    entry = predicted(make_course(tmp_path), "# It is twice four.\n#\n# Now the rest.\n# ## More")
    *_, before, last = pages(entry)
    *_, answer, rest = before.parts
    assert answer.answer == "The answer" and answer.explanation.source == "It is twice four."
    assert rest.source == "Now the rest." and rest.line - answer.explanation.line == 2
    assert "More" in last.parts[0].source


@pytest.mark.parametrize("below", ["# ## More", "# **Task.** Write it."])
def test_an_explanation_that_is_none_is_refused(tmp_path, below):
    entry = predicted(make_course(tmp_path), below)
    with pytest.raises(TitoError, match="no paragraph below explains"):
        pages(entry)


GIVEN = '''
# %% [markdown]
# ## Counting
#
# **Task.** Write `Counter.up`.

# %% A counter exercise="counter"
#| export
class Counter:
    """Counts."""

    def __init__(self):
        self.n = 0

    def names(self):
        first = "a"
        second = "b"

        return [first, second][..., 0]

    def up(self):
        ### BEGIN SOLUTION
        self.n += 1
        ### END SOLUTION

    def down(self):
        self.n -= 1


# %% checks="counter"
check("counter")
'''


def test_given_methods_are_folded_around_the_one_to_write(tmp_path):
    root = make_course(tmp_path)
    folder = root / "modules/source/01_numbers"
    (folder / "numbers_dev.py").write_text(NUMBERS + GIVEN, "utf-8")
    checks = folder / "checks.py"
    more = "\n\n# %% counter points=1\ndef test_up():\n    assert Counter()\n"
    checks.write_text(checks.read_text("utf-8") + more, "utf-8")
    *_, last = pages(course.open_root(root).lesson("numbers"))
    head = next(n for n, part in enumerate(last.parts) if "A counter" in part.source)
    title, given, to_write, command = (last.parts[head + n] for n in (2, 3, 4, 5))
    assert title.source == 'class Counter:\n    """Counts."""' and not title.folded
    assert given.folded == "Given: __init__, names"
    assert to_write.source.startswith("    def up(self):\n        ...\n\n    def down")
    assert command.source == "```text\ntito test numbers-counter\n```"


OPENING = """# %% tags=["payoff"]
import json

import numpy as np

print(1)
# caption: It counts.
# alt: A bar.

# %%
#| export
import math
"""


def test_the_imports_of_a_lessons_opening_are_folded_and_in_its_notebook_they_are_not(tmp_path):
    root = make_course(tmp_path)
    path = root / "modules/source/01_numbers/numbers_dev.py"
    text = NUMBERS.replace("# %%\n#| export\nimport math\n", OPENING, 1)
    path.write_text(text, "utf-8")
    entry = course.open_root(root).lesson("numbers")
    first, *_ = pages(entry)
    folded, shown, imports, rest = (part for part in first.parts if part.kind == "code")
    assert folded.source == "import json\n\nimport numpy as np" and folded.folded == "Imports"
    assert (shown.source, shown.alt, shown.caption) == ("print(1)", "A bar.", "It counts.")
    assert "import math" in imports.source and rest.source == "LIMIT = 10"
    assert "hide-input" not in notebook.to_notebook(entry.declared.released, entry.declared)


PHASES = """# Small

### First

Words.

<!-- made: lessons numbers -->

### Then

<!-- made: lessons sums -->
"""


def test_a_page_lists_the_lessons_in_phases_with_the_hours_of_each(small_course, tmp_path):
    text = generated_parts.Parts(small_course, tmp_path).fill("index.md", PHASES)
    first, then = text.split("### Then")
    for part, caption, lesson, other in (
        (first, "First", "lessons/01_numbers", "lessons/02_sums"),
        (then, "Then", "lessons/02_sums", "lessons/01_numbers"),
    ):
        assert f"({lesson}.html)" in part and f"<!-- contents {caption}: {lesson} -->" in part
        assert other not in part
    found = generated_parts.phases(small_course, PHASES)
    assert [entry.name for _, entries in found for entry in entries] == [
        entry.name for entry in small_course.lessons
    ]


def test_only_the_ways_to_get_the_course_that_exist_are_named(small_course, tmp_path):
    def listed(**more):
        root = course.open_root(small_course.path)
        return generated_parts.Parts(root, tmp_path, **more).fill("x.md", "<!-- made: get -->")

    assert listed().count("\n") == 0 and "http" not in listed()
    assert '<a href="small.zip">' in listed(archive="small.zip")
    with (small_course.path / "tito.toml").open("a", encoding="utf-8") as settings:
        settings.write('\n[book]\nrelease = "https://github.com/ada/tiny"\n')
    assert "`git clone https://github.com/ada/tiny`" in listed()
