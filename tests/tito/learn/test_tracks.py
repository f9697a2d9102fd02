"""A workspace on a track: init, status, test, reset, skip, update, submit and restore of lessons in
which exercises are given."""

import json
import zipfile

import pytest
from bs4 import BeautifulSoup
from commands import tito
from small_course import TRACKS, edit, make_course, solve, with_question

from tito.learn import notebook_sync, progress, update, workspace
from tito.lesson import course

SCRIPT = "modules/source/01_numbers/numbers_dev.py"


@pytest.fixture
def small_course(tmp_path):
    folder = make_course(tmp_path / "course")
    (folder / "tracks.toml").write_text(TRACKS, encoding="utf-8")
    return course.open_root(folder)


@pytest.fixture
def root(small_course, tmp_path):
    tito(small_course, "init", tmp_path / "work")
    return course.open_root(tmp_path / "work")


def again(root):
    return course.open_root(root.path)


def held(root):
    """{path: bytes} of a workspace, without what tito keeps for itself."""
    mine = {path for path in root.path.rglob("*") if path.is_file()}
    names = {path.relative_to(root.path).as_posix(): path.read_bytes() for path in mine}
    own = (".tito/backups", ".tito/lock", ".tito/progress")
    return {name: data for name, data in names.items() if not name.startswith(own)}


def choice(root):
    here = again(root)
    return list(here.tracks), list(here.changes)


def test_init_makes_the_first_track_and_says_how_much_it_is(small_course, tmp_path):
    out, _ = tito(small_course, "init", tmp_path / "mine")
    assert "is ready for the track short: a short way.\n" in out
    assert "You write 2 exercises in 2 lessons, in about 1 hour; the rest of the library is" in out
    assert choice(course.open_root(tmp_path / "mine")) == (["short"], [])
    out, _ = tito(tmp_path / "mine", "status")
    assert out.startswith("Short: a short way   0 of 2 exercises\n")
    assert (
        "01 numbers new     0 of 1 exercise" in out and "02         new     1 exercise: sums" in out
    )


def test_the_first_lesson_may_be_given(small_course, tmp_path):
    out, _ = tito(small_course, "init", tmp_path / "mine", "--track", "late")
    assert "then: tito start sums" in out
    root = course.open_root(tmp_path / "mine")
    assert "`tito start sums`" in (root.path / "README.md").read_text(encoding="utf-8")
    rows = json.loads(tito(root, "status", "--json")[0])
    assert [row["state"] for row in rows] == ["given", "new"]
    out, _ = tito(root, "status")
    assert "\n01      given   numbers\n02 sums new     0 of 1 exercise\n" in out
    assert "To write every exercise: tito init . --track whole" in out
    assert "next: tito start sums" in out
    assert "def double" in root.lesson("numbers").module_path.read_text(encoding="utf-8")
    for command in ("test", "start", "watch", "hint", "compare"):
        out, _ = tito(root, command, "numbers")
        assert out == ("numbers is given here: nothing to test. `tito read numbers` shows it\n")
    assert "index.html" in tito(root, "read", "numbers")[0]
    solve(root.lesson("sums"))
    assert "The course is complete" in tito(root, "test", "sums")[0]
    assert "numbers" not in tito(root, "test", "--all")[0]
    tito(root, "submit")
    with zipfile.ZipFile(next(root.path.glob("*.zip"))) as z:
        assert not any("numbers" in name for name in z.namelist())
    assert "every exercise is given here" in tito(root, "submit", "numbers", code=2)[1]
    out, _ = tito(root, "status")
    assert "The course is complete" in out
    page = BeautifulSoup((root.path / "certificate.html").read_bytes(), "html.parser")
    facts = dict(zip(*([one.text for one in page.select(kind)] for kind in ("dt", "dd"))))
    assert (facts["track"], facts["lessons"], facts["exercises given"]) == ("late", "1", "2")
    tito(root, "init", ".", "--track", "whole")  # and then it waits for the rest
    assert "next: tito start numbers" in tito(root, "status")[0]


