"""What became of one lesson of one learner: what the judge returns, the gradebook keeps and the
feedback shows.
"""

from dataclasses import asdict, dataclass, field

# What a row can be called, and what it means for the one who handed it in.
VERDICTS = {
    "passed": "every check passes",
    "failed": "some checks fail",
    "stub": "nothing is written yet: every exercise is as released",
    "missing": "no file of this lesson was handed in",
    "unreadable": "what was handed in cannot be read: a damaged zip or notebook, not UTF-8, a "
    "link, or too large",
    "syntax error": "Python cannot read the lesson",
    "import failed": "the lesson stops while it is imported",
    "crashed": "the process that ran the learner's code died",
    "timed out": "the lesson did not finish being imported in time, or no check did",
    "out of memory": "the lesson needs more memory than it may have",
    "tampered": "the learner's code answered what nobody asked, or not in the agreed form",
}

STATUSES = (
    "passed",
    "failed",
    "error",
    "unwritten",
    "timeout",
    "memory",
    "crashed",
    "tampered",
    "not run",
)


@dataclass
class CheckResult:
    """One check of a lesson.

    points     earned, of max_points
    status     one of STATUSES
    message    why it did not pass; plain text from the learner's side, to be escaped wherever it is
               shown
    hidden     learners see its name and points only
    base       the base on which these points were earned: "own" or "reference"
    caused_by  the earlier lesson whose mistake makes this check fail on the learner's own base, or
               None
    """

    id: str
    exercise: str
    name: str
    points: int
    max_points: int
    status: str = "not run"
    message: str = "did not run"
    hidden: bool = False
    base: str = "own"
    caused_by: str | None = None
    seconds: float = 0.0

    @property
    def passed(self):
        return self.status == "passed"


@dataclass
class LessonResult:
    """One lesson of one learner, on the base that counts.

    lesson     the lesson's name; `number` and `title` beside it
    base       "own" (on the learner's earlier lessons) or "reference" (on the course's)
    verdict    a key of VERDICTS
    reason     a sentence: why this verdict
    isolation  "bubblewrap", "landlock+seccomp" or "process"; "" when no code was run
    seconds    that grading took
    sha256     of the lesson file that was graded; "" when there was none
    key        hash of all that decides the result: submission, checks, tito's version, limits
    notes      sentences for learner and instructor: which of two files counted, what was ignored
    """

    student: str
    lesson: str
    number: int
    title: str
    max_points: int
    base: str = "own"
    verdict: str = "missing"
    reason: str = ""
    points: int = 0
    isolation: str = ""
    seconds: float = 0.0
    sha256: str = ""
    key: str = ""
    checks: list = field(default_factory=list)
    notes: list = field(default_factory=list)

    def as_json(self):
        """The object that `tito grade --json` prints."""
        return asdict(self)

    @classmethod
    def from_json(cls, value):
        """The result that `as_json` gave, again."""
        return cls(**value | {"checks": [CheckResult(**check) for check in value["checks"]]})
