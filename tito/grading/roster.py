"""Who is in the class, and whose work an entry of the submissions is.

A roster is a CSV file with a header: `student`, and as one likes `name`, `email`, `arrived` and the
ids that other systems use (`canvas_id`, `sis_login_id`, `github`, ...). An export of the gradebook
is one, too: `tito gradebook export`. Collecting systems put some
of that into the names of what they hand out; `Roster.owner` reads it back. It takes only what the
system wrote: the rest of the name is the learner's own choice, and must not make their work
somebody else's.
"""

import csv
import hashlib
import io
import re
import unicodedata
from dataclasses import dataclass, field
from datetime import datetime, timezone

from tito.errors import TitoError
from tito.grading.spreadsheet import plain

LONGEST = 200  # characters of a name that are shown
ID = re.compile(
    r"(student|email|github|idnumber"
    r"|.*[_ ](id|login|username|email|idnumber|github)|id|login|username)"
)
CANVAS = re.compile(r"(?P<name>[^_]+)(?P<late>_late)?_(?P<id>\d+)_(?P<file>\d+)_.+", re.I | re.S)
MOODLE = re.compile(
    r"(?P<name>.+)_(?P<id>\d+)_assignsubmission_(?P<kind>file|onlinetext)(?:_.*)?", re.I | re.S
)
SEPARATOR = re.compile(r"[\s_.,()\[\]-]+")
JOINERS = "\u200c\u200d"  # invisible, but some scripts and emoji need them


@dataclass
class Learner:
    """One line of the roster.

    arrived  when their work came in (UTC), if the roster knows; then it counts instead of a file's
             time
    columns  every column of the line by its header, lower case with `_` for spaces: what exports
             need
    """

    student: str
    name: str = ""
    email: str = ""
    arrived: datetime | None = None
    columns: dict = field(default_factory=dict)


