"""Find which entries in the folder or zip of submissions belong to which learner, and when they
arrived.

`find_submissions` lists the learners without opening anything. `open_submission` reads one
submission in a worker, so that the class is never in memory at once. Neither writes a file,
follows a link or runs submitted code, and a bad submission never raises an error: `problem` says
why something cannot be read, `notes` say what was ignored.
"""

import contextlib
import hashlib
import json
import os
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timezone
from pathlib import Path

from tito.errors import Notice, TitoError, UsageError
from tito.grading.intake.archives import Unreadable, some
from tito.grading.intake.inbox import Inbox, list_files, read_inbox
from tito.grading.intake.submission_times import (
    Submitted,
    TimeTable,
    read_time_table,
)
from tito.grading.lms import SYSTEMS, read_name
from tito.grading.lms.system import Entry as EntryName
from tito.grading.lms.system import Submitters
from tito.grading.roster import DECIDED, GUESS, SURE, Learner, Roster, entry_keys, shown
from tito.grading.setting import LIMITS, Limits
from tito.grading.submission import Arrived, Submission, Upload, natural_key
from tito.grading.times import parse_time, read_time
from tito.lesson.course import Entry

UPLOADS = 20  # of one learner that are looked at
Notes = tuple[str, ...]


def find_submissions(
    path: Path,
    lessons: list[Entry],
    roster: list[Learner] | None = None,
    submitted: Submitted | None = Submitted(),
) -> list[Submission]:
    """The Submissions, in the order of the roster, then by name.

    path       a folder or zip with a folder, zip or lesson file per learner; or the work of a
               single one
    roster     Learners, or None: every entry is a learner
    submitted  the instructor's times of arrival; None: ignore all times

    With a roster, each of its learners has a Submission, perhaps without uploads. An entry that
    matches no learner or several gets a Submission under the entry's name, with `known` False.
    Raises UsageError when the folder or zip itself cannot be read or is empty.
    """
    inbox = read_inbox(Path(os.path.realpath(path)), lessons)
    inbox.uploads.sort(key=lambda upload: (natural_key(upload.name), upload.name))
    if not inbox.uploads and not roster:
        raise UsageError(
            f"There are no submissions in {path}.",
            "Give the folder or zip with a folder, zip or file per learner.",
        )
    tables = _time_tables(inbox, submitted)
    dating = _Dating(inbox, tables, submitted)
    if roster is None:
        submissions = _by_entry([(upload, ()) for upload in inbox.uploads], dating)
    else:
        owned, strangers = _by_owner(inbox, _Owners(roster, tables), dating)
        submissions = [
            _of_learner(learner, uploads, notes) for learner, (uploads, notes) in zip(roster, owned)
        ]
        taken = {submission.student.casefold() for submission in submissions}
        submissions += _by_entry(strangers, dating, taken)
    dating.warn()
    return submissions


def entry_numbers(path: Path, roster: list[Learner]) -> dict[str, dict[str, str]]:
    """{learner's id: {column of the roster: number}} of those whom the worksheets beside the
    submissions identify.
    """
    tables = _time_tables(read_inbox(Path(os.path.realpath(path)), []), None)
    found = {
        (one.student, column, table.number(one))
        for table in tables
        for column in SYSTEMS[table.system].numbers[:1]
        for one in roster
    }
    count = Counter((column, number) for _, column, number in found)
    numbers: dict[str, dict[str, str]] = {}
    for student, column, number in found:
        if number and count[column, number] == 1:
            numbers.setdefault(student, {})[column] = number
    return numbers


def _time_tables(inbox: Inbox, submitted: Submitted | None) -> list[TimeTable]:
    """The table that the instructor gave, and those in the worksheets among the submissions."""
    if submitted:
        worksheets = [
            read_time_table(Path(name), text, submitted.zone) for name, text in inbox.worksheets
        ]
        return [submitted.table, *worksheets] if submitted.table else worksheets
    # For whose each number is, if they can be read: their times are not used.
    with contextlib.suppress(TitoError):
        return [read_time_table(Path(name), text, timezone.utc) for name, text in inbox.worksheets]
    return []


