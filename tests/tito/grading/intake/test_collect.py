"""Whatever learners hand in becomes, for each of them, the text of their lessons or a sentence that
says why not.
"""

import gzip
import hashlib
import io
import json
import os
import pickle
import random
import socket
import struct
import sys
import tarfile
import zipfile
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_course import NUMBERS, SUMS

from tito.errors import TitoError
from tito.grading.intake import archives
from tito.grading.intake.collect import find_submissions, fingerprint
from tito.grading.intake.inbox import list_upload
from tito.grading.intake.lesson_file import CODE
from tito.grading.intake.open_submission import open_submission
from tito.grading.roster import Learner
from tito.grading.setting import LIMITS
from tito.lesson import cells, notebook

MONDAY, WEDNESDAY = (datetime(2026, 3, day, 12, tzinfo=timezone.utc) for day in (2, 4))
HALF = NUMBERS.replace("    return double(x) + x\n", "    pass\n")


@pytest.fixture
def lessons(small_course):
    return small_course.lessons


@pytest.fixture
def inbox(tmp_path):
    """A folder for submissions, and `put` to fill it: `put("ada/numbers_dev.py", text)`."""
    folder = tmp_path / "submissions"
    folder.mkdir()
    return folder


def put(path, data=NUMBERS, when=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    if when:
        os.utime(path, (when.timestamp(), when.timestamp()))
    return path


def zipped(files, compression=zipfile.ZIP_DEFLATED):
    """A zip (bytes) of {name or ZipInfo: bytes or text}, or of such pairs."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in files.items() if isinstance(files, dict) else files:
            archive.writestr(name, data)
    return out.getvalue()


def tarred(files, kind=""):
    """A tar (bytes) of {name or TarInfo: bytes or text}, compressed as `kind`: gz, bz2, xz."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=f"w:{kind}") as archive:
        for name, data in files.items():
            data = data.encode() if isinstance(data, str) else data
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def tar_member(**fields):
    info = tarfile.TarInfo("numbers_dev.py")
    for field, value in fields.items():
        setattr(info, field, value)
    return info


PACKERS = {
    "zip": zipped,
    "tar": tarred,
    **{f"tar.{kind}": partial(tarred, kind=kind) for kind in ("gz", "bz2", "xz")},
    **{end: partial(tarred, kind=kind) for end, kind in (("TGZ", "gz"), ("tbz2", "bz2"))},
    "txz": partial(tarred, kind="xz"),
}


def member(name, mode=0o100644, when=(2026, 3, 2, 12, 0, 0), compression=zipfile.ZIP_DEFLATED):
    info = zipfile.ZipInfo(name, when)
    info.external_attr, info.compress_type = mode << 16, compression
    return info


def all_of(inbox, lessons, roster=None, limits=LIMITS):
    return {
        one.student: open_submission(one, lessons, limits)
        for one in find_submissions(inbox, lessons, roster)
    }


def arrivals(inbox, lessons, roster=None):
    """{learner: when the latest of their work arrived, where that is known}"""
    return {one.student: one.arrival("").when for one in find_submissions(inbox, lessons, roster)}


def only(inbox, lessons, **more):
    (one,) = all_of(inbox, lessons, **more).values()
    return one


def released(lessons, name="numbers"):
    return next(entry for entry in lessons if entry.name == name).declared.released


def test_a_workspace_a_zip_of_it_and_loose_files_give_the_same(small_workspace, inbox, lessons):
    course = {"numbers": NUMBERS, "sums": SUMS}
    for entry in small_workspace.lessons:
        entry.script.write_text(course[entry.name], encoding="utf-8")
    (small_workspace.path / ".tito" / "backups").mkdir()
    (small_workspace.path / ".tito" / "backups" / "numbers_dev.py").write_text(
        "old", encoding="utf-8"
    )
    files = {
        p.relative_to(small_workspace.path).as_posix(): p.read_bytes()
        for p in small_workspace.path.rglob("*")
        if p.is_file()
    }
    put(inbox / "zipped.zip", zipped({f"my work/{name}": data for name, data in files.items()}))
    put(inbox / "twice zipped.zip", zipped({"hand in/work.zip": zipped(files)}))
    put(inbox / "in a folder" / "work.zip", zipped(files))
    small_workspace.path.rename(inbox / "folder")
    put(inbox / "loose" / "a" / "b" / "numbers_dev.py")
    put(inbox / "loose" / "sums_dev.py", SUMS)
    found = all_of(inbox, lessons)
    assert list(found) == ["folder", "in a folder", "loose", "twice zipped", "zipped"]
    for one in found.values():
        assert {name: file.raw.decode() for name, file in one.files.items()} == course, one
        assert not one.problem and not one.notes


LARGE = {
    "a picture": ("outputs", [{"data": {"image/png": "A" * 12_000_000}}]),
    "a log": ("outputs", [{"name": "stdout", "text": "step 1234: 0.567\n" * 700_000}]),
    "an attachment": ("attachments", {"x.png": {"image/png": "A" * 12_000_000}}),
    "widgets": ("metadata", {"exercise": "double", "widgets": {"state": ["A" * 12_000_000]}}),
}


@pytest.mark.slow
@pytest.mark.parametrize("form", ["folder", "zip", "tar.gz", "class"])
@pytest.mark.parametrize("kind", LARGE)
def test_a_notebook_may_hold_megabytes_of_outputs(inbox, tmp_path, lessons, kind, form):
    book = json.loads(notebook.to_notebook(NUMBERS, lessons[0].declared))
    (cell,) = (cell for cell in book["cells"] if cell["metadata"].get("exercise") == "double")
    key, value = LARGE[kind]
    cell[key] = value
    data, where = json.dumps(book, indent=1).encode(), inbox
    name = "work.ipynb" if kind == "a picture" else "numbers_dev.ipynb"  # by what it says
    if form == "folder":
        put(inbox / "ada" / name, data)
    elif form == "class":
        where = put(tmp_path / "class.zip", zipped({f"ada/{name}": data, "bob.zip": GOOD}))
    else:
        put(inbox / f"ada.{form}", PACKERS[form]({name: data}))
    file = all_of(where, lessons)["ada"].files["numbers"]
    assert not file.problem and file.source.cell("double").source.startswith("#| export")
    assert file.sha256 == hashlib.sha256(data).hexdigest() and len(file.raw) < 10_000


def test_the_limit_of_a_notebook_is_on_its_cells(inbox, lessons):
    book = json.loads(notebook.to_notebook(NUMBERS, lessons[0].declared))
    book["cells"][-1]["source"] = "#" * 10_000_000
    put(inbox / "ada" / "numbers_dev.ipynb", json.dumps(book))
    assert only(inbox, lessons).files["numbers"].problem == (
        "numbers_dev.ipynb is too large: more than 10,000,000 bytes without its outputs."
    )


def test_a_change_behind_a_large_notebook_is_work_that_is_not_known(inbox, lessons):
    put(inbox / "ada" / "a_large.ipynb", b" " * 60_000_000)
    hashes = set()
    for text in (NUMBERS, HALF):
        put(inbox / "ada" / "numbers_dev.py", text)
        hashes.add(fingerprint(find_submissions(inbox, lessons)[0]))
    assert len(hashes) == 2


def test_a_notebook_of_format_3_is_read(inbox, lessons):
    book = json.loads(notebook.to_notebook(NUMBERS, lessons[0].declared))
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            cell["input"] = cell.pop("source")
    old = {"metadata": {}, "nbformat": 3, "worksheets": [{"cells": book["cells"]}]}
    put(inbox / "ada" / "numbers_dev.ipynb", json.dumps(old))
    file = only(inbox, lessons).files["numbers"]
    assert not file.problem
    assert [c.source for c in file.source.exported] == [
        c.source for c in cells.parse(Path("x.py"), NUMBERS).exported
    ]


@pytest.mark.parametrize(
    "page", ["<!DOCTYPE html>\n<html>", "\n  <html lang='en'>", "<!-- saved from -->\n<head>"]
)
@pytest.mark.parametrize("suffix", [".py", ".ipynb"])
def test_a_web_page_is_told_as_that(inbox, lessons, suffix, page):
    put(inbox / "ada" / f"numbers_dev{suffix}", page)
    assert only(inbox, lessons).files["numbers"].problem == (
        f"numbers_dev{suffix} is damaged: this is a web page, not the lesson: "
        "download the raw file."
    )


def test_a_lesson_file_is_known_by_its_name_or_by_what_it_says(inbox, lessons):
    for name in (
        "numbers_dev.py",
        "numbers_dev (1).py",
        "Copy of numbers_dev.py",
        "ada_numbers_dev-2.PY",
        "my homework.py",
    ):
        put(inbox / name.replace(".", "") / name)
    for name in ("renumbers_dev.py", "numbers_devil.py", "numbers.txt"):
        put(inbox / "zz" / name, "print(1)")
    found = all_of(inbox, lessons)
    assert (zz := found.pop("zz")).strange and zz.problem == (
        "It contains no file of a lesson, but numbers.txt, numbers_devil.py, renumbers_dev.py."
    )
    assert len(found) == 5 and all(
        list(one.files) == ["numbers"] and one.files["numbers"].source for one in found.values()
    )


def test_what_is_no_work_of_the_learner_is_not_read(inbox, lessons):
    for folder in (
        ".tito/pristine/01_numbers",
        ".git",
        "__MACOSX",
        ".ipynb_checkpoints",
        ".venv",
        "venv/lib",
        "tinytorch/core",
    ):
        put(inbox / "ada" / folder / "numbers_dev.py")
        put(inbox / "ada" / folder / "other.py", NUMBERS)
    names = {
        p.relative_to(inbox / "ada").as_posix(): NUMBERS for p in (inbox / "ada").rglob("*.py")
    }
    put(inbox / "bob.zip", zipped(names))
    assert [one.files for one in all_of(inbox, lessons).values()] == [{}, {}]


def test_a_notebook_counts_as_a_script_does(inbox, lessons):
    put(inbox / "ada" / "numbers_dev.ipynb", notebook.to_notebook(NUMBERS, lessons[0].declared))
    file = only(inbox, lessons).files["numbers"]
    assert file.is_notebook and not file.problem
    assert [c.source for c in file.source.exported] == [
        c.source for c in cells.parse(Path("x.py"), NUMBERS).exported
    ]


def test_of_script_and_notebook_with_the_same_code_the_script_counts(inbox, lessons):
    put(inbox / "ada" / "numbers_dev.py")
    put(
        inbox / "ada" / "numbers_dev.ipynb",
        notebook.to_notebook(NUMBERS.replace("größer", "grösser"), lessons[0].declared),
    )
    one = only(inbox, lessons)
    assert one.files["numbers"].path == "numbers_dev.py"
    assert one.notes == [
        "numbers: numbers_dev.py counts: the code in numbers_dev.ipynb is the same."
    ]


def test_of_several_files_the_one_with_more_written_counts(inbox, lessons):
    stub = released(lessons)
    half = NUMBERS.replace(
        "    ### BEGIN SOLUTION\n    return double(x) + x\n    ### END SOLUTION\n",
        stub.split('"""Three times `x`."""\n')[1].split("\n")[0] + "\n",
    )
    put(inbox / "ada" / "numbers_dev.py", stub)
    put(
        inbox / "ada" / "work" / "numbers_dev (1).ipynb",
        notebook.to_notebook(NUMBERS, lessons[0].declared),
    )
    put(inbox / "ada" / "a" / "numbers_dev.py", half)
    one = only(inbox, lessons)
    assert one.files["numbers"].path == "work/numbers_dev (1).ipynb"
    assert one.notes == [
        "numbers: work/numbers_dev (1).ipynb counts: 2 of 2 exercises are written in it; not "
        "numbers_dev.py (0), a/numbers_dev.py (1)."
    ]


def test_an_exercise_is_written_where_the_cell_that_counts_is(inbox, lessons):
    """Also with a copy of the stub above it; the other file has one exercise of two."""
    stub = next(cell for cell in released(lessons).split("# %% ") if 'exercise="double"' in cell)
    head, mark, rest = NUMBERS.partition('# %% exercise="double"')
    put(inbox / "ada" / "numbers_dev.py", f"{head}# %% {stub}{mark}{rest}")
    put(inbox / "ada" / "old" / "numbers_dev.py", NUMBERS.replace("triple(x)", "thrice(x)"))
    (note,) = only(inbox, lessons).notes
    assert note.startswith("numbers: numbers_dev.py counts: 2 of 2 exercises are written in it")


@pytest.mark.parametrize("later", ["script", "notebook"])
def test_of_two_with_as_much_written_the_later_counts(inbox, lessons, later):
    put(inbox / "ada" / "numbers_dev.py", NUMBERS, WEDNESDAY if later == "script" else MONDAY)
    put(
        inbox / "ada" / "numbers_dev.ipynb",
        notebook.to_notebook(HALF, lessons[0].declared),
        WEDNESDAY if later == "notebook" else MONDAY,
    )
    files = [
        (member(name, when=when.timetuple()[:6]), data)
        for name, data, when in (
            ("numbers_dev.py", NUMBERS, WEDNESDAY if later == "script" else MONDAY),
            (
                "numbers_dev.ipynb",
                notebook.to_notebook(HALF, lessons[0].declared),
                WEDNESDAY if later == "notebook" else MONDAY,
            ),
        )
    ]
    put(inbox / "bob.zip", zipped(files))
    for one in all_of(inbox, lessons).values():
        assert one.files["numbers"].is_notebook == (later == "notebook")
        assert (
            "2 of 2 exercises are written in it, and it is the later one; not numbers_dev"
            in one.notes[0]
        )


def test_exercises_are_found_without_their_ids_too(inbox, lessons):
    put(
        inbox / "ada" / "numbers_dev.py",
        "# %%\n" + NUMBERS.split("# %%", 2)[2].replace("exercise=", "lost="),
    )
    put(inbox / "ada" / "later" / "numbers_dev.py", released(lessons), WEDNESDAY)
    assert only(inbox, lessons).files["numbers"].path == "numbers_dev.py"


def test_a_damaged_file_gives_way_to_one_that_can_be_read(inbox, lessons):
    put(inbox / "ada" / "numbers_dev.ipynb", "{")
    put(inbox / "ada" / "z" / "numbers_dev.py")
    one = only(inbox, lessons)
    assert one.files["numbers"].path == "z/numbers_dev.py"
    assert one.notes[0].startswith("numbers: numbers_dev.ipynb is damaged")


# What cannot be read.


def central(data, offset, form, value):
    """The zip with a field of its first entry in the list of members replaced."""
    at = data.rindex(b"PK\5\6")
    at = struct.unpack("<I", data[at + 16 : at + 20])[0] + offset
    return data[:at] + struct.pack(form, value) + data[at + struct.calcsize(form) :]


GOOD = zipped({"numbers_dev.py": NUMBERS})
GOOD_AND_MORE = zipped({"numbers_dev.py": NUMBERS, "notes.txt": ""})
BAD_ZIPS = {
    "no zip": (lambda: b"%PDF-1.4 ...", "is not a zip, or damaged"),
    "truncated": (lambda: GOOD[: len(GOOD) // 2], "is not a zip, or damaged"),
    "only its end": (lambda: GOOD[-30:], "is not a zip, or damaged"),
    "a bomb by ratio": (
        lambda: zipped({"numbers_dev.py": NUMBERS, "zeros": bytes(50_000_000)}),
        "that is a bomb",
    ),
    "a bomb by its own words": (lambda: central(GOOD, 24, "<I", 4_000_000_000), "that is a bomb"),
    "a bomb in a zip": (
        lambda: zipped({"a.zip": zipped({"numbers_dev.py": bytes(50_000_000)})}),
        "holds a.zip, which is",
    ),
    "many files": (
        lambda: zipped({f"{n}": b"" for n in range(20_001)}),
        "holds too many files: 20,001, and 20,000 are allowed",
    ),
    "a list of members without end": (
        lambda: zipped([(f"{n:0300}", b"") for n in range(18_000)]),
        "holds too many files",
    ),
    "a damaged zip in it": (
        lambda: zipped({"work.zip": GOOD[:100]}),
        "holds work.zip, which is not a zip, or damaged",
    ),
    "a name that is no UTF-8": (
        lambda: zipped({"ü/numbers_dev.py": NUMBERS}).replace("ü".encode(), b"\xff\xff"),
        "is not a zip, or damaged",
    ),
}


@pytest.mark.parametrize("kind", BAD_ZIPS)
def test_a_zip_that_cannot_be_read_is_reported(inbox, lessons, kind):
    data, why = BAD_ZIPS[kind]
    put(inbox / "ada.zip", data())
    put(inbox / "bob.zip", GOOD)
    found = all_of(inbox, lessons)
    assert (
        found["ada"].problem.startswith("ada.zip ")
        and why in found["ada"].problem
        and found["ada"].problem.endswith(".")
    )
    assert not found["ada"].files and found["bob"].files["numbers"].text


def test_files_that_overlap_in_a_zip_are_refused(inbox, lessons):
    good = zipped({"a": b"1" * 99, "numbers_dev.py": NUMBERS}, zipfile.ZIP_STORED)
    put(inbox / "ada.zip", central(good, 20, "<I", 5_000))
    assert only(inbox, lessons).problem == "ada.zip is damaged: its files overlap."


def test_what_a_zip_says_of_a_size_is_not_believed(inbox, lessons):
    data = central(zipped({"numbers_dev.py": b"#" * 3_000_000}), 24, "<I", 1_000)
    put(inbox / "liar.zip", data)
    put(inbox / "large.zip", zipped({"numbers_dev.py": os.urandom(1_500_000).hex()}))
    found = all_of(inbox, lessons)
    assert found["liar"].files["numbers"].problem == "numbers_dev.py is damaged in the zip."
    assert (
        found["large"].files["numbers"].problem
        == "numbers_dev.py is too large: 3,000,000 bytes, and 2,000,000 are allowed."
    )
    assert found["large"].files["numbers"].text == "" and found["large"].problem == ""


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: central(GOOD_AND_MORE, 8, "<H", 1), "is encrypted"),
        (
            lambda: central(GOOD, 10, "<H", 99),
            "is compressed in a way that is not read here (method 99)",
        ),
        (lambda: zipped({"numbers_dev.py": NUMBERS}, zipfile.ZIP_LZMA), "(method 14)"),
        (
            lambda: zipped([(member("numbers_dev.py", 0o120777), "/etc/passwd")]),
            "is a link, no regular file",
        ),
        (lambda: zipped([(member("numbers_dev.py", 0o010644), "")]), "is a pipe, no regular file"),
        (
            lambda: zipped([(member("numbers_dev.py", 0o020644), "")]),
            "is a device, no regular file",
        ),
        (lambda: GOOD.replace(b"numbers_dev.py", b"numbers_dev.PY", 1), "is damaged in the zip"),
        (lambda: central(GOOD, 16, "<I", 1), "is damaged in the zip"),
        (
            lambda: zipped({"d/" * 41 + "numbers_dev.py": NUMBERS}),
            "is nested deeper than 40 folders",
        ),
    ],
)
def test_a_member_that_cannot_be_read_is_reported(inbox, lessons, make, why):
    put(inbox / "ada.zip", make())
    file = only(inbox, lessons).files["numbers"]
    assert (
        why in file.problem
        and file.text == ""
        and file.source is None
        and file.problem.endswith(".")
    )


