"""tito/learn/update.py: a newer edition under a learner's work, whatever state that is in."""

import contextlib
import json
import shutil
import zipfile

import pytest
from commands import tito
from small_course import edit, make_course, solve, verdict_on

from tito.author import release
from tito.errors import TitoError
from tito.learn import notebook_sync, progress, update, workspace
from tito.lesson import cells, course, notebook

NUMBERS, SUMS = "01_numbers/numbers_dev.py", "02_sums/sums_dev.py"
MINE = "    twice = 0\n    for _ in range(2):  # größer\n        twice += x\n    return twice"


def newer(folder, *changes, edition="2", rename=()):
    """The next edition of the small course: its files with (name, old, new) changed."""
    root = make_course(folder)
    for name, old, new in (
        (NUMBERS, "Twice and thrice: größer als zuvor.", "Twice, and three times."),
        ("01_numbers/checks.py", "did you square?", "did you multiply it by itself?"),
        *changes,
    ):
        path = root / "modules" / "source" / name
        text = path.read_text(encoding="utf-8")
        assert text.count(old) >= 1, (name, old)
        path.write_text(text.replace(old, new), encoding="utf-8")
    for old, new in rename:
        (root / "modules" / "source" / old).rename(root / "modules" / "source" / new)
    config = root / "tito.toml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace('edition = "1"', f'edition = "{edition}"'), encoding="utf-8")
    (root / "tinytorch" / "support.py").write_text('"""New in this edition."""\n', encoding="utf-8")
    return root


def write(entry, exercise="double", code=MINE):
    """Write a learner's own code into an exercise."""
    source = cells.read(entry.script)
    cell = source.cell(exercise)
    stub = next(line for line in cell.source.split("\n") if "NotImplementedError" in line)
    text = source.replaced(cell, cell.source.replace(stub, code))
    entry.script.write_text(text, encoding="utf-8")


def held(root):
    """{path: bytes} of a workspace, without what tito keeps for itself."""
    return {
        path.relative_to(root.path): path.read_bytes()
        for path in sorted(root.path.rglob("*"))
        if path.is_file()
        and path.relative_to(root.path).parts[:2]
        not in ((".tito", "backups"), (".tito", "lock"), (".tito", "progress.json"))
    }


@pytest.fixture
def root(small_workspace):
    return small_workspace


def before_lesson_toml(entry):
    """Let a workspace be one from before a lesson's facts had their own file: its chapter held
    them, in a block of comments."""
    for path in (entry.script, entry.declared_path):
        text = path.read_text(encoding="utf-8")
        path.write_text(f"# ---\n# tinytorch:\n#   hours: 1\n# ---\n\n{text}", encoding="utf-8")
    entry.declared_path.with_name("lesson.toml").unlink()


def again(root):
    return course.open_root(root.path)


# The states in which an edition may find a learner's work: a function of the lesson, the changes of
# the new edition, and what must be found afterwards in which file.

