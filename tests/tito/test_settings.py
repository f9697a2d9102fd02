"""tito/settings.py: no setting is ignored, and none can stop tito with a traceback."""

import json
from contextlib import suppress
from datetime import datetime

import pytest
from commands import tito
from hypothesis import given
from hypothesis import strategies as st

from tito import settings
from tito.errors import TitoError, UsageError
from tito.learn import doctor
from tito.lesson import course

BEGIN = '[course]\nname = "Small"\nedition = "1"\npackage = "tinytorch"\n'


def refused(folder, text, begin=BEGIN):
    (folder / "tito.toml").write_text(begin + text, encoding="utf-8")
    with pytest.raises(UsageError) as error:
        settings.read_root(folder)
    assert error.value.code == 2 and error.value.remedy
    assert error.value.what.startswith(f"{folder / 'tito.toml'}:")
    return error.value.what.split("tito.toml:")[1], error.value.remedy


@pytest.mark.parametrize(
    ("text", "what", "remedy"),
    [
        ("[late]\npercent_per_day = 10", "5: [late] means nothing here.", "is now in [grading]"),
        ("[late.due]\ntensor = 3", "5: [late] means nothing here.", "to [grading.due]"),
        ("[resubmission]\npolicy = 'best'", "5: [resubmission] means", "is now in [grading]"),
        ("[gradng]\npolicy = 'best'", "5: [gradng] means nothing", "Did you mean 'grading'?"),
        ("[Grading]\npolicy = 'best'", "5: [Grading] means nothing", "Did you mean 'grading'?"),
        ("[zoo]", "5: [zoo] means nothing here.", "There are: course, book, grading."),
        ("[[zoo]]", "5: 'zoo' means nothing here.", "There are: course, book, grading."),
        ("[due]\ntensor = 3", "5: [due] means nothing here.", "It belongs in [grading]."),
        ("[workspace]\ncourse = 'x'", "5: [workspace] means nothing", "There are: course,"),
        ("compair = true", "5: [course] has 'compair', which", "Did you mean 'compare'?"),
        ("policy = 'best'", "5: [course] has 'policy', which", "It belongs in [grading]."),
        ("[grading.dew]\ntensor = 3", "5: [grading] has 'dew', which", "Did you mean 'due'?"),
        ("[grading]\n\npolicies = 'best'", "7: [grading] has 'policies'", "Did you mean 'policy'?"),
        ("[book]\nrelase = ''", "6: [book] has 'relase', which", "Did you mean 'release'?"),
        ("grading = 3", "5: [course] has 'grading', which", ""),
        ("[grading]\nmemory_mb = 511", "6: [grading] memory_mb is 511.", "between 512 and"),
        ("[grading]\ncheck_seconds = nan", "6: [grading] check_seconds is NaN.", "between 0.1"),
        ("[grading]\ncheck_seconds = true", "6: [grading] check_seconds is True.", "between 0.1"),
        ("[grading]\nearlier_lessons = 1", "6: [grading] earlier_lessons is 1.", "own, reference"),
        ("[grading]\nzone = ['UTC']", "6: [grading] zone is ['UTC'].", "Europe/Berlin"),
        ("[grading]\ndue = 2026-12-01", "6: [grading] due is ", "[grading.due]"),
        ("compare = 'no'", "5: [course] compare is 'no'.", "true or false"),
        ("[book", "1: it is not valid TOML", "Correct it."),
        (f"[grading]\ngrace_minutes = {'9' * 5000}", "1: it is not valid TOML", "Correct it."),
        ("[grading]\ngrace_minutes = 1e99999999999999999999", "1: it is not", "Correct it."),
        (f"x = {'[' * 5000}{']' * 5000}", "1: it is not valid TOML", "Correct it."),
        (f"x = {'9' * 3000}", "5: [course] has 'x', which means nothing", "There are: "),
        (f"compare = {'9' * 3000}", "5: [course] compare is 999", "true or false"),
        ("['\u202e']", "5: '\\u202e' means nothing here.", "There are: "),
    ],
)
def test_what_is_unknown_or_wrong_is_refused_with_the_name_that_is_meant(
    tmp_path, text, what, remedy
):
    said = refused(tmp_path, text)
    assert said[0].startswith(what) and remedy in said[1]


def test_a_workspace_has_no_settings_of_a_course(tmp_path):
    begin = BEGIN.replace("[course]\nname", "[workspace]\ncourse")
    assert "in the tito.toml of the course" in refused(tmp_path, "[grading]", begin)[1]
    assert refused(tmp_path, "[worksapce]", begin)[1] == "Did you mean 'workspace'?"
    assert refused(tmp_path, "compare = true", begin)[0].startswith("5: [workspace] has 'compare'")


@pytest.mark.parametrize("words", [("status",), ("test", "numbers"), ("hint", "numbers")])
def test_a_workspace_with_an_unknown_table_can_be_diagnosed_and_updated(
    small_course, small_workspace, words
):
    config = small_workspace.path / "tito.toml"
    config.write_text(f"{config.read_text(encoding='utf-8')}\n[reviews]\ndaily = 3\n", "utf-8")
    _, err = tito(small_workspace, *words, code=2)
    assert "[reviews] means nothing here." in err and len(err.strip().splitlines()) == 2
    found = {one.what: one for one in doctor.examine(small_workspace.path)}
    assert "[reviews] means nothing" in found["settings"].value and found["settings"].remedy
    assert found["root"].state == "ok"
    tito(small_workspace, "update", small_course.path)
    tito(small_workspace, "status")
    tito(small_workspace, "undo")
    assert "[reviews]" in config.read_text(encoding="utf-8")


names = st.sampled_from(
    ["course", "book", "grading", "due", "late", "gradng", "zone", "policy", "release", "x y", ""]
) | st.text(max_size=5)
plain = (
    st.text(max_size=5)
    | st.integers(-9, 2000)
    | st.floats()
    | st.booleans()
    | st.dates()
    | st.datetimes()
    | st.sampled_from(["best", "Europe/Berlin", "+25:00", "zero", "https://github.com/a/b"])
)
values = st.recursive(plain, lambda inner: st.lists(inner, max_size=2), max_leaves=3)
tables = st.dictionaries(names, st.dictionaries(names, values, max_size=4), max_size=4)


def quoted(value):
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def toml(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, (bool, str)):
        return quoted(value)
    return repr(value) if isinstance(value, (int, float)) else value.isoformat()


@pytest.mark.slow
@given(written=tables)
def test_any_file_is_read_or_refused_and_nothing_unknown_is_read(tmp_path_factory, written):
    folder = tmp_path_factory.mktemp("course")
    known = {"name": "Small", "edition": "1", "package": "tinytorch"}
    written["course"] = written.get("course", {}) | known
    lines = [f"{quoted(name)} = {toml(table)}" for name, table in written.items()]
    (folder / "tito.toml").write_text("\n".join(lines), encoding="utf-8")
    try:
        found = settings.read_root(folder)
    except TitoError as error:
        assert error.code == 2 and error.remedy
        with suppress(UsageError):  # and nothing else
            course.open_root(folder, strict=False)
        return
    assert found.keys() <= settings.COURSE.keys()
    for name, table in found.items():
        assert table.keys() <= settings.COURSE[name].form.keys()
    zone = found.get("grading", {}).get("zone")
    assert zone is None or isinstance(zone, str)
    assert not isinstance(found.get("grading", {}).get("policy"), datetime)
