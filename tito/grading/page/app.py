"""The pages for graders, and what their forms do.

Every form of a submission carries what its page had seen of the history: who would overwrite what
they do not know is shown it instead. A form that is sent twice, since the answer was lost, does
its work once.
"""

import contextlib
import socket
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from urllib.parse import quote, urlencode

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from tito.errors import MachineError, TitoError, UsageError
from tito.grading.gradebook import appeals, claims, html_pages, overrides
from tito.grading.gradebook.claims import Place
from tito.grading.gradebook.grade import Comment
from tito.grading.gradebook.gradebook import Gradebook
from tito.grading.gradebook.history import ChangedMeanwhile
from tito.grading.gradebook.tables import clean
from tito.grading.page import class_list, submission_page
from tito.grading.page.access import Guard, Session, Sessions
from tito.grading.page.class_list import Board, Filter
from tito.grading.page.items import Items
from tito.grading.page.questions import Questions
from tito.grading.page.trials import Trials
from tito.grading.result import VERDICTS
from tito.lesson.course import Entry
from tito.lesson.lesson_format import Question

HOST = "127.0.0.1"
NEEDING = 50  # submissions that need a person, on the first page
LONGEST_NAME = 60  # characters of a grader's
STATIC = {"page.css": "text/css", "page.js": "text/javascript"}