CHECK = 'check("double")\n'
ADDED = "# %%\n# mine: a demonstration\nprint(double(21))\n"
STATES = {
    "untouched": (lambda e: None, [], {}),
    "half": (write, [], {NUMBERS: [MINE]}),
    "whole": (solve, [], {NUMBERS: ["twice = x + x", "return double(x) + x"]}),
    "edited prose": (
        lambda e: (write(e), edit(e, "größer als zuvor", "my own words")),
        [],
        {NUMBERS: [MINE, "Twice, and three times."]},
    ),
    "edited given code": (
        lambda e: (write(e), edit(e, "LIMIT = 10", "LIMIT = 11")),
        [],
        {NUMBERS: [MINE, "LIMIT = 10"]},
    ),
    "edited checks": (
        lambda e: (
            write(e),
            e.script.with_name("checks.py").write_text("# nothing", encoding="utf-8"),
        ),
        [],
        {NUMBERS: [MINE], "01_numbers/checks.py": ["did you multiply it by itself?"]},
    ),
    "own cells": (
        lambda e: (
            write(e),
            edit(
                e, 'check("double")\n', f'check("double")\n\n{ADDED}\n# %% [markdown]\n# My note.\n'
            ),
        ),
        [],
        {NUMBERS: [MINE, f'check("double")\n\n{ADDED}', "# My note."]},
    ),
    "an own function in the package": (
        lambda e: (
            write(e),
            edit(
                e,
                'check("double")\n',
                'check("double")\n\n# %%\n#| export\ndef mine():\n    pass\n',
            ),
        ),
        [],
        {NUMBERS: [MINE, "#| export\ndef mine():"]},
    ),
    "own files": (
        lambda e: (write(e), e.script.with_name("notes.txt").write_text("mine", encoding="utf-8")),
        [],
        {NUMBERS: [MINE], "01_numbers/notes.txt": ["mine"]},
    ),
    "a contract that changed": (
        write,
        [(NUMBERS, '"""Twice `x`.', '"""Two times `x`.')],
        {NUMBERS: [f'    """Two times `x`.\n\n    >>> double(2)\n    4\n    """\n{MINE}']},
    ),
    "a contract that changed under code that did, too": (
        lambda e: (write(e), edit(e, "def double(x):", "def double(x, y=0):")),
        [(NUMBERS, '"""Twice `x`.', '"""Two times `x`.')],
        {NUMBERS: [MINE, "def double(x, y=0):", "Twice `x`"]},
    ),
    "an exercise renamed": (
        write,
        [
            (NUMBERS, '"double"', '"twice"'),
            ("01_numbers/checks.py", "# %% double", "# %% twice"),
            ("01_numbers/hints.md", "## double", "## twice"),
        ],
        {"01_numbers/set_aside.py": [MINE, "# numbers-double, of edition 1"]},
    ),
    "damaged code": (
        lambda e: (write(e), edit(e, "twice = 0", "twice = (")),
        [],
        {NUMBERS: ["twice = (", "Twice, and three times."]},
    ),
    "Windows line ends": (
        lambda e: (
            write(e),
            e.script.write_bytes(e.script.read_bytes().replace(b"\n", b"\r\n")),
        ),
        [],
        {NUMBERS: [MINE.replace("\n", "\r\n"), "Twice, and three times.\r\n"]},
    ),
    "exported": (
        lambda e: (solve(e), verdict_on(e)),
        [],
        {NUMBERS: ["twice = x + x"]},
    ),
    "given": (
        lambda e: (write(e), update.choose(e.root, "skip", ["numbers-double"], written=False)),
        [],
        {"01_numbers/set_aside.py": [MINE], NUMBERS: ["twice = x + x", 'given="double"']},
    ),
    "the script gone": (lambda e: e.script.unlink(), [], {NUMBERS: ["Twice, and three times."]}),
    "no lesson.toml": (lambda e: (write(e), before_lesson_toml(e)), [], {NUMBERS: [MINE]}),
    "a backup of another edition": (
        lambda e: (write(e), workspace.reset(e), write(e)),
        [],
        {NUMBERS: [MINE]},
    ),
}


@pytest.mark.parametrize("state", STATES)
def test_whatever_was_written_stays_and_undo_brings_every_byte_back(root, tmp_path, state):
    prepare, changes, saved_copy = STATES[state]
    prepare(root.lesson("numbers"))
    before, recorded = held(root), progress.load(root)
    result = update.update(again(root), newer(tmp_path / "new", *changes))
    for name, texts in saved_copy.items():
        now = (root.path / "modules" / "source" / name).read_bytes().decode("utf-8")
        for text in texts:
            assert text in now, f"{name} lacks:\n{text}\nIt is:\n{now}"
    assert (result.before, result.after, again(root).edition) == ("1", "2", "2")
    assert (root.path / "tinytorch" / "support.py").exists()
    pristine = root.path / ".tito" / "pristine" / NUMBERS
    assert "Twice, and three times." in pristine.read_text(encoding="utf-8")
    assert progress.load(root) == recorded
    workspace.undo(again(root))
    assert held(root) == before
    workspace.undo(again(root))
    assert again(root).edition == "2"


def test_a_workspace_from_before_lesson_toml_is_told_to_update(root, small_course):
    entry = root.lesson("numbers")
    write(entry)
    before_lesson_toml(entry)
    saved = held(root)
    for words in (["status"], ["test", "numbers"]):
        err = tito(root, *words, code=3)[1]
        assert "numbers/lesson.toml does not exist" in err and "`tito update COURSE`" in err
    assert held(root) == saved
    assert "lacked 1 file" in tito(root, "init", ".")[0]
    assert MINE in entry.script.read_text(encoding="utf-8")
    out, _ = tito(root, "update", small_course.path)
    assert "tito test numbers" in out
    assert MINE in entry.script.read_text(encoding="utf-8")
    assert "1 exercise right" in tito(root, "test", "numbers", code=1)[0]


