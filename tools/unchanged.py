"""What a slow test runs: what changed since it passed, and a part of the rest, each day another.

What a test says of a lesson depends on the lesson, on the library below it, and on `tito`. While
neither lesson nor library changed, two lessons a day are enough to see that `tito` still works. So
it is with the milestones that the book runs, and with the jail, which the hostile class attacks.
Run this by hand after one of them changed; it runs the tests on what changed, and writes
`passed.json` beside it if they passed:

    python tools/unchanged.py
    python tools/unchanged.py --every     # on all

`TITO_EVERY_LESSON=1 bin/test --all` runs every test on all.
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
from typing import TypeVar

from tito.learn.milestone import Milestone, milestones
from tito.lesson import course
from tito.lesson.course import Entry, Root

REPOSITORY = Path(__file__).resolve().parents[1]
RECORD = Path(__file__).with_name("passed.json")
TESTS = "test_gate.py", "test_tracks.py", "test_review.py", "book/test_site.py"
TESTS += "tito/grading/test_class.py", "tito/grading/jail/test_hostile.py"
EVERY = "TITO_EVERY_LESSON"  # set: a test runs all
OTHERS = 2  # unchanged ones that run
# The jail, what runs it, and the hostile class.
JAIL = "tito/grading/jail/**/*.py", "tito/grading/*.py", "tito/child.py"
JAIL += ("tests/tito/grading/jail/hostile/*.py",)

Case = TypeVar("Case")


def state_of(entry: Entry) -> str:
    """A hash of a lesson's folder and of the library that it uses."""
    root, folder = entry.root, entry.script.parent
    package = root.path / root.package
    paths = {path for path in folder.rglob("*") if path.suffix in (".py", ".md", ".toml")}
    paths |= {one.module_path for one in root.lessons if one.number <= entry.number}
    paths |= {package / "pictures" / f"{entry.name}.py", folder.with_name("checking.py")}
    return hashed(root, paths | given(root))


def state_of_milestone(root: Root, program: Milestone) -> str:
    """A hash of a milestone's program, of what it may import from beside it, and of the library."""
    others = {one.path for one in milestones(root)} - {program.path}
    paths = {*program.path.parent.glob("*.py")} - others
    paths |= {root.lesson(name).module_path for name in program.needs}
    return hashed(root, paths | given(root))


def state_of_the_jail(root: Root) -> str:
    """A hash of what the runs of the hostile class depend on."""
    return hashed(root, {path for pattern in JAIL for path in root.path.glob(pattern)})


def given(root: Root) -> set[Path]:
    """The library's files that belong to no lesson."""
    paths = (root.path / root.package).glob("*/*.py")
    return {path for path in paths if path.parent.name not in ("core", "pictures")}


def hashed(root: Root, paths: set[Path]) -> str:
    found = hashlib.sha256()
    for path in sorted(path for path in paths if path.is_file()):
        found.update(path.relative_to(root.path).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


def of_today(cases: Sequence[Case], count: int = 1) -> list[Case]:
    """So many of these cases, each day other ones."""
    if EVERY in os.environ:
        return [*cases]
    numbers = range(len(cases))
    drawn = random.Random(date.today().isoformat()).sample(numbers, min(count, len(cases)))
    return [cases[number] for number in sorted(drawn)]


def to_run(states: dict[str, str], others: int) -> list[str]:
    """Those that changed since the tests passed, and so many others, each day other ones."""
    passed = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    rest = [name for name, state in states.items() if passed.get(name) == state]
    drawn = of_today(rest, others)
    return [name for name in states if name not in rest or name in drawn]


def lessons_to_run(lessons: Sequence[Entry], others: int = OTHERS) -> list[Entry]:
    names = to_run({entry.name: state_of(entry) for entry in lessons}, others)
    return [entry for entry in lessons if entry.name in names]


def states_of_milestones(root: Root) -> dict[str, str]:
    """{"milestone xor": its state} of those that the book runs."""
    return {
        f"milestone {program.name}": state_of_milestone(root, program)
        for program in milestones(root)
        if not program.downloads
    }


def main() -> int:
    """Run the tests, and record the state of all lessons if they passed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--every", action="store_true", help="run them on all")
    every = {EVERY: "1"} if parser.parse_args().every else {}
    root = course.open_root(REPOSITORY)
    states = {entry.name: state_of(entry) for entry in root.lessons}
    states |= states_of_milestones(root) | {"the jail": state_of_the_jail(root)}
    words = [sys.executable, "-m", "pytest", "-q", "--all", "-n", "2", "--dist", "loadfile"]
    words += [f"tests/{name}" for name in TESTS]
    code = subprocess.run(words, cwd=REPOSITORY, env=os.environ | every).returncode
    if code == 0:
        RECORD.write_text(json.dumps(states, indent=1) + "\n", encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
