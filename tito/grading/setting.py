"""How a class is graded: what decides it, and the times that it may take at most. Without NumPy, so
that `tito grade` need not load it.
"""

from dataclasses import dataclass
from pathlib import Path

from tito.grading.intake.archives import Limits

LEVELS = ("bubblewrap", "landlock+seccomp", "process")  # of isolation, the strongest first
OWN, REFERENCE, BOTH = BASES = ("own", "reference", "both")
GRACE = 1  # seconds after the deadline in which a check that computes in the judge is interrupted
# Times the limit of a check may all visible checks of a submission take, and all hidden ones as
# much again, but at least so many seconds; then no more are tried.
WHOLE, LEAST_WHOLE = 30, 300
# Times its limit may a check last on a machine so busy that the check waits for a processor.
EXCUSED = 10
PATIENCE = 120  # seconds for a submission, besides those of its checks


@dataclass(frozen=True)
class Setting:
    """How a class is graded.

    root     of the course
    lessons  their names
    level    of isolation; "": the strongest that works
    base     of BASES: the earlier lessons on which a lesson is graded
    seconds  that a check may take, besides those in which it waits for a processor
    memory   MB that a check may use
    secret   paths that no jail may read
    limits   of what is read of a submission
    checks   ids: only these; without any: all
    """

    root: Path
    lessons: tuple
    level: str
    base: str = BOTH
    seconds: float = 10.0
    memory: int = 1024
    secret: tuple = ()
    limits: object = Limits()
    checks: tuple = ()


def whole(setting):
    """Seconds that the visible checks of one submission may take in all; the hidden ones as many
    again.
    """
    return max(LEAST_WHOLE, WHOLE * setting.seconds)


def longest(setting):
    """The seconds after which a judge that is still busy with one submission is ended: those in
    which it must be ready, however busy the machine is, and PATIENCE.
    """
    return PATIENCE + EXCUSED * 2 * (whole(setting) + setting.seconds + GRACE)
