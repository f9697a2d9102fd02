"""Open a learner's submission, with any folders and archives in it, and find the file of each
lesson that counts.

A lesson's file is named `NAME_dev.py` or `NAME_dev.ipynb`, or like `ada_NAME_dev (1).ipynb`, in any
folder; or it is a script or notebook with the line `#| default_exp core.NAME`. Of several files in
one upload, the one with more exercises written counts; of several uploads, the latest with a file
of the lesson that differs from the release.
"""

import contextlib
import functools
import io
import re
from collections import defaultdict
from collections.abc import Callable, Set
from dataclasses import replace
from typing import Any

from tito.grading.intake.archives import (
    Allowance,
    Archive,
    Member,
    Unknown,
    Unreadable,
    is_ignored,
    list_archive,
    pieces_of,
    read_lesson,
    shown_path,
    some,
)
from tito.grading.intake.inbox import LITTER, list_upload, members_inside
from tito.grading.intake.lesson_file import Reading, choose_file, count_written
from tito.grading.roster import shown
from tito.grading.setting import LIMITS, Limits
from tito.grading.submission import Contents, LessonFile, Submission, Upload, natural_key
from tito.lesson.course import Entry

SAYS = re.compile(rb"(?m)(?:^|\")#\|\s*default_exp\s+core\.([a-z][a-z0-9_]*)")
NOTES = 30  # sentences about one submission
TRIED = 5  # of the archives in a folder or archive
Found = dict[str, list[Member]]  # {lesson: the members that may be its file}


def open_submission(
    submission: Submission,
    lessons: list[Entry],
    limits: Limits = LIMITS,
    refused: Set[str] = frozenset(),
    on_file: Callable[[str], None] = lambda sha256: None,
) -> Contents:
    """The Contents of one learner's submission.

    refused  SHA-256s of lesson files that are not parsed, because that takes too long
    on_file  called with the SHA-256 of each lesson file before it is parsed

    A bad submission never raises an error; `problem` and `notes` describe what is wrong.
    """
    contents = Contents(submission.student, notes=list(submission.notes))
    reading = Reading(lessons, limits, contents.notes, limits.read, refused, on_file)
    groups: dict[str, list[tuple[Any, list[Member]]]] = {lesson.name: [] for lesson in lessons}
    lesson_files = defaultdict[str, list[Member]](list)  # uploaded separately, and compared
    strange: list[str] = []
    with contextlib.ExitStack() as opened:
        for upload in submission.uploads:
            try:
                if upload.kind == "file":
                    lesson_files[upload.group and upload.name].append(_lone_file(upload))
                    continue
                for name, members in _open_upload(upload, reading, strange, opened).items():
                    members = [replace(member, entry=upload.name) for member in members]
                    groups[name].append((upload.order, members))
            except Unknown as error:
                strange.append(f"{upload.name}, which {error}")
            except Unreadable as error:
                contents.problem = f"{shown(upload.name, 80)} {error}."
        for files in lesson_files.values():
            for name, members in _candidates_among(files, reading, strange).items():
                groups[name].append((max(member.changed for member in members), members))
        for lesson in lessons:
            if groups[lesson.name]:
                contents.files[lesson.name] = _latest(lesson, groups[lesson.name], reading)
    _settle(contents, strange)
    return contents


def _open_upload(
    upload: Upload, reading: Reading, strange: list[str], opened: contextlib.ExitStack
) -> Found:
    """{lesson: its files} in a folder or archive; without any, `strange` gets the names in it."""
    if upload.problem:
        raise Unreadable(upload.problem)
    if upload.kind == "other":
        strange.append(upload.name)
        return {}
    left = Allowance.of(reading.limits)
    archive = list_upload(upload, reading.limits, left, opened)
    if not (files := _search(archive, reading, left)):
        paths = [member.path for member in archive.members]
        others = [path for path in paths if not is_ignored(path.split("/")[:-1])]
        # A folder that holds nothing was not handed in: another program may have made it.
        if upload.kind == "archive" and not others:
            raise Unknown("holds no file of yours" if paths else "is empty")
        above = f"{upload.name}/" if upload.kind == "archive" else ""
        strange += [above + path for path in others if path not in LITTER]
    return files


def _settle(contents: Contents, strange: list[str]) -> None:
    """Write what is wrong with a part of the submission into the notes, and with all of it into
    `problem`. strange: what is in it and of no lesson, where there is nothing else.
    """
    if strange and not contents.files and not contents.problem:
        contents.problem = f"It contains no file of a lesson, but {some(strange, 300)}."
        contents.strange = True
    elif strange:
        contents.notes.append(f"Not a file of a lesson: {some(strange)}.")
    if contents.files and contents.problem:
        contents.notes.append(contents.problem)
        contents.problem = ""
    if len(contents.notes) > NOTES:
        contents.notes[NOTES:] = [f"There are {len(contents.notes) - NOTES} more notes like these."]


def _lone_file(upload: Upload) -> Member:
    """The lesson file of an upload that is a single file."""
    if upload.inside:
        (member,) = members_inside(upload)
        return replace(member, changed=upload.order, entry=upload.name)
    pieces = functools.partial(pieces_of, upload.path)
    return Member(upload.name, upload.order, pieces, entry=upload.name)


