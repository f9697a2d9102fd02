"""The pages for judging free answers: the list of questions, the answers to a question, and an
answer with the question's rubric.

A form of an answer contains the answer and the judgement that its page showed. A form of the rubric
contains the version of its item.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal

from starlette.requests import Request
from starlette.responses import Response

from tito.errors import TitoError, UsageError
from tito.grading.gradebook import answers, late
from tito.grading.gradebook.answers import (
    LearnerAnswer,
    NewJudgement,
    RubricChange,
    equal_answers,
)
from tito.grading.gradebook.history import Change, ChangedMeanwhile
from tito.grading.gradebook.rubric import WAITING, Judgement, RubricItem
from tito.grading.page.access import GraderSession
from tito.grading.page.class_list import Filter
from tito.grading.page.shell import Shell
from tito.grading.page.submission_page import ShownLearner, in_words
from tito.lesson.lesson_format import Question

LETTERS, LINES = 50_000, 5_000  # of an answer that are shown: more than are kept
DAMAGED = UsageError("This form is damaged.", "Reload the page, then try again.")


@dataclass
class AnswerView:
    """Everything that the page of one answer shows.

    words    the question and a sample answer; None when the course no longer has the question
    outdated  whether the course has another rubric meanwhile
    group    all equal answers, this one included, with their learners; they are judged together
    items    the question's rubric; removed: items that were once in it
    used     {item id: in how many answers}
    judged, written  of how many answers how many are judged
    here, of the place of its group in the list; before, after: handles in the groups beside it
    typed    {field: text} of a form that was refused; None: as it is judged
    problem  why it was refused; changes: what was changed meanwhile
    """

    lesson: str
    question: str
    words: Question | None
    outdated: bool
    answer: LearnerAnswer
    shown: ShownLearner
    group: list[tuple[LearnerAnswer, ShownLearner]]
    items: list[RubricItem]
    removed: list[RubricItem]
    used: dict[int, int]
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

    @property
    def judgement(self) -> Judgement | None:
        return self.answer.graded.judgement

    def is_ticked(self, item: RubricItem) -> bool:
        if self.typed is not None:
            return f"item-{item.id}" in self.typed
        return bool(self.judgement and item.id in self.judgement.ids)

    def value(self, name: str) -> str:
        """The text of a field."""
        if self.typed is not None:
            return self.typed.get(name, "")
        if not self.judgement:
            return ""
        if name == "comment":
            return self.judgement.comment
        points = self.judgement.adjustment
        return str(points) if points or not self.judgement.items else ""


class Questions:
    """The pages and forms of the questions. page: shows them; asked: the course's questions,
    {(lesson, name): Question}; outdated: those whose answers are judged by an older rubric.
    """

    def __init__(self, page: Shell, asked: dict[tuple[str, str], Question]) -> None:
        self.page, self.book, self.asked = page, page.book, asked
        self.outdated = set(answers.bring_rubrics(self.book, asked))
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
            judged=sum(bool(row.graded.judgement) for row in rows),
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
        """Judge an answer and its equals, or remove their judgements."""
        form = request.scope["form"]
        chosen, (lesson, question) = self.page.filter_of(session, form), _place(request)
        view = self._view(request, session, chosen)
        if not view:
            return self._missing(session)
        try:
            new = judgement_in(form, question)
            hashes: dict[str, str | None] = {
                row.learner.student: row.graded.answer.sha256 for row, _ in view.group
            }
            # the text that the grader has read, which may differ from the one that counts now
            hashes |= {view.shown.learner.student: new.answer}
            graded = answers.judge_equal(self.book, hashes, lesson, new, session.who)[0]
        except TitoError as error:
            return self._refused(request, session, form, error)
        name = view.shown.name
        if len(view.group) > 1:
            name += f" and {len(view.group) - 1} with the same answer"
        words = f"{name}: {graded.points} of {graded.max_points} points."
        if new.items is None:
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

    def rubric(self, request: Request, session: GraderSession) -> Response:
        """Add, change or remove an item of a rubric, for all answers at once. First show whose
        grades would change.
        """
        form, (lesson, question) = request.scope["form"], _place(request)
        if not self._answers(session, (lesson, question), Filter()):
            return self._missing(session)
        back = f"/question/{lesson}/{question}"
        if self.page.class_list.student(form.get("back", "")):
            back += f"/{form['back']}"
        query = self.page.filter_of(session, form).query()
        try:
            unused = not session.is_instructor
            change = replace(rubric_change_in(form, lesson, question), unused=unused)
            if form.get("what") == "undo":
                points, text = answers.item_before(self.book, number_in(form, "item"))
                change = replace(change, points=points, text=text)
            asks = change.item is not None and "agreed" not in form
            moved = answers.change_rubric(self.book, change, session.who, preview=asks)
            if asks and (moved or change.points is None):
                lines = self.page.with_learners(session, moved)
                return self.page.show(
                    session,
                    "rubric.html",
                    place=_place(request),
                    form=form,
                    lines=lines,
                    back=back,
                    query=query,
                )
            if asks:
                moved = answers.change_rubric(self.book, change, session.who)
            grades = f"{len(moved)} grade{'s' * (len(moved) != 1)}"
            words = f"The item is changed for all answers; {grades} changed with it."
            if change.item is None:
                words = "The item is there for all answers."
        except TitoError as error:
            words = f"Not done: {error.what} {error.remedy}"
        return self.page.to(session, back, words, **query)

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
        items = answers.rubric(self.book, *place)
        every = answers.rubric(self.book, *place, removed=True)
        used = {item.id: 0 for item in items}
        for row in rows:
            for item_id in row.graded.judgement.ids if row.graded.judgement else ():
                used[item_id] = used.get(item_id, 0) + 1  # also of one that is removed meanwhile
        return AnswerView(
            *place,
            self.asked.get(place),
            place in self.outdated,
            answer,
            self.page.shown(session, answer.learner),
            [(row, self.page.shown(session, row.learner)) for row in equals],
            items,
            [item for item in every if item.points is None],
            used,
            chosen,
            sum(bool(row.graded.judgement) for row in rows),
            sum(bool(row.graded.answer.sha256) for row in rows),
            at + 1,
            len(groups),
            handles[at - 1][0] if at else None,
            handles[at + 1][0] if at + 1 < len(groups) else None,
        )


def _place(request: Request) -> tuple[str, str]:
    """The lesson and the question that an address names."""
    return request.path_params["lesson"], request.path_params["question"]


def judgement_in(form: Mapping[str, str], question: str) -> NewJudgement:
    """The judgement in a form. Raises UsageError for a damaged form."""
    seen, answer = [number_of(word) for word in form.get("seen", "").split()], form.get("answer")
    if form.get("lift"):
        return NewJudgement(question, None, answer=answer, seen=seen)
    items = [number_of(name[5:]) for name in form if name.startswith("item-")]
    if not items and not form.get("points", "").strip():
        raise UsageError(
            "Nothing is ticked.", "Tick an item of the rubric, or write 0 to give no points."
        )
    comment = form.get("comment", "").strip()
    points = points_in(form)
    return NewJudgement(question, tuple(items), points, comment, answer, seen)


def rubric_change_in(form: Mapping[str, str], lesson: str, question: str) -> RubricChange:
    """The change of a rubric in a form. Raises UsageError for a damaged form."""
    text = form.get("text", "").strip()
    if form.get("what") == "add":
        return RubricChange(lesson, question, None, points_in(form), text)
    item, seen = number_in(form, "item"), number_in(form, "version")
    points = None if form.get("what") in ("remove", "undo") else points_in(form)
    return RubricChange(lesson, question, item, points, text, seen)


def number_in(form: Mapping[str, str], name: str) -> int:
    return number_of(form.get(name, ""))


def number_of(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise DAMAGED
    return int(text)


def points_in(form: Mapping[str, str]) -> Decimal:
    text = form.get("points", "").strip() or "0"
    try:
        return late.points_of(text)
    except ValueError:
        raise UsageError(f"{text!r} is no number of points.", "Write 1, 0.5 or -0.5.") from None
