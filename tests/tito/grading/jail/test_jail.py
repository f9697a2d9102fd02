"""The jail starts at a named level or says why not, forks fresh processes that see nothing, and
ends them for good.
"""

import contextlib
import functools
import marshal
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processes import children

from tito.errors import MachineError, TitoError
from tito.grading import setting
from tito.grading.jail import check_namespace, proxy
from tito.grading.jail import jail as jails
from tito.grading.jail.jail import Jail, JailFailed
from tito.grading.jail.jailed_server import NEEDS_PICTURES
from tito.lesson import conditions
from tito.lesson.statements import statements_of

LINUX = sys.platform == "linux"


@functools.cache
def works(level):
    try:
        Jail(level).close()
        return True
    except (TitoError, OSError):
        return False


# Conditions as text: pytest evaluates them when such a test runs, not in each worker.
LEVELS = [
    pytest.param(
        level,
        marks=pytest.mark.skipif(
            f"not works({level!r})", reason=f"{level} does not work on this machine"
        ),
    )
    for level in setting.LEVELS
]
levels = pytest.mark.parametrize("level", LEVELS)
walled = pytest.mark.parametrize("level", LEVELS[:-1])


def test_a_jail_that_does_not_start_in_time_says_so(monkeypatch):
    monkeypatch.setattr(jails, "START_SECONDS", 0.001)
    with pytest.raises(MachineError, match="does not work here: timed out"):
        Jail("process")


def talk(fork, seconds=20):
    return proxy.Session(fork.sock, time.monotonic() + seconds)


def occupy(fork):
    """Make it sleep for a minute, so that it does not notice the end of the connection."""
    session = talk(fork)
    sleep = session.do("get", session.do("import", "time"), "sleep")
    session.deadline = time.monotonic() + 0.05
    with pytest.raises(proxy.OutOfTime):
        sleep(60)


