"""Grade single checks (`tito grade --check`): each result is merged into the result of the whole
lesson.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace

from tito.grading.result import CheckResult, LessonResult, Unchanged
from tito.lesson.outcome import reason_of, verdict_of

GRADED_ALONE = "~"  # in the key of a result that contains checks graded alone


def merge_checks(
    results: Iterable[LessonResult | Unchanged], before: Mapping[tuple[str, str], LessonResult]
) -> tuple[list[LessonResult | Unchanged], bool]:
    """Merge results of some checks into the results of the whole lessons for the same files.

    Returns the merged results, with Unchanged for a lesson in which nothing changes; and whether a
    result was left out because another file was graded.

    before  {(lesson, SHA-256): LessonResult}

    A merged result has a special key, so that the next run without `--check` grades the whole
    lesson again.
    """
    parts = [result for result in results if isinstance(result, LessonResult)]
    pairs = [(before.get((part.lesson, part.sha256)), part) for part in parts]
    merged = [_put_into(old, part) for old, part in pairs if old]
    changes = any(isinstance(result, LessonResult) for result in merged)
    return merged, len(merged) < len(parts) and not changes


def _put_into(old: LessonResult, part: LessonResult) -> LessonResult | Unchanged:
    """A result with the checks of another one, of the same file, in it, or Unchanged.

    part  the result of some checks of the lesson
    """
    unchanged = Unchanged(old.lesson, old.key, part.entry, part.sha256)
    new = {check.id: check for check in part.checks}
    points = {check.id: (check.points, check.max_points) for check in old.checks}
    same = all(points.get(check.id) == (check.points, check.max_points) for check in part.checks)
    if same and part.verdict not in ("passed", "failed"):  # of the lesson, or of the machine
        return unchanged
    checks = [new.pop(check.id, check) for check in old.checks] + list(new.values())
    if [_outcome(check) for check in checks] == [_outcome(check) for check in old.checks]:
        return unchanged
    earned = sum(check.points for check in checks)
    verdict = verdict_of([check.status for check in checks], earned)
    on_reference = any(check.passed and check.base == "reference" for check in checks)
    on_reference |= all(check.base == "reference" for check in checks)  # as the course asks for
    return replace(
        old,
        key=f"{old.key.partition(GRADED_ALONE)[0]}{GRADED_ALONE}{_mixed_hash(old, part)}",
        checks=checks,
        points=earned,
        max_points=sum(check.max_points for check in checks) + old.max_points - old.check_points,
        verdict=verdict,
        reason=reason_of(verdict, checks),
        base="reference" if on_reference else "own",
        isolation=part.isolation or old.isolation,
        seconds=part.seconds,
        code=part.code,
    )


def _outcome(check: CheckResult) -> tuple[str, int, int, str, str]:
    return check.id, check.points, check.max_points, check.status, check.message


def _mixed_hash(old: LessonResult, part: LessonResult) -> str:
    """A hash of what decided a result, and the checks that were put into it."""
    names = sorted(check.id for check in part.checks)
    return hashlib.sha256(json.dumps([old.key, part.key, names]).encode()).hexdigest()[:32]