def _latest(lesson: Entry, groups: list[tuple[Any, list[Member]]], reading: Reading) -> LessonFile:
    """The LessonFile that counts, of the groups (order, members) of a lesson's files.

    It is from the latest upload, or from an earlier one if the latest is as released or cannot be
    read.
    """
    groups = sorted(groups, key=lambda pair: pair[0], reverse=True)
    file = choose_file(lesson, groups[0][1], reading)
    chosen, why = 0, f"the latest of {len(groups)}"
    if not count_written(lesson, file):
        for number, (_, members) in enumerate(groups[1:], 1):
            earlier = choose_file(lesson, members, reading)
            if count_written(lesson, earlier):
                reading.notes += [f"{lesson.name}: {file.problem}"] * bool(file.problem)
                file, chosen = earlier, number
                why = "the latest in which an exercise is written"
                break
    others = [members[0].entry for number, (_, members) in enumerate(groups) if number != chosen]
    if others:
        reading.notes.append(
            f"{lesson.name}: the file in {shown(file.entry, 80)} counts, {why}: not {some(others)}."
        )
    return file


def _candidates_among(members: list[Member], reading: Reading, strange: list[str]) -> Found:
    """`_candidates` of lesson files that came one by one: of several scripts, or several notebooks,
    of a lesson the latest. `strange` gets the others.
    """
    if not members:
        return {}
    candidates = _candidates(members, reading, loose=True)
    known = {member.path for group in candidates.values() for member in group}
    strange += [member.path for member in members if member.path not in known]
    latest = {}
    for lesson, group in candidates.items():
        by_time = sorted(group, key=lambda member: member.changed)
        latest[lesson] = list({member.suffix: member for member in by_time}.values())
    return latest


def _search(archive: Archive, reading: Reading, left: Allowance, depth: int = 0) -> Found:
    """{lesson: its files} in a folder or archive. Lessons that are not in it are taken from the
    latest archive in it with lessons, which may hold archives in turn.
    """
    reading.notes += archive.notes
    files = _candidates(archive.members, reading)
    archives = [
        member
        for member in archive.members
        if member.is_archive and not is_ignored(member.path.split("/")[:-1])
    ]
    archives.sort(key=lambda member: (member.changed, natural_key(member.path)), reverse=True)
    if len(files) == len(reading.lessons):
        return files
    for number, member in enumerate(archives[:TRIED], 1):
        try:
            found = _inside(member, reading, left, depth)
        except Unreadable as error:
            # The latest archive is the submission; an older one does not replace it.
            is_latest = number == 1 and all(one.changed != member.changed for one in archives[1:])
            if not files and is_latest:
                if ", which " in str(error):  # the innermost is named
                    raise
                why = f"holds {shown_path(member.path)}, which {error}"
                raise type(error)(why) from None
            reading.notes.append(f"{shown_path(member.path)} {error}.")
            continue
        if found.keys() - files.keys():
            if archives[number:]:
                older = some(other.path for other in archives[number:])
                reading.notes.append(
                    f"{shown_path(member.path)} counts, the latest archive: not {older}."
                )
            return found | files
    return files


def _inside(member: Member, reading: Reading, left: Allowance, depth: int) -> Found:
    """{lesson: its files} in an archive in an archive. Raises Unreadable."""
    limits = reading.limits
    if depth == limits.nested:
        raise Unknown(f"is more than {limits.nested} archives deep, and was not opened")
    left.archives -= 1
    if left.archives < 0:
        raise Unknown(f"was not opened: {limits.archives} archives were before it")
    data = member.read(min(limits.inner_zip, left.held))
    left.held -= len(data)
    inner = list_archive(io.BytesIO(data), limits, left)
    return {
        lesson: [replace(file, path=f"{member.path}/{file.path}") for file in group]
        for lesson, group in _search(inner, reading, left, depth + 1).items()
    }


def _candidates(members: list[Member], reading: Reading, loose: bool = False) -> Found:
    """{lesson: the members that may be its file}, by their names or their `#| default_exp`."""
    names = sorted((lesson.name for lesson in reading.lessons), key=len, reverse=True)
    package = reading.lessons[0].root.package if reading.lessons else None
    files: Found = {}
    unnamed = []
    for member in sorted(members, key=lambda member: (member.path.count("/"), member.path)):
        *folders, name = member.path.split("/")
        if member.suffix in (".py", ".ipynb") and not is_ignored(folders, package):
            stem = name[: -len(member.suffix)].lower()
            ending = r"(_dev(?![a-z0-9])|$)" if loose else r"_dev(?![a-z0-9])"
            lesson = next((n for n in names if re.search(rf"(^|[^a-z0-9]){n}{ending}", stem)), None)
            if lesson:
                files.setdefault(lesson, []).append(member)
            elif not member.problem:
                unnamed.append(member)
    for member in unnamed[: reading.limits.others]:
        try:
            says = SAYS.search(read_lesson(member, reading.limits)[0])
        except Unreadable as error:
            if loose:
                reading.notes.append(f"{shown_path(member.path)} {error}.")
            continue
        if says and says[1].decode() in names:
            files.setdefault(says[1].decode(), []).append(member)
    return files
