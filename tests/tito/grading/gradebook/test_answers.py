"""Free answers: what they count before and after a person judged them, rubrics, the history."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal

import pytest
from some_results import DAY, MONDAY, RULES, handed_in, save_each

from tito.errors import TitoError
from tito.grading.gradebook import answers, enrollment, exports, feedback
from tito.grading.gradebook.gradebook import open_gradebook
from tito.grading.gradebook.history import ChangedMeanwhile

HOSTILE = '<script>alert(1)</script>=cmd|"\0{{ 7*7 }}"'


def grade(book, student="ada"):
    (found,) = [one for one in book.rows(student) if one.lesson == "numbers"]
    return found


def judge(book, student="ada", **more):
    return answers.judge(book, student, "numbers", "why", "ta1", **more)


@pytest.fixture
def rubric(book):
    """The ids of two items: 2 points, and 1 point less."""
    said = (("says that they sum to 1", 2), ("mixes it up with max", "-1"))
    return [answers.add_item(book, "numbers", "why", *one, "ta1").id for one in said]


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
    changes = [change for change in book.history("ada") if change.kind == "judged"]
    assert [(c.old_points, c.new_points, c.who) for c in changes] == [(3, Decimal("4.5"), "ta1")]


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
    assert answers.used(book, "numbers", "why") == {rubric[0]: 2, rubric[1]: 1}
    moved = answers.change_item(book, "numbers", "why", rubric[0], "prof", points="0.5")
    assert {one.student: (one.old, one.new) for one in moved} == {
        "ada": (5, Decimal("3.5")),
        "bob": (5, Decimal("3.5")),
    }
    told = [change for change in book.history("bob") if change.kind == "rubric"]
    assert [(change.who, change.new_points) for change in told] == [("prof", Decimal("3.5"))]
    answers.remove_item(book, "numbers", "why", rubric[0], "prof")
    assert grade(book).points == 3 and not grade(book).to_judge
    assert [item.place for item in answers.rubric(book, "numbers", "why")] == [1]


def test_an_item_moves_to_another_place(book, rubric):
    third = answers.add_item(book, "numbers", "why", "third", 1, "ta1").id
    answers.change_item(book, "numbers", "why", third, "ta1", place=1)
    answers.remove_item(book, "numbers", "why", rubric[0], "ta1")
    answers.change_item(book, "numbers", "why", rubric[1], "ta1", place=1, text="mixed up")
    found = answers.rubric(book, "numbers", "why")
    assert [(item.id, item.place) for item in found] == [(rubric[1], 1), (third, 2)]
    assert found[0].text == "mixed up" and answers.rubric(book, "numbers", "other") == []


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
    assert answers.text(book, earlier) == "Sums to one."
    judge(book, adjustment=1)
    assert len(answers.history(book, "ada", "numbers", "why")) == 2


def test_a_late_answer_loses_points_like_the_rest(book):
    save_each(book, handed_in(points=(3, 3)), arrived=MONDAY + DAY)
    judge(book, adjustment=2)
    assert grade(book).points == Decimal("7.2")


def test_who_judges_learns_what_another_wrote_meanwhile(book, rubric):
    save_each(book, handed_in())
    first = judge(book, items=rubric[:1], seen=0)
    with pytest.raises(ChangedMeanwhile, match="ta1 changed this grade"):
        judge(book, adjustment=1, seen=0)
    assert judge(book, adjustment=1, seen=first.judgement.id).points == 1
    item = answers.rubric(book, "numbers", "why")[0]
    answers.change_item(book, "numbers", "why", item.id, "ta2", points=1, seen=item.version)
    with pytest.raises(ChangedMeanwhile, match="ta2 changed this item"):
        answers.change_item(book, "numbers", "why", item.id, "ta1", text="x", seen=item.version)
    before = answers.row(book, "ada", "numbers", "why").graded.answer.sha256
    save_each(book, handed_in(key="zzz", text="Another."))
    with pytest.raises(ChangedMeanwhile, match="another answer"):
        judge(book, adjustment=1, answer=before)


def test_a_judgement_is_taken_back(book):
    save_each(book, handed_in())
    judge(book, adjustment=2)
    graded = answers.take_back(book, "ada", "numbers", "why", "ta2")
    assert graded.state == "to be judged" and grade(book).points == 3
    assert [one.who for one in answers.history(book, "ada", "numbers", "why")] == ["ta1", "ta2"]


def test_the_same_judgement_again_changes_nothing(book, rubric):
    save_each(book, handed_in())
    for _ in range(2):
        judge(book, items=rubric)
    assert len(answers.history(book, "ada", "numbers", "why")) == 1


def test_what_is_no_judgement_is_refused(book, rubric):
    save_each(book, handed_in())
    for more, words in (
        ({"items": [99]}, "no item"),
        ({"adjustment": "many"}, "no number"),
        ({"adjustment": "nan"}, "no number"),
        ({"comment": "x" * 5000}, "characters"),
    ):
        with pytest.raises(TitoError, match=words):
            judge(book, **more)
    with pytest.raises(TitoError, match="no graded answer"):
        answers.judge(book, "ada", "numbers", "what", "ta1")
    with pytest.raises(TitoError, match="no learner"):
        judge(book, "nobody")
    assert not grade(book).answers[0].judgement


def test_a_hostile_answer_is_kept_and_does_nothing(book):
    save_each(book, handed_in(text=HOSTILE))
    (row,) = answers.rows(book, "numbers", "why")
    assert row.text == HOSTILE.replace("\0", "\\x00")
    assert "text" not in grade(book).result.as_json()["answers"][0]


def test_the_overview_counts_what_is_judged(book):
    save_each(book, handed_in(), handed_in("bob"), handed_in("eve", text=""), handed_in("gone"))
    judge(book)
    enrollment.leave(book, "gone", "me", "left")
    (one,) = answers.overview(book)
    assert (one.judged, one.waiting, one.empty, one.written) == (1, 1, 1, 2)


def test_a_table_judges_all_or_nothing(book, rubric, tmp_path):
    save_each(book, handed_in(), handed_in("bob"))
    path = tmp_path / "judged.csv"
    head = "Student;Lesson;Question;Items;Adjustment;Comment\n"
    path.write_text(head + "ada;numbers;why;1 2;-0,5;Good\nbob;numbers;why;;;\n", "utf-8")
    wishes = answers.read(path, str)
    assert answers.apply(book, wishes, "ta1") == (1, 0)
    assert answers.apply(book, wishes, "ta1") == (0, 1)
    assert grade(book).points == Decimal("3.5")
    path.write_text(head + "ada;numbers;why;lift;;\nbob;numbers;why;7;;\n", "utf-8")
    with pytest.raises(TitoError, match=r"judged.csv:3: .*no item 7"):
        answers.apply(book, answers.read(path, str), "ta1")
    assert grade(book).points == Decimal("3.5")


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
    """Each answer is judged once, each item is there once, and nobody is overwritten unseen."""
    where = postgres()
    with open_gradebook(where, RULES) as book:
        save_each(book, *(handed_in(f"s{n}") for n in range(8)))
        item = answers.add_item(book, "numbers", "why", "first", 1, "prof").id

    def work(who):
        told = 0
        with open_gradebook(where, RULES) as book:
            answers.add_item(book, "numbers", "why", f"by {who}", "0.5", who)
            for n in range(8):
                try:
                    judge(book, f"s{n}", items=[item], comment=who, seen=0)
                except ChangedMeanwhile:
                    told += 1
        return told

    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(work, ("ta1", "ta2"))) == 8
    with open_gradebook(where, RULES) as book:
        moved = answers.change_item(book, "numbers", "why", item, "prof", points=2)
        assert sorted(one.student for one in moved) == [f"s{n}" for n in range(8)]
        assert {one.points for one in book.rows(lesson="numbers")} == {5}
        kinds = [change.kind for change in book.history()]
        assert kinds.count("judged") == kinds.count("rubric") == 8
        assert [one.place for one in answers.rubric(book, "numbers", "why")] == [1, 2, 3]


def test_the_best_submission_is_chosen_with_what_persons_gave(tmp_path):
    with open_gradebook(tmp_path / "best.db", replace(RULES, policy="best")) as book:
        save_each(book, handed_in(), arrived=MONDAY - 2 * DAY)
        judge(book, adjustment=2)
        save_each(book, handed_in(key="new", text="No.", points=(3, 1)), arrived=MONDAY - DAY)
        assert (grade(book).points, grade(book).submissions) == (5, 2)
        assert answers.row(book, "ada", "numbers", "why").text == "Sums to one."
