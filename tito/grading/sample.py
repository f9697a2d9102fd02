"""A class to try grading on, made up for any course root, with what each learner should get:

    python -m tito.grading.sample FOLDER [--root COURSE] [--size 30] [--seed 0] \\
        [--lessons LESSON ...]
    tito grade FOLDER/submissions --all --roster FOLDER/roster.csv --json > grades.json
    python -m tito.grading.sample FOLDER --compare grades.json

    FOLDER/submissions    a folder or zip for each learner, named as learners and collecting systems
                          name them
    FOLDER/roster.csv     the learners, with the columns that exports need
    FOLDER/expected.json  for each learner and lesson the least and most points, and the verdicts,
                          on the base `both`

Some learners are right, some partly, some made a recorded mistake; others broke their files or try
to cheat. All that is known of a lesson is read from the course. The same arguments give the same
bytes. What is expected holds where the course passes `tito check`; a cheat who gains a point by a
wrong value has found a weak check. The hostile code sends and damages nothing, and what it starts
ends by itself; all the same, it belongs in the jail.
"""

import argparse
import csv
import io
import json
import random
import re
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from tito import files
from tito.errors import TitoError, UsageError
from tito.grading.result import VERDICTS
from tito.lesson import cells, course, misconceptions, notebook
from tito.lesson.lesson_format import MARK, stub

# Names as they come: (student, name). Student ids name folders, so they hold nothing that Windows
# refuses there.
ODD = [
    ("ada lovelace", "Ada Lovelace"),
    ("josé-ñuñez", "José Ñuñez"),
    ("=cmd()", "=cmd()"),
    ("🐙", "Octavia 🐙 Tintenfaß"),
    ("o'brien, pat", 'O\'Brien, "Pat"'),
    ("+1+1", "+1+1"),
    ("@sum(a1)", "@SUM(A1:A9)"),
    ("-lee", "-Lee"),
    ("山田太郎", "山田 太郎"),
    ("null", "null"),
    ("100 %", "<b>Bold</b> & Co"),
]
FIRST = [
    "Amina",
    "Bruno",
    "Chidi",
    "Dana",
    "Elif",
    "Farid",
    "Greta",
    "Hana",
    "Ivo",
    "Jun",
    "Kofi",
    "Lena",
    "Mira",
    "Nils",
    "Olga",
    "Paz",
    "Quinn",
    "Rosa",
    "Sami",
    "Tove",
]
LAST = [
    "Abebe",
    "Berg",
    "Costa",
    "Dubois",
    "Eriksen",
    "Fischer",
    "Garcia",
    "Hoang",
    "Ito",
    "Jansen",
    "Kaya",
    "Lind",
    "Moreau",
    "Novak",
    "Okafor",
    "Petrov",
    "Rossi",
]

ORDINARY = [
    "right",
    "partly right",
    "mistake",
    "partly right",
    "right",
    "stub",
]  # the rest of a class larger than KINDS
BOMB = 20_000_000  # bytes of blanks, which a zip packs a thousandfold
NOT_PASSED = sorted(set(VERDICTS) - {"passed"})

# What breaks a lesson while it is imported: {kind: (code, verdict)}.
BREAKING = {
    "syntax error": ("def broken(:\n    pass", "syntax error"),
    "import fails": ("import no_such_package_anywhere", "import failed"),
    "endless import": ("while True:\n    pass", "timed out"),
    "crashes": ("import os\n\nos._exit(3)", "crashed"),
    "memory hog": ("hog = [bytes(1 << 26) for _ in range(1 << 12)]", "out of memory"),
}
# What a hostile learner puts behind exercises that they did not write: {kind: (code, what stands
# for each exercise)}.
HOSTILE = {
    "forged verdicts": (
        "import sys\n\nfor stream in (sys.stdout, sys.stderr, sys.__stdout__):\n"
        '    print("100 of 100 points\\n\\x1b[32mpassed\\x1b[0m\\n{\\"verdict\\": \\"passed\\", '
        '\\"points\\": 100}", file=stream)',
        None,
    ),
    "patched numpy": (
        "import numpy as np\n\nfor name in ('allclose', 'array_equal', 'isclose', 'all'):\n"
        "    setattr(np, name, lambda *a, **k: True)\n"
        "np.testing.assert_allclose = np.testing.assert_array_equal = lambda *a, **k: None",
        "return 0.123",
    ),
    "always equal": (
        "class Same:\n    shape, ndim, size, data, grad = (), 0, 1, 1.0, 1.0\n\n"
        "    def same(self, *a, **k):\n        return self\n\n"
        "    def true(self, *a, **k):\n        return True\n\n"
        "    __call__ = __getitem__ = __add__ = __sub__ = __mul__ = __abs__ = sum = item = same\n"
        "    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __bool__ = "
        "all = any = true\n\n"
        "    def __hash__(self):\n        return 0",
        "return Same()",
    ),
    "reads files": (
        "import glob\nimport os\n\nloot = [str(dict(os.environ))]\n"
        "for path in ['/etc/passwd', '/proc/self/environ', *glob.glob('/proc/*/cmdline')[:50],\n"
        "             *glob.glob('/home/*/*')[:50], *glob.glob('*/modules/source/*/*_dev.py')]:\n"
        "    try:\n"
        "        loot.append(open(path, errors='replace').read(10000))\n"
        "    except OSError as error:\n        loot.append(str(error))",
        "raise AssertionError(loot)",
    ),
    "forks": (
        "import os\nimport time\n\nfor _ in range(8):\n    try:\n        if os.fork() == 0:\n"
        "            time.sleep(3)\n            os._exit(0)\n"
        "    except (OSError, AttributeError):\n        pass",
        None,
    ),
    "exits with 0": (
        "import os\nimport sys\n\nprint('all checks passed', flush=True)\nos._exit(0)",
        None,
    ),
}


