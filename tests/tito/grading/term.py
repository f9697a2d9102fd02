"""A term of a class, played with the commands that an instructor types: rosters, downloads as
Canvas, Moodle, GitHub and Gradescope give them, a check that is mended, appeals, exports, feedback.

    python tests/tito/grading/term.py --learners 300 --folder ../term

A quarter of the class uses each system. What learners do is in STORIES; `Table` says by plain rules
of its own what each of them gets, and after every chapter of the term all grades are compared with
it. What is handed on is read by other programs' means: csv, json, zipfile, XML, sqlite3.
"""

import argparse
import csv
import html
import io
import itertools
import json
import math
import os
import re
import sqlite3
import subprocess
import sys
import time
import zipfile
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree
from zoneinfo import ZoneInfo

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import jupytext
from small_course import SUMS_CHECKS, make_course

BERLIN = ZoneInfo("Europe/Berlin")
DUE = {  # summer time ends between the two
    "numbers": datetime(2026, 10, 5, 23, 59, tzinfo=BERLIN),
    "sums": datetime(2026, 10, 26, 23, 59, tzinfo=BERLIN),
}
RULES = """
[grading]
grace_minutes = 15
percent_per_day = 10
at_most_percent = 50
[grading.due]
numbers = 2026-10-05T23:59:00+02:00
sums = 2026-10-26T23:59:00+01:00
[late]
mark = 20
zone = "Europe/Berlin"
[resubmission]
policy = "latest"
"""
DOWNLOADS = {"numbers": (48, 220), "sums": (220,)}  # hours after the lesson was due
SYSTEMS = ("canvas", "moodle", "github", "gradescope")
POLICIES = ("latest", "best", "last-on-time")
FOLDER = {"numbers": "01_numbers", "sums": "02_sums"}
TITLE = {"numbers": "01 Numbers", "sums": "02 Sums"}

# What is written into the exercises, and what it earns before a check of sums is mended, and after.
WORK = {
    "numbers": {
        "right": ({"double": "return x + x", "triple": "return double(x) + x"}, 5, 5),
        "partly": ({"double": "return x + x"}, 4, 4),
        "wrong": ({"double": "return x * x", "triple": "return double(x) + x"}, 3, 3),
        "syntax error": ({"double": "return (x"}, 0, 0),
        "stub": ({}, 0, 0),
    },
    "sums": {
        "right": ({"total": "return sum(double(n) for n in numbers)"}, 3, 3),
        # Fails for no number at all, of which the exercise says nothing.
        "partly": ({"total": "return sum(map(double, numbers[1:]), double(numbers[0]))"}, 2, 3),
        "wrong": ({"total": "return 6"}, 2, 0),
        "syntax error": ({"total": "return sum("}, 0, 0),
        "stub": ({}, 0, 0),
    },
}
MOST = {"numbers": 5, "sums": 3}
SUBMISSIONS = ("right", "partly", "wrong", "syntax error")  # what may take the place of a grade
MENDED = SUMS_CHECKS.replace("== 6, f", "== 6 and total([4]) == 8, f").replace(
    '    assert total([]) == 0, "secret"\n', ""
)

# What a learner does about a lesson: [(hours after it was due, what they hand in)]
STORIES = [
    [(-5, "right")],
    [(-30, "partly")],
    [(1 / 6, "right")],  # within the grace, of which Canvas knows nothing
    [(20, "right")],
    [(70, "partly")],
    [(190, "right")],
    [(-30, "partly"), (-3, "right")],
    [(-30, "right"), (-3, "wrong")],
    [(-3, "partly"), (60, "right")],
    [(-3, "right"), (60, "wrong")],
    [(20, "partly"), (60, "right")],
    [(-3, "right"), (60, "the same")],
    [(-3, "damaged"), (60, "right")],
    [(-3, "right"), (60, "damaged")],
    [(-3, "right"), (60, "syntax error")],
    [(-3, "wrong"), (60, "stub")],
    [(-3, "other lesson")],
    [(-3, "partly"), (60, "other lesson")],
    [(-3, "damaged")],
    [(-3, "typed")],
    [(-3, "syntax error")],
    [],
]
FIRST = """
    Ada Bob Cleo Dan Eve Finn Grete Hugo Iris Jan Kim Lea Max Nora Otto Pia Quinn Rosa Sam Tina
""".split()
LAST = """
    Abel Berg Chen Diaz Ende Fox Groß Hahn Ito Jung Kuhn Lind Mohr Noll O'Neil Paul Roth Sato Tal
    Wolf
""".split()
ODD = {4: "Bob;=1+1", 5: "@Ann =2+3", 6: "李 明", 7: "-Dash, =cmd()"}  # out for trouble
LEAVES, MOVES = 12, 2  # who leaves the class; who hands in under two ids
SEPARATORS = ",;\t"


class Wrong(Exception):
    """The program and the table disagree."""


