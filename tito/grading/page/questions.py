"""The pages for judging free answers: the list of questions, the answers to a question, and an
answer with its sample answer and rubric.

A form of an answer contains the answer that its page showed, and the last entry of the history.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response

from tito.errors import TitoError, UsageError
from tito.grading.gradebook import answers
from tito.grading.gradebook.answers import LearnerAnswer, equal_answers
from tito.grading.gradebook.changes import apply_changes
from tito.grading.gradebook.grade import WAITING
from tito.grading.gradebook.history import Change, ChangedMeanwhile
from tito.grading.gradebook.requested_changes import RequestedChange
from tito.grading.page.access import GraderSession
from tito.grading.page.class_list import Filter
from tito.grading.page.forms import is_done, number_in, points_in, reason_in
from tito.grading.page.shell import Shell
from tito.grading.page.submission_page import ShownLearner, in_words
from tito.lesson.lesson_format import Question

LETTERS, LINES = 50_000, 5_000  # of an answer that are shown: more than are kept


@dataclass
class AnswerView:
    """Everything that the page of one answer shows.

    words    the question, a sample answer and the rubric; None when the course no longer has it
    group    all equal answers, this one included, with their learners; they are judged together
    seen     `Gradebook.last_change` before the rest was read
    judged, written  of how many answers how many are judged
    here, of the place of its group in the list; before, after: handles in the groups beside it
    typed    {field: text} of a form that was refused; None: as it is judged
    problem  why it was refused; changes: what was changed meanwhile
    """

    lesson: str
    question: str
    words: Question | None
    answer: LearnerAnswer
    shown: ShownLearner
    group: list[tuple[LearnerAnswer, ShownLearner]]
    seen: int
    filter: Filter
    judged: int
    written: int
    here: int
    of: int
    before: str | None
    after: str | None
    typed: Mapping[str, str] | None = None
    problem: str = ""
    changes: list[Change] = field(default_factory=list)

    def value(self, name: str) -> str:
        """The text of a field."""
        if self.typed is not None:
            return self.typed.get(name, "")
        override = self.answer.graded.override
        return str(override.points) if override and name == "points" else ""

    def requested(self, form: Mapping[str, str]) -> list[RequestedChange]:
        """The changes that a form asks for, of this answer and of its equals."""
        lifts, text = bool(form.get("lift")), form.get("text", "").strip()
        if not lifts and not form.get("points", "").strip():
            raise UsageError("There are no points.", "Write 0 to give none.")
        points = None if lifts else points_in(form)
        changes = []
        for row, _ in self.group:
            # the text that the grader has read, which may differ from the one that counts now
            is_shown = row.learner.student == self.answer.learner.student
            answer = form.get("answer") if is_shown else row.graded.answer.sha256
            place = (row.learner.student, self.lesson, reason_in(form), self.question)
            changes.append(RequestedChange("override", *place, points, answer=answer))
            if text and not lifts:
                changes.append(RequestedChange("comment", *place, text=text, answer=answer))
        return changes


class Questions:
    """The pages and forms of the questions. page: shows them; asked: the course's questions,
    {(lesson, name): Question}.
    """

    def __init__(self, page: Shell, asked: dict[tuple[str, str], Question]) -> None:
        self.page, self.book, self.asked = page, page.book, asked
        self._lock = threading.Lock()

    def overview(self, request: Request, session: GraderSession) -> Response:
        """Every question of what was graded."""
        chosen = self.page.filter_of(session, request.query_params)
        lessons = dict.fromkeys(lesson for lesson, _ in self.asked)
        rows = [
            row
            for lesson in lessons
            for row in answers.question_progress(
                self.book, lesson, chosen.section or session.sections
            )
        ]
        return self.page.show(session, "questions.html", rows=rows, filter=chosen)

    def answers(self, request: Request, session: GraderSession) -> Response:
        """The answers to one question, in a list."""
        place, chosen = _place(request), self.page.filter_of(session, request.query_params)
        rows = self._answers(session, place, chosen)
        if not rows:
            return self.page.missing(session, "No answer to such a question is graded.")
        return self.page.show(
            session,
            "question.html",
            place=place,
            lines=[
                (group, self.page.shown(session, group[0].learner)) for group in equal_answers(rows)
            ],
            filter=chosen,
            judged=sum(bool(row.graded.override) for row in rows),
            written=sum(bool(row.graded.answer.sha256) for row in rows),
        )

    def answer(self, request: Request, session: GraderSession) -> Response:
        """One answer."""
        view = self._view(request, session, self.page.filter_of(session, request.query_params))
        return self._show(session, view) if view else self._missing(session)

    def next(self, request: Request, session: GraderSession) -> Response:
        """Go to the next answer that is not judged, after this one, or to the first."""
        form, (lesson, question) = request.scope["form"], _place(request)
        if not self._answers(session, (lesson, question), Filter()):
            return self._missing(session)
        chosen, after = self.page.filter_of(session, form), form.get("after")
        here = f"/question/{lesson}/{question}"
        groups = equal_answers(self._answers(session, (lesson, question), chosen))
        paths = [[f"{here}/{self._handle(row)}" for row in group] for group in groups]
        at = next((n for n, group in enumerate(paths, 1) if f"{here}/{after}" in group), 0)
        waiting = [
            paths[n]
            for n in (*range(at, len(groups)), *range(at))
            if any(row.graded.state == WAITING for row in groups[n])
        ]
        if waiting:
            with self._lock:
                opened = self.page.sessions.opened_by_others(session)
                # answers that another grader has open come last
                session.here = min(waiting, key=lambda group: not opened.isdisjoint(group))[0]
            return self.page.to(session, session.here, **chosen.query())
        words = "All answers here are judged."
        return self.page.to(session, here, words, **chosen.query())

    def judge(self, request: Request, session: GraderSession) -> Response:
        """Judge an answer and its equals, or take that back."""
        form = request.scope["form"]
        chosen, (lesson, question) = self.page.filter_of(session, form), _place(request)
        view = self._view(request, session, chosen)
        if not view:
            return self._missing(session)
        about = form | {"check": question, "about": question}
        try:
            changes = view.requested(form)
            apply_changes(self.book, changes, session.who, seen=number_in(form, "seen"))
        except ChangedMeanwhile as error:
            if not is_done(error.changes, "judge", about, session.who):
                return self._refused(request, session, form, error)
        except TitoError as error:
            return self._refused(request, session, form, error)
        name = view.shown.name
        if len(view.group) > 1:
            name += f" and {len(view.group) - 1} with the same answer"
        points = changes[0].points
        words = f"{name}: {points} of {view.answer.graded.max_points} points."
        if points is None:
            words = f"{name}: to be judged again."
        if form.get("then") == "next":
            session.say(words)
            form["after"] = view.shown.handle
            return self.next(request, session)
        path = f"/question/{lesson}/{question}/{view.shown.handle}"
        return self.page.to(session, path, words, **chosen.query())

    def _refused(
        self, request: Request, session: GraderSession, form: dict[str, str], error: TitoError
    ) -> Response:
        """The page of an answer with the typed values, and why they were refused."""
        view = self._view(request, session, self.page.filter_of(session, form))
        if not view:  # merged into another learner's meanwhile, say
            return self._missing(session)
        view.typed, view.problem = form, f"{error.what} {error.remedy}"
        view.changes = error.changes if isinstance(error, ChangedMeanwhile) else []
        return self._show(session, view, 409)

    # Shared by the methods above

    def _answers(
        self, session: GraderSession, place: tuple[str, str], chosen: Filter
    ) -> list[LearnerAnswer]:
        """The answers that this grader may see, in the order of the page. If names are hidden, the
        order does not reveal ids.
        """
        rows = answers.learner_answers(self.book, *place, chosen.section or session.sections)
        if session.anonymous:
            rows.sort(key=self._handle)
        return rows

    def _handle(self, row: LearnerAnswer) -> str:
        return self.page.class_list.handle(row.learner.student)

    def _missing(self, session: GraderSession) -> Response:
        return self.page.missing(session, "There is no such answer.")

    def _show(self, session: GraderSession, view: AnswerView, status: int = 200) -> Response:
        return self.page.show(
            session,
            "answer.html",
            status,
            view=view,
            letters=LETTERS,
            lines=LINES,
            in_words=in_words,
        )

    def _view(self, request: Request, session: GraderSession, chosen: Filter) -> AnswerView | None:
        """The view of the answer that the address names, or None."""
        place, handle = _place(request), request.path_params["handle"]
        seen = self.book.last_change()
        student = self.page.class_list.student(handle)
        rows = self._answers(session, place, chosen)
        if student not in [row.learner.student for row in rows]:  # of another section, say
            everybody = self._answers(session, place, Filter())
            rows = [row for row in everybody if row.learner.student == student]
        if not rows:
            return None
        groups = equal_answers(rows)
        handles = [[self._handle(row) for row in group] for group in groups]
        at = next(n for n, group in enumerate(handles) if handle in group)
        answer = groups[at][handles[at].index(handle)]
        equals = [row for row in groups[at] if row.graded.answer.sha256] or [answer]
        return AnswerView(
            *place,
            self.asked.get(place),
            answer,
            self.page.shown(session, answer.learner),
            [(row, self.page.shown(session, row.learner)) for row in equals],
            seen,
            chosen,
            sum(bool(row.graded.override) for row in rows),
            sum(bool(row.graded.answer.sha256) for row in rows),
            at + 1,
            len(groups),
            handles[at - 1][0] if at else None,
            handles[at + 1][0] if at + 1 < len(groups) else None,
        )


def _place(request: Request) -> tuple[str, str]:
    """The lesson and the question that an address names."""
    return request.path_params["lesson"], request.path_params["question"]