@pytest.mark.parametrize(
    "name",
    [
        "../numbers_dev.py",
        "a/../../numbers_dev.py",
        "/numbers_dev.py",
        "C:/numbers_dev.py",
        "..\\..\\numbers_dev.py",
        "/",
    ],
)
def test_names_that_point_outside_of_a_zip_are_ignored_and_told(inbox, lessons, name):
    before = {p for p in inbox.parent.rglob("*") if "numbers_dev" in p.name}
    put(inbox / "ada.zip", zipped({name: "evil", "a.txt": ""}))
    one = only(inbox, lessons)
    assert (
        not one.files
        and one.notes[0] == f"Names that point outside of the zip were ignored: {name}."
    )
    assert {p for p in inbox.parent.rglob("*") if "numbers_dev" in p.name} == before


def test_a_zip_with_a_nul_in_a_name_is_read_without_it(inbox, lessons):
    put(
        inbox / "ada.zip",
        zipped({"numbers_dev.py": NUMBERS, "sums_dev.py?.txt": SUMS}).replace(b"py?", b"py\0"),
    )
    one = only(inbox, lessons)
    assert list(one.files) == ["numbers"] and "sums_dev.py\ufffd.txt" in one.notes[0]


def test_backslashes_of_a_windows_zip_are_folders(inbox, lessons):
    put(inbox / "ada.zip", zipped({"work\\numbers_dev.py": NUMBERS, ".tito\\sums_dev.py": SUMS}))
    assert {name: file.path for name, file in only(inbox, lessons).files.items()} == {
        "numbers": "work/numbers_dev.py"
    }


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_is_twice_in_a_zip_counts_once(inbox, lessons):
    put(
        inbox / "ada.zip",
        zipped([("numbers_dev.py", released(lessons)), ("numbers_dev.py", NUMBERS)]),
    )
    one = only(inbox, lessons)
    assert (
        one.files["numbers"].raw.decode() == NUMBERS
        and "2 of 2 exercises are written in it; not numbers_dev.py (0)" in one.notes[0]
    )