@dataclass
class Work:
    """What one learner hands in, and what it is worth.

    files     {lesson: text, bytes, or None for no file}
    expected  {lesson: (least points, most points, verdicts)}
    form      a name in FORMS, None: none was handed in
    notebook  hand in notebooks, no scripts
    renamed   lessons whose file has no name that says which it is
    cut       lose the end of the zip
    """

    kind: str
    files: dict
    expected: dict
    form: str | None
    notebook: bool
    renamed: set = field(default_factory=set)
    cut: bool = False

    def give(self, entry, text, least, most, verdicts):
        self.files[entry.name], self.expected[entry.name] = text, (least, most, sorted(verdicts))


class Sheets:
    """The texts that a lesson can be handed in as."""

    def __init__(self, entry):
        self.entry, self.lesson = entry, entry.declared
        self.released = self.lesson.released
        self.ids = [exercise.name for exercise in self.lesson.exercises]
        self.max_points = self.lesson.points
        self.worth = [exercise.points for exercise in self.lesson.exercises]
        self.mistakes = misconceptions.load(self.lesson)
        self.solved = self.with_solutions(len(self.ids))

    def with_solutions(self, count):
        """As released, with the first `count` exercises solved as in the course."""
        return self.with_cells(
            {
                exercise.name: _without_marks(exercise.cell.source)
                for exercise in self.lesson.exercises[:count]
            }
        )

    def with_cells(self, new, text=None):
        """A text of the lesson with other sources in the cells of some exercises."""
        source = cells.parse(self.lesson.path, text or self.released)
        for exercise, code in new.items():
            source = cells.parse(self.lesson.path, source.replaced(source.cell(exercise), code))
        return source.text

    def with_mistake(self, mistake):
        exercise = self.lesson.exercise(mistake.exercise)
        return self.with_cells({exercise.name: _without_marks(mistake.cell)}, self.solved)

    def with_stubs_as(self, code):
        """As released, with `code` instead of each line that says what is to be written, wherever
        that is Python.
        """
        text = self.released
        for exercise in self.ids:
            source = cells.parse(self.lesson.path, text)
            cell = source.cell(exercise)
            changed = cell.source.replace(stub(self.lesson.name, exercise), code)
            try:
                compile(changed, exercise, "exec")
            except SyntaxError:  # a `return` where a class is written
                continue
            text = source.replaced(cell, changed)
        return text

    def last_endless(self):
        """All solved but the last exercise, which goes on for ever."""
        source = cells.parse(self.lesson.path, self.with_solutions(len(self.ids) - 1))
        cell = source.cell(self.ids[-1])
        return source.replaced(
            cell, cell.source.replace(stub(self.lesson.name, self.ids[-1]), "while True: pass")
        )


def _without_marks(code):
    return "\n".join(line for line in code.split("\n") if not MARK.match(line))


def _and_cell(text, code):
    """A lesson's text with a cell more that goes into the package."""
    return f"{text.rstrip()}\n\n# %%\n#| export\n{code}\n"


# The kinds of learners. Each function is given the Work, right as yet, the Sheets of the lesson it
# is about, and all of them.


def _right(work, one, sheets, rng):
    pass


