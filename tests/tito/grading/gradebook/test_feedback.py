"""The pages that learners get back: what they say, what they never say, and that they are pages one
can read anywhere.
"""

import re
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from html.parser import HTMLParser

import pytest
from commands import tito
from some_results import remember_roster, save, set_comment, set_points, set_time

from tito import files
from tito.errors import TitoError
from tito.grading.gradebook import feedback, late
from tito.grading.gradebook.changes import take_back_comment
from tito.grading.gradebook.gradebook import open_gradebook
from tito.grading.result import NOT_HANDED_IN, CheckResult, LessonResult
from tito.lesson.outcome import verdict_of

DUE = datetime(2026, 12, 1, 23, 59, tzinfo=timezone(timedelta(hours=1)))
RULES = late.Rules(percent_per_day=Decimal(10), due={"numbers": DUE})
EVIL = "<script>alert(1)</script>\u202e\x1b[31m<img src=//evil.example/x>"


def check(name, points=0, **more):
    return CheckResult(
        f"cell.{name}",
        more.pop("exercise", "numbers-double"),
        name,
        points,
        2,
        "passed" if points else more.pop("status", "failed"),
        **more,
    )


def result(checks=(), student="ada", lesson="numbers", number=1, **more):
    verdict = more.pop("verdict", verdict_of(checks))
    return LessonResult(
        student,
        lesson,
        number,
        lesson.title(),
        sum(one.max_points for one in checks),
        verdict=verdict,
        points=sum(one.points for one in checks),
        isolation="process",
        key="k",
        checks=list(checks),
        **more,
    )


@pytest.fixture
def book(tmp_path):
    with open_gradebook(tmp_path / "class.db", RULES) as book:
        yield book


def write(folder, learners, course):
    """{learner: path of their page}, and the paths that were written."""
    pages, changed = feedback.write(folder, learners, course)
    return {page.learner.student: page.path for page in pages}, changed


def text_of(html):
    """What a reader sees, in one line."""
    found = []
    parser = HTMLParser()
    parser.handle_data = found.append
    parser.feed(html[html.index("<body>") :])
    return " ".join(" ".join(found).split())


def pages(book, folder):
    paths, _ = write(folder, book.by_learner(), "Small")
    return {student: path.read_text(encoding="utf-8") for student, path in paths.items()}


def page(book, folder, *results, **more):
    save(book, list(results), more.get("arrived"), "tito", more.get("name", ""))
    return pages(book, folder)["ada"]


def test_a_check_is_shown_with_status_name_points_and_message(book, tmp_path):
    said = text_of(
        page(
            book,
            tmp_path / "out",
            result(
                [
                    check("double of two", 2),
                    check("double of arrays", message="should be [2, 6]:\n  yours [1]"),
                ],
                reason="1 check fails.",
            ),
        )
    )
    assert (
        "passed double of two 2 of 2" in said
        and "failed double of arrays 0 of 2 should be [2, 6]: yours [1]" in said
    )
    assert "Partly right : some checks fail. 2 of 4 points. 1 check fails." in said
    assert "earlier lessons" not in said, "it may need none"


def test_a_hidden_check_shows_its_name_and_points_only(book, tmp_path):
    hidden = check(
        "of nothing",
        hidden=True,
        message="SECRET",
        status="error",
        caused_by="numbers",
        base="reference",
    )
    html = page(
        book,
        tmp_path / "out",
        result([hidden], base="reference"),
        result([check("other")], lesson="sums", number=2),
    )
    assert "failed of nothing (hidden check) 0 of 2" in text_of(html)
    for path in (tmp_path / "out").rglob("*.html"):
        assert "SECRET" not in path.read_text(encoding="utf-8")
    assert "correct that lesson first" not in html