BOOK = json.dumps(
    {"cells": [{"cell_type": "code", "source": NUMBERS, "metadata": {}}], "metadata": {}}
)
NAMES_IN_ARCHIVES = st.sampled_from(["", "work/", "a b/ü/", "deep/" * 20, "./"])


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(PACKERS)), NAMES_IN_ARCHIVES), min_size=1, max_size=8
    ),
    st.sampled_from([("numbers_dev.py", NUMBERS), ("numbers_dev.ipynb", BOOK)]),
    st.sampled_from([{}, {"notes.txt": "x"}, {"old.tar": "no tar", "__MACOSX/._x.zip": "x"}]),
)
def test_archives_in_archives_are_read_to_a_depth_of_five(inbox, lessons, around, file, beside):
    name, data = file
    for kind, folder in around:
        data = PACKERS[kind]({folder + name: data} | beside)
        name = f"hand-in.{kind}"
    one = only(put(inbox / "ada" / name, data).parent.parent, lessons)
    (inbox / "ada" / name).unlink()
    if len(around) > LIMITS.nested:
        assert not one.files and "5 archives deep" in " ".join([one.problem, *one.notes])
    else:
        assert not one.problem and one.files["numbers"].raw.decode() == file[1]
        assert one.files["numbers"].sha256 == hashlib.sha256(file[1].encode()).hexdigest()


