"""A learner's folder: what it holds, and that making it never touches anything else."""

import subprocess
import sys

import pytest
from small_course import make_course

from tito import files
from tito.errors import TitoError
from tito.learn import update, workspace
from tito.lesson import course


def test_a_workspace_holds_stubs_and_no_solution_anywhere(small_course, tmp_path):
    workspace.init(tmp_path / "new", small_course)
    everything = {
        path: path.read_text(encoding="utf-8")
        for path in (tmp_path / "new").rglob("*")
        if path.is_file()
    }
    assert tmp_path / "new" / "modules" / "source" / "01_numbers" / "numbers_dev.py" in everything
    for text in everything.values():
        assert (
            "twice = x + x" not in text
            and "SOLUTION" not in text
            and "secret" not in text
            and "HIDDEN" not in text
        )


def test_the_lessons_of_a_workspace_are_those_of_the_course(small_workspace, small_course):
    assert [e.folder for e in small_workspace.lessons] == [e.folder for e in small_course.lessons]
    assert small_workspace.reference.path == small_course.path


@pytest.mark.parametrize("there", ["a file", ".hidden", "sub/file"])
def test_a_folder_with_anything_in_it_is_refused_and_untouched(small_course, tmp_path, there):
    folder = tmp_path / "full"
    (folder / there).parent.mkdir(parents=True)
    (folder / there).write_text("mine")
    with pytest.raises(TitoError, match="is not empty"):
        workspace.init(folder, small_course)
    assert [p for p in folder.rglob("*") if p.is_file()] == [folder / there]


def test_a_course_and_a_file_are_refused(small_course, tmp_path):
    with pytest.raises(TitoError, match="is a course, not a workspace"):
        workspace.init(small_course.path, small_course)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(TitoError, match="is a file"):
        workspace.init(tmp_path / "file", small_course)


def test_in_a_workspace_only_what_is_missing_is_added(small_workspace, small_course):
    entry = small_workspace.lesson("numbers")
    entry.script.write_text("# mine\n", encoding="utf-8")
    small_workspace.lesson("sums").script.unlink()
    (small_workspace.path / "README.md").unlink()
    added = workspace.init(small_workspace.path, small_course)
    assert {path.name for path in added} == {"sums_dev.py", "README.md"}
    assert entry.script.read_text(encoding="utf-8") == "# mine\n"
    assert workspace.init(small_workspace.path, small_course) == []


def test_a_script_whose_notebook_holds_the_work_is_not_made_again(small_workspace, small_course):
    entry = small_workspace.lesson("numbers")
    entry.script.rename(entry.notebook)
    assert workspace.init(small_workspace.path, small_course) == []
    assert not entry.script.exists()


def test_where_things_are_on_this_machine_is_written_anew(small_workspace, small_course):
    (small_workspace.state / "environment").write_text("/gone\n", encoding="utf-8")
    assert workspace.init(small_workspace.path, small_course) == []
    assert (small_workspace.state / "environment").read_text(encoding="utf-8").strip() == sys.prefix


def test_a_workspace_of_another_course_is_refused(small_workspace, tmp_path):
    other = make_course(tmp_path / "other")
    (other / "tito.toml").write_text(
        '[course]\nname = "Other"\nedition = "1"\npackage = "tinytorch"\n', encoding="utf-8"
    )
    with pytest.raises(TitoError, match="was made from Small 1; this is Other 1"):
        workspace.init(small_workspace.path, course.open_root(other))


def test_a_lost_pristine_folder_is_reported_and_comes_back(small_workspace, small_course):
    import shutil

    shutil.rmtree(small_workspace.state / "pristine")
    root = course.open_root(small_workspace.path)
    with pytest.raises(TitoError, match="has no folder .tito/pristine") as error:
        root.lessons  # noqa: B018
    assert "tito init" in error.value.remedy
    workspace.init(small_workspace.path, small_course)
    assert len(course.open_root(small_workspace.path).lessons) == 2


def test_reset_and_skip_refuse_the_course_itself(small_course):
    with pytest.raises(TitoError, match="is the course itself"):
        workspace.reset(small_course.lesson("numbers"))
    with pytest.raises(TitoError, match="is the course itself"):
        update.choose(small_course, "skip", ["numbers"], written=False)


def test_resetting_an_untouched_lesson_saves_and_changes_nothing(small_workspace):
    assert workspace.reset(small_workspace.lesson("numbers")) is None
    with pytest.raises(TitoError, match="nothing to undo"):
        files.undo(small_workspace)


def test_plain_python_runs_a_lesson_in_its_own_root(small_workspace, small_course, tmp_path):
    """`python sums_dev.py`, from anywhere, imports the package of the root the file lies in."""
    from tito.learn import notebook_sync
    from tito.lesson import export

    for root in (small_workspace, small_course):
        for entry in root.lessons:
            export.write_module(entry, export.current(entry, notebook_sync.read(entry, {})))
    run = {
        root: subprocess.run(
            [sys.executable, str(root.lesson("sums").script)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        for root in (small_workspace, small_course)
    }
    assert run[small_course].returncode == 0
    assert "yours to write: tito hint sums-total" in run[small_workspace].stderr


@pytest.mark.slow
def test_the_tests_of_a_workspace_show_each_check_under_pytest(small_workspace):
    from small_course import edit, solve

    root = small_workspace.path
    (root / "tests").mkdir(exist_ok=True)
    (root / "tests" / "test_lessons.py").write_bytes(
        (course.installed_course().path / "tests" / "test_lessons.py").read_bytes()
    )
    entry = small_workspace.lesson("numbers")
    solve(entry)
    edit(entry, "return double(x) + x", "return double(x) + 1")
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/", "-k", "numbers", "-v", "-p", "no:cacheprovider"],
        cwd=root,
        capture_output=True,
        text=True,
    )
    assert "test_check[numbers-double_of_two_is_four] PASSED" in result.stdout
    assert "test_check[numbers-triple_of_two_is_six] FAILED" in result.stdout
    assert (
        "triple(2) should be 6, yours is 5" in result.stdout
        and "tito hint numbers-triple" in result.stdout
    )
    assert "1 failed, 2 passed, 1 deselected" in result.stdout