class _Dating:
    """Finds out when uploads arrived: from metadata, tables of times, the names of entries, or else
    from the instructor.

    submitted  None: from metadata and marks only
    """

    def __init__(self, inbox: Inbox, tables: list[TimeTable], submitted: Submitted | None) -> None:
        self.submitters, self.tables = inbox.submitters, tables if submitted else []
        self.reads_times, self.submitted = bool(submitted), submitted or Submitted()
        # A system names every entry of a download. A learner could name a single file like this.
        entries = filter(None, (read_name(upload.stem) for upload in inbox.uploads))
        count = Counter(entry.system for entry in entries if entry.is_certain or entry.late)
        self.systems = {name for name, times in count.items() if times > len(inbox.uploads) / 2}
        self.unknown: dict[str, str] = {}  # {where: a time that is not understood}

    def dated(self, upload: Upload, owners: Sequence[Learner | None] = ()) -> Upload:
        """The upload with when it arrived. A table may have the time of any of its owners."""
        arrived, stem = upload.arrived, upload.stem
        if (known := self.submitters.get(upload.name, Submitters()).arrived).when:
            arrived = known
        for table in self.tables:
            if not arrived.when:
                arrivals = [table.arrival(stem, one) for one in owners or [None]]
                arrived = max(arrived, *arrivals, key=lambda one: one.order)
        entry = read_name(stem)
        is_named = entry and entry.system in self.systems
        if entry and entry.time and is_named and self.reads_times and not arrived.when:
            arrived = self._by_name(entry, f"The time in {shown(stem, 80)}", arrived)
        if entry and (entry.late or is_named and entry.late is not None):
            arrived = replace(arrived, late=entry.late, how=arrived.how or entry.system)
        if self.submitted.time and not arrived.when and arrived.late is not False:
            arrived = replace(arrived, when=self.submitted.time, how="--submitted")
        return replace(upload, arrived=replace(arrived, latest=arrived.when))

    def _by_name(self, entry: EntryName, where: str, arrived: Arrived) -> Arrived:
        """The arrival with the time in the name of an entry, if that can be understood."""
        try:
            parse_time(entry.time, timezone.utc)
        except ValueError:
            self.unknown[where] = entry.time
            return arrived
        time = read_time(entry.time, self.submitted.zone, where)
        return replace(arrived, when=time, how=entry.system)

    def warn(self) -> None:
        """Say which times in names could not be understood."""
        if self.unknown:
            words = (
                f"The names of {len(self.unknown)} submissions have a time that was not "
                f"understood: {some(self.unknown.values())}. They count as in time, unless "
                "--submitted says when they arrived."
            )
            warnings.warn(words, Notice, stacklevel=2)


def _of_learner(learner: Learner, uploads: list[Upload], notes: Iterable[str]) -> Submission:
    """The Submission of a learner in the roster, with these uploads."""
    counted, order_notes = _in_order(uploads)
    name = learner.name or learner.student
    return Submission(learner.student, name, tuple(counted), (*notes, *order_notes))


def _in_order(uploads: list[Upload]) -> tuple[list[Upload], list[str]]:
    """One learner's uploads, the earliest first, and notes on those that are left out."""
    readable = sorted(
        (upload for upload in uploads if upload.kind not in ("", "other")),
        key=lambda upload: upload.order,
    )
    refused = [upload for upload in uploads if upload.kind in ("", "other")]
    notes = []
    if len(readable) > UPLOADS:
        older = some(upload.name for upload in readable[:-UPLOADS])
        notes.append(f"There are {len(readable)} entries; these older ones do not count: {older}.")
    if readable:
        other = "is not a folder, zip, tar, script or notebook"
        own = [one for one in refused if not _is_text(one)]
        notes += [f"{shown(one.name, 80)} {one.problem or other}." for one in own[:5]]
    return readable[-UPLOADS:] or refused[-UPLOADS:], notes


def _is_text(upload: Upload) -> bool:
    """Whether a system wrote this file, beside the learner's."""
    entry = read_name(upload.stem)
    return bool(entry and entry.is_text)


def _by_entry(
    pairs: list[tuple[Upload, Notes]], dating: _Dating, taken: Iterable[str] | None = None
) -> list[Submission]:
    """A Submission for each of these uploads, under its own name.

    taken  the casefolded ids of the roster, which these must not get; None without a roster
    """
    pairs, texts = _without_texts(pairs)
    stems = Counter(upload.stem.casefold() for upload, _ in pairs)
    used = set(taken or ())
    submissions = []
    for upload, notes in pairs:
        people = dating.submitters.get(upload.name, Submitters()).people
        own = upload.stem if stems[upload.stem.casefold()] == 1 else upload.name
        if taken is not None and len(people) == 1:  # the numbers of folders change each time
            own = people[0].get("email") or people[0].get("sid") or own
        student = shown(own)
        while student.casefold() in used:
            student = shown(student + "\0")  # gets another hash: no two entries share a row
        used.add(student.casefold())
        name = ", ".join(person["name"] for person in people if person.get("name"))
        uploads = [dating.dated(part) for part in (*texts.get(upload.name, ()), upload)]
        uploads.sort(key=lambda part: part.order)
        submissions.append(
            Submission(student, shown(name or student), tuple(uploads), notes, taken is None)
        )
    return submissions


def _without_texts(
    pairs: list[tuple[Upload, Notes]],
) -> tuple[list[tuple[Upload, Notes]], dict[str, list[Upload]]]:
    """Without those that a system made for what was typed beside a file, and
    {name of the file's entry: [those]}.
    """
    entries = {upload.name: read_name(upload.stem) for upload, _ in pairs}
    files = {
        replace(entry, is_text=True): name
        for name, entry in entries.items()
        if entry and not entry.is_text
    }
    others: list[tuple[Upload, Notes]] = []
    texts: dict[str, list[Upload]] = {}
    for upload, notes in pairs:
        entry = entries[upload.name]
        if file := files.get(entry) if entry else None:
            texts.setdefault(file, []).append(upload)
        else:
            others.append((upload, notes))
    return others, texts