def alive(pid):
    """Whether a process of this pid, as seen from here, is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def descendants(pid):
    return [child for child, _ in children(pid)]


@levels
def test_a_fork_answers_and_ends(level):
    with Jail(level) as jail:
        fork = jail.fork()
        assert talk(fork).do("len", [1, 2, 3]) == 3
        fork.end()
        # 0 when it saw the end of the talk before the signal
        assert fork.code() in (0, -signal.SIGKILL)
        fork.end()  # once more is no harm


def test_no_fork_sees_what_was_rehearsed():
    with Jail("process") as jail:
        fork = jail.fork()
        session = talk(fork)
        with pytest.raises(ModuleNotFoundError):
            session.do("import", "rehearsal")
        system = session.do("import", "sys")
        finders = session.do("get", system, "meta_path")
        names = [session.do("str", finder) for finder in finders]
        assert not [name for name in names if "Lessons" in name], names
        fork.end()


@levels
def test_what_one_fork_does_the_next_does_not_see(level):
    with Jail(level) as jail:
        first = jail.fork()
        session = talk(first)
        session.do("set", session.do("import", "numpy"), "was_here", "yes")
        assert session.do("get", session.do("import", "numpy"), "was_here") == "yes"
        first.end()
        second = jail.fork()
        session = talk(second)
        with pytest.raises(AttributeError):
            session.do("get", session.do("import", "numpy"), "was_here")
        second.end()


def test_modules_that_need_no_lesson_are_imported_once_for_all_forks():
    def compiled(text):
        return marshal.dumps(compile(text, "module", "exec"))

    modules = {
        "course": None,
        "course.core": None,
        "course.ready": compiled("import os\npid = os.getpid()"),
        "course.waiting": compiled(
            "import course.other\nfrom course.core.lesson import x\nimport os\npid = os.getpid()"
        ),
        "course.other": compiled("import os\npid = os.getpid()"),
    }
    lesson = "x = 1\nfrom course import other, ready, waiting"
    found = []
    with Jail("process", modules=lambda: modules) as jail:
        for _ in range(2):
            fork = jail.fork()
            there = talk(fork).do(
                "load",
                {"course.core.lesson": compiled(lesson)},
                "course.core.lesson",
                ["other", "ready", "waiting"],
                ["other", "ready", "waiting"],
                check_namespace.START,
                [],
            )
            found.append({name: module.pid for name, module in there.items()} | {"own": fork.pid})
            there["ready"].pid = "changed"
            fork.end()
        server = jail.process.pid
    for pids in found:
        assert pids["ready"] == pids["other"] == server != pids["own"] == pids["waiting"]


@walled
def test_a_fork_leaves_no_word_for_the_next_in_the_flags_of_its_files(level):
    flags = []
    with Jail(level) as jail:
        for _ in range(3):
            fork = jail.fork()
            session = talk(fork)
            fcntl = session.do("get", session.do("import", "fcntl"), "fcntl")
            flags += [fcntl(number, 3) for number in range(3)]  # F_GETFL
            for number in range(3):
                with contextlib.suppress(OSError):
                    fcntl(number, 4, os.O_APPEND | os.O_NONBLOCK)  # F_SETFL
            fork.end()
    assert len(set(flags)) == 1


@levels
def test_a_fork_has_no_environment_no_arguments_and_no_descriptors_of_ours(level, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_TEST", "x")
    with open(os.devnull) as open_file, Jail(level) as jail:
        os.set_inheritable(open_file.fileno(), True)
        fork = jail.fork()
        session = talk(fork)
        environment = list(session.do("get", session.do("import", "os"), "environ"))
        assert (
            "SECRET_OF_THE_TEST" not in environment
            and "USER" not in environment
            and not [name for name in environment if name.startswith("PYTHON")]
        )
        fstat = session.do("get", session.do("import", "os"), "fstat")
        for number in range(4):
            fstat(number)
        for number in range(4, 64):
            with pytest.raises(OSError):
                fstat(number)
        fork.end()


@levels
def test_numpy_is_there_and_what_is_not_for_learners_is_not(level):
    with Jail(level) as jail:
        fork = jail.fork()
        session = talk(fork)
        assert session.do("get", session.do("import", "numpy"), "pi") > 3.14
        for name in ("tito", "pytest", "sqlalchemy", "jupytext", "pip"):
            with pytest.raises(ImportError):
                session.do("import", name)
        fork.end()


@walled
def test_files_that_are_not_needed_cannot_be_read_or_written(level, tmp_path):
    (tmp_path / "file").write_text("secret")
    with Jail(level, [tmp_path]) as jail:
        for path in (
            tmp_path,
            tmp_path / "file",
            Path(__file__),
            Path.home(),
            "/etc/passwd",
            "/proc/self/environ",
            "/tmp",
        ):
            assert jail.reads(path) is False, path
        assert jail.reads(jails.FILES[0]) is True  # so that False says something
        fork = jail.fork()
        session = talk(fork)
        open_ = session.do("get", session.do("import", "io"), "open")
        for path in (tmp_path / "new", "/tmp/new", "/dev/shm/new"):
            with pytest.raises(OSError):
                open_(str(path), "w")
        fork.end()
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


@pytest.mark.parametrize("level", LEVELS[:1])
def test_at_bubblewrap_what_is_outside_does_not_exist(level, tmp_path):
    with Jail(level) as jail:
        fork = jail.fork()
        session = talk(fork)
        stat = session.do("get", session.do("import", "os"), "stat")
        for path in (__file__, "/etc/passwd", f"/proc/{os.getpid()}", str(tmp_path)):
            with pytest.raises(FileNotFoundError):
                stat(path)
        fork.end()


@walled
def test_a_secret_that_can_be_read_stops_everything(level):
    with pytest.raises(TitoError, match="it can read") as caught:
        Jail(level, [jails.FILES[0]])
    assert caught.value.code == 3 and level in caught.value.what


@walled
def test_a_course_inside_of_the_installed_packages_is_hidden(level):
    for package in ("pytest", "jupytext"):
        folder = (
            Path(sys.modules[package].__file__).parent
            if package in sys.modules
            else conditions.importable()["numpy"].parent / package
        )
        with Jail(level, [folder]) as jail:
            assert jail.reads(folder) is False


@levels
def test_a_fork_that_ends_itself_reports_its_exit_code(level):
    with Jail(level) as jail:
        fork = jail.fork()
        session = talk(fork)
        with pytest.raises(proxy.Died):
            session.do("call", session.do("get", session.do("import", "os"), "_exit"), 7)
        fork.end()
        assert fork.code() == 7
        after = jail.fork()
        assert talk(after).do("len", []) == 0
        after.end()


@levels
@pytest.mark.skipif(not LINUX, reason="limits of memory are Linux's")
def test_memory_has_a_limit(level):
    with Jail(level, memory=512) as jail:
        fork = jail.fork()
        session = talk(fork)
        with pytest.raises(MemoryError):
            session.do("mul", [0], 1 << 27)  # 1 GB
        assert session.do("len", [1]) == 1
        fork.end()


@levels
@pytest.mark.skipif(
    not hasattr(signal, "pidfd_send_signal"), reason="processes have no handles here"
)
def test_a_fork_that_was_killed_while_it_waited_is_passed_over(level):
    with Jail(level) as jail:
        jail.fork().end()
        while not jail.ready:
            jail.read_answer()
        signal.pidfd_send_signal(jail.ready[0][1], signal.SIGKILL)
        assert select.select([jail.requested[0]], [], [], 10)[0]  # it is gone
        fork = jail.fork()
        assert talk(fork).do("len", [1]) == 1
        fork.end()


@levels
@pytest.mark.skipif(not LINUX, reason="/proc is Linux's")
def test_nothing_is_left_when_a_jail_is_closed_with_forks_running(level):
    jail = Jail(level)
    forks = [jail.fork(), jail.fork()]
    for fork in forks:
        occupy(fork)
    family = [jail.process.pid, *descendants(jail.process.pid)]
    assert len(family) >= 3
    jail.close()
    assert_gone(family)


@pytest.mark.slow
@levels
@pytest.mark.skipif(not LINUX, reason="/proc is Linux's")
def test_nothing_is_left_when_the_process_that_started_it_is_killed(level):
    code = f"""
