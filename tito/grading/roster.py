"""The learners of the class, and which learner a submission belongs to.

A roster has a line for each learner: an id, a name and the ids in other systems (`sis_login_id`,
`github`, ...). `gradebook/class_lists.py` reads it from a CSV file. The systems
that collect work put some of these ids into file names, and `Roster.owners` finds the learner by
them. It uses only the parts of a name that the system wrote. The learner chooses the rest, and
must not be able to hand in work under another learner's name.
"""

import hashlib
import re
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from tito.grading.lms import SYSTEMS, read_name
from tito.grading.lms.system import Entry

GROUP = "group"  # the column of who hands in together
LONGEST = 200  # characters of a name that are shown
ID = re.compile(
    r"(student|email|github|identifier|idnumber|sid"
    r"|.*[_ ](id|login|username|email|idnumber|github)|id|login|username)"
)
# Columns whose numbers may be in any name; then the name of the person must be in it, too.
OWN_NUMBERS = ("id", "student")
DECIDED, SURE, GUESS = "decided", "sure", "guess"
SEPARATOR = re.compile(r"[\s_.,()\[\]-]+")
JOINERS = "\u200c\u200d"  # invisible, but some scripts and emoji need them


@dataclass
class Learner:
    """A learner, as rosters know them.

    columns  every column of their line in the roster by its header, lower case with `_` for spaces:
             other systems' ids, which exports need
    entries  {key, see `entry_keys`: how} of entries that are known to be theirs: DECIDED by a
             person, who merged two ids; SURE; or a GUESS from a part of the name
    """

    student: str
    name: str = ""
    columns: dict[str, str] = field(default_factory=dict)
    entries: dict[str, str] = field(default_factory=dict)

    @property
    def email(self) -> str:
        return self.columns.get("email") or ""

    @property
    def section(self) -> str:
        return self.columns.get("section") or ""

    @property
    def group(self) -> str:
        """With whom they hand in, or ""."""
        return self.columns.get(GROUP) or ""


def learner_of(student: str, columns: dict[str, str]) -> Learner:
    """The Learner whose columns these are."""
    student = shown(student)
    return Learner(student, shown(columns["name"]) if columns.get("name") else student, columns)


def in_section(columns: dict[str, str], section: str | Collection[str]) -> bool:
    """Whether a learner with these columns of the roster is in a section (or a group), or in one
    of several.

    Some learners are in several: "A and B", "A, B".
    """
    wanted = [section] if isinstance(section, str) else section
    text = columns.get("section") or ""
    parts = re.split(r"\s*[,;|/]\s*(?:(?:and|und) )?|\s+(?:and|und|et|y)\s+", text)
    known = {part.casefold() for part in (text.strip(), *parts)}
    return any(name.strip().casefold() in known for name in wanted)


