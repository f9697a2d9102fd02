"""Free answers in a gradebook. An answer is a check that a person judges: `changes.py` writes its
points as an override, and its comments, like those of any check.

An override of an answer belongs to its text (its SHA-256). An answer that is handed in again
unchanged keeps its points. A changed answer has to be judged again, and the earlier points are
shown next to it.
"""

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tito.grading.gradebook.grade import (
    EMPTY,
    JUDGED,
    ClassMember,
    Comment,
    Grade,
    GradedAnswer,
)
from tito.grading.gradebook.gradebook import Gradebook
from tito.grading.gradebook.tables import LEFT

Sections = str | Collection[str] | None  # only learners of this section, or of one of these


@dataclass(frozen=True)
class QuestionProgress:
    """How far the answers to one question are judged, of the submissions that count."""

    lesson: str
    number: int
    question: str
    max_points: int
    judged: int
    waiting: int
    empty: int

    @property
    def written(self) -> int:
        return self.judged + self.waiting


@dataclass(frozen=True)
class LearnerAnswer:
    """A learner's answer to a question, of the submission that counts.

    comments  for the learner, about this question
    text  what they wrote: escape it wherever it is shown; cut where `graded.answer.length` is more
    """

    learner: ClassMember
    graded: GradedAnswer
    comments: list[Comment]
    text: str


def question_progress(
    book: Gradebook, lesson: str, section: Sections = None
) -> list[QuestionProgress]:
    """The questions of a lesson that was graded."""
    number = book.lessons().get(lesson, (0,))[0]
    by_question: dict[str, list[GradedAnswer]] = {}
    for _, grade in _counting_grades(book, lesson, section):
        for answer in grade.answers:
            by_question.setdefault(answer.question, []).append(answer)
    return [
        QuestionProgress(
            lesson,
            number,
            question,
            answers[0].max_points,
            judged=sum(answer.state == JUDGED for answer in answers),
            waiting=sum(answer.state not in (JUDGED, EMPTY) for answer in answers),
            empty=sum(answer.state == EMPTY for answer in answers),
        )
        for question, answers in by_question.items()
    ]


def equal_answers(rows: Iterable[LearnerAnswer]) -> list[list[LearnerAnswer]]:
    """The answers in groups. In a group they differ in blank lines and the ends of lines at most,
    since indentation matters in code.
    """
    groups: dict[tuple[str, str], list[LearnerAnswer]] = {}
    for row in rows:
        answer = row.graded.answer
        cut = answer.sha256 if answer.length > len(row.text) else ""
        lines = (line.rstrip() for line in row.text.splitlines())
        groups.setdefault(("\n".join(filter(None, lines)), cut), []).append(row)
    return list(groups.values())


def learner_answers(
    book: Gradebook, lesson: str, question: str, section: Sections = None
) -> list[LearnerAnswer]:
    """The answers to a question, by learner, also empty ones; without learners who left."""
    found = [
        (learner, answer, [one for one in grade.comments if one.exercise == question])
        for learner, grade in _counting_grades(book, lesson, section)
        for answer in grade.answers
        if answer.question == question
    ]
    texts = book.texts([answer.answer.sha256 for _, answer, _ in found])
    return [LearnerAnswer(*one, texts.get(one[1].answer.sha256, "")) for one in found]


def _counting_grades(
    book: Gradebook, lesson: str, section: Sections
) -> Iterator[tuple[ClassMember, Grade]]:
    for learner, grades in book.by_learner(None, lesson, section, brief=True):
        if learner.state != LEFT:
            yield from ((learner, grade) for grade in grades)


def grades_as_json(
    book: Gradebook, grades: Iterable[Grade], checks: bool = False
) -> Iterator[dict[str, Any]]:
    """Grades for programs. Each answer comes with its text. checks: so does each check."""
    for grade in grades:
        value = grade.as_json()
        texts = book.texts([answer["sha256"] for answer in value["answers"]])
        for answer in value["answers"]:
            answer["text"] = texts.get(answer["sha256"], "")
        yield with_checks(book, value) if checks else value


def with_checks(book: Gradebook, value: dict[str, Any]) -> dict[str, Any]:
    """A grade for programs, with `sha256` and `text` of each check as it graded, and of what they
    share; "" where the gradebook does not know them.
    """
    listed = json.loads(book.code(value["check_texts"]) or "{}")
    texts = book.texts(listed.values())
    found = {
        name: {"sha256": sha256, "text": texts.get(sha256, "")} for name, sha256 in listed.items()
    }
    none = {"sha256": "", "text": ""}
    checks = [check | found.get(check["id"], none) for check in value["checks"]]
    return value | {"checks": checks, "checks_share": found.get("", none)}
