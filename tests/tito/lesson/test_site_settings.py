"""tito/lesson/site_settings.py: what tito.toml says of where a course is published."""

import pytest

from tito.errors import TitoError
from tito.learn import doctor
from tito.lesson import site_settings


def say(root, text):
    path = root.path / "tito.toml"
    path.write_text(f"{path.read_text(encoding='utf-8')}\n{text}\n", encoding="utf-8")
    return root


def settings_of(root):
    return next(f for f in doctor.examine(root.path) if f.what == "settings")


def test_a_course_that_says_nothing_has_no_addresses(small_course):
    assert site_settings.read(small_course.path) == site_settings.Published()


def test_the_addresses_follow_from_the_release(small_course):
    say(small_course, '[book]\nrelease = "https://github.com/ada/small"\nbranch = "spring/27"')
    place = site_settings.read(small_course.path)
    assert place.binder("a/b.ipynb") == (
        "https://mybinder.org/v2/gh/ada/small/spring%2F27?urlpath=lab/tree/a/b.ipynb"
    )


@pytest.mark.parametrize(
    "text, said",
    [
        ('[book]\nrelease = "https://gitlab.com/ada/small"', "release is 'https://gitlab.com"),
        ('[book]\nrelease = "https://github.com/ada/small.git"', "release is"),
        ('[book]\nrelease = "https://github.com/ada/small/"', "release is"),
        ('[book]\nrelease = "https://github.com/ada"', "release is"),
        ('[book]\nrelase = "https://github.com/ada/small"', "has 'relase', which means nothing"),
        ("[book]\nrelease = 3", "release is 3"),
        (
            '[book]\nrelease = "https://github.com/ada/small"\nbranch = "the main one"',
            "branch is 'the main one'",
        ),
        ('[book]\nbranch = "main"', "there is no release"),
    ],
)
def test_a_setting_that_cannot_work_is_reported_with_its_value(small_course, text, said):
    with pytest.raises(TitoError) as refused:
        site_settings.read(say(small_course, text).path)
    assert said in refused.value.what and refused.value.code == 2 and refused.value.remedy


def test_doctor_says_of_a_course_where_its_links_lead(small_course):
    assert settings_of(small_course).value == "Small 1"
    say(small_course, '[book]\nrelease = "https://github.com/ada/small"')
    assert settings_of(small_course).state == "ok"
    assert "https://github.com/ada/small, branch main" in settings_of(small_course).value


def test_doctor_names_a_setting_that_cannot_work(small_course):
    say(small_course, '[book]\nrelease = "https://github.com/ada"')
    (finding,) = (one for one in doctor.examine(small_course.path) if one.state == "problem")
    assert finding.what == "settings" and finding.remedy
    assert "release is 'https://github.com/ada'" in finding.value
