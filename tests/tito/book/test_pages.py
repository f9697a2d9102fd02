"""The page of a lesson, before Sphinx has it."""

import json

import pytest
from small_course import NUMBERS, make_course, with_question

from tito.book import generated_parts, pages
from tito.errors import TitoError
from tito.lesson import course, glossary


@pytest.fixture
def entry(tmp_path):
    root = make_course(tmp_path)
    path = root / "modules/source/01_numbers/numbers_dev.py"
    path.write_text(with_question(), "utf-8")
    return course.open_root(root).lesson("numbers")


def test_a_question_is_shown_without_its_sample_answer(entry):
    books = map(json.loads, pages.notebooks(entry, {}, []).values())
    text = "\n".join(cell["source"] for book in books for cell in book["cells"])
    assert "multiply by four?" in text and "For a person to judge, 2 points" in text
    assert "Because" not in text and "SOLUTION" not in text


def test_no_sample_answer_is_prose_of_the_glossary(entry):
    prose = str(glossary.sections(entry.declared.source))
    assert "multiply by four" in prose and "Because" not in prose


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
    *_, before, last = map(json.loads, pages.notebooks(entry, {}, []).values())
    texts = [cell["source"] for cell in before["cells"]]
    assert texts[texts.index("% explained") :] == [
        "% explained",
        "It is twice four.",
        "Now the rest.",
    ]
    lines = before["metadata"]["source_map"]
    assert lines[-1] - lines[-2] == 2 and "More" in str(last["cells"])


@pytest.mark.parametrize("below", ["# ## More", "# **Task.** Write it."])
def test_an_explanation_that_is_none_is_refused(tmp_path, below):
    entry = predicted(make_course(tmp_path), below)
    with pytest.raises(TitoError, match="no paragraph below explains"):
        pages.notebooks(entry, {}, [])


@pytest.mark.parametrize("browser", [False, True])
def test_the_link_to_a_lesson_in_the_browser_is_there_when_the_site_has_one(
    small_course, tmp_path, browser
):
    parts = generated_parts.Parts(small_course, tmp_path, browser=browser)
    text = parts.fill("index.md", "<!-- made: browser sums -->")
    assert ("path=02_sums/sums_dev.ipynb" in text) == ("Try it in the browser" in text) == browser