def test_a_mistake_in_an_earlier_lesson_is_named_where_it_is_felt(book, tmp_path):
    later = result(
        [check("a", caused_by="numbers"), check("b", 2, caused_by="numbers", base="reference")],
        lesson="sums",
        number=2,
        base="reference",
    )
    said = text_of(page(book, tmp_path / "out", result([check("x")]), later))
    assert (
        "failed a 0 of 2 Fails because of your lesson 01 numbers: correct that lesson first."
        in said
    )
    assert (
        "passed b 2 of 2 Passes here, but fails with your own lesson 01 numbers: correct that "
        "lesson first." in said
    )
    assert "Checked with the course's earlier lessons instead of yours" in said


def test_earlier_lessons_that_were_not_handed_in_are_told_once(book, tmp_path):
    note = f"{NOT_HANDED_IN}numbers."
    later = result([check("a")], lesson="sums", number=2, base="reference", notes=[note])
    said = text_of(page(book, tmp_path / "out", later))
    assert said.count(note) == 1 and "instead of yours" not in said


def test_one_check_on_the_reference_says_what_that_means(book, tmp_path):
    said = text_of(page(book, tmp_path / "out", result([check("a", 2, base="reference")])))
    assert "passed a 2 of 2 Checked with the course's earlier lessons instead of yours" in said


def test_lateness_is_explained_with_its_arithmetic(book, tmp_path):
    said = text_of(
        page(
            book,
            tmp_path / "out",
            result([check("a", 2)], notes=["The notebook counts."]),
            arrived=DUE + timedelta(hours=30),
        )
    )
    assert (
        "Handed in 2026-12-03 05:59 (UTC+01:00), due 2026-12-01 23:59 (UTC+01:00): 2 days late: "
        "-20 %." in said
    )
    assert (
        "2 - 20 % of 2 = 1.6 points." in said
        and "1.6 of 2 points" in said
        and "The notebook counts." in said
    )


def test_an_extension_is_shown(book, tmp_path):
    save(book, [result([check("a", 2)])], DUE + timedelta(hours=30), "tito")
    set_time(book, "ada", "numbers", "Klein", "was ill", days=3)
    assert "due 2026-12-04 23:59 (UTC+01:00) with your extension: not late." in text_of(
        pages(book, tmp_path / "out")["ada"]
    )


def test_points_set_by_hand_are_shown_with_author_without_reason_and_are_not_late(book, tmp_path):
    save(book, [result([check("a", 2), check("b")])], DUE + timedelta(hours=1), "tito")
    set_points(book, "ada", "numbers", "1", "Klein", "the idea is right", check="cell.b")
    said = text_of(pages(book, tmp_path / "out")["ada"])
    assert (
        "failed b 1 of 2" in said
        and "Points set by Klein." in said
        and "the idea is right" not in said
    )
    assert "The checks earned 2 points. With the points set by graders it is 3 points." in said
    assert (
        "2 - 10 % of 2 = 1.8 points, and 1 set by graders, which lateness does not change, make "
        "2.8."
        in said
        and "2.8 of 4" in said
    )
    set_points(book, "ada", "numbers", "3.5", "Klein", "seen in the lab")
    said = text_of(pages(book, tmp_path / "out")["ada"])
    assert (
        "The checks earned 2 points. Klein set the lesson to 3.5." in said
        and "seen in the lab" not in said
        and "3.5 of 4 points" in said
    )


def test_comments_on_a_lesson_and_in_general_are_there(book, tmp_path):
    save(book, [result([check("a", 2)])], None, "tito", "Ada Löwe")
    set_comment(book, "ada", "numbers", "Well done.\nGo on.", "Klein")
    set_comment(book, "ada", None, "See me.", "Klein")
    said = text_of(pages(book, tmp_path / "out")["ada"])
    assert said.index("See me.") < said.index("01 Numbers") < said.index(
        "Well done. Go on."
    ) and said.startswith("Feedback for Ada Löwe Small, ada")


