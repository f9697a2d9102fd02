"""Downloads: each file is fetched once, verified by its SHA-256 checksum, and kept in a folder.

A file gets its name only when it is complete and verified. Until then it is NAME.part, and an
interrupted download resumes there: the request header `Range` asks for the rest; a server that
supports it answers 206, one that does not answers 200 and sends everything.
"""

import hashlib
import os
import sys
from pathlib import Path

SECONDS = 30  # how long to wait for a server's answer
CHUNK = 1 << 16  # bytes that are read and written at once


def data_folder():
    """Where downloaded data is kept: the folder in TINYTORCH_DATA, or the system's one for caches.

    >>> data_folder()  # doctest: +SKIP
    PosixPath('/home/ada/.cache/tinytorch')
    """
    if given := os.environ.get("TINYTORCH_DATA"):
        return Path(given).expanduser()
    if sys.platform == "win32":
        caches = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        caches = Path.home() / "Library" / "Caches"
    else:
        caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches) / "tinytorch"


def checksum(path):
    """The SHA-256 of the file at `path`, as 64 hexadecimal digits.

    >>> checksum(os.devnull)[:16]  # of no bytes at all
    'e3b0c44298fc1c14'
    """
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(url, sha256, size, folder=None, attempts=3):
    """The path of a downloaded file: fetched if it is not there yet, and always verified.

    url       where it is; its last part is the file's name
    sha256    its checksum, 64 hexadecimal digits
    size      its length in bytes
    folder    where to keep it; None for data_folder()
    attempts  how many connections to make before giving up; each resumes where the last one
              broke off

    OSError says what is wrong, what to do, and where the file can be put by hand. Only
    a complete, verified file ever gets the file's name; a partial one is kept as NAME.part, and
    the next call resumes it.

    >>> from tinytorch.data.image_sets import FASHION, FILES
    >>> name, size, sha256 = FILES["fashion-mnist", "test"][1]
    >>> fetch(f"{FASHION}/{name}", sha256, size)  # doctest: +SKIP
    PosixPath('/home/ada/.cache/tinytorch/t10k-labels-idx1-ubyte.gz')
    """
    # Late: most programs that import this module download nothing, and these take longest.
    from http.client import HTTPException

    from filelock import FileLock

    def is_whole():
        return path.is_file() and checksum(path) == sha256

    path = Path(folder or data_folder()) / url.rsplit("/", 1)[-1]
    part = path.with_name(path.name + ".part")
    problem = None
    try:
        if is_whole():
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock"):
            if is_whole():  # another program may have fetched it while this one waited
                return path
            for _ in range(attempts):
                try:
                    resumed = _receive(url, part, size, _progress(path.name))
                except (OSError, HTTPException) as error:
                    problem = f"the download failed ({error})"
                    if getattr(error, "code", None) is not None:
                        break  # the server answered, and will answer the same again
                    continue
                have = part.stat().st_size
                if have < size:
                    problem = f"the connection broke off after {have:,} of {size:,} bytes"
                    continue
                received = checksum(part)
                if received == sha256:
                    os.replace(part, path)
                    return path
                part.unlink()
                problem = (
                    f"the downloaded file has the checksum {received[:16]}..., "
                    f"not {sha256[:16]}...: it is another file"
                )
                if not resumed:
                    break
    except OSError as error:
        problem = f"{path.parent} cannot be used ({error})"
    there = (
        f" The file that is there, {path}, is damaged and was left as it is."
        if path.exists()
        else ""
    )
    raise OSError(
        f"{path.name}: {problem}.{there} With a network, call it again: "
        f"the download resumes where it stopped. Without one, get {url} elsewhere and put it "
        f"there by hand: {path}"
    )


def _receive(url, part, size, progress):
    """Append the missing bytes to `part`, up to `size` bytes in all.

    progress  a function of (bytes so far, size), called after each chunk
    returns   whether an earlier partial file was resumed
    """
    import urllib.request  # late, as in fetch

    have = part.stat().st_size if part.exists() else 0
    if have >= size:
        return True
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        begins = (answer.headers.get("Content-Range") or "").startswith(f"bytes {have}-")
        resumed = have > 0 and answer.status == 206 and begins
        have = have if resumed else 0
        with open(part, "ab" if resumed else "wb") as file:
            while have < size and (chunk := answer.read(min(CHUNK, size - have))):
                file.write(chunk)
                have += len(chunk)
                progress(have, size)
    return resumed


def _progress(name):
    """A function of (have, size), both in bytes, that shows the progress of downloading `name` in
    a terminal; elsewhere it prints nothing."""

    def show(have, size):
        if sys.stderr.isatty():
            end = "\n" if have == size else ""
            print(
                f"\r{name} {have / 1e6:.1f} of {size / 1e6:.1f} MB",
                end=end,
                file=sys.stderr,
                flush=True,
            )

    return show
