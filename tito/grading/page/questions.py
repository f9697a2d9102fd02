"""The pages on which persons judge free answers: the questions, the answers to one, one answer with
the question's rubric.

A form of an answer carries what its page had seen: the answer, and the judgement that it had. A
form of the rubric carries the version of its item.
"""

from dataclasses import dataclass, field
from decimal import Decimal

from starlette.requests import Request

from tito.errors import TitoError
from tito.grading.gradebook import answers, claims
from tito.grading.gradebook.history import ChangedMeanwhile
from tito.grading.gradebook.rubric import WAITING, Item
from tito.grading.page import submission_page
from tito.grading.page.class_list import Filter
from tito.lesson.lesson_format import Question

LETTERS, LINES = 50_000, 5_000  # of an answer that are shown: more than are kept


@dataclass
class Sheet:
    """All that the page of one answer shows.

    words    what is asked and a sample answer, None where the course has the question no more
    row      answers.Row of the learner
    handle, name, hide  as parts.View has them
    items    the question's rubric; used: {item id: in how many answers}
    typed    {field: text} of a form that was refused; None: as it is judged
    problem  why it was refused
    judged, written  of how many answers how many are judged
    """

    lesson: str
    question: str
    words: Question | None
    row: answers.Row
    handle: str
    name: str
    hide: object
    items: list[Item]
    used: dict[int, int]
    filter: Filter
    judged: int
    written: int
    here: int
    of: int
    before: str | None
    after: str | None
    typed: dict[str, str] | None = None
    problem: str = ""
    changes: list = field(default_factory=list)

    @property
    def judgement(self):
        return self.row.graded.judgement

    def is_ticked(self, item: Item) -> bool:
        if self.typed is not None:
            return f"item-{item.id}" in self.typed
        return bool(self.judgement) and item.id in self.judgement.ids

    def value(self, name: str) -> str:
        """What stands in a field."""
        if self.typed is not None:
            return self.typed.get(name, "")
        if not self.judgement:
            return ""
        if name == "comment":
            return self.judgement.comment
        return str(self.judgement.adjustment) if self.judgement.adjustment != Decimal(0) else ""