def test_a_comment_on_an_exercise_is_at_that_exercise_until_the_course_drops_it(book, tmp_path):
    checks = [check("a", 2), check("b", 2, exercise="numbers-halve")]
    save(book, [result(checks)], None, "tito")
    set_comment(book, "ada", "numbers", "Neat.", "Klein", exercise="numbers-double")
    set_comment(book, "ada", "numbers", "Neat.", "Klein", exercise="numbers-halve")
    said = pages(book, tmp_path / "out")["ada"]
    first, second = re.findall(r"<details.*?</details>", said, re.S)
    assert "Neat." in first and "Neat." in second and said.count("Neat.") == 2
    assert re.match(r"<details[^>]* open>", first), "although all is right"
    (grade,) = book.grades("ada")
    assert [one.placed for one in grade.comments] == [
        "numbers-double: Neat.",
        "numbers-halve: Neat.",
    ]
    take_back_comment(book, "ada", "numbers", grade.comments[0], "Klein")
    assert [one.exercise for grade in book.grades("ada") for one in grade.comments] == [
        "numbers-halve"
    ]
    save(book, [result([check("a", 2)])], None, "tito", regrade=True)
    said = pages(book, tmp_path / "out")["ada"]
    assert 0 < said.index("Neat.") < said.index("<details"), "with the comments on the lesson"


@pytest.mark.parametrize(("verdict", "means"), list(feedback.VERDICTS.items()))
def test_every_verdict_is_shown_with_its_meaning(book, tmp_path, verdict, means):
    said = text_of(
        page(
            book,
            tmp_path / "out",
            result([check("a", message="did not run", status="not run")], verdict=verdict),
        )
    )
    assert f"{verdict.capitalize()} : {means}. 0 of 2 points." in said
    assert said.count("did not run") == 1  # as the check's status, not as its message again


def test_a_message_that_many_checks_share_is_shown_once(book, tmp_path):
    said = text_of(
        page(
            book,
            tmp_path / "out",
            result([check("a", message="no numpy"), check("b", message="no numpy")]),
        )
    )
    assert said.count("no numpy") == 1 and "failed b 0 of 2 The same message as above." in said


def test_nothing_a_learner_wrote_is_markup_or_endless(book, tmp_path):
    checks = [
        check("a", message=EVIL),
        check("b", message="x" * 1_000_000),
        check("c", message="y\n" * 100_000),
        check(EVIL, exercise=EVIL),
    ]
    save(
        book,
        [result(checks, student=f"b{EVIL[:20]}", reason=EVIL + "\n" + EVIL, notes=[EVIL])],
        None,
        EVIL,
        EVIL,
    )
    set_comment(book, f"b{EVIL[:20]}", "numbers", EVIL, EVIL)
    set_points(book, f"b{EVIL[:20]}", "numbers", "1", EVIL, EVIL)
    write(tmp_path / "out", book.by_learner(), EVIL)
    found = list((tmp_path / "out").rglob("*.html"))
    assert len(found) == 2
    for path in found:
        html = path.read_text(encoding="utf-8")
        assert (
            len(html) < 100_000
            and "<script" not in html
            and "<img" not in html
            and not set(html) & set("\x1b\u202e")
        )
    assert "&lt;script&gt;" in html and "(996000 characters more)" in "".join(
        path.read_text(encoding="utf-8") for path in found
    )


def test_the_same_gradebook_gives_the_same_bytes_and_only_what_changed_is_written(
    book, tmp_path, monkeypatch
):
    for student in ("ada", "bob"):
        save(book, [result([check("a", 2)], student=student)], DUE, "tito")
    _, first = write(tmp_path / "out", book.by_learner(), "Small")
    assert len(first) == 3
    _, again = write(tmp_path / "out", book.by_learner(), "Small")
    assert again == []
    set_comment(book, "bob", "numbers", "Well done.", "Klein")
    _, changed = write(tmp_path / "out", book.by_learner(), "Small")
    (bob,) = changed
    assert bob.parent == tmp_path / "out" / "learners" and bob.name.startswith("bob-")
    write(tmp_path / "other", book.by_learner(), "Small")
    for path in (tmp_path / "out").rglob("*.html"):
        assert (
            path.read_bytes()
            == (tmp_path / "other" / path.relative_to(tmp_path / "out")).read_bytes()
        )
    monkeypatch.setattr(
        files.os,
        "replace",
        lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")),
    )
    set_comment(book, "bob", "numbers", "More.", "Klein")
    old = bob.read_bytes()
    with pytest.raises(files.TitoError, match="The old file is as it was"):
        write(tmp_path / "out", book.by_learner(), "Small")
    assert bob.read_bytes() == old


