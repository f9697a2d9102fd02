"""A year later the gradebook knows which edition, commit, tito and checks made a grade."""

import json
import subprocess

import pytest
from commands import tito
from small_course import NUMBERS
from some_results import result, save

from tito.grading.gradebook.gradebook import open_gradebook
from tito.grading.gradebook.tables import TEXT, sql
from tito.grading.setting import commit_of
from tito.lesson.course import version

CHECK = "check-double.test_double_of_two_is_four"


def git(folder, *words):
    who = ("-c", "user.name=x", "-c", "user.email=x@x.org")
    return subprocess.run(
        ["git", "-C", folder, *who, *words], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def versioned_course(small_course):
    git(small_course.path, "init", "-q")
    git(small_course.path, "add", "modules", "tinytorch", "tito.toml")
    git(small_course.path, "commit", "-qm", "first")
    return small_course


def test_a_commit_is_the_courses_own_and_says_whether_files_have_changed(versioned_course):
    folder = versioned_course.path
    head = git(folder, "rev-parse", "HEAD")
    assert commit_of(folder) == head
    (folder / "tito.toml").write_text("# changed\n", encoding="utf-8")
    assert commit_of(folder) == f"{head}-dirty"
    (folder / "copy").mkdir()
    (folder / "copy" / "tito.toml").touch()
    assert commit_of(folder / "copy") == "", "the repository around a course is another one"
    assert commit_of(folder.parent) == ""


def test_each_grade_names_what_made_it_and_keeps_the_text_of_its_checks(versioned_course):
    course, folder = versioned_course, versioned_course.path.parent / "class"
    checks = course.path / "modules" / "source" / "01_numbers" / "checks.py"
    for student in ("ada", "bob"):
        (folder / student).mkdir(parents=True)
        text = f"{NUMBERS}\n# {student}\n"
        (folder / student / "numbers_dev.py").write_text(text, encoding="utf-8")
        tito(course, "grade", folder / student, "numbers", "--isolation", "process")
        old = checks.read_text(encoding="utf-8")
        checks.write_text(old.replace("double(2) == 4", "double(2) == 2 + 2"), encoding="utf-8")
    head = git(course.path, "rev-parse", "HEAD")

    def show(student):
        words = ("gradebook", "show", "--student", student, "--lesson", "numbers")
        return tito(course, *words)[0], json.loads(tito(course, *words, "--json")[0])[0]

    (shown, ada), (later, bob) = show("ada"), show("bob")
    words = f"by edition 1, commit {head}, tito {version()}, checks {ada['check_texts'][:12]}"
    assert words in " ".join(shown.split())
    assert f"commit {head} with changes" in " ".join(later.split())
    of_ada, of_bob = ({one["id"]: one for one in row["checks"]} for row in (ada, bob))
    assert "assert double(2) == 4, " in of_ada[CHECK]["text"], "as it was when it graded her"
    assert "assert double(2) == 2 + 2, " in of_bob[CHECK]["text"]
    others = of_ada.keys() - {CHECK}
    assert others and all(of_ada[name]["sha256"] == of_bob[name]["sha256"] for name in others)
    assert "import numpy as np" in ada["checks_share"]["text"]
    with open_gradebook(course.state / "gradebook.db") as book, book.engine.connect() as database:
        texts = [row.data for row in database.execute(sql.select(TEXT))]
    assert len([text for text in texts if text.startswith("def test_double_works")]) == 1
    assert len([text for text in texts if text.startswith("def test_double_of_two")]) == 2
    why = ("--why", "the check was wrong")
    tito(course, "grade", folder / "ada", "numbers", "--isolation", "process", *why)
    words = ("gradebook", "show", "--history", "--student", "ada", "--json")
    first, second = json.loads(tito(course, *words)[0])
    assert (first["why"], second["why"]) == ("graded", "the check was wrong")
    made = f"edition 1, commit {head}, tito {version()}"
    assert first["edition"] == made and second["edition"] == made.replace(
        head, f"{head} with changes"
    )
    assert made in " ".join(tito(course, *words[:-1])[0].split())
    tito(course, "feedback", folder.parent / "pages")
    (page,) = (folder.parent / "pages").rglob("ada*.html")
    assert f"Graded by {second['edition']}." in page.read_text(encoding="utf-8")


def test_grades_of_an_earlier_tito_say_what_they_know(versioned_course):
    with open_gradebook(versioned_course.state / "gradebook.db") as book:
        save(book, [result(edition="0.9")], None, "me")
    words = ("gradebook", "show", "--student", "ada", "--lesson", "numbers")
    assert "by edition 0.9\n" in tito(versioned_course, *words)[0]
    (ada,) = json.loads(tito(versioned_course, *words, "--json")[0])
    assert ada["checks"][0]["text"] == "" and ada["checks_share"] == {"sha256": "", "text": ""}