def shown(name: str, longest: int = LONGEST) -> str:
    """`name` with at most `longest` characters, and without characters that control a terminal or
    reverse the text.

    If something was removed, a hash of the whole name follows, so that two names stay different.
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


def entry_keys(stem: str) -> tuple[str, ...]:
    """The keys by which a gradebook keeps whose the entry called `stem` is: its name, and the
    number in it that a system gave to a person.
    """
    entry, name = read_name(stem), shown(stem).casefold()
    if entry and entry.number and entry.is_certain:
        return name, f"{entry.system} {entry.number}"
    return (name,)


class Roster:
    """Finds the learner to whom an entry of the submissions belongs."""

    def __init__(self, learners: list[Learner]) -> None:
        self.learners = learners
        self.students = {
            learner.student.casefold(): {number} for number, learner in enumerate(learners)
        }
        self.entries = {
            (key, how): {number}
            for number, learner in enumerate(learners)
            for key, how in learner.entries.items()
        }
        self.ids: dict[str, set[int]] = {}
        self.names: dict[str, set[int]] = {}
        self.teams: dict[str, set[int]] = {}  # by group
        self.groups: dict[str, set[int]] = {}  # by its name as systems write it
        # of each system; "": of any
        self.numbers: dict[str, dict[str, set[int]]] = {system: {} for system in ("", *SYSTEMS)}
        for number, learner in enumerate(learners):
            columns = learner.columns | {"student": learner.student}
            for column, value in columns.items():
                if value and ID.fullmatch(column):
                    self.ids.setdefault(value.casefold(), set()).add(number)
                for system, numbers in self.numbers.items():
                    known = SYSTEMS[system].numbers if system else OWN_NUMBERS
                    if value and (column in known or system and column.startswith(system)):
                        numbers.setdefault(value.casefold(), set()).add(number)
            if learner.group:
                self.teams.setdefault(learner.group.casefold(), set()).add(number)
                if word := one_word(learner.group):
                    self.groups.setdefault(word, set()).add(number)
            words = words_of(learner.name)
            # systems write "Ada Lovelace", "Lovelace, Ada", "lovelaceada"
            for turn in range(len(words)):
                self.names.setdefault("".join(words[turn:] + words[:turn]), set()).add(number)

    def owners(self, name: str) -> tuple[set[int], bool]:
        """The learners that an entry called `name` (without `.zip`) may belong to, by their place
        in the roster.

        One: it is theirs. Several: the name does not say. The second value is False when that was
        read from a part of the name.
        """
        if exact := self.identified(name):
            return exact, True
        entry = read_name(name)
        if entry and entry.number:
            return self._by_name_and_number(entry), True
        if entry and entry.is_login:
            groups = (self.groups.get(one_word(one), set()) for one in entry.names)
            return self._any(entry.names) or set().union(*groups), True
        if entry and entry.is_certain:
            return self.named(entry.names[0]) or self._with_id(entry.names[0]), True
        if named := self.named(name):
            return named, True
        for part in entry.names if entry else ():
            if named := self.named(part):
                return named, False
        return self._within(name), False

    def identified(self, name: str) -> set[int]:
        """The learners that the entry called `name` identifies by an id or a system's number."""
        if exact := self.students.get(name.casefold()) or self.ids.get(name.casefold()):
            return exact
        entry = read_name(name)
        return self.numbers[entry.system].get(entry.number, set()) if entry else set()

    def remembered(self, stem: str, how: str) -> set[int]:
        """The learner whose the entry called `stem` is, as an earlier run or a person has found
        out. Of a number, not where the name beside it is that of others.
        """
        entry = read_name(stem)
        has_name = entry and entry.number and how != DECIDED
        named = self.named(entry.names[0]) if entry and has_name else set()
        for key in entry_keys(stem):
            owner = self.entries.get((key, how), set())
            if owner and (key == shown(stem).casefold() or not named or owner <= named):
                return owner
        return set()

    def named(self, name: str) -> set[int]:
        """The learners with this name, also behind that of their group: `Red-Ada Lovelace`; or
        those in the group with this name.
        """
        if same := self.names.get(one_word(name)):
            return same
        for dash in re.finditer("-", name[:LONGEST]) if self.groups else ():
            group = self.groups.get(one_word(name[: dash.start()]), set())
            if found := group & self.names.get(one_word(name[dash.end() :]), set()):
                return found
        return self.groups.get(one_word(name), set())

    def team(self, owners: set[int]) -> set[int]:
        """All in the group of these learners, if they have the same one."""
        groups = {self.learners[number].group.casefold() for number in owners}
        return self.teams.get(groups.pop(), set()) if len(groups) == 1 else set()

    def _with_id(self, text: str) -> set[int]:
        """The learners with this id, or with an id and names: `alovelace Ada Lovelace`."""
        first, _, rest = text.partition(" ")
        names = set(words_of(rest))
        owners = self.ids.get(first.casefold(), set())
        return {one for one in owners if names <= set(words_of(self.learners[one].name))}

    def by_ids(self, *groups: Iterable[str]) -> set[int]:
        """The learners that have one of these ids."""
        return self._any(text for group in groups for text in group)

    def _by_name_and_number(self, entry: Entry) -> set[int]:
        name = entry.names[0]
        numbered = self.numbers[""].get(entry.number, set())
        named = self.ids.get(name.casefold()) or self.named(name)
        # The system's number of a learner may be the id of another one, who has another name.
        return numbered & named or numbered | named

    def _within(self, name: str) -> set[int]:
        """The learners whose ids are part of the name: `ada-2`, `ada_numbers`, `homework ada`."""
        parts = list(SEPARATOR.finditer(name)) if len(name) <= LONGEST else []
        starts, ends = (
            [0, *(part.end() for part in parts)],
            [*(part.start() for part in parts), len(name)],
        )
        spans = [
            (start, end)
            for start in starts
            for end in ends
            if start < end
            and name[start:end].casefold() in self.ids
            # A short number that does not begin the name is a count: `-2` is not the learner 2.
            and not (start and end - start <= 3 and name[start:end].isdigit())
        ]
        return self._any(  # of `hw-kim-lee`, kim-lee and not lee
            name[start:end]
            for start, end in spans
            if not any(s <= start and end <= e and (s, e) != (start, end) for s, e in spans)
        )

    def _any(self, texts: Iterable[str]) -> set[int]:
        return set().union(*(self.ids.get(text.casefold(), ()) for text in texts if text))


def one_word(name: str) -> str:
    return "".join(words_of(name))


def words_of(name: str) -> list[str]:
    """The words of a name in one spelling: systems change the case and the separators."""
    return re.findall(r"\w+", unicodedata.normalize("NFKC", name).casefold().replace("_", " "))