@pytest.mark.parametrize("kind", PACKERS)
def test_a_tar_is_an_entry_as_a_zip_is(inbox, tmp_path, lessons, kind):
    data = PACKERS[kind]({"work/numbers_dev.py": NUMBERS})
    put(inbox / f"ada.{kind}", data)
    whole = put(tmp_path / "class.zip", zipped({f"ada.{kind}": data, "bob.zip": GOOD}))
    for where in (inbox, whole):
        ada = all_of(where, lessons)["ada"]
        assert ada.files["numbers"].raw.decode() == NUMBERS
        assert all_of(where, lessons, CLASS)["ada"].files["numbers"].source


BAD_TARS = {
    "truncated": lambda: tarred({"numbers_dev.py": NUMBERS}, "gz")[:-30],
    "cut in a file": lambda: tarred({"numbers_dev.py": NUMBERS})[:900],
    "a wrong checksum": lambda: tarred({"numbers_dev.py": NUMBERS}, "gz")[:-8] + bytes(8),
    "no tar": lambda: gzip.compress(b"x" * 99_000),
    "a bomb": lambda: tarred({"numbers_dev.py": NUMBERS, "zeros": bytes(50_000_000)}, "gz"),
    "a bomb behind its end": lambda: gzip.compress(tarred({"a": ""}) + bytes(50_000_000)),
    "a bomb in a name": lambda: tarred({"n" * 2_000_000: ""}, "gz"),
    "a bomb in a bomb": lambda: tarred({"a.tar.xz": tarred({"a": bytes(50_000_000)}, "xz")}, "xz"),
    "many files": lambda: tarred({str(number): b"" for number in range(20_001)}, "gz"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", BAD_TARS)
def test_a_tar_that_cannot_be_read_is_reported(inbox, lessons, kind):
    put(inbox / "ada.tar.gz", BAD_TARS[kind]())
    one = only(inbox, lessons)
    assert not one.files and not one.strange and one.problem.startswith("ada.tar.gz ")
    assert ("that is a bomb" in one.problem) == (
        kind in ("a bomb", "a bomb behind its end", "a bomb in a bomb")
    )


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}, "is a link, no regular file"),
        ({"type": tarfile.LNKTYPE, "linkname": "a.txt"}, "is a link, no regular file"),
        ({"type": tarfile.FIFOTYPE}, "is a pipe, no regular file"),
        ({"type": tarfile.CHRTYPE}, "is a device, no regular file"),
        ({"name": "d/" * 41 + "numbers_dev.py"}, "is nested deeper than 40 folders"),
    ],
)
def test_a_member_of_a_tar_that_cannot_be_read_is_reported(inbox, lessons, fields, why):
    put(inbox / "ada.tar", tarred({"a.txt": "x", tar_member(**fields): ""}))
    file = only(inbox, lessons).files["numbers"]
    assert why in file.problem and file.text == ""


@pytest.mark.parametrize("name", ["../numbers_dev.py", "/numbers_dev.py", "a/../../numbers_dev.py"])
def test_names_that_point_outside_of_a_tar_are_ignored_and_told(inbox, lessons, name):
    put(inbox / "ada.tgz", tarred({name: NUMBERS, "a.txt": ""}, "gz"))
    one = only(inbox, lessons)
    assert not one.files
    assert one.notes == [f"Names that point outside of the tar were ignored: {name}."]


def test_the_archives_of_a_submission_together_stay_in_the_limits(inbox, lessons):
    inner = zipped({f"{number}.txt": "" for number in range(30)} | {"x_dev.py": NUMBERS})
    outer = zipped({f"{number}.zip": inner for number in range(4)} | {"numbers_dev.py": NUMBERS})
    for limits, why in (
        (replace(LIMITS, members=70), "holds too many files"),
        (replace(LIMITS, held=len(inner) + 9), "is too large"),
        (replace(LIMITS, archives=2), "2 archives were before it"),
    ):
        one = only(put(inbox / "ada.zip", outer).parent, lessons, limits=limits)
        assert one.files["numbers"].source and why in " ".join(one.notes), limits


# What is of no lesson.


NOTHING = {
    "a link": ({"notebook.txt": "https://colab.example/1"}, "notebook.txt"),
    "a document": (
        {"work.docx": "PK", "picture.png": "", "x.gdoc": "{}"},
        "picture.png, work.docx",
    ),
    "another name": ({"homework.py": "print(1)"}, "homework.py"),
    "an archive of another kind": ({"work.rar": "Rar!"}, "work.rar"),
    "no bytes": ({"work.zip": ""}, "work.zip"),
    "an empty zip": ({"work.zip": zipped({})}, "work.zip"),
    "an empty tar": ({"work.tar.gz": tarred({}, "gz")}, "work.tar.gz"),
    "an encrypted zip": ({"work.zip": central(GOOD, 8, "<H", 1)}, "work.zip"),
    "a document in a zip": ({"work.zip": zipped({"a/x.pdf": ""})}, "work.zip"),
}


@pytest.mark.parametrize("form", ["folder", "zip", "tar.gz", "entry", "class"])
@pytest.mark.parametrize("kind", NOTHING)
def test_what_holds_nothing_of_a_lesson_is_told_with_its_files(
    inbox, tmp_path, lessons, kind, form
):
    files, names = NOTHING[kind]
    where = inbox
    if form == "folder":
        for name, data in files.items():
            put(inbox / "ada" / name, data)
    elif form == "entry":
        for name, data in files.items():
            put(inbox / f"ada_{name}", data)
    elif form == "class":
        where = put(tmp_path / "c.zip", zipped({f"ada/{n}": data for n, data in files.items()}))
    else:
        put(inbox / f"ada.{form}", PACKERS[form](files))
    one = all_of(where, lessons, CLASS)["ada"]
    assert one.strange and not one.files
    assert all(name in one.problem for name in names.split(", ")), one.problem


def test_a_folder_without_a_file_was_not_handed_in(inbox, lessons):
    (inbox / "ada").mkdir()
    put(inbox / "bob" / ".git" / "config", "x")
    put(inbox / "late" / ".DS_Store", "x")
    for one in all_of(inbox, lessons, CLASS).values():
        assert not (one.problem or one.strange or one.files)


def test_of_several_zips_in_a_folder_the_latest_counts(inbox, lessons):
    put(inbox / "ada" / "work-2.zip", zipped({"numbers_dev.py": HALF}), MONDAY)
    put(inbox / "ada" / "work.zip", GOOD, WEDNESDAY)
    put(inbox / "bob" / "work-10.zip", GOOD, MONDAY)
    put(inbox / "bob" / "work-9.zip", zipped({"numbers_dev.py": HALF}), MONDAY)
    found = all_of(inbox, lessons)
    assert all(one.files["numbers"].raw.decode() == NUMBERS for one in found.values())
    assert found["ada"].notes == ["work.zip counts, the latest archive: not work-2.zip."]
    assert found["ada"].files["numbers"].path == "work.zip/numbers_dev.py"
    put(inbox / "ada" / "work.zip", GOOD[:50], WEDNESDAY)
    assert (
        all_of(inbox, lessons)["ada"].problem
        == "ada holds work.zip, which is not a zip, or damaged."
    )


