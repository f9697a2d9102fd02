"""A term of a class, played with the commands that an instructor types: rosters, downloads as
Canvas, Moodle, GitHub and Gradescope give them, a check that is mended, appeals, exports, feedback.

    python tests/tito/grading/term.py --learners 300 --folder ../term

A quarter of the class uses each system. What learners do is in `downloads.STORIES`; `Table` says by
plain rules of its own what each of them gets, and after every chapter of the term all grades are
compared with it. What is handed on is read by other programs' means: csv, json, zipfile, XML,
sqlite3.
"""

import argparse
import csv
import html
import io
import itertools
import json
import math
import re
import sqlite3
import subprocess
import sys
import time
import zipfile
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from grading.downloads import (
    DUE,
    FOLDER,
    MOVES,
    SUBMISSIONS,
    SYSTEMS,
    WORK,
    Downloads,
    Files,
    canvas_list,
    make_class,
    other_ids,
)
from small_course import SUMS_CHECKS, make_course

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
POLICIES = ("latest", "best", "last-on-time")
TITLE = {"numbers": "01 Numbers", "sums": "02 Sums"}
MOST = {"numbers": 5, "sums": 3}
MENDED = SUMS_CHECKS.replace("== 6, f", "== 6 and total([4]) == 8, f").replace(
    '    assert total([]) == 0, "secret"\n', ""
)
LEAVES = 12  # who leaves the class
SEPARATORS = ",;\t"


class Wrong(Exception):
    """The program and the table disagree."""


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
