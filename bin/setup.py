"""Make this folder's environment, `.venv`, and install the project there.
bin/tito and bin/test call it.

In a release of the course the project is the wheel beside this file; else it is this repository.

It says on stderr what it does, so that stdout stays for the command that follows. It may be
interrupted at any moment or started twice: one works while the other waits, and an environment
that was not finished is begun again. Standard library only.
"""

import sys

if sys.version_info < (3, 11):
    sys.stderr.write(
        "tito: Python %d.%d is too old, TinyTorch needs 3.11 or newer.\n"
        "      Start this with a newer one: python3.11 bin/setup.py\n" % sys.version_info[:2]
    )
    sys.exit(3)

import errno
import os
import shutil
import subprocess
import time
import tomllib
import zipfile
from email.parser import BytesParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WHEELS = sorted((ROOT / "bin").glob("tinytorch-*.whl"))
# What an installation depends on: import_hook.py holds the line that runs at each start of Python.
SOURCES = ("pyproject.toml", "hatch_build.py", "tito/import_hook.py")
PROJECT = WHEELS or [ROOT / name for name in SOURCES]
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

# In .venv. `ready` (the folder's path, then the extras) is written last: bin/tito trusts it. It
# says where, because an environment holds absolute paths and is useless once moved or copied.
READY = VENV / "tito-ready"
INSTALLED = VENV / "tito-installed"  # a copy of PROJECT: file times mean nothing in a fresh clone
UNFINISHED = VENV / "tito-unfinished"

USAGE = """\
bin/setup [EXTRA ...]

Make this folder's environment, .venv, and install TinyTorch there. bin/tito does the same at its
first start; call bin/setup to add an extra. Extras that are installed stay.

Extras: {}
"""

LOG = ROOT / ".tito" / "setup.log"
LOCK = ROOT / ".tito" / "setup.lock"


class Failed(Exception):
    """What is wrong; what to do."""


def main(words):
    if {"--help", "-h"} & set(words):
        print(USAGE.format(" ".join(known_extras())), end="")
        return 0
    unknown = [word for word in words if word not in known_extras()]
    if unknown:
        say(
            f"tito: bin/setup knows no extra {unknown[0]}.\n"
            f"      There are {', '.join(known_extras())}; nothing was changed."
        )
        return 2
    return make_ready(words)


def known_extras():
    """The names of the optional dependencies, as the wheel or pyproject.toml gives them."""
    if not WHEELS:
        text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        return list(tomllib.loads(text).get("project", {}).get("optional-dependencies", ()))
    with zipfile.ZipFile(WHEELS[-1]) as wheel:
        [metadata] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        return BytesParser().parsebytes(wheel.read(metadata)).get_all("Provides-Extra") or []


def make_ready(extras):
    """Install the missing packages; returns the exit code."""
    if is_ready(extras):
        return 0
    try:
        LOCK.parent.mkdir(exist_ok=True)
        with LOCK.open("a+b") as lock:
            take(lock)
            if not is_ready(extras):  # another setup may just have done it
                set_up(sorted({*extras, *remembered()}), lock)
    except Failed as failed:
        what, todo = failed.args
    except KeyboardInterrupt:
        what, todo = "Interrupted while setting up.", "Run the same again, it will begin anew."
    except OSError as error:
        what, todo = f"Cannot set up {VENV}: {error}.", remedy(error.errno)
    else:
        return 0
    say(f"tito: {what}\n      {todo}")
    return 3


# --- what there is


def ready():
    """The folder and the extras of a finished environment, or None and none."""
    try:
        folder, extras, _ = os.fsdecode(READY.read_bytes()).split("\n")
    except (OSError, ValueError):  # not there, or damaged
        return None, set()
    return folder, set(extras.split())


def remembered():
    """The extras of the last environment that was finished, also when a later setup failed."""
    try:
        noted = UNFINISHED.read_text(encoding="utf-8").split()
    except OSError:
        noted = ()
    return {*noted, *ready()[1]}


def is_ready(extras):
    folder, installed = ready()
    return (
        folder == str(ROOT)
        and set(extras) <= installed
        and PYTHON.exists()
        and INSTALLED.exists()
        and INSTALLED.read_bytes() == project()
    )