BAD_FILES = {
    "not UTF-8": (NUMBERS.encode("latin-1"), "is not UTF-8: byte 0xf6 in line 4"),
    "UTF-16": (NUMBERS.encode("utf-16"), "is not UTF-8: byte 0xff in line 1"),
    "no bytes": (b"", "is empty"),
    "blank": (b"\n \n", "is empty"),
    "too large": (b"#" * 2_000_001, "is too large: 2,000,001 bytes, and 2,000,000 are allowed"),
    "a header that is not closed": (
        b"# ---\n# jupyter:\n",
        "is damaged in line 1: the header is never closed",
    ),
    "metadata that are no JSON": (
        b"# %% exercise={\n",
        "is damaged in line 1: the cell's metadata exercise=... is not valid JSON",
    ),
    "metadata that are too deep": (b"# %% a=" + b"[" * 9_000 + b"\n", "is damaged"),
    "metadata without end": (
        b"# %%" + b" a=1" * 400_000 + b"\n",
        "has 1,600,004 characters in its line 1",
    ),
}
BAD_BOOKS = {
    "no JSON": "{\n",
    "a list": "[]",
    "no cells": '{"cells": 1}',
    "half a cell": '{"cells": [{"cell_type": "code"}]}',
    "null": "null",
    "cells of words": '{"cells": ["a"]}',
    "half a character": '{"cells": [{"cell_type": "code", "source": "\\ud800"}]}',
    "deep": "[" * 900_000,
    "deep in a cell": '{"cells": [{"cell_type": "code", "source": ' + "[" * 900_000,
    "a huge number": '{"cells": ' + "9" * 9_000 + "}",
}


@pytest.mark.parametrize("kind", [*BAD_FILES, *BAD_BOOKS])
def test_a_file_that_cannot_be_read_is_reported(inbox, lessons, kind):
    raw, why = BAD_FILES.get(kind) or (BAD_BOOKS[kind].encode(), "is damaged")
    name = "numbers_dev.py" if kind in BAD_FILES else "numbers_dev.ipynb"
    put(inbox / "ada" / name, raw)
    put(inbox / "ada" / "sums_dev.py", SUMS)
    one = only(inbox, lessons)
    assert one.files["numbers"].problem.startswith(
        f"{name} is" if "without end" not in kind else name
    )
    assert (
        why in one.files["numbers"].problem
        and one.files["numbers"].text == ""
        and one.files["sums"].source
        and not one.problem
    )


def test_the_header_of_a_script_is_not_read(inbox, lessons):
    put(inbox / "ada" / "numbers_dev.py", "# ---\n# jupyter: [\n# ---\n\n" + NUMBERS)
    file = only(inbox, lessons).files["numbers"]
    assert not file.problem
    assert [c.source for c in file.source.exported] == [
        c.source for c in cells.parse(Path("x.py"), NUMBERS).exported
    ]


def test_links_pipes_and_sockets_are_reported_and_never_opened(
    inbox, lessons, tmp_path, monkeypatch
):
    secret = put(tmp_path / "secret" / "numbers_dev.py")
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    (inbox / "a").mkdir()
    (inbox / "a" / "numbers_dev.py").symlink_to(secret)
    (inbox / "b").symlink_to(secret.parent)
    (inbox / "c.py").symlink_to(secret)
    (inbox / "d").mkdir()
    (inbox / "d" / "work").symlink_to(secret.parent)
    (inbox / "e").mkdir()
    os.mkfifo(inbox / "e" / "numbers_dev.py")
    os.mkfifo(inbox / "f.zip")
    (inbox / "g").mkdir()
    (inbox / "g" / "work.zip").symlink_to(put(tmp_path / "secret" / "x.zip", GOOD))
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("submissions/h.py")
        found = all_of(inbox, lessons)
    assert {
        student: one.problem or [file.problem for file in one.files.values()]
        for student, one in found.items()
    } == {
        "a": ["numbers_dev.py is a link, no regular file."],
        "b": "b is a link, no regular file.",
        "c": "c.py is a link, no regular file.",
        "d": "It contains no file of a lesson, but work.",
        "e": ["numbers_dev.py is a pipe, no regular file."],
        "f": "f.zip is a pipe, no regular file.",
        "g": "g holds work.zip, which is a link, no regular file.",
        "h": "h.py is a socket, no regular file.",
    }


def test_a_file_that_may_not_be_read_or_changes_all_the_time_is_reported(
    inbox, lessons, monkeypatch
):
    """Permissions do not stop root, who may run this test: so the system's answers are put in its
    mouth.
    """
    for name in ("a", "b", "c"):
        put(inbox / name / "numbers_dev.py")
    really_open, really_stat, times = os.open, os.fstat, iter(range(10**6))
    refused, folder_of = {"a/numbers_dev.py", "b"}, {}  # {descriptor of a folder: its path}

    def refuse(path, how, dir_fd=None):
        place = Path(folder_of.get(dir_fd, inbox), path).relative_to(inbox).as_posix()
        if place in refused:
            raise PermissionError(13, "Permission denied")
        found = really_open(path, how, dir_fd=dir_fd)
        folder_of[found] = inbox / place
        return found

    def changing(handle):
        info = really_stat(handle)
        return SimpleNamespace(st_mode=info.st_mode, st_size=info.st_size, st_mtime_ns=next(times))

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(archives, "BY_FOLDER", True)  # also if os.open is replaced
    monkeypatch.setattr(os, "fstat", changing)
    found = all_of(inbox, lessons)
    assert (
        found["a"].files["numbers"].problem == "numbers_dev.py cannot be read: Permission denied."
    )
    assert found["b"].problem == "b cannot be read: Permission denied."
    assert found["c"].files["numbers"].problem == "numbers_dev.py changed while it was read."


@pytest.mark.skipif(not archives.BY_FOLDER, reason="this system opens files by paths only")
def test_a_folder_that_becomes_a_link_to_a_neighbours_is_not_followed(inbox, lessons):
    """A file that changes between listing and reading counts as it is when it is read."""
    put(inbox / "ada" / "work" / "numbers_dev.py", HALF)
    put(inbox / "zoe" / "numbers_dev.py", NUMBERS)
    ada = find_submissions(inbox, lessons)[0]
    (item,) = list_upload(ada.uploads[0], LIMITS, archives.Allowance.of(LIMITS), None).members
    assert item.read(10**6) == HALF.encode()
    (inbox / "ada" / "work").rename(inbox / "ada" / "was")
    (inbox / "ada" / "work").symlink_to(inbox / "zoe", target_is_directory=True)
    with pytest.raises(archives.Unreadable):
        item.read(10**6)


