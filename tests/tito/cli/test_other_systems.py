"""A learner's commands, here and under the emulation of Windows and macOS (other_systems.py).

The tests that need the emulation start a process under it; the first one runs here as it is, and
`test_the_learners_commands_work` runs it again in such a process.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import tito
from small_course import introduce, make_course, solve

from tito.lesson import course

TESTS = Path(__file__).resolve().parents[2]
EMULATOR = TESTS.parent / "tools" / "other_systems.py"
SYSTEMS = ("windows", "macos")


def emulated(system, *words, cwd=TESTS.parent, **variables):
    return subprocess.run(
        [sys.executable, EMULATOR, system, *map(str, words)],
        cwd=cwd,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        timeout=300,
    )


def code(system, text, *words, **variables):
    """What a program prints that runs as the project's code, under the emulation."""
    done = emulated(system, "-c", text, *words, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def learner(tmp_path):
    """A course, and the path of a workspace to be, as on a learner's machine."""
    folder = make_course(tmp_path / "Jörg Müller (x)" / "course")
    introduce(folder, {"größer": ""})
    return course.open_root(folder), folder.with_name("my work")


def test_a_learner_uses_every_command(learner):
    source, folder = learner
    assert "is ready" in tito(source, "init", folder)[0]
    root = course.open_root(folder)
    entry = root.lesson("numbers")
    assert "numbers_dev.py" in tito(root, "start", "numbers")[0]
    entry.script.write_bytes(entry.script.read_bytes().replace(b"\n", b"\r\n"))
    assert "0 of 5 points" in tito(root, "test", "numbers", code=1)[0]
    assert "plus itself" in tito(root, "hint", "numbers-double")[0]
    solve(entry)
    entry.script.write_bytes(entry.script.read_bytes().replace(b"\n", b"\r\n"))
    assert "5 of 5 points" in tito(root, "test", "numbers")[0]
    assert "passed" in tito(root, "status")[0]
    assert "twice" in tito(root, "compare", "numbers-double")[0]
    assert "numbers" in tito(root, "word", "größer")[0]
    assert "index.html" in tito(root, "read", "numbers")[0]
    tito(root, "reset", "numbers")
    tito(root, "undo")
    tito(root, "undo")
    tito(root, "undo")
    tito(root, "notebook", "numbers", "--no-open")
    assert entry.notebook.exists()
    tito(root, "skip", "sums")
    tito(root, "export", "numbers")
    tito(root, "milestone")
    tito(root, "submit", "numbers")
    (archive,) = folder.glob("*.zip")
    tito(root, "reset", "numbers")
    assert "numbers" in tito(root, "restore", archive)[0]
    tito(root, "update", source.path)
    assert "5 of 5 points" in tito(root, "test", "numbers")[0]
    assert "problem" not in tito(root, "doctor")[0]


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_learners_commands_work(system):
    words = "-m pytest -q --all -p no:cacheprovider -k every_command".split()
    done = emulated(system, *words, __file__)
    assert "1 passed" in done.stdout, done.stdout[-5000:] + done.stderr


@pytest.mark.slow
def test_a_terminal_in_cp1252_shows_what_it_can(learner):
    source, folder = learner
    tito(source, "init", folder)
    words = ("-m", "tito", "test", "numbers")
    done = emulated("windows", *words, cwd=folder, PYTHONIOENCODING="cp1252")
    assert done.returncode == 1 and "0 of 5 points" in done.stdout, done.stderr
    assert "Traceback" not in done.stderr


MISSING = """
import os, signal, sys
try:
    import fcntl
except ImportError:
    print(os.name, sys.platform, hasattr(os, "fork"), hasattr(signal, "SIGALRM"))
"""


def test_the_emulation_hides_what_windows_lacks():
    assert code("windows", MISSING) == "nt win32 False False\n"


WRITES = """
import sys, time
from pathlib import Path
from tito import files
from tito.errors import MachineError
files.PATIENCE = float(sys.argv[2])
try:
    files.write(Path(sys.argv[1]), "new")
    print(Path(sys.argv[1]).read_text())
except MachineError as error:
    print(error.what, error.remedy)
"""


@pytest.mark.parametrize(
    "patience, says",
    [(10, "new"), pytest.param(0, "another program has it open", marks=pytest.mark.slow)],
)
def test_a_file_that_an_editor_holds_is_written_once_it_is_closed(tmp_path, patience, says):
    path = tmp_path / "held.py"
    path.write_text("old")
    began = time.monotonic()
    assert says in code("windows", HOLD + WRITES, path, patience)
    assert time.monotonic() - began < 30
    assert path.read_text() == ("new" if patience else "old")


# A process that has a file open for half a second, as an editor or a virus scanner does.
HOLD = """
import subprocess, sys
holder = subprocess.Popen([sys.executable, "-c", '''
import sys, time
with open(sys.argv[1], "rb"):
    print(flush=True)
    time.sleep(0.5)
''', sys.argv[1]], stdout=subprocess.PIPE)
holder.stdout.readline()
"""

KEYS = r"""
from tito.learn.watch import Keyboard
events = []
keyboard = Keyboard(None, events.append, None)
for typed in ("\xe0H", "\x00P", "\xe0Q", "h"):  # up, F6, page down: what getwch gives
    keyboard.take(typed)
keyboard.key.join()
print(*events)
"""


def test_an_arrow_key_of_windows_is_no_letter():
    assert code("windows", KEYS) == "h\n"


CTRL_C = """
import os, queue, signal, threading
from tito.learn.watch import Watcher, _ending
events = queue.SimpleQueue()
with _ending(events.put):
    threading.Timer(0.3, lambda: signal.pthread_kill(timer.ident, signal.SIGINT)).start()
    timer = threading.Thread(target=threading.Event().wait, daemon=True)
    timer.start()
    print(Watcher(None, None, None, events)._next_event())
"""


def test_ctrl_c_ends_a_watch_on_windows():
    assert code("windows", CTRL_C) == "q\n"


ENDLESS = """
import json, subprocess, sys, time
from tito.learn import process
Process = process.Process()
print(Process.child.process.pid, flush=True)
request = json.loads(sys.argv[1])
Process.child.send(request)
print(Process.child.receive(time.monotonic() + 20), flush=True)
time.sleep(60)
"""


@pytest.mark.slow
def test_a_check_without_an_end_ends_with_the_tito_that_was_killed(tmp_path):
    (tmp_path / "tinytorch").mkdir()
    (tmp_path / "tinytorch" / "__init__.py").write_text("while True: pass\n")
    request = {"root": str(tmp_path), "package": "tinytorch", "texts": {}, "module": "core.x"}
    request |= {"preload": False, "draws": False, "seconds": 60}
    words = [sys.executable, EMULATOR, "windows", "-c", ENDLESS, json.dumps(request)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as caller:
        pid = int(caller.stdout.readline())
        assert "started" in caller.stdout.readline()
        caller.kill()
    deadline = time.monotonic() + 20
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < deadline, "it still runs"
        time.sleep(0.1)


NEXT = """
from pathlib import Path
from tito.learn import jupyter
from tito.views.learner import enter
print(enter(Path("my work")))
print(jupyter.remedy())
"""


@pytest.mark.slow
def test_messages_show_the_commands_of_the_learners_own_system():
    assert code("macos", NEXT).startswith("cd 'my work' && . bin/activate-tinytorch.sh\n")
    first, second = code("windows", NEXT).splitlines()
    assert first == 'cd "my work"; bin\\activate-tinytorch.ps1'
    assert "pip install" in second or "`py " in second


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("words", ["grade class numbers", "similar class numbers", "check numbers"])
def test_what_confines_code_says_in_two_lines_that_it_needs_linux(learner, system, words):
    source, _ = learner
    (source.path / "class").mkdir()
    done = emulated(system, "-m", "tito", *words.split(), cwd=source.path)
    assert done.returncode == 3 and "WSL" in done.stderr, done.stderr
    message = done.stderr.rpartition("tito: ")[2]
    assert len(message.splitlines()) == 2 and "Traceback" not in done.stderr
