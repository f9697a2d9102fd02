"""Access control for the page, and the headers of every response.

Each grader has an address with a token, which is made when the page starts. It says who they are
and what they may do, so no cookie is needed. A page of another site can neither guess the token
nor send a form here, and a name of another site that points to this machine is refused.
"""

import asyncio
import hmac
import ipaddress
import re
import secrets
import time
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, unquote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

from tito.grading.roster import in_section

LONGEST_NAME = 100  # characters of a grader's name
# Pairs of a letter (Cyrillic, Greek, Armenian, ...) or digit, and the Latin letter it looks like
PAIRS = (
    "аaсcԁdеeһhіiјjӏlоoрpԛqѕsԝwхxуyѵvгrпnтtкkмmвbнh"
    "αaγyεeηnιiκkνvοoρpτtυuχxωwϲcϳjոnսuցgհhօo1l|l0oıiɑaɡg"
)
ALIKE = str.maketrans(PAIRS[::2], PAIRS[1::2])
SCRIPTS = {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC"}  # with letters as in others
UNSEEN = re.compile("FILLER|SELECTOR|JOINER|INHERENT")  # in the names of letters and marks
IDLE_SECONDS = 8 * 3600  # after which an unused address ends
MOST_CONNECTIONS = 50  # that wait for a request
BACKLOG = 32  # connections that are accepted before the page looks at any of them
NO_TOKEN = (
    "This address is not valid, or its session has ended. The addresses are printed when the page "
    "is started: tito gradebook page"
)
BODY = 100_000  # bytes of a form
FORM = b"application/x-www-form-urlencoded"
# `data:` in img-src: an empty icon, for which no browser then asks.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


@dataclass
class GraderSession:
    """A grader at the page.

    who        their name, kept with everything they write
    sections   of an assistant, who sees and grades these only; None for an instructor
    anonymous  whether learners' names are hidden from this grader
    token      of their address; csrf: what their forms hold
    said       sentences to show on the next page
    here       the page they opened last: its path and query
    used       the time of their last request
    has_ended  whether their address is no longer valid; never taken back
    """

    who: str
    sections: tuple[str, ...] | None = None
    anonymous: bool = False
    token: str = field(default_factory=partial(secrets.token_urlsafe, 24))
    csrf: str = field(default_factory=partial(secrets.token_urlsafe, 24))
    said: list[str] = field(default_factory=list)
    here: str = "/"
    used: float = field(default_factory=time.time)
    has_ended: bool = False

    @property
    def is_instructor(self) -> bool:
        return self.sections is None

    def sees(self, section: str) -> bool:
        """Whether this grader sees and grades the learners of a section of the roster."""
        return self.sections is None or in_section({"section": section}, self.sections)

    def say(self, words: str) -> None:
        """Show a sentence on the next page."""
        self.said = [*self.said[-4:], words]


def shape(name: str) -> str:
    """What a reader sees of a name: the same for names that look alike."""
    letters = unicodedata.normalize("NFKD", name.replace("I", "l"))
    bare = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return bare.casefold().translate(ALIKE).replace("rn", "m")


def can_be_read(name: str) -> bool:
    """Whether all of a name can be seen, and each word is written in one script."""
    for word in name.split(" "):
        scripts = set()
        for letter in unicodedata.normalize("NFD", word):
            named, kind = unicodedata.name(letter, "FILLER"), unicodedata.category(letter)[0]
            if UNSEEN.search(named) or not (letter.isascii() or kind in "LMN"):
                return False
            scripts |= {named.partition(" ")[0]} if kind == "L" else set()
        if scripts & SCRIPTS and len(scripts) > 1:
            return False
    return name.isprintable() and len(name) <= LONGEST_NAME


class Sessions:
    """A session for each grader. anonymous: whether names are hidden for all, for good."""

    def __init__(self, anonymous: bool = False) -> None:
        self.anonymous = anonymous
        self.all: list[GraderSession] = []

    def new(self, who: str, sections: Sequence[str] | None = None) -> GraderSession:
        own = None if sections is None else tuple(sections)
        session = GraderSession(who, own, self.anonymous)
        self.all.append(session)
        return session

    @property
    def is_alone(self) -> bool:
        return len(self.all) == 1

    def find(self, token: str) -> GraderSession | None:
        """The session of a token, unless it has ended."""
        for session in self.all:
            if is_same(session.token, token):
                session.has_ended |= time.time() - session.used > IDLE_SECONDS
                session.used = time.time()
                return None if session.has_ended else session
        return None

    def opened_by_others(self, session: GraderSession) -> set[str]:
        """The paths of the pages that other graders opened last."""
        return {unquote(other.here.partition("?")[0]) for other in self.all if other is not session}


class Guard:
    """An ASGI middleware that passes on only requests with a token, from this machine.

    The inner application finds the GraderSession in `scope["session"]`, the form of a POST in
    `scope["form"]` ({name: text}), and no token in its path; `root_path` is the token's.
    """

    def __init__(self, app: Any, sessions: Sessions) -> None:
        self.app, self.sessions = app, sessions

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)

        async def answer(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = message | {"headers": [*message.get("headers", ()), *RAW_HEADERS]}
            await send(message)

        refused = refusal(request)
        token, _, path = scope["path"].removeprefix("/").partition("/")
        session = None if refused else self.sessions.find(token)
        form: dict[str, str] | None = {}
        if not refused and not session:
            refused = 403, NO_TOKEN
        if not refused and request.method == "POST":
            form = await read_form(request)
            if form is None:
                refused = 413, "This form is too long."
            elif session and not is_same(session.csrf, form.get("csrf", "")):
                refused = 403, "This form is not from this page. Reload the page, then try again."
        if refused:
            # The close: a client that asks on and on and reads no answer would never wait for one.
            close = {"Connection": "close"}
            await PlainTextResponse(f"{refused[1]}\n", refused[0], close)(scope, receive, answer)
            return
        inner = {"session": session, "form": form, "path": f"/{path}", "root_path": ""}
        await self.app(scope | inner, receive, answer)


class Connection(H11Protocol):
    """A connection to the page. When too many wait for a request, the oldest of them is closed, so
    that idle connections cannot keep graders out.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.began = self.loop.time()
        waiting = [
            other
            for other in self.connections
            if isinstance(other, Connection) and other is not self and other.is_waiting
        ]
        if len(waiting) > MOST_CONNECTIONS:
            min(waiting, key=lambda other: other.began).transport.abort()

    @property
    def is_waiting(self) -> bool:
        """Whether it is open and has no request to answer."""
        is_busy = self.cycle is not None and not self.cycle.response_complete
        return not (is_busy or self.transport.is_closing())


def refusal(request: Request) -> tuple[int, str] | None:
    """(status, why) of a request that is refused with any token, or None."""
    if request.method not in ("GET", "HEAD", "POST"):
        return 405, "This page takes GET and POST."
    hosts = request.headers.getlist("host")
    if len(hosts) != 1 or not is_loopback(hosts[0]):
        return 403, "This page answers to 127.0.0.1 and localhost only."
    if request.method == "POST":
        # With `Referrer-Policy: no-referrer` a browser sends "null" as the origin of our forms.
        origin = request.headers.get("origin", "null")
        if origin != "null" and origin.partition("://")[2] != hosts[0]:
            return 403, "This form comes from another site."
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "This form comes from another site."
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind.encode() != FORM:
            return 415, "This page takes forms only."
    return None


def is_same(secret: str, text: str) -> bool:
    return hmac.compare_digest(secret.encode(), text.encode("utf-8", "backslashreplace"))


def is_loopback(host: str) -> bool:
    """Whether the header Host names this machine. Other names could be made to point here."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    name = name.strip("[]").lower()
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


async def read_form(request: Request) -> dict[str, str] | None:
    """{name: text} of a form, the last of several with one name; None when it is too long."""
    body = b""
    try:
        async for part in request.stream():
            body += part
            if len(body) > BODY:
                return None
        pairs = parse_qsl(body.decode("utf-8", "replace"), True, max_num_fields=100)
    except (ValueError, ClientDisconnect):
        return None
    return {name: text.replace("\r\n", "\n") for name, text in pairs}
