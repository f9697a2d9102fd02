"""Nothing is lost: a write leaves the old file or the new one, whatever is overwritten is saved,
undo brings it back.

"Killed at any moment" is tried exhaustively: Python tells of every file operation before it is
done (an audit hook), and
for each of them in turn a process is killed there.
"""

import contextlib
import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
import warnings
from datetime import datetime, timedelta
from pathlib import PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_course import edit, make_course, solve, verdict_on

from tito import files
from tito.errors import TitoError
from tito.learn import notebook_sync, progress, update, workspace
from tito.lesson import course, export, notebook
from tito.lesson.course import PRISTINE

FILE_EVENTS = {
    "open",
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.chmod",
    "os.link",
    "os.rmdir",
    "os.utime",
    "shutil.rmtree",
    "tempfile.mkdtemp",
}


def killed_at(moment, action):
    """Run `action` in a fork that kills itself before its file operation number `moment`. Whether
    it came that far."""
    if (child := os.fork()) == 0:
        seen = 0

        def count(event, arguments):
            nonlocal seen
            if event in FILE_EVENTS:
                seen += 1
                if seen == moment:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        try:
            action()
        # The parent sees from the exit code that the action itself failed.
        except BaseException:  # noqa: BLE001
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL), (
        f"the action failed by itself, when killed at {moment}: exit code {code}"
    )
    return code == -signal.SIGKILL


def every_moment(prepare, action, check):
    """Kill `action` before each of its file operations, each time on a new result of `prepare`;
    `check` the rest."""
    moment = 0
    while True:
        moment += 1
        prepared = prepare(moment)
        died = killed_at(moment, lambda: action(prepared))
        check(prepared)
        if not died:
            assert moment > 5, "nearly no file operation was seen: the hook does not work"
            return moment


def contents(root):
    return {
        path: path.read_bytes()
        for path in sorted(root.path.rglob("*"))
        if path.is_file() and ".tito" not in path.parts and path.suffix != files.SUFFIX
    }


def a_workspace(tmp_path, number, solved=True):
    base = tmp_path / str(number)
    workspace.init(base / "work", course.open_root(make_course(base / "course")))
    root = course.open_root(base / "work")
    if solved:
        solve(root.lesson("numbers"))
    return root


def test_write_killed_anywhere_leaves_the_old_file_or_the_new(tmp_path):
    def prepare(moment):
        path = tmp_path / f"{moment}" / "file.txt"
        path.parent.mkdir()
        path.write_text("old")
        return path

    def check(path):
        assert path.read_text() in ("old", "new")

    every_moment(prepare, lambda path: files.write(path, "new"), check)


@pytest.mark.slow
def test_reset_killed_anywhere_loses_nothing_and_can_be_undone(tmp_path):
    def prepare(moment):
        root = a_workspace(tmp_path, moment)
        notebook_sync.settle(root.lesson("numbers"), make=True)
        return root.lesson("numbers"), root.lesson("numbers").script.read_bytes()

    def check(prepared):
        entry, work = prepared
        pristine = entry.declared_path.read_bytes()
        assert entry.script.read_bytes() in (work, pristine)
        if entry.script.read_bytes() == pristine:
            files.undo(entry.root)
            assert entry.script.read_bytes() == work
        notebook_sync.settle(entry)  # the pair is still one that can be told apart
        assert progress.load(entry.root)["version"] == 1

    every_moment(prepare, lambda prepared: workspace.reset(prepared[0]), check)


@pytest.mark.slow
def test_undo_killed_anywhere_loses_nothing(tmp_path):
    def prepare(moment):
        root = a_workspace(tmp_path, moment)
        entry = root.lesson("numbers")
        work = entry.script.read_bytes()
        workspace.reset(entry)
        return entry, work

    def check(prepared):
        entry, work = prepared
        seen = {entry.script.read_bytes()}
        for _ in range(2):
            with contextlib.suppress(TitoError):  # the killed one may have got to its end
                files.undo(entry.root)
            seen.add(entry.script.read_bytes())
        assert seen == {work, entry.declared_path.read_bytes()}

    every_moment(prepare, lambda prepared: files.undo(prepared[0].root), check)