class Page:
    """The application: what all requests share, and a method for each page or form."""

    def __init__(
        self,
        book: Gradebook,
        course: str,
        sessions: Sessions,
        trials: Trials,
        asked: dict[tuple[str, str], Question] | None = None,
        entries: Iterable[Entry] = (),
    ):
        self.book, self.course, self.sessions, self.trials = book, course, sessions, trials
        self.board = Board(book)
        self.questions = Questions(self, asked or {})
        self.items = Items(self, entries)

    def app(self) -> Guard:
        """The ASGI application."""

        def at(path, method, *methods):
            return Route(path, self._answering(method), methods=methods or ["GET"])

        routes = [
            at("/", self.overview),
            at("/static/{name}", self.static),
            at("/who", self.who, "GET", "POST"),
            at("/anonymous", self.anonymous, "POST"),
            at("/lesson/{lesson}", self.lesson),
            at("/next", self.next, "POST"),
            at("/take", self.take_all, "POST"),
            at("/of/{handle}/{lesson}", self.submission),
            at("/of/{handle}/{lesson}/file", self.file),
            at("/of/{handle}/{lesson}/{action}", self.act, "POST"),
            at("/appeals", self.appeals),
            at("/appeals/{number:int}", self.answer, "POST"),
            at("/regrade", self.regrade, "GET", "POST"),
            at("/items", self.items.overview),
            at("/items/{lesson}", self.items.lesson),
            at("/questions", self.questions.overview),
            at("/question/{lesson}/{question}", self.questions.answers),
            at("/question/{lesson}/{question}/next", self.questions.next, "POST"),
            at("/question/{lesson}/{question}/rubric", self.questions.rubric, "POST"),
            at("/question/{lesson}/{question}/{handle}", self.questions.answer),
            at("/question/{lesson}/{question}/{handle}/judge", self.questions.judge, "POST"),
        ]
        lost = {404: self._lost, 405: self._lost}
        return Guard(Starlette(routes=routes, exception_handlers=lost), self.sessions)

    def _answering(self, method: Callable) -> Callable:
        def endpoint(request: Request) -> Response:  # not async: Starlette gives it a thread
            session: Session = request.scope["session"]
            if not session.who and method not in (self.who, self.static):
                return self._to(session, "/who")
            if request.method == "GET" and method != self.static:
                query = request.url.query
                session.here = quote(request.scope["path"]) + "?" * bool(query) + query
            try:
                return method(request, session)
            except TitoError as error:
                return self._show(session, "problem.html", 409, title="Not done", error=error)

        return endpoint

    # What pages share

    def _show(self, session: Session, template: str, status: int = 200, **values) -> HTMLResponse:
        said, session.said = session.said, []
        page = html_pages.render(
            f"page/{template}",
            course=self.course,
            session=session,
            url=partial(self._url, session),
            csrf=session.csrf,
            said=said,
            fixed=self.sessions.anonymous,
            verdicts=VERDICTS,
            shows=Filter.SHOWS,
            asks=bool(self.questions.asked),
            sections=self.board.sections,
            **values,
        )
        return HTMLResponse(page, status)

    @staticmethod
    def _url(session: Session, path: str = "/", **query: str) -> str:
        """The address of a page for this grader."""
        asked = urlencode({name: text for name, text in query.items() if text})
        return f"/{session.token}{quote(path)}{'?' * bool(asked)}{asked}"

    def _to(self, session: Session, path: str, said: str = "", **query: str) -> RedirectResponse:
        if said:
            session.said = [*session.said[-4:], said]
        return RedirectResponse(self._url(session, path, **query), 303)

    @staticmethod
    def _filter(words) -> Filter:
        show = words.get("show", "")
        return Filter(words.get("section", ""), show if show in Filter.SHOWS else "")

    def _name(self, session: Session, handle: str, student: str, name: str) -> str:
        """What a learner is called on the pages of this grader."""
        return class_list.pseudonym(handle) if session.anonymous else name or student

    def _called(self, session: Session, learner) -> tuple[str, str, Callable[[str], str]]:
        """A learner's handle, what they are called, and what hides them in a text: see View."""
        handle = self.board.handle(learner.student)
        hide = class_list.mask(learner, handle) if session.anonymous else str
        return handle, self._name(session, handle, learner.student, learner.name), hide

    def _lines(self, session: Session, lesson: str | None = None) -> list[class_list.Line]:
        return self.board.lines(session.who, lesson, session.anonymous)

    # Pages

    def static(self, request, session):
        name = request.path_params["name"]
        if name not in STATIC:
            return PlainTextResponse("There is no such file.\n", 404)
        text = (Path(__file__).parent / name).read_text(encoding="utf-8")
        return Response(text, media_type=STATIC[name])

    def who(self, request, session):
        """A form that asks who one is; each name has an address of its own."""
        if request.method == "GET":
            return self._show(session, "who.html")
        name = " ".join(clean(request.scope["form"].get("name", "")).split())
        if not 0 < len(name) <= LONGEST_NAME:
            raise UsageError(
                f"A name has 1 to {LONGEST_NAME} characters, this one {len(name)}.",
                "It is kept with all that you write.",
            )
        return self._to(self.sessions.named(name), "/")

    def anonymous(self, request, session):
        if not self.sessions.anonymous:
            session.anonymous = not session.anonymous
        return RedirectResponse(f"/{session.token}{session.here}", 303)

    def overview(self, request, session):
        chosen = self._filter(request.query_params)
        lines = self._lines(session)
        mine = [line for line in lines if chosen.section in ("", line.row.section)]
        needing = [line for line in mine if line.needs]
        return self._show(
            session,
            "overview.html",
            lessons=class_list.summary(mine),
            filter=chosen,
            needing=needing[:NEEDING],
            more=len(needing) - NEEDING,
            name=partial(self._named, session),
            learners=len({line.row.student for line in mine}),
        )

    def _named(self, session, row):
        return self._name(session, row.handle, row.student, row.name)

    def lesson(self, request, session):
        lesson, chosen = request.path_params["lesson"], self._filter(request.query_params)
        lines = self._lines(session, lesson)
        if not lines:
            return self._missing(session, f"Nothing of a lesson {lesson!r} is graded.")
        wanted = request.query_params.get("find", "").strip()
        shown = self._chosen(session, lines, chosen, wanted)
        return self._show(
            session,
            "lesson.html",
            summary=class_list.summary(lines)[0],
            lines=shown,
            filter=chosen,
            find=wanted,
            name=partial(self._named, session),
            of=len(lines),
        )

    def _chosen(self, session, lines, chosen, wanted):
        """Of these Lines those that a list shows. wanted: a part of a name or id, or ""."""

        def is_wanted(row):
            names = [self._named(session, row), *([] if session.anonymous else [row.student])]
            return any(wanted.lower() in name.lower() for name in names)

        return [line for line in lines if chosen.takes(line, session.who) and is_wanted(line.row)]

    def _lost(self, request, error):
        """What is said of an address that leads nowhere, or that a form alone asks."""
        return self._missing(request.scope["session"], "There is no such page.", error.status_code)

    def _missing(self, session, words, status=404):
        error = UsageError(words, "Go back.")
        return self._show(session, "problem.html", status, title="Not found", error=error)

    def next(self, request, session):
        """Give the grader the next submission that nobody has and nobody has looked at."""
        form = request.scope["form"]
        lesson, chosen = form.get("lesson", ""), self._filter(form)
        lines = self._lines(session, lesson or None)
        after = next(
            (
                number
                for number, line in enumerate(lines, 1)
                if (line.row.handle, line.row.lesson) == (form.get("after"), lesson)
            ),
            0,
        )
        lines = lines[after:] + lines[:after]
        only = Filter(chosen.section, "" if chosen.show == "open" else chosen.show)
        places = [line.row.place for line in lines if only.takes(line, session.who)]
        place = claims.take_next(self.book, places, session.who)
        if place is None:
            words = "Nothing is left to look at here: all is done, or others have it."
            return self._to(
                session, f"/lesson/{lesson}" if lesson else "/", words, **chosen.query()
            )
        handle = self.board.handle(place.student)
        return self._to(session, f"/of/{handle}/{place.lesson}", **chosen.query())

    def take_all(self, request, session):
        """Give the grader all of a list that nobody has: "ta1 has section A"."""
        form = request.scope["form"]
        lesson, chosen = form.get("lesson", ""), self._filter(form)
        lines = self._lines(session, lesson)
        shown = self._chosen(session, lines, chosen, form.get("find", "").strip())
        places = [line.row.place for line in shown]
        count = claims.take_all(self.book, places, session.who)
        words = f"{count} submissions are yours now." if count else "Nothing of these is free."
        return self._to(session, f"/lesson/{lesson}", words, **chosen.query())

    # A submission

    def _view(self, session, request, chosen):
        """The View that the address names, or None."""
        handle, lesson = (request.path_params[name] for name in ("handle", "lesson"))
        student = self.board.student(handle)
        learner = next((one for one in self.book.learners() if one.student == student), None)
        if learner is None:  # or merged into another just now
            return None
        return submission_page.view_of(
            self.book, student, lesson, *self._called(session, learner), chosen
        )

    def submission(self, request, session):
        view = self._view(session, request, self._filter(request.query_params))
        if not view:
            return self._missing(session, "There is no such submission.")
        view.typed = {"check": request.query_params.get("check", "")}
        return self._show_view(session, view)

    def _show_view(self, session, view, status=200):
        lines = self._lines(session, view.grade.lesson)
        around = [
            line.row
            for line in lines
            if view.filter.takes(line, session.who) or line.row.handle == view.handle
        ]
        here = next(n for n, row in enumerate(around) if row.handle == view.handle)
        needs = next(line.needs for line in lines if line.row.handle == view.handle)
        return self._show(
            session,
            "submission.html",
            status,
            view=view,
            parts=submission_page.parts_of(view),
            needs=[(words, submission_page.PLACES.get(words)) for words in needs],
            told=submission_page.told,
            here=here + 1,
            of=len(around),
            before=around[here - 1] if here else None,
            after=around[here + 1] if here + 1 < len(around) else None,
        )

    def file(self, request, session):
        """The whole file."""
        view = self._view(session, request, self._filter(request.query_params))
        if not view:
            return self._missing(session, "There is no such submission.")
        return self._show(session, "file.html", view=view, cells=submission_page.cells_of(view))

    def act(self, request, session):
        """Do what a form of a submission asks for."""
        form, action = request.scope["form"], request.path_params["action"]
        chosen = self._filter(form)
        view = self._view(session, request, chosen)
        work = ACTIONS.get(action)
        if not view or not work:
            return self._missing(session, "There is no such submission.")
        here = f"/of/{view.handle}/{view.grade.lesson}"
        try:
            said = work(self, view, form, session.who)
        except ChangedMeanwhile as error:
            if not is_done(error.changes, action, form, session.who):
                view.typed, view.others, view.problem = form, error.changes, error.what
                return self._show_view(session, view, 409)
            said = "That was written already."
        except TitoError as error:
            view.typed, view.problem = form, f"{error.what} {error.remedy}"
            return self._show_view(session, view, 409)
        if form.get("then") == "next":
            following = {"lesson": view.grade.lesson, "after": view.handle} | chosen.query()
            request.scope["form"] = following
            session.said = [*session.said[-4:], said]
            return self.next(request, session)
        return self._to(session, here, said, **chosen.query())

    # The work of a form: a method of the View, the form and the grader; it returns what to say.

    def set_points(self, view, form, who):
        check, points = form.get("check") or None, form.get("points", "").strip()
        if not points:
            raise UsageError("There are no points.", "Write a number such as 7 or 7.5.")
        ids = {check.id for check in view.grade.result.checks}
        if check and check not in ids:
            raise UsageError(f"This lesson has no check {check}.", "Choose one of the list.")
        before, after = overrides.override(
            self.book,
            view.grade.student,
            view.grade.lesson,
            points,
            who,
            form.get("why", ""),
            check,
            seen(form),
        )
        return f"Points set: {before} -> {after} before the late rules."

    def lift_points(self, view, form, who):
        place, check = (view.grade.student, view.grade.lesson), form.get("check") or None
        before, after = overrides.override(
            self.book, *place, None, who, form.get("why", ""), check, seen(form)
        )
        return f"Taken back: {before} -> {after} points before the late rules."

    def comment(self, view, form, who):
        place = (view.grade.student, view.grade.lesson)
        text = form.get("again") or form.get("text", "").strip()
        overrides.comment(self.book, *place, text, who, seen(form))
        return "Comment kept; the learner reads it."

    def uncomment(self, view, form, who):
        known = [one for one in view.grade.comments if _comment_key(one) == form.get("comment")]
        if not known:
            return "That comment is taken back already."
        place = (view.grade.student, view.grade.lesson)
        overrides.comment(self.book, *place, None, who, seen(form), only=known[0])
        return "Comment taken back."

    def take(self, view, form, who):
        instead = form.get("instead_of") or None
        claims.take(self.book, view.grade.student, view.grade.lesson, who, instead)
        return "It is yours now."

    def give_back(self, view, form, who):
        claims.give_back(self.book, view.grade.student, view.grade.lesson, who)
        return "Given back: others may take it."

    def finish(self, view, form, who):
        # Of the file that was shown: if another one came meanwhile, that is to be looked at, too.
        place = Place(view.grade.student, view.grade.lesson, form.get("file", ""))
        claim = claims.finish(self.book, place, who)
        if claim.who != clean(who):
            return f"{view.name}: {claim.who} had looked at it already."
        return f"{view.name}: done."

    def ask(self, view, form, who):
        appeals.ask(self.book, view.grade.student, view.grade.lesson, form.get("asked", ""), who)
        return "The appeal is kept; it waits for an answer."

    # Appeals

    def appeals(self, request, session):
        state = request.query_params.get("state", "open")
        state = state if state in (*appeals.STATES, "all") else "open"
        return self._show(session, "appeals.html", **self._appeals(session, state))

    def _appeals(self, session, state, typed=None, problem=""):
        found = []
        names = {one.student: one for one in self.book.learners()}
        for one in appeals.appeals(self.book, state=None if state == "all" else state):
            found.append((one, *self._called(session, names[one.student])))
        return {
            "all": found,
            "state": state,
            "states": ("open", "granted", "declined", "all"),
            "typed": typed or {},
            "problem": problem,
        }

    def answer(self, request, session):
        """Answer an appeal, on the list or on the submission's page."""
        form, number = request.scope["form"], request.path_params["number"]
        try:
            done = appeals.answer(
                self.book, number, form.get("state", ""), form.get("answer", ""), session.who
            )
        except TitoError as error:
            values = self._appeals(
                session, "all", form | {"id": str(number)}, f"{error.what} {error.remedy}"
            )
            return self._show(session, "appeals.html", 409, **values)
        words = f"The appeal is {done.state}. Points change only where somebody sets them."
        if form.get("back") == "submission":
            handle = self.board.handle(done.student)
            return self._to(session, f"/of/{handle}/{done.lesson}", words)
        return self._to(session, "/appeals", words)

    # Grading again

    def regrade(self, request, session):
        lessons = self.book.lessons()
        if request.method == "POST":
            form = request.scope["form"]
            if "stop" in form:
                self.trials.stop(session.who)
                return self._to(session, "/regrade")
            lesson, why = form.get("lesson", ""), form.get("why")
            if lesson not in lessons:
                raise UsageError(f"There is no lesson {lesson!r}.", "Choose one of the list.")
            if why is not None and not why.strip():
                raise UsageError("There is no reason.", "Say why it is graded again.")
            self.trials.start(lesson, form.get("check", "").strip(), session.who, why)
            return self._to(session, "/regrade")
        trial = self.trials.last
        if trial:
            trial.look()
        names, differences, problem = {}, [], ""
        if trial and (trial.differences or trial.problem):
            names = {one.student: self._called(session, one) for one in self.book.learners()}
            differences, problem = trial.differences, trial.problem
        if session.anonymous:
            differences = sorted(differences, key=lambda one: names.get(one["student"], ("",))[0])
            for _, _, hide in names.values() if problem else ():
                problem = hide(problem)
        return self._show(
            session,
            "regrade.html",
            trial=trial,
            differences=differences,
            problem=problem,
            lessons=lessons,
            names=names,
            submissions=self.trials.submissions,
        )