@dataclass
class Learner:
    """Somebody in the class; `number` decides all about them."""

    number: int
    name: str

    def __post_init__(self):
        letters = "".join(c for c in self.name.lower() if c.isascii() and c.isalpha()) or "li"
        self.system = SYSTEMS[self.number % len(SYSTEMS)]
        self.login = f"{'-' * (self.number == 8)}{letters}{self.number}"
        self.email = f"{self.login.strip('-')}@example.org"
        self.canvas, self.sid = str(100_000 + self.number), str(3_030_000 + self.number)
        self.github = f"{letters}-{self.number}"
        self.form = ("script", "zip", "notebook")[self.number // 4 % 3]

    def story(self, lesson):
        """[(hours, what)], the earliest first."""
        turn = self.number // 4 + 6 * SYSTEMS.index(self.system) + 9 * (lesson == "sums")
        return STORIES[turn % len(STORIES)]

    def last(self, lesson, hours):
        """(hours, what) that a download so many hours after the due date has of them, or None."""
        return max((one for one in self.story(lesson) if one[0] <= hours), default=None)


def make_class(size):
    learners = [
        Learner(n, ODD.get(n) or f"{FIRST[n % 20]} {LAST[(n // 20 + n) % 20]}") for n in range(size)
    ]
    learners[13].name = learners[9].name  # two of the same name, both with Moodle
    return learners


# What everybody should get.


class Table:
    """The grades as the histories say, by rules written here and nowhere else.

    downloads  {(lesson, system): [hours]} that were graded
    """

    def __init__(self, learners):
        self.learners, self.downloads, self.policy, self.mended = learners, {}, "latest", False
        self.points, self.days = {}, {}  # by hand: {(learner, lesson): points}, {...: days}

    def graded(self, lesson, system, hours):
        self.downloads.setdefault((lesson, system), []).append(hours)

    def seen(self, learner, lesson):
        """[(hours of the first arrival, what)] of what any download has, in order of the last."""
        found = {}
        for hours in self.downloads.get((lesson, learner.system), ()):
            if one := learner.last(lesson, hours):
                what = "right" if one[1] == "the same" else one[1]
                found[what] = min(found.pop(what, one[0]), one[0])
        return [(hours, what) for what, hours in found.items()]

    def percent(self, learner, lesson, hours):
        """(what lateness takes, whether it is late)"""
        extra = self.days.get((learner.number, lesson), 0)
        if learner.system == "canvas":  # says late or not, and knows of no extension
            late = hours > 0 and not extra
            return 20 * late, late
        days = max(0, math.ceil((Fraction(hours) - Fraction(1, 4) - 24 * extra) / 24))
        return min(50, 10 * days), days > 0

    def earned(self, lesson, what):
        return WORK[lesson][what][2 if self.mended else 1]

    def grade(self, learner, lesson):
        """(points, verdict), None where no download could have one. The verdict is None where what
        was handed in is none of the lesson.
        """
        if (lesson, learner.system) not in self.downloads:
            return None
        by_hand = self.points.get((learner.number, lesson))
        real = []
        for hours, what in self.seen(learner, lesson):
            if what in SUBMISSIONS:
                percent, late = self.percent(learner, lesson, hours)
                points = Fraction(self.earned(lesson, what) * (100 - percent), 100)
                real.append((points, late, what))
        if not real:
            return by_hand or Fraction(0), None
        if self.policy == "best":
            chosen = max(enumerate(real), key=lambda one: (one[1][0], one[0]))[1]
        elif self.policy == "last-on-time":
            in_time = [one for one in real if not one[1]]
            chosen = in_time[-1] if in_time else real[0]
        else:
            chosen = real[-1]
        points, _, what = chosen
        if what != "syntax error":
            what = "passed" if self.earned(lesson, what) == MOST[lesson] else "failed"
        return points if by_hand is None else by_hand, what

    def all(self):
        """{(login, lesson): (points, verdict)}"""
        found = {
            (one.login, lesson): self.grade(one, lesson) for one in self.learners for lesson in DUE
        }
        return {place: grade for place, grade in found.items() if grade}


# What the systems give.


class Files:
    """What learners write, and the forms in which it comes."""

    def __init__(self, release):
        self.stubs = {
            name: (release / "modules" / "source" / FOLDER[name] / f"{name}_dev.py").read_text(
                "utf-8"
            )
            for name in DUE
        }

    def script(self, learner, lesson, what):
        text = self.stubs[lesson]
        for exercise, code in WORK[lesson][what][0].items():
            text, count = re.subn(
                rf'raise NotImplementedError\("exercise {lesson}-{exercise} .*"\)',
                lambda _: code,
                text,
            )
            assert count == 1
        return f"{text}\n# {learner.login}, {what}\n"

    def uploads(self, learner, lesson, what):
        """{name: bytes} of the files that they upload."""
        what = "right" if what == "the same" else what
        if what == "typed":
            return {}
        if what == "other lesson":
            (other,) = set(DUE) - {lesson}
            return {f"{other}_dev.py": self.script(learner, other, "right").encode()}
        if what == "damaged":
            packed = self.packed(learner, lesson, "right")
            return {"my-tinytorch-1.zip": packed[: len(packed) * 2 // 3]}
        script = self.script(learner, lesson, what)
        if learner.form == "zip":
            return {"my-tinytorch-1.zip": self.packed(learner, lesson, what)}
        if learner.form == "notebook" and what != "syntax error":
            notebook = jupytext.reads(script, fmt="py:percent")
            for number, cell in enumerate(notebook.cells):
                cell["id"] = f"cell-{number}"  # the same bytes each time
            return {f"{lesson}_dev.ipynb": jupytext.writes(notebook, fmt="ipynb").encode()}
        return {f"{lesson}_dev.py": script.encode()}

    def workspace(self, learner, lesson, what):
        """{path: bytes} as `tito submit` packs it: this lesson, and the one before."""
        held = {lesson: self.script(learner, lesson, what)}
        if lesson == "sums" and (before := learner.last("numbers", math.inf)):
            if before[1] in SUBMISSIONS:
                held["numbers"] = self.script(learner, "numbers", before[1])
        files = {
            f"modules/source/{FOLDER[name]}/{name}_dev.py": text.encode()
            for name, text in held.items()
        }
        return files | {"tito.toml": b'[workspace]\ncourse = "Small"\nedition = "1"\n'}

    def packed(self, learner, lesson, what):
        return zipped(self.workspace(learner, lesson, what))


def zipped(files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as box:
        for name, content in files.items():
            box.writestr(name, content)
    return data.getvalue()


def unpacked(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def aged(path, when):
    """Let all of it be of the hour when it was downloaded."""
    for one in [path, *path.rglob("*")] if path.is_dir() else [path]:
        os.utime(one, (when.timestamp(),) * 2)
    return path


def letters(name):
    """A name in the names of Canvas's files: the last name first."""
    *first, last = name.split(" ")
    return "".join(c for c in "".join([last, *first]).lower() if c.isalnum())


def moodle_time(when, german):
    when = when.astimezone(BERLIN)
    if german:
        days = "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split()
        month = {9: "September", 10: "Oktober", 11: "November"}[when.month]
        return f"{days[when.weekday()]}, {when.day}. {month} {when.year}, {when:%H:%M}"
    hour = (when.hour - 1) % 12 + 1
    return f"{when:%A}, {when.day} {when:%B} {when.year}, {hour}:{when:%M} {when:%p}"


class Downloads:
    """The downloads of an assignment, as each system makes them."""

    def __init__(self, folder, files, learners):
        self.folder, self.files, self.learners = folder, files, learners

    def make(self, lesson, system, hours):
        """(what to grade, more words of `tito grade`)"""
        stranger = Learner(900 + SYSTEMS.index(system), f"Uma Unknown{system.title()}")
        when = DUE[lesson] + timedelta(hours=hours)
        people = [one for one in self.learners if one.system == system]
        entries = []  # (Learner, when they handed in, what)
        for one in people:
            if last := one.last(lesson, hours):
                entries.append((one, DUE[lesson] + timedelta(hours=last[0]), last[1]))
        entries.append((stranger, DUE[lesson] - timedelta(hours=4), "right"))
        folder = self.folder / f"{lesson}-{system}-{hours}"
        folder.mkdir(parents=True)
        path, *more = getattr(self, system)(folder, lesson, entries, people, hours > 48)
        aged(folder, when)
        return path, more

    def canvas(self, folder, lesson, entries, people, again):
        """submissions.zip: every file beside the others, with two numbers and its mark."""
        files, numbers = {}, itertools.count(7_700_001 + 1000 * again)
        for one, when, what in entries:
            late = "_LATE" * (when > DUE[lesson])
            start = f"{letters(one.name)}{late}_{one.canvas}"
            if what == "typed":
                files[f"{start}_text.html"] = b"<p>return x + x</p>"
            for name, content in self.files.uploads(one, lesson, what).items():
                stem, dot, suffix = name.rpartition(".")
                if again and len(one.story(lesson)) > 1:
                    stem += "-1"  # so Canvas numbers what is handed in anew
                files[f"{start}_{next(numbers)}_{stem}{dot}{suffix}"] = content
        path = folder / "submissions.zip"
        path.write_bytes(zipped(files))
        return (path,)

    def moodle(self, folder, lesson, entries, people, again):
        """A folder for each participant, and the grading worksheet: first a zip and the worksheet
        in English beside it, then unpacked, with a worksheet in German in it. Numbers of
        participants are another assignment's in each.
        """
        base = {"numbers": 20_000, "sums": 30_000}[lesson]
        files = {}
        for one, _, what in entries:
            name = re.sub(r'[\\/:*?"<>|\t]', "", one.name)
            start = f"{name}_{base + one.number}_assignsubmission"
            slash = "_/" if one.number % 8 < 4 else "/"
            if what == "typed" or one.number % 3 == 0:
                files[f"{start}_onlinetext{slash}onlinetext.html"] = b"<p>see my file</p>"
            for file, content in self.files.uploads(one, lesson, what).items():
                files[f"{start}_file{slash}{file}"] = content
        sheet = self.worksheet(lesson, base, entries, people, german=again)
        if again:
            unpacked(folder, files | {"Bewertungen-DL-4711.csv": b"\xef\xbb\xbf" + sheet})
            return (folder,)
        path, table = folder / f"DL-{lesson}-4711.zip", folder / f"Grades-DL-{lesson}-4711.csv"
        path.write_bytes(zipped(files))
        table.write_bytes(sheet)
        return path, "--times", table

    def worksheet(self, lesson, base, entries, people, german):
        english = (
            "Identifier|Full name|Email address|Status|Grade|Maximum Grade|Grade can be changed"
        )
        english += "|Last modified (submission)|Last modified (grade)|Feedback comments"
        deutsch = "ID|Vollständiger Name|E-Mail-Adresse|Status|Bewertung|Bestwertung"
        deutsch += "|Bewertung kann geändert werden|Zuletzt geändert (Abgabe)"
        deutsch += "|Zuletzt geändert (Bewertung)|Feedback als Kommentar"
        out = io.StringIO()
        write = csv.writer(out, lineterminator="\n").writerow
        write((deutsch if german else english).split("|"))
        times = {one.number: when for one, when, _ in entries}
        for one in people:
            when = times.get(one.number)
            status = "Submitted for grading - " if when else "No submission - "
            number = f"{'Teilnehmer/in' if german else 'Participant '}{base + one.number}"
            told = moodle_time(when, german) if when else "-"
            write([number, one.name, one.email, status, "", "100.00", "Yes", told, "-", ""])
        return out.getvalue().encode()

    def github(self, folder, lesson, entries, people, again):
        """A clone for each repository, and the pushes as the host knows them."""
        pushes, done = [["github", "pushed_at"]], set()
        given = {
            f"modules/source/{FOLDER[name]}/{name}_dev.py": text.encode()
            for name, text in self.files.stubs.items()
        }
        for one, when, what in entries:
            handle = "old-handle" if (one.number, lesson) == (MOVES, "numbers") else one.github
            clone = folder / "clones" / f"fall26-{lesson}-{handle}"
            done.add(one.number)
            what = "right" if what == "the same" else what
            held = given | {".git/HEAD": b"ref: refs/heads/main\n"}
            if what in WORK[lesson]:
                held |= self.files.workspace(one, lesson, what)
            elif what == "damaged":
                held |= self.files.uploads(one, lesson, what)
            elif what == "other lesson":
                ((name, content),) = self.files.uploads(one, lesson, what).items()
                held[f"modules/source/{FOLDER[name[:-7]]}/{name}"] = content
            unpacked(clone, held)
            if one.number < 900:
                # The host lists every push until now, the newest first.
                hours = [hour for hour, _ in one.story(lesson)]
                moments = [DUE[lesson] + timedelta(hours=hour) for hour in hours]
                for moment in reversed([moment for moment in moments if moment <= when]):
                    utc = moment.astimezone(ZoneInfo("UTC"))
                    pushes.append([handle, f"{utc:%Y-%m-%dT%H:%M:%SZ}"])
        for one in people:
            if one.number not in done:  # never pushed to: as it was given out
                unpacked(folder / "clones" / f"fall26-{lesson}-{one.github}", given)
        table = folder / "pushes.csv"
        table.write_text("".join(",".join(row) + "\n" for row in pushes), encoding="utf-8")
        return folder / "clones", "--times", table

    def gradescope(self, folder, lesson, entries, people, again):
        """assignment_N_export with submission_metadata.yml and what was uploaded, zips unpacked."""
        files, lines = {}, ["---"]
        for one, when, what in entries:
            place = f"submission_{409_000_000 + one.number + 1000 * (when > DUE[lesson])}"
            utc = when.astimezone(ZoneInfo("UTC"))
            lines += [
                f"{place}:",
                "  :submitters:",
                f"  - :name: {one.name}",
                f"    :sid: '{one.sid}'",
                f"    :email: {one.email}",
                f"  :created_at: {utc:%Y-%m-%d %H:%M:%S}.861687000 Z",
                "  :score: 0.0",
                "  :results:",
                "    output: |-",
                "      :sid: '1'",
                "  :history:",
                "  - :id: 1",
                "    :created_at: 2026-09-01 10:00:00.000000000 Z",
            ]
            uploads = self.files.uploads(one, lesson, what) or {"answer.txt": b"x + x"}
            if what in WORK[lesson] and one.form == "zip":
                uploads = self.files.workspace(one, lesson, what)
            for name, content in uploads.items():
                files[f"assignment_{4711 + again}_export/{place}/{name}"] = content
        metadata = f"assignment_{4711 + again}_export/submission_metadata.yml"
        files = {metadata: "\n".join(lines).encode() + b"\n"} | files
        if again:
            unpacked(folder, files)
            return (folder,)
        path = folder / "submissions.zip"
        path.write_bytes(zipped(files))
        return (path,)


def canvas_list(learners):
    """The class as Canvas's gradebook lists it: the one list with everybody's login."""
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n").writerow
    write("Student,ID,SIS User ID,SIS Login ID,Section,Numbers (4711),Current Score".split(","))
    write(["    Points Possible", "", "", "", "", "5.00", "(read only)"])
    for one in learners:
        *first, last = one.name.split(" ")
        name = f"{last}, {' '.join(first)}" if first and one.number not in ODD else one.name
        write([name, one.canvas, f"S{one.number}", one.login, f"DL {one.system}", "", ""])
    write(["Student, Test", "99999", "", "a1b2c3", "DL canvas", "", ""])
    return b"\xef\xbb\xbf" + out.getvalue().encode()


def other_ids(learners):
    """What the other systems call them, as Excel saves "Unicode text"."""
    lines = ["SIS Login ID\tE-Mail\tID number\tGitHub Username\tStudent ID"]
    for one in learners:
        lines.append("\t".join([one.login, one.email, f"m-{one.number}", one.github, one.sid]))
    return "\r\n".join(lines).encode("utf-16")


# The term.


def process(course, *words):
    """Run tito as a shell does: (exit code, what it prints, what it says)."""
    done = subprocess.run(
        [sys.executable, "-m", "tito", *map(str, words)],
        cwd=course,
        capture_output=True,
        text=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
    )
    return done.returncode, done.stdout, done.stderr


class Term:
    """One term: each method is a chapter of it, and raises Wrong where a grade is not the table's.

    tito       as `process`
    gradebook  a URL, or None for a file
    """

    def __init__(self, folder, size, tito=process, gradebook=None, tell=print):
        self.folder, self.run, self.tell = Path(folder).resolve(), tito, tell
        self.course = make_course(self.folder / "course")
        self.toml = (self.course / "tito.toml").read_text(encoding="utf-8")
        self.book = ["--gradebook", gradebook] if gradebook else []
        self.learners = make_class(size)
        self.table = Table(self.learners)
        self.late_to_class = {self.learners[-4].number, self.learners[-1].number}
        self.graded = {}  # {(lesson, system): [words of `tito grade`]}
        self.apart = {(self.learners[MOVES].login, "numbers")}  # under another id, for now
        self.set_policy("latest")
        self.tito("release", self.folder / "release", book=False)
        files = Files(self.folder / "release")
        self.downloads = Downloads(self.folder / "downloads", files, self.learners)

    def tito(self, *words, book=True):
        """What a command prints; Wrong when it fails."""
        code, out, err = self.run(self.course, *(self.with_book(words) if book else words))
        if code or "Traceback" in err:
            raise Wrong(f"tito {' '.join(map(str, words))}: exit code {code}\n{out}{err}")
        return out + err

    def with_book(self, words):
        """The words with the options of the gradebook behind the command, before any `--`."""
        command = 2 if words[0] == "gradebook" else 1
        return [*words[:command], *self.book, *words[command:]]

    def json(self, *words):
        code, out, err = self.run(self.course, *self.with_book(words), "--json")
        if code:
            raise Wrong(f"tito {' '.join(map(str, words))}: exit code {code}\n{err}")
        return json.loads(out)

    def set_policy(self, policy):
        rules = RULES.replace('"latest"', f'"{policy}"')
        (self.course / "tito.toml").write_text(self.toml + rules, encoding="utf-8")
        self.table.policy = policy

    def people(self):
        """Who is on the lists now."""
        return [one for one in self.learners if one.number not in self.late_to_class]

    def expected(self):
        """{(login, lesson): (points, verdict)} of who is on the lists."""
        logins = {one.login for one in self.people()}
        places = self.table.all().items()
        return {
            place: grade
            for place, grade in places
            if place[0] in logins and place not in self.apart
        }

    def check(self, chapter):
        """Compare every grade with the table."""
        rows = {(row["student"], row["lesson"]): row for row in self.json("gradebook", "show")}
        expected, wrong = self.expected(), []
        for place, (points, verdict) in expected.items():
            row = rows.get(place)
            if row is None:
                wrong.append(f"{place}: no grade, not {float(points)}")
            elif Fraction(str(row["points"])) != points or verdict not in (None, row["verdict"]):
                wrong.append(
                    f"{place}: {row['points']} ({row['verdict']}, {row['late_reason']}, arrived "
                    f"{row['arrived']}), not {float(points)} ({verdict})"
                )
        self.same(chapter, wrong, [])
        self.tell(f"{chapter}: {len(expected)} grades as the table says")
        return rows

    def same(self, chapter, found, expected):
        if found != expected:
            if isinstance(found, dict) and isinstance(expected, dict):
                keys = [key for key in found.keys() | expected.keys()]
                found, expected = (
                    {key: one.get(key) for key in keys if found.get(key) != expected.get(key)}
                    for one in (found, expected)
                )
            raise Wrong(f"{chapter}: {found}\nshould be {expected}")

    def enroll(self):
        """Two lists make the class: Canvas's, which has the logins, and one of all other ids."""
        for name, text in (("canvas.csv", canvas_list), ("ids.txt", other_ids)):
            path = self.folder / name
            path.write_bytes(text(self.people()))
            told = self.tito("gradebook", "roster", path)
            if f"{len(self.people())} learners" not in told or "sis_login_id" not in told:
                raise Wrong(told)
        self.tell(told.strip())

    def collect(self, lesson, hours):
        """Download an assignment from each system and grade it."""
        for system in SYSTEMS:
            before = self.expected()
            path, more = self.downloads.make(lesson, system, hours)
            words = ["grade", path, lesson, *more]
            self.graded.setdefault((lesson, system), []).append(words)
            told = self.tito(*words)
            self.table.graded(lesson, system, hours)
            after = self.expected()
            fell = {
                (login, name, float(before[login, name][0]), float(now))
                for (login, name), (now, _) in after.items()
                if (login, name) in before and now < before[login, name][0]
            }
            listed = told.partition("fell:")[2]
            listed = re.findall(r"(?m)^  (\S+) \(.*\)  (\w+)  ([\d.]+) -> ([\d.]+)", listed)
            same = {(*place, float(old), float(new)) for *place, old, new in listed}
            self.same(f"{lesson}, {system}: grades that fell", same, fell)
            if "graded" not in told:
                raise Wrong(told)
        self.check(f"{lesson}, downloaded after {hours} hours")

    def repeat(self):
        """The same commands again, the newest first: nobody's work is graded, no grade changes."""
        for words in reversed(list(itertools.chain(*self.graded.values()))):
            told = self.tito(*words)
            verdicts = set(re.findall(r"(?m)^(\w[\w ]*?)  +\d+ *$", told))
            if verdicts - {"unreadable", "missing"} or "fell" in told:
                raise Wrong(f"{words}: {told}")
        self.check("the same folders again")

    def sort_out(self):
        """One learner left, one had two ids, two were late to class; strangers stay strangers."""
        self.tito("gradebook", "leave", "--why", "moved", "--", self.learners[LEAVES].login)
        old = "fall26-numbers-old-handle"
        self.tito(
            "gradebook", "merge", "--why", "two accounts", "--", old, self.learners[MOVES].login
        )
        self.apart.clear()
        self.late_to_class.clear()
        (self.folder / "ids.txt").write_bytes(other_ids(self.learners))
        (self.folder / "canvas.csv").write_bytes(canvas_list(self.learners))
        for name in ("canvas.csv", "ids.txt"):
            told = self.tito("gradebook", "roster", self.folder / name)
        self.tell(told.strip())
        rows = self.check("who is who")
        logins = {one.login for one in self.learners}
        strangers = {place: row for place, row in rows.items() if place[0] not in logins}
        full = {place: MOST[place[1]] for place in strangers}  # each handed in what is right
        self.same("strangers", {place: row["points"] for place, row in strangers.items()}, full)
        systems = {
            one for one in SYSTEMS for name, _ in strangers if f"unknown{one}" in name.lower()
        }
        self.same("systems that have strangers", systems, set(SYSTEMS))

    def policies(self):
        """Which submission counts: the rule may change at any time."""
        for policy in (*POLICIES[1:], POLICIES[0]):
            self.set_policy(policy)
            self.check(f"policy {policy}")

    def by_hand(self):
        """Points that somebody set before the check was found wrong: they will hide a rise."""
        one = next(
            one
            for one in self.learners[9:]
            if self.table.seen(one, "sums")[-1:] and self.table.seen(one, "sums")[-1][1] == "partly"
        )
        words = ("--why", "explained it", "--who", "prof", "--", one.login, "sums", "2.5")
        self.tito("gradebook", "override", *words)
        self.table.points[one.number, "sums"] = Fraction(5, 2)
        self.hidden = one
        self.check("points set by hand")

    def mend(self):
        """A check of sums was wrong: who would change, by how much; then it counts."""
        (self.course / "modules" / "source" / FOLDER["sums"] / "checks.py").write_text(
            MENDED, encoding="utf-8"
        )
        self.tito("test", "sums", book=False)
        everything = (["gradebook", "show"], ["gradebook", "history"])
        kept = [self.json(*words) for words in everything]
        before, hidden = self.expected(), (self.hidden.login, "sums")
        self.table.mended = True
        after, found = self.expected(), {}
        for system in SYSTEMS:
            (words,) = self.graded["sums", system]
            for one in self.json(*words, "--dry-run"):
                found[one["student"], one["lesson"]] = (one["old"], one["new"])
        moved = {
            place: (float(before[place][0]), float(points))
            for place, (points, _) in after.items()
            if points != before[place][0] or place == hidden
        }
        self.same("dry run", found, moved)
        self.same("dry run", [self.json(*words) for words in everything], kept)
        rises = sum(old < new for old, new in moved.values())
        falls = sum(old > new for old, new in moved.values())
        self.tell(f"dry run: {rises} would rise, {falls} would fall")
        for system in SYSTEMS:
            told = self.tito(*self.graded["sums", system][0], "--why", "the check is mended")
        told = self.tito("gradebook", "overrides", "--doubtful")
        if self.hidden.login not in told:
            raise Wrong(f"the override that hides a rise is not told:\n{told}")
        changes = self.json("gradebook", "history", "--lesson", "sums", "--changed")
        mended = [one for one in changes if one["why"] == "the check is mended"]
        self.same("history", {one["student"] for one in mended}, {login for login, _ in moved})
        self.check("the mended check")

    def appeal(self):
        """A table from Excel, with what the week's appeals came to."""
        late = {}
        for one in self.learners[9:]:
            for hours, what in self.table.seen(one, "numbers")[-1:]:
                if what in ("right", "partly") and hours > 1:
                    late.setdefault(one.system, one)
        heard = self.learners[10]
        lines = ["sep=;", "student;lesson;points;days;comment;why"]
        for one in late.values():
            lines.append(f"{one.login};numbers;;3;;was ill")
            self.table.days[one.number, "numbers"] = 3
        lines.append(f"{heard.login};1;4,5;;=HYPERLINK(1)\tgood;explained it")
        lines.append(f'{self.learners[11].login};;;;"-1; see me, =cmd()";')
        self.table.points[heard.number, "numbers"] = Fraction(9, 2)
        path = self.folder / "appeals.csv"
        path.write_bytes("\r\n".join(lines).encode("cp1252"))
        told = self.tito("gradebook", "apply", path)
        if f"{len(lines) - 1} changes made" not in told:
            raise Wrong(told)
        if "0 changes made" not in self.tito("gradebook", "apply", path):
            raise Wrong("the same table changed something again")
        self.check("appeals")

    # What other programs read.

    def in_class(self):
        """{login: ({lesson: points}, Learner)} of whoever is exported."""
        grades = self.expected()
        return {
            one.login: ({name: grades[one.login, name][0] for name in DUE}, one)
            for one in self.learners
            if one.number != LEAVES
        }

    def export(self):
        out, expected = self.folder / "exports", self.in_class()
        for kind, name in (
            ("csv", "grades.csv"),
            ("canvas", "canvas.csv"),
            ("moodle", "moodle.csv"),
            ("junit", "grades.xml"),
            ("nbgrader", "gradebook.db"),
            ("gradescope", "gradescope"),
            ("classroom50", "classroom50"),
        ):
            more = ["--classroom", "dl-fall"] * (kind == "classroom50")
            self.tito("gradebook", "export", "--format", kind, "--output", out / name, *more)
            found = getattr(self, f"read_{kind}")(out / name)
            points = {login: grades for login, (grades, _) in expected.items()}
            if kind == "classroom50":  # whole points, half a point upward
                points = {
                    login: {name: math.floor(one + Fraction(1, 2)) for name, one in grades.items()}
                    for login, grades in points.items()
                }
            elif kind == "gradescope":
                points = {login: sum(grades.values()) for login, grades in points.items()}
            elif kind == "junit":  # which tests pass; lateness and points are no part of it
                points = dict.fromkeys(points, set(DUE))
            self.same(f"export for {kind}", found, points)
            if name.endswith(".csv"):
                self.no_formulas(out / name)
        self.tell(f"7 exports of {len(expected)} learners read back")

    def rows(self, path):
        return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))

    def read_csv(self, path):
        return {
            row["student"]: {name: Fraction(row[name]) for name in DUE} for row in self.rows(path)
        }

    def read_canvas(self, path):
        most, *rows = self.rows(path)
        names = {"numbers": "Numbers (4711)", "sums": TITLE["sums"]}
        self.same("Canvas's maximum", {name: int(most[names[name]]) for name in DUE}, MOST)
        by_id = {one.canvas: one.login for one in self.learners}
        self.same(
            "Canvas's logins", [by_id[row["ID"]] for row in rows], [r["SIS Login ID"] for r in rows]
        )
        return {
            row["SIS Login ID"]: {name: Fraction(row[names[name]]) for name in DUE} for row in rows
        }

    def read_moodle(self, path):
        by_number = {f"m-{one.number}": one for one in self.learners}
        found = {}
        for row in self.rows(path):
            one = by_number[row["ID number"]]
            self.same("Moodle's email", row["Email address"], one.email)
            found[one.login] = {name: Fraction(row[TITLE[name]]) for name in DUE}
            for name in DUE:
                said = re.match(r"([\d.]+) of (\d+) points: ", row[f"{TITLE[name]} feedback"])
                self.same("Moodle's feedback", Fraction(said[1]), found[one.login][name])
        return found

    def read_junit(self, path):
        found = {}
        for suite in ElementTree.parse(path).getroot().iter("testsuite"):
            login, _, lesson = suite.get("name").rpartition("/")
            found.setdefault(login, set()).add(lesson)
        return found

    def read_nbgrader(self, path):
        query = """
            SELECT student.id, assignment.name,
                COALESCE(MAX(submitted_notebook.late_submission_penalty), 0),
                SUM(COALESCE(grade.manual_score, grade.auto_score, 0)
                    + COALESCE(grade.extra_credit, 0))
            FROM student
            JOIN submitted_assignment ON submitted_assignment.student_id = student.id
            JOIN assignment ON assignment.id = submitted_assignment.assignment_id
            JOIN submitted_notebook ON submitted_notebook.assignment_id = submitted_assignment.id
            JOIN grade ON grade.notebook_id = submitted_notebook.id
            GROUP BY submitted_notebook.id"""
        found = {}
        with closing(sqlite3.connect(path)) as database:
            for login, lesson, penalty, points in database.execute(query):
                points = Fraction(points - penalty).limit_denominator(100)
                found.setdefault(login, {})[lesson] = points
        return found

    def read_gradescope(self, folder):
        logins, found = {one.login.lstrip("-"): one.login for one in self.learners}, {}
        for path in folder.glob("*/results.json"):
            # A name that is not fit for a folder has a hash behind it.
            login = logins[re.sub(r"-[0-9a-f]{16}$", "", path.parent.name)]
            found[login] = Fraction(str(json.loads(path.read_text(encoding="utf-8"))["score"]))
        return found

    def read_classroom50(self, folder):
        scores = json.loads((folder / "dl-fall" / "scores.json").read_text(encoding="utf-8"))
        owners = {one.github: one.login for one in self.learners}
        found = {}
        for lesson, assignment in scores["assignments"].items():
            for entry in assignment["entries"]:
                (submission,) = entry["submissions"]
                self.same("Classroom 50's maximum", submission["max-score"], MOST[lesson])
                found.setdefault(owners[entry["owner"]], {})[lesson] = submission["score"]
        return found

    def no_formulas(self, path):
        """No cell begins a formula, at whichever character a program splits the lines; ids such as
        -lee stay as they are, since other systems look for them.
        """
        ids = {one.login for one in self.learners}
        text = path.read_text(encoding="utf-8")
        for separator in SEPARATORS:
            cells = itertools.chain(*csv.reader(io.StringIO(text), delimiter=separator))
            for cell in cells:
                start = cell.lstrip(' "\t')
                is_id = start.partition(",")[0] in ids
                if start.startswith(("=", "+", "-", "@")) and not is_id:
                    raise Wrong(f"{path}, split at {separator!r}: the cell {cell!r} is a formula")

    def feedback(self):
        """Pages, and the zips that Moodle and Canvas find people by."""
        pages = self.folder / "feedback"
        self.tito("feedback", pages, "--mail", self.folder / "mail.csv")
        mail = {row["student"]: row for row in self.rows(self.folder / "mail.csv")}
        expected = self.in_class()
        points = {login: sum(grades.values()) for login, (grades, _) in expected.items()}
        self.same("mail", {login: Fraction(row["points"]) for login, row in mail.items()}, points)
        self.no_formulas(self.folder / "mail.csv")
        for login, row in mail.items():
            text = (pages / row["page"]).read_text(encoding="utf-8")
            if html.escape(expected[login][1].name.split()[0]) not in html.unescape(text):
                raise Wrong(f"{row['page']} is not {login}'s")
        for system, number_of in (("moodle", self.moodle_number), ("canvas", self.canvas_number)):
            words = self.graded["sums", system][-1]
            target = self.folder / f"{system}-feedback.zip"
            more = ("--submissions", words[1], f"--{system}", target)
            self.tito("feedback", pages, *more)
            found = {}
            with zipfile.ZipFile(target) as box:
                for name in box.namelist():
                    found[number_of(name)] = box.read(name)
            who = {
                one.canvas if system == "canvas" else str(30_000 + one.number): one
                for _, one in expected.values()
                if one.system == system and (last := one.last("sums", 220))
                if system == "moodle" or last[1] != "typed"
            }
            self.same(f"{system}'s feedback", sorted(found), sorted(who))
            for number, data in found.items():
                page = (pages / mail[who[number].login]["page"]).read_bytes()
                if data.startswith(b"PK"):
                    with zipfile.ZipFile(io.BytesIO(data)) as box:
                        data = box.read("feedback.html")
                if data != page:
                    raise Wrong(f"{system}: number {number} gets another learner's page")
            target.unlink()
            self.tito("feedback", pages, *more)
            if target.exists():
                raise Wrong(f"{target} holds pages that did not change")
        self.tell(f"feedback: {len(mail)} pages, of each the right one in the zips")

    @staticmethod
    def moodle_number(name):
        _, number, kind, plugin, file = name.split("_", 4)
        assert (kind, plugin, file) == ("assignfeedback", "file", "feedback.html"), name
        return number

    @staticmethod
    def canvas_number(name):
        number, file = [part for part in name.split("_") if part.isdecimal()][:2]
        assert file.startswith("77"), name
        return number


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--learners", type=int, default=300, help="a multiple of 4, at least 20")
    parser.add_argument("--folder", type=Path, required=True, help="a new folder for all of it")
    parser.add_argument("--gradebook", metavar="URL", help="instead of a file")
    given = parser.parse_args()
    start = time.perf_counter()
    try:
        play(given.folder, given.learners, gradebook=given.gradebook)
    except Wrong as wrong:
        sys.exit(f"wrong: {wrong}")
    print(f"{given.learners} learners, {time.perf_counter() - start:.0f} s")


def play(folder, size, **more):
    """A whole term. Raises Wrong."""
    term = Term(folder, size, **more)
    term.enroll()
    term.collect("numbers", 48)
    term.collect("numbers", 220)
    term.collect("sums", 220)
    term.repeat()
    term.sort_out()
    term.policies()
    term.by_hand()
    term.mend()
    term.appeal()
    term.export()
    term.feedback()


if __name__ == "__main__":
    main()
