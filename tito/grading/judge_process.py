"""A process that opens submissions and judges them, one after the other.

    python -m tito.grading.judge_process

`workers.py` starts it and sends pickles: first a Setting; then for each submission the Submission
and the keys of its known results. The answer is a list of LessonResults and Unchanged. To a
Submission and the name of a lesson, the answer is a Sheet; to None, the level of isolation.
"""

import os
import pickle
import signal
import sys
import warnings
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from tito.child import write_pickle
from tito.errors import TitoError
from tito.grading.intake.open_submission import open_submission
from tito.grading.jail.judge import Judge, slow_files
from tito.grading.jail.modules import Code, compiled
from tito.grading.jail.reader import SubmissionReader
from tito.grading.result import LessonResult, Unchanged
from tito.grading.setting import Setting
from tito.grading.submission import LessonFile, Submission
from tito.lesson.cells import Source
from tito.lesson.conditions import die_with_parent
from tito.lesson.course import Entry

if TYPE_CHECKING:
    from tito.grading.jail.sheet import Sheet

MEMORY = 4096  # MB of this process


class SubmissionJudge(AbstractContextManager["SubmissionJudge"]):
    """Opens submissions in a process with limits, and judges them in this process."""

    def __init__(self, setting: Setting) -> None:
        self.judge = Judge(setting)
        lessons = self.judge.root.lessons
        self.reader = SubmissionReader(lessons, setting.limits, open_submission, compiled)

    def grade(
        self, submission: Submission, known: Mapping[str, Collection[str]]
    ) -> list[LessonResult | Unchanged]:
        """The LessonResults of one learner; an Unchanged for a lesson that was graded already.

        known  {lesson: the keys of its results}
        """
        contents, codes = self.reader.read(submission, slow_files(known))
        return self.judge.grade(contents, codes, known)

    def sheet(self, submission: Submission, lesson: str) -> "Sheet":
        """The questions about one lesson of a submission."""
        from tito.grading.jail.sheet import make_sheet  # which a grading run does not need

        def make(entry: Entry, file: LessonFile) -> tuple[Code, Source | None]:
            return compiled(entry, file), file.source if entry.name == lesson else None

        lessons, limits = self.reader.lessons, self.reader.limits
        with SubmissionReader(lessons, limits, open_submission, make) as reader:
            contents, made = reader.read(submission)
        work = self.judge.work_of(contents, {name: code for name, (code, _) in made.items()})
        source = made[lesson][1] if lesson in made else None
        return make_sheet(self.judge, work, self.judge.entries[lesson], source)

    def __exit__(self, *error: object) -> None:
        self.reader.close()
        self.judge.runner.close()


def main() -> None:
    """Answer one task after the other until there are no more."""
    tasks, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)  # discard what a check prints
    if sys.platform == "linux":
        import resource

        die_with_parent(required=True)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY << 20, MEMORY << 20))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for run.py, which ends this process
    # Hide NumPy's warnings about values that learners return.
    warnings.simplefilter("ignore")
    with SubmissionJudge(pickle.load(tasks)) as judge:
        while True:
            try:
                task = pickle.load(tasks)
            except EOFError:
                break
            answer: object
            try:
                if task:
                    is_sheet = isinstance(task[1], str)
                    answer = judge.sheet(*task) if is_sheet else judge.grade(*task)
                else:
                    answer = judge.judge.runner.begin()
            except TitoError as error:
                if task:
                    raise
                answer = error
            write_pickle(answer, answers)


if __name__ == "__main__":
    main()
