"""What learners handed in: which entries of the folder or zip of submissions are whose, and when
they arrived.

`find` lists the learners without opening anything; `submission.open_submission` reads one of them,
inside a worker, so that a class never sits in memory. Neither writes a file, follows a link, runs
what it reads, or raises over what a learner did: what cannot be read becomes a sentence in
`problem`, what was passed over one in `notes`.
"""

import contextlib
import hashlib
import json
import os
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

from tito.errors import TitoError, UsageError
from tito.grading.arrival import NOBODY, Arrived
from tito.grading.intake.archives import LIMITS, Unreadable, some
from tito.grading.intake.inbox import items_of, natural_key, parts_in
from tito.grading.intake.submission import open_submission
from tito.grading.intake.submission_times import Times, by_name, of_roster, with_fetched, worksheet
from tito.grading.roster import MOODLE, Roster, shown

ENTRIES = 20  # of one learner that are looked at


@dataclass(frozen=True)
class Collected:
    """What the instructor says of a batch.

    times    arrived.Times, or None
    arrived  when all arrived of which nobody says more, or None
    zone     of times that name none, or None
    """

    times: Times | None = None
    arrived: datetime | None = None
    zone: object = None


@dataclass(frozen=True)
class Arrival:
    """One learner, and what they handed in, not opened yet.

    arrived  when the latest of it arrived, where that is known
    parts    the earliest first; none: nothing was handed in
    known    whether the roster has them, or there is none
    said     {lesson, or "" for all: Arrived} by the roster
    partial  whether later entries of theirs were left out, see `rounds`
    """

    student: str
    name: str
    arrived: datetime | None = None
    parts: tuple = ()
    notes: tuple = ()
    known: bool = True
    said: dict = field(default_factory=dict)
    partial: bool = False

    def moment(self, lesson, entry):
        """When a lesson's file arrived that came in this entry; "": in the latest."""
        part = next((part for part in self.parts if part.name == entry), None)
        if part is None:
            if not self.parts:
                return NOBODY
            part = self.parts[-1]
        said = self.said.get(lesson) or self.said.get("")
        if said:
            return Arrived(said.when, said.how, part.arrived.late, part.time)
        return with_fetched(part.arrived, part.time)

    def rounds(self):
        """The Arrivals to grade so that every entry counts as it was handed in: with the first
        entry, with the first two, ..., with all.
        """
        for number in range(1, len(self.parts)):
            yield replace(self, parts=self.parts[:number], said={}, partial=True)
        yield self


def read(submissions, lessons, roster=None, limits=LIMITS):
    """Each learner's Submission, one after the other: `find` and `open_submission` in one."""
    for arrival in find(submissions, lessons, roster):
        yield open_submission(arrival, lessons, limits)


def find(submissions, lessons, roster=None, collected=Collected()):
    """The learners, as Arrivals: in the order of the roster, then by name.

    submissions  a folder or zip with a folder, zip or lesson file per learner; or the work of a
                 single one
    lessons      the course's lessons (course.Entry)
    roster       Learners, or None: then every entry is a learner
    collected    when it arrived, as far as the instructor knows; None: no time is looked at

    With a roster each learner in it is there, with or without parts; an entry that is nobody's, or
    may be of several, comes under its own name with `known` False. Raises TitoError when the folder
    or zip itself cannot be read or is empty.
    """
    parts, told, sheets = parts_in(Path(os.path.realpath(submissions)), lessons)
    tables = _tables(sheets, collected)
    parts.sort(key=lambda part: (natural_key(part.name), part.name))
    if not parts and not roster:
        raise UsageError(
            f"There are no submissions in {submissions}.",
            "Give the folder or zip with a folder, zip or file per learner.",
        )
    batch = _Batch(parts, told, tables, collected)
    if roster is None:
        return batch.of_entries([(part, ()) for part in parts])
    of, rest = _by_learner(parts, roster, told, tables)
    names = [entry.name for entry in lessons]
    found = [batch.of_learner(learner, names, *mine) for learner, mine in zip(roster, of)]
    taken = {one.student.casefold() for one in found}
    return found + batch.of_entries(rest, taken, strangers=True)


def _tables(sheets, collected):
    """The Times that the instructor gave, and those in the worksheets among the submissions."""
    if collected:
        given = [collected.times] if collected.times else []
        return given + [worksheet(name, text, collected.zone) for name, text in sheets]
    # For whose each number is, if they can be read: their times are not used.
    with contextlib.suppress(TitoError):
        return [worksheet(name, text, timezone.utc) for name, text in sheets]
    return []


