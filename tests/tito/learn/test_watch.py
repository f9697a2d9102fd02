"""tito/learn/watch.py: a verdict at each save, keys in a terminal, and a clean end whatever ends
it.
"""

import io
import os
import queue
import re
import shlex
import signal
import subprocess
import sys
import threading
import time

import pexpect
import pytest
from small_course import edit, solve, verdict_on

from tito.learn import demonstrations, lesson_page, progress
from tito.learn.watch import TOGETHER, Keyboard, Printer, Watcher

TITO = [sys.executable, "-m", "tito"]
VERDICT = r"(passed|failed|so far)\S*  .*?(\d) of (\d) points?, "
READY = r"q quit"
QUICK = 20  # seconds within which anything must happen, on a busy machine too


@pytest.fixture
def entry(small_workspace):
    return small_workspace.lesson("numbers")


@pytest.fixture
def watching(small_workspace):
    """Starts `tito watch` in a new terminal, and kills remaining processes at the end."""
    started = []

    def start(errors=None, name="numbers"):
        words = shlex.join([*TITO, "watch", name]) + (
            f" 2>{shlex.quote(str(errors))}" if errors else ""
        )
        terminal = pexpect.spawn(
            "sh",
            ["-c", f"exec {words}"],
            cwd=small_workspace.path,
            encoding="utf-8",
            timeout=QUICK,
            dimensions=(40, 100),
            env={k: v for k, v in os.environ.items() if k != "NO_COLOR"}
            | {"TERM": "xterm-256color", "DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": ""},
        )
        started.append(terminal)
        return terminal

    yield start
    for terminal in started:
        if terminal.isalive():
            terminal.kill(signal.SIGKILL)
            terminal.wait()
        terminal.close()


def verdict_of(terminal):
    """The next verdict on the screen, as "failed 0"."""
    terminal.expect(VERDICT)
    result = f"{terminal.match.group(1)} {terminal.match.group(2)}"
    terminal.expect(READY)
    return result


def press(terminal, keys):
    """Press keys one after the other; what comes faster is a text."""
    for key in keys:
        time.sleep(1.5 * TOGETHER)
        terminal.send(key)


def nothing_more(terminal):
    """That no further verdict comes for a while."""
    return terminal.expect([VERDICT, pexpect.TIMEOUT], timeout=0.8) == 1


def family(pid):
    """The processes that descend from `pid`."""
    names = [
        tuple(map(int, line.split()))
        for line in subprocess.run(
            ["ps", "-axo", "pid=,ppid="], capture_output=True, text=True, check=True
        ).stdout.splitlines()
    ]
    result = [pid]
    for one in result:
        result += [child for child, parent in names if parent == one]
    return result[1:]


