"""The pages for graders, and the actions of their forms.

Each form of a submission contains the last entry of the history that its page showed. If another
grader has made a newer one, the grader sees it before anything is overwritten. A form that is sent
twice, because the response was lost, acts once.
"""

import contextlib
import socket
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from urllib.parse import quote

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from tito.errors import MachineError, TitoError, UsageError
from tito.grading.gradebook.changes import apply_changes, take_back_comment
from tito.grading.gradebook.grade import Comment
from tito.grading.gradebook.gradebook import Gradebook
from tito.grading.gradebook.history import ChangedMeanwhile
from tito.grading.gradebook.requested_changes import RequestedChange
from tito.grading.page import class_list, submission_page
from tito.grading.page.access import BACKLOG, Connection, GraderSession, Guard, Sessions
from tito.grading.page.class_list import Filter, SubmissionRow
from tito.grading.page.forms import is_done, number_in, points_in, reason_in
from tito.grading.page.questions import Questions
from tito.grading.page.shell import Shell
from tito.grading.page.submission_page import SubmissionView
from tito.grading.sheets import SheetMaker, shown
from tito.lesson.lesson_format import Question
from tito.safe_text import visible

HOST = "127.0.0.1"
NEEDING = 50  # submissions that need a person, on the first page
STATIC = {"page.css": "text/css", "page.js": "text/javascript"}

Answer = Callable[[Request, GraderSession], Response]


