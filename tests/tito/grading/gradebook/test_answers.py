"""Free answers: what they count before and after a person judged them, rubrics, the history."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal

import pytest
from some_results import DAY, MONDAY, RULES, handed_in, save_each

from tito.errors import TitoError
from tito.grading.gradebook import answers, enrollment, exports, feedback
from tito.grading.gradebook.answers import NewJudgement, RubricChange
from tito.grading.gradebook.gradebook import open_gradebook
from tito.grading.gradebook.history import ChangedMeanwhile
from tito.lesson.lesson_format import Question

HOSTILE = '<script>alert(1)</script>=cmd|"\0{{ 7*7 }}"'


def grade(book, student="ada"):
    (found,) = [one for one in book.grades(student) if one.lesson == "numbers"]
    return found


def judge(book, student="ada", items=(), adjustment=0, question="why", **more):
    new = NewJudgement(question, items and tuple(items), Decimal(str(adjustment)), **more)
    return answers.judge(book, student, "numbers", new, "ta1")


def judged(book):
    return [change for change in book.history("ada") if change.kind == "judged"]


def change(book, item, points, text="", who="ta1", seen=None):
    """Change an item of the rubric; item None adds one, points None removes it."""
    points = None if points is None else Decimal(str(points))
    return answers.change_rubric(
        book, RubricChange("numbers", "why", item, points, text, seen), who
    )


def items_of(book):
    return answers.rubric(book, "numbers", "why")


@pytest.fixture
def rubric(book):
    """The ids of two items: 2 points, and 1 point less."""
    for text, points in (("says that they sum to 1", 2), ("mixes it up with max", -1)):
        change(book, None, points, text)
    return [item.id for item in items_of(book)]


def bring(book, *items):
    """Open the gradebook with a course in which the question has these (points, text)."""
    rubric = tuple((Decimal(points), text) for points, text in items)
    asked = {("numbers", "why"): Question("why", 2, "Why?", None, "So.", rubric)}
    return answers.bring_rubrics(book, asked), [
        (i.points, i.text) for i in answers.rubric(book, "numbers", "why")
    ]


def test_a_rubric_comes_from_the_course_and_follows_it_until_an_answer_is_judged(book):
    save_each(book, handed_in())
    assert bring(book, (2, "sums to 1"), (-1, "mixes up")) == (
        [],
        [(2, "sums to 1"), (-1, "mixes up")],
    )
    ids = [item.id for item in items_of(book)]
    bring(book, (2, "sums to 1"), (-1, "mixes up"))
    assert [item.id for item in items_of(book)] == ids, "opened again, nothing changes"
    assert bring(book, (1, "positive"), (1, "sums to 1"))[1] == [(1, "positive"), (1, "sums to 1")]
    judge(book, items=[items_of(book)[0].id])
    kept = [("numbers", "why")], [(1, "positive"), (1, "sums to 1")]
    assert bring(book, (2, "sums to 1")) == kept
    assert grade(book).points == 4
    assert not [entry for entry in book.history("ada") if entry.kind == "rubric"]


def test_a_rubric_that_a_person_changed_or_made_stays(book):
    save_each(book, handed_in())
    bring(book, (2, "sums to 1"))
    change(book, items_of(book)[0].id, None)
    assert bring(book, (2, "sums to 1")) == ([], [])
    assert bring(book, (1, "other")) == ([], [])


def test_an_answer_counts_nothing_until_it_is_judged(book):
    save_each(book, handed_in())
    one = grade(book)
    assert (one.points, one.max_points, one.to_judge) == (3, 8, 2)
    assert one.parts() == "automatic 3 of 6, 2 points to be judged"
    judge(book, adjustment="1.5", comment="Almost.")
    one = grade(book)
    assert (one.points, one.to_judge) == (Decimal("4.5"), 0)
    assert one.parts() == "automatic 3 of 6, judged 1.5 of 2"
    said = one.as_json()["answers"][0]
    assert (said["state"], said["judgement"]["who"], said["judgement"]["comment"]) == (
        "judged",
        "ta1",
        "Almost.",
    )
    assert [(c.old_points, c.new_points, c.who) for c in judged(book)] == [
        (3, Decimal("4.5"), "ta1")
    ]


def test_an_empty_answer_needs_no_person(book):
    save_each(book, handed_in(text=""))
    assert (grade(book).points, grade(book).to_judge) == (3, 0)
    assert grade(book).parts() == "automatic 3 of 6, empty answers 0 of 2", "nobody judged it"
    with pytest.raises(TitoError, match="wrote nothing"):
        judge(book, adjustment=1)


def test_the_points_stay_within_zero_and_the_maximum(book, rubric):
    save_each(book, handed_in())
    assert judge(book, items=rubric[1:]).points == 0
    assert judge(book, items=rubric).points == 1
    assert judge(book, items=rubric, adjustment=7).points == 2


def test_the_points_of_an_item_change_for_all_answers_at_once(book, rubric):
    save_each(book, handed_in(), handed_in("bob"), handed_in("eve"))
    for student in ("ada", "bob"):
        judge(book, student, items=rubric[:1])
    judge(book, "eve", items=rubric[1:])
    moved = change(book, rubric[0], "0.5", "says that they sum to 1", "prof")
    assert {one.student: (one.old, one.new) for one in moved} == {
        "ada": (5, Decimal("3.5")),
        "bob": (5, Decimal("3.5")),
    }
    told = [entry for entry in book.history("bob") if entry.kind == "rubric"]
    assert [(entry.who, entry.new_points) for entry in told] == [("prof", Decimal("3.5"))]
    change(book, rubric[0], None)
    assert grade(book).points == 3 and not grade(book).to_judge
    assert [item.place for item in items_of(book)] == [1]
    with pytest.raises(TitoError, match="no such item"):
        change(book, rubric[0], 1, "gone")


def test_a_resubmission_keeps_the_judgement_of_the_same_answer_only(book):
    save_each(book, handed_in(), arrived=MONDAY - 3 * DAY)
    judge(book, adjustment=2)
    save_each(book, handed_in(key="later", points=(3, 3)), arrived=MONDAY - 2 * DAY)
    assert grade(book).points == 8
    save_each(book, handed_in(key="newest", text="Because."), arrived=MONDAY - DAY)
    one = grade(book)
    assert (one.points, one.to_judge) == (3, 2)
    assert one.answers[0].earlier.points == 2 and one.answers[0].judgement is None
    earlier = one.answers[0].earlier.sha256
    assert answers.answer_texts(book, [earlier]) == {earlier: "Sums to one."}
    judge(book, adjustment=1)
    assert len(judged(book)) == 2


def test_a_late_answer_loses_points_like_the_rest(book):
    save_each(book, handed_in(points=(3, 3)), arrived=MONDAY + DAY)
    judge(book, adjustment=2)
    assert grade(book).points == Decimal("7.2")


def test_who_judges_learns_what_another_wrote_meanwhile(book, rubric):
    save_each(book, handed_in())
    first = judge(book, items=rubric[:1], seen=())
    with pytest.raises(ChangedMeanwhile, match="ta1 changed this grade"):
        judge(book, adjustment=1, seen=())
    assert judge(book, adjustment=1, seen=[first.judgement.id]).points == 1
    item = items_of(book)[0]
    change(book, item.id, 1, item.text, "ta2", item.version)
    with pytest.raises(ChangedMeanwhile, match="ta2 changed this item"):
        change(book, item.id, 1, "x", "ta1", item.version)
    before = grade(book).answers[0].answer.sha256
    save_each(book, handed_in(key="zzz", text="Another."))
    with pytest.raises(ChangedMeanwhile, match="another answer"):
        judge(book, adjustment=1, answer=before)


def test_a_judgement_is_taken_back(book):
    save_each(book, handed_in())
    judge(book, adjustment=2)
    graded = judge(book, items=None)
    assert graded.state == "to be judged" and grade(book).points == 3
    assert [(one.why, one.points) for one in judged(book)] == [
        ("why", 2),
        ("why: taken back", None),
    ]


def test_the_same_judgement_again_changes_nothing(book, rubric):
    save_each(book, handed_in())
    for _ in range(2):
        judge(book, items=rubric)
    assert len(judged(book)) == 1


def test_what_is_no_judgement_is_refused(book, rubric):
    save_each(book, handed_in())
    with pytest.raises(TitoError, match="no such item"):
        judge(book, items=[99])
    with pytest.raises(TitoError, match="no graded answer"):
        judge(book, question="what")
    with pytest.raises(TitoError, match="no learner"):
        judge(book, "nobody")
    for text, who in ((" ", "ta1"), ("right", " ")):
        with pytest.raises(TitoError):
            change(book, None, 1, text, who)
    assert not grade(book).answers[0].judgement


def test_a_hostile_answer_is_kept_and_does_nothing(book):
    save_each(book, handed_in(text=HOSTILE))
    (row,) = answers.learner_answers(book, "numbers", "why")
    assert row.text == HOSTILE.replace("\0", "\\x00")
    assert "text" not in grade(book).result.as_json()["answers"][0]


def test_the_overview_counts_what_is_judged(book):
    save_each(book, handed_in(), handed_in("bob"), handed_in("eve", text=""), handed_in("gone"))
    judge(book)
    enrollment.leave(book, "gone", "me", "left")
    (one,) = answers.question_progress(book, "numbers")
    assert (one.judged, one.waiting, one.empty, one.written) == (1, 1, 1, 2)


def test_merged_ids_keep_their_judgements(book):
    save_each(book, handed_in(), handed_in("ada2", key="other", text="Else."), arrived=MONDAY - DAY)
    judge(book, "ada2", adjustment=2)
    enrollment.merge(book, "ada2", "ada", "me", "twice")
    said = grade(book).answers[0]
    assert (said.judgement or said.earlier).points == 2


def test_pages_and_exports_show_what_a_person_said(book):
    save_each(book, handed_in(), handed_in("bob", text=HOSTILE))
    judge(book, "bob", adjustment="1.5", comment=HOSTILE)
    (_, ada), (learner, bob) = book.by_learner()
    page = feedback.page(learner, bob, "Course")
    assert "judged by ta1" in page and "Automatic 3 of 6, judged 1.5 of 2." in page
    assert "<script>" not in page and "{{" in page
    assert "2 points to be judged" in exports.summary(ada[0])
    chosen = exports.Selection(book, most={"numbers": 8})
    assert chosen.waiting() == 1 and "to be judged" in exports.text(chosen, "moodle")
    results = {path: json.loads(text) for path, text in exports.tree(chosen, "gradescope")}
    last = results["bob/results.json"]["tests"][-1]
    assert (last["name"], last["score"], last["max_score"]) == ("Numbers: why", 1.5, 2)
    assert results["ada/results.json"]["tests"][-1]["output"] == "to be judged"


@pytest.mark.slow
def test_two_graders_judge_at_once_on_postgresql(postgres):
    """Each answer is judged once, each item is there once, and no change is overwritten unseen."""
    where = postgres()
    with open_gradebook(where, RULES) as book:
        save_each(book, *(handed_in(f"s{n}") for n in range(8)))
        change(book, None, 1, "first", "prof")
        (item,) = [one.id for one in items_of(book)]

    def work(who):
        told = 0
        with open_gradebook(where, RULES) as book:
            change(book, None, "0.5", f"by {who}", who)
            for n in range(8):
                try:
                    judge(book, f"s{n}", items=[item], comment=who, seen=())
                except ChangedMeanwhile:
                    told += 1
        return told

    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(work, ("ta1", "ta2"))) == 8
    with open_gradebook(where, RULES) as book:
        moved = change(book, item, 2, "first", "prof")
        assert sorted(one.student for one in moved) == [f"s{n}" for n in range(8)]
        assert {one.points for one in book.grades(lesson="numbers")} == {5}
        kinds = [entry.kind for entry in book.history()]
        assert kinds.count("judged") == kinds.count("rubric") == 8
        assert [one.place for one in items_of(book)] == [1, 2, 3]


def test_the_best_submission_is_chosen_with_what_persons_gave(tmp_path):
    with open_gradebook(tmp_path / "best.db", replace(RULES, policy="best")) as book:
        save_each(book, handed_in(), arrived=MONDAY - 2 * DAY)
        judge(book, adjustment=2)
        save_each(book, handed_in(key="new", text="No.", points=(3, 1)), arrived=MONDAY - DAY)
        assert (grade(book).points, grade(book).submissions) == (5, 2)
        (row,) = answers.learner_answers(book, "numbers", "why")
        assert row.text == "Sums to one."
