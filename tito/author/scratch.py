"""Temporary roots in which `tito check` runs the checks of a lesson on changed versions of it."""

import os
import queue
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Self, TypeVar

from tito import child
from tito.learn import runner, workspace
from tito.learn.process import Process
from tito.learn.verdict import Verdict
from tito.lesson import course
from tito.lesson.course import PRISTINE, SOURCE, Entry, Root
from tito.lesson.lesson_format import CHECKS, FACTS, HINTS

SECONDS = 5  # a check may take, with a mistake in the code
WHOLE_SECONDS = 300  # a whole chapter, or its examples, may take on a busy machine
TOO_LONG = f"it takes more than {WHOLE_SECONDS} s; it was stopped"

Case = TypeVar("Case")
Answer = TypeVar("Answer")


class ScratchRoots:
    """Roots that hold one lesson and all lower ones, with solutions; each has a warm process.

    Several threads may use them at the same time: each borrows a root that is free.

    on_case  called after each case of `map`
    """

    def __init__(self, entry: Entry, count: int, on_case: Callable[[], None]) -> None:
        self.entry, self.count, self.on_case = entry, count, on_case
        self.free: queue.SimpleQueue[tuple[Entry, Process]] = queue.SimpleQueue()
        self.processes: list[Process] = []

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix="tito-check-"))
        try:
            for number in range(self.count):
                root = make_root(self.entry, self.folder / str(number))
                self.processes.append(Process())
                self.free.put((root.lesson(self.entry.name), self.processes[-1]))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        for process in self.processes:
            process.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextmanager
    def borrow(self, text: str) -> Iterator[tuple[Entry, Process]]:
        """The lesson in a free root, with this text as its chapter, and the root's process."""
        entry, process = self.free.get()
        try:
            entry.script.write_text(text, encoding="utf-8")
            yield entry, process
        finally:
            self.free.put((entry, process))

    def test(self, text: str, *exercises: str, first_only: bool = False) -> Verdict:
        """The verdict on a chapter's text, by all checks or by those of some exercises."""
        with self.borrow(text) as (entry, process):
            selection = runner.CheckSelection(list(exercises), None, first_only)
            return runner.test_checks(entry, selection, SECONDS, process, preload=True)

    def map(
        self, function: Callable[[Case], Answer], cases: Iterable[Case]
    ) -> Iterator[tuple[Case, Answer]]:
        """(case, function(case)) of every case, as many at the same time as there are roots."""
        cases = list(cases)
        with ThreadPoolExecutor(self.count) as pool:
            for case, answer in zip(cases, pool.map(function, cases)):
                self.on_case()
                yield case, answer


def make_root(entry: Entry, folder: Path) -> Root:
    """A root in `folder` with this lesson and all lower ones."""
    for name, data in workspace.contents(entry.root).items():
        if not name.startswith((PRISTINE.as_posix(), SOURCE.as_posix())):
            write_bytes(folder / name, data)
    for lower in entry.root.lessons:
        if lower.number <= entry.number:
            for base in (PRISTINE, SOURCE):  # the declared lesson has its hidden checks, too
                for name in (lower.script.name, FACTS, HINTS):
                    if (path := lower.script.with_name(name)).exists():
                        write_bytes(folder / base / lower.folder / name, path.read_bytes())
                checks = lower.declared.checks_source.text  # complete without shared checks
                write_bytes(folder / base / lower.folder / CHECKS, checks.encode("utf-8"))
    return course.open_root(folder)


def write_bytes(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def run_python(words: list[str], folder: Path) -> tuple[str, str]:
    """Run a fresh Python in a folder, with one BLAS thread unless the user wants more.

    returns  (output, last line of the error, or "")
    """
    try:
        completed = child.run(
            [sys.executable, "-B", *words],
            cwd=folder,
            env=child.ONE_THREAD | os.environ | {"MPLBACKEND": "Agg"},
            seconds=WHOLE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return "", TOO_LONG
    problem = completed.stderr.strip().split("\n")[-1] if completed.returncode else ""
    return completed.stdout, problem