def project():
    return b"".join(path.read_bytes() for path in PROJECT)


# --- what to do


def set_up(extras, lock):
    LOG.write_bytes(b"")
    uv = shutil.which("uv")
    tool = "uv" if uv else "pip"
    started = time.monotonic()
    installed = project()  # read before, so that a change meanwhile is noticed next time

    if prepare(uv):
        say(f"tito: bringing {VENV} up to date with {tool}")
    else:
        say(f"tito: setting up {VENV} with Python {sys.version.split()[0]} and {tool}")
        step("making the environment", [base_python(), "-m", "venv", "--without-pip", VENV], lock)
    if not uv and not (site_packages() / "pip").exists():
        step("installing pip", [PYTHON, "-m", "ensurepip", "--default-pip"], lock)

    what = f"{WHEELS[-1] if WHEELS else ROOT}{'[' + ','.join(extras) + ']' if extras else ''}"
    what = [what] if WHEELS else ["-e", what]
    if uv:  # also pip: without it, a learner's `pip install` would reach another environment
        command = [
            uv,
            "pip",
            "install",
            "--python",
            PYTHON,
            "--reinstall-package",
            "tinytorch",
            "pip",
            *what,
        ]
    else:
        pip = [PYTHON, "-m", "pip", "--no-input", "--disable-pip-version-check"]
        if WHEELS:  # or pip would keep an older wheel of the same version
            step("making room", [*pip, "uninstall", "--yes", "tinytorch"], lock, must_work=False)
        command = [*pip, "install", "--no-compile", *what]
    step("installing " + " and ".join(["TinyTorch", *extras]), command, lock)

    # All at once is faster than pip's one by one, and uv does not compile unless told.
    # A package may carry files that do not compile on purpose, so the exit code says nothing.
    step(
        "compiling",
        [
            PYTHON,
            "-m",
            "compileall",
            "-q",
            "-j",
            "0",
            "-x",
            r"site-packages[/\\].*[/\\]tests?[/\\]",
            site_packages(),
            ROOT / "tito",
            ROOT / "tinytorch",
        ],
        lock,
        must_work=False,
    )

    INSTALLED.write_bytes(installed)
    beside = READY.with_name("tito-ready.new")
    beside.write_bytes(os.fsencode(f"{ROOT}\n{' '.join(extras)}\n"))
    UNFINISHED.unlink()
    os.replace(beside, READY)
    say(f"tito: ready after {time.monotonic() - started:.0f} s")


def prepare(uv):
    """True when the environment that is there will do; else leave an empty one,
    marked unfinished.
    """
    folder, _ = ready()
    is_ours = READY.exists() or UNFINISHED.exists()
    usable = works(PYTHON) and not UNFINISHED.exists() and folder in (None, str(ROOT))
    if not usable and not is_ours and VENV.is_dir() and any(VENV.iterdir()):
        raise Failed(
            f"{VENV} was not made by this program and does not work.",
            "Move or remove it, then run the same again.",
        )
    if not usable and not uv:
        try:
            import ensurepip  # noqa: F401  Debian ships Python without it
        except ImportError:
            major, minor = sys.version_info[:2]
            raise Failed(
                f"This Python ({sys.executable}) cannot make environments: it lacks ensurepip.",
                f"Install it (Debian, Ubuntu: apt install python{major}.{minor}-venv)"
                " or install uv.",
            ) from None
    extras = remembered()
    VENV.mkdir(exist_ok=True)
    UNFINISHED.write_text(" ".join(sorted(extras)), encoding="utf-8")
    READY.unlink(missing_ok=True)
    if not usable:
        for path in VENV.iterdir():  # what is inside: .venv itself may be a link to a larger disk
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path != UNFINISHED:
                path.unlink()
    return usable


def works(python):
    """Whether this is the Python of an environment, new enough,
    with its standard library still there.
    """
    test = (
        "import sys, encodings; "
        "sys.exit(sys.version_info < (3, 11) or sys.prefix == sys.base_prefix)"
    )
    try:
        return (
            subprocess.run([python, "-c", test], capture_output=True, env=environment()).returncode
            == 0
        )
    except OSError:
        return False


def site_packages():
    return next(VENV.glob("lib/python*/site-packages"), VENV / "Lib" / "site-packages")


