"""Pictures of `items.LessonItems` as SVG: text for a page, without script and without a style of
its own, so that a strict content security policy lets it be. Text and lines take the page's colour.
"""

from html import escape

from tito.grading.gradebook.html_pages import name
from tito.grading.gradebook.items import LessonItems

RIGHT, STOP, GRID = "#2f7d5b", "#c2410c", "#8a8a86"  # readable on light and dark paper
# One for each line of the course of time; dashes tell them apart without colours.
LINES = ("#2f7d5b", "#0b6bcb", "#c2410c", "#8250c4", "#b02a63", "#7a6a00")
DASHES = ("", "6 3", "2 3", "8 3 2 3")
WIDE, ROW, LABEL, COUNT = 720, 26, 190, 150


def shares(found: LessonItems) -> str:
    """A bar for each exercise: the share of the class that has it right, and beside it how many
    stop there.
    """
    most = WIDE - LABEL - COUNT
    parts = []
    for number, item in enumerate(found.exercises):
        y = 24 + number * ROW
        share = item.share or 0
        stops = f"; {item.stops} stop here" if item.stops else ""
        parts += [
            _text(LABEL - 8, y + 16, _short(item, found), "end"),
            f'<rect x="{LABEL}" y="{y + 3}" width="{most}" height="{ROW - 8}" rx="2" '
            f'fill="{GRID}" fill-opacity=".18"/>',
            f'<rect x="{LABEL}" y="{y + 3}" width="{share * most:.1f}" height="{ROW - 8}" rx="2" '
            f'fill="{RIGHT}"/>',
            _text(LABEL + most + 8, y + 16, f"{share:.0%}{stops}"),
        ]
    told = "; ".join(f"{item.id} {item.share or 0:.0%}" for item in found.exercises)
    title = f"{found.title}: share of {found.learners} learners with each exercise right"
    return _svg(24 + ROW * len(found.exercises) + 8, title, told, parts)


def course(found: LessonItems) -> str:
    """A line for each of the exercises (at most six) at which most stop: the share that had it
    right at the end of each day. "" for a lesson of a single day.
    """
    if len(found.days) < 2:
        return ""
    hard = sorted(found.exercises, key=lambda item: (-item.stops, item.share or 0))[: len(LINES)]
    shown = [item for item in found.exercises if item in hard]
    left, right, top, bottom = 48, WIDE - LABEL, 24, 224

    def x(number):
        return left + number * (right - left) / (len(found.days) - 1)

    def y(share):
        return bottom - share * (bottom - top)

    parts = []
    for share in (0, 0.5, 1):
        parts += [
            f'<line x1="{left}" x2="{right}" y1="{y(share):.0f}" y2="{y(share):.0f}" '
            f'stroke="{GRID}" stroke-opacity=".4"/>',
            _text(left - 6, y(share) + 4, f"{share:.0%}", "end"),
        ]
    for number, anchor in ((0, "start"), (len(found.days) - 1, "end")):
        parts.append(_text(x(number), bottom + 18, found.days[number][0].isoformat(), anchor))
    places = []
    for number, item in enumerate(shown):
        points = [
            f"{x(day):.1f},{y(right[item.id] / learners):.1f}"
            for day, (_, learners, right) in enumerate(found.days)
            if learners
        ]
        dash = DASHES[number % len(DASHES)]
        parts.append(
            f'<polyline points="{" ".join(points)}" fill="none" stroke="{LINES[number]}" '
            f'stroke-width="2"{f" stroke-dasharray={chr(34)}{dash}{chr(34)}" if dash else ""}/>'
        )
        _, learners, last = found.days[-1]
        share = last[item.id] / learners if learners else 0
        places.append((y(share), number, _short(item, found)))
    for at, number, label in _apart(places):
        parts += [
            f'<circle cx="{right + 8}" cy="{at:.0f}" r="4" fill="{LINES[number]}"/>',
            _text(right + 16, at + 4, label),
        ]
    told = f"from {found.days[0][0]} to {found.days[-1][0]}: " + "; ".join(
        f"{item.id} {item.share or 0:.0%} at the end" for item in shown
    )
    title = f"{found.title}: share of learners with an exercise right, by day"
    return _svg(bottom + 32, title, told, parts)


def _short(item, found):
    return item.id.removeprefix(f"{found.lesson}-")


def _apart(places, least=15):
    """The labels [(height, ...)] moved down until none covers another."""
    moved, last = [], float("-inf")
    for at, *rest in sorted(places):
        last = max(at, last + least)
        moved.append((last, *rest))
    return moved


def _text(x, y, words, anchor="start"):
    words = name(words)
    short = words if len(words) <= 28 else words[:27] + "…"
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-size="12" '
        f'fill="currentColor">{escape(short)}</text>'
    )


def _svg(high, title, told, parts):
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {high:.0f}" role="img" '
        f'width="100%" font-family="system-ui, sans-serif" aria-label="{escape(name(title))}">'
        f"<title>{escape(name(title))}</title><desc>{escape(told)}</desc>{''.join(parts)}</svg>"
    )
