"""A PostgreSQL server to test gradebooks on, behind a Unix socket in a temporary folder. It needs
the programs of the server (Debian: `apt install postgresql`) and the Python package psycopg;
`missing()` names those that are not installed.
"""

import contextlib
import importlib.util
import itertools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

# Its data does not matter after the tests, so it need not wait for the disk.
HURRY = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=32MB")


def programs():
    """The folder with the programs of the newest server here, or None."""
    if program := shutil.which("initdb"):
        return Path(program).resolve().parent
    folders = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(folders, key=lambda folder: float(folder.parts[-2]), default=None)


def missing():
    """The programs or packages that are missing, in words, or ""."""
    if not hasattr(os, "geteuid"):
        return "PostgreSQL is started by Unix's means here"
    if not programs():
        return "PostgreSQL's server is not installed: apt install postgresql"
    if not importlib.util.find_spec("psycopg"):
        return "the Python package psycopg is not installed: bin/setup dev"
    return ""


def user():
    """The user who starts the server, which refuses root; None for the user of this process."""
    import pwd  # the other tests import this file also on Windows

    if os.geteuid():
        return None
    users = {entry.pw_name: entry for entry in pwd.getpwall()}
    return users.get("postgres") or users["nobody"]


@contextlib.contextmanager
def server():
    """Start a server; gives a function whose every call makes an empty database and returns its URL
    for `--gradebook`.
    """
    # Not below a test's own folder: that is another user's, and too long for a socket's name.
    folder = Path(tempfile.mkdtemp(prefix="tito-pg-"))
    owner, process = user(), None
    if owner:
        shutil.chown(folder, owner.pw_uid, owner.pw_gid)
    run = {"cwd": folder, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
    run |= {"stderr": subprocess.STDOUT, "text": True, "env": os.environ | {"LC_ALL": "C.UTF-8"}}
    if owner:
        run |= {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
    data, bin = folder / "data", programs()
    try:
        words = ["-D", data, "--username=tito", "--auth=trust", "--encoding=UTF8", "--no-sync"]
        subprocess.run([bin / "initdb", *words, "--no-locale"], check=True, **run)
        settings = [f"unix_socket_directories={folder}", "listen_addresses=", *HURRY]
        words = [word for setting in settings for word in ("-c", setting)]
        log = folder / "log"
        with log.open("w", encoding="utf-8") as file:
            process = subprocess.Popen(
                [bin / "postgres", "-D", data, *words], **run | {"stdout": file}
            )
        wait = [bin / "pg_isready", "--quiet", "-h", folder, "-U", "tito", "-t", "1"]
        for _ in range(600):
            if process.poll() is not None:
                raise RuntimeError(f"PostgreSQL did not start: {log.read_text()}")
            if subprocess.run(wait, **run).returncode == 0:
                break
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.1)
        numbers = itertools.count(1)

        def new_database():
            name = f"class{next(numbers)}"
            make = ["-h", folder, "-U", "tito", "--template=template0", name]
            subprocess.run([bin / "createdb", *make], check=True, **run)
            return f"postgresql+psycopg://tito@/{name}?host={folder}"

        yield new_database
    finally:
        if process:
            process.send_signal(2)  # SIGINT: end now, even with open connections
            process.wait(60)
        shutil.rmtree(folder, ignore_errors=True)
