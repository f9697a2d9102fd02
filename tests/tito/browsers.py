"""The browser that tests open pages in (the system's Chromium, or playwright's own), and a server
of a folder's pages."""

import contextlib
import functools
import os
import shutil
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest


@contextlib.contextmanager
def chromium():
    """A Chromium; the test is skipped where there is none."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: it is in the extra `dev`"
    )
    with playwright.sync_playwright() as driver:
        if not (program := program_of(driver)):
            pytest.skip(
                "there is no Chromium here: `playwright install chromium`, or the system's "
                "package `chromium`"
            )
        # root, as in CI, has no sandbox
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


def program_of(driver):
    """Where a Chromium is, None where there is none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    own = driver.chromium.executable_path
    system = next((path for name in names if (path := shutil.which(name))), None)
    return system or (own if os.path.exists(own) else None)


@contextlib.contextmanager
def served(folder):
    """The address under which a folder's files are served on this machine."""
    handler = functools.partial(Silent, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass
