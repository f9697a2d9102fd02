"""The page of a lesson, before Sphinx has it."""

import json

import pytest
from small_course import make_course, with_question

from tito.book import made, pages
from tito.lesson import course, glossary


@pytest.fixture
def entry(tmp_path):
    root = make_course(tmp_path)
    path = root / "modules/source/01_numbers/numbers_dev.py"
    path.write_text(with_question(), "utf-8")
    return course.open_root(root).lesson("numbers")


@pytest.mark.parametrize("edition", ["learner", "author"])
def test_only_the_authors_edition_holds_a_sample_answer(entry, edition):
    books = map(json.loads, pages.notebooks(entry, edition, {}, []).values())
    text = "\n".join(cell["source"] for book in books for cell in book["cells"])
    assert "multiply by four?" in text and "For a person to judge, 2 points" in text
    assert ("Because" in text) == (edition == "author")
    assert "SOLUTION" not in text or edition == "author" and "Your answer" not in text


def test_no_sample_answer_is_prose_of_the_glossary(entry):
    prose = str(glossary.sections(entry.declared.source))
    assert "multiply by four" in prose and "Because" not in prose


@pytest.mark.parametrize("words, link", [("", ""), ("Try it", ">Try it</a>")])
def test_the_link_to_a_lesson_in_the_browser_is_there_when_the_site_has_one(
    small_course, words, link
):
    text = made.fill(
        "index.md", "<!-- made: browser sums -->", small_course, None, (), button=words
    )
    assert text.endswith(link) and ("path=02_sums/sums_dev.ipynb" in text) == bool(words)
