"""The settings of a grading run, its time limits, and the hash of what decides its results. This
module does not import NumPy, so that `tito grade` starts fast.

A setting for all learners is a policy of the course, in `tito.toml`:

    [grading]
    earlier_lessons = "both"   # the earlier lessons on which a lesson is graded: see BASES
    check_seconds = 10         # that a check may take, without waiting for a processor
    memory_mb = 1024           # that a check may use
"""

import hashlib
import json
import subprocess
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from tito import settings
from tito.child import run
from tito.lesson.cells import LARGEST
from tito.lesson.course import Entry, version

LEVELS = ("bubblewrap", "landlock+seccomp", "process")  # of isolation, the strongest first
OWN, REFERENCE, BOTH = settings.BASES

GRACE = 1  # seconds after the deadline in which a check that computes in the judge is interrupted
# All visible checks of a submission may take so many times the limit of one check, and all hidden
# ones as much again, but at least so many seconds; then no more are tried.
SUBMISSION_LIMIT, LEAST_SUBMISSION_SECONDS = 30, 300
# A check may last so many times its limit on a machine so busy that it waits for a processor.
EXCUSED = 10
PATIENCE = 120  # seconds for a submission, in addition to the time of its checks


@dataclass(frozen=True)
class Limits:
    """How much of a submission is looked at. Sizes in bytes."""

    file: int = LARGEST[".py"]
    notebook: int = LARGEST[".ipynb"]  # without its outputs
    zip: int = 200_000_000  # a learner's archive, or a notebook with its outputs
    inner_zip: int = 50_000_000  # an archive in an archive: it is held in memory
    held: int = 150_000_000  # all of these
    archives: int = 20  # in one archive, that are opened
    nested: int = 5  # archives in archives
    unpacked: int = 1_000_000_000  # what archives say they unpack to; only lessons are unpacked
    ratio: int = 100  # unpacked to packed, from 10 MB on and without notebooks: text has below 20
    members: int = 20_000  # in an archive with those in it, or files in a folder
    depth: int = 40  # folders in folders
    copies: int = 20  # files of one lesson
    read: int = 50_000_000  # all lesson files of a learner
    others: int = 50  # scripts and notebooks whose names do not say which lesson they are
    class_members: int = 200_000  # in one zip of the whole class

    def largest(self, packed: int) -> int:
        """The bytes, without notebooks, to which so many may unpack."""
        return max(10_000_000, self.ratio * packed)


LIMITS = Limits()


@dataclass(frozen=True)
class Setting:
    """How a class is graded.

    root             of the course
    lessons          their names
    level            of isolation; "": the strongest that works
    earlier_lessons  of BASES
    commit           of the course, see `commit_of`
    seconds          that a check may take, besides those in which it waits for a processor
    memory           MB that a check may use
    secret           paths that no jail may read
    limits           of what is read of a submission
    """

    root: Path
    lessons: tuple[str, ...]
    level: str
    earlier_lessons: str = BOTH
    seconds: float = 10.0
    memory: int = 1024
    secret: tuple[str, ...] = ()
    limits: Limits = LIMITS
    commit: str = ""


def commit_of(course: Path) -> str:
    """The commit of a course, as git names it; with "-dirty" where files have changed; "" where
    there is none.
    """
    for words in (
        ["ls-files", "--error-unmatch", "tito.toml"],  # not the commit of a folder around it
        ["describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
    ):
        try:
            done = run(["git", "-C", course, *words], 10)
        except (OSError, subprocess.TimeoutExpired):
            return ""
        if done.returncode:
            return ""
    return done.stdout.strip()


def submission_seconds(setting: Setting) -> float:
    """Seconds that all visible checks of a submission may take; the hidden ones as many again."""
    return max(LEAST_SUBMISSION_SECONDS, SUBMISSION_LIMIT * setting.seconds)


def judge_seconds(setting: Setting) -> float:
    """The seconds after which a judge that is still busy with one submission is ended: those in
    which it must be ready, however busy the machine is, and PATIENCE.
    """
    return PATIENCE + EXCUSED * 2 * (submission_seconds(setting) + setting.seconds + GRACE)


def decisive_hash(setting: Setting, course: str) -> str:
    """The hash of everything except the submission that results depend on: limits, the lessons to
    grade, and the course.

    course  its hash, see `course_hash`
    """
    limits = [setting.seconds, setting.memory, astuple(setting.limits)]
    what = [setting.level, setting.earlier_lessons, limits, list(setting.lessons), course]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()


def course_hash(lessons: Sequence[Entry], entries: Sequence[Entry]) -> str:
    """The hash of these lessons, the lessons that they need, the package and tito. It does not
    depend on the path of the course.
    """
    root, last = lessons[0].root, max(entry.number for entry in lessons)
    below = [entry.script.parent for entry in entries if entry.number <= last]
    paths = [path for folder in below for path in sorted(folder.glob("*.py"))]
    package = root.path / root.package
    paths += [p for p in sorted(package.rglob("*.py")) if p.parent != package / "core"]
    texts = [
        [path.relative_to(root.path).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest()]
        for path in paths
    ]
    texts += [["tracks", *sorted(root.keep)]] if root.keep is not None else []
    return hashlib.sha256(json.dumps([texts, version()]).encode()).hexdigest()
