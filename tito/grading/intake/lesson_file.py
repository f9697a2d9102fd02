"""One lesson's file in a submission: reads those that may be it, and says which of them counts.

What cannot be read becomes a sentence in `problem`.
"""

import hashlib
import re
import warnings
from dataclasses import dataclass
from pathlib import PurePosixPath

from tito.errors import TitoError
from tito.grading.intake.archives import Limits, Unreadable, shown_path, some
from tito.grading.roster import shown
from tito.lesson import cells
from tito.lesson.lesson_format import stub

# Characters of a cell's `# %%` line: reading its metadata takes time by the square of them.
LONG_LINE = 10_000
CODE = 400_000  # characters of a lesson file that are kept to be shown


@dataclass
class LessonFile:
    """The file of a lesson that counts.

    path     in the submission, as it can be shown
    raw      its bytes
    text     the same as text, ready for `cells.parse`; a script's header is left empty, since only
             its line numbers matter
    source   its cells (cells.Source), None when there is a problem
    problem  a sentence when it cannot be read; then text is ""
    slow     whether the problem is that it takes too long to read
    sha256   of its bytes; that of no bytes when they could not be read
    entry    of SUBMISSIONS, in which it came
    code     what a person is shown of it: a script as it is, of a notebook the cells in the same
             form; not more than CODE characters
    """

    path: str
    raw: bytes = b""
    text: str = ""
    source: object = None
    is_notebook: bool = False
    problem: str = ""
    slow: bool = False
    sha256: str = hashlib.sha256().hexdigest()
    entry: str = ""
    code: str = ""


@dataclass
class Reading:
    """What every step of reading one submission needs.

    left     bytes of lesson files that may still be read
    refused  SHA-256s of lesson files that take too long
    told     called with the SHA-256 of each lesson file before it is parsed
    """

    lessons: list
    limits: Limits
    notes: list
    left: int
    refused: set = frozenset()
    told: object = lambda sha256: None

    def bytes(self, item):
        """The bytes of a lesson file. Raises Unreadable."""
        if item.problem:
            raise Unreadable(item.problem)
        if self.left <= 0:
            raise Unreadable(
                f"was not read: {self.limits.read:,} bytes of lesson files are read of one "
                f"submission"
            )
        data = item.read(self.limits.notebook if item.suffix == ".ipynb" else self.limits.file)
        self.left -= len(data)
        return data


def choose_file(entry, items, reading):
    """The LessonFile that counts, of the items that may be it."""
    if len(items) > reading.limits.copies:
        reading.notes.append(
            f"{entry.name}: {len(items)} files; only the first {reading.limits.copies} were looked "
            f"at."
        )
    files = [(_lesson_file(item, reading), item) for item in items[: reading.limits.copies]]
    good = [(file, item) for file, item in files if not file.problem]
    for file, _ in files if good else files[1:]:
        if file.problem:
            reading.notes.append(f"{entry.name}: {file.problem}")
    if len(good) < 2:
        return good[0][0] if good else files[0][0]
    written = {id(file): count_written(entry, file) for file, _ in good}
    script_first = [pair for pair in good if not pair[0].is_notebook] + [
        pair for pair in good if pair[0].is_notebook
    ]
    best = script_first[0][0]
    if any(_work(entry, file) != _work(entry, best) for file, _ in good):
        best = max(
            script_first, key=lambda pair: (written[id(pair[0])], *_comparable(pair[1].changed))
        )[0]
    total = len(entry.declared.exercises) + len(entry.declared.questions)
    others = [file for file, _ in good if file is not best]
    if all(_work(entry, file) == _work(entry, best) for file in others):
        why = f"the code in {some((file.path for file in others), 150)} is the same"
    else:
        counted = ", ".join(f"{file.path} ({written[id(file)]})" for file in others[:5])
        tied = any(written[id(file)] == written[id(best)] for file in others)
        later = ", and it is the later one" if tied else ""
        what = "exercises and answers" if entry.declared.questions else "exercises"
        why = f"{written[id(best)]} of {total} {what} are written in it{later}; not {counted}"
    reading.notes.append(f"{entry.name}: {best.path} counts: {why}.")
    return best


