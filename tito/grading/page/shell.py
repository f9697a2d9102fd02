"""What the pages for graders share: the state of all requests, and how a page is shown."""

from collections.abc import Mapping
from functools import partial
from urllib.parse import quote, urlencode

from starlette.responses import HTMLResponse, RedirectResponse

from tito.errors import UsageError
from tito.grading.gradebook.grade import ClassMember
from tito.grading.gradebook.gradebook import Gradebook
from tito.grading.page import class_list
from tito.grading.page.access import GraderSession, Sessions
from tito.grading.page.class_list import ClassList, Filter, Openings
from tito.grading.page.submission_page import ShownLearner
from tito.grading.result import VERDICTS
from tito.html import render


class Shell:
    """The state that all requests share, and what each page needs.

    asks  whether the course has questions
    """

    def __init__(self, book: Gradebook, course: str, sessions: Sessions, asks: bool) -> None:
        self.book, self.course, self.sessions, self.asks = book, course, sessions, asks
        self.openings = Openings()
        self.class_list = ClassList(book)

    def show(
        self, session: GraderSession, template: str, status: int = 200, **values: object
    ) -> HTMLResponse:
        """A page; values: what its template needs besides what all need."""
        said, session.said = session.said, []
        page = render(
            f"page/{template}",
            course=self.course,
            session=session,
            url=partial(self.url, session),
            csrf=session.csrf,
            said=said,
            fixed=self.sessions.anonymous,
            verdicts=VERDICTS,
            alone=self.sessions.is_alone,
            asks=self.asks,
            sections=partial(self.sections_of, session),
            opener=self.openings.opener,
            **values,
        )
        return HTMLResponse(page, status)

    @staticmethod
    def url(session: GraderSession, path: str = "/", **query: str) -> str:
        """The address of a page for this grader."""
        words = urlencode({name: text for name, text in query.items() if text})
        return f"/{session.token}{quote(path)}{'?' * bool(words)}{words}"

    def to(
        self, session: GraderSession, path: str, words: str = "", **query: str
    ) -> RedirectResponse:
        """Go to a page, which shows these words."""
        if words:
            session.say(words)
        return RedirectResponse(self.url(session, path, **query), 303)

    def sections_of(self, session: GraderSession) -> list[str]:
        """The sections that a grader can choose from."""
        return sorted(filter(session.sees, session.sections or self.class_list.sections()))

    def filter_of(self, session: GraderSession, words: Mapping[str, str]) -> Filter:
        """The chosen filter. An assistant can choose among their own sections only."""
        chosen = {name: words.get(name, "") for name in Filter.__match_args__}
        if not session.is_instructor and chosen["section"] not in self.sections_of(session):
            chosen["section"] = ""
        if chosen["show"] not in Filter.SHOWS:
            chosen["show"] = ""
        return Filter(**chosen)

    def shown(self, session: GraderSession, learner: ClassMember) -> ShownLearner:
        """A learner as the pages of this grader show them."""
        handle = self.class_list.handle(learner.student)
        if session.anonymous:
            hide = class_list.mask(learner, handle)
            return ShownLearner(learner, handle, class_list.pseudonym(handle), hide)
        return ShownLearner(learner, handle, learner.name or learner.student, str)

    def missing(self, session: GraderSession, words: str, status: int = 404) -> HTMLResponse:
        error = UsageError(words, "Go back.")
        return self.show(session, "problem.html", status, title="Not found", error=error)
