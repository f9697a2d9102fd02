"""The page for graders as tests ask it, without a browser and without a network."""

import asyncio
from html.parser import HTMLParser
from types import SimpleNamespace
from urllib.parse import unquote, urlencode

EVIL = (
    "</code></title></textarea><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"
    "{{7777*7777}}"
)
FORM = "application/x-www-form-urlencoded"


class Response:
    """What the page answered."""

    def __init__(self, status, headers, body):
        self.status_code, self.text = status, body.decode("utf-8")
        self.headers = {name.decode(): value.decode() for name, value in headers}


class Client:
    """Asks an ASGI application, without a network."""

    def __init__(self, app):
        self.app = app

    def ask(self, method, address, form=None, kind=FORM, **headers):
        path, _, query = address.partition("?")
        body = urlencode(form or {}).encode()
        headers = {"host": "127.0.0.1:8801", "content-type": kind} | headers
        scope = {
            "type": "http",
            "method": method,
            "path": unquote(path),
            "query_string": query.encode(),
            "headers": [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()],
            "server": ("127.0.0.1", 8801),
            "scheme": "http",
        }
        sent = []

        async def receive():
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message):
            sent.append(message)

        asyncio.run(self.app(scope, receive, send))
        return Response(
            sent[0]["status"],
            sent[0]["headers"],
            b"".join(message.get("body", b"") for message in sent[1:]),
        )

    def get(self, address, **headers):
        response = self.ask("GET", address, **headers)
        to = response.headers.get("location")
        return self.get(to) if to else response

    def post(self, address, form, **headers):
        return self.ask("POST", address, form, **headers)


class Grader:
    """A grader's browser: pages by path, forms by their address."""

    def __init__(self, client, session):
        self.client, self.session = client, session

    def get(self, path="/", **more):
        return self.client.get(f"/{self.session.token}{path}", **more)

    def post(self, path, **form):
        form = {"csrf": self.session.csrf} | form
        return self.client.post(f"/{self.session.token}{path}", form)


def page_of(book, asked=None, graders=(("ta1", None), ("ta2", None)), maker=None):
    """The page of a gradebook. graders: [(name, sections or None)], each of whom is an attribute of
    what it returns; of: {learner: handle}; maker: of sheets of questions.
    """
    from tito.grading.page.access import Sessions
    from tito.grading.page.app import GraderPage

    sessions = Sessions()
    page = GraderPage(book, "Small", sessions, asked, maker)
    client = Client(page.app())
    by_name = {who: Grader(client, sessions.new(who, sections)) for who, sections in graders}
    of = {one.student: page.class_list.handle(one.student) for one in book.learners()}
    return SimpleNamespace(book=book, client=client, sessions=sessions, page=page, of=of, **by_name)


class Tags(HTMLParser):
    """Every tag and attribute of a page, and its text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.spaced = [], "", ""
        self.feed(text)
        self.spaced = " ".join(self.spaced.split())

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, *sorted(name for name, _ in attributes)))

    def handle_data(self, text):
        self.words += text
        self.spaced += f" {text}"