def _partly(work, one, sheets, rng):
    """Somebody who came to some exercise of each lesson, and no further."""
    for sheet in sheets:
        count = rng.randint(0, len(sheet.ids))
        points = sum(sheet.worth[:count])
        verdict = "passed" if count == len(sheet.ids) else "failed" if count else "stub"
        work.give(sheet.entry, sheet.with_solutions(count), points, points, [verdict])


def _mistake(work, one, sheets, rng):
    """A mistake that the course records; where none is recorded, an exercise that was left out."""
    if one.mistakes:
        mistake = rng.choice(one.mistakes)
        lost = [
            check.points for check in one.lesson.exercise(mistake.exercise).checks if check.points
        ]
        work.kind = f"mistake {mistake.id}"
        work.give(
            one.entry,
            one.with_mistake(mistake),
            0,
            one.max_points - min(lost, default=0),
            NOT_PASSED,
        )
    else:
        left = rng.randrange(len(one.ids))
        exercise = one.ids[left]
        text = one.with_cells(
            {exercise: cells.parse(one.lesson.path, one.released).cell(exercise).source}, one.solved
        )
        work.give(
            one.entry,
            text,
            sum(one.worth[:left]),
            one.max_points - one.worth[left],
            ["failed", "stub"],
        )


def _stub(work, one, sheets, rng):
    for sheet in sheets:
        work.give(sheet.entry, sheet.released, 0, 0, ["stub"])


def _nothing(work, one, sheets, rng):
    work.form = None
    for sheet in sheets:
        work.give(sheet.entry, None, 0, 0, ["missing"])


def _breaking(kind):
    def make(work, one, sheets, rng):
        code, verdict = BREAKING[kind]
        work.give(one.entry, _and_cell(one.solved, code), 0, 0, [verdict])

    return make


def _endless(work, one, sheets, rng):
    """In the last exercise of the last lesson: every check that calls it runs out of time."""
    points = sum(sheets[-1].worth[:-1])
    work.give(sheets[-1].entry, sheets[-1].last_endless(), points, points, ["failed", "timed out"])


