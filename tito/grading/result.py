"""What became of one lesson of one learner: what the judge returns, the gradebook keeps and the
feedback shows.
"""

from dataclasses import asdict, dataclass, field

from tito.lesson.outcome import STATUSES, VERDICTS, Outcome

__all__ = ["STATUSES", "VERDICTS", "CheckResult", "LessonResult"]


@dataclass
class CheckResult(Outcome):
    """What became of one check in the judge.

    hidden     learners see its name and points only
    base       the base on which these points were earned: "own" or "reference"
    caused_by  the earlier lesson whose mistake makes this check fail on the learner's own base;
               or None
    """

    hidden: bool = False
    base: str = "own"
    caused_by: str | None = None


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