def test_a_page_changes_only_when_its_grade_or_text_does(book, tmp_path):
    for place in ("first", "second"):
        message = f"yours is {object()}, {print} and {[lambda: 0]}"
        lesson = result([check("a", message=message)], reason=message, seconds=len(place))
        save(book, [lesson], DUE, place, "Ada", regrade=True)
        paths, changed = write(tmp_path / "out", book.by_learner(), "Small")
    assert changed == []
    assert "yours is <object object>, <built-in function print> and [<function" in text_of(
        paths["ada"].read_text(encoding="utf-8")
    )


def test_a_pages_name_cannot_be_guessed_and_no_export_or_roster_has_it(book, tmp_path):
    from tito.grading import roster
    from tito.grading.gradebook import exports

    def names():
        return [p.name for p in write(tmp_path / "out", book.by_learner(), "S")[0].values()]

    for student in ("ada", "-lee"):
        save(book, [result([check("a", 2)], student=student)], DUE, "tito")
    first = names()
    assert all(re.fullmatch(r"(ada|lee-[0-9a-f]{16})-[0-9a-f]{20}\.html", name) for name in first)
    secrets = [learner.page for learner in book.learners()]
    for kind in exports.TABLES:
        text = exports.text(exports.Selection(book), kind)
        assert not any(secret in text for secret in secrets)
    remember_roster(book, [roster.Learner("ada", columns={"student": "ada", "page": "../../x"})])
    assert names() == first