@pytest.mark.parametrize("mine", ["# mine", ""])
def test_it_says_what_was_replaced_what_changed_and_what_to_test(root, tmp_path, mine):
    entry = root.lesson("numbers")
    write(entry)
    edit(entry, "LIMIT = 10", "LIMIT = 11")
    entry.script.with_name("checks.py").write_text(mine, encoding="utf-8")
    source = newer(
        tmp_path / "new",
        (NUMBERS, '"""Twice `x`.', '"""Two times `x`.'),
        (SUMS, '"total"', '"sum"'),
        ("02_sums/checks.py", "# %% total", "# %% sum"),
    )
    write(root.lesson("sums"), "total", "    return 12")
    unedited = root.lesson("sums").script.with_name("checks.py")
    unedited.write_bytes(unedited.read_bytes().replace(b"\n", b"\r\n"))
    out, _ = tito(root, "update", source)
    assert "02_sums/checks.py" not in out
    for words in (
        "edition 1 -> 2",
        "the task changed, read it again:\n  numbers-double",
        "  modules/source/01_numbers/checks.py",
        "  tito test numbers\n  tito test sums",
        "sums-total in modules/source/02_sums/set_aside.py",
        "`tito undo` restores them",
    ):
        assert words in out, out
    assert "modules/source/01_numbers/numbers_dev.py:" in out  # the cell with LIMIT
    assert "nothing was changed" in tito(root, "update", source)[0]


@pytest.mark.parametrize("with_script", [True, False])
def test_a_notebook_is_updated_with_its_outputs(root, tmp_path, with_script):
    entry = root.lesson("numbers")
    write(entry)
    notebook_sync.settle(entry, make=True)
    if not with_script:
        entry.script.unlink()
    book = entry.notebook.read_text(encoding="utf-8")
    assert '"outputs": []' in book
    before = held(root)
    update.update(root, newer(tmp_path / "new"))
    entry = again(root).lesson("numbers")
    text = notebook.to_script(entry.notebook.read_text(encoding="utf-8"))
    assert MINE in text and "Twice, and three times." in text
    assert notebook_sync.agree(entry) and notebook_sync.choose(
        entry, progress.load(root)["lessons"]["numbers"]
    )
    workspace.undo(again(root))
    assert held(root) == before


def test_when_script_and_notebook_were_both_edited_nothing_happens(root, tmp_path):
    entry = root.lesson("numbers")
    notebook_sync.settle(entry, make=True)
    write(entry)
    book = entry.notebook.read_text(encoding="utf-8")
    entry.notebook.write_text(book.replace("LIMIT = 10", "LIMIT = 12"), encoding="utf-8")
    before = held(root)
    with pytest.raises(TitoError, match="both edited"):
        update.update(root, newer(tmp_path / "new"))
    assert held(root) == before


def test_a_lesson_that_is_renumbered_takes_its_files_with_it(root, tmp_path):
    entry = root.lesson("sums")
    write(entry, "total", "    return sum(map(double, numbers))")
    entry.script.with_name("notes.txt").write_text("mine", encoding="utf-8")
    before = held(root)
    source = newer(
        tmp_path / "new", (SUMS, "# # 02. Sums", "# # 03. Sums"), rename=[("02_sums", "03_sums")]
    )
    result = update.update(root, source)
    assert result.renumbered == {"sums": "03_sums"}
    moved = again(root).lesson("sums")
    assert "map(double" in moved.script.read_text(encoding="utf-8")
    assert moved.script.with_name("notes.txt").exists() and not entry.script.parent.exists()
    workspace.undo(again(root))
    assert held(root) == before and not moved.script.parent.exists()


def test_a_lesson_that_is_gone_leaves_its_files(root, tmp_path):
    entry = root.lesson("sums")
    write(entry, "total", "    return 3")
    source = newer(tmp_path / "new")
    shutil.rmtree(source / "modules" / "source" / "02_sums")
    assert update.update(root, source).gone == ["sums"]
    assert "return 3" in entry.script.read_text(encoding="utf-8")
    assert [lesson.name for lesson in again(root).lessons] == ["numbers"]


def test_after_it_the_new_checks_count_and_what_passed_is_stale_until_tested(root, tmp_path):
    solve(root.lesson("numbers"))
    assert verdict_on(root.lesson("numbers")).passed
    changed = ("01_numbers/checks.py", "assert triple(2) == 6", "assert triple(2) == 7")
    update.update(root, newer(tmp_path / "new", changed))
    result = verdict_on(again(root).lesson("numbers"))
    assert [check.status for check in result.checks] == ["passed", "passed", "failed"]


# Where editions come from.


def test_a_zip_of_a_course_or_of_a_release_serves(root, tmp_path):
    source = newer(tmp_path / "new")
    with zipfile.ZipFile(tmp_path / "new.zip", "w") as archive:
        for path in source.rglob("*"):
            archive.write(path, f"small-2/{path.relative_to(source)}")
    write(root.lesson("numbers"))
    here = (root.path / ".tito" / "course").read_text(encoding="utf-8")
    update.update(root, tmp_path / "new.zip")
    assert again(root).edition == "2"
    assert MINE in root.lesson("numbers").script.read_text(encoding="utf-8")
    assert (root.path / ".tito" / "course").read_text(encoding="utf-8") == here


