"""The decisions of instructors about one learner: overrides, comments and extensions in force.
They follow from the history. This module does not access the database.
"""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

from tito.grading.gradebook import late
from tito.grading.gradebook.grade import Comment, GradedAnswer, Override, OverrideReview, ResultRow
from tito.grading.result import Answer, LessonResult


class Instructions:
    """The decisions about one learner.

    entries  rows of the table `change`, oldest first: overrides, comments and extensions
    """

    def __init__(self, entries: Iterable[Any]) -> None:
        self.overrides: dict[tuple[str, str | None], Override] = {}  # by lesson and check
        # of answers, by lesson and question: by the SHA-256 of the answer, the newest last
        self.judged: dict[tuple[str, str | None], dict[str, Override]] = {}
        self.comments_by_lesson: dict[str | None, list[Comment]] = {}
        self.extensions: dict[str | None, late.Extension | None] = {}
        for entry in entries:
            if entry.kind == "override":
                self._set_override(entry)
            elif entry.kind == "extension":
                self.extensions[entry.lesson] = extension_of(entry)
            elif entry.text is None:
                self._take_back(entry)
            else:
                comment = Comment(entry.text, entry.who, entry.at, entry.check_id or "")
                self.comments_by_lesson.setdefault(entry.lesson, []).append(comment)

    def _set_override(self, entry: Any) -> None:
        place, replaced = (entry.lesson, entry.check_id), entry.replaced or {}
        answer, graded = replaced.get("answer"), replaced.get("graded")
        if answer:
            self.judged.setdefault(place, {}).pop(answer, None)
        else:
            self.overrides.pop(place, None)
        if entry.points is None:
            return
        earned = None if graded is None else Decimal(graded)
        override = Override(entry.points, entry.who, entry.at, entry.why, earned)
        if answer:
            self.judged[place][answer] = override
        else:
            self.overrides[place] = override

    def _take_back(self, entry: Any) -> None:
        """Remove the comments on a lesson, or only the one that `entry` names by text and who."""
        lesson, comment = entry.lesson, (entry.replaced or {}).get("comment")
        comments = self.comments_by_lesson.pop(lesson, [])
        for number, known in enumerate(comments if comment else ()):
            if [known.text, known.who, known.exercise] == [*(comment or ()), entry.check_id or ""]:
                comments = comments[:number] + comments[number + 1 :]
                break
        if comment and comments:
            self.comments_by_lesson[lesson] = comments

    @property
    def lessons_by_check(self) -> set[str]:
        """Lessons of which points of single checks are set: such a grade needs the whole result."""
        return {lesson for lesson, check in self.overrides if check}

    def select_overrides(self, row: ResultRow) -> tuple[Override | None, dict[str, Override]]:
        """(Override of the lesson or None, {check id: Override} of the checks that it has), for a
        row of `result`. None is above what lesson or check can earn.
        """
        by_check = self.overrides and row.lesson in self.lessons_by_check
        checks = {
            check.id: self.overrides[row.lesson, check.id].within(check.max_points)
            for check in (row.result.checks if by_check else ())
            if (row.lesson, check.id) in self.overrides
        }
        override = self.overrides.get((row.lesson, None))
        return override and override.within(row.max_points), checks

    def review(
        self, student: str, name: str, results: Iterable[LessonResult]
    ) -> Iterator[OverrideReview]:
        """The overrides of this learner in force, with the doubts about each."""
        by_lesson = {result.lesson: result for result in results}
        for (lesson, check), override in self.overrides.items():
            result = by_lesson.get(lesson)
            checks = {check.id: check for check in result.checks} if result else {}
            place = result if check is None else checks.get(check)
            doubt = ""
            if place:
                doubt = override.doubt(place.points, place.max_points)
            elif check:
                doubt = f"there is no check {check} any more: it counts nothing"
            earned = place.points if place else None
            yield OverrideReview(student, name, lesson, check, override, earned, doubt)

    def graded_answers(self, row: ResultRow) -> list[GradedAnswer]:
        """The grades of the answers in a row of `result`."""
        graded = []
        for values in row.answers or ():
            answer = Answer(**values)
            judged = {
                sha256: override.within(answer.max_points)
                for sha256, override in self.judged.get((row.lesson, answer.question), {}).items()
            }
            mine = judged.get(answer.sha256)
            others = [] if mine else list(judged.values())
            graded.append(GradedAnswer(answer, mine, others[-1] if others else None))
        return graded

    def comments(self, lesson: str | None) -> list[Comment]:
        return self.comments_by_lesson.get(lesson, [])

    def extension(self, lesson: str) -> late.Extension | None:
        return self.extensions.get(lesson) or self.extensions.get(None)

    def describe_overrides(self, before: LessonResult | None, result: LessonResult) -> str | None:
        """Remarks on the overrides when `result` replaces `before`, or None without overrides."""
        if not before:
            return None
        old: dict[str, int] = {check.id: check.points for check in before.checks}
        new: dict[str, int] = {check.id: check.points for check in result.checks}
        sentences = []
        for (lesson, check), override in self.overrides.items():
            by = f"to {override.points} by {override.who}"
            if lesson != result.lesson:
                continue
            if check is None:
                hides = result.points > max(Decimal(before.points), override.points)
                sentences.append(
                    f"graded {before.points} -> {result.points}; the override {by} stays"
                    + " and hides the rise" * hides
                )
            elif check in new:
                hides = new[check] > max(Decimal(old.get(check, 0)), override.points)
                sentences.append(
                    f"the override of check {check} {by} stays" + " and hides the rise" * hides
                )
            else:
                sentences.append(f"check {check}, overridden {by}, is no longer there")
        return "; ".join(sentences) or None


def extension_of(entry: Any) -> late.Extension | None:
    """The extension in a row of the table `change`."""
    return late.Extension(entry.until, entry.days) if entry.until or entry.days else None