# {the last word of a form's address: what it does}
ACTIONS = {
    "points": Page.set_points,
    "lift": Page.lift_points,
    "comment": Page.comment,
    "uncomment": Page.uncomment,
    "take": Page.take,
    "give-back": Page.give_back,
    "done": Page.finish,
    "appeal": Page.ask,
}


def seen(form: dict[str, str]) -> int:
    """What the page of this form had seen of the history. Raises TitoError without that."""
    try:
        return int(form.get("seen", ""))
    except ValueError:
        raise UsageError("This form is damaged.", "Reload the page, then try again.") from None


def is_done(changes, action, form, who) -> bool:
    """Whether what the form asks for was written since it was made: it was sent twice, since the
    answer to the first was lost. Points that somebody has set anew since then are not.
    """
    mine = [change for change in changes if change.who == clean(who)]
    if action == "comment":
        text = clean(form.get("again") or form.get("text", "").strip())
        return any(change.kind == "comment" and change.text == text for change in mine)
    if action not in ("points", "lift"):
        return False
    check = form.get("check", "")
    last = [one for one in changes if one.kind == "override" and (one.check or "") == check][-1:]
    points = form.get("points", "").strip() if action == "points" else None
    return any(
        change in mine
        and change.why == clean(form.get("why", ""))
        and (None if change.points is None else str(change.points)) == points
        for change in last
    )


