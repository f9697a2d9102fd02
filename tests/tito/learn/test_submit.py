"""What `tito submit` packs comes back with `tito restore`, whatever else may come in a zip."""

import hashlib
import io
import json
import shutil
import stat
import zipfile

import pytest
from commands import tito
from small_course import edit, solve

from tito import files
from tito.errors import TitoError
from tito.learn import submit, workspace
from tito.lesson import course

SCRIPT = "modules/source/01_numbers/numbers_dev.py"


@pytest.fixture
def fresh(small_course, tmp_path):
    """Another workspace of the same course, as after a lost session."""
    workspace.init(tmp_path / "fresh", small_course)
    return course.open_root(tmp_path / "fresh")


@pytest.fixture
def handed_in(small_workspace):
    """A submission of a solved lesson, script and notebook."""
    entry = small_workspace.lesson("numbers")
    solve(entry)
    tito(small_workspace, "notebook", "numbers", "--no-open")
    return submit.submit(small_workspace, [entry]).path


def held(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_what_was_begun_is_tested_and_packed_with_a_manifest(small_workspace):
    entry = small_workspace.lesson("numbers")
    solve(entry)
    out, err = tito(small_workspace, "submit")
    path = small_workspace.path / "my-work-1.zip"
    assert (
        str(path) in out
        and "1 lesson," in out
        and f"{path.stat().st_size / 1000:.1f} kB" in out
        and err == ""
    )
    files = held(path)
    assert files.keys() == {"manifest.json", SCRIPT} and files[SCRIPT] == entry.script.read_bytes()
    manifest = json.loads(files["manifest.json"])
    assert manifest["files"] == {
        SCRIPT: {"sha256": hashlib.sha256(files[SCRIPT]).hexdigest(), "bytes": len(files[SCRIPT])}
    }
    (lesson,) = manifest["lessons"]
    assert (manifest["course"], manifest["edition"], manifest["tito"]) == (
        "Small",
        "1",
        course.version(),
    )
    assert (
        lesson["lesson"],
        lesson["verdict"],
        lesson["points"],
        lesson["max_points"],
        len(lesson["checks"]),
    ) == ("numbers", "passed", 5, 5, 3)


def test_nothing_begun_is_nothing_to_hand_in(small_workspace):
    assert "tito start numbers" in tito(small_workspace, "submit", code=2)[1]
    assert list(small_workspace.path.glob("*.zip")) == []
    tito(small_workspace, "submit", "sums")  # asked for by name, it goes in as it is
    assert (small_workspace.path / "my-work-1.zip").exists()


def test_the_same_work_gives_the_same_zip_and_other_work_another_one(small_workspace):
    solve(small_workspace.lesson("numbers"), "numbers-double")
    first = submit.submit(small_workspace).path
    before = first.read_bytes()
    again = submit.submit(small_workspace)
    assert again.path == first and first.read_bytes() == before
    solve(small_workspace.lesson("numbers"))
    second = submit.submit(small_workspace).path
    assert second.name == "my-work-2.zip" and first.read_bytes() == before != second.read_bytes()


def test_two_workspaces_with_the_same_work_give_the_same_bytes(small_workspace, tmp_path):
    solve(small_workspace.lesson("numbers"))
    shutil.copytree(small_workspace.path, tmp_path / "copy")
    first, two = (
        submit.submit(course.open_root(folder)).path
        for folder in (small_workspace.path, tmp_path / "copy")
    )
    assert first.read_bytes() == two.read_bytes() and (first.name, two.name) == (
        "my-work-1.zip",
        "copy-1.zip",
    )


def test_output_names_the_zip_and_overwrites_nothing(small_workspace, tmp_path):
    solve(small_workspace.lesson("numbers"))
    tito(small_workspace, "submit", "--output", tmp_path / "mine.zip")
    assert SCRIPT in held(tmp_path / "mine.zip")
    (tmp_path / "mine.zip").write_bytes(b"other")
    assert (
        "is there already"
        in tito(small_workspace, "submit", "--output", tmp_path / "mine.zip", code=2)[1]
    )
    assert (tmp_path / "mine.zip").read_bytes() == b"other"


def test_failing_and_stale_lessons_are_reported_and_still_handed_in(small_workspace):
    solve(small_workspace.lesson("numbers"))
    tito(small_workspace, "test", "numbers")
    edit(small_workspace.lesson("numbers"), "return double(x) + x", "return double(x)")
    out, err = tito(small_workspace, "submit")
    assert (
        "numbers does not pass: 4 of 5 points. It had passed and was edited since." in err
        and "hand in this file" in out
    )
    files = held(small_workspace.path / "my-work-1.zip")
    assert (
        b"return double(x)\n" in files[SCRIPT]
        and json.loads(files["manifest.json"])["lessons"][0]["verdict"] == "partly right"
    )


@pytest.mark.parametrize(
    ("damage", "said"), [("def broken(:", "is left out"), (None, "has no file")]
)
def test_a_lesson_that_cannot_be_read_does_not_stop_the_others(small_workspace, damage, said):
    for name in ("numbers", "sums"):
        solve(small_workspace.lesson(name))
    entry = small_workspace.lesson("numbers")
    edit(entry, "LIMIT = 10", damage) if damage else entry.script.unlink()
    _, err = tito(small_workspace, "submit", "1-2")
    assert said in err and "modules/source/02_sums/sums_dev.py" in held(
        small_workspace.path / "my-work-1.zip"
    )


def test_script_and_notebook_that_were_both_edited_both_go_in_and_it_is_reported(small_workspace):
    entry = small_workspace.lesson("numbers")
    solve(entry)
    tito(small_workspace, "notebook", "numbers", "--no-open")
    edit(entry, "LIMIT = 10", "LIMIT = 11")
    entry.notebook.write_text(
        entry.notebook.read_text(encoding="utf-8").replace("LIMIT = 10", "LIMIT = 12"),
        encoding="utf-8",
    )
    _, err = tito(small_workspace, "submit")
    files = held(small_workspace.path / "my-work-1.zip")
    assert (
        "both edited" in err
        and b"LIMIT = 11" in files[SCRIPT]
        and b"LIMIT = 12" in files[SCRIPT.replace(".py", ".ipynb")]
    )


def test_the_course_itself_hands_nothing_in_and_takes_nothing_back(small_course, handed_in):
    assert "is the course itself" in tito(small_course, "submit", code=2)[1]
    before = small_course.lesson("numbers").script.read_bytes()
    assert "is the course itself" in tito(small_course, "restore", handed_in, code=2)[1]
    assert small_course.lesson("numbers").script.read_bytes() == before


def test_json_has_the_path_of_the_zip(small_workspace):
    solve(small_workspace.lesson("numbers"))
    value = json.loads(tito(small_workspace, "submit", "--json")[0])
    assert (
        value["zip"].endswith("my-work-1.zip")
        and value["bytes"] > 500
        and value["lessons"][0]["verdict"] == "passed"
        and value["notes"] == []
    )


# Back again


def test_restore_brings_script_and_notebook_into_a_fresh_workspace_and_work_goes_on(
    handed_in, fresh, small_workspace
):
    out, err = tito(fresh, "restore", handed_in)
    assert "numbers as in the zip" in out and err == ""
    for name in ("script", "notebook"):
        assert (
            getattr(fresh.lesson("numbers"), name).read_bytes()
            == getattr(small_workspace.lesson("numbers"), name).read_bytes()
        )
    edit(fresh.lesson("numbers"), "return double(x) + x", "return 3 * x")
    assert "passed" in tito(fresh, "test", "numbers")[0]
    assert "return 3 * x" in fresh.lesson("numbers").notebook.read_text(encoding="utf-8")


def test_what_restore_overwrites_is_saved_and_undo_brings_it_back(handed_in, fresh):
    edit(fresh.lesson("numbers"), "LIMIT = 10", "LIMIT = 99")
    work = fresh.lesson("numbers").script.read_bytes()
    out, _ = tito(fresh, "restore", handed_in)
    assert ".tito/backups/" in out and fresh.lesson("numbers").script.read_bytes() != work
    tito(fresh, "undo")
    assert (
        fresh.lesson("numbers").script.read_bytes() == work
        and not fresh.lesson("numbers").notebook.exists()
    )


def test_restoring_twice_changes_nothing_the_second_time(handed_in, fresh):
    tito(fresh, "restore", handed_in)
    assert "nothing was changed" in tito(fresh, "restore", handed_in)[0]


def test_a_zip_of_another_course_is_refused_and_of_another_edition_told(handed_in, fresh):
    for name, code in (("edition", 0), ("course", 2)):
        toml = (fresh.path / "tito.toml").read_text(encoding="utf-8")
        (fresh.path / "tito.toml").write_text(
            toml.replace(
                'edition = "1"' if name == "edition" else 'course = "Small"', f'{name} = "Else"'
            ),
            encoding="utf-8",
        )
        _, err = tito(fresh, "restore", handed_in, code=code)
        assert (
            "edition '1', this workspace of Else"
            if name == "edition"
            else "was handed in for 'Small'"
        ) in err


def test_a_lesson_that_this_workspace_lacks_stays_in_the_zip_and_is_reported(
    small_workspace, fresh
):
    path = submit.submit(small_workspace, small_workspace.lessons).path
    shutil.rmtree(fresh.state / "pristine/02_sums")
    _, err = tito(fresh, "restore", path)
    assert "02_sums/sums_dev.py stays in the zip" in err


# Zips that `tito submit` did not write


def packed(path, **changes):
    """A copy of a submission with {name: bytes} added or replaced; None takes one out. Its
    manifest stays as it was.
    """
    saved_copy = {name: data for name, data in (held(path) | changes).items() if data is not None}
    out = path.with_name("changed.zip")
    out.write_bytes(files.archive(saved_copy, zipfile.ZIP_DEFLATED))
    return out


def special(path, kind):
    """A copy of a submission whose script is a link, twice there, encrypted, too large, or packed
    in an unusual way.
    """
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in held(path).items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = (
                zipfile.ZIP_BZIP2 if kind == "bzip2" and name == SCRIPT else zipfile.ZIP_DEFLATED
            )
            if name == SCRIPT and kind == "link":
                entry.external_attr, data = (stat.S_IFLNK | 0o777) << 16, b"/etc/passwd"
            if name == SCRIPT and kind == "bomb":
                data = bytes(submit.LARGEST + 1)
            archive.writestr(entry, data)
        if kind == "twice":
            with pytest.warns(UserWarning):
                archive.writestr(zipfile.ZipInfo(SCRIPT), b"again")
    data = bytearray(out.getvalue())
    if kind == "encrypted":
        for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            at = -1
            while (at := data.find(mark, at + 1)) >= 0:
                data[at + place] |= 1
    if kind == "flipped":
        data[data.find(SCRIPT.encode()) + len(SCRIPT) + 20] ^= 0xFF
    if kind == "cut":
        data = data[: len(data) // 2]
    path.with_name("special.zip").write_bytes(data)
    return path.with_name("special.zip")


def manifest_with(path, **changes):
    return json.dumps(json.loads(held(path)["manifest.json"]) | changes).encode()


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("link", "no plain file"),
        ("twice", "twice"),
        ("bomb", "would take"),
        ("bzip2", "packed in an unusual way"),
        ("encrypted", "encrypted"),
        ("flipped", "damaged"),
        ("cut", "no zip"),
    ],
)
def test_a_special_entry_or_a_damaged_zip_is_reported_and_changes_nothing(
    handed_in, fresh, kind, said
):
    assert said in assert_refused(special(handed_in, kind), fresh)