def read_roster(path):
    """The learners in a CSV file, in its order. Separated by commas, semicolons or tabs; UTF-8.

    Raises TitoError with the line for what is damaged, doubled or missing.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise TitoError(
            f"{path} cannot be read: {error.strerror}.", "Give --roster a CSV file."
        ) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise TitoError(
            f"{path}:{line}: byte 0x{error.object[error.start]:02x} is not UTF-8.",
            "Save the roster as CSV in UTF-8.",
        ) from None
    first = text.partition("\n")[0]
    rows = csv.reader(
        io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count), strict=True
    )
    try:
        header = [re.sub(r"\s+", "_", name.strip().lower()) for name in next(rows, [])]
        _check_header(path, header)
        learners, lines = [], {}
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            learner = _learner(f"{path}:{rows.line_num}", header, [plain(c).strip() for c in row])
            key = learner.student.casefold()
            if key in lines:
                raise TitoError(
                    f"{path}:{rows.line_num}: student {learner.student!r} stands in line "
                    f"{lines[key]} too.",
                    "Give each learner one line.",
                )
            lines[key] = rows.line_num
            learners.append(learner)
    except csv.Error as error:
        raise TitoError(
            f"{path}:{rows.line_num}: damaged CSV: {error}.",
            "Mend that line, or save the file again as CSV.",
        ) from None
    if not learners:
        raise TitoError(f"{path} lists nobody.", "Add a line for each learner below the header.")
    return learners


def _check_header(path, header):
    if "student" not in header:
        raise TitoError(
            f"{path}:1: there is no column `student`; there are: {', '.join(header) or 'none'}.",
            "The first line names the columns; `student` holds each learner's id.",
        )
    for name in header:
        if name and header.count(name) > 1:
            raise TitoError(
                f"{path}:1: the column {name!r} is there {header.count(name)} times.",
                "Rename or delete one.",
            )


def _learner(where, header, row):
    if any(row[len(header) :]):
        raise TitoError(
            f"{where}: {len(row)} cells under {len(header)} columns.",
            "Put quotes around a value that holds a comma.",
        )
    columns = dict(zip(header, row + [""] * (len(header) - len(row))))
    columns.pop("", None)
    if not columns["student"]:
        raise TitoError(
            f"{where}: no student.", "Fill in the column `student`, or delete the line."
        )
    arrived = None
    if columns.get("arrived"):
        try:
            arrived = utc(datetime.fromisoformat(columns["arrived"]))
        except (ValueError, OverflowError):
            raise TitoError(
                f"{where}: arrived is {columns['arrived'][:40]!r}.",
                "Write a time such as 2026-03-01T23:59:00+01:00; without an offset it is UTC.",
            ) from None
    student = shown(columns["student"])
    return Learner(
        student,
        shown(columns["name"]) if columns.get("name") else student,
        columns.get("email", ""),
        arrived,
        columns,
    )


def utc(time):
    """`time` in UTC; one without an offset is taken to be UTC."""
    return (
        time.replace(tzinfo=timezone.utc) if time.tzinfo is None else time.astimezone(timezone.utc)
    )


def shown(name, longest=LONGEST):
    """`name` as it can be shown: at most `longest` characters, none that control a terminal or turn
    the text around.

    When anything had to go, a hash of the whole name follows, so that two names never become one.
    """
    clean = "".join(
        c
        if c in JOINERS or unicodedata.category(c) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}
        else "\ufffd"
        for c in name
    )
    if clean == name and name.strip() and len(name) <= longest:
        return name
    mark = "~" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return clean[: longest - len(mark)] + mark


class Roster:
    """Finds the learner whose work an entry is."""

    def __init__(self, learners):
        self.learners = learners
        self.students = {
            learner.student.casefold(): {number} for number, learner in enumerate(learners)
        }
        self.ids, self.names, self.numbers = {}, {}, {"canvas": {}, "moodle": {}}
        for number, learner in enumerate(learners):
            columns = learner.columns | {"student": learner.student, "email": learner.email}
            for column, value in columns.items():
                if value and ID.fullmatch(column):
                    self.ids.setdefault(value.casefold(), set()).add(number)
                for system, numbers in self.numbers.items():
                    if value and (column in ("student", "id") or column.startswith(system)):
                        numbers.setdefault(value.casefold(), set()).add(number)
            words = words_of(learner.name)
            for turn in range(
                len(words)
            ):  # systems write "Ada Lovelace", "Lovelace, Ada", "lovelaceada"
                self.names.setdefault("".join(words[turn:] + words[:turn]), set()).add(number)

    def owners(self, name):
        """The learners that an entry called `name` (without `.zip`) may belong to, by their place
        in the roster.

        One: it is theirs. Several: the name does not say. The second value is False when that was
        read from a part of the name.
        """
        if found := self.students.get(name.casefold()) or self.ids.get(name.casefold()):
            return found, True
        for system, form in (("moodle", MOODLE), ("canvas", CANVAS)):
            if scheme := form.fullmatch(name):
                return self._by_system(system, scheme), True
        if len(found := self.names.get("".join(words_of(name)), ())) == 1:
            return found, True
        return self._within(name), False

    def _by_system(self, system, scheme):
        name = scheme["name"]
        return (
            self.numbers[system].get(scheme["id"])
            or self.ids.get(name.casefold())
            or self.names.get("".join(words_of(name)))
            or set()
        )

    def _within(self, name):
        """Those whose ids stand in the name: `ada-2`, `ada_numbers`, `homework ada`."""
        parts = list(SEPARATOR.finditer(name)) if len(name) <= LONGEST else []
        starts, ends = (
            [0, *(part.end() for part in parts)],
            [*(part.start() for part in parts), len(name)],
        )
        texts = [(start, name[start:end]) for start in starts for end in ends if start < end]
        # A short number that does not begin the name is a count: `-2` is not the learner 2.
        return self._any(
            text for start, text in texts if not start or not text.isdigit() or len(text) > 3
        )

    def _any(self, texts):
        return set().union(*(self.ids.get(text.casefold(), ()) for text in texts if text))

    def submitter(self, person):
        """The learners with this email or student id, or, if nobody has, with this name.

        `person`: {"name", "sid", "email"}.
        """
        return (
            self._any(person.get(key, "") for key in ("sid", "email"))
            or self.names.get("".join(words_of(person.get("name", ""))))
            or set()
        )


def words_of(name):
    """The words of a name in one spelling: systems change its case and what joins its words."""
    return re.findall(r"\w+", unicodedata.normalize("NFKC", name).casefold().replace("_", " "))