import sys, time
sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[2])]!r}
from test_jail import Jail, occupy
jail = Jail({level!r})
fork = jail.fork()
occupy(fork)
print(jail.process.pid, flush=True)
time.sleep(60)
"""
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[4],
    ) as starter:
        server = int(starter.stdout.readline())
        family = [server, *descendants(server)]
        assert len(family) >= 2
        starter.kill()
    assert_gone(family)


def assert_gone(pids):
    """That these processes end; within ten seconds, since the kernel needs a moment."""
    until = time.monotonic() + 10
    while (left := [pid for pid in pids if alive(pid)]) and time.monotonic() < until:
        os.sched_yield()
    assert not left


@levels
def test_a_server_that_was_killed_is_noticed(level):
    jail = Jail(level)
    family = [jail.process.pid, *descendants(jail.process.pid)]
    jail.process.kill()
    jail.process.wait()
    assert_gone(family)
    with pytest.raises(JailFailed):
        jail.fork()
    jail.close()


@pytest.mark.skipif(not LINUX, reason="levels above `process` are Linux's")
@levels
def test_the_server_that_forks_inherit_from_holds_no_path_of_a_secret(level, tmp_path):
    secret = tmp_path / "a-folder-that-nobody-should-know"
    secret.mkdir()
    with Jail(level, [secret]) as jail:
        seen = server_memory(jail)
    assert b"jailed_server.py" in seen and b"a-folder-that-nobody" not in seen


def test_what_a_fork_sees_of_the_server_names_no_path_of_this_machine():
    with Jail("process") as jail:
        fork = jail.fork()
        frame, names = talk(fork).do("import", "sys")._getframe(), set()
        while frame is not None:
            names |= {name for name, value in frame.f_locals.items() if "preload" in str(value)}
            frame = frame.f_back
        fork.end()
    assert names == set()


def server_memory(jail):
    """What can be read of the server's memory, by its own parent: this process."""
    pid = next(  # before its forks: one that is ending may still hold what it was asked for
        pid
        for pid in [jail.process.pid, *descendants(jail.process.pid)]
        if b"jailed_server.py" in (words := Path(f"/proc/{pid}/cmdline").read_bytes())
        and b"bwrap"
        not in words.split(b"\0")[0]  # which starts it, and has the paths to hide as arguments
    )
    found = []
    try:
        with open(f"/proc/{pid}/mem", "rb") as memory:
            for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
                span, rights, *_ = line.split()
                if rights.startswith("rw"):
                    start, end = (int(part, 16) for part in span.split("-"))
                    memory.seek(start)
                    found.append(memory.read(end - start))
    except PermissionError:
        pytest.skip("this process may not read the server's memory")
    return b"".join(found)


def test_a_level_that_is_unknown_is_refused_with_those_there_are():
    with pytest.raises(TitoError, match="fortress") as caught:
        jails.strongest("fortress")
    assert caught.value.remedy == "There are: bubblewrap, landlock+seccomp, process."


def test_bubblewrap_that_is_asked_for_and_not_there_is_reported(monkeypatch):
    monkeypatch.setattr(jails.shutil, "which", lambda name: None)
    with pytest.raises(TitoError) as caught:
        jails.strongest("bubblewrap")
    assert caught.value.code == 3 and "bwrap, which is not installed" in caught.value.what


def test_the_weakest_level_is_taken_only_when_it_is_asked_for(monkeypatch):
    with jails.strongest("process") as jail:
        assert jail.level == "process"

    def nothing_works(level, secret):
        raise MachineError(f"{level} is broken.", "")

    monkeypatch.setattr(jails, "Jail", nothing_works)
    with pytest.raises(TitoError, match="broken") as caught:
        jails.strongest("")
    assert caught.value.code == 3 and "--isolation process" in caught.value.remedy