BAD = [  # a command, its exit code, a part of its message
    ("init ../x --track shrot", 2, "Did you mean 'short'? There are: short, first, late, whole."),
    ("init . --track shrot", 2, "There is no track 'shrot'."),
    ("test double", 2, "numbers-double is given here.\n      To write it yourself: tito reset"),
    ("test numbers double", 2, "numbers-double is given here."),
    ("hint numbers-double", 2, "numbers-double is given here."),
    ("compare numbers-double", 2, "numbers-double is given here."),
    ("skip halve", 2, "There is no lesson and no exercise 'halve'"),
    ("skip numbers halve", 2, "Lesson numbers has no exercise 'halve'"),
    ("skip", 2, "Which lesson?"),
    ("skip numbers-double", 0, "nothing was changed"),
    ("reset numbers-triple", 0, "is as it was released; nothing was changed"),
    ("init .", 0, "is complete; nothing was changed"),
    ("init . --track short", 0, "nothing was changed"),
]


@pytest.mark.parametrize(("words", "code", "said"), BAD)
def test_what_cannot_be_done_changes_nothing_and_is_explained(root, words, code, said):
    before = held(root)
    assert said in "".join(tito(root, *words.split(), code=code))
    assert held(root) == before


def test_reset_makes_a_given_exercise_one_to_write_and_skip_gives_it_back(root):
    released = held(root)
    out, _ = tito(root, "reset", "numbers-double")
    assert "1 exercise to write now: numbers-double\n" in out
    assert choice(root) == (["short"], ["+numbers-double"])
    text = (root.path / SCRIPT).read_text(encoding="utf-8")
    assert 'exercise="double"' in text and "yours to write: tito hint numbers-double" in text
    assert "0 of 5 points" in tito(root, "test", "numbers", code=1)[0]
    assert "plus itself" in tito(root, "hint", "double")[0]
    tito(root, "skip", "numbers-double")
    now = held(root)
    assert choice(root) == (["short"], [])
    assert {name for name in now if now[name] != released.get(name)} <= {
        "tinytorch/core/numbers.py", ".tito/results/01_numbers/results.json"
    }  # fmt: skip


def test_skip_gives_back_what_was_taken_to_write_and_solved(root):
    tito(root, "reset", "numbers-double")
    solve(root.lesson("numbers"), "numbers-double")
    out, _ = tito(root, "skip", "numbers-double")
    assert "1 exercise given now: numbers-double\n" in out and "set_aside.py" in out
    assert choice(root) == (["short"], [])
    out, _ = tito(root, "reset", "numbers-double")
    assert "your earlier code:\n  numbers-double in modules/source/01_numbers/set_aside.py" in out


@pytest.mark.parametrize("with_notebook", [False, True])
def test_skip_keeps_the_learners_code_and_undo_reverses_it(root, with_notebook):
    entry = root.lesson("numbers")
    edit(entry, "LIMIT = 10", "LIMIT = 11")
    solve(entry, "numbers-triple")
    edit(root.lesson("sums"), "# ## Look back", "# ## Look back and forth")
    if with_notebook:
        notebook_sync.settle(entry, make=True)
    before = held(root)
    out, _ = tito(root, "skip", "numbers-triple")
    assert "numbers-triple in modules/source/01_numbers/set_aside.py" in out
    assert "numbers_dev.py:" in out and "sums" not in out  # the cell with LIMIT; no other lesson
    aside = (root.path / SCRIPT).with_name("set_aside.py").read_text(encoding="utf-8")
    assert "return double(x) + x" in aside
    assert 'given="triple"' in (root.path / SCRIPT).read_text(encoding="utf-8")
    assert "forth" in root.lesson("sums").script.read_text(encoding="utf-8")
    if with_notebook:
        assert '"given": "triple"' in entry.notebook.read_text(encoding="utf-8")
    tito(root, "undo")
    assert held(root) == before and choice(root) == (["short"], [])
    tito(root, "undo")
    assert choice(root) == (["short"], ["-numbers-triple"])


