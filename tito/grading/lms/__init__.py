"""The systems of schools: each file has everything that tito knows of one. Input: names, headers
and rows as a system writes them; output: the same in tito's form; for grades and feedback the other
way round. No module here opens a file or a gradebook.

To add a system, write a file with a subclass of `System` (`system.py` explains its parts, and a
system needs only those that it has), and add it to SYSTEMS. Formats, options and help follow.

system.py  the protocol, and the plain values that are passed
"""

from collections.abc import Iterable

from tito.grading.lms.blackboard import Blackboard
from tito.grading.lms.brightspace import Brightspace
from tito.grading.lms.canvas import Canvas
from tito.grading.lms.classroom50 import Classroom50
from tito.grading.lms.github import GitHub
from tito.grading.lms.google import Google
from tito.grading.lms.gradescope import Gradescope
from tito.grading.lms.moodle import Moodle
from tito.grading.lms.system import Entry, System

# A list, or a name, is of the first system that knows it; of names, guesses come last.
SYSTEMS: dict[str, System] = {
    "canvas": Canvas(),
    "github": GitHub(),
    "google": Google(),
    "brightspace": Brightspace(),
    "blackboard": Blackboard(),
    "gradescope": Gradescope(),
    "classroom50": Classroom50(),
    "moodle": Moodle(),
}


def read_name(stem: str) -> Entry | None:
    """What a system wrote into the name of an entry of a download; None: no system has."""
    entries = [entry for system in SYSTEMS.values() if (entry := system.entry(stem))]
    return max(entries, key=lambda entry: entry.is_certain, default=None)


def having(part: str) -> dict[str, System]:
    """The systems that have a part, such as "export"."""
    return {name: system for name, system in SYSTEMS.items() if getattr(system, part)}


def formats() -> list[str]:
    """The formats of grades: first formats of one file, then formats of a folder."""
    return ["csv", *sorted(having("export"), key=lambda name: SYSTEMS[name].export != "a file")]


def id_columns() -> list[str]:
    """The columns of class lists that tell learners apart. Logins come before numbers, because file
    names contain them and people read them; the systems' own numbers come last.
    """
    ids = [name for system in SYSTEMS.values() for name in system.ids]
    numbers = [name for system in SYSTEMS.values() for name in system.numbers]
    return list(dict.fromkeys(["student", *ids, "email", "github", *numbers]))


def said(source: str) -> str:
    """Who says when work arrived, in words. source: the name of a system, or else of an option."""
    return SYSTEMS[source].said if source in SYSTEMS else f"by {source}"


def joined(words: Iterable[str]) -> str:
    """The words of a help text as "a, b or c"."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last
