"""Which lessons a slow test runs: those that changed since it passed, and two of the others.

What a test says of a lesson depends on the lesson, on the library below it, and on `tito`. While
neither lesson nor library changed, two lessons a day are enough to see that `tito` still works.
Run this by hand after lessons changed; it runs the tests on the changed lessons, and writes
`passed.json` beside it if they passed:

    python tools/unchanged.py
    python tools/unchanged.py --every     # on every lesson
"""

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from tito.lesson import course
from tito.lesson.course import Entry

REPOSITORY = Path(__file__).resolve().parents[1]
RECORD = Path(__file__).with_name("passed.json")
TESTS = "test_gate.py", "test_tracks.py", "test_review.py", "book/test_site.py"
TESTS += ("tito/grading/test_class.py",)
EVERY = "TITO_EVERY_LESSON"  # set: a test runs all lessons
OTHERS = 2  # unchanged lessons that run


def state_of(entry: Entry) -> str:
    """A hash of a lesson's folder and of the library that it uses."""
    root, folder = entry.root, entry.script.parent
    package = root.path / root.package
    paths = {path for path in folder.rglob("*") if path.suffix in (".py", ".md", ".toml")}
    paths |= {one.module_path for one in root.lessons if one.number <= entry.number}
    given = (
        path for path in package.glob("*/*.py") if path.parent.name not in ("core", "pictures")
    )
    paths |= {*given, package / "pictures" / f"{entry.name}.py"}
    paths.add(folder.with_name("checking.py"))
    found = hashlib.sha256()
    for path in sorted(path for path in paths if path.is_file()):
        found.update(path.relative_to(root.path).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


def lessons_to_run(lessons: Sequence[Entry]) -> list[Entry]:
    """The lessons that changed since the tests passed, and others: each day two other ones."""
    if EVERY in os.environ:
        return [*lessons]
    passed = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    changed = [entry for entry in lessons if passed.get(entry.name) != state_of(entry)]
    rest = [entry for entry in lessons if entry not in changed]
    drawn = random.Random(date.today().isoformat()).sample(rest, min(OTHERS, len(rest)))
    return [entry for entry in lessons if entry in changed or entry in drawn]


def main() -> int:
    """Run the tests, and record the state of all lessons if they passed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--every", action="store_true", help="run them on every lesson")
    every = {EVERY: "1"} if parser.parse_args().every else {}
    lessons = course.open_root(REPOSITORY).lessons
    states = {entry.name: state_of(entry) for entry in lessons}
    words = [sys.executable, "-m", "pytest", "-q", "--all", "-n", "2", "--dist", "loadfile"]
    words += [f"tests/{name}" for name in TESTS]
    code = subprocess.run(words, cwd=REPOSITORY, env=os.environ | every).returncode
    if code == 0:
        RECORD.write_text(json.dumps(states, indent=1) + "\n", encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
