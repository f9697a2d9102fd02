"""`check`, with which a chapter runs an exercise's checks, as a builtin of every Python with tito.

Python loads this at each start (tinytorch-root.pth, see hatch_build.py), so it imports nothing;
`chapter_checks.py` runs them when `check` is called.
"""

import builtins
import sys


def install() -> None:
    if not hasattr(builtins, "check"):
        setattr(builtins, "check", check)


def check(exercise: str) -> None:
    """Run the checks of an exercise on the definitions above; silent when they pass.

    exercise  its name in the chapter: check("strides")

    Raises CheckFailed, which shows as the failing check's message and the learner's line.
    """
    from tito.learn import chapter_checks

    caller = sys._getframe(1)
    chapter_checks.check(exercise, caller.f_globals, caller.f_lineno)
