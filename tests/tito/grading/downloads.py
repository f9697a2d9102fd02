"""What a class hands in over a term, and the files of it that Canvas, Moodle, GitHub and Gradescope
give an instructor: zips, folders and tables, named and shaped as theirs. For term.py.
"""

import csv
import io
import itertools
import math
import os
import re
import zipfile
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import jupytext

BERLIN = ZoneInfo("Europe/Berlin")
DUE = {  # summer time ends between the two
    "numbers": datetime(2026, 10, 5, 23, 59, tzinfo=BERLIN),
    "sums": datetime(2026, 10, 26, 23, 59, tzinfo=BERLIN),
}
SYSTEMS = ("canvas", "moodle", "github", "gradescope")
FOLDER = {"numbers": "01_numbers", "sums": "02_sums"}

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

SUBMISSIONS = ("right", "partly", "wrong", "syntax error")  # what may take the place of a grade

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
MOVES = 2  # who hands in under two ids


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
