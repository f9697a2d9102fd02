"""Each command that takes submissions finds the same work in each form in which it comes, and
names a learner whose hand-in holds none.
"""

import io
import json
import re
import tarfile
import zipfile

import pytest
from commands import tito
from small_course import NUMBERS, make_course

from tito.lesson import course

FORMS = ["folder", "zip", "folder of zips", "zip of zips", "zip of tars", "clones"]
LEARNERS = ("ada", "bob")


def zipped(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def tarred(name, data):
    out, info = io.BytesIO(), tarfile.TarInfo(name)
    info.size = len(data)
    with tarfile.open(fileobj=out, mode="w:xz") as archive:
        archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def submissions(folder, form):
    """A class in that form: two learners with the lesson, and one with a document."""
    name, text = "numbers_dev.py", NUMBERS.encode()
    packed = {"zips": (".zip", zipped({name: text})), "tars": (".tar.xz", tarred(name, text))}
    files = {f"{one}/files/{name}": text for one in LEARNERS}
    if " of " in form:
        end, data = packed[form.split()[-1]]
        files = {one + end: data for one in LEARNERS}
    elif form == "clones":
        files |= {f"{one}/.git/{name}": b"an older one" for one in LEARNERS}
    files["cleo/essay.docx"] = b"PK"
    if form.startswith("zip"):
        path = folder / "class.zip"
        path.write_bytes(zipped(files))
        return path
    for path, data in files.items():
        path = folder / "class" / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder / "class"


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(form, marks=[pytest.mark.slow] * (form not in ("folder", "zip of zips")))
        for form in FORMS
    ],
)
def test_the_commands_find_the_same_work_in_each_form(tmp_path, form):
    root = course.open_root(make_course(tmp_path / "course"))
    where = submissions(tmp_path, form)
    roster = tmp_path / "class.csv"
    roster.write_text("student,name\nada,Ada\nbob,Bob\ncleo,Cleo\n", encoding="utf-8")
    tito(root, "gradebook", "roster", roster)
    words = ("grade", where, "numbers", "--isolation", "process", "--jobs", "1")
    for run in range(2):  # a second run grades nothing, and names her again
        out, _ = tito(root, *words)
        assert (
            "1 learner handed in no file of a lesson that can be read:\n  cleo: It contains no file"
            in out
        )
        assert "essay.docx" in out and ("0 of 3 submissions" in out) == bool(run)
    rows = json.loads(tito(root, *words, "--json")[0])
    assert {row["student"]: (row["verdict"], row["points"]) for row in rows} == {
        "ada": ("passed", 5),
        "bob": ("passed", 5),
        "cleo": ("no lesson file", 0),
    }
    out, err = tito(root, "gradebook", "export")
    assert out.splitlines()[-1] == '"cleo","Cleo",,' and "exported as empty cells: cleo." in err
    out, _ = tito(root, "gradebook", "show", "--lesson", "numbers")
    assert re.search(r"cleo +01 numbers +- of 5 +no lesson file", out)
    tito(root, "feedback", tmp_path / "pages", "--submissions", where)
    (page,) = (tmp_path / "pages" / "learners").glob("cleo-*.html")
    text = page.read_text(encoding="utf-8")
    assert "essay.docx" in text and "Hand in numbers_dev.ipynb or numbers_dev.py" in text
    out, err = tito(root, "similar", where, "numbers", code=1)
    assert "2 of 3 compared." in err and "cleo was not compared" in err


def test_commands_with_nothing_to_look_at_say_so(tmp_path):
    root = course.open_root(make_course(tmp_path / "course"))
    (tmp_path / "empty").mkdir()
    for words, code in (
        (("grade", tmp_path / "empty", "numbers", "--isolation", "process"), 2),
        (("similar", tmp_path / "empty", "numbers"), 2),
        (("gradebook", "show"), 0),
        (("gradebook", "show", "--exercises"), 0),
        (("gradebook", "show", "--history"), 0),
        (("gradebook", "export"), 2),
        (("feedback", tmp_path / "pages"), 2),
        (("gradebook", "roster"), 0),
    ):
        out, err = tito(root, *words, code=code)
        said = " ".join((out + err).split())
        assert re.search(
            r"no submissions|[Nn]o(thing)? .*(graded|run|recorded|learner)", said, re.I
        )
