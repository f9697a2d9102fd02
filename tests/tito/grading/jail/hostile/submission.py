"""What a hostile submission of the tests is, and what each of them may use."""

from dataclasses import dataclass

START = "# %%\n#| default_exp core.vectors\n\n# %%\n#| export\n"

# The base of every submission: no exercise is right, and the findings of an attack become the text
# of an error.
WRONG = '''
import ctypes, gc, json, os, socket, struct, sys, threading, time
import numpy as np

found = []


def attempt(name, action):
    """Try something that must not work, and note what came of it."""
    try:
        got = action()
    except BaseException as error:
        found.append(f"{name}: {type(error).__name__}")
    else:
        found.append(f"{name}: GOT {got!r:.400}")


def call(number, *arguments):
    """A system call by its number on x86_64; an error is an OSError."""
    got = ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *arguments)
    if got == -1:
        raise OSError(ctypes.get_errno(), "refused")
    return got


def frame(body, blobs=b""):
    """A message of the protocol."""
    text = body if type(body) is bytes else json.dumps(body).encode()
    return struct.pack(">II", len(text), len(blobs)) + text + blobs


def say(message):
    """Write to the judge past the agent."""
    while message:
        message = message[os.write(3, message):]


def double(x):
    raise ValueError(" | ".join(found) or "nothing tried")


class Vector:
    def __init__(self, data):
        pass


def twice(function, x):
    return 0


'''

# The exercises solved, for submissions that attack with one of them and have earned the others.
RIGHT_DOUBLE = """
def double(x):
    return x + x
"""
RIGHT_VECTOR = """
class Vector:
    def __init__(self, data):
        self.data = np.array(data, dtype=np.float64)
        self.shape = self.data.shape

    def __add__(self, other):
        return Vector(self.data + other.data)

    def __gt__(self, other):
        return Vector(self.data > other)

    def __len__(self):
        return len(self.data)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def total(self):
        return float(self.data.sum())
"""
RIGHT_TWICE = """
def twice(function, x):
    return function(function(x))
"""
POINTS = {RIGHT_DOUBLE: 7, RIGHT_VECTOR: 4, RIGHT_TWICE: 2}


@dataclass(frozen=True)
class Hostile:
    """One hostile submission.

    code      of the lesson, after WRONG
    honest    the exercises that it solves beside the attack (of POINTS): the only points it may get
    verdict   of the lesson; with | between two that are both true
    status    of the first check, likewise
    jailed    what it tries is refused by the jail's levels only; at the level `process` it is not
              run
    """

    name: str
    code: str
    honest: tuple = ()
    verdict: str = "failed"
    status: str = "error"
    jailed: bool = False

    @property
    def text(self):
        return START + WRONG + "".join(self.honest) + self.code

    @property
    def points(self):
        return sum(POINTS[part] for part in self.honest)


def collector():
    """(list, function that adds a Hostile to it): a module's table."""
    table = []

    def hostile(name, code, **more):
        table.append(Hostile(name, code, **more))

    return table, hostile