def alive(pids):
    """Which of these processes still run after a moment of grace."""
    until = time.monotonic() + 5
    while True:
        names = subprocess.run(
            ["ps", "-axo", "pid=,stat="], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        left = [
            pid
            for pid, state in (line.split()[:2] for line in names)
            if int(pid) in pids and not state.startswith("Z")
        ]
        if not left or time.monotonic() > until:
            return left
        time.sleep(0.05)


def test_there_is_a_verdict_at_the_start_and_after_a_save(watching, entry):
    terminal = watching()
    assert verdict_of(terminal) == "so far 0"
    solve(entry, "numbers-double")
    assert verdict_of(terminal) == "so far 4"
    solve(entry)
    assert verdict_of(terminal) == "passed 5"
    assert nothing_more(terminal)


@pytest.mark.slow
def test_the_keys_give_a_hint_the_list_and_the_next_lesson_and_others_do_nothing(watching, entry):
    terminal = watching()
    verdict_of(terminal)
    # Escape sequences end in letters that are keys of ours: Home in H, F2 in Q.
    terminal.send("xyzé\n\x04\x1b[H\x1bOQ\x1b[A\x1b[15~")
    press(terminal, "h")
    terminal.expect("numbers-double, hint 1 of 2")
    terminal.expect("What is a number plus itself")
    press(terminal, "hh")
    terminal.expect("hint 2 of 2")
    terminal.expect("shown before")
    press(terminal, "nL")
    terminal.expect("numbers is not finished. Press n again to go on to sums")
    terminal.expect("1 exercise: sums")
    terminal.expect("next: ")
    press(terminal, "nn")
    terminal.expect("02 sums")
    terminal.expect(READY)
    press(terminal, "nn")
    terminal.expect("01 numbers")
    press(terminal, "q")
    terminal.expect("Stopped watching")
    terminal.expect(pexpect.EOF)
    terminal.wait()
    assert terminal.exitstatus == 0


@pytest.mark.slow
def test_after_the_key_n_the_next_lesson_is_the_one_watched(watching, small_workspace, entry):
    terminal = watching()
    verdict_of(terminal)
    press(terminal, "nn")
    terminal.expect("02 sums")
    terminal.expect(READY)
    solve(entry)
    assert nothing_more(terminal)
    solve(small_workspace.lesson("sums"))
    assert verdict_of(terminal) == "passed 2"


@pytest.mark.slow
def test_the_key_n_opens_the_lesson_that_is_named_as_next(watching, small_workspace, entry):
    solve(small_workspace.lesson("sums"))
    solve(entry)
    verdict_on(entry)
    edit(entry, "twice = x + x", "twice = 2 * x")
    terminal = watching(name="sums")
    terminal.expect(r"next: \S*tito test numbers")
    terminal.expect(READY)
    press(terminal, "n")
    terminal.expect("01 numbers")
    terminal.expect(READY)
    press(terminal, "n")
    terminal.expect("02 sums")
    terminal.expect(READY)
    press(terminal, "n")
    terminal.expect("No other lesson is open")


@pytest.mark.parametrize(
    "end",
    [
        "q",
        "ctrl-c",
        pytest.param("two ctrl-c", marks=pytest.mark.slow),
        pytest.param("sigterm", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "while a check hangs"])
def test_it_ends_in_good_order(watching, entry, end, busy):
    import termios

    if busy:
        edit(
            entry,
            double_stub(entry),
            "while True:\n        try:\n            while True: pass\n        except BaseException:"
            " pass",
        )
    terminal = watching()
    outside = termios.tcgetattr(terminal.child_fd)
    if busy:
        until = time.monotonic() + QUICK
        # the warm process, and its fork
        while len(children := family(terminal.pid)) < 2 and time.monotonic() < until:
            time.sleep(0.05)
        assert len(children) == 2
        assert not termios.tcgetattr(terminal.child_fd)[3] & termios.ECHO
        time.sleep(0.2)
    else:
        verdict_of(terminal)
        children = family(terminal.pid)
        assert len(children) == 1
    began = time.monotonic()
    if end == "sigterm":
        terminal.kill(signal.SIGTERM)
    else:
        terminal.send({"q": "q", "ctrl-c": "\x03", "two ctrl-c": "\x03\x03"}[end])
    terminal.expect("Stopped watching")
    inside = termios.tcgetattr(terminal.child_fd)
    terminal.expect(pexpect.EOF)
    terminal.wait()
    assert (terminal.exitstatus, terminal.signalstatus) == (0, None)
    assert inside[3] & termios.ECHO and inside[3] & termios.ICANON, (
        "the terminal still swallows what is typed"
    )
    assert inside[3] == outside[3] | termios.ECHO | termios.ICANON
    assert alive(children) == []
    assert time.monotonic() - began < 5, "it waited for the check"


def double_stub(entry):
    return next(
        line.strip()
        for line in entry.script.read_text(encoding="utf-8").splitlines()
        if "write: tito hint numbers-double" in line
    )


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "while a check hangs"])
def test_a_closed_terminal_ends_it_and_leaves_no_process(watching, entry, tmp_path, busy):
    if busy:
        edit(entry, double_stub(entry), "while True: pass")
    errors = tmp_path / "errors"
    terminal = watching(errors=errors)
    if busy:
        until = time.monotonic() + QUICK
        while len(family(terminal.pid)) < 2 and time.monotonic() < until:
            time.sleep(0.05)
    else:
        verdict_of(terminal)
    pids = [terminal.pid, *family(terminal.pid)]
    assert len(pids) == 2 + busy
    terminal.ptyproc.fileobj.close()
    _, status = os.waitpid(terminal.pid, 0)
    terminal.closed = terminal.terminated = terminal.ptyproc.closed = (
        terminal.ptyproc.terminated
    ) = True
    assert os.waitstatus_to_exitcode(status) == 0
    assert errors.read_text(encoding="utf-8") == ""
    assert alive(pids) == []


