"""One learner's submission: opens its folders and zips, whatever they hold, and finds for each
lesson the file that counts.

A file of a lesson is `NAME_dev.py` or `NAME_dev.ipynb`, in any folder, also as
`ada_NAME_dev (1).ipynb`, and any other script or notebook whose `#| default_exp core.NAME` says so.
Of several in one entry, the one with more exercises written counts; of several entries of a
learner, the latest that holds the lesson, as more than it was released.
"""

import contextlib
import functools
import io
import re
from dataclasses import dataclass, field, replace
from datetime import datetime

from tito.grading.intake.archives import (
    LIMITS,
    Item,
    Unreadable,
    is_ignored,
    read_regular,
    shown_path,
    some,
    zip_box,
)
from tito.grading.intake.inbox import box_of, items_inside, natural_key
from tito.grading.intake.lesson_file import Reading, choose_file, count_written
from tito.grading.roster import shown

SAYS = re.compile(rb"(?m)(?:^|\")#\|\s*default_exp\s+core\.([a-z][a-z0-9_]*)")
NOTES = 30  # sentences about one submission


@dataclass
class Submission:
    """What one learner handed in: `files` by lesson name; `problem` when nothing of it could be
    read, `slow` when that is because it takes too long; `notes` on the rest.
    """

    student: str
    name: str
    arrived: datetime | None = None
    files: dict = field(default_factory=dict)
    problem: str = ""
    notes: list = field(default_factory=list)
    slow: bool = False


def open_submission(arrival, lessons, limits=LIMITS, refused=frozenset(), told=lambda sha256: None):
    """The Submission of one learner.

    refused  SHA-256s of lesson files that are not parsed, because that takes too long
    told     called with the SHA-256 of each lesson file before it is parsed

    Never raises over what they handed in: that is told in `problem` and `notes`.
    """
    submission = Submission(
        arrival.student, arrival.name, arrival.arrived, notes=list(arrival.notes)
    )
    reading = Reading(lessons, limits, submission.notes, limits.read, refused, told)
    # {lesson: [(what puts it in order, its items)]} of every entry; lesson files that came one by
    # one are looked at together.
    found, loose = {lesson.name: [] for lesson in lessons}, []
    with contextlib.ExitStack() as opened:
        for part in arrival.parts:
            try:
                if not part.kind:
                    raise Unreadable(part.problem)
                if part.kind == "file":
                    read = (
                        items_inside(part)[0].read
                        if part.inside
                        else functools.partial(read_regular, part.path)
                    )
                    loose.append(Item(part.name, part.order, read, entry=part.name))
                    continue
                for name, items in _search(box_of(part, limits, opened), reading).items():
                    items = [replace(item, entry=part.name) for item in items]
                    found[name].append((part.order, items))
            except Unreadable as error:
                submission.problem = f"{shown(part.name, 80)} {error}."
        for name, items in (_loose_candidates(loose, reading) if loose else {}).items():
            found[name].append((max(item.changed for item in items), items))
        for lesson in lessons:
            if found[lesson.name]:
                submission.files[lesson.name] = _latest(lesson, found[lesson.name], reading)
    if submission.files and submission.problem:
        submission.notes.append(submission.problem)
        submission.problem = ""
    if len(submission.notes) > NOTES:
        submission.notes[NOTES:] = [
            f"There are {len(submission.notes) - NOTES} more notes like these."
        ]
    return submission


def _latest(lesson, groups, reading):
    """The LessonFile that counts, of the groups [(order, items)] of a lesson's files: of the latest
    entry, unless it is there as it was released, and somebody wrote in an earlier one.
    """
    groups = sorted(groups, key=lambda pair: pair[0], reverse=True)
    file = choose_file(lesson, groups[0][1], reading)
    chosen, why = 0, f"the latest of {len(groups)}"
    if not file.problem and not count_written(lesson, file):
        for number, (_, items) in enumerate(groups[1:], 1):
            earlier = choose_file(lesson, items, reading)
            if not earlier.problem and count_written(lesson, earlier):
                file, chosen = earlier, number
                why = "the latest in which an exercise is written"
                break
    others = [items[0].entry for number, (_, items) in enumerate(groups) if number != chosen]
    if others:
        reading.notes.append(
            f"{lesson.name}: what came in {shown(file.entry, 80)} counts, {why}: "
            f"not {some(others)}."
        )
    return file