class GraderPage(Shell):
    """The application: a method for each page or form."""

    def __init__(
        self,
        book: Gradebook,
        course: str,
        sessions: Sessions,
        asked: dict[tuple[str, str], Question] | None = None,
        maker: SheetMaker | None = None,
    ) -> None:
        """asked: the course's questions, {(lesson, name): Question}; maker: of sheets."""
        super().__init__(book, course, sessions, asks=bool(asked))
        self.maker = maker
        self.questions = Questions(self, asked or {})

    def app(self) -> Guard:
        """The ASGI application."""

        def at(path: str, method: Answer, *methods: str) -> Route:
            return Route(path, self._answering(method), methods=methods or ["GET"])

        question = "/question/{lesson}/{question}"
        routes = [
            at("/", self.overview),
            at("/static/{name}", self.static),
            at("/anonymous", self.anonymous, "POST"),
            at("/end", self.end, "POST"),
            at("/lesson/{lesson}", self.lesson),
            at("/next", self.next, "POST"),
            at("/of/{handle}/{lesson}", self.submission),
            at("/of/{handle}/{lesson}/file", self.file),
            at("/of/{handle}/{lesson}/sheet", self.sheet),
            at("/of/{handle}/{lesson}/{action}", self.act, "POST"),
            at("/questions", self.questions.overview),
            at(question, self.questions.answers),
            at(f"{question}/next", self.questions.next, "POST"),
            at(f"{question}/{{handle}}", self.questions.answer),
            at(f"{question}/{{handle}}/judge", self.questions.judge, "POST"),
        ]
        lost = {404: self._lost, 405: self._lost}
        return Guard(Starlette(routes=routes, exception_handlers=lost), self.sessions)

    def _answering(self, method: Answer) -> Callable[[Request], Response]:
        def endpoint(request: Request) -> Response:  # not async: Starlette gives it a thread
            session: GraderSession = request.scope["session"]
            if request.method == "GET" and method != self.static:
                query = request.url.query
                session.here = quote(request.scope["path"]) + "?" * bool(query) + query
            try:
                return method(request, session)
            except TitoError as error:
                return self.show(session, "problem.html", 409, title="Not done", error=error)

        return endpoint

    def _rows(self, session: GraderSession, lesson: str | None = None) -> list[SubmissionRow]:
        """The rows that this grader may see."""
        rows = self.class_list.rows(lesson, session.anonymous)
        return [row for row in rows if session.sees(row.section)]

    def _name(self, session: GraderSession, row: SubmissionRow) -> str:
        """A pseudonym, or the name, with the id where several learners have this name."""
        if session.anonymous:
            return class_list.pseudonym(row.handle)
        same = row.name in self.class_list.namesakes
        return f"{row.name} ({row.student})" if same else row.name or row.student

    def _takes(self, session: GraderSession, chosen: Filter, row: SubmissionRow) -> bool:
        return chosen.takes(row, self.openings.opener(row), session.who)

    def _lost(self, request: Request, error: Exception) -> Response:
        """The answer to an address that leads nowhere, or that a form alone asks."""
        status = getattr(error, "status_code", 404)
        return self.missing(request.scope["session"], "There is no such page.", status)

    # Pages

    def static(self, request: Request, session: GraderSession) -> Response:
        name = request.path_params["name"]
        if name not in STATIC:
            return PlainTextResponse("There is no such file.\n", 404)
        text = (Path(__file__).parent / name).read_text(encoding="utf-8")
        return Response(text, media_type=STATIC[name])

    def end(self, request: Request, session: GraderSession) -> Response:
        """End the session."""
        session.has_ended = True
        words = f"The session of {session.who} has ended. This address is no longer valid."
        return PlainTextResponse(f"{visible(words)}\n")

    def anonymous(self, request: Request, session: GraderSession) -> Response:
        if not self.sessions.anonymous:
            session.anonymous = not session.anonymous
        return RedirectResponse(f"/{session.token}{session.here}", 303)

    def overview(self, request: Request, session: GraderSession) -> Response:
        chosen = self.filter_of(session, request.query_params)
        section = Filter(chosen.section)
        rows = [row for row in self._rows(session) if self._takes(session, section, row)]
        needing = [row for row in rows if row.needs]
        return self.show(
            session,
            "overview.html",
            lessons=class_list.summary(rows, self.openings),
            filter=chosen,
            needing=needing[:NEEDING],
            needs=len(needing),
            name=partial(self._name, session),
            learners=len({row.student for row in rows}),
        )

    def lesson(self, request: Request, session: GraderSession) -> Response:
        lesson = request.path_params["lesson"]
        chosen = self.filter_of(session, request.query_params)
        rows = self._rows(session, lesson)
        if not rows:
            return self.missing(session, f"Nothing of a lesson {lesson!r} is graded.")
        find = request.query_params.get("find", "").strip()

        def is_wanted(row: SubmissionRow) -> bool:
            names = [self._name(session, row), *([] if session.anonymous else [row.student])]
            return any(find.lower() in name.lower() for name in names)

        taken = [row for row in rows if self._takes(session, chosen, row) and is_wanted(row)]
        there = [row for row in rows if self._takes(session, Filter(chosen.section), row)]
        return self.show(
            session,
            "lesson.html",
            summary=class_list.summary(rows, self.openings)[0],
            rows=chosen.ordered(taken),
            filter=chosen,
            find=find,
            name=partial(self._name, session),
            exercises=class_list.exercise_counts(there),
            results=Counter(row.verdict for row in there),
            shows=Filter.SHOWS,
        )

    def next(self, request: Request, session: GraderSession) -> Response:
        """Give the grader the next submission of a list that needs a person; of a list of those
        that are not opened, the next of these.
        """
        form = request.scope["form"]
        lesson, chosen = form.get("lesson", ""), self.filter_of(session, form)
        if lesson and lesson not in self.book.lessons():
            return self.missing(session, f"Nothing of a lesson {lesson!r} is graded.")
        rows = chosen.ordered(self._rows(session, lesson or None))
        places = [(row.handle, row.lesson) for row in rows]
        after = (form.get("after", ""), lesson)
        at = places.index(after) + 1 if after in places else 0
        only = replace(chosen, show="unopened" if chosen.show == "unopened" else "needs")
        wanted = [row for row in rows[at:] + rows[:at] if self._takes(session, only, row)]
        row = self.openings.open_next(wanted, session.who)
        if row is None and only.show == "needs":  # all are opened, but not decided
            left = [row for row in wanted if (row.handle, row.lesson) != after]
            left.sort(key=lambda row: self.openings.opener(row) != session.who)
            row = next(iter(left), None)
        if row is None:
            words = "All of these submissions have been opened."
            if only.show == "needs":
                words = "Only this one still needs a person."
                if wanted:
                    path = f"/of/{wanted[0].handle}/{lesson}"
                    return self.to(session, path, words, **chosen.query())
                words = "Nothing in this list needs a person any more."
            return self.to(session, f"/lesson/{lesson}" if lesson else "/", words, **chosen.query())
        path = f"/of/{row.handle}/{row.lesson}"
        if row.needs == (class_list.TO_JUDGE,):
            path = f"/question/{row.lesson}/{row.to_judge}/{row.handle}"
        return self.to(session, path, **chosen.query())

    # A submission

    def _view(
        self, session: GraderSession, request: Request, chosen: Filter
    ) -> SubmissionView | None:
        """The view that the address names, or None."""
        student = self.class_list.student(request.path_params["handle"])
        learner = next(
            (member for member in self.book.learners() if member.student == student), None
        )
        # It may have been merged into another just now.
        if learner is None or not session.sees(learner.section):
            return None
        shown, lesson = self.shown(session, learner), request.path_params["lesson"]
        others = {row.student for row in self._rows(session, lesson)}
        return submission_page.view_of(self.book, shown, lesson, chosen, others)

    def submission(self, request: Request, session: GraderSession) -> Response:
        view = self._view(session, request, self.filter_of(session, request.query_params))
        if not view:
            return self.missing(session, "There is no such submission.")
        at = request.query_params.get("at") or view.filter.exercise
        view.typed = {"about": at} if at else {}
        return self._show_view(session, view)

    def _show_view(
        self, session: GraderSession, view: SubmissionView, status: int = 200
    ) -> Response:
        rows = view.filter.ordered(self._rows(session, view.grade.lesson))
        around = [
            row
            for row in rows
            if self._takes(session, view.filter, row) or row.handle == view.shown.handle
        ]
        here = next(number for number, row in enumerate(around) if row.handle == view.shown.handle)
        row, opener = around[here], self.openings.opener(around[here])
        self.openings.open(row, session.who)
        return self.show(
            session,
            "submission.html",
            status,
            view=view,
            exercises=submission_page.exercises_of(view),
            answers=submission_page.answers_of(view),
            row=row,
            needs=sum(bool(row.needs) for row in around),
            to_judge=class_list.TO_JUDGE,
            in_words=submission_page.in_words,
            opened_by=opener if opener != session.who else "",
            here=here + 1,
            of=len(around),
            before=around[here - 1] if here else None,
            after=around[here + 1] if here + 1 < len(around) else None,
        )

    def file(self, request: Request, session: GraderSession) -> Response:
        """The whole file."""
        view = self._view(session, request, self.filter_of(session, request.query_params))
        if not view:
            return self.missing(session, "There is no such submission.")
        return self.show(session, "file.html", view=view, lines=submission_page.lines_of(view))

    def sheet(self, request: Request, session: GraderSession) -> Response:
        """Questions on the learner's own code, and the answers. They are made now."""
        view = self._view(session, request, self.filter_of(session, request.query_params))
        if not (view and self.maker):
            return self.missing(session, "There is no such submission.")
        sheet = self.maker.sheet(view.shown.learner.student, view.grade.lesson)
        return self.show(session, "sheet.html", view=view, **shown(sheet, view.shown.hide))

    def act(self, request: Request, session: GraderSession) -> Response:
        """Do what a form of a submission asks for."""
        form, action = request.scope["form"], request.path_params["action"]
        chosen = self.filter_of(session, form)
        view, work = self._view(session, request, chosen), ACTIONS.get(action)
        if not view or not work:
            return self.missing(session, "There is no such submission.")
        try:
            words = work(self, view, form, session.who)
        except ChangedMeanwhile as error:
            if not is_done(error.changes, action, form, session.who):
                view.typed, view.others, view.problem = form, error.changes, error.what
                return self._show_view(session, view, 409)
            words = "That was written already."
        except TitoError as error:
            view.typed, view.problem = form, f"{error.what} {error.remedy}"
            return self._show_view(session, view, 409)
        if form.get("then") == "next":
            session.say(f"{view.shown.name}: {words}")
            form |= {"lesson": view.grade.lesson, "after": view.shown.handle}
            return self.next(request, session)
        path = f"/of/{view.shown.handle}/{view.grade.lesson}"
        return self.to(session, path, words, at=form.get("about", ""), **chosen.query())

    # The work of a form: a method of the view, the form and the grader; it returns what to say.

    def judge(self, view: SubmissionView, form: dict[str, str], who: str) -> str:
        """Set points, write a comment on an exercise or on the lesson, or both."""
        check, text, changes = form.get("check", ""), form.get("text", "").strip(), []
        result = view.grade.result
        known = {one.id for one in result.checks} | {one.question for one in result.answers}
        if check and check not in known:
            raise UsageError(f"This lesson has no check {check}.", "Choose one of the list.")
        if form.get("points", "").strip():
            changes.append(override_of(view, form, points_in(form)))
        if text:
            place = (view.grade.student, view.grade.lesson)
            exercise = form.get("about") or None
            changes.append(RequestedChange("comment", *place, check=exercise, text=text))
        if not changes:
            raise UsageError("There are no points and no comment.", "Write one of the two.")
        done = apply_changes(self.book, changes, who, seen=number_in(form, "seen"))
        words = [f"Written: {one.old} -> {one.new} points." for one in done if one.old != one.new]
        words += ["Comment kept; the learner reads it."] * bool(text)
        return " ".join(words or ["That holds already."])

    def lift_points(self, view: SubmissionView, form: dict[str, str], who: str) -> str:
        (done,) = apply_changes(
            self.book, [override_of(view, form, None)], who, seen=number_in(form, "seen")
        )
        return f"Taken back: {done.old} -> {done.new} points."

    def uncomment(self, view: SubmissionView, form: dict[str, str], who: str) -> str:
        known = [
            comment
            for comment in view.grade.comments
            if comment_key(comment) == form.get("comment")
        ]
        if not known:
            return "That comment is taken back already."
        place = (view.grade.student, view.grade.lesson)
        take_back_comment(self.book, *place, known[0], who, number_in(form, "seen"))
        return "Comment taken back."