def test_an_edited_given_cell_runs_as_it_is_and_skip_restores_it(root):
    edit(root.lesson("numbers"), "twice = x + x", "twice = 3 * x")
    solve(root.lesson("numbers"), "numbers-triple")
    out = " ".join(tito(root, "test", "numbers", code=1)[0].split())
    assert "triple(2) should be 6, yours is 8" in out
    assert "given code of numbers-double is changed; the course's comes back with: tito skip" in out
    out, _ = tito(root, "skip", "numbers-double")
    assert "your edits of the course's own text, replaced" in out
    assert "twice = x + x" in (root.path / SCRIPT).read_text(encoding="utf-8")
    assert "1 of 1 point," in tito(root, "test", "numbers")[0]


def test_when_everything_is_given_status_says_how_to_go_on(root):
    assert "2 exercises given now" in tito(root, "skip", "1-2")[0]
    out, _ = tito(root, "status")
    assert "Every exercise is given. To write one lesson:\nnext: tito reset numbers" in out
    assert "complete" not in out and not (root.path / "certificate.html").exists()
    tito(root, "reset", "numbers")  # of a lesson, what the track has
    assert choice(root) == (["short"], ["-sums-total"])
    assert "is given here" in tito(root, "test", "sums")[0]


def test_a_cell_that_is_marked_as_given_earns_nothing_until_a_reset(root):
    solve(root.lesson("numbers"), "numbers-triple")
    edit(root.lesson("numbers"), 'exercise="triple"', 'given="triple"')
    said = "numbers-triple is marked as given, but it is yours to write: tito reset numbers-triple"
    out, _ = tito(root, "test", "numbers")
    assert "0 of 1 point," in out and said in out
    assert said in "".join(tito(root, "submit"))
    assert "marked as given, for 0 points: numbers-triple" in tito(root, "status")[0]
    tito(root, "reset", "numbers-triple")
    assert 'exercise="triple"' in (root.path / SCRIPT).read_text(encoding="utf-8")
    solve(root.lesson("numbers"), "numbers-triple")
    assert "passed  1 of 1 point," in tito(root, "test", "numbers")[0]


def test_both_files_edited_refuses_a_skip(root):
    entry = root.lesson("numbers")
    notebook_sync.settle(entry, make=True)
    edit(entry, "LIMIT = 10", "LIMIT = 11")
    text = entry.notebook.read_text(encoding="utf-8")
    entry.notebook.write_text(text.replace("LIMIT = 10", "LIMIT = 12"), encoding="utf-8")
    before = held(root)
    assert "both edited" in tito(root, "skip", "numbers", code=1)[1]
    assert held(root) == before


def test_a_track_is_added_and_written_code_stays(root, small_course):
    solve(root.lesson("sums"))
    assert "passed" in tito(root, "test", "sums")[0]
    out, _ = tito(root, "init", ".", "--track", "first")
    assert "1 exercise to write now: numbers-double\n" in out
    assert "tito test sums" not in out  # none of its files changed
    assert choice(root) == (["short", "first"], [])
    assert "Short and first   1 of 3 exercises" in tito(root, "status")[0]
    assert "sum(double(n)" in root.lesson("sums").script.read_text(encoding="utf-8")


def edition(small_course, tracks):
    """The next edition of the course, with other tracks."""
    (small_course.path / "tracks.toml").write_text(tracks, encoding="utf-8")
    config = small_course.path / "tito.toml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace('edition = "1"', 'edition = "2"'), encoding="utf-8")


def test_what_leaves_the_track_stays_if_it_is_written_and_what_joins_is_listed(root, small_course):
    solve(root.lesson("sums"))
    tito(root, "reset", "numbers-double")
    edition(small_course, TRACKS.replace('"numbers triple", "sums"', '"numbers double"'))
    result = update.update(again(root), small_course.path)
    assert choice(root) == (["short"], ["+numbers-double", "+sums-total"])
    assert result.given == ["numbers-triple"] and result.aside == {}
    assert "sum(double(n)" in root.lesson("sums").script.read_text(encoding="utf-8")
    edition(small_course, TRACKS)
    assert update.update(again(root), small_course.path).joined == ["numbers-triple"]


def test_names_that_an_edition_does_not_have_are_dropped_and_said(root, small_course):
    config = root.path / "tito.toml"
    text = config.read_text(encoding="utf-8").replace('["short"]', '["short", "old"]')
    config.write_text(text.replace("changes = []", 'changes = ["+sums-mean"]'), encoding="utf-8")
    edition(small_course, TRACKS)
    assert (
        "not in this edition, left out:\n  old\n  +sums-mean"
        in tito(root, "update", small_course.path)[0]
    )
    assert choice(root) == (["short"], [])


