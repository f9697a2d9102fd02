"""What a school's system is to tito, and the plain values that it takes and returns."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Protocol

from tito.csv_tables import normalised, ours
from tito.grading.submission import NOBODY, Arrived, Upload


class System(Protocol):
    """A school's system: six functions, and what they need not compute. What a subclass leaves out,
    its system does not have, or it has not been tried.

    name           its key in `SYSTEMS`, as people type it
    title          its name in sentences

    Of its download:
    litter         entries that the system adds
    download       the name of the only folder in it
    metadata       the file that `submitters` reads

    Of its class list:
    class_list     what the list is, in a sentence
    marks          headers that no other list has together
    ids, numbers   columns that tell learners apart, the best first: names that people know, and
                   the system's own numbers, which are also in the names of its entries

    Of its table of times:
    times          the header of the column, in our form
    time_table     what the table is, in a sentence, for a help text
    entry_numbers  its columns with the numbers in the names of entries; such a table may lie
                   beside these. `numbers` begins with the roster's column for them
    number_cells   the cells of such a column, where its header may be in any language
    said           the source of a time or mark, in a sentence; "": who has the table

    Of what it gets:
    export         what `grades` makes: "a file", or else what kind of folder; "": nothing
    export_note    what to know about the export
    zip            for what the zip of feedback is; "": there is none
    from_download  whether the pages need the names in its download
    """

    name: str
    title: str
    litter: Sequence[str] = ()
    download: re.Pattern[str] | None = None
    metadata: str = ""
    class_list: str = ""
    marks: Sequence[str] = ()
    ids: Sequence[str] = ()
    numbers: Sequence[str] = ()
    times: re.Pattern[str] | None = None
    time_table: str = ""
    entry_numbers: Sequence[str] = ()
    number_cells: re.Pattern[str] | None = None
    said: str = ""
    export: str = ""
    export_note: str = ""
    zip: str = ""
    from_download: bool = False

    def entry(self, stem: str) -> "Entry | None":
        """What the system wrote into the name of an entry (without `.zip`) of its download; None:
        it did not write this name.
        """
        return None

    def submitters(self, text: str) -> "dict[str, Submitters]":
        """{name of an entry: its Submitters}, from the text of `metadata`."""
        return {}

    def columns(self, headers: list[str]) -> list[str] | None:
        """Our names for the headers of its class list, "" for one to leave out; None: it is not
        its class list.
        """
        columns = list(map(ours, headers))
        is_known = self.marks and set(self.marks) <= {*columns, *map(normalised, headers)}
        return columns if is_known else None

    def learner(self, line: dict[str, str]) -> bool:
        """Put a line of its class list, {our column: text}, into our form. Returns whether it is a
        learner's.
        """
        return True

    def grades(self, table: "Table") -> Iterator[list[Any]]:
        """The rows of its table of grades, with the headers. Of a folder, [path, content] of each
        file, which becomes JSON.
        """
        return iter(())

    def feedback(self, name: str, columns: dict[str, str], uploads: Sequence[Upload]) -> str | None:
        """The name of a learner's page in the zip of feedback, or, if it ends in .zip, of a zip
        with the page; None: nothing says it.

        uploads  the entries of the learner in its download
        """
        return None


@dataclass(frozen=True)
class Entry:
    """What a system wrote into the name of an entry.

    names       of the learner or the group, or several that can be meant
    is_login    whether these are ids of the roster
    number      that the system gave to the learner, or ""
    is_certain  whether no name that a person chose looks like this
    is_folder   whether the system makes folders
    is_text     whether the entry is what was typed beside a file, or about it
    late        its mark, or None
    time        local, as text, or ""
    """

    system: str
    names: tuple[str, ...]
    number: str = ""
    is_certain: bool = True
    is_folder: bool = False
    is_text: bool = False
    is_login: bool = False
    late: bool | None = None
    time: str = ""


@dataclass
class Submitters:
    """Who handed in an entry, {"name", "sid", "email"} of each person; and when it arrived."""

    people: list[dict[str, str]] = field(default_factory=list)
    arrived: Arrived = NOBODY


@dataclass(frozen=True)
class Lesson:
    """A graded lesson. most: its points today."""

    name: str
    number: int
    title: str
    most: int

    @property
    def numbered(self) -> str:
        return f"{self.number:02} {self.title}"


@dataclass(frozen=True)
class Part:
    """A check, or an answer that a person judges.

    is_judged  whether it is an answer
    output     what the learner reads about it; None: nothing
    """

    name: str
    passed: bool
    points: Decimal
    most: int
    is_hidden: bool = False
    is_judged: bool = False
    output: str | None = None


@dataclass(frozen=True)
class LessonGrade:
    """The grade of a learner in a lesson.

    is_empty   whether nothing of the lesson came and that is not 0
    summary    in a few sentences
    handed_in  or else graded
    parts      where a folder is written, else []
    """

    lesson: Lesson
    points: Decimal
    is_empty: bool
    summary: str
    handed_in: datetime
    graded: datetime
    parts: list[Part]


@dataclass
class Row:
    """A learner with their grades. folder: a safe name for files; columns: of the roster."""

    student: str
    folder: str
    name: str
    columns: dict[str, str]
    grades: list[LessonGrade]

    def cells(self, table: "Table") -> list[LessonGrade | None]:
        """The grade in each lesson, None for an empty cell."""
        by_name = {grade.lesson.name: grade for grade in self.grades if not grade.is_empty}
        return [by_name.get(lesson.name) for lesson in table.lessons]

    def points(self, table: "Table") -> list[Decimal | None]:
        return [cell.points if cell else None for cell in self.cells(table)]


@dataclass
class Table:
    """The grades of a class, learner by learner.

    headers  the columns of the roster
    course   the course's name
    folder   the name of the folder to write, or ""
    """

    lessons: list[Lesson]
    headers: list[str]
    rows: Iterable[Row]
    course: str = "course"
    folder: str = ""

    def titles(self, mark: str, form: str) -> list[str]:
        """The title of each lesson's column, with a system's number where the roster has a column
        for the lesson: its header begins with the lesson, and `mark` (with a group for the number)
        ends it. form: how the system writes {number} and {most} points.
        """
        titles = {lesson.name: lesson.numbered for lesson in self.lessons}
        for column in self.headers:
            if known := re.fullmatch(rf"(.+)[_ ]{mark}", column.lower()):
                for lesson in self.lessons:
                    title, numbered = lesson.title, lesson.numbered
                    forms = {lesson.name: title, title: title, numbered: numbered}
                    for name, written in forms.items():
                        if known[1].replace("_", " ") == name.lower().replace("_", " "):
                            end = form.format(number=known[2], most=lesson.most)
                            titles[lesson.name] = f"{written} {end}"
        return list(titles.values())