def base_python():
    """The real file behind `python3`:
    the link may lead to another version after a system upgrade.
    """
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def environment():
    """The environment variables without those that lead Python, pip and uv elsewhere."""
    away = {
        "PYTHONHOME",
        "PYTHONPATH",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONSAFEPATH",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "__PYVENV_LAUNCHER__",
        "PIP_TARGET",
        "PIP_PREFIX",
        "PIP_ROOT",
        "UV_SYSTEM_PYTHON",
        "UV_PYTHON",
    }
    return {
        **{k: v for k, v in os.environ.items() if k not in away},
        "PIP_USER": "0",
        "PYTHONUTF8": "1",
    }


def step(title, command, lock, must_work=True):
    """Run a command, telling each second (in a log: every 10 s) how long it has taken."""
    started, reported, live = time.monotonic(), 0, sys.stderr.isatty()
    say(f"  {title} ...", end="" if live else "\n")
    with LOG.open("ab") as log:
        begin = log.tell()
        # The child keeps the lock: if this process is killed,
        # the next one waits until pip has ended.
        keep = {} if os.name == "nt" else {"pass_fds": [lock.fileno()]}
        child = subprocess.Popen(
            [os.fspath(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=ROOT,
            env=environment(),
            **keep,
        )
        try:
            while True:
                try:
                    code = child.wait(timeout=1)
                    break
                except subprocess.TimeoutExpired:
                    seconds = time.monotonic() - started
                    if live:
                        say(f"\r\033[K  {line(title, seconds, last_line(begin))}", end="")
                    elif seconds - reported >= 10:
                        reported = seconds
                        say(f"    {seconds:.0f} s  {last_line(begin)}")
        except BaseException:
            child.kill()
            child.wait()
            say("")
            raise
    seconds = time.monotonic() - started
    say(f"\r\033[K  {title}: {seconds:.1f} s" if live else f"    {seconds:.1f} s")
    if code and must_work:
        raise Failed(*explain(title, begin))


def line(title, seconds, detail):
    return f"{title} ... {seconds:.0f} s  {detail}"[: shutil.get_terminal_size().columns - 3]


def last_line(begin):
    lines = output(begin).split("\n")[-20:]
    return next((text.strip() for text in reversed(lines) if text.strip()), "")[:100]


def output(begin):
    with LOG.open("rb") as log:
        log.seek(begin)
        return log.read().decode("utf-8", errors="replace").replace("\r", "\n")


def explain(title, begin):
    text = output(begin)
    if any(
        sign in text
        for sign in ("No space left on device", "Errno 28", "os error 28", "Disk quota exceeded")
    ):
        return f"No space left on the disk while {title}.", remedy(errno.ENOSPC)
    offline = (
        "Failed to establish a new connection",
        "Temporary failure in name resolution",
        "Connection refused",
        "NewConnectionError",
        "dns error",
        "error sending request",
        "Network is unreachable",
        "Connection error",
        "ConnectTimeout",
        "Read timed out",
        "from versions: none",
        "Could not connect",
    )
    if any(sign in text for sign in offline):
        return (
            f"No network while {title}: the packages could not be fetched.",
            f"Connect (or set the proxy) and run the same again. Details: {LOG}",
        )
    errors = [text for text in text.split("\n") if text.lower().lstrip(" ×").startswith("error")]
    return f"Failed while {title}: {(errors or [last_line(begin)])[-1].strip()}", f"Details: {LOG}"


def remedy(code):
    if code in (errno.ENOSPC, errno.EDQUOT):
        return "Free some space (300 MB will do) and run the same again."
    if code in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"Make {ROOT} writable, or copy it to a place that is, then run the same again."
    return "Run the same again; if it stays, this is a fault of bin/setup.py."


def take(lock):
    """Wait until no other setup works here.
    The system frees the lock of a process that was killed.
    """
    waiting = False
    while True:
        try:
            if os.name == "nt":
                import msvcrt

                lock.seek(0)
                msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
            else:
                import fcntl

                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
                raise
        if not waiting:
            say("tito: another setup is at work here, waiting for it")
            waiting = True
        time.sleep(0.2)


def say(text, end="\n"):
    print(text, end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