def test_a_course_of_another_edition_has_to_be_taken_first(root, small_course):
    edition(small_course, TRACKS)
    err = tito(root, "skip", "numbers", code=2)[1]
    assert "has edition 2, this workspace 1" in err and "tito update" in err


def test_a_course_without_solutions_cannot_give_or_take(root, small_course):
    for entry in small_course.lessons:
        entry.script.write_text(entry.declared.released, encoding="utf-8")
    for words in (["skip", "numbers-triple"], ["reset", "numbers-double"]):
        err = tito(root, *words, code=2)[1]
        assert f"Only the course can change {words[1]}" in err


def test_a_zip_of_other_exercises_is_refused(root, small_course, tmp_path):
    solve(root.lesson("sums"))
    tito(root, "submit", "-o", tmp_path / "short.zip")
    with zipfile.ZipFile(tmp_path / "short.zip") as archive:
        manifest = json.loads(archive.read("manifest.json"))
    assert (manifest["tracks"], manifest["changes"]) == (["short"], [])
    tito(small_course, "init", tmp_path / "all", "--track", "whole")
    err = tito(tmp_path / "all", "restore", tmp_path / "short.zip", code=2)[1]
    assert "The zip is of short, this workspace is of whole" in err and "--track short" in err
    tito(root, "reset", "numbers-double")
    err = tito(root, "restore", tmp_path / "short.zip", code=2)[1]
    assert "First: tito skip numbers-double" in err
    tito(root, "skip", "numbers-double")
    assert "already as in the zip" in tito(root, "restore", tmp_path / "short.zip")[0]


def test_given_sections_are_folded_on_the_page_and_in_the_terminal(small_course, tmp_path):
    path = small_course.lesson("numbers").script
    text = with_question().replace("# ## Tripling", "# ## Tripling\n#\n# More.")
    shown = "# %%\nprint('doubled', double(4))\n\n# %% [markdown]\n# ## Tripling"
    path.write_text(text.replace("# %% [markdown]\n# ## Tripling", shown), encoding="utf-8")
    tito(small_course, "init", tmp_path / "mine")
    root = course.open_root(tmp_path / "mine")
    assert not root.lesson("numbers").declared.questions  # the track names no question
    solve(root.lesson("numbers"), "numbers-triple")
    out, _ = tito(root, "test", "numbers")
    assert "1 result of sections with given code: tito read numbers" in out
    assert "doubled" not in out
    assert "given code" not in tito(root, "test", "numbers")[0]  # said once
    tito(root, "read", "numbers")
    html = (root.path / ".tito/results/01_numbers/index.html").read_text(encoding="utf-8")
    page = BeautifulSoup(html, "html.parser")
    (folded,) = [one for one in page.select("details") if one.summary.text.startswith("Given")]
    assert folded.summary.text == "Given: Doubling (numbers-double)"
    assert "doubled 8" in folded.text and "def double" in folded.text
    assert "1 of 1 exercises right" in page.footer.text


def test_start_says_what_is_given_and_the_lessons_part_of_the_tracks_hours(root):
    out, _ = tito(root, "start", "numbers")
    assert "about 20 minutes, 1 exercise to write: triple; 1 given, 1 points" in out


def test_a_killed_skip_is_undone_by_the_next_command(root, monkeypatch):
    before, write = held(root), workspace.files.write
    written = []

    def dying(path, *args, **more):
        if path.name == "checks.py" and ".tito" not in path.parts:
            raise KeyboardInterrupt
        written.append(path)
        return write(path, *args, **more)

    monkeypatch.setattr(workspace.files, "write", dying)
    with pytest.raises(KeyboardInterrupt):
        update.choose(root, "skip", ["numbers"], written=False)
    monkeypatch.undo()
    assert len(written) > 2
    assert "`tito skip` was interrupted; its changes have been undone" in tito(root, "status")[1]
    assert held(root) == before
    assert progress.load(root)["lessons"].keys() <= {"numbers"}