def _damaged_notebook(work, one, sheets, rng):
    book = notebook.to_notebook(one.solved, one.lesson)
    work.notebook = True
    work.give(one.entry, book[: len(book) * 2 // 3].encode("utf-8"), 0, 0, ["unreadable"])


def _not_utf8(work, one, sheets, rng):
    work.notebook = False
    work.give(
        one.entry, one.solved.encode("utf-8") + "# café\n".encode("latin-1"), 0, 0, ["unreadable"]
    )


def _empty(work, one, sheets, rng):
    work.give(one.entry, b"", 0, 0, ["unreadable"])


def _missing(work, one, sheets, rng):
    work.give(one.entry, None, 0, 0, ["missing"])


def _renamed(work, one, sheets, rng):
    work.renamed.add(one.entry.name)


def _bad_zip(work, one, sheets, rng):
    work.form, work.cut = "zip", True
    for sheet in sheets:
        work.give(sheet.entry, sheet.solved, 0, 0, ["unreadable"])


def _bomb(work, one, sheets, rng):
    _bad_zip(work, one, sheets, rng)
    work.cut, work.notebook = False, False
    work.files[one.entry.name] = one.solved.encode("utf-8") + b" " * BOMB


def _hostile(kind):
    def make(work, one, sheets, rng):
        code, instead = HOSTILE[kind]
        text = one.with_stubs_as(instead) if instead else one.released
        work.give(one.entry, _and_cell(text, code), 0, 0, NOT_PASSED)

    return make


def _edited_checks(work, one, sheets, rng):
    """Checks that hold whatever happens: in the learner's own file, where they count for
    nothing.
    """
    work.give(
        one.entry,
        re.sub(r"(?m)^( +)assert (?=.)", r"\1assert True or ", one.released),
        0,
        0,
        ["stub"],
    )


KINDS = {
    "right": _right,
    "partly right": _partly,
    "mistake": _mistake,
    "stub": _stub,
    "nothing handed in": _nothing,
    **{kind: _breaking(kind) for kind in BREAKING},
    "endless loop": _endless,
    "damaged notebook": _damaged_notebook,
    "not UTF-8": _not_utf8,
    "empty file": _empty,
    "missing lesson": _missing,
    "renamed file": _renamed,
    "bad zip": _bad_zip,
    "zip bomb": _bomb,
    **{kind: _hostile(kind) for kind in HOSTILE},
    "edited checks": _edited_checks,
}


# How work is handed in. Each function gives {path below submissions: bytes} of {path in a
# workspace: bytes}.


def _flat(learner, held, config):
    return {f"{learner['student']}/{name.rpartition('/')[2]}": data for name, data in held.items()}


def _workspace(learner, held, config):
    return {f"{learner['student']}/my work/{name}": data for name, data in (held | config).items()}


def _zip(learner, held, config):
    return {f"{learner['student']}.zip": _packed(held | config)}


def _zip_in_folder(learner, held, config):
    return {
        f"{learner['student']}/upload/my work-2.zip": _packed(
            {f"my work/{name}": data for name, data in (held | config).items()}
        )
    }


def _zip_in_zip(learner, held, config):
    return {f"{learner['student']}.zip": _packed({"my work-1.zip": _packed(held | config)})}


def _canvas(learner, held, config):
    letters = "".join(c for c in learner["name"].lower() if c.isalnum()) or "x"
    return {
        f"{letters}_{learner['id']}_{int(learner['id']) + 70000}_my work-1.zip": _packed(
            held | config
        )
    }


def _moodle(learner, held, config):
    words = "".join(c if c.isalnum() or c == " " else "-" for c in learner["name"])
    return {
        f"{words}_{learner['moodle_id']}_assignsubmission_file/my work-1.zip": _packed(
            held | config
        )
    }


FORMS = {
    "folder": _flat,
    "workspace": _workspace,
    "zip": _zip,
    "zip in a folder": _zip_in_folder,
    "zip in a zip": _zip_in_zip,
    "Canvas": _canvas,
    "Moodle": _moodle,
}


def _packed(held):
    return files.archive(held, zipfile.ZIP_DEFLATED)


def _held(work, root):
    """{path in a workspace: bytes} of the lesson files."""
    out = {}
    for lesson, text in work.files.items():
        entry = root.lesson(lesson)
        if text is None:
            continue
        data = (
            text
            if isinstance(text, bytes)
            else (notebook.to_notebook(text, entry.declared) if work.notebook else text).encode(
                "utf-8"
            )
        )
        path = entry.notebook if work.notebook else entry.script
        if lesson in work.renamed:
            path = path.with_name(f"final version ({entry.number}){path.suffix}")
        out[entry.relative(path)] = data
    return out


# The class.


def learners(size, rng):
    """`size` lines of a roster: odd names first, then common ones."""
    common = [(f"{last}.{first}".lower(), f"{first} {last}") for first in FIRST for last in LAST]
    rng.shuffle(common)
    common += [(f"learner{number}", f"Learner {number}") for number in range(size)]
    for number, (student, name) in enumerate([*ODD, *common][:size], 1):
        yield {
            "student": student,
            "name": name,
            "email": f"learner{number}@example.org",
            "id": str(1000 + number),
            "sis_user_id": f"sis-{number:04}",
            "sis_login_id": f"login{number}",
            "section": "A" if number % 2 else "B",
            "idnumber": f"m-{number:04}",
            "moodle_id": str(20000 + number),
            "github": f"octo-{number}",
        }


def works(sheets, size, rng, kinds=None):
    """`size` Works: one of each kind, then ordinary ones; with `kinds`, only those, again and
    again.
    """
    names = (
        [kinds[n % len(kinds)] for n in range(size)]
        if kinds
        else [*KINDS, *(ORDINARY[n % len(ORDINARY)] for n in range(size))][:size]
    )
    for number, kind in enumerate(names):
        # Scripts and notebooks take turns in each form.
        work = Work(kind, {}, {}, list(FORMS)[number // 2 % len(FORMS)], bool(number % 2))
        for sheet in sheets:
            work.give(sheet.entry, sheet.solved, sheet.max_points, sheet.max_points, ["passed"])
        KINDS[kind](work, rng.choice(sheets), sheets, rng)
        yield work


def make(root, folder, size=30, seed=0, lessons=None, kinds=None):
    """Write a class for a course to `folder`, new or empty. Returns what `expected.json` holds.

    root     of a course
    lessons  Entries, those that are handed in; None for all
    kinds    names in KINDS, the only ones to be in the class; None for one of each and ordinary
             ones
    """
    if not root.is_course:
        raise UsageError(
            f"{root.path} is a workspace; the right answers are in the course.",
            "Run it in the course, or name it with --root.",
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty.", "Give a new folder.")
    sheets = [sheet for sheet in map(Sheets, lessons or root.lessons) if sheet.ids]
    if not sheets:
        raise UsageError(
            "None of these lessons has an exercise.",
            f"There are: {', '.join(entry.name for entry in root.lessons)}.",
        )
    rng = random.Random(seed)
    everybody = list(learners(size, rng))
    rng.shuffle(everybody)
    config = {
        "tito.toml": f'[workspace]\ncourse = "{root.name}"\nedition = "{root.edition}"\n'
        f'package = "{root.package}"\n'.encode()
    }
    expected, written = [], {}
    for learner, work in zip(everybody, works(sheets, size, rng, kinds)):
        files = FORMS[work.form](learner, _held(work, root), config) if work.form else {}
        written |= {
            f"submissions/{name}": data[: len(data) // 2] if work.cut else data
            for name, data in files.items()
        }
        expected.append(
            {
                "student": learner["student"],
                "kind": work.kind,
                "form": work.form,
                "notebook": work.notebook,
                "lessons": {
                    sheet.entry.name: dict(
                        zip(("least", "most", "verdicts"), work.expected[sheet.entry.name])
                    )
                    for sheet in sheets
                },
            }
        )
    everybody.sort(key=lambda learner: int(learner["id"]))
    table = io.StringIO()
    writer = csv.DictWriter(table, everybody[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(everybody)
    written["roster.csv"] = table.getvalue().encode("utf-8")
    value = {
        "course": root.name,
        "edition": root.edition,
        "seed": seed,
        "base": "both",
        "learners": expected,
    }
    written["expected.json"] = (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode(
        "utf-8"
    )
    for name, data in written.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return value


def differences(expected, rows):
    """Where the rows of `tito grade --json` are not as expected: a sentence for each.

    Points are compared as they were before late rules.
    """
    found, said = {(row["student"], row["lesson"]): row for row in rows}, []
    for learner in expected["learners"]:
        for lesson, wanted in learner["lessons"].items():
            row = found.get((learner["student"], lesson))
            who = f"{learner['student']} ({learner['kind']}), {lesson}"
            if row is None:
                said.append(f"{who}: no row")
            elif not wanted["least"] <= row["graded_points"] <= wanted["most"]:
                said.append(
                    f"{who}: {row['graded_points']} points, expected {wanted['least']} to "
                    f"{wanted['most']}: {row['verdict']}. {row['reason']}"
                )
            elif row["verdict"] not in wanted["verdicts"]:
                said.append(
                    f"{who}: verdict {row['verdict']}, expected {' or '.join(wanted['verdicts'])}: "
                    f"{row['reason']}"
                )
    return said


def main():
    parser = argparse.ArgumentParser(
        prog="python -m tito.grading.sample", description=__doc__.split(", with what")[0] + "."
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="a new folder")
    parser.add_argument("--root", metavar="COURSE", help="the course; default: the one you are in")
    parser.add_argument(
        "--size",
        type=int,
        default=30,
        metavar="N",
        help=f"how many learners (default: 30; each kind is there from {len(KINDS)} on)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="another class")
    parser.add_argument("--lessons", nargs="+", metavar="LESSON", help="only these")
    parser.add_argument(
        "--compare",
        type=Path,
        metavar="JSON",
        help="write nothing; compare what `tito grade --json` printed with FOLDER/expected.json",
    )
    given = parser.parse_args()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")
    try:
        if given.compare:
            return compare(given.folder, given.compare)
        if given.size < 1:
            raise UsageError(f"--size {given.size} is no class.", "Give a number from 1 on.")
        root = course.find_root(Path.cwd(), given.root)
        value = make(
            root,
            given.folder,
            given.size,
            given.seed,
            [root.lesson(name) for name in given.lessons or ()] or None,
        )
        print(
            f"{given.folder} holds {len(value['learners'])} learners: submissions, roster.csv, "
            f"expected.json"
        )
        return 0
    except TitoError as error:
        print(f"{error.what}\n{error.remedy}", file=sys.stderr)
        return error.code


def compare(folder, grades):
    """Print what differs; 0 when nothing does."""
    from tito.grading.views import plain

    try:
        expected, rows = (
            json.loads(path.read_text(encoding="utf-8"))
            for path in (folder / "expected.json", grades)
        )
        said = differences(expected, rows)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{folder / 'expected.json'} and {grades} cannot be compared: {error!r}.",
            "Give the folder that this program wrote, and what `tito grade --json` printed.",
        ) from None
    print("\n".join(plain(line, 500) for line in said) or "All grades are as expected.")
    return int(bool(said))


if __name__ == "__main__":
    sys.exit(main())
