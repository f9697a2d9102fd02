"""A class of any size for any course, with the points that each learner should get.

`make` writes:

    FOLDER/submissions    a folder or zip for each learner, named as learners and collecting systems
                          name them
    FOLDER/roster.csv     the learners, with the columns that exports need
    FOLDER/expected.json  for each learner and lesson the least and most points, and the verdicts

The work of some learners is right, of others partly right or with a recorded mistake; others have
damaged files or try to cheat. The same arguments give the same bytes. The expected points are right
if the course passes `tito check`. If a cheat earns points with a wrong value, a check is too weak.
The hostile code does no damage and sends nothing.
"""

import csv
import io
import json
import random
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tito import files
from tito.lesson import cells, mistakes, notebook
from tito.lesson.course import Entry, Root
from tito.lesson.lesson_format import MARK, answered, stub
from tito.lesson.outcome import VERDICTS

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
FIRST = """Amina Bruno Chidi Dana Elif Farid Greta Hana Ivo Jun Kofi Lena Mira Nils Olga Paz Quinn
Rosa Sami Tove""".split()
LAST = """Abebe Berg Costa Dubois Eriksen Fischer Garcia Hoang Ito Jansen Kaya Lind Moreau Novak
Okafor Petrov Rossi""".split()

# The other learners of a class that is larger than KINDS.
ORDINARY = ["right", "partly right", "mistake", "partly right", "right", "stub"]
NOT_PASSED = sorted(set(VERDICTS) - {"passed"})