def test_a_release_serves(root, tmp_path):
    source = course.open_root(newer(tmp_path / "new"))
    release.release(source, tmp_path / "release")
    write(root.lesson("numbers"))
    update.update(root, tmp_path / "release")
    assert again(root).edition == "2"
    assert MINE in root.lesson("numbers").script.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda path: None, "does not exist"),
        (lambda path: path.mkdir(), "tito.toml"),
        (lambda path: path.write_bytes(b"no zip"), "damaged, or no zip"),
        (lambda path: spoil_member(path), "damaged, or no zip"),
        (lambda path: zipfile.ZipFile(path, "w").writestr("../x", ""), "was not unpacked|no tito"),
        (lambda path: make_course(path) and edit_config(path), "is of the course Other"),
    ],
)
def test_what_is_no_edition_of_this_course_changes_nothing(root, tmp_path, spoil, said):
    path = tmp_path / "given"
    spoil(path)
    before = held(root)
    with pytest.raises(TitoError, match=said):
        update.update(root, path)
    assert held(root) == before


OUTSIDE = [
    "../outside.txt",
    "../../outside.txt",
    "modules/../../outside.txt",
    "modules/source/./../../../outside.txt",
    "/tmp/outside.txt",
    "//host/share/outside.txt",
    "C:/outside.txt",
    "C:outside.txt",
    "..\\outside.txt",
    "modules\\outside.txt",
    "modules/nul",
    "modules/COM1.txt",
    "modules/checks.py:stream",
    "modules/outside. ",
    "modules/.../outside.txt",
    "modules//outside.txt",
    "out\0side.txt",
    "out\nside.txt",
    "",
    ".",
    7,
    None,
    ["modules"],
]


@pytest.mark.parametrize("name", OUTSIDE, ids=repr)
def test_a_list_in_a_release_that_leads_out_of_the_workspace_is_refused(root, tmp_path, name):
    place = tmp_path / "a" / "b" / "release"
    release.release(course.open_root(newer(tmp_path / "new")), place)
    note = json.loads((place / update.RELEASE).read_text(encoding="utf-8"))
    note["files"] = [*note["files"], name]
    (place / update.RELEASE).write_text(json.dumps(note), encoding="utf-8")
    with contextlib.suppress(OSError, ValueError, TypeError):  # what the name means here, exists
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).is_absolute() or (place / name).write_text("from outside")
    before, around = held(root), sorted(tmp_path.glob("*"))
    with pytest.raises(TitoError, match="is not a complete release"):
        update.update(root, place)
    assert (held(root), sorted(tmp_path.glob("*"))) == (before, around)


@pytest.mark.parametrize("link", ["modules", "tinytorch", ".tito/pristine", "tinytorch/support.py"])
def test_a_link_that_leads_out_of_the_workspace_is_refused(root, tmp_path, link):
    path, elsewhere = root.path / link, tmp_path / "elsewhere"
    if path.exists():
        path.rename(elsewhere)
    path.symlink_to(elsewhere)
    before, outside = held(root), path.is_dir() and sorted(elsewhere.rglob("*"))
    with pytest.raises(TitoError, match="leads out of .*; nothing was written"):
        update.update(root, newer(tmp_path / "new"))
    assert held(root) == before and not (root.path / ".tito" / "backups").exists()
    assert (elsewhere.is_dir() and sorted(elsewhere.rglob("*"))) == outside


def test_a_link_to_the_workspace_and_links_inside_it_are_fine(root, tmp_path):
    (tmp_path / "link").symlink_to(root.path)
    (root.path / "modules").rename(root.path / "my modules")
    (root.path / "modules").symlink_to("my modules")
    update.update(course.open_root(tmp_path / "link"), newer(tmp_path / "new"))
    assert again(root).edition == "2"


def spoil_member(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tito.toml", "x" * 1000)
    data = bytearray(path.read_bytes())
    start = 30 + len("tito.toml")
    data[start : start + 4] = b"\xff" * 4
    path.write_bytes(data)


def edit_config(path):
    config = path / "tito.toml"
    config.write_text(config.read_text().replace("Small", "Other"), encoding="utf-8")


def test_a_course_is_not_updated_and_a_workspace_not_with_itself(root, small_course):
    with pytest.raises(TitoError, match="is a course"):
        update.update(small_course, root.path)
    with pytest.raises(TitoError, match="this workspace itself"):
        update.update(root, root.path)