@pytest.mark.slow
def test_update_killed_anywhere_leaves_the_old_edition_or_the_new(tmp_path):
    newer = make_course(tmp_path / "newer")
    for path in (newer / "tito.toml", newer / "modules" / "source" / "01_numbers" / "checks.py"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace('"1"', '"2"').replace("square", "cube"), encoding="utf-8")

    def prepare(moment):
        root = a_workspace(tmp_path, moment)
        return root, contents(root)

    def check(prepared):
        root, before = prepared
        files.recover(root)
        root = course.open_root(root.path)
        if root.edition == "2":
            assert "cube" in (root.path / PRISTINE / "01_numbers" / "checks.py").read_text()
            with contextlib.suppress(TitoError):
                files.undo(root)
        assert contents(root) == before

    every_moment(prepare, lambda prepared: update.update(prepared[0], newer), check)


@pytest.mark.slow
def test_init_killed_anywhere_is_completed_by_the_next(tmp_path):
    source = course.open_root(make_course(tmp_path / "course"))
    workspace.init(tmp_path / "whole", source)
    whole = {
        path.relative_to(tmp_path / "whole"): path.read_bytes()
        for path in (tmp_path / "whole").rglob("*")
        if path.is_file()
    }

    def check(folder):
        workspace.init(folder, source)
        result = {
            path.relative_to(folder): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file() and path.suffix != files.SUFFIX
        }
        assert result == whole

    every_moment(
        lambda moment: tmp_path / "new" / str(moment),
        lambda folder: workspace.init(folder, source),
        check,
    )


def test_export_killed_anywhere_leaves_the_old_module_or_the_new(tmp_path):
    def put(entry):
        export.write_module(entry, export.current(entry, notebook_sync.read(entry, {})))

    def prepare(moment):
        entry = a_workspace(tmp_path, moment).lesson("numbers")
        put(entry)
        old = entry.module_path.read_bytes()
        edit(entry, "twice = x + x", "twice = 2 * x")
        return entry, old

    def check(prepared):
        entry, old = prepared
        now = entry.module_path.read_bytes()
        assert now == old or b"twice = 2 * x" in now and compile(now, "module", "exec")

    every_moment(prepare, lambda prepared: put(prepared[0]), check)


@pytest.mark.slow
@pytest.mark.parametrize("edited", ["script", "notebook"])
def test_settling_a_pair_killed_anywhere_loses_neither_side(tmp_path, edited):
    def prepare(moment):
        entry = a_workspace(tmp_path, moment).lesson("numbers")
        notebook_sync.settle(entry, make=True)
        path = entry.script if edited == "script" else entry.notebook
        path.write_text(
            path.read_text(encoding="utf-8").replace("LIMIT = 10", "LIMIT = 77"), encoding="utf-8"
        )
        return entry

    def check(entry):
        notebook_sync.settle(entry)
        for path in (entry.script, entry.notebook):
            assert "LIMIT = 77" in path.read_text(encoding="utf-8")

    # Loaded before the forks, so that its import is not among the moments.
    import jupytext  # noqa: F401

    lesson = a_workspace(tmp_path, "loaded").lesson("numbers").declared
    notebook.to_script(notebook.to_notebook("# %%\nx = 1\n", lesson))
    every_moment(prepare, notebook_sync.settle, check)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["init", "export", "reset", "undo", "notebook", "test"])