class Shape(HTMLParser):
    """What a reader's software needs of a page."""

    VOID = {"meta", "br"}

    def __init__(self, html):
        super().__init__()
        self.open, self.headings, self.tags = [], [], []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def contrast(one, two):
    """By WCAG 2.1: 1 to 21."""

    def light(colour):
        digits = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
        parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        return sum(
            share * (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
            for share, c in zip((0.2126, 0.7152, 0.0722), parts)
        )

    low, high = sorted((light(one), light(two)))
    return (high + 0.05) / (low + 0.05)


def test_a_page_needs_no_other_file_and_is_well_formed(book, tmp_path):
    page(
        book,
        tmp_path / "out",
        result([check("a", message="no"), check("b", 2, exercise="numbers-triple")]),
        result([check("c")], lesson="sums", number=2),
    )
    found = list((tmp_path / "out").rglob("*.html"))
    assert len(found) == 2
    for path in found:
        html = path.read_text(encoding="utf-8")
        shape = Shape(html.removeprefix("<!DOCTYPE html>"))
        assert (
            ("html", {"lang": "en"}) in shape.tags
            and "<title>Feedback" in html
            and "prefers-color-scheme" in html
            and "@media print" in html
        )
        assert (
            shape.headings[0] == 1
            and shape.headings.count(1) == 1
            and all(b - a <= 1 for a, b in zip(shape.headings, shape.headings[1:]))
        )
        assert all("scope" in attributes for tag, attributes in shape.tags if tag == "th")
        assert not {"script", "link", "img", "iframe", "object"} & {
            tag for tag, _ in shape.tags
        } and not re.search(r"https?:|url\(|@import", html)
        ids = [attributes["id"] for _, attributes in shape.tags if "id" in attributes]
        assert len(ids) == len(set(ids))
        for _, attributes in shape.tags:
            target = attributes.get("href", "#" + ids[0] if ids else "")
            assert (
                target[1:] in ids
                if target.startswith("#")
                else not target or (path.parent / target).is_file()
            )
    assert [attributes for tag, attributes in shape.tags if tag == "details"] == [
        {"class": "exercise", "open": None},
        {"class": "exercise"},
        {"class": "exercise", "open": None},
    ]


def test_colours_can_be_told_from_their_ground(book, tmp_path):
    html = page(book, tmp_path / "out", result([check("a", 2)]))
    themes = [
        dict(re.findall(r"--(\w+): (#\w+)", block))
        for block in re.findall(r":root \{(.*?)\}", html, re.S)
    ]
    assert len(themes) == 3  # light, dark, print
    for theme in themes:
        for colour in ("ink", "dim", "good", "bad", "link"):
            for ground in ("paper", "box", "mark") if colour in ("ink", "dim") else ("paper",):
                assert contrast(theme[colour], theme[ground]) >= 4.5, (colour, ground, theme)


def test_a_learner_without_a_grade_gets_a_page_that_explains_it(book, tmp_path):
    from tito.grading.roster import Learner

    remember_roster(book, [Learner("ada", "Ada", {})])
    assert "No lesson is graded yet." in text_of(pages(book, tmp_path / "out")["ada"])


def test_feedback_as_a_command(small_course, tmp_path):
    (small_course.path / ".tito").mkdir()
    with open_gradebook(small_course.path / ".tito" / "gradebook.db", RULES) as book:
        save(book, [result([check("a", 2)], student="../ada")], None, "tito")
    out, _ = tito(small_course, "feedback", tmp_path / "my pages")
    assert "1 learner, 1 page new or changed: ../ada." in out
    (learner,) = (tmp_path / "my pages" / "learners").iterdir()
    assert learner.name.startswith("ada-") and "learners/" + learner.name in (
        tmp_path / "my pages" / "index.html"
    ).read_text(encoding="utf-8")
    assert "0 pages new or changed" in tito(small_course, "feedback", tmp_path / "my pages")[0]


def test_feedback_without_a_gradebook_says_what_to_do(small_course, tmp_path):
    assert "tito grade" in tito(small_course, "feedback", tmp_path / "pages", code=2)[1]
    assert not (tmp_path / "pages").exists()


def test_points_of_a_hidden_check_make_a_lesson_partly_right(book, tmp_path):
    lesson = result([check("a"), check("b", 2, hidden=True)])
    said = text_of(page(book, tmp_path / "out", lesson))
    assert "Partly right : some checks fail. 2 of 4 points." in said


HIDDEN = ["error", "unwritten", "timeout", "memory", "crashed", "tampered", "not run"]


@pytest.mark.parametrize("status", HIDDEN)
@pytest.mark.parametrize(
    "verdict", ["partly right", "crashed", "timed out", "tampered", "import failed"]
)
def test_of_a_hidden_check_a_learner_learns_no_more_than_that_it_did_not_pass(
    book, tmp_path, status, verdict
):
    """Whatever it said, however it ended: the page is the one of a check that failed."""

    def said(place, **hidden):
        lesson = result(
            [
                check("a", 2),
                check("b", message="b is 3"),
                hidden_check(**hidden),
            ],
            verdict=hidden.pop("verdict", "partly right"),
            reason=hidden.pop("reason", ""),
        )
        return text_of(page(book, tmp_path / place, lesson))

    def hidden_check(status="failed", message="", verdict="", reason="", **more):
        return check("c", status=status, message=message, hidden=True, **more)

    plain = said("plain")
    told = said(
        "told",
        status=status,
        message="exit code 37",
        verdict=verdict,
        reason="exit code 37",
        seconds=9.5,
        base="reference",
        caused_by="sums",
    )
    assert told == plain and "37" not in told and "2 of 3 checks fail" in told


def test_a_file_in_the_place_of_the_folder_is_reported_and_left(book, tmp_path):
    save(book, [result()], None, "me")
    place = tmp_path / "grades.csv"
    place.write_text("mine", encoding="utf-8")
    with pytest.raises(TitoError, match="grades.csv is a file"):
        write(place, book.by_learner(), "Small")
    assert place.read_text(encoding="utf-8") == "mine"