def test_folders_nested_without_end_are_left(inbox, lessons):
    put(inbox / "ada" / "numbers_dev.py")
    here = os.open(inbox / "ada", os.O_RDONLY)
    try:
        for _ in range(1_500):  # far deeper than any path may be long
            os.mkdir("deep", dir_fd=here)
            deeper = os.open("deep", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = deeper
    finally:
        os.close(here)
    try:
        one = only(inbox, lessons)
    finally:
        flatten(inbox / "ada")
    assert one.files["numbers"].text and one.notes == [
        "Folders nested deeper than 40 were not looked at."
    ]


def flatten(folder):
    """Delete `deep/deep/...` in `folder`: pytest's own clean-up would recurse too deep."""
    count = 0
    while (folder / "deep").exists():
        os.rename(folder / "deep", folder / f"old{count}")
        if (folder / f"old{count}" / "deep").exists():
            os.rename(folder / f"old{count}" / "deep", folder / "deep")
        os.rmdir(folder / f"old{count}")
        count += 1
    assert count == 1_500


def test_limits_hold_and_are_reported(inbox, lessons):
    for n in range(6):
        put(inbox / "ada" / f"{n}" / "numbers_dev.py")
        put(inbox / "ada" / f"x{n}.py", "print()")
    assert (
        "holds more than 5 files"
        in only(inbox, lessons, limits=replace(LIMITS, members=5)).notes[0]
    )
    one = only(inbox, lessons, limits=replace(LIMITS, copies=2))
    assert (
        one.notes[0] == "numbers: 6 files; only the first 2 were looked at."
        and one.files["numbers"].path == "0/numbers_dev.py"
    )
    one = only(inbox, lessons, limits=replace(LIMITS, read=1))
    assert (
        one.files["numbers"].text
        and "1/numbers_dev.py was not read: 1 bytes of lesson files are read of one submission."
        in one.notes[0]
    )
    put(inbox / "ada" / "numbers.zip", GOOD)
    assert (
        only(inbox, lessons, limits=replace(LIMITS, inner_zip=100))
        .notes[0]
        .startswith("numbers.zip is too large")
    )
    os.rename(inbox / "ada" / "numbers.zip", inbox / "bob.zip")
    assert all_of(inbox, lessons, limits=replace(LIMITS, zip=100))["bob"].problem.startswith(
        "bob.zip is too large"
    )


ABSURD = [
    "=cmd()",
    "+1",
    "-2",
    "@x",
    "a\nb",
    "a\rb",
    "a\tb",
    "\x1b[2J",
    "\u202etxt.py",
    "🎓",
    "👩\u200d💻",
    "Zoë",
    "zoë",
    " ",
    "  ",
    "a,b",
    'a"b',
    "<b>",
    "%s",
    "{0}",
    "x" * 255,
    "x" * 201,
    "\x7f",
    "con",
    "*",
    "'",
    "\\",
    "|",
    "~",
    ".hidden",
    "...",
]


def test_absurd_names_each_get_a_row_that_can_be_shown(inbox, lessons):
    raw = [name.encode() for name in ABSURD] + [b"\xff", b"\xfe", b"a\xffb", b"a\nb\xff"]
    for name in raw:
        os.mkdir(os.path.join(os.fsencode(inbox), name))
    found = find_submissions(inbox, lessons)
    students = [one.student for one in found]
    assert len(found) == len(raw) == len({student.casefold() for student in students})
    assert all(
        student.replace("\u200d", "").isprintable() and 0 < len(student) <= 200 and student.encode()
        for student in students
    )
    assert {"=cmd()", "🎓", "Zoë", "a,b", "👩\u200d💻"} <= set(students)
    assert students == [one.student for one in find_submissions(inbox, lessons)]


def test_entries_that_look_alike_get_rows_of_their_own(inbox, lessons):
    put(inbox / "ada.zip", GOOD)
    put(inbox / "ADA.py")
    put(inbox / "ada" / "sums_dev.py", SUMS)
    put(inbox / "bob" / "numbers_dev.py")
    found = {student: list(one.files) for student, one in all_of(inbox, lessons).items()}
    assert found == {
        "ada": ["sums"],
        "ADA.py": ["numbers"],
        "ada.zip": ["numbers"],
        "bob": ["numbers"],
    }


def test_limits_of_zips_are_of_members_and_sizes_not_of_what_a_member_may_hold(inbox, lessons):
    put(inbox / "ada.zip", zipped({"numbers_dev.py": NUMBERS + "#" * 150_000}, zipfile.ZIP_STORED))
    assert only(inbox, lessons, limits=replace(LIMITS, members=1)).files["numbers"].source
    assert "unpacks to 15" in only(inbox, lessons, limits=replace(LIMITS, unpacked=150_000)).problem


def test_a_file_that_becomes_a_link_or_goes_after_it_was_found_is_reported(
    inbox, lessons, tmp_path
):
    for name in ("a.zip", "b.py", "c.zip", "d.py"):
        put(inbox / name, GOOD)
    found = find_submissions(inbox, lessons)
    for name in ("a.zip", "b.py", "c.zip"):
        (inbox / name).unlink()
    (inbox / "a.zip").symlink_to(put(tmp_path / "secret.zip", GOOD))
    (inbox / "b.py").symlink_to(put(tmp_path / "numbers_dev.py"))
    a, b, c, d = (open_submission(one, lessons) for one in found)
    assert (
        a.problem == "a.zip is a link, no regular file."
        and c.problem == "c.zip cannot be read: No such file or directory."
    )
    assert b.notes == ["b.py is a link, no regular file."]
    assert b.problem == "It contains no file of a lesson, but b.py."
    assert d.problem == "It contains no file of a lesson, but d.py." and not b.files | d.files


def test_names_of_ten_thousand_characters_in_zips_are_shown_short(inbox, lessons):
    put(
        inbox / "ada.zip",
        zipped(
            {
                "n" * 10_000 + "/numbers_dev.py": "\xff".encode("latin-1"),
                "\n=cmd()/sums_dev.py": b"\xff",
            }
        ),
    )
    one = only(inbox, lessons)
    assert (
        all(len(file.problem) < 250 and file.problem.isprintable() for file in one.files.values())
        and len(one.files) == 2
    )


# Who handed in what, and when.


CLASS = [
    Learner("zoe", "Zoë Zahn", columns={"canvas_id": "12345"}),
    Learner("ada", "Ada Lovelace", {"email": "ada@example.org", "github": "countess"}),
    Learner("bob", "Bob Bauer"),
    Learner("late", "Lea Late"),
]


def test_with_a_roster_each_learner_has_a_row_in_its_order_and_strangers_follow(inbox, lessons):
    put(inbox / "zahnzoe_12345_99_work.zip", GOOD, WEDNESDAY)
    put(inbox / "Countess.py", NUMBERS, MONDAY)
    put(inbox / "bob.zip", GOOD, WEDNESDAY)
    put(inbox / "mallory_1_2_ada.zip", GOOD)
    found = find_submissions(inbox, lessons, CLASS)
    assert [(one.student, one.name, one.known) for one in found[:4]] == [
        ("zoe", "Zoë Zahn", True),
        ("ada", "Ada Lovelace", True),
        ("bob", "Bob Bauer", True),
        ("late", "Lea Late", True),
    ]
    assert [(one.student, one.known, one.notes) for one in found[4:]] == [
        ("mallory_1_2_ada", False, ("mallory_1_2_ada.zip belongs to no learner in the roster.",))
    ]
    read = [open_submission(one, lessons) for one in found]
    assert [list(one.files) for one in read] == [
        ["numbers"],
        ["numbers"],
        ["numbers"],
        [],
        ["numbers"],
    ]
    assert read[3].problem == "" and read[3].notes == []


def test_an_entry_that_may_belong_to_two_learners_is_assigned_to_neither(inbox, lessons):
    put(inbox / "ada and bob.zip", GOOD)
    *known, stranger = find_submissions(inbox, lessons, CLASS)
    assert not any(one.uploads for one in known)
    assert (stranger.student, stranger.known) == ("ada and bob", False)
    assert stranger.notes == (
        "ada and bob.zip may belong to ada, bob: its name does not identify the learner.",
    )


def test_of_several_entries_of_a_learner_the_latest_counts(inbox, lessons):
    put(inbox / "ada.zip", zipped({"numbers_dev.py": HALF}), WEDNESDAY)
    put(inbox / "ada-2.zip", GOOD, MONDAY)
    put(inbox / "ada.pdf", "%PDF")
    put(inbox / "zoe-10.zip", zipped({"numbers_dev.py": HALF}), MONDAY)
    put(inbox / "zoe-9.zip", GOOD, MONDAY)
    found = all_of(inbox, lessons, CLASS)
    assert found["ada"].files["numbers"].raw == found["zoe"].files["numbers"].raw == HALF.encode()
    assert [note for note in found["ada"].notes if "theirs" not in note] == [
        "ada.pdf is not a folder, zip, tar, script or notebook.",
        "numbers: the file in ada.zip counts, the latest of 2: not ada-2.zip.",
    ]
    assert found["zoe"].notes[-1] == (
        "numbers: the file in zoe-10.zip counts, the latest of 2: not zoe-9.zip."
    )


def test_a_later_hand_in_that_cannot_be_read_gives_way_to_an_earlier_one(inbox, lessons):
    put(inbox / "ada.zip", GOOD, MONDAY)
    put(inbox / "ada-2.zip", zipped({"numbers_dev.py": b"\xff"}), WEDNESDAY)
    ada = all_of(inbox, lessons, CLASS)["ada"]
    assert ada.files["numbers"].raw.decode() == NUMBERS
    assert any("is not UTF-8" in note for note in ada.notes)
    assert ada.notes[-1].endswith(
        "ada.zip counts, the latest in which an exercise is written: not ada-2.zip."
    )
    put(inbox / "bob.zip", zipped({"numbers_dev.py": released(lessons)}), MONDAY)
    put(inbox / "bob-2.zip", zipped({"numbers_dev.py": b"\xff"}), WEDNESDAY)
    assert "not UTF-8" in all_of(inbox, lessons, CLASS)["bob"].files["numbers"].problem


def test_lesson_files_that_come_one_by_one_add_up_and_newer_ones_replace(inbox, lessons):
    put(inbox / "ada.zip", zipped({"numbers_dev.py": HALF, "sums_dev.py": SUMS}), MONDAY)
    put(inbox / "ada_numbers.py", NUMBERS, WEDNESDAY)
    put(inbox / "bob_numbers_dev.py", NUMBERS, MONDAY)
    put(inbox / "bob_numbers_dev-1.py", HALF, WEDNESDAY)
    put(inbox / "bob_sums_dev.py", b"\xff", MONDAY)
    found = all_of(inbox, lessons, CLASS)
    assert {name: file.raw.decode() for name, file in found["ada"].files.items()} == {
        "numbers": NUMBERS,
        "sums": SUMS,
    }
    assert found["ada"].notes[-1] == (
        "numbers: the file in ada_numbers.py counts, the latest of 2: not ada.zip."
    )
    assert found["ada"].files["sums"].entry == "ada.zip"
    assert (
        found["bob"].files["numbers"].raw.decode() == HALF
        and "not UTF-8" in found["bob"].files["sums"].problem
    )


def test_the_time_of_a_zip_or_download_is_no_arrival(inbox, lessons):
    put(
        inbox / "ada.zip",
        zipped([(member("numbers_dev.py", when=(1999, 1, 1, 0, 0, 0)), NUMBERS)]),
        WEDNESDAY,
    )
    (inbox / "bob").mkdir()
    put(inbox / "bob" / "numbers_dev.py", NUMBERS, MONDAY)
    os.utime(inbox / "bob", (WEDNESDAY.timestamp(),) * 2)
    put(inbox / "old.zip", GOOD)
    os.utime(inbox / "old.zip", ns=(0, -(10**18)))
    found = {one.student: one for one in find_submissions(inbox, lessons)}
    assert not any(one.arrival("").when for one in found.values())
    times = {student: one.arrival("").fetched for student, one in found.items()}
    assert times["ada"] == times["bob"] == WEDNESDAY and times["old"].year == 1938


def test_the_download_of_a_class_may_stay_a_zip(tmp_path, lessons):
    inner = zipped({"work/numbers_dev.py": HALF})
    whole = put(
        tmp_path / "download.zip",
        zipped(
            [
                ("Ada Lovelace_77_assignsubmission_file_/numbers_dev.py", NUMBERS),
                ("Ada Lovelace_77_assignsubmission_file_/data/x.csv", ""),
                ("zahnzoe_LATE_12345_8_work.zip", inner),
                ("bob.py", NUMBERS.encode("utf-16")),
                ("late.rar", "Rar!"),
                ("empty/", ""),
                ("__MACOSX/._bob.py", ""),
                (member("link.zip", 0o120777), "/etc/passwd"),
                ("../up.zip", GOOD),
            ]
        ),
        MONDAY,
    )
    found = all_of(whole, lessons, CLASS)
    assert list(found) == ["zoe", "ada", "bob", "late", "../up", "empty", "link"]
    assert (
        found["ada"].files["numbers"].raw.decode() == NUMBERS
        and found["zoe"].files["numbers"].raw.decode() == HALF
    )
    assert found["bob"].problem == "It contains no file of a lesson, but bob.py."
    assert found["late"].problem == "It contains no file of a lesson, but late.rar."
    assert found["link"].problem == "link.zip is a link, no regular file."
    assert found["../up"].problem == "../up.zip has a name that points outside of the zip."
    assert list(all_of(whole, lessons)) == [
        "../up",
        "Ada Lovelace_77_assignsubmission_file_",
        "bob",
        "empty",
        "late.rar",
        "link",
        "zahnzoe_LATE_12345_8_work",
    ]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    "ada",
    ["Ada Lovelace_77_assignsubmission_file", "12-34 - Ada Lovelace - Nov 20, 2026 1011 AM"],
)
def test_the_only_learner_of_a_download_hands_in_for_nobody_else(
    tmp_path, inbox, lessons, packed, ada
):
    files = {f"{ada}/Bob - {n} - numbers_dev.py": NUMBERS for n in range(3)}
    for name, data in files.items():
        put(inbox / name, data)
    where = put(tmp_path / "class.zip", zipped(files)) if packed else inbox
    assert [one.student for one in find_submissions(where, lessons, None, None)] == [ada]


