"""What the forms of the pages contain."""

from collections.abc import Mapping
from decimal import Decimal

from tito.errors import UsageError
from tito.grading.gradebook import late
from tito.grading.gradebook.history import Change
from tito.grading.gradebook.tables import clean

DAMAGED = UsageError("This form is damaged.", "Reload the page, then try again.")


def number_in(form: Mapping[str, str], name: str) -> int:
    text = form.get(name, "")
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise DAMAGED
    return int(text)


def points_in(form: Mapping[str, str]) -> Decimal:
    text = form.get("points", "").strip()
    try:
        return late.points_of(text)
    except ValueError:
        raise UsageError(f"{text!r} is no number of points.", "Write 1, 0.5 or -0.5.") from None


def reason_in(form: Mapping[str, str]) -> str:
    """The reason for points; without one it is the comment."""
    return form.get("why", "").strip() or form.get("text", "").strip()


def is_done(changes: list[Change], action: str, form: Mapping[str, str], who: str) -> bool:
    """Whether what the form asks for was written since it was made: it was sent twice, since the
    answer to the first was lost. Points that another grader has set anew since then are not.
    """
    mine = [change for change in changes if change.who == clean(who)]
    text = clean(form.get("text", "").strip())
    points = points_in(form) if form.get("points", "").strip() else None
    if action not in ("judge", "lift"):
        return False
    comment = ("comment", form.get("about", ""), text)
    if text and comment not in [(one.kind, one.check or "", one.text) for one in mine]:
        return False
    check = form.get("check", "")
    last = [
        change for change in changes if change.kind == "override" and (change.check or "") == check
    ][-1:]
    return (action == "judge" and points is None) or any(
        change in mine and change.why == clean(reason_in(form)) and change.points == points
        for change in last
    )