def test_real_commands_killed_at_random_moments_lose_nothing(tmp_path, command):
    """The same, from outside, on the whole command. TITO_KILLS=100 for more of them."""
    root = a_workspace(tmp_path, "w")
    entry = root.lesson("numbers")
    work, pristine = entry.script.read_bytes(), entry.declared_path.read_bytes()
    random.seed(command)
    for number in range(int(os.environ.get("TITO_KILLS", "6"))):
        entry.script.write_bytes(work)
        entry.notebook.unlink(missing_ok=True)
        if command == "undo":
            workspace.reset(entry)
        words = {
            "init": ["init", str(root.path)],
            "undo": ["undo"],
            "notebook": ["notebook", "numbers", "--no-open"],
        }.get(command, [command, "numbers"])
        if command == "init":
            (root.path / "README.md").unlink(missing_ok=True)
        process = subprocess.Popen(
            [sys.executable, "-m", "tito", *words],
            cwd=root.path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(random.uniform(0, 0.6))
        process.kill()
        process.wait()
        if command == "init":
            assert not (root.path / "README.md").exists() or "tito hint" in (
                root.path / "README.md"
            ).read_text(encoding="utf-8")
        assert entry.script.read_bytes() in (work, pristine), f"kill {number}"
        if entry.script.read_bytes() == pristine and command == "reset":
            files.undo(root)
            assert entry.script.read_bytes() == work
        with warnings.catch_warnings(action="error"):
            progress.load(root)
        if entry.notebook.exists():
            assert notebook.to_script(entry.notebook.read_text(encoding="utf-8")).encode() in (
                work,
                pristine,
            )


def test_what_reset_overwrites_comes_back_and_goes_again(small_workspace):
    entry = small_workspace.lesson("numbers")
    solve(entry)
    work, pristine = entry.script.read_bytes(), entry.declared_path.read_bytes()
    saved_copy = workspace.reset(entry)
    assert entry.script.read_bytes() == pristine
    assert (
        saved_copy / "files" / "modules" / "source" / "01_numbers" / "numbers_dev.py"
    ).read_bytes() == work
    step = files.undo(small_workspace)
    assert (step.command, step.paths) == ("reset", [entry.script]) and abs(
        datetime.now() - step.when
    ) < timedelta(hours=1)
    assert entry.script.read_bytes() == work
    assert files.undo(small_workspace).command == "undo"
    assert entry.script.read_bytes() == pristine


def test_undo_saves_what_was_written_since(small_workspace):
    entry = small_workspace.lesson("numbers")
    solve(entry)
    workspace.reset(entry)
    entry.script.write_text("# written after the reset\n", encoding="utf-8")
    files.undo(small_workspace)
    files.undo(small_workspace)
    assert entry.script.read_text(encoding="utf-8") == "# written after the reset\n"


def test_undo_again_and_again_goes_to_and_fro(small_workspace):
    entry = small_workspace.lesson("numbers")
    for old, new in (("# one\n", "# two\n"), ("# two\n", "# three\n")):
        entry.script.write_text(old, encoding="utf-8")
        files.replace(small_workspace, "reset", {entry.script: new})
    for text in ("# two\n", "# three\n", "# two\n", "# three\n"):
        files.undo(small_workspace)
        assert entry.script.read_text(encoding="utf-8") == text


def test_undo_after_another_command_takes_that_one_back(small_workspace):
    entry = small_workspace.lesson("numbers")
    for text in ("# one\n", "# two\n"):
        entry.script.write_text(text, encoding="utf-8")
        workspace.reset(entry)
        files.undo(small_workspace)
        assert entry.script.read_text(encoding="utf-8") == text


def test_a_notebook_brought_up_to_date_is_no_step_back(small_workspace):
    entry = small_workspace.lesson("numbers")
    solve(entry)
    notebook_sync.settle(entry, make=True)
    work = entry.script.read_bytes()
    workspace.reset(entry)
    entry.script.write_text(
        entry.script.read_text(encoding="utf-8") + "\n# later\n", encoding="utf-8"
    )
    book = entry.notebook.read_bytes()
    saved_copy = notebook_sync.settle(entry)
    assert (
        saved_copy / "files" / entry.notebook.relative_to(small_workspace.path)
    ).read_bytes() == book  # saved it is
    assert workspace.undo(small_workspace).command == "reset"
    assert entry.script.read_bytes() == work
    notebook_sync.settle(entry)  # both came back, and agree
    assert entry.script.read_bytes() == work


def test_what_an_editor_saves_in_the_last_moment_is_saved_too(small_workspace, monkeypatch):
    entry = small_workspace.lesson("numbers")
    solve(entry)
    saved, real = [], files._save

    def save_and_edit(*arguments):
        saved_copy = real(*arguments)
        if len(saved) < 3:
            saved.append(f"# save {len(saved)}\n")
            entry.script.write_text(saved[-1], encoding="utf-8")
        return saved_copy

    monkeypatch.setattr(files, "_save", save_and_edit)
    workspace.reset(entry)
    saved_copy = [
        path.read_text(encoding="utf-8")
        for path in (small_workspace.state / "backups").rglob("numbers_dev.py")
    ]
    assert (
        set(saved) <= set(saved_copy)
        and entry.script.read_bytes() == entry.declared_path.read_bytes()
    )


def test_a_clock_that_goes_back_does_not_confuse_undo(small_workspace):
    entry = small_workspace.lesson("numbers")
    solve(entry)
    first = workspace.reset(entry)
    first.rename(first.with_name(first.name.replace("-20", "-99")))  # dated far ahead
    entry.script.write_text("# second\n", encoding="utf-8")
    workspace.reset(entry)
    workspace.undo(small_workspace)
    assert entry.script.read_text(encoding="utf-8") == "# second\n"


def test_three_undos_at_once_each_do_one(small_workspace):
    entry = small_workspace.lesson("numbers")
    for text in ("# one\n", "# two\n", "# three\n"):
        entry.script.write_text(text, encoding="utf-8")
        workspace.reset(entry)
    several = [
        subprocess.Popen(
            [sys.executable, "-m", "tito", "undo"],
            cwd=small_workspace.path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    output = [one.communicate(timeout=60) for one in several]
    assert [one.returncode for one in several] == [0, 0, 0], output
    assert entry.script.read_text(encoding="utf-8") == "# three\n", "back, again, and back"


def test_undo_without_a_backup_is_refused(small_workspace):
    with pytest.raises(TitoError, match="nothing to undo"):
        files.undo(small_workspace)


def test_a_damaged_backup_is_reported_and_changes_nothing(small_workspace):
    entry = small_workspace.lesson("numbers")
    solve(entry)
    saved_copy = workspace.reset(entry)
    (saved_copy / "manifest.json").write_text("{", encoding="utf-8")
    with pytest.raises(TitoError, match="is damaged"):
        files.undo(small_workspace)
    assert entry.script.read_bytes() == entry.declared_path.read_bytes()


def test_one_exercise_is_reset_alone(small_workspace):
    entry = small_workspace.lesson("numbers")
    solve(entry)
    workspace.reset(entry, entry.declared.exercise("triple"))
    text = entry.script.read_text(encoding="utf-8")
    assert "twice = x + x" in text and "yours to write: tito hint numbers-triple" in text
    files.undo(small_workspace)
    assert "return double(x) + x" in entry.script.read_text(encoding="utf-8")


def test_a_read_only_file_is_kept_and_told(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    path.chmod(0o444)
    with pytest.raises(TitoError, match="read-only") as error:
        files.write(path, "new")
    assert (path.read_text(), error.value.code) == ("old", 3)
    assert [p.name for p in tmp_path.iterdir()] == ["file.txt"]


def with_a_full_disk(action):
    """Run `action` where no file can grow beyond 8 bytes, as on a full disk."""
    import resource  # Windows has none

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8, before[1]))
    try:
        action()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, old)


def test_on_a_full_disk_the_old_file_stays(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with pytest.raises(TitoError, match="was not written") as error:
        with_a_full_disk(lambda: files.write(path, "new content that does not fit"))
    assert (path.read_text(), error.value.code) == ("old", 3)
    assert [p.name for p in tmp_path.iterdir()] == ["file.txt"]


@pytest.mark.parametrize(
    "action",
    [
        lambda entry: workspace.reset(entry),
        lambda entry: notebook_sync.settle(entry, make=True),
        lambda entry: export.write_module(
            entry, export.current(entry, notebook_sync.read(entry, {}))
        ),
        lambda entry: verdict_on(entry),
    ],
    ids=["reset", "notebook", "export", "test"],
)
def test_on_a_full_disk_no_command_touches_the_work(small_workspace, action):
    entry = small_workspace.lesson("numbers")
    solve(entry)
    before = contents(small_workspace)
    with pytest.raises(TitoError) as error:
        with_a_full_disk(lambda: action(entry))
    assert error.value.code == 3 and error.value.remedy
    assert contents(small_workspace) == before


def test_a_link_is_written_through_not_replaced(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    files.write(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink() and (tmp_path / "real.txt").read_text() == "new"


def test_a_file_keeps_its_permissions(tmp_path):
    path = tmp_path / "run"
    path.write_text("old")
    path.chmod(0o750)
    files.write(path, "new")
    assert path.stat().st_mode & 0o777 == 0o750


def test_what_a_killed_write_left_is_swept_away_later(tmp_path):
    stray, fresh = tmp_path / f".x.1{files.SUFFIX}", tmp_path / f".x.2{files.SUFFIX}"
    stray.touch()
    fresh.touch()
    os.utime(stray, (1, 1))
    files.write(tmp_path / "x", "new")
    assert not stray.exists() and fresh.exists()


PARTS = st.sampled_from(
    [
        "a",
        "b.py",
        "",
        ".",
        "..",
        "...",
        "C:",
        "c:x",
        "nul",
        "COM1.txt",
        "\\",
        "..\\",
        "\0",
        "x ",
        "ü",
    ]
)


@given(st.lists(PARTS, min_size=1, max_size=5).map("/".join))
def test_a_plain_name_means_a_place_inside_on_every_system(name):
    if files.is_plain(name):
        for path in (PurePosixPath("/root", name), PureWindowsPath("D:/root", name)):
            assert path.parent.parts[0] == path.anchor and ".." not in path.parts
            assert path.is_relative_to(path.anchor + "root") and not path.is_reserved()
    else:
        assert {*name.split("/")} - {"a", "b.py", "ü"}


@pytest.mark.parametrize("name", ["../outside.txt", "/tmp/outside.txt", "a/../../outside.txt"])
def test_a_backup_that_names_a_file_outside_is_damaged(small_workspace, tmp_path, name):
    entry = small_workspace.lesson("numbers")
    solve(entry)
    workspace.reset(entry)
    (backup,) = (small_workspace.state / "backups").iterdir()
    record = json.loads((backup / "manifest.json").read_text(encoding="utf-8"))
    record["files"].append({"path": name, "existed": False})
    (backup / "manifest.json").write_text(json.dumps(record), encoding="utf-8")
    (tmp_path / "outside.txt").write_text("kept")
    before = contents(small_workspace)
    with pytest.raises(TitoError, match="is damaged: it names"):
        files.undo(small_workspace)
    assert contents(small_workspace) == before and (tmp_path / "outside.txt").exists()


@pytest.mark.skipif(os.name != "posix", reason="file modes")
@pytest.mark.parametrize("umask", [0o077, 0o027, 0o022, 0o002])
def test_a_new_file_has_what_the_umask_leaves_and_a_private_one_is_its_owners(tmp_path, umask):
    new, program, private, old = (tmp_path / name for name in ("new", "run", "in/grades", "old"))
    before = os.umask(umask)
    try:
        files.write(new, "text")
        files.write(program, "text", mode=0o777)
        for text in ("grades", "grades", "others"):
            files.write_private(private, text)
            assert stat.S_IMODE(private.stat().st_mode) == 0o600
            private.chmod(0o644)
        old.write_text("text")
        old.chmod(0o640)
        files.write(old, "other", mode=0o777)
    finally:
        os.umask(before)
    assert stat.S_IMODE(new.stat().st_mode) == 0o666 & ~umask
    assert stat.S_IMODE(program.stat().st_mode) == 0o777 & ~umask
    assert stat.S_IMODE(old.stat().st_mode) == 0o750
    assert stat.S_IMODE(private.parent.stat().st_mode) & 0o077 == 0, "names are secret, too"