class _Owners:
    """Finds the learners to whom an entry belongs, by their place in the roster: by what a person
    decided, a list of this run, an id, an earlier run, and a name, in this order.
    """

    def __init__(self, roster: list[Learner], tables: list[TimeTable]) -> None:
        self.roster, self.finder, self.tables = roster, Roster(roster), tables

    def of_upload(
        self, upload: Upload, submitters: Submitters | None
    ) -> tuple[set[int], dict[int, Upload]]:
        """The owners of an entry, several where it fits several; and {owner: the entry with their
        keys}, where that is certain. submitters: of a team each may be known or not.
        """
        if not submitters:
            owners, entry = self._by_name(upload)
            return owners, dict.fromkeys(owners, entry) if len(owners) == 1 else {}
        people = map(self._of_person, submitters.people)
        theirs = {min(of): replace(upload, keys=keys) for of, keys in people if len(of) == 1}
        return {*theirs}, theirs

    def _by_name(self, upload: Upload) -> tuple[set[int], Upload]:
        stem, finder = upload.stem, self.finder
        entry = replace(upload, keys=entry_keys(stem))
        found = [
            finder.remembered(stem, DECIDED),
            finder.by_ids(*(table.ids(stem) for table in self.tables)),
            finder.identified(stem),
            finder.remembered(stem, SURE),
        ]
        if owners := _first_single(found) or next(filter(None, found), set()):
            return owners, entry
        owners, sure = finder.owners(stem)
        if not (owners and sure):
            owners, sure = finder.remembered(stem, GUESS) or owners, False
        return owners, replace(entry, sure=sure)

    def _of_person(self, person: dict[str, str]) -> tuple[set[int], tuple[str, ...]]:
        """The owners of the work of {"name", "sid", "email"}, and the keys of that person."""
        finder = self.finder
        ids = [text for name in ("sid", "email") if (text := person.get(name, ""))]
        found = [
            *(finder.remembered(text, DECIDED) for text in ids),
            by_ids := finder.by_ids(ids),
            *(finder.remembered(text, SURE) for text in ids),
        ]
        owners = _first_single(found) or by_ids or finder.named(person.get("name", ""))
        return owners, tuple(key for text in ids for key in entry_keys(text))


def _first_single(found: Iterable[set[int]]) -> set[int]:
    return next((owners for owners in found if len(owners) == 1), set())


def _by_owner(
    inbox: Inbox, finder: _Owners, dating: _Dating
) -> tuple[list[tuple[list[Upload], list[str]]], list[tuple[Upload, Notes]]]:
    """[(uploads, notes)] by learner, and [(upload, notes)] that match no learner."""
    owned: list[tuple[list[Upload], list[str]]] = [([], []) for _ in finder.roster]
    rest: list[tuple[Upload, Notes]] = []
    for upload in inbox.uploads:
        owners, theirs = finder.of_upload(upload, inbox.submitters.get(upload.name))
        team = finder.finder.team(owners)
        group = finder.roster[min(team)].group if len(team) > 1 else ""
        if group:
            other = replace(upload, group=group)
            theirs = {one: replace(theirs.get(one, other), group=group) for one in team}
        people = [finder.roster[number] for number in sorted(owners)]
        shown_name = shown(upload.name, 80)
        for number, entry in theirs.items():
            uploads, notes = owned[number]
            uploads.append(dating.dated(entry, people))
            why = f"Handed in by the group {shown(group, 80)}." if group else ""
            if not entry.sure:
                why = f"{shown_name} was taken for theirs because of a part of its name."
            notes += [why] * bool(why and why not in notes and len(notes) < 5)
        if owners and not theirs:
            names = ", ".join(one.student for one in people[:5])
            why = f"{shown_name} may belong to {names}: its name does not identify the learner."
            rest.append((upload, (why,)))
        elif not theirs:
            rest.append((upload, (f"{shown_name} belongs to no learner in the roster.",)))
    return owned, rest


def fingerprint(submission: Submission, limits: Limits = LIMITS) -> str:
    """A hash of a learner's submission, without parsing it.

    Of files other than scripts, notebooks and archives, only the names are hashed.
    """
    total = hashlib.sha256()

    def add(*parts: object) -> None:
        total.update(json.dumps(parts).encode())

    for upload in submission.uploads:
        add(upload.name, upload.kind, upload.problem)
        left = limits.unpacked
        with contextlib.suppress(Unreadable):
            for file in list_files(upload, limits):
                add(file.path, file.problem)
                is_read = file.suffix in (".py", ".ipynb") or file.is_archive
                if file.problem or not is_read or left <= 0:
                    continue
                whole = hashlib.sha256()
                try:
                    for piece in file.pieces(limits.zip):
                        left -= len(piece)
                        whole.update(piece)
                    add(whole.hexdigest())
                except Unreadable as error:
                    add(str(error))
    return total.hexdigest()
