"""Finding roots and lessons."""

import pytest

from tito.errors import TitoError
from tito.lesson import course


@pytest.mark.parametrize("wanted", ["sums", "2", "02", "02_sums", 2])
def test_a_lesson_is_found_by_name_and_by_number(small_course, wanted):
    assert small_course.lesson(wanted).folder == "02_sums"


@pytest.mark.parametrize(
    ("wanted", "remedy"),
    [
        ("number", "Did you mean 'numbers'?"),
        ("01_numbrs", "Did you mean 'numbers'?"),
        ("3", "There are: numbers, sums."),
        ("", "There are"),
        ("²", "There are"),
    ],
)
def test_an_unknown_lesson_is_reported_with_a_suggestion(small_course, wanted, remedy):
    with pytest.raises(TitoError) as error:
        small_course.lesson(wanted)
    assert repr(wanted) in error.value.what and remedy in error.value.remedy


@pytest.mark.parametrize(
    ("words", "selection"),
    [
        ("numbers", {"numbers": []}),
        ("numbers-double", {"numbers": ["double"]}),
        ("numbers double", {"numbers": ["double"]}),
        ("1 double triple sums", {"numbers": ["double", "triple"], "sums": []}),
        ("numbers numbers-double", {"numbers": ["double"]}),
        ("triple", {"numbers": ["triple"]}),
        ("sums-total numbers-double", {"sums": ["total"], "numbers": ["double"]}),
        ("1-2", {"numbers": [], "sums": []}),
        ("2-9", {"sums": []}),
        ("", {}),
    ],
)
def test_lessons_and_exercises_are_named_in_any_form(small_course, words, selection):
    selected = small_course.select(words.split())
    assert {e.name: [x.name for x in exercises] for e, exercises in selected.items()} == selection


@pytest.mark.parametrize(
    ("words", "what", "remedy"),
    [
        ("numbers-doubel", "no lesson and no exercise 'numbers-doubel'", "numbers-double"),
        ("numbers doubel", "Lesson numbers has no exercise 'doubel'", "There are: numbers-double"),
        ("nmbers", "no lesson and no exercise 'nmbers'", "Did you mean 'numbers'?"),
        ("7-9", "There is no lesson '7'", "There are: numbers, sums."),
        ("x", "no lesson and no exercise 'x'", "There are these lessons: numbers, sums."),
    ],
)
def test_an_unknown_exercise_is_refused_with_a_suggestion(small_course, words, what, remedy):
    with pytest.raises(TitoError) as error:
        small_course.select(words.split())
    assert what in error.value.what and remedy in error.value.remedy


def test_the_root_is_found_upward(small_course):
    assert course.find_root(small_course.lesson("sums").script.parent) == small_course


def test_no_root_is_reported_with_how_to_make_one(tmp_path):
    with pytest.raises(TitoError, match="is not inside a course or a workspace") as error:
        course.find_root(tmp_path)
    assert "tito init" in error.value.remedy
    with pytest.raises(TitoError, match="has no tito.toml"):
        course.find_root(tmp_path, tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[course", "is not valid TOML"),
        ("", "has no [course] and no [workspace]"),
        ("course = 3", "has no [course] and no [workspace]"),
        ('[course]\nname = "X"\nedition = 2026\npackage = "p"', "[course] edition is 2026"),
        ('[course]\nname = "X"\nedition = "1"\npackage = "../p"', "package is '../p'"),
        (
            '[course]\nname = "X"\nedition = "1"\npackage = "p"\nbook = "example.org"',
            "[course] book is 'example.org'",
        ),
    ],
)
def test_a_damaged_tito_toml_is_reported(tmp_path, text, said):
    (tmp_path / "tito.toml").write_text(text, encoding="utf-8")
    with pytest.raises(TitoError) as error:
        course.find_root(tmp_path)
    assert said in error.value.what and error.value.remedy


def test_two_lessons_of_one_number_are_reported(small_course):
    folder = small_course.path / "modules" / "source" / "02_again"
    folder.mkdir()
    (folder / "again_dev.py").touch()
    with pytest.raises(TitoError, match="02_again and 02_sums have the same number"):
        course.open_root(small_course.path).lessons  # noqa: B018


def test_a_course_without_lessons_is_reported(tmp_path):
    (tmp_path / "tito.toml").write_text(
        '[course]\nname = "X"\nedition = "1"\npackage = "p"\n', encoding="utf-8"
    )
    with pytest.raises(TitoError, match="has no folder modules/source"):
        course.open_root(tmp_path).lessons  # noqa: B018
    (tmp_path / "modules" / "source").mkdir(parents=True)
    with pytest.raises(TitoError, match="There is no lesson"):
        course.open_root(tmp_path).lessons  # noqa: B018