def _comment_key(comment: Comment) -> str:
    return f"{comment.when.isoformat()} {comment.who}"


def serve(
    book: Gradebook,
    course: str,
    trials: Trials,
    who: list[str],
    port: int = 0,
    anonymous: bool = False,
    asked: dict[tuple[str, str], Question] | None = None,
    entries: Iterable[Entry] = (),
    told: Callable[[list[tuple[str, str]]], None] = lambda addresses: None,
) -> None:
    """Serve the page until the process is told to stop.

    who   names of graders, each of whom gets an address; without any, one where one says one's name
    port  0: any that is free
    asked {(lesson, name): lesson_format.Question} of the course; entries: its lessons
    told  called with [(name or "", address)] when the page can be opened

    Raises MachineError when the port is taken.
    """
    sessions = Sessions(anonymous)
    made = [sessions.new(name) for name in who or [""]]
    app = Page(book, course, sessions, trials, asked, entries).app()
    with contextlib.closing(socket.socket()) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
        except OSError as error:
            raise MachineError(
                f"Port {port} of this machine cannot be used: {error.strerror}.",
                "Name another one with --port, or none: then a free one is taken.",
            ) from None
        listening.listen(64)
        own = listening.getsockname()[1]
        told([(session.who, f"http://{HOST}:{own}/{session.token}/") for session in made])
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, lifespan="off"
        )
        try:
            uvicorn.Server(config).run([listening])
        finally:
            trials.close()