def _comparable(changed):
    """The time of a change as numbers: zips hold what they like, and entries of SUBMISSIONS have a
    time and a name.
    """
    return (
        changed if isinstance(changed[0], int) else tuple(changed[0].astimezone().timetuple()[:6])
    )


def _lesson_file(item, reading):
    path = shown_path(item.path)
    file = LessonFile(path, is_notebook=item.suffix == ".ipynb", entry=item.entry)
    try:
        file.raw = reading.bytes(item)
        file.sha256 = hashlib.sha256(file.raw).hexdigest()
        file.code = file.raw[: 4 * CODE].decode("utf-8-sig", "backslashreplace")[:CODE]
        if file.sha256 in reading.refused:
            file.slow = True
            raise Unreadable("takes too much time or memory to read")
        reading.told(file.sha256)
        file.text, file.source = _parsed(path, file.raw)
        if file.is_notebook:
            file.code = "\n\n".join(map(_as_script, file.source.cells))[:CODE]
    except Unreadable as error:
        file.problem = f"{path} {error}."
    return file


def _as_script(cell):
    """A notebook's cell as it stands in a script."""
    if cell.kind == "code":
        name = f' exercise="{cell.exercise}"' if cell.exercise else ""
        return f"# %%{name}\n{cell.source}"
    return "\n# ".join(["# %% [markdown]", *cell.source.split("\n")])


def _parsed(path, raw):
    """The text and cells of a lesson file. Raises Unreadable."""
    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise Unreadable(f"is not UTF-8: byte 0x{raw[error.start]:02x} in line {line}") from None
    if not text.strip():
        raise Unreadable("is empty")
    if not path.endswith(".ipynb"):
        text = _without_header(text)
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > LONG_LINE and cells.MARKER.match(line):
                raise Unreadable(
                    f"has {len(line):,} characters in its line {number}, the head of a cell"
                )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's, about the learner's code
            source = cells.parse(PurePosixPath(path), text)
    except TitoError as error:
        line, what = re.fullmatch(
            r"(?::(\d+))?: (.*?)\.?", str(error).removeprefix(path), re.S
        ).groups()
        raise Unreadable(f"is damaged{' in line ' + line if line else ''}: {shown(what)}") from None
    except (ValueError, RecursionError, MemoryError):
        raise Unreadable("is damaged: it is too deeply nested, or no lesson at all") from None
    source.sha256 = hashlib.sha256(raw).hexdigest()
    return text, source


def _without_header(text):
    """A script's text with the lines of its header left empty: a grade needs nothing from it, and
    YAML can be a bomb.
    """
    lines = text.split("\n")
    marks = [number for number, line in enumerate(lines) if line.rstrip() == "# ---"][:2]
    if len(marks) == 2 and marks[0] == 0:
        lines[: marks[1] + 1] = [""] * (marks[1] + 1)
    return "\n".join(lines)


def _code(file):
    return [cell.source for cell in file.source.exported]


def _work(entry, file):
    """The code and the answers in a file."""
    return _code(file), entry.declared.answers(file.source)


def count_written(entry, file):
    """How many exercises are written in this file: those whose code is there without the line that
    is released in it; and how many questions answered.
    """
    count = sum(bool(answer) for answer in entry.declared.answers(file.source).values())
    for exercise in entry.declared.exercises:
        line = stub(entry.name, exercise.name)
        cell = file.source.cell(exercise.name)
        if cell:
            count += cell.kind == "code" and bool(cell.source.strip()) and line not in cell.source
        else:  # an editor dropped the cell's id: look for what the exercise defines
            names = re.findall(r"^(?:def|class) (\w+)", exercise.cell.source, re.M)
            text = "\n".join(_code(file))
            count += (
                line not in text
                and bool(names)
                and all(re.search(rf"^(?:def|class) {name}\b", text, re.M) for name in names)
            )
    return count