class Questions:
    """The pages and forms of the questions. page: the `app.Page` that shows them; asked: the
    course's questions, {(lesson, name): lesson_format.Question}.
    """

    def __init__(self, page, asked: dict[tuple[str, str], Question]):
        self.page, self.book, self.asked = page, page.book, asked

    def overview(self, request: Request, session):
        """Every question of what was graded."""
        chosen = self.page._filter(request.query_params)
        lessons = list(dict.fromkeys(lesson for lesson, _ in self.asked))
        found = [
            one
            for lesson in lessons
            for one in answers.overview(self.book, lesson, chosen.section or None)
        ]
        return self.page._show(session, "questions.html", found=found, filter=chosen)

    def answers(self, request: Request, session):
        """The answers to one question, in a list."""
        place, chosen = self._place(request), self.page._filter(request.query_params)
        rows = self._rows(session, *place, chosen)
        if not rows:
            return self.page._missing(session, "No answer to such a question is graded.")
        lines = [(row, *self._called(session, row)) for row in rows]
        return self.page._show(
            session,
            "question.html",
            place=place,
            lines=lines,
            filter=chosen,
            judged=sum(bool(row.graded.judgement) for row in rows),
            written=sum(bool(row.graded.answer.sha256) for row in rows),
        )

    def answer(self, request: Request, session):
        """One answer."""
        sheet = self._sheet(request, session, self.page._filter(request.query_params))
        if not sheet:
            return self._missing(session)
        return self._show(session, sheet)

    def next(self, request: Request, session):
        """Go to the next answer that waits, behind one, or the first."""
        form, (lesson, question) = request.scope["form"], self._place(request)
        chosen, after = self.page._filter(form), form.get("after")
        rows = self._rows(session, lesson, question, chosen)
        at = (
            [self._handle(row) for row in rows].index(after) + 1
            if after in map(self._handle, rows)
            else 0
        )
        held = claims.claims(self.book, lesson)
        waiting = []
        for row in rows[at:] + rows[:at]:
            claim = held.get((row.student, lesson))
            others = claim and not claim.done and claim.who != session.who
            if row.graded.state == WAITING and not others:
                waiting.append(f"/question/{lesson}/{question}/{self._handle(row)}")
        if waiting:
            opened = self.page.sessions.opened_by_others(session)
            path = min(waiting, key=opened.__contains__)  # what another has open, only at the end
            return self.page._to(session, path, **chosen.query())
        words = "No answer waits here: all are judged, or others have the submissions."
        return self.page._to(session, f"/question/{lesson}/{question}", words, **chosen.query())

    def judge(self, request: Request, session):
        """Judge an answer, or take its judgement back."""
        form = request.scope["form"]
        chosen, (lesson, question) = self.page._filter(form), self._place(request)
        sheet = self._sheet(request, session, chosen)
        if not sheet:
            return self._missing(session)
        place = (self.book, sheet.row.student, lesson, question, session.who)
        try:
            seen = int(form.get("seen", ""))
            if form.get("lift"):
                answers.take_back(*place, seen=seen)
                said = f"{sheet.name}: to be judged again."
            else:
                items = [item for item in map(_item, form) if item is not None]
                points = form.get("points", "").strip().replace(",", ".") or "0"
                said = (items, points, form.get("comment", "").strip(), form.get("answer"), seen)
                graded = answers.judge(*place, *said)
                said = f"{sheet.name}: {graded.points} of {graded.max_points} points."
        except ValueError:
            return self._refused(request, session, form, "This form is damaged. Reload the page.")
        except TitoError as error:
            changes = error.changes if isinstance(error, ChangedMeanwhile) else []
            return self._refused(request, session, form, f"{error.what} {error.remedy}", changes)
        if form.get("then") == "next":
            session.said = [*session.said[-4:], said]
            form["after"] = sheet.handle
            return self.next(request, session)
        path = f"/question/{lesson}/{question}/{sheet.handle}"
        return self.page._to(session, path, said, **chosen.query())

    def _refused(self, request, session, form, problem, changes=()):
        """The page of an answer with what was typed, and why it was not done."""
        sheet = self._sheet(request, session, self.page._filter(form))
        if not sheet:  # merged into another learner's meanwhile, say
            return self._missing(session)
        sheet.typed, sheet.problem, sheet.changes = form, problem, list(changes)
        return self._show(session, sheet, 409)

    def rubric(self, request: Request, session):
        """Add, change or remove an item of a rubric, for all answers at once."""
        form, (lesson, question) = request.scope["form"], self._place(request)
        chosen = self.page._filter(form)
        place, words = (self.book, lesson, question), form.get("text", "").strip()
        points = form.get("points", "").strip().replace(",", ".")
        back = f"/question/{lesson}/{question}"
        if self.page.board.student(form.get("back", "")):
            back += f"/{form['back']}"
        try:
            if form.get("what") == "add":
                answers.add_item(*place, words, points, session.who)
                said = "The item is there for all answers."
            else:
                item, seen = int(form.get("item", "")), int(form.get("version", ""))
                at = (*place, item, session.who)
                if form.get("what") == "remove":
                    moved = answers.remove_item(*at, seen=seen)
                else:
                    moved = answers.change_item(*at, points, words, seen=seen)
                grades = f"{len(moved)} grade{'s' * (len(moved) != 1)}"
                said = f"The item is changed for all answers; {grades} changed with it."
        except ValueError:
            said = "Not done: this form is damaged. Reload the page."
        except TitoError as error:
            said = f"Not done: {error.what} {error.remedy}"
        return self.page._to(session, back, said, **chosen.query())

    # What these share

    @staticmethod
    def _place(request):
        return request.path_params["lesson"], request.path_params["question"]

    def _handle(self, row):
        return self.page.board.handle(row.student)

    def _called(self, session, row):
        """A learner's handle, and what they are called."""
        handle = self._handle(row)
        return handle, self.page._name(session, handle, row.student, row.name)

    def _rows(self, session, lesson, question, chosen):
        """The answers in the order in which one goes through them: one that tells no id, where
        names are hidden.
        """
        rows = answers.rows(self.book, lesson, question, chosen.section or None)
        return sorted(rows, key=self._handle) if session.anonymous else rows

    def _missing(self, session):
        return self.page._missing(session, "There is no such answer.")

    def _show(self, session, sheet, status=200):
        return self.page._show(
            session,
            "answer.html",
            status,
            sheet=sheet,
            letters=LETTERS,
            lines=LINES,
            told=submission_page.told,
        )

    def _sheet(self, request, session, chosen):
        """The Sheet of the answer that the address names, or None."""
        (lesson, question), handle = self._place(request), request.path_params["handle"]
        rows = self._rows(session, lesson, question, chosen)
        handles = [self._handle(row) for row in rows]
        if handle not in handles:  # of another section, say
            student = self.page.board.student(handle)
            found = [one for one in answers.rows(self.book, lesson, question)]
            found = [one for one in found if one.student == student]
            if not found:
                return None
            rows, handles = found, [handle]
        at = handles.index(handle)
        row = rows[at]
        learner = next(one for one in self.book.learners() if one.student == row.student)
        items = answers.rubric(self.book, lesson, question)
        used = {item.id: 0 for item in items}
        for one in rows:
            for item in one.graded.judgement.ids if one.graded.judgement else ():
                used[item] = used.get(item, 0) + 1  # also of one that is removed meanwhile
        return Sheet(
            lesson,
            question,
            self.asked.get((lesson, question)),
            row,
            *self.page._called(session, learner),
            items,
            used,
            chosen,
            sum(bool(one.graded.judgement) for one in rows),
            sum(bool(one.graded.answer.sha256) for one in rows),
            at + 1,
            len(rows),
            handles[at - 1] if at else None,
            handles[at + 1] if at + 1 < len(rows) else None,
        )


def _item(name):
    """The id of the item whose box a field of a form is, or None."""
    number = name.removeprefix("item-")
    return int(number) if number != name and number.isdecimal() and len(number) < 10 else None