@pytest.mark.parametrize(
    "name",
    [
        "../evil_dev.py",
        "/tmp/evil_dev.py",
        "modules/source/01_numbers/../../../tito.toml",
        "tito.toml",
        "bin/tito",
        ".tito/progress.json",
        "modules/source/01_numbers/other_dev.py",
        "modules/source/01_numbers/numbers_dev.py/",
        "modules\\source\\01_numbers\\numbers_dev.py",
        "modules/source/01_numbers/numbers_dev.py\n",
        "C:/numbers_dev.py",
        "\x1b[31mred",
        "modules/source/٠١_numbers/numbers_dev.py",
    ],
)
def test_only_lesson_files_come_out_of_a_zip(handed_in, fresh, name):
    names = json.loads(held(handed_in)["manifest.json"])["files"] | {
        name: {"sha256": hashlib.sha256(b"x").hexdigest()}
    }
    output = assert_refused(
        packed(handed_in, **{name: b"x", "manifest.json": manifest_with(handed_in, files=names)}),
        fresh,
    )
    assert "it holds " in output and "\x1b" not in output


def test_restore_writes_through_no_link_that_leads_out(handed_in, fresh, tmp_path):
    folder, elsewhere = (fresh.path / SCRIPT).parent, tmp_path / "elsewhere"
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    before = (elsewhere / "numbers_dev.py").read_bytes()
    assert "leads out of" in assert_refused(handed_in, fresh)
    assert (elsewhere / "numbers_dev.py").read_bytes() == before


