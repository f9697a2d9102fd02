"""The course's terms, as read from its lessons."""

from dataclasses import replace

import pytest
from small_course import NUMBERS, SUMS, introduce, make_course

from tito.errors import TitoError
from tito.lesson import course, glossary

PROSE = """# ## Doubling
#
# To add a number to itself is called **doubling**, e.g. of 2: it gives 4. A *fixed
# point* stays where it is. The **`retain_graph`** option is for later.
#
# **You need** a **halved number**.
"""


@pytest.fixture
def root(tmp_path):
    numbers = NUMBERS.replace("# ## Doubling\n", PROSE)
    sums = SUMS.replace("# # 02. Sums\n", "# # 02. Sums\n#\n# ## Sums\n#\n# Doublings, twice.\n")
    make_course(tmp_path)
    introduce(tmp_path, {"doubling": "torch.mul", "fixed point": "", "retain_graph": ""})
    for name, text in (("01_numbers/numbers_dev.py", numbers), ("02_sums/sums_dev.py", sums)):
        (tmp_path / "modules" / "source" / name).write_text(text, encoding="utf-8")
    return course.open_root(tmp_path)


def test_a_term_has_the_sentence_and_the_section_that_explain_it(root):
    double, point, retain = glossary.read_terms(root)
    assert (double.term, double.lesson, double.number) == ("doubling", "numbers", 1)
    assert double.sentence == (
        "To add a number to itself is called **doubling**, e.g. of 2: it gives 4."
    )
    assert (double.section, double.title, double.pytorch) == ("Doubling", "Numbers", "torch.mul")
    assert point.sentence == "A *fixed point* stays where it is." and point.pytorch == ""
    assert retain.sentence == "The **`retain_graph`** option is for later."


def test_a_term_knows_the_later_lessons_that_use_it(root):
    double, point, _ = glossary.read_terms(root)
    assert double.used == {"sums": "Sums"} and point.used == {}


def test_a_term_is_found_in_the_plural_and_in_capitals(root):
    terms = glossary.read_terms(root)
    (result,) = glossary.find_terms(terms, " Fixed  POINTS")
    assert result.term == "fixed point"


def test_a_term_is_found_by_a_synonym(root):
    path = root.path / "modules/source/01_numbers/lesson.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(f'{text}\n[synonyms]\n"doubling" = ["Times two"]\n', encoding="utf-8")
    terms = glossary.read_terms(course.open_root(root.path))
    (result,) = glossary.find_terms(terms, "times TWO")
    assert result.term == "doubling" and result.synonyms == ["Times two"]


def test_a_name_that_two_lessons_explain_gives_both(root):
    terms = glossary.read_terms(root)
    again = [replace(term, number=2) for term in terms if term.term == "doubling"]
    assert [term.number for term in glossary.find_terms(terms + again, "doubling")] == [1, 2]


def test_a_word_of_a_name_is_enough_if_few_names_have_it(root):
    terms = glossary.read_terms(root)
    (result,) = glossary.find_terms(terms, "points")
    assert result.term == "fixed point"
    more = [replace(result, term=f"{n} point") for n in ("a", "b", "c")]
    with pytest.raises(TitoError):
        glossary.find_terms(terms + more, "point")


@pytest.mark.parametrize(
    "word, remedy",
    [("doublin", "Did you mean 'doubling'?"), ("entropy", "`tito word` lists them all.")],
)
def test_an_unknown_word_is_reported_with_its_neighbours(root, word, remedy):
    with pytest.raises(TitoError) as messages:
        glossary.find_terms(glossary.read_terms(root), word)
    assert messages.value.remedy == remedy


def test_prose_about_what_one_needs_explains_nothing(root):
    parts = glossary.sections(root.lesson("numbers").declared.source)
    assert glossary.explanation("halved number", parts) is None
