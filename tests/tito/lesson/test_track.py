"""tito/lesson/track.py: tracks.toml, the view of a lesson, and the sections that are folded."""

import pytest
from small_course import TRACKS, lesson, make_course

from tito.errors import TitoError
from tito.lesson import cells, course, mistakes, track


@pytest.fixture
def tracked(small_course):
    (small_course.path / "tracks.toml").write_text(TRACKS, encoding="utf-8")
    return course.open_root(small_course.path)


def test_a_view_has_given_code_in_place_of_an_exercise(tracked):
    viewed = tracked.on_tracks(["short"]).lesson("numbers").declared
    assert [e.id for e in viewed.exercises] == ["numbers-triple"] and viewed.points == 1
    assert viewed.given == [("numbers-double", "Double", "Doubling")]
    assert (
        '# %% given="double"\n#| export\n'
        "# Given on this track. To write it yourself: tito reset numbers-double\n"
        "def double(x):"
    ) in viewed.source.text
    assert "    twice = x + x\n    return twice\n" in viewed.released
    assert "SOLUTION" not in viewed.released and 'check("double")' not in viewed.released
    assert f"{track.GIVEN_TASK} Write `double`." in viewed.released
    assert "**Task.** Write `triple`." in viewed.released
    assert "# The checks of lesson 01, by exercise." in viewed.checks_source.text  # above the first
    assert "test_double" not in viewed.released_checks
    assert viewed.hints_text == "## triple\n\n1. Use `double`.\n"
    assert tracked.lesson("numbers").declared.points == 5  # the course itself is whole


def test_a_lesson_may_have_no_exercise_and_then_has_no_question(tracked):
    viewed = tracked.on_tracks(["first"]).lesson("sums").declared
    assert viewed.exercises == viewed.questions == () and viewed.points == 0
    assert [id for id, *_ in viewed.given] == ["sums-total"]
    assert "hidden" not in viewed.checks_source.text


def test_changes_add_and_take_away(tracked):
    def ids(*where):
        lessons = tracked.on_tracks(*where).lessons
        return [exercise.name for entry in lessons for exercise in entry.declared.exercises]

    assert ids(["short"]) == ["triple", "total"]
    assert ids(["short"], ["+numbers-double", "-sums-total"]) == ["double", "triple"]
    assert ids(["short", "first"]) == ids(["whole"]) == ids([]) == ["double", "triple", "total"]
    assert (
        ids([], ["-numbers-double"]) == ids(["whole"], ["-numbers-double"]) == ["triple", "total"]
    )


BAD = [  # a change of tracks.toml, the line that is named, the message
    (("sums", "sume"), 4, "no lesson and no exercise 'sume'"),
    (("numbers triple", "numbers total"), 4, "Lesson numbers has no exercise 'total'"),
    (('"sums"', '"sums", "sums total"'), 4, "sums-total is on the track twice"),
    (("[short]", "[whole]"), 1, "'whole' is no name of a track"),
    (("[short]", "[Short]"), 1, "'Short' is no name of a track"),
    (('["numbers triple", "sums"]', "[]"), 4, "It should be a list of lessons and exercises"),
    (('["numbers triple", "sums"]', '"sums"'), 4, "It should be a list of lessons and exercises"),
    (("hours = 1\n", ""), 1, "[short] hours is missing"),
    (("hours", "ours"), 3, "'ours', which means nothing here"),
    (('"A short way"', '""'), 2, "[short] title"),
    (("[short]", "[short"), 1, "not valid TOML"),
]


@pytest.mark.parametrize(("change", "line", "said"), BAD)
def test_a_wrong_tracks_toml_is_refused_with_its_line(tracked, change, line, said):
    path = tracked.path / "tracks.toml"
    assert change[0] in TRACKS
    path.write_text(TRACKS.replace(*change, 1), encoding="utf-8")
    with pytest.raises(TitoError) as refused:
        assert course.open_root(tracked.path).on_tracks(["short"]).keep
    words = f"{refused.value.what} {refused.value.remedy}"
    assert words.startswith(f"{path}:{line}: ") and said in words


def test_an_unknown_track_is_named_with_the_others(tracked):
    with pytest.raises(TitoError, match="There is no track 'shrot'") as refused:
        assert tracked.on_tracks(["shrot"]).keep
    assert refused.value.remedy == "Did you mean 'short'? There are: short, first, late, whole."


def test_recorded_mistakes_of_given_exercises_are_still_read(tracked):
    assert len(mistakes.load(tracked.lesson("numbers").declared).rights) == 4


SECTIONS = """\
# %% [markdown]
# # Title
#
# Opening.
#
# ## Before
{}
# %% [markdown]
# Its end.
#
# ## Between
{}
# %% [markdown]
# ## After
{}
"""
WRITTEN, GIVEN = '\n# %% exercise="a"\na = 1\n', '\n# %% given="b"\nb = 1\n'
PAYOFF = '\n# %% tags=["payoff"]\nprint(1)\n'


@pytest.mark.parametrize(
    ("parts", "closed"),
    [
        ((WRITTEN, GIVEN, ""), {"Between": ["b"], "After": []}),
        ((WRITTEN, "", GIVEN), {"After": ["b"]}),
        ((GIVEN, "", WRITTEN), {"Before": ["b"]}),
        ((WRITTEN, GIVEN, PAYOFF), {"Between": ["b"]}),
        ((WRITTEN, GIVEN + WRITTEN, ""), {}),
        ((GIVEN, "", ""), {}),  # of a lesson without an exercise nothing is folded
    ],
)
def test_sections_away_from_what_is_written_are_closed(parts, closed):
    source = cells.parse(lesson().path, SECTIONS.format(*parts))
    assert track.closed_sections(source) == closed


def test_an_optional_section_is_closed_and_a_cell_is_divided_at_a_heading():
    text = SECTIONS.format(WRITTEN, WRITTEN, "").replace("After", "More (optional)")
    source = cells.parse(lesson().path, text)
    assert track.closed_sections(source) == {"More (optional)": []}
    sections = {
        heading: [cell.source for cell in row] for heading, row in track.sections_of(source)
    }
    assert sections["Before"] == ["## Before", "a = 1", "Its end."]
    assert sections[""] == ["# Title\n\nOpening."]


def test_the_tracks_of_a_workspace_name_lessons(tracked, tmp_path):
    text = track.text_of(list(tracked.all_tracks.values())[:1], ["numbers"])
    (tmp_path / "tracks.toml").write_text(text, encoding="utf-8")
    (one,) = track.read(tmp_path / "tracks.toml").values()
    assert (one.title, one.hours, one.exercises) == ("A short way", 1, ("numbers",))


@pytest.mark.parametrize("name", ["road", "engine", "interpretability", "systems"])
def test_this_courses_tracks_can_be_read(name):
    root = course.installed_course().on_tracks([name])
    number = sum(len(entry.declared.exercises) for entry in root.lessons)
    readme = (root.path / "README.md").read_text(encoding="utf-8")
    assert number >= 20 and (name != "road" or f"you write {number} exercises in about" in readme)


def test_no_lesson_of_this_course_has_given_cells_and_every_course_may_lack_tracks(tmp_path):
    assert not any(entry.declared.given for entry in course.installed_course().lessons)
    plain = course.open_root(make_course(tmp_path / "plain"))
    assert plain.all_tracks == {} and plain.keep is None
    assert plain.tracks == () and plain.whole is plain