class _Batch:
    """The Parts of SUBMISSIONS, and what is said of each: by Gradescope (told), by tables of times,
    by the instructor (collected, or None).
    """

    def __init__(self, parts, told, tables, collected):
        self.told, self.tables, self.collected = told, tables, collected
        # Canvas names every entry of a download; a learner may name a single one as Canvas would.
        self.from_canvas = 2 * sum(bool(by_name(part.stem).how) for part in parts) > len(parts)

    def dated(self, part, learner=None):
        """The part with when it arrived: by what the collector wrote, else by --arrived."""
        known, stem, collected = part.arrived, part.stem, self.collected
        if collected and not known.when:
            times = (table.of(stem, learner) for table in self.tables)
            known = next((one for one in times if one.when), known)
        marked = by_name(stem)
        if known.late is None and (marked.late or self.from_canvas and marked.how):
            known = replace(known, late=marked.late, how=known.how or marked.how)
        if collected and collected.arrived and not known.when and known.late is not False:
            known = replace(known, when=collected.arrived, how="--arrived", latest=None)
        return replace(part, arrived=replace(known, latest=known.when))

    def of_learner(self, learner, lessons, parts, notes):
        """The Arrival of a line of the roster, with these Parts. lessons: names."""
        mine, more = _in_order([self.dated(part, learner) for part in parts])
        said = _said(learner, lessons, self.collected.zone) if self.collected else {}
        newest = said.get("") or (mine[-1].arrived if mine else NOBODY)
        return Arrival(
            learner.student,
            learner.name or learner.student,
            newest.when,
            tuple(mine),
            (*notes, *more),
            said=said,
        )

    def of_entries(self, pairs, taken=(), strangers=False):
        """An Arrival for each of these (Part, notes), under its own name.

        taken      ids of others, casefolded
        strangers  whether there is a roster, and they are nobody's in it
        """
        pairs, texts = _without_texts(pairs)
        stems, taken, found = Counter(part.stem.casefold() for part, _ in pairs), set(taken), []
        for part, notes in pairs:
            tale = self.told.get(part.name, {})
            people = tale.get("people", ())
            own = part.stem if stems[part.stem.casefold()] == 1 else part.name
            if strangers and len(people) == 1:  # the numbers of folders change each time
                own = people[0].get("email") or people[0].get("sid") or own
            student = shown(own)
            while student.casefold() in taken:
                student = shown(student + "\0")  # gets another hash: no two entries share a row
            taken.add(student.casefold())
            name = ", ".join(person["name"] for person in people if person.get("name"))
            every = (*texts.get(part.name, ()), part)
            mine = [self.dated(_by_gradescope(one, tale)) for one in every]
            found.append(
                Arrival(
                    student,
                    shown(name or student),
                    mine[-1].arrived.when,
                    tuple(sorted(mine, key=lambda one: one.order)),
                    notes,
                    known=not strangers,
                )
            )
        return found


def _said(learner, names, zone):
    """{lesson, or "" for all: Arrived} that the roster says of a learner."""
    by_lesson = {
        name: of_roster(learner, name, zone)
        for name in names
        if learner.columns.get(f"arrived_{name}")
    }
    general = of_roster(learner, None, zone)
    return {name: one for name, one in {**by_lesson, "": general}.items() if one}


def _by_gradescope(part, tale):
    time = tale.get("time")
    return replace(part, arrived=Arrived(time, "gradescope")) if time else part


def _without_texts(rest):
    """Without those that Moodle made for what was typed beside a file, and
    {name of the file's entry: [those]}.
    """
    schemes = {part.name: MOODLE.fullmatch(part.stem) for part, _ in rest}
    files = {
        (found["name"], found["id"]): name
        for name, found in schemes.items()
        if found and found["kind"] == "file"
    }
    kept, texts = [], {}
    for part, notes in rest:
        found = schemes[part.name]
        of = found and found["kind"] == "onlinetext" and files.get((found["name"], found["id"]))
        if of:
            texts.setdefault(of, []).append(part)
        else:
            kept.append((part, notes))
    return kept, texts


def _by_learner(parts, roster, told, tables=()):
    """[(parts, notes) for each learner], and [(part, notes)] that are nobody's."""
    known, of, rest = Roster(roster), [([], []) for _ in roster], []
    for part in parts:
        tale, owners, sure = told.get(part.name), set(), True
        if tale:
            part = _by_gradescope(part, tale)
            found = [known.submitter(person) for person in tale["people"]]
            team = {number for one in found if len(one) == 1 for number in one}
            for number in team:
                of[number][0].append(part)
            if team:
                continue
        else:
            numbered = known.by_ids(*(table.ids(part.stem) for table in tables))
            owners, sure = (numbered, True) if numbered else known.owners(part.stem)
        if len(owners) == 1:
            (owner,) = owners
            mine, notes = of[owner]
            mine.append(part)
            if not sure and len(notes) < 5:
                notes.append(
                    f"{shown(part.name, 80)} was taken for theirs because of the id in its name."
                )
        elif owners:
            names = ", ".join(roster[number].student for number in sorted(owners)[:5])
            rest.append(
                (
                    part,
                    (
                        f"{shown(part.name, 80)} may belong to {names}: its name does not say "
                        f"whose it is.",
                    ),
                )
            )
        else:
            rest.append((part, (f"{shown(part.name, 80)} belongs to nobody in the roster.",)))
    return of, rest


def _in_order(parts):
    """One learner's entries, the earliest first, and notes on those that are left out."""
    readable = sorted((part for part in parts if part.kind), key=lambda part: part.order)
    refused = [part for part in parts if not part.kind]
    notes = []
    if len(readable) > ENTRIES:
        older = some(part.name for part in readable[:-ENTRIES])
        notes.append(f"There are {len(readable)} entries; these older ones do not count: {older}.")
    if refused and readable:
        notes += [f"{shown(part.name, 80)} {part.problem}." for part in refused[:5]]
    return readable[-ENTRIES:] or refused[-1:], notes


def fingerprint(arrival, limits=LIMITS):
    """A hash of what one learner handed in, without parsing it: another one for other bytes.

    Files that are no scripts, notebooks or zips count by their names.
    """
    found = hashlib.sha256()

    def add(*parts):
        found.update(json.dumps(parts).encode())

    for part in arrival.parts:
        add(part.name, part.kind, part.problem)
        left = limits.read
        with contextlib.suppress(Unreadable):
            for item in items_of(part, limits):
                add(item.path, item.problem)
                if item.problem or item.suffix not in (".py", ".ipynb", ".zip") or left <= 0:
                    continue
                try:
                    data = item.read(limits.inner_zip)
                    left -= len(data)
                    add(hashlib.sha256(data).hexdigest())
                except Unreadable as error:
                    add(str(error))
    return found.hexdigest()
