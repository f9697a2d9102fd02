"""Open a learner's submission, with any folders and zips in it, and find the file of each lesson
that counts.

A lesson's file is named `NAME_dev.py` or `NAME_dev.ipynb`, or like `ada_NAME_dev (1).ipynb`, in any
folder; or it is a script or notebook with the line `#| default_exp core.NAME`. Of several files in
one upload, the one with more exercises written counts; of several uploads, the latest with a file
of the lesson that differs from the release.
"""

import contextlib
import functools
import io
import re
from collections.abc import Callable, Set
from dataclasses import replace
from typing import Any

from tito.grading.intake.archives import (
    Archive,
    Member,
    Unreadable,
    is_ignored,
    list_zip,
    read_regular,
    shown_path,
    some,
)
from tito.grading.intake.inbox import list_upload, members_inside
from tito.grading.intake.lesson_file import Reading, choose_file, count_written
from tito.grading.roster import shown
from tito.grading.setting import LIMITS, Limits
from tito.grading.submission import Contents, LessonFile, Submission, Upload, natural_key
from tito.lesson.course import Entry

SAYS = re.compile(rb"(?m)(?:^|\")#\|\s*default_exp\s+core\.([a-z][a-z0-9_]*)")
NOTES = 30  # sentences about one submission
ZIPS_TRIED = 5  # of a submission's inner zips
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
    lesson_files = []  # that were uploaded separately, and are compared
    with contextlib.ExitStack() as opened:
        for upload in submission.uploads:
            try:
                if not upload.kind:
                    raise Unreadable(upload.problem)
                if upload.kind == "file":
                    lesson_files.append(_lone_file(upload))
                    continue
                for name, members in _search(list_upload(upload, limits, opened), reading).items():
                    members = [replace(member, entry=upload.name) for member in members]
                    groups[name].append((upload.order, members))
            except Unreadable as error:
                contents.problem = f"{shown(upload.name, 80)} {error}."
        for name, members in _candidates_among(lesson_files, reading).items():
            groups[name].append((max(member.changed for member in members), members))
        for lesson in lessons:
            if groups[lesson.name]:
                contents.files[lesson.name] = _latest(lesson, groups[lesson.name], reading)
    _settle_notes(contents)
    return contents


def _settle_notes(contents: Contents) -> None:
    """Turn a problem with a part of the submission into a note, and limit the number of notes."""
    if contents.files and contents.problem:
        contents.notes.append(contents.problem)
        contents.problem = ""
    if len(contents.notes) > NOTES:
        contents.notes[NOTES:] = [f"There are {len(contents.notes) - NOTES} more notes like these."]


def _lone_file(upload: Upload) -> Member:
    """The lesson file of an upload that is a single file."""
    read = functools.partial(read_regular, upload.path)
    if upload.inside:
        read = members_inside(upload)[0].read  # type: ignore[assignment]
    return Member(upload.name, upload.order, read, entry=upload.name)


def _latest(lesson: Entry, groups: list[tuple[Any, list[Member]]], reading: Reading) -> LessonFile:
    """The LessonFile that counts, of the groups (order, members) of a lesson's files.

    It is from the latest upload, or from an earlier one if the latest is as released.
    """
    groups = sorted(groups, key=lambda pair: pair[0], reverse=True)
    file = choose_file(lesson, groups[0][1], reading)
    chosen, why = 0, f"the latest of {len(groups)}"
    if not file.problem and not count_written(lesson, file):
        for number, (_, members) in enumerate(groups[1:], 1):
            earlier = choose_file(lesson, members, reading)
            if not earlier.problem and count_written(lesson, earlier):
                file, chosen = earlier, number
                why = "the latest in which an exercise is written"
                break
    others = [members[0].entry for number, (_, members) in enumerate(groups) if number != chosen]
    if others:
        reading.notes.append(
            f"{lesson.name}: the file in {shown(file.entry, 80)} counts, {why}: not {some(others)}."
        )
    return file


def _candidates_among(members: list[Member], reading: Reading) -> Found:
    """`_candidates` of lesson files that came one by one: of several scripts, or several notebooks,
    of a lesson the latest.
    """
    if not members:
        return {}
    candidates = _candidates(members, reading, loose=True)
    known = {member.path for group in candidates.values() for member in group}
    reading.notes += [
        f"{shown_path(member.path)} is not a file of a lesson, by its name and contents."
        for member in members
        if member.path not in known
    ]
    latest = {}
    for lesson, group in candidates.items():
        by_time = sorted(group, key=lambda member: member.changed)
        latest[lesson] = list({member.suffix: member for member in by_time}.values())
    return latest


def _search(archive: Archive, reading: Reading) -> Found:
    """{lesson: its files} in a folder or zip. Lessons that are not in it are taken from the latest
    zip in it with lessons.
    """
    reading.notes += archive.notes
    files = _candidates(archive.members, reading)
    if len(files) < len(reading.lessons):
        files |= _search_inner_zips(archive, files, reading)
    if not files:
        rest = [
            member.path for member in archive.members if not is_ignored(member.path.split("/")[:-1])
        ]
        reading.notes.append(
            f"It contains no file of a lesson{', but ' + some(rest) if rest else ': it is empty'}."
        )
    return files


def _search_inner_zips(archive: Archive, files: Found, reading: Reading) -> Found:
    """{lesson: its files} in the latest zip in an archive that holds lessons besides `files`."""
    zips = [
        member
        for member in archive.members
        if member.suffix == ".zip" and not is_ignored(member.path.split("/")[:-1])
    ]
    zips.sort(key=lambda member: (member.changed, natural_key(member.path)), reverse=True)
    for number, member in enumerate(zips[:ZIPS_TRIED], 1):
        try:
            if member.problem:
                raise Unreadable(member.problem)
            data = io.BytesIO(member.read(reading.limits.inner_zip))
            inner = list_zip(data, reading.limits)
        except Unreadable as error:
            # The latest zip is the submission; an older one does not replace it.
            if not files and number == 1:
                raise Unreadable(f"holds {shown_path(member.path)}, which {error}") from None
            reading.notes.append(f"{shown_path(member.path)} {error}.")
            continue
        files_inside = {
            lesson: [replace(file, path=f"{member.path}/{file.path}") for file in group]
            for lesson, group in _candidates(inner.members, reading).items()
            if lesson not in files
        }
        if files_inside:
            reading.notes += inner.notes
            if zips[number:]:
                older = some(other.path for other in zips[number:])
                reading.notes.append(
                    f"{shown_path(member.path)} counts, the latest zip: not {older}."
                )
            return files_inside
        if any(file.suffix == ".zip" for file in inner.members):
            reading.notes.append(
                f"{shown_path(member.path)} contains more zips, which were not opened."
            )
    return {}


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
            says = SAYS.search(member.read(reading.limits.file))
        except Unreadable as error:
            if loose:
                reading.notes.append(f"{shown_path(member.path)} {error}.")
            continue
        if says and says[1].decode() in names:
            files.setdefault(says[1].decode(), []).append(member)
    return files
