"""Single keys from a terminal, without Enter: h, l, n, q."""

import os
import re
import signal
import sys
import threading
from contextlib import contextmanager

KEYS = "hlnq"
ESCAPE = re.compile(r"\x1b(\[[0-9;?]*[ -/]*[@-~]?|O.?|.)?")  # what arrow and function keys send


@contextmanager
def single_keys(tell):
    """Tell each key pressed, where standard input is a terminal.

    Restores the terminal at the end.
    """
    if not sys.stdin.isatty():
        yield False
        return
    leave = threading.Event()
    try:
        import termios
        import tty
    except ImportError:  # Windows
        import msvcrt

        def press():
            while not leave.wait(0.05):
                if msvcrt.kbhit():
                    tell(msvcrt.getwch().lower())

        threading.Thread(target=press, daemon=True).start()
        yield True
        leave.set()
        return
    import select

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)

    def press():
        while not leave.is_set():
            if not select.select([descriptor], [], [], 0.1)[0]:
                continue
            try:
                typed = os.read(descriptor, 1024).decode("ascii", "replace")
            except OSError:
                typed = ""
            if not typed:  # the terminal is gone
                tell("q")
                return
            for key in ESCAPE.sub("", typed).lower():
                if key in KEYS:
                    tell(key)

    def resume(number, frame):
        try:
            tty.setcbreak(descriptor)
        except termios.error:
            pass  # a terminal that is closed sends this signal too

    reader = threading.Thread(target=press, daemon=True)
    try:
        tty.setcbreak(descriptor)
        signal.signal(signal.SIGCONT, resume)  # after Ctrl-Z and fg
        reader.start()
        yield True
    finally:
        leave.set()
        signal.signal(signal.SIGCONT, signal.SIG_DFL)
        if reader.is_alive():
            reader.join(timeout=1)
        try:
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        except termios.error:
            pass  # the terminal is gone