@pytest.mark.parametrize("packed", [True, False])
def test_the_folder_of_an_assignment_in_google_drive_is_the_class(tmp_path, inbox, lessons, packed):
    files = {
        "Numbers/Ada Lovelace - numbers_dev.py": NUMBERS,
        "Numbers/zoe - work - 2.zip": zipped({"numbers_dev.py": HALF}),
        "Numbers/notes.txt": "",
    }
    for name, data in files.items():
        put(inbox / name, data)
    whole = put(tmp_path / "Numbers-20261128T1000Z-001.zip", zipped(files)) if packed else inbox
    found = all_of(whole, lessons, CLASS)
    assert found["ada"].files["numbers"].raw.decode() == NUMBERS
    assert found["zoe"].files["numbers"].raw.decode() == HALF
    put(tmp_path / "one" / "ada" / "my - numbers_dev.py", NUMBERS)
    assert [one.student for one in find_submissions(tmp_path / "one", lessons)] == ["ada"]


METADATA = """\
submission_7:
  :submitters:
  - :name: Ada Lovelace
    :sid: '999'
    :email: ADA@example.org
  - :name: Bob Bauer
    :sid:
    :email:
  :created_at: 2026-03-02 13:00:00.123456789 +01:00
  :score: 1.0
  :results:
    tests:
    - :name: Lea Late
submission_8:
  :submitters:
  - :name: Mallory
    :email: m@example.org
  :created_at: 2026-03-04 12:00:00.000000000 Z
"""


@pytest.mark.parametrize("packed", [True, False])
def test_the_export_of_gradescope_says_who_handed_in_and_when(tmp_path, inbox, lessons, packed):
    files = {
        "submission_metadata.yml": METADATA,
        "submission_7/numbers_dev.py": NUMBERS,
        "submission_8/numbers_dev.py": NUMBERS,
    }
    for name, data in files.items():
        put(inbox / "assignment_5_export" / name, data)
    if packed:
        inbox = put(
            tmp_path / "export.zip",
            zipped({f"assignment_5_export/{name}": data for name, data in files.items()}),
        )
    found = all_of(inbox, lessons, CLASS)
    assert {student: list(one.files) for student, one in found.items()} == {
        "zoe": [],
        "ada": ["numbers"],
        "bob": ["numbers"],
        "late": [],
        "m@example.org": ["numbers"],
    }
    moment = datetime(2026, 3, 2, 12, 0, 0, 123456, timezone.utc)
    assert arrivals(inbox, lessons, CLASS) == {
        "zoe": None,
        "ada": moment,
        "bob": moment,
        "late": None,
        "m@example.org": WEDNESDAY,
    }
    names = [one.name for one in find_submissions(inbox, lessons)]
    assert names == ["Ada Lovelace, Bob Bauer", "Mallory"]