# Statements that stop while the lesson is imported: {kind: code}.
BREAKING = {
    "syntax error": "def broken(:\n    pass",
    "import fails": "import no_such_package_anywhere",
    "endless import": "while True:\n    pass",
    "crashes": "import os\n\nos._exit(3)",
    "memory hog": "hog = [bytes(1 << 26) for _ in range(1 << 12)]",
}
# Code that a hostile learner adds to a lesson: {kind: (code, body of each exercise)}.
HOSTILE = {
    "forged verdicts": (
        "import sys\n\nfor stream in (sys.stdout, sys.stderr, sys.__stdout__):\n"
        '    print("100 of 100 points\\n\\x1b[32mpassed\\x1b[0m\\n{\\"verdict\\": \\"passed\\", '
        '\\"points\\": 100}", file=stream)',
        "",
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
}


@dataclass
class Work:
    """The files that a learner hands in, and the points that they should get.

    files     {lesson: text, bytes, or None for no file}
    expected  {lesson: (least points, most points, verdicts)}
    form      a name in FORMS; "": nothing was handed in
    notebook  hand in notebooks, no scripts
    cut       lose the end of the zip
    """

    kind: str
    form: str
    notebook: bool
    files: dict[str, str | bytes | None] = field(default_factory=dict)
    expected: dict[str, tuple[int, int, list[str]]] = field(default_factory=dict)
    cut: bool = False

    def give(
        self, entry: Entry, text: str | bytes | None, points: tuple[int, int], *verdicts: str
    ) -> None:
        """Hand this text in, which gets at least and at most so many points."""
        self.files[entry.name], self.expected[entry.name] = text, (*points, sorted(verdicts))


class Sheets:
    """The texts that a lesson can be handed in as."""

    def __init__(self, entry: Entry) -> None:
        self.entry, self.lesson = entry, entry.declared
        self.released = self.lesson.released
        self.ids = [exercise.name for exercise in self.lesson.exercises]
        self.max_points = self.lesson.points
        self.worth = [exercise.points for exercise in self.lesson.exercises]
        self.mistakes = mistakes.load(self.lesson).mistakes
        self.solved = self.with_solutions(len(self.ids))

    def with_solutions(self, count: int) -> str:
        """As released, with the first `count` exercises solved as in the course; with all of them,
        the questions are answered.
        """
        text = self.with_cells(
            {
                exercise.name: _without_marks(exercise.cell.source)
                for exercise in self.lesson.exercises[:count]
            }
        )
        for question in self.lesson.questions if count == len(self.ids) else ():
            source = cells.parse(self.lesson.path, text)
            if cell := source.cell(question.name):
                text = source.replaced(cell, answered(cell.source, question.answer))
        return text

    def with_cells(self, new: Mapping[str, str], text: str | None = None) -> str:
        """A text of the lesson with other sources in the cells of some exercises."""
        text = text or self.released
        for exercise, code in new.items():
            source, cell = self.parsed(text, exercise)
            text = source.replaced(cell, code)
        return text

    def parsed(self, text: str, exercise: str) -> tuple[cells.Source, cells.Cell]:
        """A text of the lesson, read, and the cell of an exercise in it."""
        source = cells.parse(self.lesson.path, text)
        return source, next(cell for cell in source.cells if cell.exercise == exercise)

    def with_stubs_as(self, code: str) -> str:
        """As released, but `code` replaces each line that stands for a solution, if that parses."""
        text = self.released
        for exercise in self.ids:
            source, cell = self.parsed(text, exercise)
            changed = cell.source.replace(stub(self.lesson.name, exercise), code)
            try:
                compile(changed, exercise, "exec")
            except SyntaxError:  # a `return` where a class is written
                continue
            text = source.replaced(cell, changed)
        return text

    def last_endless(self) -> str:
        """All solved but the last exercise, which goes on for ever."""
        source, cell = self.parsed(self.with_solutions(len(self.ids) - 1), self.ids[-1])
        line = stub(self.lesson.name, self.ids[-1])
        return source.replaced(cell, cell.source.replace(line, "while True: pass"))


def _without_marks(code: str) -> str:
    return "\n".join(line for line in code.split("\n") if not MARK.match(line))


def _and_cell(text: str, code: str) -> str:
    """A lesson's text with a cell more that goes into the package."""
    return f"{text.rstrip()}\n\n# %%\n#| export\n{code}\n"


# The kinds of learners. Each function gets the Work, which is right so far, the Sheets of the
# lesson that it changes, and the Sheets of all lessons.


def _partly(work: Work, sheet: Sheets, sheets: list[Sheets], rng: random.Random) -> None:
    """A learner who solved the first exercises of each lesson."""
    for other in sheets:
        count = rng.randint(0, len(other.ids))
        points = sum(other.worth[:count])
        verdict = "passed" if count == len(other.ids) else "partly right" if count else "stub"
        work.give(other.entry, other.with_solutions(count), (points, points), verdict)


def _mistake(work: Work, sheet: Sheets, sheets: list[Sheets], rng: random.Random) -> None:
    """A recorded mistake of the lesson, or an exercise that is not written if none is recorded."""
    if sheet.mistakes:
        mistake = rng.choice(sheet.mistakes)
        exercise = sheet.lesson.exercise(mistake.exercise)
        lost = min([check.points for check in exercise.checks if check.points], default=0)
        work.kind = f"mistake {mistake.id}"
        text = sheet.with_cells({exercise.name: _without_marks(mistake.cell)}, sheet.solved)
        work.give(sheet.entry, text, (0, sheet.max_points - lost), *NOT_PASSED)
        return
    left = rng.randrange(len(sheet.ids))
    name = sheet.ids[left]
    released = sheet.parsed(sheet.released, name)[1].source
    points = sum(sheet.worth[:left]), sheet.max_points - sheet.worth[left]
    work.give(
        sheet.entry,
        sheet.with_cells({name: released}, sheet.solved),
        points,
        *("partly right", "failed", "stub"),
    )


def _whole(verdict: str, form: str | None = None, cut: bool = False) -> "Maker":
    """All files as released, or no file, or a damaged zip."""

    def make(work: Work, sheet: Sheets, sheets: list[Sheets], rng: random.Random) -> None:
        work.form, work.cut = work.form if form is None else form, cut
        for other in sheets:
            text = {"stub": other.released, "missing": None}.get(verdict, other.solved)
            work.give(other.entry, text, (0, 0), verdict)

    return make


def _breaking(work: Work, sheet: Sheets, sheets: list[Sheets], rng: random.Random) -> None:
    """A statement that stops: it is left out, and the rest counts."""
    points = sheet.max_points, sheet.max_points
    work.give(sheet.entry, _and_cell(sheet.solved, BREAKING[work.kind]), points, "passed")


def _endless(work: Work, sheet: Sheets, sheets: list[Sheets], rng: random.Random) -> None:
    """In the last exercise of the last lesson: every check that calls it runs out of time."""
    last = sheets[-1]
    points = sum(last.worth[:-1])
    work.give(last.entry, last.last_endless(), (points, points), "partly right", "timed out")


def _damaged_notebook(work: Work, sheet: Sheets, sheets: list[Sheets], rng: random.Random) -> None:
    book = notebook.to_notebook(sheet.solved, sheet.lesson)
    work.notebook = True
    work.give(sheet.entry, book[: len(book) * 2 // 3].encode(), (0, 0), "unreadable")


def _not_utf8(work: Work, sheet: Sheets, sheets: list[Sheets], rng: random.Random) -> None:
    work.notebook = False
    data = sheet.solved.encode() + "# café\n".encode("latin-1")
    work.give(sheet.entry, data, (0, 0), "unreadable")


def _missing(work: Work, sheet: Sheets, sheets: list[Sheets], rng: random.Random) -> None:
    work.give(sheet.entry, None, (0, 0), "missing")


def _hostile(work: Work, sheet: Sheets, sheets: list[Sheets], rng: random.Random) -> None:
    code, instead = HOSTILE[work.kind]
    text = sheet.with_stubs_as(instead) if instead else sheet.released
    work.give(sheet.entry, _and_cell(text, code), (0, 0), *NOT_PASSED)


def _edited_checks(work: Work, sheet: Sheets, sheets: list[Sheets], rng: random.Random) -> None:
    """Checks in the learner's file that always pass. Checks in that file do not count."""
    text = re.sub(r"(?m)^( +)assert (?=.)", r"\1assert True or ", sheet.released)
    work.give(sheet.entry, text, (0, 0), "stub")


Maker = Callable[[Work, Sheets, list[Sheets], random.Random], None]
KINDS: dict[str, Maker] = {
    "right": lambda work, sheet, sheets, rng: None,
    "partly right": _partly,
    "mistake": _mistake,
    "stub": _whole("stub"),
    "nothing handed in": _whole("missing", form=""),
    **dict.fromkeys(BREAKING, _breaking),
    "endless loop": _endless,
    "damaged notebook": _damaged_notebook,
    "not UTF-8": _not_utf8,
    "missing lesson": _missing,
    "bad zip": _whole("unreadable", form="zip", cut=True),
    **dict.fromkeys(HOSTILE, _hostile),
    "edited checks": _edited_checks,
}


# How work is handed in. Each function gives {path below submissions: bytes} of {path in a
# workspace: bytes}.

Files = dict[str, bytes]


def _folder(learner: Mapping[str, str], contents: Files) -> Files:
    return {f"{learner['student']}/{name.rpartition('/')[2]}": contents[name] for name in contents}


def _workspace(learner: Mapping[str, str], contents: Files) -> Files:
    return {f"{learner['student']}/my work/{name}": data for name, data in contents.items()}


def _zip(learner: Mapping[str, str], contents: Files) -> Files:
    return {f"{learner['student']}.zip": files.archive(contents, zipfile.ZIP_DEFLATED)}


def _canvas(learner: Mapping[str, str], contents: Files) -> Files:
    letters = "".join(c for c in learner["name"].lower() if c.isalnum()) or "x"
    name = f"{letters}_{learner['id']}_{int(learner['id']) + 70000}_my work-1.zip"
    return {name: files.archive(contents, zipfile.ZIP_DEFLATED)}


def _moodle(learner: Mapping[str, str], contents: Files) -> Files:
    words = "".join(c if c.isalnum() or c == " " else "-" for c in learner["name"])
    name = f"{words}_{learner['moodle_id']}_assignsubmission_file/my work-1.zip"
    return {name: files.archive(contents, zipfile.ZIP_DEFLATED)}


FORMS = {
    "folder": _folder,
    "workspace": _workspace,
    "zip": _zip,
    "Canvas": _canvas,
    "Moodle": _moodle,
}


def _files(work: Work, root: Root) -> Files:
    """{path in a workspace: bytes} of the lesson files, and of what makes it one."""
    contents: Files = {}
    for lesson, text in work.files.items():
        entry = root.lesson(lesson)
        if isinstance(text, str):
            text = (notebook.to_notebook(text, entry.declared) if work.notebook else text).encode()
        if text is not None:
            contents[entry.relative(entry.notebook if work.notebook else entry.script)] = text
    if work.form != "folder":
        lines = [f"{key} = {json.dumps(getattr(root, key))}" for key in ("edition", "package")]
        toml = "\n".join(["[workspace]", f"course = {json.dumps(root.name)}", *lines, ""])
        contents["tito.toml"] = toml.encode()
    return contents


# The class.


def learners(size: int, rng: random.Random) -> Iterator[dict[str, str]]:
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


def works(
    sheets: list[Sheets], size: int, rng: random.Random, kinds: Sequence[str] = ()
) -> Iterator[Work]:
    """`size` Works: one of each kind, then ordinary ones; or the `kinds`, again and again."""
    rest = [ORDINARY[number % len(ORDINARY)] for number in range(size)]
    names = [kinds[n % len(kinds)] for n in range(size)] if kinds else [*KINDS, *rest][:size]
    for number, kind in enumerate(names):
        # Scripts and notebooks take turns in each form.
        work = Work(kind, list(FORMS)[number // 2 % len(FORMS)], bool(number % 2))
        for sheet in sheets:
            points = sheet.max_points, sheet.max_points
            work.give(sheet.entry, sheet.solved, points, "passed")
        KINDS[kind](work, rng.choice(sheets), sheets, rng)
        yield work


def make(
    root: Root,
    folder: Path,
    size: int = 30,
    lessons: Iterable[Entry] = (),
    kinds: Sequence[str] = (),
) -> dict[str, Any]:
    """Write a class for a course to `folder`, new or empty. Returns what `expected.json` holds.

    lessons  those that are handed in; none named: all
    kinds    names in KINDS, the only ones to be in the class; none named: one of each, and
             ordinary ones
    """
    sheets = [Sheets(entry) for entry in lessons or root.lessons]
    rng = random.Random(0)
    everybody = list(learners(size, rng))
    rng.shuffle(everybody)
    expected, written = [], {}
    for learner, work in zip(everybody, works(sheets, size, rng, kinds)):
        handed_in = FORMS[work.form](learner, _files(work, root)) if work.form else {}
        for name, data in handed_in.items():
            written[f"submissions/{name}"] = data[: len(data) // 2] if work.cut else data
        expected.append(_expected(learner["student"], work))
    value = {"course": root.name, "edition": root.edition, "learners": expected}
    text = json.dumps(value, indent=1, ensure_ascii=False)
    written |= {"roster.csv": _roster(everybody), "expected.json": f"{text}\n".encode()}
    for name, data in written.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return value


def _expected(student: str, work: Work) -> dict[str, Any]:
    """The entry of a learner in `expected.json`."""
    lessons = {
        name: {"least": least, "most": most, "verdicts": verdicts}
        for name, (least, most, verdicts) in work.expected.items()
    }
    about = {"student": student, "kind": work.kind, "form": work.form, "notebook": work.notebook}
    return about | {"lessons": lessons}


def _roster(everybody: list[dict[str, str]]) -> bytes:
    """The roster of these learners, as CSV."""
    table = io.StringIO()
    writer = csv.DictWriter(table, everybody[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(sorted(everybody, key=lambda learner: int(learner["id"])))
    return table.getvalue().encode()