Action = Callable[[GraderPage, SubmissionView, dict[str, str], str], str]
ACTIONS: dict[str, Action] = {  # {the last word of a form's address: what it does}
    "judge": GraderPage.judge,
    "lift": GraderPage.lift_points,
    "uncomment": GraderPage.uncomment,
}


def override_of(
    view: SubmissionView, form: Mapping[str, str], points: Decimal | None
) -> RequestedChange:
    place, check = (view.grade.student, view.grade.lesson), form.get("check") or None
    return RequestedChange("override", *place, reason_in(form), check=check, points=points)


def comment_key(comment: Comment) -> str:
    return f"{comment.when.isoformat()} {comment.who}"


def serve(
    page: GraderPage,
    port: int = 0,
    on_ready: Callable[[list[tuple[str, str]]], None] = lambda addresses: None,
) -> None:
    """Serve the page until the process gets a signal to stop.

    port  0: any free one
    on_ready  called with [(name of a grader, their address)] when the page can be opened

    Raises MachineError when the port is taken.
    """
    with contextlib.closing(socket.socket()) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
        except OSError as error:
            raise MachineError(
                f"Port {port} of this machine cannot be used: {error.strerror}.",
                "Name another one with --port, or none: then a free one is taken.",
            ) from None
        listening.listen(BACKLOG)
        own = listening.getsockname()[1]
        base = f"http://{HOST}:{own}"
        on_ready([(one.who, f"{base}/{one.token}/") for one in page.sessions.all])
        config = uvicorn.Config(
            page.app(),
            http=Connection,
            ws="none",
            backlog=BACKLOG,
            log_level="error",  # anyone on this machine can cause warnings
            access_log=False,
            server_header=False,
            lifespan="off",
        )
        uvicorn.Server(config).run([listening])
