"""A local server, for the tests of downloads."""

import http.server
import threading

import pytest


class Server(http.server.ThreadingHTTPServer):
    """Serves `files` ({path: bytes}). `asked` lists each request's path and Range.

    cuts      after how many bytes the next connections break off, one number each;
              the rest come whole
    ranges    whether Range is understood
    hold      an Event: a connection that was cut waits for it before it ends
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.asked, self.cuts, self.ranges, self.hold, self.reached = (
            {},
            [],
            [],
            True,
            None,
            threading.Event(),
        )
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def do_GET(self):
        server = self.server
        server.asked.append((self.path, self.headers.get("Range")))
        data = server.files.get(self.path)
        if data is None:
            return self.send_error(404)
        begin = 0
        if server.ranges and (asked := self.headers.get("Range")):
            begin = int(asked.removeprefix("bytes=").removesuffix("-"))
            if begin >= len(data):
                return self.send_error(416)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(data) - begin))
        self.end_headers()
        end = begin + server.cuts.pop(0) if server.cuts else len(data)
        self.wfile.write(data[begin:end])
        self.wfile.flush()
        server.reached.set()
        if server.hold and end < len(data):
            server.hold.wait(30)


@pytest.fixture
def server(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "*")
    with Server() as one:
        yield one
        one.shutdown()