def watch_without_a_terminal(workspace):
    return subprocess.Popen(
        [*TITO, "watch", "numbers"],
        cwd=workspace.path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_without_a_terminal_it_watches_until_a_signal(small_workspace, entry, number):
    with watch_without_a_terminal(small_workspace) as process:
        try:
            seen = []
            for line in process.stdout:
                seen.append(line)
                if line.startswith("Watching"):
                    if any("passed  5 of 5" in text for text in seen):
                        break
                    solve(entry)
            children = family(process.pid)
            process.send_signal(number)
            rest, errors = process.communicate(timeout=QUICK)
        finally:
            process.kill()
    assert (process.returncode, rest, errors) == (0, "Stopped watching.\n", "")
    assert "Ctrl-C ends it" in seen[-1] and "\x1b" not in "".join(seen)
    assert alive(children) == []


def test_a_reader_that_goes_away_ends_it(small_workspace, entry):
    with watch_without_a_terminal(small_workspace) as process:
        try:
            while not process.stdout.readline().startswith("Watching"):
                pass
            process.stdout.close()
            solve(entry)
            children = family(process.pid)
            assert process.stderr.read() == ""
            assert process.wait(QUICK) in (0, 1)
            assert alive(children) == []
        finally:
            process.kill()


def renamed(path, text):
    new = path.with_name(f".{path.name}.swp")
    new.write_text(text, encoding="utf-8")
    os.replace(new, path)


def truncated(path, text):
    with path.open("w", encoding="utf-8") as file:
        file.flush()
        time.sleep(0.15)  # a slow disk: for a moment the file is empty
        file.write(text)


def deleted(path, text):
    path.unlink()
    time.sleep(0.15)
    path.write_text(text, encoding="utf-8")


def backed_up(path, text):
    os.replace(path, path.with_name(path.name + "~"))
    path.write_text(text, encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("save", [renamed, truncated, deleted, backed_up])
def test_whatever_way_an_editor_saves_one_verdict_follows(watching, entry, save):
    terminal = watching()
    verdict_of(terminal)
    solution = entry.root.reference.lesson("numbers").script.read_text(encoding="utf-8")
    save(entry.script, solution)
    assert verdict_of(terminal) == "passed 5"
    assert nothing_more(terminal)


def test_a_save_in_two_halves_ends_in_the_verdict_of_the_whole(watching, entry):
    terminal = watching()
    verdict_of(terminal)
    solution = entry.root.reference.lesson("numbers").script.read_text(encoding="utf-8")
    with entry.script.open("w", encoding="utf-8") as file:
        file.write(solution[: len(solution) // 2])
        file.flush()
        time.sleep(0.3)
        file.write(solution[len(solution) // 2 :])
    until = time.monotonic() + QUICK
    while (last := verdict_of(terminal)) != "passed 5" and time.monotonic() < until:
        pass
    assert last == "passed 5"
    assert nothing_more(terminal)


@pytest.mark.slow
def test_a_file_that_stays_empty_is_reported(watching, entry):
    terminal = watching()
    verdict_of(terminal)
    entry.script.write_bytes(b"")
    terminal.expect("numbers_dev.py is empty")
    terminal.expect("not tested")
    terminal.expect(READY)
    entry.script.unlink()
    terminal.expect("numbers_dev.py does not exist")
    terminal.expect("not tested")


def test_where_keys_work_the_key_is_what_gives_the_hint(watching, entry):
    terminal = watching()
    terminal.expect("2 hints left: ")
    terminal.expect(READY)
    assert "key h" in terminal.before and "tito hint" not in terminal.before
    press(terminal, "h")
    terminal.expect("1 more: key h")


@pytest.mark.slow
def test_a_test_that_takes_long_says_that_it_goes_on(watching, entry):
    terminal = watching()
    verdict_of(terminal)
    good = entry.root.reference.lesson("numbers").script.read_text(encoding="utf-8")
    entry.script.write_text(
        good.replace("LIMIT = 10", "import time; LIMIT = 10; time.sleep(1)"), encoding="utf-8"
    )
    terminal.expect(r"testing \.\.\.")
    assert verdict_of(terminal) == "passed 5"


@pytest.mark.slow
def test_a_check_that_runs_long_is_named_while_it_runs(watching, entry):
    edit(entry, double_stub(entry), "while True: pass")
    terminal = watching()
    terminal.expect(r"still running: \S*numbers-double, .double of two is four")
    assert "FAIL" not in terminal.before


@pytest.mark.slow
def test_touching_and_saving_the_same_text_again_is_no_new_verdict(watching, entry):
    terminal = watching()
    verdict_of(terminal)
    os.utime(entry.script, (1, 1))
    entry.script.write_bytes(entry.script.read_bytes())
    (entry.script.parent / "notes.txt").write_text("a file of mine", encoding="utf-8")
    assert nothing_more(terminal)


def test_a_save_while_a_check_hangs_is_tested_at_once(watching, entry):
    good = entry.root.reference.lesson("numbers").script.read_text(encoding="utf-8")
    terminal = watching()
    verdict_of(terminal)
    entry.script.write_text(good.replace("twice = x + x", "while True: pass"), encoding="utf-8")
    until = time.monotonic() + QUICK
    while len(family(terminal.pid)) < 2 and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(0.2)
    hanging = family(terminal.pid)[1:]
    began = time.monotonic()
    entry.script.write_text(good, encoding="utf-8")
    assert verdict_of(terminal) == "passed 5"
    assert time.monotonic() - began < 5, "the old check was waited for"
    assert len(hanging) == 1 and alive(hanging) == []
    assert nothing_more(terminal)


@pytest.mark.slow
def test_a_first_key_n_that_ends_a_test_lets_it_run_again(watching, entry):
    solve(entry, "numbers-double")
    edit(entry, "twice = x + x", "import time; time.sleep(0.8); twice = x + x")
    terminal = watching()
    time.sleep(1)  # the first check runs
    press(terminal, "n")
    terminal.expect("Press n again to go on to sums")
    assert verdict_of(terminal) == "so far 4"


@pytest.mark.parametrize(
    "mistake, told",
    [
        ("import os; os._exit(0)", "ended here, with exit code 0"),
        pytest.param(
            "import ctypes; ctypes.string_at(0)",
            "ended here, with exit code -11",
            marks=pytest.mark.slow,
        ),
        ("twice = = x", "syntax error"),
        pytest.param("raise SystemExit(3)", "sys.exit", marks=pytest.mark.slow),
    ],
)
def test_no_mistake_ends_the_watching(watching, entry, mistake, told):
    good = entry.root.reference.lesson("numbers").script.read_text(encoding="utf-8")
    terminal = watching()
    verdict_of(terminal)
    entry.script.write_text(good.replace("twice = x + x", mistake), encoding="utf-8")
    terminal.expect(re.escape(told))
    terminal.expect(READY)
    entry.script.write_text(good, encoding="utf-8")
    assert verdict_of(terminal) == "passed 5"


@pytest.mark.slow
def test_saves_of_the_notebook_count_and_the_script_that_follows_is_no_save(
    watching, small_workspace, entry
):
    from tito.learn import notebook_sync
    from tito.lesson import notebook

    notebook_sync.settle(entry, make=True)
    solution = notebook.to_notebook(
        entry.root.reference.lesson("numbers").script.read_text(encoding="utf-8"), entry.declared
    )
    terminal = watching()
    verdict_of(terminal)
    entry.notebook.write_text(solution, encoding="utf-8")
    assert verdict_of(terminal) == "passed 5"
    assert nothing_more(terminal)
    assert "twice = x + x" in entry.script.read_text(encoding="utf-8")
    edit(entry, "twice = x + x", "twice = x * x * x")
    assert verdict_of(terminal) == "failed 0"
    assert nothing_more(terminal)
    assert "x * x * x" in entry.notebook.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_conflict_of_script_and_notebook_is_reported_and_the_watching_goes_on(watching, entry):
    from tito.learn import notebook_sync
    from tito.lesson import notebook

    notebook_sync.settle(entry, make=True)
    terminal = watching()
    verdict_of(terminal)
    good = entry.root.reference.lesson("numbers").script.read_text(encoding="utf-8")
    both = {
        entry.script: entry.script.read_text(encoding="utf-8").replace("Numbers", "Zahlen"),
        entry.notebook: notebook.to_notebook(good, entry.declared),
    }
    for path, text in both.items():
        path.write_text(text, encoding="utf-8")
    terminal.expect(r"were\s+both\s+edited")  # the terminal may fold the line there
    assert {path: path.read_text(encoding="utf-8") for path in both} == both
    terminal.expect(READY)
    entry.script.write_text(good, encoding="utf-8")
    assert verdict_of(terminal) == "passed 5"


# Predictions, and the page of results

ASKED = """
# %% [markdown]
# Predict what four becomes.

# %% tags=["answer"]
print("four becomes", double(4))
"""


def asked(entry):
    """Let a demonstration below `double` answer a question."""
    edit(entry, 'check("double")\n', f'check("double")\n{ASKED}')


@pytest.mark.slow
def test_a_prediction_is_asked_for_and_kept_before_the_answer_is_shown(watching, entry):
    asked(entry)
    lesson_page.write(entry)
    terminal = watching()
    verdict_of(terminal)
    solve(entry, "numbers-double")
    terminal.expect(r'Read the section "\S*Doubling')
    assert "Predict" not in terminal.before and "four becomes" not in terminal.before
    terminal.expect(READY)
    press(terminal, "p")
    terminal.expect(r'print\("four becomes", double\(4\)\)')
    terminal.expect("Predict what four becomes")
    terminal.expect("enter to see")
    assert terminal.expect(["four becomes 8", pexpect.TIMEOUT], timeout=0.8) == 1
    terminal.send("nine\x7fteen, größer\r")
    terminal.expect("teen, größer")
    terminal.expect("four becomes 8")
    terminal.expect("all results")
    (record,) = progress.load(entry.root)["lessons"].values()
    assert record["predictions"] == {"Predict what four becomes.": "ninteen, größer"}
    assert "ninteen, größer" in demonstrations.page_of(entry).read_text(encoding="utf-8")
    solve(entry, "numbers-triple")
    terminal.expect(r"1 prediction of yours beside what happened: \S*tito read")
    terminal.expect("15 10")


def test_enter_alone_shows_the_answer_and_keeps_nothing(watching, entry):
    asked(entry)
    solve(entry, "numbers-double")
    terminal = watching()
    terminal.expect(READY)
    press(terminal, "p")
    terminal.expect("enter to see")
    terminal.send("\r")
    terminal.expect("four becomes 8")
    terminal.expect("all results")
    assert "predictions" not in progress.load(entry.root)["lessons"]["numbers"]


def test_an_enter_that_comes_with_the_question_answers_it(entry, monkeypatch):
    events = queue.SimpleQueue()
    keyboard = Keyboard(None, events.put, None)

    class Terminal(io.StringIO):
        def flush(self):
            if "your prediction?" in self.getvalue() and events.empty():
                keyboard.take("\n")  # the prompt has just come to the screen

    monkeypatch.setattr(sys, "stdout", Terminal())
    watcher = Watcher(entry, Printer(print, None, None), None, events, keyboard)
    patience = threading.Timer(5, events.put, ["q"])  # or a lost enter would be waited for
    patience.start()
    watcher.ask("Predict the sum.")
    assert patience.is_alive(), "the enter was lost"
    patience.cancel()


def test_a_save_is_tested_at_once_and_the_question_is_asked_again(watching, entry):
    asked(entry)
    solve(entry, "numbers-double")
    terminal = watching()
    terminal.expect(READY)
    press(terminal, "p")
    terminal.expect("enter to see")
    terminal.send("ei")
    terminal.expect("ei")
    edit(entry, "twice = x + x", "twice = 2 * x")
    terminal.expect(r'Read the section "\S*Doubling')
    terminal.expect(READY)
    press(terminal, "p")
    terminal.expect(r"enter to see\) ei")
    terminal.send("ght\r")
    terminal.expect("four becomes 8")
    predictions = progress.predictions(entry)
    assert list(predictions.values()) == ["eight"]


@pytest.mark.slow
def test_a_paste_arrives_whole_and_is_no_keys(watching, entry):
    asked(entry)
    solve(entry, "numbers-double")
    terminal = watching()
    terminal.expect(READY)
    terminal.send("nobody would help: q\r")
    assert nothing_more(terminal)
    press(terminal, "p")
    terminal.expect("enter to see")
    words = "eight, because it is doubled once more than two was before"
    terminal.send(f"{words}\r")
    terminal.expect("four becomes 8")
    assert list(progress.predictions(entry).values()) == [words]


def test_a_key_shows_one_section_and_says_where_to_read_on(watching, entry):
    solve(entry)
    asked(entry)
    edit(
        entry, "print(triple(5), LIMIT)\n", f"print(triple(5), LIMIT)\n{ASKED.replace('four', '4')}"
    )
    terminal = watching()
    terminal.expect(r'Read the section "\S*Doubling')
    terminal.expect("Not shown yet: 3 results")
    terminal.expect(READY)
    press(terminal, "p")
    terminal.expect("enter to see")
    terminal.send("eight\r")
    terminal.expect("four becomes 8")
    terminal.expect(r'Read the section "\S*Tripling')
    terminal.expect("Not shown yet: 2 results")
    press(terminal, "p")
    terminal.expect("15 10")
    terminal.expect("enter to see")
    terminal.send("\r")
    terminal.expect("4 becomes 8")
    terminal.expect("all results")
    press(terminal, "p")
    terminal.expect("nothing to predict now")


def test_the_key_o_prints_the_path_of_the_page(watching, entry):
    terminal = watching()
    verdict_of(terminal)
    press(terminal, "o")
    terminal.expect("Open this page:\r\n.tito/results/01_numbers/index.html\r\n")