@pytest.mark.parametrize("inside", ["", "notes.txt"])
def test_a_folder_of_the_name_of_gradescopes_metadata_is_none(tmp_path, lessons, inside):
    files = {"ada/numbers_dev.py": NUMBERS, f"submission_metadata.yml/{inside}": ""}
    inbox = put(tmp_path / "class.zip", zipped(files))
    assert all_of(inbox, lessons)["ada"].files.keys() == {"numbers"}


@pytest.mark.parametrize("packed", [True, False])
def test_the_work_of_one_learner_is_one_submission(tmp_path, small_workspace, lessons, packed):
    folder = small_workspace.path
    lone = put(tmp_path / "eve" / "sums_dev.py", SUMS).parent
    if packed:
        files = {
            p.relative_to(folder.parent).as_posix(): p.read_bytes()
            for p in folder.rglob("*")
            if p.is_file()
        }
        folder = put(tmp_path / "my work.zip", zipped(files))
        lone = put(tmp_path / "eve.zip", zipped({"sums_dev.py": SUMS}))
    one, two, three = (
        only(folder, lessons),
        only(lone, lessons),
        only(tmp_path / "eve" / "sums_dev.py", lessons),
    )
    assert (one.student, list(one.files)) == ("my work", ["numbers", "sums"])
    assert (two.student, list(two.files)) == ("eve", ["sums"]) and list(three.files) == ["sums"]


def test_submissions_that_are_none_are_refused(tmp_path, inbox, lessons):
    for path, what in (
        (inbox, "There are no submissions in"),
        (tmp_path / "none", "cannot be read: No such file"),
        (put(tmp_path / "x.zip", GOOD[:40]), "x.zip is not a zip, or damaged"),
        (put(tmp_path / "x.pdf", ""), "is not a folder, zip"),
    ):
        with pytest.raises(TitoError, match=what) as error:
            find_submissions(path, lessons)
        assert error.value.remedy and error.value.code == 2
    assert len(find_submissions(inbox, lessons, CLASS)) == 4


def test_finding_a_class_opens_nothing_and_what_it_finds_can_be_sent_to_a_worker(
    inbox, lessons, monkeypatch
):
    for n in range(20):
        put(inbox / f"{n}.zip", GOOD)
    monkeypatch.setattr(zipfile, "ZipFile", None)
    found = find_submissions(inbox, lessons)
    monkeypatch.undo()
    assert [one.student for one in found] == [str(n) for n in range(20)]
    one = open_submission(pickle.loads(pickle.dumps(found[3])), lessons)
    assert pickle.loads(pickle.dumps(one)).files["numbers"].source.exported and one.student == "3"


def test_the_hash_of_a_lesson_file_is_the_hash_of_its_bytes(inbox, lessons):
    texts = {"a": NUMBERS.encode(), "b": NUMBERS.encode(), "c": b"\xff", "d": b""}
    for name, data in texts.items():
        put(inbox / name / "numbers_dev.py", data)
    found = all_of(inbox, lessons)
    for name, data in texts.items():
        assert found[name].files["numbers"].sha256 == hashlib.sha256(data).hexdigest()


# Damage at random.


@pytest.mark.parametrize("seed", range(8))
def test_random_damage_never_raises_and_never_yields_what_was_not_there(inbox, lessons, seed):
    """Damage a good zip (half of it stored, so that damage reaches the contents): each file is
    told, or is as it was.
    """
    chance = random.Random(seed)
    book = BOOK
    inner = zipped({"sums_dev.py": SUMS})
    good = zipped(
        [
            (member("a/numbers_dev.py"), NUMBERS),
            (member("numbers_dev.ipynb", compression=zipfile.ZIP_STORED), book),
            (member("inner.zip", compression=zipfile.ZIP_STORED), inner),
            (member("x/y.py"), "print()"),
            ("empty/", ""),
        ]
    )
    allowed = {NUMBERS.encode(), book.encode(), SUMS.encode(), b""}
    outcomes = set()
    for _ in range(150):
        bad = bytearray(good)
        for _ in range(chance.choice((1, 1, 2, 8))):
            start = chance.choice(
                (
                    chance.randrange(len(bad)),
                    bad.rfind(b"PK\1\2") + chance.randrange(46),
                    len(bad) - 1 - chance.randrange(60),
                )
            ) % len(bad)
            kind = chance.randrange(4)
            if kind == 0:
                bad[start] ^= 1 << chance.randrange(8)
            elif kind == 1:
                bad[start : start + chance.randrange(1, 40)] = chance.randbytes(
                    chance.randrange(40)
                )
            elif kind == 2:
                bad[start : start + 4] = struct.pack(
                    "<I", chance.choice((0, 1, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF))
                )
            else:
                del bad[start + chance.randrange(200) :]
            bad = bad or bytearray(b"P")
        one = only(put(inbox / "ada.zip", bytes(bad)).parent, lessons)
        assert {file.raw for file in one.files.values()} <= allowed
        assert all(bool(file.problem) != bool(file.source) for file in one.files.values())
        outcomes.add(
            "problem"
            if one.problem
            else "file problem"
            if any(f.problem for f in one.files.values())
            else len(one.files)
        )
    assert {"problem", 2} <= outcomes, "the damage is too much or too little to show anything"


@pytest.mark.skipif(sys.platform == "win32", reason="file names there are text")
@pytest.mark.parametrize("seed", range(4))
def test_random_text_as_a_lesson_never_raises(inbox, lessons, seed):
    chance = random.Random(seed)
    pieces = [
        NUMBERS[:900],
        "# ---\n",
        "# %%",
        ' exercise="double',
        "[markdown]",
        "\n",
        "#| export\n",
        "\0",
        "\x0c",
        "\u2028",
        '"""',
        "%time",
        "!ls",
        "{" * 50,
        "é",
        "\r",
    ]
    for kind in ("py", "ipynb"):
        for _ in range(100):
            text = "".join(chance.choices(pieces, k=chance.randrange(12)))
            if kind == "ipynb":
                text = json.dumps(
                    {
                        "cells": chance.choices(
                            [
                                1,
                                {"cell_type": "code", "source": text},
                                {"cell_type": [], "source": [text, 2][: chance.randrange(3)]},
                                {
                                    "cell_type": "code",
                                    "source": text,
                                    "metadata": {"nbgrader": 5, "tags": 1},
                                },
                            ],
                            k=2,
                        )
                    }
                )
            file = only(
                put(inbox / "ada" / f"numbers_dev.{kind}", text).parent.parent, lessons
            ).files["numbers"]
            assert bool(file.problem) != bool(file.source) and (not file.problem or file.text == "")
        (inbox / "ada" / f"numbers_dev.{kind}").unlink()


def test_what_a_grader_is_shown_is_the_script_or_the_cells_of_the_notebook(inbox, lessons):
    made = notebook.to_notebook(NUMBERS, lessons[0].declared)
    put(inbox / "ada" / "numbers_dev.py", NUMBERS)
    put(inbox / "bob" / "numbers_dev.ipynb", made)
    put(inbox / "eve" / "numbers_dev.py", b"# %%\nx = '\xff'\n")
    put(inbox / "zoe" / "numbers_dev.py", "# %%\n" + "x = 1\n" * (CODE // 5))
    shown = {name: one.files["numbers"].code for name, one in all_of(inbox, lessons).items()}
    assert shown["ada"] == NUMBERS
    assert '# %% exercise="double"\n#| export\ndef double(x):' in shown["bob"]
    assert "# %% [markdown]\n# ## Doubling" in shown["bob"] and "nbformat" not in shown["bob"]
    assert shown["eve"] == "# %%\nx = '\\xff'\n", "what cannot be read is shown all the same"
    assert len(shown["zoe"]) == CODE
