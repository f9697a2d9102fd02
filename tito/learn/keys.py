"""Keys from a terminal, without Enter: h, l, n, o, q; and, when asked for, a line."""

import codecs
import os
import re
import signal
import sys
import threading
from contextlib import contextmanager

KEYS = "hlnoq"
LONGEST = 500  # letters of a line
ESCAPE = re.compile(r"\x1b(\[[0-9;?]*[ -/]*[@-~]?|O.?|.)?")  # what arrow and function keys send


class Keys:
    """What is typed: single keys are told at once; a line that was asked for, when it is whole."""

    def __init__(self, tell):
        self.tell, self.line = tell, None
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def ask_line(self):
        """Take what is typed from now on as a line; it is told as ("line", text)."""
        self.line = ""

    def drop_line(self):
        self.line = None

    def take(self, typed: str):
        for letter in ESCAPE.sub("", typed):
            if self.line is None:
                if letter.lower() in KEYS:
                    self.tell(letter.lower())
            elif letter in "\r\n":
                line, self.line = self.line, None
                self._echo("\n")
                self.tell(("line", line.strip()))
            elif letter in "\x7f\b":
                if self.line:
                    self.line = self.line[:-1]
                    self._echo("\b \b")
            elif letter.isprintable() and len(self.line) < LONGEST:
                self.line += letter
                self._echo(letter)

    def _echo(self, text):
        sys.stdout.write(text)
        sys.stdout.flush()


@contextmanager
def single_keys(tell):
    """Tell each key pressed, where standard input is a terminal. Gives the `Keys`, or None where
    there is none.

    Restores the terminal at the end.
    """
    if not sys.stdin.isatty():
        yield None
        return
    keys = Keys(tell)
    leave = threading.Event()
    try:
        import termios
        import tty
    except ImportError:  # Windows
        import msvcrt

        def press():
            while not leave.wait(0.05):
                if msvcrt.kbhit():
                    keys.take(msvcrt.getwch())

        threading.Thread(target=press, daemon=True).start()
        yield keys
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
                typed = os.read(descriptor, 1024)
            except OSError:
                typed = b""
            if not typed:  # the terminal is gone
                tell("q")
                return
            keys.take(keys.decoder.decode(typed))

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
        yield keys
    finally:
        leave.set()
        signal.signal(signal.SIGCONT, signal.SIG_DFL)
        if reader.is_alive():
            reader.join(timeout=1)
        try:
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        except termios.error:
            pass  # the terminal is gone