@pytest.mark.parametrize(
    "manifest",
    [
        None,
        b"",
        b"[]",
        b"{",
        b"\xff",
        b"[" * 100_000,
        b'{"files": {}}',
        b'{"course": 1, "edition": "1", "files": {}}',
        b'{"files": [1]}',
    ],
)
def test_a_manifest_that_is_damaged_is_reported(handed_in, fresh, manifest):
    assert "manifest" in assert_refused(packed(handed_in, **{"manifest.json": manifest}), fresh)


def test_files_and_manifest_must_fit(handed_in, fresh):
    assert "not what its manifest says" in assert_refused(
        packed(handed_in, **{SCRIPT: b"other"}), fresh
    )
    assert "not both" in assert_refused(packed(handed_in, **{SCRIPT: None}), fresh)
    assert "not both" in assert_refused(
        packed(handed_in, **{"modules/source/02_sums/sums_dev.py": b"x"}), fresh
    )
    assert "no lesson" in assert_refused(
        packed(
            handed_in,
            **{name: None for name in held(handed_in) if "numbers" in name}
            | {"manifest.json": manifest_with(handed_in, files={})},
        ),
        fresh,
    )


@pytest.mark.parametrize("kind", ["missing", "folder", "text"])
def test_what_is_no_zip_is_reported(fresh, tmp_path, kind):
    path = tmp_path / "some.zip"
    path.mkdir() if kind == "folder" else path.write_text("no zip") if kind == "text" else None
    assert_refused(path, fresh)


def assert_refused(path, root):
    before = {first: first.read_bytes() for first in root.path.rglob("*") if first.is_file()}
    with pytest.raises(TitoError) as error:
        submit.restore(root, path)
    assert error.value.code == 2 and error.value.remedy
    assert {
        first: first.read_bytes() for first in root.path.rglob("*") if first.is_file()
    } == before
    return error.value.what