def test_without_bubblewrap_the_next_level_is_taken(monkeypatch):
    started = []

    class Recorded:
        def __init__(self, level, secret):
            self.level = level
            started.append(level)

    monkeypatch.setattr(jails, "Jail", Recorded)
    monkeypatch.setattr(jails.shutil, "which", lambda name: None)
    assert jails.strongest("").level == "landlock+seccomp" and started == ["landlock+seccomp"]
    monkeypatch.setattr(jails.shutil, "which", lambda name: "/usr/bin/bwrap")
    assert jails.strongest("").level == "bubblewrap"


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="there are other levels elsewhere")
@pytest.mark.parametrize("code", [-signal.SIGKILL, 128 + signal.SIGKILL])
def test_a_jail_that_is_killed_while_it_starts_lowers_no_level(monkeypatch, code):
    """A machine without memory left kills it first; and bwrap tells of it by its exit code."""
    ends = f"import os; os.kill(os.getpid(), 9) if {code} < 0 else os._exit({code})"
    real, left = jails.command, [1, 1]

    def command(level, secret, draws):
        started.append(level)
        return [sys.executable, "-c", ends] if left and left.pop() else real("process", secret)

    started = []
    monkeypatch.setattr(jails, "command", command)
    monkeypatch.setattr(jails.shutil, "which", lambda name: "/usr/bin/bwrap")
    with jails.strongest("") as jail:
        assert jail.level == "bubblewrap" and started == ["bubblewrap"] * 3
    left += [1] * 3
    with pytest.raises(TitoError, match="level bubblewrap .* was killed 3 times") as caught:
        jails.strongest("")
    assert caught.value.code == 3 and not left


def test_only_the_parts_beside_a_secret_stay_readable(tmp_path):
    for name in ("a/b/secret/x", "a/b/open", "a/c", "d"):
        (tmp_path / name).mkdir(parents=True)
    found = jails.without(tmp_path, {tmp_path / "a/b/secret"})
    assert sorted(found) == [tmp_path / "a/b/open", tmp_path / "a/c", tmp_path / "d"]
    assert jails.without(tmp_path / "d", {tmp_path / "a/b/secret"}) == [tmp_path / "d"]
    assert jails.without(tmp_path / "d", {tmp_path / "d"}) == []


COURSE = Path(__file__).resolve().parents[4]


def imported_modules():
    """The packages that lessons, milestones and pages of the book import, without Python's own."""
    texts = [
        path.read_text(encoding="utf-8")
        for pattern in ("modules/source/*/*_dev.py", "modules/milestones/*.py", "book/*.md")
        for path in COURSE.glob(pattern)
    ]
    found = re.findall(
        r"^ *(?:import|from) +([a-z]\w*)[\w.]*(?: +import\b|$)", "\n".join(texts), re.M
    )
    beside = {path.stem for path in COURSE.glob("modules/[ms]*/*.py")}
    return set(found) - beside - sys.stdlib_module_names - {"tinytorch", "tito"}


DRAWING = """
import matplotlib.pyplot as plt, io, PIL.Image, packaging.version, dateutil.tz, mpl_toolkits.mplot3d
figure, axes = plt.subplots()
axes.plot([1, 2])
figure.savefig(file := io.BytesIO())
done = file.tell() > 1000
"""


@pytest.mark.slow
@levels
def test_a_lesson_can_import_and_draw_what_the_course_imports(level):
    assert {"numpy", "matplotlib"} <= imported_modules() <= conditions.importable().keys()
    code = marshal.dumps(statements_of(DRAWING, "tinytorch.core.x"))
    modules = {"tinytorch": None, "tinytorch.core": None, "tinytorch.core.x": code}
    with Jail(level, draws=True) as jail:
        fork = jail.fork()
        load = ["load", modules, "tinytorch.core.x", ["done"], ["done"], check_namespace.START, []]
        assert talk(fork).do(*load) == {"done": True}
        fork.end()
        for name in sorted(conditions.importable()):
            fork = jail.fork()
            assert talk(fork).do("import", name) is not None
            fork.end()


def test_a_fork_without_matplotlib_ends_so_that_the_judge_uses_another_jail():
    with Jail("process") as jail:
        fork = jail.fork()
        with pytest.raises(proxy.Died):
            talk(fork).do("import", "matplotlib")
        fork.end()
        assert fork.code() == NEEDS_PICTURES
