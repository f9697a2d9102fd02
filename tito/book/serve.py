"""Serve the site on this machine, and build it again whenever a lesson or a page is saved."""

import functools
import logging
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tito.book import build
from tito.errors import TitoError
from tito.learn import milestone
from tito.lesson import course
from tito.lesson.course import Root

PORT = 8000  # or another one that is free
FOLDERS = (course.SOURCE, milestone.SOURCE, Path("book"))
SUFFIXES = ("_dev.py", ".md", ".css", ".js", ".html", ".json", ".svg", ".toml")
PROGRAMS = (milestone.SOURCE.parts, ("book", "drawings"))  # folders whose Python files are watched


def serve(
    root: Root,
    options: build.Options,
    on_ready: Callable[[str], None],
    on_site: Callable[[build.Site], None],
    on_error: Callable[[TitoError], None],
) -> None:
    """Make the site and show it under 127.0.0.1 until Ctrl-C.

    on_ready  is called with the address, once it answers
    on_site   is called with each site that was made
    on_error  is called with the error of a build that failed; the site stays as it was
    """
    site = build.build(root, options)
    on_site(site)
    handler = functools.partial(_SilentHandler, directory=site.path)
    try:
        server = ThreadingHTTPServer(("127.0.0.1", PORT), handler)
    except OSError:  # another program has it
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        watched = _watch(root)
        next(watched)  # no save is missed after this
        on_ready(f"http://127.0.0.1:{server.server_address[1]}/")
        for changes in watched:
            if not changes:
                continue
            try:  # opened anew, because a root reads its lessons once
                on_site(build.build(course.open_root(root.path), options))
            except TitoError as error:
                on_error(error)


def _watch(root: Root) -> Iterator[set[Any]]:
    """The changes of files that the site is made from; an empty set every 0.3 s without any."""
    import watchfiles

    logging.getLogger("watchfiles").setLevel(logging.WARNING)
    folders = [root.path / name for name in FOLDERS if (root.path / name).is_dir()]
    return watchfiles.watch(
        *folders, watch_filter=_is_source, rust_timeout=300, yield_on_timeout=True
    )


def _is_source(change: object, path: str) -> bool:
    if "_build" in path:
        return False
    return path.endswith(SUFFIXES) or path.endswith(".py") and Path(path).parts[-3:-1] in PROGRAMS


class _SilentHandler(SimpleHTTPRequestHandler):
    """Answers with files and writes no line for each."""

    def log_message(self, format: str, *args: object) -> None:
        pass
