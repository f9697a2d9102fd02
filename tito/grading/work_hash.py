"""The hash of a submission and of everything else that its results depend on. Work with a known
hash is not graded again.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import astuple

from tito.grading.intake import collect
from tito.grading.jail.modules import version
from tito.grading.setting import Setting
from tito.grading.submission import Submission
from tito.lesson.course import Entry


def work_hash(submission: Submission, decisive: str) -> str:
    """The hash of a submission and of `decisive_hash`."""
    return hashlib.sha256((decisive + collect.fingerprint(submission)).encode()).hexdigest()


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
    return hashlib.sha256(json.dumps([texts, version()]).encode()).hexdigest()