def _loose_candidates(items, reading):
    """`_candidates` of lesson files that came one by one: of several scripts, or several notebooks,
    of a lesson the latest.
    """
    found = _candidates(items, reading, loose=True)
    known = {item.path for mine in found.values() for item in mine}
    unknown = [item.path for item in items if item.path not in known]
    reading.notes += [
        f"{shown_path(path)} is no file of a lesson, by its name or what is in it."
        for path in unknown
    ]
    by_time = {
        lesson: sorted(mine, key=lambda item: item.changed) for lesson, mine in found.items()
    }
    return {
        lesson: list({item.suffix: item for item in mine}.values())
        for lesson, mine in by_time.items()
    }


def _search(box, reading):
    """{lesson: its files} in a folder or zip; for lessons that it does not hold itself, in the
    latest zip in it that holds some.
    """
    reading.notes += box.notes
    found = _candidates(box.items, reading)
    if len(found) < len(reading.lessons):
        zips = [
            item
            for item in box.items
            if item.suffix == ".zip" and not is_ignored(item.path.split("/")[:-1])
        ]
        zips.sort(key=lambda item: (item.changed, natural_key(item.path)), reverse=True)
        for number, item in enumerate(zips[:5], 1):
            try:
                if item.problem:
                    raise Unreadable(item.problem)
                inner = zip_box(io.BytesIO(item.read(reading.limits.inner_zip)), reading.limits)
            except Unreadable as error:
                if (
                    not found and number == 1
                ):  # the latest is what was handed in: an older one does not stand for it
                    raise Unreadable(f"holds {shown_path(item.path)}, which {error}") from None
                reading.notes.append(f"{shown_path(item.path)} {error}.")
                continue
            more = {
                lesson: items
                for lesson, items in _candidates(inner.items, reading).items()
                if lesson not in found
            }
            if more:
                reading.notes += inner.notes
                found |= {
                    lesson: [replace(one, path=f"{item.path}/{one.path}") for one in items]
                    for lesson, items in more.items()
                }
                if zips[number:]:
                    older = some(one.path for one in zips[number:])
                    reading.notes.append(
                        f"{shown_path(item.path)} counts, the latest zip: not {older}."
                    )
                break
            if any(one.suffix == ".zip" for one in inner.items):
                reading.notes.append(
                    f"{shown_path(item.path)} holds zips again: they were not opened."
                )
    if not found:
        rest = [item.path for item in box.items if not is_ignored(item.path.split("/")[:-1])]
        reading.notes.append(
            f"It holds no file of a lesson{', but ' + some(rest) if rest else ': it is empty'}."
        )
    return found


def _candidates(items, reading, loose=False):
    """{lesson: the items that may be its file}, by their names or by the `#| default_exp` in
    them.
    """
    names = sorted((lesson.name for lesson in reading.lessons), key=len, reverse=True)
    package = reading.lessons[0].root.package if reading.lessons else None
    found, unnamed = {}, []
    for item in sorted(items, key=lambda item: (item.path.count("/"), item.path)):
        *folders, name = item.path.split("/")
        if item.suffix in (".py", ".ipynb") and not is_ignored(folders, package):
            stem = name[: -len(item.suffix)].lower()
            ending = r"(_dev(?![a-z0-9])|$)" if loose else r"_dev(?![a-z0-9])"
            lesson = next((n for n in names if re.search(rf"(^|[^a-z0-9]){n}{ending}", stem)), None)
            if lesson:
                found.setdefault(lesson, []).append(item)
            elif not item.problem:
                unnamed.append(item)
    for item in unnamed[: reading.limits.others]:
        try:
            says = SAYS.search(item.read(reading.limits.file))
        except Unreadable as error:
            if loose:
                reading.notes.append(f"{shown_path(item.path)} {error}.")
            continue
        if says and says[1].decode() in names:
            found.setdefault(says[1].decode(), []).append(item)
    return found
