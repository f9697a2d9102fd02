"""Free answers: what they count before and after a person judged them, and the history."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal

import pytest
from some_results import DAY, MONDAY, RULES, handed_in, save_each, set_comment, set_points

from tito.errors import TitoError
from tito.grading.gradebook import answers, enrollment, exports, feedback, merging
from tito.grading.gradebook.changes import apply_changes
from tito.grading.gradebook.gradebook import open_gradebook
from tito.grading.gradebook.history import ChangedMeanwhile
from tito.grading.gradebook.requested_changes import RequestedChange

HOSTILE = '<script>alert(1)</script>=cmd|"\0{{ 7*7 }}"'


def grade(book, student="ada"):
    (found,) = [one for one in book.grades(student) if one.lesson == "numbers"]
    return found


def answer(book, student="ada"):
    return grade(book, student).answers[0]


def judge(book, points, student="ada", who="ta1", question="why", seen=None, sha256=None):
    """Give an answer points; None takes them back."""
    points = None if points is None else Decimal(str(points))
    place = (student, "numbers", "judged", question, points)
    change = RequestedChange("override", *place, answer=sha256)
    apply_changes(book, [change], who, seen=seen)
    return answer(book, student)


def judged(book):
    return [change for change in book.history("ada") if change.kind == "override"]


def test_an_answer_counts_nothing_until_it_is_judged(book):
    save_each(book, handed_in())
    one = grade(book)
    assert (one.points, one.max_points, one.to_judge) == (3, 8, 2)
    assert one.parts() == "automatic 3 of 6, 2 points to be judged"
    judge(book, "1.5")
    one = grade(book)
    assert (one.points, one.to_judge, one.is_by_hand) == (Decimal("4.5"), 0, False)
    assert one.parts() == "automatic 3 of 6, judged 1.5 of 2"
    said = one.as_json()["answers"][0]
    assert (said["state"], said["override"]["who"], said["points"]) == ("judged", "ta1", 1.5)
    assert [(c.old_points, c.new_points, c.check) for c in judged(book)] == [
        (3, Decimal("4.5"), "why")
    ]
    assert book.reviews() == [], "it is no exception that one has to look at again"


def test_an_empty_answer_needs_no_person(book):
    save_each(book, handed_in(text=""))
    assert (grade(book).points, grade(book).to_judge) == (3, 0)
    assert grade(book).parts() == "automatic 3 of 6, empty answers 0 of 2", "nobody judged it"
    with pytest.raises(TitoError, match="wrote nothing"):
        judge(book, 1)


def test_the_points_stay_within_zero_and_the_maximum(book):
    save_each(book, handed_in(), arrived=MONDAY - 2 * DAY)
    for points in (-1, 3):
        with pytest.raises(TitoError, match="why can earn between 0 and 2"):
            judge(book, points)
    judge(book, 2)
    save_each(book, handed_in(key="other", most=1), arrived=MONDAY - DAY)
    assert grade(book).points == 4, "the question is worth less in a new edition"


def test_a_resubmission_keeps_the_points_of_the_same_answer_only(book):
    save_each(book, handed_in(), arrived=MONDAY - 3 * DAY)
    judge(book, 2)
    save_each(book, handed_in(key="later", points=(3, 3)), arrived=MONDAY - 2 * DAY)
    assert grade(book).points == 8
    save_each(book, handed_in(key="newest", text="Because."), arrived=MONDAY - DAY)
    one = grade(book)
    assert (one.points, one.to_judge) == (3, 2)
    assert one.answers[0].earlier.points == 2 and one.answers[0].override is None
    judge(book, 1)
    assert len(judged(book)) == 2 and answer(book).earlier is None
    save_each(book, handed_in(key="back", points=(3, 3)), arrived=MONDAY)
    assert grade(book).points == 8


def test_a_late_answer_loses_points_like_the_rest(book):
    save_each(book, handed_in(points=(3, 3)), arrived=MONDAY + DAY)
    judge(book, 2)
    assert grade(book).points == Decimal("7.2")


def test_who_judges_learns_what_another_wrote_meanwhile(book):
    save_each(book, handed_in())
    seen, sha256 = book.last_change(), answer(book).answer.sha256
    judge(book, 2, seen=seen, sha256=sha256)
    with pytest.raises(ChangedMeanwhile, match="ta1 changed this grade"):
        judge(book, 1, "ada", "ta2", seen=seen, sha256=sha256)
    set_comment(book, "ada", "numbers", "Well done.")
    assert judge(book, 1, seen=seen + 1, sha256=sha256).points == 1, "about another thing"
    save_each(book, handed_in(key="zzz", text="Another."))
    with pytest.raises(ChangedMeanwhile, match="another answer"):
        judge(book, 1, sha256=sha256)


def test_a_judgement_is_taken_back(book):
    save_each(book, handed_in())
    judge(book, 2)
    assert judge(book, None).state == "to be judged" and grade(book).points == 3
    assert [one.words() for one in judged(book)][0] == "judged; why set to 2"
    assert "why lifted" in judged(book)[1].words()


def test_the_same_points_again_change_nothing(book):
    save_each(book, handed_in())
    for _ in range(2):
        judge(book, 1)
    assert len(judged(book)) == 1


def test_what_is_no_judgement_is_refused(book):
    save_each(book, handed_in())
    with pytest.raises(TitoError, match="no check 'what'"):
        judge(book, 1, question="what")
    with pytest.raises(TitoError, match="no learner"):
        judge(book, 1, "nobody")
    with pytest.raises(TitoError):
        judge(book, 1, who=" ")
    assert not answer(book).override


def test_an_answer_and_a_check_are_set_side_by_side(book):
    save_each(book, handed_in())
    judge(book, 2)
    set_points(book, "ada", "numbers", 1, check="c1")
    assert grade(book).points == 6 and grade(book).is_by_hand
    set_points(book, "ada", "numbers", None, check="c1")
    assert grade(book).points == 5 and answer(book).points == 2


def test_a_hostile_answer_is_kept_and_does_nothing(book):
    save_each(book, handed_in(text=HOSTILE))
    (row,) = answers.learner_answers(book, "numbers", "why")
    assert row.text == HOSTILE.replace("\0", "\\x00")
    assert "text" not in grade(book).result.as_json()["answers"][0]


def test_the_overview_counts_what_is_judged(book):
    save_each(book, handed_in(), handed_in("bob"), handed_in("eve", text=""), handed_in("gone"))
    judge(book, 0)
    enrollment.leave(book, "gone", "me", "left")
    (one,) = answers.question_progress(book, "numbers")
    assert (one.judged, one.waiting, one.empty, one.written) == (1, 1, 1, 2)


def test_merged_ids_keep_their_judgements(book):
    save_each(book, handed_in(), handed_in("ada2", key="other", text="Else."), arrived=MONDAY - DAY)
    judge(book, 2, "ada2")
    merging.merge(book, "ada2", "ada", "me", "twice")
    assert (answer(book).override or answer(book).earlier).points == 2


def test_pages_and_exports_show_what_a_person_said(book):
    save_each(book, handed_in(), handed_in("bob", text=HOSTILE))
    judge(book, "1.5", "bob")
    set_comment(book, "bob", "numbers", HOSTILE, exercise="why")
    (_, ada), (learner, bob) = book.by_learner()
    page = feedback.page(learner, bob, "Course")
    assert "judged by ta1" in page and "Automatic 3 of 6, judged 1.5 of 2." in page
    assert page.count("alert(1)") == 1 and "<script>" not in page and "{{" in page
    assert "2 points to be judged" in exports.summary(ada[0])
    chosen = exports.Selection(book, most={"numbers": 8})
    assert chosen.doubts.waiting == 1 and "to be judged" in exports.text(chosen, "moodle")
    results = {path: json.loads(text) for path, text in exports.tree(chosen, "gradescope")}
    last = results["bob/results.json"]["tests"][-1]
    assert (last["name"], last["score"], last["max_score"]) == ("Numbers: why", 1.5, 2)
    assert last["output"].startswith("judged\n<script>")
    assert results["ada/results.json"]["tests"][-1]["output"] == "to be judged"


@pytest.mark.slow
def test_two_graders_judge_at_once_on_postgresql(postgres):
    """Each answer is judged once, and no judgement is overwritten unseen."""
    where = postgres()
    with open_gradebook(where, RULES) as book:
        save_each(book, *(handed_in(f"s{n}") for n in range(8)))
        seen, sha256 = book.last_change(), answer(book, "s0").answer.sha256

    def work(who):
        told = 0
        with open_gradebook(where, RULES) as book:
            for n in range(8):
                try:
                    judge(book, 2 if who == "ta1" else 1, f"s{n}", who, seen=seen, sha256=sha256)
                except ChangedMeanwhile:
                    told += 1
        return told

    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(work, ("ta1", "ta2"))) == 8
    with open_gradebook(where, RULES) as book:
        kinds = [entry.kind for entry in book.history()]
        assert kinds.count("override") == 8
        assert {one.to_judge for one in book.grades(lesson="numbers")} == {0}


def test_the_best_submission_is_chosen_with_what_persons_gave(tmp_path):
    with open_gradebook(tmp_path / "best.db", replace(RULES, policy="best")) as book:
        save_each(book, handed_in(), arrived=MONDAY - 2 * DAY)
        judge(book, 2)
        save_each(book, handed_in(key="new", text="No.", points=(3, 1)), arrived=MONDAY - DAY)
        assert (grade(book).points, grade(book).submissions) == (5, 2)
        (row,) = answers.learner_answers(book, "numbers", "why")
        assert row.text == "Sums to one."
